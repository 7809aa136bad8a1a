//! Metrics of what is attached, in OpenMetrics' text form, over HTTP.

use crate::http::{self, Answer, Limits, has_token};
use crate::{Class, Error, Record, Status, broken, names, records, statuses};
use http_body_util::Full;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, WWW_AUTHENTICATE};
use hyper::{Method, Request, Response, StatusCode};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeCounterValue, EncodeMetric, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};
use queuewright_aqm::REASON_NAMES;
use queuewright_aqm::counters::sum;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt::Error as Unwritten;
use std::future::pending;
use std::io::{self, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Content type of [`openmetrics`].
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const LIMITS: Limits = Limits {
    request_within: Duration::from_secs(2),
    done_within: Duration::from_secs(10),
    request: 8192,
    connections: 256,
    keep_alive: false,
};

/// Devices with what was read of each: its state, or why that cannot be read; and files that are no records, by their names.
pub type All = Vec<(String, Result<Status, Error>)>;

/// What is attached in this network namespace, each for itself.
///
/// # Errors
/// Without the right to look.
pub fn read_each() -> Result<All, Error> {
    let mut records = records()?;
    // Of two under one name, one of which has gone, that one would be told of in the other's place.
    let named = |r: &Record| r.name().is_some() || names::index(&r.dev).is_none();
    records.retain(named);
    let found = statuses(&records);
    let mut all: All = records.into_iter().map(|record| record.dev).zip(found).collect();
    // Which device a file that is no record was about nobody knows.
    all.extend(broken()?.into_iter().map(|(file, why)| (file, Err(why))));
    Ok(all)
}

/// All metrics of the attached qdiscs.
///
/// What node_exporter's qdisc collector knows of a qdisc has its names (`node_qdisc_bytes_total`, `..._drops_total`,
/// `..._backlog`, ...) and labels (`device`, `kind`); the rest begins with `queuewright_`.
pub fn openmetrics(all: All) -> String {
    let (mut read, mut unreadable) = (Vec::new(), Vec::new());
    for (dev, found) in all {
        match found {
            Ok(status) => read.push(status),
            Err(_) => unreadable.push(dev),
        }
    }
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Qdiscs(read, unreadable)));
    let mut out = String::new();
    // Into a string it does not fail.
    let _ = text::encode(&mut out, &registry);
    out
}

/// Those that were read, and the devices of the others.
#[derive(Debug)]
struct Qdiscs(Vec<Status>, Vec<String>);

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

/// Where octaves of the sojourn time end, seconds, with how many fell in each: from 2 us to 8.6 s, which is where
/// queues of the Internet are; the first also has what waited less, the last what waited longer.
fn buckets(sojourns: &[u64]) -> Vec<(f64, u64)> {
    let mut out = Vec::new();
    // All of them together are to be a number, too.
    let (mut kept, mut room) = (0, u64::MAX);
    for (octave, n) in sojourns.iter().enumerate() {
        let n = room.min(*n);
        (kept, room) = (kept + n, room - n);
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
        self.counters(to, "node_qdisc_drops", "Packets dropped", |s| one(s, sum(&s.stats.drops)))?;
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
        self.gauges(
            to,
            "queuewright_missing_parts",
            "Parts of it that are not there, which queuewright status names: packets may pass it by",
            |s| one(s, s.missing.len() as f64),
        )?;
        self.gauges(to, "queuewright_variable", "A variable of the discipline, in its unit", |s| {
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
        self.counters(to, "queuewright_queue_sojourn_seconds", "Sum of the sojourn times in a queue", |s| {
            by_queue(s, |c| Some(c.sojourn_sum_ns as f64 / 1e9))
        })?;
        self.gauges(to, "queuewright_queue_length", "Packets that wait in a queue", |s| {
            by_queue(s, |c| Some(f64::from(c.backlog_packets)))
        })?;
        self.gauges(to, "queuewright_queue_share", "Part of the rate that is a queue's", |s| {
            by_queue(s, |c| c.share)
        })?;
        let help = "1: what is attached to the device cannot be read, and its other metrics are missing";
        let mut family = to.encode_descriptor("queuewright_unreadable", help, None, MetricType::Gauge)?;
        for dev in &self.1 {
            ConstGauge::new(1i64).encode(family.encode_family(&[("device", dev.as_str())].as_slice())?)?;
        }
        let help = "Time that packets waited before they were sent";
        let mut family =
            to.encode_descriptor("queuewright_sojourn", help, Some(&Unit::Seconds), MetricType::Histogram)?;
        for s in &self.0 {
            let own = labels(s);
            let own = own.as_slice();
            let mut histogram = family.encode_family(&own)?;
            let buckets = buckets(&s.stats.sojourns);
            let count = sum(&s.stats.sojourns);
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

/// What is offered, and to whom.
struct Offer<F> {
    read: F,
    /// What a client has to know.
    token: Option<String>,
    /// What was read last, and when that began. Held while it is read: by one at a time, however many ask, and all who asked
    /// before it began have it.
    last: Arc<tokio::sync::Mutex<Option<(Instant, Bytes)>>>,
    /// What was said of each device that cannot be read: it is said once.
    said: Mutex<BTreeMap<String, String>>,
}

impl<F: Fn() -> Result<All, Error>> Offer<F> {
    fn metrics(&self) -> Result<String, Error> {
        let all = (self.read)()?;
        let wrong = |(dev, found): &(String, Result<Status, Error>)| {
            found.as_ref().err().map(|e| (dev.clone(), e.to_string()))
        };
        let wrong: BTreeMap<String, String> = all.iter().filter_map(wrong).collect();
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        for (dev, why) in wrong.iter().filter(|(dev, why)| said.get(*dev) != Some(why)) {
            // Names are anybody's: no escapes reach the terminal.
            let line = names::safe(&format!("{dev} cannot be read: {why}"));
            // Nobody may read it any more.
            let _ = writeln!(io::stderr(), "queuewright: {line}");
        }
        *said = wrong;
        Ok(openmetrics(all))
    }
}

/// Answers requests for `/metrics` until the process ends; with a token, only those that have it ("Authorization: Bearer").
/// What is wrong with one is answered to it.
///
/// # Errors
/// If the system has no way to wait for clients.
pub fn serve<F>(listener: TcpListener, token: Option<String>, read: F) -> Result<Infallible, Error>
where
    F: Fn() -> Result<All, Error> + Send + Sync + 'static,
{
    let offer = Arc::new(Offer { read, token, last: Arc::default(), said: Mutex::default() });
    let answer = move |request| answer(request, Arc::clone(&offer));
    http::serve(listener, LIMITS, answer, pending())
        .map_err(|e| Error::System(format!("the metrics' server: {e}")))
}

async fn answer<F>(request: Request<Incoming>, offer: Arc<Offer<F>>) -> Answer
where
    F: Fn() -> Result<All, Error> + Send + Sync + 'static,
{
    let plain = "text/plain; charset=utf-8";
    let as_text = Response::builder().header(CONTENT_TYPE, plain);
    let of = |text: &str| UnsyncBoxBody::new(Full::new(Bytes::from(format!("{text}\n"))));
    if !offer.token.as_deref().is_none_or(|token| has_token(&request, token)) {
        let answer = as_text.status(StatusCode::UNAUTHORIZED).header(WWW_AUTHENTICATE, "Bearer");
        return answer.body(of("this needs the token: Authorization: Bearer TOKEN"));
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return as_text
            .status(StatusCode::METHOD_NOT_ALLOWED)
            .header(ALLOW, "GET, HEAD")
            .body(of("GET only"));
    }
    if request.uri().path() != "/metrics" {
        return as_text.status(StatusCode::NOT_FOUND).body(of("metrics are at /metrics"));
    }
    let asked = Instant::now();
    let mut last = offer.last.clone().lock_owned().await;
    let read = tokio::task::spawn_blocking(move || {
        // Until it is read, also for one who has hung up meanwhile.
        if let Some((_, text)) = last.as_ref().filter(|(begun, _)| *begun >= asked) {
            return Ok(text.clone());
        }
        let begun = Instant::now();
        let text = Bytes::from(offer.metrics()?);
        *last = Some((begun, text.clone()));
        Ok::<_, Error>(text)
    });
    let failed = as_text.status(StatusCode::INTERNAL_SERVER_ERROR);
    match read.await {
        Ok(Ok(text)) => {
            Response::builder().header(CONTENT_TYPE, OPENMETRICS).body(UnsyncBoxBody::new(Full::new(text)))
        }
        Ok(Err(e)) => failed.body(of(&e.to_string())),
        Err(_) => failed.body(of("reading what is attached came to no end")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stats;
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    fn qdisc() -> Status {
        let mut sojourns = [0; 40];
        sojourns[3] = 5; // below the first bucket
        sojourns[20] = 7; // 1 to 2 ms
        sojourns[36] = 1; // a minute
        Status {
            ingress_of: None,
            police: false,
            dev: "eth0".into(),
            there: true,
            missing: Vec::new(),
            mend: None,
            discipline: "titrate".into(),
            file: None,
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
        let text = openmetrics(good().unwrap());
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
        let text = openmetrics(good().unwrap());
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

    /// Whatever is in the maps.
    #[test]
    fn any_counters_are_told() {
        let mut all = qdisc();
        all.stats = Stats {
            drops: [u64::MAX; 5],
            marks: [u64::MAX; 5],
            sojourns: [u64::MAX; 40],
            sojourn_sum_ns: u64::MAX,
            ..Stats::default()
        };
        let text = openmetrics(vec![("eth0".into(), Ok(all))]);
        let count =
            format!(r#"queuewright_sojourn_seconds_count{{device="eth0",kind="bpf_titrate"}} {}"#, u64::MAX);
        assert!(text.lines().any(|l| l == count), "{text}");
    }

    type Reader = fn() -> Result<All, Error>;

    fn offer(token: Option<&str>, read: Reader) -> Arc<Offer<Reader>> {
        let token = token.map(String::from);
        Arc::new(Offer { read, token, last: Arc::default(), said: Mutex::default() })
    }

    fn good() -> Result<All, Error> {
        Ok(vec![("eth0".into(), Ok(qdisc()))])
    }

    async fn conversation(client: DuplexStream, offer: Arc<Offer<Reader>>) {
        let answer = move |request| answer(request, Arc::clone(&offer));
        http::converse(client, LIMITS, Arc::new(answer), http::Standing::default()).await;
    }

    /// What a server answers to a request, sent in one piece.
    async fn asked(request: &[u8], token: Option<&str>, read: Reader) -> String {
        let (mut client, server) = duplex(1 << 20);
        client.write_all(request).await.unwrap();
        client.shutdown().await.unwrap();
        let served = tokio::spawn(conversation(server, offer(token, read)));
        let mut got = String::new();
        client.read_to_string(&mut got).await.unwrap();
        served.await.unwrap();
        got
    }

    #[tokio::test]
    async fn only_a_request_for_metrics_is_answered_with_them() {
        let got = asked(b"GET /metrics?x=1 HTTP/1.1\r\nHost: x\r\n\r\n", None, good).await;
        assert!(got.starts_with("HTTP/1.1 200 OK\r\n"), "{got}");
        assert!(got.ends_with("# EOF\n") && got.contains(OPENMETRICS), "{got}");
        let none: Reader = || Err(Error::System("/sys/fs/bpf: not permitted".into()));
        for (request, status) in [
            (&b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..], "HTTP/1.1 404 "),
            (b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 405 "),
            (b"\x00\x01\x02\r\n\r\n", "HTTP/1.1 400 "),
            (b"GET /metrics HTTP/1.0\r\n\r\n", "HTTP/1.0 500 "),
            (b"GET /metrics HTT", ""),
        ] {
            let got = asked(request, None, none).await;
            assert!(got.starts_with(status) && got.is_empty() == status.is_empty(), "{request:?}: {got}");
        }
        let long = [b"GET /metrics HTTP/1.1\r\nA: ".as_slice(), &vec![b'x'; 2 * LIMITS.request]].concat();
        assert!(asked(&long, None, good).await.starts_with("HTTP/1.1 431 "));
    }

    #[tokio::test]
    async fn with_a_token_only_who_has_it_is_answered() {
        for (header, status) in [
            ("", "401"),
            ("Authorization: Bearer secre\r\n", "401"),
            ("Authorization: Bearer secret2\r\n", "401"),
            ("Authorization: Bearer Secret\r\n", "401"),
            ("Authorization: Basic secret\r\n", "401"),
            ("Authorization: Bearer secret\r\n", "200"),
            ("authorization: bearer secret\r\n", "200"),
        ] {
            let request = format!("GET /metrics HTTP/1.1\r\nHost: x\r\n{header}\r\n");
            let got = asked(request.as_bytes(), Some("secret"), good).await;
            assert!(got.starts_with(&format!("HTTP/1.1 {status} ")), "{header}: {got}");
        }
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_one_metric_and_one_line() {
        let read: Reader = || {
            let broken = Err(Error::System("/run/queuewright/x: no JSON".into()));
            Ok(vec![("eth0".into(), Ok(qdisc())), ("eth1".into(), broken)])
        };
        let got = asked(b"GET /metrics HTTP/1.0\r\n\r\n", None, read).await;
        for line in [
            r#"queuewright_unreadable{device="eth1"} 1"#,
            r#"node_qdisc_drops_total{device="eth0",kind="bpf_titrate"} 3"#,
        ] {
            assert!(got.lines().any(|l| l == line), "no {line}: {got}");
        }
        let offer = offer(None, read);
        offer.metrics().unwrap();
        let said = offer.said.lock().unwrap();
        assert_eq!(said["eth1"], "/run/queuewright/x: no JSON");
    }

    /// A client that says a part and waits, or takes no answer, is let go, by a clock that moves when nothing else is to do.
    #[tokio::test(start_paused = true)]
    async fn the_silent_and_the_slow_are_let_go() {
        for (says, within) in [
            ("", LIMITS.request_within),
            ("GET /metrics HTTP/1.1\r\nHost: x", LIMITS.request_within),
            ("GET /metrics HTTP/1.0\r\n\r\n", LIMITS.done_within),
        ] {
            let begun = tokio::time::Instant::now();
            let (mut client, server) = duplex(64);
            client.write_all(says.as_bytes()).await.unwrap();
            conversation(server, offer(None, good)).await;
            let took = begun.elapsed();
            assert!(took >= within && took < within + Duration::from_millis(10), "{says:?}: {took:?}");
        }
    }

    /// As many as wait in all the queues: a scrape is answered, whenever it comes.
    #[test]
    fn four_hundred_silent_clients_harm_nobody() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        std::thread::spawn(move || serve(listener, None, good));
        let mut silent: Vec<TcpStream> = Vec::new();
        for _ in 0..4 {
            silent.extend((0..100).map(|_| TcpStream::connect(at).unwrap()));
            let mut scraper = TcpStream::connect(at).unwrap();
            scraper.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
            let mut got = String::new();
            scraper.read_to_string(&mut got).unwrap();
            assert!(got.starts_with("HTTP/1.0 200 OK\r\n") && got.ends_with("# EOF\n"), "{got}");
        }
    }

    /// Who has asked is not ended for those that have not, and who asks while others wait has one reading with them.
    #[test]
    fn who_has_asked_is_answered_whoever_comes_later() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let (begun, begins) = std::sync::mpsc::channel::<()>();
        let wait = Mutex::new(wait);
        let read = move || {
            begun.send(()).unwrap();
            wait.lock().unwrap().recv().unwrap();
            good()
        };
        std::thread::spawn(move || serve(listener, None, read));
        let ask = || {
            let mut scraper = TcpStream::connect(at).unwrap();
            scraper.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
            scraper
        };
        let mut scrapers = vec![ask()];
        begins.recv().unwrap();
        scrapers.extend((0..50).map(|_| ask()));
        let mut silent: Vec<TcpStream> =
            (0..LIMITS.connections).map(|_| TcpStream::connect(at).unwrap()).collect();
        // So many are there, and the first of the silent has been let go.
        assert_eq!(silent[0].read(&mut [0]).unwrap(), 0);
        // One reading for the first, one for the fifty: a third would wait for ever.
        (0..2).for_each(|_| go.send(()).unwrap());
        for mut scraper in scrapers {
            let mut got = String::new();
            scraper.read_to_string(&mut got).unwrap();
            assert!(got.starts_with("HTTP/1.0 200 OK\r\n") && got.ends_with("# EOF\n"), "{got}");
        }
    }
}
