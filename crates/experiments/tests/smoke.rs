//! Every experiment of the program: its files are read, each of its cases drawn, and a moment of one run of
//! each panel's first case goes all the way to data, picture and verdicts.

use queuewright_experiments::{Catalogue, Options, Plan, Record, Store, Unit, finish, summary};
use queuewright_sim::run;
use std::sync::atomic::AtomicBool;

#[test]
fn every_experiment_works() {
    let folder = tempfile::tempdir().unwrap();
    let mut outcomes = Vec::new();
    for e in Catalogue::embedded().unwrap().experiments {
        let id = e.id();
        let own = folder.path().join(&e.paper);
        e.unpack(&own).unwrap();
        let hash = e.hash();
        let name = e.name.clone();
        let plan = Plan::new(e, &own, Options { quick: true, seeds: None }).unwrap();
        let mut store = Store::open(&own.join(format!("{name}.runs.jsonl")), &hash).unwrap();
        let (mut tried, mut all) = (0, 0);
        for (i, case) in plan.cases.iter().enumerate() {
            for (j, discipline) in case.disciplines.iter().enumerate() {
                let unit = Unit { case: i, discipline: discipline.clone(), seed: case.seeds[0] };
                let mut spec = plan.spec(&unit).unwrap();
                all += 1;
                // The dearest are not run at all: a full run is what `reproduce` is for.
                if j > 0 || tried >= 3 {
                    continue;
                }
                tried += 1;
                spec.duration_ns = spec.duration_ns.min(300_000_000);
                spec.warmup_ns = 0;
                let done = run(&spec, &AtomicBool::new(false), &|_| {}).unwrap();
                store.add(Record::of(&unit, &spec, &done, &plan.experiment.figure)).unwrap();
            }
        }
        assert_eq!(
            plan.pending(&store).is_empty(),
            tried == all,
            "{id}: what was not tried is still to make"
        );
        let outcome = finish(&plan, &store, &own).unwrap();
        assert_eq!(outcome.claims.len(), plan.experiment.figure.claims.len());
        assert!(!outcome.claims.is_empty(), "{id} has no claim");
        let further = &plan.experiment.figure.pictures;
        assert_eq!(outcome.pictures.len(), 1 + further.len());
        let mut files: Vec<String> = ["csv", "parquet", "verdict.json"].map(|e| format!("{name}.{e}")).into();
        for picture in &outcome.pictures {
            files.extend(["svg", "png"].map(|end| format!("{}.{end}", picture.file)));
        }
        for file in files {
            let file = own.join(file);
            assert!(file.metadata().unwrap().len() > 100, "{}", file.display());
        }
        outcomes.push(outcome);
    }
    summary(&outcomes, folder.path()).unwrap();
    let page = std::fs::read_to_string(folder.path().join("index.html")).unwrap();
    assert!(outcomes.iter().all(|o| page.contains(&format!("id=\"{}\"", o.id))));
    assert!(!page.contains("http://") || page.matches("http://").all(|_| page.contains("www.w3.org")));
}
