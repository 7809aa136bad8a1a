//! Probes: how long the network takes to answer while an entry's flows load it.

use crate::link::capacity_bytes;
use crate::traffic::Traffic;
use crate::world::World;
use queuewright_results as results;
use queuewright_results::{Connection, Probed, Request};
use queuewright_scenario::spec::{ProbesSpec, RunSpec};

/// Who asks for a byte on a connection that makes the load, one request at a time.
#[derive(Debug, Default)]
pub struct Asker {
    /// When the request under way went out (ns).
    asked_ns: Option<u64>,
    answers: Vec<Request>,
}

impl Asker {
    /// Asks at `now`, unless an answer is awaited: does it?
    pub fn ask(&mut self, now: u64) -> bool {
        let waits = self.asked_ns.is_some_and(|asked| now - asked < ProbesSpec::PATIENCE_NS);
        if !waits {
            self.asked_ns = Some(now);
        }
        !waits
    }

    /// The byte has arrived at `at`, and all before it.
    pub fn answered(&mut self, at: u64) {
        if let Some(asked) = self.asked_ns.take() {
            self.answers.push(Request { asked_s: asked as f64 / 1e9, took_ms: (at - asked) as f64 / 1e6 });
        }
    }
}

/// Flows by number that make the load of such probes.
pub fn load(spec: &RunSpec, probes: &ProbesSpec) -> std::ops::Range<u32> {
    let before = |group: u32| spec.flows.partition_point(|f| f.group < group) as u32;
    before(probes.groups.start)..before(probes.groups.end)
}

/// What probes have measured.
pub fn responsiveness(
    spec: &RunSpec,
    traffic: &Traffic,
    askers: &[Option<&Asker>],
) -> Vec<results::Responsiveness> {
    if spec.probes.is_empty() {
        return Vec::new();
    }
    let idle = idle(spec);
    let counts = |asked_s: f64| asked_s >= spec.warmup_ns as f64 / 1e9;
    let of = |probes: &ProbesSpec| {
        let connections = |traffic: &Traffic| -> Vec<Connection> {
            let of_these =
                traffic.opened().iter().filter(|(group, c)| *group == probes.group && counts(c.asked_s));
            of_these.map(|(_, c)| *c).collect()
        };
        let answers = load(spec, probes).filter_map(|f| askers[f as usize]).flat_map(|a| &a.answers);
        let requests: Vec<Request> = answers.filter(|r| counts(r.asked_s)).copied().collect();
        let window_s = (spec.duration_ns - spec.warmup_ns) as f64 / 1e9;
        let path =
            spec.sources[probes.source as usize].sessions().next().map(|t| t.flow.path).unwrap_or_default();
        let rate = |port: &u32| {
            capacity_bytes(&spec.ports[*port as usize].rate, spec.warmup_ns, spec.duration_ns) * 8.0
                / window_s
        };
        results::Responsiveness::of(&Probed {
            load: &probes.load,
            connections: &connections(traffic),
            requests: &requests,
            idle: &connections(&idle),
            profiles: &probes.profiles,
            capacity_bps: path.iter().map(rate).fold(f64::INFINITY, f64::min),
            window_s: (spec.warmup_ns as f64 / 1e9, spec.duration_ns as f64 / 1e9),
        })
    };
    spec.probes.iter().map(of).collect()
}

/// The same probes where nothing else is.
fn idle(spec: &RunSpec) -> Traffic {
    let mut sources = Vec::new();
    let mut probes = spec.probes.clone();
    for probe in &mut probes {
        let source = spec.sources[probe.source as usize].clone();
        probe.source = sources.len() as u32;
        sources.push(source);
    }
    let alone = RunSpec {
        flows: Vec::new(),
        series_flows: Vec::new(),
        // No time series.
        series_interval_ns: spec.duration_ns,
        sources,
        probes,
        ..spec.clone()
    };
    let mut world = World::new(&alone);
    world.run(|_| true);
    world.into_traffic()
}
