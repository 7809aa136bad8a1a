/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What every congestion control in C shares: the connection as its host shows
 * it, and what an ACK says. One file is one congestion control ("control" below).
 * It runs unchanged in the simulator and, as BPF, in Linux (tcp_congestion_ops).
 *
 * The form is that of ../aqm: freestanding C11, integers only, no libc, no
 * allocation, no clock and no random numbers of its own. Time is u64 nanoseconds
 * on a monotonic clock, windows and counts are packets (full segments), sequence
 * numbers count segments and wrap (qw_after), rates are bytes per second.
 * Names and meaning of the fields are Linux's (struct tcp_sock, struct
 * rate_sample).
 *
 * The shape of a control X:
 *   struct qw_X            the state of one connection, zeroed before qw_X_init();
 *	QW_CCA_STATE bytes at most
 *   QW_X_CCA(E)            the events it handles, E(event) for each, from the list
 *	below. init, ssthresh and undo_cwnd are always there, and cong_avoid or
 *	cong_control
 *   QW_X_FLAGS             QW_CCA_* joined by |, or 0
 *   QW_X_ABOUT             one line: what it is
 *   QW_X_PROBES(V)         variables for display, V(integer made of s and c, what
 *	it is to be divided by); optional
 *   QW_X_PROBE_NAMES(N)    their names, N(name, unit)
 * and for each event a function:
 *   void qw_X_init(struct qw_X *s, struct qw_conn *c, qw_u64 now)
 *	the connection is established, its first round-trip time is in `c`
 *   qw_u32 qw_X_ssthresh(s, c, now)
 *	the slow-start threshold after a loss or an echoed mark; at least 2
 *   qw_u32 qw_X_undo_cwnd(s, c)
 *	the window to go back to after a spurious reduction: nothing was lost.
 *	qw_undo_cwnd(c) is Reno's
 *   void qw_X_cong_avoid(s, c, qw_u32 acked, now)
 *	`acked` packets were newly delivered, outside of CWR and recovery
 *   void qw_X_cong_control(s, c, const struct qw_rate_sample *rs, now,
 *		qw_u32 random)
 *	on every ACK: the control sets window and pacing rate itself, instead
 *	of PRR (RFC 9937) and cong_avoid
 *   void qw_X_pkts_acked(s, c, qw_u32 acked, qw_u32 rtt_us, now)
 *	on every ACK; rtt_us is 0 where it gave no sample
 *   void qw_X_in_ack_event(s, c, now)
 *	on every ACK, before losses are looked for; changes only `s`
 *   void qw_X_set_state(s, c, qw_u32 state, now)
 *	before c->ca_state becomes QW_CA_*
 *   void qw_X_cwnd_event(s, c, qw_u32 event, now)
 *	QW_EVENT_*
 *   qw_u32 qw_X_min_tso_segs(s, c)
 *	the least number of packets to send at once; without it 2
 *   qw_u32 qw_X_sndbuf_expand(s, c)
 *	how many windows the send buffer grows to hold; without it 2
 *   void qw_X_lost(s, c, const struct qw_lost *l, now)
 *	one packet was marked lost. Never called in Linux, which tells no control
 *	of single packets
 * `random` is a fresh uniform 32-bit number.
 *
 * A control may write cwnd (at least 1), cwnd_cnt, ssthresh, pacing_rate, pacing
 * and app_limited. What else it writes is put back. Without cong_control
 * pacing_rate is Linux's own (tcp_update_pacing_rate) after every ACK, whatever
 * was written to it; with cong_control nobody else sets it.
 */
#ifndef QW_CCA_H
#define QW_CCA_H

#include "qw.h"

/* Most bytes of a control's state. */
#define QW_CCA_STATE 1024

/* Flags. */
#define QW_CCA_NEEDS_ECN \
	1u /* its connections negotiate exact feedback of marks */
#define QW_CCA_ECT1 \
	2u /* with QW_CCA_NEEDS_ECN: sends ECT(1) (RFC 9331), else ECT(0) */
#define QW_CCA_STAMPS \
	4u /* reads tx_in_flight, lost and delivered_ce of rate samples, and what there is of lost packets beside their number, which are 0 without it */
#define QW_CCA_BURSTS \
	8u /* qw_X_min_tso_segs() is how many packets are sent at once, not the least of them; mainline Linux has the least */

/* Congestion states (enum tcp_ca_state). */
#define QW_CA_OPEN 0u
#define QW_CA_DISORDER 1u
#define QW_CA_CWR 2u
#define QW_CA_RECOVERY 3u
#define QW_CA_LOSS 4u

/* Events (enum tcp_ca_event). */
#define QW_EVENT_TX_START 0u /* sends with nothing in flight */
#define QW_EVENT_COMPLETE_CWR \
	1u /* CWR or recovery has ended; not with cong_control */
#define QW_EVENT_LOSS 2u /* retransmission timeout */

/* ssthresh of a connection that has not seen congestion. */
#define QW_INFINITE_SSTHRESH 0x7fffffffu
/* pacing_rate before one is known. */
#define QW_UNPACED 0xffffffffffffffffULL

/* Linux's coarse clock, CONFIG_HZ ticks a second; read by qw_jiffies(). */
struct qw_clock {
	qw_u64 parts; /* 2^(64 + shift) ticks a ns, rounded up */
	qw_u32 shift;
	qw_u32 hz; /* ticks a second */
	qw_u32 tick_ns;
	qw_u32 tick_us; /* 0: no whole number */
};

/* The connection. */
struct qw_conn {
	qw_u64 delivered_ns; /* when something was last delivered */
	qw_u64 pacing_rate; /* bytes a second; QW_UNPACED: not known yet */
	qw_u64 edt_ns; /* earliest time the pacer lets a packet go */
	qw_u64 last_send_ns; /* when data was last sent; 0: never */
	qw_u32 cwnd; /* congestion window */
	qw_u32 cwnd_cnt; /* part of its next step (snd_cwnd_cnt) */
	qw_u32 ssthresh;
	qw_u32 prior_cwnd; /* the window when the present reduction began */
	qw_u32 packets_out; /* sent and not cumulatively acknowledged */
	qw_u32 sacked_out; /* of those, selectively acknowledged */
	qw_u32 lost_out; /* of those, thought lost */
	qw_u32 retrans_out; /* of those, sent again and not acknowledged */
	qw_u32 max_packets_out; /* most of them in the last window */
	qw_u32 snd_una; /* first unacknowledged segment */
	qw_u32 snd_nxt; /* next segment to be sent for the first time */
	qw_u32 mss; /* bytes of payload in a full segment */
	qw_u32 srtt_us; /* smoothed round-trip time, microseconds * 8; 0: none yet */
	qw_u32 min_rtt_us; /* its minimum over 300 s; 0xffffffff: none yet */
	qw_u32 delivered; /* packets delivered so far, SACKed ones too */
	qw_u32 delivered_ce; /* of those, echoed as marked */
	qw_u32 lost; /* packets marked lost so far */
	qw_u32 app_limited; /* not 0: limited by the application until delivered passes it */
	qw_u8 is_cwnd_limited; /* the window held the sender back in the last round */
	qw_u8 pacing; /* the sender paces */
	qw_u8 ca_state; /* QW_CA_* */
	qw_u8 pad[5];
	struct qw_clock clock;
};

/* What an ACK says of the rate (struct rate_sample). "The packet" is the one of
 * the newly delivered ones that was sent last. */
struct qw_rate_sample {
	qw_u64 prior_ns; /* when the delivery happened that prior_delivered counts; 0: no sample */
	qw_s64 interval_us; /* length of the sample; < 0: no valid sample */
	qw_s64 rtt_us; /* round trip of the packet; < 0: unknown */
	qw_u32 prior_delivered; /* c->delivered when the packet was sent */
	qw_s32 delivered; /* packets delivered over the interval; < 0: no valid sample */
	qw_u32 losses; /* packets newly marked lost */
	qw_u32 acked_sacked; /* packets newly delivered */
	qw_u32 prior_in_flight; /* packets in flight before the ACK */
	/* The kernel does not have these two: as BPF the host estimates them. */
	qw_u32 tx_in_flight; /* packets in flight when the packet was sent, it included */
	qw_u32 lost; /* packets marked lost since the packet was sent */
	/* Linux 5.16 or newer has it. */
	qw_u32 delivered_ce; /* of `delivered`, echoed as marked */
	qw_u8 is_app_limited; /* the packet was sent while the application limited */
	qw_u8 is_ack_delayed; /* likely a delayed ACK of one packet that is not full; the simulator says it of none */
	qw_u8 is_tlp; /* the first ACK beyond a tail loss probe: that repaired a loss */
	qw_u8 pad[5];
};

/* A packet that was marked lost. */
struct qw_lost {
	qw_u32 packets; /* 1, or those of the buffer it is part of */
	qw_u32 tx_in_flight; /* packets in flight when it was sent, it included */
	qw_u32 lost; /* packets marked lost since it was sent, it included */
	qw_u32 is_app_limited;
};

/* Does sequence number, count or tick `a` come after `b`? */
static inline int qw_after(qw_u32 a, qw_u32 b)
{
	return (qw_s32)(b - a) < 0;
}

/* The coarse clock at `now` (tcp_jiffies32). */
#ifndef QW_JIFFIES
static inline qw_u32 qw_jiffies(const struct qw_conn *c, qw_u64 now)
{
	return (qw_u32)((qw_u64)(((unsigned __int128)now * c->clock.parts) >>
				 64) >>
			c->clock.shift);
}
#else
#define qw_jiffies(c, now) ((void)(c), (void)(now), (QW_JIFFIES))
#endif

/* Packets in the network, by the sender's reckoning (tcp_packets_in_flight). */
static inline qw_u32 qw_in_flight(const struct qw_conn *c)
{
	return c->packets_out - c->sacked_out - c->lost_out + c->retrans_out;
}

/* tcp_in_slow_start */
static inline int qw_in_slow_start(const struct qw_conn *c)
{
	return c->cwnd < c->ssthresh;
}

/* May the window grow (tcp_is_cwnd_limited)? */
static inline int qw_cwnd_limited(const struct qw_conn *c)
{
	return c->is_cwnd_limited ||
	       (qw_in_slow_start(c) && c->cwnd < 2 * c->max_packets_out);
}

/* Slow start, up to ssthresh (tcp_slow_start): what is left of `acked`. */
static inline qw_u32 qw_slow_start(struct qw_conn *c, qw_u32 acked)
{
	qw_u32 cwnd = c->cwnd + acked;

	if (cwnd > c->ssthresh)
		cwnd = c->ssthresh;
	acked -= cwnd - c->cwnd;
	c->cwnd = cwnd;
	return acked;
}

/* One packet more for every `w` that are acknowledged (tcp_cong_avoid_ai). */
static inline void qw_cong_avoid_ai(struct qw_conn *c, qw_u32 w, qw_u32 acked)
{
	if (c->cwnd_cnt >= w) {
		c->cwnd_cnt = 0;
		c->cwnd++;
	}
	c->cwnd_cnt += acked;
	if (c->cwnd_cnt >= w) {
		qw_u32 delta = c->cwnd_cnt / w;

		c->cwnd_cnt -= delta * w;
		c->cwnd += delta;
	}
}

/* tcp_reno_undo_cwnd */
static inline qw_u32 qw_undo_cwnd(const struct qw_conn *c)
{
	return c->cwnd > c->prior_cwnd ? c->cwnd : c->prior_cwnd;
}

#endif /* QW_CCA_H */
