/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Heavy-Hitter Filter, as Linux's sch_hhf has it: two queues, one for the flows
 * that send much in a short time, and one for all others. While both wait, the
 * others have `non_hh_weight` times as much of the link; after a pause they go
 * first.
 *
 * Who sends much is found by a multistage filter (Estan and Varghese, SIGCOMM
 * 2002). It has four rows of counters, in each of which a flow has one by its
 * hash. The flow's bytes are at most the least of its four. A flow whose least
 * counter passes `admit_bytes` before the counters begin anew is heavy, and
 * stays so as long as it sends something in each `evict_timeout`. It is kept in
 * a table, and counts in the filter no more (section 3.3.1). Another one raises
 * its counters to the least of them and its packet only (section 3.3.2).
 *
 * It departs from Linux in that
 *  - the hash is the host's, without a key of its own;
 *  - times are 64 bits wide;
 *  - a limit of bytes, and of a shared buffer, counts like that of packets, and a
 *    limit that shrinks costs the heavy flows first, as any other overflow.
 * `random` is not used.
 */
#ifndef QW_HHF_H
#define QW_HHF_H

#include "drr.h"
#include "qw.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QW_HHF_QUEUES 2u
#define QW_HHF_MASK (QW_HHF_QUEUES - 1)
#define QW_HHF_HEAVY 0u
#define QW_HHF_OTHER 1u
/* Rows of the filter, and counters in each: as many as ten bits tell apart. */
#define QW_HHF_ROWS 4u
#define QW_HHF_BITS 10u
#define QW_HHF_COLUMNS (1u << QW_HHF_BITS)
/* Heavy flows there is room for, a power of two; Linux allows so many. */
#ifndef QW_HHF_FLOWS
#define QW_HHF_FLOWS 2048u
#endif

struct qw_hhf_params {
	qw_u32 limit_packets; /* in both queues, 1000 */
	qw_u32 quantum_bytes; /* the heavy queue's share of a round, 1514; > 0 */
	qw_u32 non_hh_weight; /* the other's, in quanta, 2; > 0 */
	qw_u32 hh_limit; /* heavy flows at most, 2048; up to QW_HHF_FLOWS */
	qw_u32 admit_bytes; /* more than this makes heavy, 131072; up to 2^30 */
	qw_u64 reset_timeout_ns; /* the filter begins anew, 40 ms */
	qw_u64 evict_timeout_ns; /* who is silent for so long is not heavy, 1 s */
};

struct qw_hhf_flow {
	qw_u64 seen_jiffy; /* its last packet */
	qw_u32 hash;
	qw_u32 next; /* in its chain, or among the free: number + 1, 0: none */
};

struct qw_hhf {
	struct qw_drr drr;
	struct qw_drr_queue queue[QW_HHF_QUEUES];
	qw_u64 reset_jiffy; /* the filter began */
	qw_u64 admitted; /* times a flow was found heavy, for display */
	qw_u64 refused; /* times there was no room for one, for display */
	qw_u32 flows; /* in the table, those that have been silent as well */
	qw_u32 made; /* entries ever used */
	qw_u32 free; /* number + 1 of an entry that is out of use, 0: none */
	/* Which counters are of this period: the others are 0. */
	qw_u64 valid[QW_HHF_ROWS][QW_HHF_COLUMNS / 64];
	qw_u32 bytes[QW_HHF_ROWS][QW_HHF_COLUMNS];
	/* By the hash's lowest bits, the first of a chain: number + 1, 0: empty. */
	qw_u32 chain[QW_HHF_COLUMNS];
	struct qw_hhf_flow flow[QW_HHF_FLOWS];
};

static inline void qw_hhf_init(struct qw_hhf *s, const struct qw_hhf_params *p,
			       qw_u64 now)
{
	(void)p;
	qw_drr_init(&s->drr, 0);
	s->reset_jiffy = qw_div(now, QW_JIFFY_NS);
	s->admitted = 0;
	s->refused = 0;
	s->flows = 0;
	s->made = 0;
	s->free = 0;
}

static inline struct qw_hhf_flow *qw_hhf_entry(struct qw_hhf *s, qw_u32 number)
{
	return &s->flow[(number - 1) & (QW_HHF_FLOWS - 1)];
}

/* Has the flow been silent for so long that it is heavy no more? */
static inline int qw_hhf_is_old(const struct qw_hhf_flow *f,
				const struct qw_hhf_params *p, qw_u64 jiffy)
{
	return jiffy > f->seen_jiffy + qw_ns_to_jiffies(p->evict_timeout_ns);
}

/* seek_list(): the number of a heavy flow, 0: it is none. What is met on the way
 * and has been silent for long goes, but for the last of a chain. */
QW_PART qw_u32 qw_hhf_seek(struct qw_hhf *s QW_GIVEN,
			   const struct qw_hhf_params *p QW_GIVEN, qw_u64 jiffy,
			   qw_u32 hash)
{
	qw_u32 *link = &s->chain[hash & (QW_HHF_COLUMNS - 1)], i;

	QW_FOR (i, QW_HHF_FLOWS) {
		qw_u32 at = *link;
		struct qw_hhf_flow *f = qw_hhf_entry(s, at);

		if (!at)
			break;
		if (!qw_hhf_is_old(f, p, jiffy)) {
			if (f->hash == hash)
				return at;
			link = &f->next;
			continue;
		}
		if (!f->next)
			break;
		*link = f->next;
		f->next = s->free;
		s->free = at;
		s->flows--;
	}
	return 0;
}

/* alloc_new_hh(), after a search that has found nothing: is there room for
 * another heavy flow? One that was silent for long is the last of its chain, and
 * is taken first. */
QW_PART int qw_hhf_admit(struct qw_hhf *s QW_GIVEN,
			 const struct qw_hhf_params *p QW_GIVEN, qw_u64 jiffy,
			 qw_u32 hash)
{
	qw_u32 *link = &s->chain[hash & (QW_HHF_COLUMNS - 1)], at = 0, i;
	struct qw_hhf_flow *f;

	QW_FOR (i, QW_HHF_FLOWS) {
		if (!*link)
			break;
		at = *link;
		link = &qw_hhf_entry(s, at)->next;
	}
	if (!at || !qw_hhf_is_old(qw_hhf_entry(s, at), p, jiffy)) {
		if (s->flows >= p->hh_limit) {
			s->refused++;
			return 0;
		}
		at = s->free ? s->free : ++s->made;
		if (s->free)
			s->free = qw_hhf_entry(s, at)->next;
		qw_hhf_entry(s, at)->next = 0;
		*link = at;
		s->flows++;
	}
	f = qw_hhf_entry(s, at);
	f->hash = hash;
	f->seen_jiffy = jiffy;
	s->admitted++;
	return 1;
}

/* The flow's counter of a row: ten bits of the hash, in the last row all of them
 * together. */
static inline qw_u32 qw_hhf_column(qw_u32 hash, qw_u32 row)
{
	qw_u32 column = hash >> (QW_HHF_BITS * row);

	if (row == QW_HHF_ROWS - 1)
		column ^= hash ^ (hash >> QW_HHF_BITS) ^
			  (hash >> (2 * QW_HHF_BITS));
	return column & (QW_HHF_COLUMNS - 1);
}

/* The filter: do these bytes make the flow heavy? Else they are counted. */
QW_PART int qw_hhf_count(struct qw_hhf *s QW_GIVEN,
			 const struct qw_hhf_params *p QW_GIVEN, qw_u32 hash,
			 qw_u32 bytes)
{
	qw_u32 least = 0xffffffffu, row;

	QW_FOR (row, QW_HHF_ROWS) {
		qw_u32 r = row & (QW_HHF_ROWS - 1);
		qw_u32 column = qw_hhf_column(hash, r);
		qw_u64 *valid = &s->valid[r][column / 64];
		qw_u64 bit = 1ULL << (column & 63);

		if (!(*valid & bit)) {
			*valid |= bit;
			s->bytes[r][column] = 0;
		}
		if (s->bytes[r][column] + bytes < least)
			least = s->bytes[r][column] + bytes;
	}
	if (least > p->admit_bytes)
		return 1;
	QW_FOR (row, QW_HHF_ROWS) {
		qw_u32 r = row & (QW_HHF_ROWS - 1);
		qw_u32 *counter = &s->bytes[r][qw_hhf_column(hash, r)];

		if (*counter < least)
			*counter = least;
	}
	return 0;
}

/* hhf_classify(). */
static inline qw_u32 qw_hhf_classify(struct qw_hhf *s,
				     const struct qw_hhf_params *p,
				     qw_u64 jiffy, const struct qw_packet *k)
{
	qw_u32 at, row, i;

	if (jiffy > s->reset_jiffy + qw_ns_to_jiffies(p->reset_timeout_ns)) {
		QW_FOR (row, QW_HHF_ROWS) {
			QW_FOR (i, QW_HHF_COLUMNS / 64)
				s->valid[row & (QW_HHF_ROWS - 1)]
					[i & (QW_HHF_COLUMNS / 64 - 1)] = 0;
		}
		s->reset_jiffy = jiffy;
	}
	at = qw_hhf_seek(s, p, jiffy, k->flow);
	if (at) {
		qw_hhf_entry(s, at)->seen_jiffy = jiffy;
		return QW_HHF_HEAVY;
	}
	return qw_hhf_count(s, p, k->flow, k->bytes) &&
			       qw_hhf_admit(s, p, jiffy, k->flow) ?
		       QW_HHF_HEAVY :
		       QW_HHF_OTHER;
}

/* A queue's share of a round. */
static inline qw_u32 qw_hhf_quantum(const struct qw_hhf_params *p, qw_u32 queue)
{
	return queue == QW_HHF_HEAVY ? p->quantum_bytes :
				       p->quantum_bytes * p->non_hh_weight;
}

static inline struct qw_verdict
qw_hhf_enqueue(struct qw_hhf *s, const struct qw_hhf_params *p, qw_u64 now,
	       const struct qw_queue *q, const struct qw_packet *k,
	       qw_u32 random, qw_u32 *queue)
{
	qw_u32 index = qw_hhf_classify(s, p, qw_div(now, QW_JIFFY_NS), k);
	qw_s32 quantum = (qw_s32)qw_hhf_quantum(p, index);

	(void)q;
	(void)random;
	*queue = index;
	/* Heavy flows are never new ones. */
	if (index == QW_HHF_HEAVY)
		qw_drr_begin_old(&s->drr, s->queue, QW_HHF_MASK, index,
				 quantum);
	qw_drr_join(&s->drr, s->queue, QW_HHF_MASK, index, k->bytes, quantum);
	return qw_pass();
}

/* hhf_drop(): the oldest packet of the heavy flows goes, or else of the others. */
static inline qw_u32 qw_hhf_overflow(struct qw_hhf *s,
				     const struct qw_hhf_params *p, qw_u64 now,
				     const struct qw_queue *q)
{
	(void)now;
	if (q->packets <= p->limit_packets && !qw_overfull(q))
		return QW_NONE;
	return s->queue[QW_HHF_HEAVY].packets ? QW_HHF_HEAVY :
	       s->queue[QW_HHF_OTHER].packets ? QW_HHF_OTHER :
						QW_NONE;
}

static inline void qw_hhf_evicted(struct qw_hhf *s,
				  const struct qw_hhf_params *p, qw_u64 now,
				  const struct qw_queue *q,
				  const struct qw_packet *k, qw_u32 queue)
{
	(void)p;
	(void)now;
	(void)q;
	qw_drr_left(&s->drr, &s->queue[queue & QW_HHF_MASK], k->bytes);
}

static inline qw_u32 qw_hhf_next(struct qw_hhf *s,
				 const struct qw_hhf_params *p, qw_u64 now,
				 const struct qw_queue *q)
{
	struct qw_drr_search t;
	qw_u32 i;

	(void)now;
	(void)q;
	qw_drr_begin(&t);
	QW_FOR (i, QW_DRR_TURNS(QW_HHF_MASK)) {
		qw_u32 first = qw_drr_served(&s->drr)->head - 1;
		qw_u32 turn = qw_drr_turn(&s->drr, s->queue, QW_HHF_MASK,
					  qw_hhf_quantum(p, first), &t);

		if (turn == QW_DRR_SERVE)
			return t.index;
		if (turn == QW_DRR_DONE)
			break;
	}
	return QW_NONE;
}

static inline struct qw_verdict
qw_hhf_dequeue(struct qw_hhf *s, const struct qw_hhf_params *p, qw_u64 now,
	       const struct qw_queue *q, const struct qw_packet *k,
	       qw_u32 queue)
{
	s->queue[queue & QW_HHF_MASK].deficit -= (qw_s32)k->bytes;
	qw_hhf_evicted(s, p, now, q, k, queue);
	return qw_pass();
}

static inline void qw_hhf_idle(struct qw_hhf *s, const struct qw_hhf_params *p,
			       qw_u64 now)
{
	(void)s;
	(void)p;
	(void)now;
	/* Empty queues leave their lists when their turn comes. */
}

/* Parameters and variables as qw.h says. */
#define QW_HHF_PARAMS(P)                                                 \
	P("limit", limit_packets, 0, 1, 1u << 30)                        \
	P("quantum", quantum_bytes, 0, 256, 1u << 20)                    \
	P("non_hh_weight", non_hh_weight, 0, 1, 1024)                    \
	P("hh_limit", hh_limit, 0, 1, QW_HHF_FLOWS)                      \
	P("admit_bytes", admit_bytes, 0, 1, 1u << 30)                    \
	P("reset_timeout", reset_timeout_ns, 0, 1, 4000 * QW_NS_PER_SEC) \
	P("evict_timeout", evict_timeout_ns, 0, 1, 4000 * QW_NS_PER_SEC)
#define QW_HHF_PROBES(V)                     \
	V(s->queue[QW_HHF_HEAVY].packets, 1) \
	V(s->flows, 1)                       \
	V(s->admitted, 1)                    \
	V(s->refused, 1)

#ifdef __cplusplus
}
#endif

#endif /* QW_HHF_H */
