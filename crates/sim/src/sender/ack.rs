//! Working in an acknowledgement (`tcp_ack`).

use super::{AckFlags, AckView, Burst, RateDraft, Resend, Sender, Timer};
use crate::jiffies::timestamp;
use crate::packet::{MAX_SACKS, MOST_TOLD, ace, flag, newly_marked};
use crate::scoreboard::{ENDS_BUFFER, EVER_RETRANS, LOST, RETRANS, SACKED};
use queuewright_cca::{CaState, Cca, Kind, RateSample};

/// What tells buffers that may be joined from others.
const TAGS: u64 = SACKED | LOST | RETRANS;

/// A buffer that was put together of what has arrived is shorter: 65,535 times `TCP_MIN_GSO_SIZE`.
const JOINED_BYTES: u32 = 65_535 * 8;

/// A block as one word, to be compared at once.
#[inline(always)]
fn word(block: (u32, u32)) -> u64 {
    u64::from(block.0) | u64::from(block.1) << 32
}

impl Sender {
    /// The SYN-ACK arrives: the handshake's round trip is the first sample.
    /// `ts`: the echoed timestamp (ms). Was it not established before?
    pub fn on_established(&mut self, now: u64, ts: u32, out: &mut Vec<Burst>) -> bool {
        if self.established {
            return false;
        }
        self.established = true;
        // RFC 5681 section 3.1 cuts the window for any SYN sent again; since the first RTO is as short as 1 s (RFC 6298), Linux
        // forgives one (`tcp_init_transfer`), and all where the first SYN was answered after all (`tcp_try_undo_spurious_syn`).
        let first = self.rules.undo && ts != 0 && self.retrans_stamp == ts + 1;
        self.retrans_stamp = 0;
        if self.syn_retransmits > 1 && !first {
            self.conn.cwnd = 1;
        }
        // A SYN that is sent again asks for no ECN (`tcp_ecn_clear_syn`), for AccECN a second time; the answer to the first may come late.
        if self.syn_retransmits > u32::from(self.accurate) && !first && self.rules.undo {
            self.ecn = false;
            self.hears_marks(false);
            if self.kind.needs_ecn() {
                self.kind = Kind::NewReno;
            }
        }
        if self.syn_retransmits == 0 {
            self.first_rtt(now, now - self.syn_sent_ns);
        } else if self.rules.undo {
            // Which copy was answered the timestamp tells.
            self.first_rtt(now, u64::from(timestamp(now).saturating_sub(ts).max(1)) * 1_000_000);
        }
        self.start_control(now);
        self.write(now, 0, out);
        true
    }

    /// The connection was opened beforehand, when the path was empty: its first sample is `rtt_ns`, `open_for_ns`
    /// ago.
    pub fn start_open(&mut self, now: u64, rtt_ns: u64, open_for_ns: u64, out: &mut Vec<Burst>) {
        self.established = true;
        self.first_rtt(now, rtt_ns);
        self.start_control(now);
        self.cca.opened_before(self.conn.clock, open_for_ns);
        self.write(now, 0, out);
    }

    /// The handshake's round trip is the first sample.
    pub(super) fn first_rtt(&mut self, now: u64, rtt_ns: u64) {
        let us = u32::try_from(rtt_ns / 1000).unwrap_or(u32::MAX).max(1);
        self.min_rtt = [(now, us); 3];
        self.conn.min_rtt_us = us;
        self.update_rtt(us);
    }

    /// The congestion control of a new connection.
    fn start_control(&mut self, now: u64) {
        self.set_timer(Timer::Off, u64::MAX);
        if self.rules.autotunes {
            self.expand_buffer();
        }
        self.cwnd_stamp = self.tick(now);
        self.conn.delivered_ns = now;
        if self.rules.undo {
            // The SYN counts (`tcp_clean_rtx_queue`): what is written first is app-limited until that much more is delivered.
            self.conn.delivered = 1;
        }
        self.cca = Cca::new(self.kind, self.rules.flavour, &mut self.conn, now);
        // One without ECN may have come in its place.
        self.wants = self.cca.wants();
        self.samples_rate = self.wants.cong_control;
        if self.kind.needs_rate() {
            self.cca.set_rate(&mut self.conn, self.rate, now);
        }
        if !self.cca.has_cong_control() {
            self.update_pacing_rate();
        }
    }

    /// An ACK arrives. What it lets out is appended to `out`. `random` feeds controls that dither.
    #[inline(always)]
    pub fn on_ack(&mut self, now: u64, ack: AckView<'_>, random: u32, out: &mut Vec<Burst>) {
        self.on_ack_slowly(now, now, ack, random, out);
    }

    /// The same of a host that gets to sending new data only at `then`: Linux looks at the clock again (`tcp_write_xmit`), but not
    /// for what it sends again.
    #[inline(always)]
    pub fn on_ack_slowly(
        &mut self,
        now: u64,
        then: u64,
        ack: AckView<'_>,
        random: u32,
        out: &mut Vec<Burst>,
    ) {
        if !self.established {
            return;
        }
        if ack.cum < self.conn.snd_una {
            return self.on_old_ack(now, then, ack, out);
        }
        // `tcp_ack_update_window`: of two that acknowledge the same the wider one counts (`tcp_may_update_window`).
        if ack.cum > self.conn.snd_una || ack.window_end > self.window_end {
            self.window_end = ack.window_end;
            self.max_window = self.max_window.max(ack.window_end.saturating_sub(ack.cum));
        }
        let (buffers, resent) = self.board.passed(self.conn.snd_una, ack.cum);
        self.buffers -= buffers;
        let plain = ack.sacks.is_empty() && self.plain() && (!resent || self.rules.ns3_recovery);
        // Most often, without loss, there is nothing else to it either.
        if plain
            && ack.cum > self.conn.snd_una
            && self.conn.ca_state == CaState::Open
            && ack.flags & self.plain_mask == self.plain_flags
            && ack.cum - self.conn.snd_una <= self.plain_most
            && !(self.tlp_outstanding | self.rules.ns3_recovery | self.reneged)
        {
            self.work_in::<true>(now, then, ack, plain, random, out);
        } else {
            self.work_in::<false>(now, then, ack, plain, random, out);
        }
    }

    /// The same of an ACK that no other has overtaken. BRIEF: it acknowledges what was sent once and nothing else, in the open state and
    /// without a probe: what that rules out is not asked.
    #[inline(always)]
    fn work_in<const BRIEF: bool>(
        &mut self,
        now: u64,
        then: u64,
        ack: AckView<'_>,
        plain: bool,
        random: u32,
        out: &mut Vec<Burst>,
    ) {
        let ns3_recovery = !BRIEF && self.rules.ns3_recovery;
        let mut flags = AckFlags {
            ece: !BRIEF && !self.accurate && ack.flags & flag::ECE != 0,
            duplicate: !BRIEF && ack.flags & flag::DUPLICATE != 0,
            ..AckFlags::default()
        };
        let mut draft = if ns3_recovery { self.kept_rate } else { RateDraft::default() };
        let prior_una = self.conn.snd_una;
        let prior_packets = self.conn.packets_out;
        let prior_delivered = self.conn.delivered;
        let prior_lost = self.conn.lost;
        let prior_lost_out = self.conn.lost_out;
        draft.sample.prior_in_flight = self.conn.in_flight();
        let reneged = !BRIEF && self.reneged;
        flags.una_advanced = BRIEF || ack.cum > prior_una;
        if flags.una_advanced {
            self.timeouts_in_a_row = 0;
        }

        if BRIEF || plain {
            if flags.una_advanced {
                self.acknowledge_plain(now, ack.cum, &mut flags, &mut draft);
            }
        } else {
            let prior_sacked_end = self.sacked_end;
            self.tag_sacks(now, &ack, &mut flags, &mut draft);
            if flags.una_advanced {
                self.acknowledge(now, &ack, prior_sacked_end, &mut flags, &mut draft);
            }
        }
        if !BRIEF && prior_packets == 0 && !ns3_recovery {
            return self.on_late_ack(now, then, &ack, prior_una, &mut flags, out);
        }
        if self.dsack_seen | (self.reo_wnd_steps > 1) {
            self.update_reorder_steps(now, flags.newest_ns);
        }
        self.sample_rtt(now, &ack, prior_una, &flags, &mut draft.sample);
        // SACKed was what had been sent before the oldest segment was last sent: the timeout counts anew.
        flags.set_timer |= !flags.data_acked
            && flags.first_sacked_ns != 0
            && self.conn.packets_out > 0
            && flags.first_sacked_ns / 1000 < self.board.tx_ns(self.conn.snd_una) / 1000
            && !ns3_recovery;
        if !BRIEF && (flags.ece | self.accurate) {
            self.count_marks(&ack, self.conn.delivered.wrapping_sub(prior_delivered), &mut flags);
        }
        if self.wants.in_ack_event {
            self.cca.in_ack_event(&mut self.conn, now);
        }
        if !BRIEF && self.tlp_outstanding {
            self.process_tlp_ack(now, ack.cum, &mut flags);
        }

        let prior_state = self.conn.ca_state;
        let mut resend = Resend::None;
        if !BRIEF
            && (flags.data_sacked
                || flags.ece
                || flags.dsack
                || !flags.una_advanced
                || self.conn.ca_state != CaState::Open)
        {
            resend = self.alert(now, &ack, prior_una, &mut flags);
        }
        let partial = ns3_recovery && flags.una_advanced && self.conn.ca_state == CaState::Recovery;
        let sets_timer = flags.set_timer && !(partial && std::mem::replace(&mut self.partial_acked, partial));
        // What is sent sets it anew: then once is enough.
        let after_sending = sets_timer && self.probes();
        if sets_timer && !after_sending {
            self.arm_timer(now);
        }

        let delivered = self.conn.delivered - prior_delivered;
        let lost = if BRIEF { 0 } else { self.conn.lost - prior_lost };
        // ns-3's windows grow with what is acknowledged, SACKed before or not.
        let acked_sacked = if ns3_recovery { ack.cum - prior_una } else { delivered };
        if self.conn.app_limited != 0 && self.conn.delivered > self.conn.app_limited {
            self.conn.app_limited = 0;
        }
        if delivered > 0 {
            self.conn.delivered_ns = now;
        }
        // Who samples the rate has a control of its own (`cong_control`).
        if self.samples_rate {
            if !BRIEF && reneged {
                // Nothing is known of what was delivered (`is_sack_reneg`).
                draft.sample.prior_ns = 0;
            }
            draft.sample.is_tlp = flags.tlp_repaired;
            self.finish_rate(now, delivered, lost, &mut draft);
            if ns3_recovery {
                self.kept_rate = draft;
                if draft.sample.interval_us < 0 {
                    self.kept_rate.sample.prior_ns = 0;
                }
                // What is no longer lost counts like what is newly lost.
                draft.sample.losses = self.conn.lost_out.abs_diff(prior_lost_out);
                if (prior_state, self.conn.ca_state) == (CaState::Recovery, CaState::Open) {
                    self.conn.cwnd = self.conn.ssthresh;
                }
            }
            self.cca.cong_control(&mut self.conn, &draft.sample, now, random);
        } else {
            if !BRIEF && matches!(self.conn.ca_state, CaState::Cwr | CaState::Recovery) {
                self.reduce_cwnd(delivered, lost, &flags);
            } else if flags.data_acked || (flags.data_sacked && self.reordering > 3) {
                // `tcp_may_raise_cwnd`; whether the window limits the sender is the control's to ask.
                self.cca.cong_avoid(&mut self.conn, acked_sacked, now);
                self.cwnd_stamp = self.tick(now);
            }
            self.update_pacing_rate();
        }
        if now >= self.measure_from_ns && self.conn.srtt_us > 0 {
            self.srtt_sum_us += u64::from(self.conn.srtt_us);
            self.srtt_count += 1;
        }

        if !BRIEF && resend == Resend::New {
            self.push(then, out);
            if self.conn.snd_nxt <= self.high_seq {
                self.frto = false;
                resend = Resend::Lost;
            }
        }
        if !BRIEF && resend == Resend::Lost {
            if partial {
                self.resend_head(now, out);
            }
            self.resend_lost(now, out);
        }
        let before = self.conn.snd_nxt;
        self.push(then, out);
        if after_sending && self.conn.snd_nxt == before {
            self.arm_timer(now);
        }
    }

    /// An ACK that a later one has overtaken: its SACK blocks are worked in, and nothing else of it (`tcp_ack`, `old_ack`).
    #[cold]
    fn on_old_ack(&mut self, now: u64, then: u64, ack: AckView<'_>, out: &mut Vec<Burst>) {
        if ack.sacks.is_empty() || self.rules.ns3_recovery {
            return;
        }
        let mut flags = AckFlags::default();
        // What it SACKs never counts as delivered, and no sample of the rate is made of it.
        let delivered = self.conn.delivered;
        self.tag_sacks(now, &ack, &mut flags, &mut RateDraft::default());
        self.conn.delivered = delivered;
        match self.alert(now, &ack, self.conn.snd_una, &mut flags) {
            Resend::None => {}
            Resend::New => self.push(then, out),
            Resend::Lost => self.resend_lost(now, out),
        }
        self.push(then, out);
    }

    /// Nothing was outstanding: at most it tells of a duplicate (`tcp_ack`, `no_queue`).
    #[cold]
    fn on_late_ack(
        &mut self,
        now: u64,
        then: u64,
        ack: &AckView<'_>,
        prior_una: u32,
        flags: &mut AckFlags,
        out: &mut Vec<Burst>,
    ) {
        if self.wants.in_ack_event {
            self.cca.in_ack_event(&mut self.conn, now);
        }
        if flags.dsack {
            self.alert(now, ack, prior_una, flags);
        }
        if self.tlp_outstanding {
            self.process_tlp_ack(now, ack.cum, flags);
        }
        self.push(then, out);
    }

    /// What an ACK that says that so many segments were delivered says of marks.
    fn count_marks(&mut self, ack: &AckView<'_>, delivered: u32, flags: &mut AckFlags) {
        if !self.accurate {
            let marked = if self.ecn { delivered } else { 0 };
            self.conn.delivered_ce = self.conn.delivered_ce.wrapping_add(marked);
        } else if flags.una_advanced | flags.data_sacked {
            // Else it may be one that another has overtaken.
            let marked = self.newly_marked(ack, delivered);
            self.conn.delivered_ce = self.conn.delivered_ce.wrapping_add(marked);
            flags.ece = marked > 0;
            // Until an ACK tells of segments without marks alone the option is looked at each time.
            self.plain_flags = ace(self.conn.delivered_ce) | if self.ce_grew { flag::DSACK } else { 0 };
        }
    }

    /// `__tcp_accecn_process`, in whole segments: how many more were marked. Three bits tell it if no more than seven segments were delivered;
    /// of more the option tells it, and where it had no room, which of its counters grew last (`tcp_accecn_process_option`).
    pub(super) fn newly_marked(&mut self, ack: &AckView<'_>, delivered: u32) -> u32 {
        let least = newly_marked(ack.flags, self.conn.delivered_ce);
        let told = match ack.marked {
            Some(marked) => {
                let told = marked.wrapping_sub(std::mem::replace(&mut self.ce_told, marked));
                let grew = if self.ce_grew { delivered <= told } else { told > 0 };
                self.ce_grew = grew;
                told
            }
            None if self.ce_grew => {
                self.ce_told = self.ce_told.wrapping_add(delivered);
                delivered
            }
            None => 0,
        };
        if delivered <= MOST_TOLD {
            return least;
        }
        let most = delivered - (delivered.wrapping_sub(least) & 7);
        if told == 0 {
            least
        } else if delivered >= 16 {
            if delivered <= told { most } else { most.min(least + (told & !7)) }
        } else if told > least || 2 * told >= most {
            most
        } else {
            least
        }
    }

    /// The common case: a cumulative ACK, and nothing SACKed, lost or retransmitted.
    #[inline(always)]
    fn acknowledge_plain(&mut self, now: u64, cum: u32, flags: &mut AckFlags, draft: &mut RateDraft) {
        let n = cum - self.conn.snd_una;
        let first = self.board.tx_ns(self.conn.snd_una);
        let last = self.board.tx_ns(cum - 1);
        flags.first_acked_ns = first;
        flags.last_acked_ns = last;
        flags.newest_ns = last;
        flags.data_acked = true;
        flags.set_timer = true;
        // What was never sent twice arrived (F-RTO asks).
        flags.orig_sack_acked = self.conn.snd_una < self.high_seq;
        self.conn.delivered = self.conn.delivered.wrapping_add(n);
        self.conn.packets_out -= n;
        self.conn.snd_una = cum;
        if self.samples_rate {
            // The last segment is the most recently sent: only its tag counts.
            self.rate_delivered(cum - 1, draft);
        }
        self.rack_advance(now, cum - 1, last, false);
    }

    /// `tcp_clean_rtx_queue`: segments below `cum` have arrived, at least one.
    fn acknowledge(
        &mut self,
        now: u64,
        ack: &AckView<'_>,
        prior_sacked_end: u32,
        flags: &mut AckFlags,
        draft: &mut RateDraft,
    ) {
        let cum = ack.cum;
        let (prior_una, prior_delivered) = (self.conn.snd_una, self.conn.delivered);
        let mut reordered_at = u32::MAX;
        for seq in self.conn.snd_una..cum {
            let (f, tx) = self.board.flags_and_tx_ns(seq);
            if f & EVER_RETRANS != 0 {
                if f & RETRANS != 0 {
                    self.conn.retrans_out -= 1;
                }
                flags.retrans_data_acked = true;
            } else if f & SACKED == 0 {
                if flags.first_acked_ns == 0 {
                    flags.first_acked_ns = tx;
                }
                flags.last_acked_ns = tx;
                reordered_at = reordered_at.min(seq);
                if seq < self.high_seq {
                    flags.orig_sack_acked = true;
                }
            }
            if f & SACKED != 0 {
                self.conn.sacked_out -= 1;
            } else {
                flags.newest_ns = flags.newest_ns.max(tx);
                self.conn.delivered = self.conn.delivered.wrapping_add(1);
                // An echo older than the retransmission answers the first copy (`tcp_skb_spurious_retrans`).
                let resent = f & EVER_RETRANS != 0;
                if !(resent && self.rules.undo && ack.ts != 0 && ack.ts < timestamp(tx)) {
                    self.rack_advance(now, seq, tx, resent);
                }
            }
            if f & LOST != 0 {
                self.conn.lost_out -= 1;
            }
            self.conn.packets_out -= 1;
            if self.samples_rate {
                self.rate_delivered(seq, draft);
            }
        }
        flags.data_acked = true;
        flags.set_timer = true;
        // What is next had been SACKed, and is not there.
        flags.reneges = self.conn.sacked_out > 0 && self.board.flags(cum) & SACKED != 0;
        self.conn.snd_una = cum;
        self.unjudged = self.unjudged.max(cum);
        let known = self.rules.rack || !flags.retrans_data_acked;
        if known && reordered_at < prior_sacked_end {
            self.saw_reordering(reordered_at);
        }
        if !self.rules.sack {
            self.remove_duplicates(cum - prior_una, prior_delivered, flags);
        }
        if self.plain() {
            // What a probe sent again may still be on its way.
            self.retransmitted.retain(|r| r.0 >= cum && self.rules.rack);
            self.to_resend.clear();
        }
    }

    /// `tcp_check_sack_reordering`: a segment never sent twice arrived after later ones; the lowest of those that an ACK tells of.
    pub(super) fn saw_reordering(&mut self, seq: u32) {
        // `tcp_highest_sack_seq`
        let nothing = self.conn.sacked_out == 0 && self.rules.rack;
        let highest = match nothing {
            false if self.rules.sack => self.sacked_end,
            // Without SACK that is the oldest segment (`tcp_highest_sack_replace`).
            _ => self.conn.snd_una,
        };
        if highest > seq {
            self.reordering = self.reordering.max((highest - seq).min(300)); // tcp_max_reordering
            self.reordering_seen = self.reordering_seen.saturating_add(1);
        }
    }

    /// `tcp_sacktag_write_queue`: works in what the SACK blocks newly tell.
    fn tag_sacks(&mut self, now: u64, ack: &AckView<'_>, flags: &mut AckFlags, draft: &mut RateDraft) {
        let mut blocks = ack.sacks;
        let mut reordered_at = u32::MAX;
        let mut duplicate = None;
        if ack.flags & flag::DSACK != 0
            && let Some((&block, rest)) = blocks.split_first()
        {
            duplicate = self.see_duplicate(block, flags).then_some(block);
            blocks = rest;
        }
        // Most often one block is news; the others repeat what the last ACK said.
        let mut fresh = [(0, 0); MAX_SACKS];
        let mut n = 0;
        for &block in blocks.iter().take(MAX_SACKS) {
            // Not `contains`: with one branch a block there is less to guess.
            let known = self.sack_cache.iter().fold(false, |known, &c| known | (word(c) == word(block)));
            if !known {
                fresh[n] = block;
                n += 1;
            }
        }
        if n > 1 {
            // In order of sequence: a block above is no sign of reordering for one below that this ACK brings too.
            fresh[..n].sort_unstable();
        }
        match duplicate {
            None => {
                for &block in &fresh[..n] {
                    reordered_at = reordered_at.min(self.tag_block(now, block, ack.cum, flags, draft));
                }
            }
            Some(duplicate) => {
                reordered_at = self.tag_around(now, duplicate, &fresh[..n], ack.cum, flags, draft);
            }
        }
        // An ACK without the option leaves what the last one with it told of.
        if !ack.sacks.is_empty() {
            for (i, slot) in self.sack_cache.iter_mut().enumerate() {
                *slot = blocks.get(i).copied().unwrap_or((0, 0));
            }
        }
        // After a timeout that is not to be undone it says nothing.
        if reordered_at != u32::MAX
            && (self.conn.ca_state != CaState::Loss || self.undo_marker.is_some() || self.rules.ns3_recovery)
        {
            self.saw_reordering(reordered_at);
        }
    }

    /// `tcp_sacktag_walk` of one block. The lowest of its segments that were never sent again and came after later ones, or `u32::MAX`.
    #[inline(always)]
    fn tag_block(
        &mut self,
        now: u64,
        (lo, hi): (u32, u32),
        cum: u32,
        flags: &mut AckFlags,
        draft: &mut RateDraft,
    ) -> u32 {
        let mut reordered_at = u32::MAX;
        // One that does not begin behind what is acknowledged says nothing (`tcp_is_sackblock_valid`).
        let hi = hi.min(self.conn.snd_nxt);
        if lo <= cum.max(self.conn.snd_una) || lo >= hi {
            return reordered_at;
        }
        // What earlier ACKs reported inside this block needs no second look. Most often that is one block.
        let inside = |c: &&(u32, u32)| (c.0 >= lo) & (c.1 <= hi) & (c.1 > c.0);
        let mut known = self.sack_cache.iter().filter(inside).copied();
        let (mut a, mut b) = known.next().unwrap_or((hi, hi));
        let several = known.next().is_some();
        let known_from = |cache: &[(u32, u32)], seq: u32| match several {
            false => (hi, hi),
            true => {
                let later = cache.iter().filter(inside).filter(|c| c.0 >= seq);
                later.copied().min().unwrap_or((hi, hi))
            }
        };
        if several {
            (a, b) = known_from(&self.sack_cache, lo);
        }
        let splits = self.rules.autotunes;
        if splits && lo > self.conn.snd_una {
            self.split_behind(lo - 1);
        }
        let mut seq = lo;
        if lo == a {
            seq = b;
            (a, b) = known_from(&self.sack_cache, b);
        }
        // The buffer at hand has become one with what comes before it.
        let mut shifted = false;
        // Flags of the one before.
        let mut before = if splits && seq > self.conn.snd_una { self.board.flags(seq - 1) } else { 0 };
        while seq < hi {
            let (late, tagged) = self.tag_one(now, seq, flags, draft);
            reordered_at = reordered_at.min(late);
            if splits {
                let merged = self.merge(seq, hi, before, tagged);
                shifted = merged | (shifted & (before & ENDS_BUFFER == 0));
                before = tagged;
            }
            seq += 1;
            if tagged & (SACKED | ENDS_BUFFER) == SACKED {
                // Of those that follow in the same buffer and are SACKed nothing is new: two thirds of all.
                seq = self.board.past_sacked(seq, if seq <= a { a } else { hi });
            }
            if seq == a {
                // A buffer that fills a hole takes what is known behind it along, if it has itself become part of what is before.
                if splits {
                    if shifted {
                        self.merge_behind(seq - 1);
                    }
                    before = self.board.flags(b - 1);
                }
                seq = b;
                (a, b) = known_from(&self.sack_cache, b);
            }
        }
        if splits && hi < self.conn.snd_nxt {
            // A buffer ends there now, unless what follows had arrived before.
            let (last, next) = (self.board.flags(hi - 1), self.board.flags(hi));
            if last & ENDS_BUFFER != 0 {
                if shifted {
                    self.merge(hi, self.conn.snd_nxt, last, next);
                }
            } else if (last & TAGS != SACKED) | (next & TAGS != SACKED) {
                self.split_behind(hi - 1);
            }
        }
        self.sacked_end = self.sacked_end.max(hi);
        reordered_at
    }

    /// The same of all blocks, and of a duplicate, which has its place among them in order of sequence (`next_dup`).
    #[cold]
    fn tag_around(
        &mut self,
        now: u64,
        (lo, hi): (u32, u32),
        blocks: &[(u32, u32)],
        cum: u32,
        flags: &mut AckFlags,
        draft: &mut RateDraft,
    ) -> u32 {
        let mut reordered_at = u32::MAX;
        let mut due = true;
        for &(from, to) in blocks {
            if due && lo <= from {
                due = false;
                reordered_at = reordered_at.min(self.tag_duplicate(now, (lo, hi), cum, flags, draft));
            }
            // What of it lies before the duplicate, and behind.
            let holds = due && hi <= to;
            let end = if holds { lo } else { to };
            reordered_at = reordered_at.min(self.tag_block(now, (from, end), cum, flags, draft));
            if holds {
                due = false;
                reordered_at = reordered_at.min(self.tag_duplicate(now, (lo, hi), cum, flags, draft));
                reordered_at = reordered_at.min(self.tag_block(now, (hi, to), cum, flags, draft));
                // Behind the last segment Linux has lost its place, and comes to the duplicate once more (`tcp_sacktag_skip`), unless the last
                // ACK had told of the end already, which then is not walked.
                let told = self.sack_cache.iter().any(|c| c.0 < to && c.1 >= to);
                if to >= self.conn.snd_nxt && !told {
                    reordered_at = reordered_at.min(self.tag_duplicate(now, (lo, hi), cum, flags, draft));
                }
            }
        }
        if due {
            reordered_at = reordered_at.min(self.tag_duplicate(now, (lo, hi), cum, flags, draft));
        }
        reordered_at
    }

    /// `tcp_match_skb_to_sack`, `tcp_fragment`: a buffer ends where what happens to its segments begins to differ.
    #[inline]
    pub(super) fn split_behind(&mut self, seq: u32) {
        if self.board.flags(seq) & ENDS_BUFFER == 0 && seq + 1 < self.conn.snd_nxt {
            self.board.change(seq, ENDS_BUFFER, 0);
            self.buffers += 1;
        }
    }

    /// `tcp_shift_skb_data`: buffers that have arrived become one, unless they were sent again. The same of a segment and the next.
    #[inline]
    fn merge_behind(&mut self, seq: u32) {
        if seq + 1 < self.conn.snd_nxt {
            self.merge(seq + 1, self.conn.snd_nxt, self.board.flags(seq), self.board.flags(seq + 1));
        }
    }

    /// The same of a buffer that begins with a segment, as far as `end`, and the one before; with their flags. Did they become one?
    #[inline(always)]
    fn merge(&mut self, seq: u32, end: u32, before: u64, flags: u64) -> bool {
        let one = before & (TAGS | ENDS_BUFFER) == SACKED | ENDS_BUFFER
            && flags & TAGS == SACKED
            && (self.all_fits_together() || self.fits_together(seq, end));
        if one {
            self.board.change(seq - 1, 0, ENDS_BUFFER);
            self.buffers -= 1;
        }
        one
    }

    /// All that has arrived out of order, and the buffer at hand, would make one that is short enough.
    #[inline(always)]
    fn all_fits_together(&self) -> bool {
        (self.conn.sacked_out + self.max_burst).saturating_mul(self.conn.mss) < JOINED_BYTES
    }

    /// `tcp_skb_shift`: is a buffer that was put together short enough?
    #[inline(never)]
    fn fits_together(&mut self, seq: u32, end: u32) -> bool {
        let mss = self.conn.mss;
        let short = |from: u32, to: u32| (to - from).saturating_mul(mss) < JOINED_BYTES;
        // Most often it is the one to which something was added last.
        let (mut begin, last) = self.shifted;
        if last != seq {
            begin = seq - 1;
            while begin > self.conn.snd_una
                && short(begin, seq)
                && self.board.flags(begin - 1) & ENDS_BUFFER == 0
            {
                begin -= 1;
            }
        }
        begin = begin.max(self.conn.snd_una);
        let mut to = seq;
        while to < end && short(begin, to) {
            to += 1;
            if self.board.flags(to - 1) & ENDS_BUFFER != 0 {
                break;
            }
        }
        let fits = short(begin, to);
        self.shifted = (if fits { begin } else { seq }, to);
        fits
    }

    /// `tcp_dsack_seen`, `tcp_check_dsack`: the receiver had these segments already. Is it to be believed?
    #[cold]
    fn see_duplicate(&mut self, (lo, hi): (u32, u32), flags: &mut AckFlags) -> bool {
        if self.rules.ns3_recovery {
            flags.dsack = true;
            return false;
        }
        let n = hi.saturating_sub(lo);
        if n == 0 {
            return false;
        }
        flags.dsack_tlp = n == 1 && self.tlp_outstanding && self.tlp_high_seq == hi;
        // What was not sent twice was duplicated by the network.
        self.dsack_dups += u64::from(n);
        if self.dsack_dups > self.total_retrans() {
            return false;
        }
        flags.dsack = true;
        // Without reordering, or of a probe, it says nothing about RACK's patience.
        self.dsack_seen |= self.reordering_seen > 0 && !flags.dsack_tlp;
        // A spurious retransmission was delivered.
        self.conn.delivered = self.conn.delivered.wrapping_add(n);
        // What is acknowledged is forgotten, and only counted.
        if let Some(marker) = self.undo_marker
            && self.undo_retrans > 0
            && hi > marker
            && hi <= self.conn.snd_una
        {
            self.undo_retrans = (self.undo_retrans - n as i32).max(0);
        }
        true
    }

    /// `tcp_sacktag_one` of a duplicate that no earlier ACK has acknowledged. The lowest of them that was only late, as its first copy had been
    /// SACKed and now the second came; `u32::MAX`: none was.
    #[cold]
    fn tag_duplicate(
        &mut self,
        now: u64,
        (lo, hi): (u32, u32),
        cum: u32,
        flags: &mut AckFlags,
        draft: &mut RateDraft,
    ) -> u32 {
        let mut reordered_at = u32::MAX;
        // `tcp_is_sackblock_valid`, whose `snd_una` is what this ACK acknowledges already.
        let (before, una) = (self.conn.snd_una, cum.max(self.conn.snd_una));
        // In the queue, which still begins where it did before, it is looked for by its first segment.
        let below = hi <= una && lo >= before && self.undo_marker.is_some_and(|marker| hi > marker);
        if lo >= hi || hi > self.conn.snd_nxt || (lo <= una && !below) {
            return reordered_at;
        }
        for seq in lo..hi {
            let f = self.board.flags(seq);
            if f & EVER_RETRANS != 0 {
                if self.undo_marker.is_some_and(|marker| seq >= marker) && self.undo_retrans > 0 {
                    self.undo_retrans -= 1;
                }
                if f & SACKED != 0 {
                    reordered_at = reordered_at.min(seq);
                }
            }
            if below {
                continue;
            }
            reordered_at = reordered_at.min(self.tag_one(now, seq, flags, draft).0);
            // Both copies are there: none is in flight any more.
            if self.board.flags(seq) & RETRANS != 0 {
                self.board.change(seq, 0, RETRANS);
                self.conn.retrans_out -= 1;
            }
        }
        if !below {
            self.sacked_end = self.sacked_end.max(hi);
        }
        reordered_at
    }

    /// `tcp_sacktag_one`. The segment itself if it was never sent again and came after later ones, else `u32::MAX`; and its flags then.
    #[inline(always)]
    fn tag_one(&mut self, now: u64, seq: u32, flags: &mut AckFlags, draft: &mut RateDraft) -> (u32, u64) {
        let mut reordered_at = u32::MAX;
        let (f, tx) = self.board.flags_and_tx_ns(seq);
        if f & SACKED != 0 {
            return (reordered_at, f);
        }
        self.rack_advance(now, seq, tx, f & EVER_RETRANS != 0);
        let mut clear = 0;
        if f & RETRANS != 0 {
            // A retransmission in flight arrived: it is no longer lost.
            if f & LOST != 0 {
                clear = LOST;
                self.conn.lost_out -= 1;
                if !self.rules.ns3_recovery {
                    clear |= RETRANS;
                    self.conn.retrans_out -= 1;
                }
            }
        } else {
            if f & EVER_RETRANS == 0 {
                if seq < self.sacked_end {
                    reordered_at = seq;
                }
                if seq < self.high_seq {
                    flags.orig_sack_acked = true;
                }
                if flags.first_sacked_ns == 0 {
                    flags.first_sacked_ns = tx;
                }
                flags.last_sacked_ns = tx;
            }
            if f & LOST != 0 {
                clear = LOST;
                self.conn.lost_out -= 1;
            }
        }
        self.board.change(seq, SACKED, clear);
        flags.newest_ns = flags.newest_ns.max(tx);
        flags.data_sacked = true;
        self.conn.sacked_out += 1;
        self.conn.delivered = self.conn.delivered.wrapping_add(1);
        if self.samples_rate {
            self.rate_delivered(seq, draft);
        }
        (reordered_at, (f | SACKED) & !clear)
    }

    /// `tcp_rate_skb_delivered`: the most recently sent of the delivered segments carries the sample.
    #[inline(always)]
    fn rate_delivered(&mut self, seq: u32, draft: &mut RateDraft) {
        let Some(tag) = self.board.take_tag(seq) else { return };
        let tx = self.board.tx_ns(seq);
        let end = seq + 1;
        if self.rules.ns3_recovery {
            let since = tag.delivered_since(self.conn.delivered);
            if draft.sample.prior_delivered != 0
                && self.conn.delivered.wrapping_sub(since) <= draft.sample.prior_delivered
            {
                return;
            }
            draft.sample.prior_ns = 0;
        }
        if draft.sample.prior_ns == 0
            || tx > self.first_tx_ns
            || (tx == self.first_tx_ns && end > draft.last_end)
        {
            let since = tag.delivered_since(self.conn.delivered);
            draft.sample.prior_delivered = self.conn.delivered.wrapping_sub(since);
            draft.sample.prior_ns = tag.delivered_ns;
            draft.sample.is_app_limited = tag.app_limited;
            // Others do not touch where the stamps are.
            if self.wants.stamps
                && let Some(stamps) = &self.stamps
            {
                let stamp = stamps.get(seq);
                draft.sample.tx_in_flight = stamp.tx_in_flight;
                (draft.prior_lost, draft.prior_delivered_ce) = (stamp.lost, stamp.delivered_ce);
            }
            draft.snd_interval_ns = tx.saturating_sub(tag.first_tx_ns);
            draft.last_end = end;
            self.first_tx_ns = tx;
        }
    }

    /// `tcp_rate_gen`.
    #[inline(always)]
    fn finish_rate(&mut self, now: u64, delivered: u32, lost: u32, draft: &mut RateDraft) {
        let c = &mut self.conn;
        let rs: &mut RateSample = &mut draft.sample;
        rs.acked_sacked = delivered;
        rs.losses = lost;
        if rs.prior_ns == 0 {
            rs.delivered = -1;
            rs.interval_us = -1;
            return;
        }
        if self.wants.stamps {
            rs.lost = c.lost.wrapping_sub(draft.prior_lost);
            rs.delivered_ce = c.delivered_ce.wrapping_sub(draft.prior_delivered_ce);
        }
        rs.delivered = c.delivered.wrapping_sub(rs.prior_delivered) as i32;
        let interval_ns = draft.snd_interval_ns.max(now - rs.prior_ns);
        rs.interval_us = (interval_ns / 1000) as i64;
        // Faster than the path can be: ACKs were compressed or the clock is too coarse.
        if rs.interval_us < i64::from(c.min_rtt_us) {
            rs.interval_us = -1;
        }
    }

    /// `tcp_ack_update_rtt` and `pkts_acked`.
    #[inline(always)]
    fn sample_rtt(
        &mut self,
        now: u64,
        ack: &AckView<'_>,
        prior_una: u32,
        flags: &AckFlags,
        rs: &mut RateSample,
    ) {
        let us = |ns: u64| ((now - ns) / 1000).max(1) as u32;
        // 0 stands for none.
        let (mut seq_rtt, mut ca_rtt) = (0, 0);
        // What covers a retransmission may answer either copy (Karn).
        if flags.first_acked_ns != 0 && !flags.retrans_data_acked {
            seq_rtt = us(flags.first_acked_ns);
            ca_rtt = us(flags.last_acked_ns);
        }
        if flags.first_sacked_ns != 0 {
            ca_rtt = us(flags.last_sacked_ns);
            if seq_rtt == 0 {
                seq_rtt = us(flags.first_sacked_ns);
            }
        }
        // Only retransmitted data was acknowledged: the echoed timestamp tells which copy (RFC 7323 section 4).
        if seq_rtt == 0 && flags.data_acked && ack.ts != 0 {
            seq_rtt = timestamp(now).saturating_sub(ack.ts).max(1) * 1000;
            ca_rtt = seq_rtt;
        }
        if seq_rtt != 0 {
            self.update_rtt(seq_rtt);
            self.backoffs = 0;
            if self.rules.smoothed_rtt {
                ca_rtt = self.conn.srtt_us >> 3;
            }
        }
        rs.rtt_us = -1;
        if ca_rtt != 0 {
            rs.rtt_us = i64::from(ca_rtt);
            self.update_min_rtt(now, ca_rtt);
        }
        // Those of the program that sample the rate do not ask for that.
        if self.wants.pkts_acked {
            self.cca.pkts_acked(&mut self.conn, ack.cum - prior_una, ca_rtt, now);
        }
    }

    /// `tcp_rtt_estimator` and `tcp_set_rto`: RFC 6298 with Linux's slower fall of the variance.
    #[inline]
    pub(super) fn update_rtt(&mut self, rtt_us: u32) {
        let floor = self.rules.rto_min_us;
        if self.conn.srtt_us == 0 {
            self.conn.srtt_us = rtt_us << 3;
            self.mdev_us = rtt_us << 1;
            self.rttvar_us = self.mdev_us.max(floor);
            self.mdev_max_us = self.rttvar_us;
            self.rtt_seq = self.conn.snd_nxt;
        } else {
            let error = i64::from(rtt_us) - i64::from(self.conn.srtt_us >> 3);
            self.conn.srtt_us = (i64::from(self.conn.srtt_us) + error).max(1) as u32;
            let mut change = error.abs() - i64::from(self.mdev_us >> 2);
            // A falling RTT must not raise the variance as fast as a rising one.
            if error < 0 && change > 0 && !self.rules.smoothed_rtt {
                change >>= 3;
            }
            self.mdev_us = (i64::from(self.mdev_us) + change).max(0) as u32;
            if self.mdev_us > self.mdev_max_us {
                self.mdev_max_us = self.mdev_us;
                self.rttvar_us = self.rttvar_us.max(self.mdev_max_us);
            }
            if self.conn.snd_una > self.rtt_seq {
                if self.mdev_max_us < self.rttvar_us {
                    self.rttvar_us -= (self.rttvar_us - self.mdev_max_us) >> 2;
                }
                self.rtt_seq = self.conn.snd_nxt;
                self.mdev_max_us = floor;
            }
        }
        let srtt_us = self.conn.srtt_us >> 3;
        self.rto_us = if self.rules.smoothed_rtt {
            srtt_us.saturating_add(self.mdev_us).max(floor)
        } else {
            self.whole_ticks(srtt_us.saturating_add(self.rttvar_us))
        };
    }

    /// `tcp_update_rtt_min`: the minimum of the last 300 s, kept as the best of three spans.
    #[inline]
    pub(super) fn update_min_rtt(&mut self, now: u64, rtt: u32) {
        const WINDOW_NS: u64 = 300_000_000_000;
        let m = &mut self.min_rtt;
        // Most often no less than the largest of the three, which all are young: nothing changes.
        if rtt > m[2].1 && now - m[0].0 <= WINDOW_NS / 4 {
            return;
        }
        if rtt <= m[0].1 || now - m[2].0 > WINDOW_NS {
            *m = [(now, rtt); 3];
        } else {
            if rtt <= m[1].1 {
                (m[1], m[2]) = ((now, rtt), (now, rtt));
            } else if rtt <= m[2].1 {
                m[2] = (now, rtt);
            }
            let age = now - m[0].0;
            if age > WINDOW_NS {
                // The others move up, twice if the second is too old as well.
                *m = [m[1], m[2], (now, rtt)];
                if now - m[0].0 > WINDOW_NS {
                    *m = [m[1], m[2], (now, rtt)];
                }
            } else if m[1].0 == m[0].0 && age > WINDOW_NS / 4 {
                (m[1], m[2]) = ((now, rtt), (now, rtt));
            } else if m[2].0 == m[1].0 && age > WINDOW_NS / 2 {
                m[2] = (now, rtt);
            }
        }
        self.conn.min_rtt_us = m[0].1;
    }

    /// `tcp_update_pacing_rate`: 200 % of cwnd/srtt in slow start, 120 % beyond; for controls that
    /// do not set the rate themselves it only sizes bursts.
    #[inline]
    pub(super) fn update_pacing_rate(&mut self) {
        let c = &mut self.conn;
        let ratio = if c.cwnd < c.ssthresh / 2 { 200 } else { 120 };
        let bytes = u64::from(c.mss) * u64::from(c.cwnd.max(c.packets_out)) * 80_000 * ratio;
        if c.srtt_us > 0 {
            c.pacing_rate = bytes / u64::from(c.srtt_us);
        }
    }
}
