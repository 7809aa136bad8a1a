use crate::{Beside, Info, Param, Probe, Rule, Value};

const MBIT: u64 = 1_000_000;
/// `QW_RED_MAX_BYTES` of the header.
pub(super) const MAX_BYTES: u64 = 1 << 31;
pub(super) const MAX_RATE: u64 = 1_000_000 * MBIT;

pub(super) const INFO: Info = Info {
    name: "red",
    title: "RED",
    about: "drop arrivals at random, the more the longer the average queue",
    source: "Floyd and Jacobson 1993; Linux sch_red, tc-red(8)",
    explain: include_str!("../../pages/red.md"),
    params: &[
        Param::size(
            "min",
            "average queue below which everything passes; auto: a third of max",
            0,
            1,
            MAX_BYTES,
            "tc-red(8)",
        )
        .zero("auto")
        .tunable(),
        Param::size(
            "max",
            "average queue at which the probability is reached; auto: 3 min, or a quarter of the buffer",
            0,
            1,
            MAX_BYTES,
            "tc-red(8)",
        )
        .zero("auto")
        .tunable(),
        Param::probability("probability", "of a mark or drop, at max", 0.02, "tc-red(8)").tunable(),
        Param::size("avpkt", "average packet", 1000, 1, 65535, "tc-red(8)"),
        Param::count(
            "burst",
            "packets",
            "packets in a row that an empty queue lets pass; auto: (2 min + max) / 3 avpkt",
            [0, 1, 1 << 20],
            "tc-red(8)",
        )
        .zero("auto"),
        bandwidth("tc-red(8)"),
        ECN,
        HARDDROP,
        NODROP,
        Param::flag(
            "gentle",
            "between max and twice max let the probability rise to 1, instead of at once",
            false,
            "Linux has none; Floyd 2000",
        ),
        IDLE_CLOCK_OR_NONE,
    ],
    probes: &[
        Probe { name: "mean_queue_bytes", unit: "bytes" },
        Probe { name: "max_probability", unit: "" },
        Probe { name: "min_bytes", unit: "bytes" },
        Probe { name: "max_bytes", unit: "bytes" },
        Probe { name: "wlog", unit: "" },
    ],
    needs_random: true,
    rules: WITH_ECN,
    ..Info::PLAIN
};

/// The kernel refuses nodrop without ecn, too.
pub(super) const WITH_ECN: &[Rule] = &[with_ecn("harddrop"), with_ecn("nodrop"), MIN_AND_MAX];

pub(super) const MIN_AND_MAX: Rule = Rule {
    param: "min",
    other: "max",
    beside: Beside::NotAbove,
    why: "the probability rises from min to max; for a step write the same for both",
};

const fn with_ecn(param: &'static str) -> Rule {
    let ecn = Beside::One(&[Value::Flag(true)]);
    Rule { param, other: "ecn", beside: ecn, why: "it says which of the packets are not to be marked" }
}

pub(super) const ECN: Param = Param::flag(
    "ecn",
    "mark packets of ECN-capable senders instead of dropping them",
    false,
    "Linux sch_red",
);
pub(super) const HARDDROP: Param =
    Param::flag("harddrop", "with ecn: drop above max all the same", false, "Linux sch_red");
pub(super) const NODROP: Param =
    Param::flag("nodrop", "with ecn: let pass what cannot be marked", false, "Linux sch_red");
pub(super) const fn bandwidth(source: &'static str) -> Param {
    let about = "rate of the link, by which the average ages while the link is idle";
    Param::rate("bandwidth", about, 10 * MBIT, 1_000, MAX_RATE, source)
}
pub(super) const IDLE_CLOCK_OR_NONE: Param = Param::choice(
    "idle_clock",
    "how the average ages on an idle link: as meant; as tc and kernel have it, 15.6 times slower; or, as below htb, not",
    &["us", "tc", "never"],
    "us",
    "Floyd and Jacobson 1993 section 4; tc: iproute2 6.1; never: Linux 7.2, sch_htb. In scenarios with Linux's TCP never",
);
pub(super) const IDLE_CLOCK: Param = Param::choice(
    "idle_clock",
    "how the average ages on an idle link: as meant, or, as tc and kernel have it, 15.6 times slower",
    &["us", "tc"],
    "us",
    "Floyd and Jacobson 1993 section 4; tc: iproute2 6.1",
);
