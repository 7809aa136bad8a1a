use crate::params::{FRAME_BYTES, MS, SEC};
use crate::{Info, Param, Probe};

pub(super) const INFO: Info = Info {
    name: "sfq",
    title: "SFQ",
    about: "hash flows to queues, serve them in turn, the longest loses what does not fit",
    source: "McKenney, INFOCOM 1990; Linux sch_sfq",
    explain: include_str!("../../pages/sfq.md"),
    params: &[
        Param::count("limit", "packets", "packets in all queues", [127, 2, 1 << 30], "Linux sch_sfq"),
        Param::count("depth", "packets", "packets in one queue", [127, 1, 1 << 30], "Linux sch_sfq"),
        Param::count(
            "flows",
            "queues",
            "queues with packets at most",
            [128, 1, 65536],
            "Linux sch_sfq (SFQ_DEFAULT_FLOWS)",
        ),
        Param::count(
            "divisor",
            "queues",
            "queues that flows are hashed to",
            [1024, 1, 65536],
            "Linux sch_sfq (SFQ_DEFAULT_HASH_DIVISOR)",
        ),
        Param::size(
            "quantum",
            "what a queue may send in a round",
            FRAME_BYTES,
            256,
            1 << 20,
            "Linux sch_sfq: a full packet",
        ),
        Param::flag(
            "headdrop",
            "drop the longest queue's first packet instead of its last",
            false,
            "Linux sch_sfq",
        ),
        Param::time("perturb", "time between changes of the hash", 0, 100 * MS, 3600 * SEC, "Linux sch_sfq")
            .zero("never"),
    ],
    probes: &[Probe { name: "active_queues", unit: "" }],
    needs_random: true,
    needs_flow: true,
    ..Info::PLAIN
};
