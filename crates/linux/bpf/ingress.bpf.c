/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What comes in on a device goes to an intermediate functional block device
 * (IFB), whose qdisc is a discipline like any other's, and comes back behind
 * this hook from there. It is at the device's tcx ingress hook.
 */
#include "kernel.h"

#define ENODEV 19
/* Bytes of an Ethernet header. */
#define ETH_HLEN 14

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* The IFB's number. */
const volatile __u32 ifb;

SEC("tcx/ingress")
int ingress(struct __sk_buff *skb)
{
	struct sk_buff *inner = bpf_cast_to_kern_ctx(skb);
	__u32 mtu = 0;

	/* Somebody has deleted it: packets pass by rather than get lost. */
	if (bpf_check_mtu(skb, ifb, &mtu, 0, 0) == -ENODEV)
		return TCX_NEXT;
	/* An IFB takes Ethernet frames: on ppp0, tun0, ... packets have no header
	 * of a link, and get an empty one, which the IFB takes off again. */
	if (!inner->mac_len && bpf_skb_change_head(skb, ETH_HLEN, 0))
		return TCX_NEXT;
	return bpf_redirect(ifb, 0);
}
