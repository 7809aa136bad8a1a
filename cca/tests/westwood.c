/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Checks cca/westwood.h against Linux's module: its filter by hand, in ticks, its
 * window after a loss on a link. */
#include "westwood.h"
#define CONTROL westwood
#define CONTROL_EVENTS QW_WESTWOOD_CCA
#include "link.h"

_Static_assert(sizeof(struct qw_westwood) <= QW_CCA_STATE, "the state's size");

static int near(double is, double should, double by)
{
	return is >= should * (1 - by) && is <= should * (1 + by);
}

/* A connection on a kernel of so many ticks a second: 250 or 1000. */
static void connect(struct qw_westwood *s, struct qw_conn *c, qw_u32 hz)
{
	memset(s, 0, sizeof(*s));
	memset(c, 0, sizeof(*c));
	c->mss = 1500;
	c->cwnd = 100;
	c->snd_una = 1000;
	c->clock.hz = hz;
	c->clock.tick_ns = 1000000000 / hz;
	c->clock.tick_us = 1000000 / hz;
	/* 2^(64 + shift) ticks a ns, rounded up. */
	c->clock.shift = hz == 250 ? 20 : 19;
	c->clock.parts = hz == 250 ? 4835703278458516699ULL :
				     9671406556917033398ULL;
	qw_westwood_init(s, c, SEC);
}

static void acked(struct qw_westwood *s, struct qw_conn *c, qw_u32 packets,
		  qw_u32 rtt_us, qw_u64 now)
{
	c->snd_una += packets;
	qw_westwood_pkts_acked(s, c, packets, rtt_us, now);
	qw_westwood_in_ack_event(s, c, now);
}

/*
 * 1000 packets a second, 50 ms. At 250 Hz that is 13 ticks, rounded up, a sample
 * 14 ticks of 6000 bytes, and the window 52 packets; at 1000 Hz it is 50.
 */
static void filter(void)
{
	const qw_u32 hz[2] = { 250, 1000 }, window[2] = { 52, 50 };
	struct qw_westwood s;
	struct qw_conn c;
	qw_u64 now, before;
	qw_u32 i, k;

	for (k = 0; k < 2; k++) {
		connect(&s, &c, hz[k]);
		now = SEC;
		CHECK(qw_westwood_window(&s, &c) == 2, "window %u",
		      qw_westwood_window(&s, &c));
		for (i = 0; i < 1000; i++) {
			now += MS;
			acked(&s, &c, 1, 50000, now);
			if (i == 60)
				CHECK(near((double)s.bw, 1500000.0 / hz[k],
					   0.05),
				      "bw %llu", s.bw);
		}
		CHECK(near((double)s.bw, 1500000.0 / hz[k], 0.02), "bw %llu",
		      s.bw);
		CHECK(qw_westwood_window(&s, &c) == window[k] ||
			      qw_westwood_window(&s, &c) == window[k] - 1,
		      "window %u of %u", qw_westwood_window(&s, &c), window[k]);
	}
	/* The least round trip counts, not the last. */
	acked(&s, &c, 1, 90000, now);
	CHECK(qw_westwood_window(&s, &c) <= 50, "window %u",
	      qw_westwood_window(&s, &c));
	/* Half the rate: each average goes an eighth of the way at a time. */
	before = s.bw;
	for (i = 0; i < 52; i++) {
		now += MS;
		c.snd_una += i & 1;
		qw_westwood_pkts_acked(&s, &c, 1, 50000, now);
		if (i & 1)
			qw_westwood_in_ack_event(&s, &c, now);
	}
	CHECK(s.bw < before && (double)s.bw > (double)before * 0.97, "bw %llu",
	      s.bw);
	/* Duplicate ACKs count as a packet each, and not twice. */
	s.packets = 0;
	s.counted = 0;
	s.since = qw_jiffies(&c, now);
	for (i = 0; i < 5; i++)
		qw_westwood_in_ack_event(&s, &c, now);
	CHECK(s.packets == 5, "%u packets", s.packets);
	acked(&s, &c, 8, 0, now);
	CHECK(s.packets == 8, "%u packets", s.packets);
	/* Of a partial ACK that is covered one counts, and the rest waits. */
	for (i = 0; i < 5; i++)
		qw_westwood_in_ack_event(&s, &c, now);
	acked(&s, &c, 3, 0, now);
	CHECK(s.packets == 14 && s.counted == 2, "%u packets, %u", s.packets,
	      s.counted);
	/* Of one packet nothing is taken off. */
	acked(&s, &c, 1, 0, now);
	CHECK(s.packets == 15 && s.counted == 2, "%u packets, %u", s.packets,
	      s.counted);
	/* The end of a recovery, and a timeout: the next ACK takes the last round
	 * trip. */
	c.cwnd = 7;
	i = qw_westwood_window(&s, &c);
	CHECK(qw_westwood_ssthresh(&s, &c, now) == 3, "half");
	qw_westwood_cwnd_event(&s, &c, QW_EVENT_COMPLETE_CWR, now);
	CHECK(c.cwnd == i && c.ssthresh == i, "window %u, %u", c.cwnd, i);
	c.cwnd = 1;
	qw_westwood_cwnd_event(&s, &c, QW_EVENT_LOSS, now);
	CHECK(c.cwnd == 1 && c.ssthresh == i, "window %u", c.cwnd);
	acked(&s, &c, 1, 80000, now);
	CHECK(s.least == 80, "least %u", s.least);
	acked(&s, &c, 1, 90000, now);
	CHECK(s.least == 80, "least %u", s.least);
}

/* Counting begins with the first ACK, which passes for a duplicate. */
static void first(void)
{
	struct qw_westwood s;
	struct qw_conn c;

	connect(&s, &c, 250);
	CHECK(s.least == 5000 && s.rtt == 5000, "least %u", s.least);
	acked(&s, &c, 10, 100000, SEC + 100 * MS);
	CHECK(s.packets == 1 && s.counted == 1, "%u packets, %u", s.packets,
	      s.counted);
	CHECK(s.least == 25, "least %u", s.least);
	acked(&s, &c, 2, 100000, SEC + 100 * MS);
	CHECK(s.packets == 2 && s.counted == 0, "%u packets, %u", s.packets,
	      s.counted);
}

/*
 * On a short path a sample takes 50 ms, the round trip is a tick: 100 Mbit/s and
 * 1 ms are 33 packets at 250 Hz, where 8 are on their way, and 8 at 1000.
 */
static void short_path(void)
{
	const qw_u32 hz[2] = { 250, 1000 }, window[2] = { 33, 8 };
	struct qw_westwood s;
	struct qw_conn c;
	qw_u32 i, k;

	for (k = 0; k < 2; k++) {
		connect(&s, &c, hz[k]);
		for (i = 1; i <= 240; i++) {
			acked(&s, &c, 25, 1000, SEC + i * 3 * MS);
			/* 12 or 50 ticks are not more than 12 or 50. */
			CHECK((s.bw != 0) == (i >= 17 + (hz[k] == 250)),
			      "bw %llu after %u ms", s.bw, 3 * i);
		}
		CHECK(qw_westwood_window(&s, &c) == window[k] ||
			      qw_westwood_window(&s, &c) == window[k] - 1,
		      "window %u of %u", qw_westwood_window(&s, &c), window[k]);
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
	CHECK(s->least == 13, "least %u", s->least);
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
	first();
	short_path();
	random_loss(n);
	queue(n);
	free(n);
	printf("westwood: %d checks, %d failed\n", checks, failures);
	return failures != 0;
}
