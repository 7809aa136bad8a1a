/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fair queueing with a queue for every flow, as Linux's sch_fq on a router and
 * without its pacing, which is the sender's affair here. It is a deficit round
 * robin, new flows first and with a credit of ten packets. Tail drop is by the
 * packets of a flow and of all. One queue goes before all others, for who finds
 * nobody waiting.
 *
 * On the sender's own host Linux has a queue for each socket. What passes through
 * has none: there the flow's hash, cut by `orphan_mask`, chooses one of 1024. Linux
 * forgets a flow after three seconds, if it comes by; here none is forgotten.
 *
 * Linux has three bands, which take turns by bytes, and chooses one by a packet's
 * priority. All packets have the same here, whose band is the second. But a flow
 * that was never there is listed before its band is known: its first stay among
 * the new ones is in the first band.
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

/* Flows age by jiffies: so many must one have been away to have its credit again. */
#define QW_FQ_REFILL_JIFFIES 10u

/* What the two bands may send in a turn (fq_init()); the third is always empty. */
#define QW_FQ_FIRST_BYTES (9 << 16)
#define QW_FQ_OTHER_BYTES (3 << 16)

/* As QW_DRR_NEW and QW_DRR_OLD: the flow is in the first band's list. */
#define QW_FQ_FIRST 3u

/* Two changes of bands have no flow, and each flow of the first band has a turn. */
#define QW_FQ_TURNS (QW_DRR_TURNS(QW_FQ_MASK) + QW_FQ_FLOWS + 4)

struct qw_fq_params {
	qw_u32 limit_packets; /* in all flows' queues, 10000 */
	qw_u32 flow_limit_packets; /* in one queue, 100 */
	qw_u32 quantum_bytes; /* a flow's share of a round, 3028; > 0 */
	qw_u32 initial_quantum_bytes; /* of a flow's first round, 15140; > 0 */
	qw_u32 orphan_mask; /* bits of the hash that tell flows apart, 1023 */
	qw_u64 ce_threshold_ns; /* mark above this sojourn, 0: off */
};

struct qw_fq {
	struct qw_drr drr; /* the second band's rounds */
	struct qw_drr_list
		first; /* the first band's flows: none is old there */
	qw_u32 band; /* the one that sends: 0 the first, 1 the second */
	qw_s32 credit[2]; /* bytes that a band may still send in its turn */
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
	qw_drr_init(&s->drr, 1);
	s->first.head = 0;
	s->first.tail = 0;
	s->band = 0;
	s->credit[0] = 0;
	s->credit[1] = 0;
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
	    qw_div(now, QW_JIFFY_NS) > left + QW_FQ_REFILL_JIFFIES)
		return (qw_s32)p->quantum_bytes;
	return credit;
}

static inline struct qw_verdict
qw_fq_enqueue(struct qw_fq *s, const struct qw_fq_params *p, qw_u64 now,
	      const struct qw_queue *q, const struct qw_packet *k,
	      qw_u32 random, qw_u32 *queue)
{
	qw_u32 index = k->flow & p->orphan_mask & QW_FQ_MASK;
	struct qw_drr_queue *f = &s->queue[index];

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
	if (f->list == QW_DRR_UNLISTED) {
		f->deficit = qw_fq_credit(s, p, now, index);
		if (!s->left[index & QW_FQ_MASK]) {
			f->list = QW_FQ_FIRST;
			qw_drr_append(s->queue, QW_FQ_MASK, &s->first, index);
		}
	}
	qw_drr_join(&s->drr, s->queue, QW_FQ_MASK, index, k->bytes, f->deficit);
	return qw_pass();
}

/* It is the other band's turn. */
static inline qw_u32 qw_fq_switch(struct qw_fq *s, qw_u32 to, qw_s32 bytes)
{
	qw_s32 *credit = &s->credit[to & 1];

	*credit = *credit < 0 ? *credit + bytes : bytes;
	s->band = to;
	return QW_DRR_SPENT;
}

/* fq_dequeue(), one turn, as qw_drr_turn(). Some flow has packets. */
QW_SHARED qw_u32 qw_fq_turn(struct qw_fq *s, qw_u32 quantum,
			    struct qw_drr_search *t)
{
	struct qw_drr_queue *f;

	if (s->band) {
		if (s->credit[1] > 0 && (s->drr.fresh.head || s->drr.old.head))
			return qw_drr_turn(&s->drr, s->queue, QW_FQ_MASK,
					   quantum, t);
		return qw_fq_switch(s, 0, QW_FQ_FIRST_BYTES);
	}
	if (s->credit[0] <= 0 || !s->first.head)
		return qw_fq_switch(s, 1, QW_FQ_OTHER_BYTES);
	t->index = s->first.head - 1;
	f = &s->queue[t->index & QW_FQ_MASK];
	if (f->deficit > 0 && f->packets)
		return QW_DRR_SERVE;
	/* Its band is known by now. */
	if (f->deficit <= 0)
		f->deficit += (qw_s32)quantum;
	qw_drr_pop(s->queue, QW_FQ_MASK, &s->first);
	f->list = QW_DRR_OLD;
	qw_drr_append(s->queue, QW_FQ_MASK, &s->drr.old, t->index);
	return QW_DRR_SPENT;
}

static inline qw_u32 qw_fq_next(struct qw_fq *s, const struct qw_fq_params *p,
				qw_u64 now, const struct qw_queue *q)
{
	struct qw_drr_search t;
	qw_u32 i;

	(void)q;
	if (s->internal)
		return QW_FQ_INTERNAL;
	if (!s->drr.active)
		return QW_NONE;
	qw_drr_begin(&t);
	QW_FOR (i, QW_FQ_TURNS) {
		qw_u32 turn = qw_fq_turn(s, p->quantum_bytes, &t);

		if (turn == QW_DRR_SERVE)
			return t.index;
		/* Until it is away for good this is written more than once. */
		if (turn == QW_DRR_EMPTY)
			s->left[t.index & QW_FQ_MASK] =
				qw_div(now, QW_JIFFY_NS) | 1;
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
	s->credit[s->band & 1] -= (qw_s32)k->bytes;
}

/* fq_dequeue() marks what waited in a flow's queue, never what passed by. */
static inline struct qw_verdict
qw_fq_dequeue(struct qw_fq *s, const struct qw_fq_params *p, qw_u64 now,
	      const struct qw_queue *q, const struct qw_packet *k, qw_u32 queue)
{
	struct qw_verdict v = qw_pass();

	qw_fq_evicted(s, p, now, q, k, queue);
	if (queue != QW_FQ_INTERNAL && p->ce_threshold_ns &&
	    k->ecn != QW_NOT_ECT && now > k->enqueue_ns &&
	    now - k->enqueue_ns > p->ce_threshold_ns) {
		v.action = QW_MARK;
		v.reason = QW_REASON_THRESHOLD;
	}
	return v;
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
	P("orphan_mask", orphan_mask, 0, 0, QW_FQ_MASK)               \
	P("ce_threshold", ce_threshold_ns, 0, 0, 10 * QW_NS_PER_SEC)
#define QW_FQ_PROBES(V)     \
	V(s->drr.active, 1) \
	V(s->passed, 1)

#ifdef __cplusplus
}
#endif

#endif /* QW_FQ_H */
