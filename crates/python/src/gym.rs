//! Environments for agents, many at a time. Arrays cross as bytes, which numpy reads without a copy.

use crate::draft::Draft;
use crate::input;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use queuewright_gym::{self as gym, Buffer, Step, Tasks};
use std::sync::Arc;

/// Networks of which each episode draws one.
#[pyclass(frozen, module = "queuewright._native")]
pub struct Domain(Arc<Tasks>);

#[pymethods]
impl Domain {
    /// Networks as the paper's, every combination of these.
    #[staticmethod]
    #[pyo3(signature = (*, rate_bps, one_way_ms, flows, udp_bps, packets, episode_s))]
    fn paper(
        rate_bps: u64,
        one_way_ms: Vec<u32>,
        flows: Vec<u32>,
        udp_bps: Vec<u64>,
        packets: Option<u32>,
        episode_s: u32,
    ) -> PyResult<Domain> {
        let buffer = packets.map_or(Buffer::Small, Buffer::Packets);
        let tasks = gym::paper(rate_bps, &one_way_ms, &flows, &udp_bps, buffer, episode_s).map_err(input)?;
        Ok(Domain(Arc::new(tasks)))
    }

    /// These scenarios.
    #[staticmethod]
    fn of(drafts: Vec<Py<Draft>>) -> PyResult<Domain> {
        let scenarios = drafts.iter().map(|draft| draft.get().scenario.clone()).collect();
        Ok(Domain(Arc::new(Tasks::new(scenarios).map_err(input)?)))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }
}

/// Environments side by side, stepped on all cores.
#[pyclass(module = "queuewright._native")]
pub struct Envs {
    envs: gym::Envs,
    steps: Vec<Step>,
    actions: Vec<u32>,
}

#[pymethods]
impl Envs {
    #[new]
    fn new(domain: &Domain, count: usize, seed: u64) -> Envs {
        let envs = gym::Envs::new(domain.0.clone(), count, seed);
        Envs { steps: vec![Step::default(); count], actions: vec![0; count], envs }
    }

    /// An episode begins in each; a seed, or None, for each.
    fn reset(&mut self, py: Python<'_>, seeds: Vec<Option<u64>>) -> PyResult<()> {
        py.detach(|| self.envs.reset(&seeds)).map_err(input)
    }

    /// A step of each: inputs (float32, 13 each), rewards (float32), which episodes end (bool). Actions are uint32.
    fn step<'p>(
        &mut self,
        py: Python<'p>,
        actions: &[u8],
    ) -> PyResult<(Bound<'p, PyBytes>, Bound<'p, PyBytes>, Bound<'p, PyBytes>)> {
        self.actions.clear();
        self.actions.extend(actions.chunks_exact(4).map(|b| u32::from_ne_bytes([b[0], b[1], b[2], b[3]])));
        py.detach(|| self.envs.step(&self.actions, &mut self.steps)).map_err(input)?;
        let floats = |values: &mut dyn Iterator<Item = f32>| {
            let bytes: Vec<u8> = values.flat_map(f32::to_ne_bytes).collect();
            PyBytes::new(py, &bytes)
        };
        let last: Vec<u8> = self.steps.iter().map(|s| s.last.into()).collect();
        Ok((
            floats(&mut self.steps.iter().flat_map(|s| s.inputs)),
            floats(&mut self.steps.iter().map(|s| s.reward)),
            PyBytes::new(py, &last),
        ))
    }

    /// Packets that links have sent in all of them.
    fn packets(&self) -> u64 {
        self.envs.packets()
    }
}
