use crate::params::{FRAME_BYTES, MS, SEC, US};
use crate::{Info, Param, Probe};

pub(super) const INFO: Info = Info {
    name: "pi2",
    title: "PI2",
    about: "steer the delay to a target by one probability: squared for classic senders, times k for scalable ones",
    source: "De Schepper and others, CoNEXT 2016; RFC 9332 appendix A",
    explain: include_str!("../../pages/pi2.md"),
    params: &[
        TARGET,
        TUPDATE,
        ALPHA,
        BETA,
        COUPLING,
        Param::flag(
            "ecn",
            "mark where the sender allows; off: drop, and ECT(1) is no sign of a scalable sender",
            true,
            "De Schepper and others section 5: the point of the square",
        ),
        MTU,
    ],
    probes: &[
        Probe { name: "base_probability", unit: "" },
        Probe { name: "drop_probability", unit: "" },
        Probe { name: "qdelay", unit: "ms" },
    ],
    needs_random: true,
    needs_head: true,
    ..Info::PLAIN
};

// What PI2 and DualPI2 share.

pub(super) const TARGET: Param = Param::time(
    "target",
    "sojourn time to settle at",
    15 * MS,
    0,
    10 * SEC,
    "RFC 9332 appendix A.1; Linux sch_dualpi2",
);

pub(super) const TUPDATE: Param = Param::time(
    "tupdate",
    "time between updates of the base probability",
    16 * MS,
    100 * US,
    SEC,
    "Linux sch_dualpi2; RFC 9332 appendix A.1: min(target, a third of the longest RTT)",
);

pub(super) const ALPHA: Param = Param::ratio(
    "alpha",
    "1/s",
    "gain on the delay's distance from the target",
    0.16,
    0.0,
    16.0,
    "Linux sch_dualpi2; RFC 9332 appendix A.1: 0.1 tupdate / (100 ms)^2",
);

pub(super) const BETA: Param = Param::ratio(
    "beta",
    "1/s",
    "gain on the delay's change since the last update",
    3.2,
    0.0,
    16.0,
    "Linux sch_dualpi2; RFC 9332 appendix A.1: 0.3 / 100 ms is 3",
);

pub(super) const COUPLING: Param = Param::ratio(
    "coupling",
    "",
    "k: probability for scalable senders by the base probability",
    2.0,
    0.0,
    16.0,
    "RFC 9332 section 2.1; Linux sch_dualpi2",
);

pub(super) const MTU: Param = Param::size(
    "mtu",
    "neither mark nor drop while less than two of these wait",
    FRAME_BYTES,
    0,
    65535,
    "Linux sch_dualpi2: Ethernet's MTU and header",
);
