//! `validate`: the same rows on the simulator and on Linux, and the gap between them.

use crate::args::Validate;
use crate::compare::{Progress, on_interrupt};
use crate::engine::{Engine, Made, open};
use crate::matrix::Step;
use crate::words::plural;
use crate::{Failure, print};
use queuewright_lab::validate::{Point, Row, SHARE_POINTS, SOJOURN_MS, SOJOURN_SHARE, UTILIZATION_POINTS};
use queuewright_lab::{Cost, Whose};
use queuewright_scenario::RunSpec;
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::available_parallelism;

/// Runs all rows on both engines, prints a line a row, and how many are within the target.
pub fn validate(asked: &Validate) -> Result<(), Failure> {
    if asked.costs {
        return costs(asked);
    }
    let rows = rows(asked)?;
    let lab = |whose| open(&asked.kernel, whose).map_err(|e| Failure::Input(e.to_string()));
    let stop = on_interrupt()?;
    let jobs = match asked.jobs {
        Some(n) => n.into(),
        None => available_parallelism().map_or(1, |n| n.get()),
    };
    // Those of the kernel, then ours: a machine has the one or the other.
    let (kernels, ours): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(|r| r.whose == Whose::Kernels);
    let of_linux = |rows: &[Row], whose| match rows {
        [] => Ok((Vec::new(), String::new())),
        rows => points(&Engine::Linux(lab(whose)?), rows, |r| &r.linux, jobs, &stop),
    };
    let (mut linux, kernel) = of_linux(&kernels, Whose::Kernels)?;
    let (rest, kernel_of_ours) = of_linux(&ours, Whose::Ours)?;
    linux.extend(rest);
    let kernel = if kernel.is_empty() { kernel_of_ours } else { kernel };
    let rows = [kernels, ours].concat();
    let (sim, _) = points(&Engine::Sim, &rows, |r| &r.sim, jobs, &stop)?;
    let compared: Vec<(&Row, Point, Point)> = rows
        .iter()
        .zip(linux.iter().zip(&sim))
        .filter_map(|(row, (l, s))| Some((row, Point::mean(l)?, Point::mean(s)?)))
        .collect();
    print(&if asked.json { as_json(&compared, &kernel) } else { table(&compared, &kernel) })?;
    match stop.load(Ordering::Relaxed) {
        true => Err(Failure::Interrupted(format!("interrupted; {} compared", plural(compared.len(), "row")))),
        false => Ok(()),
    }
}

/// What queue managers cost; how much more ours than the kernel's of the same name.
fn costs(asked: &Validate) -> Result<(), Failure> {
    let wrong = |e: queuewright_lab::Error| Failure::Run(e.to_string());
    let lab = open(&asked.kernel, Whose::Kernels).map_err(|e| Failure::Input(e.to_string()))?;
    let stop = on_interrupt()?;
    let costs = lab.costs(&stop).map_err(wrong)?;
    if asked.json {
        let of = |c: &Cost| json!({"name": c.name, "ours": c.ours, "alone": c.alone, "way": c.way, "shaped": c.shaped});
        return print(&format!("{:#}\n", json!({ "costs": costs.iter().map(of).collect::<Vec<_>>() })));
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

/// A table that is Markdown, too. In each pair Linux is left.
fn table(compared: &[(&Row, Point, Point)], kernel: &str) -> String {
    let mut out =
        String::from("| row | utilisation % | mean sojourn ms | shares % | drops | marks | off |\n");
    out += "|---|---|---|---|---|---|---|\n";
    for (row, l, s) in compared {
        let shares = match l.shares.len() {
            1 => String::new(),
            _ => format!("{} / {}", list(&l.shares), list(&s.shares)),
        };
        out += &format!(
            "| {} | {:.1} / {:.1} | {:.2} / {:.2} | {shares} | {:.0} / {:.0} | {:.0} / {:.0} | {} |\n",
            row.name,
            l.utilization,
            s.utilization,
            l.sojourn_ms,
            s.sojourn_ms,
            l.drops,
            s.drops,
            l.marks,
            s.marks,
            l.misses(s).join(", "),
        );
    }
    let within = compared.iter().filter(|(_, l, s)| l.misses(s).is_empty()).count();
    let share = 100.0 * within as f64 / compared.len().max(1) as f64;
    out + &format!(
        "\nLinux {kernel} / simulator: {within} of {} within {UTILIZATION_POINTS} points of utilisation, {:.0} % or \
         {SOJOURN_MS} ms of sojourn and {SHARE_POINTS} points of share ({share:.0} %)\n",
        plural(compared.len(), "row"),
        100.0 * SOJOURN_SHARE,
    )
}

fn list(shares: &[f64]) -> String {
    shares.iter().map(|x| format!("{x:.0}")).collect::<Vec<_>>().join(" ")
}

fn as_json(compared: &[(&Row, Point, Point)], kernel: &str) -> String {
    let point = |p: &Point| {
        json!({
            "utilization": p.utilization, "sojourn_ms": p.sojourn_ms, "shares": p.shares,
            "drops": p.drops, "marks": p.marks,
        })
    };
    let rows: Vec<_> = compared
        .iter()
        .map(|(row, l, s)| {
            json!({ "row": row.name, "linux": point(l), "sim": point(s), "misses": l.misses(s) })
        })
        .collect();
    format!("{:#}\n", json!({ "kernel": kernel, "rows": rows }))
}
