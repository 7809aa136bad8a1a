use crate::params::{MS, SEC, US};
use crate::{Info, Param, Probe};

pub(super) const INFO: Info = Info {
    name: "ahab",
    title: "AHAB",
    about: "hold each flow to a rate at the tail, so that all of them together just fit the link",
    source: "MacDavid, Chen, Rexford, INFOCOM 2023; as run in Santa, NSDI 2026",
    explain: include_str!("../../pages/ahab.md"),
    params: &[
        CAPACITY,
        Param::probability(
            "utilisation",
            "share of the capacity to fill; the rest keeps the queue short",
            0.98,
            "aqm/ahab.h",
        ),
        Param::time(
            "flow_window",
            "time constant of a flow's rate",
            4 * MS,
            100 * US,
            SEC,
            "as run in Santa, NSDI 2026",
        ),
        Param::time(
            "link_window",
            "time constant of the link's rates",
            16 * MS,
            100 * US,
            SEC,
            "as run in Santa, NSDI 2026",
        ),
        Param::flag(
            "ecn",
            "mark TCP of ECN-capable senders first, and drop later",
            true,
            "as run in Santa, NSDI 2026",
        ),
    ],
    probes: &[
        Probe { name: "threshold", unit: "Mbit/s" },
        Probe { name: "congested", unit: "" },
        Probe { name: "capacity", unit: "Mbit/s" },
    ],
    needs_random: true,
    needs_flow: true,
    ..Info::PLAIN
};

/// AHAB and Cebinae must know the link's rate; see `aqm/service.h`.
pub(super) const CAPACITY: Param = Param::rate(
    "capacity",
    "the link's rate; auto: measured while packets wait",
    0,
    8,
    8_000_000_000_000,
    "aqm/service.h",
)
.zero("auto");
