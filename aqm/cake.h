/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CAKE (Høiland-Jørgensen, Täht, Morton, LANMAN 2018; Linux sch_cake): a
 * shaper, and tins by DSCP below it. In each tin flows are hashed to queues and
 * served in turns, which are the shorter the more flows their host has. Each
 * queue has COBALT.
 *
 * As in Linux 7.2, but for this. Packets count to `memlimit` by their bytes,
 * not by the memory that they take. An overflow costs the longest queue, where
 * Linux's heap may name another. A packet of several segments counts as so many
 * of one length. Firewall marks, tc filters and NAT's tables know more of a
 * packet than it says, and do not choose tins, queues or hosts. ACKs are not
 * filtered, and no overhead is below 0.
 *
 * `random` is stretched as in dice.h: for BLUE, and so that a queue's part of a
 * quantum loses no byte to rounding.
 */
#ifndef QW_CAKE_H
#define QW_CAKE_H

#include "cobalt.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QW_CAKE_TINS 8u
/* Queues of a tin, a power of two, and as many entries for hosts of each side. */
#ifndef QW_CAKE_FLOWS
#define QW_CAKE_FLOWS 1024u
#endif
#define QW_CAKE_QUEUES (QW_CAKE_TINS * QW_CAKE_FLOWS)
#define QW_CAKE_MASK (QW_CAKE_QUEUES - 1)
/* A flow may have any queue of a set of so many. */
#define QW_CAKE_WAYS 8u

/* What chooses the tin. */
#define QW_CAKE_DIFFSERV3 0u
#define QW_CAKE_DIFFSERV4 1u
#define QW_CAKE_DIFFSERV8 2u
#define QW_CAKE_BESTEFFORT 3u
#define QW_CAKE_PRECEDENCE 4u

/* Who is told apart from whom: bits. With a host's and QW_CAKE_BY_FLOW a queue's
 * part is divided by the flows of that host. */
#define QW_CAKE_BY_SOURCE 1u
#define QW_CAKE_BY_DESTINATION 2u
#define QW_CAKE_BY_FLOW 4u

/* How the link cuts packets into cells. */
#define QW_CAKE_NO_CELLS 0u
#define QW_CAKE_ATM 1u
#define QW_CAKE_PTM 2u

struct qw_cake_params {
	qw_u64 bandwidth; /* of the shaper, bytes/s; 0: none, the link's */
	qw_u64 rtt_ns; /* CoDel's interval; the target is 1/20 of it */
	qw_u64 memlimit_bytes; /* 0: by bandwidth and rtt */
	qw_u32 diffserv; /* QW_CAKE_DIFFSERV3 .. */
	qw_u32 isolation; /* QW_CAKE_BY_* */
	qw_u32 framing; /* tc's keyword, index into the table of qw_cake_framing_of() */
	qw_u32 overhead_bytes; /* of a packet; 0: the keyword's */
	qw_u32 mpu_bytes; /* shortest packet; 0: the keyword's */
	qw_u32 mtu_bytes; /* 1514 */
	qw_u32 wash; /* the host sets DSCP to 0 */
	qw_u32 ingress; /* the link is before the queue: drops count as sent */
	qw_u32 autorate; /* bandwidth follows what arrives */
};

/* What a queue is. All but NONE are in a list of their tin's. */
#define QW_CAKE_NONE 0u
#define QW_CAKE_SPARSE 1u /* among the new ones */
#define QW_CAKE_WAITING 2u /* among the old ones, empty, counts as sparse */
#define QW_CAKE_BULK 3u /* among the old ones */
#define QW_CAKE_DECAYING 4u /* empty; its COBALT is not yet at rest */

struct qw_cake_flow {
	struct qw_cobalt cobalt;
	qw_u32 bytes;
	qw_u32 packets;
	qw_s32 deficit;
	qw_u16 before, after; /* in its list, a ring: index + 1 */
	qw_u16 source, destination; /* indices of its hosts */
	qw_u16 place; /* in the heap */
	qw_u16 state; /* QW_CAKE_NONE .. */
};

/* At an index two hosts, one of each side: their hashes, how many bulk queues come
 * from the one and go to the other, and what that takes off a queue's part of a
 * round, of 65535. */
struct qw_cake_host {
	qw_u32 source, destination;
	qw_u16 from, to;
	qw_u16 from_less, to_less;
};

struct qw_cake_list {
	qw_u32 head; /* index + 1, 0: empty; the last is before it */
};

/* Time that the link takes for a byte: ns << shift. */
struct qw_cake_pace {
	qw_u64 per_byte;
	qw_u32 shift;
};

struct qw_cake_tin {
	struct qw_cobalt_params cobalt;
	struct qw_cake_pace pace; /* of its share of the link */
	qw_u64 next_ns; /* its share is used up until then */
	qw_u64 bytes; /* that wait */
	qw_s64 deficit; /* without a shaper tins take turns */
	qw_u32 quantum; /* of these */
	qw_u32 flow_quantum;
	struct qw_cake_list fresh, old, decaying;
	qw_u32 sparse, bulk; /* queues */
	qw_u32 tag[QW_CAKE_FLOWS]; /* a queue's flow, by its hash */
	struct qw_cake_host host[QW_CAKE_FLOWS];
};

/* Where qw_cake_next() goes on after a drop. */
#define QW_CAKE_ANYWHERE 0u
#define QW_CAKE_SAME_TIN 1u
#define QW_CAKE_SAME_QUEUE 2u

/* Departures after an overflow for which the heap is kept up. */
#define QW_CAKE_KEEP_HEAP 65535u

struct qw_cake {
	struct qw_cake_pace pace;
	qw_u64 rate; /* bandwidth, bytes/s */
	qw_u64 next_ns, failsafe_ns; /* nothing leaves before the earlier one */
	qw_u64 memory_bytes; /* limit in force */
	qw_u32 tins; /* in use */
	qw_u32 tin; /* whose turn it is */
	qw_u32 queue; /* served last */
	qw_u32 after_drop; /* QW_CAKE_ANYWHERE .. */
	qw_u32 heap_left; /* departures; 0: there is no heap */
	/* What comes, of which `autorate` makes the rate. */
	qw_u64 last_ns, window_ns, window_bytes, gap_ns, peak;
	/* For display. */
	qw_u32 bulk, collisions, unresponsive;
	qw_u16 heap[QW_CAKE_QUEUES]; /* queues, at the top the longest */
	struct qw_cake_tin of[QW_CAKE_TINS];
	struct qw_cake_flow flow[QW_CAKE_QUEUES];
};

/* ------------------------------------------------------------- lengths --- */

/* What a link adds to an IP packet, by tc's keywords (tc-cake(8)). */
struct qw_cake_framing {
	qw_u16 overhead_bytes, mpu_bytes, cells;
};
#define QW_CAKE_RAW 0u /* the length as it is, with all that frames it */
#define QW_CAKE_FRAMINGS 17u

static inline struct qw_cake_framing
qw_cake_framing_of(const struct qw_cake_params *p)
{
	static const struct qw_cake_framing known[QW_CAKE_FRAMINGS] = {
		{ 0, 0, QW_CAKE_NO_CELLS }, /* raw */
		{ 0, 0, QW_CAKE_NO_CELLS }, /* noatm */
		{ 0, 0, QW_CAKE_ATM }, /* atm */
		{ 0, 0, QW_CAKE_PTM }, /* ptm */
		{ 48, 0, QW_CAKE_ATM }, /* conservative */
		{ 8, 0, QW_CAKE_ATM }, /* ipoa-vcmux */
		{ 16, 0, QW_CAKE_ATM }, /* ipoa-llcsnap */
		{ 24, 0, QW_CAKE_ATM }, /* bridged-vcmux */
		{ 32, 0, QW_CAKE_ATM }, /* bridged-llcsnap */
		{ 10, 0, QW_CAKE_ATM }, /* pppoa-vcmux */
		{ 14, 0, QW_CAKE_ATM }, /* pppoa-llc */
		{ 32, 0, QW_CAKE_ATM }, /* pppoe-vcmux */
		{ 40, 0, QW_CAKE_ATM }, /* pppoe-llcsnap */
		{ 22, 0, QW_CAKE_PTM }, /* bridged-ptm */
		{ 30, 0, QW_CAKE_PTM }, /* pppoe-ptm */
		{ 18, 64, QW_CAKE_NO_CELLS }, /* docsis */
		{ 38, 84, QW_CAKE_NO_CELLS }, /* ethernet */
	};
	struct qw_cake_framing f =
		known[p->framing < QW_CAKE_FRAMINGS ? p->framing : QW_CAKE_RAW];

	if (p->overhead_bytes)
		f.overhead_bytes = (qw_u16)p->overhead_bytes;
	if (p->mpu_bytes)
		f.mpu_bytes = (qw_u16)p->mpu_bytes;
	return f;
}

/* A packet of so many bytes, IP's or all, on the link (cake_calc_overhead()). */
static inline qw_u32 qw_cake_on_link(const struct qw_cake_framing *f,
				     qw_u32 bytes)
{
	bytes += f->overhead_bytes;
	if (bytes < f->mpu_bytes)
		bytes = f->mpu_bytes;
	if (f->cells == QW_CAKE_ATM) /* 48 bytes in each cell of 53 */
		return (bytes + 47) / 48 * 53;
	if (f->cells == QW_CAKE_PTM) /* 64b/65b, no less than it takes */
		return bytes + (bytes + 63) / 64;
	return bytes;
}

/* What the shaper counts of a packet. */
static inline qw_u32 qw_cake_length(const struct qw_cake_params *p,
				    const struct qw_packet *k)
{
	struct qw_cake_framing f = qw_cake_framing_of(p);
	qw_u32 bytes = k->bytes, each;

	if (k->segments > 1) {
		/* All of one length, but for what does not come out even. */
		each = bytes / k->segments;
		if (f.overhead_bytes)
			each = each > k->frame_bytes ? each - k->frame_bytes :
						       0;
		return qw_cake_on_link(&f, each) * k->segments +
		       bytes % k->segments;
	}
	/* Where the link's overhead is told it stands for the header. raw, noatm,
	 * atm and ptm tell none (tc's q_cake.c). */
	if (f.overhead_bytes)
		bytes = bytes > k->frame_bytes ? bytes - k->frame_bytes : 0;
	return qw_cake_on_link(&f, bytes);
}

/* -------------------------------------------------------------- shaper --- */

/* As in cake_set_rate(): 34 bits of time for a byte, or fewer. */
static inline struct qw_cake_pace qw_cake_pace_of(qw_u64 rate)
{
	struct qw_cake_pace pace = { 0, 0 };

	if (!rate)
		return pace;
	pace.shift = 34;
	pace.per_byte = qw_div(QW_NS_PER_SEC << 34, rate > 64 ? rate : 64);
	while (pace.per_byte >> 34) {
		pace.per_byte >>= 1;
		pace.shift--;
	}
	return pace;
}

static inline qw_u64 qw_cake_time(const struct qw_cake_pace *pace, qw_u32 bytes)
{
	return (bytes * pace->per_byte) >> pace->shift;
}

/* What a packet of so many bytes on the link costs its tin and all; one that is
 * dropped leaves the failsafe alone, so that drops cannot hold up the link for
 * good (cake_advance_shaper()). */
static inline void qw_cake_charge(struct qw_cake *s, struct qw_cake_tin *t,
				  qw_u64 now, qw_u32 bytes, int dropped)
{
	qw_u64 takes, of_tin;

	if (!s->pace.per_byte)
		return;
	takes = qw_cake_time(&s->pace, bytes);
	of_tin = qw_cake_time(&t->pace, bytes);
	if (t->next_ns < now)
		t->next_ns += of_tin;
	else if (t->next_ns < now + of_tin)
		t->next_ns = now + of_tin;
	s->next_ns += takes;
	if (!dropped)
		s->failsafe_ns += takes + takes / 2;
}

/* ---------------------------------------------------------------- tins --- */

/* A codepoint's tin, in octal: by diffserv3, diffserv4 and diffserv8. */
static inline qw_u32 qw_cake_tin_of(const struct qw_cake_params *p, qw_u32 dscp)
{
	static const qw_u8 tin[64] = {
		0002, 0110, 0001, 0002,
		0224, 0002, 0002, 0002, /* LE; TOS */
		0111, 0002, 0001, 0002,
		0001, 0002, 0001, 0002, /* CS1, AF1x */
		0025, 0002, 0024, 0002,
		0024, 0002, 0024, 0002, /* CS2, AF2x */
		0023, 0002, 0023, 0002,
		0023, 0002, 0023, 0002, /* CS3, AF3x */
		0036, 0002, 0023, 0002,
		0023, 0002, 0023, 0002, /* CS4, AF4x */
		0036, 0002, 0002, 0002,
		0236, 0002, 0236, 0002, /* CS5, VA, EF */
		0237, 0002, 0002, 0002,
		0002, 0002, 0002, 0002, /* CS6 */
		0237, 0002, 0002, 0002,
		0002, 0002, 0002, 0002, /* CS7 */
	};

	dscp &= 63;
	switch (p->diffserv) {
	case QW_CAKE_BESTEFFORT:
		return 0;
	case QW_CAKE_PRECEDENCE:
		return dscp >> 3;
	case QW_CAKE_DIFFSERV8:
		return tin[dscp] & 7;
	case QW_CAKE_DIFFSERV4:
		return tin[dscp] >> 3 & 7;
	default:
		return tin[dscp] >> 6;
	}
}

/* A tin's share of the rate, and what follows from it (cake_set_rate()). */
QW_PART int qw_cake_share(struct qw_cake_tin *t QW_GIVEN,
			  const struct qw_cake_params *p QW_GIVEN, qw_u64 rate,
			  qw_u32 quantum)
{
	/* tc hands both over in whole microseconds. */
	qw_u64 rtt_us = qw_div(p->rtt_ns, QW_NS_PER_US);
	qw_u64 target_us = qw_div(rtt_us, 20), target_ns, mtu_ns;

	target_ns = (target_us ? target_us : 1) * QW_NS_PER_US;
	t->pace = qw_cake_pace_of(rate);
	t->quantum = quantum;
	t->flow_quantum = 1514;
	if (rate && rate >> 12 < 1514)
		t->flow_quantum = rate >> 12 > 300 ? (qw_u32)(rate >> 12) : 300;
	mtu_ns = qw_cake_time(&t->pace, p->mtu_bytes);
	t->cobalt.mtu_time_ns = mtu_ns;
	t->cobalt.target_ns = target_ns;
	if (t->cobalt.target_ns < mtu_ns * 3 / 2)
		t->cobalt.target_ns = mtu_ns * 3 / 2;
	t->cobalt.interval_ns =
		rtt_us * QW_NS_PER_US + t->cobalt.target_ns - target_ns;
	if (t->cobalt.interval_ns < 2 * t->cobalt.target_ns)
		t->cobalt.interval_ns = 2 * t->cobalt.target_ns;
	t->cobalt.p_inc_q32 = 1u << 24;
	t->cobalt.p_dec_q32 = 1u << 20;
	t->cobalt.ecn = 1;
	return 0;
}

/* Rates, weights and memory as `s->rate` has them. */
static inline void qw_cake_configure(struct qw_cake *s,
				     const struct qw_cake_params *p)
{
	/* Halvings of each tin's share, with 3 and 4 of them. */
	static const qw_u8 halvings[4][2] = {
		{ 0, 0 }, { 4, 4 }, { 2, 1 }, { 0, 2 }
	};
	int eight = p->diffserv == QW_CAKE_DIFFSERV8 ||
		    p->diffserv == QW_CAKE_PRECEDENCE;
	qw_u64 rate = s->rate, most;
	qw_u32 quantum, i;

	s->tins = eight				    ? 8 :
		  p->diffserv == QW_CAKE_BESTEFFORT ? 1 :
		  p->diffserv == QW_CAKE_DIFFSERV4  ? 4 :
						      3;
	quantum = eight ? 256 : s->tins == 1 ? 65535 : 1024;
	for (i = 0; i < QW_CAKE_TINS && i < s->tins; i++) {
		qw_u32 less = eight ? 0 : halvings[i & 3][s->tins == 4];

		qw_cake_share(&s->of[i], p, rate >> less, quantum >> less);
		if (eight) {
			rate = rate * 7 >> 3;
			quantum = quantum * 7 >> 3;
		}
	}
	s->pace = s->of[0].pace;

	/* Four times what a round trip holds, within 4 MiB and 10240 packets. */
	most = 10240 * (qw_u64)p->mtu_bytes;
	s->memory_bytes = most;
	if (s->rate) {
		s->memory_bytes = qw_div(
			s->rate * qw_div(p->rtt_ns, QW_NS_PER_US), 250000);
		if (s->memory_bytes < 4u << 20)
			s->memory_bytes = 4u << 20;
		if (s->memory_bytes > most)
			s->memory_bytes = most;
	}
	if (p->memlimit_bytes)
		s->memory_bytes = p->memlimit_bytes;
}

static inline void qw_cake_init(struct qw_cake *s,
				const struct qw_cake_params *p, qw_u64 now)
{
	/* The state comes zeroed: queues and hosts that are not used, empty lists. */
	s->rate = p->bandwidth;
	s->peak = p->bandwidth;
	s->next_ns = now;
	s->failsafe_ns = now;
	/* Linux counts from its boot: the first gap is a second, and the first window
	 * is so long that it measures nothing. */
	s->last_ns = now - QW_NS_PER_SEC;
	s->window_ns = now - (1ULL << 40);
	s->window_bytes = 0;
	s->gap_ns = 0;
	s->tin = 0;
	s->queue = 0;
	s->after_drop = QW_CAKE_ANYWHERE;
	s->heap_left = 0;
	s->bulk = 0;
	s->collisions = 0;
	s->unresponsive = 0;
	qw_cake_configure(s, p);
}

/* --------------------------------------------------------------- lists --- */

static inline void qw_cake_append(struct qw_cake_flow *of_tin,
				  struct qw_cake_list *l, qw_u32 index)
{
	struct qw_cake_flow *f = &of_tin[index & (QW_CAKE_FLOWS - 1)];

	qw_u16 self = (qw_u16)(index + 1);
	struct qw_cake_flow *head;

	if (!l->head) {
		f->before = self;
		f->after = self;
		l->head = self;
		return;
	}
	head = &of_tin[(l->head - 1) & (QW_CAKE_FLOWS - 1)];
	f->before = head->before;
	f->after = (qw_u16)l->head;
	of_tin[(head->before - 1u) & (QW_CAKE_FLOWS - 1)].after = self;
	head->before = self;
}

static inline void qw_cake_remove(struct qw_cake_flow *of_tin,
				  struct qw_cake_list *l, qw_u32 index)
{
	const struct qw_cake_flow *f = &of_tin[index & (QW_CAKE_FLOWS - 1)];

	if (l->head == index + 1)
		l->head = f->after == index + 1 ? 0 : f->after;
	of_tin[(f->before - 1u) & (QW_CAKE_FLOWS - 1)].after = f->after;
	of_tin[(f->after - 1u) & (QW_CAKE_FLOWS - 1)].before = f->before;
}

/* --------------------------------------------------------------- hosts --- */

/* Is a queue's part divided by the queues of this side's host? */
static inline int qw_cake_divides(const struct qw_cake_params *p, qw_u32 side)
{
	return (p->isolation & (side | QW_CAKE_BY_FLOW)) ==
	       (side | QW_CAKE_BY_FLOW);
}

/* What so many bulk queues leave of 65535 for others than one of them. */
static inline qw_u16 qw_cake_less(qw_u32 bulk)
{
	return bulk ? (qw_u16)(65535u - 65535u / bulk) : 0;
}

/* A queue's hosts have a bulk queue more (1), or less (-1). */
static inline void qw_cake_weigh(struct qw_cake_tin *t,
				 const struct qw_cake_params *p,
				 const struct qw_cake_flow *f, int by)
{
	struct qw_cake_host *source = &t->host[f->source & (QW_CAKE_FLOWS - 1)];
	struct qw_cake_host *to =
		&t->host[f->destination & (QW_CAKE_FLOWS - 1)];

	if (qw_cake_divides(p, QW_CAKE_BY_SOURCE)) {
		source->from = (qw_u16)(source->from + by);
		source->from_less = qw_cake_less(source->from);
	}
	if (qw_cake_divides(p, QW_CAKE_BY_DESTINATION)) {
		to->to = (qw_u16)(to->to + by);
		to->to_less = qw_cake_less(to->to);
	}
}

/* A sparse queue, or one that waits, becomes bulk. */
static inline void qw_cake_becomes_bulk(struct qw_cake *s,
					struct qw_cake_tin *t,
					const struct qw_cake_params *p,
					struct qw_cake_flow *f)
{
	f->state = QW_CAKE_BULK;
	t->sparse--;
	t->bulk++;
	s->bulk++;
	qw_cake_weigh(t, p, f, 1);
}

/* A queue's part of a round: the quantum, divided by the bulk queues of whichever
 * of its hosts has more, and now and then a byte more so that none is lost. */
static inline qw_s32 qw_cake_part(const struct qw_cake_tin *t,
				  struct qw_cake_flow *f)
{
	qw_u32 less = t->host[f->source & (QW_CAKE_FLOWS - 1)].from_less;
	qw_u32 to = t->host[f->destination & (QW_CAKE_FLOWS - 1)].to_less;

	if (to > less)
		less = to;
	return (qw_s32)((t->flow_quantum * (65535u - less) +
			 (qw_dice_roll(&f->cobalt.dice) >> 16)) >>
			16);
}

/* The entry of a host on one side: where it is, else one that no bulk queue is
 * of, else where its hash says. */
static inline qw_u32 qw_cake_host_at(struct qw_cake_tin *t, qw_u32 hash,
				     int is_source)
{
	qw_u32 set = hash & (QW_CAKE_FLOWS - 1) & ~(QW_CAKE_WAYS - 1), i, at;
	qw_u32 idle = QW_NONE;

	for (i = 0; i < QW_CAKE_WAYS; i++) {
		struct qw_cake_host *h;

		at = set + ((hash + i) & (QW_CAKE_WAYS - 1));
		h = &t->host[at & (QW_CAKE_FLOWS - 1)];
		if ((is_source ? h->source : h->destination) == hash)
			return at;
		if (idle == QW_NONE && !(is_source ? h->from : h->to))
			idle = at;
	}
	at = idle == QW_NONE ? hash & (QW_CAKE_FLOWS - 1) : idle;
	if (is_source)
		t->host[at & (QW_CAKE_FLOWS - 1)].source = hash;
	else
		t->host[at & (QW_CAKE_FLOWS - 1)].destination = hash;
	return at;
}

/* -------------------------------------------------------------- queues --- */

static inline qw_u32 qw_cake_hash(const struct qw_cake_params *p,
				  const struct qw_packet *k)
{
	qw_u32 hash = 0;

	if (p->isolation & QW_CAKE_BY_FLOW)
		return k->flow;
	if (p->isolation & QW_CAKE_BY_SOURCE)
		hash ^= k->source;
	if (p->isolation & QW_CAKE_BY_DESTINATION)
		hash ^= k->destination;
	return hash;
}

/* The queue of a tin that a packet joins: its flow's; else of the eight of the set
 * the first from its own on that is not in use; else its own, which two flows then
 * share. What its hosts are is found anew unless the flow has it already. */
static inline qw_u32 qw_cake_find(struct qw_cake *s,
				  const struct qw_cake_params *p, qw_u32 tin,
				  const struct qw_packet *k)
{
	struct qw_cake_tin *t = &s->of[tin & (QW_CAKE_TINS - 1)];
	struct qw_cake_flow
		*of_tin = &s->flow[(tin & (QW_CAKE_TINS - 1)) * QW_CAKE_FLOWS],
		*f;
	qw_u32 hash = qw_cake_hash(p, k), own = hash & (QW_CAKE_FLOWS - 1);
	qw_u32 set = own & ~(QW_CAKE_WAYS - 1), unused = QW_NONE, i, at;

	if (!p->isolation)
		return 0;
	for (i = 0; i < QW_CAKE_WAYS; i++) {
		at = set + ((own + i) & (QW_CAKE_WAYS - 1));
		if (t->tag[at & (QW_CAKE_FLOWS - 1)] == hash)
			break;
		if (unused == QW_NONE &&
		    !of_tin[at & (QW_CAKE_FLOWS - 1)].state)
			unused = at;
	}
	if (i < QW_CAKE_WAYS) {
		if (of_tin[at & (QW_CAKE_FLOWS - 1)].state)
			return at;
	} else if (unused != QW_NONE) {
		at = unused;
	} else {
		at = own;
		s->collisions++;
	}
	f = &of_tin[at & (QW_CAKE_FLOWS - 1)];
	t->tag[at & (QW_CAKE_FLOWS - 1)] = hash;
	if (f->state == QW_CAKE_BULK)
		qw_cake_weigh(t, p, f, -1);
	if (qw_cake_divides(p, QW_CAKE_BY_SOURCE))
		f->source = (qw_u16)qw_cake_host_at(t, k->source, 1);
	if (qw_cake_divides(p, QW_CAKE_BY_DESTINATION))
		f->destination = (qw_u16)qw_cake_host_at(t, k->destination, 0);
	if (f->state == QW_CAKE_BULK)
		qw_cake_weigh(t, p, f, 1);
	return at;
}

/* ------------------------------------------------------------ overflow --- */

static inline qw_u32 qw_cake_long(const struct qw_cake *s, qw_u32 place)
{
	return s->flow[s->heap[place & QW_CAKE_MASK] & QW_CAKE_MASK].bytes;
}

static inline void qw_cake_swap(struct qw_cake *s, qw_u32 a, qw_u32 b)
{
	qw_u16 at_a = s->heap[a & QW_CAKE_MASK],
	       at_b = s->heap[b & QW_CAKE_MASK];

	s->heap[a & QW_CAKE_MASK] = at_b;
	s->heap[b & QW_CAKE_MASK] = at_a;
	s->flow[at_b & QW_CAKE_MASK].place = (qw_u16)a;
	s->flow[at_a & QW_CAKE_MASK].place = (qw_u16)b;
}

/* The queue at a place of the heap may be shorter than its children: it changes
 * places with the longer one until it is not. */
QW_PART int qw_cake_sink(struct qw_cake *s QW_GIVEN, qw_u32 place)
{
	qw_u32 i;

	QW_FOR (i, 16) {
		qw_u32 child = 2 * place + 1, most = place;

		if (child < QW_CAKE_QUEUES &&
		    qw_cake_long(s, child) > qw_cake_long(s, most))
			most = child;
		if (child + 1 < QW_CAKE_QUEUES &&
		    qw_cake_long(s, child + 1) > qw_cake_long(s, most))
			most = child + 1;
		if (most == place)
			break;
		qw_cake_swap(s, place, most);
		place = most;
	}
	return 0;
}

/* It may be longer than its parent: it changes places with that until it is not. */
QW_PART int qw_cake_rise(struct qw_cake *s QW_GIVEN, qw_u32 place)
{
	qw_u32 i;

	QW_FOR (i, 16) {
		qw_u32 parent = (place - 1) >> 1;

		if (!place || qw_cake_long(s, place) <= qw_cake_long(s, parent))
			break;
		qw_cake_swap(s, place, parent);
		place = parent;
	}
	return 0;
}

/* A heap of all queues. Of equals Linux's order decides: by index, then by tin. */
QW_PART int qw_cake_heap(struct qw_cake *s QW_GIVEN)
{
	qw_u32 i;

	/* Never made: it is all zero, and no queue is in two places. */
	if (s->heap[0] == s->heap[1])
		QW_FOR (i, QW_CAKE_QUEUES) {
			qw_u32 queue = i % QW_CAKE_TINS * QW_CAKE_FLOWS +
				       i / QW_CAKE_TINS;

			s->heap[i & QW_CAKE_MASK] = (qw_u16)queue;
			s->flow[queue & QW_CAKE_MASK].place = (qw_u16)i;
		}
	QW_FOR (i, QW_CAKE_QUEUES / 2)
		qw_cake_sink(s, QW_CAKE_QUEUES / 2 - 1 - i);
	return 0;
}

static inline qw_u32 qw_cake_overflow(struct qw_cake *s,
				      const struct qw_cake_params *p,
				      qw_u64 now, const struct qw_queue *q)
{
	(void)p;
	(void)now;
	if (q->bytes <= s->memory_bytes && !qw_overfull(q))
		return QW_NONE;
	if (!s->heap_left)
		qw_cake_heap(s);
	s->heap_left = QW_CAKE_KEEP_HEAP;
	return qw_cake_long(s, 0) ? s->heap[0] : QW_NONE;
}

/* A packet is off a queue. */
static inline void qw_cake_left(struct qw_cake *s, struct qw_cake_tin *t,
				struct qw_cake_flow *f, qw_u32 bytes)
{
	f->packets--;
	f->bytes -= bytes;
	t->bytes -= bytes;
	if (s->heap_left)
		qw_cake_sink(s, f->place);
}

static inline struct qw_cake_tin *qw_cake_tin_at(struct qw_cake *s,
						 qw_u32 queue)
{
	return &s->of[queue / QW_CAKE_FLOWS & (QW_CAKE_TINS - 1)];
}

static inline void qw_cake_evicted(struct qw_cake *s,
				   const struct qw_cake_params *p, qw_u64 now,
				   const struct qw_queue *q,
				   const struct qw_packet *k, qw_u32 queue)
{
	struct qw_cake_tin *t = qw_cake_tin_at(s, queue);
	struct qw_cake_flow *f = &s->flow[queue & QW_CAKE_MASK];
	qw_u32 was = f->cobalt.p_drop_q32;

	(void)q;
	qw_cake_left(s, t, f, k->bytes);
	qw_cobalt_full(&f->cobalt, &t->cobalt, now);
	s->unresponsive += !was && f->cobalt.p_drop_q32;
	if (p->ingress)
		qw_cake_charge(s, t, now, qw_cake_length(p, k), 1);
}

/* --------------------------------------------------------------- comes --- */

/* An average that moves up by 1/4 of the difference, and down by 1/256
 * (cake_ewma()). */
static inline qw_u64 qw_cake_average(qw_u64 of, qw_u64 is)
{
	qw_u32 shift = is > of ? 2 : 8;

	return of - (of >> shift) + (is >> shift);
}

/* A gap that is longer than the average one ends a window. What came in it, by its
 * time, measures the link before: 15/16 of the average of that is the rate. */
static inline void qw_cake_follow(struct qw_cake *s,
				  const struct qw_cake_params *p, qw_u64 now,
				  qw_u32 bytes)
{
	qw_u64 gap = now - s->last_ns, took = now - s->window_ns;

	s->window_bytes += bytes;
	if (gap > QW_NS_PER_SEC)
		gap = QW_NS_PER_SEC;
	s->gap_ns = qw_cake_average(s->gap_ns, gap);
	s->last_ns = now;
	if (gap <= s->gap_ns || !took)
		return;
	s->peak = qw_cake_average(
		s->peak, qw_div(s->window_bytes * QW_NS_PER_SEC, took));
	s->window_bytes = 0;
	s->window_ns = now;
	s->rate = s->peak * 15 >> 4;
	qw_cake_configure(s, p);
}

static inline struct qw_verdict
qw_cake_enqueue(struct qw_cake *s, const struct qw_cake_params *p, qw_u64 now,
		const struct qw_queue *q, const struct qw_packet *k,
		qw_u32 random, qw_u32 *queue)
{
	qw_u32 tin = qw_cake_tin_of(p, k->dscp);
	qw_u32 index = qw_cake_find(s, p, tin, k);
	struct qw_cake_tin *t = &s->of[tin & (QW_CAKE_TINS - 1)];
	struct qw_cake_flow *of_tin =
		&s->flow[(tin & (QW_CAKE_TINS - 1)) * QW_CAKE_FLOWS];
	struct qw_cake_flow *f = &of_tin[index & (QW_CAKE_FLOWS - 1)];

	*queue = tin * QW_CAKE_FLOWS + index;
	/* A shaper that has been idle has no credit for it. */
	if (!t->bytes && t->next_ns < now)
		t->next_ns = now;
	if (!q->packets && s->next_ns < now) {
		s->next_ns = now;
		s->failsafe_ns = now;
	}
	if (p->autorate)
		qw_cake_follow(s, p, now, k->bytes);

	/* Its first packet ever: a COBALT that begins is not all zero. */
	if (!f->cobalt.dice.state)
		qw_cobalt_init(&f->cobalt, &t->cobalt, now);
	qw_dice_feed(&f->cobalt.dice, random);
	f->packets++;
	f->bytes += k->bytes;
	t->bytes += k->bytes;
	if (s->heap_left)
		qw_cake_rise(s, f->place);

	if (f->state == QW_CAKE_NONE || f->state == QW_CAKE_DECAYING) {
		if (f->state == QW_CAKE_DECAYING)
			qw_cake_remove(of_tin, &t->decaying, index);
		qw_cake_append(of_tin, &t->fresh, index);
		f->state = QW_CAKE_SPARSE;
		t->sparse++;
		f->deficit = qw_cake_part(t, f);
	} else if (f->state == QW_CAKE_WAITING) {
		qw_cake_becomes_bulk(s, t, p, f);
	}
	return qw_pass();
}

/* ---------------------------------------------------------------- goes --- */

/* As qw.h says of schedulers with a shaper, and of those that wash. */
static inline qw_u32 qw_cake_washes(const struct qw_cake_params *p)
{
	return p->wash;
}

static inline qw_u64 qw_cake_ready(const struct qw_cake *s,
				   const struct qw_cake_params *p)
{
	(void)p;
	return s->next_ns < s->failsafe_ns ? s->next_ns : s->failsafe_ns;
}

/* Is a tin without a queue that may have packets? */
static inline int qw_cake_rests(const struct qw_cake_tin *t)
{
	return !(t->sparse + t->bulk);
}

/* With a shaper: of the tins that are within their shares the last, else the one
 * that is the first to be. */
static inline int qw_cake_choose(struct qw_cake *s, qw_u64 now)
{
	qw_s64 best = 0x7fffffffffffffffLL;
	qw_u32 i, tin = QW_NONE;

	for (i = 0; i < QW_CAKE_TINS; i++) {
		const struct qw_cake_tin *t = &s->of[i];
		qw_s64 until = (qw_s64)(t->next_ns - now);

		if (i < s->tins && !qw_cake_rests(t) &&
		    (until <= 0 || until <= best)) {
			best = until;
			tin = i;
		}
	}
	if (tin == QW_NONE)
		return 0;
	s->tin = tin;
	return 1;
}

/* Rounds of the tins in one search: after the largest packet the tin with the least
 * quantum needs as many. Only drops that count as sent leave a tin deeper in debt,
 * which is then served before it has paid. */
#define QW_CAKE_ROUNDS 2048u

/* Without: a deficit round robin over the tins. */
static inline int qw_cake_rotate(struct qw_cake *s)
{
	qw_u32 i;

	QW_FOR (i, QW_CAKE_ROUNDS * QW_CAKE_TINS) {
		struct qw_cake_tin *t = &s->of[s->tin & (QW_CAKE_TINS - 1)];

		if (t->deficit >= 0 && !qw_cake_rests(t))
			return 1;
		if (t->deficit <= 0)
			t->deficit += t->quantum;
		if (++s->tin >= s->tins)
			s->tin = 0;
	}
	return qw_cake_choose(s, 0);
}

#define QW_CAKE_SERVE 0u /* serve the queue */
#define QW_CAKE_SPENT 1u /* it waits for its next turn: go on in this tin */
#define QW_CAKE_EMPTY 2u /* it was empty: begin anew */

/* One turn in the tin. The first of a search looks after a decaying queue, so that
 * each is looked at from time to time. */
QW_PART qw_u32 qw_cake_turn(struct qw_cake *s QW_GIVEN,
			    const struct qw_cake_params *p QW_GIVEN, qw_u64 now,
			    qw_u32 first)
{
	qw_u32 tin = s->tin & (QW_CAKE_TINS - 1), index, was;
	struct qw_cake_tin *t = &s->of[tin];
	struct qw_cake_flow *of_tin = &s->flow[tin * QW_CAKE_FLOWS], *f;
	struct qw_cake_list *l = &t->decaying;

	if (!first || !l->head) {
		l = t->fresh.head ? &t->fresh :
		    t->old.head	  ? &t->old :
				    &t->decaying;
		if (!l->head)
			return QW_CAKE_EMPTY;
	}
	index = (l->head - 1) & (QW_CAKE_FLOWS - 1);
	f = &of_tin[index];
	s->queue = tin * QW_CAKE_FLOWS + index;

	if (f->deficit <= 0) {
		if (f->state == QW_CAKE_SPARSE && f->packets)
			qw_cake_becomes_bulk(s, t, p, f);
		else if (f->state == QW_CAKE_SPARSE)
			f->state = QW_CAKE_WAITING;
		f->deficit += qw_cake_part(t, f);
		/* From the head of the old ones to their end. */
		if (l == &t->old) {
			l->head = f->after;
			return QW_CAKE_SPENT;
		}
		qw_cake_remove(of_tin, l, index);
		qw_cake_append(of_tin, &t->old, index);
		return QW_CAKE_SPENT;
	}
	if (f->packets)
		return QW_CAKE_SERVE;

	was = f->cobalt.p_drop_q32;
	qw_cobalt_idle(&f->cobalt, &t->cobalt, now);
	s->unresponsive -= was && !f->cobalt.p_drop_q32;
	if (f->state == QW_CAKE_BULK) {
		t->bulk--;
		s->bulk--;
		qw_cake_weigh(t, p, f, -1);
	} else if (f->state != QW_CAKE_DECAYING) {
		t->sparse--;
	}
	qw_cake_remove(of_tin, l, index);
	f->state = QW_CAKE_NONE;
	/* COBALT's state comes to rest first, also the time-out that it keeps. */
	if (f->cobalt.p_drop_q32 || f->cobalt.count ||
	    now < f->cobalt.drop_next_ns) {
		f->state = QW_CAKE_DECAYING;
		qw_cake_append(of_tin, &t->decaying, index);
	}
	return QW_CAKE_EMPTY;
}

/* Turns of a search. Of a thousand bulk queues of one host each gains less than a
 * byte in a turn, by chance; one that finds nobody who may send by then serves the
 * last that it came to. */
#define QW_CAKE_TURNS (1u << 23)

static inline qw_u32 qw_cake_next(struct qw_cake *s,
				  const struct qw_cake_params *p, qw_u64 now,
				  const struct qw_queue *q)
{
	qw_u32 stay = s->after_drop, first = !stay, last = QW_NONE, i;

	(void)q;
	s->after_drop = QW_CAKE_ANYWHERE;
	if (stay == QW_CAKE_SAME_QUEUE &&
	    s->flow[s->queue & QW_CAKE_MASK].packets)
		return s->queue;
	QW_FOR (i, QW_CAKE_TURNS) {
		qw_u32 turn;

		if (!stay) {
			if (s->next_ns > now && s->failsafe_ns > now)
				return QW_NONE;
			if (s->pace.per_byte ? !qw_cake_choose(s, now) :
					       !qw_cake_rotate(s))
				return QW_NONE;
		}
		turn = qw_cake_turn(s, p, now, first);
		if (turn == QW_CAKE_SERVE)
			return s->queue;
		if (turn == QW_CAKE_SPENT &&
		    s->flow[s->queue & QW_CAKE_MASK].packets)
			last = s->queue;
		first = 0;
		stay = turn == QW_CAKE_SPENT;
	}
	return last;
}

static inline struct qw_verdict
qw_cake_dequeue(struct qw_cake *s, const struct qw_cake_params *p, qw_u64 now,
		const struct qw_queue *q, const struct qw_packet *k,
		qw_u32 queue)
{
	struct qw_cake_tin *t = qw_cake_tin_at(s, queue);
	struct qw_cake_flow *f = &s->flow[queue & QW_CAKE_MASK];
	qw_u64 floor_ns = 4 * t->cobalt.mtu_time_ns;
	struct qw_verdict v;
	qw_u32 bytes;

	(void)q;
	/* Two packets of each flow are no queue where what is dropped has been
	 * over the link already. */
	if (p->ingress && t->bulk > 2)
		floor_ns = 2 * t->cobalt.mtu_time_ns * t->bulk;
	qw_cake_left(s, t, f, k->bytes);
	v = qw_cobalt_decide(&f->cobalt, &t->cobalt, now, k, floor_ns,
			     !f->packets);
	if (v.action == QW_DROP && !p->ingress) {
		s->after_drop = QW_CAKE_SAME_QUEUE;
		return v;
	}
	bytes = qw_cake_length(p, k);
	qw_cake_charge(s, t, now, bytes, v.action == QW_DROP);
	f->deficit -= (qw_s32)bytes;
	t->deficit -= bytes;
	if (v.action == QW_DROP)
		s->after_drop = QW_CAKE_SAME_TIN;
	else if (s->heap_left)
		s->heap_left--;
	return v;
}

static inline void qw_cake_idle(struct qw_cake *s,
				const struct qw_cake_params *p, qw_u64 now)
{
	(void)s;
	(void)p;
	(void)now;
	/* Empty queues leave their lists when their turn comes. */
}

/* Parameters and variables as qw.h says. */
#define QW_CAKE_PARAMS(P)                                       \
	P("bandwidth", bandwidth, 0, 0, 1ULL << 37)             \
	P("diffserv", diffserv, 0, 0, QW_CAKE_PRECEDENCE)       \
	P("isolation", isolation, 0, 0, 7)                      \
	P("rtt", rtt_ns, 0, QW_NS_PER_US, 3600 * QW_NS_PER_SEC) \
	P("framing", framing, 0, 0, QW_CAKE_FRAMINGS - 1)       \
	P("overhead", overhead_bytes, 0, 0, 256)                \
	P("mpu", mpu_bytes, 0, 0, 256)                          \
	P("mtu", mtu_bytes, 0, 1, 65535)                        \
	P("memlimit", memlimit_bytes, 0, 0, 1ULL << 31)         \
	P("wash", wash, 0, 0, 1)                                \
	P("ingress", ingress, 0, 0, 1)                          \
	P("autorate", autorate, 0, 0, 1)
#define QW_CAKE_PROBES(V)     \
	V(s->bulk, 1)         \
	V(s->collisions, 1)   \
	V(s->unresponsive, 1) \
	V(s->rate, 125000)

#ifdef __cplusplus
}
#endif

#endif /* QW_CAKE_H */
