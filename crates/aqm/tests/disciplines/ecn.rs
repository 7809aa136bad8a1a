//! Marks instead of drops, where the sender allows and the discipline is told to.

use crate::host::{Host, spec};
use queuewright_aqm::{Reason, Value};

const MS: u64 = 1_000_000;

/// Twice what the link takes for `ms`, packets with this ECN field.
fn overload(host: &mut Host, ms: u64, ecn: impl Fn(u64) -> u32) {
    for i in 0..ms {
        host.arrive(i * MS, 1500, 0, ecn(i));
        host.arrive(i * MS, 1500, 0, ecn(i));
        host.transmit(i * MS, |_| {});
    }
}

#[test]
fn codel_marks_what_can_be_marked_and_drops_the_rest() {
    let s = Reason::Sojourn as usize;
    let on = spec("codel", &[("ecn", Value::Flag(true))]);
    let mut host = Host::new(&on, 0, 0);
    overload(&mut host, 3000, |_| 2);
    assert!(host.marks[s] > 50);
    assert_eq!(host.drops[s], 0, "ECT(0) only");

    let mut host = Host::new(&on, 0, 0);
    overload(&mut host, 3000, |i| (i % 4) as u32);
    assert!(host.marks[s] > 0 && host.drops[s] > 0, "not-ECT, ECT(1), ECT(0) and CE in turn");

    let mut host = Host::new(&spec("codel", &[]), 0, 0);
    overload(&mut host, 3000, |_| 2);
    assert_eq!(host.marks, [0; 5], "off by default");
    assert!(host.drops[s] > 50);
}

#[test]
fn a_full_buffer_drops_whatever_ecn_says() {
    for name in ["codel", "pie"] {
        let mut host = Host::new(&spec(name, &[("ecn", Value::Flag(true))]), 50, 0);
        overload(&mut host, 3000, |_| 2);
        assert!(host.drops[Reason::Limit as usize] > 1000);
    }
}

#[test]
fn codel_ce_threshold_is_a_plain_step() {
    let set = [("ce_threshold", Value::Int(MS))];
    let t = Reason::Threshold as usize;
    let mut host = Host::new(&spec("codel", &set), 0, 0);
    for i in 0..10 {
        host.arrive(0, 1500, 0, 1);
        host.arrive(0, 1500, 0, 0);
        assert_eq!(host.marks[t], 0, "at the threshold is not above it: {i}");
    }
    for _ in 0..10 {
        host.transmit(MS, |_| {});
    }
    assert_eq!(host.marks[t], 0);
    // A tick of 1024 ns later.
    for _ in 0..10 {
        host.transmit((MS / 1024 + 1) * 1024, |_| {});
    }
    assert_eq!(host.marks[t], 5, "the ECT(1) half of what was left");
    assert_eq!(host.drops, [0; 5]);
}

/// codel_dequeue(), `ce_threshold_selector 0x1/0x3`: of what waits longer what says ECT(1), and no other.
#[test]
fn fq_codels_step_can_be_for_ect1_alone() {
    let t = Reason::Threshold as usize;
    let marks = |whom: &'static str| {
        let set = [("ce_threshold", Value::Int(MS)), ("ce_threshold_for", Value::Choice(whom))];
        // Not-ECT, ECT(1), ECT(0), CE.
        [0, 1, 2, 3].map(|ecn| {
            let mut host = Host::new(&spec("fq-codel", &set), 0, 0);
            host.arrive(0, 1500, 0, ecn);
            host.transmit(3 * MS, |_| {});
            host.marks[t]
        })
    };
    assert_eq!((marks("ect"), marks("ect1")), ([0, 1, 1, 1], [0, 1, 0, 0]));
}

#[test]
fn pie_marks_up_to_its_threshold_and_drops_above() {
    let e = Reason::Early as usize;
    for (threshold, estimator) in [(0.1, "timestamp"), (0.3, "rate")] {
        let on = spec(
            "pie",
            &[
                ("ecn", Value::Flag(true)),
                ("ecn_threshold", Value::Real(threshold)),
                ("estimator", Value::Choice(estimator)),
            ],
        );
        let mut host = Host::new(&on, 0, 0);
        let (mut marked_below, mut dropped_above) = (0, 0);
        for i in 0..20_000u64 {
            let now = i * MS;
            // Overload for 0.3 s in 2 s: the probability passes the threshold and returns.
            for _ in 0..if i % 2000 < 300 { 2 } else { 0 } {
                let (marks, drops) = (host.marks[e], host.drops[e]);
                host.arrive(now, 1500, 0, 2);
                // As the arrival was judged: ticks that were due came first.
                let p = host.discipline.probe(0);
                if host.marks[e] > marks {
                    marked_below += 1;
                    assert!(p <= threshold, "marked at {p}");
                }
                if host.drops[e] > drops {
                    dropped_above += 1;
                    assert!(p > threshold, "dropped at {p}");
                }
            }
            host.transmit(now, |_| {});
        }
        assert!(marked_below > 30 && dropped_above > 30, "{marked_below} {dropped_above}");
    }
}

#[test]
fn pie_with_a_threshold_of_one_never_drops_what_it_can_mark() {
    let set = [("ecn", Value::Flag(true)), ("ecn_threshold", Value::Real(1.0))];
    let mut host = Host::new(&spec("pie", &set), 0, 0);
    overload(&mut host, 20_000, |_| 1);
    assert_eq!(host.discipline.probe(0), 1.0);
    assert!(host.marks[Reason::Early as usize] > 10_000);
    assert_eq!(host.drops, [0; 5]);
}
