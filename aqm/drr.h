/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Deficit round robin (Shreedhar and Varghese, SIGCOMM 1995) over many queues,
 * with the lists of new and old ones of RFC 8290 section 4: what the fair
 * queueing schedulers share. Not a discipline of its own.
 *
 * All zero is a queue that is empty and in no list, and a round without queues.
 */
#ifndef QW_DRR_H
#define QW_DRR_H

#include "qw.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which list a queue is in. */
#define QW_DRR_UNLISTED 0u
#define QW_DRR_NEW 1u
#define QW_DRR_OLD 2u

struct qw_drr_queue {
	qw_u64 bytes;
	qw_u32 packets;
	qw_u32 next; /* in its list: index + 1, 0: none */
	qw_s32 deficit; /* bytes it may still send in this round */
	qw_u32 list; /* QW_DRR_* */
};

struct qw_drr_list {
	qw_u32 head, tail; /* index + 1, 0: empty */
};

struct qw_drr {
	struct qw_drr_list fresh, old;
	qw_u32 active; /* queues with packets */
	qw_u32 all_age; /* a new one found empty is old then, also as the only one */
};

static inline void qw_drr_init(struct qw_drr *d, qw_u32 all_age)
{
	d->fresh.head = 0;
	d->fresh.tail = 0;
	d->old.head = 0;
	d->old.tail = 0;
	d->active = 0;
	d->all_age = all_age;
}

/* A flow's queue of so many: the hash's upper bits choose (Linux's
 * reciprocal_scale()). */
static inline qw_u32 qw_drr_queue_of(qw_u32 flow, qw_u32 queues)
{
	return (qw_u32)(((qw_u64)flow * queues) >> 32);
}

/* The array of queues has mask + 1 of them, a power of two: the mask tells the
 * BPF verifier what an index cannot be. */
static inline void qw_drr_append(struct qw_drr_queue *q, qw_u32 mask,
				 struct qw_drr_list *l, qw_u32 index)
{
	q[index & mask].next = 0;
	if (l->tail)
		q[(l->tail - 1) & mask].next = index + 1;
	else
		l->head = index + 1;
	l->tail = index + 1;
}

static inline void qw_drr_pop(struct qw_drr_queue *q, qw_u32 mask,
			      struct qw_drr_list *l)
{
	l->head = q[(l->head - 1) & mask].next;
	if (!l->head)
		l->tail = 0;
}

/* A queue in no list becomes an old one, with this deficit. */
QW_SHARED void qw_drr_begin_old(struct qw_drr *d, struct qw_drr_queue *q,
				qw_u32 mask, qw_u32 index, qw_s32 deficit)
{
	struct qw_drr_queue *f = &q[index & mask];

	if (f->list != QW_DRR_UNLISTED)
		return;
	f->list = QW_DRR_OLD;
	f->deficit = deficit;
	qw_drr_append(q, mask, &d->old, index);
}

/* A packet joins; a queue in no list becomes a new one, with this deficit. */
QW_SHARED void qw_drr_join(struct qw_drr *d, struct qw_drr_queue *q,
			   qw_u32 mask, qw_u32 index, qw_u32 bytes,
			   qw_s32 deficit)
{
	struct qw_drr_queue *f = &q[index & mask];

	if (f->list == QW_DRR_UNLISTED) {
		f->list = QW_DRR_NEW;
		f->deficit = deficit;
		qw_drr_append(q, mask, &d->fresh, index);
	}
	d->active += !f->packets;
	f->packets++;
	f->bytes += bytes;
}

/* A packet leaves, sent or dropped. */
static inline void qw_drr_left(struct qw_drr *d, struct qw_drr_queue *f,
			       qw_u32 bytes)
{
	f->packets--;
	f->bytes -= bytes;
	d->active -= !f->packets;
}

#define QW_DRR_SERVE 0u /* serve queue `index` */
#define QW_DRR_EMPTY 1u /* queue `index` was found empty: go on */
#define QW_DRR_SPENT 2u /* queue `index` waits for its next turn: go on */
#define QW_DRR_DONE 3u /* no queue is in a list */

/* A search for the queue to serve. */
struct qw_drr_search {
	qw_u32 index; /* the queue whose turn it was */
	qw_u32 first; /* the first with packets found spent; QW_NONE: none yet */
	qw_u32 least; /* quanta that the nearest of the spent ones lacks */
	qw_u32 quanta; /* that a spent one gets in this round */
};

static inline void qw_drr_begin(struct qw_drr_search *t)
{
	t->index = 0;
	t->first = QW_NONE;
	t->least = QW_NONE;
	t->quanta = 1;
}

/* A queue with packets may send once it has so many quanta more. */
static inline qw_u32 qw_drr_lacks(const struct qw_drr_queue *f, qw_u32 quantum)
{
	return f->deficit > 0 ? 1 : (qw_u32)-f->deficit / quantum + 1;
}

/* The list whose first queue has the turn. */
static inline struct qw_drr_list *qw_drr_served(struct qw_drr *d)
{
	return d->fresh.head ? &d->fresh : &d->old;
}

/* RFC 8290 section 4.2, one turn: new queues first; one whose deficit is spent
 * gets a quantum and goes to the end of the old ones; a new one found empty goes
 * there too, so that it cannot be new again at once, unless there are none
 * (Linux's sch_fq: in any case); an old one leaves.
 *
 * Once a whole round of one search has found nobody who may send, the next round
 * gives as many quanta at once as the nearest one lacks: the same queue is served
 * as after so many rounds of one quantum each. */
QW_SHARED qw_u32 qw_drr_turn(struct qw_drr *d, struct qw_drr_queue *q,
			     qw_u32 mask, qw_u32 quantum,
			     struct qw_drr_search *t)
{
	struct qw_drr_list *l = qw_drr_served(d);
	struct qw_drr_queue *f;
	qw_u32 lacks;

	if (!l->head)
		return QW_DRR_DONE;
	t->index = l->head - 1;
	f = &q[t->index & mask];
	if (f->deficit <= 0) {
		if (t->first == QW_NONE && f->packets) {
			t->first = t->index;
		} else if (t->first == t->index) {
			t->quanta = t->least;
			t->least = QW_NONE;
		}
		qw_drr_pop(q, mask, l);
		lacks = t->quanta;
		if (lacks > 1 && !f->packets)
			lacks = qw_drr_lacks(f, quantum);
		if (lacks < t->quanta) {
			/* In one of the rounds that are left out it would have been
			 * found empty. */
			f->deficit += (qw_s32)(quantum * lacks);
			f->list = QW_DRR_UNLISTED;
			return QW_DRR_EMPTY;
		}
		f->deficit += (qw_s32)(quantum * t->quanta);
		f->list = QW_DRR_OLD;
		qw_drr_append(q, mask, &d->old, t->index);
		if (f->packets) {
			lacks = qw_drr_lacks(f, quantum);
			if (lacks < t->least)
				t->least = lacks;
		}
		return QW_DRR_SPENT;
	}
	if (f->packets)
		return QW_DRR_SERVE;
	qw_drr_pop(q, mask, l);
	if (l == &d->fresh && (d->old.head || d->all_age)) {
		f->list = QW_DRR_OLD;
		qw_drr_append(q, mask, &d->old, t->index);
	} else {
		f->list = QW_DRR_UNLISTED;
	}
	return QW_DRR_EMPTY;
}

/* Turns after which a search has ended, if any of mask + 1 queues has a packet:
 * a round that finds what the nearest one lacks, in which new queues that are
 * empty have two, one in which it gets that, and one until its turn. */
#define QW_DRR_TURNS(mask) (4 * ((mask) + 1))

#ifdef __cplusplus
}
#endif

#endif /* QW_DRR_H */
