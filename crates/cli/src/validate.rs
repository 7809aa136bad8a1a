//! `validate`: the same rows on the simulator and on Linux, and the gap between them.

use crate::args::Validate;
use crate::compare::{Progress, on_interrupt};
use crate::words::plural;
use crate::{Failure, print};
use queuewright_engine::{Engine, ItemEvent, RunOutcome, open as open_lab, play_all, run_all};
use queuewright_lab::judge::{
    COUNT_OF_OFFERED, COUNT_SHARE, MissedTarget, Point, SHARE_POINTS, SOJOURN_MS, SOJOURN_SHARE, Spread,
    UTILIZATION_POINTS, linux_again, misses, worst,
};
use queuewright_lab::queues::{Played, Sent, playable};
use queuewright_lab::random::{Draw, draw};
use queuewright_lab::validate::Row;
use queuewright_lab::{Cost, Costs, QdiscOrigin, StepCost, ns3};
use queuewright_scenario::{RunSpec, limits, read_text};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// How many of a row's runs ns-3 makes: each takes a hundred times as long as the simulator's.
const NS3_SEEDS: usize = 3;

/// What `--out` calls the file of what `--json` prints.
const RESULTS: &str = "results.json";

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
    let draws: Vec<Draw> = (0..asked.random.unwrap_or(0)).map(|i| draw(asked.seed, i)).collect();
    let rows = rows(asked, &draws)?;
    if asked.queues {
        return queues(asked, rows);
    }
    let (before, kernel) = measured(&asked.measured)?;
    let kept = asked.out.as_deref().map(|dir| keep(dir, &rows, &draws)).transpose()?;
    let begin = |row: Row| {
        let (linux, ns3) = of_row(&before, &row);
        Compared { row, linux, sim: Vec::new(), ns3 }
    };
    let (known, mut open): (Vec<_>, Vec<_>) = rows.into_iter().map(begin).partition(|c| !c.linux.is_empty());
    // A machine has the kernel's disciplines, or ours.
    let mut machines = Vec::new();
    for origin in [QdiscOrigin::Kernel, QdiscOrigin::Compiled, QdiscOrigin::Bpf] {
        let rows: Vec<_> = open.extract_if(.., |c| c.row.origin == origin).collect();
        if !rows.is_empty() {
            let lab = open_lab(&asked.kernel, origin).map_err(|e| Failure::Input(e.to_string()))?;
            machines.push((Engine::Linux(lab), rows));
        }
    }
    let stop = on_interrupt()?;
    let jobs = asked.jobs.count();
    let beside = asked.ns3.is_some() || known.iter().any(|c| !c.ns3.is_empty());
    let (compared, lost) = (Vec::new(), Vec::new());
    let mut report = Report { asked, jobs, stop: &stop, beside, kernel, kept, compared, lost, failed: None };
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
    /// Where `--out` keeps what `--json` prints.
    kept: Option<File>,
    compared: Vec<Compared>,
    /// Why rows are not among them, one of each run that failed.
    lost: Vec<String>,
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
        engine.run_all(&specs, self.jobs, self.stop, |i, step: ItemEvent<RunOutcome>| match step {
            ItemEvent::At(at) => progress.at(i, at),
            ItemEvent::Done(Ok(None)) => {}
            ItemEvent::Done(Ok(Some(run))) => {
                progress.done(i, &run);
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
            ItemEvent::Done(Err(e)) => {
                // The others are measured none the less.
                let name = rows[owner[i]].as_ref().map_or("", |c| &c.row.name);
                let why = format!("{name}: {e}");
                progress.aside(|| eprintln!("{why}"));
                self.lost.push(why);
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
        let open = c.ns3.is_empty() && c.row.origin == QdiscOrigin::Kernel;
        if let (Some(program), true) = (&self.asked.ns3, open) {
            match on_ns3(program, &c.row, self.jobs, self.stop) {
                Ok(ns3) => c.ns3 = ns3,
                Err(e) => self.fail(e),
            }
        }
        let first = self.compared.is_empty();
        // A comma in front: what ends with a line is whole rows.
        let json = if first { self.json_head() } else { ",".into() } + &json_row(&c);
        let table = if first { table_head(self.beside) } else { String::new() } + &table_row(&c, self.beside);
        self.compared.push(c);
        self.put(&json, &table);
    }

    /// Prints it in the form that was asked for, and keeps it.
    fn put(&mut self, json: &str, table: &str) {
        let kept = self.kept.as_mut().map_or(Ok(()), |file| file.write_all(json.as_bytes()));
        if let Err(e) = kept {
            self.fail(Failure::Run(format!("--out: {e}")));
        }
        if let Err(e) = print(if self.asked.json { json } else { table }) {
            self.fail(e);
        }
    }

    /// What stands before the first row.
    fn json_head(&self) -> String {
        format!("{{\"kernel\": {}, \"rows\": [\n", json!(self.kernel))
    }

    fn fail(&mut self, e: Failure) {
        self.failed.get_or_insert(e);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// What stands after the last row; how it all ended.
    fn end(mut self) -> Result<(), Failure> {
        let head = |head: String| if self.compared.is_empty() { head } else { String::new() };
        let spread = Spread::of(self.compared.iter().map(|c| c.linux.as_slice()));
        let json = head(self.json_head()) + &json_foot(&self.compared, &spread);
        let table =
            head(table_head(self.beside)) + &summary(&self.compared, self.beside, &self.kernel, &spread);
        self.put(&json, &table);
        match (self.failed, self.lost.first(), self.stop.load(Ordering::Relaxed)) {
            (Some(e), _, _) => Err(e),
            (None, _, true) => {
                let compared = plural(self.compared.len(), "row");
                Err(Failure::Interrupted(format!("interrupted; {compared} compared")))
            }
            (None, Some(first), false) => {
                let runs = plural(self.lost.len(), "run");
                Err(Failure::Run(format!("{runs} of Linux failed, the first: {first}")))
            }
            (None, None, false) => Ok(()),
        }
    }
}

/// A new folder for the files of these rows' draws, and in it the file for what `--json` prints.
fn keep(dir: &Path, rows: &[Row], draws: &[Draw]) -> Result<File, Failure> {
    let wrong = |path: &Path| {
        let path = path.display().to_string();
        move |e: io::Error| Failure::Input(format!("--out: {path}: {e}"))
    };
    fs::create_dir_all(dir).map_err(wrong(dir))?;
    let results = dir.join(RESULTS);
    let file = File::create_new(&results).map_err(wrong(&results))?;
    let of_row = |d: &&Draw| rows.iter().any(|r| r.name.split(' ').next() == Some(&d.name));
    for draw in draws.iter().filter(of_row) {
        let path = dir.join(format!("{}.toml", draw.name));
        fs::write(&path, &draw.text).map_err(wrong(&path))?;
    }
    Ok(file)
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
    /// [`Row::hash`]; files of before have none.
    scenario: Option<String>,
    #[serde(default)]
    linux: Vec<Point>,
    #[serde(default)]
    ns3: Vec<Point>,
}

/// What was measured before, by the row's name, and the kernel; several files add to one another.
fn measured(files: &[PathBuf]) -> Result<(BTreeMap<String, Vec<PrintedRow>>, String), Failure> {
    let (mut all, mut kernel) = (BTreeMap::<String, Vec<PrintedRow>>::new(), String::new());
    for file in files {
        let wrong = |why: String| Failure::Input(format!("{}: {why}", file.display()));
        let text = read_text(file, limits::MEASURED.bytes).map_err(|e| wrong(e.to_string()))?;
        let printed: Printed = serde_json::from_str(&text)
            .or_else(|e| if e.is_eof() { serde_json::from_str(&closed(&text)) } else { Err(e) })
            .map_err(|e| wrong(format!("not what 'validate --json' prints: {e}")))?;
        for row in printed.rows {
            all.entry(row.row.clone()).or_default().push(row);
        }
        kernel = printed.kernel;
    }
    Ok((all, kernel))
}

/// The runs of a row on Linux and in ns-3. A scenario that has another content now is measured again.
fn of_row(before: &BTreeMap<String, Vec<PrintedRow>>, row: &Row) -> (Vec<Point>, Vec<Point>) {
    let (mut linux, mut ns3): (Vec<Point>, Vec<Point>) = (Vec::new(), Vec::new());
    for known in before.get(&row.name).into_iter().flatten() {
        if known.scenario.as_ref().is_some_and(|hash| *hash != row.hash) {
            eprintln!("{}: it was another scenario when it was measured; it is run again", row.name);
            continue;
        }
        // Another file may hold the same runs.
        for (all, more) in [(&mut linux, &known.linux), (&mut ns3, &known.ns3)] {
            let new: Vec<Point> = more.iter().filter(|point| !all.contains(point)).cloned().collect();
            all.extend(new);
        }
    }
    (linux, ns3)
}

/// What was printed until the program was killed: its whole rows.
fn closed(text: &str) -> String {
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    format!("{whole}]}}")
}

fn on_simulator(row: &Row, jobs: usize) -> Result<Vec<Point>, Failure> {
    let (mut points, mut failed) = (Vec::new(), None);
    Engine::Sim.run_all(
        &row.sim,
        jobs,
        &AtomicBool::new(false),
        |i, step: ItemEvent<RunOutcome>| match step {
            ItemEvent::At(_) | ItemEvent::Done(Ok(None)) => {}
            ItemEvent::Done(Ok(Some(run))) => points.push((i, Point::of(&run))),
            ItemEvent::Done(Err(e)) => failed = Some(Failure::Run(format!("{}: {e}", row.name))),
        },
    );
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
        ItemEvent::At(_) => {}
        ItemEvent::Done(Ok(point)) => points.push((i, point)),
        ItemEvent::Done(Err(e)) => failed = Some(format!("{}: {}: {e}", program.display(), row.name)),
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

/// What disciplines cost; how much more ours than the kernel's of the same name.
fn costs(asked: &Validate) -> Result<(), Failure> {
    let wrong = |e: queuewright_lab::Error| Failure::Run(e.to_string());
    let lab = open_lab(&asked.kernel, QdiscOrigin::Kernel).map_err(|e| Failure::Input(e.to_string()))?;
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
        let origin = if c.ours { "ours" } else { "the kernel's" };
        out += &format!(
            "| {}, {origin} | {} | {} | {} |\n",
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

/// Each row's queue, packet by packet.
fn queues(asked: &Validate, rows: Vec<Row>) -> Result<(), Failure> {
    let mut left_out: BTreeMap<String, usize> = BTreeMap::new();
    let mut names = Vec::new();
    let mut runs: Vec<RunSpec> = Vec::new();
    for row in rows {
        let why = match row.origin {
            QdiscOrigin::Bpf => Err("it asks for a discipline of ours".to_string()),
            QdiscOrigin::Kernel | QdiscOrigin::Compiled => playable(&row.linux[0]),
        };
        match why {
            Ok(()) => {
                names.push(row.name);
                runs.push(row.linux.into_iter().next().expect("a row has a run"));
            }
            Err(why) => *left_out.entry(why).or_default() += 1,
        }
    }
    let lab = open_lab(&asked.kernel, QdiscOrigin::Kernel).map_err(|e| Failure::Input(e.to_string()))?;
    let stop = on_interrupt()?;
    let mut all: Vec<(usize, Played)> = Vec::new();
    let mut lost = Vec::new();
    if !asked.json {
        print(
            "| row | packets | left | marked | dropped | before, after the bucket us | parts at |\n|---|---|---|---|---|---|---|\n",
        )?;
    }
    play_all(&lab, &runs, asked.jobs.count(), &stop, |i, done| match done {
        Ok(played) => {
            if !asked.json {
                let _ = print(&played_row(&names[i], &played));
            }
            all.push((i, played));
        }
        Err(queuewright_lab::Error::Stopped) => {}
        Err(e) => {
            eprintln!("{}: {e}", names[i]);
            lost.push(e.to_string());
        }
    });
    all.sort_by_key(|(i, _)| *i);
    let same = all.iter().filter(|(_, p)| p.parted.is_none()).count();
    if asked.json {
        let rows: Vec<_> = all.iter().map(|(i, p)| json!({"row": names[*i], "played": p})).collect();
        print(&format!("{:#}\n", json!({"rows": rows, "same": same, "left_out": left_out})))?;
    } else {
        let (packets, kernel) =
            (all.iter().map(|(_, p)| p.packets).sum::<usize>(), all.first().map_or("", |(_, p)| &p.kernel));
        let mut out = format!(
            "\nThe same to the last packet as Linux {kernel}: {same} of {} ({packets} packets)\n",
            plural(all.len(), "row")
        );
        for (why, n) in &left_out {
            out += &format!("Not played: {}: {why}\n", plural(*n, "row"));
        }
        print(&out)?;
    }
    match (stop.load(Ordering::Relaxed), lost.is_empty()) {
        (true, _) => Err(Failure::Run(format!("interrupted; {} compared", plural(all.len(), "row")))),
        (_, false) => Err(Failure::Run(format!("{} not compared", plural(lost.len(), "row")))),
        (false, true) => Ok(()),
    }
}

fn played_row(name: &str, p: &Played) -> String {
    let sent = |s: &Option<Sent>| {
        s.map_or("nothing".into(), |s| {
            let mark = if s.marked { ", marked" } else { "" };
            format!("{} of flow {} after {:.3} ms{mark}", s.packet, s.flow, s.waited_ns as f64 / 1e6)
        })
    };
    let parts = p.parted.as_ref().map_or(String::new(), |at| {
        let when = at.at_ns as f64 / 1e9;
        format!("turn {}, {when:.6} s: Linux {}; ours {}", at.turn, sent(&at.kernel), sent(&at.ours))
    });
    let bucket = format!("{:.1}, {:.1}", p.early_ns as f64 / 1e3, p.late_ns as f64 / 1e3);
    format!("| {name} | {} | {} | {} | {} | {bucket} | {parts} |\n", p.packets, p.left, p.marked, p.dropped)
}

fn rows(asked: &Validate, draws: &[Draw]) -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    let seeds = asked.seeds.as_deref();
    for file in &asked.files {
        let origin = if asked.bpf { QdiscOrigin::Bpf } else { QdiscOrigin::Kernel };
        rows.extend(Row::of_file(file, seeds, origin)?);
    }
    for draw in draws {
        rows.extend(Row::of_draw(draw, seeds)?);
    }
    if asked.files.is_empty() && draws.is_empty() {
        rows = Row::shipped(seeds.unwrap_or("1"))?;
    }
    if let Some((part, of)) = asked.shard {
        let all = rows.into_iter().enumerate();
        rows = all.filter(|(i, _)| i % of == part - 1).map(|(_, row)| row).collect();
        if rows.is_empty() {
            return Err(Failure::Input("--shard: this part has no row".into()));
        }
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
        "| row | utilisation % | mean sojourn ms | p95 ms | shares % | drops | marks | off |{ns3}\n\
         |---|---|---|---|---|---|---|---|{rule}\n"
    )
}

fn table_row(c: &Compared, beside: bool) -> String {
    let means: Vec<Point> = [&c.linux, &c.sim, &c.ns3].iter().filter_map(|p| Point::mean(p)).collect();
    let cell = |of: &dyn Fn(&Point) -> String| means.iter().map(of).collect::<Vec<_>>().join(" / ");
    let shares = match means[0].shares.len() {
        1 => String::new(),
        _ => cell(&|p| list(&p.shares)),
    };
    let p95 = |p: &Point| p.sojourn_p95_ms.map_or("-".into(), |ms| format!("{ms:.2}"));
    let row = format!(
        "| {} | {} | {} | {} | {shares} | {} | {} | {} |",
        c.row.name,
        cell(&|p| format!("{:.1}", p.utilization)),
        cell(&|p| format!("{:.2}", p.sojourn_ms)),
        cell(&p95),
        cell(&|p| format!("{:.0}", p.drops)),
        cell(&|p| format!("{:.0}", p.marks)),
        off(&misses(&c.linux, &c.sim, &Spread::default())),
    );
    match (beside, c.ns3.is_empty()) {
        (false, _) => row + "\n",
        (true, true) => row + " - |\n",
        (true, false) => format!("{row} {} |\n", off(&misses(&c.linux, &c.ns3, &Spread::default()))),
    }
}

/// Which rows are off, the worst first, and how many are within the target.
fn summary(compared: &[Compared], beside: bool, kernel: &str, spread: &Spread) -> String {
    let all: Vec<&Compared> = compared.iter().collect();
    let mut out = String::new();
    let judged = worst_first(&all, |c| &c.sim, spread);
    if !judged.is_empty() {
        out += "\nOff, the worst first, in units of what is allowed:\n";
    }
    for (name, misses) in judged {
        out += &format!("{name}: {}\n", off(&misses));
    }
    out += &format!(
        "\nWithin {UTILIZATION_POINTS} points of utilisation, {:.0} % or {SOJOURN_MS} ms of sojourn (mean and p95), \
         {SHARE_POINTS} points of share, and {:.0} % or {} % of the packets of drops and of marks, of Linux \
         {kernel}:\nsimulator: {}\n",
        100.0 * SOJOURN_SHARE,
        100.0 * COUNT_SHARE,
        100.0 * COUNT_OF_OFFERED,
        within(&all, |c| &c.sim, spread),
    );
    if beside {
        let has: Vec<&Compared> = compared.iter().filter(|c| !c.ns3.is_empty()).collect();
        out += &format!(
            "of the rows that ns-3 has, ns-3: {}\nof the rows that ns-3 has, simulator: {}\n",
            within(&has, |c| &c.ns3, spread),
            within(&has, |c| &c.sim, spread)
        );
    }
    let (again, told) = linux_would(compared);
    if told > 0 {
        out += &format!(
            "Linux itself, run again with as many seeds as the simulator, would have about {again} of {} ({:.0} %): its own seeds \
             differ.\n",
            plural(told, "row"),
            100.0 * again as f64 / told as f64
        );
    }
    if spread.is_empty() {
        out += "No row has two seeds on Linux: what is chance is not known.\n";
    }
    let old = compared.iter().filter(|c| c.linux.iter().any(|p| p.sojourn_p95_ms.is_none())).count();
    if old > 0 {
        out += &format!("Linux's p95 was not measured in {}, and is not judged there.\n", plural(old, "row"));
    }
    let fewer = with_fewer_seeds(compared);
    if fewer > 0 {
        out += &format!(
            "Linux has fewer seeds than were asked for in {}: --measured has no more of them, and they are not run again.\n",
            plural(fewer, "row")
        );
    }
    out
}

/// In how many rows there are fewer runs on Linux than seeds were asked for: a file's do not say which seeds they had, so that the
/// others cannot be made.
fn with_fewer_seeds(compared: &[Compared]) -> usize {
    compared.iter().filter(|c| c.linux.len() < c.row.linux.len()).count()
}

/// In how many rows Linux, run again, would be within the target of itself; of those that have two seeds.
fn linux_would(compared: &[Compared]) -> (usize, usize) {
    let told: Vec<bool> = compared.iter().filter_map(|c| linux_again(&c.linux, c.sim.len())).collect();
    (told.iter().filter(|within| **within).count(), told.len())
}

/// An engine's rows that are off.
fn worst_first<'a>(
    compared: &[&'a Compared],
    of: fn(&Compared) -> &[Point],
    spread: &Spread,
) -> Vec<(&'a str, Vec<MissedTarget>)> {
    let all = compared.iter().map(|c| (c.row.name.as_str(), misses(&c.linux, of(c), spread)));
    let mut off: Vec<(&str, Vec<MissedTarget>)> = all.filter(|(_, misses)| !misses.is_empty()).collect();
    off.sort_by(|(_, a), (_, b)| worst(b).total_cmp(&worst(a)));
    off
}

fn off(misses: &[MissedTarget]) -> String {
    let word =
        |m: &MissedTarget| format!("{} {:.1}{}", m.measure, m.times, if m.chance { " (chance)" } else { "" });
    misses.iter().map(word).collect::<Vec<_>>().join(", ")
}

/// How many rows an engine has within the target, and how many of the others are beyond chance.
fn within(compared: &[&Compared], of: fn(&Compared) -> &[Point], spread: &Spread) -> String {
    let off = worst_first(compared, of, spread);
    let all = compared.len();
    let share = |n: usize| 100.0 * n as f64 / all.max(1) as f64;
    let within = all - off.len();
    let beyond = beyond_chance(&off);
    let others = match (off.len(), spread.is_empty()) {
        (0, _) | (_, true) => String::new(),
        _ => format!(
            "; {beyond} ({:.0} %) off by more than two standard errors of what seeds differ by",
            share(beyond)
        ),
    };
    format!("{within} of {} ({:.0} %){others}", plural(all, "row"), share(within))
}

fn beyond_chance(off: &[(&str, Vec<MissedTarget>)]) -> usize {
    off.iter().filter(|(_, misses)| misses.iter().any(|m| !m.chance)).count()
}

fn list(shares: &[f64]) -> String {
    shares.iter().map(|x| format!("{x:.0}")).collect::<Vec<_>>().join(" ")
}

/// A point a seed of each engine, in one line. What of the gaps is chance is known when all rows are there.
fn json_row(c: &Compared) -> String {
    let off = |of: &[Point]| -> Vec<&str> {
        misses(&c.linux, of, &Spread::default()).into_iter().map(|m| m.measure).collect()
    };
    let mut row = json!({
        "row": c.row.name, "scenario": c.row.hash, "linux": c.linux, "sim": c.sim, "misses": off(&c.sim),
    });
    if !c.ns3.is_empty() {
        row["ns3"] = json!(c.ns3);
        row["ns3_misses"] = json!(off(&c.ns3));
    }
    format!("{row}\n")
}

/// What stands after the last row: the simulator's rows that are off, the worst first.
fn json_foot(compared: &[Compared], spread: &Spread) -> String {
    let all: Vec<&Compared> = compared.iter().collect();
    let off = worst_first(&all, |c| &c.sim, spread);
    let rows: Vec<_> = off.iter().map(|(name, misses)| json!({"row": name, "misses": misses})).collect();
    let judged = json!({
        "rows": all.len(),
        "within": all.len() - off.len(),
        "beyond_chance": (!spread.is_empty()).then(|| beyond_chance(&off)),
        "linux_again": linux_would(compared).0,
        "fewer_seeds": with_fewer_seeds(compared),
        "spread": spread,
        "off": rows,
    });
    format!("], \"judged\": {judged}}}\n")
}
