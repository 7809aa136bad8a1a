/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Everything of a qdisc that is attached: its maps, and the packets in them.
 *
 * Packets wait in a slab: an array of slots, each with one packet, linked to
 * lists by numbers. No lock is needed, as the kernel holds the qdisc's own at
 * each call, and no memory is asked for while packets flow.
 */
#ifndef QW_BPF_INSTANCE_H
#define QW_BPF_INSTANCE_H

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
};

struct slot {
	struct sk_buff __kptr *skb;
	__u64 enqueue_ns;
	__u32 next;
	__u32 before; /* with several queues: the other way */
	__u32 bytes; /* as the link counts them */
	__u32 flow;
	__u8 ecn;
	__u8 protocol;
#ifdef QW_FURTHER
	__u16 frame_bytes;
	__u32 segments;
#endif
};

struct queue {
	__u32 head, tail;
};

struct instance {
	__u64 sch; /* the kernel's; 0: free */
	__u64 next_ns; /* the shaper's: the link is free again */
	__u32 reserved; /* of several with one rate: bytes from then on are its */
	__u64 bytes;
	__u32 packets;
	struct queue queue; /* if it has but one */
	__u32 unused; /* slots that were in use, a list */
	__u32 fresh; /* slots that have never been */
	__u32 idle; /* the discipline knows that the link found nothing */
	__u32 retunes, restarts; /* of the port, as last seen */
};

/* From when on the link is free whose rate several share (qdisc.bpf.c). */
__u64 shared_ns;

MAP(slots, 16384, struct slot);
#ifdef QW_QUEUES
MAP(queues, QW_QUEUES, struct queue);
#endif

/* One an instance: the loader makes them as long as there are instances. Not
 * maps of elements, as each look-up of one costs a dozen instructions. */
struct instance running[1] SEC(".bss.running");
PARAMS params[1] SEC(".bss.params");
STATE state[1] SEC(".bss.state");
struct qw_bpf_port port[1] SEC(".bss.port");
struct qw_bpf_stats stats[1] SEC(".bss.stats");

/* clang is not to conclude from [1] that there is but one. */
#define NTH(of, index)                           \
	({                                       \
		__typeof__(&(of)[0]) first = of; \
		barrier_var(first);              \
		first + (index);                 \
	})

struct at {
	struct instance *i;
	PARAMS *p;
	STATE *s;
	struct qw_bpf_port *port;
	struct qw_bpf_stats *stats;
	__u32 index;
};

static __always_inline int find(struct at *at, __u32 index)
{
	barrier_var(index);
	if (index >= settings.instances)
		return 0;
	at->i = NTH(running, index);
	at->p = NTH(params, index);
	at->s = NTH(state, index);
	at->port = NTH(port, index);
	at->stats = NTH(stats, index);
	at->index = index;
	return 1;
}

/* Which instance is this qdisc? -1: none. */
static __always_inline __s32 index_of(__u64 sch)
{
	__s32 found = -1;
	__u32 k;

	if (settings.instances == 1)
		return 0;
	bpf_for(k, 0, settings.instances)
	{
		__u32 index = k;

		barrier_var(index);
		if (index >= settings.instances)
			break;
		if (NTH(running, index)->sch == sch) {
			found = (__s32)index;
			break;
		}
	}
	return found;
}

static __always_inline int find_of(struct at *at, struct Qdisc *sch)
{
	__s32 index = index_of((__u64)sch);

	return index >= 0 && find(at, (__u32)index);
}

static __always_inline struct slot *slot_of(const struct at *at, __u32 number)
{
	__u32 index = at->index * settings.slots + number - 1;

	return number == NONE ? 0 : bpf_map_lookup_elem(&slots, &index);
}

/* Of a discipline with one queue, that one. */
static __always_inline struct queue *queue_of(const struct at *at, __u32 number)
{
#ifdef QW_QUEUES
	__u32 index = at->index * QW_QUEUES + number;

	return number < QW_QUEUES ? bpf_map_lookup_elem(&queues, &index) : 0;
#else
	return &at->i->queue;
#endif
}

static __always_inline int is_full(const struct at *at)
{
	return at->i->unused == NONE && at->i->fresh >= settings.slots;
}

/* A slot to be filled; NONE: all are in use. */
static __always_inline __u32 take_slot(const struct at *at)
{
	__u32 number = at->i->unused;
	struct slot *slot;

	if (is_full(at))
		return NONE;
	if (number == NONE)
		return ++at->i->fresh;
	slot = slot_of(at, number);
	if (slot)
		at->i->unused = slot->next;
	return number;
}

/* The packet of a slot joins a queue. */
static __always_inline void join(const struct at *at, struct queue *queue,
				 struct slot *slot, __u32 number)
{
	struct slot *last = slot_of(at, queue->tail);

	slot->next = NONE;
	if (last)
		last->next = number;
	else
		queue->head = number;
#ifdef QW_QUEUES
	slot->before = queue->tail;
#endif
	queue->tail = number;
	at->i->packets++;
	at->i->bytes += slot->bytes;
}

/* The head packet off a queue, or the last; what it was is in `k`. 0: there is none. */
static __always_inline struct sk_buff *
leave(const struct at *at, struct queue *queue, int last, struct qw_packet *k)
{
	__u32 number = last ? queue->tail : queue->head;
	struct slot *slot = slot_of(at, number);
	struct sk_buff *skb;

	if (!slot)
		return 0;
	k->enqueue_ns = slot->enqueue_ns;
	k->bytes = slot->bytes;
	k->flow = slot->flow;
	k->ecn = slot->ecn;
	k->protocol = slot->protocol;
#ifdef QW_FURTHER
	k->frame_bytes = slot->frame_bytes;
	k->segments = slot->segments;
#endif
	skb = bpf_kptr_xchg(&slot->skb, 0);
	if (last) {
		struct slot *before = slot_of(at, slot->before);

		queue->tail = slot->before;
		if (before)
			before->next = NONE;
		else
			queue->head = NONE;
	} else {
#ifdef QW_QUEUES
		struct slot *next = slot_of(at, slot->next);

		if (next)
			next->before = NONE;
#endif
		queue->head = slot->next;
		if (queue->head == NONE)
			queue->tail = NONE;
	}
	slot->next = at->i->unused;
	at->i->unused = number;
	at->i->packets--;
	at->i->bytes -= k->bytes;
	return skb;
}

#endif /* QW_BPF_INSTANCE_H */
