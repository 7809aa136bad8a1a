/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a discipline is told of one of the kernel's packets.
 */
#ifndef QW_BPF_PACKET_H
#define QW_BPF_PACKET_H

#include "kernel.h"
#include "qw.h"

#define ETH_P_IP 0x0800
#define ETH_P_ARP 0x0806
#define ETH_P_IPV6 0x86DD
#define ETH_P_8021Q 0x8100
#define ETH_P_8021AD 0x88A8

static __always_inline __u32 length_of(struct sk_buff *skb)
{
	return ((struct qdisc_skb_cb *)skb->cb)->pkt_len;
}

/* Bytes of Ethernet's, IPv4's and TCP's headers. */
#define LEAST_HEADERS 54u

/* The packets that one of the kernel's becomes on the link. */
static __always_inline __u32 segments_of(struct sk_buff *skb)
{
	const struct skb_shared_info *shared = bpf_rdonly_cast(
		skb->head + skb->end,
		bpf_core_type_id_kernel(struct skb_shared_info));
	__u32 segments = shared->gso_segs, size = shared->gso_size;

	/* Nobody has counted those of a virtual machine's packets. */
	if (!segments && size) {
		segments = length_of(skb) + size - 1;
		segments = segments > LEAST_HEADERS ? segments - LEAST_HEADERS :
						      1;
		segments /= size;
	}
	return segments ? segments : 1;
}

#ifdef QW_FURTHER
static __always_inline __u32 mixed_of(const struct in6_addr *a)
{
	__u32 hash = qw_mixed(a->in6_u.u6_addr32[0]);

	hash = qw_mixed(a->in6_u.u6_addr32[1] ^ hash);
	hash = qw_mixed(a->in6_u.u6_addr32[2] ^ hash);
	return qw_mixed(a->in6_u.u6_addr32[3] ^ hash);
}

/* What frames the IP packet, and how many there will be. */
static __always_inline void look_further(struct sk_buff *skb,
					 struct qw_packet *k)
{
	__u64 frame = (__u64)skb->head;

	frame += skb->network_header;
	frame -= (__u64)skb->data;
	/* What is left is no pointer, and may be cut. */
	barrier_var(frame);
	k->frame_bytes = (__u16)frame;
	k->segments = segments_of(skb);
	/* ARP, which Linux's cake takes for CS7. */
	if (__builtin_bswap16(skb->protocol) == ETH_P_ARP)
		k->dscp = 56;
}
#endif

/* ECN field and protocol. A VLAN's tag, in the packet or beside it, is before
 * what the kernel calls the network header. */
static __always_inline void look(struct sk_buff *skb, struct qw_packet *k)
{
	const unsigned char *header = skb->head + skb->network_header;
	__u16 protocol = __builtin_bswap16(skb->protocol);
	const struct iphdr *v4;
	const struct ipv6hdr *v6;
	__u8 first, second;

	k->ecn = QW_NOT_ECT;
	k->protocol = 0;
#ifdef QW_FURTHER
	look_further(skb, k);
#endif
	if (protocol != ETH_P_IP && protocol != ETH_P_IPV6 &&
	    protocol != ETH_P_8021Q && protocol != ETH_P_8021AD)
		return;
	/* Behind a second tag, or one that the device has put in front itself, it
	 * is the tag that the kernel calls so: before it is no IP's type. */
	if (protocol == ETH_P_8021Q || protocol == ETH_P_8021AD) {
		v4 = bpf_rdonly_cast(header - 2,
				     bpf_core_type_id_kernel(struct iphdr));
		protocol = (__u16)(*(const __u8 *)v4 << 8 | v4->tos);
		if (protocol != ETH_P_IP && protocol != ETH_P_IPV6)
			return;
	}
	/* Before the kernel's `tos` and `flow_lbl` lies the version's byte. */
	v4 = bpf_rdonly_cast(header, bpf_core_type_id_kernel(struct iphdr));
	v6 = bpf_rdonly_cast(header, bpf_core_type_id_kernel(struct ipv6hdr));
	first = *(const __u8 *)v4;
	if (first >> 4 == 4) {
		k->ecn = v4->tos & 3;
		k->protocol = v4->protocol;
#ifdef QW_FURTHER
		k->dscp = v4->tos >> 2;
		k->source = qw_mixed(v4->saddr);
		k->destination = qw_mixed(v4->daddr);
#endif
	} else if (first >> 4 == 6) {
		/* Traffic class: 4 bits in either byte (RFC 8200 section 3). */
		second = v6->flow_lbl[0];
		k->ecn = second >> 4 & 3;
		k->protocol = v6->nexthdr;
#ifdef QW_FURTHER
		k->dscp = (first & 15) << 2 | second >> 6;
		k->source = mixed_of(&v6->saddr);
		k->destination = mixed_of(&v6->daddr);
#endif
	}
}

/* Sets CE. Of a packet that somebody else looks at, too, the headers are his as
 * well, until it has some of its own. */
static __always_inline int set_ce(struct __sk_buff *skb)
{
	if (bpf_skb_ecn_set_ce(skb))
		return 1;
	return !bpf_skb_pull_data(skb, 0) && bpf_skb_ecn_set_ce(skb);
}

#endif /* QW_BPF_PACKET_H */
