//! Each measure against what it says it is, worked out by hand.

use crate::bed::{close, drops, one, runs, series};
use queuewright_results::{Datagrams, Run};

/// A scenario of one link, its flows and so many seconds, of which the first are not counted.
fn on(link: &str, flows: &str, seconds: &str, warmup: &str) -> Run {
    one(&format!(
        "[link]\n{link}\n{flows}\n[queue]\ndisciplines = [\"droptail\"]\n\
         [run]\nduration = \"{seconds}\"\nwarmup = \"{warmup}\"\nsample = \"1s\"\n"
    ))
}

fn datagrams(r: &Run, group: usize) -> &Datagrams {
    r.groups[group].datagrams.as_ref().expect("UDP flows have delay and loss")
}

/// Calls that come and go in the warm-up have lost nothing within the window.
#[test]
fn losses_of_the_warm_up_do_not_count() {
    let calls = "[[flows]]\ncbr = \"1mbit\"\narrivals = \"50/s\"\nlength = \"100ms..300ms\"\nrtt = \"10ms\"";
    // 10 flows at once, 83 packets a second each, for 10 s: four standard deviations of a share of 0.1.
    let lossy = on("rate = \"100mbit\"\nloss = \"10%\"", calls, "20s", "10s");
    let n = 10.0 * 1e6 / 12_000.0 * 10.0;
    close("loss", datagrams(&lossy, 0).loss, 0.1, 0.0, 4.0 * f64::sqrt(0.1 * 0.9 / n));
    // A link that is ten times too slow until the warm-up is nearly over.
    let link = "schedule = [[\"0s\", \"1mbit\"], [\"8s\", \"100mbit\"]]\nbuffer = \"20p\"";
    let r = on(link, calls, "20s", "10s");
    assert_eq!((drops(&r), datagrams(&r, 0).lost), (0, 0));
}
