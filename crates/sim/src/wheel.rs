//! The future: a calendar of events, and a heap for those beyond its horizon.
//!
//! Almost every event lies at most one propagation delay ahead, so a ring of
//! short, sorted buckets takes and gives each in constant time; only timers
//! (hundreds of milliseconds ahead) see the heap. Events of equal time come
//! out in the order they went in.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What happens when an event comes due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum EventKind {
    /// `count` packets of a flow, `seq` first, reach the port at hop `hop`.
    Arrive,
    /// An acknowledgement reaches its sender.
    Ack,
    /// A sender's retransmission, probe or reordering timer may be due.
    Timer,
    /// A paced or throttled sender may send again.
    Resume,
    /// A receiver's delayed or compressed ACK may be due.
    AckTimer,
    /// A UDP source's next packet reaches the first port.
    Udp,
    /// A flow opens its connection.
    Start,
}

/// An event. 32 bytes: two to a cache line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    /// When (ns).
    pub at: u64,
    /// Whose.
    pub flow: u32,
    /// First segment of a burst; cumulative acknowledgement.
    pub seq: u32,
    /// Timestamp carried (ms), as in RFC 7323.
    pub ts: u32,
    /// SACK blocks (slab index) of an ACK; free otherwise.
    pub aux: u32,
    /// Packets of a burst.
    pub count: u16,
    /// What.
    pub kind: EventKind,
    /// `packet::*` flags.
    pub flags: u8,
    next: u32,
}

impl Event {
    /// An event of a flow that carries nothing else.
    pub fn plain(at: u64, kind: EventKind, flow: u32) -> Event {
        Event { at, flow, seq: 0, ts: 0, aux: NONE, count: 0, kind, flags: 0, next: NONE }
    }
}

/// No event, no slab entry.
pub const NONE: u32 = u32::MAX;

/// The event queue.
#[derive(Debug)]
pub struct Wheel {
    buckets: Vec<(u32, u32)>, // first and last node of each bucket
    occupied: Vec<u64>,       // a bit a bucket
    nodes: Vec<Event>,
    free: u32,
    shift: u32,
    /// Absolute index of the bucket that holds the next event.
    cursor: u64,
    near: usize,
    far: BinaryHeap<Reverse<(u64, u64, Event)>>,
    far_serial: u64,
    next_at: u64,
}

impl Wheel {
    /// A wheel for events about `gap_ns` apart and mostly at most `reach_ns` ahead.
    pub fn new(gap_ns: u64, reach_ns: u64) -> Wheel {
        // A bucket about as wide as the gap between events holds one or two of them.
        let shift = gap_ns.clamp(64, 1 << 22).ilog2();
        let wanted = (reach_ns >> shift).saturating_add(2);
        // At most 2^17 buckets (1 MiB of heads); what lies beyond takes the heap.
        let n = wanted.next_power_of_two().clamp(1 << 10, 1 << 17) as usize;
        Wheel {
            buckets: vec![(NONE, NONE); n],
            occupied: vec![0; n / 64],
            nodes: Vec::new(),
            free: NONE,
            shift,
            cursor: 0,
            near: 0,
            far: BinaryHeap::new(),
            far_serial: 0,
            next_at: u64::MAX,
        }
    }

    /// Time of the next event; `u64::MAX` if there is none.
    #[inline(always)]
    pub fn next_at(&self) -> u64 {
        self.next_at
    }

    /// Adds an event. Its time must not lie before the last one popped.
    #[inline(always)]
    pub fn push(&mut self, event: Event) {
        let bucket = (event.at >> self.shift).max(self.cursor);
        if bucket - self.cursor >= self.buckets.len() as u64 {
            self.far_serial += 1;
            self.far.push(Reverse((event.at, self.far_serial, event)));
            if self.near == 0 {
                self.next_at = self.next_at.min(event.at);
            }
            return;
        }
        self.insert(bucket, event);
        self.next_at = self.next_at.min(event.at);
    }

    // Always inlined, and field by field: a caller's event never takes shape on the stack, where
    // reading it back in other widths than it was written would stall.
    #[inline(always)]
    fn insert(&mut self, bucket: u64, event: Event) {
        let slot = bucket as usize & (self.buckets.len() - 1);
        let node = self.free;
        if node == NONE {
            return self.insert_grown(bucket, event);
        }
        let n = &mut self.nodes[node as usize];
        self.free = n.next;
        n.at = event.at;
        n.flow = event.flow;
        n.seq = event.seq;
        n.ts = event.ts;
        n.aux = event.aux;
        n.count = event.count;
        n.kind = event.kind;
        n.flags = event.flags;
        n.next = NONE;
        self.link(slot, node, event.at);
    }

    /// Inserts after making room: more events are pending than ever before.
    #[cold]
    #[inline(never)]
    fn insert_grown(&mut self, bucket: u64, event: Event) {
        let old = self.nodes.len();
        let size = (old * 2).max(1024);
        self.nodes.resize(size, event);
        for i in old..size {
            self.nodes[i].next = if i + 1 < size { i as u32 + 1 } else { NONE };
        }
        self.free = old as u32;
        self.insert(bucket, event);
    }

    /// Links a node into the list of its bucket, after those of its time.
    #[inline]
    fn link(&mut self, slot: usize, node: u32, at: u64) {
        self.near += 1;
        let (head, tail) = self.buckets[slot];
        if head == NONE {
            self.buckets[slot] = (node, node);
            self.occupied[slot / 64] |= 1 << (slot % 64);
        } else if self.nodes[tail as usize].at <= at {
            self.nodes[tail as usize].next = node;
            self.buckets[slot].1 = node;
        } else if at < self.nodes[head as usize].at {
            self.nodes[node as usize].next = head;
            self.buckets[slot].0 = node;
        } else {
            let mut before = head;
            loop {
                let next = self.nodes[before as usize].next;
                if self.nodes[next as usize].at > at {
                    self.nodes[node as usize].next = next;
                    self.nodes[before as usize].next = node;
                    break;
                }
                before = next;
            }
        }
    }

    /// Takes the next event. Always inlined: returned through memory, its fields would be read back in other
    /// widths than they were written, which stalls.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<Event> {
        if self.near == 0 {
            if self.far.is_empty() {
                return None;
            }
            self.refill(u64::MAX);
        } else if self.next_at >> self.shift != self.cursor {
            self.seek();
        }
        let mask = self.buckets.len() - 1;
        let slot = self.cursor as usize & mask;
        let (head, tail) = self.buckets[slot];
        let event = self.nodes[head as usize];
        self.nodes[head as usize].next = self.free;
        self.free = head;
        self.near -= 1;
        if head == tail {
            self.buckets[slot] = (NONE, NONE);
            self.occupied[slot / 64] &= !(1 << (slot % 64));
            self.find_next();
        } else {
            self.buckets[slot].0 = event.next;
            self.next_at = self.nodes[event.next as usize].at;
        }
        Some(event)
    }

    /// Moves the cursor to the bucket of the next event, and in from the heap what then lies near.
    fn seek(&mut self) {
        self.cursor = self.next_at >> self.shift;
        if let Some(Reverse((at, ..))) = self.far.peek()
            && (at >> self.shift) - self.cursor < self.buckets.len() as u64
        {
            self.refill(self.cursor);
        }
    }

    /// Moves events from the heap into the ring, starting at bucket `from` or at the first of them.
    #[cold]
    fn refill(&mut self, from: u64) {
        if let Some(Reverse((at, ..))) = self.far.peek() {
            self.cursor = from.min(at >> self.shift);
        }
        while let Some(Reverse((at, ..))) = self.far.peek() {
            let bucket = at >> self.shift;
            if bucket - self.cursor >= self.buckets.len() as u64 {
                break;
            }
            let Some(Reverse((_, _, event))) = self.far.pop() else { break };
            self.insert(bucket, event);
        }
    }

    /// Finds the time of the next event after the cursor's bucket ran empty.
    #[inline]
    fn find_next(&mut self) {
        let far = self.far.peek().map_or(u64::MAX, |Reverse((at, ..))| *at);
        if self.near == 0 {
            self.next_at = far;
            return;
        }
        let words = self.occupied.len();
        let slot = self.cursor as usize & (self.buckets.len() - 1);
        let mut word = slot / 64;
        let mut bits = self.occupied[word] & (!0u64 << (slot % 64));
        // The ring wraps: at most one look at each word, and a second at the first.
        for _ in 0..=words {
            if bits != 0 {
                let slot = word * 64 + bits.trailing_zeros() as usize;
                self.next_at = self.nodes[self.buckets[slot].0 as usize].at.min(far);
                if far <= self.next_at {
                    self.refill((far >> self.shift).max(self.cursor));
                }
                return;
            }
            word = if word + 1 == words { 0 } else { word + 1 };
            bits = self.occupied[word];
        }
        unreachable!("an event is in the ring");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Pops in order of time, first in first out among equals, whatever the mix of near and far.
        #[test]
        fn pops_in_order(ops in proptest::collection::vec((0u64..4, 0u64..1 << 34, any::<bool>()), 1..400)) {
            let mut wheel = Wheel::new(1000, 1 << 20);
            let mut model: std::collections::BTreeMap<(u64, u32), ()> = Default::default();
            let (mut now, mut serial) = (0, 0);
            for (scale, delay, pop) in ops {
                if pop {
                    let got = wheel.pop();
                    let want = model.pop_first();
                    prop_assert_eq!(got.map(|e| (e.at, e.seq)), want.map(|(k, ())| k));
                    if let Some(e) = got { now = e.at }
                } else {
                    let at = now + (delay >> (scale * 9));
                    let mut e = Event::plain(at, EventKind::Timer, 0);
                    e.seq = serial;
                    wheel.push(e);
                    model.insert((at, serial), ());
                    serial += 1;
                }
                prop_assert_eq!(wheel.next_at(), model.keys().next().map_or(u64::MAX, |k| k.0));
            }
        }
    }
}
