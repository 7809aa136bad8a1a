//! The retransmission timer and what else shares it (`tcp_timer.c`, `tcp_send_loss_probe`).

use super::{AckFlags, Burst, Sender, Timer};
use queuewright_cca::CaState;

/// `TCP_RTO_MAX`: 120 s.
const RTO_MAX_US: u32 = 120_000_000;

impl Sender {
    pub(super) fn set_timer(&mut self, timer: Timer, at: u64) {
        self.timer = timer;
        self.timer_at = at;
    }

    fn rto_ns(&self) -> u64 {
        u64::from(self.rto_us) * 1000
    }

    /// `tcp_rearm_rto`.
    pub(super) fn rearm_rto(&mut self, now: u64) {
        if self.conn.packets_out == 0 {
            return self.set_timer(Timer::Off, u64::MAX);
        }
        let at = if matches!(self.timer, Timer::Probe | Timer::Reorder) {
            // Counted from when the oldest segment was sent, not from now.
            (self.board.tx_ns(self.conn.snd_una) + self.rto_ns()).max(now + 1)
        } else {
            now + self.rto_ns()
        };
        self.set_timer(Timer::Rto, at);
    }

    /// `tcp_set_xmit_timer`: a probe if one is in order, else the RTO.
    pub(super) fn arm_timer(&mut self, now: u64) {
        if !self.schedule_probe(now, true) {
            self.rearm_rto(now);
        }
    }

    /// `tcp_schedule_loss_probe` (RFC 8985 section 7.2).
    pub(super) fn schedule_probe(&mut self, now: u64, advancing_rto: bool) -> bool {
        let c = &self.conn;
        if !self.rules.rack
            || c.packets_out == 0
            || c.sacked_out > 0
            || !matches!(c.ca_state, CaState::Open | CaState::Cwr)
        {
            return false;
        }
        let mut wait_us = if c.srtt_us > 0 { u64::from(c.srtt_us >> 2) } else { 1_000_000 };
        // A lone segment's ACK may be delayed.
        wait_us += if c.packets_out == 1 { u64::from(self.rules.rto_min_us) } else { 2000 };
        let mut at = now + wait_us * 1000;
        let rto_at =
            if advancing_rto { now + self.rto_ns() } else { self.board.tx_ns(c.snd_una) + self.rto_ns() };
        if rto_at > now {
            at = at.min(rto_at);
        }
        self.set_timer(Timer::Probe, at);
        true
    }

    /// The timer is due.
    pub fn on_timer(&mut self, now: u64, out: &mut Vec<Burst>) {
        debug_assert!(now >= self.timer_at);
        if !self.established {
            return self.send_syn(now, out);
        }
        match std::mem::replace(&mut self.timer, Timer::Off) {
            Timer::Off => self.timer_at = u64::MAX,
            Timer::Rto => self.timeout(now, out),
            Timer::Probe => {
                self.timer = Timer::Probe;
                self.probe(now, out);
            }
            Timer::Reorder => {
                self.timer = Timer::Reorder;
                self.reorder_timeout(now, out);
            }
        }
    }

    /// `tcp_retransmit_timer`.
    fn timeout(&mut self, now: u64, out: &mut Vec<Burst>) {
        if self.conn.packets_out == 0 {
            return self.set_timer(Timer::Off, u64::MAX);
        }
        self.timeouts += u64::from(now >= self.measure_from_ns);
        self.enter_loss(now);
        self.backoffs += 1;
        self.resend(now, self.conn.snd_una, out);
        if self.rules.back_off {
            self.rto_us = self.rto_us.saturating_mul(2).min(RTO_MAX_US);
        }
        self.set_timer(Timer::Rto, now + self.rto_ns());
    }

    /// `tcp_send_loss_probe` (RFC 8985 section 7.3): new data if there is, else the last segment again.
    fn probe(&mut self, now: u64, out: &mut Vec<Burst>) {
        if !self.tlp_outstanding && self.conn.packets_out > 0 {
            self.tlp_retrans = false;
            let before = self.conn.snd_nxt;
            self.probe_new_data(now, out);
            if self.conn.snd_nxt == before {
                self.resend(now, self.conn.snd_nxt - 1, out);
                self.tlp_retrans = true;
            }
            self.tlp_outstanding = true;
            self.tlp_high_seq = self.conn.snd_nxt;
        }
        self.rearm_rto(now);
    }

    /// `tcp_rack_reo_timeout` (RFC 8985 section 6.3).
    fn reorder_timeout(&mut self, now: u64, out: &mut Vec<Burst>) {
        let mut flags = AckFlags::default();
        let (before, lost) = (self.conn.in_flight(), self.conn.lost);
        self.detect_loss(now, &mut flags);
        if self.conn.in_flight() != before {
            if self.conn.ca_state != CaState::Recovery {
                self.enter_recovery(now, false);
                if !self.cca.has_cong_control() {
                    self.reduce_cwnd(1, self.conn.lost - lost, &flags);
                }
            }
            self.resend_lost(now, out);
        }
        if self.timer != Timer::Rto {
            self.rearm_rto(now);
        }
    }
}
