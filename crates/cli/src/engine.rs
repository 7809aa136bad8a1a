//! What makes runs: the simulator, or a real kernel in the lab.

use crate::Failure;
use crate::args::{EngineArgs, EngineName};
use crate::matrix::{Step, run_all, share_out};
use queuewright_lab::{Heard, Lab, Whose, batches, check};
use queuewright_results::Run;
use queuewright_scenario::{RunSpec, Scenario};
use std::env;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// An engine that is ready.
pub enum Engine {
    /// The simulator.
    Sim,
    /// Linux in a virtual machine.
    Linux(Lab),
}

/// The lab, whose guest attaches queue managers with this very program.
pub fn open(kernel: &[PathBuf], whose: Whose) -> Result<Lab, queuewright_lab::Error> {
    let lab = Lab::open(kernel)?.with_queue_managers(whose);
    Ok(match env::current_exe() {
        Ok(program) => lab.with_program(program),
        Err(_) => lab,
    })
}

/// A run, none if it was stopped, or why there is none.
pub type Made = Result<Option<Box<Run>>, String>;

impl Engine {
    /// The engine that is asked for, if it can do what the scenario says.
    pub fn new(asked: &EngineArgs, scenario: &Scenario, specs: &[RunSpec]) -> Result<Engine, Failure> {
        match (asked.engine, asked.kernel.as_slice()) {
            (EngineName::Sim, []) if asked.bpf => {
                Err(Failure::Input("--bpf: the simulator has none; add --engine linux".into()))
            }
            (EngineName::Sim, []) if asked.native => {
                Err(Failure::Input("--native: the simulator needs no kernel; add --engine linux".into()))
            }
            (EngineName::Sim, []) => Ok(Engine::Sim),
            (EngineName::Sim, _) => {
                Err(Failure::Input("--kernel: the simulator has none; add --engine linux".into()))
            }
            (EngineName::Linux, kernel) => {
                let whose = if asked.bpf { Whose::Ours } else { Whose::Kernels };
                check(scenario, specs, whose)?;
                let lab = open(kernel, whose).map_err(|e| Failure::Input(format!("--engine linux: {e}")))?;
                Ok(Engine::Linux(match asked.native {
                    true => lab.native().map_err(|e| Failure::Input(format!("--native: {e}")))?,
                    false => lab,
                }))
            }
        }
    }

    /// Makes all runs, `jobs` at a time; `hear` is told of each by its place.
    pub fn run_all(
        &self,
        specs: &[RunSpec],
        jobs: usize,
        stop: &AtomicBool,
        mut hear: impl FnMut(usize, Step<Made>),
    ) {
        match self {
            Engine::Sim => {
                let work = |i: usize, at: &dyn Fn(f64)| match queuewright_sim::run(&specs[i], stop, at) {
                    Ok(run) => Ok(Some(Box::new(run))),
                    Err(queuewright_sim::Error::Stopped) => Ok(None),
                    Err(e) => Err(e.to_string()),
                };
                run_all(specs.len(), jobs, stop, work, hear);
            }
            Engine::Linux(lab) => {
                let batches = batches(specs);
                let work = |i: usize, tell: &dyn Fn((usize, Step<Made>))| {
                    let batch = batches[i].clone();
                    lab.run(&specs[batch.clone()], stop, |nth, heard| {
                        let step = match heard {
                            Heard::At(share) => Step::At(share),
                            Heard::Done(Ok(run)) => Step::Done(Ok(Some(run))),
                            Heard::Done(Err(queuewright_lab::Error::Stopped)) => Step::Done(Ok(None)),
                            Heard::Done(Err(e)) => Step::Done(Err(e.to_string())),
                        };
                        tell((batch.start + nth, step));
                    });
                };
                // On one kernel and in real time they would take each other's processors.
                let jobs = if lab.is_native() { 1 } else { jobs };
                share_out(batches.len(), jobs, stop, work, |(i, step)| hear(i, step));
            }
        }
    }
}
