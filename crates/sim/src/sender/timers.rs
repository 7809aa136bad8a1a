//! The retransmission timer and what else shares it (`tcp_timer.c`, `tcp_send_loss_probe`).

use super::{AckFlags, Burst, Sender, Timer};
use crate::jiffies::{FINE_TICKS, fires_at};
use queuewright_cca::CaState;

/// `TCP_RTO_MAX`: 120 s.
const RTO_MAX_US: u32 = 120_000_000;

impl Sender {
    pub(super) fn set_timer(&mut self, timer: Timer, at: u64) {
        self.timer = timer;
        self.timer_at = at;
    }

    /// The present tick (`tcp_jiffies32`).
    #[inline]
    pub(super) fn tick(&mut self, now: u64) -> u32 {
        if now >= self.tick_end_ns {
            self.tick = self.conn.clock.jiffies(now);
            let tick_ns = self.conn.clock.tick_ns();
            self.tick_end_ns = (now / tick_ns + 1) * tick_ns;
        }
        self.tick
    }

    /// Sets the timer for so many us from now.
    pub(super) fn set_timer_in(&mut self, timer: Timer, now: u64, us: u64) {
        let at = match self.rules.ticks {
            false => now + us * 1000,
            true => {
                self.tick(now);
                let clock = self.conn.clock;
                let ticks = clock.ticks(us);
                // As `fires_at`, without a division.
                match ticks < FINE_TICKS {
                    true => self.tick_end_ns + ticks * clock.tick_ns(),
                    false => fires_at(clock, now, us),
                }
            }
        };
        self.set_timer(timer, at);
    }

    /// `tcp_reset_xmit_timer`: what pacing still holds back does not count.
    fn set_timer_paced(&mut self, timer: Timer, now: u64, us: u64) {
        let mut us = us;
        let clock = self.conn.clock;
        if self.conn.pacing && self.wstamp_ns > now + clock.tick_ns() && self.rules.ticks {
            us += clock.us((self.wstamp_ns - now) / clock.tick_ns());
        }
        self.set_timer_in(timer, now, us);
    }

    /// A time of so many us as the timeout is kept: in whole ticks.
    #[inline]
    pub(super) fn whole_ticks(&self, us: u32) -> u32 {
        let clock = self.conn.clock;
        if self.rules.ticks { clock.us(clock.ticks(us.into())) as u32 } else { us }
    }

    /// How long (ns) until the oldest segment has been on its way for a timeout (`tcp_rto_delta_us`).
    #[inline]
    fn rto_left_ns(&self, now: u64) -> i64 {
        (self.board.tx_ns(self.conn.snd_una) + u64::from(self.rto_us) * 1000) as i64 - now as i64
    }

    /// The timeout from now on.
    pub(super) fn restart_rto(&mut self, now: u64) {
        self.set_timer_paced(Timer::Rto, now, self.rto_us.into());
    }

    /// `tcp_rearm_rto`.
    pub(super) fn rearm_rto(&mut self, now: u64) {
        if self.conn.packets_out == 0 {
            return self.set_timer(Timer::Off, u64::MAX);
        }
        if matches!(self.timer, Timer::Probe | Timer::Reorder) {
            // Counted from when the oldest segment was sent, not from now.
            let left = self.rto_left_ns(now).max(1000) as u64;
            return self.set_timer_paced(Timer::Rto, now, left / 1000);
        }
        self.restart_rto(now);
    }

    /// `tcp_set_xmit_timer`: a probe if one is in order, else the RTO.
    pub(super) fn arm_timer(&mut self, now: u64) {
        if !self.schedule_probe(now, true) {
            self.rearm_rto(now);
        }
    }

    /// Is a tail loss probe in order, once something is on its way?
    #[inline]
    pub(super) fn probes(&self) -> bool {
        self.rules.probes && matches!(self.conn.ca_state, CaState::Open | CaState::Cwr)
    }

    /// `tcp_schedule_loss_probe` (RFC 8985 section 7.2).
    #[inline(always)]
    pub(super) fn schedule_probe(&mut self, now: u64, advancing_rto: bool) -> bool {
        let probes = self.conn.packets_out > 0 && self.probes();
        if probes {
            self.set_probe_timer(now, advancing_rto);
        }
        probes
    }

    #[inline(never)]
    fn set_probe_timer(&mut self, now: u64, advancing_rto: bool) {
        let c = &self.conn;
        let mut wait_us = if c.srtt_us > 0 { u64::from(c.srtt_us >> 2) } else { 1_000_000 };
        // A lone segment's ACK may be delayed.
        wait_us += if c.packets_out == 1 { u64::from(self.rules.rto_min_us) } else { 2000 };
        let rto_ns = if advancing_rto { i64::from(self.rto_us) * 1000 } else { self.rto_left_ns(now) };
        if rto_ns > 0 && (rto_ns as u64) < wait_us * 1000 {
            wait_us = rto_ns as u64 / 1000;
        }
        self.set_timer_paced(Timer::Probe, now, wait_us);
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
        self.timeouts_in_a_row += 1;
        self.backoffs += 1;
        self.resend(now, self.conn.snd_una, out);
        if self.rules.back_off {
            self.rto_us = self.rto_us.saturating_mul(2).min(RTO_MAX_US);
        }
        self.set_timer_in(Timer::Rto, now, self.rto_us.into());
    }

    /// `tcp_send_loss_probe` (RFC 8985 section 7.3): new data if there is, else the last segment again.
    fn probe(&mut self, now: u64, out: &mut Vec<Burst>) {
        if !self.tlp_outstanding && self.conn.packets_out > 0 && self.send_probe(now, out) {
            self.tlp_outstanding = true;
            self.tlp_high_seq = self.conn.snd_nxt;
            // The timeout begins anew with the probe.
            self.timer = Timer::Off;
        }
        self.rearm_rto(now);
    }

    /// Did it go out? New data may have to wait for pacing.
    fn send_probe(&mut self, now: u64, out: &mut Vec<Burst>) -> bool {
        // `tcp_snd_wnd_test`
        self.tlp_retrans = self.conn.snd_nxt >= self.written.min(self.window_end);
        if self.tlp_retrans {
            self.resend_as_probe(now, self.conn.snd_nxt - 1, out);
            return true;
        }
        self.probe_new_data(now, out)
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
