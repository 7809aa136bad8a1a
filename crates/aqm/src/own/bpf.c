
/* The file as the kernel's hosts (crates/linux/bpf) know a discipline: by the
 * name own_bpf, with the values of its variables before its state, as nobody
 * runs its expressions elsewhere. */
#define qw_own_bpf_params qw_@x@_params

struct qw_own_bpf_value {
	qw_u64 value, unit, negative;
};

#define QW_OWN_VARIABLES (0 QW_@X@_PROBES(QW_OWN_ONE_PROBE))

struct qw_own_bpf {
	struct qw_own_bpf_value shown[QW_OWN_VARIABLES];
	struct qw_@x@ s;
};

/* However small it is: its init() may count on it. */
#define QW_ZEROED 1

static inline __attribute__((always_inline)) void
qw_own_bpf_show(struct qw_own_bpf *o, const struct qw_@x@_params *p)
{
	const struct qw_@x@ *s = &o->s;
	struct qw_own_bpf_value *next = o->shown;

	(void)p;
	(void)s;
	(void)next;
#define QW_OWN_SHOW(what, by)               \
	next->value = (qw_u64)(what);       \
	next->unit = (qw_u64)(by);          \
	next->negative = (what) < 0;        \
	next++;
	QW_@X@_PROBES(QW_OWN_SHOW)
}

static inline __attribute__((always_inline)) void
qw_own_bpf_init(struct qw_own_bpf *o, const struct qw_@x@_params *p, qw_u64 now)
{
	qw_@x@_init(&o->s, p, now);
	qw_own_bpf_show(o, p);
}

static inline __attribute__((always_inline)) struct qw_verdict
qw_own_bpf_enqueue(struct qw_own_bpf *o, const struct qw_@x@_params *p,
		   qw_u64 now, const struct qw_queue *q,
		   const struct qw_packet *k, qw_u32 random)
{
	struct qw_verdict v = qw_@x@_enqueue(&o->s, p, now, q, k, random);

	/* As the simulator does. */
	if (v.action != QW_DROP && qw_over_limit(q, k))
		v = qw_drop(QW_REASON_LIMIT);
	qw_own_bpf_show(o, p);
	return v;
}

static inline __attribute__((always_inline)) struct qw_verdict
qw_own_bpf_dequeue(struct qw_own_bpf *o, const struct qw_@x@_params *p,
		   qw_u64 now, const struct qw_queue *q,
		   const struct qw_packet *k)
{
	struct qw_verdict v = qw_@x@_dequeue(&o->s, p, now, q, k);

	qw_own_bpf_show(o, p);
	return v;
}

static inline __attribute__((always_inline)) void
qw_own_bpf_idle(struct qw_own_bpf *o, const struct qw_@x@_params *p, qw_u64 now)
{
	qw_@x@_idle(&o->s, p, now);
	qw_own_bpf_show(o, p);
}

/* What is declared, in the object itself: whoever attaches it runs no code of
 * the file outside of the kernel. */
const struct {
	struct qw_own_bpf_head head;
	struct qw_own_bpf_range ranges[0 QW_@X@_PARAMS(QW_OWN_ONE_PARAM)];
	struct qw_own_bpf_help helps[0 QW_@X@_HELP(QW_OWN_ONE_HELP)];
	struct qw_own_bpf_shown shown[QW_OWN_VARIABLES];
} qw_own_declared __attribute__((section(".rodata.own"), used)) = {
	{
		sizeof(struct qw_@x@_params),
		0 QW_@X@_PARAMS(QW_OWN_ONE_PARAM),
		QW_OWN_VARIABLES,
		"@name@",
		"@sha256@",
		"@host@",
#ifdef QW_@X@_ABOUT
		QW_@X@_ABOUT,
#endif
	},
	{
#define QW_OWN_RANGE(name, field, shift, least, most)                     \
	{ name, shift, least, most,                                       \
	  __builtin_offsetof(struct qw_@x@_params, field),                \
	  sizeof(((struct qw_@x@_params *)0)->field) },
		QW_@X@_PARAMS(QW_OWN_RANGE) },
	{
#define QW_OWN_LINE(name, kind, start, about) \
	{ name, about, (double)(start), kind },
		QW_@X@_HELP(QW_OWN_LINE) },
	{
#ifdef QW_@X@_PROBE_NAMES
#define QW_OWN_NAME(name, unit) { name, unit },
		QW_@X@_PROBE_NAMES(QW_OWN_NAME)
#else
#define QW_OWN_NAME(value, unit) { #value, "" },
		QW_@X@_PROBES(QW_OWN_NAME)
#endif
	},
};
