//! What becomes of the datagrams of one flow, in the order in which they were sent.

use queuewright_results::quality::emodel::{self, Codec, Echo};
use queuewright_results::quality::loss::{Pattern, burst_r};
use queuewright_scenario::spec::Codec as CodecName;
use std::collections::VecDeque;

/// A telephone plays a packet so long (ns) after the quickest of its call would have been there; what comes later is lost to it.
const PLAYOUT_NS: u64 = 60_000_000;

/// A datagram under way, or one that waits for those sent before it.
#[derive(Debug)]
struct Sent {
    at_ns: u64,
    fate: Option<Fate>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Outside of the window.
    NotCounted,
    Lost,
    /// It took so long on the way (ns).
    Came(u64),
}

/// The datagrams of a flow.
#[derive(Debug, Default)]
pub struct Stream {
    under_way: VecDeque<Sent>,
    /// What every packet takes (ns): propagation.
    floor_ns: u64,
    /// The smallest of what packets have taken beyond that (ns), in the warm-up, too; for jitter, of the window's.
    quickest_ns: Option<u64>,
    quickest_counted_ns: Option<u64>,
    delays: Delays,
    /// Of the window's that came: the sum of `quickest_ns` when each was counted, and how many they are.
    waits_ns: u128,
    came: u64,
    /// As the network lost them; as a telephone did, that plays what comes in time.
    pattern: Pattern,
    heard: Pattern,
}

impl Stream {
    /// Of a flow whose packets all take `floor_ns`.
    pub fn new(floor_ns: u64) -> Stream {
        Stream { floor_ns, ..Stream::default() }
    }

    /// One is sent, no earlier than the one before.
    pub fn send(&mut self, at_ns: u64) {
        self.under_way.push_back(Sent { at_ns, fate: None });
    }

    /// That of `sent_ns` arrives, or will, at `at_ns`.
    pub fn arrive(&mut self, sent_ns: u64, at_ns: u64, counted: bool) {
        let beyond = (at_ns - sent_ns).saturating_sub(self.floor_ns);
        self.quickest_ns = Some(self.quickest_ns.unwrap_or(beyond).min(beyond));
        self.settle(sent_ns, if counted { Fate::Came(beyond) } else { Fate::NotCounted });
    }

    /// That of `sent_ns` was lost.
    pub fn lose(&mut self, sent_ns: u64, counted: bool) {
        self.settle(sent_ns, if counted { Fate::Lost } else { Fate::NotCounted });
    }

    fn settle(&mut self, sent_ns: u64, fate: Fate) {
        let from = self.under_way.partition_point(|s| s.at_ns < sent_ns);
        let same = self.under_way.range_mut(from..).take_while(|s| s.at_ns == sent_ns);
        if let Some(sent) = same.into_iter().find(|s| s.fate.is_none()) {
            sent.fate = Some(fate);
        }
        while let Some(Sent { fate: Some(fate), .. }) = self.under_way.front() {
            let fate = *fate;
            self.under_way.pop_front();
            self.count(fate);
        }
    }

    fn count(&mut self, fate: Fate) {
        match fate {
            Fate::NotCounted => {}
            Fate::Lost => {
                self.pattern.packet(true);
                self.heard.packet(true);
            }
            Fate::Came(beyond) => {
                let quickest = self.quickest_counted_ns.get_or_insert(beyond);
                *quickest = beyond.min(*quickest);
                self.delays.record(beyond);
                self.pattern.packet(false);
                // Of this one no earlier than now.
                let quickest = self.quickest_ns.unwrap_or(0);
                self.heard.packet(beyond > quickest + PLAYOUT_NS);
                self.waits_ns += u128::from(quickest);
                self.came += 1;
            }
        }
    }

    /// How the network lost them.
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// Calls `see` with what packets took longer than the quickest of them (ns), and how many did.
    pub fn jitter(&self, mut see: impl FnMut(u64, u64)) {
        let quickest = self.quickest_counted_ns.unwrap_or(0);
        self.delays.each(|beyond, count| see(beyond.saturating_sub(quickest), count));
    }

    /// Transmission rating R of the call that it is; none: nothing of it was within the window.
    pub fn rating(&self, codec: CodecName) -> Option<f64> {
        let (codec, packet_ns) = (of(codec), CodecName::PACKET_NS);
        let Pattern { sent, lost, periods, .. } = self.heard;
        if sent > 0 && self.came == 0 {
            // Nothing was heard.
            return Some(0.0);
        }
        let quickest_ns = (self.waits_ns / u128::from(self.came.max(1))) as u64;
        let network_ns = self.floor_ns + quickest_ns + PLAYOUT_NS + packet_ns;
        let delay_ms = network_ns as f64 / 1e6 + codec.lookahead_ms;
        let loss = lost as f64 / sent as f64;
        (sent > 0).then(|| emodel::r(delay_ms, codec, loss, burst_r(periods, lost, sent), Echo::Cancelled))
    }
}

/// Both conceal losses, as telephones do.
fn of(codec: CodecName) -> Codec {
    match codec {
        CodecName::G711 => emodel::G711_PLC,
        CodecName::G729 => emodel::G729,
    }
}

/// Counts of times in slots, as many as those that occur span: a flow has a few thousand at most.
#[derive(Debug, Default)]
struct Delays {
    first: usize,
    counts: VecDeque<u32>,
}

impl Delays {
    fn record(&mut self, ns: u64) {
        let slot = crate::measure::SojournHistogram::slot(ns);
        if self.counts.is_empty() {
            self.first = slot;
        }
        while slot < self.first {
            self.counts.push_front(0);
            self.first -= 1;
        }
        if slot - self.first >= self.counts.len() {
            self.counts.resize(slot - self.first + 1, 0);
        }
        let count = &mut self.counts[slot - self.first];
        *count = count.saturating_add(1);
    }

    fn each(&self, mut see: impl FnMut(u64, u64)) {
        for (i, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            see(crate::measure::SojournHistogram::least(self.first + i), u64::from(*count));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn jitter(s: &Stream) -> Vec<(u64, u64)> {
        let mut all = Vec::new();
        // To the slots of a histogram.
        s.jitter(|ns, count| all.push(((ns + MS / 2) / MS, count)));
        all
    }

    /// Packets each 20 ms over 10 ms; 3 and 4 are lost, 6 overtakes 5, and that is 70 ms late.
    #[test]
    fn counts_in_the_order_of_sending() {
        let mut s = Stream::new(10 * MS);
        (0..8).for_each(|n| s.send(n * 20 * MS));
        let at = |n: u64, late_ms: u64| (n * 20 * MS, (n * 20 + 10 + late_ms) * MS);
        for (n, late) in [(0, 0), (1, 1), (2, 0), (6, 0), (7, 0), (5, 70)] {
            let (sent, at) = at(n, late);
            s.arrive(sent, at, true);
        }
        s.lose(60 * MS, true);
        // What is lost is told late.
        s.lose(80 * MS, true);
        let Pattern { sent, lost, periods, .. } = *s.pattern();
        assert_eq!((sent, lost, periods), (8, 2, 1));
        assert_eq!((s.heard.lost, s.heard.periods), (3, 1));
        assert_eq!(jitter(&s), [(0, 4), (1, 1), (70, 1)]);
        // From mouth to ear 10 + 60 + 20 ms, and what G.107 makes of 3 in 8 lost in one run.
        let want = emodel::r(90.0, emodel::G711_PLC, 0.375, 3.0 * 0.625, Echo::Cancelled);
        assert_eq!(s.rating(CodecName::G711), Some(want));
        assert_eq!(Stream::new(0).rating(CodecName::G729), None);
    }

    #[test]
    fn what_is_outside_of_the_window_does_not_count() {
        let mut s = Stream::new(0);
        (0..4).for_each(|n| s.send(n));
        s.arrive(0, 5, false);
        s.lose(1, false);
        s.arrive(2, 5, true);
        s.arrive(3, 9, true);
        assert_eq!((s.pattern().sent, s.pattern().lost, s.under_way.len()), (2, 0, 0));
    }
}
