//! Flows that come and go: each has a slot among the flows, which the next one takes when it is done with.
//!
//! What is kept for a flow that has gone is a line of its results; slots are as many as there were flows
//! at once, those on their way out included. A slot is free again when nothing in the network can name
//! it: its packets have arrived or were dropped, its last acknowledgement has reached its sender.

use crate::channel::Channel;
use crate::client::Losses;
use crate::datagrams::Datagrams;
use crate::flow::{Endpoints, Flow, is_probe};
use crate::forward_path::ForwardPath;
use crate::measure::FlowSojourn;
use crate::port::{Port, dropped_of, tell_headers};
use crate::random::FlowIdentity;
use crate::wheel::{Event, EventKind, Wheel};
use queuewright_cca::Fault;
use queuewright_results as results;
use queuewright_scenario::Source;
use queuewright_scenario::spec::{RunSpec, Transfer};

/// What an [`EventKind::Traffic`] is about: its `count`.
mod what {
    /// A flow of source `flow` arrives.
    pub const ARRIVAL: u16 = 0;
    /// The last byte of the flow in slot `flow` has arrived, as is known now; of UDP, all was sent.
    pub const DONE: u16 = 1;
    /// The slot `flow` may be free.
    pub const RETIRE: u16 = 2;
    /// A probe asks for a byte on a connection that makes the load: the run's probes `flow`.
    pub const ASK: u16 = 3;
}

/// The sources of a run, and what has come of them.
#[derive(Debug)]
pub struct Traffic {
    sources: Vec<Source>,
    /// The next arrival of each.
    waiting: Vec<Option<Transfer>>,
    /// Flows below this are the run's own, those from it on are slots.
    first: u32,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Flows begun by each source: the next one's number.
    begun: Vec<u32>,
    done: Vec<(u32, results::Transfer)>,
    /// Probes that are over, with their groups: connections opened for a byte.
    opened: Vec<(u32, results::Connection)>,
    /// Of flows that are gone: packets emitted, packets received, and payload delivered by group.
    emitted: u64,
    received: u64,
    delivered: Vec<u64>,
    /// Flows that each group has had.
    flows: Vec<u32>,
    /// By port: from when to when the flows were there that have crossed it and are gone (ns).
    spans: Vec<Vec<(u64, u64)>>,
    /// What the congestion control of one that is gone has left with which it could not go on.
    pub fault: Option<Fault>,
}

#[derive(Debug)]
struct Slot {
    source: u32,
    transfer: Transfer,
    /// What stands for its flow.
    name: u32,
    /// Its last byte has arrived.
    done: bool,
    /// Free for another.
    gone: bool,
}

impl Slot {
    fn record(&self, spec: &RunSpec, flow: &Flow, drops: u64) -> results::Transfer {
        transfer(spec, self.transfer.flow.group, self.transfer.page, flow, drops)
    }
}

impl Traffic {
    /// The sources of a run, none of which has begun.
    pub fn new(spec: &RunSpec) -> Traffic {
        Traffic {
            sources: spec.sources.iter().map(Source::new).collect(),
            waiting: vec![None; spec.sources.len()],
            first: spec.flows.len() as u32,
            slots: Vec::new(),
            free: Vec::new(),
            begun: vec![0; spec.sources.len()],
            done: Vec::new(),
            opened: Vec::new(),
            emitted: 0,
            received: 0,
            delivered: vec![0; spec.groups.len()],
            flows: vec![0; spec.groups.len()],
            spans: vec![Vec::new(); spec.ports.len()],
            fault: None,
        }
    }

    /// Packets emitted and received by flows that are gone.
    pub fn gone(&self) -> (u64, u64) {
        (self.emitted, self.received)
    }

    /// Payload delivered within the window by flows of a group that are gone, and how many flows it has had.
    pub fn of_group(&self, group: usize) -> (u64, u32) {
        (self.delivered[group], self.flows[group])
    }
}

/// What a flow that comes or goes touches.
pub struct Network<'a> {
    /// The run.
    pub spec: &'a RunSpec,
    /// Its ports.
    pub ports: &'a mut [Port],
    /// Flows, the slots after the run's own.
    pub flows: &'a mut Vec<Flow>,
    /// Of each flow.
    pub forward_paths: &'a mut Vec<ForwardPath>,
    /// Of each flow.
    pub waits: &'a mut Vec<FlowSojourn>,
    /// What is to happen.
    pub wheel: &'a mut Wheel,
    /// The links behind the ports, if any of them is not perfect.
    pub channels: &'a [Channel],
    /// Of each group.
    pub datagrams: &'a mut [Option<Datagrams>],
}

impl Network<'_> {
    /// Tells flows of their datagrams that ports have dropped.
    pub fn tell_losses(&mut self) {
        for port in self.ports.iter_mut() {
            for (flow, sent_at, at) in port.lost_datagrams.drain(..) {
                let flow = &mut self.flows[flow as usize];
                if let (Some(group), Some(stream)) = (&self.datagrams[flow.group as usize], &mut flow.stream)
                {
                    stream.lose(sent_at, group.counts(at));
                }
            }
        }
    }
}

impl Traffic {
    /// Of each flow that crosses a port and is no probe: from when to when it is there (ns).
    pub fn spans_at(&self, port: u32, flows: &[Flow], spec: &RunSpec) -> Vec<(u64, u64)> {
        let crosses =
            |f: &Flow| f.path[..f.forward_hops as usize].contains(&port) && !is_probe(spec, f.group);
        let there = flows.iter().zip(0..).filter(|(f, i)| !self.is_free(*i) && crosses(f));
        there.map(|(f, _)| f.there()).chain(self.spans[port as usize].iter().copied()).collect()
    }

    /// Schedules the first flows.
    pub fn begin(&mut self, net: &mut Network<'_>) {
        for (source, spec) in net.spec.sources.iter().enumerate() {
            for transfer in spec.sessions() {
                self.start_at(0, source as u32, transfer, net);
            }
            self.await_arrival(source, net.wheel);
        }
    }

    /// The event that a flow's last byte arrives at `at`, or that a UDP flow sends no more.
    pub fn done_event(at: u64, flow: u32) -> Event {
        event(at, what::DONE, flow)
    }

    /// The event that a probe asks for a byte at `at`, of the run's probes by this number.
    pub fn ask_event(at: u64, probes: u32) -> Event {
        event(at, what::ASK, probes)
    }

    /// Is it that event?
    pub fn asks(event: &Event) -> bool {
        event.count == what::ASK
    }

    /// Probes that are over, with their groups: connections opened for a byte.
    pub fn opened(&self) -> &[(u32, results::Connection)] {
        &self.opened
    }

    /// Works in an event.
    pub fn handle(&mut self, e: &Event, net: &mut Network<'_>) {
        match e.count {
            what::ARRIVAL => {
                let source = e.flow as usize;
                if let Some(transfer) = self.waiting[source].take() {
                    self.start_at(e.at, e.flow, transfer, net);
                }
                self.await_arrival(source, net.wheel);
            }
            what::DONE => {
                let slot = &mut self.slots[(e.flow - self.first) as usize];
                // Told before, or of the flow that had the slot. What is no TCP is told once.
                let flow = &net.flows[e.flow as usize];
                let early = flow.is_finite() && flow.finished_ns.is_none();
                if early || std::mem::replace(&mut slot.done, true) {
                    return;
                }
                let (source, session) = (slot.source, slot.transfer.session);
                // A sender goes on when it has been told. The hosts are asked in time for what that sends.
                let told_ns = flow.finished_ns.unwrap_or(e.at) + flow.reverse.reverse_ns;
                if let Some(next) =
                    session.and_then(|session| self.sources[source as usize].follow(session, told_ns))
                {
                    self.start_at(e.at, source, next, net);
                }
                self.retire(e, net);
            }
            _ => self.retire(e, net),
        }
    }

    fn await_arrival(&mut self, source: usize, wheel: &mut Wheel) {
        self.waiting[source] = self.sources[source].arrive();
        if let Some(transfer) = &self.waiting[source] {
            wheel.push(event(transfer.flow.start_ns, what::ARRIVAL, source as u32));
        }
    }

    /// Gives a flow a slot and schedules its start, now or later.
    fn start_at(&mut self, now: u64, source: u32, transfer: Transfer, net: &mut Network<'_>) {
        let end_ns = net.spec.duration_ns;
        if transfer.flow.start_ns >= end_ns {
            return;
        }
        let begun = &mut self.begun[source as usize];
        let identity = FlowIdentity { source: Some(source), number: *begun };
        *begun += 1;
        let name = identity.hashed();
        self.flows[transfer.flow.group as usize] += 1;
        let flow = Flow::new(identity, &transfer.flow, net.spec);
        let slot = Slot { source, transfer, name, done: false, gone: false };
        let forward = flow.forward(net.channels);
        let index = match self.free.pop() {
            Some(index) => {
                self.slots[(index - self.first) as usize] = slot;
                net.flows[index as usize] = flow;
                net.forward_paths[index as usize] = forward;
                net.waits[index as usize] = FlowSojourn::default();
                index
            }
            None => {
                self.slots.push(slot);
                net.flows.push(flow);
                net.forward_paths.push(forward);
                net.waits.push(FlowSojourn::default());
                (net.flows.len() - 1) as u32
            }
        };
        let (forward_hops, group) = (net.flows[index as usize].forward_hops, net.flows[index as usize].group);
        for port in net.ports.iter_mut() {
            port.flow_begins(index, name, forward_hops, is_probe(net.spec, group));
        }
        tell_headers(net.ports, index, &self.slots[(index - self.first) as usize].transfer.flow);
        let flow = &mut net.flows[index as usize];
        if let Endpoints::Udp { .. } = flow.ends {
            if !flow.schedule_udp(index, flow.start_ns, net.wheel) {
                net.wheel.push(Traffic::done_event(flow.start_ns, index));
            }
            return;
        }
        net.wheel.push(Event::plain(flow.start_ns.max(now), EventKind::Start, index));
    }

    /// Frees the slot of a flow that is done, or looks again later.
    fn retire(&mut self, e: &Event, net: &mut Network<'_>) {
        let index = e.flow;
        net.tell_losses();
        let flow = &net.flows[index as usize];
        let dropped = dropped_of(net.ports, index);
        let waits = &net.waits[index as usize];
        let (acks_sent, acks_came) = flow.acks_under_way();
        let (emitted, received) = (flow.up.emitted + acks_sent, waits.received + acks_came);
        let acks_dropped: u64 = net.ports.iter().map(|p| u64::from(p.acks_dropped_of(index))).sum();
        let gone = dropped + flow.lost + acks_dropped + flow.acks_lost;
        if emitted > received + gone || !flow.is_quiet(&net.forward_paths[index as usize]) {
            // Each look waits as long as the flow has been over: few looks, and soon enough.
            let over_ns = e.at.saturating_sub(flow.finished_ns.unwrap_or(e.at));
            let wait_ns = over_ns.max(flow.reverse.reverse_ns).max(1_000_000);
            return net.wheel.push(event(e.at + wait_ns, what::RETIRE, index));
        }
        self.emitted += emitted;
        self.received += received;
        let slot = &mut self.slots[(index - self.first) as usize];
        slot.gone = true;
        self.fault = self.fault.or(flow.fault());
        self.free.push(index);
        if is_probe(net.spec, flow.group) {
            self.opened.push((flow.group, connection(flow, emitted, gone)));
            return;
        }
        let (from, to) = flow.there();
        for &port in &slot.transfer.flow.path {
            self.spans[port as usize].push((from, to.min(e.at).max(from)));
        }
        self.delivered[slot.transfer.flow.group as usize] += flow.reverse.delivered_bytes;
        match &mut net.datagrams[flow.group as usize] {
            None => self.done.push((slot.name, slot.record(net.spec, flow, dropped))),
            Some(group) => {
                // Before the window has begun nothing was lost within it.
                if e.at >= net.spec.warmup_ns {
                    let in_queues = net.ports.iter().map(|p| p.dropped_in_window(index)).sum::<u64>();
                    group.lost += flow.lost_in_window() + in_queues;
                }
                // It knows by itself what counts: a packet may arrive after the warm-up whose flow was over in it.
                if let Some(stream) = &flow.stream {
                    group.over(stream);
                }
            }
        }
    }

    /// Has the flow at an index gone, with no other in its place?
    pub fn is_free(&self, index: u32) -> bool {
        index >= self.first && self.slots[(index - self.first) as usize].gone
    }

    /// Indices of the flows of a group that have come and not gone.
    pub fn there(&self, group: u32) -> impl Iterator<Item = u32> {
        let slots = self.slots.iter().zip(self.first..);
        slots.filter(move |(s, _)| !s.gone && s.transfer.flow.group == group).map(|(_, i)| i)
    }

    /// Every flow with an end, in the order of their starts, those under way included.
    pub fn transfers(&mut self, spec: &RunSpec, flows: &[Flow], ports: &[Port]) -> Vec<results::Transfer> {
        let drops = |index: u32| dropped_of(ports, index);
        let mut all = std::mem::take(&mut self.done);
        let there = self.slots.iter().zip(self.first..).filter(|(s, i)| {
            let flow = &flows[*i as usize];
            !s.gone && flow.is_finite() && !is_probe(spec, flow.group)
        });
        for (slot, index) in there {
            all.push((slot.name, slot.record(spec, &flows[index as usize], drops(index))));
        }
        for (i, f) in spec.flows.iter().enumerate().filter(|(i, _)| flows[*i].is_finite()) {
            all.push((i as u32, transfer(spec, f.group, None, &flows[i], drops(i as u32))));
        }
        for (i, flow) in flows.iter().enumerate() {
            if let (Some(client), Endpoints::Tcp { sender, .. }) = (&flow.client, &flow.ends) {
                let losses =
                    Losses { drops: drops(i as u32), lost: flow.lost, resent: sender.stats().resent };
                let asked = client.responses(spec.duration_ns, losses);
                all.extend(asked.into_iter().map(|response| (i as u32, response)));
            }
        }
        all.sort_by(|a, b| a.1.start_s.total_cmp(&b.1.start_s).then(a.0.cmp(&b.0)));
        all.into_iter().map(|(_, t)| t).collect()
    }
}

/// A connection that was opened for a byte, and is over.
fn connection(flow: &Flow, packets: u64, lost: u64) -> results::Connection {
    let (syns, data) = flow.sent_again();
    results::Connection {
        asked_s: flow.start_ns as f64 / 1e9,
        connect_ms: flow.connected_ns.saturating_sub(flow.start_ns) as f64 / 1e6,
        answer_ms: flow.acked_ns.saturating_sub(flow.connected_ns) as f64 / 1e6,
        // What is sent again without need is on its way all the same.
        connect_lost: syns > 0 && lost > 0,
        answer_lost: data > 0 && lost > 0,
        packets,
        lost,
    }
}

fn event(at: u64, what: u16, flow: u32) -> Event {
    let mut e = Event::plain(at, EventKind::Traffic, flow);
    e.count = what;
    e
}

fn transfer(spec: &RunSpec, group: u32, page: Option<u32>, flow: &Flow, drops: u64) -> results::Transfer {
    let retransmits = flow.sender_stats().map_or(0, |s| s.resent);
    results::Transfer {
        group,
        page,
        bytes: flow.size_bytes(),
        start_s: flow.start_ns as f64 / 1e9,
        // What arrives after the end has not arrived.
        startup_s: flow.first_ns.filter(|at| *at <= spec.duration_ns).and_then(|_| flow.startup_s()),
        fct_s: flow.finished_ns.filter(|at| *at <= spec.duration_ns).and_then(|_| flow.completion_s()),
        drops,
        lost: flow.lost,
        retransmits,
    }
}
