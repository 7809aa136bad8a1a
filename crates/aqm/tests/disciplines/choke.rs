//! CHOKe beside a second statement of Linux's, with a table that has holes, and its numbers by hand.

use crate::host::{Dice, Host, flow_of, spec};
use crate::red::{idle_table, wlog};
use queuewright_aqm::{Action, Discipline, Packet, Pool, Queue, Reason, TCP, Value, Verdict};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

const US: u64 = 1_000;
const MS: u64 = 1_000 * US;
const SEC: u64 = 1_000 * MS;
const AVPKT: u64 = 1000;

/// Rules that Linux's are not, each a slip of the pen away.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Slip {
    None,
    /// It compares with the head always.
    Head,
    /// One draw, whatever it hits: of a hole the head.
    OneDraw,
    /// Draws are among the packets, not the places.
    Packets,
    /// Holes at the tail are skipped as those at the head are.
    Tail,
    /// The average counts the holes, too.
    Average,
    /// Thresholds as RED has them: min counts from itself on, and max.
    Thresholds,
    /// What is matched is the arrival alone.
    OneLost,
    /// Dice before the draw.
    DiceFirst,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Waiting {
    number: u64,
    flow: u32,
    marked: bool,
}

/// sch_choke as its source has it: a table of pointers with holes, the queue's length beside it, RED's variables of red.h.
struct Linux {
    slip: Slip,
    table: Vec<Option<Waiting>>,
    head: usize,
    tail: usize,
    length: u64,
    min: u64,
    max: u64,
    wlog: u32,
    per_packet: u64,
    ecn: bool,
    cell: u32,
    stab: Vec<u32>,
    average: u64,
    count: i64,
    r: u64,
    idle_from: Option<u64>,
    ages: bool,
}

impl Linux {
    fn new(slip: Slip, limit: u64, (min, max, burst): (u64, u64, u64), probability: f64, ecn: bool) -> Linux {
        let wlog = wlog(min * AVPKT, burst, AVPKT);
        // At tc's 10 Mbit/s an average packet takes 800 us.
        let (cell, stab) = idle_table(wlog, 800.0);
        Linux {
            slip,
            table: vec![None; (limit as usize + 1).next_power_of_two()],
            head: 0,
            tail: 0,
            length: 0,
            min,
            max,
            wlog,
            per_packet: ((probability * 2f64.powi(32)) as u64 / (max - min).max(1)).max(1),
            ecn,
            cell,
            stab,
            average: 0,
            count: -1,
            r: 0,
            idle_from: None,
            ages: true,
        }
    }

    fn after(&self, place: usize) -> usize {
        (place + 1) % self.table.len()
    }

    fn places(&self) -> usize {
        (self.tail + self.table.len() - self.head) % self.table.len()
    }

    fn holes(&self) -> u64 {
        self.places() as u64 - self.length
    }

    fn skip_head(&mut self) {
        loop {
            self.head = self.after(self.head);
            if self.head == self.tail || self.table[self.head].is_some() {
                return;
            }
        }
    }

    fn take(&mut self, place: usize) -> Waiting {
        let gone = self.table[place].take().expect("it was chosen");
        if place == self.head {
            self.skip_head();
        }
        // In Linux this looks at the place behind the last one, where no packet is: holes stay.
        while self.slip == Slip::Tail && self.tail != self.head {
            let last = (self.tail + self.table.len() - 1) % self.table.len();
            if self.table[last].is_some() {
                break;
            }
            self.tail = last;
        }
        self.length -= 1;
        gone
    }

    fn choose(&self, mut draw: impl FnMut() -> u32) -> usize {
        let among = if self.slip == Slip::Packets { self.length } else { self.places() as u64 };
        for _ in 0..if self.slip == Slip::OneDraw { 1 } else { 3 } {
            let place = (self.head + ((u64::from(draw()) * among) >> 32) as usize) % self.table.len();
            if self.table[place].is_some() && self.slip != Slip::Head {
                return place;
            }
        }
        self.head
    }

    /// An arrival. `full`: it finds no room.
    fn arrive(
        &mut self,
        now: u64,
        it: Waiting,
        ecn: u32,
        full: bool,
        mut draw: impl FnMut() -> u32,
    ) -> (Action, Reason) {
        let was_idle = self.idle_from.is_some();
        let length = self.length + if self.slip == Slip::Average { self.holes() } else { 0 };
        match self.idle_from.take() {
            None => self.average = self.average + length - (self.average >> self.wlog),
            Some(from) => {
                let us = ((now - from) / 1000).min(255 << self.cell);
                let shift = self.stab[((us >> self.cell) & 255) as usize];
                let lost = (u128::from(self.average) * u128::from(us)) >> self.cell;
                self.average = match shift {
                    0 if lost < u128::from(self.average >> 1) => self.average - lost as u64,
                    0 => self.average >> 1,
                    _ => self.average >> shift,
                };
            }
        }
        let verdict = self.decide(it, ecn, &mut draw);
        let verdict = if full { (Action::Drop, Reason::Limit) } else { verdict };
        if verdict.0 != Action::Drop {
            self.table[self.tail] = Some(Waiting { marked: verdict.0 == Action::Mark, ..it });
            self.tail = self.after(self.tail);
            self.length += 1;
        } else if was_idle && self.ages {
            // The device asks again at once, and finds nothing.
            self.idle_from = Some(now);
        }
        verdict
    }

    fn decide(&mut self, it: Waiting, ecn: u32, draw: &mut impl FnMut() -> u32) -> (Action, Reason) {
        let at = |threshold: u64| threshold << self.wlog;
        let (low, high) = match self.slip {
            Slip::Thresholds => (self.average < at(self.min), self.average >= at(self.max)),
            _ => (self.average <= at(self.min), self.average > at(self.max)),
        };
        if low {
            self.count = -1;
            return (Action::Pass, Reason::None);
        }
        let marks = self.ecn && ecn != 0;
        let act = |reason| (if marks { Action::Mark } else { Action::Drop }, reason);
        if self.slip == Slip::DiceFirst && high {
            self.count = -1;
            return act(Reason::Threshold);
        }
        if self.head != self.tail {
            let place = self.choose(&mut *draw);
            if self.table[place].is_some_and(|p| p.flow == it.flow) {
                if self.slip != Slip::OneLost {
                    self.take(place);
                }
                return (Action::Drop, Reason::Early);
            }
        }
        if high {
            self.count = -1;
            return act(Reason::Threshold);
        }
        self.count += 1;
        if self.count > 0 {
            let above = (self.average - at(self.min)) >> self.wlog;
            if above * (self.count as u64) < self.r {
                return (Action::Pass, Reason::None);
            }
            self.count = 0;
            self.r = u64::from(draw()) / self.per_packet;
            return act(Reason::Early);
        }
        self.r = u64::from(draw()) / self.per_packet;
        (Action::Pass, Reason::None)
    }

    fn leave(&mut self, now: u64) -> Option<Waiting> {
        if self.head == self.tail {
            if self.ages {
                self.idle_from.get_or_insert(now);
            }
            return None;
        }
        let gone = self.table[self.head].take();
        self.skip_head();
        self.length -= 1;
        gone
    }
}

/// The header's side: a list, of which the head is taken.
struct Ours {
    choke: Discipline,
    held: VecDeque<Waiting>,
    limit: u64,
}

impl Ours {
    fn queue(&self) -> Queue {
        let packets = self.held.len() as u32;
        Queue {
            packets,
            bytes: u64::from(packets) * 1500,
            limit_packets: self.limit as u32,
            ..Queue::default()
        }
    }

    fn arrive(&mut self, now: u64, it: Waiting, ecn: u32, random: u32) -> (Action, Reason) {
        let packet =
            Packet { enqueue_ns: now, bytes: 1500, flow: it.flow, ecn, protocol: TCP, ..Packet::default() };
        let v = self.choke.enqueue(now, &self.queue(), &packet, random);
        if v.action != Action::Drop {
            self.held.push_back(Waiting { marked: v.action == Action::Mark, ..it });
        }
        (v.action, v.reason)
    }

    fn leave(&mut self, now: u64) -> Option<Waiting> {
        while let Some(it) = self.held.pop_front() {
            let packet = Packet { bytes: 1500, flow: it.flow, protocol: TCP, ..Packet::default() };
            match self.choke.dequeue(now, &self.queue(), &packet) {
                Verdict { action: Action::Pass, .. } => return Some(it),
                v => assert_eq!((v.action, v.reason), (Action::Drop, Reason::Early)),
            }
        }
        self.choke.idle(now);
        None
    }
}

/// The header's own stretching of one number, once more: the first as it is, the others by Knuth's MMIX generator.
fn stretched(random: u32) -> impl FnMut() -> u32 {
    let (mut state, mut first) = (u64::from(random), true);
    move || {
        if std::mem::take(&mut first) {
            return random;
        }
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state ^ (state >> 33)) >> 24) as u32
    }
}

/// What a case saw.
#[derive(Debug, Default)]
struct Seen {
    reasons: [u64; 5],
    marks: u64,
    matched: u64,
    holes: u64,
    /// Arrivals that Linux had a place for, and the buffer none.
    crowded: u64,
    /// The first step at which the two parted.
    parted: Option<u64>,
}

/// One case of arrivals and departures, made of both.
fn beside(case: u64, slip: Slip, seen: &mut Seen) {
    let mut dice = Dice(case);
    let mut pick = |of: &[u64]| of[dice.roll() as usize % of.len()];
    let limit = pick(&[0, 24, 60, 400]);
    let told = pick(&[0, 1, 2]);
    let (probability, flows, ecn) =
        (pick(&[1, 8, 50]) as f64 / 64.0, pick(&[1, 2, 5, 300]), pick(&[0, 1]) == 1);
    let clock = pick(&[0, 0, 1]);
    let mut set = vec![
        ("probability", Value::Real(probability)),
        ("ecn", Value::Flag(ecn)),
        ("idle_clock", Value::Choice(["us", "never"][clock as usize])),
    ];
    // tc's defaults, of the buffer; or told ones.
    let quarter = if limit == 0 { 250 } else { limit / 4 };
    let thresholds = match told {
        0 => (quarter / 3, quarter, (2 * (quarter / 3) + quarter) / 3),
        1 => (5, 16, 9),
        _ => (1, 30, 1),
    };
    if told > 0 {
        for (name, value) in [("min", thresholds.0), ("max", thresholds.1), ("burst", thresholds.2)] {
            set.push((name, Value::Int(value)));
        }
    }
    let mut ours = Ours { choke: Discipline::new(&spec("choke", &set)), held: VecDeque::new(), limit };
    let room = if limit == 0 { 100_000 } else { limit };
    let mut linux = Linux::new(slip, room, thresholds, probability, ecn);
    linux.ages = clock == 0;
    let (mut now, mut busy) = (0, 100);
    for step in 0..6_000 {
        now += match dice.roll() % 2000 {
            0 => dice.roll() % (9 * SEC),
            _ => dice.roll() % (2 * MS),
        };
        if dice.roll().is_multiple_of(200) {
            busy = [70, 105, 130, 180][dice.roll() as usize % 4];
        }
        if dice.roll() % 200 < busy {
            let flow = ((dice.roll() % flows) as u32).wrapping_mul(0x9e37_79b9);
            let it = Waiting { number: step, flow, marked: false };
            let codepoint = (dice.roll() % 4) as u32;
            let random = (dice.roll() >> 32) as u32;
            let full = ours.held.len() as u64 >= room;
            seen.crowded += u64::from(full && linux.length < room);
            let matched = ours.choke.probe(4);
            let theirs = if dice.roll().is_multiple_of(2) {
                // As a replay has them.
                let others = [dice.roll(), dice.roll(), dice.roll()].map(|n| (n >> 32) as u32);
                others.iter().for_each(|n| assert!(ours.choke.tell(*n)));
                let mut drawn = [random, others[0], others[1], others[2]].into_iter();
                linux.arrive(now, it, codepoint, full, || drawn.next().expect("four at most"))
            } else {
                linux.arrive(now, it, codepoint, full, stretched(random))
            };
            let v = ours.arrive(now, it, codepoint, random);
            seen.reasons[v.1 as usize] += 1;
            seen.marks += u64::from(v.0 == Action::Mark);
            seen.matched += (ours.choke.probe(4) - matched) as u64;
            seen.holes += u64::from(linux.holes() > 0);
            if v != theirs {
                seen.parted = Some(step);
                return;
            }
            if slip == Slip::None {
                assert_eq!(ours.choke.probe(0), linux.average as f64 / f64::from(1u32 << linux.wlog));
            }
        } else if ours.leave(now) != linux.leave(now) {
            seen.parted = Some(step);
            return;
        }
    }
    // What is left is the same, in the same order.
    loop {
        let (a, b) = (ours.leave(now), linux.leave(now));
        if a != b {
            seen.parted = Some(6_000);
        }
        if a.is_none() || b.is_none() {
            return;
        }
    }
}

/// The same verdicts, and the same packets leave in the same order with the same marks: with Linux's random numbers, four a packet, and with one that is
/// stretched.
#[test]
fn decides_as_linux_does() {
    let mut all = Seen::default();
    for case in 0..500 {
        beside(case, Slip::None, &mut all);
        assert_eq!(all.parted, None, "case {case}");
    }
    let reasons = [Reason::Limit, Reason::Threshold, Reason::Early].map(|r| all.reasons[r as usize]);
    assert!(reasons.iter().all(|n| *n > 2_000), "{all:?}");
    assert!(all.matched > 10_000 && all.holes > 100_000 && all.marks > 2_000 && all.crowded > 100, "{all:?}");
}

/// What is a slip of the pen away from Linux's rule is seen.
#[test]
fn what_linux_does_not_is_seen() {
    for slip in [
        Slip::Head,
        Slip::OneDraw,
        Slip::Packets,
        Slip::Tail,
        Slip::Average,
        Slip::Thresholds,
        Slip::OneLost,
        Slip::DiceFirst,
    ] {
        let parted = (0..60).filter(|case| {
            let mut seen = Seen::default();
            beside(*case, slip, &mut seen);
            seen.parted.is_some()
        });
        let parted = parted.count();
        assert!(parted >= 10, "{slip:?}: {parted} of 60");
    }
}

/// So many senders that halve their window on loss and one that sends at so many percent of the link, one packet of the link's time a step; what the
/// flood gets of what is sent after a quarter of the steps, and how busy the link is.
struct Flood {
    senders: u32,
    percent: u64,
    steps: u64,
}

/// A round trip without a queue, in steps.
const ROUND: u64 = 33;
/// The flow that does not yield.
const FLOOD: u32 = 1000;

impl Flood {
    fn run(
        &self,
        mut arrive: impl FnMut(u64, u32) -> bool,
        mut leave: impl FnMut(u64, &mut Vec<u32>) -> Option<u32>,
    ) -> (f64, f64) {
        let n = self.senders as usize;
        let (mut cwnd, mut flight, mut deaf) = (vec![2.0f64; n], vec![0u32; n], vec![0u64; n]);
        // When, whose, and is it an ACK?
        let mut events: BinaryHeap<Reverse<(u64, u32, bool)>> = BinaryHeap::new();
        for flow in 0..self.senders {
            flight[flow as usize] = 1;
            events.push(Reverse((ROUND * u64::from(flow) / u64::from(self.senders), flow, true)));
        }
        let (mut owed, mut sent, mut of_flood) = (0, 0, 0);
        for now in 0..self.steps {
            let mut lost = Vec::new();
            owed += self.percent;
            while owed >= 100 {
                owed -= 100;
                arrive(now, FLOOD);
            }
            while events.peek().is_some_and(|e| e.0.0 <= now) {
                let Some(Reverse((_, flow, is_ack))) = events.pop() else { break };
                let i = flow as usize;
                flight[i] -= 1;
                if is_ack {
                    cwnd[i] += 1.0 / cwnd[i];
                } else if now >= deaf[i] {
                    cwnd[i] = (cwnd[i] / 2.0).max(1.0);
                    deaf[i] = now + ROUND;
                }
                // As after a timeout, if nothing is left to clock it.
                if !is_ack && flight[i] == 0 {
                    flight[i] = 1;
                    events.push(Reverse((now + 5 * ROUND, flow, true)));
                    continue;
                }
                while f64::from(flight[i]) < cwnd[i].floor() {
                    flight[i] += 1;
                    if !arrive(now, flow) {
                        lost.push(flow);
                    }
                }
            }
            if let Some(flow) = leave(now, &mut lost) {
                if flow != FLOOD {
                    events.push(Reverse((now + ROUND, flow, true)));
                }
                if now >= self.steps / 4 {
                    sent += 1;
                    of_flood += u64::from(flow == FLOOD);
                }
            }
            for flow in lost {
                if flow != FLOOD {
                    events.push(Reverse((now + ROUND, flow, false)));
                }
            }
        }
        (of_flood as f64 / sent as f64, sent as f64 / (self.steps * 3 / 4) as f64)
    }

    /// Through a discipline of the registry.
    fn through(&self, name: &str, set: &[(&str, Value)], limit: u32) -> (f64, f64, u64) {
        let host = std::cell::RefCell::new(Host::new(&spec(name, set), limit, 0));
        let step = 1_200 * US;
        let (share, busy) = self.run(
            |now, flow| host.borrow_mut().arrive(now * step, 1500, flow, 0).action != Action::Drop,
            |now, lost| {
                host.borrow_mut().transmit(now * step, |p| lost.push(flow_of(&p))).map(|p| flow_of(&p))
            },
        );
        let full = host.borrow().drops[Reason::Limit as usize];
        (share, busy, full)
    }
}

/// Tang, Wang and Low (ToN 2004) prove of CHOKe that one who does not yield, among many who do, gets at most 1 / (e + 1) = 0.269 of the link, when it
/// sends a little more than the link carries, and the less the more it sends beyond that. Tail drop leaves the others nothing.
#[test]
fn a_flood_gets_the_less_the_more_it_sends() {
    let most = 1.0 / (std::f64::consts::E + 1.0);
    for (limit, set) in [(300, &[("min", 100), ("max", 200)][..]), (1000, &[])] {
        let told =
            |bytes: u64| set.iter().map(|(name, v)| (*name, Value::Int(v * bytes))).collect::<Vec<_>>();
        let flood = |percent| Flood { senders: 32, percent, steps: 60_000 };
        let mut last = 1.0;
        for percent in [120, 200, 500] {
            let (share, busy, _) = flood(percent).through("choke", &told(1), limit);
            assert!(
                busy > 0.999 && share < most + 0.01 && share < last - 0.005,
                "{percent} %: {share} {busy}"
            );
            assert!(flood(percent).through("droptail", &[], limit).0 > 0.99, "{percent} %");
            assert!(flood(percent).through("red", &told(1500), limit).0 > 2.5 * share, "{percent} %");
            last = share;
        }
        // Below the link's rate, too, it gets no more.
        let (share, ..) = flood(50).through("choke", &told(1), limit);
        assert!((0.2..most).contains(&share), "{share}");
    }
}

/// Holes take room in Linux's table, and nothing looks whether there is some: one that they fill takes itself for empty, and what is in it is lost.
/// Beside ten times the link and more that happens; here it is the buffer that is full then, and the link stays busy.
#[test]
fn no_flood_has_the_ring_take_itself_for_empty() {
    let (limit, percent) = (300, 1000);
    let flood = Flood { senders: 32, percent, steps: 20_000 };
    let cell = |linux: Linux| std::cell::RefCell::new((linux, Dice(3), Vec::new(), false));
    let linux = cell(Linux::new(Slip::None, limit, (100, 200, 133), 0.02, false));
    let (_, busy) = flood.run(
        |now, flow| {
            let (linux, dice, lost, empty) = &mut *linux.borrow_mut();
            let (full, before) = (linux.length >= limit, linux.length);
            let it = Waiting { number: 0, flow, marked: false };
            let v = linux.arrive(now * MS, it, 0, full, || (dice.roll() >> 32) as u32);
            if linux.length < before {
                lost.push(flow);
            }
            *empty |= linux.head == linux.tail && linux.length > 100;
            v.0 != Action::Drop
        },
        |now, lost| {
            let (linux, _, gone, _) = &mut *linux.borrow_mut();
            lost.append(gone);
            linux.leave(now * MS).map(|it| it.flow)
        },
    );
    assert!(linux.borrow().3 && busy < 0.9, "{busy}");
    let set = [("min", Value::Int(100)), ("max", Value::Int(200))];
    let (share, busy, full) = flood.through("choke", &set, limit as u32);
    assert!(busy > 0.999 && full > 1_000 && share < 0.1, "{share} {busy} {full}");
}

/// A flow alone is found whatever is drawn: above min each arrival costs it two packets, and RED's dice are never asked.
#[test]
fn a_lone_flow_loses_two_for_one() {
    for (min, max, ecn) in [(5, 50, false), (20, 21, true)] {
        let set = [("min", min), ("max", max)].map(|(name, v)| (name, Value::Int(v)));
        let set = [&set[..], &[("ecn", Value::Flag(ecn))]].concat();
        let mut host = Host::new(&spec("choke", &set), 0, 0);
        let mut above = 0;
        for step in 0..3_000u64 {
            let v = host.arrive(step * MS, 1500, 7, 2);
            let is_above = host.discipline.probe(0) > min as f64;
            assert_eq!(v.action == Action::Drop, is_above && host.discipline.probe(4) > above as f64);
            above += u64::from(is_above && v.action == Action::Drop);
            if step % 3 == 0 {
                host.transmit(step * MS, |_| {});
            }
        }
        assert!(above > 500, "{above}");
        while host.transmit(3_000 * MS, |_| {}).is_some() {}
        assert_eq!(host.discipline.probe(4), above as f64);
        assert_eq!((host.drops[Reason::Early as usize], host.sent), (2 * above, 3_000 - 2 * above));
        assert_eq!(host.drops.iter().sum::<u64>(), 2 * above);
        assert_eq!(host.marks, [0; 5]);
    }
}

/// A queue of so many packets, whatever comes.
fn stands_at(packets: u32) -> Queue {
    Queue { packets, bytes: u64::from(packets) * 1500, ..Queue::default() }
}

/// Flows that never match see RED alone: at an average of 15 between 10 and 20 with 0.1 at max, and R = random / (0.1 * 2^32 / 10), of 100, the next drop
/// is the first at which 5 a packet reach R.
#[test]
fn strangers_see_red_alone() {
    let set = [("min", Value::Int(10)), ("max", Value::Int(20)), ("probability", Value::Real(0.1))];
    for random in [0u32, 1 << 20, 1 << 28, 1 << 30, 3 << 30, u32::MAX] {
        let mut choke = Discipline::new(&spec("choke", &set));
        let mut flow = 0;
        let mut arrive = |random: u32| {
            flow += 1;
            // Of the second number R is made.
            choke.tell(random);
            let packet = Packet { bytes: 1500, flow, ..Packet::default() };
            choke.enqueue(SEC, &stands_at(15), &packet, flow.wrapping_mul(0x9e37_79b9)).action
        };
        (0..1000).for_each(|_| _ = arrive(random));
        (0..1000).find(|_| arrive(random) == Action::Drop);
        let r = random / 42_949_672;
        for _ in 0..5 {
            let gap = (1..1000).find(|_| arrive(random) == Action::Drop);
            assert_eq!(gap, Some(r.div_ceil(5).max(1)), "{random}");
        }
        assert_eq!((choke.probe(0).floor(), choke.probe(4)), (15.0, 0.0));
    }
}

/// With `ecn` what RED would drop is marked if it can be; what is matched is dropped whatever it says.
#[test]
fn marks_what_red_would_drop_and_drops_what_matches() {
    let set = [("min", Value::Int(2)), ("max", Value::Int(4)), ("probability", Value::Real(1.0))];
    let of = |ecn: bool, packets: u32, codepoint: u32, alone: bool| {
        let set = [&set[..], &[("ecn", Value::Flag(ecn))]].concat();
        let mut choke = Discipline::new(&spec("choke", &set));
        let mut seen = Vec::new();
        for n in 1..200 {
            let packet =
                Packet { bytes: 1500, flow: if alone { 1 } else { n }, ecn: codepoint, ..Packet::default() };
            let v = choke.enqueue(SEC, &stands_at(packets), &packet, n << 20);
            seen.push((v.action, v.reason));
        }
        seen.split_off(100)
    };
    let (early, above) = ((Action::Mark, Reason::Early), (Action::Mark, Reason::Threshold));
    assert!(of(true, 3, 2, false).contains(&early) && of(true, 3, 1, false).contains(&early));
    assert!(of(true, 30, 2, false).iter().all(|v| *v == above));
    assert!(of(true, 30, 0, false).iter().all(|v| *v == (Action::Drop, Reason::Threshold)));
    assert!(of(false, 30, 2, false).iter().all(|v| *v == (Action::Drop, Reason::Threshold)));
    assert!(of(false, 3, 2, false).contains(&(Action::Drop, Reason::Early)));
    assert!(of(true, 2, 2, false).iter().all(|v| v.0 == Action::Pass), "min itself passes");
    let matched = of(true, 30, 2, true);
    assert!(matched.contains(&(Action::Drop, Reason::Early)), "{matched:?}");
}

/// What is marked takes room until it comes to the head, and is nowhere else.
#[test]
fn the_buffer_holds_what_is_marked() {
    let set = [("min", 2), ("max", 100), ("burst", 2)].map(|(name, v)| (name, Value::Int(v)));
    let mut ours = Ours { choke: Discipline::new(&spec("choke", &set)), held: VecDeque::new(), limit: 6 };
    let mut number = 0;
    // The first number says which place is drawn, the second that RED drops nothing.
    let mut arrive = |ours: &mut Ours, flow: u32, place: u64, places: u64| {
        number += 1;
        ours.choke.tell(u32::MAX);
        let it = Waiting { number, flow, marked: false };
        ours.arrive(SEC, it, 0, (((place << 32) + (1 << 31)) / places) as u32)
    };
    for flow in 1..=6 {
        assert_eq!(arrive(&mut ours, flow, 0, 1).0, Action::Pass);
    }
    let full = (Action::Drop, Reason::Limit);
    assert_eq!(arrive(&mut ours, 7, 0, 6), full);
    // One more of the third, which is drawn: both are lost.
    assert_eq!(arrive(&mut ours, 3, 2, 6), full);
    assert_eq!(ours.choke.probe(4), 1.0);
    let left = |ours: &mut Ours| ours.leave(SEC).map(|it| it.flow);
    assert_eq!(left(&mut ours), Some(1));
    assert_eq!(arrive(&mut ours, 7, 0, 5).0, Action::Pass);
    // Five of them count, and Linux would have room for a sixth.
    assert_eq!(arrive(&mut ours, 8, 0, 6), full);
    assert_eq!(left(&mut ours), Some(2));
    assert_eq!(arrive(&mut ours, 8, 0, 5).0, Action::Pass);
    // The one that was marked is dropped on the way to the next.
    assert_eq!(ours.held.len(), 6);
    assert_eq!(left(&mut ours), Some(4));
    assert_eq!(ours.held.len(), 4);
    assert_eq!([0; 5].map(|_| left(&mut ours)), [Some(5), Some(6), Some(7), Some(8), None]);
}

/// A smaller limit costs the oldest, marked or not, and what is kept of the others stays with them.
#[test]
fn what_the_host_throws_away_is_forgotten() {
    let set = [("min", Value::Int(2)), ("max", Value::Int(90)), ("probability", Value::Real(0.0))];
    let mut host = Host::new(&spec("choke", &set), 0, 0);
    let mut dice = Dice(1);
    for step in 0..200_000u64 {
        host.arrive(step * MS, 1500, (dice.roll() % 3) as u32, 0);
        if step % 3 == 0 {
            host.transmit(step * MS, |_| {});
        }
        if dice.roll().is_multiple_of(50) {
            host.limit(step * MS, 1 + (dice.roll() % 10) as u32, 0);
            host.limit(step * MS, 0, 0);
        }
    }
    while host.transmit(200_000 * MS, |_| {}).is_some() {}
    let matched = host.discipline.probe(4) as u64;
    let [_, limit, threshold, _, early] = host.drops;
    // A marked one may have been among what was thrown away.
    assert_eq!(threshold, 0);
    assert!(limit > 1_000 && matched > 10_000 && early <= 2 * matched && early + limit >= 2 * matched);
    assert_eq!(host.sent + early + limit, 200_000);
}

/// tc's defaults, from the limit: a quarter of it, a third of that, and the weight for (2 min + max) / 3; also where tc gives up, so that an average that
/// only arrivals move falls to where all pass.
#[test]
fn thresholds_and_weight_are_tcs() {
    let made = |view: Queue, set: &[(&str, u64)]| {
        let set: Vec<_> = set.iter().map(|(name, v)| (*name, Value::Int(*v))).collect();
        let mut choke = Discipline::new(&spec("choke", &set));
        choke.enqueue(0, &view, &Packet::default(), 0);
        [1, 2, 3].map(|i| choke.probe(i) as u64)
    };
    let packets = |n| Queue { limit_packets: n, ..Queue::default() };
    let bytes = |n| Queue { limit_bytes: n, ..Queue::default() };
    let weighed = |min, max, burst| [min, max, u64::from(wlog(min * AVPKT, burst, AVPKT))];
    assert_eq!(made(packets(100), &[]), weighed(8, 25, 13));
    assert_eq!(made(packets(1000), &[]), weighed(83, 250, 138));
    assert_eq!(made(bytes(151_000), &[]), weighed(8, 25, 13));
    assert_eq!(made(Queue::default(), &[]), weighed(83, 250, 138));
    assert_eq!(made(packets(12), &[]), weighed(1, 3, 1));
    assert_eq!(made(packets(4_000_000), &[]), weighed(10_922, 32_767, 18_203));
    let pool = Pool { limit_bytes: 600_000, ports: 4, ..Pool::default() };
    assert_eq!(made(Queue { pool, ..Queue::default() }, &[]), weighed(8, 25, 13));
    assert_eq!(made(packets(100), &[("max", 30)]), weighed(10, 30, 16));
    assert_eq!(made(packets(100), &[("min", 5)]), weighed(5, 25, 11));
    assert_eq!(made(packets(100), &[("min", 5), ("max", 15), ("burst", 40)]), weighed(5, 15, 40));
    // A burst below min is raised to min + 1 packets; min above a quarter of the buffer is a step.
    assert_eq!(made(packets(100), &[("min", 9), ("burst", 2)]), weighed(9, 25, 10));
    assert_eq!(made(packets(100), &[("min", 40)])[..2], [40, 40]);
    for tiny in 1..12 {
        let [min, max, _] = made(packets(tiny), &[]);
        assert!(min == 1 && (1..=2).contains(&max), "{tiny}: {min} {max}");
    }
    let mut choke = Discipline::new(&spec("choke", &[("idle_clock", Value::Choice("never"))]));
    let mut arrive = |held: u32| {
        let view = Queue { limit_packets: 3, ..stands_at(held) };
        choke.enqueue(SEC, &view, &Packet { bytes: 1500, flow: 1, ..Packet::default() }, 0).action
    };
    (0..100).for_each(|_| _ = arrive(2));
    assert!((0..100).any(|_| arrive(0) == Action::Pass));
}

/// What is made of a random number says nothing of it: which packet is drawn and when RED's next drop is due, in eighths.
#[test]
fn one_number_is_as_good_as_four() {
    let mut dice = Dice(5);
    let mut seen = [[0u32; 64]; 3];
    for _ in 0..64_000 {
        let mut draw = stretched((dice.roll() >> 32) as u32);
        let four = [draw(), draw(), draw(), draw()].map(|n| (n >> 29) as usize);
        for (table, pair) in seen.iter_mut().zip(four.windows(2)) {
            table[8 * pair[0] + pair[1]] += 1;
        }
    }
    for table in seen {
        let chi2: f64 = table.iter().map(|n| (f64::from(*n) - 1000.0).powi(2) / 1000.0).sum();
        // 63 degrees of freedom: 30 to 110 but for one of 10,000.
        assert!((30.0..110.0).contains(&chi2), "{chi2}");
    }
}
