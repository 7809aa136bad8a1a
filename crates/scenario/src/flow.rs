//! A flow, decided.

use crate::datagrams::Gaps;
use crate::requests::ClientSpec;
use crate::stack::{SendBuffer, Stack};
use queuewright_cca::Kind as CcaKind;
use serde::{Deserialize, Serialize};

/// A flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowSpec {
    /// Index into [`crate::RunSpec::groups`].
    pub group: u32,
    /// What it sends.
    pub traffic: Traffic,
    /// Round-trip time without queues and serialisation, ns; at least twice the ports' delays.
    pub base_rtt_ns: u64,
    /// When it starts, ns.
    pub start_ns: u64,
    /// For how long its handshake is over when it starts, if it is TCP without a size of its own, ns; none: as long as a
    /// measurement tool takes.
    pub open_for_ns: Option<u64>,
    /// When its application stops writing, ns; none: never.
    pub stop_ns: Option<u64>,
    /// Rate of its access link, bits per second; none: unlimited.
    pub access_bps: Option<u64>,
    /// Each packet's extra delay on the access link is uniform in 0..=jitter, ns, without reordering.
    pub jitter_ns: u64,
    /// What its application may write ahead.
    pub send_buffer: SendBuffer,
    /// Ports it crosses, in order.
    pub path: Vec<u32>,
    /// Ports that its acknowledgements cross, in order; none: nothing holds them up.
    pub reverse_path: Vec<u32>,
    /// What its packets say of hosts and service.
    pub header: HeaderSpec,
}

/// What packets say beside what they carry. Hosts have numbers; 0 is a host that only this flow has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeaderSpec {
    /// The host that they come from.
    pub source: u32,
    /// The host that they go to.
    pub destination: u32,
    /// Differentiated services codepoint (RFC 2474), 0 to 63; of acknowledgements, too.
    pub dscp: u8,
}

/// What a flow sends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Traffic {
    /// A connection with a congestion control: TCP's, or QUIC's.
    Tcp {
        /// Which of the two, and whose.
        stack: Stack,
        /// Congestion control.
        #[serde(with = "crate::plain::control")]
        cca: CcaKind,
        /// Application bytes to send; none: without end.
        size_bytes: Option<u64>,
        /// Packets that may be sent before the first acknowledgement; none: the stack's choice.
        initial_window: Option<u32>,
        /// ECN (RFC 3168) negotiated.
        ecn: bool,
        /// Its packets say ECT(1) (RFC 9331) and not ECT(0).
        l4s: bool,
        /// Bits per second of segments asked of a congestion control that needs a rate; 0 for others.
        rate_bps: u64,
        /// What its client asks for, after `size_bytes` if that is given; none: it sends by itself.
        client: Option<ClientSpec>,
    },
    /// UDP datagrams, which nothing answers.
    Datagrams {
        /// How packets follow one another.
        gaps: Gaps,
        /// Bits per second of IP packets, on average.
        bps: u64,
        /// IP length of a packet.
        packet_bytes: u32,
    },
}
