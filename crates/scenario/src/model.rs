//! A scenario: what a file says, read and checked.

use crate::arrivals::{ArrivalPattern, Pause};
use crate::client::Client;
use crate::data::DataFile;
use crate::datagrams::Datagrams;
use crate::error::Place;
use crate::impairments::Impairments;
use crate::packet::FULL_BYTES;
use crate::rate::{Schedule, Shaper, Trace};
use crate::renamed::{Warning, Warnings};
use crate::setting::Setting;
use crate::sizes::Sizes;
use crate::stack::{SendBuffer, Stack};
use crate::trace::mean_rate;
use crate::units::{MILLION, Range, Size};
use queuewright_aqm::Info;
use queuewright_cca::Kind;
use queuewright_results::quality::qoo::Profile;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A link, its traffic, the disciplines to compare and the runs to make.
/// Every key's meaning, unit, range and default: `docs/scenario.md`.
///
/// Made by reading, which checks it; [`Scenario::runs`] relies on what was checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// Short name, for titles.
    pub name: Option<String>,
    /// What it is about, for people.
    pub description: Option<String>,
    /// Output ports, at least one, names unique; `[link]` is one called `bottleneck`.
    pub ports: Vec<Link>,
    /// One buffer of all ports that have none of their own.
    pub shared: Option<Size>,
    /// Traffic, at least one entry.
    pub flows: Vec<Flows>,
    /// Disciplines to compare, at least one, labels unique.
    pub disciplines: Vec<Discipline>,
    /// Length, seeds and flavour of the runs.
    pub run: Run,
    pub(crate) places: Places,
    pub(crate) warnings: Warnings,
}

impl Scenario {
    /// What it should say otherwise: keys by their old names.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings.0
    }
}

/// An output port: a link and its buffer.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Name in results.
    pub name: String,
    /// Rate over time.
    pub rate: LinkRate,
    /// A rate limiter's burst, bytes; none: a wire.
    pub burst_bytes: Option<u64>,
    /// Its rule.
    pub shaper: Shaper,
    /// Packets do not wait: the queue is only counted, and decides which packets are dropped.
    pub police: bool,
    /// Marks are set on the flow's next packet that comes, or on the packet itself; none: as the engine does it.
    pub late_marks: Option<bool>,
    /// From the port to the next, or to the receivers, ns.
    pub delay_ns: u64,
    /// Losses on the link, and packets delayed otherwise.
    pub impairments: Impairments,
    /// What the queue can hold; none: its packets wait in the shared buffer.
    pub buffer: Option<Size>,
    /// Bytes that the link counts for a packet beyond its IP length.
    pub overhead_bytes: u32,
    /// Its own discipline; none: the ones that are compared.
    pub discipline: Option<Discipline>,
}

/// Rate of the bottleneck.
#[derive(Debug, Clone, PartialEq)]
pub enum LinkRate {
    /// Bits a second.
    Constant(u64),
    /// By steps.
    Schedule(Arc<Schedule>),
    /// Delivery opportunities from a file.
    Trace(TraceFile),
}

/// A trace and where it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceFile {
    /// The file.
    pub file: DataFile,
    /// What it says.
    pub trace: Arc<Trace>,
}

/// One `[[flows]]` entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Flows {
    /// Name of the group, if given.
    pub name: Option<String>,
    /// Number of flows, drawn once a seed.
    pub count: Range,
    /// A flow for each line of a file: what each is. All else here is then of the first of them, but the
    /// ends of RTT and start and the congestion controls that occur.
    pub rows: Option<Rows>,
    /// What each sends.
    pub traffic: TrafficModel,
    /// The file that its sizes are out of.
    pub size_file: Option<DataFile>,
    /// The files of a user's own that congestion controls of its flows are out of.
    pub control_files: ControlFiles,
    /// How they come.
    pub arrival: ArrivalPattern,
    /// Ports that it crosses, in order: indices into [`Scenario::ports`].
    pub path: Vec<u32>,
    /// Ports that its acknowledgements cross on their reverse path, in order.
    pub reverse_path: Vec<u32>,
    /// Round-trip time without queues, ns, drawn per flow.
    pub rtt_ns: Range,
    /// Start, ns, drawn per flow.
    pub start_ns: Range,
    /// End of the application's writing, ns, drawn per flow.
    pub stop_ns: Option<Range>,
    /// How long a UDP flow sends, drawn per flow; none: until `stop_ns`.
    pub duration: Option<Pause>,
    /// Access link, bits a second, drawn per flow; none: unlimited.
    pub access_bps: Option<Range>,
    /// Most extra delay of a packet on the access link, ns, drawn per flow.
    pub jitter_ns: Range,
    /// What its flows' packets say of hosts and service.
    pub header: Header,
    /// Probes measure how the network answers while its flows load it.
    pub probes: Option<Probes>,
}

/// What packets say beside what they carry: the hosts of an entry's flows, dealt to them in turn, by number; none: each flow has its
/// own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Hosts that they come from.
    pub source: Option<Range>,
    /// Hosts that they go to.
    pub destination: Option<Range>,
    /// Differentiated services codepoint, 0 to 63.
    pub dscp: u8,
}

/// Files of a user's own, with the congestion controls that are out of them.
pub type ControlFiles = Vec<(Kind, DataFile)>;

/// Probes beside an entry's flows.
#[derive(Debug, Clone, PartialEq)]
pub struct Probes {
    /// Applications whose Quality of Outcome is to be known.
    pub profiles: Arc<Vec<Profile>>,
    /// The file that some of them are out of.
    pub file: Option<DataFile>,
}

/// Congestion window that a connection begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum InitialWindow {
    /// So many packets.
    Packets(u32),
    /// All that the flow has to send.
    All,
}

/// The traffic model of an entry: what its flows send.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum TrafficModel {
    /// TCP, or QUIC.
    Tcp {
        /// Which of the two, and whose.
        stack: Stack,
        /// Congestion controls with weights above 0, by name; one: every flow has it.
        #[serde(with = "crate::plain::controls")]
        ccas: Vec<(Kind, u32)>,
        /// What to send, drawn per flow; none: without end, or what a page says.
        size: Option<Sizes>,
        /// Packets that may be sent before the first acknowledgement; none: the stack's.
        initial_window: Option<InitialWindow>,
        /// ECN negotiated; congestion controls that need it negotiate it in any case.
        ecn: bool,
        /// Packets say ECT(1), as scalable senders' do (RFC 9331), and not ECT(0).
        l4s: bool,
        /// Bits a second, drawn per flow, for congestion controls that need a rate.
        bps: Option<Range>,
        /// What its application may write ahead.
        send_buffer: SendBuffer,
        /// Asks for what the flow sends; none: it sends by itself.
        client: Option<Client>,
    },
    /// UDP.
    Datagrams(Datagrams),
}

/// A discipline with the parameters that the scenario sets.
#[derive(Debug, Clone, PartialEq)]
pub struct Discipline {
    /// Which discipline.
    pub info: &'static Info,
    /// The file that it is out of; none: the program has it.
    pub file: Option<DataFile>,
    /// Name in results, unique in the scenario.
    pub label: String,
    /// Parameters that differ from the registry's default, in the order written.
    pub settings: Vec<(&'static str, Setting)>,
    /// What changes of them during a run, times rising.
    pub changes: Vec<Change>,
}

/// A change of a discipline's parameters while it runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// From then on, ns.
    pub at_ns: u64,
    /// Tunable parameters, at least one, in the registry's order.
    pub settings: Vec<(&'static str, Setting)>,
}

/// The `[run]` table.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Length, ns, warm-up included.
    pub duration_ns: u64,
    /// Cut off the front of every measure, ns.
    pub warmup_ns: u64,
    /// Seeds, distinct, at least one.
    pub seeds: Vec<u64>,
    /// Whose TCP it is, or QUIC, where an entry does not say.
    pub stack: Stack,
    /// Interval of the time series, ns.
    pub sample_ns: u64,
    /// Flows of each group in the time series: its first so many.
    pub series_flows: u32,
}

impl Run {
    /// The interval of the time series unless it is said: 10 ms, and a millionth of the run at least.
    pub fn usual_sample_ns(duration_ns: u64) -> u64 {
        (10 * MILLION).max(duration_ns / MILLION)
    }
}

/// Where keys were written, for errors that show only when runs are drawn. Says
/// nothing about the scenario: all are equal.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places(pub BTreeMap<String, (Place, String, String)>);

impl PartialEq for Places {
    fn eq(&self, _: &Places) -> bool {
        true
    }
}

/// Flows of a file, one a line.
#[derive(Debug, Clone)]
pub struct Rows {
    /// The file.
    pub file: DataFile,
    /// Which keys it gives, in its order.
    pub columns: Vec<&'static str>,
    /// Each line as an entry of its own, with the keys that hold for all.
    pub flows: Arc<Vec<Flows>>,
}

/// What the lines say is known from the file and from the entry that they belong to.
impl PartialEq for Rows {
    fn eq(&self, other: &Rows) -> bool {
        self.file == other.file && self.columns == other.columns
    }
}

/// Length of the largest packet on the link, as the link counts it.
pub(crate) fn largest_packet(flows: &[Flows], overhead: u32) -> u64 {
    let ip = flows.iter().map(|f| match &f.traffic {
        TrafficModel::Tcp { .. } => FULL_BYTES,
        TrafficModel::Datagrams(datagrams) => datagrams.packet_bytes(),
    });
    u64::from(ip.max().unwrap_or(FULL_BYTES) + overhead)
}

/// A rate to reckon with: a schedule's first above 0, a trace's mean; bit/s.
pub(crate) fn rate_of(rate: &LinkRate) -> u64 {
    match rate {
        LinkRate::Constant(bps) => *bps,
        LinkRate::Schedule(s) => s.steps.iter().map(|(_, bps)| *bps).find(|bps| *bps > 0).unwrap_or(0),
        LinkRate::Trace(file) => mean_rate(&file.trace),
    }
}
