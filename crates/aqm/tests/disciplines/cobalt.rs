//! COBALT against a second statement of it: the rules of Linux's sch_cake with the
//! queue inside, its Newton steps in floating point. Which of BLUE's throws of
//! the dice hit is the header's affair; how often they do is checked.

use crate::host::{Dice, Host, spec};
use crate::pi2::{int, real};
use queuewright_aqm::{Action, Discipline, Packet, Queue, Reason, Spec, Value};
use std::collections::VecDeque;

const MS: u64 = 1_000_000;

/// What CoDel's law says of a packet, before BLUE's dice.
#[derive(Debug, PartialEq)]
enum Law {
    Nothing,
    Signal,
}

struct Cake {
    target: u64,
    interval: f64,
    mtu_time: u64,
    p_inc: f64,
    p_dec: f64,
    count: u64,
    dropping: bool,
    drop_next: f64,
    /// The last drop_next that was set to a present time: no rounding is in it.
    exact: f64,
    p_drop: f64,
    /// None: not yet, so longer ago than any target (Linux's clock is at 0 when a machine starts).
    blue_timer: Option<u64>,
    /// Was the schedule behind when it was looked at last?
    behind: bool,
    /// About 1 / sqrt(count).
    root: f64,
    /// A walk back came near to a deadline, see `ambiguous`.
    unsure: bool,
}

impl Cake {
    fn new(spec: &Spec) -> Self {
        Cake {
            target: int(spec, "target"),
            interval: int(spec, "interval") as f64,
            mtu_time: int(spec, "mtu_time"),
            p_inc: real(spec, "p_inc"),
            p_dec: real(spec, "p_dec"),
            count: 0,
            dropping: false,
            drop_next: 0.0,
            exact: 0.0,
            p_drop: 0.0,
            blue_timer: None,
            behind: false,
            // cobalt_vars_init(): all is 0.
            root: 0.0,
            unsure: false,
        }
    }

    /// Count moves by one. Up to 15 its root is exact; beyond, one Newton step follows it.
    fn set_count(&mut self, count: u64) {
        let step = |x: f64, n: u64| x * (3.0 - n as f64 * x * x) / 2.0;
        self.count = count;
        self.root = match count {
            0..2 => 1.0,
            2..16 => 1.0 / (count as f64).sqrt(),
            _ => step(self.root, count),
        };
    }

    fn gap(&self) -> f64 {
        (self.interval * self.root).floor()
    }

    fn queue_full(&mut self, now: u64) {
        if self.blue_timer.is_none_or(|last| now - last > self.target) {
            self.p_drop = (self.p_drop + self.p_inc).min(1.0);
            self.blue_timer = Some(now);
        }
        self.dropping = true;
        self.drop_next = now as f64;
        self.exact = self.drop_next;
        self.count = self.count.max(1);
    }

    fn queue_empty(&mut self, now: u64) {
        if self.p_drop > 0.0 && self.blue_timer.is_none_or(|last| now - last > self.target) {
            self.p_drop = (self.p_drop - self.p_dec).max(0.0);
            self.blue_timer = Some(now);
        }
        self.dropping = false;
        if self.count > 0 && now as f64 >= self.drop_next {
            self.set_count(self.count - 1);
            self.drop_next += self.gap();
        }
    }

    fn law(&mut self, now: u64, sojourn: u64) -> Law {
        let next_due = self.count > 0 && now as f64 >= self.drop_next;
        self.behind = now as f64 > self.drop_next;
        if sojourn > self.target && sojourn > 4 * self.mtu_time {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = now as f64 + self.gap();
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        if !next_due {
            return Law::Nothing;
        }
        let law = if self.dropping {
            self.set_count(self.count + 1);
            self.drop_next += self.gap();
            Law::Signal
        } else {
            while self.count > 0 && now as f64 >= self.drop_next {
                self.set_count(self.count - 1);
                self.drop_next += self.gap();
                self.unsure |= self.count > 0 && self.ambiguous(now);
            }
            Law::Nothing
        };
        self.behind = now as f64 > self.drop_next;
        law
    }

    fn after(&mut self, now: u64, dropped: bool) {
        if self.count == 0 {
            self.drop_next = now as f64 + self.interval;
        } else if self.behind && !dropped {
            self.drop_next = now as f64;
            self.exact = self.drop_next;
        }
    }

    /// Too near to a deadline for whole nanoseconds and fractions to agree.
    fn ambiguous(&self, now: u64) -> bool {
        self.drop_next != self.exact && (now as f64 - self.drop_next).abs() < 100.0
    }
}

#[derive(Default, Debug)]
struct Seen {
    compared: u64,
    signals: u64,
    marks: u64,
    blue: u64,
    blue_expected: f64,
    count: u64,
    walked_back: u64,
    full: u64,
}

/// Until they come too near to a deadline.
fn follow(set: &[(&str, Value)], seed: u64, seen: &mut Seen) {
    let spec = spec("cobalt", set);
    let ecn_on = spec.get("ecn") == Some(Value::Flag(true));
    let mut c = Discipline::new(&spec);
    let mut cake = Cake::new(&spec);
    let mut dice = Dice(seed);
    let mut waiting: VecDeque<Packet> = VecDeque::new();
    let mut queue = Queue { limit_packets: 20 + (dice.roll() % 100) as u32, ..Queue::default() };
    let (mut now, mut load) = (MS, 0);
    for step in 0..4000 {
        if step % 400 == 0 {
            load = dice.roll() % 32;
        }
        now += 500_000 + dice.roll() % 1_000_000;
        if dice.roll().is_multiple_of(500) {
            now += dice.roll() % (400 * MS);
        }
        for _ in 0..4 {
            if dice.roll() % 40 >= load {
                continue;
            }
            let packet =
                Packet { enqueue_ns: now, bytes: 1000, ecn: (dice.roll() % 4) as u32, ..Packet::default() };
            let v = c.enqueue(now, &queue, &packet, (dice.roll() >> 32) as u32);
            if queue.packets == queue.limit_packets {
                assert_eq!(v.reason, Reason::Limit);
                cake.queue_full(now);
                seen.full += 1;
            } else {
                assert_eq!(v.action, Action::Pass);
                waiting.push_back(packet);
                queue.packets += 1;
                queue.bytes += 1000;
            }
        }
        loop {
            let Some(head) = waiting.pop_front() else {
                if cake.count > 0 && cake.ambiguous(now) {
                    return;
                }
                c.idle(now);
                cake.queue_empty(now);
                break;
            };
            queue.packets -= 1;
            queue.bytes -= 1000;
            if cake.count > 0 && cake.ambiguous(now) {
                return;
            }
            let before = cake.count;
            let v = c.dequeue(now, &queue, &head);
            let law = cake.law(now, now - head.enqueue_ns);
            if cake.unsure {
                return;
            }
            seen.walked_back += u64::from(cake.count < before);
            seen.compared += 1;
            let (mark, drop) = match law {
                Law::Signal if ecn_on && head.ecn != 0 => (true, false),
                Law::Signal => (false, true),
                Law::Nothing => (false, false),
            };
            // BLUE has a say where CoDel lets pass or marks, unless the packet is the last.
            let last = queue.packets == 0;
            let flooded = v.reason == Reason::Early;
            if !drop && !last {
                seen.blue_expected += cake.p_drop;
                seen.blue += u64::from(flooded);
            }
            assert!(!flooded || cake.p_drop > 0.0 && !drop && !last);
            cake.after(now, drop || flooded);
            let expected = match () {
                () if flooded => Action::Drop,
                () if last && drop => Action::Pass,
                () if drop => Action::Drop,
                () if mark => Action::Mark,
                () => Action::Pass,
            };
            assert_eq!(v.action, expected, "{law:?} at {now} ns, count {}", cake.count);
            seen.signals += u64::from(law == Law::Signal);
            seen.marks += u64::from(mark);
            seen.count = seen.count.max(cake.count);
            assert_eq!(c.probe(0), cake.count as f64, "at {now} ns");
            assert_eq!(c.probe(1) != 0.0, cake.dropping, "at {now} ns");
            assert!((c.probe(2) - cake.p_drop).abs() < 1e-6, "{} at {now} ns", c.probe(2));
            // Whether BLUE's dice hit the last packet shows only in the next deadline.
            if last && cake.p_drop > 0.0 && cake.behind && !drop && cake.count > 0 {
                return;
            }
            if v.action != Action::Drop {
                break;
            }
        }
    }
}

#[test]
fn every_packet_meets_the_fate_of_cakes_rules() {
    let variants: [&[(&str, Value)]; 4] = [
        &[],
        &[("ecn", Value::Flag(false))],
        &[("interval", Value::Int(20 * MS)), ("mtu_time", Value::Int(3 * MS))],
        &[("p_inc", Value::Real(0.2)), ("p_dec", Value::Real(0.03)), ("target", Value::Int(20 * MS))],
    ];
    for (i, set) in variants.iter().enumerate() {
        let mut seen = Seen::default();
        for seed in 0..100 {
            follow(set, seed * 4 + i as u64, &mut seen);
        }
        println!("{seen:?}");
        assert!(seen.compared > 30_000 && seen.signals > 500 && seen.count > 10, "{set:?}: {seen:?}");
        assert!(seen.walked_back > 100 && seen.full > 1000 && seen.blue > 100, "{set:?}: {seen:?}");
        assert_eq!(seen.marks > 0, i != 1);
        let off = (seen.blue as f64 - seen.blue_expected).abs();
        assert!(off < 5.0 * seen.blue_expected.sqrt(), "{set:?}: {seen:?}");
    }
}

/// cobalt_vars_init(): BLUE's clock is at 0, so that the first overflow raises it whenever it comes.
#[test]
fn the_first_overflow_raises_blue() {
    for at in [0, MS, 5 * MS, 6 * MS] {
        let spec = spec("cobalt", &[]);
        let mut cobalt = Discipline::new(&spec);
        let full = Queue { bytes: 50_000, packets: 50, limit_packets: 50, ..Queue::default() };
        let overflow = |cobalt: &mut Discipline, now: u64| {
            assert_eq!(
                cobalt.enqueue(now, &full, &Packet { bytes: 1000, ..Packet::default() }, 0).action,
                Action::Drop
            );
            cobalt.probe(2)
        };
        assert_eq!(overflow(&mut cobalt, at), 1.0 / 256.0, "{at}");
        assert_eq!(overflow(&mut cobalt, at + 5 * MS), 1.0 / 256.0, "{at}");
        assert_eq!(overflow(&mut cobalt, at + 5 * MS + 1), 2.0 / 256.0, "{at}");
    }
}

/// cobalt_should_drop(): the walk back goes on until it has come to the present. A flood brings count to 1424 in the golden table.
#[test]
fn a_long_silence_forgets_any_count() {
    let mut c = Discipline::new(&spec("cobalt", &[]));
    let queue = Queue { bytes: 100_000, packets: 100, ..Queue::default() };
    let mut at = |now: u64, wait: u64| {
        c.dequeue(now, &queue, &Packet { enqueue_ns: now - wait, bytes: 1000, ..Packet::default() });
        c.probe(0)
    };
    let flood = (0..100_000).map(|i| at(1_000 * MS + i * 100_000, 20 * MS)).last();
    assert!(flood.is_some_and(|count| count > 2000.0), "{flood:?}");
    // 2 interval sqrt(2500), and more.
    assert_eq!(at(25_000 * MS, 0), 0.0);
}

/// In overload that lasts, the n-th gap between signals is interval / sqrt(n), to 16 in one
/// part of a million but for the second, and close beyond.
#[test]
fn gaps_between_signals_follow_the_inverse_square_root() {
    let mut c = Discipline::new(&spec("cobalt", &[]));
    let queue = Queue { bytes: 100_000, packets: 100, ..Queue::default() };
    let mut at = Vec::new();
    c.dequeue(999 * MS, &queue, &Packet { enqueue_ns: 999 * MS, bytes: 1000, ..Packet::default() });
    for i in 0..100_000u64 {
        let now = 1_000 * MS + i * 100_000;
        let packet = Packet { enqueue_ns: now - 20 * MS, bytes: 1000, ..Packet::default() };
        if c.dequeue(now, &queue, &packet).action == Action::Drop {
            at.push(now);
        }
    }
    assert!(at.len() > 500);
    assert!((at[0] as f64 - 1_000.0 * MS as f64).abs() < 200_000.0, "no interval first: {}", at[0]);
    for n in 1..at.len() {
        let (gap, law) = ((at[n] - at[n - 1]) as f64, 100.0 * MS as f64 / ((n + 1) as f64).sqrt());
        assert!((gap - law).abs() < 0.01 * law + 200_000.0, "gap {n}: {gap} against {law}");
    }
}

/// BLUE is what stops a sender that nothing else stops: at 1.5 times the link's rate a third has
/// to go, and nearly all of it goes at the head by chance instead of at the full buffer.
#[test]
fn blue_finds_the_share_of_an_unyielding_flood() {
    let mut host = crate::host::Host::new(&spec("cobalt", &[]), 100, 0);
    let mut late = 0;
    for i in 0..120_000u64 {
        let now = i * MS;
        for _ in 0..1 + i % 2 {
            host.arrive(now, 1500, 0, 2);
        }
        host.transmit(now, |_| {});
        if i == 60_000 {
            late = host.drops[Reason::Limit as usize];
        }
    }
    let limit = host.drops[Reason::Limit as usize] - late;
    assert!(limit < 5_000, "{limit} of 90,000 in the second minute");
    assert!((0.25..0.4).contains(&host.discipline.probe(2)), "{}", host.discipline.probe(2));
}

/// A silence is one empty moment to BLUE, however long it was, as in sch_cake; CoDel's count walks back all of it.
#[test]
fn after_a_silence_blue_is_what_it_was_and_count_is_gone() {
    let mut host = Host::new(&spec("cobalt", &[]), 50, 0);
    // Twice what the link takes, for ten seconds: packets of 1 ms.
    for now in (0..10_000).map(|ms| ms * MS) {
        for _ in 0..2 {
            host.arrive(now, 1500, 0, 0);
        }
        host.transmit(now, |_| {});
    }
    let mut now = 10_000 * MS;
    while host.queue.packets > 0 {
        host.transmit(now, |_| {});
        now += MS;
    }
    let before = host.discipline.probe(2);
    host.discipline.idle(now);
    let after = now + 3_600_000 * MS;
    host.arrive(after, 1500, 0, 0);
    host.transmit(after, |_| {});
    let (count, p) = (host.discipline.probe(0), host.discipline.probe(2));
    println!("{before} {p} {count}");
    assert!(before > 0.05 && before - p <= 1.0 / 4096.0 + 1e-9, "{before}, then {p}");
    assert_eq!(count, 0.0);
}
