//! H-TCP (Leith and Shorten, "H-TCP: TCP for high-speed and long-distance networks", PFLDnet 2004;
//! draft-leith-tcp-htcp) in the integers of Linux's `tcp_htcp.c`.
//!
//! The increase grows with the time since the last congestion event, the decrease fits the queue: it
//! empties the buffer and no more. Times are in ticks of the coarse clock.

use crate::{CaState, Clock, Conn, Control, Flavour, Info, Linux};

/// `alpha` and `beta` have 7 fraction bits.
const SHIFT: u32 = 7;
/// alpha = 1 packet a round trip.
const ALPHA_BASE: u32 = 1 << SHIFT;
/// Backoff factors: 0.5 to 0.8.
const BETA_MIN: u32 = 1 << (SHIFT - 1);
const BETA_MAX: u32 = 102;
/// A round-trip sample raises the maximum by at most so much, us.
const MAX_RTT_RISE_US: u64 = 20_000;
/// On shorter paths the clock is too coarse to tell the queue, us.
const SHORT_RTT_US: u64 = 10_000;

/// H-TCP's state.
#[derive(Debug, Clone)]
pub struct Htcp {
    /// Packets of growth a round trip, 7 fraction bits.
    alpha: u32,
    /// Backoff factor, 7 fraction bits.
    beta: u32,
    /// The next congestion event may set `beta` by the round-trip times.
    mode_switch: bool,
    /// Packets that the present ACK acknowledged.
    pkts_acked: u32,
    /// Packets acknowledged since `last_time`.
    packet_count: u32,
    /// Round-trip times since the start: least, and most with a memory that fades at each event; 0: none.
    min_rtt: u32,
    max_rtt: u32,
    /// When the last congestion event ended.
    last_cong: u32,
    /// What a spurious event has changed: (`last_cong`, `max_rtt`, `old_max_b`) before it.
    undo: Option<(u32, u32, u32)>,
    /// Achieved throughput, packets a second: average, its maximum since the last event, that of the event before.
    b: u32,
    max_b: u32,
    old_max_b: u32,
    last_time: u32,
}

impl Htcp {
    /// A fresh control.
    pub fn new(clock: Clock, now_ns: u64) -> Htcp {
        Htcp {
            alpha: ALPHA_BASE,
            beta: BETA_MIN,
            mode_switch: false,
            pkts_acked: 1,
            packet_count: 0,
            min_rtt: 0,
            max_rtt: 0,
            last_cong: clock.jiffies(now_ns),
            undo: None,
            b: 0,
            max_b: 0,
            old_max_b: 0,
            last_time: 0,
        }
    }

    /// Packets of growth a round trip.
    pub fn alpha(&self) -> f64 {
        f64::from(self.alpha) / f64::from(ALPHA_BASE)
    }

    /// Part of the window that is left after a loss.
    pub fn beta(&self) -> f64 {
        f64::from(self.beta) / f64::from(ALPHA_BASE)
    }

    #[inline]
    fn measure_rtt(&mut self, clock: Clock, state: CaState, rtt: u32) {
        if self.min_rtt > rtt || self.min_rtt == 0 {
            self.min_rtt = rtt;
        }
        if state == CaState::Open {
            self.max_rtt = self.max_rtt.max(self.min_rtt);
            // A jump is no queue but a change of the path or a stall.
            if self.max_rtt < rtt && rtt <= self.max_rtt + clock.ticks(MAX_RTT_RISE_US) as u32 {
                self.max_rtt = rtt;
            }
        }
    }

    /// The draft's alpha(Delta), scaled by the round-trip time to a tenth of a second and by 2 (1 - beta),
    /// so that a smaller decrease has a smaller increase.
    fn update_alpha(&mut self, clock: Clock, now: u32) {
        // Below a second after congestion the increase is Reno's (the draft's Delta_L).
        let hz = u64::from(clock.hz());
        let mut factor = 1;
        let since = u64::from(now.wrapping_sub(self.last_cong));
        if since > hz {
            // 1 + 10 d + (d/2)^2, d in seconds beyond Delta_L.
            let d = since - hz;
            factor = 1 + (10 * d + (d / 2) * (d / 2) / hz) / hz;
        }
        if self.min_rtt > 0 {
            // 100 ms by the least round-trip time, 3 fraction bits, between 0.5 and 10.
            let scale = ((hz << 3) / (10 * u64::from(self.min_rtt))).clamp(1 << 2, 10 << 3);
            factor = ((factor << 3) / scale).max(1);
        }
        let alpha = 2 * factor * u64::from(ALPHA_BASE - self.beta);
        self.alpha = u32::try_from(alpha).unwrap_or(u32::MAX).max(1);
    }

    /// The draft's adaptive backoff: least by greatest round-trip time, unless the throughput at this
    /// event is far from the last one's.
    fn update_beta(&mut self, clock: Clock) {
        let (max_b, old) = (u64::from(self.max_b), u64::from(self.old_max_b));
        self.old_max_b = self.max_b;
        if !(4 * old..=6 * old).contains(&(5 * max_b)) {
            self.beta = BETA_MIN;
            self.mode_switch = false;
            return;
        }
        if self.mode_switch && u64::from(self.min_rtt) > clock.ticks(SHORT_RTT_US) && self.max_rtt > 0 {
            let ratio = (u64::from(self.min_rtt) << SHIFT) / u64::from(self.max_rtt);
            self.beta = (ratio as u32).clamp(BETA_MIN, BETA_MAX);
        } else {
            self.beta = BETA_MIN;
            self.mode_switch = true;
        }
    }
}

impl Control for Htcp {
    const INFO: Info = Info {
        name: "htcp",
        about: "increase by time since congestion, decrease by RTT ratio",
        source: "Leith and Shorten, PFLDnet 2004; Linux tcp_htcp.c",
        linux: Some(Linux { name: "htcp", module: Some("tcp_htcp") }),
        ns3: true,
        ..Info::PLAIN
    };

    fn start(_flavour: Flavour, c: &mut Conn, now_ns: u64) -> Self {
        Htcp::new(c.clock, now_ns)
    }

    /// `measure_achieved_throughput`: an ACK moved the left edge by `acked` packets and gave a round-trip
    /// sample (microseconds; 0: none).
    #[inline]
    fn pkts_acked(&mut self, c: &mut Conn, acked: u32, rtt_us: u32, now_ns: u64) {
        if c.ca_state == CaState::Open {
            self.pkts_acked = acked;
        }
        if rtt_us > 0 {
            self.measure_rtt(c.clock, c.ca_state, c.clock.ticks(rtt_us.into()) as u32);
        }
        let now = c.clock.jiffies(now_ns);
        if c.ca_state > CaState::Disorder {
            self.packet_count = 0;
            self.last_time = now;
            return;
        }
        self.packet_count = self.packet_count.saturating_add(acked);
        let age = now.wrapping_sub(self.last_time);
        // About a window has been acknowledged, and it took a round trip or more. (Where a step is larger
        // than the window this wraps, as in Linux: then nothing is measured.)
        let window = c.cwnd.wrapping_sub((self.alpha >> SHIFT).max(1));
        if self.packet_count >= window && self.min_rtt > 0 && age >= self.min_rtt {
            let rate = u64::from(self.packet_count) * u64::from(c.clock.hz()) / u64::from(age);
            let rate = u32::try_from(rate).unwrap_or(u32::MAX);
            if now.wrapping_sub(self.last_cong) / self.min_rtt <= 3 {
                // Three round trips after backing off the measure starts anew.
                self.b = rate;
                self.max_b = rate;
            } else {
                self.b = ((3 * u64::from(self.b) + u64::from(rate)) / 4) as u32;
                self.max_b = self.max_b.max(self.b);
            }
            self.packet_count = 0;
            self.last_time = now;
        }
    }

    /// `acked` packets were newly acknowledged: slow start below `ssthresh`, `alpha` packets a window above.
    #[inline]
    fn cong_avoid(&mut self, c: &mut Conn, acked: u32, now_ns: u64) {
        if !c.cwnd_limited() {
            return;
        }
        if c.in_slow_start() {
            c.slow_start(acked);
            return;
        }
        if (u64::from(c.cwnd_cnt) * u64::from(self.alpha)) >> SHIFT >= u64::from(c.cwnd) {
            c.cwnd += 1;
            c.cwnd_cnt = 0;
            self.update_alpha(c.clock, c.clock.jiffies(now_ns));
        } else {
            c.cwnd_cnt = c.cwnd_cnt.saturating_add(self.pkts_acked);
        }
        self.pkts_acked = 1;
    }

    /// Loss or ECN echo: sets both factors anew; `beta` of the window, at least 2 packets.
    fn ssthresh(&mut self, c: &mut Conn, now_ns: u64) -> u32 {
        self.update_beta(c.clock);
        self.update_alpha(c.clock, c.clock.jiffies(now_ns));
        if self.max_rtt > self.min_rtt {
            // So that a path that changed is forgotten slowly.
            let queueing = u64::from(self.max_rtt - self.min_rtt);
            self.max_rtt = self.min_rtt + (queueing * 95 / 100) as u32;
        }
        (((u64::from(c.cwnd) * u64::from(self.beta)) >> SHIFT) as u32).max(2)
    }

    /// The window before the spurious reduction; the event never happened.
    fn undo_cwnd(&mut self, c: &mut Conn) -> u32 {
        if let Some((last_cong, max_rtt, old_max_b)) = self.undo.take() {
            self.last_cong = last_cong;
            self.max_rtt = max_rtt;
            self.old_max_b = old_max_b;
        }
        c.cwnd.max(c.prior_cwnd)
    }

    /// A congestion event begins, or ends: from its end the time counts.
    fn set_state(&mut self, c: &mut Conn, new: CaState, now_ns: u64) {
        match new {
            CaState::Open => {
                if self.undo.take().is_some() {
                    self.last_cong = c.clock.jiffies(now_ns);
                }
            }
            CaState::Disorder => {}
            CaState::Cwr | CaState::Recovery | CaState::Loss => {
                self.undo = Some((self.last_cong, self.max_rtt, self.old_max_b));
                self.last_cong = c.clock.jiffies(now_ns);
            }
        }
    }
}
