/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The proportional integral controller that PI2 and DualPI2 share (RFC 9332
 * appendix A.1): every `tupdate`
 *
 *	p += alpha (delay - target) + beta (delay - delay at the last update)
 *
 * without the table of gains that PIE needs. What is steered is a probability
 * to which every sender's rate is inversely proportional, or that is squared
 * for those whose rate follows its square root.
 *
 * The delay is what the oldest packet in the queue has waited when the update
 * is due, not when somebody comes to run it.
 *
 * Probabilities are Q52: 1 << 52 stands for 1. A gain of 16 over a delay of
 * 10 s is below 2^60, which leaves room for a sum of two in signed 64 bits.
 */
#ifndef QW_PI_H
#define QW_PI_H

#include "qw.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QW_PI_ONE_Q52 (1ULL << 52)
#define QW_PI_MAX_DELAY_NS (10 * QW_NS_PER_SEC)
/* Updates that one call catches up with one by one: 16 s at 16 ms. */
#define QW_PI_MAX_TICKS 1024u

struct qw_pi_params {
	qw_u64 target_ns; /* delay to settle at, 15 ms; up to 10 s */
	qw_u64 tupdate_ns; /* time between updates, 16 ms; > 0 */
	qw_u64 alpha_q32; /* per second off target, 0.16; up to 16 */
	qw_u64 beta_q32; /* per second of change, 3.2; up to 16 */
};

#define QW_PI_PARAMS(P)                                                   \
	P("target", pi.target_ns, 0, 0, QW_PI_MAX_DELAY_NS)               \
	P("tupdate", pi.tupdate_ns, 0, 100 * QW_NS_PER_US, QW_NS_PER_SEC) \
	P("alpha", pi.alpha_q32, 0, 0, 16ULL << 32)                       \
	P("beta", pi.beta_q32, 0, 0, 16ULL << 32)

struct qw_pi {
	qw_u64 prob_q52; /* p, before squaring and before coupling */
	qw_u64 qdelay_ns; /* at the last update */
	qw_u64 next_tick_ns;
};

static inline void qw_pi_init(struct qw_pi *s, const struct qw_pi_params *p,
			      qw_u64 now)
{
	s->prob_q52 = 0;
	s->qdelay_ns = 0;
	s->next_tick_ns = now + p->tupdate_ns;
}

/* One update. The differences wrap as signed numbers do. */
QW_SHARED void qw_pi_tick(struct qw_pi *s, qw_u64 alpha, qw_u64 beta,
			  qw_u64 target_ns, qw_u64 qdelay_ns, qw_u64 most)
{
	qw_s64 sum = (qw_s64)(alpha * (qdelay_ns - target_ns)) +
		     (qw_s64)(beta * (qdelay_ns - s->qdelay_ns)) +
		     (qw_s64)s->prob_q52;

	s->qdelay_ns = qdelay_ns;
	if (sum < 0)
		sum = 0;
	s->prob_q52 = (qw_u64)sum < most ? (qw_u64)sum : most;
}

/* Run the updates that were due by `now`. If anything waited since the last
 * call, `waiting` is set and its oldest packet came at `since_ns`. `most`: what
 * p may reach, 1 or less. */
QW_SHARED void qw_pi_catch_up(struct qw_pi *s, const struct qw_pi_params *p,
			      qw_u64 now, int waiting, qw_u64 since_ns,
			      qw_u64 most)
{
	/* Gains per nanosecond: Q32 per second becomes Q52 per ns. */
	qw_u64 alpha = (p->alpha_q32 * (QW_PI_ONE_Q52 / QW_NS_PER_SEC)) >> 32;
	qw_u64 beta = (p->beta_q32 * (QW_PI_ONE_Q52 / QW_NS_PER_SEC)) >> 32;
	qw_u64 qdelay_ns, skipped, fall;
	qw_u32 i;

	if (now < s->next_tick_ns)
		return;
	QW_FOR (i, QW_PI_MAX_TICKS) {
		if (now < s->next_tick_ns)
			return;
		qdelay_ns = waiting && s->next_tick_ns > since_ns ?
				    s->next_tick_ns - since_ns :
				    0;
		if (qdelay_ns > QW_PI_MAX_DELAY_NS)
			qdelay_ns = QW_PI_MAX_DELAY_NS;
		qw_pi_tick(s, alpha, beta, p->target_ns, qdelay_ns, most);
		s->next_tick_ns += p->tupdate_ns;
	}
	if (now < s->next_tick_ns)
		return;
	/* Silence went on. In front of an empty queue every update takes off
	 * the same; a queue that has not moved at all finds the controller
	 * as it left it. */
	skipped = qw_div(now - s->next_tick_ns, p->tupdate_ns) + 1;
	s->next_tick_ns += skipped * p->tupdate_ns;
	if (waiting)
		return;
	fall = alpha * p->target_ns;
	if (fall)
		s->prob_q52 = skipped > qw_div(s->prob_q52, fall) ?
				      0 :
				      s->prob_q52 - skipped * fall;
}

/* p in 32 bits, for dice of as many: what is 1 becomes the largest below. */
static inline qw_u64 qw_pi_prob_q32(const struct qw_pi *s)
{
	qw_u64 prob = s->prob_q52 >> 20;

	return prob < 0xffffffffu ? prob : 0xffffffffu;
}

#ifdef __cplusplus
}
#endif

#endif /* QW_PI_H */
