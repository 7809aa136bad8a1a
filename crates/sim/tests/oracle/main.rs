//! The simulator against what theory says of networks drawn at random, and against itself where nothing may change.
//!
//! Every check states its formula and its bounds where it stands; bounds come from theory (a packet, a round), or are four
//! standard errors of independent batches. Draws are the same in each run.
//!
//! - `waiting`: M/M/1, M/M/1/K, M/D/1, M/G/1, servers with vacations, Little's law.
//! - `links`: token buckets, bursts, links that come and go.
//! - `sharing`: max-min fairness and the order of turns.
//! - `windows`: Reno's and CUBIC's cycles.
//! - `counts`: every packet of every flow, group and port, within the window and beside it.
//! - `alone`: what else is there, how groups are cut and when it begins change nothing.

#[allow(dead_code, reason = "shared with the other tests")]
#[path = "../behaviour/bed.rs"]
mod bed;

mod alone;
mod counts;
mod links;
mod sharing;
mod waiting;
mod windows;

use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};
use queuewright_results::{Datagrams, Run};

/// Draws so many cases, always the same ones, and checks each.
fn drawn<S: Strategy>(cases: u32, strategy: S, check: impl Fn(S::Value))
where
    S::Value: std::fmt::Debug,
{
    let config = ProptestConfig {
        cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(0x0071_7565_7565),
        max_shrink_iters: 40,
        ..ProptestConfig::default()
    };
    let checked = TestRunner::new(config).run(&strategy, |value| {
        check(value);
        Ok(())
    });
    if let Err(e) = checked {
        panic!("{e}");
    }
}

/// Mean of independent batches, and four times its standard error.
fn batches(means: &[f64]) -> (f64, f64) {
    let n = means.len() as f64;
    let mean = means.iter().sum::<f64>() / n;
    let variance = means.iter().map(|m| (m - mean) * (m - mean)).sum::<f64>() / (n - 1.0);
    (mean, 4.0 * (variance / n).sqrt())
}

/// Batches against a formula, `slack` apart at most beside four standard errors, which must be below `share` of it: else they
/// would show nothing.
#[track_caller]
fn agrees(what: &str, means: &[f64], want: f64, slack: f64, share: f64) {
    let (mean, error) = batches(means);
    println!("{what}: {mean:.5} +- {error:.5}, by the formula {want:.5}");
    assert!(error <= share * want, "{what}: four standard errors of {error} say nothing about {want}");
    assert!((mean - want).abs() <= error + slack, "{what}: {mean} +- {error}, by the formula {want}");
}

fn datagrams(r: &Run, group: usize) -> &Datagrams {
    r.groups[group].datagrams.as_ref().expect("UDP flows have delay and loss")
}
