//! What the table and the report say of each discipline: its measures, each a
//! mean over the seeds with their range.

use queuewright_results::measures::{self, Better};
use queuewright_results::quality::grade::Grade;
use queuewright_results::{Distribution, Group, Port, Queue, Responsiveness, Results, Run, Transfers};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// A column of the summary.
pub(crate) struct Measure {
    /// What is measured.
    pub name: &'static str,
    /// Which part or statistic of it, may be empty.
    pub part: &'static str,
    /// Where it stands in the result object.
    path: &'static str,
    /// The value in the unit of `scale`; NaN where there is none.
    value: fn(&Run, &Port) -> f64,
    /// Units to choose from, rising: a factor on `value` and its name.
    units: &'static [(f64, &'static str)],
}

/// A column of the table of a port's queues.
pub(crate) struct QueueMeasure {
    /// As in [`Measure`].
    pub name: &'static str,
    pub part: &'static str,
    value: fn(&Queue) -> f64,
    units: &'static [(f64, &'static str)],
}

const RATE: &[(f64, &str)] = &[(1e-3, "kbit/s"), (1e-6, "Mbit/s"), (1e-9, "Gbit/s")];
const MS: &[(f64, &str)] = &[(1.0, "ms")];
const PERCENT: &[(f64, &str)] = &[(1e2, "%")];

/// The columns, in the order shown.
pub(crate) const MEASURES: [Measure; 8] = [
    Measure {
        name: "utilisation",
        part: "",
        path: "utilization",
        value: |_, port| port.utilization,
        units: PERCENT,
    },
    Measure {
        name: "sojourn",
        part: "mean",
        path: "sojourn_ms.mean",
        value: |_, port| port.sojourn_ms.mean,
        units: MS,
    },
    Measure {
        name: "sojourn",
        part: "p95",
        path: "sojourn_ms.p95",
        value: |_, port| port.sojourn_ms.p95,
        units: MS,
    },
    Measure {
        name: "sojourn",
        part: "p99",
        path: "sojourn_ms.p99",
        value: |_, port| port.sojourn_ms.p99,
        units: MS,
    },
    Measure {
        name: "drops",
        part: "",
        path: "drop_fraction",
        value: |_, port| port.drop_fraction,
        units: PERCENT,
    },
    Measure {
        name: "marks",
        part: "",
        path: "mark_fraction",
        value: |_, port| port.mark_fraction,
        units: PERCENT,
    },
    Measure { name: "Jain", part: "", path: "jain", value: |run, _| run.jain, units: &[(1.0, "")] },
    Measure {
        name: "goodput",
        part: "",
        path: "goodput_bps",
        value: |run, _| run.goodput_bps(),
        units: RATE,
    },
];

impl Measure {
    pub(crate) fn better(&self) -> Better {
        measures::find(self.path).map_or(Better::Neither, |m| m.better)
    }
}

/// The columns of the table of queues, in the order shown.
pub(crate) const QUEUE_MEASURES: [QueueMeasure; 7] = [
    QueueMeasure { name: "rate", part: "", value: |q| q.rate_bps, units: RATE },
    QueueMeasure { name: "sojourn", part: "mean", value: |q| q.sojourn_ms.mean, units: MS },
    QueueMeasure { name: "sojourn", part: "p95", value: |q| q.sojourn_ms.p95, units: MS },
    QueueMeasure { name: "sojourn", part: "p99", value: |q| q.sojourn_ms.p99, units: MS },
    QueueMeasure {
        name: "backlog",
        part: "mean",
        value: |q| q.backlog_packets.mean,
        units: &[(1.0, "packets")],
    },
    QueueMeasure { name: "drops", part: "", value: |q| q.drop_fraction, units: PERCENT },
    QueueMeasure { name: "marks", part: "", value: |q| q.mark_fraction, units: PERCENT },
];

/// Mean and range over the seeds; NaN where no seed has a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub mean: f64,
    pub min: f64,
    pub max: f64,
}

impl Spread {
    pub(crate) fn of(values: impl Iterator<Item = f64>) -> Spread {
        let finite: Vec<f64> = values.filter(|v| v.is_finite()).collect();
        if finite.is_empty() {
            return Spread { mean: f64::NAN, min: f64::NAN, max: f64::NAN };
        }
        let n = finite.len() as f64;
        Spread {
            // Divided first: a sum of huge values may overflow.
            mean: finite.iter().fold(0.0, |sum, v| sum + v / n),
            min: finite.iter().copied().fold(f64::INFINITY, f64::min),
            max: finite.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }

    pub(crate) fn half_range(&self) -> f64 {
        (self.max - self.min) / 2.0
    }
}

/// The labels of the disciplines, in the order of their first runs.
pub(crate) fn labels(results: &Results) -> Vec<&str> {
    let mut labels: Vec<&str> = Vec::new();
    for run in &results.runs {
        if !labels.contains(&run.discipline.as_str()) {
            labels.push(&run.discipline);
        }
    }
    labels
}

/// The seeds, rising.
pub(crate) fn seeds(results: &Results) -> Vec<u64> {
    let mut seeds: Vec<u64> = results.runs.iter().map(|run| run.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    seeds
}

/// The names of the ports, in the order of their first appearance.
pub(crate) fn ports(results: &Results) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for port in results.runs.iter().flat_map(|run| &run.ports) {
        if !names.contains(&port.name.as_str()) {
            names.push(&port.name);
        }
    }
    names
}

/// The label of the discipline that a port has of its own, whatever is compared.
pub(crate) fn own_discipline<'a>(results: &'a Results, port: &str) -> Option<&'a str> {
    let ports = results.runs.iter().flat_map(|run| &run.ports);
    ports.filter(|p| p.name == port).map(|p| p.discipline.as_str()).find(|d| !d.is_empty())
}

/// The runs of a discipline.
pub(crate) fn runs_of<'a>(results: &'a Results, label: &'a str) -> impl Iterator<Item = &'a Run> {
    results.runs.iter().filter(move |run| run.discipline == label)
}

/// A summary column ready to print: one cell per discipline.
pub(crate) struct Column {
    pub measure: &'static Measure,
    pub unit: &'static str,
    pub cells: Vec<Cell>,
}

pub(crate) struct Cell {
    pub mean: String,
    /// Half the range over the seeds; empty with fewer than two.
    pub plus_minus: String,
    pub best: bool,
}

/// The summary of a port: one column per measure, one cell per discipline in the
/// order of [`labels`].
pub(crate) fn columns(results: &Results, port: &str) -> Vec<Column> {
    let labels = labels(results);
    MEASURES
        .iter()
        .map(|measure| {
            let spreads: Vec<Spread> =
                labels.iter().map(|label| spread(results, label, port, measure)).collect();
            column(measure, &spreads, seeds(results).len() > 1)
        })
        .collect()
}

fn spread(results: &Results, label: &str, port: &str, measure: &Measure) -> Spread {
    Spread::of(
        runs_of(results, label)
            .flat_map(|run| run.ports.iter().filter(|p| p.name == port).map(|p| (measure.value)(run, p))),
    )
}

/// The queues of a port, of the disciplines that have several: a heading (name, unit) for each of
/// [`QUEUE_MEASURES`], and a row (discipline, queue, means over the seeds) for each queue.
pub(crate) struct QueueTable<'a> {
    pub units: Vec<&'static str>,
    pub rows: Vec<(&'a str, &'a str, Vec<String>)>,
}

/// The table of a port's queues; no rows if no discipline has several.
pub(crate) fn queues<'a>(results: &'a Results, port: &str) -> QueueTable<'a> {
    let of = |run: &'a Run| run.ports.iter().filter(|p| p.name == port).flat_map(|p| &p.queues);
    let mut rows: Vec<(&str, &str, Vec<f64>)> = Vec::new();
    for label in labels(results) {
        let mut names: Vec<&str> = Vec::new();
        for queue in runs_of(results, label).flat_map(of) {
            if !names.contains(&queue.name.as_str()) {
                names.push(&queue.name);
            }
        }
        for name in names {
            let mean = |m: &QueueMeasure| {
                let queues = runs_of(results, label).flat_map(of).filter(|q| q.name == name);
                Spread::of(queues.map(m.value)).mean
            };
            rows.push((label, name, QUEUE_MEASURES.iter().map(mean).collect()));
        }
    }
    let mut units = Vec::new();
    let mut printed: Vec<_> = rows.iter().map(|r| (r.0, r.1, Vec::new())).collect();
    for (i, measure) in QUEUE_MEASURES.iter().enumerate() {
        let largest = rows.iter().map(|r| r.2[i].abs()).fold(0.0, f64::max /* ignores NaN */);
        let (factor, unit) = scale(measure.units, largest);
        units.push(unit);
        for (row, to) in rows.iter().zip(&mut printed) {
            to.2.push(print(row.2[i] * factor, decimals(largest * factor)));
        }
    }
    QueueTable { units, rows: printed }
}

/// A table by discipline and group.
pub(crate) struct GroupTable<'a> {
    /// What it is of.
    pub caption: &'static str,
    /// What names a row: discipline, group, and which of its flows.
    pub keys: &'static [&'static str],
    /// Name, part, unit of each column.
    pub headings: Vec<(&'static str, Cow<'a, str>, &'static str)>,
    /// Names of each row, and its values.
    pub rows: Vec<(Vec<&'a str>, Vec<String>)>,
}

/// What rows there may be: the name in the results, and in words.
const CLASSES: [(&str, &str); 7] = [
    ("all", "all"),
    ("10kb", "to 10kb"),
    ("100kb", "to 100kb"),
    ("1mb", "to 1mb"),
    ("10mb", "to 10mb"),
    ("larger", "larger"),
    ("pages", "pages"),
];

/// Completion times of the flows that had an end, means over the seeds, a row for each size class, and for pages;
/// no rows if no flow had an end.
fn transfers(results: &Results) -> GroupTable<'_> {
    type Units = &'static [(f64, &'static str)];
    const N: usize = 8;
    /// Where times stand.
    const TIMES: std::ops::Range<usize> = 2..7;
    const S: Units = &[(1e3, "ms"), (1.0, "s")];
    const EACH: Units = &[(1.0, "")];
    const COLUMNS: [(&str, &str, Units); N] = [
        ("flows", "", EACH),
        ("completed", "", PERCENT),
        ("first byte", "mean", S),
        ("completion", "mean", S),
        ("completion", "p50", S),
        ("completion", "p95", S),
        ("completion", "p99", S),
        ("drops", "each", EACH),
    ];
    /// The columns of a class of a group's flows.
    fn values(t: &Transfers, class: &str) -> Option<[f64; N]> {
        let share = |part: u64, of: u64| if of == 0 { f64::NAN } else { part as f64 / of as f64 };
        let row = |flows: u64, completed: f64, first: f64, d: &Distribution, drops: f64| {
            [flows as f64, completed, first, d.mean, d.p50, d.p95, d.p99, drops]
        };
        match class {
            "all" => {
                let none = Distribution::of(std::iter::empty());
                let d = t.fct_s.get("all").unwrap_or(&none);
                let completed = share(t.completed, t.started);
                Some(row(t.started, completed, t.startup_s.mean, d, share(t.drops, t.started)))
            }
            "pages" => {
                let b = t.pages.as_ref()?;
                Some(row(b.started, share(b.completed, b.started), f64::NAN, &b.plt_s, b.drops.mean))
            }
            // A class that has them all says nothing new.
            _ => t
                .fct_s
                .get(class)
                .filter(|d| d.count < t.completed)
                .map(|d| row(d.count, f64::NAN, f64::NAN, d, f64::NAN)),
        }
    }
    let mut rows: Vec<(&str, &str, &'static str, Vec<f64>)> = Vec::new();
    for label in labels(results) {
        let groups: Vec<&str> = runs_of(results, label).next().map_or(Vec::new(), |run| {
            run.groups.iter().filter(|g| g.transfers.is_some()).map(|g| g.name.as_str()).collect()
        });
        for group in groups {
            for (class, words) in CLASSES {
                let of_run = |run: &Run| {
                    let t = run.groups.iter().find(|g| g.name == group)?.transfers.as_ref()?;
                    values(t, class)
                };
                let seeds: Vec<[f64; N]> = runs_of(results, label).filter_map(of_run).collect();
                if !seeds.is_empty() {
                    let mean = |i: usize| Spread::of(seeds.iter().map(|v| v[i])).mean;
                    rows.push((label, group, words, (0..N).map(mean).collect()));
                }
            }
        }
    }
    let mut headings = Vec::new();
    let mut printed: Vec<_> = rows.iter().map(|r| (vec![r.0, r.1, r.2], Vec::new())).collect();
    // Times in one unit, so that they can be compared along a row too.
    let longest = rows.iter().flat_map(|r| &r.3[TIMES]).fold(0.0, |m: f64, v| m.max(v.abs()));
    for (i, (name, part, units)) in COLUMNS.into_iter().enumerate() {
        let largest = match units.len() {
            2 => longest,
            _ => rows.iter().map(|r| r.3[i].abs()).fold(0.0, f64::max /* ignores NaN */),
        };
        let (factor, unit) = scale(units, largest);
        headings.push((name, part.into(), unit));
        let digits = if i == 0 { 0 } else { decimals(largest * factor).min(3) };
        for (row, to) in rows.iter().zip(&mut printed) {
            to.1.push(print(row.3[i] * factor, digits));
        }
    }
    GroupTable {
        caption: "Flows with an end: how long they took",
        keys: &["discipline", "group", "which"],
        headings,
        rows: printed,
    }
}

/// The tables of groups that have more to tell than a goodput: transfers, datagrams and video.
pub(crate) fn group_tables(results: &Results) -> Vec<GroupTable<'_>> {
    let datagrams = group_table(
        results,
        "Datagrams: from sender to receiver",
        [
            ("one-way delay", "mean", "ms"),
            ("one-way delay", "p50", "ms"),
            ("one-way delay", "p95", "ms"),
            ("one-way delay", "p99", "ms"),
            ("jitter", "p95", "ms"),
            ("loss", "", "%"),
            ("MOS", "", ""),
        ],
        |g| {
            let d = g.datagrams.as_ref()?;
            let delay = &d.delay_ms;
            let mos = d.calls.as_ref().map_or(f64::NAN, |c| c.mos);
            Some([delay.mean, delay.p50, delay.p95, delay.p99, d.jitter_ms.p95, 100.0 * d.loss, mos])
        },
    );
    let video = group_table(
        results,
        "Video: all players of a group",
        [
            ("bitrate", "mean", "Mbit/s"),
            ("switches", "", ""),
            ("stalls", "", ""),
            ("stalled", "", "s"),
            ("first picture", "mean", "s"),
        ],
        |g| {
            let v = g.video.as_ref()?;
            Some([v.bitrate_bps / 1e6, v.switches as f64, v.stalls as f64, v.stalled_s, v.startup_s])
        },
    );
    let harm = group_table(
        results,
        "Harm: the share that groups lose beside those of --without",
        [
            ("goodput", "harm", "%"),
            ("delay", "harm", "%"),
            ("transfers", "harm", "%"),
            ("completion", "p95 harm", "%"),
            ("page load", "p50 harm", "%"),
            ("delivered", "harm", "%"),
            ("fair share", "", "Mbit/s"),
        ],
        |g| {
            let h = g.harm.as_ref()?;
            let shares =
                [h.goodput, h.delay, h.completed, h.fct, h.plt, h.delivered].map(|share| 100.0 * share);
            let [goodput, delay, completed, fct, plt, delivered] = shares;
            Some([goodput, delay, completed, fct, plt, delivered, h.fair_bps / 1e6])
        },
    );
    [transfers(results), datagrams, video, responsiveness(results), harm]
        .into_iter()
        .filter(|t| !t.rows.is_empty())
        .collect()
}

/// How the network answers beside each entry of flows with probes, means over the seeds.
fn responsiveness(results: &Results) -> GroupTable<'_> {
    let mut headings: Vec<(&str, Cow<'_, str>, &str)> = vec![
        ("responsiveness", "".into(), "1/min"),
        ("idle", "".into(), "1/min"),
        ("round trip", "mean".into(), "ms"),
        ("round trip", "p95".into(), "ms"),
        ("grade", "".into(), ""),
    ];
    let of_runs = results.runs.iter().flat_map(|run| &run.responsiveness);
    let profiles: BTreeSet<&str> = of_runs.flat_map(|r| r.qoo.keys().map(String::as_str)).collect();
    headings.extend(profiles.iter().map(|name| ("QoO", (*name).into(), "")));
    let mut rows = Vec::new();
    for label in labels(results) {
        let loads = runs_of(results, label).next().map_or(&[][..], |run| &run.responsiveness);
        for load in loads.iter().map(|r| r.load.as_str()) {
            let of_load: Vec<&Responsiveness> = runs_of(results, label)
                .filter_map(|run| run.responsiveness.iter().find(|r| r.load == load))
                .collect();
            let mean = |of: &dyn Fn(&Responsiveness) -> f64| Spread::of(of_load.iter().map(|r| of(r))).mean;
            let grade = Grade::of(mean(&|r| r.rtt_ms.mean - r.idle_rtt_ms)).map_or("", Grade::letter);
            let mut values = vec![
                print(mean(&|r| r.rpm), 0),
                print(mean(&|r| r.idle_rpm), 0),
                print(mean(&|r| r.rtt_ms.mean), 1),
                print(mean(&|r| r.rtt_ms.p95), 1),
                grade.to_string(),
            ];
            let qoo = |name: &str| mean(&|r| r.qoo.get(name).copied().flatten().unwrap_or(f64::NAN));
            values.extend(profiles.iter().map(|name| print(qoo(name), 0)));
            rows.push((vec![label, load], values));
        }
    }
    GroupTable {
        caption: "How the network answers under load",
        keys: &["discipline", "load"],
        headings,
        rows,
    }
}

/// One of them, without rows if no group has such values, and without columns that have none; each a mean over the seeds.
fn group_table<'a, const N: usize>(
    results: &'a Results,
    caption: &'static str,
    columns: [(&'static str, &'static str, &'static str); N],
    values: fn(&Group) -> Option<[f64; N]>,
) -> GroupTable<'a> {
    let mut rows: Vec<(&str, &str, Vec<f64>)> = Vec::new();
    for label in labels(results) {
        let groups: Vec<&str> = runs_of(results, label).next().map_or(Vec::new(), |run| {
            run.groups.iter().filter(|g| values(g).is_some()).map(|g| g.name.as_str()).collect()
        });
        for group in groups {
            let of_run = |run: &Run| run.groups.iter().find(|g| g.name == group).and_then(values);
            let seeds: Vec<[f64; N]> = runs_of(results, label).filter_map(of_run).collect();
            let mean = |i: usize| Spread::of(seeds.iter().map(|v| v[i])).mean;
            rows.push((label, group, (0..columns.len()).map(mean).collect()));
        }
    }
    let shown: Vec<usize> = (0..N).filter(|i| rows.iter().any(|r| r.2[*i].is_finite())).collect();
    let digits = |i: usize| match columns[i].2 {
        // Counts and opinions, as means over seeds.
        "" => 1,
        _ => decimals(rows.iter().map(|r| r.2[i].abs()).fold(0.0, f64::max /* ignores NaN */)).min(3),
    };
    let printed = |values: &[f64]| shown.iter().map(|i| print(values[*i], digits(*i))).collect();
    GroupTable {
        caption,
        keys: &["discipline", "group"],
        headings: shown.iter().map(|i| (columns[*i].0, columns[*i].1.into(), columns[*i].2)).collect(),
        rows: rows.iter().map(|(label, group, values)| (vec![*label, *group], printed(values))).collect(),
    }
}

/// Measures by their paths, of every run that has them: means over the seeds, and half of what they span.
pub(crate) struct Chosen {
    /// Their paths.
    pub paths: Vec<String>,
    /// Of each discipline the cells, in the order of [`labels`]; `-` where it has none.
    pub rows: Vec<Vec<Cell>>,
}

/// Those that `wanted` says, in their order.
pub(crate) fn chosen(results: &Results, wanted: impl FnOnce(&BTreeSet<String>) -> Vec<String>) -> Chosen {
    let of_runs: Vec<_> = results.runs.iter().map(measures::by_path).collect();
    let paths = wanted(&of_runs.iter().flat_map(|of| of.keys().cloned()).collect());
    let several = seeds(results).len() > 1;
    let columns: Vec<Vec<Cell>> = paths
        .iter()
        .map(|path| {
            let of = |label: &&str| {
                let runs = results.runs.iter().zip(&of_runs).filter(|(run, _)| run.discipline == **label);
                Spread::of(runs.filter_map(|(_, of)| of.get(path).copied()))
            };
            let spreads: Vec<Spread> = labels(results).iter().map(of).collect();
            cells(measures::better(path), &spreads, 1.0, figures(largest(&spreads)), several)
        })
        .collect();
    let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
    let row = |_| columns.iter_mut().filter_map(Iterator::next).collect();
    Chosen { rows: (0..labels(results).len()).map(row).collect(), paths }
}

/// The largest unit that shows the largest value as 1 or more.
fn scale(units: &[(f64, &'static str)], largest: f64) -> (f64, &'static str) {
    *units.iter().rev().find(|(factor, _)| largest * factor >= 1.0).unwrap_or(&units[0])
}

fn print(value: f64, decimals: usize) -> String {
    if value.is_finite() { format!("{value:.decimals$}") } else { "-".into() }
}

fn column(measure: &'static Measure, spreads: &[Spread], with_range: bool) -> Column {
    let largest = largest(spreads);
    let (factor, unit) = scale(measure.units, largest);
    let cells = cells(measure.better(), spreads, factor, decimals(largest * factor), with_range);
    Column { measure, unit, cells }
}

fn largest(spreads: &[Spread]) -> f64 {
    spreads.iter().map(|s| s.mean.abs()).fold(0.0, f64::max /* ignores NaN */)
}

/// Digits after the point that show four figures of the largest value, however small it is.
fn figures(largest: f64) -> usize {
    let magnitude = if largest > 0.0 { largest.log10().floor() as i64 } else { 3 };
    (3 - magnitude).clamp(0, 12) as usize
}

/// The cells of a column, whose values are multiplied by `factor` and have so many digits after the point.
fn cells(better: Better, spreads: &[Spread], factor: f64, decimals: usize, with_range: bool) -> Vec<Cell> {
    let print = |value: f64| print(value * factor, decimals);
    let means: Vec<String> = spreads.iter().map(|s| print(s.mean)).collect();
    let best = best(better, spreads, &means);
    spreads
        .iter()
        .zip(means)
        .map(|(spread, mean)| Cell {
            best: best.as_ref() == Some(&mean),
            plus_minus: if with_range && spread.mean.is_finite() {
                print(spread.half_range())
            } else {
                String::new()
            },
            mean,
        })
        .collect()
}

/// Digits after the point that show four figures of the largest value, 4 at most.
fn decimals(largest: f64) -> usize {
    if largest == 0.0 {
        return 0;
    }
    if largest < 1.0 {
        return 4;
    }
    3_usize.saturating_sub(largest.log10().floor() as usize)
}

/// The best printed value of a column; none if all print alike, for then nothing
/// stands out.
fn best(better: Better, spreads: &[Spread], means: &[String]) -> Option<String> {
    let mut known: Vec<(f64, &String)> =
        spreads.iter().zip(means).filter(|(s, _)| s.mean.is_finite()).map(|(s, m)| (s.mean, m)).collect();
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (low, high) = (known.first()?.1, known.last()?.1);
    if low == high {
        return None;
    }
    match better {
        Better::Low => Some(low.clone()),
        Better::High => Some(high.clone()),
        Better::Neither => None,
    }
}

/// How the runs were made, in a line: length, warm-up, seeds, engine.
pub(crate) fn conditions(results: &Results) -> String {
    let Some(first) = results.runs.first() else {
        return "no finished run".into();
    };
    let seeds = seeds(results);
    let listed = match seeds.as_slice() {
        [one] => format!("seed {one}"),
        [first, .., last] if last - first == seeds.len() as u64 - 1 => {
            format!("seeds {first}..{last}")
        }
        _ => format!("seeds {}", seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
    };
    format!(
        "{} s, the first {} s not counted; {listed}; engine {}",
        first.duration_s, first.warmup_s, first.engine
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_column_is_a_measure_that_is_declared() {
        for measure in &MEASURES {
            assert!(measures::find(measure.path).is_some(), "{}", measure.path);
        }
    }
}
