/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For tests: a recorded sequence of calls of a discipline, made again inside
 * the kernel. The verdicts must be those of the recording, bit for bit. Compiled
 * with -DQW_NAME and -DQW_HEADER, and -DQW_ALARM, as qdisc.bpf.c is: ticks are
 * made before the calls that find them due.
 */
#include "kernel.h"

#define QW_FOR(i, n) bpf_for((i), 0, (n))
#include QW_HEADER

#define INIT 0u
#define ENQUEUE 1u
#define DEQUEUE 2u
#define IDLE 3u

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct operation {
	__u64 now;
	__u32 what; /* INIT, ... */
	__u32 random;
	struct qw_queue queue;
	struct qw_packet packet;
	struct qw_verdict verdict; /* filled in here */
};

MAP(params, 1, PARAMS);
MAP(state, 1, STATE);
MAP(operations, 1, struct operation);

const volatile __u32 count = 1;

#ifdef QW_ALARM
/* Ticks that were made, for the test to know that there were some. */
__u64 ticks;

/* As a timer would. */
static __always_inline void tick_until(STATE *s, const PARAMS *p, __u64 now)
{
	__u64 at;
	__u32 turn;

	bpf_for(turn, 0, 1000)
	{
		at = CALL(alarm)(s, p);
		if (at >= now)
			break;
		CALL(tick)(s, p, at);
		ticks++;
	}
}
#endif

SEC("syscall")
int replay(void *context)
{
	__u32 zero = 0, i;
	PARAMS *p;
	STATE *s;

	p = bpf_map_lookup_elem(&params, &zero);
	s = bpf_map_lookup_elem(&state, &zero);
	if (!p || !s)
		return 1;
	bpf_for(i, 0, count)
	{
		__u32 key = i;
		struct operation *o = bpf_map_lookup_elem(&operations, &key);

		if (!o)
			return 2;
#ifdef QW_ALARM
		if (o->what != INIT)
			tick_until(s, p, o->now);
#endif
		if (o->what == INIT)
			CALL(init)(s, p, o->now);
		else if (o->what == ENQUEUE)
			o->verdict = CALL(enqueue)(s, p, o->now, &o->queue,
						   &o->packet, o->random);
		else if (o->what == DEQUEUE)
			o->verdict = CALL(dequeue)(s, p, o->now, &o->queue,
						   &o->packet);
		else
			CALL(idle)(s, p, o->now);
	}
	return 0;
}
