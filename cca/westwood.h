/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Westwood+ (Grieco and Mascolo, "Performance Evaluation and Comparison of
 * Westwood+, New Reno, and Vegas TCP Congestion Control", ACM CCR 34(2), 2004;
 * in Linux tcp_westwood). It grows as Reno does. After a loss its window is the
 * bandwidth that ACKs showed times the least round-trip time, and not one half.
 *
 * All times are ticks of Linux's coarse clock, as in tcp_westwood: a round-trip
 * time is rounded up to a tick, and the bandwidth is bytes a tick. So on short
 * paths the window depends on the kernel's ticks a second.
 */
#ifndef QW_WESTWOOD_H
#define QW_WESTWOOD_H

#include "qw_cca.h"

#define QW_WESTWOOD_FLAGS 0
#define QW_WESTWOOD_ABOUT "Reno that falls to bandwidth times least RTT"

/* A sample is of a round trip, and no less than this part of a second: 50 ms. */
#define QW_WESTWOOD_SAMPLES 20u
/* The least round trip before there is one, seconds. */
#define QW_WESTWOOD_FIRST 20u
/* Gain of both averages: 1/8. */
#define QW_WESTWOOD_SHIFT 3

struct qw_westwood {
	qw_u64 bw_rough; /* bytes a tick, averaged once */
	qw_u64 bw; /* and twice */
	qw_u32 since; /* the tick when the present sample began */
	qw_u32 una; /* acknowledged at the last ACK */
	qw_u32 packets; /* of the present sample */
	qw_u32 counted; /* for duplicate ACKs, to be taken off later */
	qw_u32 rtt, least; /* ticks */
	qw_u8 renew; /* the next ACK replaces the least */
	qw_u8 began; /* an ACK came */
	qw_u8 pad[6];
};

static inline void qw_westwood_init(struct qw_westwood *s, struct qw_conn *c,
				    qw_u64 now)
{
	s->since = qw_jiffies(c, now);
	s->una = c->snd_una;
	s->rtt = QW_WESTWOOD_FIRST * c->clock.hz;
	s->least = s->rtt;
	s->renew = 1;
}

/* Ticks, rounded up (usecs_to_jiffies). */
static inline qw_u32 qw_westwood_ticks(const struct qw_conn *c, qw_u32 us)
{
	if (c->clock.tick_us)
		return (qw_u32)(((qw_u64)us + c->clock.tick_us - 1) /
				c->clock.tick_us);
	return (qw_u32)(((qw_u64)us * c->clock.hz + 999999) / 1000000);
}

static inline qw_u64 qw_westwood_average(qw_u64 was, qw_u64 is)
{
	return (was * ((1u << QW_WESTWOOD_SHIFT) - 1) + is) >>
	       QW_WESTWOOD_SHIFT;
}

/* The sample is long enough: into both averages. */
static inline void qw_westwood_sample(struct qw_westwood *s,
				      const struct qw_conn *c, qw_u64 now)
{
	qw_u32 tick = qw_jiffies(c, now), took = tick - s->since;
	qw_u32 least = c->clock.hz / QW_WESTWOOD_SAMPLES;
	qw_u64 is;

	if (least < s->rtt)
		least = s->rtt;
	if (!s->rtt || took <= least)
		return;
	is = (qw_u64)s->packets * c->mss / took;
	if (!s->bw_rough && !s->bw) {
		s->bw_rough = is;
		s->bw = is;
	} else {
		s->bw_rough = qw_westwood_average(s->bw_rough, is);
		s->bw = qw_westwood_average(s->bw, s->bw_rough);
	}
	s->packets = 0;
	s->since = tick;
}

/* What the ACK acknowledged; a duplicate one means a packet, which is taken off
 * when it is acknowledged itself. */
static inline qw_u32 qw_westwood_count(struct qw_westwood *s,
				       const struct qw_conn *c)
{
	qw_u32 n = c->snd_una - s->una;

	s->una = c->snd_una;
	if (!n) {
		s->counted++;
		return 1;
	}
	if (n == 1)
		return 1;
	if (s->counted >= n) {
		s->counted -= n;
		return 1;
	}
	n -= s->counted;
	s->counted = 0;
	return n;
}

static inline void qw_westwood_in_ack_event(struct qw_westwood *s,
					    struct qw_conn *c, qw_u64 now)
{
	/* Counting starts with the first ACK: what that one acknowledged is
	 * not of the sample, and it passes for a duplicate. */
	if (!s->began) {
		s->began = 1;
		s->una = c->snd_una;
	}
	qw_westwood_sample(s, c, now);
	s->packets += qw_westwood_count(s, c);
	if (s->renew || s->rtt < s->least)
		s->least = s->rtt;
	s->renew = 0;
}

static inline void qw_westwood_pkts_acked(struct qw_westwood *s,
					  struct qw_conn *c, qw_u32 acked,
					  qw_u32 rtt_us, qw_u64 now)
{
	(void)acked;
	(void)now;
	if (rtt_us)
		s->rtt = qw_westwood_ticks(c, rtt_us);
}

/* Bandwidth times the least round trip, packets. */
static inline qw_u32 qw_westwood_window(const struct qw_westwood *s,
					const struct qw_conn *c)
{
	qw_u64 w = s->bw * s->least / (c->mss ? c->mss : 1);

	if (w > QW_INFINITE_SSTHRESH)
		return QW_INFINITE_SSTHRESH;
	return w > 2 ? (qw_u32)w : 2;
}

static inline void qw_westwood_cwnd_event(struct qw_westwood *s,
					  struct qw_conn *c, qw_u32 event,
					  qw_u64 now)
{
	(void)now;
	if (event == QW_EVENT_COMPLETE_CWR) {
		c->ssthresh = qw_westwood_window(s, c);
		c->cwnd = c->ssthresh;
	} else if (event == QW_EVENT_LOSS) {
		c->ssthresh = qw_westwood_window(s, c);
		s->renew = 1;
	}
}

/* Until the recovery is over, Reno's. */
static inline qw_u32 qw_westwood_ssthresh(struct qw_westwood *s,
					  struct qw_conn *c, qw_u64 now)
{
	(void)s;
	(void)now;
	return c->cwnd / 2 > 2 ? c->cwnd / 2 : 2;
}

static inline qw_u32 qw_westwood_undo_cwnd(struct qw_westwood *s,
					   struct qw_conn *c)
{
	(void)s;
	return qw_undo_cwnd(c);
}

static inline void qw_westwood_cong_avoid(struct qw_westwood *s,
					  struct qw_conn *c, qw_u32 acked,
					  qw_u64 now)
{
	(void)s;
	(void)now;
	if (!qw_cwnd_limited(c))
		return;
	if (qw_in_slow_start(c))
		acked = qw_slow_start(c, acked);
	if (acked)
		qw_cong_avoid_ai(c, c->cwnd, acked);
}

#define QW_WESTWOOD_CCA(E) \
	E(init)            \
	E(ssthresh)        \
	E(undo_cwnd)       \
	E(cong_avoid)      \
	E(pkts_acked)      \
	E(in_ack_event)    \
	E(cwnd_event)

#define QW_WESTWOOD_PROBES(V)     \
	V(s->bw * c->clock.hz, 1) \
	V((qw_u64)s->least * c->clock.tick_ns, 1000000)
#define QW_WESTWOOD_PROBE_NAMES(N) \
	N("bw", "bytes/s")         \
	N("min_rtt", "ms")

#endif /* QW_WESTWOOD_H */
