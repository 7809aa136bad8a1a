//! The task that QueuePilot's agent learns (INFOCOM 2023, section III): every step of 5 ms it sees what a queue did, and
//! chooses with which probability ECN-capable arrivals are marked in the next one.
//!
//! What is seen, done and earned comes from `aqm/queuepilot.h`, the code that a trained policy runs as later, in the simulator
//! or in a kernel. An [`Env`] is one network at a time, drawn anew for each episode from [`Tasks`]; [`Envs`] are many, stepped
//! on all cores.

mod paper;
mod play;
mod pool;
mod tasks;

pub use paper::{Paper, small_buffer_packets};
pub use play::{Played, play};
pub use queuewright_aqm::{POLICY_INPUTS, Weights};
pub use tasks::Tasks;

use queuewright_aqm::{POLICY_ACTIONS, POLICY_OBSERVATIONS, POLICY_ONE};
use queuewright_sim::{Seen, Stepper};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;
use std::sync::Arc;

/// How many numbers of [`Transition::inputs`] are the observation; behind them stand the last action, as one of so many, and the
/// last reward.
pub const OBSERVATIONS: usize = POLICY_OBSERVATIONS;
/// Actions to choose from.
pub const ACTIONS: u32 = POLICY_ACTIONS as u32;
/// What stands for an input of 1.
const ONE: f32 = POLICY_ONE as f32;

/// Why there is no environment, or no step.
#[derive(Debug, Clone, PartialEq)]
pub enum Error {
    /// A scenario that cannot be one's task; what, and what would do.
    Task(String),
    /// What a scenario has wrong.
    Scenario(queuewright_scenario::Error),
    /// An action that is none, and how many there are.
    Action(u32),
    /// There is no episode: it has ended, or none has begun.
    Over,
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Task(what) => f.write_str(what),
            Error::Scenario(e) => e.fmt(f),
            Error::Action(a) => write!(f, "action = {a}: not an action. Allowed: 0 to {}", ACTIONS - 1),
            Error::Over => f.write_str("no episode is under way: call reset() first"),
        }
    }
}

impl std::error::Error for Error {}

/// A transition: what a step gave.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Transition {
    /// What the policy's network is shown: [`OBSERVATIONS`] numbers, the action that was in force as one of six, the reward.
    pub inputs: [f32; POLICY_INPUTS],
    /// -1 if a packet was dropped, else U^2 / sqrt(1 + D).
    pub reward: f32,
    /// The episode's last step.
    pub last: bool,
}

/// What a policy cannot see of its network.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Info {
    /// Which of the [`Tasks`].
    pub network: usize,
    /// Mean of its flows' round-trip times without queues, ms.
    pub rtt_ms: f64,
    /// Sent in the last step, bit/s.
    pub throughput_bps: f64,
    /// Packets dropped in the last step, for whatever reason.
    pub drops: u64,
    /// Mean sojourn time of what was sent in the last step, ms; NaN if nothing was.
    pub sojourn_ms: f64,
    /// Jain's index of the TCP flows' goodputs since the episode began; NaN where there is none.
    pub fairness: f64,
}

/// An episode under way.
#[derive(Debug)]
struct Episode {
    run: Stepper,
    port: usize,
    step_ns: u64,
    end_ns: u64,
    network: usize,
    rtt_ms: f64,
    /// What the port had done when the last step began, and when it ended.
    seen: [Seen; 2],
}

impl Episode {
    fn step(&mut self, action: u32) -> Option<Transition> {
        let to = self.run.now_ns() + self.step_ns;
        self.run.discipline(self.port)?.act(action);
        self.run.run_before(to);
        let inputs = self.run.discipline(self.port)?.observe(to)?.map(|x| x as f32 / ONE);
        self.seen = [self.seen[1], self.run.seen(self.port)?];
        Some(Transition { inputs, reward: inputs[POLICY_INPUTS - 1], last: to + self.step_ns > self.end_ns })
    }

    fn info(&self) -> Info {
        let [from, to] = self.seen;
        Info {
            network: self.network,
            rtt_ms: self.rtt_ms,
            throughput_bps: (to.sent_bytes - from.sent_bytes) as f64 * 8e9 / self.step_ns as f64,
            drops: to.dropped - from.dropped,
            sojourn_ms: (to.sojourn_ns - from.sojourn_ns) as f64 / 1e6 / (to.sent - from.sent) as f64,
            fairness: self.run.fairness(),
        }
    }
}

/// One environment: an episode after the other, each in a network of its own.
#[derive(Debug)]
pub struct Env {
    tasks: Arc<Tasks>,
    random: Pcg64Mcg,
    episode: Option<Episode>,
    /// Of the last step of all.
    info: Option<Info>,
    packets: u64,
}

impl Env {
    /// An environment whose episodes follow from `seed`.
    pub fn new(tasks: Arc<Tasks>, seed: u64) -> Env {
        Env { tasks, random: Pcg64Mcg::seed_from_u64(seed), episode: None, info: None, packets: 0 }
    }

    /// Begins an episode; with `seed`, this and those after it follow from it. The first observation is all zeros.
    ///
    /// # Errors
    /// What the drawn scenario has wrong.
    pub fn reset(&mut self, seed: Option<u64>) -> Result<(), Error> {
        if let Some(seed) = seed {
            self.random = Pcg64Mcg::seed_from_u64(seed);
        }
        self.put_away();
        // Seeds are numbers that people can type.
        let (which, seed) = (self.random.next_u64(), self.random.next_u64() >> 32);
        let (spec, port, step_ns) = self.tasks.draw(which, seed)?;
        let network = (which % self.tasks.len() as u64) as usize;
        let end_ns = spec.duration_ns;
        let rtt_ms = tasks::rtt_ms(&spec);
        let run = Stepper::new(Arc::new(spec)).map_err(|e| Error::Task(e.to_string()))?;
        self.episode =
            Some(Episode { run, port, step_ns, end_ns, network, rtt_ms, seen: [Seen::default(); 2] });
        Ok(())
    }

    fn put_away(&mut self) {
        self.packets += self.episode.take().map_or(0, |e| e.run.packets());
    }

    /// One step with this action in force.
    ///
    /// # Errors
    /// [`Error::Action`]; [`Error::Over`] after an episode's last step.
    pub fn step(&mut self, action: u32) -> Result<Transition, Error> {
        if action >= ACTIONS {
            return Err(Error::Action(action));
        }
        let step = self.episode.as_mut().and_then(|e| e.step(action)).ok_or(Error::Over)?;
        if step.last {
            self.info = self.info();
            self.put_away();
        }
        Ok(step)
    }

    /// Of the last step; `None` before the first episode.
    pub fn info(&self) -> Option<Info> {
        self.episode.as_ref().map_or(self.info, |e| Some(e.info()))
    }

    /// Time in the episode, ns; `None` while there is none.
    pub fn now_ns(&self) -> Option<u64> {
        self.episode.as_ref().map(|e| e.run.now_ns())
    }

    /// Packets that links have sent in all its episodes.
    pub fn packets(&self) -> u64 {
        self.packets + self.episode.as_ref().map_or(0, |e| e.run.packets())
    }
}

/// Environments side by side, on all cores.
#[derive(Debug)]
pub struct Envs {
    envs: Vec<Env>,
}

impl Envs {
    /// `count` of them; their episodes follow from `seed`, each's its own.
    pub fn new(tasks: Arc<Tasks>, count: usize, seed: u64) -> Envs {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        Envs { envs: (0..count).map(|_| Env::new(tasks.clone(), random.next_u64())).collect() }
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.envs.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.envs.is_empty()
    }

    /// Begins an episode in each; with `seeds`, one for each that is to follow from it.
    ///
    /// # Errors
    /// As [`Env::reset`], of the first.
    pub fn reset(&mut self, seeds: &[Option<u64>]) -> Result<(), Error> {
        let seeds = (0..self.envs.len()).map(|i| seeds.get(i).copied().flatten());
        let each = self.envs.iter_mut().zip(seeds).collect::<Vec<_>>();
        pool::on_all_cores(|| each.into_par_iter().map(|(env, seed)| env.reset(seed)).collect())
    }

    /// Begins an episode in each that has none, by the seeds that follow.
    ///
    /// # Errors
    /// As [`Env::reset`], of the first.
    pub fn renew(&mut self) -> Result<(), Error> {
        let each = self.envs.par_iter_mut().filter(|env| env.episode.is_none());
        pool::on_all_cores(|| each.map(|env| env.reset(None)).collect())
    }

    /// A step of each. One whose episode ended with the last step begins another instead, whatever its action: its
    /// step is all zeros (Gymnasium's autoreset at the next step).
    ///
    /// # Errors
    /// As [`Env::step`], of the first; [`Error::Task`] if there are not as many actions as environments.
    pub fn step(&mut self, actions: &[u32], steps: &mut [Transition]) -> Result<(), Error> {
        if actions.len() != self.envs.len() || steps.len() != self.envs.len() {
            let (n, of) = (actions.len(), self.envs.len());
            return Err(Error::Task(format!("{n} actions for {of} environments: one each is needed")));
        }
        if let Some(bad) = actions.iter().find(|a| **a >= ACTIONS) {
            return Err(Error::Action(*bad));
        }
        // Each is some 50 us of simulation: let the cores take turns with single ones.
        let each = self.envs.par_iter_mut().zip(actions).zip(steps).with_max_len(1);
        pool::on_all_cores(|| {
            each.try_for_each(|((env, action), step)| {
                *step = match env.episode {
                    Some(_) => env.step(*action)?,
                    None => {
                        env.reset(None)?;
                        Transition::default()
                    }
                };
                Ok(())
            })
        })
    }

    /// [`Env::info`] of each.
    pub fn infos(&self) -> Vec<Option<Info>> {
        pool::on_all_cores(|| self.envs.par_iter().map(Env::info).collect())
    }

    /// Packets that links have sent in all of them.
    pub fn packets(&self) -> u64 {
        self.envs.iter().map(Env::packets).sum()
    }
}
