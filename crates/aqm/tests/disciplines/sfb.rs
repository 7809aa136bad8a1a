//! SFB beside a second statement of Linux's rule, and its numbers by hand.

use crate::host::{Dice, Host, spec};
use queuewright_aqm::{Action, Discipline, Packet, Queue, Reason, TCP, Value};
use std::collections::VecDeque;

const MS: u64 = 1_000_000;
const JIFFY: u64 = 4 * MS;
const SEC: u64 = 1_000 * MS;
const ONE: u32 = 65_535;

/// sch_sfb as its source has it: bins by level, a list of waiting packets' hashes, jiffies.
struct Linux {
    bins: [[[(u32, u32); 16]; 8]; 2],
    salts: Option<[u32; 2]>,
    slot: usize,
    both: bool,
    rehash_time: u64,
    token_time: u64,
    tokens: u64,
    waiting: VecDeque<[Option<u32>; 2]>,
    target: u32,
    max: u32,
    up: u32,
    down: u32,
    rehash: u64,
    warmup: u64,
    rate: u64,
    burst: u64,
}

fn mixed(flow: u32, salt: u32) -> u32 {
    let mut h = flow ^ salt;
    h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
    h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
    (h ^ (h >> 16)).max(1)
}

impl Linux {
    fn places(hash: u32) -> impl Iterator<Item = (usize, usize)> {
        (0..8).map(move |level| (level, (hash >> (4 * level)) as usize % 16))
    }

    /// The fewest packets and the least probability of its bins, after its arrival has moved these.
    fn see(&mut self, slot: usize, hash: u32) -> (u32, u32) {
        let (mut fewest, mut least) = (u32::MAX, u32::MAX);
        for (level, bin) in Linux::places(hash) {
            let (packets, p) = &mut self.bins[slot][level][bin];
            if *packets == 0 {
                *p = p.saturating_sub(self.down);
            } else if *packets >= self.target {
                *p = (*p + self.up).min(ONE);
            }
            (fewest, least) = (fewest.min(*packets), least.min(*p));
        }
        (fewest, least)
    }

    fn count(&mut self, hashes: [Option<u32>; 2], by: i32) {
        for (slot, hash) in hashes.into_iter().enumerate() {
            for (level, bin) in hash.into_iter().flat_map(Linux::places) {
                let packets = &mut self.bins[slot][level][bin].0;
                *packets = (*packets as i32 + by).clamp(0, 65_535) as u32;
            }
        }
    }

    fn penalized(&mut self, jiffies: u64) -> bool {
        if self.rate == 0 || self.burst == 0 {
            return true;
        }
        if self.tokens == 0 {
            self.tokens = ((jiffies - self.token_time).min(2500) * self.rate / 250).min(self.burst);
            self.token_time = jiffies;
            if self.tokens == 0 {
                return true;
            }
        }
        self.tokens -= 1;
        false
    }

    fn arrive(&mut self, now: u64, limit: usize, flow: u32, ecn: u32, random: u32) -> (Action, Reason) {
        let jiffies = now / JIFFY;
        let salts = *self.salts.get_or_insert([random, mixed(random, 0x9e37_79b9)]);
        if limit > 0 && self.waiting.len() >= limit {
            return (Action::Drop, Reason::Limit);
        }
        let mut salts = salts;
        if self.rehash > 0 {
            if jiffies > self.rehash_time + self.rehash {
                salts[self.slot] = random;
                self.salts = Some(salts);
                self.slot = 1 - self.slot;
                self.both = false;
                self.rehash_time = jiffies;
            } else if self.warmup > 0
                && jiffies as i64 > (self.rehash_time + self.rehash) as i64 - self.warmup as i64
            {
                self.both = true;
            }
        }
        let slot = self.slot;
        let mut hashes = [None; 2];
        let hash = mixed(flow, salts[slot]);
        hashes[slot] = Some(hash);
        let (fewest, least) = self.see(slot, hash);
        if fewest >= self.max {
            return (Action::Drop, Reason::Threshold);
        }
        let mut marks = false;
        if least == ONE {
            if self.both {
                let other = mixed(flow, salts[1 - slot]);
                hashes[1 - slot] = Some(other);
                self.see(1 - slot, other);
            }
            if self.penalized(jiffies) {
                return (Action::Drop, Reason::Threshold);
            }
        } else if random % 65_536 < least {
            let r = random % 65_536;
            if (least > 32_767 && r < 2 * (least - 32_767)) || ecn == 0 {
                return (Action::Drop, Reason::Early);
            }
            marks = true;
        }
        self.count(hashes, 1);
        self.waiting.push_back(hashes);
        if marks { (Action::Mark, Reason::Early) } else { (Action::Pass, Reason::None) }
    }

    fn leave(&mut self) {
        let hashes = self.waiting.pop_front().expect("one waits");
        self.count(hashes, -1);
    }
}

/// The same verdicts as the second statement's, whatever comes: few flows and many, bursts, pauses, changes of the filter.
#[test]
fn decides_as_linux_does() {
    let mut dice = Dice(11);
    let mut seen = [0u64; 5];
    for case in 0..60 {
        let mut pick = |of: &[u64]| of[dice.roll() as usize % of.len()];
        let (target, max) = (pick(&[1, 5, 20]), pick(&[3, 25, 60]));
        let (up, down) = (pick(&[33, 700, 20_000]), pick(&[0, 3, 300]));
        let (rehash, warmup) = (pick(&[0, 1, 7, 600]), pick(&[0, 1, 3, 60]));
        let (rate, burst) = (pick(&[0, 10, 300]), pick(&[0, 3, 20]));
        let (limit, flows, busy) = (pick(&[0, 30, 200]), pick(&[1, 4, 300]), pick(&[90, 110, 200]));
        let set = [
            ("target", target),
            ("max", max),
            ("increment", up),
            ("decrement", down),
            ("rehash", rehash * SEC),
            ("warmup", warmup * SEC),
            ("penalty_rate", rate),
            ("penalty_burst", burst),
        ]
        .map(|(name, value)| (name, Value::Int(value)));
        let mut ours = Discipline::new(&spec("sfb", &set));
        let mut linux = Linux {
            bins: [[[(0, 0); 16]; 8]; 2],
            salts: None,
            slot: 0,
            both: false,
            rehash_time: 0,
            token_time: 0,
            tokens: burst,
            waiting: VecDeque::new(),
            target: target as u32,
            max: max as u32,
            up: up as u32,
            down: down as u32,
            rehash: rehash * 250,
            warmup: warmup * 250,
            rate,
            burst,
        };
        let mut waiting: VecDeque<Packet> = VecDeque::new();
        let queue = |waiting: &VecDeque<Packet>| Queue {
            packets: waiting.len() as u32,
            bytes: waiting.len() as u64 * 1500,
            limit_packets: limit as u32,
            ..Queue::default()
        };
        let mut now = 0;
        for step in 0..6_000 {
            now += match dice.roll() % 1000 {
                0 => dice.roll() % (9 * SEC),
                _ => dice.roll() % (3 * MS),
            };
            for _ in 0..dice.roll() % 4 {
                if dice.roll() % 200 < busy {
                    let flow = ((dice.roll() % flows) as u32).wrapping_mul(0x9e37_79b9);
                    let ecn = (dice.roll() % 3) as u32;
                    let random = (dice.roll() >> 32) as u32;
                    let packet = Packet {
                        enqueue_ns: now,
                        bytes: 1500,
                        flow,
                        ecn,
                        protocol: TCP,
                        ..Packet::default()
                    };
                    let v = ours.enqueue(now, &queue(&waiting), &packet, random);
                    let theirs = linux.arrive(now, limit as usize, flow, ecn, random);
                    assert_eq!((v.action, v.reason), theirs, "case {case}, step {step}");
                    seen[v.reason as usize] += 1;
                    if v.action != Action::Drop {
                        waiting.push_back(packet);
                    }
                } else if let Some(packet) = waiting.pop_front() {
                    assert_eq!(ours.dequeue(now, &queue(&waiting), &packet).action, Action::Pass);
                    linux.leave();
                }
            }
            // Now and then the link has caught up.
            if dice.roll().is_multiple_of(300) {
                while let Some(packet) = waiting.pop_front() {
                    ours.dequeue(now, &queue(&waiting), &packet);
                    linux.leave();
                }
            }
        }
    }
    assert!(
        [Reason::Limit, Reason::Threshold, Reason::Early].iter().all(|r| seen[*r as usize] > 1000),
        "{seen:?}"
    );
}

fn probability(host: &Host) -> f64 {
    host.discipline.probe(0)
}

/// One flow that keeps 21 packets: with each arrival that finds 20 or more its probability is 33 of 65535 more, and it is 1 after 1,986.
#[test]
fn a_full_bin_makes_certain_in_1986_arrivals() {
    let mut host = Host::new(&spec("sfb", &[("max", Value::Int(65_535))]), 0, 0);
    let mut full = 0;
    for now in (0..3000).map(|n| n * MS) {
        let found = host.queue.packets;
        host.arrive(now, 1500, 0, 2);
        full += u64::from(found >= 20);
        let want = (33 * full).min(65_535) as f64 / 65_535.0;
        assert!((probability(&host) - want).abs() < 1e-9, "{full}: {} {want}", probability(&host));
        if full == 1985 {
            assert!(probability(&host) < 1.0);
        }
        if full == 1986 {
            assert_eq!(probability(&host), 1.0);
            return;
        }
        while host.queue.packets > 21 {
            host.transmit(now, |_| {});
        }
    }
    panic!("never");
}

/// One that does not yield: with a packet every 10 ms the first 20 pass, and two for the 200 ms that took; none later, as each that is refused
/// begins the token anew. With one every 104 ms all pass.
#[test]
fn the_box_lets_pass_who_waits_for_a_token() {
    for (every, pass) in [(10 * MS, 22), (104 * MS, 200)] {
        let set =
            [("increment", Value::Int(65_535)), ("target", Value::Int(1)), ("decrement", Value::Int(0))];
        let mut host = Host::new(&spec("sfb", &set), 0, 0);
        // One waits: the next finds a full bin.
        host.arrive(0, 1500, 0, 2);
        let mut passed = 0;
        for n in 0..200u64 {
            passed += u32::from(host.arrive(n * every, 1500, 0, 2).action != Action::Drop);
            while host.queue.packets > 1 {
                host.transmit(n * every, |_| {});
            }
        }
        assert_eq!(passed, pass, "{every}");
    }
}

/// A flow's probability is the least of its bins': a flood of three times the link loses what is beyond the link, of which others, who share some
/// of its bins, have a fifth and lose nothing.
#[test]
fn others_are_not_held_down() {
    let mut host = Host::new(&spec("sfb", &[]), 1000, 0);
    let mut lost = [0; 12];
    for now in (0..20_000).map(|n| n * MS) {
        for _ in 0..3 {
            lost[0] += u32::from(host.arrive(now, 1500, 0, 2).action == Action::Drop);
        }
        // Eleven others with a packet every 55 ms each.
        if (now / MS).is_multiple_of(5) {
            let flow = 1 + (now / MS / 5 % 11) as u32;
            lost[flow as usize] += u32::from(host.arrive(now, 1500, flow, 0).action == Action::Drop);
        }
        host.transmit(now, |_| {});
    }
    assert!(lost[0] >= 44_000 && lost[1..].iter().all(|n| *n == 0), "{lost:?}");
}

/// A smaller limit throws the oldest away: they no longer count in the bins.
#[test]
fn what_is_thrown_away_counts_no_more() {
    let mut host = Host::new(&spec("sfb", &[("max", Value::Int(30))]), 0, 0);
    for _ in 0..40 {
        host.arrive(0, 1500, 0, 2);
    }
    assert_eq!((host.queue.packets, host.drops[Reason::Threshold as usize]), (30, 10));
    host.limit(MS, 10, 0);
    host.limit(MS, 0, 0);
    for _ in 0..40 {
        host.arrive(2 * MS, 1500, 0, 2);
    }
    assert_eq!((host.queue.packets, host.drops[Reason::Threshold as usize]), (30, 30));
}
