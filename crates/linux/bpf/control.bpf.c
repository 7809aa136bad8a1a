// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The host of a congestion control (cca/qw_cca.h) inside Linux: a table of
 * functions (struct tcp_congestion_ops) that is a BPF program. Compiled when a
 * control is named, with
 *   QW_NAME, QW_UPPER	the control's name in C, small and large letters
 *   QW_HEADER		its file
 *   QW_LINUX		the kernel's version, 100 * major + minor; 610 at least
 *   QW_CONTROL		the name that sockets choose, 15 characters at most
 * It needs no header but qw.h, qw_cca.h and the control's.
 *
 * Clocks: `now` is tp->tcp_clock_cache, the kernel's monotonic clock in ns as it
 * was read for the packet or timer at hand. The kernel's stamps (tcp_mstamp,
 * delivered_mstamp) are the same clock in us, so that differences between
 * `now` and c->delivered_ns are those that the kernel's own modules see.
 */
#include "qw.h"

/* Ticks at a time (ns) that is not after `now`. In `parts` the host keeps what
 * is to be added: at `now` the result is the kernel's own tick. */
#define QW_JIFFIES 0
#include "qw_cca.h"
#undef qw_jiffies
#define qw_jiffies(c, at) \
	((qw_u32)(((at) + (c)->clock.parts) / (c)->clock.tick_ns))

#include QW_HEADER

#define SEC(name) __attribute__((section(name), used))
#define KERNEL_TYPE __attribute__((preserve_access_index))
#define HELPER static __attribute__((unused))
#define bool _Bool

/* Does the running kernel have a field? */
#define HAS(field) __builtin_preserve_field_info(field, 2)

/* BPF's helpers, by number (linux/bpf.h). */
HELPER qw_u32 (*const bpf_get_prandom_u32)(void) = (void *)7;
HELPER void *(*const bpf_sk_storage_get)(void *map, void *sk, void *value,
					 qw_u64 flags) = (void *)107;
HELPER long (*const bpf_sk_storage_delete)(void *map, void *sk) = (void *)108;
HELPER long (*const bpf_tcp_send_ack)(void *tp, qw_u32 rcv_nxt) = (void *)116;
HELPER qw_u64 (*const bpf_jiffies64)(void) = (void *)118;
#define BPF_MAP_TYPE_SK_STORAGE 24
#define BPF_SK_STORAGE_GET_F_CREATE 1
#define BPF_F_NO_PREALLOC 1

/* What is touched of the kernel, by name; the loader finds where it has it. */
struct sock {
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
	qw_u32 sk_pacing_status;
} KERNEL_TYPE;

struct inet_connection_sock {
	qw_u8 icsk_ca_state : 5;
	qw_u32 icsk_delack_max;
	struct {
		qw_u8 pending;
	} icsk_ack;
} KERNEL_TYPE;

struct minmax_sample___host {
	qw_u32 t, v;
} KERNEL_TYPE;

struct minmax___host {
	struct minmax_sample___host s[3];
} KERNEL_TYPE;

struct tcp_sock {
	qw_u32 mss_cache, snd_cwnd, snd_cwnd_cnt, snd_cwnd_clamp, snd_ssthresh;
	qw_u32 prior_cwnd, packets_out, sacked_out, lost_out, retrans_out;
	qw_u32 max_packets_out, snd_una, snd_nxt, rcv_nxt, srtt_us, lsndtime;
	qw_u32 delivered, delivered_ce, lost, app_limited, tlp_high_seq;
	qw_u8 is_cwnd_limited : 1;
	qw_u8 tlp_retrans : 1;
	qw_u8 ecn_flags;
	qw_u64 bytes_acked, delivered_mstamp, tcp_wstamp_ns, tcp_clock_cache;
	struct minmax___host rtt_min;
} KERNEL_TYPE;

struct rate_sample___host {
	qw_u64 prior_mstamp;
	qw_u32 prior_delivered, prior_delivered_ce;
	qw_s32 delivered, delivered_ce;
	long interval_us;
	long rtt_us;
	int losses;
	qw_u32 acked_sacked, prior_in_flight;
	bool is_app_limited, is_ack_delayed;
} KERNEL_TYPE;

struct ack_sample___host {
	qw_u32 pkts_acked;
	qw_s32 rtt_us;
} KERNEL_TYPE;

/* Its layout here is of no account: the loader goes by names. */
struct tcp_congestion_ops {
	void (*init)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, qw_u32 ack, qw_u32 acked);
	void (*cong_control)(struct sock *sk, qw_u32 ack, int flag,
			     const struct rate_sample___host *rs);
	qw_u32 (*ssthresh)(struct sock *sk);
	void (*set_state)(struct sock *sk, qw_u8 state);
	void (*cwnd_event)(struct sock *sk, qw_u32 event);
#if QW_LINUX >= 701
	void (*cwnd_event_tx_start)(struct sock *sk);
#endif
	void (*in_ack_event)(struct sock *sk, qw_u32 flags);
	void (*pkts_acked)(struct sock *sk,
			   const struct ack_sample___host *sample);
	qw_u32 (*min_tso_segs)(struct sock *sk);
	qw_u32 (*sndbuf_expand)(struct sock *sk);
	qw_u32 (*undo_cwnd)(struct sock *sk);
	qw_u32 flags;
	char name[16];
};

/* Numbers of the kernel's. */
#define CA_EVENT_TX_START 0
#define CA_EVENT_COMPLETE_CWR 2
#define CA_EVENT_LOSS 3
#define CA_EVENT_ECN_NO_CE 4
#define CA_EVENT_ECN_IS_CE 5
#define ICSK_ACK_TIMER 2
#define ICSK_ACK_NOW 16
#define TCP_ECN_DEMAND_CWR 4
#define TCP_ECN_MODE_ACCECN 16
#define TCP_CONG_NEEDS_ECN 2
#define TCP_CONG_NEEDS_ACCECN 4
#define TCP_CONG_ECT_1_NEGOTIATION 8
#define SK_PACING_NONE 0
#define SK_PACING_NEEDED 1

#define JOIN(a, b, c) a##b##c
#define NAMED(a, b, c) JOIN(a, b, c)
#define STATE struct NAMED(qw_, QW_NAME, )
#define CALL(what) NAMED(qw_, QW_NAME, _##what)
#define EVENTS NAMED(QW_, QW_UPPER, _CCA)
#define FLAGS NAMED(QW_, QW_UPPER, _FLAGS)

/* #if WANTS: among the control's events is the one whose IS_ is defined, as 1. */
#define ADD(event) +IS_##event
#define WANTS (0 EVENTS(ADD))

_Static_assert(sizeof(STATE) <= QW_CCA_STATE,
	       "its state has more than QW_CCA_STATE bytes");

#define IS_cong_control 1
#if WANTS && FLAGS & QW_CCA_STAMPS
#define MOMENTS 512u
#else
#define MOMENTS 1u
#endif
#undef IS_cong_control

/* The kernel stamps a packet with tp->delivered alone when it is sent. That names
 * the ACK before it, and what was then the host keeps here. */
struct host_moment {
	qw_u32 delivered; /* tp->delivered after the ACK */
	qw_u32 lost; /* tp->lost after it */
	qw_u32 in_flight; /* packets in flight before the next ACK */
};

/* What the host keeps of a connection, and works in: a program's stack is
 * short. */
struct host_state {
	struct qw_conn conn;
	struct qw_rate_sample sample;
	qw_u32 last; /* where the moment of the last ACK is */
	qw_u32 rcv_nxt; /* before the packet at hand */
	qw_u8 ce; /* the last packet had CE */
	qw_u8 tlp; /* the ACK is of a probe that repaired a loss */
	qw_u8 pad[6];
	struct host_moment moments[MOMENTS];
	STATE state;
};

/* More the kernel does not allocate for a socket (kmalloc_nolock). */
_Static_assert(sizeof(struct host_state) <= 8000,
	       "what the host keeps is too long");

struct {
	int (*type)[BPF_MAP_TYPE_SK_STORAGE];
	int (*map_flags)[BPF_F_NO_PREALLOC];
	int *key;
	struct host_state *value;
} host_map SEC(".maps");

char _license[] SEC("license") = "Dual BSD/GPL";

/* The largest window that the host sets, the simulator's too. The kernel warns of
 * one that is not positive as an int (tcp_snd_cwnd_set). */
#define MOST_CWND (1u << 26)

static inline qw_u32 host_window(qw_u32 cwnd)
{
	if (!cwnd)
		return 1;
	return cwnd < MOST_CWND ? cwnd : MOST_CWND;
}

/* Ticks a second, which only the kernel's configuration has: that of the usual
 * ones by which the ticks since boot (they begin 300 s before 0, in 32 bits) are
 * nearest to the clock. About 300 s after boot all are as near: there it is told
 * by the longest delay of an ACK, which is a fifth of it (TCP_DELACK_MAX). */
static qw_u32 host_ticks_a_second(qw_u64 jiffies, qw_u64 now, qw_u32 delack_max)
{
	const qw_u32 usual[4] = { 100, 250, 300, 1000 };
	qw_u64 least = ~0ULL;
	qw_u32 best = 250;

	if (now - 290 * QW_NS_PER_SEC < 20 * QW_NS_PER_SEC &&
	    (delack_max == 20 || delack_max == 50 || delack_max == 60 ||
	     delack_max == 200))
		return 5 * delack_max;
#pragma clang loop unroll(full)
	for (int i = 0; i < 4; i++) {
		qw_u32 hz = usual[i];
		qw_u64 ticks = jiffies - (qw_u32)(0u - 300u * hz);
		qw_u64 at = ticks * (QW_NS_PER_SEC / hz);
		qw_u64 off = at > now ? at - now : now - at;

		if (off < least) {
			least = off;
			best = hz;
		}
	}
	return best;
}

/* A bit field of the kernel's. */
#define BITS(p, field)                                                         \
	({                                                                     \
		const char *at = (const char *)(p) +                           \
				 __builtin_preserve_field_info((p)->field, 0); \
		qw_u64 bits;                                                   \
		switch (__builtin_preserve_field_info((p)->field, 1)) {        \
		case 1:                                                        \
			bits = *(const qw_u8 *)at;                             \
			break;                                                 \
		case 2:                                                        \
			bits = *(const qw_u16 *)at;                            \
			break;                                                 \
		case 4:                                                        \
			bits = *(const qw_u32 *)at;                            \
			break;                                                 \
		default:                                                       \
			bits = *(const qw_u64 *)at;                            \
		}                                                              \
		bits <<= __builtin_preserve_field_info((p)->field, 4);         \
		bits >> __builtin_preserve_field_info((p)->field, 5);          \
	})

/* What the control sees of the connection. */
static __attribute__((noinline)) int host_view(struct host_state *h,
					       struct tcp_sock *tp)
{
	struct sock *sk = (struct sock *)tp;
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)tp;
	struct qw_conn *c = &h->conn;
	qw_u64 now = tp->tcp_clock_cache;
	qw_u64 acked = tp->bytes_acked;
	qw_u64 ticks = bpf_jiffies64();
	qw_u32 mss = tp->mss_cache;

	if (mss == 0)
		mss = 1;
	c->delivered_ns = tp->delivered_mstamp * QW_NS_PER_US;
	c->pacing_rate = sk->sk_pacing_rate;
	c->edt_ns = tp->tcp_wstamp_ns;
	c->cwnd = tp->snd_cwnd;
	c->cwnd_cnt = tp->snd_cwnd_cnt;
	c->ssthresh = tp->snd_ssthresh;
	c->prior_cwnd = tp->prior_cwnd;
	c->packets_out = tp->packets_out;
	c->sacked_out = tp->sacked_out;
	c->lost_out = tp->lost_out;
	c->retrans_out = tp->retrans_out;
	c->max_packets_out = tp->max_packets_out;
	/* The kernel counts bytes: full segments among those since the
	 * connection began. */
	c->snd_una = (qw_u32)(acked / mss);
	c->snd_nxt =
		(qw_u32)((acked + (qw_u32)(tp->snd_nxt - tp->snd_una)) / mss);
	c->mss = mss;
	c->srtt_us = tp->srtt_us;
	c->min_rtt_us = tp->rtt_min.s[0].v;
	c->delivered = tp->delivered;
	c->delivered_ce = tp->delivered_ce;
	c->lost = tp->lost;
	c->app_limited = tp->app_limited;
	c->is_cwnd_limited = BITS(tp, is_cwnd_limited);
	c->pacing = sk->sk_pacing_status != SK_PACING_NONE;
	c->ca_state = BITS(icsk, icsk_ca_state);
	if (c->clock.hz == 0) {
		c->clock.hz = host_ticks_a_second(
			ticks, now,
			HAS(icsk->icsk_delack_max) ? icsk->icsk_delack_max : 0);
		c->clock.tick_ns = (qw_u32)(QW_NS_PER_SEC / c->clock.hz);
		c->clock.tick_us = QW_NS_PER_SEC % c->clock.hz ?
					   0 :
					   c->clock.tick_ns / 1000;
	}
	c->clock.parts = ticks * c->clock.tick_ns - now;
	/* The kernel has it in ticks. */
	c->last_send_ns = tp->lsndtime ?
				  now - (qw_u64)((qw_u32)ticks - tp->lsndtime) *
						  c->clock.tick_ns :
				  0;
	return 0;
}

/* What the control has changed, as far as it may. */
static __attribute__((noinline)) int host_settle(struct host_state *h,
						 struct tcp_sock *tp)
{
	struct sock *sk = (struct sock *)tp;
	const struct qw_conn *c = &h->conn;

	if (c->cwnd != tp->snd_cwnd) {
		qw_u32 cwnd = host_window(c->cwnd);

		tp->snd_cwnd = cwnd < tp->snd_cwnd_clamp ? cwnd :
							   tp->snd_cwnd_clamp;
	}
	if (c->cwnd_cnt != tp->snd_cwnd_cnt)
		tp->snd_cwnd_cnt = c->cwnd_cnt;
	/* When a reduction ends the kernel makes it the window. */
	if (c->ssthresh != tp->snd_ssthresh)
		tp->snd_ssthresh = c->ssthresh > 2 ? c->ssthresh : 2;
	if (c->app_limited != tp->app_limited)
		tp->app_limited = c->app_limited;
	if (c->pacing_rate != sk->sk_pacing_rate) {
		/* TCP does not pace by 0, and fq sends a packet a second. */
		qw_u64 rate = c->pacing_rate ? c->pacing_rate : QW_UNPACED;

		sk->sk_pacing_rate = rate < sk->sk_max_pacing_rate ?
					     rate :
					     sk->sk_max_pacing_rate;
	}
	/* What fq does (SK_PACING_FQ) is left to it. */
	if (c->pacing && sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
	else if (!c->pacing && sk->sk_pacing_status == SK_PACING_NEEDED)
		sk->sk_pacing_status = SK_PACING_NONE;
	return 0;
}

/* So many bits of tp->delivered are left out in the place of a moment: none for
 * windows of half the table. In wider ones several ACKs share a place, and the
 * last of them stays. */
static inline qw_u32 host_coarseness(const struct qw_conn *c)
{
	qw_u32 bits = 0;

#pragma clang loop unroll(full)
	for (qw_u32 i = 0; i < 8; i++)
		bits += c->cwnd > (MOMENTS / 2) << i;
	return bits;
}

/* The ACK is dealt with: packets that are sent from now on are sent after it. */
static inline void host_remember(struct host_state *h)
{
	const struct qw_conn *c = &h->conn;
	qw_u32 at = (c->delivered >> host_coarseness(c)) & (MOMENTS - 1);
	struct host_moment *m = &h->moments[at];

	m->delivered = c->delivered;
	m->lost = c->lost;
	m->in_flight = qw_in_flight(c);
	h->last = at;
}

static inline struct host_state *host_of_socket(void *sk)
{
	return bpf_sk_storage_get(&host_map, sk, 0, 0);
}

/* The arguments are words of `ctx`. */
#define SOCK ((struct tcp_sock *)ctx[0])
#define PROGRAM(name) \
	SEC("struct_ops/" #name) int host_##name(unsigned long long *ctx)
/* Arguments of a program; the connection before and after the control. */
#define BEGIN(h, sk)                               \
	struct tcp_sock *sk = SOCK;                \
	struct host_state *h = host_of_socket(sk); \
	if (h)                                     \
	host_view(h, sk)
#define NOW(sk) ((sk)->tcp_clock_cache)

PROGRAM(init)
{
	struct tcp_sock *sk = SOCK;
	struct host_state *h;

	/* Of a former life of the connection with this control. */
	bpf_sk_storage_delete(&host_map, sk);
	h = bpf_sk_storage_get(&host_map, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!h)
		return 0;
	host_view(h, sk);
	h->rcv_nxt = sk->rcv_nxt;
	host_remember(h);
	CALL(init)(&h->state, &h->conn, NOW(sk));
	host_settle(h, sk);
	return 0;
}

PROGRAM(ssthresh)
{
	qw_u32 ssthresh;

	BEGIN(h, sk);
	if (!h)
		return sk->snd_cwnd > 4 ? sk->snd_cwnd / 2 : 2;
	ssthresh = CALL(ssthresh)(&h->state, &h->conn, NOW(sk));
	host_settle(h, sk);
	return ssthresh > 2 ? ssthresh : 2;
}

PROGRAM(undo_cwnd)
{
	qw_u32 cwnd;

	BEGIN(h, sk);
	if (!h)
		return sk->snd_cwnd > sk->prior_cwnd ? sk->snd_cwnd :
						       sk->prior_cwnd;
	cwnd = CALL(undo_cwnd)(&h->state, &h->conn);
	host_settle(h, sk);
	return host_window(cwnd);
}

#define IS_cong_avoid 1
#if WANTS
#define CONG_AVOID .cong_avoid = (void *)host_cong_avoid,
PROGRAM(cong_avoid)
{
	BEGIN(h, sk);
	if (!h)
		return 0;
	CALL(cong_avoid)(&h->state, &h->conn, (qw_u32)ctx[2], NOW(sk));
	host_settle(h, sk);
	return 0;
}
#else
#define CONG_AVOID
#endif
#undef IS_cong_avoid

#define IS_cong_control 1
#if WANTS
#define CONG_CONTROL .cong_control = (void *)host_cong_control,

/* What the ACK taught. */
static __attribute__((noinline)) int
host_learn(struct host_state *h, const struct rate_sample___host *rs)
{
	const struct qw_conn *c = &h->conn;
	struct qw_rate_sample *s = &h->sample;
	qw_u32 bits = host_coarseness(c);
	struct host_moment *m;

	s->prior_ns = rs->prior_mstamp * QW_NS_PER_US;
	s->interval_us = rs->interval_us;
	s->rtt_us = rs->rtt_us;
	s->prior_delivered = rs->prior_delivered;
	s->delivered = rs->delivered;
	s->losses = (qw_u32)rs->losses;
	s->acked_sacked = rs->acked_sacked;
	s->prior_in_flight = rs->prior_in_flight;
	s->is_app_limited = rs->is_app_limited;
	s->is_ack_delayed = rs->is_ack_delayed;
	s->is_tlp = h->tlp;
	h->tlp = 0;
	/* Linux 5.16 */
	s->delivered_ce = HAS(rs->delivered_ce) ? (qw_u32)rs->delivered_ce : 0;
	m = &h->moments[h->last & (MOMENTS - 1)];
	m->in_flight = rs->prior_in_flight;
	m = &h->moments[(rs->prior_delivered >> bits) & (MOMENTS - 1)];
	if (rs->prior_mstamp &&
	    m->delivered >> bits == rs->prior_delivered >> bits) {
		s->tx_in_flight = m->in_flight;
		s->lost = c->lost - m->lost;
	} else {
		s->tx_in_flight = rs->prior_in_flight;
		s->lost = s->losses;
	}
	host_remember(h);
	return 0;
}

PROGRAM(cong_control)
{
	const struct rate_sample___host *rs =
		(void *)ctx[QW_LINUX >= 610 ? 3 : 1];

	BEGIN(h, sk);
	if (!h)
		return 0;
	host_learn(h, rs);
	CALL(cong_control)(&h->state, &h->conn, &h->sample, NOW(sk),
			   bpf_get_prandom_u32());
	host_settle(h, sk);
	return 0;
}
#else
#define CONG_CONTROL
#endif
#undef IS_cong_control

#define IS_pkts_acked 1
#if WANTS
#define PKTS_ACKED .pkts_acked = (void *)host_pkts_acked,
PROGRAM(pkts_acked)
{
	const struct ack_sample___host *ack = (void *)ctx[1];
	qw_s32 rtt_us = ack->rtt_us;

	BEGIN(h, sk);
	if (!h)
		return 0;
	CALL(pkts_acked)(&h->state, &h->conn, ack->pkts_acked,
			 rtt_us > 0 ? (qw_u32)rtt_us : 0, NOW(sk));
	host_settle(h, sk);
	return 0;
}
#else
#define PKTS_ACKED
#endif
#undef IS_pkts_acked

#define IS_in_ack_event 1
#define IS_cong_control 1
#if WANTS
#define IN_ACK_EVENT .in_ack_event = (void *)host_in_ack_event,
#undef IS_cong_control
PROGRAM(in_ack_event)
{
	BEGIN(h, sk);
	if (!h)
		return 0;
	/* The kernel is about to see the same (tcp_process_tlp_ack). */
	h->tlp = sk->tlp_high_seq && BITS(sk, tlp_retrans) &&
		 qw_after(sk->snd_una, sk->tlp_high_seq);
#if WANTS
	CALL(in_ack_event)(&h->state, &h->conn, NOW(sk));
#endif
	return 0;
}
#else
#define IN_ACK_EVENT
#endif
#undef IS_cong_control
#undef IS_in_ack_event

#define IS_set_state 1
#if WANTS
#define SET_STATE .set_state = (void *)host_set_state,
PROGRAM(set_state)
{
	BEGIN(h, sk);
	if (!h)
		return 0;
	CALL(set_state)(&h->state, &h->conn, (qw_u8)ctx[1], NOW(sk));
	host_settle(h, sk);
	return 0;
}
#else
#define SET_STATE
#endif
#undef IS_set_state

#define IS_min_tso_segs 1
#if WANTS
#define MIN_TSO_SEGS .min_tso_segs = (void *)host_min_tso_segs,
PROGRAM(min_tso_segs)
{
	BEGIN(h, sk);
	return h ? CALL(min_tso_segs)(&h->state, &h->conn) : 2;
}
#else
#define MIN_TSO_SEGS
#endif
#undef IS_min_tso_segs

#define IS_sndbuf_expand 1
#if WANTS
#define SNDBUF_EXPAND .sndbuf_expand = (void *)host_sndbuf_expand,
PROGRAM(sndbuf_expand)
{
	BEGIN(h, sk);
	return h ? CALL(sndbuf_expand)(&h->state, &h->conn) : 2;
}
#else
#define SNDBUF_EXPAND
#endif
#undef IS_sndbuf_expand

#if FLAGS & QW_CCA_NEEDS_ECN
/* A receiver of classic ECN whose sender needs exact feedback (RFC 8257, section
 * 3.2): ECE is CE of the packets that the ACK is for, and one is sent at once
 * when that changes. */
static inline void host_echo(struct host_state *h, struct tcp_sock *tp,
			     qw_u8 ce)
{
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)tp;
	qw_u8 others = tp->ecn_flags & (qw_u8)~TCP_ECN_DEMAND_CWR;

	if (tp->ecn_flags & TCP_ECN_MODE_ACCECN)
		return;
	if (h->ce != ce) {
		/* First the one that is due for what came before. */
		if (icsk->icsk_ack.pending & ICSK_ACK_TIMER) {
			tp->ecn_flags = others |
					(h->ce ? TCP_ECN_DEMAND_CWR : 0);
			bpf_tcp_send_ack(tp, h->rcv_nxt);
		}
		icsk->icsk_ack.pending |= ICSK_ACK_NOW;
	}
	h->rcv_nxt = tp->rcv_nxt;
	h->ce = ce;
	tp->ecn_flags = others | (ce ? TCP_ECN_DEMAND_CWR : 0);
}
#define ECHOES 1
#else
#define ECHOES 0
#endif

#define IS_cwnd_event 1
#if WANTS
/* The kernel's number of an event, of those that a control may know. */
static inline void host_tell(struct host_state *h, struct tcp_sock *sk,
			     qw_u32 event)
{
	if (event == CA_EVENT_TX_START)
		event = QW_EVENT_TX_START;
	else if (event == CA_EVENT_COMPLETE_CWR)
		event = QW_EVENT_COMPLETE_CWR;
	else if (event == CA_EVENT_LOSS)
		event = QW_EVENT_LOSS;
	else
		return;
	host_view(h, sk);
	CALL(cwnd_event)(&h->state, &h->conn, event, NOW(sk));
	host_settle(h, sk);
}
#if QW_LINUX >= 701
#define TX_START .cwnd_event_tx_start = (void *)host_cwnd_event_tx_start,
PROGRAM(cwnd_event_tx_start)
{
	struct tcp_sock *sk = SOCK;
	struct host_state *h = host_of_socket(sk);

	if (h)
		host_tell(h, sk, CA_EVENT_TX_START);
	return 0;
}
#endif
#define TELL(h, sk, event) host_tell(h, sk, event)
#else
#define TELL(h, sk, event)
#endif
#ifndef TX_START
#define TX_START
#endif

#if WANTS || ECHOES
#define CWND_EVENT .cwnd_event = (void *)host_cwnd_event,
PROGRAM(cwnd_event)
{
	struct tcp_sock *sk = SOCK;
	struct host_state *h = host_of_socket(sk);
	qw_u32 event = (qw_u32)ctx[1];

	if (!h)
		return 0;
#if ECHOES
	if (event == CA_EVENT_ECN_NO_CE || event == CA_EVENT_ECN_IS_CE)
		host_echo(h, sk, event == CA_EVENT_ECN_IS_CE);
#endif
	TELL(h, sk, event);
	return 0;
}
#else
#define CWND_EVENT
#endif
#undef IS_cwnd_event

/* ECT(1) goes with AccECN, since Linux 7.0. */
#define IS_L4S ((FLAGS & QW_CCA_NEEDS_ECN) && (FLAGS & QW_CCA_ECT1))
#define ACCECN                                                        \
	(IS_L4S && QW_LINUX >= 700 ?                                  \
		 TCP_CONG_NEEDS_ACCECN | TCP_CONG_ECT_1_NEGOTIATION : \
		 0)

SEC(".struct_ops")
struct tcp_congestion_ops host_table = {
	.init = (void *)host_init,
	.ssthresh = (void *)host_ssthresh,
	.undo_cwnd = (void *)host_undo_cwnd,
	CONG_AVOID CONG_CONTROL PKTS_ACKED IN_ACK_EVENT SET_STATE MIN_TSO_SEGS
		SNDBUF_EXPAND CWND_EVENT TX_START.flags =
		(FLAGS & QW_CCA_NEEDS_ECN ? TCP_CONG_NEEDS_ECN : 0) | ACCECN,
	.name = QW_CONTROL,
};
