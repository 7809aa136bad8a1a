/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The headers of aqm/ are static inline C; Rust needs functions to link to.
 * An instance is a block of memory: a tag that says which discipline, its
 * parameters, its state. One switch per call picks the discipline.
 */
#include <stddef.h>
#include <string.h>

#include "all.h"
#include "own/table.h"

#define QW_ALL(X) QW_DISCIPLINES(X) QW_SCHEDULERS(X)

#define KIND(x, X) KIND_##X,
enum { QW_ALL(KIND) KINDS };

/* A file of a user's own, whose instance has the table of what is in it. */
#define KIND_OWN KINDS
#define OWN(h) (((const struct qw_own_head *)(const void *)(h))->of)
#define AS_OWN(h) ((struct qw_own_head *)(void *)(h))

struct head {
	qw_u64 kind;
};

#define INSTANCE(x, X)                    \
	struct instance_##x {             \
		struct head head;         \
		struct qw_##x##_params p; \
		struct qw_##x s;          \
	};
QW_ALL(INSTANCE)

/* Sizes and offsets of what Rust has structures of its own for. */
const size_t qw_shim_layout[] = {
	sizeof(struct qw_pool),
	offsetof(struct qw_pool, bytes),
	offsetof(struct qw_pool, limit_bytes),
	offsetof(struct qw_pool, thresholds_bytes),
	offsetof(struct qw_pool, ports),
	offsetof(struct qw_pool, congested),
	sizeof(struct qw_queue),
	offsetof(struct qw_queue, bytes),
	offsetof(struct qw_queue, limit_bytes),
	offsetof(struct qw_queue, packets),
	offsetof(struct qw_queue, limit_packets),
	offsetof(struct qw_queue, head_ns),
	offsetof(struct qw_queue, pool),
	sizeof(struct qw_packet),
	offsetof(struct qw_packet, enqueue_ns),
	offsetof(struct qw_packet, bytes),
	offsetof(struct qw_packet, flow),
	offsetof(struct qw_packet, ecn),
	offsetof(struct qw_packet, protocol),
	offsetof(struct qw_packet, source),
	offsetof(struct qw_packet, destination),
	offsetof(struct qw_packet, dscp),
	offsetof(struct qw_packet, frame_bytes),
	offsetof(struct qw_packet, segments),
	sizeof(struct qw_verdict),
	offsetof(struct qw_verdict, action),
	offsetof(struct qw_verdict, reason),
	QW_REASONS,
	QW_QUEUEPILOT_OBSERVATIONS,
	QW_QUEUEPILOT_ACTIONS,
	QW_QUEUEPILOT_INPUTS,
	QW_QUEUEPILOT_ONE,
	QW_MTU,
	sizeof(struct qw_own_range),
	sizeof(struct qw_own_help),
	sizeof(struct qw_own_shown),
	sizeof(struct qw_own),
	offsetof(struct qw_own, about),
	offsetof(struct qw_own, shown),
	offsetof(struct qw_own, probe),
	sizeof(struct qw_own_head),
	offsetof(struct qw_own_head, of),
	QW_RATIO,
	QW_OWN_TEXT,
	sizeof(struct qw_own_bpf_head),
	sizeof(struct qw_own_bpf_range),
	sizeof(struct qw_own_bpf_help),
	sizeof(struct qw_own_bpf_shown),
};
const size_t qw_shim_layouts = sizeof(qw_shim_layout) / sizeof(size_t);

#define AS(x, h) ((struct instance_##x *)(void *)(h))

/* Which discipline bears this name? -1: none. */
int qw_shim_find(const char *name)
{
#define FIND(x, X)             \
	if (!strcmp(name, #x)) \
		return KIND_##X;
	QW_ALL(FIND)
	return -1;
}

/* Bytes an instance takes; its memory must be zeroed and aligned to 8. */
size_t qw_shim_size(int kind)
{
	switch (kind) {
#define SIZE(x, X)     \
	case KIND_##X: \
		return sizeof(struct instance_##x);
		QW_ALL(SIZE)
	}
	return 0;
}

/* Where in an instance its parameters lie (or its state), and how long they are:
 * for another host of the same header, which keeps them apart. */
size_t qw_shim_part(int kind, int of_state, size_t *bytes)
{
	*bytes = 0;
	switch (kind) {
#define PART(x, X)                                                   \
	case KIND_##X:                                               \
		*bytes = of_state ? sizeof(struct qw_##x) :          \
				    sizeof(struct qw_##x##_params);  \
		return of_state ? offsetof(struct instance_##x, s) : \
				  offsetof(struct instance_##x, p);
		QW_ALL(PART)
	}
	return 0;
}

/* How many queues the host is to hold for a scheduler; 0: it is none. */
qw_u32 qw_shim_queues(int kind)
{
	switch (kind) {
#define QUEUES(x, X)   \
	case KIND_##X: \
		return QW_##X##_QUEUES;
		QW_SCHEDULERS(QUEUES)
	}
	return 0;
}

/* Parameters first, then init. */
void qw_shim_create(struct head *h, int kind)
{
	h->kind = (qw_u64)kind;
}

/* The same of a file of a user's own; its memory is of the table's size. */
void qw_shim_create_own(struct head *h, const struct qw_own *of)
{
	h->kind = KIND_OWN;
	AS_OWN(h)->of = of;
}

static int within(qw_u64 v, qw_u64 least, qw_u64 most)
{
	return v >= least && v <= most;
}

/*
 * One parameter by its name in the registry. Times come in ns, sizes in bytes,
 * flags as 0 or 1, choices as their index, real numbers in Q32. Returns 1; 0 if
 * there is no such parameter; -1 if the header does not allow the value.
 */
int qw_shim_set(struct head *h, const char *name, qw_u64 v)
{
	switch (h->kind) {
#define PARAM(key, field, shift, least, most)       \
	if (!strcmp(name, key)) {                   \
		v >>= (shift);                      \
		if (!within(v, least, most))        \
			return -1;                  \
		p->field = (__typeof__(p->field))v; \
		return 1;                           \
	}
#define SET(x, X)                                         \
	case KIND_##X: {                                  \
		struct qw_##x##_params *p = &AS(x, h)->p; \
		(void)p;                                  \
		QW_##X##_PARAMS(PARAM) return 0;          \
	}
		QW_ALL(SET)
	case KIND_OWN:
		return OWN(h)->set(AS_OWN(h), name, v);
	}
	return 0;
}

void qw_shim_init(struct head *h, qw_u64 now)
{
	switch (h->kind) {
#define INIT(x, X)                                              \
	case KIND_##X:                                          \
		qw_##x##_init(&AS(x, h)->s, &AS(x, h)->p, now); \
		break;
		QW_ALL(INIT)
	case KIND_OWN:
		OWN(h)->init(AS_OWN(h), now);
		break;
	}
}

/* How many weights a learned policy has; 0: it is none. With these given it
 * takes them over, and needs no script. */
size_t qw_shim_weights(int kind, struct head *h, const qw_s16 *weights)
{
	struct qw_queuepilot_params *p;

	if (kind != KIND_QUEUEPILOT)
		return 0;
	if (h && weights) {
		p = &AS(queuepilot, h)->p;
		memcpy(&p->net, weights, sizeof(p->net));
		p->learned = 1;
	}
	return sizeof(struct qw_queuepilot_net) / sizeof(qw_s16);
}

/* A learned policy's step that ends at `now`: what its network would be shown
 * (Q15, QW_QUEUEPILOT_INPUTS of them). Returns how many; 0: it is no such one. */
size_t qw_shim_observe(struct head *h, qw_u64 now, qw_s32 *inputs)
{
	struct qw_queuepilot *s;

	if (h->kind != KIND_QUEUEPILOT)
		return 0;
	s = &AS(queuepilot, h)->s;
	qw_queuepilot_catch_up(s, &AS(queuepilot, h)->p, now);
	memcpy(inputs, s->input, sizeof(s->input));
	return QW_QUEUEPILOT_INPUTS;
}

/* The action in force: another one, if it is one. */
qw_u32 qw_shim_act(struct head *h, qw_u32 action)
{
	if (h->kind != KIND_QUEUEPILOT)
		return 0;
	if (action < QW_QUEUEPILOT_ACTIONS)
		AS(queuepilot, h)->s.action = action;
	return AS(queuepilot, h)->s.action;
}

/* A step of an agent beside another host of the header, whose own policy is passive.
 * What that has counted is in `state`; a step that it has not made by `now`, as
 * nothing came, is made here. Then this instance's policy acts, once however
 * many steps have passed. What it was shown is in `inputs`; returns when the
 * next step ends, 0: it is no such one. */
qw_u64 qw_shim_follow(struct head *h, const void *state, qw_u64 now,
		      qw_s32 *inputs)
{
	const struct qw_queuepilot_params *p;
	struct qw_queuepilot *s, seen;
	qw_u64 due;

	if (h->kind != KIND_QUEUEPILOT)
		return 0;
	p = &AS(queuepilot, h)->p;
	s = &AS(queuepilot, h)->s;
	memcpy(&seen, state, sizeof(seen));
	/* Else nothing has come there since the last time: what it has counted has
	 * been looked at. */
	if (seen.next_ns >= s->next_ns) {
		s->next_ns = seen.next_ns;
		s->average = seen.average;
		s->link = seen.link;
		s->arrived = seen.arrived;
		s->sent = seen.sent;
		s->dropped = seen.dropped;
		s->marked = seen.marked;
		s->buffer_packets = seen.buffer_packets;
		s->reward_q15 = seen.reward_q15;
		memcpy(s->input, seen.input, sizeof(s->input));
		/* There every packet has fed it. */
		qw_dice_feed(&s->dice, (qw_u32)(seen.dice.state >> 32));
	}
	if (now >= s->next_ns) {
		due = 1 + qw_div(now - s->next_ns, p->step_ns);
		s->next_ns += due * p->step_ns;
		qw_queuepilot_observe(s, p);
		/* The second of several showed nothing, as did all after it. */
		if (due > 1)
			qw_queuepilot_observe(s, p);
	}
	memcpy(inputs, s->input, sizeof(s->input));
	qw_queuepilot_act(s, p);
	return s->next_ns;
}

/* The parameters that qw_shim_set() has changed since, of what runs. */
void qw_shim_retune(struct head *h)
{
	switch (h->kind) {
#define RETUNE(x, X)                                         \
	case KIND_##X:                                       \
		qw_##x##_retune(&AS(x, h)->s, &AS(x, h)->p); \
		break;
		QW_TUNABLE(RETUNE)
	}
}

/* What is called for each packet lies apart for each discipline, and the switch
 * jumps there: in one function each would save the registers that the largest of
 * them needs, 15 instructions a call. Flattened: left to itself the compiler
 * inlines less the more disciplines there are. */
#define APART static __attribute__((flatten, noinline)) struct qw_verdict

#define ENQUEUE(x, X)                                                          \
	APART enqueue_##x(struct head *h, qw_u64 now,                          \
			  const struct qw_queue *q, const struct qw_packet *k, \
			  qw_u32 random, qw_u32 *queue)                        \
	{                                                                      \
		(void)queue;                                                   \
		return qw_##x##_enqueue(&AS(x, h)->s, &AS(x, h)->p, now, q, k, \
					random);                               \
	}
#define ENQUEUE_TO(x, X)                                                       \
	APART enqueue_##x(struct head *h, qw_u64 now,                          \
			  const struct qw_queue *q, const struct qw_packet *k, \
			  qw_u32 random, qw_u32 *queue)                        \
	{                                                                      \
		return qw_##x##_enqueue(&AS(x, h)->s, &AS(x, h)->p, now, q, k, \
					random, queue);                        \
	}
#define DEQUEUE(x, X)                                                          \
	APART dequeue_##x(struct head *h, qw_u64 now,                          \
			  const struct qw_queue *q, const struct qw_packet *k, \
			  qw_u32 queue)                                        \
	{                                                                      \
		(void)queue;                                                   \
		return qw_##x##_dequeue(&AS(x, h)->s, &AS(x, h)->p, now, q,    \
					k);                                    \
	}
#define DEQUEUE_FROM(x, X)                                                     \
	APART dequeue_##x(struct head *h, qw_u64 now,                          \
			  const struct qw_queue *q, const struct qw_packet *k, \
			  qw_u32 queue)                                        \
	{                                                                      \
		return qw_##x##_dequeue(&AS(x, h)->s, &AS(x, h)->p, now, q, k, \
					queue);                                \
	}
QW_DISCIPLINES(ENQUEUE)
QW_SCHEDULERS(ENQUEUE_TO)
QW_DISCIPLINES(DEQUEUE)
QW_SCHEDULERS(DEQUEUE_FROM)

/* `queue` is set by schedulers alone. */
struct qw_verdict qw_shim_enqueue(struct head *h, qw_u64 now,
				  const struct qw_queue *q,
				  const struct qw_packet *k, qw_u32 random,
				  qw_u32 *queue)
{
	switch (h->kind) {
#define TO_ENQUEUE(x, X) \
	case KIND_##X:   \
		return enqueue_##x(h, now, q, k, random, queue);
		QW_ALL(TO_ENQUEUE)
	case KIND_OWN:
		return OWN(h)->enqueue(AS_OWN(h), now, q, k, random);
	}
	return qw_pass();
}

/* `queue` is read by schedulers alone. */
struct qw_verdict qw_shim_dequeue(struct head *h, qw_u64 now,
				  const struct qw_queue *q,
				  const struct qw_packet *k, qw_u32 queue)
{
	switch (h->kind) {
#define TO_DEQUEUE(x, X) \
	case KIND_##X:   \
		return dequeue_##x(h, now, q, k, queue);
		QW_ALL(TO_DEQUEUE)
	case KIND_OWN:
		return OWN(h)->dequeue(AS_OWN(h), now, q, k);
	}
	return qw_pass();
}

/* Schedulers alone. */
qw_u32 qw_shim_next(struct head *h, qw_u64 now, const struct qw_queue *q)
{
	(void)now;
	(void)q;
	switch (h->kind) {
#define NEXT(x, X)     \
	case KIND_##X: \
		return qw_##x##_next(&AS(x, h)->s, &AS(x, h)->p, now, q);
		QW_SCHEDULERS(NEXT)
	}
	return QW_NONE;
}

/* Of those with a shaper, when to ask for the next again; else never. */
qw_u64 qw_shim_ready(const struct head *h)
{
	switch (h->kind) {
#define READY(x, X)    \
	case KIND_##X: \
		return qw_##x##_ready(&AS(x, h)->s, &AS(x, h)->p);
		QW_SHAPES(READY)
	}
	return QW_NEVER;
}

/* Is the DSCP of what it lets in set to 0? */
int qw_shim_washes(const struct head *h)
{
	switch (h->kind) {
#define WASHES(x, X)   \
	case KIND_##X: \
		return qw_##x##_washes(&AS(x, h)->p) != 0;
		QW_WASHES(WASHES)
	}
	return 0;
}

/* Schedulers alone. */
qw_u32 qw_shim_overflow(struct head *h, qw_u64 now, const struct qw_queue *q)
{
	(void)now;
	(void)q;
	switch (h->kind) {
#define OVERFLOW(x, X) \
	case KIND_##X: \
		return qw_##x##_overflow(&AS(x, h)->s, &AS(x, h)->p, now, q);
		QW_SCHEDULERS(OVERFLOW)
	}
	return QW_NONE;
}

/* Schedulers alone. */
void qw_shim_evicted(struct head *h, qw_u64 now, const struct qw_queue *q,
		     const struct qw_packet *k, qw_u32 queue)
{
	(void)now;
	(void)q;
	(void)k;
	(void)queue;
	switch (h->kind) {
#define EVICTED(x, X)                                                   \
	case KIND_##X:                                                  \
		qw_##x##_evicted(&AS(x, h)->s, &AS(x, h)->p, now, q, k, \
				 queue);                                \
		break;
		QW_SCHEDULERS(EVICTED)
	}
}

void qw_shim_idle(struct head *h, qw_u64 now)
{
	switch (h->kind) {
#define IDLE(x, X)                                              \
	case KIND_##X:                                          \
		qw_##x##_idle(&AS(x, h)->s, &AS(x, h)->p, now); \
		break;
		QW_ALL(IDLE)
	case KIND_OWN:
		OWN(h)->idle(AS_OWN(h), now);
		break;
	}
}

/* A timer of the host's makes a tick now, of what Linux's timers tick; the next
 * comes by itself a whole `tupdate` later. Returns 0 if it is no such one. */
int qw_shim_tick(struct head *h, qw_u64 now, qw_u64 backlog)
{
	switch (h->kind) {
	case KIND_PIE:
		qw_pie_tick(&AS(pie, h)->s, &AS(pie, h)->p, now, backlog);
		return 1;
	case KIND_FQ_PIE:
		qw_fq_pie_tick(&AS(fq_pie, h)->s, &AS(fq_pie, h)->p, now);
		return 1;
	}
	return 0;
}

/* A random number beside that of the packet that comes next, of what may draw
 * several. Returns 0 if it is no such one. */
int qw_shim_tell(struct head *h, qw_u32 random)
{
	if (h->kind != KIND_CHOKE)
		return 0;
	qw_choke_tell(&AS(choke, h)->s, random);
	return 1;
}

/* What others are to leave of a shared buffer, of those that claim; else 0. */
qw_u64 qw_shim_claim(const struct head *h, qw_u64 now)
{
	switch (h->kind) {
#define CLAIM(x, X)    \
	case KIND_##X: \
		return qw_##x##_claim(&AS(x, h)->s, &AS(x, h)->p, now);
		QW_CLAIMS(CLAIM)
	}
	return 0;
}

/* The threshold that was found last, of those that have one; else 0. */
qw_u64 qw_shim_threshold(const struct head *h)
{
	switch (h->kind) {
#define THRESHOLD(x, X) \
	case KIND_##X:  \
		return AS(x, h)->s.threshold_bytes;
		QW_THRESHOLDS(THRESHOLD)
	}
	return 0;
}

/* The i-th variable; 0 beyond the last. */
double qw_shim_probe(const struct head *h, size_t i)
{
	switch (h->kind) {
#define PROBE(value, unit) \
	if (!i--)          \
		return (double)(value) / (double)(unit);
#define PROBES(x, X)                                            \
	case KIND_##X: {                                        \
		const struct qw_##x##_params *p = &AS(x, h)->p; \
		const struct qw_##x *s = &AS(x, h)->s;          \
		(void)p;                                        \
		(void)s;                                        \
		QW_##X##_PROBES(PROBE) return 0;                \
	}
		QW_ALL(PROBES)
	case KIND_OWN:
		return OWN(h)->probe(
			(const struct qw_own_head *)(const void *)h, i);
	}
	return 0;
}
