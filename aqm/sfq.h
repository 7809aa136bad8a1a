/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stochastic Fairness Queueing (McKenney, INFOCOM 1990) as Linux's sch_sfq has
 * it, without its optional RED. Flows are hashed to buckets, and a turn is one
 * packet's worth. What does not fit costs the longest queue its last packet, of
 * several the one that came to its length last.
 *
 * Parameters beyond what Linux has room for are cut to that, as there.
 *
 * `perturb` changes the hash every so often. Linux then moves the waiting
 * packets to their flow's new bucket; here they stay, so that a flow may be
 * reordered once, as in Linux before 2.6.39. `random` is used by `perturb`
 * alone.
 */
#ifndef QW_SFQ_H
#define QW_SFQ_H

#include "drr.h"
#include "qw.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Buckets there is room for, a power of two; Linux allows so many. */
#ifndef QW_SFQ_QUEUES
#define QW_SFQ_QUEUES 65536u
#endif
#define QW_SFQ_MASK (QW_SFQ_QUEUES - 1)
/* Linux's bounds: packets in a queue, one less than a power of two, and queues
 * with packets (SFQ_MAX_DEPTH, SFQ_MAX_FLOWS). */
#define QW_SFQ_DEPTH 127u
#define QW_SFQ_FLOWS 65408u

struct qw_sfq_params {
	qw_u64 perturb_ns; /* time between changes of the hash; 0: never */
	qw_u32 limit_packets; /* in all queues, 127; > 1 */
	qw_u32 depth_packets; /* in one queue, 127; at most QW_SFQ_DEPTH count */
	qw_u32 flows; /* buckets with packets at most, 128 */
	qw_u32 divisor; /* buckets, 1024; up to QW_SFQ_QUEUES */
	qw_u32 quantum_bytes; /* a queue's share of a round, 1514; > 0 */
	qw_u32 headdrop; /* a full queue loses its first packet, off */
};

/* A queue's neighbours among those as long as itself: index + 1, 0: none. */
struct qw_sfq_peer {
	qw_u32 before, after;
};

struct qw_sfq {
	struct qw_drr drr; /* old queues only: SFQ knows no new ones */
	qw_u64 perturb_at_ns;
	qw_u32 salt;
	qw_u32 full; /* queue + 1 that has one packet too many, with headdrop */
	qw_u32 limit, depth, flows; /* in force */
	qw_u32 longest; /* packets in the longest queue */
	/* By length: queue + 1 that came to it last, the first of its peers. */
	qw_u32 of_length[QW_SFQ_DEPTH + 1];
	struct qw_drr_queue queue[QW_SFQ_QUEUES];
	struct qw_sfq_peer peer[QW_SFQ_QUEUES];
};

static inline qw_u32 qw_sfq_least(qw_u32 a, qw_u32 b)
{
	return a < b ? a : b;
}

static inline void qw_sfq_init(struct qw_sfq *s, const struct qw_sfq_params *p,
			       qw_u64 now)
{
	qw_drr_init(&s->drr, 0);
	s->perturb_at_ns = now + p->perturb_ns;
	s->salt = 0;
	s->full = 0;
	s->longest = 0;
	/* sfq_change(): each is cut to what the others leave it. */
	s->depth = qw_sfq_least(p->depth_packets, QW_SFQ_DEPTH);
	s->flows = qw_sfq_least(p->flows, QW_SFQ_FLOWS);
	s->flows = qw_sfq_least(s->flows, p->divisor);
	s->limit = qw_sfq_least(p->limit_packets, s->depth * s->flows);
	s->flows = qw_sfq_least(s->flows, s->limit);
}

/* The flow's bucket. Another salt is another hash: the product mixes upwards,
 * from where the bucket is taken. */
static inline qw_u32 qw_sfq_bucket(struct qw_sfq *s,
				   const struct qw_sfq_params *p, qw_u64 now,
				   qw_u32 flow, qw_u32 random)
{
	if (p->perturb_ns && now >= s->perturb_at_ns) {
		s->salt = random;
		s->perturb_at_ns = now + p->perturb_ns;
	}
	if (s->salt)
		flow = (flow ^ s->salt) * 0x9e3779b1u;
	return (qw_u32)(((qw_u64)flow * p->divisor) >> 32);
}

/* A queue's length changes: it is the first of its new peers. */
QW_SHARED void qw_sfq_changes(struct qw_sfq *s, qw_u32 index, qw_u32 from,
			      qw_u32 to)
{
	struct qw_sfq_peer *f = &s->peer[index & QW_SFQ_MASK];

	if (from) {
		if (f->before)
			s->peer[(f->before - 1) & QW_SFQ_MASK].after = f->after;
		else
			s->of_length[from & QW_SFQ_DEPTH] = f->after;
		if (f->after)
			s->peer[(f->after - 1) & QW_SFQ_MASK].before =
				f->before;
		if (from == s->longest && !s->of_length[from & QW_SFQ_DEPTH])
			s->longest--;
	}
	if (!to)
		return;
	f->before = 0;
	f->after = s->of_length[to & QW_SFQ_DEPTH];
	if (f->after)
		s->peer[(f->after - 1) & QW_SFQ_MASK].before = index + 1;
	s->of_length[to & QW_SFQ_DEPTH] = index + 1;
	if (to > s->longest)
		s->longest = to;
}

static inline struct qw_verdict
qw_sfq_enqueue(struct qw_sfq *s, const struct qw_sfq_params *p, qw_u64 now,
	       const struct qw_queue *q, const struct qw_packet *k,
	       qw_u32 random, qw_u32 *queue)
{
	qw_u32 index = qw_sfq_bucket(s, p, now, k->flow, random);
	struct qw_drr_queue *f = &s->queue[index & QW_SFQ_MASK];

	*queue = index;
	/* Linux has as many queues as packets fit, if these are fewer. */
	if (!f->packets &&
	    (s->drr.active >= s->flows ||
	     (q->limit_packets && s->drr.active >= q->limit_packets)))
		return qw_drop(QW_REASON_LIMIT);
	if (f->packets >= s->depth) {
		if (!p->headdrop)
			return qw_drop(QW_REASON_THRESHOLD);
		/* One comes, one goes: its length is what it was. */
		s->full = index + 1;
	} else {
		qw_sfq_changes(s, index, f->packets, f->packets + 1);
	}
	qw_drr_begin_old(&s->drr, s->queue, QW_SFQ_MASK, index,
			 (qw_s32)p->quantum_bytes);
	qw_drr_join(&s->drr, s->queue, QW_SFQ_MASK, index, k->bytes, 0);
	return qw_pass();
}

/* The longest queue in packets: of several the last that came to its length; if
 * all have one packet, the next to be served. */
static inline qw_u32 qw_sfq_overflow(struct qw_sfq *s,
				     const struct qw_sfq_params *p, qw_u64 now,
				     const struct qw_queue *q)
{
	qw_u32 index;

	(void)now;
	if (s->full)
		return s->full - 1;
	if (q->packets <= s->limit && !qw_overfull(q))
		return QW_NONE;
	index = (s->longest > 1 ? s->of_length[s->longest & QW_SFQ_DEPTH] :
				  s->drr.old.head) -
		1;
	return index == QW_NONE || p->headdrop ? index : index | QW_TAIL;
}

/* A packet is gone from a queue. One that is empty now was the first of the round
 * and leaves it: the next packet of its flow starts with a full quantum. */
QW_SHARED void qw_sfq_left(struct qw_sfq *s, qw_u32 index, qw_u32 bytes)
{
	struct qw_drr_queue *f = &s->queue[index & QW_SFQ_MASK];

	qw_sfq_changes(s, index, f->packets, f->packets - 1);
	qw_drr_left(&s->drr, f, bytes);
	if (f->packets)
		return;
	qw_drr_pop(s->queue, QW_SFQ_MASK, &s->drr.old);
	f->list = QW_DRR_UNLISTED;
}

static inline void qw_sfq_evicted(struct qw_sfq *s,
				  const struct qw_sfq_params *p, qw_u64 now,
				  const struct qw_queue *q,
				  const struct qw_packet *k, qw_u32 queue)
{
	(void)p;
	(void)now;
	(void)q;
	if (!s->full) {
		qw_sfq_left(s, queue, k->bytes);
		return;
	}
	s->full = 0;
	qw_drr_left(&s->drr, &s->queue[queue & QW_SFQ_MASK], k->bytes);
}

static inline qw_u32 qw_sfq_next(struct qw_sfq *s,
				 const struct qw_sfq_params *p, qw_u64 now,
				 const struct qw_queue *q)
{
	struct qw_drr_search t;
	qw_u32 i;

	(void)now;
	(void)q;
	qw_drr_begin(&t);
	QW_FOR (i, QW_DRR_TURNS(QW_SFQ_MASK)) {
		qw_u32 turn = qw_drr_turn(&s->drr, s->queue, QW_SFQ_MASK,
					  p->quantum_bytes, &t);

		if (turn == QW_DRR_SERVE)
			return t.index;
		if (turn == QW_DRR_DONE)
			break;
	}
	return QW_NONE;
}

static inline struct qw_verdict
qw_sfq_dequeue(struct qw_sfq *s, const struct qw_sfq_params *p, qw_u64 now,
	       const struct qw_queue *q, const struct qw_packet *k,
	       qw_u32 queue)
{
	(void)p;
	(void)now;
	(void)q;
	s->queue[queue & QW_SFQ_MASK].deficit -= (qw_s32)k->bytes;
	qw_sfq_left(s, queue, k->bytes);
	return qw_pass();
}

static inline void qw_sfq_idle(struct qw_sfq *s, const struct qw_sfq_params *p,
			       qw_u64 now)
{
	(void)s;
	(void)p;
	(void)now;
}

/* Parameters and variables as qw.h says. */
#define QW_SFQ_PARAMS(P)                              \
	P("limit", limit_packets, 0, 2, 1u << 30)     \
	P("depth", depth_packets, 0, 1, 1u << 30)     \
	P("flows", flows, 0, 1, QW_SFQ_QUEUES)        \
	P("divisor", divisor, 0, 1, QW_SFQ_QUEUES)    \
	P("quantum", quantum_bytes, 0, 256, 1u << 20) \
	P("headdrop", headdrop, 0, 0, 1)              \
	P("perturb", perturb_ns, 0, 0, 3600 * QW_NS_PER_SEC)
#define QW_SFQ_PROBES(V) V(s->drr.active, 1)

#ifdef __cplusplus
}
#endif

#endif /* QW_SFQ_H */
