//! QUIC: a sender of stream data with loss recovery as RFC 9002 has it, and a receiver that acknowledges as RFC 9000 says.
//!
//! A connection has one packet-number space, that of application data. A packet number is never used again: what is lost goes in a packet with a
//! new number. Each packet carries a *segment*, a piece of the stream that fills it; the last one of a stream may be shorter. On its way a packet is
//! known by its segment (`seq`), from which its length follows, and has its number in the place of TCP's timestamps (`ts`). What an acknowledgement
//! says waits beside the path ([`Ends::frames`]), as it may be long; only its number is on the way.
//!
//! Windows count packets, as the congestion controls do.

mod congestion;
mod hosts;
mod ranges;
mod receiver;
mod rtt;
mod sender;
#[cfg(test)]
mod tests;

use queuewright_scenario::packet::{QUIC_DATAGRAM_BYTES, QUIC_PAYLOAD_BYTES};
pub use receiver::{AckFrame, Receiver};
pub use sender::{Outgoing, Sender, Setup};
use std::collections::VecDeque;

/// The receiver's `max_ack_delay` (RFC 9000 section 18.2), ns.
pub const MAX_ACK_DELAY_NS: u64 = 25_000_000;
/// `kGranularity` (RFC 9002 section 6.1.2), ns.
pub const GRANULARITY_NS: u64 = 1_000_000;
/// `kInitialRtt` (RFC 9002 section 6.2.2), ns.
pub const INITIAL_RTT_NS: u64 = 333_000_000;
/// `kPacketThreshold` (RFC 9002 section 6.1.1).
pub const PACKET_THRESHOLD: u32 = 3;
/// `kTimeThreshold` (RFC 9002 section 6.1.2): 9/8.
pub const TIME_THRESHOLD: (u64, u64) = (9, 8);
/// `kPersistentCongestionThreshold` (RFC 9002 section 7.6.1).
pub const PERSISTENT_CONGESTION_THRESHOLD: u64 = 3;
/// `kInitialWindow` and `kMinimumWindow` (RFC 9002 section 7.2), packets: of 1,452 bytes ten are less than 14,720 bytes.
pub const INITIAL_WINDOW: u32 = {
    let bytes = if 14_720 > 2 * QUIC_DATAGRAM_BYTES { 14_720 } else { 2 * QUIC_DATAGRAM_BYTES };
    if 10 * QUIC_DATAGRAM_BYTES < bytes { 10 } else { bytes / QUIC_DATAGRAM_BYTES }
};
/// See [`INITIAL_WINDOW`].
pub const MINIMUM_WINDOW: u32 = 2;
/// Datagrams that a probe timeout sends (RFC 9002 section 6.2.4): two at most.
pub const PROBES: u32 = 2;
/// `N` of RFC 9002 section 7.7: the pacing rate is 5/4 of a window a round trip.
pub const PACING: (u64, u64) = (5, 4);
/// Ranges of an acknowledgement (RFC 9000 section 13.2.3 leaves the number to the receiver).
pub const MOST_RANGES: usize = 32;

/// Both ends of a connection.
#[derive(Debug)]
pub struct Ends {
    /// The end that sends data.
    pub sender: Sender,
    /// The end that acknowledges it.
    pub receiver: Receiver,
    /// Segments to send; `u32::MAX`: without end.
    pub segments: u32,
    /// Payload of the last of them (bytes).
    pub last_bytes: u32,
    /// The first segment has not arrived, and that is to be told.
    awaits_first: bool,
    /// Acknowledgements on their way, and the number of the first.
    frames: VecDeque<AckFrame>,
    first_frame: u32,
    /// When the access link will have sent all that it was given (ns).
    access_free_ns: u64,
    /// What the sender lets out; reused.
    out: Vec<Outgoing>,
}

/// Segments of so much payload, and the payload of the last of them (bytes).
pub fn segments_of(bytes: u64) -> (u32, u32) {
    let segments = u32::try_from(bytes.div_ceil(QUIC_PAYLOAD_BYTES.into())).unwrap_or(u32::MAX - 1);
    match bytes % u64::from(QUIC_PAYLOAD_BYTES) {
        0 => (segments, QUIC_PAYLOAD_BYTES),
        rest => (segments, rest as u32),
    }
}

impl Ends {
    /// The ends of a connection that is not yet open; `size`: segments and the payload of the last of them; none: without end.
    pub fn new(setup: Setup, size: Option<(u32, u32)>) -> Ends {
        Ends {
            sender: Sender::new(setup),
            receiver: Receiver::new(setup.ecn),
            segments: size.map_or(u32::MAX, |s| s.0),
            last_bytes: size.map_or(QUIC_PAYLOAD_BYTES, |s| s.1),
            awaits_first: size.is_some(),
            frames: VecDeque::new(),
            first_frame: 0,
            access_free_ns: 0,
            out: Vec::new(),
        }
    }

    /// An acknowledgement sets out: its number.
    fn departs(&mut self, frame: AckFrame) -> u32 {
        self.frames.push_back(frame);
        self.first_frame.wrapping_add(self.frames.len() as u32 - 1)
    }

    /// The acknowledgement of a number has arrived. Those before it are lost, or it has overtaken them, and they say nothing that it does not.
    fn arrives(&mut self, number: u32) -> Option<AckFrame> {
        let at = number.wrapping_sub(self.first_frame) as usize;
        if at >= self.frames.len() {
            return None;
        }
        self.first_frame = number.wrapping_add(1);
        self.frames.drain(..=at).next_back()
    }
}
