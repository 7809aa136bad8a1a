use super::red::{ECN, IDLE_CLOCK_OR_NONE, MIN_AND_MAX, bandwidth};
use crate::{Info, Param, Probe};

/// `QW_CHOKE_MOST` of the header.
const MOST: u64 = 131_071;

pub(super) const INFO: Info = Info {
    name: "choke",
    title: "CHOKe",
    about: "RED that drops an arrival with one that waits, drawn at random, if both are of one flow",
    source: "Pan, Prabhakar and Psounis, INFOCOM 2000; Linux sch_choke",
    explain: include_str!("../../pages/choke.md"),
    params: &[
        Param::count(
            "min",
            "packets",
            "average queue up to which everything passes; auto: a third of max",
            [0, 1, MOST],
            "tc-choke(8)",
        )
        .zero("auto"),
        Param::count(
            "max",
            "packets",
            "average queue above which nothing does; auto: a quarter of the buffer",
            [0, 1, MOST],
            "tc-choke(8)",
        )
        .zero("auto"),
        Param::probability("probability", "of a mark or drop by RED, at max", 0.02, "tc-choke(8)"),
        Param::size("avpkt", "average packet", 1000, 1, 65535, "tc-choke(8)"),
        Param::count(
            "burst",
            "packets",
            "packets in a row that an empty queue lets pass; auto: (2 min + max) / 3",
            [0, 1, 1 << 20],
            "tc-choke(8)",
        )
        .zero("auto"),
        bandwidth("tc-red(8); tc's choke must be told"),
        ECN,
        IDLE_CLOCK_OR_NONE,
    ],
    probes: &[
        Probe { name: "mean_queue_packets", unit: "packets" },
        Probe { name: "min_packets", unit: "packets" },
        Probe { name: "max_packets", unit: "packets" },
        Probe { name: "wlog", unit: "" },
        Probe { name: "matched", unit: "packets" },
    ],
    needs_random: true,
    needs_flow: true,
    rules: &[MIN_AND_MAX],
    ..Info::PLAIN
};
