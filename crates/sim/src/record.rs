//! Every call of a queue manager in a run, to be made again elsewhere, inside a kernel or on another processor: the verdicts
//! follow from the calls.

use crate::{Error, world};
use queuewright_aqm::{Packet, Queue};
use queuewright_scenario::spec::RunSpec;
use std::sync::atomic::{AtomicBool, Ordering};

/// Which of its functions was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// A packet arrived.
    Enqueue,
    /// One is to leave.
    Dequeue,
    /// The link found nothing to send.
    Idle,
}

/// A call of a queue manager with one queue, and all that it was given.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    /// When, ns since the run began.
    pub now_ns: u64,
    /// What was asked.
    pub asked: Asked,
    /// The random number that an arrival comes with.
    pub random: u32,
    /// The queue as it was shown.
    pub queue: Queue,
    /// The packet, if there is one.
    pub packet: Packet,
}

/// Calls as they are made, the first ones alone.
#[derive(Debug)]
pub(crate) struct Calls {
    all: Vec<Call>,
    most: usize,
}

impl Calls {
    pub fn new(most: usize) -> Calls {
        Calls { all: Vec::new(), most }
    }

    pub fn add(&mut self, now_ns: u64, asked: Asked, random: u32, queue: &Queue, packet: &Packet) {
        if self.all.len() < self.most {
            self.all.push(Call { now_ns, asked, random, queue: *queue, packet: *packet });
        }
    }

    pub fn into_all(self) -> Vec<Call> {
        self.all
    }
}

/// The first `most` calls of the queue manager at the first port of a run; none of a scheduler, which has many queues.
///
/// # Errors
/// As [`crate::run`].
pub fn record(spec: &RunSpec, most: usize, stop: &AtomicBool) -> Result<Vec<Call>, Error> {
    if spec.ports.is_empty() {
        return Err(Error::NoPort);
    }
    let mut world = world::World::new(spec);
    world.first_port().record(most);
    if !world.run(|_| !stop.load(Ordering::Relaxed)) {
        return Err(Error::Stopped);
    }
    Ok(world.first_port().recorded())
}
