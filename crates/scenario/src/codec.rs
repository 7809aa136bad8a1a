//! What speech is encoded with, and how often it is sent.

use serde::{Deserialize, Serialize};

/// What speech is encoded with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Codec {
    /// ITU-T G.711: 64 kbit/s.
    G711,
    /// ITU-T G.729: 8 kbit/s.
    G729,
}

/// Packets a second: one for every 20 ms of speech, the default of RFC 3551 section 4.2 for sampled codecs.
pub(crate) const PACKETS_PER_S: u64 = 50;

impl Codec {
    /// Speech in a packet, ns.
    pub const PACKET_NS: u64 = 1_000_000_000 / PACKETS_PER_S;

    pub(crate) const ALL: [Codec; 2] = [Codec::G711, Codec::G729];

    /// Its word.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Codec::G711 => "g711",
            Codec::G729 => "g729",
        }
    }

    /// Bytes of speech in a packet.
    pub(crate) fn speech(self) -> u32 {
        match self {
            Codec::G711 => 160,
            Codec::G729 => 20,
        }
    }
}
