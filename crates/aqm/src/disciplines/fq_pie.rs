use super::pie;
use crate::params::FRAME_BYTES;
use crate::{Info, Param, Probe};

pub(super) const INFO: Info = Info {
    name: "fq-pie",
    title: "FQ-PIE",
    about: "hash flows to queues, serve them in turn, new ones first, PIE in each",
    source: "Linux sch_fq_pie; RFC 8033",
    explain: include_str!("../../pages/fq-pie.md"),
    params: &[
        pie::TARGET,
        pie::TUPDATE,
        pie::ALPHA,
        pie::BETA,
        pie::MAX_BURST,
        pie::ECN,
        pie::ECN_THRESHOLD,
        pie::BYTEMODE,
        pie::ESTIMATOR,
        pie::MTU,
        Param::count(
            "flows",
            "queues",
            "queues that flows are hashed to",
            [1024, 1, 65536],
            "Linux sch_fq_pie",
        ),
        Param::size(
            "quantum",
            "what a queue may send in a round",
            FRAME_BYTES,
            256,
            1 << 20,
            "Linux sch_fq_pie: Ethernet's MTU and header",
        ),
        Param::count(
            "limit",
            "packets",
            "packets in all queues; what comes beyond is dropped",
            [10240, 1, 1 << 30],
            "Linux sch_fq_pie",
        ),
    ],
    probes: &[
        Probe { name: "active_queues", unit: "" },
        Probe { name: "new_flows", unit: "" },
        Probe { name: "drop_probability", unit: "" },
        Probe { name: "qdelay", unit: "ms" },
    ],
    needs_random: true,
    needs_flow: true,
    ..Info::PLAIN
};
