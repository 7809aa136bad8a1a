//! Whether a claim holds of the runs.

use crate::figure::{Aggregate, Claim, Filter, Form, Number, OneOrMany};
use crate::rows::{Rows, Spread, median};
use serde::Serialize;

/// What the runs say of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The value is the published one, within the tolerance.
    Holds,
    /// The value is another, but it lies on the same side of what it is compared with.
    Direction,
    /// It does not hold.
    No,
    /// No run has the measure.
    Unknown,
}

impl Verdict {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Direction => "holds in direction",
            Verdict::No => "does not hold",
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
    /// Published, in words with unit.
    pub published: String,
    /// Measured, in words with unit.
    pub measured: String,
    /// The measured value, or its ends if each case is asked; null if none.
    pub values: Vec<f64>,
    /// The verdict.
    pub verdict: Verdict,
    /// Why not, from experiments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The verdict with each wrong variant that was run, of those in the place of a discipline that the claim is about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nulls: Vec<WithNull>,
}

/// The verdict of a claim with a wrong variant in the place of the system.
#[derive(Debug, Clone, Serialize)]
pub struct WithNull {
    /// Name of the wrong variant.
    pub null: String,
    /// The verdict.
    pub verdict: Verdict,
}

impl Judged {
    /// Does it hold, and with every wrong variant that was run, too? It says nothing of the system then.
    pub fn is_weak(&self) -> bool {
        let holds = |verdict| verdict == Verdict::Holds;
        holds(self.verdict) && !self.nulls.is_empty() && self.nulls.iter().all(|n| holds(n.verdict))
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
    let (verdict, values, note) = decide(claim, rows);
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
        [one] => with(figures(*one)),
        [first, .., last] if matches!(claim.form, Form::Rising | Form::Falling) => {
            with(format!("{} ... {}", figures(*first), figures(*last)))
        }
        all => {
            let s = Spread::of(all);
            with(range([s.min, s.max]))
        }
    };
    Judged {
        text: claim.text.clone(),
        source: claim.source.clone(),
        published,
        measured: measured + &note,
        values,
        verdict,
        why: claim.why.clone().filter(|_| verdict != Verdict::Holds),
        nulls: Vec::new(),
    }
}

fn decide(claim: &Claim, rows: &Rows<'_>) -> (Verdict, Vec<f64>, String) {
    let own = rows.only(&claim.at);
    if let (Form::Rising | Form::Falling, Some(along)) = (claim.form, &claim.along) {
        return monotone(claim, &own, along);
    }
    let mut values = Vec::new();
    let mut other = f64::NAN;
    for (key, own) in own.groups(&claim.each) {
        let ours = per_case(claim, &own);
        let ours = if claim.cases == Aggregate::Each { ours } else { vec![join(&ours, claim.cases)] };
        let mut at: Filter = claim.at.clone();
        at.extend(claim.against.clone());
        let here = |value: &str| OneOrMany::One(value.into());
        at.extend(claim.each.iter().zip(key).map(|(name, value)| (name.clone(), here(value))));
        let others = per_case(claim, &rows.only(&at));
        other = join(&others, if claim.cases == Aggregate::Each { Aggregate::Mean } else { claim.cases });
        values.extend(ours.iter().map(|v| match claim.form {
            Form::Ratio => v / other,
            Form::Difference => v - other,
            Form::Change => 100.0 * (v / other - 1.0),
            _ => *v,
        }));
    }
    if values.is_empty() {
        return (Verdict::Unknown, Vec::new(), String::new());
    }
    if values.iter().any(|v| !v.is_finite()) {
        return (Verdict::Unknown, Vec::new(), String::new());
    }
    let bounds = match (claim.published, claim.at_most, claim.at_least) {
        (Some(n), ..) => n.ends(),
        (_, Some(most), _) => [f64::NEG_INFINITY, most],
        (_, _, least) => [least.unwrap_or(f64::NEG_INFINITY), f64::INFINITY],
    };
    let inside = |v: &f64| (bounds[0] - claim.tolerance..=bounds[1] + claim.tolerance).contains(v);
    let neutral = if claim.form == Form::Ratio { 1.0 } else { 0.0 };
    let same_side = match claim.form {
        Form::Ratio | Form::Difference | Form::Change => {
            let side = |v: f64| if v == neutral { 0.0 } else { (v - neutral).signum() };
            // Both ends of what was published are on one side, or there is no direction.
            let wanted = match claim.published {
                Some(n) => n.ends().map(side),
                None => [claim.at_most, claim.at_least]
                    .map(|b| b.map_or(0.0, side))
                    .map(|s| if s == 0.0 { f64::NAN } else { s }),
            };
            let wanted = wanted.into_iter().filter(|s| !s.is_nan()).collect::<Vec<_>>();
            !wanted.is_empty()
                && values.iter().all(|v| *v != neutral && wanted.iter().all(|w| side(*v) == *w))
        }
        _ => match (claim.published_against, claim.against.is_empty()) {
            (Some(published), false) => {
                let middle =
                    claim.published.map_or(claim.at_most.or(claim.at_least).unwrap_or(f64::NAN), mid);
                values.iter().all(|v| (v - other).signum() == (middle - published).signum() && *v != other)
            }
            _ => false,
        },
    };
    let verdict = match () {
        () if values.iter().all(inside) => Verdict::Holds,
        () if same_side => Verdict::Direction,
        () => Verdict::No,
    };
    let note = if claim.form == Form::Value && !claim.against.is_empty() {
        format!(" (the other: {})", figures(other))
    } else {
        String::new()
    };
    (verdict, values, note)
}

fn mid(n: Number) -> f64 {
    let [a, b] = n.ends();
    (a + b) / 2.0
}

/// Of each case, its seeds as one value.
fn per_case(claim: &Claim, rows: &Rows<'_>) -> Vec<f64> {
    let values = rows.cases().into_iter().map(|case| join(&case.values(&claim.measure), claim.seeds));
    values.filter(|v| v.is_finite()).collect()
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

/// Do the means along a dimension rise (or fall), but for the tolerance?
fn monotone(claim: &Claim, rows: &Rows<'_>, along: &str) -> (Verdict, Vec<f64>, String) {
    let groups = rows.groups(&[along.to_string()]);
    let values: Vec<f64> = groups
        .iter()
        .map(|(_, rows)| join(&per_case(claim, rows), claim.cases))
        .filter(|v| v.is_finite())
        .collect();
    let (Some(first), Some(last)) = (values.first(), values.last()) else {
        return (Verdict::Unknown, values, String::new());
    };
    if values.len() < 2 {
        return (Verdict::Unknown, values, String::new());
    }
    let sign = if claim.form == Form::Rising { 1.0 } else { -1.0 };
    let steps = values.windows(2).all(|w| sign * (w[1] - w[0]) >= -claim.tolerance);
    let whole = sign * (last - first) > 0.0;
    let verdict = match (steps, whole) {
        (true, true) => Verdict::Holds,
        (false, true) => Verdict::Direction,
        _ => Verdict::No,
    };
    (verdict, values, String::new())
}

/// Three figures, more where the number has them before the point.
pub(crate) fn figures(x: f64) -> String {
    if !x.is_finite() {
        return "-".into();
    }
    let before = if x == 0.0 { 0 } else { x.abs().log10().floor() as i32 + 1 };
    let digits = (3 - before).clamp(0, 6) as usize;
    let text = format!("{x:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".into() } else { text.to_string() }
}
