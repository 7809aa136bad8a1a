//! Every experiment of the program: its files are read, each of its cases drawn, and a moment of one run of
//! each panel's first case goes all the way to data, picture and verdicts.

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use queuewright_experiments::{Catalogue, Options, Plan, Record, Store, Unit, finish, summary};
use queuewright_sim::run;
use resvg::{tiny_skia, usvg};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

/// A run's values by column; None: it has none there.
type Row = BTreeMap<String, Option<String>>;

fn sheet(csv: &[u8]) -> Vec<Row> {
    let mut reader = csv::Reader::from_reader(csv);
    let names = reader.headers().unwrap().clone();
    let row = |fields: csv::StringRecord| -> Row {
        let values = fields.iter().map(|f| (!f.is_empty()).then(|| f.to_string()));
        names.iter().map(str::to_string).zip(values).collect()
    };
    reader.records().map(|fields| row(fields.unwrap())).collect()
}

fn parquet(bytes: Vec<u8>) -> Vec<Row> {
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
    let value = |field: &Field| match field {
        Field::Null => None,
        Field::Str(text) => Some(text.clone()).filter(|t| !t.is_empty()),
        Field::Long(whole) => Some(whole.to_string()),
        Field::Double(number) => Some(number.to_string()),
        other => panic!("{other:?}"),
    };
    let rows = reader.get_row_iter(None).unwrap();
    rows.map(|row| row.unwrap().get_column_iter().map(|(name, field)| (name.clone(), value(field))).collect())
        .collect()
}

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
        let plan = Plan::new(e, &own, Options { quick: true, ..Options::default() }).unwrap();
        let mut store = Store::open(&own.join(format!("{name}.runs.jsonl")), &hash).unwrap();
        let (mut tried, mut all, mut made) = (0, 0, Vec::new());
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
                let record = Record::of(&unit, &spec, &done, &plan.experiment.figure);
                made.push(record.clone());
                store.add(record).unwrap();
            }
        }
        assert_eq!(
            plan.pending(&store).is_empty(),
            tried == all,
            "{id}: what was not tried is still to make"
        );
        let outcome = finish(&plan, &store, &[], &own).unwrap();
        assert_eq!(outcome.claims.len(), plan.experiment.figure.claims.len());
        assert!(!outcome.claims.is_empty(), "{id} has no claim");
        let further = &plan.experiment.figure.pictures;
        assert_eq!(outcome.pictures.len(), 1 + further.len());
        let read = |file: String| std::fs::read(own.join(&file)).unwrap_or_else(|e| panic!("{file}: {e}"));
        let sheet = sheet(&read(format!("{name}.csv")));
        assert_eq!(sheet, parquet(read(format!("{name}.parquet"))), "{id}: CSV and Parquet differ");
        assert_eq!(sheet.len(), made.len(), "{id}: a row for each run");
        for record in &made {
            let has = |row: &Row, key: &str, value: String| row.get(key) == Some(&Some(value));
            let found = sheet.iter().any(|row| {
                has(row, "discipline", record.discipline.clone())
                    && has(row, "seed", record.seed.to_string())
                    && record.measures.iter().all(|(key, value)| has(row, key, value.to_string()))
            });
            assert!(found, "{id}: no row has {record:?}");
        }
        let verdict: Value = serde_json::from_slice(&read(format!("{name}.verdict.json"))).unwrap();
        assert_eq!((&verdict["id"], &verdict["runs"]), (&id.as_str().into(), &made.len().into()));
        assert_eq!(verdict["claims"].as_array().map(Vec::len), Some(outcome.claims.len()));
        for picture in &outcome.pictures {
            let svg = String::from_utf8(read(format!("{}.svg", picture.file))).unwrap();
            assert_eq!(svg, picture.svg);
            let drawn = usvg::Tree::from_str(&svg, &usvg::Options::default()).unwrap().size().to_int_size();
            let png = tiny_skia::Pixmap::decode_png(&read(format!("{}.png", picture.file))).unwrap();
            // The same shape, and more than one colour of paper and ink.
            let share = f64::from(png.width()) / f64::from(png.height());
            assert!((share * f64::from(drawn.height()) / f64::from(drawn.width()) - 1.0).abs() < 0.01);
            let colours: BTreeSet<_> = png.pixels().iter().map(|p| (p.red(), p.green(), p.blue())).collect();
            assert!(colours.len() > 2, "{}.png: {} colours", picture.file, colours.len());
        }
        outcomes.push(outcome);
    }
    summary(&outcomes, folder.path()).unwrap();
    let page = std::fs::read_to_string(folder.path().join("index.html")).unwrap();
    assert!(outcomes.iter().all(|o| page.contains(&format!("id=\"{}\"", o.id))));
    assert!(!page.contains("http://") || page.matches("http://").all(|_| page.contains("www.w3.org")));
}
