//! LEDBAT against RFC 6817, section 2.4.2.

use pipe::{MS, Pipe, SEC};
use queuewright_cca::{Cca, Event, Kind};
use rounds::{Rounds, Then, trace};

mod pipe;
mod rounds;

/// Of the RFC: cwnd += GAIN * off_target * acked / cwnd, off_target = (TARGET - queueing) / TARGET, all in packets and ms.
fn grown(cwnd: f64, queueing_ms: f64, acked: f64) -> f64 {
    cwnd + (100.0 - queueing_ms) / 100.0 * acked / cwnd
}

#[test]
fn a_round_changes_the_window_by_what_is_off_target() {
    for start in [4, 10, 51, 300, 2000] {
        for queueing_ms in [0, 20, 50, 90, 100, 110, 150, 200, 260] {
            let mut r = Rounds::beyond_slow_start(Kind::Ledbat, start);
            // The least delay, and no step with it.
            r.cca.pkts_acked(&mut r.c, 2, 40_000, r.now);
            let rtt_us = 40_000 + 1000 * queueing_ms;
            // Four samples, of which the least counts.
            (0..4).for_each(|_| r.cca.pkts_acked(&mut r.c, 2, rtt_us, r.now));
            let (mut want, mut left) = (f64::from(start), start);
            while left > 0 {
                let n = left.min(2);
                r.ack(n, rtt_us);
                want = grown(want, f64::from(queueing_ms), f64::from(n)).max(2.0);
                left -= n;
            }
            let got = f64::from(r.c.cwnd);
            assert!((got - want).abs() <= 1.0, "{start} packets, {queueing_ms} ms: {got} and {want}");
            assert!(got - f64::from(start) <= 1.0, "a packet a round trip at most: {start} to {got}");
        }
    }
}

#[test]
fn the_least_of_four_samples_counts() {
    let mut r = Rounds::beyond_slow_start(Kind::Ledbat, 10);
    let queueing = |r: &Rounds| match &r.cca {
        Cca::Ledbat(of) => of.queueing_us(),
        _ => unreachable!(),
    };
    assert_eq!(queueing(&r), None);
    for (rtt_us, want) in
        [(50_000, 0), (90_000, 0), (80_000, 0), (95_000, 0), (99_000, 30_000), (60_000, 10_000)]
    {
        r.cca.pkts_acked(&mut r.c, 1, rtt_us, r.now);
        assert_eq!(queueing(&r), Some(want), "{rtt_us}");
    }
}

/// The least delay is of the last ten minutes: a path that has become longer is believed after that.
#[test]
fn the_base_is_forgotten_after_ten_minutes() {
    let mut r = Rounds::beyond_slow_start(Kind::Ledbat, 10);
    let after = |r: &mut Rounds, minutes: u64, rtt_us: u32| {
        r.now += minutes * 60 * SEC;
        (0..4).for_each(|_| r.cca.pkts_acked(&mut r.c, 1, rtt_us, r.now));
        match &r.cca {
            Cca::Ledbat(of) => of.queueing_us().expect("samples"),
            _ => unreachable!(),
        }
    };
    assert_eq!(after(&mut r, 0, 20_000), 0);
    assert_eq!((0..9).map(|_| after(&mut r, 1, 90_000)).max(), Some(70_000));
    assert_eq!(after(&mut r, 1, 90_000), 0);
    assert_eq!(after(&mut r, 1, 100_000), 10_000);
    // All at once.
    assert_eq!(after(&mut r, 1000, 120_000), 0);
}

#[test]
fn loss_halves_and_leaves_two_packets() {
    let mut r = Rounds::beyond_slow_start(Kind::Ledbat, 101);
    r.rounds(2, 50_000);
    let before = r.c.cwnd;
    r.lose();
    assert_eq!(r.c.cwnd, before / 2);
    assert_eq!(r.cca.undo_cwnd(&mut r.c), before);
    r.timeout();
    // Two at once, as after every ACK, then by one a round trip, and not in slow start.
    r.rounds(5, 50_000);
    assert!((2..=7).contains(&r.c.cwnd), "{}", r.c.cwnd);
    r.timeout();
    r.round(400_000);
    assert_eq!(r.c.cwnd, 2, "however long the queue is");
    let mut r = Rounds::beyond_slow_start(Kind::Ledbat, 3);
    r.lose();
    assert_eq!(r.c.cwnd, 2);
    r.rounds(1, 50_000);
    r.rounds(40, 5_000_000);
    assert_eq!(r.c.cwnd, 2, "however late");
}

/// What was saved up for a window is nothing to the one that TCP leaves after a rest.
#[test]
fn a_rest_clears_what_was_saved_up() {
    for (rtt_us, saved) in [(40_000, "up"), (250_000, "down")] {
        let mut r = Rounds::beyond_slow_start(Kind::Ledbat, 1000);
        r.cca.pkts_acked(&mut r.c, 2, 40_000, r.now);
        // Most of a window's worth.
        (0..4).for_each(|_| r.cca.pkts_acked(&mut r.c, 2, rtt_us, r.now));
        (0..200).for_each(|_| r.ack(2, rtt_us));
        r.idle();
        r.c.cwnd = 10;
        let before = r.c.cwnd;
        (0..4).for_each(|_| r.cca.pkts_acked(&mut r.c, 2, 40_000, r.now));
        r.ack(2, 40_000);
        assert!(r.c.cwnd.abs_diff(before) <= 1, "saved {saved}: {before} to {}", r.c.cwnd);
    }
}

/// Two packets that are acknowledged at once leave nothing in flight, and sending begins anew each time: what is saved up stays.
#[test]
fn it_leaves_the_smallest_window_again() {
    for (queueing_us, rounds) in [(1_210, 4), (50_000, 6)] {
        let mut r = Rounds::beyond_slow_start(Kind::Ledbat, 2);
        r.cca.pkts_acked(&mut r.c, 1, 40_000, r.now);
        for _ in 0..rounds {
            r.now += 45 * MS;
            r.ack(r.c.cwnd, 40_000 + queueing_us);
            let last_send_ns = Some(r.now - 45 * MS);
            r.cca.event(&mut r.c, Event::TxStart { last_send_ns }, r.now);
        }
        assert!(r.c.cwnd >= 4, "{queueing_us} us: {}", r.c.cwnd);
    }
}

#[test]
fn it_grows_only_if_it_limits_the_sender() {
    let mut r = Rounds::beyond_slow_start(Kind::Ledbat, 100);
    r.c.is_cwnd_limited = false;
    r.rounds(10, 50_000);
    assert_eq!(r.c.cwnd, 100);
    r.rounds(10, 250_000);
    assert!(r.c.cwnd < 100);
}

/// Alone on a link with room it holds its target, 100 ms of queue, and fills the link.
#[test]
fn a_lone_flow_keeps_a_tenth_of_a_second_waiting() {
    for (mbit, rtt_ms) in [(5, 20), (10, 40), (20, 100)] {
        let mut p = Pipe::new(Kind::Ledbat, mbit * 1_000_000, rtt_ms * MS, u64::MAX);
        while p.step(90 * SEC) {}
        let (delivered, mut queue, mut n) = (p.delivered, 0, 0);
        while p.step(100 * SEC) {
            queue += p.queue();
            n += 1;
        }
        let waited_ms = queue as f64 / f64::from(n) * p.packet_ns as f64 / 1e6;
        let utilization = (p.delivered - delivered) as f64 / 10.0 / p.rate_pps();
        assert!((90.0..110.0).contains(&waited_ms), "{mbit} Mbit/s, {rtt_ms} ms: {waited_ms:.1} ms");
        assert!(utilization > 0.99, "{mbit} Mbit/s, {rtt_ms} ms: {utilization}");
        assert_eq!(p.losses, 0);
    }
}

#[test]
fn golden_trace() {
    insta::assert_snapshot!(trace(
        Kind::Ledbat,
        &[
            (4, 50_000, Then::Nothing),
            (6, 58_000, Then::Nothing),
            (10, 150_000, Then::Lose),
            (8, 50_000, Then::Nothing),
            (8, 300_000, Then::Timeout),
            (12, 50_000, Then::Nothing),
        ]
    ));
}
