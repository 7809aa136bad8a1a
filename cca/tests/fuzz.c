/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Random events on a connection of random, partly absurd numbers, for one
 * control (HEADER, CONTROL, CONTROL_EVENTS): nothing may be undefined, and what a
 * control sets must stay in its bounds. Run under sanitizers.
 */
#include HEADER
#include "link.h"

static qw_u64 seed = 88172645463325252ULL;

static qw_u64 dice(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* Below `n`, and now and then very small or very large. */
static qw_u32 number(qw_u32 n)
{
	switch (dice() % 16) {
	case 0:
		return 0;
	case 1:
		return 1;
	case 2:
		return (qw_u32)dice();
	default:
		return (qw_u32)(dice() % n);
	}
}

static void connection(struct qw_conn *c, int absurd)
{
	qw_u32 out = absurd ? (qw_u32)dice() : number(1000);

	c->packets_out = out;
	c->sacked_out = number(out / 2 + 1);
	c->lost_out = number(out / 4 + 1);
	c->retrans_out = number(10);
	c->max_packets_out = number(1000);
	c->snd_una += number(50);
	c->snd_nxt = c->snd_una + out;
	c->delivered += number(50);
	c->delivered_ce += number(10);
	c->lost += number(5);
	c->srtt_us = number(8000000);
	c->is_cwnd_limited = dice() & 1;
	c->app_limited = dice() & 1 ? 0 : c->delivered + 5;
	if (absurd) {
		c->cwnd = number(100000000) | 1;
		c->mss = number(65536) | 1;
		c->pacing_rate = dice() >> (dice() % 64) | 1;
		c->ssthresh = number(QW_INFINITE_SSTHRESH) | 2;
	}
}

static void sample(struct qw_rate_sample *rs, const struct qw_conn *c,
		   qw_u64 now)
{
	memset(rs, 0, sizeof(*rs));
	rs->prior_ns = dice() % 8 ? now : 0;
	rs->interval_us = dice() % 8 ? number(1000000) : -1;
	rs->rtt_us = dice() % 8 ? number(1000000) : -1;
	rs->delivered = dice() % 8 ? (qw_s32)(number(1000) & 0x7fffffff) : -1;
	rs->prior_delivered = c->delivered - number(500);
	rs->losses = number(10);
	rs->acked_sacked = number(100);
	rs->prior_in_flight = number(1000);
	rs->tx_in_flight = number(1000);
	rs->lost = number(20);
	rs->delivered_ce = number(20);
	rs->is_app_limited = dice() & 1;
	rs->is_ack_delayed = dice() & 1;
	rs->is_tlp = dice() % 16 == 0;
}

static void event(qw_u8 *s, struct qw_conn *c, qw_u64 now)
{
	struct qw_rate_sample rs;
	struct qw_lost l = { number(10), number(1000), number(50), dice() & 1 };
	qw_u32 st = (qw_u32)(dice() % 5);

	switch (dice() % 12) {
	case 0:
		if (control.lost)
			control.lost(s, c, &l, now);
		break;
	case 1:
		if (control.set_state)
			control.set_state(s, c, st, now);
		c->ca_state = (qw_u8)st;
		break;
	case 2:
		if (control.cwnd_event)
			control.cwnd_event(s, c, (qw_u32)(dice() % 3), now);
		break;
	case 3:
		c->ssthresh = control.ssthresh(s, c, now);
		CHECK(c->ssthresh >= 2, "ssthresh %u", c->ssthresh);
		break;
	case 4:
		c->prior_cwnd = c->cwnd;
		c->cwnd = control.undo_cwnd(s, c);
		break;
	case 5:
		if (control.min_tso_segs)
			control.min_tso_segs(s, c);
		if (control.sndbuf_expand)
			control.sndbuf_expand(s, c);
		break;
	default:
		sample(&rs, c, now);
		if (control.in_ack_event)
			control.in_ack_event(s, c, now);
		if (control.pkts_acked)
			control.pkts_acked(s, c, rs.acked_sacked,
					   number(1000000), now);
		if (control.cong_control)
			control.cong_control(s, c, &rs, now, (qw_u32)dice());
		else
			control.cong_avoid(s, c, rs.acked_sacked & 0xffff, now);
	}
	CHECK(c->cwnd >= 1, "window %u", c->cwnd);
	CHECK(c->pacing_rate, "no rate");
	CHECK(c->ssthresh >= 2, "ssthresh %u", c->ssthresh);
}

int main(void)
{
	union {
		qw_u8 bytes[QW_CCA_STATE];
		qw_u64 align;
	} s;
	struct qw_conn c;
	qw_u32 i, run;
	qw_u64 now = SEC;

	for (run = 0; run < 2000; run++) {
		memset(&s, 0, sizeof(s));
		memset(&c, 0, sizeof(c));
		c.cwnd = 10;
		c.mss = PACKET;
		c.ssthresh = QW_INFINITE_SSTHRESH;
		c.pacing_rate = QW_UNPACED;
		c.min_rtt_us = number(1000000);
		c.delivered = (qw_u32)dice();
		c.snd_una = (qw_u32)dice();
		c.srtt_us = number(8000000);
		c.clock.hz = 250;
		control.init(&s, &c, now);
		for (i = 0; i < 500; i++) {
			now += dice() >> (24 + dice() % 40);
			connection(&c, run & 1);
			event(s.bytes, &c, now);
		}
	}
	printf("  a million random events, %d failed\n", failures);
	return failures != 0;
}
