/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Checks cca/copa.h against the paper of NSDI 2018. */
#define QW_COPA_MODES 1
#include "copa.h"
#define CONTROL copa
#define CONTROL_EVENTS QW_COPA_CCA
#include "link.h"

_Static_assert(sizeof(struct qw_copa) <= QW_CCA_STATE, "the state's size");

/* The velocity, round by round. */
static void velocity(void)
{
	const qw_u32 should[] = { 1, 1, 2, 4, 8, 16 };
	struct qw_copa s;
	struct qw_conn c;
	qw_u32 i;

	memset(&s, 0, sizeof(s));
	memset(&c, 0, sizeof(c));
	c.cwnd = 10;
	qw_copa_init(&s, &c, SEC);
	for (i = 0; i < 6; i++) {
		s.window += 1000;
		qw_copa_direction(&s);
		CHECK(s.velocity == should[i], "round %u: %u", i, s.velocity);
	}
	s.window -= 5000;
	qw_copa_direction(&s);
	CHECK(s.velocity == 1, "after a turn: %u", s.velocity);
	for (i = 0; i < 3; i++) {
		s.window -= 1000;
		qw_copa_direction(&s);
	}
	CHECK(s.velocity == 2, "three more: %u", s.velocity);
}

/* Towards packets / dq: 2 standing / dq packets. */
static void target(void)
{
	struct qw_copa s;
	struct qw_conn c;

	memset(&s, 0, sizeof(s));
	memset(&c, 0, sizeof(c));
	c.cwnd = 20;
	qw_copa_init(&s, &c, SEC);
	s.min_rtt.least = 40000;
	s.standing.least = 44000;
	/* 2 * 44 / 4 = 22 packets. */
	CHECK(qw_copa_wants_more(&s), "20 of 22");
	s.window = 23ULL << QW_COPA_SHIFT;
	CHECK(!qw_copa_wants_more(&s), "23 of 22");
	s.standing.least = 40000;
	CHECK(qw_copa_wants_more(&s), "no queue at all");
	/* A round trip at velocity 1 is two packets. */
	s.slow_start = 0;
	s.window = 1000ULL << QW_COPA_SHIFT;
	qw_copa_step(&s, 1000);
	CHECK(s.window == 1002ULL << QW_COPA_SHIFT, "window %llu",
	      s.window >> QW_COPA_SHIFT);
	s.standing.least = 80000;
	qw_copa_step(&s, 1);
	CHECK(s.window < 1002ULL << QW_COPA_SHIFT &&
		      s.window > 1001ULL << QW_COPA_SHIFT,
	      "window %llu", s.window);
	/* Never more than double. */
	s.standing.least = 40000;
	s.up = 1;
	s.velocity = 1 << 19;
	s.window = 10ULL << QW_COPA_SHIFT;
	qw_copa_step(&s, 10);
	CHECK(s.window == 20ULL << QW_COPA_SHIFT, "window %llu",
	      s.window >> QW_COPA_SHIFT);
}

/* The filter of least values forgets after its window, and not before three
 * quarters of it. */
static void filter(void)
{
	struct qw_copa_least l;
	qw_u64 t;

	qw_copa_clear(&l, 0);
	qw_copa_take(&l, 5, 100, 0);
	for (t = 1; t < 75; t++) {
		qw_copa_take(&l, 9, 100, t);
		CHECK(l.least == 5, "%u at %llu", l.least, t);
	}
	for (; t <= 125; t++)
		qw_copa_take(&l, 9, 100, t);
	CHECK(l.least == 9, "%u", l.least);
	qw_copa_take(&l, 20, 100, 1000);
	CHECK(l.least == 20, "%u after a silence", l.least);
	/* Few values make the window no longer. */
	qw_copa_clear(&l, 0);
	qw_copa_take(&l, 40, 20, 0);
	for (t = 19; t <= 57; t += 19) {
		qw_copa_take(&l, 60, 20, t);
		CHECK(l.least == (t < 20 ? 40 : 60), "%u at %llu", l.least, t);
	}
}

/* The largest window and the longest round trip. */
static void ends(void)
{
	struct qw_rate_sample rs = { .acked_sacked = 1 };
	struct qw_copa s;
	struct qw_conn c;
	qw_u64 t = SEC;

	memset(&s, 0, sizeof(s));
	memset(&c, 0, sizeof(c));
	c.cwnd = 1u << 26;
	c.mss = PACKET;
	c.srtt_us = 100000000u * 8;
	qw_copa_init(&s, &c, t);
	CHECK(c.cwnd == QW_COPA_MAX_CWND, "window %u", c.cwnd);
	rs.rtt_us = 1;
	qw_copa_cong_control(&s, &c, &rs, t, 0);
	/* 100 s later the queue is as long: by far too much. */
	rs.rtt_us = 100000000;
	qw_copa_clear(&s.standing, t);
	qw_copa_cong_control(&s, &c, &rs, t, 0);
	CHECK(!qw_copa_wants_more(&s), "more, with %u us of queue",
	      s.standing.least - s.min_rtt.least);
}

/* A timeout halves 1 / delta as any loss; if it was for nothing, the window comes
 * back. */
static void timeouts(void)
{
	struct qw_rate_sample rs = { .acked_sacked = 1, .rtt_us = 40000 };
	struct qw_copa s;
	struct qw_conn c;

	memset(&s, 0, sizeof(s));
	memset(&c, 0, sizeof(c));
	c.cwnd = 100;
	c.mss = PACKET;
	c.srtt_us = 40000 << 3;
	qw_copa_init(&s, &c, SEC);
	s.slow_start = 0;
	s.competes = 1;
	s.packets = 40;
	c.prior_cwnd = 100;
	c.cwnd = 1;
	qw_copa_set_state(&s, &c, QW_CA_LOSS, SEC);
	c.ca_state = QW_CA_LOSS;
	CHECK(s.packets == 20, "1 / delta %u", s.packets);
	CHECK(s.window == 2ULL << QW_COPA_SHIFT && s.slow_start, "window %llu",
	      s.window >> QW_COPA_SHIFT);
	CHECK(qw_copa_undo_cwnd(&s, &c) == 100, "undone");
	c.cwnd = 100;
	qw_copa_set_state(&s, &c, QW_CA_OPEN, SEC);
	c.ca_state = QW_CA_OPEN;
	qw_copa_cong_control(&s, &c, &rs, SEC + MS, 0);
	CHECK(c.cwnd == 100 && !s.slow_start, "window %u", c.cwnd);
	/* A recovery that was none does not bring an old window back. */
	qw_copa_set_state(&s, &c, QW_CA_LOSS, SEC);
	c.ca_state = QW_CA_LOSS;
	qw_copa_set_state(&s, &c, QW_CA_OPEN, SEC);
	c.ca_state = QW_CA_OPEN;
	qw_copa_set_state(&s, &c, QW_CA_RECOVERY, SEC);
	qw_copa_undo_cwnd(&s, &c);
	CHECK(s.window == 2ULL << QW_COPA_SHIFT, "window %llu",
	      s.window >> QW_COPA_SHIFT);
}

/* The least round trip is that of 10 s. */
static void memory(void)
{
	struct qw_copa s;
	struct qw_conn c;
	struct qw_rate_sample rs = { .rtt_us = 40000, .acked_sacked = 1 };
	qw_u64 t;

	memset(&s, 0, sizeof(s));
	memset(&c, 0, sizeof(c));
	c.cwnd = 10;
	c.mss = PACKET;
	c.srtt_us = 40000 << 3;
	qw_copa_init(&s, &c, SEC);
	qw_copa_cong_control(&s, &c, &rs, SEC, 0);
	rs.rtt_us = 60000;
	for (t = SEC; t < 8 * SEC; t += 10 * MS) {
		qw_copa_cong_control(&s, &c, &rs, t, 0);
		CHECK(s.min_rtt.least == 40000, "%u", s.min_rtt.least);
	}
	for (; t < 14 * SEC; t += 10 * MS)
		qw_copa_cong_control(&s, &c, &rs, t, 0);
	CHECK(s.min_rtt.least == 60000, "%u", s.min_rtt.least);
}

/* Alone: a full link with about two packets waiting, slow start included. */
static void alone(struct net *n)
{
	struct flow *f;
	struct qw_copa *s;
	qw_u64 got, sum, rtts;
	double rtt, queued;

	net_init(n, 20 * MBIT, 1000);
	f = flow_add(n, 40 * MS, 0);
	s = (struct qw_copa *)(void *)&f->state;
	net_run(n, 2 * SEC);
	CHECK(!s->slow_start, "in slow start after 2 s");
	net_run(n, 8 * SEC);
	got = f->got;
	sum = f->rtt_sum_us;
	rtts = f->rtts;
	net_run(n, 30 * SEC);
	rtt = (double)(f->rtt_sum_us - sum) / 1e3 / (double)(f->rtts - rtts);
	queued = (rtt - 40.6) * capacity(n) / 1e3;
	CHECK(f->got - got > 0.93 * capacity(n) * 30, "throughput %f",
	      (double)(f->got - got) / capacity(n) / 30);
	CHECK(queued > 0.5 && queued < 7, "%f packets wait", queued);
	CHECK(!f->dropped, "lost %llu", f->dropped);
	CHECK(s->packets == 2 && !s->competes, "competes: %u", s->packets);
	printf("  alone: %.1f %% of the link, %.1f packets wait\n",
	       100 * (double)(f->got - got) / capacity(n) / 30, queued);
	net_free(n);
}

/* Random loss is no sign of anything. */
static void random_loss(struct net *n)
{
	struct flow *f;
	qw_u64 got;

	net_init(n, 20 * MBIT, 1000);
	n->loss_ppm = 10000;
	f = flow_add(n, 40 * MS, 0);
	net_run(n, 10 * SEC);
	got = f->got;
	net_run(n, 30 * SEC);
	CHECK(f->got - got > 0.85 * capacity(n) * 30, "throughput %f",
	      (double)(f->got - got) / capacity(n) / 30);
	printf("  1 %% of random loss: %.0f %% of the link\n",
	       100 * (double)(f->got - got) / capacity(n) / 30);
	net_free(n);
}

static void shares(struct net *n, qw_u32 flows)
{
	qw_u64 got[MAX_FLOWS];
	double sum = 0, squares = 0;
	qw_u32 i;

	net_init(n, 50 * MBIT, 1000);
	for (i = 0; i < flows; i++)
		flow_add(n, 40 * MS, i * SEC);
	net_run(n, 30 * SEC);
	for (i = 0; i < flows; i++)
		got[i] = n->flow[i]->got;
	net_run(n, 30 * SEC);
	for (i = 0; i < flows; i++) {
		double x = (double)(n->flow[i]->got - got[i]);

		sum += x;
		squares += x * x;
	}
	CHECK(sum * sum / squares / flows > 0.9, "fairness %f",
	      sum * sum / squares / flows);
	CHECK(sum > 0.9 * capacity(n) * 30, "throughput %f",
	      sum / capacity(n) / 30);
	printf("  %u flows: fairness %.3f, %.1f %% of the link\n", flows,
	       sum * sum / squares / flows, 100 * sum / capacity(n) / 30);
	net_free(n);
}

/* A queue that others keep full: it competes, and stops when they are gone. */
static void competition(struct net *n)
{
	struct flow *f;
	struct qw_copa *s;
	qw_u32 i, most = 0;

	net_init(n, 20 * MBIT, 1000);
	f = flow_add(n, 40 * MS, 0);
	s = (struct qw_copa *)(void *)&f->state;
	net_run(n, 3 * SEC);
	/* 60 ms of others' packets wait. */
	for (i = 0; i < 60; i++) {
		f->rtt_ns = 100 * MS;
		net_run(n, 50 * MS);
		most = s->packets > most ? s->packets : most;
	}
	CHECK(most > 5, "1 / delta grew to %u", most);
	fake_loss(f, 1);
	CHECK(s->packets <= most / 2 + 1 && s->packets >= 2, "halved to %u",
	      s->packets);
	undo(f);
	f->rtt_ns = 40 * MS;
	net_run(n, 3 * SEC);
	CHECK(!s->competes && s->packets == 2, "1 / delta %u", s->packets);
	/* A timeout. */
	n->loss_ppm = 1000000;
	while (!f->timeouts)
		net_run(n, MS);
	CHECK(f->c.cwnd <= 2, "window %u", f->c.cwnd);
	n->loss_ppm = 0;
	net_run(n, 10 * SEC);
	CHECK(f->c.cwnd > 50, "window %u after a timeout", f->c.cwnd);
	net_free(n);
}

int main(void)
{
	struct net *n = malloc(sizeof(*n));

	if (!n)
		return 2;
	velocity();
	target();
	filter();
	memory();
	ends();
	timeouts();
	alone(n);
	random_loss(n);
	shares(n, 2);
	shares(n, 5);
	competition(n);
	free(n);
	printf("copa: %d checks, %d failed\n", checks, failures);
	return failures != 0;
}
