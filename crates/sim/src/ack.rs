//! An acknowledgement between the two hosts of a flow.

use crate::jiffies::timestamp;
use crate::packet::{MAX_SACKS, flag};
use crate::receiver::{AckOut, Echo, Receiver};
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
    /// What it says beside its numbers: bits of `flag`.
    pub flags: u8,
}

/// Marks, in the flags of what travels with the ACKs, a client's request: the last of the blocks, which is none then, says up to which
/// segment. So one that comes twice asks for nothing more.
pub const REQUEST: u8 = flag::RETRANSMIT;

/// Above so many segments a window is told in whole 32, as Linux scales it by more bits the wider it may be.
const FINE: u32 = 1 << 15;
/// Segments of a window that has no end.
const ENDLESS: u16 = u16::MAX;
/// The widest window that has an end, segments.
const WIDEST: u32 = FINE + (((ENDLESS as u32 - FINE) << 5) - 1);

/// A window (segments) as it travels: all that `tcp_rmem` allows, a little less than 1.1 million segments, in 16 bits.
#[inline]
fn pack(segments: u32) -> u16 {
    match segments {
        ..FINE => segments as u16,
        FINE..=WIDEST => (FINE + ((segments - FINE) >> 5)) as u16,
        _ => ENDLESS,
    }
}

/// The window that [`pack`] was given (segments), cut to what travels; none: it has no end.
#[inline]
fn unpack(window: u16) -> Option<u32> {
    match u32::from(window) {
        _ if window == ENDLESS => None,
        fine @ ..FINE => Some(fine),
        rest => Some(FINE + ((rest - FINE) << 5)),
    }
}

impl Ack {
    /// Length of its packet (IP): headers with timestamps, the option with its SACK blocks (RFC 2018), and AccECN's: of three counters,
    /// or of the two that fit in what is left of 40 bytes (`tcp_options_fit_accecn`).
    pub fn ip_bytes(&self) -> u32 {
        let counts = match (self.flags & flag::COUNTS, self.count) {
            (0, _) => 0,
            (_, 0 | 1) => 12,
            _ => 8,
        };
        match (self.flags & flag::SYN, self.count) {
            (0, 0) => TCP_HEADER_BYTES + counts,
            (0, n) => TCP_HEADER_BYTES + 4 + 8 * u32::from(n) + counts,
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
            window: pack(ack.window_end - ack.cum),
            flags: ack.flags | flag::DUPLICATE,
            sacks: blocks,
            count,
        };
        if let Some(duplicate) = ack.dsack {
            new.flags |= flag::DSACK;
            new.sacks = [duplicate, blocks[0], blocks[1]];
            new.count = (count + 1).min(MAX_SACKS as u8);
        }
        if receiver.echo() == Echo::Accurate {
            // A third block makes room (`tcp_options_fit_accecn`).
            new.count = new.count.min(MAX_SACKS as u8 - 1);
            new.flags |= flag::COUNTS;
            new.sacks[MAX_SACKS - 1].0 = ack.marked;
        }
        new
    }

    /// The same with a request: of a client, which wants what lies before the segment `end`, or of a probe of this number, where that is 0.
    /// What it acknowledges is told for the first time.
    pub fn asking(mut self, end: u32, number: u32) -> Ack {
        self.count = self.count.min(MAX_SACKS as u8 - 1);
        self.sacks[MAX_SACKS - 1] = (end, number);
        self.flags = self.flags & !flag::DUPLICATE | REQUEST;
        self
    }

    /// As a sender sees it.
    #[inline]
    pub fn view(&self) -> AckView<'_> {
        AckView {
            cum: self.cum,
            window_end: unpack(self.window).map_or(u32::MAX, |window| self.cum + window),
            ts: self.ts,
            flags: self.flags,
            // Where a request is, the three bits tell it alone.
            marked: (self.flags & (flag::COUNTS | REQUEST) == flag::COUNTS)
                .then(|| self.sacks[MAX_SACKS - 1].0),
            sacks: &self.sacks[..usize::from(self.count)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No window comes wider than it was told, or by 32 segments narrower.
    #[test]
    fn a_window_of_any_width_arrives() {
        for told in (0..40_000).chain((40_000..=WIDEST).step_by(1_234)).chain([WIDEST]) {
            let came = unpack(pack(told)).unwrap_or(u32::MAX);
            assert!(came <= told && told - came < 32, "{came} of {told}");
            assert!(told >= FINE || came == told);
        }
        assert_eq!([WIDEST + 1, u32::MAX].map(|n| unpack(pack(n))), [None; 2]);
        // `tcp_rmem[2]` is i32::MAX at most.
        assert!(WIDEST > i32::MAX as u32 / 1448 * 2 / 3);
    }
}
