//! The networks of the paper's training and tests (INFOCOM 2023 section III-C, and the authors' program).

use crate::{Error, Tasks};
use queuewright_scenario::{Flags, Scenario};

/// One-way delays of training, ms.
pub const PAPER_ONE_WAY_MS: [u32; 4] = [10, 20, 30, 40];
/// Numbers of flows of training.
pub const PAPER_FLOWS: [u32; 3] = [100, 200, 250];

/// What a buffer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buffer {
    /// The bandwidth-delay product over the square root of the number of flows.
    Small,
    /// So many packets.
    Packets(u32),
}

/// Packets of 1538 bytes that a link of `bps` sends a second, whole ones.
fn packets_per_s(bps: u64) -> u64 {
    bps / (1538 * 8)
}

/// The buffer for `flows` flows of a one-way delay, packets: ceil(C 2 d / sqrt(N)).
pub fn buffer_packets(bps: u64, one_way_ms: u32, flows: u32) -> u32 {
    let bdp = packets_per_s(bps) as f64 * 2.0 * f64::from(one_way_ms) / 1000.0;
    (bdp / f64::from(flows).sqrt()).ceil() as u32
}

/// Networks as the paper's: a link of `bps`, half of the flows CUBIC, half NewReno, all with ECN, and a UDP flow of each
/// of `udp_bps`; every combination of delay, number of flows and UDP rate is a scenario. Flows start within 10 ms, and
/// what training sees begins with their slow start.
///
/// # Errors
/// What the scenario format does not allow.
pub fn paper(
    bps: u64,
    one_way_ms: &[u32],
    flows: &[u32],
    udp_bps: &[u64],
    buffer: Buffer,
    episode_s: u32,
) -> Result<Tasks, Error> {
    let mut scenarios = Vec::new();
    for &d in one_way_ms {
        for &n in flows {
            for &udp in udp_bps {
                let packets = match buffer {
                    Buffer::Small => buffer_packets(bps, d, n),
                    Buffer::Packets(packets) => packets,
                };
                let half = |n: u32, cca: &str| match n {
                    0 => String::new(),
                    n => format!("{n}x{cca}:ecn=true:start=0s..10ms,"),
                };
                let flags = Flags {
                    rate: Some(format!("{bps}bit")),
                    rtt: Some(format!("{}ms", 2 * d)),
                    flows: Some(
                        half(n / 2, "cubic") + &half(n - n / 2, "newreno") + &format!("1xcbr:{udp}bit"),
                    ),
                    aqm: Some(format!("queuepilot:rate={bps}bit")),
                    buffer: Some(format!("{packets}p")),
                    duration: Some(format!("{episode_s}s")),
                    warmup: Some("0s".into()),
                    seeds: Some("1".into()),
                    ..Flags::default()
                };
                scenarios.push(Scenario::from_flags(&flags).map_err(Error::Scenario)?);
            }
        }
    }
    Tasks::new(scenarios)
}
