use crate::params::{FRAME_BYTES, SEC};
use crate::{Info, Param, Probe};

pub(super) const INFO: Info = Info {
    name: "fq",
    title: "FQ",
    about: "a queue for every flow, served in turn, new flows first, tail drop by flow",
    source: "Linux sch_fq; Shreedhar and Varghese, SIGCOMM 1995",
    explain: include_str!("../../pages/fq.md"),
    params: &[
        Param::count("limit", "packets", "packets in all queues", [10_000, 1, 1 << 30], "Linux sch_fq"),
        Param::count(
            "flow_limit",
            "packets",
            "packets in one flow's queue",
            [100, 1, 1 << 30],
            "Linux sch_fq (flow_limit)",
        ),
        Param::size(
            "quantum",
            "what a flow may send in a round",
            2 * FRAME_BYTES,
            256,
            1 << 20,
            "Linux sch_fq: two full packets",
        ),
        Param::size(
            "initial_quantum",
            "what a new flow may send in its first round",
            10 * FRAME_BYTES,
            256,
            1 << 24,
            "Linux sch_fq: ten full packets, an initial window",
        ),
        Param::count(
            "orphan_mask",
            "",
            "bits of the flow's hash that choose its queue",
            [1023, 0, 65535],
            "Linux sch_fq (orphan_mask), for packets without a socket: those of a router",
        ),
        Param::time(
            "ce_threshold",
            "mark every ECN-capable packet that waited longer in a flow's queue",
            0,
            1,
            10 * SEC,
            "Linux sch_fq (ce_threshold)",
        )
        .zero("off"),
    ],
    probes: &[Probe { name: "active_queues", unit: "" }, Probe { name: "passed_packets", unit: "packets" }],
    needs_flow: true,
    ..Info::PLAIN
};
