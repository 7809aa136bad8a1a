//! Links by trace.

use crate::bed::{close, drops, one, runs};
use queuewright_results::Run;

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
                    scenario(&format!("{link}\noverhead = \"0b\""), flows, queue) + "seeds = \"1..32\"\n";
                let runs = runs(&toml);
                let mean = |f: fn(&Run) -> f64| runs.iter().map(f).sum::<f64>() / runs.len() as f64;
                let goodput = mean(|r| r.groups.iter().map(|g| g.goodput_bps).sum());
                (mean(|r| r.ports[0].utilization), goodput)
            };
            let (trace, rate) = (measure("trace = \"even.trace\""), measure("rate = \"12mbit\""));
            let what = format!("{queue}: {flows}");
            close(&format!("utilisation, {what}"), trace.0, rate.0, 0.02, 0.0);
            close(&format!("goodput, {what}"), trace.1, rate.1, 0.02, 0.0);
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

/// Poisson packets of an opportunity each, over a slotted server and a steady one: M/D/1 waits rho / (2 (1 - rho)) of a
/// packet's time, and on average half a slot longer for the next opportunity.
#[test]
fn waiting_for_the_next_opportunity_takes_half_the_time_between_two() {
    for mbit in [1.0, 6.0, 9.0] {
        let wait = |link: &str| {
            let flows = format!("[[flows]]\npoisson = \"{mbit}mbit\"\n");
            let toml = scenario(&format!("{link}\noverhead = \"0b\""), &flows, "droptail");
            let runs = runs(&(toml.replace("30s", "305s") + "seeds = \"1..4\"\n"));
            assert!(runs.iter().all(|r| drops(r) == 0));
            runs.iter().map(|r| r.ports[0].sojourn_ms.mean).sum::<f64>() / runs.len() as f64
        };
        let rho = mbit / 12.0;
        let queue = rho / (2.0 * (1.0 - rho));
        // Of a hundred thousand packets and more at least: their mean is within a hundredth or so.
        close(&format!("{mbit} Mbit/s, a rate"), wait("rate = \"12mbit\""), queue, 0.04, 0.0);
        close(&format!("{mbit} Mbit/s, a trace"), wait("trace = \"even.trace\""), 0.5 + queue, 0.04, 0.0);
    }
}

/// A cellular link, with outages and bursts: what always has a queue uses each opportunity of it, over and over.
#[test]
fn every_opportunity_of_a_cellular_link_is_used() {
    let period_ms = 20_005;
    let times: Vec<u64> =
        include_str!("../data/cellular.trace").lines().map(|l| l.parse().unwrap()).collect();
    assert_eq!(times.last(), Some(&period_ms));
    // From 5 s to 30 s, the second time from its start.
    let inside = |from: u64, to: u64| times.iter().filter(|t| (from..to).contains(t)).count() as u64;
    let offered = inside(5_000, period_ms + 1) + inside(0, 30_000 - period_ms);
    let flows = "[[flows]]\ncbr = \"60mbit\"\npacket = \"1500b\"\n";
    let r = one(&scenario("trace = \"cellular.trace\"\noverhead = \"0b\"", flows, "droptail"));
    let sent = r.groups[0].datagrams.as_ref().expect("UDP");
    assert_eq!((r.ports[0].packets, sent.received), (offered, offered));
    close("utilisation", r.ports[0].utilization, 1.0, 0.0, 1e-9);
}
