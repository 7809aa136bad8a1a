/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ABM, Active Buffer Management (Addanki, Apostolaki, Ghobadi, Schmid and
 * Vanbever, SIGCOMM 2022): Dynamic Thresholds, divided by how many queues of
 * the same priority are congested, and in proportion to how fast the queue
 * drains:
 *	T = alpha / n * (B - Q) * mu / b
 * A queue is congested at 0.9 of its threshold or above; the host counts
 * (qw_pool.congested).
 *
 * Here a port has one queue, which drains at all of its port's rate, so that
 * mu / b is 1; and every packet has one priority. The paper's larger alpha for
 * the first round trip of a flow needs senders that tag these packets, and is
 * left out. `random` is not used.
 */
#ifndef QW_ABM_H
#define QW_ABM_H

#include "dt.h"
#include "qw.h"

#ifdef __cplusplus
extern "C" {
#endif

struct qw_abm_params {
	qw_u32 alpha_q16; /* 0.5; 1/64 .. 64 */
};

struct qw_abm {
	qw_u64 threshold_bytes; /* T at the last arrival; 0: none, no limit known */
	qw_u32 congested; /* n at the last arrival */
};

static inline void qw_abm_init(struct qw_abm *s, const struct qw_abm_params *p,
			       qw_u64 now)
{
	(void)p;
	(void)now;
	s->threshold_bytes = 0;
	s->congested = 0;
}

static inline struct qw_verdict
qw_abm_enqueue(struct qw_abm *s, const struct qw_abm_params *p, qw_u64 now,
	       const struct qw_queue *q, const struct qw_packet *k,
	       qw_u32 random)
{
	int known;
	qw_u64 left = qw_dt_free(q, &known);

	(void)now;
	(void)random;
	s->congested = q->pool.limit_bytes && q->pool.congested ?
			       q->pool.congested :
			       1;
	s->threshold_bytes =
		known ? qw_div(qw_dt_scale(left, p->alpha_q16), s->congested) :
			0;
	if (qw_over_limit(q, k))
		return qw_drop(QW_REASON_LIMIT);
	if (known && q->bytes && q->bytes >= s->threshold_bytes)
		return qw_drop(QW_REASON_THRESHOLD);
	return qw_pass();
}

static inline struct qw_verdict
qw_abm_dequeue(struct qw_abm *s, const struct qw_abm_params *p, qw_u64 now,
	       const struct qw_queue *q, const struct qw_packet *k)
{
	(void)s;
	(void)p;
	(void)now;
	(void)q;
	(void)k;
	return qw_pass();
}

static inline void qw_abm_idle(struct qw_abm *s, const struct qw_abm_params *p,
			       qw_u64 now)
{
	(void)s;
	(void)p;
	(void)now;
}

/* Parameters and variables as qw.h says. */
#define QW_ABM_PARAMS(P) P("alpha", alpha_q16, 16, 1u << 10, 64u << 16)
#define QW_ABM_PROBES(V)         \
	V(s->threshold_bytes, 1) \
	V(s->congested, 1)

#ifdef __cplusplus
}
#endif

#endif /* QW_ABM_H */
