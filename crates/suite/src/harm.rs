//! What a congestion control under test does to the others, beside what the control in the files does to them (Ware et
//! al., HotNets 2019; RFC 9743, section 5.2): harm is the share of what they had that they lose, 0 none, 1 all.

use crate::Plan;
use crate::plan::UNDER_TEST;
use queuewright_experiments::{Store, mean};
use queuewright_results::quality::harm::{of_less, of_more};
use std::collections::BTreeSet;
use std::fmt::Write;

/// What others can lose: how it ends below a group, its words, and whether more of it is better.
const LOST: [(&str, &str, bool); 5] = [
    ("goodput_bps", "goodput", true),
    ("sojourn_ms", "wait", false),
    ("transfers.fct_s.all.p95", "completion, p95", false),
    ("transfers.pages.plt_s.p50", "page load, median", false),
    ("datagrams.loss", "loss", false),
];
/// Below so much of what it had a group is starved (RFC 9743, section 5.2, gives no number).
const STARVED: f64 = 0.1;

/// A loss of a group in a scenario behind a discipline.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Harm {
    /// The scenario.
    pub scenario: String,
    /// The discipline.
    pub discipline: String,
    /// The group that loses.
    pub group: String,
    /// What it loses.
    pub of: &'static str,
    /// Mean over the seeds beside the file's control, and beside the one under test.
    pub before: f64,
    /// Beside the one under test.
    pub with: f64,
    /// The share that it loses, below 0 where it gains; mean over the seeds.
    pub harm: f64,
    /// The least and the most of any seed.
    pub range: [f64; 2],
}

/// Every harm in the runs of the same suite, with the files' control and with the one under test; the worst first.
pub fn harms(plan: &Plan, before: &Store, with: &Store) -> Vec<Harm> {
    let mut out = Vec::new();
    for (member, of) in plan.suite.members.iter().enumerate() {
        for discipline in &plan.disciplines {
            let groups: BTreeSet<String> = with
                .of(member, discipline)
                .flat_map(|r| r.measures.keys())
                .filter_map(|path| group_of(path))
                .collect();
            for group in groups.iter().filter(|g| g.split(' ').next() != Some(UNDER_TEST)) {
                for (end, words, more) in LOST {
                    let path = format!("group.{group}.{end}");
                    let pairs: Vec<(f64, f64)> = with
                        .of(member, discipline)
                        .filter_map(|r| {
                            let same = before.of(member, discipline).find(|b| b.seed == r.seed)?;
                            Some((*same.measures.get(&path)?, *r.measures.get(&path)?))
                        })
                        .collect();
                    out.extend(harm(&pairs, more).map(|(harm, range)| Harm {
                        scenario: of.name.clone(),
                        discipline: discipline.clone(),
                        group: group.clone(),
                        of: words,
                        before: mean(pairs.iter().map(|p| p.0)),
                        with: mean(pairs.iter().map(|p| p.1)),
                        harm,
                        range,
                    }));
                }
            }
        }
    }
    out.sort_by(|a, b| b.harm.total_cmp(&a.harm));
    out
}

/// Mean and ends over the seeds; none without a value.
fn harm(pairs: &[(f64, f64)], more: bool) -> Option<(f64, [f64; 2])> {
    let each: Vec<f64> = pairs
        .iter()
        .map(|(before, with)| if more { of_more(*before, *with) } else { of_less(*before, *with) })
        .filter(|h| h.is_finite())
        .collect();
    let ends = each.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[l, h], v| [l.min(*v), h.max(*v)]);
    (!each.is_empty()).then(|| (mean(each.iter().copied()), ends))
}

/// The group that a measure is of.
fn group_of(path: &str) -> Option<String> {
    path.strip_prefix("group.")?.strip_suffix(".goodput_bps").map(String::from)
}

/// What it comes to, in words and as a table of the worst.
pub fn page(harms: &[Harm], control: &str) -> String {
    let mut out = format!("# What {control} does to the others\n\n{}\n\n", words(harms, control));
    out += "| scenario | discipline | group | of | before | with | harm | over the seeds |\n|---|---|---|---|---:|---:|---:|---:|\n";
    for h in harms {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {:.4} | {:.4} | {:.2} | {:.2} to {:.2} |",
            h.scenario, h.discipline, h.group, h.of, h.before, h.with, h.harm, h.range[0], h.range[1]
        );
    }
    out
}

/// In a sentence or three: whether it harms more than the control in the files, where most, and whether anybody is starved.
pub fn words(harms: &[Harm], control: &str) -> String {
    let of_goodput: Vec<&Harm> = harms.iter().filter(|h| h.of == "goodput").collect();
    // For certain: with every seed.
    let more = of_goodput.iter().filter(|h| h.range[0] > 0.05).count();
    let less = of_goodput.iter().filter(|h| h.range[1] < -0.05).count();
    let starved: Vec<&&Harm> = of_goodput.iter().filter(|h| h.with < STARVED * h.before).collect();
    let mut out = format!(
        "Of {} groups beside it, {more} get more than 5 % less goodput with {control} than with the control in the files, with every seed, and {less} get more.",
        of_goodput.len()
    );
    if let Some(worst) = of_goodput.first().filter(|h| h.harm > 0.0) {
        let _ = write!(
            out,
            " The most is {:.0} %: {} in {} behind {}.",
            100.0 * worst.harm,
            worst.group,
            worst.scenario,
            worst.discipline
        );
    }
    let _ = match starved.as_slice() {
        [] => write!(out, " Nobody is starved (less than a tenth of what it had)."),
        some => write!(
            out,
            " Starved, with less than a tenth of what they had: {}.",
            some.iter()
                .map(|h| format!("{} in {} behind {}", h.group, h.scenario, h.discipline))
                .collect::<Vec<_>>()
                .join(", ")
        ),
    };
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harm_is_the_share_that_is_lost() {
        assert_eq!(harm(&[(10.0, 5.0), (10.0, 2.5)], true), Some((0.625, [0.5, 0.75])));
        // A wait that doubles loses half (with - before) / with.
        assert_eq!(harm(&[(5.0, 10.0)], false), Some((0.5, [0.5, 0.5])));
        assert_eq!(harm(&[], true), None);
    }

    #[test]
    fn it_is_said_who_is_starved() {
        let one = |group: &str, before: f64, with: f64| Harm {
            scenario: "s".into(),
            discipline: "droptail".into(),
            group: group.into(),
            of: "goodput",
            before,
            with,
            harm: of_more(before, with),
            range: [of_more(before, with); 2],
        };
        let said = words(&[one("cubic", 10.0, 0.5), one("web", 4.0, 5.0)], "vegas");
        assert!(
            said.starts_with("Of 2 groups beside it, 1 get more than 5 % less goodput with vegas")
                && said.contains("and 1 get more."),
            "{said}"
        );
        assert!(
            said.ends_with("Starved, with less than a tenth of what they had: cubic in s behind droptail."),
            "{said}"
        );
        assert!(
            words(&[one("web", 4.0, 5.0)], "vegas")
                .ends_with("Nobody is starved (less than a tenth of what it had).")
        );
    }
}
