//! The program's own suites.

use queuewright_suite::{Options, Plan, Suite, list};

fn plan(suite: Suite, options: Options) -> (tempfile::TempDir, Result<Plan, queuewright_suite::Error>) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut suite = suite;
    suite.unpack(folder.path()).expect("unpacked");
    (folder, Plan::new(suite, options))
}

/// Each scenario of each suite can be run, with what each suite is run on.
#[test]
fn every_suite_has_runs() {
    let all = list().expect("suites");
    let names: Vec<&str> = all.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["datacenter", "home", "l4s", "rfc7928", "rfc9743"]);
    for suite in all {
        let name = suite.name.clone();
        assert!(!suite.about.title.ends_with(" scenarios"), "{name} has a title of its own");
        let (_folder, plan) = plan(suite, Options::default());
        let plan = plan.unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(plan.disciplines.iter().any(|d| d == "droptail"), "{name}: {:?}", plan.disciplines);
        for (scenario, member) in plan.scenarios.iter().zip(&plan.suite.members) {
            let runs = scenario.runs().unwrap_or_else(|e| panic!("{name}/{}: {e}", member.name));
            assert_eq!(runs.len() % 3, 0, "{name}/{}: three seeds each", member.name);
            assert!(scenario.description.is_some(), "{name}/{}: it says what it asks", member.name);
        }
    }
}

/// RFC 7928, section 8.2: N = ROUND(k S), S the bandwidth-delay product and the buffer in packets.
#[test]
fn congestion_is_as_the_rfc_has_it() {
    let suite = Suite::open("rfc7928").expect("a suite");
    for (start, k) in [("8.2.2", 0.036), ("8.2.3", 0.081), ("8.2.4", 0.114)] {
        let mut of = suite.clone();
        of.members.retain(|m| m.name.starts_with(start));
        let (_folder, plan) = plan(of, Options::default());
        let spec = &plan.expect("a plan").scenarios[0].runs().expect("runs")[0];
        // 10 Mbit/s, 100 ms and packets of 1,500 bytes: 83.3 on the way and as many in the buffer.
        let s = 10e6 * 0.1 / 8.0 / 1500.0 + f64::from(spec.ports[0].limit_packets);
        assert_eq!(spec.flows.len() as f64, (k * s).round(), "{start}: S = {s}");
        assert!(spec.flows.iter().all(|f| f.base_rtt_ns == 100_000_000), "{start}");
    }
}

/// The control under test is put in the place of the file's, in its groups alone.
#[test]
fn a_control_is_put_in_the_place_of_the_files() {
    let controls = |cca: Option<&str>| {
        let options = Options { cca: cca.map(String::from), ..Options::default() };
        let (_folder, plan) = plan(Suite::open("rfc9743").expect("a suite"), options);
        let plan = plan.expect("a plan");
        let flows =
            |s: &queuewright_scenario::Scenario| s.to_json()["flows"].as_array().cloned().unwrap_or_default();
        let all: Vec<(String, String)> = plan
            .scenarios
            .iter()
            .flat_map(flows)
            .filter_map(|f| Some((f["name"].as_str()?.to_string(), f["cca"].as_str()?.to_string())))
            .collect();
        all
    };
    let (before, after) = (controls(None), controls(Some("vegas")));
    assert_eq!(before.len(), after.len());
    let mut tested = 0;
    for ((name, old), (_, new)) in before.iter().zip(&after) {
        let under_test = name == "new" || name.starts_with("new ");
        tested += usize::from(under_test);
        assert_eq!(new, if under_test { "vegas" } else { old }, "{name}");
    }
    assert!(tested >= 40, "{tested}");
    let (_folder, wrong) = plan(
        Suite::open("home").expect("a suite"),
        Options { cca: Some("bbr".into()), ..Options::default() },
    );
    assert!(wrong.expect_err("it tests none").0.starts_with("--cca: home tests no congestion control"));
    let (_folder, wrong) = plan(
        Suite::open("rfc9743").expect("a suite"),
        Options { cca: Some("bbbr".into()), ..Options::default() },
    );
    assert!(wrong.expect_err("no such control").0.contains("bbbr"));
}
