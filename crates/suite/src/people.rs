//! What people notice of a suite's scenarios: calls, games, pages, video. A sentence each: with whom it is best, with whom worst, how sure that is.

use crate::plan::REFERENCE;
use crate::{Plan, Scores, Standing};
use queuewright_experiments::{Record, Store};
use queuewright_report::{FEW, UNHEARD_MOS, UNNOTICED_PAGE_S, UNNOTICED_SHARE, UNNOTICED_STALL_S};
use queuewright_results::quality::student;
use std::collections::BTreeSet;

/// A run's measure of one group, by how its path ends.
type At<'a> = dyn Fn(&str) -> Option<f64> + 'a;

/// A measure that people notice.
struct Notice {
    kind: &'static str,
    /// How the paths begin and end of the groups, or of the run, that have it.
    begins: &'static str,
    ends: &'static str,
    of: fn(&At<'_>) -> Option<f64>,
    /// How many it is of, where few are no gain.
    came: Option<&'static str>,
    /// Is more of it better?
    more: bool,
    /// A difference that nobody notices; of times, as of a page of 1 s and one of 10, also that of [`UNNOTICED_SHARE`] of the better one, and
    /// their mean is the geometric one.
    least: f64,
    times: bool,
    /// What a run counts as that has none where others have one, and what that means.
    without: f64,
    never: &'static str,
    show: fn(f64) -> String,
}

const MOS: &str = ".datagrams.calls.mos";
const GAME: &str = "qoo.game";
const PAGE_S: &str = ".transfers.pages.plt_s.p50";
const STALLED_S: &str = ".video.stalled_s";

const NOTICES: [Notice; 4] = [
    Notice {
        kind: "Calls",
        begins: "group.",
        ends: MOS,
        of: |at| at(MOS),
        came: None,
        more: true,
        least: UNHEARD_MOS,
        times: false,
        without: 1.0,
        never: "",
        show: |v| format!("MOS {v:.1}"),
    },
    Notice {
        kind: "Games",
        begins: "responsiveness.",
        ends: GAME,
        of: |at| at(GAME),
        came: None,
        more: true,
        least: 5.0,
        times: false,
        without: 0.0,
        never: "",
        show: |v| format!("QoO {v:.0} of 100"),
    },
    Notice {
        kind: "Pages",
        begins: "group.",
        ends: PAGE_S,
        of: |at| at(PAGE_S),
        came: Some(".transfers.pages.completed"),
        more: false,
        least: UNNOTICED_PAGE_S,
        times: true,
        without: f64::INFINITY,
        never: "fewer came",
        show: seconds,
    },
    Notice {
        kind: "Videos stand still",
        begins: "group.",
        ends: STALLED_S,
        // Of each player.
        of: |at| (at(".video.chunks")? > 0.0).then_some(at(STALLED_S)? / at(".flows")?.max(1.0)),
        came: None,
        more: false,
        least: UNNOTICED_STALL_S,
        times: false,
        without: f64::INFINITY,
        never: "none began",
        show: seconds,
    },
];

fn seconds(v: f64) -> String {
    match v {
        0.0 => "0 s".into(),
        _ if v < 0.1 => format!("{:.1} ms", 1e3 * v),
        _ => format!("{v:.2} s"),
    }
}

/// A discipline's runs of each scenario that somebody has a value in, by seed.
struct Of<'a> {
    label: &'a str,
    scenarios: Vec<Vec<f64>>,
    /// How many came in all, where that is counted.
    came: f64,
}

impl Of<'_> {
    /// Scenarios of which most runs have nothing.
    fn without(&self) -> usize {
        self.scenarios.iter().filter(|runs| usual(runs).is_none()).count()
    }

    /// Scenarios of which no run has anything.
    fn never(&self) -> usize {
        self.scenarios.iter().filter(|runs| runs.iter().all(|v| !v.is_finite())).count()
    }

    /// Over the scenarios that have a value; NaN: none has.
    fn mean(&self) -> f64 {
        mean(self.scenarios.iter().filter_map(|runs| usual(runs)))
    }
}

/// The mean of the runs that have a value; none: most have none.
fn usual(runs: &[f64]) -> Option<f64> {
    let there = runs.iter().filter(|v| v.is_finite());
    (2 * there.clone().count() > runs.len()).then(|| mean(there.copied()))
}

/// By how much one is above another, the 95 % interval; NaN of one seed. The scenarios are given, those in which both have all values. What
/// chance does is seen by their seeds, which are the same for both; a seed's scenarios have chance in common, so that only their mean counts.
fn above(one: &Of<'_>, other: &Of<'_>) -> [f64; 2] {
    let whole = |runs: &[f64]| runs.iter().all(|v| v.is_finite());
    let both: Vec<(&Vec<f64>, &Vec<f64>)> =
        one.scenarios.iter().zip(&other.scenarios).filter(|(a, b)| whole(a) && whole(b)).collect();
    let seeds = both.iter().flat_map(|(a, b)| [a.len(), b.len()]).min().unwrap_or(0);
    let each: Vec<f64> = (0..seeds).map(|seed| mean(both.iter().map(|(a, b)| a[seed] - b[seed]))).collect();
    student::interval(&each)
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.fold((0.0, 0.0), |(sum, n), value| (sum + value, n + 1.0));
    sum / n
}

/// The sentences; none before all runs are there, or where there is nobody to compare with.
pub(crate) fn sentences(plan: &Plan, store: &Store, scores: &Scores) -> Vec<String> {
    let compared: Vec<&Standing> = scores.standings.iter().filter(|s| s.compared).collect();
    if scores.missing > 0 || compared.len() < 2 {
        return Vec::new();
    }
    let labels: Vec<&str> = compared.iter().map(|s| s.discipline.as_str()).collect();
    NOTICES.iter().filter_map(|notice| sentence(notice, store, scores, &labels, plan)).collect()
}

/// A discipline's runs of a scenario.
struct Runs {
    values: Vec<f64>,
    came: f64,
}

/// Of each of these disciplines a value for each run of a scenario, over all groups of which a run has one; none: no run has.
fn of_member(notice: &Notice, store: &Store, member: usize, labels: &[&str]) -> Option<Vec<Runs>> {
    let records: Vec<Vec<&Record>> = labels.iter().map(|label| store.of(member, label).collect()).collect();
    let groups: BTreeSet<&str> = records
        .iter()
        .flatten()
        .flat_map(|r| r.measures.keys())
        .filter_map(|path| path.strip_suffix(notice.ends).filter(|of| of.starts_with(notice.begins)))
        .collect();
    if groups.is_empty() {
        return None;
    }
    let at = |r: &Record, group: &str, end: &str| r.measures.get(&format!("{group}{end}")).copied();
    let came = |r: &Record, group: &str| notice.came.map_or(0.0, |end| at(r, group, end).unwrap_or(0.0));
    let value = |nth: usize, r: &Record| {
        mean(groups.iter().map(|group| {
            let most =
                records.iter().filter_map(|runs| runs.get(nth)).map(|r| came(r, group)).fold(0.0, f64::max);
            match (notice.of)(&|end| at(r, group, end)) {
                Some(value) if came(r, group) >= FEW * most => value,
                _ => notice.without,
            }
        }))
    };
    let of = |runs: &Vec<&Record>| Runs {
        values: runs.iter().enumerate().map(|(nth, r)| value(nth, r)).collect(),
        came: runs.iter().flat_map(|r| groups.iter().map(|group| came(r, group))).sum(),
    };
    Some(records.iter().map(of).collect())
}

fn sentence(notice: &Notice, store: &Store, scores: &Scores, labels: &[&str], plan: &Plan) -> Option<String> {
    let found = scores.common.iter().filter_map(|m| Some((*m, of_member(notice, store, *m, labels)?)));
    let (members, runs): (Vec<usize>, Vec<Vec<Runs>>) = found.unzip();
    let scale = |v: &f64| if notice.times { v.ln() } else { *v };
    let of = |i: usize| Of {
        label: labels[i],
        scenarios: runs.iter().map(|of| of[i].values.iter().map(scale).collect()).collect(),
        came: runs.iter().map(|of| of[i].came).sum(),
    };
    let mut all: Vec<Of<'_>> = (0..labels.len()).map(of).collect();
    let badness = |of: &Of<'_>| if notice.more { -of.mean() } else { of.mean() };
    all.sort_by(|a, b| {
        let by_value = a.without().cmp(&b.without()).then(badness(a).total_cmp(&badness(b)));
        by_value.then(b.came.total_cmp(&a.came))
    });
    let value = |of: &Of<'_>| if notice.times { of.mean().exp() } else { of.mean() };
    let [best, .., last] = all.as_slice() else { return None };
    // Nobody has any, or nobody notices the slowest.
    if best.without() == members.len() || (notice.times && value(last) < notice.least) {
        return None;
    }
    let others = &all[1..];
    let least = if notice.times { (1.0 + UNNOTICED_SHARE).ln() } else { notice.least };
    let one_seed = all.iter().flat_map(|of| &of.scenarios).all(|runs| runs.len() < 2);
    // Whoever is truly best is one of these, but in a fortieth of the cases.
    let alike = |of: &&Of<'_>| {
        let [low, high] = above(of, best);
        let surely = if notice.more { -high } else { low };
        let noticed = surely > least && (!notice.times || value(best) * (surely.exp() - 1.0) > notice.least);
        let fewer = of.never() > best.without() && !one_seed;
        !noticed && !fewer
    };
    let show = |of: &Of<'_>| match of.without() {
        0 => (notice.show)(value(of)),
        _ if members.len() == 1 => format!("where {}", notice.never),
        n => format!("where {} in {n} of them", notice.never),
    };
    let scenarios = match members.as_slice() {
        [one] => format!("in {}", plan.suite.members[*one].name),
        some => format!("mean of {} scenarios", some.len()),
    };
    let begin = format!("**{}** ({scenarios}):", notice.kind);
    let equals: Vec<&str> = others.iter().filter(alike).map(|of| of.label).collect();
    let Some(worst) = others.iter().rev().find(|of| !alike(of)) else {
        let why = if one_seed {
            "one run of each says nothing of chance"
        } else {
            "none is sure to be noticeably worse than the best"
        };
        return Some(format!("{begin} {} to {}; {why}.", show(best), show(last)));
    };
    let equal = match equals.as_slice() {
        [] => String::new(),
        [one] => format!(" ({one} may be as good)"),
        [some @ .., last] if some.len() < 3 => format!(" ({} and {last} may be as good)", some.join(", ")),
        some => format!(" ({} others may be as good)", some.len()),
    };
    let worst_of_all: Vec<&str> =
        others.iter().filter(|of| !alike(of) && show(of) == show(worst)).map(|of| of.label).collect();
    let tail = match all.iter().find(|of| of.label == REFERENCE) {
        Some(tail) if tail.label != best.label && !worst_of_all.contains(&tail.label) => {
            format!("; tail drop{} {}", if alike(&tail) { ", which may be as good," } else { "" }, show(tail))
        }
        _ => String::new(),
    };
    let how = if worst.label == last.label { "worst" } else { "surely worse" };
    Some(format!(
        "{begin} best with {}, {}{equal}{tail}; {how} with {}, {}.",
        best.label,
        show(best),
        worst_of_all.join(" and "),
        show(worst)
    ))
}
