//! `advise`: from a line and what it is used for to a queue manager, with what to expect and how to put it on.

use crate::args::Advise;
use crate::compare::{Progress, on_interrupt, unwritable};
use crate::{Failure, doing, print};
use queuewright_engine::{Engine, ItemEvent, jobs};
use queuewright_experiments::measures;
use queuewright_report::{new_folder, replace};
use queuewright_scenario::{Flags, RunSpec, Scenario};
use queuewright_suite::advise::{Got, Sure, choose, mean, scores};
use queuewright_suite::household::{Access, Line, Use, scenario};
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;

/// Where results go without `--out`.
const BASE: &str = "queuewright-advice";
/// The line as it is, in the place of a discipline.
const NOW: &str = "as it is";
/// Households on which all are tried, those on which the best are, and those that are kept apart to check the advice.
const FIRST: Numbers = 1..=4;
const MORE: Numbers = 5..=16;
const APART: u64 = 1001;
/// So many households are a set of those.
const SET: u64 = 16;
/// So many of the best are tried on.
const KEPT: usize = 5;
/// What one can put on by tc alone, the simplest first, and how tc calls it.
const BY_TC: [(&str, &str); 6] = [
    ("droptail", "pfifo limit 1000"),
    ("fq-codel", "fq_codel"),
    ("codel", "codel"),
    ("pie", "pie"),
    ("sfq", "sfq"),
    ("fq", "fq"),
];

/// Numbers of households.
type Numbers = std::ops::RangeInclusive<u64>;

/// What disciplines got in households: by household's number and label.
type Table = BTreeMap<u64, BTreeMap<String, Got>>;

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
    let mut table = Table::new();
    let run = |table: &mut Table, numbers: Numbers, labels: &[String]| {
        households(&line, numbers, labels, jobs(a.jobs), &stop, table, &folder)
    };
    doing::now("the households");
    run(&mut table, FIRST, &all)?;
    let kept = if all.len() > KEPT + 2 { best_of(&table, &line, &all) } else { all.clone() };
    run(&mut table, MORE, &kept)?;
    let (chosen, equals) = judged(&table, &line, &kept);
    // Held out: the advice stands before these are made.
    let mut apart = Vec::new();
    for set in 0..u64::from(a.check) {
        let (first, mut of_set) = (APART + set * SET, Table::new());
        // A thorough check asks whether the first households have left the best behind, too.
        run(&mut of_set, first..=first + SET - 1, if a.check > 1 { &all } else { &kept })?;
        apart.push(of_set);
    }
    let advice =
        Advice { line: &line, labels: &kept, table: &table, apart: &apart, chosen, equals, dev: &a.dev };
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
    let known = |name: &str| queuewright_aqm::find(name).is_some_and(|i| !i.needs_pool);
    let asked: Vec<String> = match (&a.aqm, a.tc) {
        (Some(_), true) => {
            return Err(Failure::Input("--aqm and --tc: those named, or those that tc has".into()));
        }
        (Some(list), false) => list.split(',').map(|d| d.trim().to_string()).collect(),
        (None, true) => BY_TC.map(|d| d.0.to_string()).into(),
        (None, false) => {
            let rest = queuewright_aqm::registry().iter().filter(|i| !i.needs_pool).map(|i| i.name);
            let rest = rest.filter(|name| BY_TC.iter().all(|d| d.0 != *name));
            BY_TC.iter().map(|d| d.0).chain(rest).map(String::from).collect()
        }
    };
    for name in &asked {
        if !known(name) {
            let all: Vec<&str> =
                queuewright_aqm::registry().iter().filter(|i| !i.needs_pool).map(|i| i.name).collect();
            return Err(Failure::Input(format!(
                "--aqm: {name:?} is no discipline. Allowed: {}",
                all.join(", ")
            )));
        }
    }
    Ok(std::iter::once(NOW.to_string()).chain(asked).collect())
}

/// Makes the runs of households with these labels, adds what each got, and keeps the scenarios.
#[allow(clippy::too_many_arguments)]
fn households(
    line: &Line,
    numbers: Numbers,
    labels: &[String],
    jobs: usize,
    stop: &std::sync::Arc<std::sync::atomic::AtomicBool>,
    table: &mut Table,
    folder: &Path,
) -> Result<(), Failure> {
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
        None => Ok(()),
    }
}

/// Of each label, its score (the mean over the uses) in each household, and that of each use.
fn scored(table: &Table, line: &Line, labels: &[String]) -> (Vec<Vec<f64>>, Vec<Vec<Vec<f64>>>) {
    let (mut totals, mut of_use) =
        (vec![Vec::new(); labels.len()], vec![vec![Vec::new(); line.uses.len()]; labels.len()]);
    for household in table.values() {
        let got: Vec<Got> = labels.iter().filter_map(|l| household.get(l)).copied().collect();
        if got.len() != labels.len() {
            continue;
        }
        for (i, each) in scores(&got, &line.uses).into_iter().enumerate() {
            totals[i].push(mean(each.iter().copied()));
            for (u, value) in each.into_iter().enumerate() {
                of_use[i][u].push(value);
            }
        }
    }
    (totals, of_use)
}

/// The line as it is, FQ-CoDel, which is at hand nearly everywhere, and the best of the others, the simplest first.
fn best_of(table: &Table, line: &Line, labels: &[String]) -> Vec<String> {
    let (totals, _) = scored(table, line, labels);
    let mut kept: Vec<usize> = order(&totals).into_iter().filter(|i| labels[*i] != NOW).take(KEPT).collect();
    kept.extend((0..labels.len()).filter(|i| [NOW, "droptail", "fq-codel"].contains(&labels[*i].as_str())));
    kept.sort_unstable();
    kept.dedup();
    kept.into_iter().map(|i| labels[i].clone()).collect()
}

/// Places of labels, the best mean first.
fn order(totals: &[Vec<f64>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..totals.len()).collect();
    let of = |i: &usize| mean(totals[*i].iter().copied());
    order.sort_by(|a, b| of(b).total_cmp(&of(a)));
    order
}

fn judged(table: &Table, line: &Line, labels: &[String]) -> (usize, Vec<usize>) {
    choose(&scored(table, line, labels).0)
}

/// What is said in the end.
struct Advice<'a> {
    line: &'a Line,
    labels: &'a [String],
    table: &'a Table,
    apart: &'a [Table],
    chosen: usize,
    equals: Vec<usize>,
    dev: &'a str,
}

impl Advice<'_> {
    /// What a label gets: the value of one measure over all households.
    fn sure(&self, label: usize, of: fn(&Got) -> f64) -> Sure {
        let values: Vec<f64> =
            self.table.values().filter_map(|h| h.get(&self.labels[label])).map(of).collect();
        Sure::of(&values)
    }

    /// Of each set of households that was kept apart: may the chosen one be as good as the best there, and how much behind it is it?
    fn held_out(&self) -> Vec<(bool, Sure)> {
        let of_set = |table: &Table| {
            let labels: Vec<String> =
                table.values().next().map_or(Vec::new(), |h| h.keys().cloned().collect());
            let (totals, _) = scored(table, self.line, &labels);
            let chosen = labels.iter().position(|l| *l == self.labels[self.chosen]).unwrap_or(0);
            let best = &totals[order(&totals)[0]];
            let behind: Vec<f64> = best.iter().zip(&totals[chosen]).map(|(a, b)| a - b).collect();
            (choose(&totals).1.contains(&chosen), Sure::of(&behind))
        };
        self.apart.iter().map(of_set).collect()
    }

    fn words(&self) -> String {
        let mut out = String::new();
        let chosen = self.labels[self.chosen].as_str();
        let (totals, of_use) = scored(self.table, self.line, self.labels);
        let (down, up) = self.line.shaped();
        let rates = format!("{} down and {} up", rate(down), rate(up));
        let _ = match chosen {
            NOW => writeln!(
                out,
                "Leave the line as it is: nothing that was tried is better by more than chance."
            ),
            "droptail" => writeln!(
                out,
                "Shape to {rates}, with a plain queue: none that was tried is better by more than chance."
            ),
            name => writeln!(
                out,
                "Take {name}, shaped to {rates}: 95 % of the line, so that packets wait in your queue and not in the modem's."
            ),
        };
        let others: Vec<&str> =
            self.equals.iter().filter(|i| **i != self.chosen).map(|i| self.labels[*i].as_str()).collect();
        if !others.is_empty() {
            let _ = writeln!(
                out,
                "As good by these households: {}. {chosen} is the simplest of them to have.",
                others.join(", ")
            );
        }
        if chosen != "fq-codel"
            && !others.contains(&"fq-codel")
            && self.labels.iter().any(|l| l == "fq-codel")
        {
            let _ = writeln!(out, "The kernel's own fq_codel is worse here.");
        }
        let apart = self.held_out();
        let good = apart.iter().filter(|s| s.0).count();
        let _ = match apart.as_slice() {
            [] => writeln!(out),
            [(true, _)] => writeln!(
                out,
                "On {SET} other households on this line, kept apart, it is again as good as the best.\n"
            ),
            [(false, behind)] => writeln!(
                out,
                "On {SET} other households on this line, kept apart, it is {:.2} ({:.2} to {:.2}) behind the best: the choice is not sure.\n",
                behind.mean, behind.interval[0], behind.interval[1]
            ),
            all => writeln!(
                out,
                "On {good} of {} sets of {SET} other households, kept apart, it is as good as the best.\n",
                all.len()
            ),
        };
        // Against what is there now, and the two next.
        let next: Vec<usize> = order(&totals)
            .into_iter()
            .filter(|i| *i != self.chosen && self.labels[*i] != NOW)
            .take(2)
            .collect();
        let mut shown = vec![0];
        shown.extend((self.chosen != 0).then_some(self.chosen));
        shown.extend(&next);
        out += &self.effects(&shown, &totals);
        for i in next {
            let better: Vec<&str> = (0..self.line.uses.len())
                .filter(|u| {
                    let d: Vec<f64> =
                        of_use[i][*u].iter().zip(&of_use[self.chosen][*u]).map(|(a, b)| a - b).collect();
                    Sure::of(&d).interval[0] > queuewright_suite::advise::UNNOTICED
                })
                .map(|u| self.line.uses[u].name())
                .collect();
            if !better.is_empty() {
                let _ = writeln!(out, "{} would be better for {}.", self.labels[i], better.join(", "));
            }
        }
        out.push_str(&commands(chosen, self.dev, down, up));
        out
    }

    /// A row for each of these: the score, and what its uses get.
    fn effects(&self, shown: &[usize], totals: &[Vec<f64>]) -> String {
        // Heading, value, factor, digits.
        type Column = (&'static str, fn(&Got) -> f64, f64, usize);
        let mut columns: Vec<Column> = Vec::new();
        for one in &self.line.uses {
            match one {
                Use::Calls => columns.push(("call (MOS)", |g| g.mos, 1.0, 2)),
                Use::Games => columns.push(("game (QoO)", |g| g.game, 1.0, 0)),
                Use::Video => columns.push(("video (Mbit/s)", |g| g.video_bps, 1e-6, 2)),
                Use::Web => columns.push(("page (s)", |g| g.page_s, 1.0, 2)),
                Use::Downloads => columns.push(("down (Mbit/s)", |g| g.down_bps, 1e-6, 1)),
                Use::Uploads => columns.push(("up (Mbit/s)", |g| g.up_bps, 1e-6, 1)),
            }
        }
        let mut rows = vec![vec![String::new(), "score".to_string()]];
        rows[0].extend(columns.iter().map(|c| c.0.to_string()));
        let cell = |s: Sure, factor: f64, digits: usize| {
            let n = |v: f64| if v.is_finite() { format!("{:.digits$}", v * factor) } else { "-".into() };
            format!("{} ({} to {})", n(s.mean), n(s.interval[0]), n(s.interval[1]))
        };
        for i in shown {
            let mut row = vec![self.labels[*i].clone(), cell(Sure::of(&totals[*i]), 1.0, 2)];
            row.extend(
                columns.iter().map(|(_, of, factor, digits)| cell(self.sure(*i, *of), *factor, *digits)),
            );
            rows.push(row);
        }
        let mut out = String::new();
        let width = |c: usize| rows.iter().map(|r| r[c].len()).max().unwrap_or(0);
        for row in &rows {
            let cells: Vec<String> =
                row.iter().enumerate().map(|(c, cell)| format!("{cell:<0$}", width(c))).collect();
            let _ = writeln!(out, "{}", cells.join("  ").trim_end());
        }
        out + "Means over the households, with 95 % intervals. MOS: 1 to 4.4, above 4 is good; QoO: 0 to 100.\n\n"
    }

    fn page(&self, words: &str) -> String {
        let (totals, _) = scored(self.table, self.line, self.labels);
        let all: Vec<usize> = (0..self.labels.len()).collect();
        format!(
            "# Advice\n\n{words}\n## All that were tried on all households\n\n```\n{}```\n\nThe households are in `households/`: each is a scenario that `queuewright run` takes.\n",
            self.effects(&all, &totals)
        )
    }

    fn json(&self) -> serde_json::Value {
        let (totals, _) = scored(self.table, self.line, self.labels);
        let apart: Vec<_> = self
            .held_out()
            .into_iter()
            .map(|(good, behind)| json!({"as_good": good, "behind": behind}))
            .collect();
        let each: Vec<_> = self
            .labels
            .iter()
            .zip(&totals)
            .map(|(label, t)| json!({"discipline": label, "score": Sure::of(t)}))
            .collect();
        let equals: Vec<&String> = self.equals.iter().map(|i| &self.labels[*i]).collect();
        json!({
            "take": self.labels[self.chosen], "as_good": equals, "scores": each,
            "held_out": apart,
            "shape": {"down_bps": self.line.shaped().0, "up_bps": self.line.shaped().1},
        })
    }
}

fn rate(bps: u64) -> String {
    match bps {
        b if b % 1_000_000 == 0 => format!("{}mbit", b / 1_000_000),
        b if b % 1_000 == 0 => format!("{}kbit", b / 1_000),
        b => format!("{b}bit"),
    }
}

/// How to put it on, both ways: what comes in is managed on an IFB device that it is sent through.
fn commands(name: &str, dev: &str, down: u64, up: u64) -> String {
    if name == NOW {
        return String::new();
    }
    let mut out = String::from("To put it on (as root; the second part is for what comes in):\n\n");
    let one = |dev: &str, bps: u64| match BY_TC.iter().find(|d| d.0 == name) {
        Some((_, tc)) => format!(
            "  tc qdisc replace dev {dev} root handle 1: htb default 1\n  tc class add dev {dev} parent 1: classid 1:1 htb rate {0} ceil {0}\n  tc qdisc add dev {dev} parent 1:1 {tc}\n",
            rate(bps)
        ),
        None => format!("  queuewright attach {dev} {name} --rate {}\n", rate(bps)),
    };
    out += &one(dev, up);
    let ifb = format!("ifb-{dev}").chars().take(15).collect::<String>();
    let _ = write!(
        out,
        "\n  ip link add {ifb} type ifb && ip link set {ifb} up\n  tc qdisc add dev {dev} handle ffff: ingress\n  tc filter add dev {dev} parent ffff: matchall action mirred egress redirect dev {ifb}\n"
    );
    out + &one(&ifb, down)
}
