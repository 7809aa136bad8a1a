/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A RECONSTRUCTION of the single-queue fair queueing of Chen et al. (IEEE/ACM
 * ToN 32(5), 2024, SQ-WFQ), of which only the outline is public. There is one
 * FIFO. Each flow has C_f, what it was admitted so far. A round number r grows
 * with every departure, faster over a short queue and slower over a long one. A
 * packet is admitted if that does not take its flow too far ahead of the round.
 *
 * What the outline leaves open is chosen here, as said at each place: the form
 * of the growth, how far ahead is too far, and which flows are active. Active
 * are those that are ahead of the round, as in the fluid system that fair
 * queueing follows. One that wants less than its share is so for a part of the
 * time, and the others have what it leaves. Equal weights. The burst tolerance
 * of its second scheme (SQ-EWFQ) is left out. `random` is not used.
 */
#ifndef QW_CHEN_SFQ_H
#define QW_CHEN_SFQ_H

#include "qw.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Flows remembered, a power of two; two with the same place share its C_f. */
#ifndef QW_CHEN_SFQ_FLOWS
#define QW_CHEN_SFQ_FLOWS 65536u
#endif

/* A buffer without limit is taken for one of so many bytes. */
#define QW_CHEN_SFQ_NO_LIMIT (1u << 24)

/* What the round is ahead by is looked at in so many steps, a power of two. */
#define QW_CHEN_SFQ_STEPS 1024u
#define QW_CHEN_SFQ_STEP(n) ((n) & (QW_CHEN_SFQ_STEPS - 1))

struct qw_chen_sfq_params {
	qw_u32 depth_q32; /* queue to settle at, part of the buffer, 0.3; < 1 */
	qw_u32 ahead_q32; /* how far ahead a flow may be, of the buffer, 0.3 */
};

struct qw_chen_sfq_flow {
	qw_u64 admitted_q16; /* C_f, bytes of its own share; 0: never seen */
	qw_u64 step; /* that of C_f: it is active until the round is there */
};

struct qw_chen_sfq {
	qw_u64 round_q16; /* r, bytes of each flow's share */
	qw_u64 ahead_bytes; /* how far ahead a flow may be; 0: not known yet */
	qw_u64 step; /* of the round */
	/* Step `first` began at `base_q16`, each is 1 << shift long. */
	qw_u64 first, base_q16;
	qw_u32 shift;
	qw_u32 active; /* n: flows ahead of the round */
	qw_u32 count[QW_CHEN_SFQ_STEPS]; /* of those, by the step of C_f */
	struct qw_chen_sfq_flow flow[QW_CHEN_SFQ_FLOWS];
};

static inline void qw_chen_sfq_init(struct qw_chen_sfq *s,
				    const struct qw_chen_sfq_params *p,
				    qw_u64 now)
{
	(void)p;
	(void)now;
	s->round_q16 = 0;
	s->ahead_bytes = 0;
	s->step = 0;
	s->first = 0;
	s->base_q16 = 0;
	s->shift = 0;
	s->active = 0;
	/* All zero, a flow was never seen, and no step has one. */
}

/* Bytes of the buffer; those of a pool, if it shares one. */
static inline qw_u64 qw_chen_sfq_buffer(const struct qw_queue *q)
{
	qw_u64 bytes = qw_buffer_bytes(q);

	if (q->pool.limit_bytes && (!bytes || q->pool.limit_bytes < bytes))
		bytes = q->pool.limit_bytes;
	return bytes ? bytes : QW_CHEN_SFQ_NO_LIMIT;
}

/* part * whole, rounded down; whole < 2^48 */
static inline qw_u64 qw_chen_sfq_part(qw_u64 whole, qw_u32 part_q32)
{
	return ((whole >> 16) * part_q32 >> 16) +
	       ((whole & 0xffff) * part_q32 >> 32);
}

/* The round is at this step: who is not ahead of it any longer is not active. */
static inline void qw_chen_sfq_move(struct qw_chen_sfq *s, qw_u64 step)
{
	qw_u32 i, *count;

	QW_FOR (i, QW_CHEN_SFQ_STEPS) {
		if (s->step >= step)
			return;
		s->step++;
		count = &s->count[QW_CHEN_SFQ_STEP(s->step)];
		s->active -= *count;
		*count = 0;
	}
	if (s->step < step)
		s->step = step;
}

static inline qw_u64 qw_chen_sfq_step(const struct qw_chen_sfq *s,
				      qw_u64 at_q16)
{
	return s->first + ((at_q16 - s->base_q16) >> s->shift);
}

/* Another buffer: steps of another length, and flows are counted anew. */
static inline void qw_chen_sfq_size(struct qw_chen_sfq *s, qw_u64 ahead)
{
	qw_u64 most = ahead + 65536;
	qw_u32 i, shift = 16;

	/* `ahead` and a packet are 512 to 1023 steps. */
	QW_FOR (i, 48) {
		if (most < QW_CHEN_SFQ_STEPS)
			break;
		most >>= 1;
		shift++;
	}
	qw_chen_sfq_move(s, s->step + QW_CHEN_SFQ_STEPS);
	s->ahead_bytes = ahead;
	s->first = s->step;
	s->base_q16 = s->round_q16;
	s->shift = shift;
}

/* A flow has been admitted up to C_f: it is active while that is ahead. */
static inline void qw_chen_sfq_count(struct qw_chen_sfq *s,
				     struct qw_chen_sfq_flow *f)
{
	/* The nearest step: a flow that is ahead by less than half of one is not. */
	qw_u64 step =
		qw_chen_sfq_step(s, f->admitted_q16 + (1ULL << s->shift >> 1));

	/* Over an empty queue it may be ahead of that. */
	if (step > s->step + QW_CHEN_SFQ_STEPS - 1)
		step = s->step + QW_CHEN_SFQ_STEPS - 1;
	if (f->step > s->step) {
		s->count[QW_CHEN_SFQ_STEP(f->step)]--;
		s->active--;
	}
	f->step = step;
	if (step > s->step) {
		s->count[QW_CHEN_SFQ_STEP(step)]++;
		s->active++;
	}
}

static inline struct qw_verdict
qw_chen_sfq_enqueue(struct qw_chen_sfq *s, const struct qw_chen_sfq_params *p,
		    qw_u64 now, const struct qw_queue *q,
		    const struct qw_packet *k, qw_u32 random)
{
	struct qw_chen_sfq_flow *f =
		&s->flow[k->flow & (QW_CHEN_SFQ_FLOWS - 1)];
	qw_u64 bytes_q16 = (qw_u64)k->bytes << 16, from, ahead;

	(void)random;
	(void)now;
	if (qw_over_limit(q, k))
		return qw_drop(QW_REASON_LIMIT);
	/* Ours: a part of the buffer, two packets at least. */
	ahead = qw_chen_sfq_part(qw_chen_sfq_buffer(q), p->ahead_q32);
	if (ahead < 2 * QW_MTU)
		ahead = 2 * QW_MTU;
	if (ahead != s->ahead_bytes)
		qw_chen_sfq_size(s, ahead);
	/* A flow that was away has gained nothing by it. */
	from = f->admitted_q16 > s->round_q16 ? f->admitted_q16 : s->round_q16;
	if (q->bytes && from + bytes_q16 > s->round_q16 + (ahead << 16))
		return qw_drop(QW_REASON_THRESHOLD);
	f->admitted_q16 = from + bytes_q16;
	qw_chen_sfq_count(s, f);
	return qw_pass();
}

/* The round moves on by the departure's share of each active flow, times g(D).
 * Ours: g falls from 1 / (1 - depth) over an empty queue, through 1 at `depth`
 * of the buffer, to 0 over a full one, in a straight line: then flows that have
 * more to send than their share settle the queue at `depth`. */
static inline struct qw_verdict
qw_chen_sfq_dequeue(struct qw_chen_sfq *s, const struct qw_chen_sfq_params *p,
		    qw_u64 now, const struct qw_queue *q,
		    const struct qw_packet *k)
{
	qw_u64 buffer = qw_chen_sfq_buffer(q);
	qw_u64 left = q->bytes < buffer ? buffer - q->bytes : 0;
	qw_u64 rest = buffer - qw_chen_sfq_part(buffer, p->depth_q32);
	qw_u64 growth_q16;

	(void)now;
	if (!rest)
		rest = 1;
	/* len * g / n; a packet has up to 2^16 bytes, g stays below 2^10. */
	growth_q16 = qw_div(left << 10, rest);
	if (growth_q16 > 1u << 20)
		growth_q16 = 1u << 20;
	growth_q16 = qw_div(((qw_u64)k->bytes * growth_q16) << 6,
			    s->active ? s->active : 1);
	s->round_q16 += growth_q16;
	if (s->ahead_bytes)
		qw_chen_sfq_move(s, qw_chen_sfq_step(s, s->round_q16));
	return qw_pass();
}

static inline void qw_chen_sfq_idle(struct qw_chen_sfq *s,
				    const struct qw_chen_sfq_params *p,
				    qw_u64 now)
{
	(void)s;
	(void)p;
	(void)now;
	/* Ours: nothing. Who was admitted more than the round has come to waits for
	 * it; over an empty queue any packet passes. */
}

/* Parameters and variables as qw.h says. */
#define QW_CHEN_SFQ_PARAMS(P)                    \
	P("depth", depth_q32, 0, 0, 0xf0000000u) \
	P("ahead", ahead_q32, 0, 0, 0xffffffffu)
#define QW_CHEN_SFQ_PROBES(V) \
	V(s->active, 1)       \
	V(s->round_q16 >> 16, 1)

#ifdef __cplusplus
}
#endif

#endif /* QW_CHEN_SFQ_H */
