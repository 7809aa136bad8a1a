/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What replay.bpf.c, replay.c, receive.c, crates/lab/src/replay/record.rs and reception.rs agree on. */
#ifndef QW_LAB_REPLAY_H
#define QW_LAB_REPLAY_H

/* Events that wait to be taken: more than one acknowledgement lets out. */
#define EVENTS (1u << 12)
/* Index of the device that the program plays the far end of. */
#define TUN_INDEX 7778
#define HEADER 60
#define CONTROL 13

enum kind {
	EVENT_IN =
		1, /* a segment is about to be worked in by TCP; with the state before it */
	EVENT_OUT = 2, /* a segment, or several as one, has been sent */
	EVENT_WRITE = 3, /* the application writes */
	EVENT_READ = 4, /* the application has read: so many bytes */
	EVENT_PLAN =
		5, /* it has so many segments more to write; 0: without end */
};

/* A connection as the kernel keeps it; times of the kernel's own. */
struct state {
	unsigned long long pacing_rate, clock_ns, wstamp_ns, rack_us;
	unsigned long long first_tx_us, delivered_us;
	unsigned int ca_state, cwnd, ssthresh, cwnd_cnt, prior_cwnd;
	unsigned int packets_out, sacked_out, lost_out, retrans_out;
	unsigned int snd_una, snd_nxt, write_seq, high_seq;
	unsigned int srtt_us, mdev_us, mdev_max_us, rttvar_us, rto_jiffies,
		min_rtt_us;
	unsigned int delivered, delivered_ce, lost, app_limited;
	unsigned int reordering, reord_seen, rack_rtt_us, rack_end, rack_steps,
		rack_persist, rack_dsack;
	unsigned int prr_delivered, prr_out, prior_ssthresh, undo_marker;
	int undo_retrans;
	unsigned int retrans_stamp, tlp_high_seq, tlp_retrans, frto;
	unsigned int is_cwnd_limited, max_packets_out, cwnd_usage_seq;
	unsigned int total_retrans, retransmits, backoff, pending, timeout;
	unsigned int sndbuf, queued, cwnd_stamp, cwnd_used;
	unsigned int head_length; /* of what is to be sent next */
	unsigned int snd_wnd, rcv_nxt;
	unsigned int tail_length; /* of what was written last */
	unsigned int dsack_dups;
	unsigned long long control[CONTROL];
};

/* The receiving half of a connection. */
struct reader {
	unsigned int rcv_nxt, copied_seq, rcv_wup, rcv_wnd;
	unsigned int rcv_ssthresh, window_clamp, rtt_us, space;
	unsigned int scaling_ratio, rmem_alloc, rcvbuf;
	unsigned int quick, pingpong, ato, rcv_mss, pending;
	unsigned int compressed_ack, num_sacks, rto_jiffies, srtt_us;
};

struct event {
	unsigned long long at_ns; /* CLOCK_MONOTONIC */
	unsigned long long stamp_ns; /* OUT: when TCP says that it is sent */
	unsigned int kind;
	unsigned int length; /* payload */
	unsigned char header[HEADER]; /* of TCP */
	unsigned char ecn; /* of IP, its two bits */
	unsigned char pad[3];
	struct state state;
	struct reader reader;
};

#endif
