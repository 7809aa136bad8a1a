//! Variants of a paper's experiments, which run beside them.
//!
//! Wrong variants of its system stand in `nulls.toml`: a claim about the system that holds for one of them, too, is no evidence for its
//! mechanism. Possible causes stand in `causes.toml`: a claim that does not hold, and holds with one of them, has that cause.

use crate::figure::{CauseKind, Filter, OneOrMany};
use crate::rows::Row;
use crate::{Error, Plan, Store};
use queuewright_scenario::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A variant of a paper's experiments.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Null {
    /// Short name, part of a file's: small letters, digits, hyphens.
    pub name: String,
    /// What is different, in a line.
    pub text: String,
    /// Of a possible cause: where it lies. None: it is a wrong variant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<CauseKind>,
    /// Labels of the disciplines in whose place it is; of a possible cause those of all if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<OneOrMany>,
    /// The discipline under that label, as in a scenario's `queue.disciplines`; that which is there if left out.
    pub put: Option<toml::Table>,
    /// Parameters that are different.
    #[serde(default)]
    pub set: toml::Table,
    /// What is different in the scenario, as of a sweep's value.
    #[serde(default)]
    pub scenario: toml::Table,
    /// Not in cases with these values of sweeps: those of a rival that has the same label, say.
    #[serde(default, skip_serializing_if = "Filter::is_empty")]
    pub except: Filter,
    /// In these experiments alone.
    #[serde(default)]
    pub only: Vec<String>,
}

/// A variant and its runs.
#[derive(Debug, Clone, Copy)]
pub struct NullRuns<'a> {
    /// The variant.
    pub null: &'a Null,
    /// Its cases.
    pub plan: &'a Plan,
    /// Its finished runs.
    pub store: &'a Store,
}

/// `nulls.toml`, or `causes.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default, rename = "null")]
    nulls: Vec<Null>,
    #[serde(default, rename = "cause")]
    causes: Vec<Null>,
    /// What stands of the paper, and what a reader takes from it: a few lines, Markdown.
    #[serde(default)]
    stands: String,
}

/// What both files of a paper say.
#[derive(Debug, Default)]
pub(crate) struct Variants {
    /// All variants.
    pub all: Vec<Null>,
    /// What stands of the paper.
    pub stands: String,
}

impl Variants {
    /// Reads a file. `name` is for errors.
    ///
    /// # Errors
    /// The first thing wrong.
    pub fn read(&mut self, text: &str, name: &str) -> Result<(), Error> {
        let wrong = |message: String| Error::Input(format!("{name}: {message}"));
        let File { nulls, causes, stands } = crate::figure::read(text, name)?;
        let all = [("null", &nulls), ("cause", &causes)];
        for (what, i, null) in
            all.iter().flat_map(|(what, all)| all.iter().enumerate().map(move |(i, n)| (what, i, n)))
        {
            let here = format!("{what} \"{}\"", null.name);
            let (of_cause, before) =
                (*what == "cause", if *what == "cause" { &causes[..i] } else { &nulls[..i] });
            let message = match () {
                () if !crate::figure::names_a_file(&null.name) => "a name has small letters, digits, hyphens",
                () if before.iter().any(|other| other.name == null.name) => "it is there twice",
                () if null.except.contains_key("discipline") => {
                    "except: name sweeps; of says the disciplines"
                }
                () if null.put.is_none() && null.set.is_empty() && null.scenario.is_empty() => {
                    "it changes nothing: give put, set or scenario"
                }
                () if !of_cause && null.kind.is_some() => "kind is of causes",
                () if !of_cause && null.of.is_none() => "of is missing: in whose place is it?",
                () if of_cause && !null.kind.is_some_and(CauseKind::is_run) => {
                    "kind is missing: simulator, accident or unstated"
                }
                () if null.of.is_none() && (null.put.is_some() || !null.set.is_empty()) => {
                    "put and set need of: in whose place?"
                }
                () => continue,
            };
            return Err(wrong(format!("{here}: {message}")));
        }
        self.all.extend(nulls.into_iter().chain(causes));
        self.stands += stands.trim();
        Ok(())
    }
}

impl Null {
    /// SHA-256 of all that decides its runs.
    pub fn hash(&self) -> String {
        let runs = Null { text: String::new(), only: Vec::new(), ..self.clone() };
        // Plain data with text keys: there is no error to give.
        hex(&Sha256::digest(serde_json::to_vec(&runs).unwrap_or_default()))
    }

    /// Is it in the place of this discipline?
    pub(crate) fn replaces(&self, label: &str) -> bool {
        self.of.as_ref().is_none_or(|of| of.all().iter().any(|of| of == label))
    }

    /// Is it in the place of what was run there?
    pub(crate) fn is_for(&self, row: &Row<'_>) -> bool {
        let except = !self.except.is_empty() && row.matches(&self.except);
        self.replaces(&row.record.discipline) && !except
    }

    /// Puts it into the scenario's tree, of which `labels` are the disciplines' in order.
    pub(crate) fn put_into(&self, tree: &mut toml::Table, labels: &[String]) {
        crate::cases::lay_over(tree, &self.scenario);
        let list = tree.get_mut("queue").and_then(|queue| queue.get_mut("disciplines"));
        let Some(list) = list.and_then(toml::Value::as_array_mut).filter(|_| self.of.is_some()) else {
            return;
        };
        for (item, label) in list.iter_mut().zip(labels).filter(|(_, label)| self.replaces(label)) {
            let mut table = match (&self.put, &*item) {
                (Some(put), _) => put.clone(),
                (None, toml::Value::Table(table)) => table.clone(),
                (None, name) => toml::Table::from_iter([("name".into(), name.clone())]),
            };
            table.extend(self.set.clone());
            table.insert("label".into(), label.clone().into());
            *item = table.into();
        }
    }
}
