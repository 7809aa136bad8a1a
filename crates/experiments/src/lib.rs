//! The figures and tables of the papers, as experiments that anyone can run.
//!
//! An experiment is a scenario file, `PAPER/NAME.toml`, and beside it `PAPER/NAME.figure.toml`, which
//! says what of the scenario is varied, how the figure looks, which values were published, and what
//! the paper claims. [`Catalogue`] finds experiments, [`Plan`] knows their cases and which runs are
//! still to make, [`Store`] keeps what of each run counts, [`finish`] makes data, pictures and verdicts.

mod cases;
mod catalogue;
mod claims;
mod data;
mod derive;
#[doc(hidden)] // for the pictures of suites
pub mod draw;
mod figure;
mod measure;
mod nulls;
mod outcome;
mod output;
mod page;
mod plan;
mod points;
mod rows;
mod statements;
mod store;

pub use cases::Case;
pub use catalogue::{Catalogue, Experiment, VARIANTS, figure_of};
pub use claims::{Judged, Verdict, WithCause, WithNull, figures};
pub use figure::{CauseKind, Figure, Form};
pub use measure::reward;
pub use nulls::{Null, NullRuns};
pub use output::{Beside, Drawing, Outcome, finish, missed, outcome, summary};
pub use plan::{Options, Plan, Unit};
pub use queuewright_results::measures::mean;
pub use rows::Spread;
pub use store::{Record, Store};

use std::fmt;

/// Why an experiment cannot be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// Wrong input: a name, a file.
    Input(String),
    /// Something that could not be written or drawn.
    Output(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Input(text) | Error::Output(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}
