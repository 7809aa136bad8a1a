// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * How long each packet waited at the bottleneck, the same way for every qdisc: from the kernel's own trace events, as it comes to
 * the root and as it leaves. (`qdisc_enqueue` would not do: it keeps silent where a qdisc lets a packet in and another of the same
 * flow go.) What is dropped is seen when its memory is freed.
 */
typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
enum { BPF_MAP_TYPE_ARRAY = 2, BPF_MAP_TYPE_LRU_HASH = 9 };
#define BPF_F_MMAPABLE (1u << 10)
#define __TARGET_ARCH_x86
#define PRESERVE __attribute__((preserve_access_index))
struct net_device {
	int ifindex;
} PRESERVE;
struct Qdisc {
	__u32 limit;
} PRESERVE;
struct sk_buff {
	struct sk_buff *next;
	unsigned int len;
	struct net_device *dev;
	unsigned char *head;
	__u16 transport_header;
	__u16 network_header;
} PRESERVE;
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "ring.h"

/* As struct packet in lab.h. */
struct record {
	__u64 dequeue_ns;
	__u32 sojourn_ns;
	__u16 port, bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, __u64);
} born SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RING);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct record);
} packets SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, __u64);
} count SEC(".maps");

/* The next record. It is taken at once: an interrupt may come and want one, too. */
static struct record *next(__u64 *taken)
{
	__u32 at = __sync_fetch_and_add(taken, 1) % RING;

	return bpf_map_lookup_elem(&packets, &at);
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(on_enqueue, struct sk_buff *skb)
{
	__u64 key = (__u64)skb, now = bpf_ktime_get_ns();

	if (skb->dev->ifindex == DEVICE)
		bpf_map_update_elem(&born, &key, &now, 0);
	return 0;
}

SEC("tp_btf/qdisc_dequeue")
int BPF_PROG(on_dequeue, struct Qdisc *q, const void *txq, int n,
	     struct sk_buff *skb)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 zero = 0;
	__u64 *taken = bpf_map_lookup_elem(&count, &zero);

	if (!skb || !taken || skb->dev->ifindex != DEVICE)
		return 0;
	/* A device may take a few at once: they hang together. */
	for (int i = 0; i < 16 && i < n && skb; i++, skb = skb->next) {
		__u64 key = (__u64)skb;
		__u64 *since = bpf_map_lookup_elem(&born, &key);
		struct record *r = since ? next(taken) : 0;
		__u16 port = 0;
		__u8 tos = 0;

		if (!since || !r)
			continue;
		bpf_probe_read_kernel(&port, 2,
				      skb->head + skb->transport_header);
		bpf_probe_read_kernel(&tos, 1,
				      skb->head + skb->network_header + 1);
		r->dequeue_ns = now;
		r->sojourn_ns = now - *since;
		r->port = port >> 8 | port << 8;
		r->bytes = skb->len | ((tos & 3) == 3 ? MARKED : 0);
	}
	return 0;
}

SEC("tp_btf/kfree_skb")
int BPF_PROG(on_drop, struct sk_buff *skb)
{
	__u32 zero = 0;
	__u64 *taken = bpf_map_lookup_elem(&count, &zero);
	struct record *r;
	__u16 port = 0;

	if (!taken || !skb->dev || skb->dev->ifindex != DEVICE)
		return 0;
	r = next(taken);
	if (!r)
		return 0;
	bpf_probe_read_kernel(&port, 2, skb->head + skb->transport_header);
	r->dequeue_ns = bpf_ktime_get_ns();
	r->sojourn_ns = 0;
	r->port = port >> 8 | port << 8;
	r->bytes = skb->len | DROPPED;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
