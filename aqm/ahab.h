/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * AHAB (MacDavid, Chen, Rexford: "Scalable real-time bandwidth fairness in
 * switches", INFOCOM 2023), as the comparison in "Santa" (NSDI 2026) ran it,
 * for one port. Every flow is held to a threshold rate T at the tail of the
 * queue. Each epoch T moves to where what is let through fits the link.
 *
 * A flow's rate is the least of three low-pass filters in a count-min sketch,
 * so the state is 115 kB however many flows pass. Flows that share all three
 * cells are held to T together. What T one step lower and one step higher would
 * have let through is filtered as well, and the new T is read off between.
 *
 * Filters and T are in Q6 of bytes per 500 us (Q6: 1 << 6 is 16 kbit/s): the
 * authors' unit, with room below. Departures from their program: T reaches 16
 * kbit/s (1 Mbit/s), and stays below 8 times the capacity (17 Tbit/s), so that
 * it is near when it is needed. What was let through is measured where it was
 * let through, and not behind the queue. Without being told, the capacity is
 * measured.
 */
#ifndef QW_AHAB_H
#define QW_AHAB_H

#include "service.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QW_AHAB_ROWS 3u
#define QW_AHAB_CELLS 2048u
/* Time between updates of T is 1 << 20 ns. */
#define QW_AHAB_EPOCH_SHIFT 20
/* 1,024 bytes per 500 us. */
#define QW_AHAB_INITIAL_T (1024ULL << 6)
#define QW_AHAB_LEAST_T (1ULL << 6)
#define QW_AHAB_MOST_T (1ULL << 32)
/* Rates are cut to this, 8 Tbit/s: a step of T times a rate fits in 64 bits. */
#define QW_AHAB_MOST_RATE (1ULL << 35)
/* log2(e) in Q16 << 24, divided by a time constant: its reciprocal in Q40. */
#define QW_AHAB_LOG2E_Q40 (94548ULL << 24)
/* Filters are cut to this: 2^38 bytes in one time constant. */
#define QW_AHAB_MOST_Q8 (1ULL << 46)

struct qw_ahab_params {
	qw_u64 capacity; /* bytes/s, 0: measured */
	qw_u64 use_q32; /* share of the capacity to fill, 0.98 */
	qw_u64 flow_ns; /* time constant of a flow's filter, 4 ms */
	qw_u64 link_ns; /* time constant of the link's filters, 16 ms */
	qw_u32 ecn; /* mark TCP where the sender allows, on */
};

/* A low-pass filter: bytes that decay with a time constant. At a steady rate
 * it stands at the rate times the constant. */
struct qw_ahab_filter {
	qw_u64 bytes_q8;
	qw_u64 since_ns;
};

/* Bytes that a flow may send before it is told to slow down. */
struct qw_ahab_allowance {
	qw_u32 mark_bytes;
	qw_u32 drop_bytes;
};

struct qw_ahab {
	qw_u64 threshold; /* T */
	qw_u64 epoch; /* number of the last one that had an update */
	qw_u64 since_ns; /* the link's filters were brought up to then */
	/* The link's filters: what came, what was let through, and what T one
	 * step lower and one higher would have let through. */
	qw_u64 demand_q8, through_q8, lower_q8, higher_q8;
	qw_u32 congested; /* demand exceeds the capacity */
	struct qw_service link;
	struct qw_ahab_filter flow[QW_AHAB_ROWS][QW_AHAB_CELLS];
	struct qw_ahab_allowance left[QW_AHAB_CELLS];
};

static inline void qw_ahab_init(struct qw_ahab *s,
				const struct qw_ahab_params *p, qw_u64 now)
{
	(void)p;
	s->threshold = QW_AHAB_INITIAL_T;
	s->epoch = now >> QW_AHAB_EPOCH_SHIFT;
	s->since_ns = now;
	s->demand_q8 = 0;
	s->through_q8 = 0;
	s->lower_q8 = 0;
	s->higher_q8 = 0;
	s->congested = 0;
	qw_service_init(&s->link);
	/* flow[] and left[] are zero already, as the host hands them in. */
}

/* value * 2^-y for y in Q30: shifts, and between them a polynomial of degree 4
 * that has 2^-f's slope and curvature at 0 and is 1.5e-5 off at most. */
static inline qw_u64 qw_ahab_decay(qw_u64 value_q8, qw_u64 y_q30)
{
	qw_u64 f = y_q30 & ((1u << 30) - 1), root_q30;

	if (y_q30 >> 30 >= 46)
		return 0;
	root_q30 = 58771288 - ((8220246 * f) >> 30);
	root_q30 = 257941248 - ((root_q30 * f) >> 30);
	root_q30 = 744261118 - ((root_q30 * f) >> 30);
	root_q30 = (1u << 30) - ((root_q30 * f) >> 30);
	value_q8 >>= y_q30 >> 30;
	return ((value_q8 >> 32) * root_q30 << 2) +
	       (((value_q8 & 0xffffffffu) * root_q30) >> 30);
}

/* Time in units of time constants / log2(e), in Q30. */
static inline qw_u64 qw_ahab_age_q30(qw_u64 elapsed_ns, qw_u64 constant_ns)
{
	/* Long gone; and what is below fits: 32 constants times log2(e) in
	 * Q40 are below 2^46. */
	if (elapsed_ns >= 32 * constant_ns)
		return 46ULL << 30;
	return (elapsed_ns * qw_div(QW_AHAB_LOG2E_Q40, constant_ns)) >> 10;
}

static inline qw_u64 qw_ahab_add(qw_u64 value_q8, qw_u32 bytes)
{
	value_q8 += (qw_u64)bytes << 8;
	return value_q8 < QW_AHAB_MOST_Q8 ? value_q8 : QW_AHAB_MOST_Q8;
}

/* A filter's rate. (500 us << 6 over the constant, and Q8: all in all the
 * constant's share of 125 us.) */
static inline qw_u64 qw_ahab_rate(qw_u64 value_q8, qw_u64 constant_ns)
{
	const qw_u64 unit_ns = 125 * QW_NS_PER_US;

	/* 46 bits times 17. */
	qw_u64 rate = qw_div(value_q8 * unit_ns, constant_ns);

	return rate < QW_AHAB_MOST_RATE ? rate : QW_AHAB_MOST_RATE;
}

/* The rate of the packet's flow, the packet included: the least of its cells. */
static inline qw_u64 qw_ahab_flow_rate(struct qw_ahab *s,
				       const struct qw_ahab_params *p,
				       qw_u64 now, const struct qw_packet *k)
{
	qw_u64 least_q8 = QW_AHAB_MOST_Q8;
	qw_u32 hash = k->flow, row;

	QW_FOR (row, QW_AHAB_ROWS) {
		struct qw_ahab_filter *f;

		/* Another hash of the flow for each row. */
		hash = hash * 0x9e3779b1u + 0x85ebca6bu;
		f = &s->flow[row][(hash >> 16) & (QW_AHAB_CELLS - 1)];
		f->bytes_q8 = qw_ahab_add(
			qw_ahab_decay(
				f->bytes_q8,
				qw_ahab_age_q30(now - f->since_ns, p->flow_ns)),
			k->bytes);
		f->since_ns = now;
		if (f->bytes_q8 < least_q8)
			least_q8 = f->bytes_q8;
	}
	return qw_ahab_rate(least_q8, p->flow_ns);
}

/* A step of T: 1/16 of its highest bit. */
static inline qw_u64 qw_ahab_step(qw_u64 threshold)
{
	qw_u64 bit = QW_AHAB_LEAST_T;
	qw_u32 i;

	QW_FOR (i, 26) {
		if (bit > threshold / 2)
			break;
		bit <<= 1;
	}
	return bit >> 4;
}

static inline qw_u64 qw_ahab_lower(qw_u64 threshold)
{
	return threshold > QW_AHAB_LEAST_T ?
		       threshold - qw_ahab_step(threshold) :
		       threshold;
}

static inline qw_u64 qw_ahab_higher(qw_u64 threshold)
{
	return threshold < QW_AHAB_MOST_T ?
		       threshold + qw_ahab_step(threshold) :
		       threshold;
}

/* The capacity to fill, in T's unit; 0: not known yet. */
static inline qw_u64 qw_ahab_capacity(const struct qw_ahab *s,
				      const struct qw_ahab_params *p)
{
	qw_u64 rate = p->capacity ? p->capacity : s->link.rate;

	if (rate > 1ULL << 40)
		rate = 1ULL << 40;
	/* 64 / 2000 per second is 4 / 125; in two steps it stays in 64 bits. */
	return (qw_div(rate * 4, 125) * (p->use_q32 >> 16)) >> 16;
}

/* The new T: where, by what its neighbours would have let through, the
 * capacity is met. */
static inline void qw_ahab_update(struct qw_ahab *s,
				  const struct qw_ahab_params *p)
{
	qw_u64 capacity = qw_ahab_capacity(s, p), t = s->threshold;
	qw_u64 through = qw_ahab_rate(s->through_q8, p->link_ns);
	qw_u64 lower = qw_ahab_rate(s->lower_q8, p->link_ns);
	qw_u64 higher = qw_ahab_rate(s->higher_q8, p->link_ns);
	qw_u64 most;

	if (!capacity)
		return;
	s->congested = qw_ahab_rate(s->demand_q8, p->link_ns) > capacity;
	if (capacity <= lower)
		t = qw_ahab_lower(t);
	else if (capacity >= higher)
		t = qw_ahab_higher(t);
	else if (through > capacity)
		t -= qw_div((t - qw_ahab_lower(t)) * (through - capacity),
			    through - lower);
	else if (through < capacity)
		t += qw_div((qw_ahab_higher(t) - t) * (capacity - through),
			    higher - through);

	most = 8 * capacity;
	if (t > most)
		t = most;
	s->threshold = t < QW_AHAB_LEAST_T ? QW_AHAB_LEAST_T :
		       t > QW_AHAB_MOST_T  ? QW_AHAB_MOST_T :
					     t;
}

/* Does a policer that lets rate `r` through with probability t / r? */
static inline int qw_ahab_lets_pass(qw_u64 t, qw_u64 r, qw_u32 random)
{
	/* 24 bits of dice: rates have up to 36. */
	return (random >> 8) * r < t << 24;
}

/* Use up an allowance; 1: it was used up and is renewed. */
static inline int qw_ahab_count_down(qw_u32 *left, qw_u32 bytes, int act,
				     qw_u64 again)
{
	if (*left >= bytes) {
		*left -= bytes;
		return 0;
	}
	*left = 0;
	if (act)
		*left = again < 0xffffffffu ? (qw_u32)again : 0xffffffffu;
	return act;
}

/* TCP is told once per so many bytes that are sent above T: a mark each 8 T,
 * a drop each 32 T. Far above T every packet is too much. */
QW_SHARED struct qw_verdict qw_ahab_tcp(struct qw_ahab *s,
					const struct qw_ahab_params *p,
					qw_u64 r, const struct qw_packet *k)
{
	struct qw_ahab_allowance *left =
		&s->left[k->flow & (QW_AHAB_CELLS - 1)];
	qw_u64 t = s->threshold;
	/* 1.5 by the authors' comment, 29/16 by their arithmetic. */
	int far = 16 * r > 29 * t, above = r > t, mark, drop;
	qw_u32 bytes = above ? k->bytes : k->bytes / 8;

	if (2 * r < t)
		return qw_pass();
	/* 8 and 32 times T without its Q6. */
	mark = qw_ahab_count_down(&left->mark_bytes, bytes, above,
				  far ? 0 : t >> 3);
	drop = qw_ahab_count_down(&left->drop_bytes, bytes, above,
				  far ? 0 : t >> 1);
	if (drop)
		return qw_drop(QW_REASON_THRESHOLD);
	if (mark)
		return qw_mark_or_drop(k, p->ecn != 0, QW_REASON_THRESHOLD);
	return qw_pass();
}

QW_SHARED struct qw_verdict
qw_ahab_enqueue(struct qw_ahab *s, const struct qw_ahab_params *p, qw_u64 now,
		const struct qw_queue *q, const struct qw_packet *k,
		qw_u32 random)
{
	qw_u64 r = qw_ahab_flow_rate(s, p, now, k), t = s->threshold;
	qw_u64 age_q30 = qw_ahab_age_q30(now - s->since_ns, p->link_ns);
	qw_u32 lower = k->bytes, higher = k->bytes;
	struct qw_verdict v = qw_pass();

	s->demand_q8 =
		qw_ahab_add(qw_ahab_decay(s->demand_q8, age_q30), k->bytes);
	s->through_q8 = qw_ahab_decay(s->through_q8, age_q30);
	s->lower_q8 = qw_ahab_decay(s->lower_q8, age_q30);
	s->higher_q8 = qw_ahab_decay(s->higher_q8, age_q30);
	s->since_ns = now;

	if (qw_over_limit(q, k)) {
		v = qw_drop(QW_REASON_LIMIT);
		lower = higher = 0;
	} else if (!qw_ahab_capacity(s, p)) {
		/* Not known: nothing to hold anybody to. */
	} else if (k->protocol == 6) {
		/* Which senders would have yielded to another T is not known:
		 * to a lower one as they did, to a higher one not at all. */
		v = qw_ahab_tcp(s, p, r, k);
		if (v.action == QW_DROP)
			lower = 0;
	} else if (s->congested) {
		if (!qw_ahab_lets_pass(t, r, random))
			v = qw_drop(QW_REASON_EARLY);
		if (!qw_ahab_lets_pass(qw_ahab_lower(t), r, random))
			lower = 0;
		if (!qw_ahab_lets_pass(qw_ahab_higher(t), r, random))
			higher = 0;
	}
	if (v.action != QW_DROP)
		s->through_q8 = qw_ahab_add(s->through_q8, k->bytes);
	s->lower_q8 = qw_ahab_add(s->lower_q8, lower);
	s->higher_q8 = qw_ahab_add(s->higher_q8, higher);

	/* The authors' epochs are driven by packets, too: in silence T rests. */
	if (s->epoch != now >> QW_AHAB_EPOCH_SHIFT) {
		s->epoch = now >> QW_AHAB_EPOCH_SHIFT;
		qw_ahab_update(s, p);
	}
	return v;
}

QW_SHARED struct qw_verdict
qw_ahab_dequeue(struct qw_ahab *s, const struct qw_ahab_params *p, qw_u64 now,
		const struct qw_queue *q, const struct qw_packet *k)
{
	(void)p;
	qw_service_departure(&s->link, now, k->bytes, q->packets);
	return qw_pass();
}

static inline void qw_ahab_idle(struct qw_ahab *s,
				const struct qw_ahab_params *p, qw_u64 now)
{
	(void)s;
	(void)p;
	(void)now;
}

/* Parameters and variables as qw.h says. */
#define QW_AHAB_PARAMS(P)                                               \
	P("capacity", capacity, 0, 0, 1ULL << 40)                       \
	P("utilisation", use_q32, 0, 0, 1ULL << 32)                     \
	P("flow_window", flow_ns, 0, 100 * QW_NS_PER_US, QW_NS_PER_SEC) \
	P("link_window", link_ns, 0, 100 * QW_NS_PER_US, QW_NS_PER_SEC) \
	P("ecn", ecn, 0, 0, 1)
/* 1 / 64 of a byte per 500 us is 250 bit/s. */
#define QW_AHAB_PROBES(V)              \
	V(s->threshold * 250, 1000000) \
	V(s->congested, 1)             \
	V(qw_ahab_capacity(s, p) * 250, 1000000)

#ifdef __cplusplus
}
#endif

#endif /* QW_AHAB_H */
