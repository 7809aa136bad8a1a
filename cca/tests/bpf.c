/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Every event of every control as a function of a BPF object, to see that clang
 * can make one of it.
 */
#ifndef QW_JIFFIES
#define QW_JIFFIES 0
#endif
#include "bbr3.h"
#include "copa.h"
#include "ledbat_pp.h"
#include "prague.h"
#include "westwood.h"

#define S(X) struct qw_##X *s, struct qw_conn *c
#define BPF_init(X)                           \
	void bpf_##X##_init(S(X), qw_u64 now) \
	{                                     \
		qw_##X##_init(s, c, now);     \
	}
#define BPF_ssthresh(X)                              \
	qw_u32 bpf_##X##_ssthresh(S(X), qw_u64 now)  \
	{                                            \
		return qw_##X##_ssthresh(s, c, now); \
	}
#define BPF_undo_cwnd(X)                         \
	qw_u32 bpf_##X##_undo_cwnd(S(X))         \
	{                                        \
		return qw_##X##_undo_cwnd(s, c); \
	}
#define BPF_cong_avoid(X)                                     \
	void bpf_##X##_cong_avoid(S(X), qw_u32 n, qw_u64 now) \
	{                                                     \
		qw_##X##_cong_avoid(s, c, n, now);            \
	}
#define BPF_cong_control(X)                                                \
	void bpf_##X##_cong_control(S(X), const struct qw_rate_sample *rs, \
				    qw_u64 now, qw_u32 random)             \
	{                                                                  \
		qw_##X##_cong_control(s, c, rs, now, random);              \
	}
#define BPF_pkts_acked(X)                                                 \
	void bpf_##X##_pkts_acked(S(X), qw_u32 n, qw_u32 rtt, qw_u64 now) \
	{                                                                 \
		qw_##X##_pkts_acked(s, c, n, rtt, now);                   \
	}
#define BPF_in_ack_event(X)                           \
	void bpf_##X##_in_ack_event(S(X), qw_u64 now) \
	{                                             \
		qw_##X##_in_ack_event(s, c, now);     \
	}
#define BPF_set_state(X)                                         \
	void bpf_##X##_set_state(S(X), qw_u32 state, qw_u64 now) \
	{                                                        \
		qw_##X##_set_state(s, c, state, now);            \
	}
#define BPF_cwnd_event(X)                                         \
	void bpf_##X##_cwnd_event(S(X), qw_u32 event, qw_u64 now) \
	{                                                         \
		qw_##X##_cwnd_event(s, c, event, now);            \
	}
#define BPF_min_tso_segs(X)                         \
	qw_u32 bpf_##X##_min_tso_segs(S(X))         \
	{                                           \
		return qw_##X##_min_tso_segs(s, c); \
	}
#define BPF_sndbuf_expand(X)                         \
	qw_u32 bpf_##X##_sndbuf_expand(S(X))         \
	{                                            \
		return qw_##X##_sndbuf_expand(s, c); \
	}
#define BPF_lost(X)                                                    \
	void bpf_##X##_lost(S(X), const struct qw_lost *l, qw_u64 now) \
	{                                                              \
		qw_##X##_lost(s, c, l, now);                           \
	}

#define BBR3(e) BPF_##e(bbr3)
QW_BBR3_CCA(BBR3)
#define COPA(e) BPF_##e(copa)
QW_COPA_CCA(COPA)
#define LEDBAT_PP(e) BPF_##e(ledbat_pp)
QW_LEDBAT_PP_CCA(LEDBAT_PP)
#define PRAGUE(e) BPF_##e(prague)
QW_PRAGUE_CCA(PRAGUE)
#define WESTWOOD(e) BPF_##e(westwood)
QW_WESTWOOD_CCA(WESTWOOD)

/* Displays. */
#define PROBE(value, by) sum += (qw_u64)(value) / (by);
#define PROBES(X, list)               \
	qw_u64 bpf_##X##_probes(S(X)) \
	{                             \
		qw_u64 sum = 0;       \
                                      \
		(void)c;              \
		list(PROBE);          \
		return sum;           \
	}
PROBES(bbr3, QW_BBR3_PROBES)
PROBES(copa, QW_COPA_PROBES)
PROBES(ledbat_pp, QW_LEDBAT_PP_PROBES)
PROBES(prague, QW_PRAGUE_PROBES)
PROBES(westwood, QW_WESTWOOD_PROBES)
