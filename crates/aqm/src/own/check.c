/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Random operations on a file of a user's own, under sanitizers, with a model
 * of a host that looks at each verdict: check FIRST SEQUENCES SECONDS, of which
 * it makes no more than it has time for. Filled in as own.c is.
 */
#include "table.h"

# 1 "@file@"
@text@
# 1 "check.c"
/* Of libc, whose headers the file must not see. */
int printf(const char *, ...);
void *calloc(__SIZE_TYPE__, __SIZE_TYPE__);
void free(void *);
void exit(int);
unsigned long strtoul(const char *, char **, int);
int memcmp(const void *, const void *, __SIZE_TYPE__);
long time(long *);

#ifndef QW_@X@_PROBES
#define QW_@X@_PROBES(V)
#endif

/* More than any buffer here holds. */
#define QW_CHECK_PLACES 2048u
#define QW_CHECK_OPERATIONS 400u

struct qw_check {
	struct qw_@x@_params *p, *before;
	struct qw_@x@ *s;
	struct qw_queue q;
	struct qw_packet ring[QW_CHECK_PLACES];
	qw_u32 head;
	qw_u64 now, dice, seen, sequence;
	qw_u64 passed, marked, dropped;
};

static void qw_check_fail(const struct qw_check *c, const char *what)
{
	printf("%s (sequence %llu)\n", what, c->sequence);
	exit(3);
}

/* xorshift64*. */
static qw_u64 qw_check_roll(struct qw_check *c)
{
	c->dice ^= c->dice >> 12;
	c->dice ^= c->dice << 25;
	c->dice ^= c->dice >> 27;
	return c->dice * 0x2545f4914f6cdd1dULL;
}

/* In least..most, all magnitudes alike: what breaks things are the small and
 * the huge. */
static qw_u64 qw_check_number(struct qw_check *c, qw_u64 least, qw_u64 most)
{
	qw_u64 span = most - least, v = qw_check_roll(c);

	v >>= qw_check_roll(c) % 64;
	return least + (span == ~0ULL ? v : v % (span + 1));
}

static void qw_check_params(struct qw_check *c)
{
	struct qw_@x@_params *p = c->p;

	(void)p;
#define QW_CHECK_PARAM(name, field, shift, least, most) \
	p->field = (__typeof__(p->field))qw_check_number(c, least, most);
	QW_@X@_PARAMS(QW_CHECK_PARAM)
	*c->before = *c->p;
}

static void qw_check_after(struct qw_check *c)
{
	const struct qw_@x@_params *p = c->p;
	const struct qw_@x@ *s = c->s;

	(void)p;
	(void)s;
	if (memcmp(c->p, c->before, sizeof(*c->p)))
		qw_check_fail(c, "it writes to its parameters");
#define QW_CHECK_PROBE(value, unit) c->seen = c->seen * 31 + (qw_u64)(value) + !(unit);
	QW_@X@_PROBES(QW_CHECK_PROBE)
}

/* What no verdict may be, wherever it is given. */
static void qw_check_verdict(struct qw_check *c, struct qw_verdict v,
			     const struct qw_packet *k)
{
	c->seen = c->seen * 31 + v.action * 7 + v.reason;
	if (v.action > QW_DROP || v.reason >= QW_REASONS)
		qw_check_fail(c, "a verdict that is none of QW_PASS, QW_MARK, QW_DROP, or whose reason is none of QW_REASON_*");
	if (v.action == QW_MARK && k->ecn == QW_NOT_ECT)
		qw_check_fail(c, "it marks a packet whose sender has no ECN; qw_mark_or_drop() asks");
	if (v.action != QW_PASS && v.reason == QW_REASON_NONE)
		qw_check_fail(c, "it marks or drops without a reason, QW_REASON_*");
	c->passed += v.action == QW_PASS;
	c->marked += v.action == QW_MARK;
	c->dropped += v.action == QW_DROP;
}

static void qw_check_arrive(struct qw_check *c)
{
	struct qw_packet k = { 0 };
	struct qw_verdict v;
	int full;

	k.enqueue_ns = c->now;
	k.bytes = (qw_u32)qw_check_number(c, 1, 65535);
	k.flow = (qw_u32)qw_check_roll(c);
	k.ecn = (qw_u32)qw_check_roll(c) % 4;
	k.protocol = qw_check_roll(c) % 2 ? QW_TCP : QW_UDP;
	full = qw_over_limit(&c->q, &k);
	v = qw_@x@_enqueue(c->s, c->p, c->now, &c->q, &k, (qw_u32)qw_check_roll(c));
	qw_check_verdict(c, v, &k);
	qw_check_after(c);
	if (v.action == QW_DROP)
		return;
	if (full)
		qw_check_fail(c, "qw_@x@_enqueue lets in what the buffer cannot hold; qw_over_limit() asks");
	if (!c->q.packets)
		c->q.head_ns = c->now;
	c->ring[(c->head + c->q.packets) % QW_CHECK_PLACES] = k;
	c->q.packets++;
	c->q.bytes += k.bytes;
}

static void qw_check_serve(struct qw_check *c)
{
	while (c->q.packets) {
		struct qw_packet k = c->ring[c->head];
		struct qw_verdict v;

		c->head = (c->head + 1) % QW_CHECK_PLACES;
		c->q.packets--;
		c->q.bytes -= k.bytes;
		c->q.head_ns = c->q.packets ? c->ring[c->head].enqueue_ns : 0;
		v = qw_@x@_dequeue(c->s, c->p, c->now, &c->q, &k);
		qw_check_verdict(c, v, &k);
		qw_check_after(c);
		if (v.action != QW_DROP)
			return;
	}
	qw_@x@_idle(c->s, c->p, c->now);
	qw_check_after(c);
}

/* One sequence; what was seen of it. */
static qw_u64 qw_check_sequence(struct qw_check *c, qw_u64 sequence)
{
	static const struct qw_queue none;
	qw_u64 operations, step;

	c->sequence = sequence;
	c->dice = (sequence + 1) * 0x9e3779b97f4a7c15ULL;
	c->seen = 0;
	c->head = 0;
	c->q = none;
	/* Each of its own size, so that what is behind it is noticed. */
	c->p = calloc(1, sizeof(*c->p));
	c->before = calloc(1, sizeof(*c->p));
	c->s = calloc(1, sizeof(*c->s));
	if (!c->p || !c->before || !c->s)
		exit(4);
	qw_check_params(c);
	c->now = qw_check_number(c, 0, 1ULL << 50);
	if (qw_check_roll(c) % 2)
		c->q.limit_bytes = qw_check_number(c, 1, 1ULL << 40);
	c->q.limit_packets = (qw_u32)qw_check_number(c, 1, QW_CHECK_PLACES - 1);
	qw_@x@_init(c->s, c->p, c->now);
	qw_check_after(c);
	step = qw_check_number(c, 1, 1ULL << 40);
	for (operations = 0; operations < QW_CHECK_OPERATIONS; operations++) {
		c->now += qw_check_number(c, 0, step);
		if (qw_check_roll(c) % 5 < 3)
			qw_check_arrive(c);
		else
			qw_check_serve(c);
	}
	free(c->p);
	free(c->before);
	free(c->s);
	return c->seen;
}

int main(int argc, char **argv)
{
	static struct qw_check c;
	qw_u64 first = argc > 1 ? strtoul(argv[1], 0, 10) : 0;
	qw_u64 most = argc > 2 ? strtoul(argv[2], 0, 10) : 1;
	long until = time(0) + (argc > 3 ? (long)strtoul(argv[3], 0, 10) : 1);
	qw_u64 i;

	for (i = first; i < first + most && (i == first || time(0) < until); i++)
		if (qw_check_sequence(&c, i) != qw_check_sequence(&c, i))
			qw_check_fail(&c, "the same packets do not get the same twice: it remembers something outside of struct qw_@x@, or reads what it has not set");
	printf("%llu sequences: %llu passed, %llu marked, %llu dropped\n", i - first, c.passed, c.marked, c.dropped);
	return 0;
}
