/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CHOKe, "choose and keep, choose and kill" (Pan, Prabhakar and Psounis 2000),
 * with the arithmetic of Linux's sch_choke and of the tc that sets it up: RED on
 * packets, which before its dice compares each arrival with one of the packets
 * that wait, drawn at random. If both are of one flow, both are dropped. A flow is
 * hit as often as it is found in the queue, so that one that does not yield is
 * held down, and nothing is kept of any flow.
 *
 * A host of this project has a list, of which it takes the head and nothing
 * else. The packet that is drawn is therefore marked, in a ring of the flows of
 * those that wait, and dropped when it comes to the head. To every rule it is
 * gone from then on. The average counts it no more, no draw finds it, and its
 * place in the ring is the hole that Linux has there. Only its memory is not
 * free yet. The host counts it among what waits, and the buffer's limit, which
 * is a promise about memory, holds for it too. A flood leaves as many such as
 * come in while a packet waits. So an arrival may find no room where Linux has
 * some. But in Linux, too, holes take room, in a table of the power of two
 * above the limit. And one that they fill takes itself for empty, as
 * choke_enqueue() looks for packets alone.
 *
 * It departs from Linux further in that
 *  - numbers are 64 bits wide, times too;
 *  - thresholds follow the limit if the host changes it, and are 1 at least;
 *  - an average has a weight also where tc gives up, or, from min = 1, takes
 *    one of 2^-27 and less, with which no average ever rises;
 *  - a burst too small for tc, and the idle link's clock, are as in red.h;
 *  - flows are told apart by the host's hash, where Linux compares a digest:
 *    ports, protocol and addresses, of IPv6 half of the source's alone;
 *  - a draw is not repeated where 2^32 is no multiple of what it is among.
 */
#ifndef QW_CHOKE_H
#define QW_CHOKE_H

#include "dice.h"
#include "qw.h"
#include "red.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Places for packets, a power of two, of which one stays free: Linux's
 * CHOKE_MAX_QUEUE. */
#ifndef QW_CHOKE_PLACES
#define QW_CHOKE_PLACES 131072u
#endif
#define QW_CHOKE_MASK (QW_CHOKE_PLACES - 1)
#define QW_CHOKE_MOST QW_CHOKE_MASK
/* The limit taken where the buffer has none. */
#define QW_CHOKE_NO_LIMIT 1000u
/* Draws that may hit a hole; then it is the head (choke_peek_random()). */
#define QW_CHOKE_DRAWS 3u
/* And one for RED's gap: a power of two, for the BPF verifier. */
#define QW_CHOKE_NUMBERS (QW_CHOKE_DRAWS + 1)

struct qw_choke_params {
	/* As there, but min and max are packets: min 0 is max / 3, max 0 a quarter
	 * of the buffer, burst 0 is (2 min + max) / 3. harddrop, nodrop and gentle
	 * are not looked at. */
	struct qw_red_params red;
};

struct qw_choke {
	struct qw_red red; /* its bytes are packets, but for the limit's */
	/* Places of the ring, counted on for ever: the host's oldest packet; the
	 * oldest that is not marked; behind the youngest. */
	qw_u32 first, head, tail;
	qw_u32 marked; /* packets of the host's that are gone to every rule */
	qw_u64 matched; /* arrivals of the flow that was drawn, for display */
	/* Numbers for the packet that comes: `random`, and so many that a host has
	 * told beside it (qw_choke_tell). */
	qw_u32 number[QW_CHOKE_NUMBERS];
	qw_u32 told;
	/* Of each packet that waits its flow; 0: it is marked. */
	qw_u32 flow[QW_CHOKE_PLACES];
};

static inline void qw_choke_init(struct qw_choke *s,
				 const struct qw_choke_params *p, qw_u64 now)
{
	qw_red_init(&s->red, &p->red, now);
	s->first = 0;
	s->head = 0;
	s->tail = 0;
	s->marked = 0;
	s->matched = 0;
	s->told = 0;
}

/* ---- thresholds and weight: not per packet ---- */

/* choke_parse_opt() of tc: its defaults, and a weight for min * avpkt bytes. */
QW_PART int qw_choke_make(struct qw_choke *s QW_GIVEN,
			  const struct qw_choke_params *p QW_GIVEN)
{
	qw_u64 avpkt = p->red.avpkt_bytes, min = p->red.min_bytes,
	       max = p->red.max_bytes;
	qw_u64 limit = s->red.limit_bytes ? qw_div(s->red.limit_bytes, QW_MTU) :
					    QW_CHOKE_NO_LIMIT;
	qw_u64 burst = p->red.burst;
	qw_u32 wlog = 1;

	if (limit > QW_CHOKE_MOST)
		limit = QW_CHOKE_MOST;
	if (!max)
		max = limit / 4;
	if (!min)
		min = qw_div(max, 3);
	/* Below a packet no average falls by arrivals alone: at 0 all would be
	 * dropped for ever. */
	if (!min)
		min = 1;
	if (max < min)
		max = min;
	if (!burst)
		burst = qw_div(2 * min + max, 3);
	/* For a single packet tc takes a half; from two on no weight will do, where
	 * tc takes one that its doubles no longer tell from 0. */
	if (min > 1 || burst > 1)
		wlog = qw_red_wlog(min * avpkt, (qw_u32)burst,
				   p->red.avpkt_bytes);
	qw_red_set(&s->red, min, max, wlog);
	qw_red_set_idle(&s->red, &p->red, p->red.bandwidth);
	return 0;
}

/* ---- the ring ---- */

/* Never 0, which is a hole. */
static inline qw_u32 qw_choke_flow(const struct qw_packet *k)
{
	return k->flow ? k->flow : 1;
}

/* choke_zap_head_holes(): the head is no hole, unless nothing else is left. Holes
 * at the tail stay, in Linux too: choke_drop_by_idx() looks for one behind it. */
QW_PART int qw_choke_skip(struct qw_choke *s QW_GIVEN)
{
	qw_u32 i;

	QW_FOR (i, QW_CHOKE_PLACES) {
		if (s->head == s->tail || s->flow[s->head & QW_CHOKE_MASK])
			break;
		s->head++;
	}
	return 0;
}

/* The host holds so many packets: was the last of those that it holds no more a
 * marked one? If it was more than one its limit fell, and the oldest are gone. */
static inline int qw_choke_follow(struct qw_choke *s, qw_u32 waiting)
{
	qw_u32 marked = 0, i;

	QW_FOR (i, QW_CHOKE_PLACES) {
		if (s->tail - s->first <= waiting)
			break;
		marked = !s->flow[s->first & QW_CHOKE_MASK];
		s->marked -= marked;
		/* Marked ones are before the head, or behind it. */
		if (s->first == s->head)
			s->head++;
		s->first++;
	}
	qw_choke_skip(s);
	return marked != 0;
}

/* A packet that waits is gone to every rule. */
static inline void qw_choke_mark(struct qw_choke *s, qw_u32 place)
{
	s->flow[place & QW_CHOKE_MASK] = 0;
	s->marked++;
	qw_choke_skip(s);
}

/* ---- per packet ---- */

/* Each packet has one random number of the host's, and may take four. A host that
 * has them, as a replay of Linux's, says the others before it comes. */
static inline void qw_choke_tell(struct qw_choke *s, qw_u32 random)
{
	if (s->told < QW_CHOKE_DRAWS)
		s->number[++s->told & (QW_CHOKE_NUMBERS - 1)] = random;
}

/* What was not told is made of the first. */
struct qw_choke_dice {
	struct qw_dice dice;
	qw_u32 next; /* which of the packet's numbers */
};

static inline qw_u32 qw_choke_roll(const struct qw_choke *s,
				   struct qw_choke_dice *d, qw_u32 i)
{
	return i <= s->told ? s->number[i & (QW_CHOKE_NUMBERS - 1)] :
			      qw_dice_roll(&d->dice);
}

/* choke_peek_random(): the place of one of the packets that wait. */
static inline qw_u32 qw_choke_choose(const struct qw_choke *s,
				     struct qw_choke_dice *d)
{
	qw_u64 places = s->tail - s->head;
	qw_u32 i, at;

	QW_FOR (i, QW_CHOKE_DRAWS) {
		at = s->head +
		     (qw_u32)((places * qw_choke_roll(s, d, i)) >> 32);
		/* Of the loop's number: one that is counted here, the BPF verifier
		 * would follow turn by turn. */
		d->next = i + 1;
		if (s->flow[at & QW_CHOKE_MASK])
			return at;
	}
	return s->head;
}

/* choke_enqueue(), but for the limit: what becomes of an arrival at this average. */
static inline struct qw_verdict qw_choke_decide(struct qw_choke *s,
						const struct qw_choke_params *p,
						const struct qw_packet *k,
						qw_u32 random)
{
	struct qw_choke_dice d = { { random }, 0 };
	struct qw_red *r = &s->red;
	qw_u32 at;

	s->number[0] = random;
	/* Here min itself passes, and max itself is not above it. */
	if (r->avg <= r->min_bytes << r->wlog) {
		r->count = QW_RED_NO_COUNT;
		return qw_pass();
	}
	if (s->head != s->tail) {
		at = qw_choke_choose(s, &d);
		if (s->flow[at & QW_CHOKE_MASK] == qw_choke_flow(k)) {
			s->matched++;
			qw_choke_mark(s, at);
			return qw_drop(QW_REASON_EARLY);
		}
	}
	if (r->avg > r->max_bytes << r->wlog) {
		r->count = QW_RED_NO_COUNT;
		return qw_mark_or_drop(k, p->red.ecn != 0, QW_REASON_THRESHOLD);
	}
	random = qw_choke_roll(s, &d, d.next);
	if (qw_red_first(r, random) ||
	    ((r->avg >> r->wlog) - r->min_bytes) * r->count < r->r_bytes)
		return qw_pass();
	r->count = 0;
	qw_red_draw(r, random);
	return qw_mark_or_drop(k, p->red.ecn != 0, QW_REASON_EARLY);
}

static inline struct qw_verdict
qw_choke_enqueue(struct qw_choke *s, const struct qw_choke_params *p,
		 qw_u64 now, const struct qw_queue *q,
		 const struct qw_packet *k, qw_u32 random)
{
	struct qw_verdict v;
	int was_idle;

	qw_choke_follow(s, q->packets);
	if (!qw_red_fits(&s->red, q))
		qw_choke_make(s, p);
	was_idle = qw_red_see(&s->red, now, q->packets - s->marked);
	v = qw_choke_decide(s, p, k, random);
	s->told = 0;
	/* The limit comes last in Linux, too: of the flow that was drawn two are
	 * gone, whether or not there was room for the one that came. A full buffer
	 * is the reason here (qw.h), where Linux counts an early drop. */
	if (qw_over_limit(q, k) || s->tail - s->first >= QW_CHOKE_MOST)
		v = qw_drop(QW_REASON_LIMIT);
	if (v.action != QW_DROP)
		s->flow[s->tail++ & QW_CHOKE_MASK] = qw_choke_flow(k);
	else if (was_idle)
		qw_red_idles(&s->red, &p->red,
			     now); /* as in qw_red_enqueue() */
	return v;
}

static inline struct qw_verdict
qw_choke_dequeue(struct qw_choke *s, const struct qw_choke_params *p,
		 qw_u64 now, const struct qw_queue *q,
		 const struct qw_packet *k)
{
	(void)p;
	(void)now;
	(void)k;
	return qw_choke_follow(s, q->packets) ? qw_drop(QW_REASON_EARLY) :
						qw_pass();
}

static inline void qw_choke_idle(struct qw_choke *s,
				 const struct qw_choke_params *p, qw_u64 now)
{
	qw_red_idle(&s->red, &p->red, now);
}

/* Parameters and variables as qw.h says. */
#define QW_CHOKE_PARAMS(P)                                          \
	P("min", red.min_bytes, 0, 0, QW_CHOKE_MOST)                \
	P("max", red.max_bytes, 0, 0, QW_CHOKE_MOST)                \
	P("probability", red.probability_q32, 0, 0, QW_RED_ONE_Q32) \
	P("avpkt", red.avpkt_bytes, 0, 1, 65535)                    \
	P("burst", red.burst, 0, 0, 1u << 20)                       \
	P("bandwidth", red.bandwidth, 0, 125, QW_RED_MAX_RATE)      \
	P("ecn", red.ecn, 0, 0, 1)                                  \
	P("idle_clock", red.idle_clock, 0, QW_RED_IDLE_US, QW_RED_IDLE_NEVER)
#define QW_CHOKE_PROBES(V)                        \
	V(s->red.avg, 1ULL << (s->red.wlog & 63)) \
	V(s->red.min_bytes, 1)                    \
	V(s->red.max_bytes, 1)                    \
	V(s->red.wlog, 1)                         \
	V(s->matched, 1)

#ifdef __cplusplus
}
#endif

#endif /* QW_CHOKE_H */
