//! Probes: what measures how a network answers while an entry's flows load it.

use crate::data::{DataFile, Files};
use crate::error::Error;
use crate::keys::PROBES;
use crate::limits::PROFILES;
use crate::model::{Flows, Probes, TrafficModel};
use crate::node::{Node, Table, Value};
use crate::sizes::Sizes;
use crate::source::{ArrivalProcess, Poisson, SourceSpec};
use crate::stack::{SendBuffer, Stack};
use crate::streams::FlowTemplate;
use crate::units::Range;
use queuewright_cca::Kind;
use queuewright_results::quality::qoo::{self, Profile};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use std::ops::Range as Indices;
use std::sync::Arc;

/// Mean time from one connection that is opened for a byte to the next, ns: eight a second.
const GAP_NS: u64 = 125_000_000;
/// Streams of random numbers are named by the entry that they are of; those of its probes by the same number above this.
const STREAMS: u32 = 1 << 31;

impl Probes {
    /// Those of an entry of TCP flows, if it has them.
    pub(crate) fn read(t: &Table<'_>, files: &Files) -> Result<Option<Probes>, Error> {
        let Some(node) = t.get("probes") else { return Ok(None) };
        let file = match &node.value {
            Value::Table(_) => {
                node.table(&PROBES)?.get("profiles").map(|n| Probes::profiles(n, files)).transpose()?
            }
            _ if !node.bool()? => return Ok(None),
            _ => None,
        };
        let mut profiles = qoo::named();
        let Some((file, own)) = file else {
            return Ok(Some(Probes { profiles: Arc::new(profiles), file: None }));
        };
        // One's own stands for that of its name.
        profiles.retain(|p| own.iter().all(|own| own.name != p.name));
        profiles.extend(own.iter().cloned());
        Ok(Some(Probes { profiles: Arc::new(profiles), file: Some(file) }))
    }

    fn profiles(n: &Node, files: &Files) -> Result<(DataFile, Arc<Vec<Profile>>), Error> {
        files.once(n, || {
            let (file, bytes) = DataFile::read(n, files, "a file of profiles", PROFILES.bytes)?;
            let text = String::from_utf8(bytes).map_err(|_| n.error("not a text (UTF-8)"))?;
            let profiles = qoo::read(&file.given, &text).map_err(|message| n.error(message))?;
            Ok((file, profiles, 8 * text.len()))
        })
    }

    pub(crate) fn show(&self) -> Json {
        match &self.file {
            None => json!(true),
            Some(file) => json!({"profiles": file.given, "profiles_sha256": file.sha256}),
        }
    }
}

/// Probes of a run: connections that are opened for a byte, at random, and requests on the connections that make the load, if these
/// have no end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProbesSpec {
    /// Name of the entry whose flows make the load.
    pub load: String,
    /// The groups of its flows: from this index up to that.
    pub groups: Indices<u32>,
    /// The group of the connections that are opened: no group of the scenario's.
    pub group: u32,
    /// Where they come from: index into [`crate::RunSpec::sources`].
    pub source: u32,
    /// Applications whose Quality of Outcome is to be known.
    #[serde(with = "queuewright_aqm::shared")]
    pub profiles: Arc<Vec<Profile>>,
}

impl ProbesSpec {
    /// From one request on a connection that makes the load to the next, ns: uniform.
    pub const GAP_NS: Range = Range { min: 50_000_000, max: 150_000_000 };

    /// The connections that are opened beside an entry's flows, while all of them are there: the same way, with ECN as they have it.
    /// They come whatever becomes of those before (a Poisson process), so that they see the network as it is over time.
    pub(crate) fn source(entry: &Flows, seed: u64, index: u32, group: u32) -> SourceSpec {
        let (stack, ecn, l4s) = match &entry.traffic {
            TrafficModel::Tcp { stack, ccas, ecn, l4s, .. } => (
                *stack,
                *ecn || ccas.iter().any(|(kind, _)| kind.needs_ecn()),
                *l4s || ccas.iter().any(|(kind, _)| kind.info().ect1),
            ),
            TrafficModel::Datagrams(_) => (Stack::Linux, false, false),
        };
        let each = FlowTemplate {
            first_group: group,
            traffic: TrafficModel::Tcp {
                stack,
                ccas: vec![(Kind::Cubic, 1)],
                size: Some(Sizes::Uniform(Range::one(1))),
                initial_window: None,
                ecn,
                l4s,
                bps: None,
                send_buffer: SendBuffer::default(),
                client: None,
            },
            rtt_ns: entry.rtt_ns,
            duration: None,
            // A small packet takes no time there, but a full one's is all that an access link knows.
            access_bps: None,
            jitter_ns: entry.jitter_ns,
            path: entry.path.clone(),
            reverse_path: entry.reverse_path.clone(),
            header: entry.header,
        };
        let at = Poisson {
            gap_ns: GAP_NS,
            from_ns: entry.start_ns.max,
            until_ns: entry.stop_ns.map(|stop| stop.min),
        };
        SourceSpec { seed, entry: STREAMS + index, arrival: ArrivalProcess::Arrivals { at, each } }
    }
}
