//! PI2 against a second statement of it: the paper's section 4 and RFC 9332's
//! appendix A.1 in floating point, with a clock that ticks by itself.

use crate::host::{Dice, spec};
use queuewright_aqm::{Action, Discipline, Packet, Queue, Reason, Spec, Value};
use std::collections::VecDeque;

const MS: u64 = 1_000_000;

pub fn int(spec: &Spec, name: &str) -> u64 {
    match spec.get(name) {
        Some(Value::Int(v)) => v,
        other => panic!("{name}: {other:?}"),
    }
}

pub fn real(spec: &Spec, name: &str) -> f64 {
    match spec.get(name) {
        Some(Value::Real(v)) => v,
        other => panic!("{name}: {other:?}"),
    }
}

/// RFC 9332's `dualpi2_update()`: p' += alpha (delay - target) + beta (delay - last delay).
pub struct Controller {
    pub p: f64,
    /// At the last update, s.
    pub delay: f64,
    pub next_update: u64,
    pub ceiling: f64,
    target: f64,
    tupdate: u64,
    alpha: f64,
    beta: f64,
    /// Size of what was added up since the last look: what rounding is relative to.
    terms: f64,
}

impl Controller {
    pub fn new(spec: &Spec) -> Self {
        let tupdate = int(spec, "tupdate");
        Controller {
            p: 0.0,
            delay: 0.0,
            next_update: tupdate,
            ceiling: 1.0,
            target: int(spec, "target") as f64 / 1e9,
            tupdate,
            alpha: real(spec, "alpha"),
            beta: real(spec, "beta"),
            terms: 0.0,
        }
    }

    /// The updates until `now` of a queue whose oldest packet came at `since`.
    pub fn advance(&mut self, now: u64, since: Option<u64>) -> u64 {
        let mut updates = 0;
        while self.next_update <= now {
            let waited = since.map_or(0, |t| self.next_update.saturating_sub(t));
            let delay = (waited as f64 / 1e9).min(10.0); // the header's own bound
            let change = self.alpha * (delay - self.target) + self.beta * (delay - self.delay);
            self.terms += self.alpha * (delay + self.target) + self.beta * (delay + self.delay);
            self.p = (self.p + change).clamp(0.0, self.ceiling);
            self.delay = delay;
            self.next_update += self.tupdate;
            updates += 1;
        }
        updates
    }

    /// The header's probability must be this one, but for its gains' rounding to whole units
    /// of 2^-52 a ns; from here on it is taken over, so that every update is compared and not
    /// their sum.
    pub fn agrees(&mut self, header: f64, now: u64) {
        let allowed = 3e-6 * self.terms + 1e-14;
        assert!((self.p - header).abs() <= allowed, "p is {header}, not {} at {now} ns", self.p);
        self.p = header;
        self.terms = 0.0;
    }
}

/// What becomes of a packet; dice between two fates: the probability of the first.
fn fates(p: f64, k: f64, ecn: bool, field: u32) -> Vec<(f64, Action)> {
    let overload = k * p > 1.0;
    match (ecn, field) {
        // ECT(1), or CE, which may have been ECT(1)
        (true, 1 | 3) if overload => vec![(p * p, Action::Drop), (1.0, Action::Mark)],
        (true, 1 | 3) => vec![(k * p, Action::Mark), (1.0, Action::Pass)],
        (true, 2) if !overload => vec![(p * p, Action::Mark), (1.0, Action::Pass)],
        _ => vec![(p * p, Action::Drop), (1.0, Action::Pass)],
    }
}

#[derive(Default)]
struct Seen {
    updates: u64,
    marks: u64,
    drops: u64,
    overload: u64,
    max: f64,
}

fn follow(set: &[(&str, Value)], seed: u64) -> Seen {
    let spec = spec("pi2", set);
    let (k, mtu) = (real(&spec, "coupling"), int(&spec, "mtu"));
    let ecn = spec.get("ecn") == Some(Value::Flag(true));
    let mut c = Discipline::new(&spec);
    let mut model = Controller::new(&spec);
    let mut dice = Dice(seed);
    let mut waiting: VecDeque<Packet> = VecDeque::new();
    let mut queue = Queue::default();
    let mut seen = Seen::default();
    let (mut now, mut load, mut ns_per_byte) = (0, 8, 800);

    for step in 0..300_000u64 {
        if step % 4_000 == 0 {
            load = dice.roll() % 24;
            ns_per_byte = 400 + dice.roll() % 1200;
        }
        now += (100 + dice.roll() % 1401) * ns_per_byte;
        if dice.roll().is_multiple_of(2000) {
            now += dice.roll() % (3_000 * MS);
        }
        seen.updates += model.advance(now, waiting.front().map(|p| p.enqueue_ns));
        match waiting.pop_front() {
            Some(p) => {
                queue.bytes -= u64::from(p.bytes);
                queue.packets -= 1;
                queue.head_ns = waiting.front().map_or(0, |p| p.enqueue_ns);
                assert_eq!(c.dequeue(now, &queue, &p).action, Action::Pass);
            }
            None => c.idle(now),
        }
        for _ in 0..3 {
            if dice.roll() % 24 >= load {
                continue;
            }
            now += dice.roll() % 1000;
            seen.updates += model.advance(now, waiting.front().map(|p| p.enqueue_ns));
            let bytes = 100 + (dice.roll() % 1401) as u32;
            let packet =
                Packet { enqueue_ns: now, bytes, ecn: (dice.roll() % 4) as u32, ..Packet::default() };
            let random = (dice.roll() >> 32) as u32;
            queue.head_ns = waiting.front().map_or(0, |p| p.enqueue_ns);
            let v = c.enqueue(now, &queue, &packet, random);
            model.agrees(c.probe(0), now);
            seen.max = seen.max.max(model.p);
            let u = f64::from(random) / 2f64.powi(32);
            let close = |limit: f64| (u - limit).abs() < 1e-9;
            let fates = fates(model.p, k, ecn, packet.ecn);
            let sure = if queue.bytes < 2 * mtu {
                Action::Pass
            } else {
                fates.iter().find(|&&(below, _)| u < below || below == 1.0).unwrap().1
            };
            if !close(fates[0].0) && (k * model.p - 1.0).abs() > 1e-9 {
                assert_eq!(v.action, sure, "u = {u}, p = {}, ECN {}", model.p, packet.ecn);
            }
            seen.overload += u64::from(fates[1].1 == Action::Mark);
            match v.action {
                Action::Drop => {
                    assert_eq!(v.reason, Reason::Early);
                    seen.drops += 1;
                    continue;
                }
                Action::Mark => seen.marks += 1,
                Action::Pass => {}
            }
            queue.bytes += u64::from(bytes);
            queue.packets += 1;
            waiting.push_back(packet);
        }
    }
    seen
}

#[test]
fn every_update_and_every_verdict_is_the_papers() {
    let variants: [&[(&str, Value)]; 5] = [
        &[],
        &[("coupling", Value::Real(1.19))],
        &[("ecn", Value::Flag(false))],
        &[("alpha", Value::Real(16.0)), ("beta", Value::Real(16.0)), ("target", Value::Int(5 * MS))],
        &[("tupdate", Value::Int(33 * MS)), ("mtu", Value::Int(500)), ("target", Value::Int(50 * MS))],
    ];
    for (seed, set) in variants.iter().enumerate() {
        let seen = follow(set, seed as u64);
        assert!(seen.updates > 10_000 && seen.drops > 1000 && seen.max > 0.5, "{set:?}: {}", seen.drops);
        let ecn = !set.contains(&("ecn", Value::Flag(false)));
        assert!(
            !ecn || seen.marks > 1000 && seen.overload > 100,
            "{set:?}: {} {}",
            seen.marks,
            seen.overload
        );
        assert_eq!(ecn, seen.marks > 0);
    }
}

/// At a steady base probability, a scalable sender's marks are k / p times a classic one's drops.
#[test]
fn the_square_and_the_coupling() {
    let mut c = Discipline::new(&spec("pi2", &[("alpha", Value::Real(0.0))]));
    // With alpha 0, p is beta times the delay: 3.2 /s of 62.5 ms is 0.2.
    let queue = Queue { bytes: 100_000, packets: 67, head_ns: 1_000_000, ..Queue::default() };
    let now = 16 * MS * 4;
    let (mut marks, mut drops) = (0, 0);
    let mut dice = Dice(1);
    for ecn in [0, 1] {
        for _ in 0..100_000 {
            let packet = Packet { enqueue_ns: now, bytes: 1500, ecn, ..Packet::default() };
            match c.enqueue(now, &queue, &packet, (dice.roll() >> 32) as u32).action {
                Action::Mark => marks += 1,
                Action::Drop => drops += 1,
                Action::Pass => {}
            }
        }
    }
    let p = 3.2 * 0.063;
    assert!((c.probe(0) - p).abs() < 1e-6, "{}", c.probe(0));
    assert!((c.probe(1) - p * p).abs() < 1e-6);
    assert!((f64::from(drops) / 1e5 - p * p).abs() < 0.003, "{drops}");
    assert!((f64::from(marks) / 1e5 - 2.0 * p).abs() < 0.005, "{marks}");
}

/// Silence costs no loop over its updates, and ends as they would.
#[test]
fn a_long_silence_is_as_many_updates() {
    // Without beta: it would end any probability as soon as a long queue is gone.
    let mut c = Discipline::new(&spec("pi2", &[("beta", Value::Real(0.0))]));
    let full = Queue { bytes: 100_000, packets: 67, head_ns: MS, ..Queue::default() };
    let packet = Packet { bytes: 1500, ..Packet::default() };
    c.enqueue(9_000 * MS, &full, &packet, u32::MAX);
    assert!(c.probe(0) > 0.9, "{}", c.probe(0));
    let at = 9_000 * MS;
    c.idle(at + 20 * MS);
    let start = c.probe(0);
    // 0.16 a second times 15 ms, 62.5 times a second; beyond 1024 updates in one step.
    for (seconds, left) in [(1, 0.85), (3, 0.55), (60, 0.0)] {
        let (mut once, mut often) = (c.clone(), c.clone());
        let until = at + 20 * MS + seconds * 1000 * MS;
        once.idle(until);
        for ms in 0..=seconds * 1000 {
            often.idle(at + 20 * MS + ms * MS);
        }
        assert_eq!(once.probe(0), often.probe(0));
        assert!((once.probe(0) - left * start).abs() < 0.3 * start, "{seconds}: {}", once.probe(0));
    }
    // Nothing brings it down here, and the updates still end.
    let mut stuck =
        Discipline::new(&spec("pi2", &[("alpha", Value::Real(0.0)), ("tupdate", Value::Int(100_000))]));
    stuck.enqueue(9_000 * MS, &full, &packet, u32::MAX);
    let p = stuck.probe(0);
    stuck.enqueue(90_000_000 * MS, &full, &packet, u32::MAX);
    assert!(stuck.probe(0) >= p);
}
