//! The networks in which an agent acts.

use crate::Error;
use queuewright_scenario::Scenario;
use queuewright_scenario::spec::RunSpec;

/// Scenarios of which each episode draws one; what a scenario leaves to chance is drawn, too.
#[derive(Debug, Clone)]
pub struct Tasks {
    scenarios: Vec<Scenario>,
    /// The port of each whose queue manager the agent drives.
    ports: Vec<usize>,
}

impl Tasks {
    /// At least one scenario, each with a queue manager that has a learned policy: the first of its
    /// disciplines, or that of a port.
    ///
    /// # Errors
    /// [`Error::Task`] names what is missing; [`Error::Scenario`].
    pub fn new(mut scenarios: Vec<Scenario>) -> Result<Tasks, Error> {
        if scenarios.is_empty() {
            return Err(Error::Task("no scenario: an environment needs one at least".into()));
        }
        let mut ports = Vec::new();
        for scenario in &mut scenarios {
            scenario.disciplines.truncate(1);
            scenario.run.seeds = vec![0];
            // An agent looks itself: no time series.
            scenario.run.sample_ns = scenario.run.duration_ns;
            let name = scenario.name.as_deref().unwrap_or("the scenario");
            let spec = the_run(scenario)?;
            let learned = spec.ports.iter().position(|p| p.discipline.info.network.is_some());
            ports.push(learned.ok_or_else(|| {
                Error::Task(format!(
                    "{name}: its queue manager is {}, which nobody can drive; write disciplines = [\"queuepilot\"]",
                    spec.discipline.label
                ))
            })?);
        }
        Ok(Tasks { scenarios, ports })
    }

    /// How many scenarios.
    pub fn len(&self) -> usize {
        self.scenarios.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.scenarios.is_empty()
    }

    /// A run of one of them, and the port that the agent drives.
    pub(crate) fn draw(&self, which: u64, seed: u64) -> Result<(RunSpec, usize), Error> {
        let at = (which % self.scenarios.len() as u64) as usize;
        let mut scenario = self.scenarios[at].clone();
        // Seeds are numbers that people can type.
        scenario.run.seeds = vec![seed >> 32];
        Ok((the_run(&scenario)?, self.ports[at]))
    }
}

fn the_run(scenario: &Scenario) -> Result<RunSpec, Error> {
    let runs = scenario.runs().map_err(Error::Scenario)?;
    runs.into_iter().next().ok_or_else(|| Error::Task("a scenario without a run".into()))
}
