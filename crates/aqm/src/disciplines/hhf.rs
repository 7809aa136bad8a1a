use crate::params::{FRAME_BYTES, MS, SEC, US};
use crate::{Info, Param, Probe, Spec};

pub(super) const INFO: Info = Info {
    name: "hhf",
    title: "HHF",
    about: "heavy-hitter filter: flows that send much in a short time share a queue of their own, of less weight",
    source: "Linux sch_hhf; Estan and Varghese, SIGCOMM 2002",
    explain: include_str!("../../pages/hhf.md"),
    params: &[
        Param::count(
            "limit",
            "packets",
            "packets in both queues; more cost the heavy flows their oldest",
            [1000, 1, 1 << 30],
            "Linux sch_hhf",
        ),
        Param::size(
            "quantum",
            "what the heavy flows may send in a round",
            FRAME_BYTES,
            256,
            1 << 20,
            "Linux sch_hhf: Ethernet's MTU and header",
        ),
        Param::count(
            "non_hh_weight",
            "quanta",
            "what all others may send in a round",
            [2, 1, 1024],
            "Linux sch_hhf",
        ),
        Param::count("hh_limit", "flows", "heavy flows at a time", [2048, 1, 2048], "Linux sch_hhf"),
        Param::size(
            "admit_bytes",
            "a flow that sends more than this in a reset_timeout is heavy",
            128 << 10,
            1,
            1 << 30,
            "Linux sch_hhf",
        ),
        Param::time(
            "reset_timeout",
            "time after which bytes are counted anew",
            40 * MS,
            US,
            4_000 * SEC,
            "Linux sch_hhf",
        ),
        Param::time(
            "evict_timeout",
            "a heavy flow that sends nothing for as long is heavy no more",
            SEC,
            US,
            4_000 * SEC,
            "Linux sch_hhf",
        ),
    ],
    probes: &[
        Probe { name: "heavy_packets", unit: "packets" },
        Probe { name: "heavy_flows", unit: "flows" },
        Probe { name: "found", unit: "flows" },
        Probe { name: "no_room", unit: "packets" },
    ],
    needs_flow: true,
    queue_names: |_: &Spec| vec!["heavy".into(), "other".into()],
    ..Info::PLAIN
};
