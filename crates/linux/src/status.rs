//! What an attached qdisc has done, and its discipline's own variables.

use crate::Error;
use crate::attach::info_of;
use crate::maps::{PortMap, QueueMap, Stats, nth, of_value};
use crate::namespaces::Elsewhere;
use crate::port::FIRST;
use crate::record::{self, Ingress, Record};
use crate::{chain, front, names, shares};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use queuewright_aqm::{Info, Probe, Seen};
use serde::Serialize;

/// An attached qdisc, now.
#[derive(Debug, Serialize)]
pub struct Status {
    /// Name of the network device.
    pub dev: String,
    /// The device on which the packets come in that this one was made for; None: it manages its own.
    pub ingress_of: Option<String>,
    /// It polices: no packet waits, and its queue is only counted.
    pub police: bool,
    /// Is it there still? False: somebody else's tc has taken it off, or the device has gone, and the rest is as it was then.
    pub there: bool,
    /// What is not there of it, in words; none: it is whole.
    pub missing: Vec<String>,
    /// What mends that.
    pub mend: Option<String>,
    /// The discipline with its parameters, as given.
    pub discipline: String,
    /// Of a file of a user's own: its SHA-256, as results have it.
    pub file: Option<String>,
    /// Kind of the qdisc in tc.
    pub kind: String,
    /// Rate of its shaper, bits a second; 0: none.
    pub rate: u64,
    /// Packets that may wait.
    pub limit_packets: u32,
    /// Bytes that may wait; 0: no such limit.
    pub limit_bytes: u64,
    /// Bytes that the link adds to each packet.
    pub overhead: i32,
    /// Counters; of several below mq, all of them together.
    pub stats: Stats,
    /// The discipline's own variables: name, unit, value. Of several below mq, none.
    pub variables: Vec<Variable>,
    /// The disciplines below mq, in the order of the device's transmit queues; none: there is but the root.
    pub queues: Vec<Queue>,
    /// In front of htb with several queues: each, with its class.
    pub classes: Vec<Class>,
}

/// One of a discipline's queues, which is a class of htb.
#[derive(Debug, Serialize)]
pub struct Class {
    /// Name, as the discipline's page has it.
    pub name: String,
    /// Name in tc.
    pub class: String,
    /// Packets that left for the device.
    pub sent_packets: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Packets that were to join it and were dropped.
    pub dropped: u64,
    /// Sum of the sojourn times of what was sent, ns.
    pub sojourn_sum_ns: u64,
    /// Packets that wait now.
    pub backlog_packets: u32,
    /// Their bytes.
    pub backlog_bytes: u64,
    /// Its part of what is sent while all have something to send, as the discipline has it, 0 to 1; htb is told by
    /// [`keep`](crate::keep). None: it goes before the others, or nothing has come to it yet.
    pub share: Option<f64>,
}

impl Class {
    /// Mean sojourn time of what was sent, ns.
    pub fn mean_sojourn_ns(&self) -> u64 {
        self.sojourn_sum_ns.checked_div(self.sent_packets).unwrap_or(0)
    }
}

/// Name, unit and value.
pub type Variable = (String, String, f64);

/// One of several disciplines below mq.
#[derive(Debug, Serialize)]
pub struct Queue {
    /// What the qdisc has counted since it was attached.
    pub stats: Stats,
    /// The discipline's own variables.
    pub variables: Vec<Variable>,
}

/// Reads the maps of an attached qdisc.
///
/// # Errors
/// Without the right to, or if they are gone.
pub fn status(record: &Record) -> Result<Status, Error> {
    status_of(record, &Elsewhere::default())
}

/// The same of several: those of which the device is gone are looked for together.
pub fn statuses(records: &[Record]) -> Vec<Result<Status, Error>> {
    let elsewhere = Elsewhere::default();
    records.iter().map(|record| status_of(record, &elsewhere)).collect()
}

fn status_of(record: &Record, elsewhere: &Elsewhere) -> Result<Status, Error> {
    record::pins(false)?;
    let shown = chain::shown(record)?;
    let there = chain::root_among(record, &shown);
    let mut missing = chain::missing_of(record, &shown, there, elsewhere)?;
    missing.extend(there.then(|| record.unserved()).flatten());
    let (mut status, missing) = match (counted(record), missing.is_empty()) {
        (Err(_), false) => return Err(chain::by_half(record, &missing)),
        (counted, _) => (counted?, missing),
    };
    status.mend = match there {
        _ if missing.is_empty() => None,
        true => Some("queuewright doctor --repair".into()),
        // Its name may be another's by now.
        false if record.name().is_none() && names::index(&record.dev).is_some() => {
            Some("queuewright doctor --repair".into())
        }
        false => Some(format!("queuewright detach {}", names::quoted(&record.dev))),
    };
    Ok(Status { there, missing, ..status })
}

/// What the maps hold.
fn counted(record: &Record) -> Result<Status, Error> {
    // The values of all instances side by side.
    let read = |name: &str| -> Result<Vec<u8>, Error> {
        let wrong = |e: libbpf_rs::Error| Error::System(format!("{}: {e}", record.pin(name).display()));
        let map = MapHandle::from_pinned_path(record.pin(name)).map_err(wrong)?;
        Ok(map.lookup(&FIRST, MapFlags::ANY).map_err(wrong)?.unwrap_or_default())
    };
    let other = || Error::System(format!("{}: its maps are of another version of this program", record.dev));
    let info = info_of(record)?;
    let mut queues = Vec::new();
    let instances = record.instances;
    let stats = read("stats")?;
    // What was counted at about the same time; the state below is long.
    let classes = classes(record)?;
    let (params, state) = (read("params")?, read("state")?);
    for k in 0..instances {
        let stats = of_value(nth(&stats, k, instances)).ok_or_else(other)?;
        let found =
            variables(info, nth(&params, k, instances), nth(&state, k, instances)).ok_or_else(other)?;
        let variables = found.into_iter().map(|(p, value)| (p.name.into(), p.unit.into(), value)).collect();
        queues.push(Queue { stats, variables });
    }
    let port: PortMap = of_value(nth(&read("port")?, 0, instances)).ok_or_else(other)?;
    let (stats, variables) = match queues.len() {
        1 => queues.pop().map(|one| (one.stats, one.variables)).unwrap_or_default(),
        _ => (Stats::sum(queues.iter().map(|q| &q.stats)), Vec::new()),
    };
    Ok(Status {
        dev: record.dev.clone(),
        police: record.police,
        ingress_of: record.ingress.as_ref().map(Ingress::called),
        there: true,
        missing: Vec::new(),
        mend: None,
        discipline: record.text.clone(),
        file: info.own.map(|own| format!("sha256:{}", own.sha256)),
        kind: record.kind.clone(),
        rate: port.rate_bits(),
        limit_packets: port.limit_packets,
        limit_bytes: port.limit_bytes,
        overhead: port.overhead,
        stats,
        variables,
        queues,
        classes,
    })
}

/// The queues that are classes.
fn classes(record: &Record) -> Result<Vec<Class>, Error> {
    let all = shares::queues(record)?;
    let total: u64 = all.iter().map(|q| u64::from(q.share)).sum();
    let class = |(number, (name, q)): (usize, (&String, QueueMap))| Class {
        name: name.clone(),
        class: front::classid(number),
        sent_packets: q.sent_packets,
        sent_bytes: q.sent_bytes,
        dropped: q.dropped,
        sojourn_sum_ns: q.sojourn_sum_ns,
        backlog_packets: q.backlog_packets,
        backlog_bytes: q.backlog_bytes,
        share: (q.share > 0).then(|| f64::from(q.share) / total as f64),
    };
    Ok(record.classes.iter().zip(all).enumerate().map(class).collect())
}

/// The discipline's own variables, in maps of a qdisc; None if these are not of its sizes.
pub fn variables(info: &'static Info, params: &[u8], state: &[u8]) -> Option<Vec<(&'static Probe, f64)>> {
    if info.own.is_some() {
        return queuewright_aqm::own::variables(info, state);
    }
    Seen::of(info, params, state).map(|seen| seen.variables().collect())
}
