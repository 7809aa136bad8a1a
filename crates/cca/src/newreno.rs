//! NewReno's window rules: RFC 5681 section 3.1 as Linux's `reno` counts them.
//! (What makes it *New*Reno, RFC 6582's partial ACKs, is the sender's loss recovery.)

use crate::{Conn, Control, Flavour, Info, Linux};

/// Additive increase of one packet a round trip, halving on loss. Stateless: all it needs is in [`Conn`].
#[derive(Debug, Clone, Copy, Default)]
pub struct NewReno;

impl NewReno {
    /// A fresh control.
    pub fn new() -> NewReno {
        NewReno
    }
}

impl Control for NewReno {
    const INFO: Info = Info {
        name: "newreno",
        about: "additive increase, halving on loss",
        source: "RFC 5681, RFC 6582; Linux tcp_cong.c",
        linux: Some(Linux { name: "reno", module: None }),
        ns3: true,
        ..Info::PLAIN
    };

    fn start(_flavour: Flavour, _c: &mut Conn, _now_ns: u64) -> Self {
        NewReno::new()
    }

    /// `acked` packets were newly acknowledged: slow start below `ssthresh`, one packet a window above.
    #[inline]
    fn cong_avoid(&mut self, c: &mut Conn, acked: u32, _now_ns: u64) {
        let Some(left) = c.past_slow_start(acked) else { return };
        c.cong_avoid_ai(c.cwnd, left);
    }

    /// Half the window, at least 2 packets (RFC 5681 equation 4, with cwnd for FlightSize as in Linux).
    fn ssthresh(&mut self, c: &mut Conn, _now_ns: u64) -> u32 {
        (c.cwnd / 2).max(2)
    }
}
