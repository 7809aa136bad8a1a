//! The cases of an experiment: its scenario with every combination of what is varied.

use crate::figure::{Filter, Sweep};
use crate::{Error, Experiment, Null};
use queuewright_scenario::Scenario;
use std::path::{Path, PathBuf};

/// What a scenario may have in a text for the number of the seed.
const SEED: &str = "{seed}";

/// A scenario with one value of each dimension.
#[derive(Debug, Clone)]
pub struct Case {
    /// Values' names, in the order of the dimensions.
    pub values: Vec<String>,
    /// Labels of the disciplines.
    pub disciplines: Vec<String>,
    /// Seeds that the scenario asks for.
    pub seeds: Vec<u64>,
    /// About what a run will need in memory, bytes.
    pub memory_bytes: u64,
    /// The scenario, if it is the same for all seeds.
    scenario: Option<Scenario>,
    text: String,
    base: PathBuf,
}

impl Case {
    /// The scenario, with this seed alone.
    ///
    /// # Errors
    /// What is wrong with the scenario of this seed.
    pub fn scenario(&self, seed: u64) -> Result<Scenario, queuewright_scenario::Error> {
        let mut scenario = match &self.scenario {
            Some(scenario) => scenario.clone(),
            None => read(&self.text, seed, &self.base)?,
        };
        scenario.run.seeds = vec![seed];
        Ok(scenario)
    }

    /// For people and in keys: the values, or `-` where nothing is varied.
    pub fn name(&self) -> String {
        if self.values.is_empty() { "-".into() } else { self.values.join(", ") }
    }
}

fn read(text: &str, seed: u64, base: &Path) -> Result<Scenario, queuewright_scenario::Error> {
    Scenario::parse(&text.replace(SEED, &seed.to_string()), "case", base)
}

/// All cases, the last dimension turning fastest. `base` is where the scenario finds its files; with
/// `quick`, runs are as short as the figure file has it; with `null`, that variant is in the place of its disciplines, and the others
/// are left out.
///
/// # Errors
/// A broken scenario, or a case that makes it so.
pub(crate) fn cases(
    e: &Experiment,
    base: &Path,
    quick: bool,
    null: Option<&Null>,
) -> Result<Vec<Case>, Error> {
    let file = format!("{}.toml", e.id());
    // As it stands first: its errors have lines.
    Scenario::parse(&e.scenario.replace(SEED, "1"), &file, base).map_err(|e| Error::Input(e.to_string()))?;
    let root: toml::Table =
        e.scenario.parse().map_err(|e: toml::de::Error| Error::Input(format!("{file}: {}", e.message())))?;
    let sweeps = &e.figure.sweeps;
    let count: usize = sweeps.iter().map(|s| s.values.len()).product();
    let mut all = Vec::with_capacity(count);
    for i in 0..count {
        let mut tree = root.clone();
        let mut values = Vec::with_capacity(sweeps.len());
        for (sweep, at) in sweeps.iter().zip(places(sweeps, i)) {
            let value = &sweep.values[at];
            values.push(value.name.clone());
            lay_over(&mut tree, &value.set);
        }
        let at = |name: &str| sweeps.iter().position(|s| s.name == name).map(|i| &values[i]);
        let is =
            |f: &Filter| f.iter().all(|(name, wanted)| at(name).is_some_and(|v| wanted.all().contains(v)));
        if quick && !is(&e.figure.quick.only) {
            continue;
        }
        for adjust in e.figure.adjusts.iter().filter(|a| is(&a.at)) {
            lay_over(&mut tree, &adjust.set);
        }
        if quick {
            let run = tree.entry("run").or_insert_with(|| toml::Table::new().into());
            let set = [("duration", &e.figure.quick.duration), ("warmup", &e.figure.quick.warmup)];
            for (key, value) in set {
                if let (Some(value), Some(run)) = (value, run.as_table_mut()) {
                    run.insert(key.into(), value.clone().into());
                }
            }
        }
        let read_case = |tree: &toml::Table| {
            let text = toml::to_string(tree).map_err(|e| Error::Input(format!("{file}: {e}")))?;
            let scenario = read(&text, 1, base).map_err(|error| {
                let key = if error.key().is_empty() { String::new() } else { format!("{}: ", error.key()) };
                let case = values.join(", ");
                let null = null.map_or(String::new(), |n| format!(", null \"{}\"", n.name));
                Error::Input(format!(
                    "{}.figure.toml: case \"{case}\"{null}: {key}{}",
                    e.id(),
                    error.message()
                ))
            })?;
            let labels: Vec<String> = scenario.disciplines.iter().map(|d| d.label.clone()).collect();
            Ok((text, scenario, labels))
        };
        let (mut text, mut scenario, mut disciplines) = read_case(&tree)?;
        if let Some(null) = null {
            if !null.except.is_empty() && is(&null.except) {
                disciplines.clear();
            } else {
                null.put_into(&mut tree, &disciplines);
                (text, scenario, disciplines) = read_case(&tree)?;
                disciplines.retain(|label| null.replaces(label));
            }
        }
        all.push(Case {
            values,
            memory_bytes: scenario.memory_bytes(),
            disciplines,
            seeds: scenario.run.seeds.clone(),
            scenario: (!text.contains(SEED)).then_some(scenario),
            text,
            base: base.to_path_buf(),
        });
    }
    Ok(all)
}

/// Which value of each sweep the i-th combination has.
fn places(sweeps: &[Sweep], mut i: usize) -> Vec<usize> {
    let mut at: Vec<usize> = sweeps
        .iter()
        .rev()
        .map(|s| {
            let place = i % s.values.len();
            i /= s.values.len();
            place
        })
        .collect();
    at.reverse();
    at
}

/// Puts what is set into a scenario's tree.
pub(crate) fn lay_over(tree: &mut toml::Table, set: &toml::Table) {
    for (key, value) in set {
        match (tree.get_mut(key), value) {
            (Some(toml::Value::Table(old)), toml::Value::Table(new)) => lay_over(old, new),
            (Some(toml::Value::Array(items)), toml::Value::Table(new)) => lay_over_list(items, new),
            _ => {
                tree.insert(key.clone(), value.clone());
            }
        }
        // A link has one of these.
        let rates = ["rate", "schedule", "trace"];
        if rates.contains(&key.as_str()) && !tree.contains_key("cca") {
            for other in rates.iter().filter(|r| **r != key) {
                tree.remove(*other);
            }
            if key != "schedule" {
                tree.remove("period");
            }
        }
    }
}

/// A table over a list: its numbers are places in the list, all else goes into each table there.
fn lay_over_list(items: &mut [toml::Value], set: &toml::Table) {
    let mut each = set.clone();
    each.retain(|key, _| key.parse::<usize>().is_err());
    for (i, item) in items.iter_mut().enumerate() {
        let Some(table) = item.as_table_mut() else { continue };
        lay_over(table, &each);
        if let Some(toml::Value::Table(own)) = set.get(&i.to_string()) {
            lay_over(table, own);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_goes_where_it_belongs() {
        let mut tree: toml::Table = "
            [link]
            rate = '10mbit'
            delay = '1ms'
            [[flows]]
            cca = 'cubic'
            rtt = '10ms'
            [[flows]]
            cca = 'bbr'
            rtt = '10ms'
            [queue]
            disciplines = ['codel']"
            .parse()
            .unwrap();
        let set: toml::Table = "
            link.schedule = [['0s', '1mbit']]
            flows.rtt = '20ms'
            flows.1.count = 3
            queue.disciplines = ['pie']"
            .parse()
            .unwrap();
        lay_over(&mut tree, &set);
        let expected: toml::Table = "
            [link]
            schedule = [['0s', '1mbit']]
            delay = '1ms'
            [[flows]]
            cca = 'cubic'
            rtt = '20ms'
            [[flows]]
            cca = 'bbr'
            rtt = '20ms'
            count = 3
            [queue]
            disciplines = ['pie']"
            .parse()
            .unwrap();
        assert_eq!(tree, expected);
    }
}
