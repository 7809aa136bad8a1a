//! What the source of a suite has found, and whether the runs say so, too.

use crate::Plan;
use queuewright_experiments::{Record, Spread, Store};
use serde::Deserialize;

/// A finding: a measure, or the ratio of two, that lies on one side of a bound in some scenarios.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// What is said, in a sentence.
    pub says: String,
    /// Where, and what was measured there.
    pub source: String,
    /// The scenarios that it is of: how their names begin.
    pub scenarios: Vec<String>,
    /// The disciplines, by their labels: all of these scenarios if there are none.
    #[serde(default)]
    pub disciplines: Vec<String>,
    /// Measures, by their paths in the result object; of several each makes a case.
    pub of: Vec<String>,
    /// What each of them is divided by, in the same order; none: by nothing.
    #[serde(default)]
    pub over: Vec<String>,
    /// The value is no less.
    pub least: Option<f64>,
    /// The value is no more.
    pub most: Option<f64>,
}

/// What the runs say of a finding, or of a case of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The whole 95 % interval lies where it should; of a finding: in every case.
    Holds,
    /// None of it does; of a finding: in one case at least.
    Fails,
    /// The interval has the bound in it, or there is one seed alone.
    Unclear,
    /// No run has the measure.
    NotRun,
}

impl Verdict {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Fails => "does not hold",
            Verdict::Unclear => "cannot be told",
            Verdict::NotRun => "was not run",
        }
    }
}

/// A case of a finding.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Case {
    /// The scenario.
    pub scenario: String,
    /// The discipline.
    pub discipline: String,
    /// The measure, and what it is divided by.
    pub measure: String,
    /// Mean over the seeds.
    pub value: f64,
    /// Half-width of its 95 % interval.
    pub half_width: f64,
    /// Of this case.
    pub verdict: Verdict,
}

/// A finding as it was judged.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Judged {
    /// What is said.
    pub says: String,
    /// Where.
    pub source: String,
    /// Of all cases together.
    pub verdict: Verdict,
    /// The cases, those that hold last.
    pub cases: Vec<Case>,
}

/// All of a suite's, judged.
pub fn judged(plan: &Plan, store: &Store) -> Vec<Judged> {
    plan.suite.about.finding.iter().map(|finding| finding.judge(plan, store)).collect()
}

/// How many hold, do not, cannot be told and were not run, in a line; empty without any.
pub fn words(judged: &[Judged]) -> String {
    if judged.is_empty() {
        return String::new();
    }
    let count = |verdict: Verdict| judged.iter().filter(|j| j.verdict == verdict).count();
    let all = [Verdict::Holds, Verdict::Fails, Verdict::Unclear, Verdict::NotRun];
    let told = |v: Verdict| match (v, count(v)) {
        (_, 0) => None,
        (v, 1) => Some(format!("1 {}", v.words())),
        (Verdict::Holds, n) => Some(format!("{n} hold")),
        (Verdict::Fails, n) => Some(format!("{n} do not hold")),
        (Verdict::Unclear, n) => Some(format!("{n} cannot be told")),
        (Verdict::NotRun, n) => Some(format!("{n} were not run")),
    };
    let told: Vec<String> = all.into_iter().filter_map(told).collect();
    let one_seed = judged.iter().flat_map(|j| &j.cases).all(|case| case.half_width.is_nan());
    let why = if one_seed { " An interval needs two seeds, and there is one." } else { "" };
    format!("What its source has found, {} in all: {}.{why}", judged.len(), told.join(", "))
}

impl Finding {
    /// What is wrong with it.
    pub(crate) fn check(&self) -> Result<(), String> {
        let says = format!("finding {:?}: ", self.says);
        if self.least.is_none() && self.most.is_none() {
            return Err(says + "least, most: one of them is needed, or nothing can fail");
        }
        if let (Some(least), Some(most)) = (self.least, self.most)
            && least > most
        {
            return Err(says + &format!("least: {least} is above most, which is {most}"));
        }
        if self.of.is_empty() || self.scenarios.is_empty() {
            return Err(says + "of, scenarios: write one at least");
        }
        if !self.over.is_empty() && self.over.len() != self.of.len() {
            let (of, over) = (self.of.len(), self.over.len());
            return Err(says + &format!("over: {over} measures for the {of} of `of`; write as many, or none"));
        }
        Ok(())
    }

    /// Judges it by the runs that are there.
    pub fn judge(&self, plan: &Plan, store: &Store) -> Judged {
        let mut cases = Vec::new();
        for (member, m) in plan.suite.members.iter().enumerate() {
            if !self.scenarios.iter().any(|begin| m.name.starts_with(begin.as_str())) {
                continue;
            }
            for discipline in &plan.disciplines {
                if !self.disciplines.is_empty() && !self.disciplines.contains(discipline) {
                    continue;
                }
                let runs: Vec<&Record> = store.of(member, discipline).collect();
                for (i, of) in self.of.iter().enumerate() {
                    cases.extend(self.case(&m.name, discipline, of, self.over.get(i), &runs));
                }
            }
        }
        let any = |verdict: Verdict| cases.iter().any(|case| case.verdict == verdict);
        let verdict = [Verdict::Fails, Verdict::Unclear, Verdict::Holds].into_iter().find(|v| any(*v));
        cases.sort_by_key(|case| case.verdict == Verdict::Holds);
        Judged {
            says: self.says.clone(),
            source: self.source.clone(),
            verdict: verdict.unwrap_or(Verdict::NotRun),
            cases,
        }
    }

    fn case(
        &self,
        scenario: &str,
        discipline: &str,
        of: &str,
        over: Option<&String>,
        runs: &[&Record],
    ) -> Option<Case> {
        let value = |record: &&Record| {
            let value = *record.measures.get(of)?;
            let by = over.map_or(Some(1.0), |over| record.measures.get(over).copied())?;
            Some(value / by).filter(|v| v.is_finite())
        };
        let values: Vec<f64> = runs.iter().filter_map(value).collect();
        if values.is_empty() {
            return None;
        }
        let Spread { mean, half_width, .. } = Spread::of(&values);
        Some(Case {
            scenario: scenario.into(),
            discipline: discipline.into(),
            measure: over.map_or(of.to_string(), |over| format!("{of} / {over}")),
            value: mean,
            half_width,
            verdict: self.side(mean, half_width),
        })
    }

    /// Where an interval lies; NaN: its half-width is not known.
    fn side(&self, mean: f64, half_width: f64) -> Verdict {
        let (least, most) = (self.least.unwrap_or(f64::NEG_INFINITY), self.most.unwrap_or(f64::INFINITY));
        if half_width.is_nan() {
            return Verdict::Unclear;
        }
        if mean - half_width >= least && mean + half_width <= most {
            Verdict::Holds
        } else if mean + half_width < least || mean - half_width > most {
            Verdict::Fails
        } else {
            Verdict::Unclear
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(least: Option<f64>, most: Option<f64>) -> Finding {
        Finding {
            says: "s".into(),
            source: String::new(),
            scenarios: vec!["a".into()],
            disciplines: Vec::new(),
            of: vec!["x".into()],
            over: Vec::new(),
            least,
            most,
        }
    }

    #[test]
    fn an_interval_decides_and_not_its_middle() {
        let f = finding(Some(10.0), Some(20.0));
        let side = |mean, half| f.side(mean, half).words();
        assert_eq!([side(15.0, 4.0), side(11.0, 1.0), side(20.0, 0.0)], ["holds"; 3]);
        assert_eq!(
            [side(11.0, 1.1), side(9.0, 2.0), side(21.0, 1.0), side(15.0, f64::NAN)],
            ["cannot be told"; 4]
        );
        assert_eq!([side(8.0, 1.0), side(22.0, 1.9)], ["does not hold"; 2]);
        assert_eq!(finding(None, Some(1.0)).side(-1e9, 1.0), Verdict::Holds);
    }

    #[test]
    fn what_cannot_fail_is_refused() {
        let said = |f: Finding| f.check().unwrap_err();
        assert!(said(finding(None, None)).contains("nothing can fail"));
        assert!(said(finding(Some(2.0), Some(1.0))).contains("2 is above most, which is 1"));
        let over = Finding { over: vec!["y".into(), "z".into()], ..finding(Some(1.0), None) };
        assert!(said(over).contains("2 measures for the 1"));
        assert!(said(Finding { of: Vec::new(), ..finding(Some(1.0), None) }).contains("one at least"));
        assert_eq!(finding(Some(1.0), None).check(), Ok(()));
    }
}
