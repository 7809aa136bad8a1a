//! `validate`: the same rows on the simulator and on Linux, and the gap between them.

use crate::args::Validate;
use crate::compare::{Progress, on_interrupt};
use crate::words::plural;
use crate::{Failure, print};
use queuewright_engine::{Engine, Made, Step, jobs, open, run_all};
use queuewright_lab::validate::{
    Miss, Point, Row, SHARE_POINTS, SOJOURN_MS, SOJOURN_SHARE, UTILIZATION_POINTS, misses,
};
use queuewright_lab::{Cost, Costs, StepCost, Whose, ns3};
use queuewright_scenario::RunSpec;
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

/// How many of a row's runs ns-3 makes: each takes a hundred times as long as the simulator's.
const NS3_SEEDS: usize = 3;

/// A row, and the runs of each engine.
struct Compared {
    row: Row,
    linux: Vec<Point>,
    sim: Vec<Point>,
    /// None: ns-3 has not what it asks for, or was not asked.
    ns3: Vec<Point>,
}

/// Runs all rows on both engines, prints a line a row, and how many are within the target.
pub fn validate(asked: &Validate) -> Result<(), Failure> {
    if asked.costs {
        return costs(asked);
    }
    let rows = rows(asked)?;
    let (measured, measured_kernel) = measured(&asked.measured)?;
    let lab = |whose| open(&asked.kernel, whose).map_err(|e| Failure::Input(e.to_string()));
    let stop = on_interrupt()?;
    let jobs = jobs(asked.jobs);
    let known = |r: &Row| measured.get(&r.name).cloned().unwrap_or_default();
    let (mut linux, mut ns3): (Vec<Vec<Point>>, Vec<Vec<Point>>) = rows.iter().map(known).unzip();
    let mut kernel = measured_kernel;
    // A machine has the kernel's queue managers, or ours.
    for whose in [Whose::Kernels, Whose::Ours] {
        let open: Vec<usize> =
            (0..rows.len()).filter(|i| rows[*i].whose == whose && linux[*i].is_empty()).collect();
        if open.is_empty() {
            continue;
        }
        let these: Vec<Row> = open.iter().map(|i| rows[*i].clone()).collect();
        let (made, version) = points(&Engine::Linux(lab(whose)?), &these, |r| &r.linux, jobs, &stop)?;
        open.into_iter().zip(made).for_each(|(i, points)| linux[i] = points);
        kernel = version;
    }
    let (sim, _) = points(&Engine::Sim, &rows, |r| &r.sim, jobs, &stop)?;
    if let Some(program) = &asked.ns3 {
        of_ns3(program, &rows, &mut ns3, jobs, &stop)?;
    }
    let compared: Vec<Compared> = rows
        .into_iter()
        .zip(linux.into_iter().zip(sim.into_iter().zip(ns3)))
        .map(|(row, (linux, (sim, ns3)))| Compared { row, linux, sim, ns3 })
        .filter(|c| !c.linux.is_empty() && !c.sim.is_empty())
        .collect();
    print(&if asked.json { as_json(&compared, &kernel) } else { table(&compared, &kernel) })?;
    match stop.load(Ordering::Relaxed) {
        true => Err(Failure::Interrupted(format!("interrupted; {} compared", plural(compared.len(), "row")))),
        false => Ok(()),
    }
}

/// What `--json` printed, as far as it is read again.
#[derive(Deserialize)]
struct Printed {
    kernel: String,
    rows: Vec<PrintedRow>,
}

#[derive(Deserialize)]
struct PrintedRow {
    row: String,
    #[serde(default)]
    linux: Vec<Point>,
    #[serde(default)]
    ns3: Vec<Point>,
}

/// Runs of Linux and of ns-3 by the row's name.
type Measured = BTreeMap<String, (Vec<Point>, Vec<Point>)>;

/// What was measured before, and the kernel; several files add to one another.
fn measured(files: &[PathBuf]) -> Result<(Measured, String), Failure> {
    let (mut all, mut kernel) = (Measured::new(), String::new());
    for file in files {
        let wrong = |why: String| Failure::Input(format!("{}: {why}", file.display()));
        let text = std::fs::read_to_string(file).map_err(|e| wrong(e.to_string()))?;
        let printed: Printed = serde_json::from_str(&text)
            .map_err(|e| wrong(format!("not what 'validate --json' prints: {e}")))?;
        for row in printed.rows {
            let (linux, ns3) = all.entry(row.row).or_default();
            linux.extend(row.linux);
            ns3.extend(row.ns3);
        }
        kernel = printed.kernel;
    }
    Ok((all, kernel))
}

/// The rows in ns-3, those that it has and of which it has no runs yet.
fn of_ns3(
    program: &Path,
    rows: &[Row],
    points: &mut [Vec<Point>],
    jobs: usize,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let words = |(i, row): (usize, &Row)| {
        let runs = row.sim.iter().take(if points[i].is_empty() { NS3_SEEDS } else { 0 });
        runs.filter_map(|run| Some((i, ns3::arguments(run)?))).collect::<Vec<_>>()
    };
    let asked: Vec<(usize, Vec<String>)> = rows.iter().enumerate().flat_map(words).collect();
    let work = |i: usize, _: &dyn Fn(f64)| -> Result<Point, String> {
        let done = Command::new(program).args(&asked[i].1).output().map_err(|e| e.to_string())?;
        match done.status.success() {
            true => serde_json::from_slice(&done.stdout).map_err(|e| e.to_string()),
            false => Err(String::from_utf8_lossy(&done.stderr).trim().to_string()),
        }
    };
    let mut failed = None;
    run_all(asked.len(), jobs, stop, work, |i, step| match step {
        Step::At(_) => {}
        Step::Done(Ok(point)) => points[asked[i].0].push(point),
        Step::Done(Err(e)) => {
            failed.get_or_insert(format!("{}: {}: {e}", program.display(), rows[asked[i].0].name));
            stop.store(true, Ordering::Relaxed);
        }
    });
    match failed {
        Some(e) => Err(Failure::Run(e)),
        None => Ok(()),
    }
}

/// What queue managers cost; how much more ours than the kernel's of the same name.
fn costs(asked: &Validate) -> Result<(), Failure> {
    let wrong = |e: queuewright_lab::Error| Failure::Run(e.to_string());
    let lab = open(&asked.kernel, Whose::Kernels).map_err(|e| Failure::Input(e.to_string()))?;
    let stop = on_interrupt()?;
    let Costs { packets: costs, steps } = lab.costs(&stop).map_err(wrong)?;
    if asked.json {
        let of = |c: &Cost| json!({"name": c.name, "ours": c.ours, "alone": c.alone, "way": c.way, "shaped": c.shaped});
        let step = |s: &StepCost| json!({"name": "queuepilot", "policy": s.policy, "step": s.instructions});
        let (costs, steps): (Vec<_>, Vec<_>) =
            (costs.iter().map(of).collect(), steps.iter().map(step).collect());
        return print(&format!("{:#}\n", json!({ "costs": costs, "steps": steps })));
    }
    let mut out = String::from(
        "| qdisc | alone | x | whole way | x | with a shaper | x |\n|---|---|---|---|---|---|---|\n",
    );
    for c in &costs {
        let kernels = costs.iter().find(|k| c.ours && !k.ours && k.name == c.name);
        let cell = |of: fn(&Cost) -> f64| {
            let ratio = kernels.map(|k| of(c) / of(k)).filter(|r| r.is_finite());
            format!("{:.0} | {}", of(c), ratio.map_or(String::new(), |r| format!("{r:.2}")))
        };
        let whose = if c.ours { "ours" } else { "the kernel's" };
        out += &format!(
            "| {}, {whose} | {} | {} | {} |\n",
            c.name,
            cell(|c| c.alone),
            cell(|c| c.way),
            cell(|c| c.shaped)
        );
    }
    if !steps.is_empty() {
        out += "\n| a step of queuepilot, ours | |\n|---|---|\n";
    }
    for s in &steps {
        out += &format!("| {} | {:.0} |\n", s.policy, s.instructions);
    }
    print(&out)
}

fn rows(asked: &Validate) -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    for file in &asked.files {
        let whose = if asked.bpf { Whose::Ours } else { Whose::Kernels };
        rows.extend(Row::of_file(file, asked.seeds.as_deref(), whose)?);
    }
    if asked.files.is_empty() {
        rows = Row::shipped(asked.seeds.as_deref().unwrap_or("1"))?;
    }
    if let Some(only) = &asked.only {
        rows.retain(|r| r.name.contains(only.as_str()));
    }
    match rows.is_empty() {
        true => Err(Failure::Input("--only: no row's name contains it".into())),
        false => Ok(rows),
    }
}

/// Each row's runs on an engine, and the kernel's version.
fn points(
    engine: &Engine,
    rows: &[Row],
    of: fn(&Row) -> &[RunSpec],
    jobs: usize,
    stop: &AtomicBool,
) -> Result<(Vec<Vec<Point>>, String), Failure> {
    let owner: Vec<usize> = rows.iter().enumerate().flat_map(|(i, r)| vec![i; of(r).len()]).collect();
    let specs: Vec<RunSpec> = rows.iter().flat_map(|r| of(r).iter().cloned()).collect();
    let mut points = vec![Vec::new(); rows.len()];
    let (mut kernel, mut failed) = (String::new(), None);
    let mut progress = Progress::new(&specs);
    engine.run_all(&specs, jobs, stop, |i, step: Step<Made>| match step {
        Step::At(at) => progress.at(i, at),
        Step::Done(Ok(None)) => {}
        Step::Done(Ok(Some(run))) => {
            progress.done(i);
            points[owner[i]].push(Point::of(&run));
            // Its version alone.
            kernel = run.kernel.split(' ').next().unwrap_or_default().into();
        }
        Step::Done(Err(e)) => {
            failed.get_or_insert(format!("{}: {e}", rows[owner[i]].name));
            stop.store(true, Ordering::Relaxed);
        }
    });
    progress.end();
    match failed {
        Some(e) => Err(Failure::Run(e)),
        None => Ok((points, kernel)),
    }
}

/// A table that is Markdown, too. In each cell Linux is left, then the simulator, then ns-3.
fn table(compared: &[Compared], kernel: &str) -> String {
    let beside = compared.iter().any(|c| !c.ns3.is_empty());
    let mut out = String::from("| row | utilisation % | mean sojourn ms | shares % | drops | marks | off |");
    out += if beside {
        " ns-3 off |\n|---|---|---|---|---|---|---|---|\n"
    } else {
        "\n|---|---|---|---|---|---|---|\n"
    };
    for c in compared {
        let means: Vec<Point> = [&c.linux, &c.sim, &c.ns3].iter().filter_map(|p| Point::mean(p)).collect();
        let cell = |of: &dyn Fn(&Point) -> String| means.iter().map(of).collect::<Vec<_>>().join(" / ");
        let shares = match means[0].shares.len() {
            1 => String::new(),
            _ => cell(&|p| list(&p.shares)),
        };
        out += &format!(
            "| {} | {} | {} | {shares} | {} | {} | {} |",
            c.row.name,
            cell(&|p| format!("{:.1}", p.utilization)),
            cell(&|p| format!("{:.2}", p.sojourn_ms)),
            cell(&|p| format!("{:.0}", p.drops)),
            cell(&|p| format!("{:.0}", p.marks)),
            off(&misses(&c.linux, &c.sim)),
        );
        out += &match (beside, c.ns3.is_empty()) {
            (false, _) => "\n".into(),
            (true, true) => " - |\n".into(),
            (true, false) => format!(" {} |\n", off(&misses(&c.linux, &c.ns3))),
        };
    }
    let all: Vec<&Compared> = compared.iter().collect();
    out += &format!(
        "\nWithin {UTILIZATION_POINTS} points of utilisation, {:.0} % or {SOJOURN_MS} ms of sojourn and {SHARE_POINTS} \
         points of share of Linux {kernel}:\nsimulator: {}\n",
        100.0 * SOJOURN_SHARE,
        within(&all, |c| &c.sim),
    );
    if beside {
        let has: Vec<&Compared> = compared.iter().filter(|c| !c.ns3.is_empty()).collect();
        out += &format!(
            "of the rows that ns-3 has, ns-3: {}\nof the rows that ns-3 has, simulator: {}\n",
            within(&has, |c| &c.ns3),
            within(&has, |c| &c.sim)
        );
    }
    out
}

fn off(misses: &[Miss]) -> String {
    let word = |m: &Miss| format!("{}{}", m.measure, if m.chance { " (chance)" } else { "" });
    misses.iter().map(word).collect::<Vec<_>>().join(", ")
}

/// How many rows an engine has within the target, and how many of the others may be chance.
fn within(compared: &[&Compared], of: fn(&Compared) -> &[Point]) -> String {
    let all: Vec<Vec<Miss>> = compared.iter().map(|c| misses(&c.linux, of(c))).collect();
    let within = all.iter().filter(|m| m.is_empty()).count();
    let chance = all.iter().filter(|m| !m.is_empty() && m.iter().all(|m| m.chance)).count();
    let share = 100.0 * within as f64 / all.len().max(1) as f64;
    let others = match chance {
        0 => String::new(),
        n => format!("; {n} of the others by less than two standard errors of what seeds differ by"),
    };
    format!("{within} of {} ({share:.0} %){others}", plural(all.len(), "row"))
}

fn list(shares: &[f64]) -> String {
    shares.iter().map(|x| format!("{x:.0}")).collect::<Vec<_>>().join(" ")
}

/// A point a seed of each engine.
fn as_json(compared: &[Compared], kernel: &str) -> String {
    let rows: Vec<_> = compared
        .iter()
        .map(|c| {
            let mut row = json!({
                "row": c.row.name, "linux": c.linux, "sim": c.sim, "misses": misses(&c.linux, &c.sim),
            });
            if !c.ns3.is_empty() {
                row["ns3"] = json!(c.ns3);
                row["ns3_misses"] = json!(misses(&c.linux, &c.ns3));
            }
            row
        })
        .collect();
    format!("{:#}\n", json!({ "kernel": kernel, "rows": rows }))
}
