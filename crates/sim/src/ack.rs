//! An acknowledgement between the two hosts of a flow.

use crate::jiffies::timestamp;
use crate::packet::{MAX_SACKS, flag};
use crate::receiver::{AckOut, Receiver};
use crate::sender::AckView;
use queuewright_scenario::packet::{SYN_BYTES, TCP_HEADER_BYTES};

/// An acknowledgement on its way.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ack {
    /// When its sender works it in (ns).
    pub at: u64,
    /// When its receiver sent it (ms).
    pub sent: u32,
    /// Next segment expected.
    pub cum: u32,
    /// Echoed timestamp (ms).
    pub ts: u32,
    /// SACK blocks, of which so many.
    pub sacks: [(u32, u32); MAX_SACKS],
    /// For how many segments behind `cum` the window has room; `u16::MAX`: for so many or more, which is taken for no end.
    pub window: u16,
    /// See `sacks`.
    pub count: u8,
    /// `flag`s.
    pub flags: u8,
}

/// Marks, in the flags of what travels with the ACKs, a client's request: the last of the blocks, which is none then, says for how
/// many segments.
pub const REQUEST: u8 = flag::RETRANSMIT;

impl Ack {
    /// Length of its packet (IP): headers with timestamps, and the option with its SACK blocks (RFC 2018).
    pub fn ip_bytes(&self) -> u32 {
        match (self.flags & flag::SYN, self.count) {
            (0, 0) => TCP_HEADER_BYTES,
            (0, n) => TCP_HEADER_BYTES + 4 + 8 * u32::from(n),
            _ => SYN_BYTES,
        }
    }

    /// It is at its sender, who works it in at `at`.
    pub fn landed(self, at: u64) -> Ack {
        Ack { at, ..self }
    }

    /// What a receiver says, to be at its sender at `at`.
    #[inline]
    pub fn new(at: u64, ack: AckOut, receiver: &Receiver) -> Ack {
        let (blocks, count) = receiver.first_blocks();
        let mut new = Ack {
            at,
            sent: timestamp(ack.at),
            cum: ack.cum,
            ts: ack.ts,
            window: (ack.window_end - ack.cum).min(u16::MAX.into()) as u16,
            flags: ack.flags | flag::DUPLICATE,
            sacks: blocks,
            count,
        };
        if let Some(duplicate) = ack.dsack {
            new.flags |= flag::DSACK;
            new.sacks = [duplicate, blocks[0], blocks[1]];
            new.count = (count + 1).min(MAX_SACKS as u8);
        }
        new
    }

    /// As a sender sees it.
    #[inline]
    pub fn view(&self) -> AckView<'_> {
        AckView {
            cum: self.cum,
            window_end: if self.window == u16::MAX { u32::MAX } else { self.cum + u32::from(self.window) },
            ts: self.ts,
            flags: self.flags,
            sacks: &self.sacks[..usize::from(self.count)],
        }
    }
}
