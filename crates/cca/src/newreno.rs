//! NewReno's window rules: RFC 5681 section 3.1 as Linux's `reno` counts them.
//! (What makes it *New*Reno, RFC 6582's partial ACKs, is the sender's loss recovery.)

use crate::hystart::HystartPlusPlus;
use crate::{CaState, Conn, Control, Flavour, Info, Linux};

/// Additive increase of one packet a round trip, halving on loss. All that it needs is in [`Conn`], but for what may end slow start.
#[derive(Debug, Clone, Default)]
pub struct NewReno {
    /// With [`Flavour::hystart_plus_plus`].
    hystart: Option<Box<HystartPlusPlus>>,
}

impl NewReno {
    /// A fresh control.
    pub fn new() -> NewReno {
        NewReno::default()
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

    fn start(flavour: Flavour, c: &mut Conn, _now_ns: u64) -> Self {
        NewReno { hystart: flavour.hystart_plus_plus.then(|| HystartPlusPlus::new(c).into()) }
    }

    /// `acked` packets were newly acknowledged: slow start below `ssthresh`, one packet a window above.
    #[inline]
    fn cong_avoid(&mut self, c: &mut Conn, acked: u32, _now_ns: u64) {
        let left = match &mut self.hystart {
            None => c.past_slow_start(acked),
            Some(hystart) => hystart.past_slow_start(c, acked),
        };
        let Some(left) = left else { return };
        c.cong_avoid_ai(c.cwnd, left);
    }

    /// Half the window, at least 2 packets (RFC 5681 equation 4, with cwnd for FlightSize as in Linux).
    fn ssthresh(&mut self, c: &mut Conn, _now_ns: u64) -> u32 {
        if let Some(hystart) = &mut self.hystart {
            hystart.end();
        }
        (c.cwnd / 2).max(2)
    }

    /// An ACK gave a round-trip sample.
    #[inline]
    fn pkts_acked(&mut self, c: &mut Conn, _acked: u32, rtt_us: u32, _now_ns: u64) {
        if let (Some(hystart), 1..) = (&mut self.hystart, rtt_us) {
            hystart.sample(c, rtt_us);
        }
    }

    /// A timeout ends the first slow start.
    fn set_state(&mut self, _c: &mut Conn, new: CaState, _now_ns: u64) {
        if let (Some(hystart), CaState::Loss) = (&mut self.hystart, new) {
            hystart.end();
        }
    }
}
