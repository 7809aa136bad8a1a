//! AHAB against a second statement of it: the notes on what Santa's authors ran, with
//! exponentials in floating point and a table of flows that never collide.

use crate::host::{Dice, Host, spec};
use crate::pi2::int;
use queuewright_aqm::{Action, Discipline, Packet, Queue, Reason, Spec, TCP, UDP, Value};
use std::collections::HashMap;

const MS: u64 = 1_000_000;

/// Bytes that decay.
#[derive(Clone, Copy, Default)]
struct Filter {
    bytes: f64,
    since: u64,
}

impl Filter {
    fn decay(&mut self, now: u64, constant: f64) {
        self.bytes *= (-((now - self.since) as f64) / constant).exp();
        self.since = now;
    }

    /// In bytes per 500 us.
    fn rate(&self, constant: f64) -> f64 {
        self.bytes * 500_000.0 / constant
    }
}

struct Model {
    flow_constant: f64,
    link_constant: f64,
    ecn: bool,
    capacity: f64,
    threshold: f64,
    epoch: u64,
    congested: bool,
    demand: Filter,
    through: Filter,
    lower: Filter,
    higher: Filter,
    flows: HashMap<u32, Filter>,
    /// Bytes left to marks and drops.
    left: HashMap<u32, [f64; 2]>,
}

/// What is certain about a packet or a new T; nothing: two ways of computing may differ.
type Certain<T> = Option<T>;

impl Model {
    fn new(spec: &Spec) -> Self {
        let Some(Value::Real(used)) = spec.get("utilisation") else { panic!() };
        Model {
            flow_constant: int(spec, "flow_window") as f64,
            link_constant: int(spec, "link_window") as f64,
            ecn: spec.get("ecn") == Some(Value::Flag(true)),
            capacity: int(spec, "capacity") as f64 / 8.0 * used / 2000.0,
            threshold: 1024.0,
            epoch: 0,
            congested: false,
            demand: Filter::default(),
            through: Filter::default(),
            lower: Filter::default(),
            higher: Filter::default(),
            flows: HashMap::new(),
            left: HashMap::new(),
        }
    }

    /// T one candidate lower (-1.0) or higher (1.0): by 1/16 of its highest bit.
    fn candidate(&self, sign: f64) -> f64 {
        self.threshold + sign * 2f64.powi(self.threshold.log2().floor() as i32 - 4)
    }

    fn packet(&mut self, now: u64, p: &Packet, u: f64) -> Certain<Action> {
        let flow = self.flows.entry(p.flow).or_default();
        flow.decay(now, self.flow_constant);
        flow.bytes += f64::from(p.bytes);
        let r = flow.rate(self.flow_constant);
        for f in [&mut self.demand, &mut self.through, &mut self.lower, &mut self.higher] {
            f.decay(now, self.link_constant);
        }
        let bytes = f64::from(p.bytes);
        self.demand.bytes += bytes;
        let apart = |a: f64, b: f64| (a - b).abs() > 5e-4 * b;
        let t = self.threshold;

        let mut kept = [true; 3]; // by the lower T, by T, by the higher T
        let mut action = Action::Pass;
        if p.protocol == TCP {
            if ![0.5, 1.0, 29.0 / 16.0].iter().all(|x| apart(r, x * t)) {
                return None;
            }
            let mut told = [false; 2];
            if r > t / 2.0 {
                let spent = if r > t { bytes } else { (bytes / 8.0).floor() };
                let left = self.left.entry(p.flow).or_default();
                for (i, again) in [8.0 * t, 32.0 * t].into_iter().enumerate() {
                    if (left[i] - spent).abs() < 2.0 && left[i] != spent {
                        return None;
                    }
                    if left[i] >= spent {
                        left[i] -= spent;
                    } else {
                        told[i] = r > t;
                        left[i] = if r > 29.0 / 16.0 * t || !told[i] { 0.0 } else { again.floor() };
                    }
                }
            }
            action = match told {
                [_, true] => Action::Drop,
                [true, _] if self.ecn && p.ecn != 0 => Action::Mark,
                [true, _] => Action::Drop,
                _ => Action::Pass,
            };
            kept = [action != Action::Drop, action != Action::Drop, true];
        } else if self.congested {
            for (kept, t) in kept.iter_mut().zip([self.candidate(-1.0), t, self.candidate(1.0)]) {
                if (u - t / r).abs() < 5e-4 {
                    return None;
                }
                *kept = u < t / r;
            }
            if !kept[1] {
                action = Action::Drop;
            }
        }
        for (f, kept) in [&mut self.lower, &mut self.through, &mut self.higher].into_iter().zip(kept) {
            f.bytes += if kept { bytes } else { 0.0 };
        }
        Some(action)
    }

    /// The new T at the first packet of an epoch, and how far off it may be; none: it hangs on
    /// a digit too many.
    fn update(&mut self, now: u64) -> Certain<(f64, f64)> {
        if now >> 20 == self.epoch {
            return Some((self.threshold, 0.0));
        }
        self.epoch = now >> 20;
        let c = self.capacity;
        let [demand, lower, through, higher] =
            [self.demand, self.lower, self.through, self.higher].map(|f| f.rate(self.link_constant));
        if (demand - c).abs() < 1e-3 * c {
            return None;
        }
        self.congested = demand > c;
        let t = self.threshold;
        // Between neighbours that let through nearly the same, a quotient of small differences.
        let mut off = 0.0;
        let new = if c <= lower {
            self.candidate(-1.0)
        } else if c >= higher {
            self.candidate(1.0)
        } else if through > c {
            off = 1e-3 * c / (through - lower) * (t - self.candidate(-1.0));
            t - (t - self.candidate(-1.0)) * (through - c) / (through - lower)
        } else {
            off = 1e-3 * c / (higher - through) * (self.candidate(1.0) - t);
            t + (self.candidate(1.0) - t) * (c - through) / (higher - through)
        };
        // A sum that meets the capacity to a digit, or two that meet each other.
        let near = |a: f64| (a - c).abs() < 2e-3 * c;
        if near(lower) || near(through) || near(higher) {
            return None;
        }
        Some((new.clamp(1.0, 8.0 * c), off + 0.2 + 1e-5 * t))
    }
}

#[derive(Default, Debug)]
struct Seen {
    packets: u64,
    marks: u64,
    drops: u64,
    updates: u64,
    between: u64,
}

fn follow(set: &[(&str, Value)], seed: u64, seen: &mut Seen) {
    let mbit = 1_000_000;
    let mut dice = Dice(seed);
    let capacity = [10, 50, 200][seed as usize % 3] * mbit;
    let mut spec = spec("ahab", set);
    spec.set("capacity", Value::Int(capacity)).unwrap();
    let mut c = Discipline::new(&spec);
    let mut m = Model::new(&spec);
    let queue = Queue { bytes: 10_000, packets: 10, ..Queue::default() };
    let flows: Vec<u32> = (0..6).map(|_| dice.roll() as u32).collect();
    let mean = 1000 * 8 * 1_000_000_000 / capacity;
    let (mut now, mut load) = (MS, 10);
    for step in 0..8000 {
        if step % 500 == 0 {
            load = 5 + dice.roll() % 20;
        }
        now += dice.roll() % (2 * mean) * 10 / load;
        if dice.roll().is_multiple_of(2000) {
            now += dice.roll() % (100 * MS);
        }
        // The first flow sends as much as all others.
        let which = (dice.roll() % 10) as usize;
        let packet = Packet {
            enqueue_ns: now,
            bytes: 500 + (dice.roll() % 1001) as u32,
            flow: flows[if which < 6 { which } else { 0 }],
            ecn: if which.is_multiple_of(2) { 2 } else { 0 },
            protocol: if which % 3 == 1 { UDP } else { TCP },
            ..Packet::default()
        };
        let random = (dice.roll() >> 32) as u32;
        let v = c.enqueue(now, &queue, &packet, random);
        let u = f64::from(random >> 8) / f64::from(1 << 24);
        let Some(expected) = m.packet(now, &packet, u) else { return };
        assert_eq!(v.action, expected, "packet {step} at {now} ns, T = {}", m.threshold);
        if v.action == Action::Drop {
            let reason = if packet.protocol == UDP { Reason::Early } else { Reason::Threshold };
            assert_eq!(v.reason, reason);
        }
        let epoch = m.epoch;
        let before = m.threshold;
        let Some((t, off)) = m.update(now) else { return };
        let ours = c.probe(0) * 1e6 / 16_000.0; // Mbit/s; a byte per 500 us is 16 kbit/s
        assert!((ours - t).abs() <= off, "T is {ours}, not {t} at {now} ns");
        seen.packets += 1;
        seen.marks += u64::from(v.action == Action::Mark);
        seen.drops += u64::from(v.action == Action::Drop);
        if m.epoch != epoch {
            seen.updates += 1;
            let part = (t - before).abs() / (before - m.candidate(-1.0));
            seen.between += u64::from(part > 0.01 && part < 0.99);
        }
        m.threshold = ours;
    }
}

#[test]
fn every_verdict_and_every_threshold_is_the_notes() {
    let variants: [&[(&str, Value)]; 3] = [
        &[],
        &[("ecn", Value::Flag(false))],
        &[("flow_window", Value::Int(16 * MS)), ("link_window", Value::Int(50 * MS))],
    ];
    for (i, set) in variants.iter().enumerate() {
        let mut seen = Seen::default();
        for seed in 0..400 {
            follow(set, seed * 3 + i as u64, &mut seen);
        }
        println!("{seen:?}");
        assert!(seen.packets > 50_000 && seen.drops > 5_000 && seen.updates > 5_000, "{set:?}: {seen:?}");
        assert!(seen.between > 200, "{set:?}: {seen:?}");
        assert_eq!(seen.marks > 500, i != 1, "{set:?}: {seen:?}");
    }
}

/// Flows of one kind at any rate above their share are all held to it.
#[test]
fn a_flood_is_held_to_its_share() {
    // 100 Mbit/s; three constant flows of 5, 60 and 200 Mbit/s: 5, and half of the rest each.
    let mut s = spec("ahab", &[]);
    s.set("capacity", Value::Int(100_000_000)).unwrap();
    let mut c = Discipline::new(&s);
    let mut dice = Dice(9);
    let queue = Queue { bytes: 10_000, packets: 10, ..Queue::default() };
    let mut next = [0u64; 3];
    let mut through = [0u64; 3];
    loop {
        let i = (0..3).min_by_key(|&i| next[i]).unwrap();
        let now = next[i];
        if now > 4_000 * MS {
            break;
        }
        next[i] += 1_250 * 8 * 1000 / [5, 60, 200][i];
        let p = Packet {
            enqueue_ns: now,
            bytes: 1250,
            flow: [0x1234_5678, 0x9abc_def0, 0x0fed_cba9][i],
            protocol: UDP,
            ..Packet::default()
        };
        if c.enqueue(now, &queue, &p, (dice.roll() >> 32) as u32).action != Action::Drop && now > 2_000 * MS {
            through[i] += 1250 * 8;
        }
    }
    let mbit = through.map(|bits| bits as f64 / 2e6);
    assert!((mbit[0] - 5.0).abs() < 0.1, "{mbit:?}");
    for held in &mbit[1..] {
        assert!((held - 46.5).abs() < 3.0, "{mbit:?}");
    }
    assert!((mbit.iter().sum::<f64>() - 98.0).abs() < 2.0, "{mbit:?}");
}

/// Without a hint: nobody is held to anything before the link's rate is known, and it is known
/// after 10 ms of a busy link, right to a per cent, and follows a change.
#[test]
fn the_capacity_is_measured_while_packets_wait() {
    let mut c = Discipline::new(&spec("ahab", &[]));
    assert_eq!(c.probe(2), 0.0);
    let (mut now, mut known) = (0, None);
    for (mbit, packets) in [(20u64, 400), (5, 200), (80, 2000)] {
        for i in 0..packets {
            let p = Packet { enqueue_ns: now, bytes: 1000 + (i % 500) as u32, ..Packet::default() };
            // Every tenth packet is the last for a while: idle time is not the link's.
            let last = i % 10 == 9;
            c.dequeue(now, &Queue { packets: if last { 0 } else { 5 }, ..Queue::default() }, &p);
            now += u64::from(p.bytes) * 8000 / mbit + if last { 7 * MS } else { 0 };
            if c.probe(2) > 0.0 && known.is_none() {
                known = Some(i);
            }
        }
        let measured = c.probe(2) / 0.98;
        assert!((measured / mbit as f64 - 1.0).abs() < 0.01, "{measured} for {mbit}");
    }
    assert!(known.unwrap() < 30);
}

/// However many flows pass, the state is one block of fixed size; flows that share a cell are
/// told apart by the other rows.
#[test]
fn a_hundred_thousand_mice_do_not_hide_an_elephant() {
    let mut s = spec("ahab", &[]);
    s.set("capacity", Value::Int(100_000_000)).unwrap();
    let mut c = Discipline::new(&s);
    let mut dice = Dice(3);
    let queue = Queue { bytes: 10_000, packets: 10, ..Queue::default() };
    let (mut elephant, mut mice) = ([0u32; 2], [0u32; 2]);
    for i in 0..400_000u64 {
        let now = i * 50_000;
        let big = i.is_multiple_of(2);
        let p = Packet {
            enqueue_ns: now,
            bytes: if big { 1250 } else { 250 },
            flow: if big { 77 } else { dice.roll() as u32 % 100_000 * 0x9e37 },
            protocol: UDP,
            ..Packet::default()
        };
        let v = c.enqueue(now, &queue, &p, (dice.roll() >> 32) as u32);
        let counts = if big { &mut elephant } else { &mut mice };
        counts[0] += 1;
        counts[1] += u32::from(v.action == Action::Drop);
    }
    // 100 Mbit/s of one flow and 20 of mice on 98.
    assert!(elephant[1] * 100 > elephant[0] * 15, "{elephant:?}");
    assert!(mice[1] * 100 < mice[0], "{mice:?}");
}

/// A link that takes ten packets of 1,514 bytes each millisecond has 121.12 Mbit/s, of which AHAB uses 98 %, wherever in a lot
/// the queue was empty; a lot behind which nothing waits tells nothing, and neither does the time after it.
#[test]
fn a_lot_counts_whole() {
    for empties in [None, Some(1), Some(5), Some(9)] {
        let mut host = Host::new(&spec("ahab", &[]), 0, 0);
        let mut flow = 0;
        for ms in 0..200 {
            let now = ms * MS;
            for i in 0..10 {
                // The rest of the lot comes when what waited has gone, and one more with its last.
                let wanted = match empties {
                    _ if i == 0 => empties.unwrap_or(11),
                    Some(at) if at == i => 11 - i,
                    _ => 0,
                };
                // Each of a flow of its own, none of which is throttled.
                for _ in host.queue.packets..wanted {
                    flow += 1;
                    host.arrive(now, 1514, flow, 0);
                }
                host.transmit(now, |_| {});
            }
            assert_eq!(host.queue.packets, 1, "what waits for the next lot");
        }
        let measured = host.discipline.probe(2);
        assert!((measured - 0.98 * 121.12).abs() < 0.02, "empty after {empties:?}: {measured}");
        for ms in 200..400 {
            while host.queue.packets > 0 {
                host.transmit(ms * MS, |_| {});
            }
            flow += 1;
            host.arrive(ms * MS, 1514, flow, 0);
        }
        assert_eq!(host.discipline.probe(2), measured, "what leaves nothing behind told something");
    }
}
