/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the headers need of string.h where there is no C library; Rust brings the functions. */
#ifndef QW_WASM_STRING_H
#define QW_WASM_STRING_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *at, int byte, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);

/* This one Rust has not. */
static inline int strcmp(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return (unsigned char)*a - (unsigned char)*b;
}

#endif
