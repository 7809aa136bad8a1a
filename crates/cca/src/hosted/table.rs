//! The structures of `own/table.h`.

use crate::{Conn, RateSample};
use queuewright_own::Shown;
use std::ffi::c_char;

/// A packet that was marked lost, as a control hears of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Lost {
    /// Packets: 1, or those of the buffer it is part of.
    pub packets: u32,
    /// Packets in flight when it was sent, it included.
    pub tx_in_flight: u32,
    /// Packets marked lost since it was sent, it included.
    pub lost: u32,
    /// It was sent while the application limited the connection: 0 or 1.
    pub is_app_limited: u32,
}

/// What a control wants of its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wants {
    /// Window and pacing rate are its own ([`Control::cong_control`](crate::Control::cong_control)).
    pub cong_control: bool,
    /// [`Control::pkts_acked`](crate::Control::pkts_acked).
    pub pkts_acked: bool,
    /// [`Control::in_ack_event`](crate::Control::in_ack_event), of connections without ECN, too.
    pub in_ack_event: bool,
    /// It says itself how many packets are sent at once ([`Control::min_tso_segs`](crate::Control::min_tso_segs)).
    pub min_tso_segs: bool,
    /// No more than that, and not the stack's own size.
    pub bursts: bool,
    /// What was in flight, lost and marked when each packet was sent.
    pub stamps: bool,
    /// Each packet that is marked lost ([`Control::lost`](crate::Control::lost)).
    pub lost: bool,
}

/// A control's answer, and what is wrong with what it has left.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Said {
    pub(super) value: u32,
    pub(super) fault: u32,
}

/// Its state, in C's hands.
type State = *mut u64;

/// What a control in C is compiled to. What it does not want is none; the first three it has to have, or `own.c` does not compile. What has
/// no answer returns what is wrong.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Table {
    pub(crate) size: u64,
    pub(crate) flags: u64,
    pub(crate) about: *const c_char,
    pub(crate) shown: *const Shown,
    pub(super) init: extern "C" fn(State, &mut Conn, u64) -> u32,
    pub(super) ssthresh: extern "C" fn(State, &mut Conn, u64) -> Said,
    pub(super) undo_cwnd: extern "C" fn(State, &mut Conn) -> Said,
    pub(super) cong_avoid: Option<extern "C" fn(State, &mut Conn, u32, u64) -> u32>,
    pub(super) cong_control: Option<extern "C" fn(State, &mut Conn, &RateSample, u64, u32) -> u32>,
    pub(super) pkts_acked: Option<extern "C" fn(State, &mut Conn, u32, u32, u64) -> u32>,
    pub(super) in_ack_event: Option<extern "C" fn(State, &mut Conn, u64) -> u32>,
    pub(super) set_state: Option<extern "C" fn(State, &mut Conn, u32, u64) -> u32>,
    pub(super) cwnd_event: Option<extern "C" fn(State, &mut Conn, u32, u64) -> u32>,
    pub(super) min_tso_segs: Option<extern "C" fn(State, &mut Conn) -> Said>,
    pub(super) sndbuf_expand: Option<extern "C" fn(State, &mut Conn) -> Said>,
    pub(super) lost: Option<extern "C" fn(State, &mut Conn, &Lost, u64) -> u32>,
    pub(super) probe: extern "C" fn(*const u64, &Conn, u64) -> f64,
}

/// `QW_CCA_NEEDS_ECN`
pub(crate) const NEEDS_ECN: u64 = 1;
/// `QW_CCA_ECT1`
pub(crate) const ECT1: u64 = 2;
/// `QW_CCA_STAMPS`
pub(crate) const STAMPS: u64 = 4;
/// `QW_CCA_BURSTS`
pub(crate) const BURSTS: u64 = 8;

impl Table {
    pub(crate) fn wants(&self) -> Wants {
        Wants {
            cong_control: self.cong_control.is_some(),
            pkts_acked: self.pkts_acked.is_some(),
            in_ack_event: self.in_ack_event.is_some(),
            min_tso_segs: self.min_tso_segs.is_some(),
            bursts: self.flags & BURSTS != 0,
            stamps: self.flags & STAMPS != 0,
            lost: self.lost.is_some(),
        }
    }
}

// SAFETY: nobody writes to it, nor to what its pointers lead to.
unsafe impl Sync for Table {}
// SAFETY: as above.
unsafe impl Send for Table {}
