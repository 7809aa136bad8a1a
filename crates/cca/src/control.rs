//! What a congestion control is: Linux's `tcp_congestion_ops` with Linux's defaults, what there is to say of it, and the list's macro.

use crate::hosted::{Lost, Wants};
use crate::{CaState, Clock, Conn, Event, Flavour, RateSample};

/// What there is to say of a congestion control.
#[derive(Debug, Clone, Copy)]
pub struct Info {
    /// The name in scenario files and results.
    pub name: &'static str,
    /// One line for lists: what it is.
    pub about: &'static str,
    /// Where its rule stands.
    pub source: &'static str,
    /// Linux's own; none: Linux has none.
    pub linux: Option<Linux>,
    /// ns-3 has it as Linux has it.
    pub ns3: bool,
    /// Works only where queues mark (`TCP_CONG_NEEDS_ECN`): its connections negotiate ECN, its receivers
    /// echo every segment's mark, and all it sends is ECN-capable, retransmissions too.
    pub needs_ecn: bool,
    /// With that: its packets say ECT(1) (RFC 9331), not ECT(0).
    pub ect1: bool,
    /// Sends at a rate that its user sets ([`Control::set_rate`]).
    pub needs_rate: bool,
    /// Controls cwnd and pacing itself ([`Control::cong_control`]), in place of PRR and congestion avoidance.
    pub own_control: bool,
    /// Windows that the send buffer grows to hold (`sndbuf_expand`); one in C says that itself.
    pub buffered_windows: u32,
    /// The file of `cca/` that it is compiled from; none: it is in Rust, or a user's.
    pub header: Option<&'static str>,
    /// Its page, Markdown; empty: it has none.
    pub explain: &'static str,
}

impl Info {
    /// Nothing unusual.
    pub const PLAIN: Info = Info {
        name: "",
        about: "",
        source: "",
        linux: None,
        ns3: false,
        needs_ecn: false,
        ect1: false,
        needs_rate: false,
        own_control: false,
        buffered_windows: 2,
        header: None,
        explain: "",
    };
}

/// A congestion control of Linux's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Linux {
    /// Its name there (`net.ipv4.tcp_congestion_control`).
    pub name: &'static str,
    /// The module that has it, which says itself what it needs; none: built in.
    pub module: Option<&'static str>,
}

/// A congestion control, as Linux's `tcp_congestion_ops` has it. What it does not state is as there.
pub trait Control: Sized {
    /// What there is to say of it.
    const INFO: Info;

    /// `init`: on an established connection, with the handshake's round-trip time already in `c`.
    fn start(flavour: Flavour, c: &mut Conn, now_ns: u64) -> Self;

    /// What it wants to be told and asked.
    fn wants(&self) -> Wants {
        let own = Self::INFO.own_control;
        Wants {
            cong_control: own,
            pkts_acked: !own,
            in_ack_event: Self::INFO.needs_ecn,
            min_tso_segs: own,
            bursts: false,
            stamps: false,
            lost: false,
        }
    }

    /// `ssthresh`: the threshold to set on loss or ECN echo, packets.
    fn ssthresh(&mut self, c: &mut Conn, now_ns: u64) -> u32;

    /// `cong_avoid`: `acked` packets were newly delivered, outside of CWR and recovery. Most controls let
    /// the window grow only if it limits the sender ([`Conn::cwnd_limited`]); that is theirs to ask.
    #[inline]
    fn cong_avoid(&mut self, _c: &mut Conn, _acked: u32, _now_ns: u64) {}

    /// `cong_control`: called on every ACK, of those alone that have [`Info::own_control`]. `random` is a 32-bit draw.
    #[inline]
    fn cong_control(&mut self, _c: &mut Conn, _rs: &RateSample, _now_ns: u64, _random: u32) {}

    /// `pkts_acked`: called on every ACK once it is worked in. `acked` packets were cumulatively acknowledged,
    /// SACKed before or not; `rtt_us` is the round-trip sample (microseconds), 0 if the ACK gave none.
    #[inline]
    fn pkts_acked(&mut self, _c: &mut Conn, _acked: u32, _rtt_us: u32, _now_ns: u64) {}

    /// `in_ack_event`: called on every ACK once it is worked in, before loss is looked for.
    #[inline]
    fn in_ack_event(&mut self, _c: &mut Conn, _now_ns: u64) {}

    /// `undo_cwnd`: the window to restore when a loss was spurious, packets. By default the one before the reduction
    /// (`tcp_reno_undo_cwnd`).
    fn undo_cwnd(&mut self, c: &mut Conn) -> u32 {
        c.cwnd.max(c.prior_cwnd)
    }

    /// `set_state`: called before `c.ca_state` changes to `new`.
    fn set_state(&mut self, _c: &mut Conn, _new: CaState, _now_ns: u64) {}

    /// `cwnd_event`.
    fn event(&mut self, _c: &mut Conn, _event: Event, _now_ns: u64) {}

    /// `min_tso_segs`: the smallest burst the sender builds, packets.
    #[inline]
    fn min_tso_segs(&mut self, _c: &mut Conn) -> u32 {
        2
    }

    /// A packet was marked lost, of those alone that [want](Control::wants) it.
    fn lost(&mut self, _c: &mut Conn, _lost: &Lost, _now_ns: u64) {}

    /// The rate that the user wants (bytes a second), of those that have [`Info::needs_rate`].
    fn set_rate(&mut self, _c: &mut Conn, _rate: u64, _now_ns: u64) {}

    /// The connection, with the handshake's round-trip time, is this much (ns) older than its first data.
    fn opened_before(&mut self, _clock: Clock, _ns: u64) {}
}

/// The list of congestion controls: [`Kind`](crate::Kind), and [`Cca`](crate::Cca), which passes each call on.
macro_rules! controls {
    ($($file:ident $name:ident($held:ty),)+ => $($in_c:ident = $header:ident),+ $(,)?) => {
        $(pub use $file::$name;)+

        /// A congestion control by name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Kind {
            $(#[doc = concat!("See [`", stringify!($name), "`](crate::", stringify!($name), ").")] $name,)+
            $(#[doc = concat!("In C, of `cca/`: ", stringify!($in_c), ".")] $in_c,)+
            /// Out of a file of the user's own.
            Own($crate::own::Mine),
            /// A type of a program's own ([`Kind::of`]).
            Rust($crate::typed::Typed),
        }

        impl Kind {
            /// Every congestion control that comes with the program, in the order of lists.
            pub const ALL: [Kind; [$(Kind::$name,)+ $(Kind::$in_c),+].len()] = [$(Kind::$name,)+ $(Kind::$in_c),+];

            /// What there is to say of it.
            #[inline]
            pub const fn info(self) -> &'static Info {
                match self {
                    $(Kind::$name => &<$name as Control>::INFO,)+
                    $(Kind::$in_c => &$crate::headers::$header.info,)+
                    Kind::Own(mine) => mine.info(),
                    Kind::Rust(typed) => typed.info(),
                }
            }

            /// A type of a program's own. `RunSpec::replace_control` of `queuewright-scenario` puts it into a run; in scenario files it has no name.
            pub fn of<C: Control + std::fmt::Debug + Clone + Send + Sync + 'static>() -> Kind {
                Kind::Rust($crate::typed::Typed::of::<C>())
            }

            /// The file that it is out of.
            pub const fn own(self) -> Option<&'static $crate::own::Own> {
                match self {
                    Kind::Own(mine) => Some(mine.own()),
                    _ => None,
                }
            }

            /// What is in the file in C that it is compiled from; none: it is in Rust.
            pub fn in_c(self) -> Option<&'static str> {
                self.own().map(|own| &*own.text).or_else(|| $crate::own::header(self.info().header?))
            }

            /// The name in scenario files and results.
            pub fn name(self) -> &'static str {
                self.info().name
            }

            /// The congestion control of that name.
            pub fn from_name(name: &str) -> Option<Kind> {
                Kind::ALL.into_iter().find(|k| k.name() == name)
            }

            /// See [`Info::needs_ecn`].
            pub fn needs_ecn(self) -> bool {
                self.info().needs_ecn
            }

            /// See [`Info::needs_rate`].
            pub fn needs_rate(self) -> bool {
                self.info().needs_rate
            }
        }

        /// A running congestion control. Enum dispatch: no virtual call per packet. Its methods are those of [`Control`].
        #[derive(Debug, Clone)]
        pub enum Cca {
            $(#[doc = concat!("See [`", stringify!($name), "`](crate::", stringify!($name), ").")] $name($held),)+
            /// In C.
            InC(Hosted),
            /// A type of a program's own.
            Rust(Box<dyn $crate::typed::Hooks>),
        }

        #[allow(missing_docs)]
        impl Cca {
            pub fn new(kind: Kind, flavour: Flavour, c: &mut Conn, now_ns: u64) -> Cca {
                match kind {
                    $(Kind::$name => Cca::$name(<$name as Control>::start(flavour, c, now_ns).into()),)+
                    $(Kind::$in_c => Cca::InC($crate::headers::$header.start(c, now_ns)),)+
                    Kind::Own(mine) => Cca::InC(Hosted::start(mine.info(), mine.own().table, c, now_ns)),
                    Kind::Rust(typed) => Cca::Rust(typed.start(flavour, c, now_ns)),
                }
            }

            /// One whose connection is not yet established.
            pub fn unopened(kind: Kind, flavour: Flavour, c: &mut Conn) -> Cca {
                match kind {
                    $(Kind::$name => Cca::$name(<$name as Control>::start(flavour, c, 0).into()),)+
                    $(Kind::$in_c => Cca::InC($crate::headers::$header.unopened()),)+
                    Kind::Own(mine) => Cca::InC(Hosted::unopened(mine.info(), mine.own().table)),
                    Kind::Rust(typed) => Cca::Rust(typed.start(flavour, c, 0)),
                }
            }

            pub fn wants(&self) -> Wants {
                match self {
                    $(Cca::$name(x) => x.wants(),)+
                    Cca::InC(x) => x.wants(),
                    Cca::Rust(x) => x.wants(),
                }
            }

            /// It, if it is in C.
            pub fn hosted(&self) -> Option<&Hosted> {
                match self {
                    Cca::InC(x) => Some(x),
                    _ => None,
                }
            }

            /// Does it control cwnd and pacing itself ([`Info::own_control`])?
            #[inline]
            pub fn has_cong_control(&self) -> bool {
                match self {
                    $(Cca::$name(_) => const { <$name as Control>::INFO.own_control },)+
                    Cca::InC(x) => x.wants().cong_control,
                    Cca::Rust(x) => x.wants().cong_control,
                }
            }

            #[inline]
            pub fn min_tso_segs(&mut self, c: &mut Conn) -> u32 {
                match self {
                    $(Cca::$name(x) => x.min_tso_segs(c),)+
                    Cca::InC(x) => x.min_tso_segs(c),
                    Cca::Rust(x) => x.min_tso_segs(c),
                }
            }

            #[inline]
            /// `sndbuf_expand`: how many windows the send buffer grows to hold.
            pub fn sndbuf_expand(&mut self, c: &mut Conn) -> u32 {
                match self {
                    $(Cca::$name(_) => <$name as Control>::INFO.buffered_windows,)+
                    Cca::InC(x) => x.sndbuf_expand(c),
                    Cca::Rust(x) => x.info().buffered_windows,
                }
            }

            pub fn in_ack_event(&mut self, c: &mut Conn, now_ns: u64) {
                match self {
                    $(Cca::$name(x) => x.in_ack_event(c, now_ns),)+
                    Cca::InC(x) => x.in_ack_event(c, now_ns),
                    Cca::Rust(x) => x.in_ack_event(c, now_ns),
                }
            }

            pub fn lost(&mut self, c: &mut Conn, lost: &Lost, now_ns: u64) {
                match self {
                    $(Cca::$name(x) => x.lost(c, lost, now_ns),)+
                    Cca::InC(x) => x.lost(c, lost, now_ns),
                    Cca::Rust(x) => x.lost(c, lost, now_ns),
                }
            }

            #[inline]
            pub fn cong_control(&mut self, c: &mut Conn, rs: &RateSample, now_ns: u64, random: u32) {
                match self {
                    $(Cca::$name(x) => x.cong_control(c, rs, now_ns, random),)+
                    Cca::InC(x) => x.cong_control(c, rs, now_ns, random),
                    Cca::Rust(x) => x.cong_control(c, rs, now_ns, random),
                }
            }

            #[inline]
            pub fn cong_avoid(&mut self, c: &mut Conn, acked: u32, now_ns: u64) {
                match self {
                    $(Cca::$name(x) => x.cong_avoid(c, acked, now_ns),)+
                    Cca::InC(x) => x.cong_avoid(c, acked, now_ns),
                    Cca::Rust(x) => x.cong_avoid(c, acked, now_ns),
                }
            }

            #[inline]
            pub fn pkts_acked(&mut self, c: &mut Conn, acked: u32, rtt_us: u32, now_ns: u64) {
                match self {
                    $(Cca::$name(x) => x.pkts_acked(c, acked, rtt_us, now_ns),)+
                    Cca::InC(x) => x.pkts_acked(c, acked, rtt_us, now_ns),
                    Cca::Rust(x) => x.pkts_acked(c, acked, rtt_us, now_ns),
                }
            }

            pub fn ssthresh(&mut self, c: &mut Conn, now_ns: u64) -> u32 {
                match self {
                    $(Cca::$name(x) => x.ssthresh(c, now_ns),)+
                    Cca::InC(x) => x.ssthresh(c, now_ns),
                    Cca::Rust(x) => x.ssthresh(c, now_ns),
                }
            }

            pub fn undo_cwnd(&mut self, c: &mut Conn) -> u32 {
                match self {
                    $(Cca::$name(x) => x.undo_cwnd(c),)+
                    Cca::InC(x) => x.undo_cwnd(c),
                    Cca::Rust(x) => x.undo_cwnd(c),
                }
            }

            pub fn set_state(&mut self, c: &mut Conn, new: CaState, now_ns: u64) {
                match self {
                    $(Cca::$name(x) => x.set_state(c, new, now_ns),)+
                    Cca::InC(x) => x.set_state(c, new, now_ns),
                    Cca::Rust(x) => x.set_state(c, new, now_ns),
                }
            }

            pub fn event(&mut self, c: &mut Conn, event: Event, now_ns: u64) {
                match self {
                    $(Cca::$name(x) => x.event(c, event, now_ns),)+
                    Cca::InC(x) => x.event(c, event, now_ns),
                    Cca::Rust(x) => x.event(c, event, now_ns),
                }
            }

            pub fn set_rate(&mut self, c: &mut Conn, rate: u64, now_ns: u64) {
                match self {
                    $(Cca::$name(x) => x.set_rate(c, rate, now_ns),)+
                    Cca::InC(_) => {}
                    Cca::Rust(x) => x.set_rate(c, rate, now_ns),
                }
            }

            pub fn opened_before(&mut self, clock: Clock, ns: u64) {
                match self {
                    $(Cca::$name(x) => x.opened_before(clock, ns),)+
                    Cca::InC(_) => {}
                    Cca::Rust(x) => x.opened_before(clock, ns),
                }
            }
        }
    };
}
pub(crate) use controls;
