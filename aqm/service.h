/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The rate of the link behind a queue, for disciplines that must know it and
 * were not told. While packets wait the link is busy, so the time between two
 * departures is what it took for the first. Nothing is known until the link was
 * busy for a window, and idle time does not count.
 *
 * For queues that drop nothing at their head. Packets that leave at one instant
 * are one lot. The link was busy with all of it until the next if packets wait
 * behind the last of the lot, whatever was so in its middle. Lots of one size
 * are measured right over a window. Where some lots are larger, and those empty
 * the queue, the rest count alone: it reads low. A host that takes packets
 * within microseconds, and sometimes leaves nothing behind, looks as fast as
 * that. Tell the rate to those.
 */
#ifndef QW_SERVICE_H
#define QW_SERVICE_H

#include "qw.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Busy time in one measurement, and lots that it needs at least, so that neither
 * a slow link is known by one packet nor a fast one by an instant. */
#define QW_SERVICE_WINDOW_NS (10 * QW_NS_PER_MS)
#define QW_SERVICE_LOTS 8u
/* In last: packets wait behind the lot. Its other bits are the lot's bytes, at
 * most as many as they hold. */
#define QW_SERVICE_WAITS (1u << 31)
/* 2^33 bytes times 10^9 still fits in 64 bits. */
#define QW_SERVICE_MAX_BYTES (1ULL << 33)

struct qw_service {
	qw_u64 rate; /* bytes/s, average over about four windows; 0: unknown */
	qw_u64 busy_ns; /* in this window */
	qw_u64 bytes; /* that the link took in busy_ns */
	qw_u64 last_ns; /* last departure: the last lot's */
	qw_u32 last; /* bytes of the last lot, and QW_SERVICE_WAITS */
	qw_u32 lots; /* in this window */
};

static inline void qw_service_init(struct qw_service *s)
{
	s->rate = 0;
	s->busy_ns = 0;
	s->bytes = 0;
	s->last_ns = 0;
	s->last = 0;
	s->lots = 0;
}

/* A packet of `bytes` left at `now` and left `backlog` packets behind. */
static inline void qw_service_departure(struct qw_service *s, qw_u64 now,
					qw_u32 bytes, qw_u32 backlog)
{
	qw_u64 rate;

	if (now == s->last_ns) {
		bytes += s->last & ~QW_SERVICE_WAITS;
	} else if (s->last & QW_SERVICE_WAITS) {
		s->busy_ns += now - s->last_ns;
		s->bytes += s->last & ~QW_SERVICE_WAITS;
		s->lots++;
	}
	if (bytes >= QW_SERVICE_WAITS)
		bytes = QW_SERVICE_WAITS - 1;
	s->last_ns = now;
	s->last = backlog ? bytes | QW_SERVICE_WAITS : bytes;
	if (s->bytes > QW_SERVICE_MAX_BYTES) {
		s->bytes >>= 1;
		s->busy_ns >>= 1;
	}
	if (s->busy_ns < QW_SERVICE_WINDOW_NS || s->lots < QW_SERVICE_LOTS)
		return;
	rate = qw_div(s->bytes * QW_NS_PER_SEC, s->busy_ns);
	s->rate = s->rate ? s->rate - (s->rate >> 2) + (rate >> 2) : rate;
	s->busy_ns = 0;
	s->bytes = 0;
	s->lots = 0;
}

#ifdef __cplusplus
}
#endif

#endif /* QW_SERVICE_H */
