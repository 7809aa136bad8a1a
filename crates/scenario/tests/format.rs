//! The format as it is promised: the documented example, the examples shipped,
//! the command line's form of one of them.

use queuewright_scenario::spec::{Rate, Stack, Traffic};
use queuewright_scenario::{Flags, Gaps, Scenario};
use std::path::{Path, PathBuf};

fn parse(text: &str) -> Scenario {
    Scenario::parse(text, "scenario.toml", Path::new("")).unwrap_or_else(|e| panic!("{e}"))
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// Every key of the format's description, as written there.
const DESCRIBED: &str = r#"
[link]
rate = "1gbit"            # or trace = "file", or schedule = [["0s","100mbit"],["15s","50mbit"]]
delay = "1ms"             # bottleneck to receivers
buffer = "2bdp"           # or "1000p", "45kb"; bdp = rate x mean base RTT
[[flows]]
count = "10..50"          # drawn per seed
cca = { cubic = 45, bbr = 28 }   # or "cubic"
rtt = "4ms..98ms"         # base RTT, or one value
start = "0s..1s"
access = "2gbit"
# size, ecn, cbr = "15mbit", poisson = "12mbit", stop ...
[queue]
disciplines = ["titrate", "codel", { name = "static", threshold = "1bdp" }]
[run]
duration = "200s"
warmup = "10s"
seeds = [1, 2, 3]
"#;

#[test]
fn the_described_file_works_as_written() {
    let runs = parse(DESCRIBED).runs().unwrap();
    assert_eq!(runs.len(), 9);
    let order: Vec<_> = runs.iter().map(|r| (r.discipline.label.as_str(), r.seed)).collect();
    assert_eq!(order[..4], [("titrate", 1), ("titrate", 2), ("titrate", 3), ("codel", 1)]);
    for run in &runs {
        assert_eq!((run.duration_ns, run.warmup_ns), (200_000_000_000, 10_000_000_000));
        assert_eq!((run.stack, run.overhead_bytes), (Stack::Linux, 14));
        assert!(matches!(run.ports[0].rate, Rate::Constant(1_000_000_000)));
        assert_eq!(run.ports[0].delay_ns, 1_000_000);
        assert!((10..=50).contains(&run.flows.len()));
        for flow in &run.flows {
            assert!((4_000_000..=98_000_000).contains(&flow.base_rtt_ns));
            assert!(flow.start_ns <= 1_000_000_000);
            assert_eq!(flow.access_bps, Some(2_000_000_000));
            assert_eq!(flow.path, [0]);
        }
        let mean = run.flows.iter().map(|f| f.base_rtt_ns).sum::<u64>() / run.flows.len() as u64;
        let bdp = mean / 8; // 1 bit/ns
        assert!(run.ports[0].limit_bytes.abs_diff(2 * bdp) <= 2, "{} {bdp}", run.ports[0].limit_bytes);
        assert_eq!(run.ports[0].limit_packets, 0);
        let groups: Vec<_> = run.groups.iter().map(|g| (g.name.as_str(), g.cca.as_str())).collect();
        assert_eq!(groups, [("bbr", "bbr"), ("cubic", "cubic")]);
        for flow in &run.flows {
            let Traffic::Tcp { cca, .. } = &flow.traffic else { panic!("not TCP") };
            assert_eq!(cca.name(), run.groups[flow.group as usize].cca);
        }
    }
    // All disciplines of a seed see the same flows, and seeds differ.
    let flows = |i: usize| format!("{:?}", runs[i].flows);
    assert_eq!(flows(0), flows(3));
    assert_eq!(flows(0), flows(6));
    assert_ne!(flows(0), flows(1));
}

#[test]
fn the_compare_line_is_the_home_example() {
    let text = |s: &str| Some(s.to_string());
    let flags = Flags {
        rate: text("100mbit"),
        rtt: text("20ms..80ms"),
        flows: text("10xcubic,4xbbr,1xcbr:2mbit"),
        aqm: text("droptail,codel,pie,titrate"),
        buffer: text("2bdp"),
        duration: text("60s"),
        warmup: text("10s"),
        seeds: text("1..3"),
        ..Flags::default()
    };
    let line = Scenario::from_flags(&flags).unwrap();
    let file = Scenario::read(&examples().join("home.toml")).unwrap();
    assert_eq!(line.hash(), file.hash());
    assert_eq!(format!("{:?}", line.runs().unwrap()), format!("{:?}", file.runs().unwrap()));
}

/// One line a run: what an engine would be told, in short.
fn summary(scenario: &Scenario) -> String {
    use std::fmt::Write;
    let mut out = format!("{}\n", scenario.to_json());
    for run in scenario.runs().unwrap() {
        let port = &run.ports[0];
        let rate = match &port.rate {
            Rate::Constant(bps) => format!("{bps} bit/s"),
            Rate::Schedule(s) => format!("{} steps", s.steps.len()),
            Rate::Trace(t) => format!("{} opportunities in {} ns", t.opportunities_ns.len(), t.period_ns),
        };
        writeln!(
            out,
            "{} seed {}: {rate}, {}b {}p, {} flows, series {:?}, set: {}",
            run.discipline.label,
            run.seed,
            port.limit_bytes,
            port.limit_packets,
            run.flows.len(),
            run.series_flows,
            run.discipline
                .iter()
                .filter(|(p, v)| *v != p.default)
                .map(|(p, v)| format!("{}={}", p.name, p.display(v)))
                .collect::<Vec<_>>()
                .join(" "),
        )
        .unwrap();
        if run.discipline == scenario.runs().unwrap()[0].discipline {
            for f in run.flows.iter().take(20) {
                let group = &run.groups[f.group as usize].name;
                writeln!(
                    out,
                    "  {group} {:?} rtt {} start {} stop {:?} access {:?} jitter {}",
                    f.traffic, f.base_rtt_ns, f.start_ns, f.stop_ns, f.access_bps, f.jitter_ns
                )
                .unwrap();
            }
        }
    }
    out
}

#[test]
fn examples_and_their_draws() {
    let mut names: Vec<_> = std::fs::read_dir(examples())
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "toml"))
        .collect();
    names.sort();
    assert!(names.len() >= 4, "{names:?}");
    for path in names {
        let scenario = Scenario::read(&path).unwrap_or_else(|e| panic!("{e}"));
        assert!(scenario.name.is_some() && scenario.description.is_some());
        let stem = path.file_stem().unwrap().to_str().unwrap().to_string();
        insta::assert_snapshot!(format!("example_{stem}"), summary(&scenario));
    }
}

/// The papers' figures as scenarios: each can be run.
#[test]
fn every_experiment_is_a_scenario() {
    let folder = examples().join("../experiments");
    let mut files = 0;
    for paper in std::fs::read_dir(folder).unwrap() {
        for file in std::fs::read_dir(paper.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if name.ends_with(".toml")
                && !name.ends_with(".figure.toml")
                && !["nulls.toml", "causes.toml"].contains(&&*name)
            {
                let scenario = Scenario::read(&path).unwrap_or_else(|e| panic!("{e}"));
                assert!(scenario.name.is_some() && scenario.description.is_some(), "{}", path.display());
                assert!(!scenario.runs().unwrap_or_else(|e| panic!("{e}")).is_empty());
                files += 1;
            }
        }
    }
    assert!(files >= 8, "{files}");
}

/// Ports: paths by name, sizes in bdp by the flows that cross, one buffer for those without.
#[test]
fn ports_and_a_shared_buffer() {
    let text = r#"
        [[ports]]
        name = "left"
        rate = "100mbit"
        [[ports]]
        name = "right"
        rate = "50mbit"
        [[ports]]
        name = "far"
        rate = "40mbit"
        delay = "3ms"
        buffer = "2bdp"
        [shared]
        buffer = "1bdp"
        [[flows]]
        cca = "cubic"
        rtt = "20ms"
        ports = ["left", "far"]
        [[flows]]
        cca = "newreno"
        rtt = "40ms"
        ports = "right"
        [queue]
        disciplines = [{ name = "static", threshold = "1bdp" }]
        [run]
        duration = "10s"
        "#;
    let scenario = parse(text);
    let run = &scenario.runs().unwrap()[0];
    let names: Vec<_> = run.ports.iter().map(|p| (p.name.as_str(), p.shared, p.limit_bytes)).collect();
    // 40 Mbit/s x 20 ms is 100 kB.
    assert_eq!(names, [("left", true, 0), ("right", true, 0), ("far", false, 200_000)]);
    // 100 Mbit/s x 20 ms and 50 Mbit/s x 40 ms.
    assert_eq!(run.shared_bytes, 500_000);
    let threshold = |i: usize| run.ports[i].discipline.get("threshold");
    assert_eq!(
        [threshold(0), threshold(1), threshold(2)],
        [250_000, 250_000, 100_000].map(|b| Some(queuewright_aqm::Value::Int(b)))
    );
    assert_eq!((&run.flows[0].path[..], &run.flows[1].path[..]), (&[0, 2][..], &[1][..]));
    let again = parse(&scenario.to_toml());
    assert_eq!(again, scenario);
    assert_eq!(again.hash(), scenario.hash());
}

/// Ports with a discipline of their own have it in every run, with sizes by their own flows.
#[test]
fn ports_with_a_discipline_of_their_own() {
    let text = r#"
        [[ports]]
        name = "access"
        rate = "100mbit"
        discipline = { name = "static", label = "short", threshold = "0.5bdp" }
        [[ports]]
        name = "bottleneck"
        rate = "10mbit"
        [[ports]]
        name = "uplink"
        rate = "20mbit"
        discipline = "fq-codel"
        [[flows]]
        cca = "cubic"
        rtt = "40ms"
        ports = ["access", "bottleneck", "uplink"]
        [queue]
        disciplines = [{ name = "static", threshold = "1bdp" }, "codel"]
        [run]
        duration = "10s"
        "#;
    let scenario = parse(text);
    let runs = scenario.runs().unwrap();
    let labels = |i: usize| runs[i].ports.iter().map(|p| p.discipline.label.as_str()).collect::<Vec<_>>();
    assert_eq!(labels(0), ["short", "static", "fq-codel"]);
    assert_eq!(labels(1), ["short", "codel", "fq-codel"]);
    // What is compared, as where it runs first.
    assert_eq!(runs[0].discipline, runs[0].ports[1].discipline);
    let threshold = |port: usize| runs[0].ports[port].discipline.get("threshold");
    let bytes = |n| Some(queuewright_aqm::Value::Int(n));
    assert_eq!([threshold(0), threshold(1)], [bytes(250_000), bytes(50_000)]);
    let again = parse(&scenario.to_toml());
    assert_eq!(again, scenario);
    assert_eq!(again.hash(), scenario.hash());
    assert_ne!(parse(&text.replace("fq-codel", "fq")).hash(), scenario.hash());
}

#[test]
fn defaults() {
    let scenario = parse(
        r#"
        [link]
        rate = "10mbit"
        [[flows]]
        cca = "newreno"
        rtt = "40ms"
        [queue]
        disciplines = ["droptail"]
        [run]
        duration = "10s"
        "#,
    );
    let runs = scenario.runs().unwrap();
    assert_eq!(runs.len(), 1);
    let run = &runs[0];
    assert_eq!(
        (run.seed, run.warmup_ns, run.overhead_bytes, run.stack),
        (1, 1_666_000_000, 14, Stack::Linux)
    );
    assert_eq!((run.series_interval_ns, run.series_flows.as_slice()), (10_000_000, &[0][..]));
    // 2 bdp of 10 Mbit/s x 40 ms
    assert_eq!((run.ports[0].limit_bytes, run.ports[0].limit_packets), (100_000, 0));
    assert_eq!(run.ports[0].delay_ns, 0);
    let flow = &run.flows[0];
    assert!(matches!(flow.traffic, Traffic::Tcp { size_bytes: None, ecn: false, .. }));
    assert_eq!((flow.start_ns, flow.stop_ns, flow.access_bps, flow.jitter_ns), (0, None, None, 0));

    let ns3 = parse(
        r#"
        link = { rate = "10mbit", buffer = "34p" }
        flows = [{ poisson = "5mbit", packet = "1000b" }, { cbr = "64kbit", packet = "200b" }]
        queue = { disciplines = ["droptail"] }
        run = { duration = "10s", stack = "ns3" }
        "#,
    );
    let run = &ns3.runs().unwrap()[0];
    assert_eq!((run.stack, run.overhead_bytes), (Stack::Ns3, 2));
    // An entry has a stack of its own, or the run's; with all else it is written back.
    let mixed = parse(
        r#"
        link = { rate = "10mbit" }
        flows = [
            { cca = "cubic", rtt = "20ms", stack = "linux" },
            { cca = "cubic", rtt = "20ms", size = "14151b", initial_window = "all" },
        ]
        queue = { disciplines = ["droptail"] }
        run = { duration = "10s", stack = "quic" }
        "#,
    );
    let run = &mixed.runs().unwrap()[0];
    assert_eq!((run.stack, run.overhead_bytes), (Stack::Quic, 14));
    let of = |i: usize| match run.flows[i].traffic {
        Traffic::Tcp { stack, initial_window, .. } => (stack, initial_window),
        Traffic::Datagrams { .. } => panic!("not TCP"),
    };
    // 1,415 bytes fit in a packet.
    assert_eq!([of(0), of(1)], [(Stack::Linux, None), (Stack::Quic, Some(11))]);
    let written = mixed.to_toml();
    assert_eq!(written.matches("stack = ").count(), 2, "{written}");
    assert_eq!(parse(&written), mixed);
    let run = &ns3.runs().unwrap()[0];
    assert_eq!((run.ports[0].limit_bytes, run.ports[0].limit_packets), (0, 34));
    assert!(matches!(
        run.flows[0].traffic,
        Traffic::Datagrams { gaps: Gaps::Exponential, bps: 5_000_000, packet_bytes: 1000 }
    ));
    assert!(matches!(
        run.flows[1].traffic,
        Traffic::Datagrams { gaps: Gaps::Even, bps: 64_000, packet_bytes: 200 }
    ));
    assert_eq!(run.flows[0].base_rtt_ns, 0);
}

#[test]
fn the_product_counts_tcp_flows_and_the_first_rate() {
    let text = |link: &str, buffer: &str| {
        let text = format!(
            r#"
            link = {{ {link}, buffer = "{buffer}" }}
            flows = [{{ cca = "cubic", rtt = "10ms", count = 3 }}, {{ cca = "bbr", rtt = "50ms" }}, {{ cbr = "1mbit", rtt = "900ms" }}]
            queue = {{ disciplines = [{{ name = "static", threshold = "0.5bdp" }}, {{ name = "static", threshold = "10p" }}] }}
            run = {{ duration = "10s" }}
            "#
        );
        parse(&text).runs().unwrap()
    };
    // Mean base RTT of the four TCP flows: 20 ms; of 8 Mbit/s: 20000 bytes.
    for link in [r#"rate = "8mbit""#, r#"schedule = [["0s","0bit"],["1s","8mbit"],["2s","80mbit"]]"#] {
        let runs = text(link, "3bdp");
        assert_eq!(runs[0].ports[0].limit_bytes, 60_000);
        assert_eq!(runs[0].discipline.get("threshold").unwrap().to_string(), "10000");
        assert_eq!(runs[0].discipline.label, "static threshold=0.5bdp");
        // A packet of a threshold is a full one, as the link counts it.
        assert_eq!(runs[1].discipline.get("threshold").unwrap().to_string(), "15140");
        assert_eq!(runs[1].discipline.label, "static threshold=10p");
    }
    // TCP flows that arrive, of 20 ms to 60 ms, count before what lasts and is not TCP; those that last count before them.
    let arriving = |others: &str| {
        let text = format!(
            r#"
            link = {{ rate = "8mbit", buffer = "1bdp" }}
            flows = [{{ cca = "cubic", rtt = "20ms..60ms", size = "1kb", arrivals = "10/s" }}{others}]
            queue = {{ disciplines = ["droptail"] }}
            run = {{ duration = "10s" }}
            "#
        );
        parse(&text).runs().unwrap()[0].ports[0].limit_bytes
    };
    assert_eq!(arriving(""), 40_000);
    assert_eq!(arriving(r#", { cbr = "1mbit", rtt = "4ms" }"#), 40_000);
    assert_eq!(arriving(r#", { voip = "g711", arrivals = "1/s", duration = "9s", rtt = "4ms" }"#), 40_000);
    assert_eq!(arriving(r#", { cbr = "1mbit", rtt = "4ms" }, { cca = "bbr", rtt = "10ms" }"#), 10_000);
    assert_eq!(text(r#"rate = "8mbit""#, "45kb")[0].ports[0].limit_bytes, 45 * 1024);
    assert_eq!(text(r#"rate = "8mbit""#, "1000p")[0].ports[0].limit_packets, 1000);
}

#[test]
fn groups_have_names_of_their_own() {
    let names = |flows: &str| -> Vec<String> {
        let text = format!(
            r#"
            flows = [{flows}]
            link = {{ rate = "8mbit" }}
            queue = {{ disciplines = ["droptail"] }}
            run = {{ duration = "10s" }}
            "#
        );
        parse(&text).runs().unwrap()[0].groups.iter().map(|g| g.name.clone()).collect()
    };
    let cubic = r#"{ cca = "cubic", rtt = "10ms" }"#;
    assert_eq!(names(&format!("{cubic}, {cubic}, {cubic}")), ["cubic", "cubic-2", "cubic-3"]);
    let web = r#"{ name = "web", cca = { cubic = 1, bbr = 1 }, rtt = "10ms" }"#;
    assert_eq!(names(&format!("{web}, {cubic}")), ["web bbr", "web cubic", "cubic"]);
    // A name that was given is kept for the entry it was given to.
    let named = r#"{ name = "cubic", cca = "bbr", rtt = "10ms" }"#;
    assert_eq!(names(&format!("{cubic}, {named}")), ["cubic-2", "cubic"]);
}

#[test]
fn draws_are_uniform_and_weights_hold() {
    let scenario = parse(
        r#"
        link = { rate = "1gbit" }
        flows = [{ count = 20000, cca = { cubic = 3, bbr = 1 }, rtt = "10ms..30ms" }]
        queue = { disciplines = ["droptail"] }
        run = { duration = "10s" }
        "#,
    );
    let flows = &scenario.runs().unwrap()[0].flows;
    let bbr = flows.iter().filter(|f| f.group == 0).count() as f64 / flows.len() as f64;
    // Standard deviations of the means: 0.003 and 0.04 ms.
    assert!((bbr - 0.25).abs() < 0.015, "{bbr}");
    let ms: Vec<f64> = flows.iter().map(|f| f.base_rtt_ns as f64 / 1e6).collect();
    let mean = ms.iter().sum::<f64>() / ms.len() as f64;
    assert!((mean - 20.0).abs() < 0.2, "{mean}");
    let below = ms.iter().filter(|x| **x < 15.0).count() as f64 / ms.len() as f64;
    assert!((below - 0.25).abs() < 0.015, "{below}");
}

#[test]
fn one_key_changes_no_other_draw() {
    let runs = |rtt: &str| {
        let text = format!(
            r#"
            link = {{ rate = "1gbit" }}
            flows = [{{ count = "5..50", cca = {{ cubic = 1, bbr = 1 }}, rtt = "{rtt}", start = "0s..1s" }}]
            queue = {{ disciplines = ["droptail"] }}
            run = {{ duration = "10s", seeds = "1..5" }}
            "#
        );
        parse(&text).runs().unwrap()
    };
    for (a, b) in runs("10ms..30ms").iter().zip(&runs("50ms")) {
        let but_rtt = |r: &queuewright_scenario::RunSpec| -> Vec<_> {
            r.flows.iter().map(|f| (f.group, f.start_ns)).collect()
        };
        assert_eq!(but_rtt(a), but_rtt(b));
    }
}

#[test]
fn flags_take_the_place_of_keys() {
    let text = |s: &str| Some(s.to_string());
    let flags = Flags {
        rate: text("20mbit"),
        rtt: text("33ms"),
        aqm: text("codel:target=10ms:ecn=true,static:threshold=1bdp,titrate:rules=artifact:window=200ms"),
        seeds: text("7,9..10"),
        duration: text("20s"),
        ..Flags::default()
    };
    let scenario = Scenario::read_with(&examples().join("cellular.toml"), &flags).unwrap();
    assert_eq!(scenario.run.seeds, [7, 9, 10]);
    let runs = scenario.runs().unwrap();
    assert_eq!(runs.len(), 9);
    assert!(matches!(runs[0].ports[0].rate, Rate::Constant(20_000_000)));
    assert!(runs[0].flows.iter().all(|f| f.base_rtt_ns == 33_000_000));
    let value = |i: usize, name: &str| runs[i].discipline.get(name).unwrap().to_string();
    assert_eq!((value(0, "target"), value(0, "ecn")), ("10000000".into(), "true".into()));
    assert_eq!(value(3, "threshold"), (20_000_000u64 * 33 / 8000).to_string());
    assert_eq!((value(6, "rules"), value(6, "window")), ("artifact".into(), "200000000".into()));

    let flags = Flags {
        flows: text("5xcubic:ecn:rtt=5ms,newreno:size=1mb,2xpoisson:1mbit:packet=200b"),
        rtt: text("50ms"),
        ..flags
    };
    let runs = Scenario::read_with(&examples().join("cellular.toml"), &flags).unwrap().runs().unwrap();
    let flows = &runs[0].flows;
    assert_eq!(flows.len(), 8);
    assert!(matches!(flows[0].traffic, Traffic::Tcp { ecn: true, .. }));
    assert_eq!((flows[0].base_rtt_ns, flows[5].base_rtt_ns), (5_000_000, 50_000_000));
    assert!(matches!(flows[5].traffic, Traffic::Tcp { size_bytes: Some(1_048_576), .. }));
    assert!(matches!(
        flows[7].traffic,
        Traffic::Datagrams { gaps: Gaps::Exponential, bps: 1_000_000, packet_bytes: 200 }
    ));
}

/// What a flow sends, for one flow of each entry.
fn traffic(toml: &str) -> Vec<Traffic> {
    let text = format!(
        "{toml}[link]\nrate = \"100mbit\"\n[queue]\ndisciplines = [\"codel\"]\n[run]\nduration = \"5s\"\nseeds = [3]\n"
    );
    let scenario = Scenario::parse(&text, "t.toml", Path::new("")).unwrap();
    let again = Scenario::parse(&scenario.to_toml(), "t.toml", Path::new("")).unwrap();
    assert_eq!(scenario, again);
    scenario.runs().unwrap()[0].flows.iter().map(|f| f.traffic.clone()).collect()
}

#[test]
fn a_rate_is_drawn_for_each_flow_that_needs_one() {
    let toml = r#"flows = [{ cca = { brutal = 1, cubic = 1 }, count = 200, rtt = "10ms", rate = "10mbit..20mbit" }]
        "#;
    let mut rates = std::collections::BTreeSet::new();
    for t in traffic(toml) {
        let Traffic::Tcp { cca, rate_bps, .. } = t else { panic!("not TCP") };
        assert_eq!(cca.needs_rate(), (10_000_000..=20_000_000).contains(&rate_bps), "{t:?}");
        if cca.needs_rate() {
            rates.insert(rate_bps);
        } else {
            assert_eq!(rate_bps, 0);
        }
    }
    assert!(rates.len() > 60, "{}", rates.len());

    // On the command line as for cbr; the other draws are as without.
    let flags = |flows: &str| {
        let flags = Flags {
            rate: Some("100mbit".into()),
            rtt: Some("20ms..80ms".into()),
            flows: Some(flows.into()),
            ..Flags::default()
        };
        Scenario::from_flags(&flags).unwrap().runs().unwrap()[0].flows.clone()
    };
    let brutal = flags("2xbrutal:20mbit,1xbrutal:rate=3mbit..4mbit:ecn");
    let cubic = flags("2xcubic,1xcubic");
    for (i, (b, c)) in brutal.iter().zip(&cubic).enumerate() {
        let Traffic::Tcp { rate_bps, ecn, .. } = b.traffic else { panic!("not TCP") };
        assert!(if i < 2 { rate_bps == 20_000_000 } else { (3_000_000..=4_000_000).contains(&rate_bps) });
        assert_eq!((ecn, b.base_rtt_ns), (i == 2, c.base_rtt_ns));
    }
}

/// The Titrate paper's nine controls in its artifact's ratios; grouped as with a table of weights.
#[test]
fn mix_stands_for_a_table_of_weights() {
    let run = |cca: &str| {
        let text = format!(
            "flows = [{{ cca = {cca}, count = 20000, rtt = \"10ms\" }}]\n[link]\nrate = \"1gbit\"\n\
             [queue]\ndisciplines = [\"codel\"]\n[run]\nduration = \"5s\"\n"
        );
        Scenario::parse(&text, "t.toml", Path::new("")).unwrap()
    };
    let weights = "{ cubic = 45, bbr = 28, yeah = 8, illinois = 8, vegas = 4, htcp = 4, bic = 1, newreno = 1, \
                   scalable = 1 }";
    let mix = run("\"mix\"");
    assert_eq!(mix, run(weights));
    let run = &mix.runs().unwrap()[0];
    let groups: Vec<&str> = run.groups.iter().map(|g| g.name.as_str()).collect();
    assert_eq!(groups, ["bbr", "bic", "cubic", "htcp", "illinois", "newreno", "scalable", "vegas", "yeah"]);
    for (group, percent) in groups.iter().zip([28, 1, 45, 4, 8, 1, 1, 4, 8]) {
        let n = run.flows.iter().filter(|f| run.groups[f.group as usize].name == *group).count();
        let want = 200.0 * f64::from(percent);
        assert!((n as f64 - want).abs() < 5.0 * want.sqrt(), "{group}: {n} of {want}");
    }

    let flags = Flags {
        rate: Some("100mbit".into()),
        rtt: Some("20ms..80ms".into()),
        flows: Some("100xmix:start=0s..1s,mix,2xcubic".into()),
        ..Flags::default()
    };
    let runs = Scenario::from_flags(&flags).unwrap().runs().unwrap();
    assert_eq!((runs[0].flows.len(), runs[0].groups.len()), (103, 19));
}

#[test]
fn dctcp_negotiates_ecn_in_any_case() {
    for ecn in ["", ", ecn = true", ", ecn = false"] {
        let toml =
            format!("flows = [{{ cca = {{ dctcp = 1, cubic = 1 }}, count = 20, rtt = \"10ms\"{ecn} }}]\n");
        for t in traffic(&toml) {
            let Traffic::Tcp { cca, ecn: negotiated, .. } = t else { panic!("not TCP") };
            assert_eq!(negotiated, cca.needs_ecn() || ecn.ends_with("true"), "{t:?}");
        }
    }
}

#[test]
fn a_saved_scenario_stands_alone() {
    let folder = std::env::temp_dir().join(format!("queuewright-scenario-{}", std::process::id()));
    let (from, to) = (folder.join("from"), folder.join("to"));
    std::fs::create_dir_all(&from).unwrap();
    std::fs::create_dir_all(&to).unwrap();
    // Half a second of 12 Mbit/s, then half a second of nothing.
    let trace: String = (0..500).map(|ms| format!("{ms}\r\n")).chain(["1000\n".into()]).collect();
    std::fs::write(from.join("link.down"), trace).unwrap();
    std::fs::write(
        from.join("s.toml"),
        r#"
        link = { trace = "link.down", buffer = "1bdp" }
        flows = [{ cca = "cubic", rtt = "80ms" }]
        queue = { disciplines = ["codel"] }
        run = { duration = "10s" }
        "#,
    )
    .unwrap();
    let scenario = Scenario::read(&from.join("s.toml")).unwrap();
    let run = &scenario.runs().unwrap()[0];
    let Rate::Trace(t) = &run.ports[0].rate else { panic!("no trace") };
    assert_eq!((t.opportunities_ns.len(), t.period_ns), (501, 1_000_000_000));
    // The trace's mean rate: 501 x 12000 bits a second.
    assert_eq!(run.ports[0].limit_bytes, 501 * 12_000 * 80 / 8000);

    scenario.save(&to).unwrap();
    assert!(scenario.save(&to).is_err(), "nothing is overwritten");
    let again = Scenario::read(&to.join("scenario.toml")).unwrap();
    assert_eq!(scenario.hash(), again.hash());
    assert_eq!(format!("{:?}", scenario.runs().unwrap()), format!("{:?}", again.runs().unwrap()));
    let json = scenario.to_json().to_string();
    assert!(json.contains(r#""trace":"link.down""#) && !json.contains(folder.to_str().unwrap()), "{json}");

    // On the command line a path starts from the current folder.
    let flags = Flags { trace: Some(from.join("link.down").display().to_string()), ..Flags::default() };
    let by_flag = Scenario::read_with(&examples().join("home.toml"), &flags).unwrap();
    assert!(matches!(by_flag.runs().unwrap()[0].ports[0].rate, Rate::Trace(_)));

    for (name, content, message) in [
        (
            "bad.toml",
            &b"run = 3\n"[..],
            "bad.toml:1: run = 3: not a table; write keys and values: duration, warmup, seeds, stack, sample, series_flows",
        ),
        ("bytes.toml", &b"name = \"a\"\nx = \"\xff\"\n"[..], "bytes.toml:2: not UTF-8 text"),
    ] {
        std::fs::write(from.join(name), content).unwrap();
        let error = Scenario::read(&from.join(name)).unwrap_err().to_string();
        assert!(error.ends_with(message), "{error}");
    }
    let error = Scenario::read(&from.join("none.toml")).unwrap_err().to_string();
    assert!(error.ends_with("none.toml: no such file; beside it: bad.toml, bytes.toml, s.toml"), "{error}");
    let error = Scenario::read(&from).unwrap_err().to_string();
    assert!(error.ends_with("from: a directory, not a file"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A flow for each line, in the groups of their congestion controls; what the file does not say is the entry's.
#[test]
fn a_flow_for_each_line_of_a_file() {
    let folder = std::env::temp_dir().join(format!("queuewright-lines-{}", std::process::id()));
    let to = folder.join("to");
    std::fs::create_dir_all(&to).unwrap();
    std::fs::write(
        folder.join("lines.csv"),
        "cca, rtt, start, size, ecn\r\nnewreno, 34ms, 1.5s, 10kb,\r\nbbr, 12ms, 1s, , true\r\ncubic,20ms..30ms,2s,,\r\nbbr,40ms,,,\r\n",
    )
    .unwrap();
    let text = r#"
        link = { rate = "20mbit", buffer = "1bdp" }
        flows = [{ cca = "vegas", rtt = "5ms" }, { file = "lines.csv", access = "1gbit", stop = "9s" }]
        queue = { disciplines = ["codel"] }
        run = { duration = "10s", seeds = [1, 2] }
        "#;
    let scenario = Scenario::parse(text, "s.toml", &folder).unwrap();
    let runs = scenario.runs().unwrap();
    let names: Vec<&str> = runs[0].groups.iter().map(|g| g.name.as_str()).collect();
    assert_eq!(names, ["vegas", "bbr", "cubic", "newreno"]);
    let ms = 1_000_000;
    for run in &runs {
        let seen: Vec<(u32, u64, u64)> =
            run.flows[1..].iter().map(|f| (f.group, f.base_rtt_ns / ms, f.start_ns / ms)).collect();
        let drawn = seen[2].1;
        assert_eq!(seen, [(1, 12, 1000), (1, 40, 0), (2, drawn, 2000), (3, 34, 1500)]);
        assert!((20..=30).contains(&drawn));
        assert!(run.flows[1..].iter().all(|f| f.access_bps == Some(1_000_000_000)));
        assert!(run.flows[1..].iter().all(|f| f.stop_ns == Some(9_000 * ms)));
        let Traffic::Tcp { size_bytes, ecn, .. } = run.flows[4].traffic else { panic!("not TCP") };
        assert_eq!((size_bytes, ecn), (Some(10 << 10), false));
        let Traffic::Tcp { size_bytes, ecn, .. } = run.flows[1].traffic else { panic!("not TCP") };
        assert_eq!((size_bytes, ecn), (None, true));
    }
    // The mean of the five, 20..30ms as drawn for the seed.
    let sum_ns: u64 = runs[0].flows.iter().map(|f| f.base_rtt_ns).sum();
    assert_eq!(runs[0].ports[0].limit_bytes, 20_000_000 * sum_ns / 5 / 8_000_000_000);

    scenario.save(&to).unwrap();
    let again = Scenario::read(&to.join("scenario.toml")).unwrap();
    assert_eq!(scenario.hash(), again.hash());
    assert_eq!(format!("{runs:?}"), format!("{:?}", again.runs().unwrap()));
    std::fs::write(to.join("flows.csv"), "rtt,cca\n1ms,bbr\n").unwrap();
    assert_ne!(scenario.hash(), Scenario::read(&to.join("scenario.toml")).unwrap().hash());
    std::fs::remove_dir_all(&folder).unwrap();
}

/// As recorders of cellular links write them: thousands of lines, many of the same millisecond, none in an outage.
#[test]
fn traces_of_cellular_links_are_read() {
    let path = examples().join("../crates/sim/tests/data/cellular.trace");
    let lines = std::fs::read_to_string(&path).unwrap().lines().count();
    let flags = Flags { trace: Some(path.display().to_string()), ..Flags::default() };
    let scenario =
        Scenario::read_with(&examples().join("cellular.toml"), &flags).unwrap_or_else(|e| panic!("{e}"));
    let run = &scenario.runs().unwrap()[0];
    let Rate::Trace(t) = &run.ports[0].rate else { panic!("no trace") };
    assert!(t.opportunities_ns.is_sorted());
    assert_eq!(t.opportunities_ns.len(), lines);
    assert!(lines > 5_000, "{lines}");
}
