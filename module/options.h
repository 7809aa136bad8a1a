/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What tc and the qdiscs of sch_queuewright say to each other over netlink: the
 * attributes inside TCA_OPTIONS, and the statistics (TCA_XSTATS). crates/tc has
 * the same in Rust.
 *
 * A parameter goes by its name in the registry, so that a module and a tc of
 * different versions understand each other as far as they can.
 */
#ifndef QW_OPTIONS_H
#define QW_OPTIONS_H

#include "qw.h"

enum {
	QW_OPTION_NONE,
	QW_OPTION_LIMIT, /* u32: packets that may wait */
	QW_OPTION_LIMIT_BYTES, /* u64: bytes that may wait, 0: no such limit */
	/* u64, then the parameter's name with its NUL; any number of these. Times
	 * in ns, sizes in bytes, rates in bytes a second, flags as 0 or 1, choices
	 * as their index, real numbers in Q32. */
	QW_OPTION_PARAM,
	QW_OPTION_WEIGHTS, /* s16 each: of a learned policy */
	QW_OPTION_PAD,
};

#define QW_LIMIT_PACKETS 10000u /* unless it is said */
#define QW_LIMIT_MOST 1000000u

/* Sojourn times of 2^i to 2^(i+1) ns are counted in slot i. */
#define QW_SOJOURNS 40u
#define QW_VARIABLES 16u

struct qw_statistics {
	qw_u64 arrived_packets, arrived_bytes;
	qw_u64 sent_packets, sent_bytes;
	qw_u64 drops[QW_REASONS]; /* by reason */
	qw_u64 marks[QW_REASONS]; /* by reason */
	qw_u64 sojourn_ns; /* of the last packet */
	qw_u64 sojourn_sum_ns; /* of what was sent */
	qw_u64 sojourns[QW_SOJOURNS];
	/* The discipline's variables in the order of its QW_X_PROBES. */
	qw_u64 variables;
	struct {
		qw_s64 value;
		qw_u64 unit; /* what value is to be divided by */
	} variable[QW_VARIABLES];
};

#endif /* QW_OPTIONS_H */
