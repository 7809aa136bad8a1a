//! GSP: its rule is short enough to be stated once more, and followed.

use crate::host::{Dice, Host, spec};
use queuewright_aqm::{Action, Pool, Reason, Value};

const MS: u64 = 1_000_000;
const SEC: u64 = 1_000 * MS;

/// Two seconds of twice what the link takes, packets of 1000 bytes, one a millisecond sent.
fn overload(host: &mut Host, from: u64, to: u64) -> Vec<u64> {
    let mut dropped_at = Vec::new();
    for now in (from..to).step_by(MS as usize) {
        for _ in 0..2 {
            let v = host.arrive(now, 1000, 0, 0);
            if v.reason == Reason::Threshold {
                assert_eq!(v.action, Action::Drop);
                dropped_at.push(now);
            }
        }
        host.transmit(now, |_| {});
    }
    dropped_at
}

#[test]
fn basic_gsp_drops_one_packet_an_interval() {
    let set = [
        ("adaptive", Value::Flag(false)),
        ("interval", Value::Int(50 * MS)),
        ("threshold", Value::Int(20_000)),
    ];
    let mut host = Host::new(&spec("gsp", &set), 0, 0);
    let dropped_at = overload(&mut host, 0, 2 * SEC);
    // The queue grows by one a millisecond: it is above 20 packets from 20 ms on.
    assert!((19 * MS..=21 * MS).contains(&dropped_at[0]), "{}", dropped_at[0]);
    assert!(dropped_at.windows(2).all(|w| w[1] - w[0] == 50 * MS), "{dropped_at:?}");
    // Below the threshold there is nothing to hold back.
    while host.queue.bytes > 20_000 {
        host.transmit(2 * SEC, |_| {});
    }
    let drops = host.drops;
    for _ in 0..1000 {
        host.arrive(3 * SEC, 1000, 0, 0);
        host.transmit(3 * SEC, |_| {});
    }
    assert_eq!(host.drops, drops);
}

#[test]
fn threshold_is_half_of_the_buffer_unless_told() {
    for (limits, set, longest) in [
        ((100, 0), vec![], 76_000),
        ((0, 100_000), vec![], 51_000),
        ((200, 100_000), vec![], 51_000),
        ((0, 100_000), vec![("threshold", Value::Int(30_000))], 31_000),
    ] {
        let mut host = Host::new(&spec("gsp", &set), limits.0, limits.1);
        for _ in 0..1000 {
            host.arrive(0, 1000, 0, 0);
            if host.drops[Reason::Threshold as usize] == 1 {
                break;
            }
        }
        assert_eq!(host.queue.bytes, longest, "one packet above the threshold: {set:?}");
    }
}

/// Four ports share 400 kB: each has 100 kB by rights, and its automatic threshold is half of that; a smaller
/// buffer of its own counts more.
#[test]
fn an_even_part_of_a_shared_buffer_counts_as_a_buffer() {
    for (own, longest) in [(0, 51_000), (60_000, 31_000), (900_000, 51_000)] {
        for name in ["gsp", "static"] {
            let mut host = Host::new(&spec(name, &[]), 0, own);
            host.queue.pool = Pool { limit_bytes: 400_000, ports: 4, ..Pool::default() };
            let before = (0..1000).find(|_| host.arrive(0, 1000, 0, 0).action == Action::Drop);
            assert!(before.is_some());
            // The static threshold is not passed, GSP's is before it shows.
            let want = if name == "static" { longest - 1000 } else { longest };
            assert_eq!(host.queue.bytes, want, "{name}, {own} bytes of its own");
        }
    }
}

#[test]
fn delay_counts_instead_of_bytes() {
    let set = [("delay", Value::Int(30 * MS)), ("adaptive", Value::Flag(false))];
    let mut host = Host::new(&spec("gsp", &set), 0, 100_000_000);
    let dropped_at = overload(&mut host, 0, SEC);
    // The queue's head waits for half of the time that has passed.
    assert!((59 * MS..=63 * MS).contains(&dropped_at[0]), "{}", dropped_at[0]);
    assert_eq!(dropped_at.len(), 10);
}

/// interval / (1 + time / tau), where time is alpha times that above less that below. After an overflow that below does
/// not count until the queue was empty, and then for tau, unless it is above again before.
#[test]
fn adaptive_interval_is_the_papers() {
    for (seed, alpha, tau, max_time) in
        [(1, 1.5, 0, 100 * SEC), (2, 1.0, 300 * MS, 2 * SEC), (3, 4.0, 100 * MS, SEC)]
    {
        let interval = 100 * MS;
        let set = [
            ("threshold", Value::Int(30_000)),
            ("interval", Value::Int(interval)),
            ("alpha", Value::Real(alpha)),
            ("tau", Value::Int(tau)),
            ("max_time", Value::Int(max_time)),
        ];
        let mut host = Host::new(&spec("gsp", &set), 0, 200_000);
        let tau = if tau == 0 { 5 * interval } else { tau } as f64;
        let mut dice = Dice(seed);
        let (mut now, mut load, mut drops, mut shortest) = (0u64, 8, 0, f64::MAX);
        let (mut time, mut hold) = (0.0f64, 0u64);
        // Since an overflow: that, and since when it was empty.
        let (mut flooded, mut empty_at, mut overflows) = (false, None, 0);
        let mut pass = |host: &Host, time: &mut f64, by: u64, flooded: bool, empty_at: Option<u64>| {
            let above = host.queue.bytes > 30_000;
            let counts_from = match (flooded, empty_at) {
                (false, _) => 0,
                (true, None) => u64::MAX,
                (true, Some(at)) => at + tau as u64,
            };
            let below = (now + by).saturating_sub(counts_from).min(by);
            *time += if above { (by as f64 * alpha).floor() } else { -(below as f64) };
            *time = time.clamp(0.0, max_time as f64);
            now += by;
            now
        };
        for step in 0..100_000 {
            if step % 4000 == 0 {
                load = dice.roll() % 14;
            }
            let at = pass(&host, &mut time, 500_000 + dice.roll() % 1_000_000, flooded, empty_at);
            host.transmit(at, |_| {});
            if flooded && host.queue.bytes == 0 {
                empty_at = empty_at.or(Some(at));
            }
            for _ in 0..2 {
                if dice.roll() % 16 >= load {
                    continue;
                }
                let above = host.queue.bytes > 30_000;
                let full = host.queue.bytes + 1000 > 200_000;
                let v = host.arrive(at, 1000, 0, 0);
                if full {
                    assert_eq!(v.reason, Reason::Limit);
                    (flooded, empty_at) = (true, None);
                    overflows += 1;
                    continue;
                }
                if host.queue.bytes > 30_000 && empty_at.is_some() {
                    (flooded, empty_at) = (false, None);
                }
                assert_eq!(v.reason == Reason::Threshold, above && at >= hold, "at {at} ns");
                let ours = host.discipline.probe(1) * 1e9;
                assert!((ours - time).abs() < 1e3 + time / 1e4, "{ours} against {time} at {at} ns");
                if v.reason == Reason::Threshold {
                    let expected = interval as f64 / (1.0 + time / tau);
                    let ours = host.discipline.probe(0) * 1e6;
                    assert!((ours - expected).abs() < 2.0 + expected / 1e4, "{ours} against {expected}");
                    hold = at + ours.round() as u64;
                    drops += 1;
                    shortest = expected.min(shortest);
                }
            }
        }
        assert!(overflows > 100, "{overflows} overflows");
        assert!(drops > 200 && shortest < interval as f64 / 3.0, "{drops} drops, {shortest} ns");
    }
}

#[test]
fn an_idle_link_forgets() {
    let mut host = Host::new(&spec("gsp", &[("threshold", Value::Int(20_000))]), 0, 0);
    overload(&mut host, 0, 4 * SEC);
    assert!(host.discipline.probe(1) > 5.0);
    while host.transmit(4 * SEC, |_| {}).is_some() {}
    host.transmit(100 * SEC, |_| {});
    assert_eq!(host.discipline.probe(1), 0.0);
}

#[test]
fn marks_instead_of_drops_when_told() {
    let set = [("threshold", Value::Int(20_000)), ("ecn", Value::Flag(true))];
    let mut host = Host::new(&spec("gsp", &set), 0, 0);
    for ms in 0..2000 {
        for _ in 0..2 {
            host.arrive(ms * MS, 1000, 0, 2);
        }
        host.transmit(ms * MS, |_| {});
    }
    assert_eq!(host.drops.iter().sum::<u64>(), 0);
    assert!(host.marks[Reason::Threshold as usize] > 10);
}

/// Others fill the buffer that it shares: a port that is empty forgets as if it had just become so.
#[test]
fn a_shared_buffer_that_others_fill_holds_no_time_back() {
    let mut host = Host::new(&spec("gsp", &[]), 60, 0);
    overload(&mut host, 0, 4 * SEC);
    let mut now = 4 * SEC;
    while host.transmit(now, |_| {}).is_some() {
        now += 10 * MS;
    }
    host.discipline.idle(now);
    host.queue.pool = Pool { bytes: 400_000, limit_bytes: 400_000, ports: 4, ..Pool::default() };
    assert_eq!(host.arrive(now, 1500, 0, 0).action, Action::Drop);
    host.discipline.idle(now + 100 * SEC);
    assert_eq!(host.discipline.probe(1), 0.0);
}

/// What an overflow empties says nothing about the load: the time above the threshold is kept for tau of it, and a link
/// that idles for longer forgets.
#[test]
fn an_overflow_pauses_the_count_of_time_below() {
    let mut host = Host::new(&spec("gsp", &[]), 60, 0);
    overload(&mut host, 0, 4 * SEC);
    let before = host.discipline.probe(1);
    assert!(before > 4.0 && host.drops[Reason::Limit as usize] > 0);
    let mut now = 4 * SEC;
    while host.transmit(now, |_| {}).is_some() {
        now += 10 * MS;
    }
    host.discipline.idle(now + 500 * MS);
    let kept = host.discipline.probe(1);
    assert!(kept >= before, "{before} s, then {kept}");
    host.discipline.idle(now + 1500 * MS);
    assert!(
        (kept - host.discipline.probe(1) - 1.0).abs() < 0.02,
        "{kept} s, then {}",
        host.discipline.probe(1)
    );
    host.discipline.idle(now + 100 * SEC);
    assert_eq!(host.discipline.probe(1), 0.0);
}
