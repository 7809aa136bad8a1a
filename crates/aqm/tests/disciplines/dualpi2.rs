//! DualPI2 against a second statement of it: RFC 9332's appendix A.1 and Linux's
//! sch_dualpi2, with both queues inside and the controller in floating point. Which
//! throws of the dice hit is the header's affair; how often they do is checked.

use crate::host::{Dice, Host, spec};
use crate::pi2::{Controller, int, real};
use queuewright_aqm::{Action, Discipline, Eviction, Packet, Queue, Reason, Spec, Value, Verdict};
use std::collections::VecDeque;

const MS: u64 = 1_000_000;
const CLASSIC: usize = 0;
const L4S: usize = 1;

struct Linux {
    pi: Controller,
    k: f64,
    step: u64,
    step_packets: usize,
    protection: i64,
    drop_overload: bool,
    drop_early: bool,
    any_ect: bool,
    mtu: u64,
    credit: i64,
    queues: [VecDeque<Packet>; 2],
}

/// How often something was to happen, how often it did, and the variance of that.
#[derive(Default, Debug, Clone, Copy)]
struct Chance {
    expected: f64,
    variance: f64,
    happened: u64,
}

impl Chance {
    fn add(&mut self, p: f64, happened: bool) {
        self.expected += p;
        self.variance += p * (1.0 - p);
        self.happened += u64::from(happened);
    }

    fn check(&self, what: &str) {
        let off = (self.happened as f64 - self.expected).abs();
        assert!(off < 5.0 * self.variance.sqrt() + 1.0, "{what}: {self:?}");
    }
}

#[derive(Default, Debug)]
struct Seen {
    sent: [u64; 2],
    /// Squared for classic packets, k p for L4S ones, squared for L4S ones in overload.
    square: Chance,
    coupled: Chance,
    overload: Chance,
    step: u64,
    classic_marks: u64,
    contested: [u64; 2],
}

impl Linux {
    fn new(spec: &Spec) -> Self {
        let flag = |name| spec.get(name) == Some(Value::Flag(true));
        let mut l = Linux {
            pi: Controller::new(spec),
            k: real(spec, "coupling"),
            step: int(spec, "step"),
            step_packets: int(spec, "step_packets") as usize,
            protection: int(spec, "classic_protection") as i64,
            drop_overload: flag("drop_overload"),
            drop_early: flag("drop_early"),
            any_ect: spec.get("l4s") == Some(Value::Choice("any-ect")),
            mtu: int(spec, "mtu"),
            credit: 0,
            queues: Default::default(),
        };
        if !l.drop_overload && l.k > 1.0 {
            l.pi.ceiling = 1.0 / l.k;
        }
        l.reset();
        l
    }

    fn reset(&mut self) {
        self.credit = self.mtu as i64 * (self.protection - (100 - self.protection));
    }

    fn bytes(&self) -> u64 {
        self.queues.iter().flatten().map(|p| u64::from(p.bytes)).sum()
    }

    fn advance(&mut self, now: u64) {
        let oldest = self.queues.iter().filter_map(|q| q.front()).map(|p| p.enqueue_ns).min();
        self.pi.advance(now, oldest);
    }

    /// Does the verdict follow from the probabilities? `bytes` wait without the packet.
    fn judge(&self, lane: usize, ecn: u32, bytes: u64, v: Verdict, seen: &mut Seen) {
        let early = v.reason == Reason::Early;
        if bytes < 2 * self.mtu {
            assert!(!early, "{v:?} with {bytes} bytes waiting");
            return;
        }
        let p = self.pi.p;
        let overload = self.drop_overload && self.k * p > 1.0;
        if lane == CLASSIC {
            seen.square.add(p * p, early);
            if early {
                let mark = ecn != 0 && !overload;
                assert_eq!(v.action, if mark { Action::Mark } else { Action::Drop });
                seen.classic_marks += u64::from(mark);
            }
        } else if overload {
            seen.overload.add(p * p, v.action == Action::Drop);
            assert!(early, "what is not dropped is marked");
        } else {
            seen.coupled.add(self.k * p, early);
            assert!(!early || v.action == Action::Mark);
        }
    }
}

fn follow(set: &[(&str, Value)], seed: u64, seen: &mut Seen) {
    let spec = spec("dualpi2", set);
    let mut c = Discipline::new(&spec);
    let mut linux = Linux::new(&spec);
    let mut dice = Dice(seed);
    let queue = |l: &Linux| Queue {
        bytes: l.bytes(),
        packets: l.queues.iter().map(VecDeque::len).sum::<usize>() as u32,
        limit_packets: 400,
        ..Queue::default()
    };
    let (mut now, mut load, mut scalable) = (0, 8, 12);
    for round in 0..60_000u64 {
        if round % 2_000 == 0 {
            load = dice.roll() % 20;
            scalable = dice.roll() % 25;
        }
        now += (100 + dice.roll() % 1401) * 800;
        if dice.roll().is_multiple_of(2000) {
            now += dice.roll() % (500 * MS);
        }
        for _ in 0..3 {
            if dice.roll() % 24 >= load {
                continue;
            }
            let l4s = dice.roll() % 24 < scalable;
            let ecn = [[0, 2], [1, 3]][usize::from(l4s)][(dice.roll() % 4 / 3) as usize];
            let bytes = 100 + (dice.roll() % 1401) as u32;
            let packet = Packet { enqueue_ns: now, bytes, ecn, ..Packet::default() };
            linux.advance(now);
            let before = queue(&linux);
            let (v, index) = c.enqueue_to(now, &before, &packet, (dice.roll() >> 32) as u32);
            let lane = if ecn == 1 || ecn == 3 || (linux.any_ect && ecn == 2) { L4S } else { CLASSIC };
            linux.pi.agrees(c.probe(0), now);
            if before.packets == 400 {
                assert_eq!(v.reason, Reason::Limit);
                continue;
            }
            if linux.drop_early {
                linux.judge(lane, ecn, before.bytes, v, seen);
            } else {
                assert_eq!(v.action, Action::Pass);
            }
            if v.action != Action::Drop {
                assert_eq!(index as usize, lane);
                linux.queues[lane].push_back(packet);
            }
            assert_eq!(c.overflow(now, &queue(&linux)), None);
        }
        linux.advance(now);
        loop {
            let [classic, l4s] = [CLASSIC, L4S].map(|i| linux.queues[i].len());
            if classic + l4s == 0 {
                c.idle(now);
                linux.reset();
                break;
            }
            let lane = if l4s > 0 && (classic == 0 || linux.credit <= 0) { L4S } else { CLASSIC };
            assert_eq!(c.next(now, &queue(&linux)), Some(lane as u32), "credit {}", linux.credit);
            let p = linux.queues[lane].pop_front().unwrap();
            let mut after = queue(&linux);
            after.head_ns = linux.queues[lane].front().map_or(0, |p| p.enqueue_ns);
            let v = c.dequeue_from(now, &after, &p, lane as u32);
            linux.pi.agrees(c.probe(0), now);
            if !linux.drop_early {
                linux.judge(lane, p.ecn, after.bytes, v, seen);
            }
            if v.action == Action::Drop {
                assert_eq!(v.reason, Reason::Early);
                continue;
            }
            let beyond = match linux.step_packets {
                0 => now - p.enqueue_ns > linux.step,
                most => linux.queues[L4S].len() > most,
            };
            let stepped = lane == L4S && beyond;
            if v.reason != Reason::Early {
                assert_eq!(v.reason == Reason::Threshold, stepped);
                seen.step += u64::from(stepped);
            }
            seen.sent[lane] += 1;
            if !linux.queues[1 - lane].is_empty() {
                seen.contested[lane] += u64::from(p.bytes);
                let bytes = i64::from(p.bytes);
                linux.credit +=
                    if lane == L4S { bytes * linux.protection } else { -bytes * (100 - linux.protection) };
            }
            break;
        }
    }
}

#[test]
fn every_choice_of_queue_and_every_verdict_is_linux() {
    let variants: [&[(&str, Value)]; 6] = [
        &[],
        &[("drop_early", Value::Flag(true)), ("step", Value::Int(5 * MS))],
        &[("drop_overload", Value::Flag(false)), ("coupling", Value::Real(1.5))],
        &[("classic_protection", Value::Int(40)), ("l4s", Value::Choice("any-ect"))],
        &[("alpha", Value::Real(4.0)), ("target", Value::Int(5 * MS)), ("mtu", Value::Int(500))],
        &[("step_packets", Value::Int(5))],
    ];
    for (i, set) in variants.iter().enumerate() {
        let mut seen = Seen::default();
        for seed in 0..3 {
            follow(set, seed * variants.len() as u64 + i as u64, &mut seen);
        }
        println!("{seen:?}");
        seen.square.check("squared");
        seen.coupled.check("coupled");
        seen.overload.check("overload");
        assert!(seen.sent.iter().all(|&n| n > 10_000), "{set:?}: {seen:?}");
        assert!(seen.square.happened > 500 && seen.coupled.happened > 500, "{set:?}: {seen:?}");
        assert!(seen.step > 100, "{set:?}: {seen:?}");
        assert_eq!(seen.overload.happened > 100, i != 2, "{set:?}: {seen:?}");
        assert_eq!(seen.classic_marks > 50, i != 3, "{set:?}: {seen:?}");
    }
}

/// A limit that has shrunk takes the classic queue's head, and L's when there is no other. An update that was due before that sees the
/// queue as it was: 16 ms of wait make 0.16 * 1 ms + 3.2 * 16 ms of it.
#[test]
fn a_smaller_limit_takes_the_classic_queue_first() {
    let mut c = Discipline::new(&spec("dualpi2", &[]));
    let queue = |packets: u32, head_ns, limit_packets| Queue {
        bytes: 1500 * u64::from(packets),
        packets,
        head_ns,
        limit_packets,
        ..Queue::default()
    };
    let packet = |at, ecn| Packet { enqueue_ns: at, bytes: 1500, ecn, ..Packet::default() };
    for (i, (at, ecn)) in [(0, 0), (15 * MS, 1), (15 * MS, 0)].into_iter().enumerate() {
        c.enqueue_to(at, &queue(i as u32, 0, 9), &packet(at, ecn), 1);
    }
    let now = 17 * MS;
    let first = |o: Option<Eviction>| o.map(|e| e.queue);
    assert_eq!(first(c.overflow(now, &queue(3, 0, 1))), Some(CLASSIC as u32));
    c.evicted(now, &queue(2, 15 * MS, 1), &packet(0, 0), CLASSIC as u32);
    let p = 0.16 * 0.001 + 3.2 * 0.016;
    assert!((c.probe(0) - p).abs() < 1e-6, "{} for {p}", c.probe(0));
    assert_eq!(first(c.overflow(now, &queue(2, 15 * MS, 1))), Some(CLASSIC as u32));
    c.evicted(now, &queue(1, 0, 1), &packet(15 * MS, 0), CLASSIC as u32);
    assert_eq!(c.overflow(now, &queue(1, 15 * MS, 1)), None);
    assert_eq!(c.overflow(now, &queue(1, 15 * MS, 0)), None, "no limit");
}

/// While both queues wait, the classic one gets its tenth of the link, and the other all else.
#[test]
fn a_tenth_of_the_link_is_protected() {
    let mut host = Host::new(&spec("dualpi2", &[("drop_overload", Value::Flag(false))]), 0, 0);
    let mut sent = [0u32; 2];
    for i in 0..20_000u64 {
        let now = i * MS;
        host.arrive(now, 1500, 0, 0);
        host.arrive(now, 1500, 1, 1);
        if let Some(p) = host.transmit(now, |_| {}) {
            sent[usize::from(p.ecn != 0)] += 1;
        }
    }
    let share = f64::from(sent[0]) / f64::from(sent[0] + sent[1]);
    assert!((share - 0.1).abs() < 0.01, "{sent:?}");
}

/// A packet of the L queue that finds a classic queue of any length leaves at once, and what waits
/// more than a millisecond there is marked.
#[test]
fn the_low_latency_queue_passes_the_classic_one_by() {
    let mut host = Host::new(&spec("dualpi2", &[]), 0, 0);
    for _ in 0..20 {
        host.arrive(0, 1500, 0, 0);
    }
    for i in 0..5u64 {
        host.arrive(i * MS, 1500, 1, 1);
        let p = host.transmit(i * MS, |p| panic!("{p:?}")).unwrap();
        assert_eq!((p.ecn, p.enqueue_ns), (1, i * MS));
    }
    host.arrive(6 * MS, 1500, 1, 1);
    host.arrive(6 * MS, 1500, 1, 1);
    assert_eq!(host.transmit(7 * MS, |_| {}).unwrap().ecn, 1, "a millisecond is not more than one");
    assert_eq!(host.transmit(7 * MS + 1, |_| {}).unwrap().ecn, 3);
    assert_eq!(host.marks[Reason::Threshold as usize], 1);
}
