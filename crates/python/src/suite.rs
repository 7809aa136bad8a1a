//! Suites as Python has them, and folders for what comes of them.

use crate::runs::Runs;
use crate::{RunError, input, results};
use pyo3::prelude::*;
use queuewright::{Elsewhere, Failure, suite_elsewhere};
use queuewright_suite::Suite;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The runs that a command line of `suite` needs, made in other processes; what is added is kept as it comes.
#[pyclass(frozen, module = "queuewright._native")]
pub struct SuiteRuns(Mutex<Elsewhere>);

#[pymethods]
impl SuiteRuns {
    /// Of the command's words, its name first, without `--engine ray`.
    #[new]
    fn new(words: Vec<OsString>) -> PyResult<SuiteRuns> {
        let words = [OsString::from("queuewright")].into_iter().chain(words);
        Ok(SuiteRuns(Mutex::new(suite_elsewhere(words).map_err(failed)?)))
    }

    /// The runs, the longest first.
    fn runs(&self) -> Runs {
        Runs(self.0.lock().unwrap_or_else(PoisonError::into_inner).specs())
    }

    /// Keeps what `run_some` gave of the runs from `begin` on; gives how many.
    fn add(&self, begin: usize, packed: &[u8]) -> PyResult<usize> {
        let mut elsewhere = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let runs = results::unpack(packed)?;
        for (i, run) in runs.iter().enumerate() {
            elsewhere.add(begin + i, run).map_err(failed)?;
        }
        Ok(runs.len())
    }
}

fn failed(e: Failure) -> PyErr {
    match e {
        Failure::Input(text) => input(text),
        Failure::Run(text) | Failure::Interrupted(text) => RunError::new_err(text),
    }
}

/// Writes the scenarios of a suite, one of the program's own or a folder's, into a folder; gives the name of each, in their order.
#[pyfunction]
pub fn suite(name: &str, folder: PathBuf) -> PyResult<Vec<String>> {
    let mut suite = Suite::open(name).map_err(|e| input(e.0))?;
    suite.unpack(&folder).map_err(|e| input(format!("{}: {e}", folder.display())))?;
    Ok(suite.members.into_iter().map(|member| member.name).collect())
}

/// Names of the program's own suites.
#[pyfunction]
pub fn suites() -> PyResult<Vec<String>> {
    let own = queuewright_suite::list().map_err(|e| input(e.0))?;
    Ok(own.into_iter().map(|suite| suite.name).collect())
}

/// Makes a folder for results under `base`, named by the time and `name`, to which `latest` points; gives its path.
#[pyfunction]
pub fn new_folder(base: PathBuf, name: &str) -> PyResult<PathBuf> {
    queuewright_report::new_folder(&base, name).map_err(input)
}
