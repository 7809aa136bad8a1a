//! What a discipline was asked, and what came to it, as it is kept.

use queuewright_aqm::{Packet, Queue};

/// What was to be done with the queue: which of the discipline's functions was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueOperation {
    /// A packet arrived.
    Enqueue,
    /// One is to leave.
    Dequeue,
    /// The link found nothing to send.
    Idle,
}

/// A call of a discipline with one queue, and all that it was given.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    /// When, ns since the run began.
    pub now_ns: u64,
    /// What was asked.
    pub operation: QueueOperation,
    /// The random number that an arrival comes with.
    pub random: u32,
    /// The queue as it was shown.
    pub queue: Queue,
    /// The packet, if there is one.
    pub packet: Packet,
}

/// A packet that came to a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// When, ns since the run began.
    pub at_ns: u64,
    /// Number of the packet's flow.
    pub flow: u32,
    /// Length as the link counts it.
    pub bytes: u16,
    /// Its ECN codepoint: 0 none, 1 or 2 for a sender that understands it, 3 marked before.
    pub ecn: u8,
}

/// What there is, the first ones alone.
#[derive(Debug)]
pub(crate) struct First<T> {
    all: Vec<T>,
    most: usize,
}

pub(crate) type Calls = First<Call>;
pub(crate) type Arrivals = First<Arrival>;

impl<T> First<T> {
    pub fn new(most: usize) -> First<T> {
        First { all: Vec::new(), most }
    }

    pub fn add(&mut self, one: T) {
        if self.all.len() < self.most {
            self.all.push(one);
        }
    }

    pub fn into_all(self) -> Vec<T> {
        self.all
    }
}
