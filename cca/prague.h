/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * TCP Prague (draft-briscoe-iccrg-prague-congestion-control, "the draft" below):
 * the scalable sender of L4S (RFC 9330, RFC 9331). As DCTCP it cuts its window in
 * proportion to the part of its packets that was marked. So the queue is short and
 * steady where a step or DualPI2 marks. It sends ECT(1) and halves on loss. On
 * paths below 25 ms it grows as if the round trip took 25 ms, so that short paths
 * do not starve long ones.
 *
 * With QW_PRAGUE_CODE it does what L4STeam's Linux module 0.7 ("the code") does,
 * where that differs:
 *
 *   rule                     draft (default)         code (QW_PRAGUE_CODE 1)
 *   the first mark           alpha becomes 1         halves, alpha stays 0
 *   rounds after slow start  500                     4
 *     until RTTs are equal
 *   growth is divided by     the sender's window     the window with its fraction
 *   pacing                   cwnd a round trip       the same, 100 kbit/s at least;
 *                                                     at 4 packets and less 3 %
 *                                                     more in the first half of
 *                                                     max(RTT, 25 ms), 3 % less in
 *                                                     the second
 *
 * Left out are two things of the code: below four packets a rate instead of a
 * window, and smaller segments. The fallback for queues that mark as RFC 3168
 * says is left out, too. The draft requires it; the code has it off or not at all.
 * Behind such a queue Prague takes far more than its share.
 *
 * The host must count marks exactly (RFC 9768) in c->delivered_ce, and enter
 * QW_CA_CWR when that grows. This header then cuts as the draft says. What
 * qw_prague_ssthresh() returns only ends slow start.
 */
#ifndef QW_PRAGUE_H
#define QW_PRAGUE_H

#include "qw_cca.h"

#ifndef QW_PRAGUE_CODE
#define QW_PRAGUE_CODE 0
#endif

#define QW_PRAGUE_FLAGS (QW_CCA_NEEDS_ECN | QW_CCA_ECT1 | QW_CCA_BURSTS)
#define QW_PRAGUE_ABOUT                                                    \
	"scalable, for L4S: cuts by the share of marks, RTTs below 25 ms " \
	"alike"

/* Fraction bits of the window and of alpha. */
#define QW_PRAGUE_SHIFT 20
#define QW_PRAGUE_ONE (1u << QW_PRAGUE_SHIFT)
/* Gain of alpha's average, 1/16: alpha is kept times 16. */
#define QW_PRAGUE_GAIN_SHIFT 4
/* The round trip that shorter ones are made alike to, microseconds. */
#define QW_PRAGUE_TARGET_US 25000u
/* Rounds without slow start after which they are. */
#define QW_PRAGUE_ROUNDS (QW_PRAGUE_CODE ? 4u : 500u)
#define QW_PRAGUE_MIN_CWND 2u
#define QW_PRAGUE_MAX_CWND (1u << 22)
/* Fraction bits of a round trip's growth beyond those of the window. */
#define QW_PRAGUE_STEP_SHIFT 12
/* Of the code: the least rate, bytes a second, and up to how many packets it goes
 * by rates. */
#define QW_PRAGUE_MIN_RATE 12500u
#define QW_PRAGUE_RATE_CWND 4u
/* A burst is what is sent in so much of a second: 244 microseconds. */
#define QW_PRAGUE_BURST_SHIFT 12

struct qw_prague {
	qw_u64 window; /* packets, 20 fraction bits */
	qw_u64 window_before_loss;
	qw_u64 rest; /* of the growth, what is less than a step of `window` */
	qw_u64 cut_ns; /* when marks last cut; 0: never */
	qw_u64 alpha_ns; /* when alpha was last updated */
	qw_u32 alpha; /* part of the packets that are marked, times 16 */
	qw_u32 round_end; /* this round is over when it is acknowledged */
	qw_u32 round_delivered, round_ce; /* the connection's at its start */
	qw_u32 last_ce; /* the connection's at the last ACK */
	qw_u32 rounds; /* since slow start */
	qw_u8 marked; /* marks were seen */
	qw_u8 in_loss;
	qw_u8 pad[6];
};

/* Is growth that of 25 ms? */
static inline int qw_prague_alike(const struct qw_prague *s,
				  const struct qw_conn *c)
{
	return s->rounds >= QW_PRAGUE_ROUNDS &&
	       (c->srtt_us >> 3) < QW_PRAGUE_TARGET_US;
}

/* And the rhythm of cuts and of alpha, which slow start does not wait for? */
static inline int qw_prague_waits(const struct qw_prague *s,
				  const struct qw_conn *c)
{
	return qw_prague_alike(s, c) && !qw_in_slow_start(c);
}

/* Packets, rounded up. */
static inline qw_u32 qw_prague_packets(const struct qw_prague *s)
{
	qw_u64 w = (s->window + QW_PRAGUE_ONE - 1) >> QW_PRAGUE_SHIFT;

	return w < QW_PRAGUE_MAX_CWND ? (qw_u32)w : QW_PRAGUE_MAX_CWND;
}

static inline void qw_prague_cut(struct qw_prague *s, qw_u64 by)
{
	const qw_u64 least = (qw_u64)QW_PRAGUE_MIN_CWND << QW_PRAGUE_SHIFT;

	s->window = s->window > by + least ? s->window - by : least;
	s->rest = 0;
}

/* The growth of a round trip, 32 fraction bits: a packet, or what makes the rate
 * grow as fast as at 25 ms (the draft's reduced RTT-dependence): both the packets and the
 * rounds of a second are scaled, hence the square. */
static inline qw_u64 qw_prague_step(const struct qw_prague *s,
				    const struct qw_conn *c)
{
	qw_u64 part;

	if (!qw_prague_alike(s, c))
		return (qw_u64)QW_PRAGUE_ONE << QW_PRAGUE_STEP_SHIFT;
	/* 24 fraction bits, so that 1 us is not nothing. */
	part = ((qw_u64)c->srtt_us << 24) / (QW_PRAGUE_TARGET_US << 3);
	return (part * part + (1u << 15)) >> 16;
}

/* Growth by what was delivered unmarked, in CWR too, not while losses are
 * repaired (the draft's additive increase). */
static inline void qw_prague_grow(struct qw_prague *s, struct qw_conn *c,
				  qw_u32 acked)
{
	qw_u64 steps, by;

	if (!acked || s->in_loss || !qw_cwnd_limited(c))
		return;
	if (qw_in_slow_start(c)) {
		acked = qw_slow_start(c, acked);
		if (c->cwnd > QW_PRAGUE_MAX_CWND)
			c->cwnd = QW_PRAGUE_MAX_CWND;
		/* After a timeout `window` is there already. */
		if (s->window < (qw_u64)c->cwnd << QW_PRAGUE_SHIFT)
			s->window = (qw_u64)c->cwnd << QW_PRAGUE_SHIFT;
		if (!acked)
			return;
	}
	if (acked > QW_PRAGUE_MAX_CWND)
		acked = QW_PRAGUE_MAX_CWND;
	by = (qw_u64)c->cwnd << QW_PRAGUE_STEP_SHIFT;
	if (QW_PRAGUE_CODE)
		by = s->window >> (QW_PRAGUE_SHIFT - QW_PRAGUE_STEP_SHIFT);
	s->rest += (qw_u64)acked * qw_prague_step(s, c);
	steps = s->rest / by;
	s->rest -= steps * by;
	s->window += steps;
	if (s->window >> QW_PRAGUE_SHIFT >= QW_PRAGUE_MAX_CWND)
		s->window = (qw_u64)QW_PRAGUE_MAX_CWND << QW_PRAGUE_SHIFT;
}

/* The window follows, a packet an ACK. */
static inline void qw_prague_follow(struct qw_prague *s, struct qw_conn *c)
{
	qw_u32 to = qw_prague_packets(s);

	if (c->cwnd < to) {
		c->cwnd++;
	} else if (c->cwnd > to && c->cwnd > QW_PRAGUE_MIN_CWND) {
		c->cwnd--;
		c->ssthresh = c->cwnd;
	}
}

static inline void qw_prague_new_round(struct qw_prague *s,
				       const struct qw_conn *c)
{
	s->round_end = c->snd_nxt;
	s->round_delivered = c->delivered;
	s->round_ce = c->delivered_ce;
}

/* Once a round, and not more often than every 25 ms where those are counted
 * (the draft's moving average of ECN feedback). */
static inline void qw_prague_round(struct qw_prague *s, const struct qw_conn *c,
				   qw_u64 now)
{
	qw_u32 delivered = c->delivered - s->round_delivered;
	qw_u32 marked = c->delivered_ce - s->round_ce;
	qw_u32 most = QW_PRAGUE_ONE << QW_PRAGUE_GAIN_SHIFT;
	qw_u64 share;

	if (qw_after(s->round_end, c->snd_una))
		return;
	if (qw_prague_waits(s, c) &&
	    now - s->alpha_ns < QW_PRAGUE_TARGET_US * QW_NS_PER_US)
		return;
	if (s->marked && delivered) {
		share = ((qw_u64)marked << QW_PRAGUE_SHIFT) / delivered;
		s->alpha -= s->alpha >> QW_PRAGUE_GAIN_SHIFT;
		s->alpha += share < QW_PRAGUE_ONE ? (qw_u32)share :
						    QW_PRAGUE_ONE;
		if (s->alpha > most)
			s->alpha = most;
		s->alpha_ns = now;
	}
	if (!qw_in_slow_start(c) && s->rounds < QW_PRAGUE_ROUNDS)
		s->rounds++;
	qw_prague_new_round(s, c);
}

/* Of the code: around the rate where a window is too coarse, so that a step marks
 * in every virtual round trip. */
static inline qw_u64 qw_prague_sway(const struct qw_prague *s,
				    const struct qw_conn *c, qw_u64 rate,
				    qw_u64 now)
{
	qw_u64 half = c->srtt_us >> 3;

	if (!QW_PRAGUE_CODE || !s->marked || s->rounds < QW_PRAGUE_ROUNDS ||
	    qw_in_slow_start(c) || c->cwnd > QW_PRAGUE_RATE_CWND)
		return rate;
	if (half < QW_PRAGUE_TARGET_US)
		half = QW_PRAGUE_TARGET_US;
	half = half * QW_NS_PER_US / 2;
	return now - s->alpha_ns < half ? rate + rate / 32 : rate - rate / 32;
}

/* The rate: a window a round trip, twice as much in early slow start (the draft's
 * pacing). */
static inline void qw_prague_pace(struct qw_prague *s, struct qw_conn *c,
				  qw_u64 now)
{
	qw_u32 w = c->cwnd > qw_in_flight(c) ? c->cwnd : qw_in_flight(c);
	qw_u64 rate;

	if (!c->srtt_us)
		return;
	rate = (qw_u64)w * c->mss * 8000000 / c->srtt_us;
	if (QW_PRAGUE_CODE && rate < QW_PRAGUE_MIN_RATE)
		rate = QW_PRAGUE_MIN_RATE;
	rate = qw_prague_sway(s, c, rate, now);
	if (c->cwnd < c->ssthresh / 2)
		rate *= 2;
	c->pacing_rate = rate ? rate : 1;
}

static inline void qw_prague_init(struct qw_prague *s, struct qw_conn *c,
				  qw_u64 now)
{
	if (c->cwnd > QW_PRAGUE_MAX_CWND)
		c->cwnd = QW_PRAGUE_MAX_CWND;
	s->window = (qw_u64)c->cwnd << QW_PRAGUE_SHIFT;
	s->last_ce = c->delivered_ce;
	s->alpha_ns = now;
	qw_prague_new_round(s, c);
	c->pacing = 1;
	qw_prague_pace(s, c, now);
}

static inline void qw_prague_cong_control(struct qw_prague *s,
					  struct qw_conn *c,
					  const struct qw_rate_sample *rs,
					  qw_u64 now, qw_u32 random)
{
	qw_u32 ce = c->delivered_ce - s->last_ce;

	(void)random;
	s->last_ce = c->delivered_ce;
	qw_prague_grow(s, c, rs->acked_sacked > ce ? rs->acked_sacked - ce : 0);
	qw_prague_follow(s, c);
	qw_prague_round(s, c, now);
	qw_prague_pace(s, c, now);
}

/* The window steps down by itself: slow start is over, no more. */
static inline qw_u32 qw_prague_ssthresh(struct qw_prague *s, struct qw_conn *c,
					qw_u64 now)
{
	(void)s;
	(void)now;
	return c->cwnd > QW_PRAGUE_MIN_CWND ? c->cwnd : QW_PRAGUE_MIN_CWND;
}

/*
 * CWR. Marks (the draft's multiplicative decrease): by half of alpha, rounded; once
 * a round, and not more often than every 25 ms where those are counted. Without a
 * mark it is a tail loss that a probe repaired: by half, as any; the code takes it
 * for a mark, but not for the first.
 */
static inline void qw_prague_cwr(struct qw_prague *s, const struct qw_conn *c,
				 qw_u64 now)
{
	int mark = c->delivered_ce != s->last_ce;
	qw_u64 alpha;

	if (!mark && !QW_PRAGUE_CODE) {
		qw_prague_cut(s, s->window >> 1);
		return;
	}
	if (s->cut_ns && qw_prague_waits(s, c) &&
	    now - s->cut_ns < QW_PRAGUE_TARGET_US * QW_NS_PER_US)
		return;
	s->cut_ns = now;
	alpha = s->alpha >> QW_PRAGUE_GAIN_SHIFT;
	if (mark && !s->marked) {
		s->marked = 1;
		alpha = QW_PRAGUE_ONE;
		if (!QW_PRAGUE_CODE)
			s->alpha = QW_PRAGUE_ONE << QW_PRAGUE_GAIN_SHIFT;
	}
	qw_prague_cut(s, (s->window * alpha + QW_PRAGUE_ONE) >>
				 (QW_PRAGUE_SHIFT + 1));
}

/* Losses: by half as Reno (the draft's response to loss). */
static inline void qw_prague_loss(struct qw_prague *s)
{
	s->in_loss = 1;
	s->window_before_loss = s->window;
	qw_prague_cut(s, s->window >> 1);
}

static inline void qw_prague_set_state(struct qw_prague *s, struct qw_conn *c,
				       qw_u32 state, qw_u64 now)
{
	if (state == QW_CA_CWR) {
		qw_prague_cwr(s, c, now);
	} else if (state < QW_CA_CWR) {
		s->in_loss = 0;
	} else {
		if (state == QW_CA_RECOVERY && c->ca_state != QW_CA_RECOVERY)
			qw_prague_loss(s);
		/* Not slow start, once it is repaired. */
		c->ssthresh = qw_prague_packets(s);
	}
}

/* A timeout that is not of a recovery, or comes after one that got through. */
static inline void qw_prague_cwnd_event(struct qw_prague *s, struct qw_conn *c,
					qw_u32 event, qw_u64 now)
{
	(void)c;
	(void)now;
	if (event == QW_EVENT_LOSS)
		qw_prague_loss(s);
}

static inline qw_u32 qw_prague_undo_cwnd(struct qw_prague *s, struct qw_conn *c)
{
	qw_u32 w;

	if (s->window < s->window_before_loss)
		s->window = s->window_before_loss;
	w = qw_prague_packets(s);
	return c->cwnd > w ? c->cwnd : w;
}

/* No burst longer than 2^-12 s. */
static inline qw_u32 qw_prague_min_tso_segs(struct qw_prague *s,
					    struct qw_conn *c)
{
	qw_u64 bytes = c->pacing_rate >> QW_PRAGUE_BURST_SHIFT;

	(void)s;
	if (c->pacing_rate == QW_UNPACED || !c->mss || bytes < 2 * c->mss)
		return 1;
	return bytes < 65536 ? (qw_u32)bytes / c->mss : 65536 / c->mss;
}

#define QW_PRAGUE_CCA(E) \
	E(init)          \
	E(ssthresh)      \
	E(undo_cwnd)     \
	E(cong_control)  \
	E(set_state)     \
	E(cwnd_event)    \
	E(min_tso_segs)

#define QW_PRAGUE_PROBES(V)                                \
	V(s->alpha, QW_PRAGUE_ONE << QW_PRAGUE_GAIN_SHIFT) \
	V(s->window, QW_PRAGUE_ONE)                        \
	V(s->rounds, 1)
#define QW_PRAGUE_PROBE_NAMES(N) \
	N("alpha", "")           \
	N("window", "packets")   \
	N("rounds", "")

#endif /* QW_PRAGUE_H */
