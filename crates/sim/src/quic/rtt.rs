//! The round-trip time (RFC 9002 section 5), and the times that follow from it. All in ns.

use super::constants::{
    GRANULARITY_NS, INITIAL_RTT_NS, MAX_ACK_DELAY_NS, PERSISTENT_CONGESTION_THRESHOLD, TIME_THRESHOLD,
};
use crate::log::RoundTrips;

/// What a sender knows of its path's round-trip time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rtt {
    /// The last sample.
    pub latest_ns: u64,
    /// `smoothed_rtt`
    pub smoothed_ns: u64,
    /// `rttvar`
    pub variation_ns: u64,
    /// `min_rtt`; `u64::MAX`: there is no sample.
    pub min_ns: u64,
    /// When the first sample came; none: there is none.
    pub first_at: Option<u64>,
}

impl Default for Rtt {
    fn default() -> Rtt {
        Rtt {
            latest_ns: 0,
            smoothed_ns: INITIAL_RTT_NS,
            variation_ns: INITIAL_RTT_NS / 2,
            min_ns: u64::MAX,
            first_at: None,
        }
    }
}

impl Rtt {
    /// A sample at `now`, of an acknowledgement that waited for so long at the receiver (`UpdateRtt`). Where section 5.3 and appendix A.7 differ, the
    /// variation is of the mean before, as in the appendix and in RFC 6298.
    pub fn sample(&mut self, now: u64, latest_ns: u64, ack_delay_ns: u64) {
        self.latest_ns = latest_ns;
        if self.first_at.is_none() {
            self.first_at = Some(now);
            (self.min_ns, self.smoothed_ns, self.variation_ns) = (latest_ns, latest_ns, latest_ns / 2);
            return;
        }
        self.min_ns = self.min_ns.min(latest_ns);
        let ack_delay_ns = ack_delay_ns.min(MAX_ACK_DELAY_NS);
        let mut adjusted_ns = latest_ns;
        if latest_ns >= self.min_ns + ack_delay_ns {
            adjusted_ns -= ack_delay_ns;
        }
        self.variation_ns = (3 * self.variation_ns + self.smoothed_ns.abs_diff(adjusted_ns)) / 4;
        self.smoothed_ns = (7 * self.smoothed_ns + adjusted_ns) / 8;
    }

    /// For a log.
    pub fn told(&self) -> RoundTrips {
        let ms = |ns: u64| self.first_at.map(|_| ns as f64 / 1e6);
        let [smoothed, latest, variance] = [self.smoothed_ns, self.latest_ns, self.variation_ns].map(ms);
        RoundTrips { smoothed, latest, variance }
    }

    /// The probe timeout without its back-off (section 6.2.1).
    pub fn probe_timeout_ns(&self) -> u64 {
        self.smoothed_ns + (4 * self.variation_ns).max(GRANULARITY_NS) + MAX_ACK_DELAY_NS
    }

    /// The same of the handshake, whose packets are acknowledged at once.
    pub fn handshake_timeout_ns(&self) -> u64 {
        self.smoothed_ns + (4 * self.variation_ns).max(GRANULARITY_NS)
    }

    /// What was sent so long before a packet that was acknowledged is lost (section 6.1.2).
    pub fn loss_delay_ns(&self) -> u64 {
        let (nine, eight) = TIME_THRESHOLD;
        (self.latest_ns.max(self.smoothed_ns) * nine / eight).max(GRANULARITY_NS)
    }

    /// The duration of persistent congestion (section 7.6.1).
    pub fn persistent_congestion_ns(&self) -> u64 {
        self.probe_timeout_ns() * PERSISTENT_CONGESTION_THRESHOLD
    }

    /// After persistent congestion the least is the last (section 5.2).
    pub fn forget_min(&mut self) {
        self.min_ns = self.latest_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Sections 5.3 and 6.2.2, by hand: before any sample the timeout of the handshake is 333 + 4 x 166.5 ms.
    #[test]
    fn begins_with_the_initial_round_trip_time() {
        let rtt = Rtt::default();
        assert_eq!(rtt.handshake_timeout_ns(), 999 * MS);
        assert_eq!(rtt.probe_timeout_ns(), 1024 * MS);
    }

    /// Section 5.3, by hand. 100 ms: srtt 100, rttvar 50. Then 148 ms with 8 ms of delay: 140 count; rttvar is 3/4 of 50 and a quarter of 40,
    /// 47.5; srtt 7/8 of 100 and an eighth of 140, 105.
    #[test]
    fn samples_are_without_the_delay_of_the_acknowledgement() {
        let mut rtt = Rtt::default();
        rtt.sample(100 * MS, 100 * MS, 7 * MS);
        assert_eq!((rtt.smoothed_ns, rtt.variation_ns, rtt.min_ns), (100 * MS, 50 * MS, 100 * MS));
        rtt.sample(300 * MS, 148 * MS, 8 * MS);
        assert_eq!((rtt.smoothed_ns, rtt.variation_ns, rtt.min_ns), (105 * MS, 47_500_000, 100 * MS));
        assert_eq!(rtt.probe_timeout_ns(), (105 + 190 + 25) * MS);
        assert_eq!(rtt.persistent_congestion_ns(), 960 * MS);
        // 9/8 of the latest, which is more than the mean.
        assert_eq!(rtt.loss_delay_ns(), 166_500_000);
        assert_eq!(rtt.first_at, Some(100 * MS));
    }

    /// Section 5.3: no sample falls below the least; no delay counts beyond `max_ack_delay`.
    #[test]
    fn a_delay_that_is_not_plausible_does_not_count() {
        let mut rtt = Rtt::default();
        rtt.sample(0, 100 * MS, 0);
        // Without 20 ms it would be 95.
        rtt.sample(1, 115 * MS, 20 * MS);
        assert_eq!(rtt.smoothed_ns, 101_875_000);
        let mut rtt = Rtt::default();
        rtt.sample(0, 100 * MS, 0);
        // Of 60 ms 25 count: 140 is (7 x 100 + 140) / 8.
        rtt.sample(1, 165 * MS, 60 * MS);
        assert_eq!(rtt.smoothed_ns, 105 * MS);
    }

    /// Sections 6.1.2 and 6.2.1: nothing is shorter than the granularity.
    #[test]
    fn times_are_at_least_the_granularity() {
        let mut rtt = Rtt::default();
        for _ in 0..100 {
            rtt.sample(0, MS / 10, 0);
        }
        assert_eq!(rtt.loss_delay_ns(), MS);
        assert_eq!(rtt.probe_timeout_ns(), MS / 10 + MS + 25 * MS);
        rtt.sample(0, 3 * MS, 0);
        rtt.forget_min();
        assert_eq!(rtt.min_ns, 3 * MS);
    }
}
