//! `suite`: disciplines on a suite of scenarios, to scores and scorecards.

use crate::args::Suite as Args;
use crate::compare::{Progress, on_interrupt, unwritable};
use crate::reproduce::resumed;
use crate::words::plural;
use crate::{Failure, cost, doing, print};
use queuewright_engine::{Engine, ItemEvent};
use queuewright_experiments::{Record, Store};
use queuewright_report::{new_folder, replace};
use queuewright_results::Run;
use queuewright_results::measures::by_path;
use queuewright_scenario::{RunSpec, own};
use queuewright_suite::{Options, Plan, Scores, Suite, Unit, findings, harm, list, pages, pictures, table};
use serde_json::json;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where results go without `--out`.
pub const BASE: &str = "queuewright-suites";
/// What a folder remembers of how it was asked for.
const ASKED: &str = "suite.json";
/// Where its runs are kept.
const RUNS: &str = "runs.jsonl";
/// Where the scenarios are in it.
const SCENARIOS: &str = "scenarios";

impl From<queuewright_suite::Error> for Failure {
    fn from(e: queuewright_suite::Error) -> Failure {
        Failure::Input(e.0)
    }
}

/// What is asked for, by flags or by what a folder remembers of them.
#[derive(serde::Serialize, serde::Deserialize)]
struct Asked {
    suite: String,
    options: Options,
}

/// Lists suites, runs one, or goes on with a folder.
pub fn suite(args: &Args) -> Result<(), Failure> {
    match opened(args)? {
        None => print(&listed(args.jobs.count())?),
        Some((folder, suite, options)) => make(args, &folder, suite, options),
    }
}

/// The folder of results, the suite, and how it is to be run, of a new run or of one that goes on; none: no suite is named.
fn opened(args: &Args) -> Result<Option<(PathBuf, Suite, Options)>, Failure> {
    let base = args.out.as_deref().unwrap_or(Path::new(BASE));
    if args.resume {
        let (folder, asked): (PathBuf, Asked) = resumed(base, ASKED)?;
        // The folder may be anybody's, too.
        for (key, named) in [("aqm", &asked.options.aqm), ("cca", &asked.options.cca)] {
            own::ask(named.as_deref().unwrap_or_default()).map_err(|e| {
                Failure::Input(format!("{}: options.{key}: {e}", folder.join(ASKED).display()))
            })?;
        }
        return Ok(Some((folder, Suite::open(&asked.suite)?, asked.options)));
    }
    let Some(name) = &args.name else { return Ok(None) };
    doing::now(&format!("reading {name}"));
    let options =
        Options { aqm: args.aqm.clone(), cca: args.cca.clone(), seeds: args.runs, quick: args.quick };
    let suite = Suite::open(name)?;
    // Wrong words make no folder of results.
    let (looked_at, mut looked) = (temporary()?, suite.clone());
    looked.unpack(looked_at.path()).map_err(|e| Failure::Run(e.to_string()))?;
    Plan::new(looked, options.clone())?;
    let folder = new_folder(base, &suite.name).map_err(unwritable)?;
    // A folder of the user's by a name that is found from elsewhere.
    let own = (!suite.folder.as_os_str().is_empty()).then(|| fs::canonicalize(&suite.folder).ok()).flatten();
    let asked = Asked {
        suite: own.map_or(suite.name.clone(), |path| path.display().to_string()),
        options: options.clone(),
    };
    let text = format!("{:#}\n", json!(asked));
    replace(&folder.join(ASKED), text.as_bytes()).map_err(unwritable)?;
    Ok(Some((folder, suite, options)))
}

/// The plans whose runs a suite needs, each with the file in which they are kept: with a control under test also what the others have
/// beside the control in the files, and without the groups under test.
fn plans(suite: &Suite, options: &Options) -> Result<Vec<(&'static str, Plan)>, Failure> {
    let mut plans = vec![(RUNS, Plan::new(suite.clone(), options.clone())?)];
    if options.cca.is_some() {
        let files = || Plan::new(suite.clone(), Options { cca: None, ..options.clone() });
        plans.extend([("before.jsonl", files()?.beside()), ("alone.jsonl", files()?.alone())]);
    }
    Ok(plans)
}

/// Runs of a suite that are made elsewhere, in other processes: once they are here, `--resume` has nothing left to run.
#[derive(Debug)]
pub struct Elsewhere {
    stores: Vec<Store>,
    /// Each with the place of its store, the longest first.
    units: Vec<(usize, Unit)>,
}

impl Elsewhere {
    /// What a command line still needs; the name of a suite, or `--resume`, is among its words.
    ///
    /// # Errors
    /// What the command itself would refuse.
    pub fn of(args: &Args) -> Result<Elsewhere, Failure> {
        let Some((folder, mut suite, options)) = opened(args)? else {
            return Err(Failure::Input("suite: name one, such as rfc7928".into()));
        };
        unpack(&mut suite, &folder)?;
        let (mut stores, mut units) = (Vec::new(), Vec::new());
        for (name, plan) in plans(&suite, &options)? {
            let store = kept(args, &folder, name, &plan)?;
            units.extend(plan.pending(&store)?.into_iter().map(|unit| (stores.len(), unit)));
            stores.push(store);
        }
        units.sort_by_cached_key(|(_, unit)| std::cmp::Reverse(cost::work(&unit.spec) as u64));
        Ok(Elsewhere { stores, units })
    }

    /// The runs.
    pub fn specs(&self) -> Vec<RunSpec> {
        self.units.iter().map(|(_, unit)| unit.spec.clone()).collect()
    }

    /// Keeps a run, by its place among [`Elsewhere::specs`].
    ///
    /// # Errors
    /// It cannot be written, or there is no such place.
    pub fn add(&mut self, at: usize, run: &Run) -> Result<(), Failure> {
        let (store, unit) = self.units.get(at).ok_or_else(|| Failure::Run(format!("no run {at}")))?;
        keep(&mut self.stores[*store], unit, run).map_err(Failure::Run)
    }
}

/// The suites with what they cost.
fn listed(jobs: usize) -> Result<String, Failure> {
    let speed = cost::work_per_s() * jobs as f64;
    let mut out = String::new();
    let all = list()?;
    let width = all.iter().map(|s| s.name.len()).max().unwrap_or(0);
    for mut suite in all {
        let folder = temporary()?;
        suite.unpack(folder.path()).map_err(|e| Failure::Run(e.to_string()))?;
        let one = Options { aqm: Some("droptail".into()), quick: true, ..Options::default() };
        let plan = Plan::new(suite, one)?;
        let mut seconds = 0.0;
        for scenario in &plan.scenarios {
            seconds += scenario.runs()?.iter().map(cost::work).sum::<f64>() / speed;
        }
        let _ = writeln!(
            out,
            "  {:width$}  {:>12}  {:>8} a discipline  {}",
            plan.suite.name,
            plural(plan.scenarios.len(), "scenario"),
            cost::time(3.0 * seconds),
            plan.suite.about.title
        );
    }
    let _ =
        writeln!(out, "\nqueuewright suite NAME runs one on every discipline; --aqm codel,titrate on some");
    Ok(out)
}

fn temporary() -> Result<tempfile::TempDir, Failure> {
    tempfile::tempdir()
        .map_err(|e| Failure::Run(format!("no temporary folder: {e}; TMPDIR names where one may be made")))
}

/// Makes what is still to make, and what comes of it.
fn make(args: &Args, folder: &Path, mut suite: Suite, options: Options) -> Result<(), Failure> {
    unpack(&mut suite, folder)?;
    let stop = on_interrupt()?;
    let (mut stores, mut failed) = (Vec::new(), None);
    let plans = plans(&suite, &options)?;
    for (name, plan) in &plans {
        let mut store = kept(args, folder, name, plan)?;
        if failed.is_none() && !stop.load(Ordering::Relaxed) {
            failed = runs(args, plan, &mut store, &stop)?;
        }
        stores.push(store);
    }
    let (plan, store) = (&plans[0].1, &stores[0]);
    if !store.is_empty() {
        let scores = Scores::of(plan, store)?;
        let harms = match (&options.cca, stores.as_slice()) {
            (Some(_), [with, before, alone]) => {
                Some(harm::harms(plan, &harm::Stores { alone, before, with })?)
            }
            _ => None,
        };
        let mut texts = pages(plan, store, &scores, harms.as_deref());
        texts.extend(pictures(plan, store, &scores)?);
        let mut said = table(plan, store, &scores);
        let mut missing = 0;
        for ((_, plan), store) in plans.iter().zip(&stores) {
            missing += plan.pending(store)?.len();
        }
        if missing > 0 {
            let _ = writeln!(
                said,
                "incomplete: {} not there; what is said is of those that are",
                plural(missing, "run")
            );
        }
        let found = findings::judged(plan, store);
        let mut json = json!({"standings": scores.standings});
        if !found.is_empty() {
            said = format!("{}\n\n{said}", findings::words(&found));
            json["findings"] = json!(found);
        }
        if let (Some(control), Some(harms)) = (&options.cca, harms) {
            said = format!("{}\n\n{said}", harm::words(&harms, control));
            json["harm"] = json!(harms);
        }
        for (name, text) in texts {
            let path = folder.join(name);
            if let Some(above) = path.parent() {
                fs::create_dir_all(above).map_err(|e| Failure::Run(format!("{}: {e}", above.display())))?;
            }
            replace(&path, text.as_bytes()).map_err(|e| Failure::Run(e.to_string()))?;
        }
        print(&if args.json { format!("{json:#}\n") } else { said })?;
    }
    if store.is_empty() && failed.is_none() && !stop.load(Ordering::Relaxed) {
        return Err(Failure::Input(format!("{}: nothing of it can be run by this engine", plan.suite.name)));
    }
    if !store.is_empty() && !args.json {
        print(&format!("\npages: {}\n", folder.join("index.md").display()))?;
    }
    let finished = format!("{} finished; go on with --resume", plural(store.len(), "run"));
    match failed {
        Some(error) => Err(Failure::Run(format!("{error}; {finished}"))),
        None if stop.load(Ordering::Relaxed) => Err(Failure::Interrupted(format!("interrupted; {finished}"))),
        None => Ok(()),
    }
}

/// A suite's scenarios in the folder of its results.
fn unpack(suite: &mut Suite, folder: &Path) -> Result<(), Failure> {
    let at = folder.join(SCENARIOS);
    suite.unpack(&at).map_err(|e| Failure::Run(format!("{}: {e}", at.display())))
}

/// The runs that are kept of a plan.
fn kept(args: &Args, folder: &Path, name: &str, plan: &Plan) -> Result<Store, Failure> {
    let linux = if args.engine.asked().linux { "-linux" } else { "" };
    Ok(Store::open(&folder.join(name), &format!("{}{linux}", plan.hash()))?)
}

/// Keeps a run, or says why it cannot.
fn keep(store: &mut Store, unit: &Unit, run: &Run) -> Result<(), String> {
    store.add(Record::plain(&unit.kept_as(), by_path(run))).map_err(|e| e.to_string())
}

/// Makes what is still to make of a plan; gives why it ended early, if it did.
fn runs(
    args: &Args,
    plan: &Plan,
    store: &mut Store,
    stop: &Arc<AtomicBool>,
) -> Result<Option<String>, Failure> {
    let asked = args.engine.asked();
    let mut units = plan.pending(store)?;
    // The longest first, so that none is left alone at the end.
    units.sort_by_cached_key(|unit| std::cmp::Reverse(cost::work(&unit.spec) as u64));
    let of = |units: &[Unit], member: usize| -> Vec<RunSpec> {
        units.iter().filter(|u| u.member == member).map(|u| u.spec.clone()).collect()
    };
    // What the kernel cannot do is said, and left out.
    for (i, scenario) in plan.scenarios.iter().enumerate().filter(|_| asked.linux) {
        if let Err(e) = asked.can(scenario, &of(&units, i)) {
            eprintln!("note: left out: {}: {e}", plan.suite.members[i].name);
            units.retain(|unit| unit.member != i);
        }
    }
    let Some(first) = units.first() else { return Ok(None) };
    let specs: Vec<RunSpec> = units.iter().map(|unit| unit.spec.clone()).collect();
    doing::now(&format!("the runs of {}", plan.suite.name));
    let mut progress = Progress::new(&specs);
    let mut failed = None;
    let engine = Engine::new(&asked, &plan.scenarios[first.member], &of(&units, first.member))?;
    engine.run_all(&specs, args.jobs.count(), stop, |i, step| {
        let unit = &units[i];
        let error = match step {
            ItemEvent::At(at) => return progress.at(i, at),
            ItemEvent::Done(Ok(None)) => return,
            ItemEvent::Done(Err(e)) => {
                let name = &plan.suite.members[unit.member].name;
                format!("{name}, {} with seed {}: {e}", unit.spec.discipline.label, unit.spec.seed)
            }
            ItemEvent::Done(Ok(Some(run))) => {
                progress.done(i, &run);
                match keep(store, unit, &run) {
                    Ok(()) => return,
                    Err(e) => e,
                }
            }
        };
        failed.get_or_insert(error);
        stop.store(true, Ordering::Relaxed);
    });
    progress.end();
    Ok(failed)
}
