/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tail drop: take every packet that fits the buffer, drop every other.
 *
 * The limits in packets and in bytes are those of the buffer (struct
 * qw_queue), so there is nothing to set and nothing to remember. `random` is
 * not used.
 */
#ifndef QW_DROPTAIL_H
#define QW_DROPTAIL_H

#include "qw.h"

#ifdef __cplusplus
extern "C" {
#endif

/* C has no empty structures; both are here for the common shape. */
struct qw_droptail_params {
	qw_u32 unused;
};

struct qw_droptail {
	qw_u32 unused;
};

static inline void qw_droptail_init(struct qw_droptail *s,
				    const struct qw_droptail_params *p,
				    qw_u64 now)
{
	(void)p;
	(void)now;
	s->unused = 0;
}

QW_SHARED struct qw_verdict
qw_droptail_enqueue(struct qw_droptail *s, const struct qw_droptail_params *p,
		    qw_u64 now, const struct qw_queue *q,
		    const struct qw_packet *k, qw_u32 random)
{
	(void)s;
	(void)p;
	(void)now;
	(void)random;
	return qw_over_limit(q, k) ? qw_drop(QW_REASON_LIMIT) : qw_pass();
}

QW_SHARED struct qw_verdict
qw_droptail_dequeue(struct qw_droptail *s, const struct qw_droptail_params *p,
		    qw_u64 now, const struct qw_queue *q,
		    const struct qw_packet *k)
{
	(void)s;
	(void)p;
	(void)now;
	(void)q;
	(void)k;
	return qw_pass();
}

static inline void qw_droptail_idle(struct qw_droptail *s,
				    const struct qw_droptail_params *p,
				    qw_u64 now)
{
	(void)s;
	(void)p;
	(void)now;
}

/* Parameters and variables as qw.h says. */
#define QW_DROPTAIL_PARAMS(P)
#define QW_DROPTAIL_PROBES(V)

#ifdef __cplusplus
}
#endif

#endif /* QW_DROPTAIL_H */
