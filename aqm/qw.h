/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What every queue manager of Queuewright shares: the view a host gives of its
 * queue and of a packet, and the verdict a queue manager gives back.
 *
 * The headers in this folder are freestanding C11: integers only, no libc, no
 * allocation, no clock and no dice of their own. Time is u64 nanoseconds on any
 * monotonic clock, sizes are bytes, rates are bytes per second, probabilities
 * carry their scale in their name (`_q32`: 1 << 32 stands for 1).
 *
 * The contract of a host (simulator, BPF qdisc, kernel module):
 *  - for an arriving packet it calls X_enqueue() with the queue as it stands
 *    *before* the packet is added, and adds it unless the verdict is a drop;
 *  - to send, it takes the head packet off the queue and calls X_dequeue() with
 *    the queue as it stands *after* the packet left; on a drop it discards the
 *    packet and goes on with the next head; on an empty queue it calls
 *    X_idle() instead;
 *  - `now` never runs backwards between calls on one state;
 *  - timers are the queue manager's own affair: each call first catches up
 *    with every tick that is due by `now`, so results do not depend on who
 *    would have fired the timer.
 *
 * Every header has one shape, so that a host can treat them alike:
 *   struct qw_X_params    set once, before qw_X_init(), never written by qw_X
 *   struct qw_X           the state, of fixed size
 *   void qw_X_init(struct qw_X *, const struct qw_X_params *, qw_u64 now)
 *   struct qw_verdict qw_X_enqueue(struct qw_X *, const struct qw_X_params *,
 *		qw_u64 now, const struct qw_queue *, const struct qw_packet *,
 *		qw_u32 random)
 *   struct qw_verdict qw_X_dequeue(..., the same but for random)
 *   void qw_X_idle(struct qw_X *, const struct qw_X_params *, qw_u64 now)
 * `random` is a fresh uniform 32-bit number; where a header says that it does
 * not use it, a host may pass 0. A verdict of qw_X_enqueue() already accounts
 * for the limits of the buffer (QW_REASON_LIMIT).
 */
#ifndef QW_H
#define QW_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__KERNEL__)
#include <linux/math64.h>
#include <linux/types.h>
typedef u8 qw_u8;
typedef u16 qw_u16;
typedef u32 qw_u32;
typedef s32 qw_s32;
typedef u64 qw_u64;
typedef s64 qw_s64;
#else
typedef unsigned char qw_u8;
typedef unsigned short qw_u16;
typedef unsigned int qw_u32;
typedef signed int qw_s32;
typedef unsigned long long qw_u64;
typedef signed long long qw_s64;
#endif

#define QW_NS_PER_SEC 1000000000ULL
#define QW_NS_PER_MS 1000000ULL
#define QW_NS_PER_US 1000ULL

/* A full-sized IP packet, where a rule needs one to think in. */
#define QW_MTU 1500u

/* 64-bit division: a 32-bit kernel has no operator for it. */
static inline qw_u64 qw_div(qw_u64 a, qw_u64 b)
{
#if defined(__KERNEL__)
	return div64_u64(a, b);
#else
	return a / b;
#endif
}

/* A bounded loop. A BPF host may define it as bpf_for() before including: the
 * verifier walks a plain loop turn by turn, and gives up on long ones. */
#ifndef QW_FOR
#define QW_FOR(i, n) for ((i) = 0; (i) < (n); (i)++)
#endif

/* The queue as the host sees it. Both limits always hold; a limit of 0 means
 * "no such limit". The packet in transmission is not part of the queue. */
struct qw_queue {
	qw_u64 bytes; /* bytes waiting, as the link counts them */
	qw_u64 limit_bytes; /* bytes the buffer can hold, 0: no byte limit */
	qw_u32 packets; /* packets waiting */
	qw_u32 limit_packets; /* packets the buffer can hold, 0: no packet limit */
};

/* ECN field of the IP header (RFC 3168 section 5). */
#define QW_NOT_ECT 0u
#define QW_ECT1 1u
#define QW_ECT0 2u
#define QW_CE 3u

struct qw_packet {
	qw_u64 enqueue_ns; /* when the host enqueued it; at X_enqueue: now */
	qw_u32 bytes; /* length as the link counts it */
	qw_u32 flow; /* flow hash */
	qw_u32 ecn; /* QW_NOT_ECT .. QW_CE */
};

/* A verdict is an action in the low byte and its reason above it. */
#define QW_PASS 0u
#define QW_MARK 1u /* set CE and pass */
#define QW_DROP 2u

#define QW_REASON_NONE 0u
#define QW_REASON_LIMIT 1u /* the buffer (bytes or packets) is full */
#define QW_REASON_THRESHOLD 2u /* above a static or controlled threshold */
#define QW_REASON_SOJOURN 3u /* CoDel's control law */
#define QW_REASON_EARLY 4u /* a random early decision (PIE, RED, ...) */
#define QW_REASONS 5u

struct qw_verdict {
	qw_u32 action; /* QW_PASS, QW_MARK or QW_DROP */
	qw_u32 reason; /* QW_REASON_* */
};

static inline struct qw_verdict qw_pass(void)
{
	struct qw_verdict v = { QW_PASS, QW_REASON_NONE };
	return v;
}

static inline struct qw_verdict qw_drop(qw_u32 reason)
{
	struct qw_verdict v = { QW_DROP, reason };
	return v;
}

/* Mark if the packet's sender can be told by ECN, else drop. */
static inline struct qw_verdict qw_mark_or_drop(const struct qw_packet *p,
						int use_ecn, qw_u32 reason)
{
	struct qw_verdict v = { QW_DROP, reason };
	if (use_ecn && p->ecn != QW_NOT_ECT)
		v.action = QW_MARK;
	return v;
}

/* Would the packet overflow the buffer? Each limit is inclusive: a buffer of
 * 34 packets holds 34. */
static inline int qw_over_limit(const struct qw_queue *q,
				const struct qw_packet *p)
{
	return (q->limit_packets && q->packets >= q->limit_packets) ||
	       (q->limit_bytes && q->bytes + p->bytes > q->limit_bytes);
}

#ifdef __cplusplus
}
#endif

#endif /* QW_H */
