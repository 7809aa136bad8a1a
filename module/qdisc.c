// SPDX-License-Identifier: GPL-2.0-only
/*
 * A discipline of aqm/ as a qdisc: one host for all of them, compiled once
 * for each with
 *	-DQW_NAME=codel -DQW_UPPER=CODEL -DQW_HEADER='"codel.h"'
 * and -DQW_SCHEDULER, -DQW_RETUNE, -DQW_ALARM, -DQW_LEARNED, -DQW_FURTHER,
 * -DQW_SHAPER, -DQW_WASH where they apply.
 * What a host promises is at the top of qw.h.
 *
 * It holds packets and has no pace of its own: that is the parent's (htb, tbf,
 * mq) or the device's. Each call comes with the qdisc's lock held, those of the
 * discipline's timer too.
 */
#include <linux/hrtimer.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/jhash.h>
#include <linux/ktime.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <linux/version.h>
#include <net/inet_ecn.h>
#include <net/dsfield.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>

#include "qw.h"
#include QW_HEADER
#include "defaults.h"
#include "options.h"

#define JOIN(a, b, c) a##b##c
#define NAMED(a, b, c) JOIN(a, b, c)
#define PARAMS struct NAMED(qw_, QW_NAME, _params)
#define STATE struct NAMED(qw_, QW_NAME, )
#define CALL(what) NAMED(qw_, QW_NAME, _##what)
#define EACH_PARAM NAMED(QW_, QW_UPPER, _PARAMS)
#define EACH_PROBE NAMED(QW_, QW_UPPER, _PROBES)
#define EACH_DEFAULT NAMED(QW_, QW_UPPER, _DEFAULTS)

#ifdef QW_SCHEDULER
#define QUEUES NAMED(QW_, QW_UPPER, _QUEUES)
#define SEVERAL true
#else
#define QUEUES 1u
#define SEVERAL false
#endif

/* First in, first out; linked by next and prev, which end in NULL. */
struct fifo {
	struct sk_buff *head, *tail;
};

struct data {
	PARAMS *p;
	STATE *s;
	struct fifo *queues; /* QUEUES of them */
	u64 limit_bytes; /* 0: none; the one in packets is sch->limit */
	/* What waits; sch->q.qlen counts a packet that a parent peeked at too. */
	u64 bytes;
	u32 packets;
	bool idle; /* the discipline knows that the link found nothing */
	u64 left_ns; /* when the last packet was taken off */
	/* Dropped at dequeue, and not yet known to the parents. */
	u32 untold_packets, untold_bytes;
	struct qw_statistics stats;
#ifdef QW_SHAPER
	struct qdisc_watchdog watchdog; /* the discipline lets a packet go */
#endif
#ifdef QW_ALARM
	struct Qdisc *sch;
	struct hrtimer timer; /* of the discipline's ticks */
#endif
};

/* What the host remembers of a packet. */
struct kept {
	u64 enqueue_ns;
	u32 flow;
	u8 ecn;
	u8 protocol;
};

static struct kept *kept_of(const struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct kept));
	return (struct kept *)qdisc_skb_cb(skb)->data;
}

/* -------------------------------------------------- what a packet is --- */

/* ECN field and protocol, past a VLAN's tag. The version is looked at too: the
 * network header of some tagged packets is the tag. */
static void look(struct sk_buff *skb, struct kept *m)
{
	const struct ipv6hdr *v6;
	const struct iphdr *v4;

	m->ecn = QW_NOT_ECT;
	m->protocol = 0;
	switch (skb_protocol(skb, true)) {
	case htons(ETH_P_IP):
		if (!pskb_network_may_pull(skb, sizeof(*v4)))
			break;
		v4 = ip_hdr(skb);
		if (v4->version != 4)
			break;
		m->ecn = v4->tos & INET_ECN_MASK;
		m->protocol = v4->protocol;
		break;
	case htons(ETH_P_IPV6):
		if (!pskb_network_may_pull(skb, sizeof(*v6)))
			break;
		v6 = ipv6_hdr(skb);
		if (v6->version != 6)
			break;
		m->ecn = ipv6_get_dsfield(v6) & INET_ECN_MASK;
		m->protocol = v6->nexthdr;
		break;
	}
}

static struct qw_packet packet_of(const struct sk_buff *skb)
{
	const struct kept *m = kept_of(skb);

	return (struct qw_packet){
		.enqueue_ns = m->enqueue_ns,
		.bytes = qdisc_pkt_len(skb),
		.flow = m->flow,
		.ecn = m->ecn,
		.protocol = m->protocol,
#ifdef QW_FURTHER
		.frame_bytes = (u16)skb_network_offset(skb),
		.segments = skb_is_gso(skb) ? skb_shinfo(skb)->gso_segs : 1,
#endif
	};
}

/* Hosts and DSCP of what look() has found to be an IP packet. */
static void look_further(const struct sk_buff *skb, struct qw_packet *k)
{
#ifdef QW_FURTHER
	const struct ipv6hdr *v6 = ipv6_hdr(skb);
	const struct iphdr *v4 = ip_hdr(skb);

	if (skb_protocol(skb, true) == htons(ETH_P_ARP))
		k->dscp = 56; /* CS7, as to Linux's cake */
	if (!k->protocol)
		return;
	if (skb_protocol(skb, true) == htons(ETH_P_IP)) {
		k->dscp = v4->tos >> 2;
		k->source = jhash_1word((__force u32)v4->saddr, 0);
		k->destination = jhash_1word((__force u32)v4->daddr, 0);
	} else {
		k->dscp = ipv6_get_dsfield(v6) >> 2;
		k->source = jhash(&v6->saddr, sizeof(v6->saddr), 0);
		k->destination = jhash(&v6->daddr, sizeof(v6->daddr), 0);
	}
#endif
}

/* The DSCP of a packet that is let in becomes 0. */
static void wash(struct Qdisc *sch, struct sk_buff *skb)
{
#ifdef QW_WASH
	struct data *d = qdisc_priv(sch);
	u32 end = (u32)skb_network_offset(skb);

	if (!CALL(washes)(d->p) || !kept_of(skb)->protocol)
		return;
	if (skb_protocol(skb, true) == htons(ETH_P_IP)) {
		if (ip_hdr(skb)->tos >> 2 &&
		    !skb_try_make_writable(skb, end + sizeof(struct iphdr)))
			ipv4_change_dsfield(ip_hdr(skb), INET_ECN_MASK, 0);
	} else if (ipv6_get_dsfield(ipv6_hdr(skb)) >> 2 &&
		   !skb_try_make_writable(skb, end + sizeof(struct ipv6hdr))) {
		ipv6_change_dsfield(ipv6_hdr(skb), INET_ECN_MASK, 0);
	}
#endif
}

/* -------------------------------------------------------- the queues --- */

static void push(struct Qdisc *sch, u32 index, struct sk_buff *skb)
{
	struct data *d = qdisc_priv(sch);
	struct fifo *f = &d->queues[index];

	skb->next = NULL;
	skb->prev = f->tail;
	if (f->tail)
		f->tail->next = skb;
	else
		f->head = skb;
	f->tail = skb;
	d->packets++;
	d->bytes += qdisc_pkt_len(skb);
	sch->q.qlen++;
	qdisc_qstats_backlog_inc(sch, skb);
}

/* The first packet of a queue, or its last; NULL: it is empty. */
static struct sk_buff *pull(struct Qdisc *sch, u32 index, bool last)
{
	struct data *d = qdisc_priv(sch);
	struct fifo *f = &d->queues[index];
	struct sk_buff *skb = last ? f->tail : f->head;

	if (!skb)
		return NULL;
	if (skb->prev)
		skb->prev->next = skb->next;
	else
		f->head = skb->next;
	if (skb->next)
		skb->next->prev = skb->prev;
	else
		f->tail = skb->prev;
	skb->next = NULL;
	skb->prev = NULL;
	d->packets--;
	d->bytes -= qdisc_pkt_len(skb);
	sch->q.qlen--;
	qdisc_qstats_backlog_dec(sch, skb);
	return skb;
}

/* The buffer as a discipline sees it, with the head of one of the queues. */
static struct qw_queue see(struct Qdisc *sch, const struct sk_buff *head)
{
	const struct data *d = qdisc_priv(sch);

	return (struct qw_queue){
		.bytes = d->bytes,
		.limit_bytes = d->limit_bytes,
		.packets = d->packets,
		.limit_packets = sch->limit,
		.head_ns = head ? kept_of(head)->enqueue_ns : 0,
	};
}

/* --------------------------------------------- the one and the several --- */

static struct qw_verdict offer(struct Qdisc *sch, u64 now,
			       const struct sk_buff *skb, u32 *index)
{
	struct data *d = qdisc_priv(sch);
	struct qw_packet k = packet_of(skb);
	u32 random = get_random_u32();

	k.enqueue_ns = now;
	look_further(skb, &k);
#ifdef QW_SCHEDULER
	struct qw_queue q = see(sch, NULL);
	struct qw_verdict v =
		CALL(enqueue)(d->s, d->p, now, &q, &k, random, index);

	if (*index >= QUEUES)
		v = qw_drop(QW_REASON_LIMIT);
	return v;
#else
	struct qw_queue q = see(sch, d->queues->head);

	*index = 0;
	return CALL(enqueue)(d->s, d->p, now, &q, &k, random);
#endif
}

/* The queue to serve. */
static u32 next(struct Qdisc *sch, u64 now)
{
#ifdef QW_SCHEDULER
	struct data *d = qdisc_priv(sch);
	struct qw_queue q = see(sch, NULL);

	return CALL(next)(d->s, d->p, now, &q);
#else
	return 0;
#endif
}

static struct qw_verdict taken(struct Qdisc *sch, u64 now,
			       const struct sk_buff *skb, u32 index)
{
	struct data *d = qdisc_priv(sch);
	struct qw_queue q = see(sch, d->queues[index].head);
	struct qw_packet k = packet_of(skb);

#ifdef QW_SCHEDULER
	return CALL(dequeue)(d->s, d->p, now, &q, &k, index);
#else
	return CALL(dequeue)(d->s, d->p, now, &q, &k);
#endif
}

/* A packet that the buffer has no room for; NULL: there is none. Disciplines
 * with one queue let none in, and so only where the limits have shrunk. */
static struct sk_buff *evict(struct Qdisc *sch, u64 now)
{
	struct qw_queue q = see(sch, NULL);
#ifdef QW_SCHEDULER
	struct data *d = qdisc_priv(sch);
	u32 which = CALL(overflow)(d->s, d->p, now, &q);
	u32 index = which & ~QW_TAIL;
	struct sk_buff *skb;
	struct qw_packet k;

	if (which == QW_NONE || index >= QUEUES)
		return NULL;
	skb = pull(sch, index, which & QW_TAIL);
	if (!skb)
		return NULL;
	q = see(sch, d->queues[index].head);
	k = packet_of(skb);
	CALL(evicted)(d->s, d->p, now, &q, &k, index);
	return skb;
#else
	return qw_overfull(&q) ? pull(sch, 0, false) : NULL;
#endif
}

/* ------------------------------------------------------ the operations --- */

static void count_drop(struct Qdisc *sch, u32 reason)
{
	struct data *d = qdisc_priv(sch);

	if (reason < QW_REASONS)
		d->stats.drops[reason]++;
	qdisc_qstats_drop(sch);
}

static void set_ce(struct Qdisc *sch, struct sk_buff *skb, u32 reason)
{
	struct data *d = qdisc_priv(sch);

	if (INET_ECN_set_ce(skb) && reason < QW_REASONS)
		d->stats.marks[reason]++;
}

/* The link found nothing to send. A parent that has classes does not ask an
 * empty one, so that the discipline may hear of it only with the next packet. */
static void nothing(struct data *d, u64 now)
{
	if (!d->idle)
		CALL(idle)(d->s, d->p, now);
	d->idle = true;
}

/* Ticks of the discipline are made when they are due; a parent would not ask
 * an empty qdisc for them. */
#ifdef QW_ALARM
static void set_timer(struct data *d)
{
	u64 at = CALL(alarm)(d->s, d->p);

	if (at == QW_NEVER ||
	    (hrtimer_is_queued(&d->timer) &&
	     ktime_to_ns(hrtimer_get_expires(&d->timer)) <= (s64)at))
		return;
	hrtimer_start(&d->timer, ns_to_ktime(at), HRTIMER_MODE_ABS_SOFT);
}

/* Takes the lock as the timer of the kernel's pie does. */
static enum hrtimer_restart due(struct hrtimer *timer)
{
	struct data *d = container_of(timer, struct data, timer);
	spinlock_t *lock;

	rcu_read_lock();
	lock = qdisc_lock(qdisc_root_sleeping(d->sch));
	spin_lock(lock);
	if (!d->packets)
		nothing(d, d->left_ns);
	CALL(tick)(d->s, d->p, ktime_get_ns());
	set_timer(d);
	spin_unlock(lock);
	rcu_read_unlock();
	return HRTIMER_NORESTART;
}

static void make_timer(struct Qdisc *sch)
{
	struct data *d = qdisc_priv(sch);

	d->sch = sch;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&d->timer, due, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
#else
	hrtimer_init(&d->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	d->timer.function = due;
#endif
}

static void end_timer(struct data *d)
{
	hrtimer_cancel(&d->timer);
}
#else
static void set_timer(struct data *d)
{
}

static void make_timer(struct Qdisc *sch)
{
}

static void end_timer(struct data *d)
{
}
#endif

/* Into the queue that the discipline says, or not at all: false. */
static bool join(struct Qdisc *sch, u64 now, struct sk_buff *skb)
{
	struct data *d = qdisc_priv(sch);
	struct qw_verdict v;
	u32 index = 0;

	if (!d->packets)
		nothing(d, d->left_ns);
	v = offer(sch, now, skb, &index);
	if (v.action == QW_DROP) {
		count_drop(sch, v.reason);
		return false;
	}
	if (v.action == QW_MARK)
		set_ce(sch, skb, v.reason);
	wash(sch, skb);
	push(sch, index, skb);
	return true;
}

static int enqueue(struct sk_buff *skb, struct Qdisc *sch,
		   struct sk_buff **to_free)
{
	struct data *d = qdisc_priv(sch);
	struct kept *m = kept_of(skb);
	u32 others = 0, bytes = 0;
	u64 now = ktime_get_ns();
	struct sk_buff *out;
	bool lost = false;

	look(skb, m);
	m->enqueue_ns = now;
	m->flow = skb_get_hash(skb);
	d->stats.arrived_packets++;
	d->stats.arrived_bytes += qdisc_pkt_len(skb);
	lost = !join(sch, now, skb);
	set_timer(d);
	if (lost) {
		__qdisc_drop(skb, to_free);
		return NET_XMIT_DROP;
	}
	while (SEVERAL && (out = evict(sch, now))) {
		if (out == skb) {
			lost = true;
		} else {
			others++;
			bytes += qdisc_pkt_len(out);
		}
		count_drop(sch, QW_REASON_LIMIT);
		__qdisc_drop(out, to_free);
	}
	/* The parents count this packet themselves, once it is in. */
	if (others)
		qdisc_tree_reduce_backlog(sch, others, bytes);
	return lost ? NET_XMIT_CN : NET_XMIT_SUCCESS;
}

static void count_sent(struct data *d, u64 now, const struct sk_buff *skb)
{
	u64 sojourn = now - kept_of(skb)->enqueue_ns;
	u32 octave = sojourn ? ilog2(sojourn) : 0;

	d->stats.sent_packets++;
	d->stats.sent_bytes += qdisc_pkt_len(skb);
	d->stats.sojourn_ns = sojourn;
	d->stats.sojourn_sum_ns += sojourn;
	d->stats.sojourns[min(octave, QW_SOJOURNS - 1)]++;
}

/* Tells the parents of what was dropped at dequeue. Before Linux 6.15 not while
 * nothing is left, but with a later packet, as that kernel's codel does: a parent
 * would hear that its class is empty in the middle of asking it, and end it twice. */
static void tell_parents(struct Qdisc *sch)
{
	struct data *d = qdisc_priv(sch);

	if (!d->untold_packets ||
	    (LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0) && !sch->q.qlen))
		return;
	qdisc_tree_reduce_backlog(sch, d->untold_packets, d->untold_bytes);
	d->untold_packets = 0;
	d->untold_bytes = 0;
}

/* Packets wait for the discipline's own shaper. */
static void hold(struct Qdisc *sch)
{
#ifdef QW_SHAPER
	struct data *d = qdisc_priv(sch);

	qdisc_qstats_overlimit(sch);
	qdisc_watchdog_schedule_ns(&d->watchdog, CALL(ready)(d->s, d->p));
#endif
}

static struct sk_buff *dequeue(struct Qdisc *sch)
{
	struct data *d = qdisc_priv(sch);
	u64 now = ktime_get_ns();
	struct sk_buff *skb = NULL;

	while (d->packets) {
		u32 index = next(sch, now);
		struct qw_verdict v;

		/* Not yet, if it has a shaper; another that finds nothing though
		 * packets wait is wrong, and they are not lost for it. */
		if (index >= QUEUES) {
			hold(sch);
			break;
		}
		skb = pull(sch, index, false);
		if (!skb)
			break;
		v = taken(sch, now, skb, index);
		if (v.action == QW_MARK)
			set_ce(sch, skb, v.reason);
		if (v.action != QW_DROP)
			break;
		count_drop(sch, v.reason);
		d->untold_packets++;
		d->untold_bytes += qdisc_pkt_len(skb);
		kfree_skb(skb);
		skb = NULL;
	}
	tell_parents(sch);
	if (!skb) {
		if (!d->packets)
			nothing(d, now);
		return NULL;
	}
	d->idle = false;
	d->left_ns = now;
	set_timer(d);
	count_sent(d, now, skb);
	qdisc_bstats_update(sch, skb);
	return skb;
}

static void reset(struct Qdisc *sch)
{
	struct data *d = qdisc_priv(sch);
	struct sk_buff *skb;
	u32 i;

	if (!d->s || !d->p || !d->queues)
		return;
	for (i = 0; i < QUEUES && d->packets; i++)
		while ((skb = pull(sch, i, false)))
			rtnl_kfree_skbs(skb, skb);
	if (sizeof(STATE) > 4096)
		memset(d->s, 0, sizeof(STATE));
	CALL(init)(d->s, d->p, ktime_get_ns());
	d->idle = true;
	d->left_ns = ktime_get_ns();
	d->untold_packets = 0;
	d->untold_bytes = 0;
}

/* ---------------------------------------------------------- parameters --- */

/* As options.h has values. 1: it was another one before. `extack` may be NULL. */
static int set_param(PARAMS *p, const char *name, u64 value,
		     struct netlink_ext_ack *extack)
{
#define PARAM(key, field, shift, least, most)                           \
	if (!strcmp(name, key)) {                                       \
		typeof(p->field) before = p->field;                     \
                                                                        \
		value >>= (shift);                                      \
		if (value < (least) || value > (most)) {                \
			NL_SET_ERR_MSG_MOD(extack,                      \
					   key " is out of its range"); \
			return -ERANGE;                                 \
		}                                                       \
		p->field = (typeof(p->field))value;                     \
		return p->field != before;                              \
	}
	EACH_PARAM(PARAM)
#undef PARAM
	NL_SET_ERR_MSG_MOD(extack, "no such parameter");
	return -EINVAL;
}

/* May it change while the discipline runs? */
static bool tunable(const char *name)
{
#define DEFAULT(key, value, may_change) \
	if (!strcmp(name, key))         \
		return may_change;
	EACH_DEFAULT(DEFAULT)
#undef DEFAULT
	return false;
}

static void set_defaults(PARAMS *p)
{
#define DEFAULT(key, value, may_change) set_param(p, key, value, NULL);
	EACH_DEFAULT(DEFAULT)
#undef DEFAULT
}

/* Has it a limit of its own, by which it chooses what to drop? The buffer's is
 * then out of its way. */
static bool owns_limit(void)
{
#define PARAM(key, field, shift, least, most) \
	if (!strcmp(key, "limit"))            \
		return true;
	EACH_PARAM(PARAM)
#undef PARAM
	return false;
}

/* What was asked for. */
struct wish {
	u32 limit;
	u64 limit_bytes;
	PARAMS *p;
	bool fresh; /* the discipline is to begin anew */
};

static int read_param(struct wish *w, const struct nlattr *attr,
		      struct netlink_ext_ack *extack)
{
	const char *name = nla_data(attr) + sizeof(u64);
	int length = nla_len(attr) - (int)sizeof(u64);
	int changed;
	u64 value;

	if (length < 2 || name[length - 1]) {
		NL_SET_ERR_MSG_MOD(extack, "a parameter without a name");
		return -EINVAL;
	}
	memcpy(&value, nla_data(attr), sizeof(value));
	changed = set_param(w->p, name, value, extack);
	if (changed < 0)
		return changed;
	if (changed && !tunable(name))
		w->fresh = true;
	return 0;
}

static int read_weights(struct wish *w, const struct nlattr *attr,
			struct netlink_ext_ack *extack)
{
#ifdef QW_LEARNED
	if (nla_len(attr) == sizeof(w->p->net)) {
		memcpy(&w->p->net, nla_data(attr), sizeof(w->p->net));
		w->p->learned = 1;
		w->fresh = true;
		return 0;
	}
#endif
	NL_SET_ERR_MSG_MOD(extack, "not as many weights as its policy has");
	return -EINVAL;
}

static int read_options(struct wish *w, const struct nlattr *options,
			struct netlink_ext_ack *extack)
{
	const struct nlattr *attr;
	int rest, error = 0;

	nla_for_each_nested(attr, options, rest)
	{
		switch (nla_type(attr)) {
		case QW_OPTION_LIMIT:
			if (nla_len(attr) != sizeof(u32))
				return -EINVAL;
			w->limit = nla_get_u32(attr);
			break;
		case QW_OPTION_LIMIT_BYTES:
			if (nla_len(attr) != sizeof(u64))
				return -EINVAL;
			w->limit_bytes = nla_get_u64(attr);
			break;
		case QW_OPTION_PARAM:
			error = read_param(w, attr, extack);
			break;
		case QW_OPTION_WEIGHTS:
			error = read_weights(w, attr, extack);
			break;
		case QW_OPTION_PAD:
			break;
		default:
			NL_SET_ERR_MSG_MOD(
				extack, "an option of another kind of qdisc");
			error = -EINVAL;
		}
		if (error)
			return error;
	}
	if (!w->limit || w->limit > QW_LIMIT_MOST) {
		NL_SET_ERR_MSG_MOD(extack, "limit is 1 to 1000000 packets");
		return -ERANGE;
	}
	return 0;
}

/* Memory is the caller's cgroup's: one may be root in a user namespace, and a
 * state takes up to some MB.
 *
 * A state that begins now; NULL: there is no memory. */
static STATE *begin(const PARAMS *p)
{
	STATE *s = kvzalloc(sizeof(STATE), GFP_KERNEL_ACCOUNT);

	if (s)
		CALL(init)(s, p, ktime_get_ns());
	return s;
}

static int init(struct Qdisc *sch, struct nlattr *options,
		struct netlink_ext_ack *extack)
{
	struct data *d = qdisc_priv(sch);
	struct wish w = {
		.limit = owns_limit() ? QW_LIMIT_MOST : QW_LIMIT_PACKETS,
	};
	int error;

	/* First: who fails is destroyed. */
	make_timer(sch);
#ifdef QW_SHAPER
	qdisc_watchdog_init(&d->watchdog, sch);
#endif
	d->p = kvzalloc(sizeof(PARAMS), GFP_KERNEL_ACCOUNT);
	d->queues = kvcalloc(QUEUES, sizeof(struct fifo), GFP_KERNEL_ACCOUNT);
	if (!d->p || !d->queues)
		return -ENOMEM;
	set_defaults(d->p);
	w.p = d->p;
	if (options) {
		error = read_options(&w, options, extack);
		if (error)
			return error;
	}
	sch->limit = w.limit;
	d->limit_bytes = w.limit_bytes;
	d->s = begin(d->p);
	if (!d->s)
		return -ENOMEM;
	d->idle = true;
	d->left_ns = ktime_get_ns();
	return 0;
}

/* All that wait leave their queues, and are offered to the discipline that
 * begins: what it refuses is in `out`. */
static void offer_again(struct Qdisc *sch, u64 now, struct sk_buff_head *out)
{
	struct data *d = qdisc_priv(sch);
	struct sk_buff_head all;
	struct sk_buff *skb;
	u32 i;

	__skb_queue_head_init(&all);
	for (i = 0; i < QUEUES && d->packets; i++)
		while ((skb = pull(sch, i, false)))
			__skb_queue_tail(&all, skb);
	while ((skb = __skb_dequeue(&all)))
		if (!join(sch, now, skb))
			__skb_queue_tail(out, skb);
}

static int change(struct Qdisc *sch, struct nlattr *options,
		  struct netlink_ext_ack *extack)
{
	struct data *d = qdisc_priv(sch);
	struct wish w = { .limit = sch->limit, .limit_bytes = d->limit_bytes };
	u32 dropped = 0, bytes = 0;
	struct sk_buff_head out;
	STATE *s = NULL;
	struct sk_buff *skb;
	int error = 0;
	u64 now;

	if (!options)
		return 0;
	__skb_queue_head_init(&out);
	w.p = kvmalloc(sizeof(PARAMS), GFP_KERNEL_ACCOUNT);
	if (!w.p)
		return -ENOMEM;
	memcpy(w.p, d->p, sizeof(PARAMS));
	error = read_options(&w, options, extack);
	if (!error && w.fresh) {
		s = begin(w.p);
		error = s ? 0 : -ENOMEM;
	}
	if (error) {
		kvfree(w.p);
		return error;
	}

	sch_tree_lock(sch);
	/* No earlier than its last call, and than the new one's beginning. */
	now = ktime_get_ns();
	sch->limit = w.limit;
	d->limit_bytes = w.limit_bytes;
	swap(d->p, w.p);
	if (s) {
		swap(d->s, s);
		d->idle = true;
		d->left_ns = now;
		if (SEVERAL)
			offer_again(sch, now, &out);
		set_timer(d);
	}
#ifdef QW_RETUNE
	else
		CALL(retune)(d->s, d->p);
#endif
	while ((skb = evict(sch, now))) {
		count_drop(sch, QW_REASON_LIMIT);
		__skb_queue_tail(&out, skb);
	}
	while ((skb = __skb_dequeue(&out))) {
		dropped++;
		bytes += qdisc_pkt_len(skb);
		rtnl_kfree_skbs(skb, skb);
	}
	if (dropped)
		qdisc_tree_reduce_backlog(sch, dropped, bytes);
	sch_tree_unlock(sch);
	kvfree(w.p);
	kvfree(s);
	return 0;
}

static void destroy(struct Qdisc *sch)
{
	struct data *d = qdisc_priv(sch);

	end_timer(d);
#ifdef QW_SHAPER
	qdisc_watchdog_cancel(&d->watchdog);
#endif
	kvfree(d->queues);
	kvfree(d->s);
	kvfree(d->p);
}

/* ---------------------------------------------------------- what it shows --- */

static int __maybe_unused put_param(struct sk_buff *skb, const char *name,
				    u64 value)
{
	int length = (int)strlen(name) + 1;
	struct nlattr *attr =
		nla_reserve(skb, QW_OPTION_PARAM, (int)sizeof(value) + length);

	if (!attr)
		return -EMSGSIZE;
	memcpy(nla_data(attr), &value, sizeof(value));
	memcpy(nla_data(attr) + sizeof(value), name, length);
	return 0;
}

static int dump(struct Qdisc *sch, struct sk_buff *skb)
{
	const struct data *d = qdisc_priv(sch);
	const PARAMS *p = d->p;
	struct nlattr *nest = nla_nest_start_noflag(skb, TCA_OPTIONS);

	if (!nest)
		return -EMSGSIZE;
	if ((!owns_limit() && nla_put_u32(skb, QW_OPTION_LIMIT, sch->limit)) ||
	    nla_put_u64_64bit(skb, QW_OPTION_LIMIT_BYTES, d->limit_bytes,
			      QW_OPTION_PAD))
		goto full;
#define PARAM(key, field, shift, least, most)              \
	if (put_param(skb, key, (u64)p->field << (shift))) \
		goto full;
	EACH_PARAM(PARAM)
#undef PARAM
#ifdef QW_LEARNED
	if (put_param(skb, "weights", p->learned))
		goto full;
#endif
	(void)p;
	return nla_nest_end(skb, nest);
full:
	nla_nest_cancel(skb, nest);
	return -EMSGSIZE;
}

static int dump_stats(struct Qdisc *sch, struct gnet_dump *to)
{
	struct data *d = qdisc_priv(sch);
	struct qw_statistics shown;
	const PARAMS *p;
	const STATE *s;

	sch_tree_lock(sch);
	p = d->p;
	s = d->s;
	shown = d->stats;
	shown.variables = 0;
#define PROBE(of, by)                                               \
	if (shown.variables < QW_VARIABLES) {                       \
		shown.variable[shown.variables].value = (s64)(of);  \
		shown.variable[shown.variables++].unit = (u64)(by); \
	}
	EACH_PROBE(PROBE)
#undef PROBE
	(void)p;
	(void)s;
	sch_tree_unlock(sch);
	return gnet_stats_copy_app(to, &shown, sizeof(shown));
}

struct Qdisc_ops NAMED(qw_, QW_NAME, _qdisc_ops) = {
	.id = "qw_" __stringify(QW_NAME),
	.priv_size = sizeof(struct data),
	.enqueue = enqueue,
	.dequeue = dequeue,
	.peek = qdisc_peek_dequeued,
	.init = init,
	.reset = reset,
	.destroy = destroy,
	.change = change,
	.dump = dump,
	.dump_stats = dump_stats,
	.owner = THIS_MODULE,
};
