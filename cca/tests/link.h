/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A small deterministic model of senders that share one bottleneck, to test
 * congestion controls with. A sender has SACK, pacing, a timeout and the order
 * of calls of Linux's TCP: in_ack_event, pkts_acked, losses, state, and then
 * cong_control, or cong_avoid outside of recovery. A packet is lost when one
 * sent three transmissions later was delivered. Every packet is acknowledged at
 * once. The bottleneck drops at the tail and marks from a threshold on.
 *
 * A test defines CONTROL (bbr3) and CONTROL_EVENTS (QW_BBR3_CCA) and includes
 * the control's header first.
 */
#ifndef QW_TESTS_LINK_H
#define QW_TESTS_LINK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS QW_NS_PER_MS
#define SEC QW_NS_PER_SEC
#define PACKET 1500u /* bytes, headers left out of the account */
#define MBIT 125000ULL /* bytes a second */

/* What failed, and how often anything was asked. */
static int failures, checks;

#define CHECK(what, ...)                                                  \
	do {                                                              \
		checks++;                                                 \
		if (!(what)) {                                            \
			failures++;                                       \
			printf("%s:%d: %s: ", __FILE__, __LINE__, #what); \
			printf(__VA_ARGS__);                              \
			printf("\n");                                     \
		}                                                         \
	} while (0)

/* The control under test, each event it has behind one of these. */
struct control {
	void (*init)(void *s, struct qw_conn *c, qw_u64 now);
	qw_u32 (*ssthresh)(void *s, struct qw_conn *c, qw_u64 now);
	qw_u32 (*undo_cwnd)(void *s, struct qw_conn *c);
	void (*cong_avoid)(void *s, struct qw_conn *c, qw_u32 n, qw_u64 now);
	void (*cong_control)(void *s, struct qw_conn *c,
			     const struct qw_rate_sample *rs, qw_u64 now,
			     qw_u32 random);
	void (*pkts_acked)(void *s, struct qw_conn *c, qw_u32 n, qw_u32 rtt_us,
			   qw_u64 now);
	void (*in_ack_event)(void *s, struct qw_conn *c, qw_u64 now);
	void (*set_state)(void *s, struct qw_conn *c, qw_u32 st, qw_u64 now);
	void (*cwnd_event)(void *s, struct qw_conn *c, qw_u32 ev, qw_u64 now);
	qw_u32 (*min_tso_segs)(void *s, struct qw_conn *c);
	qw_u32 (*sndbuf_expand)(void *s, struct qw_conn *c);
	void (*lost)(void *s, struct qw_conn *c, const struct qw_lost *l,
		     qw_u64 now);
};

#define FN2(x, e) qw_##x##_##e
#define FN1(x, e) FN2(x, e)
#define FN(e) FN1(CONTROL, e)
#define CC struct qw_conn *c
#define DEFINE_init                                    \
	static void call_init(void *s, CC, qw_u64 now) \
	{                                              \
		FN(init)(s, c, now);                   \
	}
#define DEFINE_ssthresh                                      \
	static qw_u32 call_ssthresh(void *s, CC, qw_u64 now) \
	{                                                    \
		return FN(ssthresh)(s, c, now);              \
	}
#define DEFINE_undo_cwnd                          \
	static qw_u32 call_undo_cwnd(void *s, CC) \
	{                                         \
		return FN(undo_cwnd)(s, c);       \
	}
#define DEFINE_cong_avoid                                              \
	static void call_cong_avoid(void *s, CC, qw_u32 n, qw_u64 now) \
	{                                                              \
		FN(cong_avoid)(s, c, n, now);                          \
	}
#define DEFINE_cong_control                                            \
	static void call_cong_control(void *s, CC,                     \
				      const struct qw_rate_sample *rs, \
				      qw_u64 now, qw_u32 random)       \
	{                                                              \
		FN(cong_control)(s, c, rs, now, random);               \
	}
#define DEFINE_pkts_acked                                              \
	static void call_pkts_acked(void *s, CC, qw_u32 n, qw_u32 rtt, \
				    qw_u64 now)                        \
	{                                                              \
		FN(pkts_acked)(s, c, n, rtt, now);                     \
	}
#define DEFINE_in_ack_event                                    \
	static void call_in_ack_event(void *s, CC, qw_u64 now) \
	{                                                      \
		FN(in_ack_event)(s, c, now);                   \
	}
#define DEFINE_set_state                                               \
	static void call_set_state(void *s, CC, qw_u32 st, qw_u64 now) \
	{                                                              \
		FN(set_state)(s, c, st, now);                          \
	}
#define DEFINE_cwnd_event                                               \
	static void call_cwnd_event(void *s, CC, qw_u32 ev, qw_u64 now) \
	{                                                               \
		FN(cwnd_event)(s, c, ev, now);                          \
	}
#define DEFINE_min_tso_segs                          \
	static qw_u32 call_min_tso_segs(void *s, CC) \
	{                                            \
		return FN(min_tso_segs)(s, c);       \
	}
#define DEFINE_sndbuf_expand                          \
	static qw_u32 call_sndbuf_expand(void *s, CC) \
	{                                             \
		return FN(sndbuf_expand)(s, c);       \
	}
#define DEFINE_lost                                                 \
	static void call_lost(void *s, CC, const struct qw_lost *l, \
			      qw_u64 now)                           \
	{                                                           \
		FN(lost)(s, c, l, now);                             \
	}
#define DEFINE(e) DEFINE_##e
#define FIELD(e) .e = call_##e,
CONTROL_EVENTS(DEFINE)
static const struct control control = { CONTROL_EVENTS(FIELD) };

/* A packet in the sender's memory. */
struct packet {
	qw_u64 sent_ns, prior_ns, first_ns;
	qw_u32 tx; /* number of its last transmission */
	qw_u32 delivered, delivered_ce, lost; /* the connection's, when sent */
	qw_u32 in_flight, app_limited;
	qw_u8 is_lost, is_sacked, is_resent;
};

#define WINDOW (1u << 16) /* packets remembered, a power of two */
#define MAX_FLOWS 16

struct flow {
	struct qw_conn c;
	union {
		qw_u8 bytes[QW_CCA_STATE];
		qw_u64 align;
	} state;
	struct packet packet[WINDOW];
	struct net *net;
	qw_u64 rtt_ns; /* propagation */
	qw_u64 next_send_ns, first_ns, rto_ns, timer_ns, ack_batch_ns, held_ns;
	qw_u64 limit; /* packets the application has given; ~0: no limit */
	qw_u64 app_rate; /* bytes a second; 0: greedy */
	qw_u64 app_start_ns;
	qw_u64 app_base;
	qw_u32 tx, newest, high_seq, usage_seq, next_resend, rttvar_us;
	qw_u32 lost_limit; /* packets below this were looked at for losses */
	qw_u32 marks; /* newly seen by this ACK */
	qw_u32 ecn; /* its packets may be marked */
	qw_u32 no_lost_event, no_stamps; /* as a kernel's BPF */
	qw_u32 fake; /* a recovery that the test began, and ends */
	qw_u32 recoveries, timeouts;
	qw_u32 timeout_una; /* snd_una at the last timeout */
	qw_u32 started;
	void (*after)(struct flow *f, qw_u64 now);
	/* Counted for tests. */
	qw_u64 got, dropped, sent, rtt_sum_us, rtts;
};

enum { ACK = 1, DONE, SEND, TIMEOUT, START };

struct event {
	qw_u64 at, order;
	qw_u32 kind, flow, seq, tx, ce;
};

struct queued {
	qw_u64 came_ns;
	qw_u32 flow, seq, tx, ce;
};

#define QUEUE (1u << 14)
#define EVENTS (1u << 18)

struct net {
	qw_u64 now, order, rate;
	struct event *heap;
	qw_u32 events;
	struct queued queue[QUEUE];
	qw_u32 head, tail, limit, busy;
	/* Loss and marks: by the million at random, every n-th, threshold. */
	qw_u32 loss_ppm, loss_every, mark_ppm, mark_every, counted;
	qw_u64 step_ns; /* sojourn from which packets are marked; 0: none */
	/* Token bucket policer: rate 0: none. */
	qw_u64 police_rate, police_burst, police_tokens, police_ns;
	qw_u64 seed;
	qw_u64 busy_ns, marked, forwarded, most;
	struct flow *flow[MAX_FLOWS];
	qw_u32 flows;
};

static qw_u32 net_random(struct net *n)
{
	n->seed ^= n->seed << 13;
	n->seed ^= n->seed >> 7;
	n->seed ^= n->seed << 17;
	return (qw_u32)(n->seed >> 16);
}

static int earlier(const struct event *a, const struct event *b)
{
	return a->at < b->at || (a->at == b->at && a->order < b->order);
}

static void push(struct net *n, struct event e)
{
	qw_u32 i = n->events++;

	if (n->events >= EVENTS) {
		printf("too many events\n");
		exit(2);
	}
	e.order = n->order++;
	while (i && earlier(&e, &n->heap[(i - 1) / 2])) {
		n->heap[i] = n->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	n->heap[i] = e;
}

static struct event pop(struct net *n)
{
	struct event top = n->heap[0], last = n->heap[--n->events];
	qw_u32 i = 0, k;

	while ((k = 2 * i + 1) < n->events) {
		if (k + 1 < n->events && earlier(&n->heap[k + 1], &n->heap[k]))
			k++;
		if (!earlier(&n->heap[k], &last))
			break;
		n->heap[i] = n->heap[k];
		i = k;
	}
	n->heap[i] = last;
	return top;
}

static void net_init(struct net *n, qw_u64 rate, qw_u32 buffer)
{
	memset(n, 0, sizeof(*n));
	n->heap = calloc(EVENTS, sizeof(*n->heap));
	n->rate = rate;
	n->limit = buffer;
	n->seed = 88172645463325252ULL;
	n->now = SEC; /* no test relies on time being young */
}

static void net_free(struct net *n)
{
	qw_u32 i;

	for (i = 0; i < n->flows; i++)
		free(n->flow[i]);
	free(n->heap);
}

/* The link. */

static void transmit(struct net *n)
{
	qw_u64 took = PACKET * SEC / n->rate;

	n->busy = 1;
	n->busy_ns += took;
	push(n, (struct event){ .at = n->now + took, .kind = DONE });
}

static void drop(struct net *n, qw_u32 flow)
{
	n->flow[flow]->dropped++;
}

static int policed(struct net *n)
{
	if (!n->police_rate)
		return 0;
	n->police_tokens += (n->now - n->police_ns) * n->police_rate / 1000;
	n->police_ns = n->now;
	if (n->police_tokens > n->police_burst * 1000000)
		n->police_tokens = n->police_burst * 1000000;
	if (n->police_tokens < PACKET * 1000000ULL)
		return 1;
	n->police_tokens -= PACKET * 1000000ULL;
	return 0;
}

static void arrive(struct net *n, struct queued p)
{
	n->counted++;
	if ((n->loss_ppm && net_random(n) % 1000000 < n->loss_ppm) ||
	    (n->loss_every && n->counted % n->loss_every == 0) || policed(n) ||
	    n->tail - n->head >= n->limit) {
		drop(n, p.flow);
		return;
	}
	p.came_ns = n->now;
	if (n->flow[p.flow]->ecn &&
	    ((n->mark_ppm && net_random(n) % 1000000 < n->mark_ppm) ||
	     (n->mark_every && n->counted % n->mark_every == 0)))
		p.ce = 1;
	n->queue[n->tail++ % QUEUE] = p;
	if (n->tail - n->head > n->most)
		n->most = n->tail - n->head;
	if (!n->busy)
		transmit(n);
}

static void done(struct net *n)
{
	struct queued p = n->queue[n->head++ % QUEUE];
	struct flow *f = n->flow[p.flow];
	qw_u64 at = n->now + f->rtt_ns;

	n->busy = 0;
	n->forwarded++;
	if (f->ecn && n->step_ns && n->now - p.came_ns > n->step_ns)
		p.ce = 1;
	n->marked += p.ce;
	if (f->ack_batch_ns)
		at = (at + f->ack_batch_ns - 1) / f->ack_batch_ns *
		     f->ack_batch_ns;
	push(n, (struct event){ .at = at,
				.kind = ACK,
				.flow = p.flow,
				.seq = p.seq,
				.tx = p.tx,
				.ce = p.ce });
	if (n->tail != n->head)
		transmit(n);
}

/* The sender. */

static struct packet *packet(struct flow *f, qw_u32 seq)
{
	return &f->packet[seq % WINDOW];
}

static void set_state(struct flow *f, qw_u32 state)
{
	if (control.set_state)
		control.set_state(&f->state, &f->c, state, f->net->now);
	f->c.ca_state = (qw_u8)state;
}

static void cwnd_event(struct flow *f, qw_u32 event)
{
	if (control.cwnd_event)
		control.cwnd_event(&f->state, &f->c, event, f->net->now);
}

static qw_u64 app_has(const struct flow *f)
{
	if (f->app_rate)
		return f->app_base + (f->net->now - f->app_start_ns) *
					     (f->app_rate / 100) /
					     (PACKET * SEC / 100);
	return f->limit;
}

/* The application sends at `rate` from now on; 0: without end, 1: nothing. */
static inline void app(struct flow *f, qw_u64 rate)
{
	f->limit = ~0ULL;
	f->app_rate = rate;
	if (rate == 1) {
		f->app_rate = 0;
		f->limit = f->c.snd_nxt;
	}
	f->app_base = f->c.snd_nxt;
	f->app_start_ns = f->net->now;
}

static void arm(struct flow *f)
{
	f->timer_ns = f->net->now + f->rto_ns;
	push(f->net, (struct event){ .at = f->timer_ns,
				     .kind = TIMEOUT,
				     .flow = f->started - 1 });
}

static void wake(struct flow *f, qw_u64 at);

static void send(struct flow *f, qw_u32 seq)
{
	struct net *n = f->net;
	struct qw_conn *c = &f->c;
	struct packet *p = packet(f, seq);

	if (!qw_in_flight(c)) {
		f->first_ns = n->now;
		c->delivered_ns = n->now;
	}
	if (seq == c->snd_nxt) {
		if (c->packets_out == 0)
			cwnd_event(f, QW_EVENT_TX_START);
		memset(p, 0, sizeof(*p));
		c->snd_nxt++;
		c->packets_out++;
	} else {
		p->is_resent = 1;
		c->retrans_out++;
	}
	p->sent_ns = n->now;
	p->prior_ns = c->delivered_ns;
	p->first_ns = f->first_ns;
	p->tx = ++f->tx;
	p->delivered = c->delivered;
	p->delivered_ce = c->delivered_ce;
	p->lost = c->lost;
	p->in_flight = qw_in_flight(c);
	p->app_limited = c->app_limited != 0;
	c->last_send_ns = n->now;
	f->sent++;
	if (c->pacing && c->pacing_rate != QW_UNPACED && c->pacing_rate) {
		if (f->next_send_ns < n->now)
			f->next_send_ns = n->now;
		f->next_send_ns += PACKET * SEC / c->pacing_rate;
		c->edt_ns = f->next_send_ns;
	}
	arrive(n, (struct queued){
			  .flow = f->started - 1, .seq = seq, .tx = p->tx });
}

/* The packet to send again first, or snd_nxt. */
static qw_u32 resend(struct flow *f)
{
	struct qw_conn *c = &f->c;

	if (qw_after(c->snd_una, f->next_resend))
		f->next_resend = c->snd_una;
	if (c->lost_out <= c->retrans_out)
		return c->snd_nxt;
	while (f->next_resend != c->snd_nxt) {
		struct packet *p = packet(f, f->next_resend);

		if (p->is_lost && !p->is_resent && !p->is_sacked)
			break;
		f->next_resend++;
	}
	return f->next_resend;
}

static void try_send(struct flow *f)
{
	struct net *n = f->net;
	struct qw_conn *c = &f->c;
	int limited = 0;

	for (;;) {
		qw_u32 seq;

		if (qw_in_flight(c) >= c->cwnd) {
			limited = 1;
			break;
		}
		seq = resend(f);
		if (seq == c->snd_nxt) {
			if ((qw_u64)c->snd_nxt >= app_has(f)) {
				qw_u32 m = c->delivered + qw_in_flight(c);

				c->app_limited = m ? m : 1;
				if (f->app_rate)
					wake(f, n->now +
							PACKET * SEC /
								f->app_rate +
							1);
				break;
			}
			if (c->packets_out >= WINDOW / 2)
				break;
		}
		if (f->next_send_ns > n->now) {
			wake(f, f->next_send_ns);
			break;
		}
		send(f, seq);
		if (!f->timer_ns)
			arm(f);
	}
	/* tcp_cwnd_validate() */
	if (!qw_after(f->usage_seq, c->snd_una) || limited ||
	    (!c->is_cwnd_limited && c->packets_out > c->max_packets_out)) {
		c->is_cwnd_limited = (qw_u8)limited;
		c->max_packets_out = c->packets_out;
		f->usage_seq = c->snd_nxt;
	}
}

static void mark_lost(struct flow *f, qw_u32 seq, qw_u32 *losses)
{
	struct qw_conn *c = &f->c;
	struct packet *p = packet(f, seq);
	struct qw_lost l = { 0 };

	if (p->is_sacked || (p->is_lost && !p->is_resent))
		return;
	if (p->is_resent) {
		p->is_resent = 0;
		c->retrans_out--;
	} else {
		c->lost_out++;
	}
	p->is_lost = 1;
	c->lost++;
	*losses += 1;
	if (qw_after(f->next_resend, seq))
		f->next_resend = seq;
	l.packets = 1;
	l.tx_in_flight = p->in_flight;
	l.lost = c->lost - p->lost;
	l.is_app_limited = p->app_limited;
	if (control.lost && !f->no_lost_event)
		control.lost(&f->state, c, &l, f->net->now);
}

static void reduce(struct flow *f, qw_u32 state)
{
	struct qw_conn *c = &f->c;

	c->prior_cwnd = c->cwnd;
	c->ssthresh = control.ssthresh(&f->state, c, f->net->now);
	f->high_seq = c->snd_nxt;
	set_state(f, state);
}

/* Without a control of its own a sender goes down to ssthresh at once. */
static void find_losses(struct flow *f, qw_u32 *losses)
{
	struct qw_conn *c = &f->c;
	qw_u32 seq, most = c->snd_nxt;

	for (seq = c->snd_una; seq != most; seq++) {
		struct packet *p = packet(f, seq);

		if (p->is_sacked || (p->is_lost && !p->is_resent))
			continue;
		if ((qw_s32)(f->newest - p->tx) >= 3)
			mark_lost(f, seq, losses);
		else if (!p->is_lost)
			break; /* those after it were sent later */
	}
	if (*losses && c->ca_state < QW_CA_RECOVERY) {
		f->recoveries++;
		reduce(f, QW_CA_RECOVERY);
		if (!control.cong_control)
			c->cwnd = c->ssthresh;
	}
}

static void timeout(struct flow *f)
{
	struct qw_conn *c = &f->c;
	qw_u32 seq, losses = 0;

	f->timeouts++;
	for (seq = c->snd_una; seq != c->snd_nxt; seq++)
		mark_lost(f, seq, &losses);
	/* Again only if something got through since the last one. */
	if (c->ca_state < QW_CA_RECOVERY ||
	    (c->ca_state == QW_CA_LOSS && c->snd_una != f->timeout_una)) {
		c->prior_cwnd = c->cwnd;
		c->ssthresh = control.ssthresh(&f->state, c, f->net->now);
		cwnd_event(f, QW_EVENT_LOSS);
	}
	f->timeout_una = c->snd_una;
	f->high_seq = c->snd_nxt;
	c->cwnd = qw_in_flight(c) + 1;
	set_state(f, QW_CA_LOSS);
	f->next_resend = c->snd_una;
	if (f->rto_ns < 16 * SEC)
		f->rto_ns *= 2;
	arm(f);
	try_send(f);
}

static void round_trip(struct flow *f, qw_u32 us)
{
	struct qw_conn *c = &f->c;

	if (us < c->min_rtt_us)
		c->min_rtt_us = us;
	if (!c->srtt_us) {
		c->srtt_us = us << 3;
		f->rttvar_us = us / 2;
	} else {
		qw_u32 old = c->srtt_us >> 3;
		qw_u32 dev = old > us ? old - us : us - old;

		c->srtt_us = c->srtt_us - old + us;
		f->rttvar_us = f->rttvar_us - f->rttvar_us / 4 + dev / 4;
	}
	f->rto_ns = (c->srtt_us >> 3) * 1000ULL +
		    4000ULL * (f->rttvar_us > 50000 ? f->rttvar_us : 50000);
	f->rtt_sum_us += us;
	f->rtts++;
}

/* Is the end of a reduction reached? */
static void end_reduction(struct flow *f)
{
	struct qw_conn *c = &f->c;

	if (f->fake || c->ca_state < QW_CA_CWR ||
	    qw_after(f->high_seq, c->snd_una))
		return;
	if (c->ca_state != QW_CA_LOSS)
		cwnd_event(f, QW_EVENT_COMPLETE_CWR);
	set_state(f, QW_CA_OPEN);
}

static void ack(struct flow *f, const struct event *e)
{
	struct net *n = f->net;
	struct qw_conn *c = &f->c;
	struct packet *p = packet(f, e->seq);
	struct qw_rate_sample rs = { 0 };
	qw_u64 now = n->now;
	qw_u32 before = qw_in_flight(c), losses = 0, state = c->ca_state;
	qw_u32 rtt_us = 0;

	if (!qw_after(c->snd_nxt, e->seq) || qw_after(c->snd_una, e->seq) ||
	    p->is_sacked)
		return; /* a duplicate */
	rs.rtt_us = -1;
	rs.prior_in_flight = before;
	if (p->tx == e->tx) {
		rtt_us = (qw_u32)((now - p->sent_ns) / 1000);
		rs.rtt_us = rtt_us;
	}
	/* Delivered. */
	c->delivered++;
	c->delivered_ce += e->ce;
	f->marks += e->ce;
	c->delivered_ns = now;
	f->got++;
	if (p->sent_ns > f->first_ns)
		f->first_ns = p->sent_ns;
	if ((qw_s32)(e->tx - f->newest) > 0)
		f->newest = e->tx;
	if (p->is_lost)
		c->lost_out--;
	if (p->is_resent)
		c->retrans_out--;
	p->is_sacked = 1;
	c->sacked_out++;
	while (c->snd_una != c->snd_nxt && packet(f, c->snd_una)->is_sacked) {
		c->snd_una++;
		c->sacked_out--;
		c->packets_out--;
	}
	if (control.in_ack_event)
		control.in_ack_event(&f->state, c, now);
	if (rtt_us)
		round_trip(f, rtt_us);
	f->timer_ns = 0;
	if (c->packets_out)
		arm(f);
	if (control.pkts_acked)
		control.pkts_acked(&f->state, c, 1, rtt_us, now);
	find_losses(f, &losses);
	end_reduction(f);
	if (f->marks && c->ca_state < QW_CA_CWR) {
		reduce(f, QW_CA_CWR);
		if (!control.cong_control)
			c->cwnd = c->ssthresh;
	}
	f->marks = 0;
	/* The sample (tcp_rate_gen). */
	if (c->app_limited && qw_after(c->delivered, c->app_limited))
		c->app_limited = 0;
	rs.losses = losses;
	rs.acked_sacked = 1;
	rs.prior_ns = p->prior_ns;
	rs.prior_delivered = p->delivered;
	rs.delivered = (qw_s32)(c->delivered - p->delivered);
	rs.interval_us = (qw_s64)(p->sent_ns - p->first_ns) / 1000;
	if ((qw_s64)(now - p->prior_ns) / 1000 > rs.interval_us)
		rs.interval_us = (qw_s64)(now - p->prior_ns) / 1000;
	if (rs.interval_us < (qw_s64)c->min_rtt_us)
		rs.interval_us = -1;
	rs.is_app_limited = (qw_u8)p->app_limited;
	rs.tx_in_flight = f->no_stamps ? before : p->in_flight;
	rs.lost = c->lost - p->lost;
	rs.delivered_ce = c->delivered_ce - p->delivered_ce;
	if (control.cong_control)
		control.cong_control(&f->state, c, &rs, now, net_random(n));
	else if (c->ca_state < QW_CA_CWR && state < QW_CA_CWR)
		control.cong_avoid(&f->state, c, 1, now);
	if (f->after)
		f->after(f, now);
	try_send(f);
}

/* A recovery for no reason: the oldest `count` packets in flight are thought
 * lost though they are not; undo() finds out. */
static inline void fake_loss(struct flow *f, qw_u32 count)
{
	struct qw_conn *c = &f->c;
	qw_u32 seq, losses = 0;

	for (seq = c->snd_una; count && seq != c->snd_nxt; seq++) {
		if (packet(f, seq)->is_sacked || packet(f, seq)->is_lost)
			continue;
		mark_lost(f, seq, &losses);
		count--;
	}
	f->fake = 1;
	if (c->ca_state < QW_CA_RECOVERY)
		reduce(f, QW_CA_RECOVERY);
}

static inline void undo(struct flow *f)
{
	f->c.cwnd = control.undo_cwnd(&f->state, &f->c);
	f->fake = 0;
	set_state(f, QW_CA_OPEN);
}

static void wake(struct flow *f, qw_u64 at)
{
	if (f->held_ns > f->net->now && f->held_ns <= at)
		return;
	f->held_ns = at;
	push(f->net,
	     (struct event){ .at = at, .kind = SEND, .flow = f->started - 1 });
}

static struct flow *flow_add(struct net *n, qw_u64 rtt_ns, qw_u64 start_ns)
{
	struct flow *f = calloc(1, sizeof(*f));

	f->net = n;
	f->rtt_ns = rtt_ns;
	f->limit = ~0ULL;
	f->rto_ns = SEC;
	n->flow[n->flows] = f;
	push(n, (struct event){ .at = n->now + start_ns,
				.kind = START,
				.flow = n->flows });
	f->started = ++n->flows;
	f->c.cwnd = 10;
	f->c.ssthresh = QW_INFINITE_SSTHRESH;
	f->c.pacing_rate = QW_UNPACED;
	f->c.mss = PACKET;
	f->c.min_rtt_us = 0xffffffffu;
	f->c.clock.hz = 250;
	f->c.clock.tick_ns = 4000000;
	f->c.clock.tick_us = 4000;
	f->c.clock.parts = 4835703278458516699ULL; /* 2^84 / 4e6, rounded up */
	f->c.clock.shift = 20;
	return f;
}

/* The handshake's round trip comes first. */
static void begin(struct flow *f)
{
	round_trip(f, (qw_u32)(f->rtt_ns / 1000));
	f->c.delivered_ns = f->net->now;
	control.init(&f->state, &f->c, f->net->now);
	try_send(f);
}

static void net_run(struct net *n, qw_u64 ns)
{
	qw_u64 until = n->now + ns;

	while (n->events && n->heap[0].at <= until) {
		struct event e = pop(n);
		struct flow *f = n->flow[e.flow];

		n->now = e.at;
		if (e.kind == ACK)
			ack(f, &e);
		else if (e.kind == DONE)
			done(n);
		else if (e.kind == SEND)
			try_send(f);
		else if (e.kind == START)
			begin(f);
		else if (e.kind == TIMEOUT && f->timer_ns == e.at)
			timeout(f);
	}
	n->now = until;
}

/* Packets a second that the link can carry. */
static double capacity(const struct net *n)
{
	return (double)n->rate / PACKET;
}

#endif /* QW_TESTS_LINK_H */
