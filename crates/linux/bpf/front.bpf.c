/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A discipline of aqm/ in front of htb, for kernels without BPF qdiscs: one
 * host for all of them, compiled once for each with -DQW_NAME=codel
 * -DQW_HEADER='"codel.h"'.
 *
 * htb holds the packets and shapes. `front` is its classifier: the kernel asks
 * it about each packet before htb queues it, and it can drop the packet or set
 * CE. `left` sees packets leave, at the kernel's tracepoint. Both run under the
 * root qdisc's lock, so that the discipline is called as by any other host.
 * Not every kernel runs a program at a tracepoint each time: what `left` misses
 * is known from htb's counters, and when it left from htb's rate.
 *
 * Only, what has left cannot be dropped or marked any more. A discipline
 * whose rule acts on the head packet (settings.acts_at_head) is owed that by the next
 * packet of the same flow that comes.
 *
 * A scheduler that can leave its order of service to others (-DQW_QUEUES=, its
 * queues) has a class of htb for each queue, and says which one a packet joins.
 */
#include "kernel.h"

#define QW_FOR(i, n) bpf_for((i), 0, (n))
#include QW_HEADER
#include "host.h"
#include "packet.h"
#include "waiting.h"

#define TC_ACT_OK 0
#define TC_ACT_SHOT 2

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct bpf_raw_tracepoint_args {
	__u64 args[4];
};

/* ------------------------------------------------------------ state --- */

/* What goes with a packet through the queue, in its `cb`: htb and pfifo leave
 * that alone. */
struct note {
	__u32 number; /* of its slot */
	__u32 enqueue_ns; /* the lower half */
	__u32 ours; /* OURS: else it is somebody else's */
};

#define OURS 0x71770001u

/* How a scheduler's functions differ from the others', and which class of htb is
 * a queue's: src/front.rs makes them. */
#ifdef QW_QUEUES
#define WHICH(queue) , queue
#define CLASS_OF(queue) (0x10 + (queue))
#define ONLY_QUEUE 0
#else
#define WHICH(queue)
#define CLASS_OF(queue) 1
#define ONLY_QUEUE &only
#endif

/* Of a packet that came to none. */
#define NO_QUEUE QW_NONE

/* `head_of`: the queue whose head it is to show. */
static __always_inline void see_queue(struct qw_queue *q,
				      const struct qw_bpf_queue *head_of)
{
	struct slot *head;

	__builtin_memset(q, 0, sizeof(*q));
	q->bytes = running.bytes;
	q->limit_bytes = port.limit_bytes;
	q->packets = running.packets;
	q->limit_packets = port.limit_packets;
	if (settings.needs_head && head_of) {
		head = slot_of(head_of->head);
		if (head)
			q->head_ns = head->enqueue_ns;
	}
}

static __always_inline void show_backlog(void)
{
	stats.backlog_bytes = running.bytes;
	stats.backlog_packets = running.packets;
}

#ifdef QW_QUEUES
/* Packets after which all shares are written down again. */
#define SHARES_SHOWN 64u

QW_PART int show_shares(void)
{
	struct qw_bpf_queue *queue;
	__u32 which;

	bpf_for(which, 0, QW_QUEUES)
	{
		queue = queue_of(which);
		if (queue)
			queue->share = CALL(share_of)(&state, &params, which);
	}
	return 0;
}
#endif

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

/* The discipline would have the packet that has just left marked or dropped. */
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

/* The packet at the head of a queue is on the link, and waited `waited`. */
QW_PART int leaves(__u64 now, __u64 waited, __u32 which)
{
	struct qw_bpf_queue *queue = queue_of(which);
	struct qw_packet k = { 0 };
	struct qw_verdict verdict;
	struct qw_queue q;
	struct slot *slot;

	if (!queue)
		return 0;
	slot = slot_of(queue->head);
	if (!slot)
		return 0;
	running.now = now;
	k.enqueue_ns = now - waited;
	k.bytes = slot->bytes;
	k.flow = slot->flow;
	k.ecn = slot->ecn;
	k.protocol = slot->protocol;
	leave(queue, slot);
	running.kernel_sent += slot->kernel_bytes;
	if (port.rate)
		running.next_ns += (__u64)k.bytes * QW_NS_PER_SEC / port.rate;
	running.last_ns = now;
	stats.sent_packets++;
	stats.sent_bytes += k.bytes;
	count_sojourn(&stats, waited);
	queue->sent_packets++;
	queue->sent_bytes += k.bytes;
	queue->sojourn_sum_ns += waited;
	queue->sojourn_ns = waited;
#ifdef QW_QUEUES
	/* A scheduler that has begun anew since knows nothing of it. */
	if (slot->era != (__u8)running.restarts)
		return 0;
	CALL(chosen)(&state, &params, now, which);
#endif
	see_queue(&q, queue);
	verdict = CALL(dequeue)(&state, &params, now, &q, &k WHICH(which));
	if (settings.acts_at_head && verdict.action != QW_PASS)
		owe(k.flow, verdict);
	return 0;
}

static __always_inline __u64 sent_by(const struct Qdisc *root)
{
	return *(const __u64 *)&root->bstats.bytes;
}

/* When a packet left that nobody saw leave: when the link was free for it, or,
 * of several queues, after as long as the one before it in its queue. */
static __always_inline __u64 left_at(const struct slot *slot,
				     const struct qw_bpf_queue *queue,
				     __u64 now)
{
#ifdef QW_QUEUES
	__u64 when = slot->enqueue_ns + queue->sojourn_ns;
#else
	__u64 when = running.next_ns;

	if (when < running.last_ns)
		when = running.last_ns;
#endif
	if (when < slot->enqueue_ns)
		when = slot->enqueue_ns;
	return when > now ? now : when;
}

/* The packet at the head of a queue was thrown away. A scheduler counts what
 * waits. */
QW_PART int purged(__u32 which)
{
	struct qw_bpf_queue *queue = queue_of(which);
	struct slot *slot;

	if (!queue)
		return 0;
	slot = slot_of(queue->head);
	if (!slot)
		return 0;
	leave(queue, slot);
	stats.purged++;
#ifdef QW_QUEUES
	struct qw_packet k = { 0 };
	struct qw_queue q;

	k.enqueue_ns = slot->enqueue_ns;
	k.bytes = slot->bytes;
	k.flow = slot->flow;
	see_queue(&q, queue);
	if (slot->era == (__u8)running.restarts)
		CALL(evicted)(&state, &params, running.now, &q, &k, which);
#endif
	return 0;
}

/* `gone` packets at the head of a queue, and none from `until` on, are no more in
 * it, and `left` has not seen them. What htb has counted as sent has left; the
 * rest was thrown away: the device went down, ... */
QW_PART int catch_up(__u64 now, __u64 sent, __u32 gone, __u32 until,
		     __u32 which)
{
	struct qw_bpf_queue *queue = queue_of(which);
	__u64 when;
	__u32 n;

	if (!queue)
		return 0;
	bpf_for(n, 0, gone)
	{
		struct slot *slot = slot_of(queue->head);

		if (!slot || queue->head == until)
			break;
		if (running.kernel_sent + slot->kernel_bytes > sent) {
			purged(which);
			continue;
		}
		when = left_at(slot, queue, now);
		/* It is told now if it has been told of later things. */
		leaves(when < running.now ? running.now : when,
		       when - slot->enqueue_ns, which);
		stats.unseen++;
	}
	return 0;
}

/* What htb holds no more. */
static __always_inline void look_at(const struct Qdisc *root, __u64 now)
{
	__u32 there = root->q.qlen;

	if (there >= running.packets)
		return;
#ifdef QW_QUEUES
	__u32 which;

	/* Of which queue they were shows when the next packet of it leaves. */
	if (there)
		return;
	bpf_for(which, 0, QW_QUEUES)
		catch_up(now, sent_by(root), running.packets, NONE, which);
#else
	catch_up(now, sent_by(root), running.packets - there, NONE, 0);
#endif
}

static __always_inline int drop(struct qw_verdict v, __u32 which)
{
	struct qw_bpf_queue *queue = queue_of(which);

	if (v.reason < QW_REASONS)
		stats.drops[v.reason]++;
	if (queue)
		queue->dropped++;
	show_backlog();
	return TC_ACT_SHOT;
}

static __always_inline void mark(struct __sk_buff *skb, struct qw_verdict v)
{
	if (v.reason < QW_REASONS)
		stats.marks[v.reason]++;
	if (set_ce(skb))
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
	__u32 random = 0, number, which, to = 0;
	struct qw_bpf_queue *queue;
	__u32 segments = segments_of(inner);
	__s32 bytes;

	skb->tc_classid = CLASS_OF(0);
	running.sch = (__u64)root;
#ifdef QW_QUEUES
	if (take_over(now))
		show_shares();
#else
	take_over(now);
#endif
	look_at(root, now);
	/* What others have sent through htb is none of ours. */
	if (!running.packets)
		running.kernel_sent = sent_by(root);
	if (!running.packets && running.next_ns <= now) {
		/* The link was done at next_ns, and had nothing to send; but
		 * time does not run backwards if its timer was late. */
		if (!running.idle)
			CALL(idle)(&state, &params,
				   running.next_ns > running.now ?
					   running.next_ns :
					   running.now);
		running.idle = 1;
		running.next_ns = now;
		if (running.owed)
			forgive();
	}
	running.now = now;

	look(inner, &k);
	k.enqueue_ns = now;
	bytes = (__s32)skb->wire_len + port.overhead * (__s32)segments;
	k.bytes = bytes > 0 ? (__u32)bytes : 1;
	/* Once asked for it stays in the packet, where `left` finds it. */
	if (settings.needs_flow || settings.acts_at_head)
		k.flow = bpf_get_hash_recalc(skb);
	stats.arrived_packets++;
	stats.arrived_bytes += k.bytes;
	stats.gso_packets += segments > 1;

	/* Before a scheduler counts it among what waits. */
	if (is_full()) {
		stats.no_slot++;
		return drop(qw_drop(QW_REASON_LIMIT), NO_QUEUE);
	}
	if (settings.acts_at_head && running.owed)
		verdict = collect(&k);
	if (verdict.action == QW_DROP)
		return drop(verdict, NO_QUEUE);
	if (verdict.action == QW_MARK)
		mark(skb, verdict);
	see_queue(&q, ONLY_QUEUE);
	if (settings.needs_random)
		random = bpf_get_prandom_u32();
	verdict =
		CALL(enqueue)(&state, &params, now, &q, &k, random WHICH(&to));
	if (verdict.action == QW_DROP)
		return drop(verdict, to);
	if (verdict.action == QW_MARK)
		mark(skb, verdict);

	which = to;
	barrier_var(which);
	queue = queue_of(which);
	if (!queue)
		return TC_ACT_OK;
	number = join(queue, which, &k, skb->wire_len);
#ifdef QW_QUEUES
	skb->tc_classid = CLASS_OF(which);
	if (stats.arrived_packets % SHARES_SHOWN == 0)
		show_shares();
#endif
	running.idle = 0;
	/* struct note */
	skb->cb[0] = number;
	skb->cb[1] = (__u32)now;
	skb->cb[2] = OURS;
	show_backlog();
	return TC_ACT_OK;
}

/* The slot of a packet. 0: it was not let in by `front`, or seen leaving before,
 * as a device that was busy gives packets back. */
static __always_inline struct slot *found(const struct sk_buff *skb,
					  __u32 *number)
{
	const struct qdisc_skb_cb *cb = (const struct qdisc_skb_cb *)skb->cb;
	const struct note *note = (const struct note *)cb->data;
	struct slot *slot;

	if (note->ours != OURS)
		return 0;
	*number = note->number;
	slot = slot_of(*number);
	if (!slot || !slot->waits ||
	    (__u32)slot->enqueue_ns != note->enqueue_ns)
		return 0;
	return slot;
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
		__u32 number, which;
		struct slot *slot;

		if (!at_skb)
			break;
		skb = bpf_rdonly_cast((void *)at_skb,
				      bpf_core_type_id_kernel(struct sk_buff));
		at_skb = (__u64)skb->next;
		slot = found(skb, &number);
		if (!slot)
			continue;
		which = slot->queue;
		/* Those before it are gone, too. */
		catch_up(now, sent_by(root), running.packets, number, which);
		leaves(now, now - slot->enqueue_ns, which);
	}
	show_backlog();
	return 0;
}
