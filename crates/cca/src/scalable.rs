//! Scalable TCP (Kelly, "Scalable TCP: improving performance in highspeed wide area networks", ACM CCR
//! 33(2), 2003), as Linux's `tcp_scalable.c`: gentle steps of fixed proportion both ways.

use crate::{Conn, Control, Flavour, Info, Linux};

/// Packets acknowledged for each packet of growth: the paper's a = 0.01.
const AI_CNT: u32 = 100;
/// The decrease is 2^-3 of the window: the paper's b = 1/8.
const MD_SHIFT: u32 = 3;

/// Scalable TCP. Stateless: all it needs is in [`Conn`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Scalable;

impl Scalable {
    /// A fresh control.
    pub fn new() -> Scalable {
        Scalable
    }
}

impl Control for Scalable {
    const INFO: Info = Info {
        name: "scalable",
        about: "1 % more a round trip, 1/8 less on loss",
        source: "Kelly, ACM CCR 33(2), 2003; Linux tcp_scalable.c",
        linux: Some(Linux { name: "scalable", module: Some("tcp_scalable") }),
        ns3: true,
        ..Info::PLAIN
    };

    fn start(_flavour: Flavour, _c: &mut Conn, _now_ns: u64) -> Self {
        Scalable::new()
    }

    /// `acked` packets were newly acknowledged: slow start below `ssthresh`; above, 1 % of them, or Reno's
    /// packet a window where that is more (below 100 packets).
    #[inline]
    fn cong_avoid(&mut self, c: &mut Conn, acked: u32, _now_ns: u64) {
        let Some(left) = c.past_slow_start(acked) else { return };
        c.cong_avoid_ai(c.cwnd.min(AI_CNT), left);
    }

    /// Seven eighths of the window, at least 2 packets.
    fn ssthresh(&mut self, c: &mut Conn, _now_ns: u64) -> u32 {
        (c.cwnd - (c.cwnd >> MD_SHIFT)).max(2)
    }
}
