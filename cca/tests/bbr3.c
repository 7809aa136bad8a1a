/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Checks cca/bbr3.h against draft-ietf-ccwg-bbr: its arithmetic by hand, and the
 * scenarios of its appendix "BBR Example Test Cases" on a small model of a link.
 * With QW_BBR3_CODE 1 the checks are those of Google's code where it differs.
 */
#include "bbr3.h"
#define CONTROL bbr3
#define CONTROL_EVENTS QW_BBR3_CCA
#include "link.h"

_Static_assert(sizeof(struct qw_bbr3) <= QW_CCA_STATE, "the state's size");

/* What a flow went through: one entry for each change of state. */
struct entry {
	qw_u64 at, got, rate;
	qw_u32 state, rounds, waited, inflight, cwnd, gain, lost, max_bw;
};

#define ENTRIES 4096
static struct entry entry[ENTRIES];
static qw_u32 entries;
/* At the start of each round of Startup. */
static qw_u32 startup_bw[64], startup_cwnd[64], startup_flat[64];
static qw_u32 stop_at; /* a state at which the run is to stop, or ~0 */
static int stopped;
static qw_u32 least_inflight, most_inflight, least_cwnd;
static qw_u64 low_since;

static struct qw_bbr3 *state(struct flow *f)
{
	return (struct qw_bbr3 *)(void *)&f->state;
}

static void after(struct flow *f, qw_u64 now)
{
	struct qw_bbr3 *s = state(f);
	qw_u32 in = qw_in_flight(&f->c);

	if (in < least_inflight)
		least_inflight = in;
	if (in > most_inflight)
		most_inflight = in;
	if (f->c.cwnd < least_cwnd)
		least_cwnd = f->c.cwnd;
	if (s->state == QW_BBR3_STARTUP && s->rounds < 64) {
		startup_bw[s->rounds] = qw_bbr3_max_bw(s);
		startup_cwnd[s->rounds] = f->c.cwnd;
		startup_flat[s->rounds] = s->full_bw_count;
	}
	if (entries && entry[entries - 1].state == s->state)
		return;
	if (entries < ENTRIES)
		entry[entries++] =
			(struct entry){ .at = now,
					.got = f->got,
					.rate = f->c.pacing_rate,
					.state = s->state,
					.rounds = s->rounds,
					.waited = s->rounds_since_probe,
					.inflight = in,
					.cwnd = f->c.cwnd,
					.gain = qw_bbr3_pacing_gain(s),
					.lost = f->c.lost,
					.max_bw = qw_bbr3_max_bw(s) };
	if (s->state == stop_at)
		stopped = 1;
}

static struct flow *begin_test(struct net *n, qw_u64 mbit, qw_u64 rtt_ms,
			       qw_u32 buffer)
{
	struct flow *f;

	net_init(n, mbit * MBIT, buffer);
	f = flow_add(n, rtt_ms * MS, 0);
	f->after = after;
	entries = 0;
	stop_at = ~0u;
	stopped = 0;
	least_inflight = least_cwnd = ~0u;
	most_inflight = 0;
	low_since = 0;
	return f;
}

/* Runs until the state is entered anew; 0: not within `ns`. */
static int run_until(struct net *n, qw_u32 st, qw_u64 ns)
{
	qw_u64 end = n->now + ns;

	stop_at = st;
	stopped = 0;
	while (!stopped && n->now < end)
		net_run(n, 100000);
	stop_at = ~0u;
	return stopped;
}

static double mbit(struct flow *f, qw_u32 bw)
{
	return (double)qw_bbr3_rate(&f->c, bw, QW_BBR3_UNIT, 1000000) * 8 / 1e6;
}

static int near(double is, double should, double by)
{
	return is >= should * (1 - by) && is <= should * (1 + by);
}

/* Numbers, by hand. */
static void arithmetic(void)
{
	struct qw_bbr3 s;
	struct qw_lost l = { .packets = 10, .tx_in_flight = 100, .lost = 10 };
	struct qw_conn c;
	qw_u32 i, round, grown[5];

	memset(&s, 0, sizeof(s));
	memset(&c, 0, sizeof(c));
	c.mss = 1500;
	c.clock.hz = 250;
	/* Too much: more than 2 %. */
	CHECK(!qw_bbr3_is_too_high(0, 10), "nothing lost");
	CHECK(!qw_bbr3_is_too_high(1, 0), "no sample");
	if (QW_BBR3_CODE) {
		CHECK(qw_bbr3_is_too_high(1, 51), "51 * 5 >> 8 = 0");
		CHECK(!qw_bbr3_is_too_high(1, 52), "52 * 5 >> 8 = 1");
		CHECK(qw_bbr3_is_too_high(2, 52), "2 of 52");
		CHECK(qw_bbr3_at_loss(&l) == 92, "is %u", qw_bbr3_at_loss(&l));
	} else {
		CHECK(!qw_bbr3_is_too_high(2, 100), "2 of 100");
		CHECK(qw_bbr3_is_too_high(3, 100), "3 of 100");
		CHECK(!qw_bbr3_is_too_high(1, 50), "1 of 50");
		CHECK(qw_bbr3_is_too_high(1, 49), "1 of 49");
		/* 90 + (1.8 - 0) / 0.98 = 91.84 */
		CHECK(qw_bbr3_at_loss(&l) == 91, "is %u", qw_bbr3_at_loss(&l));
	}
	/* Too much was lost before the burst: none of it fitted. */
	l.lost = 20;
	CHECK(qw_bbr3_at_loss(&l) == 90, "is %u", qw_bbr3_at_loss(&l));
	l.tx_in_flight = 5;
	CHECK(qw_bbr3_at_loss(&l) == 0, "is %u", qw_bbr3_at_loss(&l));
	/* Headroom. */
	s.in_long = 100;
	CHECK(qw_bbr3_with_headroom(&s) == (QW_BBR3_CODE ? 86u : 85u), "is %u",
	      qw_bbr3_with_headroom(&s));
	s.in_long = 4;
	CHECK(qw_bbr3_with_headroom(&s) == 4, "never below four");
	s.in_long = QW_BBR3_NONE;
	CHECK(qw_bbr3_with_headroom(&s) == QW_BBR3_NONE, "no bound, no room");
	CHECK(qw_bbr3_beta(100) == 70, "is %u", qw_bbr3_beta(100));
	/* 10 Mbit/s: 0.8333 packets a ms; 40 ms: 33.3 packets. */
	s.min_rtt_us = 40000;
	i = (qw_u32)((10 * MBIT << QW_BBR3_BW_SCALE) / 1500 / 1000000);
	CHECK(qw_bbr3_bdp(&s, i, 1024) == 34, "is %u",
	      qw_bbr3_bdp(&s, i, 1024));
	CHECK(qw_bbr3_bdp(&s, i, 2048) == 67, "is %u",
	      qw_bbr3_bdp(&s, i, 2048));
	CHECK(near((double)qw_bbr3_rate(&c, i, 1024, 990000), 9.9e6 / 8, 1e-4),
	      "1 %% below bw");
	/* A terabit a second, 64 KB a packet. */
	c.mss = 65536;
	i = (qw_u32)((1000000 * MBIT << (QW_BBR3_BW_SCALE - 10)) / 64 /
		     1000000);
	CHECK(near((double)qw_bbr3_rate(&c, i, 2839, 990000),
		   125e9 * 2839 / 1024 * 0.99, 1e-3),
	      "is %llu", qw_bbr3_rate(&c, i, 2839, 990000));
	c.mss = 1500;
	/* The slope of the long-term bound: 1, 2, 4, 8 packets a round. */
	memset(&s, 0, sizeof(s));
	s.in_long = 100;
	c.cwnd = 100;
	c.is_cwnd_limited = 1;
	qw_bbr3_raise_slope(&s, &c);
	for (round = 0; round < 5; round++) {
		qw_u32 was = s.in_long;

		c.cwnd = s.in_long;
		for (i = 0; i < c.cwnd; i++) {
			s.round_start = i == c.cwnd - 1;
			c.cwnd = was;
			if (c.cwnd < s.in_long)
				c.cwnd = s.in_long;
			qw_bbr3_probe_upward(&s, &c, 1);
		}
		grown[round] = s.in_long - was;
	}
	for (round = 0; round < 5; round++)
		CHECK(grown[round] >= (1u << round) - (round > 1) &&
			      grown[round] <=
				      (1u << round) + (1u << round) / 4 + 1,
		      "round %u: %u", round, grown[round]);
	/* Not while the window is not used. */
	round = s.in_long;
	c.is_cwnd_limited = 0;
	for (i = 0; i < 1000; i++)
		qw_bbr3_probe_upward(&s, &c, 1);
	CHECK(s.in_long == round, "grew to %u", s.in_long);
}

/* The two slots of the bandwidth filter. */
static void bandwidth_filter(void)
{
	struct qw_bbr3 s;

	memset(&s, 0, sizeof(s));
	s.bw_best[1] = 100;
	qw_bbr3_advance_bw(&s);
	CHECK(qw_bbr3_max_bw(&s) == 100, "kept for a cycle");
	qw_bbr3_advance_bw(&s);
	CHECK(qw_bbr3_max_bw(&s) == 100, "a cycle without a sample");
	s.bw_best[1] = 50;
	CHECK(qw_bbr3_max_bw(&s) == 100, "best of two cycles");
	qw_bbr3_advance_bw(&s);
	CHECK(qw_bbr3_max_bw(&s) == 50, "then forgotten");
}

/* What the application held down says nothing, unless it is more. */
static void app_limited_samples(void)
{
	struct qw_bbr3 s;
	struct qw_conn c;
	struct qw_rate_sample rs = { .prior_ns = 1,
				     .interval_us = 1000,
				     .delivered = 10,
				     .is_app_limited = 1 };
	const qw_u32 unit = 1u << QW_BBR3_BW_SCALE;

	memset(&s, 0, sizeof(s));
	memset(&c, 0, sizeof(c));
	s.bw_best[0] = unit / 50;
	qw_bbr3_sample(&s, &c, &rs);
	CHECK(s.rate == unit / 100 + QW_BBR3_CODE, "rate %u", s.rate);
	CHECK(s.bw_best[1] == 0, "took %u", s.bw_best[1]);
	rs.is_app_limited = 0;
	qw_bbr3_sample(&s, &c, &rs);
	CHECK(s.bw_best[1] == unit / 100 + QW_BBR3_CODE, "took %u",
	      s.bw_best[1]);
	rs.is_app_limited = 1;
	rs.delivered = 30;
	qw_bbr3_sample(&s, &c, &rs);
	CHECK(s.bw_best[1] == unit * 3 / 100 + QW_BBR3_CODE, "took %u",
	      s.bw_best[1]);
	/* No rate below the least round trip, but rounds go on. */
	rs.interval_us = -1;
	s.round_start = 0;
	qw_bbr3_sample(&s, &c, &rs);
	CHECK(!s.rate && s.round_start == !QW_BBR3_CODE, "rate %u", s.rate);
	rs.prior_ns = 0;
	qw_bbr3_sample(&s, &c, &rs);
	CHECK(!s.round_start, "a round without a sample");
}

/* The short-term bounds: 0.7, not below what was delivered lately; the window
 * after a recovery. */
static void short_term(void)
{
	struct qw_bbr3 s;
	struct qw_conn c;

	memset(&s, 0, sizeof(s));
	memset(&c, 0, sizeof(c));
	c.mss = 1500;
	c.cwnd = 200;
	s.state = QW_BBR3_CRUISE;
	s.bw_best[1] = 100000;
	s.bw_latest = 90000;
	s.in_latest = 50;
	qw_bbr3_reset_short(&s);
	s.loss_round_start = 1;
	qw_bbr3_congestion(&s, &c);
	CHECK(s.bw_short == QW_BBR3_NONE, "a bound without a loss");
	s.loss_in_round = 1;
	qw_bbr3_congestion(&s, &c);
	CHECK(s.bw_short == 90000, "rate %u", s.bw_short);
	CHECK(s.in_short == 140, "bound %u", s.in_short);
	CHECK(!s.loss_in_round, "the round goes on");
	s.loss_in_round = 1;
	s.bw_latest = 10000;
	qw_bbr3_congestion(&s, &c);
	CHECK(s.bw_short == qw_bbr3_beta(90000), "rate %u", s.bw_short);
	CHECK(qw_bbr3_bw(&s) == s.bw_short, "rate %u", qw_bbr3_bw(&s));
	CHECK(s.in_short == 98, "bound %u", s.in_short);
	/* Not while probing. */
	s.state = QW_BBR3_UP;
	s.loss_in_round = 1;
	qw_bbr3_congestion(&s, &c);
	CHECK(s.in_short == 98, "bound %u", s.in_short);
	/* SaveCwnd() and RestoreCwnd(). */
	c.cwnd = 100;
	qw_bbr3_ssthresh(&s, &c, SEC);
	c.cwnd = 3;
	qw_bbr3_set_state(&s, &c, QW_CA_RECOVERY, SEC);
	c.ca_state = QW_CA_RECOVERY;
	qw_bbr3_set_state(&s, &c, QW_CA_OPEN, SEC);
	CHECK(c.cwnd == 100, "window %u", c.cwnd);
}

/* A few packets, and less than one. */
static void few_packets(void)
{
	struct qw_bbr3 s;
	struct qw_conn c;
	struct qw_rate_sample rs = { .prior_ns = 1,
				     .interval_us = 20000000,
				     .delivered = 1 };

	memset(&s, 0, sizeof(s));
	memset(&c, 0, sizeof(c));
	c.mss = 1500;
	/* A packet in 20 s is 0.84 of the unit: not nothing. */
	qw_bbr3_sample(&s, &c, &rs);
	CHECK(s.rate == 1 && s.bw_best[1] == 1, "rate %u", s.rate);
	/* Nor do losses leave nothing. */
	qw_bbr3_reset_short(&s);
	s.state = QW_BBR3_CRUISE;
	s.bw_latest = 0;
	s.loss_in_round = 1;
	qw_bbr3_adapt_short(&s, &c);
	CHECK(s.bw_short == 1, "rate %u", s.bw_short);
	/* 13 - 0.15 * 13 = 11.05; code: 13 - (13 * 38 >> 8). */
	s.in_long = 13;
	CHECK(qw_bbr3_with_headroom(&s) == (QW_BBR3_CODE ? 12u : 11u), "is %u",
	      qw_bbr3_with_headroom(&s));
	/* 3.9 packets a ms, three times: 11.7; code: whole packets each. */
	s.min_rtt_us = 40000;
	c.pacing_rate = 5850000;
	CHECK(qw_bbr3_budget(&s, &c, 1) == (QW_BBR3_CODE ? 9u : 11u), "is %u",
	      qw_bbr3_budget(&s, &c, 1));
	c.pacing_rate = 1000;
	CHECK(qw_bbr3_budget(&s, &c, 1) == 6, "is %u",
	      qw_bbr3_budget(&s, &c, 1));
	c.pacing_rate = 100000000;
	CHECK(qw_bbr3_budget(&s, &c, 1) == (QW_BBR3_CODE ? 129u : 131u),
	      "is %u", qw_bbr3_budget(&s, &c, 1));
}

/* What an undo gives back is what was there before the recovery at hand. */
static void saved(void)
{
	struct qw_bbr3 s;
	struct qw_lost l = { .packets = 1, .tx_in_flight = 100, .lost = 5 };
	struct qw_conn c;
	qw_u32 later;

	for (later = 0; later < 2; later++) {
		memset(&s, 0, sizeof(s));
		memset(&c, 0, sizeof(c));
		c.mss = 1500;
		c.cwnd = 200;
		c.delivered = 1000;
		s.state = QW_BBR3_UP;
		s.probe_sample = 1;
		s.in_long = 300;
		qw_bbr3_reset_short(&s);
		s.undo_state = QW_BBR3_NONE;
		/* One recovery is over, its round of losses is not. */
		s.loss_in_round = 1;
		if (!later) {
			s.episode = 1;
			s.undo_in_long = 900;
			c.ca_state = QW_CA_RECOVERY;
			qw_bbr3_set_state(&s, &c, QW_CA_OPEN, SEC);
			c.ca_state = QW_CA_OPEN;
		}
		/* The next begins with losses that end a probe. */
		qw_bbr3_lost(&s, &c, &l, SEC);
		qw_bbr3_ssthresh(&s, &c, SEC);
		qw_bbr3_set_state(&s, &c, QW_CA_RECOVERY, SEC);
		c.ca_state = QW_CA_RECOVERY;
		CHECK(s.in_long < 300 && s.state == QW_BBR3_DOWN, "bound %u",
		      s.in_long);
		CHECK(s.undo_in_long == 300, "%u: saved %u", later,
		      s.undo_in_long);
		CHECK(s.undo_state == QW_BBR3_UP, "%u: state %u", later,
		      s.undo_state);
		c.cwnd = qw_bbr3_undo_cwnd(&s, &c);
		CHECK(s.in_long == 300, "%u: bound %u", later, s.in_long);
		CHECK(QW_BBR3_CODE || s.state == QW_BBR3_REFILL,
		      "%u: in state %u", later, s.state);
	}
	/* ProbeRTT keeps what a recovery has saved, if it is more. */
	memset(&s, 0, sizeof(s));
	memset(&c, 0, sizeof(c));
	c.cwnd = 50;
	s.prior_cwnd = 500;
	s.probe_rtt_expired = 1;
	qw_bbr3_check_probe_rtt(
		&s, &c, &(struct qw_rate_sample){ .delivered = 1 }, SEC);
	CHECK(s.state == QW_BBR3_PROBE_RTT && s.prior_cwnd == 500,
	      "remembers %u", s.prior_cwnd);
}

/* A host that does not tell of lost packets: what a timer found is in no
 * sample. */
static void untold(void)
{
	struct qw_bbr3 s;
	struct qw_conn c;
	struct qw_rate_sample rs = { .acked_sacked = 1 };

	memset(&s, 0, sizeof(s));
	memset(&c, 0, sizeof(c));
	c.cwnd = 10;
	c.mss = 1500;
	c.lost = 7;
	qw_bbr3_init(&s, &c, SEC);
	qw_bbr3_losses(&s, &c, &rs);
	CHECK(!s.loss_in_round, "lost before it began");
	c.lost = 17;
	qw_bbr3_losses(&s, &c, &rs);
	CHECK(s.loss_in_round, "10 packets and no loss");
	s.loss_in_round = 0;
	qw_bbr3_losses(&s, &c, &rs);
	CHECK(!s.loss_in_round, "counted twice");
}

/* The aggregation filter: its epoch, and its length in Startup. */
static void aggregated(void)
{
	struct qw_bbr3 s;
	struct qw_conn c;

	memset(&s, 0, sizeof(s));
	memset(&c, 0, sizeof(c));
	c.cwnd = 10000;
	/* A packet a us: 2^20 - 300 are expected. The code begins anew. */
	s.bw_best[1] = 1u << QW_BBR3_BW_SCALE;
	s.bw_short = QW_BBR3_NONE;
	s.extra_ns = SEC;
	s.extra_acked = 1u << 20;
	qw_bbr3_aggregation(&s, &c, 5,
			    SEC + ((1ULL << 20) - 300) * QW_NS_PER_US);
	CHECK(s.extra_max == (QW_BBR3_CODE ? 5u : 305u), "extra %u",
	      s.extra_max);
	/* An hour is no epoch: it took longer than is counted. */
	s.extra_max = s.extra[0] = 0;
	s.extra_acked = 3000000000u;
	s.extra_ns = SEC;
	qw_bbr3_aggregation(&s, &c, 5, SEC + 3600 * SEC);
	CHECK(s.extra_max == 5, "extra %u", s.extra_max);
	/* Back in Startup, it forgets after a round. */
	memset(s.extra, 0, sizeof(s.extra));
	s.extra_slot = QW_BBR3_EXTRA_SLOTS - 1;
	s.extra[s.extra_slot] = s.extra_max = 300;
	s.full_bw_reached = 0;
	qw_bbr3_extra_next(&s);
	qw_bbr3_extra_next(&s);
	CHECK(s.extra_max == 0, "extra %u", s.extra_max);
}

/* Where the code has its own ways. */
static void code(void)
{
	struct qw_bbr3 s;
	struct qw_conn c;
	struct qw_rate_sample rs = { .prior_ns = 1,
				     .tx_in_flight = 100,
				     .is_tlp = 1 };

	memset(&s, 0, sizeof(s));
	memset(&c, 0, sizeof(c));
	c.mss = 1500;
	c.cwnd = 1000;
	/* A packet a ms, 40 ms. */
	s.bw_best[1] = (1u << QW_BBR3_BW_SCALE) / 1000 + 1;
	s.min_rtt_us = 40000;
	s.in_long = 300;
	qw_bbr3_reset_short(&s);
	/* Drain ends with the queue, 50 in flight less 10 in 10 ms. */
	s.full_bw_reached = s.loss_in_round = 1;
	c.packets_out = 52;
	c.edt_ns = SEC + 10 * MS;
	qw_bbr3_check_drain(&s, &c, SEC);
	CHECK(s.state == QW_BBR3_DRAIN, "in state %u", s.state);
	CHECK(s.loss_in_round == !QW_BBR3_CODE, "losses of Startup");
	c.packets_out = 50;
	qw_bbr3_check_drain(&s, &c, SEC);
	CHECK(s.state == (QW_BBR3_CODE ? QW_BBR3_DOWN : QW_BBR3_DRAIN),
	      "in state %u", s.state);
	/* By the best rate, or the bounded one. */
	s.state = QW_BBR3_DRAIN;
	c.edt_ns = 0;
	c.packets_out = 30;
	s.bw_short = s.bw_best[1] / 2;
	qw_bbr3_check_drain(&s, &c, SEC);
	CHECK(s.state == (QW_BBR3_CODE ? QW_BBR3_DOWN : QW_BBR3_DRAIN),
	      "in state %u", s.state);
	s.in_short = 500;
	qw_bbr3_start_cruise(&s);
	CHECK(s.in_short == (QW_BBR3_CODE ? 300u : 500u), "bound %u",
	      s.in_short);
	/* 0.4 ms are less than a packet, and less than three bursts. */
	s.min_rtt_us = 400;
	c.pacing_rate = 12500000;
	qw_bbr3_startup_too_high(&s, &c);
	CHECK(s.in_long == (QW_BBR3_CODE ? qw_bbr3_quanta(&s, &c, 3) : 1u),
	      "bound %u", s.in_long);
	/* What a tail loss probe repaired. */
	s.in_long = 300;
	s.in_latest = 40;
	s.min_rtt_us = 40000;
	c.pacing_rate = 1000;
	s.state = QW_BBR3_UP;
	s.probe_sample = s.told = 1;
	qw_bbr3_adapt_long(&s, &c, &rs, SEC);
	CHECK(s.in_long == (QW_BBR3_CODE ? 41u : 300u), "bound %u", s.in_long);
}

/* "Exiting STARTUP on Bandwidth Plateau", "Exiting DRAIN Based on Inflight" */
static void startup(struct net *n)
{
	struct flow *f = begin_test(n, 50, 40, 2000);
	struct qw_bbr3 *s = state(f);
	double bdp = capacity(n) * 0.040;
	qw_u32 r, last;
	qw_u64 drain;

	CHECK(run_until(n, QW_BBR3_DRAIN, 3 * SEC), "no Drain");
	for (r = 2; r < 5; r++)
		CHECK(startup_bw[r + 1] > 1.6 * startup_bw[r] &&
			      startup_cwnd[r + 1] > 1.6 * startup_cwnd[r],
		      "round %u: bandwidth %u to %u", r, startup_bw[r],
		      startup_bw[r + 1]);
	CHECK(startup_cwnd[5] > 6.0 * startup_cwnd[2], "%u to %u in 3 rounds",
	      startup_cwnd[2], startup_cwnd[5]);
	/* The third flat round in a row is the last. */
	last = s->rounds;
	CHECK(s->full_bw_count == 3 && s->full_bw_now && s->full_bw_reached,
	      "count %u", s->full_bw_count);
	CHECK(startup_flat[last - 1] == 2 && startup_flat[last - 2] == 1 &&
		      startup_flat[last - 3] == 0,
	      "flat rounds %u, %u, %u", startup_flat[last - 3],
	      startup_flat[last - 2], startup_flat[last - 1]);
	CHECK(startup_bw[last - 1] < 1.25 * s->full_bw, "still growing");
	CHECK(near(mbit(f, qw_bbr3_max_bw(s)), 50, 0.02), "max_bw %f",
	      mbit(f, qw_bbr3_max_bw(s)));
	CHECK(most_inflight < 2.3 * bdp, "in flight %u", most_inflight);
	CHECK(entry[entries - 1].gain == (QW_BBR3_CODE ? 352 : 512),
	      "Drain's gain %u", entry[entries - 1].gain);
	CHECK(near((double)f->c.pacing_rate,
		   50e6 / 8 * 0.99 * (QW_BBR3_CODE ? 0.34375 : 0.5), 0.02),
	      "Drain's rate %llu", f->c.pacing_rate);
	drain = entry[entries - 1].at;
	CHECK(run_until(n, QW_BBR3_CRUISE, SEC), "no ProbeBW");
	CHECK(entry[entries - 1].inflight <= bdp + 3, "in flight %u, BDP %f",
	      entry[entries - 1].inflight, bdp);
	CHECK(entry[entries - 1].at - drain < 2 * 82 * MS, "Drain took %llu",
	      entry[entries - 1].at - drain);
	printf("  Startup %u rounds (pipe full in round %u), most in flight "
	       "%.2f BDP, Drain %llu ms\n",
	       last, last - 3, most_inflight / bdp,
	       (entry[entries - 1].at - drain) / MS);
	net_free(n);
}

/* The cycle of ProbeBW by rounds, and ProbeRTT: "Exiting PROBE_UP on Bandwidth
 * Plateau", "Exiting PROBE_DOWN on Inflight", "Entering and Exiting PROBE_RTT". */
static void cycle(struct net *n)
{
	struct flow *f = begin_test(n, 10, 40, 500);
	double bdp = capacity(n) * 0.040;
	qw_u32 i, ups = 0, rtts = 0;
	qw_u64 rate = 10 * MBIT, last_end = 0, first = 0;

	net_run(n, 30 * SEC);
	for (i = 4; i + 1 < entries; i++) {
		struct entry *e = &entry[i], *to = e + 1;
		qw_u32 rounds = to->rounds - e->rounds;

		switch (e->state) {
		case QW_BBR3_DOWN:
			CHECK(to->state == QW_BBR3_CRUISE ||
				      to->state == QW_BBR3_PROBE_RTT,
			      "DOWN to %u", to->state);
			CHECK(near((double)e->rate, rate * 0.891, 0.02),
			      "DOWN's rate %llu", e->rate);
			if (to->state == QW_BBR3_CRUISE)
				CHECK(to->inflight <= bdp + 3,
				      "DOWN left with %u", to->inflight);
			break;
		case QW_BBR3_CRUISE:
			CHECK(to->state == QW_BBR3_REFILL ||
				      to->state == QW_BBR3_PROBE_RTT,
			      "CRUISE to %u", to->state);
			CHECK(near((double)e->rate, rate * 0.99, 0.02),
			      "CRUISE's rate %llu", e->rate);
			CHECK(e->cwnd > 1.95 * bdp && e->cwnd < 2.4 * bdp,
			      "CRUISE's window %u", e->cwnd);
			/* min(BDP, 63) rounds, of which the draw gives one. */
			if (to->state == QW_BBR3_REFILL)
				CHECK(to->waited >= 33 && to->waited <= 36,
				      "waited %u rounds", to->waited);
			break;
		case QW_BBR3_REFILL:
			CHECK(to->state == QW_BBR3_UP ||
				      to->state == QW_BBR3_PROBE_RTT,
			      "REFILL to %u", to->state);
			if (to->state == QW_BBR3_UP)
				CHECK(rounds == 1, "REFILL took %u rounds",
				      rounds);
			CHECK(near((double)e->rate, rate * 0.99, 0.02),
			      "REFILL's rate %llu", e->rate);
			break;
		case QW_BBR3_UP:
			CHECK(near((double)e->rate, rate * 0.99 * 1.25, 0.02),
			      "UP's rate %llu", e->rate);
			if (to->state == QW_BBR3_PROBE_RTT)
				break;
			ups++;
			CHECK(to->state == QW_BBR3_DOWN, "UP to %u", to->state);
			CHECK(rounds >= 3 && rounds <= 4, "UP took %u rounds",
			      rounds);
			CHECK(to->inflight > 1.25 * bdp, "UP reached %u",
			      to->inflight);
			break;
		case QW_BBR3_PROBE_RTT:
			rtts++;
			CHECK(to->state == QW_BBR3_CRUISE, "ProbeRTT to %u",
			      to->state);
			CHECK(near(e->cwnd, bdp / 2, 0.1), "cwnd %u", e->cwnd);
			CHECK(to->inflight <= bdp / 2 + 1, "in flight %u",
			      to->inflight);
			CHECK(to->at - e->at >= 200 * MS &&
				      to->at - e->at <= 340 * MS,
			      "ProbeRTT took %llu", to->at - e->at);
			CHECK(to->cwnd > 1.9 * bdp, "window after it %u",
			      to->cwnd);
			if (last_end)
				CHECK(e->at - last_end >= 5 * SEC &&
					      e->at - last_end <
						      5 * SEC + 2 * 60 * MS,
				      "interval %llu", e->at - last_end);
			else
				first = e->at;
			last_end = to->at;
			break;
		default:
			CHECK(0, "back in state %u", e->state);
		}
	}
	CHECK(ups >= 10, "%u probes", ups);
	CHECK(rtts >= 4, "%u ProbeRTT", rtts);
	CHECK(first - SEC >= 5 * SEC, "the first at %llu", first);
	CHECK(f->got > 0.95 * capacity(n) * 30, "throughput %f",
	      (double)f->got / capacity(n) / 30);
	CHECK(!f->dropped, "lost %llu", f->dropped);
	printf("  10 Mbit/s, 40 ms: %.1f %% of the link, mean RTT %.1f ms, %u "
	       "probes, %u ProbeRTT in 30 s\n",
	       100.0 * (double)f->got / capacity(n) / 30,
	       (double)f->rtt_sum_us / 1e3 / (double)f->rtts, ups, rtts);
	net_free(n);
}

/* A long path: the clock decides, 2 to 3 s after DOWN began. */
static void clock_wait(struct net *n)
{
	struct flow *f = begin_test(n, 100, 100, 5000);
	qw_u64 down = 0;
	qw_u32 i, waits = 0;

	net_run(n, 25 * SEC);
	for (i = 0; i < entries; i++) {
		struct entry *e = &entry[i];

		if (e->state == QW_BBR3_DOWN ||
		    (e->state == QW_BBR3_CRUISE && i &&
		     entry[i - 1].state != QW_BBR3_DOWN))
			down = e->at;
		if (e->state != QW_BBR3_REFILL)
			continue;
		waits++;
		CHECK(e->at - down > 2 * SEC &&
			      e->at - down < 3 * SEC + 200 * MS,
		      "waited %llu", e->at - down);
		CHECK(e->waited < 63, "%u rounds", e->waited);
	}
	CHECK(waits >= 4, "%u waits", waits);
	CHECK(f->got > 0.88 * capacity(n) * 25, "throughput %f",
	      (double)f->got / capacity(n) / 25);
	net_free(n);
}

/* Random loss: below the 2 % that are borne, and above. */
static void loss(struct net *n, qw_u32 ppm, qw_u32 bare, double least,
		 double most)
{
	struct flow *f = begin_test(n, 50, 40, 300);
	double share;

	n->loss_ppm = ppm;
	f->no_lost_event = f->no_stamps = bare;
	net_run(n, 40 * SEC);
	share = (double)f->got / capacity(n) / 40;
	CHECK(share >= least && share <= most, "%u ppm: %f of the link", ppm,
	      share);
	CHECK(f->timeouts <= 1, "%u timeouts", f->timeouts);
	CHECK(least_cwnd >= 4, "window %u", least_cwnd);
	printf("  random loss %.1f %%%s: %.0f %% of the link\n", ppm / 1e4,
	       bare ? ", as in a kernel" : "", 100 * share);
	net_free(n);
}

/* "Decreasing Bandwidth 10x", "Increasing Bandwidth 10x" */
static void changes(struct net *n, qw_u32 bare)
{
	struct flow *f = begin_test(n, 100, 40, 350);
	struct qw_bbr3 *s = state(f);
	qw_u64 at, cycles, got;
	qw_u32 was;

	f->no_lost_event = f->no_stamps = bare;
	net_run(n, 3 * SEC);
	if (s->state != QW_BBR3_CRUISE)
		CHECK(run_until(n, QW_BBR3_CRUISE, 5 * SEC), "no CRUISE");
	n->rate = 10 * MBIT;
	at = n->now;
	was = f->c.lost;
	while (f->c.lost == was && n->now - at < 5 * SEC)
		net_run(n, MS);
	CHECK(f->c.lost != was, "a tenth of the rate and no loss");
	net_run(n, 2 * SEC);
	CHECK(s->bw_short == QW_BBR3_NONE || mbit(f, s->bw_short) < 20,
	      "short-term rate %f after 2 s", mbit(f, s->bw_short));
	for (cycles = 0; cycles < 3; cycles++)
		run_until(n, QW_BBR3_UP, 10 * SEC);
	CHECK(mbit(f, qw_bbr3_max_bw(s)) < 11, "max_bw %f",
	      mbit(f, qw_bbr3_max_bw(s)));
	printf("  100 to 10 Mbit/s%s: max_bw below 11 within %.1f s, ",
	       bare ? ", as in a kernel" : "", (double)(n->now - at) / 1e9);
	net_run(n, 2 * SEC);
	got = f->got;
	net_run(n, 5 * SEC);
	CHECK(f->got - got > 0.85 * capacity(n) * 5, "throughput %f",
	      (double)(f->got - got) / capacity(n) / 5);
	/* And up again. */
	n->rate = 100 * MBIT;
	at = n->now;
	while (mbit(f, qw_bbr3_max_bw(s)) < 95 && n->now - at < 40 * SEC)
		net_run(n, 10 * MS);
	CHECK(n->now - at < 30 * SEC, "%f Mbit/s after %f s",
	      mbit(f, qw_bbr3_max_bw(s)), (double)(n->now - at) / 1e9);
	printf("back at 95 in %.1f s\n", (double)(n->now - at) / 1e9);
	net_free(n);
}

/* "Never Exiting PROBE_UP (or STARTUP) When Application-Limited With No Loss",
 * "Entering and Exiting PROBE_RTT During STARTUP" */
static void app_limited(struct net *n)
{
	struct flow *f = begin_test(n, 50, 40, 500);
	struct qw_bbr3 *s = state(f);
	qw_u32 i, rounds;

	app(f, 2 * MBIT);
	net_run(n, 12 * SEC);
	for (i = 0; i < entries; i++)
		CHECK(entry[i].state == QW_BBR3_STARTUP ||
			      entry[i].state == QW_BBR3_PROBE_RTT,
		      "in state %u", entry[i].state);
	CHECK(entries >= 3 && entry[entries - 1].state == QW_BBR3_STARTUP,
	      "%u changes", entries);
	CHECK(!s->full_bw_reached, "full");
	/* With more to send it goes on. */
	app(f, 0);
	try_send(f);
	CHECK(run_until(n, QW_BBR3_DRAIN, 4 * SEC), "no Drain");
	CHECK(near(mbit(f, qw_bbr3_max_bw(s)), 50, 0.02), "max_bw %f",
	      mbit(f, qw_bbr3_max_bw(s)));
	/* In UP. */
	CHECK(run_until(n, QW_BBR3_UP, 10 * SEC), "no UP");
	app(f, 20 * MBIT);
	net_run(n, 100 * MS);
	rounds = s->rounds;
	while (s->state == QW_BBR3_UP && s->rounds - rounds < 40)
		net_run(n, 10 * MS);
	CHECK(s->state == QW_BBR3_UP || s->state == QW_BBR3_PROBE_RTT,
	      "left UP for %u after %u rounds", s->state, s->rounds - rounds);
	CHECK(near(mbit(f, qw_bbr3_max_bw(s)), 50, 0.03), "max_bw %f",
	      mbit(f, qw_bbr3_max_bw(s)));
	net_free(n);
}

/* "Exiting STARTUP on Loss When Application-Limited" */
static void startup_loss(struct net *n, qw_u32 bare)
{
	struct flow *f = begin_test(n, 100, 40, 500);
	struct qw_bbr3 *s = state(f);

	f->no_lost_event = f->no_stamps = bare;
	app(f, 30 * MBIT);
	net_run(n, SEC);
	CHECK(s->state == QW_BBR3_STARTUP, "in state %u", s->state);
	n->loss_every = 8;
	net_run(n, 300 * MS);
	/* So little is in flight that Drain is over at once. */
	CHECK(s->state != QW_BBR3_STARTUP, "still in Startup");
	CHECK(s->full_bw_reached && s->full_bw_now, "not full");
	CHECK(s->in_long != QW_BBR3_NONE, "no bound");
	CHECK(s->in_long >= qw_bbr3_bdp(s, qw_bbr3_max_bw(s), 1024) / 2,
	      "bound %u", s->in_long);
	net_free(n);
	/* Little loss does not end it: 1 %. */
	f = begin_test(n, 100, 40, 500);
	s = state(f);
	app(f, 30 * MBIT);
	n->loss_every = 100;
	net_run(n, 4 * SEC);
	CHECK(s->state == QW_BBR3_STARTUP, "1 %%: in state %u", s->state);
	net_free(n);
}

/* "Exiting DRAIN Based on Time", "Exiting PROBE_DOWN After Max Time" */
static void times(struct net *n)
{
	struct flow *f = begin_test(n, 50, 40, 4000);
	struct qw_bbr3 *s = state(f);
	qw_u32 round;
	qw_u64 at;

	CHECK(run_until(n, QW_BBR3_DRAIN, 3 * SEC), "no Drain");
	round = s->rounds;
	n->rate = 10 * MBIT;
	if (!QW_BBR3_CODE) {
		while (s->state == QW_BBR3_DRAIN && s->rounds - round < 10)
			net_run(n, MS);
		CHECK(s->rounds - round == 4, "Drain left after %u rounds",
		      s->rounds - round);
		CHECK(s->state == QW_BBR3_DOWN, "in state %u", s->state);
	}
	net_free(n);
	f = begin_test(n, 100, 100, 5000);
	s = state(f);
	/* Not the DOWN behind Drain, which may be over at once. */
	CHECK(run_until(n, QW_BBR3_UP, 9 * SEC), "no UP");
	CHECK(run_until(n, QW_BBR3_DOWN, 9 * SEC), "no DOWN");
	n->rate = 80 * MBIT;
	at = n->now;
	while (s->state == QW_BBR3_DOWN && n->now - at < 4 * SEC)
		net_run(n, MS);
	/* ProbeRTT may come first. */
	CHECK(s->state == QW_BBR3_REFILL || s->state == QW_BBR3_PROBE_RTT,
	      "in state %u", s->state);
	if (s->state == QW_BBR3_REFILL)
		CHECK(n->now - at > 2 * SEC && n->now - at < 3 * SEC + 300 * MS,
		      "after %llu", n->now - at);
	net_free(n);
}

/* "Skipping PROBE_RTT Due to Application-Limited Sending", restart from idle. */
static void idle(struct net *n)
{
	struct flow *f = begin_test(n, 50, 40, 500);
	struct qw_bbr3 *s = state(f);
	qw_u64 at, got;
	qw_u32 cwnd, before;

	net_run(n, 3 * SEC);
	if (s->state != QW_BBR3_CRUISE)
		CHECK(run_until(n, QW_BBR3_CRUISE, 6 * SEC), "no CRUISE");
	app(f, 1);
	net_run(n, 6 * SEC);
	CHECK(!qw_in_flight(&f->c), "not idle");
	cwnd = f->c.cwnd;
	before = entries;
	app(f, 0);
	at = n->now;
	try_send(f);
	CHECK(s->idle_restart, "no restart");
	CHECK(!s->extra_acked, "%u packets aggregated", s->extra_acked);
	CHECK(near((double)f->c.pacing_rate, 50e6 / 8 * 0.99, 0.02),
	      "restarts at %llu", f->c.pacing_rate);
	CHECK(f->c.cwnd == cwnd, "window %u, was %u", f->c.cwnd, cwnd);
	net_run(n, 500 * MS);
	got = f->got;
	net_run(n, 3500 * MS);
	for (; before < entries; before++)
		CHECK(entry[before].state != QW_BBR3_PROBE_RTT,
		      "ProbeRTT %llu after the restart", entry[before].at - at);
	CHECK(!s->idle_restart, "restarting for ever");
	CHECK(f->got - got > 0.95 * capacity(n) * 3.5, "throughput %f",
	      (double)(f->got - got) / capacity(n) / 3.5);
	CHECK(f->c.cwnd < 2.5 * capacity(n) * 0.040,
	      "window %u: idling is no aggregation", f->c.cwnd);
	/* From UP, too, at 1.0. */
	CHECK(run_until(n, QW_BBR3_UP, 10 * SEC), "no UP");
	app(f, 1);
	net_run(n, SEC);
	CHECK(s->state == QW_BBR3_UP && !qw_in_flight(&f->c), "in state %u",
	      s->state);
	app(f, 0);
	try_send(f);
	CHECK(near((double)f->c.pacing_rate, 50e6 / 8 * 0.99, 0.03),
	      "restarts at %llu", f->c.pacing_rate);
	net_free(n);
}

/* A timeout: one packet, and the window is back when it is over. */
static void timed_out(struct net *n)
{
	struct flow *f = begin_test(n, 50, 40, 500);
	struct qw_bbr3 *s = state(f);
	qw_u32 cwnd;
	qw_u64 got;

	net_run(n, 3 * SEC);
	cwnd = f->c.cwnd;
	n->loss_ppm = 1000000;
	while (!f->timeouts)
		net_run(n, MS);
	CHECK(f->c.cwnd == 1, "window %u", f->c.cwnd);
	CHECK(s->prior_cwnd == cwnd, "remembers %u of %u", s->prior_cwnd, cwnd);
	n->loss_ppm = 0;
	net_run(n, 3 * SEC);
	CHECK(f->c.ca_state == QW_CA_OPEN, "in state %u", f->c.ca_state);
	CHECK(f->c.cwnd > capacity(n) * 0.040, "window %u", f->c.cwnd);
	run_until(n, QW_BBR3_UP, 10 * SEC);
	net_run(n, SEC);
	got = f->got;
	net_run(n, 3 * SEC);
	CHECK(f->got - got > 0.85 * capacity(n) * 3, "throughput %f",
	      (double)(f->got - got) / capacity(n) / 3);
	net_free(n);
}

/* "Handling Spurious Fast Recovery", "Handling Spurious RTO Recovery" */
static void spurious(struct net *n)
{
	struct flow *f = begin_test(n, 50, 40, 2000);
	struct qw_bbr3 *s = state(f);
	qw_u32 cwnd;

	CHECK(run_until(n, QW_BBR3_UP, 10 * SEC), "no UP");
	net_run(n, 10 * MS);
	cwnd = f->c.cwnd;
	fake_loss(f, 20);
	CHECK(s->state == QW_BBR3_DOWN, "in state %u", s->state);
	CHECK(s->in_long != QW_BBR3_NONE && s->too_high, "bound %u",
	      s->in_long);
	CHECK(s->undo_in_long == QW_BBR3_NONE, "saved %u", s->undo_in_long);
	net_run(n, 60 * MS);
	undo(f);
	CHECK(s->in_long == QW_BBR3_NONE, "bound %u", s->in_long);
	CHECK(f->c.cwnd >= cwnd, "window %u of %u", f->c.cwnd, cwnd);
	CHECK(s->state == (QW_BBR3_CODE ? QW_BBR3_DOWN : QW_BBR3_REFILL) ||
		      (QW_BBR3_CODE && s->state == QW_BBR3_CRUISE),
	      "in state %u", s->state);
	net_run(n, 500 * MS);
	/* In CRUISE: the short-term bounds. */
	if (s->state != QW_BBR3_CRUISE)
		CHECK(run_until(n, QW_BBR3_CRUISE, 10 * SEC), "no CRUISE");
	fake_loss(f, 2);
	net_run(n, 100 * MS);
	CHECK(s->in_short != QW_BBR3_NONE && s->bw_short != QW_BBR3_NONE,
	      "no short-term bound");
	undo(f);
	CHECK(s->in_short == QW_BBR3_NONE && s->bw_short == QW_BBR3_NONE,
	      "short-term bounds %u, %u", s->in_short, s->bw_short);
	net_free(n);
	/* Of a Startup that losses ended. */
	f = begin_test(n, 50, 40, 2000);
	s = state(f);
	net_run(n, 150 * MS);
	CHECK(s->state == QW_BBR3_STARTUP, "in state %u", s->state);
	fake_loss(f, 5);
	qw_bbr3_startup_too_high(s, &f->c);
	net_run(n, 10 * MS);
	CHECK(s->state == QW_BBR3_DRAIN || s->state == QW_BBR3_CRUISE,
	      "in state %u", s->state);
	undo(f);
	CHECK(QW_BBR3_CODE ||
		      (s->state == QW_BBR3_STARTUP && !s->full_bw_reached),
	      "in state %u", s->state);
	CHECK(s->in_long == QW_BBR3_NONE, "bound %u", s->in_long);
	if (!QW_BBR3_CODE) {
		CHECK(run_until(n, QW_BBR3_DRAIN, 3 * SEC), "no Drain");
		CHECK(near(mbit(f, qw_bbr3_max_bw(s)), 50, 0.02), "max_bw %f",
		      mbit(f, qw_bbr3_max_bw(s)));
	}
	net_free(n);
}

/* "Handling Loss During PROBE_UP After inflight_longterm is Set", and what
 * follows: the next probe is a careful one, and the one after it is not. */
static void precaution(struct net *n)
{
	struct flow *f = begin_test(n, 50, 40, 2000);
	struct qw_bbr3 *s = state(f);
	qw_u32 i, bound, round;

	CHECK(run_until(n, QW_BBR3_UP, 10 * SEC), "no UP");
	net_run(n, 50 * MS);
	n->loss_every = 20;
	CHECK(run_until(n, QW_BBR3_DOWN, 2 * SEC), "no DOWN");
	n->loss_every = 0;
	CHECK(s->in_long != QW_BBR3_NONE, "no bound");
	CHECK(s->too_high, "not too high");
	CHECK(s->in_long >= 0.7 * capacity(n) * 0.040 - 2, "bound %u",
	      s->in_long);
	/* Not above what was in flight. */
	CHECK(s->in_long <= most_inflight, "bound %u", s->in_long);
	CHECK(run_until(n, QW_BBR3_UP, 10 * SEC), "no second UP");
	bound = s->in_long;
	round = s->rounds;
	CHECK(s->too_high, "forgotten");
	CHECK(run_until(n, QW_BBR3_DOWN, 2 * SEC), "no second DOWN");
	CHECK(s->rounds - round <= 2, "the careful UP took %u rounds",
	      s->rounds - round);
	CHECK(s->precautionary && !s->too_high, "not careful");
	CHECK(run_until(n, QW_BBR3_REFILL, 300 * MS), "no REFILL at once");
	CHECK(run_until(n, QW_BBR3_UP, 300 * MS), "no third UP");
	i = s->in_long;
	net_run(n, 200 * MS);
	CHECK(s->in_long > i || s->in_long >= bound + 1 ||
		      s->state != QW_BBR3_UP,
	      "bound %u", s->in_long);
	net_free(n);
}

/* "Handling Token Bucket Policers" */
static void policer(struct net *n)
{
	struct flow *f = begin_test(n, 100, 40, 2000);
	struct qw_bbr3 *s = state(f);
	qw_u64 got, dropped, sent;

	n->police_rate = 10 * MBIT;
	n->police_burst = 100 * PACKET;
	n->police_tokens = n->police_burst * 1000000;
	n->police_ns = n->now;
	net_run(n, 15 * SEC);
	got = f->got;
	dropped = f->dropped;
	sent = f->sent;
	net_run(n, 15 * SEC);
	CHECK(f->got - got > 0.7 * 10e6 / 8 / PACKET * 15, "throughput %f",
	      (double)(f->got - got) / (10e6 / 8 / PACKET * 15));
	CHECK((double)(f->dropped - dropped) < 0.06 * (double)(f->sent - sent),
	      "lost %f",
	      (double)(f->dropped - dropped) / (double)(f->sent - sent));
	CHECK(s->in_long != QW_BBR3_NONE, "no bound");
	printf("  policer of 10 Mbit/s: %.0f %% of it, lost %.1f %%\n",
	       100 * (double)(f->got - got) / (10e6 / 8 / PACKET * 15),
	       100 * (double)(f->dropped - dropped) / (double)(f->sent - sent));
	net_free(n);
}

/* "Correctly Managing Sub-Packet BDPs" */
static void tiny(struct net *n)
{
	struct flow *f = begin_test(n, 1, 5, 100);
	struct qw_bbr3 *s = state(f);

	net_run(n, 20 * SEC);
	CHECK(least_cwnd >= 4, "window %u", least_cwnd);
	CHECK(s->full_bw_reached, "never full");
	CHECK(near(mbit(f, qw_bbr3_max_bw(s)), 1, 0.05), "max_bw %f",
	      mbit(f, qw_bbr3_max_bw(s)));
	CHECK(f->got > 0.93 * capacity(n) * 20, "throughput %f",
	      (double)f->got / capacity(n) / 20);
	net_free(n);
}

/* "Achieving Expected STARTUP Bandwidth on a Link With Aggregation", and CRUISE. */
static void aggregation(struct net *n)
{
	struct flow *f = begin_test(n, 50, 40, 2000);
	struct qw_bbr3 *s = state(f);
	qw_u64 got;

	f->ack_batch_ns = 20 * MS;
	CHECK(run_until(n, QW_BBR3_DRAIN, 5 * SEC), "no Drain");
	CHECK(mbit(f, qw_bbr3_max_bw(s)) > 45, "max_bw %f",
	      mbit(f, qw_bbr3_max_bw(s)));
	CHECK(s->extra_max > 20, "extra %u", s->extra_max);
	CHECK(run_until(n, QW_BBR3_CRUISE, 5 * SEC), "no CRUISE");
	net_run(n, SEC);
	CHECK(s->extra_max > 40 && s->extra_max < 400, "extra %u",
	      s->extra_max);
	CHECK(f->c.cwnd > 2.2 * capacity(n) * 0.040, "window %u", f->c.cwnd);
	got = f->got;
	net_run(n, 5 * SEC);
	CHECK(f->got - got > 0.93 * capacity(n) * 5, "throughput %f",
	      (double)(f->got - got) / capacity(n) / 5);
	net_free(n);
}

/* "Handling Application-Limited Sending During PROBE_REFILL" */
static void refill(struct net *n)
{
	struct flow *f = begin_test(n, 50, 40, 2000);
	struct qw_bbr3 *s = state(f);
	qw_u32 bw;

	CHECK(run_until(n, QW_BBR3_REFILL, 10 * SEC), "no REFILL");
	bw = qw_bbr3_max_bw(s);
	app(f, 5 * MBIT);
	CHECK(run_until(n, QW_BBR3_UP, SEC), "no UP");
	net_run(n, 100 * MS);
	CHECK(qw_bbr3_max_bw(s) == bw, "max_bw %u, was %u", qw_bbr3_max_bw(s),
	      bw);
	app(f, 0);
	try_send(f);
	CHECK(run_until(n, QW_BBR3_CRUISE, 5 * SEC), "no CRUISE");
	CHECK(near(mbit(f, qw_bbr3_max_bw(s)), 50, 0.02), "max_bw %f",
	      mbit(f, qw_bbr3_max_bw(s)));
	net_free(n);
}

/* Several flows, the later ones after 2 s each. */
static void shares(struct net *n, qw_u32 flows)
{
	struct flow *f = begin_test(n, 50, 40, 400);
	qw_u64 got[MAX_FLOWS];
	double sum = 0, squares = 0;
	qw_u32 i;

	f->after = NULL;
	for (i = 1; i < flows; i++)
		flow_add(n, 40 * MS, i * 2 * SEC);
	net_run(n, 30 * SEC);
	for (i = 0; i < flows; i++)
		got[i] = n->flow[i]->got;
	net_run(n, 30 * SEC);
	for (i = 0; i < flows; i++) {
		double x = (double)(n->flow[i]->got - got[i]);

		sum += x;
		squares += x * x;
	}
	CHECK(sum > 0.9 * capacity(n) * 30, "throughput %f",
	      sum / capacity(n) / 30);
	CHECK(sum * sum / squares / flows > 0.8, "fairness %f",
	      sum * sum / squares / flows);
	printf("  %u flows: %.0f %% of the link, fairness %.3f\n", flows,
	       100 * sum / capacity(n) / 30, sum * sum / squares / flows);
	net_free(n);
}

/* Code only: marks on a short path. */
static void marks(struct net *n)
{
	struct flow *f;
	struct qw_bbr3 *s;
	double rtt[2];
	qw_u32 ecn;

	for (ecn = 0; ecn < 2; ecn++) {
		f = begin_test(n, 200, 4, 400);
		s = state(f);
		f->ecn = ecn;
		n->step_ns = MS;
		CHECK(s->alpha == 0 || s->alpha == 256, "alpha %u", s->alpha);
		net_run(n, 10 * SEC);
		rtt[ecn] = (double)f->rtt_sum_us / 1e3 / (double)f->rtts;
		CHECK(f->got > 0.85 * capacity(n) * 10, "throughput %f",
		      (double)f->got / capacity(n) / 10);
		if (ecn) {
			CHECK(s->ecn_eligible, "not eligible");
			CHECK(s->alpha < 200, "alpha %u", s->alpha);
			CHECK(s->full_bw_reached, "never full");
		}
		net_free(n);
	}
	CHECK(rtt[1] < 5.5, "RTT %f with marks, %f without", rtt[1], rtt[0]);
	printf("  marks above 1 ms, 4 ms path: mean RTT %.2f ms, %.2f ms "
	       "without\n",
	       rtt[1], rtt[0]);
}

int main(void)
{
	struct net *n = malloc(sizeof(*n));

	if (!n)
		return 2;
	arithmetic();
	bandwidth_filter();
	app_limited_samples();
	short_term();
	few_packets();
	saved();
	untold();
	aggregated();
	code();
	startup(n);
	cycle(n);
	clock_wait(n);
	loss(n, 1000, 0, 0.85, 1);
	loss(n, 10000, 0, 0.6, 1);
	loss(n, 50000, 0, 0.02, 0.35);
	loss(n, 10000, 1, 0.5, 1);
	loss(n, 50000, 1, 0.02, 0.5);
	changes(n, 0);
	changes(n, 1);
	app_limited(n);
	startup_loss(n, 0);
	startup_loss(n, 1);
	times(n);
	idle(n);
	timed_out(n);
	spurious(n);
	precaution(n);
	policer(n);
	/* As Linux's tcp_bbr.c has it. */
	CHECK(qw_bbr3_sndbuf_expand(0, 0) == 3, "send buffer");
	tiny(n);
	aggregation(n);
	refill(n);
	shares(n, 2);
	shares(n, 4);
	if (QW_BBR3_ECN)
		marks(n);
	free(n);
	printf("bbr3%s: %d checks, %d failed\n", QW_BBR3_CODE ? " (code)" : "",
	       checks, failures);
	return failures != 0;
}
