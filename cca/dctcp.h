/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * DCTCP (RFC 8257) in the integers of Linux's tcp_dctcp.c. It is an example of a
 * congestion control in C. A test compares it with the same rule in Rust
 * (crates/cca/src/dctcp.rs).
 */
#ifndef QW_DCTCP_H
#define QW_DCTCP_H

#include "qw_cca.h"

/* alpha and the fraction of marks have 10 fraction bits; the weight of the last
 * window in alpha is 2^-4 (RFC 8257 section 4.2). */
#define QW_DCTCP_SHIFT 10
#define QW_DCTCP_ONE (1u << QW_DCTCP_SHIFT)
#define QW_DCTCP_G 4

struct qw_dctcp {
	qw_u32 alpha; /* average fraction of packets marked */
	qw_u32 next_seq; /* the observation window ends when this is acknowledged */
	qw_u32 old_delivered; /* delivered, and marked, when it began */
	qw_u32 old_delivered_ce;
	qw_u32 loss_cwnd; /* the window at the last reduction */
};

static inline void qw_dctcp_init(struct qw_dctcp *s, struct qw_conn *c,
				 qw_u64 now)
{
	(void)now;
	s->alpha = QW_DCTCP_ONE;
	s->next_seq = c->snd_nxt;
	s->old_delivered = c->delivered;
	s->old_delivered_ce = c->delivered_ce;
	s->loss_cwnd = 0;
}

/* An echoed mark: cwnd (1 - alpha / 2) (RFC 8257 section 3.3 step 9). */
static inline qw_u32 qw_dctcp_ssthresh(struct qw_dctcp *s, struct qw_conn *c,
				       qw_u64 now)
{
	qw_u32 left = c->cwnd - (qw_u32)(((qw_u64)c->cwnd * s->alpha) >>
					 (QW_DCTCP_SHIFT + 1));

	(void)now;
	s->loss_cwnd = c->cwnd;
	return left < 2 ? 2 : left;
}

static inline qw_u32 qw_dctcp_undo_cwnd(struct qw_dctcp *s, struct qw_conn *c)
{
	return c->cwnd > s->loss_cwnd ? c->cwnd : s->loss_cwnd;
}

/* Once a window, alpha = (1 - g) alpha + g F (section 3.3 step 7). */
static inline void qw_dctcp_in_ack_event(struct qw_dctcp *s, struct qw_conn *c,
					 qw_u64 now)
{
	qw_u32 delivered, marked, step, alpha;

	(void)now;
	if (qw_after(s->next_seq, c->snd_una))
		return;
	delivered = c->delivered - s->old_delivered;
	marked = c->delivered_ce - s->old_delivered_ce;
	step = s->alpha >> QW_DCTCP_G;
	/* What is too small for a step goes to 0 at once. */
	alpha = step ? s->alpha - step : 0;
	alpha += (qw_u32)qw_div((qw_u64)marked << (QW_DCTCP_SHIFT - QW_DCTCP_G),
				delivered ? delivered : 1);
	s->alpha = alpha > QW_DCTCP_ONE ? QW_DCTCP_ONE : alpha;
	s->next_seq = c->snd_nxt;
	s->old_delivered = c->delivered;
	s->old_delivered_ce = c->delivered_ce;
}

/* As Reno (section 3.4). */
static inline void qw_dctcp_cong_avoid(struct qw_dctcp *s, struct qw_conn *c,
				       qw_u32 acked, qw_u64 now)
{
	(void)s;
	(void)now;
	if (!qw_cwnd_limited(c))
		return;
	if (qw_in_slow_start(c)) {
		acked = qw_slow_start(c, acked);
		if (!acked)
			return;
	}
	qw_cong_avoid_ai(c, c->cwnd, acked);
}

/* A loss: half the window, whatever alpha says (section 3.5). */
static inline void qw_dctcp_loss(struct qw_dctcp *s, struct qw_conn *c)
{
	s->loss_cwnd = c->cwnd;
	c->ssthresh = c->cwnd >> 1 < 2 ? 2 : c->cwnd >> 1;
}

static inline void qw_dctcp_set_state(struct qw_dctcp *s, struct qw_conn *c,
				      qw_u32 state, qw_u64 now)
{
	(void)now;
	if (state == QW_CA_RECOVERY && c->ca_state != QW_CA_RECOVERY)
		qw_dctcp_loss(s, c);
}

static inline void qw_dctcp_cwnd_event(struct qw_dctcp *s, struct qw_conn *c,
				       qw_u32 event, qw_u64 now)
{
	(void)now;
	if (event == QW_EVENT_LOSS)
		qw_dctcp_loss(s, c);
}

#define QW_DCTCP_ABOUT "yields as much as was marked (ECN)"
#define QW_DCTCP_FLAGS QW_CCA_NEEDS_ECN
#define QW_DCTCP_CCA(E) \
	E(init)         \
	E(ssthresh)     \
	E(undo_cwnd) E(cong_avoid) E(in_ack_event) E(set_state) E(cwnd_event)
#define QW_DCTCP_PROBES(V) V(s->alpha, QW_DCTCP_ONE)
#define QW_DCTCP_PROBE_NAMES(N) N("alpha", "")

#endif /* QW_DCTCP_H */
