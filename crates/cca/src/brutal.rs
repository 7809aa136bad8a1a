//! A sender of fixed rate that ignores loss: the behaviour of TCP Brutal, a Linux module for tunnels, as its
//! public description has it (github.com/apernet/tcp-brutal, README).
//!
//! It paces at a rate that its user sets. What is lost on the way it adds on top, so that the rate is what
//! arrives: the pacing rate is the set rate by the fraction of packets that were acknowledged of late. The
//! window is twice what that takes in a round trip.

use crate::{Conn, Control, Flavour, Info, RateSample};

/// Rate until one is set, bytes a second: 1 Mbit/s.
const INITIAL_RATE: u64 = 125_000;
/// Window, in tenths of pacing rate times round-trip time.
const CWND_GAIN_TENTHS: u64 = 20;
/// The smallest window, packets.
const MIN_CWND: u32 = 4;
/// No window goes beyond this, packets; it keeps the sums within 32 bits.
const MAX_CWND: u64 = 1 << 30;
/// Losses are counted over so many slots of a second each, the present one included.
const SLOTS: usize = 5;
/// With fewer packets acknowledged or lost, nothing is known of the path.
const MIN_SAMPLES: u64 = 50;
/// It adds no more than 80 % acknowledged ask for, whatever is lost: a fourth.
const MIN_ACK_PERCENT: u64 = 80;

/// What came of packets in a second.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    second: u64,
    acked: u32,
    lost: u32,
}

/// The fixed-rate sender's state.
#[derive(Debug, Clone)]
pub struct Brutal {
    /// Set rate, bytes a second.
    rate: u64,
    slots: [Slot; SLOTS],
}

impl Brutal {
    /// A fresh control, at 1 Mbit/s until [`Brutal::set_rate`].
    pub fn new(c: &mut Conn, now_ns: u64) -> Brutal {
        c.pacing = true;
        let mut brutal = Brutal { rate: INITIAL_RATE, slots: Default::default() };
        brutal.apply(c, now_ns);
        brutal
    }

    /// Part of the packets of the last seconds that were acknowledged, per cent.
    fn ack_percent(&self, now_ns: u64) -> u64 {
        let second = now_ns / 1_000_000_000;
        let recent = self.slots.iter().filter(|s| s.second + SLOTS as u64 > second);
        let (acked, lost) = recent.fold((0, 0), |(a, l), s| (a + u64::from(s.acked), l + u64::from(s.lost)));
        if acked + lost < MIN_SAMPLES {
            return 100;
        }
        (acked * 100 / (acked + lost)).max(MIN_ACK_PERCENT)
    }

    fn apply(&mut self, c: &mut Conn, now_ns: u64) {
        let rate = self.rate.saturating_mul(100) / self.ack_percent(now_ns);
        c.pacing_rate = rate;
        // Bytes a millisecond times microseconds: within 64 bits for any rate and time.
        let rtt_us = u64::from(c.srtt_us >> 3).max(1000);
        let bytes = (rate / 1000).saturating_mul(rtt_us) / 1000;
        let window = bytes / u64::from(c.mss.max(1)) * CWND_GAIN_TENTHS / 10;
        c.cwnd = (window.min(MAX_CWND) as u32).max(MIN_CWND);
    }
}

impl Control for Brutal {
    const INFO: Info = Info {
        name: "brutal",
        about: "a fixed rate, more of it the more is lost",
        source: "TCP Brutal's description, github.com/apernet/tcp-brutal",
        own_control: true,
        needs_rate: true,
        ..Info::PLAIN
    };

    fn start(_flavour: Flavour, c: &mut Conn, now_ns: u64) -> Self {
        Brutal::new(c, now_ns)
    }

    /// Sets the rate to arrive, bytes a second.
    fn set_rate(&mut self, c: &mut Conn, rate: u64, now_ns: u64) {
        self.rate = rate.max(1);
        self.apply(c, now_ns);
    }

    /// An ACK is worked in.
    #[inline]
    fn cong_control(&mut self, c: &mut Conn, rs: &RateSample, now_ns: u64, _random: u32) {
        let second = now_ns / 1_000_000_000;
        let slot = &mut self.slots[(second % SLOTS as u64) as usize];
        if slot.second != second {
            *slot = Slot { second, acked: 0, lost: 0 };
        }
        slot.acked = slot.acked.saturating_add(rs.acked_sacked);
        slot.lost = slot.lost.saturating_add(rs.losses);
        self.apply(c, now_ns);
    }

    /// Loss changes no threshold.
    fn ssthresh(&mut self, c: &mut Conn, _now_ns: u64) -> u32 {
        c.ssthresh
    }

    /// Loss changed no window.
    fn undo_cwnd(&mut self, c: &mut Conn) -> u32 {
        c.cwnd
    }
}
