/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What comes in on a device goes to an intermediate functional block device
 * (IFB), whose qdisc is a discipline like any other's, and comes back behind
 * this hook from there. It is at the device's tcx ingress hook.
 */
#include "kernel.h"

/* Bytes of an Ethernet header. */
#define ETH_HLEN 14
/* Of linux/if.h. */
#define IFF_UP 1
/* NETDEV_HASHENTRIES of linux/netdevice.h: lists of devices. */
#define LISTS 256
/* Devices in one of them at most; those of a random number have it to themselves. */
#define LONGEST 64

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* What is written before it is loaded: the IFB's number, and the cookie of the
 * network namespace that it is of. */
const volatile struct {
	__u64 netns;
	__u32 ifb;
} settings;

/* Is the IFB there, and up? Where it is not, packets would be lost. */
static __always_inline int is_ready(const struct net *net)
{
	__u64 at = (__u64)net->dev_index_head +
		   (settings.ifb % LISTS) * sizeof(struct hlist_head);
	const struct hlist_head *list = bpf_rdonly_cast(
		(void *)at, bpf_core_type_id_kernel(struct hlist_head));
	__u64 node = (__u64)list->first;
	__u32 n;

	bpf_for(n, 0, LONGEST)
	{
		const struct net_device *dev;

		if (!node)
			break;
		dev = bpf_rdonly_cast(
			(void *)(node - bpf_core_field_offset(struct net_device,
							      index_hlist)),
			bpf_core_type_id_kernel(struct net_device));
		if (dev->ifindex == (int)settings.ifb)
			return dev->flags & IFF_UP;
		node = (__u64)dev->index_hlist.next;
	}
	return 0;
}

SEC("tcx/ingress")
int ingress(struct __sk_buff *skb)
{
	struct sk_buff *inner = bpf_cast_to_kern_ctx(skb);
	const struct net_device *dev = inner->dev;
	const struct net *net = dev->nd_net.net;

	/* The device has been moved, and has taken this program along. */
	if (net->net_cookie != settings.netns || !is_ready(net))
		return TCX_NEXT;
	/* What comes back from the IFB passes netfilter's hook by: a firewall
	 * there goes first. */
	if (bpf_core_field_exists(dev->nf_hooks_ingress) &&
	    dev->nf_hooks_ingress)
		return TCX_NEXT;
	/* An IFB takes Ethernet frames: on ppp0, tun0, ... packets have no header
	 * of a link, and get an empty one, which the IFB takes off again. */
	if (!inner->mac_len && bpf_skb_change_head(skb, ETH_HLEN, 0))
		return TCX_NEXT;
	return bpf_redirect(settings.ifb, 0);
}
