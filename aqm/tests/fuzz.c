/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Random operation sequences over every queue manager, with a model of a host
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

#include "all.h"

#define CHECK(what)                                                      \
	do {                                                             \
		if (!(what)) {                                           \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, \
				__LINE__, #what);                        \
			abort();                                         \
		}                                                        \
	} while (0)

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

/* ---- each discipline's parameters, and what must always hold ---- */

static void fill_droptail(struct qw_droptail_params *p, struct input *in)
{
	(void)in;
	p->unused = 0;
}

static void check_droptail(const struct qw_droptail *s)
{
	(void)s;
}

static void fill_static(struct qw_static_params *p, struct input *in)
{
	p->threshold_bytes = number(in, 0, 1ULL << 40);
}

static void check_static(const struct qw_static *s)
{
	(void)s;
}

static void fill_codel(struct qw_codel_params *p, struct input *in)
{
	p->target_ns = number(in, 0, 10 * QW_NS_PER_SEC);
	p->interval_ns = number(in, 1, 60 * QW_NS_PER_SEC);
	p->ce_threshold_ns = number(in, 0, 10 * QW_NS_PER_SEC);
	p->mtu_bytes = number32(in, 0, 65535);
	p->ecn = number32(in, 0, 1);
}

static void check_codel(const struct qw_codel *s)
{
	CHECK(s->dropping <= 1);
	CHECK(s->after_drop <= QW_CODEL_REPEATED);
	CHECK(s->rec_inv_sqrt_q16 <= 0xffff);
	/* The law must stay near 1 / sqrt(count), or drops come all at once. */
	CHECK(!s->dropping || (s->count >= 1 && s->rec_inv_sqrt_q16 >= 1));
}

static void fill_pie(struct qw_pie_params *p, struct input *in)
{
	p->target_ns = number(in, 0, 10 * QW_NS_PER_SEC);
	p->tupdate_ns = number(in, 1, QW_NS_PER_SEC);
	p->alpha_q32 = number(in, 0, 2ULL << 32);
	p->beta_q32 = number(in, 0, 2ULL << 32);
	p->max_burst_ns = number(in, 0, 10 * QW_NS_PER_SEC);
	p->ecn_threshold_q32 = number(in, 0, 1ULL << 32);
	p->mtu_bytes = number32(in, 0, 65535);
	p->ecn = number32(in, 0, 1);
	p->bytemode = number32(in, 0, 1);
	p->rate_estimator = number32(in, 0, 1);
}

static void check_pie(const struct qw_pie *s)
{
	CHECK(s->prob_q56 <= QW_PIE_ONE_Q56);
	CHECK(s->accu_q56 <= 10 * QW_PIE_ONE_Q56);
	CHECK(s->burst_ns <= 10 * QW_NS_PER_SEC);
}

static void fill_titrate(struct qw_titrate_params *p, struct input *in)
{
	p->window_ns = number(in, QW_NS_PER_MS, 4 * QW_NS_PER_SEC);
	p->sample_ns = number(in, QW_NS_PER_US, QW_NS_PER_SEC);
	p->threshold_bytes = number(in, 0, QW_TITRATE_MAX_BYTES);
	p->mi_thresh_bytes = number(in, 0, QW_TITRATE_MAX_BYTES);
	p->initial_ns = number(in, 0, 10 * QW_NS_PER_SEC);
	p->min_bytes = number(in, 0, 1ULL << 30);
	p->rules = number32(in, 0, QW_TITRATE_ARTIFACT);
	p->strategy = number32(in, 0, QW_TITRATE_PI);
	p->mi_thresh = number32(in, 0, 1);
	p->eqlen = number32(in, 0, QW_TITRATE_EQLEN_FILTERED);
	p->samples = number32(in, 1, QW_TITRATE_MAX_SAMPLES);
	p->tolerance_q16 = number32(in, 0, 16u << 16);
	p->c_inc_q16 = number32(in, 0, 16u << 16);
	p->c_dec_q16 = number32(in, 0, 1024u << 16);
	p->c_thresh_q16 = number32(in, 0, 64u << 16);
	p->max_increase = number32(in, 1, 1u << 20);
	p->forget = number32(in, 0, 1000);
	p->kp_q16 = number32(in, 0, 16u << 16);
	p->ki_q16 = number32(in, 0, 16u << 16);
	p->mtu_bytes = number32(in, 64, 65536);
	p->ecn = number32(in, 0, 1);
}

static void check_titrate(const struct qw_titrate *s)
{
	CHECK(s->threshold_bytes <= QW_TITRATE_MAX_BYTES);
	CHECK(s->intervals <= 2);
	CHECK(s->sampled <= QW_TITRATE_MAX_SAMPLES && s->kept <= s->sampled);
}

/* ---- one face for all ---- */

#define KIND(X) KIND_##X,
enum { QW_DISCIPLINES(KIND) KINDS };

struct instance {
	unsigned kind;
#define MEMBERS(X)                         \
	struct qw_##X##_params X##_params; \
	struct qw_##X X##_state;
	QW_DISCIPLINES(MEMBERS)
};

static void init(struct instance *d, struct input *in, qw_u64 now)
{
	switch (d->kind) {
#define INIT(X)                                                    \
	case KIND_##X:                                             \
		fill_##X(&d->X##_params, in);                      \
		qw_##X##_init(&d->X##_state, &d->X##_params, now); \
		break;
		QW_DISCIPLINES(INIT)
	}
}

static void check_state(const struct instance *d)
{
	switch (d->kind) {
#define STATE(X)                          \
	case KIND_##X:                    \
		check_##X(&d->X##_state); \
		break;
		QW_DISCIPLINES(STATE)
	}
}

static struct qw_verdict enqueue(struct instance *d, qw_u64 now,
				 const struct qw_queue *q,
				 const struct qw_packet *k, qw_u32 random)
{
	switch (d->kind) {
#define ENQUEUE(X)                                                             \
	case KIND_##X:                                                         \
		return qw_##X##_enqueue(&d->X##_state, &d->X##_params, now, q, \
					k, random);
		QW_DISCIPLINES(ENQUEUE)
	}
	return qw_pass();
}

static struct qw_verdict dequeue(struct instance *d, qw_u64 now,
				 const struct qw_queue *q,
				 const struct qw_packet *k)
{
	switch (d->kind) {
#define DEQUEUE(X)                                                             \
	case KIND_##X:                                                         \
		return qw_##X##_dequeue(&d->X##_state, &d->X##_params, now, q, \
					k);
		QW_DISCIPLINES(DEQUEUE)
	}
	return qw_pass();
}

static void idle(struct instance *d, qw_u64 now)
{
	switch (d->kind) {
#define IDLE(X)                                                    \
	case KIND_##X:                                             \
		qw_##X##_idle(&d->X##_state, &d->X##_params, now); \
		break;
		QW_DISCIPLINES(IDLE)
	}
}

/* ---- the host ---- */

#define SLOTS 1024u

struct host {
	struct instance d;
	struct qw_queue q;
	struct qw_packet slot[SLOTS];
	unsigned head;
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

static void arrive(struct host *h, struct input *in)
{
	qw_u64 shape = byte(in);
	struct qw_packet k;
	struct qw_verdict v;
	int over;

	k.enqueue_ns = h->now;
	k.bytes = shape & 4 ? 1500u : number32(in, 1, 65535);
	k.flow = 0;
	k.ecn = (qw_u32)shape & 3;
	if (h->q.packets == SLOTS)
		return;
	over = qw_over_limit(&h->q, &k);
	v = enqueue(&h->d, h->now, &h->q, &k, number32(in, 0, 0xffffffffu));
	check_verdict(v, &k);
	CHECK((v.reason == QW_REASON_LIMIT) == over);
	CHECK(!over || v.action == QW_DROP);
	h->offered++;
	if (v.action == QW_DROP) {
		h->dropped++;
		return;
	}
	if (v.action == QW_MARK)
		k.ecn = QW_CE;
	h->slot[(h->head + h->q.packets++) % SLOTS] = k;
	h->q.bytes += k.bytes;
}

static void transmit(struct host *h)
{
	while (h->q.packets) {
		struct qw_packet k = h->slot[h->head];
		struct qw_verdict v;

		h->head = (h->head + 1) % SLOTS;
		h->q.packets--;
		h->q.bytes -= k.bytes;
		v = dequeue(&h->d, h->now, &h->q, &k);
		check_verdict(v, &k);
		CHECK(v.reason != QW_REASON_LIMIT);
		if (v.action != QW_DROP) {
			h->sent++;
			return;
		}
		h->dropped++;
	}
	idle(&h->d, h->now);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	/* Too big for a stack, and the same memory each time finds reads of what
	 * init forgot. */
	static struct host host;
	struct host *h = &host;
	struct input in;

	in.at = data;
	in.end = data + size;
	h->d.kind = (unsigned)byte(&in) % KINDS;
	h->now = number(&in, 0, 1ULL << 60);
	init(&h->d, &in, h->now);
	h->q.bytes = 0;
	h->q.packets = 0;
	h->q.limit_bytes = number(&in, 0, 1ULL << 40);
	h->q.limit_packets = number32(&in, 0, SLOTS);
	h->head = 0;
	h->offered = h->dropped = h->sent = 0;

	while (in.at < in.end) {
		qw_u64 op = byte(&in), times = 1 + (op >> 2) % 32;

		switch (op & 3) {
		case 0: /* up to 18 minutes */
			h->now += number(&in, 0, 1ULL << 40);
			break;
		case 1: /* at the pace of a link of 1.5 Mbit/s .. 1.5 Gbit/s */
			for (; times; times--) {
				arrive(h, &in);
				h->now += 8000ULL << (op >> 5);
			}
			break;
		case 2:
			for (; times; times--) {
				transmit(h);
				h->now += 8000ULL << (op >> 5);
			}
			break;
		default:
			arrive(h, &in);
			transmit(h);
			h->now += number(&in, 0, 20 * QW_NS_PER_MS);
		}
		check_state(&h->d);
		CHECK(h->offered == h->dropped + h->sent + h->q.packets);
	}
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
	printf("%lu random sequences, %u queue managers: ok\n", sequences,
	       (unsigned)KINDS);
	return 0;
}
#endif
