//! The concrete form of a run: every number decided, every range drawn, every
//! unit resolved. Engines (simulator, Linux) read this and nothing else. It is plain data: what is drawn
//! while a run goes on is said by what it is drawn from.

use queuewright_aqm::{Spec as DisciplineSpec, Value};
use queuewright_cca::Kind as CcaKind;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub use crate::client::{Asks, RequestsSpec};
pub use crate::comes::{Pages, Pause};
pub use crate::flaws::{Flaws, Jitter, JitterLaw, Reorder};
pub use crate::model::{InitialWindow, Sends};
pub use crate::sizes::{SizeTable, Sizes};
pub use crate::source::{Coming, Each, Loads, Poisson, SourceSpec, Transfer};
pub use crate::units::Range;

/// One run: one discipline, one seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSpec {
    /// Queue manager that is compared, its label in results and its parameters, sizes in them resolved for
    /// the first port that has it.
    pub discipline: DisciplineSpec,
    /// Seed of every random stream of the run.
    pub seed: u64,
    /// Length, ns, warm-up included.
    pub duration_ns: u64,
    /// Cut off the front of every measure, ns.
    pub warmup_ns: u64,
    /// TCP flavour.
    pub stack: Stack,
    /// Bytes that links count for a packet beyond its IP length (Ethernet: 14).
    pub overhead_bytes: u32,
    /// Output ports; the flows' paths are indices into it.
    pub ports: Vec<PortSpec>,
    /// The buffer that ports with [`PortSpec::shared`] share, bytes as links count them; 0: none does.
    pub shared_bytes: u64,
    /// Groups, in file order.
    pub groups: Vec<GroupSpec>,
    /// Flows, in group order.
    pub flows: Vec<FlowSpec>,
    /// Where flows come from while the run goes on.
    pub sources: Vec<SourceSpec>,
    /// Interval of the time series, ns.
    pub series_interval_ns: u64,
    /// Flows whose cwnd and goodput are in the time series (indices).
    pub series_flows: Vec<u32>,
}

/// TCP flavour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stack {
    /// Linux 6.x: the default.
    Linux,
    /// As the Titrate artifact's ns-3.34: ACK every segment, 1 s minimum RTO without back-off, 5 MiB socket buffers.
    Ns3,
}

impl Stack {
    /// What links count for a packet beyond its IP length where a scenario does not say: on Ethernet Linux counts 14 bytes, on its
    /// PPP links ns-3 counts 2.
    pub fn overhead_bytes(self) -> u32 {
        match self {
            Stack::Linux => 14,
            Stack::Ns3 => 2,
        }
    }
}

/// An output port: queue and link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PortSpec {
    /// Name in results.
    pub name: String,
    /// The queue manager here: [`RunSpec::discipline`] with sizes for this port, or one of its own.
    pub discipline: DisciplineSpec,
    /// It is one of its own.
    pub own: bool,
    /// What the timers of the queue manager go by.
    pub timers: Timers,
    /// What is to change of it during the run, times not falling.
    pub changes: Vec<Change>,
    /// Rate of the link.
    pub rate: Rate,
    /// Depth of the token bucket that limits it, bytes; none: a wire, which takes one packet after the other.
    /// Only with [`Rate::Constant`].
    pub burst_bytes: Option<u64>,
    /// Packets do not wait: each that the discipline lets in goes on at once, and the queue that it would have waited in is
    /// counted alone.
    pub police: bool,
    /// Propagation delay of the link, ns.
    pub delay_ns: u64,
    /// Losses on the link, and packets delayed otherwise.
    pub flaws: Flaws,
    /// Buffer, bytes as the link counts them; 0: no byte limit.
    pub limit_bytes: u64,
    /// Buffer, packets; 0: no packet limit.
    pub limit_packets: u32,
    /// Its packets wait in the buffer that ports share.
    pub shared: bool,
}

/// What the timers of a queue manager go by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Timers {
    /// Time: every discipline of ours does, in the simulator as in BPF.
    Exact,
    /// The jiffies of a kernel of 250 a second, where the discipline stands for the kernel's own: with [`Stack::Linux`].
    Jiffies,
}

/// A change of a port's discipline while it runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// From then on, ns.
    pub at_ns: u64,
    /// A tunable parameter.
    pub param: String,
    /// Its value, in its range.
    pub value: Value,
}

/// Rate of a link over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Rate {
    /// Bits per second.
    Constant(u64),
    /// By steps.
    Schedule(Arc<Schedule>),
    /// Delivery opportunities.
    Trace(Arc<Trace>),
}

/// Rates that follow one another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// (from ns, bits per second), the first from 0, times rising, not all rates 0. A rate of 0 is an outage.
    pub steps: Vec<(u64, u64)>,
    /// When it begins anew, after the last step's time, ns; none: the last rate stays.
    pub period_ns: Option<u64>,
}

impl Schedule {
    /// What a link does until a time, bits times 1e9: a bit a second for a ns is 1.
    pub fn work(&self, until_ns: u64) -> u128 {
        let in_one = |until: u64| -> u128 {
            let end = |i: usize| self.steps.get(i + 1).map_or(until, |s| s.0.min(until));
            let of_step = |(i, step): (usize, &(u64, u64))| {
                u128::from(end(i).saturating_sub(step.0)) * u128::from(step.1)
            };
            self.steps.iter().enumerate().map(of_step).sum()
        };
        match self.period_ns {
            None => in_one(until_ns),
            Some(period) => u128::from(until_ns / period) * in_one(period) + in_one(until_ns % period),
        }
    }
}

/// Delivery opportunities: at each time the link may send up to 1500 bytes (IP length);
/// repeats with the period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// Times from the start, ns, not falling, all < or = `period_ns`, at least one.
    pub opportunities_ns: Vec<u64>,
    /// Length after which it repeats (the last opportunity's time), ns, > 0.
    pub period_ns: u64,
}

/// A group of flows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupSpec {
    /// Name in results.
    pub name: String,
    /// What its flows are: a congestion control's name, or `cbr` / `poisson`. A group
    /// may be without flows: then this is all there is to say of it.
    pub cca: String,
}

/// A flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowSpec {
    /// Index into [`RunSpec::groups`].
    pub group: u32,
    /// What it sends.
    pub traffic: Traffic,
    /// Round-trip time without queues and serialisation, ns; at least twice the ports' delays.
    pub base_rtt_ns: u64,
    /// When it starts, ns.
    pub start_ns: u64,
    /// For how long its handshake is over when it starts, if it is TCP without a size of its own, ns; none: as long as a
    /// measurement tool takes.
    pub open_for_ns: Option<u64>,
    /// When its application stops writing, ns; none: never.
    pub stop_ns: Option<u64>,
    /// Rate of its access link, bits per second; none: unlimited.
    pub access_bps: Option<u64>,
    /// Each packet's extra delay on the access link is uniform in 0..=jitter, ns, without reordering.
    pub jitter_ns: u64,
    /// What its application may write ahead.
    pub send_buffer: SendBuffer,
    /// Ports it crosses, in order.
    pub path: Vec<u32>,
    /// Ports that its acknowledgements cross, in order; none: nothing holds them up.
    pub back: Vec<u32>,
}

/// How far a TCP sender's application may write ahead of what is acknowledged, or sent; none: the stack's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SendBuffer {
    /// Most bytes of the send buffer, what its segments lie in included: Linux's `tcp_wmem[2]`.
    pub wmem_bytes: Option<u32>,
    /// It writes while less than this waits to be sent, and is woken when less than half of it does: `TCP_NOTSENT_LOWAT`, bytes.
    pub notsent_lowat_bytes: Option<u32>,
}

/// What a flow sends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Traffic {
    /// TCP.
    Tcp {
        /// Congestion control.
        #[serde(with = "crate::plain::control")]
        cca: CcaKind,
        /// Application bytes to send; none: without end.
        size_bytes: Option<u64>,
        /// Packets that may be sent before the first acknowledgement; none: the stack's choice.
        initial_window: Option<u32>,
        /// ECN (RFC 3168) negotiated.
        ecn: bool,
        /// Its packets say ECT(1) (RFC 9331) and not ECT(0).
        l4s: bool,
        /// Bits per second of segments asked of a congestion control that needs a rate; 0 for others.
        rate_bps: u64,
        /// What its client asks for, after `size_bytes` if that is given; none: it sends by itself.
        asks: Option<Asks>,
    },
    /// UDP at a constant rate.
    Cbr {
        /// Bits per second of IP packets.
        bps: u64,
        /// IP length of a packet.
        packet_bytes: u32,
    },
    /// UDP with exponential gaps.
    Poisson {
        /// Mean bits per second of IP packets.
        bps: u64,
        /// IP length of a packet.
        packet_bytes: u32,
    },
}
