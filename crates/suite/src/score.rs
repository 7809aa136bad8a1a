//! What disciplines are worth on a suite.
//!
//! In each scenario a discipline has a share: its measure (mean over the seeds) over that of the best there, 1 at best. Its score is the geometric
//! mean of the shares, first over the scenarios of a section, then over the sections: of ratios it is the mean in which who is ahead does not
//! depend on who else is there (Fleming and Wallace, CACM 29, 1986), as the best cancels out. Disciplines are compared over the scenarios and
//! seeds that all of them have. Intervals are of the bootstrap: sections are drawn with replacement, and scenarios in them, a thousand times, the
//! same for all, so that two can be compared draw by draw. What is best stays that of the whole sample, and seeds are in the means: scenarios
//! differ by their noise already.

use crate::{Error, Plan};
use queuewright_experiments::{Record, Store};
use queuewright_results::measures::is;
use queuewright_results::quality::nearest_rank;
use rand_pcg::Pcg32;
use rand_pcg::rand_core::Rng;
use std::collections::{BTreeMap, BTreeSet};

/// Draws of the bootstrap.
pub(crate) const DRAWS: usize = 1000;
/// A smaller share counts as this one: a scenario in which a discipline has nothing is as bad as one in which it has a thousandth.
const LEAST: f64 = 1e-3;

/// What a discipline is worth.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Standing {
    /// Its label.
    pub discipline: String,
    /// Geometric mean of its measure over the best's, 0 to 1.
    pub score: f64,
    /// 95 % interval of the score.
    pub interval: [f64; 2],
    /// 95 % interval of its score over that of the first, draw by draw; NaN: it is not compared.
    pub of_first: [f64; 2],
    /// Share of the bootstrap's draws in which it is first; NaN: it is not compared.
    pub first: f64,
    /// Mean of its place among those compared, 1 at best; equals share a place; NaN: it is not compared.
    pub rank: f64,
    /// Mean of the tenth of the scenarios in which it is worst (one at least).
    pub worst_tenth: f64,
    /// The scenario in which it is worst, by its place.
    pub worst: usize,
    /// Scenarios that its score is of.
    pub scenarios: usize,
    /// It has the scenarios that the score of the others is of.
    pub compared: bool,
}

/// The scores of all disciplines.
#[derive(Debug, Clone)]
pub struct Scores {
    /// Those that are compared first, of these the best.
    pub standings: Vec<Standing>,
    /// Of each scenario, each discipline's measure (mean over the seeds) over the best's; NaN: none.
    pub of_member: Vec<Vec<f64>>,
    /// The scenarios over which disciplines are compared, by their places.
    pub common: Vec<usize>,
    /// Scenarios of which nobody has the measure.
    pub nobody: Vec<usize>,
    /// Runs of the suite that are not there.
    pub missing: usize,
    /// Of each discipline, the logarithm of its score in each draw; of others than those compared nothing.
    drawn: Vec<Vec<f64>>,
}

/// Values of a measure, by scenario, discipline and seed; NaN: no run.
type Values = Vec<Vec<Vec<f64>>>;

/// What of a suite decides its scores.
struct Rules<'a> {
    /// Each scenario's section; none: it is in no score.
    sections: Vec<Option<String>>,
    less: bool,
    labels: &'a [String],
}

impl Scores {
    /// Of the runs that are there.
    ///
    /// # Errors
    /// When no run has the measure, or shares of it say nothing.
    pub fn of(plan: &Plan, store: &Store) -> Result<Scores, Error> {
        let about = &plan.suite.about;
        let names = about.score();
        let wrong = |why: String| Error(format!("score = {names:?}: {why}"));
        let rules = Rules {
            sections: plan.suite.members.iter().map(|m| about.section(&m.name)).collect(),
            less: about.less,
            labels: &plan.disciplines,
        };
        let values = values(plan, store, names, about.less);
        let mut scores = scored(&values, &rules)
            .map_err(|(member, why)| wrong(format!("in {} {why}", plan.suite.members[member].name)))?;
        if scores.standings.iter().all(|s| s.scenarios == 0) {
            return Err(wrong(format!("no run of {} has it", plan.suite.name)));
        }
        scores.missing = plan.pending(store)?.len();
        Ok(scores)
    }

    /// The scenarios that a score is of.
    pub(crate) fn members_of(&self, standing: &Standing, plan: &Plan) -> Vec<usize> {
        if standing.compared {
            return self.common.clone();
        }
        let i = plan.disciplines.iter().position(|d| *d == standing.discipline);
        let known = |m: &usize| i.is_some_and(|i| self.of_member[*m][i].is_finite());
        let counts = |m: &usize| plan.suite.about.section(&plan.suite.members[*m].name).is_some();
        (0..self.of_member.len()).filter(|m| counts(m) && known(m)).collect()
    }

    /// The 95 % interval of the score of one discipline over that of another, by their places, draw by draw; NaN where they are not compared.
    pub(crate) fn over(&self, one: usize, other: usize) -> [f64; 2] {
        interval(self.drawn[one].iter().zip(&self.drawn[other]).map(|(a, b)| (a - b).exp()).collect())
    }
}

/// The measure of every run. Who has none in a scenario where others have one has the worst: no page came, say.
fn values(plan: &Plan, store: &Store, names: &[String], less: bool) -> Values {
    let seeds: Vec<u64> = store.records().map(|r| r.seed).collect::<BTreeSet<_>>().into_iter().collect();
    let worst = if less { f64::INFINITY } else { 0.0 };
    let of_member = |member: usize| {
        let paths: BTreeSet<&String> =
            store.records().filter(|r| r.case == member).flat_map(|r| r.measures.keys()).collect();
        let of_name =
            |name: &String| -> Vec<&String> { paths.iter().copied().filter(|path| is(name, path)).collect() };
        let of_paths = names.iter().map(of_name).find(|of| !of.is_empty()).unwrap_or_default();
        let value = |record: &Record| {
            let each = of_paths.iter().map(|path| record.measures.get(*path).copied().unwrap_or(worst));
            let value = geometric(each);
            // Of nothing and without bound.
            if value.is_nan() && !of_paths.is_empty() { worst } else { value }
        };
        let of_label = |label: &String| {
            let mut of_seed = vec![f64::NAN; seeds.len()];
            for record in store.of(member, label) {
                if let Ok(at) = seeds.binary_search(&record.seed) {
                    of_seed[at] = value(record);
                }
            }
            of_seed
        };
        plan.disciplines.iter().map(of_label).collect()
    };
    (0..plan.scenarios.len()).map(of_member).collect()
}

/// The geometric mean; NaN of none.
fn geometric(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut n) = (0.0, 0.0);
    for value in values {
        (sum, n) = (sum + value.ln(), n + 1.0);
    }
    (sum / n).exp()
}

/// The arithmetic mean of all, infinite ones, too; NaN of none.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.fold((0.0, 0.0), |(sum, n), v| (sum + v, n + 1.0));
    sum / n
}

/// Scenarios by section.
type Sections = Vec<Vec<usize>>;

/// The mean over these sections of the means over their scenarios.
fn over(sections: &Sections, of: impl Fn(usize) -> f64) -> f64 {
    mean(sections.iter().map(|members| mean(members.iter().map(|m| of(*m)))))
}

/// Scores, or a scenario in which shares say nothing, and why.
fn scored(values: &Values, rules: &Rules<'_>) -> Result<Scores, (usize, &'static str)> {
    let labels = rules.labels;
    let seeds: Vec<Vec<usize>> = values.iter().map(|of| common_seeds(of)).collect();
    let mut of_member = Vec::new();
    for (member, of) in values.iter().enumerate() {
        let means: Vec<f64> =
            of.iter().map(|values| mean(seeds[member].iter().map(|s| values[*s]))).collect();
        of_member.push(shares(&means, rules.less).map_err(|why| (member, why))?);
    }
    let known = |member: usize, i: usize| of_member[member][i].is_finite();
    let counts: Vec<usize> = (0..values.len()).filter(|m| rules.sections[*m].is_some()).collect();
    let nobody = counts.iter().copied().filter(|m| (0..labels.len()).all(|i| !known(*m, i))).collect();
    let scenarios_of = |i: usize| -> Vec<usize> { counts.iter().copied().filter(|m| known(*m, i)).collect() };
    let (compared, common) = compared(&(0..labels.len()).map(scenarios_of).collect::<Vec<_>>());
    let sections_of = |members: &[usize]| -> Sections {
        let mut by_name: BTreeMap<&String, Vec<usize>> = BTreeMap::new();
        for member in members {
            if let Some(section) = &rules.sections[*member] {
                by_name.entry(section).or_default().push(*member);
            }
        }
        by_name.into_values().collect()
    };
    let log = |member: usize, i: usize| of_member[member][i].max(LEAST).ln();
    // Of a single scenario its seeds are drawn.
    let of_seeds = |member: usize, i: usize, chosen: &[usize]| {
        let of = &values[member];
        let whole = |i: usize| mean(seeds[member].iter().map(|s| of[i][*s]));
        let drawn = mean(chosen.iter().map(|s| of[i][seeds[member][*s]]));
        let moved = if rules.less { whole(i) / drawn } else { drawn / whole(i) };
        log(member, i) + if moved.is_finite() && moved > 0.0 { moved.ln() } else { 0.0 }
    };
    let draws = |members: &[usize], i: usize| -> Vec<f64> {
        let mut random = Pcg32::new(0x5eed, 0x5c07e);
        let sections = sections_of(members);
        let mut draw = |n: usize| -> Vec<usize> { (0..n).map(|_| below(&mut random, n)).collect() };
        let one = |_| match members {
            [] => f64::NAN,
            [member] => of_seeds(*member, i, &draw(seeds[*member].len())),
            _ => {
                let chosen: Vec<usize> = draw(sections.len());
                mean(chosen.into_iter().map(|s| {
                    let members = &sections[s];
                    mean(draw(members.len()).into_iter().map(|m| log(members[m], i)))
                }))
            }
        };
        (0..DRAWS).map(one).collect()
    };
    let drawn: Vec<Vec<f64>> = (0..labels.len())
        .map(|i| if compared.contains(&i) { draws(&common, i) } else { vec![f64::NAN; DRAWS] })
        .collect();
    let firsts = firsts(&drawn, &compared);
    let standing = |i: usize| {
        let is_compared = compared.contains(&i);
        let members = if is_compared { common.clone() } else { scenarios_of(i) };
        let sections = sections_of(&members);
        let of_own = if is_compared { drawn[i].clone() } else { draws(&members, i) };
        let place = |member: usize| {
            let own = of_member[member][i];
            let others = compared.iter().map(|j| of_member[member][*j]);
            let above = others.clone().filter(|s| *s > own).count() as f64;
            above + (others.filter(|s| *s == own).count() as f64 + 1.0) / 2.0
        };
        let mut worst = members.clone();
        worst.sort_by(|a, b| of_member[*a][i].total_cmp(&of_member[*b][i]));
        Standing {
            discipline: labels[i].clone(),
            score: over(&sections, |m| log(m, i)).exp(),
            interval: interval(of_own).map(f64::exp),
            of_first: [f64::NAN; 2],
            first: firsts[i],
            rank: if is_compared { over(&sections, place) } else { f64::NAN },
            worst_tenth: mean(worst[..worst.len().div_ceil(10)].iter().map(|m| log(*m, i))).exp(),
            worst: worst.first().copied().unwrap_or(0),
            scenarios: members.len(),
            compared: is_compared,
        }
    };
    let mut order: Vec<(usize, Standing)> = (0..labels.len()).map(|i| (i, standing(i))).collect();
    order.sort_by(|a, b| b.1.score.total_cmp(&a.1.score));
    order.sort_by_key(|(_, s)| (!s.compared, std::cmp::Reverse(if s.compared { 0 } else { s.scenarios })));
    let mut scores = Scores { standings: Vec::new(), of_member, common, nobody, missing: 0, drawn };
    let first = order.first().map_or(0, |(i, _)| *i);
    scores.standings =
        order.into_iter().map(|(i, s)| Standing { of_first: scores.over(i, first), ..s }).collect();
    Ok(scores)
}

/// The seeds that all who ran a scenario have.
fn common_seeds(of: &[Vec<f64>]) -> Vec<usize> {
    let ran: Vec<&Vec<f64>> = of.iter().filter(|values| values.iter().any(|v| !v.is_nan())).collect();
    let seeds = of.first().map_or(0, Vec::len);
    (0..seeds).filter(|s| !ran.is_empty() && ran.iter().all(|values| !values[*s].is_nan())).collect()
}

/// Who is compared, and over which scenarios, of the scenarios that each has. Who shares half of them with the others is, begun with who has
/// most; all that are compared have the same.
fn compared(scenarios: &[Vec<usize>]) -> (Vec<usize>, Vec<usize>) {
    let mut order: Vec<usize> = (0..scenarios.len()).collect();
    order.sort_by_key(|i| std::cmp::Reverse(scenarios[*i].len()));
    let Some(most) = order.first().map(|i| &scenarios[*i]).filter(|of| !of.is_empty()) else {
        return (Vec::new(), Vec::new());
    };
    let (mut all, mut common) = (Vec::new(), most.clone());
    for i in order {
        let shared: Vec<usize> = common.iter().copied().filter(|m| scenarios[i].contains(m)).collect();
        if 2 * shared.len() >= most.len() {
            all.push(i);
            common = shared;
        }
    }
    all.sort_unstable();
    (all, common)
}

/// Of each discipline the share of the draws in which it is first, equals each their part; NaN where there is nobody to compare it with.
fn firsts(drawn: &[Vec<f64>], compared: &[usize]) -> Vec<f64> {
    let mut firsts = vec![f64::NAN; drawn.len()];
    if compared.len() < 2 {
        return firsts;
    }
    compared.iter().for_each(|i| firsts[*i] = 0.0);
    let in_draw = |draw: usize| {
        let of = |i: usize| drawn[i][draw];
        let best = compared.iter().map(|i| of(*i)).fold(f64::NEG_INFINITY, f64::max);
        compared.iter().copied().filter(|i| of(*i) == best).collect::<Vec<usize>>()
    };
    for equals in (0..DRAWS).map(in_draw) {
        equals.iter().for_each(|i| firsts[*i] += 1.0 / equals.len() as f64);
    }
    firsts.into_iter().map(|of| of / DRAWS as f64).collect()
}

/// Of each discipline in a scenario, its mean over the best one; NaN without one. Or why that says nothing.
fn shares(means: &[f64], less: bool) -> Result<Vec<f64>, &'static str> {
    let known = means.iter().copied().filter(|m| !m.is_nan());
    let best = known.clone().reduce(if less { f64::min } else { f64::max }).unwrap_or(f64::NAN);
    let worst = known.reduce(if less { f64::max } else { f64::min }).unwrap_or(f64::NAN);
    if best < 0.0 || worst < 0.0 {
        return Err("it falls below 0, of which there are no shares");
    }
    // All of them have the same: equals, also where that is nothing.
    if best == worst {
        return Ok(means.iter().map(|m| if m.is_nan() { f64::NAN } else { 1.0 }).collect());
    }
    if best == 0.0 {
        return Err("the best has none of it, of which others have no share");
    }
    Ok(means.iter().map(|m| if less { best / m } else { m / best }).collect())
}

/// A whole number below `n`, each as likely.
pub(crate) fn below(random: &mut Pcg32, n: usize) -> usize {
    ((u64::from(random.next_u32()) * n as u64) >> 32) as usize
}

/// The 95 % interval of what the bootstrap has drawn; NaN of nothing.
pub(crate) fn interval(mut drawn: Vec<f64>) -> [f64; 2] {
    drawn.retain(|v| v.is_finite());
    drawn.sort_by(f64::total_cmp);
    [0.025, 0.975].map(|share| nearest_rank(&drawn, share))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: f64 = f64::NAN;

    fn labels(of: &[&str]) -> Vec<String> {
        of.iter().map(|s| s.to_string()).collect()
    }

    fn alone(n: usize) -> Vec<Option<String>> {
        (0..n).map(|i| Some(format!("{i:03}"))).collect()
    }

    /// Each scenario a section of its own, more is better.
    fn of(values: &Values, names: &[&str]) -> Scores {
        let names = labels(names);
        let rules = Rules { sections: alone(values.len()), less: false, labels: &names };
        scored(values, &rules).expect("shares")
    }

    fn order(scores: &Scores) -> Vec<&str> {
        scores.standings.iter().map(|s| s.discipline.as_str()).collect()
    }

    /// Values as if measured: 1 and some noise, the same every time.
    fn noisy(random: &mut Pcg32, sigma: f64) -> f64 {
        let sum: f64 = (0..12).map(|_| f64::from(random.next_u32()) / f64::from(u32::MAX)).sum();
        1.0 + sigma * (sum - 6.0)
    }

    /// By hand: in the first scenario a is the best with 4, b has half of it; in the second b, with 2, and a a quarter of that.
    #[test]
    fn scores_are_geometric_means_of_shares_of_the_best() {
        let scores = of(
            &vec![vec![vec![3.0, 5.0], vec![2.0, 2.0]], vec![vec![0.5, 0.5], vec![1.0, 3.0]]],
            &["a", "b"],
        );
        assert_eq!(scores.of_member, [[1.0, 0.5], [0.25, 1.0]]);
        let [b, a] = scores.standings.as_slice() else { panic!("two") };
        assert_eq!((b.discipline.as_str(), b.rank, b.worst), ("b", 1.5, 0));
        assert!((b.score - 0.5f64.sqrt()).abs() < 1e-12 && (b.worst_tenth - 0.5).abs() < 1e-12, "{b:?}");
        assert!((a.score - 0.5).abs() < 1e-12 && a.worst == 1, "{a:?}");
        // The ends of the bootstrap: one scenario twice.
        let near = |a: [f64; 2], b: [f64; 2]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(near(b.interval, [0.5, 1.0]) && near(a.interval, [0.25, 1.0]), "{b:?} {a:?}");
        assert!((a.first + b.first - 1.0).abs() < 1e-9, "{b:?} {a:?}");
        assert!(a.of_first[0] < 1.0 && a.of_first[1] > 1.0, "it is better in one of two: {a:?}");
    }

    #[test]
    fn less_may_be_better_and_what_has_no_value_has_no_place() {
        let names = labels(&["a", "b", "c"]);
        let rules = Rules { sections: alone(1), less: true, labels: &names };
        let scores = scored(&vec![vec![vec![10.0], vec![20.0], vec![NONE]]], &rules).expect("shares");
        let all: Vec<(f64, usize)> = scores.standings.iter().map(|s| (s.score, s.scenarios)).collect();
        assert!(order(&scores) == ["a", "b", "c"] && (all[1].0 - 0.5).abs() < 1e-12, "{all:?}");
        assert_eq!((all[0].1, all[1].1, all[2].1), (1, 1, 0));
    }

    /// The mean of shares has b ahead of two, .95 to .92, and a of three, .54 to .50.
    #[test]
    fn who_is_ahead_does_not_depend_on_who_else_is_there() {
        let two = of(&vec![vec![vec![1.0], vec![0.9]], vec![vec![0.5], vec![0.6]]], &["a", "b"]);
        let three = of(
            &vec![vec![vec![1.0], vec![0.9], vec![0.1]], vec![vec![0.5], vec![0.6], vec![6.0]]],
            &["a", "b", "c"],
        );
        assert_eq!(order(&two), ["b", "a"]);
        let of_three: Vec<&str> = order(&three).into_iter().filter(|l| *l != "c").collect();
        assert_eq!(of_three, ["b", "a"]);
    }

    /// As in the data centre's suite: who is in two of seven scenarios is no rival, and who is alone is the best of nothing.
    #[test]
    fn compared_are_those_who_share_most_scenarios() {
        let all: Vec<usize> = (0..7).collect();
        assert_eq!(compared(&[vec![5, 6], all.clone(), vec![5], vec![0, 1, 2, 3, 4, 6]]), {
            (vec![1, 3], vec![0, 1, 2, 3, 4, 6])
        });
        assert_eq!(compared(&[vec![1, 2], vec![2, 3]]), (vec![0, 1], vec![2]));
        assert_eq!(compared(&[vec![], vec![]]), (vec![], vec![]));
        // The last is in one scenario alone, where it has the most.
        let values = vec![
            vec![vec![1.0], vec![0.9], vec![5.0]],
            vec![vec![1.0], vec![0.9], vec![NONE]],
            vec![vec![1.0], vec![0.9], vec![NONE]],
        ];
        let scores = of(&values, &["a", "b", "c"]);
        assert_eq!((order(&scores), scores.common.as_slice()), (vec!["a", "b", "c"], &[0, 1, 2][..]));
        assert_eq!((scores.standings[0].first, scores.standings[1].first), (1.0, 0.0));
        let c = &scores.standings[2];
        assert!(c.score == 1.0 && c.first.is_nan() && !c.compared && c.of_first[0].is_nan(), "{c:?}");
        // Without a and b there is nobody to compare it with.
        let alone = of(&vec![vec![vec![1.0], vec![NONE]], vec![vec![2.0], vec![NONE]]], &["a", "b"]);
        assert!(alone.standings[0].first.is_nan(), "{alone:?}");
    }

    /// One that is better in every run is first in every draw, and a copy of it shares the place and is its equal.
    #[test]
    fn who_is_always_better_is_first_for_certain() {
        let own: Vec<Vec<f64>> = (0..7).map(|m| (0..3).map(|s| 1.0 + f64::from(m * s)).collect()).collect();
        let values = |others: f64| -> Values {
            own.iter().map(|of| vec![of.clone(), of.iter().map(|v| v * others).collect()]).collect()
        };
        let worse = of(&values(0.9), &["a", "b"]);
        assert_eq!((worse.standings[0].first, worse.standings[0].interval), (1.0, [1.0, 1.0]));
        let b = &worse.standings[1];
        assert!((b.score - 0.9).abs() < 1e-12 && (b.of_first[1] - 0.9).abs() < 1e-12, "{b:?}");
        let same = of(&values(1.0), &["a", "b"]);
        assert_eq!((same.standings[0].first, same.standings[1].rank), (0.5, 1.5));
        assert_eq!(same.standings[1].of_first, [1.0, 1.0]);
    }

    /// Fifteen scenarios of one test are one voice beside three others, and not fifteen independent draws.
    #[test]
    fn a_section_counts_as_one() {
        let mut values: Values = vec![vec![vec![1.0], vec![0.5]]; 15];
        values.extend(vec![vec![vec![0.5], vec![1.0]]; 3]);
        let mut sections = vec![Some("6.2".to_string()); 15];
        sections.extend(["7.2", "8.2", "9.1"].map(|s| Some(s.to_string())));
        let names = labels(&["a", "b"]);
        let score = |sections: Vec<Option<String>>| {
            scored(&values, &Rules { sections, less: false, labels: &names }).expect("shares")
        };
        let (by_section, by_scenario) = (score(sections.clone()), score(alone(18)));
        assert_eq!((order(&by_section), order(&by_scenario)), (vec!["b", "a"], vec!["a", "b"]));
        assert!((by_section.standings[0].score - 0.5f64.powf(0.25)).abs() < 1e-12);
        // Half of it in three of four sections: by hand sd = ln 2 * sqrt(3) / 4 and its root of 4 as much.
        let width = |s: &Scores| s.standings[0].interval.map(f64::ln).into_iter().fold(0.0, |a, b| b - a);
        assert!(width(&by_section) > 1.5 * width(&by_scenario), "{by_section:?}");
        // What is in no score is shown, and counts nowhere.
        sections[0] = None;
        let left_out = score(sections);
        assert_eq!((left_out.common.len(), left_out.of_member[0].as_slice()), (17, &[1.0, 0.5][..]));
    }

    /// 21 equals with noise: a best that is drawn anew is too good, and 20 of them lay outside their own intervals.
    #[test]
    fn scores_lie_in_their_own_intervals() {
        let mut random = Pcg32::new(1, 2);
        let values: Values = (0..46)
            .map(|_| (0..21).map(|_| (0..3).map(|_| noisy(&mut random, 0.05)).collect()).collect())
            .collect();
        let names: Vec<String> = (0..21).map(|i| i.to_string()).collect();
        let scores =
            scored(&values, &Rules { sections: alone(46), less: false, labels: &names }).expect("shares");
        let inside = |s: &&Standing| (s.interval[0]..s.interval[1]).contains(&s.score);
        assert_eq!(scores.standings.iter().filter(inside).count(), 21);
        // By their noise half of all may be told from the first, who is the luckiest; with equals nobody can.
        let same: Values = values.iter().map(|of| vec![of[0].clone(); 21]).collect();
        let equals =
            scored(&same, &Rules { sections: alone(46), less: false, labels: &names }).expect("shares");
        assert!(equals.standings.iter().all(|s| s.of_first == [1.0, 1.0] && s.rank == 11.0), "{equals:?}");
    }

    /// Of one scenario there is nothing to draw but its seeds.
    #[test]
    fn a_single_scenario_is_drawn_by_its_seeds() {
        let scores = of(&vec![vec![vec![1.0, 3.0, 2.0], vec![1.0, 1.0, 1.0]]], &["a", "b"]);
        let [a, b] = scores.standings.as_slice() else { panic!("two") };
        assert!(a.interval[0] < 0.8 && a.interval[1] > 1.2 && b.interval == [0.5, 0.5], "{scores:?}");
    }

    /// Who has one seed of three is compared on that one, and not with others' means of all.
    #[test]
    fn seeds_that_somebody_lacks_do_not_count() {
        let values = vec![vec![vec![0.2, 9.0, 9.0], vec![0.4, NONE, NONE]], vec![vec![1.0; 3], vec![1.0; 3]]];
        let scores = of(&values, &["a", "b"]);
        assert_eq!(scores.of_member, [[0.5, 1.0], [1.0, 1.0]]);
        assert_eq!(order(&scores), ["b", "a"]);
        // Nobody has run the second scenario with a seed that the other has.
        let apart = vec![vec![vec![0.2, NONE], vec![NONE, 0.4]], vec![vec![1.0, 1.0], vec![1.0, 0.5]]];
        assert_eq!(of(&apart, &["a", "b"]).common, [1]);
    }

    #[test]
    fn what_has_no_shares_is_refused() {
        assert_eq!(shares(&[0.0, 0.0], true), Ok(vec![1.0, 1.0]));
        assert_eq!(shares(&[2.0, 0.0], false), Ok(vec![1.0, 0.0]));
        assert_eq!(shares(&[2.0, f64::INFINITY, 4.0], true), Ok(vec![1.0, 0.0, 0.5]));
        assert!(shares(&[0.0, 1e-9], true).expect_err("no share of none").starts_with("the best has none"));
        assert!(shares(&[-1.0, -2.0], false).expect_err("below 0").starts_with("it falls below 0"));
    }

    #[test]
    fn a_star_is_any_group() {
        assert!(is("power", "power") && !is("power", "powers"));
        let star = "group.*.transfers.fct_s.all.p95";
        assert!(
            is(star, "group.cubic mice.transfers.fct_s.all.p95")
                && !is(star, "group.transfers.fct_s.all.p95")
        );
        assert!((geometric([2.0, 8.0].into_iter()) - 4.0).abs() < 1e-12);
    }
}
