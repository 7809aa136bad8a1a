//! A scenario as Python holds it.

use crate::runs::Runs;
use crate::{input, said};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use queuewright_scenario::limits::TOML;
use queuewright_scenario::packet::FULL_BYTES;
use queuewright_scenario::{Flags, Scenario};
use std::path::{Path, PathBuf};

/// A file's path, and what is in it.
type File<'p> = (PathBuf, Bound<'p, PyBytes>);

/// What a scenario is to say, checked, and open to changes.
#[pyclass(frozen, module = "queuewright._native")]
pub struct Draft {
    draft: queuewright_scenario::Draft,
    pub scenario: Scenario,
    /// Of its warnings, those of the one that it was made from.
    warned: usize,
}

impl Draft {
    fn checked(draft: queuewright_scenario::Draft) -> PyResult<Draft> {
        let scenario = draft.scenario().map_err(said)?;
        Ok(Draft { draft, scenario, warned: 0 })
    }

    /// What says the same as a scenario.
    pub fn of(scenario: &Scenario) -> PyResult<Draft> {
        let text = scenario.to_toml();
        Draft::checked(queuewright_scenario::Draft::parse(&text, "", Path::new("")).map_err(said)?)
    }
}

/// Flags by name.
fn named(texts: Vec<(String, String)>) -> PyResult<Flags> {
    let mut flags = Flags::default();
    for (name, text) in texts {
        flags.put(&name, text).map_err(said)?;
    }
    Ok(flags)
}

/// With these disciplines, if any.
fn comparing(draft: queuewright_scenario::Draft, aqm: Option<&str>) -> PyResult<queuewright_scenario::Draft> {
    match aqm {
        Some(json) => draft.with_disciplines(json).map_err(said),
        None => Ok(draft),
    }
}

#[pymethods]
impl Draft {
    /// A scenario file.
    #[staticmethod]
    fn read(path: PathBuf) -> PyResult<Draft> {
        Draft::checked(queuewright_scenario::Draft::read(&path).map_err(said)?)
    }

    /// The text of a scenario file; paths in it start from the working folder.
    #[staticmethod]
    fn from_toml(text: &str) -> PyResult<Draft> {
        if text.len() as u64 > TOML.bytes {
            return Err(input(format!("toml: larger than {} MB: not a scenario", TOML.bytes >> 20)));
        }
        Draft::checked(queuewright_scenario::Draft::parse(text, "text", Path::new("")).map_err(said)?)
    }

    /// The tables of a scenario file, as JSON.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Draft> {
        Draft::checked(queuewright_scenario::Draft::from_json(text).map_err(said)?)
    }

    /// What `queuewright compare` takes: flags by name, and disciplines (a JSON list).
    #[staticmethod]
    #[pyo3(signature = (flags, *, aqm=None))]
    fn from_flags(flags: Vec<(String, String)>, aqm: Option<&str>) -> PyResult<Draft> {
        let draft = queuewright_scenario::Draft::from_flags(&named(flags)?).map_err(said)?;
        Draft::checked(comparing(draft, aqm)?)
    }

    /// With values (JSON) at paths, with disciplines (a JSON list), and as if it said what these flags say.
    #[pyo3(signature = (values, flags, *, aqm=None))]
    fn changed(
        &self,
        py: Python<'_>,
        values: Vec<(String, String)>,
        flags: Vec<(String, String)>,
        aqm: Option<&str>,
    ) -> PyResult<Draft> {
        // A sweep makes thousands: other threads go on meanwhile.
        py.detach(|| {
            let mut draft = self.draft.clone();
            for (path, value) in values {
                draft = draft.put(&path, &value).map_err(said)?;
            }
            let changed = Draft::checked(comparing(draft, aqm)?.with(&named(flags)?).map_err(said)?)?;
            Ok(Draft { warned: self.draft.warnings().len(), ..changed })
        })
    }

    /// What it should say otherwise, a line each, that was not said of the one that it was made from.
    fn warnings(&self) -> Vec<String> {
        self.draft.warnings()[self.warned..].iter().map(ToString::to_string).collect()
    }

    /// For `unpack`, in this process or another: itself, and the files that it names, by path, with what is in them.
    fn pack<'p>(&self, py: Python<'p>) -> PyResult<(String, Vec<File<'p>>)> {
        let mut files = Vec::new();
        for file in self.scenario.files() {
            let content = PyBytes::new(py, &file.as_read().map_err(said)?);
            files.push((file.path, content));
        }
        Ok((self.draft.pack().map_err(said)?, files))
    }

    /// What `pack` gave.
    #[staticmethod]
    fn unpack(text: &str, files: Vec<(PathBuf, Vec<u8>)>) -> PyResult<Draft> {
        let files = files.into_iter().map(|(path, content)| (path, content.into()));
        Draft::checked(queuewright_scenario::Draft::unpack(text, files).map_err(said)?)
    }

    /// Its runs: all that is to be drawn is drawn here.
    fn runs(&self, py: Python<'_>) -> PyResult<Runs> {
        Ok(Runs(py.detach(|| self.scenario.runs()).map_err(said)?))
    }

    /// As results have it, as JSON.
    fn to_json(&self) -> String {
        self.scenario.to_json().to_string()
    }

    /// As a scenario file.
    fn to_toml(&self) -> String {
        self.scenario.to_toml()
    }

    /// The buffer of the first link in full packets, rounded up; 0: it has no limit.
    fn buffer_packets(&self) -> PyResult<u64> {
        let runs = self.scenario.runs().map_err(said)?;
        let Some(run) = runs.first() else { return Ok(0) };
        let Some(port) = run.ports.first() else { return Ok(0) };
        let full = u64::from(FULL_BYTES + run.overhead_bytes);
        let in_bytes = (port.limit_bytes > 0).then(|| port.limit_bytes.div_ceil(full));
        let in_packets = (port.limit_packets > 0).then(|| u64::from(port.limit_packets));
        Ok(in_bytes.into_iter().chain(in_packets).min().unwrap_or(0))
    }

    /// In words, as `queuewright check` says it.
    fn words(&self) -> PyResult<String> {
        let runs = self.scenario.runs().map_err(said)?;
        Ok(queuewright::words::scenario(&self.scenario, &runs))
    }
}
