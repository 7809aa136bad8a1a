//! Veno against Fu and Liew 2003, and against what Linux made of it.

use pipe::{MS, Pipe, SEC};
use queuewright_cca::{CaState, Conn, Control, Kind, Veno};
use rounds::{Rounds, Then, trace};

mod pipe;
mod rounds;

/// Section II.A: N = cwnd (RTT - BaseRTT) / RTT packets wait.
fn backlog(cwnd: u32, base_us: u32, rtt_us: u32) -> f64 {
    f64::from(cwnd) * f64::from(rtt_us - base_us) / f64::from(rtt_us)
}

/// One that has seen `base_us`, and lately `rtt_us`.
fn seen(cwnd: u32, base_us: u32, rtt_us: u32) -> Rounds {
    let mut r = Rounds::beyond_slow_start(Kind::Veno, cwnd);
    r.round(base_us);
    r.round(rtt_us);
    r.c.cwnd = cwnd;
    r.c.cwnd_cnt = 0;
    r.ack(2, rtt_us);
    r
}

/// Section II.B: a loss with N < beta = 3 is random and costs a fifth; with more, half. (Linux counts halves
/// of a packet and rounds up: it has 2.5 to 3 for congested too.)
#[test]
fn a_loss_without_backlog_costs_a_fifth() {
    for cwnd in [10, 37, 100, 1000] {
        for base_us in [5_000, 50_000] {
            for waiting in [0.0, 1.0, 2.0, 2.4, 3.2, 4.0, 8.0] {
                let rtt_us = (f64::from(base_us) / (1.0 - waiting / f64::from(cwnd))) as u32;
                let n = backlog(cwnd, base_us, rtt_us);
                let mut r = seen(cwnd, base_us, rtt_us);
                let want = if n < 3.0 { r.c.cwnd * 4 / 5 } else { r.c.cwnd / 2 };
                r.lose();
                assert_eq!(r.c.cwnd, want, "cwnd {cwnd}, {base_us} us, {n:.2} waiting");
            }
        }
    }
}

/// Section II.B: N < beta: a packet a round trip; else one every other.
#[test]
fn growth_halves_with_a_backlog() {
    let grown = |rtt_us: u32| {
        let mut r = seen(200, 50_000, rtt_us);
        let from = r.c.cwnd;
        r.rounds(40, rtt_us);
        r.c.cwnd - from
    };
    assert!((38..=41).contains(&grown(50_200)), "{}", grown(50_200));
    // 20 and more wait. A window of ACKs and one more for each half packet.
    assert!((18..=20).contains(&grown(56_000)), "{}", grown(56_000));
}

#[test]
fn slow_start_is_renos() {
    let mut r = Rounds::new(Kind::Veno, 10);
    for want in [20, 40, 80, 160] {
        r.round(if want > 40 { 90_000 } else { 50_000 }); // whatever the delay
        assert_eq!(r.c.cwnd, want);
    }
}

#[test]
fn an_unused_window_does_not_grow() {
    let mut r = Rounds::beyond_slow_start(Kind::Veno, 100);
    r.round(50_000);
    let before = r.c.cwnd;
    r.c.is_cwnd_limited = false;
    r.rounds(10, 50_000);
    assert_eq!(r.c.cwnd, before);
}

#[test]
fn disorder_is_grown_through_as_reno() {
    let mut r = seen(100, 50_000, 60_000);
    r.cca.set_state(&mut r.c, CaState::Disorder, r.now);
    let from = r.c.cwnd;
    r.rounds(10, 60_000);
    assert!((9..=11).contains(&(r.c.cwnd - from)), "{} to {}", from, r.c.cwnd);
}

/// The paper's case: random loss of 1 % at a rate that no queue forms. Window of Reno ~ 1.22 / sqrt(p); a
/// decrease of a fifth in place of half makes it sqrt((2 - b) / (2 b p)), b = 0.2: 1.7 times as large.
#[test]
fn random_loss_costs_less_than_renos() {
    let mean_window = |kind| {
        let mut p = Pipe::new(kind, 1_000_000_000, 50 * MS, u64::MAX);
        p.c.ssthresh = 10;
        let (mut sum, mut n, mut until_loss) = (0u64, 0u64, 0u32);
        let mut random = 12345u32;
        while p.step(SEC + 1000 * SEC) {
            // A loss in a hundred packets, by a draw for each.
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if random >> 16 < 65_536 / 100 && until_loss == 0 {
                p.lose();
                until_loss = p.c.cwnd; // one reduction a round trip
            }
            until_loss = until_loss.saturating_sub(1);
            sum += u64::from(p.c.cwnd);
            n += 1;
        }
        sum as f64 / n as f64
    };
    let (reno, veno) = (mean_window(Kind::NewReno), mean_window(Kind::Veno));
    let ratio = veno / reno;
    assert!((1.4..2.1).contains(&ratio), "Veno {veno:.1}, Reno {reno:.1} packets");
}

#[test]
fn at_least_two_packets_stay() {
    let mut c = Conn { cwnd: 2, ..Conn::default() };
    assert_eq!(Veno::new().ssthresh(&mut c, 0), 2);
}

#[test]
fn golden_trace() {
    insta::assert_snapshot!(trace(
        Kind::Veno,
        &[
            (4, 50_000, Then::Lose),
            (10, 50_000, Then::Nothing),
            (12, 56_000, Then::Lose),
            (6, 50_100, Then::Lose),
            (6, 50_000, Then::Timeout),
            (12, 51_000, Then::Nothing),
        ]
    ));
}
