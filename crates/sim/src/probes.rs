//! Probes: how long the network takes to answer while an entry's flows load it.

use crate::link::capacity_bytes;
use crate::traffic::Traffic;
use crate::world::World;
use queuewright_results as results;
use queuewright_results::{Connection, Probed, Request};
use queuewright_scenario::spec::{ArrivalProcess, ProbesSpec, RunSpec};
use std::collections::VecDeque;

/// Who asks for a byte on a connection that makes the load, one request after the other, whatever is under way.
#[derive(Debug, Default)]
pub struct Asker {
    /// When each request went out (ns).
    asked_ns: Vec<u64>,
    /// Of those that the sender knows of and that are not answered: the segment that an answer stands behind, and up to which request it
    /// is one.
    due: VecDeque<(u32, u32)>,
    /// Requests that the sender knows of.
    told: u32,
    /// How long each answer took, ns.
    took_ns: Vec<u64>,
}

impl Asker {
    /// Asks at `now`: the number of the request, from 1.
    pub fn ask(&mut self, now: u64) -> u32 {
        self.asked_ns.push(now);
        self.asked_ns.len() as u32
    }

    /// A request has come to the sender, which has written up to a segment by then; with it those before that were lost, as what is
    /// sent again is there no later. The first segment whose arrival is to be told, `u32::MAX`: of none.
    pub fn told(&mut self, number: u32, written: u32) -> u32 {
        if number > self.told {
            self.told = number;
            self.due.push_back((written, number));
        }
        self.awaited()
    }

    /// All before `next` has arrived at `at`. What is to be told then.
    pub fn answered(&mut self, at: u64, next: u32) -> u32 {
        while let Some((_, upto)) = self.due.pop_front_if(|(segment, _)| *segment < next) {
            let answered = &self.asked_ns[self.took_ns.len()..upto as usize];
            self.took_ns.extend(answered.iter().map(|asked| at - asked));
        }
        self.awaited()
    }

    fn awaited(&self) -> u32 {
        self.due.front().map_or(u32::MAX, |(segment, _)| *segment)
    }

    /// The longest that an answer took, ns.
    fn longest_ns(&self) -> u64 {
        self.took_ns.iter().copied().max().unwrap_or(0)
    }

    /// Every request, and how long its answer took. Of those that have none at `end`, unless nothing more is to come, those that have
    /// waited longer than `longest`: so long at least.
    fn requests(&self, end: Option<u64>, longest: u64) -> impl Iterator<Item = Request> {
        let waits = self.asked_ns.iter().skip(self.took_ns.len());
        let waits = waits.filter_map(move |asked| Some((asked, end?.saturating_sub(*asked))));
        let all = self.asked_ns.iter().zip(self.took_ns.iter().copied());
        all.chain(waits.filter(move |(_, took)| *took > longest))
            .map(|(asked, took)| Request { asked_s: *asked as f64 / 1e9, took_ms: took as f64 / 1e6 })
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
