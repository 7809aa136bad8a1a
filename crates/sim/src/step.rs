//! A run that is driven from outside, a step at a time: somebody looks at a discipline between two packets, and may
//! change what it does.

use crate::Error;
use crate::flow::Endpoints;
use crate::port::Port;
use crate::world::World;
use queuewright_aqm::Discipline;
use queuewright_results as results;
use queuewright_scenario::spec::RunSpec;
use std::sync::Arc;

/// What a port has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Seen {
    /// Packets dropped.
    pub dropped: u64,
    /// Packets put on the link, from the end of the warm-up on.
    pub sent: u64,
    /// Bytes put on the link.
    pub sent_bytes: u64,
    /// Sum of the sojourn times of these packets, ns.
    pub sojourn_ns: u128,
}

/// A run under way, up to a time.
#[derive(Debug)]
pub struct Stepper {
    world: World<Arc<RunSpec>>,
    now_ns: u64,
}

impl Stepper {
    /// A run about to begin, at time 0.
    ///
    /// # Errors
    /// [`Error::NoPort`].
    pub fn new(spec: Arc<RunSpec>) -> Result<Stepper, Error> {
        Ok(Stepper { world: World::begin(spec)?, now_ns: 0 })
    }

    /// Everything before `to_ns` happens; what is due at that very time does not yet. Times past are no step.
    pub fn run_before(&mut self, to_ns: u64) {
        if to_ns > self.now_ns {
            self.world.run_to(to_ns - 1, &mut |_| true);
            self.now_ns = to_ns;
        }
    }

    /// The time reached, ns.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// The discipline of a port; `None` if there is no such port.
    pub fn discipline(&mut self, port: usize) -> Option<&mut Discipline> {
        self.world.port(port).map(Port::discipline_mut)
    }

    /// What a port has done so far, of what is counted from the end of the warm-up on; `None` if there is no such port.
    pub fn seen(&mut self, port: usize) -> Option<Seen> {
        let measure = &self.world.port(port)?.measure;
        Some(Seen {
            dropped: measure.total.dropped,
            sent: measure.sent_packets,
            sent_bytes: measure.total.sent_bytes,
            sojourn_ns: measure.sojourn_sum_ns,
        })
    }

    /// Jain's index of the goodputs of all TCP flows that have begun and are not complete, each since its start, as far as their
    /// hosts have worked; NaN where nothing has come yet.
    pub fn fairness(&self) -> f64 {
        let (now_ns, mut some) = (self.now_ns, false);
        let long = self.world.flows().iter().filter(|f| {
            !matches!(f.ends, Endpoints::Udp { .. }) && f.start_ns < now_ns && f.finished_ns.is_none()
        });
        let index = results::jain(long.map(|f| {
            some |= f.reverse.delivered_total > 0;
            f.reverse.delivered_total as f64 / (now_ns - f.start_ns) as f64
        }));
        if some { index } else { f64::NAN }
    }

    /// Packets that all ports have sent so far.
    pub fn packets(&self) -> u64 {
        self.world.packets()
    }
}
