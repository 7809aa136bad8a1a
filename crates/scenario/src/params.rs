//! A discipline's parameters: read against the registry, kept exactly, resolved
//! for a run once its bandwidth-delay product is known.

use crate::data::Files;
use crate::error::Error;
use crate::model::Discipline;
use crate::node::{Node, Value};
use crate::policy;
use crate::setting::Setting;
use crate::spec;
use crate::units::{self, Size, Unit};
use queuewright_aqm::{self as aqm, Info, Param, ParamKind, Spec, Weights};

pub(crate) fn out_of_range(info: &'static Info, param: &str) -> String {
    let allowed = info.param(param).map_or(String::new(), Param::allowed);
    format!("out of range; allowed: {}", allowed.replace(" .. ", " to "))
}

/// A parameter's value as written, of its kind; its range is not looked at.
pub(crate) fn setting(
    node: &Node,
    info: &'static Info,
    param: &'static Param,
    files: &Files,
) -> Result<Setting, Error> {
    of_kind(node, info, param, files).map_err(|mut e| {
        if let Some(word) = param.zero.filter(|_| param.kind != ParamKind::File) {
            e.message.push_str(&format!("; or \"{word}\""));
        }
        e
    })
}

fn of_kind(node: &Node, info: &'static Info, param: &'static Param, files: &Files) -> Result<Setting, Error> {
    if let (Some(word), Value::Text(text)) = (param.zero, &node.value)
        && text == word
    {
        return Ok(Setting::Zero(word));
    }
    let plain = |what: &str| match &node.value {
        Value::Number(text) | Value::Text(text) => Ok(text.as_str()),
        _ => Err(node.error(format!("not a {what}; write one, such as {}", param.display(param.default)))),
    };
    Ok(match param.kind {
        ParamKind::Time => Setting::Time(node.single(Unit::Time, 0, u64::MAX)?),
        ParamKind::Size => Setting::Size(node.size()?),
        ParamKind::Rate => Setting::Rate(node.single(Unit::Rate, 0, u64::MAX)?),
        ParamKind::Count => {
            let range = node.whole(0, u64::MAX)?;
            if range.min != range.max {
                return Err(node.error("one value is needed here, not a range"));
            }
            Setting::Count(range.min)
        }
        ParamKind::Ratio | ParamKind::Probability => {
            let text = plain("number")?;
            let value = match text.strip_suffix('%') {
                // A per cent is ten thousand millionths.
                Some(percent) => units::parse_millionths(percent).map(|m| (m / 100, m % 100)),
                None => units::parse_millionths(text).map(|m| (m, 0)),
            };
            match value {
                Ok((m, 0)) => Setting::Real(m),
                Ok(_) => return Err(node.error("too fine; at most four decimals of a per cent")),
                Err(wrong) => return Err(node.error(wrong.0)),
            }
        }
        ParamKind::Flag => Setting::Flag(node.bool()?),
        ParamKind::Choice(words) => {
            // A discipline among the words: santa's `inner`.
            if let (Value::Text(text), true) = (&node.value, words.iter().any(|w| aqm::find(w).is_some()))
                && let Some(other) = aqm::find(text).filter(|_| !words.contains(&text.as_str()))
            {
                let why = match aqm::Discipline::queues_of(other) {
                    0 => "is not made for that",
                    _ => "has several queues of its own to serve",
                };
                return Err(node.error(format!(
                    "{text} cannot manage a queue inside {}: it {why}; allowed: {}",
                    info.name,
                    param.allowed()
                )));
            }
            Setting::Choice(node.word("one of the choices", words)?)
        }
        ParamKind::File => Setting::File(policy::read(node, info, files)?),
    })
}

/// The discipline with every parameter decided; if a size came out of its
/// parameter's range, that parameter's key and what is wrong with it.
pub(crate) fn resolve(
    discipline: &Discipline,
    bdp_bytes: u64,
    packet_bytes: u64,
) -> Result<Spec, (String, String)> {
    let mut spec = Spec::new(discipline.info);
    spec.label.clone_from(&discipline.label);
    for (name, setting) in &discipline.settings {
        decide(&mut spec, name, setting, bdp_bytes, packet_bytes).map_err(|e| (name.to_string(), e))?;
    }
    let files = discipline.settings.iter().filter_map(|(name, s)| match s {
        Setting::File(file) => Some((name, file)),
        _ => None,
    });
    for (name, file) in files {
        let weights =
            Weights { values: file.policy.weights.clone(), id: format!("sha256:{}", file.file.sha256) };
        spec.set_weights(weights).map_err(|e| (name.to_string(), e.to_string()))?;
        // What its actions are goes with a policy.
        let actions = file.policy.actions;
        let told =
            discipline.settings.iter().find(|(name, _)| *name == "actions").map(|(_, s)| s.resolve(0, 0));
        if let Some(told) = told.filter(|told| *told != aqm::Value::Choice(actions)) {
            return Err((
                "actions".into(),
                format!("is {told}, but its policy was made for {actions}: leave it out"),
            ));
        }
        spec.set("actions", aqm::Value::Choice(actions)).map_err(|e| (name.to_string(), e.to_string()))?;
    }
    in_order(&spec)?;
    Ok(spec)
}

/// Two parameters of which one is not to be above the other: the first, and what is wrong with it.
fn in_order(spec: &Spec) -> Result<(), (String, String)> {
    for rule in spec.info.rules.iter().filter(|rule| matches!(rule.beside, aqm::Beside::NotAbove)) {
        let shown = |name| spec.shown().find(|(p, _)| p.name == name).map(|(_, text)| text);
        if let (Some(aqm::Value::Int(low)), Some(aqm::Value::Int(high))) =
            (spec.get(rule.param), spec.get(rule.other))
            && high > 0
            && low > high
        {
            let (low, high) = (shown(rule.param).unwrap_or_default(), shown(rule.other).unwrap_or_default());
            let message = format!("is {low}, above {} ({high}): {}", rule.other, rule.why);
            return Err((rule.param.into(), message));
        }
    }
    Ok(())
}

/// Linux's RED and CHOKe below htb have no clock for an idle link: what a file does not say about it is that, so that both engines have the
/// same.
pub(crate) fn as_the_kernels(discipline: &Discipline, spec: &mut Spec) {
    let told = discipline.settings.iter().any(|(name, _)| *name == "idle_clock");
    if ["red", "choke"].contains(&discipline.info.name) && !told {
        let set = spec.set("idle_clock", aqm::Value::Choice("never"));
        debug_assert!(set.is_ok(), "{set:?}");
    }
}

/// A learned policy counts by the link: where a file does not say its rate it is the port's, and so is what a full packet takes, if that is not
/// told either.
pub(crate) fn by_the_link(discipline: &Discipline, bps: u64, full_bytes: u64, spec: &mut Spec) {
    let told = |name: &str| discipline.settings.iter().any(|(told, _)| *told == name);
    // A link that is slower or faster than it knows is measured.
    if spec.info.network.is_none() || told("rate") || spec.set("rate", aqm::Value::Int(bps)).is_err() {
        return;
    }
    if !told("mtu") && !told("wire_overhead") {
        for (name, value) in [("mtu", full_bytes), ("wire_overhead", 0)] {
            let set = spec.set(name, aqm::Value::Int(value));
            debug_assert!(set.is_ok(), "{set:?}");
        }
    }
}

/// What changes of a discipline while it runs, as [`resolve`] has what it begins with.
pub(crate) fn resolve_changes(
    discipline: &Discipline,
    bdp_bytes: u64,
    packet_bytes: u64,
) -> Result<Vec<spec::Change>, (String, String)> {
    let mut spec = Spec::new(discipline.info);
    let mut changes = Vec::new();
    for (i, change) in discipline.changes.iter().enumerate() {
        for (name, setting) in &change.settings {
            let value = decide(&mut spec, name, setting, bdp_bytes, packet_bytes)
                .map_err(|e| (format!("set[{i}].{name}"), e))?;
            changes.push(spec::Change { at_ns: change.at_ns, param: name.to_string(), value });
        }
        in_order(&spec).map_err(|(name, e)| (format!("set[{i}].{name}"), e))?;
    }
    Ok(changes)
}

/// Decides one parameter; its value, or what is wrong with it.
fn decide(
    spec: &mut Spec,
    name: &str,
    setting: &Setting,
    bdp_bytes: u64,
    packet_bytes: u64,
) -> Result<aqm::Value, String> {
    let value = setting.resolve(bdp_bytes, packet_bytes);
    // A 0 out of a tiny product is no request for what 0 stands for.
    let is_word = !matches!(setting, Setting::Zero(_)) && value == aqm::Value::Int(0);
    let from_size = matches!(setting, Setting::Size(Size::Bdp(_) | Size::Packets(_)));
    if (is_word && from_size) || spec.set(name, value).is_err() {
        return Err(format!("comes to {value} bytes; {}", out_of_range(spec.info, name)));
    }
    Ok(value)
}
