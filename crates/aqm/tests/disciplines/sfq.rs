//! SFQ against a second statement of Linux's: slots in lists by their length, a ring of those with packets
//! (net/sched/sch_sfq.c of Linux 7.2).

use crate::host::{Dice, Host, flow_of, spec};
use queuewright_aqm::{Action, Reason, Value};
use std::collections::VecDeque;

/// A queue with packets: (flow, bytes) each.
struct Slot {
    bucket: u32,
    packets: VecDeque<(u32, u32)>,
    allot: i64,
    /// When its length changed last; the number of the change.
    changed: u64,
}

/// The kernel's, with the ring's head first.
struct Linux {
    ring: VecDeque<Slot>,
    changes: u64,
    limit: usize,
    depth: usize,
    flows: usize,
    quantum: i64,
    headdrop: bool,
}

/// What an arrival does: the flows whose packets are lost, its own among them if it is refused.
type Lost = Vec<u32>;

impl Linux {
    fn len(&self) -> usize {
        self.ring.iter().map(|s| s.packets.len()).sum()
    }

    fn changed(&mut self, at: usize) {
        self.changes += 1;
        self.ring[at].changed = self.changes;
    }

    fn enqueue(&mut self, bucket: u32, packet: (u32, u32)) -> Lost {
        let at = match self.ring.iter().position(|s| s.bucket == bucket) {
            Some(at) => at,
            None if self.ring.len() >= self.flows => return vec![packet.0],
            None => {
                let slot = Slot { bucket, packets: VecDeque::new(), allot: self.quantum, changed: 0 };
                self.ring.push_back(slot);
                self.ring.len() - 1
            }
        };
        if self.ring[at].packets.len() >= self.depth {
            if !self.headdrop {
                return vec![packet.0];
            }
            // One for one: no list sees it, and nobody asks for the limit.
            self.ring[at].packets.push_back(packet);
            return self.ring[at].packets.pop_front().into_iter().map(|p| p.0).collect();
        }
        self.ring[at].packets.push_back(packet);
        self.changed(at);
        if self.len() <= self.limit {
            return Vec::new();
        }
        self.drop_one()
    }

    fn drop_one(&mut self) -> Lost {
        let longest = self.ring.iter().map(|s| s.packets.len()).max().unwrap_or(0);
        let at = match longest {
            0 => return Vec::new(),
            1 => 0,
            _ => {
                let all = 0..self.ring.len();
                let long = all.filter(|i| self.ring[*i].packets.len() == longest);
                long.max_by_key(|i| self.ring[*i].changed).expect("one is the longest")
            }
        };
        let packets = &mut self.ring[at].packets;
        let lost = if self.headdrop { packets.pop_front() } else { packets.pop_back() };
        if packets.is_empty() {
            self.ring.remove(at);
        } else {
            self.changed(at);
        }
        lost.into_iter().map(|p| p.0).collect()
    }

    fn dequeue(&mut self) -> Option<u32> {
        while !self.ring.is_empty() {
            if self.ring[0].allot <= 0 {
                self.ring[0].allot += self.quantum;
                self.ring.rotate_left(1);
                continue;
            }
            let (flow, bytes) = self.ring[0].packets.pop_front().expect("who is in the ring has packets");
            if self.ring[0].packets.is_empty() {
                self.ring.pop_front();
            } else {
                self.changed(0);
                self.ring[0].allot -= i64::from(bytes);
            }
            return Some(flow);
        }
        None
    }
}

/// The bucket of a flow of [`Host::arrive`].
fn bucket(flow: u32, divisor: u32) -> u32 {
    let hash = flow.wrapping_mul(0x9e37_79b9);
    ((u64::from(hash) * u64::from(divisor)) >> 32) as u32
}

fn int(n: u64) -> Value {
    Value::Int(n)
}

/// The flows that an arrival cost a packet.
fn arrive(host: &mut Host, bytes: u32, flow: u32) -> Lost {
    let refused = host.arrive(0, bytes, flow, 0).action == Action::Drop;
    let own = refused.then_some(flow);
    own.into_iter().chain(host.evicted.drain(..).map(|p| flow_of(&p))).collect()
}

#[test]
fn every_packet_meets_its_fate_in_linux() {
    let mut losses = 0;
    for seed in 0..60u64 {
        let mut dice = Dice(seed);
        let (limit, depth) = (2 + dice.roll() % 40, 1 + dice.roll() % 12);
        let (flows, divisor) = (1 + dice.roll() % 24, 1 << (dice.roll() % 6));
        let (quantum, headdrop) = (256 + dice.roll() % 3000, seed % 3 == 0);
        let set = [
            ("limit", int(limit)),
            ("depth", int(depth)),
            ("flows", int(flows)),
            ("divisor", int(divisor)),
            ("quantum", int(quantum)),
            ("headdrop", Value::Flag(headdrop)),
        ];
        let mut host = Host::new(&spec("sfq", &set), 0, 0);
        // sfq_change(): what is more than the others leave room for is cut.
        let flows = flows.min(divisor);
        let limit = limit.min(depth * flows);
        let mut linux = Linux {
            ring: VecDeque::new(),
            changes: 0,
            limit: limit as usize,
            depth: depth as usize,
            flows: flows.min(limit) as usize,
            quantum: quantum as i64,
            headdrop,
        };
        for _ in 0..4000 {
            if dice.roll() % 16 < 9 {
                let (flow, bytes) = ((dice.roll() % 40) as u32, 60 + (dice.roll() % 1455) as u32);
                let theirs = linux.enqueue(bucket(flow, divisor as u32), (flow, bytes));
                losses += theirs.len();
                assert_eq!(arrive(&mut host, bytes, flow), theirs, "{set:?}");
            } else {
                let ours = host.transmit(0, |_| {}).map(|p| flow_of(&p));
                assert_eq!(ours, linux.dequeue(), "{set:?}");
            }
        }
    }
    assert!(losses > 10_000, "{losses}");
}

/// sfq_link() puts a slot in front of those as long as itself, and sfq_drop() takes the first.
#[test]
fn of_two_that_are_as_long_the_last_to_become_so_loses() {
    let mut host = Host::new(&spec("sfq", &[("limit", int(5))]), 0, 0);
    let lost: Vec<Lost> = [0, 1, 0, 1, 0, 1].map(|flow| arrive(&mut host, 1514, flow)).into();
    assert_eq!(lost.concat(), [1]);
}

/// sfq_enqueue(): no slot is free; and sfq_change(): there are no more of them than packets may wait.
#[test]
fn a_flow_too_many_is_refused_and_costs_no_other_a_packet() {
    for (set, packets) in [(("limit", int(64)), 0), (("limit", int(127)), 64)] {
        let mut host = Host::new(&spec("sfq", &[set]), packets, 0);
        assert!((0..64).all(|flow| arrive(&mut host, 1514, flow).is_empty()));
        let v = host.arrive(0, 1514, 64, 0);
        assert_eq!((v.action, v.reason), (Action::Drop, Reason::Limit));
        assert!(host.evicted.is_empty());
    }
}

/// sfq_change(): depth is at most 127, limit at most what all queues hold.
#[test]
fn what_linux_has_no_room_for_is_cut() {
    let mut host = Host::new(&spec("sfq", &[("limit", int(5000)), ("depth", int(1000))]), 0, 0);
    let taken = (0..200).filter(|_| arrive(&mut host, 1514, 0).is_empty()).count();
    assert_eq!(taken, 127);
    let one_queue = [("limit", int(5000)), ("divisor", int(1))];
    let mut host = Host::new(&spec("sfq", &one_queue), 0, 0);
    let taken = (0..200).filter(|flow| arrive(&mut host, 1514, *flow).is_empty()).count();
    assert_eq!(taken, 127);
}

/// sfq_drop(): where all have one packet the next to be served loses it, and is out of the round at once.
#[test]
fn who_loses_the_only_packet_starts_anew() {
    let mut host = Host::new(&spec("sfq", &[]), 0, 0);
    for flow in [0, 1, 2] {
        arrive(&mut host, 1514, flow);
    }
    host.limit(0, 2, 0);
    assert_eq!(host.evicted.drain(..).map(|p| flow_of(&p)).collect::<Lost>(), [0]);
    host.limit(0, 0, 0);
    arrive(&mut host, 1514, 0);
    let order: Lost = std::iter::from_fn(|| host.transmit(0, |_| {})).map(|p| flow_of(&p)).collect();
    assert_eq!(order, [1, 2, 0]);
}
