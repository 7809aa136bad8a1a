// SPDX-License-Identifier: GPL-2.0-only
/*
 * The disciplines of Queuewright as qdiscs: qw_codel, qw_titrate, ... qdisc.c
 * is what each of them is made from. Beside them stands a function for BPF
 * qdiscs, which cannot set CE by themselves.
 */
#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/module.h>
#include <linux/version.h>
#include <net/inet_ecn.h>
#include <net/pkt_sched.h>

#include "all.h"

#define QW_ALL(X) QW_DISCIPLINES(X) QW_SCHEDULERS(X)

#define DECLARE(x, X) extern struct Qdisc_ops qw_##x##_qdisc_ops;
QW_ALL(DECLARE)

static struct Qdisc_ops *const qdiscs[] = {
#define OPS(x, X) &qw_##x##_qdisc_ops,
	QW_ALL(OPS)
};

/* BPF qdiscs, and with them the programs that call it, are of Linux 6.16. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
__bpf_kfunc_start_defs();

/* Sets CE (RFC 3168 section 5); 0: the packet is not ECN-capable. */
__bpf_kfunc int bpf_qw_skb_set_ce(struct sk_buff *skb)
{
	return INET_ECN_set_ce(skb);
}

__bpf_kfunc_end_defs();

/* Only packets that the caller holds: no pointer found by walking. Where the
 * kernel has no such flag it asks for them by itself. */
#ifndef KF_TRUSTED_ARGS
#define KF_TRUSTED_ARGS 0
#endif

BTF_KFUNCS_START(functions)
BTF_ID_FLAGS(func, bpf_qw_skb_set_ce, KF_TRUSTED_ARGS)
BTF_KFUNCS_END(functions)

static const struct btf_kfunc_id_set kfuncs = {
	.owner = THIS_MODULE,
	.set = &functions,
};

/* Fails where the module was built without BTF: BPF qdiscs then drop. */
static void offer_kfuncs(void)
{
	int error =
		register_btf_kfunc_id_set(BPF_PROG_TYPE_STRUCT_OPS, &kfuncs);

	if (error)
		pr_info("BPF qdiscs cannot mark by this module (%d)\n", error);
}
#else
static void offer_kfuncs(void)
{
}
#endif

static void unregister(size_t count)
{
	while (count--)
		unregister_qdisc(qdiscs[count]);
}

static int __init load(void)
{
	size_t i;
	int error;

	for (i = 0; i < ARRAY_SIZE(qdiscs); i++) {
		error = register_qdisc(qdiscs[i]);
		if (error) {
			unregister(i);
			return error;
		}
	}
	offer_kfuncs();
	return 0;
}

static void __exit unload(void)
{
	unregister(ARRAY_SIZE(qdiscs));
}

module_init(load);
module_exit(unload);
MODULE_DESCRIPTION("Disciplines of Queuewright as qdiscs");
MODULE_LICENSE("GPL");
MODULE_VERSION(QW_VERSION);
/* What the kernel asks for when tc names a qdisc: since Linux 6.9, and before. */
#define ALIAS(x, X)                     \
	MODULE_ALIAS("net-sch-qw_" #x); \
	MODULE_ALIAS("sch_qw_" #x);
QW_ALL(ALIAS)
