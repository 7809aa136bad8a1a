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

/// tcp_htcp.c beside ours, in ticks of 4 ms: what is kept of the throughput (`measure_achieved_throughput`), both factors, what a
/// spurious event takes back, and what each of them makes of the window.
#[derive(Default)]
struct Kernel {
    alpha: u64,
    beta: u64,
    by_ratio: bool,
    acked: u64,
    count: u64,
    least: u64,
    most: u64,
    event: u64,
    before: Option<(u64, u64, u64)>,
    rate: u64,
    best: u64,
    last_best: u64,
    since: u64,
    cwnd: u64,
    credit: u64,
}

impl Kernel {
    fn new(now: u64, cwnd: u64) -> Kernel {
        Kernel { alpha: 128, beta: 64, acked: 1, event: now, cwnd, ..Kernel::default() }
    }
    fn sample(&mut self, state: CaState, acked: u64, rtt_us: u64, now: u64) {
        let open = state == CaState::Open;
        if open {
            self.acked = acked;
        }
        if rtt_us > 0 {
            let rtt = rtt_us.div_ceil(4_000);
            self.least = if self.least == 0 { rtt } else { self.least.min(rtt) };
            if open {
                self.most = self.most.max(self.least);
                // 20 ms are five ticks.
                if (self.most + 1..=self.most + 5).contains(&rtt) {
                    self.most = rtt;
                }
            }
        }
        if !(open || state == CaState::Disorder) {
            (self.count, self.since) = (0, now);
            return;
        }
        self.count += acked;
        let step = (self.alpha / 128).max(1);
        // Unsigned in the kernel: a step beyond the window makes it endless.
        if step > self.cwnd
            || self.count < self.cwnd - step
            || self.least == 0
            || now - self.since < self.least
        {
            return;
        }
        let rate = self.count * 250 / (now - self.since);
        if (now - self.event) / self.least <= 3 {
            (self.rate, self.best) = (rate, rate);
        } else {
            self.rate = (3 * self.rate + rate) / 4;
            self.best = self.best.max(self.rate);
        }
        (self.count, self.since) = (0, now);
    }
    fn set_alpha(&mut self, now: u64) {
        let late = (now - self.event).saturating_sub(250);
        let mut factor = if late > 0 { 1 + (10 * late + (late / 2) * (late / 2) / 250) / 250 } else { 1 };
        if self.least > 0 {
            let scale = (2_000 / (10 * self.least)).clamp(4, 80);
            factor = (factor * 8 / scale).max(1);
        }
        self.alpha = 2 * factor * (128 - self.beta);
    }
    fn avoid(&mut self, now: u64) {
        if self.credit * self.alpha / 128 >= self.cwnd {
            self.cwnd += 1;
            self.credit = 0;
            self.set_alpha(now);
        } else {
            self.credit += self.acked;
        }
        self.acked = 1;
    }
    fn threshold(&mut self, now: u64) -> u64 {
        let steady = (4 * self.last_best..=6 * self.last_best).contains(&(5 * self.best));
        self.last_best = self.best;
        // 10 ms are three ticks.
        self.beta = match steady && self.by_ratio && self.least > 3 && self.most > 0 {
            true => (self.least * 128 / self.most).clamp(64, 102),
            false => 64,
        };
        self.by_ratio = steady;
        self.set_alpha(now);
        if self.most > self.least {
            self.most = self.least + (self.most - self.least) * 95 / 100;
        }
        (self.cwnd * self.beta / 128).max(2)
    }
    fn state(&mut self, new: CaState, now: u64) {
        match new {
            CaState::Open if self.before.take().is_some() => self.event = now,
            CaState::Open | CaState::Disorder => {}
            _ => {
                self.before = Some((self.event, self.most, self.last_best));
                self.event = now;
            }
        }
    }
    fn undo(&mut self) {
        if let Some(before) = self.before.take() {
            (self.event, self.most, self.last_best) = before;
        }
    }
}

/// Lives without order: whatever happens, window and factors are the kernel's.
#[test]
fn every_step_is_the_kernels() {
    for seed in 1..=60u64 {
        let mut state = seed;
        let mut below = |end: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % end
        };
        let mut now = 500 + below(1_000);
        let cwnd = 2 + below(300) as u32;
        let mut c = Conn { cwnd, ssthresh: 2, is_cwnd_limited: true, ..Conn::default() };
        let mut ours = Htcp::new(Clock::default(), now * 4 * MS);
        let mut kernel = Kernel::new(now, cwnd.into());
        let base_us = 1 + below(120_000);
        let most_us = 1 + below(60_000);
        for n in 0..4_000 {
            let most = if below(200) == 0 { 700 } else { 5 };
            now += below(most);
            let ns = now * 4 * MS;
            match below(600) {
                0..2 => {
                    c.prior_cwnd = c.cwnd;
                    c.ssthresh = ours.ssthresh(&mut c, ns);
                    assert_eq!(u64::from(c.ssthresh), kernel.threshold(now), "seed {seed}, step {n}");
                    let new = [CaState::Cwr, CaState::Recovery, CaState::Loss][below(3) as usize];
                    ours.set_state(&mut c, new, ns);
                    kernel.state(new, now);
                    (c.ca_state, c.cwnd) = (new, c.ssthresh);
                    kernel.cwnd = c.ssthresh.into();
                }
                2..5 if c.ca_state > CaState::Disorder => {
                    c.cwnd = ours.undo_cwnd(&mut c);
                    kernel.undo();
                    kernel.cwnd = c.cwnd.into();
                }
                5..20 => {
                    let new = if c.ca_state == CaState::Open { CaState::Disorder } else { CaState::Open };
                    ours.set_state(&mut c, new, ns);
                    kernel.state(new, now);
                    c.ca_state = new;
                }
                _ => {
                    let acked = 1 + below(4);
                    let rtt_us = if below(10) == 0 { 0 } else { base_us + below(most_us) };
                    // Until then there was no sample at all.
                    let rtt_us = if n < 100 && seed % 2 == 0 { 0 } else { rtt_us };
                    ours.pkts_acked(&mut c, acked as u32, rtt_us as u32, ns);
                    kernel.sample(c.ca_state, acked, rtt_us, now);
                    ours.cong_avoid(&mut c, acked as u32, ns);
                    kernel.avoid(now);
                }
            }
            let got = (ours.alpha() * 128.0, ours.beta() * 128.0, u64::from(c.cwnd));
            let want = (kernel.alpha as f64, kernel.beta as f64, kernel.cwnd);
            assert_eq!(got, want, "seed {seed}, step {n}");
        }
    }
}
