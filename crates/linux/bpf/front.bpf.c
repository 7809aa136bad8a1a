/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A queue manager of aqm/ in front of htb, for kernels without BPF qdiscs: one
 * host for all of them, compiled once for each with -DQW_NAME=codel
 * -DQW_HEADER='"codel.h"'.
 *
 * htb holds the packets and shapes. `front` is its classifier: the kernel asks
 * it about each packet before htb queues it, and it can drop the packet or set
 * CE. `left` sees packets leave, at the kernel's tracepoint. Both run under the
 * root qdisc's lock, so that the queue manager is called as by any other host.
 * Not every kernel runs a program at a tracepoint each time: what `left` misses
 * is known from htb's counters, and when it left from htb's rate.
 *
 * Only, what has left cannot be dropped or marked any more. A queue manager
 * whose rule acts on the head packet (settings.acts_at_head) is owed that by the next
 * packet of the same flow that comes.
 */
#include "kernel.h"

#define QW_FOR(i, n) bpf_for((i), 0, (n))
#include QW_HEADER
#include "host.h"
#include "packet.h"

#define TC_ACT_OK 0
#define TC_ACT_SHOT 2

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* A packet as a classifier sees it. The kernel's promise to programs
 * (linux/bpf.h), so that the layout is fixed. */
struct __sk_buff {
	__u32 not_used_1[12];
	__u32 cb[5]; /* the qdisc's own, of the packet */
	__u32 hash;
	__u32 tc_classid;
	__u32 not_used_2[21];
	__u32 wire_len; /* with the headers of every segment to come */
	__u32 gso_segs;
};

struct bpf_raw_tracepoint_args {
	__u64 args[4];
};

extern void *bpf_cast_to_kern_ctx(void *ctx) __ksym;

/* ------------------------------------------------------------ state --- */

/* Set before loading. Constants to the verifier: what they exclude is not there. */
const volatile struct qw_bpf_settings settings = {
	.instances = 1,
	.slots = 16384,
	.needs_random = 1,
	.needs_head = 1,
	.needs_flow = 1,
	.acts_at_head = 1,
};

/* What goes with a packet through the queue, in its `cb`: htb and pfifo leave
 * that alone. */
struct note {
	__u32 number; /* of the packets that were let in, from 1 on */
	__u32 enqueue_ns; /* the lower half */
	__u32 ours; /* OURS: else it is somebody else's */
};

#define OURS 0x71770001u

/* A packet that waits, by its number. */
struct slot {
	__u64 enqueue_ns;
	__u32 bytes; /* as the link counts them */
	__u32 kernel_bytes; /* as htb does */
	__u32 flow;
	__u8 ecn;
	__u8 protocol;
};

struct instance {
	__u64 sch; /* the root qdisc, htb */
	__u64 next_ns; /* the link is free again */
	__u64 last_ns; /* a packet left */
	__u64 bytes; /* that wait */
	__u64 kernel_sent; /* htb's count of bytes that were in packets we know of */
	__u32 in,
		out; /* number of the last packet let in, and of the last out */
	__u32 begun;
	__u32 idle; /* the queue manager knows that the link found nothing */
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

static __always_inline __u32 waiting(void)
{
	return running.in - running.out;
}

static __always_inline struct slot *slot_of(__u32 number)
{
	__u32 index = number % settings.slots;

	return bpf_map_lookup_elem(&slots, &index);
}

static __always_inline void see_queue(struct qw_queue *q)
{
	struct slot *head;

	__builtin_memset(q, 0, sizeof(*q));
	q->bytes = running.bytes;
	q->limit_bytes = port.limit_bytes;
	q->packets = waiting();
	q->limit_packets = port.limit_packets;
	if (settings.needs_head && q->packets) {
		head = slot_of(running.out + 1);
		if (head)
			q->head_ns = head->enqueue_ns;
	}
}

static __always_inline void show_backlog(void)
{
	stats.backlog_bytes = running.bytes;
	stats.backlog_packets = waiting();
}

/* The parameters may have been changed by `queuewright set`. */
static __always_inline void take_over(__u64 now)
{
	if (!running.begun || running.restarts != port.restarts) {
		if (!running.begun) {
			running.begun = 1;
			running.idle = 1;
			running.next_ns = now;
			running.retunes = port.retunes;
			stats.marking = QW_BPF_MARKS_FRONT;
		}
		running.restarts = port.restarts;
		begin(&state, &params, now);
	}
#ifdef QW_RETUNE
	if (running.retunes != port.retunes) {
		running.retunes = port.retunes;
		CALL(retune)(&state, &params);
	}
#endif
}

/* ---------------------------------------- what flows are to be told --- */

/* Flows that can be owed something, a power of two. Of two in one place the
 * later one is served. */
#define DEBTS 4096u
/* Who sends no more is not to find hundreds. */
#define MOST_OWED 64u

struct debt {
	__u32 flow;
	__u32 round;
	__u32 marks, drops;
	__u32 reason; /* of the last drop */
};

MAP(debts, DEBTS, struct debt);

static __always_inline struct debt *debt_of(__u32 flow)
{
	__u32 place = flow & (DEBTS - 1);

	return bpf_map_lookup_elem(&debts, &place);
}

/* The queue manager would have the packet that has just left marked or dropped. */
static __always_inline void owe(__u32 flow, struct qw_verdict v)
{
	struct debt *debt = debt_of(flow);

	stats.asked++;
	if (!debt)
		return;
	if (debt->flow != flow || debt->round != running.round) {
		debt->flow = flow;
		debt->round = running.round;
		debt->marks = 0;
		debt->drops = 0;
	}
	if (debt->marks + debt->drops >= MOST_OWED)
		return;
	if (v.action == QW_MARK) {
		debt->marks++;
	} else {
		debt->drops++;
	}
	debt->reason = v.reason;
	running.owed++;
}

/* What the flow is owed, for a packet that has come. */
static __always_inline struct qw_verdict collect(const struct qw_packet *k)
{
	struct qw_verdict v = qw_pass();
	struct debt *debt = debt_of(k->flow);

	if (!debt || debt->flow != k->flow || debt->round != running.round)
		return v;
	if (debt->drops) {
		debt->drops--;
		v.action = QW_DROP;
	} else if (debt->marks && k->ecn != QW_NOT_ECT) {
		debt->marks--;
		v.action = QW_MARK;
	}
	if (v.action == QW_PASS)
		return v;
	v.reason = debt->reason;
	running.owed--;
	return v;
}

/* An empty queue needs no more signals. */
static __always_inline void forgive(void)
{
	running.round++;
	running.owed = 0;
}

/* ----------------------------------------------------------- leaving --- */

/* The packet at the head is on the link, since `now`. */
QW_PART int leaves(__u64 now)
{
	struct qw_packet k = { 0 };
	struct qw_verdict verdict;
	struct qw_queue q;
	struct slot *slot;

	slot = slot_of(running.out + 1);
	if (!slot)
		return 0;
	k.enqueue_ns = slot->enqueue_ns;
	k.bytes = slot->bytes;
	k.flow = slot->flow;
	k.ecn = slot->ecn;
	k.protocol = slot->protocol;
	running.out++;
	running.bytes -= k.bytes;
	running.kernel_sent += slot->kernel_bytes;
	see_queue(&q);
	verdict = CALL(dequeue)(&state, &params, now, &q, &k);
	if (settings.acts_at_head && verdict.action != QW_PASS)
		owe(k.flow, verdict);
	if (port.rate)
		running.next_ns += (__u64)k.bytes * QW_NS_PER_SEC / port.rate;
	running.last_ns = now;
	stats.sent_packets++;
	stats.sent_bytes += k.bytes;
	count_sojourn(&stats, now - k.enqueue_ns);
	return 0;
}

static __always_inline __u64 sent_by(const struct Qdisc *root)
{
	return *(const __u64 *)&root->bstats.bytes;
}

/* `gone` packets at the head are no more in the queue, and `left` has not seen
 * them. What htb has counted as sent has left, when the link was free for it;
 * the rest was thrown away: the device went down, ... */
QW_PART int catch_up(__u64 now, __u64 sent, __u32 gone)
{
	__u64 when;
	__u32 n;

	bpf_for(n, 0, gone)
	{
		struct slot *slot = slot_of(running.out + 1);

		if (!slot)
			break;
		if (running.kernel_sent + slot->kernel_bytes > sent) {
			running.out++;
			running.bytes -= slot->bytes;
			stats.purged++;
			continue;
		}
		when = running.next_ns;
		if (when < running.last_ns)
			when = running.last_ns;
		if (when < slot->enqueue_ns)
			when = slot->enqueue_ns;
		if (when > now)
			when = now;
		leaves(when);
		stats.unseen++;
	}
	return 0;
}

static __always_inline int drop(struct qw_verdict v)
{
	if (v.reason < QW_REASONS)
		stats.drops[v.reason]++;
	show_backlog();
	return TC_ACT_SHOT;
}

static __always_inline void mark(struct __sk_buff *skb, struct qw_verdict v)
{
	if (v.reason < QW_REASONS)
		stats.marks[v.reason]++;
	if (bpf_skb_ecn_set_ce(skb))
		stats.ce_set++;
}

/* Of htb: a packet has come. */
SEC("tc")
int front(struct __sk_buff *skb)
{
	struct sk_buff *inner = bpf_cast_to_kern_ctx(skb);
	const struct Qdisc *root = inner->dev->qdisc;
	struct qw_verdict verdict = qw_pass();
	__u64 now = bpf_ktime_get_ns();
	struct qw_packet k = { 0 };
	struct qw_queue q;
	__u32 random = 0;
	struct slot *slot;
	__s32 bytes;

	skb->tc_classid = 1;
	running.sch = (__u64)root;
	take_over(now);
	if (root->q.qlen < waiting())
		catch_up(now, sent_by(root), waiting() - root->q.qlen);
	/* What others have sent through htb is none of ours. */
	if (!waiting())
		running.kernel_sent = sent_by(root);
	if (!waiting() && running.next_ns <= now) {
		/* The link was done at next_ns, and had nothing to send; but
		 * time does not run backwards if its timer was late. */
		if (!running.idle)
			CALL(idle)(&state, &params,
				   running.next_ns > running.last_ns ?
					   running.next_ns :
					   running.last_ns);
		running.idle = 1;
		running.next_ns = now;
		if (running.owed)
			forgive();
	}

	look(inner, &k);
	k.enqueue_ns = now;
	bytes = (__s32)skb->wire_len +
		port.overhead * (__s32)(skb->gso_segs ? skb->gso_segs : 1);
	k.bytes = bytes > 0 ? (__u32)bytes : 1;
	/* Once asked for it stays in the packet, where `left` finds it. */
	if (settings.needs_flow || settings.acts_at_head)
		k.flow = bpf_get_hash_recalc(skb);
	stats.arrived_packets++;
	stats.arrived_bytes += k.bytes;

	if (settings.acts_at_head && running.owed)
		verdict = collect(&k);
	if (verdict.action == QW_DROP)
		return drop(verdict);
	if (verdict.action == QW_MARK)
		mark(skb, verdict);
	see_queue(&q);
	if (settings.needs_random)
		random = bpf_get_prandom_u32();
	verdict = CALL(enqueue)(&state, &params, now, &q, &k, random);
	if (verdict.action == QW_DROP)
		return drop(verdict);
	if (verdict.action == QW_MARK)
		mark(skb, verdict);

	slot = slot_of(running.in + 1);
	if (!slot)
		return TC_ACT_OK;
	slot->enqueue_ns = now;
	slot->bytes = k.bytes;
	slot->kernel_bytes = skb->wire_len;
	slot->flow = k.flow;
	slot->ecn = (__u8)k.ecn;
	slot->protocol = (__u8)k.protocol;
	running.in++;
	running.bytes += k.bytes;
	running.idle = 0;
	/* struct note */
	skb->cb[0] = running.in;
	skb->cb[1] = (__u32)now;
	skb->cb[2] = OURS;
	show_backlog();
	return TC_ACT_OK;
}

/* Which packet is it? 0: neither let in by `front`, nor seen leaving before, as
 * a device that was busy gives packets back. */
static __always_inline __u32 number_of(const struct sk_buff *skb)
{
	const struct qdisc_skb_cb *cb = (const struct qdisc_skb_cb *)skb->cb;
	const struct note *note = (const struct note *)cb->data;
	__u32 more = note->number - running.out;
	struct slot *slot;

	if (note->ours != OURS || !more || more > waiting())
		return 0;
	slot = slot_of(note->number);
	if (!slot || (__u32)slot->enqueue_ns != note->enqueue_ns)
		return 0;
	return more;
}

/* Of every qdisc of the machine: qdisc, device's queue, number of packets, and
 * the first of them; the others follow in a list. */
SEC("raw_tp/qdisc_dequeue")
int left(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 packets = (__u32)ctx->args[2], n;
	__u64 sch = ctx->args[0], at_skb = ctx->args[3];
	const struct Qdisc *root;
	__u64 now;

	if (running.sch != sch || !at_skb)
		return 0;
	root = bpf_rdonly_cast((void *)sch,
			       bpf_core_type_id_kernel(struct Qdisc));
	now = bpf_ktime_get_ns();
	bpf_for(n, 0, packets)
	{
		const struct sk_buff *skb;
		__u32 more;

		if (!at_skb)
			break;
		skb = bpf_rdonly_cast((void *)at_skb,
				      bpf_core_type_id_kernel(struct sk_buff));
		at_skb = (__u64)skb->next;
		more = number_of(skb);
		if (more > 1)
			catch_up(now, sent_by(root), more - 1);
		if (more)
			leaves(now);
	}
	show_backlog();
	return 0;
}
