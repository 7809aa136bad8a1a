//! The result format of Queuewright, schema 1: what `--json` prints and what
//! every engine fills in. The JSON Schema in `docs/results.schema.json` is made
//! from these types.
//!
//! A measure that has no value (the sojourn time when no packet was sent, the
//! drop fraction when none arrived) is NaN here and `null` in JSON.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the result format.
pub const SCHEMA: u32 = 1;

/// One comparison: a scenario and every run made of it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Results {
    /// Version of this format: 1.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: u32,
    /// Version of the queuewright that made it.
    pub version: String,
    /// The scenario as read, as JSON, plus `hash` (SHA-256 of its canonical JSON).
    pub scenario: serde_json::Value,
    /// One entry per discipline and seed, in scenario order.
    pub runs: Vec<Run>,
}

impl Results {
    /// The result object as indented JSON with a final newline. Keys stand in the
    /// order of the fields; NaN and infinities become `null`.
    pub fn to_json(&self) -> String {
        // Plain data with string keys: serde_json has no error to give.
        let mut text = serde_json::to_string_pretty(self).expect("plain data");
        text.push('\n');
        text
    }

    /// Reads a result object back. Time series and distributions are not part of
    /// the JSON and come back empty.
    ///
    /// # Errors
    /// When the text is not JSON, a field is missing or has another type, or the
    /// format version is not [`SCHEMA`].
    pub fn from_json(text: &str) -> Result<Results, serde_json::Error> {
        let results: Results = serde_json::from_str(text)?;
        if results.schema != SCHEMA {
            return Err(serde::de::Error::custom(format_args!(
                "results are of schema {}, this version reads schema {SCHEMA}",
                results.schema
            )));
        }
        Ok(results)
    }
}

/// The JSON Schema (draft 2020-12) of [`Results`], as kept in `docs/results.schema.json`.
pub fn json_schema() -> String {
    // What is written, not what is read: every key is there, some with null.
    let schema =
        SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<Results>();
    let mut text = serde_json::to_string_pretty(&schema).expect("plain data");
    text.push('\n');
    text
}

/// Measures in JSON: a number, or `null` for one without a value (NaN here).
mod measure {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        value.is_finite().then_some(*value).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
    }
}

/// One run: one discipline, one seed.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Discipline's label (its name unless the scenario gives another).
    pub discipline: String,
    /// Every parameter of the discipline, in words with unit (`"5ms"`), at the first port that has it.
    pub parameters: BTreeMap<String, String>,
    /// Seed.
    pub seed: u64,
    /// `sim` or `linux`.
    #[schemars(extend("enum" = ["sim", "linux"]))]
    pub engine: String,
    /// Length of the run, seconds, warm-up included.
    pub duration_s: f64,
    /// Seconds cut off the front of every measure.
    pub warmup_s: f64,
    /// Output ports.
    pub ports: Vec<Port>,
    /// Flow groups.
    pub groups: Vec<Group>,
    /// Flows.
    pub flows: Vec<Flow>,
    /// Jain's fairness index over the goodput of all flows that were active after the warm-up, 0..1.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub jain: f64,
    /// Wall-clock seconds that the run took.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub wall_s: f64,
    /// Bottleneck packets per wall-clock second.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub packets_per_s: f64,
    /// What pictures need beyond the numbers above; not part of the JSON.
    #[serde(skip)]
    #[schemars(skip)]
    pub detail: Detail,
}

/// Measures of an output port, after the warm-up.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Port {
    /// Name (`bottleneck`).
    pub name: String,
    /// Label of its discipline if that is one of its own; without it, it has the run's.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub discipline: String,
    /// Every parameter of a discipline of its own, in words with unit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// Share of the link's capacity used, 0..1.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub utilization: f64,
    /// Packets sent.
    pub packets: u64,
    /// Time from enqueue to the start of transmission.
    pub sojourn_ms: Sojourn,
    /// Time-averaged and largest number of packets waiting.
    pub backlog_packets: Backlog,
    /// Time-averaged and largest number of bytes waiting.
    pub backlog_bytes: Backlog,
    /// Dropped packets over arrived packets.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub drop_fraction: f64,
    /// Marked packets over arrived packets.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub mark_fraction: f64,
    /// Drops by reason.
    pub drops: BTreeMap<String, u64>,
    /// Marks by reason.
    pub marks: BTreeMap<String, u64>,
    /// The queues of a scheduler that has few; empty for one queue and for queues by flow hash.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<Queue>,
}

/// Measures of one of a port's queues, after the warm-up. A packet that is dropped before it joins a
/// queue counts for the one that refused it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Queue {
    /// Name.
    pub name: String,
    /// Packets sent.
    pub packets: u64,
    /// Bits sent a second, as the link counts them.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub rate_bps: f64,
    /// Time from enqueue to the start of transmission.
    pub sojourn_ms: Sojourn,
    /// Time-averaged and largest number of packets waiting.
    pub backlog_packets: Backlog,
    /// Time-averaged and largest number of bytes waiting.
    pub backlog_bytes: Backlog,
    /// Dropped packets over arrived packets.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub drop_fraction: f64,
    /// Marked packets over arrived packets.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub mark_fraction: f64,
    /// Drops by reason.
    pub drops: BTreeMap<String, u64>,
    /// Marks by reason.
    pub marks: BTreeMap<String, u64>,
}

/// Distribution of the per-packet sojourn time, milliseconds.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct Sojourn {
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub mean: f64,
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub std: f64,
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub p25: f64,
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub p50: f64,
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub p75: f64,
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub p95: f64,
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub p99: f64,
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub p99_9: f64,
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub max: f64,
}

/// Time average and maximum.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct Backlog {
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub mean: f64,
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub max: f64,
}

/// A group of flows.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Group {
    /// Name: the scenario's, or the congestion control's.
    pub name: String,
    /// Congestion control, or `cbr` / `poisson`.
    pub cca: String,
    /// Number of flows.
    pub flows: u32,
    /// Sum of the flows' goodput, bits per second.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub goodput_bps: f64,
}

/// A flow.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Flow {
    /// Number, from 0.
    pub id: u32,
    /// Name of its group.
    pub group: String,
    /// Congestion control, or `cbr` / `poisson`.
    pub cca: String,
    /// Round-trip time without queues, milliseconds.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub base_rtt_ms: f64,
    /// Application bytes delivered in order per second of the flow's time after the warm-up, times 8.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub goodput_bps: f64,
    /// Mean smoothed round-trip time after the warm-up, milliseconds; null for UDP.
    pub srtt_ms: Option<f64>,
    /// Segments sent again after the warm-up.
    pub retransmits: u64,
    /// Retransmission timeouts after the warm-up.
    pub timeouts: u64,
    /// Completion time of a finite flow, seconds; null if it did not finish.
    pub fct_s: Option<f64>,
}

/// Distributions and time series of a run, for pictures and CSV files.
#[derive(Debug, Clone, Default)]
pub struct Detail {
    /// Per port: points (sojourn ms, share of packets at or below it), rising.
    pub sojourn_cdf: Vec<Vec<(f64, f64)>>,
    /// Sampled time series, the warm-up included.
    pub series: Series,
}

/// Time series on a common clock.
#[derive(Debug, Clone, Default)]
pub struct Series {
    /// Sample times, seconds.
    pub time_s: Vec<f64>,
    /// One per quantity.
    pub columns: Vec<Column>,
}

/// One sampled quantity.
#[derive(Debug, Clone, Default)]
pub struct Column {
    /// Such as `bottleneck.queue_bytes`, `bottleneck.rate_bps`, `bottleneck.threshold_bytes`,
    /// `bottleneck.drop_probability`, `flow0.cwnd`, `flow0.goodput_bps`.
    pub name: String,
    /// `bytes`, `bit/s`, `packets`, `ms` or empty.
    pub unit: String,
    /// As many as sample times; NaN where nothing is known.
    pub values: Vec<f64>,
}
