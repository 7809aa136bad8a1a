//! What a sender and a receiver alone are given, and give.

use crate::packet::MAX_SACKS;

/// An acknowledgement, as a sender gets it and a receiver makes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack {
    /// Next segment expected.
    pub cum: u32,
    /// One past the last segment that the window has room for; `u32::MAX`: it has no end.
    pub window_end: u32,
    /// Echoed timestamp (ms); 0: none.
    pub ts: u32,
    /// Echoes a mark.
    pub ece: bool,
    /// With AccECN: how many packets were marked.
    pub marked: u32,
    /// It brings neither data nor another window: that counts, if it acknowledges nothing new.
    pub duplicate: bool,
    /// The first of the blocks is of what came twice (RFC 2883).
    pub dsack: bool,
    /// SACK blocks, newest first, of which so many count.
    pub blocks: [(u32, u32); MAX_SACKS + 1],
    /// How many.
    pub count: usize,
}

impl Ack {
    /// An acknowledgement with these blocks, at most four of them.
    pub fn new(cum: u32, blocks: &[(u32, u32)]) -> Ack {
        let mut ack = Ack {
            cum,
            window_end: u32::MAX,
            ts: 0,
            ece: false,
            marked: 0,
            duplicate: false,
            dsack: false,
            blocks: [(0, 0); MAX_SACKS + 1],
            count: 0,
        };
        for (slot, &block) in ack.blocks.iter_mut().zip(blocks) {
            *slot = block;
            ack.count += 1;
        }
        ack
    }

    /// The blocks.
    pub fn blocks(&self) -> &[(u32, u32)] {
        &self.blocks[..self.count.min(self.blocks.len())]
    }
}

/// How many segments a receiver did not take, by the reasons that Linux counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dropped {
    /// They lie beyond the window (`TcpExtBeyondWindow`).
    pub beyond_window: u32,
    /// The window is closed (`TcpExtTCPZeroWindowDrop`).
    pub zero_window: u32,
    /// There is no memory for what is in order (`TcpExtTCPRcvQDrop`).
    pub no_memory: u32,
}

/// What reaches a receiver at once, in units: segments, or bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Segment {
    /// Its first unit.
    pub seq: u32,
    /// How many.
    pub len: u32,
    /// Its sender's clock (ms); 0: it does not say.
    pub ts: u32,
    /// What it echoes of the receiver's clock (ms); none: nothing.
    pub echo: Option<u32>,
    /// It can be marked.
    pub ect: bool,
    /// It is marked.
    pub ce: bool,
    /// Its sender has reduced its window.
    pub cwr: bool,
    /// It ends a burst, or all.
    pub push: bool,
    /// Its sender has no more: its last unit is the FIN.
    pub fin: bool,
}
