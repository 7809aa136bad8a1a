/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sizes and offsets of what Rust has structures of its own for (hosted.rs). */
#include <stddef.h>

#include "table.h"

#define CLOCK(field) offsetof(struct qw_clock, field)
#define CONN(field) offsetof(struct qw_conn, field)
#define RATE(field) offsetof(struct qw_rate_sample, field)
#define LOST(field) offsetof(struct qw_lost, field)
#define SAID(field) offsetof(struct qw_own_said, field)
#define OWN(field) offsetof(struct qw_own, field)

extern const size_t qw_cca_layout[];
extern const size_t qw_cca_layouts;
extern const qw_u32 qw_cca_states[];

const size_t qw_cca_layout[] = {
	sizeof(struct qw_clock),
	CLOCK(parts),
	CLOCK(shift),
	CLOCK(hz),
	CLOCK(tick_ns),
	CLOCK(tick_us),
	sizeof(struct qw_conn),
	CONN(delivered_ns),
	CONN(pacing_rate),
	CONN(edt_ns),
	CONN(last_send_ns),
	CONN(cwnd),
	CONN(cwnd_cnt),
	CONN(ssthresh),
	CONN(prior_cwnd),
	CONN(packets_out),
	CONN(sacked_out),
	CONN(lost_out),
	CONN(retrans_out),
	CONN(max_packets_out),
	CONN(snd_una),
	CONN(snd_nxt),
	CONN(mss),
	CONN(srtt_us),
	CONN(min_rtt_us),
	CONN(delivered),
	CONN(delivered_ce),
	CONN(lost),
	CONN(app_limited),
	CONN(is_cwnd_limited),
	CONN(pacing),
	CONN(ca_state),
	CONN(clock),
	sizeof(struct qw_rate_sample),
	RATE(prior_ns),
	RATE(interval_us),
	RATE(rtt_us),
	RATE(prior_delivered),
	RATE(delivered),
	RATE(losses),
	RATE(acked_sacked),
	RATE(prior_in_flight),
	RATE(tx_in_flight),
	RATE(lost),
	RATE(delivered_ce),
	RATE(is_app_limited),
	RATE(is_ack_delayed),
	RATE(is_tlp),
	sizeof(struct qw_lost),
	LOST(packets),
	LOST(tx_in_flight),
	LOST(lost),
	LOST(is_app_limited),
	sizeof(struct qw_own_said),
	SAID(value),
	SAID(fault),
	sizeof(struct qw_own),
	OWN(size),
	OWN(flags),
	OWN(about),
	OWN(shown),
	OWN(init),
	OWN(ssthresh),
	OWN(undo_cwnd),
	OWN(cong_avoid),
	OWN(cong_control),
	OWN(pkts_acked),
	OWN(in_ack_event),
	OWN(set_state),
	OWN(cwnd_event),
	OWN(min_tso_segs),
	OWN(sndbuf_expand),
	OWN(lost),
	OWN(probe),
};
const size_t qw_cca_layouts = sizeof(qw_cca_layout) / sizeof(size_t);

const qw_u32 qw_cca_states[] = { QW_CA_OPEN, QW_CA_DISORDER, QW_CA_CWR,
				 QW_CA_RECOVERY, QW_CA_LOSS };
