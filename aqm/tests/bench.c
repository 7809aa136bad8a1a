/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a decision costs: DUK's equation 9, evaluated once in an interval (its
 * paper: 25 million times a second), and a step of QueuePilot's network, made
 * 200 times a second. `bench queuepilot N` makes N steps and no more, for who
 * counts their instructions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "duk.h"
#include "queuepilot.h"

/* Steps of a network with weights at random; microseconds each. */
static double queuepilot(int steps, qw_u64 *sum)
{
	static struct qw_queuepilot_params p;
	static struct qw_queuepilot s;
	struct qw_queue q = { 0 };
	struct qw_packet k = { 0 };
	qw_s16 *w = &p.net.input[0][0];
	qw_u64 x = 1, now = 0;
	clock_t begin;
	size_t i;
	int step;

	p.step_ns = 5 * QW_NS_PER_MS;
	p.rate_bytes = 12500000;
	p.wire_overhead_bytes = 24;
	p.mtu_bytes = 1514;
	p.sample = 1;
	p.learned = 1;
	for (i = 0; i < sizeof(p.net) / sizeof(*w); i++) {
		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
		w[i] = (qw_s16)((qw_s32)(x >> 51) - 4096);
	}
	q.limit_packets = 45;
	k.bytes = 1514;
	qw_queuepilot_init(&s, &p, now);
	begin = clock();
	for (step = 0; step < steps; step++) {
		q.packets = (qw_u32)step % 45;
		k.enqueue_ns = now;
		qw_queuepilot_enqueue(&s, &p, now, &q, &k, (qw_u32)step);
		now += p.step_ns;
		qw_queuepilot_tick(&s, &p, now);
		*sum += s.action;
	}
	return (double)(clock() - begin) * 1e6 / CLOCKS_PER_SEC / steps;
}

int main(int argc, char **argv)
{
	enum { INPUTS = 1024, ROUNDS = 50000 };
	static struct qw_duk_measured m[INPUTS];
	qw_u64 x = 1, sum = 0;
	clock_t begin;
	double best = 0;
	int i, round, turn;

	if (argc > 2) {
		queuepilot(atoi(argv[2]), &sum);
		return 0;
	}
	/* An interval of 12 ms, utilisation about 1, loads of 0.5 to 2. */
	for (i = 0; i < INPUTS; i++) {
		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
		m[i].dt_ns = 12000000;
		m[i].dt = 12000;
		m[i].load_ns = 6000000 + (x >> 32) % 18000000;
		m[i].u_q30 = QW_DUK_ONE_Q30 - (x >> 36);
		m[i].du_q30 = (qw_s64)(x >> 36 & 0xffffff) - (1 << 23);
		m[i].dd = (qw_s64)(x >> 40 & 0xffff) - (1 << 15);
		m[i].drain_q30 = x >> 42;
	}
	for (turn = 0; turn < 3; turn++) {
		double rate;

		begin = clock();
		for (round = 0; round < ROUNDS; round++) {
			for (i = 0; i < INPUTS; i++)
				sum += qw_duk_probability(&m[i]);
			/* Not to be computed once for all rounds. */
			m[round % INPUTS].dt += sum & 1;
		}
		rate = (double)INPUTS * ROUNDS * CLOCKS_PER_SEC /
		       (double)(clock() - begin);
		if (rate > best)
			best = rate;
	}
	printf("duk: equation 9, %.1f million evaluations a second (%llx)\n",
	       best / 1e6, sum);
	for (turn = 0, best = 1e9; turn < 3; turn++) {
		double us = queuepilot(20000, &sum);

		if (us < best)
			best = us;
	}
	printf("queuepilot: a step, %.1f us (%llx)\n", best, sum);
	return 0;
}
