//! Channels: links that lose packets, or delay some more than others.

use crate::random::{below, normal};
use queuewright_scenario::spec::{Impairments, Jitter, JitterLaw, PortSpec};
use rand_pcg::Pcg32;

/// The channel of a port's link: what happens to packets on the way, after queue and transmission. Runs whose links are perfect have none.
#[derive(Debug)]
pub struct Channel {
    impairments: Impairments,
    delay_ns: u64,
    random: Pcg32,
    /// When the latest packet arrived that nothing may overtake (ns).
    last_ns: u64,
    /// Packets lost since the start of the run.
    pub lost: u64,
    /// The same when the window began.
    lost_before: u64,
}

/// Of so many parts, as many as [`Impairments`] count in.
const MILLION: u64 = 1_000_000;

impl Channel {
    /// That of a port's link.
    pub fn new(port: &PortSpec, random: Pcg32) -> Channel {
        Channel {
            impairments: port.impairments,
            delay_ns: port.delay_ns,
            random,
            last_ns: 0,
            lost: 0,
            lost_before: 0,
        }
    }

    /// The window begins: what was lost before does not count.
    pub fn window_begins(&mut self) {
        self.lost_before = self.lost;
    }

    /// Packets lost within the window.
    pub fn lost_in_window(&self) -> u64 {
        self.lost - self.lost_before
    }

    /// Does it lose or delay anything?
    pub fn impaired(&self) -> bool {
        self.impairments.any()
    }

    /// May a packet arrive before one that left earlier?
    pub fn overtakes(&self) -> bool {
        self.impairments.overtakes()
    }

    /// When a packet arrives that would do so at `at` if all were delayed alike; none: it is lost.
    pub fn carry(&mut self, at: u64) -> Option<u64> {
        if self.impairments.loss > 0 && self.happens(self.impairments.loss) {
            self.lost += 1;
            return None;
        }
        let mut at = at;
        if let Some(Jitter { law, overtaking }) = self.impairments.jitter {
            at = match law {
                JitterLaw::Uniform(most) => at + below(&mut self.random, most + 1),
                JitterLaw::Normal(deviation) => {
                    let off = normal(&mut self.random) * deviation as f64;
                    // Not before it left.
                    at.saturating_add_signed(off as i64).max(at - self.delay_ns)
                }
            };
            if !overtaking {
                self.last_ns = self.last_ns.max(at);
                at = self.last_ns;
            }
        }
        if let Some(reorder) = self.impairments.reorder
            && self.happens(reorder.share)
        {
            at += reorder.by_ns;
        }
        Some(at)
    }

    fn happens(&mut self, millionths: u32) -> bool {
        below(&mut self.random, MILLION) < u64::from(millionths)
    }
}
