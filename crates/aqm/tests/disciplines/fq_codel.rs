//! FQ-CoDel's round, which FQ and SFQ share, and what a batch of drops leaves behind (net/sched/sch_fq_codel.c and
//! include/net/codel_impl.h of Linux 7.2).

use crate::host::{Dice, Host, flow_of, spec};
use queuewright_aqm::Value;
use std::collections::VecDeque;

const MS: u64 = 1_000_000;
const SEC: u64 = 1_000 * MS;

fn int(n: u64) -> Value {
    Value::Int(n)
}

/// Deficit round robin as RFC 8290 section 4.2 says it: a quantum at a time, however long that takes.
struct Round {
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    deficit: Vec<i64>,
    waiting: Vec<VecDeque<u32>>,
    quantum: i64,
}

impl Round {
    fn arrive(&mut self, flow: u32, bytes: u32) {
        if !self.new.contains(&flow) && !self.old.contains(&flow) {
            self.new.push_back(flow);
            self.deficit[flow as usize] = self.quantum;
        }
        self.waiting[flow as usize].push_back(bytes);
    }

    fn serve(&mut self) -> Option<u32> {
        if self.waiting.iter().all(VecDeque::is_empty) {
            return None;
        }
        loop {
            let fresh = !self.new.is_empty();
            let list = if fresh { &mut self.new } else { &mut self.old };
            let flow = list[0];
            let deficit = &mut self.deficit[flow as usize];
            if *deficit <= 0 {
                *deficit += self.quantum;
                list.pop_front();
                self.old.push_back(flow);
            } else if let Some(bytes) = self.waiting[flow as usize].pop_front() {
                *deficit -= i64::from(bytes);
                return Some(flow);
            } else {
                list.pop_front();
                if fresh && !self.old.is_empty() {
                    self.old.push_back(flow);
                }
            }
        }
    }
}

/// Without CoDel.
fn round(flows: u64, quantum: u64) -> Host {
    let set = [
        ("flows", int(flows)),
        ("quantum", int(quantum)),
        ("target", int(10 * SEC)),
        ("limit", int(1 << 20)),
        ("memory_limit", int(1 << 40)),
    ];
    Host::new(&spec("fq-codel", &set), 0, 0)
}

#[test]
fn the_round_is_that_of_one_quantum_at_a_time() {
    for seed in 0..40u64 {
        let mut dice = Dice(seed);
        let quantum = 256 + dice.roll() % 2000;
        // So many queues that no two of the flows meet.
        let mut host = round(65_536, quantum);
        let flows = 1 + dice.roll() % 12;
        let mut model = Round {
            new: VecDeque::new(),
            old: VecDeque::new(),
            deficit: vec![0; flows as usize],
            waiting: vec![VecDeque::new(); flows as usize],
            quantum: quantum as i64,
        };
        for _ in 0..3000 {
            if dice.roll().is_multiple_of(2) {
                let flow = (dice.roll() % flows) as u32;
                let most = if dice.roll().is_multiple_of(2) { 1514 } else { 65_535 };
                let bytes = 1 + (dice.roll() % most) as u32;
                host.arrive(0, bytes, flow, 0);
                model.arrive(flow, bytes);
            } else {
                assert_eq!(host.transmit(0, |_| {}).map(|p| flow_of(&p)), model.serve());
            }
        }
    }
}

/// 1400 queues whose deficits are 256 quanta below 0 after a packet each. The host's `expect` is the assertion: nobody may
/// be told that there is nothing to send while packets wait.
#[test]
fn the_round_never_ends_while_packets_wait() {
    let sfq = [
        ("quantum", int(256)),
        ("limit", int(1 << 20)),
        ("flows", int(65_536)),
        ("divisor", int(65_536)),
        ("depth", int(127)),
    ];
    let fq = [
        ("quantum", int(256)),
        ("initial_quantum", int(256)),
        ("limit", int(1 << 20)),
        ("orphan_mask", int(65_535)),
    ];
    let hosts = [round(65_536, 256), Host::new(&spec("sfq", &sfq), 0, 0), Host::new(&spec("fq", &fq), 0, 0)];
    for mut host in hosts {
        for _ in 0..2 {
            for flow in 0..1400 {
                host.arrive(0, 65_535, flow, 0);
            }
        }
        let sent = std::iter::from_fn(|| host.transmit(0, |_| {})).count();
        assert_eq!(sent, 2800, "{}", host.discipline.info().name);
    }
}

/// Times of CoDel's drops of one flow at twice the link's rate, and of an overflow that costs it a batch.
struct Drops {
    codels: Vec<u64>,
    batch: Option<u64>,
}

/// 100 us a packet, two arrive for each that leaves. The limit is so low at `squeeze` that a batch of 32 goes.
fn overload(squeeze: u64, until: u64) -> Drops {
    let set = [("drop_batch", int(32)), ("ecn", Value::Flag(false))];
    let mut host = Host::new(&spec("fq-codel", &set), 0, 0);
    let mut drops = Drops { codels: Vec::new(), batch: None };
    for i in 0.. {
        let now = i * MS / 10;
        if now > until {
            return drops;
        }
        for _ in 0..2 {
            host.arrive(now, 1514, 0, 0);
        }
        if drops.batch.is_none() && now >= squeeze {
            let packets = host.queue.packets;
            host.limit(now, packets - 1, 0);
            assert_eq!(host.queue.packets, packets - 32);
            host.limit(now, 0, 0);
            drops.batch = Some(now);
        }
        host.transmit(now, |_| drops.codels.push(now));
    }
    drops
}

/// fq_codel_drop() adds the batch to the count alone, and the Newton step of the next drop starts from the root of
/// before: from 0xffff to count 1 + 32 + 1 it comes to 32817 of 65536 (3 - 34 x^2 is below 0, and wraps), so that the drop after that one is
/// due 50.07 ms later, and not 100 ms / sqrt(34) = 17 ms.
#[test]
fn a_batch_leaves_the_square_root_behind() {
    let drops = overload(150 * MS, 400 * MS);
    let [first, second, third] = drops.codels[..3] else { panic!("three drops") };
    assert!(first < 150 * MS && drops.batch == Some(150 * MS) && second > 150 * MS);
    let near = |gap: u64, law: u64| gap.abs_diff(law) <= MS / 5;
    assert!(near(second - first, 100 * MS), "{first} {second}");
    assert!(near(third - second, 50_074_768), "{second} {third}");
}

/// Before any phase there is no rate to go on from, however early it is: the gap is a whole interval.
#[test]
fn a_batch_before_the_first_phase_is_not_a_phase_that_was() {
    let drops = overload(50 * MS, 400 * MS);
    let [first, second] = drops.codels[..2] else { panic!("two drops") };
    assert!(drops.batch == Some(50 * MS) && first > 100 * MS);
    assert!((second - first).abs_diff(100 * MS) <= MS / 5, "{first} {second}");
}
