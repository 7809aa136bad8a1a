//! Whole episodes under a policy that chooses for itself, as it would where it is deployed: by the integers of
//! `aqm/queuepilot.h`. Each has a core to itself from its beginning to its end, so that what it needs stays in that core's
//! caches; environments that take turns at every step are two to three times slower.

use crate::{Error, ONE, Tasks, pool};
use queuewright_aqm::{POLICY_INPUTS, Weights};
use queuewright_sim::Stepper;
use rayon::prelude::*;
use std::sync::Arc;

/// What a policy saw and did in an episode.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Played {
    /// What its network was shown: at the beginning, and at the end of each step. The last of each is the reward of the step
    /// that it ends.
    pub inputs: Vec<[f32; POLICY_INPUTS]>,
    /// What it chose then; the last of them is not acted upon any more.
    pub actions: Vec<u8>,
    /// Packets that links have sent.
    pub packets: u64,
}

/// An episode of each of these tasks (`which` of [`Tasks`], by its number, and a seed), on all cores. Without weights the
/// scripted policy acts.
///
/// # Errors
/// [`Error::Task`] of weights that are too many or too few, or of a task that there is not; what a scenario has wrong.
pub fn play(tasks: &Tasks, weights: Option<&Weights>, which: &[(usize, u64)]) -> Result<Vec<Played>, Error> {
    if let Some((bad, _)) = which.iter().find(|(task, _)| *task >= tasks.len()) {
        return Err(Error::Task(format!("task {bad}: not one. Allowed: 0 to {}", tasks.len() - 1)));
    }
    let each = which.par_iter().with_max_len(1);
    pool::on_all_cores(|| each.map(|(task, seed)| episode(tasks, weights, *task as u64, *seed)).collect())
}

fn episode(tasks: &Tasks, weights: Option<&Weights>, which: u64, seed: u64) -> Result<Played, Error> {
    let (mut spec, port, step_ns) = tasks.draw(which, seed)?;
    if let Some(weights) = weights {
        let driven = &mut spec.ports[port].discipline;
        driven.set_weights(weights.clone()).map_err(|e| Error::Task(e.to_string()))?;
    }
    let steps = spec.duration_ns / step_ns;
    let mut run = Stepper::new(Arc::new(spec)).map_err(|e| Error::Task(e.to_string()))?;
    let mut played = Played::default();
    for i in 0..=steps {
        run.run_before(i * step_ns);
        let policy = run.discipline(port).ok_or(Error::Over)?;
        let seen = policy.observe(i * step_ns).ok_or(Error::Over)?;
        played.inputs.push(seen.map(|x| x as f32 / ONE));
        // No such action: the policy's own stays.
        played.actions.push(policy.act(u32::MAX) as u8);
    }
    played.packets = run.packets();
    Ok(played)
}
