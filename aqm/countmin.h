/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A count-min sketch (Cormode and Muthukrishnan, 2005) of 8-bit saturating
 * counters that is cleared at once. A block of counters carries the epoch that
 * it counts for, and is cleared when it is first used in a later one. No call
 * does more than ROWS blocks, one cache line each.
 */
#ifndef QW_COUNTMIN_H
#define QW_COUNTMIN_H

#include "qw.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Blocks a row, a power of two. A host may set another number before including. */
#ifndef QW_COUNTMIN_BLOCKS
#define QW_COUNTMIN_BLOCKS 1024u
#endif
#define QW_COUNTMIN_ROWS 4u
/* With its epoch, a block is then a cache line of 64 bytes. */
#define QW_COUNTMIN_WORDS 7u

/* All zero is empty, in any epoch but 0. */
struct qw_countmin_block {
	qw_u64 epoch;
	qw_u64 word[QW_COUNTMIN_WORDS]; /* eight counters each */
};

struct qw_countmin {
	struct qw_countmin_block row[QW_COUNTMIN_ROWS][QW_COUNTMIN_BLOCKS];
};

/* Adds one to a counter and returns it. `hash` chooses which of the row. */
static inline qw_u32 qw_countmin_row(struct qw_countmin_block *row,
				     qw_u64 epoch, qw_u32 hash)
{
	struct qw_countmin_block *b =
		&row[(hash >> 6) & (QW_COUNTMIN_BLOCKS - 1)];
	qw_u32 column = ((hash & 63) * (8 * QW_COUNTMIN_WORDS)) >> 6;
	qw_u32 shift = (column & 7) * 8, count, i;

	if (b->epoch != epoch) {
		b->epoch = epoch;
		QW_FOR (i, QW_COUNTMIN_WORDS)
			b->word[i] = 0;
	}
	count = (qw_u32)(b->word[column >> 3] >> shift) & 0xff;
	if (count < 0xff) {
		b->word[column >> 3] += 1ULL << shift;
		count++;
	}
	return count;
}

/* A key's two hashes, one in each half: MurmurHash3's finalizer. */
static inline qw_u64 qw_countmin_hashes(qw_u32 key)
{
	qw_u64 x = key * 0x9e3779b97f4a7c15ULL;

	x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdULL;
	x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ULL;
	return x ^ (x >> 33);
}

/* From one row's hash to the next: they are made of two, as Kirsch and
 * Mitzenmacher (2006) show to be as good as independent ones. */
static inline qw_u32 qw_countmin_step(qw_u64 hashes)
{
	return (qw_u32)(hashes >> 32) | 1;
}

/* One more of `key` in this epoch (not 0): how many, or a few more than that. */
static inline qw_u32 qw_countmin_add(struct qw_countmin *c, qw_u64 epoch,
				     qw_u32 key)
{
	qw_u64 hashes = qw_countmin_hashes(key);
	qw_u32 least = 0xff, hash = (qw_u32)hashes,
	       step = qw_countmin_step(hashes), i;

	QW_FOR (i, QW_COUNTMIN_ROWS) {
		qw_u32 count = qw_countmin_row(
			c->row[i & (QW_COUNTMIN_ROWS - 1)], epoch, hash);

		if (count < least)
			least = count;
		hash += step;
	}
	return least;
}

#ifdef __cplusplus
}
#endif

#endif /* QW_COUNTMIN_H */
