use crate::params::{MS, SEC, US};
use crate::{Info, Param, Probe};

pub(super) const INFO: Info = Info {
    name: "duk",
    title: "DUK",
    about: "drop what exceeds the link's capacity, by the knee of delay over utilisation; nothing to set",
    source: "Novak, Kasera, COMSNETS 2017",
    explain: include_str!("../../pages/duk.md"),
    params: &[
        Param::time(
            "tick",
            "clock tick in which equation 9 counts time",
            US,
            1,
            SEC,
            "open in COMSNETS 2017; makes no difference, see this page",
        ),
        Param::time(
            "interval",
            "time between evaluations; auto: found by Algorithm 2",
            0,
            US,
            SEC,
            "COMSNETS 2017 section IV",
        )
        .zero("auto"),
        Param::count(
            "first_packets",
            "packets",
            "interval = auto: it begins as the time that the link takes for so many full packets",
            [100, 1, 1 << 20],
            "open in COMSNETS 2017; this project's",
        ),
        Param::time(
            "longest",
            "interval = auto: it is never longer, unless one packet takes more",
            100 * MS,
            MS,
            SEC,
            "open in COMSNETS 2017; a common round trip",
        ),
        Param::count(
            "trial",
            "intervals",
            "interval = auto: another one is tried for so many; off: the first stays",
            [16, 1, 1 << 20],
            "open in COMSNETS 2017; measured, see this page",
        )
        .zero("off"),
        Param::probability(
            "tolerance",
            "interval = auto: utilisation that a shorter one may cost",
            0.01,
            "open in COMSNETS 2017; measured, see this page",
        ),
        Param::ratio(
            "drain",
            "",
            "share of a standing queue that the next interval's arrivals must make room for",
            0.5,
            0.0,
            16.0,
            "not in COMSNETS 2017, which is 0; measured, see this page",
        ),
        Param::choice(
            "empty",
            "an empty queue ends dropping: once in the interval, or at its end",
            &["interval", "end"],
            "interval",
            "open in COMSNETS 2017; measured, see this page",
        ),
        Param::count(
            "forget",
            "intervals",
            "interval = auto: memory of the ingress capacity",
            [256, 1, 1 << 20],
            "open in COMSNETS 2017; this project's",
        ),
        Param::flag(
            "ecn",
            "mark packets of ECN-capable senders instead of dropping them",
            false,
            "COMSNETS 2017 section VI measures both",
        ),
    ],
    probes: &[
        Probe { name: "drop_probability", unit: "" },
        Probe { name: "interval", unit: "ms" },
        Probe { name: "utilisation", unit: "" },
        Probe { name: "qdelay", unit: "ms" },
        Probe { name: "capacity", unit: "bit/s" },
        Probe { name: "congestion", unit: "%" },
    ],
    needs_random: true,
    ..Info::PLAIN
};
