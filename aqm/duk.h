/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * DUK, "delay utilization knee" (Novak, Kasera, "Auto-Tuning Active Queue
 * Management", COMSNETS 2017). Once in an interval of length dt one probability
 * is computed, with which the arrivals of the next one are dropped, or marked:
 *
 *   p = 1 - C/A [ dU (1 + dt) / ((1 - dD/dU + (1 + dt)) dt) + U ]   (eq. 9)
 *
 * A is the arrival rate, drops included, C the capacity of the link, U the
 * utilisation, and D the sojourn time. Of the last two, dU and dD are the
 * changes since the evaluation before. The interval is dt. Both times are in
 * ticks of a clock. The bracket is the utilisation that leads to the knee of
 * delay over utilisation, where dD = dU. An empty queue, or nothing arriving: p
 * = 0 (Algorithm 1).
 *
 * The paper leaves much open. What follows are this project's choices; each
 * number in them is a parameter, and docs/disciplines/duk.md shows what it does.
 *  - dU = 0: the fraction is multiplied through by dU, to
 *    dU^2 (1 + dt) / (((2 + dt) dU - dD) dt), which is 0 then. A denominator
 *    of 0 makes the term 0. So p = 1 - beta/A, the excess and no more.
 *  - C: bytes over time of departures that followed one another without a
 *    pause, over an interval. In an interval in which the link never paused
 *    that is C; one with pauses can only raise it.
 *  - M, the capacity of the ways in: the largest arrival rate over an interval
 *    so far, which loses 1/forget of its distance to C an interval; not below C.
 *  - D: sojourn time of the last packet that left in the interval, 0 if none.
 *  - tick: 1 us. (The paper's measurements show 1 ms.)
 *  - Empty is a queue that was so at any time of the interval, or a short burst
 *    of arrivals would count as overload. But if p was above 0, and the queue is
 *    there again at the end, the link could have been full: p = 1 - C/A.
 *  - A standing queue, the shortest that the queue was in the interval, is work
 *    for the link that arrived before it. The share drain of it is taken off
 *    what the next interval may admit. By equation 9 alone no force brings the
 *    queue of senders that do not yield down again: it wanders.
 *  - dt: see "Interval" below.
 *
 * DUK needs no limit of the buffer; if the host has one, it holds.
 */
#ifndef QW_DUK_H
#define QW_DUK_H

#include "qw.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Utilisation and its kin: 1 << 30 stands for 1, so that the largest product of
 * equation 9, dU (dU + dU / dt) with |dU| < 2, fits in 64 bits. */
#define QW_DUK_ONE_Q30 (1ULL << 30)
#define QW_DUK_ONE_Q32 (1ULL << 32)
/* No load is more than this, 69 s, a packet of 64 KiB at 8 kbit/s: in Q26 it fits in 64 bits. */
#define QW_DUK_MAX_NS (1ULL << 36)
/* Congestion levels are whole per cents, 0..100; a power of two for BPF. */
#define QW_DUK_LEVELS 128u
/* While nothing is known of the link, look this often. */
#define QW_DUK_BLIND_NS QW_NS_PER_MS

/* `held` has a bit for each interval, this one's the lowest. */
#define QW_DUK_HELD 1u
#define QW_DUK_FELT 15u /* those whose drops are felt in this one */

/* empty: when is the queue empty, so that p is 0? */
#define QW_DUK_EMPTY_INTERVAL 0u /* once in the interval */
#define QW_DUK_EMPTY_END 1u /* at its end */

struct qw_duk_params {
	qw_u64 tick_ns; /* unit of dt and D in equation 9, 1 us; 1 ns .. 1 s */
	qw_u64 interval_ns; /* fixed dt; 0, the default: Algorithm 2 */
	qw_u64 longest_ns; /* longest dt of Algorithm 2, 100 ms; to 1 s */
	qw_u32 first_packets; /* its first: the time for so many, 100 */
	qw_u32 trial; /* intervals a trial of it takes, 16; 0: none */
	qw_u32 tolerance_q30; /* utilisation it may cost, 0.01 */
	qw_u32 drain_q16; /* share of the standing queue, 0.5; up to 16 */
	qw_u32 empty; /* QW_DUK_EMPTY_INTERVAL */
	qw_u32 forget; /* of M, intervals, 256; 1 or more */
	qw_u32 ecn; /* mark instead of drop where the sender allows, off */
};

/* Parameters by their names in the registry: P(name, field, shift, least,
 * most), in the field's own unit and scale. */
#define QW_DUK_PARAMS(P)                                    \
	P("tick", tick_ns, 0, 1, QW_NS_PER_SEC)             \
	P("interval", interval_ns, 0, 0, QW_NS_PER_SEC)     \
	P("first_packets", first_packets, 0, 1, 1u << 20)   \
	P("longest", longest_ns, 0, 1, QW_NS_PER_SEC)       \
	P("trial", trial, 0, 0, 1u << 20)                   \
	P("tolerance", tolerance_q30, 2, 0, QW_DUK_ONE_Q30) \
	P("drain", drain_q16, 16, 0, 16u << 16)             \
	P("empty", empty, 0, 0, QW_DUK_EMPTY_END)           \
	P("forget", forget, 0, 1, 1u << 20)                 \
	P("ecn", ecn, 0, 0, 1)

/* Variables for display: V(whole number, divide by). */
#define QW_DUK_PROBES(V)            \
	V(s->p_q32, QW_DUK_ONE_Q32) \
	V(s->dt_ns, QW_NS_PER_MS)   \
	V(s->u_q30, QW_DUK_ONE_Q30) \
	V(s->d_ns, QW_NS_PER_MS)    \
	V(qw_duk_rate(s) * 8, 1)    \
	V(s->level, 1)

/* What is known of one congestion level. */
struct qw_duk_point {
	qw_u64 dt_ns; /* shortest that cost no utilisation; 0: none is known */
	qw_u64 next_ns; /* to be tried at this level; 0: not seen yet */
	qw_u32 failed; /* one that was not good is known */
	qw_u32 unused;
};

struct qw_duk {
	qw_u64 p_q32; /* probability for this interval */
	qw_u64 start_ns; /* of this interval */
	qw_u64 dt_ns; /* its length */
	qw_u64 npb_q20; /* 1/C: ns to send a byte, Q20; 0: unknown */
	qw_u64 peak_npb_q20; /* 1/M, at most 1/C */
	qw_u64 known_npb_q20; /* 1/C of the link that the levels below are of */
	qw_u64 u_q30, d_ns; /* at the evaluation before */
	/* Counted in this interval. */
	qw_u64 arrived_bytes, sent_bytes, standing_bytes;
	qw_u64 sojourn_ns;
	qw_u64 service_bytes, service_ns; /* departures without a pause */
	/* The packet on the link: since when, its length; 0: none. */
	qw_u64 begun_ns;
	qw_u32 begun_bytes;
	qw_u32 paused; /* the link found nothing to send in this interval */
	qw_u32 held; /* p was above 0 as this interval began, and those before */
	qw_u32 packet_bytes; /* longest packet of late, at first QW_MTU */
	qw_u32 came_bytes; /* longest packet that came in this interval */
	/* Intervals since the last arrival, empty ones, in which dropping is felt. */
	qw_u64 came_ns, lull_u_q30;
	qw_u32 lull;
	/* Interval determination. */
	qw_u32 level; /* P, per cent */
	qw_u32 trial_level; /* P when this trial began, whose dt it has */
	qw_u32 intervals; /* in this trial */
	qw_u32 points; /* levels with a dt; the sums are over them */
	qw_u64 trial_u_q30; /* sum over the trial */
	qw_u64 sum_p, sum_pp, sum_dt, sum_pdt;
	struct qw_duk_point point[QW_DUK_LEVELS];
};

static inline void qw_duk_count_anew(struct qw_duk *s, qw_u64 backlog)
{
	s->arrived_bytes = 0;
	s->sent_bytes = 0;
	s->standing_bytes = backlog;
	s->sojourn_ns = 0;
	s->service_bytes = 0;
	s->service_ns = 0;
	s->came_bytes = 0;
	s->paused = !s->begun_bytes;
}

/* Of this link nothing is known yet. */
static inline void qw_duk_forget_levels(struct qw_duk *s)
{
	qw_u32 i;

	s->known_npb_q20 = s->npb_q20;
	s->intervals = 0;
	s->trial_u_q30 = 0;
	s->trial_level = s->level;
	s->points = 0;
	s->sum_p = s->sum_pp = s->sum_dt = s->sum_pdt = 0;
	QW_FOR (i, QW_DUK_LEVELS) {
		struct qw_duk_point *at = &s->point[i & (QW_DUK_LEVELS - 1)];

		at->dt_ns = 0;
		at->next_ns = 0;
		at->failed = 0;
	}
}

static inline void qw_duk_init(struct qw_duk *s, const struct qw_duk_params *p,
			       qw_u64 now)
{
	s->p_q32 = 0;
	s->start_ns = now;
	s->dt_ns = p->interval_ns ? p->interval_ns : QW_DUK_BLIND_NS;
	s->npb_q20 = 0;
	s->peak_npb_q20 = ~0ULL;
	s->u_q30 = 0;
	s->d_ns = 0;
	s->begun_ns = 0;
	s->begun_bytes = 0;
	s->held = 0;
	s->packet_bytes = QW_MTU;
	s->came_ns = now;
	s->lull_u_q30 = 0;
	s->lull = 0;
	s->level = 0;
	qw_duk_forget_levels(s);
	qw_duk_count_anew(s, 0);
}

/* ------------------------------------------------ equation 9 --- */

static inline qw_u64 qw_duk_magnitude(qw_s64 v)
{
	return v < 0 ? 0 - (qw_u64)v : (qw_u64)v;
}

/* What equation 9 is made of, as measured over an interval. */
struct qw_duk_measured {
	/* C/A as two times: dt, and what the link needs for what arrived in it,
	 * above 0. Both to QW_DUK_MAX_NS. */
	qw_u64 dt_ns, load_ns;
	qw_u64 dt; /* in ticks, 1 .. 2^31 */
	qw_s64 dd; /* dD in ticks, up to 2^31 either way */
	qw_s64 du_q30; /* below 2 either way */
	qw_u64 u_q30; /* U, below 2 */
	qw_u64 drain_q30; /* taken off the bracket; not in the paper, 0 there */
};

/* p in Q32 by equation 9: three divisions, three multiplications. */
static inline qw_u64 qw_duk_probability(const struct qw_duk_measured *m)
{
	qw_u64 ratio_q24 = qw_div(m->dt_ns << 24, m->load_ns);
	qw_u64 du = qw_duk_magnitude(m->du_q30), size, term, have, less, use,
	       kept;
	/* (2 + dt) dU - dD in ticks, Q30: below 2^63 either way. (A negative
	 * number times a power of two, for which there is no shift in C.) */
	qw_s64 below = (qw_s64)(2 + m->dt) * m->du_q30 -
		       m->dd * (qw_s64)QW_DUK_ONE_Q30;

	/* dU dU (1 + dt)/dt is never negative, so the term has below's sign. */
	size = qw_duk_magnitude(below);
	term = size ? qw_div(du * (du + qw_div(du, m->dt)), size) : 0;
	use = m->drain_q30;
	have = m->u_q30;
	less = m->drain_q30;
	if (below < 0)
		less += term;
	else
		have += term;
	use = have > less ? have - less : 0;
	/* 32 times the link: everything is kept of up to 32 times of it. */
	if (use > 32 * QW_DUK_ONE_Q30)
		use = 32 * QW_DUK_ONE_Q30;
	/* Seldom: the product need not fit, but if it does not all is kept. */
	if (ratio_q24 > 16ULL << 24 && use &&
	    ratio_q24 > qw_div(QW_DUK_ONE_Q30 << 24, use))
		return 0;
	kept = (ratio_q24 * use) >> 22; /* Q24 Q30 to Q32 */
	return kept < QW_DUK_ONE_Q32 ? QW_DUK_ONE_Q32 - kept : 0;
}

/* ------------------------------------------------ measurement --- */

/* Time the link needs for `bytes`, cut to QW_DUK_MAX_NS. */
static inline qw_u64 qw_duk_time(const struct qw_duk *s, qw_u64 bytes)
{
	if (bytes > qw_div(QW_DUK_MAX_NS << 20, s->npb_q20))
		return QW_DUK_MAX_NS;
	return (bytes * s->npb_q20) >> 20;
}

/* C in bytes a second, 0: unknown. For display. */
static inline qw_u64 qw_duk_rate(const struct qw_duk *s)
{
	return s->npb_q20 ? qw_div(QW_NS_PER_SEC << 20, s->npb_q20) : 0;
}

/* The link is done with the packet that it began last. */
static inline void qw_duk_served(struct qw_duk *s, qw_u64 now)
{
	if (!s->begun_bytes)
		return;
	s->service_bytes += s->begun_bytes;
	s->service_ns += now - s->begun_ns;
	s->begun_bytes = 0;
}

/* C from the interval's departures. */
static inline void qw_duk_measure_capacity(struct qw_duk *s)
{
	qw_u64 ns = s->service_ns, bytes = s->service_bytes, npb;

	/* 2^43 ns fit with 20 more bits: 2.4 hours on a packet. */
	if (!ns || !bytes || ns >> 43)
		return;
	npb = qw_div(ns << 20, bytes);
	/* 8 Tbit/s to 8 bit/s */
	if (npb < 1 << 10)
		npb = 1 << 10;
	if (npb > QW_NS_PER_SEC << 20)
		npb = QW_NS_PER_SEC << 20;
	if (!s->npb_q20 || !s->paused || npb < s->npb_q20)
		s->npb_q20 = npb;
	if (s->peak_npb_q20 > s->npb_q20)
		s->peak_npb_q20 = s->npb_q20;
}

/* ------------------------------------------------ interval --- */
/*
 * Algorithm 2 keeps, for each congestion level P = 100 (M - C)/M (eq. 10), the
 * smallest dt at which the transmit rate was not lower than before, and gets
 * the dt of a new level from a line through those points, dt = m P + c (eq. 11).
 * It does not say where other samples come from, nor what to do when one that
 * was good is not so any longer. Here:
 *  - dt begins as the time for `first_packets` full packets. It is never above
 *    `longest`, but where one packet takes longer, as that is the least;
 *  - `trial` intervals are one sample, of the level at which they began: their
 *    mean utilisation. (Not their transmit rate, which would compare links of
 *    different capacity.) Those count in which p was above 0, and the
 *    three after each, in which that is felt: what senders that pause leave
 *    unused later says nothing about dt, nor does a link that stands still, nor
 *    a pause of more than `longest`, which no dt would bridge.
 *    The next sample has the dt of the level that there is then;
 *  - a dt is good for a level if the utilisation is within `tolerance` of 1, the
 *    highest transmit rate that a congested link can have had. The smallest good
 *    one is kept, and half of it tried next, or 7/8 once one was not good. One
 *    that is not good gives way to the one that is kept. If that is not good
 *    any longer, or none is kept, it is forgotten, and twice of it is tried;
 *  - a link of twice or half the capacity is another one: all begins anew.
 */

static inline qw_u64 qw_duk_clamp(const struct qw_duk *s,
				  const struct qw_duk_params *p, qw_u64 dt)
{
	qw_u64 least = qw_duk_time(s, s->packet_bytes);

	if (p->interval_ns)
		dt = p->interval_ns;
	else if (dt > p->longest_ns)
		dt = p->longest_ns;
	/* In less, most intervals would have neither arrivals nor departures. */
	if (dt < least)
		dt = least;
	return dt ? dt : 1;
}

static inline qw_u64 qw_duk_first(const struct qw_duk *s,
				  const struct qw_duk_params *p)
{
	qw_u64 bytes = (qw_u64)p->first_packets * s->packet_bytes;

	return qw_duk_clamp(s, p, qw_duk_time(s, bytes));
}

/* Equation 11 for the present level; there is at least one point. */
static inline qw_u64 qw_duk_line(const struct qw_duk *s)
{
	/* n sum(P dt) - sum(P) sum(dt), and n sum(P^2) - sum(P)^2 >= 0: below
	 * 2^55 and 2^28. */
	qw_s64 rise = (qw_s64)(s->points * s->sum_pdt) -
		      (qw_s64)(s->sum_p * s->sum_dt);
	qw_u64 run = s->points * s->sum_pp - s->sum_p * s->sum_p;
	/* c + m P is the mean dt, plus m times how far P is from its mean. */
	qw_s64 off = (qw_s64)((qw_u64)s->points * s->level) - (qw_s64)s->sum_p;
	qw_u64 mean = qw_div(s->sum_dt, s->points), slope, move;

	if (!run)
		return mean;
	slope = qw_div(qw_duk_magnitude(rise), run); /* ns a per cent */
	move = qw_div(slope * qw_duk_magnitude(off), s->points);
	if ((rise < 0) == (off < 0))
		return mean + move;
	return mean > move ? mean - move : 0;
}

/* The trial's level: its smallest good dt is now this, 0: none; the sums of the fit follow. */
static inline void qw_duk_set_point(struct qw_duk *s, struct qw_duk_point *at,
				    qw_u64 dt)
{
	qw_u64 level = s->trial_level;

	if (at->dt_ns) {
		s->points--;
		s->sum_p -= level;
		s->sum_pp -= level * level;
		s->sum_dt -= at->dt_ns;
		s->sum_pdt -= level * at->dt_ns;
	}
	at->dt_ns = dt;
	if (dt) {
		s->points++;
		s->sum_p += level;
		s->sum_pp += level * level;
		s->sum_dt += dt;
		s->sum_pdt += level * dt;
	}
}

/* So many intervals more are of the sample; at its end the next dt. */
QW_PART int qw_duk_sample(struct qw_duk *s QW_GIVEN,
			  const struct qw_duk_params *p QW_GIVEN,
			  qw_u32 intervals, qw_u64 u_q30)
{
	struct qw_duk_point *at;
	qw_u64 dt = s->dt_ns, full;

	s->trial_u_q30 += u_q30;
	s->intervals += intervals;
	if (s->intervals < p->trial)
		return 0;
	at = &s->point[s->trial_level & (QW_DUK_LEVELS - 1)];
	/* Below 2^20 intervals, utilisation below 2. */
	full = s->intervals * (QW_DUK_ONE_Q30 - p->tolerance_q30);
	if (s->trial_u_q30 >= full) {
		/* The smallest stays where a longer packet has made this one longer. */
		if (!at->dt_ns || dt <= at->dt_ns) {
			qw_duk_set_point(s, at, dt);
			at->next_ns = at->failed ? dt - dt / 8 : dt / 2;
		} else {
			at->next_ns = at->dt_ns;
		}
	} else if (dt < at->dt_ns) {
		at->failed = 1;
		at->next_ns = at->dt_ns;
	} else {
		at->failed = 1;
		qw_duk_set_point(s, at, 0);
		at->next_ns = qw_duk_clamp(s, p, 2 * dt);
	}
	s->trial_level = s->level;
	at = &s->point[s->level & (QW_DUK_LEVELS - 1)];
	if (at->next_ns)
		dt = at->next_ns;
	else if (s->points)
		dt = qw_duk_line(s);
	s->dt_ns = qw_duk_clamp(s, p, dt);
	s->intervals = 0;
	s->trial_u_q30 = 0;
	return 0;
}

/* Algorithm 2, at the end of an interval with traffic. */
static inline void qw_duk_determine_interval(struct qw_duk *s,
					     const struct qw_duk_params *p,
					     qw_u32 held)
{
	/* Equation 10; M and C are kept inverted. */
	s->level = (qw_u32)qw_div(100 * (s->npb_q20 - s->peak_npb_q20),
				  s->npb_q20);
	if (p->interval_ns)
		return;
	if (!s->known_npb_q20) {
		s->known_npb_q20 = s->npb_q20;
		s->trial_level = s->level;
	}
	if (s->npb_q20 > 2 * s->known_npb_q20 ||
	    2 * s->npb_q20 < s->known_npb_q20) {
		s->dt_ns = qw_duk_first(s, p);
		qw_duk_forget_levels(s);
		return;
	}
	if (p->trial && held && s->sent_bytes)
		qw_duk_sample(s, p, 1, s->u_q30);
}

/* An interval without arrivals, at whose end nothing waits. Whether it says
 * anything about dt shows when the next packet comes. */
static inline void qw_duk_lull(struct qw_duk *s)
{
	s->held = s->held << 1 & QW_DUK_FELT;
	if (s->held) {
		s->lull++;
		s->lull_u_q30 += s->u_q30;
	}
}

/* It has come. */
static inline void qw_duk_came(struct qw_duk *s, const struct qw_duk_params *p,
			       qw_u64 now)
{
	if (s->lull && s->known_npb_q20 && !p->interval_ns && p->trial &&
	    now - s->came_ns <= p->longest_ns)
		qw_duk_sample(s, p, s->lull, s->lull_u_q30);
	s->lull = 0;
	s->lull_u_q30 = 0;
	s->came_ns = now;
}

/* ------------------------------------------------ Algorithm 1 --- */

/* In whole ticks, at most 2^31. */
static inline qw_u64 qw_duk_ticks(const struct qw_duk_params *p, qw_u64 ns)
{
	qw_u64 ticks = qw_div(ns, p->tick_ns);

	return ticks < 1ULL << 31 ? ticks : 1ULL << 31;
}

/* End the interval, the queue standing at `backlog`. */
QW_PART int qw_duk_evaluate(struct qw_duk *s QW_GIVEN,
			    const struct qw_duk_params *p QW_GIVEN,
			    qw_u64 backlog)
{
	struct qw_duk_measured m;
	qw_u64 peak, backlog_q14, busy, known = s->npb_q20, before = s->p_q32;
	qw_u32 held = s->held;

	s->p_q32 = 0;
	s->held = 0;
	qw_duk_measure_capacity(s);
	if (!s->npb_q20)
		return 0;
	/* U = beta / C; a packet more than fits may have begun. */
	busy = qw_duk_time(s, s->sent_bytes);
	m.u_q30 = busy >> 34 ? qw_div(busy << 26, s->dt_ns) << 4 :
			       qw_div(busy << 28, s->dt_ns) << 2;
	if (m.u_q30 > 2 * QW_DUK_ONE_Q30 - 1)
		m.u_q30 = 2 * QW_DUK_ONE_Q30 - 1;
	m.du_q30 = (qw_s64)m.u_q30 - (qw_s64)s->u_q30;
	m.dd = (qw_s64)qw_duk_ticks(p, s->sojourn_ns) -
	       (qw_s64)qw_duk_ticks(p, s->d_ns);
	s->u_q30 = m.u_q30;
	s->d_ns = s->sojourn_ns;
	if (!known)
		s->dt_ns = qw_duk_first(s, p);
	if (!known)
		return 0;
	if (!s->arrived_bytes && s->standing_bytes) {
		/* A is not known, and the queue is there: p stays. */
		s->p_q32 = before;
		s->held = (held << 1 & QW_DUK_FELT) | (before != 0);
		qw_duk_determine_interval(s, p, held);
		return 0;
	}
	if (!s->arrived_bytes) {
		s->held = held;
		qw_duk_lull(s);
		return 0;
	}
	s->packet_bytes -= s->packet_bytes / 16;
	if (s->packet_bytes < s->came_bytes)
		s->packet_bytes = s->came_bytes;

	/* M; rounded up, or it would not be forgotten in steps of less than 1. */
	s->peak_npb_q20 +=
		qw_div(s->npb_q20 - s->peak_npb_q20 + p->forget - 1, p->forget);
	peak = qw_div(s->dt_ns << 20, s->arrived_bytes);
	if (peak < s->peak_npb_q20)
		s->peak_npb_q20 = peak;

	m.dt_ns = s->dt_ns;
	m.load_ns = qw_duk_time(s, s->arrived_bytes) | 1;
	m.dt = qw_duk_ticks(p, s->dt_ns);
	if (!m.dt)
		m.dt = 1;
	if (p->empty == QW_DUK_EMPTY_END ? backlog : s->standing_bytes) {
		/* 64 intervals' worth are as good as any number. */
		backlog_q14 = qw_div(qw_duk_time(s, s->standing_bytes) << 14,
				     s->dt_ns);
		if (backlog_q14 > 64 << 14)
			backlog_q14 = 64 << 14;
		m.drain_q30 = backlog_q14 * p->drain_q16;
		s->p_q32 = qw_duk_probability(&m);
	} else if (backlog && held & QW_DUK_HELD) {
		/* Dropping emptied the queue, and it is back at once: U = 1. */
		m.u_q30 = QW_DUK_ONE_Q30;
		m.du_q30 = 0;
		m.dd = 0;
		m.drain_q30 = 0;
		s->p_q32 = qw_duk_probability(&m);
	}
	s->held = (held << 1 & QW_DUK_FELT) | (s->p_q32 != 0);
	qw_duk_determine_interval(s, p, held);
	return 0;
}

/* Run what was due by `now`; the queue stood at `backlog` since the last call. */
static inline void qw_duk_catch_up(struct qw_duk *s,
				   const struct qw_duk_params *p, qw_u64 now,
				   qw_u64 backlog)
{
	qw_u64 most = p->interval_ns ? p->interval_ns : p->longest_ns, whole;
	qw_u32 i;

	if (now < s->start_ns)
		return;
	/* As long as that is for a link on which a packet takes so long. But several
	 * have left: it had stood still. */
	if (s->dt_ns > most && s->service_bytes > 4 * (qw_u64)s->packet_bytes &&
	    now - s->start_ns < s->dt_ns) {
		s->dt_ns = now - s->start_ns;
		if (s->dt_ns < most)
			s->dt_ns = most;
	}
	if (now - s->start_ns < s->dt_ns)
		return;
	s->start_ns += s->dt_ns;
	qw_duk_evaluate(s, p, backlog);
	/* A longer packet may have come, or the link be slower, since dt was found. */
	if (s->npb_q20)
		s->dt_ns = qw_duk_clamp(s, p, s->dt_ns);
	qw_duk_count_anew(s, backlog);
	if (now - s->start_ns < s->dt_ns)
		return;
	/* Whole intervals in which nothing arrived or left. */
	whole = qw_div(now - s->start_ns, s->dt_ns);
	s->start_ns += whole * s->dt_ns;
	/* While the queue stands p does, too: see qw_duk_evaluate. */
	if (!backlog)
		s->p_q32 = 0;
	s->u_q30 = 0;
	if (backlog || !s->npb_q20)
		s->held = 0;
	QW_FOR (i, 4)
		if (s->held && i < whole)
			qw_duk_lull(s);
	s->d_ns = 0;
}

static inline struct qw_verdict
qw_duk_enqueue(struct qw_duk *s, const struct qw_duk_params *p, qw_u64 now,
	       const struct qw_queue *q, const struct qw_packet *k,
	       qw_u32 random)
{
	qw_duk_catch_up(s, p, now, q->bytes);
	qw_duk_came(s, p, now);
	s->arrived_bytes += k->bytes;
	if (k->bytes > s->came_bytes)
		s->came_bytes = k->bytes;
	if (k->bytes > s->packet_bytes)
		s->packet_bytes = k->bytes;
	if (qw_over_limit(q, k))
		return qw_drop(QW_REASON_LIMIT);
	if (random >= s->p_q32)
		return qw_pass();
	return qw_mark_or_drop(k, p->ecn != 0, QW_REASON_EARLY);
}

static inline struct qw_verdict
qw_duk_dequeue(struct qw_duk *s, const struct qw_duk_params *p, qw_u64 now,
	       const struct qw_queue *q, const struct qw_packet *k)
{
	qw_duk_catch_up(s, p, now, q->bytes + k->bytes);
	qw_duk_served(s, now);
	s->begun_ns = now;
	s->begun_bytes = k->bytes;
	s->sent_bytes += k->bytes;
	s->sojourn_ns = now > k->enqueue_ns ? now - k->enqueue_ns : 0;
	if (q->bytes < s->standing_bytes)
		s->standing_bytes = q->bytes;
	return qw_pass();
}

static inline void qw_duk_idle(struct qw_duk *s, const struct qw_duk_params *p,
			       qw_u64 now)
{
	qw_duk_catch_up(s, p, now, 0);
	/* When the link was done with the last packet the host may not know. */
	s->begun_bytes = 0;
	s->paused = 1;
	s->p_q32 = 0;
}

#ifdef __cplusplus
}
#endif

#endif /* QW_DUK_H */
