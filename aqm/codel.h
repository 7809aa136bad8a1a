/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CoDel, "controlled delay" (RFC 8289): drop at the head of the queue once
 * packets have waited longer than `target` for a whole `interval`. The longer
 * that lasts, the faster it drops: the gap between drops is interval /
 * sqrt(count).
 *
 * RFC 8289 states the rule as a loop over the queue inside dequeue. Here the
 * host holds the loop: it offers one head packet at a time, and after a drop
 * offers the next. What the RFC keeps in its program counter between two
 * packets of one loop is kept in `after_drop`.
 *
 * Where RFC 8289's pseudocode and Linux differ, this is Linux. The inverse
 * square root is by one Newton step a drop in 16 bits. The packet-length floor
 * is a parameter (`mtu_bytes`) instead of the longest packet seen. The
 * comparison with the end of the first interval is strict, and the drops of one
 * dequeue are bounded. All times are in whole ticks of 1024 ns. `random` is not
 * used.
 */
#ifndef QW_CODEL_H
#define QW_CODEL_H

#include "qw.h"

#ifdef __cplusplus
extern "C" {
#endif

struct qw_codel_params {
	qw_u64 target_ns; /* sojourn that is fine to stand, 5 ms */
	qw_u64 interval_ns; /* about the longest common RTT, 100 ms; < 2^47 */
	qw_u64 ce_threshold_ns; /* mark above this sojourn, 0: off */
	qw_u32 ce_ect1; /* whom: 0 any ECT, 1 ECT(1) alone */
	qw_u32 mtu_bytes; /* never drop with no more than this waiting, 1514 */
	qw_u32 ecn; /* mark instead of drop where the sender allows */
};

/* What the previous call of the same loop did. */
#define QW_CODEL_NO_DROP 0u
#define QW_CODEL_ENTERED 1u /* its drop began a dropping phase */
#define QW_CODEL_REPEATED 2u /* its drop was a further one of a phase */

/* Further drops that one dequeue makes at most (CODEL_MAX_DROPS_PER_DEQUEUE). */
#define QW_CODEL_MOST_DROPS 256u
/* A tick is 2^10 ns (CODEL_SHIFT). */
#define QW_CODEL_TICK_SHIFT 10

struct qw_codel {
	qw_u64 first_above; /* sojourn above target at this tick: bad; 0: not */
	qw_u64 drop_next; /* next drop of this, or of the last phase; 0: none */
	qw_u32 count; /* drops since the phase began, with memory */
	qw_u32 lastcount; /* count at the last phase's begin */
	qw_u32 dropping; /* in a dropping phase */
	qw_u32 after_drop; /* QW_CODEL_* */
	qw_u32 drops; /* further drops of the loop under way */
	qw_u32 rec_inv_sqrt_q16; /* about 1 / sqrt(count), below 1 << 16 */
};

static inline void qw_codel_init(struct qw_codel *s,
				 const struct qw_codel_params *p, qw_u64 now)
{
	(void)p;
	(void)now;
	s->first_above = 0;
	s->drop_next = 0;
	s->count = 0;
	s->lastcount = 0;
	s->dropping = 0;
	s->after_drop = QW_CODEL_NO_DROP;
	s->drops = 0;
	s->rec_inv_sqrt_q16 = 0;
}

QW_SHARED struct qw_verdict
qw_codel_enqueue(struct qw_codel *s, const struct qw_codel_params *p,
		 qw_u64 now, const struct qw_queue *q,
		 const struct qw_packet *k, qw_u32 random)
{
	(void)s;
	(void)p;
	(void)now;
	(void)random;
	return qw_over_limit(q, k) ? qw_drop(QW_REASON_LIMIT) : qw_pass();
}

/* One Newton step for x = 1 / sqrt(count): x' = x (3 - count x^2) / 2.
 * x is kept in 16 bits and worked on in 32, as in Linux: count changes by one
 * at a time, so a step is enough, and the law's trace is the same. Where FQ-CoDel
 * has raised it by a batch, the step wraps in 64 bits and is cut to 16. */
static inline void qw_codel_newton_step(struct qw_codel *s)
{
	qw_u64 x_q32 = (qw_u64)s->rec_inv_sqrt_q16 << 16;
	qw_u64 xx_q32 = (x_q32 * x_q32) >> 32;
	qw_u64 rest_q32 = (3ULL << 32) - s->count * xx_q32;

	/* >> 2 before the product keeps it in 64 bits; 31 = 32 - 2 + 1 takes
	 * that back and halves. */
	s->rec_inv_sqrt_q16 =
		(qw_u32)((((rest_q32 >> 2) * x_q32) >> 31) >> 16) & 0xffff;
}

static inline qw_u64 qw_codel_ticks(qw_u64 ns)
{
	return ns >> QW_CODEL_TICK_SHIFT;
}

/* RFC 8289 section 5.2 control_law(): the drop after the one at `t`, no sooner
 * than the next tick. */
static inline qw_u64 qw_codel_control_law(const struct qw_codel *s,
					  const struct qw_codel_params *p,
					  qw_u64 t)
{
	qw_u64 gap = (qw_codel_ticks(p->interval_ns) * s->rec_inv_sqrt_q16) >>
		     16;

	return t + (gap > 1 ? gap : 1);
}

/* RFC 8289 section 5.5 dodequeue(): has the sojourn been above target for a
 * whole interval? */
static inline int qw_codel_is_bad(struct qw_codel *s,
				  const struct qw_codel_params *p, qw_u64 now,
				  const struct qw_queue *q, qw_u64 sojourn)
{
	if (sojourn < qw_codel_ticks(p->target_ns) ||
	    q->bytes <= p->mtu_bytes) {
		s->first_above = 0;
		return 0;
	}
	if (!s->first_above) {
		s->first_above = now + qw_codel_ticks(p->interval_ns);
		return 0;
	}
	return now > s->first_above;
}

/* First drop of a phase. If the last phase is less than 16 intervals past,
 * go on from the drop rate that it ended with (RFC 8289 section 5.4). */
QW_SHARED struct qw_verdict qw_codel_enter(struct qw_codel *s,
					   const struct qw_codel_params *p,
					   qw_u64 now,
					   const struct qw_packet *k)
{
	struct qw_verdict v =
		qw_mark_or_drop(k, p->ecn != 0, QW_REASON_SOJOURN);
	qw_u32 gained = s->count - s->lastcount;

	if (gained > 1 && s->drop_next &&
	    now < s->drop_next + 16 * qw_codel_ticks(p->interval_ns)) {
		s->count = gained;
		qw_codel_newton_step(s);
	} else {
		s->count = 1;
		s->rec_inv_sqrt_q16 = 0xffff;
	}
	s->lastcount = s->count;
	s->drop_next = qw_codel_control_law(s, p, now);
	s->dropping = 1;
	if (v.action == QW_DROP)
		s->after_drop = QW_CODEL_ENTERED;
	return v;
}

/* A further drop of a phase. */
QW_SHARED struct qw_verdict qw_codel_repeat(struct qw_codel *s,
					    const struct qw_codel_params *p,
					    const struct qw_packet *k)
{
	struct qw_verdict v =
		qw_mark_or_drop(k, p->ecn != 0, QW_REASON_SOJOURN);

	s->count++;
	qw_codel_newton_step(s);
	/* After a drop the law moves on only if the next packet is bad too. */
	if (v.action == QW_DROP)
		s->after_drop = QW_CODEL_REPEATED;
	else
		s->drop_next = qw_codel_control_law(s, p, s->drop_next);
	return v;
}

QW_SHARED struct qw_verdict qw_codel_dequeue(struct qw_codel *s,
					     const struct qw_codel_params *p,
					     qw_u64 now_ns,
					     const struct qw_queue *q,
					     const struct qw_packet *k)
{
	qw_u64 now = qw_codel_ticks(now_ns);
	qw_u64 since = qw_codel_ticks(k->enqueue_ns);
	qw_u64 sojourn = now > since ? now - since : 0;
	int bad = qw_codel_is_bad(s, p, now, q, sojourn);
	qw_u32 after_drop = s->after_drop;
	struct qw_verdict v = qw_pass();

	s->after_drop = QW_CODEL_NO_DROP;
	if (after_drop == QW_CODEL_ENTERED) {
		/* The drop that opens a phase is never followed by another in
		 * the same loop, whatever state this packet is in. */
	} else if (!s->dropping) {
		if (bad)
			v = qw_codel_enter(s, p, now, k);
	} else if (!bad) {
		s->dropping = 0;
	} else {
		if (after_drop == QW_CODEL_REPEATED)
			s->drop_next = qw_codel_control_law(s, p, s->drop_next);
		else
			s->drops = 0;
		if (now < s->drop_next) {
			/* Not yet. */
		} else if (s->drops < QW_CODEL_MOST_DROPS) {
			s->drops++;
			v = qw_codel_repeat(s, p, k);
		} else {
			/* Too far behind its schedule. */
			s->drop_next = qw_codel_control_law(s, p, now);
		}
	}

	/* Linux: a plain step, for congestion controls of the DCTCP kind; it
	 * does not ask whether `ecn` is set. */
	if (v.action == QW_PASS && p->ce_threshold_ns &&
	    sojourn > qw_codel_ticks(p->ce_threshold_ns) &&
	    (p->ce_ect1 ? k->ecn == QW_ECT1 : k->ecn != QW_NOT_ECT)) {
		v.action = QW_MARK;
		v.reason = QW_REASON_THRESHOLD;
	}
	return v;
}

static inline void qw_codel_idle(struct qw_codel *s,
				 const struct qw_codel_params *p, qw_u64 now)
{
	(void)p;
	(void)now;
	/* A drop leaves more than mtu_bytes behind, so that no loop ends here
	 * but one that found the queue empty to begin with. */
	s->dropping = 0;
	s->first_above = 0;
	s->after_drop = QW_CODEL_NO_DROP;
}

/* Parameters and variables as qw.h says. */
#define QW_CODEL_PARAMS(P)                                           \
	P("target", target_ns, 0, 0, 10 * QW_NS_PER_SEC)             \
	P("interval", interval_ns, 0, 1, 60 * QW_NS_PER_SEC)         \
	P("ecn", ecn, 0, 0, 1)                                       \
	P("ce_threshold", ce_threshold_ns, 0, 0, 10 * QW_NS_PER_SEC) \
	P("mtu", mtu_bytes, 0, 0, 65535)
#define QW_CODEL_PROBES(V) \
	V(s->count, 1)     \
	V(s->dropping, 1)

#ifdef __cplusplus
}
#endif

#endif /* QW_CODEL_H */
