//! `queuewright._native`: what the Python package asks of the crates. What users see, and every word of help, is in
//! `python/queuewright`; here is only what Python cannot do itself.

mod draft;
mod gym;
mod interrupt;
mod results;
mod run;
mod runs;
mod sheets;
mod suite;
mod table;

use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use queuewright_scenario::units::{Size, Unit, quote};
use queuewright_scenario::{Flags, Place};
use std::ffi::OsString;

create_exception!(queuewright, Error, PyValueError, "Wrong input, in the words of the command.");
create_exception!(queuewright, RunError, PyRuntimeError, "A run failed, or results could not be written.");

/// Wrong input.
fn input(e: impl std::fmt::Display) -> PyErr {
    Error::new_err(e.to_string())
}

/// Wrong input, where it is an argument by the argument's name.
fn said(e: queuewright_scenario::Error) -> PyErr {
    let text = e.to_string();
    let of_a_flag = *e.place() == Place::Flag || e.key().starts_with("--");
    input(if of_a_flag { in_python(&text) } else { text })
}

/// The command's words in Python's: `rate` for `--rate`, `rate="100mbit"` for `--rate 100mbit`.
fn in_python(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("--") {
        out.push_str(before);
        let end = after.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(after.len());
        let (name, behind) = after.split_at(end);
        if name != "engine" && Flags::ALL.iter().all(|flag| flag.name != name) {
            out.push_str("--");
            rest = after;
            continue;
        }
        out.push_str(name);
        rest = behind;
        if let Some(value) = behind.strip_prefix(' ').filter(|v| v.starts_with(char::is_alphanumeric)) {
            let end = value.find([' ', ')', ';', ':']).unwrap_or(value.len());
            out.push_str(&format!("=\"{}\"", &value[..end]));
            rest = &value[end..];
        }
    }
    out + rest
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
    Unit::Time.parse(time).map_err(input)
}

/// A rate in bit/s, a time in seconds or a size in bytes, by its unit, and what that is.
#[pyfunction]
fn number(text: &str) -> PyResult<(f64, &'static str)> {
    // The units of one are none of another's: "bit", "s", "b".
    if let Ok(bits) = Unit::Rate.parse(text) {
        return Ok((bits as f64, "bit/s"));
    }
    if let Ok(ns) = Unit::Time.parse(text) {
        return Ok((ns as f64 / 1e9, "s"));
    }
    if let Ok(Size::Bytes(bytes)) = Size::parse(text) {
        return Ok((bytes as f64, "bytes"));
    }
    Err(input(format!(
        "\"{}\": not a number with a unit; write a rate (\"10mbit\"), a time (\"20ms\") or a size (\"45kb\")",
        quote(text)
    )))
}

/// Raises where a text of a file that may be anybody's names a header of one's own that nobody has allowed.
#[pyfunction]
fn ask_for_code(theirs: &str) -> PyResult<()> {
    queuewright_scenario::own::ask(theirs).map_err(input)
}

/// `; did you mean "x"?` for a word close to an allowed one, and the allowed ones.
#[pyfunction]
fn suggest(word: &str, allowed: Vec<String>) -> String {
    queuewright_scenario::suggest(word, allowed.iter().map(String::as_str))
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
    use super::interrupt::Interrupt;
    #[pymodule_export]
    use super::results::Results;
    #[pymodule_export]
    use super::run::{run, run_some};
    #[pymodule_export]
    use super::runs::Runs;
    #[pymodule_export]
    use super::suite::{SuiteRuns, new_folder, suite, suites};
    #[pymodule_export]
    use super::table::{Table, concat};
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    const DEFAULT_AQM: &str = queuewright_scenario::DEFAULT_AQM;
    #[pymodule_export]
    use super::{Error, RunError, ask_for_code, catalog, explain, main, nanoseconds, number, suggest};
}
