use super::red::{ECN, HARDDROP, IDLE_CLOCK, MAX_BYTES, MAX_RATE, NODROP, WITH_ECN};
use crate::params::{MS, MTU_BYTES, SEC, US};
use crate::{Info, Param, Probe};

pub(super) const INFO: Info = Info {
    name: "ared",
    title: "Adaptive RED",
    about: "RED that moves its probability to hold the average queue in the middle",
    source: "Floyd, Gummadi and Shenker 2001; Linux sch_red `adaptive`",
    explain: include_str!("../../pages/ared.md"),
    params: &[
        Param::time(
            "target",
            "delay of the average queue, from which min, max and burst follow; off: all as in RED",
            5 * MS,
            10 * US,
            10 * SEC,
            "Floyd, Gummadi and Shenker 2001 section 6",
        )
        .zero("off"),
        Param::size(
            "min",
            "average queue below which everything passes; auto: max(5 packets, target * rate / 2)",
            0,
            1,
            MAX_BYTES,
            "Floyd, Gummadi and Shenker 2001 section 6",
        )
        .zero("auto"),
        Param::size(
            "max",
            "average queue at which the moving probability is reached; auto: 3 min",
            0,
            1,
            MAX_BYTES,
            "Floyd, Gummadi and Shenker 2001 section 6",
        )
        .zero("auto"),
        Param::probability("probability", "to start with, at max", 0.02, "tc-red(8)"),
        Param::size("avpkt", "average packet", MTU_BYTES, 1, 65535, "a full packet; tc-red(8): 1000"),
        Param::count(
            "burst",
            "packets",
            "packets in a row that an empty queue lets pass; auto: a weight of 1 - exp(-1 / (packets/s))",
            [0, 1, 1 << 20],
            "Floyd, Gummadi and Shenker 2001 section 6",
        )
        .zero("auto"),
        Param::rate("bandwidth", "rate of the link; auto: measured", 0, 1_000, MAX_RATE, "aqm/ared.h")
            .zero("auto"),
        ECN,
        HARDDROP,
        NODROP,
        Param::flag(
            "gentle",
            "between max and twice max let the probability rise to 1, instead of at once",
            true,
            "Floyd, Gummadi and Shenker 2001 section 3; Linux has none",
        ),
        IDLE_CLOCK,
    ],
    probes: &[
        Probe { name: "mean_queue_bytes", unit: "bytes" },
        Probe { name: "max_probability", unit: "" },
        Probe { name: "min_bytes", unit: "bytes" },
        Probe { name: "max_bytes", unit: "bytes" },
        Probe { name: "wlog", unit: "" },
        Probe { name: "rate", unit: "bytes/s" },
    ],
    needs_random: true,
    rules: WITH_ECN,
    ..Info::PLAIN
};
