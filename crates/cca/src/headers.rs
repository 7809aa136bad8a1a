//! The program's congestion controls in C, headers of `cca/`: names, sources, what they need. `docs/controls/` has their rules.

use crate::hosted::{Compiled, header};
use crate::{Info, Linux};

header!(
    Bbr3Header,
    qw_control_bbr3,
    Info {
        name: "bbr3",
        about: "model of bandwidth, round trip and bearable loss, paced (version 3)",
        source: "draft-ietf-ccwg-bbr-06",
        own_control: true,
        buffered_windows: 3,
        header: Some("bbr3.h"),
        explain: include_str!("../../../docs/controls/bbr3.md"),
        ..Info::PLAIN
    }
);
/// BBR, version 3.
pub type Bbr3 = Compiled<Bbr3Header>;

header!(
    PragueHeader,
    qw_control_prague,
    Info {
        name: "prague",
        about: "yields as much as was marked, for L4S queues (ECN)",
        source: "draft-briscoe-iccrg-prague-congestion-control",
        needs_ecn: true,
        ect1: true,
        own_control: true,
        header: Some("prague.h"),
        explain: include_str!("../../../docs/controls/prague.md"),
        ..Info::PLAIN
    }
);
/// TCP Prague.
pub type Prague = Compiled<PragueHeader>;

header!(
    WestwoodHeader,
    qw_control_westwood,
    Info {
        name: "westwood",
        about: "Reno that goes back to what the path delivered",
        source: "Mascolo et al. 2001, 2004; Linux tcp_westwood.c",
        linux: Some(Linux { name: "westwood", module: Some("tcp_westwood") }),
        header: Some("westwood.h"),
        explain: include_str!("../../../docs/controls/westwood.md"),
        ..Info::PLAIN
    }
);
/// Westwood+.
pub type Westwood = Compiled<WestwoodHeader>;

header!(
    LedbatPpHeader,
    qw_control_ledbat_pp,
    Info {
        name: "ledbat-pp",
        about: "LEDBAT++: yields to all others, and to its like",
        source: "draft-irtf-iccrg-ledbat-plus-plus",
        header: Some("ledbat_pp.h"),
        explain: include_str!("../../../docs/controls/ledbat-pp.md"),
        ..Info::PLAIN
    }
);
/// LEDBAT++.
pub type LedbatPp = Compiled<LedbatPpHeader>;

header!(
    CopaHeader,
    qw_control_copa,
    Info {
        name: "copa",
        about: "holds a few packets in the queue, paced",
        source: "Arun and Balakrishnan, NSDI 2018",
        own_control: true,
        header: Some("copa.h"),
        explain: include_str!("../../../docs/controls/copa.md"),
        ..Info::PLAIN
    }
);
/// Copa.
pub type Copa = Compiled<CopaHeader>;
