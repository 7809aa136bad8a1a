//! Congestion controls as Rust types of a program's own.

use crate::control::Control;
use crate::hosted::{Lost, Wants};
use crate::keyed::keyed;
use crate::{CaState, Clock, Conn, Event, Flavour, Info, RateSample};
use std::any::TypeId;
use std::fmt::Debug;

/// Which type it is ([`Kind::of`](crate::Kind::of)).
#[derive(Debug, Clone, Copy)]
pub struct Typed {
    info: &'static Info,
    id: TypeId,
    start: fn(Flavour, &mut Conn, u64) -> Box<dyn Hooks>,
}

impl Typed {
    pub(crate) fn of<C: Control + Debug + Clone + Send + Sync + 'static>() -> Typed {
        Typed {
            info: &C::INFO,
            id: TypeId::of::<C>(),
            start: |flavour, c, now_ns| Box::new(C::start(flavour, c, now_ns)),
        }
    }

    pub(crate) const fn info(self) -> &'static Info {
        self.info
    }

    pub(crate) fn start(self, flavour: Flavour, c: &mut Conn, now_ns: u64) -> Box<dyn Hooks> {
        (self.start)(flavour, c, now_ns)
    }

    fn key(&self) -> (&'static str, TypeId) {
        (self.info.name, self.id)
    }
}

keyed!(Typed);

/// A [`Control`] of any type. What calls it is not known when the program is compiled, so that each call is an indirect one: of these controls
/// alone.
#[doc(hidden)]
pub trait Hooks: Debug + Send + Sync {
    fn copied(&self) -> Box<dyn Hooks>;
    fn info(&self) -> &'static Info;
    fn wants(&self) -> Wants;
    fn ssthresh(&mut self, c: &mut Conn, now_ns: u64) -> u32;
    fn cong_avoid(&mut self, c: &mut Conn, acked: u32, now_ns: u64);
    fn cong_control(&mut self, c: &mut Conn, rs: &RateSample, now_ns: u64, random: u32);
    fn pkts_acked(&mut self, c: &mut Conn, acked: u32, rtt_us: u32, now_ns: u64);
    fn in_ack_event(&mut self, c: &mut Conn, now_ns: u64);
    fn undo_cwnd(&mut self, c: &mut Conn) -> u32;
    fn set_state(&mut self, c: &mut Conn, new: CaState, now_ns: u64);
    fn event(&mut self, c: &mut Conn, event: Event, now_ns: u64);
    fn min_tso_segs(&mut self, c: &mut Conn) -> u32;
    fn lost(&mut self, c: &mut Conn, lost: &Lost, now_ns: u64);
    fn set_rate(&mut self, c: &mut Conn, rate: u64, now_ns: u64);
    fn opened_before(&mut self, clock: Clock, ns: u64);
}

impl<C: Control + Debug + Clone + Send + Sync + 'static> Hooks for C {
    fn copied(&self) -> Box<dyn Hooks> {
        Box::new(self.clone())
    }

    fn info(&self) -> &'static Info {
        &C::INFO
    }

    fn wants(&self) -> Wants {
        Control::wants(self)
    }

    fn ssthresh(&mut self, c: &mut Conn, now_ns: u64) -> u32 {
        Control::ssthresh(self, c, now_ns)
    }

    fn cong_avoid(&mut self, c: &mut Conn, acked: u32, now_ns: u64) {
        Control::cong_avoid(self, c, acked, now_ns);
    }

    fn cong_control(&mut self, c: &mut Conn, rs: &RateSample, now_ns: u64, random: u32) {
        Control::cong_control(self, c, rs, now_ns, random);
    }

    fn pkts_acked(&mut self, c: &mut Conn, acked: u32, rtt_us: u32, now_ns: u64) {
        Control::pkts_acked(self, c, acked, rtt_us, now_ns);
    }

    fn in_ack_event(&mut self, c: &mut Conn, now_ns: u64) {
        Control::in_ack_event(self, c, now_ns);
    }

    fn undo_cwnd(&mut self, c: &mut Conn) -> u32 {
        Control::undo_cwnd(self, c)
    }

    fn set_state(&mut self, c: &mut Conn, new: CaState, now_ns: u64) {
        Control::set_state(self, c, new, now_ns);
    }

    fn event(&mut self, c: &mut Conn, event: Event, now_ns: u64) {
        Control::event(self, c, event, now_ns);
    }

    fn min_tso_segs(&mut self, c: &mut Conn) -> u32 {
        Control::min_tso_segs(self, c)
    }

    fn lost(&mut self, c: &mut Conn, lost: &Lost, now_ns: u64) {
        Control::lost(self, c, lost, now_ns);
    }

    fn set_rate(&mut self, c: &mut Conn, rate: u64, now_ns: u64) {
        Control::set_rate(self, c, rate, now_ns);
    }

    fn opened_before(&mut self, clock: Clock, ns: u64) {
        Control::opened_before(self, clock, ns);
    }
}

impl Clone for Box<dyn Hooks> {
    fn clone(&self) -> Self {
        (**self).copied()
    }
}
