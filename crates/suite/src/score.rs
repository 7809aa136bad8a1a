//! What disciplines are worth on a suite.
//!
//! In each scenario a run's score is its measure over that of the best discipline there (the mean over the seeds), 1 at
//! best: a scenario where everything is slow counts as much as another. A discipline's score is the mean over the
//! scenarios. Its interval is of the bootstrap: scenarios are drawn with replacement, and in each of them seeds, the
//! same for all disciplines, a thousand times; 95 % of what comes lies in it.

use crate::{Error, Plan};
use queuewright_experiments::{Store, mean};
use queuewright_results::quality::nearest_rank;
use rand_pcg::Pcg32;
use rand_pcg::rand_core::Rng;
use std::collections::BTreeSet;

/// Draws of the bootstrap.
pub(crate) const DRAWS: usize = 1000;

/// What a discipline is worth.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Standing {
    /// Its label.
    pub discipline: String,
    /// Mean over the scenarios of its measure over the best's, 0 to 1.
    pub score: f64,
    /// 95 % interval of the score.
    pub interval: [f64; 2],
    /// Share of the bootstrap's draws in which it is first; NaN: it is not in as many scenarios as others.
    pub first: f64,
    /// Mean over the scenarios of its place among all, 1 at best; equals share a place.
    pub rank: f64,
    /// Mean of the tenth of the scenarios in which it is worst (one at least).
    pub worst_tenth: f64,
    /// The scenario in which it is worst, by its place.
    pub worst: usize,
    /// Scenarios in which it has a value.
    pub scenarios: usize,
}

/// The scores of all disciplines.
#[derive(Debug, Clone)]
pub struct Scores {
    /// Those with a value in most scenarios first, of these the best.
    pub standings: Vec<Standing>,
    /// Of each scenario, the mean over the seeds of each discipline's measure over the best's; NaN: none.
    pub of_member: Vec<Vec<f64>>,
}

/// Values of a measure, by scenario, discipline and seed; NaN: none.
type Values = Vec<Vec<Vec<f64>>>;

impl Scores {
    /// Of the runs that are there.
    ///
    /// # Errors
    /// When no run has the measure.
    pub fn of(plan: &Plan, store: &Store) -> Result<Scores, Error> {
        let name = plan.suite.about.score();
        let seeds: BTreeSet<u64> = store.records().map(|r| r.seed).collect();
        let mut values: Values = Vec::new();
        for member in 0..plan.scenarios.len() {
            values.push(Vec::new());
            for label in &plan.disciplines {
                let mut of_seed = vec![f64::NAN; seeds.len()];
                for record in store.of(member, label) {
                    if let (Some(at), Some(value)) =
                        (seeds.iter().position(|s| *s == record.seed), record.measures.get(name))
                    {
                        of_seed[at] = *value;
                    }
                }
                values[member].push(of_seed);
            }
        }
        let scores = scored(&values, plan.suite.about.less, &plan.disciplines);
        if scores.standings.iter().all(|s| s.scenarios == 0) {
            return Err(Error(format!("score = {name:?}: no run of {} has this measure", plan.suite.name)));
        }
        Ok(scores)
    }
}

fn scored(values: &Values, less: bool, labels: &[String]) -> Scores {
    let seeds = values.first().and_then(|m| m.first()).map_or(0, Vec::len);
    let every: Vec<usize> = (0..seeds).collect();
    let of_member: Vec<Vec<f64>> = values.iter().map(|of| shares(of, &every, less)).collect();
    // Who is in some scenarios alone is compared with nobody, and first of nothing.
    let scenarios = |i: usize| of_member.iter().filter(|shares| shares[i].is_finite()).count();
    let most = (0..labels.len()).map(scenarios).max().unwrap_or(0);
    let compared: Vec<usize> = (0..labels.len()).filter(|i| scenarios(*i) == most).collect();
    let mut random = Pcg32::new(0x5eed, 0x5c07e);
    let mut drawn: Vec<Vec<f64>> = vec![Vec::new(); labels.len()];
    let mut firsts = vec![0.0; labels.len()];
    for _ in 0..DRAWS {
        let mut all: Vec<Vec<f64>> = vec![Vec::new(); labels.len()];
        for _ in 0..values.len() {
            let of = &values[below(&mut random, values.len())];
            let chosen: Vec<usize> = (0..seeds).map(|_| below(&mut random, seeds)).collect();
            all.iter_mut().zip(shares(of, &chosen, less)).for_each(|(of, share)| of.push(share));
        }
        let means: Vec<f64> = all.into_iter().map(|of| mean(of.into_iter())).collect();
        let best = compared.iter().map(|i| means[*i]).fold(f64::NEG_INFINITY, f64::max);
        let equals: Vec<usize> = compared.iter().copied().filter(|i| means[*i] == best).collect();
        equals.iter().for_each(|i| firsts[*i] += 1.0 / equals.len() as f64);
        drawn.iter_mut().zip(means).for_each(|(drawn, mean)| drawn.push(mean));
    }
    let mut standings: Vec<Standing> = labels
        .iter()
        .enumerate()
        .map(|(i, label)| {
            let mut own: Vec<(f64, usize)> = Vec::new();
            let mut places = 0.0;
            for (member, shares) in of_member.iter().enumerate().filter(|(_, s)| s[i].is_finite()) {
                own.push((shares[i], member));
                let above = shares.iter().filter(|s| **s > shares[i]).count() as f64;
                let equal = shares.iter().filter(|s| **s == shares[i]).count() as f64;
                places += above + (equal + 1.0) / 2.0;
            }
            own.sort_by(|a, b| a.0.total_cmp(&b.0));
            let mean = |of: &[(f64, usize)]| mean(of.iter().map(|v| v.0));
            Standing {
                discipline: label.clone(),
                score: mean(&own),
                interval: interval(std::mem::take(&mut drawn[i])),
                first: if compared.contains(&i) { firsts[i] / DRAWS as f64 } else { f64::NAN },
                rank: places / own.len() as f64,
                worst_tenth: mean(&own[..own.len().div_ceil(10)]),
                worst: own.first().map_or(0, |v| v.1),
                scenarios: own.len(),
            }
        })
        .collect();
    standings.sort_by(|a, b| b.score.total_cmp(&a.score));
    // Behind those that are compared, the fewer scenarios the later.
    standings.sort_by_key(|s| std::cmp::Reverse(s.scenarios));
    Scores { standings, of_member }
}

/// Of each discipline in a scenario, the mean over these seeds over the best of such means.
fn shares(of: &[Vec<f64>], seeds: &[usize], less: bool) -> Vec<f64> {
    let means: Vec<f64> = of.iter().map(|values| mean(seeds.iter().map(|s| values[*s]))).collect();
    let known = means.iter().copied().filter(|m| m.is_finite());
    let best = known.reduce(if less { f64::min } else { f64::max }).unwrap_or(f64::NAN);
    let share = |m: f64| match if less { (best, m) } else { (m, best) } {
        // All of them have nothing: equals.
        (0.0, 0.0) => 1.0,
        (part, whole) => (part / whole).clamp(0.0, 1.0),
    };
    means.into_iter().map(|m| if m.is_finite() { share(m) } else { f64::NAN }).collect()
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

    fn labels(of: &[&str]) -> Vec<String> {
        of.iter().map(|s| s.to_string()).collect()
    }

    /// By hand: in the first scenario a is the best with 4, b has half of it; in the second b, with 2, and a a quarter of that.
    #[test]
    fn scores_are_means_of_shares_of_the_best() {
        let values = vec![vec![vec![3.0, 5.0], vec![2.0, 2.0]], vec![vec![0.5, 0.5], vec![1.0, 3.0]]];
        let scores = scored(&values, false, &labels(&["a", "b"]));
        assert_eq!(scores.of_member, [[1.0, 0.5], [0.25, 1.0]]);
        let [b, a] = scores.standings.as_slice() else { panic!("two") };
        assert_eq!(
            (b.discipline.as_str(), b.score, b.rank, b.worst_tenth, b.worst),
            ("b", 0.75, 1.5, 0.5, 0)
        );
        assert_eq!((a.score, a.rank, a.worst_tenth, a.worst), (0.625, 1.5, 0.25, 1));
        // The ends of the bootstrap: one scenario twice. Seeds move the shares too: a may have 5 or 3 beside 2.
        assert_eq!((b.interval[1], a.interval[1]), (1.0, 1.0));
        assert!(b.interval[0] <= 0.5 && a.interval[0] <= 0.25, "{b:?} {a:?}");
        assert!((a.first + b.first - 1.0).abs() < 1e-9 && b.first > a.first, "{b:?} {a:?}");
    }

    #[test]
    fn less_may_be_better_and_what_has_no_value_has_no_place() {
        let none = f64::NAN;
        let values = vec![vec![vec![10.0], vec![20.0], vec![none]]];
        let scores = scored(&values, true, &labels(&["a", "b", "c"]));
        let all: Vec<(&str, f64, usize)> =
            scores.standings.iter().map(|s| (s.discipline.as_str(), s.score, s.scenarios)).collect();
        assert_eq!(all[..2], [("a", 1.0, 1), ("b", 0.5, 1)]);
        assert_eq!((all[2].0, all[2].2), ("c", 0));
    }

    #[test]
    fn who_is_in_one_scenario_is_first_of_nothing() {
        let none = f64::NAN;
        let values = vec![vec![vec![1.0], vec![0.9], vec![5.0]], vec![vec![1.0], vec![0.9], vec![none]]];
        let scores = scored(&values, false, &labels(&["a", "b", "c"]));
        let [a, b, c] = scores.standings.as_slice() else { panic!("three") };
        assert_eq!((a.discipline.as_str(), a.first, b.first), ("a", 1.0, 0.0));
        assert!(c.discipline == "c" && c.score == 1.0 && c.first.is_nan(), "{c:?}");
    }

    /// One that is better in every run is first in every draw, and a copy of it shares the place.
    #[test]
    fn who_is_always_better_is_first_for_certain() {
        let own: Vec<Vec<f64>> = (0..7).map(|m| (0..3).map(|s| 1.0 + f64::from(m * s)).collect()).collect();
        let values = |others: f64| -> Values {
            own.iter().map(|of| vec![of.clone(), of.iter().map(|v| v * others).collect()]).collect()
        };
        let worse = scored(&values(0.9), false, &labels(&["a", "b"]));
        assert_eq!((worse.standings[0].first, worse.standings[0].interval), (1.0, [1.0, 1.0]));
        assert!((worse.standings[1].score - 0.9).abs() < 1e-12);
        let same = scored(&values(1.0), false, &labels(&["a", "b"]));
        assert_eq!((same.standings[0].first, same.standings[1].rank), (0.5, 1.5));
    }
}
