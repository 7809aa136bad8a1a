/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the qdisc and the program that attaches it tell each other through maps;
 * `Port` and `Stats` in src/maps.rs are the same. The discipline's
 * parameters and state are maps of their own, in its header's layout.
 */
#ifndef QW_BPF_SHARED_H
#define QW_BPF_SHARED_H

#include "qw.h"

/* What is fixed once the programs are loaded. */
struct qw_bpf_settings {
	qw_u32 instances; /* one a queue of the device, under mq */
	qw_u32 slots; /* of each: packets that it can hold */
	qw_u32 needs_random; /* the discipline reads its random number */
	qw_u32 needs_head; /* ... and when the head packet came */
	qw_u32 needs_flow; /* ... and the packet's flow */
	qw_u32 companion; /* is attached (marks.h) */
	qw_u32 acts_at_head; /* the discipline drops or marks at dequeue */
};

/* What an operator sets of the port; read at each call. */
struct qw_bpf_port {
	qw_u64 rate; /* of the qdisc's own shaper, bytes/s; 0: none */
	qw_u64 limit_bytes; /* 0: no such limit */
	qw_u32 limit_packets; /* never above the slots */
	qw_s32 overhead; /* bytes that the link adds to each packet */
	/* Counted up when the parameters have changed: those that may change
	 * while the discipline runs, and those for which it begins anew. */
	qw_u32 retunes;
	qw_u32 restarts;
};

/* Sojourn times of 2^i to 2^(i+1) ns are counted in slot i. */
#define QW_BPF_SOJOURNS 40u

struct qw_bpf_stats {
	qw_u64 arrived_packets, arrived_bytes;
	qw_u64 sent_packets, sent_bytes;
	qw_u64 drops[QW_REASONS]; /* by reason */
	qw_u64 marks[QW_REASONS]; /* by reason */
	qw_u64 purged; /* thrown away with the whole queue: the device went down, ... */
	qw_u64 ce_set; /* by the companion (marks.h) */
	qw_u64 no_slot; /* of the drops by limit: the slots were used up */
	qw_u64 unseen; /* of the packets sent, when they left is estimated (front.bpf.c) */
	qw_u64 asked; /* drops and marks of packets that had left already (front.bpf.c) */
	qw_u64 gso_packets; /* of those that came: several segments as one */
	qw_u64 sojourn_ns; /* of the last packet */
	qw_u64 sojourn_sum_ns; /* of what was sent */
	qw_u64 sojourns[QW_BPF_SOJOURNS];
	qw_u64 backlog_bytes;
	qw_u32 backlog_packets;
	qw_u32 marking; /* QW_BPF_MARKS_*: how CE is set */
};

/* One of the queues before which the programs stand (waiting.h). */
struct qw_bpf_queue {
	qw_u64 sent_packets, sent_bytes;
	qw_u64 dropped;
	qw_u64 sojourn_sum_ns; /* of what was sent */
	qw_u64 sojourn_ns; /* of the last packet */
	qw_u64 backlog_bytes;
	qw_u32 backlog_packets;
	qw_u32 share; /* its share, as the discipline has it; 0: it goes first */
	qw_u32 head, tail; /* of the list of its packets */
};

#define QW_BPF_MARKS_NONE 0u /* it cannot be: drops instead */
#define QW_BPF_MARKS_KFUNC 1u /* by the module's function */
#define QW_BPF_MARKS_COMPANION \
	2u /* by a program in front, on the next packet */
#define QW_BPF_MARKS_FRONT 3u /* by the classifier of htb (front.bpf.c) */

#endif /* QW_BPF_SHARED_H */
