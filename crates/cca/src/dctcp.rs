//! DCTCP (RFC 8257; Alizadeh et al., SIGCOMM 2010) in the integers of Linux's `tcp_dctcp.c`: the window
//! yields in proportion to how much of the last window was marked.
//!
//! It needs an echo of each segment's mark (RFC 8257 section 3.2), which is the receiver's work, and
//! sends ECT(0), as Linux's does: queues with a step at a low threshold are for it, L4S's are not.

use crate::{CaState, Conn, Control, Event, Flavour, Info, Linux, NewReno, after};

/// `alpha` and the fraction of marks have 10 fraction bits.
const ALPHA_SHIFT: u32 = 10;
const MAX_ALPHA: u32 = 1 << ALPHA_SHIFT;
/// The weight of the last window in `alpha`: g = 2^-4 (RFC 8257 section 4.2, `dctcp_shift_g`).
const SHIFT_G: u32 = 4;

/// DCTCP's state.
#[derive(Debug, Clone)]
pub struct Dctcp {
    /// Average fraction of packets marked, 10 fraction bits; 1 at the start (`dctcp_alpha_on_init`).
    alpha: u32,
    /// The present observation window ends when this is acknowledged.
    next_seq: u32,
    /// Packets delivered, and delivered with a mark, when it began.
    old_delivered: u32,
    old_delivered_ce: u32,
    /// The window at the last reduction.
    loss_cwnd: u32,
    /// Growth is Reno's (RFC 8257 section 3.4).
    reno: NewReno,
}

impl Dctcp {
    /// A fresh control for an established connection.
    pub fn new(c: &Conn) -> Dctcp {
        Dctcp {
            alpha: MAX_ALPHA,
            next_seq: c.snd_nxt,
            old_delivered: c.delivered,
            old_delivered_ce: c.delivered_ce,
            loss_cwnd: 0,
            reno: NewReno::new(),
        }
    }

    /// Average fraction of packets marked.
    pub fn alpha(&self) -> f64 {
        f64::from(self.alpha) / f64::from(MAX_ALPHA)
    }

    /// Loss: half the window, whatever `alpha` says (RFC 8257 section 3.5).
    fn react_to_loss(&mut self, c: &mut Conn) {
        self.loss_cwnd = c.cwnd;
        c.ssthresh = (c.cwnd >> 1).max(2);
    }
}

impl Control for Dctcp {
    const INFO: Info = Info {
        name: "dctcp",
        about: "yields as much as was marked (ECN)",
        source: "RFC 8257; Linux tcp_dctcp.c",
        linux: Some(Linux { name: "dctcp", module: Some("tcp_dctcp") }),
        ns3: true,
        needs_ecn: true,
        ..Info::PLAIN
    };

    fn start(_flavour: Flavour, c: &mut Conn, _now_ns: u64) -> Self {
        Dctcp::new(c)
    }

    /// An ACK is worked in: once a window, alpha = (1 - g) alpha + g F (RFC 8257 section 3.3 step 7).
    #[inline]
    fn in_ack_event(&mut self, c: &mut Conn, _now_ns: u64) {
        if after(self.next_seq, c.snd_una) {
            return;
        }
        let delivered = u64::from(c.delivered.wrapping_sub(self.old_delivered));
        let marked = u64::from(c.delivered_ce.wrapping_sub(self.old_delivered_ce));
        self.alpha -= match self.alpha >> SHIFT_G {
            0 => self.alpha, // too small for a step: 0, or it would never get there
            step => step,
        };
        let gain = (marked << (ALPHA_SHIFT - SHIFT_G)) / delivered.max(1);
        self.alpha = (u64::from(self.alpha) + gain).min(u64::from(MAX_ALPHA)) as u32;
        self.next_seq = c.snd_nxt;
        self.old_delivered = c.delivered;
        self.old_delivered_ce = c.delivered_ce;
    }

    /// As Reno: RFC 8257 section 3.4.
    #[inline]
    fn cong_avoid(&mut self, c: &mut Conn, acked: u32, now_ns: u64) {
        self.reno.cong_avoid(c, acked, now_ns);
    }

    /// ECN echo: cwnd (1 - alpha / 2), at least 2 packets (RFC 8257 section 3.3 step 9).
    fn ssthresh(&mut self, c: &mut Conn, _now_ns: u64) -> u32 {
        self.loss_cwnd = c.cwnd;
        let cut = (u64::from(c.cwnd) * u64::from(self.alpha)) >> (ALPHA_SHIFT + 1);
        (c.cwnd - cut as u32).max(2)
    }

    /// Recovery is entered for loss.
    fn set_state(&mut self, c: &mut Conn, new: CaState, _now_ns: u64) {
        if new == CaState::Recovery && c.ca_state != CaState::Recovery {
            self.react_to_loss(c);
        }
    }

    /// So is the timeout's.
    fn event(&mut self, c: &mut Conn, event: Event, _now_ns: u64) {
        if event == Event::Loss {
            self.react_to_loss(c);
        }
    }

    /// The window before the spurious reduction.
    fn undo_cwnd(&mut self, c: &mut Conn) -> u32 {
        c.cwnd.max(self.loss_cwnd)
    }
}
