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

mod arrivals;
pub mod capture;
mod catalogue;
mod client;
mod codec;
mod data;
mod datagrams;
mod discipline;
mod draft;
mod draw;
mod error;
mod flags;
mod flow;
mod form;
mod impairments;
mod json;
pub mod keys;
pub mod limits;
mod memory;
mod model;
mod node;
pub mod own;
pub mod packet;
mod params;
mod plain;
pub mod policy;
mod preset;
mod probes;
mod python;
mod random;
mod rate;
mod read;
mod renamed;
mod replace;
mod requests;
mod rows;
mod schema;
mod setting;
mod sizes;
mod source;
pub mod spec;
mod stack;
mod streams;
pub mod trace;
mod traffic;
pub mod units;
mod write;

pub use arrivals::{ArrivalPattern, ArrivalRate, Arrivals, PageLoads, Pages, PagesFile, Pause};
pub use catalogue::{catalogue, unit_in_words};
pub use client::{Client, Video};
pub use data::{DataFile, Hashing, hex, open, read_file, read_text, unreadable};
pub use datagrams::{Datagrams, Gaps};
pub use draft::Draft;
pub use error::{Error, Place, nearest, one_line, suggest};
pub use flags::{DEFAULT_AQM, Flag, Flags};
pub use model::{
    Change, Discipline, Flows, InitialWindow, Link, LinkRate, Probes, Rows, Run, Scenario, TraceFile,
    TrafficModel,
};
pub use node::too_many_items;
pub use policy::{Policy, PolicyFile};
pub use preset::{PRESETS, Preset};
pub use python::python_types;
pub use queuewright_aqm::shared::once;
pub use renamed::Warning;
pub use requests::Requests;
pub use schema::json_schema;
pub use setting::Setting;
pub use sizes::{SizeTable, Sizes};
pub use source::Source;
pub use spec::RunSpec;
pub use write::header;

use std::path::Path;

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
        Draft::read(path)?.with(flags)?.scenario()
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
        Draft::parse(text, file_name, base_dir)?.with(flags)?.scenario()
    }

    /// A scenario from the command line alone: `rate` or `trace`, `flows` and, for
    /// TCP, `rtt` are needed; the rest has defaults.
    ///
    /// # Errors
    /// The first thing wrong, with the flag's name.
    pub fn from_flags(flags: &Flags) -> Result<Scenario, Error> {
        Draft::from_flags(flags)?.scenario()
    }
}
