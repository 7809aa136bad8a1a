//! Recovery without SACK (RFC 6582 as Linux has it): duplicate acknowledgements are counted, and each says that one more segment has
//! arrived out of order, not which.

use super::{AckFlags, Sender};
use crate::scoreboard::LOST;
use queuewright_cca::CaState;

/// `tcp_max_reordering`
const MOST_REORDERING: u32 = 300;

impl Sender {
    /// `num_dupack` of `tcp_ack`: does an acknowledgement say by being none of anything new that something arrived out of order?
    pub(super) fn is_duplicate(flags: &AckFlags) -> bool {
        flags.duplicate && !flags.una_advanced && !flags.dsack
    }

    /// `tcp_add_reno_sack`
    pub(super) fn add_duplicate(&mut self, flags: &AckFlags) {
        if self.rules.sack || !Self::is_duplicate(flags) {
            return;
        }
        let before = self.conn.sacked_out;
        self.conn.sacked_out += 1;
        self.check_reordering(0);
        let more = self.conn.sacked_out.saturating_sub(before);
        self.conn.delivered = self.conn.delivered.wrapping_add(more);
    }

    /// `tcp_remove_reno_sacks`: one of so many acknowledged filled a hole, and the rest are those that were counted.
    pub(super) fn remove_duplicates(&mut self, acked: u32, prior_delivered: u32, flags: &mut AckFlags) {
        let new = acked.saturating_sub(self.conn.sacked_out).max(1);
        self.conn.delivered = prior_delivered.wrapping_add(new);
        self.conn.sacked_out = self.conn.sacked_out.saturating_sub(acked - 1);
        self.check_reordering(acked);
        // Which copy of what was sent again has arrived nobody knows (`tcp_clean_rtx_queue`).
        flags.orig_sack_acked &= !flags.retrans_data_acked;
    }

    /// `tcp_reset_reno_sack`
    pub(super) fn forget_duplicates(&mut self) {
        if !self.rules.sack {
            self.conn.sacked_out = 0;
        }
    }

    /// `tcp_check_reno_reordering`: more duplicates than there can be holes; `tcp_limit_reno_sacked`.
    fn check_reordering(&mut self, acked: u32) {
        let c = &mut self.conn;
        let holes = c.lost_out.max(1).min(c.packets_out);
        if c.sacked_out + holes > c.packets_out {
            c.sacked_out = c.packets_out - holes;
            self.reordering = (c.packets_out + acked).min(MOST_REORDERING);
            self.reordering_seen = self.reordering_seen.saturating_add(1);
        }
    }

    /// `tcp_newreno_mark_lost`: the oldest segment, of so many duplicates, or of an acknowledgement of a part of what there was.
    pub(super) fn mark_oldest_lost(&mut self, now: u64, una_advanced: bool) {
        let c = &self.conn;
        let lost = match c.ca_state {
            CaState::Recovery => una_advanced,
            state => state < CaState::Recovery && c.sacked_out >= self.reordering,
        };
        if lost && c.packets_out > 0 && self.board.flags(c.snd_una) & LOST == 0 {
            self.mark_lost(now, self.conn.snd_una);
        }
    }

    /// `tcp_is_non_sack_preventing_reopen`: duplicates of what was sent before may still come (RFC 6582 section 4.1).
    pub(super) fn holds_state(&mut self) -> bool {
        let holds = !self.rules.sack && self.conn.snd_una == self.high_seq;
        if holds && !self.any_sent_again() {
            self.retrans_stamp = 0;
        }
        holds
    }
}
