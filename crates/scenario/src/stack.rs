//! Whose TCP it is, or QUIC, and what its sockets may hold.

use serde::{Deserialize, Serialize};

/// What transports the flows that have a congestion control: TCP of a kind, or QUIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stack {
    /// Linux 6.x: the default.
    Linux,
    /// As the Titrate artifact's ns-3.34: ACK every segment, 1 s minimum RTO without back-off, 5 MiB socket buffers.
    Ns3,
    /// QUIC: RFC 9000's acknowledgements and RFC 9002's loss recovery, between Linux hosts.
    Quic,
}

impl Stack {
    /// Every stack, in the order of lists.
    pub const ALL: [Stack; 3] = [Stack::Linux, Stack::Ns3, Stack::Quic];
    /// Their names, in that order.
    pub const NAMES: [&str; 3] = ["linux", "ns3", "quic"];

    /// The name in scenario files.
    pub fn name(self) -> &'static str {
        match self {
            Stack::Linux => "linux",
            Stack::Ns3 => "ns3",
            Stack::Quic => "quic",
        }
    }

    /// The stack of that name.
    pub fn from_name(name: &str) -> Option<Stack> {
        Stack::ALL.into_iter().find(|stack| stack.name() == name)
    }

    /// What links count for a packet beyond its IP length where a scenario does not say: on Ethernet Linux counts 14 bytes, on its
    /// PPP links ns-3 counts 2.
    pub fn overhead_bytes(self) -> u32 {
        match self {
            Stack::Linux | Stack::Quic => 14,
            Stack::Ns3 => 2,
        }
    }
}

/// How far a TCP sender's application may write ahead of what is acknowledged, or sent; none: the stack's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SendBuffer {
    /// Most bytes of the send buffer, what its segments lie in included: Linux's `tcp_wmem[2]`.
    pub wmem_bytes: Option<u32>,
    /// It writes while less than this waits to be sent, and is woken when less than half of it does: `TCP_NOTSENT_LOWAT`, bytes.
    pub notsent_lowat_bytes: Option<u32>,
}

/// Most bytes of a receiver's buffer, what its segments lie in included: `tcp_rmem[2]` as Linux sets it by itself on a machine of 1 GiB,
/// a 128th of what is free of that (`tcp_init`).
pub const RMEM_BYTES: u32 = 7_156_256;

impl SendBuffer {
    /// Most bytes of the receiver's buffer: [`RMEM_BYTES`], or twice `wmem` where that is more, but no more than a sysctl may say.
    pub fn rmem_bytes(&self) -> u32 {
        self.wmem_bytes.map_or(RMEM_BYTES, |wmem| wmem.saturating_mul(2).clamp(RMEM_BYTES, i32::MAX as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_have_names() {
        assert_eq!(Stack::ALL.map(Stack::name), Stack::NAMES);
        assert_eq!(Stack::NAMES.map(Stack::from_name), Stack::ALL.map(Some));
    }

    #[test]
    fn a_receiver_has_room_for_what_its_sender_may_hold() {
        let room = |wmem| SendBuffer { wmem_bytes: wmem, ..SendBuffer::default() }.rmem_bytes();
        assert_eq!([None, Some(1 << 20), Some(8 << 20)].map(room), [RMEM_BYTES, RMEM_BYTES, 16 << 20]);
        assert_eq!(room(Some(1 << 30)), (1 << 31) - 1);
    }
}
