//! Congestion controls in C (`cca/qw_cca.h`), in the simulator: those that come with the program, and files of a user's own.
//!
//! An event is a call by pointer, up to four for each ACK. The compiler could not see into the C in any case.

mod table;

use crate::{CaState, Conn, Event, Info, RateSample};
use std::fmt;
use table::Said;
pub(crate) use table::{ECT1, NEEDS_ECN, Table};
pub use table::{Lost, Wants};

/// A value that an event has set and with which no connection can go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// The congestion control's name, which is its file's.
    pub control: &'static str,
    /// The event.
    pub event: &'static str,
    code: u32,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.code {
            1 => "a window (cwnd) of 0 packets; it is at least 1",
            2 => "a pacing_rate of 0; it is at least 1 byte a second",
            _ => "an ssthresh below 2 packets",
        };
        write!(
            f,
            "{}.h: after qw_{}_{} there is {what}",
            self.control,
            self.control.replace('-', "_"),
            self.event
        )
    }
}

/// A control in C at work on a connection.
#[derive(Debug, Clone)]
pub struct Hosted {
    table: &'static Table,
    info: &'static Info,
    /// Zeroed before it begins; C aligns to 8 bytes at most.
    state: Box<[u64]>,
    /// The first of the run.
    fault: Option<Fault>,
}

impl Hosted {
    /// One whose connection is not yet established.
    pub(crate) fn unopened(info: &'static Info, table: &'static Table) -> Hosted {
        let state = vec![0; (table.size as usize).div_ceil(8)].into();
        Hosted { table, info, state, fault: None }
    }

    /// One at its beginning.
    pub(crate) fn start(info: &'static Info, table: &'static Table, c: &mut Conn, now_ns: u64) -> Hosted {
        let mut begun = Hosted::unopened(info, table);
        let code = (table.init)(begun.state.as_mut_ptr(), c, now_ns);
        begun.note("init", code);
        begun
    }

    /// What went wrong first.
    pub fn fault(&self) -> Option<Fault> {
        self.fault
    }

    /// Its variables for display, and their values.
    pub fn probe(&self, c: &Conn, i: usize) -> f64 {
        (self.table.probe)(self.state.as_ptr(), c, i as u64)
    }

    pub(crate) fn wants(&self) -> Wants {
        self.table.wants()
    }

    #[inline(always)]
    fn note(&mut self, event: &'static str, code: u32) {
        if code != 0 {
            self.note_first(event, code);
        }
    }

    #[cold]
    fn note_first(&mut self, event: &'static str, code: u32) {
        let control = self.info.name;
        self.fault.get_or_insert(Fault { control, event, code });
    }

    fn heard(&mut self, event: &'static str, said: Said) -> u32 {
        self.note(event, said.fault);
        said.value
    }

    pub(crate) fn ssthresh(&mut self, c: &mut Conn, now_ns: u64) -> u32 {
        let said = (self.table.ssthresh)(self.state.as_mut_ptr(), c, now_ns);
        self.heard("ssthresh", said)
    }

    #[inline]
    pub(crate) fn cong_avoid(&mut self, c: &mut Conn, acked: u32, now_ns: u64) {
        if let Some(tell) = self.table.cong_avoid {
            let code = tell(self.state.as_mut_ptr(), c, acked, now_ns);
            self.note("cong_avoid", code);
        }
    }

    #[inline]
    pub(crate) fn cong_control(&mut self, c: &mut Conn, rs: &RateSample, now_ns: u64, random: u32) {
        if let Some(tell) = self.table.cong_control {
            let code = tell(self.state.as_mut_ptr(), c, rs, now_ns, random);
            self.note("cong_control", code);
        }
    }

    #[inline]
    pub(crate) fn pkts_acked(&mut self, c: &mut Conn, acked: u32, rtt_us: u32, now_ns: u64) {
        if let Some(tell) = self.table.pkts_acked {
            let code = tell(self.state.as_mut_ptr(), c, acked, rtt_us, now_ns);
            self.note("pkts_acked", code);
        }
    }

    #[inline]
    pub(crate) fn in_ack_event(&mut self, c: &mut Conn, now_ns: u64) {
        if let Some(tell) = self.table.in_ack_event {
            let code = tell(self.state.as_mut_ptr(), c, now_ns);
            self.note("in_ack_event", code);
        }
    }

    pub(crate) fn undo_cwnd(&mut self, c: &mut Conn) -> u32 {
        let said = (self.table.undo_cwnd)(self.state.as_mut_ptr(), c);
        self.heard("undo_cwnd", said)
    }

    pub(crate) fn set_state(&mut self, c: &mut Conn, new: CaState, now_ns: u64) {
        if let Some(tell) = self.table.set_state {
            let code = tell(self.state.as_mut_ptr(), c, new as u32, now_ns);
            self.note("set_state", code);
        }
    }

    pub(crate) fn event(&mut self, c: &mut Conn, event: Event, now_ns: u64) {
        let Some(tell) = self.table.cwnd_event else { return };
        let number = match event {
            Event::TxStart { .. } => 0,
            Event::CompleteCwr => 1,
            Event::Loss => 2,
        };
        let code = tell(self.state.as_mut_ptr(), c, number, now_ns);
        self.note("cwnd_event", code);
    }

    #[inline]
    pub(crate) fn min_tso_segs(&mut self, c: &mut Conn) -> u32 {
        match self.table.min_tso_segs {
            Some(ask) => {
                let said = ask(self.state.as_mut_ptr(), c);
                self.heard("min_tso_segs", said)
            }
            None => 2,
        }
    }

    pub(crate) fn sndbuf_expand(&mut self, c: &mut Conn) -> u32 {
        match self.table.sndbuf_expand {
            Some(ask) => {
                let said = ask(self.state.as_mut_ptr(), c);
                self.heard("sndbuf_expand", said)
            }
            None => Info::PLAIN.buffered_windows,
        }
    }

    pub(crate) fn lost(&mut self, c: &mut Conn, lost: &Lost, now_ns: u64) {
        if let Some(tell) = self.table.lost {
            let code = tell(self.state.as_mut_ptr(), c, lost, now_ns);
            self.note("lost", code);
        }
    }
}

/// A congestion control of the program in C: what there is to say of it, and what it was compiled to.
pub(crate) struct Header {
    pub info: Info,
    pub table: fn() -> &'static Table,
}

impl Header {
    /// One whose connection is not yet established.
    pub fn unopened(&'static self) -> Hosted {
        Hosted::unopened(&self.info, (self.table)())
    }

    /// One at its beginning.
    pub fn start(&'static self, c: &mut Conn, now_ns: u64) -> Hosted {
        Hosted::start(&self.info, (self.table)(), c, now_ns)
    }
}

/// Such a [`Header`]: its name here, what the build script calls its table, what there is to say of it.
macro_rules! header {
    ($name:ident, $table:ident, $info:expr) => {
        pub(crate) static $name: $crate::hosted::Header = $crate::hosted::Header {
            info: $info,
            table: || {
                unsafe extern "C" {
                    static $table: $crate::hosted::Table;
                }
                // SAFETY: the build script has compiled it, and nobody writes to it.
                unsafe { &$table }
            },
        };
    };
}
pub(crate) use header;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cca, Clock, Control, Cubic, Flavour, Kind};
    use std::mem::offset_of;

    /// What is said of a header is what it says itself.
    #[test]
    fn headers_are_what_is_said_of_them() {
        let of_cubic = IN_C.unopened();
        let listed =
            Kind::ALL.map(|kind| (kind.info(), Cca::unopened(kind, Flavour::LINUX, &mut Conn::default())));
        let listed = listed.iter().filter_map(|(info, cca)| Some((*info, cca.hosted()?)));
        for (info, hosted) in listed.chain([(&IN_C.info, &of_cubic)]) {
            let has = |flag: u64| hosted.table.flags & flag != 0;
            assert_eq!(info.own_control, hosted.wants().cong_control, "{}", info.name);
            assert_eq!((info.needs_ecn, info.ect1), (has(NEEDS_ECN), has(ECT1)), "{}", info.name);
        }
    }

    header!(IN_C, qw_control_cubic, Info { name: "in-c", ..Info::PLAIN });

    /// What comes with the program, compiled in: the same answers as in Rust, to whatever events.
    #[test]
    fn a_header_is_a_control() {
        let mut dice = 1u64;
        let mut roll = |most: u64| {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (dice >> 33) % most
        };
        for _ in 0..300 {
            let mut a =
                Conn { srtt_us: 80_000, min_rtt_us: 10_000, is_cwnd_limited: true, ..Conn::default() };
            let mut b = a.clone();
            let mut now = 1 + roll(1 << 40);
            let mut ours = Cubic::start(Flavour::LINUX, &mut a, now);
            let mut theirs = Cca::InC(IN_C.start(&mut b, now));
            assert!(theirs.wants().pkts_acked && !theirs.wants().cong_control && theirs.hosted().is_some());
            for _ in 0..400 {
                now += roll(100_000_000);
                let (acked, rtt_us, event) = (roll(20) as u32, roll(60_000) as u32, roll(100));
                let last_send_ns = now - roll(now.min(1 << 34));
                for c in [&mut a, &mut b] {
                    c.snd_una = c.snd_una.wrapping_add(acked);
                    c.snd_nxt = c.snd_una.wrapping_add(c.cwnd);
                    c.last_send_ns = last_send_ns;
                }
                ours.pkts_acked(&mut a, acked, rtt_us, now);
                theirs.pkts_acked(&mut b, acked, rtt_us, now);
                match event {
                    0..3 => {
                        a.ssthresh = ours.ssthresh(&mut a, now);
                        b.ssthresh = theirs.ssthresh(&mut b, now);
                        (a.cwnd, b.cwnd) = (a.ssthresh, b.ssthresh);
                    }
                    3 => {
                        ours.set_state(&mut a, CaState::Loss, now);
                        theirs.set_state(&mut b, CaState::Loss, now);
                    }
                    4..8 => {
                        let event = Event::TxStart { last_send_ns: Some(last_send_ns).filter(|at| *at > 0) };
                        ours.event(&mut a, event, now);
                        theirs.event(&mut b, event, now);
                    }
                    _ => {
                        ours.cong_avoid(&mut a, acked, now);
                        theirs.cong_avoid(&mut b, acked, now);
                    }
                }
                assert_eq!(format!("{a:?}"), format!("{b:?}"));
            }
            assert_eq!(theirs.hosted().and_then(Hosted::fault), None);
        }
    }

    /// Sizes and places that `qw_cca_layout` has of C's.
    #[test]
    fn structures_are_those_of_c() {
        macro_rules! layout {
            ($($type:ty { $($field:ident),* $(,)? })*) => {
                vec![$(size_of::<$type>(), $(offset_of!($type, $field),)*)*]
            };
        }
        let ours = layout! {
            Clock { parts, shift, hz, tick_ns, tick_us }
            Conn {
                delivered_ns, pacing_rate, edt_ns, last_send_ns, cwnd, cwnd_cnt, ssthresh, prior_cwnd, packets_out,
                sacked_out, lost_out, retrans_out, max_packets_out, snd_una, snd_nxt, mss, srtt_us, min_rtt_us,
                delivered, delivered_ce, lost, app_limited, is_cwnd_limited, pacing, ca_state, clock,
            }
            RateSample {
                prior_ns, interval_us, rtt_us, prior_delivered, delivered, losses, acked_sacked, prior_in_flight,
                tx_in_flight, lost, delivered_ce, is_app_limited, is_ack_delayed, is_tlp,
            }
            Lost { packets, tx_in_flight, lost, is_app_limited }
            Said { value, fault }
            Table {
                size, flags, about, shown, init, ssthresh, undo_cwnd, cong_avoid, cong_control, pkts_acked, in_ack_event,
                set_state, cwnd_event, min_tso_segs, sndbuf_expand, lost, probe,
            }
        };
        unsafe extern "C" {
            static qw_cca_layout: [usize; 128];
            static qw_cca_layouts: usize;
            static qw_cca_states: [u32; 5];
        }
        // SAFETY: the build script has compiled them; the first has so many numbers.
        let (theirs, states) = unsafe {
            (
                std::slice::from_raw_parts((&raw const qw_cca_layout).cast::<usize>(), qw_cca_layouts),
                qw_cca_states,
            )
        };
        assert_eq!(theirs, ours);
        let all = [CaState::Open, CaState::Disorder, CaState::Cwr, CaState::Recovery, CaState::Loss];
        assert_eq!(states, all.map(|state| state as u32));
    }
}
