//! `compare` and `run`: every run of a scenario, and what comes of it.

use crate::args::{EngineArgs, Output};
use crate::jobs::Told;
use crate::words::plural;
use crate::{Failure, doing, print};
use indicatif::{ProgressBar, ProgressStyle};
use queuewright_engine::{Engine, ItemEvent, Observers, header};
use queuewright_report::qlog::{self, QlogFolder};
use queuewright_report::{Folder, TableStyle, answer, table, table_of};
use queuewright_results::events::Observer;
use queuewright_results::measures::by_path;
use queuewright_results::{Results, Run};
use queuewright_scenario::{RunSpec, Scenario};
use queuewright_suite::harm;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{env, process};

/// The folder of results.
pub const BASE: &str = "queuewright-results";

/// Makes the scenario's runs, prints a table or JSON, and writes the folder unless
/// only JSON was asked for. What has finished is kept, whatever happens to the rest.
/// A scenario without a name is `called` what it is here.
pub fn compare(
    scenario: &Scenario,
    called: &str,
    engine: &EngineArgs,
    output: &Output,
    qlog: Option<&Path>,
) -> Result<(), Failure> {
    let specs = scenario.runs()?;
    let all = harm::pairs(&specs, &output.without).map_err(|e| Failure::Input(format!("--without: {e}")))?;
    let engine = Engine::new(&engine.asked(), scenario, &specs)?;
    let logs = qlog.map(|path| log_folder(path, &engine, &specs)).transpose()?;
    let header = header(scenario);
    let mut kept = match (&output.out, output.json) {
        (None, true) => RunStore::Memory(BTreeMap::new()),
        (out, _) => {
            let base = out.as_deref().unwrap_or(Path::new(BASE));
            let name = scenario.name.as_deref().unwrap_or(called);
            RunStore::Folder(Box::new(folder(base, scenario, name, &header, specs.len())?))
        }
    };
    let stop = on_interrupt()?;
    let jobs = output.jobs.count();
    doing::now(&format!("the runs of {called}"));
    let mut progress = Progress::new(&all);
    let mut failed = None;
    let each = if output.without.is_empty() { 1 } else { 2 };
    // Of each pair what has come before the other: the measures of the one without, and the run.
    let mut lone: BTreeMap<usize, BTreeMap<String, f64>> = BTreeMap::new();
    let mut waiting: BTreeMap<usize, Run> = BTreeMap::new();
    let observe = logs.as_ref().map(|logs| {
        let all = &all;
        move |i: usize| match logs.log(&all[i]) {
            Ok(log) => Ok(Box::new(log) as Box<dyn Observer>),
            Err(e) => Err(format!("--qlog: {e}")),
        }
    });
    let observers = observe.as_ref().map(|observe| observe as &Observers<'_>);
    engine.run_all_observed(&all, jobs, &stop, observers, |i, step| {
        let error = match step {
            ItemEvent::At(at) => return progress.at(i, at),
            ItemEvent::Done(Ok(None)) => return,
            ItemEvent::Done(Err(e)) => {
                let spec = &all[i];
                format!("{} with seed {}: {e}", spec.discipline.label, spec.seed)
            }
            ItemEvent::Done(Ok(Some(run))) => {
                progress.done(i, &run);
                let place = i / each;
                if i % each + 1 == each {
                    waiting.insert(place, *run);
                } else {
                    lone.insert(place, by_path(&run));
                }
                if each > 1 && !lone.contains_key(&place) {
                    return;
                }
                let Some(mut run) = waiting.remove(&place) else { return };
                if let Some(alone) = lone.remove(&place) {
                    harm::tell(&specs[place], &alone, &mut run, &output.without);
                }
                match kept.add(place, run) {
                    Ok(()) => return,
                    Err(e) => e.to_string(),
                }
            }
        };
        failed.get_or_insert(error);
        stop.store(true, Ordering::Relaxed);
    });
    progress.end();

    let (results, report) = kept.finish(header)?;
    let finished = results.runs.len();
    let mut no_column = None;
    if output.json {
        print(&results.to_json())?;
    } else if finished > 0 {
        match output.columns.as_slice() {
            [] => print(&table(&results, terminal()))?,
            columns => {
                let (table, unmeasured) = table_of(&results, columns, terminal());
                print(&table)?;
                no_column = (unmeasured.len() == columns.len()).then(|| nowhere(&unmeasured[0], &results));
                if no_column.is_none() {
                    unmeasured.iter().for_each(|path| eprintln!("note: {}", nowhere(path, &results)));
                }
            }
        }
        if finished < specs.len() {
            print(&format!(
                "incomplete: {finished} of {} runs finished; each row is over those\n",
                specs.len()
            ))?;
        }
    }
    if !output.json {
        for sentence in answer(&results) {
            print(&format!("\n{sentence}"))?;
        }
        if finished > 0 {
            print("\n")?;
        }
    }
    if let (Some(path), false) = (&report, output.json) {
        print(&format!("\nreport: {}\n", path))?;
    }
    let finished = format!("{finished} of {} finished", plural(specs.len(), "run"));
    match failed {
        Some(error) => Err(Failure::Run(format!("{error}; {finished}"))),
        None if stop.load(Ordering::Relaxed) => Err(Failure::Interrupted(format!("interrupted; {finished}"))),
        None => no_column.map_or(Ok(()), |why| Err(Failure::Input(why))),
    }
}

/// The folder of the runs' event logs, if the engine has any.
fn log_folder(path: &Path, engine: &Engine, specs: &[RunSpec]) -> Result<QlogFolder, Failure> {
    if matches!(engine, Engine::Linux(_)) {
        return Err(Failure::Input("--qlog: a kernel tells no events; leave out --engine linux".into()));
    }
    let most = specs.iter().map(qlog::senders).max().unwrap_or(0);
    if most > qlog::MOST_SENDERS {
        return Err(Failure::Input(format!(
            "--qlog: {most} senders in a run; at most {} are logged",
            qlog::MOST_SENDERS
        )));
    }
    QlogFolder::create(path).map_err(|e| Failure::Input(format!("--qlog: {e}")))
}

/// What is said of a measure that no run has: the nearest that some have.
fn nowhere(path: &str, results: &Results) -> String {
    let alike = |of: &String| strsim::jaro_winkler(of, path);
    let all: BTreeSet<String> = results.runs.iter().flat_map(|run| by_path(run).into_keys()).collect();
    let mut near: Vec<&String> = all.iter().filter(|of| alike(of) > 0.8).collect();
    near.sort_by(|a, b| alike(b).total_cmp(&alike(a)));
    near.truncate(5);
    let near: Vec<&str> = near.into_iter().map(String::as_str).collect();
    match near.as_slice() {
        [] => format!("--columns: no run has {path:?}; the report has a table of all that there are"),
        near => format!("--columns: no run has {path:?}; there are {}", near.join(", ")),
    }
}

/// Where finished runs go.
enum RunStore {
    /// By place in the scenario: for JSON alone.
    Memory(BTreeMap<usize, Run>),
    Folder(Box<Folder>),
}

impl RunStore {
    fn add(&mut self, place: usize, mut run: Run) -> Result<(), queuewright_report::Error> {
        match self {
            RunStore::Memory(runs) => {
                run.detail = Default::default();
                runs.insert(place, run);
                Ok(())
            }
            RunStore::Folder(folder) => folder.add_run(place, run),
        }
    }

    /// All of them in the scenario's order, and the report's path.
    fn finish(self, header: Results) -> Result<(Results, Option<String>), Failure> {
        match self {
            RunStore::Memory(runs) => {
                let runs = runs.into_values().collect();
                Ok((Results { runs, ..header }, None))
            }
            RunStore::Folder(mut folder) => {
                let report = folder.finish().map_err(|e| Failure::Run(e.to_string()))?;
                let report = report.display().to_string();
                Ok((folder.results().clone(), Some(report)))
            }
        }
    }
}

/// Results that cannot be written: another place may be named, or the disk is full, which no other words mend.
pub fn unwritable(e: queuewright_report::Error) -> Failure {
    use io::ErrorKind::{
        AlreadyExists, IsADirectory, NotADirectory, NotFound, PermissionDenied, ReadOnlyFilesystem,
    };
    let place = [NotFound, NotADirectory, IsADirectory, PermissionDenied, AlreadyExists, ReadOnlyFilesystem];
    let message = format!("--out: {e}");
    match place.contains(&e.source.kind()) {
        true => Failure::Input(message),
        false => Failure::Run(message),
    }
}

/// A new dated folder under `base` that stands alone: traces and policies are copied into it.
///
/// # Errors
/// When it cannot be made, or a file that the scenario names cannot be read.
pub fn folder(
    base: &Path,
    scenario: &Scenario,
    name: &str,
    header: &Results,
    total: usize,
) -> Result<Folder, Failure> {
    let (copy, files) = scenario.standing_alone();
    // Before `latest` leads elsewhere: the scenario may be read from there.
    let opened = files.iter().map(|(name, file)| {
        let content = file.open().map_err(|e| Failure::Run(format!("{}: {e}", file.path.display())))?;
        Ok((name, content))
    });
    let opened: Vec<_> = opened.collect::<Result<_, Failure>>()?;
    let mut folder = Folder::create(base, name, &copy.to_toml(), header, total).map_err(unwritable)?;
    for (name, content) in opened {
        folder.add_file(name, content).map_err(|e| Failure::Run(e.to_string()))?;
    }
    Ok(folder)
}

/// Colour and width of the table on this standard output.
fn terminal() -> TableStyle {
    if !io::stdout().is_terminal() {
        return TableStyle::default();
    }
    TableStyle {
        color: env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
        width: terminal_size::terminal_size().map(|(w, _)| w.0.into()),
    }
}

/// What Ctrl-C (or SIGTERM) sets; a second one ends the program at once.
pub fn on_interrupt() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        if set.swap(true, Ordering::Relaxed) {
            process::exit(130);
        }
    })
    .map_err(|e| Failure::Run(format!("Ctrl-C cannot be caught: {e}")))?;
    Ok(stop)
}

/// A bar on a terminal; nothing elsewhere. It counts simulated milliseconds of all runs.
pub struct Progress {
    bar: ProgressBar,
    /// Length of each run, simulated ms.
    run_ms: Vec<f64>,
    /// How far each run has got, simulated ms.
    at_ms: Vec<u64>,
    done: usize,
    told: Told,
}

impl Progress {
    pub fn new(specs: &[RunSpec]) -> Self {
        let run_ms: Vec<f64> = specs.iter().map(|s| s.duration_ns as f64 / 1e6).collect();
        let bar = ProgressBar::new(run_ms.iter().sum::<f64>() as u64);
        let style = "[{wide_bar}] {percent:>3}%  {msg}  {speed}  {eta} left";
        if let Ok(style) = ProgressStyle::with_template(style) {
            let speed = |state: &indicatif::ProgressState, w: &mut dyn std::fmt::Write| {
                let _ = write!(w, "{:.0} x real time", state.per_sec() / 1e3);
            };
            bar.set_style(style.with_key("speed", speed).progress_chars("=> "));
        }
        bar.set_message(format!("0/{} runs", specs.len()));
        let told = Told::begin(specs.len());
        Progress { bar, run_ms, at_ms: vec![0; specs.len()], done: 0, told }
    }

    pub fn at(&mut self, item: usize, at: f64) {
        let now = (self.run_ms[item] * at.clamp(0.0, 1.0)) as u64;
        self.bar.inc(now.saturating_sub(self.at_ms[item]));
        self.at_ms[item] = self.at_ms[item].max(now);
        self.told.at(&self.bar);
    }

    pub fn done(&mut self, item: usize, run: &Run) {
        self.told.done(Some(run));
        self.at(item, 1.0);
        self.done += 1;
        self.bar.set_message(format!("{}/{} runs", self.done, self.at_ms.len()));
    }

    /// For what is printed meanwhile.
    pub fn aside(&self, work: impl FnOnce()) {
        self.bar.suspend(work);
    }

    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}
