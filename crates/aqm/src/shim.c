/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The headers of aqm/ are static inline C; Rust needs functions to link to.
 * An instance is a block of memory: a tag that says which discipline, its
 * parameters, its state. One switch per call picks the discipline.
 *
 * A new discipline, once it is in aqm/all.h, needs its set_X() and probe_X().
 */
#include <stddef.h>
#include <string.h>

#include "all.h"

/*
 * set_X() writes one parameter by its name in the registry and returns 1, or
 * returns 0 if it has no such parameter. Times arrive in ns, sizes in bytes,
 * flags as 0 or 1, choices as their index, real numbers in Q32.
 *
 * probe_X() reads the i-th variable that the registry lists.
 */
#define SET(key, field)                                     \
	do {                                                \
		if (!strcmp(name, key)) {                   \
			p->field = (__typeof__(p->field))v; \
			return 1;                           \
		}                                           \
	} while (0)

static int set_droptail(struct qw_droptail_params *p, const char *name,
			qw_u64 v)
{
	(void)p;
	(void)name;
	(void)v;
	return 0;
}

static double probe_droptail(const struct qw_droptail *s, size_t i)
{
	(void)s;
	(void)i;
	return 0;
}

static int set_static(struct qw_static_params *p, const char *name, qw_u64 v)
{
	SET("threshold", threshold_bytes);
	return 0;
}

static double probe_static(const struct qw_static *s, size_t i)
{
	(void)i;
	return (double)s->threshold_bytes;
}

static int set_codel(struct qw_codel_params *p, const char *name, qw_u64 v)
{
	SET("target", target_ns);
	SET("interval", interval_ns);
	SET("ecn", ecn);
	SET("ce_threshold", ce_threshold_ns);
	SET("mtu", mtu_bytes);
	return 0;
}

static double probe_codel(const struct qw_codel *s, size_t i)
{
	return i == 0 ? s->count : s->dropping;
}

static int set_pie(struct qw_pie_params *p, const char *name, qw_u64 v)
{
	SET("target", target_ns);
	SET("tupdate", tupdate_ns);
	SET("alpha", alpha_q32);
	SET("beta", beta_q32);
	SET("max_burst", max_burst_ns);
	SET("ecn", ecn);
	SET("ecn_threshold", ecn_threshold_q32);
	SET("bytemode", bytemode);
	SET("estimator", rate_estimator);
	SET("mtu", mtu_bytes);
	return 0;
}

static double probe_pie(const struct qw_pie *s, size_t i)
{
	switch (i) {
	case 0:
		return (double)s->prob_q56 / (double)QW_PIE_ONE_Q56;
	case 1:
		return (double)s->qdelay_ns / 1e6;
	default:
		return (double)s->burst_ns / 1e6;
	}
}

static int set_titrate(struct qw_titrate_params *p, const char *name, qw_u64 v)
{
	SET("rules", rules);
	SET("strategy", strategy);
	SET("window", window_ns);
	SET("threshold", threshold_bytes);
	SET("initial_delay", initial_ns);
	SET("forget", forget);
	SET("mi_thresh", mi_thresh_bytes);
	SET("use_mi_thresh", mi_thresh);
	SET("min_threshold", min_bytes);
	SET("max_increase", max_increase);
	SET("eqlen", eqlen);
	SET("sample_interval", sample_ns);
	SET("samples", samples);
	SET("ecn", ecn);
	SET("mtu", mtu_bytes);
	v >>= 16; /* the others are real numbers, Q16 in the header */
	SET("c_inc", c_inc_q16);
	SET("c_dec", c_dec_q16);
	SET("c_thresh", c_thresh_q16);
	SET("tolerance", tolerance_q16);
	SET("kp", kp_q16);
	SET("ki", ki_q16);
	return 0;
}

static double probe_titrate(const struct qw_titrate *s, size_t i)
{
	switch (i) {
	case 0:
		return (double)s->threshold_bytes;
	case 1:
		return (double)s->mi_thresh_bytes;
	case 2:
		return s->sampled ? (double)s->sample_sum / s->sampled : 0;
	case 3:
		return (double)s->minq_bytes;
	case 4:
		return (double)s->zero_ns / 1e6;
	default:
		return s->intervals;
	}
}

/* ---- the same for every discipline ---- */

#define KIND(X) KIND_##X,
enum { QW_DISCIPLINES(KIND) KINDS };

struct head {
	qw_u64 kind;
};

#define INSTANCE(X)                       \
	struct instance_##X {             \
		struct head head;         \
		struct qw_##X##_params p; \
		struct qw_##X s;          \
	};
QW_DISCIPLINES(INSTANCE)

#define AS(X, h) ((struct instance_##X *)(void *)(h))

/* Which discipline bears this name? -1: none. */
int qw_shim_find(const char *name)
{
#define FIND(X)                \
	if (!strcmp(name, #X)) \
		return KIND_##X;
	QW_DISCIPLINES(FIND)
	return -1;
}

/* Bytes an instance takes; its memory must be aligned to 8. */
size_t qw_shim_size(int kind)
{
	switch (kind) {
#define SIZE(X)        \
	case KIND_##X: \
		return sizeof(struct instance_##X);
		QW_DISCIPLINES(SIZE)
	}
	return 0;
}

/* Lay out an instance in zeroed memory; parameters first, then init. */
void qw_shim_create(struct head *h, int kind)
{
	h->kind = (qw_u64)kind;
}

int qw_shim_set(struct head *h, const char *name, qw_u64 v)
{
	switch (h->kind) {
#define SET_IT(X)      \
	case KIND_##X: \
		return set_##X(&AS(X, h)->p, name, v);
		QW_DISCIPLINES(SET_IT)
	}
	return 0;
}

void qw_shim_init(struct head *h, qw_u64 now)
{
	switch (h->kind) {
#define INIT(X)                                                 \
	case KIND_##X:                                          \
		qw_##X##_init(&AS(X, h)->s, &AS(X, h)->p, now); \
		break;
		QW_DISCIPLINES(INIT)
	}
}

struct qw_verdict qw_shim_enqueue(struct head *h, qw_u64 now,
				  const struct qw_queue *q,
				  const struct qw_packet *k, qw_u32 random)
{
	switch (h->kind) {
#define ENQUEUE(X)                                                             \
	case KIND_##X:                                                         \
		return qw_##X##_enqueue(&AS(X, h)->s, &AS(X, h)->p, now, q, k, \
					random);
		QW_DISCIPLINES(ENQUEUE)
	}
	return qw_pass();
}

struct qw_verdict qw_shim_dequeue(struct head *h, qw_u64 now,
				  const struct qw_queue *q,
				  const struct qw_packet *k)
{
	switch (h->kind) {
#define DEQUEUE(X)     \
	case KIND_##X: \
		return qw_##X##_dequeue(&AS(X, h)->s, &AS(X, h)->p, now, q, k);
		QW_DISCIPLINES(DEQUEUE)
	}
	return qw_pass();
}

void qw_shim_idle(struct head *h, qw_u64 now)
{
	switch (h->kind) {
#define IDLE(X)                                                 \
	case KIND_##X:                                          \
		qw_##X##_idle(&AS(X, h)->s, &AS(X, h)->p, now); \
		break;
		QW_DISCIPLINES(IDLE)
	}
}

double qw_shim_probe(const struct head *h, size_t i)
{
	switch (h->kind) {
#define PROBE(X)                                                            \
	case KIND_##X:                                                      \
		return probe_##X(                                           \
			&((const struct instance_##X *)(const void *)h)->s, \
			i);
		QW_DISCIPLINES(PROBE)
	}
	return 0;
}
