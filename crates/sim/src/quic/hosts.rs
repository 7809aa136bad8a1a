//! The two hosts of a QUIC flow: what `crate::hosts` does for TCP.

use super::{AckFrame, Ends, Outgoing};
use crate::ack::Ack;
use crate::flow::{Endpoints, Flow, ReversePath, Uplink};
use crate::forward_path::Delivery;
use crate::jiffies::timestamp;
use crate::packet::flag;
use crate::wheel::{Event, EventKind, Wheel};
use queuewright_scenario::packet::{QUIC_HEADER_BYTES, QUIC_INITIAL_BYTES, QUIC_PAYLOAD_BYTES};

impl Ends {
    /// Until when its hosts have nothing to do of themselves (ns): receiver, sender.
    pub fn next_at(&self) -> (u64, u64) {
        (self.receiver.ack_at(), self.sender.timer_at().min(self.sender.resume_at()))
    }

    /// IP length of what carries a segment.
    fn ip_bytes(&self, segment: u32) -> u32 {
        let payload =
            if segment.wrapping_add(1) == self.segments { self.last_bytes } else { QUIC_PAYLOAD_BYTES };
        payload + QUIC_HEADER_BYTES
    }

    /// An acknowledgement that the receiver makes at `at`, on its way.
    fn acknowledge(&mut self, at: u64, frame: AckFrame, reverse: &mut ReversePath) -> Ack {
        Ack {
            at: reverse.ack_arrival(at),
            sent: timestamp(at),
            window: frame.ip_bytes() as u16,
            cum: self.departs(frame),
            ..Ack::default()
        }
    }

    /// Puts what the sender let out on the access link.
    fn emit(&mut self, index: u32, now: u64, up: &mut Uplink, wheel: &mut Wheel) {
        let mut out = std::mem::take(&mut self.out);
        for packet in out.drain(..) {
            let bytes = self.ip_bytes(packet.segment);
            up.emit_one(index, now, packet, bytes, &mut self.access_free_ns, wheel);
        }
        self.out = out;
    }

    /// Begins the handshake, or goes on with it.
    fn open(&mut self, index: u32, now: u64, up: &mut Uplink, wheel: &mut Wheel) {
        self.sender.send_handshake(now);
        let packet = Outgoing { segment: 0, number: 0, flags: flag::SYN | flag::QUIC };
        up.emit_one(index, now, packet, QUIC_INITIAL_BYTES, &mut self.access_free_ns, wheel);
    }
}

impl Uplink {
    /// Puts a packet of so many bytes (IP) on the access link: the event of its arrival at the first port.
    fn emit_one(
        &mut self,
        index: u32,
        now: u64,
        packet: Outgoing,
        bytes: u32,
        access_free_ns: &mut u64,
        wheel: &mut Wheel,
    ) {
        self.emitted += 1;
        let sent_at = self.leaves_access(now, bytes, access_free_ns);
        let mut event = Event::plain(self.arrives_at(sent_at), EventKind::Arrive, index);
        event.seq = packet.segment;
        event.ts = packet.number;
        event.count = 1;
        event.flags = packet.flags;
        wheel.push(event);
    }
}

impl Flow {
    /// Opens a connection at `now`, or begins to send on one that is open: as [`Flow::start`].
    #[cold]
    pub(crate) fn start_quic(
        &mut self,
        index: u32,
        now: u64,
        rtt_ns: u64,
        open_for_ns: u64,
        wheel: &mut Wheel,
    ) {
        let opens = self.is_finite();
        let landing_ns = self.landing_ns;
        let Endpoints::Quic(ends) = &mut self.ends else { return };
        if opens {
            return ends.open(index, now, &mut self.up, wheel);
        }
        // Both hosts worked on the handshake, as TCP's.
        let Ends { sender, out, .. } = &mut **ends;
        sender.start_open(now, rtt_ns + landing_ns / 4, open_for_ns, out);
        ends.emit(index, now, &mut self.up, wheel);
    }

    /// A packet arrives at the receiver.
    #[inline(never)]
    pub(crate) fn receive_quic(&mut self, packet: Delivery, acks: &mut Vec<Ack>) {
        let Endpoints::Quic(ends) = &mut self.ends else { return };
        let (at, flags) = (packet.at(), packet.flags());
        if flags & flag::SYN != 0 {
            return acks.push(Ack {
                at: self.reverse.arrival(at, 0),
                sent: timestamp(at),
                window: QUIC_INITIAL_BYTES as u16,
                flags: flag::SYN,
                ..Ack::default()
            });
        }
        // What was due before goes first.
        if let Some((due, frame)) = ends.receiver.due(at) {
            acks.push(ends.acknowledge(due, frame, &mut self.reverse));
        }
        ends.receiver.is_heard(ends.sender.heard_with(packet.number()));
        let before = ends.receiver.in_order();
        let frame = ends.receiver.on_packet(at, packet.number(), packet.seq, flags & flag::CE != 0);
        if let Some(frame) = frame {
            acks.push(ends.acknowledge(at, frame, &mut self.reverse));
        }
        let after = ends.receiver.in_order();
        if after == before {
            return;
        }
        let finished = after >= ends.segments;
        let short = if finished { QUIC_PAYLOAD_BYTES - ends.last_bytes } else { 0 };
        let bytes = u64::from(after - before) * u64::from(QUIC_PAYLOAD_BYTES) - u64::from(short);
        self.reverse.delivered(at, bytes);
        if ends.segments != u32::MAX {
            self.first_ns.get_or_insert(at);
        }
        if finished {
            self.finished_ns = Some(at);
        }
    }

    /// A delayed acknowledgement goes out, if it can reach the sender by `now`.
    #[inline(never)]
    pub(crate) fn answer_quic(&mut self, now: u64, acks: &mut Vec<Ack>) {
        let Endpoints::Quic(ends) = &mut self.ends else { return };
        let by = now.saturating_sub(self.reverse.reverse_ns);
        if let Some((at, frame)) = ends.receiver.due(by) {
            acks.push(ends.acknowledge(at, frame, &mut self.reverse));
        }
    }

    /// The sender works in its acknowledgements, timers and pacing gaps up to `now`. How many acknowledgements that were.
    #[inline(never)]
    pub(crate) fn send_quic(&mut self, index: u32, now: u64, acks: &[Ack], wheel: &mut Wheel) -> usize {
        let Endpoints::Quic(ends) = &mut self.ends else { return 0 };
        let up = &mut self.up;
        let (mut done, mut clock) = (0, 0);
        loop {
            let ack_at = acks.get(done).map_or(u64::MAX, |ack| ack.at);
            let at = ack_at.min(ends.next_at().1).max(clock);
            if at > now {
                return done;
            }
            clock = at;
            if ack_at <= at {
                let ack = &acks[done];
                done += 1;
                if ack.flags & flag::SYN != 0 {
                    if self.connected_ns == 0 {
                        self.connected_ns = at;
                    }
                    let Ends { sender, out, .. } = &mut **ends;
                    sender.on_established(at, out);
                } else if let Some(frame) = ends.arrives(ack.cum) {
                    let random = if ends.sender.draws() { up.draw() } else { 0 };
                    let Ends { sender, out, .. } = &mut **ends;
                    sender.on_ack(at, &frame, random, out);
                    if self.acked_ns == 0 && sender.acked_to() >= ends.segments {
                        self.acked_ns = at;
                    }
                }
            } else if ends.sender.resume_at() <= at {
                let Ends { sender, out, .. } = &mut **ends;
                sender.on_resume(at, out);
            } else {
                let Ends { sender, out, .. } = &mut **ends;
                if sender.on_timer(at, out) {
                    ends.open(index, at, up, wheel);
                }
            }
            ends.emit(index, at, up, wheel);
        }
    }
}
