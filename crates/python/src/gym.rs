//! Environments for agents, many at a time. Arrays cross as bytes, which numpy reads without a copy.

use crate::draft::Draft;
use crate::{input, said};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use queuewright_aqm::Tensor;
use queuewright_gym::{self as gym, Paper, Tasks, Transition};
use queuewright_scenario::Policy;
use serde_json::json;
use std::sync::Arc;

fn failed(e: gym::Error) -> PyErr {
    match e {
        gym::Error::Scenario(e) => said(e),
        other => input(other),
    }
}

/// An error of the paper's networks by the argument's name, which has the unit in it.
fn by_argument(e: PyErr) -> PyErr {
    Python::attach(|py| {
        let text = e.value(py).to_string();
        let named = [("rtt", "rtt_ms"), ("duration", "episode_s")];
        match named.iter().find_map(|(key, name)| Some((name, text.strip_prefix(key)?))) {
            Some((name, rest)) => input(format!("{name}{rest}")),
            None => e,
        }
    })
}

/// Networks of which each episode draws one.
#[pyclass(frozen, module = "queuewright._native")]
pub struct Domain(Arc<Tasks>);

#[pymethods]
impl Domain {
    /// Networks as the paper's, every combination of these.
    #[staticmethod]
    #[pyo3(signature = (*, rate, rtt, flows, udp, buffer, episode))]
    fn paper(
        rate: String,
        rtt: Vec<String>,
        flows: Vec<u32>,
        udp: Option<Vec<String>>,
        buffer: Vec<String>,
        episode: String,
    ) -> PyResult<Domain> {
        let tasks = Paper { rate, rtt, flows, udp, buffer, episode }.tasks();
        Ok(Domain(Arc::new(tasks.map_err(|e| by_argument(failed(e)))?)))
    }

    /// The same with another kind of action.
    fn acting(&self, kind: &str) -> PyResult<Domain> {
        Ok(Domain(Arc::new((*self.0).clone().with_actions(kind).map_err(failed)?)))
    }

    /// These scenarios.
    #[staticmethod]
    fn of(drafts: Vec<Py<Draft>>) -> PyResult<Domain> {
        let scenarios = drafts.iter().map(|draft| draft.get().scenario.clone()).collect();
        Ok(Domain(Arc::new(Tasks::new(scenarios).map_err(failed)?)))
    }

    /// All of these.
    #[staticmethod]
    fn join(several: Vec<Py<Domain>>) -> Domain {
        Domain(Arc::new(Tasks::join(several.iter().map(|domain| (*domain.get().0).clone()))))
    }

    /// An episode of each of these (task, seed) under a policy that chooses for itself: inputs (float32, 13 for each step and
    /// the end), actions (uint8, one for each) and packets sent, of all episodes. Weights are int16, tensor after tensor; None:
    /// the scripted policy.
    fn play<'p>(
        &self,
        py: Python<'p>,
        weights: Option<&[u8]>,
        which: Vec<(usize, u64)>,
    ) -> PyResult<(Bound<'p, PyBytes>, Bound<'p, PyBytes>, u64)> {
        let weights =
            weights.map(|bytes| gym::Weights { values: int16(bytes), id: "a policy in the making".into() });
        let played = py.detach(|| gym::play(&self.0, weights.as_ref(), &which)).map_err(failed)?;
        if played.windows(2).any(|pair| pair[0].actions.len() != pair[1].actions.len()) {
            return Err(input(
                "networks: episodes of one length are needed, and these have several; write the same run.duration in each",
            ));
        }
        let inputs: Vec<u8> =
            played.iter().flat_map(|p| p.inputs.as_flattened()).flat_map(|x| x.to_ne_bytes()).collect();
        let actions: Vec<u8> = played.iter().flat_map(|p| p.actions.iter().copied()).collect();
        let packets = played.iter().map(|p| p.packets).sum();
        Ok((PyBytes::new(py, &inputs), PyBytes::new(py, &actions), packets))
    }

    /// Its scenarios.
    fn scenarios(&self) -> PyResult<Vec<Draft>> {
        self.0.scenarios().iter().map(Draft::of).collect()
    }

    /// Of each the mean of its flows' round-trip times without queues, in steps.
    fn rtt_steps(&self) -> PyResult<Vec<f64>> {
        self.0.rtt_steps().map_err(failed)
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }
}

/// A policy's file, checked, or one that the program brings, as JSON.
#[pyfunction]
pub fn read_policy(source: &str) -> PyResult<String> {
    Ok(Policy::open(source).map_err(input)?.to_json())
}

/// The file of a policy with these weights (int16, tensor after tensor).
#[pyfunction]
#[pyo3(signature = (weights, name, actions, description=None))]
pub fn write_policy(
    weights: &[u8],
    name: &str,
    actions: &str,
    description: Option<&str>,
) -> PyResult<String> {
    let policy = Policy::new("queuepilot", name, actions, description, int16(weights));
    Ok(policy.map_err(input)?.to_json())
}

fn int16(bytes: &[u8]) -> Arc<[i16]> {
    bytes.chunks_exact(2).map(|b| i16::from_ne_bytes([b[0], b[1]])).collect()
}

/// What the registry says of QueuePilot's network, as JSON: tensors with their shapes, observations with the largest value of each,
/// actions, and what whole numbers stand for 1.
#[pyfunction]
pub fn network() -> String {
    let network = queuewright_aqm::find("queuepilot").and_then(|info| info.network);
    let json = network.map(|n| {
        let shape = |t: &Tensor| std::iter::once(t.rows).chain(t.columns).collect::<Vec<usize>>();
        json!({
            "tensors": n.tensors.iter().map(|t| (t.name, shape(t))).collect::<Vec<_>>(),
            "observations": n.observations,
            "actions_percent": n.actions_percent,
            "info": INFO,
            "weight_one": n.weight_one,
            "activation_one": n.activation_one,
        })
    });
    json.unwrap_or_default().to_string()
}

/// The names of [`Envs::infos`].
const INFO: [&str; 6] = ["network", "rtt_ms", "throughput_bps", "drops", "sojourn_ms", "fairness"];

/// Environments side by side, stepped on all cores.
#[pyclass(module = "queuewright._native")]
pub struct Envs {
    envs: gym::Envs,
    steps: Vec<Transition>,
    actions: Vec<u32>,
}

#[pymethods]
impl Envs {
    #[new]
    fn new(domain: &Domain, count: usize, seed: u64) -> Envs {
        let envs = gym::Envs::new(domain.0.clone(), count, seed);
        Envs { steps: vec![Transition::default(); count], actions: vec![0; count], envs }
    }

    /// An episode begins in each; a seed, or None, for each.
    fn reset(&mut self, py: Python<'_>, seeds: Vec<Option<u64>>) -> PyResult<()> {
        py.detach(|| self.envs.reset(&seeds)).map_err(failed)
    }

    /// An episode begins in each whose last has ended.
    fn renew(&mut self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.envs.renew()).map_err(failed)
    }

    /// A step of each: inputs (float32, 13 each), rewards (float32), which episodes end (bool). Actions are uint32.
    fn step<'p>(
        &mut self,
        py: Python<'p>,
        actions: &[u8],
    ) -> PyResult<(Bound<'p, PyBytes>, Bound<'p, PyBytes>, Bound<'p, PyBytes>)> {
        self.actions.clear();
        self.actions.extend(actions.chunks_exact(4).map(|b| u32::from_ne_bytes([b[0], b[1], b[2], b[3]])));
        py.detach(|| self.envs.step(&self.actions, &mut self.steps)).map_err(failed)?;
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

    /// What agents cannot see, of the last step of each (float64, as many numbers each as there are names); NaN: not known.
    fn infos<'p>(&self, py: Python<'p>) -> Bound<'p, PyBytes> {
        let of = |i: Option<gym::Info>| {
            i.map_or([f64::NAN; INFO.len()], |i| {
                [i.network as f64, i.rtt_ms, i.throughput_bps, i.drops as f64, i.sojourn_ms, i.fairness]
            })
        };
        let infos = py.detach(|| self.envs.infos());
        let bytes: Vec<u8> = infos.into_iter().flat_map(of).flat_map(f64::to_ne_bytes).collect();
        PyBytes::new(py, &bytes)
    }

    /// Packets that links have sent in all of them.
    fn packets(&self) -> u64 {
        self.envs.packets()
    }
}
