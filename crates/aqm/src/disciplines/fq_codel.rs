use crate::params::{FRAME_BYTES, MS, MTU_BYTES, SEC, US};
use crate::{Info, Param, Probe};

pub(super) const INFO: Info = Info {
    name: "fq-codel",
    title: "FQ-CoDel",
    about: "hash flows to queues, serve them in turn, new ones first, CoDel in each",
    source: "RFC 8290; Linux sch_fq_codel",
    explain: include_str!("../../pages/fq-codel.md"),
    params: &[
        Param::time(
            "target",
            "sojourn time that is fine to stand in a queue",
            5 * MS,
            US,
            10 * SEC,
            "RFC 8290 section 5.2.2",
        ),
        Param::time(
            "interval",
            "how long the target may be missed: about the longest common RTT",
            100 * MS,
            US,
            60 * SEC,
            "RFC 8290 section 5.2.1",
        ),
        Param::flag(
            "ecn",
            "mark packets of ECN-capable senders instead of dropping them",
            true,
            "RFC 8290 section 5.2.6",
        ),
        Param::time(
            "ce_threshold",
            "mark every ECN-capable packet that waited longer, whatever `ecn` says",
            0,
            1,
            10 * SEC,
            "RFC 8290 section 5.2.7",
        )
        .zero("off"),
        Param::choice(
            "ce_threshold_for",
            "whom `ce_threshold` marks: all that are ECN-capable, or ECT(1) alone, as L4S senders say",
            &["ect", "ect1"],
            "ect",
            "Linux sch_fq_codel (ce_threshold_selector 0x1/0x3)",
        ),
        Param::count(
            "flows",
            "queues",
            "queues that flows are hashed to",
            [1024, 1, 65536],
            "RFC 8290 section 5.2.5",
        ),
        Param::size(
            "quantum",
            "what a queue may send in a round",
            FRAME_BYTES,
            256,
            1 << 20,
            "RFC 8290 section 5.2.4",
        ),
        Param::count(
            "limit",
            "packets",
            "packets in all queues; more cost the longest queue its head",
            [10240, 1, 1 << 30],
            "RFC 8290 section 5.2.3",
        ),
        Param::size(
            "memory_limit",
            "bytes in all queues, likewise",
            32 << 20,
            MTU_BYTES,
            1 << 40,
            "Linux sch_fq_codel",
        ),
        Param::count(
            "drop_batch",
            "packets",
            "most packets that one overflow costs",
            [64, 1, 65536],
            "RFC 8290 section 5.2.8; Linux sch_fq_codel",
        ),
        Param::size(
            "mtu",
            "never drop while no more than this waits",
            FRAME_BYTES,
            0,
            65535,
            "Linux sch_fq_codel: Ethernet's MTU and header",
        ),
    ],
    probes: &[Probe { name: "active_queues", unit: "" }, Probe { name: "new_flows", unit: "" }],
    needs_flow: true,
    ns3: true,
    ..Info::PLAIN
};
