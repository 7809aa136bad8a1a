//! How long a port takes to come back after a change of its link's rate or of the load, and what it does between two changes.

use crate::quality::{mean, nearest_rank};
use crate::{Distribution, measure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Changes that are less apart are one, s.
const TOGETHER_S: f64 = 1.0;
/// What is looked at is the mean of so long, s: at 1 Mbit/s eight packets.
const BIN_S: f64 = 0.1;
/// So many of these are to follow a change before the next one, and so many are looked at for what goes on.
const BINS: usize = 20;
/// Of those at most so many may lie outside where a change is over.
const OUTSIDE: usize = 2;
/// And so many later.
const LATER: usize = 10;
/// The part of the later values that says what is usual.
const USUAL: f64 = 0.98;

/// How a port comes back after changes of its link's rate or of the load (flows without an end that start, or stop). The measure is ours, of means
/// over 100 ms, or over a sample where that is longer: the second half of the time to the next change says what is usual then, 98 % of it, widened
/// by half of its distance from the median; a change is over with the first mean that lies within, if of the next twenty, two seconds, at most
/// two lie outside, and later in the first half never more than ten of twenty. Where none does in the first half it took all of that. Changes less
/// than a second apart are one, from the last of them on; where fewer than twenty means follow, none is seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recovery {
    /// Changes after the warm-up that left time to see it.
    pub changes: u64,
    /// From a change until the queue was no longer than later, s.
    pub queue_s: Distribution,
    /// From a change until the link carried no less than later, s.
    pub rate_s: Distribution,
}

/// What a port carried from one change to the next (as for [`Recovery`]; the first from the warm-up's end, the last to the last sample), and what
/// waited for it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Phase {
    /// Its number, from 1, those left out counted.
    pub name: String,
    /// When it begins, s from the start of the run.
    pub from_s: f64,
    /// When it ends, s.
    pub to_s: f64,
    /// Bits sent a second, as the link counts them.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub rate_bps: f64,
    /// How long the link has to send for the mean queue at this rate, ms: the mean sojourn time, where none are dropped that have waited and the
    /// queue neither grows nor falls.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub queue_ms: f64,
}

/// Changes (s, rising) that are one: the first and the last of them.
fn together(changes_s: &[f64]) -> Vec<(f64, f64)> {
    let mut changes: Vec<(f64, f64)> = Vec::new();
    for &at in changes_s {
        match changes.last_mut() {
            // Times in s are not quite whole ns.
            Some((_, last)) if at - *last < TOGETHER_S - 1e-9 => *last = at,
            _ => changes.push((at, at)),
        }
    }
    changes
}

/// The phases of a port's samples (see [`recovery`]); none where nothing changes after the warm-up. Those shorter than a second are left out, and
/// those in which no whole sample lies.
pub fn phases(time_s: &[f64], queue: &[f64], rate: &[f64], changes_s: &[f64], warmup_s: f64) -> Vec<Phase> {
    let [first, second, .., end] = *time_s else { return Vec::new() };
    let sample_s = second - first;
    let mut spans: Vec<(f64, f64)> = Vec::new();
    let mut from = warmup_s;
    for (first, last) in together(changes_s).into_iter().filter(|(_, last)| *last > warmup_s && *last < end) {
        spans.push((from, first));
        from = last;
    }
    if spans.is_empty() {
        return Vec::new();
    }
    spans.push((from, end));
    let of = |(i, (from_s, to_s)): (usize, (f64, f64))| {
        // A sample is of the time before it.
        let until = |s: f64| time_s.partition_point(|t| *t < s);
        let within = until(from_s + sample_s * (1.0 - 1e-6))..until(to_s + 1e-9);
        if to_s - from_s <= TOGETHER_S - 1e-9 || within.is_empty() {
            return None;
        }
        let (bytes, rate_bps) = (mean(&queue[within.clone()]), mean(&rate[within]));
        Some(Phase { name: (i + 1).to_string(), from_s, to_s, rate_bps, queue_ms: 8e3 * bytes / rate_bps })
    };
    spans.into_iter().enumerate().filter_map(of).collect()
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
    let changes = together(changes_s);
    let sample_s = match time_s {
        [first, second, ..] => second - first,
        _ => return None,
    };
    // Of samples that are no whole part of it the bins are a little longer.
    let in_bin = ((BIN_S / sample_s - 1e-6).ceil() as usize).max(1);
    let from = |at: f64| time_s.partition_point(|t| *t <= at);
    let (mut queue_s, mut rate_s) = (Vec::new(), Vec::new());
    for (i, (first, last)) in changes.iter().enumerate() {
        let end = changes.get(i + 1).map_or(time_s.len(), |next| from(next.0));
        let begin = from(*last);
        if *first < warmup_s || end < begin + BINS * in_bin {
            continue;
        }
        let took = |values: &[f64], sign: f64| {
            let bins: Vec<f64> =
                values[begin..end].chunks_exact(in_bin).map(|bin| sign * mean(bin)).collect();
            let over = over(&bins);
            if over == 0 { 0.0 } else { time_s[begin + over * in_bin - 1] - last }
        };
        queue_s.push(took(queue, 1.0));
        rate_s.push(took(rate, -1.0));
    }
    (!queue_s.is_empty()).then(|| Recovery {
        changes: queue_s.len() as u64,
        queue_s: Distribution::of(queue_s.into_iter()),
        rate_s: Distribution::of(rate_s.into_iter()),
    })
}

/// The first of the first half that is within what is usual in the second, and stays so; the half, if none is.
fn over(bins: &[f64]) -> usize {
    let half = bins.len() / 2;
    let mut later: Vec<f64> = bins[half..].iter().copied().filter(|v| v.is_finite()).collect();
    later.sort_by(f64::total_cmp);
    let (most, median) = (nearest_rank(&later, USUAL), nearest_rank(&later, 0.5));
    let bound = most + 0.5 * (most - median);
    let outside = |at: usize| bins[at..(at + BINS).min(bins.len())].iter().filter(|v| **v > bound).count();
    let not_yet = (0..half).rev().find(|at| outside(*at) > LATER).map_or(0, |at| at + 1);
    let is_over = |at: &usize| bins[*at] <= bound && outside(*at) <= OUTSIDE;
    (not_yet..half).find(is_over).unwrap_or(half)
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
        assert_eq!(found.changes, 1);
        assert!((found.rate_s.mean - 1.2).abs() < 0.01, "{found:?}");
        // 98 % of the later half, from 12.5 s on, are below 100.03; half a median's distance more is 100.05: so until the tail is as small.
        assert!((7.0..7.5).contains(&found.queue_s.mean), "{found:?}");
        // In the warm-up, and with too few samples to the next one, nothing is seen.
        assert_eq!(recovery(&time, &queue, &rate, &[5.0], 6.0), None);
        assert_eq!(recovery(&time, &queue, &rate, &[18.5], 2.0), None);
        assert_eq!(recovery(&time, &queue, &rate, &[], 2.0), None);
        // Changes that come together are one, from the last on.
        let found = recovery(&time, &queue, &rate, &[4.0, 4.6, 5.0], 2.0).unwrap();
        assert!(found.changes == 1 && (found.rate_s.mean - 1.2).abs() < 0.01, "{found:?}");
    }

    /// Three phases after a warm-up in which something changes, too: the queue in bytes over the rate is the wait.
    #[test]
    fn phases_are_from_change_to_change() {
        let time = times(200);
        let in_phase = |t: f64| [4.05, 10.05, 15.05].iter().filter(|at| t > **at).count();
        let queue: Vec<f64> = time.iter().map(|t| [9.0, 1e4, 5e4, 2e4][in_phase(*t)]).collect();
        let rate: Vec<f64> = time.iter().map(|t| [9.0, 8e6, 4e6, 8e6][in_phase(*t)]).collect();
        let found = phases(&time, &queue, &rate, &[1.0, 2.5, 9.6, 10.0, 15.0, 19.5], 4.0);
        // From 4 s on the first; the one at 9.6 s and at 10 s are one change, so that it ends with the first of these.
        let expected = [(4.0, 9.6, 8e6, 10.0), (10.0, 15.0, 4e6, 100.0), (15.0, 19.5, 8e6, 20.0)];
        assert_eq!(found.len(), 3, "{found:?}");
        for (i, (phase, (from, to, rate, wait))) in found.iter().zip(expected).enumerate() {
            assert_eq!((phase.name.as_str(), phase.from_s, phase.to_s), (["1", "2", "3"][i], from, to));
            assert!((phase.rate_bps / rate - 1.0).abs() < 1e-9, "{phase:?}");
            assert!((phase.queue_ms / wait - 1.0).abs() < 1e-9, "{phase:?}");
        }
        // What changes only in the warm-up, or as it ends, or never, has no phases.
        for changes in [&[1.0, 2.5][..], &[4.0], &[]] {
            assert_eq!(phases(&time, &queue, &rate, changes, 4.0), []);
        }
        // One that is too short is counted.
        let found = phases(&time, &queue, &rate, &[4.4, 10.0], 4.0);
        let spans: Vec<_> = found.iter().map(|p| (p.name.as_str(), p.from_s, p.to_s)).collect();
        assert_eq!(spans, [("2", 4.4, 10.0), ("3", 10.0, 20.0)]);
        // Samples of 3 s: those that lie whole within a phase count, none of 12 to 15 s, nor of 18 to 20 s.
        let (time, rate) = ([0.0, 3.0, 6.0, 9.0, 12.0, 15.0, 18.0], [f64::NAN, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let found = phases(&time, &[1.0; 7], &rate, &[13.0, 17.0], 0.0);
        let rates: Vec<_> = found.iter().map(|p| (p.name.as_str(), p.to_s, p.rate_bps)).collect();
        assert_eq!(rates, [("1", 13.0, 2.5)]);
        // Nothing was sent: nobody knows how long.
        assert!(phases(&time, &queue, &vec![0.0; 200], &[10.0], 4.0)[0].queue_ms.is_infinite());
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

    /// One late sample, or a few, are of what is usual: the change is over long before. Where the last that lies outside decided, it took until then.
    #[test]
    fn a_late_outlier_is_none_of_the_change() {
        let time = times(600);
        let queue: Vec<f64> = time
            .iter()
            .map(|t| if (5.05..7.05).contains(t) || (29.0..29.15).contains(t) { 900.0 } else { 100.0 })
            .collect();
        let found = recovery(&time, &queue, &vec![1e7; 600], &[5.0], 2.0).unwrap();
        assert!((found.queue_s.mean - 2.0).abs() < 0.01, "{found:?}");
    }

    /// What begins only three seconds after a change, as a queue does behind a slow start of long round trips, is of it.
    #[test]
    fn what_comes_late_and_lasts_is_of_the_change() {
        let time = times(600);
        let queue: Vec<f64> =
            time.iter().map(|t| if (8.05..14.05).contains(t) { 900.0 } else { 100.0 }).collect();
        let found = recovery(&time, &queue, &vec![1e7; 600], &[5.0], 2.0).unwrap();
        assert!((found.queue_s.mean - 9.0).abs() < 0.11, "{found:?}");
    }

    /// The same link, sampled ten times as often, comes back at the same time: what is looked at are means of 100 ms.
    #[test]
    fn how_often_samples_are_taken_does_not_matter() {
        let found = [10, 1].map(|per_bin| {
            let time: Vec<f64> =
                (1..=200 * per_bin).map(|i| f64::from(i) / (10.0 * f64::from(per_bin))).collect();
            // A packet now and then: single samples are 0 or much.
            let rate: Vec<f64> = (0..time.len())
                .map(|i| {
                    let slow = (5.05..7.05).contains(&(time[i] - 0.05 / f64::from(per_bin)));
                    let sends = per_bin == 1 || i % 5 == 0;
                    let bps = if slow { 2e5 } else { 1e6 };
                    if sends { bps * f64::from(if per_bin == 1 { 1 } else { 5 }) } else { 0.0 }
                })
                .collect();
            recovery(&time, &vec![100.0; time.len()], &rate, &[5.0], 2.0).unwrap().rate_s.mean
        });
        assert!((found[0] - found[1]).abs() < 0.11 && (1.9..2.2).contains(&found[1]), "{found:?}");
    }

    /// Changes a second apart are two, of which neither leaves time to see it.
    #[test]
    fn changes_a_second_apart_are_two() {
        let time = times(600);
        for from in [5.0, 5.3] {
            // 2.3 - 1.3 is less than 1.
            let changes: Vec<f64> = (0..55).map(|i| from + f64::from(i)).collect();
            assert_eq!(recovery(&time, &vec![1.0; 600], &vec![1.0; 600], &changes, 2.0), None, "{from}");
        }
    }

    /// What has not come back by half of the time took that long at least.
    #[test]
    fn what_falls_on_takes_long() {
        let time = times(200);
        let falling: Vec<f64> = time.iter().map(|t| 1e6 - 1e4 * t).collect();
        let same = vec![1e7; 200];
        let found = recovery(&time, &falling, &same, &[5.0], 2.0).unwrap();
        assert_eq!((found.changes, found.rate_s.mean), (1, 0.0));
        // Half of the later distance is less than what it falls in the first half: it stays above until near the half.
        assert!(found.queue_s.mean > 3.0, "{found:?}");
    }
}
