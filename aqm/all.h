/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Every discipline, for hosts that offer them all: X(name, NAME). One line
 * each here, and the tests and the Rust face know of it.
 */
#ifndef QW_ALL_H
#define QW_ALL_H

#include "abm.h"
#include "afq.h"
#include "ahab.h"
#include "ared.h"
#include "cake.h"
#include "cebinae.h"
#include "chen_sfq.h"
#include "choke.h"
#include "cobalt.h"
#include "codel.h"
#include "cp_aqm.h"
#include "droptail.h"
#include "dt.h"
#include "dualpi2.h"
#include "duk.h"
#include "fq.h"
#include "fq_codel.h"
#include "fq_pie.h"
#include "gsp.h"
#include "hhf.h"
#include "pi2.h"
#include "pie.h"
#include "queuepilot.h"
#include "red.h"
#include "santa.h"
#include "sfb.h"
#include "sfq.h"
#include "static.h"
#include "titrate.h"

/* With one queue. */
#define QW_DISCIPLINES(X)         \
	X(droptail, DROPTAIL)     \
	X(static, STATIC)         \
	X(codel, CODEL)           \
	X(pie, PIE)               \
	X(duk, DUK)               \
	X(cp_aqm, CP_AQM)         \
	X(titrate, TITRATE)       \
	X(queuepilot, QUEUEPILOT) \
	X(red, RED)               \
	X(ared, ARED)             \
	X(cobalt, COBALT)         \
	X(pi2, PI2)               \
	X(chen_sfq, CHEN_SFQ)     \
	X(ahab, AHAB)             \
	X(dt, DT)                 \
	X(abm, ABM)               \
	X(sfb, SFB)               \
	X(choke, CHOKE)           \
	X(gsp, GSP)

/* With several. */
#define QW_SCHEDULERS(X)      \
	X(santa, SANTA)       \
	X(dualpi2, DUALPI2)   \
	X(fq, FQ)             \
	X(fq_codel, FQ_CODEL) \
	X(sfq, SFQ)           \
	X(cebinae, CEBINAE)   \
	X(hhf, HHF)           \
	X(fq_pie, FQ_PIE)     \
	X(afq, AFQ)           \
	X(cake, CAKE)

/* Of these, the ones that keep the queue below a `threshold_bytes`. */
#define QW_THRESHOLDS(X)    \
	X(static, STATIC)   \
	X(titrate, TITRATE) \
	X(dt, DT)           \
	X(abm, ABM)

/* That divide a shared buffer by what their ports claim of it (qw.h). */
#define QW_CLAIMS(X) X(titrate, TITRATE)

/* Whose parameters may change while they run: qw_X_retune(s, p) takes them over. */
#define QW_TUNABLE(X)       \
	X(red, RED)         \
	X(titrate, TITRATE) \
	X(queuepilot, QUEUEPILOT)

/* With one queue, whose dequeue may say drop or mark: others always let pass
 * what they have once let in. */
#define QW_ACTS_AT_HEAD(X) \
	X(codel, CODEL)    \
	X(choke, CHOKE)    \
	X(cobalt, COBALT)

/* Whose ticks a host with a timer may make when they are due (qw.h). */
#define QW_TIMED(X) X(queuepilot, QUEUEPILOT)

/* With one queue, which decide when a packet comes, by what waits and comes: no
 * packet need wait for them, and they can police. */
#define QW_POLICES(X)         \
	X(droptail, DROPTAIL) \
	X(static, STATIC)     \
	X(cp_aqm, CP_AQM)     \
	X(titrate, TITRATE)

/* Which take packets back that wait: nobody before the one that has them can. */
#define QW_TAKES_BACK(X) X(choke, CHOKE)

/* With several, whose order of service can be left to the host (qw.h). */
#define QW_BY_CLASSES(X) X(santa, SANTA)

/* Which read of a packet what few do: its hosts, its DSCP, what frames it. */
#define QW_READS_HEADERS(X) X(cake, CAKE)

/* With several, which hold packets back to keep to a rate (qw.h). */
#define QW_SHAPES(X) X(cake, CAKE)

/* With several, which may have the DSCP set to 0 (qw.h). */
#define QW_WASHES(X) X(cake, CAKE)

#endif /* QW_ALL_H */
