//! Which runs an experiment needs.

use crate::cases::{Case, cases};
use crate::rows::Spread;
use crate::{Error, Experiment, Null, Record, Store};
use queuewright_scenario::RunSpec;
use std::collections::BTreeSet;
use std::path::Path;

/// A run of an experiment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unit {
    /// Which case.
    pub case: usize,
    /// Label of the discipline.
    pub discipline: String,
    /// Seed of the run, one of the scenario's or one added for its confidence interval.
    pub seed: u64,
}

impl Unit {
    pub(crate) fn of(record: &Record) -> Unit {
        Unit { case: record.case, discipline: record.discipline.clone(), seed: record.seed }
    }
}

/// How experiments are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Options {
    /// Fewer seeds, shorter runs.
    pub quick: bool,
    /// So many seeds, instead of the experiment's number.
    pub seeds: Option<u16>,
    /// With the wrong variants beside the systems.
    #[serde(default)]
    pub nulls: bool,
    /// With the possible causes, for what does not hold.
    #[serde(default)]
    pub causes: bool,
}

/// An experiment's cases, and its rule for seeds.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The experiment.
    pub experiment: Experiment,
    /// Its cases.
    pub cases: Vec<Case>,
    /// How it is made.
    pub options: Options,
}

impl Plan {
    /// Reads an experiment's cases. `base` is where its scenario finds files.
    ///
    /// # Errors
    /// A broken scenario or case.
    pub fn new(experiment: Experiment, base: &Path, options: Options) -> Result<Plan, Error> {
        let cases = cases(&experiment, base, options.quick, None)?;
        Ok(Plan { experiment, cases, options })
    }

    /// The runs of a variant in this experiment, or none if it has no place there.
    ///
    /// # Errors
    /// A case that it makes impossible.
    pub fn of_null(&self, null: &Null, base: &Path) -> Result<Option<Plan>, Error> {
        let Plan { experiment, options, .. } = self.clone();
        let has = |case: &Case| case.disciplines.iter().any(|label| null.replaces(label));
        let named = null.only.is_empty() || null.only.contains(&experiment.name);
        if !named || !self.cases.iter().any(has) {
            return Ok(None);
        }
        let cases = cases(&experiment, base, options.quick, Some(null))?;
        Ok(Some(Plan { experiment, cases, options }))
    }

    /// The same with the cases and disciplines alone that are wanted.
    #[must_use]
    pub fn only(mut self, wanted: &BTreeSet<(usize, String)>) -> Plan {
        for (i, case) in self.cases.iter_mut().enumerate() {
            case.disciplines.retain(|label| wanted.contains(&(i, label.clone())));
        }
        self
    }

    /// Has it no case with a discipline?
    pub fn is_empty(&self) -> bool {
        self.cases.iter().all(|case| case.disciplines.is_empty())
    }

    /// Seeds that a case has in any case.
    fn first_seeds(&self, case: &Case) -> usize {
        match (self.options.seeds, self.options.quick) {
            (Some(n), _) => usize::from(n),
            (None, true) => case.seeds.len().min(self.experiment.figure.quick.seeds.max(1)),
            (None, false) => case.seeds.len(),
        }
    }

    /// The first so many seeds of a case: the scenario's own, then the numbers that follow its largest.
    fn seeds(case: &Case, count: usize) -> impl Iterator<Item = u64> {
        let next = case.seeds.iter().max().copied().unwrap_or(0);
        case.seeds.iter().copied().chain(next + 1..).take(count)
    }

    /// Runs that are known to be needed and are not in the store. With none of them left, all is done: what
    /// is still to make shows only when these are made, as more seeds follow where means are not known well.
    pub fn pending(&self, store: &Store) -> Vec<Unit> {
        // All disciplines of a case have the same: they are compared seed by seed.
        let wanted = |i: usize, case: &Case| {
            let each = case.disciplines.iter().map(|d| self.wanted(case, i, d, store));
            Plan::seeds(case, each.max().unwrap_or(0)).collect()
        };
        self.missing(store, |i, case, _| wanted(i, case))
    }

    /// As [`Plan::pending`], of a wrong variant: it has the seeds that the runs have in whose place it is.
    pub fn pending_of_null(&self, right: &Store, store: &Store) -> Vec<Unit> {
        self.missing(store, |i, case, discipline| {
            let made = right.of(i, discipline).map(|r| r.seed);
            Plan::seeds(case, self.first_seeds(case)).chain(made).collect()
        })
    }

    fn missing(&self, store: &Store, seeds: impl Fn(usize, &Case, &str) -> BTreeSet<u64>) -> Vec<Unit> {
        let mut units = Vec::new();
        for (i, case) in self.cases.iter().enumerate() {
            for discipline in &case.disciplines {
                let all = seeds(i, case, discipline).into_iter().map(|seed| Unit {
                    case: i,
                    discipline: discipline.clone(),
                    seed,
                });
                units.extend(all.filter(|unit| !store.has(unit)));
            }
        }
        units
    }

    /// Seeds wanted of a case and discipline, as far as is known now.
    fn wanted(&self, case: &Case, i: usize, discipline: &str, store: &Store) -> usize {
        let first = self.first_seeds(case);
        let rule = &self.experiment.figure.seeds;
        let (Some(goal), Some(most)) = (rule.half_width, rule.most) else { return first };
        if self.options.quick || self.options.seeds.is_some() || most <= first {
            return first;
        }
        let done = store.of(i, discipline).count();
        if done < first {
            return first;
        }
        let mut wanted = done;
        for name in &rule.of {
            let of = self.experiment.figure.measure(name).of;
            let values: Vec<f64> =
                store.of(i, discipline).filter_map(|r| r.measures.get(&of).copied()).collect();
            let spread = Spread::of(&values);
            let share = spread.half_width / spread.mean.abs();
            if share.is_finite() && share > goal {
                // The interval shrinks with the root of the number of runs; at least one more, and not
                // more than three times as many at once, as the first guess is a rough one.
                let guess = (done as f64 * (share / goal).powi(2)).ceil();
                wanted = wanted.max((guess as usize).clamp(done + 1, done * 3));
            }
        }
        wanted.min(most)
    }

    /// About what a run will need in memory, bytes, as its case with its first seed does.
    pub fn memory_bytes(&self, unit: &Unit) -> u64 {
        self.cases[unit.case].memory_bytes
    }

    /// The run itself.
    ///
    /// # Errors
    /// A scenario that this seed makes impossible.
    pub fn spec(&self, unit: &Unit) -> Result<RunSpec, Error> {
        let case = &self.cases[unit.case];
        let place = |e: &dyn std::fmt::Display| {
            Error::Input(format!(
                "{}, case \"{}\", seed {}: {e}",
                self.experiment.id(),
                case.name(),
                unit.seed
            ))
        };
        let mut scenario = case.scenario(unit.seed).map_err(|e| place(&e))?;
        scenario.disciplines.retain(|d| d.label == unit.discipline);
        let runs = scenario.runs().map_err(|e| place(&e))?;
        runs.into_iter().next().ok_or_else(|| place(&format!("no discipline \"{}\"", unit.discipline)))
    }

    /// Runs that a case comes to for each discipline, as far as can be said beforehand.
    fn expected_seeds(&self, case: &Case) -> f64 {
        let first = self.first_seeds(case) as f64;
        let rule = &self.experiment.figure.seeds;
        let more = !self.options.quick && self.options.seeds.is_none() && rule.half_width.is_some();
        // By experience, most cases are settled by their first seeds, and a few need many.
        let all = if more { 1.3 * first } else { first };
        rule.most.filter(|_| more).map_or(all, |most| all.min(most as f64).max(first))
    }

    /// Runs that the experiment comes to, as far as can be said beforehand.
    pub fn expected_runs(&self) -> usize {
        let all: f64 =
            self.cases.iter().map(|case| case.disciplines.len() as f64 * self.expected_seeds(case)).sum();
        all.round() as usize
    }

    /// A run of each case with its first seed, and how many runs are like it: for costs.
    ///
    /// # Errors
    /// As [`Plan::spec`].
    pub fn samples(&self) -> Result<Vec<(RunSpec, f64)>, Error> {
        let mut all = Vec::new();
        for (i, case) in self.cases.iter().enumerate() {
            let (Some(discipline), Some(seed)) = (case.disciplines.first(), case.seeds.first()) else {
                continue;
            };
            let unit = Unit { case: i, discipline: discipline.clone(), seed: *seed };
            let runs = case.disciplines.len() as f64 * self.expected_seeds(case);
            all.push((self.spec(&unit)?, runs));
        }
        Ok(all)
    }
}
