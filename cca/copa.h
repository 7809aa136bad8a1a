/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Copa (Arun and Balakrishnan, "Copa: Practical Delay-Based Congestion Control
 * for the Internet", NSDI 2018). It steers its rate towards 1 / (delta dq), where
 * dq is the queueing delay: the present round-trip time less the least. So a flow
 * keeps about 1 / delta packets waiting. The longer the window changes in one
 * direction, the faster it changes. A queue that never empties is filled by
 * others. With QW_COPA_MODES the sender then competes: 1 / delta grows as Reno's
 * window would.
 *
 * The paper says nothing of timeouts. Here the window is then two packets, and
 * slow start begins anew; after a spurious timeout all is as before. Losses count
 * in competition alone.
 */
#ifndef QW_COPA_H
#define QW_COPA_H

#include "qw_cca.h"

/* Does it compete where others fill the queue (section 2.2)? Off, as in mvfst:
 * Linux's TCP sends two packets at once, so that Copa flows take one another for
 * flows that fill the queue, and fill it. */
#ifndef QW_COPA_MODES
#define QW_COPA_MODES 0
#endif

#define QW_COPA_FLAGS 0
#define QW_COPA_ABOUT "delay: keeps two packets of its own waiting"

/* 1 / delta in the default mode (section 2). */
#define QW_COPA_PACKETS 2u
#define QW_COPA_MAX_PACKETS 1024u
#define QW_COPA_MIN_CWND 2u
#define QW_COPA_MAX_CWND (1u << 22)
/* Of the least round trip, section 2.2. */
#define QW_COPA_MIN_RTT_NS (10u * QW_NS_PER_SEC)
/* Round trips in one direction before it doubles its velocity, section 2.1. */
#define QW_COPA_SAME 3u
/* Round trips within which the queue must be nearly empty, section 2.2. */
#define QW_COPA_EMPTY_ROUNDS 5u
/* A time window is so many slots. */
#define QW_COPA_SLOTS 4u
#define QW_COPA_SHIFT 16
#define QW_COPA_NONE 0xffffffffu
/* Longer round trips count as this: products with a window stay in 64 bits. */
#define QW_COPA_MAX_RTT_US 60000000u

/* The least value of a time window, to a quarter of it. */
struct qw_copa_least {
	qw_u64 since_ns;
	qw_u32 slot[QW_COPA_SLOTS];
	qw_u32 at, least;
};

struct qw_copa {
	struct qw_copa_least min_rtt;
	struct qw_copa_least standing; /* over half a round trip */
	struct qw_copa_least most; /* of four round trips, as ~value */
	qw_u64 window; /* packets, 16 fraction bits */
	qw_u64 window_before; /* a round trip ago */
	qw_u64 window_undo; /* before a timeout; 0: there was none */
	qw_u64 round_ns; /* when this one began */
	qw_u64 empty_ns; /* when the queue was last nearly empty */
	qw_u32 velocity;
	qw_u32 same; /* round trips in this direction */
	qw_u32 packets; /* 1 / delta */
	qw_u8 up; /* the direction */
	qw_u8 slow_start;
	qw_u8 competes;
	qw_u8 slow_start_undo;
};

static inline void qw_copa_clear(struct qw_copa_least *l, qw_u64 now)
{
	qw_u32 i;

	for (i = 0; i < QW_COPA_SLOTS; i++)
		l->slot[i] = QW_COPA_NONE;
	l->least = QW_COPA_NONE;
	l->at = 0;
	l->since_ns = now;
}

/* A value into a window of `ns`: slots that are over are empty, also those in which
 * nothing came. */
static inline void qw_copa_take(struct qw_copa_least *l, qw_u32 value,
				qw_u64 ns, qw_u64 now)
{
	const qw_u64 slot = ns / QW_COPA_SLOTS;
	qw_u32 i, at;

	/* After a silence nothing that was is of now. */
	if (now - l->since_ns >= ns)
		qw_copa_clear(l, now);
	for (i = 1; i < QW_COPA_SLOTS && now - l->since_ns >= slot; i++) {
		at = (l->at + 1) % QW_COPA_SLOTS;
		l->at = at;
		if (at < QW_COPA_SLOTS)
			l->slot[at] = QW_COPA_NONE;
		l->since_ns += slot;
	}
	at = l->at;
	if (at < QW_COPA_SLOTS && value < l->slot[at])
		l->slot[at] = value;
	l->least = QW_COPA_NONE;
	for (i = 0; i < QW_COPA_SLOTS; i++) {
		if (l->slot[i] < l->least)
			l->least = l->slot[i];
	}
}

static inline void qw_copa_init(struct qw_copa *s, struct qw_conn *c,
				qw_u64 now)
{
	qw_copa_clear(&s->min_rtt, now);
	qw_copa_clear(&s->standing, now);
	qw_copa_clear(&s->most, now);
	if (c->cwnd > QW_COPA_MAX_CWND)
		c->cwnd = QW_COPA_MAX_CWND;
	s->window = (qw_u64)c->cwnd << QW_COPA_SHIFT;
	s->window_before = s->window;
	s->round_ns = now;
	s->empty_ns = now;
	s->velocity = 1;
	s->packets = QW_COPA_PACKETS;
	s->slow_start = 1;
	s->up = 1;
	c->pacing = 1;
	c->ssthresh = QW_INFINITE_SSTHRESH;
	if (c->srtt_us)
		c->pacing_rate =
			(qw_u64)c->cwnd * c->mss * 16000000 / c->srtt_us;
}

/* Is the rate below 1 / (delta dq)? That is cwnd / standing against it. */
static inline int qw_copa_wants_more(const struct qw_copa *s)
{
	qw_u64 dq = s->standing.least > s->min_rtt.least ?
			    s->standing.least - s->min_rtt.least :
			    0;

	return s->window * dq <= (qw_u64)s->packets * s->standing.least
					 << QW_COPA_SHIFT;
}

/* Once a round trip: which way did it go (section 2.1)? */
static inline void qw_copa_direction(struct qw_copa *s)
{
	qw_u8 up = s->window > s->window_before;

	if (up == s->up) {
		s->same++;
		if (s->same >= QW_COPA_SAME && s->velocity < 1u << 20)
			s->velocity *= 2;
	} else {
		s->same = 0;
		s->velocity = 1;
	}
	s->up = up;
	s->window_before = s->window;
}

/* Are others filling the queue (section 2.2)? */
static inline void qw_copa_mode(struct qw_copa *s, qw_u64 srtt_ns, qw_u64 now)
{
	qw_u32 most = ~s->most.least;
	qw_u32 range = most > s->min_rtt.least ? most - s->min_rtt.least : 0;

	if (s->standing.least <= s->min_rtt.least + range / 10)
		s->empty_ns = now;
	s->competes = QW_COPA_MODES &&
		      now - s->empty_ns > QW_COPA_EMPTY_ROUNDS * srtt_ns;
	if (!s->competes)
		s->packets = QW_COPA_PACKETS;
}

static inline void qw_copa_round(struct qw_copa *s)
{
	qw_copa_direction(s);
	if (s->competes && s->packets < QW_COPA_MAX_PACKETS)
		s->packets++;
}

/* A step of velocity / (delta cwnd) for each packet. */
static inline void qw_copa_step(struct qw_copa *s, qw_u32 acked)
{
	const qw_u64 least = (qw_u64)QW_COPA_MIN_CWND << QW_COPA_SHIFT;
	const qw_u64 most = (qw_u64)QW_COPA_MAX_CWND << QW_COPA_SHIFT;
	qw_u64 cwnd = s->window >> QW_COPA_SHIFT, step;
	int more = qw_copa_wants_more(s);

	if (s->slow_start && more) {
		s->window += (qw_u64)acked << QW_COPA_SHIFT;
		if (s->window > most)
			s->window = most;
		return;
	}
	s->slow_start = 0;
	/* Against the direction there is no hurry. */
	if (s->velocity > 1 && more != s->up) {
		s->velocity = 1;
		s->same = 0;
	}
	/* Not more than double in a round trip. */
	step = (qw_u64)s->velocity * s->packets;
	if (step > cwnd)
		step = cwnd;
	step = (step * acked << QW_COPA_SHIFT) / cwnd;
	if (more)
		s->window = s->window + step < most ? s->window + step : most;
	else
		s->window = s->window > step + least ? s->window - step : least;
}

static inline void qw_copa_cong_control(struct qw_copa *s, struct qw_conn *c,
					const struct qw_rate_sample *rs,
					qw_u64 now, qw_u32 random)
{
	qw_u64 srtt_ns = (qw_u64)(c->srtt_us >> 3) * QW_NS_PER_US;
	qw_u64 rate;
	qw_u32 rtt;

	(void)random;
	if (rs->rtt_us > 0) {
		rtt = rs->rtt_us < QW_COPA_MAX_RTT_US ? (qw_u32)rs->rtt_us :
							QW_COPA_MAX_RTT_US;
		qw_copa_take(&s->min_rtt, rtt, QW_COPA_MIN_RTT_NS, now);
		qw_copa_take(&s->standing, rtt, srtt_ns / 2, now);
		qw_copa_take(&s->most, ~rtt, 4 * srtt_ns, now);
	}
	if (s->standing.least == QW_COPA_NONE || !rs->acked_sacked)
		return;
	qw_copa_mode(s, srtt_ns, now);
	if (now - s->round_ns >= srtt_ns) {
		qw_copa_round(s);
		s->round_ns = now;
	}
	if (c->is_cwnd_limited || !qw_copa_wants_more(s))
		qw_copa_step(s, rs->acked_sacked);
	c->cwnd = (qw_u32)(s->window >> QW_COPA_SHIFT);
	/* Two windows in a round trip: the window is what limits (section 2.1). */
	rate = (qw_u64)c->cwnd * c->mss * 2000000 /
	       (s->standing.least ? s->standing.least : 1);
	c->pacing_rate = rate ? rate : 1;
}

static inline qw_u32 qw_copa_ssthresh(struct qw_copa *s, struct qw_conn *c,
				      qw_u64 now)
{
	(void)s;
	(void)now;
	return c->ssthresh > 2 ? c->ssthresh : 2;
}

/* A timeout that was for nothing: back to where it was. */
static inline qw_u32 qw_copa_undo_cwnd(struct qw_copa *s, struct qw_conn *c)
{
	if (s->window < s->window_undo) {
		s->window = s->window_undo;
		s->window_before = s->window;
		s->slow_start = s->slow_start_undo;
	}
	s->window_undo = 0;
	return qw_undo_cwnd(c);
}

static inline void qw_copa_set_state(struct qw_copa *s, struct qw_conn *c,
				     qw_u32 state, qw_u64 now)
{
	(void)now;
	if (state >= QW_CA_RECOVERY && c->ca_state < QW_CA_RECOVERY) {
		s->window_undo = 0;
		if (s->competes)
			s->packets /= 2;
		if (s->packets < QW_COPA_PACKETS)
			s->packets = QW_COPA_PACKETS;
	}
	if (state == QW_CA_LOSS && c->ca_state != QW_CA_LOSS) {
		s->window_undo = s->window;
		s->slow_start_undo = s->slow_start;
		s->window = (qw_u64)QW_COPA_MIN_CWND << QW_COPA_SHIFT;
		s->window_before = s->window;
		s->velocity = 1;
		s->same = 0;
		s->slow_start = 1;
	}
}

#define QW_COPA_CCA(E)  \
	E(init)         \
	E(ssthresh)     \
	E(undo_cwnd)    \
	E(cong_control) \
	E(set_state)

#define QW_COPA_PROBES(V)                               \
	V(s->standing.least == QW_COPA_NONE ?           \
		  0 :                                   \
		  s->standing.least - s->min_rtt.least, \
	  1000)                                         \
	V(s->velocity, 1)                               \
	V(s->packets, 1)                                \
	V(s->competes, 1)
#define QW_COPA_PROBE_NAMES(N)        \
	N("queueing_delay", "ms")     \
	N("velocity", "")             \
	N("inverse_delta", "packets") \
	N("competes", "")

#endif /* QW_COPA_H */
