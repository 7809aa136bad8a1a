//! packetdrill's scripts, run on the simulator's TCP in virtual time.
//!
//! A script says what a TCP does: packets that come in, system calls, and the packets that are to go out, each with its time.
//! [`run_file`] reads one and runs it on the simulator's sender and receiver. What a script asks for and the simulated stack does
//! not have makes it not applicable, and is named: no part of a script is passed over.

mod epoll;
mod foreign;
mod lex;
mod machine;
mod packet;
mod parse;
mod plan;
mod played;
mod python;
pub mod report;
mod run;
mod script;
mod settings;
mod simulated;
mod stack;
mod words;

use played::Played;
use queuewright_scenario::{limits, one_line, read_text};
use queuewright_sim::Kind;
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};

pub use parse::parse;
pub use plan::Plan;
pub use script::Script;
pub use settings::control;

/// What a script that cannot be read says wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    line: u32,
    says: String,
}

impl Error {
    pub(crate) fn syntax(line: u32, says: String) -> Error {
        // What it quotes of a script may be anything.
        Error { line, says: one_line(&says) }
    }

    /// The script's line that it is of, from 1.
    pub fn line(&self) -> u32 {
        self.line
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.says)
    }
}

impl std::error::Error for Error {}

/// How scripts are run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// A congestion control, whatever the script sets.
    pub cca: Option<Kind>,
    /// How far off times may be (microseconds), whatever the script says.
    pub tolerance_us: Option<i64>,
    /// Ticks of the kernel's clock a second (`CONFIG_HZ`), if not 250.
    pub hz: Option<u32>,
}

/// What became of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// All was as it says.
    Passed,
    /// Something was not.
    Failed(Failure),
    /// It asks for what the simulated stack does not have: all that was found.
    NotApplicable(Vec<String>),
}

/// What was not as a script says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// Where the script says it.
    pub line: u32,
    /// What is wrong.
    pub says: String,
    /// What the script expects, in its own form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// What came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual: Option<String>,
}

/// Why a script ended.
pub(crate) enum End {
    /// Something was not as it said.
    Failed(Failure),
    /// It asks for what is not known here.
    Foreign(String),
}

pub(crate) type Step<T> = Result<T, End>;

/// Runs a script that lies in `dir`.
pub fn run(script: &Script, dir: &Path, options: &Options) -> Outcome {
    run::run(script, dir, options)
}

/// How a real kernel runs a script that lies in `dir`: what the lab's guest is to do.
///
/// # Errors
/// All that the script asks for and the guest does not do.
pub fn plan(script: &Script, dir: &Path, options: &Options) -> Result<Plan, Vec<String>> {
    run::known(script).and_then(|()| plan::plan(script, dir, options.cca, &run::remote_isns(script)))
}

/// Was all that a kernel did with a script's plan, as the guest wrote it down, as the script says?
///
/// # Errors
/// What the guest wrote cannot be read.
pub fn check(script: &Script, dir: &Path, options: &Options, log: &[u8]) -> Result<Outcome, String> {
    Ok(run::run_on(Played::read(log, run::remote_isns(script))?, script, dir, options))
}

/// Reads a file: the script.
///
/// # Errors
/// It cannot be read, or is no script: file, line, and what was expected.
pub fn read_file(path: &Path) -> Result<Script, String> {
    let text = read_text(path, limits::SCRIPT.bytes).map_err(|e| format!("{}: {e}", path.display()))?;
    parse(&text).map_err(|e| format!("{}:{}: {e}", path.display(), e.line()))
}

/// The folder that a file lies in.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("."))
}

/// Reads and runs a file.
///
/// # Errors
/// It cannot be read, or is no script: file, line, and what was expected.
pub fn run_file(path: &Path, options: &Options) -> Result<Outcome, String> {
    Ok(run(&read_file(path)?, folder_of(path), options))
}

/// All scripts (`*.pkt`) that are meant: files as they are, and what lies below folders, by name.
///
/// # Errors
/// A path that cannot be read, or a folder without scripts.
pub fn scripts(paths: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let mut all = Vec::new();
    for path in paths {
        let before = all.len();
        if path.is_dir() {
            below(path, &mut all)?;
            if all.len() == before {
                return Err(format!("{}: no script (*.pkt) below it", path.display()));
            }
            all[before..].sort();
        } else if path.exists() {
            all.push(path.clone());
        } else {
            return Err(format!("{}: no such file", path.display()));
        }
    }
    Ok(all)
}

fn below(dir: &Path, all: &mut Vec<PathBuf>) -> Result<(), String> {
    let wrong = |e: std::io::Error| format!("{}: {e}", dir.display());
    for entry in std::fs::read_dir(dir).map_err(wrong)? {
        let entry = entry.map_err(wrong)?;
        let path = entry.path();
        // Not through links, which may lead round in circles.
        if entry.file_type().map_err(wrong)?.is_dir() {
            below(&path, all)?;
        } else if path.extension().is_some_and(|e| e == "pkt") {
            all.push(path);
        }
    }
    Ok(())
}
