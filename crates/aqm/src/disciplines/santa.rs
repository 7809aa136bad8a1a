use crate::params::{FRAME_BYTES, MS, SEC, US};
use crate::{Beside, Info, Param, Probe, Rule, Spec, Value};

pub(super) const INFO: Info = Info {
    name: "santa",
    title: "Santa",
    about: "flows that push as hard share a queue, by what they kept waiting in the last round",
    source: "Mishra et al., NSDI 2026",
    explain: include_str!("../../pages/santa.md"),
    params: &[
        Param::count("queues", "queues", "K, beside the mice queue", [3, 1, 32], "NSDI 2026 section 6.1"),
        Param::choice(
            "rule",
            "who is shuffled: by the mean of the queue's flows, or by its least and its most",
            &["paper", "artifact"],
            "paper",
            "NSDI 2026 section 4.2",
        ),
        Param::ratio(
            "r",
            "",
            "how many times more, or less, than the reference is too much",
            2.0,
            1.0,
            16.0,
            "NSDI 2026 section 4.2",
        ),
        Param::time("round", "time between shuffles", 10 * SEC, 10 * MS, 1000 * SEC, "NSDI 2026 section 4.2"),
        Param::flag(
            "skip_inactive",
            "leave flows without a packet in a round where they are, and out of the reference",
            true,
            "open in NSDI 2026; the artifact does not",
        ),
        Param::choice(
            "assign",
            "a new flow's queue: an empty one, else drawn by flows; or the artifact's ranges of the last round",
            &["empty-first", "ranges"],
            "empty-first",
            "NSDI 2026 section 4.1",
        ),
        Param::count(
            "mice_packets",
            "packets",
            "first packets of a flow, which go through the mice queue",
            [10, 0, 254],
            "NSDI 2026 section 4.1",
        ),
        Param::time(
            "idle_timeout",
            "a flow silent for so long is forgotten",
            10 * SEC,
            MS,
            1000 * SEC,
            "NSDI 2026 section 6.4",
        )
        .zero("never"),
        Param::size(
            "quantum",
            "what a queue may send in a turn, on average over the queues",
            FRAME_BYTES,
            256,
            1 << 20,
            "open in NSDI 2026: Ethernet's MTU and header",
        ),
        Param::choice(
            "inner",
            "discipline in each queue",
            &["droptail", "titrate", "codel"],
            "droptail",
            "as published; NSDI 2026 section 6.5 leaves others open",
        ),
        Param::time(
            "target",
            "inner = codel: sojourn time that is fine to stand",
            5 * MS,
            US,
            10 * SEC,
            "RFC 8289 section 4.4",
        ),
        Param::time(
            "interval",
            "inner = codel: how long the target may be missed",
            100 * MS,
            US,
            60 * SEC,
            "RFC 8289 section 4.3",
        ),
        Param::time(
            "window",
            "inner = titrate: length of a monitoring interval",
            500 * MS,
            MS,
            4 * SEC,
            "Titrate, NSDI 2026 section 5.1",
        ),
        Param::flag(
            "ecn",
            "inner = titrate or codel: mark packets of ECN-capable senders instead of dropping them",
            false,
            "open in NSDI 2026",
        ),
        Param::size(
            "mtu",
            "inner = titrate or codel: a full packet, as the link counts it",
            FRAME_BYTES,
            64,
            65535,
            "Ethernet's MTU and header",
        ),
        Param::flag(
            "hell",
            "a further queue, with the share of one flow, for flows that never back off",
            false,
            "NSDI 2026 section 8",
        ),
        Param::ratio(
            "hell_loss",
            "",
            "loss, as part of what it offers, that a flow which backs off does not go on with",
            0.2,
            0.01,
            1.0,
            "open in NSDI 2026; see this page",
        ),
        Param::count(
            "hell_rounds",
            "rounds",
            "so many in a row before a flow goes there, or leaves",
            [3, 1, 100],
            "open in NSDI 2026; see this page",
        ),
    ],
    probes: &[
        Probe { name: "round", unit: "" },
        Probe { name: "flows", unit: "" },
        Probe { name: "moves_up", unit: "" },
        Probe { name: "moves_down", unit: "" },
        Probe { name: "untracked_packets", unit: "" },
    ],
    needs_random: true,
    queue_names,
    needs_flow: true,
    rules: &[
        inner("target", &[CODEL]),
        inner("interval", &[CODEL]),
        inner("window", &[TITRATE]),
        hell("hell_loss"),
        hell("hell_rounds"),
    ],
    ..Info::PLAIN
};

const CODEL: Value = Value::Choice("codel");
const TITRATE: Value = Value::Choice("titrate");

const fn inner(param: &'static str, values: &'static [Value]) -> Rule {
    Rule {
        param,
        other: "inner",
        beside: Beside::One(values),
        why: "it is a parameter of the inner discipline",
    }
}

const fn hell(param: &'static str) -> Rule {
    let on = Beside::One(&[Value::Flag(true)]);
    Rule { param, other: "hell", beside: on, why: "it says who goes to that queue" }
}

fn queue_names(spec: &Spec) -> Vec<String> {
    let queues = match spec.get("queues") {
        Some(Value::Int(k)) => k,
        _ => 0,
    };
    let hell = (spec.get("hell") == Some(Value::Flag(true))).then(|| "hell".into());
    let numbered = (1..=queues).map(|i| format!("q{i}"));
    std::iter::once("mice".into()).chain(numbered).chain(hell).collect()
}
