//! What an attached qdisc has done, and its queue manager's own variables.

use crate::Error;
use crate::maps::{PortMap, Stats};
use crate::record::Record;
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use queuewright_aqm::{Discipline, Info, Probe, Spec};
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
    let variables = variables(info, &read("params")?, &read("state")?).ok_or_else(other)?;
    let variables = variables.into_iter().map(|(p, value)| (p.name.into(), p.unit.into(), value)).collect();
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

/// The queue manager's own variables, in maps of a qdisc; None if these are not of its sizes.
pub fn variables(info: &'static Info, params: &[u8], state: &[u8]) -> Option<Vec<(&'static Probe, f64)>> {
    let mut inside = Discipline::new(&Spec::new(info));
    let fits = inside.take_over(params, state);
    fits.then(|| inside.probes().iter().enumerate().map(|(i, p)| (p, inside.probe(i))).collect())
}
