//! TCP Illinois (Liu, Basar and Srikant, Performance Evaluation 65, 2008) in the integers of Linux's
//! `tcp_illinois.c`.
//!
//! Loss decides whether the window grows or shrinks, the sojourn time by how much: with the average delay `da`
//! and the largest ever seen `dm`, the increase falls from 10 packets a round trip to 0.3, and the decrease
//! rises from 1/8 to 1/2 (the paper's f1 and f2).

use crate::{CaState, Conn, Control, Flavour, Info, Linux, NewReno, after};

/// The increase counts 1/128 packets a round trip.
const ALPHA_SHIFT: u32 = 7;
const ALPHA_BASE: u32 = 1 << ALPHA_SHIFT;
const ALPHA_MIN: u32 = 3 * ALPHA_BASE / 10;
const ALPHA_MAX: u32 = 10 * ALPHA_BASE;
/// The decrease counts 1/64 of the window.
const BETA_SHIFT: u32 = 6;
const BETA_MIN: u32 = (1 << BETA_SHIFT) / 8;
const BETA_MAX: u32 = (1 << BETA_SHIFT) / 2;
/// Longer round-trip times count as this (3.3 s), so that `alpha` stays within 32 bits, microseconds.
const RTT_MAX: u32 = u32::MAX / ALPHA_MAX;
/// Smaller windows grow and shrink as Reno's, packets.
const WINDOW_THRESHOLD: u32 = 15;
/// Round trips of low delay before the largest increase returns.
const THETA: u8 = 5;

/// Illinois' state.
#[derive(Debug, Clone, Copy)]
pub struct Illinois {
    /// Sum (microseconds) and number, modulo 2^16, of this round's round-trip samples.
    sum_rtt: u64,
    samples: u16,
    /// Smallest and largest round-trip time of the connection, microseconds.
    base_rtt: u32,
    max_rtt: u32,
    /// The round ends when an ACK passes this segment.
    round_end: u32,
    /// Increase, 1/128 packets a round trip.
    alpha: u32,
    /// Decrease, 1/64 of the window.
    beta: u32,
    /// Packets that the present ACK acknowledged (modulo 2^16) and that do not yet count for growth.
    acked: u16,
    /// The delay was above the low zone since `alpha` was last at its largest.
    above: bool,
    /// Round trips back in the low zone.
    low_rounds: u8,
}

impl Illinois {
    /// A fresh control.
    pub fn new(c: &Conn) -> Illinois {
        Illinois {
            sum_rtt: 0,
            samples: 0,
            base_rtt: 0x7fff_ffff,
            max_rtt: 0,
            round_end: c.snd_nxt,
            alpha: ALPHA_MAX,
            beta: BETA_MAX,
            acked: 0,
            above: false,
            low_rounds: 0,
        }
    }

    /// The increase (packets a round trip) and the decrease (part of the window) in force.
    pub fn alpha_beta(&self) -> (f64, f64) {
        (f64::from(self.alpha) / f64::from(ALPHA_BASE), f64::from(self.beta) / f64::from(1u32 << BETA_SHIFT))
    }

    /// Once a round trip: increase and decrease from the delay of the one that ended.
    fn update(&mut self, c: &Conn) {
        if c.cwnd < WINDOW_THRESHOLD {
            self.alpha = ALPHA_BASE;
            self.beta = BETA_MAX;
        } else if self.samples > 0 {
            let most = self.max_rtt - self.base_rtt;
            let average = ((self.sum_rtt / u64::from(self.samples)) as u32).wrapping_sub(self.base_rtt);
            self.alpha = self.increase(average, most);
            self.beta = decrease(average, most);
        }
        self.begin_round(c);
    }

    fn begin_round(&mut self, c: &Conn) {
        self.round_end = c.snd_nxt;
        self.samples = 0;
        self.sum_rtt = 0;
    }

    /// f1(da), in 1/128 packets.
    fn increase(&mut self, da: u32, dm: u32) -> u32 {
        let d1 = dm / 100;
        if da <= d1 {
            if self.above {
                // One good round trip may be luck.
                self.low_rounds += 1;
                if self.low_rounds < THETA {
                    return self.alpha;
                }
                self.low_rounds = 0;
                self.above = false;
            }
            return ALPHA_MAX;
        }
        self.above = true;
        // alpha = k1 / (k2 + da) through (d1, max) and (dm, min).
        let (dm, da) = (dm - d1, da - d1);
        dm.wrapping_mul(ALPHA_MAX)
            / dm.wrapping_add(da.wrapping_mul(ALPHA_MAX - ALPHA_MIN) / ALPHA_MIN).max(1)
    }
}

impl Control for Illinois {
    const INFO: Info = Info {
        name: "illinois",
        about: "increase of 10 to 0.3 packets, decrease of 1/8 to 1/2, by the sojourn time",
        source: "Liu, Basar and Srikant, Perform. Eval. 65, 2008; Linux tcp_illinois.c",
        linux: Some(Linux { name: "illinois", module: Some("tcp_illinois") }),
        ns3: true,
        ..Info::PLAIN
    };

    fn start(_flavour: Flavour, c: &mut Conn, _now_ns: u64) -> Self {
        Illinois::new(c)
    }

    /// `acked` packets were newly delivered.
    #[inline]
    fn cong_avoid(&mut self, c: &mut Conn, acked: u32, _now_ns: u64) {
        if after(c.snd_una, self.round_end) {
            self.update(c);
        }
        if !c.cwnd_limited() {
            return;
        }
        if c.in_slow_start() {
            // What slow start does not need is not carried over.
            c.slow_start(acked);
            return;
        }
        c.cwnd_cnt = c.cwnd_cnt.wrapping_add(u32::from(self.acked));
        // Growth again before another ACK is worked in counts for one packet.
        self.acked = 1;
        let delta = c.cwnd_cnt.wrapping_mul(self.alpha) >> ALPHA_SHIFT;
        if delta >= c.cwnd {
            c.cwnd += delta / c.cwnd;
            c.cwnd_cnt = 0;
        }
    }

    /// An ACK acknowledged `acked` packets; `rtt_us` is its round-trip sample in microseconds, 0: none.
    #[inline]
    fn pkts_acked(&mut self, _c: &mut Conn, acked: u32, rtt_us: u32, _now_ns: u64) {
        self.acked = acked as u16;
        if rtt_us == 0 {
            return;
        }
        let rtt = rtt_us.min(RTT_MAX);
        self.base_rtt = self.base_rtt.min(rtt);
        self.max_rtt = self.max_rtt.max(rtt);
        self.samples = self.samples.wrapping_add(1);
        self.sum_rtt += u64::from(rtt);
    }

    /// Loss or ECN echo: 1/8 to 1/2 off the window, at least 2 packets stay.
    fn ssthresh(&mut self, c: &mut Conn, _now_ns: u64) -> u32 {
        (c.cwnd - (c.cwnd.wrapping_mul(self.beta) >> BETA_SHIFT)).max(2)
    }

    /// The window before the spurious reduction.
    fn undo_cwnd(&mut self, c: &mut Conn) -> u32 {
        NewReno::new().undo_cwnd(c)
    }

    /// After a timeout it is Reno until a round trip has told more.
    fn set_state(&mut self, c: &mut Conn, new: CaState, _now_ns: u64) {
        if new == CaState::Loss {
            self.alpha = ALPHA_BASE;
            self.beta = BETA_MAX;
            self.low_rounds = 0;
            self.above = false;
            self.begin_round(c);
        }
    }
}

/// f2(da), in 1/64 of the window.
fn decrease(da: u32, dm: u32) -> u32 {
    let (d2, d3) = (dm / 10, 8 * dm / 10);
    if da <= d2 {
        BETA_MIN
    } else if da >= d3 || d3 <= d2 {
        BETA_MAX
    } else {
        // The straight line between.
        (BETA_MIN * d3 + (BETA_MAX - BETA_MIN) * da - BETA_MAX * d2) / (d3 - d2)
    }
}
