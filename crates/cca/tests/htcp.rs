//! H-TCP against Leith and Shorten 2004 and draft-leith-tcp-htcp.

use std::fmt::Write as _;

use pipe::{MS, Pipe, SEC};
use queuewright_cca::{CaState, Clock, Conn, Control, Htcp, Kind};

mod pipe;

/// An H-TCP whose ACKs come evenly over a round trip, two packets each.
struct Clocked {
    c: Conn,
    htcp: Htcp,
    now: u64,
    rtt_ns: u64,
}

impl Clocked {
    fn new(cwnd: u32, rtt_ns: u64) -> Clocked {
        let c = Conn { cwnd, ssthresh: 2, is_cwnd_limited: true, ..Conn::default() };
        Clocked { c, htcp: Htcp::new(Clock::default(), SEC), now: SEC, rtt_ns }
    }
    fn ack(&mut self) {
        self.now += 2 * self.rtt_ns / u64::from(self.c.cwnd);
        self.htcp.pkts_acked(&mut self.c, 2, (self.rtt_ns / 1000) as u32, self.now);
        self.htcp.cong_avoid(&mut self.c, 2, self.now);
    }
    fn run_until(&mut self, t: u64) {
        while self.now < t {
            self.ack();
        }
    }
    /// A congestion event that takes no time.
    fn lose(&mut self) {
        self.c.prior_cwnd = self.c.cwnd;
        self.c.ssthresh = self.htcp.ssthresh(&mut self.c, self.now);
        self.c.cwnd = self.c.ssthresh;
        self.c.cwnd_cnt = 0;
        for state in [CaState::Recovery, CaState::Open] {
            self.htcp.set_state(&mut self.c, state, self.now);
            self.c.ca_state = state;
        }
    }
}

/// The draft's increase, packets a round trip, `t` seconds after the last congestion event.
fn alpha(t: f64, rtt_s: f64, beta: f64) -> f64 {
    let high_speed = if t <= 1.0 { 1.0 } else { 1.0 + 10.0 * (t - 1.0) + ((t - 1.0) / 2.0).powi(2) };
    // Section "RTT scaling": relative to 100 ms, between 0.5 and 10.
    let scale = (0.1 / rtt_s).clamp(0.5, 10.0);
    // Section "adaptive backoff": 2 (1 - beta) keeps the average increase at that of beta = 0.5.
    2.0 * (1.0 - beta) * (high_speed / scale).max(1.0)
}

#[test]
fn the_increase_grows_with_the_time_since_the_last_loss() {
    // Round-trip times that are whole ticks of 4 ms.
    for rtt_ms in [20u64, 40, 100, 200] {
        let mut x = Clocked::new(2000, rtt_ms * MS);
        x.lose();
        let start = x.now;
        for t in [0.5, 2.0, 3.0, 5.0, 8.0] {
            x.run_until(start + (t * 1e9) as u64);
            let want = alpha(t, rtt_ms as f64 / 1e3, x.htcp.beta());
            let got = x.htcp.alpha();
            // The factor is a whole number, and was last computed some packets ago.
            assert!((got - want).abs() <= 1.0 + 0.1 * want, "RTT {rtt_ms} ms, {t} s: {got} for {want:.2}");
        }
    }
}

#[test]
fn the_window_grows_by_alpha_a_round_trip() {
    // Large: the ACK that lets the window grow is not counted towards the next step.
    let mut x = Clocked::new(5000, 100 * MS);
    x.lose();
    // The first second: as Reno's.
    let before = x.c.cwnd;
    x.run_until(x.now + 800 * MS);
    assert!((6..=9).contains(&(x.c.cwnd - before)), "{}", x.c.cwnd - before);
    // From 3 to 4 s: alpha rises from 22 to 33.
    x.run_until(SEC + 3 * SEC);
    let before = x.c.cwnd;
    x.run_until(SEC + 4 * SEC);
    let want: f64 = (0..10).map(|n| alpha(3.05 + 0.1 * f64::from(n), 0.1, 0.5)).sum();
    let got = f64::from(x.c.cwnd - before);
    assert!((got - want).abs() < 0.12 * want, "{got} for {want:.0}");
}

/// Round-trip times between a least and a most, the same window at each loss: the backoff becomes their
/// ratio, so that the queue drains and no more.
#[test]
fn the_backoff_fits_the_queue() {
    for (least, most, want) in [(60, 80, 0.75), (60, 72, 0.8), (40, 100, 0.5), (60, 60, 0.8)] {
        let mut x = Clocked::new(400, least * MS);
        // The window stands still, so that the throughput is the same at each event.
        x.c.is_cwnd_limited = false;
        for _ in 0..6 {
            let start = x.now;
            x.rtt_ns = least * MS;
            x.run_until(start + 2 * SEC);
            // The queue builds up in steps: a jump of more than 20 ms would not be believed.
            for rtt in (least..=most).step_by(4) {
                x.rtt_ns = rtt * MS;
                x.run_until(x.now + 500 * MS);
            }
            x.lose();
            x.c.cwnd = 400;
        }
        // Linux remembers 95 % of the maximum, and in ticks of 4 ms.
        assert!((x.htcp.beta() - want).abs() <= 0.04, "{least}..{most} ms: {} for {want}", x.htcp.beta());
    }
}

#[test]
fn a_changed_throughput_resets_the_backoff() {
    let mut x = Clocked::new(400, 60 * MS);
    x.c.is_cwnd_limited = false;
    for _ in 0..3 {
        x.run_until(x.now + 2 * SEC);
        x.lose();
        x.c.cwnd = 400;
    }
    assert!(x.htcp.beta() > 0.7, "{}", x.htcp.beta());
    // More than 20 % less between two events (section "adaptive backoff").
    x.c.cwnd = 200;
    x.run_until(x.now + SEC / 2);
    x.lose();
    assert_eq!(x.htcp.beta(), 0.5);
}

#[test]
fn short_paths_back_off_by_half() {
    // Linux's clock cannot tell the queue of a path of 12 ms or less.
    let mut x = Clocked::new(400, 12 * MS);
    for _ in 0..5 {
        x.run_until(x.now + 2 * SEC);
        x.c.cwnd = 400;
        x.lose();
        assert_eq!((x.htcp.beta(), x.c.cwnd), (0.5, 200));
    }
}

#[test]
fn undo_restores_window_and_clock() {
    let mut x = Clocked::new(500, 100 * MS);
    x.lose();
    x.run_until(x.now + 4 * SEC);
    let (window, alpha) = (x.c.cwnd, x.htcp.alpha());
    assert!(alpha > 20.0);
    x.c.prior_cwnd = window;
    x.c.ssthresh = x.htcp.ssthresh(&mut x.c, x.now);
    x.htcp.set_state(&mut x.c, CaState::Recovery, x.now);
    x.c.cwnd = x.c.ssthresh;
    x.c.cwnd = x.htcp.undo_cwnd(&mut x.c);
    x.htcp.set_state(&mut x.c, CaState::Open, x.now);
    assert_eq!(x.c.cwnd, window);
    // The increase goes on where it was.
    x.run_until(x.now + 200 * MS);
    assert!(x.htcp.alpha() >= alpha, "{}", x.htcp.alpha());
}

#[test]
fn golden_trace() {
    let mut x = Clocked::new(10, 60 * MS);
    x.c.ssthresh = 200;
    let mut out = String::from("round  time cwnd ssthresh   alpha  beta\n");
    for n in 0..120 {
        writeln!(
            out,
            "{n:5} {:5.2} {:4} {:8} {:7.2} {:5.3}",
            (x.now - SEC) as f64 / 1e9,
            x.c.cwnd,
            x.c.ssthresh,
            x.htcp.alpha(),
            x.htcp.beta()
        )
        .unwrap();
        // A queue beyond 250 packets.
        x.rtt_ns = 60 * MS + u64::from(x.c.cwnd.saturating_sub(250)) * MS / 8;
        x.run_until(x.now + x.rtt_ns);
        if x.c.cwnd > 400 {
            x.lose();
        }
    }
    insta::assert_snapshot!(out);
}

#[test]
fn keeps_the_link_busy() {
    let mut p = Pipe::new(Kind::Htcp, 100_000_000, 60 * MS, 250);
    while p.step(40 * SEC) {}
    let before = p.delivered;
    while p.step(80 * SEC) {}
    let utilization = (p.delivered - before) as f64 / 40.0 / p.rate_pps();
    assert!(utilization > 0.98, "{utilization}");
}
