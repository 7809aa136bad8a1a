//! What a page gets is what the program has.

use queuewright_results::{Detail, Results};
use queuewright_scenario::{Scenario, header};
use queuewright_web::{Reply, Session};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::AtomicBool;

const SMALL: &str = r#"
[link]
rate = "10mbit"
buffer = "60p"

[[flows]]
count = 2
cca = "cubic"
rtt = "20ms"

[[flows]]
name = "scalable"
cca = "prague"
rtt = "20ms"

[queue]
disciplines = ["droptail", { name = "codel", ecn = true, ce_threshold = "1ms" }, "fq-codel", "dualpi2"]

[run]
duration = "3s"
warmup = "1s"
seeds = [1, 7]
"#;

fn json(session: &mut Session, request: Value) -> Value {
    match session.ask(&request.to_string()) {
        Ok(Reply::Json(value)) => value,
        other => panic!("{request}: {other:?}"),
    }
}

fn bytes(session: &mut Session, request: Value) -> Vec<u8> {
    match session.ask(&request.to_string()) {
        Ok(Reply::Bytes(bytes)) => bytes,
        other => panic!("{request}: {other:?}"),
    }
}

fn load(session: &mut Session, text: &str) -> Value {
    json(session, json!({ "do": "load", "text": text, "name": "small.toml" }))
}

/// The results of all runs, as `--json` has them, but for how long they took.
fn program(text: &str) -> String {
    let scenario = Scenario::parse(text, "small.toml", Path::new("")).expect("it is right");
    let run = |spec| {
        let run = queuewright_sim::run(&spec, &AtomicBool::new(false), &|_| ()).expect("it ends");
        queuewright_results::Run { wall_s: 0.0, packets_per_s: 0.0, detail: Detail::default(), ..run }
    };
    let runs = scenario.runs().expect("it has runs").into_iter().map(run).collect();
    Results { runs, ..header(&scenario) }.to_json()
}

#[test]
fn results_are_the_programs_however_a_run_is_cut_and_watched() {
    let mut session = Session::default();
    let told = load(&mut session, SMALL);
    let runs = told["runs"].as_array().expect("a list").len();
    assert_eq!(runs, 8);
    for run in 0..runs {
        json(&mut session, json!({ "do": "open", "player": 0, "run": run, "sums": run % 2 == 0 }));
        if run == 3 {
            json(&mut session, json!({ "do": "watch", "player": 0, "port": 0 }));
        }
        let step_ns = 1 + 37_000_003 * run as u64;
        let mut at = 0;
        while at < 3_000_000_000 && run != 1 {
            at += step_ns;
            json(&mut session, json!({ "do": "step", "player": 0, "to_ns": at.max(900_000_000) }));
            bytes(&mut session, json!({ "do": "packets", "player": 0 }));
            if run == 0 {
                break;
            }
        }
        json(&mut session, json!({ "do": "finish", "player": 0 }));
    }
    let results = String::from_utf8(bytes(&mut session, json!({ "do": "results" }))).expect("text");
    assert_eq!(results, program(SMALL));
}

/// Rows of packets add up to what is counted; nobody leaves before he came, or without having come.
#[test]
fn every_packet_is_told_of_once_it_comes_and_once_it_goes() {
    let mut session = Session::default();
    load(&mut session, SMALL);
    for run in 0..8 {
        json(&mut session, json!({ "do": "open", "player": 3, "run": run }));
        json(&mut session, json!({ "do": "watch", "player": 3, "port": 0 }));
        let mut all: Vec<Option<(f64, f64, u8, u8)>> = Vec::new();
        for step in 1..=30 {
            json(&mut session, json!({ "do": "step", "player": 3, "to_ns": step * 100_000_000u64 }));
            let rows = bytes(&mut session, json!({ "do": "packets", "player": 3 }));
            assert_eq!(rows.len() % 40, 0);
            for row in rows.chunks(40) {
                let real = |at: usize| f64::from_le_bytes(row[at..at + 8].try_into().expect("8 bytes"));
                let number = u32::from_le_bytes(row[16..20].try_into().expect("4 bytes")) as usize;
                if all.len() <= number {
                    all.resize(number + 1, None);
                }
                let (came, left) = (real(0), real(8));
                assert!(came <= left);
                if let Some((known, before, ..)) = all[number] {
                    assert!(known == came && before.is_infinite(), "{number}: news of what has gone");
                }
                all[number] = Some((came, left, row[30], row[31]));
            }
        }
        let finished = json(&mut session, json!({ "do": "finish", "player": 3 }));
        assert!(finished["measures"].as_array().is_some_and(|all| all.len() > 5), "{finished}");
        let all: Vec<(f64, f64, u8, u8)> =
            all.into_iter().map(|one| one.expect("no number is left out")).collect();
        assert!(all.len() > 1000 && all.is_sorted_by(|a, b| a.0 <= b.0));
        // After the warm-up, as results have it.
        let text = String::from_utf8(bytes(&mut session, json!({ "do": "results" }))).expect("text");
        let results: Value = serde_json::from_str(&text).expect("JSON");
        let port = &results["runs"].as_array().and_then(|runs| runs.last()).expect("a run")["ports"][0];
        let within = |at: f64| (1e9..=3e9).contains(&at);
        let sent = all.iter().filter(|(_, left, what, _)| what & 15 == 1 && within(*left)).count();
        assert_eq!(port["packets"], sent);
        let sum =
            |of: &Value| of.as_object().map_or(0, |o| o.values().filter_map(Value::as_u64).sum::<u64>());
        let dropped = all.iter().filter(|(_, left, what, _)| what & 15 > 1 && within(*left)).count();
        assert_eq!(sum(&port["drops"]), dropped as u64, "{port}");
        // One that is marked as it comes waits a little until it is counted here.
        let marked = all.iter().filter(|(_, left, what, _)| what & 16 != 0 && within(*left)).count() as i64;
        assert!((sum(&port["marks"]) as i64 - marked).abs() <= 30, "{port}: {marked}");
        session = Session::default();
        load(&mut session, SMALL);
    }
}

#[test]
fn a_change_holds_from_its_moment_on_where_a_scenario_can_say_so() {
    let mut session = Session::default();
    load(&mut session, SMALL);
    let change = |session: &mut Session, path: &str, value: Value, at: u64| {
        json(session, json!({ "do": "change", "path": path, "value": value, "at_ns": at }))
    };
    let toml = |told: &Value| told["toml"].as_str().expect("a text").to_string();
    let rate = change(&mut session, "link.rate", json!("5mbit"), 2_000_000_000);
    assert!(toml(&rate).contains(r#"schedule = [["0s", "10mbit"], ["2s", "5mbit"]]"#), "{}", toml(&rate));
    assert_eq!(rate["from_ns"], 2_000_000_000u64);
    assert_eq!(
        rate["ports"][0]["rates"],
        json!([[0, 10_000_000, "10mbit"], [2_000_000_000u64, 5_000_000, "5mbit"]])
    );
    // The slider's place is that of the moment.
    let at = |told: &Value, path: &str, i: usize| {
        let knob =
            told["knobs"].as_array().and_then(|all| all.iter().find(|k| k["path"] == path)).expect("a knob");
        let step = &knob["over_time"][i];
        (step[0].clone(), knob["values"][step[1].as_u64().unwrap_or(999) as usize].clone())
    };
    assert_eq!(at(&rate, "link.rate", 0), (json!(0), json!("10mbit")));
    assert_eq!(at(&rate, "link.rate", 1), (json!(2_000_000_000u64), json!("5mbit")));
    // A schedule's later steps stay, and at the run's ends it is the step there that is another.
    for (value, when, from, steps) in [
        (
            "7mbit",
            1_000_000_000u64,
            1_000_000_000u64,
            r#"[["0s", "10mbit"], ["1s", "7mbit"], ["2s", "5mbit"]]"#,
        ),
        ("3mbit", 1_000_000_000, 1_000_000_000, r#"[["0s", "10mbit"], ["1s", "3mbit"], ["2s", "5mbit"]]"#),
        ("20mbit", 0, 0, r#"[["0s", "20mbit"], ["1s", "3mbit"], ["2s", "5mbit"]]"#),
        ("2mbit", 3_000_000_000, 2_000_000_000, r#"[["0s", "20mbit"], ["1s", "3mbit"], ["2s", "2mbit"]]"#),
    ] {
        let told = change(&mut session, "link.rate", json!(value), when);
        assert!(toml(&told).contains(steps), "{}", toml(&told));
        assert_eq!(told["from_ns"], from);
    }
    change(&mut session, "queue.disciplines[0]", json!("red"), 0);
    let path = "queue.disciplines[0].probability";
    let first = change(&mut session, path, json!(0.05), 1_500_000_000);
    assert!(toml(&first).contains(r#"set = [{ at = "1.5s", probability = 0.05 }]"#), "{}", toml(&first));
    assert_eq!(first["from_ns"], 1_500_000_000u64);
    assert_eq!(at(&first, path, 1), (json!(1_500_000_000u64), json!(0.05)));
    let words = &first["runs"][0]["words"];
    assert_eq!((&words[0][0], &words[1][0]), (&json!(0), &json!(1_500_000_000u64)));
    let has = |i: usize| words[i][1].as_str().is_some_and(|words| words.contains("probability=0.05"));
    assert_eq!((has(0), has(1)), (false, true), "{words}");
    // What was to be set later is not.
    let again = change(&mut session, path, json!(0.1), 1_200_000_000);
    assert!(toml(&again).contains(r#"set = [{ at = "1.2s", probability = 0.1 }]"#), "{}", toml(&again));
    // CoDel takes its target at its start.
    let target = change(&mut session, "queue.disciplines[1].target", json!("10ms"), 1_500_000_000);
    assert!(toml(&target).contains(r#"target = "10ms""#) && target["from_ns"] == 0, "{}", toml(&target));
    let count = change(&mut session, "flows[0].count", json!(5), 1_000_000_000);
    assert_eq!((count["from_ns"].as_u64(), count["flows"].as_array().map(Vec::len)), (Some(0), Some(6)));
    // A discipline in another's place, though there is one of its name.
    let other = change(&mut session, "queue.disciplines[0]", json!("fq-codel"), 0);
    assert_eq!(other["disciplines"], json!(["fq-codel", "codel", "fq-codel 2", "dualpi2"]));
    // Until the change both runs are the same.
    let series = |text: &str| {
        let mut session = Session::default();
        load(&mut session, text);
        json(&mut session, json!({ "do": "open", "player": 0, "run": 2 }));
        json(&mut session, json!({ "do": "step", "player": 0, "to_ns": 3e9 }));
        bytes(&mut session, json!({ "do": "series", "player": 0 }))
    };
    let (before, after) = (series(SMALL), series(&toml(&rate)));
    let same = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
    let share = same as f64 / before.len() as f64;
    assert!((0.66..0.68).contains(&share), "{share}");
}

/// Of what a sender does in any case, and of a link whose rate is not one to move, nothing can be chosen.
#[test]
fn what_cannot_be_changed_says_why() {
    let knob = |text: &str, path: &str| {
        let told = load(&mut Session::default(), text);
        told["knobs"]
            .as_array()
            .and_then(|all| all.iter().find(|k| k["path"] == path))
            .cloned()
            .expect("a knob")
    };
    let ecn = |cca: &str| knob(&SMALL.replace("prague", cca), "flows[1].ecn");
    assert_eq!(ecn("cubic")["values"], json!([false, true, "l4s"]));
    assert_eq!(ecn("dctcp")["values"], json!([true, "l4s"]));
    let prague = ecn("prague");
    assert_eq!((&prague["values"], &prague["now"]), (&json!(["l4s"]), &json!(0)));
    assert_eq!(prague["fixed"], "prague always uses ECN, and always as L4S.");
    let repeats = r#"schedule = [["0s", "10mbit"], ["1s", "5mbit"]]
period = "2s""#;
    let rate = knob(&SMALL.replace("rate = \"10mbit\"", repeats), "link.rate");
    assert!(rate["fixed"].as_str().is_some_and(|why| why.contains("repeats")), "{rate}");
}

/// Each value of each knob is one that a scenario takes, and the one that it says it has changes nothing.
#[test]
fn every_knob_turns() {
    let mut session = Session::default();
    let told = load(&mut session, SMALL);
    let knobs = told["knobs"].as_array().expect("a list").clone();
    assert!(knobs.len() > 20, "{}", knobs.len());
    let mut turned = 0;
    for knob in &knobs {
        let values = knob["values"].as_array().expect("a list");
        let now = knob["now"].as_u64().expect("a number") as usize;
        for (i, value) in values.iter().enumerate() {
            let request = json!({ "do": "change", "path": knob["path"], "value": value });
            match session.ask(&request.to_string()) {
                Ok(_) if i == now => {
                    let again = load(&mut session, SMALL);
                    let is = |told: &Value| told["knobs"].as_array().cloned().unwrap_or_default();
                    assert_eq!(is(&again), is(&told));
                }
                Ok(Reply::Json(told)) => {
                    assert_ne!(told["toml"], Value::Null);
                    turned += 1;
                    load(&mut session, SMALL);
                }
                // What does not go together with the rest is said in the program's words.
                Err(why) => assert!(
                    !why.contains('\n') && why.contains(knob["name"].as_str().unwrap_or("?")),
                    "{request}: {why}"
                ),
                Ok(other) => panic!("{other:?}"),
            }
        }
    }
    assert!(turned > 200, "{turned}");
}

#[test]
fn what_is_wrong_is_said_in_the_programs_words() {
    let mut session = Session::default();
    load(&mut session, SMALL);
    for wrong in ["[link]\nrate = \"10mbps\"", "rate", "[link]\nbufer = 1\n", ""] {
        let program = Scenario::parse(wrong, "a.toml", Path::new("")).expect_err("it is wrong").to_string();
        let page = session.ask(&json!({ "do": "load", "text": wrong, "name": "a.toml" }).to_string());
        assert_eq!(page.expect_err("it is wrong"), program);
    }
    // What was loaded before is still there.
    json(&mut session, json!({ "do": "open", "player": 0, "run": 0 }));
    for (request, said) in [
        (json!({ "do": "open", "player": 0, "run": 99 }), "there are 8 runs, counted from 0"),
        (json!({ "do": "step", "player": 5, "to_ns": 1 }), "no run is open as 5"),
        (json!({ "do": "explain", "name": "x" }), "nothing is called \"x\""),
        (json!({ "do": "nothing" }), "no request: "),
    ] {
        let why = session.ask(&request.to_string()).expect_err("it is wrong");
        assert!(why.starts_with(said), "{why}");
    }
}

#[test]
fn what_is_too_large_for_a_page_is_not_begun() {
    let mut session = Session::default();
    let text = SMALL.replace("\"10mbit\"", "\"100gbit\"").replace("\"3s\"", "\"60s\"").replace("60p", "1mb");
    let told = load(&mut session, &text);
    let why = told["runs"][0]["too_large"].as_str().expect("it is too large");
    assert!(why.contains("million packets") && why.ends_with("run it with the program"), "{why}");
    let open = session.ask(&json!({ "do": "open", "player": 0, "run": 0 }).to_string());
    assert_eq!(open.expect_err("not begun"), why);
    let text = SMALL.replace("count = 2", "count = 90000");
    let why = session.ask(&json!({ "do": "load", "text": text, "name": "a.toml" }).to_string());
    let why = why.expect_err("too many flows");
    assert!(why.contains("flows in all runs") && why.ends_with("run it with the program"), "{why}");
}

/// What stands below a picture is explained beside it.
#[test]
fn each_variable_is_explained() {
    let mut session = Session::default();
    for info in queuewright_aqm::registry() {
        let of = json!({ "do": "explain", "name": info.name, "variables": true });
        let said = String::from_utf8(bytes(&mut session, of)).expect("text");
        assert_eq!(said.is_empty(), info.probes.is_empty(), "{}: {said}", info.name);
        for probe in info.probes {
            assert!(said.contains(&format!("<code>{}</code>", probe.name)), "{}: {said}", probe.name);
        }
    }
}

/// Groups that share a link may wait differently, and of several ports each number says of which it is.
#[test]
fn measures_are_of_groups_and_ports() {
    let mut session = Session::default();
    let mut measures = |text: &str, run: usize| {
        load(&mut session, text);
        json(&mut session, json!({ "do": "open", "player": 0, "run": run }));
        let finished = json(&mut session, json!({ "do": "finish", "player": 0 }));
        let all = finished["measures"].as_array().expect("measures").clone();
        move |path: &str| all.iter().find(|m| m["path"] == path).cloned().unwrap_or_default()
    };
    // dualpi2 has a queue for those that answer marks.
    let of = measures(SMALL, 6);
    let wait = |group: &str| of(&format!("group.{group}.sojourn_ms"))["value"].as_f64().expect("a wait");
    assert!(wait("scalable") < wait("cubic") / 2.0, "{} {}", wait("scalable"), wait("cubic"));
    assert!(of("utilization")["port"].is_null());
    let two = SMALL
        .replace("[link]\nrate", "[[ports]]\nname = \"up\"\nrate = \"10mbit\"\nbuffer = \"60p\"\n\n[[ports]]\nname = \"down\"\nrate")
        .replace("rtt =", "ports = [\"up\"]\nrtt =");
    let of = measures(&two, 0);
    assert_eq!((&of("utilization")["port"], &of("goodput_bps")["port"]), (&json!("up"), &Value::Null));
}
