/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stochastic Fairness Queueing (McKenney, INFOCOM 1990) as Linux's sch_sfq has
 * it, without its optional RED: flows hashed to buckets, one packet's worth a
 * turn, and what does not fit costs the longest queue its last packet.
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

struct qw_sfq_params {
	qw_u64 perturb_ns; /* time between changes of the hash; 0: never */
	qw_u32 limit_packets; /* in all queues, 127 */
	qw_u32 depth_packets; /* in one queue, 127 */
	qw_u32 flows; /* buckets with packets at most, 127 */
	qw_u32 divisor; /* buckets, 1024; up to QW_SFQ_QUEUES */
	qw_u32 quantum_bytes; /* a queue's share of a round, 1514; > 0 */
	qw_u32 headdrop; /* a full queue loses its first packet, off */
};

struct qw_sfq {
	struct qw_drr drr; /* old queues only: SFQ knows no new ones */
	qw_u64 perturb_at_ns;
	qw_u32 salt;
	qw_u32 full; /* queue + 1 that has one packet too many, with headdrop */
	struct qw_drr_queue queue[QW_SFQ_QUEUES];
};

static inline void qw_sfq_init(struct qw_sfq *s, const struct qw_sfq_params *p,
			       qw_u64 now)
{
	s->drr.fresh.head = 0;
	s->drr.fresh.tail = 0;
	s->drr.old.head = 0;
	s->drr.old.tail = 0;
	s->drr.active = 0;
	s->perturb_at_ns = now + p->perturb_ns;
	s->salt = 0;
	s->full = 0;
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

static inline struct qw_verdict
qw_sfq_enqueue(struct qw_sfq *s, const struct qw_sfq_params *p, qw_u64 now,
	       const struct qw_queue *q, const struct qw_packet *k,
	       qw_u32 random, qw_u32 *queue)
{
	qw_u32 index = qw_sfq_bucket(s, p, now, k->flow, random);
	struct qw_drr_queue *f = &s->queue[index & QW_SFQ_MASK];

	(void)q;
	*queue = index;
	if (!f->packets && s->drr.active >= p->flows)
		return qw_drop(QW_REASON_LIMIT);
	if (f->packets >= p->depth_packets) {
		if (!p->headdrop)
			return qw_drop(QW_REASON_THRESHOLD);
		s->full = index + 1;
	}
	if (f->list == QW_DRR_UNLISTED) {
		f->list = QW_DRR_OLD;
		f->deficit = (qw_s32)p->quantum_bytes;
		qw_drr_append(s->queue, QW_SFQ_MASK, &s->drr.old, index);
	}
	qw_drr_join(&s->drr, s->queue, QW_SFQ_MASK, index, k->bytes, 0);
	return qw_pass();
}

/* The longest queue in packets, the first of these in the round. */
static inline qw_u32 qw_sfq_longest(const struct qw_sfq *s)
{
	qw_u32 i, most = 0, at = s->drr.old.head, longest = QW_NONE;

	QW_FOR (i, QW_SFQ_QUEUES) {
		const struct qw_drr_queue *f =
			&s->queue[(at - 1) & QW_SFQ_MASK];

		if (!at)
			break;
		if (f->packets > most) {
			most = f->packets;
			longest = at - 1;
		}
		at = f->next;
	}
	return longest;
}

static inline qw_u32 qw_sfq_overflow(struct qw_sfq *s,
				     const struct qw_sfq_params *p, qw_u64 now,
				     const struct qw_queue *q)
{
	qw_u32 longest = s->full - 1;

	(void)now;
	if (s->full) {
		s->full = 0;
		return longest;
	}
	if (q->packets <= p->limit_packets && !qw_overfull(q))
		return QW_NONE;
	longest = qw_sfq_longest(s);
	return longest == QW_NONE || p->headdrop ? longest : longest | QW_TAIL;
}

static inline void qw_sfq_evicted(struct qw_sfq *s,
				  const struct qw_sfq_params *p, qw_u64 now,
				  const struct qw_queue *q,
				  const struct qw_packet *k, qw_u32 queue)
{
	(void)p;
	(void)now;
	(void)q;
	qw_drr_left(&s->drr, &s->queue[queue & QW_SFQ_MASK], k->bytes);
}

static inline qw_u32 qw_sfq_next(struct qw_sfq *s,
				 const struct qw_sfq_params *p, qw_u64 now,
				 const struct qw_queue *q)
{
	qw_u32 i, index = 0;

	(void)now;
	(void)q;
	QW_FOR (i, QW_DRR_TURNS(QW_SFQ_MASK)) {
		qw_u32 turn = qw_drr_turn(&s->drr, s->queue, QW_SFQ_MASK,
					  p->quantum_bytes, &index);

		if (turn == QW_DRR_SERVE)
			return index;
		if (turn == QW_DRR_DONE)
			break;
	}
	return QW_NONE;
}

/* Drop a queue that is empty now from the round: the next packet of its flow
 * starts with a full quantum, as in Linux. */
static inline void qw_sfq_leave(struct qw_sfq *s, qw_u32 queue)
{
	/* It was served, so that it is the first. */
	if (s->drr.old.head != queue + 1)
		return;
	qw_drr_pop(s->queue, QW_SFQ_MASK, &s->drr.old);
	s->queue[queue & QW_SFQ_MASK].list = QW_DRR_UNLISTED;
}

static inline struct qw_verdict
qw_sfq_dequeue(struct qw_sfq *s, const struct qw_sfq_params *p, qw_u64 now,
	       const struct qw_queue *q, const struct qw_packet *k,
	       qw_u32 queue)
{
	struct qw_drr_queue *f = &s->queue[queue & QW_SFQ_MASK];

	(void)p;
	(void)now;
	(void)q;
	qw_drr_left(&s->drr, f, k->bytes);
	f->deficit -= (qw_s32)k->bytes;
	if (!f->packets)
		qw_sfq_leave(s, queue);
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
	P("limit", limit_packets, 0, 1, 1u << 30)     \
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
