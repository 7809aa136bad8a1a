//! PIE against a second statement of it: RFC 8033's sections 4 and 5 in floating
//! point, with Linux's choices (see aqm/pie.h).

use crate::host::{Dice, spec};
use queuewright_aqm::{Action, Discipline, Packet, Queue, Reason, Spec, Value};
use std::collections::VecDeque;

const MS: u64 = 1_000_000;
/// Linux's times are whole ticks of 64 ns.
const TICK: u64 = 64;

/// The time between two of them, s.
fn passed(since: u64, now: u64) -> f64 {
    ((now / TICK - since / TICK) * TICK) as f64 / 1e9
}

#[derive(Clone)]
struct Params {
    target: f64, // s
    tupdate: u64,
    alpha: f64,
    beta: f64,
    max_burst: f64, // s
    mtu: u64,
    bytemode: bool,
    rate_estimator: bool,
}

impl Params {
    /// From the registry's values, times in seconds.
    fn of(spec: &Spec) -> Self {
        let int = |name| match spec.get(name) {
            Some(Value::Int(v)) => v,
            other => panic!("{name}: {other:?}"),
        };
        let real = |name| match spec.get(name) {
            Some(Value::Real(v)) => v,
            other => panic!("{name}: {other:?}"),
        };
        Params {
            target: int("target") as f64 / 1e9,
            tupdate: int("tupdate"),
            alpha: real("alpha"),
            beta: real("beta"),
            max_burst: int("max_burst") as f64 / 1e9,
            mtu: int("mtu"),
            bytemode: spec.get("bytemode") == Some(Value::Flag(true)),
            rate_estimator: spec.get("estimator") == Some(Value::Choice("rate")),
        }
    }
}

/// State of RFC 8033 section 4 and 5; times in seconds, but for the clock.
struct Rfc {
    k: Params,
    drop_prob: f64,
    accu_prob: f64,
    burst_allowance: f64,
    qdelay: f64,
    qdelay_old: f64,
    next_update: u64,
    last_departure: Option<u64>,
    measured: Option<(u64, u64)>, // since, bytes
    depart_rate: Option<u64>,     // 1/256 bytes a tick
    /// Size of what was added up, signs apart: what rounding is relative to.
    terms: f64,
}

impl Rfc {
    fn new(k: Params) -> Self {
        Rfc {
            drop_prob: 0.0,
            accu_prob: 0.0,
            burst_allowance: k.max_burst,
            qdelay: 0.0,
            qdelay_old: 0.0,
            next_update: k.tupdate,
            last_departure: None,
            measured: None,
            depart_rate: None,
            terms: 0.0,
            k,
        }
    }

    /// Section 4.2 with the auto-tuning of section 5.
    fn calculate_drop_prob(&mut self, backlog: u64) {
        let (current, old) = if self.k.rate_estimator {
            let rate = self.depart_rate;
            let ticks = rate.filter(|r| *r > 0).map_or(0, |r| backlog * 256 / r);
            ((ticks * TICK) as f64 / 1e9, self.qdelay)
        } else {
            (self.qdelay, self.qdelay_old)
        };
        let current = current.min(10.0); // this header's own bound
        let mut p = self.k.alpha * (current - self.k.target) + self.k.beta * (current - old);
        let before = self.drop_prob;
        let scale = match before {
            _ if before < 0.000001 => 2048.0,
            _ if before < 0.00001 => 512.0,
            _ if before < 0.0001 => 128.0,
            _ if before < 0.001 => 32.0,
            _ if before < 0.01 => 8.0,
            _ if before < 0.1 => 2.0,
            _ => 1.0,
        };
        p /= scale;
        self.terms += (self.k.alpha * (current + self.k.target) + self.k.beta * (current + old)) / scale;
        if before >= 0.1 && p > 0.02 {
            p = 0.02;
        }
        if current > 0.25 {
            p += 0.02;
        }
        self.drop_prob = (before + p).clamp(0.0, 1.0);
        if current == 0.0 && old == 0.0 && backlog == 0 {
            self.drop_prob *= 1.0 - 1.0 / 64.0;
        }
        let fine = |delay: f64| delay < self.k.target / 2.0;
        if self.drop_prob == 0.0
            && fine(current)
            && fine(old)
            && (!self.k.rate_estimator || self.depart_rate.is_some())
        {
            self.burst_allowance = self.k.max_burst;
            self.accu_prob = 0.0;
            self.last_departure = None;
            self.measured = None;
            self.depart_rate = None;
            // Linux keeps the delay here, until the next update finds no rate.
            self.qdelay = if self.k.rate_estimator { 0.0 } else { current };
        } else {
            self.qdelay = current;
        }
        self.qdelay_old = current;
    }

    fn departure(&mut self, now: u64, since: u64, bytes: u64, left: u64) {
        let span;
        if self.k.rate_estimator {
            const THRESHOLD: u64 = 16384;
            if self.measured.is_none() && left >= THRESHOLD {
                self.measured = Some((now, 0));
            }
            let Some((start, counted)) = self.measured else {
                return;
            };
            let counted = counted + bytes;
            self.measured = Some((start, counted));
            if counted < THRESHOLD || now / TICK == start / TICK {
                return;
            }
            span = passed(start, now);
            let rate = counted * 256 / (now / TICK - start / TICK);
            self.depart_rate = Some(match self.depart_rate {
                None | Some(0) => rate,
                Some(average) => average - average / 8 + rate / 8,
            });
            self.measured = (left >= THRESHOLD).then_some((now, 0));
        } else {
            self.qdelay = if left == 0 { 0.0 } else { passed(since, now) };
            span = self.last_departure.map_or(0.0, |t| passed(t, now));
            self.last_departure = Some(now);
        }
        self.burst_allowance = (self.burst_allowance - span).max(0.0);
    }

    /// The probability that this arrival is dropped: Ok is certain, Err is what the
    /// dice decide against.
    fn drop_early(&mut self, backlog: u64, bytes: u64) -> Result<bool, f64> {
        if self.burst_allowance > 1e-12
            || (self.qdelay < self.k.target / 2.0 && self.drop_prob < 0.2)
            || backlog < 2 * self.k.mtu
        {
            return Ok(false);
        }
        let mut p = self.drop_prob;
        if self.k.bytemode && bytes <= self.k.mtu {
            p *= bytes as f64 / self.k.mtu as f64;
        }
        self.accu_prob = if p == 0.0 { 0.0 } else { self.accu_prob + p };
        match self.accu_prob {
            a if a < 0.85 => Ok(false),
            a if a >= 8.5 => Ok(true),
            _ => Err(p),
        }
    }
}

/// Minutes of traffic whose load wanders; the C code decides, the model follows
/// and must have expected it. After each update the model takes over the
/// C code's probability, so that every step is compared, not their sum.
fn follow(set: &[(&str, Value)], seed: u64) -> Seen {
    let spec = spec("pie", set);
    let mut c = Discipline::new(&spec);
    let mut rfc = Rfc::new(Params::of(&spec));
    let mut dice = Dice(seed);
    let mut waiting: VecDeque<Packet> = VecDeque::new();
    let mut queue = Queue::default();
    let mut seen = Seen::default();
    let mut now = 0;
    let (mut load, mut ns_per_byte) = (8, 800);
    // Gains are whole units of 2^-56 per tick: of alpha's least 281475.
    let rounding = 4e-6;

    for step in 0..400_000u64 {
        if step % 4_000 == 0 {
            load = dice.roll() % 24; // packets offered for 8 that the link takes
            ns_per_byte = 400 + dice.roll() % 1200;
        }
        let bytes = 100 + (dice.roll() % 1401) as u32;
        now += u64::from(bytes) * ns_per_byte + dice.roll() % 1000;
        // A link that rests now and then, and once in a while for long.
        if dice.roll().is_multiple_of(2000) {
            now += dice.roll() % (2_000 * MS);
        }

        // A departure, then by chance arrivals at the same instant.
        let head = waiting.pop_front();
        let before = queue.bytes;
        if let Some(p) = head {
            queue.bytes -= u64::from(p.bytes);
            queue.packets -= 1;
            assert_eq!(c.dequeue(now, &queue, &p).action, Action::Pass);
        } else {
            c.idle(now);
        }
        while rfc.next_update <= now {
            let old = rfc.drop_prob;
            rfc.calculate_drop_prob(before);
            rfc.next_update += rfc.k.tupdate;
            seen.updates += 1;
            if rfc.next_update > now {
                let (ours, theirs) = (c.probe(0), rfc.drop_prob);
                let allowed = rounding * rfc.terms + 1e-15;
                assert!(
                    (ours - theirs).abs() <= allowed,
                    "probability {ours} against {theirs} from {old} at {now} ns"
                );
                rfc.drop_prob = ours;
                rfc.terms = 0.0;
            }
            for (i, rung) in [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1].iter().enumerate() {
                seen.rungs[i] |= rfc.drop_prob > 0.0 && rfc.drop_prob < *rung;
            }
            seen.max = seen.max.max(rfc.drop_prob);
        }
        if let Some(p) = head {
            rfc.departure(now, p.enqueue_ns, u64::from(p.bytes), queue.bytes);
        }
        assert!((c.probe(2) / 1e3 - rfc.burst_allowance).abs() < 1e-7);

        for _ in 0..3 {
            if dice.roll() % 24 >= load {
                continue;
            }
            let bytes = 100 + (dice.roll() % 1401) as u32;
            let packet = Packet { enqueue_ns: now, bytes, ..Packet::default() };
            let random = (dice.roll() >> 32) as u32;
            let v = c.enqueue(now, &queue, &packet, random);
            let expected = rfc.drop_early(queue.bytes, u64::from(bytes));
            let dropped = v.action == Action::Drop;
            let u = f64::from(random) / 2f64.powi(32);
            let sure = match expected {
                // Sums of probabilities differ in their last digits.
                _ if (rfc.accu_prob - 0.85).abs() < 1e-9 => dropped,
                _ if (rfc.accu_prob - 8.5).abs() < 1e-9 => dropped,
                Ok(sure) => sure,
                Err(p) if (u - p).abs() < 1e-9 => dropped,
                Err(p) => u < p,
            };
            assert_eq!(dropped, sure, "{expected:?} at {now} ns");
            if dropped {
                assert_eq!(v.reason, Reason::Early);
                rfc.accu_prob = 0.0;
                seen.drops += 1;
            } else {
                queue.bytes += u64::from(bytes);
                queue.packets += 1;
                waiting.push_back(packet);
            }
        }
    }
    seen
}

/// How much of the rule a run has been through.
#[derive(Default)]
struct Seen {
    updates: u64,
    drops: u64,
    max: f64,
    rungs: [bool; 6],
}

#[test]
fn every_update_and_every_drop_is_the_rfcs() {
    let variants: [&[(&str, Value)]; 6] = [
        &[],
        &[],
        &[("estimator", Value::Choice("rate"))],
        &[("bytemode", Value::Flag(true))],
        &[("alpha", Value::Real(2.0)), ("beta", Value::Real(2.0)), ("target", Value::Int(20 * MS))],
        &[("tupdate", Value::Int(30 * MS)), ("max_burst", Value::Int(0)), ("mtu", Value::Int(500))],
    ];
    let mut rungs = [false; 6];
    for (seed, set) in variants.iter().enumerate() {
        let seen = follow(set, seed as u64);
        assert!(
            seen.updates > 10_000 && seen.drops > 1000 && seen.max > 0.3,
            "{set:?} exercises too little: {} updates, {} drops, p up to {}",
            seen.updates,
            seen.drops,
            seen.max
        );
        for (all, one) in rungs.iter_mut().zip(seen.rungs) {
            *all |= one;
        }
    }
    assert_eq!(rungs, [true; 6], "every step of the auto-tuning was used");
}

/// Drive the probability up with packets that waited long.
fn congest(pie: &mut Discipline, from: u64, ticks: u64, delay: u64) -> u64 {
    let queue = Queue { bytes: 100_000, packets: 67, ..Queue::default() };
    let mut now = from;
    for _ in 0..ticks * 15 {
        now += MS;
        let packet = Packet { enqueue_ns: now - delay, bytes: 1500, ..Packet::default() };
        pie.dequeue(now, &queue, &packet);
    }
    now
}

#[test]
fn probability_saturates_at_one_and_a_long_silence_ends_it() {
    let mut pie = Discipline::new(&spec("pie", &[]));
    let now = congest(&mut pie, 2_000 * MS, 2_000, 2_000 * MS);
    assert_eq!(pie.probe(0), 1.0);
    // An hour of an empty queue in one step.
    let mut idle = pie.clone();
    idle.dequeue(now, &Queue::default(), &Packet::default());
    idle.idle(now + 3_600_000 * MS);
    assert_eq!(idle.probe(0), 0.0);
    assert_eq!(idle.probe(2), 150.0, "and the burst allowance is back");
    // The same hour tick by tick: nothing differs, nor does it afterwards.
    let mut slow = pie.clone();
    slow.dequeue(now, &Queue::default(), &Packet::default());
    for ms in (0..=3_600_000).step_by(10) {
        slow.idle(now + ms * MS);
    }
    let mut later = now + 3_600_000 * MS;
    for _ in 0..20 {
        assert_eq!((slow.probe(0), slow.probe(2)), (idle.probe(0), idle.probe(2)));
        congest(&mut slow, later, 1, 50 * MS);
        later = congest(&mut idle, later, 1, 50 * MS);
    }
    assert!(idle.probe(0) > 0.0);
    // A queue that stands still for an hour keeps the pressure.
    let queue = Queue { bytes: 100_000, packets: 67, ..Queue::default() };
    let v = pie.enqueue(now + 3_600_000 * MS, &queue, &Packet { bytes: 1500, ..Packet::default() }, u32::MAX);
    assert_eq!(pie.probe(0), 1.0);
    assert_ne!(v.reason, Reason::Limit);
}

#[test]
fn ticks_are_the_same_whoever_fires_them() {
    // Called each millisecond, or only when something happens.
    let mut often = Discipline::new(&spec("pie", &[]));
    let mut seldom = often.clone();
    let mut now = congest(&mut often, 100 * MS, 50, 60 * MS);
    congest(&mut seldom, 100 * MS, 50, 60 * MS);
    for pie in [&mut often, &mut seldom] {
        pie.dequeue(now, &Queue::default(), &Packet::default());
    }
    for _ in 0..40 {
        for _ in 0..50 {
            now += MS;
            often.idle(now);
        }
        seldom.idle(now);
        assert_eq!(often.probe(0), seldom.probe(0));
    }
    assert!(seldom.probe(0) == 0.0);
}

#[test]
fn small_queues_and_bursts_pass() {
    let full = Queue { bytes: 1_000_000, packets: 700, ..Queue::default() };
    let packet = Packet { bytes: 1500, ..Packet::default() };
    // 150 ms of any burst pass, though every throw of the dice says drop.
    let mut pie = Discipline::new(&spec("pie", &[]));
    for i in 0..140 {
        let at = Packet { enqueue_ns: 0, ..packet };
        pie.dequeue((200 + i) * MS, &full, &at);
        assert_eq!(pie.enqueue((200 + i) * MS, &full, &packet, 0).action, Action::Pass);
    }
    let now = congest(&mut pie, 400 * MS, 100, 300 * MS);
    assert!(pie.probe(0) > 0.5);
    let below_two = Queue { bytes: 2 * 1514 - 1, packets: 2, ..Queue::default() };
    for _ in 0..20 {
        assert_eq!(pie.enqueue(now, &below_two, &packet, 0).action, Action::Pass);
    }
    assert!((0..3).any(|_| pie.enqueue(now, &full, &packet, 0).reason == Reason::Early));
}

/// Even where no gain would bring the probability down.
#[test]
fn a_long_silence_ends_any_probability() {
    let set = [("alpha", Value::Real(0.0)), ("beta", Value::Real(0.0))];
    let mut pie = Discipline::new(&spec("pie", &set));
    let now = congest(&mut pie, 2_000 * MS, 100, 2_000 * MS);
    assert_eq!(pie.probe(0), 1.0, "2 % an update above 250 ms");
    pie.dequeue(now, &Queue::default(), &Packet::default());
    pie.idle(now + 600 * MS);
    assert!((0.5..0.6).contains(&pie.probe(0)), "1/64 an update when idle: {}", pie.probe(0));
    pie.idle(now + 3_600_000 * MS);
    assert_eq!(pie.probe(0), 0.0);
}

/// drop_early() of Linux 7.2: the dice restart the sum of probabilities, and so does every drop; a mark that the sum alone has
/// brought about does not, so that marks go on.
#[test]
fn a_mark_that_had_to_come_does_not_restart_the_sum() {
    let mut pie = Discipline::new(&spec("pie", &[("ecn", Value::Flag(true)), ("max_burst", Value::Int(0))]));
    let mut now = 1000 * MS;
    while !(0.02..0.1).contains(&pie.probe(0)) {
        assert!(pie.probe(0) < 0.1, "{}", pie.probe(0));
        now = congest(&mut pie, now, 1, 20 * MS);
    }
    let p = pie.probe(0);
    let queue = Queue { bytes: 100_000, packets: 67, ..Queue::default() };
    // Dice that never mark.
    let mut arrive = |ecn, random| {
        pie.enqueue(now, &queue, &Packet { bytes: 1500, ecn, ..Packet::default() }, random).action
    };
    let passed = (0..1000).take_while(|_| arrive(2, u32::MAX) == Action::Pass).count();
    assert_eq!(passed, (8.5 / p).ceil() as usize - 1);
    for _ in 0..5 {
        assert_eq!(arrive(2, u32::MAX), Action::Mark);
    }
    // Not ECN-capable: dropped, and all starts over; so it does after a mark by the dice.
    assert_eq!(arrive(0, u32::MAX), Action::Drop);
    let until_the_dice = (8.5 / p * 0.2) as usize;
    for _ in 0..until_the_dice {
        assert_eq!(arrive(2, u32::MAX), Action::Pass);
    }
    assert_eq!(arrive(2, 0), Action::Mark);
    assert_eq!(arrive(2, 0), Action::Pass);
}

/// pie_process_dequeue(): a departure rate in whole 1/256 bytes a tick of 64 ns. At 10 Mbit/s that is 20, but the first measurement, which
/// has the time of one packet less, says 22, of which an eighth is an eighth of 20, too: the delay is 7 % less than it is. At 400 kbit/s
/// there is none.
#[test]
fn the_departure_rate_is_in_linuxs_units() {
    let delay = |ns_per_byte: u64| {
        let mut pie = Discipline::new(&spec("pie", &[("estimator", Value::Choice("rate"))]));
        let queue = Queue { bytes: 100_000, packets: 67, ..Queue::default() };
        for i in 1..=40 {
            pie.dequeue(1514 * ns_per_byte * i, &queue, &Packet { bytes: 1514, ..Packet::default() });
        }
        pie.probe(1)
    };
    let close = |got: f64, ms: f64| assert!((got - ms).abs() < 0.001, "{got} ms, not {ms}");
    // The backlog was 101514 bytes before the packet left.
    close(delay(800), (101_514 * 256 / 22) as f64 * 64e-6);
    close(delay(20_000), 0.0);
}
