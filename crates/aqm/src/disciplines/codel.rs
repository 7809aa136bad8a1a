use crate::params::{FRAME_BYTES, MS, SEC, US};
use crate::{Info, Param, Probe};

pub(super) const INFO: Info = Info {
    name: "codel",
    title: "CoDel",
    about: "drop at the head, ever faster, while packets wait longer than a target",
    source: "RFC 8289; Linux sch_codel",
    explain: include_str!("../../pages/codel.md"),
    params: &[
        Param::time(
            "target",
            "sojourn time that is fine to stand",
            5 * MS,
            US,
            10 * SEC,
            "RFC 8289 section 4.3",
        ),
        Param::time(
            "interval",
            "how long the target may be missed: about the longest common RTT",
            100 * MS,
            US,
            60 * SEC,
            "RFC 8289 section 4.2",
        ),
        Param::flag(
            "ecn",
            "mark packets of ECN-capable senders instead of dropping them",
            false,
            "RFC 8289 section 5.7; Linux's default",
        ),
        Param::time(
            "ce_threshold",
            "mark every ECN-capable packet that waited longer, whatever `ecn` says",
            0,
            1,
            10 * SEC,
            "Linux sch_codel",
        )
        .zero("off"),
        Param::size(
            "mtu",
            "never drop while no more than this waits",
            FRAME_BYTES,
            0,
            65535,
            "Linux sch_codel: Ethernet's MTU and header",
        ),
    ],
    probes: &[Probe { name: "count", unit: "" }, Probe { name: "dropping", unit: "" }],
    ns3: true,
    ..Info::PLAIN
};
