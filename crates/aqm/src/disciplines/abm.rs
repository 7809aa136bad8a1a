use crate::{Info, Param, Probe};

pub(super) const INFO: Info = Info {
    name: "abm",
    title: "ABM",
    about: "Dynamic Thresholds, divided by how many ports are congested",
    source: "Addanki et al., SIGCOMM 2022",
    explain: include_str!("../../pages/abm.md"),
    params: &[Param::ratio(
        "alpha",
        "",
        "threshold of a lone congested queue as a multiple of the free buffer",
        0.5,
        1.0 / 64.0,
        64.0,
        "Addanki et al., section 4.1",
    )],
    probes: &[Probe { name: "threshold_bytes", unit: "bytes" }, Probe { name: "congested", unit: "ports" }],
    needs_pool: true,
    ..Info::PLAIN
};
