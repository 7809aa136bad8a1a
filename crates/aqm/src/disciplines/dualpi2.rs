use super::pi2::{ALPHA, BETA, COUPLING, MTU, TARGET, TUPDATE};
use crate::params::{MS, SEC};
use crate::{Info, Param, Probe, Spec};

pub(super) const INFO: Info = Info {
    name: "dualpi2",
    title: "DualPI2",
    about: "L4S: a queue of a millisecond for scalable senders beside a classic one, at like rates",
    source: "RFC 9332; Linux sch_dualpi2",
    explain: include_str!("../../pages/dualpi2.md"),
    params: &[
        TARGET,
        TUPDATE,
        ALPHA,
        BETA,
        COUPLING,
        Param::time(
            "step",
            "mark packets of the L queue that waited longer",
            MS,
            0,
            10 * SEC,
            "Linux sch_dualpi2 (step_thresh)",
        ),
        Param::count(
            "step_packets",
            "packets",
            "instead of by `step`: mark packets of the L queue that leave more than so many behind",
            [0, 0, 1_000_000],
            "Linux sch_dualpi2 (step_thresh)",
        )
        .zero("off"),
        Param::count(
            "classic_protection",
            "per cent",
            "the classic queue's share of the link while both queues wait",
            [10, 0, 100],
            "Linux sch_dualpi2",
        ),
        Param::flag(
            "drop_overload",
            "where marks can tell no more (k p > 1), drop in both queues; off: let the buffer overflow",
            true,
            "Linux sch_dualpi2 (drop_on_overload)",
        ),
        Param::flag(
            "drop_early",
            "decide at the tail instead of the head",
            false,
            "Linux sch_dualpi2 (drop_dequeue)",
        ),
        Param::choice(
            "l4s",
            "which packets go to the L queue: ECT(1) and CE, or ECT(0) as well",
            &["ect1", "any-ect"],
            "ect1",
            "RFC 9331 section 5.1; Linux sch_dualpi2 (l4s_ect)",
        ),
        MTU,
    ],
    probes: &[
        Probe { name: "base_probability", unit: "" },
        Probe { name: "qdelay", unit: "ms" },
        Probe { name: "classic_packets", unit: "" },
        Probe { name: "l4s_packets", unit: "" },
    ],
    needs_random: true,
    always_marks: true,
    needs_head: true,
    queue_names: |_: &Spec| vec!["classic".into(), "l4s".into()],
    ..Info::PLAIN
};
