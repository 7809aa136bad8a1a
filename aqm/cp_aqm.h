/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CP-AQM, "active queue management based on congestion policing" (Menth,
 * Veith, MMB 2018): a token bucket for congestion instead of traffic. With x
 * bytes waiting, a packet of B bytes causes B c(x) bytes of congestion,
 *
 *   c(x) = 0                                         x < Tc
 *   c(x) = 1 + (x - Tc) / (Qmax - Tc) (cmax - 1)     x >= Tc        (eq. 1)
 *
 * and takes as many tokens out of a bucket that holds B_CA and is refilled at
 * R_CA. If they are not there, the packet is dropped and takes none, as does
 * one that the buffer has no room for. With R_CA = C, the rate of the link,
 * what fills the queue to Tc may go on for ever. What fills it further may go
 * on only until the bucket is empty. An episode of overload passes, a standing
 * queue does not. For cmax = 1 the tokens that are missing are at most the
 * packets above Tc, the bucket cannot run empty, and this is tail drop.
 *
 * The paper needs to know C. This project's variant, `rate` = 0, does not. As
 * long as the link is busy, C dt is just what has left the queue. So each
 * departure puts its own bytes into the bucket, whatever the link's rate is at
 * the time. While the link idles the bucket is filled at the rate that the link
 * had when it was busy, of which `window` is remembered. No estimate is needed
 * where it would matter, above Tc, and cmax = 1 is tail drop as before. The
 * last packet of a busy period is not measured: hosts say that their queue is
 * empty before the link is done with it, or when the next one comes.
 *
 * Qmax is the buffer, in bytes or, by full packets, in packets, whichever is
 * smaller. Of a shared buffer it is the even part. A host without a limit has
 * one of QW_CP_AQM_PACKETS here. Where that is more than the link sends in
 * `burst`, Qmax follows the link's rate, and the bucket with it: it keeps its
 * tokens, as many as it then holds. A packet that costs more than all of it
 * passes when it is full, and leaves it as much in debt. Bytes are as the link
 * counts them, in the queue too: the paper's 1507/1500 in the size of the
 * bucket is the overhead that its queue did not count. `random` is not used.
 */
#ifndef QW_CP_AQM_H
#define QW_CP_AQM_H

#include "qw.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Qmax where there is no limit: Linux's default length of a queue. */
#define QW_CP_AQM_PACKETS 1000u
/* Qmax and bucket are cut to this (4 GiB): in nanobytes it fits in 62 bits. */
#define QW_CP_AQM_MAX_BYTES (1ULL << 32)
#define QW_CP_AQM_ONE_Q32 (1ULL << 32)
/* No link is faster, 17 Tbit/s; what a ring takes at once seems so. */
#define QW_CP_AQM_MAX_RATE ((1ULL << 41) - 1)
/* The longest `burst` and `window`. */
#define QW_CP_AQM_MAX_NS (1ULL << 33)
/* A packet on the link counts as no longer than this, 69 s: 64 KiB at 8 kbit/s. */
#define QW_CP_AQM_MAX_BUSY_NS (1ULL << 36)
/* So many bytes of what the link has sent are not forgotten in pauses. */
#define QW_CP_AQM_FEW (1u << 12)
/* Qmax in packets, the paper's, while nothing is known of the link. */
#define QW_CP_AQM_FIRST 30u

struct qw_cp_aqm_params {
	qw_u64 rate; /* R_CA, bytes/s; 0, the default: as the link sends */
	qw_u64 threshold_bytes; /* Tc, 5 packets */
	qw_u64 bucket_bytes; /* B_CA; 0, the default: 1.5 Qmax */
	qw_u64 cmax_q32; /* congestion of a full queue, 1.2; 1 .. 16 */
	qw_u64 burst_ns; /* Qmax is at most this long, 100 ms; 0: no such bound */
	qw_u64 window_ns; /* memory of the link's rate, 100 ms */
	qw_u32 mtu_bytes; /* a full packet, 1514 */
};

/* Parameters by their names in the registry: P(name, field, shift, least,
 * most), in the field's own unit and scale. */
#define QW_CP_AQM_PARAMS(P)                                               \
	P("rate", rate, 0, 0, 125000000000ULL)                            \
	P("threshold", threshold_bytes, 0, 0, QW_CP_AQM_MAX_BYTES)        \
	P("cmax", cmax_q32, 0, QW_CP_AQM_ONE_Q32, 16 * QW_CP_AQM_ONE_Q32) \
	P("bucket", bucket_bytes, 0, 0, QW_CP_AQM_MAX_BYTES)              \
	P("burst", burst_ns, 0, 0, QW_CP_AQM_MAX_NS)                      \
	P("window", window_ns, 0, QW_NS_PER_MS, QW_CP_AQM_MAX_NS)         \
	P("mtu", mtu_bytes, 0, 64, 65536)

/* Variables for display: V(whole number, divide by). */
#define QW_CP_AQM_PROBES(V)                  \
	V(s->missing_nb, QW_NS_PER_SEC)      \
	V(s->congestion_nano, QW_NS_PER_SEC) \
	V(qw_cp_aqm_rate(s) * 8, 1)          \
	V(s->qmax_bytes, 1)

struct qw_cp_aqm {
	/* The tokens that the bucket lacks of being full, 1e-9 bytes: rate
	 * times ns, without rounding. More than it holds: a debt. */
	qw_u64 missing_nb;
	qw_u64 bucket_nb; /* B_CA */
	qw_u64 qmax_bytes; /* Qmax */
	qw_u64 limit_bytes; /* the buffer, as last seen */
	qw_u64 congestion_nano; /* c(x) at the last arrival, 1e-9 */
	qw_u64 then_ns; /* refilled up to here */
	/* The link's rate: bytes sent over time, both without pauses. */
	qw_u64 busy_bytes, busy_ns;
	qw_u64 sent_bytes, sent_ns; /* what has left since when, pauses too */
	qw_u64 begun_ns; /* the packet on the link: since when */
	qw_u32 begun_bytes; /* its length; 0: the link idles */
	qw_u32 limit_packets; /* the buffer, as last seen */
	qw_u64 size_ns; /* Qmax is next looked at; 0: the link is not known */
};

static inline qw_u64 qw_cp_aqm_cut(qw_u64 bytes)
{
	return bytes < QW_CP_AQM_MAX_BYTES ? bytes : QW_CP_AQM_MAX_BYTES;
}

/* Bytes a second that the link sends when it does, at most QW_CP_AQM_MAX_RATE;
 * 0: not known. */
static inline qw_u64 qw_cp_aqm_rate(const struct qw_cp_aqm *s)
{
	qw_u64 rate;

	if (!s->busy_ns)
		return 0;
	/* busy_bytes is kept below 2^33. */
	rate = qw_div(s->busy_bytes * QW_NS_PER_SEC, s->busy_ns);
	return rate < QW_CP_AQM_MAX_RATE ? rate : QW_CP_AQM_MAX_RATE;
}

/* The rate that Qmax follows; 0: not known yet. */
static inline qw_u64 qw_cp_aqm_link(const struct qw_cp_aqm *s,
				    const struct qw_cp_aqm_params *p)
{
	return p->rate ? p->rate : qw_cp_aqm_rate(s);
}

/* Qmax and B_CA of this buffer. The tokens that there are stay: a bucket that
 * grows is so much less full. But as long as the link is not known it is full
 * but for what packets took, whatever it will hold. */
static inline void qw_cp_aqm_size(struct qw_cp_aqm *s,
				  const struct qw_cp_aqm_params *p, qw_u64 now,
				  const struct qw_queue *q)
{
	qw_u64 bytes = qw_tighter(q->limit_bytes, qw_pool_part(q));
	qw_u64 packets = q->limit_packets, bucket, least;
	qw_u64 rate = qw_cp_aqm_link(s, p), most;
	qw_u64 before = s->bucket_nb;

	if (!packets && !bytes)
		packets = QW_CP_AQM_PACKETS;
	bytes = qw_tighter(bytes, packets * p->mtu_bytes);
	/* cmax = 1 is tail drop of the whole buffer. */
	if (p->burst_ns && p->cmax_q32 > QW_CP_AQM_ONE_Q32) {
		/* 2^23 units of 2^10 ns, times a rate below 2^41. */
		most = rate ? qw_div((p->burst_ns >> 10) * rate,
				     QW_NS_PER_SEC >> 10) :
			      QW_CP_AQM_FIRST * p->mtu_bytes;
		/* Room for a queue between Tc and Qmax. */
		if (most < 2 * p->threshold_bytes)
			most = 2 * p->threshold_bytes;
		if (most < 2 * p->mtu_bytes)
			most = 2 * p->mtu_bytes;
		if (most < bytes)
			bytes = most;
	}
	s->qmax_bytes = qw_cp_aqm_cut(bytes);
	s->limit_bytes = q->limit_bytes;
	s->limit_packets = q->limit_packets;

	/* Section 3.3: (Qmax - Tc) (1 + cmax)/2, that a burst may fill the queue,
	 * and no less than that with the paper's Tc = 0 and cmax = 2. A packet
	 * more for Tc = 0. */
	bucket = p->bucket_bytes;
	if (!bucket) {
		bucket = s->qmax_bytes + s->qmax_bytes / 2;
		least = s->qmax_bytes > p->threshold_bytes ?
				s->qmax_bytes - p->threshold_bytes :
				0;
		/* 2^32, times 17 in Q24, halved */
		least = (least * ((QW_CP_AQM_ONE_Q32 + p->cmax_q32) >> 8)) >>
			25;
		if (bucket < least)
			bucket = least;
		if (!p->threshold_bytes)
			bucket += p->mtu_bytes;
	}
	s->bucket_nb = qw_cp_aqm_cut(bucket) * QW_NS_PER_SEC;
	if (!s->size_ns)
		before = s->bucket_nb;
	s->missing_nb += s->bucket_nb;
	s->missing_nb -= before < s->missing_nb ? before : s->missing_nb;
	s->size_ns = rate ? now + p->window_ns / 8 : 0;
}

static inline void qw_cp_aqm_init(struct qw_cp_aqm *s,
				  const struct qw_cp_aqm_params *p, qw_u64 now)
{
	s->missing_nb = 0; /* the bucket starts full */
	s->bucket_nb = 0;
	s->qmax_bytes = 0; /* known at the first arrival */
	s->size_ns = 0;
	s->limit_bytes = 0;
	s->limit_packets = 0;
	s->congestion_nano = 0;
	s->then_ns = now;
	s->busy_bytes = 0;
	s->busy_ns = 0;
	s->sent_bytes = 0;
	s->sent_ns = now;
	s->begun_ns = now;
	s->begun_bytes = 0;
	(void)p;
}

static inline void qw_cp_aqm_add(struct qw_cp_aqm *s, qw_u64 tokens_nb)
{
	s->missing_nb -= tokens_nb < s->missing_nb ? tokens_nb : s->missing_nb;
}

/* Tokens of a rate for the time since the last call. */
static inline void qw_cp_aqm_refill(struct qw_cp_aqm *s, qw_u64 now,
				    qw_u64 rate)
{
	qw_u64 ns;

	/* The last packet is still on the link. */
	if (now <= s->then_ns)
		return;
	ns = now - s->then_ns;
	s->then_ns = now;
	if (!s->missing_nb || !rate)
		return;
	/* Longer than a full bucket takes: the product need not fit. */
	if (ns > qw_div(s->missing_nb, rate))
		s->missing_nb = 0;
	else
		qw_cp_aqm_add(s, ns * rate);
}

/* The link is done with the packet that it began last. */
static inline void qw_cp_aqm_served(struct qw_cp_aqm *s,
				    const struct qw_cp_aqm_params *p,
				    qw_u64 now)
{
	qw_u64 ns = now > s->begun_ns ? now - s->begun_ns : 0;

	if (!s->begun_bytes)
		return;
	/* Half of what is older than the window is forgotten at a time; a
	 * pause of seconds on a link counts as so much and no more. */
	if (ns > QW_CP_AQM_MAX_BUSY_NS)
		ns = QW_CP_AQM_MAX_BUSY_NS;
	s->busy_ns += ns;
	s->busy_bytes += s->begun_bytes;
	if (s->busy_ns > 2 * p->window_ns ||
	    s->busy_bytes > QW_CP_AQM_MAX_BYTES) {
		s->busy_ns /= 2;
		s->busy_bytes /= 2;
	}
	s->begun_bytes = 0;
}

/* No link is slower than what has left it in a window. Packets that come one by
 * one show no more of it than that. */
static inline void qw_cp_aqm_sent(struct qw_cp_aqm *s,
				  const struct qw_cp_aqm_params *p, qw_u64 now,
				  qw_u32 bytes)
{
	qw_u64 ns = now > s->sent_ns ? now - s->sent_ns : 0;

	if (ns >= p->window_ns ||
	    (ns && s->sent_bytes > QW_CP_AQM_MAX_BYTES / 2)) {
		/* Not of a time with a long pause, which shows less, unless nothing is
		 * known: packets that left at one time show no rate. */
		if (s->busy_bytes && (!s->busy_ns || ns <= 2 * p->window_ns) &&
		    s->sent_bytes <= QW_CP_AQM_MAX_BYTES &&
		    qw_div(s->sent_bytes * QW_NS_PER_SEC, ns) >
			    qw_cp_aqm_rate(s)) {
			s->busy_bytes = s->sent_bytes;
			s->busy_ns = ns;
		}
		/* Time goes by in pauses, too: what a device's ring took at once, hour
		 * after hour, is not to weigh more than what it sends for long. But a few
		 * packets are remembered, or halving would leave no rate. */
		if (s->busy_bytes > QW_CP_AQM_FEW &&
		    s->busy_ns < p->window_ns / 2) {
			s->busy_bytes /= 2;
			s->busy_ns /= 2;
		}
		s->sent_bytes = 0;
		s->sent_ns = now;
	}
	s->sent_bytes += bytes;
}

/* c(x), in 1e-9; the division is to 2^-24 of the way from Tc to Qmax. */
static inline qw_u64 qw_cp_aqm_congestion(const struct qw_cp_aqm *s,
					  const struct qw_cp_aqm_params *p,
					  qw_u64 x)
{
	qw_u64 above, room, part_q24, slope_nano;

	if (x < p->threshold_bytes)
		return 0;
	above = x - p->threshold_bytes;
	/* Where Qmax, an even part, say, is not above Tc: within a packet. */
	room = p->mtu_bytes;
	if (s->qmax_bytes > p->threshold_bytes + room)
		room = s->qmax_bytes - p->threshold_bytes;
	/* Beyond Qmax, where that is not the buffer's end, it goes on rising. */
	if (above > 16 * room)
		above = 16 * room;
	part_q24 = qw_div(above << 24, room);
	/* cmax - 1 in 1e-9: below 2^34 */
	slope_nano = ((p->cmax_q32 - QW_CP_AQM_ONE_Q32) >> 2) *
			     (QW_NS_PER_SEC >> 2) >>
		     28;
	return QW_NS_PER_SEC + ((part_q24 * slope_nano) >> 24);
}

static inline struct qw_verdict
qw_cp_aqm_enqueue(struct qw_cp_aqm *s, const struct qw_cp_aqm_params *p,
		  qw_u64 now, const struct qw_queue *q,
		  const struct qw_packet *k, qw_u32 random)
{
	qw_u64 cost_nb;

	(void)random;
	if (now >= s->size_ns || q->limit_bytes != s->limit_bytes ||
	    q->limit_packets != s->limit_packets)
		qw_cp_aqm_size(s, p, now, q);
	if (p->rate)
		qw_cp_aqm_refill(s, now, p->rate);
	else if (!s->begun_bytes) {
		/* What left at one time tells the rate a window later, also if
		 * nothing can leave before this packet is let in. */
		if (!s->busy_ns && s->busy_bytes && !q->packets)
			qw_cp_aqm_sent(s, p, now, 0);
		qw_cp_aqm_refill(s, now, qw_cp_aqm_rate(s));
	}
	s->congestion_nano = qw_cp_aqm_congestion(s, p, q->bytes);
	if (qw_over_limit(q, k))
		return qw_drop(QW_REASON_LIMIT);
	/* Below 2^16 2^38 */
	cost_nb = k->bytes * s->congestion_nano;
	if (cost_nb && s->missing_nb &&
	    cost_nb + s->missing_nb > s->bucket_nb) {
		/* Section 4.3: cmax = 1 drops nothing that the buffer takes. */
		if (p->cmax_q32 == QW_CP_AQM_ONE_Q32)
			return qw_pass();
		return qw_drop(QW_REASON_THRESHOLD);
	}
	s->missing_nb += cost_nb;
	return qw_pass();
}

static inline struct qw_verdict
qw_cp_aqm_dequeue(struct qw_cp_aqm *s, const struct qw_cp_aqm_params *p,
		  qw_u64 now, const struct qw_queue *q,
		  const struct qw_packet *k)
{
	(void)q;
	if (!p->rate) {
		if (!s->begun_bytes)
			qw_cp_aqm_refill(s, now, qw_cp_aqm_rate(s));
		qw_cp_aqm_served(s, p, now);
		qw_cp_aqm_sent(s, p, now, k->bytes);
		qw_cp_aqm_add(s, k->bytes * QW_NS_PER_SEC);
		s->then_ns = now;
	}
	s->begun_ns = now;
	s->begun_bytes = k->bytes;
	return qw_pass();
}

static inline void qw_cp_aqm_idle(struct qw_cp_aqm *s,
				  const struct qw_cp_aqm_params *p, qw_u64 now)
{
	qw_u64 rate = qw_cp_aqm_rate(s), done = s->begun_ns;

	if (p->rate)
		return;
	if (!s->begun_bytes) {
		qw_cp_aqm_refill(s, now, rate);
		return;
	}
	/* Its own bytes stand for the time of the last packet. When the link was
	 * done with it the host may not know: by its rate, but not before that. */
	if (rate)
		done += qw_div(s->begun_bytes * QW_NS_PER_SEC, rate);
	s->begun_bytes = 0;
	s->then_ns = done;
	if (rate)
		qw_cp_aqm_refill(s, now, rate);
	else if (now > done)
		s->then_ns = now;
}

#ifdef __cplusplus
}
#endif

#endif /* QW_CP_AQM_H */
