//! HHF beside a second statement of Linux's rule (net/sched/sch_hhf.c of Linux 7), and what its sources promise.

use crate::host::{Dice, Host, flow_of, spec};
use queuewright_aqm::{Action, Discipline, Packet, Queue, TCP, Value};
use std::collections::VecDeque;

const MS: u64 = 1_000_000;
const SEC: u64 = 1_000 * MS;
const JIFFY: u64 = 4 * MS;
const HEAVY: usize = 0;
const OTHER: usize = 1;

/// What is a slip of the pen away from Linux's rule.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Slip {
    None,
    /// The filter begins anew a jiffy early.
    ResetEarly,
    /// A heavy flow is not seen again.
    NotSeen,
    /// The fourth counter does without the hash's upper two bits.
    ThirtyBits,
    /// A flow that comes to the threshold is heavy.
    AtThreshold,
    /// The packet that makes a flow heavy is counted, too.
    NoShield,
    /// All counters rise by a packet's bytes.
    Greedy,
    /// The heavy queue may be a new one.
    HeavyFirst,
    /// What does not fit costs the others first.
    OthersLose,
    /// Who is silent for so long, is heavy for one jiffy less.
    EvictEarly,
    /// Both queues have one quantum.
    NoWeight,
}

struct Heavy {
    hash: u32,
    seen: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Waiting {
    number: u64,
    bytes: u32,
}

/// sch_hhf: chains, counters of which some are valid, two buckets and the lists that they are in.
struct Linux {
    slip: Slip,
    chains: Vec<Vec<Heavy>>,
    counters: [[Option<u32>; 1024]; 4],
    stamp: u64,
    heavy: u64,
    found: u64,
    refused: u64,
    buckets: [VecDeque<Waiting>; 2],
    deficit: [i64; 2],
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    reset: u64,
    evict: u64,
    admit: u32,
    most: u64,
    quanta: [i64; 2],
    limit: usize,
}

impl Linux {
    fn places(&self, hash: u32) -> [usize; 4] {
        let chunks = [0, 10, 20].map(|shift| hash >> shift & 1023);
        let rest = if self.slip == Slip::ThirtyBits { 0 } else { hash >> 30 };
        let last = chunks[0] ^ chunks[1] ^ chunks[2] ^ rest;
        [chunks[0], chunks[1], chunks[2], last].map(|place| place as usize)
    }

    fn classify(&mut self, jiffies: u64, hash: u32, bytes: u32) -> usize {
        let early = u64::from(self.slip == Slip::ResetEarly);
        if self.stamp + self.reset < jiffies + early {
            self.counters = [[None; 1024]; 4];
            self.stamp = jiffies;
        }
        let evict = self.evict - u64::from(self.slip == Slip::EvictEarly);
        let is_old = |h: &Heavy| h.seen + evict < jiffies;
        let chain = &mut self.chains[hash as usize % 1024];
        let mut i = 0;
        while i < chain.len() {
            if is_old(&chain[i]) {
                if i + 1 == chain.len() {
                    break;
                }
                chain.remove(i);
                self.heavy -= 1;
            } else if chain[i].hash == hash {
                if self.slip != Slip::NotSeen {
                    chain[i].seen = jiffies;
                }
                return HEAVY;
            } else {
                i += 1;
            }
        }
        let places = self.places(hash);
        let mut least = u32::MAX;
        for (row, place) in places.into_iter().enumerate() {
            least = least.min(*self.counters[row][place].get_or_insert(0) + bytes);
        }
        let at = self.slip == Slip::AtThreshold && least == self.admit;
        if least > self.admit || at {
            let chain = &mut self.chains[hash as usize % 1024];
            match chain.iter().position(is_old) {
                Some(old) => chain[old] = Heavy { hash, seen: jiffies },
                None if self.heavy >= self.most => {
                    self.refused += 1;
                    return OTHER;
                }
                None => {
                    self.heavy += 1;
                    chain.push(Heavy { hash, seen: jiffies });
                }
            }
            self.found += 1;
            if self.slip == Slip::NoShield {
                self.raise(places, least, bytes);
            }
            return HEAVY;
        }
        self.raise(places, least, bytes);
        OTHER
    }

    fn raise(&mut self, places: [usize; 4], least: u32, bytes: u32) {
        for (row, place) in places.into_iter().enumerate() {
            let counter = self.counters[row][place].as_mut().expect("it was looked at");
            *counter = if self.slip == Slip::Greedy { *counter + bytes } else { least.max(*counter) };
        }
    }

    /// The packet that is thrown away, if one is.
    fn arrive(&mut self, now: u64, hash: u32, it: Waiting) -> Option<Waiting> {
        let bucket = self.classify(now / JIFFY, hash, it.bytes);
        self.buckets[bucket].push_back(it);
        if !self.new.contains(&bucket) && !self.old.contains(&bucket) {
            let list =
                if bucket == OTHER || self.slip == Slip::HeavyFirst { &mut self.new } else { &mut self.old };
            list.push_back(bucket);
            self.deficit[bucket] = self.quanta[bucket];
        }
        if self.buckets.iter().map(VecDeque::len).sum::<usize>() <= self.limit {
            return None;
        }
        let [first, second] = if self.slip == Slip::OthersLose { [OTHER, HEAVY] } else { [HEAVY, OTHER] };
        self.buckets[first].pop_front().or_else(|| self.buckets[second].pop_front())
    }

    fn leave(&mut self) -> Option<Waiting> {
        if self.buckets.iter().all(VecDeque::is_empty) {
            return None;
        }
        loop {
            let fresh = !self.new.is_empty();
            let list = if fresh { &mut self.new } else { &mut self.old };
            let bucket = list[0];
            if self.deficit[bucket] <= 0 {
                self.deficit[bucket] += self.quanta[bucket];
                list.pop_front();
                self.old.push_back(bucket);
            } else if let Some(it) = self.buckets[bucket].pop_front() {
                self.deficit[bucket] -= i64::from(it.bytes);
                return Some(it);
            } else {
                list.pop_front();
                if fresh && !self.old.is_empty() {
                    self.old.push_back(bucket);
                }
            }
        }
    }
}

/// Ours and the host's two queues.
struct Ours {
    hhf: Discipline,
    queues: [VecDeque<Waiting>; 2],
    q: Queue,
}

impl Ours {
    fn packet(now: u64, flow: u32, bytes: u32) -> Packet {
        Packet { enqueue_ns: now, bytes, flow, ecn: 0, protocol: TCP, ..Packet::default() }
    }

    fn arrive(&mut self, now: u64, hash: u32, it: Waiting) -> Option<Waiting> {
        let packet = Ours::packet(now, hash, it.bytes);
        let (v, queue) = self.hhf.enqueue_to(now, &self.q, &packet, 0);
        assert_eq!(v.action, Action::Pass);
        self.queues[queue as usize].push_back(it);
        self.q.packets += 1;
        self.q.bytes += u64::from(it.bytes);
        let out = self.hhf.overflow(now, &self.q)?;
        assert!(!out.tail);
        let gone = self.take(out.queue);
        self.hhf.evicted(now, &self.q, &Ours::packet(now, 0, gone.bytes), out.queue);
        assert!(self.hhf.overflow(now, &self.q).is_none());
        Some(gone)
    }

    fn take(&mut self, queue: u32) -> Waiting {
        let it = self.queues[queue as usize].pop_front().expect("the queue has a packet");
        self.q.packets -= 1;
        self.q.bytes -= u64::from(it.bytes);
        it
    }

    fn leave(&mut self, now: u64) -> Option<Waiting> {
        if self.q.packets == 0 {
            self.hhf.idle(now);
            return None;
        }
        let queue = self.hhf.next(now, &self.q).expect("packets wait");
        let it = self.take(queue);
        let v = self.hhf.dequeue_from(now, &self.q, &Ours::packet(now, 0, it.bytes), queue);
        assert_eq!(v.action, Action::Pass);
        Some(it)
    }
}

/// What the cases saw.
#[derive(Debug, Default)]
struct Seen {
    heavy: u64,
    found: u64,
    refused: u64,
    thrown: u64,
}

/// One case of arrivals and departures, made of both: the step at which they part, if they do.
fn beside(case: u64, slip: Slip, seen: &mut Seen) -> Option<u64> {
    let mut dice = Dice(case);
    let mut pick = |of: &[u64]| of[dice.roll() as usize % of.len()];
    let (quantum, weight) = (pick(&[256, 1514, 4000]), pick(&[1, 2, 5]));
    let (most, admit) = (pick(&[1, 3, 2048]), pick(&[3_000, 20_000, 131_072]));
    let (reset, evict) = (pick(&[MS, 40 * MS, 333 * MS]), pick(&[MS, 100 * MS, SEC]));
    let (limit, flows) = (pick(&[1, 20, 300]), pick(&[1, 4, 40, 3000]));
    let sizes = pick(&[0, 1]);
    let set = [
        ("limit", limit),
        ("quantum", quantum),
        ("non_hh_weight", weight),
        ("hh_limit", most),
        ("admit_bytes", admit),
        ("reset_timeout", reset),
        ("evict_timeout", evict),
    ]
    .map(|(name, value)| (name, Value::Int(value)));
    let mut ours =
        Ours { hhf: Discipline::new(&spec("hhf", &set)), queues: Default::default(), q: Queue::default() };
    let mut linux = Linux {
        slip,
        chains: (0..1024).map(|_| Vec::new()).collect(),
        counters: [[None; 1024]; 4],
        stamp: 0,
        heavy: 0,
        found: 0,
        refused: 0,
        buckets: Default::default(),
        deficit: [0; 2],
        new: VecDeque::new(),
        old: VecDeque::new(),
        reset: reset.div_ceil(JIFFY),
        evict: evict.div_ceil(JIFFY),
        admit: admit as u32,
        most,
        quanta: [quantum as i64, if slip == Slip::NoWeight { quantum } else { quantum * weight } as i64],
        limit: limit as usize,
    };
    let (mut now, mut busy) = (0, 100);
    for step in 0..6_000 {
        now += match dice.roll() % 2000 {
            0 => dice.roll() % (3 * SEC),
            _ => dice.roll() % (2 * MS),
        };
        if dice.roll().is_multiple_of(200) {
            busy = [70, 105, 130, 180][dice.roll() as usize % 4];
        }
        if dice.roll() % 200 < busy {
            let flow = (dice.roll() % flows) as u32;
            // Flows that are far apart; that share chains; and that share three counters of four.
            let hash = match flow % 3 {
                0 => flow.wrapping_mul(0x9e37_79b9),
                1 => flow << 10 | flow & 3,
                _ => flow << 30 | flow & 7,
            };
            // Some come to a threshold exactly.
            let bytes = if sizes == 0 { 1000 } else { 1 + (dice.roll() % 9000) as u32 };
            let it = Waiting { number: step, bytes };
            let gone = ours.arrive(now, hash, it);
            seen.thrown += u64::from(gone.is_some());
            let theirs = linux.arrive(now, hash, it);
            let counts = [1, 2, 3].map(|i| ours.hhf.probe(i) as u64);
            if gone != theirs || counts != [linux.heavy, linux.found, linux.refused] {
                return Some(step);
            }
        } else if ours.leave(now) != linux.leave() {
            return Some(step);
        }
        seen.heavy += linux.buckets[HEAVY].len().min(1) as u64;
    }
    seen.found += linux.found;
    seen.refused += linux.refused;
    // What is left is the same, in the same order.
    loop {
        let (a, b) = (ours.leave(now), linux.leave());
        if a != b {
            return Some(6_000);
        }
        a?;
    }
}

#[test]
fn decides_as_linux_does() {
    let mut seen = Seen::default();
    for case in 0..300 {
        assert_eq!(beside(case, Slip::None, &mut seen), None, "case {case}");
    }
    assert!(
        seen.heavy > 100_000 && seen.found > 5_000 && seen.refused > 5_000 && seen.thrown > 5_000,
        "{seen:?}"
    );
}

#[test]
fn what_linux_does_not_is_seen() {
    for slip in [
        Slip::ResetEarly,
        Slip::NotSeen,
        Slip::ThirtyBits,
        Slip::AtThreshold,
        Slip::NoShield,
        Slip::Greedy,
        Slip::HeavyFirst,
        Slip::OthersLose,
        Slip::EvictEarly,
        Slip::NoWeight,
    ] {
        let parted = (0..90).filter(|case| beside(*case, slip, &mut Seen::default()).is_some()).count();
        assert!(parted >= 3, "{slip:?}: {parted} of 90");
    }
}

/// Which of so many packets of a lone flow, one a millisecond, come to the heavy queue.
fn heavy_ones(host: &mut Host, packets: u64, from: u64) -> Vec<u64> {
    (0..packets)
        .filter(|i| {
            let now = from + i * MS;
            let before = host.waiting[HEAVY].len();
            host.arrive(now, 1514, 0, 0);
            let heavy = host.waiting[HEAVY].len() > before;
            host.transmit(now, |_| {});
            heavy
        })
        .collect()
}

/// 131072 bytes are 86 packets of 1514 and a rest: the 87th of a window is heavy, and all that come later. One a millisecond are 44 in a window, as
/// that begins anew with the first packet after 10 whole jiffies: with 66616 bytes the flow is never heavy, with one less its last packet of a window is.
#[test]
fn a_flow_is_heavy_from_the_packet_that_passes_the_threshold() {
    let mut host = Host::new(&spec("hhf", &[]), 0, 0);
    for _ in 0..86 {
        host.arrive(0, 1514, 0, 0);
    }
    assert_eq!(host.waiting[HEAVY].len(), 0);
    for _ in 0..10 {
        host.arrive(0, 1514, 0, 0);
    }
    assert_eq!((host.waiting[HEAVY].len(), host.waiting[OTHER].len()), (10, 86));

    let at = |bytes: u64| {
        let mut host = Host::new(&spec("hhf", &[("admit_bytes", Value::Int(bytes))]), 0, 0);
        // Both queues are there to be counted.
        host.waiting.resize(2, VecDeque::new());
        heavy_ones(&mut host, 1000, 0)
    };
    assert!(at(44 * 1514).is_empty());
    assert_eq!(at(44 * 1514 - 1), (43..1000).collect::<Vec<_>>());
}

/// Who is silent for a second is heavy still, a jiffy later no more.
#[test]
fn a_heavy_flow_is_one_as_long_as_it_sends_something_each_second() {
    for (silence, heavy) in [(SEC, true), (SEC + JIFFY, false)] {
        let mut host = Host::new(&spec("hhf", &[]), 0, 0);
        for _ in 0..90 {
            host.arrive(0, 1514, 0, 0);
        }
        while host.transmit(0, |_| {}).is_some() {}
        // A packet in a while keeps it there.
        for i in 1..=3 {
            assert_eq!(heavy_ones(&mut host, 1, i * SEC), [0]);
        }
        assert_eq!(!heavy_ones(&mut host, 1, 3 * SEC + silence).is_empty(), heavy, "{silence}");
    }
}

/// Beside others who always have something to send, heavy flows have 1 of 1 + weight parts of the link; those share it as they come.
#[test]
fn heavy_flows_have_their_weights_share() {
    for weight in [1, 2, 5] {
        let set = [("non_hh_weight", Value::Int(weight)), ("limit", Value::Int(1 << 20))];
        let mut host = Host::new(&spec("hhf", &set), 0, 0);
        let (mut heavy, mut others) = (0, 0);
        for i in 0..20_000u64 {
            // A packet of the link's takes 100 us. The flood sends at twice its rate; of 200 others each 10 packets a second more than fit in all.
            let now = i * MS / 10;
            host.arrive(now, 1514, 0, 0);
            host.arrive(now, 1514, 0, 0);
            host.arrive(now, 1514, 1 + (i % 200) as u32, 0);
            let sent = host.transmit(now, |_| {}).expect("packets wait");
            // The first second finds the flood, and lets what had come before go.
            if i >= 10_000 {
                if flow_of(&sent) == 0 { heavy += 1 } else { others += 1 }
            }
        }
        let share = f64::from(heavy) / f64::from(heavy + others);
        let want = 1.0 / (1.0 + weight as f64);
        assert!((share - want).abs() < 0.001, "{weight}: {share}");
    }
}

/// Estan and Varghese, SIGCOMM 2002, lemma 1: of flows of s bytes, with a threshold of T, rows of b counters and C bytes in all, at most (C / (b (T - s))) ^ 4 are
/// taken for heavy; with conservative update fewer. None that sends more than T is not found.
#[test]
fn few_small_flows_are_taken_for_heavy_and_no_large_one_is_missed() {
    let (threshold, small) = (4_000, 1_000);
    let (mut taken, mut flows) = (0, 0);
    for seed in 0..40 {
        let mut dice = Dice(seed);
        let set = [("admit_bytes", Value::Int(threshold)), ("limit", Value::Int(1 << 20))];
        let mut hhf = Discipline::new(&spec("hhf", &set));
        let mut q = Queue::default();
        // 2048 small ones and 64 large, each with a hash of its own, and a packet of each in turn.
        let hashes: Vec<u32> = (0..2112).map(|_| dice.roll() as u32).collect();
        let mut heavy = vec![false; hashes.len()];
        for turn in 0..45 {
            for (flow, hash) in hashes.iter().enumerate() {
                if turn < small / 100 || flow >= 2048 {
                    let packet = Ours::packet(0, *hash, 100);
                    heavy[flow] |= hhf.enqueue_to(0, &q, &packet, 0).1 == HEAVY as u32;
                    q.packets += 1;
                    q.bytes += 100;
                }
            }
        }
        assert!(heavy[2048..].iter().all(|h| *h), "{seed}");
        taken += heavy[..2048].iter().filter(|h| **h).count();
        flows += 2048;
    }
    // Of the large ones no more than the threshold is counted.
    let all = (2048 * small + 64 * threshold) as f64;
    let bound = (all / 1024.0 / (threshold - small) as f64).powi(4);
    let share = taken as f64 / flows as f64;
    println!("{share:.5} of a bound of {bound:.3}");
    assert!(bound < 0.4 && share <= bound, "{share} {bound}");
}

/// What the buffer has no room for is the heavy flows' oldest, and only without one of theirs the others'.
#[test]
fn heavy_flows_lose_first() {
    let mut host = Host::new(&spec("hhf", &[("limit", Value::Int(100))]), 0, 0);
    for _ in 0..90 {
        host.arrive(0, 1514, 0, 0);
    }
    // 4 of the flood wait as heavy ones, and 86 from before.
    for i in 0..14 {
        host.arrive(i, 1514, 1, 0);
    }
    assert_eq!((host.evicted.len(), host.waiting[HEAVY].len()), (4, 0));
    assert!(host.evicted.iter().all(|p| flow_of(p) == 0));
    host.arrive(20, 1514, 2, 0);
    assert_eq!((host.evicted.len(), flow_of(&host.evicted[4])), (5, 0));
    // By bytes as by packets.
    host.limit(30, 0, 50 * 1514);
    assert_eq!(host.queue.packets, 50);
}
