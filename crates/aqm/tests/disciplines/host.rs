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
    pub waiting: VecDeque<Packet>,
    pub offered: u64,
    pub sent: u64,
    pub drops: [u64; REASONS],
    pub marks: [u64; REASONS],
    /// Sum and maximum over the packets sent, ns.
    pub sojourn_sum: u64,
    pub sojourn_max: u64,
    dice: Dice,
}

impl Host {
    /// Buffer limits as in [`Queue`]: 0 is none.
    pub fn new(spec: &Spec, limit_packets: u32, limit_bytes: u64) -> Self {
        Host {
            discipline: Discipline::new(spec),
            queue: Queue { limit_packets, limit_bytes, ..Queue::default() },
            waiting: VecDeque::new(),
            offered: 0,
            sent: 0,
            drops: [0; REASONS],
            marks: [0; REASONS],
            sojourn_sum: 0,
            sojourn_max: 0,
            dice: Dice(7),
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
        let packet = Packet { enqueue_ns: now, bytes, flow, ecn };
        let random = (self.dice.roll() >> 32) as u32;
        let v = self.discipline.enqueue(now, &self.queue, &packet, random);
        self.offered += 1;
        if v.action != Action::Drop {
            let ecn = if v.action == Action::Mark { 3 } else { ecn };
            self.waiting.push_back(Packet { ecn, ..packet });
            self.queue.packets += 1;
            self.queue.bytes += u64::from(bytes);
        }
        self.count(v);
        v
    }

    /// Take the next packet to send. `dropped` is told of those that are not.
    pub fn transmit(&mut self, now: u64, mut dropped: impl FnMut(Packet)) -> Option<Packet> {
        while let Some(mut packet) = self.waiting.pop_front() {
            self.queue.packets -= 1;
            self.queue.bytes -= u64::from(packet.bytes);
            let v = self.discipline.dequeue(now, &self.queue, &packet);
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
