//! Every call of a discipline in a run, to be made again elsewhere, inside a kernel or on another processor: the verdicts
//! follow from the calls. And every packet that comes to it, to be sent through a kernel's discipline.

use crate::channel::Channel;
use crate::packet::{self, flag};
use crate::port::{Port, tell_headers};
use crate::random::link_stream;
use crate::{Error, jiffies, world};
use queuewright_aqm::Spec;
use queuewright_scenario::spec::RunSpec;
use rand_pcg::Pcg32;
use std::sync::atomic::{AtomicBool, Ordering};

pub use crate::calls::{Arrival, Call, QueueOperation};

/// The first `most` packets that come to the first port of a run.
///
/// # Errors
/// As [`crate::run`].
pub fn arrivals(spec: &RunSpec, most: usize, stop: &AtomicBool) -> Result<Vec<Arrival>, Error> {
    let mut world = world::World::begin(spec)?;
    world.first_port().record_arrivals(most);
    if !world.run(|_| !stop.load(Ordering::Relaxed)) {
        return Err(Error::Stopped);
    }
    Ok(world.first_port().recorded_arrivals())
}

/// When packets that leave a run's first port at these times are there by its link; none: it loses them.
pub fn carried(run: &RunSpec, left_ns: &[u64]) -> Vec<Option<u64>> {
    let Some(port) = run.ports.first() else { return Vec::new() };
    let mut channel = Channel::new(port, link_stream(run.seed, 0));
    left_ns.iter().map(|at| channel.carry(at + port.delay_ns)).collect()
}

/// The queue of a run's first port alone: who drives it says when a packet comes and when the link takes one.
#[derive(Debug)]
pub struct LoneQueue {
    port: Port,
    spec: Spec,
    turn_ns: u64,
}

impl LoneQueue {
    /// An empty one; none if the run has no port.
    pub fn new(run: &RunSpec) -> Option<LoneQueue> {
        let port = run.ports.first()?;
        let random = Pcg32::new(run.seed, 0);
        let spec = port.discipline.clone();
        let mut port = Port::new(port, run.overhead_bytes, 0, u64::MAX, random);
        for (i, flow) in run.flows.iter().enumerate() {
            tell_headers(std::slice::from_mut(&mut port), i as u32, flow);
        }
        Some(LoneQueue { port, spec, turn_ns: 0 })
    }

    /// With a discipline whose timer, if it has one, fires when it is told to alone.
    pub fn with_timer(mut self) -> LoneQueue {
        if let Some(discipline) = jiffies::by_hand(&self.spec) {
            *self.port.discipline_mut() = discipline;
        }
        self
    }

    /// The discipline's timer fires.
    pub fn tick(&mut self, now_ns: u64) {
        let bytes = self.port.queue().bytes;
        self.port.discipline_mut().tick(now_ns, bytes);
    }

    /// The queue that the flow's packets join, of a scheduler that hashes flows.
    pub fn queue_of(&self, flow: u32) -> u32 {
        self.port.queue_of(flow, &self.spec)
    }

    /// A random number that the packet which comes next may draw beside the one that comes with it.
    pub fn tell(&mut self, random: u32) {
        self.port.discipline_mut().tell(random);
    }

    /// A packet comes, with a number of its own; the discipline gets this random number, if it asks for one.
    pub fn arrive(&mut self, number: u32, packet: &Arrival, random: u32) {
        let flags = match packet.ecn {
            0 => 0,
            1 => flag::ECT | flag::ECT1,
            2 => flag::ECT,
            _ => flag::ECT | flag::CE,
        };
        let (enqueue_ns, flow, bytes) = (packet.at_ns, packet.flow, packet.bytes);
        let packet =
            packet::Packet { enqueue_ns, flow, seq: number, bytes, flags, ..packet::Packet::default() };
        self.port.arrive_with(packet, random);
    }

    /// A packet comes to a port that polices: does it let it pass?
    pub fn police(&mut self, packet: &Arrival) -> bool {
        while self.port.service_at <= packet.at_ns {
            let now = self.port.service_at;
            self.port.serve(now, |_, _| ());
        }
        let (enqueue_ns, flow, bytes) = (packet.at_ns, packet.flow, packet.bytes);
        self.port.police(packet::Packet { enqueue_ns, flow, bytes, ..packet::Packet::default() }).is_some()
    }

    /// The link takes a packet: its number, and is it marked? None: there is none.
    pub fn depart(&mut self, now_ns: u64) -> Option<(u32, bool)> {
        // An idle link is told of by the caller of `dequeue`; htb asks no empty queue.
        if self.port.queue().packets == 0 {
            return None;
        }
        let p = self.port.dequeue(now_ns)?;
        self.turn_ns = self.port.take(now_ns, u32::from(p.bytes)).unwrap_or(u64::MAX);
        Some((p.seq, p.flags & flag::CE != 0))
    }

    /// From when on the link lets the next packet, of so many bytes, leave (ns); [`LoneQueue::depart`] does not wait for it.
    pub fn turn_ns(&self, bytes: u16) -> u64 {
        self.port.earliest(self.turn_ns, u32::from(bytes))
    }

    /// Packets that wait.
    pub fn packets(&self) -> u32 {
        self.port.queue().packets
    }
}

/// The first `most` calls of the discipline at the first port of a run; none of a scheduler, which has many queues.
///
/// # Errors
/// As [`crate::run`].
pub fn record(spec: &RunSpec, most: usize, stop: &AtomicBool) -> Result<Vec<Call>, Error> {
    let mut world = world::World::begin(spec)?;
    world.first_port().record(most);
    if !world.run(|_| !stop.load(Ordering::Relaxed)) {
        return Err(Error::Stopped);
    }
    Ok(world.first_port().recorded())
}
