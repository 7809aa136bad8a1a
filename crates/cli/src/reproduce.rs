//! `reproduce`: experiments, from their list to pictures and verdicts.

use crate::args::Reproduce;
use crate::compare::on_interrupt;
use crate::compare::unwritable;
use crate::jobs::Told;
use crate::words::plural;
use crate::{Failure, cost, doing, print};
use indicatif::{ProgressBar, ProgressStyle};
use queuewright_engine::{ItemEvent, fitting, run_all};
use queuewright_experiments::{
    Catalogue, Error, Experiment, Null, NullRuns, Options, Outcome, Plan, Record, Store, Unit, Verdict,
    figure_of, finish, missed, summary,
};
use queuewright_report::{new_folder, replace};
use queuewright_scenario::read_text;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Where results go without `--out`.
pub const BASE: &str = "queuewright-reproduced";
/// What a folder remembers of how it was asked for.
const ASKED: &str = "reproduce.json";

impl From<Error> for Failure {
    fn from(e: Error) -> Failure {
        match e {
            Error::Input(text) => Failure::Input(text),
            Error::Output(text) => Failure::Run(text),
        }
    }
}

/// Lists experiments, makes those asked for, or goes on with a folder.
pub fn reproduce(args: &Reproduce) -> Result<(), Failure> {
    let catalogue = Catalogue::embedded()?;
    let jobs = args.jobs.count();
    let base = args.out.as_deref().unwrap_or(Path::new(BASE));
    if args.resume {
        let (folder, asked): (_, Asked) = resumed(base, ASKED)?;
        let experiments = asked.experiments(&catalogue).map_err(|e| not_resumed(&folder.join(ASKED), &e))?;
        return make(&folder, experiments, asked.options, jobs);
    }
    let options = Options { quick: args.quick, seeds: args.runs, nulls: args.null, causes: args.causes };
    let mut asked = Asked { names: args.names.clone(), options };
    if !args.all && asked.names.is_empty() {
        return list(&catalogue, options, jobs);
    }
    if let (true, [name, ..]) = (args.all, asked.names.as_slice()) {
        let name = name.escape_debug();
        return Err(Failure::Input(format!("--all and \"{name}\": all experiments, or those named")));
    }
    doing::now(&format!("reading {}", asked.names.join(", ")));
    let experiments = asked.experiments(&catalogue).map_err(Failure::Input)?;
    let name = match args.names.as_slice() {
        [] => "all".into(),
        [one] => one.trim_matches(['/', '.']).replace('/', "-"),
        [..] => "several".into(),
    };
    let name = if args.quick { format!("{name}-quick") } else { name };
    let folder = new_folder(base, &name).map_err(unwritable)?;
    asked.names = args.names.iter().map(|n| absolute(n)).collect();
    let text = json!({"names": asked.names, "options": options, "version": env!("CARGO_PKG_VERSION")});
    replace(&folder.join(ASKED), format!("{text:#}\n").as_bytes()).map_err(unwritable)?;
    make(&folder, experiments, options, jobs)
}

/// What is asked for, by flags or by what a folder remembers of them.
#[derive(serde::Deserialize)]
struct Asked {
    /// None: all experiments.
    names: Vec<String>,
    options: Options,
}

impl Asked {
    /// Those that are meant; or why there are none.
    fn experiments(&self, catalogue: &Catalogue) -> Result<Vec<Experiment>, String> {
        if self.options.seeds.is_some_and(|n| n == 0) {
            return Err("seeds: 0 is no number of seeds; write 1 to 65535".into());
        }
        match self.names.as_slice() {
            [] => Ok(catalogue.experiments.clone()),
            // A name that was no folder then may be one in this place: the program's own come first.
            names => catalogue.select(names).map_err(|e| e.to_string()),
        }
    }
}

/// A folder's name, or that of one of its figures, so that it is found from elsewhere; other names as they are.
fn absolute(name: &str) -> String {
    let whole = match figure_of(name) {
        Some((folder, one)) => fs::canonicalize(folder).ok().map(|folder| folder.join(one)),
        None => fs::canonicalize(name).ok().filter(|path| path.is_dir()),
    };
    whole.map_or(name.into(), |path| path.display().to_string())
}

/// The newest folder below `base`, and what it was asked for, of the file of that name.
pub fn resumed<T: DeserializeOwned>(base: &Path, name: &str) -> Result<(PathBuf, T), Failure> {
    let link = base.join("latest");
    let folder = fs::canonicalize(&link).map_err(|_| {
        Failure::Input(format!("--resume: there is nothing to go on with: no folder {}", link.display()))
    })?;
    let path = folder.join(name);
    let text = read_text(&path, queuewright_scenario::limits::RESUMED.bytes);
    let text = text.map_err(|e| not_resumed(&path, &e))?;
    let asked = serde_json::from_str(&text).map_err(|e| not_resumed(&path, &e))?;
    Ok((folder, asked))
}

/// Why it cannot be gone on with, and what to do.
fn not_resumed(path: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::Input(format!("--resume: {}: {why}; begin anew, without --resume", path.display()))
}

/// The table of experiments with what they cost.
fn list(catalogue: &Catalogue, options: Options, jobs: usize) -> Result<(), Failure> {
    let speed = cost::work_per_s() * jobs as f64;
    let mut out = String::new();
    let width = catalogue.experiments.iter().map(|e| e.id().len()).max().unwrap_or(0);
    let mut whole = 0.0;
    let mut paper = "";
    for e in &catalogue.experiments {
        if e.paper != paper {
            let _ = writeln!(out, "{}{}", if paper.is_empty() { "" } else { "\n" }, e.figure.source);
            paper = &e.paper;
        }
        // Samples read the scenarios' files again, of each seed.
        let (plan, samples) = unpacked(e, |folder| {
            let plan = Plan::new(e.clone(), folder, options)?;
            let samples = plan.samples()?;
            Ok((plan, samples))
        })?;
        let seconds = samples.iter().map(|(spec, runs)| cost::work(spec) * runs / speed).sum::<f64>();
        whole += seconds;
        let _ = writeln!(
            out,
            "  {:width$}  {:>6} runs  {:>8}  {}: {}",
            e.id(),
            plan.expected_runs(),
            cost::time(seconds),
            e.figure.figure,
            e.figure.title
        );
    }
    let _ = writeln!(
        out,
        "\n{}, about {} in all with {}; queuewright reproduce NAME makes one, or a paper's, --all all",
        plural(catalogue.experiments.len(), "experiment"),
        cost::time(whole),
        plural(jobs, "run") + " at a time",
    );
    print(&out)
}

/// Does something where an experiment's files lie; those that need none lie nowhere.
fn unpacked<T>(e: &Experiment, f: impl FnOnce(&Path) -> Result<T, Error>) -> Result<T, Failure> {
    if !e.needs_files() {
        return Ok(f(Path::new(""))?);
    }
    let folder = tempfile::tempdir()
        .map_err(|e| Failure::Run(format!("no temporary folder: {e}; TMPDIR names where one may be made")))?;
    e.unpack(folder.path())?;
    Ok(f(folder.path())?)
}

/// Makes what is still to make of experiments, and what comes of them.
fn make(folder: &Path, experiments: Vec<Experiment>, options: Options, jobs: usize) -> Result<(), Failure> {
    // An experiment's own runs, and behind them those of its variants, with the place of its own.
    let (mut plans, mut stores, mut variants) = (Vec::new(), Vec::new(), Vec::new());
    let mut before: Option<Experiment> = None;
    for e in experiments {
        let own = folder.join(&e.paper);
        doing::now(&format!("reading {}", e.id()));
        // The same data once.
        match before.as_ref().is_some_and(|before| before.shares_files(&e)) {
            true => e.unpack_texts(&own)?,
            false => e.unpack(&own)?,
        }
        before = Some(e.clone());
        let plan = Plan::new(e, &own, options)?;
        let store = kept(&plan, None, &own)?;
        let at = plans.len();
        // Without claims there is nothing to refute.
        let wanted = options.nulls && !plan.experiment.figure.claims.is_empty();
        let nulls: Vec<Null> =
            plan.experiment.nulls.iter().filter(|n| wanted && n.kind.is_none()).cloned().collect();
        let mut of_nulls = Vec::new();
        for null in nulls {
            if let Some(its) = plan.of_null(&null, &own)? {
                let store = kept(&its, Some(&null), &own)?;
                of_nulls.push((Some((at, null)), its, store));
            }
        }
        for (variant, plan, store) in [(None, plan, store)].into_iter().chain(of_nulls) {
            variants.push(variant);
            plans.push(plan);
            stores.push(store);
        }
    }
    let named: Vec<String> = plans.iter().take(4).map(|plan| plan.experiment.id()).collect();
    doing::now(&format!("the runs of {}", named.join(", ")));
    let stop = on_interrupt()?;
    let mut progress = Progress::new();
    let (mut failed, mut causes) = (None, options.causes);
    // Seeds are added until means are known: each round makes what the last one showed to be needed.
    while failed.is_none() && !stop.load(Ordering::Relaxed) {
        let units = round(&plans, &stores, &variants)?;
        if units.is_empty() {
            // What does not hold shows only now: only that is tried with the possible causes.
            if !std::mem::take(&mut causes) {
                break;
            }
            for at in (0..plans.len()).filter(|at| variants[*at].is_none()).collect::<Vec<_>>() {
                let own = folder.join(&plans[at].experiment.paper);
                let missed = missed(&plans[at], &stores[at]);
                for cause in plans[at]
                    .experiment
                    .nulls
                    .iter()
                    .filter(|n| n.kind.is_some())
                    .cloned()
                    .collect::<Vec<_>>()
                {
                    let its = plans[at].of_null(&cause, &own)?.map(|plan| plan.only(&missed));
                    if let Some(its) = its.filter(|plan| !plan.is_empty()) {
                        stores.push(kept(&its, Some(&cause), &own)?);
                        plans.push(its);
                        variants.push(Some((at, cause)));
                    }
                }
            }
            continue;
        }
        progress.more(&units);
        let most = units.iter().map(|(plan, unit, _)| plans[*plan].memory_bytes(unit)).max().unwrap_or(0);
        let jobs = fitting(jobs, units.len(), most);
        let work = |i: usize, at: &dyn Fn(f64)| -> Result<Option<Record>, String> {
            let (plan, unit) = (&plans[units[i].0], &units[i].1);
            let spec = plan.spec(unit).map_err(|e| e.to_string())?;
            match queuewright_sim::run(&spec, &stop, at) {
                Ok(run) => Ok(Some(Record::of(unit, &spec, &run, &plan.experiment.figure))),
                Err(queuewright_sim::Error::Stopped) => Ok(None),
                Err(e) => Err(format!("{}, {unit:?}: {e}", plan.experiment.id())),
            }
        };
        run_all(units.len(), jobs, &stop, work, |i, step| {
            let error = match step {
                ItemEvent::At(at) => return progress.at(i, at),
                ItemEvent::Done(Ok(None)) => return,
                ItemEvent::Done(Err(e)) => e,
                ItemEvent::Done(Ok(Some(record))) => {
                    progress.done(i);
                    match stores[units[i].0].add(record) {
                        Ok(()) => return,
                        Err(e) => e.to_string(),
                    }
                }
            };
            failed.get_or_insert(error);
            stop.store(true, Ordering::Relaxed);
        });
    }
    progress.end();

    let mut outcomes = Vec::new();
    for (i, (plan, store)) in plans.iter().zip(&stores).enumerate() {
        if variants[i].is_some() || store.is_empty() {
            continue;
        }
        let its = variants.iter().zip(plans.iter().zip(&stores)).filter_map(|(variant, (plan, store))| {
            variant.as_ref().filter(|(of, _)| *of == i).map(|(_, null)| NullRuns { null, plan, store })
        });
        outcomes.push(finish(plan, store, &its.collect::<Vec<_>>(), &folder.join(&plan.experiment.paper))?);
    }
    summary(&outcomes, folder)?;
    print(&verdicts(&outcomes))?;
    print(&format!("\nsummary: {}\n", folder.join("index.html").display()))?;
    let runs: usize = stores.iter().map(Store::len).sum();
    let finished = format!("{} finished; go on with --resume", plural(runs, "run"));
    match failed {
        Some(error) => Err(Failure::Run(format!("{error}; {finished}"))),
        None if stop.load(Ordering::Relaxed) => Err(Failure::Interrupted(format!("interrupted; {finished}"))),
        None => Ok(()),
    }
}

/// The runs that are kept of an experiment, or of a variant of it.
fn kept(plan: &Plan, variant: Option<&Null>, own: &Path) -> Result<Store, Error> {
    let (name, hash) = (&plan.experiment.name, plan.experiment.hash());
    let quick = if plan.options.quick { "-quick" } else { "" };
    let (file, of) = match variant {
        None => (String::new(), String::new()),
        Some(null) => {
            let what = if null.kind.is_some() { "cause" } else { "null" };
            (format!(".{what}-{}", null.name), format!("-{}", null.hash()))
        }
    };
    Store::open(&own.join(format!("{name}{file}.runs.jsonl")), &format!("{hash}{quick}{of}"))
}

/// Every run that is known to be needed, with its work; the longest first, so that none is left alone at the end.
fn round(
    plans: &[Plan],
    stores: &[Store],
    variants: &[Option<(usize, Null)>],
) -> Result<Vec<(usize, Unit, f64)>, Failure> {
    let mut units = Vec::new();
    for (i, (plan, store)) in plans.iter().zip(stores).enumerate() {
        let mut work: Vec<Option<f64>> = vec![None; plan.cases.len()];
        let pending = match &variants[i] {
            Some((right, _)) => plan.pending_of_null(&stores[*right], store),
            None => plan.pending(store),
        };
        for unit in pending {
            let known = work[unit.case];
            let known = match known {
                Some(known) => known,
                None => cost::work(&plan.spec(&unit)?),
            };
            work[unit.case] = Some(known);
            units.push((i, unit, known));
        }
    }
    units.sort_by(|a, b| b.2.total_cmp(&a.2));
    Ok(units)
}

/// A line for each experiment, and one for each claim that does not hold.
fn verdicts(outcomes: &[Outcome]) -> String {
    let mut out = String::new();
    for o in outcomes {
        let of = |v: Verdict| o.claims.iter().filter(|c| c.verdict == v).count();
        let _ = write!(out, "{}: {} of {} hold", o.id, of(Verdict::Holds), plural(o.claims.len(), "claim"),);
        let _ = match of(Verdict::Unsure) {
            0 => writeln!(out),
            n => writeln!(out, ", {n} cannot be told"),
        };
        for c in o.claims.iter().filter(|c| c.verdict != Verdict::Holds) {
            let _ = writeln!(
                out,
                "  {}: {} (published {}, measured {})",
                c.verdict.words(),
                c.text,
                c.published,
                c.measured
            );
        }
    }
    out
}

/// A bar on a terminal; nothing elsewhere. It counts packets.
struct Progress {
    bar: ProgressBar,
    /// Work of each unit of this round, and what of it is done.
    units: Vec<(f64, f64)>,
    done: usize,
    total: usize,
    told: Told,
}

impl Progress {
    fn new() -> Progress {
        let bar = ProgressBar::new(0);
        let style = "[{wide_bar}] {percent:>3}%  {msg}  {speed}  {eta} left";
        if let Ok(style) = ProgressStyle::with_template(style) {
            let speed = |state: &indicatif::ProgressState, w: &mut dyn std::fmt::Write| {
                let _ = write!(w, "{:.1} M packets/s", state.per_sec() / 1e6);
            };
            bar.set_style(style.with_key("speed", speed).progress_chars("=> "));
        }
        Progress { bar, units: Vec::new(), done: 0, total: 0, told: Told::begin(0) }
    }

    fn more(&mut self, units: &[(usize, Unit, f64)]) {
        self.units = units.iter().map(|(_, _, work)| (*work, 0.0)).collect();
        self.total += units.len();
        self.told.more(units.len());
        self.bar.inc_length(self.units.iter().map(|(work, _)| *work as u64).sum());
        self.say();
    }

    fn at(&mut self, i: usize, at: f64) {
        let (work, done) = &mut self.units[i];
        let now = *work * at.clamp(0.0, 1.0);
        if now > *done {
            self.bar.inc(now as u64 - *done as u64);
            *done = now;
        }
        self.told.at(&self.bar);
    }

    fn done(&mut self, i: usize) {
        self.told.done(None);
        self.at(i, 1.0);
        self.done += 1;
        self.say();
    }

    fn say(&self) {
        self.bar.set_message(format!("{}/{} runs", self.done, self.total));
    }

    fn end(&self) {
        self.bar.finish_and_clear();
    }
}
