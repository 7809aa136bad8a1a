//! The scenario file: TOML with tc's units, validated with one clear error, and
//! expanded into the concrete runs it stands for.
//!
//! ```
//! let text = r#"
//!     [link]
//!     rate = "20mbit"
//!     [[flows]]
//!     count = 2
//!     cca = "cubic"
//!     rtt = "20ms..80ms"
//!     [queue]
//!     disciplines = ["droptail", "codel"]
//!     [run]
//!     duration = "30s"
//!     seeds = "1..3"
//! "#;
//! let scenario = queuewright_scenario::Scenario::parse(text, "home.toml", ".".as_ref())?;
//! let runs = scenario.runs()?;
//! assert_eq!(runs.len(), 6);
//! assert_eq!(runs[0].flows.len(), 2);
//! # Ok::<(), queuewright_scenario::Error>(())
//! ```

pub mod capture;
mod client;
mod comes;
mod data;
mod discipline;
mod draw;
mod error;
mod flags;
mod flaws;
mod json;
mod model;
mod node;
mod params;
pub mod policy;
mod preset;
mod read;
mod rows;
mod sizes;
mod source;
pub mod spec;
pub mod trace;
mod traffic;
pub mod units;
mod voice;
mod write;

pub use client::{Client, Requests, Video};
pub use comes::{ArrivalRate, Arrivals, Burst, Comes, Pages, Pause};
pub use data::DataFile;
pub use error::{Error, Place};
pub use flags::Flags;
pub use model::{Change, Discipline, Flows, InitialWindow, Link, LinkRate, Run, Scenario, Sends, TraceFile};
pub use params::Setting;
pub use policy::{Policy, PolicyFile};
pub use preset::{PRESETS, Preset};
pub use rows::Rows;
pub use sizes::{SizeTable, Sizes};
pub use spec::RunSpec;
pub use voice::Codec;

use std::io::Read;
use std::path::Path;

/// Largest scenario file, bytes.
const MAX_FILE: u64 = 16 << 20;

impl Scenario {
    /// Reads and checks a scenario file. Paths in it start from its folder.
    ///
    /// # Errors
    /// The first thing wrong with the file, with its line; a file that cannot be read.
    pub fn read(path: &Path) -> Result<Scenario, Error> {
        Scenario::read_with(path, &Flags::default())
    }

    /// Reads a scenario file as if it said what the flags say. `--rtt` goes to all
    /// flows; `--rate` and `--trace` take the place of the file's rate, schedule or trace.
    ///
    /// # Errors
    /// As [`Scenario::read`]; for a flag, the flag's name.
    pub fn read_with(path: &Path, flags: &Flags) -> Result<Scenario, Error> {
        let name = path.display().to_string();
        let fail = |message: String| {
            let place = Place::File { name: name.clone(), line: 0 };
            Error::new(place, "", message)
        };
        let file = std::fs::File::open(path).map_err(|e| fail(data::unreadable(&e)))?;
        let mut bytes = Vec::new();
        file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(|e| fail(data::unreadable(&e)))?;
        if bytes.len() as u64 > MAX_FILE {
            return Err(fail("larger than 16 MB: not a scenario".into()));
        }
        let text = String::from_utf8(bytes).map_err(|e| {
            let line =
                1 + e.as_bytes()[..e.utf8_error().valid_up_to()].iter().filter(|b| **b == b'\n').count();
            let place = Place::File { name: name.clone(), line };
            Error::new(place, "", "not UTF-8 text")
        })?;
        let base = path.parent().unwrap_or(Path::new(""));
        Scenario::parse_with(&text, &name, base, flags)
    }

    /// Reads and checks the text of a scenario file. `file_name` is for errors;
    /// paths in the text start from `base_dir`.
    ///
    /// # Errors
    /// The first thing wrong with the text, with its line.
    pub fn parse(text: &str, file_name: &str, base_dir: &Path) -> Result<Scenario, Error> {
        Scenario::parse_with(text, file_name, base_dir, &Flags::default())
    }

    /// [`Scenario::parse`] as if the text said what the flags say.
    ///
    /// # Errors
    /// As [`Scenario::parse`]; for a flag, the flag's name.
    pub fn parse_with(
        text: &str,
        file_name: &str,
        base_dir: &Path,
        flags: &Flags,
    ) -> Result<Scenario, Error> {
        let mut root = node::parse_toml(text, file_name)?;
        flags.lay_over(&mut root)?;
        read::scenario(&root, base_dir)
    }

    /// A scenario from the command line alone: `rate` or `trace`, `flows` and, for
    /// TCP, `rtt` are needed; the rest has defaults.
    ///
    /// # Errors
    /// The first thing wrong, with the flag's name.
    pub fn from_flags(flags: &Flags) -> Result<Scenario, Error> {
        read::scenario(&flags.tree()?, Path::new(""))
    }
}
