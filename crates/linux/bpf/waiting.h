/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What waits in htb, as the programs in front of it know: a list of packets for
 * each class, in the order in which they came.
 */
#ifndef QW_BPF_WAITING_H
#define QW_BPF_WAITING_H

#include "host.h"
#include "kernel.h"
#include "shared.h"

/* Ends a list; slots count from 1. */
#define NONE 0u

/* Set before loading. Constants to the verifier: what they exclude is not there. */
const volatile struct qw_bpf_settings settings = {
	.instances = 1,
	.slots = 16384,
	.needs_random = 1,
	.needs_head = 1,
	.needs_flow = 1,
	.acts_at_head = 1,
};

/* A packet that waits. */
struct slot {
	__u64 enqueue_ns;
	__u32 next;
	__u32 bytes; /* as the link counts them */
	__u32 kernel_bytes; /* as htb does */
	__u32 flow;
	__u8 ecn;
	__u8 protocol;
	__u8 queue;
	__u8 era; /* of the discipline's state that knows it, the lower byte */
	__u32 waits;
};

struct instance {
	__u64 sch; /* the root qdisc, htb; of police.bpf.c the network namespace */
	__u64 next_ns; /* the link is free again */
	__u64 last_ns; /* a packet left */
	__u32 last_bytes; /* of the packet that the link was given last (police.bpf.c) */
	__u64 rate,
		rest; /* at which it empties; bytes times 1e9 of less than 1 ns */
	__u64 now; /* as the discipline was last told */
	__u64 bytes; /* that wait */
	__u64 kernel_sent; /* htb's count of bytes that were in packets we know of */
	__u32 packets; /* that wait */
	__u32 unused; /* slots that were in use, a list */
	__u32 fresh; /* slots that have never been */
	__u32 begun;
	__u32 idle; /* the discipline knows that the link found nothing */
	__u32 retunes, restarts; /* of the port, as last seen */
	/* Drops and marks that flows owe, in all; debts of an earlier round have
	 * lapsed. */
	__u32 owed, round;
};

struct instance running SEC(".bss.running");
PARAMS params SEC(".bss.params");
STATE state SEC(".bss.state");
struct qw_bpf_port port SEC(".bss.port");
struct qw_bpf_stats stats SEC(".bss.stats");

MAP(slots, 16384, struct slot);
#ifdef QW_QUEUES
MAP(queues, QW_QUEUES, struct qw_bpf_queue);
#else
struct qw_bpf_queue only SEC(".bss.only");
#endif

static __always_inline struct slot *slot_of(__u32 number)
{
	__u32 index = number - 1;

	return number == NONE ? 0 : bpf_map_lookup_elem(&slots, &index);
}

static __always_inline struct qw_bpf_queue *queue_of(__u32 which)
{
#ifdef QW_QUEUES
	return bpf_map_lookup_elem(&queues, &which);
#else
	return &only;
#endif
}

static __always_inline int is_full(void)
{
	return running.unused == NONE && running.fresh >= settings.slots;
}

/* A packet waits in a queue, as its last. Its slot's number; NONE: there is none. */
static __always_inline __u32 join(struct qw_bpf_queue *queue, __u32 which,
				  const struct qw_packet *k, __u32 kernel_bytes)
{
	__u32 number = running.unused;
	struct slot *slot, *last;

	if (is_full())
		return NONE;
	if (number == NONE)
		number = ++running.fresh;
	slot = slot_of(number);
	if (!slot)
		return NONE;
	if (number == running.unused)
		running.unused = slot->next;
	slot->enqueue_ns = k->enqueue_ns;
	slot->next = NONE;
	slot->bytes = k->bytes;
	slot->kernel_bytes = kernel_bytes;
	slot->flow = k->flow;
	slot->ecn = (__u8)k->ecn;
	slot->protocol = (__u8)k->protocol;
	slot->queue = (__u8)which;
	slot->era = (__u8)running.restarts;
	slot->waits = 1;
	last = slot_of(queue->tail);
	if (last)
		last->next = number;
	else
		queue->head = number;
	queue->tail = number;
	queue->backlog_packets++;
	queue->backlog_bytes += k->bytes;
	running.packets++;
	running.bytes += k->bytes;
	return number;
}

/* The first packet of a queue waits no more; it is in `slot`. */
static __always_inline void leave(struct qw_bpf_queue *queue, struct slot *slot)
{
	__u32 number = queue->head;

	queue->head = slot->next;
	if (queue->head == NONE)
		queue->tail = NONE;
	queue->backlog_packets--;
	queue->backlog_bytes -= slot->bytes;
	running.packets--;
	running.bytes -= slot->bytes;
	slot->waits = 0;
	slot->next = running.unused;
	running.unused = number;
}

/* The parameters may have been changed by `queuewright set`. Has the discipline
 * begun anew? */
static __always_inline int take_over(__u64 now)
{
	int anew = !running.begun || running.restarts != port.restarts;

	if (!running.begun) {
		running.begun = 1;
		running.idle = 1;
		running.next_ns = now;
		running.retunes = port.retunes;
		stats.marking = QW_BPF_MARKS_FRONT;
	}
	if (anew) {
		running.restarts = port.restarts;
		begin(&state, &params, now);
	}
#ifdef QW_RETUNE
	if (running.retunes != port.retunes) {
		running.retunes = port.retunes;
		CALL(retune)(&state, &params);
	}
#endif
	return anew;
}

#endif /* QW_BPF_WAITING_H */
