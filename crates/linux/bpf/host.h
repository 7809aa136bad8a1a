/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What every host of a discipline in the kernel does alike.
 */
#ifndef QW_BPF_HOST_H
#define QW_BPF_HOST_H

#include "kernel.h"
#include "shared.h"

/* A table in a discipline's state must come zeroed; the rest is what init() says,
 * unless it counts on zeros. */
#ifndef QW_ZEROED
#define QW_ZEROED (sizeof(STATE) > 4096)
#endif

/* The discipline begins. */
QW_PART int begin(STATE *s QW_GIVEN, const PARAMS *p QW_GIVEN, __u64 now)
{
	/* As much as clang writes word by word. */
	struct chunk {
		__u64 words[64];
	} *chunks = (struct chunk *)s;
	const __u32 n = sizeof(STATE) / sizeof(*chunks);
	__u32 i;

	if (QW_ZEROED) {
		bpf_for(i, 0, n)
			__builtin_memset(&chunks[i], 0, sizeof(*chunks));
		__builtin_memset(&chunks[n], 0,
				 sizeof(STATE) % sizeof(*chunks));
	}
	CALL(init)(s, p, now);
	return 0;
}

static __always_inline void count_sojourn(struct qw_bpf_stats *stats, __u64 ns)
{
	__u64 rest = ns;
	__u32 octave = 0;

	stats->sojourn_ns = ns;
	stats->sojourn_sum_ns += ns;
	if (rest >> 32) {
		octave += 32;
		rest >>= 32;
	}
	if (rest >> 16) {
		octave += 16;
		rest >>= 16;
	}
	if (rest >> 8) {
		octave += 8;
		rest >>= 8;
	}
	if (rest >> 4) {
		octave += 4;
		rest >>= 4;
	}
	if (rest >> 2) {
		octave += 2;
		rest >>= 2;
	}
	octave += rest >> 1;
	if (octave >= QW_BPF_SOJOURNS)
		octave = QW_BPF_SOJOURNS - 1;
	stats->sojourns[octave]++;
}

#endif /* QW_BPF_HOST_H */
