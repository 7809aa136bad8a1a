//! What becomes of the datagrams of a group: one-way delay, jitter and loss, and how calls are heard.

use crate::measure::SojournHistogram;
use crate::stream::Stream;
use queuewright_results as results;
use queuewright_results::quality::loss::Pattern;
use queuewright_scenario::spec::Codec;

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
    jitter: SojournHistogram,
    jitter_sum_ns: u128,
    pattern: Pattern,
    /// Of calls: what speech is encoded with, and the transmission rating of each.
    codec: Option<Codec>,
    ratings: Vec<f64>,
}

impl Datagrams {
    /// None yet.
    pub fn new(warmup_ns: u64, end_ns: u64, codec: Option<Codec>) -> Datagrams {
        Datagrams {
            delays: SojournHistogram::new(),
            sum_ns: 0,
            received: 0,
            warmup_ns,
            end_ns,
            lost: 0,
            jitter: SojournHistogram::new(),
            jitter_sum_ns: 0,
            pattern: Pattern::default(),
            codec,
            ratings: Vec::new(),
        }
    }

    /// Does what happens at `at` count?
    pub fn counts(&self, at: u64) -> bool {
        at >= self.warmup_ns && at <= self.end_ns
    }

    /// A flow of the group is over.
    pub fn over(&mut self, stream: &Stream) {
        stream.jitter(|ns, many| {
            self.jitter.record_all(ns, many);
            self.jitter_sum_ns += u128::from(ns) * u128::from(many);
        });
        self.pattern.add(stream.pattern());
        self.ratings.extend(self.codec.and_then(|codec| stream.rating(codec)));
    }

    /// One arrives at `at` that was sent at `sent_at`.
    pub fn arrive(&mut self, at: u64, sent_at: u64) {
        if self.counts(at) {
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
        let jitter = self.jitter.summary(self.jitter_sum_ns);
        results::Datagrams {
            received: self.received,
            lost,
            loss: if all == 0 { f64::NAN } else { lost as f64 / all as f64 },
            delay_ms: self.delays.summary(self.sum_ns),
            jitter_ms: results::Jitter {
                mean: jitter.mean,
                p95: jitter.p95,
                p99: jitter.p99,
                max: jitter.max,
            },
            loss_pattern: Some(results::LossPattern::of(&self.pattern)),
            calls: self.codec.map(|_| results::Calls::of(&self.ratings)),
        }
    }
}
