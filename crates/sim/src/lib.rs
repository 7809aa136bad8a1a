//! A fast, deterministic packet simulator, faithful to Linux TCP.
//!
//! [`run`] takes one concrete run and gives its results. The same run gives the
//! same results on any machine. The way of a packet: `sender` → access link
//! (`flow`) → `port` (`queues`, discipline, `link`) → `forward_path` → `receiver` → ACK → `sender`;
//! `world` serves the ports, `net` moves it on between them, `hosts` within a flow, `wheel` holds what is still to happen at
//! ports, `measure` watches.

mod ack;
pub mod alone;
mod audit;
mod blocks;

mod acks_in_flight;
mod asker;
mod calls;
mod channel;
mod client;
mod datagrams;
mod flow;
mod forward_path;
mod hosts;
mod info;
mod jiffies;
mod late;
mod link;
mod measure;
mod net;
mod outcome;
mod packet;
mod port;
mod probes;
mod queues;
mod random;
mod receiver;
mod record;
mod recovery;
mod room;
mod sampler;
mod scoreboard;
mod segment;
mod sender;
mod socket;
mod stamps;
mod step;
mod stream;
mod traffic;
mod wheel;
mod world;

use queuewright_results::Run;
use queuewright_scenario::spec::RunSpec;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

pub use queuewright_cca::{Bbr, BbrMode, CaState, Cca, Kind};
pub use queuewright_results::jain;
pub use record::{Arrival, Call, LoneQueue, QueueOperation, arrivals, carried, record};
pub use recovery::recover;
pub use step::{Seen, Stepper};

/// Why a run has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// It was asked to stop.
    Stopped,
    /// The simulator lost or made up a packet: a bug in it.
    NotConserved(String),
    /// The run has no port.
    NoPort,
    /// A congestion control has left its connection with nothing to go on with.
    Control(String),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Stopped => f.write_str("stopped"),
            Error::NotConserved(what) => write!(f, "the simulator lost count of packets (a bug): {what}"),
            Error::Control(what) => f.write_str(what),
            Error::NoPort => f.write_str("the run has no output port"),
        }
    }
}

impl std::error::Error for Error {}

/// Runs one run to its end.
///
/// `stop` is looked at, and `progress` told the share done (0 to 1), at every sample of the time series.
///
/// # Errors
/// [`Error::Stopped`] once `stop` is set; [`Error::NotConserved`] if packets do not add up at the end.
pub fn run(spec: &RunSpec, stop: &AtomicBool, progress: &dyn Fn(f64)) -> Result<Run, Error> {
    if spec.ports.is_empty() {
        return Err(Error::NoPort);
    }
    let started = Instant::now();
    let mut world = world::World::new(spec);
    let mut told = 0.0;
    let ended = world.run(|now| {
        let share = now as f64 / spec.duration_ns as f64;
        if share >= told {
            told = share + 0.01;
            progress(share);
        }
        !stop.load(Ordering::Relaxed)
    });
    if let Some(fault) = world.fault() {
        return Err(Error::Control(fault.to_string()));
    }
    if !ended {
        return Err(Error::Stopped);
    }
    let packets = world.packets();
    let mut run = world.finish()?;
    run.wall_s = started.elapsed().as_secs_f64();
    run.packets_per_s = packets as f64 / run.wall_s.max(1e-9);
    recover(spec, &mut run);
    progress(1.0);
    Ok(run)
}
