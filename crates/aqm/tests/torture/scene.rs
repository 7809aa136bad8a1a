//! A link, its traffic and its host, anywhere in the ranges that the headers are written for, and what a discipline makes
//! of it. Everything hangs on the scene alone: no clock, no dice but its seed.

use proptest::prelude::*;
use queuewright_aqm::{Action, Discipline, Packet, Pool, Queue, Reason, Spec};
use std::collections::VecDeque;

pub const US: u64 = 1_000;
pub const MS: u64 = 1_000 * US;
pub const SEC: u64 = 1_000 * MS;

/// How packets come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shape {
    /// At equal distances.
    Even,
    /// With exponential gaps.
    Poisson,
    /// So many back to back.
    Bursts(u32),
}

#[derive(Debug, Clone)]
pub struct Scene {
    /// The link's rate, bits a second: 10 kbit/s to 400 Gbit/s.
    pub rate: u64,
    /// It changes to so many sixteenths of that and back, each `period` ns; 16: it does not.
    pub other: u64,
    pub period: u64,
    /// What comes, as a multiple of the rate: 0.05 to 100.
    pub load: f64,
    pub shape: Shape,
    /// Packet sizes, bytes: one of them for each packet.
    pub sizes: (u32, u32),
    /// 1 to 100,000 flows, each as likely as any other.
    pub flows: u32,
    /// Do senders take marks, every second flow as L4S's do? (They are not slower for it here.)
    pub ecn: bool,
    /// Buffer, in packets of the larger size; by bytes or by packets.
    pub buffer: u32,
    pub by_bytes: bool,
    /// The buffer is an even part of one that so many ports share; 1: an own one.
    pub ports: u32,
    /// The host says "idle" when its queue is empty, though the link still sends (as a device that takes packets ahead does).
    pub early: bool,
    /// When the clock began.
    pub origin: u64,
    pub packets: u32,
    pub seed: u64,
}

/// Every magnitude alike.
fn magnitudes(low: f64, high: f64) -> impl Strategy<Value = f64> {
    (0.0..=1.0f64).prop_map(move |x| low * (high / low).powf(x))
}

/// A scene with so many packets.
pub fn scene(packets: u32) -> BoxedStrategy<Scene> {
    let link = (
        magnitudes(1e4, 4e11).prop_map(|r| r as u64),
        prop_oneof![3 => Just(16u64), 1 => 2..=32u64],
        magnitudes(1e7, 1e10).prop_map(|p| p as u64),
    );
    let size = prop_oneof![3 => Just(1514u32), 1 => Just(64u32), 1 => 64..=65_535u32];
    let traffic = (
        magnitudes(0.05, 100.0),
        prop_oneof![Just(Shape::Even), Just(Shape::Poisson), (2..64u32).prop_map(Shape::Bursts)],
        (size.clone(), size),
        magnitudes(1.0, 1e5).prop_map(|f| f as u32),
        any::<bool>(),
    );
    let host = (
        magnitudes(4.0, 10_000.0).prop_map(|b| b as u32),
        any::<bool>(),
        prop_oneof![3 => Just(1u32), 1 => 2..=8u32],
        any::<bool>(),
        prop_oneof![1 => Just(0u64), 1 => 0..1u64 << 50],
        any::<u64>(),
    );
    (link, traffic, host)
        .prop_map(move |((rate, other, period), (load, shape, sizes, flows, ecn), host)| Scene {
            rate,
            other,
            period,
            load,
            shape,
            sizes,
            flows: flows.max(1),
            ecn,
            buffer: host.0,
            by_bytes: host.1 || host.2 > 1,
            ports: host.2,
            early: host.3,
            origin: host.4,
            packets,
            seed: host.5,
        })
        .boxed()
}

impl Scene {
    pub fn largest(&self) -> u32 {
        self.sizes.0.max(self.sizes.1)
    }

    /// The lowest rate that the link has, bits a second.
    pub fn lowest(&self) -> u64 {
        self.rate.min(self.rate * self.other / 16).max(1)
    }

    /// Time for so many bytes at a rate, ns.
    pub fn time(bytes: u64, rate: u64) -> u64 {
        (u128::from(bytes) * 8 * u128::from(SEC) / u128::from(rate.max(1))) as u64
    }
}

/// splitmix64.
#[derive(Clone)]
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Above 0, up to 1.
    fn unit(&mut self) -> f64 {
        ((self.roll() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }
}

/// What happened to a part of the traffic.
#[derive(Debug, Default, Clone)]
pub struct Outcome {
    /// 0 passed, 1 marked, 2 dropped when it came, 3 dropped or marked later: one for each packet, in the order of decisions.
    pub verdicts: Vec<u8>,
    pub offered: u64,
    pub offered_bytes: u64,
    pub dropped: u64,
    /// Of these, because the buffer was full.
    pub full: u64,
    pub marked: u64,
    pub sent: u64,
    pub sent_bytes: u64,
    /// Sent by each of the first flows.
    pub by_flow: Vec<u64>,
    /// When the part began and ended, and how long the link sent in it, ns.
    pub begun: u64,
    pub ended: u64,
    pub busy: u64,
    /// Of packets sent, ns.
    pub waits: u128,
    pub longest: u64,
    /// The most that waited, bytes.
    pub most: u64,
}

impl Outcome {
    pub fn mean_wait(&self) -> u64 {
        (self.waits / u128::from(self.sent.max(1))) as u64
    }

    /// Share of the time in which the link sent.
    pub fn use_of_link(&self) -> f64 {
        self.busy as f64 / (self.ended - self.begun).max(1) as f64
    }
}

/// A host of one discipline and its link (the contract is in `aqm/qw.h`).
pub struct Host {
    pub c: Discipline,
    pub q: Queue,
    queues: Vec<VecDeque<Packet>>,
    pub now: u64,
    /// When the link is done with what it sends.
    free_at: u64,
    told_idle: bool,
    dice: Dice,
    hash: u32,
}

impl Host {
    pub fn new(spec: &Spec, scene: &Scene) -> Self {
        let buffer = u64::from(scene.buffer) * u64::from(scene.largest());
        let mut q = Queue::default();
        if scene.ports > 1 {
            q.pool =
                Pool { limit_bytes: buffer * u64::from(scene.ports), ports: scene.ports, ..Pool::default() };
        } else if scene.by_bytes {
            q.limit_bytes = buffer;
        } else {
            q.limit_packets = scene.buffer;
        }
        let c = Discipline::made_before(spec, 0u64.wrapping_sub(scene.origin));
        let lanes = c.queues().max(1) as usize;
        let mut host = Host {
            c,
            q,
            queues: vec![VecDeque::new(); lanes],
            now: 0,
            free_at: 0,
            told_idle: false,
            dice: Dice(scene.seed),
            hash: 0,
        };
        host.now = scene.origin;
        host.free_at = scene.origin;
        host
    }

    fn scheduler(&self) -> bool {
        self.c.queues() > 0
    }

    fn head_of(&self, queue: usize) -> u64 {
        self.queues[queue].front().map_or(0, |k| k.enqueue_ns)
    }

    fn put(&mut self, k: Packet, queue: usize) {
        self.q.packets += 1;
        self.q.bytes += u64::from(k.bytes);
        self.q.pool.bytes = self.q.bytes;
        self.queues[queue].push_back(k);
    }

    fn off(&mut self, queue: usize, tail: bool) -> Packet {
        let queue = &mut self.queues[queue];
        let k = if tail { queue.pop_back() } else { queue.pop_front() }
            .expect("a queue that is chosen has a packet");
        self.q.packets -= 1;
        self.q.bytes -= u64::from(k.bytes);
        self.q.pool.bytes = self.q.bytes;
        k
    }

    /// A packet comes now.
    pub fn arrive(&mut self, bytes: u32, flow: u32, ecn: u32, out: &mut Outcome) {
        // Hashes of flows that are numbered from 0 are far apart.
        let hash = self.hash.wrapping_add(flow).wrapping_mul(0x9e37_79b9);
        let host = |number: u32| number.wrapping_mul(0x9e37_79b9);
        let k = Packet {
            enqueue_ns: self.now,
            bytes,
            flow: hash,
            ecn,
            protocol: queuewright_aqm::TCP,
            source: host(flow % 3),
            destination: host(flow % 5),
            // Best effort, bulk, voice, video.
            dscp: [0, 8, 46, 34][flow as usize % 4],
            frame_bytes: bytes.min(14) as u16,
            segments: 1,
        };
        let random = (self.dice.roll() >> 32) as u32;
        self.q.head_ns = if self.scheduler() { 0 } else { self.head_of(0) };
        let (v, queue) = self.c.enqueue_to(self.now, &self.q, &k, random);
        out.offered += 1;
        out.offered_bytes += u64::from(bytes);
        out.verdicts.push(v.action as u8);
        if v.action == Action::Drop {
            out.dropped += 1;
            out.full += u64::from(v.reason == Reason::Limit);
        } else {
            out.marked += u64::from(v.action == Action::Mark);
            let ecn = if v.action == Action::Mark { 3 } else { ecn };
            self.put(Packet { ecn, ..k }, queue as usize);
        }
        if !self.scheduler() {
            return;
        }
        let mut times = 0;
        loop {
            self.q.head_ns = 0;
            let Some(e) = self.c.overflow(self.now, &self.q) else { break };
            let gone = self.off(e.queue as usize, e.tail);
            self.q.head_ns = self.head_of(e.queue as usize);
            self.c.evicted(self.now, &self.q, &gone, e.queue);
            out.dropped += 1;
            out.full += 1;
            times += 1;
            assert!(times <= 1 << 20, "it throws packets away without an end");
        }
    }

    /// The link is free: it sends, or finds nothing.
    fn serve(&mut self, scene: &Scene, out: &mut Outcome) {
        while self.q.packets > 0 {
            self.q.head_ns = 0;
            let next = self.scheduler().then(|| self.c.next(self.now, &self.q));
            if next == Some(None) {
                // It keeps to a rate of its own.
                self.free_at = self.c.ready();
                assert!(
                    self.free_at > self.now && self.free_at < u64::MAX,
                    "packets wait, so that one of the queues is to be served"
                );
                return;
            }
            let queue = next.flatten().unwrap_or(0) as usize;
            let k = self.off(queue, false);
            self.q.head_ns = self.head_of(queue);
            let v = self.c.dequeue_from(self.now, &self.q, &k, queue as u32);
            out.verdicts.push(4 + v.action as u8);
            if v.action == Action::Drop {
                out.dropped += 1;
                continue;
            }
            out.marked += u64::from(v.action == Action::Mark);
            let wait = self.now - k.enqueue_ns;
            out.waits += u128::from(wait);
            out.longest = out.longest.max(wait);
            out.sent += 1;
            out.sent_bytes += u64::from(k.bytes);
            let flow = (k.flow.wrapping_mul(0x144c_bc89)).wrapping_sub(self.hash) as usize;
            if flow < out.by_flow.len() {
                out.by_flow[flow] += 1;
            }
            let turn = (self.now - scene.origin) / scene.period.max(1);
            let rate = if turn.is_multiple_of(2) { scene.rate } else { scene.rate * scene.other / 16 };
            let ns = Scene::time(u64::from(k.bytes), rate).max(1);
            self.free_at = self.now + ns;
            out.busy += ns;
            self.told_idle = false;
            if scene.early && self.q.packets == 0 {
                self.c.idle(self.now);
                self.told_idle = true;
            }
            return;
        }
        if !self.told_idle {
            self.c.idle(self.now);
            self.told_idle = true;
        }
    }

    /// The link goes on until `to`.
    pub fn until(&mut self, to: u64, scene: &Scene, out: &mut Outcome) {
        while self.free_at <= to && (self.q.packets > 0 || !self.told_idle) {
            self.now = self.now.max(self.free_at);
            self.serve(scene, out);
        }
        self.now = self.now.max(to);
    }

    /// So many packets come, at `load`.
    pub fn run(&mut self, scene: &Scene, load: f64, shape: Shape, packets: u32) -> Outcome {
        let mut out =
            Outcome { begun: self.now, by_flow: vec![0; scene.flows.min(64) as usize], ..Outcome::default() };
        let mut at = self.now as f64;
        let first = self.now;
        at -= first as f64;
        let mut left = 0;
        for _ in 0..packets {
            let bytes = if self.dice.roll() & 1 == 0 { scene.sizes.0 } else { scene.sizes.1 };
            let flow = (((self.dice.roll() >> 32) * u64::from(scene.flows)) >> 32) as u32;
            let ecn = if scene.ecn { 1 + (flow & 1) } else { 0 };
            // Nothing is sent between packets of a burst.
            self.until(first + at as u64, scene, &mut out);
            self.arrive(bytes, flow, ecn, &mut out);
            out.most = out.most.max(self.q.bytes);
            if self.free_at <= self.now {
                self.serve(scene, &mut out);
            }
            let gap = f64::from(bytes) * 8e9 / (scene.rate as f64 * load);
            match shape {
                Shape::Even => at += gap,
                Shape::Poisson => at -= gap * self.dice.unit().ln(),
                Shape::Bursts(n) => {
                    left += 1;
                    if left == n {
                        at += gap * f64::from(n);
                        left = 0;
                    }
                }
            }
        }
        self.until(first + at as u64, scene, &mut out);
        out.ended = self.now;
        out
    }

    /// What waits is sent, and then nothing comes for so long.
    pub fn silence(&mut self, ns: u64, scene: &Scene) {
        let mut out = Outcome::default();
        while self.q.packets > 0 || self.free_at > self.now || !self.told_idle {
            let to = self.free_at.max(self.now);
            self.until(to, scene, &mut out);
        }
        self.now += ns;
    }

    /// Other flows from now on.
    pub fn other_flows(&mut self) {
        self.hash = self.hash.wrapping_add(1 << 20);
    }

    /// The dice from now on.
    pub fn reseed(&mut self, seed: u64) {
        self.dice = Dice(seed);
    }
}
