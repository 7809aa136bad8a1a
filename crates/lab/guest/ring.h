/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What trace.bpf.c and watch.c agree on. */
#ifndef QW_LAB_RING_H
#define QW_LAB_RING_H

/* Records of packets that wait to be taken: more than a 10 Gbit/s link sends between two looks. */
#define RING (1u << 18)
/* Index of the bottleneck's device: indices repeat between namespaces, so it has one that no other gets. */
#define DEVICE 7777
/* In a record's length: the packet did not leave, it was dropped. */
#define DROPPED 0x8000u

#endif
