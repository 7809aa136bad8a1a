//! Sending (`tcp_write_xmit`, `tcp_xmit_retransmit_queue`).

use super::{Burst, Sender, Timer};
use crate::jiffies::timestamp;
use crate::packet::flag;
use crate::scoreboard::{ENDS_BUFFER, EVER_RETRANS, JUDGED, LOST, RETRANS, RateTag, SACKED};
use crate::stamps::Stamp;
use queuewright_cca::{CaState, Event, GSO_MAX_SIZE};

impl Sender {
    /// Opens the connection, or tries again.
    pub fn send_syn(&mut self, now: u64, out: &mut Vec<Burst>) {
        if self.timer == Timer::Rto {
            self.syn_retransmits += 1;
            // Linux's first tries are a second apart (`tcp_syn_linear_timeouts`).
            if self.syn_retransmits > self.rules.syn_linear {
                self.rto_us = self.rto_us.saturating_mul(2);
            }
        }
        if self.retrans_stamp == 0 {
            self.retrans_stamp = timestamp(now) + 1;
        }
        self.syn_sent_ns = now;
        self.set_timer_in(Timer::Rto, now, self.rto_us.into());
        let ect = if self.kind.needs_ecn() { self.ect } else { 0 };
        out.push(Burst { seq: 0, count: 1, flags: flag::SYN | ect });
    }

    /// The application writes so many segments more.
    pub fn write(&mut self, now: u64, segments: u32, out: &mut Vec<Burst>) {
        self.restart_after_idle(now);
        self.snd_end = self.snd_end.saturating_add(segments).min(u32::MAX - 1);
        if !self.rules.autotunes {
            self.push(now, out);
        } else if !self.full {
            self.write_what_fits(now, out);
        }
    }

    /// `tcp_slow_start_after_idle_check`, `tcp_cwnd_restart` (RFC 2861): the window halves for each timeout that a connection
    /// was idle, down to the initial one.
    pub fn restart_after_idle(&mut self, now: u64) {
        if !self.rules.idle_restart
            || self.conn.packets_out > 0
            || self.cca.has_cong_control()
            || self.conn.last_send_ns == 0
        {
            return;
        }
        // Both times are kept in jiffies (`lsndtime`).
        let clock = self.conn.clock;
        let idle = clock.jiffies(now).wrapping_sub(clock.jiffies(self.conn.last_send_ns));
        let mut idle_us = clock.us(idle.into());
        if idle_us <= u64::from(self.rto_us) {
            return;
        }
        // `CA_EVENT_CWND_RESTART` tells a control no more than the start of sending, which follows.
        self.conn.ssthresh = self.conn.current_ssthresh();
        let floor = self.initial_window.min(self.conn.cwnd);
        while idle_us > u64::from(self.rto_us) && self.conn.cwnd > floor {
            idle_us -= u64::from(self.rto_us);
            self.conn.cwnd >>= 1;
        }
        self.conn.cwnd = self.conn.cwnd.max(floor);
        self.cwnd_stamp = self.tick(now);
        self.cwnd_used = 0;
    }

    /// Controls that cannot do without ECN, and AccECN, mark all they send as ECN-capable (`tcp_ecn_send`), the rest only what RFC 3168
    /// sections 6.1.1 and 6.1.5 allow: no SYN, no ACK without data, no retransmission (`tcp_ca_needs_ecn`).
    #[inline]
    pub(crate) fn always_ect(&self) -> u8 {
        if self.kind.needs_ecn() || self.accurate { self.ect } else { 0 }
    }

    /// [`StackRules::closes`](super::StackRules::closes)
    pub(crate) fn stack_closes(&self) -> bool {
        self.rules.closes
    }

    /// Pacing or the access link let the sender go on.
    pub fn on_resume(&mut self, now: u64, out: &mut Vec<Burst>) {
        self.resume_at = u64::MAX;
        if self.conn.lost_out > self.conn.retrans_out {
            self.resend_lost(now, out);
        }
        self.push(now, out);
    }

    /// `tcp_tso_autosize`: bursts of about 1 ms at the pacing rate, more on short paths, at least two segments.
    #[inline]
    pub(super) fn burst_segments(&mut self) -> u32 {
        if !self.rules.tso {
            return 1;
        }
        if self.wants.bursts {
            return self.cca.min_tso_segs(&mut self.conn).clamp(1, self.max_burst);
        }
        const GSO_BYTES: u64 = GSO_MAX_SIZE as u64;
        let mut bytes = self.conn.pacing_rate >> 10; // sk_pacing_shift: 1/1024 s
        // tcp_tso_rtt_log: every 512 us of RTT halves what a short path may add.
        let r = self.conn.min_rtt_us >> 9;
        if r < 17 {
            bytes += GSO_BYTES >> r;
        }
        let n = (bytes.min(GSO_BYTES) as u32) / self.conn.mss;
        // What a control wants goes before the stack's least (`tcp_tso_segs`).
        let least = match self.wants.min_tso_segs {
            true => self.cca.min_tso_segs(&mut self.conn),
            false => self.rules.min_burst,
        };
        n.max(least).min(self.max_burst)
    }

    /// `tcp_tso_should_defer`: is it worth waiting for a larger burst? `room`: segments that cwnd allows; `head`: those of the first
    /// buffer, behind which there is another, or not.
    #[inline]
    pub(super) fn should_defer(&self, now: u64, room: u32, burst: u32, head: u32) -> bool {
        if self.conn.ca_state >= CaState::Recovery || room >= burst {
            return false;
        }
        // Only if the last write was within a millisecond, or is to come.
        if now > self.wstamp_ns + 1_000_000 {
            return false;
        }
        // All of a buffer that will get no more may go: another one follows it.
        let is_last = self.written - self.conn.snd_nxt <= head;
        if !is_last && room >= head {
            return false;
        }
        // A third of the window is worth sending at once (tcp_tso_win_divisor), in bytes.
        let bytes = |segments: u32| u64::from(segments) * u64::from(self.conn.mss);
        let window = self.conn.cwnd.min(self.window_end.saturating_sub(self.conn.snd_una));
        if bytes(room) >= bytes(window) / u64::from(self.rules.burst_share) {
            return false;
        }
        if self.conn.packets_out == 0 {
            return false;
        }
        // Only if the next ACK is near: within half an RTT and a millisecond (Linux 6.18).
        let srtt_ns = u64::from(self.conn.srtt_us) * 125;
        let next_ack_ns = self.board.tx_ns(self.conn.snd_una) + srtt_ns;
        if next_ack_ns.saturating_sub(now) > (srtt_ns / 2).min(1_000_000) {
            return false;
        }
        // The last of all (FIN) does not wait for more.
        room <= head || !self.closes || self.written < self.snd_end
    }

    /// Does pacing or the access link's queue hold the sender back now? Sets when to resume.
    /// `out`: what it has sent, but the access link does not know of yet.
    #[inline(always)]
    pub(super) fn held_back(&mut self, now: u64, out: &[Burst]) -> bool {
        if self.conn.pacing && self.wstamp_ns > now {
            self.resume_at = self.wstamp_ns;
            return true;
        }
        self.access_bps > 0 && self.rules.tso && self.access_holds_back(now, out)
    }

    /// `tcp_small_queue_check`: a burst waits below TCP until its last segment has gone, and another goes while those that wait are
    /// less than two, or than 1 ms at the pacing rate.
    #[inline]
    fn access_holds_back(&mut self, now: u64, out: &[Burst]) -> bool {
        let segment_ns = self.access_segment_ns;
        let mut sent = 0;
        for burst in out {
            sent += u64::from(burst.count);
        }
        let free_ns = self.access_free_ns.max(now) + sent * segment_ns;
        // Two segments are always allowed: most often that settles it.
        free_ns - now > 2 * segment_ns && self.access_is_behind(now, free_ns)
    }

    /// The same where the access link will have sent all only at `free_ns`.
    #[inline(never)]
    fn access_is_behind(&mut self, now: u64, free_ns: u64) -> bool {
        let segment_ns = self.access_segment_ns;
        let rate_ns = u64::try_from(
            u128::from(self.conn.pacing_rate >> 10) * 8_000_000_000 / u128::from(self.access_bps),
        )
        .unwrap_or(u64::MAX);
        let burst_ns = segment_ns * u64::from(self.burst_segments());
        let allowed = (rate_ns.max(2 * burst_ns).div_ceil(burst_ns) - 1) * burst_ns;
        if free_ns - now > allowed {
            self.resume_at = free_ns - allowed;
            return true;
        }
        false
    }

    /// Sends what the windows allow; an application that finds room for more in the send buffer writes, and that goes, too.
    pub fn push(&mut self, now: u64, out: &mut Vec<Burst>) {
        if !self.rules.autotunes {
            self.fill_buffer(now);
            self.transmit(now, false, out);
            return;
        }
        let uncrowded = self.transmit_here(now, false, out);
        if self.check_space(now, uncrowded) {
            self.woken = true;
            if !self.slow_writer {
                self.write_what_fits(now, out);
            }
        }
    }

    /// A writer that is slow has been woken before: now it writes.
    pub fn write_late(&mut self, now: u64, out: &mut Vec<Burst>) {
        if self.woken {
            self.write_what_fits(now, out);
        }
    }

    /// The application writes, and again as long as that makes room.
    fn write_what_fits(&mut self, now: u64, out: &mut Vec<Burst>) {
        loop {
            self.woken = false;
            match self.write_all(now, out) {
                Some(uncrowded) if self.check_space(now, uncrowded) => {}
                _ => break,
            }
        }
        if self.written == self.fin && self.fin == self.snd_end {
            self.send_fin(now, out);
        }
    }

    /// `tcp_send_fin`: a FIN goes with the last data, or behind them if they have gone.
    #[cold]
    fn send_fin(&mut self, now: u64, out: &mut Vec<Burst>) {
        if self.conn.snd_nxt < self.written {
            // It is the end of what waits.
            self.fin = u32::MAX;
            return;
        }
        self.written += 1;
        self.snd_end += 1;
        self.head_end = self.written;
        self.transmit(now, false, out);
    }

    /// `tcp_write_xmit`; `one`: a burst at most, which waits for no other. Had cwnd room for more at any moment?
    #[inline(never)]
    pub(super) fn transmit(&mut self, now: u64, one: bool, out: &mut Vec<Burst>) -> bool {
        self.transmit_here(now, one, out)
    }

    /// [`Sender::transmit`], inlined where each ACK gets.
    #[inline(always)]
    fn transmit_here(&mut self, now: u64, one: bool, out: &mut Vec<Burst>) -> bool {
        if self.conn.snd_nxt >= self.written && self.rules.autotunes {
            return self.conn.in_flight() < self.conn.cwnd;
        }
        let mut sent = 0;
        let mut cwnd_limited = false;
        let mut uncrowded = false;
        let mut burst = 0; // reckoned once something may go
        let mut in_flight = self.conn.in_flight();
        while self.conn.snd_nxt < self.written {
            if self.held_back(now, out) {
                break;
            }
            if in_flight >= self.conn.cwnd {
                break;
            }
            if burst == 0 {
                burst = self.burst_segments();
            }
            let room = self.conn.cwnd - in_flight;
            let quota = room.min((self.conn.cwnd >> 1).max(1)).min(burst);
            // `tcp_snd_wnd_test`, `tcp_mss_split_point`
            let window = self.window_end.saturating_sub(self.conn.snd_nxt);
            if window == 0 {
                break;
            }
            let head = self.first_buffer(quota);
            if self.rules.tso && head > 1 && !one && self.should_defer(now, room.min(window), burst, head) {
                cwnd_limited = room < window && room <= head;
                break;
            }
            let n = quota.min(head).min(window);
            self.send_new(now, n, out);
            sent += n;
            in_flight = self.conn.in_flight();
            uncrowded |= in_flight < self.conn.cwnd;
            if one {
                break;
            }
        }
        let crowded = in_flight >= self.conn.cwnd;
        cwnd_limited |= crowded;
        if sent > 0 {
            if matches!(self.conn.ca_state, CaState::Cwr | CaState::Recovery) {
                self.prr_out += sent;
            }
            self.schedule_probe(now, false);
        }
        if sent > 0 || cwnd_limited {
            self.validate_cwnd(now, cwnd_limited);
        }
        // ns-3 asks here, and only of an application that has no more.
        if !self.rules.autotunes && self.conn.snd_nxt >= self.snd_end {
            self.check_app_limited(now);
        }
        uncrowded || !crowded
    }

    /// A tail loss probe sends one buffer of new data, at least a segment whatever cwnd says. Did it?
    pub(super) fn probe_new_data(&mut self, now: u64, out: &mut Vec<Burst>) -> bool {
        if self.held_back(now, out) {
            return false;
        }
        let c = &self.conn;
        let quota = c.cwnd.saturating_sub(c.in_flight()).min(c.cwnd >> 1).max(1);
        let window = self.window_end.saturating_sub(c.snd_nxt);
        let quota = quota.min(self.burst_segments());
        let n = quota.min(self.first_buffer(quota)).min(window);
        self.send_new(now, n, out);
        if matches!(self.conn.ca_state, CaState::Cwr | CaState::Recovery) {
            self.prr_out += n;
        }
        self.validate_cwnd(now, self.conn.in_flight() >= self.conn.cwnd);
        true
    }

    /// `tcp_cwnd_validate`.
    #[inline(always)]
    fn validate_cwnd(&mut self, now: u64, limited: bool) {
        let c = &mut self.conn;
        if c.snd_una >= self.cwnd_usage_seq
            || limited
            || (!c.is_cwnd_limited && c.packets_out > c.max_packets_out)
        {
            c.is_cwnd_limited = limited;
            c.max_packets_out = c.packets_out;
            self.cwnd_usage_seq = c.snd_nxt;
        }
        if c.cwnd_limited() {
            self.cwnd_used = 0;
            self.cwnd_stamp = self.tick(now);
            return;
        }
        self.cwnd_used = self.cwnd_used.max(c.packets_out);
        // RFC 2861: a window that was not filled for a timeout shrinks (`tcp_cwnd_application_limited`).
        let tick = self.tick(now);
        let ticks = tick.wrapping_sub(self.cwnd_stamp);
        if !self.rules.idle_restart
            || self.samples_rate
            || self.conn.clock.us(ticks.into()) < u64::from(self.rto_us)
        {
            return;
        }
        let c = &mut self.conn;
        if c.ca_state == CaState::Open && !self.full {
            let used = self.cwnd_used.max(self.initial_window);
            if used < c.cwnd {
                c.ssthresh = c.current_ssthresh();
                c.cwnd = (c.cwnd + used) >> 1;
            }
            self.cwnd_used = 0;
        }
        self.cwnd_stamp = tick;
    }

    /// Sends `n` new segments as one burst.
    fn send_new(&mut self, now: u64, n: u32, out: &mut Vec<Burst>) {
        self.start_if_idle(now);
        let first = self.conn.snd_nxt;
        self.board.reserve(self.conn.snd_una, first, first + n);
        self.record(now, first, n, 0);
        if self.rules.autotunes {
            self.board.change(first + n - 1, ENDS_BUFFER, 0);
            self.buffers += 1;
            self.passes_buffers(first + n);
        }
        let prior_packets = self.conn.packets_out;
        self.conn.snd_nxt += n;
        self.conn.packets_out += n;
        // What has no data says nothing of marks (`tcp_ecn_send`), and takes no time of pacing.
        let data = first != self.fin;
        if data {
            self.pace(now, n);
        }
        // Where a probe is in order that is what the timer is set for in the end.
        if (prior_packets == 0 || self.timer == Timer::Probe) && !self.probes() {
            self.rearm_rto(now);
        }
        let mut flags = if self.ecn && (data || self.always_ect() != 0) { self.ect } else { 0 };
        if self.ends_with_push(first, n) {
            flags |= flag::PUSH;
        }
        if self.queue_cwr && data {
            // Only the first segment carries CWR (RFC 3168 section 6.1.2).
            self.queue_cwr = false;
            let push = if n > 1 && self.rules.joins { flag::PUSH } else { 0 };
            if !self.rules.joins {
                out.push(Burst { seq: first, count: n as u16, flags: flags | flag::CWR });
                return;
            }
            out.push(Burst { seq: first, count: 1, flags: (flags & !push) | flag::CWR });
            if n > 1 {
                out.push(Burst { seq: first + 1, count: (n - 1) as u16, flags });
            }
            return;
        }
        match out.last_mut() {
            Some(b)
                if self.rules.joins
                    && b.seq + u32::from(b.count) == first
                    && b.flags == flags
                    && flags & flag::PUSH == 0
                    && b.count < 1000 =>
            {
                b.count += n as u16;
            }
            _ => out.push(Burst { seq: first, count: n as u16, flags }),
        }
    }

    /// A buffer of several segments ends with PSH (`__tcp_transmit_skb`), and so do the end of a write and what is written last.
    #[inline]
    fn ends_with_push(&self, first: u32, n: u32) -> bool {
        self.rules.autotunes && (n > 1 || first + n == self.snd_end || first + n == self.push_end)
    }

    /// The same of what was sent again, the last in `out`.
    fn push_last(&self, first: u32, n: u32, out: &mut [Burst]) {
        if self.ends_with_push(first, n)
            && let Some(burst) = out.last_mut()
        {
            burst.flags |= flag::PUSH;
        }
    }

    /// `CA_EVENT_TX_START`: nothing is in flight.
    fn start_if_idle(&mut self, now: u64) {
        if self.conn.in_flight() == 0 {
            let last_send_ns = Some(self.conn.last_send_ns).filter(|at| *at > 0);
            self.cca.event(&mut self.conn, Event::TxStart { last_send_ns }, now);
        }
    }

    /// Records a transmission of `n` segments (`tcp_rate_skb_sent`).
    #[inline]
    fn record(&mut self, now: u64, first: u32, n: u32, flags: u64) {
        if self.wants.stamps {
            self.stamp(first, n);
        }
        if self.conn.packets_out == 0 {
            self.first_tx_ns = now;
            self.conn.delivered_ns = now;
        }
        if !self.samples_rate {
            for seq in first..first + n {
                self.board.sent(seq, now, flags);
            }
            return;
        }
        let tag = RateTag {
            delivered: self.conn.delivered,
            app_limited: self.conn.app_limited != 0,
            delivered_ns: self.conn.delivered_ns,
            first_tx_ns: self.first_tx_ns,
        };
        for seq in first..first + n {
            self.board.sent_tagged(seq, now, flags, tag);
        }
    }

    /// What there is when segments are sent, each of which finds those before it in flight.
    #[inline(never)]
    fn stamp(&mut self, first: u32, n: u32) {
        let Some(stamps) = &mut self.stamps else { return };
        let c = &self.conn;
        stamps.reserve(c.snd_una, c.snd_nxt, c.snd_nxt.max(first + n));
        let in_flight = c.in_flight();
        for i in 0..n {
            let stamp = Stamp {
                tx_in_flight: in_flight + i + 1,
                lost: c.lost,
                delivered_ce: c.delivered_ce,
                app_limited: c.app_limited != 0,
            };
            stamps.set(first + i, stamp);
        }
    }

    /// `tcp_update_skb_after_send`: when the next burst may go.
    #[inline]
    fn pace(&mut self, now: u64, n: u32) {
        self.conn.last_send_ns = now.max(1);
        let prior = self.wstamp_ns;
        self.wstamp_ns = self.wstamp_ns.max(now);
        self.segments_sent += u64::from(n);
        if self.conn.pacing {
            let rate = self.conn.pacing_rate;
            // The first ten segments are not paced.
            if rate != u64::MAX && rate > 0 && self.segments_sent >= 10 {
                let mut gap = u64::from(n * self.conn.mss) * 1_000_000_000 / rate;
                // Time lost to a late timer is given back, up to half a gap.
                let credit = self.wstamp_ns - prior;
                gap -= credit.min(gap / 2);
                self.wstamp_ns += gap;
            }
        }
        self.conn.edt_ns = self.wstamp_ns;
    }

    /// Retransmits one segment (`tcp_retransmit_skb`).
    pub(super) fn resend(&mut self, now: u64, seq: u32, out: &mut Vec<Burst>) {
        self.mark_resent(now, seq, self.board.flags(seq), self.rules.joins, out);
        self.split_resent(seq);
        self.pace(now, 1);
    }

    /// What of a buffer goes out again is one of its own (`__tcp_retransmit_skb`).
    fn split_resent(&mut self, last: u32) {
        if self.rules.autotunes {
            self.split_behind(last);
        }
    }

    /// A segment of these flags goes out again; pacing has yet to be told.
    #[inline(always)]
    fn mark_resent(&mut self, now: u64, seq: u32, flags: u64, joins: bool, out: &mut Vec<Burst>) {
        self.send_again(now, seq, flags | RETRANS, joins, out);
        if flags & RETRANS == 0 {
            self.conn.retrans_out += 1;
        }
        if self.retrans_stamp == 0 {
            self.retrans_stamp = timestamp(now) + 1;
        }
        self.undo_retrans = self.undo_retrans.max(0) + 1;
    }

    /// A tail loss probe's retransmission, which is not counted as one in flight (`__tcp_retransmit_skb`).
    pub(super) fn resend_as_probe(&mut self, now: u64, seq: u32, out: &mut Vec<Burst>) {
        self.send_again(now, seq, self.board.flags(seq), self.rules.joins, out);
        if seq > self.conn.snd_una {
            self.split_resent(seq - 1);
        }
        self.push_last(seq, 1, out);
        self.pace(now, 1);
    }

    /// A segment goes out once more, and has these flags then; `joins`: with what goes before it, if that is next to it.
    #[inline(always)]
    fn send_again(&mut self, now: u64, seq: u32, flags: u64, joins: bool, out: &mut Vec<Burst>) {
        self.start_if_idle(now);
        self.record(now, seq, 1, (flags & !JUDGED) | EVER_RETRANS);
        self.retransmitted.push_back((seq, now));
        self.resent += 1;
        self.fin_resent += u32::from(seq == self.fin);
        self.retransmits += u64::from(now >= self.measure_from_ns);
        let flags = flag::RETRANSMIT | self.always_ect();
        match out.last_mut() {
            Some(b) if joins && b.flags == flags && b.seq + u32::from(b.count) == seq => b.count += 1,
            _ => out.push(Burst { seq, count: 1, flags }),
        }
    }

    /// ns-3's answer to a partial ACK: the oldest segment again, if it is lost and not on its way already.
    pub(super) fn resend_head(&mut self, now: u64, out: &mut Vec<Burst>) {
        let head = self.conn.snd_una;
        if head < self.conn.snd_nxt && self.board.flags(head) & (LOST | SACKED | RETRANS) == LOST {
            self.resend(now, head, out);
            self.prr_out += 1;
        }
    }

    /// `tcp_xmit_retransmit_queue`: resends lost segments in order while cwnd has room, those of one buffer that follow one another
    /// at once.
    #[inline(always)]
    pub(super) fn resend_lost(&mut self, now: u64, out: &mut Vec<Burst>) {
        // Most often nothing may go.
        if !self.to_resend.is_empty() && self.conn.in_flight() < self.conn.cwnd {
            self.resend_some(now, out);
        }
    }

    #[inline(never)]
    fn resend_some(&mut self, now: u64, out: &mut Vec<Burst>) {
        let mut head_resent = false;
        let mut most = 0; // reckoned once something may go
        while let Some(&first) = self.to_resend.front() {
            let room = self.conn.cwnd.saturating_sub(self.conn.in_flight());
            // As many as are lost may be on their way again, whichever they are.
            let enough = self.conn.retrans_out >= self.conn.lost_out && !self.rules.ns3_recovery;
            if (room == 0) | enough {
                break;
            }
            let Some(mut flags) = self.to_resend_flags(first) else {
                self.to_resend.pop_front();
                continue;
            };
            if self.held_back(now, out) {
                break;
            }
            if most == 0 {
                most = self.burst_segments();
            }
            let room = room.min(most);
            let mut n = 0;
            loop {
                self.mark_resent(now, first + n, flags, n > 0 || self.rules.joins, out);
                self.to_resend.pop_front();
                n += 1;
                if n >= room || flags & ENDS_BUFFER != 0 || self.to_resend.front() != Some(&(first + n)) {
                    break;
                }
                match self.to_resend_flags(first + n) {
                    Some(next) => flags = next,
                    None => break,
                }
            }
            self.split_resent(first + n - 1);
            self.push_last(first, n, out);
            self.pace(now, n);
            if matches!(self.conn.ca_state, CaState::Cwr | CaState::Recovery) {
                self.prr_out += n;
            }
            head_resent |= first == self.conn.snd_una;
        }
        if head_resent && !self.rules.ns3_recovery && self.timer != Timer::Reorder {
            self.restart_rto(now);
        }
    }

    /// The flags of a segment that is lost, and has neither arrived after all nor been sent again.
    #[inline(always)]
    fn to_resend_flags(&self, seq: u32) -> Option<u64> {
        if seq < self.conn.snd_una {
            return None;
        }
        let flags = self.board.flags(seq);
        (flags & (LOST | SACKED | RETRANS) == LOST).then_some(flags)
    }
}
