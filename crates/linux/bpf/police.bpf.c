/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A discipline of aqm/ as a policer, at a device's tcx hook: no packet waits.
 * The queue that the discipline sees is only counted: the packets that are let
 * in fill it, and it empties at port.rate. It is compiled once for each that
 * decides when a packet comes, and drops or marks none that waits (QW_POLICES): -DQW_NAME=titrate -DQW_HEADER='"titrate.h"'.
 *
 * What leaves the counted queue is made up for when the next packet comes, at
 * the time when it left, so that the discipline is called as by any other host.
 * Packets may come on several processors at once: one at a time is looked at,
 * as they share one queue.
 */
#include "kernel.h"

#define QW_FOR(i, n) bpf_for((i), 0, (n))
#include QW_HEADER
#include "host.h"
#include "packet.h"
#include "waiting.h"

#define TC_ACT_SHOT 2

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Another processor is looking at a packet. */
__u32 busy SEC(".bss.busy");
/* Looks at whether it still is: some microseconds each hundred. */
#define TURNS 100000u

static __always_inline int enter(void)
{
	__u32 turn;

	bpf_for(turn, 0, TURNS)
	{
		if (!__sync_lock_test_and_set(&busy, 1))
			return 1;
	}
	return 0;
}

static __always_inline void see_queue(struct qw_queue *q, __u64 on_link)
{
	__builtin_memset(q, 0, sizeof(*q));
	q->bytes = running.bytes + on_link;
	q->limit_bytes = port.limit_bytes;
	q->packets = running.packets;
	q->limit_packets = port.limit_packets;
}

/* Bytes of the packet on the link that have not left it. */
static __always_inline __u64 on_link(__u64 now)
{
	__u64 left;

	if (running.next_ns <= now)
		return 0;
	left = ((running.next_ns - now) * running.rate + QW_NS_PER_SEC - 1) /
	       QW_NS_PER_SEC;
	return left < running.last_bytes ? left : running.last_bytes;
}

/* What is on the link goes on at the rate that there is now. */
static __always_inline void take_rate(__u64 now)
{
	__u64 left;

	if (running.rate == port.rate)
		return;
	left = running.rate ? on_link(now) : 0;
	running.rate = port.rate;
	running.rest = 0;
	if (left)
		running.next_ns = now + left * QW_NS_PER_SEC / port.rate;
}

/* The head packet goes to the link at `now`. */
QW_PART int leaves(__u64 now)
{
	struct qw_packet k = { 0 };
	struct qw_queue q;
	struct slot *slot = slot_of(only.head);

	if (!slot)
		return 0;
	k.enqueue_ns = slot->enqueue_ns;
	k.bytes = slot->bytes;
	k.flow = slot->flow;
	k.ecn = slot->ecn;
	k.protocol = slot->protocol;
	leave(&only, slot);
	/* Nothing is lost to rounding. */
	running.rest += (__u64)k.bytes * QW_NS_PER_SEC;
	running.next_ns = now + running.rest / running.rate;
	running.rest %= running.rate;
	running.last_bytes = k.bytes;
	stats.sent_packets++;
	stats.sent_bytes += k.bytes;
	count_sojourn(&stats, now - k.enqueue_ns);
	see_queue(&q, 0);
	CALL(dequeue)(&state, &params, now, &q, &k);
	return 0;
}

/* What the link has done since. */
QW_PART int serve(__u64 now)
{
	struct slot *slot;
	__u64 when;
	__u32 n;

	bpf_for(n, 0, settings.slots)
	{
		slot = slot_of(only.head);
		if (!slot || !running.packets)
			break;
		when = running.next_ns;
		if (when < slot->enqueue_ns)
			when = slot->enqueue_ns;
		if (when > now)
			return 0;
		leaves(when);
	}
	if (running.next_ns <= now) {
		/* The link was done then, and had nothing to send. */
		if (!running.idle)
			CALL(idle)(&state, &params, running.next_ns);
		running.idle = 1;
	}
	return 0;
}

static __always_inline int drop(struct qw_verdict v)
{
	if (v.reason < QW_REASONS)
		stats.drops[v.reason]++;
	only.dropped++;
	return TC_ACT_SHOT;
}

static __always_inline int judge(struct __sk_buff *skb)
{
	struct sk_buff *inner = bpf_cast_to_kern_ctx(skb);
	__u64 now = bpf_ktime_get_ns();
	struct qw_packet k = { 0 };
	struct qw_verdict verdict;
	struct qw_queue q;
	__u32 random = 0;
	__u32 segments = segments_of(inner);
	__s32 bytes;

	/* Clocks of processors may differ by a little. */
	if (now < running.now)
		now = running.now;
	running.now = now;
	if (running.begun)
		serve(now);
	take_rate(now);
	take_over(now);

	look(inner, &k);
	k.enqueue_ns = now;
	/* Of what comes in wire_len leaves out the header of the link. */
	bytes = (__s32)(skb->wire_len > skb->len ? skb->wire_len : skb->len) +
		port.overhead * (__s32)segments;
	k.bytes = bytes > 0 ? (__u32)bytes : 1;
	if (settings.needs_flow)
		k.flow = bpf_get_hash_recalc(skb);
	stats.arrived_packets++;
	stats.arrived_bytes += k.bytes;
	stats.gso_packets += segments > 1;
	if (is_full()) {
		stats.no_slot++;
		return drop(qw_drop(QW_REASON_LIMIT));
	}
	see_queue(&q, on_link(now));
	if (settings.needs_random)
		random = bpf_get_prandom_u32();
	verdict = CALL(enqueue)(&state, &params, now, &q, &k, random);
	if (verdict.action == QW_DROP)
		return drop(verdict);
	if (verdict.action == QW_MARK) {
		/* Unmarked it would only be let through. */
		if (!set_ce(skb))
			return drop(qw_drop(verdict.reason));
		stats.ce_set++;
		if (verdict.reason < QW_REASONS)
			stats.marks[verdict.reason]++;
	}
	join(&only, 0, &k, k.bytes);
	running.idle = 0;
	return TCX_NEXT;
}

/* A packet comes to the device, or is about to leave it. */
SEC("tc")
int police(struct __sk_buff *skb)
{
	struct sk_buff *inner = bpf_cast_to_kern_ctx(skb);
	__u64 net = (__u64)inner->dev->nd_net.net;
	int verdict;

	if (!port.rate)
		return TCX_NEXT;
	/* Its device has been moved to another network namespace, and has taken
	 * this program along: nobody there has asked for it. */
	if (running.sch && running.sch != net)
		return TCX_NEXT;
	if (!enter()) {
		/* Nobody holds it for so long; it passes as it is. */
		__sync_fetch_and_add(&stats.unseen, 1);
		return TCX_NEXT;
	}
	running.sch = net;
	verdict = judge(skb);
	stats.backlog_bytes = running.bytes;
	stats.backlog_packets = running.packets;
	__sync_lock_test_and_set(&busy, 0);
	return verdict;
}
