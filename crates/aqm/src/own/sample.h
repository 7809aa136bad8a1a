/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A discipline of your own: what has waited longer than `target` is marked, or
 * dropped, as it leaves. Change it, and name the file where a discipline is
 * named: queuewright compare ... --aqm codel,./@x@.h,./@x@.h:target=5ms
 *
 * Integers only: time is u64 nanoseconds, sizes are bytes. All that it
 * remembers is in its state; it has no library, no clock and no dice but what
 * it is given.
 */
#ifndef QW_@X@_H
#define QW_@X@_H

#include "qw.h"

/* What may be set. Nothing here writes to it. */
struct qw_@x@_params {
	qw_u64 target_ns; /* longest wait that passes */
	qw_u32 ecn; /* mark instead of drop where the sender allows */
};

/* What it remembers. */
struct qw_@x@ {
	qw_u64 sojourn_ns; /* of the packet that left last */
};

static inline void qw_@x@_init(struct qw_@x@ *s, const struct qw_@x@_params *p,
			       qw_u64 now)
{
	(void)p;
	(void)now;
	s->sojourn_ns = 0;
}

/* A packet `k` arrives. `q` is the queue without it, `random` a fresh uniform
 * 32-bit number. */
static inline struct qw_verdict
qw_@x@_enqueue(struct qw_@x@ *s, const struct qw_@x@_params *p, qw_u64 now,
	       const struct qw_queue *q, const struct qw_packet *k, qw_u32 random)
{
	(void)s;
	(void)p;
	(void)now;
	(void)random;
	return qw_over_limit(q, k) ? qw_drop(QW_REASON_LIMIT) : qw_pass();
}

/* Packet `k` has left the head of the queue to be sent, `q` is what is left.
 * After a drop the next head is offered at the same time. */
static inline struct qw_verdict
qw_@x@_dequeue(struct qw_@x@ *s, const struct qw_@x@_params *p, qw_u64 now,
	       const struct qw_queue *q, const struct qw_packet *k)
{
	s->sojourn_ns = now - k->enqueue_ns;
	/* The last one passes, or the link would go without. */
	if (s->sojourn_ns <= p->target_ns || q->packets == 0)
		return qw_pass();
	return qw_mark_or_drop(k, p->ecn != 0, QW_REASON_SOJOURN);
}

/* The link is free and nothing waits. */
static inline void qw_@x@_idle(struct qw_@x@ *s, const struct qw_@x@_params *p,
			       qw_u64 now)
{
	(void)p;
	(void)now;
	s->sojourn_ns = 0;
}

#define QW_@X@_ABOUT "mark or drop at the head what has waited longer than a target"
/* P(name, field, shift, least, most) */
#define QW_@X@_PARAMS(P)                               \
	P("target", target_ns, 0, 0, 10 * QW_NS_PER_SEC) \
	P("ecn", ecn, 0, 0, 1)
/* H(name, kind, default, about) */
#define QW_@X@_HELP(H)                                                   \
	H("target", QW_TIME, 20 * QW_NS_PER_MS, "longest wait that passes") \
	H("ecn", QW_FLAG, 0, "mark instead of drop where the sender allows")
/* V(integer made of s and p, what it is to be divided by), N(name, unit): for
 * time series */
#define QW_@X@_PROBES(V) V(s->sojourn_ns, QW_NS_PER_MS)
#define QW_@X@_PROBE_NAMES(N) N("sojourn", "ms")

#endif /* QW_@X@_H */
