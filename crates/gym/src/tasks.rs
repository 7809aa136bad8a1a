//! The networks in which an agent acts.

use crate::Error;
use queuewright_aqm::{ParamKind, Value};
use queuewright_scenario::Scenario;
use queuewright_scenario::spec::RunSpec;

/// Scenarios of which each episode draws one; what a scenario leaves to chance is drawn, too.
#[derive(Debug, Clone)]
pub struct Tasks {
    scenarios: Vec<Scenario>,
    /// The port of each whose discipline the agent drives.
    ports: Vec<usize>,
    /// What an action is, if it is not for the scenarios to say.
    actions: Option<&'static str>,
}

impl Tasks {
    /// At least one scenario, each with a discipline that has a learned policy: the first of its
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
            scenario.run.warmup_ns = 0;
            // An agent looks itself: no time series.
            scenario.run.sample_ns = scenario.run.duration_ns;
            let name = scenario.name.as_deref().unwrap_or("the scenario");
            let spec = the_run(scenario)?;
            let learned = spec.ports.iter().position(|p| p.discipline.info.network.is_some());
            ports.push(learned.ok_or_else(|| {
                Error::Task(format!(
                    "{name}: its discipline is {}, which nobody can drive; write disciplines = [\"queuepilot\"]",
                    spec.discipline.label
                ))
            })?);
        }
        Ok(Tasks { scenarios, ports, actions: None })
    }

    /// The same with another kind of action: one of the words of the parameter `actions`.
    ///
    /// # Errors
    /// [`Error::Task`]: it is none.
    pub fn with_actions(mut self, kind: &str) -> Result<Tasks, Error> {
        let (spec, port, _) = self.draw(0, 0)?;
        let words = match spec.ports[port].discipline.info.param("actions").map(|p| p.kind) {
            Some(ParamKind::Choice(words)) => words,
            _ => &[],
        };
        let found = words.iter().find(|word| **word == kind);
        self.actions = Some(found.ok_or_else(|| {
            Error::Task(format!("actions = \"{kind}\": no kind of action. Allowed: {}", words.join(", ")))
        })?);
        Ok(self)
    }

    /// The scenarios.
    pub fn scenarios(&self) -> &[Scenario] {
        &self.scenarios
    }

    /// How many scenarios.
    pub fn len(&self) -> usize {
        self.scenarios.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.scenarios.is_empty()
    }

    /// Of each the mean of its flows' round-trip times without queues, in steps of its agent, in a run of seed 0; NaN where no flow is listed.
    ///
    /// # Errors
    /// What a scenario has wrong.
    pub fn rtt_steps(&self) -> Result<Vec<f64>, Error> {
        let of = |which| self.draw(which, 0).map(|(spec, _, step_ns)| rtt_ms(&spec) * 1e6 / step_ns as f64);
        (0..self.len() as u64).map(of).collect()
    }

    /// All of these.
    pub fn join(several: impl IntoIterator<Item = Tasks>) -> Tasks {
        let mut all = Tasks { scenarios: Vec::new(), ports: Vec::new(), actions: None };
        for mut tasks in several {
            all.scenarios.append(&mut tasks.scenarios);
            all.ports.append(&mut tasks.ports);
        }
        all
    }

    /// A run of one of them, the port that the agent drives, and how long its steps are (ns).
    ///
    /// # Errors
    /// What the drawn scenario has wrong.
    pub fn draw(&self, which: u64, seed: u64) -> Result<(RunSpec, usize, u64), Error> {
        let at = (which % self.scenarios.len() as u64) as usize;
        let mut scenario = self.scenarios[at].clone();
        scenario.run.seeds = vec![seed];
        let (mut spec, port) = (the_run(&scenario)?, self.ports[at]);
        let driven = &mut spec.ports[port].discipline;
        if let Some(kind) = self.actions {
            driven.set("actions", Value::Choice(kind)).map_err(|e| Error::Task(e.to_string()))?;
        }
        match driven.get("step") {
            Some(Value::Int(step_ns)) => Ok((spec, port, step_ns)),
            _ => Err(Error::Task(format!("{} has no parameter step", driven.info.name))),
        }
    }
}

/// Mean of the round-trip times of a run's flows without queues, ms; NaN of none.
pub(crate) fn rtt_ms(spec: &RunSpec) -> f64 {
    spec.flows.iter().map(|f| f.base_rtt_ns as f64 / 1e6).sum::<f64>() / spec.flows.len() as f64
}

fn the_run(scenario: &Scenario) -> Result<RunSpec, Error> {
    let runs = scenario.runs().map_err(Error::Scenario)?;
    runs.into_iter().next().ok_or_else(|| Error::Task("a scenario without a run".into()))
}
