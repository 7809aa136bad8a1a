//! Runs as Python holds them, and hands them to other processes.

use crate::input;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use queuewright_scenario::{RunSpec, once};

/// Runs of a scenario with all that is drawn: what another process needs to make them.
#[pyclass(frozen, module = "queuewright._native")]
pub struct Runs(pub Vec<RunSpec>);

#[pymethods]
impl Runs {
    /// How many.
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Those from `begin` to before `end`, for `unpack`. What several have of a file, or of a schedule, is there once.
    fn pack<'p>(&self, py: Python<'p>, begin: usize, end: usize) -> PyResult<Bound<'p, PyBytes>> {
        let some = self.0.get(begin..end);
        let some = some.ok_or_else(|| input(format!("runs {begin} to {end}: not there")))?;
        let packed = once(|| rmp_serde::to_vec(some)).map_err(|e| input(format!("runs: {e}")))?;
        Ok(PyBytes::new(py, &packed))
    }

    /// What `pack` gave.
    #[staticmethod]
    fn unpack(packed: &[u8]) -> PyResult<Runs> {
        let mut rest = packed;
        let all =
            once(|| rmp_serde::from_read(&mut rest)).map_err(|e| input(format!("not packed runs: {e}")))?;
        match rest.len() {
            0 => Ok(Runs(all)),
            n => Err(input(format!("not packed runs: {n} bytes behind them"))),
        }
    }
}
