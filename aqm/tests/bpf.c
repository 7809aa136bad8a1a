/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Every call of every discipline as a BPF function, for check.sh to compile
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
	qw_u32 index; /* of a scheduler's queue */
};

#define INIT(x)                                                                \
	void bpf_##x##_init(struct qw_##x *s, const struct qw_##x##_params *p, \
			    qw_u64 now);                                       \
	void bpf_##x##_init(struct qw_##x *s, const struct qw_##x##_params *p, \
			    qw_u64 now)                                        \
	{                                                                      \
		qw_##x##_init(s, p, now);                                      \
	}
#define CALL(x, what, result, expression)                        \
	result bpf_##x##_##what(struct qw_##x *s,                \
				const struct qw_##x##_params *p, \
				struct call *c);                 \
	result bpf_##x##_##what(struct qw_##x *s,                \
				const struct qw_##x##_params *p, \
				struct call *c)                  \
	{                                                        \
		expression;                                      \
	}

#define DISCIPLINE(x, X)                                                  \
	INIT(x)                                                           \
	CALL(x, idle, void, qw_##x##_idle(s, p, c->now))                  \
	CALL(x, enqueue, qw_u32,                                          \
	     return qw_##x##_enqueue(s, p, c->now, &c->queue, &c->packet, \
				     c->random)                           \
		     .action)                                             \
	CALL(x, dequeue, qw_u32,                                          \
	     return qw_##x##_dequeue(s, p, c->now, &c->queue, &c->packet) \
		     .action)

#define SCHEDULER(x, X)                                                      \
	INIT(x)                                                              \
	CALL(x, idle, void, qw_##x##_idle(s, p, c->now))                     \
	CALL(x, enqueue, qw_u32,                                             \
	     return qw_##x##_enqueue(s, p, c->now, &c->queue, &c->packet,    \
				     c->random, &c->index)                   \
		     .action)                                                \
	CALL(x, dequeue, qw_u32,                                             \
	     return qw_##x##_dequeue(s, p, c->now, &c->queue, &c->packet,    \
				     c->index)                               \
		     .action)                                                \
	CALL(x, next, qw_u32, return qw_##x##_next(s, p, c->now, &c->queue)) \
	CALL(x, overflow, qw_u32,                                            \
	     return qw_##x##_overflow(s, p, c->now, &c->queue))              \
	CALL(x, evicted, void,                                               \
	     qw_##x##_evicted(s, p, c->now, &c->queue, &c->packet, c->index))

#define SHAPES(x, X) \
	CALL(x, ready, qw_u64, (void)c; return qw_##x##_ready(s, p))
#define WASHES(x, X) \
	CALL(x, washes, qw_u32, (void)s; (void)c; return qw_##x##_washes(p))

#define TIMED(x, X)                                      \
	CALL(x, tick, void, qw_##x##_tick(s, p, c->now)) \
	CALL(x, alarm, qw_u64, (void)c; return qw_##x##_alarm(s, p))

QW_DISCIPLINES(DISCIPLINE)
QW_SCHEDULERS(SCHEDULER)
QW_TIMED(TIMED)
QW_SHAPES(SHAPES)
QW_WASHES(WASHES)
