/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A discipline of aqm/ as a qdisc of Linux (6.16 or newer): one host for all
 * of them, compiled once for each with -DQW_NAME=codel -DQW_HEADER='"codel.h"',
 * -DQW_QUEUES=QW_SANTA_QUEUES if it is a scheduler: its queues.
 *
 * A BPF qdisc is root or child of mq, and so brings its own shaper. It catches
 * up after a timer that came late for as long as packets wait, as cake does.
 *
 * The kernel has one timer for each qdisc, which has it asked for a packet: the
 * shaper's, and with -DQW_ALARM the discipline's too, for its ticks.
 */
#include "kernel.h"

#define QW_FOR(i, n) bpf_for((i), 0, (n))
#include QW_HEADER
#include "host.h"
#include "instance.h"
#include "marks.h"
#include "packet.h"

#define TEXT(x) #x
#define STRING(x) TEXT(x)

#define NET_XMIT_SUCCESS 0
#define NET_XMIT_DROP 1
#define ENOSPC 28

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* ------------------------------------------------------- statistics --- */

static __always_inline void count_drop(struct at *at, struct Qdisc *sch,
				       __u32 reason)
{
	if (reason < QW_REASONS)
		at->stats->drops[reason]++;
	sch->qstats.drops++;
}

static __always_inline void show_backlog(struct at *at, struct Qdisc *sch)
{
	at->stats->backlog_bytes = at->i->bytes;
	at->stats->backlog_packets = at->i->packets;
	sch->q.qlen = at->i->packets;
	sch->qstats.backlog = (__u32)at->i->bytes;
}

/* -------------------------------------------------------- the queue --- */

/* `head_of`: the queue whose head it is to show. */
static __always_inline void see_queue(const struct at *at, struct qw_queue *q,
				      const struct queue *head_of)
{
	__builtin_memset(q, 0, sizeof(*q));
	q->bytes = at->i->bytes;
	q->limit_bytes = at->port->limit_bytes;
	q->packets = at->i->packets;
	q->limit_packets = at->port->limit_packets;
	if (settings.needs_head && head_of) {
		struct slot *slot = slot_of(at, head_of->head);

		if (slot)
			q->head_ns = slot->enqueue_ns;
	}
}

/* --------------------------------------- several with one rate --- */

/* Below mq each queue of the device has a qdisc, and runs beside the others.
 * They share the link's time: each that has packets has the next piece of it
 * written down as its own, as long as its head packet, and waits for that. So
 * they take turns, all of the rate is used whoever is busy, and no more. From
 * here on (`shared_ns`) it is free. */

/* Others may have theirs written down at the same moment. */
#define TRIES 64
/* What a scheduler's next packet is taken for: a full frame. */
#define FULL_FRAME 1514u

/* The next piece of the link's time is this one's. An idle link saves nothing
 * up; who has more to send makes up for timers that are late. */
static __always_inline void reserve(struct at *at, __u64 now, __u32 bytes)
{
	__u64 rate = at->port->rate, from, old;
	__u32 n;

	if (!rate)
		return;
	bpf_for(n, 0, TRIES)
	{
		old = shared_ns;
		from = old < now ? now : old;
		if (__sync_val_compare_and_swap(
			    &shared_ns, old,
			    from + (__u64)bytes * QW_NS_PER_SEC / rate) != old)
			continue;
		at->i->next_ns = from;
		at->i->reserved = bytes;
		return;
	}
}

/* It has sent so many bytes of what was its. */
static __always_inline void used(struct at *at, __u32 bytes)
{
	__u64 rate = at->port->rate;
	__u32 reserved = at->i->reserved;

	at->i->reserved = 0;
	if (!rate || bytes == reserved)
		return;
	if (bytes > reserved)
		__sync_fetch_and_add(&shared_ns, (__u64)(bytes - reserved) *
							 QW_NS_PER_SEC / rate);
	else
		__sync_fetch_and_sub(&shared_ns, (__u64)(reserved - bytes) *
							 QW_NS_PER_SEC / rate);
}

/* Bytes of the packet that is next, or about so many. */
static __always_inline __u32 next_bytes(const struct at *at)
{
#ifdef QW_QUEUES
	return FULL_FRAME;
#else
	struct slot *slot = slot_of(at, at->i->queue.head);

	return slot ? slot->bytes : FULL_FRAME;
#endif
}

/* Nothing waits any more. A scheduler, which counts what waits, begins anew. */
static __always_inline void drop_all(struct at *at, struct Qdisc *sch,
				     __u64 now)
{
	struct sk_buff *skb;
	struct slot *slot;
	__u32 k;

	bpf_for(k, 0, at->i->fresh)
	{
		slot = slot_of(at, k + 1);
		skb = slot ? bpf_kptr_xchg(&slot->skb, 0) : 0;
		if (skb)
			bpf_kfree_skb(skb);
	}
	at->stats->purged += at->i->packets;
	at->i->queue.head = NONE;
	at->i->queue.tail = NONE;
	at->i->unused = NONE;
	at->i->fresh = 0;
	at->i->packets = 0;
	at->i->bytes = 0;
	if (at->i->reserved)
		used(at, 0);
	show_backlog(at, sch);
#ifdef QW_QUEUES
	bpf_for(k, 0, QW_QUEUES)
	{
		struct queue *queue = queue_of(at, k);

		if (queue) {
			queue->head = NONE;
			queue->tail = NONE;
		}
	}
	begin(at->s, at->p, now);
#endif
}

/* The parameters may have been changed by `queuewright set`. */
static __always_inline void take_over(struct at *at, struct Qdisc *sch,
				      __u64 now)
{
	if (at->i->restarts != at->port->restarts) {
		at->i->restarts = at->port->restarts;
#ifdef QW_QUEUES
		drop_all(at, sch, now);
#else
		begin(at->s, at->p, now);
#endif
		at->i->idle = 1;
	}
#ifdef QW_RETUNE
	if (at->i->retunes != at->port->retunes) {
		at->i->retunes = at->port->retunes;
		CALL(retune)(at->s, at->p);
	}
#endif
}

/* How a scheduler's functions differ from the others'. */
#ifdef QW_QUEUES
#define WHICH(queue) , queue
#define ONLY_QUEUE(at) 0
#else
#define WHICH(queue)
#define ONLY_QUEUE(at) queue_of(at, 0)
#endif

#ifdef QW_QUEUES
/* A scheduler lets packets in, and says which are to go for them. */
static __always_inline void evict(struct at *at, struct Qdisc *sch, __u64 now,
				  struct bpf_sk_buff_ptr *to_free)
{
	struct qw_packet k = { 0 };
	struct qw_queue q;
	struct sk_buff *skb;
	struct queue *queue;
	__u32 turn, from, which;

	bpf_for(turn, 0, settings.slots)
	{
		see_queue(at, &q, 0);
		from = CALL(overflow)(at->s, at->p, now, &q);
		if (from == QW_NONE)
			break;
		which = from & ~QW_TAIL;
		barrier_var(which);
		queue = queue_of(at, which);
		if (!queue)
			break;
		skb = leave(at, queue, !!(from & QW_TAIL), &k);
		if (!skb)
			break;
		see_queue(at, &q, queue);
		CALL(evicted)(at->s, at->p, now, &q, &k, from & ~QW_TAIL);
		count_drop(at, sch, QW_REASON_LIMIT);
		bpf_qdisc_skb_drop(skb, to_free);
	}
}
#endif

SEC("struct_ops/enqueue")
int BPF_PROG(enqueue, struct sk_buff *skb, struct Qdisc *sch,
	     struct bpf_sk_buff_ptr *to_free)
{
	__u64 now = bpf_ktime_get_ns();
	struct qw_verdict verdict;
	struct qw_packet k = { 0 };
	struct qw_queue q;
	struct queue *queue;
	struct slot *slot;
	struct sk_buff *old;
	struct at at;
	__u32 number, segments, to = 0, random = 0;
	__s32 bytes;

	if (!find_of(&at, sch)) {
		bpf_qdisc_skb_drop(skb, to_free);
		return NET_XMIT_DROP;
	}
	take_over(&at, sch, now);
	if (!at.i->packets && at.port->rate && at.i->next_ns <= now) {
		/* The link was done at next_ns, and had nothing to send. */
		if (!at.i->idle)
			CALL(idle)(at.s, at.p, at.i->next_ns);
		at.i->idle = 1;
		at.i->next_ns = now;
	}

	look(skb, &k);
	k.ecn = ecn_before(skb, k.ecn);
	k.enqueue_ns = now;
	segments = segments_of(skb);
	bytes = (__s32)length_of(skb) + at.port->overhead * (__s32)segments;
	k.bytes = bytes > 0 ? (__u32)bytes : 1;
#ifdef QW_FURTHER
	k.frame_bytes += at.port->overhead;
#endif
	if (settings.needs_flow)
		k.flow = bpf_skb_get_hash(skb);
	if (marks_by() == QW_BPF_MARKS_NONE)
		k.ecn = QW_NOT_ECT;
	at.stats->arrived_packets++;
	at.stats->arrived_bytes += k.bytes;
	at.stats->gso_packets += segments > 1;

	/* Before a scheduler counts it among what waits. */
	if (is_full(&at)) {
		at.stats->no_slot++;
		count_drop(&at, sch, QW_REASON_LIMIT);
		bpf_qdisc_skb_drop(skb, to_free);
		return NET_XMIT_DROP;
	}
	see_queue(&at, &q, ONLY_QUEUE(&at));
	if (settings.needs_random)
		random = bpf_get_prandom_u32();
	verdict = CALL(enqueue)(at.s, at.p, now, &q, &k, random WHICH(&to));
	if (verdict.action == QW_DROP) {
		count_drop(&at, sch, verdict.reason);
		bpf_qdisc_skb_drop(skb, to_free);
		return NET_XMIT_DROP;
	}
	if (verdict.action == QW_MARK)
		mark(&at, skb, verdict.reason);

	number = take_slot(&at);
	slot = slot_of(&at, number);
	queue = queue_of(&at, to);
	if (!slot || !queue) {
		/* Not while scheduler and slots are what they are to be. */
		bpf_qdisc_skb_drop(skb, to_free);
		return NET_XMIT_DROP;
	}
	slot->enqueue_ns = now;
	slot->bytes = k.bytes;
	slot->flow = k.flow;
	slot->ecn = (__u8)k.ecn;
	slot->protocol = (__u8)k.protocol;
#ifdef QW_FURTHER
	slot->frame_bytes = k.frame_bytes;
	slot->segments = k.segments;
#endif
	old = bpf_kptr_xchg(&slot->skb, skb);
	if (old)
		bpf_qdisc_skb_drop(old, to_free);
	join(&at, queue, slot, number);
#ifdef QW_QUEUES
	evict(&at, sch, now, to_free);
#endif
	show_backlog(&at, sch);
	return NET_XMIT_SUCCESS;
}

/* Nothing is sent now. The kernel asks again when the link is free, if packets
 * wait for that, or when the discipline has something to do. */
static __always_inline void ask_again(struct at *at, struct Qdisc *sch,
				      __u64 now)
{
	__u64 next = at->i->packets ? at->i->next_ns : QW_NEVER;

#ifdef QW_ALARM
	__u64 alarm;

	CALL(tick)(at->s, at->p, now);
	alarm = CALL(alarm)(at->s, at->p);
	if (alarm < next)
		next = alarm;
#endif
	if (next != QW_NEVER)
		bpf_qdisc_watchdog_schedule(sch, next, 0);
}

SEC("struct_ops/dequeue")
struct sk_buff *BPF_PROG(dequeue, struct Qdisc *sch)
{
	__u64 now = bpf_ktime_get_ns();
	struct sk_buff *skb = 0;
	struct qw_verdict verdict;
	struct qw_packet k = { 0 };
	struct qw_queue q;
	struct queue *queue;
	struct at at;
	__u64 rate, since = now; /* the link has found nothing */
	__u32 shares;
	__u32 turn, __attribute__((unused)) from = 0, which = 0;

	if (!find_of(&at, sch))
		return 0;
	take_over(&at, sch, now);
	rate = at.port->rate;
	shares = settings.instances > 1 && rate;
	if (shares && at.i->packets && !at.i->reserved)
		reserve(&at, now, next_bytes(&at));
	if (rate && at.i->next_ns > now) {
		if (at.i->packets)
			sch->qstats.overlimits++;
		ask_again(&at, sch, now);
		return 0;
	}
	/* As after every packet that leaves nothing behind. */
	if (!at.i->packets) {
		if (rate)
			since = at.i->next_ns;
		goto nothing;
	}
	/* As many turns as packets can be dropped in a row. */
	bpf_for(turn, 0, settings.slots)
	{
#ifdef QW_QUEUES
		if (!at.i->packets)
			break;
		see_queue(&at, &q, 0);
		from = CALL(next)(at.s, at.p, now, &q);
		/* What is known of `from` from here on clang keeps to itself. */
		which = from;
		barrier_var(which);
#endif
#ifdef QW_SHAPER
		if (from == QW_NONE) {
			/* Not yet: the link is idle, and saves nothing up. */
			at.i->next_ns = now;
			show_backlog(&at, sch);
			sch->qstats.overlimits++;
			bpf_qdisc_watchdog_schedule(sch,
						    CALL(ready)(at.s, at.p), 0);
			return 0;
		}
#endif
		queue = queue_of(&at, which);
		if (!queue)
			break;
		skb = leave(&at, queue, 0, &k);
		if (!skb)
			break;
		see_queue(&at, &q, queue);
		verdict = CALL(dequeue)(at.s, at.p, now, &q, &k WHICH(from));
		if (verdict.action != QW_DROP) {
			if (verdict.action == QW_MARK)
				mark(&at, skb, verdict.reason);
			break;
		}
		count_drop(&at, sch, verdict.reason);
		bpf_kfree_skb(skb);
		skb = 0;
	}
	show_backlog(&at, sch);
	if (!skb)
		goto nothing;
	at.i->idle = 0;
	if (shares) {
		used(&at, k.bytes);
		/* Its turn is behind those that wait already. */
		if (at.i->packets)
			reserve(&at, 0, next_bytes(&at));
	} else if (rate)
		at.i->next_ns += (__u64)k.bytes * QW_NS_PER_SEC / rate;
	else
		at.i->next_ns =
			now; /* nothing to catch up on, once there is one */
	at.stats->sent_packets++;
	at.stats->sent_bytes += k.bytes;
	count_sojourn(at.stats, now - k.enqueue_ns);
	bpf_qdisc_bstats_update(sch, skb);
	return skb;

nothing:
	if (at.i->reserved)
		used(&at, 0);
	if (!at.i->idle)
		CALL(idle)(at.s, at.p, since);
	at.i->idle = 1;
#ifdef QW_ALARM
	ask_again(&at, sch, now);
#endif
	return 0;
}

SEC("struct_ops/init")
int BPF_PROG(init, struct Qdisc *sch, struct nlattr *options,
	     struct netlink_ext_ack *extack)
{
	__u64 now = bpf_ktime_get_ns();
	struct at at;
	__u32 k;

	bpf_for(k, 0, settings.instances)
	{
		if (!find(&at, k))
			break;
		if (at.i->sch)
			continue;
		at.i->sch = (__u64)sch;
		at.i->next_ns = now;
		at.i->idle = 1;
		at.i->retunes = at.port->retunes;
		at.i->restarts = at.port->restarts;
		at.stats->marking = marks_by();
		sch->limit = at.port->limit_packets;
		begin(at.s, at.p, now);
		return 0;
	}
	return -ENOSPC;
}

SEC("struct_ops/reset")
void BPF_PROG(reset, struct Qdisc *sch)
{
	struct at at;

	if (!find_of(&at, sch))
		return;
	drop_all(&at, sch, bpf_ktime_get_ns());
}

SEC("struct_ops/destroy")
void BPF_PROG(destroy, struct Qdisc *sch)
{
	struct at at;

	if (find_of(&at, sch) && at.i->sch == (__u64)sch)
		at.i->sch = 0;
}

SEC(".struct_ops")
struct Qdisc_ops qdisc = {
	.enqueue = (void *)enqueue,
	.dequeue = (void *)dequeue,
	.init = (void *)init,
	.reset = (void *)reset,
	.destroy = (void *)destroy,
	.id = "bpf_" STRING(QW_NAME),
};
