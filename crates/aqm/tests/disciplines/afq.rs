//! AFQ beside a second statement of its rule (Sharma and others, NSDI 2018), in which packets are sorted and nothing has a queue; and beside what
//! fair queueing is: bit by bit, to each the same.

use crate::host::{Dice, Host, flow_of, spec};
use queuewright_aqm::{Action, Discipline, Packet, Queue, Reason, TCP, Value};
use std::collections::VecDeque;

const MS: u64 = 1_000_000;
const ROWS: usize = 4;
const COLUMNS: u64 = 4096;

/// What is a slip of the pen away from the rule.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Slip {
    None,
    /// Who has sent nothing for a while may catch up.
    NoBump,
    /// As many rounds ahead as there are queues is not too far.
    OneFurther,
    /// What is dropped counts, too.
    CountsDropped,
    /// A packet's round is that of its first byte.
    FirstByte,
    /// The first row alone says how far a flow reaches.
    OneRow,
    /// All of a flow's counters rise by a packet's bytes.
    Sums,
    /// Nothing joins the round under way.
    ClosedRound,
    /// A packet too far ahead is dropped though nothing waits.
    DropsAlone,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Waiting {
    number: u64,
    bytes: u32,
}

/// The rule, and a list of all that waits with the round that it belongs to.
struct Sorted {
    slip: Slip,
    round: u64,
    queues: u64,
    quantum: u64,
    limit: usize,
    reach: Vec<[u64; COLUMNS as usize]>,
    waiting: Vec<(u64, Waiting)>,
}

/// Kirsch and Mitzenmacher's hashes of two, which are MurmurHash3's finalizer's halves.
fn places(flow: u32) -> [usize; ROWS] {
    let mut x = u64::from(flow).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    x = (x ^ x >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^= x >> 33;
    let (first, step) = (x as u32, (x >> 32) as u32 | 1);
    [0, 1, 2, 3].map(|row: u32| {
        let hash = first.wrapping_add(row.wrapping_mul(step));
        (u64::from(hash >> 16) % COLUMNS) as usize
    })
}

impl Sorted {
    fn arrive(&mut self, flow: u32, it: Waiting) -> Option<Reason> {
        let places = places(flow);
        let all = (0..ROWS).map(|row| self.reach[row][places[row]]);
        let before =
            if self.slip == Slip::OneRow { self.reach[0][places[0]] } else { all.min().unwrap_or(0) };
        let start = if self.slip == Slip::NoBump { before } else { before.max(self.round * self.quantum) };
        let reach = start + u64::from(it.bytes);
        let mut round = if self.slip == Slip::FirstByte { start } else { reach } / self.quantum;
        if self.slip == Slip::NoBump {
            round = round.max(self.round);
        }
        if self.slip == Slip::ClosedRound && !self.waiting.is_empty() {
            round = round.max(self.round + 1);
        }
        let ahead = round - self.round;
        let too_far = if self.slip == Slip::OneFurther { ahead > self.queues } else { ahead >= self.queues };
        let mut dropped = None;
        if self.limit > 0 && self.waiting.len() >= self.limit {
            dropped = Some(Reason::Limit);
        } else if too_far && (!self.waiting.is_empty() || self.slip == Slip::DropsAlone) {
            dropped = Some(Reason::Threshold);
        } else if too_far {
            self.round = round;
        }
        if dropped.is_none() || self.slip == Slip::CountsDropped {
            for (row, place) in places.into_iter().enumerate() {
                let counter = &mut self.reach[row][place];
                *counter = match self.slip {
                    Slip::Sums => (*counter).max(start) + u64::from(it.bytes),
                    _ => (*counter).max(reach),
                };
            }
        }
        if dropped.is_none() {
            self.waiting.push((round, it));
        }
        dropped
    }

    fn leave(&mut self) -> Option<Waiting> {
        let first = (0..self.waiting.len()).min_by_key(|i| self.waiting[*i].0)?;
        let (round, it) = self.waiting.remove(first);
        self.round = round;
        Some(it)
    }
}

struct Ours {
    afq: Discipline,
    queues: Vec<VecDeque<Waiting>>,
    q: Queue,
}

impl Ours {
    fn new(set: &[(&str, u64)], limit: u32) -> Ours {
        let set: Vec<(&str, Value)> = set.iter().map(|(name, n)| (*name, Value::Int(*n))).collect();
        let afq = Discipline::new(&spec("afq", &set));
        let queues = vec![VecDeque::new(); afq.queues() as usize];
        Ours { afq, queues, q: Queue { limit_packets: limit, ..Queue::default() } }
    }

    /// Why it is dropped, or else the queue that it joins.
    fn arrive(&mut self, flow: u32, it: Waiting) -> Result<u32, Reason> {
        let packet =
            Packet { enqueue_ns: 0, bytes: it.bytes, flow, ecn: 2, protocol: TCP, ..Packet::default() };
        let (v, queue) = self.afq.enqueue_to(0, &self.q, &packet, 0);
        if v.action == Action::Drop {
            return Err(v.reason);
        }
        assert_eq!(v.action, Action::Pass);
        self.queues[queue as usize].push_back(it);
        self.q.packets += 1;
        self.q.bytes += u64::from(it.bytes);
        assert!(self.afq.overflow(0, &self.q).is_none());
        Ok(queue)
    }

    fn leave(&mut self) -> Option<Waiting> {
        if self.q.packets == 0 {
            self.afq.idle(0);
            return None;
        }
        let queue = self.afq.next(0, &self.q).expect("packets wait");
        let it = self.queues[queue as usize].pop_front().expect("the queue has a packet");
        self.q.packets -= 1;
        self.q.bytes -= u64::from(it.bytes);
        let packet = Packet { bytes: it.bytes, protocol: TCP, ..Packet::default() };
        assert_eq!(self.afq.dequeue_from(0, &self.q, &packet, queue).action, Action::Pass);
        Some(it)
    }
}

#[derive(Debug, Default)]
struct Seen {
    limit: u64,
    beyond: u64,
    alone: u64,
}

/// So many that flows come again whose counters are all of others, too.
const STEPS: u64 = 30_000;

/// One case of arrivals and departures, made of both: the step at which they part, if they do.
fn beside(case: u64, slip: Slip, seen: &mut Seen) -> Option<u64> {
    let mut dice = Dice(case);
    let mut pick = |of: &[u64]| of[dice.roll() as usize % of.len()];
    let (queues, quantum) = (pick(&[2, 8, 32, 1000]), pick(&[256, 1514, 2048, 10_000]));
    let (flows, limit) = (pick(&[1, 3, 20, 400, 3000]), pick(&[0, 10, 200]));
    let mut ours = Ours::new(&[("queues", queues), ("quantum", quantum)], limit as u32);
    let mut sorted = Sorted {
        slip,
        round: 0,
        queues,
        quantum,
        limit: limit as usize,
        reach: vec![[0; COLUMNS as usize]; ROWS],
        waiting: Vec::new(),
    };
    let mut busy = 100;
    for step in 0..STEPS {
        if dice.roll().is_multiple_of(200) {
            busy = [60, 70, 105, 130, 180][dice.roll() as usize % 5];
        }
        if dice.roll() % 200 < busy {
            let flow = ((dice.roll() % flows) as u32).wrapping_mul(0x9e37_79b9);
            let most = if dice.roll().is_multiple_of(2) { 1514 } else { 9000 };
            let it = Waiting { number: step, bytes: 1 + (dice.roll() % most) as u32 };
            let alone = sorted.waiting.is_empty() && u64::from(it.bytes) >= queues * quantum;
            let theirs = sorted.arrive(flow, it);
            if ours.arrive(flow, it).err() != theirs {
                return Some(step);
            }
            seen.limit += u64::from(theirs == Some(Reason::Limit));
            seen.beyond += u64::from(theirs == Some(Reason::Threshold));
            seen.alone += u64::from(alone);
        } else if ours.leave() != sorted.leave() || ours.afq.probe(0) != sorted.round as f64 {
            return Some(step);
        }
    }
    // What is left is the same, in the same order.
    loop {
        let (a, b) = (ours.leave(), sorted.leave());
        if a != b {
            return Some(STEPS);
        }
        a?;
    }
}

#[test]
fn sends_in_the_order_of_rounds() {
    let mut seen = Seen::default();
    for case in 0..200 {
        assert_eq!(beside(case, Slip::None, &mut seen), None, "case {case}");
    }
    assert!(seen.limit > 10_000 && seen.beyond > 10_000 && seen.alone > 1_000, "{seen:?}");
}

#[test]
fn what_the_rule_does_not_is_seen() {
    for slip in [
        Slip::NoBump,
        Slip::OneFurther,
        Slip::CountsDropped,
        Slip::FirstByte,
        Slip::OneRow,
        Slip::Sums,
        Slip::ClosedRound,
        Slip::DropsAlone,
    ] {
        let parted = (0..60).filter(|case| beside(*case, slip, &mut Seen::default()).is_some()).count();
        assert!(parted >= 3, "{slip:?}: {parted} of 60");
    }
}

/// Packets of 1514 bytes with 2048 a round end at 1514, 3028, 4542, 6056 and 7570: in rounds 0, 1, 2, 2 and 3.
#[test]
fn a_packets_round_is_that_of_its_last_byte() {
    let mut host = Host::new(&spec("afq", &[]), 0, 0);
    for flow in [0, 1] {
        for _ in 0..5 {
            host.arrive(0, 1514, flow, 0);
        }
    }
    let order: Vec<u32> = std::iter::from_fn(|| host.transmit(MS, |_| {})).map(|p| flow_of(&p)).collect();
    assert_eq!(order, [0, 1, 0, 1, 0, 0, 1, 1, 0, 1]);
    // Who comes now begins in round 3, of which these two have had 7570 - 6144 bytes.
    for flow in [0, 1, 2] {
        host.arrive(2 * MS, 600, flow, 0);
        host.arrive(2 * MS, 600, flow, 0);
    }
    let order: Vec<u32> = std::iter::from_fn(|| host.transmit(3 * MS, |_| {})).map(|p| flow_of(&p)).collect();
    assert_eq!(order, [0, 1, 2, 2, 0, 1]);
}

/// 32 rounds of 2048 bytes are 65536: 43 packets of 1514, and none more until a round ends. Others are let in.
#[test]
fn a_flow_holds_no_more_than_the_rounds_have() {
    let mut host = Host::new(&spec("afq", &[]), 0, 0);
    let passed = (0..100).filter(|_| host.arrive(0, 1514, 0, 0).action == Action::Pass).count();
    assert_eq!((passed, host.drops[Reason::Threshold as usize]), (43, 57));
    assert_eq!(host.arrive(0, 1514, 1, 0).action, Action::Pass);
    // The round under way ends when its queue is empty: with both of its packets, and not before.
    host.transmit(0, |_| {});
    assert_eq!(host.arrive(0, 1514, 0, 0).action, Action::Drop);
    host.transmit(0, |_| {});
    assert_eq!(host.arrive(0, 1514, 0, 0).action, Action::Drop);
    host.transmit(0, |_| {});
    assert_eq!(host.arrive(0, 1514, 0, 0).action, Action::Pass);
}

/// A packet longer than all rounds together is sent, if nothing waits; behind another it is dropped.
#[test]
fn a_packet_that_finds_nothing_is_let_in() {
    let set = [("queues", Value::Int(2)), ("quantum", Value::Int(256))];
    let mut host = Host::new(&spec("afq", &set), 0, 0);
    for i in 0..10 {
        assert_eq!(host.arrive(i, 9000, 0, 0).action, Action::Pass);
        assert_eq!(host.arrive(i, 9000, 1, 0).action, Action::Drop);
        assert!(host.transmit(i, |_| {}).is_some() && host.queue.packets == 0);
    }
}

/// Fair queueing bit by bit gives flows that always have something to send the same of the link. What each has sent differs from that by
/// a round's bytes and a packet at most, at any time, whatever the packets' sizes are.
#[test]
fn flows_that_wait_are_apart_by_a_round_at_most() {
    for (seed, quantum) in (0..20).zip([256, 1514, 2048, 6000].into_iter().cycle()) {
        let mut dice = Dice(seed);
        let flows = 2 + (dice.roll() % 30) as usize;
        let sizes: Vec<u32> = (0..flows).map(|_| 64 + (dice.roll() % 1450) as u32).collect();
        let mut ours = Ours::new(&[("queues", 64), ("quantum", quantum)], 0);
        let (mut sent, mut all) = (vec![0u64; flows], 0);
        let mut given = vec![0u64; flows];
        for _ in 0..20_000 {
            // Each is given as much as is taken, until it is refused.
            for (flow, bytes) in sizes.iter().enumerate() {
                while given[flow] < 20_000 {
                    let hash = (flow as u32).wrapping_mul(0x9e37_79b9);
                    if ours.arrive(hash, Waiting { number: flow as u64, bytes: *bytes }).is_err() {
                        break;
                    }
                    given[flow] += u64::from(*bytes);
                }
            }
            let it = ours.leave().expect("all have something to send");
            let flow = it.number as usize;
            sent[flow] += u64::from(it.bytes);
            given[flow] -= u64::from(it.bytes);
            all += u64::from(it.bytes);
            let fair = all / flows as u64;
            let most = quantum + 1514;
            assert!(sent.iter().all(|s| s.abs_diff(fair) <= most), "{seed}: {sent:?}, fair are {fair}");
        }
    }
}

/// Max-min fairness: who wants less than the same for all has what it wants, and the others share the rest alike. Of the link five flows want
/// 5, 10, 30, 80 and 200 %: the first two are given 5 and 10 %, and the others 85 / 3 = 28.3 % each.
#[test]
fn who_wants_little_has_it_and_the_rest_is_shared() {
    let mut ours = Ours::new(&[], 0);
    let wants = [0.05, 0.1, 0.3, 0.8, 2.0];
    let (mut owed, mut sent, mut lost) = ([0.0f64; 5], [0.0; 5], [0; 5]);
    let turns = 40_000;
    for turn in 0..turns {
        for (flow, want) in wants.iter().enumerate() {
            owed[flow] += want;
            while owed[flow] >= 1.0 {
                owed[flow] -= 1.0;
                let it = Waiting { number: flow as u64, bytes: 1000 };
                let dropped = ours.arrive((flow as u32).wrapping_mul(0x9e37_79b9), it).is_err();
                lost[flow] += u32::from(dropped && turn > turns / 2);
            }
        }
        if let Some(it) = ours.leave() {
            // After a while: the first rounds are not full.
            sent[it.number as usize] += f64::from(turn >= turns / 2) / f64::from(turns / 2);
        }
    }
    for (share, want) in sent.iter().zip([0.05, 0.1, 0.85 / 3.0, 0.85 / 3.0, 0.85 / 3.0]) {
        assert!((share - want).abs() < 0.003, "{sent:?}");
    }
    assert!(lost[0] == 0 && lost[1] == 0 && lost[2..].iter().all(|n| *n > 100), "{lost:?}");
}

/// A sketch only ever says more than a flow has had, so that a packet's round is never before the one that it would have with a counter for
/// its flow alone; with as few flows as the sketch has room for it is that one nearly always, with many more it is often later.
#[test]
fn what_flows_share_in_the_sketch_only_slows_them() {
    for (flows, least, most) in [(50u64, 0.0, 0.0001), (1_000, 0.0, 0.02), (20_000, 0.05, 1.0)] {
        let mut dice = Dice(flows);
        let (queues, quantum) = (256, 2048);
        let mut ours = Ours::new(&[("queues", queues), ("quantum", quantum)], 0);
        let mut own = vec![0u64; flows as usize];
        let (mut let_in, mut later) = (0u64, 0u64);
        let hashes: Vec<u32> = (0..flows).map(|_| dice.roll() as u32).collect();
        for step in 0..200_000u64 {
            let flow = (dice.roll() % flows) as usize;
            let bytes = 64 + (dice.roll() % 1450) as u32;
            let round = ours.afq.probe(0) as u64;
            let own_reach = own[flow].max(round * quantum) + u64::from(bytes);
            if let Ok(queue) = ours.arrive(hashes[flow], Waiting { number: step, bytes }) {
                // The round under way is served from the queue of its number.
                let ahead = (u64::from(queue) + queues - round % queues) % queues;
                let would = own_reach / quantum - round;
                assert!(ahead >= would, "{flows}: {ahead} {would}");
                let_in += 1;
                later += u64::from(ahead > would);
                own[flow] = own_reach;
            }
            // The link takes nine of ten.
            if step > 2_000 && step % 10 != 0 {
                ours.leave();
            }
        }
        let share = later as f64 / let_in as f64;
        println!("{flows}: {share:.5}");
        assert!((least..=most).contains(&share), "{flows}: {share}");
    }
}
