/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A static threshold: tail drop at a length of the queue that is set by hand,
 * below the limit of the buffer. `random` is not used.
 */
#ifndef QW_STATIC_H
#define QW_STATIC_H

#include "qw.h"

#ifdef __cplusplus
extern "C" {
#endif

struct qw_static_params {
	/* Bytes that may wait, one packet in any case. 0, the default: half of
	 * the buffer. */
	qw_u64 threshold_bytes;
};

struct qw_static {
	qw_u64 threshold_bytes; /* in force at the last arrival, for display */
};

static inline void qw_static_init(struct qw_static *s,
				  const struct qw_static_params *p, qw_u64 now)
{
	(void)now;
	s->threshold_bytes = p->threshold_bytes;
}

/* The threshold in force; 0: none, as neither it nor a limit of the buffer is
 * set. Where both limits of the buffer are, the tighter one counts. */
static inline qw_u64 qw_static_threshold(const struct qw_static_params *p,
					 const struct qw_queue *q)
{
	if (p->threshold_bytes)
		return p->threshold_bytes;
	return qw_buffer_part(q) / 2;
}

static inline struct qw_verdict
qw_static_enqueue(struct qw_static *s, const struct qw_static_params *p,
		  qw_u64 now, const struct qw_queue *q,
		  const struct qw_packet *k, qw_u32 random)
{
	(void)now;
	(void)random;
	s->threshold_bytes = qw_static_threshold(p, q);
	if (qw_over_limit(q, k))
		return qw_drop(QW_REASON_LIMIT);
	/* An empty queue takes any packet, or one larger than the threshold would
	 * never pass. */
	if (s->threshold_bytes && q->bytes &&
	    q->bytes + k->bytes > s->threshold_bytes)
		return qw_drop(QW_REASON_THRESHOLD);
	return qw_pass();
}

static inline struct qw_verdict
qw_static_dequeue(struct qw_static *s, const struct qw_static_params *p,
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

static inline void qw_static_idle(struct qw_static *s,
				  const struct qw_static_params *p, qw_u64 now)
{
	(void)s;
	(void)p;
	(void)now;
}

/* Parameters and variables as qw.h says. */
#define QW_STATIC_PARAMS(P) P("threshold", threshold_bytes, 0, 0, 1ULL << 40)
#define QW_STATIC_PROBES(V) V(s->threshold_bytes, 1)

#ifdef __cplusplus
}
#endif

#endif /* QW_STATIC_H */
