//! Tail drop and the static threshold: simple enough for exact statements.

use crate::host::{Host, spec};
use queuewright_aqm::{Action, Reason, Value};

/// Packets of 1000 bytes that fit, and why the next one does not.
fn fill(mut host: Host) -> (u32, Reason) {
    for _ in 0..10_000 {
        let v = host.arrive(0, 1000, 0, 2);
        if v.action != Action::Pass {
            assert_eq!(v.action, Action::Drop, "neither ever marks");
            return (host.queue.packets, v.reason);
        }
    }
    (host.queue.packets, Reason::None)
}

#[test]
fn droptail_holds_what_the_buffer_does() {
    let droptail = spec("droptail", &[]);
    let filled = |packets, bytes| fill(Host::new(&droptail, packets, bytes));
    assert_eq!(filled(34, 0), (34, Reason::Limit));
    assert_eq!(filled(0, 7000), (7, Reason::Limit));
    assert_eq!(filled(0, 6999), (6, Reason::Limit));
    assert_eq!(filled(5, 7000), (5, Reason::Limit));
    assert_eq!(filled(8, 7000), (7, Reason::Limit));
    assert_eq!(filled(0, 0), (10_000, Reason::None), "0 is no limit");
}

#[test]
fn threshold_is_inclusive_and_below_the_buffer() {
    let at = |bytes| spec("static", &[("threshold", Value::Int(bytes))]);
    assert_eq!(fill(Host::new(&at(7000), 100, 0)), (7, Reason::Threshold), "exactly the threshold may wait");
    assert_eq!(fill(Host::new(&at(6999), 100, 0)), (6, Reason::Threshold));
    assert_eq!(fill(Host::new(&at(7000), 5, 0)), (5, Reason::Limit), "the buffer still counts");
}

#[test]
fn threshold_below_a_packet_lets_one_wait() {
    let at = |bytes| spec("static", &[("threshold", Value::Int(bytes))]);
    assert_eq!(fill(Host::new(&at(999), 100, 0)), (1, Reason::Threshold));
    assert_eq!(fill(Host::new(&at(1), 100, 0)), (1, Reason::Threshold));
    assert_eq!(fill(Host::new(&spec("static", &[]), 1, 0)), (1, Reason::Limit), "half of 1500 bytes");
    assert_eq!(
        fill(Host::new(&at(1), 0, 999)),
        (0, Reason::Limit),
        "a buffer that cannot hold it still counts"
    );

    // One by one, each finds the queue empty: the link never starves.
    let mut host = Host::new(&at(1), 100, 0);
    for now in 0..10 {
        assert_eq!(host.arrive(now, 1000, 0, 0).action, Action::Pass);
        assert!(host.transmit(now, |_| {}).is_some());
    }
}

#[test]
fn threshold_by_default_is_half_of_the_tighter_limit() {
    let auto = spec("static", &[]);
    assert_eq!(fill(Host::new(&auto, 0, 20_000)), (10, Reason::Threshold));
    // 20 packets of 1500 bytes: 30 kB, half of which is 15 kB.
    assert_eq!(fill(Host::new(&auto, 20, 0)), (15, Reason::Threshold));
    assert_eq!(fill(Host::new(&auto, 20, 20_000)), (10, Reason::Threshold));
    assert_eq!(fill(Host::new(&auto, 10, 20_000)), (7, Reason::Threshold));
    assert_eq!(fill(Host::new(&auto, 0, 0)), (10_000, Reason::None));
    let mut host = Host::new(&auto, 0, 20_000);
    host.arrive(0, 1000, 0, 0);
    assert_eq!(host.discipline.probe(0), 10_000.0);
}
