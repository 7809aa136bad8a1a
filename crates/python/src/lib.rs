//! `queuewright._native`: what the Python package asks of the crates. What users see, and every word of help, is in
//! `python/queuewright`; here is only what Python cannot do itself.

mod draft;
mod gym;
mod results;
mod run;
mod runs;
mod sheets;
mod table;

use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::ffi::OsString;

create_exception!(queuewright, Error, PyValueError, "Wrong input, in the words of the command.");
create_exception!(queuewright, RunError, PyRuntimeError, "A run failed, or results could not be written.");

/// Wrong input.
fn input(e: impl std::fmt::Display) -> PyErr {
    Error::new_err(e.to_string())
}

/// Disciplines, congestion controls and mixes, as JSON.
#[pyfunction]
fn catalog() -> String {
    queuewright::catalog::list_json()
}

/// The page on a discipline or congestion control.
#[pyfunction]
fn explain(name: &str) -> PyResult<String> {
    queuewright::catalog::explain(name).map_err(Error::new_err)
}

/// A time in words, such as "5s".
#[pyfunction]
fn nanoseconds(time: &str) -> PyResult<u64> {
    queuewright_scenario::units::Unit::Time.parse(time).map_err(input)
}

/// The command `queuewright`: its exit code.
#[pyfunction]
fn main(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| queuewright::main(args))
}

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::draft::Draft;
    #[pymodule_export]
    use super::gym::{Domain, Envs, network, read_policy, write_policy};
    #[pymodule_export]
    use super::results::Results;
    #[pymodule_export]
    use super::run::{run, run_some};
    #[pymodule_export]
    use super::runs::Runs;
    #[pymodule_export]
    use super::table::{Table, concat};
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    const DEFAULT_AQM: &str = queuewright_scenario::DEFAULT_AQM;
    #[pymodule_export]
    use super::{Error, RunError, catalog, explain, main, nanoseconds};
}
