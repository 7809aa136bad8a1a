use crate::params::{MS, SEC, US};
use crate::{Info, Param, Probe};

pub(super) const INFO: Info = Info {
    name: "cobalt",
    title: "COBALT",
    about: "CoDel that forgets slowly, and BLUE against what does not yield",
    source: "Linux sch_cake; Høiland-Jørgensen, Täht, Morton, LANMAN 2018",
    explain: include_str!("../../pages/cobalt.md"),
    params: &[
        Param::time(
            "target",
            "sojourn time that is fine to stand",
            5 * MS,
            US,
            10 * SEC,
            "Linux sch_cake (internet)",
        ),
        Param::time(
            "interval",
            "how long the target may be missed: about the longest common RTT",
            100 * MS,
            US,
            4 * SEC,
            "Linux sch_cake (internet)",
        ),
        Param::time(
            "mtu_time",
            "the link's time for a full packet, of which four are within the target in any case",
            0,
            1,
            SEC,
            "Linux sch_cake without a shaper",
        )
        .zero("off"),
        Param::probability(
            "p_inc",
            "step up of BLUE's drop probability when the buffer overflows",
            1.0 / 256.0,
            "Linux sch_cake",
        ),
        Param::probability(
            "p_dec",
            "step down of BLUE's drop probability when the queue runs empty",
            1.0 / 4096.0,
            "Linux sch_cake",
        ),
        Param::flag(
            "ecn",
            "mark packets of ECN-capable senders where CoDel's law would drop them",
            true,
            "Linux sch_cake: always",
        ),
    ],
    probes: &[
        Probe { name: "count", unit: "" },
        Probe { name: "dropping", unit: "" },
        Probe { name: "drop_probability", unit: "" },
    ],
    needs_random: true,
    ..Info::PLAIN
};
