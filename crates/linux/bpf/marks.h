/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How CE is set. A BPF qdisc may not write to packets. Where a module brings a
 * function that does, it is called. Else the qdisc writes down that a packet of
 * the flow is to be marked, and a program in front of it, at the device's tcx
 * egress hook, marks the flow's next packet: late by what the flow has waiting,
 * but never that of another flow. That packet then comes to the qdisc with CE;
 * what it said before goes with it, so that the discipline is not told of its
 * own marks: PI2 and DualPI2 would take them for those of a scalable sender.
 */
#ifndef QW_BPF_MARKS_H
#define QW_BPF_MARKS_H

#include "instance.h"
#include "packet.h"

/* Flows that can be owed a mark, a power of two. Of two in one place the later
 * one is served. */
#define ASKS 4096u
/* Marks that a flow can be owed: who sends no more is not to find hundreds. */
#define MOST_OWED 64u
/* All but one lapse where none has been asked for so long, the last one later:
 * they would tell of a queue that is long gone. */
#define LAPSES_NS (250 * QW_NS_PER_MS)
#define LAST_LAPSES_NS (10 * QW_NS_PER_SEC)

struct ask {
	__u64 last_ns; /* when one was last asked for */
	__u32 flow;
	__u32 owed;
};

MAP(asks, ASKS, struct ask);

/* Marks owed to all flows together: mostly none, and then the program in front
 * need not know whose packet it sees. Should the sum be off by a race, that
 * costs time or a mark, and nothing else. */
__u64 owed_to_all;

/* What the companion leaves in a packet's control block, which is the qdisc's
 * to use. */
struct before {
	__u32 ours; /* MARKED_HERE: else it is somebody else's */
	__u32 ecn; /* the field before CE was set */
};

#define MARKED_HERE 0x71774345u

static __always_inline __u32 marks_by(void)
{
	if (bpf_ksym_exists(bpf_qw_skb_set_ce))
		return QW_BPF_MARKS_KFUNC;
	return settings.companion ? QW_BPF_MARKS_COMPANION : QW_BPF_MARKS_NONE;
}

static __always_inline void mark(struct at *at, struct sk_buff *skb,
				 __u32 reason)
{
	struct ask *ask;
	__u32 flow, place;

	if (bpf_ksym_exists(bpf_qw_skb_set_ce)) {
		bpf_qw_skb_set_ce(skb);
	} else {
		flow = bpf_skb_get_hash(skb);
		place = flow & (ASKS - 1);
		ask = bpf_map_lookup_elem(&asks, &place);
		if (ask && ask->flow != flow) {
			__sync_fetch_and_sub(&owed_to_all, ask->owed);
			ask->owed = 0;
			ask->flow = flow;
		}
		if (ask)
			ask->last_ns = bpf_ktime_get_ns();
		if (ask && ask->owed < MOST_OWED) {
			__sync_fetch_and_add(&ask->owed, 1);
			__sync_fetch_and_add(&owed_to_all, 1);
		}
	}
	if (reason < QW_REASONS)
		at->stats->marks[reason]++;
}

/* The ECN field of a packet as it came to the device: a mark that the companion
 * has set since is not told of. */
static __always_inline __u32 ecn_before(struct sk_buff *skb, __u32 ecn)
{
	struct qdisc_skb_cb *cb = (struct qdisc_skb_cb *)skb->cb;
	struct before *before = (struct before *)cb->data;

	if (ecn != QW_CE || before->ours != MARKED_HERE)
		return ecn;
	before->ours = 0; /* once: the packet may meet other qdiscs */
	return before->ecn & 3;
}

SEC("tcx/egress")
int companion(struct __sk_buff *skb)
{
	struct sk_buff *inner = bpf_cast_to_kern_ctx(skb);
	struct qw_packet k = { 0 };
	__u32 flow, place, owed, left;
	struct ask *ask;
	__u64 now;

	if (!owed_to_all)
		return TCX_NEXT;
	flow = bpf_get_hash_recalc(skb);
	place = flow & (ASKS - 1);
	ask = bpf_map_lookup_elem(&asks, &place);
	if (!ask || ask->flow != flow)
		return TCX_NEXT;
	owed = ask->owed;
	if (!owed)
		return TCX_NEXT;
	/* One may just have been asked for, on another processor. */
	now = bpf_ktime_get_ns();
	left = now < ask->last_ns + LAPSES_NS ?
		       owed :
		       now < ask->last_ns + LAST_LAPSES_NS;
	if (left != owed) {
		if (__sync_bool_compare_and_swap(&ask->owed, owed, left))
			__sync_fetch_and_sub(&owed_to_all, owed - left);
		owed = left;
		if (!owed)
			return TCX_NEXT;
	}
	look(inner, &k);
	/* 0 if the packet's sender does not understand. */
	if (!set_ce(skb))
		return TCX_NEXT;
	/* struct before */
	skb->cb[0] = MARKED_HERE;
	skb->cb[1] = k.ecn;
	/* Other processors do the same; the qdisc's lock is not held here. */
	if (__sync_bool_compare_and_swap(&ask->owed, owed, owed - 1)) {
		__sync_fetch_and_sub(&owed_to_all, 1);
		__sync_fetch_and_add(&NTH(stats, 0)->ce_set, 1);
	}
	return TCX_NEXT;
}

#endif /* QW_BPF_MARKS_H */
