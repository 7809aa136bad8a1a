//! What becomes of the datagrams of a group: one-way delay and loss.

use crate::measure::SojournHistogram;
use queuewright_results as results;

/// Datagrams of one group that arrived within the window.
#[derive(Debug)]
pub struct Datagrams {
    delays: SojournHistogram,
    sum_ns: u128,
    received: u64,
    warmup_ns: u64,
    end_ns: u64,
    /// Lost by flows that are gone, in queues and on links.
    pub lost: u64,
}

impl Datagrams {
    /// None yet.
    pub fn new(warmup_ns: u64, end_ns: u64) -> Datagrams {
        Datagrams { delays: SojournHistogram::new(), sum_ns: 0, received: 0, warmup_ns, end_ns, lost: 0 }
    }

    /// One arrives at `at` that was sent at `sent_at`.
    pub fn arrive(&mut self, at: u64, sent_at: u64) {
        if at >= self.warmup_ns && at <= self.end_ns {
            let ns = at - sent_at;
            self.received += 1;
            self.sum_ns += u128::from(ns);
            self.delays.record(ns);
        }
    }

    /// In results, with what flows that are still there have lost.
    pub fn finish(&self, lost_there: u64) -> results::Datagrams {
        let lost = self.lost + lost_there;
        let all = self.received + lost;
        results::Datagrams {
            received: self.received,
            lost,
            loss: if all == 0 { f64::NAN } else { lost as f64 / all as f64 },
            delay_ms: self.delays.summary(self.sum_ns),
        }
    }
}
