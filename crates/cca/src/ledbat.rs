//! LEDBAT (RFC 6817): a sender of background traffic, which leaves the link to others.
//!
//! It asks how long its packets wait, the delay of late less the least that was seen, and goes for [`TARGET_US`]: below it the
//! window grows, by a packet a round trip at most, and above it shrinks in proportion (section 2.4.2). Flows that fill a longer
//! queue leave it two packets.
//!
//! The RFC takes the delay one way, which TCP does not measure; this takes the round trip's, so that acknowledgements that wait
//! count, too. Where the RFC leaves the window one packet above what is in flight, it does not grow here unless it limits the
//! sender, as with Linux's other controls. The first window (section 2.5: two packets), losses, and the time after which nothing has come
//! back are TCP's. There is no slow start. Minutes in which nothing came are forgotten like others; the RFC's list keeps ten that had samples.

use crate::{Conn, Control, Flavour, Info};

/// The queueing delay that it aims at, microseconds: the most that section 2.5 allows.
const TARGET_US: i64 = 100_000;
/// The smallest window (section 2.5), packets.
const MIN_CWND: u32 = 2;
/// Delays of late: the least of so many samples, of those that are not older than a round trip (section 2.5).
const CURRENT_FILTER: usize = 4;
/// Minutes of which the least delay is known.
const BASE_HISTORY: usize = 10;
const MINUTE_NS: u64 = 60_000_000_000;
/// No sample, microseconds.
const NONE: u32 = u32::MAX;

/// LEDBAT's state.
#[derive(Debug, Clone)]
pub struct Ledbat {
    /// The last samples, the latest at `next` less one, microseconds, and when they were taken, ns.
    current: [(u32, u64); CURRENT_FILTER],
    next: usize,
    /// The least of each of the last minutes, the present one last, microseconds.
    base: [u32; BASE_HISTORY],
    /// The present minute.
    minute: u64,
    /// What the window is to grow by, packets times [`TARGET_US`] times the window.
    credit: i64,
}

impl Ledbat {
    /// How long packets wait, microseconds; none before the first sample.
    pub fn queueing_us(&self) -> Option<u32> {
        let latest = self.current[(self.next + CURRENT_FILTER - 1) % CURRENT_FILTER];
        let oldest = latest.1.saturating_sub(1000 * u64::from(latest.0));
        let of_late = self.current.iter().filter(|(us, at)| *us < NONE && *at >= oldest);
        let base = self.base.iter().copied().min()?;
        // What is of late is in the history, too.
        of_late.map(|(us, _)| us - base.min(*us)).min()
    }
}

impl Control for Ledbat {
    const INFO: Info = Info {
        name: "ledbat",
        about: "yields to others: aims at a queueing delay of 100 ms",
        source: "RFC 6817",
        ..Info::PLAIN
    };

    fn start(_flavour: Flavour, c: &mut Conn, now_ns: u64) -> Self {
        c.ssthresh = c.cwnd;
        Ledbat {
            current: [(NONE, 0); CURRENT_FILTER],
            next: 0,
            base: [NONE; BASE_HISTORY],
            minute: now_ns / MINUTE_NS,
            credit: 0,
        }
    }

    #[inline]
    fn cong_avoid(&mut self, c: &mut Conn, acked: u32, _now_ns: u64) {
        let Some(queueing) = self.queueing_us() else { return };
        let off_target = TARGET_US - i64::from(queueing);
        if off_target > 0 && !c.cwnd_limited() {
            return;
        }
        // Of another window, which TCP has changed meanwhile, no more is left than of this one.
        let window = TARGET_US * i64::from(c.cwnd);
        self.credit = self.credit.clamp(-window, window) + off_target * i64::from(acked);
        while self.credit >= TARGET_US * i64::from(c.cwnd) {
            self.credit -= TARGET_US * i64::from(c.cwnd);
            c.cwnd += 1;
        }
        while self.credit < 0 && -self.credit >= TARGET_US * i64::from(c.cwnd) {
            if c.cwnd <= MIN_CWND {
                self.credit = 0;
                break;
            }
            self.credit += TARGET_US * i64::from(c.cwnd);
            c.cwnd -= 1;
        }
        // Also after a timeout, from one packet on.
        c.cwnd = c.cwnd.max(MIN_CWND);
        // It is never in slow start, whatever the window was before a loss.
        c.ssthresh = c.ssthresh.min(c.cwnd);
    }

    #[inline]
    fn pkts_acked(&mut self, _c: &mut Conn, _acked: u32, rtt_us: u32, now_ns: u64) {
        if rtt_us == 0 {
            return;
        }
        let minute = now_ns / MINUTE_NS;
        // Minutes without a sample are forgotten as well.
        for _ in self.minute..minute.min(self.minute + BASE_HISTORY as u64) {
            self.base.rotate_left(1);
            self.base[BASE_HISTORY - 1] = NONE;
        }
        self.minute = minute;
        let present = &mut self.base[BASE_HISTORY - 1];
        *present = (*present).min(rtt_us);
        self.current[self.next] = (rtt_us, now_ns);
        self.next = (self.next + 1) % CURRENT_FILTER;
    }

    /// Half, and never below the smallest window (section 2.4.2, "on data loss").
    fn ssthresh(&mut self, c: &mut Conn, _now_ns: u64) -> u32 {
        self.credit = 0;
        (c.cwnd / 2).max(MIN_CWND)
    }
}
