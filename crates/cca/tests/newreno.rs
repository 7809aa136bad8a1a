//! NewReno's window rules against RFC 5681.

use std::fmt::Write as _;

use queuewright_cca::{Cca, Conn, Flavour, Kind};

mod pipe;

fn start(cwnd: u32) -> (Conn, Cca) {
    let mut c = Conn { cwnd, is_cwnd_limited: true, ..Conn::default() };
    let cca = Cca::new(Kind::NewReno, Flavour::LINUX, &mut c, 0);
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

#[test]
fn slow_start_doubles_and_stops_at_ssthresh() {
    let (mut c, mut cca) = start(10);
    c.ssthresh = 70;
    round(&mut c, &mut cca);
    assert_eq!(c.cwnd, 20);
    round(&mut c, &mut cca);
    assert_eq!(c.cwnd, 40);
    round(&mut c, &mut cca);
    // 30 packets of slow start; the 10 left over are a seventh of a packet of avoidance.
    assert_eq!((c.cwnd, c.cwnd_cnt), (70, 10));
}

#[test]
fn avoidance_adds_a_packet_a_round() {
    let (mut c, mut cca) = start(100);
    c.ssthresh = 50;
    for n in 1..=20 {
        round(&mut c, &mut cca);
        assert!(c.cwnd.abs_diff(100 + n) <= 1, "round {n}: {}", c.cwnd);
    }
}

#[test]
fn a_window_that_does_not_limit_does_not_grow() {
    let (mut c, mut cca) = start(100);
    c.is_cwnd_limited = false;
    c.ssthresh = 50;
    round(&mut c, &mut cca);
    assert_eq!((c.cwnd, c.cwnd_cnt), (100, 0));
    // Slow start may go to twice what was in flight.
    c.ssthresh = 1000;
    c.max_packets_out = 60;
    round(&mut c, &mut cca);
    assert_eq!(c.cwnd, 120);
}

#[test]
fn loss_halves_and_undo_restores() {
    let (mut c, mut cca) = start(101);
    assert_eq!(cca.ssthresh(&mut c, 0), 50);
    c.prior_cwnd = 101;
    c.cwnd = 50;
    assert_eq!(cca.undo_cwnd(&mut c), 101);
    c.cwnd = 3;
    assert_eq!(cca.ssthresh(&mut c, 0), 2);
}

#[test]
fn golden_trace() {
    let (mut c, mut cca) = start(10);
    let mut out = String::from("round cwnd ssthresh\n");
    for n in 0..60 {
        writeln!(out, "{n:5} {:4} {:8}", c.cwnd, c.ssthresh).unwrap();
        round(&mut c, &mut cca);
        if [5, 30].contains(&n) {
            c.prior_cwnd = c.cwnd;
            c.ssthresh = cca.ssthresh(&mut c, 0);
            c.cwnd = c.ssthresh;
        }
    }
    insta::assert_snapshot!(out);
}

#[test]
fn sawtooth_over_one_bdp_keeps_the_link_busy() {
    // Appenzeller, Keslassy and McKeown, SIGCOMM 2004: a buffer of a BDP is just enough.
    let mut p = pipe::Pipe::new(Kind::NewReno, 20_000_000, 40 * pipe::MS, 67);
    while p.step(60 * pipe::SEC) {}
    let before = p.delivered;
    while p.step(120 * pipe::SEC) {}
    let utilization = (p.delivered - before) as f64 / 60.0 / p.rate_pps();
    assert!(utilization > 0.98, "{utilization}");
}
