//! What people notice of a suite's scenarios: calls, games, pages, video. A sentence each: with whom it is best, with whom worst, how sure that is.

use crate::plan::REFERENCE;
use crate::{Plan, Scores, Standing};
use queuewright_experiments::{Record, Store};
use queuewright_results::quality::student;
use std::collections::BTreeSet;

/// A measure that people notice.
struct Notice {
    kind: &'static str,
    /// How its path ends, and what a path begins with: it is of groups, or of the run.
    ends: &'static str,
    begins: &'static str,
    /// Is more of it better?
    more: bool,
    /// A difference that nobody notices.
    least: f64,
    /// What a run counts as that has none where others have one, and what that means.
    without: f64,
    never: &'static str,
    show: fn(f64) -> String,
}

const NOTICES: [Notice; 4] = [
    Notice {
        kind: "Calls",
        begins: "group.",
        ends: ".datagrams.calls.mos",
        more: true,
        least: 0.1,
        without: 1.0,
        never: "",
        show: |v| format!("MOS {v:.1}"),
    },
    Notice {
        kind: "Games",
        begins: "responsiveness.",
        ends: "qoo.game",
        more: true,
        least: 5.0,
        without: 0.0,
        never: "",
        show: |v| format!("QoO {v:.0} of 100"),
    },
    Notice {
        kind: "Pages",
        begins: "group.",
        ends: ".transfers.pages.plt_s.p50",
        more: false,
        least: 0.1,
        without: f64::INFINITY,
        never: "none came",
        show: |v| format!("{v:.2} s"),
    },
    Notice {
        kind: "Videos stand still",
        begins: "group.",
        ends: ".video.stalled_s",
        more: false,
        least: 1.0,
        without: f64::INFINITY,
        never: "none began",
        show: |v| format!("{v:.1} s"),
    },
];

/// A discipline's values, one for each scenario that somebody has a value in; of one scenario, one for each seed.
struct Of<'a> {
    label: &'a str,
    values: Vec<f64>,
}

impl Of<'_> {
    fn mean(&self) -> f64 {
        mean(self.values.iter().copied())
    }
}

/// Infinite where one of them is: of pages that never came.
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
    NOTICES.iter().filter_map(|notice| sentence(notice, store, scores, &compared, plan)).collect()
}

fn sentence(
    notice: &Notice,
    store: &Store,
    scores: &Scores,
    compared: &[&Standing],
    plan: &Plan,
) -> Option<String> {
    let is = |path: &str| path.starts_with(notice.begins) && path.ends_with(notice.ends);
    let has =
        |member: &usize| store.records().any(|r| r.case == *member && r.measures.keys().any(|path| is(path)));
    let members: Vec<usize> = scores.common.iter().copied().filter(has).collect();
    // Of each run, over all groups of its scenario that somebody has a value of.
    let each = |member: usize, label: &str| -> Vec<f64> {
        let of_member = store.records().filter(|r| r.case == member);
        let paths: BTreeSet<&String> =
            of_member.flat_map(|r| r.measures.keys()).filter(|path| is(path)).collect();
        let value = |r: &Record| {
            mean(paths.iter().map(|path| r.measures.get(*path).copied().unwrap_or(notice.without)))
        };
        store.of(member, label).map(value).collect()
    };
    // Of one scenario its seeds say how sure that is.
    let values = |label: &str| -> Vec<f64> {
        match members.as_slice() {
            [one] => each(*one, label),
            some => some.iter().map(|member| mean(each(*member, label).into_iter())).collect(),
        }
    };
    let mut all: Vec<Of<'_>> =
        compared.iter().map(|s| Of { label: &s.discipline, values: values(&s.discipline) }).collect();
    all.retain(|of| !of.values.is_empty());
    let badness = |of: &Of<'_>| if notice.more { -of.mean() } else { of.mean() };
    all.sort_by(|a, b| badness(a).total_cmp(&badness(b)));
    let [best, others @ ..] = all.as_slice() else { return None };
    let worst = others.last()?;
    // Nobody notices the difference, or another draw of scenarios may turn it round.
    let alike = |of: &&Of<'_>| {
        let each: Vec<f64> = of.values.iter().zip(&best.values).map(|(a, b)| a - b).collect();
        let [low, high] = student::interval(&each);
        let sure = low > 0.0 || high < 0.0 || of.mean().is_finite() != best.mean().is_finite();
        !sure || (of.mean() - best.mean()).abs() < notice.least
    };
    let show = |of: &Of<'_>| match of.values.iter().filter(|value| !value.is_finite()).count() {
        0 => (notice.show)(of.mean()),
        _ if members.len() == 1 => format!("where {}", notice.never),
        n => format!("where {} in {n} of them", notice.never),
    };
    let scenarios = match members.len() {
        1 => format!("in {}", plan.suite.members[members[0]].name),
        n => format!("mean of {n} scenarios"),
    };
    let begin = format!("**{}** ({scenarios}):", notice.kind);
    let equals: Vec<&str> = others.iter().filter(alike).map(|of| of.label).collect();
    if equals.len() == others.len() {
        return Some(format!(
            "{begin} {} to {}; none is sure to be noticeably better.",
            show(best),
            show(worst)
        ));
    }
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
