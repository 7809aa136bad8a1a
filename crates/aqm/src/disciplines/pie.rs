use crate::params::{MS, SEC, US};
use crate::{Info, Param, Probe};

pub(super) const INFO: Info = Info {
    name: "pie",
    title: "PIE",
    about: "drop arrivals with a probability that steers the delay to a target",
    source: "RFC 8033; Linux sch_pie",
    explain: include_str!("../../../../docs/disciplines/pie.md"),
    params: &[
        Param::time(
            "target",
            "queueing delay to settle at",
            15 * MS,
            US,
            10 * SEC,
            "RFC 8033 section 4.2 (QDELAY_REF)",
        ),
        Param::time(
            "tupdate",
            "time between updates of the drop probability",
            15 * MS,
            100 * US,
            SEC,
            "RFC 8033 section 4.2 (T_UPDATE)",
        ),
        Param::ratio(
            "alpha",
            "1/s",
            "gain on the delay's distance from the target",
            0.125,
            0.0,
            2.0,
            "RFC 8033 section 4.2; Linux: 2/16",
        ),
        Param::ratio(
            "beta",
            "1/s",
            "gain on the delay's change since the last update",
            1.25,
            0.0,
            2.0,
            "RFC 8033 section 4.2; Linux: 20/16",
        ),
        Param::time(
            "max_burst",
            "time without drops that is granted after the queue was fine",
            150 * MS,
            0,
            10 * SEC,
            "RFC 8033 section 4.4 (MAX_BURST)",
        ),
        Param::flag(
            "ecn",
            "mark packets of ECN-capable senders instead of dropping them",
            false,
            "RFC 8033 section 5.1; Linux's default",
        ),
        Param::probability(
            "ecn_threshold",
            "drop even ECN-capable packets above this drop probability",
            0.1,
            "RFC 8033 section 5.1 (mark_ecnth)",
        ),
        Param::flag("bytemode", "drop smaller packets less", false, "Linux sch_pie"),
        Param::choice(
            "estimator",
            "delay from the packets' own times, or as backlog over departure rate",
            &["timestamp", "rate"],
            "timestamp",
            "Linux >= 5.6: timestamp; RFC 8033 section 4.3: rate",
        ),
        Param::size(
            "mtu",
            "never drop while less than two of these wait",
            1514,
            0,
            65535,
            "Linux sch_pie: Ethernet's MTU and header",
        ),
    ],
    probes: &[
        Probe { name: "drop_probability", unit: "" },
        Probe { name: "qdelay", unit: "ms" },
        Probe { name: "burst_allowance", unit: "ms" },
    ],
    needs_random: true,
    ..Info::PLAIN
};
