//! Flows in the plane of delay and throughput.

use queuewright_results::Run;
use queuewright_scenario::RunSpec;
use queuewright_scenario::packet::FULL_BYTES;
use queuewright_scenario::spec::{PortSpec, Rate, Traffic};
use queuewright_scenario::trace::mean_rate;
use serde::{Deserialize, Serialize};

/// Where a TCP flow was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowPoint {
    /// Its group.
    pub group: String,
    /// Its congestion control.
    pub cca: String,
    /// Base RTT and mean sojourn time, ms.
    pub delay_ms: f64,
    /// Goodput, Mbit/s.
    pub mbps: f64,
    /// Mean sojourn time over that of the full buffers on its path: 1 is the most that tail drop makes.
    pub waited: f64,
    /// Goodput over an even share of the slowest link on its path.
    pub share: f64,
}

impl FlowPoint {
    /// How far from another, both axes in the units of `waited` and `share`: a flow that has nothing where it
    /// had its share, or finds full buffers where it had them empty, is displaced by 1.
    pub fn distance(&self, waited: f64, share: f64) -> f64 {
        (self.waited - waited).hypot(self.share - share)
    }
}

/// The TCP flows of a run that waited at all.
pub(crate) fn of_run(spec: &RunSpec, run: &Run) -> Vec<FlowPoint> {
    let mut crossing = vec![0.0; spec.ports.len()];
    for port in spec.flows.iter().flat_map(|f| &f.path) {
        crossing[*port as usize] += 1.0;
    }
    let point = |flow: &queuewright_results::Flow| {
        let f = spec.flows.get(flow.id as usize)?;
        if !matches!(f.traffic, Traffic::Tcp { .. }) {
            return None;
        }
        let path = || f.path.iter().map(|p| (&spec.ports[*p as usize], crossing[*p as usize]));
        let share = path().map(|(p, n)| bps(p) / n).fold(f64::INFINITY, f64::min);
        let full_ms: f64 = path().map(|(p, _)| 8e3 * buffer(p, spec) / bps(p)).sum();
        let point = FlowPoint {
            group: flow.group.clone(),
            cca: flow.cca.clone(),
            delay_ms: flow.base_rtt_ms + flow.sojourn_ms,
            mbps: flow.goodput_bps * 1e-6,
            waited: flow.sojourn_ms / full_ms,
            share: flow.goodput_bps / share,
        };
        let numbers = [point.delay_ms, point.mbps, point.waited, point.share];
        numbers.iter().all(|n| n.is_finite()).then_some(point)
    };
    run.flows.iter().filter_map(point).collect()
}

/// A link's rate; a schedule's first above 0, a trace's mean.
pub(crate) fn bps(port: &PortSpec) -> f64 {
    match &port.rate {
        Rate::Constant(bps) => *bps as f64,
        Rate::Schedule(s) => s.steps.iter().map(|(_, bps)| *bps as f64).find(|r| *r > 0.0).unwrap_or(0.0),
        Rate::Trace(t) => mean_rate(t) as f64,
    }
}

/// Bytes that may wait at a port.
fn buffer(port: &PortSpec, spec: &RunSpec) -> f64 {
    match (port.shared, port.limit_bytes, port.limit_packets) {
        (true, ..) => spec.shared_bytes as f64,
        (_, 0, packets) => f64::from(packets) * f64::from(FULL_BYTES + spec.overhead_bytes),
        (_, bytes, _) => bytes as f64,
    }
}
