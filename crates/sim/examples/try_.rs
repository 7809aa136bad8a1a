//! Local trial.
use queuewright_scenario::{Flags, Scenario};
fn main() {
    for path in std::env::args().skip(1) {
        let s = Scenario::read_with(
            path.as_ref(),
            &Flags { seeds: std::env::var("SEEDS").ok(), ..Flags::default() },
        )
        .unwrap_or_else(|e| panic!("{e}"));
        let runs = s.runs().unwrap_or_else(|e| panic!("{e}"));
        for r in runs {
            let out = queuewright_sim::run(&r, &std::sync::atomic::AtomicBool::new(false), &|_| ())
                .unwrap_or_else(|e| panic!("{e}"));
            let p = &out.ports[0];
            let all: f64 = out.groups.iter().map(|g| g.goodput_bps).sum();
            println!(
                "{:<14} seed {} util {:.2} sojourn {:.2} p95 {:.2} drops {} marks {} shares {:?}",
                r.discipline.label,
                r.seed,
                100.0 * p.utilization,
                p.sojourn_ms.mean,
                p.sojourn_ms.p95,
                p.drops.values().sum::<u64>(),
                p.marks.values().sum::<u64>(),
                out.groups.iter().map(|g| (1000.0 * g.goodput_bps / all).round() / 10.0).collect::<Vec<_>>()
            );
        }
    }
}
