/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * BBR version 3: draft-ietf-ccwg-bbr-06 with the editors' text of August 2026
 * ("the draft" below; sections by their names). It paces at the highest rate at
 * which the path delivered lately. In flight it keeps a small multiple of that
 * rate times the least round-trip time (the BDP), below two kinds of bounds
 * that losses set. The long-term bound is the most that passed while it probed,
 * the short-term one what passes now. With QW_BBR3_CODE it does what Google's
 * TCP code does, where that differs:
 *
 *   rule                     draft (default)        code (QW_BBR3_CODE 1)
 *   pacing in Startup        4 ln 2 = 2.773         710/256 = 2.773
 *   pacing in Drain          0.5                    88/256 = 0.344
 *   pacing in DOWN           0.90                   232/256 = 0.906
 *   tolerated loss           2 %                    5/256, rounded down
 *   kept on loss             0.7                    180/256
 *   headroom                 0.15                   38/256
 *   longest stay in Drain    3 rounds               none
 *   growth for a plateau     asked once a round     asked on every ACK
 *   window before the pipe   may grow to any size   may grow to any size below
 *     is known full           until the first         twice the first window
 *                             window is delivered
 *   too much in flight       asked per lost packet  asked on every ACK as well
 *   margin of the first      none                   1 %
 *     pacing rate
 *   aggregation              10 rounds              two times 5 rounds, at most
 *                                                    100 ms worth of packets
 *   least round trip         any sample             no sample of a delayed ACK
 *   when is a queue drained  by what is in flight   by what will be at the next
 *                                                    departure
 *   Drain                    keeps what was lost    forgets what was lost;
 *                             in Startup; BDP by     BDP by max_bw
 *                             the bounded rate
 *   short-term bound when    stays                  not above the long-term one
 *     CRUISE begins
 *   bound after Startup, and  of the BDP            of the BDP or three bursts
 *     rounds to the probe
 *   sample below the least   has no rate, but       is none
 *     round trip              rounds go on
 *   rounding                 the BDP up, all else    rates up as well,
 *                             as bytes would         bursts and headroom down
 *   timeout                  bounds are saved       plateau is forgotten; the
 *                                                    window becomes a bound
 *   spurious reduction       state is restored too  bounds and window only
 *   tail loss probe repairs  nothing                counts as a loss
 *   burst (send quantum)     1 ms, 64 KB            0.98 ms and more on short
 *                                                    paths, 64 KB
 *   ECN                      none                   alpha per round, a third of
 *                                                    it is cut (QW_BBR3_ECN)
 *
 * Where the draft's table and its pseudocode differ (the long-term bound in
 * Drain) this is the pseudocode. It departs from that in six places, each marked
 * below:
 *   - the state is saved once a recovery, and not again in every round of it;
 *   - an aggregation epoch that restarts after idling counts from zero;
 *   - a sample without a rate is not a round without growth;
 *   - a careful probe ends by what was in flight before the ACK;
 *   - losses became too many within a lost burst, not before it;
 *   - a cycle without a sample removes none from the bandwidth filter.
 *
 * Some hosts never call qw_bbr3_lost(). Losses are then taken from the
 * connection's count, and the long-term bound from the packet that was delivered.
 *
 * Bandwidths are packets a microsecond in units of 1/2^24, from a packet in 17 s
 * to 256 a microsecond; higher ones count as that. Gains are in units of 1/1024.
 */
#ifndef QW_BBR3_H
#define QW_BBR3_H

#include "qw_cca.h"

#ifndef QW_CCA_STAMPS
#define QW_CCA_STAMPS \
	4u /* wants tx_in_flight, lost and delivered_ce of each packet */
#endif

#ifndef QW_BBR3_CODE
#define QW_BBR3_CODE 0
#endif
/* The response to marks, which only the code has. */
#ifndef QW_BBR3_ECN
#define QW_BBR3_ECN QW_BBR3_CODE
#endif

#if QW_BBR3_ECN
#define QW_BBR3_FLAGS (QW_CCA_STAMPS | QW_CCA_NEEDS_ECN)
#else
#define QW_BBR3_FLAGS QW_CCA_STAMPS
#endif
#define QW_BBR3_ABOUT \
	"model of bandwidth, RTT and bearable loss, paced (version 3)"

/* Scales. */
#define QW_BBR3_BW_SCALE 24
#define QW_BBR3_UNIT 1024u
#define QW_BBR3_NONE 0xffffffffu /* a bound that is not set ("Infinity") */

/* Gains, "Summary of Control Behavior in the State Machine". */
#define QW_BBR3_GAIN_UP 1280u /* 1.25 */
#if QW_BBR3_CODE
#define QW_BBR3_GAIN_STARTUP 2840u
#define QW_BBR3_GAIN_DRAIN 352u
#define QW_BBR3_GAIN_DOWN 928u
#else
#define QW_BBR3_GAIN_STARTUP 2839u
#define QW_BBR3_GAIN_DRAIN 512u
#define QW_BBR3_GAIN_DOWN 922u
#endif
#define QW_BBR3_CWND_GAIN 2048u
#define QW_BBR3_CWND_GAIN_UP 2304u
#define QW_BBR3_CWND_GAIN_PROBE_RTT 512u

/* "Core Algorithm Design Parameters", as fractions. */
#if QW_BBR3_CODE
#define QW_BBR3_OF 256u
#define QW_BBR3_LOSS 5u
#define QW_BBR3_BETA 180u
#define QW_BBR3_HEADROOM 38u
#else
#define QW_BBR3_OF 100u
#define QW_BBR3_LOSS 2u
#define QW_BBR3_BETA 70u
#define QW_BBR3_HEADROOM 15u
#endif
#define QW_BBR3_MIN_CWND 4u
#define QW_BBR3_MARGIN_PPM 990000u /* 1 % less: PacingMarginPercent */

/* "Startup". */
#define QW_BBR3_FULL_BW_ROUNDS 3u
#define QW_BBR3_FULL_LOSSES 6u
#define QW_BBR3_DRAIN_ROUNDS 3u
/* "Time Scale for Bandwidth Probing". */
#define QW_BBR3_WAIT_NS (2u * QW_NS_PER_SEC) /* and up to a second more */
#define QW_BBR3_RENO_ROUNDS 63u
#define QW_BBR3_MAX_SLOPE 30u
/* "ProbeRTT and min_rtt Parameters and State". */
#define QW_BBR3_MIN_RTT_NS (10u * QW_NS_PER_SEC)
#define QW_BBR3_PROBE_RTT_NS (5u * QW_NS_PER_SEC)
#define QW_BBR3_PROBE_RTT_LEN_NS (200u * QW_NS_PER_MS)
/* "Estimating BBR.extra_acked": slots of its filter, rounds of a slot. */
#if QW_BBR3_CODE
#define QW_BBR3_EXTRA_SLOTS 2u
#define QW_BBR3_EXTRA_ROUNDS 5u
#define QW_BBR3_EPOCH_MAX (1u << 20)
#else
#define QW_BBR3_EXTRA_SLOTS 10u
#define QW_BBR3_EXTRA_ROUNDS 1u
#define QW_BBR3_EPOCH_MAX (1u << 31) /* none, but for what 32 bits hold */
#endif
#define QW_BBR3_EXTRA_US 100000u
#define QW_BBR3_BURST 65536u
/* ECN, code only: alpha's unit and gain, the part of it that is cut (in
 * 1/256), longest round trip, rounds of many marks that end Startup. */
#define QW_BBR3_ALPHA 256u
#define QW_BBR3_ALPHA_SHIFT 4
#define QW_BBR3_ECN_FACTOR 85u
#define QW_BBR3_ECN_RTT_US 5000u
#define QW_BBR3_ECN_ROUNDS 2u

/* No window goes beyond this, packets; it keeps sums within 32 bits. */
#define QW_BBR3_MAX_CWND (1u << 30)

/* What it is doing ("State Machine"). */
#define QW_BBR3_STARTUP 0u
#define QW_BBR3_DRAIN 1u
#define QW_BBR3_DOWN 2u
#define QW_BBR3_CRUISE 3u
#define QW_BBR3_REFILL 4u
#define QW_BBR3_UP 5u
#define QW_BBR3_PROBE_RTT 6u

/* What ACKs tell of ("ProbeBW State"). */
#define QW_BBR3_ACKS_INIT 0u
#define QW_BBR3_ACKS_REFILLING 1u
#define QW_BBR3_ACKS_STARTING 2u
#define QW_BBR3_ACKS_FEEDBACK 3u
#define QW_BBR3_ACKS_STOPPING 4u

struct qw_bbr3 {
	qw_u64 cycle_ns; /* when this cycle's DOWN began */
	qw_u64 wait_ns; /* the longest wait from then to the next REFILL */
	qw_u64 min_rtt_ns; /* of when min_rtt_us is */
	qw_u64 probe_rtt_ns; /* of when probe_rtt_us is */
	qw_u64 probe_rtt_done_ns; /* 0: not down yet */
	qw_u64 extra_ns; /* start of the aggregation epoch */

	qw_u32 state;
	qw_u32 ack_phase;
	qw_u32 random; /* the latest draw, for what happens between ACKs */
	qw_u32 init_cwnd;

	/* The sample of this ACK; 0: it has no rate. */
	qw_u32 rate;
	/* Rounds; the present one ends when a packet is delivered that was sent
	 * after `round_delivered`. */
	qw_u32 rounds;
	qw_u32 round_delivered;
	qw_u32 loss_round_delivered;
	qw_u32 drain_round;
	qw_u32 rounds_since_probe;

	/* Bandwidth: best of the last cycle and of this one; its short-term bound. */
	qw_u32 bw_best[2];
	qw_u32 bw_short;
	qw_u32 bw_latest;
	qw_u32 full_bw;
	qw_u32 full_bw_count;

	/* Packets in flight. */
	qw_u32 in_long;
	qw_u32 in_short;
	qw_u32 in_latest;
	qw_u32 up_acked;
	qw_u32 up_per_inc;
	qw_u32 up_rounds;

	/* Round trips. */
	qw_u32 min_rtt_us;
	qw_u32 probe_rtt_us;

	/* Aggregation. */
	qw_u32 extra[QW_BBR3_EXTRA_SLOTS];
	qw_u32 extra_slot;
	qw_u32 extra_rounds;
	qw_u32 extra_max;
	qw_u32 extra_acked;

	/* Losses and what is given back if they were none. */
	qw_u32 loss_events; /* ACKs of this loss round that brought losses */
	qw_u32 seen_lost; /* packets marked lost up to the last ACK */
	qw_u32 prior_cwnd;
	qw_u32 undo_bw_short;
	qw_u32 undo_in_short;
	qw_u32 undo_in_long;
	qw_u32 undo_state; /* QW_BBR3_NONE: none */

	/* ECN, code only. */
	qw_u32 alpha;
	qw_u32 alpha_delivered;
	qw_u32 alpha_ce;
	qw_u32 last_ce;
	qw_u32 ecn_rounds;

	qw_u8 round_start;
	qw_u8 loss_round_start;
	qw_u8 loss_in_round;
	qw_u8 loss_in_cycle;
	qw_u8 ecn_in_round;
	qw_u8 ecn_in_cycle;
	qw_u8 ecn_eligible;
	qw_u8 told; /* this host has qw_bbr3_lost() */
	qw_u8 episode; /* what a recovery may take is saved */
	qw_u8 probe_sample; /* ACKs show what REFILL and UP did, no reaction yet */
	qw_u8 too_high; /* the last probe went too high */
	qw_u8 precautionary; /* the last probe ended early for that */
	qw_u8 full_bw_now;
	qw_u8 full_bw_reached;
	qw_u8 idle_restart;
	qw_u8 rtt_seen;
	qw_u8 probe_rtt_expired;
	qw_u8 probe_rtt_round_done;
	qw_u8 pad[2];
};

/* Numbers. */

static inline qw_u32 qw_bbr3_min(qw_u32 a, qw_u32 b)
{
	return a < b ? a : b;
}

static inline qw_u32 qw_bbr3_max(qw_u32 a, qw_u32 b)
{
	return a > b ? a : b;
}

static inline qw_u32 qw_bbr3_beta(qw_u32 x)
{
	return (qw_u32)((qw_u64)x * QW_BBR3_BETA / QW_BBR3_OF);
}

/* Largest n with 2^n <= x; 0 for 0. */
static inline qw_u32 qw_bbr3_log2(qw_u32 x)
{
	qw_u32 n = 0, step;

	for (step = 16; step; step >>= 1) {
		if (x >> (n + step))
			n += step;
	}
	return n;
}

/* The model's values. */

static inline qw_u32 qw_bbr3_max_bw(const struct qw_bbr3 *s)
{
	return qw_bbr3_max(s->bw_best[0], s->bw_best[1]);
}

/* BoundBWForModel() */
static inline qw_u32 qw_bbr3_bw(const struct qw_bbr3 *s)
{
	return qw_bbr3_min(qw_bbr3_max_bw(s), s->bw_short);
}

/* Bytes a second at `bw` times `gain`, less `ppm`. */
static inline qw_u64 qw_bbr3_rate(const struct qw_conn *c, qw_u32 bw,
				  qw_u32 gain, qw_u32 ppm)
{
	qw_u64 x = (qw_u64)bw * c->mss;

	/* Beyond a terabit a second the last bits do not matter. */
	if (x >> 50)
		return ((x >> 34) * gain) * ppm;
	x = x * gain >> 10;
	if (x >> 43)
		return (x >> 24) * ppm;
	return x * ppm >> QW_BBR3_BW_SCALE;
}

static inline qw_u32 qw_bbr3_pacing_gain(const struct qw_bbr3 *s)
{
	switch (s->state) {
	case QW_BBR3_STARTUP:
		return QW_BBR3_GAIN_STARTUP;
	case QW_BBR3_DRAIN:
		return QW_BBR3_GAIN_DRAIN;
	case QW_BBR3_DOWN:
		return QW_BBR3_GAIN_DOWN;
	case QW_BBR3_UP:
		return QW_BBR3_GAIN_UP;
	default:
		return QW_BBR3_UNIT;
	}
}

static inline qw_u32 qw_bbr3_cwnd_gain(const struct qw_bbr3 *s)
{
	if (s->state == QW_BBR3_UP)
		return QW_BBR3_CWND_GAIN_UP;
	if (s->state == QW_BBR3_PROBE_RTT)
		return QW_BBR3_CWND_GAIN_PROBE_RTT;
	return QW_BBR3_CWND_GAIN;
}

/* BDPMultiple(): packets, rounded up. */
static inline qw_u32 qw_bbr3_bdp(const struct qw_bbr3 *s, qw_u32 bw,
				 qw_u32 gain)
{
	qw_u64 x;

	if (s->min_rtt_us == QW_BBR3_NONE)
		return s->init_cwnd;
	x = (qw_u64)bw * s->min_rtt_us;
	if (x >> 50)
		return QW_BBR3_MAX_CWND;
	x = (x * gain >> 10) + (1u << QW_BBR3_BW_SCALE) - 1;
	x >>= QW_BBR3_BW_SCALE;
	return x < QW_BBR3_MAX_CWND ? (qw_u32)x : QW_BBR3_MAX_CWND;
}

/* SetSendQuantum(), `times` of it, packets. The draft counts bytes, the code whole
 * packets of each. */
static inline qw_u32 qw_bbr3_quanta(const struct qw_bbr3 *s,
				    const struct qw_conn *c, qw_u32 times)
{
	qw_u32 mss = c->mss ? c->mss : 1, packets;
	qw_u64 bytes = c->pacing_rate / 1000;

	if (QW_BBR3_CODE) {
		qw_u32 shift = s->min_rtt_us >> 9;

		bytes = c->pacing_rate >> 10;
		if (shift < 17)
			bytes += QW_BBR3_BURST >> shift;
	}
	if (bytes > QW_BBR3_BURST)
		bytes = QW_BBR3_BURST;
	packets = QW_BBR3_CODE ? (qw_u32)bytes / mss * times :
				 (qw_u32)bytes * times / mss;
	return qw_bbr3_max(packets, 2 * times);
}

/* QuantizationBudget() with TCP's UpdateOffloadBudget(). */
static inline qw_u32 qw_bbr3_budget(const struct qw_bbr3 *s,
				    const struct qw_conn *c, qw_u32 inflight)
{
	inflight = qw_bbr3_max(inflight, qw_bbr3_quanta(s, c, 3));
	inflight = qw_bbr3_max(inflight, QW_BBR3_MIN_CWND);
	if (s->state == QW_BBR3_UP)
		inflight += 2;
	return inflight;
}

/* Inflight() */
static inline qw_u32 qw_bbr3_inflight(const struct qw_bbr3 *s,
				      const struct qw_conn *c, qw_u32 bw)
{
	return qw_bbr3_budget(s, c, qw_bbr3_bdp(s, bw, QW_BBR3_UNIT));
}

/* TargetInflight() */
static inline qw_u32 qw_bbr3_target(const struct qw_bbr3 *s,
				    const struct qw_conn *c)
{
	qw_u32 bw = qw_bbr3_bw(s);
	qw_u32 bdp = QW_BBR3_CODE ? qw_bbr3_inflight(s, c, bw) :
				    qw_bbr3_bdp(s, bw, QW_BBR3_UNIT);

	return qw_bbr3_min(bdp, c->cwnd);
}

/* InflightWithHeadroom(): whole packets fit, of which the code counts the free
 * ones. */
static inline qw_u32 qw_bbr3_with_headroom(const struct qw_bbr3 *s)
{
	qw_u32 room;

	if (s->in_long == QW_BBR3_NONE)
		return QW_BBR3_NONE;
	room = (qw_u32)(((qw_u64)s->in_long * QW_BBR3_HEADROOM +
			 (QW_BBR3_CODE ? 0 : QW_BBR3_OF - 1)) /
			QW_BBR3_OF);
	room = qw_bbr3_max(room, 1);
	return s->in_long > room + QW_BBR3_MIN_CWND ? s->in_long - room :
						      QW_BBR3_MIN_CWND;
}

/* ProbeRTTCwnd() */
static inline qw_u32 qw_bbr3_probe_rtt_cwnd(const struct qw_bbr3 *s)
{
	return qw_bbr3_max(
		qw_bbr3_bdp(s, qw_bbr3_bw(s), QW_BBR3_CWND_GAIN_PROBE_RTT),
		QW_BBR3_MIN_CWND);
}

/* Of so many packets in flight, which still will be when the pacer lets the next
 * one go; asked by the code alone. */
static inline qw_u32 qw_bbr3_in_net(const struct qw_bbr3 *s,
				    const struct qw_conn *c, qw_u32 in,
				    qw_u64 now)
{
	qw_u64 us, gone;

	if (!QW_BBR3_CODE)
		return in;
	us = c->edt_ns > now ? (c->edt_ns - now) / 1000 : 0;
	if (us >> 31)
		return 0;
	gone = (qw_u64)qw_bbr3_bw(s) * us >> QW_BBR3_BW_SCALE;
	if (qw_bbr3_pacing_gain(s) > QW_BBR3_UNIT)
		in += qw_bbr3_quanta(s, c, 1);
	return in > gone ? in - (qw_u32)gone : 0;
}

/* IsProbingBW() */
static inline int qw_bbr3_is_probing(const struct qw_bbr3 *s)
{
	return s->state == QW_BBR3_STARTUP || s->state == QW_BBR3_REFILL ||
	       s->state == QW_BBR3_UP;
}

/* IsInAProbeBWState() */
static inline int qw_bbr3_in_probe_bw(const struct qw_bbr3 *s)
{
	return s->state >= QW_BBR3_DOWN && s->state <= QW_BBR3_UP;
}

/* Small steps of the state. */

static inline void qw_bbr3_start_round(struct qw_bbr3 *s,
				       const struct qw_conn *c)
{
	s->round_delivered = c->delivered;
}

static inline void qw_bbr3_reset_full_bw(struct qw_bbr3 *s, qw_u32 baseline)
{
	s->full_bw = baseline;
	s->full_bw_count = 0;
	s->full_bw_now = 0;
}

/* ResetShortTermModel() */
static inline void qw_bbr3_reset_short(struct qw_bbr3 *s)
{
	s->bw_short = QW_BBR3_NONE;
	s->in_short = QW_BBR3_NONE;
}

/* ResetCongestionSignals() */
static inline void qw_bbr3_reset_signals(struct qw_bbr3 *s)
{
	s->loss_in_round = 0;
	s->ecn_in_round = 0;
	s->loss_in_cycle = 0;
	s->ecn_in_cycle = 0;
	s->bw_latest = 0;
	s->in_latest = 0;
}

/* RaiseInflightLongtermSlope() */
static inline void qw_bbr3_raise_slope(struct qw_bbr3 *s,
				       const struct qw_conn *c)
{
	s->up_per_inc = qw_bbr3_max(c->cwnd >> s->up_rounds, 1);
	s->up_rounds = qw_bbr3_min(s->up_rounds + 1, QW_BBR3_MAX_SLOPE);
}

/* SaveCwnd() */
static inline void qw_bbr3_save_cwnd(struct qw_bbr3 *s, const struct qw_conn *c)
{
	if (c->ca_state < QW_CA_RECOVERY && s->state != QW_BBR3_PROBE_RTT)
		s->prior_cwnd = c->cwnd;
	else
		s->prior_cwnd = qw_bbr3_max(s->prior_cwnd, c->cwnd);
}

/* SaveStateUponLoss(), but for the window. The pseudocode saves again at the
 * first loss of every round and on entering recovery, which forgets what the
 * first loss took; its text saves when a recovery starts, and so does this. */
static inline void qw_bbr3_save_state(struct qw_bbr3 *s)
{
	if (s->episode)
		return;
	s->episode = 1;
	s->undo_state = QW_BBR3_NONE;
	s->undo_bw_short = s->bw_short;
	s->undo_in_short = s->in_short;
	s->undo_in_long = s->in_long;
}

/* Changes of state ("ProbeBW Algorithm Details"). */

static inline void qw_bbr3_start_down(struct qw_bbr3 *s,
				      const struct qw_conn *c, qw_u64 now)
{
	qw_bbr3_reset_signals(s);
	s->up_per_inc = QW_BBR3_NONE;
	/* PickProbeWait() */
	s->rounds_since_probe = s->random & 1;
	s->wait_ns =
		QW_BBR3_WAIT_NS + ((qw_u64)s->random * QW_NS_PER_SEC >> 32);
	s->cycle_ns = now;
	s->ack_phase = QW_BBR3_ACKS_STOPPING;
	qw_bbr3_start_round(s, c);
	s->state = QW_BBR3_DOWN;
}

static inline void qw_bbr3_start_cruise(struct qw_bbr3 *s)
{
	/* Code: what is cut later is cut from no more than the other bound. */
	if (QW_BBR3_CODE && s->in_short != QW_BBR3_NONE)
		s->in_short = qw_bbr3_min(s->in_short, s->in_long);
	s->state = QW_BBR3_CRUISE;
}

static inline void qw_bbr3_start_refill(struct qw_bbr3 *s,
					const struct qw_conn *c)
{
	qw_bbr3_reset_short(s);
	s->up_rounds = 0;
	s->up_acked = 0;
	s->precautionary = 0;
	s->ack_phase = QW_BBR3_ACKS_REFILLING;
	qw_bbr3_start_round(s, c);
	s->state = QW_BBR3_REFILL;
}

static inline void qw_bbr3_start_up(struct qw_bbr3 *s, const struct qw_conn *c)
{
	s->probe_sample = 1;
	s->ack_phase = QW_BBR3_ACKS_STARTING;
	qw_bbr3_start_round(s, c);
	qw_bbr3_reset_full_bw(s, s->rate);
	s->state = QW_BBR3_UP;
	qw_bbr3_raise_slope(s, c);
}

/* Losses ("Updating the Model Upon Packet Loss"). */

/* IsInflightTooHigh(); selective acknowledgements are taken for granted. */
static inline int qw_bbr3_is_too_high(qw_u32 lost, qw_u32 tx_in_flight)
{
	qw_u64 bearable = (qw_u64)tx_in_flight * QW_BBR3_LOSS;

	if (!lost || !tx_in_flight)
		return 0;
	if (QW_BBR3_CODE)
		return lost > bearable / QW_BBR3_OF;
	return (qw_u64)lost * QW_BBR3_OF > bearable;
}

/* InflightAtLoss(): where in the lost burst did losses become too many? Where
 * that was before it, the burst is all that did not fit. */
static inline qw_u32 qw_bbr3_at_loss(const struct qw_lost *l)
{
	qw_u32 before =
		l->tx_in_flight > l->packets ? l->tx_in_flight - l->packets : 0;
	qw_u32 lost = l->lost > l->packets ? l->lost - l->packets : 0;
	qw_u64 budget = (qw_u64)before * QW_BBR3_LOSS;
	qw_u64 spent = (qw_u64)lost * QW_BBR3_OF;

	if (QW_BBR3_CODE)
		budget = (budget + QW_BBR3_OF - 1) / QW_BBR3_OF * QW_BBR3_OF;
	if (budget <= spent)
		return before;
	return before +
	       (qw_u32)((budget - spent) / (QW_BBR3_OF - QW_BBR3_LOSS));
}

/* NoteLoss() */
static inline void qw_bbr3_note_loss(struct qw_bbr3 *s, const struct qw_conn *c)
{
	if (!s->loss_in_round)
		s->loss_round_delivered = c->delivered;
	/* A recovery may begin in the last round of another. */
	if (!s->episode) {
		qw_bbr3_save_cwnd(s, c);
		qw_bbr3_save_state(s);
	}
	s->loss_in_round = 1;
	s->loss_in_cycle = 1;
}

/* HandleInflightTooHigh() */
static inline void qw_bbr3_handle_too_high(struct qw_bbr3 *s,
					   const struct qw_conn *c,
					   qw_u32 tx_in_flight,
					   qw_u32 app_limited, qw_u64 now)
{
	s->too_high = 1;
	s->probe_sample = 0;
	if (!app_limited)
		s->in_long = qw_bbr3_max(tx_in_flight,
					 qw_bbr3_beta(qw_bbr3_target(s, c)));
	if (s->state == QW_BBR3_UP) {
		s->undo_state = QW_BBR3_UP;
		qw_bbr3_start_down(s, c, now);
	}
}

/* HandleLostPacket() */
static inline void qw_bbr3_lost(struct qw_bbr3 *s, struct qw_conn *c,
				const struct qw_lost *l, qw_u64 now)
{
	s->told = 1;
	qw_bbr3_note_loss(s, c);
	if (s->probe_sample && qw_bbr3_is_too_high(l->lost, l->tx_in_flight))
		qw_bbr3_handle_too_high(s, c, qw_bbr3_at_loss(l),
					l->is_app_limited, now);
}

/* What an ACK says of losses, where no packet's loss was said: those that a timer
 * found are in no sample. */
static inline void qw_bbr3_losses(struct qw_bbr3 *s, const struct qw_conn *c,
				  const struct qw_rate_sample *rs)
{
	if (!s->told && c->lost != s->seen_lost)
		qw_bbr3_note_loss(s, c);
	s->seen_lost = c->lost;
	if (rs->losses)
		s->loss_events = qw_bbr3_min(s->loss_events + 1, 15);
	/* Code: what a probe repaired was lost all the same. */
	if (QW_BBR3_CODE && rs->is_tlp)
		qw_bbr3_note_loss(s, c);
}

/* The model. */

/* UpdateRound() and UpdateLatestDeliverySignals(). What was delivered, however
 * slowly, had a rate; the code rounds all of them up. */
QW_PART int qw_bbr3_sample(struct qw_bbr3 *s QW_GIVEN,
			   const struct qw_conn *c QW_GIVEN,
			   const struct qw_rate_sample *rs QW_GIVEN)
{
	qw_u64 rate = 0;

	s->round_start = 0;
	s->loss_round_start = 0;
	s->rate = 0;
	if (!rs->prior_ns || rs->delivered < 0 ||
	    (QW_BBR3_CODE && rs->interval_us <= 0))
		return 0;
	if (rs->interval_us > 0)
		rate = (((qw_u64)(qw_u32)rs->delivered << QW_BBR3_BW_SCALE) +
			(QW_BBR3_CODE ? (qw_u64)rs->interval_us - 1 : 0)) /
		       (qw_u64)rs->interval_us;
	s->rate = rate < QW_BBR3_NONE ? (qw_u32)rate : QW_BBR3_NONE - 1;
	if (!s->rate && rs->interval_us > 0 && rs->delivered)
		s->rate = 1;
	if (!qw_after(s->round_delivered, rs->prior_delivered)) {
		qw_bbr3_start_round(s, c);
		s->rounds++;
		s->rounds_since_probe++;
		s->round_start = 1;
	}
	s->bw_latest = qw_bbr3_max(s->bw_latest, s->rate);
	s->in_latest = qw_bbr3_max(s->in_latest, (qw_u32)rs->delivered);
	if (!qw_after(s->loss_round_delivered, rs->prior_delivered)) {
		s->loss_round_delivered = c->delivered;
		s->loss_round_start = 1;
	}
	/* UpdateMaxBw(): what the application held down shows the path only if
	 * it beats what is known. */
	if (s->rate && (!rs->is_app_limited || s->rate >= qw_bbr3_max_bw(s)))
		s->bw_best[1] = qw_bbr3_max(s->bw_best[1], s->rate);
	return 0;
}

/* AdvanceMaxBwFilter(). A cycle without a sample takes no one's place. */
static inline void qw_bbr3_advance_bw(struct qw_bbr3 *s)
{
	if (!s->bw_best[1])
		return;
	s->bw_best[0] = s->bw_best[1];
	s->bw_best[1] = 0;
}

/* Startup is over for other reasons than a plateau ("Exiting Startup Based on
 * Packet Loss"). */
static inline void qw_bbr3_startup_too_high(struct qw_bbr3 *s,
					    const struct qw_conn *c)
{
	qw_u32 bw = qw_bbr3_max_bw(s);
	qw_u32 bdp = QW_BBR3_CODE ? qw_bbr3_inflight(s, c, bw) :
				    qw_bbr3_bdp(s, bw, QW_BBR3_UNIT);

	s->undo_state = QW_BBR3_STARTUP;
	s->full_bw_now = 1;
	s->full_bw_reached = 1;
	s->in_long = qw_bbr3_max(bdp, s->in_latest);
}

/* Code: once a round, the part of what was delivered that was marked. */
static inline void qw_bbr3_ecn_round(struct qw_bbr3 *s, const struct qw_conn *c)
{
	qw_u32 delivered = c->delivered - s->alpha_delivered;
	qw_u64 marked = c->delivered_ce - s->alpha_ce;
	qw_u32 share;

	if (s->min_rtt_us <= QW_BBR3_ECN_RTT_US)
		s->ecn_eligible = 1;
	if (!s->ecn_eligible || !delivered)
		return;
	share = (qw_u32)(marked * QW_BBR3_ALPHA / delivered);
	s->alpha_delivered = c->delivered;
	s->alpha_ce = c->delivered_ce;
	s->alpha = ((s->alpha * ((1u << QW_BBR3_ALPHA_SHIFT) - 1)) >>
		    QW_BBR3_ALPHA_SHIFT) +
		   (share >> QW_BBR3_ALPHA_SHIFT);
	s->alpha = qw_bbr3_min(s->alpha, QW_BBR3_ALPHA);
	if (s->full_bw_reached)
		return;
	s->ecn_rounds = share * 2 >= QW_BBR3_ALPHA ? s->ecn_rounds + 1 : 0;
	if (s->ecn_rounds >= QW_BBR3_ECN_ROUNDS)
		qw_bbr3_startup_too_high(s, c);
}

static inline void qw_bbr3_ecn(struct qw_bbr3 *s, const struct qw_conn *c)
{
	if (!QW_BBR3_ECN)
		return;
	if (c->delivered_ce != s->last_ce) {
		s->last_ce = c->delivered_ce;
		s->ecn_in_round = 1;
		s->ecn_in_cycle = 1;
	}
	if (s->round_start)
		qw_bbr3_ecn_round(s, c);
}

/* AdaptLowerBoundsFromCongestion() and what belongs to it: once a round. */
static inline void qw_bbr3_adapt_short(struct qw_bbr3 *s,
				       const struct qw_conn *c)
{
	qw_u32 by_marks = QW_BBR3_NONE;
	qw_u32 in = s->in_short == QW_BBR3_NONE ? c->cwnd : s->in_short;

	if (qw_bbr3_is_probing(s))
		return;
	if (QW_BBR3_ECN && s->ecn_in_round && s->ecn_eligible) {
		qw_u32 cut = s->alpha * QW_BBR3_ECN_FACTOR / QW_BBR3_ALPHA;

		by_marks = (qw_u32)((qw_u64)in * (QW_BBR3_ALPHA - cut) /
				    QW_BBR3_ALPHA);
		s->in_short = by_marks;
	}
	if (s->loss_in_round) {
		if (s->bw_short == QW_BBR3_NONE)
			s->bw_short = qw_bbr3_max_bw(s);
		s->bw_short =
			qw_bbr3_max(s->bw_latest, qw_bbr3_beta(s->bw_short));
		s->bw_short = qw_bbr3_max(s->bw_short, 1);
		s->in_short = qw_bbr3_min(
			qw_bbr3_max(s->in_latest, qw_bbr3_beta(in)), by_marks);
	}
}

/* UpdateCongestionSignals() without UpdateMaxBw() */
static inline void qw_bbr3_congestion(struct qw_bbr3 *s,
				      const struct qw_conn *c)
{
	if (!s->loss_round_start)
		return;
	qw_bbr3_adapt_short(s, c);
	s->loss_in_round = 0;
	s->ecn_in_round = 0;
}

/* The highest of the aggregation filter's slots. */
static inline void qw_bbr3_extra_next(struct qw_bbr3 *s)
{
	qw_u32 rounds = s->full_bw_reached ? QW_BBR3_EXTRA_ROUNDS : 1;
	qw_u32 i, best = 0;

	if (++s->extra_rounds < rounds)
		return;
	s->extra_rounds = 0;
	/* In Startup it remembers a round: two slots in turns. */
	s->extra_slot++;
	if (s->extra_slot >= (s->full_bw_reached ? QW_BBR3_EXTRA_SLOTS : 2))
		s->extra_slot = 0;
	for (i = 0; i < QW_BBR3_EXTRA_SLOTS; i++) {
		if (i == s->extra_slot || (!s->full_bw_reached && i > 1))
			s->extra[i] = 0;
		best = qw_bbr3_max(best, s->extra[i]);
	}
	s->extra_max = best;
}

/* UpdateACKAggregation(): packets delivered beyond what the bandwidth says. */
QW_PART int qw_bbr3_aggregation(struct qw_bbr3 *s QW_GIVEN,
				const struct qw_conn *c QW_GIVEN, qw_u32 acked,
				qw_u64 now)
{
	qw_u64 us = (now - s->extra_ns) / 1000, expected;
	qw_u32 extra, slot = s->extra_slot;

	if (s->round_start)
		qw_bbr3_extra_next(s);
	/* So long an epoch is none, and its product has 64 bits. */
	expected = us >> 31 ? QW_BBR3_NONE :
			      (qw_u64)qw_bbr3_bw(s) * us >> QW_BBR3_BW_SCALE;
	if (s->extra_acked <= expected || s->extra_acked >= QW_BBR3_EPOCH_MAX) {
		s->extra_acked = 0;
		s->extra_ns = now;
		expected = 0;
	}
	s->extra_acked += acked;
	extra = s->extra_acked > expected ? s->extra_acked - (qw_u32)expected :
					    0;
	extra = qw_bbr3_min(extra, c->cwnd);
	slot = s->extra_slot;
	if (slot < QW_BBR3_EXTRA_SLOTS && extra > s->extra[slot])
		s->extra[slot] = extra;
	s->extra_max = qw_bbr3_max(s->extra_max, extra);
	return 0;
}

/* Packets granted for aggregation. */
static inline qw_u32 qw_bbr3_extra(const struct qw_bbr3 *s)
{
	qw_u64 most;

	if (!QW_BBR3_CODE)
		return s->extra_max;
	most = (qw_u64)qw_bbr3_bw(s) * QW_BBR3_EXTRA_US >> QW_BBR3_BW_SCALE;
	return most < s->extra_max ? (qw_u32)most : s->extra_max;
}

/* CheckFullBWReached(). The pseudocode counts a round whose sample has no rate
 * as one without growth; here it is not looked at. */
static inline void qw_bbr3_check_full_bw(struct qw_bbr3 *s, qw_u32 app_limited)
{
	if (s->full_bw_now || app_limited || !s->rate)
		return;
	if (!QW_BBR3_CODE && !s->round_start)
		return;
	/* Growth by a quarter. */
	if ((qw_u64)s->rate * 4 >= (qw_u64)s->full_bw * 5) {
		qw_bbr3_reset_full_bw(s, s->rate);
		return;
	}
	if (!s->round_start)
		return;
	s->full_bw_count++;
	if (s->full_bw_count >= QW_BBR3_FULL_BW_ROUNDS) {
		s->full_bw_now = 1;
		s->full_bw_reached = 1;
	}
}

/* CheckStartupHighLoss(): a loss round ends in recovery, with many losses. The
 * ranges that were lost are counted by the ACKs that told of them. */
static inline void qw_bbr3_check_startup_loss(struct qw_bbr3 *s,
					      const struct qw_conn *c,
					      const struct qw_rate_sample *rs)
{
	if (s->full_bw_reached || !s->loss_round_start ||
	    c->ca_state != QW_CA_RECOVERY)
		return;
	if (s->loss_events >= QW_BBR3_FULL_LOSSES &&
	    qw_bbr3_is_too_high(rs->lost, rs->tx_in_flight))
		qw_bbr3_startup_too_high(s, c);
}

/* CheckStartupDone() and CheckDrainDone(). Code: what Startup taught of losses is
 * forgotten, and a short-term rate makes Drain no longer. */
static inline void qw_bbr3_check_drain(struct qw_bbr3 *s,
				       const struct qw_conn *c, qw_u64 now)
{
	qw_u32 bw;

	if (s->state == QW_BBR3_STARTUP && s->full_bw_reached) {
		s->state = QW_BBR3_DRAIN;
		s->drain_round = s->rounds;
		if (QW_BBR3_CODE)
			qw_bbr3_reset_signals(s);
	}
	if (s->state != QW_BBR3_DRAIN)
		return;
	bw = QW_BBR3_CODE ? qw_bbr3_max_bw(s) : qw_bbr3_bw(s);
	if (qw_bbr3_in_net(s, c, qw_in_flight(c), now) <=
		    qw_bbr3_inflight(s, c, bw) ||
	    (!QW_BBR3_CODE &&
	     s->rounds - s->drain_round > QW_BBR3_DRAIN_ROUNDS))
		qw_bbr3_start_down(s, c, now);
}

/* The cycle. */

/* ProbeInflightLongtermUpward() */
static inline void qw_bbr3_probe_upward(struct qw_bbr3 *s,
					const struct qw_conn *c, qw_u32 acked)
{
	if (!c->is_cwnd_limited || c->cwnd < s->in_long)
		return;
	s->up_acked += acked;
	if (s->up_acked >= s->up_per_inc) {
		qw_u32 delta = s->up_acked / s->up_per_inc;

		s->up_acked -= delta * s->up_per_inc;
		s->in_long = qw_bbr3_min(s->in_long + delta, QW_BBR3_MAX_CWND);
	}
	if (s->round_start)
		qw_bbr3_raise_slope(s, c);
}

/* Does the delivered packet show that too much was in flight? */
static inline int qw_bbr3_sample_too_high(const struct qw_bbr3 *s,
					  const struct qw_rate_sample *rs)
{
	if (qw_bbr3_is_too_high(rs->lost, rs->tx_in_flight))
		return 1;
	if (QW_BBR3_CODE && rs->is_tlp &&
	    qw_bbr3_is_too_high(1, s->in_latest + 1))
		return 1;
	return QW_BBR3_ECN && s->ecn_eligible && rs->delivered > 0 &&
	       (qw_u64)rs->delivered_ce * 2 > (qw_u32)rs->delivered;
}

/* AdaptLongTermModel(), the part of it that a round's start decides: 1 if the
 * next state is settled. */
static inline int qw_bbr3_ack_phase(struct qw_bbr3 *s, const struct qw_conn *c,
				    qw_u32 app_limited)
{
	if (!s->round_start)
		return 0;
	if (s->ack_phase == QW_BBR3_ACKS_STARTING)
		s->ack_phase = QW_BBR3_ACKS_FEEDBACK;
	if (s->ack_phase != QW_BBR3_ACKS_STOPPING)
		return 0;
	s->probe_sample = 0;
	s->ack_phase = QW_BBR3_ACKS_INIT;
	if (!qw_bbr3_in_probe_bw(s))
		return 0;
	if (!app_limited)
		qw_bbr3_advance_bw(s);
	/* Precautionary Bandwidth Probing: Acceleration */
	if (s->precautionary && !s->too_high) {
		qw_bbr3_start_refill(s, c);
		return 1;
	}
	return 0;
}

/* AdaptLongTermModel(), the bound. The draft reacts to lost packets alone; the
 * code, and a host that does not tell of them, to what is delivered. */
static inline void qw_bbr3_adapt_long(struct qw_bbr3 *s,
				      const struct qw_conn *c,
				      const struct qw_rate_sample *rs,
				      qw_u64 now)
{
	/* Code: with a loss that a probe repaired, so many were in flight. */
	qw_u32 tx = QW_BBR3_CODE && rs->is_tlp ? s->in_latest + 1 :
						 rs->tx_in_flight;

	if (qw_bbr3_sample_too_high(s, rs)) {
		if (s->probe_sample && (QW_BBR3_CODE || !s->told))
			qw_bbr3_handle_too_high(s, c, tx, rs->is_app_limited,
						now);
		return;
	}
	if (s->in_long == QW_BBR3_NONE)
		return;
	s->in_long = qw_bbr3_max(s->in_long, rs->tx_in_flight);
	if (s->state == QW_BBR3_UP)
		qw_bbr3_probe_upward(s, c, rs->acked_sacked);
}

/* IsTimeToProbeBW() */
static inline int qw_bbr3_check_probe(struct qw_bbr3 *s,
				      const struct qw_conn *c, qw_u64 now)
{
	qw_u32 rounds;

	/* Code: marks have stopped, and nothing was lost. */
	if (QW_BBR3_ECN && s->ecn_eligible && s->ecn_in_cycle &&
	    !s->loss_in_cycle && c->ca_state == QW_CA_OPEN) {
		qw_bbr3_start_refill(s, c);
		s->up_rounds = qw_bbr3_min(qw_bbr3_log2(s->in_long >> 1),
					   QW_BBR3_MAX_SLOPE);
		return 1;
	}
	rounds = qw_bbr3_min(qw_bbr3_target(s, c), QW_BBR3_RENO_ROUNDS);
	if (now <= s->cycle_ns + s->wait_ns && s->rounds_since_probe < rounds)
		return 0;
	qw_bbr3_start_refill(s, c);
	return 1;
}

/* IsTimeToGoDown(). `in` is what was in flight when the ACK came: what is left
 * after it never reaches a bound that the window keeps to. */
static inline int qw_bbr3_check_down(struct qw_bbr3 *s, const struct qw_conn *c,
				     qw_u32 in)
{
	/* Precautionary Bandwidth Probing: Deceleration */
	if (s->too_high && in >= s->in_long) {
		s->precautionary = 1;
		return 1;
	}
	if (c->is_cwnd_limited && c->cwnd >= s->in_long) {
		qw_bbr3_reset_full_bw(s, s->rate);
		return 0;
	}
	return s->full_bw_now;
}

/* IsTimeToCruise() */
static inline int qw_bbr3_check_cruise(const struct qw_bbr3 *s,
				       const struct qw_conn *c, qw_u32 in)
{
	return in <= qw_bbr3_with_headroom(s) &&
	       in <= qw_bbr3_inflight(s, c, qw_bbr3_max_bw(s));
}

/* UpdateProbeBWCyclePhase(), when something was delivered. */
QW_PART int qw_bbr3_cycle(struct qw_bbr3 *s QW_GIVEN,
			  const struct qw_conn *c QW_GIVEN,
			  const struct qw_rate_sample *rs QW_GIVEN, qw_u64 now)
{
	qw_u32 in = qw_in_flight(c);

	if (!s->full_bw_reached || !rs->acked_sacked)
		return 0;
	if (qw_bbr3_ack_phase(s, c, rs->is_app_limited))
		return 0;
	qw_bbr3_adapt_long(s, c, rs, now);
	if (QW_BBR3_CODE || s->state == QW_BBR3_UP)
		in = rs->prior_in_flight;
	in = qw_bbr3_in_net(s, c, in, now);
	if (s->state == QW_BBR3_DOWN || s->state == QW_BBR3_CRUISE) {
		if (!qw_bbr3_check_probe(s, c, now) &&
		    s->state == QW_BBR3_DOWN && qw_bbr3_check_cruise(s, c, in))
			qw_bbr3_start_cruise(s);
	} else if (s->state == QW_BBR3_REFILL) {
		if (s->round_start)
			qw_bbr3_start_up(s, c);
	} else if (s->state == QW_BBR3_UP) {
		if (qw_bbr3_check_down(s, c, in)) {
			s->too_high = 0;
			qw_bbr3_start_down(s, c, now);
		}
	}
	return 0;
}

/* Round trips ("ProbeRTT Logic"). */

/* UpdateMinRTT() */
static inline void qw_bbr3_update_min_rtt(struct qw_bbr3 *s,
					  const struct qw_rate_sample *rs,
					  qw_u64 now)
{
	qw_u32 rtt;

	s->probe_rtt_expired = now > s->probe_rtt_ns + QW_BBR3_PROBE_RTT_NS;
	if (rs->rtt_us >= 0) {
		rtt = rs->rtt_us < QW_BBR3_NONE ? (qw_u32)rs->rtt_us :
						  QW_BBR3_NONE - 1;
		if (rtt < s->probe_rtt_us ||
		    (s->probe_rtt_expired &&
		     (!QW_BBR3_CODE || !rs->is_ack_delayed))) {
			s->probe_rtt_us = rtt;
			s->probe_rtt_ns = now;
		}
	}
	if (s->probe_rtt_us < s->min_rtt_us ||
	    (QW_BBR3_CODE && s->probe_rtt_us == s->min_rtt_us) ||
	    now > s->min_rtt_ns + QW_BBR3_MIN_RTT_NS) {
		s->min_rtt_us = s->probe_rtt_us;
		s->min_rtt_ns = s->probe_rtt_ns;
	}
}

/* CheckProbeRTTDone() with ExitProbeRTT() */
static inline void qw_bbr3_check_probe_rtt_done(struct qw_bbr3 *s,
						struct qw_conn *c, qw_u64 now)
{
	if (!s->probe_rtt_done_ns || now <= s->probe_rtt_done_ns)
		return;
	s->probe_rtt_ns = now;
	c->cwnd = qw_bbr3_max(c->cwnd, s->prior_cwnd);
	qw_bbr3_reset_short(s);
	if (s->full_bw_reached) {
		/* What is in flight is below the BDP: no need to go down. */
		qw_bbr3_start_down(s, c, now);
		qw_bbr3_start_cruise(s);
	} else {
		s->state = QW_BBR3_STARTUP;
	}
}

/* HandleProbeRTT() */
static inline void qw_bbr3_probe_rtt(struct qw_bbr3 *s, struct qw_conn *c,
				     qw_u64 now)
{
	/* The low rate is of our own making. */
	c->app_limited = qw_bbr3_max(c->delivered + qw_in_flight(c), 1);
	if (!s->probe_rtt_done_ns) {
		if (qw_in_flight(c) > qw_bbr3_probe_rtt_cwnd(s))
			return;
		s->probe_rtt_done_ns = now + QW_BBR3_PROBE_RTT_LEN_NS;
		s->probe_rtt_round_done = 0;
		qw_bbr3_start_round(s, c);
		return;
	}
	if (s->round_start)
		s->probe_rtt_round_done = 1;
	if (s->probe_rtt_round_done)
		qw_bbr3_check_probe_rtt_done(s, c, now);
}

/* CheckProbeRTT() */
QW_PART int qw_bbr3_check_probe_rtt(struct qw_bbr3 *s QW_GIVEN,
				    struct qw_conn *c QW_GIVEN,
				    const struct qw_rate_sample *rs QW_GIVEN,
				    qw_u64 now)
{
	if (s->state != QW_BBR3_PROBE_RTT && s->probe_rtt_expired &&
	    !s->idle_restart) {
		s->state = QW_BBR3_PROBE_RTT;
		qw_bbr3_save_cwnd(s, c);
		s->probe_rtt_done_ns = 0;
		s->ack_phase = QW_BBR3_ACKS_STOPPING;
		qw_bbr3_start_round(s, c);
	}
	if (s->state == QW_BBR3_PROBE_RTT)
		qw_bbr3_probe_rtt(s, c, now);
	if (rs->delivered > 0)
		s->idle_restart = 0;
	return 0;
}

/* AdvanceLatestDeliverySignals(), and the end of a recovery's account. */
static inline void qw_bbr3_advance(struct qw_bbr3 *s, const struct qw_conn *c,
				   const struct qw_rate_sample *rs)
{
	if (s->loss_round_start) {
		s->loss_events = 0;
		if (!QW_BBR3_CODE || !rs->is_tlp) {
			s->bw_latest = s->rate;
			s->in_latest = (qw_u32)rs->delivered;
		}
	}
	if (c->ca_state < QW_CA_RECOVERY)
		s->episode = 0;
}

/* What is set ("Updating Control Parameters"). */

/* InitPacingRate() */
static inline void qw_bbr3_init_pacing(struct qw_bbr3 *s, struct qw_conn *c)
{
	qw_u32 rtt_us = 1000;
	qw_u64 bw;

	if (c->srtt_us) {
		s->rtt_seen = 1;
		rtt_us = qw_bbr3_max(c->srtt_us >> 3, 1);
	}
	bw = ((qw_u64)s->init_cwnd << QW_BBR3_BW_SCALE) / rtt_us;
	if (bw >= QW_BBR3_NONE)
		bw = QW_BBR3_NONE - 1;
	c->pacing_rate =
		qw_bbr3_rate(c, (qw_u32)bw, QW_BBR3_GAIN_STARTUP,
			     QW_BBR3_CODE ? QW_BBR3_MARGIN_PPM : 1000000u);
	if (!c->pacing_rate)
		c->pacing_rate = 1;
}

/* SetPacingRateWithGain(): until the pipe was full once, the rate only rises. */
static inline void qw_bbr3_set_pacing(struct qw_bbr3 *s, struct qw_conn *c,
				      qw_u32 gain)
{
	qw_u64 rate = qw_bbr3_rate(c, qw_bbr3_bw(s), gain, QW_BBR3_MARGIN_PPM);

	if (!s->rtt_seen && c->srtt_us)
		qw_bbr3_init_pacing(s, c);
	if (s->full_bw_reached || rate > c->pacing_rate)
		c->pacing_rate = rate ? rate : 1;
}

/* BoundCwndForModel() */
static inline qw_u32 qw_bbr3_bound(const struct qw_bbr3 *s, qw_u32 cwnd)
{
	qw_u32 cap = QW_BBR3_NONE;

	if (s->state == QW_BBR3_CRUISE || s->state == QW_BBR3_PROBE_RTT)
		cap = qw_bbr3_with_headroom(s);
	else if (qw_bbr3_in_probe_bw(s))
		cap = s->in_long;
	cap = qw_bbr3_min(cap, s->in_short);
	cap = qw_bbr3_max(cap, QW_BBR3_MIN_CWND);
	return qw_bbr3_min(cwnd, cap);
}

/* UpdateMaxInflight() */
static inline qw_u32 qw_bbr3_max_inflight(const struct qw_bbr3 *s,
					  const struct qw_conn *c)
{
	qw_u32 in = qw_bbr3_bdp(s, qw_bbr3_bw(s), qw_bbr3_cwnd_gain(s));

	return qw_bbr3_budget(s, c, in + qw_bbr3_extra(s));
}

/* SetCwnd() */
QW_PART int qw_bbr3_set_cwnd(struct qw_bbr3 *s QW_GIVEN,
			     struct qw_conn *c QW_GIVEN, qw_u32 acked)
{
	qw_u32 cwnd = c->cwnd, target;
	int early = QW_BBR3_CODE ? cwnd < 2 * s->init_cwnd :
				   c->delivered < s->init_cwnd;

	if (acked) {
		target = qw_bbr3_max_inflight(s, c);
		if (s->full_bw_reached)
			cwnd = qw_bbr3_min(cwnd + acked, target);
		else if (cwnd < target || early)
			cwnd += acked;
		cwnd = qw_bbr3_max(cwnd, QW_BBR3_MIN_CWND);
	}
	if (s->state == QW_BBR3_PROBE_RTT)
		cwnd = qw_bbr3_min(cwnd, qw_bbr3_probe_rtt_cwnd(s));
	cwnd = qw_bbr3_bound(s, cwnd);
	c->cwnd = qw_bbr3_min(cwnd, QW_BBR3_MAX_CWND);
	return 0;
}

/* The events. */

static inline void qw_bbr3_init(struct qw_bbr3 *s, struct qw_conn *c,
				qw_u64 now)
{
	c->ssthresh = QW_INFINITE_SSTHRESH;
	c->pacing = 1;
	s->init_cwnd = c->cwnd;
	s->min_rtt_us = QW_BBR3_NONE;
	if (QW_BBR3_CODE)
		s->min_rtt_us = c->min_rtt_us;
	else if (c->srtt_us)
		s->min_rtt_us = c->srtt_us >> 3;
	s->min_rtt_ns = now;
	s->probe_rtt_us = s->min_rtt_us;
	s->probe_rtt_ns = now;
	s->extra_ns = now;
	s->in_long = QW_BBR3_NONE;
	s->up_per_inc = QW_BBR3_NONE;
	s->undo_state = QW_BBR3_NONE;
	s->round_delivered = c->delivered;
	s->loss_round_delivered = c->delivered;
	s->seen_lost = c->lost;
	s->alpha = QW_BBR3_ALPHA;
	s->alpha_delivered = c->delivered;
	s->alpha_ce = c->delivered_ce;
	s->last_ce = c->delivered_ce;
	qw_bbr3_reset_short(s);
	qw_bbr3_init_pacing(s, c);
}

/* UpdateOnACK() */
static inline void qw_bbr3_cong_control(struct qw_bbr3 *s, struct qw_conn *c,
					const struct qw_rate_sample *rs,
					qw_u64 now, qw_u32 random)
{
	s->random = random;
	qw_bbr3_losses(s, c, rs);
	qw_bbr3_sample(s, c, rs);
	qw_bbr3_ecn(s, c);
	qw_bbr3_congestion(s, c);
	if (rs->acked_sacked)
		qw_bbr3_aggregation(s, c, rs->acked_sacked, now);
	qw_bbr3_check_full_bw(s, rs->is_app_limited);
	qw_bbr3_check_startup_loss(s, c, rs);
	qw_bbr3_check_drain(s, c, now);
	qw_bbr3_cycle(s, c, rs, now);
	qw_bbr3_update_min_rtt(s, rs, now);
	qw_bbr3_check_probe_rtt(s, c, rs, now);
	qw_bbr3_advance(s, c, rs);
	qw_bbr3_set_pacing(s, c, qw_bbr3_pacing_gain(s));
	qw_bbr3_set_cwnd(s, c, rs->acked_sacked);
}

/* It has no threshold, but the window is worth remembering. */
static inline qw_u32 qw_bbr3_ssthresh(struct qw_bbr3 *s, struct qw_conn *c,
				      qw_u64 now)
{
	(void)now;
	qw_bbr3_save_cwnd(s, c);
	return c->ssthresh;
}

/* HandleSpuriousLossDetection() */
static inline qw_u32 qw_bbr3_undo_cwnd(struct qw_bbr3 *s, struct qw_conn *c)
{
	qw_u32 was = s->undo_state;

	s->loss_in_round = 0;
	qw_bbr3_reset_full_bw(s, 0);
	s->bw_short = qw_bbr3_max(s->bw_short, s->undo_bw_short);
	s->in_short = qw_bbr3_max(s->in_short, s->undo_in_short);
	s->in_long = qw_bbr3_max(s->in_long, s->undo_in_long);
	s->undo_state = QW_BBR3_NONE;
	if (!QW_BBR3_CODE && was == QW_BBR3_STARTUP && s->state != was) {
		s->full_bw_reached = 0;
		if (s->state != QW_BBR3_PROBE_RTT)
			s->state = QW_BBR3_STARTUP;
	} else if (!QW_BBR3_CODE && was == QW_BBR3_UP && s->state != was &&
		   s->state != QW_BBR3_PROBE_RTT) {
		qw_bbr3_start_refill(s, c);
	}
	return qw_bbr3_max(c->cwnd, s->prior_cwnd);
}

/* OnEnterRTO(), OnEnterFastRecovery() and the end of both: ssthresh() has saved
 * the window. */
static inline void qw_bbr3_set_state(struct qw_bbr3 *s, struct qw_conn *c,
				     qw_u32 state, qw_u64 now)
{
	(void)now;
	if (state >= QW_CA_RECOVERY) {
		qw_bbr3_save_state(s);
	} else if (c->ca_state >= QW_CA_RECOVERY) {
		/* RestoreCwnd(). The same ACK may begin another recovery. */
		s->episode = 0;
		c->cwnd = qw_bbr3_max(c->cwnd, s->prior_cwnd);
	}
	if (state != QW_CA_LOSS || c->ca_state == QW_CA_LOSS)
		return;
	if (QW_BBR3_CODE) {
		qw_bbr3_reset_full_bw(s, 0);
		if (!qw_bbr3_is_probing(s) && s->in_short == QW_BBR3_NONE)
			s->in_short = qw_bbr3_max(c->cwnd, s->prior_cwnd);
	}
	/* One packet may go. */
	c->cwnd = qw_bbr3_max(qw_bbr3_min(c->cwnd, qw_in_flight(c) + 1), 1);
}

/* HandleRestartFromIdle(). The pseudocode leaves what the aggregation epoch had
 * counted; with its time begun anew that would all be extra. */
static inline void qw_bbr3_cwnd_event(struct qw_bbr3 *s, struct qw_conn *c,
				      qw_u32 event, qw_u64 now)
{
	if (event != QW_EVENT_TX_START || !c->app_limited)
		return;
	s->idle_restart = 1;
	s->extra_ns = now;
	s->extra_acked = 0;
	if (qw_bbr3_in_probe_bw(s))
		qw_bbr3_set_pacing(s, c, QW_BBR3_UNIT);
	else if (s->state == QW_BBR3_PROBE_RTT)
		qw_bbr3_check_probe_rtt_done(s, c, now);
}

/* The window of the next round may be twice this one's, and what probes adds to
 * it, as BBR's code has it in all versions. */
static inline qw_u32 qw_bbr3_sndbuf_expand(struct qw_bbr3 *s, struct qw_conn *c)
{
	(void)s;
	(void)c;
	return 3;
}

#define QW_BBR3_CCA(E)   \
	E(init)          \
	E(ssthresh)      \
	E(undo_cwnd)     \
	E(cong_control)  \
	E(set_state)     \
	E(cwnd_event)    \
	E(sndbuf_expand) \
	E(lost)

/* 0 where a bound is not set. */
#define QW_BBR3_PROBES(V)                                               \
	V(s->state, 1)                                                  \
	V(qw_bbr3_rate(c, qw_bbr3_bw(s), QW_BBR3_UNIT, 1000000u), 1)    \
	V(s->min_rtt_us, 1000)                                          \
	V(s->in_long == QW_BBR3_NONE ? 0 : s->in_long, 1)               \
	V(s->in_short == QW_BBR3_NONE ? 0 : s->in_short, 1)             \
	V(s->bw_short == QW_BBR3_NONE ?                                 \
		  0 :                                                   \
		  qw_bbr3_rate(c, s->bw_short, QW_BBR3_UNIT, 1000000u), \
	  1)                                                            \
	V(s->extra_max, 1)
#define QW_BBR3_PROBE_NAMES(N)             \
	N("state", "")                     \
	N("bw", "bytes/s")                 \
	N("min_rtt", "ms")                 \
	N("inflight_longterm", "packets")  \
	N("inflight_shortterm", "packets") \
	N("bw_shortterm", "bytes/s")       \
	N("extra_acked", "packets")

#endif /* QW_BBR3_H */
