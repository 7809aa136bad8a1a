//! What CONTRIBUTING.md adds, at work. `contributing.rs` puts this into the simulator's tests of a copy of the sources.

use queuewright_results::{Results, Run, sheets};
use queuewright_scenario::Scenario;
use std::sync::atomic::AtomicBool;

const CODEL: &str = "\"codel\"";

fn of(discipline: &str, link: &str) -> Run {
    let text = format!(
        "[link]\nrate = \"10mbit\"\nbuffer = \"50p\"\n{link}\n[[flows]]\ncount = 2\ncca = \"gentle\"\nrtt = \"20ms\"\n\
         [[flows]]\ncca = \"gentle\"\nname = \"short\"\nrtt = \"20ms\"\nstart = \"3s\"\nsize = \"1448b\"\n\
         [[flows]]\nprobe = \"80kbit\"\nrtt = \"20ms\"\n[queue]\ndisciplines = [{discipline}]\n\
         [run]\nduration = \"5s\"\nwarmup = \"1s\"\nseeds = [1]\n"
    );
    let specs = Scenario::parse(&text, "t.toml", "".as_ref()).and_then(|s| s.runs());
    let specs = specs.unwrap_or_else(|e| panic!("{e}"));
    queuewright_sim::run(&specs[0], &AtomicBool::new(false), &|_| ()).expect("it ends")
}

#[test]
fn what_was_added_is_there() {
    let (plain, slots) = (of(CODEL, ""), of(CODEL, "slot = \"300ms\""));
    let names: Vec<&str> = plain.groups.iter().map(|g| g.name.as_str()).collect();
    assert_eq!(names, ["gentle", "short", "probe"]);
    // 80 kbit/s are a hundred packets of 100 bytes a second.
    let probes = plain.groups[2].datagrams.as_ref().expect("datagrams");
    assert!((395..=405).contains(&(probes.received + probes.lost)), "{probes:?}");
    // Data and acknowledgement of a short transfer: each waits for its slot.
    let took = |run: &Run| run.detail.transfers[0].fct_s.expect("it is done");
    assert!(took(&plain) < 0.3 && took(&slots) >= 0.3, "{} {}", took(&plain), took(&slots));
    assert!(plain.slowest_share > 0.0 && plain.slowest_share <= 1.0);
    // Who waited longer than the deadline was dropped.
    let late = of("{ name = \"late\", deadline = \"15ms\" }", "");
    let port = &late.ports[0];
    assert!(port.sojourn_ms.max <= 15.0 && port.drops["sojourn"] > 0, "{port:?}");
    let results = Results {
        schema: queuewright_results::SCHEMA,
        version: String::new(),
        scenario: Default::default(),
        runs: vec![plain],
    };
    let sheet = sheets::runs(&results);
    assert!(sheet.columns.iter().any(|c| c.name == "slowest_share"));
}
