/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Random events on a congestion control of a user's own, under sanitizers, with
 * a model of a sender that is rough, but whose counts hold together: check FIRST
 * SEQUENCES SECONDS, of which it makes no more than it has time for. Filled in
 * as own.c is, after which it was compiled: all declarations are there.
 */
#include "table.h"

# 1 "@file@"
@text@
# 1 "check.c"
/* Of libc, whose headers the file must not see. */
int printf(const char *, ...);
void *calloc(__SIZE_TYPE__, __SIZE_TYPE__);
void *memcpy(void *, const void *, __SIZE_TYPE__);
int memcmp(const void *, const void *, __SIZE_TYPE__);
void free(void *);
void exit(int);
unsigned long strtoul(const char *, char **, int);
long time(long *);

#ifndef QW_@X@_PROBES
#define QW_@X@_PROBES(V)
#endif

#define QW_CHECK_OPERATIONS 400u

struct qw_check {
	struct qw_@x@ *s;
	struct qw_conn *c, before;
	struct qw_rate_sample *rs;
	struct qw_lost *l;
	qw_u64 now, rtt_ns, sent_ns;
	qw_u32 recovery_end; /* segment that ends the present reduction */
	qw_u64 dice, seen, sequence;
	qw_u64 acks, losses, marks, timeouts;
};

static void qw_check_fail(const struct qw_check *k, const char *event, const char *what)
{
	printf("qw_@x@_%s %s (sequence %llu)\n", event, what, k->sequence);
	exit(3);
}

/* xorshift64*. */
static qw_u64 qw_check_roll(struct qw_check *k)
{
	k->dice ^= k->dice >> 12;
	k->dice ^= k->dice << 25;
	k->dice ^= k->dice >> 27;
	return k->dice * 0x2545f4914f6cdd1dULL;
}

/* In least..most, all magnitudes alike: what breaks things are the small and
 * the huge. */
static qw_u64 qw_check_number(struct qw_check *k, qw_u64 least, qw_u64 most)
{
	qw_u64 span = most - least, v = qw_check_roll(k);

	v >>= qw_check_roll(k) % 64;
	return least + (span == ~0ULL ? v : v % (span + 1));
}

/* What it left, after an event. */
static void qw_check_after(struct qw_check *k, const char *event)
{
	struct qw_conn left = *k->c;
	const struct qw_@x@ *s = k->s;
	const struct qw_conn *c = k->c;

	(void)s;
	(void)c;
	if (!left.cwnd)
		qw_check_fail(k, event, "leaves a window (cwnd) of 0 packets; it is at least 1");
	if (left.ssthresh < 2)
		qw_check_fail(k, event, "leaves an ssthresh below 2 packets");
	if (!left.pacing_rate)
		qw_check_fail(k, event, "leaves a pacing_rate of 0; it is at least 1 byte a second");
	if (left.pacing > 1)
		qw_check_fail(k, event, "leaves another pacing than 0 or 1");
	left.cwnd = k->before.cwnd;
	left.cwnd_cnt = k->before.cwnd_cnt;
	left.ssthresh = k->before.ssthresh;
	left.pacing_rate = k->before.pacing_rate;
	left.pacing = k->before.pacing;
	left.app_limited = k->before.app_limited;
	if (memcmp(&left, &k->before, sizeof(left)))
		qw_check_fail(k, event, "writes to what is not its own; of c it may write cwnd, cwnd_cnt, ssthresh, pacing_rate, pacing and app_limited");
	/* More no path has, and Linux neither. */
	if (k->c->cwnd > QW_OWN_MOST_CWND)
		k->c->cwnd = QW_OWN_MOST_CWND;
	k->seen = k->seen * 31 + k->c->cwnd * 7 + k->c->ssthresh + k->c->pacing_rate;
#define QW_CHECK_PROBE(value, unit) k->seen = k->seen * 31 + (qw_u64)(value) + !(unit);
	QW_@X@_PROBES(QW_CHECK_PROBE)
}

/* Each event, if the control wants it: those not in QW_X_CCA(E) do nothing. */
#define QW_CHECK_BEFORE(k) memcpy(&(k)->before, (k)->c, sizeof((k)->before))
enum {
	qw_check_has_init, qw_check_has_ssthresh, qw_check_has_undo_cwnd,
	qw_check_has_cong_avoid, qw_check_has_cong_control, qw_check_has_pkts_acked,
	qw_check_has_in_ack_event, qw_check_has_set_state, qw_check_has_cwnd_event,
	qw_check_has_min_tso_segs, qw_check_has_lost, qw_check_has_sndbuf_expand,
};
struct qw_check_args {
	qw_u32 acked, rtt_us, state, event, random;
};
#define QW_CHECK_CALL_init qw_@x@_init(k->s, k->c, k->now)
#define QW_CHECK_CALL_ssthresh answer = qw_@x@_ssthresh(k->s, k->c, k->now)
#define QW_CHECK_CALL_undo_cwnd answer = qw_@x@_undo_cwnd(k->s, k->c)
#define QW_CHECK_CALL_cong_avoid qw_@x@_cong_avoid(k->s, k->c, a.acked, k->now)
#define QW_CHECK_CALL_cong_control qw_@x@_cong_control(k->s, k->c, k->rs, k->now, a.random)
#define QW_CHECK_CALL_pkts_acked qw_@x@_pkts_acked(k->s, k->c, a.acked, a.rtt_us, k->now)
#define QW_CHECK_CALL_in_ack_event qw_@x@_in_ack_event(k->s, k->c, k->now)
#define QW_CHECK_CALL_set_state qw_@x@_set_state(k->s, k->c, a.state, k->now)
#define QW_CHECK_CALL_cwnd_event qw_@x@_cwnd_event(k->s, k->c, a.event, k->now)
#define QW_CHECK_CALL_min_tso_segs answer = qw_@x@_min_tso_segs(k->s, k->c)
#define QW_CHECK_CALL_sndbuf_expand answer = qw_@x@_sndbuf_expand(k->s, k->c)
#define QW_CHECK_CALL_lost qw_@x@_lost(k->s, k->c, k->l, k->now)

#define QW_CHECK_EVENT(name)                     \
	if (which == qw_check_has_##name) {      \
		QW_CHECK_BEFORE(k);              \
		QW_CHECK_CALL_##name;            \
		qw_check_after(k, #name);        \
	}

/* What the control answers; 0 where it has no answer or does not want it. */
static qw_u32 qw_check_event(struct qw_check *k, int which, struct qw_check_args a)
{
	qw_u32 answer = 0;

	(void)a;
	QW_@X@_CCA(QW_CHECK_EVENT)
	return answer;
}

#define QW_CHECK_HAS(name) has |= which == qw_check_has_##name;
static int qw_check_wants(int which)
{
	int has = 0;

	QW_@X@_CCA(QW_CHECK_HAS)
	return has;
}

static void qw_check_state(struct qw_check *k, qw_u32 state)
{
	struct qw_check_args a = { .state = state };

	if (k->c->ca_state == state)
		return;
	qw_check_event(k, qw_check_has_set_state, a);
	k->c->ca_state = (qw_u8)state;
}

static qw_u32 qw_check_ssthresh(struct qw_check *k)
{
	struct qw_check_args a = { 0 };
	qw_u32 answer = qw_check_event(k, qw_check_has_ssthresh, a);

	if (answer < 2)
		qw_check_fail(k, "ssthresh", "answers less than 2 packets");
	return answer;
}

/* A reduction, for a loss or a mark; the window falls to its end at once. */
static void qw_check_reduce(struct qw_check *k, qw_u32 state)
{
	struct qw_conn *c = k->c;
	struct qw_check_args a = { .event = QW_EVENT_COMPLETE_CWR };

	if (c->ca_state >= QW_CA_CWR && c->ca_state >= state)
		return;
	if (c->ca_state < QW_CA_CWR) {
		c->cwnd_cnt = 0;
		c->prior_cwnd = c->cwnd;
		c->ssthresh = qw_check_ssthresh(k);
		if (!qw_check_wants(qw_check_has_cong_control))
			c->cwnd = c->cwnd < c->ssthresh ? c->cwnd : c->ssthresh;
	}
	k->recovery_end = c->snd_nxt;
	qw_check_state(k, state);
	/* tcp_end_cwnd_reduction */
	if (qw_check_roll(k) % 4 == 0 && !qw_check_wants(qw_check_has_cong_control))
		qw_check_event(k, qw_check_has_cwnd_event, a);
}

static void qw_check_timeout(struct qw_check *k)
{
	struct qw_conn *c = k->c;
	struct qw_check_args a = { .event = QW_EVENT_LOSS };

	k->timeouts++;
	c->lost += c->packets_out - c->sacked_out - c->lost_out;
	c->lost_out = c->packets_out - c->sacked_out;
	c->retrans_out = 0;
	c->prior_cwnd = c->cwnd;
	c->ssthresh = qw_check_ssthresh(k);
	qw_check_event(k, qw_check_has_cwnd_event, a);
	c->cwnd = qw_in_flight(c) + 1;
	c->cwnd_cnt = 0;
	qw_check_state(k, QW_CA_LOSS);
	k->recovery_end = c->snd_nxt;
}

static void qw_check_send(struct qw_check *k)
{
	struct qw_conn *c = k->c;
	struct qw_check_args a = { .event = QW_EVENT_TX_START };
	qw_u32 in_flight = qw_in_flight(c), n, segs;

	if (in_flight >= c->cwnd)
		return;
	if (!in_flight)
		qw_check_event(k, qw_check_has_cwnd_event, a);
	segs = qw_check_event(k, qw_check_has_min_tso_segs, a);
	k->seen += segs;
	k->seen += qw_check_event(k, qw_check_has_sndbuf_expand, a);
	/* A window, or what an application has. */
	n = c->cwnd - in_flight;
	if (qw_check_roll(k) % 4 == 0) {
		n = (qw_u32)qw_check_number(k, 0, n);
		c->app_limited = c->delivered + in_flight + n;
		c->app_limited += !c->app_limited;
	}
	if (n > 100000)
		n = 100000;
	if (c->packets_out > 10000000)
		n = 0;
	c->snd_nxt += n;
	c->packets_out += n;
	if (n) {
		c->last_send_ns = k->now ? k->now : 1;
		c->edt_ns = k->now + (c->pacing ? qw_check_number(k, 0, 10000000) : 0);
	}
	c->is_cwnd_limited = qw_in_flight(c) >= c->cwnd;
	if (c->packets_out > c->max_packets_out || c->is_cwnd_limited)
		c->max_packets_out = c->packets_out;
}

/* Some of what is in flight is lost. */
static qw_u32 qw_check_lose(struct qw_check *k)
{
	struct qw_conn *c = k->c;
	qw_u32 may = c->packets_out - c->sacked_out - c->lost_out, n, i;
	struct qw_check_args a = { 0 };

	if (!may)
		return 0;
	n = (qw_u32)qw_check_number(k, 1, may);
	for (i = 0; i < n; i++) {
		c->lost_out++;
		c->lost++;
		/* Not each of many. */
		if (i > 50)
			continue;
		k->l->packets = 1;
		k->l->tx_in_flight = (qw_u32)qw_check_number(k, 1, c->packets_out);
		k->l->lost = (qw_u32)qw_check_number(k, 1, k->l->tx_in_flight);
		k->l->is_app_limited = qw_check_roll(k) % 8 == 0;
		if (!((QW_@X@_FLAGS) & QW_CCA_STAMPS))
			k->l->tx_in_flight = k->l->lost = k->l->is_app_limited = 0;
		qw_check_event(k, qw_check_has_lost, a);
	}
	k->losses += n;
	return n;
}

static void qw_check_ack(struct qw_check *k)
{
	struct qw_conn *c = k->c;
	struct qw_rate_sample *rs = k->rs;
	struct qw_check_args a = { 0 };
	qw_u32 in_flight = qw_in_flight(c), acked, sacked = 0, delivered, lost = 0;
	qw_u32 rtt_us = (qw_u32)(qw_check_number(k, k->rtt_ns / 2, k->rtt_ns * 2) / 1000) + 1;
	int marked = 0;

	if (!c->packets_out)
		return;
	k->acks++;
	acked = (qw_u32)qw_check_number(k, 0, c->packets_out);
	/* What is acknowledged is taken of what was SACKed, sent again, lost and
	 * in flight, in any proportion that there can be. */
	c->packets_out -= acked;
	c->snd_una += acked;
	delivered = acked;
	if (c->sacked_out > c->packets_out)
		c->sacked_out = c->packets_out;
	if (c->lost_out > c->packets_out - c->sacked_out)
		c->lost_out = c->packets_out - c->sacked_out;
	if (qw_check_roll(k) % 4 == 0) {
		sacked = (qw_u32)qw_check_number(k, 0, c->packets_out - c->sacked_out - c->lost_out);
		c->sacked_out += sacked;
		delivered += sacked;
	}
	if (c->retrans_out > c->lost_out)
		c->retrans_out = c->lost_out;
	c->delivered += delivered;
	if (delivered)
		c->delivered_ns = k->now;
	if (qw_check_roll(k) % 8 == 0)
		rtt_us = 0;
	if (rtt_us) {
		c->srtt_us = c->srtt_us - (c->srtt_us >> 3) + rtt_us;
		if (rtt_us < c->min_rtt_us)
			c->min_rtt_us = rtt_us;
	}
	if (c->app_limited && qw_after(c->delivered, c->app_limited))
		c->app_limited = 0;
	a.acked = acked;
	a.rtt_us = rtt_us;
	qw_check_event(k, qw_check_has_pkts_acked, a);
	if (delivered && qw_check_roll(k) % 8 == 0) {
		marked = 1;
		c->delivered_ce += delivered;
		k->marks += delivered;
	}
	qw_check_event(k, qw_check_has_in_ack_event, a);
	if (qw_check_roll(k) % 8 == 0)
		lost = qw_check_lose(k);

	/* tcp_fastretrans_alert, roughly. */
	if (c->ca_state >= QW_CA_CWR && qw_after(c->snd_una, k->recovery_end)) {
		a.event = QW_EVENT_COMPLETE_CWR;
		if (c->ca_state != QW_CA_LOSS && !qw_check_wants(qw_check_has_cong_control)) {
			c->cwnd = c->ssthresh < QW_INFINITE_SSTHRESH ? c->ssthresh : c->cwnd;
			qw_check_event(k, qw_check_has_cwnd_event, a);
		}
		qw_check_state(k, QW_CA_OPEN);
	} else if (c->ca_state >= QW_CA_RECOVERY && qw_check_roll(k) % 16 == 0) {
		qw_u32 window = qw_check_event(k, qw_check_has_undo_cwnd, a);

		if (!window)
			qw_check_fail(k, "undo_cwnd", "answers a window of 0 packets");
		c->cwnd = window > QW_OWN_MOST_CWND ? QW_OWN_MOST_CWND : window;
		qw_check_state(k, QW_CA_OPEN);
	}
	if (c->lost_out)
		qw_check_reduce(k, QW_CA_RECOVERY);
	else if (marked)
		qw_check_reduce(k, QW_CA_CWR);
	else if (c->ca_state <= QW_CA_DISORDER)
		qw_check_state(k, c->sacked_out ? QW_CA_DISORDER : QW_CA_OPEN);

	if (qw_check_wants(qw_check_has_cong_control)) {
		rs->acked_sacked = delivered;
		rs->losses = lost;
		rs->prior_in_flight = in_flight;
		rs->rtt_us = rtt_us ? (qw_s64)rtt_us : -1;
		rs->prior_ns = qw_check_roll(k) % 8 ? k->now - qw_check_number(k, 0, k->now - 1) : 0;
		rs->delivered = (qw_s32)qw_check_number(k, delivered, (qw_u64)delivered + in_flight);
		rs->prior_delivered = c->delivered - (qw_u32)rs->delivered;
		rs->interval_us = (qw_s64)qw_check_number(k, 0, 1ULL << 34);
		rs->is_app_limited = qw_check_roll(k) % 4 == 0;
		rs->is_ack_delayed = qw_check_roll(k) % 4 == 0;
		rs->is_tlp = qw_check_roll(k) % 16 == 0;
		rs->tx_in_flight = rs->lost = rs->delivered_ce = 0;
		if ((QW_@X@_FLAGS) & QW_CCA_STAMPS) {
			rs->tx_in_flight = (qw_u32)qw_check_number(k, 1, (qw_u64)in_flight + 1);
			rs->lost = (qw_u32)qw_check_number(k, lost, (qw_u64)lost + in_flight);
			rs->delivered_ce = (qw_u32)qw_check_number(k, 0, (qw_u32)rs->delivered);
		}
		if (!rs->prior_ns) {
			rs->delivered = -1;
			rs->interval_us = -1;
		} else if (rs->interval_us < (qw_s64)c->min_rtt_us) {
			rs->interval_us = -1;
		}
		a.random = (qw_u32)qw_check_roll(k);
		qw_check_event(k, qw_check_has_cong_control, a);
	} else if (c->ca_state == QW_CA_CWR || c->ca_state == QW_CA_RECOVERY) {
		/* Proportional rate reduction, whatever it comes to. */
		c->cwnd = (qw_u32)qw_check_number(k, 1, (qw_u64)qw_in_flight(c) + 3);
	} else if (delivered) {
		a.acked = delivered;
		qw_check_event(k, qw_check_has_cong_avoid, a);
	}
	/* tcp_update_pacing_rate */
	if (!qw_check_wants(qw_check_has_cong_control) && c->srtt_us) {
		c->pacing_rate = (qw_u64)c->mss * c->cwnd * 80000 * 200 / c->srtt_us;
		c->pacing_rate += !c->pacing_rate;
	}
	if (c->lost_out > c->retrans_out && qw_check_roll(k) % 2)
		c->retrans_out += (qw_u32)qw_check_number(k, 0, c->lost_out - c->retrans_out);
}

/* Clocks of 100 to 1000 ticks a second. */
static void qw_check_clock(struct qw_check *k)
{
	static const qw_u32 hz[] = { 100, 250, 300, 1000 };
	struct qw_clock *clock = &k->c->clock;

	clock->hz = hz[qw_check_roll(k) % 4];
	clock->tick_ns = (1000000000u + clock->hz / 2) / clock->hz;
	clock->tick_us = 1000000u % clock->hz ? 0 : 1000000u / clock->hz;
	clock->shift = 31u - (qw_u32)__builtin_clz(clock->tick_ns - 1);
	clock->parts = (qw_u64)(((((unsigned __int128)1) << (64 + clock->shift)) + clock->tick_ns - 1) / clock->tick_ns);
}

/* One sequence; what was seen of it. */
static qw_u64 qw_check_sequence(struct qw_check *k, qw_u64 sequence)
{
	struct qw_check_args a = { 0 };
	struct qw_conn *c;
	qw_u64 step;
	qw_u32 i;

	k->sequence = sequence;
	k->dice = (sequence + 1) * 0x9e3779b97f4a7c15ULL;
	k->seen = 0;
	/* Each of its own size, so that what is behind it is noticed. */
	k->s = calloc(1, sizeof(*k->s));
	k->c = c = calloc(1, sizeof(*k->c));
	k->rs = calloc(1, sizeof(*k->rs));
	k->l = calloc(1, sizeof(*k->l));
	if (!k->s || !c || !k->rs || !k->l)
		exit(4);
	qw_check_clock(k);
	k->now = qw_check_number(k, 1, 1ULL << 50);
	k->rtt_ns = qw_check_number(k, 1000, 10000000000ULL);
	step = qw_check_number(k, 1, k->rtt_ns * 4);
	c->cwnd = (qw_u32)qw_check_number(k, 1, 1000);
	c->ssthresh = QW_INFINITE_SSTHRESH;
	c->mss = (qw_u32)qw_check_number(k, 500, 8948);
	c->srtt_us = (qw_u32)(k->rtt_ns / 1000) * 8;
	c->min_rtt_us = (qw_u32)(k->rtt_ns / 1000);
	c->pacing_rate = qw_check_roll(k) % 2 ? QW_UNPACED : qw_check_number(k, 1, 1ULL << 40);
	c->pacing = qw_check_roll(k) % 2;
	/* Counts wrap in many a sequence. */
	c->snd_una = c->snd_nxt = (qw_u32)(qw_check_roll(k) % 2 ? 0 : 0u - (qw_u32)qw_check_number(k, 0, 4000));
	c->delivered = (qw_u32)(qw_check_roll(k) % 2 ? 1 : 0u - (qw_u32)qw_check_number(k, 0, 4000));
	c->delivered_ns = k->now;
	k->recovery_end = c->snd_nxt;
	qw_check_event(k, qw_check_has_init, a);
	for (i = 0; i < QW_CHECK_OPERATIONS; i++) {
		k->now += qw_check_number(k, 0, step);
		switch (qw_check_roll(k) % 64) {
		case 0:
			if (c->packets_out)
				qw_check_timeout(k);
			break;
		case 1: /* nothing for a while */
			k->now += qw_check_number(k, 0, 1ULL << 36);
			break;
		case 2: /* all arrives */
			c->snd_una = c->snd_nxt;
			c->delivered += c->packets_out - c->sacked_out;
			c->packets_out = c->sacked_out = c->lost_out = c->retrans_out = 0;
			break;
		case 3: /* an idle time shrinks the window (RFC 2861) */
			if (!qw_check_wants(qw_check_has_cong_control) && c->cwnd > 20)
				c->cwnd >>= 1;
			break;
		default:
			if (qw_check_roll(k) % 3)
				qw_check_ack(k);
			qw_check_send(k);
		}
	}
	free(k->s);
	free(k->c);
	free(k->rs);
	free(k->l);
	return k->seen;
}

int main(int argc, char **argv)
{
	static struct qw_check k;
	qw_u64 first = argc > 1 ? strtoul(argv[1], 0, 10) : 0;
	qw_u64 most = argc > 2 ? strtoul(argv[2], 0, 10) : 1;
	long until = time(0) + (argc > 3 ? (long)strtoul(argv[3], 0, 10) : 1);
	qw_u64 i;

	for (i = first; i < first + most && (i == first || time(0) < until); i++)
		if (qw_check_sequence(&k, i) != qw_check_sequence(&k, i))
			qw_check_fail(&k, "...", "do not do the same twice with the same events: the control remembers something outside of struct qw_@x@, or reads what it has not set");
	printf("%llu sequences: %llu acknowledgements, %llu packets lost, %llu marked, %llu timeouts\n", i - first, k.acks, k.losses, k.marks, k.timeouts);
	return 0;
}
