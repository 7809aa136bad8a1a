/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Adaptive RED (Floyd, Gummadi and Shenker 2001): RED whose max_P moves, twice
 * a second, so that the average stays in the middle of the thresholds. The
 * steps are Linux's (`tc ... red adaptive`), which are the paper's.
 *
 * Unless thresholds are told, they are the paper's automatic ones (its section
 * 6). C is the link in packets per second: min = max(5 packets, target * C /
 * 2), max = 3 min. So the average stands at C * target. The weight is 1 -
 * exp(-1 / C). Linux leaves all three to its user, and so did QueuePilot's
 * ARED_1..3, which the docs page shows how to set.
 *
 * What the paper does not have: unless it is told, C is measured, as what left
 * the queue while it was never empty. So the thresholds follow a link whose
 * rate varies.
 */
#ifndef QW_ARED_H
#define QW_ARED_H

#include "qw.h"
#include "red.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Twice a second; alpha = min(0.01, max_P / 4), beta = 0.9, and max_P stays
 * about between 0.01 and 0.5. */
#define QW_ARED_TICK_NS (500 * QW_NS_PER_MS)
#define QW_ARED_PERCENT_Q32 42949673ULL
/* Ticks that one call catches up with: a minute, in which max_P has gone from
 * one of its ends to the other. */
#define QW_ARED_MAX_TICKS 120u
/* Packets, back to back, after which the first measurement is good enough to
 * begin with. */
#define QW_ARED_FIRST_PACKETS 64u
/* Floyd, Gummadi and Shenker 2001, section 6. */
#define QW_ARED_MIN_PACKETS 5u

struct qw_ared_params {
	struct qw_red_params red; /* min and max 0: by `target`; burst 0: the
				   * paper's weight; bandwidth 0: measured */
	qw_u64 target_ns; /* delay of the average queue, 5 ms; 0: thresholds
			   * as in RED */
};

struct qw_ared {
	struct qw_red red;
	qw_u64 next_tick_ns;
	qw_u64 rate; /* of the link, bytes/s, 0: not known yet */
	/* What the link sent since the last tick without a pause. */
	qw_u64 busy_ns, busy_bytes;
	qw_u64 sent_ns; /* when the last packet left, QW_RED_NONE: idle since */
	qw_u32 sent_bytes; /* its length */
	qw_u32 busy_packets;
};

static inline void qw_ared_init(struct qw_ared *s,
				const struct qw_ared_params *p, qw_u64 now)
{
	qw_red_init(&s->red, &p->red, now);
	s->next_tick_ns = now + QW_ARED_TICK_NS;
	s->rate = p->red.bandwidth;
	s->busy_ns = 0;
	s->busy_bytes = 0;
	s->sent_ns = QW_RED_NONE;
	s->sent_bytes = 0;
	s->busy_packets = 0;
}

/* Are the thresholds by `target`? */
static inline int qw_ared_is_automatic(const struct qw_ared_params *p)
{
	return p->target_ns && !p->red.min_bytes && !p->red.max_bytes;
}

/* The power of two that is nearest to n, by its logarithm. */
static inline qw_u32 qw_ared_log2(qw_u64 n)
{
	qw_u32 i;

	QW_FOR (i, QW_RED_MAX_WLOG) {
		/* Below 2^(i + 1/2), with 7/5 for its root of 2? */
		if (5 * n < 7ULL << i)
			return i;
	}
	return QW_RED_MAX_WLOG;
}

/* Thresholds, weight and idle clock for the rate that is known. */
QW_PART int qw_ared_make(struct qw_ared *s QW_GIVEN,
			 const struct qw_ared_params *p QW_GIVEN)
{
	qw_u64 avpkt = p->red.avpkt_bytes, min;
	qw_u32 wlog;

	if (!qw_ared_is_automatic(p)) {
		qw_red_make(&s->red, &p->red, s->rate);
	} else {
		/* rate <= 2^40 bytes/s, target <= 10^7 us */
		min = qw_div(s->rate * qw_div(p->target_ns, 1000), 2000000);
		if (min < QW_ARED_MIN_PACKETS * avpkt)
			min = QW_ARED_MIN_PACKETS * avpkt;
		if (min > QW_RED_MAX_BYTES / 3)
			min = QW_RED_MAX_BYTES / 3;
		wlog = s->red.wlog;
		if (p->red.burst)
			wlog = qw_red_wlog(min, p->red.burst,
					   p->red.avpkt_bytes);
		qw_red_set(&s->red, min, 3 * min, wlog);
	}
	if (p->target_ns && !p->red.burst) {
		/* 1 - exp(-1 / C) is 1 / C, but for C near 1. */
		wlog = qw_ared_log2(qw_div(s->rate, avpkt));
		qw_red_set(&s->red, s->red.min_bytes, s->red.max_bytes,
			   wlog ? wlog : 1);
	}
	qw_red_set_idle(&s->red, &p->red, s->rate);
	return 0;
}

/* The rate of the link, from what was sent since the last time, and all that
 * follows from it. */
static inline void qw_ared_measure(struct qw_ared *s,
				   const struct qw_ared_params *p)
{
	/* No more bytes than can be multiplied by 10^9. */
	qw_u64 bytes = s->busy_bytes < QW_RED_MAX_BYTES ? s->busy_bytes :
							  QW_RED_MAX_BYTES;

	if (s->busy_ns) {
		qw_u64 sample = qw_div(bytes * QW_NS_PER_SEC, s->busy_ns);

		if (sample > QW_RED_MAX_RATE)
			sample = QW_RED_MAX_RATE;
		if (!sample)
			sample = 1;
		/* What came before was seen by nobody: an average that starts
		 * high would take long to come down. */
		if (!s->rate)
			s->red.avg = 0;
		s->rate = sample;
		qw_ared_make(s, p);
	}
	s->busy_ns = 0;
	s->busy_bytes = 0;
	s->busy_packets = 0;
}

/* One step of max_P, at the average of this moment. */
QW_PART int qw_ared_adapt(struct qw_ared *s QW_GIVEN, qw_u64 now)
{
	struct qw_red *r = &s->red;
	qw_u64 avg = r->avg, fifth = qw_div(r->delta_bytes, 5);

	if (r->idle_ns != QW_RED_NONE)
		avg = qw_red_idle_avg(r, now - r->idle_ns);
	avg >>= r->wlog;
	if (avg > r->min_bytes + 3 * fifth &&
	    r->max_p_q32 <= 50 * QW_ARED_PERCENT_Q32)
		r->max_p_q32 += r->max_p_q32 / 4 < QW_ARED_PERCENT_Q32 ?
					r->max_p_q32 / 4 :
					QW_ARED_PERCENT_Q32;
	else if (avg < r->min_bytes + 2 * fifth &&
		 r->max_p_q32 >= QW_ARED_PERCENT_Q32)
		r->max_p_q32 = qw_div(r->max_p_q32, 10) * 9;
	r->nearest = 1;
	return 0;
}

/* Run the ticks that were due by `now`. Until the next call nothing is known
 * but that an idle link stays idle, so one measurement is enough. */
static inline void qw_ared_catch_up(struct qw_ared *s,
				    const struct qw_ared_params *p, qw_u64 now)
{
	qw_u32 i;

	if (now < s->next_tick_ns)
		return;
	if (!p->red.bandwidth && s->busy_packets >= QW_ARED_FIRST_PACKETS)
		qw_ared_measure(s, p);
	QW_FOR (i, QW_ARED_MAX_TICKS) {
		if (now < s->next_tick_ns)
			return;
		qw_ared_adapt(s, s->next_tick_ns);
		s->next_tick_ns += QW_ARED_TICK_NS;
	}
	if (now >= s->next_tick_ns)
		s->next_tick_ns +=
			(qw_div(now - s->next_tick_ns, QW_ARED_TICK_NS) + 1) *
			QW_ARED_TICK_NS;
}

static inline struct qw_verdict
qw_ared_enqueue(struct qw_ared *s, const struct qw_ared_params *p, qw_u64 now,
		const struct qw_queue *q, const struct qw_packet *k,
		qw_u32 random)
{
	qw_u32 decision = QW_RED_PASS;
	struct qw_verdict v;
	int was_idle;

	qw_ared_catch_up(s, p, now);
	if (!qw_red_fits(&s->red, q) && s->rate)
		qw_ared_make(s, p);
	was_idle = qw_red_see(&s->red, now, q->bytes);
	/* Before the rate is known there are no thresholds. */
	if (s->rate)
		decision = qw_red_decide(&s->red, p->red.gentle != 0, random);
	v = qw_red_apply(decision, &p->red, q, k);
	if (was_idle && v.action == QW_DROP)
		s->red.idle_ns = now;
	return v;
}

static inline struct qw_verdict
qw_ared_dequeue(struct qw_ared *s, const struct qw_ared_params *p, qw_u64 now,
		const struct qw_queue *q, const struct qw_packet *k)
{
	(void)q;
	qw_ared_catch_up(s, p, now);
	/* The packet before this one took the link until now. */
	if (s->sent_ns != QW_RED_NONE && s->busy_bytes < QW_RED_MAX_BYTES) {
		s->busy_ns += now - s->sent_ns;
		s->busy_bytes += s->sent_bytes;
		s->busy_packets++;
	}
	s->sent_ns = now;
	s->sent_bytes = k->bytes;
	if (!s->rate && s->busy_packets >= QW_ARED_FIRST_PACKETS)
		qw_ared_measure(s, p);
	return qw_pass();
}

static inline void qw_ared_idle(struct qw_ared *s,
				const struct qw_ared_params *p, qw_u64 now)
{
	qw_ared_catch_up(s, p, now);
	qw_red_idle(&s->red, &p->red, now);
	s->sent_ns = QW_RED_NONE;
}

/* Parameters and variables as qw.h says. */
#define QW_ARED_PARAMS(P)                                           \
	P("target", target_ns, 0, 0, 10 * QW_NS_PER_SEC)            \
	P("min", red.min_bytes, 0, 0, QW_RED_MAX_BYTES)             \
	P("max", red.max_bytes, 0, 0, QW_RED_MAX_BYTES)             \
	P("probability", red.probability_q32, 0, 0, QW_RED_ONE_Q32) \
	P("avpkt", red.avpkt_bytes, 0, 1, 65535)                    \
	P("burst", red.burst, 0, 0, 1u << 20)                       \
	P("bandwidth", red.bandwidth, 0, 0, QW_RED_MAX_RATE)        \
	P("ecn", red.ecn, 0, 0, 1)                                  \
	P("harddrop", red.harddrop, 0, 0, 1)                        \
	P("nodrop", red.nodrop, 0, 0, 1)                            \
	P("gentle", red.gentle, 0, 0, 1)                            \
	P("idle_clock", red.idle_clock, 0, QW_RED_IDLE_US, QW_RED_IDLE_TC)
#define QW_ARED_PROBES(V)                      \
	V(s->red.avg >> (s->red.wlog & 63), 1) \
	V(s->red.max_p_q32, QW_RED_ONE_Q32)    \
	V(s->red.min_bytes, 1)                 \
	V(s->red.max_bytes, 1)                 \
	V(s->red.wlog, 1)                      \
	V(s->rate, 1)

#ifdef __cplusplus
}
#endif

#endif /* QW_ARED_H */
