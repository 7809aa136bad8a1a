//! TCP Vegas (Brakmo and Peterson, IEEE JSAC 13(8), 1995) in the integers of Linux's `tcp_vegas.c`.
//!
//! Once a round trip Vegas compares the rate it would have on an empty path, cwnd / BaseRTT, with the one it
//! has, cwnd / RTT. Their difference says what of its window waits in queues, `diff` packets, and Vegas keeps
//! that between [`ALPHA`] and [`BETA`]. The paper multiplies the difference by BaseRTT, Linux by RTT:
//! the same on a path with little queueing, and a few packets less in the queue with much.

use crate::{CaState, Conn, Control, Event, Flavour, Info, Linux, NewReno, after};

/// Fewer packets than this in queues: faster.
const ALPHA: u32 = 2;
/// More than this: slower.
const BETA: u32 = 4;
/// More than this ends slow start.
const GAMMA: u32 = 1;
/// With so few round-trip samples in a round, all of them may be of delayed ACKs.
const TOO_FEW_SAMPLES: u32 = 2;
/// No round-trip time yet, microseconds.
const NO_RTT: u32 = 0x7fff_ffff;

/// Vegas' state: what it knows of round-trip times, which YeAH shares.
#[derive(Debug, Clone, Copy)]
pub struct Vegas {
    /// The round ends when an ACK passes this segment.
    round_end: u32,
    /// Round-trip samples of this round.
    samples: u32,
    /// Smallest round-trip time of this round, microseconds.
    min_rtt: u32,
    /// Smallest round-trip time since the connection was last idle (BaseRTT), microseconds.
    base_rtt: u32,
    /// Off while the connection has a problem: it then grows as Reno.
    on: bool,
}

impl Vegas {
    /// A fresh control.
    pub fn new(c: &Conn) -> Vegas {
        Vegas { round_end: c.snd_nxt, samples: 0, min_rtt: NO_RTT, base_rtt: NO_RTT, on: true }
    }

    /// BaseRTT, microseconds; none before the first sample.
    pub fn base_rtt_us(&self) -> Option<u32> {
        (self.base_rtt < NO_RTT).then_some(self.base_rtt)
    }

    /// Has all that was sent when the round began been acknowledged, and more?
    #[inline]
    pub(crate) fn round_over(&self, c: &Conn) -> bool {
        after(c.snd_una, self.round_end)
    }

    /// BaseRTT and the smallest round-trip time of this round, if there were samples enough.
    #[inline]
    pub(crate) fn rtts(&self) -> Option<(u32, u32)> {
        (self.samples > TOO_FEW_SAMPLES).then_some((self.base_rtt, self.min_rtt))
    }

    /// The next round trip begins.
    #[inline]
    pub(crate) fn begin_round(&mut self, c: &Conn) {
        self.round_end = c.snd_nxt;
        self.samples = 0;
        self.min_rtt = NO_RTT;
    }
}

impl Control for Vegas {
    const INFO: Info = Info {
        name: "vegas",
        about: "keeps 2 to 4 packets of its own in queues, by delay",
        source: "Brakmo and Peterson, IEEE JSAC 13(8), 1995; Linux tcp_vegas.c",
        linux: Some(Linux { name: "vegas", module: Some("tcp_vegas") }),
        ns3: true,
        ..Info::PLAIN
    };

    fn start(_flavour: Flavour, c: &mut Conn, _now_ns: u64) -> Self {
        Vegas::new(c)
    }

    /// `acked` packets were newly delivered.
    #[inline]
    fn cong_avoid(&mut self, c: &mut Conn, acked: u32, now_ns: u64) {
        if !self.on {
            return NewReno::new().cong_avoid(c, acked, now_ns);
        }
        // It does not ask whether the window limits the sender, and never has.
        if !self.round_over(c) {
            if c.in_slow_start() {
                c.slow_start(acked);
            }
            return;
        }
        match self.rtts() {
            None => NewReno::new().cong_avoid(c, acked, now_ns),
            Some((base, rtt)) => {
                adjust(c, acked, base, rtt);
                c.cwnd = c.cwnd.max(2);
                c.ssthresh = c.current_ssthresh();
            }
        }
        self.begin_round(c);
    }

    /// An ACK gave a round-trip sample of `rtt_us` microseconds; 0: none.
    #[inline]
    fn pkts_acked(&mut self, _c: &mut Conn, _acked: u32, rtt_us: u32, _now_ns: u64) {
        if rtt_us == 0 {
            return;
        }
        // Linux adds one, so that a sample of 0 does no harm.
        let rtt = rtt_us.saturating_add(1);
        self.base_rtt = self.base_rtt.min(rtt);
        self.min_rtt = self.min_rtt.min(rtt);
        self.samples = self.samples.wrapping_add(1);
    }

    /// Loss or ECN echo: as Reno.
    fn ssthresh(&mut self, c: &mut Conn, now_ns: u64) -> u32 {
        NewReno::new().ssthresh(c, now_ns)
    }

    /// The window before the spurious reduction.
    fn undo_cwnd(&mut self, c: &mut Conn) -> u32 {
        NewReno::new().undo_cwnd(c)
    }

    /// Vegas rules in the open state alone, and starts with a new round there.
    fn set_state(&mut self, c: &mut Conn, new: CaState, _now_ns: u64) {
        self.on = new == CaState::Open;
        if self.on {
            self.begin_round(c);
        }
    }

    /// After an idle time the path may be another: BaseRTT is measured anew.
    fn event(&mut self, c: &mut Conn, event: Event, _now_ns: u64) {
        if let Event::TxStart { .. } = event {
            *self = Vegas::new(c);
        }
    }
}

/// The step that a round ends with.
fn adjust(c: &mut Conn, acked: u32, base: u32, rtt: u32) {
    // In 32 bits, as Linux multiplies.
    let diff = c.cwnd.wrapping_mul(rtt - base) / base;
    if c.in_slow_start() {
        if diff > GAMMA {
            // The window that the rate it has would need on an empty path; one more for the truncation.
            let target = (u64::from(c.cwnd) * u64::from(base) / u64::from(rtt)) as u32;
            c.cwnd = c.cwnd.min(target + 1);
            c.ssthresh = c.ssthresh.min(c.cwnd);
        } else {
            c.slow_start(acked);
        }
    } else if diff > BETA {
        c.cwnd -= 1;
        c.ssthresh = c.ssthresh.min(c.cwnd);
    } else if diff < ALPHA {
        c.cwnd += 1;
    }
}
