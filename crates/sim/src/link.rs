//! How fast a link takes packets: at a constant rate, by schedule, or by trace.

use queuewright_scenario::packet::FULL_BYTES;
use queuewright_scenario::spec::{PortSpec, Rate, Schedule, Shaper, Trace};
use std::sync::Arc;

/// Bytes that one delivery opportunity of a trace takes (IP length of a full packet).
pub const OPPORTUNITY_BYTES: u64 = FULL_BYTES as u64;

/// The clock of a link.
#[derive(Debug)]
pub enum Link {
    /// The same rate always.
    Constant {
        /// ns a byte, times 2^32.
        ns_per_byte_q32: u64,
        /// Left over from the last packet, ns times 2^32: nothing is lost to rounding.
        carry_q32: u64,
    },
    /// A rate limiter: a token bucket of the same rate always.
    Bucket {
        /// The rate, as of [`Link::Constant`].
        ns_per_byte_q32: u64,
        /// Left over from the last packet, ns times 2^32.
        carry_q32: u64,
        /// How long an empty bucket takes to fill (ns).
        depth_ns: u64,
        /// When the bucket is, or was, full (ns).
        full_at: u64,
        /// Its rule.
        shaper: Shaper,
    },
    /// Piecewise constant.
    Schedule {
        /// The steps.
        schedule: Arc<Schedule>,
        /// Index of the step in force.
        at: usize,
        /// Start of the present period (ns).
        epoch_ns: u64,
        /// Left over from the last packet, bits times 1e9, less than the link does in a ns: nothing is lost to rounding while
        /// packets follow one another.
        carry: u64,
        /// When that one was done (ns).
        done_ns: u64,
    },
    /// By opportunities, each of up to 1500 bytes (`OPPORTUNITY_BYTES`).
    Trace {
        /// The opportunities.
        trace: Arc<Trace>,
        /// Index of the next one.
        next: usize,
        /// Start of the present repetition (ns).
        epoch_ns: u64,
    },
}

impl Link {
    /// The link of a port: with a burst a constant rate is a token bucket's.
    pub fn of(port: &PortSpec) -> Link {
        Link::new(&port.rate, port.burst_bytes, port.shaper)
    }

    fn new(rate: &Rate, burst_bytes: Option<u64>, shaper: Shaper) -> Link {
        // 8e9 / bps ns a byte: below 2^32 from 2 bit/s on.
        let ns_per_byte_q32 = |bps: u64| ((8_000_000_000u128 << 32) / u128::from(bps.max(2))) as u64;
        match rate {
            Rate::Constant(bps) => {
                let ns_per_byte_q32 = ns_per_byte_q32(*bps);
                match burst_bytes {
                    None => Link::Constant { ns_per_byte_q32, carry_q32: 0 },
                    Some(bytes) => {
                        let depth_ns = ((u128::from(ns_per_byte_q32) * u128::from(bytes)) >> 32) as u64;
                        // It begins full, as Linux's.
                        Link::Bucket { ns_per_byte_q32, carry_q32: 0, depth_ns, full_at: 0, shaper }
                    }
                }
            }
            Rate::Schedule(schedule) => {
                Link::Schedule { schedule: schedule.clone(), at: 0, epoch_ns: 0, carry: 0, done_ns: 0 }
            }
            Rate::Trace(trace) => Link::Trace { trace: trace.clone(), next: 0, epoch_ns: 0 },
        }
    }

    /// When a packet of `bytes`, begun at `now`, has left, and when the next one may begin; `None` if it
    /// never leaves. Not for traces.
    // Always inlined, but for the rarer kinds: 25 instructions a packet fewer.
    #[inline(always)]
    pub fn finish(&mut self, now: u64, bytes: u32) -> Option<(u64, u64)> {
        if let Link::Constant { ns_per_byte_q32, carry_q32 } = self {
            let done = now + serialisation(*ns_per_byte_q32, carry_q32, bytes);
            return Some((done, done));
        }
        self.finish_unevenly(now, bytes)
    }

    /// [`Link::finish`] where the rate is not constant.
    #[inline(never)]
    fn finish_unevenly(&mut self, now: u64, bytes: u32) -> Option<(u64, u64)> {
        match self {
            Link::Constant { .. } => None,
            Link::Bucket { ns_per_byte_q32, carry_q32, depth_ns, full_at, shaper } => {
                *full_at = (*full_at).max(now) + serialisation(*ns_per_byte_q32, carry_q32, bytes);
                // From then on credit is not negative any more.
                let covered = now.max(full_at.saturating_sub(*depth_ns));
                Some(match shaper {
                    // Credit may fall below 0 by a packet, and the next one waits (`htb_dequeue_tree`).
                    Shaper::Htb => (now, covered),
                    // The packet itself waits for its credit (`tbf_dequeue`).
                    Shaper::Tbf => (covered, covered),
                })
            }
            Link::Schedule { schedule, at, epoch_ns, carry, done_ns } => {
                if now > *done_ns {
                    *carry = 0;
                }
                let Schedule { steps, period_ns } = &**schedule;
                if let Some(period) = *period_ns
                    && now - *epoch_ns >= period
                {
                    *epoch_ns = now - (now - *epoch_ns) % period;
                    *at = 0;
                }
                while *at + 1 < steps.len() && *epoch_ns + steps[*at + 1].0 <= now {
                    *at += 1;
                }
                let (mut i, mut t, mut epoch) = (*at, now, *epoch_ns);
                // Bits times 1e9, to stay in integers.
                let mut left = u128::from(bytes) * 8_000_000_000 + u128::from(*carry);
                loop {
                    if t == u64::MAX {
                        return None;
                    }
                    let bps = u128::from(steps[i].1);
                    match steps.get(i + 1).map(|s| s.0).or(*period_ns).map(|end| epoch.saturating_add(end)) {
                        Some(end) if u128::from(end - t) * bps < left => {
                            left -= u128::from(end - t) * bps;
                            t = end;
                            i += 1;
                            if i == steps.len() {
                                // As many whole periods as it needs.
                                let period = period_ns.unwrap_or(u64::MAX);
                                let each = schedule.work(period);
                                let whole = (left - 1) / each;
                                left -= whole * each;
                                let whole = u64::try_from(whole).unwrap_or(u64::MAX);
                                t = t.saturating_add(whole.saturating_mul(period));
                                (i, epoch) = (0, t);
                            }
                        }
                        None if bps == 0 => return None,
                        _ => {
                            *carry = (left % bps) as u64;
                            let done = t.saturating_add(u64::try_from(left / bps).unwrap_or(u64::MAX));
                            *done_ns = done;
                            return Some((done, done));
                        }
                    }
                }
            }
            Link::Trace { .. } => Some((now, now)),
        }
    }

    /// The earliest time at which a packet of `bytes` may leave a token bucket that lets `next` begin when the last had gone (ns).
    pub fn earliest(&self, next: u64, bytes: u32) -> u64 {
        match self {
            Link::Bucket { ns_per_byte_q32, carry_q32, depth_ns, full_at, shaper: Shaper::Tbf } => {
                let takes = serialisation(*ns_per_byte_q32, &mut carry_q32.clone(), bytes);
                next.max((full_at + takes).saturating_sub(*depth_ns))
            }
            _ => next,
        }
    }

    /// Bytes of a packet that has left at `done` that are still to go at `now`, rounded up. Not for buckets and traces.
    pub fn left(&self, now: u64, done: u64) -> u64 {
        let left = match self {
            Link::Constant { ns_per_byte_q32, .. } => {
                (u128::from(done.saturating_sub(now)) << 32).div_ceil(u128::from(*ns_per_byte_q32))
            }
            Link::Schedule { schedule, .. } => {
                schedule.work(done).saturating_sub(schedule.work(now)).div_ceil(8_000_000_000)
            }
            Link::Bucket { .. } | Link::Trace { .. } => 0,
        };
        u64::try_from(left).unwrap_or(u64::MAX)
    }

    /// The first opportunity at or after `now`, which it uses up. Only for traces.
    pub fn opportunity(&mut self, now: u64) -> u64 {
        let Link::Trace { trace, next, epoch_ns } = self else { return now };
        loop {
            if *next == trace.opportunities_ns.len() {
                *next = 0;
                *epoch_ns += trace.period_ns;
            }
            // An idle link may have let whole repetitions pass.
            if *next == 0 && *epoch_ns + trace.period_ns < now {
                *epoch_ns += (now - *epoch_ns - 1) / trace.period_ns * trace.period_ns;
            }
            let at = *epoch_ns + trace.opportunities_ns[*next];
            *next += 1;
            if at >= now {
                return at;
            }
        }
    }

    /// Is it a trace?
    #[inline]
    pub fn is_trace(&self) -> bool {
        matches!(self, Link::Trace { .. })
    }
}

/// How long `bytes` take (ns); what is lost to rounding is carried to the next packet.
#[inline]
fn serialisation(ns_per_byte_q32: u64, carry_q32: &mut u64, bytes: u32) -> u64 {
    let ns_q32 = u128::from(ns_per_byte_q32) * u128::from(bytes) + u128::from(*carry_q32);
    *carry_q32 = ns_q32 as u32 as u64;
    (ns_q32 >> 32) as u64
}

/// Bytes that a link can carry in `from..to` (ns).
pub fn capacity_bytes(rate: &Rate, from: u64, to: u64) -> f64 {
    match rate {
        Rate::Constant(bps) => *bps as f64 / 8e9 * (to - from) as f64,
        Rate::Schedule(schedule) => (schedule.work(to) - schedule.work(from)) as f64 / 8e9,
        Rate::Trace(trace) => {
            let upto = |t: u64| {
                let whole = t / trace.period_ns;
                let rest = t % trace.period_ns;
                whole as f64 * trace.opportunities_ns.len() as f64
                    + trace.opportunities_ns.partition_point(|&o| o < rest) as f64
            };
            (upto(to) - upto(from)) * OPPORTUNITY_BYTES as f64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_rate_keeps_the_fraction() {
        let mut link = Link::new(&Rate::Constant(10_000_000_000), None, Shaper::Htb);
        let mut t = 0;
        for _ in 0..10_000 {
            t = link.finish(t, 1514).unwrap().1;
        }
        // 1514 B at 10 Gbit/s: 1211.2 ns.
        assert!((12_111_999..=12_112_000).contains(&t), "{t}");
    }

    #[test]
    fn schedule_integrates_over_a_change_and_an_outage() {
        // 8 kbit/s is a byte a ms; outage from 1 s to 2 s; then twice the rate.
        let steps = vec![(0, 8_000), (1_000_000_000, 0), (2_000_000_000, 16_000)];
        let schedule =
            |steps: Vec<(u64, u64)>, period_ns| Rate::Schedule(Schedule { steps, period_ns }.into());
        let mut link = Link::new(&schedule(steps.clone(), None), None, Shaper::Htb);
        for (begun, bytes, done) in
            [(0, 500, 500_000_000), (500_000_000, 700, 2_100_000_000), (3_000_000_000, 16, 3_008_000_000)]
        {
            assert_eq!(link.finish(begun, bytes), Some((done, done)));
        }
        let c = capacity_bytes(&schedule(steps, None), 500_000_000, 2_500_000_000);
        assert!((c - 1500.0).abs() < 1e-6, "{c}");
        let mut dead = Link::new(&schedule(vec![(0, 8_000), (10, 0)], None), None, Shaper::Htb);
        assert_eq!(dead.finish(20, 1), None);

        // What the last packet left over of a ns at 1 Tbit/s is no second's work at 1 kbit/s.
        let mut slower = Link::new(
            &schedule(vec![(0, 1_000_000_000_000), (1_000_000_000, 1_000)], None),
            None,
            Shaper::Htb,
        );
        assert_eq!(slower.finish(0, 1514), Some((12, 12)));
        assert_eq!(slower.finish(2_000_000_000, 1514), Some((14_112_000_000, 14_112_000_000)));

        // A byte a ms for a second, nothing for another, again and again.
        let again = schedule(vec![(0, 8_000), (1_000_000_000, 0)], Some(2_000_000_000));
        let mut link = Link::new(&again, None, Shaper::Htb);
        for (begun, bytes, done) in [
            (0, 1000, 1_000_000_000),
            (1_000_000_000, 1, 2_001_000_000),
            // From 12.5 s on 500 bytes, nine times 1000, and 500.
            (12_500_000_000, 10_000, 32_500_000_000),
            (1_000_001_500_000_000, 1, 1_000_002_000_000_000 + 1_000_000),
        ] {
            assert_eq!(link.finish(begun, bytes), Some((done, done)));
        }
        assert_eq!(capacity_bytes(&again, 500_000_000, 12_250_000_000), 500.0 + 5.0 * 1000.0 + 250.0);
    }

    /// A byte a microsecond, credit for two packets of 1000, and five of them from 10 ms on: when they leave, us later, and when the next may.
    fn five(shaper: Shaper) -> (Link, Vec<u64>, u64) {
        let mut link = Link::new(&Rate::Constant(8_000_000), Some(2000), shaper);
        let mut begin = 10_000_000;
        let mut left = Vec::new();
        for _ in 0..5 {
            let earliest = link.earliest(begin, 1000);
            let (at, next) = link.finish(begin, 1000).unwrap();
            assert_eq!(at, earliest);
            left.push((at - 10_000_000) / 1000);
            begin = next;
        }
        (link, left, begin)
    }

    #[test]
    fn a_bucket_lets_go_what_it_has_credit_for() {
        let (mut link, left, begin) = five(Shaper::Htb);
        // Two use up the credit, the third goes on none; then one for each that comes in.
        assert_eq!(left, [0, 0, 0, 1000, 2000]);
        // Half a packet's pause is half a packet's credit; a long one is no more than the bucket holds.
        assert_eq!(link.finish(begin + 500_000, 1000), Some((begin + 500_000, begin + 1_000_000)));
        assert_eq!(link.finish(1_000_000_000, 1000), Some((1_000_000_000, 1_000_000_000)));
        assert_eq!(link.finish(1_000_000_000, 2000), Some((1_000_000_000, 1_001_000_000)));
    }

    /// The third waits for its credit, and each before it goes.
    #[test]
    fn a_packet_waits_for_all_of_its_credit_in_tbf() {
        let (mut link, left, begin) = five(Shaper::Tbf);
        assert_eq!((left, begin), (vec![0, 0, 1000, 2000, 3000], 13_000_000));
        // No credit is left: half a packet's pause has the next wait for the other half.
        assert_eq!(link.finish(begin + 500_000, 1000), Some((begin + 1_000_000, begin + 1_000_000)));
        assert_eq!(link.finish(1_000_000_000, 2000), Some((1_000_000_000, 1_000_000_000)));
        assert_eq!(link.finish(1_000_000_000, 500), Some((1_000_500_000, 1_000_500_000)));
    }

    #[test]
    fn trace_repeats_and_skips() {
        let trace = Arc::new(Trace { opportunities_ns: vec![1, 1, 5, 10], period_ns: 10 });
        let mut link = Link::new(&Rate::Trace(trace.clone()), None, Shaper::Htb);
        let got: Vec<u64> = (0..6).map(|_| link.opportunity(0)).collect();
        assert_eq!(got, [1, 1, 5, 10, 11, 11]);
        assert_eq!(link.opportunity(1_000_003), 1_000_005);
        assert_eq!(link.opportunity(1_000_006), 1_000_010);
        assert_eq!(capacity_bytes(&Rate::Trace(trace), 0, 1000), 400.0 * 1500.0);
    }
}
