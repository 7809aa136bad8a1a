use crate::params::{MS, SEC, US};
use crate::{Info, Param, Probe};

pub(super) const INFO: Info = Info {
    name: "gsp",
    title: "GSP",
    about: "tail drop at a threshold, one packet at a time, so that senders do not back off together",
    source: "Lautenschlaeger and Francini, HPSR 2015; draft-lauten-aqm-gsp",
    explain: include_str!("../../pages/gsp.md"),
    params: &[
        Param::size(
            "threshold",
            "bytes that may wait; auto: half of the buffer, or, with `delay`, any",
            0,
            1,
            1 << 40,
            "left open by the source",
        )
        .zero("auto"),
        Param::time(
            "delay",
            "sojourn time that is fine (delay-based GSP)",
            0,
            10 * US,
            10 * SEC,
            "left open by the source",
        )
        .zero("off"),
        Param::time(
            "interval",
            "without a drop after a drop: a round trip, queueing included",
            100 * MS,
            10 * US,
            4 * SEC,
            "left open by the source; CoDel's interval",
        ),
        Param::flag("adaptive", "shorten the interval by the time above the threshold", true, "HPSR 2015"),
        Param::time(
            "tau",
            "time constant of the adaptation; auto: 5 intervals",
            0,
            10 * US,
            4 * SEC,
            "HPSR 2015",
        )
        .zero("auto"),
        Param::ratio(
            "alpha",
            "",
            "weight of the time above against the time below",
            1.5,
            0.0,
            16.0,
            "HPSR 2015: not much larger than 1",
        ),
        Param::time(
            "max_time",
            "bound on the sum of these times",
            100 * SEC,
            0,
            1000 * SEC,
            "left open by the source",
        ),
        Param::flag(
            "ecn",
            "mark packets of ECN-capable senders instead of dropping them",
            false,
            "aqm/gsp.h",
        ),
    ],
    probes: &[
        Probe { name: "interval", unit: "ms" },
        Probe { name: "time_above", unit: "s" },
        Probe { name: "above", unit: "" },
    ],
    ..Info::PLAIN
};
