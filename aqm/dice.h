/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Random numbers for decisions at the head of the queue. A host hands in one
 * with each arrival; here they are kept and stretched until packets leave.
 */
#ifndef QW_DICE_H
#define QW_DICE_H

#include "qw.h"

#ifdef __cplusplus
extern "C" {
#endif

struct qw_dice {
	qw_u64 state;
};

/* A step of Knuth's MMIX generator. */
static inline void qw_dice_step(struct qw_dice *d, qw_u32 fresh)
{
	d->state = (d->state ^ fresh) * 6364136223846793005ULL +
		   1442695040888963407ULL;
}

/* A number from the host. */
static inline void qw_dice_feed(struct qw_dice *d, qw_u32 random)
{
	qw_dice_step(d, random);
}

/* A uniform 32-bit number. The low bits of such a generator have short
 * periods: the high ones are shown, with the highest mixed in. */
static inline qw_u32 qw_dice_roll(struct qw_dice *d)
{
	qw_dice_step(d, 0);
	return (qw_u32)((d->state ^ (d->state >> 33)) >> 24);
}

#ifdef __cplusplus
}
#endif

#endif /* QW_DICE_H */
