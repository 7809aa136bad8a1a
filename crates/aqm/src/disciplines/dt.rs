use crate::{Info, Param, Probe};

pub(super) const INFO: Info = Info {
    name: "dt",
    title: "Dynamic Thresholds",
    about: "keep each port's queue below a multiple of what is free of the shared buffer",
    source: "Choudhury and Hahne, IEEE/ACM ToN 6(2), 1998",
    explain: include_str!("../../pages/dt.md"),
    params: &[Param::ratio(
        "alpha",
        "",
        "threshold as a multiple of the free buffer",
        1.0,
        1.0 / 64.0,
        64.0,
        "Choudhury and Hahne, section III: 1 as the example; switches take powers of 2",
    )],
    probes: &[Probe { name: "threshold_bytes", unit: "bytes" }],
    needs_pool: true,
    ..Info::PLAIN
};
