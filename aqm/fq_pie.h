/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * FQ-PIE, as Linux's sch_fq_pie has it: flows hashed to queues, and a deficit
 * round robin over these that serves new ones first. Each queue has a PIE of
 * its own, which judges arrivals by what waits in their queue and by how long
 * that has waited.
 *
 * All PIEs tick at the same times. A queue's ticks are made when a packet comes to
 * it or leaves it: nothing that they read changes in between.
 *
 * It departs from Linux as pie.h does, and in that it has no `memory_limit`: there
 * that drops nothing, but packets that come above it are counted.
 */
#ifndef QW_FQ_PIE_H
#define QW_FQ_PIE_H

#include "drr.h"
#include "pie.h"
#include "qw.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Queues there is room for, a power of two; Linux allows so many. */
#ifndef QW_FQ_PIE_QUEUES
#define QW_FQ_PIE_QUEUES 65536u
#endif
#define QW_FQ_PIE_MASK (QW_FQ_PIE_QUEUES - 1)

struct qw_fq_pie_params {
	struct qw_pie_params pie; /* of each queue */
	qw_u32 limit_packets; /* in all queues, 10240 */
	qw_u32 flows; /* queues in use, 1024; up to QW_FQ_PIE_QUEUES */
	qw_u32 quantum_bytes; /* a queue's share of a round, 1514; > 0 */
};

struct qw_fq_pie {
	struct qw_drr drr;
	qw_u64 begin_ns; /* from when on a PIE that is new ticks */
	qw_u32 new_flows; /* times a queue was new, for display */
	/* Of the queue that the last packet came to, for display. */
	qw_u64 prob_q56;
	qw_u64 qdelay; /* ticks */
	struct qw_drr_queue queue[QW_FQ_PIE_QUEUES];
	struct qw_pie pie[QW_FQ_PIE_QUEUES];
};

static inline void qw_fq_pie_init(struct qw_fq_pie *s,
				  const struct qw_fq_pie_params *p, qw_u64 now)
{
	(void)p;
	qw_drr_init(&s->drr, 0);
	s->begin_ns = now;
	s->new_flows = 0;
	s->prob_q56 = 0;
	s->qdelay = 0;
}

/* The PIE of a queue that a packet comes to. Before the first one its ticks have
 * found nothing. */
static inline struct qw_pie *qw_fq_pie_of(struct qw_fq_pie *s,
					  const struct qw_fq_pie_params *p,
					  qw_u32 queue)
{
	struct qw_pie *pie = &s->pie[queue & QW_FQ_PIE_MASK];

	/* All zero is none yet: one that is made has a tick before it. */
	if (!pie->next_tick_ns)
		qw_pie_init(pie, &p->pie, s->begin_ns);
	return pie;
}

/* A tick of all queues now, before it is due: of a host that has a timer of its
 * own, as Linux, and says when that came. */
static inline void qw_fq_pie_tick(struct qw_fq_pie *s,
				  const struct qw_fq_pie_params *p, qw_u64 now)
{
	qw_u32 i;

	QW_FOR (i, p->flows) {
		struct qw_pie *pie = &s->pie[i & QW_FQ_PIE_MASK];

		if (pie->next_tick_ns)
			qw_pie_tick(pie, &p->pie, now,
				    s->queue[i & QW_FQ_PIE_MASK].bytes);
	}
	s->begin_ns = now;
}

static inline struct qw_verdict
qw_fq_pie_enqueue(struct qw_fq_pie *s, const struct qw_fq_pie_params *p,
		  qw_u64 now, const struct qw_queue *q,
		  const struct qw_packet *k, qw_u32 random, qw_u32 *queue)
{
	qw_u32 index = qw_drr_queue_of(k->flow, p->flows);
	struct qw_drr_queue *f = &s->queue[index & QW_FQ_PIE_MASK];
	struct qw_pie *pie = qw_fq_pie_of(s, p, index);
	struct qw_verdict v;

	*queue = index;
	qw_pie_catch_up(pie, &p->pie, now, f->bytes);
	v = qw_pie_arrival(pie, &p->pie, f->bytes, k, random,
			   q->packets >= p->limit_packets ||
				   qw_over_limit(q, k));
	s->prob_q56 = pie->prob_q56;
	s->qdelay = pie->qdelay;
	if (v.action == QW_DROP)
		return v;
	s->new_flows += f->list == QW_DRR_UNLISTED;
	qw_drr_join(&s->drr, s->queue, QW_FQ_PIE_MASK, index, k->bytes,
		    (qw_s32)p->quantum_bytes);
	return v;
}

static inline qw_u32 qw_fq_pie_next(struct qw_fq_pie *s,
				    const struct qw_fq_pie_params *p,
				    qw_u64 now, const struct qw_queue *q)
{
	struct qw_drr_search t;
	qw_u32 i;

	(void)now;
	(void)q;
	qw_drr_begin(&t);
	QW_FOR (i, QW_DRR_TURNS(QW_FQ_PIE_MASK)) {
		qw_u32 turn = qw_drr_turn(&s->drr, s->queue, QW_FQ_PIE_MASK,
					  p->quantum_bytes, &t);

		if (turn == QW_DRR_SERVE)
			return t.index;
		if (turn == QW_DRR_DONE)
			break;
	}
	return QW_NONE;
}

/* Only a limit that has shrunk leaves too much: what would be sent next goes, as
 * in Linux. */
static inline qw_u32 qw_fq_pie_overflow(struct qw_fq_pie *s,
					const struct qw_fq_pie_params *p,
					qw_u64 now, const struct qw_queue *q)
{
	return qw_overfull(q) ? qw_fq_pie_next(s, p, now, q) : QW_NONE;
}

QW_SHARED void qw_fq_pie_evicted(struct qw_fq_pie *s,
				 const struct qw_fq_pie_params *p, qw_u64 now,
				 const struct qw_queue *q,
				 const struct qw_packet *k, qw_u32 queue)
{
	struct qw_drr_queue *f = &s->queue[queue & QW_FQ_PIE_MASK];

	(void)q;
	qw_drr_left(&s->drr, f, k->bytes);
	f->deficit -= (qw_s32)k->bytes;
	/* Which has one: a packet came to it. */
	qw_pie_departure(&s->pie[queue & QW_FQ_PIE_MASK], &p->pie, now,
			 f->bytes, k);
}

static inline struct qw_verdict
qw_fq_pie_dequeue(struct qw_fq_pie *s, const struct qw_fq_pie_params *p,
		  qw_u64 now, const struct qw_queue *q,
		  const struct qw_packet *k, qw_u32 queue)
{
	qw_fq_pie_evicted(s, p, now, q, k, queue);
	return qw_pass();
}

static inline void qw_fq_pie_idle(struct qw_fq_pie *s,
				  const struct qw_fq_pie_params *p, qw_u64 now)
{
	(void)s;
	(void)p;
	(void)now;
	/* Empty queues leave their lists when their turn comes, and make their
	 * ticks when a packet does. */
}

/* Parameters and variables as qw.h says. */
#define QW_FQ_PIE_PARAMS(P)                                         \
	P("target", pie.target_ns, 0, 0, 10 * QW_NS_PER_SEC)        \
	P("tupdate", pie.tupdate_ns, 0, 1, QW_NS_PER_SEC)           \
	P("alpha", pie.alpha_q32, 0, 0, 2ULL << 32)                 \
	P("beta", pie.beta_q32, 0, 0, 2ULL << 32)                   \
	P("max_burst", pie.max_burst_ns, 0, 0, 10 * QW_NS_PER_SEC)  \
	P("ecn", pie.ecn, 0, 0, 1)                                  \
	P("ecn_threshold", pie.ecn_threshold_q32, 0, 0, 1ULL << 32) \
	P("bytemode", pie.bytemode, 0, 0, 1)                        \
	P("estimator", pie.rate_estimator, 0, 0, 1)                 \
	P("mtu", pie.mtu_bytes, 0, 0, 65535)                        \
	P("limit", limit_packets, 0, 1, 1u << 30)                   \
	P("flows", flows, 0, 1, QW_FQ_PIE_QUEUES)                   \
	P("quantum", quantum_bytes, 0, 256, 1u << 20)
#define QW_FQ_PIE_PROBES(V)            \
	V(s->drr.active, 1)            \
	V(s->new_flows, 1)             \
	V(s->prob_q56, QW_PIE_ONE_Q56) \
	V(s->qdelay, QW_NS_PER_MS / QW_PIE_TICK_NS)

#ifdef __cplusplus
}
#endif

#endif /* QW_FQ_PIE_H */
