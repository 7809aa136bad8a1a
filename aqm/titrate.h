/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Titrate (Zhou et al., "Controlling Arbitrary Internet Queues with Titrate",
 * NSDI 2026): tail drop at a threshold that finds its own place.
 *
 * A drop opens a monitoring interval of length w. In it are watched x, how
 * long the queue was zero, and minq, the shortest it was. At its end
 *  - x > 0: throughput was lost, the threshold T grows by w / (w - x);
 *  - x = 0: a second interval is watched; if minq then still exceeds two
 *    packets, the queue never needed its lower part: T shrinks, half of the
 *    way to MI-thresh while above it, else by one packet;
 *  - else T is right and stays.
 * An arrival is dropped if it would take the queue above T while EQlen, the
 * queue's recent length without its outliers, is above T too. So a short burst
 * passes.
 *
 * The paper's text and the code behind its figures differ. QW_TITRATE_PAPER is
 * the text, with its gaps closed as written at each place below;
 * QW_TITRATE_ARTIFACT is what that code does, less its arithmetic accidents.
 * What "zero" means is the biggest difference: the code counts from when the
 * last packet leaves the queue. By the paper's rules, the time is counted here
 * from when the link finds nothing to send (qw_titrate_idle). So x / w is just
 * the share of the link that was lost, and w / (w - x) is one over the
 * utilisation. A host must therefore call qw_titrate_idle() when the link could
 * send, not already while it is busy with the last packet.
 *
 * Intervals end and samples are taken at the first call after they are due;
 * as the queue stands still between calls, nothing is lost by that.
 * `random` is not used.
 */
#ifndef QW_TITRATE_H
#define QW_TITRATE_H

#include "qw.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Room for samples, a power of two. A host may set less before including. */
#ifndef QW_TITRATE_MAX_SAMPLES
#define QW_TITRATE_MAX_SAMPLES 1024u
#endif
/* No threshold or sample is above this (1 TiB): what bounds the products. */
#define QW_TITRATE_MAX_BYTES (1ULL << 40)
#define QW_TITRATE_ONE_Q16 (1u << 16)

/* rules */
#define QW_TITRATE_PAPER 0u
#define QW_TITRATE_ARTIFACT 1u
/* strategy: how T goes up and down (paper section 4.2 and Figure 6) */
#define QW_TITRATE_MIAD 0u
#define QW_TITRATE_AIAD 1u
#define QW_TITRATE_AIMD 2u
#define QW_TITRATE_MIMD 3u
#define QW_TITRATE_PI 4u
/* eqlen */
#define QW_TITRATE_EQLEN_OFF 0u /* the instantaneous length alone decides */
#define QW_TITRATE_EQLEN_MEAN 1u /* plain mean of the samples */
#define QW_TITRATE_EQLEN_FILTERED 2u /* mean without the outliers */

struct qw_titrate_params {
	qw_u64 window_ns; /* w, 500 ms; 1 ms .. 4 s */
	qw_u64 sample_ns; /* time between samples of the queue, 0.5 ms; > 0 */
	/* T at the first packet. 0, the default: all of the buffer until the
	 * link has been busy for `initial_ns` on end, then no more than what it
	 * sent in that time. */
	qw_u64 threshold_bytes;
	qw_u64 initial_ns; /* 50 ms; 0: no such bound */
	/* MI-thresh before the first increase. 0, the default: T is halved
	 * until throughput suffers for the first time. */
	qw_u64 mi_thresh_bytes;
	qw_u64 min_bytes; /* T shrinks no further; 0, the default: 2 packets */
	qw_u32 rules; /* QW_TITRATE_PAPER */
	qw_u32 strategy; /* QW_TITRATE_MIAD */
	qw_u32 mi_thresh; /* shrink fast above MI-thresh, on */
	qw_u32 eqlen; /* QW_TITRATE_EQLEN_FILTERED */
	qw_u32 samples; /* in the window of EQlen, 100; 1 .. MAX_SAMPLES */
	/* A sample above (1 + this) times the mean is an outlier; up to 16. */
	qw_u32 tolerance_q16;
	qw_u32 c_inc_q16; /* 1; up to 16 */
	qw_u32 c_dec_q16; /* packets, 1; up to 1024 */
	qw_u32 c_thresh_q16; /* 3; up to 64 */
	qw_u32 max_increase; /* bound of w / (w - x), 8; 1 or more */
	/* MI-thresh halves at every decrease from this one in a row on, 8;
	 * 0: it stands until the next increase. */
	qw_u32 forget;
	qw_u32 kp_q16; /* PI only: proportional gain, 0.25; up to 16 */
	qw_u32 ki_q16; /* PI only: integral gain, 0.25; up to 16 */
	qw_u32 mtu_bytes; /* a full packet, 1514; up to 65536 */
	qw_u32 ecn; /* mark above T where the sender allows, off */
};

struct qw_titrate {
	/* T; 0 until the first packet. In force is no more than limit_bytes. */
	qw_u64 threshold_bytes;
	qw_u64 mi_thresh_bytes;
	qw_u64 limit_bytes; /* the buffer, or what others leave of it, as last seen */
	qw_u64 part_bytes; /* an even part of a shared buffer; 0: it has its own */
	qw_u64 window_start_ns;
	qw_u64 window_end_ns; /* of the first or, once it runs, the second */
	qw_u64 zero_ns; /* x, without a period that is still open */
	qw_u64 zero_start_ns;
	qw_u64 came_ns; /* the last arrival, let in or not */
	qw_u64 left_ns; /* the last departure */
	qw_u64 minq_bytes;
	qw_u64 busy_start_ns; /* first departure after the link was idle */
	qw_u64 busy_bytes; /* sent since then */
	qw_u64 next_sample_ns;
	qw_u64 sample_sum;
	qw_u64 kept_sum; /* of the samples that are no outliers */
	qw_s64 error; /* PI: error at the interval before */
	qw_u32 intervals; /* 0: none runs, 1: the first, 2: the second */
	qw_u32 zero; /* a period of zero queue is open */
	qw_u32 initial; /* T has not moved yet, nor been bound by initial_ns */
	qw_u32 busy; /* busy_* are valid; 2: begun anew after a stall */
	qw_u32 at; /* slot of the oldest sample, the next to be replaced */
	qw_u32 decreases; /* in a row */
	qw_u32 sampled; /* slots in use */
	qw_u32 kept; /* samples in kept_sum, 0: to be computed */
	qw_u32 left; /* a packet departed since the window opened */
	qw_u64 sample[QW_TITRATE_MAX_SAMPLES];
};

/* MI-thresh begins anew at what the parameter says, for instance when the host
 * knows that the link is another now (as the artifact's harness does). */
static inline void qw_titrate_retune(struct qw_titrate *s,
				     const struct qw_titrate_params *p)
{
	s->mi_thresh_bytes = p->mi_thresh_bytes < QW_TITRATE_MAX_BYTES ?
				     p->mi_thresh_bytes :
				     QW_TITRATE_MAX_BYTES;
	s->decreases = 0;
}

static inline void qw_titrate_init(struct qw_titrate *s,
				   const struct qw_titrate_params *p,
				   qw_u64 now)
{
	s->threshold_bytes = 0;
	qw_titrate_retune(s, p);
	s->limit_bytes = QW_TITRATE_MAX_BYTES;
	s->part_bytes = 0;
	s->window_start_ns = 0;
	s->window_end_ns = 0;
	s->zero_ns = 0;
	s->zero_start_ns = now;
	s->came_ns = 0;
	s->left_ns = 0;
	s->minq_bytes = 0;
	s->busy_start_ns = 0;
	s->busy_bytes = 0;
	s->next_sample_ns = now;
	s->sample_sum = 0;
	s->kept_sum = 0;
	s->error = 0;
	s->intervals = 0;
	/* Nothing waits. Hosts say so only after a packet has left. */
	s->zero = p->rules == QW_TITRATE_PAPER;
	s->left = 0;
	s->initial = !p->threshold_bytes && p->initial_ns &&
		     p->rules == QW_TITRATE_PAPER;
	s->busy = 0;
	s->at = 0;
	s->sampled = 0;
	s->kept = 0;
	/* Slots need no clearing: none is read before it is written. */
}

/* value * factor, rounded down, for value < 2^46 */
static inline qw_u64 qw_titrate_scale(qw_u64 value, qw_u32 factor_q16)
{
	return (value >> 16) * factor_q16 +
	       (((value & 0xffff) * factor_q16) >> 16);
}

/* T in force: the buffer may have shrunk, or others may claim more of it, since
 * T was found. */
static inline qw_u64 qw_titrate_threshold(const struct qw_titrate *s)
{
	return s->threshold_bytes < s->limit_bytes ? s->threshold_bytes :
						     s->limit_bytes;
}

/* T, as it is kept: within the buffer, and of a shared one within an even part
 * at the least, though others may hold that for the moment. */
static inline qw_u64 qw_titrate_kept(const struct qw_titrate *s,
				     const struct qw_titrate_params *p,
				     qw_u64 threshold)
{
	qw_u64 most = s->limit_bytes;

	if (p->rules == QW_TITRATE_PAPER && most < s->part_bytes)
		most = s->part_bytes;
	return threshold < most ? threshold : most;
}

/* ------------------------------------------------ EQlen (section 4.3) --- */

/* Take the samples due by `now`, the queue having stood at `bytes` since the
 * last call. After a long silence they are all the same, so that no more than
 * a ring of them is written. */
static inline void qw_titrate_sample(struct qw_titrate *s,
				     const struct qw_titrate_params *p,
				     qw_u64 now, qw_u64 bytes)
{
	qw_u64 late, due = 1;
	qw_u32 i;

	if (now < s->next_sample_ns || p->eqlen == QW_TITRATE_EQLEN_OFF)
		return;
	late = now - s->next_sample_ns;
	if (late >= p->sample_ns)
		due += qw_div(late, p->sample_ns);
	s->next_sample_ns += due * p->sample_ns;
	s->kept = 0;
	if (bytes > QW_TITRATE_MAX_BYTES)
		bytes = QW_TITRATE_MAX_BYTES;
	if (due > p->samples)
		due = p->samples;
	QW_FOR (i, QW_TITRATE_MAX_SAMPLES) {
		/* The mask tells the BPF verifier what `at` cannot be. */
		qw_u64 *slot = &s->sample[s->at & (QW_TITRATE_MAX_SAMPLES - 1)];

		if (i >= due)
			break;
		if (s->sampled < p->samples)
			s->sampled++;
		else
			s->sample_sum -= *slot;
		*slot = bytes;
		s->sample_sum += bytes;
		if (++s->at >= p->samples)
			s->at = 0;
	}
}

/* Is the mean of `n` samples with this sum above T? */
static inline int qw_titrate_mean_above(const struct qw_titrate *s,
					const struct qw_titrate_params *p,
					qw_u64 sum, qw_u32 n)
{
	qw_u64 threshold = qw_titrate_threshold(s);

	/* The artifact rounds the mean to the nearest byte first. */
	if (p->rules == QW_TITRATE_ARTIFACT)
		return n && 2 * sum + n >= 2 * n * (threshold + 1);
	return sum > n * threshold;
}

/* Sum and count the samples that are no outliers; `kept` is 0 on entry. */
static inline void qw_titrate_filter(struct qw_titrate *s,
				     const struct qw_titrate_params *p)
{
	qw_u64 most = qw_div(s->sample_sum, s->sampled), sum = 0;
	qw_u32 i;

	/* The artifact stores its tolerance and does not use it. */
	if (p->rules == QW_TITRATE_PAPER)
		most += qw_titrate_scale(most, p->tolerance_q16);
	/* Counted in the state: the BPF verifier tells every value of a local
	 * apart, and would give up. */
	QW_FOR (i, QW_TITRATE_MAX_SAMPLES) {
		if (i >= s->sampled)
			break;
		if (s->sample[i] <= most) {
			sum += s->sample[i];
			s->kept++;
		}
	}
	s->kept_sum = sum;
}

/* Is EQlen above T? Leaving out the largest only lowers a mean, so the samples
 * need looking through only if the plain mean is above T, and then once a
 * sample at most. */
static inline int qw_titrate_eqlen_above(struct qw_titrate *s,
					 const struct qw_titrate_params *p)
{
	if (p->eqlen == QW_TITRATE_EQLEN_OFF)
		return 1;
	if (!qw_titrate_mean_above(s, p, s->sample_sum, s->sampled))
		return 0;
	if (p->eqlen == QW_TITRATE_EQLEN_MEAN)
		return 1;
	if (!s->kept)
		qw_titrate_filter(s, p);
	return qw_titrate_mean_above(s, p, s->kept_sum, s->kept);
}

/* -------------------------------- moving the threshold (section 4.2) --- */

/* T * w / (w - x), rounded down. The paper leaves x -> w open, where this has
 * no bound: `max_increase` is one, of the product with `c_inc`, and of what the
 * controller of Figure 6 takes for its error. */
static inline qw_u64 qw_titrate_grown(const struct qw_titrate *s,
				      const struct qw_titrate_params *p,
				      qw_u64 x)
{
	qw_u64 w = p->window_ns, busy = x < w ? w - x : 0, whole, rest;

	if (p->rules == QW_TITRATE_PAPER && p->strategy == QW_TITRATE_PI &&
	    busy < qw_div(w, p->max_increase))
		busy = qw_div(w, p->max_increase);
	if (!busy)
		return QW_TITRATE_MAX_BYTES;
	/* Both products fit in 64 bits: w < 2^32 and rest < busy <= w. */
	whole = qw_div(s->threshold_bytes, busy);
	rest = s->threshold_bytes - whole * busy;
	if (whole > qw_div(QW_TITRATE_MAX_BYTES, w))
		return QW_TITRATE_MAX_BYTES;
	whole = whole * w + qw_div(rest * w, busy);
	return whole < QW_TITRATE_MAX_BYTES ? whole : QW_TITRATE_MAX_BYTES;
}

/* The ablation of Figure 6. The paper names a PI controller and no more; this
 * one is in velocity form, which cannot wind up at the clamps. Its error is
 * how far T is off by what was seen: what an increase would add, or less the
 * part of the queue that stood. */
static inline qw_u64 qw_titrate_pi(struct qw_titrate *s,
				   const struct qw_titrate_params *p,
				   qw_s64 error)
{
	qw_s64 move = (error - s->error) * (qw_s64)p->kp_q16 +
		      error * (qw_s64)p->ki_q16;
	qw_u64 size = (move < 0 ? (qw_u64)-move : (qw_u64)move) >> 16;

	s->error = error;
	if (move >= 0)
		return s->threshold_bytes + size;
	return size < s->threshold_bytes ? s->threshold_bytes - size : 0;
}

static inline qw_u64 qw_titrate_floor(const struct qw_titrate_params *p)
{
	return p->min_bytes ? p->min_bytes : 2 * (qw_u64)p->mtu_bytes;
}

/* Put T at `to` within its clamps. Increases stop at the buffer. A decrease
 * stops at the floor, but by the artifact's rules does not happen if it would
 * reach it. */
static inline void qw_titrate_move(struct qw_titrate *s,
				   const struct qw_titrate_params *p, qw_u64 to)
{
	qw_u64 old = s->threshold_bytes, floor = qw_titrate_floor(p);

	if (to < old && to <= floor) {
		if (p->rules == QW_TITRATE_ARTIFACT)
			return;
		to = old < floor ? old : floor;
	}
	s->threshold_bytes = qw_titrate_kept(s, p, to);
	/* One that finds T at the buffer's end has not grown. */
	if (s->threshold_bytes > old)
		s->initial = 0;
}

/* c packets, in bytes */
static inline qw_u64 qw_titrate_packets(const struct qw_titrate_params *p,
					qw_u32 c_q16)
{
	return qw_titrate_scale(p->mtu_bytes, c_q16);
}

static inline void qw_titrate_increase(struct qw_titrate *s,
				       const struct qw_titrate_params *p,
				       qw_u64 x)
{
	qw_u64 old = s->threshold_bytes, to;

	s->decreases = 0;
	s->mi_thresh_bytes = qw_titrate_scale(old, p->c_thresh_q16);
	if (p->strategy == QW_TITRATE_PI) {
		to = qw_titrate_pi(s, p,
				   (qw_s64)(qw_titrate_grown(s, p, x) - old));
	} else if (p->strategy == QW_TITRATE_AIAD ||
		   p->strategy == QW_TITRATE_AIMD) {
		to = old + qw_titrate_packets(p, p->c_inc_q16);
	} else {
		to = qw_titrate_scale(qw_titrate_grown(s, p, x), p->c_inc_q16);
		/* Below 2^60. */
		if (p->rules == QW_TITRATE_PAPER && to > old * p->max_increase)
			to = old * p->max_increase;
		/* "We will always increase the threshold when throughput loss
		 * is observed": rounding must not undo that. */
		if (p->rules == QW_TITRATE_PAPER && to <= old)
			to = old + 1;
	}
	qw_titrate_move(s, p, to);
}

static inline void qw_titrate_decrease(struct qw_titrate *s,
				       const struct qw_titrate_params *p)
{
	qw_u64 old = s->threshold_bytes, step, half = 0;

	if (p->strategy == QW_TITRATE_PI) {
		qw_u64 most = QW_TITRATE_MAX_BYTES, stood = s->minq_bytes;

		stood = (stood < most ? stood : most) - 2 * p->mtu_bytes;
		qw_titrate_move(s, p, qw_titrate_pi(s, p, -(qw_s64)stood));
		return;
	}
	if (p->strategy == QW_TITRATE_AIMD || p->strategy == QW_TITRATE_MIMD) {
		qw_titrate_move(s, p, old / 2);
		return;
	}

	/* A packet a second is no way down after a change of traffic: where the
	 * queue stood again and again, the throughput that was once lost there
	 * no longer counts. */
	if (s->decreases < p->forget)
		s->decreases++;
	if (p->forget && s->decreases == p->forget &&
	    p->rules == QW_TITRATE_PAPER)
		s->mi_thresh_bytes /= 2;

	step = qw_titrate_packets(p, p->c_dec_q16);
	if (p->strategy == QW_TITRATE_MIAD && p->mi_thresh &&
	    old > s->mi_thresh_bytes)
		half = (old - s->mi_thresh_bytes + 1) / 2;
	if (p->rules == QW_TITRATE_ARTIFACT) {
		/* Its additive step is one packet for each interval, of which
		 * there were two; halving is by whole packets. */
		step *= 2;
		if (half)
			step = qw_div(half - (old - s->mi_thresh_bytes) % 2 +
					      p->mtu_bytes - 1,
				      p->mtu_bytes) *
			       p->mtu_bytes;
	} else if (half > step) {
		/* MI-thresh is there to speed the decrease up: just above it,
		 * half of the way would be less than one packet. */
		step = half;
	}
	qw_titrate_move(s, p, step < old ? old - step : 0);
}

/* ----------------------------------- watching the queue (section 4.1) --- */

/* What of an open period of zero queue is in the window, which ends at `end` */
static inline qw_u64 qw_titrate_zero_part(const struct qw_titrate *s,
					  qw_u64 end)
{
	qw_u64 start = s->zero_start_ns > s->window_start_ns ?
			       s->zero_start_ns :
			       s->window_start_ns;

	return end > start ? end - start : 0;
}

static inline void qw_titrate_interval_end(struct qw_titrate *s,
					   const struct qw_titrate_params *p)
{
	int paper = p->rules == QW_TITRATE_PAPER;
	/* A link that let nothing go says nothing about what stood before it. */
	int standing = s->minq_bytes > 2 * (qw_u64)p->mtu_bytes &&
		       (s->left || !paper);
	qw_u64 x = s->zero_ns;

	/* Others may claim more than when T was found. */
	s->threshold_bytes = qw_titrate_kept(s, p, s->threshold_bytes);
	/* A period still open at the end counts as far as it has come; the
	 * artifact overlooks it. */
	if (paper && s->zero)
		x += qw_titrate_zero_part(s, s->window_end_ns);

	if (x) {
		qw_titrate_increase(s, p, x);
	} else if (s->intervals == 1 && (paper || standing)) {
		/* Neither x nor minq starts anew: x is 0, and minq is to be
		 * taken over both intervals. */
		s->intervals = 2;
		s->window_end_ns += p->window_ns;
		return;
	} else if (standing) {
		qw_titrate_decrease(s, p);
	} else {
		s->error = 0;
	}
	s->intervals = 0;
}

/* Do all that was due by `now`, the queue having stood at `bytes` since the
 * last call. To call this more often than needed changes nothing. */
static inline void qw_titrate_catch_up(struct qw_titrate *s,
				       const struct qw_titrate_params *p,
				       qw_u64 now, qw_u64 bytes)
{
	if (s->intervals && now >= s->window_end_ns) {
		qw_titrate_interval_end(s, p);
		/* The second may be over as well; after it, none runs. */
		if (s->intervals && now >= s->window_end_ns)
			qw_titrate_interval_end(s, p);
	}
	qw_titrate_sample(s, p, now, bytes);
}

/* A drop (or the mark in its place) opens a window, if none is open. */
static inline void qw_titrate_trigger(struct qw_titrate *s,
				      const struct qw_titrate_params *p,
				      qw_u64 now, qw_u64 bytes)
{
	if (s->intervals)
		return;
	s->intervals = 1;
	s->window_start_ns = now;
	s->window_end_ns = now + p->window_ns;
	s->zero_ns = 0;
	s->minq_bytes = bytes;
	s->left = 0;
}

/* A host with several of these dropped a packet of this one: a drop as any other. */
static inline void qw_titrate_lost(struct qw_titrate *s,
				   const struct qw_titrate_params *p,
				   qw_u64 now, qw_u64 bytes)
{
	qw_titrate_catch_up(s, p, now, bytes);
	qw_titrate_trigger(s, p, now, bytes);
}

static inline void qw_titrate_zero_begins(struct qw_titrate *s, qw_u64 now)
{
	if (!s->zero) {
		s->zero = 1;
		s->zero_start_ns = now;
	}
}

static inline void qw_titrate_zero_ends(struct qw_titrate *s, qw_u64 now)
{
	if (s->zero && s->intervals)
		s->zero_ns += qw_titrate_zero_part(s, now);
	s->zero = 0;
}

/* What a port claims of a shared buffer, as the others see it (qw.h): T, and an
 * even part at the most while T could not be in force for want of room, so that
 * who comes back gets its part of who took more. A port whose link had nothing to
 * send for a window claims nothing (section 5.3: what some do not need is for
 * those that do); the artifact's thresholds count always. */
static inline qw_u64 qw_titrate_claim(const struct qw_titrate *s,
				      const struct qw_titrate_params *p,
				      qw_u64 now)
{
	qw_u64 want = s->threshold_bytes, have = qw_titrate_threshold(s);
	/* What finds the buffer full wants it all the same. */
	qw_u64 since = s->came_ns > s->zero_start_ns ? s->came_ns :
						       s->zero_start_ns;

	if (p->rules == QW_TITRATE_PAPER && s->zero &&
	    now >= since + p->window_ns)
		return 0;
	if (want > s->part_bytes)
		want = s->part_bytes;
	/* Its link stands still: what it has beyond its part it cannot use. */
	if (p->rules == QW_TITRATE_PAPER && now >= s->came_ns + p->window_ns &&
	    now >= s->left_ns + p->window_ns)
		return have < want ? have : want;
	return have > want ? have : want;
}

/* What a port may have of a shared buffer: thresholds together stay within it
 * (the artifact's upper clamp), but for the floor, which every port needs. */
static inline qw_u64 qw_titrate_room(const struct qw_titrate_params *p,
				     const struct qw_pool *pool, qw_u64 limit)
{
	qw_u64 room = pool->thresholds_bytes < pool->limit_bytes ?
			      pool->limit_bytes - pool->thresholds_bytes :
			      0;

	if (room < qw_titrate_floor(p))
		room = qw_titrate_floor(p);
	return room < limit ? room : limit;
}

static inline void qw_titrate_see_limit(struct qw_titrate *s,
					const struct qw_titrate_params *p,
					const struct qw_queue *q)
{
	qw_u64 packets_as_bytes = (qw_u64)q->limit_packets * p->mtu_bytes;
	qw_u64 limit = QW_TITRATE_MAX_BYTES;

	if (q->limit_bytes && q->limit_bytes < limit)
		limit = q->limit_bytes;
	if (packets_as_bytes && packets_as_bytes < limit)
		limit = packets_as_bytes;
	s->part_bytes = qw_pool_part(q);
	if (s->part_bytes > limit)
		s->part_bytes = limit;
	if (!s->threshold_bytes)
		s->threshold_bytes = p->threshold_bytes ?
					     p->threshold_bytes :
					     qw_tighter(limit, s->part_bytes);
	s->limit_bytes = q->pool.limit_bytes ?
				 qw_titrate_room(p, &q->pool, limit) :
				 limit;
}

/* A packet of so many bytes departs. Once the link has been busy for
 * `initial_ns`, what it sent in that time is as much as a T found without a
 * hint should start from: the paper leaves the start open, and the whole of a
 * bloated buffer may never overflow, so that T would never move. */
static inline void qw_titrate_bound_initial(struct qw_titrate *s,
					    const struct qw_titrate_params *p,
					    qw_u64 now, qw_u64 bytes)
{
	/* A link that stood still for as long was not busy, unless it does so
	 * again: then a packet takes that long. */
	qw_u32 stall = s->busy == 1 && now - s->left_ns >= p->initial_ns;

	if (!s->busy || stall) {
		s->busy = 1 + stall;
		s->busy_start_ns = now;
		s->busy_bytes = 0;
	} else if (now - s->busy_start_ns >= p->initial_ns) {
		s->initial = 0;
		if (s->busy_bytes < qw_titrate_floor(p))
			s->busy_bytes = qw_titrate_floor(p);
		if (s->busy_bytes < s->threshold_bytes)
			s->threshold_bytes = s->busy_bytes;
		return;
	}
	s->busy_bytes += bytes;
}

/* Is the queue with this packet above T? */
static inline int qw_titrate_above(const struct qw_titrate *s,
				   const struct qw_titrate_params *p,
				   const struct qw_queue *q,
				   const struct qw_packet *k)
{
	qw_u64 bytes = k->bytes;

	if (p->rules == QW_TITRATE_ARTIFACT) /* without its IPv4 header */
		bytes -= bytes < 20 ? bytes : 20;
	else if (!q->bytes) /* one larger than T would never pass */
		return 0;
	return q->bytes + bytes > qw_titrate_threshold(s);
}

QW_SHARED struct qw_verdict
qw_titrate_enqueue(struct qw_titrate *s, const struct qw_titrate_params *p,
		   qw_u64 now, const struct qw_queue *q,
		   const struct qw_packet *k, qw_u32 random)
{
	struct qw_verdict v = qw_pass();

	(void)random;
	s->came_ns = now;
	/* First the room: a window that is over moves T within it. */
	qw_titrate_see_limit(s, p, q);
	qw_titrate_catch_up(s, p, now, q->bytes);
	if (qw_over_limit(q, k))
		v = qw_drop(QW_REASON_LIMIT);
	else if (qw_titrate_above(s, p, q, k) && qw_titrate_eqlen_above(s, p))
		v = qw_mark_or_drop(k, p->ecn != 0, QW_REASON_THRESHOLD);
	/* What waits may be older than this. */
	if (v.action != QW_DROP || q->bytes)
		qw_titrate_zero_ends(s, now);
	/* Where others have filled a shared buffer, or claim it, this port's own T
	 * has no part in it. */
	if (v.action != QW_PASS &&
	    (!q->pool.limit_bytes || p->rules == QW_TITRATE_ARTIFACT ||
	     q->bytes + k->bytes > qw_titrate_kept(s, p, s->threshold_bytes)))
		qw_titrate_trigger(s, p, now, q->bytes);
	return v;
}

QW_SHARED struct qw_verdict
qw_titrate_dequeue(struct qw_titrate *s, const struct qw_titrate_params *p,
		   qw_u64 now, const struct qw_queue *q,
		   const struct qw_packet *k)
{
	if (q->pool.limit_bytes)
		qw_titrate_see_limit(s, p, q);
	qw_titrate_catch_up(s, p, now, q->bytes + k->bytes);
	s->left = 1;
	/* What waits may be older than this, which then knows no buffer yet. */
	if (s->initial && s->threshold_bytes)
		qw_titrate_bound_initial(s, p, now, k->bytes);
	s->left_ns = now;
	if (q->bytes < s->minq_bytes)
		s->minq_bytes = q->bytes;
	if (p->rules == QW_TITRATE_ARTIFACT && !q->bytes)
		qw_titrate_zero_begins(s, now);
	return qw_pass();
}

static inline void qw_titrate_idle(struct qw_titrate *s,
				   const struct qw_titrate_params *p,
				   qw_u64 now)
{
	/* How much a shared buffer has left is not known here: a window that is
	 * over ends at the next packet. */
	if (s->part_bytes)
		qw_titrate_sample(s, p, now, 0);
	else
		qw_titrate_catch_up(s, p, now, 0);
	s->busy = 0;
	if (p->rules == QW_TITRATE_PAPER)
		qw_titrate_zero_begins(s, now);
}

/* Parameters and variables as qw.h says. */
#define QW_TITRATE_PARAMS(P)                                            \
	P("rules", rules, 0, 0, QW_TITRATE_ARTIFACT)                    \
	P("strategy", strategy, 0, 0, QW_TITRATE_PI)                    \
	P("window", window_ns, 0, QW_NS_PER_MS, 4 * QW_NS_PER_SEC)      \
	P("threshold", threshold_bytes, 0, 0, QW_TITRATE_MAX_BYTES)     \
	P("initial_delay", initial_ns, 0, 0, 10 * QW_NS_PER_SEC)        \
	P("forget", forget, 0, 0, 1000)                                 \
	P("mi_thresh", mi_thresh_bytes, 0, 0, QW_TITRATE_MAX_BYTES)     \
	P("use_mi_thresh", mi_thresh, 0, 0, 1)                          \
	P("min_threshold", min_bytes, 0, 0, 1ULL << 30)                 \
	P("max_increase", max_increase, 0, 1, 1u << 20)                 \
	P("eqlen", eqlen, 0, 0, QW_TITRATE_EQLEN_FILTERED)              \
	P("sample_interval", sample_ns, 0, QW_NS_PER_US, QW_NS_PER_SEC) \
	P("samples", samples, 0, 1, QW_TITRATE_MAX_SAMPLES)             \
	P("ecn", ecn, 0, 0, 1)                                          \
	P("mtu", mtu_bytes, 0, 64, 65536)                               \
	P("c_inc", c_inc_q16, 16, 0, 16u << 16)                         \
	P("c_dec", c_dec_q16, 16, 0, 1024u << 16)                       \
	P("c_thresh", c_thresh_q16, 16, 0, 64u << 16)                   \
	P("tolerance", tolerance_q16, 16, 0, 16u << 16)                 \
	P("kp", kp_q16, 16, 0, 16u << 16)                               \
	P("ki", ki_q16, 16, 0, 16u << 16)
#define QW_TITRATE_PROBES(V)                                     \
	V(qw_titrate_threshold(s), 1)                            \
	V(s->mi_thresh_bytes, 1)                                 \
	V(s->sampled ? qw_div(s->sample_sum, s->sampled) : 0, 1) \
	V(s->minq_bytes, 1)                                      \
	V(s->zero_ns, QW_NS_PER_MS)                              \
	V(s->intervals, 1)

#ifdef __cplusplus
}
#endif

#endif /* QW_TITRATE_H */
