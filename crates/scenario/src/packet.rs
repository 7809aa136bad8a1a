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
/// Of which sizes of transfers are made up.
pub(crate) const SEGMENT_BYTES: u64 = MSS as u64;
/// IP length of a SYN with Linux's options.
pub const SYN_BYTES: u32 = 60;
