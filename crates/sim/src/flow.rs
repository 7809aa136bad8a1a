//! A flow: its two ends, the way between them, what it is measured by.

use crate::ack::Ack;
use crate::acks_in_flight::AcksInFlight;
use crate::asker::Asker;
use crate::channel::Channel;
use crate::client::Client;
use crate::forward_path::{BARE, ForwardPath, times};
use crate::jiffies::timestamp;
use crate::log::SenderLog;
use crate::packet::flag;
use crate::quic;
use crate::random::{FlowIdentity, below, exponential, receiver_stream, sender_stream};
use crate::receiver::{Echo, OVERHEAD, Receiver};
use crate::sender::{Burst, Sender, SenderSetup, SenderStats, StackRules};
use crate::stream::Stream;
use crate::wheel::{Event, EventKind, Wheel};
use queuewright_cca::{Conn, Fault};
use queuewright_results::events::SenderAction;
use queuewright_scenario::Gaps;
use queuewright_scenario::packet::{
    FULL_BYTES, MSS, QUIC_ACK_BYTES, QUIC_HEADER_BYTES, QUIC_INITIAL_BYTES, QUIC_PAYLOAD_BYTES, SYN_BYTES,
    TCP_HEADER_BYTES, UDP_HEADER_BYTES, pieces,
};
use queuewright_scenario::spec::{FlowSpec, RunSpec, Stack, Traffic};
use rand_pcg::Pcg32;
use rand_pcg::rand_core::Rng;
use std::collections::VecDeque;

/// In the place of a port on a flow's way: the receiver.
pub const NOWHERE: u32 = u32::MAX;
/// 2^32, as fractions of a ns are kept.
const Q32: f64 = (1u64 << 32) as f64;

/// TCP's segments of so much payload, and the payload of the last of them (bytes).
pub fn segments_of(bytes: u64) -> (u32, u32) {
    pieces(bytes, MSS)
}

/// Is this the group of connections that are opened for a byte?
pub fn is_probe(run: &RunSpec, group: u32) -> bool {
    run.probes.iter().any(|p| p.group == group)
}

/// The ends of a flow.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "most flows are TCP; a pointer would cost each of their packets"
)]
pub enum Endpoints {
    /// A TCP connection: both of its ends.
    Tcp {
        /// The end that sends data.
        sender: Sender,
        /// The end that acknowledges it.
        receiver: Receiver,
        /// Segments to send; `u32::MAX`: without end.
        segments: u32,
        /// Payload of the last of them (bytes).
        last_bytes: u32,
        /// The arrival of this segment is to be told: the first of a response; `u32::MAX`: of none.
        awaited: u32,
    },
    /// A QUIC connection: both of its ends.
    Quic(Box<quic::Ends>),
    /// A source of UDP datagrams; where they arrive nothing is kept but counts.
    Udp {
        /// Mean bits per second.
        bps: u64,
        /// How packets follow one another.
        gaps: Gaps,
        /// Packets sent so far.
        sent: u64,
        /// When the access link is through with the last of them (ns), in its sender's time.
        access_free_ns: u64,
        /// What is left over of the gaps before, ns times 2^32: nothing is lost to rounding.
        carry_q32: u64,
    },
}

/// From the sender to the first port. One cache line.
#[derive(Debug)]
#[repr(C)]
pub struct Uplink {
    /// Access link's serialisation apart (ns).
    pub forward_ns: u64,
    /// Serialisation of a full packet on the access link (ns); 0: unlimited.
    access_ns: u64,
    jitter_ns: u64,
    /// Packets given to the access link.
    pub emitted: u64,
    last_arrival_ns: u64,
    /// Its clock (ms) when the receiver sent the acknowledgement last worked in.
    pub heard_ms: u32,
    /// What the link counts of a packet beyond its IP length.
    overhead_bytes: u16,
    random: Pcg32,
}

/// From the receiver to the sender, and what is received.
#[derive(Debug)]
#[repr(C)]
pub struct ReversePath {
    random: Pcg32,
    /// Time on the way (ns).
    pub reverse_ns: u64,
    last_ack_ns: u64,
    host_jitter_ns: u64,
    /// Payload bytes delivered in order within the window.
    pub delivered_bytes: u64,
    /// The same since the start of the run.
    pub delivered_total: u64,
    warmup_ns: u64,
    end_ns: u64,
    /// When the last of them arrived that arrived within the window (ns).
    last_ns: u64,
}

/// A flow. The order of the fields counts: see `Sender`.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Flow {
    /// The ends.
    pub ends: Endpoints,
    /// The way to the first port.
    pub up: Uplink,
    /// The way of the ACKs.
    pub reverse: ReversePath,
    /// ACKs on their way that were made before they could be worked in: few, as hosts work in what they get
    /// as late as they may.
    pub held: Vec<Ack>,

    /// When it starts (ns): is to start, and once it has, when its host sent its first packet.
    pub start_ns: u64,
    /// Its application writes no more from then on (ns).
    pub stop_ns: u64,
    /// When the last byte of a finite flow arrived (ns).
    pub finished_ns: Option<u64>,
    /// When its first byte did (ns), of a finite flow.
    pub first_ns: Option<u64>,
    /// When datagrams will be there that have left the last port (ns), of a UDP flow that the time series has; none: they are
    /// booked as they leave it.
    pub arriving: Option<VecDeque<u64>>,
    /// What becomes of its datagrams, of a UDP flow.
    pub stream: Option<Box<Stream>>,
    /// Its group.
    pub group: u32,
    /// Asks for what it sends; none: it sends by itself.
    pub client: Option<Box<Client>>,
    /// Packets lost on links, without its acknowledgements.
    pub lost: u64,
    /// Acknowledgements lost on links.
    pub acks_lost: u64,
    /// The same when the window began.
    lost_before: u64,
    /// Ports crossed, in order: by packets; then, if anything crosses ports on its reverse path, [`NOWHERE`] and those.
    pub path: Box<[u32]>,
    /// How many of them packets cross.
    pub forward_hops: u32,
    /// What comes back over ports; none: it crosses none.
    pub acks_in_flight: Option<Box<AcksInFlight>>,
    /// What its sender of TCP does; none: nobody wants to know.
    pub log: Option<Box<SenderLog>>,
    /// Most time that the sender's host takes over what came back (ns).
    pub landing_ns: u64,
    /// It begins up to so much after its start (ns).
    start_jitter_ns: u64,
    /// Bytes of a full packet on the link.
    pub wire_bytes: u16,
    overhead: u32,
    /// When the answer to its SYN came (ns); 0: it has not.
    pub connected_ns: u64,
    /// When its sender knew that all has arrived that there was to send (ns); 0: it does not.
    pub acked_ns: u64,
    /// Asks now and then how long it takes; none: nobody has.
    pub asks: Option<Box<Asker>>,
}

impl Flow {
    /// A flow of a run.
    pub fn new(flow: FlowIdentity, spec: &FlowSpec, run: &RunSpec) -> Flow {
        let stack = match spec.traffic {
            Traffic::Tcp { stack, .. } => stack,
            Traffic::Datagrams { .. } => run.stack,
        };
        let rules = StackRules::of(stack);
        let stop_ns = spec.stop_ns.unwrap_or(u64::MAX);
        let client = Client::new(spec, run).map(Box::new);
        let (ends, ip_bytes) = match spec.traffic {
            Traffic::Tcp {
                cca,
                size_bytes,
                initial_window,
                ecn,
                l4s,
                rate_bps,
                stack: Stack::Quic,
                client: _,
            } => {
                let size = size_bytes.map(|bytes| pieces(bytes, QUIC_PAYLOAD_BYTES));
                let setup = quic::Setup {
                    cca,
                    segments: size.map(|s| s.0),
                    closes: true,
                    initial_window,
                    packet_threshold: quic::PACKET_THRESHOLD,
                    rate: rate_bps / 8,
                    ecn,
                    l4s,
                    stop_ns,
                    warmup_ns: run.warmup_ns,
                };
                (Endpoints::Quic(quic::Ends::new(setup, size).into()), FULL_BYTES)
            }
            Traffic::Tcp { cca, size_bytes, initial_window, ecn, l4s, rate_bps, stack: _, client: _ } => {
                // What a client asks for at a time is what there is to send for the time being.
                let size_bytes = client.as_ref().map_or(size_bytes, |c| Some(c.bytes()));
                let (segments, last_bytes) = size_bytes.map(segments_of).unzip();
                let setup = SenderSetup {
                    cca,
                    rules,
                    segments,
                    initial_window,
                    send_buffer: spec.send_buffer,
                    mss: MSS,
                    rate: rate_bps / 8,
                    closes: client.is_none(),
                    ecn,
                    l4s,
                    // It is the client that stops asking.
                    stop_ns: if client.is_some() { u64::MAX } else { stop_ns },
                    access_bps: spec.access_bps.unwrap_or(0),
                    warmup_ns: run.warmup_ns,
                };
                let mut sender = Sender::new(setup);
                // A probe's connection is open until it has its answer.
                if segments.is_some() && client.is_none() && !is_probe(run, spec.group) {
                    sender.ends_with_fin();
                }
                let echo = match sender.counts_marks() {
                    true => Echo::Accurate,
                    false => Echo::of_dctcp(cca.needs_ecn()),
                };
                let ends = Endpoints::Tcp {
                    sender,
                    receiver: Receiver::new(
                        rules,
                        spec.base_rtt_ns,
                        echo,
                        OVERHEAD,
                        spec.send_buffer.rmem_bytes(),
                    ),
                    segments: segments.unwrap_or(u32::MAX),
                    last_bytes: last_bytes.unwrap_or(MSS),
                    awaited: if segments.is_some() { 0 } else { u32::MAX },
                };
                (ends, FULL_BYTES)
            }
            Traffic::Datagrams { gaps, bps, packet_bytes } => {
                (Endpoints::Udp { bps, gaps, sent: 0, access_free_ns: 0, carry_q32: 0 }, packet_bytes)
            }
        };
        let ports_ns: u64 = spec.path.iter().map(|&p| run.ports[p as usize].delay_ns).sum();
        let mut path = spec.path.clone();
        if !spec.reverse_path.is_empty() {
            path.push(NOWHERE);
            path.extend(&spec.reverse_path);
        }
        let reverse_ns = spec.base_rtt_ns / 2;
        let reverse_ports_ns: u64 = spec.reverse_path.iter().map(|&p| run.ports[p as usize].delay_ns).sum();
        let host_jitter_ns = rules.host_jitter_ns.min(spec.base_rtt_ns / 20);
        let wire_bytes = u16::try_from(ip_bytes + run.overhead_bytes).unwrap_or(u16::MAX);
        let access_bps = spec.access_bps.unwrap_or(0);
        let is_udp = matches!(ends, Endpoints::Udp { .. });
        Flow {
            ends,
            up: Uplink {
                forward_ns: (spec.base_rtt_ns - reverse_ns).saturating_sub(ports_ns),
                access_ns: (u64::from(wire_bytes) * 8_000_000_000).checked_div(access_bps).unwrap_or(0),
                heard_ms: 0,
                overhead_bytes: run.overhead_bytes as u16,
                jitter_ns: spec.jitter_ns,
                emitted: 0,
                last_arrival_ns: 0,
                random: if is_udp { receiver_stream(run.seed, flow) } else { sender_stream(run.seed, flow) },
            },
            reverse: ReversePath {
                random: receiver_stream(run.seed, flow),
                // To the first port on the way, if there is one: the host is at its end.
                reverse_ns: reverse_ns - reverse_ports_ns,
                last_ack_ns: 0,
                host_jitter_ns: if spec.reverse_path.is_empty() { host_jitter_ns } else { 0 },
                delivered_bytes: 0,
                delivered_total: 0,
                warmup_ns: run.warmup_ns,
                end_ns: run.duration_ns,
                last_ns: 0,
            },
            held: Vec::new(),
            wire_bytes,
            path: path.into(),
            forward_hops: spec.path.len() as u32,
            acks_in_flight: (!spec.reverse_path.is_empty()).then(Box::default),
            landing_ns: host_jitter_ns,
            start_jitter_ns: rules.start_jitter_ns.min(spec.base_rtt_ns / 2),
            overhead: run.overhead_bytes,
            start_ns: spec.start_ns,
            stop_ns,
            finished_ns: None,
            first_ns: None,
            stream: is_udp.then(|| Box::new(Stream::new(spec.base_rtt_ns - reverse_ns))),
            arriving: None,
            group: spec.group,
            client,
            lost: 0,
            acks_lost: 0,
            lost_before: 0,
            connected_ns: 0,
            acked_ns: 0,
            asks: None,
            log: None,
        }
    }

    /// What its sender does is wanted from now on.
    pub fn keep_log(&mut self, ecn: bool) {
        let mut log = Box::<SenderLog>::default();
        if ecn {
            log.add(self.start_ns, SenderAction::Ecn);
        }
        match &mut self.ends {
            Endpoints::Tcp { sender, .. } => {
                sender.keep_lost();
                self.log = Some(log);
            }
            Endpoints::Quic(ends) => ends.sender.log = Some(log),
            Endpoints::Udp { .. } => {}
        }
    }

    /// What its sender has done, if that is wanted.
    pub fn sender_log(&mut self) -> Option<&mut SenderLog> {
        match &mut self.ends {
            Endpoints::Quic(ends) => ends.sender.log.as_deref_mut(),
            _ => self.log.as_deref_mut(),
        }
    }

    /// Does it send so much and no more?
    pub fn is_finite(&self) -> bool {
        match &self.ends {
            Endpoints::Tcp { segments, .. } => self.client.is_none() && *segments != u32::MAX,
            Endpoints::Quic(ends) => ends.segments != u32::MAX,
            Endpoints::Udp { .. } => false,
        }
    }

    /// Its connection as the congestion control sees it; none: it has none.
    pub fn conn(&self) -> Option<&Conn> {
        match &self.ends {
            Endpoints::Tcp { sender, .. } => Some(sender.conn()),
            Endpoints::Quic(ends) => Some(ends.sender.conn()),
            Endpoints::Udp { .. } => None,
        }
    }

    /// A variable of a congestion control of a user's own; NaN until that has begun.
    pub fn control_probe(&self, i: usize) -> f64 {
        match &self.ends {
            Endpoints::Tcp { sender, .. } => sender.control_probe(i),
            Endpoints::Quic(ends) => ends.sender.control_probe(i),
            Endpoints::Udp { .. } => f64::NAN,
        }
    }

    /// What its congestion control has left with which it cannot go on.
    pub fn fault(&self) -> Option<Fault> {
        match &self.ends {
            Endpoints::Tcp { sender, .. } => sender.fault(),
            Endpoints::Quic(ends) => ends.sender.fault(),
            Endpoints::Udp { .. } => None,
        }
    }

    /// What its sender has measured; none: it has none.
    pub fn sender_stats(&self) -> Option<SenderStats> {
        match &self.ends {
            Endpoints::Tcp { sender, .. } => Some(sender.stats()),
            Endpoints::Quic(ends) => Some(ends.sender.stats()),
            Endpoints::Udp { .. } => None,
        }
    }

    /// How often it was opened again, and segments with data that were sent again.
    pub fn sent_again(&self) -> (u32, u64) {
        match &self.ends {
            Endpoints::Tcp { sender, .. } => (sender.syn_retransmits(), sender.data_resent()),
            Endpoints::Quic(ends) => (ends.sender.handshakes_resent(), ends.sender.resent()),
            Endpoints::Udp { .. } => (0, 0),
        }
    }

    /// Payload of a finite flow (bytes); 0 for others.
    pub fn size_bytes(&self) -> u64 {
        let (segments, full, last_bytes) = match &self.ends {
            Endpoints::Tcp { segments, last_bytes, .. } => (*segments, MSS, *last_bytes),
            Endpoints::Quic(ends) => (ends.segments, QUIC_PAYLOAD_BYTES, ends.last_bytes),
            Endpoints::Udp { .. } => (u32::MAX, 0, 0),
        };
        match segments {
            u32::MAX => 0,
            _ => u64::from(segments.saturating_sub(1)) * u64::from(full) + u64::from(last_bytes),
        }
    }

    /// Has its sender all that it waits for, and its receiver nothing more to say?
    pub fn is_quiet(&self, forward: &ForwardPath) -> bool {
        let (sent, told) = match &self.ends {
            Endpoints::Tcp { sender, receiver, segments, .. } => {
                (sender.conn().snd_una >= (*segments).max(sender.end()), receiver.ack_at() == u64::MAX)
            }
            Endpoints::Quic(ends) => {
                (ends.sender.acked_to() >= ends.segments, ends.receiver.ack_at() == u64::MAX)
            }
            Endpoints::Udp { .. } => return true,
        };
        sent && told && self.held.is_empty() && forward.first_at() == u64::MAX
    }

    /// What the ports need to know of it.
    pub fn forward(&self, channels: &[Channel]) -> ForwardPath {
        let (last_segment, last_bytes) = self.last_on_wire();
        let mut forward = ForwardPath::default();
        forward.access_ns = self.up.access_ns;
        // What answers is an arrival at a port: the first on the reverse path, or the one that the sender's answer reaches.
        forward.loop_ns =
            self.reverse.reverse_ns + if self.acks_in_flight.is_none() { self.up.forward_ns } else { 0 };
        forward.port = self.path[0];
        forward.last_segment = last_segment;
        forward.wire_bytes = self.wire_bytes;
        forward.last_bytes = last_bytes;
        let opening = if let Endpoints::Quic(_) = self.ends { QUIC_INITIAL_BYTES } else { SYN_BYTES };
        forward.syn_bytes = (opening + self.overhead) as u16;
        let impaired = |&p: &u32| channels.get(p as usize).is_some_and(Channel::impaired);
        let long = self.acks_in_flight.is_some() || self.path.iter().any(impaired);
        forward.hops = if long { ForwardPath::LONG } else { self.path.len() as u8 };
        forward
    }

    /// The last segment of a finite flow, or of what its client has asked for, and its bytes on the link.
    pub fn last_on_wire(&self) -> (u32, u16) {
        match &self.ends {
            Endpoints::Tcp { segments, last_bytes, .. } => {
                (segments.wrapping_sub(1), (last_bytes + TCP_HEADER_BYTES + self.overhead) as u16)
            }
            Endpoints::Quic(ends) => {
                (ends.segments.wrapping_sub(1), (ends.last_bytes + QUIC_HEADER_BYTES + self.overhead) as u16)
            }
            Endpoints::Udp { .. } => (u32::MAX, self.wire_bytes),
        }
    }

    /// The window begins: what was lost before does not count.
    pub fn window_begins(&mut self) {
        self.lost_before = self.lost;
    }

    /// Packets lost on links within the window.
    pub fn lost_in_window(&self) -> u64 {
        self.lost - self.lost_before
    }

    /// Length on the link of the acknowledgement of a number.
    pub fn ack_bytes(&self, number: u32) -> u16 {
        let ack = self.acks_in_flight.as_ref().and_then(|r| r.get(number));
        let ip = match self.ends {
            Endpoints::Quic(_) => ack.map_or(QUIC_ACK_BYTES, |ack| ack.window.into()),
            _ => ack.map_or(TCP_HEADER_BYTES, Ack::ip_bytes),
        };
        (ip + self.overhead) as u16
    }

    /// An acknowledgement has come back over its ports at `at`.
    pub fn returned(&mut self, number: u32, at: u64) {
        let Some(ack) = self.acks_in_flight.as_mut().and_then(|r| r.take(number)) else { return };
        let jitter = (u64::from(self.reverse.random.next_u32()) * self.landing_ns) >> 32;
        let at = self.held.last().map_or(0, |ack| ack.at).max(at + jitter);
        self.held.push(ack.landed(at));
    }

    /// Packets and acknowledgements sent and received, of which `received` packets, are under way if these differ.
    pub fn acks_under_way(&self) -> (u64, u64) {
        self.acks_in_flight.as_ref().map_or((0, 0), |r| (r.sent, r.came))
    }

    /// Payload of a UDP packet.
    pub fn udp_payload(&self) -> u64 {
        u64::from((u32::from(self.wire_bytes) - self.overhead).saturating_sub(UDP_HEADER_BYTES))
    }

    /// Schedules the first event of the flow.
    pub fn schedule_start(&mut self, index: u32, wheel: &mut Wheel) {
        match &self.ends {
            // Its host gets to it when it can: flows of one start time do not march in step.
            Endpoints::Tcp { .. } | Endpoints::Quic(_) => {
                let late = (u64::from(self.reverse.random.next_u32()) * self.start_jitter_ns) >> 32;
                wheel.push(Event::plain(self.start_ns + late, EventKind::Start, index));
            }
            Endpoints::Udp { .. } => drop(self.schedule_udp(index, self.start_ns, wheel)),
        }
    }

    /// Schedules the arrival of the next UDP packet, if the source still sends when it is due: does it?
    /// `previous`: when the last one was sent; for the first, the start.
    pub fn schedule_udp(&mut self, index: u32, previous: u64, wheel: &mut Wheel) -> bool {
        let ip_bytes = u64::from(u32::from(self.wire_bytes) - self.overhead);
        let Endpoints::Udp { bps, gaps, sent, access_free_ns, carry_q32 } = &mut self.ends else {
            return false;
        };
        let up = &mut self.up;
        let send_at = match gaps {
            Gaps::Exponential => {
                let mean_ns = ip_bytes as f64 * 8e9 / *bps as f64;
                let gap_q32 = (exponential(&mut up.random) * mean_ns * Q32) as u128 + u128::from(*carry_q32);
                *carry_q32 = gap_q32 as u32 as u64;
                previous.saturating_add(u64::try_from(gap_q32 >> 32).unwrap_or(u64::MAX))
            }
            // From the start, not from the last packet: nothing is lost to rounding.
            Gaps::Even => {
                let ns = u128::from(*sent) * u128::from(ip_bytes) * 8_000_000_000 / u128::from(*bps);
                self.start_ns.saturating_add(u64::try_from(ns).unwrap_or(u64::MAX))
            }
        };
        if send_at >= self.stop_ns.min(self.reverse.end_ns) {
            return false;
        }
        let mut sent_at = send_at;
        if up.access_ns > 0 {
            // The access link is a queue of its own when packets come closer than it can send; what delays them behind it
            // does not hold it up.
            sent_at = sent_at.max(*access_free_ns) + up.access_ns;
            *access_free_ns = sent_at;
        }
        let mut at = sent_at + up.forward_ns;
        if up.jitter_ns > 0 {
            at = up.jitter(at);
        }
        let mut event = Event::plain(at, EventKind::Udp, index);
        // The sending time, for the next gap.
        event.seq = send_at as u32;
        event.aux = (send_at >> 32) as u32;
        wheel.push(event);
        true
    }

    /// The time series will have it.
    pub fn watch(&mut self) {
        if let Endpoints::Udp { .. } = self.ends {
            self.arriving = Some(VecDeque::new());
        }
    }

    /// A datagram arrives at `at`.
    pub fn datagram(&mut self, at: u64) {
        let payload = self.udp_payload();
        self.reverse.delivered(at, payload);
        if let Some(arriving) = &mut self.arriving {
            arriving.push_back(at);
        }
    }

    /// Payload that has arrived by `now` (bytes).
    pub fn delivered_by(&mut self, now: u64) -> u64 {
        let payload = self.udp_payload();
        let Some(arriving) = &mut self.arriving else { return self.reverse.delivered_total };
        while arriving.front().is_some_and(|at| *at <= now) {
            arriving.pop_front();
        }
        self.reverse.delivered_total - arriving.len() as u64 * payload
    }

    /// Seconds within the window in which the flow could deliver: where it stops, until what it had written has arrived; none if
    /// it stops before the window.
    pub fn active_s(&self, end_ns: u64) -> f64 {
        if self.stop_ns <= self.reverse.warmup_ns {
            return 0.0;
        }
        let from = self.start_ns.max(self.reverse.warmup_ns);
        let stopped = self.stop_ns.max(self.reverse.last_ns).max(from);
        let to = self.finished_ns.unwrap_or(end_ns).min(end_ns).min(stopped);
        to.saturating_sub(from) as f64 / 1e9
    }

    /// From when to when it is there (ns), as far as is known.
    pub fn there(&self) -> (u64, u64) {
        let end = self.finished_ns.unwrap_or(u64::MAX).min(self.stop_ns);
        // One that stops before its host has begun is never there.
        (self.start_ns, end.max(self.start_ns))
    }

    /// Start-up time (s) of a finite flow, from its SYN to the arrival of its first byte.
    pub fn startup_s(&self) -> Option<f64> {
        self.first_ns.map(|t| (t - self.start_ns) as f64 / 1e9)
    }

    /// Completion time (s) of a finite flow, from its SYN to the arrival of its last byte.
    pub fn completion_s(&self) -> Option<f64> {
        self.finished_ns.map(|t| (t - self.start_ns) as f64 / 1e9)
    }
}

impl Uplink {
    /// A 32-bit draw of the sender's own stream.
    #[inline]
    pub fn draw(&mut self) -> u32 {
        self.random.next_u32()
    }

    /// Puts a burst on the access link: the events of its arrival at the first port. `data`: segments that the flow has, and the payload of the last
    /// one (bytes).
    #[inline]
    pub fn emit(
        &mut self,
        index: u32,
        now: u64,
        mut burst: Burst,
        data: (u32, u32),
        sender: &mut Sender,
        wheel: &mut Wheel,
    ) {
        let mut each_ns = self.access_ns;
        if each_ns > 0 && (burst.flags & flag::SYN != 0 || burst.seq + u32::from(burst.count) >= data.0) {
            each_ns = self.short_ns(index, now, &mut burst, data, sender, wheel);
        }
        self.emitted += u64::from(burst.count);
        let mut event = Event::plain(now + self.forward_ns, EventKind::Arrive, index);
        event.seq = burst.seq;
        event.count = burst.count;
        event.flags = burst.flags;
        event.ts = times(timestamp(now), self.heard_ms);
        if self.access_ns > 0 {
            let begin = sender.access_free_ns.max(now);
            sender.access_free_ns = begin + each_ns * u64::from(burst.count);
            event.at = begin + each_ns + self.forward_ns;
        }
        if self.jitter_ns == 0 {
            return wheel.push(event);
        }
        event.count = 1;
        for left in (0..burst.count).rev() {
            let mut jittered = event;
            if left > 0 {
                jittered.flags &= !flag::PUSH;
            }
            jittered.at = self.jitter(event.at);
            wheel.push(jittered);
            event.seq += 1;
            event.at += self.access_ns;
        }
    }

    /// Serialisation (ns) on the access link of the last packet of a burst, which may be short: a SYN, a segment without data, the last of
    /// all. What is before it goes first.
    #[cold]
    fn short_ns(
        &mut self,
        index: u32,
        now: u64,
        burst: &mut Burst,
        data: (u32, u32),
        sender: &mut Sender,
        wheel: &mut Wheel,
    ) -> u64 {
        let last = burst.seq + u32::from(burst.count) - 1;
        let bytes = match (burst.flags & flag::SYN != 0, last.checked_sub(data.0 - 1)) {
            (true, _) if burst.seq == BARE => TCP_HEADER_BYTES,
            (true, _) => SYN_BYTES,
            (_, Some(0)) => TCP_HEADER_BYTES + data.1,
            (_, Some(_)) => TCP_HEADER_BYTES,
            (_, None) => FULL_BYTES,
        };
        if burst.count > 1 {
            let before = Burst { count: burst.count - 1, flags: burst.flags & !flag::PUSH, ..*burst };
            // Those are full.
            self.emit(index, now, before, (u32::MAX, 0), sender, wheel);
            *burst = Burst { seq: last, count: 1, ..*burst };
        }
        let counted = |bytes: u32| u64::from(bytes) + u64::from(self.overhead_bytes);
        self.access_ns * counted(bytes) / counted(FULL_BYTES)
    }

    /// When the access link, which is a queue of its own, has sent a packet of so many bytes (IP) that it is given at `now`.
    pub(crate) fn leaves_access(&self, now: u64, bytes: u32, access_free_ns: &mut u64) -> u64 {
        if self.access_ns == 0 {
            return now;
        }
        let counted = |bytes: u32| u64::from(bytes) + u64::from(self.overhead_bytes);
        *access_free_ns = now.max(*access_free_ns) + self.access_ns * counted(bytes) / counted(FULL_BYTES);
        *access_free_ns
    }

    /// When a packet is at the first port that leaves the access link at `at`.
    pub(crate) fn arrives_at(&mut self, at: u64) -> u64 {
        let at = at + self.forward_ns;
        if self.jitter_ns == 0 { at } else { self.jitter(at) }
    }

    /// Adds the access link's jitter without reordering.
    fn jitter(&mut self, at: u64) -> u64 {
        self.last_arrival_ns = self.last_arrival_ns.max(at + below(&mut self.random, self.jitter_ns + 1));
        self.last_arrival_ns
    }
}

impl ReversePath {
    /// When the sender works in an ACK sent at `at`: its host takes up to `host_jitter_ns`.
    #[inline]
    pub fn ack_arrival(&mut self, at: u64) -> u64 {
        let jitter = (u64::from(self.random.next_u32()) * self.host_jitter_ns) >> 32;
        self.arrival(at, jitter)
    }

    /// When what the receiver sends at `at` has been worked in, `jitter` ns after it is there.
    #[inline]
    pub fn arrival(&mut self, at: u64, jitter: u64) -> u64 {
        self.last_ack_ns = self.last_ack_ns.max(at + self.reverse_ns + jitter);
        self.last_ack_ns
    }

    /// `bytes` of payload arrive in order at `at`.
    #[inline]
    pub fn delivered(&mut self, at: u64, bytes: u64) {
        self.delivered_total += bytes;
        if at >= self.warmup_ns && at <= self.end_ns {
            self.delivered_bytes += bytes;
            self.last_ns = at;
        }
    }
}
