/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * PI2 (De Schepper, Bondarenko, Tsang, Briscoe: "PI2: a linearized AQM for both
 * classic and scalable TCP", CoNEXT 2016). It has one queue, one PI controller
 * for a base probability p, and two ways to apply it to arriving packets.
 * Classic senders, whose window follows 1 / sqrt(p), get p squared. Scalable
 * ones (ECT(1), RFC 9331), whose window follows 1 / p, get k p. That gives both
 * about the same rate.
 *
 * The squared probability is rolled once with p p, not twice with p: the same
 * chance from one number. As in RFC 9332 (appendix A.1), above k p = 1 marks
 * can tell no more, and all packets are dropped with p squared.
 */
#ifndef QW_PI2_H
#define QW_PI2_H

#include "pi.h"

#ifdef __cplusplus
extern "C" {
#endif

struct qw_pi2_params {
	struct qw_pi_params pi;
	qw_u64 coupling_q16; /* k: scalable probability by base, 2; up to 16 */
	qw_u32 mtu_bytes; /* nothing happens with less than two waiting, 1514 */
	qw_u32 ecn; /* mark where the sender allows; off: everybody is classic */
};

struct qw_pi2 {
	struct qw_pi pi;
};

static inline void qw_pi2_init(struct qw_pi2 *s, const struct qw_pi2_params *p,
			       qw_u64 now)
{
	qw_pi_init(&s->pi, &p->pi, now);
}

QW_SHARED struct qw_verdict qw_pi2_enqueue(struct qw_pi2 *s,
					   const struct qw_pi2_params *p,
					   qw_u64 now, const struct qw_queue *q,
					   const struct qw_packet *k,
					   qw_u32 random)
{
	qw_u64 base, classic, scalable;
	struct qw_verdict v = { QW_MARK, QW_REASON_EARLY };
	int overload;

	qw_pi_catch_up(&s->pi, &p->pi, now, q->packets != 0, q->head_ns,
		       QW_PI_ONE_Q52);
	if (qw_over_limit(q, k))
		return qw_drop(QW_REASON_LIMIT);
	if (q->bytes < 2 * (qw_u64)p->mtu_bytes)
		return qw_pass();

	base = qw_pi_prob_q32(&s->pi);
	classic = (base * base) >> 32;
	scalable = (base * p->coupling_q16) >> 16;
	overload = scalable > 0xffffffffu;
	/* Without ECN an ECT(1) packet can only be told what others are. Low
	 * bit of the field: ECT(1), or CE, which may have been it (RFC 9331
	 * section 5.1). */
	if (!p->ecn || !(k->ecn & 1)) {
		if (random >= classic)
			return qw_pass();
		return qw_mark_or_drop(k, p->ecn && !overload, QW_REASON_EARLY);
	}
	if (overload && random < classic)
		return qw_drop(QW_REASON_EARLY);
	return random < scalable ? v : qw_pass();
}

QW_SHARED struct qw_verdict qw_pi2_dequeue(struct qw_pi2 *s,
					   const struct qw_pi2_params *p,
					   qw_u64 now, const struct qw_queue *q,
					   const struct qw_packet *k)
{
	(void)q;
	/* Until now this packet was the oldest. */
	qw_pi_catch_up(&s->pi, &p->pi, now, 1, k->enqueue_ns, QW_PI_ONE_Q52);
	return qw_pass();
}

static inline void qw_pi2_idle(struct qw_pi2 *s, const struct qw_pi2_params *p,
			       qw_u64 now)
{
	qw_pi_catch_up(&s->pi, &p->pi, now, 0, 0, QW_PI_ONE_Q52);
}

/* Parameters and variables as qw.h says. */
#define QW_PI2_PARAMS(P)                                \
	QW_PI_PARAMS(P)                                 \
	P("coupling", coupling_q16, 16, 0, 16ULL << 16) \
	P("ecn", ecn, 0, 0, 1)                          \
	P("mtu", mtu_bytes, 0, 0, 65535)
#define QW_PI2_PROBES(V)                                                  \
	V(s->pi.prob_q52, QW_PI_ONE_Q52)                                  \
	V((s->pi.prob_q52 >> 26) * (s->pi.prob_q52 >> 26), QW_PI_ONE_Q52) \
	V(s->pi.qdelay_ns, QW_NS_PER_MS)

#ifdef __cplusplus
}
#endif

#endif /* QW_PI2_H */
