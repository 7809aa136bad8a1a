//! CUBIC against RFC 9438's closed forms, HyStart in a closed loop.

use std::fmt::Write as _;

use pipe::{MS, Pipe, SEC};
use queuewright_cca::{CaState, Cca, Conn, Control, Cubic, Event, Flavour, Kind};

mod pipe;

/// A CUBIC whose ACKs come evenly over a fixed round-trip time, two packets each.
struct Clocked {
    c: Conn,
    cubic: Cubic,
    now: u64,
    rtt_ns: u64,
}

impl Clocked {
    fn new(flavour: Flavour, cwnd: u32, rtt_ns: u64) -> Clocked {
        let c = Conn { cwnd, is_cwnd_limited: true, ..Conn::default() };
        Clocked { cubic: Cubic::new(flavour, &c, SEC), c, now: SEC, rtt_ns }
    }
    fn lose(&mut self) {
        self.c.prior_cwnd = self.c.cwnd;
        self.c.ssthresh = self.cubic.ssthresh(&mut self.c, self.now);
        self.c.cwnd = self.c.ssthresh;
        self.c.cwnd_cnt = 0;
    }
    fn ack(&mut self) {
        self.now += 2 * self.rtt_ns / u64::from(self.c.cwnd);
        self.cubic.pkts_acked(&mut self.c, 2, (self.rtt_ns / 1000) as u32, self.now);
        self.cubic.cong_avoid(&mut self.c, 2, self.now);
    }
    fn run_until(&mut self, t: u64) {
        while self.now < t {
            self.ack();
        }
    }
}

/// RFC 9438 figure 1, seconds and packets.
fn w_cubic(t: f64, w_max: f64, cwnd_epoch: f64) -> f64 {
    let k = ((w_max - cwnd_epoch) / 0.4).cbrt();
    0.4 * (t - k).powi(3) + w_max
}

#[test]
fn window_after_a_loss_follows_the_curve() {
    for (w_max, rtt_ms) in [(1000u32, 100), (1000, 20), (300, 50), (5000, 80)] {
        let mut x = Clocked::new(Flavour::LINUX, w_max, rtt_ms * MS);
        // A round-trip sample first: the curve is aimed at a round trip ahead.
        x.ack();
        x.c.cwnd = w_max;
        x.lose();
        let (start, epoch) = (x.now, f64::from(x.c.cwnd));
        assert_eq!(x.c.cwnd, w_max * 717 / 1024);
        for tenths in (5..=200).step_by(5) {
            x.run_until(start + tenths * SEC / 10);
            let t = tenths as f64 / 10.0;
            let want = w_cubic(t, f64::from(w_max), epoch);
            // Section 4.3: where Reno's line is higher, it rules.
            let reno = epoch + 8.0 / 15.0 * t / (rtt_ms as f64 / 1000.0);
            let want = want.max(reno);
            let error = (f64::from(x.c.cwnd) - want).abs();
            assert!(
                error <= 1.0f64.max(0.02 * want),
                "Wmax {w_max}, RTT {rtt_ms} ms, {t} s: {} for {want:.1}",
                x.c.cwnd
            );
        }
    }
}

#[test]
fn reno_friendly_region_grows_as_reno_with_this_decrease_would() {
    // 10 ms round trips and a small window: the curve is slower than Reno for K and more.
    let mut x = Clocked::new(Flavour::LINUX, 40, 10 * MS);
    x.lose();
    let (start, from) = (x.now, x.c.cwnd);
    x.run_until(start + 2 * SEC);
    let slope = f64::from(x.c.cwnd - from) / 200.0;
    let alpha = 3.0 * (1.0 - 0.7) / (1.0 + 0.7); // RFC 9438 section 4.3
    assert!((slope / alpha - 1.0).abs() < 0.05, "{slope} packets a round trip for {alpha}");

    let mut plain = Clocked::new(Flavour::NS3, 40, 10 * MS);
    plain.lose();
    plain.run_until(plain.now + 2 * SEC);
    assert!(plain.c.cwnd <= 41, "without the region: {}", plain.c.cwnd);
}

#[test]
fn growth_is_at_most_half_a_packet_per_packet() {
    let mut x = Clocked::new(Flavour::LINUX, 1000, 200 * MS);
    x.lose();
    x.run_until(x.now + 40 * SEC);
    while x.c.cwnd < 100_000 {
        let (before, start) = (x.c.cwnd, x.now);
        x.run_until(start + x.rtt_ns);
        assert!(f64::from(x.c.cwnd) < 1.7 * f64::from(before), "{before} to {}", x.c.cwnd);
    }
}

#[test]
fn fast_convergence_gives_way() {
    let mut x = Clocked::new(Flavour::LINUX, 1000, 100 * MS);
    x.lose();
    assert_eq!(x.cubic.w_max(), 1000);
    x.c.cwnd = 900; // short of Wmax: newcomers took the rest
    x.lose();
    assert_eq!(x.cubic.w_max(), 900 * (1024 + 717) / 2048);
    x.c.cwnd = 900; // beyond it: no reason to
    x.lose();
    assert_eq!(x.cubic.w_max(), 900);
}

#[test]
fn before_the_first_loss_growth_is_a_twentieth_a_round_at_least() {
    let mut x = Clocked::new(Flavour::LINUX, 100, 100 * MS);
    x.c.ssthresh = 100;
    x.run_until(x.now + x.rtt_ns);
    assert!((104..=106).contains(&x.c.cwnd), "{}", x.c.cwnd);
}

#[test]
fn idle_time_does_not_count_on_the_curve() {
    let mut busy = Clocked::new(Flavour::LINUX, 1000, 100 * MS);
    busy.lose();
    busy.run_until(busy.now + 3 * SEC);
    let mut idle = Clocked { c: busy.c.clone(), cubic: busy.cubic.clone(), ..busy };
    idle.now += 20 * SEC;
    idle.cubic.event(&mut idle.c, Event::TxStart { last_send_ns: Some(busy.now) }, idle.now);
    busy.run_until(busy.now + 2 * SEC);
    idle.run_until(idle.now + 2 * SEC);
    assert!(idle.c.cwnd.abs_diff(busy.c.cwnd) <= 2, "{} for {}", idle.c.cwnd, busy.c.cwnd);
}

#[test]
fn timeout_forgets_and_undo_restores() {
    let mut x = Clocked::new(Flavour::LINUX, 1000, 100 * MS);
    x.lose();
    assert_eq!(x.cubic.undo_cwnd(&mut x.c), 1000);
    x.cubic.set_state(&mut x.c, CaState::Loss, x.now);
    assert_eq!(x.cubic.w_max(), 0);
    x.c.cwnd = 2;
    assert_eq!(x.cubic.ssthresh(&mut x.c, x.now), 2);
}

/// Slow start over a deep queue; the window it ended at, in BDP.
fn slow_start_exit(mbit: u64, rtt_ms: u64, pacing: bool) -> f64 {
    let mut p = Pipe::new(Kind::Cubic, mbit * 1_000_000, rtt_ms * MS, u64::MAX);
    p.c.pacing = pacing;
    while p.c.in_slow_start() {
        if pacing {
            // Linux: twice the window a round trip in slow start.
            p.c.pacing_rate = 2 * u64::from(p.c.mss * p.c.cwnd) * 8_000_000 / u64::from(p.c.srtt_us);
        }
        assert!(p.step(20 * SEC), "{mbit} Mbit/s, {rtt_ms} ms: never left slow start");
    }
    f64::from(p.c.cwnd) / p.bdp()
}

#[test]
fn hystart_ends_slow_start_before_two_bdp() {
    for (mbit, rtt_ms) in [(10, 40), (100, 20), (100, 40), (100, 100), (1000, 20)] {
        let of_bdp = slow_start_exit(mbit, rtt_ms, false);
        assert!((0.3..2.0).contains(&of_bdp), "{mbit} Mbit/s, {rtt_ms} ms: left at {of_bdp:.2} BDP");
    }
}

#[test]
fn hystart_ends_paced_slow_start_a_round_later() {
    // The train must last a whole round trip, and a round starts on an empty queue
    // until the window is past the BDP.
    for (mbit, rtt_ms) in [(10, 40), (100, 20), (100, 40), (100, 100), (1000, 20)] {
        let of_bdp = slow_start_exit(mbit, rtt_ms, true);
        assert!((0.9..3.2).contains(&of_bdp), "{mbit} Mbit/s, {rtt_ms} ms: left at {of_bdp:.2} BDP");
    }
}

#[test]
fn hystart_sees_a_risen_round_trip_time() {
    // An eighth of the smallest, within 4 and 16 ms.
    for (base_us, rise_us) in [(20_000, 4_000), (80_000, 10_000), (400_000, 16_000)] {
        let mut x = Clocked::new(Flavour::LINUX, 32, u64::from(base_us) * 1000);
        // ACKs too far apart for a train.
        let ack = |x: &mut Clocked, rtt_us, new_round| {
            x.now += 5 * MS;
            x.c.snd_una += 1;
            if new_round {
                x.c.snd_nxt = x.c.snd_una + 100;
            }
            x.cubic.pkts_acked(&mut x.c, 1, rtt_us, x.now);
        };
        ack(&mut x, base_us, true);
        for _ in 0..20 {
            ack(&mut x, base_us + 2 * rise_us, false);
        }
        assert!(x.c.in_slow_start(), "the minimum of the round is still low");
        x.c.snd_una = x.c.snd_nxt;
        for n in 0..20 {
            ack(&mut x, base_us + rise_us, n == 0);
        }
        assert!(x.c.in_slow_start(), "no more than allowed");
        x.c.snd_una = x.c.snd_nxt;
        for n in 0..9 {
            assert!(x.c.in_slow_start(), "sample {n}");
            ack(&mut x, base_us + rise_us + 1, n == 0);
        }
        assert_eq!(x.c.ssthresh, 32);
    }
}

#[test]
fn golden_trace() {
    let mut x = Clocked::new(Flavour::LINUX, 10, 50 * MS);
    x.c.ssthresh = 200;
    let mut out = String::from("time_s cwnd ssthresh wmax\n");
    for half in 0..60 {
        x.run_until(SEC + half * SEC / 2);
        let t = half as f64 / 2.0;
        writeln!(out, "{t:6.1} {:4} {:8} {:4}", x.c.cwnd, x.c.ssthresh, x.cubic.w_max()).unwrap();
        if [5, 25, 30].contains(&half) {
            x.lose();
        }
    }
    insta::assert_snapshot!(out);
}

#[test]
fn golden_trace_over_a_tail_drop_queue() {
    let mut p = Pipe::new(Kind::Cubic, 20_000_000, 40 * MS, 67);
    let mut out = String::from("time_s cwnd ssthresh queue losses\n");
    for half in 1..=60 {
        while p.step(SEC + half * SEC / 2) {}
        let (t, ssthresh) = (half as f64 / 2.0, p.c.ssthresh);
        writeln!(out, "{t:6.1} {:4} {ssthresh:8} {:5} {:6}", p.c.cwnd, p.queue(), p.losses).unwrap();
    }
    assert!(matches!(p.cca, Cca::Cubic(_)));
    insta::assert_snapshot!(out);
}

/// RFC 9438 section 4.3, `bictcp_update`: Reno's window with CUBIC's decrease grows by 3 x 0.3 / 1.7 packets for each window acknowledged, by 5
/// for 1,000 packets at a window of 100. It is five ahead then, and the curve stands still: a packet for every 100 / 5.
#[test]
fn reno_ahead_by_several_packets_is_caught_up_with() {
    let mut x = Clocked::new(Flavour::LINUX, 100, 20 * MS);
    x.lose();
    (x.c.cwnd, x.c.cwnd_cnt) = (100, 0);
    x.cubic.cong_avoid(&mut x.c, 1000, x.now);
    assert_eq!((1000.0 / 100.0 * 0.9 / 1.7) as u32, 5);
    assert_eq!(x.c.cwnd, 100 + 1000 / (100 / 5));
}
