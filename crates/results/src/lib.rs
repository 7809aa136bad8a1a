//! The result format of Queuewright, schema 2: what `--json` prints and what
//! every engine fills in. The JSON Schema in `docs/results.schema.json` is made
//! from these types.
//!
//! A measure that has no value (the sojourn time when no packet was sent, the
//! drop fraction when none arrived) is NaN here and `null` in JSON.

pub mod events;
mod experience;
pub mod measures;
pub mod quality;
mod recovery;
mod responsiveness;
pub mod sheets;

pub use experience::{Calls, Jitter, LossEvents, LossPattern};
pub use recovery::{Phase, Recovery, phases, recovery};
pub use responsiveness::{Connection, Probed, Request, Responsiveness};

use quality::video::STALL_PENALTY;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the result format.
pub const SCHEMA: u32 = 2;
/// The one before, which is read, too: `pages` were called `bursts` there, and their `plt_s` `bct_s`.
const BEFORE: u32 = 1;

/// One comparison: a scenario and every run made of it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Results {
    /// Version of this format: 2.
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

    /// Reads a result object back, of this version or the one before. Time series and distributions are not part of
    /// the JSON and come back empty.
    ///
    /// # Errors
    /// When the text is not JSON, a field is missing or has another type, or the
    /// format version is neither [`SCHEMA`] nor the one before.
    pub fn from_json(text: &str) -> Result<Results, serde_json::Error> {
        let mut results: Results = serde_json::from_str(text)?;
        if ![SCHEMA, BEFORE].contains(&results.schema) {
            return Err(serde::de::Error::custom(format_args!(
                "results are of schema {}, this version reads schemas {BEFORE} and {SCHEMA}",
                results.schema
            )));
        }
        results.schema = SCHEMA;
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

/// A measure that older results lack.
fn unknown() -> f64 {
    f64::NAN
}

/// Measures in JSON: a number, or `null` for one without a value (NaN here); in formats for
/// programs alone, as they are.
mod measure {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        match serializer.is_human_readable() {
            true => value.is_finite().then_some(*value).serialize(serializer),
            false => value.serialize(serializer),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        match deserializer.is_human_readable() {
            true => Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN)),
            false => f64::deserialize(deserializer),
        }
    }
}

/// One run: one discipline, one seed.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Discipline's label (its name unless the scenario gives another).
    pub discipline: String,
    /// Every parameter of the discipline, in words with unit (`"5ms"`), at the first port that has it.
    pub parameters: BTreeMap<String, String>,
    /// Seed that all that is random in the run follows from.
    pub seed: u64,
    /// `sim` or `linux`.
    #[schemars(extend("enum" = ["sim", "linux"]))]
    pub engine: String,
    /// Version of the kernel; left out for `sim`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kernel: String,
    /// Length of the run, seconds, warm-up included.
    pub duration_s: f64,
    /// Seconds cut off the front of every measure.
    pub warmup_s: f64,
    /// Output ports.
    pub ports: Vec<Port>,
    /// Flow groups.
    pub groups: Vec<Group>,
    /// The flows of the scenario; those that come and go are in their groups alone.
    pub flows: Vec<Flow>,
    /// How the network answers, measured by probes: one of each entry of flows that has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub responsiveness: Vec<Responsiveness>,
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

impl Run {
    /// A run of these flows, with every measure that follows from them: the same for each engine. All else is to be said.
    pub fn of(flows: Vec<Flow>) -> Run {
        let goodputs: Vec<f64> = flows.iter().map(|f| f.goodput_bps).filter(|g| g.is_finite()).collect();
        let jain = jain(goodputs.iter().copied());
        Run { jain, flows, ..Run::default() }
    }

    /// Goodput of all groups together, bits per second.
    pub fn goodput_bps(&self) -> f64 {
        // `Sum` would give -0 for a run without groups.
        self.groups.iter().fold(0.0, |sum, g| sum + g.goodput_bps)
    }
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
    /// Share of the link's capacity used, 0..1; above that only by the credit of a burst.
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
    /// Packets lost on the link behind the port, of those sent; left out for links that lose nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
    /// Loss events; left out where an engine does not see which flow a drop is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_events: Option<LossEvents>,
    /// How it came back from changes of its link's rate and of the load; left out where none was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
    /// What it did between these changes; empty where there was none after the warm-up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<Phase>,
    /// The queues of a scheduler that has few; empty for one queue and for queues by flow hash.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<Queue>,
}

/// Measures of one of a port's queues, after the warm-up. A packet that is dropped before it joins a
/// queue counts for the one that refused it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Queue {
    /// Name of the queue, as its discipline calls it.
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

/// Distribution of a time over packets, milliseconds.
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
    /// Congestion control, or the key of its UDP traffic, such as `cbr`.
    pub cca: String,
    /// `sha256:` and the SHA-256 of the user's own file that the congestion control is out of; left out for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cca_file: Option<String>,
    /// Number of flows, those that came and went included.
    pub flows: u32,
    /// Sum of the flows' goodput, bits per second.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub goodput_bps: f64,
    /// Its flows with an end, and those that came and went; left out where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfers: Option<Transfers>,
    /// What became of its datagrams; left out for TCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<Datagrams>,
    /// What its players of video saw, all together; left out where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub video: Option<Video>,
    /// What it loses beside the groups that the run was also made without; left out where it was not, and of these groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harm: Option<GroupHarm>,
}

/// Harm to a group of flows (Ware et al., HotNets 2019): of each measure the share of what it has without the others that it
/// loses beside them. 0: none, 1: all, below 0: it gains, to -9 at most.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct GroupHarm {
    /// The others.
    pub beside: Vec<String>,
    /// Of its goodput.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub goodput: f64,
    /// Of how long its packets take to the receiver and back: base round-trip time and waiting.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub delay: f64,
    /// Of its complete transfers.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub completed: f64,
    /// Of the 95th percentile of its completion times.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub fct: f64,
    /// Of its median page load time.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub plt: f64,
    /// Of what is delivered of its datagrams.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub delivered: f64,
    /// Its max-min fair share of goodput beside them, bits per second; null where a link has no one rate.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub fair_bps: f64,
}

/// What a player of video saw after the warm-up, or those of a group together: sums, and means over chunks
/// (bitrate) and players (startup).
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
pub struct Video {
    /// Chunks that arrived.
    pub chunks: u64,
    /// Mean of their bitrates, bits per second.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub bitrate_bps: f64,
    /// Changes of the bitrate.
    pub switches: u64,
    /// How often it stood still for lack of data.
    pub stalls: u64,
    /// For how long, seconds.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub stalled_s: f64,
    /// From the start to the first picture, seconds, whether in the warm-up or not.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub startup_s: f64,
    /// Linear quality of experience per chunk (Yin et al., SIGCOMM 2015), Mbit/s: mean bitrate, less 4.3 for each second that it stood
    /// still, less every change of the bitrate.
    #[serde(with = "measure", default = "unknown")]
    #[schemars(with = "Option<f64>")]
    pub linear_qoe: f64,
    /// Stalling index (ITU-T P.1203.3), 1 (none) towards 0, mean over players.
    #[serde(with = "measure", default = "unknown")]
    #[schemars(with = "Option<f64>")]
    pub stalling_index: f64,
}

impl Video {
    /// Of all players of a group; none without any.
    pub fn of(players: impl Iterator<Item = Video>) -> Option<Video> {
        let mut all: Option<Video> = None;
        let (mut bits, mut startups, mut started) = (0.0, 0.0, 0.0);
        let (mut quality, mut smooth, mut seen) = (0.0, 0.0, 0.0);
        for v in players {
            let sum = all.get_or_insert_default();
            sum.chunks += v.chunks;
            sum.switches += v.switches;
            sum.stalls += v.stalls;
            sum.stalled_s += v.stalled_s;
            if v.chunks > 0 {
                bits += v.bitrate_bps * v.chunks as f64;
                quality += v.linear_qoe * v.chunks as f64;
            } else {
                // It stood still all the time.
                quality -= STALL_PENALTY * v.stalled_s;
            }
            if v.stalling_index.is_finite() {
                (smooth, seen) = (smooth + v.stalling_index, seen + 1.0);
            }
            if v.startup_s.is_finite() {
                (startups, started) = (startups + v.startup_s, started + 1.0);
            }
        }
        // NaN where nothing came.
        all.map(|sum| Video {
            bitrate_bps: bits / sum.chunks as f64,
            startup_s: startups / started,
            linear_qoe: quality / sum.chunks as f64,
            stalling_index: smooth / seen,
            ..sum
        })
    }
}

/// Datagrams of a group of UDP flows, after the warm-up.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Datagrams {
    /// Packets that arrived at their receivers.
    pub received: u64,
    /// Packets dropped by queues or lost on links.
    pub lost: u64,
    /// Lost packets over those that were lost or arrived.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub loss: f64,
    /// From sender to receiver, queues, transmission and propagation included.
    pub delay_ms: Sojourn,
    /// How much later they come than the quickest of their flow.
    #[serde(default)]
    pub jitter_ms: Jitter,
    /// In which pattern they were lost; null where an engine does not see it.
    #[serde(default)]
    pub loss_pattern: Option<LossPattern>,
    /// How telephone calls are heard; left out for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<Calls>,
}

/// Flows of a group that had an end, or came and went: those that started after the warm-up.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Transfers {
    /// Flows started.
    pub started: u64,
    /// Flows of which every byte had arrived when the run ended.
    pub completed: u64,
    /// Packets of theirs that queues dropped, without their acknowledgements.
    pub drops: u64,
    /// Packets of theirs that links lost, without their acknowledgements.
    #[serde(default)]
    pub lost: u64,
    /// Segments that they sent again.
    pub retransmits: u64,
    /// Completion times, all flows and by size: `all`, `10kb` (to 10 * 1024 bytes), `100kb`, `1mb`, `10mb`, `larger`;
    /// sizes that did not occur are left out.
    pub fct_s: BTreeMap<String, Distribution>,
    /// Start-up times: from a flow's SYN, or its client's request, to the arrival of its first data byte, seconds.
    #[serde(default = "Distribution::none")]
    pub startup_s: Distribution,
    /// Of flows that came as pages: the pages.
    #[serde(default, alias = "bursts", skip_serializing_if = "Option::is_none")]
    pub pages: Option<Pages>,
}

/// Pages: flows that started together.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Pages {
    /// Pages started.
    pub started: u64,
    /// Pages of which every flow was complete when the run ended.
    pub completed: u64,
    /// Page load time: from the start of a page to the last byte of its last flow, seconds.
    #[serde(alias = "bct_s")]
    pub plt_s: Distribution,
    /// Packets of a page that queues dropped, without acknowledgements.
    pub drops: Distribution,
}

/// A distribution over few values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// How many values there are.
    pub count: u64,
    /// Mean.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub mean: f64,
    /// Median: half of the values are not larger.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub p50: f64,
    /// 75 % of the values are not larger.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub p75: f64,
    /// 95 % of the values are not larger.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub p95: f64,
    /// 99 % of the values are not larger.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub p99: f64,
    /// Largest.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub max: f64,
}

impl Distribution {
    /// Of nothing.
    fn none() -> Distribution {
        Distribution::of(std::iter::empty())
    }

    /// Of values; NaN without any.
    pub fn of(values: impl Iterator<Item = f64>) -> Distribution {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let at = |share: f64| quality::nearest_rank(&values, share);
        Distribution {
            count: values.len() as u64,
            mean: quality::mean(&values),
            p50: at(0.5),
            p75: at(0.75),
            p95: at(0.95),
            p99: at(0.99),
            max: at(1.0),
        }
    }
}

/// A flow that had an end, or came and went.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Transfer {
    /// Its group: index into [`Run::groups`].
    pub group: u32,
    /// Number of its page, from 0; none: it came alone.
    pub page: Option<u32>,
    /// Payload, bytes.
    pub bytes: u64,
    /// Start, seconds.
    pub start_s: f64,
    /// From its start (the SYN) to the arrival of its last byte; none: it did not end.
    pub fct_s: Option<f64>,
    /// From its start to the arrival of its first data byte; none: none has come, or it was not seen.
    #[serde(default)]
    pub startup_s: Option<f64>,
    /// Packets of its own, not acknowledgements, that queues dropped.
    pub drops: u64,
    /// Packets of its own, not acknowledgements, that links lost.
    pub lost: u64,
    /// Segments sent again.
    pub retransmits: u64,
}

/// Size classes: name, and largest size.
const CLASSES: [(&str, u64); 5] =
    [("10kb", 10 << 10), ("100kb", 100 << 10), ("1mb", 1 << 20), ("10mb", 10 << 20), ("larger", u64::MAX)];

impl Transfers {
    /// Of a group's.
    pub fn of<'a>(transfers: impl Iterator<Item = &'a Transfer>) -> Transfers {
        let all: Vec<&Transfer> = transfers.collect();
        let class = |bytes: u64| CLASSES.iter().find(|c| bytes <= c.1).map_or("larger", |c| c.0);
        let times = |name: &str| {
            let of_class = all.iter().filter(|t| name == "all" || class(t.bytes) == name);
            Distribution::of(of_class.filter_map(|t| t.fct_s))
        };
        let names = ["all"].into_iter().chain(CLASSES.map(|c| c.0));
        let fct_s = names.map(|name| (name.to_string(), times(name)));
        let mut pages: BTreeMap<u32, Vec<&Transfer>> = BTreeMap::new();
        for t in &all {
            if let Some(page) = t.page {
                pages.entry(page).or_default().push(t);
            }
        }
        let complete = |page: &Vec<&Transfer>| {
            page.iter().map(|t| t.fct_s).try_fold(0.0, |last: f64, fct| fct.map(|s| last.max(s)))
        };
        let plt_s = Distribution::of(pages.values().filter_map(complete));
        let loads = Pages {
            started: pages.len() as u64,
            completed: plt_s.count,
            plt_s,
            drops: Distribution::of(pages.values().map(|p| p.iter().map(|t| t.drops as f64).sum())),
        };
        Transfers {
            started: all.len() as u64,
            completed: all.iter().filter(|t| t.fct_s.is_some()).count() as u64,
            drops: all.iter().map(|t| t.drops).sum(),
            lost: all.iter().map(|t| t.lost).sum(),
            retransmits: all.iter().map(|t| t.retransmits).sum(),
            fct_s: fct_s.filter(|(_, d)| d.count > 0).collect(),
            startup_s: Distribution::of(all.iter().filter_map(|t| t.startup_s)),
            pages: (!pages.is_empty()).then_some(loads),
        }
    }
}

/// A flow.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Flow {
    /// Number, from 0.
    pub id: u32,
    /// Name of its group.
    pub group: String,
    /// Congestion control, or the key of its UDP traffic, such as `cbr`.
    pub cca: String,
    /// Round-trip time without queues, milliseconds.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub base_rtt_ms: f64,
    /// Application bytes delivered in order per second of the flow's time after the warm-up, times 8.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub goodput_bps: f64,
    /// Mean time that its packets waited in queues, milliseconds: with the goodput its point in the
    /// plane of throughput and delay.
    #[serde(default = "unknown", with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub sojourn_ms: f64,
    /// Mean smoothed round-trip time after the warm-up, milliseconds; null for UDP.
    pub srtt_ms: Option<f64>,
    /// Segments sent again after the warm-up.
    pub retransmits: u64,
    /// Retransmission timeouts after the warm-up.
    pub timeouts: u64,
    /// Completion time of a finite flow, seconds; null if it did not finish.
    pub fct_s: Option<f64>,
    /// What its player of video saw; left out for other flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub video: Option<Video>,
}

/// Distributions and time series of a run, for pictures and CSV files.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Detail {
    /// Per port: points (sojourn ms, share of packets at or below it), rising.
    pub sojourn_cdf: Vec<Vec<(f64, f64)>>,
    /// Sampled time series, the warm-up included.
    pub series: Series,
    /// Flows with an end, and those that came and went, the warm-up's included, by their starts.
    pub transfers: Vec<Transfer>,
}

/// Time series on a common clock.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Series {
    /// Sample times, seconds.
    pub time_s: Vec<f64>,
    /// One per quantity.
    pub columns: Vec<Column>,
}

impl Series {
    /// Without the pacing rates of flows that were not paced.
    #[must_use]
    pub fn without_unpaced(mut self) -> Series {
        let is_told = |c: &Column| !c.name.ends_with(".pacing_bps") || c.values.iter().any(|v| v.is_finite());
        self.columns.retain(is_told);
        self
    }
}

/// One sampled quantity.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Column {
    /// Such as `bottleneck.backlog_bytes`, `bottleneck.rate_bps`, `bottleneck.drops` (so far),
    /// `bottleneck.threshold_bytes`, `bottleneck.drop_probability`, `flow0.cwnd`, `flow0.goodput_bps`, `flow0.pacing_bps` (the rate by which a sender spaces out what
    /// it sends; there is none of a flow that is not paced).
    pub name: String,
    /// `bytes`, `bit/s`, `packets`, `ms` or empty.
    pub unit: String,
    /// As many as sample times; NaN where nothing is known.
    pub values: Vec<f64>,
}

/// Jain's fairness index of the given rates: 1 when all are equal, 1/n when one takes all; 1 for none.
pub fn jain(rates: impl Iterator<Item = f64>) -> f64 {
    let (n, sum, squares) = rates.fold((0u32, 0.0, 0.0), |(n, s, q), x| (n + 1, s + x, q + x * x));
    if squares == 0.0 { 1.0 } else { sum * sum / (f64::from(n) * squares) }
}
