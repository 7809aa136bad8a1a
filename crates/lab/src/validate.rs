//! How far the simulator is from Linux: rows of scenarios that both engines run, and the gap between them.

use crate::qdisc::{Whose, is_ours};
use queuewright_aqm::Value;
use queuewright_results::Run;
use queuewright_scenario::units::Range;
use queuewright_scenario::{Error, Flags, RunSpec, Scenario};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The largest gap that is within the target: points of utilisation.
pub const UTILIZATION_POINTS: f64 = 2.0;
/// Of Linux's mean sojourn, or [`SOJOURN_MS`] where that is more.
pub const SOJOURN_SHARE: f64 = 0.1;
/// See [`SOJOURN_SHARE`].
pub const SOJOURN_MS: f64 = 0.5;
/// Points of any group's share in the goodput.
pub const SHARE_POINTS: f64 = 7.0;

/// Seeds of the simulator for a shipped row: one run is a draw.
const SIM_SEEDS: &str = "1..10";
/// Flows begin within this: what is measured must not hang on all beginning at once.
const STARTS: Range = Range { min: 0, max: 100_000_000 };

/// A scenario with one discipline, on both engines.
#[derive(Debug, Clone)]
pub struct Row {
    /// What it is, in short.
    pub name: String,
    /// Runs on Linux, one a seed.
    pub linux: Vec<RunSpec>,
    /// Runs of the simulator.
    pub sim: Vec<RunSpec>,
    /// Whose queue manager Linux has.
    pub whose: Whose,
}

/// Debian's kernels, the lab's among them, have 250 a second.
const JIFFY_NS: u64 = 4_000_000;

/// Before a queue manager in the list of rows: ours, though the kernel has one.
const OURS: &str = "ours:";

impl Row {
    /// The shipped rows; seeds for Linux, such as `1..3`. Without clang this program was built without our BPF programs,
    /// and their rows are left out.
    ///
    /// # Errors
    /// Seeds that are none, and what the list itself has wrong.
    pub fn shipped(seeds: &str) -> Result<Vec<Row>, Error> {
        let lines = include_str!("rows.txt").lines();
        let without = queuewright_linux::names().is_empty();
        lines
            .filter(|l| !l.starts_with('#') && !l.trim().is_empty())
            .filter(|l| !without || !needs_ours(l))
            .map(|l| Row::of_line(l, seeds))
            .collect()
    }

    fn of_line(line: &str, seeds: &str) -> Result<Row, Error> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let word = |i: usize| words.get(i).map(|w| w.strip_prefix(OURS).unwrap_or(w).to_string());
        let whose = if line.contains(OURS) { Whose::Ours } else { Whose::Kernels };
        let with = |seeds: &str| -> Result<(Scenario, Vec<RunSpec>), Error> {
            let flags = Flags {
                rate: word(0),
                rtt: word(1),
                flows: word(2),
                aqm: word(3),
                buffer: word(4),
                duration: Some("20s".into()),
                warmup: Some("5s".into()),
                seeds: Some(seeds.into()),
                sample: Some("500ms".into()),
                ..Flags::default()
            };
            let mut scenario = Scenario::from_flags(&flags)?;
            for flows in &mut scenario.flows {
                flows.start_ns = STARTS;
            }
            let runs = scenario.runs()?;
            Ok((scenario, runs))
        };
        let (scenario, linux) = with(seeds)?;
        crate::check(&scenario, &linux, whose)?;
        Ok(Row { name: words.join(" "), linux, sim: as_it_ticks(with(SIM_SEEDS)?.1, whose), whose })
    }

    /// The rows of a scenario file: one a discipline. Both engines have the file's seeds, which decide what it draws.
    ///
    /// # Errors
    /// What the file has wrong, and what Linux cannot do.
    pub fn of_file(path: &Path, seeds: Option<&str>, whose: Whose) -> Result<Vec<Row>, Error> {
        let flags = Flags { seeds: seeds.map(Into::into), ..Flags::default() };
        let scenario = Scenario::read_with(path, &flags)?;
        let runs = scenario.runs()?;
        crate::check(&scenario, &runs, whose)?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let of = |d: &queuewright_scenario::Discipline| {
            let runs: Vec<RunSpec> = runs.iter().filter(|r| r.discipline.label == d.label).cloned().collect();
            Row {
                name: format!("{stem} {}", d.label),
                linux: runs.clone(),
                sim: as_it_ticks(runs, whose),
                whose,
            }
        };
        Ok(scenario.disciplines.iter().map(of).collect())
    }
}

/// The kernel's `pie` has its time from a timer of whole jiffies, 4 ms in Debian's kernels, which rounds up and then fires
/// in the one after (kernel/time/timer.c, `calc_index`): 20 ms for 15. The simulator's, and ours in BPF, are exact.
fn as_it_ticks(mut runs: Vec<RunSpec>, whose: Whose) -> Vec<RunSpec> {
    for run in &mut runs {
        let disciplines = run.ports.iter_mut().map(|p| &mut p.discipline);
        for d in disciplines.filter(|d| whose == Whose::Kernels && d.info.name == "pie") {
            if let Some(Value::Int(tupdate)) = d.get("tupdate") {
                let ticks = (tupdate.div_ceil(JIFFY_NS) + 1) * JIFFY_NS;
                // Beyond the range it stays what it was.
                let _ = d.set("tupdate", Value::Int(ticks));
            }
        }
    }
    runs
}

/// Is a row's queue manager a BPF program of ours?
fn needs_ours(line: &str) -> bool {
    let queue = line.split_whitespace().nth(3).unwrap_or_default();
    queue.starts_with(OURS) || is_ours(queue.split(':').next().unwrap_or_default(), Whose::Kernels)
}

/// A measure of an engine is further from Linux's than the target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Miss {
    /// Which.
    pub measure: &'static str,
    /// But by less than two standard errors of what seeds differ by, so that other seeds may well meet.
    pub chance: bool,
}

/// What of another engine's runs of a row is, on the mean, further from Linux's than the target.
pub fn misses(linux: &[Point], other: &[Point]) -> Vec<Miss> {
    let (Some(a), Some(b)) = (Point::mean(linux), Point::mean(other)) else { return Vec::new() };
    let gap = |of: &dyn Fn(&Point) -> f64, measure, most: f64| {
        let gap = (of(&a) - of(&b)).abs();
        // A measure that one of them has not is a miss, too.
        let miss = gap.is_nan() || gap > most;
        miss.then(|| Miss { measure, chance: gap < 2.0 * standard_error(linux, other, of) })
    };
    let sojourn = (SOJOURN_SHARE * a.sojourn_ms).max(SOJOURN_MS);
    let share =
        |i: usize| gap(&|p: &Point| p.shares.get(i).copied().unwrap_or(f64::NAN), "share", SHARE_POINTS);
    let shares = (0..a.shares.len()).filter_map(share);
    // One for all groups: what one has too much the others have too little.
    let shares = shares.reduce(|a, b| Miss { measure: a.measure, chance: a.chance && b.chance });
    [
        gap(&|p| p.utilization, "utilisation", UTILIZATION_POINTS),
        gap(&|p| p.sojourn_ms, "sojourn", sojourn),
        shares,
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Of the difference of two means. A side with one run varies as the other does.
fn standard_error(a: &[Point], b: &[Point], of: &dyn Fn(&Point) -> f64) -> f64 {
    let variance = |points: &[Point]| {
        let n = points.len() as f64;
        let mean = points.iter().map(of).sum::<f64>() / n;
        (n > 1.0).then(|| points.iter().map(|p| (of(p) - mean).powi(2)).sum::<f64>() / (n - 1.0))
    };
    let (va, vb) = match (variance(a), variance(b)) {
        (Some(va), Some(vb)) => (va, vb),
        (Some(v), None) | (None, Some(v)) => (v, v),
        (None, None) => return 0.0,
    };
    (va / a.len() as f64 + vb / b.len() as f64).sqrt()
}

/// What a run is compared by, or the mean of several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Utilisation, per cent.
    pub utilization: f64,
    /// Mean sojourn, ms.
    pub sojourn_ms: f64,
    /// Share of each group in the goodput, per cent.
    pub shares: Vec<f64>,
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
        Point {
            utilization: 100.0 * port.utilization,
            sojourn_ms: port.sojourn_ms.mean,
            shares: run.groups.iter().map(|g| 100.0 * g.goodput_bps / all.max(1e-9)).collect(),
            drops: port.drops.values().sum::<u64>() as f64,
            marks: port.marks.values().sum::<u64>() as f64,
        }
    }

    /// The mean; none of none.
    pub fn mean(points: &[Point]) -> Option<Point> {
        let n = points.len() as f64;
        let of = |f: &dyn Fn(&Point) -> f64| points.iter().map(f).sum::<f64>() / n;
        let groups = points.first()?.shares.len();
        let share = |i: usize| of(&|p: &Point| p.shares.get(i).copied().unwrap_or(0.0));
        Some(Point {
            utilization: of(&|p| p.utilization),
            sojourn_ms: of(&|p| p.sojourn_ms),
            shares: (0..groups).map(share).collect(),
            drops: of(&|p| p.drops),
            marks: of(&|p| p.marks),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_rows_are_enough_and_run() {
        let rows = Row::shipped("1..2").unwrap_or_else(|e| panic!("{e}"));
        assert!(rows.len() >= 40, "{} rows", rows.len());
        assert!(rows.iter().all(|r| r.linux.len() == 2 && r.sim.len() == 10));
        let mut names: Vec<&str> = rows.iter().map(|r| r.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), rows.len());
    }

    #[test]
    fn the_kernels_pie_ticks_by_the_jiffy() {
        let tupdate = |line: &str| {
            let row = Row::of_line(line, "1").unwrap_or_else(|e| panic!("{e}"));
            let of = |runs: &[RunSpec]| runs[0].ports[0].discipline.get("tupdate");
            (of(&row.linux), of(&row.sim))
        };
        let ms = |n: u64| Some(Value::Int(n * 1_000_000));
        assert_eq!(tupdate("20mbit 40ms 1xcubic pie 1000p"), (ms(15), ms(20)));
        assert_eq!(tupdate("20mbit 40ms 1xcubic pie:tupdate=16ms 1000p"), (ms(16), ms(20)));
        assert_eq!(tupdate("20mbit 40ms 1xcubic ours:pie 1000p"), (ms(15), ms(15)));
    }

    #[test]
    fn a_gap_is_a_miss_above_the_target() {
        let point = |utilization, sojourn_ms, share| Point {
            utilization,
            sojourn_ms,
            shares: vec![share, 100.0 - share],
            drops: 0.0,
            marks: 0.0,
        };
        let missed = |a: &Point, b: &Point| -> Vec<&'static str> {
            let all = misses(std::slice::from_ref(a), std::slice::from_ref(b));
            assert!(all.iter().all(|m| !m.chance));
            all.iter().map(|m| m.measure).collect()
        };
        let linux = point(98.0, 20.0, 50.0);
        assert!(missed(&linux, &point(96.1, 21.9, 56.9)).is_empty());
        assert_eq!(missed(&linux, &point(95.9, 22.1, 57.1)), ["utilisation", "sojourn", "share"]);
        // Short waits: half a millisecond.
        assert!(missed(&point(98.0, 1.0, 50.0), &point(98.0, 1.45, 50.0)).is_empty());
        assert_eq!(missed(&linux, &point(98.0, f64::NAN, 50.0)), ["sojourn"]);
        let mean = Point::mean(&[linux.clone(), point(100.0, 22.0, 52.0)]);
        assert_eq!(mean, Some(point(99.0, 21.0, 51.0)));
        assert_eq!(Point::mean(&[]), None);
    }

    #[test]
    fn a_miss_within_what_seeds_differ_by_may_be_chance() {
        let of = |ms: &[f64]| -> Vec<Point> {
            let point = |ms: &f64| Point {
                utilization: 99.0,
                sojourn_ms: *ms,
                shares: vec![100.0],
                drops: 0.0,
                marks: 0.0,
            };
            ms.iter().map(point).collect()
        };
        let miss = |chance| vec![Miss { measure: "sojourn", chance }];
        // One run in many is far out, on Linux or here: the means say little.
        assert_eq!(misses(&of(&[5.0, 4.0, 22.0]), &of(&[5.0, 6.0, 5.0, 4.0])), miss(true));
        assert_eq!(misses(&of(&[5.0]), &of(&[5.0, 6.0, 20.0, 4.0])), miss(true));
        assert_eq!(misses(&of(&[5.0, 5.1]), &of(&[6.0, 6.1])), miss(false));
    }
}
