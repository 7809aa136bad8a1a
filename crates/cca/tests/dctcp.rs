//! DCTCP against RFC 8257 and, in its steady state, against Alizadeh et al., SIGCOMM 2010.

use std::fmt::Write as _;

use queuewright_cca::{CaState, Conn, Control, Dctcp, Event};

/// A connection whose windows are marked as told.
struct Clocked {
    c: Conn,
    dctcp: Dctcp,
}

impl Clocked {
    fn new(cwnd: u32) -> Clocked {
        let c = Conn { cwnd, ssthresh: 2, is_cwnd_limited: true, ..Conn::default() };
        Clocked { dctcp: Dctcp::new(&c), c }
    }
    /// One round trip: a window is acknowledged, two packets an ACK, the first `marked` of them with an echo;
    /// what follows is sent. As the sender does, the first echo of a window reduces it, at its end.
    fn round(&mut self, marked: u32) {
        let (window, mut left) = (self.c.cwnd, marked);
        self.c.snd_nxt = self.c.snd_una + window;
        let mut acked = 0;
        while acked < window {
            let n = 2.min(window - acked).min(if left > 0 { left } else { 2 });
            self.c.snd_una += n;
            self.c.delivered += n;
            if left > 0 {
                self.c.delivered_ce += n;
                left -= n;
            }
            self.dctcp.in_ack_event(&mut self.c, 0);
            if marked == 0 {
                self.dctcp.cong_avoid(&mut self.c, n, 0);
            }
            self.c.snd_nxt += n;
            acked += n;
        }
        if marked > 0 {
            self.c.prior_cwnd = self.c.cwnd;
            self.c.ssthresh = self.dctcp.ssthresh(&mut self.c, 0);
            self.c.cwnd = self.c.ssthresh;
        }
    }
}

/// Section 3.3 step 7 in real numbers: alpha = (1 - g) alpha + g F, g = 1/16.
fn ewma(alpha: f64, fraction: f64) -> f64 {
    alpha * (1.0 - 1.0 / 16.0) + fraction / 16.0
}

#[test]
fn alpha_averages_the_fraction_of_marks() {
    for fraction in [0.0, 0.1, 0.25, 0.5, 1.0] {
        let mut x = Clocked::new(1000);
        // It starts as if all had been marked, and the first ACK ends the first observation window.
        let mut want = ewma(1.0, if fraction > 0.0 { 1.0 } else { 0.0 });
        for n in 0..120 {
            // The window is held where it is.
            x.c.cwnd = 1000;
            x.round((fraction * 1000.0) as u32);
            want = ewma(want, fraction);
            assert!((x.dctcp.alpha() - want).abs() < 0.02, "{fraction}, {n}: {} for {want}", x.dctcp.alpha());
        }
    }
}

#[test]
fn alpha_reaches_zero() {
    let mut x = Clocked::new(100);
    for _ in 0..100 {
        x.round(0);
    }
    assert_eq!(x.dctcp.alpha(), 0.0);
    // Then a mark costs next to nothing (section 3.3: a small alpha gives a small reduction).
    let before = x.c.cwnd;
    let ssthresh = x.dctcp.ssthresh(&mut x.c, 0);
    assert_eq!(ssthresh, before);
}

#[test]
fn a_mark_costs_half_of_alpha() {
    for fraction in [0.1, 0.3, 1.0] {
        let mut x = Clocked::new(1000);
        for _ in 0..100 {
            x.c.cwnd = 1000;
            x.round((fraction * 1000.0) as u32);
        }
        x.c.cwnd = 1000;
        let want = 1000.0 * (1.0 - x.dctcp.alpha() / 2.0);
        let got = f64::from(x.dctcp.ssthresh(&mut x.c, 0));
        assert!((got - want).abs() <= 1.0, "{got} for {want}");
        assert!((x.dctcp.alpha() - fraction).abs() < 0.02);
    }
    // Never below two packets (section 3.3).
    let mut x = Clocked::new(2);
    assert_eq!(x.dctcp.ssthresh(&mut x.c, 0), 2);
}

#[test]
fn loss_halves_whatever_alpha_is() {
    // Section 3.5.
    let mut x = Clocked::new(400);
    for _ in 0..150 {
        x.round(0);
    }
    assert_eq!(x.dctcp.alpha(), 0.0);
    x.c.cwnd = 400;
    x.c.prior_cwnd = 400;
    x.c.ssthresh = x.dctcp.ssthresh(&mut x.c, 0);
    x.dctcp.set_state(&mut x.c, CaState::Recovery, 0);
    assert_eq!(x.c.ssthresh, 200);
    x.c.ca_state = CaState::Recovery;
    x.c.cwnd = 200;
    // Once an episode: the state does not change again.
    x.c.ssthresh = 150;
    x.dctcp.set_state(&mut x.c, CaState::Recovery, 0);
    assert_eq!(x.c.ssthresh, 150);
    assert_eq!(x.dctcp.undo_cwnd(&mut x.c), 400);
    // A timeout as well.
    x.c.cwnd = 300;
    x.dctcp.event(&mut x.c, Event::Loss, 0);
    assert_eq!(x.c.ssthresh, 150);
    assert_eq!(x.dctcp.undo_cwnd(&mut x.c), 300);
}

/// Alizadeh et al., section 3.3: with a step at K packets over C x RTT the window of a lone flow swings by
/// D = sqrt(2 W*) / 2 where W* = C x RTT + K, and alpha = sqrt(2 / W*).
#[test]
fn steady_state_swings_as_the_model_says() {
    let threshold = 400u32;
    let mut x = Clocked::new(200);
    let (mut least, mut most, mut alpha, mut n) = (u32::MAX, 0, 0.0, 0);
    for round in 0..3000 {
        // The window that went beyond the step is marked for the one round trip that the echo takes.
        let over = x.c.cwnd > threshold;
        x.round(if over { x.c.cwnd } else { 0 });
        if round > 1000 {
            least = least.min(x.c.cwnd);
            most = most.max(x.c.cwnd);
            alpha += x.dctcp.alpha();
            n += 1;
        }
    }
    let w = f64::from(threshold);
    let swing = (2.0 * w).sqrt() / 2.0;
    let alpha = alpha / f64::from(n);
    let want = (2.0 / w).sqrt();
    println!("{least}..{most}, alpha {alpha:.3}; model: swing {swing:.1}, alpha {want:.3}");
    assert!(f64::from(most - least) < 2.0 * swing && f64::from(most - least) > swing / 2.0);
    assert!((alpha / want - 1.0).abs() < 0.3, "{alpha} for {want}");
}

#[test]
fn golden_trace() {
    let mut x = Clocked::new(10);
    x.c.ssthresh = 100;
    let mut out = String::from("round cwnd ssthresh alpha\n");
    for n in 0..80 {
        writeln!(out, "{n:5} {:4} {:8} {:.3}", x.c.cwnd, x.c.ssthresh, x.dctcp.alpha()).unwrap();
        let marked = if (20..60).contains(&n) { x.c.cwnd.saturating_sub(80) } else { 0 };
        x.round(marked);
    }
    insta::assert_snapshot!(out);
}
