//! `advise`: from a line and what it is used for, or from a scenario, to a queue manager, with what to expect and how to put it on.

use crate::args::{Advise, Question};
use crate::compare::{Progress, on_interrupt, unwritable};
use crate::reproduce::resumed;
use crate::words::plural;
use crate::{Failure, cost, doing, print};
use queuewright_aqm::FRAME_BYTES;
use queuewright_engine::{Engine, ItemEvent};
use queuewright_experiments::{Record, Store, Unit};
use queuewright_linux::{Host, host, qdiscs, quoted, safe};
use queuewright_report::{new_folder, replace};
use queuewright_scenario::spec::PortSpec;
use queuewright_scenario::{Draft, Flags, RunSpec, Scenario};
use queuewright_suite::advise::{
    Access, Advice, BY_TC, FIRST, Line, NOW, PutOn, SHARES, Subject, Table, Use, Wanted, best_of, judged,
    measured, pages, pages_file, scenario, simplest_first,
};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where results go without `--out`.
pub const BASE: &str = "queuewright-advice";
/// In the folder: what was asked, every run, and the scenario that it is about, if it is.
const ASKED: &str = "asked.json";
const RUNS: &str = "runs.jsonl";
const SCENARIO: &str = "scenario.toml";
/// Draws with which all are tried, those with which the better half is, and the first of those with which the best are: none of them chose which
/// these are.
const HALVES: [Numbers; 2] = [1..=FIRST / 2, FIRST / 2 + 1..=FIRST];
const JUDGED: u64 = 11;
/// So many of the best, beside what is kept in any case.
const KEPT: usize = 4;
/// The second half of the first ones is run where the first is no more work than this, ns: 4 s on two cores.
const LIGHT: f64 = 8e9;
/// The first of those that are kept apart to check the advice.
const APART: u64 = 1001;
/// While these draws do not tell all, more are made, up to so many, and as long as the work (nanoseconds, as it is reckoned before) of all, and of
/// a set that is kept apart, is below this: 30 s on two cores, as households take 1.3 to 1.5 times what is reckoned.
const MOST: u64 = 64;
const WORK: f64 = 42e9;
/// Numbers of draws: households, or seeds.
type Numbers = std::ops::RangeInclusive<u64>;

pub fn advise(a: &Advise) -> Result<(), Failure> {
    let base = a.out.as_deref().unwrap_or(Path::new(BASE));
    let (resumed, q) = match a.resume {
        true => resumed::<Question>(base, ASKED).map(|(folder, q)| (Some(folder), q))?,
        false => (None, a.question.clone()),
    };
    // It stands in commands that are to be pasted as root.
    let plain = q.dev.chars().all(|c| c.is_ascii_alphanumeric() || ".:_-@".contains(c));
    if !plain || q.dev.is_empty() || q.dev.starts_with('-') {
        return Err(Failure::Input(format!(
            "--dev = {:?}: no name that a command can have as it is; letters, digits and . : _ - @ are allowed",
            q.dev
        )));
    }
    let mut asked = Asked::read(&q, resumed.as_ref().map(|folder| folder.join(SCENARIO)))?;
    let free = q.aqm.is_none() && q.kernel.is_none() && !q.tc;
    let all = asked.candidates(candidates(&q)?, free)?;
    let folder = match resumed {
        Some(folder) => {
            let of = q.rate.clone().or(q.file.as_ref().map(|file| file.display().to_string()));
            let of = safe(&of.unwrap_or_default());
            eprintln!("note: going on with {}, of {of}", folder.display());
            folder
        }
        None => {
            let folder = new_folder(base, "advice").map_err(unwritable)?;
            asked.keep(&folder)?;
            let text = format!("{:#}\n", json!(q));
            replace(&folder.join(ASKED), text.as_bytes()).map_err(unwritable)?;
            folder
        }
    };
    // What it is of stands beside it.
    let store = Store::open(&folder.join(RUNS), "advice")?;
    let mut runs = Runs { jobs: a.jobs.count(), out: a.out.clone(), stop: on_interrupt()?, folder, store };
    doing::now("the draws");
    let mut tried = Table::new();
    let mut work = 0.0;
    if let Subject::Line(_) = &asked.subject {
        work += runs.share(&mut asked, &all)?;
    }
    let (mut first, mut better) = (0.0, all.clone());
    for half in HALVES {
        if first < LIGHT {
            first += runs.draws(&asked, half, &better, &mut tried)?;
            asked.learn(&tried);
            better = best_of(&tried, &asked.subject, &better, &asked.own, (all.len() / 2).max(KEPT));
        }
    }
    work += first;
    let subject = asked.subject.clone();
    let kept = best_of(&tried, &subject, &better, &asked.own, KEPT);
    let (mut table, mut made, set) = (Table::new(), 0, subject.set());
    let choice = loop {
        let first = JUDGED + made;
        let of_these = runs.draws(&asked, first..=first + set - 1, &kept, &mut table)?;
        (work, made) = (work + of_these, made + set);
        let choice = judged(&table, &subject, &kept);
        // These, the next, and a set that is kept apart.
        if !choice.is_open() || made >= MOST || work + 2.0 * of_these > WORK {
            break choice;
        }
    };
    // Held out: the advice stands before these are made.
    let mut apart = Vec::new();
    // A thorough check asks whether the first draws have left the best behind, too.
    let all_apart = q.check > 1 || kept.len() == all.len();
    for number in 0..u64::from(q.check) {
        let (first, mut of_set) = (APART + number * set, Table::new());
        runs.draws(&asked, first..=first + set - 1, if all_apart { &all } else { &kept }, &mut of_set)?;
        apart.push(of_set);
    }
    let chosen = kept[choice.chosen].as_str();
    let written = asked.written.get(chosen).map_or(chosen, String::as_str);
    let needs = needs(written, asked.file.is_none());
    // Of a path, too, only what a shell takes as it is.
    let written = quoted(written);
    let advice = Advice {
        subject: &subject,
        labels: &kept,
        table: &table,
        apart: &apart,
        choice,
        all_apart,
        written: &written,
        dev: &q.dev,
        needs: &needs,
    };
    if !advice.is_measured() {
        return Err(Failure::Input(format!(
            "nothing that is wanted was measured in any run: no advice; the runs' scenarios are in {}",
            runs.folder.display()
        )));
    }
    let text = advice.words();
    let page = runs.folder.join("advice.md");
    replace(&page, advice.page(&text).as_bytes()).map_err(|e| Failure::Run(e.to_string()))?;
    match a.json {
        true => print(&format!("{:#}\n", advice.json())),
        false => print(&format!("{text}\npages: {}\n", page.display())),
    }
}

/// What is asked about, and where its draws come from.
struct Asked {
    subject: Subject,
    /// A scenario, as its file has it, and the names of its groups.
    file: Option<(Draft, Vec<String>)>,
    /// Of labels what has parameters, as `--aqm` has it.
    written: BTreeMap<String, String>,
    /// Labels that the file has, but for its first discipline's.
    own: Vec<String>,
}

impl Asked {
    /// What is asked; of a scenario the copy is read, if there is one.
    fn read(a: &Question, copy: Option<PathBuf>) -> Result<Asked, Failure> {
        if let Some(path) = &a.file {
            let draft = Draft::read(copy.as_deref().unwrap_or(path))?;
            let scenario = draft.scenario()?;
            let now = scenario.disciplines[0].label.clone();
            let runs = scenario.runs()?;
            let place = |p: &PortSpec| PutOn {
                port: safe(&p.name),
                packets: match p.limit_packets {
                    0 => u32::try_from(p.limit_bytes.div_ceil(FRAME_BYTES)).unwrap_or(u32::MAX),
                    packets => packets,
                },
                bytes: (p.limit_packets == 0).then_some(p.limit_bytes),
            };
            // Those with a discipline of their own keep it.
            let ports = runs[0].ports.iter().filter(|p| !p.own).map(place).collect();
            let name = safe(&path.display().to_string());
            let subject = Subject::File { name, wanted: Vec::new(), now, ports };
            let groups = runs[0].groups.iter().map(|g| g.name.clone()).collect();
            let file = Some((draft, groups));
            return Ok(Asked { subject, file, written: BTreeMap::new(), own: Vec::new() });
        }
        let access = Access::read(&a.access)?;
        let uses = match &a.uses {
            Some(list) => Use::list(list)?,
            None => Use::ALL.to_vec(),
        };
        let Some(rate) = &a.rate else {
            return Err(Failure::Input(
                "advise on what? Write the line's rate, such as --rate 100mbit/20mbit, or a scenario's file"
                    .into(),
            ));
        };
        let line = Line::new(rate, &a.rtt, access, uses)?;
        Ok(Asked { subject: Subject::Line(line), file: None, written: BTreeMap::new(), own: Vec::new() })
    }

    /// Labels: what is there now, what else the file names, if nothing was asked for, and these, the simplest first, without what is there now.
    fn candidates(&mut self, mut names: Vec<String>, all: bool) -> Result<Vec<String>, Failure> {
        if let Some((draft, _)) = &self.file {
            // The file's own have its parameters.
            if all {
                let runs = draft.scenario()?.runs()?;
                let (now, mut others) = (&runs[0].discipline.label, Vec::new());
                for run in runs.iter().filter(|run| run.discipline.label != *now) {
                    let label = &run.discipline.label;
                    if !others.contains(label) {
                        others.push(label.clone());
                        let words = run.discipline.words(|param, value| value != param.default);
                        self.written.insert(label.clone(), words);
                    }
                }
                names.retain(|name| !others.contains(name));
                self.own = others;
            }
            let of = |aqm: Option<String>| -> Result<RunSpec, Failure> {
                let flags = Flags { aqm, seeds: Some("1".into()), ..Flags::default() };
                Ok(draft.clone().with(&flags)?.scenario()?.runs()?.swap_remove(0))
            };
            let now = of(None)?;
            let (mut others, mut refused) = (Vec::new(), Vec::new());
            for name in names {
                let mut other = match of(Some(name.clone())) {
                    Ok(other) => other,
                    Err(e) => {
                        refused.push((name, e));
                        continue;
                    }
                };
                other.discipline.label.clone_from(&now.discipline.label);
                let changes = |run: &RunSpec| run.ports.iter().any(|p| !p.changes.is_empty());
                if other.discipline != now.discipline || changes(&now) {
                    others.push(name);
                }
            }
            if let (true, Some((_, e))) = (others.is_empty(), refused.first()) {
                return Err(Failure::Input(e.to_string()));
            }
            if !refused.is_empty() {
                let list: Vec<&str> = refused.iter().map(|(name, _)| name.as_str()).collect();
                eprintln!("note: left out, as the file refuses them: {}", list.join(", "));
            }
            names = others;
        }
        if names.is_empty() && self.own.is_empty() {
            return Err(Failure::Input("--aqm: that is what is there now; write another".into()));
        }
        // One that is there twice is told apart by its parameters.
        let label = |name: &String| {
            let own = name.split(':').find_map(|option| option.strip_prefix("label="));
            let alone = names.iter().filter(|other| name_of(other) == name_of(name)).count() == 1;
            let label = own.unwrap_or(if alone { name_of(name) } else { name });
            // What is put on has no label.
            let words: Vec<&str> = name.split(':').filter(|option| !option.starts_with("label=")).collect();
            (label.to_string(), words.join(":"))
        };
        let names: Vec<(String, String)> = names.iter().map(label).collect();
        let labels: Vec<String> = names.iter().map(|(label, _)| label.clone()).collect();
        self.written.extend(names);
        Ok(std::iter::once(NOW.to_string()).chain(self.own.clone()).chain(labels).collect())
    }

    /// A scenario is kept beside the advice.
    fn keep(&self, folder: &Path) -> Result<(), Failure> {
        match &self.file {
            None => Ok(()),
            Some((draft, _)) => {
                let lost = |e: std::io::Error| Failure::Run(e.to_string());
                let unwritten = |e: queuewright_report::Error| Failure::Run(e.to_string());
                let (copy, files) = draft.scenario()?.standing_alone();
                replace(&folder.join(SCENARIO), copy.to_toml().as_bytes()).map_err(unwritten)?;
                for (name, file) in files {
                    replace(&folder.join(name), file.open().map_err(lost)?).map_err(unwritten)?;
                }
                Ok(())
            }
        }
    }

    /// What a scenario wants is known from its first runs.
    fn learn(&mut self, tried: &Table) {
        if let (Subject::File { wanted, .. }, Some((_, groups))) = (&mut self.subject, &self.file) {
            *wanted = Wanted::of_runs(groups, tried.values().flat_map(|draw| draw.values()));
        }
    }

    /// The runs of a draw with these labels.
    fn specs(
        &self,
        number: u64,
        labels: &[String],
        folder: &Path,
    ) -> Result<Vec<(String, RunSpec)>, Failure> {
        let own = |label: &String| self.own.contains(label);
        let others: Vec<&String> = labels.iter().filter(|label| *label != NOW && !own(label)).collect();
        let list: Vec<&str> =
            others.iter().map(|label| self.written.get(*label).unwrap_or(label).as_str()).collect();
        let households = folder.join("households");
        let keep = |name: &str, text: &str| {
            replace(&households.join(name), text.as_bytes()).map_err(|e| Failure::Run(e.to_string()))
        };
        if let Subject::Line(_) = &self.subject {
            fs::create_dir_all(&households)
                .map_err(|e| Failure::Run(format!("{}: {e}", households.display())))?;
            keep(&pages_file(number), &pages(number))?;
        }
        let mut specs = Vec::new();
        for managed in [false, true] {
            let asked = if managed { !list.is_empty() } else { labels.iter().any(|l| l == NOW || own(l)) };
            if !asked {
                continue;
            }
            let mut flags = Flags { aqm: managed.then(|| list.join(",")), ..Flags::default() };
            let read = match (&self.subject, &self.file) {
                (Subject::Line(line), _) => {
                    let text = scenario(line, number, managed);
                    let name = format!("{number}-{}.toml", if managed { "managed" } else { "as-it-is" });
                    keep(&name, &text)?;
                    Scenario::parse_with(&text, &name, &households, &flags)?
                }
                (_, Some((draft, _))) => {
                    flags.seeds = Some(number.to_string());
                    draft.clone().with(&flags)?.scenario()?
                }
                (Subject::File { .. }, None) => continue,
            };
            for (i, spec) in read.runs()?.into_iter().enumerate() {
                match &spec.discipline.label {
                    // In the order of the list, with one seed.
                    _ if managed => specs.extend(others.get(i).map(|label| ((*label).clone(), spec))),
                    _ if i == 0 => specs.push((NOW.to_string(), spec)),
                    label if own(label) && labels.contains(label) => specs.push((label.clone(), spec)),
                    _ => {}
                }
            }
        }
        Ok(specs)
    }
}

/// Makes runs, and keeps them.
struct Runs {
    jobs: usize,
    /// As the command has it.
    out: Option<PathBuf>,
    stop: Arc<AtomicBool>,
    folder: PathBuf,
    store: Store,
}

impl Runs {
    /// Which share of a line is shaped to: the largest that is not shown to be worse than the best, with FQ-CoDel (else the first of these labels)
    /// on the first households. Gives the work of the runs.
    fn share(&mut self, asked: &mut Asked, labels: &[String]) -> Result<f64, Failure> {
        let with = labels.iter().find(|l| *l == "fq-codel").or(labels.iter().find(|l| *l != NOW)).cloned();
        let Some(with) = with else { return Ok(0.0) };
        let (mut work, mut table, mut shares) = (0.0, Table::new(), Vec::new());
        let set = |asked: &mut Asked, percent: u64| {
            if let Subject::Line(line) = &mut asked.subject {
                line.down_percent = percent;
            }
        };
        for percent in SHARES {
            set(asked, percent);
            let name = format!("{percent} %");
            let mut of_share = Table::new();
            work += self.draws(asked, 1..=FIRST, slice::from_ref(&with), &mut of_share)?;
            for (number, mut draw) in of_share {
                let got = draw.remove(&with).map(|got| (name.clone(), got));
                table.entry(number).or_default().extend(got);
            }
            shares.push(name);
        }
        let choice = judged(&table, &asked.subject, &shares);
        set(asked, SHARES[choice.chosen]);
        Ok(work)
    }

    /// Makes the runs of these draws with these labels that are not there yet, and adds what each got. Gives the work of them all.
    fn draws(
        &mut self,
        asked: &Asked,
        numbers: Numbers,
        labels: &[String],
        table: &mut Table,
    ) -> Result<f64, Failure> {
        let case = match &asked.subject {
            Subject::Line(line) => line.down_percent as usize,
            Subject::File { .. } => 0,
        };
        let (mut specs, mut units): (Vec<RunSpec>, Vec<Unit>) = (Vec::new(), Vec::new());
        let mut work = 0.0;
        for number in numbers {
            for (label, spec) in asked.specs(number, labels, &self.folder)? {
                work += cost::work(&spec);
                let unit = Unit { case, discipline: label, seed: number };
                match self.store.get(&unit) {
                    Some(kept) => {
                        table.entry(number).or_default().insert(unit.discipline, kept.measures.clone());
                    }
                    None => {
                        units.push(unit);
                        specs.push(spec);
                    }
                }
            }
        }
        let mut progress = Progress::new(&specs);
        let mut failed = None;
        let (stop, store) = (&self.stop, &mut self.store);
        Engine::Sim.run_all(&specs, self.jobs, stop, |i, step| match step {
            ItemEvent::At(at) => progress.at(i, at),
            ItemEvent::Done(Ok(None)) => {}
            ItemEvent::Done(Err(e)) => {
                failed.get_or_insert(format!("draw {} with {}: {e}", units[i].seed, units[i].discipline));
                stop.store(true, Ordering::Relaxed);
            }
            ItemEvent::Done(Ok(Some(run))) => {
                progress.done(i, &run);
                let (unit, mut got) = (&units[i], measured(&run));
                // What has no value is not there: JSON knows no other.
                got.retain(|_, value| value.is_finite());
                if let Err(e) = store.add(Record::plain(unit, got.clone())) {
                    failed.get_or_insert(e.to_string());
                    stop.store(true, Ordering::Relaxed);
                }
                table.entry(unit.seed).or_default().insert(unit.discipline.clone(), got);
            }
        });
        progress.end();
        match failed {
            Some(error) => Err(Failure::Run(error)),
            None if self.stop.load(Ordering::Relaxed) => Err(Failure::Interrupted(format!(
                "interrupted; {} finished; go on with --resume{}",
                plural(self.store.len(), "run"),
                self.out.as_ref().map_or(String::new(), |out| format!(" --out {}", out.display()))
            ))),
            None => Ok(work),
        }
    }
}

/// The name in what `--aqm` has: `codel` of `codel:target=10ms`.
fn name_of(written: &str) -> &str {
    written.split(':').next().unwrap_or(written)
}

/// The disciplines to choose from, the simplest first.
fn candidates(a: &Question) -> Result<Vec<String>, Failure> {
    let ways = [a.aqm.is_some(), a.tc, a.kernel.is_some()];
    if ways.iter().filter(|w| **w).count() > 1 {
        return Err(Failure::Input(
            "--aqm, --tc and --kernel: one of them says what to choose from: those named, those that tc has, or those that a kernel can run"
                .into(),
        ));
    }
    let mut asked: Vec<String> = match (&a.aqm, &a.kernel) {
        (Some(list), _) => list.split(',').map(|d| d.trim().to_string()).collect(),
        (None, Some(kernel)) => can_run(kernel, a.file.is_none())?,
        (None, None) if a.tc => BY_TC.map(|d| d.name.to_string()).into(),
        (None, None) => queuewright_aqm::alone().map(String::from).collect(),
    };
    for name in &asked {
        if queuewright_aqm::alone().all(|known| known != name_of(name)) {
            let all: Vec<&str> = queuewright_aqm::alone().collect();
            return Err(Failure::Input(format!(
                "--aqm: {name:?} is no discipline. Allowed: {}",
                all.join(", ")
            )));
        }
    }
    simplest_first(&mut asked, &Host::Front.names());
    Ok(asked)
}

/// What a Linux of this version can run, or this machine's: what its tc has, and of ours what `attach` puts on there. In front of htb they are
/// `shaped`, and need a rate.
fn can_run(kernel: &str, shaped: bool) -> Result<Vec<String>, Failure> {
    let wrong = || {
        Failure::Input(format!(
            "--kernel = {kernel:?}: no version of Linux; write two numbers, such as 6.12, or here"
        ))
    };
    let (host, by_tc): (Option<Host>, Vec<&str>) = if kernel == "here" {
        let there = qdiscs(BY_TC.map(|d| d.tc));
        (host(), BY_TC.iter().filter(|d| there.contains(&d.tc)).map(|d| d.name).collect())
    } else {
        let mut numbers = kernel.trim().split(['.', '-', '+', '~']).map(str::parse::<u32>);
        let (Some(Ok(major)), Some(Ok(minor))) = (numbers.next(), numbers.next()) else {
            return Err(wrong());
        };
        let version = (major, minor);
        let host = [Host::Qdisc, Host::Front].into_iter().find(|host| version >= host.since());
        (host, BY_TC.iter().filter(|d| version >= d.since).map(|d| d.name).collect())
    };
    let host = host.filter(|host| shaped || *host == Host::Qdisc);
    let ours = host.map_or(Vec::new(), Host::names);
    if host.is_some() && ours.is_empty() {
        return Err(Failure::Input(
            "--kernel: this program was built without its BPF programs, and can put on nothing of ours; build it with clang, or write --tc"
                .into(),
        ));
    }
    let can = |name: &&str| by_tc.contains(name) || ours.iter().any(|o| o == name);
    Ok(queuewright_aqm::alone().filter(can).map(String::from).collect())
}

/// What a kernel needs for it, as `--aqm` has it, where tc alone has it not.
fn needs(written: &str, shaped: bool) -> String {
    if written == NOW || BY_TC.iter().any(|d| d.name == written) {
        return String::new();
    }
    let name = name_of(written);
    let front = match shaped && Host::Front.names().iter().any(|front| front == name) {
        true => format!(", or {} with htb", Host::Front.first_linux()),
        false => String::new(),
    };
    format!(
        "{name} needs Linux {} with BPF qdiscs{front}; `queuewright doctor` says what a machine has. --tc and --kernel choose from less.\n\n",
        Host::Qdisc.first_linux()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_kernel_needs_is_said() {
        assert_eq!((needs(NOW, true), needs("fq-codel", true)), (String::new(), String::new()));
        let of = |name: &str| needs(name, true).split(';').next().unwrap_or_default().to_string();
        // Without its BPF programs the program does not know which can be in front of htb.
        let front = if Host::Front.names().is_empty() { "" } else { ", or 6.4 with htb" };
        assert_eq!(of("red"), format!("red needs Linux 6.16 with BPF qdiscs{front}"));
        assert_eq!(of("cebinae"), "cebinae needs Linux 6.16 with BPF qdiscs");
    }

    #[test]
    fn a_kernel_runs_what_it_has() {
        let can = |kernel: &str| can_run(kernel, true).unwrap_or_default();
        assert_eq!(can("2.6"), ["droptail", "sfq"]);
        assert!(can_run("here", true).is_err() || can("here").contains(&"droptail".to_string()));
        if !Host::Front.names().is_empty() {
            assert!(can("6.4+deb13").contains(&"red".into()) && !can("6.4").contains(&"cebinae".into()));
            assert!(can("6.16-rc1").contains(&"cebinae".into()));
        }
    }
}
