//! QUIC: a sender of stream data with loss recovery as RFC 9002 has it, and a receiver that acknowledges as RFC 9000 says.
//!
//! A connection has one packet-number space, that of application data. A packet number is never used again: what is lost goes in a packet with a
//! new number. Each packet carries a *segment*, a piece of the stream that fills it; the last one of a stream may be shorter. On its way a packet is
//! known by its segment (`seq`), from which its length follows, and has its number in the place of TCP's timestamps (`ts`). What an acknowledgement
//! says waits beside the path ([`Ends::frames`]), as it may be long; only its number is on the way.
//!
//! Windows count packets, as the congestion controls do.

mod congestion;
mod constants;
mod hosts;
mod ranges;
mod receiver;
mod rtt;
mod sender;
#[cfg(test)]
mod tests;

pub use constants::PACKET_THRESHOLD;
use queuewright_scenario::packet::QUIC_PAYLOAD_BYTES;
pub use receiver::{AckFrame, Receiver};
pub use sender::{Outgoing, Sender, Setup};
use std::collections::VecDeque;

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
    /// Acknowledgements on their way, and the number of the first.
    frames: VecDeque<AckFrame>,
    first_frame: u32,
    /// When the access link will have sent all that it was given (ns).
    access_free_ns: u64,
    /// What the sender lets out; reused.
    out: Vec<Outgoing>,
}

impl Ends {
    /// The ends of a connection that is not yet open; `size`: segments and the payload of the last of them; none: without end.
    pub fn new(setup: Setup, size: Option<(u32, u32)>) -> Ends {
        Ends {
            sender: Sender::new(setup),
            receiver: Receiver::new(setup.ecn),
            segments: size.map_or(u32::MAX, |s| s.0),
            last_bytes: size.map_or(QUIC_PAYLOAD_BYTES, |s| s.1),
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
