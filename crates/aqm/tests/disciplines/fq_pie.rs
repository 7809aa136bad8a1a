//! FQ-PIE beside a second statement of Linux's rule (net/sched/sch_fq_pie.c and sch_pie.c of Linux 7), in which the PIEs of all queues tick
//! when they are due; and PIE's equation by hand.

use crate::host::{Dice, Host, flow_of, spec};
use queuewright_aqm::{Action, Discipline, Packet, Queue, Reason, TCP, Value};
use std::collections::VecDeque;

const MS: u64 = 1_000_000;
const SEC: u64 = 1_000 * MS;
/// A probability of 1, and ticks of 64 ns in a second.
const ONE: u64 = 1 << 56;
const TICKS: u64 = 15_625_000;
const MTU: u64 = 1514;
/// Bytes that show a departure rate.
const SHOWS: u64 = 16_384;
/// After so many updates in a row that nothing came between, the header makes an end of them.
const MOST: u64 = 256;

/// What is a slip of the pen away from Linux's rule.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Slip {
    None,
    /// A queue's PIE judges by what waits in all queues.
    WholeBacklog,
    /// Only queues with packets tick.
    SleepsEmpty,
    /// All queues have one PIE.
    OnePie,
    /// The last packet that leaves a queue leaves its delay behind.
    DelayOfLast,
    /// A drop leaves the sum of probabilities as it is.
    KeepsSum,
    /// The limit drops before the queue's PIE is asked, and leaves its sum as it is.
    LimitKeepsSum,
    /// Marks whatever the probability is.
    MarksAbove,
    /// Gains are not scaled down.
    FullGain,
    /// A queue is new again as soon as it is empty.
    NewAgain,
}

struct Params {
    target: u64,
    alpha: u64,
    beta: u64,
    burst: u64,
    ecn: bool,
    marks_up_to: u64,
    bytemode: bool,
    rate: bool,
}

/// struct pie_vars.
#[derive(Clone, Default)]
struct Pie {
    prob: u64,
    sum: u64,
    burst: u64,
    qdelay: u64,
    old: u64,
    stamp: Option<u64>,
    count: Option<u64>,
    rate: u64,
    silent: u64,
}

impl Pie {
    fn restart(&mut self, k: &Params) {
        (self.sum, self.burst, self.stamp, self.count, self.rate) = (0, k.burst, None, None, 0);
    }

    /// calculate_probability(), in which a probability stays within 0 and 1.
    fn tick(&mut self, k: &Params, backlog: u64, slip: Slip) {
        self.silent += 1;
        let (mut qdelay, mut old) = (self.qdelay, self.old);
        if k.rate {
            old = self.qdelay;
            qdelay = (backlog << 8).checked_div(self.rate).unwrap_or(0).min(10 * TICKS);
        }
        if self.silent > MOST {
            // An end of it: the header takes an idle queue's probability for 0.
            self.prob = if backlog > 0 { self.prob } else { 0 };
        } else {
            let gain = |sixteenths: u64| ((sixteenths * (ONE / TICKS)) >> 4) as i64;
            let (mut alpha, mut beta) = (gain(k.alpha), gain(k.beta));
            if self.prob < ONE / 10 && slip != Slip::FullGain {
                (alpha, beta) = (alpha >> 1, beta >> 1);
                let mut power = 100;
                while power <= 1_000_000 && self.prob < ONE / power {
                    (alpha, beta) = (alpha >> 2, beta >> 2);
                    power *= 10;
                }
            }
            let mut delta = alpha * (qdelay as i64 - k.target as i64) + beta * (qdelay as i64 - old as i64);
            if self.prob >= ONE / 10 {
                delta = delta.min((ONE / 50) as i64);
            }
            if qdelay > TICKS / 4 {
                delta += (ONE / 50) as i64;
            }
            self.prob = (self.prob as i64 + delta).clamp(0, ONE as i64) as u64;
            if qdelay == 0 && old == 0 && backlog == 0 {
                self.prob -= self.prob / 64;
            }
        }
        (self.qdelay, self.old) = (qdelay, qdelay);
        let half = k.target / 2;
        if qdelay < half && old < half && self.prob == 0 && (!k.rate || self.rate > 0) {
            self.restart(k);
        }
    }

    /// pie_drop_early().
    fn early(&mut self, k: &Params, backlog: u64, bytes: u64, random: u32, slip: Slip) -> bool {
        if self.burst > 0 || (self.qdelay < k.target / 2 && self.prob < ONE / 5) || backlog < 2 * MTU {
            return false;
        }
        let prob = if k.bytemode && bytes <= MTU { self.prob / MTU * bytes } else { self.prob };
        self.sum = if prob == 0 { 0 } else { self.sum + prob };
        if self.sum < ONE / 100 * 85 {
            return false;
        }
        if self.sum >= ONE / 2 * 17 {
            return true;
        }
        let hit = u64::from(random) << 24 < prob;
        if hit && slip != Slip::KeepsSum {
            self.sum = 0;
        }
        hit
    }

    /// pie_process_dequeue().
    fn left(&mut self, k: &Params, now: u64, came: u64, backlog: u64, bytes: u64, slip: Slip) {
        let now = now >> 6;
        let mut passed = 0;
        if !k.rate {
            self.qdelay = if backlog > 0 || slip == Slip::DelayOfLast { now - (came >> 6) } else { 0 };
            passed = self.stamp.map_or(0, |stamp| now - stamp);
            self.stamp = Some(now);
        } else {
            if backlog >= SHOWS && self.count.is_none() {
                (self.stamp, self.count) = (Some(now), Some(0));
            }
            if let (Some(count), Some(stamp)) = (self.count.as_mut(), self.stamp) {
                *count += bytes;
                if *count >= SHOWS && now > stamp {
                    passed = now - stamp;
                    let rate = (*count << 8) / passed;
                    self.rate =
                        if self.rate == 0 { rate } else { self.rate - (self.rate >> 3) + (rate >> 3) };
                    self.count = (backlog >= SHOWS).then_some(0);
                    self.stamp = Some(now);
                }
            }
        }
        self.burst = self.burst.saturating_sub(passed);
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Waiting {
    number: u64,
    came: u64,
    bytes: u32,
    marked: bool,
}

/// sch_fq_pie.
struct Linux {
    slip: Slip,
    k: Params,
    pies: Vec<Pie>,
    waiting: Vec<VecDeque<Waiting>>,
    bytes: Vec<u64>,
    deficit: Vec<i64>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    packets: u64,
    limit: u64,
    quantum: i64,
    next: u64,
    tupdate: u64,
}

impl Linux {
    fn pie(&self, queue: usize) -> usize {
        if self.slip == Slip::OnePie { 0 } else { queue }
    }

    fn tick(&mut self, now: u64) {
        while self.next <= now {
            for queue in 0..self.pies.len() {
                if self.slip != Slip::SleepsEmpty || self.bytes[queue] > 0 {
                    self.pies[queue].tick(&self.k, self.bytes[queue], self.slip);
                }
            }
            self.next += self.tupdate;
        }
    }

    fn arrive(&mut self, queue: usize, it: Waiting, ecn: u32, random: u32) -> (Action, Reason) {
        let backlog =
            if self.slip == Slip::WholeBacklog { self.bytes.iter().sum() } else { self.bytes[queue] };
        let pie = self.pie(queue);
        let pie = &mut self.pies[pie];
        pie.silent = 0;
        let mut v = (Action::Pass, Reason::None);
        if self.packets >= self.limit {
            v = (Action::Drop, Reason::Limit);
        } else if pie.early(&self.k, backlog, u64::from(it.bytes), random, self.slip) {
            let below = pie.prob <= self.k.marks_up_to || self.slip == Slip::MarksAbove;
            let marks = self.k.ecn && below && ecn != 0;
            v = (if marks { Action::Mark } else { Action::Drop }, Reason::Early);
        }
        if v.0 == Action::Drop {
            let keeps =
                self.slip == Slip::KeepsSum || (self.slip == Slip::LimitKeepsSum && v.1 == Reason::Limit);
            if !keeps {
                pie.sum = 0;
            }
            return v;
        }
        self.waiting[queue].push_back(Waiting { marked: v.0 == Action::Mark, ..it });
        self.bytes[queue] += u64::from(it.bytes);
        self.packets += 1;
        if !self.new.contains(&queue) && !self.old.contains(&queue) {
            self.new.push_back(queue);
            self.deficit[queue] = self.quantum;
        }
        v
    }

    fn leave(&mut self, now: u64) -> Option<Waiting> {
        if self.packets == 0 {
            return None;
        }
        loop {
            let fresh = !self.new.is_empty();
            let list = if fresh { &mut self.new } else { &mut self.old };
            let queue = list[0];
            if self.deficit[queue] <= 0 {
                self.deficit[queue] += self.quantum;
                list.pop_front();
                self.old.push_back(queue);
            } else if let Some(it) = self.waiting[queue].pop_front() {
                self.deficit[queue] -= i64::from(it.bytes);
                self.bytes[queue] -= u64::from(it.bytes);
                self.packets -= 1;
                let (pie, backlog) = (self.pie(queue), self.bytes[queue]);
                self.pies[pie].silent = 0;
                self.pies[pie].left(&self.k, now, it.came, backlog, u64::from(it.bytes), self.slip);
                return Some(it);
            } else {
                list.pop_front();
                if fresh && !self.old.is_empty() && self.slip != Slip::NewAgain {
                    self.old.push_back(queue);
                }
            }
        }
    }
}

struct Ours {
    fq: Discipline,
    queues: Vec<VecDeque<Waiting>>,
    q: Queue,
}

impl Ours {
    fn packet(it: &Waiting, flow: u32, ecn: u32) -> Packet {
        Packet { enqueue_ns: it.came, bytes: it.bytes, flow, ecn, protocol: TCP, ..Packet::default() }
    }

    fn arrive(&mut self, now: u64, flow: u32, it: Waiting, ecn: u32, random: u32) -> (Action, Reason, u32) {
        let (v, queue) = self.fq.enqueue_to(now, &self.q, &Ours::packet(&it, flow, ecn), random);
        if v.action != Action::Drop {
            self.queues[queue as usize].push_back(Waiting { marked: v.action == Action::Mark, ..it });
            self.q.packets += 1;
            self.q.bytes += u64::from(it.bytes);
        }
        assert!(self.fq.overflow(now, &self.q).is_none());
        (v.action, v.reason, queue)
    }

    fn leave(&mut self, now: u64) -> Option<Waiting> {
        if self.q.packets == 0 {
            self.fq.idle(now);
            return None;
        }
        let queue = self.fq.next(now, &self.q).expect("packets wait");
        let it = self.queues[queue as usize].pop_front().expect("the queue has a packet");
        self.q.packets -= 1;
        self.q.bytes -= u64::from(it.bytes);
        let v = self.fq.dequeue_from(now, &self.q, &Ours::packet(&it, 0, 0), queue);
        assert_eq!(v.action, Action::Pass);
        Some(it)
    }
}

/// What the cases saw.
#[derive(Debug, Default)]
struct Seen {
    reasons: [u64; 5],
    marks: u64,
    lasting: u64,
}

/// One case of arrivals and departures, made of both: the step at which they part, if they do.
fn beside(case: u64, slip: Slip, seen: &mut Seen) -> Option<u64> {
    let mut dice = Dice(case);
    let mut pick = |of: &[u64]| of[dice.roll() as usize % of.len()];
    let (target, tupdate) = (pick(&[1, 5, 15]) * MS, pick(&[1, 15, 40]) * MS);
    let (alpha, beta) = (pick(&[1, 2, 32]), pick(&[1, 20, 32]));
    let burst = pick(&[0, 20, 150]) * MS;
    let (ecn, percent) = (pick(&[0, 1]) == 1, pick(&[1, 10, 100]));
    let (bytemode, rate) = (pick(&[0, 1]) == 1, pick(&[0, 0, 1]) == 1);
    let (queues, quantum) = (pick(&[1, 4, 64]), pick(&[256, 1514, 5000]));
    let (limit, flows) = (pick(&[30, 300, 10_240]), pick(&[1, 2, 10, 100]));
    let gap = pick(&[20_000, 200_000, 2 * MS]);
    let set = [
        ("target", Value::Int(target)),
        ("tupdate", Value::Int(tupdate)),
        ("alpha", Value::Real(alpha as f64 / 16.0)),
        ("beta", Value::Real(beta as f64 / 16.0)),
        ("max_burst", Value::Int(burst)),
        ("ecn", Value::Flag(ecn)),
        ("ecn_threshold", Value::Real(percent as f64 / 100.0)),
        ("bytemode", Value::Flag(bytemode)),
        ("estimator", Value::Choice(if rate { "rate" } else { "timestamp" })),
        ("flows", Value::Int(queues)),
        ("quantum", Value::Int(quantum)),
        ("limit", Value::Int(limit)),
    ];
    let of_queue = vec![VecDeque::new(); queues as usize];
    let mut ours =
        Ours { fq: Discipline::new(&spec("fq-pie", &set)), queues: of_queue.clone(), q: Queue::default() };
    // What is set is rounded to 2^-32.
    let marks_up_to = ((percent as f64 / 100.0 * 2f64.powi(32)).round() as u64) << 24;
    let k = Params { target: target >> 6, alpha, beta, burst: burst >> 6, ecn, marks_up_to, bytemode, rate };
    let mut pies = vec![Pie::default(); queues as usize];
    pies.iter_mut().for_each(|pie| pie.restart(&k));
    let mut linux = Linux {
        slip,
        k,
        pies,
        waiting: of_queue,
        bytes: vec![0; queues as usize],
        deficit: vec![0; queues as usize],
        new: VecDeque::new(),
        old: VecDeque::new(),
        packets: 0,
        limit,
        quantum: quantum as i64,
        next: tupdate,
        tupdate,
    };
    let (mut now, mut busy) = (0, 100);
    for step in 0..10_000 {
        now += match dice.roll() % 4000 {
            0 => dice.roll() % (3 * SEC),
            _ => dice.roll() % gap,
        };
        linux.tick(now);
        if dice.roll().is_multiple_of(300) {
            busy = [70, 105, 130, 180][dice.roll() as usize % 4];
        }
        if dice.roll() % 200 < busy {
            let flow = ((dice.roll() % flows) as u32).wrapping_mul(0x9e37_79b9);
            let most = if dice.roll().is_multiple_of(3) { 100 } else { 1514 };
            let bytes = 1 + (dice.roll() % most) as u32;
            let it = Waiting { number: step, came: now, bytes, marked: false };
            let (codepoint, random) = ((dice.roll() % 4) as u32, (dice.roll() >> 32) as u32);
            // reciprocal_scale()
            let queue = ((u64::from(flow) * queues) >> 32) as usize;
            let theirs = linux.arrive(queue, it, codepoint, random);
            let v = ours.arrive(now, flow, it, codepoint, random);
            let prob = linux.pies[linux.pie(queue)].prob as f64 / ONE as f64;
            if (v.0, v.1) != theirs || v.2 as usize != queue || (ours.fq.probe(2) - prob).abs() > 1e-12 {
                return Some(step);
            }
            seen.reasons[v.1 as usize] += 1;
            seen.marks += u64::from(v.0 == Action::Mark);
            // Of a queue that was empty.
            seen.lasting += u64::from(prob > 0.0 && linux.waiting[queue].len() < 2);
        } else if ours.leave(now) != linux.leave(now) {
            return Some(step);
        }
    }
    // What is left is the same, in the same order.
    loop {
        let (a, b) = (ours.leave(now), linux.leave(now));
        if a != b {
            return Some(10_000);
        }
        a?;
    }
}

#[test]
fn decides_as_linux_does() {
    let mut seen = Seen::default();
    for case in 0..200 {
        assert_eq!(beside(case, Slip::None, &mut seen), None, "case {case}");
    }
    let reasons = [Reason::Limit, Reason::Early].map(|r| seen.reasons[r as usize]);
    assert!(reasons.iter().all(|n| *n > 10_000) && seen.marks > 5_000 && seen.lasting > 10_000, "{seen:?}");
}

#[test]
fn what_linux_does_not_is_seen() {
    for slip in [
        Slip::WholeBacklog,
        Slip::SleepsEmpty,
        Slip::OnePie,
        Slip::DelayOfLast,
        Slip::KeepsSum,
        Slip::LimitKeepsSum,
        Slip::MarksAbove,
        Slip::FullGain,
        Slip::NewAgain,
    ] {
        let parted = (0..60).filter(|case| beside(*case, slip, &mut Seen::default()).is_some()).count();
        assert!(parted >= 3, "{slip:?}: {parted} of 60");
    }
}

/// RFC 8033 section 4.2, twice at once. A queue's first packet waits for 5 ms, the other's for 20 ms. At 15 ms the first has
/// (0.125 (5 - 15) + 1.25 (5 - 0)) ms / 2048 = 2.44e-6, the other still 0, as no packet of it has told of a delay; at 30 ms the other has
/// (0.125 (20 - 15) + 1.25 (20 - 0)) ms / 2048 = 1.251e-5, and the first 0.125 (5 - 15) ms / 512 less, which leaves nothing.
#[test]
fn each_queue_has_the_probability_of_its_own_delay() {
    let mut host = Host::new(&spec("fq-pie", &[("flows", Value::Int(2))]), 0, 0);
    let prob = |host: &mut Host, now: u64, flow: u32| {
        host.arrive(now, 1514, flow, 0);
        host.discipline.probe(2)
    };
    for _ in 0..3 {
        host.arrive(0, 1514, 0, 0);
        host.arrive(0, 1514, 1, 0);
    }
    for (at, flow) in [(5 * MS, 0), (20 * MS, 1)] {
        if at > 15 * MS {
            let two = [prob(&mut host, 16 * MS, 0), prob(&mut host, 16 * MS, 1)];
            assert!((two[0] - 0.005 / 2048.0).abs() < 1e-9 && two[1] == 0.0, "{two:?}");
        }
        assert_eq!(host.transmit(at, |_| {}).map(|p| flow_of(&p)), Some(flow));
    }
    let two = [prob(&mut host, 31 * MS, 0), prob(&mut host, 31 * MS, 1)];
    assert!(two[0] < 1e-9 && (two[1] - 0.025_625 / 2048.0).abs() < 1e-9, "{two:?}");
}

/// One flow at twice what its share is and one that never has two packets waiting: PIE drops of the first alone, and holds its delay at
/// the target; the second waits for no more than a packet of the first.
#[test]
fn who_has_no_queue_loses_nothing() {
    let mut host = Host::new(&spec("fq-pie", &[]), 0, 0);
    let (mut lost, mut longest, mut waits) = ([0, 0], 0, Vec::new());
    for i in 0..60_000u64 {
        // The link takes a packet in 1 ms; the first flow sends two, the other one in 10 ms.
        let now = i * MS;
        for _ in 0..2 {
            lost[0] += u32::from(host.arrive(now, 1514, 0, 0).action == Action::Drop);
        }
        if i % 10 == 3 {
            lost[1] += u32::from(host.arrive(now, 200, 1, 0).action == Action::Drop);
        }
        let sent = host.transmit(now, |_| {}).expect("packets wait");
        let waited = now - sent.enqueue_ns;
        if flow_of(&sent) == 1 {
            longest = longest.max(waited);
        } else if i > 30_000 {
            waits.push(waited as f64 / 1e6);
        }
    }
    let mean = waits.iter().sum::<f64>() / waits.len() as f64;
    assert!(lost[0] > 20_000 && lost[1] == 0 && longest <= MS, "{lost:?} {longest}");
    assert!((mean - 15.0).abs() < 3.0, "{mean}");
}

/// The host's timer ticks all queues, those that are empty as well; by itself none ticks before a whole `tupdate` later.
#[test]
fn a_hosts_timer_ticks_every_queue() {
    let mut host = Host::new(&spec("fq-pie", &[("tupdate", Value::Int(SEC))]), 0, 0);
    let prob = |host: &mut Host, now: u64, flow: u32| {
        host.arrive(now, 1514, flow, 0);
        host.discipline.probe(2)
    };
    for flow in [0, 0, 0, 1, 1, 1] {
        host.arrive(0, 1514, flow, 0);
    }
    for _ in 0..4 {
        host.transmit(20 * MS, |_| {});
    }
    assert!(host.discipline.tick(30 * MS, host.queue.bytes));
    // Both had 20 ms.
    for flow in [0, 1] {
        assert!((prob(&mut host, 31 * MS, flow) - 0.025_625 / 2048.0).abs() < 1e-9);
    }
    // A queue without packets before the tick has 0, and all have the next tick at the same time.
    assert_eq!(prob(&mut host, 32 * MS, 2), 0.0);
    let same = prob(&mut host, 30 * MS + SEC - 1, 0);
    assert_ne!(prob(&mut host, 30 * MS + SEC, 0), same);
}
