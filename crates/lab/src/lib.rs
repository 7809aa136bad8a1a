//! The same scenario on a real Linux kernel: network namespaces inside a small virtual machine in virtual
//! time (QEMU's `-icount`, one processor), without root and without KVM.
//!
//! [`check`] says what of a scenario the engine cannot do; [`batches`] shares runs out to machines;
//! [`Lab::run`] boots one and measures. The way of a run: `job` writes what the guest is to do, `queuewright_machine` packs it
//! into an initramfs, `machine` boots, the guest's program (`guest/`) sends and watches, `stream` reads what it wrote,
//! `measure` makes results of it. `build/lab`, which `scripts/setup lab` fills, holds kernel, QEMU and tools.

mod check;
mod control;
mod costs;
mod job;
pub mod judge;
mod layout;
mod machine;
mod measure;
mod modules;
mod netem;
pub mod ns3;
mod own;
mod place;
mod program;
mod qdisc;
pub mod queues;
pub mod random;
pub mod replay;
pub mod scripts;
mod series;
mod stats;
mod stream;
pub mod validate;

pub use check::check;
pub use costs::{Cost, Costs, StepCost};
pub use netem::Transits;
pub use place::{Lab, trusted};
pub use qdisc::{QdiscOrigin, attach_words};

use queuewright_results::Run;
use queuewright_scenario::RunSpec;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Why there are no results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// It was asked to stop.
    Stopped,
    /// The lab is not there, or a file of it is missing.
    Missing(String),
    /// The machine did not do what it should.
    Machine(String),
    /// A run took longer than it may: what its program said last of what it does, if anything.
    Late(String),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Stopped => f.write_str("stopped"),
            Error::Missing(what) | Error::Machine(what) => f.write_str(what),
            Error::Late(doing) => write!(f, "a run takes too long: {doing}"),
        }
    }
}

impl std::error::Error for Error {}

/// What happens to a run while a machine works.
#[derive(Debug)]
pub enum RunEvent {
    /// It has got so far, 0..=1.
    At(f64),
    /// It is done, or why it is not.
    Done(Result<Box<Run>, Error>),
}

/// A boot costs as much as a few seconds of traffic: short runs share one until so much (ns) is to do.
const WORTH_A_BOOT_NS: u64 = 60_000_000_000;
/// And no more of them, so that processors share the work.
const MOST_IN_A_BOOT: usize = 8;

/// Which runs go together into one machine. It depends on the runs alone, so that results do not depend on how
/// many machines work at a time.
pub fn batches(runs: &[RunSpec]) -> Vec<Range<usize>> {
    let mut all: Vec<Range<usize>> = Vec::new();
    let mut length = 0;
    for (i, run) in runs.iter().enumerate() {
        match all.last_mut() {
            Some(last) if length + run.duration_ns <= WORTH_A_BOOT_NS && last.len() < MOST_IN_A_BOOT => {
                last.end = i + 1;
            }
            _ => {
                all.push(i..i + 1);
                length = 0;
            }
        }
        length += run.duration_ns;
    }
    all
}

impl Lab {
    /// Makes these runs, one after the other, in one machine. `hear` is told of each, by its place in `runs`; every
    /// run is heard of as done. Once `stop` is set the machine is ended.
    pub fn run(&self, runs: &[RunSpec], stop: &AtomicBool, mut hear: impl FnMut(usize, RunEvent)) {
        let mut waiting: Vec<bool> = vec![true; runs.len()];
        let mut since = Instant::now();
        let ended = self.work(runs, stop, |i, heard| {
            let heard = match heard {
                machine::GuestEvent::At(seconds) => {
                    RunEvent::At((seconds * 1e9 / runs[i].duration_ns as f64).clamp(0.0, 1.0))
                }
                machine::GuestEvent::Failed(why) => {
                    RunEvent::Done(Err(Error::Machine(own::in_words(control::in_words(why, runs), runs))))
                }
                machine::GuestEvent::Measured(raw) => RunEvent::Done(Ok(Box::new({
                    let wall_s = since.elapsed().as_secs_f64();
                    since = Instant::now();
                    measure::run(&runs[i], &raw, wall_s)
                }))),
            };
            if let RunEvent::Done(_) = heard {
                if !waiting[i] {
                    return;
                }
                waiting[i] = false;
            }
            hear(i, heard);
        });
        let why =
            ended.err().unwrap_or(Error::Machine("the machine ended before the run was complete".into()));
        for i in (0..runs.len()).filter(|i| waiting[*i]) {
            hear(i, RunEvent::Done(Err(why.clone())));
        }
    }

    fn work(
        &self,
        runs: &[RunSpec],
        stop: &AtomicBool,
        hear: impl FnMut(usize, machine::GuestEvent),
    ) -> Result<(), Error> {
        let job = job::Job::new(runs, self.origin, self.native, self.linux())?;
        let chance = runs.first().map_or(1, |r| r.seed);
        machine::work(self, &job, chance, stop, hear)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use queuewright_scenario::Scenario;

    #[test]
    fn short_runs_share_a_boot() {
        let of = |seconds: u32, seeds: u32| {
            let text = format!(
                "[link]\nrate = \"10mbit\"\n[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\n[queue]\n\
                 disciplines = [\"codel\"]\n[run]\nduration = \"{seconds}s\"\nseeds = \"1..{seeds}\"\n"
            );
            let runs = Scenario::parse(&text, "t.toml", "".as_ref()).and_then(|s| s.runs());
            batches(&runs.expect("a scenario"))
        };
        assert_eq!(of(20, 4), [0..3, 3..4]);
        assert_eq!(of(120, 2), [0..1, 1..2]);
        assert_eq!(of(1, 20), [0..8, 8..16, 16..20]);
        assert!(batches(&[]).is_empty());
    }
}
