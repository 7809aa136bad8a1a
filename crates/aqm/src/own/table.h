/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a file of a user's own is compiled to: one table. Rust has the same
 * structures in own.rs; qw_shim_layout compares them.
 */
#ifndef QW_OWN_TABLE_H
#define QW_OWN_TABLE_H

#include "qw.h"

/* Kinds of parameters, of QW_X_HELP(H). */
#define QW_TIME 0 /* nanoseconds */
#define QW_SIZE 1 /* bytes */
#define QW_RATE 2 /* bytes a second */
#define QW_COUNT 3 /* whole things */
#define QW_FLAG 4 /* 0 or 1 */
#define QW_SHARE 5 /* 0.0 to 1.0; the field has Q32 >> shift */
#define QW_RATIO 6 /* a real number; the field has Q32 >> shift */

/* A line of QW_X_PARAMS(P). Lists end with a name of 0. */
struct qw_own_range {
	const char *name;
	qw_u64 shift, least, most;
};

/* A line of QW_X_HELP(H). */
struct qw_own_help {
	const char *name, *about;
	double start;
	qw_u64 kind;
};

/* A line of QW_X_PROBE_NAMES(N), or an expression of QW_X_PROBES(V). */
struct qw_own_shown {
	const char *name, *unit;
};

struct qw_own_head; /* any instance */

struct qw_own {
	qw_u64 size, params_at, params_bytes, state_at, state_bytes;
	const char *about; /* 0: it does not say */
	const struct qw_own_range *ranges;
	const struct qw_own_help *helps;
	const struct qw_own_shown *shown;
	int (*set)(struct qw_own_head *h, const char *name, qw_u64 v);
	void (*init)(struct qw_own_head *h, qw_u64 now);
	struct qw_verdict (*enqueue)(struct qw_own_head *h, qw_u64 now,
				     const struct qw_queue *q,
				     const struct qw_packet *k, qw_u32 random);
	struct qw_verdict (*dequeue)(struct qw_own_head *h, qw_u64 now,
				     const struct qw_queue *q,
				     const struct qw_packet *k);
	void (*idle)(struct qw_own_head *h, qw_u64 now);
	double (*probe)(const struct qw_own_head *h, qw_u64 i);
};

/* What an instance begins with: which discipline (shim.c), and its table. */
struct qw_own_head {
	qw_u64 kind;
	const struct qw_own *of;
};

/* The same of a BPF object (bpf.c), which has no pointers: texts end with 0, and
 * lists are as long as the head says. */
#define QW_OWN_TEXT 208

struct qw_own_bpf_head {
	qw_u64 params_bytes, params, variables;
	char name[QW_OWN_TEXT], sha256[QW_OWN_TEXT], host[QW_OWN_TEXT],
		about[QW_OWN_TEXT];
};

struct qw_own_bpf_range {
	char name[QW_OWN_TEXT];
	qw_u64 shift, least, most;
	qw_u64 at, bytes; /* of the field, in the parameters */
};

struct qw_own_bpf_help {
	char name[QW_OWN_TEXT], about[QW_OWN_TEXT];
	double start;
	qw_u64 kind;
};

struct qw_own_bpf_shown {
	char name[QW_OWN_TEXT], unit[QW_OWN_TEXT];
};

#endif /* QW_OWN_TABLE_H */
