//! Wrong variants of a paper's system. A claim about the system that holds for one of them, too, is no evidence for its mechanism.
//!
//! They stand in `nulls.toml` beside the experiments of a paper.

use crate::figure::{Filter, OneOrMany};
use crate::rows::Row;
use crate::{Error, Plan, Store};
use queuewright_scenario::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A wrong variant.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Null {
    /// Short name, part of a file's: small letters, digits, hyphens.
    pub name: String,
    /// What is wrong with it, in a line.
    pub text: String,
    /// Labels of the disciplines in whose place it is.
    pub of: OneOrMany,
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

/// A wrong variant and its runs.
#[derive(Debug, Clone, Copy)]
pub struct NullRuns<'a> {
    /// The variant.
    pub null: &'a Null,
    /// Its cases.
    pub plan: &'a Plan,
    /// Its finished runs.
    pub store: &'a Store,
}

/// `nulls.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default, rename = "null")]
    nulls: Vec<Null>,
}

impl Null {
    /// Reads the file. `name` is for errors.
    ///
    /// # Errors
    /// The first thing wrong.
    pub(crate) fn parse(text: &str, name: &str) -> Result<Vec<Null>, Error> {
        let wrong = |message: String| Error::Input(format!("{name}: {message}"));
        let file: File = crate::figure::read(text, name)?;
        for (i, null) in file.nulls.iter().enumerate() {
            if !crate::figure::names_a_file(&null.name) {
                return Err(wrong(format!(
                    "null \"{}\": a name has small letters, digits, hyphens",
                    null.name
                )));
            }
            if file.nulls[..i].iter().any(|other| other.name == null.name) {
                return Err(wrong(format!("null \"{}\" is there twice", null.name)));
            }
            if null.except.contains_key("discipline") {
                return Err(wrong(format!(
                    "null \"{}\": except: name sweeps; of says the disciplines",
                    null.name
                )));
            }
            if null.put.is_none() && null.set.is_empty() && null.scenario.is_empty() {
                return Err(wrong(format!(
                    "null \"{}\" changes nothing: give put, set or scenario",
                    null.name
                )));
            }
        }
        Ok(file.nulls)
    }

    /// SHA-256 of all that decides its runs.
    pub fn hash(&self) -> String {
        let runs = Null { text: String::new(), only: Vec::new(), ..self.clone() };
        // Plain data with text keys: there is no error to give.
        hex(&Sha256::digest(serde_json::to_vec(&runs).unwrap_or_default()))
    }

    /// Is it in the place of this discipline?
    pub(crate) fn replaces(&self, label: &str) -> bool {
        self.of.all().iter().any(|of| of == label)
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
        let Some(list) = list.and_then(toml::Value::as_array_mut) else { return };
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
