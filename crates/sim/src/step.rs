//! A run that is driven from outside, a step at a time: somebody looks at a discipline between two packets, and may
//! change what it does.

use crate::Error;
use crate::port::Port;
use crate::world::World;
use queuewright_aqm::Discipline;
use queuewright_scenario::spec::RunSpec;
use std::sync::Arc;

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
        if spec.ports.is_empty() {
            return Err(Error::NoPort);
        }
        Ok(Stepper { world: World::new(spec), now_ns: 0 })
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

    /// Packets that all ports have sent so far.
    pub fn packets(&self) -> u64 {
        self.world.packets()
    }
}
