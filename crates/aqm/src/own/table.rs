//! The structures of `own/table.h`.

use crate::{Packet, Queue, Verdict};
use queuewright_own::Shown;
use std::ffi::{c_char, c_int};

/// Any instance, in C's hands.
#[repr(C)]
pub(super) struct Head {
    pub(super) kind: u64,
    pub(super) of: *const Table,
}

// The structures of `own/table.h`.

#[derive(Debug)]
#[repr(C)]
pub(super) struct Range {
    pub(super) name: *const c_char,
    pub(super) shift: u64,
    pub(super) least: u64,
    pub(super) most: u64,
}

#[derive(Debug)]
#[repr(C)]
pub(super) struct Help {
    pub(super) name: *const c_char,
    pub(super) about: *const c_char,
    pub(super) start: f64,
    pub(super) kind: u64,
}

#[derive(Debug)]
#[repr(C)]
pub(crate) struct Table {
    pub(super) size: u64,
    pub(super) params_at: u64,
    pub(super) params_bytes: u64,
    pub(super) state_at: u64,
    pub(super) state_bytes: u64,
    pub(super) about: *const c_char,
    pub(super) ranges: *const Range,
    pub(super) helps: *const Help,
    pub(super) shown: *const Shown,
    pub(super) set: extern "C" fn(*mut Head, *const c_char, u64) -> c_int,
    pub(super) init: extern "C" fn(*mut Head, u64),
    pub(super) enqueue: extern "C" fn(*mut Head, u64, *const Queue, *const Packet, u32) -> Verdict,
    pub(super) dequeue: extern "C" fn(*mut Head, u64, *const Queue, *const Packet) -> Verdict,
    pub(super) idle: extern "C" fn(*mut Head, u64),
    pub(super) probe: extern "C" fn(*const Head, u64) -> f64,
}

// SAFETY: nobody writes to it, nor to what its pointers lead to.
unsafe impl Sync for Table {}
// SAFETY: as above.
unsafe impl Send for Table {}
