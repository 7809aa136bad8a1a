//! The runs as rows: dimensions' values and measures; and what is said of several at once.

use crate::figure::{Filter, OneOrMany};
use crate::{Plan, Record};
use queuewright_results::measures::quantile;
use queuewright_results::quality::student;
use std::collections::{BTreeMap, BTreeSet};

/// A run among the others.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    plan: &'a Plan,
    /// What was kept of it.
    pub record: &'a Record,
}

impl<'a> Row<'a> {
    pub fn of(plan: &'a Plan, record: &'a Record) -> Row<'a> {
        Row { plan, record }
    }

    /// Value of a dimension; `discipline` is one.
    pub fn value(&self, dimension: &str) -> &'a str {
        if dimension == "discipline" {
            return &self.record.discipline;
        }
        let at = self.plan.experiment.figure.sweeps.iter().position(|s| s.name == dimension);
        at.map_or("", |i| &self.plan.cases[self.record.case].values[i])
    }

    pub fn matches(&self, filter: &Filter) -> bool {
        filter.iter().all(|(name, values)| values.all().iter().any(|v| v == self.value(name)))
    }
}

/// All runs of an experiment.
#[derive(Debug, Clone)]
pub struct Rows<'a> {
    /// The experiment.
    pub plan: &'a Plan,
    /// By case, discipline, seed.
    pub all: Vec<Row<'a>>,
}

impl<'a> Rows<'a> {
    pub fn new(plan: &'a Plan, records: &'a [Record]) -> Rows<'a> {
        let known = |r: &&Record| r.case < plan.cases.len();
        Rows { plan, all: records.iter().filter(known).map(|record| Row { plan, record }).collect() }
    }

    /// Those that a filter lets through.
    pub fn only(&self, filter: &Filter) -> Rows<'a> {
        Rows { plan: self.plan, all: self.all.iter().filter(|r| r.matches(filter)).copied().collect() }
    }

    /// In groups of equal values of dimensions, in the order of the file.
    pub fn groups(&self, dimensions: &[String]) -> Vec<(Vec<&'a str>, Rows<'a>)> {
        let mut groups: Vec<(Vec<&'a str>, Rows<'a>)> = Vec::new();
        let mut places: BTreeMap<Vec<&'a str>, usize> = BTreeMap::new();
        for row in &self.all {
            let key: Vec<&str> = dimensions.iter().map(|d| row.value(d)).collect();
            let at = *places.entry(key.clone()).or_insert_with(|| {
                groups.push((key, Rows { plan: self.plan, all: Vec::new() }));
                groups.len() - 1
            });
            groups[at].1.all.push(*row);
        }
        groups.sort_by_cached_key(|(key, _)| {
            dimensions.iter().zip(key).map(|(d, v)| self.rank(d, v)).collect::<Vec<_>>()
        });
        groups
    }

    /// Where a value stands in its dimension.
    fn rank(&self, dimension: &str, value: &str) -> usize {
        let figure = &self.plan.experiment.figure;
        let place = match figure.sweep(dimension) {
            Some(sweep) => sweep.values.iter().position(|v| v.name == value),
            None => {
                let labels = self.plan.cases.iter().flat_map(|c| c.disciplines.iter());
                labels.clone().position(|l| l == value)
            }
        };
        place.unwrap_or(usize::MAX)
    }

    /// A measure of every run that has it, in the measure's unit.
    pub fn values(&self, measure: &str) -> Vec<f64> {
        let m = self.plan.experiment.figure.measure(measure);
        self.all.iter().filter_map(|r| r.record.measures.get(&m.of)).map(|v| v * m.scale).collect()
    }

    /// Seeds that were run, rising.
    pub fn seeds(&self) -> BTreeSet<u64> {
        self.all.iter().map(|r| r.record.seed).collect()
    }

    /// Those of one seed.
    pub fn of_seed(&self, seed: u64) -> Rows<'a> {
        self.where_row(|r| r.record.seed == seed)
    }

    /// Those of which that is so.
    pub fn where_row(&self, is: impl Fn(&Row<'a>) -> bool) -> Rows<'a> {
        Rows { plan: self.plan, all: self.all.iter().filter(|r| is(r)).copied().collect() }
    }

    /// Has each case and discipline of the experiment's that a filter names a run here?
    pub fn has_all(&self, filter: &Filter) -> bool {
        let runs: BTreeSet<(usize, &str)> =
            self.all.iter().map(|r| (r.record.case, r.record.discipline.as_str())).collect();
        let sweeps = &self.plan.experiment.figure.sweeps;
        self.plan.cases.iter().enumerate().all(|(i, case)| {
            let named = |discipline: &str| {
                filter.iter().all(|(name, wanted)| {
                    let at = sweeps.iter().position(|s| s.name == *name);
                    let value = at.map_or(discipline, |at| &case.values[at]);
                    wanted.all().iter().any(|w| w == value)
                })
            };
            case.disciplines.iter().all(|d| !named(d) || runs.contains(&(i, d.as_str())))
        })
    }

    /// The values of all dimensions that the first of them has: of one case's runs, its place.
    pub fn place(&self) -> Filter {
        let names = self.plan.experiment.figure.sweeps.iter().map(|s| s.name.as_str()).chain(["discipline"]);
        let value = |row: &Row<'_>, name: &str| OneOrMany::One(row.value(name).into());
        names.filter_map(|name| Some((name.into(), value(self.all.first()?, name)))).collect()
    }

    /// Of each case and discipline, its runs.
    pub fn cases(&self) -> Vec<Rows<'a>> {
        let mut groups: BTreeMap<(usize, &str), Rows<'a>> = BTreeMap::new();
        for row in &self.all {
            let key = (row.record.case, row.record.discipline.as_str());
            let group = groups.entry(key).or_insert_with(|| Rows { plan: self.plan, all: Vec::new() });
            group.all.push(*row);
        }
        groups.into_values().collect()
    }
}

/// Mean of some values and how far they spread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Arithmetic mean.
    pub mean: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// Half-width of the mean's 95 % confidence interval (Student's t); NaN of one value.
    pub half_width: f64,
    /// How many there are.
    pub count: usize,
}

impl Spread {
    /// The half-width of an interval that misses the mean with a probability of `error`, instead of 5 %.
    pub fn half_width_for(&self, error: f64) -> f64 {
        self.half_width * student::t(self.count, error) / student::t(self.count, 0.05)
    }

    /// Of values; NaN where there are too few.
    pub fn of(values: &[f64]) -> Spread {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
        Spread {
            mean,
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            half_width: student::t(values.len(), 0.05) * (variance / n).sqrt(),
            count: values.len(),
        }
    }
}

/// The middle of some values.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    quantile(&values, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidence_is_students() {
        // Five values: t = 2.776445 with four degrees of freedom, sd = sqrt(2.5).
        let s = Spread::of(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!((s.mean, s.min, s.max, s.count), (3.0, 1.0, 5.0, 5));
        assert!((s.half_width - 2.776_445 * (2.5f64 / 5.0).sqrt()).abs() < 1e-5);
        assert!(Spread::of(&[1.0]).half_width.is_nan());
        // With one degree of freedom it is a tangent.
        let by_hand = (std::f64::consts::FRAC_PI_2 * (1.0 - 0.05 / 32.0)).tan();
        assert!((s.half_width_for(0.05) - s.half_width).abs() < 1e-12);
        assert!((student::t(2, 0.05 / 32.0) - by_hand).abs() < 1e-9 * by_hand);
    }
}
