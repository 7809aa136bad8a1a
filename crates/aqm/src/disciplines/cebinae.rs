use super::ahab::CAPACITY;
use crate::params::{SEC, US};
use crate::{Info, Param, Probe};

pub(super) const INFO: Info = Info {
    name: "cebinae",
    title: "Cebinae",
    about: "tax the flows that take the most of a saturated link, round by round",
    source: "Yu, Sonchack, Liu, SIGCOMM 2022; as run in Santa, NSDI 2026",
    explain: include_str!("../../pages/cebinae.md"),
    params: &[
        CAPACITY,
        Param::time(
            "dt",
            "length of a round; auto: 3/8 of the buffer at the capacity, 1 ms to 100 ms",
            0,
            100 * US,
            SEC,
            "aqm/cebinae.h; as run in Santa, NSDI 2026: 12 ms",
        )
        .zero("auto"),
        Param::count(
            "rounds",
            "rounds",
            "rounds between two looks at the flows",
            [4, 1, 64],
            "as run in Santa, NSDI 2026",
        ),
        Param::probability(
            "tax",
            "share of their rate that the top flows are to give up",
            0.01,
            "as run in Santa, NSDI 2026",
        ),
        Param::probability(
            "delta_port",
            "a link is saturated that sends all but this share of its capacity",
            0.01,
            "as run in Santa, NSDI 2026",
        ),
        Param::probability(
            "delta_flow",
            "a flow is on top that sends all but this share of what the largest does",
            0.01,
            "as run in Santa, NSDI 2026",
        ),
        Param::flag(
            "count_drops",
            "a dropped packet uses up its group's share as one that is let through",
            false,
            "aqm/cebinae.h; the authors' ns-3 model: true",
        ),
    ],
    probes: &[
        Probe { name: "saturated", unit: "" },
        Probe { name: "top_flows", unit: "" },
        Probe { name: "capacity", unit: "Mbit/s" },
        Probe { name: "round", unit: "ms" },
    ],
    needs_random: false,
    needs_flow: true,
    ..Info::PLAIN
};
