/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Defaults of the parameters, D(name, value as in options.h, may it change while
 * the discipline runs?). Made from the registry in crates/aqm by
 *	INSTA_UPDATE=always cargo test -p queuewright-aqm --test module
 */
#ifndef QW_DEFAULTS_H
#define QW_DEFAULTS_H

/* clang-format off */
#define QW_DROPTAIL_DEFAULTS(D)
#define QW_STATIC_DEFAULTS(D) \
	D("threshold", 0ULL, false)
#define QW_CODEL_DEFAULTS(D) \
	D("target", 5000000ULL, false) \
	D("interval", 100000000ULL, false) \
	D("ecn", 0ULL, false) \
	D("ce_threshold", 0ULL, false) \
	D("mtu", 1514ULL, false)
#define QW_PIE_DEFAULTS(D) \
	D("target", 15000000ULL, false) \
	D("tupdate", 15000000ULL, false) \
	D("alpha", 536870912ULL, false) \
	D("beta", 5368709120ULL, false) \
	D("max_burst", 150000000ULL, false) \
	D("ecn", 0ULL, false) \
	D("ecn_threshold", 429496730ULL, false) \
	D("bytemode", 0ULL, false) \
	D("estimator", 0ULL, false) \
	D("mtu", 1514ULL, false)
#define QW_DUK_DEFAULTS(D) \
	D("tick", 1000ULL, false) \
	D("interval", 0ULL, false) \
	D("first_packets", 100ULL, false) \
	D("longest", 100000000ULL, false) \
	D("trial", 16ULL, false) \
	D("tolerance", 42949673ULL, false) \
	D("drain", 2147483648ULL, false) \
	D("empty", 0ULL, false) \
	D("forget", 256ULL, false) \
	D("ecn", 0ULL, false)
#define QW_CP_AQM_DEFAULTS(D) \
	D("rate", 0ULL, false) \
	D("threshold", 7570ULL, false) \
	D("cmax", 5153960755ULL, false) \
	D("bucket", 0ULL, false) \
	D("burst", 100000000ULL, false) \
	D("window", 100000000ULL, false) \
	D("mtu", 1514ULL, false)
#define QW_TITRATE_DEFAULTS(D) \
	D("rules", 0ULL, false) \
	D("strategy", 0ULL, false) \
	D("window", 500000000ULL, false) \
	D("threshold", 0ULL, false) \
	D("initial_delay", 50000000ULL, false) \
	D("mi_thresh", 0ULL, true) \
	D("use_mi_thresh", 1ULL, false) \
	D("min_threshold", 0ULL, false) \
	D("c_inc", 4294967296ULL, false) \
	D("c_dec", 4294967296ULL, false) \
	D("c_thresh", 12884901888ULL, false) \
	D("max_increase", 8ULL, false) \
	D("forget", 8ULL, false) \
	D("eqlen", 2ULL, false) \
	D("sample_interval", 500000ULL, false) \
	D("samples", 100ULL, false) \
	D("tolerance", 0ULL, false) \
	D("ecn", 0ULL, false) \
	D("mtu", 1514ULL, false) \
	D("kp", 1073741824ULL, false) \
	D("ki", 1073741824ULL, false)
#define QW_QUEUEPILOT_DEFAULTS(D) \
	D("step", 5000000ULL, false) \
	D("rate", 0ULL, false) \
	D("threshold", 858993459ULL, true) \
	D("action", 3ULL, true) \
	D("off_by_one", 1ULL, false) \
	D("sample", 1ULL, false) \
	D("actions", 0ULL, false) \
	D("wire_overhead", 24ULL, false) \
	D("mtu", 1514ULL, false)
#define QW_SANTA_DEFAULTS(D) \
	D("queues", 3ULL, false) \
	D("rule", 0ULL, false) \
	D("r", 8589934592ULL, false) \
	D("round", 10000000000ULL, false) \
	D("skip_inactive", 1ULL, false) \
	D("assign", 0ULL, false) \
	D("mice_packets", 10ULL, false) \
	D("idle_timeout", 10000000000ULL, false) \
	D("quantum", 1514ULL, false) \
	D("inner", 0ULL, false) \
	D("target", 5000000ULL, false) \
	D("interval", 100000000ULL, false) \
	D("window", 500000000ULL, false) \
	D("ecn", 0ULL, false) \
	D("mtu", 1514ULL, false) \
	D("hell", 0ULL, false) \
	D("hell_loss", 858993459ULL, false) \
	D("hell_rounds", 3ULL, false)
#define QW_RED_DEFAULTS(D) \
	D("min", 0ULL, true) \
	D("max", 0ULL, true) \
	D("probability", 85899346ULL, true) \
	D("avpkt", 1000ULL, false) \
	D("burst", 0ULL, false) \
	D("bandwidth", 1250000ULL, false) \
	D("ecn", 0ULL, false) \
	D("harddrop", 0ULL, false) \
	D("nodrop", 0ULL, false) \
	D("gentle", 0ULL, false) \
	D("idle_clock", 0ULL, false)
#define QW_ARED_DEFAULTS(D) \
	D("target", 5000000ULL, false) \
	D("min", 0ULL, false) \
	D("max", 0ULL, false) \
	D("probability", 85899346ULL, false) \
	D("avpkt", 1500ULL, false) \
	D("burst", 0ULL, false) \
	D("bandwidth", 0ULL, false) \
	D("ecn", 0ULL, false) \
	D("harddrop", 0ULL, false) \
	D("nodrop", 0ULL, false) \
	D("gentle", 1ULL, false) \
	D("idle_clock", 0ULL, false)
#define QW_COBALT_DEFAULTS(D) \
	D("target", 5000000ULL, false) \
	D("interval", 100000000ULL, false) \
	D("mtu_time", 0ULL, false) \
	D("p_inc", 16777216ULL, false) \
	D("p_dec", 1048576ULL, false) \
	D("ecn", 1ULL, false)
#define QW_PI2_DEFAULTS(D) \
	D("target", 15000000ULL, false) \
	D("tupdate", 16000000ULL, false) \
	D("alpha", 687194767ULL, false) \
	D("beta", 13743895347ULL, false) \
	D("coupling", 8589934592ULL, false) \
	D("ecn", 1ULL, false) \
	D("mtu", 1514ULL, false)
#define QW_DUALPI2_DEFAULTS(D) \
	D("target", 15000000ULL, false) \
	D("tupdate", 16000000ULL, false) \
	D("alpha", 687194767ULL, false) \
	D("beta", 13743895347ULL, false) \
	D("coupling", 8589934592ULL, false) \
	D("step", 1000000ULL, false) \
	D("step_packets", 0ULL, false) \
	D("classic_protection", 10ULL, false) \
	D("drop_overload", 1ULL, false) \
	D("drop_early", 0ULL, false) \
	D("l4s", 0ULL, false) \
	D("mtu", 1514ULL, false)
#define QW_FQ_DEFAULTS(D) \
	D("limit", 10000ULL, false) \
	D("flow_limit", 100ULL, false) \
	D("quantum", 3028ULL, false) \
	D("initial_quantum", 15140ULL, false) \
	D("orphan_mask", 1023ULL, false) \
	D("ce_threshold", 0ULL, false)
#define QW_FQ_CODEL_DEFAULTS(D) \
	D("target", 5000000ULL, false) \
	D("interval", 100000000ULL, false) \
	D("ecn", 1ULL, false) \
	D("ce_threshold", 0ULL, false) \
	D("ce_threshold_for", 0ULL, false) \
	D("flows", 1024ULL, false) \
	D("quantum", 1514ULL, false) \
	D("limit", 10240ULL, false) \
	D("memory_limit", 33554432ULL, false) \
	D("drop_batch", 64ULL, false) \
	D("mtu", 1514ULL, false)
#define QW_SFQ_DEFAULTS(D) \
	D("limit", 127ULL, false) \
	D("depth", 127ULL, false) \
	D("flows", 128ULL, false) \
	D("divisor", 1024ULL, false) \
	D("quantum", 1514ULL, false) \
	D("headdrop", 0ULL, false) \
	D("perturb", 0ULL, false)
#define QW_CHEN_SFQ_DEFAULTS(D) \
	D("depth", 1288490189ULL, false) \
	D("ahead", 1288490189ULL, false)
#define QW_AHAB_DEFAULTS(D) \
	D("capacity", 0ULL, false) \
	D("utilisation", 4209067950ULL, false) \
	D("flow_window", 4000000ULL, false) \
	D("link_window", 16000000ULL, false) \
	D("ecn", 1ULL, false)
#define QW_CEBINAE_DEFAULTS(D) \
	D("capacity", 0ULL, false) \
	D("dt", 0ULL, false) \
	D("rounds", 4ULL, false) \
	D("tax", 42949673ULL, false) \
	D("delta_port", 42949673ULL, false) \
	D("delta_flow", 42949673ULL, false) \
	D("count_drops", 0ULL, false)
#define QW_CAKE_DEFAULTS(D) \
	D("bandwidth", 0ULL, false) \
	D("diffserv", 0ULL, false) \
	D("isolation", 7ULL, false) \
	D("rtt", 100000000ULL, false) \
	D("framing", 0ULL, false) \
	D("overhead", 0ULL, false) \
	D("mpu", 0ULL, false) \
	D("memlimit", 0ULL, false) \
	D("wash", 0ULL, false) \
	D("ingress", 0ULL, false) \
	D("autorate", 0ULL, false) \
	D("mtu", 1514ULL, false)
#define QW_DT_DEFAULTS(D) \
	D("alpha", 4294967296ULL, false)
#define QW_ABM_DEFAULTS(D) \
	D("alpha", 2147483648ULL, false)
#define QW_SFB_DEFAULTS(D) \
	D("target", 20ULL, false) \
	D("max", 25ULL, false) \
	D("increment", 33ULL, false) \
	D("decrement", 3ULL, false) \
	D("rehash", 600000000000ULL, false) \
	D("warmup", 60000000000ULL, false) \
	D("penalty_rate", 10ULL, false) \
	D("penalty_burst", 20ULL, false)
#define QW_CHOKE_DEFAULTS(D) \
	D("min", 0ULL, false) \
	D("max", 0ULL, false) \
	D("probability", 85899346ULL, false) \
	D("avpkt", 1000ULL, false) \
	D("burst", 0ULL, false) \
	D("bandwidth", 1250000ULL, false) \
	D("ecn", 0ULL, false) \
	D("idle_clock", 0ULL, false)
#define QW_GSP_DEFAULTS(D) \
	D("threshold", 0ULL, false) \
	D("delay", 0ULL, false) \
	D("interval", 100000000ULL, false) \
	D("adaptive", 1ULL, false) \
	D("tau", 0ULL, false) \
	D("alpha", 6442450944ULL, false) \
	D("max_time", 100000000000ULL, false) \
	D("ecn", 0ULL, false)
#define QW_HHF_DEFAULTS(D) \
	D("limit", 1000ULL, false) \
	D("quantum", 1514ULL, false) \
	D("non_hh_weight", 2ULL, false) \
	D("hh_limit", 2048ULL, false) \
	D("admit_bytes", 131072ULL, false) \
	D("reset_timeout", 40000000ULL, false) \
	D("evict_timeout", 1000000000ULL, false)
#define QW_FQ_PIE_DEFAULTS(D) \
	D("target", 15000000ULL, false) \
	D("tupdate", 15000000ULL, false) \
	D("alpha", 536870912ULL, false) \
	D("beta", 5368709120ULL, false) \
	D("max_burst", 150000000ULL, false) \
	D("ecn", 0ULL, false) \
	D("ecn_threshold", 429496730ULL, false) \
	D("bytemode", 0ULL, false) \
	D("estimator", 0ULL, false) \
	D("mtu", 1514ULL, false) \
	D("flows", 1024ULL, false) \
	D("quantum", 1514ULL, false) \
	D("limit", 10240ULL, false)
#define QW_AFQ_DEFAULTS(D) \
	D("queues", 32ULL, false) \
	D("quantum", 2048ULL, false)
/* clang-format on */

#endif /* QW_DEFAULTS_H */
