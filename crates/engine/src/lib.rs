//! What makes the runs of a scenario, on all cores: the simulator, or a real kernel in the lab.
//!
//! [`Engine::new`] sees whether the engine that is asked for can do what the scenario says, [`Engine::run_all`] makes
//! the runs, and [`header`] is what results of them begin with.

mod matrix;

pub use matrix::{ItemEvent, fitting, run_all};
pub use queuewright_scenario::header;

use matrix::share_out;
use queuewright_lab::queues::Played;
use queuewright_lab::{Lab, QdiscOrigin, RunEvent, batches, check, trusted};
use queuewright_results::Run;
use queuewright_results::events::Observer;
use queuewright_scenario::{RunSpec, Scenario};
use std::env;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::thread::available_parallelism;

/// An engine that is ready.
pub enum Engine {
    /// The simulator.
    Sim,
    /// Linux in a virtual machine.
    Linux(Lab),
}

/// Which engine is asked for.
#[derive(Debug, Clone, Default)]
pub struct EngineChoice {
    /// A real kernel instead of the simulator.
    pub linux: bool,
    /// Of it: a kernel instead of the lab's, see [`Lab::open`].
    pub kernel: Vec<PathBuf>,
    /// Of it: our BPF program also for a discipline that the kernel has itself.
    pub bpf: bool,
    /// Of it: this machine's own kernel.
    pub native: bool,
}

impl EngineChoice {
    /// Can it do what a scenario says? Nothing is opened for that.
    ///
    /// # Errors
    /// The first thing that it cannot do.
    pub fn can(&self, scenario: &Scenario, specs: &[RunSpec]) -> Result<(), Error> {
        let wrong = |text: &str| Err(Error(text.into()));
        match self.kernel.as_slice() {
            _ if self.linux => Ok(check(scenario, specs, self.origin(), self.native)?),
            [] if self.bpf => wrong("--bpf: the simulator has none; add --engine linux"),
            [] if self.native => wrong("--native: the simulator needs no kernel; add --engine linux"),
            [] => Ok(()),
            _ => wrong("--kernel: the simulator has none; add --engine linux"),
        }
    }

    fn origin(&self) -> QdiscOrigin {
        if self.bpf { QdiscOrigin::Bpf } else { QdiscOrigin::Kernel }
    }
}

/// Why no engine is ready: wrong input, in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(pub String);

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl From<queuewright_scenario::Error> for Error {
    fn from(e: queuewright_scenario::Error) -> Error {
        Error(e.to_string())
    }
}

/// The `queuewright` that is to attach disciplines in the guest, where this program is none (Python is).
const VARIABLE: &str = "QUEUEWRIGHT_PROGRAM";

/// The lab, whose guest attaches disciplines with this very program, or else with the one that
/// `QUEUEWRIGHT_PROGRAM` names or that was built in the lab's sources.
///
/// # Errors
/// As [`Lab::open`].
pub fn open(kernel: &[PathBuf], origin: QdiscOrigin) -> Result<Lab, queuewright_lab::Error> {
    let lab = Lab::open(kernel)?.with_disciplines(origin);
    let is_ours = |path: &PathBuf| path.file_stem().is_some_and(|name| name == "queuewright");
    let this = env::current_exe().ok().filter(is_ours);
    let built = || lab.root().ancestors().nth(2).map(|sources| sources.join("target/release/queuewright"));
    let program = match this.or_else(|| env::var_os(VARIABLE).map(PathBuf::from)) {
        Some(program) => Some(program),
        None => built().filter(|built| built.exists()),
    };
    // What root runs from there as well, natively.
    let program =
        program.map(|program| trusted(&program, "set QUEUEWRIGHT_PROGRAM to another")).transpose()?;
    Ok(match program {
        Some(program) => lab.with_program(program),
        None => lab,
    })
}

/// Machines for queues: a boot costs as much as some thousand packets.
const PLAYED_IN_A_BOOT: usize = 6;

/// Plays the runs' arrivals into the kernel's disciplines ([`Lab::play`]), in so many machines at a time. `hear` is told of
/// each, by its place in `runs`, as soon as it is done.
pub fn play_all(
    lab: &Lab,
    runs: &[RunSpec],
    jobs: usize,
    stop: &AtomicBool,
    mut hear: impl FnMut(usize, Result<Played, queuewright_lab::Error>),
) {
    let machines: Vec<&[RunSpec]> = runs.chunks(PLAYED_IN_A_BOOT).collect();
    share_out(
        machines.len(),
        jobs,
        stop,
        |m, tell| {
            let first = m * PLAYED_IN_A_BOOT;
            let mut open: Vec<usize> = (first..first + machines[m].len()).collect();
            let ended = lab.play(machines[m], stop, |i, done| {
                open.retain(|other| *other != first + i);
                tell((first + i, done));
            });
            if let Err(why) = ended {
                open.into_iter().for_each(|i| tell((i, Err(why.clone()))));
            }
        },
        |(i, done)| hear(i, done),
    );
}

/// Who observes a run, by its place; or why nobody can.
pub type Observers<'a> = dyn Fn(usize) -> Result<Box<dyn Observer>, String> + Sync + 'a;

/// A run, none if it was stopped, or why there is none.
pub type RunOutcome = Result<Option<Box<Run>>, String>;

/// How many runs there are at a time unless a number is asked for: one per core.
pub fn jobs(asked: Option<u16>) -> usize {
    match asked {
        Some(n) => n.into(),
        None => available_parallelism().map_or(1, |n| n.get()),
    }
}

impl Engine {
    /// The engine that is asked for, if it can do what the scenario says.
    ///
    /// # Errors
    /// What it cannot do; what of it is not there.
    pub fn new(asked: &EngineChoice, scenario: &Scenario, specs: &[RunSpec]) -> Result<Engine, Error> {
        asked.can(scenario, specs)?;
        if !asked.linux {
            return Ok(Engine::Sim);
        }
        let lab = open(&asked.kernel, asked.origin()).map_err(|e| Error(format!("--engine linux: {e}")))?;
        Ok(Engine::Linux(match asked.native {
            true => lab.native().map_err(|e| Error(format!("--native: {e}")))?,
            false => lab,
        }))
    }

    /// Makes all runs, `jobs` at a time; `hear` is told of each by its place.
    pub fn run_all(
        &self,
        specs: &[RunSpec],
        jobs: usize,
        stop: &AtomicBool,
        hear: impl FnMut(usize, ItemEvent<RunOutcome>),
    ) {
        self.run_all_observed(specs, jobs, stop, None, hear);
    }

    /// The same; each run of the simulator is observed by who `observe` gives it, by its place.
    pub fn run_all_observed(
        &self,
        specs: &[RunSpec],
        jobs: usize,
        stop: &AtomicBool,
        observe: Option<&Observers<'_>>,
        mut hear: impl FnMut(usize, ItemEvent<RunOutcome>),
    ) {
        match self {
            Engine::Sim => {
                let most = specs.iter().map(|spec| spec.memory_bytes).max().unwrap_or(0);
                let jobs = fitting(jobs, specs.len(), most);
                let run = |i: usize, at: &dyn Fn(f64)| match observe {
                    None => queuewright_sim::run(&specs[i], stop, at),
                    Some(observe) => {
                        let observer = observe(i).map_err(queuewright_sim::Error::Observer)?;
                        queuewright_sim::run_observed(&specs[i], stop, at, observer)
                    }
                };
                let work = |i: usize, at: &dyn Fn(f64)| match run(i, at) {
                    Ok(run) => Ok(Some(Box::new(run))),
                    Err(queuewright_sim::Error::Stopped) => Ok(None),
                    Err(e) => Err(e.to_string()),
                };
                run_all(specs.len(), jobs, stop, work, hear);
            }
            Engine::Linux(lab) => {
                let batches = batches(specs);
                let work = |i: usize, tell: &dyn Fn((usize, ItemEvent<RunOutcome>))| {
                    let batch = batches[i].clone();
                    lab.run(&specs[batch.clone()], stop, |nth, heard| {
                        let step = match heard {
                            RunEvent::At(share) => ItemEvent::At(share),
                            RunEvent::Done(Ok(run)) => ItemEvent::Done(Ok(Some(run))),
                            RunEvent::Done(Err(queuewright_lab::Error::Stopped)) => ItemEvent::Done(Ok(None)),
                            RunEvent::Done(Err(e)) => ItemEvent::Done(Err(e.to_string())),
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
