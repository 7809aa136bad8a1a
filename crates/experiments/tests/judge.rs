//! How claims are judged, by runs that were made up.

use queuewright_experiments::{Catalogue, Judged, NullRuns, Options, Plan, Record, Store, Verdict, finish};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const SCENARIO: &str = r#"
[link]
rate = "10mbit"
[[flows]]
count = 1
cca = "cubic"
rtt = "20ms"
[queue]
disciplines = ["codel", "droptail"]
[run]
duration = "2s"
seeds = "1..5"
"#;

const FIGURE: &str = r#"
title = "Made up"
figure = "None"
source = "Nobody"
[[sweep]]
name = "flows"
values = [{ name = "1", set = { flows.count = 1 } }, { name = "2", set = { flows.count = 2 } }]
[[panel]]
title = "a"
kind = "bars"
x = "flows"
y = "jain"
"#;

const NULLS: &str = r#"
[[null]]
name = "tail-drop"
text = "tail drop"
of = "codel"
put = { name = "droptail" }
"#;

/// The measure of each discipline, case and seed, by its number from 1 on.
type Value = fn(&str, usize, u64) -> f64;

fn fill(store: &mut Store, plan: &Plan, value: Value) {
    for unit in plan.pending(store) {
        let value = value(&unit.discipline, unit.case, unit.seed);
        let measures = BTreeMap::from_iter(value.is_finite().then_some(("jain".into(), value)));
        let (case, discipline, seed) = (unit.case, unit.discipline, unit.seed);
        let record = Record { case, discipline, seed, measures, curves: BTreeMap::new(), flows: Vec::new() };
        store.add(record).unwrap();
    }
}

/// The claim, with the runs as `value` has them, and those of the wrong variant as `null` has them.
fn judged(claim: &str, value: Value, null: Value) -> Judged {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
    write("x.toml", SCENARIO);
    let figure =
        format!("{FIGURE}[[claim]]\ntext = \"it\"\nsource = \"here\"\nmeasure = \"jain\"\n{claim}\n");
    write("x.figure.toml", &figure);
    write("nulls.toml", NULLS);
    let experiment = Catalogue::folder(dir.path()).unwrap().experiments.remove(0);
    let null_of = experiment.nulls[0].clone();
    let plan = Plan::new(experiment, dir.path(), Options::default()).unwrap();
    let null_plan = plan.of_null(&null_of, dir.path()).unwrap().expect("it has a place");
    assert!(null_plan.cases.iter().all(|case| case.disciplines == ["codel"]));
    let spec = null_plan.spec(&null_plan.pending(&store(dir.path(), "empty"))[0]).unwrap();
    assert_eq!((spec.discipline.info.name, &*spec.discipline.label), ("droptail", "codel"));
    let (mut runs, mut of_null) = (store(dir.path(), "x"), store(dir.path(), "null"));
    fill(&mut runs, &plan, value);
    fill(&mut of_null, &null_plan, null);
    let nulls = [NullRuns { null: &null_of, plan: &null_plan, store: &of_null }];
    let mut outcome = finish(&plan, &runs, &nulls, dir.path()).unwrap();
    assert_eq!(outcome.missing, 0);
    outcome.claims.remove(0)
}

fn store(dir: &Path, name: &str) -> Store {
    Store::open(&dir.join(format!("{name}.runs.jsonl")), "hash").unwrap()
}

fn verdict(claim: &str, value: Value) -> Verdict {
    judged(claim, value, |_, _, _| 0.0).verdict
}

const CODEL: &str = "at = { discipline = \"codel\" }\n";
const AGAINST: &str = "at = { discipline = \"codel\" }\nagainst = { discipline = \"droptail\" }\n";

/// 10, 11, 12, 13, 14: by hand the mean is 12, the standard deviation the root of 2.5, and Student's t with four degrees of
/// freedom 2.776, so that the interval's half is 1.963.
#[test]
fn what_the_interval_straddles_cannot_be_told() {
    let value: Value = |_, _, seed| 9.0 + seed as f64;
    let told = |bound: &str| verdict(&format!("{CODEL}{bound}"), value);
    assert_eq!(told("at_most = 13.97"), Verdict::Holds);
    assert_eq!(told("at_most = 13.95"), Verdict::Unsure);
    assert_eq!(told("at_most = 10.05"), Verdict::Unsure);
    assert_eq!(told("at_most = 10.03"), Verdict::No);
    assert_eq!(told("published = 12\ntolerance = 1.97"), Verdict::Holds);
    assert_eq!(told("published = 12\ntolerance = 1.95"), Verdict::Unsure);
    let judged = judged(&format!("{CODEL}at_most = 14"), value, value);
    assert_eq!(judged.measured, "12 ± 1.96");
}

/// Both of a seed are held against one another: what moves both moves no ratio.
#[test]
fn seeds_are_compared_in_pairs() {
    let value: Value = |d, _, seed| seed as f64 * if d == "codel" { 1.1 } else { 1.0 };
    assert_eq!(verdict(&format!("{AGAINST}form = \"ratio\"\nat_least = 1.05"), value), Verdict::Holds);
}

#[test]
fn equals_are_in_no_order() {
    let same: Value = |_, _, _| 1.0;
    for bound in [
        "form = \"ratio\"\nat_most = 1",
        "form = \"difference\"\nat_least = 0",
        "form = \"change\"\nat_most = 0",
    ] {
        assert_eq!(verdict(&format!("{AGAINST}{bound}"), same), Verdict::No, "{bound}");
    }
    // Who says that they are equal is right.
    assert_eq!(verdict(&format!("{AGAINST}form = \"ratio\"\npublished = 1"), same), Verdict::Holds);
}

#[test]
fn what_rises_does_so_by_a_hundredth() {
    let claim = format!("{CODEL}form = \"rising\"\nalong = \"flows\"");
    assert_eq!(verdict(&claim, |_, case, _| 100.0 + 1.02 * case as f64), Verdict::Holds);
    assert_eq!(verdict(&claim, |_, case, _| 100.0 + 0.98 * case as f64), Verdict::No);
    assert_eq!(verdict(&claim, |_, _, _| 0.0), Verdict::No);
}

#[test]
fn a_case_without_a_value_is_not_left_out() {
    let claim = format!("{CODEL}at_least = 1");
    let some: Value = |_, case, _| if case == 0 { 5.0 } else { f64::NAN };
    let judged = judged(&claim, some, some);
    assert_eq!(judged.verdict, Verdict::Unknown);
    assert!(judged.measured.contains("not all runs"), "{}", judged.measured);
}

#[test]
fn a_mean_says_which_cases_say_otherwise() {
    let claim = format!("{AGAINST}form = \"difference\"\nat_least = 0");
    let value: Value = |d, case, _| if d == "codel" { [9.0, 1.0][case] } else { 2.0 };
    let judged = judged(&claim, value, value);
    assert_eq!(judged.verdict, Verdict::Holds);
    assert!(judged.measured.ends_with("(in 1 of 2 cases)"), "{}", judged.measured);
    assert_eq!(verdict(&format!("{claim}\ncases = \"each\""), value), Verdict::No);
}

#[test]
fn what_holds_for_a_wrong_variant_too_is_weak() {
    let claim = format!("{AGAINST}form = \"ratio\"\nat_least = 1");
    let value: Value = |d, _, _| if d == "codel" { 2.0 } else { 1.0 };
    let strong = judged(&claim, value, |_, _, _| 0.5);
    assert!(!strong.is_weak() && strong.nulls[0].verdict == Verdict::No);
    assert!(judged(&claim, value, value).is_weak());
    // It says nothing of claims about others alone.
    let other = judged("at = { discipline = \"droptail\" }\nat_least = 1", value, value);
    assert!(!other.is_weak() && other.nulls.is_empty());
}

#[test]
fn a_cause_is_one_if_the_claim_holds_without_it() {
    let value: Value = |d, _, _| if d == "codel" { 5.0 } else { 1.0 };
    let with = |cause: &str| {
        judged(&format!("{CODEL}at_most = 2\n[claim.cause]\ntext = \"it\"\n{cause}"), value, value)
    };
    let other =
        |discipline: &str| with(&format!("kind = \"accident\"\nat = {{ discipline = \"{discipline}\" }}"));
    assert!(!other("droptail").is_open() && other("codel").is_open());
    let numbers = |printed: f64| {
        with(&format!("kind = \"contradiction\"\nsum = [1350, 9]\nprinted = {printed}\nrounding = 0.5"))
    };
    assert!(!numbers(1809.0).is_open() && numbers(1359.0).is_open());
    assert!(with("kind = \"contradiction\"\nproduct = [3, 3]\nprinted = 12").cause.is_some_and(|c| c.shown));
}

/// One seed says nothing of chance; and a case with one leaves one that all have.
#[test]
fn a_value_without_an_interval_is_named() {
    let claim = "at = { discipline = \"codel\" }\nseeds = \"max\"\nat_most = 14";
    let value: Value = |_, _, seed| 9.0 + seed as f64;
    // The largest of five is 14: an end has no interval, and is no mean.
    assert_eq!(judged(claim, value, value).measured, "14");
}

/// What a seed did not measure is not left out of the mean.
#[test]
fn a_run_without_a_value_is_not_left_out() {
    let some: Value = |_, _, seed| if seed == 1 { 5.0 } else { f64::NAN };
    assert_eq!(verdict(&format!("{CODEL}at_least = 1"), some), Verdict::Unknown);
}

#[test]
fn a_variant_of_which_nobody_can_tell_refutes_nothing() {
    let claim = format!("{CODEL}at_least = 1");
    let value: Value = |_, _, _| 2.0;
    // The mean is 1.2, and the interval 1.2 +- 0.79.
    let unsure = judged(&claim, value, |_, _, seed| 0.2 + 0.4 * (seed as f64 - 0.5));
    assert_eq!((unsure.nulls[0].verdict, unsure.is_weak()), (Verdict::Unsure, true));
    let gone = judged(&claim, value, |_, _, _| f64::NAN);
    assert_eq!((gone.nulls[0].verdict, gone.is_weak()), (Verdict::Unknown, true));
}
