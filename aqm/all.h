/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Every queue manager, for hosts that offer them all: one line each here,
 * and the tests and the Rust face know of it.
 */
#ifndef QW_ALL_H
#define QW_ALL_H

#include "codel.h"
#include "droptail.h"
#include "pie.h"
#include "static.h"
#include "titrate.h"

#define QW_DISCIPLINES(X) \
	X(droptail)       \
	X(static)         \
	X(codel)          \
	X(pie)            \
	X(titrate)

#endif /* QW_ALL_H */
