/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Dynamic Thresholds (Choudhury and Hahne, IEEE/ACM ToN 6(2), 1998). A queue
 * takes packets while it is shorter than alpha times what is free of the buffer
 * that all ports of a device share. A lone busy queue then has alpha / (1 +
 * alpha) of the buffer. Of n busy ones each has alpha / (1 + n alpha). The rest
 * is kept for the next one to become busy.
 *
 * A port with a buffer of its own is taken for a device with one port.
 * `random` is not used.
 */
#ifndef QW_DT_H
#define QW_DT_H

#include "qw.h"

#ifdef __cplusplus
extern "C" {
#endif

struct qw_dt_params {
	qw_u32 alpha_q16; /* 1; 1/64 .. 64 */
};

struct qw_dt {
	qw_u64 threshold_bytes; /* T at the last arrival; 0: none, no limit known */
};

static inline void qw_dt_init(struct qw_dt *s, const struct qw_dt_params *p,
			      qw_u64 now)
{
	(void)p;
	(void)now;
	s->threshold_bytes = 0;
}

/* Bytes that are free of the buffer, shared or not. 0: full, or without limit
 * (`*known` tells). A limit in packets counts as so many full ones. */
static inline qw_u64 qw_dt_free(const struct qw_queue *q, int *known)
{
	qw_u64 limit = qw_buffer_bytes(q), used = q->bytes;

	if (q->pool.limit_bytes) {
		limit = q->pool.limit_bytes;
		used = q->pool.bytes;
	}
	*known = limit != 0;
	return used < limit ? limit - used : 0;
}

/* alpha * bytes; bytes up to 2^40 and more, alpha up to 64. */
static inline qw_u64 qw_dt_scale(qw_u64 bytes, qw_u32 alpha_q16)
{
	return (bytes >> 16) * alpha_q16 +
	       (((bytes & 0xffff) * alpha_q16) >> 16);
}

static inline struct qw_verdict
qw_dt_enqueue(struct qw_dt *s, const struct qw_dt_params *p, qw_u64 now,
	      const struct qw_queue *q, const struct qw_packet *k,
	      qw_u32 random)
{
	int known;
	qw_u64 left = qw_dt_free(q, &known);

	(void)now;
	(void)random;
	s->threshold_bytes = known ? qw_dt_scale(left, p->alpha_q16) : 0;
	if (qw_over_limit(q, k))
		return qw_drop(QW_REASON_LIMIT);
	/* Section II: an arrival is lost while the queue is at T or above. */
	if (known && q->bytes && q->bytes >= s->threshold_bytes)
		return qw_drop(QW_REASON_THRESHOLD);
	return qw_pass();
}

static inline struct qw_verdict
qw_dt_dequeue(struct qw_dt *s, const struct qw_dt_params *p, qw_u64 now,
	      const struct qw_queue *q, const struct qw_packet *k)
{
	(void)s;
	(void)p;
	(void)now;
	(void)q;
	(void)k;
	return qw_pass();
}

static inline void qw_dt_idle(struct qw_dt *s, const struct qw_dt_params *p,
			      qw_u64 now)
{
	(void)s;
	(void)p;
	(void)now;
}

/* Parameters and variables as qw.h says. */
#define QW_DT_PARAMS(P) P("alpha", alpha_q16, 16, 1u << 10, 64u << 16)
#define QW_DT_PROBES(V) V(s->threshold_bytes, 1)

#ifdef __cplusplus
}
#endif

#endif /* QW_DT_H */
