//! Finding loss, entering and leaving recovery (`tcp_fastretrans_alert`, `tcp_recovery.c`).

use super::REORDERING;
use super::{AckFlags, AckView, Resend, Sender, Timer};
use crate::scoreboard::{EVER_RETRANS, JUDGED, LOST, RETRANS, SACKED};
use queuewright_cca::{CaState, Event, INFINITE_SSTHRESH, Lost};

/// Recoveries for which RACK stays patient after a duplicate (`TCP_RACK_RECOVERY_THRESH`).
const REO_WND_PERSIST: u8 = 16;

impl Sender {
    /// `tcp_rack_advance` (RFC 8985 section 6.2 step 2): the most recently sent delivered segment.
    #[inline]
    pub(super) fn rack_advance(&mut self, now: u64, seq: u32, tx_ns: u64, retransmitted: bool) {
        let rtt_us = ((now - tx_ns) / 1000) as u32;
        // An ACK sooner than the path allows is for the first copy.
        if retransmitted && rtt_us < self.conn.min_rtt_us {
            return;
        }
        self.rack_advanced = true;
        self.rack_rtt_us = rtt_us;
        if tx_ns > self.rack_tx_ns || (tx_ns == self.rack_tx_ns && seq + 1 > self.rack_end) {
            self.rack_tx_ns = tx_ns;
            self.rack_end = seq + 1;
        }
    }

    /// `tcp_rack_reo_wnd` (RFC 8985 section 6.2 step 4), microseconds.
    fn reorder_window_us(&self) -> u32 {
        if self.reordering_seen == 0
            && (self.conn.ca_state >= CaState::Recovery || self.conn.sacked_out >= self.reordering)
        {
            return 0;
        }
        ((self.conn.min_rtt_us >> 2).saturating_mul(u32::from(self.reo_wnd_steps)))
            .min(self.conn.srtt_us >> 3)
    }

    /// `tcp_rack_detect_loss` (RFC 8985 section 6.2 step 5). How long (us) until the next segment may be
    /// called lost; 0: none is waited for.
    pub(super) fn detect_loss(&mut self, now: u64, flags: &mut AckFlags) -> u32 {
        if !self.rules.rack {
            self.detect_loss_by_duplicates(now);
            return 0;
        }
        let limit_us = i64::from(self.rack_rtt_us) + i64::from(self.reorder_window_us());
        let remaining = |tx: u64| limit_us - ((now - tx) / 1000) as i64;
        let mut wait = 0;
        // Never-retransmitted segments were sent in order of sequence: from the first on that is too young to be
        // lost none is, and what is waited for is the youngest that was sent before the one delivered.
        let mut seq = self.unjudged.max(self.conn.snd_una);
        let mut judged = None;
        while seq < self.conn.snd_nxt {
            let (f, tx) = self.board.flags_and_tx_ns(seq);
            if f & (SACKED | LOST | EVER_RETRANS | JUDGED) == 0 {
                if tx > self.rack_tx_ns || (tx == self.rack_tx_ns && seq + 1 >= self.rack_end) {
                    break;
                }
                let left = remaining(tx);
                if left > 0 {
                    judged.get_or_insert(seq);
                    wait = wait.max(left as u32);
                } else {
                    self.mark_lost(now, seq);
                    self.board.change(seq, JUDGED, 0);
                }
            }
            seq += 1;
        }
        self.unjudged = self.unjudged.max(judged.unwrap_or(seq));
        // Retransmissions, in the order they were sent.
        let mut at = 0;
        while let Some(&(seq, tx)) = self.retransmitted.get(at) {
            let (f, last_tx) = self.board.flags_and_tx_ns(seq);
            let live =
                seq >= self.conn.snd_una && last_tx == tx && f & SACKED == 0 && f & (LOST | RETRANS) != LOST;
            if live {
                if tx > self.rack_tx_ns || (tx == self.rack_tx_ns && seq + 1 >= self.rack_end) {
                    break;
                }
                let left = remaining(tx);
                if left > 0 {
                    wait = wait.max(left as u32);
                    at += 1;
                    continue;
                }
                flags.lost_retrans |= f & (RETRANS | LOST) == RETRANS | LOST;
                self.mark_lost(now, seq);
                self.board.change(seq, JUDGED, 0);
            }
            // In order of time: once one is waited for none behind it is lost.
            debug_assert!(at == 0 || !live);
            // Nearly always the first.
            match at {
                0 => self.retransmitted.pop_front(),
                _ => self.retransmitted.remove(at),
            };
        }
        wait
    }

    /// RFC 6675 section 4: lost is what three SACKed segments lie above.
    fn detect_loss_by_duplicates(&mut self, now: u64) {
        let mut above = 0;
        let mut seq = self.sacked_end.min(self.conn.snd_nxt);
        while seq > self.conn.snd_una && above < 3 {
            seq -= 1;
            above += u32::from(self.board.flags(seq) & SACKED != 0);
        }
        if above < 3 {
            return;
        }
        for s in self.unjudged.max(self.conn.snd_una)..seq {
            if self.board.flags(s) & (SACKED | LOST | EVER_RETRANS) == 0 {
                self.mark_lost(now, s);
            }
        }
        self.unjudged = self.unjudged.max(seq);
    }

    /// `tcp_mark_skb_lost`.
    pub(super) fn mark_lost(&mut self, now: u64, seq: u32) {
        let f = self.board.flags(seq);
        if f & LOST != 0 {
            if f & RETRANS != 0 {
                // The retransmission was lost as well.
                self.board.change(seq, 0, RETRANS);
                self.conn.retrans_out -= 1;
                self.conn.lost = self.conn.lost.wrapping_add(1);
                self.tell_lost(now, seq);
            }
        } else {
            self.board.change(seq, LOST, 0);
            self.conn.lost_out += 1;
            self.conn.lost = self.conn.lost.wrapping_add(1);
            self.tell_lost(now, seq);
            if f & RETRANS != 0 && self.rules.ns3_recovery {
                self.board.change(seq, 0, RETRANS);
                self.conn.retrans_out -= 1;
            }
        }
        // Losses are found mostly in order; a retransmission lost again belongs further ahead, mostly before all others.
        if self.to_resend.back().is_none_or(|&last| last < seq) {
            self.to_resend.push_back(seq);
        } else if self.to_resend.front().is_some_and(|&first| seq < first) {
            self.to_resend.push_front(seq);
        } else {
            let i = self.to_resend.partition_point(|&s| s < seq);
            if self.to_resend.get(i) != Some(&seq) {
                self.to_resend.insert(i, seq);
            }
        }
    }

    /// A control that wants it hears of a segment that was marked lost.
    #[inline]
    fn tell_lost(&mut self, now: u64, seq: u32) {
        if let Some(lost) = &mut self.lost_segments {
            lost.push(seq);
        }
        if !self.wants.lost {
            return;
        }
        let stamp = self.stamps.as_ref().map(|stamps| stamps.get(seq));
        let lost = stamp.map_or(Lost { packets: 1, ..Lost::default() }, |stamp| Lost {
            packets: 1,
            tx_in_flight: stamp.tx_in_flight,
            lost: self.conn.lost.wrapping_sub(stamp.lost),
            is_app_limited: stamp.app_limited.into(),
        });
        self.cca.lost(&mut self.conn, &lost, now);
    }

    /// `tcp_identify_packet_loss`.
    fn identify_loss(&mut self, now: u64, flags: &mut AckFlags) {
        if !self.rules.sack {
            return self.mark_oldest_lost(now, flags.una_advanced);
        }
        if self.rules.rack && !self.rack_advanced {
            return;
        }
        self.rack_advanced = false;
        let wait_us = self.detect_loss(now, flags);
        if wait_us > 0 {
            // Two milliseconds of slack, as TCP_TIMEOUT_MIN_US gives.
            self.set_timer_in(Timer::Reorder, now, u64::from(wait_us.saturating_add(2000).min(self.rto_us)));
            flags.set_timer = false;
        }
    }

    /// `tcp_rack_update_reo_wnd`, of an ACK that delivers: a duplicate reported widens the window, but not before what is delivered was
    /// sent after it was last widened.
    #[cold]
    pub(super) fn update_reorder_steps(&mut self, now: u64, newest_ns: u64) {
        if newest_ns == 0 {
            return;
        }
        if self.dsack_seen && newest_ns >= self.widened_ns {
            self.reo_wnd_steps = self.reo_wnd_steps.saturating_add(1);
            self.reo_wnd_persist = REO_WND_PERSIST;
            self.widened_ns = now;
        } else if self.reo_wnd_persist == 0 {
            self.reo_wnd_steps = 1;
        }
        self.dsack_seen = false;
    }

    /// `tcp_fastretrans_alert`.
    pub(super) fn alert(
        &mut self,
        now: u64,
        ack: &AckView<'_>,
        prior_una: u32,
        flags: &mut AckFlags,
    ) -> Resend {
        if flags.ece {
            self.prior_ssthresh = 0;
        }
        if flags.reneges && !self.rules.ns3_recovery {
            return self.wait_for_sanity(now, flags);
        }
        if self.conn.ca_state == CaState::Open {
            self.retrans_stamp = 0;
        } else if self.conn.snd_una >= self.high_seq {
            match self.conn.ca_state {
                // CWR holds until something *above* high_seq is acknowledged.
                CaState::Cwr if self.conn.snd_una != self.high_seq => {
                    self.end_reduction(now);
                    self.set_state(now, CaState::Open);
                }
                CaState::Recovery => {
                    self.forget_duplicates();
                    if self.try_undo_recovery(now, ack.ts) {
                        return Resend::None;
                    }
                    self.end_reduction(now);
                }
                _ => {}
            }
        }

        match self.conn.ca_state {
            CaState::Recovery => {
                if !flags.una_advanced {
                    self.add_duplicate(flags);
                } else if self.try_undo_partial(now, ack.ts, prior_una) {
                    return Resend::None;
                }
                if self.try_undo_dsack(now) {
                    self.try_to_open(now, flags);
                }
                self.identify_loss(now, flags);
                if self.conn.ca_state != CaState::Recovery {
                    if self.conn.lost_out == 0 {
                        return Resend::None;
                    }
                    self.enter_recovery(now, flags.ece);
                }
            }
            CaState::Loss => {
                let resend = self.process_loss(now, ack.ts, flags);
                self.identify_loss(now, flags);
                if self.conn.ca_state != CaState::Open && !flags.lost_retrans {
                    return resend;
                }
                return self.finish_alert(now, flags, resend);
            }
            _ => return self.finish_alert(now, flags, Resend::None),
        }
        Resend::Lost
    }

    /// `tcp_check_sack_reneging`: later ACKs may yet say that it is there; else a timeout comes soon.
    #[cold]
    fn wait_for_sanity(&mut self, now: u64, flags: &mut AckFlags) -> Resend {
        self.set_timer_in(Timer::Rto, now, u64::from(self.conn.srtt_us >> 4).max(10_000));
        flags.set_timer = false;
        Resend::None
    }

    /// `tcp_timeout_mark_lost`: the receiver has dropped what it had SACKed. All that it told is forgotten.
    #[cold]
    fn forget_sacks(&mut self) {
        for seq in self.conn.snd_una..self.conn.snd_nxt {
            if self.board.flags(seq) & SACKED != 0 {
                // RACK does not judge it again (`tcp_tsorted_anchor`).
                self.board.change(seq, JUDGED, SACKED);
            }
        }
        self.conn.sacked_out = 0;
        self.sacked_end = self.conn.snd_una;
        self.sack_cache = Default::default();
        self.reneged = true;
    }

    /// The default arm of `tcp_fastretrans_alert`'s switch.
    fn finish_alert(&mut self, now: u64, flags: &mut AckFlags, resend: Resend) -> Resend {
        if flags.una_advanced {
            self.forget_duplicates();
        }
        self.add_duplicate(flags);
        if self.conn.ca_state <= CaState::Disorder {
            self.try_undo_dsack(now);
        }
        self.identify_loss(now, flags);
        if self.conn.lost_out == 0 {
            self.try_to_open(now, flags);
            return resend;
        }
        self.enter_recovery(now, flags.ece);
        Resend::Lost
    }

    /// `tcp_process_loss`: RFC 5682 section 3.1 with SACK.
    fn process_loss(&mut self, now: u64, ack_ts: u32, flags: &AckFlags) -> Resend {
        let recovered = self.conn.snd_una >= self.high_seq;
        if flags.una_advanced && self.try_undo_loss(now, ack_ts, false) {
            return Resend::None;
        }
        if self.frto {
            // Step 3.b: data never retransmitted arrived, so the timeout was spurious.
            if flags.orig_sack_acked && self.try_undo_loss(now, ack_ts, true) {
                return Resend::None;
            }
            if self.conn.snd_nxt > self.high_seq {
                if flags.data_sacked || Self::is_duplicate(flags) {
                    self.frto = false; // step 3.a: the loss was real
                }
            } else if flags.una_advanced && !recovered {
                self.high_seq = self.conn.snd_nxt;
                // Step 2.b: try new data.
                if self.conn.snd_nxt < self.written {
                    return Resend::New;
                }
                self.frto = false;
            }
        }
        if recovered {
            self.try_undo_recovery(now, ack_ts);
            return Resend::None;
        }
        if self.conn.snd_nxt > self.high_seq && Self::is_duplicate(flags) {
            // New data have arrived: what is sent again goes as they leave.
            self.add_duplicate(flags);
        } else if flags.una_advanced {
            self.forget_duplicates();
        }
        Resend::Lost
    }

    /// `tcp_set_ca_state`.
    pub(super) fn set_state(&mut self, now: u64, state: CaState) {
        self.cca.set_state(&mut self.conn, state, now);
        self.conn.ca_state = state;
    }

    /// `tcp_enter_recovery`.
    pub(super) fn enter_recovery(&mut self, now: u64, ece: bool) {
        // `tcp_retrans_stamp_cleanup`
        if !self.any_sent_again() {
            self.retrans_stamp = 0;
        }
        self.prior_ssthresh = 0;
        self.partial_acked = false;
        self.init_undo();
        if !matches!(self.conn.ca_state, CaState::Cwr | CaState::Recovery) {
            if !ece {
                self.prior_ssthresh = self.conn.current_ssthresh();
            }
            self.init_reduction(now);
        }
        self.set_state(now, CaState::Recovery);
    }

    /// `tcp_any_retrans_done`: was any of what is on its way, or the oldest segment, sent again?
    pub(super) fn any_sent_again(&self) -> bool {
        let c = &self.conn;
        c.retrans_out > 0
            || (self.rules.rack && c.packets_out > 0 && self.board.flags(c.snd_una) & EVER_RETRANS != 0)
    }

    /// `tcp_init_undo`.
    pub(super) fn init_undo(&mut self) {
        self.undo_marker = Some(self.conn.snd_una);
        // Retransmission still in flight from before makes DSACKs ambiguous.
        self.undo_retrans = match self.conn.retrans_out + u32::from(self.tlp_outstanding && self.tlp_retrans)
        {
            0 => -1,
            n => n as i32,
        };
    }

    /// `tcp_init_cwnd_reduction`.
    pub(super) fn init_reduction(&mut self, now: u64) {
        self.high_seq = self.conn.snd_nxt;
        self.tlp_outstanding = false;
        self.conn.cwnd_cnt = 0;
        self.conn.prior_cwnd = self.conn.cwnd;
        self.prr_delivered = 0;
        self.prr_out = 0;
        self.conn.ssthresh = self.cca.ssthresh(&mut self.conn, now);
        self.queue_cwr = self.ecn && !self.accurate;
    }

    /// `tcp_cwnd_reduction`: proportional rate reduction (RFC 6937, with RFC 9937's reduction bound).
    pub(super) fn reduce_cwnd(&mut self, newly_delivered: u32, newly_lost: u32, flags: &AckFlags) {
        let c = &mut self.conn;
        if newly_delivered == 0 || c.prior_cwnd == 0 {
            return;
        }
        let delta = i64::from(c.ssthresh) - i64::from(c.in_flight());
        self.prr_delivered += newly_delivered;
        let mut send = if delta < 0 {
            let dividend =
                u64::from(c.ssthresh) * u64::from(self.prr_delivered) + u64::from(c.prior_cwnd) - 1;
            (dividend / u64::from(c.prior_cwnd)) as i64 - i64::from(self.prr_out)
        } else {
            let mut n =
                (i64::from(self.prr_delivered) - i64::from(self.prr_out)).max(i64::from(newly_delivered));
            if flags.una_advanced && newly_lost == 0 {
                n += 1;
            }
            n.min(delta)
        };
        // The first retransmission always goes.
        send = send.max(i64::from(self.prr_out == 0));
        c.cwnd = (i64::from(c.in_flight()) + send).max(1) as u32;
    }

    /// `tcp_end_cwnd_reduction`.
    fn end_reduction(&mut self, now: u64) {
        if self.cca.has_cong_control() {
            return;
        }
        let c = &mut self.conn;
        if c.ssthresh < INFINITE_SSTHRESH && (c.ca_state == CaState::Cwr || self.undo_marker.is_some()) {
            c.cwnd = c.ssthresh;
            self.cwnd_stamp = self.tick(now);
        }
        self.cca.event(&mut self.conn, Event::CompleteCwr, now);
    }

    /// `tcp_enter_cwr`: ECN's echo, or a tail loss that a probe repaired.
    fn enter_cwr(&mut self, now: u64) {
        self.prior_ssthresh = 0;
        if self.conn.ca_state < CaState::Cwr {
            self.undo_marker = None;
            self.init_reduction(now);
            self.set_state(now, CaState::Cwr);
        }
    }

    /// `tcp_try_to_open`.
    fn try_to_open(&mut self, now: u64, flags: &AckFlags) {
        if !self.any_sent_again() {
            self.retrans_stamp = 0;
        }
        if flags.ece && self.ecn {
            self.enter_cwr(now);
        }
        if self.conn.ca_state != CaState::Cwr {
            self.try_keep_open(now);
        }
    }

    /// `tcp_try_keep_open`.
    fn try_keep_open(&mut self, now: u64) {
        let left = self.conn.sacked_out + self.conn.lost_out > 0 || self.any_sent_again();
        let state = if left { CaState::Disorder } else { CaState::Open };
        if self.conn.ca_state != state {
            self.set_state(now, state);
            self.high_seq = self.conn.snd_nxt;
        }
    }

    /// `tcp_packet_delayed`: the echo is older than the first retransmission (Eifel, RFC 3522).
    fn packet_delayed(&self, ack_ts: u32) -> bool {
        match self.retrans_stamp {
            // Nothing has been sent again yet; or it was forgotten because the state holds on (`holds_state`).
            0 => self.rules.sack || self.conn.snd_una < self.high_seq,
            stamp => ack_ts != 0 && ack_ts < stamp - 1,
        }
    }

    /// `tcp_may_undo`.
    fn may_undo(&self, ack_ts: u32) -> bool {
        self.rules.undo
            && self.undo_marker.is_some()
            && (self.undo_retrans == 0 || self.packet_delayed(ack_ts))
    }

    /// `tcp_undo_cwnd_reduction`.
    fn undo_reduction(&mut self, now: u64, unmark: bool) {
        if unmark {
            for seq in self.conn.snd_una..self.conn.snd_nxt {
                if self.board.flags(seq) & LOST != 0 {
                    self.board.change(seq, 0, LOST);
                }
            }
            self.conn.lost_out = 0;
            self.unjudged = self.conn.snd_una;
        }
        if self.prior_ssthresh > 0 {
            self.conn.cwnd = self.cca.undo_cwnd(&mut self.conn);
            if self.prior_ssthresh > self.conn.ssthresh {
                self.conn.ssthresh = self.prior_ssthresh;
                self.queue_cwr = false;
            }
        }
        self.cwnd_stamp = self.tick(now);
        self.undo_marker = None;
        self.rack_advanced = true; // judge anew
    }

    /// `tcp_try_undo_recovery`. Does the state hold on?
    fn try_undo_recovery(&mut self, now: u64, ack_ts: u32) -> bool {
        if self.may_undo(ack_ts) {
            self.undo_reduction(now, false);
        } else {
            self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
        }
        if self.holds_state() {
            return true;
        }
        self.set_state(now, CaState::Open);
        self.reneged = false;
        false
    }

    /// `tcp_try_undo_dsack`: every retransmission was reported as a duplicate.
    fn try_undo_dsack(&mut self, now: u64) -> bool {
        if self.rules.undo && self.undo_marker.is_some() && self.undo_retrans == 0 {
            self.reo_wnd_persist = (self.reo_wnd_persist + 1).min(REO_WND_PERSIST);
            self.undo_reduction(now, false);
            return true;
        }
        false
    }

    /// `tcp_try_undo_partial`: a hole was filled by the delayed first copy.
    fn try_undo_partial(&mut self, now: u64, ack_ts: u32, prior_una: u32) -> bool {
        if self.rules.undo && self.undo_marker.is_some() && self.packet_delayed(ack_ts) {
            self.saw_reordering(prior_una);
            if self.conn.retrans_out > 0 {
                return true;
            }
            if !self.any_sent_again() {
                self.retrans_stamp = 0;
            }
            self.undo_reduction(now, true);
            self.try_keep_open(now);
        }
        false
    }

    /// `tcp_try_undo_loss`.
    fn try_undo_loss(&mut self, now: u64, ack_ts: u32, frto_undo: bool) -> bool {
        if frto_undo || self.may_undo(ack_ts) {
            self.undo_reduction(now, true);
            self.timeouts_in_a_row = 0;
            if !self.holds_state() && (frto_undo || self.rules.sack) {
                self.set_state(now, CaState::Open);
                self.reneged = false;
            }
            return true;
        }
        false
    }

    /// `tcp_enter_loss`.
    pub(super) fn enter_loss(&mut self, now: u64) {
        let new_recovery = self.conn.ca_state < CaState::Recovery;
        self.forget_duplicates();
        let reneges = self.board.flags(self.conn.snd_una) & SACKED != 0 && !self.rules.ns3_recovery;
        if reneges {
            self.forget_sacks();
        }
        for seq in self.conn.snd_una..self.conn.snd_nxt {
            let f = self.board.flags(seq);
            if f & SACKED == 0 {
                // Sent too recently to be lost: judged later (RFC 8985 section 6.3).
                let age_us = (now - self.board.tx_ns(seq)) / 1000;
                let young = self.rules.rack
                    && self.rules.sack
                    && !reneges
                    && seq != self.conn.snd_una
                    && age_us < u64::from(self.rack_rtt_us);
                if !young {
                    self.mark_lost(now, seq);
                }
            } else if f & RETRANS != 0 && self.rules.ns3_recovery {
                // With `ns3_recovery` a SACKed retransmission was still in flight.
                self.board.change(seq, 0, RETRANS);
                self.conn.retrans_out -= 1;
            }
        }
        self.unjudged = self.conn.snd_una;
        if self.conn.ca_state <= CaState::Disorder
            || self.high_seq <= self.conn.snd_una
            || (self.conn.ca_state == CaState::Loss && self.timeouts_in_a_row == 0)
        {
            self.prior_ssthresh = self.conn.current_ssthresh();
            self.conn.prior_cwnd = self.conn.cwnd;
            self.conn.ssthresh = self.cca.ssthresh(&mut self.conn, now);
            self.cca.event(&mut self.conn, Event::Loss, now);
            self.init_undo();
        }
        self.conn.cwnd = self.conn.in_flight() + 1;
        self.conn.cwnd_cnt = 0;
        self.cwnd_stamp = self.tick(now);
        // So many duplicates and still a timeout: less reordering than was thought.
        if self.conn.ca_state <= CaState::Disorder && self.conn.sacked_out >= REORDERING {
            self.reordering = self.reordering.min(REORDERING);
        }
        self.set_state(now, CaState::Loss);
        self.high_seq = self.conn.snd_nxt;
        self.tlp_outstanding = false;
        self.queue_cwr = self.ecn && !self.accurate;
        // RFC 5682 section 3.1 step 1: not after a previous timeout's recovery.
        self.frto = self.rules.undo && (new_recovery || self.timeouts_in_a_row > 0);
    }

    /// `tcp_process_tlp_ack` (RFC 8985 section 7.4.2).
    pub(super) fn process_tlp_ack(&mut self, now: u64, cum: u32, flags: &mut AckFlags) {
        if cum < self.tlp_high_seq {
            return;
        }
        if !self.tlp_retrans || flags.dsack_tlp {
            self.tlp_outstanding = false;
        } else if cum > self.tlp_high_seq {
            // The probe repaired a loss: one reduction, as if it had been seen.
            flags.tlp_repaired = true;
            self.init_reduction(now);
            self.set_state(now, CaState::Cwr);
            self.end_reduction(now);
            self.try_keep_open(now);
            self.tlp_outstanding = false;
        } else if flags.duplicate && !(flags.una_advanced || flags.data_sacked) {
            self.tlp_outstanding = false; // both copies arrived
        }
    }
}
