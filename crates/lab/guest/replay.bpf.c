// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A TCP connection over a device that this program's owner plays the far end of: each segment that comes, with the connection's
 * state before it is worked in, and each that leaves. The kernel's own trace events have the very times that TCP goes by.
 */
typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
enum { BPF_MAP_TYPE_ARRAY = 2 };
#define BPF_F_MMAPABLE (1u << 10)
#define __TARGET_ARCH_x86
#define PRESERVE __attribute__((preserve_access_index))
typedef _Bool bool;
struct net_device {
	int ifindex;
} PRESERVE;
struct sk_buff {
	__s64 tstamp;
	unsigned int len;
	struct net_device *dev;
	unsigned char *head, *data;
	__u16 transport_header, network_header;
} PRESERVE;
struct sk_buff_head {
	struct sk_buff *next, *prev;
} PRESERVE;
struct timer_list {
	unsigned long expires;
} PRESERVE;
typedef struct {
	int counter;
} PRESERVE atomic_t;
struct sock {
	struct {
		atomic_t rmem_alloc;
	} PRESERVE sk_backlog;
	int sk_rcvbuf;
	unsigned long sk_pacing_rate;
	int sk_sndbuf, sk_wmem_queued;
	struct timer_list tcp_retransmit_timer;
	struct sk_buff_head sk_write_queue;
} PRESERVE;
struct inet_sock {
	struct sock sk;
} PRESERVE;
struct inet_connection_sock {
	struct inet_sock icsk_inet;
	__u32 icsk_rto;
	__u8 icsk_ca_state : 5;
	__u8 icsk_retransmits, icsk_pending, icsk_backoff;
	struct {
		__u8 pending;
	} icsk_ack;
	__u64 icsk_ca_priv[13];
} PRESERVE;
struct tcp_options_received {
	__u8 num_sacks;
} PRESERVE;
struct minmax_sample {
	__u32 t, v;
} PRESERVE;
struct minmax {
	struct minmax_sample s[3];
} PRESERVE;
struct tcp_rack {
	__u64 mstamp;
	__u32 rtt_us, end_seq;
	__u8 reo_wnd_steps;
	__u8 reo_wnd_persist : 5, dsack_seen : 1;
} PRESERVE;
struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 reordering, snd_cwnd, prr_out, lost_out, sacked_out;
	__u8 is_cwnd_limited : 1;
	__u32 tlp_high_seq, rttvar_us, retrans_out, lost, snd_ssthresh;
	struct minmax rtt_min;
	__u32 delivered, delivered_ce;
	__u64 first_tx_mstamp, delivered_mstamp;
	__u32 write_seq, lsndtime, mdev_us, max_packets_out, cwnd_usage_seq;
	__u64 tcp_wstamp_ns, tcp_clock_cache;
	__u32 rcv_nxt, snd_nxt, snd_una, srtt_us, packets_out, app_limited,
		rcv_wnd, snd_wnd, dsack_dups;
	struct tcp_rack rack;
	__u8 tlp_retrans : 1;
	__u8 frto : 1;
	__u32 mdev_max_us, reord_seen, snd_cwnd_cnt, snd_cwnd_used,
		snd_cwnd_stamp, prior_cwnd, prr_delivered, prior_ssthresh,
		high_seq, retrans_stamp, undo_marker;
	int undo_retrans;
	__u32 total_retrans;
	__u32 copied_seq, rcv_wup, rcv_ssthresh, window_clamp;
	__u8 scaling_ratio, compressed_ack;
	struct tcp_options_received rx_opt;
	struct {
		__u32 rtt_us;
	} PRESERVE rcv_rtt_est;
	struct {
		int space;
	} PRESERVE rcvq_space;
} PRESERVE;
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#include "replay.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, EVENTS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct event);
} events SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, __u64);
} event_count SEC(".maps");

static __always_inline struct event *next(__u32 kind)
{
	__u32 zero = 0, at;
	__u64 *count = bpf_map_lookup_elem(&event_count, &zero);
	struct event *e;

	if (!count)
		return 0;
	at = *count % EVENTS;
	e = bpf_map_lookup_elem(&events, &at);
	if (!e)
		return 0;
	*count += 1;
	e->at_ns = bpf_ktime_get_ns();
	e->kind = kind;
	return e;
}

/* A copy: the verifier need not follow how it is reached. */
#define COPY(to, from) bpf_probe_read_kernel(&(to), sizeof(to), &(from))

static __always_inline void keep_reader(struct reader *r, struct tcp_sock *t)
{
	struct inet_connection_sock *c = &t->inet_conn;
	__u8 ack[16], byte;

	/* pending, quick, pingpong, retry; ato:8; lrcvtime; last_seg_size, rcv_mss */
	bpf_probe_read_kernel(ack, sizeof(ack), &c->icsk_ack);
	COPY(r->rcv_nxt, t->rcv_nxt);
	COPY(r->copied_seq, t->copied_seq);
	COPY(r->rcv_wup, t->rcv_wup);
	COPY(r->rcv_wnd, t->rcv_wnd);
	COPY(r->rcv_ssthresh, t->rcv_ssthresh);
	COPY(r->window_clamp, t->window_clamp);
	COPY(r->rtt_us, t->rcv_rtt_est.rtt_us);
	COPY(r->space, t->rcvq_space.space);
	COPY(byte, t->scaling_ratio);
	r->scaling_ratio = byte;
	COPY(r->rmem_alloc, c->icsk_inet.sk.sk_backlog.rmem_alloc);
	COPY(r->rcvbuf, c->icsk_inet.sk.sk_rcvbuf);
	r->quick = ack[1];
	r->pingpong = ack[2];
	r->ato = ack[4];
	r->rcv_mss = ack[14] | (unsigned int)ack[15] << 8;
	r->pending = ack[0];
	COPY(byte, t->compressed_ack);
	r->compressed_ack = byte;
	COPY(byte, t->rx_opt.num_sacks);
	r->num_sacks = byte;
	COPY(r->rto_jiffies, c->icsk_rto);
	COPY(r->srtt_us, t->srtt_us);
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(on_segment, struct sock *sk, struct sk_buff *skb)
{
	struct tcp_sock *t = (struct tcp_sock *)bpf_skc_to_tcp_sock(sk);
	struct inet_connection_sock *c;
	struct tcp_rack *rack;
	struct event *e;
	struct state *s;

	if (!t)
		return 0;
	e = next(EVENT_IN);
	if (!e)
		return 0;
	bpf_probe_read_kernel(e->header, HEADER, skb->data);
	e->stamp_ns = 0;
	e->length = skb->len - (e->header[12] >> 4) * 4;
	s = &e->state;
	c = &t->inet_conn;
	rack = &t->rack;
	/* Its offsets are from here on its own, not the connection's. */
	asm volatile("" : "+r"(rack));
	s->pacing_rate = c->icsk_inet.sk.sk_pacing_rate;
	s->clock_ns = t->tcp_clock_cache;
	s->wstamp_ns = t->tcp_wstamp_ns;
	s->rack_us = t->rack.mstamp;
	s->first_tx_us = t->first_tx_mstamp;
	s->delivered_us = t->delivered_mstamp;
	s->ca_state = BPF_CORE_READ_BITFIELD(c, icsk_ca_state);
	s->cwnd = t->snd_cwnd;
	s->ssthresh = t->snd_ssthresh;
	s->cwnd_cnt = t->snd_cwnd_cnt;
	s->prior_cwnd = t->prior_cwnd;
	s->packets_out = t->packets_out;
	s->sacked_out = t->sacked_out;
	s->lost_out = t->lost_out;
	s->retrans_out = t->retrans_out;
	s->snd_una = t->snd_una;
	s->snd_nxt = t->snd_nxt;
	s->write_seq = t->write_seq;
	s->high_seq = t->high_seq;
	s->srtt_us = t->srtt_us;
	s->mdev_us = t->mdev_us;
	s->mdev_max_us = t->mdev_max_us;
	s->rttvar_us = t->rttvar_us;
	s->rto_jiffies = c->icsk_rto;
	s->min_rtt_us = t->rtt_min.s[0].v;
	s->delivered = t->delivered;
	s->delivered_ce = t->delivered_ce;
	s->lost = t->lost;
	s->app_limited = t->app_limited;
	s->reordering = t->reordering;
	s->reord_seen = t->reord_seen;
	s->rack_rtt_us = t->rack.rtt_us;
	s->rack_end = t->rack.end_seq;
	s->rack_steps = t->rack.reo_wnd_steps;
	s->rack_persist = BPF_CORE_READ_BITFIELD(rack, reo_wnd_persist);
	s->rack_dsack = BPF_CORE_READ_BITFIELD(rack, dsack_seen);
	s->prr_delivered = t->prr_delivered;
	s->prr_out = t->prr_out;
	s->prior_ssthresh = t->prior_ssthresh;
	s->undo_marker = t->undo_marker;
	s->undo_retrans = t->undo_retrans;
	s->retrans_stamp = t->retrans_stamp;
	s->tlp_high_seq = t->tlp_high_seq;
	s->tlp_retrans = BPF_CORE_READ_BITFIELD(t, tlp_retrans);
	s->frto = BPF_CORE_READ_BITFIELD(t, frto);
	s->is_cwnd_limited = BPF_CORE_READ_BITFIELD(t, is_cwnd_limited);
	s->max_packets_out = t->max_packets_out;
	s->cwnd_usage_seq = t->cwnd_usage_seq;
	s->total_retrans = t->total_retrans;
	s->retransmits = c->icsk_retransmits;
	s->backoff = c->icsk_backoff;
	s->pending = c->icsk_pending;
	s->timeout = c->icsk_inet.sk.tcp_retransmit_timer.expires;
	s->sndbuf = c->icsk_inet.sk.sk_sndbuf;
	s->queued = c->icsk_inet.sk.sk_wmem_queued;
	s->cwnd_stamp = t->snd_cwnd_stamp;
	s->cwnd_used = t->snd_cwnd_used;
	s->head_length = c->icsk_inet.sk.sk_write_queue.next->len;
	s->snd_wnd = t->snd_wnd;
	s->rcv_nxt = t->rcv_nxt;
	s->tail_length = c->icsk_inet.sk.sk_write_queue.prev->len;
	s->dsack_dups = t->dsack_dups;
	bpf_probe_read_kernel(s->control, sizeof(s->control), c->icsk_ca_priv);
	bpf_probe_read_kernel(&e->ecn, 1, skb->head + skb->network_header + 1);
	e->ecn &= 3;
	keep_reader(&e->reader, t);
	return 0;
}

SEC("tp_btf/net_dev_start_xmit")
int BPF_PROG(on_sent, struct sk_buff *skb, struct net_device *dev)
{
	struct event *e;

	if (dev->ifindex != TUN_INDEX)
		return 0;
	e = next(EVENT_OUT);
	if (!e)
		return 0;
	bpf_probe_read_kernel(e->header, HEADER,
			      skb->head + skb->transport_header);
	bpf_probe_read_kernel(&e->ecn, 1, skb->head + skb->network_header + 1);
	e->ecn &= 3;
	e->stamp_ns = skb->tstamp;
	e->length = skb->len - 20 - (e->header[12] >> 4) * 4;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
