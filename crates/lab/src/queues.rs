//! A discipline of the kernel and ours, packet by packet: what comes to a simulated port is sent through the kernel's own
//! qdisc, and ours is asked the same at the same times, with the same random numbers. Which packet leaves at each turn of the link,
//! and whether it is marked, must be the same. When htb or tbf lets a packet go is held against the simulator's bucket, which is told of each
//! packet when it went.
//!
//! A port that polices is the kernel's policer: which packets it lets pass must be the same.
//!
//! The kernel's clock cannot be told what to say, but it can be watched: the guest's `queue.bpf.c` keeps what the qdisc read of it.

use crate::job::{Job, Lines, addresses, shaper_module, tells_hosts, wire_burst};
use crate::machine::{self, GuestEvent};
use crate::qdisc::{Qdisc, QdiscOrigin, is_ours, qdisc};
use crate::stream::{Event, Seen};
use crate::{Error, Lab};
use queuewright_aqm::{ETHERNET_BYTES, FRAME_BYTES, Value};
use queuewright_scenario::packet::UDP_HEADER_BYTES;
use queuewright_scenario::spec::{PortSpec, Rate, RunSpec, Shaper};
use queuewright_sim::{Arrival, LoneQueue, arrivals};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::atomic::AtomicBool;

/// Packets of a run that are played.
const MOST: usize = 30_000;
/// A packet carries its number behind headers of Ethernet, IP and UDP.
const LEAST_BYTES: u16 = ETHERNET + UDP_HEADER_BYTES as u16 + 4;
const ETHERNET: u16 = ETHERNET_BYTES as u16;
/// The handle of the qdisc under test (`Lines::bottleneck`), as skb->priority has it.
const HANDLE: u32 = 0x10 << 16;
/// A jiffy of the lab's kernel.
const JIFFY_NS: u64 = 4_000_000;
/// Where flows may share a queue that in the kernel do not: so many ways to hash are tried.
const SALTS: u64 = 1000;

/// What a replay showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Played {
    /// Packets that came.
    pub packets: usize,
    /// Packets that left the kernel's qdisc.
    pub left: usize,
    /// Of them marked.
    pub marked: usize,
    /// Packets that it dropped.
    pub dropped: usize,
    /// So many leave ours at the same turn with the same mark; after the first that does not, queues differ.
    pub same: usize,
    /// The first turn at which they part.
    pub parted: Option<QueueMismatch>,
    /// How far the kernel's bucket lets packets go before ours would, and after, at most, ns; of a qdisc below htb, until they part.
    pub early_ns: u64,
    /// The second of them: what its timer is late by, and the kernel's work.
    pub late_ns: u64,
    /// The kernel's version.
    pub kernel: String,
}

/// A turn of the link at which the kernel and ours send different packets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QueueMismatch {
    /// Which turn, from 1.
    pub turn: usize,
    /// When, ns since the first packet.
    pub at_ns: u64,
    /// What the kernel sends.
    pub kernel: Option<Sent>,
    /// What ours sends.
    pub ours: Option<Sent>,
}

/// A packet that leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Sent {
    /// Its number, from 0, in the order in which packets came.
    pub packet: u32,
    /// Number of its flow.
    pub flow: u32,
    /// How long it waited, ns.
    pub waited_ns: u64,
    /// With a mark of the discipline's.
    pub marked: bool,
}

/// Can a run's discipline be played?
///
/// # Errors
/// Why not.
pub fn playable(run: &RunSpec) -> Result<(), String> {
    let port = &run.ports[0];
    match port.rate {
        Rate::Constant(_) => kernels(port).map(|_| ()),
        _ => Err("its rate changes".into()),
    }
}

/// The kernel's own. Its COBALT is within cake, whose buffer counts the memory that packets take: both are played without a limit.
fn kernels(port: &PortSpec) -> Result<Qdisc, String> {
    let spec = &port.discipline;
    if port.police {
        return policer(port);
    }
    if port.shaper == Shaper::Tbf && spec.info.name != "droptail" {
        return Err(
            "when tbf takes a packet from its discipline is not seen; of tbf droptail alone is played".into(),
        );
    }
    match spec.info.name {
        "cobalt" => {}
        "cake" => {
            // A host's turns are divided, and what that leaves over is drawn at each. Of full packets and tins of a quarter of the rate a
            // nanosecond of its shaper's clock decides.
            let divides = ["dual-srchost", "dual-dsthost", "triple-isolate"].map(Value::Choice).map(Some);
            if divides.contains(&spec.get("isolation")) || spec.get("bandwidth") != Some(Value::Int(0)) {
                return Err(
                    "what Linux's cake draws, and its shaper's clock, are not seen: cake unlimited, with \
                            isolation = \"flows\" or \"hosts\""
                        .into(),
                );
            }
            if spec.get("memlimit") != Some(Value::Int(0)) {
                return Err("Linux's cake counts the memory of packets: without memlimit".into());
            }
            // No limit but its own.
            let port = PortSpec { limit_packets: 0, limit_bytes: 0, ..port.clone() };
            return qdisc(&port, QdiscOrigin::Kernel).map_err(|(_, why)| why);
        }
        "dualpi2" => return Err("Linux draws two numbers for a packet, and the header one".into()),
        name if is_ours(name, QdiscOrigin::Kernel) => return Err(format!("Linux has no {name} of its own")),
        _ => return qdisc(port, QdiscOrigin::Kernel).map_err(|(_, why)| why),
    }
    for param in spec.info.params.iter().filter(|p| !["target", "interval"].contains(&p.name)) {
        if spec.get(param.name) != Some(param.default) {
            return Err(format!("in Linux's cake {} is always {}", param.name, param.display(param.default)));
        }
    }
    match (spec.get("target"), spec.get("interval")) {
        (Some(Value::Int(target)), Some(Value::Int(interval)))
            if interval.is_multiple_of(20_000) && interval == 20 * target =>
        {
            let words = format!("cake unlimited besteffort flowblind rtt {}us memlimit 1gb", interval / 1000);
            Ok(Qdisc { module: Some("sch_cake"), words, ..Qdisc::default() })
        }
        _ => Err("in Linux's cake the interval is 20 targets of whole microseconds".into()),
    }
}

/// The action of a filter at a qdisc that lets through what comes.
fn policer(port: &PortSpec) -> Result<Qdisc, String> {
    match (port.discipline.info.name, port.limit_bytes, &port.rate) {
        ("droptail", 1.., Rate::Constant(bps)) if port.limit_packets == 0 => {
            let words =
                format!("police rate {bps}bit burst {}b mtu 64kb conform-exceed drop/ok", port.limit_bytes);
            Ok(Qdisc { module: Some("act_police"), words, root: true, ..Qdisc::default() })
        }
        _ => {
            Err("Linux's policer has a bucket of bytes and no discipline: droptail with a buffer in bytes"
                .into())
        }
    }
}

/// What is played for a run.
#[derive(Debug)]
pub(crate) struct Play {
    run: RunSpec,
    arrivals: Vec<Arrival>,
}

impl Play {
    pub fn new(run: &RunSpec, stop: &AtomicBool) -> Result<Play, Error> {
        let kept = arrivals(run, MOST, stop).map_err(|e| match e {
            queuewright_sim::Error::Stopped => Error::Stopped,
            e => Error::Machine(e.to_string()),
        })?;
        let first = kept.first().map_or(0, |a| a.at_ns);
        // What the guest sends is what the queue sees.
        let sent = |a: Arrival| Arrival { at_ns: a.at_ns - first, bytes: a.bytes.max(LEAST_BYTES), ..a };
        let mut play = Play { run: run.clone(), arrivals: kept.into_iter().map(sent).collect() };
        if let Some(port) = play.run.ports.first_mut() {
            if ["cobalt", "cake"].contains(&port.discipline.info.name) {
                (port.limit_packets, port.limit_bytes) = (0, 0);
            }
            // A policer's bucket is its threshold, and its link a wire.
            if let (Rate::Constant(bps), false) = (&port.rate, port.police) {
                port.burst_bytes.get_or_insert(wire_burst(*bps));
            }
        }
        play.part_flows();
        Ok(play)
    }

    /// The kernel's fq knows a flow by its socket, ours by a hash: one in which no two share a queue.
    fn part_flows(&mut self) {
        if self.run.ports[0].discipline.info.name != "fq" {
            return;
        }
        let flows: BTreeSet<u32> = self.arrivals.iter().map(|a| a.flow).collect();
        for seed in 1..SALTS {
            self.run.seed = seed;
            let queues: Option<BTreeSet<u32>> =
                self.queue().map(|q| flows.iter().map(|f| q.queue_of(*f)).collect());
            if queues.is_none_or(|q| q.len() == flows.len()) {
                return;
            }
        }
    }

    /// Packets that are sent.
    pub fn packets(&self) -> usize {
        self.arrivals.len()
    }

    /// What a flow's packets say of service, and addresses of its hosts; 0: it is no matter.
    fn header(&self, flow: u32) -> (u8, [u8; 4], [u8; 4]) {
        match self.run.flows.get(flow as usize) {
            Some(f) if tells_hosts(&self.run) => {
                let (from, to) = addresses(flow as usize, f);
                let octets = |text: String| text.parse().map_or([0; 4], |a: Ipv4Addr| a.octets());
                (f.header.dscp, octets(from), octets(to))
            }
            _ => (0, [0; 4], [0; 4]),
        }
    }

    fn queue(&self) -> Option<LoneQueue> {
        LoneQueue::new(&self.run)
    }

    /// As `guest/play.c` reads it.
    pub fn list(&self) -> Vec<u8> {
        let hashes = matches!(self.run.ports[0].discipline.info.name, "fq-codel" | "sfq" | "fq-pie");
        let queue = self.queue().filter(|_| hashes);
        let mut classes: BTreeMap<u32, u32> = BTreeMap::new();
        let mut out = Vec::with_capacity(32 * self.arrivals.len());
        for a in &self.arrivals {
            let class = *classes
                .entry(a.flow)
                .or_insert_with(|| queue.as_ref().map_or(0, |q| HANDLE + q.queue_of(a.flow) + 1));
            out.extend(a.at_ns.to_le_bytes());
            out.extend(a.flow.to_le_bytes());
            out.extend(class.to_le_bytes());
            out.extend((a.bytes - ETHERNET).to_le_bytes());
            let (dscp, source, destination) = self.header(a.flow);
            out.extend([a.ecn, dscp]);
            out.extend(source);
            out.extend(destination);
            out.extend([0; 4]);
        }
        out
    }

    fn lay(&self, job: &mut Job, out: &mut Lines, number: usize) -> Result<(), String> {
        let port = &self.run.ports[0];
        let Rate::Constant(bps) = port.rate else { return Err("its rate changes".into()) };
        let qdisc = kernels(port)?;
        job.need(qdisc.module);
        let list = format!("list{number}");
        out.add(format!("run {number}"));
        out.sink();
        if port.police {
            job.need(Some("sch_prio"));
            job.need(Some("cls_matchall"));
            out.add("in r tc qdisc add dev rs root handle 10: prio");
            let words = format!("protocol all matchall classid 10:1 action {}", qdisc.words);
            out.add(format!("in r tc filter add dev rs parent 10: {words}"));
        } else {
            job.need(shaper_module(port.shaper));
            out.bottleneck(&qdisc, port.shaper, bps, port.burst_bytes.unwrap_or(0));
        }
        // All that can wait has gone by then.
        let room = match (port.limit_packets, port.limit_bytes) {
            (0, 0) => self.arrivals.iter().map(|a| u64::from(a.bytes)).sum(),
            (0, bytes) => bytes,
            (packets, _) => u64::from(packets) * FRAME_BYTES,
        };
        let drain = 100_000_000 + room * 8 * 1_000_000_000 / bps;
        out.add(format!("play r /{list} {drain}"));
        out.add("end");
        job.files.insert(list, self.list());
        Ok(())
    }

    /// The same calls made of ours.
    fn compare(&self, kernel: &str, events: &[Event]) -> Result<Played, String> {
        let zero = match self.run.ports[0].discipline.info.name {
            "fq" | "sfb" => begin_of_jiffies(events),
            // The filter began long before the first packet: a clock that has run for as long as the kernel's.
            "hhf" => begin_of_jiffies(events) % (2 * JIFFY_NS),
            // CoDel goes by ticks of the clock.
            _ => events.first().map_or(0, |e| e.at_ns >> 20 << 20),
        };
        let mut queue = self.queue().ok_or("the run has no port")?.with_timer();
        let mut played = Played {
            packets: 0,
            left: 0,
            marked: 0,
            dropped: 0,
            same: 0,
            parted: None,
            early_ns: 0,
            late_ns: 0,
            kernel: kernel.into(),
        };
        let shaped = kernels(&self.run.ports[0]).is_ok_and(|q| !q.root);
        let mut waits_from = 0;
        let mut calls = events.iter().map(|e| Event { at_ns: e.at_ns.saturating_sub(zero), ..*e }).peekable();
        let mut came: Vec<u64> = vec![0; self.arrivals.len()];
        let mut last_ns = 0;
        // Of a policer: what it lets pass.
        let polices = self.run.ports[0].police;
        let mut passed: BTreeSet<u32> = BTreeSet::new();
        while let Some(event) = calls.next() {
            // What is freed is told with the clock as it was read before.
            last_ns = last_ns.max(event.at_ns);
            let packet = || {
                let a = self.arrivals.get(event.number as usize);
                a.ok_or_else(|| format!("packet {} was never sent", event.number))
            };
            match event.seen {
                Seen::Arrives { .. } => {
                    let packet = Arrival { at_ns: event.at_ns, ..*packet()? };
                    came[event.number as usize] = event.at_ns;
                    played.packets += 1;
                    // If the qdisc draws numbers for it, they are what is drawn next.
                    let mut random = None;
                    while let Some(Event { seen: Seen::Draws(number), .. }) =
                        calls.next_if(|next| matches!(next.seen, Seen::Draws(_)))
                    {
                        match random {
                            None => random = Some(number),
                            Some(_) => queue.tell(number),
                        }
                    }
                    let random = random.unwrap_or(0);
                    // What CHOKe has taken out of the middle still waits in ours.
                    if queue.packets() == 0 || played.packets - 1 == played.left + played.dropped {
                        waits_from = event.at_ns;
                    }
                    if !polices {
                        queue.arrive(event.number, &packet, random);
                    } else if queue.police(&packet) {
                        passed.insert(event.number);
                    }
                }
                Seen::Leaves { ecn } => {
                    let packet = packet()?;
                    let of_kernel = Sent {
                        packet: event.number,
                        flow: packet.flow,
                        waited_ns: event.at_ns.saturating_sub(came[event.number as usize]),
                        marked: ecn == 3 && packet.ecn != 3,
                    };
                    played.left += 1;
                    played.marked += usize::from(of_kernel.marked);
                    if played.parted.is_some() {
                        continue;
                    }
                    if shaped && played.left > 1 {
                        let turn = queue.turn_ns(packet.bytes);
                        played.early_ns = played.early_ns.max(turn.saturating_sub(event.at_ns));
                        played.late_ns = played.late_ns.max(event.at_ns.saturating_sub(turn.max(waits_from)));
                    }
                    let ours = match polices {
                        true => passed.remove(&event.number).then_some(of_kernel),
                        false => self.depart(&mut queue, event.at_ns, &came),
                    };
                    if ours == Some(of_kernel) {
                        played.same += 1;
                    } else {
                        let (turn, at_ns) = (played.left, event.at_ns);
                        played.parted = Some(QueueMismatch { turn, at_ns, kernel: Some(of_kernel), ours });
                    }
                }
                Seen::Dropped => {
                    played.dropped += 1;
                    if passed.contains(&event.number) && played.parted.is_none() {
                        let packet = event.number;
                        let flow = self.arrivals[packet as usize].flow;
                        let ours = Some(Sent { packet, flow, waited_ns: 0, marked: false });
                        let (turn, at_ns) = (played.left + 1, event.at_ns);
                        played.parted = Some(QueueMismatch { turn, at_ns, kernel: None, ours });
                    }
                }
                Seen::Ticks => queue.tick(event.at_ns),
                Seen::Admitted | Seen::Draws(_) => {}
            }
        }
        if played.packets != self.arrivals.len() || played.left + played.dropped != played.packets {
            return Err(format!(
                "of {} packets {} came to the qdisc, {} left it and {} were dropped",
                self.arrivals.len(),
                played.packets,
                played.left,
                played.dropped
            ));
        }
        // What a policer counts does not wait; and what waits need not leave.
        if played.parted.is_none()
            && !polices
            && let Some(ours) = self.depart(&mut queue, last_ns, &came)
        {
            let (turn, ours) = (played.left + 1, Some(ours));
            played.parted = Some(QueueMismatch { turn, at_ns: last_ns, kernel: None, ours });
        }
        Ok(played)
    }

    fn depart(&self, queue: &mut LoneQueue, at_ns: u64, came: &[u64]) -> Option<Sent> {
        let (packet, marked) = queue.depart(at_ns)?;
        let of = self.arrivals.get(packet as usize)?;
        let came = came.get(packet as usize).copied().unwrap_or(0);
        Some(Sent {
            packet,
            flow: of.flow,
            waited_ns: at_ns.saturating_sub(came),
            marked: marked && of.ecn != 3,
        })
    }
}

/// A time before all events at which an odd jiffy of the kernel's ended: what goes by jiffies goes by those of the kernel, whose clock
/// shows something else then than a multiple of 4 ms.
fn begin_of_jiffies(events: &[Event]) -> u64 {
    let mut first: Option<(u64, u16)> = None;
    let mut begin = u64::MAX;
    for e in events {
        let Seen::Arrives { jiffies } = e.seen else { continue };
        let (at, jiffies0) = *first.get_or_insert((e.at_ns, jiffies));
        // 16 bits of them last for 262 s; runs are shorter.
        let since = u64::from(jiffies.wrapping_sub(jiffies0)) * JIFFY_NS;
        begin = begin.min(e.at_ns.max(at).saturating_sub(since));
    }
    // An even one begins there.
    match first {
        Some((_, jiffies)) => begin.saturating_sub(u64::from(jiffies & 1) * JIFFY_NS),
        None => 0,
    }
}

impl Lab {
    /// Plays these runs' arrivals into the kernel's disciplines, in one machine. `hear` is told of each, by its place.
    pub fn play(
        &self,
        runs: &[RunSpec],
        stop: &AtomicBool,
        mut hear: impl FnMut(usize, Result<Played, Error>),
    ) -> Result<(), Error> {
        let mut job = Job::empty(vec!["dummy", "sch_htb"]);
        let mut body = Lines::default();
        let mut plays = Vec::new();
        for (i, run) in runs.iter().enumerate() {
            let play = Play::new(run, stop)?;
            play.lay(&mut job, &mut body, i).map_err(Error::Machine)?;
            plays.push(play);
        }
        job.text = Job::watched() + &body.0;
        let mut open: BTreeSet<usize> = (0..runs.len()).collect();
        machine::work(self, &job, 1, stop, |i, heard| {
            let done = match heard {
                GuestEvent::At(_) => return,
                GuestEvent::Failed(why) => Err(Error::Machine(why)),
                GuestEvent::Measured(raw) => {
                    plays[i].compare(&raw.kernel, &raw.events).map_err(Error::Machine)
                }
            };
            if open.remove(&i) {
                hear(i, done);
            }
        })?;
        for i in open {
            hear(i, Err(Error::Machine("the machine ended before the run was complete".into())));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use queuewright_scenario::Scenario;

    fn play(discipline: &str, buffer: &str) -> Play {
        let text = format!(
            "[link]\nrate = \"10mbit\"\nbuffer = \"{buffer}\"\n[[flows]]\ncount = 2\ncca = \"cubic\"\nrtt = \"20ms\"\n\
             [queue]\ndisciplines = [{{ name = \"{discipline}\" }}]\n[run]\nduration = \"1s\"\nseeds = [1]\n"
        );
        let runs = Scenario::parse(&text, "t.toml", "".as_ref()).and_then(|s| s.runs());
        let run = runs.unwrap_or_else(|e| panic!("{e}")).remove(0);
        Play::new(&run, &AtomicBool::new(false)).unwrap_or_else(|e| panic!("{e}"))
    }

    fn event(at_us: u64, number: u32, seen: Seen) -> Event {
        Event { at_ns: at_us * 1000, number, seen }
    }

    const COMES: Seen = Seen::Arrives { jiffies: 0 };
    const LEAVES: Seen = Seen::Leaves { ecn: 0 };

    /// Three packets, two of which fit.
    #[test]
    fn what_leaves_otherwise_is_seen_where_it_does() {
        let mut play = play("droptail", "2p");
        play.arrivals.truncate(3);
        let came = [event(1000, 0, COMES), event(1001, 1, COMES), event(1002, 2, COMES)];
        let with = |rest: &[Event]| play.compare("7.2", &[&came, rest].concat());
        let same = with(&[event(2000, 0, LEAVES), event(3000, 1, LEAVES), event(3001, 2, Seen::Dropped)]);
        let same = same.unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((same.packets, same.left, same.dropped, same.same), (3, 2, 1, 2));
        assert_eq!(same.parted, None);

        // The kernel drops the first.
        let other = with(&[event(2000, 1, LEAVES), event(3000, 2, LEAVES), event(3001, 0, Seen::Dropped)]);
        let parted = other.unwrap_or_else(|e| panic!("{e}")).parted.expect("it is another");
        assert_eq!(
            (parted.turn, parted.kernel.map(|s| s.packet), parted.ours.map(|s| s.packet)),
            (1, Some(1), Some(0))
        );

        // It marks one.
        let marks = with(&[
            event(2000, 0, Seen::Leaves { ecn: 3 }),
            event(3000, 1, LEAVES),
            event(3001, 2, Seen::Dropped),
        ]);
        assert_eq!(marks.unwrap_or_else(|e| panic!("{e}")).parted.map(|p| p.turn), Some(1));

        // It keeps one for ever.
        assert!(with(&[event(2000, 0, LEAVES), event(3001, 2, Seen::Dropped)]).is_err());
    }

    /// A bucket of 300 bytes at 10 Mbit/s: a packet of 1,514 leaves it 1,214 bytes below nothing, and the next may go 971.2 us later.
    #[test]
    fn a_bucket_that_opens_too_early_or_late_is_seen() {
        let mut play = play("droptail", "9p");
        play.arrivals.truncate(2);
        play.arrivals.iter_mut().for_each(|a| a.bytes = FRAME_BYTES as _);
        let with = |second: u64| {
            let events = [
                event(1_000, 0, COMES),
                event(1_000, 1, COMES),
                event(1_000, 0, LEAVES),
                event(second, 1, LEAVES),
            ];
            let p = play.compare("7.2", &events).unwrap_or_else(|e| panic!("{e}"));
            (p.early_ns, p.late_ns, p.parted)
        };
        assert_eq!(with(1_971), (200, 0, None));
        assert_eq!(with(1_972), (0, 800, None));
    }

    #[test]
    fn a_list_has_a_line_a_packet_and_names_the_queue_to_join() {
        let hashed = play("sfq", "100p");
        let list = hashed.list();
        assert_eq!(list.len(), 32 * hashed.arrivals.len());
        let word = |i: usize| u32::from_le_bytes(list[i..i + 4].try_into().expect("four bytes"));
        for (i, a) in hashed.arrivals.iter().enumerate() {
            assert_eq!((word(32 * i + 8), word(32 * i + 12) >> 16), (a.flow, 0x10));
        }
        let plain = play("droptail", "100p").list();
        assert_eq!(plain[12..16], [0; 4]);
    }

    #[test]
    fn jiffies_are_the_kernels() {
        // 4 ms each; the ninth began at 11 ms or before, as it was 9 at 11 ms already, and the tenth at 15.
        let events = [
            event(11_000, 0, Seen::Arrives { jiffies: 9 }),
            event(16_000, 1, Seen::Arrives { jiffies: 10 }),
            event(24_500, 2, Seen::Arrives { jiffies: 12 }),
        ];
        // An even one before that.
        assert_eq!(begin_of_jiffies(&events), 7_000_000);
        assert_eq!(begin_of_jiffies(&[]), 0);
    }
}
