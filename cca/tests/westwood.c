/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Checks cca/westwood.h: its filter by hand, its window after a loss on a link. */
#include "westwood.h"
#define CONTROL westwood
#define CONTROL_EVENTS QW_WESTWOOD_CCA
#include "link.h"

_Static_assert(sizeof(struct qw_westwood) <= QW_CCA_STATE, "the state's size");

static int near(double is, double should, double by)
{
	return is >= should * (1 - by) && is <= should * (1 + by);
}

/* 1000 packets a second, 50 ms: 50 packets. */
static void filter(void)
{
	struct qw_westwood s;
	struct qw_conn c;
	qw_u64 now = SEC;
	qw_u32 i, before;

	memset(&s, 0, sizeof(s));
	memset(&c, 0, sizeof(c));
	c.mss = 1500;
	c.cwnd = 100;
	qw_westwood_init(&s, &c, now);
	CHECK(qw_westwood_window(&s, &c) == 2, "window %u",
	      qw_westwood_window(&s, &c));
	for (i = 0; i < 1000; i++) {
		now += MS;
		c.snd_una++;
		qw_westwood_pkts_acked(&s, &c, 1, 50000, now);
		qw_westwood_in_ack_event(&s, &c, now);
		if (i == 60)
			CHECK(near((double)s.bw, 1500000, 0.05), "bw %llu",
			      s.bw);
	}
	CHECK(near((double)s.bw, 1500000, 0.02), "bw %llu", s.bw);
	CHECK(qw_westwood_window(&s, &c) >= 49 &&
		      qw_westwood_window(&s, &c) <= 50,
	      "window %u", qw_westwood_window(&s, &c));
	/* The least round trip counts, not the last. */
	c.snd_una++;
	qw_westwood_pkts_acked(&s, &c, 1, 90000, now);
	qw_westwood_in_ack_event(&s, &c, now);
	CHECK(qw_westwood_window(&s, &c) <= 50, "window %u",
	      qw_westwood_window(&s, &c));
	/* Half the rate: each average goes an eighth of the way at a time. */
	before = (qw_u32)s.bw;
	for (i = 0; i < 52; i++) {
		now += MS;
		c.snd_una += i & 1;
		qw_westwood_pkts_acked(&s, &c, 1, 50000, now);
		if (i & 1)
			qw_westwood_in_ack_event(&s, &c, now);
	}
	CHECK(s.bw < before && s.bw > before * 0.97, "bw %llu", s.bw);
	/* Duplicate ACKs count as a packet each, and not twice. */
	s.packets = 0;
	s.since_ns = now;
	for (i = 0; i < 5; i++)
		qw_westwood_in_ack_event(&s, &c, now);
	CHECK(s.packets == 5, "%u packets", s.packets);
	c.snd_una += 8;
	qw_westwood_in_ack_event(&s, &c, now);
	CHECK(s.packets == 8, "%u packets", s.packets);
	for (i = 0; i < 5; i++)
		qw_westwood_in_ack_event(&s, &c, now);
	c.snd_una += 3;
	qw_westwood_in_ack_event(&s, &c, now);
	CHECK(s.packets == 14, "%u packets", s.packets);
	/* The end of a recovery, and a timeout, which takes the next round trip. */
	c.cwnd = 7;
	i = qw_westwood_window(&s, &c);
	CHECK(qw_westwood_ssthresh(&s, &c, now) == 3, "half");
	qw_westwood_cwnd_event(&s, &c, QW_EVENT_COMPLETE_CWR, now);
	CHECK(c.cwnd == i && c.ssthresh == i, "window %u, %u", c.cwnd, i);
	c.cwnd = 1;
	qw_westwood_cwnd_event(&s, &c, QW_EVENT_LOSS, now);
	CHECK(c.cwnd == 1 && c.ssthresh == i, "window %u", c.cwnd);
	qw_westwood_pkts_acked(&s, &c, 1, 80000, now);
	c.snd_una++;
	qw_westwood_in_ack_event(&s, &c, now);
	CHECK(s.least_us == 80000, "least %u", s.least_us);
}

/* On a short path a sample takes 50 ms. */
static void short_path(void)
{
	struct qw_westwood s;
	struct qw_conn c;
	qw_u64 now = SEC;
	qw_u32 i;

	memset(&s, 0, sizeof(s));
	memset(&c, 0, sizeof(c));
	c.mss = 1500;
	qw_westwood_init(&s, &c, now);
	for (i = 0; i < 60; i++) {
		now += MS;
		c.snd_una++;
		qw_westwood_pkts_acked(&s, &c, 1, 10000, now);
		qw_westwood_in_ack_event(&s, &c, now);
		CHECK((s.bw != 0) == (i >= 50), "bw %llu after %u ms", s.bw, i);
	}
}

/* Random losses on a link that is not full: the window stays near the BDP, where
 * Reno's would be far below. */
static void random_loss(struct net *n)
{
	struct flow *f;
	struct qw_westwood *s;
	qw_u64 got;
	double share;

	net_init(n, 20 * MBIT, 100);
	n->loss_ppm = 2000;
	f = flow_add(n, 50 * MS, 0);
	s = (struct qw_westwood *)(void *)&f->state;
	net_run(n, 10 * SEC);
	got = f->got;
	net_run(n, 50 * SEC);
	share = (double)(f->got - got) / capacity(n) / 50;
	/* Reno: 1.22 / sqrt(0.002) = 27 packets of a BDP of 83. */
	CHECK(share > 0.58, "throughput %f", share);
	CHECK(f->recoveries > 50, "%u recoveries", f->recoveries);
	CHECK(s->least_us > 49000 && s->least_us < 52000, "least %u",
	      s->least_us);
	printf("  0.2 %% of random loss: %.0f %% of the link (Reno: about 33 "
	       "%%)\n",
	       100 * share);
	net_free(n);
}

/* A full buffer: after each loss the queue is gone. */
static void queue(struct net *n)
{
	struct flow *f;
	qw_u64 got;

	net_init(n, 20 * MBIT, 80);
	f = flow_add(n, 50 * MS, 0);
	net_run(n, 10 * SEC);
	got = f->got;
	net_run(n, 50 * SEC);
	CHECK(f->got - got > 0.97 * capacity(n) * 50, "throughput %f",
	      (double)(f->got - got) / capacity(n) / 50);
	CHECK(f->recoveries > 2, "%u recoveries", f->recoveries);
	n->loss_ppm = 1000000;
	while (!f->timeouts)
		net_run(n, MS);
	CHECK(f->c.cwnd == 1 && f->c.ssthresh > 50, "%u, %u", f->c.cwnd,
	      f->c.ssthresh);
	net_free(n);
}

int main(void)
{
	struct net *n = malloc(sizeof(*n));

	if (!n)
		return 2;
	filter();
	short_path();
	random_loss(n);
	queue(n);
	free(n);
	printf("westwood: %d checks, %d failed\n", checks, failures);
	return failures != 0;
}
