//! Event logs in qlog (draft-ietf-quic-qlog-main-schema-14), as JSON text sequences (RFC 7464): a file for each sender and one for each queue.
//!
//! Senders have the events of draft-ietf-quic-qlog-quic-events-13 that apply. Queues have events of their own, in the namespace `queue`.

use crate::folder::{Error, file_name};
use queuewright_results::events::{
    CongestionState, Metrics, Observer, QueueAction, QueueEvent, SenderAction, SenderEvent,
};
use queuewright_scenario::RunSpec;
use queuewright_scenario::packet::{MSS, QUIC_DATAGRAM_BYTES, QUIC_PAYLOAD_BYTES, pieces};
use queuewright_scenario::spec::{Stack, Traffic};
use serde_json::{Map, Value, json};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Most senders of a run that are logged: each has a file that is open while the run goes on.
pub const MOST_SENDERS: usize = 200;
/// What the events of senders are, and those of queues.
const QUIC_EVENTS: &str = "urn:ietf:params:qlog:events:quic-13";
const QUEUE_EVENTS: &str = "queuewright:qlog:events:queue";

/// A folder of logs: a folder in it for each run.
#[derive(Debug)]
pub struct QlogFolder {
    path: PathBuf,
    /// It was not there before.
    made: bool,
}

impl Drop for QlogFolder {
    fn drop(&mut self) {
        if self.made {
            // If nothing is in it nobody misses it.
            let _ = fs::remove_dir(&self.path);
        }
    }
}

impl QlogFolder {
    /// Makes the folder, or takes an empty one.
    ///
    /// # Errors
    /// When it cannot be made, or something is in it.
    pub fn create(path: &Path) -> Result<QlogFolder, Error> {
        let error = |action, source| Error { action, path: path.to_path_buf(), source };
        let made = fs::create_dir(path);
        let folder = QlogFolder { path: path.to_path_buf(), made: made.is_ok() };
        match made {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                let mut there = fs::read_dir(path).map_err(|e| error("read", e))?;
                if there.next().is_some() {
                    let why = io::Error::new(io::ErrorKind::AlreadyExists, "it is not empty");
                    return Err(error("write logs into", why));
                }
            }
            made => made.map_err(|e| error("create", e))?,
        }
        // Nothing may be written there: that is known before a run is made.
        let probe = path.join(".part");
        fs::create_dir(&probe)
            .and_then(|()| fs::remove_dir(&probe))
            .map_err(|e| error("write logs into", e))?;
        Ok(folder)
    }

    /// The logs of a run, which are there under their names once it is over.
    ///
    /// # Errors
    /// When a file cannot be made.
    pub fn log(&self, spec: &RunSpec) -> Result<RunLog, Error> {
        let name = format!("{}-seed{}", file_name(&spec.discipline.label), spec.seed);
        RunLog::create(&self.path, &name, spec)
    }
}

/// How many senders of a run would be logged: those of its own flows that have one.
pub fn senders(spec: &RunSpec) -> usize {
    spec.flows.iter().filter(|flow| matches!(flow.traffic, Traffic::Tcp { .. })).count()
}

/// The logs of a run.
#[derive(Debug)]
pub struct RunLog {
    /// Where files are written, and where they are in the end.
    fresh: PathBuf,
    path: PathBuf,
    /// By flow; none: it has no sender.
    senders: Vec<Option<(Transport, Log)>>,
    queues: Vec<Log>,
    failed: Option<io::Error>,
    ended: bool,
}

/// What carries a flow.
#[derive(Debug, Clone, Copy)]
struct Transport {
    quic: bool,
    /// Bytes that a window counts for a packet, and those of the stream in it.
    datagram_bytes: u32,
    payload_bytes: u32,
    /// Segments of a finite flow, and the bytes of the last of them.
    size: Option<(u32, u32)>,
}

#[derive(Debug)]
struct Log(BufWriter<File>);

impl Log {
    /// Begins with what is true of all its events.
    fn create(path: &Path, title: &str, vantage: Value, schema: &str) -> io::Result<Log> {
        let mut log = Log(BufWriter::new(File::create_new(path)?));
        let head = json!({
            "file_schema": "urn:ietf:params:qlog:file:sequential",
            "serialization_format": "application/qlog+json-seq",
            "title": title,
            "trace": {
                "common_fields": {
                    "time_format": "relative_to_epoch",
                    "reference_time": {"clock_type": "monotonic", "epoch": "unknown"},
                },
                "vantage_point": vantage,
                "event_schemas": [schema],
            },
        });
        log.record(&head)?;
        Ok(log)
    }

    fn record(&mut self, record: &Value) -> io::Result<()> {
        writeln!(self.0, "\u{1e}{record}")
    }

    fn event(&mut self, at_ns: u64, name: &str, data: Value) -> io::Result<()> {
        // In ms, to the ns.
        self.record(&json!({"time": at_ns as f64 / 1e6, "name": name, "data": data}))
    }
}

impl RunLog {
    fn create(folder: &Path, name: &str, spec: &RunSpec) -> Result<RunLog, Error> {
        let mut path = folder.join(name);
        // Labels that differ only in what file names cannot hold.
        let mut fresh = folder.join(format!("{name}.part"));
        for n in 2.. {
            match fs::create_dir(&fresh) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(Error { action: "create", path: fresh, source }),
                Ok(()) if path.exists() => drop(fs::remove_dir(&fresh)),
                Ok(()) => break,
            }
            path = folder.join(format!("{name}-{n}"));
            fresh = folder.join(format!("{name}-{n}.part"));
        }
        let mut log =
            RunLog { fresh, path, senders: Vec::new(), queues: Vec::new(), failed: None, ended: false };
        match log.open(spec) {
            Ok(()) => Ok(log),
            Err(source) => Err(Error { action: "write", path: log.fresh.clone(), source }),
        }
    }

    fn open(&mut self, spec: &RunSpec) -> io::Result<()> {
        let run = format!("{}, seed {}", spec.discipline.label, spec.seed);
        for (i, flow) in spec.flows.iter().enumerate() {
            let Traffic::Tcp { stack, cca, size_bytes, initial_window, .. } = &flow.traffic else {
                self.senders.push(None);
                continue;
            };
            let quic = *stack == Stack::Quic;
            let (datagram_bytes, payload_bytes) =
                if quic { (QUIC_DATAGRAM_BYTES, QUIC_PAYLOAD_BYTES) } else { (MSS, MSS) };
            let size = size_bytes.map(|bytes| pieces(bytes, payload_bytes));
            let transport = Transport { quic, datagram_bytes, payload_bytes, size };
            let kind = if quic { "QUIC" } else { "TCP" };
            let group = &spec.groups[flow.group as usize].name;
            let title = format!("{run}: flow {i} of {group}, {} over {kind}", cca.name());
            let vantage = json!({"name": format!("sender of flow {i}"), "type": "client"});
            let path = self.fresh.join(format!("flow{i}.sqlog"));
            let mut log = Log::create(&path, &title, vantage, QUIC_EVENTS)?;
            if quic {
                let window = u64::from(initial_window.unwrap_or(10)) * u64::from(datagram_bytes);
                let parameters = json!({
                    "reordering_threshold": 3,
                    "time_threshold": 1.125,
                    "timer_granularity": 1,
                    "initial_rtt": 333,
                    "max_datagram_size": datagram_bytes,
                    "initial_congestion_window": window,
                    "minimum_congestion_window": 2 * datagram_bytes,
                    "persistent_congestion_threshold": 3,
                });
                log.event(flow.start_ns, "quic:recovery_parameters_set", parameters)?;
            }
            self.senders.push(Some((transport, log)));
        }
        for port in &spec.ports {
            let vantage = json!({"name": port.name, "type": "network", "flow": "client"});
            let title = format!("{run}: queue of {}", port.name);
            let path = self.fresh.join(format!("queue-{}.sqlog", file_name(&port.name)));
            self.queues.push(Log::create(&path, &title, vantage, QUEUE_EVENTS)?);
        }
        Ok(())
    }

    fn note(&mut self, done: io::Result<()>) {
        if let Err(e) = done {
            self.failed.get_or_insert(e);
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        if let Some(e) = self.failed.take() {
            return Err(e);
        }
        let senders = self.senders.iter_mut().flatten().map(|(_, log)| log);
        for log in senders.chain(&mut self.queues) {
            log.0.flush()?;
        }
        fs::rename(&self.fresh, &self.path)?;
        self.ended = true;
        Ok(())
    }
}

impl Observer for RunLog {
    fn sender(&mut self, flow: u32, events: &[SenderEvent]) {
        if self.failed.is_some() {
            return;
        }
        let Some(Some((transport, log))) = self.senders.get_mut(flow as usize) else { return };
        let done = events.iter().try_for_each(|event| transport.write(event, log));
        self.note(done);
    }

    fn queue(&mut self, port: u32, events: &[QueueEvent]) {
        if self.failed.is_some() {
            return;
        }
        let Some(log) = self.queues.get_mut(port as usize) else { return };
        let done = events.iter().try_for_each(|event| write_of_queue(event, log));
        self.note(done);
    }

    fn end(&mut self) -> Result<(), String> {
        self.finish().map_err(|e| format!("--qlog: cannot write {}: {e}", self.path.display()))
    }
}

impl Drop for RunLog {
    fn drop(&mut self) {
        if !self.ended {
            // A run without a result leaves no half of a log.
            let _ = fs::remove_dir_all(&self.fresh);
        }
    }
}

/// A number, of those that there are.
fn put(data: &mut Map<String, Value>, key: &str, value: Option<f64>) {
    if let Some(value) = value {
        data.insert(key.into(), json!(value));
    }
}

fn name_of(state: CongestionState) -> (&'static str, Option<&'static str>) {
    match state {
        CongestionState::SlowStart => ("slow_start", None),
        CongestionState::Avoidance => ("congestion_avoidance", None),
        CongestionState::Open => ("open", None),
        CongestionState::Marked => ("recovery", Some("ecn")),
        CongestionState::Recovery => ("recovery", Some("packet_loss")),
        CongestionState::Collapsed => ("recovery", Some("persistent_congestion")),
    }
}

impl Transport {
    fn header(number: u32) -> Value {
        json!({"packet_type": "1RTT", "packet_number": number})
    }

    fn write(&self, event: &SenderEvent, log: &mut Log) -> io::Result<()> {
        let at = event.at_ns;
        match event.what {
            SenderAction::Sent { number, segment, again: _, probe } => {
                let stream = match self.size {
                    Some((segments, last_bytes)) if segment + 1 == segments => last_bytes,
                    _ => self.payload_bytes,
                };
                let headers = self.datagram_bytes - self.payload_bytes;
                let mut data = json!({
                    "header": Transport::header(number),
                    "raw": {"length": stream + headers, "payload_length": stream},
                    "frames": [{
                        "frame_type": "stream",
                        "stream_id": 0,
                        "offset": u64::from(segment) * u64::from(self.payload_bytes),
                        "raw": {"payload_length": stream},
                    }],
                });
                if probe {
                    data["trigger"] = json!("pto_probe");
                }
                log.event(at, "quic:packet_sent", data)
            }
            SenderAction::Acked(first, end) => {
                let numbers: Vec<u32> = (first..end).collect();
                log.event(at, "quic:packets_acked", json!({"packet_numbers": numbers}))
            }
            SenderAction::Received { delay_ns, marked } => {
                let mut frame = json!({"frame_type": "ack"});
                if self.quic {
                    frame["ack_delay"] = json!(delay_ns as f64 / 1e6);
                }
                if let Some(marked) = marked {
                    frame["ce"] = json!(marked);
                }
                // The number of the other end's packet is not told: nothing acknowledges it.
                let data = json!({"header": {"packet_type": "1RTT"}, "frames": [frame]});
                log.event(at, "quic:packet_received", data)
            }
            SenderAction::Lost { number, by_time } => {
                let mut data = json!({"header": Transport::header(number)});
                if let Some(by_time) = by_time {
                    data["trigger"] = json!(if by_time { "time_threshold" } else { "reordering_threshold" });
                }
                log.event(at, "quic:packet_lost", data)
            }
            SenderAction::Metrics(metrics) => {
                log.event(at, "quic:recovery_metrics_updated", self.metrics(&metrics))
            }
            SenderAction::State { old, new } => {
                let (name, trigger) = name_of(new);
                let mut data = json!({"new": name});
                if let Some(old) = old {
                    data["old"] = json!(name_of(old).0);
                }
                if let Some(trigger) = trigger {
                    // TCP's timer is no persistent congestion.
                    let timeout = !self.quic && new == CongestionState::Collapsed;
                    data["trigger"] = json!(if timeout { "timeout" } else { trigger });
                }
                log.event(at, "quic:congestion_state_updated", data)
            }
            SenderAction::Ecn => {
                log.event(at, "quic:ecn_state_updated", json!({"old": "unknown", "new": "capable"}))
            }
        }
    }

    fn metrics(&self, m: &Metrics) -> Value {
        let bytes = |packets: u32| u64::from(packets) * u64::from(self.datagram_bytes);
        let mut data = Map::new();
        put(&mut data, "min_rtt", m.min_rtt_ms);
        put(&mut data, "smoothed_rtt", m.smoothed_rtt_ms);
        put(&mut data, "latest_rtt", m.latest_rtt_ms);
        put(&mut data, "rtt_variance", m.rtt_variance_ms);
        data.insert("pto_count".into(), json!(m.timeouts));
        data.insert("congestion_window".into(), json!(bytes(m.window)));
        data.insert("bytes_in_flight".into(), json!(bytes(m.in_flight)));
        data.insert("packets_in_flight".into(), json!(m.in_flight));
        if let Some(ssthresh) = m.ssthresh {
            data.insert("ssthresh".into(), json!(bytes(ssthresh)));
        }
        if let Some(rate) = m.pacing_rate {
            data.insert("pacing_rate".into(), json!(rate.saturating_mul(8)));
        }
        data.into()
    }
}

fn write_of_queue(event: &QueueEvent, log: &mut Log) -> io::Result<()> {
    let name = match event.what {
        QueueAction::Enqueue => "queue:enqueue",
        QueueAction::Dequeue => "queue:dequeue",
        QueueAction::Drop(_) => "queue:drop",
        QueueAction::Mark(_) => "queue:mark",
    };
    let mut data = json!({
        "flow": event.flow,
        "number": event.number,
        "bytes": event.bytes,
        "backlog_packets": event.backlog.0,
        "backlog_bytes": event.backlog.1,
    });
    if event.returns {
        data["returns"] = json!(true);
    }
    if event.sojourn_ns > 0 {
        data["sojourn"] = json!(event.sojourn_ns as f64 / 1e6);
    }
    if let Some(reason) = event.what.reason() {
        data["reason"] = json!(reason);
    }
    log.event(event.at_ns, name, data)
}
