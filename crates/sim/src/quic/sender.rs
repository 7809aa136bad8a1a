//! A sender: what goes out, what acknowledgements and timers do (RFC 9002 appendix A). What congestion makes of the window is in `congestion`.

use super::constants::{INITIAL_WINDOW, PACING, PROBES};
use super::ranges::Ranges;
use super::receiver::AckFrame;
use super::rtt::Rtt;
use crate::log::SenderLog;
use crate::packet::flag;
use crate::sender::SenderStats;
use queuewright_cca::{CaState, Cca, Clock, Conn, Event, Fault, Flavour, Hosted, Kind, RateSample, Wants};
use queuewright_results::events::SenderAction;
use queuewright_scenario::packet::QUIC_DATAGRAM_BYTES;
use std::collections::VecDeque;

/// A host's clock as a congestion control sees it: a tick is the timers' granularity.
const CLOCK: Clock = Clock::new(1000);

/// How a sender is set up.
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    /// Congestion control.
    pub cca: Kind,
    /// Segments to send at first; none: without end.
    pub segments: Option<u32>,
    /// The connection ends once they are acknowledged; else the application may write more.
    pub closes: bool,
    /// Packets that may be sent before the first acknowledgement; none: [`INITIAL_WINDOW`].
    pub initial_window: Option<u32>,
    /// Rate asked of a congestion control that needs one, bytes a second.
    pub rate: u64,
    /// Its packets can be marked.
    pub ecn: bool,
    /// They say ECT(1), not ECT(0).
    pub l4s: bool,
    /// A packet is lost once one that was sent so many later is acknowledged: [`PACKET_THRESHOLD`](super::constants::PACKET_THRESHOLD), but in tests.
    pub packet_threshold: u32,
    /// Application stops writing (ns); `u64::MAX`: never.
    pub stop_ns: u64,
    /// Measures start here (ns).
    pub warmup_ns: u64,
}

/// A packet that goes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outgoing {
    /// What it carries.
    pub segment: u32,
    /// Its number.
    pub number: u32,
    /// `packet::flag`s.
    pub flags: u8,
}

/// What has become of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is in flight.
    InFlight,
    /// It is acknowledged.
    Acked,
    /// It is thought lost.
    Lost,
}

/// A packet that was sent (RFC 9002 appendix A.1), with what there was then (draft-ietf-ccwg-bbr, delivery rate samples).
#[derive(Debug, Clone, Copy)]
pub struct Sent {
    pub(super) at: u64,
    pub(super) segment: u32,
    pub(super) fate: Fate,
    /// A probe carries its segment again: if it is lost nobody else has to.
    probed: bool,
    delivered_ns: u64,
    first_tx_ns: u64,
    delivered: u32,
    delivered_ce: u32,
    lost: u32,
    pub(super) tx_in_flight: u32,
    pub(super) app_limited: bool,
    /// The largest number that was acknowledged when it went. By that its receiver knows which acknowledgement has arrived.
    heard: u32,
}

/// A sender.
#[derive(Debug)]
pub struct Sender {
    pub(super) conn: Conn,
    pub(super) cca: Cca,
    kind: Kind,
    pub(super) wants: Wants,
    pub(super) rtt: Rtt,

    /// Packets sent, from the number `base` on: those before are done with.
    sent: VecDeque<Sent>,
    base: u32,
    /// Packet numbers in flight.
    pub(super) in_flight: Ranges,
    /// Packet numbers that were thought lost, rising, and may yet be acknowledged.
    lost: VecDeque<u32>,
    /// The largest number acknowledged.
    largest_acked: Option<u32>,
    /// When the next packet is lost by its time (ns); `u64::MAX`: none may be.
    loss_at: u64,
    /// When the last packet went (ns).
    last_sent_at: u64,
    pto_count: u32,
    timer_at: u64,
    /// Numbers that an acknowledgement newly acknowledges; reused.
    fresh: Vec<(u32, u32)>,

    // The stream.
    end: u32,
    next_segment: u32,
    /// One past the highest segment that was sent.
    most_sent: u32,
    acked: Ranges,
    to_resend: VecDeque<u32>,
    stop_ns: u64,
    closes: bool,
    packet_threshold: u32,

    // Congestion.
    /// When the last recovery period began (ns).
    pub(super) recovery_start: Option<u64>,
    /// CE count told so far.
    ce: u32,
    ect: u8,
    first_tx_ns: u64,

    /// The pacer's bucket is empty until then (ns); before the run's begin where it began full then.
    paced_until: i64,
    resume_at: u64,

    established: bool,
    /// When the handshake was last sent (ns), and how often it was.
    handshake_at: u64,
    handshakes: u32,
    /// See [`Setup::rate`].
    rate: u64,

    measure_from_ns: u64,
    srtt_sum_ns: u128,
    srtt_count: u64,
    resent: u64,
    retransmits: u64,
    timeouts: u64,
    /// What it does; none: nobody wants to know.
    pub log: Option<Box<SenderLog>>,
}

/// A time that is known, in us: 0 would say that it is not.
fn us(ns: u64) -> u32 {
    u32::try_from(ns / 1000).unwrap_or(u32::MAX).max(1)
}

impl Sender {
    /// A sender whose handshake has not begun.
    pub fn new(s: Setup) -> Sender {
        let mut conn = Conn { mss: QUIC_DATAGRAM_BYTES, clock: CLOCK, pacing: true, ..Conn::default() };
        conn.cwnd = s.initial_window.unwrap_or(INITIAL_WINDOW);
        let cca = Cca::unopened(s.cca, Flavour::QUIC, &mut conn);
        let wants = cca.wants();
        Sender {
            conn,
            cca,
            kind: s.cca,
            wants,
            rtt: Rtt::default(),
            sent: VecDeque::new(),
            base: 0,
            in_flight: Ranges::default(),
            lost: VecDeque::new(),
            largest_acked: None,
            loss_at: u64::MAX,
            last_sent_at: 0,
            pto_count: 0,
            timer_at: u64::MAX,
            fresh: Vec::new(),
            end: s.segments.unwrap_or(u32::MAX),
            next_segment: 0,
            most_sent: 0,
            acked: Ranges::default(),
            to_resend: VecDeque::new(),
            stop_ns: s.stop_ns,
            closes: s.closes,
            packet_threshold: s.packet_threshold,
            recovery_start: None,
            ce: 0,
            ect: if s.ecn { flag::ECT | if s.l4s { flag::ECT1 } else { 0 } } else { 0 },
            first_tx_ns: 0,
            paced_until: i64::MIN / 2,
            resume_at: u64::MAX,
            established: false,
            handshake_at: 0,
            handshakes: 0,
            rate: s.rate,
            measure_from_ns: s.warmup_ns,
            srtt_sum_ns: 0,
            srtt_count: 0,
            resent: 0,
            retransmits: 0,
            timeouts: 0,
            log: None,
        }
    }

    /// The connection as its congestion control sees it. Its sequence numbers are packet numbers.
    pub fn conn(&self) -> &Conn {
        &self.conn
    }

    /// What it knows of the round-trip time.
    #[cfg(test)]
    pub fn rtt(&self) -> &Rtt {
        &self.rtt
    }

    /// When its timer is due (ns); `u64::MAX`: never.
    pub fn timer_at(&self) -> u64 {
        self.timer_at
    }

    /// When pacing lets it send again (ns); `u64::MAX`: it does not wait for that.
    pub fn resume_at(&self) -> u64 {
        self.resume_at
    }

    /// Does its congestion control draw at random?
    pub fn draws(&self) -> bool {
        self.wants.cong_control
    }

    /// Probe timeouts since the last acknowledgement.
    #[cfg(test)]
    pub fn pto_count(&self) -> u32 {
        self.pto_count
    }

    /// How often the handshake was sent again.
    pub fn handshakes_resent(&self) -> u32 {
        self.handshakes.saturating_sub(1)
    }

    /// Segments sent again.
    pub fn resent(&self) -> u64 {
        self.resent
    }

    /// The first segment that is not acknowledged.
    pub fn acked_to(&self) -> u32 {
        self.acked.without_gap()
    }

    /// What its congestion control has left with which no connection can go on.
    pub fn fault(&self) -> Option<Fault> {
        self.cca.hosted().and_then(Hosted::fault)
    }

    /// A variable of its congestion control, one of a user's own; NaN until that has begun.
    pub fn control_probe(&self, i: usize) -> f64 {
        let begun = self.cca.hosted().filter(|_| self.established);
        begun.map_or(f64::NAN, |hosted| hosted.probe(&self.conn, i))
    }

    /// Measures since the warm-up. Its timeouts are probe timeouts.
    pub fn stats(&self) -> SenderStats {
        SenderStats {
            retransmits: self.retransmits,
            resent: self.resent,
            timeouts: self.timeouts,
            mean_srtt_us: (self.srtt_count > 0)
                .then(|| self.srtt_sum_ns as f64 / self.srtt_count as f64 / 1000.0),
        }
    }

    /// What has become of a packet; none: it was not sent, or that is forgotten.
    #[cfg(test)]
    pub fn fate(&self, number: u32) -> Option<Fate> {
        self.sent.get(number.checked_sub(self.base)? as usize).map(|s| s.fate)
    }

    /// What a packet that arrives says of acknowledgements: the largest number acknowledged by those that its sender had.
    pub fn heard_with(&self, number: u32) -> u32 {
        let at = number.checked_sub(self.base).map(|at| at as usize);
        at.and_then(|at| self.sent.get(at)).map_or(0, |packet| packet.heard)
    }

    /// A packet of `base` on.
    pub(super) fn packet(&self, number: u32) -> Sent {
        self.sent[(number - self.base) as usize]
    }

    /// Begins the handshake, or goes on with it: the time of the next try is set.
    pub fn send_handshake(&mut self, now: u64) {
        self.handshakes += 1;
        self.handshake_at = now;
        let timeout_ns = self.rtt.handshake_timeout_ns() << (self.handshakes - 1).min(10);
        self.timer_at = now + timeout_ns;
    }

    /// The handshake is over. Was it not before?
    pub fn on_established(&mut self, now: u64, out: &mut Vec<Outgoing>) -> bool {
        if self.established {
            return false;
        }
        // Which of several tries was answered nobody can tell: then it is no sample.
        if self.handshakes <= 1 {
            self.rtt.sample(now, now - self.handshake_at, 0);
        }
        self.begin(now);
        self.push(now, out);
        self.tell_state(now);
        true
    }

    /// The connection was opened beforehand, when the path was empty: its first sample is `rtt_ns`, `open_for_ns` ago.
    pub fn start_open(&mut self, now: u64, rtt_ns: u64, open_for_ns: u64, out: &mut Vec<Outgoing>) {
        self.rtt.sample(now, rtt_ns, 0);
        self.begin(now);
        self.cca.opened_before(self.conn.clock, open_for_ns);
        self.push(now, out);
        self.tell_state(now);
    }

    fn begin(&mut self, now: u64) {
        self.established = true;
        self.timer_at = u64::MAX;
        self.tell_rtt();
        self.conn.delivered_ns = now;
        // The handshake counts.
        self.conn.delivered = 1;
        self.cca = Cca::new(self.kind, Flavour::QUIC, &mut self.conn, now);
        self.wants = self.cca.wants();
        self.conn.pacing = true;
        if self.kind.needs_rate() {
            self.cca.set_rate(&mut self.conn, self.rate, now);
        }
        self.update_pacing_rate();
    }

    /// The connection's round-trip times, us.
    fn tell_rtt(&mut self) {
        self.conn.srtt_us = us(self.rtt.smoothed_ns).saturating_mul(8);
        if self.rtt.min_ns != u64::MAX {
            self.conn.min_rtt_us = us(self.rtt.min_ns);
        }
    }

    /// RFC 9002 section 7.7, for controls that set no rate themselves.
    fn update_pacing_rate(&mut self) {
        if self.wants.cong_control {
            return;
        }
        let (n, of) = PACING;
        let window = u128::from(self.conn.cwnd) * u128::from(self.conn.mss);
        let rate = window * 1_000_000_000 * u128::from(n) / (u128::from(self.rtt.smoothed_ns.max(1) * of));
        self.conn.pacing_rate = u64::try_from(rate).unwrap_or(u64::MAX).max(1);
    }

    /// An ACK frame arrives (`OnAckReceived`). What it lets out is appended to `out`; `random` feeds controls that dither.
    pub fn on_ack(&mut self, now: u64, frame: &AckFrame, random: u32, out: &mut Vec<Outgoing>) {
        let Some(largest) = frame.largest() else { return };
        if !self.established || largest >= self.next_number() {
            return;
        }
        self.largest_acked = self.largest_acked.max(Some(largest));
        let mut fresh = std::mem::take(&mut self.fresh);
        fresh.clear();
        for &(first, end) in frame.ranges() {
            self.in_flight.take(first, end, |from, to| fresh.push((from, to)));
        }
        if let (Some(log), false) = (&mut self.log, fresh.is_empty()) {
            let (delay_ns, marked) = (frame.delay_ns, frame.ce);
            log.add(now, SenderAction::Received { delay_ns, marked });
            fresh.iter().for_each(|r| log.add(now, SenderAction::Acked(r.0, r.1)));
        }
        self.see_spurious(frame);
        let newest = fresh.last().map(|r| r.1 - 1);
        if let Some(newest) = newest {
            self.work_in(now, frame, largest, &fresh, newest, random);
            self.forget(now);
        }
        fresh.clear();
        self.fresh = fresh;
        if self.closes && self.next_segment >= self.end && self.acked_to() >= self.end {
            self.close();
        }
        if newest.is_some() {
            self.push(now, out);
            self.tell_state(now);
        }
    }

    /// The same of packets that it newly acknowledges, of which the `newest` was sent last; `largest`: of all that it acknowledges.
    fn work_in(
        &mut self,
        now: u64,
        frame: &AckFrame,
        largest: u32,
        fresh: &[(u32, u32)],
        newest: u32,
        random: u32,
    ) {
        let mut rs =
            RateSample { prior_in_flight: self.conn.packets_out, rtt_us: -1, ..RateSample::default() };
        let mut acked = 0;
        for number in fresh.iter().flat_map(|r| r.0..r.1) {
            self.arrived(number);
            acked += 1;
        }
        self.conn.packets_out -= acked;
        self.conn.delivered = self.conn.delivered.wrapping_add(acked);
        if self.conn.app_limited != 0 && self.conn.delivered > self.conn.app_limited {
            self.conn.app_limited = 0;
        }
        let last = self.packet(newest);
        let mut rtt_us = 0;
        if largest == newest {
            self.rtt.sample(now, now - last.at, frame.delay_ns);
            self.tell_rtt();
            rtt_us = us(self.rtt.latest_ns);
            rs.rtt_us = rtt_us.into();
        }
        if let Some(ce) = frame.ce.filter(|ce| *ce > self.ce) {
            self.conn.delivered_ce = self.conn.delivered_ce.wrapping_add(ce - self.ce);
            self.ce = ce;
            // It is known still: nothing is forgotten from the first packet in flight on, and the newest was one.
            self.congestion_event(now, self.packet(largest).at, CaState::Cwr);
        }
        self.tell_oldest();
        if self.wants.in_ack_event {
            self.cca.in_ack_event(&mut self.conn, now);
        }
        let lost = self.detect_lost(now);
        self.conn.delivered_ns = now;
        self.tell_oldest();
        if self.wants.pkts_acked {
            self.cca.pkts_acked(&mut self.conn, acked, rtt_us, now);
        }
        self.finish_sample(now, &last, acked, lost, &mut rs);
        self.on_acked(now, fresh, acked, &rs, random);
        self.update_pacing_rate();
        if now >= self.measure_from_ns {
            self.srtt_sum_ns += u128::from(self.rtt.smoothed_ns);
            self.srtt_count += 1;
        }
        self.pto_count = 0;
        self.set_timer();
    }

    /// A packet is acknowledged, and with it what it carries.
    fn arrived(&mut self, number: u32) {
        let packet = &mut self.sent[(number - self.base) as usize];
        packet.fate = Fate::Acked;
        let segment = packet.segment;
        self.acked.add(segment);
    }

    /// The first packet number in flight is what a congestion control takes for the first segment that is not acknowledged.
    fn tell_oldest(&mut self) {
        self.conn.snd_una = self.in_flight.first().unwrap_or(self.conn.snd_nxt);
    }

    /// Packets that were thought lost have arrived: their segments need not go again (RFC 9000 section 13.3).
    fn see_spurious(&mut self, frame: &AckFrame) {
        if self.lost.is_empty() {
            return;
        }
        let told = |number: u32| frame.ranges().iter().any(|r| r.0 <= number && number < r.1);
        let mut lost = std::mem::take(&mut self.lost);
        lost.retain(|&number| {
            let late = told(number);
            if late {
                self.arrived(number);
            }
            !late
        });
        self.lost = lost;
    }

    /// Forgets packets that are done with; those that were thought lost after three probe timeouts (RFC 9000 section 13.3: "some time").
    fn forget(&mut self, now: u64) {
        let keep_ns = 3 * self.rtt.probe_timeout_ns();
        while let Some(&number) = self.lost.front()
            && self.packet(number).at + keep_ns <= now
        {
            self.lost.pop_front();
        }
        let first = self.lost.front().copied().into_iter().chain(self.in_flight.first()).min();
        let first = first.unwrap_or(self.next_number());
        self.sent.drain(..(first - self.base) as usize);
        self.base = first;
    }

    /// `DetectAndRemoveLostPackets`, `OnPacketsLost`: packets found lost.
    pub(super) fn detect_lost(&mut self, now: u64) -> u32 {
        self.loss_at = u64::MAX;
        let Some(largest) = self.largest_acked else { return 0 };
        let delay_ns = self.rtt.loss_delay_ns();
        // The first packet that may still arrive: those before it are lost, as they were sent before it.
        let mut end = 0;
        'all: for &(first, last) in self.in_flight.get() {
            for number in first..last {
                if number > largest {
                    break 'all;
                }
                let due = self.packet(number).at + delay_ns;
                if due > now && largest < number + self.packet_threshold {
                    self.loss_at = due;
                    break 'all;
                }
                end = number + 1;
            }
        }
        if end == 0 {
            return 0;
        }
        let mut lost = Vec::new();
        self.in_flight.take(0, end, |from, to| lost.extend(from..to));
        for &number in &lost {
            self.lose(now, number);
            if let Some(log) = &mut self.log {
                let by_time = Some(largest < number + self.packet_threshold);
                log.add(now, SenderAction::Lost { number, by_time });
            }
        }
        self.on_lost(now, &lost);
        lost.len() as u32
    }

    /// A packet is lost: what it carries goes again, unless that has arrived, or a probe carries it.
    fn lose(&mut self, now: u64, number: u32) {
        let packet = &mut self.sent[(number - self.base) as usize];
        packet.fate = Fate::Lost;
        let packet = *packet;
        self.conn.packets_out -= 1;
        self.conn.lost = self.conn.lost.wrapping_add(1);
        self.lost.push_back(number);
        if !packet.probed && !self.acked.has(packet.segment) {
            self.to_resend.push_back(packet.segment);
        }
        self.tell_lost(now, &packet, packet.lost);
    }

    /// Was every packet between two acknowledged by none?
    pub(super) fn none_acked(&self, after: u32, before: u32) -> bool {
        (after + 1..before).all(|number| self.packet(number).fate != Fate::Acked)
    }

    /// The delivery rate that the newest of the packets acknowledged tells.
    fn finish_sample(&mut self, now: u64, packet: &Sent, acked: u32, lost: u32, rs: &mut RateSample) {
        (rs.acked_sacked, rs.losses) = (acked, lost);
        if !self.wants.cong_control {
            return;
        }
        self.first_tx_ns = packet.at;
        let c = &self.conn;
        (rs.prior_ns, rs.prior_delivered) = (packet.delivered_ns, packet.delivered);
        rs.is_app_limited = packet.app_limited;
        rs.tx_in_flight = packet.tx_in_flight;
        rs.lost = c.lost.wrapping_sub(packet.lost);
        rs.delivered_ce = c.delivered_ce.wrapping_sub(packet.delivered_ce);
        rs.delivered = c.delivered.wrapping_sub(packet.delivered) as i32;
        let interval_ns = (packet.at - packet.first_tx_ns).max(now - packet.delivered_ns);
        rs.interval_us = (interval_ns / 1000) as i64;
        // Faster than the path can be: acknowledgements were compressed.
        if rs.interval_us < i64::from(c.min_rtt_us) {
            rs.interval_us = -1;
        }
    }

    /// `SetLossDetectionTimer`
    fn set_timer(&mut self) {
        self.timer_at = match self.loss_at {
            u64::MAX if self.conn.packets_out == 0 => u64::MAX,
            u64::MAX => self.last_sent_at + (self.rtt.probe_timeout_ns() << self.pto_count.min(20)),
            at => at,
        };
    }

    /// The timer fires (`OnLossDetectionTimeout`). Is it that of the handshake?
    pub fn on_timer(&mut self, now: u64, out: &mut Vec<Outgoing>) -> bool {
        if !self.established {
            return true;
        }
        if self.loss_at != u64::MAX {
            self.detect_lost(now);
            self.tell_oldest();
            self.update_pacing_rate();
            self.set_timer();
            self.push(now, out);
            self.tell_state(now);
            return false;
        }
        self.pto_count += 1;
        self.timeouts += u64::from(now >= self.measure_from_ns);
        for nth in 0..PROBES {
            match self.probe_segment(now, nth > 0) {
                Some(segment) => self.send(now, segment, true, out),
                None => break,
            }
        }
        self.set_timer();
        self.tell_state(now);
        false
    }

    /// What a probe carries (RFC 9002 section 6.2.4): what waits to go again, new data, the oldest that is not acknowledged; if there is nothing of
    /// that, the newest once more. `other`: not that.
    fn probe_segment(&mut self, now: u64, other: bool) -> Option<u32> {
        if let Some(segment) = self.next_to_send(now) {
            return Some(segment);
        }
        let mut numbers = self.in_flight.get().iter().flat_map(|r| r.0..r.1);
        let oldest = numbers.find(|&number| {
            let packet = self.packet(number);
            !packet.probed && !self.acked.has(packet.segment)
        });
        match oldest {
            // What the first probe carries the second does not.
            Some(number) if other && self.packet(number).at == now => None,
            Some(number) => {
                let packet = &mut self.sent[(number - self.base) as usize];
                packet.probed = true;
                Some(packet.segment)
            }
            None if other => None,
            None => self.in_flight.get().last().map(|r| self.packet(r.1 - 1).segment),
        }
    }

    /// Takes the segment that goes next: what was lost, or new data; none: the application has no more.
    fn next_to_send(&mut self, now: u64) -> Option<u32> {
        while let Some(segment) = self.to_resend.pop_front() {
            if !self.acked.has(segment) {
                return Some(segment);
            }
        }
        if now >= self.stop_ns {
            self.end = self.end.min(self.next_segment);
        }
        let segment = self.next_segment;
        (segment < self.end).then(|| {
            self.next_segment += 1;
            segment
        })
    }

    /// The application writes so many segments more.
    #[cfg(test)]
    pub fn write(&mut self, now: u64, segments: u32, out: &mut Vec<Outgoing>) {
        self.end = self.end.saturating_add(segments).min(u32::MAX - 1);
        self.push(now, out);
    }

    /// Pacing lets it go on.
    pub fn on_resume(&mut self, now: u64, out: &mut Vec<Outgoing>) {
        self.resume_at = u64::MAX;
        self.push(now, out);
        self.tell_state(now);
    }

    /// Tells what it knows now, if that is wanted.
    fn tell_state(&mut self, now: u64) {
        if let Some(log) = &mut self.log {
            log.see(now, &self.conn, self.wants.cong_control, self.rtt.told(), self.pto_count);
        }
    }

    /// Sends what window and pacing allow.
    fn push(&mut self, now: u64, out: &mut Vec<Outgoing>) {
        self.resume_at = u64::MAX;
        let mut limited = true;
        while self.conn.packets_out < self.conn.cwnd {
            if self.paced_until > now as i64 {
                self.resume_at = self.paced_until as u64;
                break;
            }
            let Some(segment) = self.next_to_send(now) else {
                // RFC 9002 section 7.8: the window is not used. What pacing holds back does not count.
                limited = false;
                self.conn.app_limited = (self.conn.delivered + self.conn.packets_out).max(1);
                break;
            };
            self.send(now, segment, false, out);
        }
        self.conn.is_cwnd_limited = limited;
    }

    /// The next packet number.
    pub(super) fn next_number(&self) -> u32 {
        self.conn.snd_nxt
    }

    /// Sends a packet (`OnPacketSent`), whatever window and pacing say.
    fn send(&mut self, now: u64, segment: u32, probe: bool, out: &mut Vec<Outgoing>) {
        let number = self.next_number();
        let c = &mut self.conn;
        if c.packets_out == 0 {
            let last_send_ns = Some(c.last_send_ns).filter(|at| *at > 0);
            self.cca.event(c, Event::TxStart { last_send_ns }, now);
            self.first_tx_ns = now;
            c.delivered_ns = now;
            c.snd_una = number;
        }
        c.snd_nxt += 1;
        c.packets_out += 1;
        self.sent.push_back(Sent {
            at: now,
            segment,
            fate: Fate::InFlight,
            probed: false,
            delivered_ns: c.delivered_ns,
            first_tx_ns: self.first_tx_ns,
            delivered: c.delivered,
            delivered_ce: c.delivered_ce,
            lost: c.lost,
            tx_in_flight: c.packets_out,
            app_limited: c.app_limited != 0,
            heard: self.largest_acked.unwrap_or(0),
        });
        self.in_flight.add(number);
        let again = segment < self.most_sent;
        if again {
            self.resent += 1;
            self.retransmits += u64::from(now >= self.measure_from_ns);
        } else {
            self.most_sent = segment + 1;
        }
        self.last_sent_at = now;
        self.pace(now);
        self.set_timer();
        if let Some(log) = &mut self.log {
            log.add(now, SenderAction::Sent { number, segment, again, probe });
        }
        out.push(Outgoing { segment, number, flags: self.ect | flag::QUIC });
    }

    /// The pacer's bucket (RFC 9002 section 7.7): so many packets as the initial window may go at once.
    fn pace(&mut self, now: u64) {
        self.conn.last_send_ns = now.max(1);
        let gap_ns = match self.conn.pacing_rate {
            0 | u64::MAX => 0,
            rate => u64::from(self.conn.mss) * 1_000_000_000 / rate,
        };
        // A slow rate's gap is as long as a run may be, and no longer.
        let gap_ns = gap_ns.min(1 << 50) as i64;
        let full = now as i64 - gap_ns * (i64::from(INITIAL_WINDOW) - 1);
        self.paced_until = self.paced_until.max(full) + gap_ns;
        self.conn.edt_ns = self.paced_until.max(0) as u64;
    }

    /// All is acknowledged that there was to send: the connection ends.
    fn close(&mut self) {
        self.in_flight.clear();
        self.lost.clear();
        self.to_resend.clear();
        self.conn.packets_out = 0;
        self.loss_at = u64::MAX;
        self.set_timer();
        self.sent.clear();
        self.base = self.next_number();
    }
}
