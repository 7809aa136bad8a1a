//! The forward path of a flow as the ports see it: what they need to know of its packets, and where they leave them.

use crate::jiffies::timestamp;
use crate::packet::Packet;
use queuewright_scenario::packet::{SYN_BYTES, TCP_HEADER_BYTES};

/// A packet that has arrived at its receiver, or will. 16 bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Delivery {
    /// When (ns, below 2^56), and the `packet::flag`s in the lowest byte.
    at_flags: u64,
    /// Number of the segment, from 0; of a datagram, the lower half of its number.
    pub seq: u32,
    /// See [`times`]; of a QUIC packet, its number.
    ts: u32,
}

/// A segment's timestamps (RFC 7323) in 32 bits: the 20 lower ones of its sender's clock, and how many ms before that its receiver's
/// clock showed what it echoes, 4,095 at most. Both are found again ([`Delivery::times`]) where it is under way for less than 17 minutes.
#[inline]
pub fn times(ms: u32, echo: u32) -> u32 {
    let age = ms.wrapping_sub(echo).min((1 << (32 - CLOCK_BITS)) - 1);
    age << CLOCK_BITS | ms & ((1 << CLOCK_BITS) - 1)
}

const CLOCK_BITS: u32 = 20;

impl Delivery {
    /// When it arrives (ns).
    #[inline]
    pub fn at(self) -> u64 {
        self.at_flags >> 8
    }

    /// Its sender's clock when it was sent, and its echo of its receiver's (ms).
    #[inline]
    pub fn times(self) -> (u32, u32) {
        let at = timestamp(self.at());
        let sent = at.wrapping_sub(at.wrapping_sub(self.ts) & ((1 << CLOCK_BITS) - 1));
        (sent, sent.wrapping_sub(self.ts >> CLOCK_BITS))
    }

    /// Number of a QUIC packet, which is in the place of the timestamps.
    pub fn number(self) -> u32 {
        self.ts
    }

    /// `packet::flag`s.
    #[inline]
    pub fn flags(self) -> u8 {
        self.at_flags as u8
    }
}

/// The forward path of a flow: what the ports touch of it for each of its packets. One cache line.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct ForwardPath {
    /// Serialisation of a full packet on the access link (ns); 0: unlimited.
    pub access_ns: u64,
    /// Least time from a packet's arrival at its receiver to that of its answer's effect at the first port (ns).
    pub loop_ns: u64,
    /// The event pending at which the hosts catch up (ns); `u64::MAX`: none.
    pub wake_at: u64,
    /// Packets delivered and not yet worked in, in order of arrival: a ring.
    ring: Box<[Delivery]>,
    head: u32,
    len: u32,
    /// The first port.
    pub port: u32,
    /// The last segment of a finite flow.
    pub last_segment: u32,
    /// Bytes on the link of a full packet, of the last one, of a SYN.
    pub wire_bytes: u16,
    /// See `wire_bytes`.
    pub last_bytes: u16,
    /// See `wire_bytes`.
    pub syn_bytes: u16,
    /// Ports crossed; [`ForwardPath::LONG`] if a link on the way needs more looking into.
    pub hops: u8,
}

/// With [`flag::SYN`](crate::packet::flag::SYN), the number of a segment without data that is none: the ACK that ends the handshake, or that of the
/// peer's FIN.
pub const BARE: u32 = 1;

impl Default for ForwardPath {
    fn default() -> ForwardPath {
        ForwardPath {
            access_ns: 0,
            loop_ns: 0,
            wake_at: u64::MAX,
            ring: Box::default(),
            head: 0,
            len: 0,
            port: 0,
            last_segment: u32::MAX,
            wire_bytes: 0,
            last_bytes: 0,
            syn_bytes: 0,
            hops: 1,
        }
    }
}

impl ForwardPath {
    /// More ports than a flow can cross.
    pub const LONG: u8 = u8::MAX;

    /// Length on the link of a packet of this flow; of what has no data, too ([`BARE`]).
    #[inline]
    pub fn bytes_of(&self, seq: u32, syn: bool) -> u16 {
        if syn {
            self.syn_bytes - if seq == BARE { (SYN_BYTES - TCP_HEADER_BYTES) as u16 } else { 0 }
        } else if seq < self.last_segment {
            self.wire_bytes
        } else if seq == self.last_segment {
            self.last_bytes
        } else {
            // A FIN.
            self.syn_bytes - (SYN_BYTES - TCP_HEADER_BYTES) as u16
        }
    }

    /// Leaves a packet that arrives at `at`, not before the one left last. Is it the only one?
    #[inline]
    pub fn deliver(&mut self, at: u64, packet: &Packet) -> bool {
        if self.len as usize == self.ring.len() {
            self.grow();
        }
        let tail = (self.head + self.len) as usize & (self.ring.len() - 1);
        self.ring[tail] =
            Delivery { at_flags: at << 8 | u64::from(packet.flags), seq: packet.seq, ts: packet.ts };
        self.len += 1;
        self.len == 1
    }

    /// Doubles the ring: it allocates only while there is more on its way than ever before.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let mut ring = std::mem::take(&mut self.ring).into_vec();
        ring.rotate_left(self.head as usize);
        self.head = 0;
        ring.resize((ring.len() * 2).max(8), Delivery::default());
        self.ring = ring.into();
    }

    /// When the first packet left here arrives; `u64::MAX`: there is none.
    #[inline]
    pub fn first_at(&self) -> u64 {
        if self.len == 0 { u64::MAX } else { self.ring[self.head as usize].at() }
    }

    /// Takes the first packet, if it arrives by `until`.
    #[inline]
    pub fn take(&mut self, until: u64) -> Option<Delivery> {
        if self.len == 0 {
            return None;
        }
        let first = self.ring[self.head as usize];
        if first.at() > until {
            return None;
        }
        self.head = (self.head + 1) & (self.ring.len() as u32 - 1);
        self.len -= 1;
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_back_in_order_what_arrives_by_then() {
        let mut forward = ForwardPath::default();
        assert_eq!(forward.first_at(), u64::MAX);
        let mut next = 0;
        for seq in 0..1000u32 {
            let only = forward.deliver(u64::from(seq), &Packet { seq, flags: 3, ..Packet::default() });
            assert_eq!(only, next == seq);
            if seq % 3 == 0 {
                while let Some(d) = forward.take(u64::from(seq / 2)) {
                    assert_eq!((d.at(), d.seq, d.flags()), (u64::from(next), next, 3));
                    next += 1;
                }
                assert_eq!(next, seq / 2 + 1);
                assert_eq!(forward.first_at(), if next > seq { u64::MAX } else { u64::from(next) });
            }
        }
    }

    /// At any time of the clock's 50 days, and on a way of up to 17 minutes.
    #[test]
    fn timestamps_come_out_as_they_went_in() {
        for at in [0, 1, 999, 1_048_575, 1_048_576, 1 << 31, u32::MAX] {
            for way in [0u64, 1, 20, 60_000, 1_048_575] {
                for age in [0, 1, 40, 4094, 4095, 4096, 70_000] {
                    let sent = u64::from(at) * 1_000_000 + 999_999;
                    let mut forward = ForwardPath::default();
                    let echo = at.wrapping_sub(age);
                    let arrives = sent + way * 1_000_000;
                    forward
                        .deliver(arrives, &Packet { ts: times(timestamp(sent), echo), ..Packet::default() });
                    let got = forward.take(arrives).unwrap().times();
                    assert_eq!(got, (at, at.wrapping_sub(age.min(4095))), "{at} {way} {age}");
                }
            }
        }
    }
}
