//! What an attached qdisc has done, and its queue manager's own variables.

use crate::Error;
use crate::maps::{PortMap, Stats};
use crate::record::Record;
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use queuewright_aqm::{Discipline, Spec};
use serde::Serialize;

/// An attached qdisc, now.
#[derive(Debug, Serialize)]
pub struct Status {
    /// Device.
    pub dev: String,
    /// The queue manager with its parameters, as given.
    pub discipline: String,
    /// Kind of the qdisc in tc.
    pub kind: String,
    /// Rate of its shaper, bits a second; 0: none.
    pub rate: u64,
    /// Packets that may wait.
    pub limit_packets: u32,
    /// Counters.
    pub stats: Stats,
    /// The queue manager's own variables: name, unit, value.
    pub variables: Vec<(String, String, f64)>,
}

/// Reads the maps of an attached qdisc.
///
/// # Errors
/// Without the right to, or if they are gone.
pub fn status(record: &Record) -> Result<Status, Error> {
    let read = |name: &str| -> Result<Vec<u8>, Error> {
        let wrong = |e: libbpf_rs::Error| Error::System(format!("{}: {e}", record.pin(name).display()));
        let map = MapHandle::from_pinned_path(record.pin(name)).map_err(wrong)?;
        let value = map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).map_err(wrong)?;
        Ok(value.unwrap_or_default())
    };
    let other = || Error::System(format!("{}: its maps are of another version of this program", record.dev));
    let port = PortMap::from_bytes(&read("port")?).ok_or_else(other)?;
    let stats = Stats::from_bytes(&read("stats")?).ok_or_else(other)?;
    let info = queuewright_aqm::find(&record.discipline).ok_or_else(other)?;
    let mut inside = Discipline::new(&Spec::new(info));
    if !inside.take_over(&read("params")?, &read("state")?) {
        return Err(other());
    }
    let probes = inside.probes().iter().enumerate();
    let variables = probes.map(|(i, p)| (p.name.into(), p.unit.into(), inside.probe(i))).collect();
    Ok(Status {
        dev: record.dev.clone(),
        discipline: record.text.clone(),
        kind: record.kind.clone(),
        rate: port.rate * 8,
        limit_packets: port.limit_packets,
        stats,
        variables,
    })
}
