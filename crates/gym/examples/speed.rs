//! Steps a second of environments side by side, by wall clock and by processor time, the second being what the machine takes
//! when nobody else is there: `cargo run --release -p queuewright-gym --example speed`.

use queuewright_gym::{Envs, Paper, Transition, play};
use std::sync::Arc;
use std::time::Instant;

fn cpu_s() -> f64 {
    // SAFETY: all zero is a valid value, and getrusage() fills it.
    let mut u: libc::rusage = unsafe { std::mem::zeroed() };
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut u) };
    let s = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    s(u.ru_utime) + s(u.ru_stime)
}

fn main() {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!(
        "| link | flows | environments | steps | steps a second | steps a second of a core | ns a packet of a core |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (bps, flows, steps) in [(1_000_000_000, 300, 1000), (100_000_000, 30, 5000)] {
        let paper = |episode: &str| {
            let udp = format!("{}bit", bps / 100 * 8);
            let (rate, rtt, episode) = (format!("{bps}bit"), vec!["30ms".into()], episode.into());
            let paper =
                Paper { rate, rtt, flows: vec![flows], udp: Some(vec![udp]), episode, ..Paper::default() };
            Arc::new(paper.tasks().expect("the paper's"))
        };
        let mut envs = Envs::new(
            paper("60s"),
            std::env::args().nth(1).map_or(4 * cores, |n| n.parse().expect("a number")),
            1,
        );
        envs.reset(&[]).expect("it begins");
        let mut out = vec![Transition::default(); envs.len()];
        let mut step = |n: usize| {
            for i in 0..n {
                let actions: Vec<u32> = (0..out.len()).map(|e| [0, 0, 1, 2][(i / 8 + e) % 4]).collect();
                envs.step(&actions, &mut out).expect("a step");
            }
            (out.len() * n, envs.packets())
        };
        let before = step(steps / 5).1;
        let (began, cpu) = (Instant::now(), cpu_s());
        let (done, after) = step(steps);
        let (wall, cpu) = (began.elapsed().as_secs_f64(), cpu_s() - cpu);
        let row = |what: &str, done: usize, wall: f64, cpu: f64, packets: u64| {
            println!(
                "| {} Mbit/s | {flows} | {what} | {done} | {:.0} | {:.0} | {:.0} |",
                bps / 1_000_000,
                done as f64 / wall,
                done as f64 / cpu,
                cpu * 1e9 / packets as f64,
            );
        };
        row("by turns", done, wall, cpu, after - before);
        let which: Vec<_> = (0..8 * cores as u64).map(|seed| (0, seed)).collect();
        let (tasks, began, cpu) = (paper("5s"), Instant::now(), cpu_s());
        let played = play(&tasks, None, &which).expect("episodes");
        let (wall, cpu) = (began.elapsed().as_secs_f64(), cpu_s() - cpu);
        let done = played.iter().map(|p| p.actions.len() - 1).sum();
        row("whole episodes", done, wall, cpu, played.iter().map(|p| p.packets).sum());
    }
}
