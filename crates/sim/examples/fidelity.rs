//! Runs the scenarios of rows measured on real Linux and prints both side by side.
//!
//! `cargo run --release -p queuewright-sim --example fidelity -- ROWS.jsonl [SCENARIO ...]`
//!
//! With `SPREAD` in the environment, every repetition and seed as well; with `SEEDS`, such as `1..40`, other
//! seeds than the five, or twenty, that the tests take.

#[path = "../tests/behaviour/linux_rows.rs"]
mod linux_rows;

use linux_rows::{Point, compare, list_of, mean, read, settle};

fn main() {
    let mut args = std::env::args().skip(1);
    let path = args.next().expect("usage: fidelity ROWS.jsonl [SCENARIO ...]");
    let only: Vec<String> = args.collect();
    let seeds = std::env::var("SEEDS").ok();
    let text = std::fs::read_to_string(&path).expect("rows can be read");
    println!(
        "{:<36} {:>15} {:>19} {:>8} {:>15} {:>11}  shares % L | S",
        "scenario", "util % L/S", "sojourn ms L/S", "", "drops L/S", "marks L/S"
    );
    let (mut failed, mut count) = (0, 0);
    for (name, rows) in read(&text) {
        if !only.is_empty() && !only.contains(&name) {
            continue;
        }
        let c = match &seeds {
            Some(seeds) => compare(&name, &rows, seeds),
            None => settle(&name, &rows),
        };
        let (l, s) = (mean(&c.linux), mean(&c.sim));
        count += 1;
        failed += usize::from(!c.fails().is_empty());
        println!(
            "{:<36} {:>7.2}/{:>7.2} {:>9.2}/{:>9.2} {:>+7.0}% {:>7.0}/{:>7.0} {:>5.0}/{:>5.0}  {} | {} {}",
            c.name,
            l.utilization,
            s.utilization,
            l.sojourn_ms,
            s.sojourn_ms,
            100.0 * (s.sojourn_ms / l.sojourn_ms - 1.0),
            l.drops,
            s.drops,
            l.marks,
            s.marks,
            list_of(&l.shares),
            list_of(&s.shares),
            match (c.fails().join(" "), c.beyond(2.5)) {
                (fails, beyond) if !fails.is_empty() && beyond.is_empty() =>
                    format!("{fails} (within 2.5 sigma)"),
                (fails, beyond) => beyond.iter().fold(fails, |all, gap| {
                    format!(
                        "{all}; {}: {:.1} | {:.1}, {:.1} allowed",
                        gap.what, gap.linux, gap.sim, gap.allowed
                    )
                }),
            }
        );
        if std::env::var_os("SPREAD").is_some() {
            let of = |points: &[Point], f: fn(&Point) -> f64| points.iter().map(f).collect::<Vec<_>>();
            println!("   {}", c.what);
            for (engine, points) in [("Linux", &c.linux), ("sim", &c.sim)] {
                println!(
                    "   {engine}: util {:.2?} sojourn {:.1?} shares {}",
                    of(points, |p| p.utilization),
                    of(points, |p| p.sojourn_ms),
                    points.iter().map(|p| list_of(&p.shares)).collect::<Vec<_>>().join("; ")
                );
            }
        }
    }
    if std::env::var_os("TABLE").is_some() {
        return;
    }
    println!(
        "{failed} of {count} scenarios off by more than 3 points, 15 % or 1 ms, 10 points, or 15 % or a thousandth of the packets"
    );
}
