use crate::{Info, Param, Probe};

pub(super) const INFO: Info = Info {
    name: "afq",
    title: "AFQ",
    about: "approximate fair queueing: a FIFO queue for each of the next rounds, a sketch of how far each flow's bytes reach",
    source: "Sharma, Liu, Atreya and Krishnamurthy, NSDI 2018",
    explain: include_str!("../../pages/afq.md"),
    params: &[
        Param::count(
            "queues",
            "queues",
            "rounds ahead that a packet may belong to, the one under way among them",
            [32, 2, 1024],
            "the AFQ of A2FQ's authors, IEEE TNSE 2024",
        ),
        Param::size(
            "quantum",
            "what a flow may send in a round (BpR)",
            2048,
            256,
            1 << 20,
            "the AFQ of A2FQ's authors, IEEE TNSE 2024",
        ),
    ],
    probes: &[Probe { name: "round", unit: "" }, Probe { name: "beyond", unit: "packets" }],
    needs_flow: true,
    ..Info::PLAIN
};
