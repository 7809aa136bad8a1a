//! TCP Veno (Fu and Liew, IEEE JSAC 21(2), 2003) in the integers of Linux's `tcp_veno.c`.
//!
//! Reno that asks Vegas' question: how many packets of the window wait in queues? Fewer than
//! [`BETA`]: the path is not congested, and a loss is probably a random one that takes a fifth, not half, of
//! the window. Else the window grows only every other round trip, to stay longer where it is.

use crate::{CaState, Conn, Control, Event, Flavour, Info, Linux, NewReno};

/// Fraction bits of the backlog.
const FRACTION_BITS: u32 = 1;
/// Packets in queues from which the path counts as congested: 3.
const BETA: u32 = 3 << FRACTION_BITS;
/// Until there are more round-trip samples than this, Veno is Reno.
const TOO_FEW_SAMPLES: u16 = 2;
/// No round-trip time yet, microseconds.
const NO_RTT: u32 = 0x7fff_ffff;

/// Veno's state.
#[derive(Debug, Clone, Copy)]
pub struct Veno {
    /// Round-trip samples so far, modulo 2^16: Linux never starts the count again.
    samples: u16,
    /// Smallest round-trip time since the window was last adjusted, microseconds.
    min_rtt: u32,
    /// Smallest round-trip time since the connection was last idle, microseconds.
    base_rtt: u32,
    /// Packets in queues, in 1/2^[`FRACTION_BITS`].
    backlog: u32,
    /// The next full window of ACKs counts (congested: every other does).
    increase: bool,
    /// Off while the connection has a problem: it then grows as Reno.
    on: bool,
}

impl Default for Veno {
    fn default() -> Veno {
        Veno::new()
    }
}

impl Veno {
    /// A fresh control.
    pub fn new() -> Veno {
        // The SYN's round trip counts: it is heard of before the control begins (`tcp_finish_connect`).
        Veno { samples: 1, min_rtt: NO_RTT, base_rtt: NO_RTT, backlog: 0, increase: true, on: true }
    }

    /// Veno's multiplicative decrease is in [`Veno::ssthresh`]; this is its increase.
    #[inline]
    fn grow(&mut self, c: &mut Conn, acked: u32) {
        let mut left = acked;
        if c.in_slow_start() {
            left = c.slow_start(acked);
            if left == 0 {
                return;
            }
        }
        if self.backlog < BETA {
            c.cong_avoid_ai(c.cwnd, left);
        } else if c.cwnd_cnt < c.cwnd {
            c.cwnd_cnt += left;
        } else {
            // The ACK that finds the window full is itself not counted.
            c.cwnd_cnt = 0;
            c.cwnd += u32::from(self.increase);
            self.increase = !self.increase;
        }
    }
}

impl Control for Veno {
    const INFO: Info = Info {
        name: "veno",
        about: "Reno; a loss without a queue takes a fifth, not half",
        source: "Fu and Liew, IEEE JSAC 21(2), 2003; Linux tcp_veno.c",
        linux: Some(Linux { name: "veno", module: Some("tcp_veno") }),
        ns3: true,
        ..Info::PLAIN
    };

    fn start(_flavour: Flavour, _c: &mut Conn, _now_ns: u64) -> Self {
        Veno::new()
    }

    /// `acked` packets were newly delivered.
    #[inline]
    fn cong_avoid(&mut self, c: &mut Conn, acked: u32, now_ns: u64) {
        if !self.on {
            return NewReno::new().cong_avoid(c, acked, now_ns);
        }
        if !c.cwnd_limited() {
            return;
        }
        if self.samples <= TOO_FEW_SAMPLES {
            NewReno::new().cong_avoid(c, acked, now_ns);
        } else {
            let cwnd = u64::from(c.cwnd) << FRACTION_BITS;
            let in_transit = cwnd * u64::from(self.base_rtt) / u64::from(self.min_rtt);
            self.backlog = (cwnd - in_transit) as u32;
            self.grow(c, acked);
            c.cwnd = c.cwnd.max(2);
        }
        self.min_rtt = NO_RTT;
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

    /// Loss or ECN echo: 4/5 of the window if the path was not congested, else half; at least 2 packets.
    fn ssthresh(&mut self, c: &mut Conn, _now_ns: u64) -> u32 {
        if self.backlog < BETA { c.cwnd.wrapping_mul(4) / 5 } else { c.cwnd / 2 }.max(2)
    }

    /// The window before the spurious reduction.
    fn undo_cwnd(&mut self, c: &mut Conn) -> u32 {
        NewReno::new().undo_cwnd(c)
    }

    /// Veno rules in the open state alone.
    fn set_state(&mut self, _c: &mut Conn, new: CaState, _now_ns: u64) {
        self.on = new == CaState::Open;
        if self.on {
            self.min_rtt = NO_RTT;
        }
    }

    /// After an idle time the path may be another: the smallest round-trip time is measured anew.
    fn event(&mut self, _c: &mut Conn, event: Event, _now_ns: u64) {
        if let Event::TxStart { .. } = event {
            *self = Veno { samples: self.samples, backlog: self.backlog, ..Veno::new() };
        }
    }
}
