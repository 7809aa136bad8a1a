//! What the papers say (`statements/`), written from the papers alone: each statement is one that a run can hold or break.

use queuewright_experiments::{Catalogue, Form};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::Path;

const PAPERS: [&str; 6] = ["titrate", "duk", "cp-aqm", "santa", "queuepilot", "l4s"];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    paper: String,
    written: toml::value::Datetime,
    defaults: Setting,
    setting: Vec<Named>,
    statement: Vec<Statement>,
}

/// How runs are made: what the paper says of it, and what it leaves out.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Setting {
    #[serde(default)]
    runs: Option<u32>,
    #[serde(default)]
    window: Option<String>,
    #[serde(default)]
    setting: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    id: String,
    #[serde(default)]
    says: String,
    #[serde(default)]
    window: Option<String>,
    #[serde(default)]
    unstated: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Statement {
    id: String,
    place: String,
    kind: Kind,
    about: About,
    system: String,
    #[serde(default)]
    rivals: Vec<String>,
    measure: String,
    statistic: String,
    unit: String,
    setting: String,
    says: String,
    value: Option<f64>,
    tolerance: Option<f64>,
    tolerance_from: Option<String>,
    at_least: Option<f64>,
    at_most: Option<f64>,
    #[serde(default)]
    order: Vec<toml::Value>,
    over: Option<String>,
    goes: Option<String>,
    from: Option<f64>,
    to: Option<f64>,
    least: Option<f64>,
    #[serde(default)]
    why: String,
    wrong: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Value,
    Bound,
    Order,
    Trend,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum About {
    System,
    Baseline,
    Artifact,
}

fn read(paper: &str) -> File {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("statements/{paper}.toml"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn once<'a>(paper: &str, ids: impl Iterator<Item = &'a str>) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    for id in ids {
        assert!(seen.insert(id), "{paper}: {id} is there twice");
        assert!(
            id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.'),
            "{paper}: {id}"
        );
    }
    seen
}

/// A tie is a list in the list.
fn ties(order: &[toml::Value]) -> bool {
    order.iter().any(toml::Value::is_array)
}

#[test]
fn each_statement_can_be_judged() {
    for paper in PAPERS {
        let file = read(paper);
        assert!(!file.paper.is_empty() && file.written.date.is_some(), "{paper}");
        let whole = &file.defaults;
        assert!(
            whole.setting.is_some() && whole.runs != Some(0) && whole.window.as_deref() != Some(""),
            "{paper}"
        );
        let settings = once(paper, file.setting.iter().map(|s| s.id.as_str()));
        let used: BTreeSet<&str> = file.statement.iter().map(|s| s.setting.as_str()).collect();
        assert_eq!(settings, used, "{paper}: settings that are named, and those that are there");
        for s in &file.setting {
            let says = !s.says.is_empty() || s.window.is_some() || !s.unstated.is_empty();
            assert!(says, "{paper}: {} says nothing", s.id);
        }
        once(paper, file.statement.iter().map(|s| s.id.as_str()));
        for s in &file.statement {
            let at = format!("{paper}: {}", s.id);
            for (key, text) in [
                ("place", &s.place),
                ("system", &s.system),
                ("measure", &s.measure),
                ("statistic", &s.statistic),
                ("unit", &s.unit),
                ("says", &s.says),
            ] {
                assert!(!text.trim().is_empty(), "{at}: {key} is empty");
            }
            // The keys of its kind, and those of no other.
            let has = [
                (Kind::Value, s.value.is_some() && s.tolerance.is_some() && s.tolerance_from.is_some()),
                (Kind::Bound, s.at_least.is_some() != s.at_most.is_some()),
                (Kind::Order, (s.order.len() > 1 || ties(&s.order)) && s.least.is_some()),
                (Kind::Trend, s.over.is_some() && s.goes.is_some() && s.from.is_some() && s.to.is_some()),
            ];
            for (kind, has) in has {
                assert_eq!(has, kind == s.kind, "{at}: {:?} with the keys of {kind:?}", s.kind);
            }
            let bounded = s.at_least.is_some() || s.at_most.is_some();
            assert!(!bounded || s.kind == Kind::Bound, "{at}: a bound");
            assert!(s.tolerance.is_none_or(|t| t >= 0.0), "{at}: a tolerance below 0");
            let ends = s.from.zip(s.to);
            assert!(ends.is_none_or(|(from, to)| from != to), "{at}: from and to are the same");
            if s.kind == Kind::Trend {
                let ways = ["up", "down", "flat", "peak", "valley"];
                assert!(s.goes.as_deref().is_some_and(|g| ways.contains(&g)), "{at}: {:?}", s.goes);
                assert!(s.least.is_some_and(|l| l >= 0.0), "{at}: without an effect");
            }
            assert!(!s.wrong.is_empty(), "{at}: nothing for which it must not hold");
            assert!(!s.rivals.contains(&s.system), "{at}: its own rival");
            assert!(s.about != About::Artifact || s.kind == Kind::Value, "{at}: an artifact's is a value");
            assert!(s.why.is_empty() || s.why.len() > 3, "{at}: {}", s.why);
        }
    }
}

/// What claims say that they judge is there, and is judged with the statement's own value, bound and tolerance, or a tighter one. (Where
/// both have the same unit: counts of experiments are judged in each, points as what is left. A reduction may be a change below 0.)
#[test]
fn claims_judge_what_the_paper_says() {
    let (mut linked, mut compared, mut wrong) = (0, 0, Vec::new());
    for e in Catalogue::embedded().unwrap().experiments.iter().filter(|e| PAPERS.contains(&&*e.paper)) {
        let file = read(&e.paper);
        for claim in &e.figure.claims {
            let at = format!("{}: \"{}\"", e.id(), claim.text);
            let unit = match claim.form {
                Form::Change => "%".into(),
                Form::Ratio => "times".into(),
                _ => e.figure.measure(&claim.measure).unit,
            };
            let unsigned = matches!(claim.form, Form::Change | Form::Difference);
            for id in &claim.statements {
                let Some(s) = file.statement.iter().find(|s| s.id == *id) else {
                    wrong.push(format!("{at}: there is no statement {id}"));
                    continue;
                };
                linked += 1;
                if s.unit != unit && !(s.unit.starts_with("% of") && unit == "%") {
                    continue;
                }
                let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0);
                let same = |a: f64, b: f64| close(a, b) || unsigned && close(a, -b);
                match (s.kind, s.value, claim.published.map(|n| n.ends())) {
                    (Kind::Value, Some(value), Some([from, to])) => {
                        compared += 1;
                        let tolerance = s.tolerance.unwrap_or(0.0);
                        if !(from <= value && value <= to || same(from, value)) && from == to {
                            wrong.push(format!("{at}: published {from}, the statement {id} has {value}"));
                        }
                        if claim.tolerance > tolerance && !close(claim.tolerance, tolerance) {
                            wrong.push(format!(
                                "{at}: tolerance {}, the statement {id} has {tolerance}",
                                claim.tolerance
                            ));
                        }
                    }
                    (Kind::Bound, ..) => {
                        compared += 1;
                        let most = [claim.at_most, claim.at_least.map(|x| -x).filter(|_| unsigned)];
                        let least = [claim.at_least, claim.at_most.map(|x| -x).filter(|_| unsigned)];
                        let within = |ours: [Option<f64>; 2], theirs: Option<f64>, sign: f64| {
                            theirs.is_none_or(|t| {
                                ours.into_iter().flatten().any(|o| sign * o <= sign * t || close(o, t))
                            })
                        };
                        let by_value = claim.published.is_some();
                        let inside = within(most, s.at_most, 1.0) && within(least, s.at_least, -1.0);
                        if !(by_value || inside) {
                            let theirs = (s.at_least, s.at_most);
                            wrong.push(format!(
                                "{at}: {:?} to {:?}, the statement {id} has {theirs:?}",
                                claim.at_least, claim.at_most
                            ));
                        }
                    }
                    _ => {}
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{linked} links, of which {} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    println!("{linked} links, {compared} compared");
    assert!(linked > 1000 && compared > 500, "{linked} links, {compared} compared");
}
