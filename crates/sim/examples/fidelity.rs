//! Runs the scenarios of rows measured on real Linux and prints both side by side.
//!
//! `cargo run --release -p queuewright-sim --example fidelity -- ROWS.jsonl [SCENARIO ...]`
//!
//! With `SPREAD` in the environment, every repetition and seed as well; with `SEEDS`, such as `1..40`, other
//! seeds than the five, or twenty, that the tests take; with `TABLE`, the table of docs/fidelity.md instead.

#[path = "../tests/behaviour/linux_rows.rs"]
mod linux_rows;

use linux_rows::{Compared, Point, compare, list_of, mean, read, settle};
use serde_json::Value;

fn main() {
    let mut args = std::env::args().skip(1);
    let path = args.next().expect("usage: fidelity ROWS.jsonl [SCENARIO ...]");
    let only: Vec<String> = args.collect();
    let seeds = std::env::var("SEEDS").ok();
    let text = std::fs::read_to_string(&path).expect("rows can be read");
    if std::env::var_os("TABLE").is_some() {
        println!("| flows | Mbit/s | queue | utilisation % | mean sojourn ms | shares % | drops, marks |");
        println!("|---|---|---|---|---|---|---|");
    } else {
        println!(
            "{:<36} {:>15} {:>19} {:>8} {:>15} {:>11}  shares % L | S",
            "scenario", "util % L/S", "sojourn ms L/S", "", "drops L/S", "marks L/S"
        );
    }
    let (mut failed, mut count) = (0, 0);
    for (name, rows) in read(&text) {
        if !only.is_empty() && !only.contains(&name) {
            continue;
        }
        let c = match &seeds {
            Some(seeds) => compare(&name, &rows, seeds),
            None => settle(&name, &rows),
        };
        if std::env::var_os("TABLE").is_some() {
            println!("{}", table_row(&rows[0], &c));
            continue;
        }
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

/// A scenario as a line of docs/fidelity.md.
fn table_row(row: &Value, c: &Compared) -> String {
    let (l, s) = (mean(&c.linux), mean(&c.sim));
    let groups = row["groups"].as_array().map_or(&[][..], Vec::as_slice);
    let rtts: Vec<f64> = groups.iter().filter_map(|g| g["rtt_ms"].as_f64()).collect();
    let one_rtt = rtts.iter().all(|rtt| *rtt == rtts[0]);
    let flows: Vec<String> = groups
        .iter()
        .map(|g| {
            let cca = g["cca"].as_str().unwrap_or("").replace("reno", "newreno");
            let rtt = if one_rtt { String::new() } else { format!(" of {} ms", g["rtt_ms"]) };
            format!("{} {cca}{rtt}", g["n"])
        })
        .collect();
    let of_all = if one_rtt { format!(", {} ms", rtts[0]) } else { String::new() };
    let rate = row["rate_mbit"].as_f64().unwrap_or(f64::NAN);
    let shortest = rtts.iter().copied().fold(f64::INFINITY, f64::min);
    let shares = match l.shares.len() {
        1 => String::new(),
        _ => format!("{} \\| {}", list_of(&l.shares), list_of(&s.shares)),
    };
    let marks =
        if l.marks + s.marks > 0.0 { format!(", {:.0} \\| {:.0}", l.marks, s.marks) } else { String::new() };
    format!(
        "| {}{of_all} | {rate} | {} | {:.1} \\| {:.1} | {:.2} \\| {:.2} | {shares} | {:.0} \\| {:.0}{marks} |",
        flows.join(" + "),
        queue_words(row["qdisc"].as_str().unwrap_or(""), rate * shortest),
        l.utilization,
        s.utilization,
        l.sojourn_ms,
        s.sojourn_ms,
        l.drops,
        s.drops,
    )
}

/// tc's words in ours; a tail-drop's buffer in bandwidth-delay products (kbit) where it is a round number of them.
fn queue_words(qdisc: &str, bdp_kbit: f64) -> String {
    let words: Vec<&str> = qdisc.split_whitespace().collect();
    let after = |key: &str| words.iter().position(|w| *w == key).and_then(|i| words.get(i + 1)).copied();
    let name = match words[0] {
        "pfifo" => {
            let packets: f64 = after("limit").and_then(|l| l.parse().ok()).unwrap_or(f64::NAN);
            let bdp = bdp_kbit / 8.0 / 1.514;
            let round = (packets / bdp * 2.0).round() / 2.0;
            return if round <= 4.0 && (packets - round * bdp).abs() < 1.5 {
                format!("tail-drop, {round} BDP")
            } else {
                format!("tail-drop, {packets} packets")
            };
        }
        "codel" => "CoDel",
        "pie" => "PIE",
        "fq_codel" => "FQ-CoDel",
        "red" => "RED",
        other => other,
    };
    let step = after("ce_threshold").map_or(String::new(), |t| format!(", step of {t}"));
    let ecn = if words.contains(&"ecn") { ", ECN" } else { "" };
    format!("{name}{step}{ecn}")
}
