/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the trace programs, watch.c and play.c agree on. */
#ifndef QW_LAB_RING_H
#define QW_LAB_RING_H

/* Records of packets that wait to be taken: more than a 10 Gbit/s link sends between two looks. */
#define RING (1u << 18)
/* Index of the bottleneck's device: indices repeat between namespaces, so it has one that no other gets. */
#define DEVICE 7777
/* In a record's length: the packet did not leave, it was dropped. */
#define DROPPED 0x8000u
/* The same of one that left with CE. */
#define MARKED 0x4000u

/* Where a packet of play.c has its number: behind headers of IP and UDP. */
#define NUMBER_AT 28
/* And what it has for its identification in IP's. */
#define PLAYED 0x5157
/* What queue.bpf.c sees, as crates/lab/src/stream.rs has it. */
#define EVENT_ARRIVES 1
#define EVENT_ADMITTED 2
#define EVENT_LEAVES 3
#define EVENT_DROPPED 4
#define EVENT_RANDOM 5
#define EVENT_RANDOM_BYTES 6
#define EVENT_TICKS 7

#endif
