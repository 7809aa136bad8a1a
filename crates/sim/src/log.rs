//! What senders and queues tell of themselves, for an [`Observer`](queuewright_results::events::Observer): kept until the next sample of the time
//! series.

use crate::packet::{Packet, flag};
use crate::sender::{Burst, Sender};
use queuewright_aqm::{Queue, Reason};
use queuewright_cca::{CaState, Conn, INFINITE_SSTHRESH};
use queuewright_results::events::{
    CongestionState, Metrics, QueueAction, QueueEvent, SenderAction, SenderEvent,
};

/// What a sender has done.
#[derive(Debug, Default)]
pub struct SenderLog {
    /// Since it was last asked.
    pub events: Vec<SenderEvent>,
    metrics: Option<Metrics>,
    state: Option<CongestionState>,
    /// The first segment that was not acknowledged.
    una: u32,
}

/// Round-trip times, ms; none: not known.
#[derive(Debug, Clone, Copy)]
pub struct RoundTrips {
    pub smoothed: Option<f64>,
    pub latest: Option<f64>,
    pub variance: Option<f64>,
}

/// Microseconds as ms; none: they stand for nothing.
fn known(us: u32) -> Option<f64> {
    (us != 0 && us != u32::MAX).then(|| f64::from(us) / 1e3)
}

/// Of a connection.
fn metrics(c: &Conn, rtt: RoundTrips, timeouts: u32) -> Metrics {
    Metrics {
        min_rtt_ms: known(c.min_rtt_us),
        smoothed_rtt_ms: rtt.smoothed,
        latest_rtt_ms: rtt.latest,
        rtt_variance_ms: rtt.variance,
        timeouts,
        window: c.cwnd,
        in_flight: c.in_flight(),
        ssthresh: (c.ssthresh < INFINITE_SSTHRESH).then_some(c.ssthresh),
        pacing_rate: (c.pacing && c.pacing_rate != u64::MAX).then_some(c.pacing_rate),
    }
}

/// What a control of that kind does.
fn state(c: &Conn, own_control: bool) -> CongestionState {
    match c.ca_state {
        CaState::Cwr => CongestionState::Marked,
        CaState::Recovery => CongestionState::Recovery,
        CaState::Loss => CongestionState::Collapsed,
        CaState::Open | CaState::Disorder if own_control => CongestionState::Open,
        CaState::Open | CaState::Disorder if c.in_slow_start() => CongestionState::SlowStart,
        CaState::Open | CaState::Disorder => CongestionState::Avoidance,
    }
}

impl SenderLog {
    /// Something happened.
    pub fn add(&mut self, at_ns: u64, what: SenderAction) {
        self.events.push(SenderEvent { at_ns, what });
    }

    /// What a connection is like now; `timeouts`: in a row.
    pub fn see(&mut self, at: u64, c: &Conn, own_control: bool, rtt: RoundTrips, timeouts: u32) {
        let (new, now) = (state(c, own_control), metrics(c, rtt, timeouts));
        if self.state != Some(new) {
            self.add(at, SenderAction::State { old: self.state, new });
            self.state = Some(new);
        }
        if self.metrics != Some(now) {
            self.add(at, SenderAction::Metrics(now));
            self.metrics = Some(now);
        }
    }

    /// A sender of TCP has worked in an acknowledgement, a timer or a pause of its pacing, and let these out.
    pub fn tcp(&mut self, at: u64, sender: &mut Sender, out: &[Burst]) {
        for number in sender.take_lost() {
            self.add(at, SenderAction::Lost { number, by_time: None });
        }
        let una = sender.una();
        if una > self.una {
            self.add(at, SenderAction::Received { delay_ns: 0, marked: None });
            self.add(at, SenderAction::Acked(self.una, una));
            self.una = una;
        }
        for burst in out.iter().filter(|b| b.flags & flag::SYN == 0) {
            let again = burst.flags & flag::RETRANSMIT != 0;
            for segment in burst.seq..burst.seq + u32::from(burst.count) {
                self.add(at, SenderAction::Sent { number: segment, segment, again, probe: false });
            }
        }
        let c = sender.conn();
        let rtt = RoundTrips {
            smoothed: known(c.srtt_us).map(|eighths| eighths / 8.0),
            latest: None,
            variance: known(sender.inner().mdev >> 2),
        };
        self.see(at, c, sender.draws(), rtt, sender.info().retransmits);
    }
}

/// What has become of packets at a port.
#[derive(Debug, Default)]
pub struct QueueLog {
    /// Since it was last asked.
    pub events: Vec<QueueEvent>,
    /// A packet that is about to join the queue, or to leave it: what is said of it next decides.
    pending: Option<QueueEvent>,
    /// By flow: is it QUIC's?
    quic: Vec<bool>,
}

impl QueueLog {
    /// An empty one; `quic`: whose flows' packets have numbers of QUIC.
    pub fn new(quic: Vec<bool>) -> QueueLog {
        QueueLog { quic, ..QueueLog::default() }
    }

    fn event(&self, at_ns: u64, what: QueueAction, p: &Packet, returns: bool, queue: &Queue) -> QueueEvent {
        let udp = p.flags & flag::UDP != 0;
        let quic = !returns && self.quic.get(p.flow as usize).is_some_and(|quic| *quic);
        QueueEvent {
            at_ns,
            what,
            flow: p.flow,
            number: match (udp, quic) {
                (true, _) => p.number(),
                (_, true) => p.ts.into(),
                _ => p.seq.into(),
            },
            returns,
            bytes: p.bytes,
            backlog: (queue.packets, queue.bytes),
            sojourn_ns: at_ns - p.enqueue_ns,
        }
    }

    /// A packet comes, or is taken from the queue: unless it is dropped it joins it, or leaves.
    pub fn moves(&mut self, now: u64, what: QueueAction, p: &Packet, returns: bool, queue: &Queue) {
        self.settle();
        self.pending = Some(self.event(now, what, p, returns, queue));
    }

    /// A packet is marked: the one that moves.
    pub fn marks(&mut self, reason: Reason) {
        if let Some(event) = self.pending {
            self.settle();
            self.events.push(QueueEvent { what: QueueAction::Mark(reason), ..event });
        }
    }

    /// A packet is dropped: the one that moves, or another in its place.
    pub fn drops(&mut self, now: u64, p: &Packet, returns: bool, queue: &Queue, reason: Reason) {
        let event = self.event(now, QueueAction::Drop(reason), p, returns, queue);
        let same =
            |e: &QueueEvent| (e.at_ns, e.flow, e.number, e.returns) == (now, p.flow, event.number, returns);
        match self.pending {
            Some(pending) if same(&pending) => self.pending = None,
            _ => self.settle(),
        }
        self.events.push(event);
    }

    /// What was about to happen has.
    pub fn settle(&mut self) {
        self.events.extend(self.pending.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_are_told_when_they_change() {
        let mut log = SenderLog::default();
        let rtt = RoundTrips { smoothed: None, latest: None, variance: None };
        for (at, timeouts) in [(1, 0), (2, 0), (3, 1)] {
            log.see(at, &Conn::default(), false, rtt, timeouts);
        }
        let measured = |e: &&SenderEvent| matches!(e.what, SenderAction::Metrics(_));
        let at: Vec<u64> = log.events.iter().filter(measured).map(|e| e.at_ns).collect();
        assert_eq!(at, [1, 3]);
    }
}
