/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * COBALT, "CoDel and BLUE alternate" (J. Morton; Linux sch_cake, here for one
 * queue). Two laws side by side:
 *  - CoDel's for senders that react: while packets wait longer than `target`, a
 *    signal every interval / sqrt(count). When they no longer do, `count` is not
 *    forgotten but walks back along the same schedule;
 *  - BLUE's for those that do not. Its drop probability goes up whenever the
 *    buffer overflows, and down whenever the queue runs empty, at most one step
 *    of either in a `target`. It drops whatever ECN says.
 *
 * This is Linux in all but two points. An overflow costs the arriving packet,
 * as there is no longest queue to drop from. And BLUE goes down, and count
 * back, when the queue has run empty. Linux does that to an empty queue when
 * the turn comes to it while others have packets: to one that is alone never.
 */
#ifndef QW_COBALT_H
#define QW_COBALT_H

#include "dice.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Steps of a walk back at one packet. One takes interval / sqrt(count): so many
 * are 51 s of silence at 100 ms, of a count that a flood needs as long for. */
#define QW_COBALT_MAX_STEPS 65536u
/* Up to here 1 / sqrt(count) is exact, beyond a Newton step follows it. */
#define QW_COBALT_CACHE 16u

struct qw_cobalt_params {
	qw_u64 target_ns; /* sojourn that is fine to stand, 5 ms */
	qw_u64 interval_ns; /* about the longest common RTT, 100 ms */
	qw_u64 mtu_time_ns; /* link's time for a full packet, 0: negligible */
	qw_u64 p_inc_q32; /* BLUE's step up, 1/256 */
	qw_u64 p_dec_q32; /* BLUE's step down, 1/4096 */
	qw_u32 ecn; /* mark instead of drop where the sender allows, on */
};

struct qw_cobalt {
	qw_u64 drop_next_ns; /* next signal; without count: activity ends */
	qw_u64 blue_ns; /* BLUE's last step */
	struct qw_dice dice;
	qw_u32 count; /* signals since the phase began, with memory */
	qw_u32 dropping; /* above target */
	qw_u32 rec_inv_sqrt_q32; /* 1 / sqrt(count), below 1 << 32 */
	qw_u32 p_drop_q32; /* BLUE's probability, below 1 << 32 */
};

static inline void qw_cobalt_init(struct qw_cobalt *s,
				  const struct qw_cobalt_params *p, qw_u64 now)
{
	(void)p;
	s->drop_next_ns = now;
	/* BLUE's first step waits for nothing. */
	s->blue_ns = now - (1ULL << 63);
	s->dice.state = 0;
	s->count = 0;
	s->dropping = 0;
	/* As in Linux: a new queue signals without an interval before. */
	s->rec_inv_sqrt_q32 = 0;
	s->p_drop_q32 = 0;
}

/* 1 / sqrt(count) after count moved by one: looked up, or by one Newton step
 * x' = x (3 - count x^2) / 2. */
static inline void qw_cobalt_root(struct qw_cobalt *s)
{
	/* 2^32 / sqrt(count), cut to whole numbers, but for 0 and 1. */
	static const qw_u32 cache[QW_COBALT_CACHE] = {
		0xffffffffu, 0xffffffffu, 0xb504f334u, 0x93cd3a2du,
		0x7fffffffu, 0x727c9717u, 0x6882f5c0u, 0x60c2479bu,
		0x5a82799au, 0x55555555u, 0x50f44d8au, 0x4d2fd8f4u,
		0x49e69d17u, 0x47006a81u, 0x446b3b96u, 0x4219528cu,
	};
	qw_u64 x = s->rec_inv_sqrt_q32, rest_q32;

	if (s->count < QW_COBALT_CACHE) {
		s->rec_inv_sqrt_q32 =
			cache[qw_index(s->count) & (QW_COBALT_CACHE - 1)];
		return;
	}
	rest_q32 = (3ULL << 32) - s->count * ((x * x) >> 32);
	/* >> 2 before the product keeps it in 64 bits; 31 = 32 - 2 + 1 takes
	 * that back and halves. */
	s->rec_inv_sqrt_q32 = (qw_u32)(((rest_q32 >> 2) * x) >> 31);
}

/* CoDel's control law from time `t` on. As in Linux, only the lower 32 bits of the
 * interval count: cake.h's may be above 4.29 s. */
static inline void qw_cobalt_schedule(struct qw_cobalt *s,
				      const struct qw_cobalt_params *p,
				      qw_u64 t)
{
	s->drop_next_ns =
		t +
		(((qw_u64)(qw_u32)p->interval_ns * s->rec_inv_sqrt_q32) >> 32);
}

static inline void qw_cobalt_step_back(struct qw_cobalt *s,
				       const struct qw_cobalt_params *p)
{
	s->count--;
	qw_cobalt_root(s);
	qw_cobalt_schedule(s, p, s->drop_next_ns);
}

/* The buffer overflowed: BLUE goes up, and CoDel's next signal is due. */
static inline void qw_cobalt_full(struct qw_cobalt *s,
				  const struct qw_cobalt_params *p, qw_u64 now)
{
	if (now - s->blue_ns > p->target_ns) {
		qw_u64 up = s->p_drop_q32 + p->p_inc_q32;

		s->p_drop_q32 = up < 0xffffffffu ? (qw_u32)up : 0xffffffffu;
		s->blue_ns = now;
	}
	s->dropping = 1;
	s->drop_next_ns = now;
	if (!s->count)
		s->count = 1;
}

QW_SHARED struct qw_verdict
qw_cobalt_enqueue(struct qw_cobalt *s, const struct qw_cobalt_params *p,
		  qw_u64 now, const struct qw_queue *q,
		  const struct qw_packet *k, qw_u32 random)
{
	qw_dice_feed(&s->dice, random);
	if (!qw_over_limit(q, k))
		return qw_pass();
	qw_cobalt_full(s, p, now);
	return qw_drop(QW_REASON_LIMIT);
}

/* What becomes of a packet that came to the head. A wait of no more than `floor_ns`
 * is never too long; `last`: none waits behind it. */
QW_SHARED struct qw_verdict qw_cobalt_decide(struct qw_cobalt *s,
					     const struct qw_cobalt_params *p,
					     qw_u64 now,
					     const struct qw_packet *k,
					     qw_u64 floor_ns, int last)
{
	qw_u64 sojourn_ns = now > k->enqueue_ns ? now - k->enqueue_ns : 0;
	/* Is the schedule behind? As it was when this packet came up, but for
	 * what the law itself changes about it below. */
	int due = now >= s->drop_next_ns, late = now > s->drop_next_ns;
	struct qw_verdict v = qw_pass();
	int flooded;
	qw_u32 i;

	due = due && s->count;
	if (sojourn_ns > p->target_ns && sojourn_ns > floor_ns) {
		if (!s->dropping)
			qw_cobalt_schedule(s, p, now);
		s->dropping = 1;
		if (!s->count)
			s->count = 1;
	} else {
		s->dropping = 0;
	}

	if (due && s->dropping) {
		v = qw_mark_or_drop(k, p->ecn != 0, QW_REASON_SOJOURN);
		if (s->count < 0xffffffffu)
			s->count++;
		qw_cobalt_root(s);
		qw_cobalt_schedule(s, p, s->drop_next_ns);
		late = now > s->drop_next_ns;
	} else if (due) {
		QW_FOR (i, QW_COBALT_MAX_STEPS) {
			if (!s->count || now < s->drop_next_ns)
				break;
			qw_cobalt_step_back(s, p);
		}
		late = now > s->drop_next_ns;
	}

	flooded = v.action != QW_DROP && s->p_drop_q32 &&
		  qw_dice_roll(&s->dice) < s->p_drop_q32;

	/* The schedule never lags behind, or a phase would begin with all that
	 * is overdue; without a count it is a time-out for activity. */
	if (!s->count)
		s->drop_next_ns = now + p->interval_ns;
	else if (late && v.action != QW_DROP && !flooded)
		s->drop_next_ns = now;

	/* The last packet of a queue is worth more than the signal. */
	if (last)
		return v.action == QW_DROP ? qw_pass() : v;
	return flooded ? qw_drop(QW_REASON_EARLY) : v;
}

QW_SHARED struct qw_verdict qw_cobalt_dequeue(struct qw_cobalt *s,
					      const struct qw_cobalt_params *p,
					      qw_u64 now,
					      const struct qw_queue *q,
					      const struct qw_packet *k)
{
	/* A link so slow that a few packets are a long queue gets a target
	 * of four of them. */
	return qw_cobalt_decide(s, p, now, k, 4 * p->mtu_time_ns, !q->packets);
}

/* The queue ran empty: BLUE goes down, and count walks back. */
static inline void qw_cobalt_idle(struct qw_cobalt *s,
				  const struct qw_cobalt_params *p, qw_u64 now)
{
	if (s->p_drop_q32 && now - s->blue_ns > p->target_ns) {
		s->p_drop_q32 = s->p_drop_q32 > p->p_dec_q32 ?
					s->p_drop_q32 - (qw_u32)p->p_dec_q32 :
					0;
		s->blue_ns = now;
	}
	s->dropping = 0;
	if (s->count && now >= s->drop_next_ns)
		qw_cobalt_step_back(s, p);
}

/* Parameters and variables as qw.h says. */
#define QW_COBALT_PARAMS(P)                                 \
	P("target", target_ns, 0, 0, 10 * QW_NS_PER_SEC)    \
	P("interval", interval_ns, 0, 0, 4 * QW_NS_PER_SEC) \
	P("mtu_time", mtu_time_ns, 0, 0, QW_NS_PER_SEC)     \
	P("p_inc", p_inc_q32, 0, 0, 1ULL << 32)             \
	P("p_dec", p_dec_q32, 0, 0, 1ULL << 32)             \
	P("ecn", ecn, 0, 0, 1)
#define QW_COBALT_PROBES(V) \
	V(s->count, 1)      \
	V(s->dropping, 1)   \
	V(s->p_drop_q32, 1ULL << 32)

#ifdef __cplusplus
}
#endif

#endif /* QW_COBALT_H */
