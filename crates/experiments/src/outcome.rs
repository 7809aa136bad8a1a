//! What came of an experiment.

use crate::Null;
use crate::claims::{Judged, Verdict};
use serde::Serialize;

/// What came of an experiment.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome {
    /// `PAPER/NAME`.
    pub id: String,
    /// Folder: the paper.
    pub paper: String,
    /// Name in it.
    pub name: String,
    /// What the figure shows.
    pub title: String,
    /// The paper's figure or table.
    pub figure: String,
    /// The paper.
    pub source: String,
    /// What stands of the paper, Markdown.
    #[serde(skip)]
    pub stands: String,
    /// What a reader must know, Markdown.
    pub about: String,
    /// Runs that finished.
    pub runs: usize,
    /// Runs that were needed and are not there.
    pub missing: usize,
    /// Fewer seeds, shorter runs.
    pub quick: bool,
    /// The claims.
    pub claims: Vec<Judged>,
    /// The variants that were run, wrong ones and possible causes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nulls: Vec<Null>,
    /// Published values beside those measured.
    pub values: Vec<Beside>,
    /// The figure.
    #[serde(skip)]
    pub pictures: Vec<Drawing>,
}

/// A picture of a figure.
#[derive(Debug, Clone)]
pub struct Drawing {
    /// Its files in the paper's folder, without `.svg`, `.png`.
    pub file: String,
    /// What it shows, after the figure's title; none: the first.
    pub title: Option<String>,
    /// The picture.
    pub svg: String,
}

/// A published value and the one measured.
#[derive(Debug, Clone, Serialize)]
pub struct Beside {
    /// Measure with unit.
    pub measure: String,
    /// Of which case.
    pub at: String,
    /// Where in the paper.
    pub source: String,
    /// The value that the paper has, as written there.
    pub published: String,
    /// Measured, with the half-width of the mean's 95 % confidence interval.
    pub measured: String,
}

/// How many claims hold, do not, cannot be told, and have no data.
pub(crate) fn counts<'a>(claims: impl Iterator<Item = &'a Judged>) -> [usize; 4] {
    let mut counts = [0; 4];
    for claim in claims {
        counts[match claim.verdict {
            Verdict::Holds => 0,
            Verdict::No => 1,
            Verdict::Unsure => 2,
            Verdict::Unknown => 3,
        }] += 1;
    }
    counts
}
