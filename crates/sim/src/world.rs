//! The run: what happens next at which port.

use crate::Error;
use crate::audit::conserved;
use crate::channel::Channel;
use crate::client::Losses;
use crate::flow::{Endpoints, Flow, NOWHERE};
use crate::hosts::Scratch;
use crate::measure::FlowSojourn;
use crate::net::{Net, groups_of_datagrams};
use crate::outcome::measured;
use crate::packet::{Packet, flag};
use crate::port::{Intake, Port, dropped_of, tell_headers};
use crate::probes;
use crate::random::{FlowIdentity, below, link_stream, port_stream, probe_stream};
use crate::recovery::recover;
use crate::sampler::Sampler;
use crate::traffic::{Network, Traffic};
use crate::wheel::{Event, EventKind, Wheel};
use queuewright_aqm::Pool;
use queuewright_cca::{Fault, Kind};
use queuewright_results as results;
use queuewright_results::events::Observer;
use queuewright_scenario::packet::FULL_BYTES;
use queuewright_scenario::spec::{
    ArrivalProcess, FlowSpec, FlowTemplate, PortSpec, ProbesSpec, Rate, RunSpec, Stack, Traffic as Tcp,
    TrafficModel,
};
use queuewright_scenario::trace::mean_rate;
use rand_pcg::Pcg32;
use std::ops::Deref;

/// A run under way. It borrows what it runs, or shares it with who steps it.
#[derive(Debug)]
pub struct World<S> {
    spec: S,
    ports: Vec<Port>,
    net: Net,
    next_sample: u64,
    /// The next sample or change of a discipline.
    next_stop: u64,
    /// Changes of disciplines to come, the latest first: when, whose, which.
    changes: Vec<(u64, usize, usize)>,
    sampler: Sampler,
    /// For how long each flow's connection was open when its data starts, if it is bulk (ns).
    open_for_ns: Vec<u64>,
    traffic: Traffic,
    /// Of each of the run's probes: when and on which connection they ask.
    asks: Vec<Pcg32>,
    /// The warm-up is over.
    measures: bool,
    /// Hears what its own flows' senders and its ports do; none: nobody does.
    observer: Option<Box<dyn Observer>>,
    /// Some of its congestion controls are in files of a user's own: each sample looks for their faults.
    may_fail: bool,
}

impl<S: Deref<Target = RunSpec> + Clone> World<S> {
    /// A run about to begin, at time 0.
    ///
    /// # Errors
    /// [`Error::NoPort`].
    pub fn begin(spec: S) -> Result<World<S>, Error> {
        match spec.ports.is_empty() {
            true => Err(Error::NoPort),
            false => Ok(World::new(spec)),
        }
    }

    /// Builds the network of a run.
    fn new(shared: S) -> World<S> {
        let spec: &RunSpec = &shared;
        let mut ports: Vec<Port> = spec
            .ports
            .iter()
            .enumerate()
            .map(|(i, p)| {
                let random = port_stream(spec.seed, i);
                Port::new(p, spec.overhead_bytes, spec.warmup_ns, spec.duration_ns, random)
            })
            .collect();
        for (i, flow) in spec.flows.iter().enumerate() {
            tell_headers(&mut ports, i as u32, flow);
        }
        let own = |i: usize| FlowIdentity { source: None, number: i as u32 };
        let mut flows: Vec<Flow> =
            spec.flows.iter().enumerate().map(|(i, f)| Flow::new(own(i), f, spec)).collect();
        for &f in &spec.series_flows {
            flows[f as usize].watch();
        }
        // About one event a packet of the fastest link; most lie within one RTT.
        let bps = spec.ports.iter().map(|p| top_rate(&p.rate)).fold(1.0, f64::max);
        let gap_ns = (f64::from(FULL_BYTES) * 8e9 / bps / 2.0) as u64;
        let reach_ns = spec.flows.iter().map(|f| f.base_rtt_ns).max().unwrap_or(0) * 5 / 4 + 10_000_000;
        let mut wheel = Wheel::new(gap_ns, reach_ns);
        for (i, flow) in flows.iter_mut().enumerate() {
            flow.schedule_start(i as u32, &mut wheel);
        }
        let sampler = Sampler::new(spec, &ports);
        let mut channels: Vec<Channel> = Vec::new();
        if spec.ports.iter().any(|p| p.impairments.any()) {
            let numbered = spec.ports.iter().enumerate();
            channels.extend(numbered.map(|(i, p)| Channel::new(p, link_stream(spec.seed, i))));
        }
        for (i, port) in ports.iter_mut().enumerate() {
            port.losses_within(mean_rtt_ns(spec, i as u32));
        }
        let mut world = World {
            open_for_ns: open_for_ns(spec),
            ports,
            net: Net {
                wheel,
                forward_paths: flows.iter().map(|f| f.forward(&channels)).collect(),
                flows,
                waits: vec![FlowSojourn::default(); spec.flows.len()],
                bench: Scratch::default(),
                channels,
                datagrams: groups_of_datagrams(spec),
                first_slot: spec.flows.len() as u32,
            },
            next_sample: 0,
            next_stop: 0,
            changes: changes(spec),
            sampler,
            traffic: Traffic::new(spec),
            asks: Vec::new(),
            measures: spec.warmup_ns == 0,
            observer: None,
            may_fail: controls(spec).any(|kind| kind.own().is_some()),
            spec: shared.clone(),
        };
        let counts =
            |f: &Flow| f.is_finite() || f.client.is_some() || matches!(f.ends, Endpoints::Udp { .. });
        if !spec.sources.is_empty() || world.net.flows.iter().any(counts) {
            let forward_hops: Vec<u32> = world.net.flows.iter().map(|f| f.forward_hops).collect();
            for port in &mut world.ports {
                port.count_drops(&forward_hops);
            }
        }
        let (traffic, mut network) = world.coming_and_going();
        traffic.begin(&mut network);
        for (i, probes) in shared.probes.iter().enumerate() {
            world.asks.push(probe_stream(shared.seed, i));
            if !probes::load(&shared, probes).is_empty() {
                world.net.wheel.push(Traffic::ask_event(ProbesSpec::GAP_NS.min, i as u32));
            }
        }
        world
    }

    /// The traffic that comes and goes, and what it touches.
    fn coming_and_going(&mut self) -> (&mut Traffic, Network<'_>) {
        let net = &mut self.net;
        let network = Network {
            spec: &self.spec,
            ports: &mut self.ports,
            flows: &mut net.flows,
            forward_paths: &mut net.forward_paths,
            waits: &mut net.waits,
            wheel: &mut net.wheel,
            channels: &net.channels,
            datagrams: &mut net.datagrams,
        };
        (&mut self.traffic, network)
    }

    /// What a congestion control in C has left with which no connection can go on.
    pub fn fault(&self) -> Option<Fault> {
        self.traffic.fault.or_else(|| self.net.flows.iter().find_map(Flow::fault))
    }

    /// A port by its number.
    pub fn port(&mut self, at: usize) -> Option<&mut Port> {
        self.ports.get_mut(at)
    }

    /// All flows that there are.
    pub fn flows(&self) -> &[Flow] {
        &self.net.flows
    }

    /// The port that is measured first.
    pub fn first_port(&mut self) -> &mut Port {
        &mut self.ports[0]
    }

    /// From now on somebody hears what the run's own flows' senders and its ports do.
    pub fn observe(&mut self, observer: Box<dyn Observer>) {
        self.observer = Some(observer);
        let spec: &RunSpec = &self.spec;
        let of = |flow: &FlowSpec| match flow.traffic {
            Tcp::Tcp { stack, ecn, .. } => (stack == Stack::Quic, ecn),
            Tcp::Datagrams { .. } => (false, false),
        };
        for (flow, spec) in self.net.flows.iter_mut().zip(&spec.flows) {
            flow.keep_log(of(spec).1);
        }
        let forward_hops: Vec<u32> = self.net.flows.iter().map(|f| f.forward_hops).collect();
        for port in &mut self.ports {
            port.keep_log(&forward_hops, spec.flows.iter().map(|flow| of(flow).0).collect());
        }
    }

    /// Tells who observes what has happened since this was last done.
    fn tell(&mut self) {
        let Some(observer) = &mut self.observer else { return };
        for (flow, i) in self.net.flows.iter_mut().zip(0..) {
            if let Some(log) = flow.sender_log() {
                observer.sender(i, &log.events);
                log.events.clear();
            }
        }
        for (port, i) in self.ports.iter_mut().zip(0..) {
            if let Some(log) = port.queue_log() {
                log.settle();
                observer.queue(i, &log.events);
                log.events.clear();
            }
        }
    }

    /// Runs to the end. `each_sample` is told the time (ns); if it returns false the run stops.
    pub fn run(&mut self, mut each_sample: impl FnMut(u64) -> bool) -> bool {
        self.advance(self.spec.duration_ns, &mut each_sample)
    }

    /// [`World::run_to`]; if the warm-up ends on the way, what is measured begins there.
    pub fn advance(&mut self, end: u64, each_sample: &mut impl FnMut(u64) -> bool) -> bool {
        if !self.measures && end >= self.spec.warmup_ns {
            if !self.run_to(self.spec.warmup_ns - 1, each_sample) {
                return false;
            }
            self.window_begins();
        }
        self.run_to(end, each_sample)
    }

    fn window_begins(&mut self) {
        self.measures = true;
        self.net.waits.iter_mut().for_each(FlowSojourn::window_begins);
        self.net.flows.iter_mut().for_each(Flow::window_begins);
        self.ports.iter_mut().for_each(Port::window_begins);
        self.net.channels.iter_mut().for_each(Channel::window_begins);
    }

    /// The time series so far.
    pub fn series(&self) -> &results::Series {
        &self.sampler.series
    }

    /// Runs until nothing is left to do at `end` or before.
    #[inline(never)]
    pub fn run_to(&mut self, end: u64, each_sample: &mut impl FnMut(u64) -> bool) -> bool {
        loop {
            // A departure goes before an arrival at the same time: it makes room.
            let event_at = self.net.wheel.next_at();
            let (port, serve_at) = self.next_service();
            let now = serve_at.min(event_at);
            if self.next_stop <= now {
                let at = self.next_stop;
                if at > end {
                    return true;
                }
                self.change(at);
                if self.next_sample == at {
                    self.sample(at);
                    if !each_sample(at) || (self.may_fail && self.fault().is_some()) {
                        return false;
                    }
                }
                self.next_stop = self.changes.last().map_or(u64::MAX, |c| c.0).min(self.next_sample);
                continue;
            }
            if now > end {
                return true;
            }
            if serve_at <= event_at {
                self.serve(port, serve_at);
            } else if let Some(event) = self.net.wheel.pop() {
                self.handle(event);
            }
        }
    }

    #[inline]
    fn next_service(&self) -> (usize, u64) {
        let mut best = (0, self.ports[0].service_at);
        if self.ports.len() == 1 {
            return best;
        }
        for (i, port) in self.ports.iter().enumerate().skip(1) {
            if port.service_at < best.1 {
                best = (i, port.service_at);
            }
        }
        best
    }

    #[inline]
    fn serve(&mut self, port: usize, now: u64) {
        self.show_pool(port, now);
        let net = &mut self.net;
        let delay = self.ports[port].delay_ns;
        if self.ports[port].intake == Intake::Policer {
            // These have gone on long ago.
            return self.ports[port].serve(now, |_, _| {});
        }
        self.ports[port].serve(now, |packet, left_at| net.forward(packet, left_at + delay));
    }

    /// Shows a port the buffer that it shares with others, as it stands. A look at each of these:
    /// switches have few ports, and without a shared buffer it costs a comparison.
    #[inline(always)]
    fn show_pool(&mut self, at: usize, now: u64) {
        if self.spec.shared_bytes != 0 && self.spec.ports[at].shared {
            self.show_shared(at, now);
        }
    }

    // Apart, or its registers would be saved and restored at each packet of a run that shares nothing.
    #[inline(never)]
    fn show_shared(&mut self, at: usize, now: u64) {
        let mut pool = Pool { limit_bytes: self.spec.shared_bytes, ..Pool::default() };
        for (i, port) in self.ports.iter().enumerate().filter(|(i, _)| self.spec.ports[*i].shared) {
            let (bytes, threshold) = (port.queue().bytes, port.discipline().threshold());
            pool.ports += 1;
            pool.bytes += bytes;
            if i != at {
                pool.thresholds_bytes += port.discipline().claim(now);
            }
            // ABM section 3.1: congested is a queue at 0.9 of its threshold.
            pool.congested += u32::from(threshold > 0 && bytes * 10 >= threshold * 9);
        }
        self.ports[at].share(pool);
    }

    // Always inlined, as is what arrives: the event stays in registers.
    #[inline(always)]
    fn handle(&mut self, event: Event) {
        match event.kind {
            EventKind::Arrive => self.arrive(event),
            EventKind::Wake => {
                if self.net.wake(event) {
                    self.complete(event.flow);
                }
            }
            EventKind::Start => match self.spec.flows.get(event.flow as usize) {
                Some(flow) => {
                    self.net.start(event, flow.base_rtt_ns, self.open_for_ns[event.flow as usize]);
                }
                // Seen to later than it starts, but before its SYN can reach a port.
                None => {
                    let at = self.net.flows[event.flow as usize].start_ns;
                    self.net.start(Event { at, ..event }, 0, 0);
                }
            },
            EventKind::Traffic => self.come_or_go(&event),
            EventKind::Udp => self.send_udp(event),
        }
    }

    /// What the client of a flow asked for has arrived.
    #[cold]
    fn complete(&mut self, flow: u32) {
        let drops = dropped_of(&self.ports, flow);
        let Flow { client, ends, lost, .. } = &mut self.net.flows[flow as usize];
        if let (Some(client), Endpoints::Tcp { sender, .. }) = (client, ends) {
            client.book(Losses { drops, lost: *lost, resent: sender.stats().resent });
        }
    }

    /// A probe asks for a byte on one of the connections that make the load, at random, and soon on another.
    fn ask(&mut self, event: &Event) {
        let load = probes::load(&self.spec, &self.spec.probes[event.flow as usize]);
        let random = &mut self.asks[event.flow as usize];
        let flow = load.start + below(random, u64::from(load.end - load.start)) as u32;
        let gap = ProbesSpec::GAP_NS.min + below(random, ProbesSpec::GAP_NS.max - ProbesSpec::GAP_NS.min + 1);
        if self.net.ask(flow, event.at) {
            self.complete(flow);
        }
        self.net.wheel.push(Traffic::ask_event(event.at + gap, event.flow));
    }

    #[cold]
    fn come_or_go(&mut self, event: &Event) {
        if Traffic::asks(event) {
            return self.ask(event);
        }
        let (traffic, mut network) = self.coming_and_going();
        traffic.handle(event, &mut network);
    }

    /// A UDP source's packet reaches the first port.
    #[inline(never)]
    fn send_udp(&mut self, event: Event) {
        let flow = &mut self.net.flows[event.flow as usize];
        flow.up.emitted += 1;
        // Datagrams have no numbers: in their place is when they were sent.
        let packet = Packet {
            enqueue_ns: event.at,
            waited_ns: 0,
            flow: event.flow,
            seq: event.seq,
            ts: event.aux,
            bytes: flow.wire_bytes,
            flags: flag::UDP,
            hop: 0,
        };
        if let Endpoints::Udp { sent, .. } = &mut flow.ends {
            *sent += 1;
        }
        let sent_at = packet.number();
        if let Some(stream) = &mut flow.stream {
            stream.send(sent_at);
        }
        if !flow.schedule_udp(event.flow, sent_at, &mut self.net.wheel) && event.flow >= self.net.first_slot {
            self.net.wheel.push(Traffic::done_event(event.at, event.flow));
        }
        let port = flow.path[0] as usize;
        self.enter(port, packet);
        self.coming_and_going().1.tell_losses();
    }

    /// A packet reaches a port.
    #[inline(always)]
    fn enter(&mut self, at: usize, packet: Packet) {
        self.show_pool(at, packet.enqueue_ns);
        let port = &mut self.ports[at];
        if port.intake == Intake::Queue {
            port.arrive(packet);
        } else {
            self.enter_otherwise(at, packet);
        }
    }

    /// A packet reaches a port that polices, or whose shaper looks at the head.
    #[inline(never)]
    fn enter_otherwise(&mut self, at: usize, packet: Packet) {
        let port = &mut self.ports[at];
        if port.intake == Intake::Peeked {
            return port.arrive_beside(packet);
        }
        let now = packet.enqueue_ns;
        if let Some(packet) = port.police(packet) {
            self.net.forward(packet, now + port.delay_ns);
        }
    }

    /// Packets of a burst reach a port, as far apart as the access link spaces them.
    #[inline(always)]
    fn arrive(&mut self, mut event: Event) {
        let hop = event.hop() as usize;
        let waited_ns = if hop == 0 { 0 } else { event.waited_ns() };
        let end = self.spec.duration_ns;
        loop {
            let forward = &self.net.forward_paths[event.flow as usize];
            let (port, spacing) = if hop == 0 {
                (forward.port as usize, forward.access_ns)
            } else {
                match self.net.flows[event.flow as usize].path.get(hop) {
                    Some(&port) if port != NOWHERE => (port as usize, 0),
                    // At the end of its way, over a link on which packets overtake one another, or back.
                    _ => return self.net.land(event),
                }
            };
            let mut bytes = forward.bytes_of(event.seq, event.flags & flag::SYN != 0);
            if hop != 0 {
                let flow = &self.net.flows[event.flow as usize];
                if hop > flow.forward_hops as usize {
                    bytes = flow.ack_bytes(event.seq);
                }
            }
            let packet = Packet {
                enqueue_ns: event.at,
                waited_ns,
                flow: event.flow,
                seq: event.seq,
                ts: event.ts,
                bytes,
                flags: if hop == 0 && event.count > 1 { event.flags & !flag::PUSH } else { event.flags },
                hop: hop as u8,
            };
            self.enter(port, packet);
            if hop != 0 {
                return;
            }
            event.count -= 1;
            if event.count == 0 {
                return;
            }
            // An idle link takes the first of them at once: the others do not find it in the queue.
            if spacing == 0 && self.ports[port].service_at <= event.at {
                self.serve(port, event.at);
            }
            event.seq += 1;
            event.at += spacing;
            // The next packet of the burst goes on at once if nothing else comes before it.
            if spacing > 0
                && event.at
                    >= self.net.wheel.next_at().min(self.next_service().1).min(self.next_stop).min(end)
            {
                self.net.wheel.push(event);
                return;
            }
        }
    }

    /// Changes of disciplines that are due.
    fn change(&mut self, now: u64) {
        while let Some((_, port, change)) = self.changes.pop_if(|c| c.0 <= now) {
            self.ports[port].change(&self.spec.ports[port].changes[change]);
        }
    }

    fn sample(&mut self, now: u64) {
        self.next_sample = now + self.spec.series_interval_ns.max(1);
        for i in 0..self.spec.series_flows.len() {
            self.settle(self.spec.series_flows[i], now);
        }
        self.sampler.sample(now, &self.spec, &self.ports, &mut self.net.flows);
        self.tell();
    }

    /// Closes the books. Fails if a packet or byte was lost or made up on the way, or a congestion control cannot go on.
    pub fn finish(mut self) -> Result<results::Run, Error> {
        if let Some(fault) = self.fault() {
            return Err(Error::Control(fault.to_string()));
        }
        for f in 0..self.net.flows.len() as u32 {
            self.settle(f, self.spec.duration_ns);
        }
        self.coming_and_going().1.tell_losses();
        self.tell();
        if let Some(mut observer) = self.observer.take() {
            observer.end().map_err(Error::Observer)?;
        }
        let World { spec, mut ports, mut net, mut traffic, sampler, .. } = self;
        conserved(&spec, &ports, &mut net, &traffic)?;
        let idle = (!spec.probes.is_empty()).then(|| {
            let alone = probes::alone(&spec);
            let mut world = World::new(&alone);
            world.run(|_| true);
            world.traffic
        });
        let mut run = measured(
            &spec,
            &mut ports,
            &mut net,
            &mut traffic,
            sampler.series.without_unpaced(),
            idle.as_ref(),
        );
        recover(&spec, &mut run);
        Ok(run)
    }

    /// Works through what is due at a flow's hosts until `now`.
    fn settle(&mut self, flow: u32, now: u64) {
        if self.net.settle(flow, now) {
            self.complete(flow);
        }
    }

    /// Packets that the run has put on the bottleneck links, warm-up included.
    pub fn packets(&self) -> u64 {
        self.ports.iter().map(|p| p.measure.total.sent).sum()
    }
}

/// What a tool needs between one connection and the next, beyond the handshake (iperf3's clients in the
/// measurements of tests/data, ns).
const OPEN_NS: u64 = 14_500_000;

/// For how long the connections of bulk flows are open when their data starts: a tool opens those of one group
/// one after the other, and starts them together after the last. ns-3's applications open their own.
fn open_for_ns(spec: &RunSpec) -> Vec<u64> {
    let flows = &spec.flows;
    let mut ages = vec![0; flows.len()];
    if spec.stack == Stack::Ns3 {
        return ages;
    }
    for i in (0..flows.len()).rev() {
        let f = &flows[i];
        ages[i] = match flows.get(i + 1) {
            // The next handshake is in between.
            Some(next) if next.group == f.group && next.start_ns == f.start_ns => {
                ages[i + 1] + next.base_rtt_ns + OPEN_NS
            }
            _ => OPEN_NS,
        };
    }
    for (age, f) in ages.iter_mut().zip(flows) {
        *age = f.open_for_ns.unwrap_or(*age);
    }
    ages
}

/// Mean base round-trip time of the flows that cross a port (ns), probes left out: of those that follow one another as of those at a
/// time, of those that arrive as of one of each source.
fn mean_rtt_ns(spec: &RunSpec, port: u32) -> u64 {
    let probes = |i: usize| spec.probes.iter().any(|p| p.source as usize == i);
    let sources = spec.sources.iter().enumerate().filter(|(i, _)| !probes(*i));
    let coming = sources.flat_map(|(_, s)| match &s.arrival {
        ArrivalProcess::Sessions { first, .. } => first.iter().map(|f| (&f.path, f.base_rtt_ns)).collect(),
        ArrivalProcess::Arrivals { each, .. } | ArrivalProcess::Pages { each, .. } => {
            vec![(&each.path, each.rtt_ns.min.midpoint(each.rtt_ns.max))]
        }
    });
    let all = spec.flows.iter().map(|f| (&f.path, f.base_rtt_ns)).chain(coming);
    let rtts = all.filter(|(path, _)| path.contains(&port));
    let (sum, n) = rtts.fold((0u128, 0u128), |(sum, n), (_, rtt)| (sum + u128::from(rtt), n + 1));
    (sum / n.max(1)) as u64
}

/// Every congestion control of a run, some more than once.
fn controls(spec: &RunSpec) -> impl Iterator<Item = Kind> + '_ {
    let of_flow = |flow: &FlowSpec| match flow.traffic {
        Tcp::Tcp { cca, .. } => Some(cca),
        Tcp::Datagrams { .. } => None,
    };
    let of_template = |each: &FlowTemplate| match &each.traffic {
        TrafficModel::Tcp { ccas, .. } => ccas.iter().map(|(kind, _)| *kind).collect(),
        TrafficModel::Datagrams(_) => Vec::new(),
    };
    let coming = spec.sources.iter().flat_map(move |source| match &source.arrival {
        ArrivalProcess::Sessions { first, .. } => first.iter().filter_map(of_flow).collect(),
        ArrivalProcess::Arrivals { each, .. } | ArrivalProcess::Pages { each, .. } => of_template(each),
    });
    spec.flows.iter().filter_map(of_flow).chain(coming)
}

/// The highest rate of a link, bits per second.
fn top_rate(rate: &Rate) -> f64 {
    match rate {
        Rate::Constant(bps) => *bps as f64,
        Rate::Schedule(s) => s.steps.iter().map(|s| s.1 as f64).fold(0.0, f64::max),
        Rate::Trace(t) => mean_rate(t) as f64,
    }
}

/// Every change of a discipline, the latest first.
fn changes(spec: &RunSpec) -> Vec<(u64, usize, usize)> {
    let of_port = |(i, p): (usize, &PortSpec)| -> Vec<(u64, usize, usize)> {
        p.changes.iter().enumerate().map(|(n, c)| (c.at_ns, i, n)).collect()
    };
    let mut all: Vec<_> = spec.ports.iter().enumerate().flat_map(of_port).collect();
    all.sort_unstable_by(|a, b| b.cmp(a));
    all
}
