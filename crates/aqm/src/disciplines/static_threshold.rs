use crate::{Info, Param, Probe};

pub(super) const INFO: Info = Info {
    name: "static",
    title: "Static threshold",
    about: "tail drop at a queue length set by hand",
    source: "aqm/static.h; the buffer of a switch, tuned by its operator",
    explain: include_str!("../../pages/static.md"),
    params: &[Param::size(
        "threshold",
        "bytes that may wait; auto: half of the buffer",
        0,
        1,
        1 << 40,
        "no standard; 1 bdp is the textbook value",
    )
    .zero("auto")],
    probes: &[Probe { name: "threshold_bytes", unit: "bytes" }],
    polices: true,
    ..Info::PLAIN
};
