//! In which pattern packets are lost: alone or in runs, often or seldom, of one flow or of all at once.

/// Packets within which a loss after another is noticed: the example of RFC 3357.
pub const NOTICED: u64 = 99;

/// How far each lost packet is behind the lost one before it, in packets; 0 for the first. `lost`: sequence numbers, rising.
/// RFC 3357 section 5.4.
pub fn distances(lost: &[u64]) -> Vec<u64> {
    (0..lost.len()).map(|i| if i == 0 { 0 } else { lost[i] - lost[i - 1] }).collect()
}

/// The loss period of each lost packet, from 1: runs of losses in a row. RFC 3357 section 5.4.
pub fn periods(lost: &[u64]) -> Vec<u64> {
    let mut period = 0;
    distances(lost)
        .into_iter()
        .map(|distance| {
            period += u64::from(distance != 1);
            period
        })
        .collect()
}

/// Share of the lost packets whose loss is noticed: it follows another within `delta` packets. RFC 3357 section 6.1. NaN: none was lost.
pub fn noticeable_rate(lost: &[u64], delta: u64) -> f64 {
    let noticed = distances(lost).iter().skip(1).filter(|distance| **distance <= delta).count();
    noticed as f64 / lost.len() as f64
}

/// BurstR of G.107: mean length of a run of losses over that of random loss at the same rate, which is 1 / (1 - loss). 1: random, or no
/// loss; above it losses cluster. `periods`: runs of losses; `lost` of `sent` packets.
pub fn burst_r(periods: u64, lost: u64, sent: u64) -> f64 {
    if periods == 0 || sent == 0 {
        return 1.0;
    }
    let mean = lost as f64 / periods as f64;
    // Where nothing arrives runs have no end.
    if lost >= sent { mean } else { mean * (1.0 - lost as f64 / sent as f64) }
}

/// The pattern of a stream's losses as its packets are told one after the other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pattern {
    /// Packets sent.
    pub sent: u64,
    /// Of these, lost.
    pub lost: u64,
    /// Loss periods ([`periods`]).
    pub periods: u64,
    /// Losses that follow another within [`NOTICED`] packets ([`noticeable_rate`]).
    pub noticed: u64,
    /// Number of the last that was lost, from 1; 0: none.
    last: u64,
}

impl Pattern {
    /// The next packet, and whether it was lost.
    pub fn packet(&mut self, lost: bool) {
        self.sent += 1;
        if lost {
            self.lost += 1;
            let distance = self.sent - self.last;
            self.periods += u64::from(self.last == 0 || distance > 1);
            self.noticed += u64::from(self.last > 0 && distance <= NOTICED);
            self.last = self.sent;
        }
    }

    /// With what another stream counted.
    pub fn add(&mut self, other: &Pattern) {
        self.sent += other.sent;
        self.lost += other.lost;
        self.periods += other.periods;
        self.noticed += other.noticed;
    }
}

/// Loss events of a port, which RFC 7928 section 2.4 leaves open: the first drop and all that come within a round-trip time of it, as RFC
/// 5166 section 2.1.3 has it for a connection. Drops come in order of time.
#[derive(Debug, Clone)]
pub struct Events {
    round_ns: u64,
    /// When each began, and how many flows lost packets in it.
    all: Vec<(u64, u32)>,
    /// The last event of each flow, from 1: a count at each drop, no search.
    seen: Vec<u32>,
}

impl Events {
    /// None yet. `round_ns`: how long an event lasts, one mean base round-trip time.
    pub fn new(round_ns: u64) -> Events {
        Events { round_ns, all: Vec::new(), seen: Vec::new() }
    }

    /// How long an event lasts, ns.
    pub fn round_ns(&self) -> u64 {
        self.round_ns
    }

    /// A packet of a flow is dropped.
    #[inline]
    pub fn drop(&mut self, at_ns: u64, flow: u32) {
        if self.all.last().is_none_or(|(began_ns, _)| at_ns.saturating_sub(*began_ns) > self.round_ns) {
            self.all.push((at_ns, 0));
        }
        let now = self.all.len() as u32;
        if self.seen.len() <= flow as usize {
            self.seen.resize(flow as usize + 1, 0);
        }
        if std::mem::replace(&mut self.seen[flow as usize], now) != now
            && let Some((_, losers)) = self.all.last_mut()
        {
            *losers += 1;
        }
    }

    /// The number stands for another flow from now on.
    pub fn forget(&mut self, flow: u32) {
        if let Some(seen) = self.seen.get_mut(flow as usize) {
            *seen = 0;
        }
    }

    /// When each began (ns), and how many flows lost packets in it.
    pub fn all(&self) -> &[(u64, u32)] {
        &self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3357 section 5.4: packets 2, 5, 7, 9 and 10 of ten are lost.
    #[test]
    fn distances_and_periods_are_the_rfcs() {
        let lost = [2, 5, 7, 9, 10];
        assert_eq!(distances(&lost), [0, 3, 2, 2, 1]);
        assert_eq!(periods(&lost), [1, 2, 3, 4, 4]);
        // Section 6.5: with a delta of 2 three of the five are noticed.
        assert_eq!([NOTICED, 2, 1, 0].map(|delta| noticeable_rate(&lost, delta)), [0.8, 0.6, 0.2, 0.0]);
        assert!(noticeable_rate(&[], NOTICED).is_nan());
    }

    #[test]
    fn runs_are_longer_than_random_ones() {
        // Every loss alone, at 10 %: runs of 1 where random ones have 1 / 0.9.
        assert_eq!(burst_r(10, 10, 100), 0.9);
        // The same losses as one run.
        assert_eq!(burst_r(1, 10, 100), 9.0);
        assert_eq!((burst_r(0, 0, 100), burst_r(0, 0, 0), burst_r(1, 5, 5)), (1.0, 1.0, 5.0));
        // Random loss of 20 %: 1, by a simple generator of 31 bits.
        let mut x = 1u64;
        let mut draw = || {
            x = x * 1_103_515_245 % (1 << 31) + 12_345;
            (x >> 8) % 100
        };
        let lost: Vec<u64> = (0..100_000).filter(|_| draw() < 20).collect();
        let runs = *periods(&lost).last().unwrap();
        assert!((burst_r(runs, lost.len() as u64, 100_000) - 1.0).abs() < 0.02);
    }

    #[test]
    fn an_event_is_over_after_a_round_trip() {
        let mut events = Events::new(100);
        for (at, flow) in [(0, 1), (100, 2), (150, 1), (201, 3), (1000, 1), (1000, 2), (1001, 3), (1002, 4)] {
            events.drop(at, flow);
        }
        assert_eq!(events.all(), [(0, 2), (150, 2), (1000, 4)]);
        // Of another flow by the same number.
        events.forget(4);
        events.drop(1003, 4);
        assert_eq!(events.all()[2], (1000, 5));
    }

    /// One after the other they give what the numbers of all losses do.
    #[test]
    fn a_stream_has_the_pattern_of_its_numbers() {
        let lost = [2, 5, 7, 9, 10, 200, 299, 399, 400];
        let mut pattern = Pattern::default();
        (1..=500).for_each(|n| pattern.packet(lost.contains(&n)));
        let noticed = (noticeable_rate(&lost, NOTICED) * lost.len() as f64).round() as u64;
        assert_eq!((pattern.sent, pattern.lost, pattern.noticed), (500, 9, noticed));
        assert_eq!(Some(&pattern.periods), periods(&lost).last());
        let mut two = pattern;
        two.add(&pattern);
        assert_eq!((two.sent, two.lost, two.periods, two.noticed), (1000, 18, 14, 2 * noticed));
    }
}
