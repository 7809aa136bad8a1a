//! YeAH-TCP against Baiocchi, Castellani and Vacirca 2007, and against what Linux made of it.

use pipe::{MS, Pipe, SEC};
use queuewright_cca::{Cca, Kind, Yeah};
use rounds::{Rounds, Then, trace};

mod pipe;
mod rounds;

fn yeah(cca: &Cca) -> &Yeah {
    match cca {
        Cca::Yeah(y) => y,
        _ => unreachable!(),
    }
}

/// A round trip of `rtt_us` by itself: the ACK that ends it is its last sample.
fn judged(cwnd: u32, base_us: u32, rtt_us: u32) -> Rounds {
    let mut r = Rounds::beyond_slow_start(Kind::Yeah, cwnd);
    r.rounds(2, base_us);
    r.round(rtt_us); // its first ACK closes the round before
    r.c.cwnd = cwnd;
    r.c.cwnd_cnt = 0;
    r.ack(2, rtt_us);
    r
}

/// The paper: Q = (RTTmin - RTTbase) cwnd / RTTmin, L = (RTTmin - RTTbase) / RTTbase; slow mode if Q > Qmax =
/// 80 or L > 1/phi = 1/8. In slow mode with Q > Qmax the window gives up Q, half of itself at most.
#[test]
fn modes_and_precautionary_decongestion() {
    let mut slow = [0; 3];
    for cwnd in [40u32, 300, 1000, 4000] {
        for base_us in [10_000u32, 100_000] {
            for permille in [0u32, 10, 30, 60, 100, 124, 126, 150, 300, 900] {
                let rtt_us = base_us + base_us * permille / 1000;
                let r = judged(cwnd, base_us, rtt_us);
                // Linux counts a microsecond more.
                let (base, rtt) = (f64::from(base_us + 1), f64::from(rtt_us + 1));
                // Growth of this ACK included, if there was one: within a packet.
                let q = (rtt - base) * f64::from(cwnd) / rtt;
                let is_slow = q > 81.0 || (rtt - base) / base > 0.125;
                if (q - 80.5).abs() < 1.0 {
                    continue;
                }
                let what = format!("cwnd {cwnd}, {base_us} us, {permille}: Q {q:.1}, {}", r.c.cwnd);
                assert_eq!(yeah(&r.cca).slow_rounds() > 0, is_slow, "{what}");
                if q > 81.0 {
                    let left = f64::from(cwnd) - q.min(f64::from(cwnd) / 2.0);
                    assert!((f64::from(r.c.cwnd) - left).abs() <= 2.0, "{what} for {left:.1}");
                    assert_eq!(r.c.ssthresh, r.c.cwnd, "{what}");
                    slow[2] += 1;
                } else {
                    assert!(r.c.cwnd.abs_diff(cwnd) <= 1, "{what}");
                    slow[usize::from(is_slow)] += 1;
                }
            }
        }
    }
    assert!(slow.iter().all(|&n| n >= 8), "{slow:?}");
}

#[test]
fn fast_mode_grows_by_a_hundredth_and_slow_mode_by_a_packet() {
    let mut r = Rounds::beyond_slow_start(Kind::Yeah, 1000);
    r.rounds(20, 50_000);
    let fast = f64::from(r.c.cwnd) / 1000.0;
    // 1 + 1/100 a round trip: as Scalable TCP.
    assert!((fast / 1.01f64.powi(20) - 1.0).abs() < 0.01, "x {fast:.3}");
    // A small window stays a packet a round trip.
    let mut r = Rounds::beyond_slow_start(Kind::Yeah, 50);
    r.rounds(20, 50_000);
    assert!((69..=71).contains(&r.c.cwnd), "{}", r.c.cwnd);
    // A long round trip, a short queue: Reno.
    let mut r = judged(400, 50_000, 60_000);
    assert!(yeah(&r.cca).slow_rounds() > 0);
    let from = r.c.cwnd;
    r.rounds(20, 60_000);
    assert!((18..=21).contains(&(r.c.cwnd - from)), "{from} to {}", r.c.cwnd);
}

/// A loss takes Q out, cwnd/8 at least; after 16 round trips in slow mode (greedy flows), half.
#[test]
fn a_loss_takes_the_queue() {
    let mut r = judged(1000, 50_000, 50_000);
    let before = r.c.cwnd;
    r.lose();
    assert_eq!(r.c.cwnd, before - before / 8);
    // 1000 packets, 1/11 more delay: 83 - just slow; take 1/14: 66 wait, less than an eighth.
    let mut r = judged(500, 50_000, 59_000);
    let before = r.c.cwnd;
    let queue = 500 * 9_000 / 59_001; // 76
    r.lose();
    assert!((before - r.c.cwnd).abs_diff(queue) <= 1, "{before} to {}", r.c.cwnd);
    // Slow for long.
    let mut r = judged(400, 50_000, 60_000);
    r.rounds(20, 60_000);
    let before = r.c.cwnd;
    r.lose();
    assert_eq!(r.c.cwnd, before - before / 2);
}

/// The estimate of a Reno flow's window: half of ours when slow mode begins, a packet more each slow round
/// trip, halved by a loss; forgotten after more than 50 fast round trips. Decongestion stops at it.
#[test]
fn a_reno_flow_beside_it_is_kept_up_with() {
    let mut r = judged(400, 50_000, 60_000);
    assert_eq!(yeah(&r.cca).reno_window(), 200);
    r.rounds(10, 60_000);
    assert!((209..=210).contains(&yeah(&r.cca).reno_window()));
    // Nine tenths in queues: half the window would go, but not below the estimate.
    r.c.cwnd = 300;
    r.rounds(2, 500_000);
    assert!(r.c.cwnd >= 209, "{}", r.c.cwnd);
    let estimate = yeah(&r.cca).reno_window();
    r.lose();
    assert_eq!(yeah(&r.cca).reno_window(), estimate / 2);
    r.rounds(53, 50_000);
    assert_eq!(yeah(&r.cca).reno_window(), 2);
    assert_eq!(yeah(&r.cca).slow_rounds(), 0);
}

#[test]
fn an_unused_window_does_not_grow() {
    let mut r = Rounds::beyond_slow_start(Kind::Yeah, 100);
    r.round(50_000);
    let before = r.c.cwnd;
    r.c.is_cwnd_limited = false;
    r.rounds(10, 50_000);
    assert_eq!(r.c.cwnd, before);
}

/// With a buffer of a BDP and nobody else, a lone flow drains what it queues and never loses a packet again.
#[test]
fn a_lone_flow_keeps_the_queue_short() {
    let mut p = Pipe::new(Kind::Yeah, 100_000_000, 50 * MS, 417);
    while p.step(20 * SEC) {}
    let (delivered, losses, mut most) = (p.delivered, p.losses, 0);
    while p.step(60 * SEC) {
        most = most.max(p.queue());
    }
    let utilization = (p.delivered - delivered) as f64 / 40.0 / p.rate_pps();
    assert_eq!(p.losses, losses);
    assert!(utilization > 0.99, "{utilization}");
    assert!((50..=110).contains(&most), "{most} packets");
}

#[test]
fn golden_trace() {
    insta::assert_snapshot!(trace(
        Kind::Yeah,
        &[
            (5, 50_000, Then::Lose),
            (8, 50_000, Then::Nothing),
            (6, 58_000, Then::Nothing),
            (4, 80_000, Then::Lose),
            (18, 60_000, Then::Lose),
            (4, 50_000, Then::Timeout),
            (12, 51_000, Then::Nothing),
        ]
    ));
}

/// `tcp_yeah_ssthresh` (`TCP_YEAH_RHO`): with 15 round trips in slow mode a loss still takes the queue, with 16 half.
#[test]
fn other_flows_are_greedy_from_the_sixteenth_round_trip_on() {
    for (rounds, half) in [(15, false), (16, true)] {
        let mut r = judged(400, 50_000, 60_000);
        while yeah(&r.cca).slow_rounds() < rounds {
            r.round(60_000);
        }
        let before = r.c.cwnd;
        r.lose();
        // A sixth of the round trip is in the queue.
        let want = if half { before / 2 } else { before / 6 };
        assert!((before - r.c.cwnd).abs_diff(want) <= 1, "{rounds}: {before} to {}", r.c.cwnd);
    }
}

/// `tcp_yeah_cong_avoid` (`fast_count > TCP_YEAH_ZETA`): the 51st round trip in fast mode since the last loss takes the others for gone.
#[test]
fn other_flows_are_gone_after_more_than_fifty_round_trips() {
    let mut r = judged(400, 50_000, 60_000);
    r.lose();
    assert_eq!(yeah(&r.cca).reno_window(), 100);
    let mut fast = 0;
    while yeah(&r.cca).reno_window() > 2 {
        r.round(50_000);
        fast += u32::from(yeah(&r.cca).slow_rounds() == 0);
    }
    assert_eq!(fast, 51);
}

/// `tcp_vegas_cwnd_event`: after an idle time the path may be another, and its longer round trip is no queue.
#[test]
fn an_idle_time_begins_anew_with_the_round_trip_time() {
    for (idle, slow) in [(true, false), (false, true)] {
        let mut r = Rounds::beyond_slow_start(Kind::Yeah, 400);
        r.rounds(3, 50_000);
        if idle {
            r.idle();
        }
        r.rounds(3, 80_000);
        assert_eq!(yeah(&r.cca).slow_rounds() > 0, slow);
    }
}
