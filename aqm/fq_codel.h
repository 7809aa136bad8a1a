/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * FQ-CoDel (RFC 8290): flows hashed to queues, a deficit round robin over
 * these that serves new ones first, and CoDel in each.
 *
 * As in Linux: CoDel marks by default; what does not fit costs the queue with
 * the most bytes half of them, at most `drop_batch` packets, from its head; and
 * CoDel's count of that queue is raised by as many. Linux also bounds the
 * memory that packets take with their overhead, here `memory_limit` bounds
 * their bytes. `random` is not used.
 */
#ifndef QW_FQ_CODEL_H
#define QW_FQ_CODEL_H

#include "codel.h"
#include "qw.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Queues there is room for, a power of two; Linux allows so many. */
#ifndef QW_FQ_CODEL_QUEUES
#define QW_FQ_CODEL_QUEUES 65536u
#endif

struct qw_fq_codel_params {
	struct qw_codel_params codel; /* of each queue; ecn on */
	qw_u64 memory_limit_bytes; /* 32 MB */
	qw_u32 limit_packets; /* in all queues, 10240 */
	qw_u32 flows; /* queues in use, 1024; up to QW_FQ_CODEL_QUEUES */
	qw_u32 quantum_bytes; /* a queue's share of a round, 1514; > 0 */
	qw_u32 drop_batch; /* most packets that one overflow costs, 64; > 0 */
};

/* Which list a queue is in. */
#define QW_FQ_CODEL_UNLISTED 0u
#define QW_FQ_CODEL_NEW 1u
#define QW_FQ_CODEL_OLD 2u

/* All zero is an empty queue that is in no list. */
struct qw_fq_codel_queue {
	struct qw_codel codel;
	qw_u64 bytes;
	qw_u32 packets;
	qw_u32 next; /* in its list: index + 1, 0: none */
	qw_s32 deficit; /* bytes it may still send in this round */
	qw_u32 list; /* QW_FQ_CODEL_* */
};

struct qw_fq_codel_list {
	qw_u32 head, tail; /* index + 1, 0: empty */
};

struct qw_fq_codel {
	struct qw_fq_codel_list fresh, old;
	qw_u64 evict_bytes; /* still to go in the overflow under way */
	qw_u32 evict_left; /* packets that it may still cost */
	qw_u32 evict_queue;
	qw_u32 active; /* queues with packets, for display */
	qw_u32 new_flows; /* times a queue was new, for display */
	struct qw_fq_codel_queue queue[QW_FQ_CODEL_QUEUES];
};

static inline void qw_fq_codel_init(struct qw_fq_codel *s,
				    const struct qw_fq_codel_params *p,
				    qw_u64 now)
{
	(void)p;
	(void)now;
	s->fresh.head = 0;
	s->fresh.tail = 0;
	s->old.head = 0;
	s->old.tail = 0;
	s->evict_bytes = 0;
	s->evict_left = 0;
	s->evict_queue = 0;
	s->active = 0;
	s->new_flows = 0;
	/* All zero, a queue is empty and its CoDel as qw_codel_init() leaves it. */
}

/* The mask tells the BPF verifier what an index cannot be. */
static inline struct qw_fq_codel_queue *qw_fq_codel_at(struct qw_fq_codel *s,
						       qw_u32 index)
{
	return &s->queue[index & (QW_FQ_CODEL_QUEUES - 1)];
}

static inline void qw_fq_codel_append(struct qw_fq_codel *s,
				      struct qw_fq_codel_list *l, qw_u32 index)
{
	qw_fq_codel_at(s, index)->next = 0;
	if (l->tail)
		qw_fq_codel_at(s, l->tail - 1)->next = index + 1;
	else
		l->head = index + 1;
	l->tail = index + 1;
}

static inline void qw_fq_codel_pop(struct qw_fq_codel *s,
				   struct qw_fq_codel_list *l)
{
	l->head = qw_fq_codel_at(s, l->head - 1)->next;
	if (!l->head)
		l->tail = 0;
}

static inline struct qw_verdict
qw_fq_codel_enqueue(struct qw_fq_codel *s, const struct qw_fq_codel_params *p,
		    qw_u64 now, const struct qw_queue *q,
		    const struct qw_packet *k, qw_u32 random, qw_u32 *queue)
{
	/* Linux's reciprocal_scale(): the hash's upper bits choose. */
	qw_u32 index = (qw_u32)(((qw_u64)k->flow * p->flows) >> 32);
	struct qw_fq_codel_queue *f = qw_fq_codel_at(s, index);

	(void)now;
	(void)q;
	(void)random;
	*queue = index;
	if (f->list == QW_FQ_CODEL_UNLISTED) {
		f->list = QW_FQ_CODEL_NEW;
		f->deficit = (qw_s32)p->quantum_bytes;
		s->new_flows++;
		qw_fq_codel_append(s, &s->fresh, index);
	}
	s->active += !f->packets;
	f->packets++;
	f->bytes += k->bytes;
	return qw_pass();
}

/* Has the buffer, or this discipline's part of it, more than it can hold? */
static inline int qw_fq_codel_is_over(const struct qw_fq_codel_params *p,
				      const struct qw_queue *q)
{
	return q->packets > p->limit_packets ||
	       q->bytes > p->memory_limit_bytes ||
	       (q->limit_packets && q->packets > q->limit_packets) ||
	       (q->limit_bytes && q->bytes > q->limit_bytes) ||
	       (q->pool.limit_bytes && q->pool.bytes > q->pool.limit_bytes);
}

/* RFC 8290 section 4.1: half of the fattest queue goes, at most a batch. Linux
 * does one batch a packet; a buffer that is over after it is served again. */
static inline qw_u32 qw_fq_codel_overflow(struct qw_fq_codel *s,
					  const struct qw_fq_codel_params *p,
					  qw_u64 now, const struct qw_queue *q)
{
	qw_u64 most = 0;
	qw_u32 i;

	(void)now;
	if (s->evict_left && s->evict_bytes &&
	    qw_fq_codel_at(s, s->evict_queue)->packets)
		return s->evict_queue;
	s->evict_left = 0;
	if (!qw_fq_codel_is_over(p, q))
		return QW_NONE;
	QW_FOR (i, p->flows) {
		qw_u64 bytes = qw_fq_codel_at(s, i)->bytes;

		if (bytes > most) {
			most = bytes;
			s->evict_queue = i;
		}
	}
	if (!most)
		return QW_NONE;
	s->evict_bytes = most / 2;
	s->evict_left = p->drop_batch;
	return s->evict_queue;
}

/* One packet less in a queue. */
static inline void qw_fq_codel_left(struct qw_fq_codel *s,
				    struct qw_fq_codel_queue *f,
				    const struct qw_packet *k)
{
	f->packets--;
	f->bytes -= k->bytes;
	s->active -= !f->packets;
}

static inline void qw_fq_codel_evicted(struct qw_fq_codel *s,
				       const struct qw_fq_codel_params *p,
				       qw_u64 now, const struct qw_queue *q,
				       const struct qw_packet *k, qw_u32 queue)
{
	struct qw_fq_codel_queue *f = qw_fq_codel_at(s, queue);

	(void)p;
	(void)now;
	(void)q;
	qw_fq_codel_left(s, f, k);
	/* Linux adds the whole batch to the count at once and leaves the square
	 * root behind, from where a Newton step may end anywhere. */
	f->codel.count++;
	if (f->codel.count == 1)
		f->codel.rec_inv_sqrt_q16 = 0xffff;
	else
		qw_codel_newton_step(&f->codel);
	s->evict_left--;
	s->evict_bytes -= k->bytes < s->evict_bytes ? k->bytes : s->evict_bytes;
}

/* RFC 8290 section 4.2: new queues first; one whose deficit is spent goes to
 * the end of the old ones; a new one found empty goes there too, so that it
 * cannot be new again at once, an old one found empty leaves. */
static inline qw_u32 qw_fq_codel_next(struct qw_fq_codel *s,
				      const struct qw_fq_codel_params *p,
				      qw_u64 now, const struct qw_queue *q)
{
	qw_u32 i;

	(void)q;
	/* Each turn gives a queue a quantum or takes an empty one off a list. */
	QW_FOR (i, 2 * QW_FQ_CODEL_QUEUES + 65536u) {
		struct qw_fq_codel_list *l = s->fresh.head ? &s->fresh :
							     &s->old;
		struct qw_fq_codel_queue *f;
		qw_u32 index = l->head - 1;

		if (!l->head)
			break;
		f = qw_fq_codel_at(s, index);
		if (f->deficit > 0 && f->packets)
			return index;
		qw_fq_codel_pop(s, l);
		if (f->deficit <= 0) {
			f->deficit += (qw_s32)p->quantum_bytes;
		} else {
			qw_codel_idle(&f->codel, &p->codel, now);
			if (l == &s->old || !s->old.head) {
				f->list = QW_FQ_CODEL_UNLISTED;
				continue;
			}
		}
		f->list = QW_FQ_CODEL_OLD;
		qw_fq_codel_append(s, &s->old, index);
	}
	return QW_NONE;
}

static inline struct qw_verdict
qw_fq_codel_dequeue(struct qw_fq_codel *s, const struct qw_fq_codel_params *p,
		    qw_u64 now, const struct qw_queue *q,
		    const struct qw_packet *k, qw_u32 queue)
{
	struct qw_fq_codel_queue *f = qw_fq_codel_at(s, queue);
	struct qw_verdict v;

	qw_fq_codel_left(s, f, k);
	/* As in Linux, "no more than an MTU waits" is asked of the whole
	 * buffer, not of the queue. */
	v = qw_codel_dequeue(&f->codel, &p->codel, now, q, k);
	if (v.action != QW_DROP)
		f->deficit -= (qw_s32)k->bytes;
	return v;
}

static inline void qw_fq_codel_idle(struct qw_fq_codel *s,
				    const struct qw_fq_codel_params *p,
				    qw_u64 now)
{
	(void)s;
	(void)p;
	(void)now;
	/* Empty queues leave their lists when their turn comes. */
}

/* Parameters and variables as qw.h says. */
#define QW_FQ_CODEL_PARAMS(P)                                              \
	P("target", codel.target_ns, 0, 0, 10 * QW_NS_PER_SEC)             \
	P("interval", codel.interval_ns, 0, 1, 60 * QW_NS_PER_SEC)         \
	P("ecn", codel.ecn, 0, 0, 1)                                       \
	P("ce_threshold", codel.ce_threshold_ns, 0, 0, 10 * QW_NS_PER_SEC) \
	P("mtu", codel.mtu_bytes, 0, 0, 65535)                             \
	P("limit", limit_packets, 0, 1, 1u << 30)                          \
	P("memory_limit", memory_limit_bytes, 0, 1500, 1ULL << 40)         \
	P("flows", flows, 0, 1, QW_FQ_CODEL_QUEUES)                        \
	P("quantum", quantum_bytes, 0, 256, 1u << 20)                      \
	P("drop_batch", drop_batch, 0, 1, 1u << 16)
#define QW_FQ_CODEL_PROBES(V) \
	V(s->active, 1)       \
	V(s->new_flows, 1)

#ifdef __cplusplus
}
#endif

#endif /* QW_FQ_CODEL_H */
