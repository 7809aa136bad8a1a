//! Acknowledgements that cross ports on their reverse path.
//!
//! In a queue such an acknowledgement is a packet with a number in the place of a segment's; what it says waits here. Links keep
//! a flow's packets in order, so what is older than one that has come back was dropped on the way, and goes. Where links jitter it may
//! have been overtaken: then only a request is worth waiting for.

use crate::ack::{Ack, REQUEST};
use crate::packet::flag;
use crate::wheel::{Event, EventKind};
use std::collections::VecDeque;

/// So many requests that a later acknowledgement has overtaken are waited for; of most that are older queues drop the rest.
const MOST_OVERTAKEN: usize = 16;

/// The acknowledgements of a flow that are under way.
#[derive(Debug, Default)]
pub struct AcksInFlight {
    acks: VecDeque<Ack>,
    /// Number of the first of them.
    first: u32,
    /// Requests, by number, that something later has overtaken, or that were dropped.
    overtaken: VecDeque<(u32, Ack)>,
    /// So many were sent, and so many came back.
    pub sent: u64,
    /// See `sent`.
    pub came: u64,
}

impl AcksInFlight {
    /// One sets out: its number.
    pub fn send(&mut self, ack: Ack) -> u32 {
        self.acks.push_back(ack);
        self.sent += 1;
        self.first.wrapping_add(self.acks.len() as u32 - 1)
    }

    /// One of a flow sets out that is `at` its first port then: the event of its arrival there. `forward_hops`: ports that the flow's
    /// packets cross. `flags`: what it is, beside what it says of ECN.
    pub fn departs(&mut self, ack: Ack, flow: u32, forward_hops: u32, flags: u8) -> Event {
        let mut event = Event::plain(ack.at, EventKind::Arrive, flow);
        // With AccECN all that a host sends is ECN-capable (`tcp_ecn_send`).
        event.flags = flags | if ack.flags & flag::COUNTS != 0 { flag::ECT | flag::ECT1 } else { 0 };
        event.seq = self.send(ack);
        event.go_on(forward_hops + 1, 0);
        event
    }

    /// What one says that is under way.
    pub fn get(&self, number: u32) -> Option<&Ack> {
        let overtaken = || self.overtaken.iter().find(|(of, _)| *of == number).map(|(_, ack)| ack);
        self.acks.get(number.wrapping_sub(self.first) as usize).or_else(overtaken)
    }

    /// One has come back: what it says. None: a later one came before it, over a link where packets overtake one another, and
    /// it has nothing to add, as it is no request.
    pub fn take(&mut self, number: u32) -> Option<Ack> {
        self.came += 1;
        let at = number.wrapping_sub(self.first) as usize;
        if at >= self.acks.len() {
            let overtaken = self.overtaken.iter().position(|(of, _)| *of == number)?;
            return self.overtaken.remove(overtaken).map(|(_, request)| request);
        }
        for (behind, ack) in (0..).zip(self.acks.range(..at)) {
            if ack.flags & REQUEST != 0 {
                self.overtaken.push_back((self.first.wrapping_add(behind), *ack));
            }
        }
        while self.overtaken.len() > MOST_OVERTAKEN {
            self.overtaken.pop_front();
        }
        self.first = number.wrapping_add(1);
        self.acks.drain(..=at).next_back()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_older_than_what_came_is_gone() {
        let mut under_way = AcksInFlight::default();
        let numbers: Vec<u32> = (0..5).map(|_| under_way.send(Ack::default())).collect();
        assert_eq!(numbers, [0, 1, 2, 3, 4]);
        assert!(under_way.take(2).is_some() && under_way.take(1).is_none() && under_way.get(1).is_none());
        assert!(under_way.get(3).is_some() && under_way.take(4).is_some() && under_way.take(3).is_none());
        assert_eq!(under_way.send(Ack::default()), 5);
        assert_eq!((under_way.sent, under_way.came), (6, 4));
    }

    /// What it asks for no other says.
    #[test]
    fn a_request_that_was_overtaken_still_asks() {
        let mut under_way = AcksInFlight::default();
        let numbers: Vec<u32> = (0..6u32)
            .map(|cum| {
                under_way.send(Ack { cum, flags: if cum % 2 == 1 { REQUEST } else { 0 }, ..Ack::default() })
            })
            .collect();
        assert!(under_way.take(numbers[4]).is_some());
        // Not the one that only acknowledged, and each once; the third was dropped.
        assert!(under_way.take(numbers[0]).is_none() && under_way.take(numbers[2]).is_none());
        assert_eq!(under_way.take(numbers[1]).map(|ack| ack.cum), Some(1));
        assert!(under_way.take(numbers[1]).is_none());
        assert_eq!(under_way.take(numbers[5]).map(|ack| ack.cum), Some(5));
        // Those that never come are forgotten in the end.
        for _ in 0..100 {
            let lost = under_way.send(Ack { flags: REQUEST, ..Ack::default() });
            let next = under_way.send(Ack::default());
            assert!(under_way.take(next).is_some() && lost != next);
        }
        assert_eq!(under_way.overtaken.len(), MOST_OVERTAKEN);
    }
}
