//! `validate`: the same rows on the simulator and on Linux, and the gap between them.

use crate::args::Validate;
use crate::compare::{Progress, on_interrupt};
use crate::words::plural;
use crate::{Failure, print};
use queuewright_engine::{Engine, Made, Step, jobs, open as open_lab, run_all};
use queuewright_lab::validate::{
    Miss, Point, Row, SHARE_POINTS, SOJOURN_MS, SOJOURN_SHARE, UTILIZATION_POINTS, misses,
};
use queuewright_lab::{Cost, Costs, StepCost, Whose, ns3};
use queuewright_scenario::RunSpec;
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

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

/// Runs all rows on both engines and prints each as soon as its runs are there, so that whatever ends this early takes
/// nothing away that was measured; then how many are within the target.
pub fn validate(asked: &Validate) -> Result<(), Failure> {
    if asked.costs {
        return costs(asked);
    }
    let rows = rows(asked)?;
    let (mut before, kernel) = measured(&asked.measured)?;
    let begin = |row: Row| {
        let (linux, ns3) = before.remove(&row.name).unwrap_or_default();
        Compared { row, linux, sim: Vec::new(), ns3 }
    };
    let (known, open): (Vec<_>, Vec<_>) = rows.into_iter().map(begin).partition(|c| !c.linux.is_empty());
    // A machine has the kernel's queue managers, or ours.
    let (kernels, ours): (Vec<_>, Vec<_>) = open.into_iter().partition(|c| c.row.whose == Whose::Kernels);
    let mut machines = Vec::new();
    for (whose, rows) in [(Whose::Kernels, kernels), (Whose::Ours, ours)] {
        if !rows.is_empty() {
            let lab = open_lab(&asked.kernel, whose).map_err(|e| Failure::Input(e.to_string()))?;
            machines.push((Engine::Linux(lab), rows));
        }
    }
    let stop = on_interrupt()?;
    let jobs = jobs(asked.jobs);
    let beside = asked.ns3.is_some() || known.iter().any(|c| !c.ns3.is_empty());
    let mut report = Report { asked, jobs, stop: &stop, beside, kernel, compared: Vec::new(), failed: None };
    for compared in known {
        if !stop.load(Ordering::Relaxed) {
            report.finish(compared);
        }
    }
    for (engine, rows) in machines {
        report.on_linux(&engine, rows);
    }
    report.end()
}

/// What is printed, a row at a time.
struct Report<'a> {
    asked: &'a Validate,
    jobs: usize,
    stop: &'a AtomicBool,
    /// ns-3 has a column.
    beside: bool,
    kernel: String,
    compared: Vec<Compared>,
    /// The first error, after which no more is begun.
    failed: Option<Failure>,
}

impl Report<'_> {
    /// These rows' runs on Linux; each row goes on as soon as all of its seeds are there.
    fn on_linux(&mut self, engine: &Engine, rows: Vec<Compared>) {
        let owner: Vec<usize> =
            rows.iter().enumerate().flat_map(|(i, c)| vec![i; c.row.linux.len()]).collect();
        let specs: Vec<RunSpec> = rows.iter().flat_map(|c| c.row.linux.iter().cloned()).collect();
        let mut rows: Vec<Option<Compared>> = rows.into_iter().map(Some).collect();
        let mut progress = Progress::new(&specs);
        engine.run_all(&specs, self.jobs, self.stop, |i, step: Step<Made>| match step {
            Step::At(at) => progress.at(i, at),
            Step::Done(Ok(None)) => {}
            Step::Done(Ok(Some(run))) => {
                progress.done(i);
                // Its version alone.
                self.kernel = run.kernel.split(' ').next().unwrap_or_default().into();
                let row = &mut rows[owner[i]];
                if let Some(made) = row {
                    made.linux.push(Point::of(&run));
                }
                if let Some(made) = row.take_if(|c| c.linux.len() == c.row.linux.len()) {
                    progress.aside(|| self.finish(made));
                }
            }
            Step::Done(Err(e)) => {
                let name = rows[owner[i]].as_ref().map_or("", |c| &c.row.name);
                self.fail(Failure::Run(format!("{name}: {e}")));
            }
        });
        progress.end();
    }

    /// The other engines' runs of a row that Linux has, and its line. The simulator's are made even while all is to
    /// end: they take a moment, and Linux's would be lost.
    fn finish(&mut self, mut c: Compared) {
        match on_simulator(&c.row, self.jobs) {
            Ok(sim) => c.sim = sim,
            Err(e) => return self.fail(e),
        }
        // ns-3's are held against the kernel's: ours have a host of their own.
        let open = c.ns3.is_empty() && c.row.whose == Whose::Kernels;
        if let (Some(program), true) = (&self.asked.ns3, open) {
            match on_ns3(program, &c.row, self.jobs, self.stop) {
                Ok(ns3) => c.ns3 = ns3,
                Err(e) => self.fail(e),
            }
        }
        let line = match (self.asked.json, self.compared.is_empty()) {
            (false, first) => (if first { self.head() } else { String::new() }) + &table_row(&c, self.beside),
            (true, true) => self.head() + &json_row(&c),
            // A comma in front: what ends with a line is whole rows.
            (true, false) => format!(",{}", json_row(&c)),
        };
        self.compared.push(c);
        if let Err(e) = print(&line) {
            self.fail(e);
        }
    }

    /// What stands before the first row.
    fn head(&self) -> String {
        match self.asked.json {
            true => format!("{{\"kernel\": {}, \"rows\": [\n", json!(self.kernel)),
            false => table_head(self.beside),
        }
    }

    fn fail(&mut self, e: Failure) {
        self.failed.get_or_insert(e);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// What stands after the last row; how it all ended.
    fn end(self) -> Result<(), Failure> {
        let head = if self.compared.is_empty() { self.head() } else { String::new() };
        let foot = match self.asked.json {
            true => "]}\n".into(),
            false => summary(&self.compared, self.beside, &self.kernel),
        };
        print(&(head + &foot))?;
        match (self.failed, self.stop.load(Ordering::Relaxed)) {
            (Some(e), _) => Err(e),
            (None, true) => {
                let compared = plural(self.compared.len(), "row");
                Err(Failure::Interrupted(format!("interrupted; {compared} compared")))
            }
            (None, false) => Ok(()),
        }
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
            .or_else(|e| if e.is_eof() { serde_json::from_str(&closed(&text)) } else { Err(e) })
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

/// What was printed until the program was killed: its whole rows.
fn closed(text: &str) -> String {
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    format!("{whole}]}}")
}

fn on_simulator(row: &Row, jobs: usize) -> Result<Vec<Point>, Failure> {
    let (mut points, mut failed) = (Vec::new(), None);
    Engine::Sim.run_all(&row.sim, jobs, &AtomicBool::new(false), |i, step: Step<Made>| match step {
        Step::At(_) | Step::Done(Ok(None)) => {}
        Step::Done(Ok(Some(run))) => points.push((i, Point::of(&run))),
        Step::Done(Err(e)) => failed = Some(Failure::Run(format!("{}: {e}", row.name))),
    });
    failed.map_or_else(|| Ok(in_order(points)), Err)
}

/// A row in ns-3: none where it has not what the row asks for, or is stopped.
fn on_ns3(program: &Path, row: &Row, jobs: usize, stop: &AtomicBool) -> Result<Vec<Point>, Failure> {
    let asked: Vec<Vec<String>> = row.sim.iter().take(NS3_SEEDS).filter_map(ns3::arguments).collect();
    let work = |i: usize, _: &dyn Fn(f64)| -> Result<Point, String> {
        let (done, out, err) =
            output(Command::new(program).args(&asked[i]), stop).map_err(|e| e.to_string())?;
        match done.success() {
            true => serde_json::from_slice(&out).map_err(|e| e.to_string()),
            false => Err(String::from_utf8_lossy(&err).trim().to_string()),
        }
    };
    let (mut points, mut failed) = (Vec::new(), None);
    run_all(asked.len(), jobs, stop, work, |i, step| match step {
        Step::At(_) => {}
        Step::Done(Ok(point)) => points.push((i, point)),
        Step::Done(Err(e)) => failed = Some(format!("{}: {}: {e}", program.display(), row.name)),
    });
    match failed {
        Some(e) if !stop.load(Ordering::Relaxed) => Err(Failure::Run(e)),
        _ if points.len() < asked.len() => Ok(Vec::new()),
        _ => Ok(in_order(points)),
    }
}

/// What a program prints, and how it ends: at once, where this one is to stop.
fn output(command: &mut Command, stop: &AtomicBool) -> io::Result<(ExitStatus, Vec<u8>, Vec<u8>)> {
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let done = thread::scope(|scope| {
        // A pipe that nobody reads would keep the program from its end.
        scope.spawn(|| stdout.map(|mut pipe| pipe.read_to_end(&mut out)));
        scope.spawn(|| stderr.map(|mut pipe| pipe.read_to_end(&mut err)));
        loop {
            if let Some(done) = child.try_wait()? {
                return Ok::<_, io::Error>(done);
            }
            if stop.load(Ordering::Relaxed) {
                child.kill()?;
            }
            thread::sleep(Duration::from_millis(20));
        }
    })?;
    Ok((done, out, err))
}

/// As the seeds are, however many cores made them.
fn in_order(mut points: Vec<(usize, Point)>) -> Vec<Point> {
    points.sort_by_key(|(i, _)| *i);
    points.into_iter().map(|(_, point)| point).collect()
}

/// What queue managers cost; how much more ours than the kernel's of the same name.
fn costs(asked: &Validate) -> Result<(), Failure> {
    let wrong = |e: queuewright_lab::Error| Failure::Run(e.to_string());
    let lab = open_lab(&asked.kernel, Whose::Kernels).map_err(|e| Failure::Input(e.to_string()))?;
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

/// A table that is Markdown, too. In each cell Linux is left, then the simulator, then ns-3.
fn table_head(beside: bool) -> String {
    let (ns3, rule) = if beside { (" ns-3 off |", "---|") } else { ("", "") };
    format!(
        "| row | utilisation % | mean sojourn ms | shares % | drops | marks | off |{ns3}\n\
         |---|---|---|---|---|---|---|{rule}\n"
    )
}

fn table_row(c: &Compared, beside: bool) -> String {
    let means: Vec<Point> = [&c.linux, &c.sim, &c.ns3].iter().filter_map(|p| Point::mean(p)).collect();
    let cell = |of: &dyn Fn(&Point) -> String| means.iter().map(of).collect::<Vec<_>>().join(" / ");
    let shares = match means[0].shares.len() {
        1 => String::new(),
        _ => cell(&|p| list(&p.shares)),
    };
    let row = format!(
        "| {} | {} | {} | {shares} | {} | {} | {} |",
        c.row.name,
        cell(&|p| format!("{:.1}", p.utilization)),
        cell(&|p| format!("{:.2}", p.sojourn_ms)),
        cell(&|p| format!("{:.0}", p.drops)),
        cell(&|p| format!("{:.0}", p.marks)),
        off(&misses(&c.linux, &c.sim)),
    );
    match (beside, c.ns3.is_empty()) {
        (false, _) => row + "\n",
        (true, true) => row + " - |\n",
        (true, false) => format!("{row} {} |\n", off(&misses(&c.linux, &c.ns3))),
    }
}

/// How many of them are within the target.
fn summary(compared: &[Compared], beside: bool, kernel: &str) -> String {
    let all: Vec<&Compared> = compared.iter().collect();
    let mut out = format!(
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

/// A point a seed of each engine, in one line.
fn json_row(c: &Compared) -> String {
    let mut row = json!({
        "row": c.row.name, "linux": c.linux, "sim": c.sim, "misses": misses(&c.linux, &c.sim),
    });
    if !c.ns3.is_empty() {
        row["ns3"] = json!(c.ns3);
        row["ns3_misses"] = json!(misses(&c.linux, &c.ns3));
    }
    format!("{row}\n")
}
