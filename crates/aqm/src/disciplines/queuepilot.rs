use crate::params::{MS, SEC, US};
use crate::{Info, Param, Probe};

pub(super) const INFO: Info = Info {
    name: "queuepilot",
    title: "QueuePilot",
    about: "a policy chooses every step how many arrivals to mark; scripted unless it is given weights",
    source: "Dery, Krupnik, Keslassy, INFOCOM 2023, and the authors' program",
    explain: include_str!("../../../../docs/disciplines/queuepilot.md"),
    params: &[
        Param::time("step", "between two choices", 5 * MS, 100 * US, SEC, "INFOCOM 2023 section III"),
        Param::rate(
            "rate",
            "of the link, by which counts are normalised; auto: the most seen",
            0,
            1000,
            1_000_000_000_000,
            "the authors' program: 1 Gbit/s; auto is ours",
        )
        .zero("auto"),
        Param::probability(
            "threshold",
            "scripted policy: mark while the mean queue is above this part of the buffer",
            0.2,
            "the authors' program has such a switch; the value is ours",
        ),
        Param::count(
            "action",
            "",
            "scripted policy: which of 0, 1, 5, 10, 50, 100 % to mark with",
            [3, 0, 5],
            "INFOCOM 2023 section III; the choice is ours",
        ),
        Param::flag(
            "off_by_one",
            "mark with one per cent more, but for 0",
            true,
            "the authors' program, with which policies were trained",
        ),
        Param::flag(
            "sample",
            "draw from the learned policy's probabilities instead of taking the best",
            true,
            "the authors' program, in tests too",
        ),
        Param::size(
            "wire_overhead",
            "what a frame takes on the wire beyond what the link counts",
            24,
            0,
            1000,
            "Ethernet's preamble, gap and checksum",
        ),
        Param::size("mtu", "a full packet as the link counts it", 1514, 64, 65536, "the authors' program"),
    ],
    probes: &[
        Probe { name: "mark_probability", unit: "" },
        Probe { name: "mean_queue_packets", unit: "packets" },
        Probe { name: "reward_plus_1", unit: "" },
    ],
    needs_random: true,
    ..Info::PLAIN
};
