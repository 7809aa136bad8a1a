/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fair queueing with a queue for every flow, as Linux's sch_fq without its
 * pacing (which is the sender's affair here): deficit round robin, new flows
 * first and with a credit of ten packets, tail drop by the packets of a flow
 * and of all.
 *
 * A flow is found by its whole 32-bit hash in a table of QW_FQ_QUEUES places,
 * of which QW_FQ_PLACES next to one another are looked at. A flow whose place
 * is taken gets the next one that is free (empty and in no round), and one that
 * finds none shares the first. Linux finds a flow by its socket and has no
 * bound but memory. `random` is not used.
 */
#ifndef QW_FQ_H
#define QW_FQ_H

#include "drr.h"
#include "qw.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Queues there is room for, a power of two. */
#ifndef QW_FQ_QUEUES
#define QW_FQ_QUEUES 131072u
#endif
#define QW_FQ_MASK (QW_FQ_QUEUES - 1)
#define QW_FQ_PLACES 8u

/* A flow that was away so long has its credit again (sch_fq's refill delay). */
#define QW_FQ_REFILL_NS (40 * QW_NS_PER_MS)

struct qw_fq_params {
	qw_u32 limit_packets; /* in all queues, 10000 */
	qw_u32 flow_limit_packets; /* in one queue, 100 */
	qw_u32 quantum_bytes; /* a flow's share of a round, 3028; > 0 */
	qw_u32 initial_quantum_bytes; /* of a flow's first round, 15140; > 0 */
};

struct qw_fq_place {
	qw_u64 left_ns; /* when its last packet left; 0: never used */
	qw_u32 flow; /* hash of the flow that has it */
	qw_s32 credit; /* that it left the round with */
};

struct qw_fq {
	struct qw_drr drr;
	qw_u64 shared; /* packets of flows that found no place, for display */
	struct qw_drr_queue queue[QW_FQ_QUEUES];
	struct qw_fq_place place[QW_FQ_QUEUES];
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
	s->shared = 0;
}

/* The flow's place, or one that it may have, or, if all are taken, the first. */
static inline qw_u32 qw_fq_find(struct qw_fq *s, qw_u32 flow)
{
	qw_u32 i, free = QW_NONE;

	QW_FOR (i, QW_FQ_PLACES) {
		qw_u32 at = (flow + i) & QW_FQ_MASK;
		struct qw_fq_place *place = &s->place[at];

		if (place->left_ns && place->flow == flow)
			return at;
		if (free == QW_NONE && s->queue[at].list == QW_DRR_UNLISTED)
			free = at;
	}
	if (free == QW_NONE) {
		s->shared++;
		return flow & QW_FQ_MASK;
	}
	return free;
}

static inline struct qw_verdict
qw_fq_enqueue(struct qw_fq *s, const struct qw_fq_params *p, qw_u64 now,
	      const struct qw_queue *q, const struct qw_packet *k,
	      qw_u32 random, qw_u32 *queue)
{
	qw_u32 index = qw_fq_find(s, k->flow);
	struct qw_fq_place *place = &s->place[index & QW_FQ_MASK];
	qw_s32 credit = place->credit;

	(void)random;
	*queue = index;
	if (qw_over_limit(q, k) || q->packets >= p->limit_packets)
		return qw_drop(QW_REASON_LIMIT);
	if (s->queue[index & QW_FQ_MASK].packets >= p->flow_limit_packets)
		return qw_drop(QW_REASON_THRESHOLD);
	if (s->queue[index & QW_FQ_MASK].list == QW_DRR_UNLISTED) {
		if (!place->left_ns || place->flow != k->flow)
			credit = (qw_s32)p->initial_quantum_bytes;
		else if (now > place->left_ns + QW_FQ_REFILL_NS &&
			 credit < (qw_s32)p->quantum_bytes)
			credit = (qw_s32)p->quantum_bytes;
		place->flow = k->flow;
		place->left_ns = now ? now : 1;
	}
	qw_drr_join(&s->drr, s->queue, QW_FQ_MASK, index, k->bytes, credit);
	return qw_pass();
}

static inline qw_u32 qw_fq_next(struct qw_fq *s, const struct qw_fq_params *p,
				qw_u64 now, const struct qw_queue *q)
{
	qw_u32 i, index = 0;

	(void)now;
	(void)q;
	QW_FOR (i, QW_DRR_TURNS(QW_FQ_MASK)) {
		qw_u32 turn = qw_drr_turn(&s->drr, s->queue, QW_FQ_MASK,
					  p->quantum_bytes, &index);

		if (turn == QW_DRR_SERVE)
			return index;
		if (turn == QW_DRR_DONE)
			break;
		/* It goes with what credit it has. */
		s->place[index & QW_FQ_MASK].credit =
			s->queue[index & QW_FQ_MASK].deficit;
	}
	return QW_NONE;
}

/* Only a limit that has shrunk leaves too much: what would be sent next goes, as
 * in Linux. */
static inline qw_u32 qw_fq_overflow(struct qw_fq *s,
				    const struct qw_fq_params *p, qw_u64 now,
				    const struct qw_queue *q)
{
	return qw_overfull(q) ? qw_fq_next(s, p, now, q) : QW_NONE;
}

static inline void qw_fq_evicted(struct qw_fq *s, const struct qw_fq_params *p,
				 qw_u64 now, const struct qw_queue *q,
				 const struct qw_packet *k, qw_u32 queue)
{
	struct qw_drr_queue *f = &s->queue[queue & QW_FQ_MASK];

	(void)p;
	(void)q;
	qw_drr_left(&s->drr, f, k->bytes);
	f->deficit -= (qw_s32)k->bytes;
	s->place[queue & QW_FQ_MASK].left_ns = now ? now : 1;
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
#define QW_FQ_PARAMS(P)                                     \
	P("limit", limit_packets, 0, 1, 1u << 30)           \
	P("flow_limit", flow_limit_packets, 0, 1, 1u << 30) \
	P("quantum", quantum_bytes, 0, 256, 1u << 20)       \
	P("initial_quantum", initial_quantum_bytes, 0, 256, 1u << 24)
#define QW_FQ_PROBES(V)     \
	V(s->drr.active, 1) \
	V(s->shared, 1)

#ifdef __cplusplus
}
#endif

#endif /* QW_FQ_H */
