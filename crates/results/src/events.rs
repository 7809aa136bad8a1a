//! What the senders and queues of a run do, event by event, for who wants to hear of it while the run goes on.

use queuewright_aqm::{REASON_NAMES, Reason};
use std::fmt::Debug;

/// What a sender did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SenderEvent {
    /// When, ns since the run began.
    pub at_ns: u64,
    /// What.
    pub what: SenderAction,
}

/// See [`SenderEvent`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SenderAction {
    /// A packet with data went out. Numbers of QUIC's packets never repeat; a segment of TCP has its own each time.
    Sent {
        /// Its number.
        number: u32,
        /// The segment that it carries.
        segment: u32,
        /// That was sent before.
        again: bool,
        /// A timeout has it sent, whatever the window says.
        probe: bool,
    },
    /// Packets were acknowledged for the first time: numbers from the first on, and one past the last.
    Acked(u32, u32),
    /// An acknowledgement of something new has come.
    Received {
        /// How long it waited at the receiver, as it says, ns.
        delay_ns: u64,
        /// Packets that were marked; none: it does not say.
        marked: Option<u32>,
    },
    /// A packet is thought lost.
    Lost {
        /// Its number.
        number: u32,
        /// Because of its time, not of what was acknowledged after it; none: it is not known.
        by_time: Option<bool>,
    },
    /// Measures that have changed, or all.
    Metrics(Metrics),
    /// Its congestion control is in another state.
    State {
        /// The state before; none: it begins.
        old: Option<CongestionState>,
        /// The state now.
        new: CongestionState,
    },
    /// Its packets are ECN-capable from now on.
    Ecn,
}

/// What a sender knows of its path, and may do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Metrics {
    /// Least round-trip time, ms; none: there is none yet.
    pub min_rtt_ms: Option<f64>,
    /// Smoothed one, ms.
    pub smoothed_rtt_ms: Option<f64>,
    /// The last, ms; none: or it is not told.
    pub latest_rtt_ms: Option<f64>,
    /// Its mean variation, ms.
    pub rtt_variance_ms: Option<f64>,
    /// Timeouts in a row.
    pub timeouts: u32,
    /// Congestion window, packets.
    pub window: u32,
    /// Packets in flight.
    pub in_flight: u32,
    /// Slow-start threshold, packets; none: there is none yet.
    pub ssthresh: Option<u32>,
    /// Pacing rate, bytes a second; none: it is not known.
    pub pacing_rate: Option<u64>,
}

/// What a congestion control does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CongestionState {
    /// The window grows with each acknowledgement.
    SlowStart,
    /// It grows slowly.
    Avoidance,
    /// A control with states of its own has met no congestion.
    Open,
    /// The window was made smaller for a mark.
    Marked,
    /// The window was made smaller for a loss, and what is lost is sent again.
    Recovery,
    /// After a timeout of TCP, or persistent congestion of QUIC.
    Collapsed,
}

/// What became of a packet at a queue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QueueEvent {
    /// When, ns since the run began.
    pub at_ns: u64,
    /// What.
    pub what: QueueAction,
    /// The flow.
    pub flow: u32,
    /// The number of its packet: of QUIC and of TCP's segments as [`SenderAction::Sent`] has it; of a datagram, when it was sent (ns).
    pub number: u64,
    /// It is an acknowledgement, by a number of its own.
    pub returns: bool,
    /// Its length as the link counts it.
    pub bytes: u16,
    /// Packets and bytes that wait, this one not counted.
    pub backlog: (u32, u64),
    /// How long it has waited, ns.
    pub sojourn_ns: u64,
}

/// See [`QueueEvent`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueAction {
    /// It joined the queue.
    Enqueue,
    /// It left the queue for the link.
    Dequeue,
    /// It was dropped.
    Drop(Reason),
    /// It was marked.
    Mark(Reason),
}

impl QueueAction {
    /// By which rule, as results call it; none: by no rule.
    pub fn reason(self) -> Option<&'static str> {
        match self {
            QueueAction::Drop(reason) | QueueAction::Mark(reason) => Some(REASON_NAMES[reason as usize]),
            QueueAction::Enqueue | QueueAction::Dequeue => None,
        }
    }
}

/// Hears what happens in a run. Events come in batches, those of one sender or queue in order of time.
pub trait Observer: Debug + Send + Sync {
    /// The sender of a flow did this.
    fn sender(&mut self, flow: u32, events: &[SenderEvent]);

    /// This happened at a port.
    fn queue(&mut self, port: u32, events: &[QueueEvent]);

    /// The run is over.
    ///
    /// # Errors
    /// Why what was heard cannot be kept.
    fn end(&mut self) -> Result<(), String>;
}
