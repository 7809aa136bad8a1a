//! Rates of links, and the buckets that limit them.

use serde::{Deserialize, Serialize};

/// By which rule a token bucket lets packets leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Shaper {
    /// Linux's htb: a packet goes while the credit is not negative, and is taken from the discipline then.
    #[default]
    Htb,
    /// Linux's tbf: a packet goes when there is credit for all of it. It is taken from the discipline when the one before it goes, and fills the
    /// buffer until it goes itself.
    Tbf,
}

/// Rates that follow one another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// (from ns, bits per second), the first from 0, times rising, not all rates 0. A rate of 0 is an outage.
    pub steps: Vec<(u64, u64)>,
    /// When it begins anew, after the last step's time, ns; none: the last rate stays.
    pub period_ns: Option<u64>,
}

impl Schedule {
    /// What a link does until a time, bits times 1e9: a bit a second for a ns is 1.
    pub fn work(&self, until_ns: u64) -> u128 {
        let in_one = |until: u64| -> u128 {
            let end = |i: usize| self.steps.get(i + 1).map_or(until, |s| s.0.min(until));
            let of_step = |(i, step): (usize, &(u64, u64))| {
                u128::from(end(i).saturating_sub(step.0)) * u128::from(step.1)
            };
            self.steps.iter().enumerate().map(of_step).sum()
        };
        match self.period_ns {
            None => in_one(until_ns),
            Some(period) => u128::from(until_ns / period) * in_one(period) + in_one(until_ns % period),
        }
    }
}

/// Delivery opportunities: at each time the link may send up to 1500 bytes (IP length);
/// repeats with the period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// Times from the start, ns, not falling, all < or = `period_ns`, at least one.
    pub opportunities_ns: Vec<u64>,
    /// Length after which it repeats (the last opportunity's time), ns, > 0.
    pub period_ns: u64,
}
