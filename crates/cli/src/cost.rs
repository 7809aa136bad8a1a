//! What runs will cost: what their links will carry, at what this machine takes for a packet.

use crate::words::port_packets;
use queuewright_scenario::packet::{FULL_BYTES, MSS};
use queuewright_scenario::spec::{FlowSpec, RunSpec, Stack, Traffic};
use queuewright_scenario::{Flags, Scenario, Source};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Of flows that come while a run goes on, so many are looked at; the others are taken to be like them.
const LOOKED_AT: usize = 2000;
/// Nanoseconds of [`work`] that a flow takes beyond its packets, and a run beyond its flows.
const FLOW_NS: f64 = 8e3;
const RUN_NS: f64 = 5e5;

/// Nanoseconds more for a packet of a discipline that tells flows apart: Santa, FQ-CoDel and SFQ took 80 to 140
/// more than CoDel with 90 flows on 1.8 Gbit/s.
const BY_FLOW_NS: f64 = 80.0;

/// What flows ask of a port.
#[derive(Default, Clone, Copy)]
struct Load {
    /// Flows at a time.
    flows: f64,
    /// Packets over the whole run; infinite with a flow that takes what it can get.
    packets: f64,
}

/// A run's work: nanoseconds on the machine that the numbers of [`packet_ns`] are from.
pub fn work(spec: &RunSpec) -> f64 {
    let seconds = spec.duration_ns as f64 / 1e9;
    let mut loads = vec![Load::default(); spec.ports.len()];
    let mut add = |flow: &FlowSpec, like_it: f64| {
        let (packets, stays_s) = asks(flow, spec.duration_ns);
        for &port in &flow.path {
            loads[port as usize].packets += like_it * packets;
            loads[port as usize].flows += like_it * stays_s / seconds;
        }
    };
    let mut arrived = 0.0;
    spec.flows.iter().for_each(|flow| add(flow, 1.0));
    for source in &spec.sources {
        // One after another they take what they can get.
        for first in source.sessions() {
            let first_flow = FlowSpec { stop_ns: None, ..first.flow };
            add(&without_end(first_flow), 1.0);
        }
        let mut source = Source::new(source);
        let mut flows = Vec::new();
        while flows.len() < LOOKED_AT
            && let Some(next) = source.arrive()
            && next.flow.start_ns < spec.duration_ns
        {
            flows.push(next.flow);
        }
        let all = flows.len() < LOOKED_AT;
        let (Some(first), Some(last)) = (flows.first(), flows.last()) else { continue };
        let spanned = last.start_ns.saturating_sub(first.start_ns).max(1) as f64;
        let left = spec.duration_ns.saturating_sub(first.start_ns) as f64;
        let like_it = if all { 1.0 } else { left / spanned };
        arrived += like_it * flows.len() as f64;
        flows.iter().for_each(|flow| add(flow, like_it));
    }
    // Every segment has its ACK there. Titrate's experiments took 1.4 times what the others did, by what was said of both.
    let acks = if spec.stack == Stack::Ns3 { 1.4 } else { 1.0 };
    let mut ns = RUN_NS + FLOW_NS * (arrived + spec.flows.len() as f64);
    for (port, load) in spec.ports.iter().zip(loads) {
        let can = port_packets(spec, port);
        let packets = can.min(load.packets);
        let mbps = |packets: f64| (packets * 12_000.0 / seconds / 1e6).max(0.1);
        let by_flow = if port.discipline.info.needs_flow { BY_FLOW_NS } else { 0.0 };
        ns += packets * (by_flow + acks * packet_ns(mbps(can), mbps(packets / load.flows.max(1.0))));
    }
    ns
}

/// Nanoseconds for a packet of a link of so many Mbit/s with so many for each flow. A fit (to 22 % for CUBIC) over
/// links of 10 Mbit/s to 1 Gbit/s with 1 to 1000 flows, single runs of `queuewright compare` with CoDel: packets of
/// a flow that follow closely are handled together.
fn packet_ns(link_mbps: f64, flow_mbps: f64) -> f64 {
    125.0 + 350.0 / link_mbps.sqrt() + 250.0 / flow_mbps.sqrt()
}

fn without_end(mut flow: FlowSpec) -> FlowSpec {
    if let Traffic::Tcp { size_bytes, .. } = &mut flow.traffic {
        *size_bytes = None;
    }
    flow
}

/// Packets that a flow sends where nothing holds it up, and how long it stays, seconds.
fn asks(flow: &FlowSpec, end_ns: u64) -> (f64, f64) {
    let until = flow.stop_ns.unwrap_or(end_ns).min(end_ns);
    let there_s = until.saturating_sub(flow.start_ns) as f64 / 1e9;
    let at_most = |bps: Option<u64>| {
        bps.map_or(f64::INFINITY, |bps| bps as f64 * there_s / 8.0 / f64::from(FULL_BYTES))
    };
    match &flow.traffic {
        Traffic::Datagrams { bps, packet_bytes, .. } => {
            (*bps as f64 * there_s / 8.0 / f64::from(*packet_bytes).max(1.0), there_s)
        }
        Traffic::Tcp { size_bytes: Some(bytes), client: None, .. } => {
            let packets = (*bytes as f64 / f64::from(MSS)).ceil();
            // Slow start from ten packets.
            let rounds: f64 = 1.0 + (packets / 10.0 + 1.0).log2().ceil();
            (packets, (rounds * flow.base_rtt_ns as f64 / 1e9).min(there_s))
        }
        Traffic::Tcp { .. } => (at_most(flow.access_bps), there_s),
    }
}

/// Work a second on one core of this machine: the best of three runs of a moment, as whatever else the
/// machine does slows some of them.
pub fn work_per_s() -> f64 {
    const USUAL: f64 = 1e9;
    let text = |s: &str| Some(s.to_string());
    let flags = Flags {
        rate: text("200mbit"),
        rtt: text("20ms..80ms"),
        flows: text("6xcubic,4xbbr"),
        aqm: text("codel"),
        duration: text("4s"),
        ..Flags::default()
    };
    let Ok(runs) = Scenario::from_flags(&flags).and_then(|s| s.runs()) else { return USUAL };
    let Some(spec) = runs.first() else { return USUAL };
    let speeds = (0..3).filter_map(|_| {
        let started = Instant::now();
        queuewright_sim::run(spec, &AtomicBool::new(false), &|_| {}).ok()?;
        let took = started.elapsed().as_secs_f64();
        (took > 0.0).then(|| work(spec) / took)
    });
    speeds.reduce(f64::max).unwrap_or(USUAL)
}

/// A time for people: `40 s`, `12 min`, `1 h 05 min`.
pub fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => "1 s".into(),
        s if s < 100.0 => format!("{s:.0} s"),
        s if s < 5970.0 => format!("{:.0} min", s / 60.0),
        s => {
            let minutes = (s / 60.0).round() as u64;
            format!("{} h {:02} min", minutes / 60, minutes % 60)
        }
    }
}
