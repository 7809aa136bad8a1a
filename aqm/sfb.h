/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stochastic Fair BLUE (Feng, Kandlur, Saha and Shin 2001), with the arithmetic
 * of Linux's sch_sfb. A Bloom filter of 8 levels with 16 bins: a flow has one
 * bin in each, by its hash. A bin counts the packets that wait in it, and has a
 * probability that rises with each arrival while it is full and falls with each
 * while it is empty. A packet is marked or dropped with the least probability
 * of its flow's 8 bins, so that only who fills all of them is held down. That
 * is one that does not yield, which then comes into a penalty box with a rate
 * of its own.
 *
 * Filters are two. Now and then the other one comes into use. So who shares all
 * 8 bins with a flow that does not yield does not do so for good. For a while
 * before, flows that do not yield are entered in both.
 *
 * It departs from Linux in that
 *  - hashes are mixed by a salt, not keyed by SipHash;
 *  - times are 64 bits wide;
 *  - the limit is the buffer's;
 *  - no filter of tc's gives the hash.
 */
#ifndef QW_SFB_H
#define QW_SFB_H

#include "qw.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QW_SFB_LEVELS 8u
#define QW_SFB_BIN_BITS 4u
#define QW_SFB_BINS (1u << QW_SFB_BIN_BITS)
/* A probability of 1. */
#define QW_SFB_ONE 65535u
/* Packets whose hashes are kept, a power of two: no more may wait. */
#ifndef QW_SFB_PACKETS
#define QW_SFB_PACKETS 131072u
#endif
#define QW_SFB_MASK (QW_SFB_PACKETS - 1)

/* Tokens are made of so much of a pause at most. */
#define QW_SFB_TOKEN_JIFFIES (10u * QW_HZ)

struct qw_sfb_params {
	qw_u32 target_packets; /* a bin is full from here on, 20; > 0 */
	qw_u32 max_packets; /* in all of its bins: from here on tail drop, 25; > 0 */
	qw_u32 increment; /* of a full bin's probability, 65535ths, 33 */
	qw_u32 decrement; /* of an empty bin's, 65535ths, 3 */
	qw_u64 rehash_ns; /* until the other filter comes into use, 600 s; 0: never */
	qw_u64 warmup_ns; /* for so long before it, both are used, 60 s; 0: not */
	qw_u32 penalty_rate; /* packets/s that the box lets pass, 10 */
	qw_u32 penalty_burst; /* and at once, 20 */
};

/* A bin counts up to here. */
#define QW_SFB_MOST 65535u

struct qw_sfb_bin {
	qw_u16 packets; /* waiting */
	qw_u16 probability; /* 65535ths */
};

struct qw_sfb {
	qw_u64 rehash_jiffy; /* the filter in use came into use */
	qw_u64 token_jiffy; /* the box's tokens were reckoned */
	qw_u32 tokens;
	qw_u32 slot; /* the filter in use */
	qw_u32 both; /* flows that do not yield are entered in both */
	qw_u32 salted; /* the salts are drawn */
	qw_u32 salt[2]; /* of each filter */
	qw_u32 head, tail; /* of the ring of hashes, counted on for ever */
	qw_u32 least; /* least probability of the last arrival, for display */
	qw_u64 penalized; /* drops by the box, for display */
	struct qw_sfb_bin bin[2][QW_SFB_LEVELS][QW_SFB_BINS];
	/* Of each packet that waits, its hash in each filter; 0: none. */
	qw_u32 hash[QW_SFB_PACKETS][2];
};

static inline void qw_sfb_init(struct qw_sfb *s, const struct qw_sfb_params *p,
			       qw_u64 now)
{
	s->rehash_jiffy = qw_div(now, QW_JIFFY_NS);
	s->token_jiffy = s->rehash_jiffy;
	s->tokens = p->penalty_burst;
	s->slot = 0;
	s->both = 0;
	s->salted = 0;
	s->salt[0] = 0;
	s->salt[1] = 0;
	s->head = 0;
	s->tail = 0;
	s->least = 0;
	s->penalized = 0;
}

/* Mixed, so that the 4 bits of a level say nothing of another's. Never 0, which
 * is no hash. */
static inline qw_u32 qw_sfb_hash(qw_u32 flow, qw_u32 salt)
{
	qw_u32 hash = qw_mixed(flow ^ salt);

	return hash ? hash : 1;
}

static inline struct qw_sfb_bin *qw_sfb_place(struct qw_sfb *s, qw_u32 slot,
					      qw_u32 level, qw_u32 hash)
{
	return &s->bin[slot & 1][level & (QW_SFB_LEVELS - 1)]
		      [(hash >> (QW_SFB_BIN_BITS * level)) & (QW_SFB_BINS - 1)];
}

/* An arrival moves the probabilities of its bins. What comes of it: the fewest
 * packets of a bin in the low half, the least probability in the high. */
static inline qw_u32 qw_sfb_see(struct qw_sfb *s, const struct qw_sfb_params *p,
				qw_u32 slot, qw_u32 hash)
{
	qw_u32 fewest = QW_SFB_MOST, least = QW_SFB_ONE, level;

	QW_FOR (level, QW_SFB_LEVELS) {
		struct qw_sfb_bin *b = qw_sfb_place(s, slot, level, hash);

		if (!b->packets)
			b->probability = b->probability > p->decrement ?
						 (qw_u16)(b->probability -
							  p->decrement) :
						 0;
		else if (b->packets >= p->target_packets)
			b->probability = QW_SFB_ONE - b->probability >
							 p->increment ?
						 (qw_u16)(b->probability +
							  p->increment) :
						 QW_SFB_ONE;
		if (b->packets < fewest)
			fewest = b->packets;
		if (b->probability < least)
			least = b->probability;
	}
	return least << 16 | fewest;
}

/* The packet with this hash comes, or else goes. */
static inline void qw_sfb_count(struct qw_sfb *s, qw_u32 slot, qw_u32 hash,
				int comes)
{
	qw_u32 level;

	if (!hash)
		return;
	QW_FOR (level, QW_SFB_LEVELS) {
		struct qw_sfb_bin *b = qw_sfb_place(s, slot, level, hash);

		if (comes && b->packets < QW_SFB_MOST)
			b->packets++;
		else if (!comes && b->packets)
			b->packets--;
	}
}

/* The oldest packet goes. */
static inline void qw_sfb_forget(struct qw_sfb *s)
{
	qw_u32 place = s->head++ & QW_SFB_MASK;

	qw_sfb_count(s, 0, s->hash[place][0], 0);
	qw_sfb_count(s, 1, s->hash[place][1], 0);
}

/* Beyond those that wait, the oldest were thrown away: the host's limit fell. */
static inline void qw_sfb_follow(struct qw_sfb *s, qw_u32 waiting)
{
	qw_u32 i;

	QW_FOR (i, QW_SFB_PACKETS) {
		if (s->tail - s->head <= waiting)
			break;
		qw_sfb_forget(s);
	}
}

/* sfb_swap_slot(): what the two filters hold stays there. */
static inline void qw_sfb_swap(struct qw_sfb *s, const struct qw_sfb_params *p,
			       qw_u64 jiffy, qw_u32 random)
{
	qw_u64 since = jiffy - s->rehash_jiffy;
	qw_u64 rehash = qw_ns_to_jiffies(p->rehash_ns);

	if (!rehash)
		return;
	if (since > rehash) {
		s->salt[s->slot & 1] = random;
		s->slot ^= 1;
		s->both = 0;
		s->rehash_jiffy = jiffy;
	} else if (p->warmup_ns &&
		   since + qw_ns_to_jiffies(p->warmup_ns) > rehash) {
		s->both = 1;
	}
}

/* sfb_rate_limit(): has the box a token? Who asks again before there is a whole
 * one loses what was on its way. */
static inline int qw_sfb_penalized(struct qw_sfb *s,
				   const struct qw_sfb_params *p, qw_u64 jiffy)
{
	if (!p->penalty_rate || !p->penalty_burst)
		return 1;
	if (!s->tokens) {
		qw_u64 age = jiffy - s->token_jiffy;

		if (age > QW_SFB_TOKEN_JIFFIES)
			age = QW_SFB_TOKEN_JIFFIES;
		age = qw_div(age * p->penalty_rate, QW_HZ);
		s->tokens = age < p->penalty_burst ? (qw_u32)age :
						     p->penalty_burst;
		s->token_jiffy = jiffy;
		if (!s->tokens)
			return 1;
	}
	s->tokens--;
	return 0;
}

static inline struct qw_verdict
qw_sfb_enqueue(struct qw_sfb *s, const struct qw_sfb_params *p, qw_u64 now,
	       const struct qw_queue *q, const struct qw_packet *k,
	       qw_u32 random)
{
	qw_u64 jiffy = qw_div(now, QW_JIFFY_NS);
	struct qw_verdict v = qw_pass();
	qw_u32 mine, other = 0, seen, slot, place;

	if (!s->salted) {
		s->salt[0] = random;
		s->salt[1] = qw_sfb_hash(random, 0x9e3779b9u);
		s->salted = 1;
	}
	qw_sfb_follow(s, q->packets);
	if (qw_over_limit(q, k) || s->tail - s->head >= QW_SFB_PACKETS)
		return qw_drop(QW_REASON_LIMIT);
	qw_sfb_swap(s, p, jiffy, random);
	slot = s->slot & 1;
	mine = qw_sfb_hash(k->flow, s->salt[slot]);
	seen = qw_sfb_see(s, p, slot, mine);
	s->least = seen >> 16;
	if ((seen & QW_SFB_MOST) >= p->max_packets)
		return qw_drop(QW_REASON_THRESHOLD);
	if (s->least >= QW_SFB_ONE) {
		/* It does not yield. */
		if (s->both) {
			other = qw_sfb_hash(k->flow, s->salt[slot ^ 1]);
			qw_sfb_see(s, p, slot ^ 1, other);
		}
		if (qw_sfb_penalized(s, p, jiffy)) {
			s->penalized++;
			return qw_drop(QW_REASON_THRESHOLD);
		}
	} else if ((random & QW_SFB_ONE) < s->least) {
		/* From a half on part of what would be marked is dropped, all at 1. */
		int drops = s->least > QW_SFB_ONE / 2 &&
			    (random & QW_SFB_ONE) <
				    2 * (s->least - QW_SFB_ONE / 2);

		v = qw_mark_or_drop(k, !drops, QW_REASON_EARLY);
		if (v.action == QW_DROP)
			return v;
	}
	place = s->tail++ & QW_SFB_MASK;
	s->hash[place][slot] = mine;
	s->hash[place][slot ^ 1] = other;
	qw_sfb_count(s, slot, mine, 1);
	qw_sfb_count(s, slot ^ 1, other, 1);
	return v;
}

static inline struct qw_verdict
qw_sfb_dequeue(struct qw_sfb *s, const struct qw_sfb_params *p, qw_u64 now,
	       const struct qw_queue *q, const struct qw_packet *k)
{
	(void)p;
	(void)now;
	(void)k;
	qw_sfb_follow(s, q->packets);
	return qw_pass();
}

static inline void qw_sfb_idle(struct qw_sfb *s, const struct qw_sfb_params *p,
			       qw_u64 now)
{
	(void)s;
	(void)p;
	(void)now;
}

/* Parameters and variables as qw.h says. */
#define QW_SFB_PARAMS(P)                                \
	P("target", target_packets, 0, 1, 65535)        \
	P("max", max_packets, 0, 1, 65535)              \
	P("increment", increment, 0, 0, QW_SFB_ONE)     \
	P("decrement", decrement, 0, 0, QW_SFB_ONE)     \
	P("rehash", rehash_ns, 0, 0, 1ULL << 50)        \
	P("warmup", warmup_ns, 0, 0, 1ULL << 50)        \
	P("penalty_rate", penalty_rate, 0, 0, 1u << 20) \
	P("penalty_burst", penalty_burst, 0, 0, 1u << 20)
#define QW_SFB_PROBES(V)        \
	V(s->least, QW_SFB_ONE) \
	V(s->tokens, 1)         \
	V(s->penalized, 1)

#ifdef __cplusplus
}
#endif

#endif /* QW_SFB_H */
