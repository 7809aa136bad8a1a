/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What every discipline of Queuewright shares: the view a host gives of its
 * queue and of a packet, and the verdict a discipline gives back.
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
 *    the queue as it stands *after* the packet left. On a drop it discards the
 *    packet and goes on with the next head. On an empty queue it calls X_idle()
 *    instead;
 *  - `now` never runs backwards between calls on one state;
 *  - timers are the discipline's own affair: each call first catches up with
 *    every tick that is due by `now`. So results do not depend on who would
 *    have fired the timer.
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
 *   QW_X_PARAMS(P)        its parameters, P(name, field, shift, least, most):
 *	name in the registry, field of qw_X_params, and the field's range. A real
 *	number reaches the field as Q32 >> shift, anything else as it is (shift 0).
 *   QW_X_PROBES(V)        variables for display, V(integer made of s and p, what
 *	it is to be divided by)
 * `random` is a fresh uniform 32-bit number; where a header says that it does
 * not use it, a host may pass 0. A verdict of qw_X_enqueue() already accounts
 * for the limits of the buffer (QW_REASON_LIMIT).
 *
 * A scheduler (QW_SCHEDULERS in all.h) has several queues. The host holds
 * QW_X_QUEUES first-in-first-out queues, the scheduler says which one a packet
 * joins and which one is served, and counts what waits in each. Its functions:
 *   struct qw_verdict qw_X_enqueue(..., qw_u32 random, qw_u32 *queue)
 *	the packet joins `*queue`, or is dropped by it; set in any case
 *   qw_u32 qw_X_overflow(s, p, now, q)
 *	asked after each qw_X_enqueue() that passed, and again until it says
 *	QW_NONE: the queue whose head packet (with QW_TAIL: whose last) the host is
 *	to discard. The buffer may thus hold one packet too many for a moment
 *   void qw_X_evicted(s, p, now, q, k, queue)
 *	that packet is off the queue
 *   qw_u32 qw_X_next(s, p, now, q)
 *	the queue to serve, not empty; asked only while packets wait
 *   struct qw_verdict qw_X_dequeue(s, p, now, q, k, queue)
 *	the head of `queue` was taken off; after a drop the host asks
 *	qw_X_next() again, or calls qw_X_idle() if nothing waits any more
 *   void qw_X_idle(s, p, now)
 * `q` is the whole buffer in these calls; its head_ns is that of `queue` in
 * qw_X_dequeue() and qw_X_evicted(), and 0 elsewhere.
 *
 * A scheduler that serves some queues before all others and the rest in turns
 * can leave that to a host that has it already, as Linux's htb (QW_BY_CLASSES in
 * all.h). Such a host asks neither qw_X_next() nor qw_X_overflow(), so that the
 * buffer may hold more than its limit, but
 *   qw_u32 qw_X_share_of(s, p, queue)
 *	how much of the link the queue is to have beside the others, in any unit,
 *	as things stand; 0: it goes first
 *   void qw_X_chosen(s, p, now, queue)
 *	the host serves `queue`: said before each qw_X_dequeue()
 * and says qw_X_evicted() of what was thrown away.
 *
 * A scheduler with a shaper of its own (QW_SHAPES in all.h) may say QW_NONE in
 * qw_X_next() while packets wait: none is to leave yet. Then
 *   qw_u64 qw_X_ready(s, p)
 * says when it is to be asked again, later than now.
 *
 * A scheduler that reads the DSCP may hide it from whoever comes after it
 * (QW_WASHES in all.h):
 *   qw_u32 qw_X_washes(p)
 * if this is not 0, the host sets the DSCP of what it lets in to 0.
 *
 * A discipline whose ticks are work (QW_TIMED in all.h) need not leave them to
 * the next packet, if the host has a timer:
 *   qw_u64 qw_X_alarm(s, p)
 *	when the next tick is due; QW_NEVER: none before the next packet
 *   void qw_X_tick(s, p, now)
 *	makes the ticks that are due, and no others
 * Both whenever the host likes: the results are those of one that never does.
 *
 * A discipline that divides a shared buffer by thresholds (QW_CLAIMS in all.h)
 * tells what others are to leave it, which the host sums up for them (qw_pool):
 *   qw_u64 qw_X_claim(s, p, now)
 *
 * A state of more than a page holds a table, and comes zeroed to qw_X_init(),
 * which leaves the table alone: what is not touched then costs nothing.
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
typedef s16 qw_s16;
typedef s32 qw_s32;
typedef u64 qw_u64;
typedef s64 qw_s64;
#else
typedef unsigned char qw_u8;
typedef unsigned short qw_u16;
typedef unsigned int qw_u32;
typedef signed short qw_s16;
typedef signed int qw_s32;
typedef unsigned long long qw_u64;
typedef signed long long qw_s64;
#endif

#define QW_NS_PER_SEC 1000000000ULL
#define QW_NS_PER_MS 1000000ULL
#define QW_NS_PER_US 1000ULL

/* Linux's jiffies, at 250 a second, for rules that go by them. */
#define QW_HZ 250u
#define QW_JIFFY_NS (QW_NS_PER_SEC / QW_HZ)

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

/* Of a time, so many jiffies at least (usecs_to_jiffies()). */
static inline qw_u64 qw_ns_to_jiffies(qw_u64 ns)
{
	return qw_div(ns + QW_JIFFY_NS - 1, QW_JIFFY_NS);
}

/* A hash's bits, mixed: each depends on all (MurmurHash3's finaliser). */
static inline qw_u32 qw_mixed(qw_u32 hash)
{
	hash ^= hash >> 16;
	hash *= 0x85ebca6bu;
	hash ^= hash >> 13;
	hash *= 0xc2b2ae35u;
	return hash ^ hash >> 16;
}

/* A bounded loop. A BPF host may define it as bpf_for() before including: the
 * verifier walks a plain loop turn by turn, and gives up on long ones. */
#ifndef QW_FOR
#define QW_FOR(i, n) for ((i) = 0; (i) < (n); (i)++)
#endif

/* A buffer that several ports share, this one included. limit_bytes is 0 where
 * the port has a buffer of its own; the rest then says nothing. */
struct qw_pool {
	qw_u64 bytes; /* bytes waiting at all of its ports */
	qw_u64 limit_bytes; /* bytes it can hold */
	qw_u64 thresholds_bytes; /* what the other ports claim by theirs, qw_X_claim() */
	qw_u32 ports; /* how many share it */
	qw_u32 congested; /* of those, how many are near their threshold */
};

/* A function of one header that others call: a BPF function has five arguments
 * at most and returns no structure, so that there it must be part of its caller. */
#if defined(__bpf__)
#define QW_SHARED static inline __attribute__((always_inline))
#else
#define QW_SHARED static inline
#endif

/* A function that the verifier is to look at once and by itself, instead of
 * anew for all that its callers may have done before: it has five arguments at
 * most, pointers that are never null (QW_GIVEN) and numbers, and returns a
 * number, for want of another one 0. (A weak one: clang leaves its calls as
 * they are.) */
#if defined(__bpf__)
#define QW_PART __attribute__((noinline, weak))
#define QW_GIVEN __attribute__((btf_decl_tag("arg:nonnull")))
#else
#define QW_PART static inline
#define QW_GIVEN
#endif

/* A number that is to be cut to a table's length, `table[qw_index(i) & 15]`, after
 * a test of it or of what it was made of. clang would leave the cut out, as
 * the test says the same, of another register: the verifiers of Linux 6.12 and
 * 6.18 then do not know it. */
static inline qw_u32 qw_index(qw_u32 i)
{
#if defined(__bpf__)
	__asm__("" : "+r"(i));
#endif
	return i;
}

/* The queue as the host sees it. Both limits always hold; a limit of 0 means
 * "no such limit". The packet in transmission is not part of the queue. */
struct qw_queue {
	qw_u64 bytes; /* bytes waiting, as the link counts them */
	qw_u64 limit_bytes; /* bytes the buffer can hold, 0: no byte limit */
	qw_u32 packets; /* packets waiting */
	qw_u32 limit_packets; /* packets the buffer can hold, 0: no packet limit */
	/* When the packet now at the head was enqueued; 0: the queue is empty, or
	 * the header does not say that it reads this. */
	qw_u64 head_ns;
	struct qw_pool pool;
};

/* ECN field of the IP header (RFC 3168 section 5). */
#define QW_NOT_ECT 0u
#define QW_ECT1 1u
#define QW_ECT0 2u
#define QW_CE 3u

struct qw_packet {
	qw_u64 enqueue_ns; /* when the host enqueued it; at X_enqueue: now */
	qw_u32 bytes; /* length as the link counts it */
	qw_u32 flow; /* flow hash, all of its 32 bits well mixed */
	qw_u32 ecn; /* QW_NOT_ECT .. QW_CE */
	qw_u32 protocol; /* of the IP header: QW_TCP, QW_UDP; 0: not known */
	/* What few read (QW_READS_HEADERS in all.h), and a host may not know: then 0.
	 * At X_enqueue alone: */
	qw_u32 source, destination; /* hashes of its hosts, as well mixed */
	qw_u16 dscp; /* of the IP header (RFC 2474), 0 .. 63 */
	/* Always: */
	qw_u16 frame_bytes; /* of each segment, what is not the IP packet */
	qw_u32 segments; /* packets that it becomes on the link; 0: itself */
};

#define QW_TCP 6u
#define QW_UDP 17u

/* Of qw_X_next() and qw_X_overflow(): no queue; and from the tail instead of
 * the head. */
#define QW_NONE 0xffffffffu
#define QW_TAIL 0x80000000u

/* Of qw_X_alarm(). */
#define QW_NEVER 0xffffffffffffffffULL

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

/* Would the packet overflow a buffer of so many bytes, its own or a shared one? */
static inline int qw_over_bytes(const struct qw_queue *q,
				const struct qw_packet *p)
{
	return (q->limit_bytes && q->bytes + p->bytes > q->limit_bytes) ||
	       (q->pool.limit_bytes &&
		q->pool.bytes + p->bytes > q->pool.limit_bytes);
}

/* Would the packet overflow the buffer? Each limit is inclusive: a buffer of
 * 34 packets holds 34. */
static inline int qw_over_limit(const struct qw_queue *q,
				const struct qw_packet *p)
{
	return (q->limit_packets && q->packets >= q->limit_packets) ||
	       qw_over_bytes(q, p);
}

/* What a buffer of its own can hold, in bytes: the tighter of its two limits, a
 * limit in packets as so many full ones. 0: it has none. */
static inline qw_u64 qw_buffer_bytes(const struct qw_queue *q)
{
	qw_u64 packets_as_bytes = (qw_u64)q->limit_packets * QW_MTU;

	if (packets_as_bytes &&
	    (!q->limit_bytes || packets_as_bytes < q->limit_bytes))
		return packets_as_bytes;
	return q->limit_bytes;
}

/* An even part of the buffer that ports share, bytes; 0: they do not. */
static inline qw_u64 qw_pool_part(const struct qw_queue *q)
{
	return q->pool.ports > 1 ? qw_div(q->pool.limit_bytes, q->pool.ports) :
				   q->pool.limit_bytes;
}

/* The lesser of two limits, of which 0 is none. */
static inline qw_u64 qw_tighter(qw_u64 a, qw_u64 b)
{
	return b && (!a || b < a) ? b : a;
}

/* What a port may count on: a buffer of its own, or an even part of the one that
 * it shares, whichever is less. 0: neither has a limit. */
static inline qw_u64 qw_buffer_part(const struct qw_queue *q)
{
	return qw_tighter(qw_buffer_bytes(q), qw_pool_part(q));
}

/* Does the buffer hold more bytes than it can? */
static inline int qw_overfull_bytes(const struct qw_queue *q)
{
	return (q->limit_bytes && q->bytes > q->limit_bytes) ||
	       (q->pool.limit_bytes && q->pool.bytes > q->pool.limit_bytes);
}

/* Does the buffer hold more than it can? A scheduler that lets packets in and
 * others go asks this in qw_X_overflow(). */
static inline int qw_overfull(const struct qw_queue *q)
{
	return (q->limit_packets && q->packets > q->limit_packets) ||
	       qw_overfull_bytes(q);
}

#ifdef __cplusplus
}
#endif

#endif /* QW_H */
