//! BIC (Xu, Harfoush and Rhee, "Binary increase congestion control (BIC) for fast long-distance
//! networks", INFOCOM 2004) in the integers of Linux's `tcp_bic.c`.
//!
//! The window searches for the one at which the last loss came: half way there each round trip (a quarter
//! of the way in Linux), in steps between `SMIN` and `SMAX`; once past it, it probes as slowly away from it.

use crate::{CaState, Clock, Conn, Control, Flavour, Info, Linux};

/// Multiplicative decrease, in 1/[`BETA_SCALE`]: 0.8 (`beta`).
const BETA: u64 = 819;
const BETA_SCALE: u64 = 1024;
/// The search goes this part of the distance each round trip (`BICTCP_B`).
const B: u32 = 4;
/// Largest step, packets a round trip: Smax (`max_increment`).
const MAX_INCREMENT: u32 = 16;
/// Up to this window Reno's rules hold, packets (`low_window`).
const LOW_WINDOW: u32 = 14;
/// Round trips for the last [`B`] packets before the maximum, and for the first after it (`smooth_part`):
/// a step of B/20 of a packet takes the place of Smin.
const SMOOTH_PART: u32 = 20;
/// Before the first loss nothing is known of the path: a packet for every 20 acknowledged at least.
const UNKNOWN_CNT: u32 = 20;
/// Fraction bits of `delayed_ack` (`ACK_RATIO_SHIFT`); its average runs over as many samples as that makes: 16.
const RATIO_SHIFT: u32 = 4;

/// BIC's state.
#[derive(Debug, Clone)]
pub struct Bic {
    /// Packets acknowledged for each packet of growth.
    cnt: u32,
    /// Window of the last loss, after fast convergence; 0: none yet.
    last_max_cwnd: u32,
    /// The window and the tick `cnt` was last computed for.
    last_cwnd: u32,
    last_time: u32,
    /// Packets an ACK acknowledges, averaged, times 16.
    delayed_ack: u32,
}

impl Default for Bic {
    fn default() -> Bic {
        Bic { cnt: 0, last_max_cwnd: 0, last_cwnd: 0, last_time: 0, delayed_ack: 2 << RATIO_SHIFT }
    }
}

impl Bic {
    /// A fresh control.
    pub fn new() -> Bic {
        Bic::default()
    }

    /// The window that the search is after, packets; 0 before the first reduction.
    pub fn w_max(&self) -> u32 {
        self.last_max_cwnd
    }

    /// `bictcp_update`: sets `cnt` for this window.
    #[inline]
    fn update(&mut self, clock: Clock, cwnd: u32, now: u32) {
        if self.last_cwnd == cwnd && now.wrapping_sub(self.last_time) as i32 <= (clock.hz() / 32) as i32 {
            return;
        }
        self.last_cwnd = cwnd;
        self.last_time = now;
        if cwnd <= LOW_WINDOW {
            self.cnt = cwnd;
            return;
        }
        let step = |packets: u32| (cwnd / packets.max(1)).max(1);
        let smooth = cwnd.saturating_mul(SMOOTH_PART) / B;
        let mut cnt = if cwnd < self.last_max_cwnd {
            match (self.last_max_cwnd - cwnd) / B {
                0 | 1 => smooth,
                dist => step(dist.min(MAX_INCREMENT)),
            }
        } else {
            match cwnd - self.last_max_cwnd {
                past if past < B => smooth,
                past if past < MAX_INCREMENT * (B - 1) => cwnd.saturating_mul(B - 1) / past,
                _ => step(MAX_INCREMENT),
            }
        };
        if self.last_max_cwnd == 0 {
            cnt = cnt.min(UNKNOWN_CNT);
        }
        // From the days when an ACK counted as one packet: with ACKs of two packets each, steps are twice as large.
        self.cnt = ((u64::from(cnt) << RATIO_SHIFT) / u64::from(self.delayed_ack.max(1))) as u32;
        self.cnt = self.cnt.max(1);
    }
}

impl Control for Bic {
    const INFO: Info = Info {
        name: "bic",
        about: "binary search for the window of the last loss",
        source: "Xu, Harfoush and Rhee, INFOCOM 2004; Linux tcp_bic.c",
        linux: Some(Linux { name: "bic", module: Some("tcp_bic") }),
        ns3: true,
        ..Info::PLAIN
    };

    fn start(_flavour: Flavour, _c: &mut Conn, _now_ns: u64) -> Self {
        Bic::new()
    }

    /// `acked` packets were newly acknowledged: slow start below `ssthresh`, the search above.
    #[inline]
    fn cong_avoid(&mut self, c: &mut Conn, acked: u32, now_ns: u64) {
        let Some(left) = c.past_slow_start(acked) else { return };
        self.update(c.clock, c.cwnd, c.clock.jiffies(now_ns));
        c.cong_avoid_ai(self.cnt, left);
    }

    /// An ACK moved the left edge by `acked` packets.
    #[inline]
    fn pkts_acked(&mut self, c: &mut Conn, acked: u32, _rtt_us: u32, _now_ns: u64) {
        if c.ca_state == CaState::Open {
            let rest = self.delayed_ack - (self.delayed_ack >> RATIO_SHIFT);
            self.delayed_ack = rest.saturating_add(acked);
        }
    }

    /// Loss or ECN echo: 0.8 of the window, or half of a small one; at least 2 packets.
    fn ssthresh(&mut self, c: &mut Conn, _now_ns: u64) -> u32 {
        let cwnd = u64::from(c.cwnd);
        // Fast convergence: a window that did not get back to the maximum gives way to newer flows.
        self.last_max_cwnd = if c.cwnd < self.last_max_cwnd {
            (cwnd * (BETA_SCALE + BETA) / (2 * BETA_SCALE)) as u32
        } else {
            c.cwnd
        };
        let window = if c.cwnd <= LOW_WINDOW { cwnd / 2 } else { cwnd * BETA / BETA_SCALE };
        (window as u32).max(2)
    }

    /// After a timeout all that was learned of the path is forgotten.
    fn set_state(&mut self, _c: &mut Conn, new: CaState, _now_ns: u64) {
        if new == CaState::Loss {
            *self = Bic::new();
        }
    }
}
