//! Responsiveness under working conditions: round trips a minute (draft-ietf-ippm-responsiveness).

use super::mean;

/// Share of the times that the trimmed mean keeps, the smallest ones: TMP.
const KEPT: f64 = 0.95;
/// Intervals in a moving average: MAD.
pub const INTERVALS: usize = 4;
/// Standard deviation of the last moving averages, over the last of them, that is still stable: SDT.
const TOLERANCE: f64 = 0.05;
/// Length of an interval, s: ID of the drafts up to 08, and of goresponsiveness. 09 has 5 s, which it calls provisional.
pub const INTERVAL_S: f64 = 1.0;
/// Milliseconds a minute.
const MINUTE_MS: f64 = 60_000.0;

/// Mean of the smallest 95 % of times, of one at least; NaN of none.
pub fn trimmed_mean(times: &[f64]) -> f64 {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    times.truncate((KEPT * times.len() as f64).ceil() as usize);
    mean(&times)
}

/// What is measured on connections of its own, round trips a minute: of the times (ms) that connecting takes, a round trip of
/// TLS where there is TLS, and the request.
pub fn foreign(tcp_ms: &[f64], tls_ms: Option<&[f64]>, http_ms: &[f64]) -> f64 {
    let times = [Some(tcp_ms), tls_ms, Some(http_ms)];
    let trimmed: Vec<f64> = times.into_iter().flatten().map(trimmed_mean).collect();
    MINUTE_MS / mean(&trimmed)
}

/// What is measured on the connections that make the load, round trips a minute, of the times (ms) that requests take there.
pub fn loaded(http_ms: &[f64]) -> f64 {
    MINUTE_MS / trimmed_mean(http_ms)
}

/// Responsiveness, round trips a minute: of both the mean. One that is not known leaves it unknown.
pub fn rpm(foreign: f64, loaded: f64) -> f64 {
    (foreign + loaded) / 2.0
}

/// How far a responsiveness can be relied on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confidence {
    /// Not even as many intervals as a moving average needs.
    Low,
    /// Enough of them, but the averages still move.
    Medium,
    /// The averages stand.
    High,
}

impl Confidence {
    /// Of the moving averages of every interval, in order, each over the interval and up to three before it.
    pub fn of(averages: &[f64]) -> Confidence {
        let Some(last) = averages.len().checked_sub(INTERVALS).map(|from| &averages[from..]) else {
            return Confidence::Low;
        };
        let m = mean(last);
        let squares: Vec<f64> = last.iter().map(|x| (x - m).powi(2)).collect();
        match mean(&squares).sqrt() < TOLERANCE * last[INTERVALS - 1] {
            true => Confidence::High,
            false => Confidence::Medium,
        }
    }

    /// In results.
    pub fn name(self) -> &'static str {
        match self {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_a_minute() {
        // (tcp, tls, http, loaded) in ms; foreign, loaded, both.
        for (times, want) in [
            ([20.0, 20.0, 20.0, 20.0], [3000.0, 3000.0, 3000.0]),
            ([20.0, 20.0, 20.0, 40.0], [3000.0, 1500.0, 2250.0]),
            ([30.0, 30.0, 60.0, 300.0], [1500.0, 200.0, 850.0]),
        ] {
            let [tcp, tls, http, load] = times.map(|t| [t]);
            let (f, l) = (foreign(&tcp, Some(&tls), &http), loaded(&load));
            assert_eq!([f, l, rpm(f, l)].map(f64::round), want);
        }
        // Without TLS it has no part, and no zero either.
        assert_eq!(foreign(&[30.0], None, &[60.0]).round(), (60_000.0f64 / 45.0).round());
        assert!(rpm(foreign(&[], None, &[]), 100.0).is_nan());
    }

    #[test]
    fn the_slowest_twentieth_is_left_out() {
        let mut times = vec![10.0; 95];
        times.extend([1000.0; 5]);
        times.reverse();
        assert_eq!(trimmed_mean(&times), 10.0);
        assert_eq!(trimmed_mean(&[7.0]), 7.0);
        assert!(trimmed_mean(&[]).is_nan());
        // One more slow one is within what is kept.
        times[99] = 1000.0;
        assert!(trimmed_mean(&times) > 10.0);
    }

    #[test]
    fn confidence_needs_intervals_that_agree() {
        let name = |averages: &[f64]| Confidence::of(averages).name();
        assert_eq!(name(&[100.0, 100.0, 100.0]), "low");
        assert_eq!(name(&[10.0, 100.0, 100.0, 101.0, 99.0]), "high");
        assert_eq!(name(&[100.0, 100.0, 100.0, 150.0]), "medium");
        assert_eq!(name(&[100.0, 100.0, 100.0, f64::NAN]), "medium");
    }
}
