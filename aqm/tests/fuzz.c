/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Random operation sequences over every discipline, with a model of a host
 * that checks what each verdict may be. Build with -fsanitize=address,
 * undefined, as a libFuzzer target or, with -DQW_STANDALONE, as a program that
 * makes up its own sequences: fuzz [sequences] [seed].
 *
 * The input is read as numbers: discipline, parameters within their documented
 * ranges, buffer, then operations until it ends.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Queues of the hashed schedulers: few, so that they fill. */
#define QUEUES_MOST 64u
#define QW_FQ_CODEL_QUEUES QUEUES_MOST
#define QW_FQ_QUEUES QUEUES_MOST
#define QW_CHEN_SFQ_FLOWS 256u
#define QW_SFQ_QUEUES QUEUES_MOST
#define QW_FQ_PIE_QUEUES QUEUES_MOST
#define QW_AFQ_QUEUES QUEUES_MOST
/* In which flows meet. */
#define QW_AFQ_COLUMNS 4u
/* Fewer heavy flows than flows. */
#define QW_HHF_FLOWS 4u
/* Of each of eight tins: one set. */
#define QW_CAKE_FLOWS 8u
/* So that its ring comes round. */
#define QW_CHOKE_PLACES 2048u
/* Fewer flows of Santa's than pass, and a sketch in which they meet. */
#define QW_SANTA_FLOWS 4u
#define QW_COUNTMIN_BLOCKS 1u

#include "all.h"

#define CHECK(what)                                                      \
	do {                                                             \
		if (!(what)) {                                           \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, \
				__LINE__, #what);                        \
			abort();                                         \
		}                                                        \
	} while (0)

#include "invariants.h"

struct input {
	const unsigned char *at, *end;
};

static qw_u64 byte(struct input *in)
{
	return in->at < in->end ? *in->at++ : 0;
}

/* A number in min..=max, all magnitudes alike: what breaks things are the
 * small and the huge. */
static qw_u64 number(struct input *in, qw_u64 min, qw_u64 max)
{
	qw_u64 bits = byte(in) % 64, v = 0, span = max - min;
	unsigned i;

	for (i = 0; i < 8 && i * 8 <= bits; i++)
		v = v << 8 | byte(in);
	v &= ~0ULL >> (63 - bits);
	return min + (span == ~0ULL ? v : v % (span + 1));
}

static qw_u32 number32(struct input *in, qw_u32 min, qw_u32 max)
{
	return (qw_u32)number(in, min, max);
}

/* ---- one face for all ---- */

#define QW_ALL(X) QW_DISCIPLINES(X) QW_SCHEDULERS(X)

#define KIND(x, X) KIND_##X,
enum { QW_ALL(KIND) KINDS };

struct instance {
	unsigned kind;
	unsigned queues; /* that the host must hold; 0: no scheduler */
#define MEMBERS(x, X)                      \
	struct qw_##x##_params x##_params; \
	struct qw_##x x##_state;
	QW_ALL(MEMBERS)
};

static void init(struct instance *d, struct input *in, qw_u64 now)
{
	d->queues = 0;
	switch (d->kind) {
#define QUEUES(x, X)                         \
	case KIND_##X:                       \
		d->queues = QW_##X##_QUEUES; \
		break;
		QW_SCHEDULERS(QUEUES)
	}
	switch (d->kind) {
		/* Those with tables get them empty; the others read nothing that their
	 * init did not write. */
#define EMPTY(x, X)                                                     \
	case KIND_##X:                                                  \
		if (sizeof(d->x##_state) > 4096 || d->queues)           \
			memset(&d->x##_state, 0, sizeof(d->x##_state)); \
		break;
		QW_ALL(EMPTY)
	}
	switch (d->kind) {
#define PARAM(name, field, shift, least, most) \
	p->field = (__typeof__(p->field))number(in, least, most);
#define INIT(x, X)                                                           \
	case KIND_##X: {                                                     \
		struct qw_##x##_params *p = &d->x##_params;                  \
		QW_##X##_PARAMS(PARAM) qw_##x##_init(&d->x##_state, p, now); \
		break;                                                       \
	}
		QW_ALL(INIT)
	}
}

/* Weights of any size, for the disciplines that have some. */
static void learn(struct instance *d, struct input *in)
{
	struct qw_queuepilot_params *p = &d->queuepilot_params;
	qw_s16 *w = &p->net.input[0][0];
	qw_u32 x = number32(in, 0, 0xffffffffu);
	qw_u32 shift = number32(in, 0, 15);
	size_t i;

	p->learned = (qw_u32)byte(in) & 1;
	for (i = 0; p->learned && i < sizeof(p->net) / sizeof(*w); i++) {
		x = x * 1664525u + 1013904223u;
		w[i] = (qw_s16)((qw_s32)(x >> 16) - 32768);
		w[i] = (qw_s16)(w[i] >> shift);
	}
}

static void check_state(const struct instance *d)
{
	switch (d->kind) {
#define STATE(x, X)                       \
	case KIND_##X:                    \
		check_##x(&d->x##_state); \
		break;
		QW_ALL(STATE)
	}
}

static struct qw_verdict enqueue(struct instance *d, qw_u64 now,
				 const struct qw_queue *q,
				 const struct qw_packet *k, qw_u32 random,
				 qw_u32 *queue)
{
	switch (d->kind) {
#define ENQUEUE(x, X)                                                          \
	case KIND_##X:                                                         \
		return qw_##x##_enqueue(&d->x##_state, &d->x##_params, now, q, \
					k, random);
		QW_DISCIPLINES(ENQUEUE)
#define ENQUEUE_TO(x, X)                                                       \
	case KIND_##X:                                                         \
		return qw_##x##_enqueue(&d->x##_state, &d->x##_params, now, q, \
					k, random, queue);
		QW_SCHEDULERS(ENQUEUE_TO)
	}
	return qw_pass();
}

static struct qw_verdict dequeue(struct instance *d, qw_u64 now,
				 const struct qw_queue *q,
				 const struct qw_packet *k, qw_u32 queue)
{
	switch (d->kind) {
#define DEQUEUE(x, X)                                                          \
	case KIND_##X:                                                         \
		return qw_##x##_dequeue(&d->x##_state, &d->x##_params, now, q, \
					k);
		QW_DISCIPLINES(DEQUEUE)
#define DEQUEUE_FROM(x, X)                                                     \
	case KIND_##X:                                                         \
		return qw_##x##_dequeue(&d->x##_state, &d->x##_params, now, q, \
					k, queue);
		QW_SCHEDULERS(DEQUEUE_FROM)
	}
	return qw_pass();
}

static qw_u32 next(struct instance *d, qw_u64 now, const struct qw_queue *q)
{
	switch (d->kind) {
#define NEXT(x, X)     \
	case KIND_##X: \
		return qw_##x##_next(&d->x##_state, &d->x##_params, now, q);
		QW_SCHEDULERS(NEXT)
	}
	return 0;
}

/* When one that held packets back is to be asked again. */
static qw_u64 ready(const struct instance *d)
{
	switch (d->kind) {
#define READY(x, X)    \
	case KIND_##X: \
		return qw_##x##_ready(&d->x##_state, &d->x##_params);
		QW_SHAPES(READY)
	}
	return 0;
}

static qw_u32 overflow(struct instance *d, qw_u64 now, const struct qw_queue *q)
{
	switch (d->kind) {
#define OVERFLOW(x, X) \
	case KIND_##X: \
		return qw_##x##_overflow(&d->x##_state, &d->x##_params, now, q);
		QW_SCHEDULERS(OVERFLOW)
	}
	return QW_NONE;
}

static void evicted(struct instance *d, qw_u64 now, const struct qw_queue *q,
		    const struct qw_packet *k, qw_u32 queue)
{
	switch (d->kind) {
#define EVICTED(x, X)                                                      \
	case KIND_##X:                                                     \
		qw_##x##_evicted(&d->x##_state, &d->x##_params, now, q, k, \
				 queue);                                   \
		break;
		QW_SCHEDULERS(EVICTED)
	}
}

static void idle(struct instance *d, qw_u64 now)
{
	switch (d->kind) {
#define IDLE(x, X)                                                 \
	case KIND_##X:                                             \
		qw_##x##_idle(&d->x##_state, &d->x##_params, now); \
		break;
		QW_ALL(IDLE)
	}
}

static int timed(const struct instance *d)
{
	switch (d->kind) {
#define TIMED(x, X)    \
	case KIND_##X: \
		return 1;
		QW_TIMED(TIMED)
	}
	return 0;
}

static qw_u64 alarm_of(const struct instance *d)
{
	switch (d->kind) {
#define ALARM(x, X)    \
	case KIND_##X: \
		return qw_##x##_alarm(&d->x##_state, &d->x##_params);
		QW_TIMED(ALARM)
	}
	return QW_NEVER;
}

static void tick(struct instance *d, qw_u64 now)
{
	switch (d->kind) {
#define TICK(x, X)                                                 \
	case KIND_##X:                                             \
		qw_##x##_tick(&d->x##_state, &d->x##_params, now); \
		break;
		QW_TIMED(TICK)
	}
}

/* What there is to show, of any bits in parameters and state: those of another
 * host of the header are shown as they come. */
static void show(const struct instance *d)
{
	static volatile double shown;

	switch (d->kind) {
#define SHOWN(value, unit) shown = (double)(value) / (double)(unit);
#define SHOW(x, X)                                                \
	case KIND_##X: {                                          \
		const struct qw_##x##_params *p = &d->x##_params; \
		const struct qw_##x *s = &d->x##_state;           \
		(void)p;                                          \
		(void)s;                                          \
		QW_##X##_PROBES(SHOWN) break;                     \
	}
		QW_ALL(SHOW)
	}
	(void)shown;
}

static void scramble(void *at, size_t size, struct input *in)
{
	qw_u32 x = number32(in, 0, 0xffffffffu), few = (qw_u32)byte(in) & 1;
	unsigned char *bytes = (unsigned char *)at;
	size_t i;

	for (i = 0; i < size; i++) {
		x = x * 1664525u + 1013904223u;
		/* Noise, or what is all zeros or all ones in places. */
		bytes[i] = few ? (unsigned char)(x >> 30 ? 0 : 255) :
				 (unsigned char)(x >> 24);
	}
}

static void show_anything(struct instance *d, struct input *in)
{
	switch (d->kind) {
#define SCRAMBLE(x, X)                                               \
	case KIND_##X:                                               \
		scramble(&d->x##_params, sizeof(d->x##_params), in); \
		scramble(&d->x##_state, sizeof(d->x##_state), in);   \
		break;
		QW_ALL(SCRAMBLE)
	}
	show(d);
}

/* ---- the host ---- */

#define SLOTS 1024u
#define NO_SLOT SLOTS

struct host {
	struct instance d;
	struct instance twin; /* the same, at a host that has a timer */
	struct qw_queue q;
	struct qw_packet slot[SLOTS];
	unsigned after[SLOTS], before[SLOTS]; /* in its queue; or free */
	unsigned head[QUEUES_MOST], tail[QUEUES_MOST];
	unsigned free;
	qw_u64 now;
	qw_u64 offered, dropped, sent; /* packets */
};

static void check_verdict(struct qw_verdict v, const struct qw_packet *k)
{
	CHECK(v.action <= QW_DROP);
	CHECK(v.reason < QW_REASONS);
	CHECK((v.action == QW_PASS) == (v.reason == QW_REASON_NONE));
	CHECK(v.action != QW_MARK || k->ecn != QW_NOT_ECT);
}

/* Time passes. The twin's timer is on time, or late, or misses some ticks. */
static void pass(struct host *h, qw_u64 ns, qw_u64 timer)
{
	qw_u64 at = alarm_of(&h->twin);
	unsigned times = 0;

	h->now += ns;
	if (!timed(&h->d) || timer % 4 == 3)
		return;
	for (; at <= h->now; at = alarm_of(&h->twin)) {
		tick(&h->twin, timer % 4 ? at + (h->now - at) / 2 : at);
		CHECK(alarm_of(&h->twin) > at);
		/* It does not ring for ever where no packets come. */
		CHECK(++times < 1000);
		if (timer % 4 == 2)
			break;
	}
}

/* Who made the ticks makes no difference. */
static void check_twin(const struct host *h)
{
	switch (h->d.kind) {
#define TWIN(x, X)                                                 \
	case KIND_##X:                                             \
		CHECK(!memcmp(&h->d.x##_state, &h->twin.x##_state, \
			      sizeof(h->d.x##_state)));            \
		break;
		QW_TIMED(TWIN)
	}
}

static void append(struct host *h, unsigned queue, struct qw_packet k)
{
	unsigned i = h->free;

	h->free = h->after[i];
	h->slot[i] = k;
	h->before[i] = h->tail[queue];
	h->after[i] = NO_SLOT;
	if (h->tail[queue] == NO_SLOT)
		h->head[queue] = i;
	else
		h->after[h->tail[queue]] = i;
	h->tail[queue] = i;
	h->q.packets++;
	h->q.bytes += k.bytes;
}

/* Take a packet off a queue; q->head_ns is then that of the new head. */
static struct qw_packet take(struct host *h, unsigned queue, int from_tail)
{
	unsigned i = from_tail ? h->tail[queue] : h->head[queue];

	CHECK(i != NO_SLOT);
	if (h->before[i] == NO_SLOT)
		h->head[queue] = h->after[i];
	else
		h->after[h->before[i]] = h->after[i];
	if (h->after[i] == NO_SLOT)
		h->tail[queue] = h->before[i];
	else
		h->before[h->after[i]] = h->before[i];
	h->after[i] = h->free;
	h->free = i;
	h->q.packets--;
	h->q.bytes -= h->slot[i].bytes;
	h->q.head_ns = h->head[queue] == NO_SLOT ?
			       0 :
			       h->slot[h->head[queue]].enqueue_ns;
	return h->slot[i];
}

/* Only a discipline of one queue knows its head at an arrival. */
static void see_head(struct host *h)
{
	h->q.head_ns = h->d.queues || !h->q.packets ?
			       0 :
			       h->slot[h->head[0]].enqueue_ns;
}

/* What the buffer has no room for goes: a scheduler's choice, or the head. */
static void make_room(struct host *h)
{
	while (h->d.queues || qw_overfull(&h->q)) {
		qw_u32 out = 0, queue;
		struct qw_packet k;

		h->q.head_ns = 0;
		if (h->d.queues)
			out = overflow(&h->d, h->now, &h->q);
		if (out == QW_NONE)
			break;
		queue = out & ~QW_TAIL;
		CHECK(queue < (h->d.queues ? h->d.queues : 1));
		k = take(h, queue, (out & QW_TAIL) != 0);
		if (h->d.queues)
			evicted(&h->d, h->now, &h->q, &k, queue);
		h->dropped++;
	}
	/* FQ keeps a few packets beside a limit, as Linux does. */
	CHECK(!qw_overfull_bytes(&h->q));
	CHECK(!h->q.limit_packets ||
	      h->q.packets <=
		      h->q.limit_packets +
			      (h->d.kind == KIND_FQ ? QW_FQ_INTERNAL_MOST : 0));
}

static void limit(struct host *h, struct input *in)
{
	h->q.limit_bytes = number(in, 0, 1ULL << 40);
	h->q.limit_packets = number32(in, 0, SLOTS);
	make_room(h);
}

static void arrive(struct host *h, struct input *in)
{
	qw_u64 shape = byte(in);
	struct qw_packet k;
	struct qw_verdict v;
	qw_u32 queue = 0, random;
	int over;

	k.enqueue_ns = h->now;
	k.bytes = shape & 4 ? 1500u : number32(in, 1, 65535);
	/* A few flows, far apart. */
	k.flow = (qw_u32)(shape >> 3 & 7) * 0x9e3779b9u;
	k.ecn = (qw_u32)shape & 3;
	k.protocol = shape & 0x40 ? QW_UDP : QW_TCP;
	k.source = k.flow & 3;
	k.destination = k.flow >> 2 & 3;
	k.dscp = (qw_u16)(shape >> 2);
	k.frame_bytes = (qw_u16)(shape & 0x80 ? 14 : 0);
	k.segments = (qw_u32)(shape >> 5 & 3);
	if (h->q.packets == SLOTS)
		return;
	see_head(h);
	over = qw_over_limit(&h->q, &k);
	random = number32(in, 0, 0xffffffffu);
	v = enqueue(&h->d, h->now, &h->q, &k, random, &queue);
	check_verdict(v, &k);
	if (timed(&h->d)) {
		CHECK(enqueue(&h->twin, h->now, &h->q, &k, random, &queue)
			      .action == v.action);
		check_twin(h);
	}
	if (!h->d.queues) {
		CHECK((v.reason == QW_REASON_LIMIT) == over);
		CHECK(!over || v.action == QW_DROP);
	}
	h->offered++;
	if (v.action == QW_DROP) {
		h->dropped++;
		return;
	}
	if (v.action == QW_MARK)
		k.ecn = QW_CE;
	CHECK(queue < (h->d.queues ? h->d.queues : 1));
	append(h, queue, k);
	make_room(h);
}

static void transmit(struct host *h)
{
	while (h->q.packets) {
		struct qw_packet k;
		struct qw_verdict v;
		qw_u32 queue;

		h->q.head_ns = 0;
		queue = next(&h->d, h->now, &h->q);
		if (queue == QW_NONE) {
			/* It keeps to a rate, and does not for ever. */
			CHECK(ready(&h->d) > h->now);
			CHECK(ready(&h->d) - h->now < 1ULL << 60);
			return;
		}
		CHECK(queue < (h->d.queues ? h->d.queues : 1));
		k = take(h, queue, 0);
		v = dequeue(&h->d, h->now, &h->q, &k, queue);
		check_verdict(v, &k);
		if (timed(&h->d)) {
			CHECK(dequeue(&h->twin, h->now, &h->q, &k, queue)
				      .action == v.action);
			check_twin(h);
		}
		CHECK(v.reason != QW_REASON_LIMIT);
		if (v.action != QW_DROP) {
			h->sent++;
			return;
		}
		h->dropped++;
	}
	idle(&h->d, h->now);
	if (timed(&h->d)) {
		idle(&h->twin, h->now);
		check_twin(h);
	}
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	/* Too big for a stack, and the same memory each time finds reads of what
	 * init forgot. */
	static struct host host;
	struct host *h = &host;
	struct input in;
	unsigned i;

	in.at = data;
	in.end = data + size;
	h->d.kind = (unsigned)byte(&in) % KINDS;
	h->now = number(&in, 0, 1ULL << 60);
	if (h->d.kind == KIND_QUEUEPILOT)
		learn(&h->d, &in);
	init(&h->d, &in, h->now);
	if (timed(&h->d))
		memcpy(&h->twin, &h->d, sizeof(h->d));
	CHECK(h->d.queues <= QUEUES_MOST);
	h->q.bytes = 0;
	h->q.packets = 0;
	limit(h, &in);
	h->free = 0;
	for (i = 0; i < SLOTS; i++)
		h->after[i] = i + 1;
	for (i = 0; i < QUEUES_MOST; i++) {
		h->head[i] = NO_SLOT;
		h->tail[i] = NO_SLOT;
	}
	h->offered = h->dropped = h->sent = 0;

	while (in.at < in.end) {
		qw_u64 op = byte(&in), times = 1 + (op >> 2) % 32;

		switch (op & 3) {
		case 0: /* up to 18 minutes; limits as they are, or new ones */
			if (op >> 5 == 7)
				limit(h, &in);
			pass(h, number(&in, 0, 1ULL << 40), op >> 2);
			break;
		case 1: /* at the pace of a link of 1.5 Mbit/s .. 1.5 Gbit/s */
			for (; times; times--) {
				arrive(h, &in);
				pass(h, 8000ULL << (op >> 5), times);
			}
			break;
		case 2:
			for (; times; times--) {
				transmit(h);
				pass(h, 8000ULL << (op >> 5), times);
			}
			break;
		default:
			arrive(h, &in);
			transmit(h);
			pass(h, number(&in, 0, 20 * QW_NS_PER_MS), op >> 2);
		}
		check_state(&h->d);
		show(&h->d);
		CHECK(h->offered == h->dropped + h->sent + h->q.packets);
	}
	in.at = data;
	show_anything(&h->d, &in);
	return 0;
}

#ifdef QW_STANDALONE
int main(int argc, char **argv)
{
	unsigned long sequences = argc > 1 ? strtoul(argv[1], NULL, 0) : 10000;
	qw_u64 x = argc > 2 ? strtoul(argv[2], NULL, 0) : 1;
	unsigned long i;
	static unsigned char data[2048];

	for (i = 0; i < sequences; i++) {
		size_t n, size;

		/* splitmix64: any seed will do, and every platform agrees. */
		for (n = 0; n < sizeof(data); n++) {
			qw_u64 z = (x += 0x9e3779b97f4a7c15ULL);
			z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
			z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
			data[n] = (unsigned char)(z >> 56);
		}
		size = 64 + ((size_t)data[0] << 3 | data[1] >> 5) %
				    (sizeof(data) - 64);
		data[2] = (unsigned char)i; /* each discipline in turn */
		LLVMFuzzerTestOneInput(data + 2, size - 2);
	}
	printf("%lu random sequences, %u disciplines: ok\n", sequences,
	       (unsigned)KINDS);
	return 0;
}
#endif
