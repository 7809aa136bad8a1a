use crate::params::SEC;
use crate::{Info, Param, Probe};

pub(super) const INFO: Info = Info {
    name: "sfb",
    title: "SFB",
    about: "stochastic fair BLUE: a Bloom filter finds the flows that do not yield, and holds them down",
    source: "Feng and others, INFOCOM 2001; Linux sch_sfb",
    explain: include_str!("../../pages/sfb.md"),
    params: &[
        Param::count(
            "target",
            "packets",
            "packets of a bin from which on its probability rises",
            [20, 1, 65535],
            "tc-sfb",
        ),
        Param::count(
            "max",
            "packets",
            "packets in each of a flow's bins from which on it loses all that comes",
            [25, 1, 65535],
            "tc-sfb",
        ),
        Param::count(
            "increment",
            "65535ths",
            "step up of a full bin's probability, with each of its arrivals",
            [33, 0, 65535],
            "tc-sfb: 0.0005",
        ),
        Param::count(
            "decrement",
            "65535ths",
            "step down of an empty bin's probability, with each of its arrivals",
            [3, 0, 65535],
            "tc-sfb: 0.00005",
        ),
        Param::time("rehash", "time between changes of the hash", 600 * SEC, SEC, 100_000 * SEC, "tc-sfb")
            .zero("never"),
        Param::time(
            "warmup",
            "for so long before a change, flows that do not yield are entered in both filters",
            60 * SEC,
            SEC,
            100_000 * SEC,
            "tc-sfb (db)",
        )
        .zero("off"),
        Param::count(
            "penalty_rate",
            "packets",
            "packets a second of all flows together that do not yield",
            [10, 0, 1 << 20],
            "tc-sfb",
        ),
        Param::count("penalty_burst", "packets", "packets of them at once", [20, 0, 1 << 20], "tc-sfb"),
    ],
    probes: &[
        Probe { name: "probability", unit: "" },
        Probe { name: "tokens", unit: "packets" },
        Probe { name: "penalized", unit: "packets" },
    ],
    needs_random: true,
    needs_flow: true,
    always_marks: true,
    ..Info::PLAIN
};
