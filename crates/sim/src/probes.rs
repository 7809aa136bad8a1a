//! Probes: how long the network takes to answer while an entry's flows load it.

use crate::asker::Asker;
use crate::link::capacity_bytes;
use crate::traffic::Traffic;
use queuewright_results as results;
use queuewright_results::{Connection, Probed, Request};
use queuewright_scenario::spec::{ArrivalProcess, ProbesSpec, RunSpec};

/// Flows by number that make the load of such probes.
pub fn load(spec: &RunSpec, probes: &ProbesSpec) -> std::ops::Range<u32> {
    let before = |group: u32| spec.flows.partition_point(|f| f.group < group) as u32;
    before(probes.groups.start)..before(probes.groups.end)
}

/// What probes have measured, `idle`: where nothing else is; none: there are no probes.
pub fn responsiveness(
    spec: &RunSpec,
    traffic: &Traffic,
    idle: Option<&Traffic>,
    askers: &[Option<&Asker>],
) -> Vec<results::Responsiveness> {
    let Some(idle) = idle else { return Vec::new() };
    let counts = |asked_s: f64| asked_s >= spec.warmup_ns as f64 / 1e9;
    let of = |probes: &ProbesSpec| {
        let connections = |traffic: &Traffic| -> Vec<Connection> {
            let of_these =
                traffic.opened().iter().filter(|(group, c)| *group == probes.group && counts(c.asked_s));
            of_these.map(|(_, c)| *c).collect()
        };
        let of_load = || load(spec, probes).filter_map(|f| Some((f, askers[f as usize]?)));
        let longest = of_load().map(|(_, asker)| asker.longest_ns()).max().unwrap_or(0);
        let answers = of_load().flat_map(|(f, asker)| {
            let stops = spec.flows[f as usize].stop_ns.is_some_and(|stop| stop < spec.duration_ns);
            asker.requests((!stops).then_some(spec.duration_ns), longest)
        });
        let requests: Vec<Request> = answers.filter(|r| counts(r.asked_s)).collect();
        let window_s = (spec.duration_ns - spec.warmup_ns) as f64 / 1e9;
        let path = match &spec.sources[probes.source as usize].arrival {
            ArrivalProcess::Arrivals { each, .. } => each.path.as_slice(),
            _ => &[],
        };
        let rate = |port: &u32| {
            capacity_bytes(&spec.ports[*port as usize].rate, spec.warmup_ns, spec.duration_ns) * 8.0
                / window_s
        };
        results::Responsiveness::of(&Probed {
            load: &probes.load,
            connections: &connections(traffic),
            requests: &requests,
            idle: &connections(idle),
            profiles: &probes.profiles,
            capacity_bps: path.iter().map(rate).fold(f64::INFINITY, f64::min),
            window_s: (spec.warmup_ns as f64 / 1e9, spec.duration_ns as f64 / 1e9),
        })
    };
    spec.probes.iter().map(of).collect()
}

/// The same probes where nothing else is.
pub fn alone(spec: &RunSpec) -> RunSpec {
    let mut sources = Vec::new();
    let mut probes = spec.probes.clone();
    for probe in &mut probes {
        let source = spec.sources[probe.source as usize].clone();
        probe.source = sources.len() as u32;
        sources.push(source);
    }
    RunSpec {
        flows: Vec::new(),
        series_flows: Vec::new(),
        // No time series.
        series_interval_ns: spec.duration_ns,
        sources,
        probes,
        ..spec.clone()
    }
}
