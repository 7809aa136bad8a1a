//! Lengths of packets, bytes.

use queuewright_aqm::MTU_BYTES;

/// IP length of a full packet: Ethernet's MTU.
pub const FULL_BYTES: u32 = MTU_BYTES as u32;
/// IPv4 and TCP headers with timestamps.
pub const TCP_HEADER_BYTES: u32 = 20 + 20 + 12;
/// IPv4 and UDP headers.
pub const UDP_HEADER_BYTES: u32 = 20 + 8;
/// Payload of a full TCP segment.
pub const MSS: u32 = FULL_BYTES - TCP_HEADER_BYTES;
/// So many bytes in pieces of `full`: how many there are, and the bytes of the last.
pub fn pieces(bytes: u64, full: u32) -> (u32, u32) {
    let pieces = u32::try_from(bytes.div_ceil(full.into())).unwrap_or(u32::MAX - 1);
    match bytes % u64::from(full) {
        0 => (pieces, full),
        rest => (pieces, rest as u32),
    }
}

/// Of which sizes of transfers are made up.
pub(crate) const SEGMENT_BYTES: u64 = MSS as u64;
/// IP length of a SYN with Linux's options.
pub const SYN_BYTES: u32 = 60;

/// IPv6 and UDP headers of a QUIC packet. A full one is a datagram of 1,452 bytes.
pub const QUIC_IP_UDP_BYTES: u32 = 40 + 8;
/// A full datagram: what congestion control counts (`max_datagram_size` of RFC 9002).
pub const QUIC_DATAGRAM_BYTES: u32 = FULL_BYTES - QUIC_IP_UDP_BYTES;
/// Short header (RFC 9000 section 17.3.1) with a connection ID of 8 bytes and a packet number of 2, and the tag of the AEAD.
const QUIC_PACKET_BYTES: u32 = 1 + 8 + 2 + 16;
/// What a packet with stream data has beside payload: all of the above, and a STREAM frame's type, stream and offset, without a length (RFC 9000
/// section 19.8).
pub const QUIC_HEADER_BYTES: u32 = QUIC_IP_UDP_BYTES + QUIC_PACKET_BYTES + 1 + 1 + 8;
/// Stream data of a full packet.
pub const QUIC_PAYLOAD_BYTES: u32 = FULL_BYTES - QUIC_HEADER_BYTES;
/// IP length of an acknowledgement of one range: an ACK frame's type, largest number (4), delay (2), count (1) and range (2) (RFC 9000 section 19.3).
pub const QUIC_ACK_BYTES: u32 = QUIC_IP_UDP_BYTES + QUIC_PACKET_BYTES + 1 + 4 + 2 + 1 + 2;
/// What each further range takes, and what the three ECN counts do.
pub const QUIC_ACK_RANGE_BYTES: u32 = 2 + 2;
/// See [`QUIC_ACK_RANGE_BYTES`].
pub const QUIC_ACK_ECN_BYTES: u32 = 3 * 4;
/// IP length of each end's handshake: a datagram of 1,200 bytes (RFC 9000 section 14.1).
pub const QUIC_INITIAL_BYTES: u32 = QUIC_IP_UDP_BYTES + 1200;
