//! A run is plain data: written and read again, as it is for another process, it gives the same results byte for byte.

use proptest::prelude::*;
use queuewright_results::Run;
use queuewright_scenario::{Flags, RunSpec, Scenario, once};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;

/// Everything of a result but how long it took.
fn bytes(spec: &RunSpec) -> Vec<u8> {
    let run = queuewright_sim::run(spec, &AtomicBool::new(false), &|_| ()).expect("the run ends");
    let timeless = Run { wall_s: 0.0, packets_per_s: 0.0, ..run };
    rmp_serde::to_vec(&(&timeless, &timeless.detail)).expect("plain data")
}

/// Each run of a scenario gives the same when it was written and read.
fn the_same(scenario: &Scenario) {
    let runs = scenario.runs().expect("its runs");
    let plain = rmp_serde::to_vec(&runs).expect("plain data");
    assert_eq!(rmp_serde::from_slice::<Vec<RunSpec>>(&plain).expect("runs"), runs);
    let packed = once(|| rmp_serde::to_vec(&runs)).expect("plain data");
    let read: Vec<RunSpec> = once(|| rmp_serde::from_slice(&packed)).expect("runs");
    assert_eq!(read, runs);
    for (run, read) in runs.iter().zip(&read) {
        assert!(bytes(run) == bytes(read), "{} with seed {}", run.discipline.label, run.seed);
    }
}

#[test]
fn of_every_example() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let files = std::fs::read_dir(&folder).expect("examples").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|e| e == "toml")).collect();
    files.sort();
    assert!(files.len() > 20, "{files:?}");
    let flags = Flags { duration: Some("2s".into()), warmup: Some("1s".into()), ..Flags::default() };
    for file in files {
        // What changes later than that would be refused.
        let scenario = Scenario::read_with(&file, &flags).or_else(|_| Scenario::read(&file));
        the_same(&scenario.expect("an example"));
    }
}

/// As many flows as there are: a file that each draws from is there once.
#[test]
fn a_file_of_sizes_is_there_once() {
    let folder = files();
    let folder = folder.path();
    let sizes: String = (0..50_000).map(|i| format!("{}\n", 1_000_000 + i * 7919 % 1_000_000)).collect();
    std::fs::write(folder.join("many.csv"), &sizes).expect("a file");
    let text = "[link]\nrate = \"100mbit\"\nbuffer = \"400kb\"\n\
        [[flows]]\ncount = 1000\ncca = \"cubic\"\nrtt = \"20ms\"\nsize = { file = \"many.csv\" }\nrequests = \"10ms\"\n\
        [queue]\ndisciplines = [\"codel\"]\n[run]\nduration = \"2s\"\nwarmup = \"1s\"\nseeds = [1, 2]\n";
    let scenario = Scenario::parse(text, "s.toml", folder).unwrap_or_else(|e| panic!("{e}"));
    let runs = scenario.runs().expect("its runs");
    let packed = once(|| rmp_serde::to_vec(&runs)).expect("plain data");
    assert!(packed.len() < 2 * sizes.len(), "{} bytes for {} of the file", packed.len(), sizes.len());
    assert_eq!(once(|| rmp_serde::from_slice::<Vec<RunSpec>>(&packed)).expect("runs"), runs);
}

/// Flows of each kind of what is drawn while a run goes on, and of what was drawn before.
fn flows() -> impl Strategy<Value = String> {
    let comes = prop::sample::select(vec![
        "count = \"1..4\"",
        "count = \"1..3\"\nsize = \"1kb..200kb\"\nrepeat = \"0ms..100ms\"",
        "count = 2\nsize = { distribution = \"lognormal\", median = \"9kb\", sigma = 2 }\nrepeat = { exponential = \"50ms\" }",
        "size = { distribution = \"pareto\", min = \"1kb\", shape = 1.1, max = \"1mb\" }\narrivals = \"30/s\"\ninitial_window = \"all\"",
        "size = { file = \"sizes.csv\" }\narrivals = \"5mbit\"",
        "pages = { at = [\"100ms\", \"900ms\"] }",
        "pages = { file = \"pages.csv\", pick = \"random\" }\narrivals = \"4/s\"",
        "size = \"1kb..50kb\"\nrequests = { exponential = \"20ms\" }",
        "video = { chunk = \"500ms\" }",
    ]);
    let cca = prop::sample::select(vec!["\"cubic\"", "\"mix\"", "{ newreno = 1, bbr = 2, dctcp = 1 }"]);
    let tcp = (comes, cca, any::<bool>()).prop_map(|(comes, cca, ecn)| {
        format!("cca = {cca}\nrtt = \"5ms..60ms\"\nstart = \"0ms..300ms\"\njitter = \"0us..900us\"\necn = {ecn}\n{comes}\n")
    });
    let udp = prop::sample::select(vec![
        "cbr = \"100kbit..2mbit\"\ncount = \"1..3\"\n",
        "poisson = \"1mbit..3mbit\"\npacket = \"400b\"\nstop = \"1s..2s\"\n",
        "voip = \"g729\"\ncount = 3\n",
        "voip = \"g711\"\narrivals = \"9/s\"\nduration = { exponential = \"400ms\" }\n",
    ]);
    prop_oneof![3 => tcp, 1 => udp.prop_map(String::from)].prop_map(|keys| format!("[[flows]]\n{keys}"))
}

fn link() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "rate = \"20mbit\"",
        "rate = \"12mbit\"\nburst = \"9kb\"\nloss = 0.01\nreorder = { share = \"1%\", by = \"4ms\" }",
        "schedule = [[\"0s\", \"20mbit\"], [\"300ms\", \"5mbit\"]]\nperiod = \"700ms\"\njitter = { normal = \"1ms\" }",
        "trace = \"link.trace\"",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn of_random_drafts(
        link in link(),
        flows in prop::collection::vec(flows(), 1..5),
        discipline in prop::sample::select(queuewright_aqm::registry().iter().map(|d| d.name).collect::<Vec<_>>()),
        seed in 0u64..1 << 53,
    ) {
        let changing = "{ name = \"red\", label = \"changing\", min = \"30kb\", max = \"90kb\", set = [{ at = \"1s\", min = \"9kb\" }] }";
        let text = format!(
            "[link]\n{link}\nbuffer = \"400kb\"\n{}[queue]\ndisciplines = [\"{discipline}\", {changing}]\n\
             [run]\nduration = \"2s\"\nwarmup = \"200ms\"\nseeds = [{seed}]\n",
            flows.concat()
        );
        let scenario = Scenario::parse(&text, "s.toml", files().path()).unwrap_or_else(|e| panic!("{e}\n{text}"));
        the_same(&scenario);
    }
}

/// A folder with what drafts name.
fn files() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("a file");
    write("sizes.csv", "1kb,0.5\n30kb,0.9\n500kb,1\n");
    write("pages.csv", "0,0,3\n0,1,9\n7,0,40\n");
    write("link.trace", &(1..500).map(|ms| format!("{}\n", ms * 2 - ms % 3)).collect::<String>());
    folder
}
