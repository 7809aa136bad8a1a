//! What the papers say, each statement by itself: `statements/PAPER.toml`, written from the papers alone, before any run judged them.

use crate::claims::{Judged, Verdict};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Every file of `statements/`, by its name.
static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/statements.rs"));

/// What a statement is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum About {
    /// The paper's own system.
    System,
    /// Other systems alone.
    Baseline,
    /// A value that the paper's text does not have, and the artifact beside it does.
    Artifact,
}

#[derive(Deserialize)]
struct File {
    #[serde(rename = "statement")]
    statements: Vec<Statement>,
}

#[derive(Deserialize)]
struct Statement {
    id: String,
    about: About,
}

/// The statements of a paper, by their names; none, if there is no file of them.
pub(crate) fn of(paper: &str) -> BTreeMap<String, About> {
    let found = FILES.iter().find(|(name, _)| name.strip_suffix(".toml") == Some(paper));
    // A test reads them all.
    let file = found.and_then(|(_, text)| toml::from_slice::<File>(text).ok());
    file.into_iter().flat_map(|file| file.statements).map(|s| (s.id, s.about)).collect()
}

/// How many statements there are, and what was found of those that are judged.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) all: usize,
    pub(crate) holds: usize,
    pub(crate) no: usize,
    pub(crate) unsure: usize,
}

/// Of each kind of statement, and of the claims that judge none, which are our own.
pub(crate) fn tally(paper: &str, claims: &[&Judged]) -> (BTreeMap<About, Tally>, Tally) {
    let statements = of(paper);
    let mut kinds: BTreeMap<About, Tally> = BTreeMap::new();
    for (id, about) in &statements {
        let kind = kinds.entry(*about).or_default();
        kind.all += 1;
        let verdicts = claims.iter().filter(|c| c.statements.contains(id)).map(|c| c.verdict);
        kind.add(verdicts);
    }
    let mut own = Tally::default();
    for claim in claims.iter().filter(|c| c.statements.is_empty()) {
        own.all += 1;
        own.add([claim.verdict].into_iter());
    }
    (kinds, own)
}

impl Tally {
    /// One that several claims judge holds if all of them do.
    fn add(&mut self, verdicts: impl Iterator<Item = Verdict>) {
        let order = |v: &Verdict| match v {
            Verdict::No => 3,
            Verdict::Unsure => 2,
            Verdict::Unknown => 1,
            Verdict::Holds => 0,
        };
        match verdicts.max_by_key(order) {
            Some(Verdict::Holds) => self.holds += 1,
            Some(Verdict::No) => self.no += 1,
            Some(Verdict::Unsure) => self.unsure += 1,
            Some(Verdict::Unknown) | None => {}
        }
    }

    pub(crate) fn judged(&self) -> usize {
        self.holds + self.no + self.unsure
    }
}
