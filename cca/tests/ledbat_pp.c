/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Checks cca/ledbat_pp.h against draft-irtf-iccrg-ledbat-plus-plus. */
#include "ledbat_pp.h"
#define CONTROL ledbat_pp
#define CONTROL_EVENTS QW_LEDBAT_PP_CCA
#include "link.h"

_Static_assert(sizeof(struct qw_ledbat_pp) <= QW_CCA_STATE, "the state's size");

static int near(double is, double should, double by)
{
	return is >= should * (1 - by) && is <= should * (1 + by);
}

static double window(const struct qw_ledbat_pp *s, const struct qw_conn *c)
{
	return c->cwnd + (double)s->part / QW_LEDBAT_PP_ONE;
}

/* A connection in avoidance, with so much base and queueing delay (ms). */
static void connect(struct qw_ledbat_pp *s, struct qw_conn *c, qw_u32 cwnd,
		    qw_u32 base, qw_u32 delay)
{
	int i;

	memset(s, 0, sizeof(*s));
	memset(c, 0, sizeof(*c));
	c->srtt_us = base * 8000;
	qw_ledbat_pp_init(s, c, SEC);
	CHECK(c->cwnd == 2, "begins with %u", c->cwnd);
	for (i = 0; i < 4; i++)
		qw_ledbat_pp_pkts_acked(s, c, 1, (base + delay) * 1000, SEC);
	c->cwnd = cwnd;
	c->ssthresh = cwnd;
	c->is_cwnd_limited = 1;
	s->state = QW_LEDBAT_PP_AVOID;
	s->next_ns = ~0ULL;
}

/* What a round trip adds to 100 packets. */
static double step(qw_u32 base, qw_u32 delay)
{
	struct qw_ledbat_pp s;
	struct qw_conn c;
	int i;

	connect(&s, &c, 100, base, delay);
	/* Against the same window, as the rule is one of a round trip. */
	for (i = 0; i < 100; i++) {
		double was = window(&s, &c), is;

		qw_ledbat_pp_avoid(&s, &c, 1);
		is = window(&s, &c) - was;
		if (i)
			continue;
		return is * 100;
	}
	return 0;
}

static void arithmetic(void)
{
	struct qw_ledbat_pp s;
	struct qw_conn c;
	qw_u32 i;

	/* GAIN = 1 / min(16, ceil(120 ms / base)). */
	connect(&s, &c, 10, 20, 0);
	CHECK(qw_ledbat_pp_ungain(&s) == 6, "%u", qw_ledbat_pp_ungain(&s));
	connect(&s, &c, 10, 120, 0);
	CHECK(qw_ledbat_pp_ungain(&s) == 1, "%u", qw_ledbat_pp_ungain(&s));
	connect(&s, &c, 10, 300, 0);
	CHECK(qw_ledbat_pp_ungain(&s) == 1, "%u", qw_ledbat_pp_ungain(&s));
	connect(&s, &c, 10, 5, 0);
	CHECK(qw_ledbat_pp_ungain(&s) == 16, "%u", qw_ledbat_pp_ungain(&s));
	connect(&s, &c, 10, 50, 0);
	CHECK(qw_ledbat_pp_ungain(&s) == 3, "%u", qw_ledbat_pp_ungain(&s));
	/* Below the target GAIN a round trip. */
	CHECK(near(step(120, 0), 1, 0.01), "%f", step(120, 0));
	CHECK(near(step(20, 59), 1.0 / 6, 0.02), "%f", step(20, 59));
	/* Above: GAIN - W (delay / TARGET - 1), -W / 2 at most. */
	CHECK(near(-step(120, 66), 9, 0.02), "%f", step(120, 66));
	CHECK(near(-step(120, 75), 24, 0.02), "%f", step(120, 75));
	CHECK(near(-step(120, 90), 49, 0.02), "%f", step(120, 90));
	CHECK(near(-step(120, 200), 50, 0.02), "%f", step(120, 200));
	/* A little above the target it may still grow. */
	CHECK(near(-step(120, 61), 100.0 / 60 - 1, 0.03), "%f", step(120, 61));
	/* Never below two, and no growth that the window does not limit. */
	connect(&s, &c, 3, 20, 200);
	for (i = 0; i < 100; i++)
		qw_ledbat_pp_avoid(&s, &c, 1);
	CHECK(c.cwnd == 2 && !s.part, "window %u", c.cwnd);
	connect(&s, &c, 100, 120, 0);
	c.is_cwnd_limited = 0;
	qw_ledbat_pp_avoid(&s, &c, 100);
	CHECK(window(&s, &c) == 100, "window %f", window(&s, &c));
	/* A large window grows too: 1/16 of a packet in 10000 ACKs. */
	connect(&s, &c, 10000, 5, 0);
	for (i = 0; i < 10000; i++)
		qw_ledbat_pp_avoid(&s, &c, 1);
	CHECK(near(window(&s, &c) - 10000, 1.0 / 16, 0.001), "grew %f",
	      window(&s, &c) - 10000);
	/* The first slow start ends at 45 ms, one after a timeout does not,
	 * nor the way back from a slowdown. */
	for (i = 0; i < 2; i++) {
		connect(&s, &c, 10, 20, i ? 70 : 46);
		s.state = QW_LEDBAT_PP_FIRST;
		c.ssthresh = 100;
		if (i)
			qw_ledbat_pp_cwnd_event(&s, &c, QW_EVENT_LOSS, SEC);
		qw_ledbat_pp_cong_avoid(&s, &c, 6, SEC);
		CHECK(s.state == (i ? QW_LEDBAT_PP_FIRST : QW_LEDBAT_PP_AVOID),
		      "state %u", s.state);
		CHECK(c.cwnd == 10 + i, "window %u", c.cwnd);
	}
	connect(&s, &c, 10, 20, 70);
	s.state = QW_LEDBAT_PP_CLIMB;
	s.back = 12;
	for (i = 0; i < 2; i++)
		qw_ledbat_pp_cong_avoid(&s, &c, 6, SEC);
	CHECK(s.state == QW_LEDBAT_PP_CLIMB && c.cwnd == 12, "state %u, %u",
	      s.state, c.cwnd);
	qw_ledbat_pp_cong_avoid(&s, &c, 1, SEC);
	CHECK(s.state == QW_LEDBAT_PP_AVOID && c.cwnd == 12, "state %u, %u",
	      s.state, c.cwnd);
	/* Base: the least of ten minutes; current: of four samples. */
	connect(&s, &c, 10, 50, 0);
	qw_ledbat_pp_pkts_acked(&s, &c, 1, 40000, SEC);
	for (i = 1; i < 10; i++)
		qw_ledbat_pp_pkts_acked(&s, &c, 1, 80000, SEC + i * 60 * SEC);
	CHECK(s.base_us == 40000, "base %u", s.base_us);
	CHECK(qw_ledbat_pp_delay(&s) == 40000, "delay %u",
	      qw_ledbat_pp_delay(&s));
	qw_ledbat_pp_pkts_acked(&s, &c, 1, 80000, SEC + 10 * 60 * SEC);
	CHECK(s.base_us == 80000, "base %u", s.base_us);
	/* A loss halves; idling begins anew. */
	connect(&s, &c, 100, 50, 0);
	CHECK(qw_ledbat_pp_ssthresh(&s, &c, SEC) == 50, "half");
	c.cwnd = 3;
	CHECK(qw_ledbat_pp_ssthresh(&s, &c, SEC) == 2, "two");
	connect(&s, &c, 100, 50, 0);
	c.last_send_ns = SEC;
	qw_ledbat_pp_cwnd_event(&s, &c, QW_EVENT_TX_START, SEC + 50 * MS);
	CHECK(c.cwnd == 100, "window %u", c.cwnd);
	qw_ledbat_pp_cwnd_event(&s, &c, QW_EVENT_TX_START, 2 * SEC);
	CHECK(c.cwnd == 2 && s.state == QW_LEDBAT_PP_FIRST, "window %u",
	      c.cwnd);
}

static qw_u64 began[256], ended[256], left_first;
static qw_u32 slowdowns, last_state;

static void after(struct flow *f, qw_u64 now)
{
	struct qw_ledbat_pp *s = (struct qw_ledbat_pp *)(void *)&f->state;

	if (s->state == last_state)
		return;
	if (last_state == QW_LEDBAT_PP_FIRST)
		left_first = now;
	if (s->state == QW_LEDBAT_PP_DOWN && slowdowns < 256)
		began[slowdowns] = now;
	if (last_state == QW_LEDBAT_PP_CLIMB && slowdowns < 256)
		ended[slowdowns++] = now;
	last_state = s->state;
}

/* Alone: a full link, 60 ms of queue, and a slowdown for a tenth of the time. */
static void alone(struct net *n)
{
	struct flow *f;
	struct qw_ledbat_pp *s;
	qw_u64 sum, rtts, got;
	double rtt;
	qw_u32 i;

	net_init(n, 20 * MBIT, 1000);
	f = flow_add(n, 40 * MS, 0);
	f->after = after;
	slowdowns = 0;
	last_state = QW_LEDBAT_PP_FIRST;
	s = (struct qw_ledbat_pp *)(void *)&f->state;
	net_run(n, 60 * SEC);
	sum = f->rtt_sum_us;
	rtts = f->rtts;
	got = f->got;
	net_run(n, 60 * SEC);
	rtt = (double)(f->rtt_sum_us - sum) / 1e3 / (double)(f->rtts - rtts);
	got = f->got - got;
	CHECK(rtt > 70 && rtt < 103, "RTT %f", rtt);
	CHECK((double)got > 0.85 * capacity(n) * 60, "throughput %f",
	      (double)got / capacity(n) / 60);
	CHECK(!f->dropped, "lost %llu", f->dropped);
	CHECK(near(s->base_us, 40600, 0.02), "base %u", s->base_us);
	CHECK(began[0] - left_first >= 2 * 40 * MS &&
		      began[0] - left_first < 3 * 120 * MS,
	      "first slowdown after %llu", began[0] - left_first);
	CHECK(slowdowns > 5, "%u slowdowns", slowdowns);
	for (i = 0; i + 1 < slowdowns && i < 255; i++)
		CHECK(near((double)(began[i + 1] - ended[i]),
			   9.0 * (double)(ended[i] - began[i]), 0.03),
		      "slowdown of %llu, next after %llu", ended[i] - began[i],
		      began[i + 1] - ended[i]);
	printf("  alone: RTT %.1f ms of 40, %.0f %% of the link, %u slowdowns "
	       "in 2 min\n",
	       rtt, 100 * (double)got / capacity(n) / 60, slowdowns);
	net_free(n);
}

/* One that comes later gets its share: slowdowns show it the empty path. */
static void latecomer(struct net *n)
{
	double ratio;
	qw_u64 got[2];
	int i;

	net_init(n, 20 * MBIT, 1000);
	flow_add(n, 40 * MS, 0);
	flow_add(n, 40 * MS, 20 * SEC);
	net_run(n, 120 * SEC);
	for (i = 0; i < 2; i++)
		got[i] = n->flow[i]->got;
	net_run(n, 120 * SEC);
	ratio = (double)(n->flow[1]->got - got[1]) /
		(double)(n->flow[0]->got - got[0]);
	CHECK(ratio > 0.4 && ratio < 2.5, "latecomer has %f times as much",
	      ratio);
	printf("  a latecomer has %.2f times as much\n", ratio);
	net_free(n);
}

/* Others keep a long queue: it goes down to two packets. */
static void yields(struct net *n)
{
	struct flow *f;
	qw_u32 i;

	net_init(n, 20 * MBIT, 1000);
	f = flow_add(n, 40 * MS, 0);
	net_run(n, 10 * SEC);
	/* As if 100 ms of others' packets waited. */
	f->rtt_ns += 100 * MS;
	net_run(n, SEC);
	for (i = 0; i < 10; i++) {
		net_run(n, SEC);
		CHECK(f->c.cwnd <= 3, "window %u", f->c.cwnd);
	}
	f->rtt_ns -= 100 * MS;
	net_run(n, 30 * SEC);
	CHECK(f->c.cwnd > 30, "window %u once they are gone", f->c.cwnd);
	n->loss_ppm = 1000000;
	while (!f->timeouts)
		net_run(n, MS);
	n->loss_ppm = 0;
	net_run(n, 30 * SEC);
	CHECK(f->c.cwnd > 30, "window %u after a timeout", f->c.cwnd);
	net_free(n);
}

int main(void)
{
	struct net *n = malloc(sizeof(*n));

	if (!n)
		return 2;
	arithmetic();
	alone(n);
	latecomer(n);
	yields(n);
	free(n);
	printf("ledbat_pp: %d checks, %d failed\n", checks, failures);
	return failures != 0;
}
