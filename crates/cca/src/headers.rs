//! The program's congestion controls in C, headers of `cca/`: names, sources, what they need. `docs/controls/` has their rules.

use crate::hosted::header;
use crate::{Info, Linux};

header!(
    BBR3,
    qw_control_bbr3,
    Info {
        name: "bbr3",
        about: "model of bandwidth, round trip and bearable loss, paced (version 3)",
        source: "draft-ietf-ccwg-bbr-06",
        own_control: true,
        header: Some("bbr3.h"),
        explain: include_str!("../pages/bbr3.md"),
        ..Info::PLAIN
    }
);
header!(
    PRAGUE,
    qw_control_prague,
    Info {
        name: "prague",
        about: "yields as much as was marked, for L4S queues (ECN)",
        source: "draft-briscoe-iccrg-prague-congestion-control",
        needs_ecn: true,
        ect1: true,
        own_control: true,
        header: Some("prague.h"),
        explain: include_str!("../pages/prague.md"),
        ..Info::PLAIN
    }
);
header!(
    WESTWOOD,
    qw_control_westwood,
    Info {
        name: "westwood",
        about: "Reno that goes back to what the path delivered",
        source: "Mascolo et al. 2001, 2004; Linux tcp_westwood.c",
        linux: Some(Linux { name: "westwood", module: Some("tcp_westwood") }),
        header: Some("westwood.h"),
        explain: include_str!("../pages/westwood.md"),
        ..Info::PLAIN
    }
);
header!(
    LEDBAT_PP,
    qw_control_ledbat_pp,
    Info {
        name: "ledbat-pp",
        about: "LEDBAT++: yields to all others, and to its like",
        source: "draft-irtf-iccrg-ledbat-plus-plus",
        header: Some("ledbat_pp.h"),
        explain: include_str!("../pages/ledbat-pp.md"),
        ..Info::PLAIN
    }
);
header!(
    COPA,
    qw_control_copa,
    Info {
        name: "copa",
        about: "holds a few packets in the queue, paced",
        source: "Arun and Balakrishnan, NSDI 2018",
        own_control: true,
        header: Some("copa.h"),
        explain: include_str!("../pages/copa.md"),
        ..Info::PLAIN
    }
);
