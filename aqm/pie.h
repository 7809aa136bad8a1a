/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * PIE, "proportional integral controller enhanced" (RFC 8033): every `tupdate`
 * a drop probability moves with the sojourn time's distance from `target`
 * (alpha) and with its trend (beta). Arriving packets are dropped, or marked,
 * with that probability.
 *
 * Where RFC 8033 and Linux differ, this is Linux:
 *  - the delay is taken from the packets' own time in the queue; the RFC's
 *    departure-rate estimator is `rate_estimator`;
 *  - the burst allowance is used up by time that passes between departures,
 *    not by ticks;
 *  - an empty queue takes 1/64 off the probability per tick, not 2 %.
 *  - a mark that the accumulated probability alone has brought about does not
 *    restart it, so that marks go on until the dice mark, or a packet is dropped;
 *  - times are whole ticks of 64 ns, and the departure rate is in 1/256 bytes a
 *    tick. It is whole, too. Slow links have few of these (20 at 10 Mbit/s),
 *    and below 0.5 Mbit/s there is none, so that the delay stays unknown.
 * It departs from Linux, towards the RFC, in that the probability stays within
 * 0..1 (Linux lets it wind up beyond 1).
 *
 * Probabilities are Q56: 1 << 56 stands for 1. The smallest step of the tuned
 * controller is about 2^-44, and 8.5 of them must fit in 64 bits.
 */
#ifndef QW_PIE_H
#define QW_PIE_H

#include "qw.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QW_PIE_ONE_Q56 (1ULL << 56)
/* RFC 8033 section 4.3: a queue of 16 KiB shows the departure rate. */
#define QW_PIE_RATE_BYTES 16384u
/* Linux's psched_time_t: 64 ns. PIE_SCALE. */
#define QW_PIE_TICK_SHIFT 6
#define QW_PIE_TICK_NS (1u << QW_PIE_TICK_SHIFT)
#define QW_PIE_RATE_SHIFT 8
/* Delays are cut to this, so that alpha and beta up to 2 stay in 64 bits. */
#define QW_PIE_MAX_DELAY (10 * QW_NS_PER_SEC / QW_PIE_TICK_NS)
/* Ticks that one call catches up with: 3.84 s at 15 ms. */
#define QW_PIE_MAX_TICKS 256u
#define QW_PIE_NONE (~0ULL)

struct qw_pie_params {
	qw_u64 target_ns; /* delay to settle at, 15 ms; up to 10 s */
	qw_u64 tupdate_ns; /* time between updates, 15 ms; > 0 */
	qw_u64 alpha_q32; /* per second off target, 0.125; up to 2 */
	qw_u64 beta_q32; /* per second of change, 1.25; up to 2 */
	qw_u64 max_burst_ns; /* grace after the queue was fine, 150 ms */
	qw_u64 ecn_threshold_q32; /* mark up to this probability, 0.1 */
	qw_u32 mtu_bytes; /* never drop with less than two waiting, 1514 */
	qw_u32 ecn; /* mark instead of drop where the sender allows */
	qw_u32 bytemode; /* smaller packets are dropped less, off */
	qw_u32 rate_estimator; /* delay is backlog / departure rate, off */
};

struct qw_pie {
	qw_u64 prob_q56;
	qw_u64 accu_q56; /* sum of probabilities since the last restart */
	qw_u64 burst; /* allowance left, ticks */
	qw_u64 qdelay; /* latest, ticks */
	qw_u64 qdelay_old; /* at the last update, ticks */
	qw_u64 next_tick_ns;
	/* Last departure, or with the estimator the begin of the measurement;
	 * QW_PIE_NONE: none yet. */
	qw_u64 dq_start; /* in ticks */
	qw_u64 dq_bytes; /* departed in the measurement, QW_PIE_NONE: not on */
	qw_u64 rate; /* departure rate, 1/256 bytes a tick, 0: unknown */
};

/* A time, or a span, in whole ticks. */
static inline qw_u64 qw_pie_ticks(qw_u64 ns)
{
	return ns >> QW_PIE_TICK_SHIFT;
}

/* Forget all but the probability and the delays. */
static inline void qw_pie_restart(struct qw_pie *s,
				  const struct qw_pie_params *p)
{
	s->accu_q56 = 0;
	s->burst = qw_pie_ticks(p->max_burst_ns);
	s->dq_start = QW_PIE_NONE;
	s->dq_bytes = QW_PIE_NONE;
	s->rate = 0;
}

static inline void qw_pie_init(struct qw_pie *s, const struct qw_pie_params *p,
			       qw_u64 now)
{
	s->prob_q56 = 0;
	s->qdelay = 0;
	s->qdelay_old = 0;
	s->next_tick_ns = now + p->tupdate_ns;
	qw_pie_restart(s, p);
}

/* A gain per second in Q32 is this per tick in Q56: whole ones. */
static inline qw_u64 qw_pie_gain(qw_u64 gain_q32)
{
	/* >> 4 first, which sixteenths do not feel, keeps it in 64 bits. */
	return ((gain_q32 >> 4) *
		(QW_PIE_ONE_Q56 * QW_PIE_TICK_NS / QW_NS_PER_SEC)) >>
	       28;
}

/* RFC 8033 section 4.2: one update of the probability. `off` is
 * qdelay - target, `trend` is qdelay - old. (A QW_PART: inside the loop below
 * it is what the verifier of Linux 6.18 trips over.) */
QW_PART qw_u64 qw_pie_step(const struct qw_pie_params *p QW_GIVEN, qw_u64 prob,
			   qw_s64 off, qw_s64 trend, qw_s64 bonus)
{
	const qw_s64 two_percent = QW_PIE_ONE_Q56 / 50;
	qw_s64 delta;
	qw_u32 tuned = 0;

	/* Auto-tuning: the smaller the probability, the smaller the gains, by
	 * 1/2 below 0.1, 1/8 below 0.01, ... 1/2048 below 0.000001. */
	if (prob < QW_PIE_ONE_Q56 / 10)
		tuned = prob >= QW_PIE_ONE_Q56 / 100	 ? 1 :
			prob >= QW_PIE_ONE_Q56 / 1000	 ? 3 :
			prob >= QW_PIE_ONE_Q56 / 10000	 ? 5 :
			prob >= QW_PIE_ONE_Q56 / 100000	 ? 7 :
			prob >= QW_PIE_ONE_Q56 / 1000000 ? 9 :
							   11;
	/* Products below 2^61. */
	delta = (qw_s64)(qw_pie_gain(p->alpha_q32) >> tuned) * off +
		(qw_s64)(qw_pie_gain(p->beta_q32) >> tuned) * trend;
	/* Section 5.5: no more than 2 % up in one step. */
	if (!tuned && delta > two_percent)
		delta = two_percent;
	delta += (qw_s64)prob + bonus;
	if (delta < 0)
		return 0;
	return (qw_u64)delta < QW_PIE_ONE_Q56 ? (qw_u64)delta : QW_PIE_ONE_Q56;
}

/* Run the updates that were due by `now`. Since the last call the queue stood
 * at `backlog`, so that only the first of them can see the delay change.
 *
 * A silence of more than QW_PIE_MAX_TICKS is cut short: on an empty queue the
 * probability has reached 0 by then or is taken to have; before a queue that
 * does not move, the controller holds still. */
QW_PART int qw_pie_update(struct qw_pie *s QW_GIVEN,
			  const struct qw_pie_params *p QW_GIVEN, qw_u64 now,
			  qw_u64 backlog)
{
	qw_u64 qdelay = s->qdelay, old = s->qdelay_old, prob = s->prob_q56;
	qw_u64 target = qw_pie_ticks(p->target_ns);
	qw_s64 trend, bonus = 0;
	qw_u32 i, well = 0, before = 0;

	if (p->rate_estimator)
		qdelay = s->rate ?
				 qw_div(backlog << QW_PIE_RATE_SHIFT, s->rate) :
				 0;
	if (qdelay > QW_PIE_MAX_DELAY)
		qdelay = QW_PIE_MAX_DELAY;
	trend = (qw_s64)qdelay - (qw_s64)old;
	/* RFC 8033 section 5.5: 2 % more in each update above 250 ms. */
	if (qdelay > 250 * QW_NS_PER_MS / QW_PIE_TICK_NS)
		bonus = QW_PIE_ONE_Q56 / 50;

	QW_FOR (i, QW_PIE_MAX_TICKS) {
		if (now < s->next_tick_ns)
			break;
		if (i) {
			old = qdelay;
			trend = 0;
		}
		prob = qw_pie_step(p, prob, (qw_s64)qdelay - (qw_s64)target,
				   trend, bonus);
		/* Idle for two updates: decay. (Linux: a delay of 0 in front
		 * of a backlog is a very short queue, not an idle one.) */
		if (!(qdelay | old | backlog))
			prob -= prob >> 6;
		before = well;
		well = !prob && qdelay < target / 2 && old < target / 2;
		s->next_tick_ns += p->tupdate_ns;
	}
	if (now >= s->next_tick_ns) {
		prob = backlog ? prob : 0;
		well = before = !prob && qdelay < target / 2;
		s->next_tick_ns +=
			(qw_div(now - s->next_tick_ns, p->tupdate_ns) + 1) *
			p->tupdate_ns;
	}

	s->prob_q56 = prob;
	/* All well for two updates: grant the burst allowance again. What the
	 * rate was is forgotten, so that the next update sees no delay. */
	if (well && (!p->rate_estimator || s->rate)) {
		qw_pie_restart(s, p);
		if (before && p->rate_estimator)
			qdelay = 0;
	}
	s->qdelay = qdelay;
	s->qdelay_old = qdelay;
	return 0;
}

static inline void qw_pie_catch_up(struct qw_pie *s,
				   const struct qw_pie_params *p, qw_u64 now,
				   qw_u64 backlog)
{
	if (now >= s->next_tick_ns)
		qw_pie_update(s, p, now, backlog);
}

/* An update now, before it is due: of a host that has a timer of its own, as
 * Linux, and says when that came. */
static inline void qw_pie_tick(struct qw_pie *s, const struct qw_pie_params *p,
			       qw_u64 now, qw_u64 backlog)
{
	s->next_tick_ns = now;
	qw_pie_update(s, p, now, backlog);
}

/* RFC 8033 section 4.1 and 5.1: is an arrival that finds this backlog to be
 * dropped or marked? */
static inline int qw_pie_is_early(struct qw_pie *s,
				  const struct qw_pie_params *p, qw_u64 backlog,
				  const struct qw_packet *k, qw_u32 random)
{
	qw_u64 prob = s->prob_q56;

	if (s->burst)
		return 0;
	if (s->qdelay < qw_pie_ticks(p->target_ns) / 2 &&
	    prob < QW_PIE_ONE_Q56 / 5)
		return 0;
	if (backlog < 2 * (qw_u64)p->mtu_bytes)
		return 0;
	if (p->bytemode && k->bytes <= p->mtu_bytes && p->mtu_bytes)
		prob = qw_div(prob, p->mtu_bytes) * k->bytes;

	/* Derandomisation: gaps between drops of about 1 / probability, never
	 * below 0.85 and never above 8.5 of it. */
	s->accu_q56 = prob ? s->accu_q56 + prob : 0;
	if (s->accu_q56 < QW_PIE_ONE_Q56 / 100 * 85)
		return 0;
	if (s->accu_q56 >= QW_PIE_ONE_Q56 / 2 * 17)
		return 1;
	if ((qw_u64)random << 24 >= prob)
		return 0;
	s->accu_q56 = 0;
	return 1;
}

/* What becomes of an arrival that finds this backlog, once all ticks are made;
 * `full`: the buffer has no room for it. */
QW_SHARED struct qw_verdict
qw_pie_arrival(struct qw_pie *s, const struct qw_pie_params *p, qw_u64 backlog,
	       const struct qw_packet *k, qw_u32 random, int full)
{
	struct qw_verdict v = qw_pass();

	if (full)
		v = qw_drop(QW_REASON_LIMIT);
	else if (qw_pie_is_early(s, p, backlog, k, random))
		v = qw_mark_or_drop(
			k, p->ecn && s->prob_q56 <= p->ecn_threshold_q32 << 24,
			QW_REASON_EARLY);
	if (v.action == QW_DROP)
		s->accu_q56 = 0;
	return v;
}

static inline struct qw_verdict
qw_pie_enqueue(struct qw_pie *s, const struct qw_pie_params *p, qw_u64 now,
	       const struct qw_queue *q, const struct qw_packet *k,
	       qw_u32 random)
{
	qw_pie_catch_up(s, p, now, q->bytes);
	return qw_pie_arrival(s, p, q->bytes, k, random, qw_over_limit(q, k));
}

/* RFC 8033 section 4.3: the rate at which a queue of at least 16 KiB drains.
 * Returns the ticks measured over, 0 while a measurement is under way. */
static inline qw_u64 qw_pie_measure_rate(struct qw_pie *s, qw_u64 now,
					 qw_u64 backlog,
					 const struct qw_packet *k)
{
	qw_u64 took, rate;

	if (s->dq_bytes == QW_PIE_NONE) {
		if (backlog < QW_PIE_RATE_BYTES)
			return 0;
		s->dq_start = qw_pie_ticks(now);
		s->dq_bytes = 0;
	}
	s->dq_bytes += k->bytes;
	took = qw_pie_ticks(now) - s->dq_start;
	if (s->dq_bytes < QW_PIE_RATE_BYTES || !took)
		return 0;
	rate = qw_div(s->dq_bytes << QW_PIE_RATE_SHIFT, took);
	s->rate = s->rate ? s->rate - (s->rate >> 3) + (rate >> 3) : rate;
	s->dq_start = qw_pie_ticks(now);
	s->dq_bytes = backlog < QW_PIE_RATE_BYTES ? QW_PIE_NONE : 0;
	return took;
}

/* A packet has left this backlog behind. */
QW_SHARED void qw_pie_departure(struct qw_pie *s, const struct qw_pie_params *p,
				qw_u64 now, qw_u64 backlog,
				const struct qw_packet *k)
{
	qw_u64 passed = 0, ticks = qw_pie_ticks(now);

	qw_pie_catch_up(s, p, now, backlog + k->bytes);
	if (p->rate_estimator) {
		passed = qw_pie_measure_rate(s, now, backlog, k);
	} else {
		/* The last of a queue leaves no queue behind: no delay. */
		s->qdelay = backlog && now > k->enqueue_ns ?
				    ticks - qw_pie_ticks(k->enqueue_ns) :
				    0;
		if (s->dq_start != QW_PIE_NONE)
			passed = ticks - s->dq_start;
		s->dq_start = ticks;
	}
	s->burst -= passed < s->burst ? passed : s->burst;
}

static inline struct qw_verdict
qw_pie_dequeue(struct qw_pie *s, const struct qw_pie_params *p, qw_u64 now,
	       const struct qw_queue *q, const struct qw_packet *k)
{
	qw_pie_departure(s, p, now, q->bytes, k);
	return qw_pass();
}

static inline void qw_pie_idle(struct qw_pie *s, const struct qw_pie_params *p,
			       qw_u64 now)
{
	qw_pie_catch_up(s, p, now, 0);
}

/* Parameters and variables as qw.h says. */
#define QW_PIE_PARAMS(P)                                        \
	P("target", target_ns, 0, 0, 10 * QW_NS_PER_SEC)        \
	P("tupdate", tupdate_ns, 0, 1, QW_NS_PER_SEC)           \
	P("alpha", alpha_q32, 0, 0, 2ULL << 32)                 \
	P("beta", beta_q32, 0, 0, 2ULL << 32)                   \
	P("max_burst", max_burst_ns, 0, 0, 10 * QW_NS_PER_SEC)  \
	P("ecn", ecn, 0, 0, 1)                                  \
	P("ecn_threshold", ecn_threshold_q32, 0, 0, 1ULL << 32) \
	P("bytemode", bytemode, 0, 0, 1)                        \
	P("estimator", rate_estimator, 0, 0, 1)                 \
	P("mtu", mtu_bytes, 0, 0, 65535)
#define QW_PIE_PROBES(V)                            \
	V(s->prob_q56, QW_PIE_ONE_Q56)              \
	V(s->qdelay, QW_NS_PER_MS / QW_PIE_TICK_NS) \
	V(s->burst, QW_NS_PER_MS / QW_PIE_TICK_NS)

#ifdef __cplusplus
}
#endif

#endif /* QW_PIE_H */
