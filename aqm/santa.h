/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Santa (Mishra et al., "Managing Congestion Control Heterogeneity on the
 * Internet with Approximate Performance Isolation", NSDI 2026): flows that
 * push as hard share a queue.
 *
 * The first packets of each flow go through a mice queue that is served before
 * all others. Then the flow gets one of K queues. How much it keeps waiting is
 * summed up over a round (the sojourn times of its packets: by Little's law,
 * its mean share of the queue times the round). At the round's end, a flow that
 * had far more than its queue's others goes one queue up, one that had far less
 * goes one down. Queues share the link by how many flows they have.
 *
 * Paper and the code behind its figures differ in the rule (QW_SANTA_PAPER,
 * QW_SANTA_ARTIFACT). What both leave open is said where it is decided. The
 * "hell queue" is an idea of the paper's section 8; what sends a flow there is
 * this header's definition (qw_santa_roll).
 *
 * Whatever passes, the state is QW_SANTA_FLOWS flows of 48 bytes with their
 * index, the sketch, and the queues. A flow that finds no room joins a queue by
 * its hash, is not measured and stays there. A call takes constant time: the
 * end of a round is spread over the calls that follow it.
 */
#ifndef QW_SANTA_H
#define QW_SANTA_H

#include "codel.h"
#include "countmin.h"
#include "qw.h"
#include "titrate.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Flows that can be told apart, a power of two. A host may set another number
 * before including. */
#ifndef QW_SANTA_FLOWS
#define QW_SANTA_FLOWS 65536u
#endif
/* Flows under one value of the index; with as many values as flows, two are
 * common and ten are not seen. Also keeps who makes up hashes at bay. */
#define QW_SANTA_CHAIN 16u

/* 0 is the mice queue, 1..K are Santa's, K + 1 is the hell queue. */
#define QW_SANTA_QUEUES 64u
#define QW_SANTA_MOST 32u /* K */
#define QW_SANTA_MICE 0u

/* rule: by the mean of the queue's flows, or by the least and the most */
#define QW_SANTA_PAPER 0u
#define QW_SANTA_ARTIFACT 1u
/* assign */
#define QW_SANTA_EMPTY_FIRST 0u /* paper section 4.1 */
#define QW_SANTA_RANGES 1u /* the artifact's table, as of the last round */
/* inner */
#define QW_SANTA_DROPTAIL 0u
#define QW_SANTA_TITRATE 1u
#define QW_SANTA_CODEL 2u

/* Flows looked at in a call: at the end of a round, and to find idle ones. */
#define QW_SANTA_STEP 32u
#define QW_SANTA_SCAN 2u
/* Packets a second that a flow for the hell queue offers at the least: what
 * TCP can under such losses is less (see the discipline's page). */
#define QW_SANTA_HELL_RATE 32u

struct qw_santa_params {
	qw_u64 round_ns; /* 10 s */
	qw_u64 idle_ns; /* a flow silent for so long is forgotten, 10 s; 0: none */
	qw_u64 target_ns; /* inner CoDel's, 5 ms */
	qw_u64 interval_ns; /* inner CoDel's, 100 ms */
	qw_u64 window_ns; /* inner Titrate's, 500 ms */
	qw_u32 queues; /* K, 3; 1 .. QW_SANTA_MOST */
	qw_u32 rule; /* QW_SANTA_PAPER */
	qw_u32 assign; /* QW_SANTA_EMPTY_FIRST */
	qw_u32 inner; /* discipline in each queue, QW_SANTA_DROPTAIL */
	qw_u32 r_q16; /* how much more or less is too much, 2; 1 .. 16 */
	qw_u32 mice_packets; /* of a flow through the mice queue, 10; < 255 */
	qw_u32 skip_inactive; /* flows without a packet in a round, on */
	qw_u32 quantum_bytes; /* mean turn of a queue, 1514 */
	qw_u32 ecn; /* of the inner discipline, off */
	qw_u32 mtu_bytes; /* of the inner discipline, 1514 */
	qw_u32 hell; /* off */
	qw_u32 hell_loss_q16; /* of what a flow offers, 0.2 */
	qw_u32 hell_rounds; /* in a row, 3 */
};

/* All zero is no flow. */
struct qw_santa_flow {
	qw_u64 seen_ns; /* its last arrival, or departure if later */
	qw_u64 sojourn_ns; /* sum over its packets in `round` */
	qw_u64 last_ns; /* the same of the round that has ended */
	qw_u32 hash;
	qw_u32 next; /* under the same value of the index: + 1, 0: none */
	qw_u32 round; /* the round that it was last touched in */
	qw_u32 offered; /* packets in `round` */
	qw_u32 dropped; /* of these */
	qw_u8 queue;
	qw_u8 streak; /* rounds in a row that speak for a change (hell queue) */
	qw_u8 active; /* it had packets in the round that has ended */
	qw_u8 fresh; /* it was not there when that round ended */
};

/* All zero is an empty queue. */
struct qw_santa_queue {
	qw_u64 bytes;
	qw_u64 sum_ns, least_ns, most_ns; /* of its flows in the ended round */
	qw_u32 counted; /* flows in these */
	qw_u32 packets;
	qw_u32 flows; /* that are assigned to it */
	qw_u32 weight; /* flows at the last round's end */
	qw_u32 sharers; /* whose share it has: theirs, 1, or of who left packets */
	qw_s64 deficit_q20; /* bytes it may still send in this turn */
	qw_u64 turn_q20; /* bytes that a turn adds */
	struct qw_codel codel;
	struct qw_titrate titrate;
};

/* What the sweep over all flows is for. */
#define QW_SANTA_IDLERS 0u /* during a round: who is silent */
#define QW_SANTA_GATHER 1u /* a round has ended: add up */
#define QW_SANTA_SHUFFLE 2u /* then move */

struct qw_santa {
	qw_u64 round_end_ns;
	/* The buffer, and a queue's part of it, as last seen. */
	qw_u64 limit_bytes, part_bytes;
	qw_u32 limit_packets, part_packets;
	qw_u32 round; /* from 1 on */
	qw_u32 ended; /* the last round but this, silent ones left out */
	qw_u32 sweep; /* QW_SANTA_IDLERS .. */
	qw_u32 hand; /* flows that the sweep has still to see */
	qw_u32 flows; /* in use: flow[0 .. flows - 1] */
	qw_u32 serving; /* queue whose turn it is */
	qw_u32 emptied; /* queue whose last packet has just left; 0: none */
	qw_u32 ups, downs; /* moves so far, for display */
	qw_u32 untracked; /* packets of flows that found no room, for display */
	struct qw_codel_params codel;
	struct qw_titrate_params titrate;
	struct qw_santa_queue queue[QW_SANTA_QUEUES];
	qw_u32 index[QW_SANTA_FLOWS]; /* by hash: flow + 1, 0: none */
	struct qw_santa_flow flow[QW_SANTA_FLOWS];
	struct qw_countmin sketch;
};

/* The masks tell the BPF verifier what an index cannot be. */
static inline struct qw_santa_queue *qw_santa_at(struct qw_santa *s, qw_u32 i)
{
	return &s->queue[i & (QW_SANTA_QUEUES - 1)];
}

static inline struct qw_santa_flow *qw_santa_flow_at(struct qw_santa *s,
						     qw_u32 i)
{
	return &s->flow[i & (QW_SANTA_FLOWS - 1)];
}

/* The last queue in use: K, or the hell queue. */
static inline qw_u32 qw_santa_last(const struct qw_santa_params *p)
{
	return p->queues + (p->hell != 0);
}

/* Section 4.3: bandwidth by number of flows, fixed for the round. A turn of
 * all queues is K quanta, so that it is short whatever the number of flows; the
 * part of a queue with few of many flows is a fraction of a byte. A queue without flows counts as one, for the flow that may come to it; so does
 * the hell queue, however many are in it. */
static inline void qw_santa_share(struct qw_santa *s,
				  const struct qw_santa_params *p)
{
	qw_u64 total = 0, turn = (qw_u64)p->quantum_bytes * p->queues;
	qw_u32 i;

	QW_FOR (i, QW_SANTA_MOST + 1) {
		struct qw_santa_queue *f = qw_santa_at(s, i + 1);

		if (i >= qw_santa_last(p))
			break;
		f->weight = i < p->queues ? f->flows : 1;
		if (f->weight || !f->packets)
			f->sharers = f->weight ? f->weight : 1;
		/* All have moved out in this round, or one before. */
		else if (f->counted)
			f->sharers = f->counted;
		total += f->sharers;
	}
	QW_FOR (i, QW_SANTA_MOST + 1) {
		struct qw_santa_queue *f = qw_santa_at(s, i + 1);

		if (i >= qw_santa_last(p))
			break;
		/* Below 2^25 bytes, and 2^17 flows. */
		f->turn_q20 = qw_div((turn << 20) * f->sharers, total);
		if (!f->turn_q20)
			f->turn_q20 = 1;
	}
}

static inline void qw_santa_init(struct qw_santa *s,
				 const struct qw_santa_params *p, qw_u64 now)
{
	qw_u32 i;

	s->round_end_ns = now + p->round_ns;
	s->limit_bytes = 0;
	s->part_bytes = 0;
	s->limit_packets = 0;
	s->part_packets = 0;
	/* 0 is what untouched memory says. */
	s->round = 1;
	s->ended = 0;
	s->sweep = QW_SANTA_IDLERS;
	s->hand = 0;
	s->flows = 0;
	s->serving = 1;
	s->emptied = 0;
	s->ups = 0;
	s->downs = 0;
	s->untracked = 0;
	s->codel.target_ns = p->target_ns;
	s->codel.interval_ns = p->interval_ns;
	s->codel.ce_threshold_ns = 0;
	s->codel.ce_ect1 = 0;
	s->codel.mtu_bytes = p->mtu_bytes;
	s->codel.ecn = p->ecn;
	/* Titrate's defaults, for which see titrate.h. */
	s->titrate.window_ns = p->window_ns;
	s->titrate.sample_ns = 500 * QW_NS_PER_US;
	s->titrate.threshold_bytes = 0;
	s->titrate.initial_ns = 50 * QW_NS_PER_MS;
	s->titrate.mi_thresh_bytes = 0;
	s->titrate.min_bytes = 0;
	s->titrate.rules = QW_TITRATE_PAPER;
	s->titrate.strategy = QW_TITRATE_MIAD;
	s->titrate.mi_thresh = 1;
	s->titrate.eqlen = QW_TITRATE_EQLEN_FILTERED;
	s->titrate.samples =
		100 < QW_TITRATE_MAX_SAMPLES ? 100 : QW_TITRATE_MAX_SAMPLES;
	s->titrate.tolerance_q16 = 0;
	s->titrate.c_inc_q16 = QW_TITRATE_ONE_Q16;
	s->titrate.c_dec_q16 = QW_TITRATE_ONE_Q16;
	s->titrate.c_thresh_q16 = 3 * QW_TITRATE_ONE_Q16;
	s->titrate.max_increase = 8;
	s->titrate.forget = 8;
	s->titrate.kp_q16 = QW_TITRATE_ONE_Q16 / 4;
	s->titrate.ki_q16 = QW_TITRATE_ONE_Q16 / 4;
	s->titrate.mtu_bytes = p->mtu_bytes;
	s->titrate.ecn = p->ecn;
	QW_FOR (i, QW_SANTA_MOST + 1) {
		struct qw_santa_queue *f = qw_santa_at(s, i + 1);

		qw_codel_init(&f->codel, &s->codel, now);
		qw_titrate_init(&f->titrate, &s->titrate, now);
	}
	qw_santa_share(s, p);
}

/* ------------------------------------------------------- flows --------- */

/* The flow of this hash: its place + 1, or 0. */
QW_PART qw_u32 qw_santa_find(struct qw_santa *s QW_GIVEN, qw_u32 hash)
{
	qw_u32 at = s->index[hash & (QW_SANTA_FLOWS - 1)], i;

	QW_FOR (i, QW_SANTA_CHAIN) {
		struct qw_santa_flow *f = qw_santa_flow_at(s, at - 1);

		if (!at || f->hash == hash)
			return at;
		at = f->next;
	}
	return 0;
}

/* Where the index points to flow `at` + 1, or a flow that is no more. */
static inline qw_u32 *qw_santa_link(struct qw_santa *s, qw_u32 hash, qw_u32 at)
{
	qw_u32 *link = &s->index[hash & (QW_SANTA_FLOWS - 1)], i;

	QW_FOR (i, QW_SANTA_CHAIN) {
		if (!*link || *link == at + 1)
			break;
		link = &qw_santa_flow_at(s, *link - 1)->next;
	}
	return link;
}

/* Flow `at` is forgotten; the last one takes its place. */
static inline void qw_santa_forget(struct qw_santa *s, qw_u32 at)
{
	struct qw_santa_flow *gone = qw_santa_flow_at(s, at), *last;

	*qw_santa_link(s, gone->hash, at) = gone->next;
	qw_santa_at(s, gone->queue)->flows--;
	s->flows--;
	if (at == s->flows)
		return;
	last = qw_santa_flow_at(s, s->flows);
	*qw_santa_link(s, last->hash, s->flows) = at + 1;
	*gone = *last;
}

/* The flow enters the present round: what it did in the last is put aside.
 *
 * A flow "never backs off" if it loses `hell_loss` or more of what it offers,
 * round after round, and yet offers more than what TCP at such a loss could. In
 * the hell queue, as many rounds without that let it out again. */
static inline void qw_santa_roll(struct qw_santa *s,
				 const struct qw_santa_params *p,
				 struct qw_santa_flow *f)
{
	int last = f->round == s->ended, bad, is_hell, change;

	if (f->round == s->round)
		return;
	bad = last &&
	      f->offered * QW_NS_PER_SEC >= QW_SANTA_HELL_RATE * p->round_ns &&
	      ((qw_u64)f->dropped << 16) >=
		      (qw_u64)f->offered * p->hell_loss_q16;
	is_hell = f->queue > p->queues;
	change = is_hell ? !bad : bad;
	if (!change)
		f->streak = 0;
	else if (f->streak < 255)
		f->streak++;
	f->last_ns = last ? f->sojourn_ns : 0;
	f->active = last && f->offered;
	f->fresh = 0;
	f->round = s->round;
	f->sojourn_ns = 0;
	f->offered = 0;
	f->dropped = 0;
}

/* The lowest queue without flows; 0: there is none. */
static inline qw_u32 qw_santa_empty(struct qw_santa *s,
				    const struct qw_santa_params *p)
{
	qw_u32 i;

	QW_FOR (i, QW_SANTA_MOST) {
		if (i >= p->queues)
			break;
		if (!qw_santa_at(s, i + 1)->flows)
			return i + 1;
	}
	return 0;
}

static inline qw_u64 qw_santa_weight(const struct qw_santa_queue *f, int ranges)
{
	return ranges ? f->weight : f->flows;
}

QW_PART qw_u64 qw_santa_weights(struct qw_santa *s QW_GIVEN,
				const struct qw_santa_params *p QW_GIVEN,
				int ranges)
{
	qw_u64 total = 0;
	qw_u32 i;

	QW_FOR (i, QW_SANTA_MOST) {
		if (i >= p->queues)
			break;
		total += qw_santa_weight(qw_santa_at(s, i + 1), ranges);
	}
	return total;
}

/* Section 4.1: an empty queue, the lowest first; if there is none, one drawn
 * by how many flows it has. The artifact draws by a byte from ranges as of the
 * last round, in which an empty queue has no part. */
static inline qw_u32 qw_santa_draw(struct qw_santa *s,
				   const struct qw_santa_params *p,
				   qw_u32 random)
{
	int ranges = p->assign == QW_SANTA_RANGES;
	qw_u32 empty = ranges ? 0 : qw_santa_empty(s, p), i;
	qw_u64 total, sum = 0;

	if (empty)
		return empty;
	total = qw_santa_weights(s, p, ranges);
	QW_FOR (i, QW_SANTA_MOST) {
		if (i + 1 >= p->queues)
			break;
		/* No flows at all, as before the first round: equal ranges. */
		sum += total ? qw_santa_weight(qw_santa_at(s, i + 1), ranges) :
			       1;
		if (ranges) {
			qw_u64 of = total ? total : p->queues;

			if ((random >> 24) < qw_div(256 * sum, of))
				return i + 1;
		} else if ((random * total) >> 32 < sum) {
			return i + 1;
		}
	}
	/* Only the artifact's rounding leaves a last queue without flows. */
	return p->queues;
}

/* A flow that is no mouse: its place + 1, or 0 if there is no room. */
QW_PART qw_u32 qw_santa_add(struct qw_santa *s QW_GIVEN,
			    const struct qw_santa_params *p QW_GIVEN,
			    qw_u64 now, qw_u32 hash, qw_u32 random)
{
	qw_u32 *link = &s->index[hash & (QW_SANTA_FLOWS - 1)], i;
	struct qw_santa_flow *f = qw_santa_flow_at(s, s->flows);

	if (s->flows >= QW_SANTA_FLOWS)
		return 0;
	QW_FOR (i, QW_SANTA_CHAIN - 1) {
		if (!*link)
			break;
		link = &qw_santa_flow_at(s, *link - 1)->next;
	}
	if (*link)
		return 0;
	f->seen_ns = now;
	f->sojourn_ns = 0;
	f->last_ns = 0;
	f->hash = hash;
	f->next = 0;
	f->round = s->round;
	f->offered = 0;
	f->dropped = 0;
	f->queue = (qw_u8)qw_santa_draw(s, p, random);
	f->streak = 0;
	f->active = 0;
	f->fresh = 1;
	qw_santa_at(s, f->queue)->flows++;
	*link = ++s->flows;
	return s->flows;
}

/* ---------------------------------------------- the end of a round ----- */

/* No sum of a flow's sojourn times is more than this, 36 years: one more, times
 * 16, fits in 64 bits. */
#define QW_SANTA_MOST_NS ((1ULL << 60) - 2)

/* value * factor, rounded down */
static inline qw_u64 qw_santa_scale(qw_u64 value, qw_u32 factor_q16)
{
	return (value >> 16) * factor_q16 +
	       (((value & 0xffff) * factor_q16) >> 16);
}

static inline void qw_santa_gather(struct qw_santa_queue *f, qw_u64 sojourn_ns)
{
	if (!f->counted || sojourn_ns < f->least_ns)
		f->least_ns = sojourn_ns;
	if (!f->counted || sojourn_ns > f->most_ns)
		f->most_ns = sojourn_ns;
	f->sum_ns += sojourn_ns;
	if (f->sum_ns < sojourn_ns)
		f->sum_ns = ~0ULL;
	f->counted++;
}

/* Where a flow of queue `i` belongs after a round of `b` ns.
 *
 * Paper section 4.2: up if B > r mean, down if B < mean / r. The artifact: up
 * if B > r least; then down if what is left is below most / r, which after the
 * first step happens in the last queue alone, as that has no first step. */
static inline qw_u32 qw_santa_place(struct qw_santa *s,
				    const struct qw_santa_params *p, qw_u32 i,
				    qw_u64 b)
{
	const struct qw_santa_queue *f = qw_santa_at(s, i);
	int up, down;

	if (p->rule == QW_SANTA_ARTIFACT) {
		up = b > qw_santa_scale(f->least_ns, p->r_q16);
		down = i == p->queues &&
		       qw_santa_scale(b, p->r_q16) < f->most_ns;
	} else {
		/* The mean is rounded down: not by what that leaves out. */
		up = b > qw_santa_scale(f->sum_ns + 1, p->r_q16);
		down = qw_santa_scale(b, p->r_q16) < f->sum_ns;
	}
	if (up && i < p->queues)
		return i + 1;
	if (down && i > 1)
		return i - 1;
	return i;
}

static inline void qw_santa_move(struct qw_santa *s,
				 const struct qw_santa_params *p,
				 struct qw_santa_flow *f)
{
	qw_u32 from = f->queue, to = from;
	qw_u64 mean = qw_santa_at(s, from)->sum_ns;
	int change = p->hell && f->streak >= p->hell_rounds;

	/* By what it keeps, too: who loses as much beside such a sender, and keeps
	 * less than the mean, is not one, and leaves as it would another queue. */
	if (from > p->queues)
		to = change || ((f->active || !p->skip_inactive) &&
				qw_santa_scale(f->last_ns, p->r_q16) < mean) ?
			     p->queues :
			     from;
	else if (change && f->last_ns >= mean)
		to = p->queues + 1;
	else if (f->active || !p->skip_inactive)
		to = qw_santa_place(s, p, from, f->last_ns);
	/* In each of the rounds that count. */
	if (from <= p->queues && f->last_ns < mean)
		f->streak = 0;
	if (to == from)
		return;
	if (from > p->queues || to > p->queues)
		f->streak = 0;
	s->ups += to > from;
	s->downs += to < from;
	qw_santa_at(s, from)->flows--;
	qw_santa_at(s, to)->flows++;
	f->queue = (qw_u8)to;
	/* What it has waited in the old queue says nothing of the new one. */
	f->sojourn_ns = 0;
}

/* The sweep has seen every flow. */
static inline void qw_santa_turn(struct qw_santa *s,
				 const struct qw_santa_params *p)
{
	qw_u32 i;

	if (s->sweep == QW_SANTA_GATHER) {
		s->sweep = QW_SANTA_SHUFFLE;
		/* The sum becomes the mean. */
		QW_FOR (i, QW_SANTA_QUEUES) {
			struct qw_santa_queue *f = qw_santa_at(s, i);

			if (f->counted)
				f->sum_ns = qw_div(f->sum_ns, f->counted);
		}
	} else if (s->sweep == QW_SANTA_SHUFFLE) {
		s->sweep = QW_SANTA_IDLERS;
		qw_santa_share(s, p);
	}
	s->hand = s->flows;
}

QW_PART int qw_santa_step(struct qw_santa *s QW_GIVEN,
			  const struct qw_santa_params *p QW_GIVEN, qw_u64 now)
{
	struct qw_santa_flow *f = qw_santa_flow_at(s, --s->hand);

	/* Nobody is forgotten between the two sweeps of a round's end; what is
	 * swept downwards can lose a flow without missing another. */
	if (s->sweep != QW_SANTA_SHUFFLE && p->idle_ns &&
	    now - f->seen_ns > p->idle_ns) {
		qw_santa_forget(s, s->hand);
		return 0;
	}
	if (s->sweep == QW_SANTA_IDLERS)
		return 0;
	qw_santa_roll(s, p, f);
	if (f->fresh)
		return 0;
	if (s->sweep == QW_SANTA_SHUFFLE)
		qw_santa_move(s, p, f);
	else if (f->active || !p->skip_inactive)
		qw_santa_gather(qw_santa_at(s, f->queue), f->last_ns);
	return 0;
}

/* A round ends once the end of the last one is dealt with. */
static inline void qw_santa_round(struct qw_santa *s,
				  const struct qw_santa_params *p, qw_u64 now)
{
	qw_u64 rounds = 1, late = now - s->round_end_ns;
	qw_u32 i;

	if (late >= p->round_ns)
		rounds += qw_div(late, p->round_ns);
	s->round_end_ns += rounds * p->round_ns;
	s->ended = s->round;
	s->round++;
	s->sweep = QW_SANTA_GATHER;
	s->hand = s->flows;
	QW_FOR (i, QW_SANTA_QUEUES) {
		struct qw_santa_queue *f = qw_santa_at(s, i);

		f->sum_ns = 0;
		f->least_ns = 0;
		f->most_ns = 0;
		f->counted = 0;
	}
}

/* Do a part of what is due by `now`. */
QW_PART int qw_santa_catch_up(struct qw_santa *s QW_GIVEN,
			      const struct qw_santa_params *p QW_GIVEN,
			      qw_u64 now)
{
	qw_u32 i;

	if (s->sweep == QW_SANTA_IDLERS && now >= s->round_end_ns)
		qw_santa_round(s, p, now);
	QW_FOR (i, QW_SANTA_STEP) {
		if (s->sweep == QW_SANTA_IDLERS && i >= QW_SANTA_SCAN)
			break;
		if (s->hand)
			qw_santa_step(s, p, now);
		else
			qw_santa_turn(s, p);
	}
	return 0;
}

/* ------------------------------------------------------ packets -------- */

/* A Santa queue as its discipline is to see it. The buffer is split evenly
 * (section 6.3), of a shared one the port's even part, and an empty queue takes
 * any packet that the buffer takes. */
QW_SHARED struct qw_queue qw_santa_view(const struct qw_santa *s,
					const struct qw_santa_queue *f,
					const struct qw_queue *q,
					const struct qw_packet *k)
{
	struct qw_queue v = *q;

	v.bytes = f->bytes;
	v.packets = f->packets;
	v.pool.limit_bytes = 0;
	v.limit_bytes = s->part_bytes;
	if (s->limit_bytes && v.limit_bytes < k->bytes)
		v.limit_bytes = k->bytes;
	if (v.limit_packets)
		v.limit_packets = s->part_packets ? s->part_packets : 1;
	return v;
}

static inline void qw_santa_split(struct qw_santa *s,
				  const struct qw_santa_params *p,
				  const struct qw_queue *q)
{
	qw_u64 bytes = qw_tighter(q->limit_bytes, qw_pool_part(q));

	if (s->limit_bytes == bytes && s->limit_packets == q->limit_packets)
		return;
	s->limit_bytes = bytes;
	s->limit_packets = q->limit_packets;
	s->part_bytes = qw_div(bytes, qw_santa_last(p));
	s->part_packets = q->limit_packets / qw_santa_last(p);
}

QW_SHARED struct qw_verdict
qw_santa_inner_enqueue(struct qw_santa *s, const struct qw_santa_params *p,
		       struct qw_santa_queue *f, qw_u64 now,
		       const struct qw_queue *q, const struct qw_packet *k)
{
	struct qw_queue v = qw_santa_view(s, f, q, k);
	int full = qw_over_limit(q, k);

	if (p->inner == QW_SANTA_TITRATE && !full)
		return qw_titrate_enqueue(&f->titrate, &s->titrate, now, &v, k,
					  0);
	if (p->inner == QW_SANTA_TITRATE) {
		/* A drop that it cannot foresee is one of its drops all the same. */
		qw_titrate_lost(&f->titrate, &s->titrate, now, v.bytes);
		qw_titrate_see_limit(&f->titrate, &s->titrate, &v);
	}
	return full || qw_over_limit(&v, k) ? qw_drop(QW_REASON_LIMIT) :
					      qw_pass();
}

static inline struct qw_verdict
qw_santa_enqueue(struct qw_santa *s, const struct qw_santa_params *p,
		 qw_u64 now, const struct qw_queue *q,
		 const struct qw_packet *k, qw_u32 random, qw_u32 *queue)
{
	struct qw_verdict v = qw_pass();
	struct qw_santa_flow *flow;
	struct qw_santa_queue *f;
	qw_u32 at;

	qw_santa_catch_up(s, p, now);
	qw_santa_split(s, p, q);
	at = qw_santa_find(s, k->flow);
	/* Silent for so long, though the sweep has not come by (which looks at
	 * all flows there were between a round's end and its shuffle). */
	if (at && p->idle_ns && s->sweep == QW_SANTA_IDLERS &&
	    now - qw_santa_flow_at(s, at - 1)->seen_ns > p->idle_ns) {
		qw_santa_forget(s, at - 1);
		s->hand = s->hand < s->flows ? s->hand : s->flows;
		at = 0;
	}
	*queue = QW_SANTA_MICE;
	if (!at &&
	    qw_countmin_add(&s->sketch, s->round, k->flow) > p->mice_packets) {
		at = qw_santa_add(s, p, now, k->flow, random);
		if (!at) {
			s->untracked++;
			*queue = 1 +
				 (qw_u32)(((qw_u64)k->flow * p->queues) >> 32);
		}
	}
	flow = qw_santa_flow_at(s, at - 1);
	if (at) {
		qw_santa_roll(s, p, flow);
		flow->seen_ns = now;
		if (flow->offered == 0xffffffffu) {
			flow->offered >>= 1;
			flow->dropped >>= 1;
		}
		flow->offered++;
		*queue = flow->queue;
	}
	f = qw_santa_at(s, *queue);
	if (*queue == QW_SANTA_MICE) {
		/* What does not fit the buffer displaces others (overflow), but
		 * mice have no more than a queue's part of it either. */
		struct qw_queue part = qw_santa_view(s, f, q, k);

		if (qw_over_limit(&part, k) ||
		    (q->limit_bytes && k->bytes > q->limit_bytes) ||
		    (q->pool.limit_bytes && k->bytes > q->pool.limit_bytes))
			v = qw_drop(QW_REASON_LIMIT);
	} else {
		v = qw_santa_inner_enqueue(s, p, f, now, q, k);
	}
	if (v.action != QW_DROP) {
		f->packets++;
		f->bytes += k->bytes;
	} else if (at) {
		flow->dropped += flow->dropped != 0xffffffffu;
	}
	return v;
}

/* Mice came in where nothing fitted: the fullest of the other queues loses its
 * last packet. The paper has buffers apart and no such case. */
static inline qw_u32 qw_santa_overflow(struct qw_santa *s,
				       const struct qw_santa_params *p,
				       qw_u64 now, const struct qw_queue *q)
{
	qw_u32 fullest = QW_SANTA_MICE, i;
	qw_u64 most = 0;

	(void)now;
	if (!qw_overfull(q))
		return QW_NONE;
	QW_FOR (i, QW_SANTA_MOST + 1) {
		qw_u64 bytes = qw_santa_at(s, i + 1)->bytes;

		if (i >= qw_santa_last(p))
			break;
		if (bytes > most) {
			most = bytes;
			fullest = i + 1;
		}
	}
	if (!qw_santa_at(s, fullest)->packets)
		return QW_NONE;
	return fullest | QW_TAIL;
}

static inline void qw_santa_left(struct qw_santa *s, struct qw_santa_queue *f,
				 const struct qw_packet *k, qw_u32 queue)
{
	f->packets--;
	f->bytes -= k->bytes;
	if (f->packets)
		return;
	s->emptied = queue;
	/* What those have left that moved out is sent: the share of one again. */
	if (!f->weight && f->sharers > 1) {
		f->turn_q20 = qw_div(f->turn_q20, f->sharers);
		if (!f->turn_q20)
			f->turn_q20 = 1;
		f->sharers = 1;
	}
}

/* An empty queue has no turn to save up: once its last packet is paid for. */
static inline void qw_santa_save_nothing(struct qw_santa_queue *f)
{
	if (!f->packets && f->deficit_q20 > 0)
		f->deficit_q20 = 0;
}

static inline void qw_santa_evicted(struct qw_santa *s,
				    const struct qw_santa_params *p, qw_u64 now,
				    const struct qw_queue *q,
				    const struct qw_packet *k, qw_u32 queue)
{
	qw_u32 at = qw_santa_find(s, k->flow);
	struct qw_santa_flow *flow = qw_santa_flow_at(s, at - 1);
	struct qw_santa_queue *f = qw_santa_at(s, queue);

	(void)q;
	qw_santa_left(s, f, k, queue);
	qw_santa_save_nothing(f);
	if (p->inner == QW_SANTA_TITRATE && queue != QW_SANTA_MICE)
		qw_titrate_lost(&f->titrate, &s->titrate, now,
				f->bytes + k->bytes);
	if (at) {
		qw_santa_roll(s, p, flow);
		flow->dropped += flow->dropped != 0xffffffffu;
	}
}

/* The link can send: if a queue ran dry with its last packet, its discipline is
 * to know. */
static inline void qw_santa_tell(struct qw_santa *s,
				 const struct qw_santa_params *p, qw_u64 now)
{
	struct qw_santa_queue *f = qw_santa_at(s, s->emptied);

	if (!s->emptied)
		return;
	s->emptied = 0;
	if (f->packets)
		return;
	if (p->inner == QW_SANTA_TITRATE)
		qw_titrate_idle(&f->titrate, &s->titrate, now);
	else if (p->inner == QW_SANTA_CODEL)
		qw_codel_idle(&f->codel, &s->codel, now);
}

/* An empty queue pays what its last packet was longer than its turn, by so many
 * turns, and saves nothing up. */
static inline void qw_santa_pay(struct qw_santa_queue *f, qw_u64 turns)
{
	qw_u64 owed = f->deficit_q20 < 0 ? 0 - (qw_u64)f->deficit_q20 : 0;

	if (!owed)
		return;
	if (qw_div(owed, f->turn_q20) < turns)
		f->deficit_q20 = 0;
	else
		f->deficit_q20 += (qw_s64)(turns * f->turn_q20);
}

/* A round of turns at most: the queue that may send, or QW_NONE. */
static inline qw_u32 qw_santa_turns(struct qw_santa *s,
				    const struct qw_santa_params *p)
{
	qw_u32 i;

	QW_FOR (i, QW_SANTA_MOST + 2) {
		struct qw_santa_queue *f = qw_santa_at(s, s->serving);

		if (f->packets && f->deficit_q20 > 0)
			return s->serving;
		if (i >= qw_santa_last(p))
			break;
		s->serving = s->serving < qw_santa_last(p) ? s->serving + 1 : 1;
		f = qw_santa_at(s, s->serving);
		if (f->packets)
			f->deficit_q20 += (qw_s64)f->turn_q20;
		else
			qw_santa_pay(f, 1);
	}
	return QW_NONE;
}

/* Nobody may send: as many whole rounds of turns at once as leave that so. (A
 * queue owes no more than a packet.) */
QW_PART int qw_santa_skip(struct qw_santa *s QW_GIVEN,
			  const struct qw_santa_params *p QW_GIVEN)
{
	qw_u64 rounds = 1ULL << 62;
	qw_u32 i;

	QW_FOR (i, QW_SANTA_MOST + 1) {
		struct qw_santa_queue *f = qw_santa_at(s, i + 1);
		qw_u64 least;

		if (i >= qw_santa_last(p))
			break;
		if (!f->packets)
			continue;
		least = qw_div(0 - (qw_u64)f->deficit_q20, f->turn_q20);
		if (least < rounds)
			rounds = least;
	}
	QW_FOR (i, QW_SANTA_MOST + 1) {
		struct qw_santa_queue *f = qw_santa_at(s, i + 1);

		if (i >= qw_santa_last(p))
			break;
		if (f->packets)
			f->deficit_q20 += (qw_s64)(rounds * f->turn_q20);
		else
			qw_santa_pay(f, rounds);
	}
	return 0;
}

/* Mice first; then deficit round robin (Shreedhar and Varghese, 1995). */
static inline qw_u32 qw_santa_next(struct qw_santa *s,
				   const struct qw_santa_params *p, qw_u64 now,
				   const struct qw_queue *q)
{
	qw_u32 queue;

	(void)q;
	qw_santa_tell(s, p, now);
	if (qw_santa_at(s, QW_SANTA_MICE)->packets)
		return QW_SANTA_MICE;
	queue = qw_santa_turns(s, p);
	if (queue != QW_NONE)
		return queue;
	qw_santa_skip(s, p);
	return qw_santa_turns(s, p);
}

static inline qw_u32 qw_santa_share_of(struct qw_santa *s,
				       const struct qw_santa_params *p,
				       qw_u32 queue)
{
	(void)p;
	return queue == QW_SANTA_MICE ? 0 : qw_santa_at(s, queue)->sharers;
}

/* A host that takes the turns itself keeps the account of them, too. */
static inline void qw_santa_chosen(struct qw_santa *s,
				   const struct qw_santa_params *p, qw_u64 now,
				   qw_u32 queue)
{
	qw_santa_tell(s, p, now);
	qw_santa_at(s, queue)->deficit_q20 = 0;
}

static inline struct qw_verdict
qw_santa_dequeue(struct qw_santa *s, const struct qw_santa_params *p,
		 qw_u64 now, const struct qw_queue *q,
		 const struct qw_packet *k, qw_u32 queue)
{
	struct qw_santa_queue *f = qw_santa_at(s, queue);
	struct qw_verdict v = qw_pass();
	struct qw_santa_flow *flow;
	struct qw_queue view;
	qw_u32 at;

	qw_santa_catch_up(s, p, now);
	qw_santa_left(s, f, k, queue);
	if (queue == QW_SANTA_MICE)
		return v;
	view = qw_santa_view(s, f, q, k);
	if (p->inner == QW_SANTA_TITRATE)
		v = qw_titrate_dequeue(&f->titrate, &s->titrate, now, &view, k);
	else if (p->inner == QW_SANTA_CODEL)
		v = qw_codel_dequeue(&f->codel, &s->codel, now, &view, k);
	at = qw_santa_find(s, k->flow);
	flow = qw_santa_flow_at(s, at - 1);
	/* Whose packets wait is not silent, though its sender may be. */
	if (at) {
		qw_santa_roll(s, p, flow);
		flow->seen_ns = now;
	}
	if (v.action == QW_DROP) {
		flow->dropped += at != 0;
		qw_santa_save_nothing(f);
		return v;
	}
	f->deficit_q20 -= (qw_s64)((qw_u64)k->bytes << 20);
	qw_santa_save_nothing(f);
	/* Packets left over in a queue that the flow is no longer in say nothing
	 * of the one that it is in. */
	if (at && flow->queue == queue && now > k->enqueue_ns) {
		flow->sojourn_ns += now - k->enqueue_ns;
		if (flow->sojourn_ns > QW_SANTA_MOST_NS)
			flow->sojourn_ns = QW_SANTA_MOST_NS;
	}
	return v;
}

static inline void qw_santa_idle(struct qw_santa *s,
				 const struct qw_santa_params *p, qw_u64 now)
{
	qw_santa_catch_up(s, p, now);
	qw_santa_tell(s, p, now);
}

/* Parameters and variables as qw.h says. */
#define QW_SANTA_PARAMS(P)                                               \
	P("queues", queues, 0, 1, QW_SANTA_MOST)                         \
	P("rule", rule, 0, 0, QW_SANTA_ARTIFACT)                         \
	P("r", r_q16, 16, 1u << 16, 16u << 16)                           \
	P("round", round_ns, 0, 10 * QW_NS_PER_MS, 1000 * QW_NS_PER_SEC) \
	P("skip_inactive", skip_inactive, 0, 0, 1)                       \
	P("assign", assign, 0, 0, QW_SANTA_RANGES)                       \
	P("mice_packets", mice_packets, 0, 0, 254)                       \
	P("idle_timeout", idle_ns, 0, 0, 1000 * QW_NS_PER_SEC)           \
	P("quantum", quantum_bytes, 0, 256, 1u << 20)                    \
	P("inner", inner, 0, 0, QW_SANTA_CODEL)                          \
	P("target", target_ns, 0, 0, 10 * QW_NS_PER_SEC)                 \
	P("interval", interval_ns, 0, 1, 60 * QW_NS_PER_SEC)             \
	P("window", window_ns, 0, QW_NS_PER_MS, 4 * QW_NS_PER_SEC)       \
	P("ecn", ecn, 0, 0, 1)                                           \
	P("mtu", mtu_bytes, 0, 64, 65535)                                \
	P("hell", hell, 0, 0, 1)                                         \
	P("hell_loss", hell_loss_q16, 16, 1u << 9, 1u << 16)             \
	P("hell_rounds", hell_rounds, 0, 1, 100)
#define QW_SANTA_PROBES(V) \
	V(s->round, 1)     \
	V(s->flows, 1)     \
	V(s->ups, 1)       \
	V(s->downs, 1)     \
	V(s->untracked, 1)

#ifdef __cplusplus
}
#endif

#endif /* QW_SANTA_H */
