//! The concrete form of a run: every number decided, every range drawn, every
//! unit resolved. Engines (simulator, Linux) read this and nothing else. It is plain data: what is drawn
//! while a run goes on is said by what it is drawn from.

use queuewright_aqm::{Spec as DisciplineSpec, Value};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub use crate::arrivals::{Pages, Pause};
pub use crate::codec::Codec;
pub use crate::datagrams::Gaps;
pub use crate::flow::{FlowSpec, HeaderSpec, Traffic};
pub use crate::impairments::{Impairments, Jitter, JitterLaw, Reorder};
pub use crate::model::{InitialWindow, TrafficModel};
pub use crate::probes::ProbesSpec;
pub use crate::rate::{Schedule, Shaper, Trace};
pub use crate::requests::{ClientSpec, RequestsSpec};
pub use crate::sizes::{SizeTable, Sizes};
pub use crate::source::{ArrivalProcess, Loads, Poisson, SourceSpec, Transfer};
pub use crate::stack::{RMEM_BYTES, SendBuffer, Stack};
pub use crate::streams::FlowTemplate;
pub use crate::units::Range;

/// One run: one discipline, one seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSpec {
    /// Discipline that is compared, its label in results and its parameters, sizes in them resolved for
    /// the first port that has it.
    pub discipline: DisciplineSpec,
    /// Seed of every random stream of the run.
    pub seed: u64,
    /// Length, ns, warm-up included.
    pub duration_ns: u64,
    /// Cut off the front of every measure, ns.
    pub warmup_ns: u64,
    /// Whose TCP it is, or QUIC, where an entry does not say: of hosts and timers.
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
    /// What measures how the network answers. Each has a source and a group of its own, behind all others.
    pub probes: Vec<ProbesSpec>,
    /// Interval of the time series, ns.
    pub series_interval_ns: u64,
    /// Flows whose cwnd and goodput are in the time series (indices).
    pub series_flows: Vec<u32>,
    /// About what it will need in memory, bytes.
    pub memory_bytes: u64,
}

/// An output port: queue and link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PortSpec {
    /// Name in results.
    pub name: String,
    /// The discipline here: [`RunSpec::discipline`] with sizes for this port, or one of its own.
    pub discipline: DisciplineSpec,
    /// It is one of its own.
    pub own: bool,
    /// What the timers of the discipline go by.
    pub timers: Timers,
    /// What is to change of it during the run, times not falling.
    pub changes: Vec<Change>,
    /// Rate of the link.
    pub rate: Rate,
    /// Depth of the token bucket that limits it, bytes; none: a wire, which takes one packet after the other.
    /// Only with [`Rate::Constant`].
    pub burst_bytes: Option<u64>,
    /// The bucket's rule.
    pub shaper: Shaper,
    /// Packets do not wait: each that the discipline lets in goes on at once, and the queue that it would have waited in is
    /// counted alone.
    pub police: bool,
    /// Marks are set on the flow's next packet that comes.
    pub late_marks: bool,
    /// Propagation delay of the link, ns.
    pub delay_ns: u64,
    /// Losses on the link, and packets delayed otherwise.
    pub impairments: Impairments,
    /// Buffer, bytes as the link counts them; 0: no byte limit.
    pub limit_bytes: u64,
    /// Buffer, packets; 0: no packet limit.
    pub limit_packets: u32,
    /// Its packets wait in the buffer that ports share.
    pub shared: bool,
}

/// What the timers of a discipline go by.
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
    Schedule(#[serde(with = "queuewright_aqm::shared")] Arc<Schedule>),
    /// Delivery opportunities.
    Trace(#[serde(with = "queuewright_aqm::shared")] Arc<Trace>),
}

/// A group of flows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupSpec {
    /// Name in results.
    pub name: String,
    /// What its flows are: a congestion control's name, or the key of its UDP traffic. A group
    /// may be without flows: then this is all there is to say of it.
    pub cca: String,
    /// `sha256:` and the SHA-256 of the user's own file that the congestion control is out of.
    pub cca_file: Option<String>,
    /// Its flows are UDP's: what counts is what becomes of each packet.
    pub datagrams: bool,
    /// Of telephone calls: what speech is encoded with.
    pub codec: Option<Codec>,
}
