/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a congestion control in C is compiled to: one table. Rust has the same
 * structures in hosted/table.rs; qw_cca_layout compares them.
 */
#ifndef QW_OWN_TABLE_H
#define QW_OWN_TABLE_H

#include "qw_cca.h"

/* A line of QW_X_PROBE_NAMES(N), or an expression of QW_X_PROBES(V). A list ends
 * with a name of 0. */
struct qw_own_shown {
	const char *name, *unit;
};

/* What an event has left that no connection can go on with. */
#define QW_OWN_FINE 0u
#define QW_OWN_NO_CWND 1u /* cwnd of 0 */
#define QW_OWN_NO_RATE 2u /* pacing_rate of 0 */
#define QW_OWN_NO_SSTHRESH 3u /* ssthresh below 2 */

/* No window is above this, packets (Linux: snd_cwnd_clamp). */
#define QW_OWN_MOST_CWND (1u << 26)

/* A control's answer, and QW_OWN_*. */
struct qw_own_said {
	qw_u32 value, fault;
};

/* Events that the control does not want are 0. Those without an answer return
 * QW_OWN_*. */
struct qw_own {
	qw_u64 size; /* bytes of its state */
	qw_u64 flags; /* QW_CCA_* */
	const char *about; /* 0: it does not say */
	const struct qw_own_shown *shown;
	qw_u32 (*init)(void *s, struct qw_conn *c, qw_u64 now);
	struct qw_own_said (*ssthresh)(void *s, struct qw_conn *c, qw_u64 now);
	struct qw_own_said (*undo_cwnd)(void *s, struct qw_conn *c);
	qw_u32 (*cong_avoid)(void *s, struct qw_conn *c, qw_u32 acked,
			     qw_u64 now);
	qw_u32 (*cong_control)(void *s, struct qw_conn *c,
			       const struct qw_rate_sample *rs, qw_u64 now,
			       qw_u32 random);
	qw_u32 (*pkts_acked)(void *s, struct qw_conn *c, qw_u32 acked,
			     qw_u32 rtt_us, qw_u64 now);
	qw_u32 (*in_ack_event)(void *s, struct qw_conn *c, qw_u64 now);
	qw_u32 (*set_state)(void *s, struct qw_conn *c, qw_u32 state,
			    qw_u64 now);
	qw_u32 (*cwnd_event)(void *s, struct qw_conn *c, qw_u32 event,
			     qw_u64 now);
	struct qw_own_said (*min_tso_segs)(void *s, struct qw_conn *c);
	struct qw_own_said (*sndbuf_expand)(void *s, struct qw_conn *c);
	qw_u32 (*lost)(void *s, struct qw_conn *c, const struct qw_lost *l,
		       qw_u64 now);
	double (*probe)(const void *s, const struct qw_conn *c, qw_u64 i);
};

#endif /* QW_OWN_TABLE_H */
