/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Every call of every queue manager as a BPF function, for check.sh to compile
 * and look at: clang refuses what the target cannot do, and an undefined
 * symbol in the object is a call to a helper that does not exist there.
 */
#include "all.h"

/* What a program would keep in maps. */
struct call {
	qw_u64 now;
	struct qw_queue queue;
	struct qw_packet packet;
	qw_u32 random;
};

#define FUNCTIONS(X)                                                           \
	void bpf_##X##_init(struct qw_##X *s, const struct qw_##X##_params *p, \
			    qw_u64 now);                                       \
	void bpf_##X##_init(struct qw_##X *s, const struct qw_##X##_params *p, \
			    qw_u64 now)                                        \
	{                                                                      \
		qw_##X##_init(s, p, now);                                      \
	}                                                                      \
	qw_u32 bpf_##X##_enqueue(struct qw_##X *s,                             \
				 const struct qw_##X##_params *p,              \
				 const struct call *c);                        \
	qw_u32 bpf_##X##_enqueue(struct qw_##X *s,                             \
				 const struct qw_##X##_params *p,              \
				 const struct call *c)                         \
	{                                                                      \
		return qw_##X##_enqueue(s, p, c->now, &c->queue, &c->packet,   \
					c->random)                             \
			.action;                                               \
	}                                                                      \
	qw_u32 bpf_##X##_dequeue(struct qw_##X *s,                             \
				 const struct qw_##X##_params *p,              \
				 const struct call *c);                        \
	qw_u32 bpf_##X##_dequeue(struct qw_##X *s,                             \
				 const struct qw_##X##_params *p,              \
				 const struct call *c)                         \
	{                                                                      \
		return qw_##X##_dequeue(s, p, c->now, &c->queue, &c->packet)   \
			.action;                                               \
	}                                                                      \
	void bpf_##X##_idle(struct qw_##X *s, const struct qw_##X##_params *p, \
			    qw_u64 now);                                       \
	void bpf_##X##_idle(struct qw_##X *s, const struct qw_##X##_params *p, \
			    qw_u64 now)                                        \
	{                                                                      \
		qw_##X##_idle(s, p, now);                                      \
	}

QW_DISCIPLINES(FUNCTIONS)
