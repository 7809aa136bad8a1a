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
#[derive(Debug, Clone)]
pub struct Point {
    /// Utilisation, per cent.
    pub utilization: f64,
    /// Mean sojourn, ms.
    pub sojourn_ms: f64,
    /// Share of each group in the goodput, per cent.
    pub shares: Vec<f64>,
    /// Full packets that left in the window.
    pub packets: f64,
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
        shares: (0..points[0].shares.len())
            .map(|i| points.iter().map(|p| p.shares[i]).sum::<f64>() / points.len() as f64)
            .collect(),
        packets: of(|p| p.packets),
        drops: of(|p| p.drops),
        marks: of(|p| p.marks),
    }
}

/// Some numbers in one text, such as shares.
pub fn list_of(numbers: &[f64]) -> String {
    numbers.iter().map(|x| format!("{x:.1}")).collect::<Vec<_>>().join(" ")
}

/// How far a run on Linux lies from the next of the same scenario, for rows that were measured once: standard deviations, pooled
/// over the 44 rows of docs/fidelity-linux.json with the kernel's own disciplines, each run three times: points of
/// utilisation, of the sojourn, points of a share, of drops.
const UTILIZATION_SD: f64 = 0.56;
const SOJOURN_SD: f64 = 0.051;
const SHARE_SD: f64 = 2.3;
const COUNT_SD: f64 = 0.13;

/// One number in which the engines are apart.
#[derive(Debug, Clone)]
pub struct Gap {
    /// Which, such as `drops`.
    pub what: String,
    /// Linux's.
    pub linux: f64,
    /// The simulator's.
    pub sim: f64,
    /// They might have been apart by this.
    pub allowed: f64,
}

impl Compared {
    /// What of it is further apart than asked for: 3 points of utilisation, 15 % or 1 ms of sojourn, 10 points of any
    /// group's share, 15 % or a thousandth of the packets of drops and of marks.
    pub fn fails(&self) -> Vec<String> {
        self.beyond(0.0).into_iter().map(|gap| gap.what).collect()
    }

    /// What of it is further apart than asked for, and than chance explains: than `sigmas` standard deviations
    /// of the difference of the means. How far one run lies from the next is seen on Linux: a simulator whose seeds
    /// differ more is not allowed more.
    pub fn beyond(&self, sigmas: f64) -> Vec<Gap> {
        let (linux, sim) = (mean(&self.linux), mean(&self.sim));
        let [l, s] = [&self.linux, &self.sim].map(|points| points.len() as f64);
        let mut gaps = Vec::new();
        let mut look = |what: String, of: &dyn Fn(&Point) -> f64, least: f64, relative: f64, sd: f64| {
            let (here, there) = (of(&sim), of(&linux));
            let squares = self.linux.iter().map(|p| (of(p) - there).powi(2)).sum::<f64>();
            let sd = if l > 1.0 { (squares / (l - 1.0)).sqrt() } else { sd };
            let chance = sigmas * sd * (1.0 / l + 1.0 / s).sqrt();
            let allowed = (relative * there).max(least).max(chance);
            if (here - there).abs() > allowed {
                gaps.push(Gap { what, linux: there, sim: here, allowed });
            }
        };
        look("utilisation".into(), &|p| p.utilization, 3.0, 0.0, UTILIZATION_SD);
        look("sojourn".into(), &|p| p.sojourn_ms, 1.0, 0.15, SOJOURN_SD * linux.sojourn_ms);
        for i in 0..linux.shares.len() {
            look(format!("share {}", i + 1), &|p| p.shares[i], 10.0, 0.0, SHARE_SD);
        }
        let few = linux.packets / 1000.0;
        look("drops".into(), &|p| p.drops, few, 0.15, COUNT_SD * linux.drops);
        look("marks".into(), &|p| p.marks, few, 0.15, COUNT_SD * linux.marks);
        gaps
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

/// Runs the scenario of some rows with five seeds, and where these are off, with twenty: five may lie closer
/// together than runs do.
pub fn settle(name: &str, rows: &[Value]) -> Compared {
    let few = compare(name, rows, "1..5");
    if few.fails().is_empty() { few } else { compare(name, rows, "1..20") }
}

/// Runs the scenario of some rows with some seeds, `1..5` for five.
pub fn compare(name: &str, rows: &[Value], seeds: &str) -> Compared {
    let row = &rows[0];
    let toml = scenario(row, seeds);
    let parsed = Scenario::parse(&toml, name, Path::new(".")).and_then(|s| s.runs());
    let runs = parsed.unwrap_or_else(|e| panic!("{e}\n{toml}"));
    let shares = |groups: Vec<f64>| {
        let all = groups.iter().sum::<f64>().max(1e-9);
        groups.iter().map(|g| 100.0 * g / all).collect()
    };
    let number = |v: &Value| v.as_f64().unwrap_or(f64::NAN);
    let flows = list(&row["groups"]).len();
    let window = list(&row["window_s"]);
    // Full packets, of 1514 bytes as they are counted, that fit into what is measured.
    let capacity = number(&row["rate_mbit"]) * 1e6 / 8.0 * (number(&window[1]) - number(&window[0])) / 1514.0;
    let sim = runs.iter().map(|spec| {
        let r = queuewright_sim::run(spec, &AtomicBool::new(false), &|_| ()).expect("the run ends");
        let p = &r.ports[0];
        Point {
            utilization: 100.0 * p.utilization,
            sojourn_ms: p.sojourn_ms.mean,
            // All but the ping.
            shares: shares(r.groups.iter().take(flows).map(|g| g.goodput_bps).collect()),
            packets: p.packets as f64,
            drops: p.drops.values().sum::<u64>() as f64,
            marks: p.marks.values().sum::<u64>() as f64,
        }
    });
    let linux = rows.iter().map(|row| Point {
        utilization: 100.0 * number(&row["utilisation"]),
        sojourn_ms: number(&row["sojourn_ms"]["mean"]),
        shares: shares(list(&row["goodput_mbit_by_group"]).iter().map(number).collect()),
        packets: number(&row["utilisation"]) * capacity,
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
fn scenario(row: &Value, seeds: &str) -> String {
    let rate = row["rate_mbit"].as_f64().expect("rate_mbit");
    let words: Vec<&str> = row["qdisc"].as_str().expect("qdisc").split_whitespace().collect();
    let after = |key: &str| words.iter().position(|w| *w == key).and_then(|i| words.get(i + 1)).copied();
    let limit = after("limit").unwrap_or("1000").trim_end_matches('p');
    let ecn = row["tcp_ecn"].as_i64() == Some(1);
    let queue = match words[0] {
        "pfifo" => "\"droptail\"".to_string(),
        aqm => {
            let mut table = format!("{{ name = \"{}\"", aqm.replace('_', "-"));
            for key in ["target", "interval", "tupdate", "ce_threshold", "bandwidth"] {
                if let Some(v) = after(key) {
                    table += &format!(", {key} = \"{v}\"");
                }
            }
            for key in ["min", "max", "avpkt", "quantum", "memory_limit"] {
                if let Some(v) = after(key) {
                    let unit = if v.ends_with(|c: char| c.is_ascii_digit()) { "b" } else { "" };
                    table += &format!(", {key} = \"{}{unit}\"", v.to_lowercase());
                }
            }
            for key in ["flows", "burst", "probability", "drop_batch"] {
                if let Some(v) = after(key) {
                    table += &format!(", {key} = {v}");
                }
            }
            if aqm == "fq_codel" {
                table += &format!(", limit = {}", after("limit").unwrap_or("10240").trim_end_matches('p'));
            }
            // What tc leaves on if nothing is said, and off, is the default here too.
            for (word, setting) in [
                ("ecn", "ecn = true"),
                ("noecn", "ecn = false"),
                ("harddrop", "harddrop = true"),
                ("nodrop", "nodrop = true"),
            ] {
                if words.contains(&word) {
                    table += &format!(", {setting}");
                }
            }
            table + " }"
        }
    };
    // RED's limit is in bytes; fq_codel keeps its own.
    let buffer = match words[0] {
        "red" => format!("{}b", after("limit").expect("red has a limit")),
        "fq_codel" => "100000p".to_string(),
        _ => format!("{limit}p"),
    };
    let window = list(&row["window_s"]);
    let mut text = format!("[link]\nrate = \"{rate}mbit\"\nburst = \"3028b\"\nbuffer = \"{buffer}\"\n");
    for (i, g) in list(&row["groups"]).iter().enumerate() {
        let start = row["starts_s"][i].as_f64().unwrap_or(0.0);
        let cca = g["cca"].as_str().unwrap_or("cubic").replace("reno", "newreno");
        text += &format!(
            "[[flows]]\ncount = {}\ncca = \"{cca}\"\nrtt = \"{}ms\"\necn = {ecn}\nstart = \"{start}s\"\n",
            g["n"], g["rtt_ms"],
        );
    }
    // The ping beside the flows: ten times a second, in one of the buffer's places until it is served.
    text += "[[flows]]\nname = \"ping\"\ncbr = \"6720bit\"\npacket = \"84b\"\nstart = \"0s..0.1s\"\n";
    text + &format!(
        "[queue]\ndisciplines = [{queue}]\n[run]\nduration = \"{}s\"\nwarmup = \"{}s\"\nseeds = \"{seeds}\"\nsample = \"1s\"\n",
        window[1], window[0]
    )
}
