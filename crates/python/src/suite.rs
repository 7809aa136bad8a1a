//! Suites as Python has them, and folders for what comes of them.

use crate::input;
use pyo3::prelude::*;
use queuewright_suite::Suite;
use std::path::PathBuf;

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
