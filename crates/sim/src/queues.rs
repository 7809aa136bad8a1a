//! The queues of a scheduler: packets in a slab, linked in both directions.

use crate::measure::PortMeasure;
use crate::packet::Packet;
use queuewright_aqm::{Discipline, Reason, Spec};

/// A packet and its neighbours in its queue, as index + 1; 0: none. A free slot's `after` is the next free one.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    packet: Packet,
    before: u32,
    after: u32,
}

/// First and last packet of a queue, as index + 1; both 0: empty.
#[derive(Debug, Clone, Copy, Default)]
struct Endpoints {
    head: u32,
    tail: u32,
}

/// A queue that is measured apart.
#[derive(Debug)]
pub struct NamedQueue {
    /// Name in results.
    pub name: String,
    /// What it is measured by.
    pub measure: PortMeasure,
    /// Packets and bytes waiting.
    pub packets: u32,
    /// See `packets`.
    pub bytes: u64,
}

/// The queues of a scheduler. All but the growth of the slab is constant in time.
#[derive(Debug)]
pub struct Queues {
    slots: Vec<Slot>,
    free: u32,
    ends: Vec<Endpoints>,
    /// The first queues, if the scheduler names them; hashed ones are not measured apart.
    pub named: Vec<NamedQueue>,
}

impl Queues {
    /// Empty queues for a scheduler; none if the discipline is not one.
    pub fn of(spec: &Spec, warmup_ns: u64) -> Option<Queues> {
        let count = Discipline::queues_of(spec.info);
        (count > 0).then(|| Queues {
            slots: Vec::new(),
            free: 0,
            ends: vec![Endpoints::default(); count as usize],
            named: (spec.info.queue_names)(spec)
                .into_iter()
                .map(|name| NamedQueue { name, measure: PortMeasure::new(warmup_ns), packets: 0, bytes: 0 })
                .collect(),
        })
    }

    /// Books what changes a named queue, before it changes.
    fn named(&mut self, now: u64, queue: u32) -> Option<&mut NamedQueue> {
        let named = self.named.get_mut(queue as usize)?;
        named.measure.backlog(now, named.bytes, named.packets);
        Some(named)
    }

    /// Appends a packet that arrives at `now`.
    #[inline]
    pub fn push(&mut self, now: u64, queue: u32, packet: Packet) {
        if let Some(named) = self.named(now, queue) {
            named.measure.arrive(now, u32::from(packet.bytes));
            named.packets += 1;
            named.bytes += u64::from(packet.bytes);
        }
        let ends = &mut self.ends[queue as usize];
        let slot = Slot { packet, before: ends.tail, after: 0 };
        let link = if self.free == 0 {
            self.slots.push(slot);
            self.slots.len() as u32
        } else {
            let link = self.free;
            self.free = self.slots[link as usize - 1].after;
            self.slots[link as usize - 1] = slot;
            link
        };
        match ends.tail {
            0 => ends.head = link,
            tail => self.slots[tail as usize - 1].after = link,
        }
        ends.tail = link;
    }

    /// Takes a queue's first packet, or its last; none: it is empty.
    #[inline]
    pub fn take(&mut self, now: u64, queue: u32, tail: bool) -> Option<Packet> {
        let ends = self.ends.get_mut(queue as usize)?;
        let link = if tail { ends.tail } else { ends.head };
        let Slot { packet, before, after } = *self.slots.get((link as usize).wrapping_sub(1))?;
        match before {
            0 => ends.head = after,
            before => self.slots[before as usize - 1].after = after,
        }
        match after {
            0 => ends.tail = before,
            after => self.slots[after as usize - 1].before = before,
        }
        self.slots[link as usize - 1].after = self.free;
        self.free = link;
        if let Some(named) = self.named(now, queue) {
            named.packets -= 1;
            named.bytes -= u64::from(packet.bytes);
        }
        Some(packet)
    }

    /// All that waits, queue by queue.
    pub fn waiting(&self) -> Vec<Packet> {
        let mut all = Vec::new();
        for ends in &self.ends {
            let mut link = ends.head;
            while let Some(slot) = self.slots.get((link as usize).wrapping_sub(1)) {
                all.push(slot.packet);
                link = slot.after;
            }
        }
        all
    }

    /// When a queue's first packet was enqueued; 0: it is empty.
    #[inline]
    pub fn head_ns(&self, queue: u32) -> u64 {
        let link = self.ends[queue as usize].head as usize;
        self.slots.get(link.wrapping_sub(1)).map_or(0, |slot| slot.packet.enqueue_ns)
    }

    /// A packet of a queue is marked.
    pub fn mark(&mut self, now: u64, queue: u32, reason: Reason) {
        if let Some(named) = self.named.get_mut(queue as usize) {
            named.measure.mark(now, reason);
        }
    }

    /// A packet is refused by the queue that it would have joined.
    pub fn refused(&mut self, now: u64, queue: u32, bytes: u32, reason: Reason) {
        if let Some(named) = self.named.get_mut(queue as usize) {
            named.measure.arrive(now, bytes);
            named.measure.drop(now, bytes, reason);
        }
    }

    /// A packet that was taken off a queue is dropped.
    pub fn dropped(&mut self, now: u64, queue: u32, bytes: u32, reason: Reason) {
        if let Some(named) = self.named.get_mut(queue as usize) {
            named.measure.drop(now, bytes, reason);
        }
    }

    /// A packet that was taken off a queue starts onto the link.
    #[inline]
    pub fn send(&mut self, now: u64, queue: u32, sojourn_ns: u64, bytes: u32) {
        if let Some(named) = self.named.get_mut(queue as usize) {
            named.measure.send(now, sojourn_ns, bytes);
        }
    }
}
