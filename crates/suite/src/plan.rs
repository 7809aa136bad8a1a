//! Which runs a suite needs.

use crate::{Error, Suite};
use queuewright_experiments::Store;
use queuewright_scenario::spec::{ArrivalProcess, RunSpec};
use queuewright_scenario::{Draft, Flags, Scenario, hex};
use sha2::{Digest, Sha256};

/// Seeds of a run unless a number is asked for, and of a quick one.
const SEEDS: u16 = 3;
/// The groups whose congestion control is under test, where a suite tests one: of this name, or this and more words.
pub(crate) const UNDER_TEST: &str = "new";

/// How a suite is run.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Options {
    /// Disciplines, as `--aqm` has them, or `all`; none: those of the suite.
    pub aqm: Option<String>,
    /// The congestion control of the groups named `new`, instead of the file's.
    pub cca: Option<String>,
    /// So many seeds (1 to 65535) instead of 3.
    pub seeds: Option<u16>,
    /// One seed.
    pub quick: bool,
}

impl Options {
    fn seeds(&self) -> u16 {
        self.seeds.unwrap_or(if self.quick { 1 } else { SEEDS })
    }
}

/// Disciplines as `--aqm` has them, tail drop, with which all are compared, among them; none: those of each file.
fn disciplines(asked: Option<&str>, usual: Option<&str>) -> Option<String> {
    match asked.or(usual)? {
        "all" => Some(queuewright_aqm::alone().collect::<Vec<_>>().join(",")),
        list if list.split(',').any(|d| d == REFERENCE) => Some(list.into()),
        list => Some(format!("{list},{REFERENCE}")),
    }
}

/// What all are compared with (RFC 7928, sections 1.2 and 8.2.6).
pub(crate) const REFERENCE: &str = "droptail";

/// A run of a suite.
#[derive(Debug, Clone)]
pub struct Unit {
    /// Which scenario, by its place in the suite.
    pub member: usize,
    /// The run.
    pub spec: RunSpec,
}

impl Unit {
    /// As runs that are kept have it.
    pub fn kept_as(&self) -> queuewright_experiments::Unit {
        queuewright_experiments::Unit {
            case: self.member,
            discipline: self.spec.discipline.label.clone(),
            seed: self.spec.seed,
        }
    }
}

/// Is a group of this name under test?
pub(crate) fn is_tested(group: &str) -> bool {
    group.split(' ').next() == Some(UNDER_TEST)
}

/// Which runs of a suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    All,
    /// Of the scenarios in which others are beside the groups under test.
    Beside,
    /// Of the same, without the groups under test.
    Alone,
}

/// A suite and its runs.
#[derive(Debug)]
pub struct Plan {
    /// The suite.
    pub suite: Suite,
    /// Each scenario as it is run.
    pub scenarios: Vec<Scenario>,
    /// Labels of the disciplines, in the order in which they were asked for.
    pub disciplines: Vec<String>,
    /// How it is run.
    pub options: Options,
    which: Which,
}

impl Plan {
    /// Reads a suite's scenarios.
    ///
    /// # Errors
    /// A broken scenario, named by its file; a discipline or a congestion control that is not there.
    pub fn new(suite: Suite, options: Options) -> Result<Plan, Error> {
        // A suite may be anybody's, and is only read.
        if let (None, Some(list)) = (&options.aqm, &suite.about.aqm)
            && let Some(file) = queuewright_scenario::own::named_in(list)
        {
            return Err(Error(format!(
                "{}/suite.toml: aqm: {file:?}: a suite names no file of one's own; name it yourself, by --aqm",
                suite.name
            )));
        }
        let flags = Flags {
            aqm: disciplines(options.aqm.as_deref(), suite.about.aqm.as_deref()),
            seeds: Some(format!("1..{}", options.seeds())),
            ..Flags::default()
        };
        let mut scenarios = Vec::new();
        let mut tested = false;
        for member in &suite.members {
            let file = format!("{}/{}.toml", suite.name, member.name);
            let wrong = |e: queuewright_scenario::Error| Error(e.to_string());
            let mut draft = Draft::parse(&member.text, &file, &suite.folder).map_err(wrong)?;
            if let Some(cca) = &options.cca {
                for i in under_test(&draft.scenario().map_err(wrong)?) {
                    let path = format!("flows[{i}].cca");
                    draft = draft.put(&path, &serde_json::json!(cca).to_string()).map_err(wrong)?;
                    tested = true;
                }
            }
            scenarios.push(draft.with(&flags).and_then(|d| d.scenario()).map_err(wrong)?);
        }
        if options.cca.is_some() && !tested {
            let name = &suite.name;
            return Err(Error(format!(
                "--cca: {name} tests no congestion control: no group is named {UNDER_TEST:?}"
            )));
        }
        suite.check_findings(&scenarios)?;
        let mut disciplines: Vec<String> = Vec::new();
        for label in scenarios.iter().flat_map(|s| &s.disciplines).map(|d| &d.label) {
            if !disciplines.contains(label) {
                disciplines.push(label.clone());
            }
        }
        Ok(Plan { suite, scenarios, disciplines, options, which: Which::All })
    }

    /// The runs in which others are beside the groups under test.
    #[must_use]
    pub fn beside(self) -> Plan {
        Plan { which: Which::Beside, ..self }
    }

    /// The same without the groups under test: what the others have alone.
    #[must_use]
    pub fn alone(self) -> Plan {
        Plan { which: Which::Alone, ..self }
    }

    /// SHA-256 of all that decides its runs.
    pub fn hash(&self) -> String {
        let mut hash = Sha256::new();
        if self.which != Which::All {
            hash.update(format!("{:?}", self.which));
        }
        for scenario in &self.scenarios {
            let text = scenario.to_json().to_string();
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        }
        hex(&hash.finalize())
    }

    /// Every run that is not in the store.
    ///
    /// # Errors
    /// A scenario of which no run can be made.
    pub fn pending(&self, store: &Store) -> Result<Vec<Unit>, Error> {
        let mut units = Vec::new();
        for (member, scenario) in self.scenarios.iter().enumerate() {
            let name = &self.suite.members[member].name;
            let runs = scenario.runs().map_err(|e| Error(format!("{name}: {e}")))?;
            let of_harm = runs.into_iter().filter_map(|spec| of_harm(spec, self.which));
            units.extend(of_harm.map(|spec| Unit { member, spec }));
        }
        units.retain(|unit| !store.has(&unit.kept_as()));
        Ok(units)
    }

    /// A discipline as it is first run, by its label, and in which scenario.
    pub(crate) fn discipline(&self, label: &str) -> Option<(usize, queuewright_aqm::Spec)> {
        self.scenarios.iter().enumerate().find_map(|(i, scenario)| {
            let spec =
                scenario.runs().ok()?.into_iter().map(|run| run.discipline).find(|d| d.label == label)?;
            Some((i, spec))
        })
    }

    /// Seeds that were asked for.
    pub fn seeds(&self) -> u16 {
        self.options.seeds()
    }
}

/// A run as it is to be made; none: it is not among these.
fn of_harm(mut spec: RunSpec, which: Which) -> Option<RunSpec> {
    let tested: Vec<bool> = spec.groups.iter().map(|g| is_tested(&g.name)).collect();
    if which == Which::All {
        return Some(spec);
    }
    if !tested.contains(&true) || !tested.contains(&false) {
        return None;
    }
    if which == Which::Alone {
        spec = without(spec, is_tested);
    }
    Some(spec)
}

/// A run without some of its groups, and without probes, which measure beside a load. Buffers and thresholds stay as they were
/// drawn up for all.
pub(crate) fn without(mut spec: RunSpec, out: impl Fn(&str) -> bool) -> RunSpec {
    let gone: Vec<bool> = spec.groups.iter().map(|g| out(&g.name)).collect();
    let probes: Vec<u32> = spec.probes.drain(..).map(|p| p.group).collect();
    let others = |group: u32| !probes.contains(&group) && !gone[group as usize];
    spec.flows.retain(|f| others(f.group));
    spec.sources.retain(|s| match &s.arrival {
        ArrivalProcess::Sessions { first, .. } => first.iter().all(|f| others(f.group)),
        ArrivalProcess::Arrivals { each, .. } | ArrivalProcess::Pages { each, .. } => {
            others(each.first_group)
        }
    });
    spec.series_flows.clear();
    spec
}

/// Places of the groups under test.
fn under_test(scenario: &Scenario) -> Vec<usize> {
    let json = scenario.to_json();
    let flows = json["flows"].as_array().cloned().unwrap_or_default();
    let of_test = |(_, flow): &(usize, serde_json::Value)| flow["name"].as_str().is_some_and(is_tested);
    flows.into_iter().enumerate().filter(of_test).map(|(i, _)| i).collect()
}
