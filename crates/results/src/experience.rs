//! Results in people's terms; what each is computed by is in [`crate::quality`].

use crate::measure;
use crate::quality::{emodel, loss, mean, nearest_rank};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much later packets come than the quickest of their flow, milliseconds: packet delay variation (RFC 5481).
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct Jitter {
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub mean: f64,
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub p95: f64,
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub p99: f64,
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub max: f64,
}

impl Default for Jitter {
    fn default() -> Jitter {
        Jitter { mean: f64::NAN, p95: f64::NAN, p99: f64::NAN, max: f64::NAN }
    }
}

/// In which pattern a group's flows lost packets (RFC 3357), each flow by itself, together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LossPattern {
    /// Loss periods: runs of lost packets.
    pub periods: u64,
    /// Mean length of one, packets.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub period_packets: f64,
    /// Share of the lost packets whose loss is noticed: it follows another of its flow within 99 packets.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub noticeable_rate: f64,
    /// Mean length of a run of losses over that of random loss, 1: random.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub burst_r: f64,
}

impl LossPattern {
    /// Of what was counted.
    pub fn of(p: &loss::Pattern) -> LossPattern {
        LossPattern {
            periods: p.periods,
            period_packets: p.lost as f64 / p.periods as f64,
            noticeable_rate: p.noticed as f64 / p.lost as f64,
            burst_r: loss::burst_r(p.periods, p.lost, p.sent),
        }
    }
}

/// How the telephone calls of a group are heard, by ITU-T G.107 without echo: mean over the calls, and the worst of them.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
pub struct Calls {
    /// Mean opinion score, 1 to 4.5.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub mos: f64,
    /// That of the worst call.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub mos_worst: f64,
    /// Transmission rating R, 0 to 93.4.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub r: f64,
    /// That of the worst call.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub r_worst: f64,
}

impl Calls {
    /// Of each call's transmission rating, of which one below 0 counts as 0; NaN without any.
    pub fn of(ratings: &[f64]) -> Calls {
        let ratings = &ratings.iter().map(|r| r.max(0.0)).collect::<Vec<f64>>()[..];
        let scores: Vec<f64> = ratings.iter().map(|r| emodel::mos(*r)).collect();
        let worst = |all: &[f64]| all.iter().copied().reduce(f64::min).unwrap_or(f64::NAN);
        Calls { mos: mean(&scores), mos_worst: worst(&scores), r: mean(ratings), r_worst: worst(ratings) }
    }
}

/// Loss events of a port, and how many of its flows each hits.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
pub struct LossEvents {
    /// How many: a drop and all that follow it within one mean base round-trip time of the port's flows.
    pub count: u64,
    /// Global synchronisation ratio (RFC 7928): share of the flows there that lost packets in an event, mean over the events, 0..1.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub synchronisation: f64,
    /// Its median.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub synchronisation_p50: f64,
}

impl LossEvents {
    /// Of each event's share of the flows, 0 to 1.
    pub fn of(mut shares: Vec<f64>) -> LossEvents {
        shares.sort_by(f64::total_cmp);
        LossEvents {
            count: shares.len() as u64,
            synchronisation: mean(&shares),
            synchronisation_p50: nearest_rank(&shares, 0.5),
        }
    }
}
