//! Rows measured on real Linux beside the simulator's results for the same scenario.
//! The tests and `examples/fidelity.rs` share it.
//!
//! A row is a JSON object: `scenario` (its name), `rate_mbit`, `qdisc` (tc's words), `groups` (cca,
//! n, rtt_ms), `tcp_ecn`, `window_s` (measured from, to), and what was measured:
//! `utilisation`, `sojourn_ms.mean`, `goodput_mbit_by_group`, `drops`, `ecn_marks`.
//! Rows of one scenario are repetitions of it.

use queuewright_scenario::Scenario;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// What a run is compared by.
#[derive(Debug, Clone, Copy)]
pub struct Point {
    /// Utilisation, per cent.
    pub utilization: f64,
    /// Mean sojourn, ms.
    pub sojourn_ms: f64,
    /// Share of the first group in the goodput, per cent.
    pub share: f64,
    /// Packets dropped in the window.
    pub drops: f64,
    /// Packets marked in the window.
    pub marks: f64,
}

/// A scenario on both engines.
#[derive(Debug, Clone)]
pub struct Compared {
    /// Its name.
    pub name: String,
    /// What it is, in short.
    pub what: String,
    /// On Linux: one for each repetition.
    pub linux: Vec<Point>,
    /// In the simulator: one for each seed.
    pub sim: Vec<Point>,
}

/// The mean of points.
pub fn mean(points: &[Point]) -> Point {
    let of = |f: fn(&Point) -> f64| points.iter().map(f).sum::<f64>() / points.len() as f64;
    Point {
        utilization: of(|p| p.utilization),
        sojourn_ms: of(|p| p.sojourn_ms),
        share: of(|p| p.share),
        drops: of(|p| p.drops),
        marks: of(|p| p.marks),
    }
}

/// A measure, and how far it may be off: absolutely, and as a share of what Linux has.
type Limit = (&'static str, fn(&Point) -> f64, f64, f64);

/// The agreement asked for: 3 points of utilisation, 15 % or 1 ms of sojourn, 10 points of share.
const LIMITS: [Limit; 3] = [
    ("utilisation", |p| p.utilization, 3.0, 0.0),
    ("sojourn", |p| p.sojourn_ms, 1.0, 0.15),
    ("share", |p| p.share, 10.0, 0.0),
];

impl Compared {
    /// What of it is further apart than asked for.
    pub fn fails(&self) -> Vec<&'static str> {
        self.beyond(0.0)
    }

    /// What of it is further apart than asked for, and than chance explains: than `sigmas` standard deviations
    /// of the difference of the means. How far one run lies from the next is seen on the simulator's seeds;
    /// Linux has few repetitions.
    pub fn beyond(&self, sigmas: f64) -> Vec<&'static str> {
        let (linux, sim) = (mean(&self.linux), mean(&self.sim));
        let n = self.sim.len() as f64;
        let fails = LIMITS.iter().filter(|(_, of, absolute, share)| {
            let variance = self.sim.iter().map(|p| (of(p) - of(&sim)).powi(2)).sum::<f64>() / (n - 1.0);
            let chance = sigmas * (variance * (1.0 / n + 1.0 / self.linux.len() as f64)).sqrt();
            (of(&linux) - of(&sim)).abs() > (share * of(&linux)).max(*absolute).max(chance)
        });
        fails.map(|limit| limit.0).collect()
    }
}

/// Rows by the name of their scenario.
pub fn read(text: &str) -> BTreeMap<String, Vec<Value>> {
    let mut rows: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in text.lines().filter(|l| !l.trim().is_empty()) {
        let row: Value = serde_json::from_str(line).expect("a row is JSON");
        let name = row["scenario"].as_str().map_or_else(|| row["scenario"].to_string(), str::to_owned);
        rows.entry(name).or_default().push(row);
    }
    rows
}

/// Runs the scenario of some rows with five seeds.
pub fn compare(name: &str, rows: &[Value]) -> Compared {
    let row = &rows[0];
    let toml = scenario(row);
    let parsed = Scenario::parse(&toml, name, Path::new(".")).and_then(|s| s.runs());
    let runs = parsed.unwrap_or_else(|e| panic!("{e}\n{toml}"));
    let share = |groups: Vec<f64>| 100.0 * groups[0] / groups.iter().sum::<f64>().max(1e-9);
    let number = |v: &Value| v.as_f64().unwrap_or(f64::NAN);
    let sim = runs.iter().map(|spec| {
        let r = queuewright_sim::run(spec, &AtomicBool::new(false), &|_| ()).expect("the run ends");
        let p = &r.ports[0];
        Point {
            utilization: 100.0 * p.utilization,
            sojourn_ms: p.sojourn_ms.mean,
            share: share(r.groups.iter().map(|g| g.goodput_bps).collect()),
            drops: p.drops.values().sum::<u64>() as f64,
            marks: p.marks.values().sum::<u64>() as f64,
        }
    });
    let linux = rows.iter().map(|row| Point {
        utilization: 100.0 * number(&row["utilisation"]),
        sojourn_ms: number(&row["sojourn_ms"]["mean"]),
        share: share(list(&row["goodput_mbit_by_group"]).iter().map(number).collect()),
        drops: number(&row["drops"]),
        marks: number(&row["ecn_marks"]),
    });
    let groups: Vec<String> = list(&row["groups"])
        .iter()
        .map(|g| format!("{}x{}@{}ms", g["n"], g["cca"].as_str().unwrap_or(""), g["rtt_ms"]))
        .collect();
    Compared {
        name: name.to_owned(),
        what: format!("{}M {} {}", row["rate_mbit"], row["qdisc"].as_str().unwrap_or(""), groups.join(" + ")),
        linux: linux.collect(),
        sim: sim.collect(),
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The scenario file of a row.
fn scenario(row: &Value) -> String {
    let rate = row["rate_mbit"].as_f64().expect("rate_mbit");
    let words: Vec<&str> = row["qdisc"].as_str().expect("qdisc").split_whitespace().collect();
    let after = |key: &str| words.iter().position(|w| *w == key).and_then(|i| words.get(i + 1)).copied();
    let limit = after("limit").unwrap_or("1000").trim_end_matches('p');
    let ecn = row["tcp_ecn"].as_i64() == Some(1);
    let queue = match words[0] {
        "pfifo" => "\"droptail\"".to_string(),
        aqm => {
            let mut table = format!("{{ name = \"{}\"", aqm.replace('_', "-"));
            for key in ["target", "interval", "tupdate", "ce_threshold"] {
                if let Some(v) = after(key) {
                    table += &format!(", {key} = \"{v}\"");
                }
            }
            if words.contains(&"ecn") {
                table += ", ecn = true";
            } else if words.contains(&"noecn") {
                table += ", ecn = false";
            }
            table + " }"
        }
    };
    let window = list(&row["window_s"]);
    let mut text = format!("[link]\nrate = \"{rate}mbit\"\nbuffer = \"{limit}p\"\n");
    for g in list(&row["groups"]) {
        let cca = g["cca"].as_str().unwrap_or("cubic").replace("reno", "newreno");
        text += &format!(
            "[[flows]]\ncount = {}\ncca = \"{cca}\"\nrtt = \"{}ms\"\necn = {ecn}\n",
            g["n"], g["rtt_ms"],
        );
    }
    text + &format!(
        "[queue]\ndisciplines = [{queue}]\n[run]\nduration = \"{}s\"\nwarmup = \"{}s\"\nseeds = \"1..5\"\nsample = \"1s\"\n",
        window[1], window[0]
    )
}
