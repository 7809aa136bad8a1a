/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Checks cca/prague.h against draft-briscoe-iccrg-prague-congestion-control: its
 * arithmetic by hand, and its laws in steady state on a small model of a link.
 */
#include <math.h>

#include "prague.h"
#define CONTROL prague
#define CONTROL_EVENTS QW_PRAGUE_CCA
#include "link.h"

_Static_assert(sizeof(struct qw_prague) <= QW_CCA_STATE, "the state's size");
static int near(double is, double should, double by)
{
	return is >= should * (1 - by) && is <= should * (1 + by);
}

static double alpha(const struct qw_prague *s)
{
	return s->alpha / 16.0 / QW_PRAGUE_ONE;
}

static double window(const struct qw_prague *s)
{
	return (double)s->window / QW_PRAGUE_ONE;
}

/* A connection of so many packets and a round trip in microseconds. */
static void connect(struct qw_prague *s, struct qw_conn *c, qw_u32 cwnd,
		    qw_u32 rtt_us)
{
	memset(s, 0, sizeof(*s));
	memset(c, 0, sizeof(*c));
	c->cwnd = cwnd;
	c->ssthresh = cwnd;
	c->mss = PACKET;
	c->srtt_us = rtt_us << 3;
	c->is_cwnd_limited = 1;
	c->pacing_rate = QW_UNPACED;
	qw_prague_init(s, c, SEC);
}

/* A round of `cwnd` packets, so many of them marked. */
static void round_of(struct qw_prague *s, struct qw_conn *c, qw_u32 packets,
		     qw_u32 marked, qw_u64 now)
{
	c->snd_una = c->snd_nxt;
	c->snd_nxt += packets;
	c->delivered += packets;
	c->delivered_ce += marked;
	qw_prague_round(s, c, now);
}

/* Alpha's average by hand. */
static void average(void)
{
	struct qw_prague s;
	struct qw_conn c;
	qw_u64 now = SEC;
	double was;
	int i;

	connect(&s, &c, 100, 40000);
	/* Not before the first mark. */
	round_of(&s, &c, 100, 100, now += 40 * MS);
	CHECK(alpha(&s) == 0, "alpha %f", alpha(&s));
	s.marked = 1;
	round_of(&s, &c, 100, 100, now += 40 * MS);
	CHECK(near(alpha(&s), 1.0 / 16, 1e-4), "alpha %f", alpha(&s));
	round_of(&s, &c, 100, 100, now += 40 * MS);
	CHECK(near(alpha(&s), 0.12109, 1e-3), "alpha %f", alpha(&s));
	for (i = 0; i < 20; i++) {
		was = alpha(&s);
		round_of(&s, &c, 100, 0, now += 40 * MS);
		CHECK(near(alpha(&s), was * 15 / 16, 1e-3), "alpha %f of %f",
		      alpha(&s), was);
	}
	for (i = 0; i < 400; i++)
		round_of(&s, &c, 100, 10, now += 40 * MS);
	CHECK(near(alpha(&s), 0.1, 1e-3), "alpha %f", alpha(&s));
	for (i = 0; i < 400; i++)
		round_of(&s, &c, 100, 100, now += 40 * MS);
	CHECK(alpha(&s) <= 1 && alpha(&s) > 0.999, "alpha %f", alpha(&s));
	/* Once a round: the same round again changes nothing. */
	was = alpha(&s);
	qw_prague_round(&s, &c, now + 40 * MS);
	CHECK(alpha(&s) == was, "alpha %f of %f", alpha(&s), was);
	/* Where round trips are alike, once in 25 ms. */
	connect(&s, &c, 100, 5000);
	s.marked = 1;
	s.rounds = QW_PRAGUE_ROUNDS;
	for (i = 0; i < 10; i++)
		round_of(&s, &c, 100, 100, now += 5 * MS);
	CHECK(near(alpha(&s), 1 - pow(15.0 / 16, 2), 0.05) ||
		      near(alpha(&s), 1 - pow(15.0 / 16, 3), 0.05),
	      "alpha %f after 50 ms", alpha(&s));
	/* But slow start does not wait. */
	connect(&s, &c, 100, 5000);
	s.marked = 1;
	s.rounds = QW_PRAGUE_ROUNDS;
	c.ssthresh = 200;
	for (i = 0; i < 4; i++)
		round_of(&s, &c, 100, 100, now += 5 * MS);
	CHECK(near(alpha(&s), 1 - pow(15.0 / 16, 4), 0.01),
	      "alpha %f after 4 rounds of slow start", alpha(&s));
}

/* A mark is echoed. */
static void mark(struct qw_prague *s, struct qw_conn *c, qw_u64 now)
{
	c->delivered_ce++;
	qw_prague_set_state(s, c, QW_CA_CWR, now);
	s->last_ce = c->delivered_ce;
}

/* What marks and losses take. */
static void cuts(void)
{
	struct qw_prague s;
	struct qw_conn c;
	qw_u64 now = SEC;
	int i;

	/* The first mark halves. */
	connect(&s, &c, 100, 40000);
	mark(&s, &c, now);
	CHECK(window(&s) == 50, "window %f", window(&s));
	CHECK(alpha(&s) == (QW_PRAGUE_CODE ? 0 : 1), "alpha %f", alpha(&s));
	/* Alpha 0.1. */
	connect(&s, &c, 100, 40000);
	s.marked = 1;
	s.alpha = (qw_u32)(0.1 * 16 * QW_PRAGUE_ONE);
	mark(&s, &c, now);
	CHECK(near(window(&s), 95, 1e-4), "window %f", window(&s));
	/* Alpha 1, and never below two packets. */
	s.alpha = 16 * QW_PRAGUE_ONE;
	mark(&s, &c, now);
	CHECK(near(window(&s), 47.5, 1e-4), "window %f", window(&s));
	for (now = SEC; now < 2 * SEC; now += 50 * MS)
		mark(&s, &c, now);
	CHECK(window(&s) == 2, "window %f", window(&s));
	/* Once in 25 ms where round trips are alike. */
	connect(&s, &c, 100, 5000);
	s.marked = 1;
	s.rounds = QW_PRAGUE_ROUNDS;
	s.alpha = (qw_u32)(0.1 * 16 * QW_PRAGUE_ONE);
	for (now = SEC; now < SEC + 50 * MS; now += 5 * MS)
		mark(&s, &c, now);
	CHECK(near(window(&s), 100 * 0.95 * 0.95, 1e-3), "window %f",
	      window(&s));
	/* Nor there. */
	c.ssthresh = 200;
	mark(&s, &c, now);
	CHECK(near(window(&s), 100 * 0.95 * 0.95 * 0.95, 1e-3), "window %f",
	      window(&s));
	/* The largest window there is, and beyond. */
	connect(&s, &c, 1u << 26, 40000);
	CHECK(c.cwnd == QW_PRAGUE_MAX_CWND, "window %u", c.cwnd);
	mark(&s, &c, now);
	CHECK(window(&s) == QW_PRAGUE_MAX_CWND / 2, "window %f", window(&s));
	/* A loss halves whatever alpha is, once a recovery. */
	connect(&s, &c, 100, 40000);
	qw_prague_set_state(&s, &c, QW_CA_RECOVERY, now);
	c.ca_state = QW_CA_RECOVERY;
	CHECK(window(&s) == 50, "window %f", window(&s));
	CHECK(c.ssthresh == 50, "ssthresh %u", c.ssthresh);
	qw_prague_set_state(&s, &c, QW_CA_LOSS, now);
	c.ca_state = QW_CA_LOSS;
	CHECK(window(&s) == 50, "window %f", window(&s));
	qw_prague_grow(&s, &c, 1000);
	CHECK(window(&s) == 50, "grew to %f while losses are repaired",
	      window(&s));
	/* A loss that was none. */
	CHECK(qw_prague_undo_cwnd(&s, &c) == 100, "undone");
	CHECK(window(&s) == 100, "window %f", window(&s));
	qw_prague_set_state(&s, &c, QW_CA_OPEN, now);
	c.ca_state = QW_CA_OPEN;
	qw_prague_grow(&s, &c, 100);
	CHECK(near(window(&s), 101, 1e-4), "window %f", window(&s));
	/* So does a timeout, and one that comes after it got something through. */
	connect(&s, &c, 100, 40000);
	for (i = 1; i <= 2; i++) {
		qw_prague_cwnd_event(&s, &c, QW_EVENT_LOSS, now);
		qw_prague_set_state(&s, &c, QW_CA_LOSS, now);
		c.ca_state = QW_CA_LOSS;
		CHECK(window(&s) == 100 >> i, "window %f", window(&s));
		CHECK(c.ssthresh == 100u >> i, "ssthresh %u", c.ssthresh);
	}
	CHECK(qw_prague_undo_cwnd(&s, &c) == 100, "undone");
	CHECK(window(&s) == 50, "window %f", window(&s));
	/* A tail loss that a probe repaired goes through CWR: a loss, to the
	 * code a mark, and no sign of marks to either. */
	connect(&s, &c, 100, 40000);
	qw_prague_set_state(&s, &c, QW_CA_CWR, now);
	CHECK(window(&s) == (QW_PRAGUE_CODE ? 100 : 50), "window %f",
	      window(&s));
	CHECK(!s.marked && !alpha(&s), "alpha %f", alpha(&s));
	s.window = 100ULL << QW_PRAGUE_SHIFT;
	mark(&s, &c, now += 40 * MS);
	CHECK(window(&s) == 50, "window %f", window(&s));
	/* A loss after marks in the same round: a quarter is left. */
	connect(&s, &c, 100, 40000);
	mark(&s, &c, now);
	qw_prague_set_state(&s, &c, QW_CA_RECOVERY, now);
	CHECK(window(&s) == 25, "window %f", window(&s));
}

/* What a round trip adds. */
static void growth(void)
{
	struct qw_prague s;
	struct qw_conn c;
	struct qw_rate_sample rs = { .acked_sacked = 1 };
	int i;

	connect(&s, &c, 10, 25000);
	s.rounds = QW_PRAGUE_ROUNDS;
	for (i = 0; i < 10; i++)
		qw_prague_grow(&s, &c, 1);
	CHECK(near(window(&s), 11, QW_PRAGUE_CODE ? 0.004 : 1e-4), "window %f",
	      window(&s));
	/* By the sender's window; by the code's own, with its fraction. */
	connect(&s, &c, 3, 25000);
	s.window = QW_PRAGUE_ONE * 9 / 4;
	qw_prague_grow(&s, &c, 1);
	CHECK(near(window(&s) - 2.25, QW_PRAGUE_CODE ? 1 / 2.25 : 1 / 3.0,
		   1e-5),
	      "grew %f", window(&s) - 2.25);
	/* (5/25)^2 of a packet. */
	connect(&s, &c, 10, 5000);
	s.rounds = QW_PRAGUE_ROUNDS;
	for (i = 0; i < 10; i++)
		qw_prague_grow(&s, &c, 1);
	CHECK(near(window(&s) - 10, 0.04, 3e-3), "grew %f", window(&s) - 10);
	/* However small a step is: 0.5 ms, 10000 packets. */
	connect(&s, &c, 10000, 500);
	s.rounds = QW_PRAGUE_ROUNDS;
	for (i = 0; i < 10000; i++)
		qw_prague_grow(&s, &c, 1);
	CHECK(near(window(&s) - 10000, 0.0004, 0.01), "grew %f",
	      window(&s) - 10000);
	/* Nor a short round trip: (0.02/25)^2 in 10000 rounds of 10 packets,
	 * (0.001/25)^2 in a million. */
	connect(&s, &c, 10, 20);
	s.rounds = QW_PRAGUE_ROUNDS;
	for (i = 0; i < 100000; i++)
		qw_prague_grow(&s, &c, 1);
	CHECK(near(window(&s) - 10, 0.0064, 0.01), "grew %f", window(&s) - 10);
	connect(&s, &c, 10, 1);
	s.rounds = QW_PRAGUE_ROUNDS;
	for (i = 0; i < 10000000; i++)
		qw_prague_grow(&s, &c, 1);
	CHECK(near(window(&s) - 10, 0.0016, 0.03), "grew %f", window(&s) - 10);
	/* Not in the first rounds. */
	connect(&s, &c, 10, 5000);
	s.rounds = QW_PRAGUE_ROUNDS - 1;
	for (i = 0; i < 10; i++)
		qw_prague_grow(&s, &c, 1);
	CHECK(near(window(&s), 11, QW_PRAGUE_CODE ? 0.004 : 1e-4), "window %f",
	      window(&s));
	/* Nor unless the window is what limits. */
	c.is_cwnd_limited = 0;
	qw_prague_grow(&s, &c, 100);
	CHECK(near(window(&s), 11, QW_PRAGUE_CODE ? 0.004 : 1e-4), "window %f",
	      window(&s));
	/* Marked packets add nothing: 1 - p. */
	connect(&s, &c, 10, 25000);
	s.rounds = QW_PRAGUE_ROUNDS;
	c.ca_state = QW_CA_CWR;
	for (i = 0; i < 10; i++) {
		c.delivered++;
		c.delivered_ce += i == 3;
		c.cwnd = 10;
		qw_prague_cong_control(&s, &c, &rs, SEC, 0);
	}
	CHECK(near(window(&s), 10.9, QW_PRAGUE_CODE ? 0.004 : 1e-3),
	      "window %f", window(&s));
	/* Slow start: a packet for each. */
	connect(&s, &c, 10, 25000);
	c.ssthresh = QW_INFINITE_SSTHRESH;
	qw_prague_grow(&s, &c, 10);
	CHECK(c.cwnd == 20 && window(&s) == 20, "window %u, %f", c.cwnd,
	      window(&s));
	/* Back from a timeout: up to the halved window and no further. */
	connect(&s, &c, 100, 25000);
	qw_prague_cwnd_event(&s, &c, QW_EVENT_LOSS, SEC);
	c.cwnd = 1;
	qw_prague_set_state(&s, &c, QW_CA_LOSS, SEC);
	qw_prague_set_state(&s, &c, QW_CA_OPEN, SEC);
	for (i = 0; i < 60; i++) {
		c.delivered++;
		qw_prague_cong_control(&s, &c, &rs, SEC, 0);
	}
	CHECK(c.cwnd >= 50 && c.cwnd <= 52, "window %u", c.cwnd);
}

/* A window a round trip, twice in slow start; bursts of 244 us. */
static void pacing(void)
{
	struct qw_prague s;
	struct qw_conn c;

	CHECK(QW_PRAGUE_FLAGS ==
		      (QW_CCA_NEEDS_ECN | QW_CCA_ECT1 | QW_CCA_BURSTS),
	      "is to send ECT(1)");
	connect(&s, &c, 100, 10000);
	CHECK(c.pacing, "not paced");
	CHECK(c.pacing_rate == 15000000, "rate %llu", c.pacing_rate);
	/* The code sways by a 32nd, from 4 packets down. */
	s.marked = 1;
	s.rounds = QW_PRAGUE_ROUNDS;
	qw_prague_pace(&s, &c, SEC);
	CHECK(c.pacing_rate == 15000000, "rate %llu", c.pacing_rate);
	c.cwnd = 4;
	c.ssthresh = 4;
	qw_prague_pace(&s, &c, SEC + 12 * MS);
	CHECK(c.pacing_rate == (QW_PRAGUE_CODE ? 618750 : 600000), "rate %llu",
	      c.pacing_rate);
	qw_prague_pace(&s, &c, SEC + 13 * MS);
	CHECK(c.pacing_rate == (QW_PRAGUE_CODE ? 581250 : 600000), "rate %llu",
	      c.pacing_rate);
	/* And has a least rate. */
	connect(&s, &c, 2, 1000000);
	CHECK(c.pacing_rate == (QW_PRAGUE_CODE ? 12500 : 3000), "rate %llu",
	      c.pacing_rate);
	connect(&s, &c, 100, 10000);
	c.ssthresh = QW_INFINITE_SSTHRESH;
	qw_prague_pace(&s, &c, SEC);
	CHECK(c.pacing_rate == 30000000, "rate %llu", c.pacing_rate);
	CHECK(qw_prague_min_tso_segs(&s, &c) == 4, "burst %u",
	      qw_prague_min_tso_segs(&s, &c));
	c.pacing_rate = 1000000;
	CHECK(qw_prague_min_tso_segs(&s, &c) == 1, "burst %u",
	      qw_prague_min_tso_segs(&s, &c));
	c.pacing_rate = 10000000000ULL;
	CHECK(qw_prague_min_tso_segs(&s, &c) == 43, "burst %u",
	      qw_prague_min_tso_segs(&s, &c));
}

struct result {
	double mbit, rtt_ms, alpha, marks, cwnd;
};

/* A flow alone, after half of `secs`. */
static struct result steady(struct net *n, qw_u64 mbit, qw_u64 rtt_ms,
			    qw_u32 mark_ppm, qw_u64 step_us, qw_u64 secs)
{
	struct flow *f;
	struct qw_prague *s;
	struct result r;
	qw_u64 got, marked, sum, rtts, alphas = 0, i;

	net_init(n, mbit * MBIT, 5000);
	n->mark_ppm = mark_ppm;
	n->step_ns = step_us * QW_NS_PER_US;
	f = flow_add(n, rtt_ms * MS, 0);
	f->ecn = 1;
	s = (struct qw_prague *)(void *)&f->state;
	net_run(n, secs * SEC / 2);
	got = f->got;
	marked = n->marked;
	sum = f->rtt_sum_us;
	rtts = f->rtts;
	for (i = 0; i < 1000; i++) {
		net_run(n, secs * SEC / 2000);
		alphas += s->alpha;
	}
	got = f->got - got;
	r.mbit = (double)got * PACKET * 8 / 1e6 / ((double)secs / 2);
	r.rtt_ms =
		(double)(f->rtt_sum_us - sum) / 1e3 / (double)(f->rtts - rtts);
	r.marks = (double)(n->marked - marked) / ((double)secs / 2) * r.rtt_ms /
		  1e3;
	r.alpha = (double)alphas / 1000 / 16 / QW_PRAGUE_ONE;
	r.cwnd = (double)got * r.rtt_ms / 1e3 / ((double)secs / 2);
	CHECK(!f->dropped && !f->timeouts, "lost %llu", f->dropped);
	net_free(n);
	return r;
}

/*
 * Random marks. The fluid law is a cut of W p / 2 and a growth of 1 - p in each
 * 25 ms: (1/p - 1) 0.96 Mbit/s for 1500-byte packets. A sender in CWR cuts once
 * a round and then waits for the next mark, 1/(p W) rounds on average: cuts come
 * every T = 1 + 1/(2 T) rounds, T = 1.37, and the window is T times as large.
 */
static void random_marks(struct net *n)
{
	const double law = 99 * 0.96;
	struct result r[5];
	const qw_u64 rtt[5] = { 1, 5, 10, 25, 50 };
	int i;

	for (i = 0; i < 5; i++) {
		r[i] = steady(n, 1000, rtt[i], 10000, 0, 60);
		CHECK(near(r[i].alpha, 0.01, 0.2), "alpha %f", r[i].alpha);
		printf("  1 %% of marks, %2llu ms: %.0f Mbit/s (law %.0f to "
		       "%.0f)\n",
		       rtt[i], r[i].mbit, rtt[i] > 25 ? law / 2 : law,
		       1.37 * (rtt[i] > 25 ? law / 2 : law));
	}
	for (i = 0; i < 4; i++) {
		CHECK(r[i].mbit > 0.95 * law && r[i].mbit < 1.55 * law,
		      "%llu ms: %f Mbit/s", rtt[i], r[i].mbit);
		CHECK(near(r[i].mbit, r[3].mbit, 0.2),
		      "%llu ms: %f Mbit/s, 25 ms: %f", rtt[i], r[i].mbit,
		      r[3].mbit);
	}
	/* Longer round trips are not made alike. */
	CHECK(near(r[4].mbit, r[3].mbit / 2, 0.15), "50 ms: %f, 25 ms: %f",
	      r[4].mbit, r[3].mbit);
	/* 2 to 2.7 marks a round at 25 ms and above. */
	CHECK(r[4].marks > 1.9 && r[4].marks < 3.1, "%f marks", r[4].marks);
	/* Ten times the marks, a tenth of the rate (9/99). */
	r[1] = steady(n, 1000, 25, 100000, 0, 60);
	CHECK(near(r[1].mbit / r[3].mbit, 9.0 / 99, 0.25), "%f Mbit/s",
	      r[1].mbit);
	/* Under very many marks two packets stay. */
	r[1] = steady(n, 1000, 5, 900000, 0, 20);
	CHECK(near(r[1].cwnd, 2, 0.25), "%f packets", r[1].cwnd);
}

/* A step: alpha is sqrt(2 / W) (Alizadeh et al., DCTCP, SIGCOMM 2010), the link
 * is full and the queue near the step. */
static void step(struct net *n)
{
	const qw_u64 rtt[3] = { 5, 20, 40 };
	struct result r;
	int i;

	for (i = 0; i < 3; i++) {
		r = steady(n, 100, rtt[i], 0, 1000, 60);
		CHECK(r.mbit > 97, "%f Mbit/s", r.mbit);
		CHECK(r.rtt_ms < (double)rtt[i] + 1.6, "RTT %f", r.rtt_ms);
		/* Growth is slower where round trips are alike. */
		if (rtt[i] > 5)
			CHECK(near(r.alpha, sqrt(2 / r.cwnd), 0.65),
			      "alpha %f of W %f", r.alpha, r.cwnd);
		printf("  step at 1 ms, %2llu ms: %.1f %% of 100 Mbit/s, RTT "
		       "%.2f ms, alpha %.3f (sqrt(2/W) %.3f)\n",
		       rtt[i], r.mbit, r.rtt_ms, r.alpha, sqrt(2 / r.cwnd));
	}
}

/* Two flows of unlike round trips behind one step. */
static void shares(struct net *n)
{
	qw_u64 got[2];
	double ratio;
	qw_u32 i;

	net_init(n, 50 * MBIT, 5000);
	n->step_ns = MS;
	flow_add(n, 2 * MS, 0)->ecn = 1;
	flow_add(n, 24 * MS, 0)->ecn = 1;
	net_run(n, 60 * SEC);
	for (i = 0; i < 2; i++)
		got[i] = n->flow[i]->got;
	net_run(n, 60 * SEC);
	ratio = (double)(n->flow[0]->got - got[0]) /
		(double)(n->flow[1]->got - got[1]);
	CHECK(ratio > 0.4 && ratio < 2.5, "2 ms to 24 ms: %f", ratio);
	printf("  2 ms beside 24 ms: %.2f times its rate\n", ratio);
	net_free(n);
}

/* Loss without marks: Reno's sawtooth, and a timeout. */
static void losses(struct net *n)
{
	struct flow *f;
	qw_u64 got;

	net_init(n, 20 * MBIT, 60);
	f = flow_add(n, 30 * MS, 0);
	net_run(n, 10 * SEC);
	got = f->got;
	net_run(n, 30 * SEC);
	CHECK(f->got - got > 0.93 * capacity(n) * 30, "throughput %f",
	      (double)(f->got - got) / capacity(n) / 30);
	CHECK(f->recoveries > 3, "%u recoveries", f->recoveries);
	CHECK(!f->timeouts, "%u timeouts", f->timeouts);
	n->loss_ppm = 1000000;
	while (!f->timeouts)
		net_run(n, MS);
	CHECK(f->c.cwnd == 1, "window %u", f->c.cwnd);
	n->loss_ppm = 0;
	net_run(n, 10 * SEC);
	got = f->got;
	net_run(n, 10 * SEC);
	CHECK(f->got - got > 0.9 * capacity(n) * 10, "throughput %f",
	      (double)(f->got - got) / capacity(n) / 10);
	net_free(n);
}

int main(void)
{
	struct net *n = malloc(sizeof(*n));

	if (!n)
		return 2;
	average();
	cuts();
	growth();
	pacing();
	random_marks(n);
	step(n);
	shares(n);
	losses(n);
	free(n);
	printf("prague%s: %d checks, %d failed\n",
	       QW_PRAGUE_CODE ? " (code)" : "", checks, failures);
	return failures != 0;
}
