//! Vegas against Brakmo and Peterson 1995, and against what Linux made of it.

use pipe::{MS, Pipe, SEC};
use queuewright_cca::{CaState, Cca, Kind};
use rounds::{Rounds, Then, trace};

mod pipe;
mod rounds;

/// The paper: Expected = cwnd / BaseRTT, Actual = cwnd / RTT; faster if Diff < alpha, slower if
/// Diff > beta. In packets Linux takes (Expected - Actual) x RTT, whole ones.
fn step(cwnd: u32, base_us: u32, rtt_us: u32) -> i32 {
    let expected = f64::from(cwnd) / f64::from(base_us);
    let actual = f64::from(cwnd) / f64::from(rtt_us);
    let diff = ((expected - actual) * f64::from(rtt_us) + 1e-9).floor();
    if diff < 2.0 {
        1
    } else if diff > 4.0 {
        -1
    } else {
        0
    }
}

#[test]
fn a_round_in_avoidance_steps_by_diff() {
    let mut seen = [0; 3];
    for cwnd in [8, 10, 17, 50, 300, 2000] {
        for base_us in [999, 9_999, 40_123, 199_999] {
            for extra in [0, 1, 3, 7, 10, 15, 20, 25, 30, 50, 100, 400] {
                let rtt_us = base_us + (u64::from(base_us) * extra / u64::from(cwnd) / 5) as u32;
                let mut r = Rounds::beyond_slow_start(Kind::Vegas, cwnd);
                r.round(base_us); // of which the first ACK ends a round without samples
                r.c.cwnd = cwnd;
                r.c.ssthresh = 2;
                r.rounds(1, rtt_us);
                r.c.cwnd = cwnd;
                // Now a round of nothing but rtt_us ends with the next ACK. Linux counts a microsecond more.
                r.ack(2, rtt_us);
                let want = step(cwnd, base_us + 1, rtt_us + 1);
                seen[(want + 1) as usize] += 1;
                assert_eq!(r.c.cwnd as i32 - cwnd as i32, want, "cwnd {cwnd}, {base_us} us, {rtt_us} us");
            }
        }
    }
    assert!(seen.iter().all(|&n| n >= 20), "{seen:?}");
}

#[test]
fn slow_start_doubles_until_packets_queue() {
    let mut r = Rounds::new(Kind::Vegas, 10);
    r.round(50_000);
    assert_eq!(r.c.cwnd, 20);
    r.round(50_000);
    assert_eq!(r.c.cwnd, 40);
    // 40 packets, a fifth more time: 8 of them wait. 40 / 1.2 fill the path; one more for truncation.
    r.round(60_000);
    let before = r.c.cwnd;
    r.ack(2, 60_000);
    assert_eq!(r.c.cwnd, before * 50_001 / 60_001 + 1);
    assert!(!r.c.in_slow_start());
}

#[test]
fn few_samples_make_it_reno() {
    // Two packets a round are one ACK: two samples with the one that ends it.
    let mut r = Rounds::beyond_slow_start(Kind::Vegas, 2);
    r.round(50_000);
    let base = r.c.clone();
    for _ in 0..3 {
        r.c.cwnd = 2;
        r.c.snd_nxt = r.c.snd_una + 2;
        r.round(200_000); // very late, but not believed
    }
    assert!(r.c.cwnd >= base.cwnd.min(2));
    assert!(r.c.cwnd_cnt > 0 || r.c.cwnd > 2, "Reno counts: {:?}", r.c);
}

#[test]
fn it_grows_without_asking_what_limits_the_sender() {
    let mut r = Rounds::beyond_slow_start(Kind::Vegas, 100);
    r.c.is_cwnd_limited = false;
    r.rounds(10, 50_000);
    assert!((108..=110).contains(&r.c.cwnd), "{}", r.c.cwnd);
}

#[test]
fn reno_while_there_is_trouble() {
    let mut r = Rounds::beyond_slow_start(Kind::Vegas, 100);
    r.rounds(2, 50_000);
    r.cca.set_state(&mut r.c, CaState::Disorder, r.now);
    r.c.ca_state = CaState::Disorder;
    let before = r.c.cwnd;
    r.rounds(3, 100_000); // half the window in queues
    assert!(r.c.cwnd > before, "{before} to {}", r.c.cwnd);
    r.cca.set_state(&mut r.c, CaState::Open, r.now);
    r.c.ca_state = CaState::Open;
    let before = r.c.cwnd;
    r.rounds(4, 100_000);
    assert!(r.c.cwnd < before, "{before} to {}", r.c.cwnd);
}

#[test]
fn loss_halves_and_the_path_is_remembered_until_it_idles() {
    let base = |r: &Rounds| match &r.cca {
        Cca::Vegas(v) => v.base_rtt_us(),
        _ => unreachable!(),
    };
    let mut r = Rounds::beyond_slow_start(Kind::Vegas, 101);
    r.rounds(2, 50_000);
    let before = r.c.cwnd;
    r.lose();
    assert_eq!(r.c.cwnd, before / 2);
    assert_eq!(r.cca.undo_cwnd(&mut r.c), before);
    assert_eq!(base(&r), Some(50_001));
    r.idle();
    assert_eq!(base(&r), None);
}

#[test]
fn ssthresh_stays_at_three_quarters_of_the_window() {
    // `tcp_current_ssthresh` after every step: a loss later does not send it back to slow start.
    let mut r = Rounds::beyond_slow_start(Kind::Vegas, 50);
    r.c.ssthresh = 10;
    r.rounds(20, 50_000);
    assert_eq!(r.c.ssthresh, r.c.cwnd / 2 + r.c.cwnd / 4);
}

#[test]
fn a_lone_flow_keeps_two_to_four_packets_waiting() {
    for (mbit, rtt_ms) in [(10, 40), (50, 20), (20, 100)] {
        let mut p = Pipe::new(Kind::Vegas, mbit * 1_000_000, rtt_ms * MS, u64::MAX);
        // Slow start would leave a queue that takes a round trip a packet to go.
        p.c.ssthresh = 10;
        while p.step(30 * SEC) {}
        let (delivered, mut queue, mut n) = (p.delivered, 0, 0);
        while p.step(40 * SEC) {
            queue += p.queue();
            n += 1;
        }
        // The one in transmission counts here, and the ACK-clocked sender keeps another on its way.
        let mean = queue as f64 / f64::from(n);
        let utilization = (p.delivered - delivered) as f64 / 10.0 / p.rate_pps();
        assert!((2.0..6.0).contains(&mean), "{mbit} Mbit/s, {rtt_ms} ms: {mean:.1} packets");
        assert!(utilization > 0.99, "{mbit} Mbit/s, {rtt_ms} ms: {utilization}");
        assert_eq!(p.losses, 0);
    }
}

#[test]
fn golden_trace() {
    insta::assert_snapshot!(trace(
        Kind::Vegas,
        &[
            (4, 50_000, Then::Nothing),
            (6, 58_000, Then::Nothing),
            (10, 52_000, Then::Lose),
            (8, 50_000, Then::Nothing),
            (8, 54_000, Then::Timeout),
            (12, 50_000, Then::Nothing),
        ]
    ));
}
