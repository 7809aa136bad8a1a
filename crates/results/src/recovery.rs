//! How long a port takes to come back after a change of its link's rate or of the load.

use crate::Distribution;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Changes that are not further apart are one, s.
const TOGETHER_S: f64 = 1.0;
/// Samples that there are to be from a change to the next.
const LEAST: usize = 20;

/// How a port comes back after changes of its link's rate or of the load (flows without an end that start, or stop). The measure is ours: the
/// second half of the time to the next change says what is usual then, its extremes widened by half of their distance from the median; a change is
/// over with the last sample of the first half that lies outside. Changes less than a second apart are one, from the last of them on; where fewer
/// than twenty samples of the time series follow, none is seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recovery {
    /// Changes after the warm-up that left time to see it.
    pub changes: u64,
    /// Of these, those that were not over at half of the time to the next one.
    pub open: u64,
    /// From a change until the queue was no longer than later, s.
    pub queue_s: Distribution,
    /// From a change until the link carried no less than later, s.
    pub rate_s: Distribution,
}

/// Of a port: times of samples (the end of each, rising, s), with the queue (bytes) and the rate (bits a second) of each, and when something
/// changed (rising, s). None: no change was seen.
pub fn recovery(
    time_s: &[f64],
    queue: &[f64],
    rate: &[f64],
    changes_s: &[f64],
    warmup_s: f64,
) -> Option<Recovery> {
    // (first, last) of those that are one.
    let mut changes: Vec<(f64, f64)> = Vec::new();
    for &at in changes_s {
        match changes.last_mut() {
            Some((_, last)) if at - *last <= TOGETHER_S => *last = at,
            _ => changes.push((at, at)),
        }
    }
    let from = |at: f64| time_s.partition_point(|t| *t <= at);
    let (mut queue_s, mut rate_s, mut open) = (Vec::new(), Vec::new(), 0);
    for (i, (first, last)) in changes.iter().enumerate() {
        let end = changes.get(i + 1).map_or(time_s.len(), |next| from(next.0));
        let begin = from(*last);
        if *first < warmup_s || end < begin + LEAST {
            continue;
        }
        // The sample in which it changes is of before and of after.
        let half = begin + (end - begin) / 2;
        let over = |values: &[f64], sign: f64| {
            let values: Vec<f64> = values[begin..end].iter().map(|v| sign * v).collect();
            let bound = bound(&values[half - begin..]);
            values[..half - begin].iter().rposition(|v| *v > bound)
        };
        let (long, little) = (over(queue, 1.0), over(rate, -1.0));
        let last_of_half = Some(half - begin - 1);
        open += u64::from(long == last_of_half || little == last_of_half);
        let took = |at: Option<usize>| at.map_or(0.0, |k| time_s[begin + k] - last);
        queue_s.push(took(long));
        rate_s.push(took(little));
    }
    (!queue_s.is_empty()).then(|| Recovery {
        changes: queue_s.len() as u64,
        open,
        queue_s: Distribution::of(queue_s.into_iter()),
        rate_s: Distribution::of(rate_s.into_iter()),
    })
}

/// The largest of these and half of its distance from their median.
fn bound(values: &[f64]) -> f64 {
    let mut rising: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    rising.sort_by(f64::total_cmp);
    match rising.last() {
        Some(most) => most + 0.5 * (most - rising[rising.len() / 2]),
        None => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(n: usize) -> Vec<f64> {
        (1..=n).map(|i| i as f64 * 0.1).collect()
    }

    /// A queue that doubles at 5 s and falls back by a tenth each sample, a link that carries half for 1.2 s.
    #[test]
    fn a_change_is_over_when_it_is_as_later() {
        let time = times(200);
        let queue: Vec<f64> = time
            .iter()
            .map(|t| if *t > 5.05 { 100.0 + 100.0 * 0.9_f64.powf((t - 5.05) * 10.0) } else { 100.0 })
            .collect();
        let rate: Vec<f64> = time.iter().map(|t| if *t > 5.05 && *t < 6.25 { 5e6 } else { 1e7 }).collect();
        let found = recovery(&time, &queue, &rate, &[5.0], 2.0).unwrap();
        assert_eq!((found.changes, found.open), (1, 0));
        assert!((found.rate_s.mean - 1.2).abs() < 0.01, "{found:?}");
        // The later half, from 12.5 s on, has up to 100.04 and half a median's distance more: 0.9^75 * 100; so until the tail is as small.
        assert!((7.0..7.5).contains(&found.queue_s.mean), "{found:?}");
        // In the warm-up, and with too few samples to the next one, nothing is seen.
        assert_eq!(recovery(&time, &queue, &rate, &[5.0], 6.0), None);
        assert_eq!(recovery(&time, &queue, &rate, &[18.5], 2.0), None);
        assert_eq!(recovery(&time, &queue, &rate, &[], 2.0), None);
        // Changes that come together are one, from the last on.
        let found = recovery(&time, &queue, &rate, &[4.0, 4.6, 5.0], 2.0).unwrap();
        assert!(found.changes == 1 && (found.rate_s.mean - 1.2).abs() < 0.01, "{found:?}");
    }

    /// What only wavers has nothing to come back from.
    #[test]
    fn noise_is_no_change() {
        let mut x = 1u64;
        let mut unit = || {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (x >> 33) as f64 / f64::from(1u32 << 31)
        };
        let time = times(400);
        let late = (0..200)
            .filter(|_| {
                let mut draw = |_: &f64| 100.0 * (unit() + unit());
                let (queue, rate): (Vec<f64>, Vec<f64>) =
                    (time.iter().map(&mut draw).collect(), time.iter().map(&mut draw).collect());
                let found = recovery(&time, &queue, &rate, &[5.0], 2.0).unwrap();
                found.queue_s.mean > 0.0 || found.rate_s.mean > 0.0
            })
            .count();
        assert!(late < 10, "{late} of 200");
    }

    /// A queue that only grows is never back.
    #[test]
    fn what_does_not_end_is_open() {
        let time = times(200);
        let falling: Vec<f64> = time.iter().map(|t| 1e6 - 1e4 * t).collect();
        let same = vec![1e7; 200];
        let found = recovery(&time, &falling, &same, &[5.0], 2.0).unwrap();
        assert_eq!((found.changes, found.rate_s.mean), (1, 0.0));
        // Half of the later distance is less than what it falls in the first half: it stays above until near the half.
        assert!(found.queue_s.mean > 3.0, "{found:?}");
    }
}
