//! The result format against its schema and its own reader.

use proptest::prelude::*;
use queuewright_results::*;
use std::collections::BTreeMap;
use std::path::Path;

fn sample() -> Results {
    Results {
        schema: SCHEMA,
        version: "0.1.0".into(),
        scenario: serde_json::json!({"link": {"rate": "100mbit"}, "hash": "00ff"}),
        runs: vec![Run {
            discipline: "codel".into(),
            parameters: BTreeMap::from([("target".into(), "5ms".into())]),
            seed: 1,
            engine: "sim".into(),
            duration_s: 60.0,
            warmup_s: 10.0,
            ports: vec![Port {
                name: "bottleneck".into(),
                utilization: 0.98,
                packets: 400_000,
                sojourn_ms: Sojourn { mean: 4.5, p99_9: 17.25, ..Sojourn::default() },
                drops: BTreeMap::from([("codel".into(), 12)]),
                loss_events: Some(LossEvents { count: 2, synchronisation: 0.5, synchronisation_p50: 0.5 }),
                ..Port::default()
            }],
            groups: vec![Group {
                name: "cubic".into(),
                cca: "cubic".into(),
                cca_file: None,
                flows: 1,
                goodput_bps: 9.4e7,
                transfers: None,
                video: Some(Video {
                    chunks: 12,
                    bitrate_bps: 1.5e6,
                    switches: 2,
                    stalls: 1,
                    stalled_s: 0.75,
                    startup_s: f64::NAN,
                    linear_qoe: 0.8,
                    stalling_index: 0.9,
                }),
                datagrams: Some(Datagrams {
                    received: 99,
                    lost: 1,
                    loss: 0.01,
                    delay_ms: Sojourn { mean: 12.5, ..Sojourn::default() },
                    jitter_ms: Jitter { mean: 0.5, p95: 1.0, p99: 2.0, max: 4.0 },
                    loss_pattern: Some(LossPattern {
                        periods: 1,
                        period_packets: 1.0,
                        noticeable_rate: 0.0,
                        burst_r: 0.99,
                    }),
                    calls: Some(Calls { mos: 4.4, mos_worst: 4.3, r: 93.0, r_worst: 90.0 }),
                }),
                harm: Some(GroupHarm {
                    beside: vec!["bbr".into()],
                    goodput: 0.5,
                    delay: -0.25,
                    completed: f64::NAN,
                    fct: f64::NAN,
                    plt: f64::NAN,
                    delivered: 0.0,
                    fair_bps: 5e7,
                }),
            }],
            flows: vec![Flow {
                group: "cubic".into(),
                cca: "cubic".into(),
                srtt_ms: Some(24.5),
                ..Flow::default()
            }],
            jain: 1.0,
            wall_s: 0.5,
            packets_per_s: 8e5,
            ..Run::default()
        }],
    }
}

fn validator() -> jsonschema::Validator {
    let schema = serde_json::from_str(&json_schema()).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

/// The committed schema is the one the types make. `UPDATE_SCHEMA=1` writes it.
#[test]
fn committed_schema_is_in_step() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results.schema.json");
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(&path, json_schema()).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == json_schema(),
        "docs/results.schema.json is stale: run UPDATE_SCHEMA=1 cargo test -p queuewright-results"
    );
}

#[test]
fn sample_is_valid_and_reads_back() {
    let text = sample().to_json();
    let value = serde_json::from_str(&text).unwrap();
    let errors: Vec<String> = validator().iter_errors(&value).map(|e| e.to_string()).collect();
    assert_eq!(errors, Vec::<String>::new());
    assert_eq!(Results::from_json(&text).unwrap().to_json(), text);
}

#[test]
fn schema_refuses_wrong_objects() {
    let validator = validator();
    let good: serde_json::Value = serde_json::from_str(&sample().to_json()).unwrap();
    let wrong: [fn(&mut serde_json::Value); 5] = [
        |v| v["schema"] = 3.into(),
        |v| drop(v.as_object_mut().unwrap().remove("runs")),
        |v| v["runs"][0]["seed"] = (-1).into(),
        |v| v["runs"][0]["ports"][0]["sojourn_ms"]["p99_9"] = "17".into(),
        |v| drop(v["runs"][0]["flows"][0].as_object_mut().unwrap().remove("fct_s")),
    ];
    for (i, spoil) in wrong.iter().enumerate() {
        let mut value = good.clone();
        spoil(&mut value);
        assert!(!validator.is_valid(&value), "change {i} passed");
    }
}

/// The names other tools are written against, spelt out: none goes. What is new is in the schema alone.
#[test]
fn published_names_stay() {
    let value: serde_json::Value = serde_json::from_str(&sample().to_json()).unwrap();
    let run = &value["runs"][0];
    let port = &run["ports"][0];
    for (object, names) in [
        (&value, "schema version scenario runs"),
        (
            run,
            "discipline parameters seed engine duration_s warmup_s ports groups flows jain wall_s packets_per_s",
        ),
        (
            port,
            "name utilization packets sojourn_ms backlog_packets backlog_bytes drop_fraction mark_fraction drops marks",
        ),
        (&port["sojourn_ms"], "mean std p25 p50 p75 p95 p99 p99_9 max"),
        (&port["backlog_packets"], "mean max"),
        (&port["backlog_bytes"], "mean max"),
        (&run["groups"][0], "name cca flows goodput_bps datagrams video"),
        (&run["groups"][0]["video"], "chunks bitrate_bps switches stalls stalled_s startup_s"),
        (&run["groups"][0]["datagrams"], "received lost loss delay_ms"),
        (
            &run["flows"][0],
            "id group cca base_rtt_ms goodput_bps sojourn_ms srtt_ms retransmits timeouts fct_s",
        ),
    ] {
        let gone: Vec<&str> = names.split(' ').filter(|name| object.get(name).is_none()).collect();
        assert_eq!(gone, Vec::<&str>::new());
    }
}

#[test]
fn other_versions_are_refused() {
    let text = sample().to_json().replace("\"schema\": 2", "\"schema\": 3");
    let error = Results::from_json(&text).unwrap_err().to_string();
    assert!(error.contains("schema 3"), "{error}");
}

/// Results of the version before, which called pages bursts and their load times bct_s.
#[test]
fn the_version_before_is_read() {
    let mut new = sample();
    let times = Distribution { count: 2, mean: 0.5, p50: 0.5, p75: 0.5, p95: 0.5, p99: 0.5, max: 0.75 };
    let pages = Pages { started: 3, completed: 2, plt_s: times, drops: times };
    new.runs[0].groups[0].transfers = Some(Transfers { pages: Some(pages), ..Transfers::default() });
    let new = new.to_json();
    let old = new
        .replace("\"schema\": 2", "\"schema\": 1")
        .replace("\"pages\"", "\"bursts\"")
        .replace("\"plt_s\"", "\"bct_s\"");
    assert_eq!(old.matches("bursts").count() + old.matches("bct_s").count(), 2);
    assert_eq!(Results::from_json(&old).unwrap().to_json(), new);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_number_survives(mean in prop::num::f64::ANY, jain in prop::num::f64::ANY, goodput in prop::num::f64::ANY) {
        let mut results = sample();
        results.runs[0].ports[0].sojourn_ms.mean = mean;
        results.runs[0].jain = jain;
        results.runs[0].groups[0].goodput_bps = goodput;
        let text = results.to_json();
        prop_assert!(validator().is_valid(&serde_json::from_str(&text).unwrap()));
        let back = Results::from_json(&text).unwrap();
        let got = back.runs[0].ports[0].sojourn_ms.mean;
        if mean.is_finite() {
            // serde_json's fast parser may be off by one unit in the last place.
            prop_assert!((got - mean).abs() <= mean.abs() * 1e-15);
        } else {
            prop_assert!(got.is_nan());
        }
    }
}

/// Completion times by class, and of pages as a whole.
#[test]
fn transfers_are_summed_up() {
    let transfer = |page, bytes, start_s, fct_s, drops| queuewright_results::Transfer {
        group: 0,
        page,
        bytes,
        start_s,
        fct_s,
        startup_s: fct_s.map(|s| s / 2.0),
        drops,
        lost: 3 * drops,
        retransmits: 2 * drops,
    };
    let all = [
        transfer(Some(0), 100, 1.0, Some(0.5), 1),
        transfer(Some(0), 20_000, 1.0, Some(1.5), 2),
        transfer(Some(1), 100, 2.0, Some(0.25), 0),
        transfer(Some(1), 1 << 30, 2.0, None, 7),
        transfer(None, 10 << 10, 3.0, Some(1.0), 0),
    ];
    let t = queuewright_results::Transfers::of(all.iter());
    assert_eq!((t.started, t.completed, t.drops, t.lost, t.retransmits), (5, 4, 10, 30, 20));
    let classes: Vec<(&str, u64)> = t.fct_s.iter().map(|(name, d)| (name.as_str(), d.count)).collect();
    assert_eq!(classes, [("100kb", 1), ("10kb", 3), ("all", 4)]);
    let d = t.fct_s["all"];
    assert_eq!((d.mean, d.p50, d.p75, d.p95, d.max), (0.8125, 0.5, 1.0, 1.5, 1.5));
    let pages = t.pages.unwrap();
    assert_eq!((pages.started, pages.completed), (2, 1));
    assert_eq!((pages.plt_s.mean, pages.drops.mean, pages.drops.max), (1.5, 5.0, 7.0));
    assert!(queuewright_results::Distribution::of(std::iter::empty()).p50.is_nan());
}

/// The committed page is the one the columns make. `UPDATE_SCHEMA=1` writes it.
#[test]
fn committed_columns_are_in_step() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sheets.md");
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(&path, sheets::page()).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == sheets::page(),
        "docs/sheets.md is stale: run UPDATE_SCHEMA=1 cargo test -p queuewright-results"
    );
}

/// Every number of a result object is in a sheet.
#[test]
fn every_measure_is_in_a_sheet() {
    /// Numbers by path, lists by what they are of.
    fn numbers(value: &serde_json::Value, path: &str, all: &mut BTreeMap<String, f64>) {
        use serde_json::Value;
        match value {
            Value::Number(n) => {
                all.insert(path.into(), n.as_f64().unwrap());
            }
            Value::Object(o) => o.iter().for_each(|(k, v)| numbers(v, &format!("{path}.{k}"), all)),
            Value::Array(a) => a.iter().for_each(|v| numbers(v, path, all)),
            _ => {}
        }
    }
    /// Gives each number another one.
    fn renumber(value: &mut serde_json::Value, next: &mut u32) {
        use serde_json::Value;
        match value {
            Value::Number(_) => {
                *next += 1;
                *value = (*next).into();
            }
            Value::Object(o) => o.values_mut().for_each(|v| renumber(v, next)),
            Value::Array(a) => a.iter_mut().for_each(|v| renumber(v, next)),
            _ => {}
        }
    }
    let reasons: BTreeMap<String, u64> =
        ["limit", "threshold", "sojourn", "early"].map(|r| (r.to_string(), 0)).into();
    let port = Port {
        name: "p".into(),
        drops: reasons.clone(),
        marks: reasons,
        lost: Some(0),
        queues: vec![Queue { name: "q".into(), ..Queue::default() }],
        ..Port::default()
    };
    let transfers = Transfers {
        fct_s: BTreeMap::from([("all".to_string(), Distribution::default())]),
        pages: Some(Pages::default()),
        ..Transfers::default()
    };
    let group = Group {
        name: "g".into(),
        transfers: Some(transfers),
        datagrams: Some(Datagrams::default()),
        video: Some(Video::default()),
        ..Group::default()
    };
    let flow = Flow { srtt_ms: Some(0.0), fct_s: Some(0.0), ..Flow::default() };
    let qoo = BTreeMap::from([("call".to_string(), Some(0.0))]);
    let responsiveness = Responsiveness { qoo, ..Responsiveness::default() };
    // What a machine's speed makes of it is in no sheet.
    let run = Run {
        ports: vec![port],
        groups: vec![group],
        flows: vec![flow],
        responsiveness: vec![responsiveness],
        packets_per_s: f64::NAN,
        ..Run::default()
    };
    let mut run = serde_json::to_value(run).unwrap();
    renumber(&mut run, &mut 1000);
    let run: Run = serde_json::from_value(run).unwrap();
    let results = Results { runs: vec![run], ..sample() };
    let mut all = BTreeMap::new();
    numbers(&serde_json::to_value(&results.runs[0]).unwrap(), "", &mut all);
    let mut found = std::collections::BTreeSet::new();
    for sheet in [
        sheets::runs(&results),
        sheets::queues(&results),
        sheets::groups(&results),
        sheets::flows(&results),
        sheets::responsiveness(&results),
    ] {
        for column in sheet.columns {
            match column.values {
                sheets::Values::Text(_) => {}
                sheets::Values::Count(v) => found.extend(v.iter().map(|n| n.to_string())),
                sheets::Values::CountIf(v) => found.extend(v.iter().flatten().map(|n| n.to_string())),
                sheets::Values::Number(v) => found.extend(v.iter().map(|n| n.to_string())),
            }
        }
    }
    let missing: Vec<&String> =
        all.iter().filter(|(_, value)| !found.contains(&value.to_string())).map(|(path, _)| path).collect();
    // How many values a distribution has another column says.
    let left = |path: &&&String| !path.ends_with(".count");
    assert_eq!(missing.iter().filter(left).collect::<Vec<_>>(), Vec::<&&String>::new());
}
