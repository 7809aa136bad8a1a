/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus, "the draft" below), for background
 * transfers: it keeps the queueing delay below a target and gives way to others.
 * Unlike LEDBAT (RFC 6817) it measures round-trip times, grows more slowly on
 * short paths, and yields in proportion to its window. Now and then it slows down
 * to two packets, so that it sees the path without its own queue.
 *
 * Figures are those of revision -01.
 */
#ifndef QW_LEDBAT_PP_H
#define QW_LEDBAT_PP_H

#include "qw_cca.h"

#define QW_LEDBAT_PP_FLAGS 0
#define QW_LEDBAT_PP_ABOUT \
	"background: queues 60 ms at most, slows down to see the empty path"

#define QW_LEDBAT_PP_TARGET_US 60000u
#define QW_LEDBAT_PP_MIN_CWND 2u
/* Base delay: least round trips of ten minutes (RFC 6817, BASE_HISTORY). */
#define QW_LEDBAT_PP_MINUTES 10u
#define QW_LEDBAT_PP_MINUTE_NS (60u * QW_NS_PER_SEC)
/* Current delay: the least of so many samples. */
#define QW_LEDBAT_PP_SAMPLES 4u
#define QW_LEDBAT_PP_MAX_GAIN 16u
/* A slowdown takes a tenth of the time: the next is 9 times its length away. */
#define QW_LEDBAT_PP_PAUSE 9u
/* Fraction bits of the window's part. */
#define QW_LEDBAT_PP_SHIFT 16
#define QW_LEDBAT_PP_ONE (1u << QW_LEDBAT_PP_SHIFT)
#define QW_LEDBAT_PP_NONE 0xffffffffu

/* What it is doing. */
#define QW_LEDBAT_PP_FIRST 0u /* slow start, the first or after a pause */
#define QW_LEDBAT_PP_AVOID 1u
#define QW_LEDBAT_PP_DOWN 2u /* two packets for two round trips */
#define QW_LEDBAT_PP_CLIMB 3u /* back to where it was */

struct qw_ledbat_pp {
	qw_u64 minute_ns; /* when the present minute began */
	qw_u64 slow_ns; /* when the slowdown began */
	qw_u64 next_ns; /* what ends the state, or the next slowdown */
	qw_u32 base[QW_LEDBAT_PP_MINUTES];
	qw_u32 sample[QW_LEDBAT_PP_SAMPLES];
	qw_u64 rest; /* of the growth, what is less than a step of `part` */
	qw_u32 minute, samples;
	qw_u32 base_us; /* least of base[] */
	qw_u32 part; /* of the window, beyond c->cwnd */
	qw_u32 back; /* the window before the slowdown */
	qw_u32 state;
	qw_u8 left_first; /* the first slow start is over */
	qw_u8 pad[7];
};

static inline qw_u32 qw_ledbat_pp_min(const qw_u32 *v, qw_u32 n)
{
	qw_u32 i, least = QW_LEDBAT_PP_NONE;

	for (i = 0; i < n; i++) {
		if (v[i] < least)
			least = v[i];
	}
	return least;
}

/* Queueing delay: least of the last samples less the base. */
static inline qw_u32 qw_ledbat_pp_delay(const struct qw_ledbat_pp *s)
{
	qw_u32 now = qw_ledbat_pp_min(s->sample, QW_LEDBAT_PP_SAMPLES);

	return now != QW_LEDBAT_PP_NONE && now > s->base_us ? now - s->base_us :
							      0;
}

/* 1 / GAIN: the draft's min(16, ceil(2 TARGET / base)). */
static inline qw_u32 qw_ledbat_pp_ungain(const struct qw_ledbat_pp *s)
{
	qw_u32 n;

	if (!s->base_us || s->base_us == QW_LEDBAT_PP_NONE)
		return QW_LEDBAT_PP_MAX_GAIN;
	if (s->base_us >= 2 * QW_LEDBAT_PP_TARGET_US)
		return 1;
	n = (2 * QW_LEDBAT_PP_TARGET_US + s->base_us - 1) / s->base_us;
	return n < QW_LEDBAT_PP_MAX_GAIN ? n : QW_LEDBAT_PP_MAX_GAIN;
}

/* So much more, or less, in parts of a packet. */
static inline void qw_ledbat_pp_add(struct qw_ledbat_pp *s, struct qw_conn *c,
				    qw_u64 more, qw_u64 less)
{
	qw_u64 w = ((qw_u64)c->cwnd << QW_LEDBAT_PP_SHIFT) + s->part + more;
	const qw_u64 least = (qw_u64)QW_LEDBAT_PP_MIN_CWND
			     << QW_LEDBAT_PP_SHIFT;

	w = w > less + least ? w - less : least;
	c->cwnd = (qw_u32)(w >> QW_LEDBAT_PP_SHIFT);
	s->part = (qw_u32)(w & (QW_LEDBAT_PP_ONE - 1));
}

static inline void qw_ledbat_pp_init(struct qw_ledbat_pp *s, struct qw_conn *c,
				     qw_u64 now)
{
	qw_u32 i;

	for (i = 0; i < QW_LEDBAT_PP_MINUTES; i++)
		s->base[i] = QW_LEDBAT_PP_NONE;
	for (i = 0; i < QW_LEDBAT_PP_SAMPLES; i++)
		s->sample[i] = QW_LEDBAT_PP_NONE;
	s->base_us = c->srtt_us ? c->srtt_us >> 3 : QW_LEDBAT_PP_NONE;
	s->base[0] = s->base_us;
	s->minute_ns = now;
	c->cwnd = QW_LEDBAT_PP_MIN_CWND;
}

/* The two filters. */
static inline void qw_ledbat_pp_pkts_acked(struct qw_ledbat_pp *s,
					   struct qw_conn *c, qw_u32 acked,
					   qw_u32 rtt_us, qw_u64 now)
{
	qw_u32 at;

	(void)c;
	(void)acked;
	if (!rtt_us)
		return;
	s->samples = (s->samples + 1) % QW_LEDBAT_PP_SAMPLES;
	at = s->samples;
	if (at < QW_LEDBAT_PP_SAMPLES)
		s->sample[at] = rtt_us;
	if (now - s->minute_ns >= QW_LEDBAT_PP_MINUTE_NS) {
		s->minute_ns = now;
		/* Not by %: the verifier of Linux 6.18 knows no bound of it. */
		at = s->minute + 1;
		if (at >= QW_LEDBAT_PP_MINUTES)
			at = 0;
		s->base[at] = rtt_us;
		s->minute = at;
	}
	at = s->minute;
	if (at < QW_LEDBAT_PP_MINUTES && rtt_us < s->base[at])
		s->base[at] = rtt_us;
	s->base_us = qw_ledbat_pp_min(s->base, QW_LEDBAT_PP_MINUTES);
}

/* Slow start: GAIN for each packet. */
static inline void qw_ledbat_pp_double(struct qw_ledbat_pp *s,
				       struct qw_conn *c, qw_u32 acked)
{
	if (qw_cwnd_limited(c))
		qw_ledbat_pp_add(s, c,
				 ((qw_u64)acked << QW_LEDBAT_PP_SHIFT) /
					 qw_ledbat_pp_ungain(s),
				 0);
}

/*
 * Below the target GAIN a round trip, above it max(GAIN - W (delay / TARGET - 1),
 * -W / 2), both spread over the packets of the window.
 */
static inline void qw_ledbat_pp_avoid(struct qw_ledbat_pp *s, struct qw_conn *c,
				      qw_u32 acked)
{
	qw_u32 delay = qw_ledbat_pp_delay(s);
	qw_u64 by = (qw_u64)qw_ledbat_pp_ungain(s) * (c->cwnd ? c->cwnd : 1);
	qw_u64 more, less = 0;

	s->rest += (qw_u64)acked << QW_LEDBAT_PP_SHIFT;
	more = s->rest / by;
	s->rest -= more * by;
	if (delay > QW_LEDBAT_PP_TARGET_US) {
		less = ((qw_u64)(delay - QW_LEDBAT_PP_TARGET_US)
			<< QW_LEDBAT_PP_SHIFT) /
		       QW_LEDBAT_PP_TARGET_US * acked;
		if (less > more + ((qw_u64)acked << (QW_LEDBAT_PP_SHIFT - 1)))
			less = more +
			       ((qw_u64)acked << (QW_LEDBAT_PP_SHIFT - 1));
	}
	if (!qw_cwnd_limited(c)) {
		less = less > more ? less - more : 0;
		more = 0;
	}
	qw_ledbat_pp_add(s, c, more, less);
}

/* Down to two packets, for two round trips. */
static inline void qw_ledbat_pp_slow(struct qw_ledbat_pp *s, struct qw_conn *c,
				     qw_u64 now)
{
	s->back = c->cwnd;
	s->slow_ns = now;
	s->next_ns = now + 2 * (qw_u64)(c->srtt_us >> 3) * QW_NS_PER_US;
	s->state = QW_LEDBAT_PP_DOWN;
	c->ssthresh = c->cwnd > QW_LEDBAT_PP_MIN_CWND ? c->cwnd :
							QW_LEDBAT_PP_MIN_CWND;
	c->cwnd = QW_LEDBAT_PP_MIN_CWND;
	s->part = 0;
}

static inline void qw_ledbat_pp_settle(struct qw_ledbat_pp *s, qw_u64 next_ns)
{
	s->state = QW_LEDBAT_PP_AVOID;
	s->next_ns = next_ns;
}

static inline void qw_ledbat_pp_cong_avoid(struct qw_ledbat_pp *s,
					   struct qw_conn *c, qw_u32 acked,
					   qw_u64 now)
{
	qw_u32 delay = qw_ledbat_pp_delay(s);

	switch (s->state) {
	case QW_LEDBAT_PP_FIRST:
		/* Until three quarters of the target, or a loss; a later one,
		 * after a timeout or a pause, until ssthresh. */
		if (qw_in_slow_start(c) &&
		    (s->left_first ||
		     delay <= QW_LEDBAT_PP_TARGET_US / 4 * 3)) {
			qw_ledbat_pp_double(s, c, acked);
			break;
		}
		s->left_first = 1;
		c->ssthresh = c->cwnd > 2 ? c->cwnd : 2;
		qw_ledbat_pp_settle(s, now + 2 * (qw_u64)(c->srtt_us >> 3) *
						       QW_NS_PER_US);
		break;
	case QW_LEDBAT_PP_AVOID:
		if (now >= s->next_ns)
			qw_ledbat_pp_slow(s, c, now);
		else
			qw_ledbat_pp_avoid(s, c, acked);
		break;
	case QW_LEDBAT_PP_DOWN:
		if (now >= s->next_ns)
			s->state = QW_LEDBAT_PP_CLIMB;
		break;
	default:
		if (c->cwnd < s->back) {
			qw_ledbat_pp_double(s, c, acked);
			break;
		}
		qw_ledbat_pp_settle(s, now + QW_LEDBAT_PP_PAUSE *
						       (now - s->slow_ns));
		break;
	}
}

/* Loss: as Reno. The way back from a slowdown ends there. */
static inline qw_u32 qw_ledbat_pp_ssthresh(struct qw_ledbat_pp *s,
					   struct qw_conn *c, qw_u64 now)
{
	qw_u32 half = c->cwnd / 2;

	(void)now;
	if (half < QW_LEDBAT_PP_MIN_CWND)
		half = QW_LEDBAT_PP_MIN_CWND;
	if (s->state >= QW_LEDBAT_PP_DOWN && s->back > half)
		s->back = half;
	s->part = 0;
	return half;
}

static inline qw_u32 qw_ledbat_pp_undo_cwnd(struct qw_ledbat_pp *s,
					    struct qw_conn *c)
{
	(void)s;
	return qw_undo_cwnd(c);
}

/* A timeout clears the slowdown; so does idling, with two packets after it. */
static inline void qw_ledbat_pp_cwnd_event(struct qw_ledbat_pp *s,
					   struct qw_conn *c, qw_u32 event,
					   qw_u64 now)
{
	qw_u64 rtt = (qw_u64)(c->srtt_us >> 3) * QW_NS_PER_US;

	if (event == QW_EVENT_LOSS) {
		s->left_first = 1;
		s->state = QW_LEDBAT_PP_FIRST;
		s->part = 0;
	} else if (event == QW_EVENT_TX_START && c->last_send_ns &&
		   now - c->last_send_ns > 2 * rtt && c->srtt_us) {
		s->state = QW_LEDBAT_PP_FIRST;
		s->part = 0;
		if (c->cwnd > QW_LEDBAT_PP_MIN_CWND)
			c->cwnd = QW_LEDBAT_PP_MIN_CWND;
	}
}

#define QW_LEDBAT_PP_CCA(E) \
	E(init)             \
	E(ssthresh)         \
	E(undo_cwnd)        \
	E(cong_avoid)       \
	E(pkts_acked)       \
	E(cwnd_event)

#define QW_LEDBAT_PP_PROBES(V)         \
	V(qw_ledbat_pp_delay(s), 1000) \
	V(s->base_us, 1000)            \
	V(s->state, 1)
#define QW_LEDBAT_PP_PROBE_NAMES(N) \
	N("queueing_delay", "ms")   \
	N("base_delay", "ms")       \
	N("state", "")

#endif /* QW_LEDBAT_PP_H */
