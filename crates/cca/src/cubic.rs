//! CUBIC (RFC 9438) in the integers of Linux's `tcp_cubic.c`, with HyStart.
//!
//! The curve is W(t) = C (t - K)^3 + Wmax. Its clock ticks 1024 times a second
//! ([`BICTCP_HZ`]), C is 0.4 as 410/1024, and the multiplicative decrease 0.7 is 717/1024.

use crate::hystart::HystartPlusPlus;
use crate::{CaState, Clock, Conn, Control, Event, Flavour, GSO_MAX_SIZE, Info, Linux, after};

/// The curve's clock ticks 2^10 times a second.
const BICTCP_HZ: u32 = 10;
/// Multiplicative decrease (RFC 9438 section 4.6), in 1/[`BETA_SCALE`].
const BETA: u64 = 717;
const BETA_SCALE: u64 = 1024;
/// C in 1/1024 packets per s^3: 0.4 as Linux rounds it, 41 of its `bic_scale` x 10.
const C_SCALED: u64 = 410;
/// Fraction bits of the curve: 10 of C, 3 x 10 of the clock cubed.
const CURVE_SHIFT: u32 = 10 + 3 * BICTCP_HZ;
/// 1/C in ticks^3 per packet: K = cbrt((Wmax - cwnd) x this).
const CUBE_FACTOR: u64 = (1 << CURVE_SHIFT) / C_SCALED;
/// Farthest from the origin, in ticks, that C (t-K)^3 stays within 64 bits (342 s);
/// the curve is millions of packets away by then.
const MAX_OFFSET: u64 = 350_000;
/// Reno-friendly growth: one packet for every cwnd x this / 8 acknowledged, from
/// alpha = 3 (1 - beta) / (1 + beta) (RFC 9438 section 4.3).
const FRIENDLY_SCALE: u32 = (8 * (BETA_SCALE + BETA) / 3 / (BETA_SCALE - BETA)) as u32;

/// HyStart leaves smaller windows alone, packets.
const HYSTART_LOW_WINDOW: u32 = 16;
/// ACKs farther apart than this do not belong to one train, microseconds.
const HYSTART_ACK_DELTA_US: u64 = 2000;
/// Round-trip samples of a round before its minimum counts.
const HYSTART_MIN_SAMPLES: u8 = 8;
/// Bounds of the rise of the round-trip time that ends slow start, microseconds.
const HYSTART_DELAY_MIN_US: u32 = 4000;
const HYSTART_DELAY_MAX_US: u32 = 16000;

/// CUBIC's state.
#[derive(Debug, Clone)]
pub struct Cubic {
    /// Packets acknowledged for each packet of growth.
    cnt: u32,
    /// Wmax, after fast convergence.
    last_max_cwnd: u32,
    /// The window and the tick `cnt` was last computed for.
    last_cwnd: u32,
    last_time: u32,
    /// Where the curve is flat: Wmax, or the window if it starts beyond.
    origin_point: u32,
    /// K, in 1/1024 s.
    k: u32,
    /// The round-trip time of the target, microseconds; 0: none yet. The smallest since the last timeout, or the smoothed one
    /// ([`Flavour::cubic_rfc9438`]).
    delay_min: u32,
    /// Tick at which the present congestion avoidance epoch began.
    epoch_start: Option<u32>,
    /// Packets acknowledged and not yet turned into Reno's window.
    ack_cnt: u32,
    /// Reno's window, `W_est` of RFC 9438.
    tcp_cwnd: u32,
    /// With [`Flavour::cubic_rfc9438`]: the window before the last reduction, `cwnd_prior` of RFC 9438; 0: there was none.
    prior_cwnd: u32,
    /// With [`Flavour::hystart_plus_plus`], in place of HyStart.
    plus_plus: Option<Box<HystartPlusPlus>>,
    /// HyStart has ended slow start.
    found: bool,
    /// Round-trip samples of this round.
    sample_cnt: u8,
    /// Start of the round and its latest ACK of the train, microseconds.
    round_start_us: u64,
    last_ack_us: u64,
    /// The round ends when this segment is passed.
    end_seq: u32,
    /// Smallest round-trip time of this round, microseconds.
    curr_rtt: u32,
    flavour: Flavour,
}

impl Cubic {
    /// A fresh control for an established connection.
    pub fn new(flavour: Flavour, c: &Conn, now_ns: u64) -> Cubic {
        let mut cubic = Cubic {
            cnt: 0,
            last_max_cwnd: 0,
            last_cwnd: 0,
            last_time: 0,
            origin_point: 0,
            k: 0,
            delay_min: 0,
            epoch_start: None,
            ack_cnt: 0,
            tcp_cwnd: 0,
            prior_cwnd: 0,
            plus_plus: flavour.hystart_plus_plus.then(|| HystartPlusPlus::new(c).into()),
            found: false,
            sample_cnt: 0,
            round_start_us: 0,
            last_ack_us: 0,
            end_seq: 0,
            curr_rtt: u32::MAX,
            flavour,
        };
        cubic.hystart_round(c, now_ns / 1000);
        cubic
    }

    /// Wmax after fast convergence, packets; 0 before the first reduction.
    pub fn w_max(&self) -> u32 {
        self.last_max_cwnd
    }

    /// Sets `cnt` from where the curve will be one round trip from now.
    #[inline]
    fn update(&mut self, clock: Clock, cwnd: u32, acked: u32, now: u32) {
        self.ack_cnt = self.ack_cnt.saturating_add(acked);
        let age = now.wrapping_sub(self.last_time) as i32;
        // The same window again within a 32nd of a second gives nearly the same answer.
        if self.last_cwnd == cwnd && age <= (clock.hz() / 32) as i32 && !self.flavour.cubic_rfc9438 {
            return;
        }
        // Within a tick the curve stands still; only Reno's window may have moved.
        if self.epoch_start.is_none() || age != 0 {
            self.last_cwnd = cwnd;
            self.last_time = now;
            self.follow_curve(clock, cwnd, acked, now);
        }
        if self.flavour.cubic_tcp_friendly {
            self.at_least_reno(cwnd);
        }
        // At most half a packet per packet acknowledged: 1.5 times a round trip
        // (RFC 9438 section 4.2 bounds the target so).
        self.cnt = self.cnt.max(2);
    }

    fn follow_curve(&mut self, clock: Clock, cwnd: u32, acked: u32, now: u32) {
        let epoch = *self.epoch_start.get_or_insert_with(|| {
            self.ack_cnt = acked;
            self.tcp_cwnd = cwnd;
            if self.last_max_cwnd <= cwnd {
                self.k = 0;
                self.origin_point = cwnd;
            } else {
                // RFC 9438 figure 2: K = cbrt((Wmax - cwnd_epoch) / C).
                let cube = CUBE_FACTOR * u64::from(self.last_max_cwnd - cwnd);
                self.k = if self.flavour.cubic_table_root { table_root(cube) } else { cubic_root(cube) };
                self.origin_point = self.last_max_cwnd;
            }
            now
        });
        // RFC 9438 section 4.2: the target is W(t + RTT).
        let ticks = u64::from(now.wrapping_sub(epoch)) + clock.ticks(self.delay_min.into());
        let t = (ticks << BICTCP_HZ) / u64::from(clock.hz());
        let k = u64::from(self.k);
        let offset = t.abs_diff(k).min(MAX_OFFSET);
        let delta = ((C_SCALED * offset * offset * offset) >> CURVE_SHIFT) as u32;
        let target = if t < k {
            self.origin_point.saturating_sub(delta)
        } else {
            self.origin_point.saturating_add(delta)
        };
        self.cnt = if target > cwnd {
            cwnd / (target - cwnd)
        } else {
            // At or past the target: all but stand still.
            cwnd.saturating_mul(100)
        };
        // Before the first loss nothing is known of the path: at least 5 % a round trip.
        if self.last_max_cwnd == 0 && !self.flavour.cubic_rfc9438 {
            self.cnt = self.cnt.min(20);
        }
    }

    /// RFC 9438 section 4.3: never slower than Reno with CUBIC's decrease would be.
    #[inline]
    fn at_least_reno(&mut self, cwnd: u32) {
        let mut per_packet = ((u64::from(cwnd) * u64::from(FRIENDLY_SCALE)) >> 3) as u32;
        if self.flavour.cubic_rfc9438 && self.tcp_cwnd >= self.prior_cwnd {
            per_packet = cwnd;
        }
        if self.ack_cnt > per_packet {
            let grown = (self.ack_cnt - 1) / per_packet.max(1);
            self.ack_cnt -= grown * per_packet;
            self.tcp_cwnd = self.tcp_cwnd.saturating_add(grown);
        }
        if self.tcp_cwnd > cwnd {
            self.cnt = self.cnt.min(cwnd / (self.tcp_cwnd - cwnd));
        }
    }

    fn hystart_round(&mut self, c: &Conn, now_us: u64) {
        self.round_start_us = now_us;
        self.last_ack_us = now_us;
        self.end_seq = c.snd_nxt;
        self.curr_rtt = u32::MAX;
        self.sample_cnt = 0;
    }

    /// Hybrid slow start (Ha and Rhee 2011): ends slow start when the train of
    /// ACKs has grown as long as the path, or the round-trip time has risen.
    fn hystart(&mut self, c: &mut Conn, rtt_us: u32, now_us: u64) {
        // Rounds are counted below the low window too, or the first round
        // above it would begin in its middle (as Linux has done since 6.14).
        if after(c.snd_una, self.end_seq) {
            self.hystart_round(c, now_us);
        }
        if c.cwnd < HYSTART_LOW_WINDOW {
            return;
        }
        if now_us.saturating_sub(self.last_ack_us) <= HYSTART_ACK_DELTA_US {
            self.last_ack_us = now_us;
            let mut threshold = u64::from(self.delay_min) + ack_delay_us(c.pacing_rate);
            // Unpaced, the train is as long as the forward path alone. Pacing
            // stretches it by up to half a round trip.
            if !c.pacing {
                threshold /= 2;
            }
            if now_us - self.round_start_us > threshold {
                self.found = true;
                c.ssthresh = c.cwnd;
            }
        }
        self.curr_rtt = self.curr_rtt.min(rtt_us);
        if self.sample_cnt < HYSTART_MIN_SAMPLES {
            self.sample_cnt += 1;
        } else {
            let rise = (self.delay_min / 8).clamp(HYSTART_DELAY_MIN_US, HYSTART_DELAY_MAX_US);
            if self.curr_rtt > self.delay_min.saturating_add(rise) {
                self.found = true;
                c.ssthresh = c.cwnd;
            }
        }
    }
}

impl Control for Cubic {
    const INFO: Info = Info {
        name: "cubic",
        about: "cubic window growth, HyStart",
        source: "RFC 9438; Linux tcp_cubic.c",
        linux: Some(Linux { name: "cubic", module: None }),
        ns3: true,
        ..Info::PLAIN
    };

    fn start(flavour: Flavour, c: &mut Conn, now_ns: u64) -> Self {
        Cubic::new(flavour, c, now_ns)
    }

    /// `acked` packets were newly acknowledged: slow start below `ssthresh`, the curve above.
    #[inline]
    fn cong_avoid(&mut self, c: &mut Conn, acked: u32, now_ns: u64) {
        let left = match &mut self.plus_plus {
            None => c.past_slow_start(acked),
            Some(hystart) => hystart.past_slow_start(c, acked),
        };
        let Some(left) = left else { return };
        self.update(c.clock, c.cwnd, left, c.clock.jiffies(now_ns));
        c.cong_avoid_ai(self.cnt, left);
    }

    /// An ACK gave a round-trip sample of `rtt_us` microseconds; 0: none.
    #[inline]
    fn pkts_acked(&mut self, c: &mut Conn, _acked: u32, rtt_us: u32, now_ns: u64) {
        if rtt_us == 0 {
            return;
        }
        if let Some(hystart) = &mut self.plus_plus {
            self.delay_min = c.srtt_us >> 3;
            return hystart.sample(c, rtt_us);
        }
        // Right after a reduction the queue's echo is still in the samples.
        if let Some(epoch) = self.epoch_start
            && (c.clock.jiffies(now_ns).wrapping_sub(epoch) as i32) < c.clock.hz() as i32
        {
            return;
        }
        if self.delay_min == 0 || self.delay_min > rtt_us {
            self.delay_min = rtt_us;
        }
        if !self.found && c.in_slow_start() {
            self.hystart(c, rtt_us, now_ns / 1000);
        }
    }

    /// Loss or ECN echo: 0.7 of the window, at least 2 packets (RFC 9438 section 4.6).
    fn ssthresh(&mut self, c: &mut Conn, _now_ns: u64) -> u32 {
        self.epoch_start = None;
        self.prior_cwnd = c.cwnd;
        if let Some(hystart) = &mut self.plus_plus {
            hystart.end();
        }
        let cwnd = u64::from(c.cwnd);
        // Fast convergence (RFC 9438 section 4.7): a window that did not get
        // back to Wmax gives way to newer flows.
        self.last_max_cwnd = if c.cwnd < self.last_max_cwnd {
            (cwnd * (BETA_SCALE + BETA) / (2 * BETA_SCALE)) as u32
        } else {
            c.cwnd
        };
        ((cwnd * BETA / BETA_SCALE) as u32).max(2)
    }

    /// After a timeout all that was learned of the path is forgotten, and slow start watched again.
    fn set_state(&mut self, c: &mut Conn, new: CaState, now_ns: u64) {
        if new == CaState::Loss {
            let prior = self.prior_cwnd;
            *self = Cubic::new(self.flavour, c, now_ns);
            // RFC 9438 section 4.3 asks for the window before the last reduction after a timeout, too.
            if self.flavour.cubic_rfc9438 {
                self.prior_cwnd = prior;
            }
            if let Some(hystart) = &mut self.plus_plus {
                hystart.end();
            }
        }
    }

    /// After an idle time the curve goes on where it stopped (RFC 9438 section 5.8).
    fn event(&mut self, c: &mut Conn, event: Event, now_ns: u64) {
        let Event::TxStart { last_send_ns: Some(last) } = event else { return };
        let now = c.clock.jiffies(now_ns);
        let idle = now.wrapping_sub(c.clock.jiffies(last));
        if let Some(epoch) = &mut self.epoch_start
            && (idle as i32) > 0
        {
            *epoch = epoch.wrapping_add(idle);
            if after(*epoch, now) {
                *epoch = now;
            }
        }
    }
}

/// Slack for the time that a burst of the largest size takes at both ends,
/// microseconds: four of them (two bursts, and slow start paces at twice the rate), at most 1 ms.
#[inline]
fn ack_delay_us(pacing_rate: u64) -> u64 {
    const BURSTS: u64 = 4 * GSO_MAX_SIZE as u64;
    if pacing_rate == 0 {
        0
    } else if pacing_rate <= BURSTS * 1000 {
        1000
    } else {
        BURSTS * 1_000_000 / pacing_rate
    }
}

/// Cube roots of 0 to 63 in 64ths, less 10 of them, as `cubic_root` of Linux's `tcp_cubic.c` has them, whose author fitted them so that
/// one step of Newton's from there is near.
#[rustfmt::skip]
const ROOTS: [u8; 64] = [
    0, 54, 54, 54, 118, 118, 118, 118, 123, 129, 134, 138, 143, 147, 151, 156, 157, 161, 164, 168, 170, 173,
    176, 179, 181, 185, 187, 190, 192, 194, 197, 199, 200, 202, 204, 206, 209, 211, 213, 215, 217, 219, 221,
    222, 224, 225, 227, 229, 231, 232, 234, 236, 237, 239, 240, 242, 244, 245, 246, 248, 250, 251, 252, 254,
];

/// The cube root of `a` as Linux reckons it.
fn table_root(a: u64) -> u32 {
    if a < 64 {
        return (u32::from(ROOTS[a as usize]) + 35) / 64;
    }
    // `a` is its first bits, a number below 64, times 8 to the power of `thirds`; 84/256 stands for a third.
    let thirds = ((64 - a.leading_zeros()) * 84) / 256 - 1;
    let first = u64::from(ROOTS[(a >> (3 * thirds)) as usize]) + 10;
    let x = (first << thirds) / 64;
    // Newton's step, with the square of what lies between x - 1 and x; 341/1024 stands for a third.
    let thrice = 2 * x + a / (x * (x - 1));
    (thrice * 341 / 1024) as u32
}

/// Largest integer whose cube is at most `a`. Once an epoch.
fn cubic_root(a: u64) -> u32 {
    if a == 0 {
        return 0;
    }
    // Newton's method from above falls monotonically onto the root.
    let bits = 64 - a.leading_zeros();
    let mut x = 1u64 << bits.div_ceil(3);
    loop {
        let next = (2 * x + a / (x * x)) / 3;
        if next >= x {
            return x as u32;
        }
        x = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn cubic_root_is_the_floor_of_the_root(a: u64) {
            let x = u128::from(cubic_root(a));
            prop_assert!(x.pow(3) <= u128::from(a));
            prop_assert!((x + 1).pow(3) > u128::from(a));
        }
    }

    proptest! {
        /// As far as a window that is 2^28 packets short asks, which no window is.
        #[test]
        fn the_root_of_linux_is_near(a in prop_oneof![64u64..1 << 20, 1 << 20..CUBE_FACTOR << 28]) {
            let root = (a as f64).cbrt();
            let off = (f64::from(table_root(a)) - root).abs();
            prop_assert!(off <= 1.0 + 0.002 * root, "{} for {}", table_root(a), root);
        }
    }

    #[test]
    fn the_root_of_linux_is_not_the_root() {
        // By the kernel's own steps, on paper: 3 x 10^11 has 39 bits, so 11 thirds; its first bits are 34: (204 + 10) x 2048 / 64 is
        // 6848; 2 x 6848 + 3e11 / (6848 x 6847) is 20094, and 341/1024 of that 6691, where the root is 6694.3.
        assert_eq!((table_root(300_000_000_000), cubic_root(300_000_000_000)), (6691, 6694));
        assert_eq!([0, 1, 3, 4, 7, 8, 27, 63].map(table_root), [0, 1, 1, 2, 2, 2, 3, 4]);
    }

    #[test]
    fn cubic_root_of_cubes_and_their_neighbours() {
        for x in (1..100u64).chain([1000, 65_535, 1 << 20, 2_642_245]) {
            let cube = x * x * x;
            assert_eq!(u64::from(cubic_root(cube)), x);
            assert_eq!(u64::from(cubic_root(cube - 1)), x - 1);
        }
    }

    #[test]
    fn samples_of_the_first_second_after_a_loss_do_not_count() {
        let ms = 1_000_000;
        let mut c = Conn { cwnd: 100, is_cwnd_limited: true, ..Conn::default() };
        let mut cubic = Cubic::new(Flavour::LINUX, &c, 0);
        cubic.pkts_acked(&mut c, 1, 50_000, 50 * ms);
        c.ssthresh = cubic.ssthresh(&mut c, 0);
        c.cwnd = c.ssthresh;
        cubic.cong_avoid(&mut c, 2, 100 * ms);
        cubic.pkts_acked(&mut c, 1, 40_000, 1099 * ms);
        assert_eq!(cubic.delay_min, 50_000);
        cubic.pkts_acked(&mut c, 1, 40_000, 1100 * ms);
        assert_eq!(cubic.delay_min, 40_000);
    }

    #[test]
    fn burst_slack_is_a_millisecond_at_most() {
        assert_eq!(ack_delay_us(0), 0);
        assert_eq!(ack_delay_us(1_000_000), 1000);
        assert_eq!(ack_delay_us(260_860_000), 1000);
        assert_eq!(ack_delay_us(2_608_600_000), 100);
        assert_eq!(ack_delay_us(u64::MAX), 0);
    }
}
