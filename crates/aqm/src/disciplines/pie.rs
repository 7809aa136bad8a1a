use crate::params::{FRAME_BYTES, MS, SEC, US};
use crate::{Info, Param, Probe};

pub(super) const INFO: Info = Info {
    name: "pie",
    title: "PIE",
    about: "drop arrivals with a probability that steers the delay to a target",
    source: "RFC 8033; Linux sch_pie",
    explain: include_str!("../../pages/pie.md"),
    params: &[TARGET, TUPDATE, ALPHA, BETA, MAX_BURST, ECN, ECN_THRESHOLD, BYTEMODE, ESTIMATOR, MTU],
    probes: &[
        Probe { name: "drop_probability", unit: "" },
        Probe { name: "qdelay", unit: "ms" },
        Probe { name: "burst_allowance", unit: "ms" },
    ],
    needs_random: true,
    ns3: true,
    ..Info::PLAIN
};

pub(super) const TARGET: Param = Param::time(
    "target",
    "sojourn time to settle at",
    15 * MS,
    US,
    10 * SEC,
    "RFC 8033 section 4.2 (QDELAY_REF)",
);
pub(super) const TUPDATE: Param = Param::time(
    "tupdate",
    "time between updates of the drop probability",
    15 * MS,
    100 * US,
    SEC,
    "RFC 8033 section 4.2 (T_UPDATE)",
);
pub(super) const ALPHA: Param = Param::ratio(
    "alpha",
    "1/s",
    "gain on the delay's distance from the target",
    0.125,
    0.0,
    2.0,
    "RFC 8033 section 4.2; Linux: 2/16",
);
pub(super) const BETA: Param = Param::ratio(
    "beta",
    "1/s",
    "gain on the delay's change since the last update",
    1.25,
    0.0,
    2.0,
    "RFC 8033 section 4.2; Linux: 20/16",
);
pub(super) const MAX_BURST: Param = Param::time(
    "max_burst",
    "time without drops that is granted after the queue was fine",
    150 * MS,
    0,
    10 * SEC,
    "RFC 8033 section 4.4 (MAX_BURST)",
);
pub(super) const ECN: Param = Param::flag(
    "ecn",
    "mark packets of ECN-capable senders instead of dropping them",
    false,
    "RFC 8033 section 5.1; Linux's default",
);
pub(super) const ECN_THRESHOLD: Param = Param::probability(
    "ecn_threshold",
    "drop even ECN-capable packets above this drop probability",
    0.1,
    "RFC 8033 section 5.1 (mark_ecnth)",
);
pub(super) const BYTEMODE: Param =
    Param::flag("bytemode", "drop smaller packets less", false, "Linux sch_pie");
pub(super) const ESTIMATOR: Param = Param::choice(
    "estimator",
    "delay from the packets' own times, or as backlog over departure rate",
    &["timestamp", "rate"],
    "timestamp",
    "Linux >= 5.6: timestamp; RFC 8033 section 4.3: rate",
);
pub(super) const MTU: Param = Param::size(
    "mtu",
    "never drop while less than two of these wait",
    FRAME_BYTES,
    0,
    65535,
    "Linux sch_pie: Ethernet's MTU and header",
);
