//! What is kept of finished runs: one line of JSON each, written at once, so that an interrupted
//! experiment goes on where it stopped.

use crate::figure::{Figure, Kind};
use crate::plan::Unit;
use crate::points::{self, FlowPoint};
use crate::{Error, measure};
use queuewright_results::Run;
use queuewright_results::measures::quantile;
use queuewright_scenario::RunSpec;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

/// Points of a curve over time that are kept.
const POINTS: usize = 400;
/// Largest file of kept runs that is read.
const MOST_BYTES: u64 = queuewright_scenario::limits::KEPT_RUNS.bytes;
/// Longest line of it: of a run of 100,000 flows, each a point.
const LONGEST: u64 = 16 << 20;
/// Steps of a distribution that are kept.
const SHARES: usize = 200;

/// What is kept of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Which case.
    pub case: usize,
    /// Label of the discipline.
    pub discipline: String,
    /// Seed of the run.
    pub seed: u64,
    /// Measures by name.
    pub measures: BTreeMap<String, f64>,
    /// Curves that the figure shows: over time (seconds, value), and of flows (measure, share at or below it).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub curves: BTreeMap<String, Vec<(f64, f64)>>,
    /// Its flows in the plane of delay and throughput, if the figure asks where they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<FlowPoint>,
}

impl Record {
    /// Reduces a run to what its figure needs.
    pub fn of(unit: &Unit, spec: &RunSpec, run: &Run, figure: &Figure) -> Record {
        let mut curves = BTreeMap::new();
        for panel in figure.panels.iter().filter(|p| p.kind == Kind::Time) {
            if let Some(column) = run.detail.series.columns.iter().find(|c| c.name == panel.y) {
                let points = run.detail.series.time_s.iter().copied().zip(column.values.iter().copied());
                curves.insert(panel.y.clone(), thin(points.filter(|(_, v)| v.is_finite()).collect()));
            }
        }
        for panel in figure.panels.iter().filter(|p| p.kind == Kind::Cdf) {
            let of = figure.measure(&panel.x).of;
            if let Some(times) = completions(&of, run) {
                let share = |i: usize| i as f64 / SHARES as f64;
                let curve = (0..=SHARES).map(|i| (quantile(&times, share(i)), share(i)));
                curves.insert(of, curve.collect());
            }
        }
        Record {
            case: unit.case,
            discipline: unit.discipline.clone(),
            seed: unit.seed,
            measures: measure::of_run(spec, run, figure),
            curves,
            flows: if figure.wants_points() { points::of_run(spec, run) } else { Vec::new() },
        }
    }
}

impl Record {
    /// Of measures alone.
    pub fn plain(unit: &Unit, measures: BTreeMap<String, f64>) -> Record {
        Record {
            case: unit.case,
            discipline: unit.discipline.clone(),
            seed: unit.seed,
            measures,
            curves: BTreeMap::new(),
            flows: Vec::new(),
        }
    }
}

/// Completion times of a group's flows that started after the warm-up, rising, if `group.NAME.fct_s` names them.
fn completions(of: &str, run: &Run) -> Option<Vec<f64>> {
    let name = of.strip_prefix("group.")?.strip_suffix(".fct_s")?;
    let group = run.groups.iter().position(|g| g.name == name)? as u32;
    let own = run.detail.transfers.iter().filter(|t| t.group == group && t.start_s >= run.warmup_s);
    let mut times: Vec<f64> = own.filter_map(|t| t.fct_s).collect();
    times.sort_by(f64::total_cmp);
    (!times.is_empty()).then_some(times)
}

/// Means over equal numbers of samples.
fn thin(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let each = points.len().div_ceil(POINTS).max(1);
    points
        .chunks(each)
        .map(|part| {
            let n = part.len() as f64;
            (part[0].0, part.iter().map(|p| p.1).sum::<f64>() / n)
        })
        .collect()
}

/// Finished runs of an experiment, in memory and on disk.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    file: File,
    runs: BTreeMap<Unit, Record>,
}

impl Store {
    /// Opens the runs that are kept at `path`, or begins there. `hash` is the experiment's: runs of another
    /// experiment by its name are not its own, and are left out.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn open(path: &Path, hash: &str) -> Result<Store, Error> {
        let fail = |e: std::io::Error| Error::Output(format!("{}: {e}", path.display()));
        let unread = |e: std::io::Error| {
            Error::Input(format!("{}: {e}; remove it, and its runs are made again", path.display()))
        };
        let header = format!("{{\"experiment\":\"{hash}\",\"version\":\"{}\"}}\n", env!("CARGO_PKG_VERSION"));
        let mut runs = BTreeMap::new();
        // Bytes of whole lines, which are kept as they are.
        let mut whole = 0;
        match queuewright_scenario::open(path, MOST_BYTES) {
            Ok(kept) => {
                let mut kept = BufReader::new(kept);
                let mut line = Vec::new();
                loop {
                    line.clear();
                    kept.by_ref().take(LONGEST + 1).read_until(b'\n', &mut line).map_err(unread)?;
                    if line.len() as u64 > LONGEST {
                        let most = LONGEST >> 20;
                        return Err(unread(std::io::Error::other(format!("a line of more than {most} MB"))));
                    }
                    // The last line may have been cut off: its run is made again. So is that of a line that was spoilt.
                    if !line.ends_with(b"\n") || (whole == 0 && line != header.as_bytes()) {
                        break;
                    }
                    whole += line.len() as u64;
                    if let Ok(record) = serde_json::from_slice::<Record>(&line) {
                        runs.insert(Unit::of(&record), record);
                    }
                }
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => return Err(unread(e)),
        }
        if whole == 0 {
            queuewright_report::replace(path, header.as_bytes()).map_err(|e| Error::Output(e.to_string()))?;
            whole = header.len() as u64;
        }
        let file = OpenOptions::new().append(true).open(path).map_err(fail)?;
        file.set_len(whole).map_err(fail)?;
        Ok(Store { path: path.to_path_buf(), file, runs })
    }

    /// Keeps a run.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(&mut self, record: Record) -> Result<(), Error> {
        self.file
            .write_all(line(&record).as_bytes())
            .map_err(|e| Error::Output(format!("{}: {e}", self.path.display())))?;
        self.runs.insert(Unit::of(&record), record);
        Ok(())
    }

    /// Is this run there?
    pub fn has(&self, unit: &Unit) -> bool {
        self.runs.contains_key(unit)
    }

    /// This run, if it is there.
    pub fn get(&self, unit: &Unit) -> Option<&Record> {
        self.runs.get(unit)
    }

    /// All runs, by case, discipline and seed.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.runs.values()
    }

    /// The runs of a case and discipline.
    pub fn of<'a>(&'a self, case: usize, discipline: &str) -> impl Iterator<Item = &'a Record> {
        let unit = |seed| Unit { case, discipline: discipline.into(), seed };
        self.runs.range(unit(0)..=unit(u64::MAX)).map(|(_, r)| r)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.runs.len()
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }
}

fn line(record: &Record) -> String {
    // Plain data with text keys: there is no error to give.
    let mut line = serde_json::to_string(record).unwrap_or_default();
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_was_cut_off_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.runs.jsonl");
        let record = |seed| Record {
            case: 3,
            discipline: "codel".into(),
            seed,
            measures: BTreeMap::from([("jain".into(), 0.1 + seed as f64)]),
            curves: BTreeMap::new(),
            flows: Vec::new(),
        };
        let mut store = Store::open(&path, "abc").unwrap();
        (1..=3).for_each(|seed| store.add(record(seed)).unwrap());
        drop(store);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, &text[..text.len() - 9]).unwrap();
        let store = Store::open(&path, "abc").unwrap();
        assert_eq!(store.records().cloned().collect::<Vec<_>>(), [record(1), record(2)]);
        assert_eq!(store.of(3, "codel").count(), 2);
        assert!(Store::open(&path, "another").unwrap().is_empty());
    }
}
