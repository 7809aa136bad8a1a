/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Cebinae (Yu, Sonchack, Liu: "Cebinae: scalable in-network fairness
 * augmentation", SIGCOMM 2022), after its authors' ns-3 model. The flows that
 * take the most of a saturated link are found, and held as a group to a little
 * less than they had. What that frees is left to the others, round by round.
 *
 * Two queues swap roles every `dt`. The head queue, served first, takes what a
 * group may send in this round, the tail queue what it may send in the next.
 * What is beyond both is dropped. Top flows are kept in a cache of fixed size,
 * so the state is 33 kB however many flows pass.
 *
 * Departures from the model. A round ends when its time is over and its head
 * queue is empty, so that an overestimated capacity makes rounds longer and
 * costs no order. That takes the place of the model's switch of priorities some
 * microseconds early. A group's bytes are counted when they are let through, as
 * one that overloads a round could otherwise send nothing at all in the next
 * (`count_drops` is the model's way). Without being told, the capacity is
 * measured, and until it is known this is one FIFO queue. `random` is not used.
 */
#ifndef QW_CEBINAE_H
#define QW_CEBINAE_H

#include "service.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QW_CEBINAE_QUEUES 2u
#define QW_CEBINAE_GROUPS 2u
#define QW_CEBINAE_BOTTOM 0u
#define QW_CEBINAE_TOP 1u
/* The cache of flows: 512 sets of 4. */
#define QW_CEBINAE_FLOWS 2048u
#define QW_CEBINAE_WAYS 4u
/* Rounds that one call catches up with; after a longer silence all is new. */
#define QW_CEBINAE_MAX_ROUNDS 64u
#define QW_CEBINAE_MAX_RATE (1ULL << 40)
/* A round: bounds, those of one that is derived from the buffer, and one without
 * a buffer to go by. */
#define QW_CEBINAE_LEAST_DT_NS (100 * QW_NS_PER_US)
#define QW_CEBINAE_MIN_DT_NS QW_NS_PER_MS
#define QW_CEBINAE_MAX_DT_NS (100 * QW_NS_PER_MS)
#define QW_CEBINAE_DT_NS (12 * QW_NS_PER_MS)

struct qw_cebinae_params {
	qw_u64 capacity; /* bytes/s, 0: measured */
	qw_u64 dt_ns; /* a round, 0: 3/8 of the buffer at the capacity */
	qw_u64 tax_q32; /* share that top flows are to give up, 0.01 */
	qw_u64 delta_port_q32; /* saturated: all but this share used, 0.01 */
	qw_u64 delta_flow_q32; /* top: all but this share of the largest, 0.01 */
	qw_u32 rounds; /* between two looks at the flows, 4 */
	qw_u32 count_drops; /* what was dropped uses up a group's share, off */
};

struct qw_cebinae_flow {
	qw_u64 bytes; /* sent since the last look; 0 and not top: free */
	qw_u32 hash;
	qw_u32 top;
};

struct qw_cebinae_group {
	qw_u64 used; /* bytes let through, of this round's and the next's share */
	qw_u64 share[QW_CEBINAE_QUEUES]; /* bytes a round, by queue */
	qw_u64 next_share; /* from the next round on */
};

struct qw_cebinae {
	qw_u64 base_ns; /* this round's begin */
	qw_u64 dt_us; /* its length, 0: none has begun */
	qw_u64 round_bytes; /* capacity in a round */
	qw_u64 buffer_bytes; /* limit of the buffer, 0: none */
	qw_u64 sent; /* bytes since the last look */
	qw_u32 rounds; /* since the last look */
	qw_u32 head; /* the queue that is served first */
	qw_u32 saturated;
	qw_u32 top_flows;
	qw_u32 packets[QW_CEBINAE_QUEUES];
	struct qw_service link;
	struct qw_cebinae_group group[QW_CEBINAE_GROUPS];
	struct qw_cebinae_flow flow[QW_CEBINAE_FLOWS];
};

static inline void qw_cebinae_init(struct qw_cebinae *s,
				   const struct qw_cebinae_params *p,
				   qw_u64 now)
{
	qw_u32 g;

	(void)p;
	s->base_ns = now;
	s->dt_us = 0;
	s->round_bytes = 0;
	s->buffer_bytes = 0;
	s->sent = 0;
	s->rounds = 0;
	s->head = 0;
	s->saturated = 0;
	s->top_flows = 0;
	s->packets[0] = 0;
	s->packets[1] = 0;
	qw_service_init(&s->link);
	QW_FOR (g, QW_CEBINAE_GROUPS) {
		s->group[g].used = 0;
		s->group[g].share[0] = 0;
		s->group[g].share[1] = 0;
		s->group[g].next_share = 0;
	}
	/* flow[] is zero already, as the host hands it in. */
}

static inline qw_u64 qw_cebinae_capacity(const struct qw_cebinae *s,
					 const struct qw_cebinae_params *p)
{
	qw_u64 rate = p->capacity ? p->capacity : s->link.rate;

	return rate < QW_CEBINAE_MAX_RATE ? rate : QW_CEBINAE_MAX_RATE;
}

/* Set the length of rounds, by what is known now. */
static inline void qw_cebinae_set_round(struct qw_cebinae *s,
					const struct qw_cebinae_params *p)
{
	qw_u64 rate = qw_cebinae_capacity(s, p), ns = p->dt_ns;

	if (!rate)
		return;
	if (!ns && s->buffer_bytes) {
		/* 2^33 bytes times 10^9 still fits. */
		ns = s->buffer_bytes < 1ULL << 33 ? s->buffer_bytes :
						    1ULL << 33;
		/* Two rounds may wait; a quarter is left to spare. */
		ns = qw_div(ns * 3 / 8 * QW_NS_PER_SEC, rate);
		if (ns < QW_CEBINAE_MIN_DT_NS)
			ns = QW_CEBINAE_MIN_DT_NS;
		if (ns > QW_CEBINAE_MAX_DT_NS)
			ns = QW_CEBINAE_MAX_DT_NS;
	}
	if (!ns)
		ns = QW_CEBINAE_DT_NS;
	if (ns < QW_CEBINAE_LEAST_DT_NS)
		ns = QW_CEBINAE_LEAST_DT_NS;
	/* Whole microseconds: 40 bits of rate times 20 of those. */
	s->dt_us = qw_div(ns, 1000);
	s->round_bytes = qw_div(rate * s->dt_us, 1000000);
}

/* All but a share. The share's Q16 is fine enough: 1.5e-5. */
static inline qw_u64 qw_cebinae_all_but(qw_u64 bytes, qw_u64 share_q32)
{
	return (bytes * (65536 - (share_q32 >> 16))) >> 16;
}

/* Look at the flows: who is on top, and what the groups may send. */
static inline void qw_cebinae_look(struct qw_cebinae *s,
				   const struct qw_cebinae_params *p)
{
	/* Below 2^46: 64 rounds of 2^40. */
	qw_u64 could = s->round_bytes * p->rounds, largest = 0, sum = 0;
	qw_u64 least, part_q16 = 0;
	qw_u32 i;

	s->saturated = s->sent > qw_cebinae_all_but(could, p->delta_port_q32);
	s->top_flows = 0;
	QW_FOR (i, QW_CEBINAE_FLOWS) {
		struct qw_cebinae_flow *f =
			&s->flow[i & (QW_CEBINAE_FLOWS - 1)];

		if (f->bytes > largest)
			largest = f->bytes;
	}
	least = qw_cebinae_all_but(largest, p->delta_flow_q32);
	QW_FOR (i, QW_CEBINAE_FLOWS) {
		struct qw_cebinae_flow *f =
			&s->flow[i & (QW_CEBINAE_FLOWS - 1)];

		f->top = s->saturated && f->bytes && f->bytes >= least;
		if (f->top) {
			s->top_flows++;
			sum += f->bytes;
		}
		f->bytes = 0;
	}
	if (sum > could)
		sum = could;
	if (could)
		part_q16 = qw_div(qw_cebinae_all_but(sum, p->tax_q32) << 16,
				  could);
	qw_cebinae_set_round(s, p);
	s->group[QW_CEBINAE_TOP].next_share = (s->round_bytes * part_q16) >> 16;
	s->group[QW_CEBINAE_BOTTOM].next_share =
		s->round_bytes - s->group[QW_CEBINAE_TOP].next_share;
	s->sent = 0;
	s->rounds = 0;
}

/* The head queue's round ends: the queues swap roles. */
static inline void qw_cebinae_rotate(struct qw_cebinae *s,
				     const struct qw_cebinae_params *p)
{
	qw_u32 old = s->head & 1, g;

	if (++s->rounds >= p->rounds)
		qw_cebinae_look(s, p);
	QW_FOR (g, QW_CEBINAE_GROUPS) {
		struct qw_cebinae_group *group =
			&s->group[g & (QW_CEBINAE_GROUPS - 1)];

		group->used -= group->used < group->share[old] ?
				       group->used :
				       group->share[old];
		/* It is the next round's tail queue from now on. */
		group->share[old] = group->next_share;
	}
	s->head = old ^ 1;
}

/* End the rounds that are over by `now`. */
static inline void qw_cebinae_catch_up(struct qw_cebinae *s,
				       const struct qw_cebinae_params *p,
				       qw_u64 now)
{
	qw_u64 dt_ns;
	qw_u32 i;

	if (!s->dt_us) {
		/* The first round: all is bottom, and all may be sent. */
		qw_cebinae_set_round(s, p);
		s->base_ns = now;
		s->group[QW_CEBINAE_BOTTOM].share[0] = s->round_bytes;
		s->group[QW_CEBINAE_BOTTOM].share[1] = s->round_bytes;
		s->group[QW_CEBINAE_BOTTOM].next_share = s->round_bytes;
		return;
	}
	QW_FOR (i, QW_CEBINAE_MAX_ROUNDS) {
		dt_ns = s->dt_us * 1000;
		if (now < s->base_ns + dt_ns || s->packets[s->head & 1])
			return;
		s->base_ns += dt_ns;
		qw_cebinae_rotate(s, p);
		/* So late that its successor's time is over as well: the
		 * capacity is not what it was. */
		if (s->packets[s->head & 1] && now > s->base_ns + dt_ns)
			s->base_ns = now;
	}
	dt_ns = s->dt_us * 1000;
	if (now < s->base_ns + dt_ns || s->packets[s->head & 1])
		return;
	/* A long silence: nothing is left of what was used. */
	s->base_ns = now;
	s->group[QW_CEBINAE_TOP].used = 0;
	s->group[QW_CEBINAE_BOTTOM].used = 0;
}

/* The flow's place in the cache, or the place that it would take: of its set the
 * one that sent the least and is not on top. */
static inline struct qw_cebinae_flow *qw_cebinae_find(struct qw_cebinae *s,
						      qw_u32 hash)
{
	qw_u32 set = (hash * 0x9e3779b1u) >> 23, way, at, best = 0;
	qw_u64 least = ~0ULL;

	QW_FOR (way, QW_CEBINAE_WAYS) {
		struct qw_cebinae_flow *f;

		at = (set * QW_CEBINAE_WAYS + way) & (QW_CEBINAE_FLOWS - 1);
		f = &s->flow[at];
		if (f->hash == hash && (f->bytes || f->top))
			return f;
		if (!f->top && f->bytes < least) {
			least = f->bytes;
			best = at;
		}
	}
	if (least == ~0ULL)
		best = (set * QW_CEBINAE_WAYS) & (QW_CEBINAE_FLOWS - 1);
	return &s->flow[best & (QW_CEBINAE_FLOWS - 1)];
}

/* Count what a flow sent. Where all places are taken, a newcomer wears the
 * smallest down before it takes its place, so that large ones stay. */
static inline void qw_cebinae_count(struct qw_cebinae *s,
				    const struct qw_packet *k)
{
	struct qw_cebinae_flow *f = qw_cebinae_find(s, k->flow);

	if (f->hash == k->flow && (f->bytes || f->top)) {
		f->bytes += k->bytes;
	} else if (f->top) {
		/* A whole set on top: others are not counted. */
	} else if (f->bytes > k->bytes) {
		f->bytes -= k->bytes;
	} else {
		f->hash = k->flow;
		f->bytes = k->bytes;
	}
}

QW_SHARED struct qw_verdict
qw_cebinae_enqueue(struct qw_cebinae *s, const struct qw_cebinae_params *p,
		   qw_u64 now, const struct qw_queue *q,
		   const struct qw_packet *k, qw_u32 random, qw_u32 *queue)
{
	const struct qw_cebinae_flow *f = qw_cebinae_find(s, k->flow);
	struct qw_cebinae_group *group;
	qw_u64 head_share, tail_share, t_us, passed;
	qw_u32 head;
	int fits;

	(void)random;
	s->buffer_bytes = qw_buffer_part(q);
	qw_cebinae_catch_up(s, p, now);
	head = s->head & 1;
	*queue = head;
	if (qw_over_limit(q, k))
		return qw_drop(QW_REASON_LIMIT);
	if (!s->dt_us) {
		s->packets[head]++;
		return qw_pass();
	}

	group = &s->group[f->top && f->hash == k->flow ? QW_CEBINAE_TOP :
							 QW_CEBINAE_BOTTOM];
	head_share = group->share[head];
	tail_share = group->share[head ^ 1];
	if (group->used > head_share)
		*queue = head ^ 1;
	fits = group->used <= head_share + tail_share;

	/* What a group has not used by now, it cannot make up for. */
	t_us = qw_div(now - s->base_ns, 1000);
	if (t_us > 2 * s->dt_us)
		t_us = 2 * s->dt_us;
	passed = t_us < s->dt_us ?
			 qw_div(head_share * t_us, s->dt_us) :
			 head_share + qw_div(tail_share * (t_us - s->dt_us),
					     s->dt_us);
	if (group->used < passed)
		group->used = passed;
	if (fits || p->count_drops)
		group->used += k->bytes;
	if (!fits)
		return qw_drop(QW_REASON_THRESHOLD);
	s->packets[*queue & 1]++;
	return qw_pass();
}

static inline qw_u32 qw_cebinae_next(struct qw_cebinae *s,
				     const struct qw_cebinae_params *p,
				     qw_u64 now, const struct qw_queue *q)
{
	qw_u32 head;

	(void)q;
	qw_cebinae_catch_up(s, p, now);
	head = s->head & 1;
	return s->packets[head]	    ? head :
	       s->packets[head ^ 1] ? head ^ 1 :
				      QW_NONE;
}

/* Only a limit that has shrunk leaves too much: what would be sent next goes. */
static inline qw_u32 qw_cebinae_overflow(struct qw_cebinae *s,
					 const struct qw_cebinae_params *p,
					 qw_u64 now, const struct qw_queue *q)
{
	return qw_overfull(q) ? qw_cebinae_next(s, p, now, q) : QW_NONE;
}

static inline void qw_cebinae_evicted(struct qw_cebinae *s,
				      const struct qw_cebinae_params *p,
				      qw_u64 now, const struct qw_queue *q,
				      const struct qw_packet *k, qw_u32 queue)
{
	(void)p;
	(void)now;
	(void)q;
	(void)k;
	if (s->packets[queue & 1])
		s->packets[queue & 1]--;
}

QW_SHARED struct qw_verdict
qw_cebinae_dequeue(struct qw_cebinae *s, const struct qw_cebinae_params *p,
		   qw_u64 now, const struct qw_queue *q,
		   const struct qw_packet *k, qw_u32 queue)
{
	qw_cebinae_evicted(s, p, now, q, k, queue);
	s->sent += k->bytes;
	qw_cebinae_count(s, k);
	qw_service_departure(&s->link, now, k->bytes, q->packets);
	return qw_pass();
}

static inline void qw_cebinae_idle(struct qw_cebinae *s,
				   const struct qw_cebinae_params *p,
				   qw_u64 now)
{
	qw_cebinae_catch_up(s, p, now);
}

/* Parameters and variables as qw.h says. */
#define QW_CEBINAE_PARAMS(P)                              \
	P("capacity", capacity, 0, 0, 1ULL << 40)         \
	P("dt", dt_ns, 0, 0, QW_NS_PER_SEC)               \
	P("tax", tax_q32, 0, 0, 1ULL << 32)               \
	P("delta_port", delta_port_q32, 0, 0, 1ULL << 32) \
	P("delta_flow", delta_flow_q32, 0, 0, 1ULL << 32) \
	P("rounds", rounds, 0, 1, 64)                     \
	P("count_drops", count_drops, 0, 0, 1)
#define QW_CEBINAE_PROBES(V)                 \
	V(s->saturated, 1)                   \
	V(s->top_flows, 1)                   \
	V(qw_cebinae_capacity(s, p), 125000) \
	V(s->dt_us, 1000)

#ifdef __cplusplus
}
#endif

#endif /* QW_CEBINAE_H */
