//! TCP congestion controls as pure state machines, one file each, behaving as
//! Linux's modules of the same name do; and those that are written in C, of the program (`hosted`) and of users ([`own`]).
//!
//! A control sees its connection as [`Conn`] (the fields of Linux's `tcp_sock`
//! that congestion control reads and writes), is told of events through the
//! methods of [`Cca`], and has no clock: the time is an argument (ns).
//! Sequence numbers count segments, windows count packets (segments), as Linux's do.

mod bbr;
mod bic;
mod brutal;
mod control;
mod cubic;
mod dctcp;
mod headers;
mod hosted;
mod htcp;
mod hystart;
mod illinois;
mod keyed;
mod ledbat;
mod newreno;
pub mod own;
mod scalable;
mod typed;
mod vegas;
mod veno;
mod yeah;

pub use bbr::Mode as BbrMode;
pub use control::{Control, Info, Linux};
pub use hosted::{Fault, Hosted, Lost, Wants};
pub use typed::Typed;

/// Ticks of Linux's coarse clock a second (`CONFIG_HZ` of Debian's kernels), if not set otherwise.
pub const HZ: u64 = 250;

/// `tcp_jiffies32`: that clock at `now_ns`.
#[inline]
pub fn jiffies(now_ns: u64) -> u32 {
    Clock::default().jiffies(now_ns)
}

/// Linux's coarse clock, of so many ticks a second (`CONFIG_HZ`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Clock {
    /// 2^(64 + shift) by the length of a tick, rounded up: a product instead of a division, exact below 2^63 ns.
    parts: u64,
    shift: u32,
    hz: u32,
    tick_ns: u32,
    /// 0: a tick is no number of microseconds.
    tick_us: u32,
}

impl Default for Clock {
    fn default() -> Clock {
        const USUAL: Clock = Clock::new(HZ as u32);
        USUAL
    }
}

impl Clock {
    /// One of so many ticks a second, 1 to 1,000,000.
    pub const fn new(hz: u32) -> Clock {
        let hz = if hz == 0 { 1 } else { hz };
        // `TICK_NSEC`
        let tick_ns = (1_000_000_000 + hz / 2) / hz;
        let shift = (tick_ns - 1).ilog2();
        let parts = (1u128 << (64 + shift)).div_ceil(tick_ns as u128) as u64;
        let tick_us = if 1_000_000 % hz == 0 { 1_000_000 / hz } else { 0 };
        Clock { parts, shift, hz, tick_ns, tick_us }
    }

    /// Ticks a second.
    #[inline]
    pub const fn hz(self) -> u32 {
        self.hz
    }

    /// A tick (ns).
    #[inline]
    pub const fn tick_ns(self) -> u64 {
        self.tick_ns as u64
    }

    /// `tcp_jiffies32`: the ticks that have begun by `now_ns`.
    #[inline]
    pub const fn jiffies(self, now_ns: u64) -> u32 {
        (((now_ns as u128 * self.parts as u128) >> 64) as u64 >> self.shift) as u32
    }

    /// A time in ticks, rounded up (`usecs_to_jiffies`).
    #[inline]
    pub const fn ticks(self, us: u64) -> u64 {
        (us.wrapping_mul(self.hz as u64).wrapping_add(999_999)) / 1_000_000
    }

    /// So many ticks as a time, us (`jiffies_to_usecs`).
    #[inline]
    pub const fn us(self, ticks: u64) -> u64 {
        match self.tick_us {
            0 => ticks.wrapping_mul(1_000_000) / self.hz as u64,
            us => ticks.wrapping_mul(us as u64),
        }
    }
}

/// Does sequence number or tick `a` come after `b`, both counted modulo 2^32?
#[inline]
fn after(a: u32, b: u32) -> bool {
    (b.wrapping_sub(a) as i32) < 0
}

/// Most payload a sender hands to the network at once, bytes: 64 KiB less the room
/// Linux leaves for headers (`GSO_LEGACY_MAX_SIZE - 1 - MAX_TCP_HEADER` on x86-64).
pub const GSO_MAX_SIZE: u32 = 65536 - 1 - 320;

/// `ssthresh` of a connection that has not seen congestion.
pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// Linux's congestion state (`enum tcp_ca_state`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
#[repr(u8)]
pub enum CaState {
    /// Nothing bad observed.
    #[default]
    Open,
    /// Duplicate ACKs or SACKs seen, not yet called loss.
    Disorder,
    /// Window being reduced for ECN.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

/// Events outside the ACK clock (`enum tcp_ca_event`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// First transmission when nothing was in flight (`CA_EVENT_TX_START`).
    TxStart {
        /// When the connection last sent (ns); none if never.
        last_send_ns: Option<u64>,
    },
    /// The window was restored to `ssthresh` at the end of CWR or recovery (`CA_EVENT_COMPLETE_CWR`).
    CompleteCwr,
    /// Retransmission timeout (`CA_EVENT_LOSS`).
    Loss,
}

/// The connection as its congestion control sees it: `struct qw_conn` of `cca/qw_cca.h`, field for field.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct Conn {
    /// Time of the latest delivery (ns).
    pub delivered_ns: u64,
    /// Pacing rate, bytes a second; `u64::MAX` before it is known.
    pub pacing_rate: u64,
    /// Earliest time the pacer lets the next packet go (`tcp_wstamp_ns`, ns); one in the past means now.
    pub edt_ns: u64,
    /// When it last sent data (ns); 0: never.
    pub last_send_ns: u64,
    /// Congestion window, packets, at least 1.
    pub cwnd: u32,
    /// Fraction of the next increase (`snd_cwnd_cnt`).
    pub cwnd_cnt: u32,
    /// Slow-start threshold, packets.
    pub ssthresh: u32,
    /// Window when the present reduction began.
    pub prior_cwnd: u32,
    /// Packets sent and not cumulatively acknowledged.
    pub packets_out: u32,
    /// Of those, selectively acknowledged.
    pub sacked_out: u32,
    /// Of those, thought lost.
    pub lost_out: u32,
    /// Of those, retransmitted and not yet acknowledged.
    pub retrans_out: u32,
    /// Most packets in flight in the last window (`max_packets_out`).
    pub max_packets_out: u32,
    /// First unacknowledged segment.
    pub snd_una: u32,
    /// Next segment to be sent for the first time.
    pub snd_nxt: u32,
    /// Bytes of payload in a full segment.
    pub mss: u32,
    /// Smoothed round-trip time, microseconds times 8; 0 before the first sample.
    pub srtt_us: u32,
    /// Windowed minimum round-trip time, microseconds (300 s window); `u32::MAX` before the first sample.
    pub min_rtt_us: u32,
    /// Packets delivered so far, SACKed ones included.
    pub delivered: u32,
    /// Of those, by ACKs that echoed a mark (`delivered_ce`).
    pub delivered_ce: u32,
    /// Packets marked lost so far.
    pub lost: u32,
    /// If not 0: the connection is application-limited until `delivered` passes this.
    pub app_limited: u32,
    /// The sender was held back by cwnd in the last window.
    pub is_cwnd_limited: bool,
    /// The sender spaces packets out at `pacing_rate` (`sk_pacing_status != SK_PACING_NONE`).
    pub pacing: bool,
    /// Congestion state.
    pub ca_state: CaState,
    /// The coarse clock of its host.
    pub clock: Clock,
}

impl Default for Conn {
    fn default() -> Self {
        Conn {
            cwnd: 10,
            cwnd_cnt: 0,
            ssthresh: INFINITE_SSTHRESH,
            prior_cwnd: 0,
            packets_out: 0,
            sacked_out: 0,
            lost_out: 0,
            retrans_out: 0,
            max_packets_out: 0,
            is_cwnd_limited: false,
            snd_una: 0,
            snd_nxt: 0,
            mss: 1448,
            srtt_us: 0,
            min_rtt_us: u32::MAX,
            delivered: 0,
            delivered_ce: 0,
            delivered_ns: 0,
            lost: 0,
            app_limited: 0,
            pacing_rate: u64::MAX,
            pacing: false,
            edt_ns: 0,
            last_send_ns: 0,
            ca_state: CaState::Open,
            clock: Clock::default(),
        }
    }
}

impl Conn {
    /// Packets in the network, by the sender's reckoning (`tcp_packets_in_flight`).
    #[inline]
    pub fn in_flight(&self) -> u32 {
        (self.packets_out + self.retrans_out).saturating_sub(self.sacked_out + self.lost_out)
    }
    /// `tcp_in_slow_start`.
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
    /// `tcp_current_ssthresh`: the threshold that a reduction leaves, or three quarters of the window if more.
    pub fn current_ssthresh(&self) -> u32 {
        if matches!(self.ca_state, CaState::Cwr | CaState::Recovery) {
            self.ssthresh
        } else {
            self.ssthresh.max((self.cwnd >> 1) + (self.cwnd >> 2))
        }
    }
    /// `tcp_is_cwnd_limited`: may the window grow?
    #[inline]
    pub fn cwnd_limited(&self) -> bool {
        self.is_cwnd_limited || (self.in_slow_start() && self.cwnd < 2 * self.max_packets_out)
    }
    /// `tcp_slow_start`: grow by `acked` up to `ssthresh`; what is left of `acked`.
    #[inline]
    pub fn slow_start(&mut self, acked: u32) -> u32 {
        let cwnd = (self.cwnd + acked).min(self.ssthresh);
        let left = acked - (cwnd - self.cwnd);
        self.cwnd = cwnd;
        left
    }
    /// How most of Linux's controls begin `cong_avoid`: what is left of `acked` for congestion avoidance. `None` if the window
    /// may not grow, or slow start has used all of it.
    #[inline]
    pub fn past_slow_start(&mut self, acked: u32) -> Option<u32> {
        if !self.cwnd_limited() {
            return None;
        }
        if !self.in_slow_start() {
            return Some(acked);
        }
        let left = self.slow_start(acked);
        (left > 0).then_some(left)
    }
    /// `tcp_cong_avoid_ai`: one packet for every `w` acknowledged.
    #[inline]
    pub fn cong_avoid_ai(&mut self, w: u32, acked: u32) {
        // A credit left from a larger w is spent at once.
        if self.cwnd_cnt >= w {
            self.cwnd_cnt = 0;
            self.cwnd += 1;
        }
        self.cwnd_cnt += acked;
        if self.cwnd_cnt >= w {
            let delta = self.cwnd_cnt / w;
            self.cwnd_cnt -= delta * w;
            self.cwnd += delta;
        }
    }
}

/// What one ACK taught about the path (`struct rate_sample`): `struct qw_rate_sample` of `cca/qw_cca.h`, field for field. "The packet" is
/// that of the newly delivered ones which was sent last.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct RateSample {
    /// Time of the delivery that `prior_delivered` counts (ns); 0: no sample.
    pub prior_ns: u64,
    /// Length of the sample, microseconds; below 0: no valid sample.
    pub interval_us: i64,
    /// Round-trip time of the last packet newly (s)acked, microseconds; below 0: unknown.
    pub rtt_us: i64,
    /// `delivered` when the packet was sent.
    pub prior_delivered: u32,
    /// Packets delivered over `interval_us`; below 0: no valid sample.
    pub delivered: i32,
    /// Packets newly marked lost on this ACK.
    pub losses: u32,
    /// Packets newly acknowledged or SACKed on this ACK.
    pub acked_sacked: u32,
    /// Packets in flight before this ACK.
    pub prior_in_flight: u32,
    /// Packets in flight when the packet was sent, it included; of controls that want [`Wants::stamps`], as the next two.
    pub tx_in_flight: u32,
    /// Packets marked lost since the packet was sent.
    pub lost: u32,
    /// Of `delivered`, echoed as marked.
    pub delivered_ce: u32,
    /// The sample was taken from an application-limited phase.
    pub is_app_limited: bool,
    /// The ACK is likely a delayed one for a single segment (`is_ack_delayed`).
    pub is_ack_delayed: bool,
    /// The first ACK beyond a tail loss probe: that repaired a loss.
    pub is_tlp: bool,
}

/// Choices that differ between TCP flavours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flavour {
    /// CUBIC's Reno-friendly region (RFC 9438 section 4.3). ns-3.34 has none.
    pub cubic_tcp_friendly: bool,
    /// CUBIC's K comes of a table and one step of Newton's, up to 0.2 % off, as Linux has it; else it is the cube root.
    pub cubic_table_root: bool,
    /// CUBIC by the letter of RFC 9438: the round-trip time of its target is the smoothed one, Reno's window grows as Reno's own once it is back
    /// at the window before the reduction (section 4.3), and there is no least growth before the first loss.
    pub cubic_rfc9438: bool,
    /// Slow start ends by HyStart++ (RFC 9406): of CUBIC in place of HyStart, of NewReno in place of a loss.
    pub hystart_plus_plus: bool,
    /// BBR's pacing margin in percent below the estimated bandwidth (Linux: 1).
    pub bbr_pacing_margin_percent: u32,
    /// BBR as ns-3.34's `TcpBbr` has it: it looks for no policers, budgets for single segments, knows no
    /// departure times, grants ACK aggregation two or three segments (its epoch ends after 4096 bytes), conserves
    /// packets to the end of the round that is under way, and has no window from before a loss to go back to.
    pub bbr_ns3: bool,
}

impl Flavour {
    /// As in Linux.
    pub const LINUX: Flavour = Flavour {
        cubic_tcp_friendly: true,
        cubic_table_root: true,
        cubic_rfc9438: false,
        hystart_plus_plus: false,
        bbr_pacing_margin_percent: 1,
        bbr_ns3: false,
    };
    /// The Titrate artifact's ns-3.34.
    pub const NS3: Flavour = Flavour {
        cubic_tcp_friendly: false,
        cubic_table_root: false,
        cubic_rfc9438: false,
        hystart_plus_plus: false,
        bbr_pacing_margin_percent: 1,
        bbr_ns3: true,
    };
    /// As common stacks of QUIC have it: RFC 9438, RFC 9406.
    pub const QUIC: Flavour = Flavour {
        cubic_tcp_friendly: true,
        cubic_table_root: false,
        cubic_rfc9438: true,
        hystart_plus_plus: true,
        bbr_pacing_margin_percent: 1,
        bbr_ns3: false,
    };
}

control::controls! {
    // A file each, the order of lists, and what holds its state: a large one is in a box.
    newreno NewReno(NewReno),
    cubic Cubic(Cubic),
    bbr Bbr(Box<Bbr>),
    vegas Vegas(Vegas),
    veno Veno(Veno),
    yeah Yeah(Yeah),
    illinois Illinois(Illinois),
    htcp Htcp(Htcp),
    bic Bic(Bic),
    scalable Scalable(Scalable),
    dctcp Dctcp(Dctcp),
    ledbat Ledbat(Box<Ledbat>),
    brutal Brutal(Box<Brutal>),
    // In C: cca/*.h.
    => Bbr3 = BBR3, Prague = PRAGUE, Westwood = WESTWOOD, LedbatPp = LEDBAT_PP, Copa = COPA,
}
