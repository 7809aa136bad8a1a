//! What losses, marks and acknowledgements make of the window (RFC 9002 section 7 and appendix B).
//!
//! A congestion control is asked by the events of Linux's: `ssthresh` once a recovery period, `cong_avoid` for packets sent after it began. So a
//! control of Linux's runs here as it is. There is no PRR: the window is reduced at once (section 7.3.2).

use super::constants::MINIMUM_WINDOW;
use super::sender::{Sender, Sent};
use queuewright_cca::{CaState, Event, Lost, RateSample};

impl Sender {
    /// Was a packet that was sent then sent in a recovery period (`InCongestionRecovery`)?
    fn in_recovery(&self, sent_at: u64) -> bool {
        self.recovery_start.is_some_and(|start| sent_at <= start)
    }

    /// `OnCongestionEvent`, of a packet sent at `sent_at` that is lost, or marked.
    pub(super) fn congestion_event(&mut self, now: u64, sent_at: u64, state: CaState) {
        if !self.in_recovery(sent_at) {
            self.recovery_start = Some(now);
            self.conn.prior_cwnd = self.conn.cwnd;
            self.conn.cwnd_cnt = 0;
            self.conn.ssthresh = self.cca.ssthresh(&mut self.conn, now);
            if !self.wants.cong_control {
                self.conn.cwnd = self.conn.ssthresh.max(MINIMUM_WINDOW);
            }
        }
        // A loss after a mark of the same period is one nevertheless.
        if self.conn.ca_state < state {
            self.set_state(now, state);
        }
    }

    fn set_state(&mut self, now: u64, state: CaState) {
        self.cca.set_state(&mut self.conn, state, now);
        self.conn.ca_state = state;
    }

    /// A control that wants it hears of a packet that is lost; `before`: packets lost when it was sent.
    pub(super) fn tell_lost(&mut self, now: u64, packet: &Sent, before: u32) {
        if self.wants.lost {
            let lost = Lost {
                packets: 1,
                tx_in_flight: packet.tx_in_flight,
                lost: self.conn.lost.wrapping_sub(before),
                is_app_limited: packet.app_limited.into(),
            };
            self.cca.lost(&mut self.conn, &lost, now);
        }
    }

    /// `OnPacketsLost`: packets, by their numbers, which rise.
    pub(super) fn on_lost(&mut self, now: u64, lost: &[u32]) {
        let Some(&last) = lost.last() else { return };
        self.congestion_event(now, self.packet(last).at, CaState::Recovery);
        if self.is_persistent(lost) {
            self.conn.cwnd = MINIMUM_WINDOW;
            self.conn.cwnd_cnt = 0;
            // A control of another kind leaves this state once a packet that is sent from now on is acknowledged.
            self.recovery_start = self.wants.cong_control.then_some(now);
            self.rtt.forget_min();
            self.cca.event(&mut self.conn, Event::Loss, now);
            self.set_state(now, CaState::Loss);
        }
    }

    /// Do these losses establish persistent congestion (section 7.6.2)?
    fn is_persistent(&self, lost: &[u32]) -> bool {
        let Some(first_rtt_at) = self.rtt.first_at else { return false };
        let duration_ns = self.rtt.persistent_congestion_ns();
        let mut counted = lost.iter().copied().filter(|number| self.packet(*number).at >= first_rtt_at);
        let Some(mut oldest) = counted.next() else { return false };
        let mut before = oldest;
        for number in counted {
            if !self.none_acked(before, number) {
                oldest = number;
            }
            if self.packet(number).at - self.packet(oldest).at > duration_ns {
                return true;
            }
            before = number;
        }
        false
    }

    /// `OnPacketsAcked`: so many packets are newly acknowledged. Those that were sent in the recovery period that is under way let the window
    /// stay as it is; the first that was sent later ends it.
    pub(super) fn on_acked(
        &mut self,
        now: u64,
        fresh: &[(u32, u32)],
        acked: u32,
        rs: &RateSample,
        random: u32,
    ) {
        let grow = match self.recovery_start {
            None => acked,
            Some(start) => {
                let numbers = fresh.iter().flat_map(|r| r.0..r.1);
                numbers.filter(|number| self.packet(*number).at > start).count() as u32
            }
        };
        if grow > 0 && self.conn.ca_state != CaState::Open {
            if !self.wants.cong_control {
                self.cca.event(&mut self.conn, Event::CompleteCwr, now);
            }
            self.set_state(now, CaState::Open);
        }
        if self.wants.cong_control {
            self.cca.cong_control(&mut self.conn, rs, now, random);
        } else if grow > 0 {
            self.cca.cong_avoid(&mut self.conn, grow, now);
        }
        self.conn.cwnd = self.conn.cwnd.max(1);
    }
}
