//! BIC against Xu, Harfoush and Rhee 2004 with Linux's parameters.

use std::fmt::Write as _;

use pipe::{MS, Pipe, SEC};
use queuewright_cca::{Bic, CaState, Conn, Control, Kind};

mod pipe;

/// A BIC whose ACKs come evenly over a round trip, `per_ack` packets each.
struct Clocked {
    c: Conn,
    bic: Bic,
    now: u64,
    rtt_ns: u64,
    per_ack: u32,
}

impl Clocked {
    fn new(cwnd: u32, per_ack: u32) -> Clocked {
        let c = Conn { cwnd, ssthresh: 2, is_cwnd_limited: true, ..Conn::default() };
        let mut x = Clocked { c, bic: Bic::new(), now: SEC, rtt_ns: 50 * MS, per_ack };
        // Until the average knows how many packets an ACK acknowledges.
        for _ in 0..400 {
            x.bic.pkts_acked(&mut x.c, per_ack, 0, x.now);
        }
        x
    }
    fn lose(&mut self) {
        self.c.prior_cwnd = self.c.cwnd;
        self.c.ssthresh = self.bic.ssthresh(&mut self.c, 0);
        self.c.cwnd = self.c.ssthresh;
        self.c.cwnd_cnt = 0;
    }
    fn round(&mut self) {
        let (window, mut acked) = (self.c.cwnd, 0);
        while acked < window {
            self.now += self.rtt_ns * u64::from(self.per_ack) / u64::from(window);
            self.bic.pkts_acked(&mut self.c, self.per_ack, 0, 0);
            self.bic.cong_avoid(&mut self.c, self.per_ack, self.now);
            acked += self.per_ack;
        }
    }
}

/// The growth of one round trip by the paper's rule (section III), with Linux's quarter of the distance:
/// additive increase, binary search, then max probing as the mirror image of the search. All of it times
/// two: Linux counts packets, and corrects for ACKs of two packets on top.
fn step(w: f64, w_max: f64) -> f64 {
    2.0 * if w < w_max {
        let dist = ((w_max - w) / 4.0).floor();
        // Linux spends 20 round trips on the last B packets, where the paper adds Smin.
        if dist <= 1.0 { 4.0 / 20.0 } else { dist.min(16.0) }
    } else {
        let past = w - w_max;
        if past < 4.0 {
            4.0 / 20.0
        } else if past < 48.0 {
            past / 3.0
        } else {
            16.0
        }
    }
}

#[test]
fn follows_the_binary_search_and_probes_beyond() {
    for w_max in [400u32, 1000, 5000] {
        let mut x = Clocked::new(w_max, 2);
        x.lose();
        assert_eq!((x.c.cwnd, x.bic.w_max()), (w_max * 819 / 1024, w_max));
        let mut w = f64::from(x.c.cwnd);
        let mut round = 0;
        while x.c.cwnd < w_max + 200 {
            x.round();
            w += step(w, f64::from(w_max));
            round += 1;
            // Counting whole packets, a phase may end some round trips off: compare by the distance still
            // to go, with the slack of one step.
            let off = (f64::from(x.c.cwnd) - w).abs();
            assert!(off <= 40.0, "Wmax {w_max}, round trip {round}: {} for {w:.1}", x.c.cwnd);
            assert!(round < 500);
        }
    }
}

#[test]
fn steps_are_bounded_by_smax_times_the_packets_of_an_ack() {
    // The average starts at 2, and rounding never lets it fall below 31/16.
    for (per_ack, most) in [(1, 31), (2, 32), (4, 64)] {
        let mut x = Clocked::new(4000, per_ack);
        x.lose();
        let before = x.c.cwnd;
        for _ in 0..5 {
            x.round();
        }
        let step = (x.c.cwnd - before) / 5;
        assert!(step.abs_diff(most) <= most / 8, "{per_ack} packets an ACK: {step}");
    }
}

#[test]
fn fast_convergence_gives_way() {
    let mut x = Clocked::new(1000, 1);
    x.lose();
    assert_eq!(x.bic.w_max(), 1000);
    // A loss below the maximum: the next maximum is half way between the window and what is left of it.
    x.lose();
    let w = 1000 * 819 / 1024;
    assert_eq!(x.bic.w_max(), w * (1024 + 819) / 2048);
    assert_eq!(x.c.cwnd, w * 819 / 1024);
    assert_eq!(x.bic.undo_cwnd(&mut x.c), w);
}

#[test]
fn a_small_window_is_renos() {
    let mut x = Clocked::new(14, 1);
    x.lose();
    assert_eq!(x.c.cwnd, 7);
    for n in 1..=6 {
        x.round();
        assert!(x.c.cwnd.abs_diff(7 + n) <= 1, "{}", x.c.cwnd);
    }
    x.c.cwnd = 3;
    x.lose();
    assert_eq!(x.c.cwnd, 2);
}

#[test]
fn a_timeout_forgets_the_maximum() {
    let mut x = Clocked::new(1000, 1);
    x.lose();
    x.bic.set_state(&mut x.c, CaState::Recovery, 0);
    assert_eq!(x.bic.w_max(), 1000);
    x.bic.set_state(&mut x.c, CaState::Loss, 0);
    assert_eq!(x.bic.w_max(), 0);
}

#[test]
fn golden_trace() {
    let mut x = Clocked::new(10, 2);
    x.c.ssthresh = 200;
    let mut out = String::from("round cwnd ssthresh wmax\n");
    for n in 0..100 {
        writeln!(out, "{n:5} {:4} {:8} {:4}", x.c.cwnd, x.c.ssthresh, x.bic.w_max()).unwrap();
        x.round();
        if [12, 60, 62].contains(&n) {
            x.lose();
        }
    }
    insta::assert_snapshot!(out);
}

#[test]
fn keeps_the_link_busy() {
    let mut p = Pipe::new(Kind::Bic, 100_000_000, 60 * MS, 250);
    while p.step(40 * SEC) {}
    let before = p.delivered;
    while p.step(80 * SEC) {}
    let utilization = (p.delivered - before) as f64 / 40.0 / p.rate_pps();
    assert!(utilization > 0.98, "{utilization}");
}

/// `bictcp_update`: for the same window the step is reckoned anew after HZ/32 ticks, which are seven, and not before: 28 ms of 4 ms each.
#[test]
fn the_same_window_keeps_its_step_for_seven_ticks() {
    for (ticks, grows) in [(1, true), (7, true), (8, false), (20, false)] {
        let mut x = Clocked::new(1000, 2);
        // Nothing is known of the path: a packet for every 20 acknowledged, and twice that for ACKs of two. It leaves no credit.
        x.bic.cong_avoid(&mut x.c, 10, x.now);
        assert_eq!((x.c.cwnd, x.c.cwnd_cnt), (1001, 0));
        x.bic.cong_avoid(&mut x.c, 1, x.now);
        // Now the window is that of the last loss: there 2,500 make a packet.
        x.lose();
        (x.c.cwnd, x.c.cwnd_cnt) = (1001, 0);
        x.bic.cong_avoid(&mut x.c, 10, x.now + ticks * 4 * MS);
        assert_eq!(x.c.cwnd > 1001, grows, "after {ticks} ticks");
    }
}
