//! Whether a claim holds of the runs.

use crate::figure::{Aggregate, CauseKind, Claim, Filter, Form, OneOrMany};
use crate::rows::{Rows, Spread, median};
use serde::Serialize;

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

impl Judged {
    /// Does it not hold, and nothing shows why?
    pub fn is_open(&self) -> bool {
        matches!(self.verdict, Verdict::No | Verdict::Unsure) && !self.cause.as_ref().is_some_and(|c| c.shown)
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
    let Decided { verdict, values: found, note } = decide(claim, rows);
    let values: Vec<f64> = found.iter().map(|(value, _)| *value).collect();
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
        [one] => match found[0].1 {
            half if half.is_finite() => with(format!("{} ± {}", figures(*one), figures(half))),
            _ => with(figures(*one)),
        },
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
        statements: claim.statements.clone(),
        published,
        measured: measured + &note,
        values,
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
    }
}

/// What the runs say: the verdict, each value with the half-width of its 95 % confidence interval (NaN: of one seed, or not of means), and
/// what else is to be known of it.
struct Decided {
    verdict: Verdict,
    values: Vec<(f64, f64)>,
    note: String,
}

impl Decided {
    fn unknown(note: String) -> Decided {
        Decided { verdict: Verdict::Unknown, values: Vec::new(), note }
    }
}

fn decide(claim: &Claim, rows: &Rows<'_>) -> Decided {
    let own = rows.only(&claim.at);
    if let (Form::Rising | Form::Falling, Some(along)) = (claim.form, &claim.along) {
        return monotone(claim, &own, along);
    }
    let asked = asked(claim, rows);
    let Some(all) = values(claim, rows).filter(|_| sides(claim).iter().all(|side| rows.has_all(side))) else {
        return Decided::unknown(" (not all runs have it)".into());
    };
    // What a single seed says, of those that all of these cases have: both sides of a comparison are of the same.
    let common = common_seeds(&asked);
    let alone = |seed: &u64| values(claim, &rows.of_seed(*seed));
    let seeds: Option<Vec<Vec<f64>>> = match claim.seeds {
        Aggregate::Mean if common.len() > 1 => common.iter().map(alone).collect(),
        // An end of what the seeds gave has no interval.
        _ => None,
    };
    let with_interval = all.iter().enumerate().map(|(i, value)| {
        let of_seeds: Vec<f64> = seeds.iter().flatten().map(|found| found[i]).collect();
        (*value, Spread::of(&of_seeds).half_width)
    });
    let values: Vec<(f64, f64)> = with_interval.collect();
    let bounds = Bounds::of(claim);
    let verdicts: Vec<Verdict> = values.iter().map(|(value, half)| bounds.verdict(*value, *half)).collect();
    let verdict =
        [Verdict::No, Verdict::Unsure].into_iter().find(|v| verdicts.contains(v)).unwrap_or(Verdict::Holds);
    let mut note = String::new();
    // A mean may hide a case that says the opposite.
    if claim.cases == Aggregate::Mean {
        let each = Claim { cases: Aggregate::Each, ..claim.clone() };
        let cases = self::values(&each, rows).unwrap_or_default();
        let agree = cases.iter().filter(|v| bounds.hold(**v)).count();
        if cases.len() > values.len() && agree < cases.len() {
            note = format!(" (in {agree} of {} cases)", cases.len());
        }
    }
    // Then nothing is known of how far chance moves it.
    if claim.seeds == Aggregate::Mean && seeds.is_none() {
        note += " (one seed)";
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

/// The seeds that each case and discipline among the runs has.
fn common_seeds(rows: &Rows<'_>) -> Vec<u64> {
    let cases: Vec<_> = rows.cases().iter().map(Rows::seeds).collect();
    let first = cases.first().cloned().unwrap_or_default();
    first.into_iter().filter(|seed| cases.iter().all(|case| case.contains(seed))).collect()
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

    /// Of a value that is known to a half-width; NaN: it is all that is known.
    fn verdict(&self, value: f64, half_width: f64) -> Verdict {
        let half = if half_width.is_finite() { half_width } else { 0.0 };
        let (low, high) = (value - half, value + half);
        match () {
            () if self.hold(low) && self.hold(high) => Verdict::Holds,
            () if high < self.least || low > self.most || half == 0.0 => Verdict::No,
            () => Verdict::Unsure,
        }
    }
}

/// The values of a claim: one, or one for each case or each value of its dimensions. None: not all cases have the measure.
fn values(claim: &Claim, rows: &Rows<'_>) -> Option<Vec<f64>> {
    let compares = claim.form.compares();
    let own = rows.only(&claim.at);
    let here = |value: &str| OneOrMany::One(value.into());
    let mut all = Vec::new();
    for (key, own) in own.groups(&claim.each) {
        let mut at: Filter = claim.at.clone();
        at.extend(claim.against.clone());
        at.extend(claim.each.iter().zip(key).map(|(name, value)| (name.clone(), here(value))));
        let with = |v: f64, other: f64| match claim.form {
            Form::Ratio => v / other,
            Form::Difference => v - other,
            Form::Change => 100.0 * (v / other - 1.0),
            _ => v,
        };
        if claim.cases == Aggregate::Each {
            // Each against its like: the same case but for what is compared.
            for case in own.cases() {
                let mut like = case.place();
                like.extend(claim.against.clone());
                let other = if compares {
                    join(&per_case(claim, &rows.only(&like))?, Aggregate::Mean)
                } else {
                    f64::NAN
                };
                all.push(with(join(&per_case(claim, &case)?, Aggregate::Mean), other));
            }
        } else {
            let other =
                if compares { join(&per_case(claim, &rows.only(&at))?, claim.cases) } else { f64::NAN };
            all.push(with(join(&per_case(claim, &own)?, claim.cases), other));
        }
    }
    (!all.is_empty() && all.iter().all(|v| v.is_finite())).then_some(all)
}

/// Of each case, its seeds as one value; None: a run has none.
fn per_case(claim: &Claim, rows: &Rows<'_>) -> Option<Vec<f64>> {
    let values = rows.cases().into_iter().map(|case| {
        let values = case.values(&claim.measure);
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

/// Do the means along a dimension rise (or fall), but for the tolerance?
fn monotone(claim: &Claim, rows: &Rows<'_>, along: &str) -> Decided {
    let groups = rows.groups(&[along.to_string()]);
    let values: Option<Vec<f64>> =
        groups.iter().map(|(_, rows)| Some(join(&per_case(claim, rows)?, claim.cases))).collect();
    let Some(values) = values.filter(|all| all.len() > 1 && rows.has_all(&claim.at)) else {
        return Decided::unknown(" (not all runs have it)".into());
    };
    let (first, last) = (values[0], values[values.len() - 1]);
    let sign = if claim.form == Form::Rising { 1.0 } else { -1.0 };
    let steps = values.windows(2).all(|w| sign * (w[1] - w[0]) >= -claim.tolerance);
    let whole = sign * (last - first) >= LEAST_EFFECT * first.abs().max(last.abs()) && first != last;
    let verdict = if steps && whole { Verdict::Holds } else { Verdict::No };
    Decided { verdict, values: values.into_iter().map(|v| (v, f64::NAN)).collect(), note: String::new() }
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
