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
        never: "few or none came",
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
    if v < 0.1 { format!("{:.1} ms", 1e3 * v) } else { format!("{v:.2} s") }
}

/// A discipline's runs of each scenario that somebody has a value in, by seed.
struct Of<'a> {
    label: &'a str,
    scenarios: Vec<Vec<f64>>,
}

impl Of<'_> {
    /// Scenarios of which most runs have nothing.
    fn without(&self) -> usize {
        self.scenarios.iter().filter(|runs| usual(runs).is_none()).count()
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

/// How far one is from another in the scenarios that both have: the mean, and half of its interval that leaves so much error. The scenarios are
/// given; what chance does is seen by their seeds, which are the same for both.
fn apart(one: &Of<'_>, other: &Of<'_>, error: f64) -> [f64; 2] {
    let (mut sum, mut variance, mut n, mut freedom) = (0.0, 0.0, 0.0, 0);
    for (a, b) in one.scenarios.iter().zip(&other.scenarios) {
        let each: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).filter(|d| d.is_finite()).collect();
        if each.is_empty() {
            continue;
        }
        let (m, of) = (each.len() as f64, mean(each.iter().copied()));
        (sum, n) = (sum + of, n + 1.0);
        if each.len() > 1 {
            freedom += each.len() - 1;
            variance += each.iter().map(|d| (d - of).powi(2)).sum::<f64>() / (m - 1.0) / m;
        }
    }
    // Student's t of so many values has one degree of freedom less.
    [sum / n, student::t(freedom + 1, error) * variance.sqrt() / n]
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

/// Of each of these disciplines a value for each run of a scenario, over all groups of which a run has one; none: no run has.
fn of_member(notice: &Notice, store: &Store, member: usize, labels: &[&str]) -> Option<Vec<Vec<f64>>> {
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
    let came = |runs: &[&Record], group: &str| {
        notice.came.map_or(0.0, |end| mean(runs.iter().map(|r| at(r, group, end).unwrap_or(0.0))))
    };
    let most = |group: &&str| records.iter().map(|runs| came(runs, group)).fold(0.0, f64::max);
    let groups: Vec<(&str, f64)> = groups.iter().map(|group| (*group, most(group))).collect();
    let value = |runs: &[&Record], r: &Record| {
        mean(groups.iter().map(|(group, most)| match (notice.of)(&|end| at(r, group, end)) {
            Some(value) if came(runs, group) >= FEW * most => value,
            _ => notice.without,
        }))
    };
    Some(records.iter().map(|runs| runs.iter().map(|r| value(runs, r)).collect()).collect())
}

fn sentence(notice: &Notice, store: &Store, scores: &Scores, labels: &[&str], plan: &Plan) -> Option<String> {
    let found = scores.common.iter().filter_map(|m| Some((*m, of_member(notice, store, *m, labels)?)));
    let (members, runs): (Vec<usize>, Vec<Vec<Vec<f64>>>) = found.unzip();
    if members.is_empty() {
        return None;
    }
    let scale = |v: &f64| if notice.times { v.ln() } else { *v };
    let of = |i: usize| runs.iter().map(|of| of[i].iter().map(scale).collect()).collect();
    let mut all: Vec<Of<'_>> =
        labels.iter().enumerate().map(|(i, label)| Of { label, scenarios: of(i) }).collect();
    let badness = |of: &Of<'_>| if notice.more { -of.mean() } else { of.mean() };
    all.sort_by(|a, b| a.without().cmp(&b.without()).then(badness(a).total_cmp(&badness(b))));
    let [best, others @ ..] = all.as_slice() else { return None };
    // Of all who are compared with the best, one is taken for worse by chance in a twentieth of the cases (Bonferroni).
    let error = 0.05 / others.len() as f64;
    let value = |of: &Of<'_>| if notice.times { of.mean().exp() } else { of.mean() };
    let least = if notice.times { (1.0 + UNNOTICED_SHARE).ln() } else { notice.least };
    let alike = |of: &&Of<'_>| {
        let [difference, half_width] = apart(of, best, error);
        let sure = difference.abs() - half_width > least && (value(of) - value(best)).abs() > notice.least;
        of.without() <= best.without() && !sure
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
        let worst = others.last()?;
        return Some(format!(
            "{begin} {} to {}; none is sure to be noticeably better.",
            show(best),
            show(worst)
        ));
    };
    let equal = match equals.as_slice() {
        [] => String::new(),
        [one] => format!(" ({one} may be as good)"),
        [some @ .., last] if some.len() < 3 => format!(" ({} and {last} may be as good)", some.join(", ")),
        some => format!(" ({} others may be as good)", some.len()),
    };
    let tail = match all.iter().find(|of| of.label == REFERENCE) {
        Some(tail) if tail.label != worst.label && tail.label != best.label => {
            format!("; tail drop {}", show(tail))
        }
        _ => String::new(),
    };
    Some(format!(
        "{begin} best with {}, {}{equal}{tail}; worst with {}, {}.",
        best.label,
        show(best),
        worst.label,
        show(worst)
    ))
}
