//! What became of many scripts, in words and as JSON.

use crate::{Failure, Options, Outcome, run_file};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::path::PathBuf;

/// A script and what became of it.
#[derive(Debug, Clone, Serialize)]
pub struct ScriptResult {
    /// Its file.
    pub script: PathBuf,
    /// What became of it.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// What became of a script.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// All was as it says.
    Passed,
    /// Something was not.
    Failed(Failure),
    /// It asks for what is not there to run it on.
    NotApplicable {
        /// What.
        features: Vec<String>,
    },
    /// It is no script.
    Unreadable {
        /// File, line, and what was expected.
        error: String,
    },
}

/// What became of all.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// What came of each script, in the order in which they were named.
    pub scripts: Vec<ScriptResult>,
    /// How many passed.
    pub passed: usize,
    /// How many failed.
    pub failed: usize,
    /// How many ask for what is not there to run them on.
    pub not_applicable: usize,
    /// How many could not be read.
    pub unreadable: usize,
    /// Of those that are not applicable, how many ask for what.
    pub features: BTreeMap<String, usize>,
}

/// Runs a script.
pub fn try_script(path: PathBuf, options: &Options) -> ScriptResult {
    match run_file(&path, options) {
        Err(error) => ScriptResult { script: path, verdict: Verdict::Unreadable { error } },
        Ok(outcome) => ScriptResult::new(path, outcome),
    }
}

impl ScriptResult {
    /// A script that was run.
    pub fn new(script: PathBuf, outcome: Outcome) -> ScriptResult {
        let verdict = match outcome {
            Outcome::Passed => Verdict::Passed,
            Outcome::Failed(failure) => Verdict::Failed(failure),
            Outcome::NotApplicable(features) => Verdict::NotApplicable { features },
        };
        ScriptResult { script, verdict }
    }
}

impl Report {
    /// Of these scripts.
    pub fn new(scripts: Vec<ScriptResult>) -> Report {
        let count = |is: fn(&Verdict) -> bool| scripts.iter().filter(|s| is(&s.verdict)).count();
        let mut features = BTreeMap::new();
        for ran in &scripts {
            if let Verdict::NotApplicable { features: all } = &ran.verdict {
                for feature in all {
                    *features.entry(feature.clone()).or_default() += 1;
                }
            }
        }
        Report {
            passed: count(|v| matches!(v, Verdict::Passed)),
            failed: count(|v| matches!(v, Verdict::Failed(_))),
            not_applicable: count(|v| matches!(v, Verdict::NotApplicable { .. })),
            unreadable: count(|v| matches!(v, Verdict::Unreadable { .. })),
            features,
            scripts,
        }
    }

    /// How many there are of each, and what is not there to run them on, the most asked for first.
    pub fn summary(&self) -> String {
        let mut out = format!(
            "{} scripts: {} passed, {} failed, {} not applicable",
            self.scripts.len(),
            self.passed,
            self.failed,
            self.not_applicable
        );
        if self.unreadable > 0 {
            let _ = write!(out, ", {} unreadable", self.unreadable);
        }
        out.push('\n');
        let mut features: Vec<_> = self.features.iter().collect();
        features.sort_by_key(|&(name, count)| (std::cmp::Reverse(*count), name.clone()));
        for (name, count) in features {
            let _ = writeln!(out, "{count:>6}  {name}");
        }
        out
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.says)?;
        if let Some(expected) = &self.expected {
            write!(f, "; expected {expected}")?;
        }
        if let Some(actual) = &self.actual {
            write!(f, "; got {actual}")?;
        }
        Ok(())
    }
}

/// One line.
impl fmt::Display for ScriptResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let script = self.script.display();
        match &self.verdict {
            Verdict::Passed => write!(f, "passed          {script}"),
            Verdict::Failed(failure) => write!(f, "failed          {script}:{}: {failure}", failure.line),
            Verdict::NotApplicable { features } => {
                write!(f, "not applicable  {script}: {}", features.join("; "))
            }
            Verdict::Unreadable { error } => write!(f, "unreadable      {error}"),
        }
    }
}
