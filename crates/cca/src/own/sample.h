/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A congestion control of your own: Reno, except that a loss takes a quarter of
 * the window instead of half. Change it, and name the file where a congestion
 * control is named: queuewright compare ... --flows 2xcubic,2x./@x@.h --aqm codel
 *
 * Integers only: time is u64 nanoseconds, windows are packets (full segments),
 * rates are bytes a second. All that it remembers of a connection is in its state.
 * It has no library, no clock, and no random numbers but those that it is given.
 * qw_cca.h says what `c` has, and which events there are beside these.
 */
#ifndef QW_@X@_H
#define QW_@X@_H

#include "qw_cca.h"

/* What it remembers, zeroed before qw_@x@_init. */
struct qw_@x@ {
	qw_u32 losses; /* reductions so far */
};

/* The connection is established, its first round-trip time is in `c`. */
static inline void qw_@x@_init(struct qw_@x@ *s, struct qw_conn *c, qw_u64 now)
{
	(void)c;
	(void)now;
	s->losses = 0;
}

/* A loss, or an echoed mark: the slow-start threshold, to which the window then
 * falls. Reno's is cwnd / 2. */
static inline qw_u32 qw_@x@_ssthresh(struct qw_@x@ *s, struct qw_conn *c,
				   qw_u64 now)
{
	qw_u32 left = c->cwnd - c->cwnd / 4;

	(void)now;
	s->losses++;
	return left < 2 ? 2 : left;
}

/* Nothing was lost after all: the window to go back to. */
static inline qw_u32 qw_@x@_undo_cwnd(struct qw_@x@ *s, struct qw_conn *c)
{
	(void)s;
	return qw_undo_cwnd(c);
}

/* `acked` packets were newly delivered. */
static inline void qw_@x@_cong_avoid(struct qw_@x@ *s, struct qw_conn *c,
				   qw_u32 acked, qw_u64 now)
{
	(void)s;
	(void)now;
	/* A window that the application does not fill does not grow. */
	if (!qw_cwnd_limited(c))
		return;
	if (qw_in_slow_start(c)) {
		acked = qw_slow_start(c, acked);
		if (!acked)
			return;
	}
	/* One packet more a round trip. */
	qw_cong_avoid_ai(c, c->cwnd, acked);
}

#define QW_@X@_ABOUT "Reno that gives a quarter of its window"
/* QW_CCA_*, joined by |, such as QW_CCA_NEEDS_ECN; 0: none */
#define QW_@X@_FLAGS 0
/* The events that it handles. */
#define QW_@X@_CCA(E) E(init) E(ssthresh) E(undo_cwnd) E(cong_avoid)
/* V(integer made of s and c, what it is to be divided by), N(name, unit): for
 * time series */
#define QW_@X@_PROBES(V) V(s->losses, 1)
#define QW_@X@_PROBE_NAMES(N) N("losses", "")

#endif /* QW_@X@_H */
