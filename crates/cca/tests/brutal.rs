//! The fixed-rate sender against TCP Brutal's public description: the set rate is what arrives.

use std::fmt::Write as _;

use queuewright_cca::{Cca, Conn, Flavour, Kind, RateSample};

const MS: u64 = 1_000_000;

fn start(rate: u64, rtt_ms: u32) -> (Conn, Cca) {
    let mut c = Conn { srtt_us: rtt_ms * 8000, ..Conn::default() };
    let mut cca = Cca::new(Kind::Brutal, Flavour::LINUX, &mut c, 0);
    cca.set_rate(&mut c, rate, 0);
    (c, cca)
}

fn ack(c: &mut Conn, cca: &mut Cca, now: u64, acked: u32, lost: u32) {
    let rs = RateSample { acked_sacked: acked, losses: lost, ..RateSample::default() };
    cca.cong_control(c, &rs, now, 0);
}

#[test]
fn paces_at_the_rate_with_a_window_of_two_round_trips() {
    for (rate, rtt_ms) in [(2_500_000u64, 40u32), (12_500_000, 10), (125_000, 300)] {
        let (mut c, mut cca) = start(rate, rtt_ms);
        ack(&mut c, &mut cca, 50 * MS, 2, 0);
        assert!(c.pacing);
        assert_eq!(c.pacing_rate, rate);
        let packets = rate as f64 * f64::from(rtt_ms) / 1e3 / 1448.0;
        assert!((f64::from(c.cwnd) - 2.0 * packets).abs() <= 3.0, "{} for {packets}", c.cwnd);
    }
}

#[test]
fn adds_what_is_lost() {
    for (percent, want) in [(0u32, 100u64), (5, 95), (10, 90), (20, 80), (50, 80)] {
        let (mut c, mut cca) = start(1_000_000, 40);
        for n in 0..200u64 {
            ack(&mut c, &mut cca, n * 20 * MS, 100 - percent, percent);
        }
        assert_eq!(c.pacing_rate, 1_000_000 * 100 / want, "{percent} %");
        // Threshold and window know nothing of it.
        let before = (c.cwnd, c.ssthresh);
        assert_eq!(cca.ssthresh(&mut c, 0), before.1);
        assert_eq!(cca.undo_cwnd(&mut c), before.0);
    }
}

#[test]
fn forgets_after_five_seconds_and_asks_for_fifty_packets() {
    let (mut c, mut cca) = start(1_000_000, 40);
    ack(&mut c, &mut cca, 0, 40, 9);
    assert_eq!(c.pacing_rate, 1_000_000);
    ack(&mut c, &mut cca, 0, 0, 1);
    assert_eq!(c.pacing_rate, 1_250_000);
    ack(&mut c, &mut cca, 4999 * MS, 1, 0);
    assert_eq!(c.pacing_rate, 1_000_000 * 100 / 80);
    ack(&mut c, &mut cca, 5000 * MS, 60, 0);
    assert_eq!(c.pacing_rate, 1_000_000);
}

#[test]
fn golden_trace() {
    let (mut c, mut cca) = start(2_500_000, 40);
    let mut out = String::from("time  cwnd pacing Mbit/s\n");
    for n in 0..60u64 {
        let lost = if (20..30).contains(&n) { 8 } else { 0 };
        ack(&mut c, &mut cca, n * 250 * MS, 80 - lost, lost);
        writeln!(out, "{:5.2} {:4} {:6.2}", n as f64 / 4.0, c.cwnd, c.pacing_rate as f64 * 8e-6).unwrap();
    }
    insta::assert_snapshot!(out);
}
