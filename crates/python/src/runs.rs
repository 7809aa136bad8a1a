//! Runs as Python holds them, and hands them to other processes.

use crate::input;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use queuewright_scenario::RunSpec;
use std::ops::Range;
use std::sync::Arc;

/// Runs of a scenario with all that is drawn: what another process needs to make them.
#[pyclass(frozen, module = "queuewright._native")]
pub struct Runs {
    all: Arc<[RunSpec]>,
    some: Range<usize>,
}

impl Runs {
    pub fn new(all: Vec<RunSpec>) -> Runs {
        Runs { some: 0..all.len(), all: all.into() }
    }

    pub fn specs(&self) -> &[RunSpec] {
        &self.all[self.some.clone()]
    }
}

#[pymethods]
impl Runs {
    /// How many.
    fn __len__(&self) -> usize {
        self.some.len()
    }

    /// Those from `begin` to before `end`.
    fn part(&self, begin: usize, end: usize) -> PyResult<Runs> {
        let there = self.specs().get(begin..end);
        there.ok_or_else(|| input(format!("runs {begin} to {end}: not there")))?;
        Ok(Runs { all: self.all.clone(), some: self.some.start + begin..self.some.start + end })
    }

    /// For `unpack`.
    fn pack<'p>(&self, py: Python<'p>) -> PyResult<Bound<'p, PyBytes>> {
        let packed = rmp_serde::to_vec(self.specs()).map_err(|e| input(format!("runs: {e}")))?;
        Ok(PyBytes::new(py, &packed))
    }

    /// What `pack` gave.
    #[staticmethod]
    fn unpack(packed: &[u8]) -> PyResult<Runs> {
        Ok(Runs::new(rmp_serde::from_slice(packed).map_err(|e| input(format!("not packed runs: {e}")))?))
    }
}
