/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Westwood+ (Grieco and Mascolo, "Performance Evaluation and Comparison of
 * Westwood+, New Reno, and Vegas TCP Congestion Control", ACM CCR 34(2), 2004;
 * in Linux tcp_westwood). It grows as Reno does; after a loss its window is the
 * bandwidth that ACKs showed times the least round trip, and not one half.
 *
 * Times are microseconds, where Linux counts ticks of its coarse clock: on short
 * paths a tick is most of what it measures.
 */
#ifndef QW_WESTWOOD_H
#define QW_WESTWOOD_H

#include "qw_cca.h"

#define QW_WESTWOOD_FLAGS 0
#define QW_WESTWOOD_ABOUT "Reno that falls to bandwidth times least RTT"

/* A sample is of a round trip, and no less than this. */
#define QW_WESTWOOD_SAMPLE_US 50000u
/* The least round trip before there is one. */
#define QW_WESTWOOD_FIRST_US 20000000u
/* Gain of both averages: 1/8. */
#define QW_WESTWOOD_SHIFT 3

struct qw_westwood {
	qw_u64 since_ns; /* when the present sample began */
	qw_u64 bw_rough; /* bytes a second, averaged once */
	qw_u64 bw; /* and twice */
	qw_u32 una; /* acknowledged at the last ACK */
	qw_u32 packets; /* of the present sample */
	qw_u32 counted; /* for duplicate ACKs, to be taken off later */
	qw_u32 rtt_us, least_us;
	qw_u8 renew, pad[3];
};

static inline void qw_westwood_init(struct qw_westwood *s, struct qw_conn *c,
				    qw_u64 now)
{
	s->since_ns = now;
	s->una = c->snd_una;
	s->rtt_us = QW_WESTWOOD_FIRST_US;
	s->least_us = QW_WESTWOOD_FIRST_US;
	s->renew = 1;
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
	qw_u64 us = (now - s->since_ns) / QW_NS_PER_US, is;
	qw_u32 least = s->rtt_us > QW_WESTWOOD_SAMPLE_US ?
			       s->rtt_us :
			       QW_WESTWOOD_SAMPLE_US;

	if (us <= least)
		return;
	is = (qw_u64)s->packets * c->mss * 1000000 / us;
	if (!s->bw_rough && !s->bw) {
		s->bw_rough = is;
		s->bw = is;
	} else {
		s->bw_rough = qw_westwood_average(s->bw_rough, is);
		s->bw = qw_westwood_average(s->bw, s->bw_rough);
	}
	s->packets = 0;
	s->since_ns = now;
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
	qw_westwood_sample(s, c, now);
	s->packets += qw_westwood_count(s, c);
	if (s->renew && s->rtt_us != QW_WESTWOOD_FIRST_US) {
		s->renew = 0;
		s->least_us = s->rtt_us;
	} else if (s->rtt_us < s->least_us) {
		s->least_us = s->rtt_us;
	}
}

static inline void qw_westwood_pkts_acked(struct qw_westwood *s,
					  struct qw_conn *c, qw_u32 acked,
					  qw_u32 rtt_us, qw_u64 now)
{
	(void)c;
	(void)acked;
	(void)now;
	if (rtt_us)
		s->rtt_us = rtt_us;
}

/* Bandwidth times the least round trip, packets. */
static inline qw_u32 qw_westwood_window(const struct qw_westwood *s,
					const struct qw_conn *c)
{
	qw_u64 w = s->bw * s->least_us / 1000000 / (c->mss ? c->mss : 1);

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

#define QW_WESTWOOD_PROBES(V) \
	V(s->bw, 1)           \
	V(s->least_us, 1000)
#define QW_WESTWOOD_PROBE_NAMES(N) \
	N("bw", "bytes/s")         \
	N("min_rtt", "ms")

#endif /* QW_WESTWOOD_H */
