/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * DualPI2 (RFC 9332 appendix A; Linux sch_dualpi2, 6.17 and later): two queues
 * that share a link and a controller. Scalable senders (ECT(1), RFC 9331) get a
 * low-latency queue L that is marked above `step`, a millisecond; everybody
 * else gets the classic queue C with PI2's squared probability. The coupling (k
 * p for L) keeps the rates of both kinds of sender alike although L is served
 * first. A weighted round robin that is all but priority keeps L from starving
 * C.
 *
 * This is Linux where it differs from the RFC. The controller looks at the
 * longer of both delays. L's mark is by the step or by the coupling, and not by
 * the greater of two probabilities. Credits take the place of the time-shifted
 * FIFO. Squared probabilities are rolled at once, not twice.
 */
#ifndef QW_DUALPI2_H
#define QW_DUALPI2_H

#include "dice.h"
#include "pi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QW_DUALPI2_C 0u /* classic queue */
#define QW_DUALPI2_L 1u /* low-latency queue */
#define QW_DUALPI2_QUEUES 2u
#define QW_DUALPI2_WEIGHTS 100u /* sum of both queues' */

/* Which ECN fields go to L. */
#define QW_DUALPI2_L4S_ECT 0u /* ECT(1) and CE */
#define QW_DUALPI2_ANY_ECT 1u /* ECT(0), too */

struct qw_dualpi2_params {
	struct qw_pi_params pi;
	qw_u64 coupling_q16; /* k: L's probability by base, 2; up to 16 */
	qw_u64 step_ns; /* L's packets are marked above this sojourn, 1 ms */
	qw_u32 step_packets; /* or with more than these behind them; 0: by time */
	qw_u32 c_protection; /* C's weight while both wait, 10 of 100 */
	qw_u32 drop_overload; /* above k p = 1 drop in both queues, on */
	qw_u32 drop_early; /* decide at the tail, off: at the head */
	qw_u32 classes; /* QW_DUALPI2_*_ECT */
	qw_u32 mtu_bytes; /* nothing happens with less than two waiting, 1514 */
};

struct qw_dualpi2_queue {
	qw_u64 head_ns; /* when its head came */
	qw_u32 packets;
};

struct qw_dualpi2 {
	struct qw_pi pi;
	struct qw_dice dice;
	qw_s64 credit; /* C is served while it is positive */
	struct qw_dualpi2_queue queue[QW_DUALPI2_QUEUES];
};

/* Nothing waits: L is served first again, until C is owed a packet's time. */
static inline void qw_dualpi2_reset(struct qw_dualpi2 *s,
				    const struct qw_dualpi2_params *p)
{
	s->credit = ((qw_s64)(2 * p->c_protection) - QW_DUALPI2_WEIGHTS) *
		    (qw_s64)p->mtu_bytes;
}

static inline void qw_dualpi2_init(struct qw_dualpi2 *s,
				   const struct qw_dualpi2_params *p,
				   qw_u64 now)
{
	qw_pi_init(&s->pi, &p->pi, now);
	s->dice.state = 0;
	s->queue[QW_DUALPI2_C].head_ns = 0;
	s->queue[QW_DUALPI2_C].packets = 0;
	s->queue[QW_DUALPI2_L].head_ns = 0;
	s->queue[QW_DUALPI2_L].packets = 0;
	qw_dualpi2_reset(s, p);
}

/* Updates look at whichever queue's head has waited longer. */
static inline void qw_dualpi2_catch_up(struct qw_dualpi2 *s,
				       const struct qw_dualpi2_params *p,
				       qw_u64 now)
{
	const struct qw_dualpi2_queue *c = &s->queue[QW_DUALPI2_C],
				      *l = &s->queue[QW_DUALPI2_L];
	qw_u64 most = QW_PI_ONE_Q52, oldest_ns = c->head_ns;

	if (now < s->pi.next_tick_ns)
		return;
	/* Overload that is not answered by drops: p stops where k p is 1, or
	 * C would be squeezed more than L can be. 2^68 / (k 2^16) is 2^52 / k. */
	if (!p->drop_overload && p->coupling_q16 > 1u << 16)
		most = qw_div(1ULL << 63, p->coupling_q16) << 5;
	if (!c->packets || (l->packets && l->head_ns < oldest_ns))
		oldest_ns = l->head_ns;
	qw_pi_catch_up(&s->pi, &p->pi, now, c->packets || l->packets, oldest_ns,
		       most);
}

static inline qw_u32 qw_dualpi2_class(const struct qw_dualpi2_params *p,
				      qw_u32 ecn)
{
	qw_u32 mask = p->classes == QW_DUALPI2_ANY_ECT ? 3 : 1;

	return ecn & mask ? QW_DUALPI2_L : QW_DUALPI2_C;
}

/* What the controller makes of a packet of `queue`, with `bytes` waiting. */
QW_SHARED struct qw_verdict qw_dualpi2_decide(struct qw_dualpi2 *s,
					      const struct qw_dualpi2_params *p,
					      const struct qw_packet *k,
					      qw_u32 queue, qw_u64 bytes)
{
	struct qw_verdict mark = { QW_MARK, QW_REASON_EARLY };
	qw_u64 base = qw_pi_prob_q32(&s->pi);
	qw_u64 classic = (base * base) >> 32;
	qw_u64 scalable = (base * p->coupling_q16) >> 16;
	int overload = p->drop_overload && scalable > 0xffffffffu;

	if (bytes < 2 * (qw_u64)p->mtu_bytes)
		return qw_pass();
	if (queue == QW_DUALPI2_C) {
		if (qw_dice_roll(&s->dice) >= classic)
			return qw_pass();
		return qw_mark_or_drop(k, !overload, QW_REASON_EARLY);
	}
	if (overload && qw_dice_roll(&s->dice) < classic)
		return qw_drop(QW_REASON_EARLY);
	return qw_dice_roll(&s->dice) < scalable ? mark : qw_pass();
}

QW_SHARED struct qw_verdict
qw_dualpi2_enqueue(struct qw_dualpi2 *s, const struct qw_dualpi2_params *p,
		   qw_u64 now, const struct qw_queue *q,
		   const struct qw_packet *k, qw_u32 random, qw_u32 *queue)
{
	qw_u32 lane = qw_dualpi2_class(p, k->ecn);
	struct qw_dualpi2_queue *joined = &s->queue[lane];
	struct qw_verdict v = qw_pass();

	*queue = lane;
	qw_dualpi2_catch_up(s, p, now);
	qw_dice_feed(&s->dice, random);
	if (qw_over_limit(q, k))
		return qw_drop(QW_REASON_LIMIT);
	if (p->drop_early)
		v = qw_dualpi2_decide(s, p, k, lane, q->bytes);
	if (v.action == QW_DROP)
		return v;
	if (!joined->packets++)
		joined->head_ns = now;
	return v;
}

/* Only a limit that has shrunk leaves too much: C's head goes, as in Linux, and
 * L's when C is empty. */
static inline qw_u32 qw_dualpi2_overflow(struct qw_dualpi2 *s,
					 const struct qw_dualpi2_params *p,
					 qw_u64 now, const struct qw_queue *q)
{
	(void)p;
	(void)now;
	if (!qw_overfull(q))
		return QW_NONE;
	if (s->queue[QW_DUALPI2_C].packets)
		return QW_DUALPI2_C;
	return s->queue[QW_DUALPI2_L].packets ? QW_DUALPI2_L : QW_NONE;
}

static inline void qw_dualpi2_evicted(struct qw_dualpi2 *s,
				      const struct qw_dualpi2_params *p,
				      qw_u64 now, const struct qw_queue *q,
				      const struct qw_packet *k, qw_u32 queue)
{
	struct qw_dualpi2_queue *f = &s->queue[queue & (QW_DUALPI2_QUEUES - 1)];

	(void)k;
	/* As things were until this packet left. */
	qw_dualpi2_catch_up(s, p, now);
	if (f->packets)
		f->packets--;
	f->head_ns = q->head_ns;
}

static inline qw_u32 qw_dualpi2_next(struct qw_dualpi2 *s,
				     const struct qw_dualpi2_params *p,
				     qw_u64 now, const struct qw_queue *q)
{
	(void)p;
	(void)now;
	(void)q;
	if (s->queue[QW_DUALPI2_L].packets &&
	    (!s->queue[QW_DUALPI2_C].packets || s->credit <= 0))
		return QW_DUALPI2_L;
	return s->queue[QW_DUALPI2_C].packets ? QW_DUALPI2_C : QW_NONE;
}

QW_SHARED struct qw_verdict
qw_dualpi2_dequeue(struct qw_dualpi2 *s, const struct qw_dualpi2_params *p,
		   qw_u64 now, const struct qw_queue *q,
		   const struct qw_packet *k, qw_u32 queue)
{
	const struct qw_dualpi2_queue *other =
		&s->queue[(queue ^ 1) & (QW_DUALPI2_QUEUES - 1)];
	struct qw_verdict v = qw_pass();

	qw_dualpi2_evicted(s, p, now, q, k, queue);

	if (!p->drop_early)
		v = qw_dualpi2_decide(s, p, k, queue, q->bytes);
	if (v.action == QW_DROP)
		return v;
	if (v.action == QW_PASS && queue == QW_DUALPI2_L &&
	    (p->step_packets ?
		     s->queue[QW_DUALPI2_L].packets > p->step_packets :
		     now > k->enqueue_ns + p->step_ns)) {
		v.action = QW_MARK;
		v.reason = QW_REASON_THRESHOLD;
	}
	/* What one queue takes while the other waits, at its weight's
	 * exchange rate. */
	if (other->packets && queue == QW_DUALPI2_L)
		s->credit += (qw_s64)p->c_protection * (qw_s64)k->bytes;
	else if (other->packets)
		s->credit -= (qw_s64)(QW_DUALPI2_WEIGHTS - p->c_protection) *
			     (qw_s64)k->bytes;
	return v;
}

static inline void qw_dualpi2_idle(struct qw_dualpi2 *s,
				   const struct qw_dualpi2_params *p,
				   qw_u64 now)
{
	qw_dualpi2_catch_up(s, p, now);
	qw_dualpi2_reset(s, p);
}

/* Parameters and variables as qw.h says. */
#define QW_DUALPI2_PARAMS(P)                             \
	QW_PI_PARAMS(P)                                  \
	P("coupling", coupling_q16, 16, 0, 16ULL << 16)  \
	P("step", step_ns, 0, 0, QW_PI_MAX_DELAY_NS)     \
	P("step_packets", step_packets, 0, 0, 1000000)   \
	P("classic_protection", c_protection, 0, 0, 100) \
	P("drop_overload", drop_overload, 0, 0, 1)       \
	P("drop_early", drop_early, 0, 0, 1)             \
	P("l4s", classes, 0, 0, QW_DUALPI2_ANY_ECT)      \
	P("mtu", mtu_bytes, 0, 0, 65535)
#define QW_DUALPI2_PROBES(V)                 \
	V(s->pi.prob_q52, QW_PI_ONE_Q52)     \
	V(s->pi.qdelay_ns, QW_NS_PER_MS)     \
	V(s->queue[QW_DUALPI2_C].packets, 1) \
	V(s->queue[QW_DUALPI2_L].packets, 1)

#ifdef __cplusplus
}
#endif

#endif /* QW_DUALPI2_H */
