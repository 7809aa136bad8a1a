/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the programs touch of the kernel, by name: the loader moves each access
 * to where the running kernel has the field (CO-RE), so that no more than the
 * fields in use need be here, in any order.
 */
#ifndef QW_BPF_KERNEL_H
#define QW_BPF_KERNEL_H

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
#define bool _Bool

enum { BPF_MAP_TYPE_HASH = 1, BPF_MAP_TYPE_ARRAY = 2 };
#define BPF_F_MMAPABLE (1u << 10)
#define BPF_NOEXIST 1
#define TCX_NEXT (-1)

/* A packet as programs at tc's hooks see it. The kernel's promise to programs
 * (linux/bpf.h), so that the layout is fixed. */
struct __sk_buff {
	__u32 len;
	__u32 not_used_1[11];
	__u32 cb[5]; /* the qdisc's own, of the packet */
	__u32 hash;
	__u32 tc_classid;
	__u32 not_used_2[21];
	__u32 wire_len; /* with the headers of every segment to come */
	__u32 gso_segs;
};

/* A loop of the kernel's own (bpf_for); its inside is not ours to see. */
struct bpf_iter_num {
	__u64 opaque[1];
} __attribute__((aligned(8)));

#define KERNEL_TYPE __attribute__((preserve_access_index))

struct net_device;

struct sk_buff {
	struct sk_buff *next; /* of several that leave a qdisc at once */
	struct net_device *dev;
	__u32 hash; /* of the flow, once somebody has asked */
	__be16 protocol;
	__u16 network_header;
	__u16 mac_len; /* of a packet that comes in: of what is before that */
	unsigned char *head, *data;
	unsigned int end; /* from head on: of 64-bit machines */
	char cb[48];
} KERNEL_TYPE;

/* Behind a packet's bytes. */
struct skb_shared_info {
	unsigned short gso_size; /* payload of each segment; 0: it is one */
	unsigned short gso_segs; /* 0: nobody has counted them */
} KERNEL_TYPE;

struct qdisc_skb_cb {
	unsigned int pkt_len; /* with the headers of every segment to come */
	unsigned char data[20]; /* the qdisc's own */
} KERNEL_TYPE;

struct iphdr {
	__u8 tos;
	__u8 protocol;
	__be32 saddr, daddr;
} KERNEL_TYPE;

struct in6_addr {
	union {
		__be32 u6_addr32[4];
	} in6_u;
} KERNEL_TYPE;

struct ipv6hdr {
	__u8 flow_lbl[3];
	__u8 nexthdr;
	struct in6_addr saddr, daddr;
} KERNEL_TYPE;

struct gnet_stats_queue {
	__u32 qlen;
	__u32 backlog;
	__u32 drops;
	__u32 requeues;
	__u32 overlimits;
} KERNEL_TYPE;

struct qdisc_skb_head {
	__u32 qlen;
} KERNEL_TYPE;

typedef struct {
	__u64 v;
} u64_stats_t;

struct gnet_stats_basic_sync {
	u64_stats_t bytes;
} KERNEL_TYPE;

struct Qdisc {
	struct gnet_stats_basic_sync bstats;
	__u32 limit;
	struct qdisc_skb_head q;
	struct gnet_stats_queue qstats;
} KERNEL_TYPE;

struct hlist_node {
	struct hlist_node *next;
} KERNEL_TYPE;

struct hlist_head {
	struct hlist_node *first;
} KERNEL_TYPE;

struct net {
	__u64 net_cookie;
	struct hlist_head *dev_index_head; /* devices by their number */
} KERNEL_TYPE;

typedef struct {
	struct net *net;
} KERNEL_TYPE possible_net_t;

struct net_device {
	struct Qdisc *qdisc; /* its root */
	void *nf_hooks_ingress; /* what netfilter has look at what comes in */
	possible_net_t nd_net;
	struct hlist_node index_hlist;
	int ifindex;
	unsigned int flags; /* IFF_UP, ... */
} KERNEL_TYPE;

struct nlattr;
struct netlink_ext_ack;
/* A list of packets to be freed. */
struct bpf_sk_buff_ptr {
	struct sk_buff *skb;
};

/* A qdisc's table of functions; the members in use. */
struct Qdisc_ops {
	int (*enqueue)(struct sk_buff *skb, struct Qdisc *sch,
		       struct sk_buff **to_free);
	struct sk_buff *(*dequeue)(struct Qdisc *sch);
	int (*init)(struct Qdisc *sch, struct nlattr *arg,
		    struct netlink_ext_ack *extack);
	void (*reset)(struct Qdisc *sch);
	void (*destroy)(struct Qdisc *sch);
	char id[16];
};

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

extern __u32 bpf_skb_get_hash(struct sk_buff *p) __ksym;
extern void bpf_kfree_skb(struct sk_buff *p) __ksym;
extern void bpf_qdisc_skb_drop(struct sk_buff *p,
			       struct bpf_sk_buff_ptr *to_free) __ksym;
extern void bpf_qdisc_watchdog_schedule(struct Qdisc *sch, __u64 expire,
					__u64 delta_ns) __ksym;
extern void bpf_qdisc_bstats_update(struct Qdisc *sch,
				    const struct sk_buff *skb) __ksym;
extern void *bpf_cast_to_kern_ctx(void *ctx) __ksym;
extern void *bpf_rdonly_cast(const void *obj, __u32 btf_id) __ksym;

/* Sets CE. No kernel has it: a small module of ours may bring it. */
extern int bpf_qw_skb_set_ce(struct sk_buff *skb) __ksym __weak;

/* What the discipline's header, named by QW_NAME, calls its things. */
#define JOIN(a, b, c) a##b##c
#define NAMED(a, b, c) JOIN(a, b, c)
#define PARAMS struct NAMED(qw_, QW_NAME, _params)
#define STATE struct NAMED(qw_, QW_NAME, )
#define CALL(what) NAMED(qw_, QW_NAME, _##what)

#define MAP(name, entries, of)                    \
	struct {                                  \
		__uint(type, BPF_MAP_TYPE_ARRAY); \
		__uint(max_entries, entries);     \
		__type(key, __u32);               \
		__type(value, of);                \
	} name SEC(".maps")

#endif /* QW_BPF_KERNEL_H */
