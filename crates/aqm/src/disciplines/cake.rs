use crate::params::{FRAME_BYTES, MS, SEC, US};
use crate::{Info, Param, Probe};

/// tc's keywords: `qw_cake_framing_of()` has what they stand for.
const FRAMINGS: &[&str] = &[
    "raw",
    "noatm",
    "atm",
    "ptm",
    "conservative",
    "ipoa-vcmux",
    "ipoa-llcsnap",
    "bridged-vcmux",
    "bridged-llcsnap",
    "pppoa-vcmux",
    "pppoa-llc",
    "pppoe-vcmux",
    "pppoe-llcsnap",
    "bridged-ptm",
    "pppoe-ptm",
    "docsis",
    "ethernet",
];

pub(super) const INFO: Info = Info {
    name: "cake",
    title: "CAKE",
    about: "a home router's all in one: shaper, priorities by DSCP, fair to hosts and their flows, COBALT in each queue",
    source: "Høiland-Jørgensen, Täht, Morton, LANMAN 2018; Linux sch_cake",
    explain: include_str!("../../pages/cake.md"),
    params: &[
        Param::rate("bandwidth", "of its own shaper", 0, 8_000, 1_000_000_000_000, "Linux sch_cake")
            .zero("unlimited"),
        Param::choice(
            "diffserv",
            "the tins, and which of them a DSCP goes to",
            &["diffserv3", "diffserv4", "diffserv8", "besteffort", "precedence"],
            "diffserv3",
            "Linux sch_cake",
        ),
        Param::choice(
            "isolation",
            "who is told apart: hosts by one side, both, or neither, flows of theirs, or both",
            &[
                "flowblind",
                "srchost",
                "dsthost",
                "hosts",
                "flows",
                "dual-srchost",
                "dual-dsthost",
                "triple-isolate",
            ],
            "triple-isolate",
            "Linux sch_cake",
        ),
        Param::time(
            "rtt",
            "about the longest common RTT, CoDel's interval; its target is a twentieth",
            100 * MS,
            US,
            3600 * SEC,
            "Linux sch_cake (internet)",
        ),
        Param::choice(
            "framing",
            "what the link makes of a packet, by tc's keyword; raw: nothing",
            FRAMINGS,
            "raw",
            "tc-cake(8)",
        ),
        Param::size(
            "overhead",
            "what the link adds to an IP packet, instead of the keyword's",
            0,
            1,
            256,
            "tc-cake(8)",
        )
        .zero("auto"),
        Param::size(
            "mpu",
            "shortest packet on the link, with its overhead, instead of the keyword's",
            0,
            1,
            256,
            "tc-cake(8)",
        )
        .zero("auto"),
        Param::size(
            "memlimit",
            "bytes in all queues; more cost the longest queue its head; auto: four times what `rtt` holds",
            0,
            FRAME_BYTES,
            1 << 31,
            "Linux sch_cake",
        )
        .zero("auto"),
        Param::flag("wash", "set the DSCP of what passes to 0", false, "Linux sch_cake"),
        Param::flag(
            "ingress",
            "the slow link is before this one: what is dropped here counts as sent",
            false,
            "Linux sch_cake",
        ),
        Param::flag(
            "autorate",
            "`bandwidth` follows what arrives (autorate-ingress)",
            false,
            "Linux sch_cake",
        ),
        Param::size(
            "mtu",
            "a full packet of the device",
            FRAME_BYTES,
            1,
            65535,
            "Linux sch_cake: Ethernet's",
        ),
    ],
    probes: &[
        Probe { name: "bulk_flows", unit: "" },
        Probe { name: "collisions", unit: "" },
        Probe { name: "unresponsive_flows", unit: "" },
        Probe { name: "bandwidth", unit: "Mbit/s" },
    ],
    needs_random: true,
    needs_flow: true,
    needs_hosts: true,
    needs_dscp: true,
    needs_frame: true,
    always_marks: true,
    ..Info::PLAIN
};
