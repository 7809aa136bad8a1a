//! An output port: a queue (or a scheduler's queues), its discipline, its link.

use crate::calls::{Arrival, Arrivals, Call, Calls, QueueOperation};
use crate::jiffies;
use crate::late::{self, LateMarks};
use crate::link::{Link, OPPORTUNITY_BYTES};
use crate::log::QueueLog;
use crate::measure::PortMeasure;
use crate::packet::{Packet, flag, over_udp};
use crate::queues::{NamedQueue, Queues};
use crate::watch::Watch;
use queuewright_aqm::{Action, Discipline, Packet as PacketView, Pool, Queue, Reason, Spec, TCP, UDP};
use queuewright_results as results;
use queuewright_results::events::QueueAction;
use queuewright_results::quality::loss::Events;
use queuewright_scenario::spec::{Change, FlowSpec, HeaderSpec, PortSpec, Shaper};
use rand_pcg::Pcg32;
use rand_pcg::rand_core::Rng;
use std::collections::BTreeMap;

/// Packets of the flow at an index that these ports have dropped, without its acknowledgements.
pub fn dropped_of(ports: &[Port], index: u32) -> u64 {
    ports.iter().map(|p| u64::from(p.dropped_of(index))).sum()
}

/// Is a packet an acknowledgement on its way back? By how many ports each flow's packets cross before those.
#[inline]
fn returns(forward_hops: &[u32], p: &Packet) -> bool {
    forward_hops.get(p.flow as usize).is_some_and(|hops| u32::from(p.hop) > *hops)
}

/// Tells the ports on a flow's way what its packets say there; its acknowledgements come from the host that they went to. A port that
/// washes leaves no DSCP to those behind it.
pub fn tell_headers(ports: &mut [Port], index: u32, flow: &FlowSpec) {
    if !ports.iter().any(|port| port.reads_headers) {
        return;
    }
    let HeaderSpec { source, destination, dscp } = flow.header;
    for (path, source, destination) in
        [(&flow.path, source, destination), (&flow.reverse_path, destination, source)]
    {
        let mut header = Header { source, destination, dscp: dscp.into() };
        for port in path {
            let Some(port) = ports.get_mut(*port as usize) else { continue };
            port.set_header(index, header);
            if port.discipline.washes() {
                header.dscp = 0;
            }
        }
    }
}

/// A bijection that mixes all bits (MurmurHash3's finaliser): no two flows have the same hash.
#[inline]
fn mix(mut x: u32) -> u32 {
    x = (x ^ x >> 16).wrapping_mul(0x85eb_ca6b);
    x = (x ^ x >> 13).wrapping_mul(0xc2b2_ae35);
    x ^ x >> 16
}

/// Marks the number of a host that only one flow has.
const OWN_HOST: u32 = 1 << 31;

/// What a flow's packets say at a port: numbers of hosts, 0: one of the flow's own; DSCP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Header {
    /// Which host they come from.
    source: u32,
    /// Which host they go to.
    destination: u32,
    /// 0 to 63.
    dscp: u16,
}

/// More packets of one flow than pass by FQ's queues (`QW_FQ_INTERNAL_MOST`).
const FEW: u32 = 10;

/// When a link that stays down for good takes the next packet; apart from `u64::MAX`, an idle link's.
const NEVER: u64 = u64::MAX - 1;

/// What becomes of a packet that comes to a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intake {
    /// It waits in the queue.
    Queue,
    /// It goes on at once: the queue is of what such packets would be.
    Policer,
    /// It waits in the queue, whose buffer the packet on the link fills, too.
    Peeked,
}

/// A discipline's parameters as results have them.
pub fn parameters(discipline: &Spec) -> BTreeMap<String, String> {
    discipline.parameters()
}

/// An output port.
#[derive(Debug)]
pub struct Port {
    /// The packets, of a discipline with one queue.
    ring: Vec<Packet>,
    head: usize,
    /// The packets, of a scheduler.
    queues: Option<Box<Queues>>,
    queue: Queue,
    discipline: Discipline,
    needs_random: bool,
    /// [`Port::look`] is needed.
    looks: bool,
    needs_flow: bool,
    /// It reads of IP headers what few do: hosts, DSCP.
    reads_headers: bool,
    /// By flow, of those whose packets do not say what most do.
    headers: Vec<Header>,
    random: Pcg32,
    /// What makes flow hashes differ between seeds and ports.
    salt: u32,
    link: Link,
    overhead: u32,
    /// Numbers that stand for flows in hashes, and packets dropped, by flow; of runs whose flows come and go,
    /// or whose flows end. A flow that is not there stands for itself.
    numbers: Vec<u32>,
    drops: Vec<u32>,
    /// Acknowledgements dropped, and ports crossed before those on the reverse path, by flow, as `drops`.
    ack_drops: Vec<u32>,
    forward_hops: Vec<u32>,
    /// Is it a probe, whose drops are no part of loss events? By flow.
    probes: Vec<bool>,
    /// The drops when the window began.
    drops_before: Vec<u32>,
    /// Datagrams dropped since they were last asked for: whose, when sent, when dropped (ns).
    pub lost_datagrams: Vec<(u32, u64, u64)>,
    /// Loss events within the window.
    events: Events,
    warmup_ns: u64,
    /// A packet that opportunities have partly sent, and the bytes still to go.
    begun: Option<(Packet, u64)>,
    end_ns: u64,
    /// What becomes of a packet that comes.
    pub intake: Intake,
    /// Bytes of the packet that the link was given last.
    serving_bytes: u16,
    /// Propagation delay (ns).
    pub delay_ns: u64,
    /// When the link can take the next packet; `u64::MAX` while it idles.
    pub service_at: u64,
    /// What is counted of it since the end of the warm-up, and of the whole run (`total`).
    pub measure: PortMeasure,
    /// What its discipline is asked, if that is wanted (`crate::calls`).
    calls: Option<Calls>,
    /// What arrives, if that is wanted.
    arrivals: Option<Arrivals>,
    /// Marks are set on a flow's next packet.
    late_marks: Option<LateMarks>,
    /// What becomes of packets; none: nobody wants to know.
    log: Option<Box<QueueLog>>,
    /// What becomes of each packet, if somebody looks on.
    pub watch: Option<Box<Watch>>,
}

impl Port {
    /// An empty port.
    pub fn new(spec: &PortSpec, overhead: u32, warmup_ns: u64, end_ns: u64, random: Pcg32) -> Port {
        let queues = Queues::of(&spec.discipline, warmup_ns).map(Box::new);
        let salt = random.clone().next_u32();
        let discipline = jiffies::started(&spec.discipline, spec.timers, mix(salt));
        Port {
            ring: vec![Packet::default(); 256],
            head: 0,
            queues,
            queue: Queue {
                limit_bytes: spec.limit_bytes,
                limit_packets: spec.limit_packets,
                ..Queue::default()
            },
            needs_random: discipline.needs_random(),
            looks: discipline.info().needs_head || spec.late_marks,
            needs_flow: discipline.info().needs_flow,
            reads_headers: {
                let info = discipline.info();
                info.needs_hosts || info.needs_dscp || info.needs_frame
            },
            headers: Vec::new(),
            discipline,
            salt,
            random,
            link: Link::of(spec),
            overhead,
            numbers: Vec::new(),
            drops: Vec::new(),
            ack_drops: Vec::new(),
            forward_hops: Vec::new(),
            probes: Vec::new(),
            drops_before: Vec::new(),
            lost_datagrams: Vec::new(),
            events: Events::new(0),
            warmup_ns,
            begun: None,
            end_ns,
            intake: match spec {
                PortSpec { police: true, .. } => Intake::Policer,
                PortSpec { burst_bytes: Some(_), shaper: Shaper::Tbf, .. } => Intake::Peeked,
                _ => Intake::Queue,
            },
            serving_bytes: 0,
            delay_ns: spec.delay_ns,
            service_at: u64::MAX,
            measure: PortMeasure::new(warmup_ns),
            calls: None,
            arrivals: None,
            late_marks: spec.late_marks.then(LateMarks::default),
            log: None,
            watch: None,
        }
    }

    /// The queue as it stands.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// The discipline.
    pub fn discipline(&self) -> &Discipline {
        &self.discipline
    }

    /// The discipline, for who drives it.
    pub fn discipline_mut(&mut self) -> &mut Discipline {
        &mut self.discipline
    }

    /// A parameter of the discipline changes.
    pub fn change(&mut self, change: &Change) {
        let set = self.discipline.set(&change.param, change.value);
        // What cannot be set was refused when the scenario was read.
        debug_assert!(set.is_ok(), "{set:?}");
    }

    /// A scheduler's queues that are measured apart.
    pub fn named_queues(&self) -> &[NamedQueue] {
        self.queues.as_ref().map_or(&[], |q| &q.named)
    }

    /// Closes the books at `end_ns`; `capacity` is what the link can carry after the warm-up (bytes).
    pub fn finish(&mut self, end_ns: u64, capacity: f64, spec: &PortSpec) -> results::Port {
        let (bytes, packets) = (self.queue.bytes, self.queue.packets);
        let all = self.measure.finish(end_ns, bytes, packets, &spec.name);
        let queues = self.queues.iter_mut().flat_map(|q| &mut q.named);
        let queues = queues.map(|q| q.measure.finish(end_ns, q.bytes, q.packets, &q.name)).collect();
        results::Port {
            name: all.name,
            discipline: if spec.own { spec.discipline.label.clone() } else { String::new() },
            parameters: if spec.own { parameters(&spec.discipline) } else { BTreeMap::new() },
            utilization: self.measure.utilization(capacity, spec.burst_bytes.is_some()),
            packets: all.packets,
            sojourn_ms: all.sojourn_ms,
            backlog_packets: all.backlog_packets,
            backlog_bytes: all.backlog_bytes,
            drop_fraction: all.drop_fraction,
            mark_fraction: all.mark_fraction,
            drops: all.drops,
            marks: all.marks,
            lost: None,
            loss_events: None,
            recovery: None,
            phases: Vec::new(),
            queues,
        }
    }

    /// A loss event lasts so long (ns).
    pub fn losses_within(&mut self, round_ns: u64) {
        self.events = Events::new(round_ns);
    }

    /// Loss events within the window.
    pub fn loss_events(&self) -> &Events {
        &self.events
    }

    /// Shows the port the buffer that it shares.
    pub fn share(&mut self, pool: Pool) {
        self.queue.pool = pool;
    }

    /// Counts drops by flow, of flows so far that cross so many ports each before those on the reverse path.
    pub fn count_drops(&mut self, forward_hops: &[u32]) {
        self.forward_hops = forward_hops.to_vec();
        self.drops = vec![0; forward_hops.len()];
        self.ack_drops = vec![0; forward_hops.len()];
    }

    /// What packets of the flow at an index say here.
    fn set_header(&mut self, index: u32, header: Header) {
        let at = index as usize;
        if header == Header::default() && at >= self.headers.len() {
            return;
        }
        if self.headers.len() <= at {
            self.headers.resize(at + 1, Header::default());
        }
        self.headers[at] = header;
    }

    /// The flow at an index is from now on another, with a number that none has had; for `there` see
    /// [`Port::count_drops`].
    pub fn flow_begins(&mut self, index: u32, number: u32, forward_hops: u32, is_probe: bool) {
        let at = index as usize;
        if self.numbers.len() <= at {
            self.numbers.extend(self.numbers.len() as u32..=index);
        }
        self.numbers[at] = number;
        if self.drops.len() <= at {
            self.drops.resize(at + 1, 0);
            self.ack_drops.resize(at + 1, 0);
            self.forward_hops.resize(at + 1, 0);
        }
        if is_probe || at < self.probes.len() {
            self.probes.resize(self.probes.len().max(at + 1), false);
            self.probes[at] = is_probe;
        }
        if let Some(late) = &mut self.late_marks {
            late.forget(index);
        }
        self.events.forget(index);
        self.drops[at] = 0;
        self.ack_drops[at] = 0;
        self.forward_hops[at] = forward_hops;
        if let Some(before) = self.drops_before.get_mut(at) {
            *before = 0;
        }
    }

    /// The window begins.
    pub fn window_begins(&mut self) {
        self.drops_before.clone_from(&self.drops);
    }

    /// Packets of the flow at an index that were dropped here, without its acknowledgements.
    pub fn dropped_of(&self, index: u32) -> u32 {
        self.drops.get(index as usize).copied().unwrap_or(0)
    }

    /// Acknowledgements of the flow at an index that were dropped here.
    pub fn acks_dropped_of(&self, index: u32) -> u32 {
        self.ack_drops.get(index as usize).copied().unwrap_or(0)
    }

    /// As [`Port::dropped_of`], within the window.
    pub fn dropped_in_window(&self, index: u32) -> u64 {
        let before = self.drops_before.get(index as usize).copied().unwrap_or(0);
        u64::from(self.dropped_of(index) - before)
    }

    #[inline]
    fn number(&self, flow: u32) -> u32 {
        self.numbers.get(flow as usize).copied().unwrap_or(flow)
    }

    /// A packet is dropped.
    #[inline]
    fn dropped(&mut self, now: u64, p: &Packet, reason: Reason) {
        self.measure.drop(now, u32::from(p.bytes), reason);
        if let Some(watch) = &mut self.watch {
            watch.lose(now, p, reason);
        }
        let flow = p.flow as usize;
        let returns = returns(&self.forward_hops, p);
        if p.flags & flag::UDP != 0 {
            self.lost_datagrams.push((p.flow, p.number(), now));
        }
        let is_probe = self.probes.get(flow).copied().unwrap_or(false);
        if now >= self.warmup_ns && !returns && !is_probe {
            self.events.drop(now, p.flow);
        }
        let drops = if returns { &mut self.ack_drops } else { &mut self.drops };
        if let Some(n) = drops.get_mut(flow) {
            *n += 1;
        }
        if let Some(log) = &mut self.log {
            log.drops(now, p, returns, &self.queue, reason);
        }
    }

    #[inline(always)]
    fn view(&self, p: &Packet) -> PacketView {
        // The codepoint of each set of flags, looked up: it is needed twice a packet. CE without ECT stands for what a packet said
        // before it was marked in front (`crate::late`). And whether UDP carries it.
        const CARRIED: u8 = 4;
        const SAID: [u8; 256] = {
            const L4S: u8 = flag::ECT | flag::ECT1;
            const IN_FRONT: u8 = flag::CE;
            const L4S_IN_FRONT: u8 = flag::CE | flag::ECT1;
            let mut table = [3; 256];
            let mut flags = 0u8;
            loop {
                match flags & (flag::CE | L4S) {
                    0 => table[flags as usize] = 0,
                    flag::ECT | IN_FRONT => table[flags as usize] = 2,
                    L4S | L4S_IN_FRONT => table[flags as usize] = 1,
                    _ => {}
                }
                if over_udp(flags) {
                    table[flags as usize] |= CARRIED;
                }
                if flags == u8::MAX {
                    break table;
                }
                flags += 1;
            }
        };
        let said = SAID[usize::from(p.flags)];
        let ecn = u32::from(said & 3);
        let protocol = if said & CARRIED == 0 { TCP } else { UDP };
        let flow = if self.needs_flow { mix(self.number(p.flow) ^ self.salt) } else { 0 };
        let view = PacketView {
            enqueue_ns: p.enqueue_ns,
            bytes: u32::from(p.bytes),
            flow,
            ecn,
            protocol,
            ..PacketView::default()
        };
        if self.reads_headers { self.with_header(view, p.flow) } else { view }
    }

    /// What few disciplines read of a packet.
    #[inline(never)]
    fn with_header(&self, view: PacketView, flow: u32) -> PacketView {
        let Header { source, destination, dscp } =
            self.headers.get(flow as usize).copied().unwrap_or_default();
        // A host that nobody else has has the flow's number. Hosts and flows are hashed apart.
        let hash = |host: u32| {
            let number = if host == 0 { OWN_HOST | self.number(flow) } else { host };
            mix(number ^ self.salt.rotate_left(16))
        };
        PacketView {
            source: hash(source),
            destination: hash(destination),
            dscp,
            frame_bytes: self.overhead.min(view.bytes) as u16,
            ..view
        }
    }

    /// A packet is marked: it, or the flow's next one that comes.
    #[inline]
    fn mark(&mut self, now: u64, p: &mut Packet, reason: Reason) {
        self.measure.mark(now, reason);
        if let Some(log) = &mut self.log {
            log.marks(reason);
        }
        if let Some(watch) = &mut self.watch {
            watch.mark(p, reason);
        }
        match &mut self.late_marks {
            None => p.flags |= flag::CE,
            Some(late) => late.ask(now, p.flow),
        }
    }

    /// A packet arrives at `p.enqueue_ns`. If the link is idle, [`Port::serve`] is due at once.
    #[inline(always)]
    pub fn arrive(&mut self, p: Packet) {
        let random = if self.needs_random { self.random.next_u32() } else { 0 };
        self.arrive_with(p, random);
    }

    /// [`Port::arrive`] with the random number that the discipline is given.
    #[inline(always)]
    pub fn arrive_with(&mut self, p: Packet, random: u32) {
        match self.queues {
            None => self.admit::<false, false>(p, random),
            Some(_) => self.admit_to_one(p, random),
        }
    }

    /// A packet arrives at a scheduler's queues.
    #[inline(never)]
    fn admit_to_one(&mut self, p: Packet, random: u32) {
        self.admit::<true, false>(p, random);
    }

    /// [`Port::arrive`] where the packet that waits for credit on the link fills the buffer, too (`qdisc_peek_dequeued` leaves it in the
    /// qdisc's length).
    #[inline(never)]
    pub fn arrive_beside(&mut self, p: Packet) {
        let random = if self.needs_random { self.random.next_u32() } else { 0 };
        match self.queues {
            None => self.admit::<false, true>(p, random),
            Some(_) => self.admit::<true, true>(p, random),
        }
    }

    /// Bytes of the packet on the link that has not left it at `now`.
    fn peeked_bytes(&self, now: u64) -> u16 {
        if self.service_at > now && self.service_at < NEVER { self.serving_bytes } else { 0 }
    }

    /// A packet arrives at a port that polices: the packet as it goes on, if it is let in, which has not waited. To the discipline what of a
    /// packet has not yet left the link is in the queue: that makes a threshold a bucket of tokens (`tcf_police_act`).
    #[inline(never)]
    pub fn police(&mut self, p: Packet) -> Option<Packet> {
        let dropped = self.measure.total.dropped;
        let now = p.enqueue_ns;
        let on_link = match &self.begun {
            Some((_, left)) => *left,
            None => match self.service_at {
                u64::MAX => 0,
                NEVER => u64::from(self.serving_bytes),
                done => self.link.left(now, done).min(u64::from(self.serving_bytes)),
            },
        };
        // Measures are of what waits.
        self.measure.backlog(now, self.queue.bytes, self.queue.packets);
        self.queue.bytes += on_link;
        self.arrive(p);
        self.queue.bytes -= on_link;
        if self.measure.total.dropped != dropped {
            return None;
        }
        let tail = (self.head + self.queue.packets as usize - 1) & (self.ring.len() - 1);
        let mut p = self.ring[tail];
        late::leave(&mut p);
        Some(p)
    }

    /// [`Port::arrive`] for one queue, or for a scheduler's MANY, or BESIDE what is on the link: the code of one pays nothing for the others.
    #[inline(always)]
    fn admit<const MANY: bool, const BESIDE: bool>(&mut self, mut p: Packet, random: u32) {
        let now = p.enqueue_ns;
        self.measure.arrive(now, u32::from(p.bytes));
        let view = self.view(&p);
        if self.looks {
            if let Some(late) = &mut self.late_marks {
                late.come(&mut p);
            }
            if !MANY {
                self.look(now, QueueOperation::Enqueue, random, &view);
            }
            if let Some(watch) = &mut self.watch {
                watch.come(&p, self.queue.packets);
            }
            if let Some(arrivals) = &mut self.arrivals {
                arrivals.add(Arrival { at_ns: now, flow: p.flow, bytes: p.bytes, ecn: view.ecn as u8 });
            }
            self.log_move(now, QueueAction::Enqueue, &p);
        }
        let peeked = if BESIDE { self.peeked_bytes(now) } else { 0 };
        if peeked > 0 {
            // Alone there, it waits for the link no more.
            if self.queue.packets == 0 {
                self.queue.head_ns = now;
            }
            self.more(peeked);
        }
        let (verdict, index) = self.discipline.enqueue_to(now, &self.queue, &view, random);
        if peeked > 0 {
            self.less(peeked);
        }
        match verdict.action {
            Action::Pass => {}
            Action::Mark => {
                self.mark(now, &mut p, verdict.reason);
            }
            Action::Drop => {
                if MANY && let Some(queues) = &mut self.queues {
                    queues.refused(now, index, u32::from(p.bytes), verdict.reason);
                }
                return self.dropped(now, &p, verdict.reason);
            }
        }
        self.measure.backlog(now, self.queue.bytes, self.queue.packets);
        if MANY && let Some(queues) = &mut self.queues {
            queues.push(now, index, p);
            if verdict.action == Action::Mark {
                queues.mark(now, index, verdict.reason);
            }
        } else {
            if self.queue.packets as usize == self.ring.len() {
                self.grow();
            }
            let tail = (self.head + self.queue.packets as usize) & (self.ring.len() - 1);
            self.ring[tail] = p;
        }
        self.more(p.bytes);
        if MANY {
            if peeked > 0 {
                self.more(peeked);
            }
            self.overflow(now);
            if peeked > 0 {
                self.less(peeked);
            }
        }
        if self.service_at == u64::MAX && self.queue.packets > 0 {
            self.service_at = match &mut self.link {
                link @ Link::Trace { .. } => link.opportunity(now),
                _ => now,
            };
        }
    }

    /// A scheduler's choice of what goes when the buffer holds too much.
    fn overflow(&mut self, now: u64) {
        self.queue.head_ns = 0;
        while let Some(out) = self.discipline.overflow(now, &self.queue) {
            let Some(queues) = &mut self.queues else { return };
            // A scheduler that names an empty queue is wrong; its fuzzing rules it out.
            let Some(p) = queues.take(now, out.queue, out.tail) else { return };
            queues.dropped(now, out.queue, u32::from(p.bytes), Reason::Limit);
            let head_ns = queues.head_ns(out.queue);
            self.less(p.bytes);
            self.queue.head_ns = head_ns;
            self.dropped(now, &p, Reason::Limit);
            let view = self.view(&p);
            self.discipline.evicted(now, &self.queue, &view, out.queue);
            self.queue.head_ns = 0;
        }
    }

    /// A packet is in the buffer.
    #[inline]
    fn more(&mut self, bytes: u16) {
        self.queue.packets += 1;
        self.queue.bytes += u64::from(bytes);
        self.queue.pool.bytes += u64::from(bytes);
    }

    /// A packet has left the buffer.
    #[inline]
    fn less(&mut self, bytes: u16) {
        self.queue.packets -= 1;
        self.queue.bytes -= u64::from(bytes);
        // Of a buffer of its own, too: that is one port's share of itself.
        self.queue.pool.bytes -= u64::from(bytes);
    }

    /// What few disciplines ask for and few runs record, before a call.
    #[inline(never)]
    fn look(&mut self, now: u64, operation: QueueOperation, random: u32, view: &PacketView) {
        if self.discipline.info().needs_head {
            self.queue.head_ns = if self.queue.packets == 0 { 0 } else { self.ring[self.head].enqueue_ns };
        }
        if let Some(calls) = &mut self.calls {
            calls.add(Call { now_ns: now, operation, random, queue: self.queue, packet: *view });
        }
    }

    /// A packet is about to join the queue, or to leave it.
    #[inline(never)]
    fn log_move(&mut self, now: u64, what: QueueAction, p: &Packet) {
        if let Some(log) = &mut self.log {
            log.moves(now, what, p, returns(&self.forward_hops, p), &self.queue);
        }
    }

    /// What becomes of packets is wanted from now on, of flows that cross so many ports each before those on the reverse path; `quic`: whose
    /// packets have numbers of QUIC.
    pub fn keep_log(&mut self, forward_hops: &[u32], quic: Vec<bool>) {
        if self.forward_hops.is_empty() {
            self.count_drops(forward_hops);
        }
        self.log = Some(Box::new(QueueLog::new(quic)));
        self.looks = true;
    }

    /// What has become of packets, if that is wanted.
    pub fn queue_log(&mut self) -> Option<&mut QueueLog> {
        self.log.as_deref_mut()
    }

    /// Keeps the first calls of the discipline from now on.
    pub fn record(&mut self, most: usize) {
        self.calls = Some(Calls::new(most));
        self.looks = true;
    }

    /// Keeps the first arrivals from now on.
    pub fn record_arrivals(&mut self, most: usize) {
        self.arrivals = Some(Arrivals::new(most));
        self.looks = true;
    }

    /// Keeps what becomes of each packet that waits, or comes from now on.
    pub fn watch(&mut self) {
        let mut waiting = match &self.queues {
            Some(queues) => queues.waiting(),
            None => {
                let at = |i: u32| self.ring[(self.head + i as usize) & (self.ring.len() - 1)];
                (0..self.queue.packets).map(at).collect()
            }
        };
        waiting.sort_by_key(|p| p.enqueue_ns);
        let mut watch = Watch::default();
        for (p, ahead) in waiting.iter().zip(0..) {
            watch.come(p, ahead);
        }
        self.watch = Some(Box::new(watch));
        self.looks = true;
    }

    /// The arrivals that were kept.
    pub fn recorded_arrivals(&mut self) -> Vec<Arrival> {
        self.arrivals.take().map(Arrivals::into_all).unwrap_or_default()
    }

    /// The queue that a flow's packets join, of a scheduler that hashes.
    pub fn queue_of(&self, flow: u32, spec: &Spec) -> u32 {
        let view = self.view(&Packet { flow, bytes: 1500, ..Packet::default() });
        let mut discipline = Discipline::new(spec);
        // The first few may pass by the queues.
        (0..FEW).fold(0, |_, _| discipline.enqueue_to(0, &self.queue, &view, 0).1)
    }

    /// The calls that were kept.
    pub fn recorded(&mut self) -> Vec<Call> {
        self.calls.take().map(Calls::into_all).unwrap_or_default()
    }

    /// Doubles the ring: a queue allocates only while it is longer than ever before.
    #[cold]
    fn grow(&mut self) {
        self.ring.rotate_left(self.head);
        self.head = 0;
        self.ring.resize(self.ring.len() * 2, Packet::default());
    }

    /// Takes the next packet that the discipline lets through; none: the queue is empty.
    // Always inlined: the packet is then not copied.
    #[inline(always)]
    pub fn dequeue(&mut self, now: u64) -> Option<Packet> {
        match self.queues {
            None => self.release::<false>(now),
            Some(_) => self.release::<true>(now),
        }
    }

    /// [`Port::dequeue`], as [`Port::admit`] is [`Port::arrive`].
    #[inline(always)]
    fn release<const MANY: bool>(&mut self, now: u64) -> Option<Packet> {
        loop {
            if self.queue.packets == 0 {
                self.discipline.idle(now);
                if let Some(calls) = &mut self.calls {
                    calls.add(Call {
                        now_ns: now,
                        operation: QueueOperation::Idle,
                        random: 0,
                        queue: self.queue,
                        packet: PacketView::default(),
                    });
                }
                return None;
            }
            self.measure.backlog(now, self.queue.bytes, self.queue.packets);
            let mut index = 0;
            let mut p = if MANY {
                let (from, p) = self.next(now)?;
                index = from;
                p
            } else {
                let p = self.ring[self.head];
                self.head = (self.head + 1) & (self.ring.len() - 1);
                p
            };
            self.less(p.bytes);
            let view = self.view(&p);
            if self.looks {
                late::leave(&mut p);
                self.log_move(now, QueueAction::Dequeue, &p);
                if let Some(watch) = &mut self.watch {
                    watch.leave(now, &p);
                }
                match &self.queues {
                    Some(queues) => self.queue.head_ns = queues.head_ns(index),
                    None => self.look(now, QueueOperation::Dequeue, 0, &view),
                }
            }
            let verdict = self.discipline.dequeue_from(now, &self.queue, &view, index);
            match verdict.action {
                Action::Pass => {}
                Action::Mark => {
                    self.mark(now, &mut p, verdict.reason);
                    if MANY && let Some(queues) = &mut self.queues {
                        queues.mark(now, index, verdict.reason);
                    }
                }
                Action::Drop => {
                    self.dropped(now, &p, verdict.reason);
                    if MANY && let Some(queues) = &mut self.queues {
                        queues.dropped(now, index, u32::from(p.bytes), verdict.reason);
                    }
                    continue;
                }
            }
            let sojourn_ns = now - p.enqueue_ns;
            self.measure.send(now, sojourn_ns, u32::from(p.bytes));
            if MANY && let Some(queues) = &mut self.queues {
                queues.send(now, index, sojourn_ns, u32::from(p.bytes));
            }
            p.waited_ns += sojourn_ns;
            return Some(p);
        }
    }

    /// The head of the queue that a scheduler wants served.
    fn next(&mut self, now: u64) -> Option<(u32, Packet)> {
        self.queue.head_ns = 0;
        let index = self.discipline.next(now, &self.queue)?;
        let p = self.queues.as_mut()?.take(now, index, false)?;
        Some((index, p))
    }

    /// The link takes a packet of so many bytes at `now`: when may it begin the next? `None`: never.
    pub fn take(&mut self, now: u64, bytes: u32) -> Option<u64> {
        self.link.finish(now, bytes).map(|(_, next)| next)
    }

    /// The earliest time at which a packet of so many bytes may leave, of a link that may begin it at `next` (ns).
    pub fn earliest(&self, next: u64, bytes: u32) -> u64 {
        self.link.earliest(next, bytes)
    }

    /// The link can take packets at `now`: calls `deliver(packet, when it has left the link)` for
    /// each that it takes, and sets when it can take more.
    #[inline]
    pub fn serve(&mut self, now: u64, mut deliver: impl FnMut(Packet, u64)) {
        if self.link.is_trace() {
            return self.serve_opportunity(now, deliver);
        }
        self.service_at = match self.dequeue(now) {
            None if self.queue.packets == 0 => u64::MAX,
            // Its own shaper lets none go yet, and none is on the link.
            None => {
                self.serving_bytes = 0;
                self.discipline.ready()
            }
            Some(p) => {
                self.serving_bytes = p.bytes;
                match self.link.finish(now, u32::from(p.bytes)) {
                    // The link stays down for good: the packet never leaves.
                    None => NEVER,
                    Some((done, next)) => {
                        self.measure.sent_by(done, self.end_ns, u32::from(p.bytes));
                        deliver(p, done);
                        next
                    }
                }
            }
        };
    }

    /// One opportunity takes 1500 bytes of IP packets. What it leaves of a packet, the next one takes first.
    #[inline(never)]
    fn serve_opportunity(&mut self, now: u64, mut deliver: impl FnMut(Packet, u64)) {
        let mut left = OPPORTUNITY_BYTES;
        while left > 0 {
            let (packet, rest) = match self.begun.take() {
                Some(begun) => begun,
                None => {
                    let Some(packet) = self.dequeue(now) else {
                        // Idle: opportunities pass unused until a packet arrives, or may leave.
                        self.service_at = match self.queue.packets {
                            0 => u64::MAX,
                            _ => self.link.opportunity(self.discipline.ready()),
                        };
                        return;
                    };
                    (packet, u64::from(packet.bytes).saturating_sub(u64::from(self.overhead)))
                }
            };
            if rest > left {
                self.begun = Some((packet, rest - left));
                break;
            }
            left -= rest;
            let ip = u32::from(packet.bytes).saturating_sub(self.overhead);
            self.measure.sent_by(now, self.end_ns, ip);
            deliver(packet, now);
        }
        self.service_at = self.link.opportunity(now);
    }

    /// Packets that are here when the run ends: in the queue, or off it but not yet off the link.
    pub fn here(&self) -> u64 {
        if self.intake == Intake::Policer {
            return 0;
        }
        u64::from(self.queue.packets) + u64::from(self.begun.is_some()) + u64::from(self.service_at == NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use queuewright_aqm::Value;
    use queuewright_scenario::spec::{Rate, Schedule, Timers, Trace};

    fn spec(discipline: &str, rate: Rate) -> PortSpec {
        PortSpec {
            name: "alone".into(),
            discipline: Spec::new(queuewright_aqm::find(discipline).expect("it is there")),
            own: false,
            timers: Timers::Exact,
            changes: Vec::new(),
            rate,
            burst_bytes: None,
            shaper: Shaper::Htb,
            police: false,
            late_marks: false,
            delay_ns: 0,
            impairments: Default::default(),
            limit_bytes: 0,
            limit_packets: 0,
            shared: false,
        }
    }

    /// Room for two packets, one each ms, and credit for one: the second waits for credit on the link. With tbf it fills the buffer, so that one
    /// more finds room there, and the fourth none; on a wire the first one is, and two find room behind it.
    #[test]
    fn what_waits_for_credit_fills_the_buffer() {
        const MS: u64 = 1_000_000;
        for (burst_bytes, sent, waits) in
            [(Some(1000), vec![(0, MS), (1, 2 * MS)], 1), (None, vec![(0, 2 * MS)], 2)]
        {
            let rate = Rate::Constant(8_000_000);
            let spec =
                PortSpec { burst_bytes, shaper: Shaper::Tbf, limit_packets: 2, ..spec("droptail", rate) };
            let mut port = Port::new(&spec, 14, 0, u64::MAX, Pcg32::new(1, 1));
            let mut left = Vec::new();
            for seq in 0..4 {
                let p = Packet { enqueue_ns: MS, seq, bytes: 1000, ..Packet::default() };
                match port.intake {
                    Intake::Peeked => port.arrive_beside(p),
                    _ => port.arrive(p),
                }
                while port.service_at <= MS {
                    port.serve(port.service_at, |p, at| left.push((p.seq, at)));
                }
            }
            assert_eq!((left, port.queue().packets, port.measure.total.dropped), (sent, waits, 1));
        }
    }

    /// `crates/linux/bpf/marks.h`: the first packet is marked when it leaves, after 10 ms; the flow's next one that comes then has CE, of
    /// which the discipline is told what it said before.
    #[test]
    fn a_late_mark_is_on_the_flows_next_packet() {
        const MS: u64 = 1_000_000;
        let marked = |late_marks: bool| {
            let mut spec = PortSpec { late_marks, ..spec("codel", Rate::Constant(8_000_000)) };
            for (name, value) in [("ecn", Value::Flag(true)), ("ce_threshold", Value::Int(5_000_000))] {
                spec.discipline.set(name, value).expect("a parameter");
            }
            let mut port = Port::new(&spec, 14, 0, u64::MAX, Pcg32::new(1, 1));
            port.record(100);
            let arrive = |port: &mut Port, at: u64, seq: u32, flow: u32| {
                let (enqueue_ns, flags) = (at * MS, flag::ECT);
                port.arrive(Packet { enqueue_ns, seq, flow, flags, bytes: 1014, ..Packet::default() });
            };
            arrive(&mut port, 0, 0, 7);
            arrive(&mut port, 9, 1, 8);
            let mut left: Vec<_> = (0..2).filter_map(|_| port.dequeue(10 * MS)).collect();
            for (seq, flow) in [(2, 8), (3, 7), (4, 7)] {
                arrive(&mut port, 10, seq, flow);
            }
            left.extend(std::iter::from_fn(|| port.dequeue(11 * MS)));
            assert!(left.len() == 5 && left.iter().all(|p| p.flags & flag::ECT != 0));
            let told = port.recorded();
            assert!(
                told.iter()
                    .filter(|call| call.operation != QueueOperation::Idle)
                    .all(|call| call.packet.ecn == 2)
            );
            left.iter().filter(|p| p.flags & flag::CE != 0).map(|p| p.seq).collect::<Vec<_>>()
        };
        assert_eq!((marked(false), marked(true)), (vec![0], vec![3]));
    }

    /// Does a policer let a packet of so many bytes in at `at`?
    fn passes(port: &mut Port, at: u64, bytes: u16) -> bool {
        while port.service_at <= at {
            let now = port.service_at;
            port.serve(now, |_, _| ());
        }
        port.police(Packet { enqueue_ns: at, bytes, ..Packet::default() }).is_some()
    }

    /// `tcf_police_act`, `tbf_dequeue`: tokens come at the rate up to a bucket full, and a packet that finds fewer than its bytes is dropped. As bytes
    /// times 8e9 they are whole numbers here; the port cuts what takes part of a ns or is part of a byte.
    #[test]
    fn a_threshold_of_bytes_is_a_bucket_of_tokens() {
        const RATE: u64 = 10_000_000;
        let schedule = Schedule { steps: vec![(0, RATE)], period_ns: None };
        for rate in [Rate::Constant(RATE), Rate::Schedule(schedule.into())] {
            for bucket in [3028u64, 6000, 30_280] {
                let spec = PortSpec { police: true, limit_bytes: bucket, ..spec("droptail", rate.clone()) };
                let mut port = Port::new(&spec, 14, 0, u64::MAX, Pcg32::new(1, 1));
                let mut random = Pcg32::new(7, bucket);
                let full = bucket * 8_000_000_000;
                let (mut at, mut last, mut tokens, mut differ, mut passed) = (0u64, 0u64, full, 0, 0);
                for seq in 0..20_000u32 {
                    // Bursts and pauses: 1.2 ms is a packet of 1500 bytes.
                    at += u64::from(random.next_u32() % if seq % 7 == 0 { 4_000_000 } else { 500_000 });
                    let bytes = 64 + random.next_u32() % 1451;
                    tokens = full.min(tokens + (at - last) * RATE);
                    last = at;
                    let takes = u64::from(bytes) * 8_000_000_000;
                    // A byte is what rounding may come to.
                    let sure = tokens.abs_diff(takes) > 8_000_000_000;
                    let conforms = tokens >= takes;
                    let did = passes(&mut port, at, bytes as u16);
                    if did {
                        tokens = tokens.saturating_sub(takes);
                        passed += 1;
                    }
                    differ += u32::from(sure && did != conforms);
                }
                assert_eq!(differ, 0, "{bucket}");
                assert!((5000..19_900).contains(&passed), "{passed}");
            }
        }
    }

    /// Of packets of 1514 bytes that come a us apart, or at once, two pass a bucket of two that is full: also at a rate at which a packet takes no whole ns.
    #[test]
    fn a_bucket_of_two_packets_lets_two_pass() {
        let rates = [3_000_000u64, 7_000_000, 10_000_000, 900_000_000, 30_000_000_000];
        for (rate, apart) in rates.into_iter().flat_map(|rate| [(rate, 0), (rate, 1000)]) {
            let police =
                PortSpec { police: true, limit_bytes: 3028, ..spec("droptail", Rate::Constant(rate)) };
            let mut port = Port::new(&police, 14, 0, u64::MAX, Pcg32::new(1, 1));
            // Until the third comes so many bytes have come back.
            let third = 2 * apart * rate / 8_000_000_000 >= 1514;
            for burst in 0..300u64 {
                let at = burst * 100_000_000;
                let passed = [0, apart, 2 * apart].map(|after| passes(&mut port, at + after, 1514));
                assert_eq!(passed, [true, true, third], "{rate} bit/s, burst {burst}");
            }
        }
    }

    #[test]
    fn a_link_that_is_down_for_good_takes_no_more_than_the_bucket() {
        let schedule = Schedule { steps: vec![(0, 10_000_000), (1_000_000, 0)], period_ns: None };
        let rate = Rate::Schedule(schedule.into());
        let police = PortSpec { police: true, limit_bytes: 3028, ..spec("droptail", rate) };
        let mut port = Port::new(&police, 14, 0, u64::MAX, Pcg32::new(1, 1));
        let passed = [2, 3, 4, 5].map(|ms| passes(&mut port, ms * 1_000_000, 1514));
        assert_eq!(passed, [true, true, false, false]);
    }

    /// 1000-byte packets over opportunities of 1500: two thirds of a packet a time, nothing wasted.
    #[test]
    fn an_opportunity_goes_on_where_the_last_one_stopped() {
        let trace = Trace { opportunities_ns: vec![10, 20, 30, 40], period_ns: 40 };
        let spec = spec("droptail", Rate::Trace(trace.into()));
        let mut port = Port::new(&spec, 14, 0, 1000, Pcg32::new(1, 1));
        for seq in 0..6 {
            port.arrive(Packet { seq, bytes: 1014, ..Packet::default() });
        }
        let mut left = Vec::new();
        while port.service_at < 1000 && port.queue().packets > 0 {
            let now = port.service_at;
            port.serve(now, |p, at| left.push((p.seq, at)));
        }
        assert_eq!(left, [(0, 10), (1, 20), (2, 20), (3, 30), (4, 40), (5, 40)]);
    }
}
