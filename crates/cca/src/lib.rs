//! TCP congestion controls as pure state machines, one file each, behaving as
//! Linux's modules of the same name do.
//!
//! A control sees its connection as [`Conn`] (the fields of Linux's `tcp_sock`
//! that congestion control reads and writes), is told of events through the
//! methods of [`Cca`], and has no clock: the time is an argument (ns).
//! Sequence numbers count segments, windows count packets (segments), as Linux's do.

mod bbr;
mod bic;
mod brutal;
mod cubic;
mod dctcp;
mod htcp;
mod illinois;
mod newreno;
mod scalable;
mod vegas;
mod veno;
mod yeah;

pub use bbr::{Bbr, Mode as BbrMode};
pub use bic::Bic;
pub use brutal::Brutal;
pub use cubic::Cubic;
pub use dctcp::Dctcp;
pub use htcp::Htcp;
pub use illinois::Illinois;
pub use newreno::NewReno;
pub use scalable::Scalable;
pub use vegas::Vegas;
pub use veno::Veno;
pub use yeah::Yeah;

/// Ticks of Linux's coarse clock a second (`CONFIG_HZ` of Debian's kernels).
pub const HZ: u64 = 250;

/// `tcp_jiffies32`: the coarse clock at `now_ns`.
#[inline]
pub fn jiffies(now_ns: u64) -> u32 {
    (now_ns / (1_000_000_000 / HZ)) as u32
}

/// A time in ticks of the coarse clock, rounded up.
#[inline]
fn usecs_to_jiffies(us: u32) -> u64 {
    u64::from(us).div_ceil(1_000_000 / HZ)
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

/// The connection as its congestion control sees it.
#[derive(Debug, Clone)]
pub struct Conn {
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
    /// The sender was held back by cwnd in the last window.
    pub is_cwnd_limited: bool,
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
    /// Time of the latest delivery (ns).
    pub delivered_ns: u64,
    /// Packets marked lost so far.
    pub lost: u32,
    /// If not 0: the connection is application-limited until `delivered` passes this.
    pub app_limited: u32,
    /// Pacing rate, bytes a second; `u64::MAX` before it is known.
    pub pacing_rate: u64,
    /// The sender spaces packets out at `pacing_rate` (`sk_pacing_status != SK_PACING_NONE`).
    pub pacing: bool,
    /// Earliest time the pacer lets the next packet go (`tcp_wstamp_ns`, ns); one in the past means now.
    pub edt_ns: u64,
    /// Congestion state.
    pub ca_state: CaState,
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
            ca_state: CaState::Open,
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

/// What one ACK taught about the path (`struct rate_sample`).
#[derive(Debug, Clone, Copy, Default)]
pub struct RateSample {
    /// `delivered` when the most recently sent of the newly delivered packets was sent.
    pub prior_delivered: u32,
    /// Time of the delivery that `prior_delivered` counts (ns); 0: no sample.
    pub prior_ns: u64,
    /// Packets delivered over `interval_us`; below 0: no valid sample.
    pub delivered: i32,
    /// Length of the sample, microseconds; below 0: no valid sample.
    pub interval_us: i64,
    /// Round-trip time of the last packet newly (s)acked, microseconds; below 0: unknown.
    pub rtt_us: i64,
    /// Packets newly marked lost on this ACK.
    pub losses: u32,
    /// Packets newly acknowledged or SACKed on this ACK.
    pub acked_sacked: u32,
    /// Packets in flight before this ACK.
    pub prior_in_flight: u32,
    /// The sample was taken from an application-limited phase.
    pub is_app_limited: bool,
    /// The ACK is likely a delayed one for a single segment (`is_ack_delayed`).
    pub is_ack_delayed: bool,
}

/// A congestion control by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// RFC 6582's window rule, Linux's `reno`.
    NewReno,
    /// RFC 9438 in Linux's integers.
    Cubic,
    /// BBR version 1, as in Linux.
    Bbr,
    /// Keeps 2 to 4 packets in queues.
    Vegas,
    /// Reno that spares the window when a loss looks random.
    Veno,
    /// Scalable growth while queues are short, Reno's and drained queues when they are not.
    Yeah,
    /// Additive increase and decrease by queueing delay.
    Illinois,
    /// H-TCP, Linux's `htcp`.
    Htcp,
    /// BIC, Linux's `bic`.
    Bic,
    /// Scalable TCP, Linux's `scalable`.
    Scalable,
    /// RFC 8257, Linux's `dctcp`.
    Dctcp,
    /// A fixed rate whatever is lost: TCP Brutal's behaviour.
    Brutal,
}

impl Kind {
    /// Every congestion control, in the order of lists.
    pub const ALL: [Kind; 12] = [
        Kind::NewReno,
        Kind::Cubic,
        Kind::Bbr,
        Kind::Vegas,
        Kind::Veno,
        Kind::Yeah,
        Kind::Illinois,
        Kind::Htcp,
        Kind::Bic,
        Kind::Scalable,
        Kind::Dctcp,
        Kind::Brutal,
    ];
    /// The name in scenario files and results.
    pub fn name(self) -> &'static str {
        match self {
            Kind::NewReno => "newreno",
            Kind::Cubic => "cubic",
            Kind::Bbr => "bbr",
            Kind::Vegas => "vegas",
            Kind::Veno => "veno",
            Kind::Yeah => "yeah",
            Kind::Illinois => "illinois",
            Kind::Htcp => "htcp",
            Kind::Bic => "bic",
            Kind::Scalable => "scalable",
            Kind::Dctcp => "dctcp",
            Kind::Brutal => "brutal",
        }
    }
    /// The congestion control of that name.
    pub fn from_name(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|k| k.name() == name)
    }
    /// Works only where queues mark (`TCP_CONG_NEEDS_ECN`): its connections negotiate ECN, its receivers
    /// echo every segment's mark, and all it sends is ECN-capable, retransmissions too.
    pub fn needs_ecn(self) -> bool {
        self == Kind::Dctcp
    }
    /// Sends at a rate that its user sets ([`Cca::set_rate`]).
    pub fn needs_rate(self) -> bool {
        self == Kind::Brutal
    }
    /// One line for lists: what it is and its source.
    pub fn about(self) -> (&'static str, &'static str) {
        match self {
            Kind::NewReno => ("additive increase, halving on loss", "RFC 5681, RFC 6582; Linux tcp_cong.c"),
            Kind::Cubic => ("cubic window growth, HyStart", "RFC 9438; Linux tcp_cubic.c"),
            Kind::Bbr => (
                "model of bandwidth and RTT, paced (version 1)",
                "Cardwell et al., ACM Queue 14(5), 2016; Linux tcp_bbr.c",
            ),
            Kind::Vegas => (
                "keeps 2 to 4 packets of its own in queues, by delay",
                "Brakmo and Peterson, IEEE JSAC 13(8), 1995; Linux tcp_vegas.c",
            ),
            Kind::Veno => (
                "Reno; a loss without a queue takes a fifth, not half",
                "Fu and Liew, IEEE JSAC 21(2), 2003; Linux tcp_veno.c",
            ),
            Kind::Yeah => (
                "Scalable growth while queues are short, else Reno's, draining the queue",
                "Baiocchi et al., PFLDnet 2007; Linux tcp_yeah.c",
            ),
            Kind::Illinois => (
                "increase of 10 to 0.3 packets, decrease of 1/8 to 1/2, by queueing delay",
                "Liu, Basar and Srikant, Perform. Eval. 65, 2008; Linux tcp_illinois.c",
            ),
            Kind::Htcp => (
                "increase by time since congestion, decrease by RTT ratio",
                "Leith and Shorten, PFLDnet 2004; Linux tcp_htcp.c",
            ),
            Kind::Bic => (
                "binary search for the window of the last loss",
                "Xu, Harfoush and Rhee, INFOCOM 2004; Linux tcp_bic.c",
            ),
            Kind::Scalable => (
                "1 % more a round trip, 1/8 less on loss",
                "Kelly, ACM CCR 33(2), 2003; Linux tcp_scalable.c",
            ),
            Kind::Dctcp => ("yields as much as was marked (ECN)", "RFC 8257; Linux tcp_dctcp.c"),
            Kind::Brutal => (
                "a fixed rate, more of it the more is lost",
                "TCP Brutal's description, github.com/apernet/tcp-brutal",
            ),
        }
    }
}

/// Choices that differ between TCP flavours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flavour {
    /// CUBIC's Reno-friendly region (RFC 9438 section 4.3). ns-3.34 has none.
    pub cubic_tcp_friendly: bool,
    /// BBR's pacing margin in percent below the estimated bandwidth (Linux: 1).
    pub bbr_pacing_margin_percent: u32,
    /// BBR as ns-3.34's `TcpBbr` has it: it looks for no policers, budgets for single segments, knows no
    /// departure times, grants ACK aggregation two or three segments (its epoch ends after 4096 bytes), conserves
    /// packets to the end of the round that is under way, and has no window from before a loss to go back to.
    pub bbr_ns3: bool,
}

impl Flavour {
    /// Linux.
    pub const LINUX: Flavour =
        Flavour { cubic_tcp_friendly: true, bbr_pacing_margin_percent: 1, bbr_ns3: false };
    /// The Titrate artifact's ns-3.34.
    pub const NS3: Flavour =
        Flavour { cubic_tcp_friendly: false, bbr_pacing_margin_percent: 1, bbr_ns3: true };
}

/// A running congestion control. Enum dispatch: no virtual call per packet.
#[derive(Debug, Clone)]
pub enum Cca {
    /// See [`NewReno`].
    NewReno(NewReno),
    /// See [`Cubic`].
    Cubic(Cubic),
    /// See [`Bbr`].
    Bbr(Box<Bbr>),
    /// See [`Vegas`].
    Vegas(Vegas),
    /// See [`Veno`].
    Veno(Veno),
    /// See [`Yeah`].
    Yeah(Yeah),
    /// See [`Illinois`].
    Illinois(Illinois),
    /// See [`Htcp`].
    Htcp(Htcp),
    /// See [`Bic`].
    Bic(Bic),
    /// See [`Scalable`].
    Scalable(Scalable),
    /// See [`Dctcp`].
    Dctcp(Dctcp),
    /// See [`Brutal`].
    Brutal(Box<Brutal>),
}

impl Cca {
    /// Starts a control on an established connection (handshake RTT already in `conn`).
    /// `random` is a 32-bit draw for controls that dither (BBR's cycle phase); each
    /// call that may draw again takes its own.
    pub fn new(kind: Kind, flavour: Flavour, conn: &mut Conn, now_ns: u64) -> Cca {
        match kind {
            Kind::NewReno => Cca::NewReno(NewReno::new()),
            Kind::Cubic => Cca::Cubic(Cubic::new(flavour, conn, now_ns)),
            Kind::Bbr => Cca::Bbr(Box::new(Bbr::new(flavour, conn, now_ns))),
            Kind::Vegas => Cca::Vegas(Vegas::new(conn)),
            Kind::Veno => Cca::Veno(Veno::new()),
            Kind::Yeah => Cca::Yeah(Yeah::new(conn)),
            Kind::Illinois => Cca::Illinois(Illinois::new(conn)),
            Kind::Htcp => Cca::Htcp(Htcp::new(now_ns)),
            Kind::Bic => Cca::Bic(Bic::new()),
            Kind::Scalable => Cca::Scalable(Scalable::new()),
            Kind::Dctcp => Cca::Dctcp(Dctcp::new(conn)),
            Kind::Brutal => Cca::Brutal(Box::new(Brutal::new(conn, now_ns))),
        }
    }
    /// Has its own control of cwnd and pacing (`cong_control`), replacing PRR and congestion avoidance.
    #[inline]
    pub fn has_cong_control(&self) -> bool {
        matches!(self, Cca::Bbr(_) | Cca::Brutal(_))
    }
    /// The rate that the user wants (bytes a second), for controls that ask for one ([`Kind::needs_rate`]).
    pub fn set_rate(&mut self, c: &mut Conn, rate: u64, now_ns: u64) {
        if let Cca::Brutal(x) = self {
            x.set_rate(c, rate, now_ns)
        }
    }
    /// The connection, with the handshake's round-trip time, is this much (ns) older than its first data.
    pub fn opened_before(&mut self, ns: u64) {
        if let Cca::Bbr(x) = self {
            x.opened_before(ns)
        }
    }
    /// `in_ack_event`: called on every ACK once it is worked in, before loss is looked for.
    #[inline]
    pub fn in_ack_event(&mut self, c: &Conn) {
        if let Cca::Dctcp(x) = self {
            x.in_ack_event(c)
        }
    }
    /// `cong_control`: called on every ACK, only when [`Cca::has_cong_control`].
    #[inline]
    pub fn cong_control(&mut self, c: &mut Conn, rs: &RateSample, now_ns: u64, random: u32) {
        match self {
            Cca::Bbr(x) => x.cong_control(c, rs, now_ns, random),
            Cca::Brutal(x) => x.cong_control(c, rs, now_ns),
            _ => {}
        }
    }
    /// `cong_avoid`: `acked` packets were newly delivered, outside of CWR and recovery. Most controls let
    /// the window grow only if it limits the sender ([`Conn::cwnd_limited`]); that is theirs to ask.
    #[inline]
    pub fn cong_avoid(&mut self, c: &mut Conn, acked: u32, now_ns: u64) {
        match self {
            Cca::NewReno(x) => x.cong_avoid(c, acked),
            Cca::Cubic(x) => x.cong_avoid(c, acked, now_ns),
            Cca::Bbr(_) | Cca::Brutal(_) => {}
            Cca::Vegas(x) => x.cong_avoid(c, acked),
            Cca::Veno(x) => x.cong_avoid(c, acked),
            Cca::Yeah(x) => x.cong_avoid(c, acked),
            Cca::Illinois(x) => x.cong_avoid(c, acked),
            Cca::Htcp(x) => x.cong_avoid(c, acked, now_ns),
            Cca::Bic(x) => x.cong_avoid(c, acked, now_ns),
            Cca::Scalable(x) => x.cong_avoid(c, acked),
            Cca::Dctcp(x) => x.cong_avoid(c, acked),
        }
    }
    /// `pkts_acked`: called on every ACK once it is worked in. `acked` packets were cumulatively acknowledged,
    /// SACKed before or not; `rtt_us` is the round-trip sample (microseconds), 0 if the ACK gave none.
    #[inline]
    pub fn pkts_acked(&mut self, c: &mut Conn, acked: u32, rtt_us: u32, now_ns: u64) {
        match self {
            Cca::Cubic(x) => x.pkts_acked(c, rtt_us, now_ns),
            Cca::Vegas(x) => x.pkts_acked(rtt_us),
            Cca::Veno(x) => x.pkts_acked(rtt_us),
            Cca::Yeah(x) => x.pkts_acked(rtt_us),
            Cca::Illinois(x) => x.pkts_acked(acked, rtt_us),
            Cca::Htcp(x) => x.pkts_acked(c, acked, rtt_us, now_ns),
            Cca::Bic(x) => x.pkts_acked(c, acked),
            _ => {}
        }
    }
    /// `ssthresh`: the threshold to set on loss or ECN echo.
    pub fn ssthresh(&mut self, c: &mut Conn, now_ns: u64) -> u32 {
        match self {
            Cca::NewReno(x) => x.ssthresh(c),
            Cca::Cubic(x) => x.ssthresh(c),
            Cca::Bbr(x) => x.ssthresh(c),
            Cca::Vegas(x) => x.ssthresh(c),
            Cca::Veno(x) => x.ssthresh(c),
            Cca::Yeah(x) => x.ssthresh(c),
            Cca::Illinois(x) => x.ssthresh(c),
            Cca::Htcp(x) => x.ssthresh(c, now_ns),
            Cca::Bic(x) => x.ssthresh(c),
            Cca::Scalable(x) => x.ssthresh(c),
            Cca::Dctcp(x) => x.ssthresh(c),
            Cca::Brutal(x) => x.ssthresh(c),
        }
    }
    /// `undo_cwnd`: the window to restore when a loss was spurious.
    pub fn undo_cwnd(&mut self, c: &mut Conn) -> u32 {
        match self {
            Cca::NewReno(x) => x.undo_cwnd(c),
            Cca::Cubic(x) => x.undo_cwnd(c),
            Cca::Bbr(x) => x.undo_cwnd(c),
            Cca::Vegas(x) => x.undo_cwnd(c),
            Cca::Veno(x) => x.undo_cwnd(c),
            Cca::Yeah(x) => x.undo_cwnd(c),
            Cca::Illinois(x) => x.undo_cwnd(c),
            Cca::Htcp(x) => x.undo_cwnd(c),
            Cca::Bic(x) => x.undo_cwnd(c),
            Cca::Scalable(x) => x.undo_cwnd(c),
            Cca::Dctcp(x) => x.undo_cwnd(c),
            Cca::Brutal(x) => x.undo_cwnd(c),
        }
    }
    /// `set_state`: called before `c.ca_state` changes to `new`.
    pub fn set_state(&mut self, c: &mut Conn, new: CaState, now_ns: u64) {
        match self {
            Cca::Cubic(x) => x.set_state(c, new, now_ns),
            Cca::Bbr(x) => x.set_state(c, new),
            Cca::Vegas(x) => x.set_state(c, new),
            Cca::Veno(x) => x.set_state(new),
            Cca::Yeah(x) => x.set_state(c, new),
            Cca::Illinois(x) => x.set_state(c, new),
            Cca::Htcp(x) => x.set_state(new, now_ns),
            Cca::Bic(x) => x.set_state(new),
            Cca::Dctcp(x) => x.set_state(c, new),
            Cca::NewReno(_) | Cca::Scalable(_) | Cca::Brutal(_) => {}
        }
    }
    /// `cwnd_event`.
    pub fn event(&mut self, c: &mut Conn, event: Event, now_ns: u64) {
        match self {
            Cca::Cubic(x) => x.event(event, now_ns),
            Cca::Bbr(x) => x.event(c, event, now_ns),
            Cca::Vegas(x) => x.event(c, event),
            Cca::Veno(x) => x.event(event),
            Cca::Yeah(x) => x.event(c, event),
            Cca::Dctcp(x) => x.event(c, event),
            _ => {}
        }
    }
    /// `min_tso_segs`: the smallest burst the sender builds, packets (Linux's default: 2).
    #[inline]
    pub fn min_tso_segs(&self, c: &Conn) -> u32 {
        match self {
            Cca::Bbr(_) => Bbr::min_tso_segs(c),
            _ => 2,
        }
    }
}
