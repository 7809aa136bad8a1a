//! A fast, deterministic packet simulator, faithful to Linux TCP.
//!
//! [`run`] takes one concrete run and gives its results. The same run gives the
//! same results on any machine. The way of a packet: `sender` → access link
//! (`flow`) → `port` (`queues`, discipline, `link`) → `forward_path` → `receiver` → ACK → `sender`;
//! `world` serves the ports, `net` moves it on between them, `hosts` within a flow, `wheel` holds what is still to happen at
//! ports, `measure` watches. `quic` has both ends of QUIC's connections, in the place of `sender` and `receiver`.
//!
//! Who wants to know more than results say looks on: `log` tells an observer what senders and queues do, `watch` a page what becomes of each
//! packet at a port. `step` and `playback` run to a time and no further.
//!
//! # A congestion control of your own
//!
//! A type that is a [`Control`](queuewright_cca::Control) takes the place of another in a run. So a test can have it below every queue manager, on any
//! scenario. This one is Reno with a decrease to 70 %:
//!
//! ```
//! use queuewright_cca::{Conn, Control, Flavour, Info, Kind};
//! use queuewright_scenario::Scenario;
//! use std::path::Path;
//! use std::sync::atomic::AtomicBool;
//!
//! #[derive(Debug, Clone)]
//! struct Mine;
//!
//! impl Control for Mine {
//!     const INFO: Info = Info { name: "mine", ..Info::PLAIN };
//!
//!     fn start(_: Flavour, _: &mut Conn, _now_ns: u64) -> Mine {
//!         Mine
//!     }
//!
//!     fn ssthresh(&mut self, c: &mut Conn, _now_ns: u64) -> u32 {
//!         (c.cwnd * 7 / 10).max(2)
//!     }
//!
//!     fn cong_avoid(&mut self, c: &mut Conn, acked: u32, _now_ns: u64) {
//!         if let Some(left) = c.past_slow_start(acked) {
//!             c.cong_avoid_ai(c.cwnd, left);
//!         }
//!     }
//! }
//!
//! let text = r#"
//!     [link]
//!     rate = "20mbit"
//!     [[flows]]
//!     cca = "cubic"
//!     rtt = "20ms"
//!     [queue]
//!     disciplines = ["droptail", "codel", "pie", "fq-codel"]
//!     [run]
//!     duration = "10s"
//!     warmup = "2s"
//! "#;
//! let scenario = Scenario::parse(text, "a scenario", Path::new("."))?;
//! for mut spec in scenario.runs()? {
//!     spec.replace_control(Kind::Cubic, Kind::of::<Mine>());
//!     let run = queuewright_sim::run(&spec, &AtomicBool::new(false), &|_| ())?;
//!     assert!(run.ports[0].utilization > 0.85, "{}", run.discipline);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
mod log;
mod measure;
mod net;
mod outcome;
mod packet;
mod playback;
mod port;
mod probes;
mod queues;
mod quic;
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
mod watch;
mod wheel;
mod world;

use queuewright_results::Run;
use queuewright_results::events::Observer;
use queuewright_scenario::spec::RunSpec;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

pub use playback::Playback;
pub use queuewright_cca::{Bbr, BbrMode, CaState, Cca, Kind};
pub use queuewright_results::jain;
pub use record::{Arrival, Call, LoneQueue, QueueOperation, arrivals, carried, record};
pub use recovery::recover;
pub use step::{Seen, Stepper};
pub use watch::{Fate, Watched};

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
    /// Who observed it could not keep what it heard.
    Observer(String),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Stopped => f.write_str("stopped"),
            Error::NotConserved(what) => write!(f, "the simulator lost count of packets (a bug): {what}"),
            Error::Control(what) | Error::Observer(what) => f.write_str(what),
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
    run_to_end(spec, stop, progress, None)
}

/// The same, while somebody hears what the senders of its own flows and its queues do. Flows that come and go tell nothing.
///
/// # Errors
/// As [`run`]; [`Error::Observer`] if what was heard cannot be kept. A run without a result ends without [`Observer::end`].
pub fn run_observed(
    spec: &RunSpec,
    stop: &AtomicBool,
    progress: &dyn Fn(f64),
    observer: Box<dyn Observer>,
) -> Result<Run, Error> {
    run_to_end(spec, stop, progress, Some(observer))
}

fn run_to_end(
    spec: &RunSpec,
    stop: &AtomicBool,
    progress: &dyn Fn(f64),
    observer: Option<Box<dyn Observer>>,
) -> Result<Run, Error> {
    let started = Instant::now();
    let mut world = world::World::begin(spec)?;
    if let Some(observer) = observer {
        world.observe(observer);
    }
    let mut told = 0.0;
    let ended = world.run(|now| {
        let share = now as f64 / spec.duration_ns as f64;
        if share >= told {
            told = share + 0.01;
            progress(share);
        }
        !stop.load(Ordering::Relaxed)
    });
    // A fault of a congestion control stops it, too: `finish` tells of that.
    if !ended && world.fault().is_none() {
        return Err(Error::Stopped);
    }
    let packets = world.packets();
    let mut run = world.finish()?;
    run.wall_s = started.elapsed().as_secs_f64();
    run.packets_per_s = packets as f64 / run.wall_s.max(1e-9);
    progress(1.0);
    Ok(run)
}
