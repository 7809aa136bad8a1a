//! Runs scenarios from their text.

use proptest::prelude::*;
use queuewright_cca::Kind;
use queuewright_results::Run;
use queuewright_scenario::{RunSpec, Scenario};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// The name of every congestion control that finds its rate itself.
pub fn every_cca() -> Vec<&'static str> {
    Kind::ALL.into_iter().filter(|k| !k.needs_rate()).map(Kind::name).collect()
}

/// The runs that a scenario text stands for; paths in it start from the folder of test data.
pub fn specs(toml: &str) -> Vec<RunSpec> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let parsed = Scenario::parse(toml, "test.toml", &folder).and_then(|s| s.runs());
    parsed.unwrap_or_else(|e| panic!("{e}\n{toml}"))
}

/// Runs one.
pub fn run(spec: &RunSpec) -> Run {
    queuewright_sim::run(spec, &AtomicBool::new(false), &|_| ()).expect("the run ends")
}

/// Runs all of a scenario, in its order.
pub fn runs(toml: &str) -> Vec<Run> {
    specs(toml).iter().map(run).collect()
}

/// Runs a scenario of one run.
pub fn one(toml: &str) -> Run {
    let specs = specs(toml);
    assert_eq!(specs.len(), 1, "{toml}");
    run(&specs[0])
}

/// A time series as points (seconds, value).
pub fn series(run: &Run, column: &str) -> Vec<(f64, f64)> {
    let s = &run.detail.series;
    let column = s.columns.iter().find(|c| c.name == column).expect("the column is there");
    s.time_s.iter().copied().zip(column.values.iter().copied()).collect()
}

/// The mean of a time series over `from..to` seconds.
pub fn mean(points: &[(f64, f64)], from: f64, to: f64) -> f64 {
    let inside: Vec<f64> = points.iter().filter(|p| p.0 >= from && p.0 < to).map(|p| p.1).collect();
    inside.iter().sum::<f64>() / inside.len() as f64
}

/// Packets dropped, for any reason.
pub fn drops(run: &Run) -> u64 {
    run.ports[0].drops.values().sum()
}

/// Packets marked, for any reason.
pub fn marks(run: &Run) -> u64 {
    run.ports[0].marks.values().sum()
}

/// Is `got` within `share` of `want`, or within `slack` of it?
#[track_caller]
pub fn close(what: &str, got: f64, want: f64, share: f64, slack: f64) {
    let off = (got - want).abs();
    assert!(off <= (share * want.abs()).max(slack), "{what}: {got}, expected {want} (off by {off})");
}

/// Runs a scenario whose flows all begin with it and have so many bytes: each has them all once, and not sooner than the link's rate and the path's
/// round-trip time allow.
pub fn all_complete(toml: &str, rtt_ms: u32, kbit: u32, size: u32) -> Result<(), TestCaseError> {
    // The handshake's round trip, half of one for the last byte, and the bytes themselves.
    let least = 1.5 * f64::from(rtt_ms) / 1e3 + f64::from(size) * 8.0 / (f64::from(kbit) * 1e3);
    for r in runs(toml) {
        for f in &r.flows {
            let Some(fct) = f.fct_s else {
                return Err(TestCaseError::fail(format!("a flow never completed: {f:?}\n{toml}")));
            };
            prop_assert!(fct >= least, "{fct} < {least}\n{toml}");
            prop_assert!((f.goodput_bps * fct / 8.0 - f64::from(size)).abs() < 1.0, "{f:?}");
        }
    }
    Ok(())
}
