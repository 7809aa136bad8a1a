use crate::params::{FRAME_BYTES, MS, SEC, US};
use crate::{
    Beside, Info, Network, POLICY_ACTIONS, POLICY_INPUTS, POLICY_OBSERVATIONS, POLICY_ONE, Param, Probe,
    Rule, Tensor,
};

pub(super) const INFO: Info = Info {
    name: "queuepilot",
    title: "QueuePilot",
    about: "a policy chooses every step how many arrivals to mark; scripted unless it is given weights",
    source: "Dery, Krupnik, Keslassy, INFOCOM 2023, and the authors' program",
    explain: include_str!("../../pages/queuepilot.md"),
    params: &[
        Param::file(
            "weights",
            "a learned policy's, from a file; none: the scripted policy",
            "none are published; the format is in docs/scenario.md",
        ),
        Param::time("step", "between two choices", 5 * MS, 100 * US, SEC, "INFOCOM 2023 section III"),
        Param::rate(
            "rate",
            "of the link, by which counts are normalised; left out: the port's, where it is known; auto: as measured while packets wait",
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
        )
        .tunable(),
        Param::count(
            "action",
            "",
            "scripted policy: which of 0, 1, 5, 10, 50, 100 % to mark with",
            [3, 0, 5],
            "INFOCOM 2023 section III; the choice is ours",
        )
        .tunable(),
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
        Param::choice(
            "actions",
            "what an action is: a part of arrivals to mark, a threshold of the queue, one of RED's curves, or a part of arrivals to mark or else drop",
            &["marking", "threshold", "red", "dropping"],
            "marking",
            "INFOCOM 2023 section III; red: ACC, SIGCOMM 2021, as reconstructed here; dropping is ours",
        ),
        Param::size(
            "wire_overhead",
            "what a frame takes on the wire beyond what the link counts",
            24,
            0,
            1000,
            "Ethernet's preamble, gap and checksum",
        ),
        Param::size(
            "mtu",
            "a full packet as the link counts it",
            FRAME_BYTES,
            64,
            65536,
            "the authors' program",
        ),
    ],
    probes: &[
        Probe { name: "mark_probability", unit: "" },
        Probe { name: "mean_queue_packets", unit: "packets" },
        Probe { name: "reward_plus_1", unit: "" },
    ],
    needs_random: true,
    always_marks: true,
    network: Some(&NETWORK),
    rules: &[scripted("threshold"), scripted("action")],
    ..Info::PLAIN
};

const fn scripted(param: &'static str) -> Rule {
    Rule {
        param,
        other: "weights",
        beside: Beside::Without,
        why: "it is of the scripted policy, which they replace",
    }
}

const fn matrix(name: &'static str, rows: usize, columns: usize) -> Tensor {
    Tensor { name, rows, columns: Some(columns) }
}

const fn bias(name: &'static str, rows: usize) -> Tensor {
    Tensor { name, rows, columns: None }
}

const OBSERVATIONS: [(&str, u32); POLICY_OBSERVATIONS] = [
    ("sent", 1),
    ("queue_of_buffer", 1),
    ("queue_in_steps", 30),
    ("arrived", 3),
    ("dropped", 1),
    ("marked_of_arrived", 1),
];
const ACTIONS_PERCENT: [u32; POLICY_ACTIONS] = [0, 1, 5, 10, 50, 100];
/// Of the LSTM, and of the layers behind it.
const UNITS: usize = 32;
const WIDTH: usize = 64;

/// `struct qw_queuepilot_net`, and what stands around it.
static NETWORK: Network = Network {
    dimensions: &[
        ("inputs", POLICY_INPUTS as u32),
        ("units", UNITS as u32),
        ("width", WIDTH as u32),
        ("actions", POLICY_ACTIONS as u32),
    ],
    observations: &OBSERVATIONS,
    actions_percent: &ACTIONS_PERCENT,
    gates: &["input", "forget", "cell", "output"],
    weight_one: 4096,
    activation_one: POLICY_ONE,
    tensors: &[
        matrix("input", 4 * UNITS, POLICY_INPUTS),
        matrix("hidden", 4 * UNITS, UNITS),
        bias("gate_bias", 4 * UNITS),
        matrix("first", WIDTH, UNITS),
        bias("first_bias", WIDTH),
        matrix("second", WIDTH, WIDTH),
        bias("second_bias", WIDTH),
        matrix("last", POLICY_ACTIONS, WIDTH),
        bias("last_bias", POLICY_ACTIONS),
    ],
};
