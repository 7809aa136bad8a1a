//! How claims are judged, by runs that were made up.

use queuewright_experiments::{
    Catalogue, Judged, NullRuns, Options, Plan, Record, Store, Unit, Verdict, finish, missed,
};
use std::collections::{BTreeMap, BTreeSet};
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

/// Rounds, as more seeds may follow.
fn fill(store: &mut Store, pending: impl Fn(&Store) -> Vec<Unit>, value: Value) {
    loop {
        let units = pending(store);
        if units.is_empty() {
            return;
        }
        for unit in units {
            let value = value(&unit.discipline, unit.case, unit.seed);
            let measures = BTreeMap::from_iter(value.is_finite().then_some(("jain".into(), value)));
            let (case, discipline, seed) = (unit.case, unit.discipline, unit.seed);
            let record =
                Record { case, discipline, seed, measures, curves: BTreeMap::new(), flows: Vec::new() };
            store.add(record).unwrap();
        }
    }
}

/// The claim, with the runs as `value` has them, and those of the wrong variant as `null` has them.
fn judged(claim: &str, value: Value, null: Value) -> Judged {
    judged_in(FIGURE, claim, value, null)
}

/// The same of another figure.
fn judged_in(figure: &str, claim: &str, value: Value, null: Value) -> Judged {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
    write("x.toml", SCENARIO);
    let figure =
        format!("{figure}[[claim]]\ntext = \"it\"\nsource = \"here\"\nmeasure = \"jain\"\n{claim}\n");
    write("x.figure.toml", &figure);
    write("nulls.toml", NULLS);
    let one = format!("{}/x", dir.path().display());
    let experiment = Catalogue::embedded().unwrap().select(&[one]).unwrap().remove(0);
    let null_of = experiment.nulls[0].clone();
    let plan = Plan::new(experiment, dir.path(), Options::default()).unwrap();
    let null_plan = plan.of_null(&null_of, dir.path()).unwrap().expect("it has a place");
    assert!(null_plan.cases.iter().all(|case| case.disciplines == ["codel"]));
    let spec = null_plan.spec(&null_plan.pending(&store(dir.path(), "empty"))[0]).unwrap();
    assert_eq!((spec.discipline.info.name, &*spec.discipline.label), ("droptail", "codel"));
    let (mut runs, mut of_null) = (store(dir.path(), "x"), store(dir.path(), "null"));
    fill(&mut runs, |runs| plan.pending(runs), value);
    fill(&mut of_null, |own| null_plan.pending_of_null(&runs, own), null);
    let seeds = |of: &Store, who: &str| {
        let own = of.records().filter(|r| r.discipline == who).map(|r| (r.case, r.seed));
        own.collect::<BTreeSet<_>>()
    };
    assert_eq!(seeds(&runs, "codel"), seeds(&of_null, "codel"));
    assert_eq!(seeds(&runs, "codel"), seeds(&runs, "droptail"));
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

/// A claim that does not hold, and does with a change of the scenario that is tried, has a cause.
#[test]
fn what_does_not_hold_is_tried_with_possible_causes() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
    write("x.toml", SCENARIO);
    let claim = |text: &str, discipline: &str| {
        format!(
            "[[claim]]\ntext = \"{text}\"\nsource = \"here\"\nmeasure = \"jain\"\n\
             at = {{ discipline = \"{discipline}\", flows = \"1\" }}\nat_least = 4\n"
        )
    };
    write("x.figure.toml", &format!("{FIGURE}{}{}", claim("misses", "codel"), claim("holds", "droptail")));
    let cause = |name: &str| {
        format!(
            "[[cause]]\nname = \"{name}\"\nkind = \"simulator\"\ntext = \"{name}\"\nscenario = {{ run.stack = \"ns3\" }}\n"
        )
    };
    write("causes.toml", &(cause("right") + &cause("wrong")));
    let experiment = Catalogue::folder(dir.path()).unwrap().experiments.remove(0);
    let plan = Plan::new(experiment, dir.path(), Options::default()).unwrap();
    let mut runs = store(dir.path(), "x");
    let value: Value = |discipline, _, _| if discipline == "codel" { 1.0 } else { 5.0 };
    fill(&mut runs, |runs| plan.pending(runs), value);
    // What the missed claim asks for, and nothing else.
    let missed = missed(&plan, &runs);
    assert_eq!(Vec::from_iter(missed.clone()), [(0, "codel".to_string())]);
    let causes = plan.experiment.nulls.clone();
    let plans: Vec<Plan> =
        causes.iter().map(|c| plan.of_null(c, dir.path()).unwrap().unwrap().only(&missed)).collect();
    let stores: Vec<Store> = causes
        .iter()
        .zip(&plans)
        .map(|(cause, plan)| {
            let mut own = store(dir.path(), &cause.name);
            let pending = plan.pending_of_null(&runs, &own);
            assert_eq!(pending.len(), 5);
            assert_eq!(plan.spec(&pending[0]).unwrap().stack, queuewright_scenario::spec::Stack::Ns3);
            let value: Value = if cause.name == "right" { |_, _, _| 5.0 } else { |_, _, _| 2.0 };
            fill(&mut own, |own| plan.pending_of_null(&runs, own), value);
            own
        })
        .collect();
    let with: Vec<NullRuns<'_>> = causes
        .iter()
        .zip(plans.iter().zip(&stores))
        .map(|(null, (plan, store))| NullRuns { null, plan, store })
        .collect();
    let outcome = finish(&plan, &runs, &with, dir.path()).unwrap();
    assert_eq!(outcome.missing, 0);
    let tried: Vec<_> = outcome.claims[0].tried.iter().map(|t| (&*t.cause, t.verdict)).collect();
    assert_eq!(tried, [("right", Verdict::Holds), ("wrong", Verdict::No)]);
    assert!(!outcome.claims[0].is_open() && outcome.claims[1].tried.is_empty());
    let alone = finish(&plan, &runs, &with[1..], dir.path()).unwrap();
    assert!(alone.claims[0].is_open());
    // Neither is a wrong variant of the system.
    assert!(outcome.claims.iter().all(|c| c.nulls.is_empty()));
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
    // The largest of five is 14: it is of these runs alone.
    assert_eq!(judged(claim, value, value).measured, "14 (of 5 runs)");
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

/// Each of two cases is 12 with a standard error of 0.7071. With four degrees of freedom t is 2.776 for 95 %, 3.495 for 97.5 %, so that the
/// halves of the intervals are 1.963 and 2.472.
#[test]
fn two_cases_are_refuted_no_oftener_than_one() {
    let value: Value = |_, _, seed| 9.0 + seed as f64;
    let told = |cases: &str, bound: &str| verdict(&format!("{CODEL}cases = \"{cases}\"\n{bound}"), value);
    assert_eq!(told("each", "at_most = 10.03"), Verdict::Unsure);
    assert_eq!(told("each", "at_most = 9.54"), Verdict::Unsure);
    assert_eq!(told("each", "at_most = 9.52"), Verdict::No);
    // All hold if each does.
    assert_eq!(told("each", "at_most = 13.97"), Verdict::Holds);
    // The smallest is from 12 - 1.963 to 12 + 2.472: of two, the one that is smaller by chance says little of how large it is.
    assert_eq!(told("min", "at_least = 10.03"), Verdict::Holds);
    assert_eq!(told("min", "published = 12\ntolerance = 1.97"), Verdict::Unsure);
    assert_eq!(told("min", "published = 12\ntolerance = 2.48"), Verdict::Holds);
    assert_eq!(told("max", "at_most = 13.97"), Verdict::Holds);
    assert_eq!(told("max", "published = 12\ntolerance = 1.97"), Verdict::Unsure);
    let judged = judged(&format!("{CODEL}cases = \"max\"\nat_most = 14"), value, value);
    assert_eq!(judged.measured, "12 (9.53 to 14)");
    assert_eq!(judged.values.len(), 1);
    assert!((judged.intervals[0].unwrap()[0] - 9.528).abs() < 0.001, "{:?}", judged.intervals);
}

#[test]
fn several_values_have_their_intervals() {
    let value: Value = |_, case, seed| 9.0 + 10.0 * case as f64 + seed as f64;
    let judged = judged(&format!("{CODEL}cases = \"each\"\nat_least = 1"), value, value);
    assert_eq!(judged.measured, "12 ± 1.96 to 22 ± 1.96");
    let json = serde_json::to_value(&judged).unwrap();
    assert_eq!(json["values"], serde_json::json!([12.0, 22.0]));
    assert!((json["intervals"][1][1].as_f64().unwrap() - 23.963).abs() < 0.001, "{json}");
}

/// A step of what rises is known no better than its means.
#[test]
fn what_rises_by_chance_cannot_be_told() {
    let claim = format!("{CODEL}form = \"rising\"\nalong = \"flows\"");
    // 1.7 in the mean of 0, 1, 2, 3 and 2.5, more on 100; the interval's half is 1.5.
    let value: Value = |_, case, seed| 100.0 + case as f64 * [0.0, 1.0, 2.0, 3.0, 2.5][seed as usize - 1];
    assert_eq!(verdict(&claim, value), Verdict::Unsure);
    assert_eq!(verdict(&claim, |_, case, seed| 100.0 + (10 * case) as f64 + seed as f64), Verdict::Holds);
    assert_eq!(verdict(&claim, |_, case, seed| 100.0 - (10 * case) as f64 + seed as f64), Verdict::No);
}

/// Five given queues are no sample of others: their mean is what it is.
#[test]
fn what_is_all_there_is_has_no_interval() {
    let figure = format!("{FIGURE}[seeds]\nall = true\n");
    let value: Value = |_, _, seed| 9.0 + seed as f64;
    let told = |bound: &str| judged_in(&figure, &format!("{CODEL}{bound}"), value, value);
    let holds = told("at_most = 12");
    assert_eq!((holds.verdict, holds.measured.as_str()), (Verdict::Holds, "12 (one run of each)"));
    assert_eq!(holds.intervals, [None]);
    assert_eq!(told("at_most = 11.9").verdict, Verdict::No);
}

/// More seeds are added until a mean is known: to all disciplines of the case, and to the wrong variant.
#[test]
fn all_of_a_case_have_the_same_seeds() {
    let figure = format!("{FIGURE}[seeds]\nhalf_width = 0.02\nof = [\"jain\"]\nmost = 12\n");
    let value: Value =
        |d, case, seed| 10.0 + if d == "codel" && case == 0 { [0.0, 1.0][seed as usize % 2] } else { 0.0 };
    // Its seeds are looked at where all are filled.
    let claim = format!("{AGAINST}form = \"difference\"\nat_least = 0");
    assert!(judged_in(&figure, &claim, value, |_, _, _| 1.0).measured.contains('±'));
}

/// Two measures of the same runs: of each seed beside one another.
#[test]
fn a_measure_is_held_against_another() {
    let figure = format!("{FIGURE}[measures.tenfold]\nof = \"jain\"\nscale = 10\ntitle = \"ten times it\"\n");
    let claim = format!("{CODEL}form = \"ratio\"\nagainst_measure = \"tenfold\"\npublished = 0.1");
    let judged = judged_in(&figure, &claim, |_, _, seed| seed as f64, |_, _, _| 1.0);
    assert_eq!((judged.verdict, judged.measured.as_str()), (Verdict::Holds, "0.1 ± 0 times"));
}
