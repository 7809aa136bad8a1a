/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CUBIC (RFC 9438) with HyStart, in the integers of Linux's tcp_cubic.c. It is an
 * example of a congestion control in C. A test compares it with the same rule in
 * Rust (crates/cca/src/cubic.rs).
 *
 * The curve is W(t) = C (t - K)^3 + Wmax. Its clock ticks 1024 times a second, C
 * is 0.4 as 410/1024, and the multiplicative decrease 0.7 is 717/1024.
 */
#ifndef QW_CUBIC_H
#define QW_CUBIC_H

#include "qw_cca.h"

/* The curve's clock ticks 2^10 times a second. */
#define QW_CUBIC_HZ 10
/* Multiplicative decrease (RFC 9438 section 4.6), of 1024. */
#define QW_CUBIC_BETA 717u
/* Fraction bits of the curve: 10 of C, 3 x 10 of the clock cubed. */
#define QW_CUBIC_SHIFT (10 + 3 * QW_CUBIC_HZ)
/* C, of 1024, packets per s^3; K = cbrt((Wmax - cwnd) x QW_CUBIC_FACTOR) */
#define QW_CUBIC_C 410ULL
#define QW_CUBIC_FACTOR ((1ULL << QW_CUBIC_SHIFT) / QW_CUBIC_C)
/* Farthest from the origin, in ticks, that C (t - K)^3 stays within 64 bits:
 * 342 s. */
#define QW_CUBIC_FAR 350000ULL
/* Reno-friendly growth: one packet for every cwnd x this / 8 acknowledged. */
#define QW_CUBIC_FRIENDLY 15ULL
/* HyStart leaves smaller windows alone, packets. */
#define QW_CUBIC_LOW_WINDOW 16u
/* ACKs farther apart do not belong to one train, us. */
#define QW_CUBIC_TRAIN_US 2000u
/* Samples of a round before its minimum counts. */
#define QW_CUBIC_SAMPLES 8u
/* Bounds of the rise of the round-trip time that ends slow start, us. */
#define QW_CUBIC_RISE_MIN_US 4000u
#define QW_CUBIC_RISE_MAX_US 16000u
/* Four of the largest bursts, bytes. */
#define QW_CUBIC_BURSTS (4ULL * (65536 - 1 - 320))

struct qw_cubic {
	qw_u64 round_start_us; /* HyStart's round, and the last ACK of the train */
	qw_u64 last_ack_us;
	qw_u32 cnt; /* packets acknowledged for each packet of growth */
	qw_u32 last_max_cwnd; /* Wmax, after fast convergence */
	qw_u32 last_cwnd; /* what cnt was last computed for */
	qw_u32 last_time;
	qw_u32 origin_point; /* where the curve is flat */
	qw_u32 k; /* 1/1024 s */
	qw_u32 delay_min; /* least round trip since a timeout, us; 0: none yet */
	qw_u32 epoch_start; /* tick at which this epoch began, if in_epoch */
	qw_u32 ack_cnt; /* acknowledged and not yet turned into tcp_cwnd */
	qw_u32 tcp_cwnd; /* Reno's window */
	qw_u32 end_seq; /* the round ends when this is passed */
	qw_u32 curr_rtt; /* least round trip of this round, us */
	qw_u8 in_epoch;
	qw_u8 found; /* HyStart has ended slow start */
	qw_u8 sample_cnt;
	qw_u8 pad[5];
};

static inline qw_u32 qw_cubic_add(qw_u32 a, qw_u32 b)
{
	return a + b < a ? 0xffffffffu : a + b;
}

static inline void qw_cubic_round(struct qw_cubic *s, const struct qw_conn *c,
				  qw_u64 now_us)
{
	s->round_start_us = now_us;
	s->last_ack_us = now_us;
	s->end_seq = c->snd_nxt;
	s->curr_rtt = 0xffffffffu;
	s->sample_cnt = 0;
}

static inline void qw_cubic_reset(struct qw_cubic *s, const struct qw_conn *c,
				  qw_u64 now)
{
	s->cnt = 0;
	s->last_max_cwnd = 0;
	s->last_cwnd = 0;
	s->last_time = 0;
	s->origin_point = 0;
	s->k = 0;
	s->delay_min = 0;
	s->epoch_start = 0;
	s->in_epoch = 0;
	s->ack_cnt = 0;
	s->tcp_cwnd = 0;
	s->found = 0;
	qw_cubic_round(s, c, now / 1000);
}

static inline void qw_cubic_init(struct qw_cubic *s, struct qw_conn *c,
				 qw_u64 now)
{
	qw_cubic_reset(s, c, now);
}

/* Position of the highest bit, counted from 1; 0 of 0. */
static inline qw_u32 qw_cubic_bits(qw_u64 a)
{
	qw_u32 n = 0;

	if (a >> 32) {
		n += 32;
		a >>= 32;
	}
	if (a >> 16) {
		n += 16;
		a >>= 16;
	}
	if (a >> 8) {
		n += 8;
		a >>= 8;
	}
	if (a >> 4) {
		n += 4;
		a >>= 4;
	}
	if (a >> 2) {
		n += 2;
		a >>= 2;
	}
	if (a >> 1) {
		n += 1;
		a >>= 1;
	}
	return n + (qw_u32)a;
}

/* The cube root as Linux reckons it: a table of roots of 0 to 63 in 64ths, less
 * 10 of them, and one step of Newton's. */
static inline qw_u32 qw_cubic_root(qw_u64 a)
{
	static const qw_u8 roots[64] = {
		0,   54,  54,  54,  118, 118, 118, 118, 123, 129, 134, 138, 143,
		147, 151, 156, 157, 161, 164, 168, 170, 173, 176, 179, 181, 185,
		187, 190, 192, 194, 197, 199, 200, 202, 204, 206, 209, 211, 213,
		215, 217, 219, 221, 222, 224, 225, 227, 229, 231, 232, 234, 236,
		237, 239, 240, 242, 244, 245, 246, 248, 250, 251, 252, 254,
	};
	qw_u32 thirds;
	qw_u64 x, twice;

	if (a < 64)
		return ((qw_u32)roots[a & 63] + 35) >> 6;
	/* `a` is its first bits, a number below 64, times 8 to the power of
	 * thirds; 84/256 stands for a third. */
	thirds = ((qw_cubic_bits(a) * 84) >> 8) - 1;
	x = (((qw_u64)roots[(a >> (3 * thirds)) & 63] + 10) << thirds) >> 6;
	/* Newton's step; 341/1024 stands for a third. */
	twice = 2 * x + qw_div(a, x * (x - 1));
	return (qw_u32)((twice * 341) >> 10);
}

/* So many us in ticks of the coarse clock, rounded up. */
static inline qw_u64 qw_cubic_ticks(const struct qw_conn *c, qw_u32 us)
{
	return ((qw_u64)us * c->clock.hz + 999999) / 1000000;
}

static inline void qw_cubic_curve(struct qw_cubic *s, const struct qw_conn *c,
				  qw_u32 acked, qw_u32 now)
{
	qw_u32 cwnd = c->cwnd, delta, target;
	qw_u64 t, offset;

	if (!s->in_epoch) {
		s->in_epoch = 1;
		s->epoch_start = now;
		s->ack_cnt = acked;
		s->tcp_cwnd = cwnd;
		if (s->last_max_cwnd <= cwnd) {
			s->k = 0;
			s->origin_point = cwnd;
		} else {
			/* RFC 9438 figure 2: K = cbrt((Wmax - cwnd) / C) */
			s->k = qw_cubic_root(QW_CUBIC_FACTOR *
					     (s->last_max_cwnd - cwnd));
			s->origin_point = s->last_max_cwnd;
		}
	}
	/* RFC 9438 section 4.2: the target is W(t + RTT). */
	t = (qw_u64)(now - s->epoch_start) + qw_cubic_ticks(c, s->delay_min);
	t = qw_div(t << QW_CUBIC_HZ, c->clock.hz);
	offset = t < s->k ? s->k - t : t - s->k;
	if (offset > QW_CUBIC_FAR)
		offset = QW_CUBIC_FAR;
	delta = (qw_u32)((QW_CUBIC_C * offset * offset * offset) >>
			 QW_CUBIC_SHIFT);
	if (t < s->k)
		target = s->origin_point > delta ? s->origin_point - delta : 0;
	else
		target = qw_cubic_add(s->origin_point, delta);
	if (target > cwnd)
		s->cnt = cwnd / (target - cwnd);
	else /* at or past the target: all but stand still */
		s->cnt = cwnd > 0xffffffffu / 100 ? 0xffffffffu : cwnd * 100;
	/* Before the first loss nothing is known of the path: at least 5 % a
	 * round trip. */
	if (s->last_max_cwnd == 0 && s->cnt > 20)
		s->cnt = 20;
}

/* RFC 9438 section 4.3: never slower than Reno with CUBIC's decrease would be. */
static inline void qw_cubic_friendly(struct qw_cubic *s, qw_u32 cwnd)
{
	qw_u32 per_packet = (qw_u32)(((qw_u64)cwnd * QW_CUBIC_FRIENDLY) >> 3);
	qw_u32 grown;

	if (s->ack_cnt > per_packet) {
		grown = (s->ack_cnt - 1) / (per_packet ? per_packet : 1);
		s->ack_cnt -= grown * per_packet;
		s->tcp_cwnd = qw_cubic_add(s->tcp_cwnd, grown);
	}
	if (s->tcp_cwnd > cwnd && s->cnt > cwnd / (s->tcp_cwnd - cwnd))
		s->cnt = cwnd / (s->tcp_cwnd - cwnd);
}

/* Sets cnt from where the curve will be one round trip from now. */
static inline void qw_cubic_update(struct qw_cubic *s, const struct qw_conn *c,
				   qw_u32 acked, qw_u32 now)
{
	qw_s32 age = (qw_s32)(now - s->last_time);

	s->ack_cnt = qw_cubic_add(s->ack_cnt, acked);
	/* The same window again within a 32nd of a second gives nearly the same
	 * answer. */
	if (s->last_cwnd == c->cwnd && age <= (qw_s32)(c->clock.hz >> 5))
		return;
	/* Within a tick the curve stands still; only Reno's window may have
	 * moved. */
	if (!s->in_epoch || age != 0) {
		s->last_cwnd = c->cwnd;
		s->last_time = now;
		qw_cubic_curve(s, c, acked, now);
	}
	qw_cubic_friendly(s, c->cwnd);
	/* At most half a packet per packet acknowledged. */
	if (s->cnt < 2)
		s->cnt = 2;
}

static inline void qw_cubic_cong_avoid(struct qw_cubic *s, struct qw_conn *c,
				       qw_u32 acked, qw_u64 now)
{
	if (!qw_cwnd_limited(c))
		return;
	if (qw_in_slow_start(c)) {
		acked = qw_slow_start(c, acked);
		if (!acked)
			return;
	}
	qw_cubic_update(s, c, acked, qw_jiffies(c, now));
	qw_cong_avoid_ai(c, s->cnt, acked);
}

/* A loss or an echoed mark: 0.7 of the window (RFC 9438 section 4.6). */
static inline qw_u32 qw_cubic_ssthresh(struct qw_cubic *s, struct qw_conn *c,
				       qw_u64 now)
{
	qw_u64 cwnd = c->cwnd;
	qw_u32 left = (qw_u32)((cwnd * QW_CUBIC_BETA) >> 10);

	(void)now;
	s->in_epoch = 0;
	/* Fast convergence (section 4.7): a window that did not get back to
	 * Wmax gives way to newer flows. */
	if (c->cwnd < s->last_max_cwnd)
		s->last_max_cwnd =
			(qw_u32)((cwnd * (1024 + QW_CUBIC_BETA)) >> 11);
	else
		s->last_max_cwnd = c->cwnd;
	return left < 2 ? 2 : left;
}

static inline qw_u32 qw_cubic_undo_cwnd(struct qw_cubic *s, struct qw_conn *c)
{
	(void)s;
	return qw_undo_cwnd(c);
}

/* Slack for the time that bursts take at both ends, us; at most 1 ms. */
static inline qw_u32 qw_cubic_slack(qw_u64 rate)
{
	if (!rate)
		return 0;
	if (rate <= QW_CUBIC_BURSTS * 1000)
		return 1000;
	return (qw_u32)qw_div(QW_CUBIC_BURSTS * 1000000, rate);
}

/* Hybrid slow start (Ha and Rhee 2011): it ends when the train of ACKs has grown
 * as long as the path, or the round-trip time has risen. */
static inline void qw_cubic_hystart(struct qw_cubic *s, struct qw_conn *c,
				    qw_u32 rtt_us, qw_u64 now_us)
{
	qw_u64 threshold, gap;
	qw_u32 rise;

	/* Rounds are counted below the low window, too. */
	if (qw_after(c->snd_una, s->end_seq))
		qw_cubic_round(s, c, now_us);
	if (c->cwnd < QW_CUBIC_LOW_WINDOW)
		return;
	gap = now_us > s->last_ack_us ? now_us - s->last_ack_us : 0;
	if (gap <= QW_CUBIC_TRAIN_US) {
		s->last_ack_us = now_us;
		threshold =
			(qw_u64)s->delay_min + qw_cubic_slack(c->pacing_rate);
		/* Unpaced, the train is as long as the forward path alone. */
		if (!c->pacing)
			threshold >>= 1;
		if (now_us - s->round_start_us > threshold) {
			s->found = 1;
			c->ssthresh = c->cwnd;
		}
	}
	if (s->curr_rtt > rtt_us)
		s->curr_rtt = rtt_us;
	if (s->sample_cnt < QW_CUBIC_SAMPLES) {
		s->sample_cnt++;
		return;
	}
	rise = s->delay_min >> 3;
	if (rise < QW_CUBIC_RISE_MIN_US)
		rise = QW_CUBIC_RISE_MIN_US;
	if (rise > QW_CUBIC_RISE_MAX_US)
		rise = QW_CUBIC_RISE_MAX_US;
	if (s->curr_rtt > qw_cubic_add(s->delay_min, rise)) {
		s->found = 1;
		c->ssthresh = c->cwnd;
	}
}

static inline void qw_cubic_pkts_acked(struct qw_cubic *s, struct qw_conn *c,
				       qw_u32 acked, qw_u32 rtt_us, qw_u64 now)
{
	(void)acked;
	if (!rtt_us)
		return;
	/* Right after a reduction the queue's echo is still in the samples. */
	if (s->in_epoch &&
	    (qw_s32)(qw_jiffies(c, now) - s->epoch_start) < (qw_s32)c->clock.hz)
		return;
	if (!s->delay_min || s->delay_min > rtt_us)
		s->delay_min = rtt_us;
	if (!s->found && qw_in_slow_start(c))
		qw_cubic_hystart(s, c, rtt_us, now / 1000);
}

/* After a timeout all that was learned of the path is forgotten. */
static inline void qw_cubic_set_state(struct qw_cubic *s, struct qw_conn *c,
				      qw_u32 state, qw_u64 now)
{
	if (state == QW_CA_LOSS)
		qw_cubic_reset(s, c, now);
}

/* After an idle time the curve goes on where it stopped (RFC 9438 section 5.8). */
static inline void qw_cubic_cwnd_event(struct qw_cubic *s, struct qw_conn *c,
				       qw_u32 event, qw_u64 now)
{
	qw_u32 ticks, idle;

	if (event != QW_EVENT_TX_START || !c->last_send_ns || !s->in_epoch)
		return;
	ticks = qw_jiffies(c, now);
	idle = ticks - qw_jiffies(c, c->last_send_ns);
	if ((qw_s32)idle <= 0)
		return;
	s->epoch_start += idle;
	if (qw_after(s->epoch_start, ticks))
		s->epoch_start = ticks;
}

#define QW_CUBIC_ABOUT "cubic window growth, HyStart"
#define QW_CUBIC_FLAGS 0
#define QW_CUBIC_CCA(E) \
	E(init)         \
	E(ssthresh)     \
	E(undo_cwnd) E(cong_avoid) E(pkts_acked) E(set_state) E(cwnd_event)
#define QW_CUBIC_PROBES(V) V(s->last_max_cwnd, 1)
#define QW_CUBIC_PROBE_NAMES(N) N("w_max", "packets")

#endif /* QW_CUBIC_H */
