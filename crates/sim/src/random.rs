//! Random numbers: who has which stream of a seed, and what is drawn from one.

use rand_pcg::Pcg32;
use rand_pcg::rand_core::Rng;

/// Streams 0 to 2^32 of a seed belong to receivers and UDP sources, those from 2^32 to ports, those from here
/// to senders, those from `LINK_STREAMS` to links, those from `PROBE_STREAMS` to probes; those of flows that come and go lie from `COMING_STREAMS` on, 2^34 for each source.
/// No two share one.
const SENDER_STREAMS: u64 = 1 << 33;
const LINK_STREAMS: u64 = 1 << 34;
const PROBE_STREAMS: u64 = 1 << 35;
const COMING_STREAMS: u64 = 1 << 40;

/// Which flow it is: by itself, or how many its source had made before it. What others there are is no part of it.
#[derive(Debug, Clone, Copy)]
pub struct FlowIdentity {
    /// The source that made it; none: it is one of the run's own.
    pub source: Option<u32>,
    /// Its index, or its number at its source.
    pub number: u32,
}

impl FlowIdentity {
    fn first_stream(self) -> u64 {
        self.source.map_or(0, |source| COMING_STREAMS + (u64::from(source) << 34)) + u64::from(self.number)
    }

    /// What stands for it where flows are hashed: another for each flow, unless there are more than 255 sources, or 2^24 flows of one.
    pub fn hashed(self) -> u32 {
        self.number.wrapping_add(self.source.map_or(0, |source| source.wrapping_add(1) << 24))
    }
}

/// The stream of a flow's receiver, or of a UDP source.
pub fn receiver_stream(seed: u64, flow: FlowIdentity) -> Pcg32 {
    Pcg32::new(seed, flow.first_stream())
}

/// The stream of a flow's TCP sender.
pub fn sender_stream(seed: u64, flow: FlowIdentity) -> Pcg32 {
    Pcg32::new(seed, SENDER_STREAMS + flow.first_stream())
}

/// The stream of a port.
pub fn port_stream(seed: u64, port: usize) -> Pcg32 {
    stepped(seed, (1 << 32) + port as u64)
}

/// The stream of the link behind a port.
pub fn link_stream(seed: u64, port: usize) -> Pcg32 {
    stepped(seed, LINK_STREAMS + port as u64)
}

/// The stream of a run's probes on the connections that make a load.
pub fn probe_stream(seed: u64, probes: usize) -> Pcg32 {
    stepped(seed, PROBE_STREAMS + probes as u64)
}

fn stepped(seed: u64, number: u64) -> Pcg32 {
    let mut seeded = Pcg32::new(seed, number);
    // One step, so that a stream's first draw does not mirror its seed.
    seeded.next_u32();
    seeded
}

/// Uniform in 0..n; n is far below 2^64, so that the remainder favours nothing that shows.
pub fn below(random: &mut Pcg32, n: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(n)) >> 64) as u64
}

/// Uniform in (0, 1].
pub fn open(random: &mut Pcg32) -> f64 {
    ((random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
}

/// Exponential with mean 1, by the inverse transform. libm's functions are the same everywhere.
pub fn exponential(random: &mut Pcg32) -> f64 {
    -libm::log(open(random))
}

/// Standard normal, by Box and Muller.
pub fn normal(random: &mut Pcg32) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(open(random)));
    radius * libm::cos(2.0 * std::f64::consts::PI * open(random))
}
