// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What happens at a qdisc, call by call, so that the same calls can be made of ours: each packet as it comes, the clock
 * and the random numbers that the kernel reads meanwhile, and each packet as it goes, or as its memory is freed undelivered.
 * Packets carry a number (play.c).
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
enum { BPF_MAP_TYPE_ARRAY = 2 };
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
	struct net_device *dev;
	unsigned char *head;
	__u16 network_header;
} PRESERVE;
struct timer_list {
	void (*function)(struct timer_list *timer);
} PRESERVE;
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "ring.h"

/* As struct packet in lab.h is as large. */
struct record {
	__u64 at_ns; /* what the qdisc read of the clock; of bytes, the first 8 */
	__u32 number;
	__u16 kind;
	__u16 tos; /* of a packet that comes the jiffies, of which there is room for 16 bits */
};

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

/* The last time that the kernel read. */
static __u64 clock;
/* A packet comes, and the clock has not been read since; where it is kept. */
static __u64 coming;
static __u32 coming_at;

static struct record *next(__u32 kind)
{
	__u32 zero = 0;
	__u64 *taken = bpf_map_lookup_elem(&count, &zero);
	__u32 at;
	struct record *r;

	if (!taken)
		return 0;
	/* At once: an interrupt may come and see the next event. */
	at = __sync_fetch_and_add(taken, 1) % RING;
	r = bpf_map_lookup_elem(&packets, &at);
	if (!r)
		return 0;
	r->at_ns = clock;
	r->number = 0;
	r->kind = kind;
	r->tos = 0;
	return r;
}

/* Is it one of play.c's? Then it is kept. */
static struct record *packet(__u32 kind, struct sk_buff *skb)
{
	unsigned char *ip = skb->head + skb->network_header;
	struct record *r;
	__u16 id = 0;
	__u8 tos = 0;

	bpf_probe_read_kernel(&id, 2, ip + 4);
	if (id != PLAYED)
		return 0;
	r = next(kind);
	if (!r)
		return 0;
	bpf_probe_read_kernel(&r->number, 4, ip + NUMBER_AT);
	bpf_probe_read_kernel(&tos, 1, ip + 1);
	r->tos = tos;
	return r;
}

/* Bits of the processor's count that say that it is in an interrupt or beyond: what that reads is none of the qdisc's, which it has
 * only interrupted. */
#define HARD_INTERRUPTS 0xff0000
extern const int __preempt_count __ksym __weak;

static int interrupted(void)
{
	const int *count =
		&__preempt_count ? bpf_this_cpu_ptr(&__preempt_count) : 0;

	return count && (*count & HARD_INTERRUPTS);
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(on_arrive, struct sk_buff *skb)
{
	__u32 zero = 0;
	__u64 *taken = bpf_map_lookup_elem(&count, &zero);
	struct record *r;

	if (!taken || skb->dev->ifindex != DEVICE)
		return 0;
	coming_at = *taken % RING;
	r = packet(EVENT_ARRIVES, skb);
	if (!r)
		return 0;
	r->tos = (__u16)bpf_jiffies64();
	coming = 1;
	return 0;
}

/* The end of an interrupt reads the clock as well, when its bits are gone already: of one that came while the idle processor
 * sent a packet. */
static int ending;

SEC("fentry/tick_nohz_irq_exit")
int BPF_PROG(on_ending)
{
	ending = 1;
	return 0;
}

SEC("fexit/tick_nohz_irq_exit")
int BPF_PROG(on_ended)
{
	ending = 0;
	return 0;
}

SEC("fexit/ktime_get")
int BPF_PROG(on_clock, __s64 now)
{
	__u32 at = coming_at;
	struct record *r;

	if (interrupted() || ending)
		return 0;
	clock = now;
	if (!coming)
		return 0;
	coming = 0;
	r = bpf_map_lookup_elem(&packets, &at);
	if (r && r->kind == EVENT_ARRIVES)
		r->at_ns = now;
	return 0;
}

static int drew(__u32 number)
{
	struct record *r = interrupted() ? 0 : next(EVENT_RANDOM);

	if (r)
		r->number = number;
	return 0;
}

SEC("fexit/get_random_u32")
int BPF_PROG(on_random, __u32 drawn)
{
	return drew(drawn);
}

SEC("fexit/get_random_u16")
int BPF_PROG(on_random_half, __u16 drawn)
{
	return drew(drawn);
}

SEC("fexit/get_random_bytes")
int BPF_PROG(on_random_bytes, void *to, unsigned long length)
{
	struct record *r =
		length == 8 && !interrupted() ? next(EVENT_RANDOM_BYTES) : 0;

	if (r)
		bpf_probe_read_kernel(&r->at_ns, 8, to);
	return 0;
}

/* Of sch_pie and sch_fq_pie, if these are loaded; they hold the qdisc's lock, so that nothing comes or goes meanwhile. */
extern const void pie_timer __ksym __weak;
extern const void fq_pie_timer __ksym __weak;

SEC("tp_btf/timer_expire_entry")
int BPF_PROG(on_timer, struct timer_list *timer, unsigned long jiffies)
{
	const void *fires = (const void *)timer->function;

	if (fires && (fires == &pie_timer || fires == &fq_pie_timer))
		next(EVENT_TICKS);
	return 0;
}

SEC("tp_btf/qdisc_enqueue")
int BPF_PROG(on_enqueue, struct Qdisc *q, const void *txq, struct sk_buff *skb)
{
	if (skb->dev->ifindex == DEVICE)
		packet(EVENT_ADMITTED, skb);
	return 0;
}

SEC("tp_btf/qdisc_dequeue")
int BPF_PROG(on_dequeue, struct Qdisc *q, const void *txq, int n,
	     struct sk_buff *skb)
{
	/* A device may take a few at once: they hang together. */
	for (int i = 0; i < 16 && i < n && skb; i++, skb = skb->next)
		if (skb->dev->ifindex == DEVICE)
			packet(EVENT_LEAVES, skb);
	return 0;
}

SEC("tp_btf/kfree_skb")
int BPF_PROG(on_drop, struct sk_buff *skb)
{
	if (skb->dev && skb->dev->ifindex == DEVICE)
		packet(EVENT_DROPPED, skb);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
