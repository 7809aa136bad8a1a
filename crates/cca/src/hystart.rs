//! HyStart++ (RFC 9406): slow start that ends where the round-trip time rises, by way of conservative slow start (CSS).
//!
//! A round lasts until what was outstanding at its begin is acknowledged. Slow start goes over into CSS once a round's least round-trip time is
//! an eighth above that of the round before. CSS grows a quarter as fast. If the rise proves a mistake slow start goes on, else congestion
//! avoidance follows.

use crate::{Conn, after};

/// Bounds of the rise that counts, microseconds (`MIN_RTT_THRESH`, `MAX_RTT_THRESH`), and its share of the round-trip time.
const LEAST_RISE_US: u32 = 4_000;
const MOST_RISE_US: u32 = 16_000;
const RISE_DIVISOR: u32 = 8;
/// Samples of a round before its least round-trip time counts (`N_RTT_SAMPLE`).
const SAMPLES: u32 = 8;
/// CSS grows by one packet for so many acknowledged (`CSS_GROWTH_DIVISOR`), and lasts so many rounds (`CSS_ROUNDS`).
const CSS_DIVISOR: u32 = 4;
const CSS_ROUNDS: u32 = 5;
/// Most growth for one acknowledgement of a sender that does not pace, packets (`L`).
const MOST_UNPACED: u32 = 8;

/// HyStart++ of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HystartPlusPlus {
    /// The round ends once all below is acknowledged (`windowEnd`).
    window_end: u32,
    /// Least round-trip times of the round before and of this one, microseconds; `u32::MAX`: none.
    last_us: u32,
    current_us: u32,
    samples: u32,
    /// The least round-trip time that CSS began with, microseconds, and its rounds so far; none: slow start.
    css: Option<(u32, u32)>,
    /// Packets acknowledged in CSS that have not yet made the window grow.
    rest: u32,
    /// The first slow start is over: no other is watched (section 4.3).
    over: bool,
}

impl HystartPlusPlus {
    /// Of a connection that begins.
    pub fn new(c: &Conn) -> HystartPlusPlus {
        HystartPlusPlus {
            window_end: c.snd_nxt,
            last_us: u32::MAX,
            current_us: u32::MAX,
            samples: 0,
            css: None,
            rest: 0,
            over: false,
        }
    }

    /// Loss or a mark ends slow start.
    pub fn end(&mut self) {
        self.over = true;
        self.css = None;
    }

    /// An ACK brings a round-trip time (microseconds).
    pub fn sample(&mut self, c: &mut Conn, rtt_us: u32) {
        if self.over {
            return;
        }
        if !c.in_slow_start() {
            return self.end();
        }
        self.current_us = self.current_us.min(rtt_us);
        self.samples += 1;
        if self.samples >= SAMPLES {
            self.judge();
        }
        // The ACK of a round's last packet is its own.
        if !after(self.window_end, c.snd_una) {
            self.end_round(c);
        }
    }

    /// This round's least round-trip time counts.
    fn judge(&mut self) {
        match self.css {
            Some((baseline_us, _)) if self.current_us < baseline_us => self.css = None,
            Some(_) => {}
            None if self.last_us != u32::MAX => {
                let rise_us = (self.last_us / RISE_DIVISOR).clamp(LEAST_RISE_US, MOST_RISE_US);
                if self.current_us >= self.last_us.saturating_add(rise_us) {
                    (self.css, self.rest) = (Some((self.current_us, 0)), 0);
                }
            }
            None => {}
        }
    }

    fn end_round(&mut self, c: &mut Conn) {
        self.window_end = c.snd_nxt;
        (self.last_us, self.current_us, self.samples) = (self.current_us, u32::MAX, 0);
        if let Some((_, rounds)) = &mut self.css {
            // The part of a round in which it began counts as one.
            *rounds += 1;
            if *rounds >= CSS_ROUNDS {
                c.ssthresh = c.cwnd;
                self.end();
            }
        }
    }

    /// As [`Conn::past_slow_start`].
    pub fn past_slow_start(&mut self, c: &mut Conn, acked: u32) -> Option<u32> {
        if !c.cwnd_limited() {
            return None;
        }
        if !c.in_slow_start() {
            return Some(acked);
        }
        let mut growth = if c.pacing { acked } else { acked.min(MOST_UNPACED) };
        if self.css.is_some() {
            self.rest += growth;
            growth = self.rest / CSS_DIVISOR;
            self.rest %= CSS_DIVISOR;
        }
        let left = c.slow_start(growth);
        (left > 0).then_some(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::INFINITE_SSTHRESH;

    fn paced() -> Conn {
        Conn { cwnd: 10, snd_nxt: 10, pacing: true, is_cwnd_limited: true, ..Conn::default() }
    }

    /// A round, acknowledged packet by packet with this round-trip time. It ends two packets before those that its last ACK lets out.
    fn round(h: &mut HystartPlusPlus, c: &mut Conn, rtt_us: u32) {
        let end = h.window_end;
        while c.snd_una < end {
            c.snd_una += 1;
            h.sample(c, rtt_us);
            let _ = h.past_slow_start(c, 1);
            c.snd_nxt = c.snd_una + c.cwnd;
        }
    }

    /// RFC 9406 section 4.2, by hand. 100 ms have a threshold of 12.5 ms, and 112 ms are below 112.5. 112 ms have one of 14 ms, and
    /// 125.999 are below 126.
    #[test]
    fn a_rise_by_an_eighth_is_met_with_a_quarter_of_the_growth() {
        let mut c = paced();
        let mut h = HystartPlusPlus::new(&c);
        for (rtt_us, css) in [(100_000, false), (112_000, false), (125_999, false)] {
            round(&mut h, &mut c, rtt_us);
            assert_eq!(h.css.is_some(), css, "{rtt_us}");
        }
        // 10 packets, 18, 36.
        assert_eq!(c.cwnd, 74);
        // 125.999 ms have a threshold of 15.749875 ms, in whole us 15.749: 141.748 ms.
        round(&mut h, &mut c, 141_748);
        let at = c.cwnd;
        assert!(h.css.is_some_and(|css| css.0 == 141_748));
        // The first seven of 72 packets grew the window by one each, and the eighth, which said so, and those behind it by a quarter.
        assert_eq!(at, 74 + 7 + 65 / 4);
    }

    /// The same from five rounds on: congestion avoidance, from the window that there is.
    #[test]
    fn conservative_slow_start_lasts_five_rounds() {
        let mut c = paced();
        let mut h = HystartPlusPlus::new(&c);
        round(&mut h, &mut c, 50_000);
        for n in 1..=5 {
            assert!(!h.over && c.ssthresh == INFINITE_SSTHRESH, "{n}");
            round(&mut h, &mut c, 70_000);
            assert_eq!(h.css.is_some(), n < 5);
        }
        assert!(h.over);
        // The last ACK of the fifth ends it before it grows the window.
        assert_eq!(c.ssthresh, c.cwnd);
    }

    /// Section 4.2: a round with a lower round-trip time than CSS began with resumes slow start.
    #[test]
    fn a_rise_that_was_none_resumes_slow_start() {
        let mut c = paced();
        let mut h = HystartPlusPlus::new(&c);
        round(&mut h, &mut c, 50_000);
        round(&mut h, &mut c, 70_000);
        assert!(h.css.is_some());
        round(&mut h, &mut c, 69_999);
        assert!(h.css.is_none() && !h.over);
    }

    /// Fewer than eight samples of a round say nothing, and who does not pace grows by eight packets an ACK at most.
    #[test]
    fn few_samples_say_nothing() {
        let mut c = Conn { snd_nxt: 7, cwnd: 7, is_cwnd_limited: true, ..Conn::default() };
        let mut h = HystartPlusPlus::new(&c);
        for rtt_us in [10_000, 90_000] {
            for _ in 0..7 {
                c.snd_una += 1;
                h.sample(&mut c, rtt_us);
            }
            c.snd_nxt = c.snd_una + 7;
        }
        assert!(h.css.is_none());
        assert_eq!((h.past_slow_start(&mut c, 20), c.cwnd), (None, 15));
        h.end();
        c.pacing = true;
        assert_eq!((h.past_slow_start(&mut c, 20), c.cwnd), (None, 35));
    }
}
