//! Scenarios that programs make and change.

use queuewright_scenario::{Draft, Flags, LinkRate, Scenario};

const HOME: &str = r#"{
    "link": {"rate": "20mbit", "buffer": "2bdp"},
    "flows": [{"count": 2, "cca": "cubic", "rtt": "20ms"}, {"cca": "bbr", "rtt": "30ms"}],
    "queue": {"disciplines": ["codel", {"name": "static", "threshold": "1bdp"}]},
    "run": {"duration": "30s", "seeds": [1, 2]}
}"#;

fn home() -> Draft {
    Draft::from_json(HOME).expect("a draft")
}

/// What is wrong with a draft, in words.
fn error(draft: Result<Draft, queuewright_scenario::Error>) -> String {
    draft.and_then(|d| d.scenario()).expect_err("wrong").to_string()
}

#[test]
fn json_says_what_the_file_says() {
    let toml = r#"
        link = { rate = "20mbit", buffer = "2bdp" }
        [[flows]]
        count = 2
        cca = "cubic"
        rtt = "20ms"
        [[flows]]
        cca = "bbr"
        rtt = "30ms"
        [queue]
        disciplines = ["codel", { name = "static", threshold = "1bdp" }]
        [run]
        duration = "30s"
        seeds = [1, 2]
    "#;
    let file = Scenario::parse(toml, "home.toml", "".as_ref()).expect("a scenario");
    assert_eq!(home().scenario().expect("a scenario"), file);
}

#[test]
fn what_is_left_out_is_as_on_the_command_line() {
    let short =
        r#"{"link": {"rate": "20mbit", "buffer": "2bdp"}, "flows": [{"cca": "cubic", "rtt": "20ms"}]}"#;
    let flags = Flags {
        rate: Some("20mbit".into()),
        rtt: Some("20ms".into()),
        flows: Some("1xcubic".into()),
        ..Flags::default()
    };
    let of_flags = Scenario::from_flags(&flags).expect("a scenario");
    assert_eq!(Draft::from_json(short).and_then(|d| d.scenario()), Ok(of_flags));
}

#[test]
fn values_go_where_their_paths_lead() {
    let put = |path: &str, json: &str| home().put(path, json).and_then(|d| d.scenario()).expect(path);
    assert_eq!(put("flows[1].rtt", "\"7ms\"").flows[1].rtt_ns.min, 7_000_000);
    assert!(put("flows.rtt", "\"7ms\"").flows.iter().all(|f| f.rtt_ns.min == 7_000_000));
    assert_eq!(put("run.stack", "\"ns3\"").run.stack, queuewright_scenario::spec::Stack::Ns3);
    // A link has one of them.
    put("link.schedule", r#"[["0s", "10mbit"], ["5s", "20mbit"]]"#);
    // With the schedule goes its period, but not with another schedule.
    let steps = r#"[["0s", "10mbit"], ["5s", "20mbit"]]"#;
    let again = |path: &str, json: &str| {
        let again = home().put("link.schedule", steps).and_then(|d| d.put("link.period", "\"8s\""));
        again.and_then(|d| d.put(path, json)).and_then(|d| d.scenario()).expect(path).ports[0].rate.clone()
    };
    let LinkRate::Schedule(schedule) = again("link.schedule", r#"[["0s", "1mbit"]]"#) else { panic!("none") };
    assert_eq!((schedule.steps.len(), schedule.period_ns), (1, Some(8_000_000_000)));
    assert_eq!(again("link.rate", "\"5mbit\""), LinkRate::Constant(5_000_000));
    let with = home().with_disciplines(r#"["pie:target=10ms", {"name": "codel"}]"#);
    let with = with.and_then(|d| d.scenario()).expect("a scenario");
    assert_eq!(with.disciplines.iter().map(|d| d.info.name).collect::<Vec<_>>(), ["pie", "codel"]);
}

#[test]
fn mistakes_are_named() {
    let wrong = [
        (error(Draft::from_json("[1]")), "[1]: not a scenario; write its tables: link, flows, queue, run"),
        (error(home().put("flows[2].rtt", "1")), "flows[2].rtt: there are 2 of flows, counted from 0"),
        (
            error(home().put("flows[x].rtt", "1")),
            "flows[x].rtt: not a path; write flows[0].rtt, or link.rate",
        ),
        (error(home().put("link.rate.x", "1")), "link.rate.x: not a path; write flows[0].rtt, or link.rate"),
        (error(home().put("link[0].rate", "1")), "link[0].rate: link is no list"),
        (
            error(home().put("flows[0]", "1")),
            "flows[0]: not a path to a value; write flows[0].rtt, or link.rate",
        ),
        (error(home().put("", "1")), "not a path; write flows[0].rtt, or link.rate"),
    ];
    for (said, expected) in wrong {
        assert!(said.ends_with(expected), "{said}");
    }
    let said = error(home().put("flows[0].rtt", "\"20 m\""));
    assert!(said.starts_with("flows[0].rtt = \"20 m\": not a time"), "{said}");
    let said = error(home().with_disciplines(r#"["coddel"]"#));
    assert!(said.starts_with("--aqm[0] = \"coddel\": not a discipline; did you mean \"codel\"?"), "{said}");
}

#[test]
fn a_packed_draft_is_the_same_elsewhere() {
    let folder = std::env::temp_dir().join(format!("queuewright-draft-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("trace"), "1\n2\n7\n").expect("a trace");
    let toml = r#"
        link = { trace = "trace", buffer = "2bdp" }
        [[flows]]
        cca = "cubic"
        rtt = "20ms"
        [queue]
        disciplines = ["codel", { name = "queuepilot", weights = "acc" }]
        [run]
        duration = "30s"
    "#;
    let draft = Draft::parse(toml, "home.toml", &folder).expect("a draft");
    let scenario = draft.scenario().expect("a scenario");
    let files = scenario.files();
    assert_eq!(files.len(), 1, "what the program brings stays");
    let content = |f: &queuewright_scenario::DataFile| (f.path.clone(), f.as_read().expect("read").into());
    let files: Vec<_> = files.iter().map(content).collect();
    let packed = draft.pack().expect("packed");
    std::fs::write(folder.join("trace"), "1\n").expect("another trace");
    let changed = scenario.files()[0].as_read().expect_err("changed").to_string();
    assert_eq!(changed, "trace: has changed since the scenario read it");
    std::fs::remove_dir_all(&folder).expect("removed");

    let elsewhere = Draft::unpack(&packed, files).expect("a draft");
    let there = elsewhere.scenario().expect("a scenario");
    assert_eq!(there, scenario);
    assert_eq!(there.to_json(), scenario.to_json());
    assert_eq!(there.runs().expect("runs").len(), scenario.runs().expect("runs").len());
    assert_eq!(
        error(elsewhere.clone().put("flows.rtt", "\"20m\"")),
        error(home().put("flows.rtt", "\"20m\""))
    );
    // Once more, and to a folder of its own.
    assert_eq!(elsewhere.pack(), draft.pack());
    let alone = std::env::temp_dir().join(format!("queuewright-alone-{}", std::process::id()));
    std::fs::create_dir_all(&alone).expect("a folder");
    there.save(&alone).expect("saved");
    assert_eq!(std::fs::read(alone.join("trace.txt")).expect("a copy"), b"1\n2\n7\n");
    std::fs::remove_dir_all(&alone).expect("removed");

    let junk = Draft::unpack("{}", []).expect_err("junk").to_string();
    assert!(junk.starts_with("not a packed scenario: "), "{junk}");
}

#[test]
fn a_rate_that_a_program_gives_as_a_number_is_bits_a_second() {
    let rate = |number: &str| {
        let draft = home().put("link.rate", number).and_then(|draft| draft.scenario());
        draft.map(|scenario| scenario.to_json()["link"]["rate"].clone()).map_err(|e| e.to_string())
    };
    for (number, shown) in [("20000000", "20mbit"), ("2e7", "20mbit"), ("1999999.7", "2mbit")] {
        assert_eq!(rate(number), Ok(shown.into()));
    }
    let few = "link.rate = 20: out of range; allowed: 1kbit to 1000gbit; a number is bits a second: write 20e6, or \"20mbit\"";
    assert_eq!(rate("20"), Err(few.into()));
    for none in ["-20", "1e300"] {
        assert!(rate(none).is_err(), "{none}");
    }
    // A file's needs its unit.
    let text = home().scenario().expect("a scenario").to_toml().replace("\"20mbit\"", "20000000");
    let said = error(Draft::parse(&text, "", std::path::Path::new("")));
    assert!(said.contains("a rate needs a unit"), "{said}");
}

#[test]
fn what_results_have_of_a_scenario_is_read() {
    let draft = home().with_disciplines(r#"[{"name": "queuepilot", "weights": "acc"}, "codel"]"#);
    let scenario = draft.and_then(|draft| draft.scenario()).expect("a scenario");
    let json = scenario.to_json();
    assert!(json.to_string().contains("weights_sha256") && json.get("hash").is_some(), "{json}");
    let again = Draft::from_json(&json.to_string()).and_then(|draft| draft.scenario());
    assert_eq!(again.expect("a scenario").to_json(), json);
    // A hash of nothing is a key like others.
    let wrong = home().put("link.trace_sha256", "\"0\"");
    assert!(error(wrong).contains("unknown key"));
}
