//! Probes: what measures how a network answers while an entry's flows load it.

use crate::arrivals::Pause;
use crate::data::{DataFile, Files};
use crate::error::Error;
use crate::flow::{FlowSpec, Traffic};
use crate::keys::PROBES;
use crate::limits::PROFILES;
use crate::model::{Flows, Probes};
use crate::node::{Node, Table, Value};
use crate::random::{draw, stream};
use crate::sizes::Sizes;
use crate::source::{ArrivalProcess, SourceSpec};
use crate::spec::GroupSpec;
use crate::stack::SendBuffer;
use crate::units::Range;
use queuewright_cca::Kind;
use queuewright_results::quality::qoo::{self, Profile};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use std::ops::Range as Indices;
use std::sync::Arc;

/// Connections at a time that are opened for a byte.
const CONNECTIONS: u64 = 2;
/// From the end of one to the start of the next, ns: about eight connections a second where round trips are short.
const PAUSE: Range = Range { min: 100_000_000, max: 300_000_000 };

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

/// Probes of a run: connections that are opened for a byte, one after the other, and requests on the connections that make the load, if these have no end.
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
    /// From a request on a connection that makes the load to that on the next of them, ns.
    pub const EVERY_NS: u64 = 100_000_000;
    /// A request that was not answered for so long (ns) is given up.
    pub const PATIENCE_NS: u64 = 10_000_000_000;

    /// The group of those that probe beside the load of this name.
    pub(crate) fn group(load: &str) -> GroupSpec {
        let name = format!("probes of {load}");
        GroupSpec { name, cca: Kind::Cubic.name().into(), datagrams: false, codec: None }
    }

    /// The connections that are opened beside an entry's flows: the same way, the middle of their round-trip times.
    pub(crate) fn source(entry: &Flows, seed: u64, index: u32, group: u32) -> SourceSpec {
        let middle = |range: Range| range.min.midpoint(range.max);
        let mut starts = stream(seed, &format!("flows[{index}].probes"));
        let first = |_| FlowSpec {
            group,
            traffic: Traffic::Tcp {
                cca: Kind::Cubic,
                size_bytes: Some(1),
                initial_window: None,
                ecn: false,
                l4s: false,
                rate_bps: 0,
                client: None,
            },
            base_rtt_ns: middle(entry.rtt_ns),
            start_ns: draw(&mut starts, Range { min: 0, max: PAUSE.max }),
            open_for_ns: None,
            stop_ns: None,
            access_bps: entry.access_bps.map(middle),
            jitter_ns: middle(entry.jitter_ns),
            send_buffer: SendBuffer::default(),
            path: entry.path.clone(),
            reverse_path: entry.reverse_path.clone(),
        };
        let arrival = ArrivalProcess::Sessions {
            pause: Pause::Uniform(PAUSE),
            sizes: Sizes::Uniform(Range::one(1)),
            window: None,
            first: (0..CONNECTIONS).map(first).collect(),
        };
        SourceSpec { seed, entry: index, arrival }
    }
}
