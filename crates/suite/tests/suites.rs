//! The program's own suites.

use queuewright_experiments::{Record, Store};
use queuewright_suite::{Options, Plan, Scores, Suite, harm, list, pages};
use std::collections::BTreeMap;

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

/// A folder with these files beside three scenarios of a flow behind tail drop and CoDel, two seeds each, and runs by hand.
fn by_hand(
    about: &str,
    value: impl Fn(&str, &str, u64) -> Option<BTreeMap<String, f64>>,
) -> (tempfile::TempDir, Plan, Store) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("suite.toml"), about).expect("written");
    for name in ["1.1-a", "1.1-b", "2.1-c"] {
        let text = "[link]\nrate = \"4mbit\"\nbuffer = \"4bdp\"\n[[flows]]\ncca = \"cubic\"\nrtt = \"40ms\"\n\
             [queue]\ndisciplines = [\"droptail\", \"codel\"]\n[run]\nduration = \"6s\"\nwarmup = \"2s\"\n";
        std::fs::write(folder.path().join(format!("{name}.toml")), text).expect("written");
    }
    let suite = Suite::open(&folder.path().display().to_string()).expect("a suite");
    let plan = Plan::new(suite, Options { seeds: Some(2), ..Options::default() }).expect("a plan");
    let mut store = Store::open(&folder.path().join("runs.jsonl"), "x").expect("a store");
    for unit in plan.pending(&store).expect("runs") {
        let label = unit.spec.discipline.label.clone();
        if let Some(measures) = value(&plan.suite.members[unit.member].name, &label, unit.spec.seed) {
            store.add(Record::plain(&unit.kept_as(), measures)).expect("added");
        }
    }
    (folder, plan, store)
}

fn page(plan: &Plan, store: &Store, scores: &Scores) -> String {
    pages(plan, store, scores, None).into_iter().find(|(name, _)| name == "index.md").expect("a page").1
}

/// In whose queue no page was ever complete has the worst there is, and not one scenario less.
#[test]
fn who_has_no_value_where_others_have_one_has_the_worst() {
    let about = "score = [\"group.*.pages\", \"group.*.time\"]\nless = true\nsections = [\"1.1-\"]\n";
    let one = |path: &str, value: f64| BTreeMap::from([(path.to_string(), value)]);
    let (_folder, plan, store) = by_hand(about, |member, label, _| {
        Some(match (member, label) {
            ("1.1-a", "droptail") => one("group.x.pages", 2.0),
            ("1.1-a", _) => one("group.y.goodput_bps", 2.0),
            (_, "droptail") => one("group.y.time", 4.0),
            _ => one("group.y.time", 2.0),
        })
    });
    let scores = Scores::of(&plan, &store).expect("scores");
    assert_eq!(scores.of_member, [[1.0, 0.0], [0.5, 1.0], [0.5, 1.0]]);
    // Of the section first: a thousandth counts for none.
    let score =
        |label: &str| scores.standings.iter().find(|s| s.discipline == label).expect("it is there").score;
    assert!((score("codel") - 1e-3f64.powf(0.25)).abs() < 1e-9, "{scores:?}");
    assert!((score("droptail") - 0.5f64.powf(0.75)).abs() < 1e-9, "{scores:?}");
    let text = page(&plan, &store, &scores);
    assert!(text.contains("`group.*.pages`, or `group.*.time`, the best's over its own"), "{text}");
}

#[test]
fn it_is_said_what_has_no_score() {
    let of = |whole: bool| {
        let (_folder, plan, store) = by_hand("unscored = [\"1.1-a\"]\n", |member, label, seed| {
            let power = if label == "codel" { 0.9 } else { 0.5 };
            let all = BTreeMap::from([("jain".to_string(), 1.0), ("power".to_string(), power)]);
            match (member, seed) {
                ("2.1-c", _) => Some(BTreeMap::from([("jain".to_string(), 1.0)])),
                ("1.1-b", 2) if label == "codel" && !whole => None,
                _ => Some(all),
            }
        });
        let scores = Scores::of(&plan, &store).expect("scores");
        page(&plan, &store, &scores)
    };
    let text = of(true);
    for said in [
        "**codel** is the best of these 2: each other is behind it in 39 of 40 draws.",
        "No score in one scenario, as the suite leaves them out: 1.1-a. \
         No score in one scenario, as no run has `power`: 2.1-c.",
        "Power sees neither how flows share a link nor what is lost",
    ] {
        assert!(text.contains(said), "{text}");
    }
    // While runs are missing nobody is the best, and nobody knows what they will have.
    let text = of(false);
    assert!(
        text.contains("**No verdict yet**: one run is not there. `queuewright suite --resume` goes on."),
        "{text}"
    );
    assert!(text.contains("Scores are over the scenarios and seeds that are there."), "{text}");
    assert!(!text.contains("is the best of") && !text.contains("as no run has"), "{text}");
}

/// With whom calls and pages are best is said first, and what nobody would notice is called alike. Scenarios are given, seeds are chance.
#[test]
fn what_people_notice_is_said() {
    // MOS by scenario, and how much a seed moves it up and down; seconds of a page, and how many of ten came.
    let said = |mos: [f64; 3], moves: f64, pages: [Option<f64>; 2], came: f64| {
        let (_folder, plan, store) = by_hand("", |member, label, seed| {
            let at = ["1.1-a", "1.1-b", "2.1-c"].iter().position(|m| *m == member).expect("it is one");
            let mut all = BTreeMap::from([("power".to_string(), 0.5)]);
            let (codel, second) = (label == "codel", seed == 2);
            let better = if codel { mos[at] + if second { moves } else { -moves } } else { 0.0 };
            all.insert("group.talk.datagrams.calls.mos".into(), 2.0 + better);
            if member == "2.1-c" {
                let took = if codel { Some(0.5) } else { pages[usize::from(second)] };
                all.extend(took.map(|s| ("group.web.transfers.pages.plt_s.p50".to_string(), s)));
                all.insert("group.web.transfers.pages.completed".into(), if codel { 10.0 } else { came });
            }
            Some(all)
        });
        let scores = Scores::of(&plan, &store).expect("scores");
        page(&plan, &store, &scores)
    };
    let (slow, none) = ([Some(3.0); 2], [0.0; 3]);
    let calls = "**Calls** (mean of 3 scenarios):";
    let pages = "**Pages** (in 2.1-c):";
    let missing = "best with codel, 0.50 s; worst with droptail, where fewer came.";
    let not_sure = "none is sure to be noticeably worse than the best.";
    for (mos, moves, seconds, came, begin, want) in [
        // 4, 4 and 4.1 where the other has 2.
        ([2.0, 2.0, 2.1], 0.0, slow, 10.0, calls, "best with codel, MOS 4.0; worst with droptail, MOS 2.0."),
        // One scenario alone is other, and is so for certain.
        ([0.0, 0.0, 3.0], 0.0, slow, 10.0, calls, "best with codel, MOS 3.0; worst with droptail, MOS 2.0."),
        // The mean of three scenarios is 1.07 - x with one seed and 1.07 + x with the other: its standard error is x, and Student's t of two
        // values 12.7. It is noticeable, 0.2, for certain up to x = 0.068.
        ([0.1, 2.0, 1.1], 0.06, slow, 10.0, calls, "best with codel, MOS 3.1; worst with droptail, MOS 2.0."),
        ([0.1, 2.0, 1.1], 0.07, slow, 10.0, calls, &format!("MOS 3.1 to MOS 2.0; {not_sure}")),
        ([0.15; 3], 0.0, slow, 10.0, calls, &format!("MOS 2.1 to MOS 2.0; {not_sure}")),
        (none, 0.0, slow, 10.0, pages, "best with codel, 0.50 s; worst with droptail, 3.00 s."),
        // Eight per cent nobody notices.
        (none, 0.0, [Some(0.54); 2], 10.0, pages, &format!("0.50 s to 0.54 s; {not_sure}")),
        // The geometric mean of 1 and 9 s; a seed decides nothing.
        (none, 0.0, [Some(1.0), Some(9.0)], 10.0, pages, &format!("0.50 s to 3.00 s; {not_sure}")),
        // The late ones are not in the median of those that came.
        (none, 0.0, [Some(0.1); 2], 8.0, pages, missing),
        (none, 0.0, [None; 2], 10.0, pages, missing),
        // Of one seed alone: that may be chance.
        (none, 0.0, [Some(0.1), None], 10.0, pages, &format!("0.50 s to where fewer came; {not_sure}")),
    ] {
        let text = said(mos, moves, seconds, came);
        assert!(text.contains(&format!("{begin} {want}")), "{begin} {want}: {text}");
        assert!(!text.contains("**Games**"), "{text}");
    }
}

/// Of one that has a score there is no best.
#[test]
fn nothing_is_the_best_of_one() {
    let (_folder, plan, store) =
        by_hand("", |_, label, _| (label == "codel").then(|| BTreeMap::from([("power".to_string(), 0.9)])));
    let scores = Scores::of(&plan, &store).expect("scores");
    let text = page(&plan, &store, &scores);
    assert!(text.contains("**No verdict yet**: 6 runs are not there."), "{text}");
    let (_folder, plan, store) =
        by_hand("aqm = \"droptail\"\n", |_, _, _| Some(BTreeMap::from([("power".to_string(), 0.9)])));
    let scores = Scores::of(&plan, &store).expect("scores");
    let text = page(&plan, &store, &scores);
    assert!(
        text.contains("**droptail** is in 3 scenarios with a score, and no other in half of these: there is nothing to compare it with."),
        "{text}"
    );
    let (_folder, plan, store) = by_hand("score = \"loss\"\nless = true\n", |_, label, _| {
        Some(BTreeMap::from([("loss".to_string(), if label == "codel" { 0.0 } else { 1e-9 })]))
    });
    let error = Scores::of(&plan, &store).expect_err("no shares of none").0;
    assert_eq!(error, "score = [\"loss\"]: in 1.1-a the best has none of it, of which others have no share");
}

/// What the others have alone is measured behind the same buffers, without the groups under test.
#[test]
fn alone_are_the_others() {
    let make = || {
        let (folder, plan) = plan(Suite::open("rfc9743").expect("a suite"), Options::default());
        (folder, plan.expect("a plan"))
    };
    let (_folder, all) = make();
    let (_beside, beside) = make();
    let (_alone, alone) = make();
    let (beside, alone) = (beside.beside(), alone.alone());
    let hashes: std::collections::BTreeSet<String> = [&all, &beside, &alone].map(Plan::hash).into();
    assert_eq!(hashes.len(), 3, "their runs are kept apart");
    let store =
        Store::open(&tempfile::tempdir().expect("a folder").path().join("none.jsonl"), "x").expect("a store");
    let (beside, alone) = (beside.pending(&store).expect("runs"), alone.pending(&store).expect("runs"));
    assert_eq!((beside.len(), beside.len() < all.pending(&store).expect("runs").len()), (alone.len(), true));
    for (both, one) in beside.iter().zip(&alone) {
        let group = |f: &queuewright_scenario::spec::FlowSpec| one.spec.groups[f.group as usize].name.clone();
        let others: Vec<_> =
            both.spec.flows.iter().filter(|f| group(f).split(' ').next() != Some("new")).cloned().collect();
        assert_eq!(one.spec.flows, others);
        assert_eq!(one.spec.ports, both.spec.ports);
        assert!(!one.spec.flows.is_empty() || !one.spec.sources.is_empty());
    }
}

/// Pages that are complete without the control under test, and with it never, are lost altogether; and of 10 Mbit/s two flows have a fair half each.
#[test]
fn harm_is_against_being_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "[link]\nrate = \"10mbit\"\n[[flows]]\nname = \"new\"\ncca = \"cubic\"\nrtt = \"20ms\"\n\
         [[flows]]\nname = \"old\"\ncca = \"cubic\"\nrtt = \"20ms\"\n[queue]\ndisciplines = [\"droptail\"]\n\
         [run]\nduration = \"6s\"\nwarmup = \"2s\"\n";
    std::fs::write(folder.path().join("s.toml"), text).expect("written");
    let path = folder.path().display().to_string();
    let options = Options { seeds: Some(3), ..Options::default() };
    let plan = Plan::new(Suite::open(&path).expect("a suite"), options).expect("a plan");
    let store = |name: &str, goodput: [f64; 3], page: Option<f64>, loss: [f64; 3]| {
        let mut store = Store::open(&folder.path().join(name), "x").expect("a store");
        for unit in plan.pending(&store).expect("runs") {
            let at = unit.spec.seed as usize - 1;
            let mut of = BTreeMap::from([
                ("group.new.goodput_bps".to_string(), 1e6),
                ("power".to_string(), 0.5),
                ("group.old.goodput_bps".to_string(), goodput[at]),
                ("group.old.datagrams.loss".to_string(), loss[at]),
            ]);
            of.extend(page.map(|s| ("group.old.transfers.pages.plt_s.p50".to_string(), s)));
            store.add(Record::plain(&unit.kept_as(), of)).expect("added");
        }
        store
    };
    let alone = store("alone", [9e6; 3], Some(1.0), [0.0; 3]);
    let before = store("before", [4.5e6, 4e6, 5e6], Some(2.0), [0.0; 3]);
    let with = store("with", [9e5, 8e5, 1e6], None, [0.0, 0.0, 0.01]);
    let stores = harm::Stores { alone: &alone, before: &before, with: &with };
    let harms = harm::harms(&plan, &stores).expect("harms");
    let of = |what: &str| harms.iter().find(|h| h.of == what).unwrap_or_else(|| panic!("{what}: {harms:?}"));
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}: {harms:?}");
    let goodput = of("goodput");
    near(goodput.harm, 0.9);
    near(goodput.before_harm, 0.5);
    near(goodput.more[0], 8.2 / 9.0 - 5.0 / 9.0);
    assert!(goodput.fair > 4.5e6 && goodput.fair < 5e6, "{goodput:?}");
    assert_eq!((of("page load, median").harm, of("page load, median").before_harm), (1.0, 0.5));
    // Two of three seeds have no loss: that is a third of a hundredth, and not all.
    near(of("delivered").harm, 0.01 / 3.0);
    assert!(harms.iter().all(|h| h.group == "old"), "{harms:?}");
    // What the suite asks is answered first.
    let scores = Scores::of(&plan, &with).expect("scores");
    let mut plan = plan;
    plan.options.cca = Some("vegas".into());
    let all: BTreeMap<String, String> = pages(&plan, &with, &scores, Some(&harms)).into_iter().collect();
    let lead = format!("**vegas**: {} [Every harm](harm.md).", harm::words(&harms, "vegas"));
    assert!(all["index.md"].contains(&lead), "{}", all["index.md"]);
    assert_eq!(all["harm.csv"].lines().count(), 1 + harms.len());
}
