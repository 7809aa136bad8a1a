//! Suites: folders of scenarios on which disciplines are run and scored.
//!
//! A suite is a folder with a `suite.toml`, which says what it is and by which measure disciplines are ranked, and
//! scenario files, each of which can be run on its own. [`Suite`] finds them, [`Plan`] knows the runs, [`Scores`] what
//! comes of these, [`pages`] writes it down. The program brings those of `suites/`.

pub mod advise;
mod catalogue;
pub mod findings;
pub mod harm;
mod page;
mod people;
mod picture;
mod plan;
mod score;

pub use catalogue::{About, Member, Suite, list};
pub use page::{pages, table};
pub use picture::pictures;
pub use plan::{Options, Plan, Unit};

pub(crate) use plan::without;
pub use score::{Scores, Standing};

/// Why a suite cannot be run: wrong input, in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(pub String);

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
