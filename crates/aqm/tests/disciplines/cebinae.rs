//! Cebinae against a second statement of it: the notes on its authors' ns-3 model, in
//! floating point, with both queues inside and every flow in a table of its own.

use crate::host::{Dice, Host, spec};
use crate::pi2::{int, real};
use queuewright_aqm::{Action, Discipline, Packet, Queue, Reason, Spec, Value};
use std::collections::{HashMap, HashSet, VecDeque};

const MS: u64 = 1_000_000;

#[derive(Default, Clone, Copy)]
struct Group {
    used: f64,
    /// Bytes a round, by queue, and from the next round on.
    share: [f64; 2],
    next: f64,
}

struct Model {
    dt: u64,
    round: f64,
    rounds: u64,
    tax: f64,
    delta_port: f64,
    delta_flow: f64,
    count_drops: bool,
    base: u64,
    head: usize,
    passed: u64,
    sent: f64,
    groups: [Group; 2],
    bytes: HashMap<u32, f64>,
    top: HashSet<u32>,
    queues: [VecDeque<Packet>; 2],
    /// Which flows are the top ones hung on less than the header's rounding.
    unsure: bool,
    /// A packet's fate did.
    close: bool,
}

/// Packets of a sequence.
const STEPS: u64 = 6000;
const BOTTOM: usize = 0;
const TOP: usize = 1;

impl Model {
    fn new(spec: &Spec, now: u64) -> Self {
        let round = (int(spec, "capacity") as f64 / 8e9 * int(spec, "dt") as f64).floor();
        let bottom = Group { used: 0.0, share: [round; 2], next: round };
        Model {
            dt: int(spec, "dt"),
            round,
            rounds: int(spec, "rounds"),
            tax: real(spec, "tax"),
            delta_port: real(spec, "delta_port"),
            delta_flow: real(spec, "delta_flow"),
            count_drops: spec.get("count_drops") == Some(Value::Flag(true)),
            base: now,
            head: 0,
            passed: 0,
            sent: 0.0,
            groups: [bottom, Group::default()],
            bytes: HashMap::new(),
            top: HashSet::new(),
            queues: Default::default(),
            unsure: false,
            close: false,
        }
    }

    /// a > b, where they are apart.
    fn above(&mut self, a: f64, b: f64) -> bool {
        self.unsure |= (a - b).abs() <= 1e-4 * b + 2.0 && b > 0.0;
        a > b
    }

    fn reconfigure(&mut self) {
        let could = self.round * self.rounds as f64;
        let saturated = self.above(self.sent, (1.0 - self.delta_port) * could);
        let largest = self.bytes.values().copied().fold(0.0, f64::max);
        self.top.clear();
        let mut sum = 0.0;
        for (flow, bytes) in std::mem::take(&mut self.bytes) {
            if saturated && (bytes == largest || self.above(bytes, (1.0 - self.delta_flow) * largest)) {
                self.top.insert(flow);
                sum += bytes;
            }
        }
        // In whole bytes and 65536ths, as the header counts: what it cuts off adds up otherwise.
        let q16 = |x: f64| (x * 65536.0).floor() / 65536.0;
        let untaxed = (f64::min(sum, could) * (1.0 - q16(self.tax))).floor();
        let share = (self.round * q16(untaxed / could)).floor();
        self.groups[TOP].next = share;
        self.groups[BOTTOM].next = self.round - share;
        self.sent = 0.0;
        self.passed = 0;
    }

    fn advance(&mut self, now: u64) {
        for _ in 0..64 {
            if now < self.base + self.dt || !self.queues[self.head].is_empty() {
                return;
            }
            self.base += self.dt;
            self.passed += 1;
            if self.passed >= self.rounds {
                self.reconfigure();
            }
            for g in &mut self.groups {
                g.used = (g.used - g.share[self.head]).max(0.0);
                g.share[self.head] = g.next;
            }
            self.head = 1 - self.head;
            if !self.queues[self.head].is_empty() && now > self.base + self.dt {
                self.base = now;
            }
        }
        if now >= self.base + self.dt && self.queues[self.head].is_empty() {
            self.base = now;
            self.groups[TOP].used = 0.0;
            self.groups[BOTTOM].used = 0.0;
        }
    }

    /// The queue that the packet joins; none: it is dropped. Where the header's rounding decides, it is as `header` has it.
    fn filter(&mut self, now: u64, p: &Packet, header: Option<usize>) -> Option<usize> {
        let which = if self.top.contains(&p.flow) { TOP } else { BOTTOM };
        let Group { used, share, .. } = self.groups[which];
        let [head, tail] = [share[self.head], share[1 - self.head]];
        // The header counts whole microseconds and whole bytes.
        let slack = 2.0 * self.round / (self.dt as f64 / 1000.0) + 8.0;
        for limit in [head, head + tail] {
            self.close |= (used - limit).abs() < slack && used != limit;
        }
        let t = (now - self.base).min(2 * self.dt) as f64 / self.dt as f64;
        let passed = head * t.min(1.0) + tail * (t - 1.0).max(0.0);
        let past_head = (used - head).max(0.0);
        let past_tail = (past_head - tail).max(0.0);
        let joins = match (past_head == 0.0, past_tail == 0.0) {
            _ if std::mem::take(&mut self.close) => header,
            (true, _) => Some(self.head),
            (_, true) => Some(1 - self.head),
            _ => None,
        };
        let counted = joins.is_some() || self.count_drops;
        self.groups[which].used = used.max(passed) + if counted { f64::from(p.bytes) } else { 0.0 };
        joins
    }
}

#[derive(Default, Debug)]
struct Seen {
    packets: u64,
    tail: u64,
    drops: u64,
    taxed: u64,
    /// Sequences that were left before their end.
    left: u64,
}

fn follow(set: &[(&str, Value)], seed: u64, seen: &mut Seen) {
    let mut dice = Dice(seed);
    let mut spec = spec("cebinae", set);
    let capacity = [10u64, 50, 200][seed as usize % 3] * 1_000_000;
    spec.set("capacity", Value::Int(capacity)).unwrap();
    let mut c = Discipline::new(&spec);
    let flows: Vec<u32> = (0..6).map(|_| dice.roll() as u32).collect();
    let mean = 1000 * 8 * 1_000_000_000 / capacity;
    let queue = |m: &Model| Queue {
        bytes: m.queues.iter().flatten().map(|p| u64::from(p.bytes)).sum(),
        packets: m.queues.iter().map(VecDeque::len).sum::<usize>() as u32,
        ..Queue::default()
    };
    let mut now = MS;
    // Its first round begins with its first packet.
    let mut m = Model::new(&spec, now);
    let (mut load, mut link_free) = (10, 0);
    for step in 0..STEPS {
        if step % 500 == 0 {
            load = 5 + dice.roll() % 20;
        }
        let which = (dice.roll() % 10) as usize;
        let packet = Packet {
            enqueue_ns: now,
            bytes: 500 + (dice.roll() % 1001) as u32,
            flow: flows[if which < 6 { which } else { which % 2 }],
            ..Packet::default()
        };
        m.advance(now);
        let head = m.head;
        let (v, index) = c.enqueue_to(now, &queue(&m), &packet, 0);
        if m.unsure {
            seen.left += 1;
            return;
        }
        let joins = m.filter(now, &packet, (v.action == Action::Pass).then_some(index as usize));
        seen.packets += 1;
        match joins {
            Some(i) => {
                assert_eq!((v.action, index as usize), (Action::Pass, i), "packet {step} at {now} ns");
                seen.tail += u64::from(i != head);
                m.queues[i].push_back(packet);
            }
            None => {
                assert_eq!(
                    (v.action, v.reason),
                    (Action::Drop, Reason::Threshold),
                    "packet {step} at {now} ns"
                );
                seen.drops += 1;
            }
        }
        seen.taxed += u64::from(m.top.contains(&packet.flow));
        now += dice.roll() % (2 * mean) * 10 / load;
        if dice.roll().is_multiple_of(2000) {
            now += dice.roll() % (3000 * MS);
        }
        // The link, between this arrival and the next.
        while link_free <= now {
            let at = link_free;
            if m.queues.iter().all(VecDeque::is_empty) {
                link_free = now + 1;
                m.advance(now);
                c.idle(now);
                break;
            }
            let at = at.max(packet.enqueue_ns);
            m.advance(at);
            let i = if m.queues[m.head].is_empty() { 1 - m.head } else { m.head };
            assert_eq!(c.next(at, &queue(&m)), Some(i as u32), "at {at} ns");
            let p = m.queues[i].pop_front().unwrap();
            let mut after = queue(&m);
            after.head_ns = m.queues[i].front().map_or(0, |p| p.enqueue_ns);
            assert_eq!(c.dequeue_from(at, &after, &p, i as u32).action, Action::Pass);
            m.sent += f64::from(p.bytes);
            *m.bytes.entry(p.flow).or_default() += f64::from(p.bytes);
            link_free = at + u64::from(p.bytes) * 8_000_000_000 / capacity;
        }
        if m.unsure {
            seen.left += 1;
            return;
        }
        assert_eq!(c.probe(1), m.top.len() as f64, "top flows at {now} ns");
    }
}

#[test]
fn every_packet_meets_the_fate_of_the_notes() {
    let dt = |ms| ("dt", Value::Int(ms * MS));
    let variants: [&[(&str, Value)]; 4] = [
        &[dt(12)],
        &[dt(5), ("tax", Value::Real(0.3)), ("delta_flow", Value::Real(0.4)), ("rounds", Value::Int(2))],
        &[
            dt(20),
            ("count_drops", Value::Flag(true)),
            ("delta_port", Value::Real(0.1)),
            ("rounds", Value::Int(1)),
        ],
        &[
            dt(12),
            ("tax", Value::Real(0.05)),
            ("delta_flow", Value::Real(0.9)),
            ("delta_port", Value::Real(0.2)),
        ],
    ];
    for (i, set) in variants.iter().enumerate() {
        let mut seen = Seen::default();
        for seed in 0..100 {
            follow(set, seed * 4 + i as u64, &mut seen);
        }
        println!("{seen:?}");
        // Two thirds of all packets at least were compared, and of each fate many.
        assert!(seen.packets > 100 * STEPS * 2 / 3, "{set:?}: {seen:?}");
        assert!(seen.tail > 50_000 && seen.drops > 50_000 && seen.taxed > 20_000, "{set:?}: {seen:?}");
    }
}

/// A flood leaves a flow that wants half of the link a ninth of it in a FIFO queue. Taxed again
/// and again it leaves more, until the link is not saturated and all begins anew.
#[test]
fn a_flood_is_taxed_down() {
    let mut host = Host::new(&spec("cebinae", &[("tax", Value::Real(0.05))]), 0, 200_000);
    let mut sent = [0u64; 2];
    // 10 Mbit/s; a flood of 40 Mbit/s and a flow of 5 Mbit/s.
    for i in 0..60_000u64 {
        let now = i * 1_000_000 / 4;
        host.arrive(now, 1250, 1, 0);
        if i % 8 == 0 {
            host.arrive(now, 1250, 2, 0);
        }
        if i % 4 == 0
            && let Some(p) = host.transmit(now, |_| {})
            && i > 30_000
        {
            sent[usize::from(crate::host::flow_of(&p) == 2)] += 1;
        }
    }
    let share = sent[1] as f64 / (sent[0] + sent[1]) as f64;
    assert!(share > 0.25, "{sent:?}");
}

/// The cache holds the large flows however many small ones pass.
#[test]
fn a_hundred_thousand_mice_do_not_hide_an_elephant() {
    let mut s = spec("cebinae", &[("dt", Value::Int(10 * MS))]);
    s.set("capacity", Value::Int(100_000_000)).unwrap();
    let mut host = Host::new(&s, 0, 0);
    let mut dice = Dice(5);
    let (mut taxed, mut looks) = (0, 0);
    for i in 0..100_000u64 {
        let now = i * 100_000;
        host.arrive(now, 625, 100_001, 0);
        host.arrive(now, 625, dice.roll() as u32 % 100_000, 0);
        for _ in 0..2 {
            host.transmit(now + 1, |_| {});
        }
        if i > 10_000 && i % 400 == 0 {
            looks += 1;
            taxed += u32::from(host.discipline.probe(1) == 1.0);
        }
    }
    assert!(taxed * 2 > looks, "{taxed} of {looks}");
}
