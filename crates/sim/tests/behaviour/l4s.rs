//! Senders that say ECT(1), and the disciplines that look at that.

use crate::bed::{close, runs};
use queuewright_results::Run;

/// A DCTCP flow that says ECT(1) and a CUBIC flow over 40 Mbit/s and 20 ms, with four seeds.
fn scalable_and_classic(discipline: &str, ecn: &str) -> Vec<Run> {
    runs(&format!(
        "[link]\nrate = \"40mbit\"\nbuffer = \"1000p\"\n\
         [[flows]]\ncca = \"dctcp\"\necn = {ecn}\nrtt = \"20ms\"\n\
         [[flows]]\ncca = \"cubic\"\necn = true\nrtt = \"20ms\"\n\
         [queue]\ndisciplines = [{discipline}]\n[run]\nduration = \"60s\"\nwarmup = \"10s\"\nseeds = \"1..4\"\n"
    ))
}

/// What the scalable flow gets for what the classic one gets: the geometric mean over the seeds.
fn ratio(runs: &[Run]) -> f64 {
    let logs = runs.iter().map(|r| (r.flows[0].goodput_bps / r.flows[1].goodput_bps).ln());
    (logs.sum::<f64>() / runs.len() as f64).exp()
}

/// RFC 9332 section 1: low delay for one, full rate for both; by the coupling factor of 2 like rates for both (section 2.1). Half or
/// twice the factor is half as much again more or less.
#[test]
fn dualpi2_keeps_the_l_queue_short_and_shares_the_link() {
    let runs = scalable_and_classic("\"dualpi2\"", "\"l4s\"");
    for run in &runs {
        let [classic, l4s] = &run.ports[0].queues[..] else { panic!("two queues") };
        assert_eq!((classic.name.as_str(), l4s.name.as_str()), ("classic", "l4s"));
        assert!(l4s.sojourn_ms.mean < 1.0 && l4s.sojourn_ms.p99 < 3.0, "{:?}", l4s.sojourn_ms);
        close("classic delay, ms", classic.sojourn_ms.mean, 15.0, 0.2, 0.0);
        assert!(l4s.packets > 30_000 && l4s.mark_fraction > 0.01, "{}", l4s.mark_fraction);
        assert_eq!(run.ports[0].drops.values().sum::<u64>(), 0, "all of it can be marked");
        assert!(run.ports[0].utilization > 0.97, "{}", run.ports[0].utilization);
    }
    let ratio = ratio(&runs);
    assert!((0.75..1.33).contains(&ratio), "{ratio}");
}

/// One queue, the same law: neither starves, and a scalable flow gets the less the higher the coupling (RFC 9332 section 2.1: in inverse
/// proportion). Without ECT(1) the square starves the classic flow.
#[test]
fn pi2_shares_one_queue_by_the_square() {
    let all = scalable_and_classic(
        "{ name = \"pi2\", label = \"1\", coupling = 1.0 }, \"pi2\", { name = \"pi2\", label = \"4\", coupling = 4.0 }",
        "\"l4s\"",
    );
    let [one, two, four] = [0, 4, 8].map(|from| ratio(&all[from..from + 4]));
    assert!((0.25..4.0).contains(&two), "{two}");
    assert!(one > 1.5 * two && two > 1.5 * four, "{one}, {two} and {four}");
    for run in &all[4..8] {
        close("delay, ms", run.ports[0].sojourn_ms.mean, 15.0, 0.2, 0.0);
    }
    let blind = ratio(&scalable_and_classic("\"pi2\"", "true"));
    assert!(blind > 4.0 * two, "{blind}");
}
