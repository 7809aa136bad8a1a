//! What there is to choose from, for programs.

use crate::preset::PRESETS;
use queuewright_aqm::{Param, ParamKind, Value, registry};
use queuewright_cca::Kind;
use serde_json::json;

/// Disciplines with their parameters, congestion controls, and mixes of these.
pub fn catalogue() -> serde_json::Value {
    let number = |p: &Param, v: Value| match p.kind {
        ParamKind::Flag | ParamKind::Choice(_) | ParamKind::File => serde_json::Value::Null,
        _ => p.display(v).into(),
    };
    let disciplines: Vec<_> = registry()
        .iter()
        .map(|info| {
            let parameters: Vec<_> = info
                .params
                .iter()
                .map(|p| {
                    json!({
                        "name": p.name,
                        "about": p.about,
                        "kind": kind(p),
                        "unit": unit_in_words(p),
                        "default": p.display(p.default),
                        "min": number(p, p.min),
                        "max": number(p, p.max),
                        "allowed": p.allowed(),
                        "words": words(p),
                        "source": p.source,
                        "tunable": p.tunable,
                    })
                })
                .collect();
            json!({
                "name": info.name,
                "title": info.title,
                "about": info.about,
                "source": info.source,
                "parameters": parameters,
            })
        })
        .collect();
    let controls: Vec<_> = Kind::ALL
        .iter()
        .map(|k| {
            let info = k.info();
            json!({ "name": info.name, "about": info.about, "source": info.source })
        })
        .collect();
    let mixes: Vec<_> = PRESETS
        .iter()
        .map(|p| {
            let weights: serde_json::Map<_, _> =
                p.weights.iter().map(|(k, w)| (k.name().to_string(), json!(w))).collect();
            json!({ "name": p.name, "about": p.about, "source": p.source, "weights": weights })
        })
        .collect();
    json!({ "disciplines": disciplines, "congestion_controls": controls, "mixes": mixes })
}

/// What a parameter is measured in.
fn kind(p: &Param) -> &'static str {
    match p.kind {
        ParamKind::Time => "time",
        ParamKind::Size => "size",
        ParamKind::Rate => "rate",
        ParamKind::Count => "count",
        ParamKind::Ratio => "ratio",
        ParamKind::Probability => "probability",
        ParamKind::Flag => "flag",
        ParamKind::Choice(_) => "choice",
        ParamKind::File => "file",
    }
}

/// The words that may be written: a flag's, a choice's, and the one that stands for 0.
fn words(p: &Param) -> Vec<&'static str> {
    let own: &[&str] = match p.kind {
        ParamKind::Flag => &["true", "false"],
        ParamKind::Choice(words) => words,
        _ => &[],
    };
    own.iter().copied().chain(p.zero).collect()
}

/// The unit of a parameter in words of people: a pure number has none.
pub fn unit_in_words(p: &Param) -> &'static str {
    match p.kind {
        ParamKind::Flag => "flag",
        ParamKind::Choice(_) => "choice",
        ParamKind::File => "file",
        _ if p.unit.is_empty() => "number",
        _ => p.unit,
    }
}
