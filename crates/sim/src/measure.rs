//! What a port is measured by.

use hdrhistogram::Histogram;
use queuewright_aqm::{REASON_NAMES, REASONS, Reason};
use queuewright_results as results;
use std::collections::BTreeMap;

/// Counters and distributions of a port. Everything but the totals starts after the warm-up.
#[derive(Debug)]
pub struct PortMeasure {
    warmup_ns: u64,
    sojourn: SojournHistogram,
    pub(crate) sojourn_sum_ns: u128,
    /// Bytes whose transmission ended within the window.
    sent_bytes: u64,
    pub(crate) sent_packets: u64,
    /// Bytes whose transmission began within the window.
    started_bytes: u64,
    arrived: u64,
    drops: [u64; REASONS],
    marks: [u64; REASONS],
    /// Integrals of the backlog over time, and since when the present backlog stands.
    bytes_ns: u128,
    packets_ns: u128,
    since_ns: u64,
    max_bytes: u64,
    max_packets: u32,
    /// Whole-run totals for the conservation of packets and bytes.
    pub total: Totals,
}

/// Packets and bytes since the start of the run, warm-up included.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    /// Packets that reached the port.
    pub arrived: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// Packets dropped because the buffer was full.
    pub overflowed: u64,
    /// Packets put on the link.
    pub sent: u64,
    /// Bytes that reached the port.
    pub arrived_bytes: u64,
    /// Bytes dropped.
    pub dropped_bytes: u64,
    /// Bytes put on the link.
    pub sent_bytes: u64,
}

impl PortMeasure {
    /// Measures from `warmup_ns` on.
    pub fn new(warmup_ns: u64) -> PortMeasure {
        PortMeasure {
            warmup_ns,
            sojourn: SojournHistogram::new(),
            sojourn_sum_ns: 0,
            sent_bytes: 0,
            sent_packets: 0,
            started_bytes: 0,
            arrived: 0,
            drops: [0; REASONS],
            marks: [0; REASONS],
            bytes_ns: 0,
            packets_ns: 0,
            since_ns: warmup_ns,
            max_bytes: 0,
            max_packets: 0,
            total: Totals::default(),
        }
    }

    /// The backlog changes at `now` from what is given.
    #[inline]
    pub fn backlog(&mut self, now: u64, bytes: u64, packets: u32) {
        if now > self.since_ns {
            let dt = now - self.since_ns;
            self.since_ns = now;
            self.bytes_ns += u128::from(dt) * u128::from(bytes);
            self.packets_ns += u128::from(dt) * u128::from(packets);
            self.max_bytes = self.max_bytes.max(bytes);
            self.max_packets = self.max_packets.max(packets);
        }
    }

    /// A packet reaches the port.
    #[inline]
    pub fn arrive(&mut self, now: u64, bytes: u32) {
        self.total.arrived += 1;
        self.total.arrived_bytes += u64::from(bytes);
        self.arrived += u64::from(now >= self.warmup_ns);
    }

    /// A packet is dropped.
    pub fn drop(&mut self, now: u64, bytes: u32, reason: Reason) {
        self.total.dropped += 1;
        self.total.overflowed += u64::from(reason == Reason::Limit);
        self.total.dropped_bytes += u64::from(bytes);
        self.drops[reason as usize] += u64::from(now >= self.warmup_ns);
    }

    /// A packet is marked.
    pub fn mark(&mut self, now: u64, reason: Reason) {
        self.marks[reason as usize] += u64::from(now >= self.warmup_ns);
    }

    /// A packet that waited `sojourn_ns` starts onto the link.
    #[inline]
    pub fn send(&mut self, now: u64, sojourn_ns: u64, bytes: u32) {
        self.total.sent += 1;
        self.total.sent_bytes += u64::from(bytes);
        if now >= self.warmup_ns {
            self.sent_packets += 1;
            self.started_bytes += u64::from(bytes);
            self.sojourn_sum_ns += u128::from(sojourn_ns);
            self.sojourn.record(sojourn_ns);
        }
    }

    /// The link finished `bytes` at `at`.
    #[inline]
    pub fn sent_by(&mut self, at: u64, end_ns: u64, bytes: u32) {
        if at > self.warmup_ns && at <= end_ns {
            self.sent_bytes += u64::from(bytes);
        }
    }

    /// Share of so many bytes of capacity that was used. A wire does no more than it can: at the window's ends packets count whole,
    /// which alone could show as more. What `saves` credit can.
    pub fn utilization(&self, capacity: f64, saves: bool) -> f64 {
        let most = if saves { f64::INFINITY } else { 1.0 };
        if capacity > 0.0 { (self.sent_bytes as f64 / capacity).min(most) } else { f64::NAN }
    }

    /// Closes the books at `end_ns`, with the backlog as it stands.
    pub fn finish(&mut self, end_ns: u64, bytes: u64, packets: u32, name: &str) -> results::Queue {
        self.backlog(end_ns, bytes, packets);
        let window = (end_ns - self.warmup_ns) as f64;
        // What is dropped or marked from the queue may have arrived before the window.
        let share = |count: u64| {
            if self.arrived == 0 { f64::NAN } else { (count as f64 / self.arrived as f64).min(1.0) }
        };
        let by_reason = |counts: &[u64; REASONS]| -> BTreeMap<String, u64> {
            REASON_NAMES
                .iter()
                .zip(counts)
                .filter(|(_, c)| **c > 0)
                .map(|(n, c)| (n.to_string(), *c))
                .collect()
        };
        results::Queue {
            name: name.to_string(),
            packets: self.sent_packets,
            rate_bps: self.started_bytes as f64 * 8e9 / window,
            sojourn_ms: self.sojourn.summary(self.sojourn_sum_ns),
            backlog_packets: results::Backlog {
                mean: self.packets_ns as f64 / window,
                max: f64::from(self.max_packets),
            },
            backlog_bytes: results::Backlog {
                mean: self.bytes_ns as f64 / window,
                max: self.max_bytes as f64,
            },
            drop_fraction: share(self.drops.iter().sum()),
            mark_fraction: share(self.marks.iter().sum()),
            drops: by_reason(&self.drops),
            marks: by_reason(&self.marks),
        }
    }

    /// Points (sojourn ms, share of packets at or below) of the distribution: every half per cent, and the tail closer.
    pub fn cdf(&self) -> Vec<(f64, f64)> {
        let sojourn = self.sojourn.histogram();
        if sojourn.is_empty() {
            return Vec::new();
        }
        let tail = [0.9975, 0.999, 0.9995, 0.9999, 1.0];
        let points = (0..200).map(|i| f64::from(i) / 200.0).chain(tail);
        // All in one pass over the slots.
        sojourn.value_at_quantiles(points.clone()).zip(points).map(|(ns, p)| (ns as f64 / 1e6, p)).collect()
    }
}

/// Counts of sojourn times in the slots of an HDR histogram with three digits, which they become to be read:
/// counting a packet is then a shift and an increment.
#[derive(Debug)]
pub struct SojournHistogram {
    counts: Box<[u32]>,
}

/// Values below 2^11 have slots of their own; above, 2^10 slots for each power of two.
const EXACT_BITS: u32 = 11;
/// What is longer (13 days; no run is) counts as this (ns).
const LONGEST: u64 = 1 << 50;

impl SojournHistogram {
    /// None yet.
    pub fn new() -> SojournHistogram {
        SojournHistogram { counts: vec![0; SojournHistogram::slot(LONGEST) + 1].into() }
    }

    /// The slot that a time counts in.
    #[inline]
    pub fn slot(ns: u64) -> usize {
        let shift = (u64::BITS - (ns >> EXACT_BITS).leading_zeros()) as usize;
        (shift << (EXACT_BITS - 1)) + (ns >> shift) as usize
    }

    /// The least time that counts in a slot.
    pub fn least(slot: usize) -> u64 {
        let shift = (slot >> (EXACT_BITS - 1)).saturating_sub(1);
        ((slot - (shift << (EXACT_BITS - 1))) as u64) << shift
    }

    /// Counts one.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        let count = &mut self.counts[SojournHistogram::slot(ns.min(LONGEST))];
        *count = count.saturating_add(1);
    }

    /// Counts so many.
    pub fn record_all(&mut self, ns: u64, many: u64) {
        let count = &mut self.counts[SojournHistogram::slot(ns.min(LONGEST))];
        *count = count.saturating_add(u32::try_from(many).unwrap_or(u32::MAX));
    }

    /// The distribution of times that add up to `sum_ns`.
    pub fn summary(&self, sum_ns: u128) -> results::Sojourn {
        let all = self.histogram();
        let n = all.len();
        let ms = |ns: f64| if n == 0 { f64::NAN } else { ns / 1e6 };
        let q = |q: f64| ms(all.value_at_quantile(q) as f64);
        results::Sojourn {
            mean: ms(sum_ns as f64 / n.max(1) as f64),
            std: ms(all.stdev()),
            p25: q(0.25),
            p50: q(0.5),
            p75: q(0.75),
            p95: q(0.95),
            p99: q(0.99),
            p99_9: q(0.999),
            max: ms(all.max() as f64),
        }
    }

    fn histogram(&self) -> Histogram<u64> {
        let mut all = Histogram::new_with_bounds(1, LONGEST, 3).expect("bounds are valid");
        for (slot, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            all.record_n(SojournHistogram::least(slot), u64::from(count)).expect("the slot is within bounds");
        }
        all
    }
}

/// Sojourn times of a flow's packets.
#[derive(Debug, Default, Clone, Copy)]
pub struct FlowSojourn {
    /// Those that reached the receiver, in queues, together (ns).
    queued_ns: u64,
    /// How many these are.
    pub received: u64,
    /// The same when the window began.
    before: (u64, u64),
}

impl FlowSojourn {
    /// A packet reaches the receiver that has waited so long in all queues together.
    #[inline]
    pub fn receive(&mut self, waited_ns: u64) {
        self.queued_ns += waited_ns;
        self.received += 1;
    }

    /// The window begins: what waited before does not count.
    pub fn window_begins(&mut self) {
        self.before = (self.queued_ns, self.received);
    }

    /// Mean time that a packet received in the window waited (ms); NaN: there was none.
    pub fn sojourn_ms(&self) -> f64 {
        let (ns, packets) = (self.queued_ns - self.before.0, self.received - self.before.1);
        if packets == 0 { f64::NAN } else { ns as f64 / packets as f64 / 1e6 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The slots are those of the histogram that they become.
    #[test]
    fn counts_as_the_histogram_would() {
        let mut waits = SojournHistogram::new();
        let mut all = Histogram::<u64>::new_with_bounds(1, LONGEST, 3).expect("bounds are valid");
        let mut x = 1u64;
        for i in 0..20_000u64 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(i);
            let ns = match i {
                0..5000 => i,
                5000..5040 => LONGEST - (i - 5000),
                _ => x >> 18 >> (i % 40),
            };
            waits.record(ns);
            all.saturating_record(ns);
        }
        // Not assert_eq!: it would print all slots.
        assert!(waits.histogram() == all);
        assert_eq!(waits.histogram().max(), all.max());
        assert_eq!(waits.histogram().stdev(), all.stdev());
    }
}
