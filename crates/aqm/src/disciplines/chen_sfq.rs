use crate::{Info, Param, Probe};

pub(super) const INFO: Info = Info {
    name: "chen-sfq",
    title: "SFQ of Chen et al. (reconstruction)",
    about: "one queue that admits each flow by how far it is ahead of a common round",
    source: "Chen et al., IEEE/ACM ToN 32(5), 2024, as far as public: a reconstruction",
    explain: include_str!("../../pages/chen-sfq.md"),
    params: &[
        Param::ratio("depth", "buffers", "queue to settle at", 0.3, 0.0, 0.9, "ours: not public"),
        Param::ratio("ahead", "buffers", "how far ahead a flow may be", 0.3, 0.0, 0.99, "ours: not public"),
    ],
    probes: &[Probe { name: "active_flows", unit: "" }, Probe { name: "round", unit: "bytes" }],
    needs_flow: true,
    ..Info::PLAIN
};
