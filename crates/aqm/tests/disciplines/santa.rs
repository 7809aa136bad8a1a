//! Santa against a second statement of it, from NSDI 2026 sections 4 and 5 and the notes on its
//! artifact: exact counts instead of a sketch, whole rounds at once, fractions instead of shifts.

use crate::host::{Dice, Host, spec};
use queuewright_aqm::{Action, Discipline, Packet, Pool, Queue, Reason, Spec, Value, Verdict};
use std::collections::{BTreeMap, VecDeque};

const MS: u64 = 1_000_000;
const SEC: u64 = 1_000 * MS;

fn int(spec: &Spec, name: &str) -> u64 {
    match spec.get(name) {
        Some(Value::Int(v)) => v,
        v => panic!("{name} is {v:?}"),
    }
}

#[derive(Debug, Clone)]
struct Flow {
    queue: usize,
    /// Sum of its packets' sojourn times in this round, ns.
    kept: u128,
    /// Packets that arrived in this round.
    arrived: u64,
}

#[derive(Debug, Default)]
struct Moves {
    up: u64,
    down: u64,
    /// Of these, from a queue that is not the last.
    down_from_the_middle: u64,
}

/// Santa with tail drop in each queue.
struct Santa {
    k: usize,
    artifact: bool,
    skip: bool,
    ranges: bool,
    r: f64,
    mice: u64,
    quantum: u64,
    round: u64,
    round_end: u64,
    flows: BTreeMap<u32, Flow>,
    seen: BTreeMap<u32, u64>,
    /// Flows in each queue at the last round's end.
    weights: Vec<u64>,
    /// Whose share each queue has: theirs, or, where all have left, of those who left packets behind.
    sharers: Vec<u64>,
    waiting: Vec<VecDeque<Packet>>,
    /// In 2^-20 bytes.
    deficit: Vec<i64>,
    turn: usize,
    limit: usize,
    moves: Moves,
}

impl Santa {
    fn new(spec: &Spec, limit: usize) -> Self {
        let k = int(spec, "queues") as usize;
        let r = match spec.get("r") {
            Some(Value::Real(r)) => r,
            r => panic!("{r:?}"),
        };
        Santa {
            k,
            artifact: spec.get("rule") == Some(Value::Choice("artifact")),
            skip: spec.get("skip_inactive") == Some(Value::Flag(true)),
            ranges: spec.get("assign") == Some(Value::Choice("ranges")),
            r,
            mice: int(spec, "mice_packets"),
            quantum: int(spec, "quantum"),
            round: int(spec, "round"),
            round_end: int(spec, "round"),
            flows: BTreeMap::new(),
            seen: BTreeMap::new(),
            weights: vec![0; k + 1],
            sharers: vec![1; k + 1],
            waiting: vec![VecDeque::new(); k + 1],
            deficit: vec![0; k + 1],
            turn: 1,
            limit,
            moves: Moves::default(),
        }
    }

    fn members(&self, queue: usize) -> u64 {
        self.flows.values().filter(|f| f.queue == queue).count() as u64
    }

    fn tick(&mut self, now: u64) {
        if now < self.round_end {
            return;
        }
        self.round_end += (1 + (now - self.round_end) / self.round) * self.round;
        let mut to: BTreeMap<u32, usize> = BTreeMap::new();
        let mut had: BTreeMap<usize, u64> = BTreeMap::new();
        for q in 1..=self.k {
            let here: Vec<(u32, f64)> = self
                .flows
                .iter()
                .filter(|(_, f)| f.queue == q && (f.arrived > 0 || !self.skip))
                .map(|(&hash, f)| (hash, f.kept as f64))
                .collect();
            had.insert(q, here.len() as u64);
            if self.artifact {
                // Pass 1: above r times the least, up. Pass 2, over what is left: below the most / r, down.
                let least = here.iter().map(|f| f.1).fold(f64::MAX, f64::min);
                let goes_up = |b: f64| q < self.k && b > self.r * least;
                let left = || here.iter().filter(|f| !goes_up(f.1));
                let most = left().map(|f| f.1).fold(0.0, f64::max);
                for &(hash, b) in &here {
                    if goes_up(b) {
                        to.insert(hash, q + 1);
                    } else if q > 1 && b < most / self.r {
                        to.insert(hash, q - 1);
                    }
                }
            } else {
                let mean = here.iter().map(|f| f.1).sum::<f64>() / here.len() as f64;
                for &(hash, b) in &here {
                    if b > self.r * mean && q < self.k {
                        to.insert(hash, q + 1);
                    } else if b < mean / self.r && q > 1 {
                        to.insert(hash, q - 1);
                    }
                }
            }
        }
        for (hash, f) in &mut self.flows {
            if let Some(&queue) = to.get(hash) {
                self.moves.up += u64::from(queue > f.queue);
                self.moves.down += u64::from(queue < f.queue);
                self.moves.down_from_the_middle += u64::from(queue < f.queue && f.queue < self.k);
                f.queue = queue;
            }
            f.kept = 0;
            f.arrived = 0;
        }
        self.seen.clear();
        for q in 1..=self.k {
            self.weights[q] = self.members(q);
            if self.weights[q] > 0 || self.waiting[q].is_empty() {
                self.sharers[q] = self.weights[q].max(1);
            } else if had[&q] > 0 {
                self.sharers[q] = had[&q];
            }
        }
    }

    fn draw(&self, random: u32) -> usize {
        if !self.ranges {
            if let Some(q) = (1..=self.k).find(|&q| self.members(q) == 0) {
                return q;
            }
            // As likely as it has flows.
            let at = f64::from(random) / 2f64.powi(32) * self.flows.len() as f64;
            let mut sum = 0;
            return (1..=self.k)
                .find(|&q| {
                    sum += self.members(q);
                    at < sum as f64
                })
                .unwrap();
        }
        // 256 values shared out by the last round's counts, equally while there are none.
        let all: u64 = self.weights.iter().sum();
        let weight = |q: usize| if all == 0 { 1 } else { self.weights[q] };
        let total: u64 = (1..=self.k).map(weight).sum();
        (1..self.k)
            .find(|&q| u64::from(random >> 24) < 256 * (1..=q).map(weight).sum::<u64>() / total)
            .unwrap_or(self.k)
    }

    /// Which queue, and is it dropped?
    fn arrive(&mut self, now: u64, packet: Packet, random: u32) -> (usize, bool) {
        self.tick(now);
        let hash = packet.flow;
        if !self.flows.contains_key(&hash) {
            let n = self.seen.entry(hash).or_insert(0);
            *n += 1;
            if *n > self.mice {
                let queue = self.draw(random);
                self.flows.insert(hash, Flow { queue, kept: 0, arrived: 0 });
            }
        }
        let queue = match self.flows.get_mut(&hash) {
            Some(f) => {
                f.arrived += 1;
                f.queue
            }
            None => 0,
        };
        let part = self.limit / self.k;
        let all: usize = self.waiting.iter().map(VecDeque::len).sum();
        let dropped = self.waiting[queue].len() >= part || (queue > 0 && all >= self.limit);
        if !dropped {
            self.waiting[queue].push_back(packet);
        }
        (queue, dropped)
    }

    /// Mice first, then each queue in turn by its share; a queue that runs dry saves nothing up.
    fn next(&mut self) -> usize {
        if !self.waiting[0].is_empty() {
            return 0;
        }
        let shares = &self.sharers;
        let all: u64 = shares[1..].iter().sum();
        loop {
            if !self.waiting[self.turn].is_empty() && self.deficit[self.turn] > 0 {
                return self.turn;
            }
            self.turn = self.turn % self.k + 1;
            let turn = ((self.k as u64 * self.quantum) << 20) * shares[self.turn] / all;
            let deficit = &mut self.deficit[self.turn];
            if !self.waiting[self.turn].is_empty() {
                *deficit += turn as i64;
            } else if *deficit < 0 {
                // An empty one pays its debt, and saves nothing up.
                *deficit = (*deficit + turn as i64).min(0);
            }
        }
    }

    fn send(&mut self, now: u64, queue: usize) -> Packet {
        self.tick(now);
        let packet = self.waiting[queue].pop_front().unwrap();
        if queue == 0 {
            return packet;
        }
        self.deficit[queue] -= i64::from(packet.bytes) << 20;
        if self.waiting[queue].is_empty() {
            self.deficit[queue] = self.deficit[queue].min(0);
        }
        let f = self.flows.get_mut(&packet.flow).unwrap();
        if f.queue == queue {
            f.kept += u128::from(now - packet.enqueue_ns);
        }
        packet
    }

    fn view(&self) -> Queue {
        Queue {
            bytes: self.waiting.iter().flatten().map(|p| u64::from(p.bytes)).sum(),
            packets: self.waiting.iter().map(VecDeque::len).sum::<usize>() as u32,
            limit_packets: self.limit as u32,
            ..Queue::default()
        }
    }
}

fn follow(set: &[(&str, Value)], seed: u64) -> Moves {
    let mut set = set.to_vec();
    // When the idle are forgotten depends on the packets between, and has a test of its own.
    set.extend([("idle_timeout", Value::Int(0)), ("round", Value::Int(SEC))]);
    let spec = spec("santa", &set);
    let mut c = Discipline::new(&spec);
    let mut santa = Santa::new(&spec, 120);
    let mut dice = Dice(seed);
    let mut greed = [1u64; 12];
    let mut now = 0;
    for step in 0..60_000u64 {
        if step % 3_000 == 0 {
            // Some are silent for a while.
            greed.iter_mut().for_each(|g| *g = [0, 1, 1, 2, 5, 12][(dice.roll() % 6) as usize]);
        }
        // A packet of 1500 bytes in 1 ms, so that a round has some thousand departures.
        now += 200_000 + dice.roll() % 800_000;
        for _ in 0..2 {
            let of = greed.iter().sum::<u64>().max(20);
            let mut at = dice.roll() % of;
            let Some(flow) = greed.iter().position(|&g| {
                let here = at < g;
                at = at.wrapping_sub(g);
                here
            }) else {
                continue;
            };
            let packet = Packet {
                enqueue_ns: now,
                bytes: 100 + (dice.roll() % 1401) as u32,
                flow: (Dice(flow as u64).roll() >> 32) as u32,
                ..Packet::default()
            };
            let random = (dice.roll() >> 32) as u32;
            let before = santa.view();
            let (v, index) = c.enqueue_to(now, &before, &packet, random);
            let (queue, dropped) = santa.arrive(now, packet, random);
            assert_eq!(index as usize, queue, "step {step}, flow {flow}");
            let want = if dropped { (Action::Drop, Reason::Limit) } else { (Action::Pass, Reason::None) };
            assert_eq!((v.action, v.reason), want, "step {step}, queue {queue}");
            // The mice came in where nothing fitted: the fullest queue pays.
            while let Some(out) = c.overflow(now, &santa.view()) {
                assert!(queue == 0 && santa.view().packets == 121 && out.tail);
                let bytes = |q: usize| santa.waiting[q].iter().map(|p| u64::from(p.bytes)).sum::<u64>();
                assert_eq!(bytes(out.queue as usize), (1..=santa.k).map(bytes).max().unwrap());
                let gone = santa.waiting[out.queue as usize].pop_back().unwrap();
                c.evicted(now, &santa.view(), &gone, out.queue);
            }
            assert!(santa.view().packets <= 120);
        }
        if santa.view().packets == 0 {
            c.idle(now);
            santa.tick(now);
        } else {
            let queue = c.next(now, &santa.view()).unwrap();
            assert_eq!(queue as usize, santa.next(), "step {step}");
            let packet = santa.send(now, queue as usize);
            let v = c.dequeue_from(now, &santa.view(), &packet, queue);
            assert_eq!(v, Verdict { action: Action::Pass, reason: Reason::None });
        }
        assert_eq!((c.probe(2), c.probe(3)), (santa.moves.up as f64, santa.moves.down as f64), "step {step}");
    }
    santa.moves
}

#[test]
fn every_choice_of_queue_is_the_papers() {
    for k in [2, 3, 5, 32] {
        for assign in ["empty-first", "ranges"] {
            let set = [("queues", Value::Int(k)), ("assign", Value::Choice(assign))];
            let m = follow(&set, k);
            println!("K = {k}, {assign}: {m:?}");
            assert!(k == 32 || (m.up > 20 && m.down > 20), "{m:?}");
            assert!(k < 3 || k == 32 || m.down_from_the_middle > 5, "{m:?}");
        }
    }
    let set = [("r", Value::Real(1.3)), ("quantum", Value::Int(300)), ("mice_packets", Value::Int(0))];
    follow(&set, 7);
    follow(&[("skip_inactive", Value::Flag(false)), ("mice_packets", Value::Int(254))], 8);
}

/// Its two passes leave nothing to demote in a queue that is not the last.
#[test]
fn every_choice_of_queue_is_the_artifacts() {
    for k in [2, 3, 5] {
        for skip in [true, false] {
            let set = [
                ("queues", Value::Int(k)),
                ("rule", Value::Choice("artifact")),
                ("skip_inactive", Value::Flag(skip)),
            ];
            let m = follow(&set, k);
            println!("K = {k}, skip {skip}: {m:?}");
            assert!(m.up > 20 && m.down > 20 && m.down_from_the_middle == 0, "{m:?}");
        }
    }
}

/// With one queue and no mice it is what it has inside: tail drop, Titrate, CoDel.
#[test]
fn one_queue_is_its_inner_discipline() {
    for inner in ["droptail", "titrate", "codel"] {
        let set = [
            ("queues", Value::Int(1)),
            ("mice_packets", Value::Int(0)),
            ("inner", Value::Choice(inner)),
            ("mtu", Value::Int(1000)),
        ];
        let plain = if inner == "droptail" { vec![] } else { vec![("mtu", Value::Int(1000))] };
        let mut hosts = [spec("santa", &set), spec(inner, &plain)].map(|spec| Host::new(&spec, 200, 150_000));
        let mut dice = Dice(3);
        let mut now = 0;
        for i in 0..50_000u64 {
            now += dice.roll() % MS;
            let (bytes, flow) = (64 + (dice.roll() % 1437) as u32, (dice.roll() % 9) as u32);
            let busy = i / 2_000 % 3 > 0;
            let [a, b] = &mut hosts;
            if busy || dice.roll().is_multiple_of(3) {
                assert_eq!(a.arrive(now, bytes, flow, 2), b.arrive(now, bytes, flow, 2), "{inner}, {i}");
            }
            if !dice.roll().is_multiple_of(3) {
                let sent = hosts.each_mut().map(|h| h.transmit(now, |_| {}));
                assert_eq!(sent[0], sent[1], "{inner}, {i}");
            }
        }
        let [a, b] = &hosts;
        assert_eq!(a.drops, b.drops);
        assert!(a.drops.iter().sum::<u64>() > 100, "{inner}: {:?}", a.drops);
        assert!(inner == "droptail" || a.drops[2..].iter().sum::<u64>() > 50, "{inner}: {:?}", a.drops);
    }
}

/// As many queues as flows: fair queueing, whatever each of them offers.
#[test]
fn as_many_queues_as_flows_is_fair_queueing() {
    let mut host = Host::new(&spec("santa", &[("queues", Value::Int(4))]), 400, 0);
    let mut sent = BTreeMap::new();
    for i in 0..60_000u64 {
        let now = i * MS;
        for flow in 0..4 {
            // One, two, three, four packets in four milliseconds: ten where the link has four.
            if i % 4 <= u64::from(flow) {
                host.arrive(now, 1500, flow, 0);
            }
        }
        if let Some(p) = host.transmit(now, |_| {}) {
            *sent.entry(p.flow).or_insert(0) += u64::from(i > 1000);
        }
    }
    assert!(sent.len() == 4 && sent.values().all(|&n| (n as i64 - 14_750).abs() < 20), "{sent:?}");
}

/// Santa of three queues, so many flows in each, whose shares are in force. Flows 0 to 2 are in the first to the third.
struct Assigned {
    c: Discipline,
    queue: Queue,
}

impl Assigned {
    const NOW: u64 = 10 * SEC;

    fn new(flows: [u32; 3]) -> Self {
        let set =
            [("mice_packets", Value::Int(0)), ("r", Value::Real(16.0)), ("idle_timeout", Value::Int(0))];
        let mut c = Discipline::new(&spec("santa", &set));
        let queue = Queue::default();
        // Each flow has a packet in the first round, which waits for no time. The first three go to an empty queue each.
        let mut members = [0u32; 3];
        let total: u32 = flows.iter().sum();
        for flow in 0..total {
            let to = members.iter().position(|&n| n == 0);
            let to = to.unwrap_or_else(|| (0..3).find(|&q| members[q] < flows[q]).unwrap());
            // In the middle of that queue's range.
            let before: u32 = members[..to].iter().sum();
            let random = (((u64::from(before) << 32) + (u64::from(members[to]) << 31))
                / u64::from(flow.max(1))) as u32;
            let packet = Self::packet(0, flow);
            let (v, at) = c.enqueue_to(0, &queue, &packet, random);
            assert_eq!((v.action, at as usize), (Action::Pass, to + 1), "{flows:?}: flow {flow}");
            c.dequeue_from(0, &queue, &packet, at);
            members[to] += 1;
        }
        assert_eq!(members, flows);
        // The round ends, and its end is dealt with.
        for _ in 0..2 * total / 32 + 10 {
            c.idle(Self::NOW);
        }
        Assigned { c, queue }
    }

    fn packet(now: u64, flow: u32) -> Packet {
        // As long as a mean turn.
        Packet { enqueue_ns: now, bytes: 1514, flow: flow.wrapping_mul(0x9e37_79b9), ..Packet::default() }
    }

    /// A packet more for a queue.
    fn offer(&mut self, at: usize) {
        let packet = Self::packet(Self::NOW, at as u32);
        assert_eq!(self.c.enqueue_to(Self::NOW, &self.queue, &packet, 0).1 as usize, at + 1);
        self.queue.packets += 1;
        self.queue.bytes += 1514;
    }

    /// A packet is sent: of which queue.
    fn send(&mut self) -> usize {
        let index = self.c.next(Self::NOW, &self.queue).expect("packets wait");
        self.queue.packets -= 1;
        self.queue.bytes -= 1514;
        self.c.dequeue_from(Self::NOW, &self.queue, &Self::packet(Self::NOW, index - 1), index);
        index as usize - 1
    }
}

/// Section 4.3: bandwidth by the number of flows, however unlike these are. Every queue always has packets; none may be more
/// than five packets off its share (three quanta of a turn cut short, and two packets), among as many as give the least twenty.
#[test]
fn queues_share_by_their_flows_however_few_these_are() {
    for flows in [[3, 2, 1], [1_000, 10, 1], [20_000, 100, 1], [1, 1, 50_000]] {
        let mut santa = Assigned::new(flows);
        for at in [0, 1, 2, 0, 1, 2] {
            santa.offer(at);
        }
        let mut sent = [0u64; 3];
        let total: u32 = flows.iter().sum();
        let all = 20 * u64::from(total);
        for _ in 0..all {
            let at = santa.send();
            sent[at] += 1;
            santa.offer(at);
        }
        for at in 0..3 {
            let share = all as f64 * f64::from(flows[at]) / f64::from(total);
            assert!((sent[at] as f64 - share).abs() <= 5.0, "{flows:?}: {sent:?}, a share of {share}");
        }
    }
}

/// A queue that has one packet at a time, and the next before its next turn, has its share: it owes nothing for a packet that was
/// no longer than its turn.
#[test]
fn a_queue_with_one_packet_at_a_time_has_its_share() {
    let mut santa = Assigned::new([1, 1, 1]);
    let mut waiting = [0; 3];
    let mut sent = [0; 3];
    for _ in 0..3000 {
        for (queue, least) in [5, 5, 1].into_iter().enumerate() {
            while waiting[queue] < least {
                santa.offer(queue);
                waiting[queue] += 1;
            }
        }
        let queue = santa.send();
        waiting[queue] -= 1;
        sent[queue] += 1;
    }
    assert!(sent[2] > 980, "{sent:?}");
}

/// A flow alone in its queue that sends less than its share waits for a turn of the others, five packets at the most: what its
/// last packet was longer than its turn it has paid while it had none.
#[test]
fn who_sends_less_than_its_share_waits_for_a_turn() {
    for others in [2, 100, 1_000, 3_000] {
        let mut santa = Assigned::new([1, 1, others]);
        santa.offer(2);
        santa.offer(2);
        for _ in 0..20 {
            // A quarter of its share.
            for _ in 0..4 * (others + 2) {
                assert_eq!(santa.send(), 2);
                santa.offer(2);
            }
            santa.offer(0);
            let mut before = 0;
            while santa.send() != 0 {
                santa.offer(2);
                before += 1;
            }
            assert!(before <= 5, "one of {}: behind {before} packets", others + 2);
        }
    }
}

/// A round in which all flows leave a queue, the large one up and the small ones down: what they leave behind is sent at the
/// share of three, not of the flow that may come.
#[test]
fn what_is_left_behind_is_sent_at_the_share_of_who_left_it() {
    let set = [("queues", Value::Int(3)), ("round", Value::Int(SEC)), ("mice_packets", Value::Int(0))];
    let mut host = Host::new(&spec("santa", &set), 0, 0);
    // The first three are alone; then two more in the second queue.
    let mut places: Vec<usize> = (0..3).map(|flow| queue_of(&mut host, 0, flow)).collect();
    let mut flow = 3;
    while places.iter().filter(|&&q| q == 2).count() < 3 {
        let queue = queue_of(&mut host, 0, flow);
        places.push(queue);
        flow += 1;
    }
    let of = |queue: usize| (0..flow).filter(|&f| places[f as usize] == queue).collect::<Vec<u32>>();
    let (lower, middle, upper) = (of(1), of(2), of(3));
    // The second queue: one flow sends nearly all. The others stay where they are.
    for i in 0..900 {
        let now = i * MS;
        for &flow in lower.iter().chain(&upper) {
            host.arrive(now, 1500, flow, 0);
        }
        for _ in 0..40 {
            host.arrive(now, 1500, middle[0], 0);
        }
        if i % 100 == 50 {
            host.arrive(now, 1500, middle[1], 0);
            host.arrive(now, 1500, middle[2], 0);
        }
        for _ in 0..20 {
            host.transmit(now, |_| {});
        }
    }
    let now = SEC + MS;
    let moved: Vec<usize> = middle.iter().map(|&flow| queue_of(&mut host, now, flow)).collect();
    assert_eq!(moved, [3, 1, 1]);
    // All three queues have packets for so long.
    let shares = [lower.len() + 2, 3, upper.len() + 1];
    let all = 100 * shares.iter().sum::<usize>();
    for _ in 0..all {
        for &flow in lower.iter().chain(&upper) {
            host.arrive(now, 1500, flow, 0);
        }
    }
    let before = host.waiting[2].len();
    for _ in 0..all {
        host.transmit(now, |_| {});
    }
    let sent = before - host.waiting[2].len();
    assert!(sent.abs_diff(300) < 10, "{sent} of {all}, {shares:?}");
    // Once that is sent the queue has the share of one, as the flow has that comes into it.
    while !host.waiting[2].is_empty() {
        for &flow in lower.iter().chain(&upper) {
            host.arrive(now, 1500, flow, 0);
        }
        host.transmit(now, |_| {});
    }
    assert_eq!(queue_of(&mut host, now, flow), 2);
    for _ in 0..all {
        for &flow in lower.iter().chain(&upper).chain(&[flow]) {
            host.arrive(now, 1500, flow, 0);
        }
    }
    let before = host.waiting[2].len();
    for _ in 0..all - 200 {
        host.transmit(now, |_| {});
    }
    let sent = before - host.waiting[2].len();
    assert!(sent.abs_diff(100) < 10, "{sent} of {}, {shares:?}, whose second is 1 now", all - 200);
}

/// Alike flows stay together however long they have waited: ten of 100,000 packets each behind a link that stood still for an hour.
#[test]
fn alike_flows_stay_together_after_a_long_stall() {
    let set = [("mice_packets", Value::Int(0)), ("idle_timeout", Value::Int(0))];
    let mut host = Host::new(&spec("santa", &set), 0, 0);
    let places: Vec<usize> = (0..100).map(|flow| queue_of(&mut host, 0, flow)).collect();
    let home = (1..=3).find(|q| places.iter().filter(|p| *p == q).count() >= 10).unwrap();
    let first: Vec<u32> = (0..100).filter(|&flow| places[flow as usize] == home).take(10).collect();
    for _ in 0..100_000 {
        for &flow in &first {
            host.arrive(1, 64, flow, 0);
        }
    }
    let now = 3_600 * SEC;
    for _ in 0..100 {
        for &flow in &first {
            host.arrive(now, 64, flow, 0);
        }
    }
    while host.transmit(now + 1, |_| {}).is_some() {}
    for i in 0..100 {
        host.discipline.idle(now + 11 * SEC + i);
    }
    for &flow in &first {
        assert_eq!(queue_of(&mut host, now + 11 * SEC + 100, flow), home, "flow {flow}");
    }
}

/// A new flow's packet that is longer than the whole buffer is dropped: others need not go for it.
#[test]
fn a_packet_longer_than_the_buffer_displaces_nobody() {
    let mut host = Host::new(&spec("santa", &[]), 0, 60_000);
    for _ in 0..60 {
        host.arrive(0, 1500, 1, 0);
    }
    // Until no mouse waits.
    for _ in 0..12 {
        host.transmit(0, |_| {});
    }
    for _ in 0..60 {
        host.arrive(0, 1500, 1, 0);
    }
    let waiting = host.queue.packets;
    assert_eq!(host.arrive(MS, 65_000, 2, 0).action, Action::Drop);
    assert_eq!(host.queue.packets, waiting);
}

/// Section 6.3: the buffer is split evenly, be it the port's own or its part of one that several share.
#[test]
fn a_shared_buffer_is_split_as_an_own_one() {
    for (own, pool_bytes, ports, each) in
        [(300_000, 0, 0, 66), (0, 300_000, 1, 66), (0, 600_000, 2, 66), (150_000, 600_000, 2, 33)]
    {
        let mut host = Host::new(&spec("santa", &[]), 0, own);
        host.queue.pool = Pool { limit_bytes: pool_bytes, ports, ..Pool::default() };
        let mut held = [0; 2];
        for flow in 0..2 {
            for i in 0..300 {
                host.queue.pool.bytes = host.queue.bytes;
                let v = host.arrive(MS, 1500, flow, 0);
                // The first ten are mice.
                held[flow as usize] += u32::from(i >= 10 && v.action != Action::Drop);
            }
        }
        assert_eq!(held, [each; 2], "{own} bytes, {pool_bytes} shared by {ports}");
    }
}

/// The first ten packets of a flow pass all others by; the eleventh waits with them.
#[test]
fn the_eleventh_packet_is_no_mouse() {
    let mut host = Host::new(&spec("santa", &[]), 0, 0);
    for _ in 0..50 {
        host.arrive(0, 1500, 1, 0);
    }
    for _ in 0..11 {
        host.arrive(0, 100, 2, 0);
    }
    assert_eq!(host.waiting[0].len(), 20);
    // The first flow found the first queue empty, the second flow the second.
    assert_eq!((host.waiting[1].len(), host.waiting[2].len()), (40, 1));
    let sizes: Vec<u32> = (0..20).map(|_| host.transmit(0, |_| {}).unwrap().bytes).collect();
    assert_eq!(sizes, [[1500; 10], [100; 10]].concat());
}

/// Sends all but a few packets, so that the next one is let in.
fn drain(host: &mut Host, now: u64) {
    while host.queue.packets > 5 {
        host.transmit(now, |_| {});
    }
}

/// The queue that a packet of the flow joins.
fn queue_of(host: &mut Host, now: u64, flow: u32) -> usize {
    let before: Vec<usize> = host.waiting.iter().map(VecDeque::len).collect();
    host.arrive(now, 1500, flow, 0);
    (0..host.waiting.len()).find(|&q| host.waiting[q].len() > before.get(q).copied().unwrap_or(0)).unwrap()
}

/// The artifact counts a flow that has ended as one that kept nothing: all others of its queue are far
/// above that, and go up each round. Left out of the count, they stay where they are.
#[test]
fn a_dead_flow_drives_the_others_out_unless_it_is_left_out() {
    for (skip, places) in [(false, [1, 2, 3]), (true, [1, 1, 1])] {
        let set = [
            ("rule", Value::Choice("artifact")),
            ("skip_inactive", Value::Flag(skip)),
            ("idle_timeout", Value::Int(0)),
            ("assign", Value::Choice("ranges")),
            ("mice_packets", Value::Int(0)),
        ];
        let mut host = Host::new(&spec("santa", &set), 0, 0);
        // Equal ranges at first: find flows that the dice put into the first queue.
        let first: Vec<u32> = (0..60).filter(|&f| queue_of(&mut host, 0, f) == 1).take(4).collect();
        while host.transmit(0, |_| {}).is_some() {}
        // A first round in which nobody keeps anything; from then on three of them send alike.
        let mut places_seen = Vec::new();
        for i in 10_001..40_000u64 {
            let now = i * MS;
            if i % 10_000 == 5_000 {
                places_seen.push(queue_of(&mut host, now, first[0]));
            } else if i % 2 == 0 {
                host.arrive(now, 1500, first[(i / 2 % 3) as usize], 0);
            }
            if i > 10_020 && i % 2 == 1 {
                host.transmit(now, |_| {});
            }
        }
        assert_eq!(places_seen, places, "skip_inactive = {skip}");
    }
}

/// Ten seconds of silence, and a flow's place is free for another.
#[test]
fn the_silent_are_forgotten() {
    let mut host = Host::new(&spec("santa", &[("mice_packets", Value::Int(0))]), 0, 0);
    let flows = |host: &Host| host.discipline.probe(1);
    for flow in 0..50 {
        host.arrive(0, 1500, flow, 0);
        host.transmit(0, |_| {});
    }
    assert_eq!(flows(&host), 50.0);
    let mut now = 0;
    let mut talk = |host: &mut Host, until: u64| {
        while now < until {
            now += 50 * MS;
            host.arrive(now, 1500, 7, 0);
            host.transmit(now, |_| {});
        }
    };
    talk(&mut host, 9_900 * MS);
    assert_eq!(flows(&host), 50.0);
    talk(&mut host, 13_000 * MS);
    assert_eq!(flows(&host), 1.0);
}

/// Whose packets still wait is not silent: its queue is not free for others.
#[test]
fn who_waits_is_not_forgotten() {
    let mut host = Host::new(&spec("santa", &[("mice_packets", Value::Int(0))]), 1000, 0);
    for _ in 0..200 {
        host.arrive(0, 1500, 1, 0);
    }
    // 64 kbit/s
    for i in 1..64 {
        host.transmit(i * 187_500_000, |_| {});
    }
    assert_eq!(queue_of(&mut host, 12_000 * MS, 2), 2);
}

/// More flows than there is room for: the rest keep to a queue by their hash, and nothing grows.
#[test]
fn the_state_is_bounded_however_many_flows_pass() {
    let mut host = Host::new(&spec("santa", &[("mice_packets", Value::Int(0))]), 0, 0);
    let place = |host: &mut Host, flow| {
        let queue = queue_of(host, 0, flow);
        host.transmit(0, |_| {});
        queue
    };
    let mut rest: Vec<(u32, usize)> = Vec::new();
    for flow in 0..70_000 {
        let queue = place(&mut host, flow);
        if flow >= 65_536 {
            rest.push((flow, queue));
        }
    }
    assert_eq!((host.discipline.probe(1), host.discipline.probe(4)), (65_536.0, 4_464.0));
    for q in 1..=3 {
        assert!(rest.iter().filter(|r| r.1 == q).count() > 1_000);
    }
    for (flow, queue) in rest {
        assert_eq!(place(&mut host, flow), queue, "it stays where it is");
    }
}

/// Who sends on at twice the link's rate goes to the hell queue after three rounds, and is let out three
/// rounds after he has learnt to back off; who halves his rate at each loss never sees it.
#[test]
fn hell_is_for_those_who_never_back_off() {
    let set = [("queues", Value::Int(2)), ("hell", Value::Flag(true)), ("round", Value::Int(SEC))];
    let mut host = Host::new(&spec("santa", &set), 30, 0);
    let mut rate = [0.5, 1.0];
    let mut due = [0.0; 2];
    let mut places = [Vec::new(), Vec::new()];
    for i in 0..13_000u64 {
        let now = i * MS;
        for flow in 0..2 {
            due[flow] += rate[flow];
            rate[flow] += 0.002;
            while due[flow] >= 1.0 {
                due[flow] -= 1.0;
                if host.arrive(now, 1500, flow as u32, 0).action == Action::Drop {
                    rate[flow] /= 2.0;
                }
            }
        }
        if i < 6_000 {
            rate[1] = 1.0;
        }
        // The link sends a packet each two milliseconds.
        if i % 2 == 0 {
            host.transmit(now, |_| {});
        }
        if i % 1000 == 500 {
            for (flow, places) in places.iter_mut().enumerate() {
                drain(&mut host, now);
                places.push(queue_of(&mut host, now, flow as u32));
            }
        }
    }
    assert!(places[0].iter().all(|&q| q < 3), "{places:?}");
    assert_eq!(places[1].iter().map(|&q| q == 3).collect::<Vec<_>>(), {
        let mut hell = [false; 13];
        hell[3..9].fill(true);
        hell
    });
}

/// A call beside such a sender loses as large a part of its packets, and keeps next to nothing of the queue: it is not the one.
#[test]
fn hell_is_not_for_who_suffers_from_them() {
    for queues in [1, 3] {
        let set = [("queues", Value::Int(queues)), ("hell", Value::Flag(true)), ("round", Value::Int(SEC))];
        let mut host = Host::new(&spec("santa", &set), 300, 0);
        let hell = queues as usize + 1;
        let mut places = [Vec::new(), Vec::new()];
        for i in 0..20_000u64 {
            let now = i * MS;
            // Twice the link's rate; and 50 packets a second, a tenth of it, drawn to the same queue.
            host.arrive(now, 1500, 0, 0);
            if i > 50 && i % 20 == 0 {
                host.arrive(now, 1500, if queues == 1 { 1 } else { 7 }, 0);
            }
            if i % 2 == 0 {
                host.transmit(now, |_| {});
            }
            if i % 1000 == 500 {
                drain(&mut host, now);
                places[0].push(queue_of(&mut host, now, 0));
                places[1].push(queue_of(&mut host, now, if queues == 1 { 1 } else { 7 }));
            }
        }
        assert!(places[0].contains(&hell), "{queues}: {places:?}");
        assert!(!places[1].contains(&hell), "{queues}: {places:?}");
    }
}

/// Who loses as much in each round is not one while it keeps less than the mean: the rounds in which it keeps that much are counted.
#[test]
fn hell_is_for_who_keeps_the_mean_in_each_round() {
    let set = [("queues", Value::Int(1)), ("hell", Value::Flag(true)), ("round", Value::Int(SEC))];
    let mut host = Host::new(&spec("santa", &set), 300, 0);
    let mut places = Vec::new();
    for i in 0..9_000u64 {
        let now = i * MS;
        // Much of what comes is lost. From the fourth second on the first flow sends most of it.
        let (small, large) = if i < 3_000 { (0, 1) } else { (1, 0) };
        if i % 10 == 0 {
            host.arrive(now, 1500, small, 0);
        }
        host.arrive(now, 1500, large, 0);
        if i % 2 == 0 {
            host.transmit(now, |_| {});
        }
        if i % 1000 == 500 {
            drain(&mut host, now);
            places.push(queue_of(&mut host, now, 0));
        }
    }
    // The fourth, fifth and sixth round count.
    assert_eq!(places, [1, 1, 1, 1, 1, 1, 2, 2, 2]);
}

/// Who sends nothing in a round does not leave the hell queue by that.
#[test]
fn silence_for_a_round_is_no_way_out_of_hell() {
    let set = [("queues", Value::Int(1)), ("hell", Value::Flag(true)), ("round", Value::Int(SEC))];
    let mut host = Host::new(&spec("santa", &set), 300, 0);
    let mut places = Vec::new();
    for i in 0..13_000u64 {
        let now = i * MS;
        // Two senders, each faster than the link; the first is silent for a round and a half.
        if !(8_300..10_200).contains(&i) {
            host.arrive(now, 1500, 0, 0);
        }
        host.arrive(now, 1500, 1, 0);
        if i % 2 == 0 {
            host.transmit(now, |_| {});
        }
        if i % 1000 == 500 && !(8_300..10_200).contains(&i) {
            drain(&mut host, now);
            places.push(queue_of(&mut host, now, 0));
        }
    }
    assert_eq!(places[3..], [2; 8], "{places:?}");
}

/// What nine flows kept in each round, and where they were.
#[derive(Debug, Clone)]
struct Kept {
    flow: String,
    queue: usize,
    kept_us: u64,
    to: usize,
}

/// The rounds of the simulator's runs of Figure 11 (seed 1): 3 CUBIC, 3 BBR, 3 Vegas, three queues. Columns:
/// rule, round, flow, its queue, the sum of its packets' sojourn times in us, its queue afterwards.
fn recorded(rule: &str) -> Vec<Vec<Kept>> {
    let mut rounds: Vec<Vec<Kept>> = Vec::new();
    for line in include_str!("../data/santa-rounds.tsv").lines() {
        let mut columns = line.split('\t');
        let mut next = || columns.next().unwrap();
        if next() != rule {
            continue;
        }
        let round: usize = next().parse().unwrap();
        rounds.resize(rounds.len().max(round), Vec::new());
        rounds[round - 1].push(Kept {
            flow: next().to_string(),
            queue: next().parse().unwrap(),
            kept_us: next().parse().unwrap(),
            to: next().parse().unwrap(),
        });
    }
    rounds
}

/// Three queues whose flows keep what the test says: a packet of each per round, so long in the queue.
struct Rounds {
    host: Host,
    now: u64,
}

impl Rounds {
    /// Flow i starts in queue `queues[i]`.
    fn new(rule: &'static str, queues: &[usize]) -> Rounds {
        let set = [
            ("rule", Value::Choice(rule)),
            // Equal ranges of a byte before the first round: the test's dice say which queue.
            ("assign", Value::Choice("ranges")),
            ("mice_packets", Value::Int(0)),
            ("idle_timeout", Value::Int(0)),
        ];
        let mut rounds = Rounds { host: Host::new(&spec("santa", &set), 0, 0), now: SEC };
        for (flow, &queue) in queues.iter().enumerate() {
            let random = [20u32, 128, 230][queue - 1] << 24;
            let packet = Packet { bytes: 1500, flow: flow as u32, ..Packet::default() };
            let at = rounds.host.discipline.enqueue_to(rounds.now, &Queue::default(), &packet, random).1;
            assert_eq!(at as usize, queue);
            rounds.host.discipline.dequeue_from(rounds.now, &Queue::default(), &packet, at);
        }
        rounds.turn(&vec![0; queues.len()]);
        rounds
    }

    /// Flow i keeps `kept_us[i]` in this round; where they are after it.
    fn turn(&mut self, kept_us: &[u64]) -> Vec<usize> {
        self.turn_ns(&kept_us.iter().map(|us| 1000 * us).collect::<Vec<_>>())
    }

    fn turn_ns(&mut self, kept_ns: &[u64]) -> Vec<usize> {
        // Any packet's sojourn fits: the clock is far on.
        let base = 1_000_000 * SEC;
        let begin = base + self.now / (10 * SEC) * 10 * SEC;
        let d = &mut self.host.discipline;
        let view = Queue::default();
        for (flow, &ns) in kept_ns.iter().enumerate() {
            let mut packet =
                Packet { enqueue_ns: begin + 2 * SEC, bytes: 1500, flow: flow as u32, ..Packet::default() };
            let (_, queue) = d.enqueue_to(begin + 2 * SEC, &view, &packet, 0);
            packet.enqueue_ns = begin + 2 * SEC - ns;
            assert_eq!(d.dequeue_from(begin + 2 * SEC, &view, &packet, queue).action, Action::Pass);
        }
        // The round's end is dealt with by the calls after it.
        for i in 0..4 {
            d.idle(begin + 11 * SEC + i);
        }
        self.now += 10 * SEC;
        let place = |flow: usize| {
            let packet =
                Packet { enqueue_ns: begin + 11 * SEC, bytes: 64, flow: flow as u32, ..Packet::default() };
            let (_, queue) = d.enqueue_to(begin + 11 * SEC, &view, &packet, 0);
            d.dequeue_from(begin + 11 * SEC, &view, &packet, queue);
            queue as usize
        };
        (0..kept_ns.len()).map(place).collect()
    }
}

/// Decision by decision: the rounds as recorded, the rule as section 4.2 (or the notes on the artifact) says it,
/// and the header.
#[test]
fn recorded_rounds_are_decided_as_the_rules_say() {
    for rule in ["paper", "artifact"] {
        let rounds = recorded(rule);
        assert_eq!(rounds.len(), 5);
        let begin: Vec<usize> = rounds[0].iter().map(|f| f.queue).collect();
        let mut host = Rounds::new(rule, &begin);
        let mut moved = 0;
        for (i, round) in rounds.iter().enumerate() {
            for f in round {
                let here: Vec<u64> = round.iter().filter(|o| o.queue == f.queue).map(|o| o.kept_us).collect();
                let least = *here.iter().min().unwrap();
                // Twice the mean, without its division.
                let (all, n) = (here.iter().sum::<u64>(), here.len() as u64);
                let up = f.queue < 3
                    && if rule == "paper" { f.kept_us * n > 2 * all } else { f.kept_us > 2 * least };
                // In the artifact's last queue nobody has gone up before.
                let most = *here.iter().max().unwrap();
                let down = match rule {
                    "paper" => f.queue > 1 && 2 * f.kept_us * n < all,
                    _ => f.queue == 3 && 2 * f.kept_us < most,
                };
                let want = if up { f.queue + 1 } else { f.queue - usize::from(down) };
                assert_eq!(f.to, want, "{rule}, round {}, {}: {f:?} of {here:?}", i + 1, f.flow);
                moved += usize::from(up || down);
            }
            let kept: Vec<u64> = round.iter().map(|f| f.kept_us).collect();
            let to: Vec<usize> = round.iter().map(|f| f.to).collect();
            assert_eq!(host.turn(&kept), to, "{rule}, round {}", i + 1);
            if let Some(next) = rounds.get(i + 1) {
                assert_eq!(next.iter().map(|f| f.queue).collect::<Vec<_>>(), to);
            }
        }
        assert!(moved > 10, "{rule}: {moved}");
    }
}

/// Nobody is above twice the mean where half of a queue or more is alike: if m of n flows keep b and the others
/// nothing, twice the mean is 2 m b / n. By the paper's rule they then stay with those whom they starve, for good
/// if it is the lowest queue; the artifact's takes them apart, and never rests in the last two queues.
#[test]
fn who_is_half_of_a_queue_is_not_promoted() {
    let aggressive =
        |n: usize, m: usize| -> Vec<u64> { (0..n).map(|i| if i < m { 1_000_000 } else { 10_000 }).collect() };
    for (m, to) in [(3, 1), (2, 2)] {
        let places = Rounds::new("paper", &[1; 6]).turn(&aggressive(6, m));
        assert_eq!(places, [vec![to; m], vec![1; 6 - m]].concat());
    }
    // Nor by a nanosecond that a division leaves over.
    for odd in [1_000_001, 1_000_003] {
        assert_eq!(Rounds::new("paper", &[1; 2]).turn_ns(&[odd, 0]), [1; 2]);
        assert_eq!(Rounds::new("paper", &[1; 6]).turn_ns(&[odd, odd, odd, 0, 0, 0]), [1; 6]);
    }
    assert_eq!(Rounds::new("artifact", &[1; 6]).turn(&aggressive(6, 3)), [2, 2, 2, 1, 1, 1]);
    // One of the last queue keeps less than half of the most: down, and up again beside one who keeps less still.
    let mut host = Rounds::new("artifact", &[3, 3, 2]);
    let mut seen = Vec::new();
    for _ in 0..6 {
        seen.push(host.turn(&[1000, 400, 100])[1]);
    }
    assert_eq!(seen, [2, 3, 2, 3, 2, 3]);
}
