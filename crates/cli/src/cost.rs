//! What runs will cost: packets that their links can carry, over what this machine simulates a second.

use crate::words::capacity_packets;
use queuewright_scenario::{Flags, RunSpec, Scenario};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// A run's work, in packets of the calibration's kind.
pub fn work(spec: &RunSpec) -> f64 {
    // Many flows are many cache misses: by docs/bench.md a packet with 100,000 flows costs about three times one with 10.
    let flows = (spec.flows.len().max(10) as f64 / 10.0).log10();
    capacity_packets(spec) * (1.0 + 0.6 * flows) + 2000.0
}

/// Packets a second on one core of this machine: the best of three runs of a moment, as whatever else the
/// machine does slows some of them.
pub fn packets_per_s() -> f64 {
    const USUAL: f64 = 3e6;
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
