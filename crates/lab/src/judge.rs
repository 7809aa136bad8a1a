//! How far another engine's runs of a row are from Linux's: what is allowed, what is chance.

use queuewright_results::Run;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The largest gap that is within the target: points of utilisation.
pub const UTILIZATION_POINTS: f64 = 2.0;
/// Of Linux's sojourn (the mean, the 95th percentile), or [`SOJOURN_MS`] where that is more.
pub const SOJOURN_SHARE: f64 = 0.1;
/// See [`SOJOURN_SHARE`].
pub const SOJOURN_MS: f64 = 0.5;
/// Points of any group's share in the goodput.
pub const SHARE_POINTS: f64 = 7.0;
/// Of Linux's drops, or marks, or [`COUNT_OF_OFFERED`] where that is more.
pub const COUNT_SHARE: f64 = 0.15;
/// Of the packets that came to the queue.
pub const COUNT_OF_OFFERED: f64 = 0.001;

/// So many standard errors may be chance.
const STANDARD_ERRORS: f64 = 2.0;
/// A normal variable is within one standard deviation of its mean so often.
const WITHIN_ONE: f64 = 0.6827;

/// What a run is compared by, or the mean of several.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Utilisation, per cent.
    pub utilization: f64,
    /// Mean sojourn, ms.
    pub sojourn_ms: f64,
    /// Its 95th percentile, ms; none where it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sojourn_p95_ms: Option<f64>,
    /// Share of each group in the goodput, per cent.
    pub shares: Vec<f64>,
    /// Packets that came to the queue in the window; none where they were not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered: Option<f64>,
    /// Packets dropped in the window.
    pub drops: f64,
    /// Packets marked in the window.
    pub marks: f64,
}

impl Point {
    /// Of one run.
    pub fn of(run: &Run) -> Point {
        let all: f64 = run.groups.iter().map(|g| g.goodput_bps).sum();
        let port = run.ports.first().cloned().unwrap_or_default();
        let drops = port.drops.values().sum::<u64>();
        Point {
            utilization: 100.0 * port.utilization,
            sojourn_ms: port.sojourn_ms.mean,
            sojourn_p95_ms: Some(port.sojourn_ms.p95),
            shares: run.groups.iter().map(|g| 100.0 * g.goodput_bps / all.max(1e-9)).collect(),
            offered: Some((port.packets + drops) as f64),
            drops: drops as f64,
            marks: port.marks.values().sum::<u64>() as f64,
        }
    }

    /// The mean; none of none.
    pub fn mean(points: &[Point]) -> Option<Point> {
        let n = points.len() as f64;
        let of = |f: &dyn Fn(&Point) -> f64| points.iter().map(f).sum::<f64>() / n;
        let if_all =
            |f: fn(&Point) -> Option<f64>| points.iter().map(f).sum::<Option<f64>>().map(|sum| sum / n);
        let groups = points.first()?.shares.len();
        let share = |i: usize| of(&|p: &Point| p.share(i));
        Some(Point {
            utilization: of(&|p| p.utilization),
            sojourn_ms: of(&|p| p.sojourn_ms),
            sojourn_p95_ms: if_all(|p| p.sojourn_p95_ms),
            shares: (0..groups).map(share).collect(),
            offered: if_all(|p| p.offered),
            drops: of(&|p| p.drops),
            marks: of(&|p| p.marks),
        })
    }

    fn share(&self, group: usize) -> f64 {
        self.shares.get(group).copied().unwrap_or(f64::NAN)
    }
}

/// What is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Measure {
    Utilization,
    Sojourn,
    P95,
    Share(usize),
    Drops,
    Marks,
}

impl Measure {
    /// In output. One for all groups: what one has too much the others have too little.
    fn name(self) -> &'static str {
        match self {
            Measure::Utilization => "utilisation",
            Measure::Sojourn => "sojourn",
            Measure::P95 => "p95",
            Measure::Share(_) => "share",
            Measure::Drops => "drops",
            Measure::Marks => "marks",
        }
    }

    /// Of a run; none where it was not measured.
    fn of(self, p: &Point) -> Option<f64> {
        match self {
            Measure::Utilization => Some(p.utilization),
            Measure::Sojourn => Some(p.sojourn_ms),
            Measure::P95 => p.sojourn_p95_ms,
            Measure::Share(group) => Some(p.share(group)),
            Measure::Drops => Some(p.drops),
            Measure::Marks => Some(p.marks),
        }
    }

    /// How far from this, Linux's mean, another may be; `offered` packets came to the queue.
    fn limit(self, linux: f64, offered: f64) -> f64 {
        match self {
            Measure::Utilization => UTILIZATION_POINTS,
            Measure::Sojourn | Measure::P95 => (SOJOURN_SHARE * linux).max(SOJOURN_MS),
            Measure::Share(_) => SHARE_POINTS,
            Measure::Drops | Measure::Marks => (COUNT_SHARE * linux).max(COUNT_OF_OFFERED * offered),
        }
    }
}

fn measures(groups: usize) -> impl Iterator<Item = Measure> {
    let shares = (0..groups).map(Measure::Share);
    let before = [Measure::Utilization, Measure::Sojourn, Measure::P95];
    before.into_iter().chain(shares).chain([Measure::Drops, Measure::Marks])
}

/// A measure of these runs, all of which have it.
fn all(points: &[Point], measure: Measure) -> Option<Vec<f64>> {
    points.iter().map(|p| measure.of(p)).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Standard deviation of what these are drawn from; 0 of one.
fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let sum: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
    (sum / (values.len() as f64 - 1.0).max(1.0)).sqrt()
}

/// What seeds differ by on Linux: a standard deviation for each measure, in units of what is allowed there.
///
/// Two runs of a row say little. So the differences of all rows' successive seeds are taken together: each over what is
/// allowed in its row and over the root of 2, which makes it one draw of that deviation. 68 % of the draws of a normal
/// variable are no larger than its deviation; the value of which the same holds here is robust: the tenth of the rows
/// that is chaotic does not move it, and these have their own deviation.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Spread(BTreeMap<&'static str, f64>);

impl Spread {
    /// Of rows, each with Linux's runs.
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a [Point]>) -> Spread {
        let mut draws: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
        for linux in rows {
            let Some(at) = Point::mean(linux) else { continue };
            // Of the groups' shares the one that differs most. The share of one group cannot differ; drops or marks of which no seed
            // has any say nothing.
            let mut of_row: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
            for measure in measures(at.shares.len()) {
                let Some(values) = all(linux, measure) else { continue };
                let certain = match measure {
                    Measure::Share(_) => at.shares.len() == 1,
                    Measure::Drops | Measure::Marks => values.iter().all(|n| *n == 0.0),
                    _ => false,
                };
                if certain {
                    continue;
                }
                let limit = measure.limit(mean(&values), offered(linux, &[]));
                let steps = values.windows(2).map(|w| (w[0] - w[1]).abs() / 2f64.sqrt() / limit);
                let row = of_row.entry(measure.name()).or_insert_with(|| vec![0.0; values.len() - 1]);
                row.iter_mut().zip(steps).for_each(|(most, step)| *most = most.max(step));
            }
            of_row.into_iter().for_each(|(name, row)| draws.entry(name).or_default().extend(row));
        }
        let within = |mut all: Vec<f64>| {
            all.retain(|x| x.is_finite());
            all.sort_by(f64::total_cmp);
            let rank = (WITHIN_ONE * all.len() as f64).ceil() as usize;
            all.get(rank.checked_sub(1)?).copied()
        };
        Spread(draws.into_iter().filter_map(|(name, all)| Some((name, within(all)?))).collect())
    }

    /// No row has two seeds: nothing is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Packets that came to the queue: Linux's count, or else another engine's. Without either only a part of the drops counts.
fn offered(linux: &[Point], other: &[Point]) -> f64 {
    let of = |points: &[Point]| Point::mean(points).and_then(|p| p.offered);
    of(linux).or(of(other)).unwrap_or(0.0)
}

/// A measure of an engine is further from Linux's than the target.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MissedTarget {
    /// Name of the measure, as tables have it.
    pub measure: &'static str,
    /// The gap, in units of what is allowed; not finite where the other engine has no such number.
    pub times: f64,
    /// But by less than two standard errors of the gap, so that other seeds may well meet.
    pub chance: bool,
}

/// What of another engine's runs of a row is, on the mean, further from Linux's than the target. What seeds differ by
/// is Linux's: the larger of what it is in this row and in the rows together (`spread`). An engine that is Linux has the same, so that
/// it counts for the other's mean, too; how wide that one's own runs scatter excuses nothing. What one of them has not measured is not
/// judged.
pub fn misses(linux: &[Point], other: &[Point], spread: &Spread) -> Vec<MissedTarget> {
    let (Some(a), Some(_)) = (Point::mean(linux), Point::mean(other)) else { return Vec::new() };
    let offered = offered(linux, other);
    let mut found: Vec<MissedTarget> = Vec::new();
    for measure in measures(a.shares.len()) {
        let (Some(here), Some(there)) = (all(linux, measure), all(other, measure)) else { continue };
        let limit = measure.limit(mean(&here), offered);
        let gap = (mean(&here) - mean(&there)).abs();
        // A measure that one of them has no number of is a miss, too.
        if gap <= limit {
            continue;
        }
        let name = measure.name();
        // Nothing is known where no row has two seeds.
        let error = spread.0.get(name).map_or(0.0, |of_all| {
            let of_one = (of_all * limit).max(deviation(&here));
            of_one * (1.0 / here.len() as f64 + 1.0 / there.len() as f64).sqrt()
        });
        let miss = MissedTarget { measure: name, times: gap / limit, chance: gap < STANDARD_ERRORS * error };
        match found.iter_mut().find(|m| m.measure == name) {
            None => found.push(miss),
            Some(share) => {
                share.chance &= miss.chance;
                share.times = share.times.max(miss.times);
            }
        }
    }
    found
}

/// Would Linux itself, run with `seeds` other seeds, be within the target of these runs? Told by how far the runs of its first half are
/// from those of the second, brought to what the means of so many seeds would differ by. None of a single run.
pub fn linux_again(linux: &[Point], seeds: usize) -> Option<bool> {
    let (a, b) = linux.split_at(linux.len() / 2);
    let groups = Point::mean(linux)?.shares.len();
    if a.is_empty() {
        return None;
    }
    let over = |n: usize, m: usize| 1.0 / n as f64 + 1.0 / m as f64;
    let less = (over(linux.len(), seeds) / over(a.len(), b.len())).sqrt();
    Some(measures(groups).all(|measure| match (all(a, measure), all(b, measure), all(linux, measure)) {
        (Some(a), Some(b), Some(both)) => {
            (mean(&a) - mean(&b)).abs() * less <= measure.limit(mean(&both), offered(linux, &[]))
        }
        _ => true,
    }))
}

/// How far off the worst of them is, in units of what is allowed.
pub fn worst(misses: &[MissedTarget]) -> f64 {
    let times = misses.iter().map(|m| if m.times.is_nan() { f64::INFINITY } else { m.times });
    times.fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_pcg::Pcg64;
    use rand_pcg::rand_core::Rng;

    fn point(utilization: f64, sojourn_ms: f64, share: f64) -> Point {
        Point {
            utilization,
            sojourn_ms,
            sojourn_p95_ms: Some(2.0 * sojourn_ms),
            shares: vec![share, 100.0 - share],
            offered: Some(10_000.0),
            drops: 100.0,
            marks: 0.0,
        }
    }

    fn missed(a: &Point, b: &Point) -> Vec<&'static str> {
        let all = misses(std::slice::from_ref(a), std::slice::from_ref(b), &Spread::default());
        assert!(all.iter().all(|m| !m.chance && (m.times > 1.0 || m.times.is_nan())));
        all.iter().map(|m| m.measure).collect()
    }

    #[test]
    fn a_gap_is_a_miss_above_the_target() {
        let linux = point(98.0, 20.0, 50.0);
        assert!(missed(&linux, &point(96.1, 21.9, 56.9)).is_empty());
        assert_eq!(missed(&linux, &point(95.9, 22.1, 57.1)), ["utilisation", "sojourn", "p95", "share"]);
        // Short waits: half a millisecond.
        let short = |mean: f64, p95: f64| Point { sojourn_p95_ms: Some(p95), ..point(98.0, mean, 50.0) };
        assert!(missed(&short(1.0, 2.0), &short(1.45, 2.45)).is_empty());
        assert_eq!(missed(&short(1.0, 2.0), &short(1.55, 2.45)), ["sojourn"]);
        assert_eq!(missed(&short(1.0, 2.0), &short(1.0, 2.55)), ["p95"]);
        assert_eq!(missed(&linux, &Point { sojourn_ms: f64::NAN, ..linux.clone() }), ["sojourn"]);
        assert!(
            (worst(&misses(&[point(98.0, 20.0, 50.0)], &[point(98.0, 26.0, 50.0)], &Spread::default()))
                - 3.0)
                .abs()
                < 1e-9
        );
        let mean = Point::mean(&[linux.clone(), point(100.0, 22.0, 52.0)]);
        assert_eq!(mean, Some(point(99.0, 21.0, 51.0)));
        assert_eq!(Point::mean(&[]), None);
    }

    /// 15 % of Linux's, or a packet in a thousand.
    #[test]
    fn drops_and_marks_are_judged() {
        let counted = |drops, marks| Point { drops, marks, ..point(98.0, 20.0, 50.0) };
        assert!(missed(&counted(100.0, 1000.0), &counted(114.0, 860.0)).is_empty());
        assert_eq!(missed(&counted(100.0, 1000.0), &counted(116.0, 1000.0)), ["drops"]);
        assert_eq!(missed(&counted(100.0, 1000.0), &counted(100.0, 840.0)), ["marks"]);
        // Of 10 000 packets 10.
        assert!(missed(&counted(0.0, 3.0), &counted(10.0, 13.0)).is_empty());
        assert_eq!(missed(&counted(0.0, 3.0), &counted(11.0, 14.0)), ["drops", "marks"]);
    }

    /// Files of before have neither the percentile nor the packets.
    #[test]
    fn what_was_not_measured_is_not_judged() {
        let old: Point = serde_json::from_str(
            r#"{"utilization": 98.0, "sojourn_ms": 20.0, "shares": [50.0, 50.0], "drops": 100.0, "marks": 0.0}"#,
        )
        .expect("a point");
        assert_eq!((old.sojourn_p95_ms, old.offered), (None, None));
        let far = Point { sojourn_p95_ms: Some(90.0), ..point(98.0, 20.0, 50.0) };
        assert!(missed(&old, &far).is_empty());
        assert_eq!(missed(&point(98.0, 20.0, 50.0), &far), ["p95"]);
        // A packet in a thousand of those that came to the other's.
        assert!(
            missed(&Point { drops: 0.0, ..old.clone() }, &Point { drops: 10.0, ..far.clone() }).is_empty()
        );
        assert_eq!(missed(&Point { drops: 0.0, ..old }, &Point { drops: 11.0, ..far }), ["drops"]);
    }

    /// Draws of a standard normal variable (Box and Muller 1958).
    fn normals(seed: u128) -> impl FnMut() -> f64 {
        let mut random = Pcg64::new(seed, 1);
        let mut unit = move || ((random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        move || (-2.0 * unit().ln()).sqrt() * (2.0 * std::f64::consts::PI * unit()).cos()
    }

    fn sojourns(ms: &[f64]) -> Vec<Point> {
        let of = |ms: &f64| Point { sojourn_p95_ms: None, ..point(99.0, *ms, 50.0) };
        ms.iter().map(of).collect()
    }

    #[test]
    fn the_spread_is_that_of_most_rows() {
        // 1 ms is allowed of 10 ms: pairs that differ by 0.1 root 2 have a deviation of 0.1.
        let step = 0.1 * 2f64.sqrt();
        let mut rows = vec![sojourns(&[10.0 - step / 2.0, 10.0 + step / 2.0]); 9];
        let of = |rows: &[Vec<Point>]| Spread::of(rows.iter().map(Vec::as_slice)).0["sojourn"];
        assert!((of(&rows) - 0.1).abs() < 1e-9);
        // One that is chaos does not move it.
        rows.push(sojourns(&[5.0, 15.0]));
        assert!((of(&rows) - 0.1).abs() < 1e-9);
        // Normal draws: the deviation that they come from, to a tenth.
        let mut normal = normals(1);
        let row = |_| sojourns(&[10.0 + 0.3 * normal(), 10.0 + 0.3 * normal()]);
        let drawn: Vec<Vec<Point>> = (1..2000).map(row).collect();
        assert!((of(&drawn) - 0.3).abs() < 0.03, "{}", of(&drawn));
        assert!(Spread::of([sojourns(&[3.0]).as_slice()]).is_empty());
    }

    /// Rows in which a measure cannot differ do not make its seeds look alike.
    #[test]
    fn what_cannot_differ_says_nothing() {
        let of = |share: f64, marks: f64| Point { marks, ..point(99.0, 10.0, share) };
        let alone = |p: &Point| Point { shares: vec![100.0], marks: 0.0, ..p.clone() };
        let pair = vec![of(40.0, 200.0), of(40.0 + 7.0 * 2f64.sqrt(), 200.0 + 30.0 * 2f64.sqrt())];
        let mut rows = vec![pair.clone()];
        let spread = |rows: &[Vec<Point>]| Spread::of(rows.iter().map(Vec::as_slice));
        let one = spread(&rows);
        rows.extend(vec![pair.iter().map(alone).collect(); 50]);
        let many = spread(&rows);
        for name in ["share", "marks"] {
            assert_eq!(one.0[name], many.0[name], "{name}");
        }
        assert!((one.0["share"] - 1.0).abs() < 1e-9);
    }

    /// A simulator that is Linux is told to be so by the share of rows within that `linux_again` foretells.
    #[test]
    fn what_linux_would_get_is_foretold() {
        let mut normal = normals(7);
        // Four standard errors of the two shares of 4000 rows are 4 %.
        let (mut foretold, mut within) = (0, 0);
        const ROWS: usize = 4000;
        for _ in 0..ROWS {
            let mut runs = |n: usize| sojourns(&(0..n).map(|_| 10.0 + 1.2 * normal()).collect::<Vec<_>>());
            let (linux, again) = (runs(2), runs(10));
            foretold += usize::from(linux_again(&linux, 10) == Some(true));
            within += usize::from(misses(&linux, &again, &Spread::default()).is_empty());
        }
        assert!(within < 9 * ROWS / 10 && foretold.abs_diff(within) < ROWS / 25, "{foretold} {within}");
        assert_eq!(linux_again(&sojourns(&[3.0]), 10), None);
    }

    #[test]
    fn chance_is_what_linux_seeds_differ_by() {
        let quiet = [sojourns(&[10.0, 10.1]), sojourns(&[20.0, 20.1])];
        let quiet = Spread::of(quiet.iter().map(Vec::as_slice));
        let miss = |linux: &[f64], other: &[f64], spread: &Spread| {
            let found = misses(&sojourns(linux), &sojourns(other), spread);
            found.iter().map(|m| (m.measure, m.chance)).collect::<Vec<_>>()
        };
        // Linux's own seeds are far apart.
        assert_eq!(miss(&[5.0, 4.0, 22.0], &[5.0, 6.0, 5.0, 4.0], &quiet), [("sojourn", true)]);
        assert_eq!(miss(&[5.0, 5.1], &[6.0, 6.1], &quiet), [("sojourn", false)]);
        // However wide the simulator scatters, that is no excuse.
        let wide: Vec<f64> = (0..100).map(|i| if i % 2 == 0 { 4.0 } else { 12.0 }).collect();
        assert_eq!(miss(&[5.0, 5.1], &wide, &quiet), [("sojourn", false)]);
        assert_eq!(miss(&[5.0, 5.1], &[4.0, 12.0], &quiet), [("sojourn", false)]);
        // Two seeds that happen to meet say little where rows differ by more than what is allowed.
        let loud = [sojourns(&[10.0, 13.0]), sojourns(&[20.0, 26.0])];
        let loud = Spread::of(loud.iter().map(Vec::as_slice));
        assert_eq!(miss(&[5.0, 5.0], &[6.0, 6.0], &loud), [("sojourn", true)]);
        // Nothing is known of chance where no row has two seeds.
        assert_eq!(miss(&[5.0], &[5.0, 6.0, 20.0, 4.0], &Spread::default()), [("sojourn", false)]);
    }
}
