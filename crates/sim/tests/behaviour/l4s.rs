//! Senders that say ECT(1), and the queue managers that look at that.

use crate::bed::{close, one};
use queuewright_results::Run;

/// A DCTCP flow that says ECT(1) and a CUBIC flow over 40 Mbit/s and 20 ms.
fn scalable_and_classic(discipline: &str, ecn: &str) -> Run {
    one(&format!(
        "[link]\nrate = \"40mbit\"\nbuffer = \"1000p\"\n\
         [[flows]]\ncca = \"dctcp\"\necn = {ecn}\nrtt = \"20ms\"\n\
         [[flows]]\ncca = \"cubic\"\necn = true\nrtt = \"20ms\"\n\
         [queue]\ndisciplines = [{discipline}]\n[run]\nduration = \"60s\"\nwarmup = \"10s\"\n"
    ))
}

/// RFC 9332 section 1: low delay for one, full rate for both, and neither starves the other.
#[test]
fn dualpi2_keeps_the_l_queue_short_and_shares_the_link() {
    let run = scalable_and_classic("\"dualpi2\"", "\"l4s\"");
    let [classic, l4s] = &run.ports[0].queues[..] else { panic!("two queues") };
    assert_eq!((classic.name.as_str(), l4s.name.as_str()), ("classic", "l4s"));
    assert!(l4s.sojourn_ms.mean < 1.0 && l4s.sojourn_ms.p99 < 3.0, "{:?}", l4s.sojourn_ms);
    close("classic delay, ms", classic.sojourn_ms.mean, 15.0, 0.2, 0.0);
    assert!(l4s.packets > 30_000 && l4s.mark_fraction > 0.01, "{}", l4s.mark_fraction);
    assert_eq!(run.ports[0].drops.values().sum::<u64>(), 0, "all of it can be marked");
    assert!(run.ports[0].utilization > 0.97, "{}", run.ports[0].utilization);
    let ratio = run.flows[0].goodput_bps / run.flows[1].goodput_bps;
    assert!((0.5..3.0).contains(&ratio), "{ratio}");
}

/// One queue, the same law: like rates at one delay. Without ECT(1) the square starves the classic flow.
#[test]
fn pi2_shares_one_queue_by_the_square() {
    let run = scalable_and_classic("\"pi2\"", "\"l4s\"");
    let ratio = run.flows[0].goodput_bps / run.flows[1].goodput_bps;
    assert!((0.4..2.5).contains(&ratio), "{ratio}");
    close("delay, ms", run.ports[0].sojourn_ms.mean, 15.0, 0.2, 0.0);
    let blind = scalable_and_classic("\"pi2\"", "true");
    let unfair = blind.flows[0].goodput_bps / blind.flows[1].goodput_bps;
    assert!(unfair > 4.0 * ratio, "{unfair}");
}
