# @end@ "@file@"
#ifndef QW_@X@_PARAMS
#error QW_@X@_PARAMS(P) is missing: what may be set, P(name, field, shift, least, most), or nothing
#define QW_@X@_PARAMS(P)
#endif
# @end@ "@file@"
#ifndef QW_@X@_PROBES
#define QW_@X@_PROBES(V)
#endif
#ifdef QW_@X@_QUEUES
# @end@ "@file@"
#error QW_@X@_QUEUES makes it a scheduler, and a file of your own has one queue
#endif
#ifndef QW_@X@_HELP
#define QW_@X@_HELP(H)
#endif

#define QW_OWN_ONE_PARAM(name, field, shift, least, most) +1
#define QW_OWN_ONE_HELP(name, kind, start, about) +1
#define QW_OWN_ONE_PROBE(value, unit) +1
#define QW_OWN_ONE_NAME(name, unit) +1

# @end@ "@file@"
_Static_assert((0 QW_@X@_PARAMS(QW_OWN_ONE_PARAM)) == (0 QW_@X@_HELP(QW_OWN_ONE_HELP)), "QW_@X@_HELP(H) is to have a line for each of QW_@X@_PARAMS(P): H(name, kind, default, about)");
#ifdef QW_@X@_PROBE_NAMES
# @end@ "@file@"
_Static_assert((0 QW_@X@_PROBES(QW_OWN_ONE_PROBE)) == (0 QW_@X@_PROBE_NAMES(QW_OWN_ONE_NAME)), "QW_@X@_PROBE_NAMES(N) is to have a line for each of QW_@X@_PROBES(V): N(name, unit)");
#endif

#define QW_OWN_IS(function, type) __builtin_types_compatible_p(__typeof__(&function), type)
# @end@ "@file@"
_Static_assert(QW_OWN_IS(qw_@x@_init, void (*)(struct qw_@x@ *, const struct qw_@x@_params *, qw_u64)), "qw_@x@_init is to be void (struct qw_@x@ *, const struct qw_@x@_params *, qw_u64 now)");
# @end@ "@file@"
_Static_assert(QW_OWN_IS(qw_@x@_enqueue, struct qw_verdict (*)(struct qw_@x@ *, const struct qw_@x@_params *, qw_u64, const struct qw_queue *, const struct qw_packet *, qw_u32)), "qw_@x@_enqueue is to be struct qw_verdict (struct qw_@x@ *, const struct qw_@x@_params *, qw_u64 now, const struct qw_queue *, const struct qw_packet *, qw_u32 random)");
# @end@ "@file@"
_Static_assert(QW_OWN_IS(qw_@x@_dequeue, struct qw_verdict (*)(struct qw_@x@ *, const struct qw_@x@_params *, qw_u64, const struct qw_queue *, const struct qw_packet *)), "qw_@x@_dequeue is to be struct qw_verdict (struct qw_@x@ *, const struct qw_@x@_params *, qw_u64 now, const struct qw_queue *, const struct qw_packet *)");
# @end@ "@file@"
_Static_assert(QW_OWN_IS(qw_@x@_idle, void (*)(struct qw_@x@ *, const struct qw_@x@_params *, qw_u64)), "qw_@x@_idle is to be void (struct qw_@x@ *, const struct qw_@x@_params *, qw_u64 now)");

/* A field that is too narrow would lose what is set. */
#define QW_OWN_FITS(name, field, shift, least, most) \
	_Static_assert((qw_u64)(__typeof__(((struct qw_@x@_params *)0)->field))(most) == (qw_u64)(most), "QW_@X@_PARAMS(P): the field of " name " cannot hold the end of its range, " #most);
# @end@ "@file@"
QW_@X@_PARAMS(QW_OWN_FITS)
