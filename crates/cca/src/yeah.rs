//! YeAH-TCP (Baiocchi, Castellani and Vacirca, PFLDnet 2007) in the integers of Linux's `tcp_yeah.c`.
//!
//! Fast mode grows as Scalable TCP, a hundredth of the window a round trip. When more than [`MAX_QUEUE`]
//! packets of it wait in queues, or the round-trip time has risen by more than 1/[`PHY`], slow mode
//! grows as Reno, and takes the queue out of the window before it overflows ("precautionary decongestion"),
//! though never below what a Reno flow beside it is thought to have.

use crate::vegas::Vegas;
use crate::{CaState, Conn, Control, Event, Flavour, Info, Linux, NewReno};

/// Packets in queues that fast mode tolerates.
const MAX_QUEUE: u32 = 80;
/// Slow mode at a rise of the round-trip time by more than this part of the smallest.
const PHY: u32 = 8;
/// Precautionary decongestion takes at most cwnd / 2^this.
const EPSILON: u32 = 1;
/// A loss takes at least cwnd / 2^this.
const DELTA: u32 = 3;
/// After so many round trips in slow mode other flows are taken to be greedy ones: a loss halves.
const RHO: u32 = 16;
/// After more than so many round trips in fast mode they are taken to be gone.
const ZETA: u32 = 50;
/// Fast mode adds a packet for so many acknowledged, or for a window if that is less.
const SCALABLE_COUNT: u32 = 100;

/// YeAH's state.
#[derive(Debug, Clone, Copy)]
pub struct Yeah {
    rtt: Vegas,
    /// Packets in queues at the end of the last round trip.
    queue: u32,
    /// Consecutive round trips in slow mode; 0: fast mode.
    slow_rounds: u32,
    /// Estimate of a competing Reno flow's window, packets.
    reno_window: u32,
    /// Round trips in fast mode since the last loss.
    fast_rounds: u32,
}

impl Yeah {
    /// A fresh control.
    pub fn new(c: &Conn) -> Yeah {
        Yeah { rtt: Vegas::new(c), queue: 0, slow_rounds: 0, reno_window: 2, fast_rounds: 0 }
    }

    /// Consecutive round trips in slow mode; 0: fast mode.
    pub fn slow_rounds(&self) -> u32 {
        self.slow_rounds
    }

    /// Estimate of a competing Reno flow's window, packets.
    pub fn reno_window(&self) -> u32 {
        self.reno_window
    }

    /// At the end of a round trip: fast or slow mode, and precautionary decongestion.
    fn choose_mode(&mut self, c: &mut Conn, base: u32, rtt: u32) {
        let queueing = rtt - base;
        let queue = (u64::from(c.cwnd) * u64::from(queueing) / u64::from(rtt)) as u32;
        if queue > MAX_QUEUE || queueing > base / PHY {
            if queue > MAX_QUEUE && c.cwnd > self.reno_window {
                let reduction = queue.min(c.cwnd >> EPSILON);
                c.cwnd = (c.cwnd - reduction).max(self.reno_window);
                c.ssthresh = c.cwnd;
            }
            self.reno_window = if self.reno_window <= 2 { (c.cwnd / 2).max(2) } else { self.reno_window + 1 };
            self.slow_rounds = (self.slow_rounds + 1).min(0xff_ffff);
        } else {
            self.fast_rounds += 1;
            if self.fast_rounds > ZETA {
                self.reno_window = 2;
                self.fast_rounds = 0;
            }
            self.slow_rounds = 0;
        }
        self.queue = queue;
    }
}

impl Control for Yeah {
    const INFO: Info = Info {
        name: "yeah",
        about: "Scalable growth while queues are short, else Reno's, draining the queue",
        source: "Baiocchi et al., PFLDnet 2007; Linux tcp_yeah.c",
        linux: Some(Linux { name: "yeah", module: Some("tcp_yeah") }),
        ns3: true,
        ..Info::PLAIN
    };

    fn start(_flavour: Flavour, c: &mut Conn, _now_ns: u64) -> Self {
        Yeah::new(c)
    }

    /// `acked` packets were newly delivered.
    #[inline]
    fn cong_avoid(&mut self, c: &mut Conn, acked: u32, _now_ns: u64) {
        if !c.cwnd_limited() {
            return;
        }
        let left = if c.in_slow_start() { c.slow_start(acked) } else { acked };
        if left > 0 {
            let w = if self.slow_rounds == 0 { c.cwnd.min(SCALABLE_COUNT) } else { c.cwnd };
            c.cong_avoid_ai(w, left);
        }
        if self.rtt.round_over(c) {
            if let Some((base, rtt)) = self.rtt.rtts() {
                self.choose_mode(c, base, rtt);
            }
            self.rtt.begin_round(c);
        }
    }

    /// An ACK gave a round-trip sample of `rtt_us` microseconds; 0: none.
    #[inline]
    fn pkts_acked(&mut self, c: &mut Conn, acked: u32, rtt_us: u32, now_ns: u64) {
        self.rtt.pkts_acked(c, acked, rtt_us, now_ns);
    }

    /// Loss or ECN echo: the queue goes out of the window, an eighth at least and half at most; half
    /// beside greedy flows.
    fn ssthresh(&mut self, c: &mut Conn, _now_ns: u64) -> u32 {
        let half = (c.cwnd / 2).max(2);
        let reduction = if self.slow_rounds < RHO { self.queue.min(half).max(c.cwnd >> DELTA) } else { half };
        self.fast_rounds = 0;
        self.reno_window = (self.reno_window / 2).max(2);
        c.cwnd.saturating_sub(reduction).max(2)
    }

    /// The window before the spurious reduction.
    fn undo_cwnd(&mut self, c: &mut Conn) -> u32 {
        NewReno::new().undo_cwnd(c)
    }

    /// Back in the open state a new round trip begins.
    fn set_state(&mut self, c: &mut Conn, new: CaState, now_ns: u64) {
        self.rtt.set_state(c, new, now_ns);
    }

    /// After an idle time the path may be another: the smallest round-trip time is measured anew.
    fn event(&mut self, c: &mut Conn, event: Event, now_ns: u64) {
        self.rtt.event(c, event, now_ns);
    }
}
