/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A RECONSTRUCTION of the single-queue fair queueing of Chen et al. (IEEE/ACM
 * ToN 32(5), 2024, SQ-WFQ), of which only the outline is public: one FIFO; for
 * each flow what it was admitted so far, C_f; a round number r that grows with
 * every departure, faster over a short queue and slower over a long one; a
 * packet is admitted if that does not take its flow too far ahead of the round.
 *
 * What the outline leaves open is chosen here, as said at each place: the form
 * of the growth, how far ahead is too far, and how active flows are counted.
 * Equal weights. The burst tolerance of its second scheme (SQ-EWFQ) is left
 * out. `random` is not used.
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

struct qw_chen_sfq_params {
	qw_u64 count_ns; /* a flow is active for so long after a packet, 100 ms */
	qw_u32 depth_q32; /* queue to settle at, part of the buffer, 0.3; < 1 */
	qw_u32 ahead_q32; /* how far ahead a flow may be, of the buffer, 0.3 */
};

struct qw_chen_sfq_flow {
	qw_u64 admitted_q16; /* C_f, bytes of its own share; 0: never seen */
	qw_u64 epoch; /* in which its last packet came, from 1 */
};

struct qw_chen_sfq {
	qw_u64 round_q16; /* r, bytes of each flow's share */
	qw_u64 epoch; /* present one, from 1 */
	qw_u32 counted; /* flows seen in it */
	qw_u32 active; /* n: seen in it, or in the last one if that were more */
	qw_u32 before; /* seen in the last one */
	qw_u32 unused;
	struct qw_chen_sfq_flow flow[QW_CHEN_SFQ_FLOWS];
};

static inline void qw_chen_sfq_init(struct qw_chen_sfq *s,
				    const struct qw_chen_sfq_params *p,
				    qw_u64 now)
{
	s->round_q16 = 0;
	s->epoch = 1 + qw_div(now, p->count_ns);
	s->counted = 0;
	s->active = 1;
	s->before = 0;
	s->unused = 0;
	/* All zero, a flow was never seen. */
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

/* Count active flows: those that sent in this epoch, or in the last one. */
static inline void qw_chen_sfq_count(struct qw_chen_sfq *s,
				     const struct qw_chen_sfq_params *p,
				     qw_u64 now, struct qw_chen_sfq_flow *f)
{
	qw_u64 epoch = 1 + qw_div(now, p->count_ns);

	if (epoch != s->epoch) {
		s->before = epoch == s->epoch + 1 ? s->counted : 0;
		s->counted = 0;
		s->epoch = epoch;
	}
	if (f->epoch != epoch) {
		f->epoch = epoch;
		s->counted++;
	}
	s->active = s->counted > s->before ? s->counted : s->before;
	if (!s->active)
		s->active = 1;
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
	qw_chen_sfq_count(s, p, now, f);
	if (qw_over_limit(q, k))
		return qw_drop(QW_REASON_LIMIT);
	/* A flow that was away has gained nothing by it. */
	from = f->admitted_q16 > s->round_q16 ? f->admitted_q16 : s->round_q16;
	/* Ours: a part of the buffer, two packets at least. */
	ahead = qw_chen_sfq_part(qw_chen_sfq_buffer(q), p->ahead_q32);
	if (ahead < 2 * QW_MTU)
		ahead = 2 * QW_MTU;
	if (q->bytes && from + bytes_q16 > s->round_q16 + (ahead << 16))
		return qw_drop(QW_REASON_THRESHOLD);
	f->admitted_q16 = from + bytes_q16;
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
	growth_q16 = qw_div(((qw_u64)k->bytes * growth_q16) << 6, s->active);
	s->round_q16 += growth_q16;
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
	P("ahead", ahead_q32, 0, 0, 0xffffffffu) \
	P("count_time", count_ns, 0, QW_NS_PER_MS, 10 * QW_NS_PER_SEC)
#define QW_CHEN_SFQ_PROBES(V) \
	V(s->active, 1)       \
	V(s->round_q16 >> 16, 1)

#ifdef __cplusplus
}
#endif

#endif /* QW_CHEN_SFQ_H */
