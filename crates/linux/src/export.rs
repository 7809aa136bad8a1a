//! Metrics of what is attached, in OpenMetrics' text form, over HTTP.

use crate::{Class, Error, Status};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeCounterValue, EncodeMetric, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};
use queuewright_aqm::REASON_NAMES;
use std::fmt::Error as Unwritten;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

/// Content type of [`openmetrics`].
const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// A client that is slower than this is no scraper.
const PATIENCE: Duration = Duration::from_secs(2);
/// Longest request that is read, bytes.
const REQUEST: usize = 8192;

/// All metrics of the attached qdiscs.
///
/// What node_exporter's qdisc collector knows of a qdisc has its names (`node_qdisc_bytes_total`, `..._drops_total`,
/// `..._backlog`, ...) and labels (`device`, `kind`); the rest begins with `queuewright_`.
pub fn openmetrics(all: Vec<Status>) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Qdiscs(all)));
    let mut out = String::new();
    // Into a string it does not fail.
    let _ = text::encode(&mut out, &registry);
    out
}

#[derive(Debug)]
struct Qdiscs(Vec<Status>);

type Labels<'a> = Vec<(&'a str, &'a str)>;

fn labels(s: &Status) -> Labels<'_> {
    vec![("device", &s.dev), ("kind", &s.kind)]
}

fn one<T>(s: &Status, value: T) -> Vec<(Labels<'_>, T)> {
    vec![(labels(s), value)]
}

impl Qdiscs {
    /// One counter for each qdisc, or several that differ by a label.
    fn counters<N: EncodeCounterValue>(
        &self,
        to: &mut DescriptorEncoder,
        name: &str,
        help: &str,
        of: impl for<'s> Fn(&'s Status) -> Vec<(Labels<'s>, N)>,
    ) -> Result<(), Unwritten> {
        let mut family = to.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (labels, n) in self.0.iter().flat_map(of) {
            ConstCounter::new(n).encode(family.encode_family(&labels.as_slice())?)?;
        }
        Ok(())
    }

    fn gauges(
        &self,
        to: &mut DescriptorEncoder,
        name: &str,
        help: &str,
        of: impl for<'s> Fn(&'s Status) -> Vec<(Labels<'s>, f64)>,
    ) -> Result<(), Unwritten> {
        let mut family = to.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (labels, value) in self.0.iter().flat_map(of) {
            ConstGauge::new(value).encode(family.encode_family(&labels.as_slice())?)?;
        }
        Ok(())
    }
}

/// Counts by reason, each with its label.
fn by_reason<'s>(s: &'s Status, counts: &[u64]) -> Vec<(Labels<'s>, u64)> {
    let with = |(reason, n): (&&'s str, &u64)| ([labels(s), vec![("reason", *reason)]].concat(), *n);
    REASON_NAMES.iter().zip(counts).skip(1).map(with).collect()
}

/// Something of each queue that is a class, with its label.
fn by_queue<T>(s: &Status, of: impl Fn(&Class) -> Option<T>) -> Vec<(Labels<'_>, T)> {
    let with = s.classes.iter().filter_map(|c| Some((c, of(c)?)));
    with.map(|(c, value)| ([labels(s), vec![("queue", c.name.as_str())]].concat(), value)).collect()
}

/// Where octaves of the waiting time end, seconds, with how many fell in each: from 2 us to 8.6 s, which is where
/// queues of the Internet are; the first also has what waited less, the last what waited longer.
fn buckets(sojourns: &[u64]) -> Vec<(f64, u64)> {
    let mut out = Vec::new();
    let mut kept = 0;
    for (octave, n) in sojourns.iter().enumerate() {
        kept += n;
        if (10..33).contains(&octave) {
            out.push(((2u64 << octave) as f64 / 1e9, kept));
            kept = 0;
        }
    }
    out.push((f64::INFINITY, kept));
    out
}

impl Collector for Qdiscs {
    fn encode(&self, mut to: DescriptorEncoder) -> Result<(), Unwritten> {
        let to = &mut to;
        self.counters(to, "node_qdisc_bytes", "Bytes sent", |s| one(s, s.stats.sent_bytes))?;
        self.counters(to, "node_qdisc_packets", "Packets sent", |s| one(s, s.stats.sent_packets))?;
        self.counters(to, "node_qdisc_drops", "Packets dropped", |s| {
            one(s, s.stats.drops.iter().sum::<u64>())
        })?;
        self.gauges(to, "node_qdisc_backlog", "Bytes that wait", |s| one(s, s.stats.backlog_bytes as f64))?;
        self.gauges(to, "node_qdisc_current_queue_length", "Packets that wait", |s| {
            one(s, f64::from(s.stats.backlog_packets))
        })?;
        self.counters(to, "queuewright_dropped_packets", "Packets dropped, by reason", |s| {
            by_reason(s, &s.stats.drops)
        })?;
        self.counters(to, "queuewright_marked_packets", "Packets marked CE, by reason", |s| {
            by_reason(s, &s.stats.marks)
        })?;
        self.gauges(
            to,
            "queuewright_rate_bits_per_second",
            "Rate of the qdisc's own shaper; 0: none",
            |s| one(s, s.rate as f64),
        )?;
        self.gauges(
            to,
            "queuewright_attached",
            "0: somebody else's tc has taken it off; the rest is old",
            |s| one(s, f64::from(u8::from(s.there))),
        )?;
        self.gauges(to, "queuewright_variable", "A variable of the queue manager, in its unit", |s| {
            let variables = s.variables.iter();
            variables
                .map(|(name, unit, value)| {
                    let own = vec![("name", name.as_str()), ("unit", unit.as_str())];
                    ([labels(s), own].concat(), *value)
                })
                .collect()
        })?;
        self.counters(to, "queuewright_queue_bytes", "Bytes sent from a queue", |s| {
            by_queue(s, |c| Some(c.sent_bytes))
        })?;
        self.counters(to, "queuewright_queue_packets", "Packets sent from a queue", |s| {
            by_queue(s, |c| Some(c.sent_packets))
        })?;
        self.counters(to, "queuewright_queue_drops", "Packets dropped that were to join a queue", |s| {
            by_queue(s, |c| Some(c.dropped))
        })?;
        self.counters(to, "queuewright_queue_sojourn_seconds", "Sum of the waiting times in a queue", |s| {
            by_queue(s, |c| Some(c.sojourn_sum_ns as f64 / 1e9))
        })?;
        self.gauges(to, "queuewright_queue_length", "Packets that wait in a queue", |s| {
            by_queue(s, |c| Some(f64::from(c.backlog_packets)))
        })?;
        self.gauges(to, "queuewright_queue_share", "Part of the rate that is a queue's", |s| {
            by_queue(s, |c| c.share)
        })?;
        let help = "Time that packets waited before they were sent";
        let mut family =
            to.encode_descriptor("queuewright_sojourn", help, Some(&Unit::Seconds), MetricType::Histogram)?;
        for s in &self.0 {
            let own = labels(s);
            let own = own.as_slice();
            let mut histogram = family.encode_family(&own)?;
            let buckets = buckets(&s.stats.sojourns);
            let count = s.stats.sojourns.iter().sum();
            histogram.encode_histogram::<[(&str, &str); 0]>(
                s.stats.sojourn_sum_ns as f64 / 1e9,
                count,
                &buckets,
                None,
            )?;
        }
        Ok(())
    }
}

/// Answers requests for `/metrics` until the process ends, one at a time. What is wrong with one is answered to it.
pub fn serve(listener: &TcpListener, read: impl Fn() -> Result<Vec<Status>, Error>) {
    for client in listener.incoming() {
        match client {
            // Whoever hangs up early has no use for an answer.
            Ok(client) => drop(answer(client, &read)),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            // Out of descriptors, say: it passes.
            Err(_) => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}

fn answer(mut client: TcpStream, read: &impl Fn() -> Result<Vec<Status>, Error>) -> std::io::Result<()> {
    client.set_read_timeout(Some(PATIENCE))?;
    client.set_write_timeout(Some(PATIENCE))?;
    let plain = "text/plain; charset=utf-8";
    let (status, kind, body) = match path(&mut client)? {
        Err(status) => (status, plain, format!("{status}\n")),
        Ok(path) if path == "/metrics" => match read() {
            Ok(all) => ("200 OK", CONTENT_TYPE, openmetrics(all)),
            Err(e) => ("500 Internal Server Error", plain, format!("{e}\n")),
        },
        Ok(_) => ("404 Not Found", plain, "metrics are at /metrics\n".into()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    client.write_all(head.as_bytes())?;
    client.write_all(body.as_bytes())
}

/// What a request asks for; Err: what to say to one that cannot be answered.
fn path(client: &mut TcpStream) -> std::io::Result<Result<String, &'static str>> {
    let mut got = Vec::new();
    let mut part = [0; 1024];
    let deadline = std::time::Instant::now() + PATIENCE;
    loop {
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(&got) {
            Err(_) => return Ok(Err("400 Bad Request")),
            Ok(httparse::Status::Complete(_)) => {
                return Ok(match (request.method, request.path) {
                    (Some("GET"), Some(path)) => Ok(path.split('?').next().unwrap_or(path).into()),
                    _ => Err("405 Method Not Allowed"),
                });
            }
            Ok(httparse::Status::Partial) if got.len() >= REQUEST => {
                return Ok(Err("431 Request Header Fields Too Large"));
            }
            Ok(httparse::Status::Partial) => {}
        }
        let n = client.read(&mut part)?;
        if n == 0 || std::time::Instant::now() > deadline {
            return Ok(Err("408 Request Timeout"));
        }
        got.extend_from_slice(&part[..n]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stats;

    fn one() -> Status {
        let mut sojourns = vec![0; 40];
        sojourns[3] = 5; // below the first bucket
        sojourns[20] = 7; // 1 to 2 ms
        sojourns[36] = 1; // a minute
        Status {
            dev: "eth0".into(),
            there: true,
            missing: Vec::new(),
            mend: None,
            discipline: "titrate".into(),
            kind: "bpf_titrate".into(),
            rate: 95_000_000,
            limit_packets: 1000,
            limit_bytes: 0,
            overhead: 0,
            stats: Stats {
                arrived_packets: 20,
                arrived_bytes: 30_000,
                sent_packets: 13,
                sent_bytes: 19_500,
                drops: [0, 1, 2, 0, 0],
                marks: [0, 0, 4, 0, 0],
                sojourn_sum_ns: 1_500_000_000,
                sojourns,
                backlog_bytes: 6000,
                backlog_packets: 4,
                ..Stats::default()
            },
            variables: vec![("threshold".into(), "bytes".into(), 12_345.5)],
            queues: Vec::new(),
            classes: vec![Class {
                name: "mice".into(),
                class: "7177:10".into(),
                sent_packets: 11,
                sent_bytes: 1100,
                dropped: 2,
                sojourn_sum_ns: 500_000_000,
                backlog_packets: 1,
                backlog_bytes: 100,
                share: None,
            }],
        }
    }

    #[test]
    fn metrics_have_the_names_that_node_exporter_has() {
        let text = openmetrics(vec![one()]);
        for line in [
            "# TYPE node_qdisc_bytes counter",
            r#"node_qdisc_bytes_total{device="eth0",kind="bpf_titrate"} 19500"#,
            r#"node_qdisc_drops_total{device="eth0",kind="bpf_titrate"} 3"#,
            r#"node_qdisc_backlog{device="eth0",kind="bpf_titrate"} 6000.0"#,
            r#"node_qdisc_current_queue_length{device="eth0",kind="bpf_titrate"} 4.0"#,
            r#"queuewright_dropped_packets_total{device="eth0",kind="bpf_titrate",reason="limit"} 1"#,
            r#"queuewright_marked_packets_total{device="eth0",kind="bpf_titrate",reason="threshold"} 4"#,
            r#"queuewright_variable{device="eth0",kind="bpf_titrate",name="threshold",unit="bytes"} 12345.5"#,
            r#"queuewright_sojourn_seconds_bucket{le="0.000002048",device="eth0",kind="bpf_titrate"} 5"#,
            r#"queuewright_sojourn_seconds_bucket{le="0.002097152",device="eth0",kind="bpf_titrate"} 12"#,
            r#"queuewright_sojourn_seconds_bucket{le="+Inf",device="eth0",kind="bpf_titrate"} 13"#,
            r#"queuewright_sojourn_seconds_count{device="eth0",kind="bpf_titrate"} 13"#,
            r#"queuewright_sojourn_seconds_sum{device="eth0",kind="bpf_titrate"} 1.5"#,
            r#"queuewright_attached{device="eth0",kind="bpf_titrate"} 1.0"#,
            r#"queuewright_queue_packets_total{device="eth0",kind="bpf_titrate",queue="mice"} 11"#,
            r#"queuewright_queue_sojourn_seconds_total{device="eth0",kind="bpf_titrate",queue="mice"} 0.5"#,
            "# EOF",
        ] {
            assert!(text.lines().any(|l| l == line), "no line {line}\n{text}");
        }
    }

    #[test]
    fn the_dashboard_asks_for_metrics_that_there_are() {
        let dashboard = include_str!("../../../dist/grafana.json");
        let panels = serde_json::from_str::<serde_json::Value>(dashboard).unwrap()["panels"].clone();
        let text = openmetrics(vec![one()]);
        let there: Vec<&str> = text.lines().filter_map(|l| l.split('{').next()).collect();
        let words = dashboard.split(|c: char| !(c.is_ascii_lowercase() || c == '_'));
        let asked: Vec<&str> =
            words.filter(|w| w.starts_with("queuewright_") || w.starts_with("node_qdisc_")).collect();
        assert!(asked.len() > 6, "{asked:?}");
        for name in asked {
            assert!(there.contains(&name), "{name} is not exported");
        }
        // Legends name labels that these metrics have.
        for target in panels.as_array().unwrap().iter().flat_map(|p| p["targets"].as_array().unwrap()) {
            let (of, legend) = (target["expr"].as_str().unwrap(), target["legendFormat"].as_str().unwrap());
            let labels = legend.split("{{").skip(1).filter_map(|l| l.split("}}").next());
            for label in labels.filter(|l| *l != "instance") {
                let has = |l: &&str| {
                    of.contains(l.split('{').next().unwrap()) && l.contains(&format!("{label}=\""))
                };
                assert!(text.lines().any(|l| has(&l)), "{of} has no label {label}");
            }
        }
    }

    /// What a server answers to a request, sent in one piece.
    fn asked(request: &[u8], read: fn() -> Result<Vec<Status>, Error>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        client.write_all(request).unwrap();
        client.shutdown(std::net::Shutdown::Write).unwrap();
        let (server, _) = listener.accept().unwrap();
        let _ = answer(server, &read);
        let mut got = String::new();
        let _ = client.read_to_string(&mut got);
        got
    }

    #[test]
    fn only_a_request_for_metrics_is_answered_with_them() {
        let read = || Ok(vec![one()]);
        let good = asked(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", read);
        assert!(good.starts_with("HTTP/1.1 200 OK\r\n"), "{good}");
        assert!(good.ends_with("# EOF\n"), "{good}");
        let none = || Err(Error::System("/sys/fs/bpf: not permitted".into()));
        for (request, status) in [
            (&b"GET / HTTP/1.1\r\n\r\n"[..], "404"),
            (b"POST /metrics HTTP/1.1\r\n\r\n", "405"),
            (b"\x00\x01\x02\r\n\r\n", "400"),
            (b"GET /metrics HTT", "408"),
            (b"GET /metrics HTTP/1.0\r\n\r\n", "500"),
        ] {
            let got = asked(request, none);
            assert!(got.starts_with(&format!("HTTP/1.1 {status} ")), "{request:?}: {got}");
        }
        let long = [b"GET /metrics HTTP/1.1\r\nA: ".as_slice(), &vec![b'x'; REQUEST]].concat();
        assert!(asked(&long, read).starts_with("HTTP/1.1 431 "));
    }
}
