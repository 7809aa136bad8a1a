use crate::params::{FRAME_BYTES, MS, SEC};
use crate::{Info, Param, Probe};

pub(super) const INFO: Info = Info {
    name: "cp-aqm",
    title: "CP-AQM",
    about: "police the congestion that arrivals cause: bursts may fill the queue, a standing queue may not",
    source: "Menth, Veith, MMB 2018",
    explain: include_str!("../../pages/cp-aqm.md"),
    params: &[
        Param::rate(
            "rate",
            "R_CA, at which tokens come; auto: as the link sends, whatever its rate is",
            0,
            1_000,
            1_000_000_000_000,
            "MMB 2018 section 3.3: the link's rate; auto is what its section 5 asks for",
        )
        .zero("auto"),
        Param::size(
            "threshold",
            "Tc: a shorter queue is no congestion",
            5 * FRAME_BYTES,
            0,
            1 << 32,
            "MMB 2018 section 4.5: 5 packets",
        ),
        Param::ratio(
            "cmax",
            "",
            "congestion of a full queue; 1 is tail drop",
            1.2,
            1.0,
            16.0,
            "MMB 2018 section 4.5",
        ),
        Param::size(
            "bucket",
            "B_CA: tokens that the bucket holds; auto: 1.5 times Qmax",
            0,
            1,
            1 << 32,
            "MMB 2018 section 3.3",
        )
        .zero("auto"),
        Param::time(
            "burst",
            "Qmax is the buffer, but no more than the link sends in this time",
            100 * MS,
            MS,
            8 * SEC,
            "not in MMB 2018, whose buffer is 36 ms; a common round trip, see this page",
        )
        .zero("off"),
        Param::time(
            "window",
            "memory of the link's rate, which counts while the link idles, and for Qmax",
            100 * MS,
            MS,
            8 * SEC,
            "this project's; makes little difference, see this page",
        ),
        Param::size(
            "mtu",
            "a full packet, as the link counts it",
            FRAME_BYTES,
            64,
            65536,
            "Ethernet's MTU and header",
        ),
    ],
    probes: &[
        Probe { name: "missing_tokens", unit: "bytes" },
        Probe { name: "congestion", unit: "" },
        Probe { name: "link_rate", unit: "bit/s" },
        Probe { name: "qmax", unit: "bytes" },
    ],
    polices: true,
    ..Info::PLAIN
};
