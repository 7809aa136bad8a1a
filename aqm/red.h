/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RED, "random early detection" (Floyd and Jacobson 1993), with the arithmetic
 * of Linux's sch_red and of the tc that sets it up. It looks at an average of
 * the queue over the arrivals. Below `min` all is well, above `max` every
 * packet is marked or dropped. Between them it is one in about 1 / p, and not
 * two in a row, where p rises with the average from 0 to max_P.
 *
 * It departs from Linux in that
 *  - numbers are 64 bits wide;
 *  - thresholds and burst have defaults, from the limit of the buffer, as
 *    tc-red(8) has them, and follow the limit if the host changes it;
 *  - a burst that tc refuses as too small is raised to what it suggests;
 *  - `gentle` (Floyd 2000) is offered; Linux has no such thing;
 *  - the idle link's clock is what it was meant to be, see QW_RED_IDLE_US.
 */
#ifndef QW_RED_H
#define QW_RED_H

#include "qw.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QW_RED_ONE_Q32 (1ULL << 32)
/* Longest queue and threshold, so that products with a count or with a Q32
 * number fit in 64 bits. */
#define QW_RED_MAX_BYTES (1ULL << 31)
/* 8.8 Tbit/s, so that a product with ARED's target fits, too. */
#define QW_RED_MAX_RATE (1ULL << 40)
/* The limit taken where the buffer has none: Linux's 1000 packets. */
#define QW_RED_NO_LIMIT (1000ULL * QW_MTU)
#define QW_RED_MAX_WLOG 31u
/* Cells of the idle table; the last one forgets all (tc: a shift by 31). */
#define QW_RED_CELLS 255u
#define QW_RED_MAX_SHIFT 31u
#define QW_RED_ONE_Q48 (1ULL << 48)

/* The clock of an idle link, in which the packets that it could have sent age
 * the average. tc makes its table for a clock of 64 ns, the kernel reads it in
 * microseconds: a real Linux forgets 15.6 times more slowly than it was meant
 * to. QW_RED_IDLE_US means what was meant. Below htb it never runs: the kernel
 * starts it where it asks an empty queue for a packet, which htb does not do. */
#define QW_RED_IDLE_US 0u
#define QW_RED_IDLE_TC 1u
#define QW_RED_IDLE_NEVER 2u

struct qw_red_params {
	qw_u64 min_bytes; /* average below which all pass, 0: max / 3 */
	qw_u64 max_bytes; /* average above which none does, 0: 3 min, or, if
			   * min is 0 too, a quarter of the buffer */
	qw_u64 probability_q32; /* max_P, at `max`, 0.02 */
	qw_u64 bandwidth; /* bytes/s, of the idle link, 10 Mbit/s */
	qw_u32 avpkt_bytes; /* average packet, 1000; > 0 */
	qw_u32 burst; /* packets that an average at 0 lets pass, 0:
		       * (2 min + max) / (3 avpkt) */
	qw_u32 ecn; /* mark instead of drop where the sender allows */
	qw_u32 harddrop; /* but drop above max */
	qw_u32 nodrop; /* with ecn: only ever mark, drop nothing early */
	qw_u32 gentle; /* between max and 2 max p rises from max_P to 1 */
	qw_u32 idle_clock; /* QW_RED_IDLE_* */
};

#define QW_RED_NONE (~0ULL)
#define QW_RED_NO_COUNT (~0u)

struct qw_red {
	/* As told by parameters or qw_red_tune(); ARED moves max_p itself. */
	qw_u64 told_min_bytes, told_max_bytes;
	qw_u64 max_p_q32;
	/* The buffer that all below was made for, 0: none. */
	qw_u64 limit_bytes;
	qw_u32 made; /* 0: nothing is made yet */

	qw_u32 wlog; /* the average's weight is 2^-wlog */
	qw_u64 min_bytes, max_bytes; /* in force */
	qw_u64 delta_bytes; /* between them, >= 1 */
	qw_u64 cell_q48; /* shift of the average by a cell of idle time */
	qw_u32 cell_log; /* a cell is 2^cell_log us */

	qw_u32 count; /* arrivals since the last mark, QW_RED_NO_COUNT: the
		       * average was not between the thresholds */
	qw_u32 random; /* drawn at the last mark */
	qw_u32 nearest; /* the chance of a byte is rounded, not cut */
	qw_u64 r_bytes; /* count * (avg - min) that makes the next one */
	qw_u64 avg; /* bytes << wlog */
	qw_u64 idle_ns; /* when the link fell idle, QW_RED_NONE: it is not */
};

/* ---- from what users say to what the rule needs: not per packet ---- */

/* a * b of 62 fractional bits, both at most 1 << 62, without a product of 128
 * bits: the halves' lowest product is below the last digit. */
static inline qw_u64 qw_red_mul_q62(qw_u64 a, qw_u64 b)
{
	const qw_u64 low = (1ULL << 31) - 1;
	qw_u64 cross = (a >> 31) * (b & low) + (a & low) * (b >> 31);

	return (a >> 31) * (b >> 31) + (cross >> 31);
}

/* 1 - (1 - 2^-wlog)^n */
static inline qw_u64 qw_red_forgotten_q62(qw_u32 wlog, qw_u32 n)
{
	const qw_u64 one = 1ULL << 62;
	qw_u64 power = one, base = one - (one >> wlog);
	qw_u32 i;

	QW_FOR (i, 32) {
		if (!n)
			break;
		if (n & 1)
			power = qw_red_mul_q62(power, base);
		base = qw_red_mul_q62(base, base);
		n >>= 1;
	}
	/* What a double cannot tell from 0 here, tc does not: it decides where
	 * burst + 1 - min / avpkt is a power of two, as often it is. */
	return power > 1 << 8 ? one - power : one;
}

/* tc_red_eval_ewma(): the smallest wlog with which a burst of so many packets
 * into an empty queue leaves the average below min (Floyd and Jacobson 1993,
 * section 6): burst + 1 - min / avpkt <= (1 - (1 - W)^burst) / W, W = 2^-wlog.
 * No weight does that below one packet, where tc gives up and this takes two. */
static inline qw_u32 qw_red_wlog(qw_u64 min_bytes, qw_u32 burst, qw_u32 avpkt)
{
	qw_u64 left;
	qw_u32 i;

	if (min_bytes <= avpkt)
		min_bytes = 2ULL * avpkt;
	if ((qw_u64)burst * avpkt < min_bytes)
		burst = (qw_u32)qw_div(min_bytes, avpkt) + 1;
	left = ((qw_u64)burst + 1) * avpkt - min_bytes;
	QW_FOR (i, QW_RED_MAX_WLOG) {
		qw_u64 w = (qw_u64)avpkt << (i + 1);

		if (left <=
		    qw_red_mul_q62(w, qw_red_forgotten_q62(i + 1, burst)))
			return i + 1;
	}
	return QW_RED_MAX_WLOG;
}

/* -ln(1 - 2^-wlog), by its series. */
static inline qw_u64 qw_red_ln_q48(qw_u32 wlog)
{
	qw_u64 sum = 0, power = QW_RED_ONE_Q48;
	qw_u32 i;

	QW_FOR (i, 48) {
		power >>= wlog;
		if (!power)
			break;
		sum += qw_div(power, i + 1);
	}
	return sum;
}

/* tc_red_eval_idle_damping(): in a cell of idle time the link could have sent
 * m packets, each of which would have taken the average down by 1 - W. tc
 * tabulates the shift right that this comes to, -m ln(1 - W), for 255 cells;
 * it grows by the same amount with each cell, so one number is enough. The cell
 * is the power of two that makes the table end at a shift of 31, or soon after
 * half of its length. (For a shift, log2 should stand for ln; tc has ln.) */
static inline void qw_red_set_idle(struct qw_red *s,
				   const struct qw_red_params *p,
				   qw_u64 bandwidth)
{
	const qw_u64 enough = 31 * (QW_RED_ONE_Q48 >> 9); /* 31 / 512 */
	qw_u64 ns = qw_div(p->avpkt_bytes * QW_NS_PER_SEC, bandwidth);
	qw_u64 ln = qw_red_ln_q48(s->wlog), rest;
	qw_u32 i;

	if (p->idle_clock != QW_RED_IDLE_US) {
		/* From whole microseconds, of which tc has at least one here, to
		 * ticks of 64 ns, which the kernel will take for microseconds. */
		ns = qw_div(ns, 1000);
		ns = ((ns ? ns : 1) * 1000) >> 6;
	} else {
		ln *= 1000; /* per microsecond; below 2^58 */
	}
	if (!ns)
		ns = 1;
	/* Long division: digits beyond Q48 as the cell doubles. */
	s->cell_q48 = qw_div(ln, ns);
	rest = ln - s->cell_q48 * ns;
	s->cell_log = 0;
	QW_FOR (i, 31) {
		if (s->cell_q48 > enough)
			break;
		rest <<= 1;
		s->cell_q48 <<= 1;
		if (rest >= ns) {
			rest -= ns;
			s->cell_q48++;
		}
		s->cell_log++;
	}
	/* No shift is above 31, and 255 cells of this fit in 64 bits. */
	if (s->cell_q48 > (qw_u64)QW_RED_CELLS << 48)
		s->cell_q48 = (qw_u64)QW_RED_CELLS << 48;
}

/* R, uniform between 0 and (max - min) / max_P, of which Linux makes a whole
 * number of 2^-32 a byte, one at least: cut (red_set_parms()), and to the
 * nearest since ARED's first tick (red_adaptative_algo()). */
static inline void qw_red_set_r(struct qw_red *s)
{
	qw_u64 half = s->nearest ? s->delta_bytes / 2 : 0;
	qw_u64 per_byte_q32 = qw_div(s->max_p_q32 + half, s->delta_bytes);

	s->r_bytes = s->max_p_q32 ? qw_div(s->random,
					   per_byte_q32 ? per_byte_q32 : 1) :
				    QW_RED_NONE;
}

/* Thresholds and weight from here on; the average stays what it is. */
static inline void qw_red_set(struct qw_red *s, qw_u64 min_bytes,
			      qw_u64 max_bytes, qw_u32 wlog)
{
	if (wlog > s->wlog)
		s->avg <<= wlog - s->wlog;
	else
		s->avg >>= s->wlog - wlog;
	s->wlog = wlog;
	s->min_bytes = min_bytes < QW_RED_MAX_BYTES ? min_bytes :
						      QW_RED_MAX_BYTES;
	s->max_bytes = max_bytes < QW_RED_MAX_BYTES ? max_bytes :
						      QW_RED_MAX_BYTES;
	/* max at or below min: a step at min, as DCTCP wants it. */
	if (s->max_bytes < s->min_bytes)
		s->max_bytes = s->min_bytes;
	s->delta_bytes = s->max_bytes - s->min_bytes;
	if (!s->delta_bytes)
		s->delta_bytes = 1;
	qw_red_set_r(s);
}

/* Is all made for the buffer that the host shows? If not, it is to be made. */
static inline int qw_red_fits(struct qw_red *s, const struct qw_queue *q)
{
	qw_u64 limit_bytes = qw_buffer_part(q);

	if (s->made && s->limit_bytes == limit_bytes)
		return 1;
	s->limit_bytes = limit_bytes;
	s->made = 1;
	return 0;
}

/* tc-red(8)'s defaults for what is not told. */
static inline void qw_red_make(struct qw_red *s, const struct qw_red_params *p,
			       qw_u64 bandwidth)
{
	qw_u64 min = s->told_min_bytes, max = s->told_max_bytes, burst;

	if (!max)
		max = min	     ? 3 * min :
		      s->limit_bytes ? s->limit_bytes / 4 :
				       QW_RED_NO_LIMIT / 4;
	if (max > QW_RED_MAX_BYTES)
		max = QW_RED_MAX_BYTES;
	if (!min)
		min = qw_div(max, 3);
	burst = p->burst;
	if (!burst)
		burst = qw_div(2 * min + max, 3 * (qw_u64)p->avpkt_bytes);
	qw_red_set(s, min, max,
		   qw_red_wlog(min, (qw_u32)burst, p->avpkt_bytes));
	qw_red_set_idle(s, p, bandwidth);
}

static inline void qw_red_init(struct qw_red *s, const struct qw_red_params *p,
			       qw_u64 now)
{
	s->told_min_bytes = p->min_bytes;
	s->told_max_bytes = p->max_bytes;
	s->max_p_q32 = p->probability_q32;
	s->limit_bytes = 0;
	s->made = 0;
	s->wlog = 1;
	s->min_bytes = 0;
	s->max_bytes = 0;
	s->delta_bytes = 1;
	s->cell_q48 = 0;
	s->cell_log = 0;
	s->count = QW_RED_NO_COUNT;
	s->random = 0;
	s->nearest = 0;
	s->r_bytes = 0;
	s->avg = 0;
	s->idle_ns = now;
}

/* ---- ACC's interface: somebody else sets the law while it runs ---- */

/* ACC's exponential ladder of thresholds, E(n) = 20 * 2^n kB, n = 0..9 (Yan and
 * others, SIGCOMM 2021). */
#define QW_RED_RUNGS 10u

static inline qw_u64 qw_red_rung(qw_u32 n)
{
	return 20000ULL << (n < QW_RED_RUNGS ? n : QW_RED_RUNGS - 1);
}

/* The same ladder for another buffer: its top is the buffer. Of E(n) only the
 * first four would fit in the 213 kB of a small buffer at 1 Gbit/s. */
static inline qw_u64 qw_red_rung_of(qw_u64 limit_bytes, qw_u32 n)
{
	return limit_bytes >>
	       (QW_RED_RUNGS - 1 - (n < QW_RED_RUNGS ? n : QW_RED_RUNGS - 1));
}

/* New thresholds and max_P from the next arrival on; 0 as in the parameters.
 * Unlike `tc qdisc change`, it does not forget the average. */
static inline void qw_red_tune(struct qw_red *s, qw_u64 min_bytes,
			       qw_u64 max_bytes, qw_u64 max_p_q32)
{
	s->told_min_bytes = min_bytes;
	s->told_max_bytes = max_bytes;
	s->max_p_q32 = max_p_q32 < QW_RED_ONE_Q32 ? max_p_q32 : QW_RED_ONE_Q32;
	s->made = 0;
}

/* The same by parameters that the host has changed. */
static inline void qw_red_retune(struct qw_red *s,
				 const struct qw_red_params *p)
{
	qw_red_tune(s, p->min_bytes, p->max_bytes, p->probability_q32);
}

/* ---- per packet ---- */

/* The average after so long an idle time: what arrivals of an empty queue at
 * the pace of the link would have made of it. */
static inline qw_u64 qw_red_idle_avg(const struct qw_red *s, qw_u64 idle_ns)
{
	qw_u64 us = qw_div(idle_ns, 1000), cell = us >> s->cell_log, shift,
	       lost;

	if (cell >= QW_RED_CELLS)
		shift = QW_RED_MAX_SHIFT;
	else
		shift = (cell * s->cell_q48) >> 48;
	if (shift)
		return s->avg >>
		       (shift < QW_RED_MAX_SHIFT ? shift : QW_RED_MAX_SHIFT);
	/* Less than a whole shift: linear in the cell, down to a half. The product
	 * avg * us >> cell_log is made of two halves that fit. */
	if (cell)
		return s->avg >> 1;
	lost = (s->avg >> s->cell_log) * us +
	       (((s->avg & ((1ULL << s->cell_log) - 1)) * us) >> s->cell_log);
	return lost < s->avg >> 1 ? s->avg - lost : s->avg >> 1;
}

/* An arrival finds the queue at `bytes`. Was the link idle? */
static inline int qw_red_see(struct qw_red *s, qw_u64 now, qw_u64 bytes)
{
	if (bytes > QW_RED_MAX_BYTES)
		bytes = QW_RED_MAX_BYTES;
	if (s->idle_ns == QW_RED_NONE) {
		s->avg += bytes - (s->avg >> s->wlog);
		return 0;
	}
	s->avg = qw_red_idle_avg(s, now - s->idle_ns);
	s->idle_ns = QW_RED_NONE;
	return 1;
}

/* The link falls idle. */
static inline void qw_red_idles(struct qw_red *s, const struct qw_red_params *p,
				qw_u64 now)
{
	if (p->idle_clock != QW_RED_IDLE_NEVER)
		s->idle_ns = now;
}

#define QW_RED_PASS 0u
#define QW_RED_EARLY 1u /* the dice say so */
#define QW_RED_HARD 2u /* there is nothing to decide */

/* A number for the gap to the next mark. */
static inline void qw_red_draw(struct qw_red *s, qw_u32 random)
{
	s->random = random;
	qw_red_set_r(s);
}

/* An arrival between the thresholds counts. Is it the first, for which a number
 * is drawn and nothing else is done? */
static inline int qw_red_first(struct qw_red *s, qw_u32 random)
{
	if (s->count < QW_RED_NO_COUNT - 1 || s->count == QW_RED_NO_COUNT)
		s->count++;
	if (s->count)
		return 0;
	qw_red_draw(s, random);
	return 1;
}

/* Floyd and Jacobson 1993, section 7, "method 2": the gaps between marks are
 * uniform, not geometric. */
static inline qw_u32 qw_red_decide(struct qw_red *s, int gentle, qw_u32 random)
{
	qw_u64 avg = s->avg >> s->wlog;
	int due;

	if (s->avg < s->min_bytes << s->wlog) {
		s->count = QW_RED_NO_COUNT;
		return QW_RED_PASS;
	}
	if (s->avg >= s->max_bytes << (s->wlog + (gentle != 0))) {
		s->count = QW_RED_NO_COUNT;
		return QW_RED_HARD;
	}
	if (qw_red_first(s, random))
		return QW_RED_PASS;
	if (avg < s->max_bytes) {
		due = (avg - s->min_bytes) * s->count >= s->r_bytes;
	} else {
		/* Gentle: avg / max - 1 of the way from max_P to 1. */
		qw_u64 p =
			s->max_p_q32 + qw_div((QW_RED_ONE_Q32 - s->max_p_q32) *
						      (avg - s->max_bytes),
					      s->max_bytes);
		due = p * s->count >= s->random;
	}
	if (!due)
		return QW_RED_PASS;
	s->count = 0;
	qw_red_draw(s, random);
	return QW_RED_EARLY;
}

/* What becomes of the packet. */
QW_SHARED struct qw_verdict qw_red_apply(qw_u32 decision,
					 const struct qw_red_params *p,
					 const struct qw_queue *q,
					 const struct qw_packet *k)
{
	int drops_all = decision == QW_RED_HARD && p->harddrop;
	struct qw_verdict v;

	/* In Linux the early decision comes first, too; which of them dropped
	 * the packet is the same to the sender. */
	if (qw_over_limit(q, k))
		return qw_drop(QW_REASON_LIMIT);
	if (decision == QW_RED_PASS)
		return qw_pass();
	v = qw_mark_or_drop(k, p->ecn && !drops_all,
			    decision == QW_RED_HARD ? QW_REASON_THRESHOLD :
						      QW_REASON_EARLY);
	/* nodrop is for packets that know no ECN. */
	if (v.action == QW_DROP && p->ecn && p->nodrop && !drops_all)
		return qw_pass();
	return v;
}

static inline struct qw_verdict
qw_red_enqueue(struct qw_red *s, const struct qw_red_params *p, qw_u64 now,
	       const struct qw_queue *q, const struct qw_packet *k,
	       qw_u32 random)
{
	struct qw_verdict v;
	int was_idle;

	if (!qw_red_fits(s, q))
		qw_red_make(s, p, p->bandwidth);
	was_idle = qw_red_see(s, now, q->bytes);
	v = qw_red_apply(qw_red_decide(s, p->gentle != 0, random), p, q, k);
	/* The link stays idle: without this, an average above max would keep an
	 * empty queue closed for as long as it takes arrivals to age it. */
	if (was_idle && v.action == QW_DROP)
		qw_red_idles(s, p, now);
	return v;
}

static inline struct qw_verdict
qw_red_dequeue(struct qw_red *s, const struct qw_red_params *p, qw_u64 now,
	       const struct qw_queue *q, const struct qw_packet *k)
{
	(void)s;
	(void)p;
	(void)now;
	(void)q;
	(void)k;
	return qw_pass();
}

static inline void qw_red_idle(struct qw_red *s, const struct qw_red_params *p,
			       qw_u64 now)
{
	if (s->idle_ns == QW_RED_NONE)
		qw_red_idles(s, p, now);
}

/* Parameters and variables as qw.h says. */
#define QW_RED_PARAMS(P)                                        \
	P("min", min_bytes, 0, 0, QW_RED_MAX_BYTES)             \
	P("max", max_bytes, 0, 0, QW_RED_MAX_BYTES)             \
	P("probability", probability_q32, 0, 0, QW_RED_ONE_Q32) \
	P("avpkt", avpkt_bytes, 0, 1, 65535)                    \
	P("burst", burst, 0, 0, 1u << 20)                       \
	P("bandwidth", bandwidth, 0, 125, QW_RED_MAX_RATE)      \
	P("ecn", ecn, 0, 0, 1)                                  \
	P("harddrop", harddrop, 0, 0, 1)                        \
	P("nodrop", nodrop, 0, 0, 1)                            \
	P("gentle", gentle, 0, 0, 1)                            \
	P("idle_clock", idle_clock, 0, QW_RED_IDLE_US, QW_RED_IDLE_NEVER)
#define QW_RED_PROBES(V)                \
	V(s->avg >> (s->wlog & 63), 1)  \
	V(s->max_p_q32, QW_RED_ONE_Q32) \
	V(s->min_bytes, 1)              \
	V(s->max_bytes, 1)              \
	V(s->wlog, 1)

#ifdef __cplusplus
}
#endif

#endif /* QW_RED_H */
