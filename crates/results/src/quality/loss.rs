//! In which pattern packets are lost: alone or in runs, often or seldom, of one flow or of all at once.

/// Received packets in a row that end a burst: RFC 3611 section 4.7.2 recommends it.
pub const GMIN: u64 = 16;
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

/// Share of the packets sent whose loss is noticed: it follows another within `delta` packets. RFC 3357 section 6.1. NaN: none was sent.
pub fn noticeable_rate(lost: &[u64], sent: u64, delta: u64) -> f64 {
    let noticed = distances(lost).iter().skip(1).filter(|distance| **distance <= delta).count();
    if sent == 0 { f64::NAN } else { noticed as f64 / sent as f64 }
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

/// Bursts and the gaps between them (RFC 3611 section 4.7.2), the rest of the stream.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bursts {
    /// How many bursts.
    pub bursts: u64,
    /// Share of the packets of bursts that was lost, 0 to 1; 0 without any.
    pub burst_density: f64,
    /// The same of gaps.
    pub gap_density: f64,
    /// Mean length of a burst, packets; 0 without any.
    pub burst_packets: f64,
    /// Mean length of a gap, packets; 0 without any.
    pub gap_packets: f64,
}

/// The bursts of a stream: each begins and ends with a loss, has at least two, and no `gmin` or more packets in a row of it arrived.
/// A loss with so many on both of its sides is part of a gap. `lost`: numbers of the lost packets of `sent`, from 0, rising.
pub fn bursts(lost: &[u64], sent: u64, gmin: u64) -> Bursts {
    // (first, last, losses) of each burst.
    let mut found: Vec<(u64, u64, u64)> = Vec::new();
    for &at in lost {
        match found.last_mut() {
            Some((_, last, losses)) if at - *last - 1 < gmin => (*last, *losses) = (at, *losses + 1),
            _ => found.push((at, at, 1)),
        }
    }
    found.retain(|burst| burst.2 > 1);
    let in_bursts: u64 = found.iter().map(|(first, last, _)| last - first + 1).sum();
    let lost_in_bursts: u64 = found.iter().map(|burst| burst.2).sum();
    let in_gaps = sent.saturating_sub(in_bursts);
    // A gap before, between and behind bursts, where there is something.
    let mut gaps = 0;
    let mut next = 0;
    for (first, last, _) in &found {
        gaps += u64::from(*first > next);
        next = last + 1;
    }
    gaps += u64::from(sent > next);
    let over = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
    Bursts {
        bursts: found.len() as u64,
        burst_density: over(lost_in_bursts, in_bursts),
        gap_density: over(lost.len() as u64 - lost_in_bursts, in_gaps),
        burst_packets: over(in_bursts, found.len() as u64),
        gap_packets: over(in_gaps, gaps),
    }
}

/// Loss events of a port, which the RFCs leave open (RFC 7928 section 2.4): drops of which each comes at most `spacing` after the one
/// before, as RFC 5166 section 2.1.3 takes all losses of one round trip for one. Drops come in order of time.
#[derive(Debug, Clone)]
pub struct Events {
    spacing_ns: u64,
    last_ns: Option<u64>,
    /// Flows that have lost in the event under way.
    losers: std::collections::BTreeSet<u32>,
    /// Flows with a loss, of each event that is over.
    over: Vec<u32>,
}

impl Events {
    /// None yet. `spacing_ns`: the most between two drops of one event, one mean base round-trip time.
    pub fn new(spacing_ns: u64) -> Events {
        Events { spacing_ns, last_ns: None, losers: Default::default(), over: Vec::new() }
    }

    /// A packet of a flow is dropped.
    pub fn drop(&mut self, at_ns: u64, flow: u32) {
        if self.last_ns.is_some_and(|last| at_ns - last > self.spacing_ns) {
            self.end();
        }
        self.last_ns = Some(at_ns);
        self.losers.insert(flow);
    }

    fn end(&mut self) {
        if !self.losers.is_empty() {
            self.over.push(self.losers.len() as u32);
            self.losers.clear();
        }
    }

    /// How many flows lost packets in each event, when nothing more is dropped.
    pub fn finish(&mut self) -> &[u32] {
        self.end();
        &self.over
    }
}

/// Global synchronisation ratio (RFC 7928 section 2.4): of the flows that were active, the share that lost packets in an event, 0 to 1;
/// mean and median over the events. NaN without event or flow.
pub fn synchronisation(losers: &[u32], active: u32) -> (f64, f64) {
    if active == 0 {
        return (f64::NAN, f64::NAN);
    }
    let mut shares: Vec<f64> = losers.iter().map(|n| (f64::from(*n) / f64::from(active)).min(1.0)).collect();
    shares.sort_by(f64::total_cmp);
    (super::mean(&shares), super::nearest_rank(&shares, 0.5))
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
        assert_eq!([NOTICED, 2, 1, 0].map(|delta| noticeable_rate(&lost, 10, delta)), [0.4, 0.3, 0.1, 0.0]);
        assert!(noticeable_rate(&[], 0, NOTICED).is_nan());
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
    fn bursts_end_with_enough_that_arrives() {
        // Two losses 16 packets apart (15 arrive between) are a burst of 17, 17 apart two losses in a gap.
        let one = bursts(&[100, 116], 1000, GMIN);
        assert_eq!((one.bursts, one.burst_packets, one.burst_density), (1, 17.0, 2.0 / 17.0));
        assert_eq!((one.gap_packets, one.gap_density), (983.0 / 2.0, 0.0));
        let none = bursts(&[100, 117], 1000, GMIN);
        assert_eq!((none.bursts, none.gap_packets, none.gap_density), (0, 1000.0, 0.002));
        // A burst at the very start and one at the end have one gap between them.
        let ends = bursts(&[0, 1, 98, 99], 100, GMIN);
        assert_eq!((ends.bursts, ends.burst_density, ends.gap_packets), (2, 1.0, 96.0));
        assert_eq!(bursts(&[], 0, GMIN).gap_packets, 0.0);
    }

    #[test]
    fn an_event_ends_with_a_round_trip_without_drop() {
        let mut events = Events::new(100);
        for (at, flow) in [(0, 1), (100, 2), (200, 1), (301, 3), (1000, 1), (1000, 2), (1001, 3), (1002, 4)] {
            events.drop(at, flow);
        }
        assert_eq!(events.finish(), [2, 1, 4]);
        let losers = events.finish().to_vec();
        let (mean, median) = synchronisation(&losers, 4);
        assert_eq!((mean, median), ((0.5 + 0.25 + 1.0) / 3.0, 0.5));
        assert!(synchronisation(&[], 4).0.is_nan() && synchronisation(&losers, 0).1.is_nan());
    }
}
