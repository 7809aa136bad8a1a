/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A congestion control in C, and the table of what is in it. Before it is
 * compiled @x@ and @X@ become its name, @file@ its path, @end@ its last line,
 * and @text@ what is in it, or includes that. What is missing in it is said of
 * its last line. QW_OWN_TRUSTED: it comes with the program, and what it may not
 * write it does not.
 */
#include "table.h"

# 1 "@file@"
@text@
# @end@ "@file@"
#ifndef QW_@X@_CCA
#error QW_@X@_CCA(E) is missing: the events that the control wants, E(event) for each
#define QW_@X@_CCA(E)
#endif
# @end@ "@file@"
#ifndef QW_@X@_FLAGS
#error QW_@X@_FLAGS is missing: QW_CCA_* joined by |, or 0
#define QW_@X@_FLAGS 0
#endif
#ifndef QW_@X@_PROBES
#define QW_@X@_PROBES(V)
#endif

#define QW_OWN_TEXT(value) #value
#define QW_OWN_VALUE(name) QW_OWN_TEXT(name)
#define QW_OWN_ONE_PROBE(value, unit) +1
#define QW_OWN_ONE_NAME(name, unit) +1
#ifdef QW_@X@_PROBE_NAMES
# @end@ "@file@"
_Static_assert((0 QW_@X@_PROBES(QW_OWN_ONE_PROBE)) == (0 QW_@X@_PROBE_NAMES(QW_OWN_ONE_NAME)), "QW_@X@_PROBE_NAMES(N) is to have a line for each of QW_@X@_PROBES(V): N(name, unit)");
#endif

# @end@ "@file@"
_Static_assert(sizeof(struct qw_@x@) <= QW_CCA_STATE, "struct qw_@x@ is larger than QW_CCA_STATE bytes, " QW_OWN_VALUE(QW_CCA_STATE));
# @end@ "@file@"
_Static_assert(_Alignof(struct qw_@x@) <= 8, "struct qw_@x@ is to be aligned to 8 bytes at most");
# @end@ "@file@"
_Static_assert(((QW_@X@_FLAGS) & ~(QW_CCA_NEEDS_ECN | QW_CCA_ECT1 | QW_CCA_STAMPS | QW_CCA_BURSTS)) == 0, "QW_@X@_FLAGS has a flag that there is not; there are QW_CCA_NEEDS_ECN, QW_CCA_ECT1, QW_CCA_STAMPS and QW_CCA_BURSTS");
# @end@ "@file@"
_Static_assert(!((QW_@X@_FLAGS) & QW_CCA_ECT1) || ((QW_@X@_FLAGS) & QW_CCA_NEEDS_ECN), "QW_CCA_ECT1 goes with QW_CCA_NEEDS_ECN");

enum {
	qw_events_have_init = 1,
	qw_events_have_ssthresh = 2,
	qw_events_have_undo_cwnd = 4,
	qw_events_have_cong_avoid = 8,
	qw_events_have_cong_control = 16,
	qw_events_have_pkts_acked = 32,
	qw_events_have_in_ack_event = 64,
	qw_events_have_set_state = 128,
	qw_events_have_cwnd_event = 256,
	qw_events_have_min_tso_segs = 512,
	qw_events_have_lost = 1024,
	qw_events_have_sndbuf_expand = 2048,
};
#define QW_OWN_BIT(event) | qw_events_have_##event
# @end@ "@file@"
enum { QW_OWN_HAS = 0 QW_@X@_CCA(QW_OWN_BIT) };
# @end@ "@file@"
_Static_assert(QW_OWN_HAS & qw_events_have_init, "QW_@X@_CCA(E) is to have E(init)");
# @end@ "@file@"
_Static_assert(QW_OWN_HAS & qw_events_have_ssthresh, "QW_@X@_CCA(E) is to have E(ssthresh)");
# @end@ "@file@"
_Static_assert(QW_OWN_HAS & qw_events_have_undo_cwnd, "QW_@X@_CCA(E) is to have E(undo_cwnd)");
# @end@ "@file@"
_Static_assert(QW_OWN_HAS & (qw_events_have_cong_avoid | qw_events_have_cong_control), "QW_@X@_CCA(E) is to have E(cong_avoid) or E(cong_control)");
# @end@ "@file@"
_Static_assert(!((QW_@X@_FLAGS) & QW_CCA_BURSTS) || (QW_OWN_HAS & qw_events_have_min_tso_segs), "QW_CCA_BURSTS goes with E(min_tso_segs)");

/* A function may also promise not to change what it is given. */
#define QW_OWN_IS(function, type) \
	__builtin_types_compatible_p(__typeof__(&function), type)
#define QW_OWN_SHAPE(function, answer, ...)                                                         \
	(QW_OWN_IS(function, answer(*)(struct qw_@x@ *, struct qw_conn *, __VA_ARGS__)) ||             \
	 QW_OWN_IS(function, answer(*)(struct qw_@x@ *, const struct qw_conn *, __VA_ARGS__)) ||       \
	 QW_OWN_IS(function, answer(*)(const struct qw_@x@ *, struct qw_conn *, __VA_ARGS__)) ||       \
	 QW_OWN_IS(function, answer(*)(const struct qw_@x@ *, const struct qw_conn *, __VA_ARGS__)))
#define QW_OWN_SHAPE_OF_TWO(function, answer)                                         \
	(QW_OWN_IS(function, answer(*)(struct qw_@x@ *, struct qw_conn *)) ||        \
	 QW_OWN_IS(function, answer(*)(struct qw_@x@ *, const struct qw_conn *)) ||  \
	 QW_OWN_IS(function, answer(*)(const struct qw_@x@ *, struct qw_conn *)) ||  \
	 QW_OWN_IS(function, answer(*)(const struct qw_@x@ *, const struct qw_conn *)))

#define QW_OWN_SHAPE_init _Static_assert(QW_OWN_SHAPE(qw_@x@_init, void, qw_u64), "qw_@x@_init is to be void (struct qw_@x@ *s, struct qw_conn *c, qw_u64 now)");
#define QW_OWN_SHAPE_ssthresh _Static_assert(QW_OWN_SHAPE(qw_@x@_ssthresh, qw_u32, qw_u64), "qw_@x@_ssthresh is to be qw_u32 (struct qw_@x@ *s, struct qw_conn *c, qw_u64 now)");
#define QW_OWN_SHAPE_undo_cwnd _Static_assert(QW_OWN_SHAPE_OF_TWO(qw_@x@_undo_cwnd, qw_u32), "qw_@x@_undo_cwnd is to be qw_u32 (struct qw_@x@ *s, struct qw_conn *c)");
#define QW_OWN_SHAPE_cong_avoid _Static_assert(QW_OWN_SHAPE(qw_@x@_cong_avoid, void, qw_u32, qw_u64), "qw_@x@_cong_avoid is to be void (struct qw_@x@ *s, struct qw_conn *c, qw_u32 acked, qw_u64 now)");
#define QW_OWN_SHAPE_cong_control _Static_assert(QW_OWN_SHAPE(qw_@x@_cong_control, void, const struct qw_rate_sample *, qw_u64, qw_u32), "qw_@x@_cong_control is to be void (struct qw_@x@ *s, struct qw_conn *c, const struct qw_rate_sample *rs, qw_u64 now, qw_u32 random)");
#define QW_OWN_SHAPE_pkts_acked _Static_assert(QW_OWN_SHAPE(qw_@x@_pkts_acked, void, qw_u32, qw_u32, qw_u64), "qw_@x@_pkts_acked is to be void (struct qw_@x@ *s, struct qw_conn *c, qw_u32 acked, qw_u32 rtt_us, qw_u64 now)");
#define QW_OWN_SHAPE_in_ack_event _Static_assert(QW_OWN_SHAPE(qw_@x@_in_ack_event, void, qw_u64), "qw_@x@_in_ack_event is to be void (struct qw_@x@ *s, struct qw_conn *c, qw_u64 now)");
#define QW_OWN_SHAPE_set_state _Static_assert(QW_OWN_SHAPE(qw_@x@_set_state, void, qw_u32, qw_u64), "qw_@x@_set_state is to be void (struct qw_@x@ *s, struct qw_conn *c, qw_u32 state, qw_u64 now)");
#define QW_OWN_SHAPE_cwnd_event _Static_assert(QW_OWN_SHAPE(qw_@x@_cwnd_event, void, qw_u32, qw_u64), "qw_@x@_cwnd_event is to be void (struct qw_@x@ *s, struct qw_conn *c, qw_u32 event, qw_u64 now)");
#define QW_OWN_SHAPE_min_tso_segs _Static_assert(QW_OWN_SHAPE_OF_TWO(qw_@x@_min_tso_segs, qw_u32), "qw_@x@_min_tso_segs is to be qw_u32 (struct qw_@x@ *s, struct qw_conn *c)");
#define QW_OWN_SHAPE_sndbuf_expand _Static_assert(QW_OWN_SHAPE_OF_TWO(qw_@x@_sndbuf_expand, qw_u32), "qw_@x@_sndbuf_expand is to be qw_u32 (struct qw_@x@ *s, struct qw_conn *c)");
#define QW_OWN_SHAPE_lost _Static_assert(QW_OWN_SHAPE(qw_@x@_lost, void, const struct qw_lost *, qw_u64), "qw_@x@_lost is to be void (struct qw_@x@ *s, struct qw_conn *c, const struct qw_lost *l, qw_u64 now)");
#define QW_OWN_SHAPE_OF(event) QW_OWN_SHAPE_##event
# @end@ "@file@"
QW_@X@_CCA(QW_OWN_SHAPE_OF)

# 1 "own.c"
#define QW_OWN_S(s) ((struct qw_@x@ *)(s))

#ifdef QW_OWN_TRUSTED
#define QW_OWN_BEFORE(c) ((void)0)
#define QW_OWN_AFTER(c) qw_own_fault(c)
#define QW_OWN_BACK(c) ((void)0)
#else
/* What it may not write is put back. */
#define QW_OWN_BEFORE(c) const struct qw_conn before = *(c)
#define QW_OWN_AFTER(c) qw_own_after(c, &before)
#define QW_OWN_BACK(c) (*(c) = before)
#endif

/* What no connection can go on with, and what Rust has no value for. */
static inline qw_u32 qw_own_fault(struct qw_conn *c)
{
	c->pacing = c->pacing != 0;
	if (c->cwnd > QW_OWN_MOST_CWND)
		c->cwnd = QW_OWN_MOST_CWND;
	if (!c->cwnd) {
		c->cwnd = 1;
		return QW_OWN_NO_CWND;
	}
	if (!c->pacing_rate) {
		c->pacing_rate = QW_UNPACED;
		return QW_OWN_NO_RATE;
	}
	if (c->ssthresh < 2) {
		c->ssthresh = 2;
		return QW_OWN_NO_SSTHRESH;
	}
	return QW_OWN_FINE;
}

static inline __attribute__((unused)) qw_u32
qw_own_after(struct qw_conn *c, const struct qw_conn *before)
{
	struct qw_conn now = *before;

	now.cwnd = c->cwnd;
	now.cwnd_cnt = c->cwnd_cnt;
	now.ssthresh = c->ssthresh;
	now.pacing_rate = c->pacing_rate;
	now.pacing = c->pacing;
	now.app_limited = c->app_limited;
	*c = now;
	return qw_own_fault(c);
}

#define QW_OWN_CALL(event, call, ...)                                             \
	static __attribute__((flatten)) qw_u32 qw_own_##event(__VA_ARGS__)        \
	{                                                                         \
		QW_OWN_BEFORE(c);                                                 \
		call;                                                             \
		return QW_OWN_AFTER(c);                                           \
	}
#define QW_OWN_ASK(event, call, wrong, ...)                                       \
	static __attribute__((flatten)) struct qw_own_said qw_own_##event(__VA_ARGS__) \
	{                                                                         \
		QW_OWN_BEFORE(c);                                                 \
		struct qw_own_said said = { call, QW_OWN_FINE };                  \
		said.fault = QW_OWN_AFTER(c);                                     \
		wrong;                                                            \
		return said;                                                      \
	}
#define QW_OWN_MOST(most)          \
	if (said.value > (most))   \
		said.value = (most);
#define QW_OWN_LEAST(least, what)           \
	if (said.value < (least)) {         \
		said.value = (least);       \
		if (!said.fault)            \
			said.fault = (what); \
	}

#define QW_OWN_CALL_init QW_OWN_CALL(init, qw_@x@_init(QW_OWN_S(s), c, now), void *s, struct qw_conn *c, qw_u64 now)
#define QW_OWN_CALL_ssthresh QW_OWN_ASK(ssthresh, qw_@x@_ssthresh(QW_OWN_S(s), c, now), QW_OWN_LEAST(2, QW_OWN_NO_SSTHRESH), void *s, struct qw_conn *c, qw_u64 now)
#define QW_OWN_CALL_undo_cwnd QW_OWN_ASK(undo_cwnd, qw_@x@_undo_cwnd(QW_OWN_S(s), c), QW_OWN_MOST(QW_OWN_MOST_CWND) QW_OWN_LEAST(1, QW_OWN_NO_CWND), void *s, struct qw_conn *c)
#define QW_OWN_CALL_cong_avoid QW_OWN_CALL(cong_avoid, qw_@x@_cong_avoid(QW_OWN_S(s), c, acked, now), void *s, struct qw_conn *c, qw_u32 acked, qw_u64 now)
#define QW_OWN_CALL_cong_control QW_OWN_CALL(cong_control, qw_@x@_cong_control(QW_OWN_S(s), c, rs, now, random), void *s, struct qw_conn *c, const struct qw_rate_sample *rs, qw_u64 now, qw_u32 random)
#define QW_OWN_CALL_pkts_acked QW_OWN_CALL(pkts_acked, qw_@x@_pkts_acked(QW_OWN_S(s), c, acked, rtt_us, now), void *s, struct qw_conn *c, qw_u32 acked, qw_u32 rtt_us, qw_u64 now)
#define QW_OWN_CALL_in_ack_event                                                        \
	static __attribute__((flatten)) qw_u32 qw_own_in_ack_event(void *s, struct qw_conn *c, qw_u64 now) \
	{                                                                               \
		QW_OWN_BEFORE(c);                                                       \
		qw_@x@_in_ack_event(QW_OWN_S(s), c, now);                               \
		QW_OWN_BACK(c);                                                         \
		return QW_OWN_FINE;                                                     \
	}
#define QW_OWN_CALL_set_state QW_OWN_CALL(set_state, qw_@x@_set_state(QW_OWN_S(s), c, state, now), void *s, struct qw_conn *c, qw_u32 state, qw_u64 now)
#define QW_OWN_CALL_cwnd_event QW_OWN_CALL(cwnd_event, qw_@x@_cwnd_event(QW_OWN_S(s), c, event, now), void *s, struct qw_conn *c, qw_u32 event, qw_u64 now)
#define QW_OWN_CALL_min_tso_segs QW_OWN_ASK(min_tso_segs, qw_@x@_min_tso_segs(QW_OWN_S(s), c), (void)0, void *s, struct qw_conn *c)
#define QW_OWN_CALL_sndbuf_expand QW_OWN_ASK(sndbuf_expand, qw_@x@_sndbuf_expand(QW_OWN_S(s), c), (void)0, void *s, struct qw_conn *c)
#define QW_OWN_CALL_lost QW_OWN_CALL(lost, qw_@x@_lost(QW_OWN_S(s), c, l, now), void *s, struct qw_conn *c, const struct qw_lost *l, qw_u64 now)
#define QW_OWN_CALL_OF(event) QW_OWN_CALL_##event
QW_@X@_CCA(QW_OWN_CALL_OF)

static const struct qw_own_shown qw_own_names[] = {
#ifdef QW_@X@_PROBE_NAMES
#define QW_OWN_NAME(name, unit) { name, unit },
	QW_@X@_PROBE_NAMES(QW_OWN_NAME) { 0, 0 }
#else
#define QW_OWN_NAME(value, unit) { #value, "" },
	QW_@X@_PROBES(QW_OWN_NAME) { 0, 0 }
#endif
};

static double qw_own_probe(const void *state, const struct qw_conn *c, qw_u64 i)
{
	const struct qw_@x@ *s = state;

	(void)s;
	(void)c;
	(void)i;
#define QW_OWN_PROBE(value, unit) \
	if (!i--)                 \
		return (double)(value) / (double)(unit);
	QW_@X@_PROBES(QW_OWN_PROBE)
	return 0;
}

#define QW_OWN_ENTRY(event) .event = qw_own_##event,

extern __attribute__((visibility("default"))) const struct qw_own qw_own;
const struct qw_own qw_own = {
	.size = sizeof(struct qw_@x@),
	.flags = QW_@X@_FLAGS,
#ifdef QW_@X@_ABOUT
	.about = QW_@X@_ABOUT,
#endif
	.shown = qw_own_names,
	.probe = qw_own_probe,
	QW_@X@_CCA(QW_OWN_ENTRY)
};
