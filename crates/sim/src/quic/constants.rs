//! The numbers of RFC 9000 and RFC 9002.

use queuewright_scenario::packet::QUIC_DATAGRAM_BYTES;

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
