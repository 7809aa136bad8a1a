//! The two hosts of a flow: each works through its events in batches.
//!
//! All that a port sees of a flow is the packets that reach it, and between a packet's arrival at its receiver
//! and that of the packet which its ACK lets out lies the base round trip. So hosts need not be asked at
//! each of their own events (a packet received, an ACK back, a pacing gap over, a timer due): it is enough
//! that all those are worked through, each at its own time and in their order, before what the first of them
//! sends can reach a port. That moment is the flow's deadline ([`Flow::deadline`]), for which one event is
//! pending. A flow's state is thus fetched into the cache once for many packets, its code too, and most of its
//! events need no place in the calendar. The results are those of working each event at its time.

use crate::ack::{Ack, REQUEST};
use crate::flow::{Endpoints, Flow, ReversePath, segments_of};
use crate::forward_path::{BARE, Delivery, ForwardPath};
use crate::jiffies::timestamp;
use crate::packet::{MAX_SACKS, flag};
use crate::receiver::{Echo, Receiver};
use crate::sender::{Burst, Sender};
use crate::wheel::Wheel;
use queuewright_scenario::packet::MSS;

/// Scratch space of the flow at work; reused.
#[derive(Debug, Default)]
pub struct Scratch {
    /// ACKs that reach the sender.
    acks: Vec<Ack>,
    /// What the sender lets out.
    out: Vec<Burst>,
}

/// The peer has read to the end, and closes the connection, too: its FIN acknowledges ours. Before it goes an ACK, if more than a full segment
/// came since the last one (`__tcp_ack_snd_check`: a FIN counts as a byte) or a gap was filled. Of two that say the same only ports see both.
#[cold]
fn peer_closes(
    at: u64,
    told: bool,
    calls_for_ack: bool,
    over_ports: bool,
    reverse: &mut ReversePath,
    receiver: &mut Receiver,
    acks: &mut Vec<Ack>,
) {
    let wanted = if calls_for_ack && over_ports { 2 } else { 1 };
    for _ in usize::from(told)..wanted {
        let ack = receiver.answers(at);
        acks.push(Ack::new(reverse.ack_arrival(ack.at), ack, receiver));
    }
}

/// A segment without data. It is sent once: whether it arrives changes nothing here.
fn bare(sender: &Sender) -> Burst {
    Burst { seq: BARE, count: 1, flags: flag::SYN | sender.always_ect() }
}

impl Flow {
    /// Works through all that its hosts do up to `now`. Packets that ports have delivered to arrive after
    /// `received_by` may wait. What is sent goes into the wheel. Is what its client asked for complete?
    pub fn catch_up(
        &mut self,
        index: u32,
        received_by: u64,
        now: u64,
        forward: &mut ForwardPath,
        bench: &mut Scratch,
        wheel: &mut Wheel,
    ) -> bool {
        bench.acks.append(&mut self.held);
        let held = bench.acks.len();
        let mut complete = false;
        while let Some(packet) = forward.take(received_by) {
            complete |= self.receive(packet, &mut bench.acks);
        }
        if complete {
            (forward.last_segment, forward.last_bytes) = self.last_on_wire();
        }
        self.answer(now, &mut bench.acks);
        if let Some(acks_in_flight) = &mut self.acks_in_flight {
            let flags = if let Endpoints::Quic(_) = self.ends { flag::QUIC } else { 0 };
            for ack in bench.acks.drain(held..) {
                wheel.push(acks_in_flight.departs(ack, index, self.forward_hops, flags));
            }
        }
        let done = match self.log {
            None => self.send::<false>(index, now, bench, wheel),
            Some(_) => self.send_and_tell(index, now, bench, wheel),
        };
        self.held.extend_from_slice(&bench.acks[done..]);
        bench.acks.clear();
        complete
    }

    /// Until when all of this flow's packets that may reach a port are in the wheel (ns).
    pub fn deadline(&self, forward: &ForwardPath) -> u64 {
        let (receiver_at, sender_at) = match &self.ends {
            Endpoints::Tcp { sender, receiver, .. } => {
                (receiver.next_at(), sender.timer_at().min(sender.resume_at()))
            }
            Endpoints::Quic(ends) => ends.next_at(),
            Endpoints::Udp { .. } => return u64::MAX,
        };
        let received = forward.first_at().min(receiver_at).saturating_add(forward.loop_ns);
        let sent = self.held.first().map_or(u64::MAX, |ack| ack.at).min(sender_at);
        received.min(sent.saturating_add(self.up.forward_ns))
    }

    /// Opens the connection at `now`; `rtt_ns` is that of the empty path. A bulk flow's is open for `open_for_ns`.
    pub fn start(
        &mut self,
        index: u32,
        now: u64,
        rtt_ns: u64,
        open_for_ns: u64,
        bench: &mut Scratch,
        wheel: &mut Wheel,
    ) {
        // A bulk flow's connection is open before it starts, as a measurement tool's is. Were it not,
        // flows that start together would lose their SYNs to one another in a small buffer.
        let opens = self.is_finite() || self.client.is_some();
        if let Endpoints::Tcp { receiver, .. } = &mut self.ends
            && (!opens || self.client.is_some())
        {
            // The end of the handshake takes half a round trip to it.
            let after_ns = if opens { 0 } else { (rtt_ns / 2) as i64 - open_for_ns as i64 };
            receiver.begins(self.start_ns as i64 + after_ns);
        }
        // What is measured of it begins with its first packet, not with what it waited for its host.
        self.start_ns = now;
        if let Some(client) = &mut self.client {
            client.opens(now);
        }
        let Endpoints::Tcp { sender, segments, last_bytes, .. } = &mut self.ends else {
            return self.start_quic(index, now, rtt_ns, open_for_ns, wheel);
        };
        if opens {
            sender.send_syn(now, &mut bench.out);
        } else {
            self.up.heard_ms = timestamp(now).wrapping_sub(timestamp(open_for_ns + self.reverse.reverse_ns));
            // Both hosts worked on it: 40.05 ms on Linux where the path takes 40.00.
            sender.start_open(now, rtt_ns + self.landing_ns / 4, open_for_ns, &mut bench.out);
        }
        if let Some(log) = &mut self.log {
            log.tcp(now, sender, &bench.out);
        }
        for burst in bench.out.drain(..) {
            self.up.emit(index, now, burst, (*segments, *last_bytes), sender, wheel);
        }
    }

    /// A packet arrives at the receiver. Is what its client asked for complete?
    #[inline]
    fn receive(&mut self, packet: Delivery, acks: &mut Vec<Ack>) -> bool {
        if self.acks_in_flight.is_some() && self.client.is_some() {
            self.hear(&packet, acks);
        }
        let Endpoints::Tcp { receiver, segments, last_bytes, awaited, sender } = &mut self.ends else {
            self.receive_quic(packet, acks);
            return false;
        };
        let (at, flags) = (packet.at(), packet.flags());
        let (ts, echo) = packet.times();
        if flags & flag::SYN != 0 {
            // It says nothing that the data behind it do not.
            if packet.seq == BARE {
                return false;
            }
            acks.push(Ack {
                at: self.reverse.arrival(at, 0),
                sent: timestamp(at),
                ts,
                window: u16::MAX,
                flags: flag::SYN,
                ..Ack::default()
            });
            return false;
        }
        let segment = (packet.seq, packet.seq + 1);
        if receiver.goes_first(at, segment, ts, flags) {
            let ack = receiver.flush(at);
            acks.push(Ack::new(self.reverse.ack_arrival(ack.at), ack, receiver));
        }
        let (before, acked) = (receiver.rcv_nxt, receiver.acked());
        let ack = receiver.on_data(at, segment, ts, echo, flags);
        // A FIN that comes by itself has the number behind all data.
        let new = receiver.rcv_nxt.min(*segments).saturating_sub(before);
        let finished = new > 0 && receiver.rcv_nxt >= *segments;
        let first = receiver.rcv_nxt > *awaited;
        if let Some(ack) = ack {
            acks.push(Ack::new(self.reverse.ack_arrival(ack.at), ack, receiver));
        }
        if receiver.rcv_nxt >= *segments
            && receiver.rcv_nxt > before
            && sender.has_fin()
            && receiver.rcv_nxt == sender.end()
        {
            // What the FIN came with: all that is not acknowledged, or what fills a gap.
            let full =
                if sender.has_fin_apart() { before > acked } else { before > acked || *last_bytes == MSS };
            let filled = receiver.rcv_nxt - before > 1;
            let over_ports = self.acks_in_flight.is_some();
            peer_closes(at, ack.is_some(), full || filled, over_ports, &mut self.reverse, receiver, acks);
        }
        if new > 0 {
            let short = if finished { MSS - *last_bytes } else { 0 };
            self.reverse.delivered(at, u64::from(new) * u64::from(MSS) - u64::from(short));
            if first {
                self.begin(at);
            }
            if finished {
                return self.finish(at);
            }
        }
        false
    }

    /// A packet arrives at a client whose requests may be lost. If it is of the response, it acknowledges the request: that does not go again,
    /// unless that was due before.
    #[inline(never)]
    fn hear(&mut self, packet: &Delivery, acks: &mut Vec<Ack>) {
        let at = packet.at();
        let (Endpoints::Tcp { receiver, awaited, .. }, Some(client)) = (&self.ends, &self.client) else {
            return;
        };
        let asks_at = receiver.asks_at();
        let waits = asks_at != u64::MAX || !client.knows_round_trip();
        if packet.seq < *awaited || packet.flags() & flag::SYN != 0 || !waits {
            return;
        }
        if asks_at <= at {
            self.say(at, acks);
        }
        let (Endpoints::Tcp { receiver, .. }, Some(client)) = (&mut self.ends, &mut self.client) else {
            return;
        };
        receiver.ask_no_more();
        client.is_heard(at, timestamp(at).wrapping_sub(packet.times().1));
    }

    /// The first byte of what there is to send, or of what a client asked for, has arrived at `at`.
    #[cold]
    fn begin(&mut self, at: u64) {
        let Endpoints::Tcp { awaited, receiver, .. } = &mut self.ends else { return };
        *awaited = u32::MAX;
        match (&mut self.client, &mut self.asks) {
            (Some(client), _) => client.begins(at),
            (None, Some(asks)) => *awaited = asks.answered(at, receiver.rcv_nxt),
            (None, None) => self.first_ns = Some(at),
        }
    }

    /// All that there was to send has arrived at `at`. Is it what a client asked for?
    #[cold]
    fn finish(&mut self, at: u64) -> bool {
        let Some(client) = &mut self.client else {
            self.finished_ns = Some(at);
            return false;
        };
        if let (Some(asks_at), Endpoints::Tcp { receiver, segments, last_bytes, awaited, .. }) =
            (client.complete(at), &mut self.ends)
        {
            let more;
            (more, *last_bytes) = segments_of(client.bytes());
            *awaited = *segments;
            *segments = segments.saturating_add(more).min(u32::MAX - 1);
            receiver.ask_at(asks_at, *segments);
        }
        true
    }

    /// The delayed or compressed ACK goes out, and the client's request, if they can reach the sender by `now`.
    #[inline]
    fn answer(&mut self, now: u64, acks: &mut Vec<Ack>) {
        let Endpoints::Tcp { receiver, .. } = &self.ends else { return self.answer_quic(now, acks) };
        let by = now.saturating_sub(self.reverse.reverse_ns);
        if receiver.next_at() <= by {
            self.say(by, acks);
        }
    }

    /// What the receiver has to say by then, its client's request among it.
    #[inline]
    fn say(&mut self, by: u64, acks: &mut Vec<Ack>) {
        let Endpoints::Tcp { receiver, .. } = &mut self.ends else { return };
        let asks_at = receiver.asks_at();
        if let Some(ack) = receiver.due(by.min(asks_at)) {
            acks.push(Ack::new(self.reverse.ack_arrival(ack.at), ack, receiver));
        }
        if let Some(end) = receiver.asks(by) {
            // It acknowledges what came, and from then on its client is one that answers.
            let told = receiver.answers(asks_at);
            acks.push(Ack::new(self.reverse.ack_arrival(asks_at), told, receiver).asking(end, 0));
            // Ports may drop it.
            if let (Some(_), Some(client)) = (&self.acks_in_flight, &mut self.client) {
                receiver.ask_at(client.asks_again_at(asks_at), end);
            }
            if let Some(ack) = receiver.due(by) {
                acks.push(Ack::new(self.reverse.ack_arrival(ack.at), ack, receiver));
            }
        }
    }

    /// A probe asks for a byte at `now`, over the connection that the flow has, unless that has an end or is not open.
    pub fn ask(&mut self, index: u32, now: u64, wheel: &mut Wheel) {
        if self.is_finite() || self.client.is_some() {
            return;
        }
        let Endpoints::Tcp { sender, receiver, .. } = &mut self.ends else { return };
        if sender.una() == 0 || now >= self.stop_ns {
            return;
        }
        // What is due goes first, as before a client's request.
        let due = receiver.due(now).map(|ack| Ack::new(self.reverse.ack_arrival(ack.at), ack, receiver));
        let number = self.asks.get_or_insert_default().ask(now);
        let told = receiver.answers(now);
        let request = Ack::new(self.reverse.ack_arrival(now), told, receiver).asking(0, number);
        for ack in due.into_iter().chain([request]) {
            match &mut self.acks_in_flight {
                Some(returning) => wheel.push(returning.departs(ack, index, self.forward_hops, 0)),
                None => self.held.push(ack),
            }
        }
    }

    /// [`Flow::send`] of a flow whose sender tells what it does.
    #[inline(never)]
    fn send_and_tell(&mut self, index: u32, now: u64, bench: &mut Scratch, wheel: &mut Wheel) -> usize {
        self.send::<true>(index, now, bench, wheel)
    }

    /// The sender works in its ACKs, timers and pacing gaps up to `now`. How many ACKs that were. TELL: what it does is wanted.
    #[inline]
    fn send<const TELL: bool>(
        &mut self,
        index: u32,
        now: u64,
        bench: &mut Scratch,
        wheel: &mut Wheel,
    ) -> usize {
        let Endpoints::Tcp { sender, receiver, segments, last_bytes, awaited } = &mut self.ends else {
            return self.send_quic(index, now, &bench.acks, wheel);
        };
        let (up, out) = (&mut self.up, &mut bench.out);
        let opens = self.client.is_none();
        let mut done = 0;
        let mut clock = 0;
        loop {
            let ack_at = bench.acks.get(done).map_or(u64::MAX, |ack| ack.at);
            // A timer may be set to a time that has passed.
            let at = ack_at.min(sender.timer_at()).min(sender.resume_at()).max(clock);
            if at > now {
                return done;
            }
            clock = at;
            if ack_at <= at {
                let ack = &bench.acks[done];
                done += 1;
                if ack.flags & flag::SYN != 0 {
                    up.heard_ms = ack.sent;
                    if self.connected_ns == 0 {
                        self.connected_ns = at;
                    }
                    let opened = sender.on_established(at, ack.ts, out);
                    if !sender.counts_marks() && receiver.echo() == Echo::Accurate {
                        receiver.without_ecn();
                    }
                    if opened && opens {
                        // Before the data goes the ACK of the SYN's answer.
                        out.insert(0, bare(sender));
                    }
                } else if hears(&mut up.heard_ms, ack.sent, || {
                    if ack.cum == sender.una() { sender.replay_ms() } else { 0 }
                }) || sender.takes_any_ack()
                    || ack.flags & REQUEST != 0
                {
                    let random = if sender.draws() { up.draw() } else { 0 };
                    let una = sender.una();
                    sender.on_ack(at, ack.view(), random, out);
                    if sender.una() >= *segments && sender.una() > una {
                        if self.acked_ns == 0 {
                            self.acked_ns = at;
                        }
                        if opens && sender.stack_closes() && sender.una() == sender.end() {
                            // The peer, who has all, has closed the connection, too: its FIN is acknowledged. Who waited for an answer
                            // sends its own FIN only now.
                            for _ in 0..if sender.has_fin() { 1 } else { 2 } {
                                out.push(bare(sender));
                            }
                        }
                    }
                    if ack.flags & REQUEST != 0 {
                        match (ack.sacks[MAX_SACKS - 1], &mut self.asks) {
                            // The answer to a probe stands behind all that was written before.
                            ((0, number), Some(asks)) => *awaited = asks.told(number, sender.written()),
                            ((end, _), _) if end > sender.end() => sender.write(at, end - sender.end(), out),
                            _ => {}
                        }
                    }
                }
            } else if sender.resume_at() <= at {
                sender.on_resume(at, out);
            } else {
                sender.on_timer(at, out);
            }
            if TELL && let Some(log) = &mut self.log {
                log.tcp(at, sender, out);
            }
            for &burst in out.iter() {
                up.emit(index, at, burst, (*segments, *last_bytes), sender, wheel);
            }
            out.clear();
        }
    }
}

/// Is an acknowledgement young enough, beside the newest clock that its sender was heard to have? It is forgotten if another that was
/// sent more than a millisecond later has overtaken it (`tcp_paws_check`, RFC 7323 section 5), unless it repeats what was acknowledged
/// last, and is older by no more than `replay_ms` says (`tcp_disordered_ack_check`). An overtaken one tells no new time
/// (`tcp_replace_ts_recent`).
#[inline]
fn hears(heard_ms: &mut u32, sent_ms: u32, replay_ms: impl FnOnce() -> u32) -> bool {
    /// `TCP_PAWS_WINDOW`
    const WINDOW_MS: i32 = 1;
    let behind = heard_ms.wrapping_sub(sent_ms) as i32;
    if behind <= 0 {
        *heard_ms = sent_ms;
    }
    behind <= WINDOW_MS || behind as u32 <= replay_ms()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7323 section 5.2, with a window of a millisecond, also where the clock begins anew at 0.
    #[test]
    fn an_acknowledgement_that_was_overtaken_long_ago_is_forgotten() {
        for now in [1000u32, 3, 0, u32::MAX] {
            let of = |behind: u32, replay_ms: u32| {
                let mut heard = now;
                (hears(&mut heard, now.wrapping_sub(behind), || replay_ms), heard)
            };
            assert_eq!([0, 1, 2, 500].map(|behind| of(behind, 0).0), [true, true, false, false]);
            assert_eq!([0, 1, 2, 240].map(|behind| of(behind, 240)), [(true, now); 4]);
            assert_eq!(of(241, 240), (false, now));
            let mut heard = now;
            assert!(hears(&mut heard, now.wrapping_add(7), || 0));
            assert_eq!(heard, now.wrapping_add(7));
        }
    }
}
