//! Speed of the simulator: bottleneck packets a wall second, instructions a packet, peak memory.
//!
//! `cargo run --release -p queuewright-sim --example bench [-- CASE ...]`, and with `-- flows` instead the
//! cost of a packet against the number of flows.
//!
//! Each case runs alone in a process of its own (its peak memory is the process's), on one core,
//! three times; the fastest is given with the slowest beside it, since other work on a shared
//! machine can only slow it down.

use queuewright_scenario::Scenario;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// (name, what, scenario)
const CASES: [(&str, &str, &str); 10] = [
    (
        "a",
        "1 Gbit/s, 10 CUBIC, 50 ms, CoDel, 20 s",
        "[link]\nrate = \"1gbit\"\nbuffer = \"2bdp\"\n[[flows]]\ncount = 10\ncca = \"cubic\"\nrtt = \"50ms\"\n\
         [queue]\ndisciplines = [\"codel\"]\n[run]\nduration = \"20s\"\nwarmup = \"5s\"\nseeds = [1]\n",
    ),
    (
        "b",
        "1 Gbit/s, 500 CUBIC, 50 ms, CoDel, 20 s",
        "[link]\nrate = \"1gbit\"\nbuffer = \"2bdp\"\n[[flows]]\ncount = 500\ncca = \"cubic\"\nrtt = \"50ms\"\n\
         [queue]\ndisciplines = [\"codel\"]\n[run]\nduration = \"20s\"\nwarmup = \"5s\"\nseeds = [1]\n",
    ),
    (
        "c",
        "1 Gbit/s, 500..1000 CUBIC/BBR, 4..98 ms, Titrate, 200 s",
        "[link]\nrate = \"1gbit\"\ndelay = \"1ms\"\nbuffer = \"2bdp\"\n[[flows]]\ncount = \"500..1000\"\n\
         cca = { cubic = 45, bbr = 28 }\nrtt = \"4ms..98ms\"\nstart = \"0s..1s\"\naccess = \"2gbit\"\n\
         [queue]\ndisciplines = [\"titrate\"]\n[run]\nduration = \"200s\"\nwarmup = \"10s\"\nseeds = [1]\n",
    ),
    (
        "d",
        "10 Gbit/s, 10 CUBIC, 10 ms, CoDel, 5 s",
        "[link]\nrate = \"10gbit\"\nbuffer = \"2bdp\"\n[[flows]]\ncount = 10\ncca = \"cubic\"\nrtt = \"10ms\"\n\
         [queue]\ndisciplines = [\"codel\"]\n[run]\nduration = \"5s\"\nwarmup = \"1s\"\nseeds = [1]\n",
    ),
    (
        "e",
        "1 Gbit/s, 500..1000 of the Mix of nine, 4..98 ms, Titrate, 200 s",
        "[link]\nrate = \"1gbit\"\ndelay = \"1ms\"\nbuffer = \"2bdp\"\n[[flows]]\ncount = \"500..1000\"\n\
         cca = { cubic = 45, bbr = 28, yeah = 8, illinois = 8, vegas = 4, htcp = 4, bic = 1, newreno = 1, \
         scalable = 1 }\nrtt = \"4ms..98ms\"\nstart = \"0s..1s\"\naccess = \"2gbit\"\n\
         [queue]\ndisciplines = [\"titrate\"]\n[run]\nduration = \"200s\"\nwarmup = \"10s\"\nseeds = [1]\n",
    ),
    (
        "f",
        "1 Gbit/s, 1000 CUBIC, 50 ms, FQ-CoDel, 20 s",
        "[link]\nrate = \"1gbit\"\nbuffer = \"2bdp\"\n[[flows]]\ncount = 1000\ncca = \"cubic\"\nrtt = \"50ms\"\n\
         start = \"0s..1s\"\n\
         [queue]\ndisciplines = [\"fq-codel\"]\n[run]\nduration = \"20s\"\nwarmup = \"5s\"\nseeds = [1]\n",
    ),
    (
        "f2",
        "1 Gbit/s, 1000 CUBIC, 50 ms, Santa, 20 s",
        "[link]\nrate = \"1gbit\"\nbuffer = \"2bdp\"\n[[flows]]\ncount = 1000\ncca = \"cubic\"\nrtt = \"50ms\"\n\
         start = \"0s..1s\"\n\
         [queue]\ndisciplines = [\"santa\"]\n[run]\nduration = \"20s\"\nwarmup = \"5s\"\nseeds = [1]\n",
    ),
    (
        "g",
        "1 Gbit/s, 500 BBRv3 and CUBIC, 50 ms, CoDel, 20 s",
        "[link]\nrate = \"1gbit\"\nbuffer = \"2bdp\"\n[[flows]]\ncount = 500\ncca = { bbr3 = 1, cubic = 1 }\nrtt = \"50ms\"\n\
         start = \"0s..1s\"\n\
         [queue]\ndisciplines = [\"codel\"]\n[run]\nduration = \"20s\"\nwarmup = \"5s\"\nseeds = [1]\n",
    ),
    (
        "h",
        "1 Gbit/s, 50 Prague and 50 CUBIC, 20 ms, DualPI2, 20 s",
        "[link]\nrate = \"1gbit\"\nbuffer = \"2bdp\"\n[[flows]]\ncount = 50\ncca = \"prague\"\nrtt = \"20ms\"\nstart = \"0s..1s\"\n\
         [[flows]]\ncount = 50\ncca = \"cubic\"\necn = true\nrtt = \"20ms\"\nstart = \"0s..1s\"\n\
         [queue]\ndisciplines = [\"dualpi2\"]\n[run]\nduration = \"20s\"\nwarmup = \"5s\"\nseeds = [1]\n",
    ),
    (
        "i",
        "1 Gbit/s, 1000 CUBIC of 50 hosts, 50 ms, CAKE, 20 s",
        "[link]\nrate = \"1gbit\"\nbuffer = \"2bdp\"\n[[flows]]\ncount = 1000\ncca = \"cubic\"\nrtt = \"50ms\"\n\
         start = \"0s..1s\"\nsource = \"1..50\"\n\
         [queue]\ndisciplines = [\"cake\"]\n[run]\nduration = \"20s\"\nwarmup = \"5s\"\nseeds = [1]\n",
    ),
];

/// (flows, seconds): of each a megabit a second, long enough for a million packets.
const FLOWS: [(u32, u32); 5] = [(10, 1000), (100, 300), (1000, 60), (10_000, 10), (100_000, 3)];

/// The same share of the link for each flow, so that what grows is the number of flows and nothing else.
fn many_flows(flows: u32, seconds: u32) -> String {
    format!(
        "[link]\nrate = \"{flows}mbit\"\nbuffer = \"2bdp\"\n[[flows]]\ncount = {flows}\ncca = \"cubic\"\n\
         rtt = \"50ms\"\nstart = \"0s..1s\"\n\
         [queue]\ndisciplines = [\"codel\"]\n[run]\nduration = \"{seconds}s\"\nwarmup = \"1s\"\nseeds = [1]\n"
    )
}

/// The scenario of a case, or of so many flows, and how often it is run.
fn scenario(case: &str) -> (String, u32) {
    if let Some(c) = CASES.iter().find(|c| c.0 == case) {
        return (c.2.to_string(), 3);
    }
    let (flows, seconds) =
        *FLOWS.iter().find(|f| f.0.to_string() == case).expect("a case, or a number of flows of the table");
    // A second of the largest takes as long as all of the others.
    (many_flows(flows, seconds), if flows < 10_000 { 3 } else { 1 })
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, case] = args.as_slice()
        && flag == "--alone"
    {
        return alone(case);
    }
    if args == ["flows"] {
        return flows_table();
    }
    println!(
        "{:<4} {:<64} {:>10} {:>19} {:>12} {:>9} {:>7} {:>9}",
        "case", "what", "packets", "M packets/s (worst)", "instr/packet", "peak MB", "util %", "delay ms"
    );
    for (name, what, _) in CASES.iter().filter(|c| args.is_empty() || args.iter().any(|a| a == c.0)) {
        let [packets, best, worst, instructions, mb, util, delay] = in_own_process(name);
        println!(
            "{name:<4} {what:<64} {packets:>10} {:>19} {instructions:>12} {mb:>9} {util:>7} {delay:>9}",
            format!("{best} ({worst})")
        );
    }
}

/// Cost of a packet against the number of flows.
fn flows_table() {
    println!(
        "{:>8} {:>10} {:>11} {:>12} {:>9}",
        "flows", "packets", "ns a packet", "instr/packet", "KB a flow"
    );
    for (flows, _) in FLOWS {
        let [packets, best, _, instructions, mb, ..] = in_own_process(&flows.to_string());
        let ns = 1000.0 / best.parse::<f64>().unwrap_or(f64::NAN);
        let kb = mb.parse::<f64>().unwrap_or(f64::NAN) * 1024.0 / f64::from(flows);
        println!("{flows:>8} {packets:>10} {ns:>11.0} {instructions:>12} {kb:>9.1}");
    }
}

/// Runs a case alone in a process: packets, best and worst speed, instructions a packet, peak memory,
/// utilisation, delay.
fn in_own_process(case: &str) -> [String; 7] {
    let me = std::env::current_exe().expect("own path");
    let out = Command::new(&me).args(["--alone", case]).output().expect("a case starts");
    let text = String::from_utf8_lossy(&out.stdout);
    let figures: Vec<String> = text.split_whitespace().map(str::to_string).collect();
    figures
        .try_into()
        .unwrap_or_else(|_| panic!("case {case} failed: {}", String::from_utf8_lossy(&out.stderr)))
}

fn alone(case: &str) {
    let (text, times) = scenario(case);
    let scenario = Scenario::parse(&text, case, std::path::Path::new(".")).expect("the case is valid");
    let spec = scenario.runs().expect("the case is valid").remove(0);
    let mut counter =
        perf_event::Builder::new().kind(perf_event::events::Hardware::INSTRUCTIONS).build().ok();
    let (mut best, mut worst) = (0.0f64, f64::MAX);
    let mut instructions = "n/a".to_string();
    let mut last = None;
    for _ in 0..times {
        let begin = Instant::now();
        if let Some(c) = &mut counter {
            let _ = c.reset().and_then(|_| c.enable());
        }
        let run = queuewright_sim::run(&spec, &AtomicBool::new(false), &|_| ()).expect("the run ends");
        let wall = begin.elapsed().as_secs_f64();
        // All packets of the run, warm-up included: so many were simulated.
        let packets = run.packets_per_s * run.wall_s;
        if let Some(c) = &mut counter
            && c.disable().is_ok()
            && let Ok(n) = c.read()
            && n > 0
        {
            instructions = format!("{:.0}", n as f64 / packets);
        }
        best = best.max(packets / wall);
        worst = worst.min(packets / wall);
        last = Some((packets, run));
    }
    let Some((packets, run)) = last else { return };
    println!(
        "{packets:.0} {:.2} {:.2} {instructions} {:.0} {:.2} {:.2}",
        best / 1e6,
        worst / 1e6,
        peak_mb(),
        100.0 * run.ports[0].utilization,
        run.ports[0].sojourn_ms.mean
    );
}

/// Peak resident memory of this process (MB); NaN where the system does not tell.
fn peak_mb() -> f64 {
    std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|s| {
            let line = s.lines().find(|l| l.starts_with("VmHWM"))?.to_owned();
            line.split_whitespace().nth(1)?.parse::<f64>().ok()
        })
        .map_or(f64::NAN, |kb| kb / 1024.0)
}
