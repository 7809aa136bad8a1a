//! BBR version 1 as Linux's `tcp_bbr.c`: Cardwell et al., "BBR: Congestion-Based
//! Congestion Control", ACM Queue 14(5), 2016, with the kernel's later additions
//! (policer detection, ACK aggregation, departure times).
//!
//! Bandwidths count packets a microsecond in 1/2^24, gains are in 1/256.

use crate::{
    CaState, Clock, Conn, Control, Event, Flavour, GSO_MAX_SIZE, INFINITE_SSTHRESH, Info, Linux, RateSample,
    after,
};

/// Fraction bits of a bandwidth: 1 is about 715 bit/s of 1500-byte packets.
const BW_SCALE: u32 = 24;
const BW_UNIT: u64 = 1 << BW_SCALE;
/// Fraction bits of a gain.
const GAIN_SCALE: u32 = 8;
const UNIT: u32 = 1 << GAIN_SCALE;

/// 2/ln 2: the least gain that lets the rate double every round trip.
const HIGH_GAIN: u32 = UNIT * 2885 / 1000 + 1;
/// Its inverse empties in a round the queue that startup made.
const DRAIN_GAIN: u32 = UNIT * 1000 / 2885;
/// Window in steady state: a BDP more than needed, for delayed and stretched ACKs.
const CWND_GAIN: u32 = UNIT * 2;
/// Probe for bandwidth, give back what it queued, cruise for six minimum round trips.
const CYCLE_GAINS: [u32; CYCLE_LEN as usize] =
    [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
const CYCLE_LEN: u8 = 8;
/// The cycle starts in one of this many phases, drawn; never in the one that drains.
const CYCLE_RANDOM: u64 = 7;

/// Window of the bandwidth filter, rounds: a cycle and two more.
const BW_ROUNDS: u32 = CYCLE_LEN as u32 + 2;
/// Window of the round-trip filter, s.
const MIN_RTT_S: u32 = 10;
/// Time spent at the smallest window to see the path without a queue, us.
const PROBE_RTT_US: u64 = 200_000;
/// The smallest window, packets: two bursts of two, for ACKs of every other packet.
const MIN_CWND: u32 = 4;
/// Window of a connection that knows nothing yet, packets.
const INIT_CWND: u32 = 10;
/// No window goes beyond this, packets; it keeps the sums within 32 bits.
const MAX_CWND: u32 = 1 << 30;

/// Growth of bandwidth that says the pipe is not full yet, and the rounds without it that say it is.
const FULL_BW_GROWTH: u32 = UNIT * 5 / 4;
const FULL_BW_ROUNDS: u8 = 3;

/// Below this rate (1.2 Mbit/s in bytes/s) packets go one by one.
const MIN_TSO_RATE: u64 = 1_200_000 / 8;
/// A burst is what is sent in a millisecond (2^-10 s: `sk_pacing_shift`).
const PACING_SHIFT: u32 = 10;
/// No burst counts more packets.
const MAX_TSO_SEGS: u32 = 0x7f;

/// Policer detection ("long-term" sampling): rounds of an interval, at least and at most.
const LT_MIN_ROUNDS: u32 = 4;
const LT_MAX_ROUNDS: u32 = 4 * LT_MIN_ROUNDS;
/// Lost to delivered, in 1/256, from which an interval is lossy (20 %).
const LT_LOSS_THRESH: u64 = 50;
/// Two intervals agree within an eighth or within 4 kbit/s (in bytes/s).
const LT_BW_RATIO: u64 = UNIT as u64 / 8;
const LT_BW_DIFF: u64 = 4000 / 8;
/// Rounds for which a policed rate is believed.
const LT_BW_ROUNDS: u32 = 48;

/// ACK aggregation: rounds of each of the two windows of its filter.
const EXTRA_ACKED_ROUNDS: u32 = 5;
/// An epoch that acknowledged this many packets is over.
const ACK_EPOCH_MAX: u32 = 1 << 20;
/// In ns-3, this many bytes (`AckEpochAckedResetThresh`).
const NS3_ACK_EPOCH_BYTES: u32 = 1 << 12;
/// At most this much time's worth of packets is granted for aggregation, microseconds.
const EXTRA_ACKED_MAX_US: u64 = 100_000;

/// What BBR is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Doubling the rate every round trip until the pipe is full.
    Startup,
    /// Emptying the queue that startup made.
    Drain,
    /// Cycling around the estimated bandwidth.
    ProbeBw,
    /// Down to [four packets](MIN_CWND) to see the round-trip time without a queue.
    ProbeRtt,
}

/// BBR's state.
#[derive(Debug, Clone)]
pub struct Bbr {
    mode: Mode,
    bw: WindowedMax,
    pacing_gain: u32,
    cwnd_gain: u32,

    /// Rounds (packet-timed round trips) so far; the present one ends when a
    /// packet sent after `next_rtt_delivered` is delivered.
    rounds: u32,
    next_rtt_delivered: u32,
    round_start: bool,

    min_rtt_us: u32,
    min_rtt_stamp: u32,
    probe_rtt_done_stamp: Option<u32>,
    probe_rtt_round_done: bool,

    cycle_idx: u8,
    cycle_us: u64,

    full_bw: u32,
    full_bw_cnt: u8,
    full_bw_reached: bool,

    prev_ca_state: CaState,
    packet_conservation: bool,
    idle_restart: bool,
    has_seen_rtt: bool,
    prior_cwnd: u32,

    lt_is_sampling: bool,
    lt_use_bw: bool,
    lt_rounds: u32,
    lt_bw: u32,
    lt_last_delivered: u32,
    lt_last_lost: u32,
    lt_last_ms: u32,

    ack_epoch_us: u64,
    ack_epoch_acked: u32,
    extra_acked: [u32; 2],
    extra_acked_idx: usize,
    extra_acked_rounds: u32,

    /// See [`Flavour::bbr_ns3`].
    ns3: bool,
    /// The latest sample, for an ACK whose own is void; only with `ns3`.
    last_bw: u32,
    /// Parts in a million of the estimated bandwidth that are paced at.
    pacing_ppm: u64,
    /// The latest draw, for a cycle that starts outside `cong_control`.
    random: u32,
}

impl Bbr {
    /// Starts on an established connection; turns pacing on and sets the first rate.
    pub fn new(flavour: Flavour, c: &mut Conn, now_ns: u64) -> Bbr {
        let mut b = Bbr {
            mode: Mode::Startup,
            bw: WindowedMax::default(),
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            rounds: 0,
            next_rtt_delivered: c.delivered,
            round_start: false,
            min_rtt_us: c.min_rtt_us,
            min_rtt_stamp: c.clock.jiffies(now_ns),
            probe_rtt_done_stamp: None,
            probe_rtt_round_done: false,
            cycle_idx: 0,
            cycle_us: 0,
            full_bw: 0,
            full_bw_cnt: 0,
            full_bw_reached: false,
            prev_ca_state: CaState::Open,
            packet_conservation: false,
            idle_restart: false,
            has_seen_rtt: false,
            prior_cwnd: 0,
            lt_is_sampling: false,
            lt_use_bw: false,
            lt_rounds: 0,
            lt_bw: 0,
            lt_last_delivered: 0,
            lt_last_lost: 0,
            lt_last_ms: 0,
            ack_epoch_us: now_ns / 1000,
            ack_epoch_acked: 0,
            extra_acked: [0; 2],
            extra_acked_idx: 0,
            extra_acked_rounds: 0,
            ns3: flavour.bbr_ns3,
            last_bw: 0,
            pacing_ppm: 10_000 * u64::from(100u32.saturating_sub(flavour.bbr_pacing_margin_percent)),
            random: 0,
        };
        c.ssthresh = INFINITE_SSTHRESH;
        c.pacing = true;
        b.init_pacing_rate(c);
        b.lt_reset(c);
        b
    }

    /// The smallest burst that the sender builds, packets.
    #[inline]
    pub fn min_tso_segs(c: &Conn) -> u32 {
        if c.pacing_rate < MIN_TSO_RATE { 1 } else { 2 }
    }

    /// What it is doing.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Phase of the gain cycle, 0 (probing) to 7; means something in [`Mode::ProbeBw`].
    pub fn cycle_phase(&self) -> u8 {
        self.cycle_idx
    }

    /// Gain on the pacing rate, in 1/256.
    pub fn pacing_gain(&self) -> u32 {
        self.pacing_gain
    }

    /// Estimated bandwidth, packets a microsecond in 1/2^24.
    #[inline]
    pub fn bandwidth(&self) -> u32 {
        if self.lt_use_bw { self.lt_bw } else { self.bw.max() }
    }

    /// The bandwidth is a policer's rate, measured over the long term.
    pub fn is_policed(&self) -> bool {
        self.lt_use_bw
    }

    /// Smallest round-trip time of the last 10 s, microseconds; `u32::MAX` before the first sample.
    pub fn min_rtt_us(&self) -> u32 {
        self.min_rtt_us
    }

    /// Packet-timed round trips so far.
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    /// Startup has filled the pipe.
    pub fn full_bw_reached(&self) -> bool {
        self.full_bw_reached
    }

    /// The burst BBR budgets for: a millisecond at the pacing rate, packets.
    #[inline]
    pub fn tso_segs_goal(c: &Conn) -> u32 {
        let bytes = (c.pacing_rate >> PACING_SHIFT).min(u64::from(GSO_MAX_SIZE)) as u32;
        (bytes / c.mss.max(1)).max(Bbr::min_tso_segs(c)).min(MAX_TSO_SEGS)
    }

    // Rates.

    /// Bytes a second at `bw` times `gain`, less the pacing margin.
    #[inline]
    fn rate(&self, c: &Conn, bw: u32, gain: u32) -> u64 {
        let r = u64::from(bw).saturating_mul(u64::from(c.mss)).saturating_mul(u64::from(gain)) >> GAIN_SCALE;
        r.saturating_mul(self.pacing_ppm) >> BW_SCALE
    }

    /// The first rate: the initial window over the handshake's round-trip time,
    /// a millisecond if there is none, at startup's gain.
    fn init_pacing_rate(&mut self, c: &mut Conn) {
        let rtt_us = if c.srtt_us != 0 {
            self.has_seen_rtt = true;
            (c.srtt_us >> 3).max(1)
        } else {
            1000
        };
        let bw = to_u32((u64::from(c.cwnd) << BW_SCALE) / u64::from(rtt_us));
        c.pacing_rate = self.rate(c, bw, HIGH_GAIN);
    }

    /// Until the pipe is full the rate only rises: early samples are small.
    #[inline]
    fn set_pacing_rate(&mut self, c: &mut Conn, bw: u32, gain: u32) {
        let rate = self.rate(c, bw, gain);
        if !self.has_seen_rtt && c.srtt_us != 0 {
            self.init_pacing_rate(c);
        }
        if self.full_bw_reached || rate > c.pacing_rate {
            c.pacing_rate = rate;
        }
    }

    // Windows.

    /// Bandwidth-delay product times `gain`, packets, rounded up.
    #[inline]
    fn bdp(&self, bw: u32, gain: u32) -> u32 {
        if self.min_rtt_us == u32::MAX {
            return INIT_CWND;
        }
        let bits = (u64::from(bw) * u64::from(self.min_rtt_us)).saturating_mul(u64::from(gain)) >> GAIN_SCALE;
        (bits.saturating_add(BW_UNIT - 1) >> BW_SCALE).min(u64::from(MAX_CWND)) as u32
    }

    /// Room for what batching at both ends holds back: a burst in the sender's
    /// queue, one in its device, one in the receiver's.
    #[inline]
    fn quantization_budget(&self, c: &Conn, cwnd: u32) -> u32 {
        let even = if self.ns3 { cwnd + 3 } else { (cwnd + 3 * Bbr::tso_segs_goal(c) + 1) & !1 };
        // The probing phase must exceed even a small BDP.
        if self.mode == Mode::ProbeBw && self.cycle_idx == 0 { even + 2 } else { even }
    }

    #[inline]
    fn inflight(&self, c: &Conn, bw: u32, gain: u32) -> u32 {
        self.quantization_budget(c, self.bdp(bw, gain))
    }

    /// Packets that will be in the network when the next may depart: pacing has
    /// already committed `inflight` up to then, and the path goes on delivering.
    fn packets_in_net_at_edt(&self, c: &Conn, inflight: u32, now_ns: u64) -> u32 {
        if self.ns3 {
            return inflight;
        }
        let wait_us = c.edt_ns.saturating_sub(now_ns) / 1000;
        let delivered = to_u32(u64::from(self.bandwidth()).saturating_mul(wait_us) >> BW_SCALE);
        let departing = if self.pacing_gain > UNIT { Bbr::tso_segs_goal(c) } else { 0 };
        inflight.saturating_add(departing).saturating_sub(delivered)
    }

    /// Packets granted for ACK aggregation, once the bandwidth is known.
    #[inline]
    fn aggregation_cwnd(&self) -> u32 {
        if !self.full_bw_reached {
            return 0;
        }
        let most = (u64::from(self.bandwidth()) * EXTRA_ACKED_MAX_US) >> BW_SCALE;
        self.extra_acked[0].max(self.extra_acked[1]).min(to_u32(most))
    }

    fn save_cwnd(&mut self, c: &Conn) {
        self.prior_cwnd = if self.prev_ca_state < CaState::Recovery && self.mode != Mode::ProbeRtt {
            c.cwnd
        } else {
            // It is cut already, for a while.
            self.prior_cwnd.max(c.cwnd)
        };
    }

    /// The window that loss recovery asks for, and whether that is the last word:
    /// in its first round as many packets are sent as are delivered.
    fn recover_or_restore(&mut self, c: &Conn, rs: &RateSample) -> (u32, bool) {
        let acked = rs.acked_sacked;
        let (was, is) = (self.prev_ca_state, c.ca_state);
        let mut cwnd = c.cwnd;
        if self.ns3 && is != CaState::Recovery {
            return (cwnd, false);
        }
        if rs.losses > 0 {
            cwnd = cwnd.saturating_sub(rs.losses).max(1);
        }
        if is == CaState::Recovery && was != CaState::Recovery {
            self.packet_conservation = true;
            self.next_rtt_delivered = c.delivered;
            cwnd = c.in_flight() + acked;
        } else if was >= CaState::Recovery && is < CaState::Recovery {
            cwnd = cwnd.max(self.prior_cwnd);
            self.packet_conservation = false;
        }
        self.prev_ca_state = is;
        if self.packet_conservation { (cwnd.max(c.in_flight() + acked), true) } else { (cwnd, false) }
    }

    fn set_cwnd(&mut self, c: &mut Conn, rs: &RateSample, bw: u32) {
        let acked = rs.acked_sacked;
        let mut cwnd = c.cwnd;
        if acked > 0 {
            let conserving;
            (cwnd, conserving) = self.recover_or_restore(c, rs);
            if !conserving {
                let goal = self.bdp(bw, self.cwnd_gain) + self.aggregation_cwnd().min(MAX_CWND);
                let target = self.quantization_budget(c, goal);
                if self.full_bw_reached {
                    if self.ns3 && cwnd == MAX_CWND {
                        // ns-3's sum of 32 bits wraps when the window is what ssthresh began as.
                        cwnd = 0;
                    }
                    cwnd = cwnd.saturating_add(acked).min(target);
                } else if cwnd < target || c.delivered < INIT_CWND {
                    cwnd = cwnd.saturating_add(acked);
                }
                cwnd = cwnd.max(MIN_CWND);
            }
        }
        c.cwnd = cwnd.min(MAX_CWND);
        if self.mode == Mode::ProbeRtt {
            c.cwnd = c.cwnd.min(MIN_CWND);
        }
    }

    // The model: bandwidth.

    fn update_bw(&mut self, c: &mut Conn, rs: &RateSample) {
        self.round_start = false;
        let void = rs.delivered < 0 || rs.interval_us <= 0;
        if void && (!self.ns3 || rs.delivered < 0 || self.last_bw == 0) {
            return;
        }
        if !after(self.next_rtt_delivered, rs.prior_delivered) {
            self.next_rtt_delivered = c.delivered;
            self.rounds = self.rounds.wrapping_add(1);
            self.round_start = true;
            self.packet_conservation = false;
        }
        self.lt_sample(c, rs);
        let bw = if void {
            self.last_bw
        } else {
            to_u32(((rs.delivered as u64) << BW_SCALE) / rs.interval_us as u64)
        };
        self.last_bw = bw;
        // A sample the application held down shows the path only if it beats what is known.
        if !rs.is_app_limited || bw >= self.bw.max() {
            self.bw.update(BW_ROUNDS, self.rounds, bw);
        }
    }

    /// Startup is over when the bandwidth has not grown by a quarter for three rounds.
    #[inline]
    fn check_full_bw(&mut self, rs: &RateSample) {
        if self.full_bw_reached || !self.round_start || rs.is_app_limited {
            return;
        }
        let threshold = (u64::from(self.full_bw) * u64::from(FULL_BW_GROWTH)) >> GAIN_SCALE;
        if u64::from(self.bw.max()) >= threshold {
            self.full_bw = self.bw.max();
            self.full_bw_cnt = 0;
            return;
        }
        self.full_bw_cnt += 1;
        self.full_bw_reached = self.full_bw_cnt >= FULL_BW_ROUNDS;
    }

    fn check_drain(&mut self, c: &mut Conn, now_ns: u64) {
        if self.mode == Mode::Startup && self.full_bw_reached {
            self.mode = Mode::Drain;
            c.ssthresh = self.inflight(c, self.bw.max(), UNIT);
        }
        if self.mode == Mode::Drain
            && self.packets_in_net_at_edt(c, c.in_flight(), now_ns) <= self.inflight(c, self.bw.max(), UNIT)
        {
            self.start_probe_bw(c);
        }
    }

    // The gain cycle.

    fn start_probe_bw(&mut self, c: &Conn) {
        self.mode = Mode::ProbeBw;
        let back = (u64::from(self.random) * CYCLE_RANDOM) >> 32;
        self.cycle_idx = CYCLE_LEN - 1 - back as u8;
        self.advance_phase(c.delivered_ns / 1000);
    }

    fn advance_phase(&mut self, delivered_us: u64) {
        self.cycle_idx = (self.cycle_idx + 1) % CYCLE_LEN;
        self.cycle_us = delivered_us;
    }

    fn is_next_phase(&self, c: &Conn, rs: &RateSample, now_ns: u64, delivered_us: u64) -> bool {
        let full_length = delivered_us.saturating_sub(self.cycle_us) > u64::from(self.min_rtt_us);
        if self.pacing_gain == UNIT {
            return full_length;
        }
        let inflight = || self.packets_in_net_at_edt(c, rs.prior_in_flight, now_ns);
        if self.pacing_gain > UNIT {
            // Probing lasts until the pipe holds what was aimed at, or shows that it cannot.
            full_length && (rs.losses > 0 || inflight() >= self.inflight(c, self.bw.max(), self.pacing_gain))
        } else {
            // Draining lasts no longer than there is something to drain.
            full_length || inflight() <= self.inflight(c, self.bw.max(), UNIT)
        }
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.lt_use_bw => (UNIT, CWND_GAIN),
            Mode::ProbeBw => (CYCLE_GAINS[usize::from(self.cycle_idx % CYCLE_LEN)], CWND_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }

    // The model: round-trip time.

    fn update_min_rtt(&mut self, c: &mut Conn, rs: &RateSample, now: u32) {
        let expired = after(now, self.min_rtt_stamp.wrapping_add(MIN_RTT_S * c.clock.hz()));
        if self.ns3 {
            // The smoothed round-trip time, new or not, and as good as the least is good enough.
            let rtt = c.srtt_us >> 3;
            if rtt > 0 && (rtt <= self.min_rtt_us || expired) {
                self.min_rtt_us = rtt;
                self.min_rtt_stamp = now;
            }
        } else if rs.rtt_us >= 0
            && (rs.rtt_us < i64::from(self.min_rtt_us) || (expired && !rs.is_ack_delayed))
        {
            self.min_rtt_us = to_u32(rs.rtt_us as u64);
            self.min_rtt_stamp = now;
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd(c);
            self.probe_rtt_done_stamp = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(c, now);
        }
        if rs.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// At the smallest window for 200 ms and a round at least.
    fn probe_rtt(&mut self, c: &mut Conn, now: u32) {
        // The low rate is of our own making: no sample of the bandwidth.
        c.app_limited = c.delivered.wrapping_add(c.in_flight()).max(1);
        if self.probe_rtt_done_stamp.is_some() {
            self.probe_rtt_round_done |= self.round_start;
            if self.probe_rtt_round_done {
                self.check_probe_rtt_done(c, now);
            }
        } else if c.in_flight() <= MIN_CWND {
            self.probe_rtt_done_stamp = Some(now.wrapping_add(c.clock.ticks(PROBE_RTT_US) as u32));
            self.probe_rtt_round_done = false;
            self.next_rtt_delivered = c.delivered;
        }
    }

    fn check_probe_rtt_done(&mut self, c: &mut Conn, now: u32) {
        if !self.probe_rtt_done_stamp.is_some_and(|done| after(now, done)) {
            return;
        }
        self.min_rtt_stamp = now;
        c.cwnd = c.cwnd.max(self.prior_cwnd);
        if self.full_bw_reached {
            self.start_probe_bw(c);
        } else {
            self.mode = Mode::Startup;
        }
    }

    // The model: ACK aggregation.

    /// Packets acknowledged beyond what the bandwidth delivers in the time: the
    /// most of the last five to ten rounds.
    fn update_ack_aggregation(&mut self, c: &Conn, rs: &RateSample, delivered_us: u64) {
        if rs.acked_sacked == 0 || rs.delivered < 0 || rs.interval_us <= 0 {
            return;
        }
        if self.round_start {
            self.extra_acked_rounds += 1;
            if self.extra_acked_rounds >= EXTRA_ACKED_ROUNDS {
                self.extra_acked_rounds = 0;
                self.extra_acked_idx ^= 1;
                self.extra_acked[self.extra_acked_idx] = 0;
            }
        }
        let epoch_us = delivered_us.saturating_sub(self.ack_epoch_us);
        // ns-3 counts whole seconds.
        let counted_us = if self.ns3 { epoch_us / 1_000_000 * 1_000_000 } else { epoch_us };
        let epoch_max = if self.ns3 { NS3_ACK_EPOCH_BYTES.div_ceil(c.mss.max(1)) } else { ACK_EPOCH_MAX };
        let mut expected = to_u32(u64::from(self.bandwidth()).saturating_mul(counted_us) >> BW_SCALE);
        if self.ack_epoch_acked <= expected
            || self.ack_epoch_acked.saturating_add(rs.acked_sacked) >= epoch_max
        {
            self.ack_epoch_acked = 0;
            self.ack_epoch_us = delivered_us;
            expected = 0;
        }
        self.ack_epoch_acked = self.ack_epoch_acked.saturating_add(rs.acked_sacked).min(ACK_EPOCH_MAX - 1);
        let extra = self.ack_epoch_acked.saturating_sub(expected).min(c.cwnd);
        let slot = &mut self.extra_acked[self.extra_acked_idx];
        *slot = extra.max(*slot);
    }

    // The model: policers (token buckets that drop what exceeds their rate).

    fn lt_start_interval(&mut self, c: &Conn) {
        self.lt_last_ms = (c.delivered_ns / 1_000_000) as u32;
        self.lt_last_delivered = c.delivered;
        self.lt_last_lost = c.lost;
        self.lt_rounds = 0;
    }

    fn lt_reset(&mut self, c: &Conn) {
        self.lt_bw = 0;
        self.lt_use_bw = false;
        self.lt_is_sampling = false;
        self.lt_start_interval(c);
    }

    /// Two intervals in a row, each from loss to loss, of much loss and the
    /// same throughput: the path is policed to that rate.
    fn lt_sample(&mut self, c: &Conn, rs: &RateSample) {
        if self.ns3 {
            return;
        }
        if self.lt_use_bw {
            if self.mode == Mode::ProbeBw && self.round_start {
                self.lt_rounds += 1;
                if self.lt_rounds >= LT_BW_ROUNDS {
                    self.lt_reset(c);
                    self.start_probe_bw(c);
                }
            }
            return;
        }
        // The first loss says that the bucket has run empty; before, bursts pass.
        if !self.lt_is_sampling {
            if rs.losses == 0 {
                return;
            }
            self.lt_start_interval(c);
            self.lt_is_sampling = true;
        }
        if rs.is_app_limited {
            self.lt_reset(c);
            return;
        }
        if self.round_start {
            self.lt_rounds += 1;
        }
        if self.lt_rounds < LT_MIN_ROUNDS {
            return;
        }
        if self.lt_rounds > LT_MAX_ROUNDS {
            self.lt_reset(c);
            return;
        }
        if rs.losses == 0 {
            return;
        }
        let lost = u64::from(c.lost.wrapping_sub(self.lt_last_lost));
        let delivered = u64::from(c.delivered.wrapping_sub(self.lt_last_delivered));
        if delivered == 0 || (lost << GAIN_SCALE) < LT_LOSS_THRESH * delivered {
            return;
        }
        let ms = ((c.delivered_ns / 1_000_000) as u32).wrapping_sub(self.lt_last_ms);
        if (ms as i32) < 1 {
            return;
        }
        // Linux's microseconds have 32 bits: longer intervals do not count.
        if ms >= u32::MAX / 1000 {
            self.lt_reset(c);
            return;
        }
        self.lt_end_interval(c, to_u32((delivered << BW_SCALE) / (u64::from(ms) * 1000)));
    }

    fn lt_end_interval(&mut self, c: &Conn, bw: u32) {
        if self.lt_bw != 0 {
            let diff = bw.abs_diff(self.lt_bw);
            if u64::from(diff) * u64::from(UNIT) <= LT_BW_RATIO * u64::from(self.lt_bw)
                || self.rate(c, diff, UNIT) <= LT_BW_DIFF
            {
                self.lt_bw = bw.midpoint(self.lt_bw);
                self.lt_use_bw = true;
                self.pacing_gain = UNIT;
                self.lt_rounds = 0;
                return;
            }
        }
        self.lt_bw = bw;
        self.lt_start_interval(c);
    }
}

impl Control for Bbr {
    const INFO: Info = Info {
        name: "bbr",
        about: "model of bandwidth and RTT, paced (version 1)",
        source: "Cardwell et al., ACM Queue 14(5), 2016; Linux tcp_bbr.c",
        linux: Some(Linux { name: "bbr", module: Some("tcp_bbr") }),
        ns3: true,
        own_control: true,
        buffered_windows: 3,
        ..Info::PLAIN
    };

    fn start(flavour: Flavour, c: &mut Conn, now_ns: u64) -> Self {
        Bbr::new(flavour, c, now_ns)
    }

    /// The handshake's round-trip time is of so long ago (ns). One that has expired is replaced by that of the first
    /// data, as after any idle time.
    fn opened_before(&mut self, clock: Clock, ns: u64) {
        let ticks = clock.jiffies(ns);
        if ticks < MIN_RTT_S * clock.hz() {
            self.min_rtt_stamp = self.min_rtt_stamp.wrapping_sub(ticks);
        }
    }

    /// The smallest burst the sender builds, packets.
    #[inline]
    fn min_tso_segs(&mut self, c: &mut Conn) -> u32 {
        Bbr::min_tso_segs(c)
    }

    /// One ACK: updates the model of the path, then the pacing rate and the window.
    /// `random` picks the first phase of a cycle that starts here.
    fn cong_control(&mut self, c: &mut Conn, rs: &RateSample, now_ns: u64, random: u32) {
        self.random = random;
        let now = c.clock.jiffies(now_ns);
        let delivered_us = c.delivered_ns / 1000;
        self.update_bw(c, rs);
        self.update_ack_aggregation(c, rs, delivered_us);
        if self.mode == Mode::ProbeBw && self.is_next_phase(c, rs, now_ns, delivered_us) {
            self.advance_phase(delivered_us);
        }
        self.check_full_bw(rs);
        self.check_drain(c, now_ns);
        self.update_min_rtt(c, rs, now);
        self.update_gains();

        let bw = self.bandwidth();
        self.set_pacing_rate(c, bw, self.pacing_gain);
        self.set_cwnd(c, rs, bw);
    }

    /// Loss or ECN echo. BBR has no threshold, but the window is worth remembering.
    fn ssthresh(&mut self, c: &mut Conn, _now_ns: u64) -> u32 {
        self.save_cwnd(c);
        c.ssthresh
    }

    /// The loss was spurious: what was concluded from it is forgotten.
    fn undo_cwnd(&mut self, c: &mut Conn) -> u32 {
        self.full_bw = 0;
        self.full_bw_cnt = 0;
        self.lt_reset(c);
        c.cwnd
    }

    /// A timeout counts as the end of a round with a loss in it.
    fn set_state(&mut self, c: &mut Conn, new: CaState, _now_ns: u64) {
        if self.ns3 {
            match new {
                CaState::Recovery => {
                    self.save_cwnd(c);
                    c.cwnd = c.in_flight() + 1;
                    self.packet_conservation = true;
                }
                CaState::Loss => {
                    self.save_cwnd(c);
                    self.round_start = true;
                }
                CaState::Open => self.packet_conservation = false,
                _ => {}
            }
            self.prev_ca_state = new;
            return;
        }
        if new == CaState::Loss {
            self.prev_ca_state = CaState::Loss;
            self.full_bw = 0;
            self.round_start = true;
            self.lt_sample(c, &RateSample { losses: 1, ..RateSample::default() });
        }
    }

    /// Sending again after an idle time of the application's making: at the
    /// estimated bandwidth, no faster, and the silence is no ACK aggregation.
    fn event(&mut self, c: &mut Conn, event: Event, now_ns: u64) {
        if !matches!(event, Event::TxStart { .. }) || c.app_limited == 0 {
            return;
        }
        self.idle_restart = true;
        self.ack_epoch_us = now_ns / 1000;
        self.ack_epoch_acked = 0;
        match self.mode {
            Mode::ProbeBw => self.set_pacing_rate(c, self.bandwidth(), UNIT),
            Mode::ProbeRtt => self.check_probe_rtt_done(c, c.clock.jiffies(now_ns)),
            _ => {}
        }
    }
}

/// Saturates: rates and windows that large do not exist.
#[inline]
fn to_u32(x: u64) -> u32 {
    x.min(u64::from(u32::MAX)) as u32
}

/// Maximum over a sliding window from three samples (Kathleen Nichols' filter,
/// Linux `lib/win_minmax.c`): the best, the best since that one, and the best
/// since the second, each `(round, value)`, so values fall and rounds rise.
#[derive(Debug, Clone, Copy, Default)]
struct WindowedMax([(u32, u32); 3]);

impl WindowedMax {
    #[inline]
    fn max(&self) -> u32 {
        self.0[0].1
    }

    fn update(&mut self, window: u32, now: u32, value: u32) {
        let new = (now, value);
        let age = |(at, _): (u32, u32)| now.wrapping_sub(at);
        let s = &mut self.0;
        if value >= s[0].1 || age(s[2]) > window {
            *s = [new; 3];
            return;
        }
        if value >= s[1].1 {
            s[1] = new;
            s[2] = new;
        } else if value >= s[2].1 {
            s[2] = new;
        }
        if age(s[0]) > window {
            // The best has expired: the others move up, twice if the second is too old as well.
            *s = [s[1], s[2], new];
            if age(s[0]) > window {
                *s = [s[1], s[2], new];
            }
        } else if s[1].0 == s[0].0 && age(s[0]) > window / 4 {
            // The runners-up must not be of the best's age, or all expire together.
            s[1] = new;
            s[2] = new;
        } else if s[2].0 == s[1].0 && age(s[0]) > window / 2 {
            s[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The filter as the comment on it promises, in every detail but the cost.
    fn exact_max(history: &[(u32, u32)], window: u32, now: u32) -> u32 {
        history.iter().filter(|(at, _)| now - at <= window).map(|&(_, v)| v).max().unwrap()
    }

    #[test]
    fn windowed_max_forgets_the_best_after_the_window() {
        let mut f = WindowedMax::default();
        f.update(10, 1, 100);
        for round in 2..=11 {
            f.update(10, round, 50);
            assert_eq!(f.max(), 100, "round {round}");
        }
        f.update(10, 12, 50);
        assert_eq!(f.max(), 50);
    }

    /// When all values fall, the runners-up are of the second and third quarter of the window.
    #[test]
    fn windowed_max_spreads_its_samples() {
        let mut f = WindowedMax::default();
        for round in 1..=12 {
            f.update(10, round, 100 - round);
        }
        assert_eq!(f.max(), 96);
    }

    #[test]
    fn windowed_max_takes_a_rise_at_once() {
        let mut f = WindowedMax::default();
        for (round, v) in [(1, 10), (1, 30), (2, 20), (2, 40)] {
            f.update(10, round, v);
        }
        assert_eq!(f.max(), 40);
    }

    proptest! {
        /// Three samples stand for the window: never above the true maximum, and
        /// never below that of its latest quarter.
        #[test]
        fn windowed_max_is_near_the_true_maximum(samples in prop::collection::vec((0u32..3, 0u32..1000), 1..200)) {
            let mut f = WindowedMax::default();
            let (mut now, mut history) = (0, Vec::new());
            for (step, v) in samples {
                now += step;
                history.push((now, v));
                f.update(10, now, v);
                prop_assert!(f.max() <= exact_max(&history, 10, now));
                prop_assert!(f.max() >= exact_max(&history, 2, now));
            }
        }
    }
}
