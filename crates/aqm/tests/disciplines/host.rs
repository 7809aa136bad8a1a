//! A host of one discipline: the queue, the contract of `aqm/qw.h`, and counts.

use queuewright_aqm::{Action, Discipline, Packet, Queue, REASONS, Reason, Spec, Value, Verdict};
use std::collections::VecDeque;

/// A discipline with some parameters set.
pub fn spec(name: &str, set: &[(&str, Value)]) -> Spec {
    let mut spec = Spec::new(queuewright_aqm::find(name).unwrap());
    for &(param, value) in set {
        spec.set(param, value).unwrap();
    }
    spec
}

/// splitmix64: the tests' own dice.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

pub struct Host {
    pub discipline: Discipline,
    pub queue: Queue,
    /// One for each of a scheduler's queues that was ever used, else one.
    pub waiting: Vec<VecDeque<Packet>>,
    pub offered: u64,
    pub sent: u64,
    pub drops: [u64; REASONS],
    pub marks: [u64; REASONS],
    /// Packets that a scheduler had taken off a queue, until the test takes them.
    pub evicted: Vec<Packet>,
    /// Sum and maximum over the packets sent, ns.
    pub sojourn_sum: u64,
    pub sojourn_max: u64,
    dice: Dice,
    /// Of a flow's packets: source, destination, DSCP.
    pub header: fn(u32) -> (u32, u32, u16),
}

/// A number's hash: those of small numbers are far apart.
pub fn hash(number: u32) -> u32 {
    number.wrapping_mul(0x9e37_79b9)
}

impl Host {
    /// Buffer limits as in [`Queue`]: 0 is none.
    pub fn new(spec: &Spec, limit_packets: u32, limit_bytes: u64) -> Self {
        Host {
            discipline: Discipline::new(spec),
            queue: Queue { limit_packets, limit_bytes, ..Queue::default() },
            waiting: vec![VecDeque::new()],
            offered: 0,
            sent: 0,
            drops: [0; REASONS],
            marks: [0; REASONS],
            evicted: Vec::new(),
            sojourn_sum: 0,
            sojourn_max: 0,
            dice: Dice(7),
            header: |flow| (hash(flow), hash(flow), 0),
        }
    }

    fn count(&mut self, v: Verdict) {
        match v.action {
            Action::Pass => assert_eq!(v.reason, Reason::None),
            Action::Mark => self.marks[v.reason as usize] += 1,
            Action::Drop => self.drops[v.reason as usize] += 1,
        }
        let lost: u64 = self.drops.iter().sum();
        assert_eq!(self.offered, self.sent + lost + u64::from(self.queue.packets));
    }

    pub fn arrive(&mut self, now: u64, bytes: u32, flow: u32, ecn: u32) -> Verdict {
        let (source, destination, dscp) = (self.header)(flow);
        let packet = Packet {
            enqueue_ns: now,
            bytes,
            flow: hash(flow),
            ecn,
            protocol: queuewright_aqm::TCP,
            source,
            destination,
            dscp,
            frame_bytes: 14.min(bytes) as u16,
            ..Packet::default()
        };
        let random = (self.dice.roll() >> 32) as u32;
        let scheduler = self.discipline.queues() > 0;
        self.queue.head_ns = if scheduler { 0 } else { self.head_of(0) };
        let (v, index) = self.discipline.enqueue_to(now, &self.queue, &packet, random);
        self.offered += 1;
        if v.action != Action::Drop {
            assert!(index < self.discipline.queues().max(1));
            let ecn = if v.action == Action::Mark { 3 } else { ecn };
            let index = index as usize;
            if index >= self.waiting.len() {
                self.waiting.resize(index + 1, VecDeque::new());
            }
            self.waiting[index].push_back(Packet { ecn, ..packet });
            self.queue.packets += 1;
            self.queue.bytes += u64::from(bytes);
        }
        self.count(v);
        self.queue.head_ns = 0;
        if scheduler {
            self.evict(now);
        }
        v
    }

    /// Limits as of [`Host::new`] from now on: what is too much goes, of a discipline with one queue from the head.
    pub fn limit(&mut self, now: u64, packets: u32, bytes: u64) {
        (self.queue.limit_packets, self.queue.limit_bytes) = (packets, bytes);
        if self.discipline.queues() > 0 {
            return self.evict(now);
        }
        while (packets > 0 && self.queue.packets > packets) || (bytes > 0 && self.queue.bytes > bytes) {
            let gone = self.waiting[0].pop_front().expect("packets wait");
            self.lost(gone);
        }
    }

    /// What a scheduler says that the buffer has no room for.
    fn evict(&mut self, now: u64) {
        self.queue.head_ns = 0;
        while let Some(out) = self.discipline.overflow(now, &self.queue) {
            let queue = &mut self.waiting[out.queue as usize];
            let gone = if out.tail { queue.pop_back() } else { queue.pop_front() };
            let gone = gone.expect("a queue that is to lose a packet has one");
            self.lost(gone);
            self.queue.head_ns = self.head_of(out.queue);
            self.discipline.evicted(now, &self.queue, &gone, out.queue);
            self.queue.head_ns = 0;
        }
    }

    fn lost(&mut self, gone: Packet) {
        self.queue.packets -= 1;
        self.queue.bytes -= u64::from(gone.bytes);
        self.evicted.push(gone);
        self.count(Verdict { action: Action::Drop, reason: Reason::Limit });
    }

    /// When the head of a queue came, for those that say that they read it.
    fn head_of(&self, index: u32) -> u64 {
        let head = self.waiting[index as usize].front();
        head.filter(|_| self.discipline.info().needs_head).map_or(0, |p| p.enqueue_ns)
    }

    /// Take the next packet to send; none: nothing waits, or nothing is to leave yet. `dropped` is told of those that are not sent.
    pub fn transmit(&mut self, now: u64, mut dropped: impl FnMut(Packet)) -> Option<Packet> {
        let scheduler = self.discipline.queues() > 0;
        while self.queue.packets > 0 {
            self.queue.head_ns = 0;
            let index = match scheduler.then(|| self.discipline.next(now, &self.queue)) {
                None => 0,
                Some(Some(index)) => index,
                Some(None) => {
                    let ready = self.discipline.ready();
                    assert!(ready > now && ready < u64::MAX, "packets wait");
                    return None;
                }
            };
            let queue = &mut self.waiting[index as usize];
            let mut packet = queue.pop_front().expect("a queue that is to be served has a packet");
            self.queue.packets -= 1;
            self.queue.bytes -= u64::from(packet.bytes);
            self.queue.head_ns = self.head_of(index);
            let v = self.discipline.dequeue_from(now, &self.queue, &packet, index);
            if v.action == Action::Drop {
                self.count(v);
                dropped(packet);
                continue;
            }
            if v.action == Action::Mark {
                packet.ecn = 3;
            }
            let sojourn = now - packet.enqueue_ns;
            self.sent += 1;
            self.sojourn_sum += sojourn;
            self.sojourn_max = self.sojourn_max.max(sojourn);
            self.count(v);
            return Some(packet);
        }
        self.discipline.idle(now);
        None
    }
}

/// The flow that [`Host::arrive`] was told of.
pub fn flow_of(packet: &Packet) -> u32 {
    // The inverse of 0x9e3779b9 modulo 2^32.
    packet.flow.wrapping_mul(0x144c_bc89)
}
