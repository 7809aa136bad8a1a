/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A queue manager of aqm/ as a qdisc of Linux (6.16 or newer): one host for all
 * of them, compiled once for each with -DQW_NAME=codel -DQW_HEADER='"codel.h"'.
 *
 * Packets wait in a slab: an array of slots, each with one packet, linked by
 * numbers. No lock is needed, as the kernel holds the qdisc's own at each call,
 * and no memory is asked for while packets flow.
 *
 * A BPF qdisc is root or child of mq, and so brings its own shaper. It catches
 * up after a timer that came late for as long as packets wait, as cake does.
 */
#include "kernel.h"

#define QW_FOR(i, n) bpf_for((i), 0, (n))
#include "shared.h"
#include QW_HEADER

#define TEXT(x) #x
#define STRING(x) TEXT(x)

#define NET_XMIT_SUCCESS 0
#define NET_XMIT_DROP 1
#define ENOSPC 28
#define ETH_P_IP 0x0800
#define ETH_P_IPV6 0x86DD
#define ETH_P_8021Q 0x8100
#define ETH_P_8021AD 0x88A8
/* Ends a list; slots count from 1. */
#define NONE 0u

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Set before loading. Constants to the verifier: what they exclude is not there. */
const volatile struct qw_bpf_settings settings = {
	.instances = 1,
	.slots = 16384,
	.needs_random = 1,
	.needs_head = 1,
};

struct slot {
	struct sk_buff __kptr *skb;
	__u64 enqueue_ns;
	__u32 next;
	__u32 bytes; /* as the link counts them */
	__u32 length; /* as the kernel does */
	__u32 flow;
	__u8 ecn;
	__u8 protocol;
};

/* A qdisc that is attached. */
struct instance {
	__u64 sch; /* the kernel's; 0: free */
	__u64 next_ns; /* the shaper's: the link is free again */
	__u64 bytes;
	__u32 packets;
	__u32 head, tail; /* of the queue */
	__u32 unused; /* slots that were in use, a list */
	__u32 fresh; /* slots that have never been */
	__u32 idle; /* the queue manager knows that the link found nothing */
	__u32 retunes, restarts; /* of the port, as last seen */
};

MAP(slots, 16384, struct slot);
MAP(running, 1, struct instance);
MAP(params, 1, PARAMS);
MAP(state, 1, STATE);
MAP(port, 1, struct qw_bpf_port);
MAP(stats, 1, struct qw_bpf_stats);

/* Everything of an instance. */
struct at {
	struct instance *i;
	PARAMS *p;
	STATE *s;
	struct qw_bpf_port *port;
	struct qw_bpf_stats *stats;
	__u32 first; /* its first slot */
};

static __always_inline int find(struct at *at, __u32 index)
{
	at->i = bpf_map_lookup_elem(&running, &index);
	at->p = bpf_map_lookup_elem(&params, &index);
	at->s = bpf_map_lookup_elem(&state, &index);
	at->port = bpf_map_lookup_elem(&port, &index);
	at->stats = bpf_map_lookup_elem(&stats, &index);
	at->first = index * settings.slots;
	return at->i && at->p && at->s && at->port && at->stats;
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
		struct instance *i = bpf_map_lookup_elem(&running, &k);

		if (i && i->sch == sch) {
			found = (__s32)k;
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

/* Slots count from 1. */
static __always_inline struct slot *slot_of(const struct at *at, __u32 number)
{
	__u32 index = at->first + number - 1;

	return bpf_map_lookup_elem(&slots, &index);
}

/* -------------------------------------------------- what a packet is --- */

static __always_inline __u32 length_of(struct sk_buff *skb)
{
	return ((struct qdisc_skb_cb *)skb->cb)->pkt_len;
}

/* The packets that one of the kernel's becomes on the link. */
static __always_inline __u32 segments_of(struct sk_buff *skb)
{
	struct qdisc_skb_cb *cb = (struct qdisc_skb_cb *)skb->cb;
	__u32 segments = 1;

	if (bpf_core_field_exists(cb->pkt_segs))
		segments = BPF_CORE_READ(cb, pkt_segs);
	return segments ? segments : 1;
}

/* ECN field and protocol. A VLAN's tag, in the packet or beside it, is before
 * what the kernel calls the network header. */
static __always_inline void look(struct sk_buff *skb, struct qw_packet *k)
{
	const unsigned char *header = skb->head + skb->network_header;
	__u16 protocol = __builtin_bswap16(skb->protocol);
	const struct iphdr *v4;
	const struct ipv6hdr *v6;
	__u8 first, second;

	k->ecn = QW_NOT_ECT;
	k->protocol = 0;
	if (protocol != ETH_P_IP && protocol != ETH_P_IPV6 &&
	    protocol != ETH_P_8021Q && protocol != ETH_P_8021AD)
		return;
	/* Before the kernel's `tos` and `flow_lbl` lies the version's byte. */
	v4 = bpf_rdonly_cast(header, bpf_core_type_id_kernel(struct iphdr));
	v6 = bpf_rdonly_cast(header, bpf_core_type_id_kernel(struct ipv6hdr));
	first = *(const __u8 *)v4;
	if (first >> 4 == 4) {
		k->ecn = v4->tos & 3;
		k->protocol = v4->protocol;
	} else if (first >> 4 == 6) {
		/* Traffic class: 4 bits in either byte (RFC 8200 section 3). */
		second = v6->flow_lbl[0];
		k->ecn = second >> 4 & 3;
		k->protocol = v6->nexthdr;
	}
}

/* ------------------------------------------------------- statistics --- */

static __always_inline void count_drop(struct at *at, struct Qdisc *sch,
				       __u32 reason)
{
	if (reason < QW_REASONS)
		at->stats->drops[reason]++;
	sch->qstats.drops++;
}

static __always_inline void count_sojourn(struct qw_bpf_stats *stats, __u64 ns)
{
	__u64 rest = ns;
	__u32 octave = 0;

	stats->sojourn_ns = ns;
	stats->sojourn_sum_ns += ns;
	if (rest >> 32) {
		octave += 32;
		rest >>= 32;
	}
	if (rest >> 16) {
		octave += 16;
		rest >>= 16;
	}
	if (rest >> 8) {
		octave += 8;
		rest >>= 8;
	}
	if (rest >> 4) {
		octave += 4;
		rest >>= 4;
	}
	if (rest >> 2) {
		octave += 2;
		rest >>= 2;
	}
	octave += rest >> 1;
	if (octave >= QW_BPF_SOJOURNS)
		octave = QW_BPF_SOJOURNS - 1;
	stats->sojourns[octave]++;
}

static __always_inline void show_backlog(struct at *at, struct Qdisc *sch)
{
	at->stats->backlog_bytes = at->i->bytes;
	at->stats->backlog_packets = at->i->packets;
	sch->q.qlen = at->i->packets;
	sch->qstats.backlog = (__u32)at->i->bytes;
}

/* ------------------------------------------------------------ marks --- */

static __always_inline __u32 marks_by(void)
{
	return bpf_ksym_exists(bpf_qw_skb_set_ce) ? QW_BPF_MARKS_KFUNC :
						    QW_BPF_MARKS_NONE;
}

static __always_inline void mark(struct at *at, struct sk_buff *skb,
				 __u32 reason)
{
	if (bpf_ksym_exists(bpf_qw_skb_set_ce))
		bpf_qw_skb_set_ce(skb);
	if (reason < QW_REASONS)
		at->stats->marks[reason]++;
}

/* -------------------------------------------------------- the queue --- */

static __always_inline void see_queue(const struct at *at, struct qw_queue *q)
{
	__builtin_memset(q, 0, sizeof(*q));
	q->bytes = at->i->bytes;
	q->limit_bytes = at->port->limit_bytes;
	q->packets = at->i->packets;
	q->limit_packets = at->port->limit_packets;
	if (settings.needs_head && at->i->head != NONE) {
		struct slot *slot = slot_of(at, at->i->head);

		if (slot)
			q->head_ns = slot->enqueue_ns;
	}
}

/* A slot to be filled; NONE: all are in use. */
static __always_inline __u32 take_slot(const struct at *at)
{
	__u32 number = at->i->unused;
	struct slot *slot;

	if (number != NONE) {
		slot = slot_of(at, number);
		if (slot)
			at->i->unused = slot->next;
		return number;
	}
	if (at->i->fresh >= settings.slots)
		return NONE;
	return ++at->i->fresh;
}

static __always_inline void give_slot(const struct at *at, struct slot *slot,
				      __u32 number)
{
	slot->next = at->i->unused;
	at->i->unused = number;
}

/* The queue manager begins. A table in its state must come zeroed. */
static __noinline int begin(STATE *s, const PARAMS *p, __u64 now)
{
	__u64 *words = (__u64 *)s;
	__u32 i;

	if (!s || !p)
		return 0;
	if (sizeof(STATE) > 4096) {
		bpf_for(i, 0, sizeof(STATE) / 8) words[i] = 0;
	}
	CALL(init)(s, p, now);
	return 0;
}

/* The parameters may have been changed by `queuewright set`. */
static __always_inline void take_over(struct at *at, __u64 now)
{
	if (at->i->restarts != at->port->restarts) {
		at->i->restarts = at->port->restarts;
		begin(at->s, at->p, now);
	}
#ifdef QW_RETUNE
	if (at->i->retunes != at->port->retunes) {
		at->i->retunes = at->port->retunes;
		CALL(retune)(at->s, at->p);
	}
#endif
}

SEC("struct_ops/enqueue")
int BPF_PROG(enqueue, struct sk_buff *skb, struct Qdisc *sch,
	     struct bpf_sk_buff_ptr *to_free)
{
	__u64 now = bpf_ktime_get_ns();
	struct qw_verdict verdict;
	struct qw_packet k = { 0 };
	struct qw_queue q;
	struct slot *slot, *last;
	struct sk_buff *old;
	struct at at;
	__u32 number, length, random = 0;
	__s32 bytes;

	if (!find_of(&at, sch)) {
		bpf_qdisc_skb_drop(skb, to_free);
		return NET_XMIT_DROP;
	}
	take_over(&at, now);
	if (!at.i->packets && at.port->rate && at.i->next_ns <= now) {
		/* The link was done at next_ns, and had nothing to send. */
		if (!at.i->idle)
			CALL(idle)(at.s, at.p, at.i->next_ns);
		at.i->idle = 1;
		at.i->next_ns = now;
	}

	length = length_of(skb);
	look(skb, &k);
	k.enqueue_ns = now;
	bytes = (__s32)length + at.port->overhead * (__s32)segments_of(skb);
	k.bytes = bytes > 0 ? (__u32)bytes : 1;
	k.flow = bpf_skb_get_hash(skb);
	if (marks_by() == QW_BPF_MARKS_NONE)
		k.ecn = QW_NOT_ECT;
	at.stats->arrived_packets++;
	at.stats->arrived_bytes += k.bytes;

	see_queue(&at, &q);
	if (settings.needs_random)
		random = bpf_get_prandom_u32();
	verdict = CALL(enqueue)(at.s, at.p, now, &q, &k, random);
	if (verdict.action == QW_DROP) {
		count_drop(&at, sch, verdict.reason);
		bpf_qdisc_skb_drop(skb, to_free);
		return NET_XMIT_DROP;
	}
	if (verdict.action == QW_MARK)
		mark(&at, skb, verdict.reason);

	number = take_slot(&at);
	slot = number == NONE ? 0 : slot_of(&at, number);
	if (!slot) {
		at.stats->no_slot++;
		count_drop(&at, sch, QW_REASON_LIMIT);
		bpf_qdisc_skb_drop(skb, to_free);
		return NET_XMIT_DROP;
	}
	slot->enqueue_ns = now;
	slot->next = NONE;
	slot->bytes = k.bytes;
	slot->length = length;
	slot->flow = k.flow;
	slot->ecn = (__u8)k.ecn;
	slot->protocol = (__u8)k.protocol;
	old = bpf_kptr_xchg(&slot->skb, skb);
	if (old)
		bpf_qdisc_skb_drop(old, to_free);

	last = at.i->tail == NONE ? 0 : slot_of(&at, at.i->tail);
	if (last)
		last->next = number;
	else
		at.i->head = number;
	at.i->tail = number;
	at.i->packets++;
	at.i->bytes += k.bytes;
	show_backlog(&at, sch);
	return NET_XMIT_SUCCESS;
}

/* The head packet off the queue; what it was is in `k`. 0: there is none. */
static __always_inline struct sk_buff *take_head(struct at *at,
						 struct qw_packet *k)
{
	__u32 number = at->i->head;
	struct slot *slot = number == NONE ? 0 : slot_of(at, number);
	struct sk_buff *skb;

	if (!slot)
		return 0;
	k->enqueue_ns = slot->enqueue_ns;
	k->bytes = slot->bytes;
	k->flow = slot->flow;
	k->ecn = slot->ecn;
	k->protocol = slot->protocol;
	skb = bpf_kptr_xchg(&slot->skb, 0);
	at->i->head = slot->next;
	if (at->i->head == NONE)
		at->i->tail = NONE;
	give_slot(at, slot, number);
	at->i->packets--;
	at->i->bytes -= k->bytes;
	return skb;
}

SEC("struct_ops/dequeue")
struct sk_buff *BPF_PROG(dequeue, struct Qdisc *sch)
{
	__u64 now = bpf_ktime_get_ns();
	struct sk_buff *skb = 0;
	struct qw_verdict verdict;
	struct qw_packet k = { 0 };
	struct qw_queue q;
	struct at at;
	__u64 rate;
	__u32 turn;

	if (!find_of(&at, sch))
		return 0;
	rate = at.port->rate;
	if (rate && at.i->next_ns > now) {
		if (at.i->packets) {
			sch->qstats.overlimits++;
			bpf_qdisc_watchdog_schedule(sch, at.i->next_ns, 0);
		}
		return 0;
	}
	take_over(&at, now);
	/* As many turns as packets can be dropped in a row. */
	bpf_for(turn, 0, settings.slots)
	{
		skb = take_head(&at, &k);
		if (!skb)
			break;
		see_queue(&at, &q);
		verdict = CALL(dequeue)(at.s, at.p, now, &q, &k);
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
	if (!skb) {
		if (!at.i->idle)
			CALL(idle)(at.s, at.p, now);
		at.i->idle = 1;
		return 0;
	}
	at.i->idle = 0;
	if (rate)
		at.i->next_ns += (__u64)k.bytes * QW_NS_PER_SEC / rate;
	else
		at.i->next_ns =
			now; /* nothing to catch up on, once there is one */
	at.stats->sent_packets++;
	at.stats->sent_bytes += k.bytes;
	count_sojourn(at.stats, now - k.enqueue_ns);
	bpf_qdisc_bstats_update(sch, skb);
	return skb;
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
	struct qw_packet k = { 0 };
	struct sk_buff *skb;
	struct at at;
	__u32 turn;

	if (!find_of(&at, sch))
		return;
	bpf_for(turn, 0, settings.slots)
	{
		skb = take_head(&at, &k);
		if (!skb)
			break;
		bpf_kfree_skb(skb);
	}
	show_backlog(&at, sch);
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
