//! Scalable TCP against Kelly 2003: both steps are fixed parts of the window, so the rate at which the
//! window recovers does not depend on its size.

use std::fmt::Write as _;

use queuewright_cca::{Cca, Conn, Flavour, Kind};

mod pipe;

fn start(cwnd: u32) -> (Conn, Cca) {
    let mut c = Conn { cwnd, ssthresh: 2, is_cwnd_limited: true, ..Conn::default() };
    let cca = Cca::new(Kind::Scalable, Flavour::LINUX, &mut c, 0);
    (c, cca)
}

/// Acknowledges one window, two packets an ACK.
fn round(c: &mut Conn, cca: &mut Cca) {
    let window = c.cwnd;
    let mut acked = 0;
    while acked < window {
        let n = 2.min(window - acked);
        cca.cong_avoid(c, n, 0);
        acked += n;
    }
}

fn lose(c: &mut Conn, cca: &mut Cca) {
    c.prior_cwnd = c.cwnd;
    c.ssthresh = cca.ssthresh(c, 0);
    c.cwnd = c.ssthresh;
    c.cwnd_cnt = 0;
}

#[test]
fn loss_takes_an_eighth_and_undo_restores() {
    for cwnd in [2, 3, 7, 8, 9, 100, 1001, 4_000_000] {
        let (mut c, mut cca) = start(cwnd);
        lose(&mut c, &mut cca);
        assert_eq!(c.cwnd, (cwnd - cwnd / 8).max(2));
        assert_eq!(cca.undo_cwnd(&mut c), cwnd.max(2));
    }
}

#[test]
fn recovery_takes_as_many_round_trips_whatever_the_window() {
    // Section 3: log(1 - b) / -log(1 + a) round trips; 13.4 with a = 0.01 and b = 1/8.
    let want = -(1.0f64 - 0.125).ln() / 1.01f64.ln();
    for cwnd in [1000, 4000, 20_000, 100_000] {
        let (mut c, mut cca) = start(cwnd);
        lose(&mut c, &mut cca);
        let mut rounds = 0;
        while c.cwnd < cwnd {
            round(&mut c, &mut cca);
            rounds += 1;
        }
        assert!((f64::from(rounds) - want).abs() < 1.0, "{cwnd}: {rounds} round trips, {want:.1} expected");
    }
}

#[test]
fn small_windows_grow_as_renos() {
    let (mut c, mut cca) = start(50);
    for n in 1..=40 {
        round(&mut c, &mut cca);
        assert!(c.cwnd.abs_diff(50 + n) <= 1, "round {n}: {}", c.cwnd);
    }
}

#[test]
fn golden_trace() {
    let (mut c, mut cca) = start(10);
    c.ssthresh = 300;
    let mut out = String::from("round cwnd ssthresh\n");
    for n in 0..60 {
        writeln!(out, "{n:5} {:4} {:8}", c.cwnd, c.ssthresh).unwrap();
        round(&mut c, &mut cca);
        if [20, 40, 41].contains(&n) {
            lose(&mut c, &mut cca);
        }
    }
    insta::assert_snapshot!(out);
}

#[test]
fn keeps_the_link_busy_with_an_eighth_of_a_bdp() {
    // Losing 1/8 of BDP + buffer leaves a BDP if the buffer holds 1/7 of it.
    let mut p = pipe::Pipe::new(Kind::Scalable, 100_000_000, 60 * pipe::MS, 80);
    while p.step(40 * pipe::SEC) {}
    let before = p.delivered;
    while p.step(80 * pipe::SEC) {}
    let utilization = (p.delivered - before) as f64 / 40.0 / p.rate_pps();
    assert!(utilization > 0.98, "{utilization}");
}
