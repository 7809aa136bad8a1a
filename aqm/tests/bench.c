/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a decision costs: DUK's equation 9, evaluated once in an interval (its
 * paper: 25 million times a second).
 */
#include <stdio.h>
#include <time.h>

#include "duk.h"

int main(void)
{
	enum { INPUTS = 1024, ROUNDS = 50000 };
	static struct qw_duk_measured m[INPUTS];
	qw_u64 x = 1, sum = 0;
	clock_t begin;
	double best = 0;
	int i, round, turn;

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
	return 0;
}
