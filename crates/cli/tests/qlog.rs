//! `run --qlog`: files that a reader of qlog can read, with what the results say.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// QUIC and TCP, losses and marks, an outage, a stream of UDP, and all of it measured.
const MIXED: &str = r#"
name = "mixed"
[link]
schedule = [["0s", "10mbit"], ["4s", "0bit"], ["5s", "10mbit"]]
buffer = "40p"
[[flows]]
cca = "cubic"
rtt = "40ms"
stack = "quic"
ecn = true
[[flows]]
cca = "newreno"
rtt = "30ms"
[[flows]]
cca = "bbr"
rtt = "20ms"
stack = "quic"
[[flows]]
cca = "newreno"
rtt = "25ms"
stack = "quic"
size = "100kb"
start = "1s"
[[flows]]
cbr = "200kbit"
[queue]
disciplines = [{ name = "codel", ecn = true }, "droptail"]
[run]
duration = "8s"
warmup = "0s"
"#;

fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a temporary folder");
    fs::write(dir.path().join("mixed.toml"), MIXED).expect("mixed.toml");
    dir
}

fn output(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_queuewright"));
    command.current_dir(dir).args(args).stdin(Stdio::null()).output().expect("the program starts")
}

/// The records of a file: RFC 7464 has a record separator before each and a line feed behind it.
fn records(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    assert!(text.starts_with('\u{1e}') && text.ends_with('\n'));
    let all = text[1..].split('\u{1e}');
    all.map(|one| {
        assert!(one.ends_with('\n') && one.matches('\n').count() == 1, "{one}");
        serde_json::from_str(one).unwrap_or_else(|e| panic!("{e}: {one}"))
    })
    .collect()
}

/// The head of a file and its events, which have what draft-ietf-quic-qlog-main-schema sections 3, 5 and 7 ask for: written down from there.
fn events(path: &Path, schema: &str) -> Vec<(f64, String, Value)> {
    let records = records(path);
    let head = &records[0];
    assert_eq!(head["file_schema"], "urn:ietf:params:qlog:file:sequential");
    assert_eq!(head["serialization_format"], "application/qlog+json-seq");
    assert!(!head.to_string().contains("null"));
    let first: String = fs::read_to_string(path).expect("it is there").chars().take(256).collect();
    assert!(first.contains("\"file_schema\"") && first.contains("\"serialization_format\""), "{first}");
    let trace = &head["trace"];
    assert_eq!(trace["event_schemas"], serde_json::json!([schema]));
    assert!(
        ["client", "server", "network", "unknown"]
            .contains(&trace["vantage_point"]["type"].as_str().unwrap())
    );
    let clock = &trace["common_fields"]["reference_time"];
    assert_eq!((&clock["clock_type"], &clock["epoch"]), (&"monotonic".into(), &"unknown".into()));
    let mut last = 0.0;
    records[1..]
        .iter()
        .map(|event| {
            let at = event["time"].as_f64().expect("a time");
            assert!(at >= last, "{at} after {last}");
            last = at;
            let name = event["name"].as_str().expect("a name");
            let (namespace, kind) = name.split_once(':').expect("a namespace");
            assert!(schema.contains(namespace) && !kind.is_empty(), "{name}");
            assert!(event["data"].is_object());
            (at, name.to_string(), event["data"].clone())
        })
        .collect()
}

/// What draft-ietf-quic-qlog-quic-events asks of the data of an event, by its name.
fn check_sender(name: &str, data: &Value) {
    let header = |data: &Value| {
        let header = &data["header"];
        assert_eq!(header["packet_type"], "1RTT", "{data}");
        header["packet_number"].as_u64()
    };
    let numbers = |keys: &[&str]| {
        for (key, value) in data.as_object().expect("an object") {
            assert!(keys.contains(&key.as_str()) && value.is_number(), "{name}: {key}");
        }
    };
    let states = ["slow_start", "congestion_avoidance", "open", "recovery"];
    match name {
        "quic:packet_sent" => {
            assert!(header(data).is_some());
            let frame = &data["frames"][0];
            assert!(
                frame["frame_type"] == "stream" && frame["stream_id"].is_u64() && frame["offset"].is_u64()
            );
            assert!(
                data["raw"]["length"].as_u64() > data["raw"]["payload_length"].as_u64()
                    || data["raw"]["length"].is_u64()
            );
            assert!(data.get("trigger").is_none_or(|t| t == "pto_probe"));
        }
        "quic:packet_received" => {
            assert!(header(data).is_none());
            assert_eq!(data["frames"][0]["frame_type"], "ack");
        }
        "quic:packets_acked" => assert!(!data["packet_numbers"].as_array().expect("numbers").is_empty()),
        "quic:packet_lost" => {
            assert!(header(data).is_some());
            let triggers = ["reordering_threshold", "time_threshold"];
            assert!(data.get("trigger").is_none_or(|t| triggers.contains(&t.as_str().unwrap())));
        }
        "quic:recovery_parameters_set" => {
            assert!(data["timer_granularity"].is_u64());
            numbers(&[
                "reordering_threshold",
                "time_threshold",
                "timer_granularity",
                "initial_rtt",
                "max_datagram_size",
                "initial_congestion_window",
                "minimum_congestion_window",
                "persistent_congestion_threshold",
            ]);
        }
        "quic:recovery_metrics_updated" => {
            assert!(!data.as_object().expect("an object").is_empty());
            numbers(&[
                "min_rtt",
                "smoothed_rtt",
                "latest_rtt",
                "rtt_variance",
                "pto_count",
                "congestion_window",
                "bytes_in_flight",
                "ssthresh",
                "packets_in_flight",
                "pacing_rate",
            ]);
        }
        "quic:congestion_state_updated" => {
            assert!(states.contains(&data["new"].as_str().expect("a state")));
            assert!(data.get("old").is_none_or(|old| states.contains(&old.as_str().unwrap())));
        }
        "quic:ecn_state_updated" => {
            assert!(["testing", "unknown", "failed", "capable"].contains(&data["new"].as_str().unwrap()));
        }
        other => panic!("{other} is no event of QUIC's"),
    }
}

fn of<'a>(events: &'a [(f64, String, Value)], name: &str) -> Vec<&'a Value> {
    events.iter().filter(|e| e.1 == name).map(|e| &e.2).collect()
}

#[test]
fn logs_can_be_read_and_add_up() {
    let dir = folder();
    let out = output(dir.path(), &["run", "mixed.toml", "--qlog", "logs", "--json"]);
    let stderr = String::from_utf8_lossy(&out.stderr);
    assert_eq!((out.status.code(), &*stderr), (Some(0), ""));
    let results: Value = serde_json::from_slice(&out.stdout).expect("results");
    for run in results["runs"].as_array().expect("runs") {
        let label = run["discipline"].as_str().expect("a label");
        let logs = dir.path().join("logs").join(format!("{label}-seed1"));
        let names: BTreeSet<String> = fs::read_dir(&logs)
            .expect("a folder of logs")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
            .collect();
        let expected = ["flow0", "flow1", "flow2", "flow3", "queue-bottleneck"].map(|n| format!("{n}.sqlog"));
        assert_eq!(names, BTreeSet::from(expected));

        let mut sent_by_flow = BTreeMap::new();
        for i in 0..4 {
            let all = events(&logs.join(format!("flow{i}.sqlog")), "urn:ietf:params:qlog:events:quic-13");
            all.iter().for_each(|e| check_sender(&e.1, &e.2));
            let sent = of(&all, "quic:packet_sent");
            let offsets: BTreeSet<u64> =
                sent.iter().map(|d| d["frames"][0]["offset"].as_u64().unwrap()).collect();
            let retransmits = run["flows"][i]["retransmits"].as_u64().expect("a count");
            assert_eq!((sent.len() - offsets.len()) as u64, retransmits, "{label}, flow {i}");
            sent_by_flow.insert(i as u64, sent.len());
            assert_eq!(of(&all, "quic:recovery_parameters_set").len(), usize::from(i != 1));
            assert_eq!(of(&all, "quic:ecn_state_updated").len(), usize::from(i == 0));
            assert!(!of(&all, "quic:recovery_metrics_updated").is_empty());
            assert!(!of(&all, "quic:congestion_state_updated").is_empty());
            let number = |d: &&Value| d["header"]["packet_number"].as_u64().unwrap();
            let lost: Vec<u64> = of(&all, "quic:packet_lost").iter().map(number).collect();
            if i == 1 {
                continue;
            }
            // QUIC's numbers rise by one; each is acknowledged for the first time once, and lost once.
            assert!(sent.iter().map(number).eq(0..sent.len() as u64));
            let acked: Vec<u64> = of(&all, "quic:packets_acked")
                .iter()
                .flat_map(|d| d["packet_numbers"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()))
                .collect();
            for numbers in [&acked, &lost] {
                assert_eq!(numbers.iter().collect::<BTreeSet<_>>().len(), numbers.len());
            }
            assert!(acked.iter().all(|n| !lost.contains(n)) && acked.len() + lost.len() <= sent.len());
            // The outage of a second is longer than a probe timeout.
            let probes = sent.iter().filter(|d| d.get("trigger").is_some()).count();
            let timeouts = run["flows"][i]["timeouts"].as_u64().expect("a count") as usize;
            assert!((timeouts..=2 * timeouts).contains(&probes), "{probes} probes, {timeouts} timeouts");
            assert!(i == 3 || timeouts > 0);
        }

        let all = events(&logs.join("queue-bottleneck.sqlog"), "queuewright:qlog:events:queue");
        let (port, count) = (&run["ports"][0], |name: &str| of(&all, name).len() as u64);
        assert_eq!(count("queue:dequeue"), port["packets"].as_u64().expect("a count"), "{label}");
        for (name, key) in [("queue:drop", "drops"), ("queue:mark", "marks")] {
            let mut by_reason = BTreeMap::new();
            for data in of(&all, name) {
                *by_reason.entry(data["reason"].as_str().expect("a reason").to_string()).or_insert(0u64) += 1;
            }
            let told: BTreeMap<String, u64> = port[key]
                .as_object()
                .expect("by reason")
                .iter()
                .map(|(reason, n)| (reason.clone(), n.as_u64().unwrap()))
                .filter(|(_, n)| *n > 0)
                .collect();
            assert_eq!(by_reason, told, "{label}: {name}");
        }
        // What was sent came to the queue, but for what is on the way to it at the end; a finite flow has a handshake more.
        for (flow, sent) in sent_by_flow {
            let came = ["queue:enqueue", "queue:drop"]
                .iter()
                .flat_map(|name| of(&all, name))
                .filter(|d| d["flow"] == flow && d.get("sojourn").is_none())
                .count();
            assert!(
                (sent.saturating_sub(100)..=sent + 1).contains(&came),
                "{label}, flow {flow}: {came} of {sent}"
            );
        }
    }
}

/// Nothing of a run differs for its log.
#[test]
fn a_log_changes_no_result() {
    let dir = folder();
    let results = |more: &[&str]| {
        let args = ["run", "mixed.toml", "--json"].iter().chain(more).copied().collect::<Vec<_>>();
        let mut all: Value = serde_json::from_slice(&output(dir.path(), &args).stdout).expect("results");
        for run in all["runs"].as_array_mut().expect("runs") {
            for clock in ["wall_s", "packets_per_s"] {
                run.as_object_mut().expect("a run").remove(clock);
            }
        }
        all
    };
    assert_eq!(results(&[]), results(&["--qlog", "logs"]));
}

/// One clear error with exit code 2, and nothing is written, neither logs nor results.
#[test]
fn a_bad_place_is_one_clear_error() {
    let dir = folder();
    let path = |name: &str| dir.path().join(name);
    fs::create_dir(path("full")).expect("a folder");
    fs::write(path("full/mine"), "mine").expect("a file");
    let many = MIXED.replacen("cca = \"cubic\"", "count = 201\ncca = \"cubic\"", 1);
    fs::write(path("many.toml"), many).expect("a scenario");
    let before: BTreeSet<_> =
        fs::read_dir(dir.path()).expect("a folder").map(|e| e.unwrap().file_name()).collect();
    for (args, says) in [
        (
            &["mixed.toml", "--qlog", "full"][..],
            "error: --qlog: cannot write logs into full: it is not empty\n",
        ),
        (&["mixed.toml", "--qlog", "mixed.toml"], "error: --qlog: cannot read mixed.toml: "),
        (&["mixed.toml", "--qlog", "none/logs"], "error: --qlog: cannot create none/logs: "),
        (&["many.toml", "--qlog", "logs"], "error: --qlog: 204 senders in a run; at most 200 are logged\n"),
        (
            &["mixed.toml", "--qlog", "logs", "--without", "bbr"],
            "error: the argument '--qlog <DIR>' cannot be used with ",
        ),
        (&["mixed.toml", "--qlog", "logs", "--out", "mixed.toml"], "error: --out: "),
    ] {
        let out = output(dir.path(), &[&["run"], args].concat());
        let stderr = String::from_utf8_lossy(&out.stderr);
        assert!(stderr.starts_with(says), "{args:?}: {stderr}");
        assert!(stderr.contains("argument") || stderr.lines().count() == 1, "{args:?}: {stderr}");
        assert_eq!(out.status.code(), Some(2), "{args:?}");
        let after: BTreeSet<_> =
            fs::read_dir(dir.path()).expect("a folder").map(|e| e.unwrap().file_name()).collect();
        assert_eq!(after, before, "{args:?}");
    }
    // An empty folder of one's own will do.
    fs::create_dir(path("empty")).expect("a folder");
    let out = output(dir.path(), &["run", "mixed.toml", "--qlog", "empty", "--json", "--duration", "2s"]);
    assert_eq!(out.status.code(), Some(0), "{}", String::from_utf8_lossy(&out.stderr));
    assert_eq!(fs::read_dir(path("empty")).expect("a folder").count(), 2);
}
