/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fair queueing with a queue for every flow, as Linux's sch_fq on a router and
 * without its pacing (which is the sender's affair here): deficit round robin, new
 * flows first and with a credit of ten packets, tail drop by the packets of a flow
 * and of all, and a queue that goes before all others for who finds nobody waiting.
 *
 * On the sender's own host Linux has a queue for each socket. What passes through
 * has none: there the flow's hash, cut by `orphan_mask`, chooses one of 1024. Linux
 * forgets a flow after three seconds, if it comes by; here none is forgotten.
 * `random` is not used.
 */
#ifndef QW_FQ_H
#define QW_FQ_H

#include "drr.h"
#include "qw.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Queues there is room for, a power of two: one half for flows, of the other half
 * one for those who find nobody waiting. */
#ifndef QW_FQ_QUEUES
#define QW_FQ_QUEUES 131072u
#endif
#define QW_FQ_FLOWS (QW_FQ_QUEUES / 2)
#define QW_FQ_MASK (QW_FQ_FLOWS - 1)
#define QW_FQ_INTERNAL QW_FQ_FLOWS
/* So many may wait there. */
#define QW_FQ_INTERNAL_MOST 8u

/* The clock by which flows age, Linux's jiffies at 250 a second, and how long one
 * must have been away to have its credit again. */
#define QW_FQ_JIFFY_NS (4 * QW_NS_PER_MS)
#define QW_FQ_REFILL_JIFFIES 10u

struct qw_fq_params {
	qw_u32 limit_packets; /* in all flows' queues, 10000 */
	qw_u32 flow_limit_packets; /* in one queue, 100 */
	qw_u32 quantum_bytes; /* a flow's share of a round, 3028; > 0 */
	qw_u32 initial_quantum_bytes; /* of a flow's first round, 15140; > 0 */
	qw_u32 orphan_mask; /* bits of the hash that tell flows apart, 1023 */
};

struct qw_fq {
	struct qw_drr drr;
	qw_u32 internal; /* packets in QW_FQ_INTERNAL */
	qw_u64 passed; /* packets that went there, for display */
	struct qw_drr_queue queue[QW_FQ_FLOWS];
	/* When the flow was last found empty, in jiffies and odd; 0: never used. */
	qw_u64 left[QW_FQ_FLOWS];
};

static inline void qw_fq_init(struct qw_fq *s, const struct qw_fq_params *p,
			      qw_u64 now)
{
	(void)p;
	(void)now;
	s->drr.fresh.head = 0;
	s->drr.fresh.tail = 0;
	s->drr.old.head = 0;
	s->drr.old.tail = 0;
	s->drr.active = 0;
	s->drr.all_age = 1;
	s->internal = 0;
	s->passed = 0;
}

/* Packets that count to a limit: not those in QW_FQ_INTERNAL (band_pkt_count). */
static inline qw_u32 qw_fq_counted(const struct qw_fq *s,
				   const struct qw_queue *q)
{
	return q->packets - s->internal;
}

/* The credit of a flow that was away. */
static inline qw_s32 qw_fq_credit(const struct qw_fq *s,
				  const struct qw_fq_params *p, qw_u64 now,
				  qw_u32 index)
{
	qw_s32 credit = s->queue[index & QW_FQ_MASK].deficit;
	qw_u64 left = s->left[index & QW_FQ_MASK];

	if (!left)
		return (qw_s32)p->initial_quantum_bytes;
	if (credit < (qw_s32)p->quantum_bytes &&
	    qw_div(now, QW_FQ_JIFFY_NS) > left + QW_FQ_REFILL_JIFFIES)
		return (qw_s32)p->quantum_bytes;
	return credit;
}

static inline struct qw_verdict
qw_fq_enqueue(struct qw_fq *s, const struct qw_fq_params *p, qw_u64 now,
	      const struct qw_queue *q, const struct qw_packet *k,
	      qw_u32 random, qw_u32 *queue)
{
	qw_u32 index = k->flow & p->orphan_mask & QW_FQ_MASK;
	const struct qw_drr_queue *f = &s->queue[index];

	(void)random;
	*queue = index;
	if (qw_fq_counted(s, q) >= p->limit_packets ||
	    (q->limit_packets && qw_fq_counted(s, q) >= q->limit_packets) ||
	    qw_over_bytes(q, k))
		return qw_drop(QW_REASON_LIMIT);
	if (!s->drr.active && s->internal < QW_FQ_INTERNAL_MOST) {
		*queue = QW_FQ_INTERNAL;
		s->internal++;
		s->passed++;
		return qw_pass();
	}
	if (f->packets >= p->flow_limit_packets)
		return qw_drop(QW_REASON_THRESHOLD);
	qw_drr_join(&s->drr, s->queue, QW_FQ_MASK, index, k->bytes,
		    f->list == QW_DRR_UNLISTED ?
			    qw_fq_credit(s, p, now, index) :
			    0);
	return qw_pass();
}

static inline qw_u32 qw_fq_next(struct qw_fq *s, const struct qw_fq_params *p,
				qw_u64 now, const struct qw_queue *q)
{
	struct qw_drr_search t;
	qw_u32 i;

	(void)q;
	if (s->internal)
		return QW_FQ_INTERNAL;
	qw_drr_begin(&t);
	QW_FOR (i, QW_DRR_TURNS(QW_FQ_MASK)) {
		qw_u32 turn = qw_drr_turn(&s->drr, s->queue, QW_FQ_MASK,
					  p->quantum_bytes, &t);

		if (turn == QW_DRR_SERVE)
			return t.index;
		if (turn == QW_DRR_DONE)
			break;
		/* Until it is away for good this is written more than once. */
		if (turn == QW_DRR_EMPTY)
			s->left[t.index & QW_FQ_MASK] =
				qw_div(now, QW_FQ_JIFFY_NS) | 1;
	}
	return QW_NONE;
}

/* Only a limit that has shrunk leaves too much: what would be sent next goes, as
 * in Linux. */
static inline qw_u32 qw_fq_overflow(struct qw_fq *s,
				    const struct qw_fq_params *p, qw_u64 now,
				    const struct qw_queue *q)
{
	return (q->limit_packets && qw_fq_counted(s, q) > q->limit_packets) ||
			       qw_overfull_bytes(q) ?
		       qw_fq_next(s, p, now, q) :
		       QW_NONE;
}

static inline void qw_fq_evicted(struct qw_fq *s, const struct qw_fq_params *p,
				 qw_u64 now, const struct qw_queue *q,
				 const struct qw_packet *k, qw_u32 queue)
{
	struct qw_drr_queue *f = &s->queue[queue & QW_FQ_MASK];

	(void)p;
	(void)now;
	(void)q;
	if (queue == QW_FQ_INTERNAL) {
		s->internal--;
		return;
	}
	qw_drr_left(&s->drr, f, k->bytes);
	f->deficit -= (qw_s32)k->bytes;
}

static inline struct qw_verdict
qw_fq_dequeue(struct qw_fq *s, const struct qw_fq_params *p, qw_u64 now,
	      const struct qw_queue *q, const struct qw_packet *k, qw_u32 queue)
{
	qw_fq_evicted(s, p, now, q, k, queue);
	return qw_pass();
}

static inline void qw_fq_idle(struct qw_fq *s, const struct qw_fq_params *p,
			      qw_u64 now)
{
	(void)s;
	(void)p;
	(void)now;
	/* Empty queues leave the round when their turn comes. */
}

/* Parameters and variables as qw.h says. */
#define QW_FQ_PARAMS(P)                                               \
	P("limit", limit_packets, 0, 1, 1u << 30)                     \
	P("flow_limit", flow_limit_packets, 0, 1, 1u << 30)           \
	P("quantum", quantum_bytes, 0, 256, 1u << 20)                 \
	P("initial_quantum", initial_quantum_bytes, 0, 256, 1u << 24) \
	P("orphan_mask", orphan_mask, 0, 0, QW_FQ_MASK)
#define QW_FQ_PROBES(V)     \
	V(s->drr.active, 1) \
	V(s->passed, 1)

#ifdef __cplusplus
}
#endif

#endif /* QW_FQ_H */
