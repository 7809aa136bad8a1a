/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * GSP, "global synchronization protection" (Lautenschlaeger and Francini, HPSR
 * 2015; draft-lauten-aqm-gsp): a tail drop that takes one packet, not a row of
 * them. Above a threshold an arrival is dropped, and then none for an interval.
 * In it the one sender that lost a packet can react, so that senders do not all
 * back off at once. Where that is too little, because there are many of them,
 * the adaptive variant shortens the interval by the time that the queue spends
 * above the threshold.
 *
 * A buffer that overflows takes packets of many senders, and what they leave
 * unused then says nothing about their number. So time below the threshold does
 * not count after an overflow until the queue has run empty and risen above
 * again. Here it also does not count for longer than tau after the queue was
 * empty, as silence is no consequence of an overflow.
 *
 * `random` is not used.
 */
#ifndef QW_GSP_H
#define QW_GSP_H

#include "qw.h"

#ifdef __cplusplus
extern "C" {
#endif

/* interval * tau must fit in 64 bits. */
#define QW_GSP_MAX_NS (4 * QW_NS_PER_SEC)
/* alpha, Q16, times the longest time that counts must fit: 1000 s. */
#define QW_GSP_MAX_TIME_NS (1000 * QW_NS_PER_SEC)
#define QW_GSP_MAX_ALPHA_Q16 (16ULL << 16)

struct qw_gsp_params {
	/* Bytes that may wait; 0: half of the buffer, or none if `delay` is set */
	qw_u64 threshold_bytes;
	qw_u64 delay_ns; /* sojourn time that is fine, 0: does not count */
	qw_u64 interval_ns; /* without drops after a drop, 100 ms; > 0 */
	qw_u64 tau_ns; /* time constant of the adaptation, 0: 5 intervals */
	qw_u64 max_time_ns; /* of the sum of times, 100 s */
	qw_u32 alpha_q16; /* weight of the time above, 1.5 */
	qw_u32 adaptive; /* 0: the interval stays */
	qw_u32 ecn; /* mark instead of drop where the sender allows */
};

struct qw_gsp {
	qw_u64 hold_ns; /* no drop before */
	qw_u64 interval_ns; /* in force at the last drop */
	qw_u64 time_ns; /* alpha * time above - time below, within bounds */
	qw_u64 last_ns; /* up to when that is counted */
	/* Time below counts from here on; QW_NEVER: the buffer overflowed, and
	 * the queue was not empty since. */
	qw_u64 below_ns;
	qw_u64 sojourn_ns; /* of the last packet that left */
	qw_u32 above; /* the queue is above, since the last event */
};

static inline void qw_gsp_init(struct qw_gsp *s, const struct qw_gsp_params *p,
			       qw_u64 now)
{
	s->hold_ns = now;
	s->interval_ns = p->interval_ns;
	s->time_ns = 0;
	s->last_ns = now;
	s->below_ns = now;
	s->sojourn_ns = 0;
	s->above = 0;
}

static inline qw_u64 qw_gsp_tau(const struct qw_gsp_params *p)
{
	qw_u64 tau = p->tau_ns ? p->tau_ns : 5 * p->interval_ns;

	return tau < QW_GSP_MAX_NS ? tau : QW_GSP_MAX_NS;
}

/* The threshold in bytes; 0: none. */
static inline qw_u64 qw_gsp_threshold(const struct qw_gsp_params *p,
				      const struct qw_queue *q)
{
	if (p->threshold_bytes || p->delay_ns)
		return p->threshold_bytes;
	return qw_buffer_part(q) / 2;
}

/* Count the time since the last event, in which the queue stood still. */
static inline void qw_gsp_count(struct qw_gsp *s, const struct qw_gsp_params *p,
				qw_u64 now)
{
	qw_u64 passed = now - s->last_ns;

	s->last_ns = now;
	if (!s->above) {
		if (now < s->below_ns)
			return;
		if (passed > now - s->below_ns)
			passed = now - s->below_ns;
		s->time_ns -= passed < s->time_ns ? passed : s->time_ns;
		return;
	}
	if (passed > QW_GSP_MAX_TIME_NS)
		passed = QW_GSP_MAX_TIME_NS;
	s->time_ns += (passed * p->alpha_q16) >> 16;
	if (s->time_ns > p->max_time_ns)
		s->time_ns = p->max_time_ns;
}

/* interval / (1 + time / tau) */
static inline qw_u64 qw_gsp_interval(const struct qw_gsp *s,
				     const struct qw_gsp_params *p)
{
	qw_u64 tau = qw_gsp_tau(p);

	if (!p->adaptive)
		return p->interval_ns;
	return qw_div(p->interval_ns * tau, tau + s->time_ns);
}

/* Is a queue of so many bytes above? An empty one never is, so that the link
 * does not starve. */
static inline qw_u32 qw_gsp_is_above(const struct qw_gsp *s,
				     const struct qw_gsp_params *p,
				     const struct qw_queue *q, qw_u64 bytes)
{
	qw_u64 threshold = qw_gsp_threshold(p, q);

	return bytes && ((threshold && bytes > threshold) ||
			 (p->delay_ns && s->sojourn_ns > p->delay_ns));
}

/* The queue has become so many bytes long. */
static inline void qw_gsp_changed(struct qw_gsp *s,
				  const struct qw_gsp_params *p, qw_u64 now,
				  const struct qw_queue *q, qw_u64 bytes)
{
	s->above = qw_gsp_is_above(s, p, q, bytes);
	if (s->below_ns == QW_NEVER) {
		if (!bytes)
			s->below_ns = now + qw_gsp_tau(p);
	} else if (s->above) {
		s->below_ns = now;
	}
}

static inline struct qw_verdict
qw_gsp_enqueue(struct qw_gsp *s, const struct qw_gsp_params *p, qw_u64 now,
	       const struct qw_queue *q, const struct qw_packet *k,
	       qw_u32 random)
{
	struct qw_verdict v = qw_pass();

	(void)random;
	qw_gsp_count(s, p, now);
	if (qw_over_limit(q, k)) {
		/* An empty queue is so already: others fill the buffer. */
		s->below_ns = q->bytes ? QW_NEVER : now + qw_gsp_tau(p);
		return qw_drop(QW_REASON_LIMIT);
	}
	if (s->above && now >= s->hold_ns) {
		v = qw_mark_or_drop(k, p->ecn != 0, QW_REASON_THRESHOLD);
		s->interval_ns = qw_gsp_interval(s, p);
		s->hold_ns = now + s->interval_ns;
	}
	if (v.action != QW_DROP)
		qw_gsp_changed(s, p, now, q, q->bytes + k->bytes);
	return v;
}

static inline struct qw_verdict
qw_gsp_dequeue(struct qw_gsp *s, const struct qw_gsp_params *p, qw_u64 now,
	       const struct qw_queue *q, const struct qw_packet *k)
{
	qw_gsp_count(s, p, now);
	s->sojourn_ns = now - k->enqueue_ns;
	qw_gsp_changed(s, p, now, q, q->bytes);
	return qw_pass();
}

static inline void qw_gsp_idle(struct qw_gsp *s, const struct qw_gsp_params *p,
			       qw_u64 now)
{
	qw_gsp_count(s, p, now);
	s->sojourn_ns = 0;
	s->above = 0;
	if (s->below_ns == QW_NEVER)
		s->below_ns = now + qw_gsp_tau(p);
}

/* Parameters and variables as qw.h says. */
#define QW_GSP_PARAMS(P)                                     \
	P("threshold", threshold_bytes, 0, 0, 1ULL << 40)    \
	P("delay", delay_ns, 0, 0, 10 * QW_NS_PER_SEC)       \
	P("interval", interval_ns, 0, 1, QW_GSP_MAX_NS)      \
	P("adaptive", adaptive, 0, 0, 1)                     \
	P("tau", tau_ns, 0, 0, QW_GSP_MAX_NS)                \
	P("alpha", alpha_q16, 16, 0, QW_GSP_MAX_ALPHA_Q16)   \
	P("max_time", max_time_ns, 0, 0, QW_GSP_MAX_TIME_NS) \
	P("ecn", ecn, 0, 0, 1)
#define QW_GSP_PROBES(V)                \
	V(s->interval_ns, QW_NS_PER_MS) \
	V(s->time_ns, QW_NS_PER_SEC)    \
	V(s->above, 1)

#ifdef __cplusplus
}
#endif

#endif /* QW_GSP_H */
