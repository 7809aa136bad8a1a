//! How much each reader takes at most: what is larger is refused, in little memory, before it is made anything of. The readers of
//! all crates have their bounds from here, and docs/scenario.md its table.

use std::fmt::Write;

/// The bounds of one kind of input.
#[derive(Debug, Clone, Copy)]
pub struct Limit {
    /// What it is, for people.
    pub of: &'static str,
    /// Bytes.
    pub bytes: u64,
    /// How many of what; 0: as its bytes hold.
    pub items: (u64, &'static str),
    /// How deep one lies in another; 0: it has no depth.
    pub depth: u32,
}

const MB: u64 = 1 << 20;

/// A reader with a bound in bytes alone.
const PLAIN: Limit = Limit { of: "", bytes: 0, items: (0, ""), depth: 0 };

/// Scenarios, and what says how a figure is drawn. The depth is that of the `toml` crate.
pub const TOML: Limit = Limit {
    of: "scenario or figure (TOML)",
    bytes: 16 * MB,
    items: (100_000, "keys, values and brackets; 1000000 words, spaces, comments and ends of lines"),
    depth: 80,
};
/// Scenarios that are no files.
pub const JSON: Limit = Limit {
    of: "scenario (JSON) or Python's dict",
    bytes: 16 * MB,
    items: (100_000, "keys and values"),
    depth: 8,
};
/// Link traces.
pub const TRACE: Limit = Limit { of: "trace", bytes: 64 * MB, items: (8_000_000, "lines"), ..PLAIN };
/// Tables of sizes.
pub const SIZES: Limit = Limit { of: "table of sizes", bytes: 64 * MB, items: (1_000_000, "sizes"), ..PLAIN };
/// Tables of flows.
pub const FLOWS: Limit = Limit { of: "table of flows", bytes: 64 * MB, items: (100_000, "flows"), ..PLAIN };
/// Tables of pages: of their flows.
pub const PAGES: Limit =
    Limit { of: "table of web pages, of which 10000", bytes: 64 * MB, items: (1_000_000, "flows"), ..PLAIN };
/// Profiles of applications.
pub const PROFILES: Limit = Limit { of: "profiles of applications (probes)", bytes: MB, ..PLAIN };
/// Packet captures.
pub const CAPTURE: Limit =
    Limit { of: "packet capture (pcap, pcapng)", bytes: 1024 * MB, items: (1_000_000, "flows"), ..PLAIN };
/// What is made of all that a scenario names.
pub const HELD: Limit =
    Limit { of: "data files of a scenario together, as held in memory", bytes: 128 * MB, ..PLAIN };
/// Policies.
pub const POLICY: Limit = Limit { of: "policy", bytes: 4 * MB, ..JSON };
/// Disciplines of a user's own.
pub const OWN: Limit =
    Limit { of: "header of your own (`./late.h`)", bytes: queuewright_aqm::own::MAX_BYTES, ..PLAIN };
/// Each data file beside an experiment.
pub const DATA: Limit = Limit { of: "data file of an experiment", bytes: 64 * MB, ..PLAIN };
/// A folder of experiments.
pub const EXPERIMENTS: Limit =
    Limit { of: "folder of experiments", bytes: 256 * MB, items: (10_000, "files"), depth: 8 };
/// What `reproduce` keeps of each run.
pub const KEPT_RUNS: Limit = Limit { of: "runs that reproduce has kept", bytes: 1024 * MB, ..PLAIN };
/// What `reproduce --resume` goes on with.
pub const RESUMED: Limit = Limit { of: "reproduce.json (--resume)", bytes: MB, ..PLAIN };
/// `validate --measured`.
pub const MEASURED: Limit = Limit { of: "measured results (validate --measured)", bytes: 16 * MB, ..PLAIN };
/// What a recording of the lab is, packed; and unpacked.
pub const RECORDING: Limit = Limit { of: "recording (validate *.replay)", bytes: 16 * MB, ..PLAIN };
/// See [`RECORDING`].
pub const UNPACKED: Limit = Limit { of: "recording, unpacked", bytes: 64 * MB, ..PLAIN };
/// packetdrill's scripts; the depth is that of expressions.
pub const SCRIPT: Limit = Limit { of: "packetdrill script", bytes: 4 * MB, depth: 32, ..PLAIN };
/// The token of the metrics.
pub const TOKEN: Limit = Limit { of: "token (--token-file)", bytes: 4096, ..PLAIN };

/// What pictures show of a scenario: the first so many seeds, of so many samples.
pub const SHOWN_SEEDS: usize = 5;
/// See [`SHOWN_SEEDS`].
pub const SHOWN_SAMPLES: usize = 2000;

/// All of them, as the page has them.
const ALL: [&Limit; 20] = [
    &TOML,
    &JSON,
    &TRACE,
    &SIZES,
    &FLOWS,
    &PAGES,
    &PROFILES,
    &CAPTURE,
    &HELD,
    &POLICY,
    &OWN,
    &DATA,
    &EXPERIMENTS,
    &KEPT_RUNS,
    &RESUMED,
    &MEASURED,
    &RECORDING,
    &UNPACKED,
    &SCRIPT,
    &TOKEN,
];

/// The page's table.
pub fn limits_page() -> String {
    let mut page = String::from("| input | bytes | items | depth |\n|---|---|---|---|\n");
    for limit in ALL {
        let bytes = match limit.bytes {
            n if n < MB => format!("{n}"),
            n => format!("{} MB", n / MB),
        };
        let items = match limit.items {
            (0, _) => String::new(),
            (n, what) => format!("{n} {what}"),
        };
        let depth = if limit.depth == 0 { String::new() } else { limit.depth.to_string() };
        let _ = writeln!(page, "| {} | {bytes} | {items} | {depth} |", limit.of);
    }
    let _ = writeln!(page, "| memory of a run, as estimated | {} MB | | |", crate::memory::MAX_MEMORY / MB);
    page
}
