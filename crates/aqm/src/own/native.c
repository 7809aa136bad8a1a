
struct qw_own_instance {
	struct qw_own_head head;
	struct qw_@x@_params p;
	struct qw_@x@ s;
};

# @end@ "@file@"
_Static_assert(_Alignof(struct qw_own_instance) <= 8, "its structures are to be aligned to 8 bytes at most");

# 1 "own.c"
#define QW_OWN_P(h) (&((struct qw_own_instance *)(void *)(h))->p)
#define QW_OWN_S(h) (&((struct qw_own_instance *)(void *)(h))->s)

static const struct qw_own_range qw_own_ranges[] = {
#define QW_OWN_RANGE(name, field, shift, least, most) { name, shift, least, most },
	QW_@X@_PARAMS(QW_OWN_RANGE) { 0, 0, 0, 0 }
};

static const struct qw_own_help qw_own_helps[] = {
#define QW_OWN_LINE(name, kind, start, about) { name, about, (double)(start), kind },
	QW_@X@_HELP(QW_OWN_LINE) { 0, 0, 0, 0 }
};

static const struct qw_own_shown qw_own_names[] = {
#ifdef QW_@X@_PROBE_NAMES
#define QW_OWN_NAME(name, unit) { name, unit },
	QW_@X@_PROBE_NAMES(QW_OWN_NAME) { 0, 0 }
#else
#define QW_OWN_NAME(value, unit) { #value, "" },
	QW_@X@_PROBES(QW_OWN_NAME) { 0, 0 }
#endif
};

static int qw_own_same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

static int qw_own_within(qw_u64 v, qw_u64 least, qw_u64 most)
{
	return v >= least && v <= most;
}

/* As qw_shim_set(). */
static int qw_own_set(struct qw_own_head *h, const char *name, qw_u64 v)
{
	struct qw_@x@_params *p = QW_OWN_P(h);

	(void)p;
	(void)v;
	(void)name;
	(void)qw_own_same;
	(void)qw_own_within;
#define QW_OWN_SET(key, field, shift, least, most)  \
	if (qw_own_same(name, key)) {               \
		v >>= (shift);                      \
		if (!qw_own_within(v, least, most)) \
			return -1;                  \
		p->field = (__typeof__(p->field))v; \
		return 1;                           \
	}
	QW_@X@_PARAMS(QW_OWN_SET)
	return 0;
}

static void qw_own_init(struct qw_own_head *h, qw_u64 now)
{
	qw_@x@_init(QW_OWN_S(h), QW_OWN_P(h), now);
}

/* Rust knows no other verdicts. */
static inline struct qw_verdict qw_own_sane(struct qw_verdict v)
{
	if (v.action > QW_DROP)
		v.action = QW_DROP;
	if (v.reason >= QW_REASONS)
		v.reason = QW_REASON_NONE;
	return v;
}

static __attribute__((flatten)) struct qw_verdict
qw_own_enqueue(struct qw_own_head *h, qw_u64 now, const struct qw_queue *q,
	       const struct qw_packet *k, qw_u32 random)
{
	return qw_own_sane(qw_@x@_enqueue(QW_OWN_S(h), QW_OWN_P(h), now, q, k, random));
}

static __attribute__((flatten)) struct qw_verdict
qw_own_dequeue(struct qw_own_head *h, qw_u64 now, const struct qw_queue *q,
	       const struct qw_packet *k)
{
	return qw_own_sane(qw_@x@_dequeue(QW_OWN_S(h), QW_OWN_P(h), now, q, k));
}

static void qw_own_idle(struct qw_own_head *h, qw_u64 now)
{
	qw_@x@_idle(QW_OWN_S(h), QW_OWN_P(h), now);
}

static double qw_own_probe(const struct qw_own_head *h, qw_u64 i)
{
	const struct qw_@x@_params *p = QW_OWN_P(h);
	const struct qw_@x@ *s = QW_OWN_S(h);

	(void)p;
	(void)s;
	(void)i;
#define QW_OWN_PROBE(value, unit) \
	if (!i--)                 \
		return (double)(value) / (double)(unit);
	QW_@X@_PROBES(QW_OWN_PROBE)
	return 0;
}

extern __attribute__((visibility("default"))) const struct qw_own qw_own;
const struct qw_own qw_own = {
	sizeof(struct qw_own_instance),
	__builtin_offsetof(struct qw_own_instance, p),
	sizeof(struct qw_@x@_params),
	__builtin_offsetof(struct qw_own_instance, s),
	sizeof(struct qw_@x@),
#ifdef QW_@X@_ABOUT
	QW_@X@_ABOUT,
#else
	0,
#endif
	qw_own_ranges,
	qw_own_helps,
	qw_own_names,
	qw_own_set,
	qw_own_init,
	qw_own_enqueue,
	qw_own_dequeue,
	qw_own_idle,
	qw_own_probe,
};
