use crate::Info;

pub(super) const INFO: Info = Info {
    name: "droptail",
    title: "Tail drop",
    about: "drop what does not fit the buffer",
    source: "aqm/droptail.h; what a router does where nobody has chosen a discipline",
    explain: include_str!("../../pages/droptail.md"),
    params: &[],
    probes: &[],
    polices: true,
    ns3: true,
    ..Info::PLAIN
};
