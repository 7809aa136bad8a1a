//! What becomes of each packet at a port, for who looks on.

use crate::packet::{Packet, flag, over_udp};
use queuewright_aqm::Reason;
use std::collections::VecDeque;

/// What has become of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Fate {
    /// It waits.
    Waits = 0,
    /// It has left for the link.
    Sent = 1,
    /// It was dropped when it came.
    Refused = 2,
    /// It was dropped while it waited.
    Dropped = 3,
}

/// A packet at a port.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Watched {
    /// When it came, ns.
    pub came_ns: u64,
    /// When it left, or was dropped, ns.
    pub left_ns: u64,
    /// Its flow.
    pub flow: u32,
    /// Its segment.
    pub seq: u32,
    /// Length as the link counts it.
    pub bytes: u16,
    /// What has become of it.
    pub fate: Fate,
    /// Why it was dropped or marked.
    pub reason: Reason,
    /// The discipline has marked it.
    pub marked: bool,
    /// It is a segment of TCP's that was sent before.
    pub again: bool,
    /// Packets before it in the queue when it came.
    pub ahead: u32,
    /// Nobody has heard of it.
    new: bool,
}

impl Watched {
    fn is(&self, p: &Packet) -> bool {
        self.came_ns == p.enqueue_ns && self.flow == p.flow && self.seq == p.seq
    }
}

/// The packets of a port.
#[derive(Debug, Default)]
pub struct Watch {
    /// Those that wait, in the order in which they came, each with its number.
    waiting: VecDeque<(u32, Watched)>,
    /// Those that have left since the last look.
    left: Vec<(u32, Watched)>,
    next: u32,
}

impl Watch {
    /// A packet comes, to so many that wait.
    #[cold]
    pub fn come(&mut self, p: &Packet, ahead: u32) {
        let watched = Watched {
            came_ns: p.enqueue_ns,
            left_ns: u64::MAX,
            flow: p.flow,
            seq: p.seq,
            bytes: p.bytes,
            fate: Fate::Waits,
            reason: Reason::None,
            marked: false,
            again: !over_udp(p.flags) && p.flags & flag::RETRANSMIT != 0,
            ahead,
            new: true,
        };
        self.waiting.push_back((self.next, watched));
        self.next = self.next.wrapping_add(1);
    }

    /// A packet leaves, unless [`Watch::lose`] follows.
    #[cold]
    pub fn leave(&mut self, now: u64, p: &Packet) {
        self.end(now, p, Fate::Sent, Reason::None);
    }

    /// A packet is dropped: at once, or on its way out.
    #[cold]
    pub fn lose(&mut self, now: u64, p: &Packet, reason: Reason) {
        match self.left.last_mut().filter(|(_, last)| last.is(p)) {
            Some((_, last)) => (last.fate, last.reason) = (Fate::Dropped, reason),
            None if p.enqueue_ns == now => self.end(now, p, Fate::Refused, reason),
            None => self.end(now, p, Fate::Dropped, reason),
        }
    }

    /// A packet is marked: as it comes, or on its way out.
    #[cold]
    pub fn mark(&mut self, p: &Packet, reason: Reason) {
        let last = self.left.last_mut().filter(|(_, last)| last.is(p));
        if let Some((_, of)) = last.or_else(|| self.waiting.iter_mut().rev().find(|(_, one)| one.is(p))) {
            (of.marked, of.reason) = (true, reason);
        }
    }

    fn end(&mut self, now: u64, p: &Packet, fate: Fate, reason: Reason) {
        // A queue's first, mostly; the one that has just come, if it is refused.
        let at = match self.waiting.back().is_some_and(|(_, last)| last.is(p)) {
            true => Some(self.waiting.len() - 1),
            false => self.waiting.iter().position(|(_, one)| one.is(p)),
        };
        if let Some((number, mut one)) = at.and_then(|at| self.waiting.remove(at)) {
            (one.left_ns, one.fate) = (now, fate);
            if reason != Reason::None {
                one.reason = reason;
            }
            self.left.push((number, one));
        }
    }

    /// Gives `see` what there is news of, and forgets those that have left.
    pub fn news(&mut self, mut see: impl FnMut(u32, &Watched)) {
        for (number, one) in self.left.drain(..) {
            see(number, &one);
        }
        for (number, one) in self.waiting.iter_mut().rev().take_while(|(_, one)| one.new) {
            see(*number, one);
            one.new = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bits that say QUIC would say so of a segment of TCP's.
    #[test]
    fn a_packet_of_quic_was_not_sent_before() {
        let again = |flags: u8| {
            let (mut watch, mut told) = (Watch::default(), Vec::new());
            watch.come(&Packet { flags, ..Packet::default() }, 0);
            watch.news(|_, one| told.push(one.again));
            told
        };
        assert_eq!(again(flag::RETRANSMIT), [true]);
        for flags in [0, flag::UDP, flag::QUIC, flag::QUIC | flag::ECT] {
            assert_eq!(again(flags), [false], "{flags}");
        }
    }
}
