//! Whether a claim holds of the runs.

use crate::figure::{Aggregate, CauseKind, Claim, Filter, Form, OneOrMany};
use crate::rows::{Rows, Spread, median};
use serde::Serialize;
use std::fmt::Write;

/// What the runs say of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The value is the published one, within the tolerance, with all of its confidence interval.
    Holds,
    /// It does not hold.
    No,
    /// A part of the confidence interval is within the tolerance.
    Unsure,
    /// Not all runs that it is about are there, or have the measure.
    Unknown,
}

impl Verdict {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::No => "does not hold",
            Verdict::Unsure => "cannot be told",
            Verdict::Unknown => "no data",
        }
    }
}

/// A claim and its verdict.
#[derive(Debug, Clone, Serialize)]
pub struct Judged {
    /// The claim, and where in the paper.
    pub text: String,
    /// Where in the paper.
    pub source: String,
    /// The paper's statements that it judges; none: it is one of our own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub statements: Vec<String>,
    /// Published, in words with unit.
    pub published: String,
    /// Measured, in words with unit.
    pub measured: String,
    /// The measured values, one or one for each case that is asked by itself; none if there is no data.
    pub values: Vec<f64>,
    /// Of each value its 95 % confidence interval, or none if nothing is known of chance.
    pub intervals: Vec<Option<[f64; 2]>>,
    /// The verdict.
    pub verdict: Verdict,
    /// Why not, from experiments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Why not, where that is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Shown>,
    /// The verdict with each wrong variant that was run, of those in the place of a discipline that the claim is about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nulls: Vec<WithNull>,
    /// The verdict with each possible cause that was run, of a claim that does not hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<WithCause>,
}

/// A cause, and whether it is one.
#[derive(Debug, Clone, Serialize)]
pub struct Shown {
    /// Of which kind.
    pub kind: CauseKind,
    /// It in a sentence or two.
    pub text: String,
    /// The claim holds where the cause is away, or the paper's numbers contradict one another.
    pub shown: bool,
}

/// The verdict of a claim with a wrong variant in the place of the system.
#[derive(Debug, Clone, Serialize)]
pub struct WithNull {
    /// Name of the wrong variant.
    pub null: String,
    /// The verdict.
    pub verdict: Verdict,
}

/// The verdict of a claim with a possible cause.
#[derive(Debug, Clone, Serialize)]
pub struct WithCause {
    /// Name of the cause.
    pub cause: String,
    /// Where it lies.
    pub kind: CauseKind,
    /// Measured, in words with unit.
    pub measured: String,
    /// The verdict.
    pub verdict: Verdict,
}

impl Judged {
    /// Does it not hold, and nothing shows why?
    pub fn is_open(&self) -> bool {
        matches!(self.verdict, Verdict::No | Verdict::Unsure)
            && !self.cause.as_ref().is_some_and(|c| c.shown)
            && self.holds_with().next().is_none()
    }

    /// The possible causes with which it holds.
    pub fn holds_with(&self) -> impl Iterator<Item = &WithCause> {
        self.tried.iter().filter(|tried| tried.verdict == Verdict::Holds)
    }

    /// Does it hold, and is there no wrong variant for which it does not? It says nothing of the system then.
    pub fn is_weak(&self) -> bool {
        let fails = |n: &WithNull| n.verdict == Verdict::No;
        self.verdict == Verdict::Holds && !self.nulls.is_empty() && !self.nulls.iter().any(fails)
    }
}

/// Judges a claim by the runs.
pub(crate) fn judge(claim: &Claim, rows: &Rows<'_>) -> Judged {
    let m = rows.plan.experiment.figure.measure(&claim.measure);
    let unit = match claim.form {
        Form::Change => "%",
        Form::Ratio => "times",
        _ => m.unit.as_str(),
    };
    let Decided { verdict, values, note } = decide(claim, rows);
    let with = |text: String| if unit.is_empty() { text } else { format!("{text} {unit}") };
    let range =
        |[a, b]: [f64; 2]| if a == b { figures(a) } else { format!("{} to {}", figures(a), figures(b)) };
    let published = match (claim.published, claim.at_most, claim.at_least, claim.form) {
        (Some(n), ..) => with(range(n.ends())),
        (_, Some(x), ..) => with(format!("at most {}", figures(x))),
        (_, _, Some(x), _) => with(format!("at least {}", figures(x))),
        (.., Form::Rising) => "rises".into(),
        _ => "falls".into(),
    };
    let measured = match values.as_slice() {
        [] => "-".into(),
        [one] => with(one.words()),
        [first, .., last] if matches!(claim.form, Form::Rising | Form::Falling) => {
            with(format!("{} ... {}", first.words(), last.words()))
        }
        all => {
            let mut ends: Vec<&Value> = all.iter().collect();
            ends.sort_by(|a, b| a.value().total_cmp(&b.value()));
            let [least, .., most] = ends.as_slice() else { unreachable!("two at least") };
            with(format!("{} to {}", least.words(), most.words()))
        }
    };
    Judged {
        text: claim.text.clone(),
        source: claim.source.clone(),
        statements: claim.statements.clone(),
        published,
        measured: measured + &note,
        values: values.iter().map(Value::value).collect(),
        intervals: values.iter().map(|value| value.is_of_chance().then(|| value.interval(ERROR))).collect(),
        verdict,
        why: claim.why.clone().filter(|_| verdict != Verdict::Holds),
        cause: claim.cause.as_ref().filter(|_| verdict != Verdict::Holds).map(|cause| {
            let mut away = claim.clone();
            away.at.extend(cause.at.clone());
            away.against.extend(cause.against.clone());
            let holds = || decide(&away, rows).verdict == Verdict::Holds;
            let shown = if cause.kind == CauseKind::Contradiction { cause.contradicts() } else { holds() };
            Shown { kind: cause.kind, text: cause.text.clone(), shown }
        }),
        nulls: Vec::new(),
        tried: Vec::new(),
    }
}

/// The probability that an interval misses the value.
const ERROR: f64 = 0.05;

/// What the runs say: the verdict, the values, and what else is to be known of them.
struct Decided {
    verdict: Verdict,
    values: Vec<Value>,
    note: String,
}

/// A number that the runs give.
struct Estimate {
    value: f64,
    /// What each seed says of it by itself; none: nothing is known of chance.
    seeds: Option<Spread>,
}

impl Estimate {
    fn half_width(&self, error: f64) -> f64 {
        self.seeds.map_or(0.0, |s| s.half_width_for(error))
    }
}

/// A value that a claim asks for.
struct Value {
    /// A single number, or of the smallest or largest of several cases each one, and if it is held against the smallest or largest of
    /// others, each against each of these.
    cases: Vec<Vec<Estimate>>,
    /// Smallest or largest.
    end: Aggregate,
}

impl Value {
    fn one(estimate: Estimate) -> Value {
        Value { cases: vec![vec![estimate]], end: Aggregate::Mean }
    }

    /// The largest less the largest of others is the largest of what is the smallest beyond these.
    fn end(&self, of: impl Fn(&Estimate) -> f64) -> f64 {
        let inner = match self.end {
            Aggregate::Max => Aggregate::Min,
            _ => Aggregate::Max,
        };
        let rows = self.cases.iter().map(|row| join(&row.iter().map(&of).collect::<Vec<_>>(), inner));
        join(&rows.collect::<Vec<_>>(), self.end)
    }

    fn value(&self) -> f64 {
        self.end(|e| e.value)
    }

    /// The interval that misses it with a probability of `error`. The smallest of several means is smaller than the mean of the smallest:
    /// that each may be the smallest counts at the upper end, where all intervals have to be right at once. The lower end needs that of
    /// the smallest alone. The largest likewise.
    fn interval(&self, error: f64) -> [f64; 2] {
        let (own, others) = (self.cases.len() as f64, self.cases[0].len() as f64);
        let (low, high) = if self.end == Aggregate::Max { (own, others) } else { (others, own) };
        [
            self.end(|e| e.value - e.half_width(error / low)),
            self.end(|e| e.value + e.half_width(error / high)),
        ]
    }

    /// Is it known how far chance moves it?
    fn is_of_chance(&self) -> bool {
        self.cases.iter().flatten().all(|e| e.seeds.is_some())
    }

    /// With its interval.
    fn words(&self) -> String {
        let value = self.value();
        let [low, high] = self.interval(ERROR).map(figures);
        match (self.is_of_chance(), self.cases.len() * self.cases[0].len()) {
            (false, _) => figures(value),
            (true, 1) => format!("{} ± {}", figures(value), figures(self.cases[0][0].half_width(ERROR))),
            (true, _) => format!("{} ({low} to {high})", figures(value)),
        }
    }
}

/// Of several values, each with what it may be: all have to hold. That one of many is out of its interval is no wonder: to refute the claim
/// it has to be out of one so wide that none of them all is missed but for `ERROR`.
fn verdict(values: &[(&Bounds, &Value)]) -> Verdict {
    let at = |error: f64| values.iter().map(move |(bounds, value)| bounds.verdict(value.interval(error)));
    if at(ERROR / values.len() as f64).any(|v| v == Verdict::No) {
        Verdict::No
    } else if at(ERROR).all(|v| v == Verdict::Holds) {
        Verdict::Holds
    } else {
        Verdict::Unsure
    }
}

fn decide(claim: &Claim, rows: &Rows<'_>) -> Decided {
    let whole = sides(claim).iter().all(|side| rows.has_all(side));
    let trend = match (claim.form, &claim.along) {
        (Form::Rising | Form::Falling, Some(along)) => Some(monotone(claim, &rows.only(&claim.at), along)),
        _ => None,
    };
    let bounds = Bounds::of(claim);
    let found = match trend {
        Some(found) => found,
        None => values(claim, rows).map(|values| {
            let judged: Vec<_> = values.iter().map(|value| (&bounds, value)).collect();
            (verdict(&judged), values)
        }),
    };
    let Some((verdict, values)) = found.filter(|_| whole) else {
        let note = " (not all runs have it)".into();
        return Decided { verdict: Verdict::Unknown, values: Vec::new(), note };
    };
    let mut note = String::new();
    // A mean may hide a case that says the opposite.
    if claim.cases == Aggregate::Mean && claim.along.is_none() {
        let each = Claim { cases: Aggregate::Each, ..claim.clone() };
        let cases = self::values(&each, rows).unwrap_or_default();
        let agree = cases.iter().filter(|v| bounds.hold(v.value())).count();
        if cases.len() > values.len() && agree < cases.len() {
            note = format!(" (in {agree} of {} cases)", cases.len());
        }
    }
    match claim.seeds {
        _ if rows.plan.experiment.figure.seeds.all => note += " (one run of each)",
        // Then nothing is known of how far chance moves it.
        Aggregate::Mean if !values.iter().all(Value::is_of_chance) => note += " (one seed)",
        // What ends show is of these runs alone.
        Aggregate::Min | Aggregate::Max => {
            let runs = asked(claim, rows).cases().iter().map(|case| case.all.len()).min();
            let _ = write!(note, " (of {} runs)", runs.unwrap_or(0));
        }
        _ => {}
    }
    Decided { verdict, values, note }
}

/// The cases that a claim is about, and those that they are held against.
fn sides(claim: &Claim) -> Vec<Filter> {
    let mut against = claim.at.clone();
    against.extend(claim.against.clone());
    if claim.form.compares() { vec![claim.at.clone(), against] } else { vec![claim.at.clone()] }
}

/// The runs that a claim asks for anything.
pub(crate) fn asked<'a>(claim: &Claim, rows: &Rows<'a>) -> Rows<'a> {
    let sides = sides(claim);
    rows.where_row(|row| sides.iter().any(|side| row.matches(side)))
}

/// What a claim's value may be.
struct Bounds {
    least: f64,
    most: f64,
    /// A value at a bound is none: where one is to be more than another, equals are not.
    strict: bool,
}

impl Bounds {
    fn of(claim: &Claim) -> Bounds {
        let [least, most] = match (claim.published, claim.at_most, claim.at_least) {
            (Some(n), ..) => n.ends(),
            (_, Some(most), _) => [f64::NEG_INFINITY, most],
            (_, _, least) => [least.unwrap_or(f64::NEG_INFINITY), f64::INFINITY],
        };
        let neutral = match claim.form {
            Form::Ratio => Some(1.0),
            Form::Difference | Form::Change => Some(0.0),
            _ => None,
        };
        let strict = claim.published.is_none()
            && claim.tolerance == 0.0
            && [Some(least), Some(most)].contains(&neutral);
        Bounds { least: least - claim.tolerance, most: most + claim.tolerance, strict }
    }

    fn hold(&self, value: f64) -> bool {
        match self.strict {
            true => self.least < value && value < self.most,
            false => (self.least..=self.most).contains(&value),
        }
    }

    /// Of a value that is known to an interval.
    fn verdict(&self, [low, high]: [f64; 2]) -> Verdict {
        match () {
            () if self.hold(low) && self.hold(high) => Verdict::Holds,
            () if high < self.least || low > self.most || low == high => Verdict::No,
            () => Verdict::Unsure,
        }
    }
}

/// The values of a claim: one, or one for each case or each value of its dimensions. None: not all cases have the measure.
fn values(claim: &Claim, rows: &Rows<'_>) -> Option<Vec<Value>> {
    let compares = claim.form.compares();
    let with = |v: f64, other: f64| match claim.form {
        Form::Ratio => v / other,
        Form::Difference => v - other,
        Form::Change => 100.0 * (v / other - 1.0),
        _ => v,
    };
    let own = rows.only(&claim.at);
    let here = |value: &str| OneOrMany::One(value.into());
    let mut all = Vec::new();
    for (key, own) in own.groups(&claim.each) {
        let mut at: Filter = claim.at.clone();
        at.extend(claim.against.clone());
        at.extend(claim.each.iter().zip(key).map(|(name, value)| (name.clone(), here(value))));
        let others = if compares { rows.only(&at) } else { own.clone() };
        match claim.cases {
            // Each against its like: the same case but for what is compared.
            Aggregate::Each => {
                for case in own.cases() {
                    let mut like = case.place();
                    like.extend(claim.against.clone());
                    let other = if compares { rows.only(&like) } else { case.clone() };
                    all.push(Value::one(estimate(claim, &case, &other, Aggregate::Mean, with)?));
                }
            }
            end @ (Aggregate::Min | Aggregate::Max) => {
                let cases = own.cases().into_iter().map(|case| {
                    let others = if compares { others.cases() } else { vec![case.clone()] };
                    let all = others.iter().map(|other| estimate(claim, &case, other, end, with));
                    all.collect::<Option<Vec<_>>>().filter(|all| !all.is_empty())
                });
                all.push(Value { cases: cases.collect::<Option<_>>()?, end });
            }
            how => all.push(Value::one(estimate(claim, &own, &others, how, with)?)),
        }
    }
    (!all.is_empty()).then_some(all)
}

/// What the runs give for some cases, held against others; `how`: over the cases. None: a case has no value.
fn estimate(
    claim: &Claim,
    own: &Rows<'_>,
    others: &Rows<'_>,
    how: Aggregate,
    with: impl Fn(f64, f64) -> f64,
) -> Option<Estimate> {
    let value = |own: &Rows<'_>, others: &Rows<'_>| {
        let against = claim.against_measure.as_ref().unwrap_or(&claim.measure);
        let joined = |rows, measure| Some(join(&per_case(claim, rows, measure)?, how));
        let value = with(joined(own, &claim.measure)?, joined(others, against)?);
        Some(value).filter(|v| v.is_finite())
    };
    // What a single seed says, of those that all of these cases have: both sides of a comparison are of the same.
    let cases = own.cases().into_iter().chain(others.cases()).map(|case| case.seeds());
    let common = cases.reduce(|a, b| &a & &b).unwrap_or_default();
    let alone = |seed: u64| value(&own.of_seed(seed), &others.of_seed(seed));
    let of_seeds: Option<Vec<f64>> = match claim.seeds {
        _ if own.plan.experiment.figure.seeds.all => None,
        Aggregate::Mean if common.len() > 1 => common.into_iter().map(alone).collect(),
        // An end of what the seeds gave has no interval.
        _ => None,
    };
    Some(Estimate { value: value(own, others)?, seeds: of_seeds.map(|of| Spread::of(&of)) })
}

/// Of each case, its seeds as one value; None: a run has none.
fn per_case(claim: &Claim, rows: &Rows<'_>, measure: &str) -> Option<Vec<f64>> {
    let values = rows.cases().into_iter().map(|case| {
        let values = case.values(measure);
        let whole = values.len() == case.all.len();
        Some(join(&values, claim.seeds)).filter(|v| whole && v.is_finite())
    });
    values.collect()
}

fn join(values: &[f64], how: Aggregate) -> f64 {
    if values.is_empty() {
        return f64::NAN;
    }
    let s = Spread::of(values);
    match how {
        Aggregate::Mean | Aggregate::Each => s.mean,
        Aggregate::Min => s.min,
        Aggregate::Max => s.max,
        Aggregate::Median => median(values.to_vec()),
    }
}

/// Least difference of the ends of what rises or falls, of the larger one.
const LEAST_EFFECT: f64 = 0.01;

/// Do the means along a dimension rise (or fall), but for the tolerance? With the means.
fn monotone(claim: &Claim, rows: &Rows<'_>, along: &str) -> Option<(Verdict, Vec<Value>)> {
    let groups: Vec<Rows<'_>> = rows.groups(&[along.to_string()]).into_iter().map(|(_, rows)| rows).collect();
    let [first, .., last] = groups.as_slice() else { return None };
    let sign = if claim.form == Form::Rising { 1.0 } else { -1.0 };
    let of = |own: &Rows<'_>, others: &Rows<'_>, with: &dyn Fn(f64, f64) -> f64| {
        Some(Value::one(estimate(claim, own, others, claim.cases, with)?))
    };
    let step = |after: f64, before: f64| sign * (after - before) + claim.tolerance;
    let effect = |last: f64, first: f64| sign * (last - first) - LEAST_EFFECT * first.abs().max(last.abs());
    let steps: Vec<Value> = groups.windows(2).map(|w| of(&w[1], &w[0], &step)).collect::<Option<_>>()?;
    let whole = of(last, first, &effect)?;
    let [not_back, on] = [false, true].map(|strict| Bounds { least: 0.0, most: f64::INFINITY, strict });
    let judged: Vec<_> = steps.iter().map(|step| (&not_back, step)).chain([(&on, &whole)]).collect();
    let means = groups.iter().map(|group| of(group, group, &|own, _| own));
    Some((verdict(&judged), means.collect::<Option<_>>()?))
}

/// Three figures, more where the number has them before the point.
pub fn figures(x: f64) -> String {
    if !x.is_finite() {
        return "-".into();
    }
    let before = if x == 0.0 { 0 } else { x.abs().log10().floor() as i32 + 1 };
    let digits = (3 - before).clamp(0, 6) as usize;
    let text = format!("{x:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".into() } else { text.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SplitMix64; twelve uniform numbers less six are nearly normal.
    struct Dice(u64);

    impl Dice {
        fn uniform(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (z ^ (z >> 31)) as f64 / u64::MAX as f64
        }

        fn normal(&mut self) -> f64 {
            (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
        }

        /// A case of five seeds, with this true mean and a standard deviation of 1.
        fn case(&mut self, mean: f64) -> Estimate {
            let seeds: Vec<f64> = (0..5).map(|_| mean + self.normal()).collect();
            let s = Spread::of(&seeds);
            Estimate { value: s.mean, seeds: Some(s) }
        }
    }

    const CASES: usize = 32;
    const TIMES: usize = 1000;

    /// All 32 cases are just inside the bound. Each by itself at 5 %, in 55 % of all experiments one of them would be outside.
    #[test]
    fn many_cases_are_refuted_no_oftener_than_one() {
        let (mut dice, mut no, mut alone) = (Dice(1), 0, 0);
        let bounds = Bounds { least: 10.0, most: f64::INFINITY, strict: false };
        for _ in 0..TIMES {
            let cases: Vec<Value> = (0..CASES).map(|_| Value::one(dice.case(10.0))).collect();
            let judged: Vec<_> = cases.iter().map(|case| (&bounds, case)).collect();
            no += usize::from(verdict(&judged) == Verdict::No);
            alone += usize::from(cases.iter().any(|c| bounds.verdict(c.interval(ERROR)) == Verdict::No));
        }
        assert!(no <= TIMES / 20 && alone >= TIMES / 2, "{no} and {alone} of {TIMES}");
    }

    /// The smallest of 32 means of five is 0.9 too small, as is the mean of the smallest of each seed by more than 2: its interval
    /// has the true one nevertheless, where all are alike and where one is smaller than the others.
    #[test]
    fn the_smallest_of_many_is_within_its_interval() {
        for (end, sign) in [(Aggregate::Min, 1.0), (Aggregate::Max, -1.0)] {
            for gap in [0.0, 1.0, 5.0] {
                let (mut dice, mut missed, mut sum) = (Dice(2), 0, 0.0);
                for _ in 0..TIMES {
                    let mean = |i: usize| sign * (10.0 + if i == 0 { 0.0 } else { gap });
                    let cases = (0..CASES).map(|i| vec![dice.case(mean(i))]).collect();
                    let value = Value { cases, end };
                    let [low, high] = value.interval(ERROR);
                    missed += usize::from(!(low..=high).contains(&(sign * 10.0)));
                    sum += sign * value.value();
                }
                assert!(missed <= TIMES / 20, "{end:?}, {gap}: {missed} of {TIMES}");
                if gap == 0.0 {
                    assert!((sum / TIMES as f64 - 9.07).abs() < 0.05, "{}", sum / TIMES as f64);
                }
            }
        }
    }

    /// The largest of eight less the largest of eight others, each of a seed beside the others.
    #[test]
    fn ends_are_held_against_ends() {
        for (end, sign) in [(Aggregate::Max, 1.0), (Aggregate::Min, -1.0)] {
            let (mut dice, mut missed) = (Dice(3), 0);
            for _ in 0..TIMES {
                let mut side = |top: f64| -> Vec<Vec<f64>> {
                    (0..8)
                        .map(|i| {
                            let mean = sign * if i == 0 { top } else { top - 0.3 };
                            (0..5).map(|_| mean + dice.normal()).collect()
                        })
                        .collect()
                };
                let (own, others) = (side(7.0), side(5.0));
                let held = |a: &Vec<f64>, b: &Vec<f64>| {
                    let s = Spread::of(&a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>());
                    Estimate { value: s.mean, seeds: Some(s) }
                };
                let cases = own.iter().map(|a| others.iter().map(|b| held(a, b)).collect()).collect();
                let value = Value { cases, end };
                let means = |side: &[Vec<f64>]| side.iter().map(|s| Spread::of(s).mean).collect::<Vec<_>>();
                let direct = join(&means(&own), end) - join(&means(&others), end);
                assert!((value.value() - direct).abs() < 1e-9, "{} {direct}", value.value());
                let [low, high] = value.interval(ERROR);
                missed += usize::from(!(low..=high).contains(&(sign * 2.0)));
            }
            assert!(missed <= TIMES / 20, "{end:?}: {missed} of {TIMES}");
        }
    }
}
