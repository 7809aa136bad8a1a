//! What packets and acknowledgements say.

/// SACK blocks that fit beside timestamps (RFC 2018 section 3).
pub const MAX_SACKS: usize = 3;

/// Flags of a packet and of an acknowledgement.
pub mod flag {
    /// Opens a connection.
    pub const SYN: u8 = 1;
    /// Sent before.
    pub const RETRANSMIT: u8 = 2;
    /// Sender has reduced its window (RFC 3168).
    pub const CWR: u8 = 4;
    /// Congestion experienced, set by a discipline.
    pub const CE: u8 = 8;
    /// The sender can be told by CE.
    pub const ECT: u8 = 16;
    /// On an ACK: it is of AccECN, whose option takes the place of the last SACK block (RFC 9768 section 3.2.3).
    pub const COUNTS: u8 = 16;
    /// On data, both of these bits: it is a packet of QUIC, which UDP carries. TCP says CWR with new data alone.
    pub const QUIC: u8 = RETRANSMIT | CWR;
    /// It is a datagram of UDP, not a segment of TCP.
    pub const UDP: u8 = 32;
    /// On an ACK: it brings neither data nor another window (not `FLAG_NOT_DUP`, if it acknowledges nothing either).
    pub const DUPLICATE: u8 = 32;
    /// On an ACK: CE was seen (RFC 3168).
    pub const ECE: u8 = 64;
    /// On an ACK of AccECN: the highest of the three bits that count what was marked (RFC 9768 section 3.2.2), beside [`CWR`] and [`ECE`].
    pub const AE: u8 = 8;
    /// See [`AE`].
    pub const ACE: u8 = AE | CWR | ECE;
    /// On data: the last segment of a burst, or of all (PSH).
    pub const PUSH: u8 = 64;
    /// On an ACK: its first SACK block is a duplicate report (RFC 2883).
    pub const DSACK: u8 = 128;
    /// On data: with [`ECT`], the sender says ECT(1), not ECT(0).
    pub const ECT1: u8 = 128;
}

/// Does UDP carry a packet with these flags: a datagram, or a packet of QUIC?
pub const fn over_udp(flags: u8) -> bool {
    flags & flag::UDP != 0 || flags & flag::QUIC == flag::QUIC
}

/// How many marks three bits tell (`TCP_ACCECN_CEP_ACE_MASK`).
pub const MOST_TOLD: u32 = 7;

/// Packets that were marked, as [`flag::ACE`] begins to count them (RFC 9768 section 3.2.1).
const ACE_BEGIN: u32 = 5;

/// The bits of [`flag::ACE`] once so many packets were marked.
pub fn ace(marked: u32) -> u8 {
    let bits = marked.wrapping_add(ACE_BEGIN);
    let bit = |nth: u32, bit: u8| if bits >> nth & 1 != 0 { bit } else { 0 };
    bit(0, flag::ECE) | bit(1, flag::CWR) | bit(2, flag::AE)
}

/// How many more were marked than `known`, modulo 8, by such bits.
pub fn newly_marked(flags: u8, known: u32) -> u32 {
    let bit = |bit: u8| u32::from(flags & bit != 0);
    let bits = bit(flag::ECE) | bit(flag::CWR) << 1 | bit(flag::AE) << 2;
    bits.wrapping_sub(ACE_BEGIN).wrapping_sub(known) & 7
}

/// A packet in a queue. 32 bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Packet {
    /// When it was enqueued (ns).
    pub enqueue_ns: u64,
    /// How long it has waited in the queues that it has left (ns).
    pub waited_ns: u64,
    /// Number of its flow.
    pub flow: u32,
    /// Number of the segment, from 0; of a datagram, the lower half of its number.
    pub seq: u32,
    /// Timestamps ([`crate::forward_path::times`]); of a QUIC packet, its number; of a datagram, the upper half of its number.
    pub ts: u32,
    /// Length as the link counts it.
    pub bytes: u16,
    /// What it is and carries: bits of [`flag`].
    pub flags: u8,
    /// Ports crossed before this one.
    pub hop: u8,
}

impl Packet {
    /// Number of a datagram: when it was sent (ns).
    pub fn number(&self) -> u64 {
        u64::from(self.ts) << 32 | u64::from(self.seq)
    }
}
