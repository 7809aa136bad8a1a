//! A scenario with one thing changed.

use queuewright_scenario::units::Unit;
use queuewright_scenario::{Draft, Error, LinkRate, Scenario};
use serde_json::{Map, Value, json};

/// Another scenario, and from when on it is another (ns).
pub struct Changed {
    /// The scenario.
    pub scenario: Scenario,
    /// Until then its runs are the same.
    pub from_ns: u64,
}

/// The scenario with `value` at `path`. From `at_ns` on, where a scenario can say so: of a link's rate, until the next step of its
/// schedule, and of parameters that may change while a discipline runs; all else is changed from the start.
pub fn change(scenario: &Scenario, path: &str, value: &Value, at_ns: u64) -> Result<Changed, Error> {
    let whole = scenario.to_json();
    let draft = Draft::from_json(&whole.to_string())?;
    let done = |draft: Draft, from_ns| Ok(Changed { scenario: draft.scenario()?, from_ns });
    let is_within = at_ns > 0 && at_ns < scenario.run.duration_ns;
    if path == "link.rate"
        && let Some((steps, from_ns)) = steps(scenario, value, at_ns, is_within)
    {
        return done(draft.put("link.schedule", &steps.to_string())?, from_ns);
    }
    let Some((index, parameter)) = of_discipline(path) else {
        return done(draft.put(path, &value.to_string())?, 0);
    };
    let mut all = whole["queue"]["disciplines"].as_array().cloned().unwrap_or_default();
    all.iter_mut().filter_map(Value::as_object_mut).for_each(without_sums);
    let mut from_ns = 0;
    match (all.get_mut(index), parameter) {
        (None, _) => return done(draft.put(path, &value.to_string())?, 0),
        (Some(entry), None) => *entry = value.clone(),
        (Some(entry), Some(parameter)) => {
            let tunable = scenario.disciplines[index].info.param(parameter).is_some_and(|p| p.tunable);
            if is_within && tunable {
                from_ns = at_ns;
                set_from(entry, parameter, value, at_ns);
            } else {
                entry[parameter] = value.clone();
            }
        }
    }
    let labelled = once_each(all);
    done(draft.with_disciplines(&Value::from(labelled).to_string())?, from_ns)
}

/// `queue.disciplines[1].target`: which discipline, and which of its parameters.
fn of_discipline(path: &str) -> Option<(usize, Option<&str>)> {
    let (index, rest) = path.strip_prefix("queue.disciplines[")?.split_once(']')?;
    Some((index.parse().ok()?, rest.strip_prefix('.')))
}

/// The hashes of files follow from the files.
fn without_sums(entry: &mut Map<String, Value>) {
    entry.retain(|key, _| !key.ends_with("_sha256"));
}

/// The rates over time of a link whose rate is another from then on until its next step, and from when on that is. At the run's
/// ends the step that holds there is another.
fn steps(scenario: &Scenario, value: &Value, at_ns: u64, is_within: bool) -> Option<(Value, u64)> {
    let [port] = scenario.ports.as_slice() else { return None };
    let all = match &port.rate {
        LinkRate::Constant(bps) if is_within => vec![(0, *bps)],
        LinkRate::Schedule(schedule) if schedule.period_ns.is_none() => schedule.steps.clone(),
        LinkRate::Constant(_) | LinkRate::Schedule(_) | LinkRate::Trace(_) => return None,
    };
    let holds = all.iter().rev().map(|step| step.0).find(|at| *at <= at_ns)?;
    let from_ns = if is_within { at_ns } else { holds };
    let mut steps: Vec<(u64, Value)> = all
        .into_iter()
        .filter(|(at, _)| *at != from_ns)
        .map(|(at, bps)| (at, Unit::Rate.show(bps).into()))
        .collect();
    steps.push((from_ns, value.clone()));
    steps.sort_by_key(|step| step.0);
    let shown: Vec<Value> = steps.into_iter().map(|(at, rate)| json!([Unit::Time.show(at), rate])).collect();
    Some((shown.into(), from_ns))
}

/// Sets a parameter from then on; what was to be set of it later is not.
fn set_from(entry: &mut Value, parameter: &str, value: &Value, at_ns: u64) {
    let at = Unit::Time.show(at_ns);
    let when =
        |change: &Value| change["at"].as_str().and_then(|text| Unit::Time.parse(text).ok()).unwrap_or(0);
    let mut set = entry["set"].as_array().cloned().unwrap_or_default();
    for change in set.iter_mut().filter(|change| when(change) >= at_ns) {
        if let Some(change) = change.as_object_mut() {
            change.remove(parameter);
        }
    }
    set.retain(|change| change.as_object().is_some_and(|o| o.len() > 1));
    match set.iter_mut().find(|change| when(change) == at_ns) {
        Some(change) => change[parameter] = value.clone(),
        None => set.push(json!({ "at": at, parameter: value })),
    }
    set.sort_by_key(when);
    entry["set"] = set.into();
}

/// Labels that are there once: a discipline that comes in another's place may be there already.
fn once_each(all: Vec<Value>) -> Vec<Value> {
    let mut taken: Vec<String> = Vec::new();
    let label = |entry: &Value| match entry {
        Value::String(name) => name.clone(),
        entry => entry["label"].as_str().or(entry["name"].as_str()).unwrap_or_default().to_string(),
    };
    all.into_iter()
        .map(|mut entry| {
            let wanted = label(&entry);
            let free = |name: &String| !taken.contains(name);
            let numbered = |n: u32| format!("{wanted} {n}");
            let name = Some(wanted.clone()).filter(free).or_else(|| (2..).map(numbered).find(|n| free(n)));
            let name = name.unwrap_or_else(|| wanted.clone());
            if name != wanted {
                if let Value::String(plain) = &entry {
                    entry = json!({ "name": plain });
                }
                entry["label"] = name.clone().into();
            }
            taken.push(name);
            entry
        })
        .collect()
}
