//! Telephone calls, and the delay and loss of datagrams.

use crate::bed::{close, one};
use queuewright_results::{Datagrams, Run};

fn run(flows: &str, seconds: u32, warmup: u32) -> Run {
    one(&format!(
        "[link]\nrate = \"5mbit\"\nbuffer = \"50p\"\noverhead = \"18b\"\n{flows}\n\
         [queue]\ndisciplines = [\"droptail\"]\n\
         [run]\nduration = \"{seconds}s\"\nwarmup = \"{warmup}s\"\nsample = \"1s\"\n"
    ))
}

fn datagrams(r: &Run) -> &Datagrams {
    r.groups[0].datagrams.as_ref().expect("calls have delay and loss")
}

/// Cisco's table: G.711 takes 87.2 kbit/s on Ethernet, G.729 31.2.
#[test]
fn a_call_takes_its_rate() {
    for (codec, kbit) in [("g711", 87.2), ("g729", 31.2)] {
        let r = run(&format!("[[flows]]\nvoip = \"{codec}\"\ncount = 50"), 60, 10);
        close(codec, r.ports[0].utilization * 5000.0 / 50.0, kbit, 0.001, 0.0);
        assert_eq!((r.groups[0].cca.as_str(), datagrams(&r).lost), ("voip", 0));
        assert!(datagrams(&r).delay_ms.max < 20.0, "calls are not in step: {:?}", datagrams(&r).delay_ms);
    }
}

/// Calls that do not fit lose what is too much.
#[test]
fn too_many_calls_lose_what_is_too_much() {
    let r = run("[[flows]]\nvoip = \"g711\"\ncount = 70", 60, 10);
    close("loss", datagrams(&r).loss, 1.0 - 5000.0 / (70.0 * 87.2), 0.01, 0.0);
    close("as the port says", datagrams(&r).loss, r.ports[0].drop_fraction, 0.01, 0.0);
    // The queue is full: 50 packets and the one in transmission.
    close("delay", datagrams(&r).delay_ms.p95, 51.0 * 218.0 * 8.0 / 5000.0, 0.02, 0.0);
}

/// Calls arrive at random and last as drawn: as many at once as Erlang says (M/G/infinity), rate x mean duration.
/// Their number has that variance too, and forgets itself in about a mean duration: over T the mean number has the
/// variance 2 a h / T for exponential lengths, three standard deviations of which are allowed.
#[test]
fn calls_come_and_go_as_erlang_says() {
    for duration in ["{ exponential = \"20s\" }", "\"10s..30s\""] {
        let r = run(
            &format!("[[flows]]\nvoip = \"g711\"\narrivals = \"1.5/s\"\nduration = {duration}"),
            2000,
            100,
        );
        let calls = r.ports[0].utilization * 5000.0 / 87.2;
        let slack = 3.0 * f64::sqrt(2.0 * 30.0 * 20.0 / 1900.0);
        println!("{duration}: {calls:.1} calls at once, {} in all", r.groups[0].flows);
        close("calls at once", calls, 30.0, 0.0, slack);
        close("calls", f64::from(r.groups[0].flows), 3000.0, 0.0, 3.0 * f64::sqrt(3000.0));
        // Those that were there at the end as well as those that had gone.
        close("packets", datagrams(&r).received as f64, 30.0 * 50.0 * 1900.0, slack / 30.0, 0.0);
        assert!(r.groups[0].transfers.is_none() && r.detail.transfers.is_empty());
    }
}

/// A load in place of a number a second: so many calls at once as take that much.
#[test]
fn calls_offer_the_load_that_is_asked_for() {
    let flows = "[[flows]]\nvoip = \"g711\"\narrivals = \"60%\"\nduration = { exponential = \"5s\" }";
    close("utilisation", run(flows, 1000, 50).ports[0].utilization, 0.6, 0.0, 0.04);
}

/// From start to stop, and no longer than their duration.
#[test]
fn calls_end_with_their_length_or_when_told() {
    let packets = |more: &str| {
        let r = run(&format!("[[flows]]\nvoip = \"g711\"\nstart = \"2s\"\n{more}"), 20, 0);
        datagrams(&r).received
    };
    let starts = packets("stop = \"7s\"");
    assert!((249..=250).contains(&starts), "{starts}");
    assert_eq!(packets("duration = \"5s\""), 250);
    assert_eq!(packets("duration = \"15s\"\nstop = \"7s\""), starts);
}

/// M/D/1: packets of one length at exponential gaps wait rho / (2 (1 - rho)) of their transmission on average.
#[test]
fn the_one_way_delay_is_the_wait_and_the_way() {
    let r = one("[link]\nrate = \"10mbit\"\ndelay = \"7ms\"\nbuffer = \"1000p\"\noverhead = \"0b\"\n\
         [[flows]]\npoisson = \"8mbit\"\npacket = \"1250b\"\nrtt = \"20ms\"\n\
         [queue]\ndisciplines = [\"droptail\"]\n[run]\nduration = \"400s\"\nwarmup = \"10s\"\nsample = \"1s\"\n");
    // 1 ms a packet at 80 % load; half the round trip is the way.
    close("delay", datagrams(&r).delay_ms.mean, 10.0 + 1.0 + 0.8 / (2.0 * 0.2), 0.01, 0.0);
}
