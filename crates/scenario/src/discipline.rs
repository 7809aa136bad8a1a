//! Reads a discipline: a name, or a table with its parameters and with what changes of
//! them while it runs; refuses what does not go together.

use crate::data::Files;
use crate::error::{Error, suggest, suggest_or_file};
use crate::model::{Change, Discipline};
use crate::node::{Node, Value};
use crate::own;
use crate::params::{out_of_range, setting};
use crate::setting::Setting;
use crate::units::{Size, Unit};
use queuewright_aqm::{self as aqm, Beside, Info, Spec};

/// The context of a discipline's entry: what it needs to know of the rest of the scenario.
#[derive(Clone, Copy)]
pub(crate) struct ScenarioContext<'a> {
    /// Paths in it start from here.
    pub files: &'a Files,
    /// Length of a run.
    pub duration_ns: u64,
}

/// Reads one entry; also whether it has a label of its own.
pub(crate) fn read(node: &Node, around: ScenarioContext<'_>) -> Result<(Discipline, bool), Error> {
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
    let (info, file) = match aqm::own::is_file(name) {
        true => own::read(name_node, around.files).map(|(info, file)| (info, Some(file)))?,
        false => {
            let also = around.files.also.filter(|info| info.name == name);
            (also.or_else(|| aqm::find(name)).ok_or_else(|| unknown(name_node, name))?, None)
        }
    };
    let mut discipline =
        Discipline { info, file, label: info.name.to_string(), settings: Vec::new(), changes: Vec::new() };
    let mut labelled = false;
    for (key, value) in entries {
        match key.as_str() {
            "name" => {}
            "label" => {
                discipline.label = value.name()?;
                labelled = true;
            }
            "set" => discipline.changes = changes(value, info, around)?,
            _ => {
                let set = info.params.iter().any(|p| p.tunable).then_some("set");
                let beside: Vec<&str> = ["name", "label"].into_iter().chain(set).collect();
                discipline.settings.push(parameter(key, value, info, &beside, around)?);
            }
        }
    }
    in_order(&mut discipline.settings, info);
    check_rules(info, &discipline.settings, entries)?;
    Ok((discipline, labelled))
}

fn unknown(node: &Node, name: &str) -> Error {
    let Some((head, pairs)) = name.split_once(':') else {
        let names = aqm::registry().iter().map(|i| i.name);
        return node.error(format!("not a discipline{}", suggest_or_file(name, names)));
    };
    // As a command line has it.
    let pairs = pairs.split(':').filter_map(|pair| pair.split_once('='));
    let pairs: String = pairs.map(|(key, value)| format!(", {key} = \"{value}\"")).collect();
    node.error(format!(
        "not a discipline; its parameters stand beside its name: {{ name = \"{head}\"{pairs} }}"
    ))
}

/// In the registry's order: a table has none.
fn in_order(settings: &mut [(&'static str, Setting)], info: &Info) {
    settings.sort_by_key(|(name, _)| info.params.iter().position(|p| p.name == *name));
}

/// A parameter within its range. A size in packets or bandwidth-delay products is checked
/// once these are known.
fn parameter(
    key: &str,
    value: &Node,
    info: &'static Info,
    beside: &[&str],
    around: ScenarioContext<'_>,
) -> Result<(&'static str, Setting), Error> {
    let param = info.param(key).ok_or_else(|| {
        let known = info.params.iter().map(|p| p.name);
        value.key_error(if info.params.is_empty() {
            format!("unknown key; {} takes no parameters, only a label", info.name)
        } else {
            let hint = suggest(key, known.chain(beside.iter().copied()));
            format!("unknown parameter of {}{hint}", info.name)
        })
    })?;
    let setting = setting(value, info, param, around.files)?;
    if !matches!(setting, Setting::Size(Size::Bdp(_) | Size::Packets(_)))
        && Spec::new(info).set(param.name, setting.resolve(0, 0)).is_err()
    {
        return Err(value.error(out_of_range(info, param.name)));
    }
    Ok((param.name, setting))
}

/// `set`: what changes while it runs.
fn changes(node: &Node, info: &'static Info, around: ScenarioContext<'_>) -> Result<Vec<Change>, Error> {
    let tunable: Vec<&str> = info.params.iter().filter(|p| p.tunable).map(|p| p.name).collect();
    let Some(first) = tunable.first() else {
        let others = aqm::registry().iter().filter(|i| i.params.iter().any(|p| p.tunable)).map(|i| i.name);
        return Err(node.key_error(format!(
            "nothing of {} can change while it runs; of these something can: {}",
            info.name,
            others.collect::<Vec<_>>().join(", ")
        )));
    };
    let default = info.param(first).map(|p| p.display(p.default)).unwrap_or_default();
    let form = format!("changes in a file, such as [{{ at = \"10s\", {first} = \"{default}\" }}]");
    let items = node.list(&form)?;
    if items.is_empty() {
        return Err(node.error(format!("no change; write {form}, or leave it out")));
    }
    let mut changes: Vec<Change> = Vec::with_capacity(items.len());
    for item in items {
        let Value::Table(entries) = &item.value else {
            return Err(item.error(format!("not a table; write {form}")));
        };
        let Some((_, at)) = entries.iter().find(|(key, _)| key == "at") else {
            return Err(item.error(format!("missing at, when it changes; write {form}")));
        };
        let at_ns = at.single(Unit::Time, 0, u64::MAX)?;
        if at_ns == 0 {
            return Err(at.error("what holds from the start stands beside name, not in a change"));
        }
        if at_ns >= around.duration_ns {
            return Err(at.error(format!(
                "changes must come before the run ends (run.duration = \"{}\")",
                Unit::Time.show(around.duration_ns)
            )));
        }
        if let Some(before) = changes.last().filter(|c| c.at_ns >= at_ns) {
            return Err(at.error(format!(
                "not after the change before it ({}); the times of changes rise",
                Unit::Time.show(before.at_ns)
            )));
        }
        let mut settings = Vec::new();
        for (key, value) in entries.iter().filter(|(key, _)| key != "at") {
            let (name, setting) = parameter(key, value, info, &["at"], around)?;
            if !tunable.contains(&name) {
                return Err(value.key_error(format!(
                    "cannot change while {} runs; what can: {}",
                    info.name,
                    tunable.join(", ")
                )));
            }
            settings.push((name, setting));
        }
        if settings.is_empty() {
            return Err(item.error(format!("changes nothing; what can change: {}", tunable.join(", "))));
        }
        in_order(&mut settings, info);
        changes.push(Change { at_ns, settings });
    }
    Ok(changes)
}

/// Refuses parameters that say nothing beside the others.
fn check_rules(
    info: &'static Info,
    settings: &[(&'static str, Setting)],
    entries: &[(String, Node)],
) -> Result<(), Error> {
    // What is set to something else than its default; a file always is.
    let told = |name: &str| {
        let (_, setting) = settings.iter().find(|(n, _)| *n == name)?;
        let default = info.param(name).map(|p| p.default);
        let open = matches!(setting, Setting::File(_) | Setting::Size(Size::Bdp(_) | Size::Packets(_)));
        let differs = open || Some(setting.resolve(0, 0)) != default;
        differs.then_some(setting)
    };
    for rule in info.rules {
        let Some((_, node)) = entries.iter().find(|(key, _)| key == rule.param) else { continue };
        if told(rule.param).is_none() {
            continue;
        }
        match rule.beside {
            Beside::Without if told(rule.other).is_some() => {
                return Err(node.error(format!("not together with {}: {}", rule.other, rule.why)));
            }
            Beside::One(values) => {
                let set = settings.iter().find(|(n, _)| *n == rule.other).map(|(_, s)| s.resolve(0, 0));
                let value = set.or_else(|| info.param(rule.other).map(|p| p.default));
                if !value.is_some_and(|v| values.contains(&v)) {
                    let values: Vec<_> = values.iter().map(|v| format!("{} = {v}", rule.other)).collect();
                    return Err(node.error(format!("only with {}: {}", values.join(" or "), rule.why)));
                }
            }
            // Sizes are compared when they are known.
            Beside::Without | Beside::NotAbove => {}
        }
    }
    Ok(())
}

/// Name and settings, to tell variants of a discipline apart: `static threshold=1bdp`.
pub(crate) fn describe(discipline: &Discipline) -> String {
    let mut out = discipline.info.name.to_string();
    for (name, setting) in &discipline.settings {
        out.push_str(&format!(" {name}={}", setting.show()));
    }
    if !discipline.changes.is_empty() {
        out.push_str(" set");
    }
    out
}
