//! Links by trace.

use crate::bed::{close, drops, one, runs};
use queuewright_results::Run;
use std::path::Path;

fn scenario(link: &str, flows: &str, queue: &str) -> String {
    format!(
        "[link]\n{link}\nbuffer = \"80p\"\n{flows}[queue]\ndisciplines = [\"{queue}\"]\n\
         [run]\nduration = \"30s\"\nwarmup = \"5s\"\n"
    )
}

/// An opportunity of 1500 bytes every millisecond is 12 Mbit/s of IP packets.
#[test]
fn an_even_trace_is_a_constant_rate() {
    let flows = [
        "[[flows]]\ncount = 2\ncca = \"cubic\"\nrtt = \"30ms\"\n",
        "[[flows]]\ncca = \"newreno\"\nrtt = \"20ms..60ms\"\n[[flows]]\ncbr = \"2mbit\"\n",
        "[[flows]]\npoisson = \"9mbit\"\n",
    ];
    for flows in flows {
        for queue in ["droptail", "codel", "pie"] {
            // Few flows with a random queue differ from seed to seed by more than what is looked for.
            let measure = |link: &str| {
                let toml =
                    scenario(&format!("{link}\noverhead = \"0b\""), flows, queue) + "seeds = \"1..8\"\n";
                let runs = runs(&toml);
                let mean = |f: fn(&Run) -> f64| runs.iter().map(f).sum::<f64>() / runs.len() as f64;
                let goodput = mean(|r| r.groups.iter().map(|g| g.goodput_bps).sum());
                (mean(|r| r.ports[0].utilization), mean(|r| r.ports[0].sojourn_ms.mean), goodput)
            };
            let (trace, rate) = (measure("trace = \"even.trace\""), measure("rate = \"12mbit\""));
            let what = format!("{queue}: {flows}");
            close(&format!("utilisation, {what}"), trace.0, rate.0, 0.02, 0.0);
            // Waiting for the next millisecond adds half of one on average.
            close(&format!("sojourn, {what}"), trace.1, rate.1 + 0.5, 0.05, 0.6);
            close(&format!("goodput, {what}"), trace.2, rate.2, 0.02, 0.0);
        }
    }
}

/// Small packets share an opportunity: 5 of 300 bytes fit into one.
#[test]
fn an_opportunity_takes_what_fits() {
    let r = one(&scenario(
        "trace = \"even.trace\"\noverhead = \"0b\"",
        "[[flows]]\ncbr = \"20mbit\"\npacket = \"300b\"\n",
        "droptail",
    ));
    close("utilisation", r.ports[0].utilization, 1.0, 0.0, 1e-3);
    close("packets", r.ports[0].packets as f64, 5.0 * 1000.0 * 25.0, 1e-3, 0.0);
    // Of 1000 bytes one and a half do: the next opportunity sends the rest.
    let r = one(&scenario(
        "trace = \"even.trace\"\noverhead = \"0b\"",
        "[[flows]]\ncbr = \"20mbit\"\npacket = \"1000b\"\n",
        "droptail",
    ));
    close("utilisation", r.ports[0].utilization, 1.0, 0.0, 1e-3);
    close("packets", r.ports[0].packets as f64, 1.5 * 1000.0 * 25.0, 1e-3, 0.0);
    assert!(drops(&r) > 0);
}

/// Recorded cellular links, where a checkout has them beside it.
#[test]
fn recorded_links_run() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/cellular");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        println!("SKIPPED: no recorded traces in {}", folder.display());
        return;
    };
    let mut seen = 0;
    for path in entries.flatten().map(|e| e.path()) {
        if !path.extension().is_some_and(|e| e == "up" || e == "down") {
            continue;
        }
        for queue in ["droptail", "codel", "titrate"] {
            let link = format!("trace = {:?}", path.display().to_string());
            let r = one(&scenario(&link, "[[flows]]\ncount = 2\ncca = \"cubic\"\nrtt = \"40ms\"\n", queue));
            let p = &r.ports[0];
            println!(
                "{} {queue}: utilisation {:.3}, sojourn {:.1} ms",
                path.display(),
                p.utilization,
                p.sojourn_ms.mean
            );
            assert!((0.3..=1.0).contains(&p.utilization) && p.sojourn_ms.mean > 1.0, "{}", path.display());
        }
        seen += 1;
    }
    assert!(seen > 0, "{} has no trace", folder.display());
}
