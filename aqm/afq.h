/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Approximate Fair Queueing (Sharma, Liu, Atreya and Krishnamurthy, NSDI 2018):
 * fair queueing for switches, which can neither keep a queue for each flow nor
 * sort packets. Time is rounds, in each of which a flow may send `quantum_bytes`
 * (BpR in the paper). A count-min sketch keeps how far each flow's bytes reach; a
 * packet belongs to the round that its last byte falls into. Each of the next
 * rounds has a FIFO queue, and the round under way is served until its queue is
 * empty. What belongs to a round beyond the last queue is dropped.
 *
 * Flows that share all counters of the sketch count as one. Nothing is ever
 * cleared: a count below the round under way is as good as none.
 *
 * Where this header has something of its own:
 *  - the test for a round too far ahead: a packet `queues` rounds ahead would
 *    come to the queue of the round under way, before those that it is behind;
 *  - a packet that finds nothing waiting is let in however far ahead its round is:
 *    that round is then under way, as those before it have no packets;
 *  - what a limit that has shrunk has no room for is what would be sent next.
 * `random` is not used.
 */
#ifndef QW_AFQ_H
#define QW_AFQ_H

#include "countmin.h"
#include "qw.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Queues there is room for, a power of two. */
#ifndef QW_AFQ_QUEUES
#define QW_AFQ_QUEUES 1024u
#endif
#define QW_AFQ_MASK (QW_AFQ_QUEUES - 1)
/* The sketch: rows, and counters in each, powers of two. */
#define QW_AFQ_ROWS 4u
#ifndef QW_AFQ_COLUMNS
#define QW_AFQ_COLUMNS 4096u
#endif

struct qw_afq_params {
	qw_u32 queues; /* one a round, 32; 2 to QW_AFQ_QUEUES */
	qw_u32 quantum_bytes; /* a flow's share of a round, 2048; > 0 */
};

struct qw_afq {
	qw_u64 round; /* under way */
	qw_u64 beyond; /* drops for want of a round, for display */
	qw_u32 head; /* the queue of the round under way */
	qw_u32 packets[QW_AFQ_QUEUES];
	/* To which byte the flows of a counter reach; a round has quantum_bytes. */
	qw_u64 reach[QW_AFQ_ROWS][QW_AFQ_COLUMNS];
};

static inline void qw_afq_init(struct qw_afq *s, const struct qw_afq_params *p,
			       qw_u64 now)
{
	(void)p;
	(void)now;
	s->round = 0;
	s->beyond = 0;
	s->head = 0;
}

/* A flow's counter in a row. */
static inline qw_u64 *qw_afq_counter(struct qw_afq *s, qw_u64 hashes,
				     qw_u32 row)
{
	qw_u32 hash = (qw_u32)hashes + row * qw_countmin_step(hashes);

	/* Not the lowest bits, by which flows that share two rows' counters would
	 * share those of all rows. */
	return &s->reach[row & (QW_AFQ_ROWS - 1)]
			[(hash >> 16) & (QW_AFQ_COLUMNS - 1)];
}

/* The least of a flow's counters: to where it reaches, or others do. */
static inline qw_u64 qw_afq_reach(struct qw_afq *s, qw_u64 hashes)
{
	qw_u64 least = ~0ULL;
	qw_u32 row;

	QW_FOR (row, QW_AFQ_ROWS) {
		qw_u64 reach = *qw_afq_counter(s, hashes, row);

		if (reach < least)
			least = reach;
	}
	return least;
}

static inline struct qw_verdict
qw_afq_enqueue(struct qw_afq *s, const struct qw_afq_params *p, qw_u64 now,
	       const struct qw_queue *q, const struct qw_packet *k,
	       qw_u32 random, qw_u32 *queue)
{
	qw_u64 hashes = qw_countmin_hashes(k->flow);
	qw_u64 begin = s->round * p->quantum_bytes;
	qw_u64 reach = qw_afq_reach(s, hashes), ahead;
	qw_u32 row, index = s->head;

	(void)now;
	(void)random;
	/* Who has sent nothing for a while has the round under way. */
	if (reach < begin)
		reach = begin;
	reach += k->bytes;
	ahead = qw_div(reach, p->quantum_bytes) - s->round;
	*queue = index;
	if (qw_over_limit(q, k))
		return qw_drop(QW_REASON_LIMIT);
	if (ahead < p->queues) {
		index += (qw_u32)ahead;
		if (index >= p->queues)
			index -= p->queues;
	} else if (!q->packets) {
		s->round += ahead;
	} else {
		s->beyond++;
		return qw_drop(QW_REASON_THRESHOLD);
	}
	QW_FOR (row, QW_AFQ_ROWS) {
		qw_u64 *counter = qw_afq_counter(s, hashes, row);

		if (*counter < reach)
			*counter = reach;
	}
	*queue = index;
	s->packets[index & QW_AFQ_MASK]++;
	return qw_pass();
}

/* Rounds without packets end. */
static inline qw_u32 qw_afq_next(struct qw_afq *s,
				 const struct qw_afq_params *p, qw_u64 now,
				 const struct qw_queue *q)
{
	qw_u32 i;

	(void)now;
	(void)q;
	QW_FOR (i, p->queues) {
		if (s->packets[s->head & QW_AFQ_MASK])
			return s->head;
		s->head++;
		if (s->head >= p->queues)
			s->head = 0;
		s->round++;
	}
	return QW_NONE;
}

static inline qw_u32 qw_afq_overflow(struct qw_afq *s,
				     const struct qw_afq_params *p, qw_u64 now,
				     const struct qw_queue *q)
{
	return qw_overfull(q) ? qw_afq_next(s, p, now, q) : QW_NONE;
}

static inline void qw_afq_evicted(struct qw_afq *s,
				  const struct qw_afq_params *p, qw_u64 now,
				  const struct qw_queue *q,
				  const struct qw_packet *k, qw_u32 queue)
{
	(void)p;
	(void)now;
	(void)q;
	(void)k;
	s->packets[queue & QW_AFQ_MASK]--;
}

static inline struct qw_verdict
qw_afq_dequeue(struct qw_afq *s, const struct qw_afq_params *p, qw_u64 now,
	       const struct qw_queue *q, const struct qw_packet *k,
	       qw_u32 queue)
{
	qw_afq_evicted(s, p, now, q, k, queue);
	return qw_pass();
}

static inline void qw_afq_idle(struct qw_afq *s, const struct qw_afq_params *p,
			       qw_u64 now)
{
	(void)s;
	(void)p;
	(void)now;
}

/* Parameters and variables as qw.h says. */
#define QW_AFQ_PARAMS(P)                         \
	P("queues", queues, 0, 2, QW_AFQ_QUEUES) \
	P("quantum", quantum_bytes, 0, 256, 1u << 20)
#define QW_AFQ_PROBES(V) \
	V(s->round, 1)   \
	V(s->beyond, 1)

#ifdef __cplusplus
}
#endif

#endif /* QW_AFQ_H */
