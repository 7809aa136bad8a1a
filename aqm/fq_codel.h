/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * FQ-CoDel (RFC 8290): flows hashed to queues, a deficit round robin over
 * these that serves new ones first, and CoDel in each.
 *
 * As in Linux, CoDel marks by default. What does not fit costs the queue with
 * the most bytes half of them, at most `drop_batch` packets, from its head.
 * CoDel's count of that queue is raised by as many, its square root is not.
 * Linux also bounds the memory that packets take with their overhead; here
 * `memory_limit` bounds their bytes. `random` is not used.
 */
#ifndef QW_FQ_CODEL_H
#define QW_FQ_CODEL_H

#include "codel.h"
#include "drr.h"
#include "qw.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Queues there is room for, a power of two; Linux allows so many. */
#ifndef QW_FQ_CODEL_QUEUES
#define QW_FQ_CODEL_QUEUES 65536u
#endif

struct qw_fq_codel_params {
	struct qw_codel_params codel; /* of each queue; ecn on */
	qw_u64 memory_limit_bytes; /* 32 MB */
	qw_u32 limit_packets; /* in all queues, 10240 */
	qw_u32 flows; /* queues in use, 1024; up to QW_FQ_CODEL_QUEUES */
	qw_u32 quantum_bytes; /* a queue's share of a round, 1514; > 0 */
	qw_u32 drop_batch; /* most packets that one overflow costs, 64; > 0 */
};

struct qw_fq_codel {
	struct qw_drr drr;
	qw_u64 evict_bytes; /* still to go in the overflow under way */
	qw_u32 evict_left; /* packets that it may still cost */
	qw_u32 evict_queue;
	qw_u32 new_flows; /* times a queue was new, for display */
	struct qw_drr_queue queue[QW_FQ_CODEL_QUEUES];
	struct qw_codel codel[QW_FQ_CODEL_QUEUES];
};

#define QW_FQ_CODEL_MASK (QW_FQ_CODEL_QUEUES - 1)

static inline void qw_fq_codel_init(struct qw_fq_codel *s,
				    const struct qw_fq_codel_params *p,
				    qw_u64 now)
{
	(void)p;
	(void)now;
	qw_drr_init(&s->drr, 0);
	s->evict_bytes = 0;
	s->evict_left = 0;
	s->evict_queue = 0;
	s->new_flows = 0;
	/* All zero is also how qw_codel_init() leaves a CoDel. */
}

static inline struct qw_verdict
qw_fq_codel_enqueue(struct qw_fq_codel *s, const struct qw_fq_codel_params *p,
		    qw_u64 now, const struct qw_queue *q,
		    const struct qw_packet *k, qw_u32 random, qw_u32 *queue)
{
	qw_u32 index = qw_drr_queue_of(k->flow, p->flows);

	(void)now;
	(void)q;
	(void)random;
	*queue = index;
	s->new_flows += s->queue[index & QW_FQ_CODEL_MASK].list ==
			QW_DRR_UNLISTED;
	qw_drr_join(&s->drr, s->queue, QW_FQ_CODEL_MASK, index, k->bytes,
		    (qw_s32)p->quantum_bytes);
	return qw_pass();
}

/* Has the buffer, or this discipline's part of it, more than it can hold? */
static inline int qw_fq_codel_is_over(const struct qw_fq_codel_params *p,
				      const struct qw_queue *q)
{
	return q->packets > p->limit_packets ||
	       q->bytes > p->memory_limit_bytes || qw_overfull(q);
}

/* RFC 8290 section 4.1: half of the fattest queue goes, at most a batch. Linux
 * does one batch a packet; a buffer that is over after it is served again. */
static inline qw_u32 qw_fq_codel_overflow(struct qw_fq_codel *s,
					  const struct qw_fq_codel_params *p,
					  qw_u64 now, const struct qw_queue *q)
{
	qw_u64 most = 0;
	qw_u32 i;

	(void)now;
	if (s->evict_left && s->evict_bytes &&
	    s->queue[s->evict_queue & QW_FQ_CODEL_MASK].packets)
		return s->evict_queue;
	s->evict_left = 0;
	if (!qw_fq_codel_is_over(p, q))
		return QW_NONE;
	QW_FOR (i, p->flows) {
		qw_u64 bytes = s->queue[i & QW_FQ_CODEL_MASK].bytes;

		if (bytes > most) {
			most = bytes;
			s->evict_queue = i;
		}
	}
	if (!most)
		return QW_NONE;
	s->evict_bytes = most / 2;
	s->evict_left = p->drop_batch;
	return s->evict_queue;
}

static inline void qw_fq_codel_evicted(struct qw_fq_codel *s,
				       const struct qw_fq_codel_params *p,
				       qw_u64 now, const struct qw_queue *q,
				       const struct qw_packet *k, qw_u32 queue)
{
	struct qw_codel *c = &s->codel[queue & QW_FQ_CODEL_MASK];

	(void)p;
	(void)now;
	(void)q;
	qw_drr_left(&s->drr, &s->queue[queue & QW_FQ_CODEL_MASK], k->bytes);
	/* As in Linux, the root stays behind: the next Newton step starts from
	 * there, and may end anywhere. */
	c->count++;
	s->evict_left--;
	s->evict_bytes -= k->bytes < s->evict_bytes ? k->bytes : s->evict_bytes;
}

static inline qw_u32 qw_fq_codel_next(struct qw_fq_codel *s,
				      const struct qw_fq_codel_params *p,
				      qw_u64 now, const struct qw_queue *q)
{
	struct qw_drr_search t;
	qw_u32 i;

	(void)q;
	qw_drr_begin(&t);
	QW_FOR (i, QW_DRR_TURNS(QW_FQ_CODEL_MASK)) {
		qw_u32 turn = qw_drr_turn(&s->drr, s->queue, QW_FQ_CODEL_MASK,
					  p->quantum_bytes, &t);

		if (turn == QW_DRR_SERVE)
			return t.index;
		if (turn == QW_DRR_DONE)
			break;
		if (turn == QW_DRR_EMPTY)
			qw_codel_idle(&s->codel[t.index & QW_FQ_CODEL_MASK],
				      &p->codel, now);
	}
	return QW_NONE;
}

static inline struct qw_verdict
qw_fq_codel_dequeue(struct qw_fq_codel *s, const struct qw_fq_codel_params *p,
		    qw_u64 now, const struct qw_queue *q,
		    const struct qw_packet *k, qw_u32 queue)
{
	struct qw_drr_queue *f = &s->queue[queue & QW_FQ_CODEL_MASK];
	struct qw_verdict v;

	qw_drr_left(&s->drr, f, k->bytes);
	/* As in Linux, "no more than an MTU waits" is asked of the whole
	 * buffer, not of the queue. */
	v = qw_codel_dequeue(&s->codel[queue & QW_FQ_CODEL_MASK], &p->codel,
			     now, q, k);
	if (v.action != QW_DROP)
		f->deficit -= (qw_s32)k->bytes;
	return v;
}

static inline void qw_fq_codel_idle(struct qw_fq_codel *s,
				    const struct qw_fq_codel_params *p,
				    qw_u64 now)
{
	(void)s;
	(void)p;
	(void)now;
	/* Empty queues leave their lists when their turn comes. */
}

/* Parameters and variables as qw.h says. */
#define QW_FQ_CODEL_PARAMS(P)                                              \
	P("target", codel.target_ns, 0, 0, 10 * QW_NS_PER_SEC)             \
	P("interval", codel.interval_ns, 0, 1, 60 * QW_NS_PER_SEC)         \
	P("ecn", codel.ecn, 0, 0, 1)                                       \
	P("ce_threshold", codel.ce_threshold_ns, 0, 0, 10 * QW_NS_PER_SEC) \
	P("ce_threshold_for", codel.ce_ect1, 0, 0, 1)                      \
	P("mtu", codel.mtu_bytes, 0, 0, 65535)                             \
	P("limit", limit_packets, 0, 1, 1u << 30)                          \
	P("memory_limit", memory_limit_bytes, 0, 1500, 1ULL << 40)         \
	P("flows", flows, 0, 1, QW_FQ_CODEL_QUEUES)                        \
	P("quantum", quantum_bytes, 0, 256, 1u << 20)                      \
	P("drop_batch", drop_batch, 0, 1, 1u << 16)
#define QW_FQ_CODEL_PROBES(V) \
	V(s->drr.active, 1)   \
	V(s->new_flows, 1)

#ifdef __cplusplus
}
#endif

#endif /* QW_FQ_CODEL_H */
