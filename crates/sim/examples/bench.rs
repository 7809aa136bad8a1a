//! Speed of the simulator: bottleneck packets a wall second, instructions a packet, peak memory.
//!
//! `cargo run --release -p queuewright-sim --example bench [-- CASE ...]`
//!
//! Each case runs alone in a process of its own (its peak memory is the process's), on one core,
//! three times; the fastest is given with the slowest beside it, since other work on a shared
//! machine can only slow it down.

use queuewright_scenario::Scenario;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// (name, what, scenario)
const CASES: [(&str, &str, &str); 4] = [
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
];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, case] = args.as_slice()
        && flag == "--alone"
    {
        return alone(case);
    }
    println!(
        "{:<4} {:<56} {:>10} {:>19} {:>12} {:>9} {:>7} {:>9}",
        "case", "what", "packets", "M packets/s (worst)", "instr/packet", "peak MB", "util %", "delay ms"
    );
    let me = std::env::current_exe().expect("own path");
    for (name, what, _) in CASES.iter().filter(|c| args.is_empty() || args.iter().any(|a| a == c.0)) {
        let out = Command::new(&me).args(["--alone", name]).output().expect("a case starts");
        let text = String::from_utf8_lossy(&out.stdout);
        let f: Vec<&str> = text.split_whitespace().collect();
        let [packets, best, worst, instructions, mb, util, delay] = f.as_slice() else {
            panic!("case {name} failed: {}", String::from_utf8_lossy(&out.stderr));
        };
        println!(
            "{name:<4} {what:<56} {packets:>10} {:>19} {instructions:>12} {mb:>9} {util:>7} {delay:>9}",
            format!("{best} ({worst})")
        );
    }
}

fn alone(case: &str) {
    let text = CASES.iter().find(|c| c.0 == case).expect("a known case").2;
    let scenario = Scenario::parse(text, case, std::path::Path::new(".")).expect("the case is valid");
    let spec = scenario.runs().expect("the case is valid").remove(0);
    let mut counter =
        perf_event::Builder::new().kind(perf_event::events::Hardware::INSTRUCTIONS).build().ok();
    let (mut best, mut worst) = (0.0f64, f64::MAX);
    let mut instructions = "n/a".to_string();
    let mut last = None;
    for _ in 0..3 {
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
