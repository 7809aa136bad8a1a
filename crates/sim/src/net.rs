//! Between the ports: where a packet goes that leaves one, and when a flow's hosts get to work.

use crate::channel::Channel;
use crate::datagrams::Datagrams;
use crate::flow::Flow;
use crate::forward_path::ForwardPath;
use crate::hosts::Scratch;
use crate::measure::FlowSojourn;
use crate::packet::{Packet, flag};
use crate::traffic::Traffic;
use crate::wheel::{Event, EventKind, Wheel};
use queuewright_scenario::spec::RunSpec;

/// Everything but the ports: what a packet leaving a port touches.
#[derive(Debug)]
pub struct Net {
    /// What is to happen.
    pub wheel: Wheel,
    /// The flows, those that come and go last.
    pub flows: Vec<Flow>,
    /// Of each flow.
    pub forward_paths: Vec<ForwardPath>,
    /// Of each flow.
    pub waits: Vec<FlowSojourn>,
    /// Room for the hosts at work.
    pub bench: Scratch,
    /// The links behind the ports, if any of them is not perfect.
    pub channels: Vec<Channel>,
    /// Of each group; none: TCP.
    pub datagrams: Vec<Option<Datagrams>>,
    /// Flows from this on come and go.
    pub first_slot: u32,
}

impl Net {
    /// A packet has left a port and is at the far end of its link at `at`: the next port, or its receiver.
    #[inline(always)]
    pub fn forward(&mut self, packet: Packet, at: u64) {
        let forward = &mut self.forward_paths[packet.flow as usize];
        // The longest way has as many ports as LONG says.
        if packet.hop + 1 < forward.hops || forward.hops == ForwardPath::LONG {
            if forward.hops == ForwardPath::LONG {
                return self.cross(packet, at);
            }
            return self.wheel.push(onward(&packet, at));
        }
        self.receive(packet, at);
    }

    /// A packet has left a port of a way on which some link may lose it, or delay it more than others.
    #[inline(never)]
    fn cross(&mut self, packet: Packet, at: u64) {
        let flow = &mut self.flows[packet.flow as usize];
        let hop = usize::from(packet.hop);
        let returns = hop > flow.forward_hops as usize;
        let left_at = at;
        let (mut at, mut overtakes) = (Some(at), false);
        if let Some(channel) = self.channels.get_mut(flow.path[hop] as usize) {
            at = at.and_then(|at| channel.carry(at));
            overtakes = channel.overtakes();
        }
        let Some(at) = at else {
            *if returns { &mut flow.acks_lost } else { &mut flow.lost } += 1;
            if packet.flags & flag::UDP != 0 {
                self.lose_datagram(packet.flow, packet.number(), left_at);
            }
            return;
        };
        // What may be overtaken is not at its receiver before its time.
        if hop + 1 != flow.forward_hops as usize || overtakes {
            return self.wheel.push(onward(&packet, at));
        }
        self.receive(packet, at);
    }

    /// A packet that may have been overtaken is at its receiver, or what has come back over ports at its sender.
    pub fn land(&mut self, event: Event) {
        let flow = &mut self.flows[event.flow as usize];
        if event.hop() > flow.forward_hops {
            flow.returned(event.seq, event.at);
            return self.set_deadline(event.flow);
        }
        let packet = Packet {
            waited_ns: event.waited_ns(),
            flow: event.flow,
            seq: event.seq,
            ts: event.ts,
            flags: event.flags,
            ..Packet::default()
        };
        self.receive(packet, event.at);
    }

    /// A packet arrives at its receiver at `at`.
    #[inline(always)]
    fn receive(&mut self, packet: Packet, at: u64) {
        self.waits[packet.flow as usize].receive(packet.waited_ns);
        if packet.flags & flag::UDP != 0 {
            return self.receive_datagram(packet, at);
        }
        let forward = &mut self.forward_paths[packet.flow as usize];
        // Behind another it can wait: the deadline is that one's.
        if forward.deliver(at, &packet) && at + forward.loop_ns < forward.wake_at {
            forward.wake_at = at + forward.loop_ns;
            self.wheel.push(Event::plain(forward.wake_at, EventKind::Wake, packet.flow));
        }
    }

    /// The same of a UDP flow's.
    #[inline(never)]
    fn receive_datagram(&mut self, packet: Packet, at: u64) {
        let flow = &mut self.flows[packet.flow as usize];
        if let Some(group) = &mut self.datagrams[flow.group as usize] {
            let sent_at = packet.number();
            group.arrive(at, sent_at);
            if let Some(stream) = &mut flow.stream {
                stream.arrive(sent_at, at, group.counts(at));
            }
        }
        flow.datagram(at);
    }

    /// A datagram, sent at `sent_at`, is lost at `at`.
    pub fn lose_datagram(&mut self, flow: u32, sent_at: u64, at: u64) {
        let flow = &mut self.flows[flow as usize];
        if let (Some(group), Some(stream)) = (&self.datagrams[flow.group as usize], &mut flow.stream) {
            stream.lose(sent_at, group.counts(at));
        }
    }

    /// A flow's deadline has come, unless an earlier one came first. Is what its client asked for complete?
    #[inline]
    pub fn wake(&mut self, event: Event) -> bool {
        let index = event.flow as usize;
        let (flow, forward) = (&mut self.flows[index], &mut self.forward_paths[index]);
        if forward.wake_at != event.at {
            return false;
        }
        forward.wake_at = u64::MAX;
        // What arrives later cannot be answered yet.
        let received_by = event.at.saturating_sub(flow.reverse.reverse_ns);
        let complete =
            flow.catch_up(event.flow, received_by, event.at, forward, &mut self.bench, &mut self.wheel);
        self.set_deadline(event.flow);
        if event.flow >= self.first_slot && self.flows[index].finished_ns.is_some() {
            self.wheel.push(Traffic::done_event(event.at, event.flow));
        }
        complete
    }

    /// Brings a flow's hosts up to `now`, with all that was delivered.
    /// Is what its client asked for complete?
    pub fn settle(&mut self, index: u32, now: u64) -> bool {
        let (flow, forward) = (&mut self.flows[index as usize], &mut self.forward_paths[index as usize]);
        let complete = flow.catch_up(index, u64::MAX, now, forward, &mut self.bench, &mut self.wheel);
        self.set_deadline(index);
        complete
    }

    /// A probe asks for a byte at `now`, over a flow's connection. Is what its client asked for complete?
    pub fn ask(&mut self, index: u32, now: u64) -> bool {
        let (flow, forward) = (&mut self.flows[index as usize], &mut self.forward_paths[index as usize]);
        let complete = flow.catch_up(index, now, now, forward, &mut self.bench, &mut self.wheel);
        flow.ask(index, now, &mut self.wheel);
        self.set_deadline(index);
        complete
    }

    /// A flow starts: see [`Flow::start`].
    pub fn start(&mut self, event: Event, rtt_ns: u64, open_for_ns: u64) {
        let flow = &mut self.flows[event.flow as usize];
        flow.start(event.flow, event.at, rtt_ns, open_for_ns, &mut self.bench, &mut self.wheel);
        self.set_deadline(event.flow);
    }

    /// Sees to it that an event is pending no later than a flow's deadline.
    #[inline]
    fn set_deadline(&mut self, index: u32) {
        let forward = &mut self.forward_paths[index as usize];
        let at = self.flows[index as usize].deadline(forward);
        if at < forward.wake_at {
            forward.wake_at = at;
            self.wheel.push(Event::plain(at, EventKind::Wake, index));
        }
    }
}

/// The event of a packet's arrival behind the link of the port that it has left.
#[inline(always)]
fn onward(packet: &Packet, at: u64) -> Event {
    let mut event = Event::plain(at, EventKind::Arrive, packet.flow);
    event.seq = packet.seq;
    event.ts = packet.ts;
    event.flags = packet.flags;
    event.go_on(u32::from(packet.hop) + 1, packet.waited_ns);
    event
}

/// The groups of UDP flows, with nothing measured yet.
pub fn groups_of_datagrams(spec: &RunSpec) -> Vec<Option<Datagrams>> {
    let new = |codec| Datagrams::new(spec.warmup_ns, spec.duration_ns, codec);
    spec.groups.iter().map(|g| g.datagrams.then(|| new(g.codec))).collect()
}
