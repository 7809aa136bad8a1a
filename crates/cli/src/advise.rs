//! `advise`: from a line and what it is used for to a queue manager, with what to expect and how to put it on.

use crate::args::Advise;
use crate::compare::{Progress, on_interrupt, unwritable};
use crate::{Failure, cost, doing, print};
use queuewright_engine::{Engine, ItemEvent};
use queuewright_experiments::measures;
use queuewright_report::{new_folder, replace};
use queuewright_scenario::{Flags, RunSpec, Scenario};
use queuewright_suite::advise::{
    Access, Advice, BY_TC, Got, Line, NOW, SET, Table, Use, best_of, judged, scenario, simplest_first,
};
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;

/// Where results go without `--out`.
const BASE: &str = "queuewright-advice";
/// Households on which all are tried, and the first of those on which the best are: none of them chose which these are.
const FIRST: Numbers = 1..=4;
const JUDGED: u64 = 5;
/// The first of those that are kept apart to check the advice.
const APART: u64 = 1001;
/// While these households do not tell all, so many more are made, up to so many, and as long as the work (nanoseconds, as it is reckoned before) of all, and of
/// a set that is kept apart, is below this: 30 s on two cores.
const MORE: u64 = 16;
const MOST: u64 = 64;
const WORK: f64 = 55e9;
/// Numbers of households.
type Numbers = std::ops::RangeInclusive<u64>;

pub fn advise(a: &Advise) -> Result<(), Failure> {
    let access = Access::read(&a.access)?;
    let uses = match &a.uses {
        Some(list) => Use::list(list)?,
        None => Use::ALL.to_vec(),
    };
    let line = Line::new(&a.rate, &a.rtt, access, uses)?;
    let all = candidates(a)?;
    let folder = new_folder(a.out.as_deref().unwrap_or(Path::new(BASE)), "advice").map_err(unwritable)?;
    let stop = on_interrupt()?;
    let run = |numbers: Numbers, labels: &[String], table: &mut Table| {
        households(&line, numbers, labels, a.jobs.count(), &stop, table, &folder)
    };
    doing::now("the households");
    let mut tried = Table::new();
    let mut work = run(FIRST, &all, &mut tried)?;
    let kept = best_of(&tried, &line, &all);
    let (mut table, mut made) = (Table::new(), 0);
    let choice = loop {
        let first = JUDGED + made;
        let of_these = run(first..=first + MORE - 1, &kept, &mut table)?;
        (work, made) = (work + of_these, made + MORE);
        let choice = judged(&table, &line, &kept);
        // These, the next, and a set that is kept apart.
        if !choice.is_open() || made >= MOST || work + 2.0 * of_these > WORK {
            break choice;
        }
    };
    // Held out: the advice stands before these are made.
    let mut apart = Vec::new();
    // A thorough check asks whether the first households have left the best behind, too.
    let all_apart = a.check > 1 || kept.len() == all.len();
    for set in 0..u64::from(a.check) {
        let (first, mut of_set) = (APART + set * SET, Table::new());
        run(first..=first + SET - 1, if all_apart { &all } else { &kept }, &mut of_set)?;
        apart.push(of_set);
    }
    let advice =
        Advice { line: &line, labels: &kept, table: &table, apart: &apart, choice, all_apart, dev: &a.dev };
    let text = advice.words();
    replace(&folder.join("advice.md"), advice.page(&text).as_bytes())
        .map_err(|e| Failure::Run(e.to_string()))?;
    match a.json {
        true => print(&format!("{:#}\n", advice.json())),
        false => print(&format!("{text}\npages: {}\n", folder.join("advice.md").display())),
    }
}

/// Labels, the simplest first: the line as it is, what tc alone can put on, then the others.
fn candidates(a: &Advise) -> Result<Vec<String>, Failure> {
    let asked: Vec<String> = match (&a.aqm, a.tc) {
        (Some(_), true) => {
            return Err(Failure::Input("--aqm and --tc: those named, or those that tc has".into()));
        }
        (Some(list), false) => list.split(',').map(|d| d.trim().to_string()).collect(),
        (None, true) => BY_TC.map(|d| d.0.to_string()).into(),
        (None, false) => {
            let rest = queuewright_aqm::alone().filter(|name| BY_TC.iter().all(|d| d.0 != *name));
            BY_TC.iter().map(|d| d.0).chain(rest).map(String::from).collect()
        }
    };
    for name in &asked {
        if queuewright_aqm::alone().all(|known| known != name) {
            let all: Vec<&str> = queuewright_aqm::alone().collect();
            return Err(Failure::Input(format!(
                "--aqm: {name:?} is no discipline. Allowed: {}",
                all.join(", ")
            )));
        }
    }
    let mut asked = asked;
    simplest_first(&mut asked);
    Ok(std::iter::once(NOW.to_string()).chain(asked).collect())
}

/// Makes the runs of households with these labels, adds what each got, and keeps the scenarios. Gives the work of the runs.
#[allow(clippy::too_many_arguments)]
fn households(
    line: &Line,
    numbers: Numbers,
    labels: &[String],
    jobs: usize,
    stop: &std::sync::Arc<std::sync::atomic::AtomicBool>,
    table: &mut Table,
    folder: &Path,
) -> Result<f64, Failure> {
    let kept = folder.join("households");
    fs::create_dir_all(&kept).map_err(|e| Failure::Run(format!("{}: {e}", kept.display())))?;
    let (mut specs, mut of): (Vec<RunSpec>, Vec<(u64, String)>) = (Vec::new(), Vec::new());
    let list: Vec<&str> = labels.iter().map(String::as_str).filter(|l| *l != NOW).collect();
    for number in numbers {
        for managed in [false, true] {
            let text = scenario(line, number, managed);
            let name = format!("{number}-{}.toml", if managed { "managed" } else { "as-it-is" });
            replace(&kept.join(&name), text.as_bytes()).map_err(|e| Failure::Run(e.to_string()))?;
            let flags = Flags { aqm: managed.then(|| list.join(",")), ..Flags::default() };
            for spec in Scenario::parse_with(&text, &name, &kept, &flags)?.runs()? {
                of.push((number, if managed { spec.discipline.label.clone() } else { NOW.into() }));
                specs.push(spec);
            }
        }
    }
    let mut progress = Progress::new(&specs);
    let mut failed = None;
    Engine::Sim.run_all(&specs, jobs, stop, |i, step| match step {
        ItemEvent::At(at) => progress.at(i, at),
        ItemEvent::Done(Ok(None)) => {}
        ItemEvent::Done(Err(e)) => {
            failed.get_or_insert(format!("household {} with {}: {e}", of[i].0, of[i].1));
            stop.store(true, Ordering::Relaxed);
        }
        ItemEvent::Done(Ok(Some(run))) => {
            progress.done(i);
            let window_s = run.duration_s - run.warmup_s;
            let players = run.flows.iter().filter(|f| f.video.is_some()).count() as f64;
            let got = Got::of(&measures(&run), window_s, players);
            table.entry(of[i].0).or_default().insert(of[i].1.clone(), got);
        }
    });
    progress.end();
    match failed {
        Some(error) => Err(Failure::Run(error)),
        None if stop.load(Ordering::Relaxed) => {
            Err(Failure::Interrupted(format!("interrupted; the households are in {}", kept.display())))
        }
        None => Ok(specs.iter().map(cost::work).sum()),
    }
}
