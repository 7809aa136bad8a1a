//! The future: a calendar in two tiers, and a heap for what lies beyond.
//!
//! Almost every event lies at most one propagation delay ahead. Those go, unsorted, to the page of the
//! calendar that covers their time: a write behind the last one. When the page of the present is opened, its
//! events are linked, where they lie, into slots narrower than the gap between events, so that each is found at
//! once. What is touched at random is small (slots and events of one page, the ends of the other pages) and
//! stays in the first-level cache; the mass of events in flight is written and read in sequence.
//! Events of equal time come out by flow, those of a flow in the order they went in: hosts are worked in when they must be, so
//! that what they send goes in earlier or later, and nobody may see that.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What happens when an event comes due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum EventKind {
    /// `count` packets of a flow, `seq` first, reach the port at hop `hop`.
    Arrive,
    /// A flow's hosts must catch up: what they have to do may matter to a port from now on.
    Wake,
    /// A UDP source's next packet reaches the first port.
    Udp,
    /// A flow opens its connection.
    Start,
    /// A flow comes or goes: see `traffic`.
    Traffic,
}

/// An event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// When (ns).
    pub at: u64,
    /// Number of the flow that it happens to.
    pub flow: u32,
    /// First segment of a burst.
    pub seq: u32,
    /// Timestamps ([`crate::forward_path::times`]); of a QUIC packet, its number; of a datagram, the upper half of its number.
    pub ts: u32,
    /// Of an arrival: 0 at the first port, else see [`Event::go_on`]; free otherwise.
    pub aux: u32,
    /// Packets of a burst, at the first port.
    pub count: u16,
    /// What happens.
    pub kind: EventKind,
    /// `packet::*` flags.
    pub flags: u8,
}

impl Event {
    /// An event of a flow that carries nothing else.
    #[inline(always)]
    pub fn plain(at: u64, kind: EventKind, flow: u32) -> Event {
        Event { at, flow, seq: 0, ts: 0, aux: 0, count: 0, kind, flags: 0 }
    }

    /// It is about one packet that has crossed so many ports (1 to 255), and waited so long in their queues. There is room for
    /// 40 bits of that: what has waited longer (18 minutes) counts as that.
    #[inline(always)]
    pub fn go_on(&mut self, hop: u32, waited_ns: u64) {
        let waited = waited_ns.min((1 << 40) - 1);
        self.aux = hop | ((waited >> 16) as u32) << 8;
        self.count = waited as u16;
    }

    /// Ports crossed.
    #[inline(always)]
    pub fn hop(&self) -> u32 {
        self.aux & 0xff
    }

    /// How long what has crossed a port has waited (ns).
    #[inline(always)]
    pub fn waited_ns(&self) -> u64 {
        u64::from(self.aux >> 8) << 16 | u64::from(self.count)
    }

    /// Packets that an arrival is about.
    pub fn packets(&self) -> u64 {
        if self.aux == 0 { u64::from(self.count) } else { 1 }
    }
}

/// An event at rest. 32 bytes: two to a cache line.
///
/// Whole words, as it travels in registers between its maker, its place here and its handler: were it
/// written and read back in other widths, each would wait for the store to reach the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Node {
    at: u64,
    flow_seq: u64,
    ts_aux: u64,
    /// Packets, kind, flags.
    rest: u32,
    /// The next in its slot.
    next: u32,
}

const EMPTY_NODE: Node = Node { at: 0, flow_seq: 0, ts_aux: 0, rest: 0, next: NONE };

impl Node {
    #[inline(always)]
    fn new(e: Event) -> Node {
        Node {
            at: e.at,
            flow_seq: u64::from(e.flow) | u64::from(e.seq) << 32,
            ts_aux: u64::from(e.ts) | u64::from(e.aux) << 32,
            rest: u32::from(e.count) | (e.kind as u32) << 16 | u32::from(e.flags) << 24,
            next: NONE,
        }
    }

    /// Does it come out before an event of a time and flow that goes in now?
    #[inline(always)]
    fn is_before(&self, at: u64, flow: u32) -> bool {
        self.at < at || (self.at == at && self.flow_seq as u32 <= flow)
    }

    #[inline(always)]
    fn event(self) -> Event {
        const KINDS: [EventKind; 8] = {
            use EventKind::*;
            [Arrive, Wake, Udp, Start, Traffic, Traffic, Traffic, Traffic]
        };
        Event {
            at: self.at,
            flow: self.flow_seq as u32,
            seq: (self.flow_seq >> 32) as u32,
            ts: self.ts_aux as u32,
            aux: (self.ts_aux >> 32) as u32,
            count: self.rest as u16,
            kind: KINDS[(self.rest >> 16) as usize % KINDS.len()],
            flags: (self.rest >> 24) as u8,
        }
    }
}

/// No event.
const NONE: u32 = u32::MAX;

/// Slots of the open page, as a power of two.
const SLOT_BITS: u32 = 9;
const SLOTS: usize = 1 << SLOT_BITS;
/// Events that a page takes at a time.
const CHUNK: usize = 8;
/// A page with more events is put in order as a whole: most have tens.
const MANY: usize = 256;
/// A page: a list of chunks.
#[derive(Debug, Clone, Copy)]
struct Page {
    /// Time of its first event; `u64::MAX`: it has none.
    first_at: u64,
    first_chunk: u32,
    last_chunk: u32,
    /// Its events.
    count: u32,
}

impl Page {
    /// The place of its next event; none: it needs another chunk.
    #[inline(always)]
    fn next_place(&mut self) -> Option<usize> {
        let at = self.count as usize % CHUNK;
        if at == 0 {
            return None;
        }
        self.count += 1;
        Some(self.last_chunk as usize * CHUNK + at)
    }
}

const EMPTY: Page = Page { first_at: u64::MAX, first_chunk: NONE, last_chunk: NONE, count: 0 };

/// The event queue.
#[derive(Debug)]
pub struct Wheel {
    /// Time of the next event.
    next_at: u64,
    /// Width of a slot (ns) and of a page, as powers of two.
    slot_shift: u32,
    page_shift: u32,
    /// Absolute index of the open page, and its events, those that have come out with them.
    open: u64,
    open_page: Page,

    /// First and last node of each slot of the open page.
    slots: Box<[(u32, u32); SLOTS]>,
    /// A bit a slot that has events, and a bit a word of those.
    occupied: [u64; SLOTS / 64],
    summary: u64,
    /// Events of the open page that are still to come out.
    sorted: usize,
    /// Time, flow and place of a page's events while they are put in order; else empty.
    in_order: Vec<(u64, u32, u32)>,

    /// A ring of the pages after the open one, and a bit a page that has events.
    pages: Vec<Page>,
    filled: Vec<u64>,
    /// Events in them.
    waiting: usize,
    /// Chunks of events, one behind the other.
    nodes: Vec<Node>,
    /// The chunk after each in its page, or in the list of free ones.
    chunk_next: Vec<u32>,
    free_chunk: u32,

    /// Events beyond the last page.
    far: BinaryHeap<Reverse<(u64, u64, Node)>>,
    far_serial: u64,
}

impl Wheel {
    /// A wheel for events about `gap_ns` apart and mostly at most `reach_ns` ahead.
    pub fn new(gap_ns: u64, reach_ns: u64) -> Wheel {
        // Most slots have no event or one. A page then has tens of events.
        let slot_shift = (gap_ns / 16).clamp(8, 1 << 18).ilog2();
        let page_shift = slot_shift + SLOT_BITS;
        // Four times the reach takes in most timers. At most 2^15 pages (768 KiB): the rest takes the heap.
        let wanted = (reach_ns >> page_shift).saturating_add(2).saturating_mul(4);
        let n = wanted.next_power_of_two().clamp(1 << 8, 1 << 15) as usize;
        Wheel {
            next_at: u64::MAX,
            slot_shift,
            page_shift,
            open: 0,
            open_page: EMPTY,
            slots: Box::new([(NONE, NONE); SLOTS]),
            occupied: [0; SLOTS / 64],
            summary: 0,
            sorted: 0,
            in_order: Vec::new(),
            pages: vec![EMPTY; n],
            filled: vec![0; n / 64],
            waiting: 0,
            nodes: Vec::new(),
            chunk_next: Vec::new(),
            free_chunk: NONE,
            far: BinaryHeap::new(),
            far_serial: 0,
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
        let n = Node::new(event);
        self.push_words(n.at, n.flow_seq, n.ts_aux, n.rest);
    }

    /// Once in the program, that its hot part fits the instruction cache.
    #[inline(never)]
    fn push_words(&mut self, at: u64, flow_seq: u64, ts_aux: u64, rest: u32) {
        let node = Node { at, flow_seq, ts_aux, rest, next: NONE };
        self.next_at = self.next_at.min(at);
        let page = at >> self.page_shift;
        if page <= self.open {
            self.sort_in(node);
        } else if page - self.open < self.pages.len() as u64 {
            self.append(page, node);
        } else {
            self.push_far(node);
        }
    }

    #[cold]
    #[inline(never)]
    fn push_far(&mut self, node: Node) {
        self.far_serial += 1;
        self.far.push(Reverse((node.at, self.far_serial, node)));
    }

    /// Writes an event behind the others of its page.
    #[inline(always)]
    fn append(&mut self, page: u64, node: Node) {
        let slot = page as usize & (self.pages.len() - 1);
        let p = &mut self.pages[slot];
        p.first_at = p.first_at.min(node.at);
        let at = match p.next_place() {
            Some(at) => at,
            None => self.place_in_new_chunk(slot),
        };
        self.waiting += 1;
        self.nodes[at] = node;
    }

    /// [`Page::next_place`] of a page whose chunks are full, or that has none yet.
    #[inline(never)]
    fn place_in_new_chunk(&mut self, slot: usize) -> usize {
        let mut page = self.pages[slot];
        self.filled[slot / 64] |= 1 << (slot % 64);
        let at = self.add_chunk(&mut page);
        self.pages[slot] = page;
        at
    }

    /// The same of the open page.
    #[inline(never)]
    fn open_chunk(&mut self) -> usize {
        let mut page = self.open_page;
        let at = self.add_chunk(&mut page);
        self.open_page = page;
        at
    }

    /// Gives a page room for the next events: the place of the first of them.
    #[inline]
    fn add_chunk(&mut self, page: &mut Page) -> usize {
        if self.free_chunk == NONE {
            self.free_chunk = self.chunk_next.len() as u32;
            self.nodes.resize(self.nodes.len() + CHUNK, EMPTY_NODE);
            self.chunk_next.push(NONE);
        }
        let chunk = self.free_chunk;
        self.free_chunk = std::mem::replace(&mut self.chunk_next[chunk as usize], NONE);
        if page.count == 0 {
            page.first_chunk = chunk;
        } else {
            self.chunk_next[page.last_chunk as usize] = chunk;
        }
        page.last_chunk = chunk;
        page.count += 1;
        chunk as usize * CHUNK
    }

    /// Adds an event to the open page.
    #[inline(always)]
    fn sort_in(&mut self, event: Node) {
        let node = match self.open_page.next_place() {
            Some(at) => at,
            None => self.open_chunk(),
        };
        self.nodes[node] = event;
        self.sorted += 1;
        self.link_in(node as u32, event.at, event.flow_seq as u32);
    }

    /// Links an event of the open page into its slot, after those of its time and flow.
    #[inline(always)]
    fn link_in(&mut self, node: u32, at: u64, flow: u32) {
        let slot = self.slot(at);
        let (head, tail) = self.slots[slot];
        if head == NONE {
            self.slots[slot] = (node, node);
            self.occupied[slot / 64] |= 1 << (slot % 64);
            self.summary |= 1 << (slot / 64);
        } else if self.nodes[tail as usize].is_before(at, flow) {
            self.nodes[tail as usize].next = node;
            self.slots[slot].1 = node;
        } else {
            self.link(slot, node, at, flow);
        }
    }

    /// Links a node into its slot before the first that is later.
    #[inline(never)]
    fn link(&mut self, slot: usize, node: u32, at: u64, flow: u32) {
        let head = self.slots[slot].0;
        if !self.nodes[head as usize].is_before(at, flow) {
            self.nodes[node as usize].next = head;
            self.slots[slot].0 = node;
            return;
        }
        let mut before = head;
        loop {
            let next = self.nodes[before as usize].next;
            if !self.nodes[next as usize].is_before(at, flow) {
                self.nodes[node as usize].next = next;
                self.nodes[before as usize].next = node;
                return;
            }
            before = next;
        }
    }

    /// Links the events of a page that has many, each behind the last one: in their slots they would be looked for one by one.
    #[inline(never)]
    fn link_many(&mut self) {
        let mut all = std::mem::take(&mut self.in_order);
        // Stable: those of a flow stay in the order in which they went in.
        all.sort_by_key(|&(at, flow, _)| (at, flow));
        for (at, flow, node) in all.drain(..) {
            self.link_in(node, at, flow);
        }
        self.in_order = all;
    }

    #[inline(always)]
    fn slot(&self, at: u64) -> usize {
        (at >> self.slot_shift) as usize % SLOTS
    }

    /// Takes the next event. Always inlined: it is returned in registers.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<Event> {
        if self.sorted == 0 && !self.turn() {
            return None;
        }
        let slot = self.slot(self.next_at);
        let (head, tail) = self.slots[slot];
        let event = self.nodes[head as usize];
        self.sorted -= 1;
        if head != tail {
            self.slots[slot].0 = event.next;
            self.next_at = self.nodes[event.next as usize].at;
            return Some(event.event());
        }
        self.slots[slot].0 = NONE;
        let word = &mut self.occupied[slot / 64];
        *word &= !(1 << (slot % 64));
        self.summary &= !(u64::from(*word == 0) << (slot / 64));
        if self.summary == 0 {
            self.next_at = self.first_waiting();
        } else {
            let word = self.summary.trailing_zeros() as usize % (SLOTS / 64);
            let slot = word * 64 + self.occupied[word].trailing_zeros() as usize % 64;
            self.next_at = self.nodes[self.slots[slot].0 as usize].at;
        }
        Some(event.event())
    }

    /// Time of the first event after the open page.
    #[inline(never)]
    fn first_waiting(&self) -> u64 {
        if self.waiting == 0 {
            return self.far.peek().map_or(u64::MAX, |Reverse((at, ..))| *at);
        }
        let slot = (self.open + 1) as usize & (self.pages.len() - 1);
        let mut word = slot / 64;
        let mut bits = self.filled[word] & (!0u64 << (slot % 64));
        // The ring wraps: at most one look at each word, and a second at the first.
        for _ in 0..=self.filled.len() {
            if bits != 0 {
                return self.pages[word * 64 + bits.trailing_zeros() as usize].first_at;
            }
            word = (word + 1) & (self.filled.len() - 1);
            bits = self.filled[word];
        }
        unreachable!("a page has events");
    }

    /// Opens the page of the next event; false if there is none.
    #[inline(never)]
    fn turn(&mut self) -> bool {
        if self.next_at == u64::MAX {
            return false;
        }
        self.open = self.next_at >> self.page_shift;
        // What is of it in the heap is put in order with the rest.
        self.take_in(self.open + 1);
        let slot = self.open as usize & (self.pages.len() - 1);
        let page = std::mem::replace(&mut self.pages[slot], EMPTY);
        self.filled[slot / 64] &= !(1 << (slot % 64));
        self.waiting -= page.count as usize;
        // All of the last one has come out.
        let last = std::mem::replace(&mut self.open_page, page);
        if last.count > 0 {
            self.chunk_next[last.last_chunk as usize] = self.free_chunk;
            self.free_chunk = last.first_chunk;
        }
        self.sorted = page.count as usize;
        let many = self.sorted > MANY;
        let (mut chunk, mut left) = (page.first_chunk, page.count as usize);
        while left > 0 {
            let first = chunk as usize * CHUNK;
            for node in first..first + left.min(CHUNK) {
                let event = &self.nodes[node];
                let (at, flow) = (event.at, event.flow_seq as u32);
                if many {
                    self.in_order.push((at, flow, node as u32));
                } else {
                    self.link_in(node as u32, at, flow);
                }
            }
            left -= left.min(CHUNK);
            chunk = self.chunk_next[chunk as usize];
        }
        if many {
            self.link_many();
        }
        // What now lies within the ring comes in from the heap.
        self.take_in(self.open + self.pages.len() as u64);
        true
    }

    /// Takes what lies before a page from the heap.
    #[inline(always)]
    fn take_in(&mut self, end: u64) {
        while let Some(Reverse((at, ..))) = self.far.peek()
            && at >> self.page_shift < end
            && let Some(Reverse((.., event))) = self.far.pop()
        {
            self.append(event.at >> self.page_shift, event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Pops in order of time, of equals by flow, of a flow first in first out, whatever the mix of near and far.
        #[test]
        fn pops_in_order(ops in proptest::collection::vec((0u64..6, 0u64..1 << 34, any::<bool>(), 0u32..3), 1..400)) {
            let mut wheel = Wheel::new(1000, 1 << 20);
            let mut model: std::collections::BTreeMap<(u64, u32, u32), ()> = Default::default();
            let (mut now, mut serial) = (0, 0);
            for (scale, delay, pop, flow) in ops {
                if pop {
                    let got = wheel.pop();
                    let want = model.pop_first();
                    prop_assert_eq!(got.map(|e| (e.at, e.seq)), want.map(|(k, ())| (k.0, k.2)));
                    if let Some(e) = got { now = e.at }
                } else {
                    let at = now + (delay >> (scale * 9));
                    let mut e = Event::plain(at, EventKind::Wake, flow);
                    e.seq = serial;
                    wheel.push(e);
                    model.insert((at, flow, serial), ());
                    serial += 1;
                }
                prop_assert_eq!(wheel.next_at(), model.keys().next().map_or(u64::MAX, |k| k.0));
            }
        }
    }

    /// Two groups of flows whose events all have the same times: those that went in first have the higher numbers.
    #[test]
    fn many_events_of_one_time_come_out_by_flow() {
        let mut wheel = Wheel::new(1000, 1 << 20);
        let n = 20_000u32;
        // Within the ring, and beyond it.
        let far = 1 << 40;
        for time in [5_000_000, 5_000_000, 5_000_100, far] {
            for flow in (n..2 * n).chain(0..n) {
                wheel.push(Event::plain(time, EventKind::Wake, flow));
            }
        }
        for (at, flow, _) in [(5_000_000, 2), (5_000_100, 1), (far, 1)]
            .into_iter()
            .flat_map(|(at, each)| (0..2 * n).flat_map(move |flow| (0..each).map(move |i| (at, flow, i))))
        {
            let event = wheel.pop().unwrap();
            assert_eq!((event.at, event.flow), (at, flow));
        }
        assert!(wheel.pop().is_none());
    }
}
