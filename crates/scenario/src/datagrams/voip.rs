//! Voice over IP: packets of 20 ms of speech, as long as the call lasts.

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
const PACKETS_PER_S: u64 = 50;
/// IPv4, UDP and RTP headers, bytes (RFC 791, 768, 3550).
const HEADERS: u32 = 20 + 8 + 12;

impl Codec {
    /// All, the first the usual one.
    pub const ALL: [Codec; 2] = [Codec::G711, Codec::G729];

    /// Name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Codec::G711 => "g711",
            Codec::G729 => "g729",
        }
    }

    /// The codec of a name.
    pub fn from_name(name: &str) -> Option<Codec> {
        Codec::ALL.into_iter().find(|c| c.name() == name)
    }

    /// IP length of each packet, bytes.
    pub fn packet_bytes(self) -> u32 {
        let speech = match self {
            Codec::G711 => 160,
            Codec::G729 => 20,
        };
        HEADERS + speech
    }

    /// Time between packets, ns.
    pub fn interval_ns(self) -> u64 {
        1_000_000_000 / PACKETS_PER_S
    }

    /// Bits a second of IP packets.
    pub fn bps(self) -> u64 {
        u64::from(self.packet_bytes()) * 8 * PACKETS_PER_S
    }
}
