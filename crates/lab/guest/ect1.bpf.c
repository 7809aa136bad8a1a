// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What leaves a host of a congestion control that wants ECT(1) says so. Linux 7.2
 * negotiates for such a control (TCP_CONG_ECT_1_NEGOTIATION) and then sends
 * ECT(0) all the same.
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
#define TCX_NEXT (-1)
struct bpf_sock;
/* The kernel's promise to programs (linux/bpf.h): the layout is fixed. */
struct __sk_buff {
	__u32 not_used_1[4];
	__u32 protocol;
	__u32 not_used_2[37];
	struct bpf_sock *sk;
};
#include <bpf/bpf_helpers.h>

/* include/net/tcp.h */
#define TCP_CONG_ECT_1_NEGOTIATION 8
#define ETH_P_IP 0x0800
/* Of an Ethernet frame: the IPv4 header's second byte and its checksum. */
#define TOS (14 + 1)
#define CHECK (14 + 10)
#define ECN_MASK 3
#define ECT_1 1
#define ECT_0 2

struct tcp_congestion_ops {
	__u32 flags;
} __attribute__((preserve_access_index));

struct inet_connection_sock {
	const struct tcp_congestion_ops *icsk_ca_ops;
} __attribute__((preserve_access_index));

SEC("tcx/egress")
int ect1(struct __sk_buff *skb)
{
	struct bpf_sock *sk = skb->sk;
	struct inet_connection_sock *icsk;
	__u8 tos, with;

	if (!sk || skb->protocol != __builtin_bswap16(ETH_P_IP))
		return TCX_NEXT;
	sk = bpf_sk_fullsock(sk);
	if (!sk)
		return TCX_NEXT;
	icsk = (void *)bpf_skc_to_tcp_sock(sk);
	if (!icsk || !(icsk->icsk_ca_ops->flags & TCP_CONG_ECT_1_NEGOTIATION))
		return TCX_NEXT;
	if (bpf_skb_load_bytes(skb, TOS, &tos, 1) || (tos & ECN_MASK) != ECT_0)
		return TCX_NEXT;
	with = (tos & ~ECN_MASK) | ECT_1;
	/* The byte is the second of its 16 bits. */
	bpf_l3_csum_replace(skb, CHECK, __builtin_bswap16(tos),
			    __builtin_bswap16(with), 2);
	bpf_skb_store_bytes(skb, TOS, &with, 1, 0);
	return TCX_NEXT;
}

char _license[] SEC("license") = "Dual BSD/GPL";
