//! A discipline's parameters: read against the registry, kept exactly, resolved
//! for a run once its bandwidth-delay product is known.

use crate::error::{Error, suggest};
use crate::model::Discipline;
use crate::node::{Node, Value};
use crate::policy::{self, PolicyFile};
use crate::units::{self, MILLION, Size, Unit};
use queuewright_aqm::{self as aqm, Info, Param, ParamKind, Spec, Weights};
use std::path::Path;

/// A parameter's value as written.
#[derive(Debug, Clone, PartialEq)]
pub enum Setting {
    /// Nanoseconds.
    Time(u64),
    /// A size; packets are full packets.
    Size(Size),
    /// Bits a second.
    Rate(u64),
    /// A number of things.
    Count(u64),
    /// A ratio or probability in millionths.
    Real(u64),
    /// True or false.
    Flag(bool),
    /// One of the parameter's words.
    Choice(&'static str),
    /// The word that stands for 0, such as `auto`.
    Zero(&'static str),
    /// A learned policy's weights.
    File(PolicyFile),
}

impl Setting {
    /// The value as a file has it, without quotes.
    pub fn show(&self) -> String {
        match self {
            Setting::Time(ns) => Unit::Time.show(*ns),
            Setting::Size(size) => size.show(),
            Setting::Rate(bits) => Unit::Rate.show(*bits),
            Setting::Count(n) => n.to_string(),
            Setting::Real(m) => units::show_millionths(*m),
            Setting::Flag(b) => b.to_string(),
            Setting::Choice(word) | Setting::Zero(word) => word.to_string(),
            Setting::File(file) => file.given.clone(),
        }
    }

    /// Is it a bare word in a file (a number, true or false), or in quotes?
    pub(crate) fn is_bare(&self) -> bool {
        matches!(self, Setting::Count(_) | Setting::Real(_) | Setting::Flag(_))
    }

    /// The value for the registry; `bdp_bytes` and `packet_bytes` are what `1bdp` and
    /// `1p` come to. Of a file the registry has only that it may be given.
    fn resolve(&self, bdp_bytes: u64, packet_bytes: u64) -> aqm::Value {
        match *self {
            Setting::Time(n) | Setting::Rate(n) | Setting::Count(n) | Setting::Size(Size::Bytes(n)) => {
                aqm::Value::Int(n)
            }
            Setting::Size(Size::Packets(n)) => aqm::Value::Int(u64::from(n) * packet_bytes),
            Setting::Size(Size::Bdp(m)) => aqm::Value::Int(bdp_times(bdp_bytes, m)),
            Setting::Real(m) => aqm::Value::Real(m as f64 / MILLION as f64),
            Setting::Flag(b) => aqm::Value::Flag(b),
            Setting::Choice(word) => aqm::Value::Choice(word),
            Setting::Zero(_) | Setting::File(_) => aqm::Value::Int(0),
        }
    }
}

/// So many millionths of a bandwidth-delay product, bytes, rounded down.
pub(crate) fn bdp_times(bdp_bytes: u64, millionths: u64) -> u64 {
    let bytes = u128::from(bdp_bytes) * u128::from(millionths) / u128::from(MILLION);
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// Reads one entry of `disciplines`; also whether it has a label of its own. Paths in it start from
/// `base_dir`.
pub(crate) fn discipline(node: &Node, base_dir: &Path) -> Result<(Discipline, bool), Error> {
    let names = || aqm::registry().iter().map(|i| i.name);
    let (name_node, entries) = match &node.value {
        Value::Table(entries) => {
            let name = entries.iter().find(|(k, _)| k == "name").ok_or_else(|| {
                node.error("missing name; write { name = \"static\", threshold = \"1bdp\" }")
            })?;
            (&name.1, entries.as_slice())
        }
        _ => (node, &[][..]),
    };
    let name = match &name_node.value {
        Value::Text(text) => text.as_str(),
        _ => "",
    };
    let info = aqm::find(name)
        .ok_or_else(|| name_node.error(format!("not a discipline{}", suggest(name, names()))))?;
    let mut discipline = Discipline { name: info.name, label: info.name.to_string(), settings: Vec::new() };
    let mut labelled = false;
    for (key, value) in entries {
        match key.as_str() {
            "name" => {}
            "label" => {
                discipline.label = value.name()?;
                labelled = true;
            }
            _ => {
                let param = info.param(key).ok_or_else(|| {
                    let known = info.params.iter().map(|p| p.name);
                    let message = if info.params.is_empty() {
                        format!("unknown key; {} takes no parameters, only a label", info.name)
                    } else {
                        let hint = suggest(key, known.chain(["name", "label"]));
                        format!("unknown parameter of {}{hint}", info.name)
                    };
                    value.key_error(message)
                })?;
                let setting = setting(value, info, param, base_dir).map_err(|mut e| {
                    if let Some(word) = param.zero.filter(|_| param.kind != ParamKind::File) {
                        e.message.push_str(&format!("; or \"{word}\""));
                    }
                    e
                })?;
                discipline.settings.push((param.name, setting));
            }
        }
    }
    // In the registry's order: a table has none.
    discipline.settings.sort_by_key(|(name, _)| info.params.iter().position(|p| p.name == *name));
    // What needs no bandwidth-delay product is checked here, where the line is known.
    for (name, setting) in &discipline.settings {
        if !matches!(setting, Setting::Size(Size::Bdp(_) | Size::Packets(_))) {
            let mut spec = Spec::new(info);
            if spec.set(name, setting.resolve(0, 0)).is_err() {
                let at = entries.iter().find(|(k, _)| k == name).map_or(node, |e| &e.1);
                return Err(at.error(out_of_range(info, name)));
            }
        }
    }
    Ok((discipline, labelled))
}

fn out_of_range(info: &'static Info, param: &str) -> String {
    let allowed = info.param(param).map_or(String::new(), Param::allowed);
    format!("out of range; allowed: {}", allowed.replace(" .. ", " to "))
}

fn setting(
    node: &Node,
    info: &'static Info,
    param: &'static Param,
    base_dir: &Path,
) -> Result<Setting, Error> {
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
        ParamKind::Choice(words) => Setting::Choice(node.word("one of the choices", words)?),
        ParamKind::File => Setting::File(policy::read(node, info, base_dir)?),
    })
}

/// Name and settings, to tell variants of a discipline apart: `static threshold=1bdp`.
pub(crate) fn describe(discipline: &Discipline) -> String {
    let mut out = discipline.name.to_string();
    for (name, setting) in &discipline.settings {
        out.push_str(&format!(" {name}={}", setting.show()));
    }
    out
}

/// The discipline with every parameter decided; if a size came out of its
/// parameter's range, that parameter and what is wrong with it.
pub(crate) fn resolve(
    discipline: &Discipline,
    bdp_bytes: u64,
    packet_bytes: u64,
) -> Result<Spec, (&'static str, String)> {
    let info = aqm::find(discipline.name).ok_or(("name", "not a discipline".to_string()))?;
    let mut spec = Spec::new(info);
    spec.label.clone_from(&discipline.label);
    for (name, setting) in &discipline.settings {
        let value = setting.resolve(bdp_bytes, packet_bytes);
        // A 0 out of a tiny product is no request for what 0 stands for.
        let is_word = !matches!(setting, Setting::Zero(_)) && value == aqm::Value::Int(0);
        let from_size = matches!(setting, Setting::Size(Size::Bdp(_) | Size::Packets(_)));
        if (is_word && from_size) || spec.set(name, value).is_err() {
            return Err((name, format!("comes to {value} bytes; {}", out_of_range(info, name))));
        }
        if let Setting::File(file) = setting {
            let weights =
                Weights { values: file.policy.weights.clone(), id: format!("sha256:{}", file.sha256) };
            spec.set_weights(weights).map_err(|e| (*name, e.to_string()))?;
        }
    }
    Ok(spec)
}
