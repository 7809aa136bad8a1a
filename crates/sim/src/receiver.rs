//! A TCP receiver: reassembly, delayed and quick ACKs, SACK blocks, ECN echo.
//!
//! It counts in units: whole segments in the simulator's runs, bytes where segments are of any size ([`crate::alone`]).

use crate::flow::MSS;
use crate::jiffies::{TICK_NS, TICK_US};
use crate::port::flag;
use crate::sender::StackRules;
use queuewright_cca::jiffies;

/// An acknowledgement to send.
#[derive(Debug, Clone, Copy)]
pub struct AckOut {
    /// When the receiver sends it (ns).
    pub at: u64,
    /// Next segment expected.
    pub cum: u32,
    /// Echoed timestamp (ms).
    pub ts: u32,
    /// `port::flag`s.
    pub flags: u8,
    /// A duplicate to report before [`Receiver::blocks`].
    pub dsack: Option<(u32, u32)>,
}

/// SACK blocks that fit beside timestamps (RFC 2018 section 3).
pub const MAX_SACKS: usize = 3;

/// Out-of-order acknowledgements sent at once before compression begins (`TCP_FASTRETRANS_THRESH`).
const DUP_ACKS_AT_ONCE: u32 = 3;
/// Most acknowledgements compressed into one (`tcp_comp_sack_nr`).
const COMPRESS_LIMIT: u32 = 44;
/// Segments acknowledged at once at the start, after a duplicate and after a pause (`TCP_MAX_QUICKACKS`).
const QUICK: u32 = 16;
/// Longest compression (`tcp_comp_sack_delay_ns`), and the share of the round-trip time that it takes at most, per cent
/// (`tcp_comp_sack_rtt_percent`).
const COMPRESS_NS: u64 = 1_000_000;
const COMPRESS_RTT_PERCENT: u64 = 33;
/// SACK blocks of which each acknowledgement is hoped to arrive: before another one changes, it is told of (`TCP_SACK_BLOCKS_EXPECTED`).
const BLOCKS_EXPECTED: usize = 2;
/// What a full segment has, as long as none was seen (`TCP_MSS_DEFAULT`), and what the shortest may have (`TCP_MIN_MSS`), bytes.
const MSS_DEFAULT: u32 = 536;
const MSS_MIN: u32 = 88;
/// Delayed acknowledgements wait for so many ticks at first (`TCP_ATO_MIN`), at most (`TCP_DELACK_MAX`, less one: `tcp_delack_max`).
const ATO_MIN: u32 = 10;
const ATO_MAX: u32 = 50;
const DELAY_MAX: u32 = 49;

/// A TCP receiver. Its fields lie in the order of their use: see `Sender`.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Receiver {
    /// When a delayed or compressed ACK is due (ns); `u64::MAX`: none waits.
    ack_at: u64,
    /// When its client asks for more (ns); `u64::MAX`: it does not.
    asks_at: u64,
    rules: &'static StackRules,
    /// Units of a full segment (`rcv_mss`).
    full: u32,
    /// Most units past the last acknowledgement that call for none: all but one of the segments that the rules answer together.
    unacked: u32,
    /// Out-of-order ranges, rising, apart, and how many units they hold.
    ranges: Vec<(u32, u32)>,
    held: u32,
    /// Next segment expected.
    pub rcv_nxt: u32,
    /// `rcv_nxt` at the last ACK (`rcv_wup`).
    acked_to: u32,
    /// Segments still to be acknowledged at once (`icsk_ack.quick`).
    quick_acks: u32,
    /// How long an acknowledgement is delayed (`icsk_ack.ato`, ticks); 0: no data yet.
    ato: u32,
    /// When data came last (ns).
    data_ns: u64,
    /// When the present tick of the kernel's clock ends (ns).
    tick_end_ns: u64,
    window: Window,
    ts_recent: u32,
    dup_acks: u32,
    dup_acks_at: u32,
    /// Blocks to report, newest first: Linux remembers four (`selective_acks`).
    blocks: [(u32, u32); 4],
    dsack: Option<(u32, u32)>,
    compressed: u32,
    block_count: u8,
    /// ECE echoes each segment's CE, not the first until CWR (RFC 8257 section 3.2).
    echoes_each: bool,
    /// ECE of the next ACK.
    ece: bool,
    /// A segment has said that its sender is ECN-capable.
    ect_seen: bool,
    /// Round-trip time of the empty path (ns).
    base_rtt_ns: u64,
    /// For how many segments the client asks.
    asks_for: u32,
    /// It answers what comes ("ping-pong" mode): acknowledgements wait for the answer (`tcp_pingpong_thresh` is 1).
    pingpong: bool,
    /// What says that a read which takes all may acknowledge (`ICSK_ACK_PUSHED`, `ICSK_ACK_PUSHED2`).
    pushed: u8,
    /// The application's reads are told ([`Receiver::read`]); else it reads at once.
    reads_by_hand: bool,
    /// Length of the last segment that was shorter than full ones, for a guess at what full ones are (`last_seg_size`).
    last_length: u32,
}

impl Receiver {
    /// A receiver of a path with the given base RTT (ns). `echoes_each`: ECE echoes the CE of each segment, as
    /// DCTCP needs it.
    pub fn new(rules: &'static StackRules, base_rtt_ns: u64, echoes_each: bool) -> Receiver {
        Receiver {
            quick_acks: 0,
            ato: 0,
            data_ns: 0,
            tick_end_ns: 0,
            window: Window::default(),
            rules,
            full: 1,
            unacked: rules.ack_every - 1,
            rcv_nxt: 0,
            acked_to: 0,
            ranges: Vec::new(),
            held: 0,
            blocks: [(0, 0); 4],
            block_count: 0,
            ts_recent: 0,
            echoes_each,
            ece: false,
            dsack: None,
            dup_acks: 0,
            dup_acks_at: 0,
            compressed: 0,
            ect_seen: false,
            base_rtt_ns,
            ack_at: u64::MAX,
            asks_at: u64::MAX,
            asks_for: 0,
            pingpong: false,
            pushed: 0,
            reads_by_hand: false,
            last_length: 0,
        }
    }

    /// From now on it counts bytes, finds out how many a full segment has, and is told when the application reads.
    pub fn by_hand(&mut self) {
        self.set_full(MSS_DEFAULT);
        self.window.unit = 1;
        self.reads_by_hand = true;
    }

    /// When it has something to send, an ACK or its client's request; `u64::MAX`: it has not.
    #[inline]
    pub fn next_at(&self) -> u64 {
        self.ack_at.min(self.asks_at)
    }

    /// When its client asks for more.
    #[inline]
    pub fn asks_at(&self) -> u64 {
        self.asks_at
    }

    /// At `at` its client asks for so many segments more.
    pub fn ask_at(&mut self, at: u64, segments: u32) {
        (self.asks_at, self.asks_for) = (at, segments);
    }

    /// The request, if it is due by `now`: for how many segments.
    #[inline]
    pub fn asks(&mut self, now: u64) -> Option<u32> {
        if self.asks_at > now {
            return None;
        }
        self.asks_at = u64::MAX;
        Some(self.asks_for)
    }

    /// When a delayed or compressed ACK is due.
    #[inline]
    pub fn ack_at(&self) -> u64 {
        self.ack_at
    }

    /// The blocks of the ACK just made.
    #[inline]
    pub fn blocks(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.block_count)]
    }

    /// The same as an acknowledgement has room for them, and how many it has: what is behind those means nothing.
    #[inline]
    pub fn first_blocks(&self) -> ([(u32, u32); MAX_SACKS], u8) {
        let b = &self.blocks;
        ([b[0], b[1], b[2]], self.block_count.min(MAX_SACKS as u8))
    }

    /// The delayed or compressed ACK, if it is due by `now`.
    #[inline]
    pub fn due(&mut self, now: u64) -> Option<AckOut> {
        if self.ack_at > now {
            return None;
        }
        if self.compressed == 0 {
            // Nothing came in time: wait longer, or expect no more answers (`tcp_delack_timer_handler`).
            self.ato = match self.pingpong {
                false => (self.ato * 2).min(self.rto_ticks()).min(ATO_MAX),
                true => ATO_MIN,
            };
            self.pingpong = false;
        }
        Some(self.tell(self.ack_at))
    }

    /// The receiver's own timeout (ticks): all that it knows of the path is the handshake.
    fn rto_ticks(&self) -> u32 {
        let rtt_us = self.base_rtt_ns / 1000;
        ((rtt_us + (2 * rtt_us).max(u64::from(self.rules.rto_min_us))).div_ceil(TICK_US)) as u32
    }

    /// Must the ACK that waits go before this segment is worked in, at `at`? If it is due; if the segment's CE differs from
    /// that of those it answers (`dctcp_ece_ack_update`); or if it tells of a block that the segment would push out of sight
    /// (`tcp_sack_new_ofo_skb`).
    #[inline]
    pub fn goes_first(&self, at: u64, (seq, end): (u32, u32), flags: u8) -> bool {
        // Most often none waits.
        self.ack_at != u64::MAX
            && (self.ack_at <= at
                || (self.compressed > 0 && self.hides_a_block(seq, end))
                || (self.echoes_each
                    && end > self.rcv_nxt
                    && self.compressed == 0
                    && (flags & flag::CE != 0) != self.ece))
    }

    /// The ACK that waits goes out, when it is due or at `at`, whatever is first.
    pub fn flush(&mut self, at: u64) -> AckOut {
        match self.due(at) {
            Some(ack) => ack,
            None => self.tell(at),
        }
    }

    /// What lies from `seq` to `end` arrives at `at`, of a length above 0. Returns the ACK it calls for. A caller first asks
    /// [`Receiver::goes_first`].
    #[inline]
    pub fn on_data(&mut self, at: u64, (seq, end): (u32, u32), ts: u32, flags: u8) -> Option<AckOut> {
        // A duplicate is told of in one ACK, if in any (`tcp_data_queue`).
        self.dsack = None;
        if ts < self.ts_recent && ts != 0 && self.rules.autotunes {
            self.refuse(seq, end);
            return Some(self.tell(at));
        }
        let now = (self.echoes_each || flags & (flag::CE | flag::CWR) != 0)
            && self.see_ecn(flags, end <= self.rcv_nxt);
        // RFC 7323 section 4.3: the echo is of what moves the left edge, and never goes back.
        if seq <= self.acked_to {
            self.ts_recent = self.ts_recent.max(ts);
        }
        if seq <= self.rcv_nxt && end > self.rcv_nxt {
            if seq < self.rcv_nxt {
                // Its beginning came before: that is told of, and the acknowledgement need not be at once (`tcp_data_queue`).
                self.dsack = Some((seq, self.rcv_nxt));
            }
            self.rcv_nxt = end;
            if self.rules.autotunes {
                if flags & flag::FIN == 0 {
                    self.data_received(at, flags);
                } else {
                    self.ends(at, seq, flags);
                }
            }
            let ack = self.acknowledge(at, flags, now).then(|| self.make_ack(at));
            if self.rules.autotunes {
                self.window.read(at, ts, self.base_rtt_ns);
                if at >= self.window.until {
                    self.window.end_round(at, self.rcv_nxt, self.beyond());
                }
            }
            return ack;
        }
        if end <= self.rcv_nxt {
            // A duplicate: report it (RFC 2883) at once, and stay quick for a while (`tcp_enter_quickack_mode`).
            self.dsack = Some((seq, end));
            self.enter_quick(QUICK);
            return Some(self.tell(at));
        }
        if self.rules.autotunes {
            self.see_ect(flags);
        }
        let held = self.held;
        self.store(seq, end);
        if self.held > held {
            if self.rules.autotunes {
                self.grow_window(self.held);
                self.window.grow_buffer(self.window.space, self.beyond());
            }
        } else {
            self.dsack = Some((seq, end));
        }
        self.out_of_order_ack(at, now).then(|| self.make_ack(at))
    }

    /// `tcp_validate_incoming`, PAWS (RFC 7323 section 5): what was sent before what is acknowledged is taken for an old duplicate,
    /// even if it is none, and told of at once (`tcp_send_dupack`).
    #[cold]
    fn refuse(&mut self, seq: u32, end: u32) {
        if seq < self.rcv_nxt {
            self.enter_quick(QUICK);
            self.dsack = Some((seq, end.min(self.rcv_nxt)));
        }
    }

    /// Does the next segment in order call for an acknowledgement?
    #[inline]
    fn acknowledge(&mut self, at: u64, flags: u8, now: bool) -> bool {
        if !self.ranges.is_empty() {
            self.fill();
            // RFC 5681 section 4.2: a filled gap is told at once.
            return self.ranges.is_empty() || self.out_of_order_ack(at, now);
        }
        // The reader takes what there is at once; the end of a burst, or of all, is then told (`tcp_cleanup_rbuf`).
        if self.calls_for_ack()
            || self.is_quick()
            || now
            || (flags & flag::PUSH != 0 && !self.pingpong && !self.reads_by_hand)
        {
            return true;
        }
        self.delay_ack(at);
        false
    }

    /// `tcp_send_delayed_ack`
    #[inline]
    fn delay_ack(&mut self, at: u64) {
        if self.ack_at == u64::MAX {
            self.ack_at = match self.rules.autotunes {
                true => self.ticks_from(at, self.delay_ticks()),
                false => at + self.rules.delayed_ack_ns,
            };
        }
    }

    /// `tcp_in_quickack_mode`
    #[inline]
    fn is_quick(&self) -> bool {
        self.quick_acks > 0 && !self.pingpong
    }

    /// `tcp_enter_quickack_mode`
    fn enter_quick(&mut self, acks: u32) {
        self.quick_acks = self.quick_acks.max(acks);
        self.pingpong = false;
        self.ato = ATO_MIN;
    }

    /// What the last acknowledgement said.
    pub fn acked(&self) -> u32 {
        self.acked_to
    }

    /// Bytes of the window that it tells of.
    pub fn window(&self) -> u32 {
        self.window.told
    }

    /// Units of a full segment, as far as is known.
    pub fn full_segment(&self) -> u32 {
        self.full
    }

    fn set_full(&mut self, units: u32) {
        self.full = units;
        self.unacked = (self.rules.ack_every - 1) * units;
    }

    /// `tcp_measure_rcv_mss`: what came has segments of so many bytes.
    #[cold]
    pub fn measure(&mut self, length: u32, push: bool) {
        let last = std::mem::take(&mut self.last_length);
        if length >= self.full {
            self.set_full(length.min(MSS));
            self.pushed = self.pushed.max(u8::from(push));
            return;
        }
        if length >= MSS_DEFAULT || (length >= MSS_MIN && !push) {
            self.last_length = length;
            if length == last {
                self.set_full(length);
                return;
            }
        }
        self.pushed = if self.pushed > 0 { 2 } else { 1 };
    }

    /// The application has read at `at`; `all`: there is no more (`__tcp_cleanup_rbuf`). The ACK that this calls for.
    pub fn read(&mut self, at: u64, all: bool) -> Option<AckOut> {
        let tells = self.pushed == 2 || (self.pushed == 1 && !self.pingpong);
        (self.ack_at != u64::MAX && (self.calls_for_ack() || (all && tells))).then(|| self.tell(at))
    }

    /// What came last, from `seq` to the next expected, ends with the FIN (`tcp_fin`): nothing can be out of order any more, nor is a
    /// duplicate told of.
    #[cold]
    fn ends(&mut self, at: u64, seq: u32, flags: u8) {
        if self.rcv_nxt - seq > 1 {
            self.data_received(at, flags);
        }
        self.pingpong = true;
        self.dsack = None;
        self.ranges.clear();
        (self.held, self.block_count) = (0, 0);
    }

    /// An ACK at once, whatever waits.
    #[inline(never)]
    pub fn tell(&mut self, at: u64) -> AckOut {
        self.make_ack(at)
    }

    /// Data go out at `at`, and acknowledge what came (`tcp_event_data_sent`, `tcp_event_ack_sent`).
    pub fn answers(&mut self, at: u64) -> AckOut {
        if jiffies(at).wrapping_sub(jiffies(self.data_ns)) < self.ato {
            self.pingpong = true;
        }
        self.tell(at)
    }

    /// Has so much come since the last acknowledgement that another is due? More than a full segment (`__tcp_ack_snd_check`).
    #[inline]
    fn calls_for_ack(&self) -> bool {
        self.rcv_nxt - self.acked_to > self.unacked
    }

    /// When a timer set at `at` for so many ticks, fewer than `FINE_TICKS`, fires (`fires_at`).
    #[inline]
    fn ticks_from(&mut self, at: u64, ticks: u32) -> u64 {
        if at >= self.tick_end_ns {
            self.tick_end_ns = (at / TICK_NS + 1) * TICK_NS;
        }
        self.tick_end_ns + u64::from(ticks) * TICK_NS
    }

    /// How long the acknowledgement of a lone segment waits (`tcp_send_delayed_ack`, ticks).
    #[inline]
    fn delay_ticks(&self) -> u32 {
        let mut ato = self.ato;
        if ato > ATO_MIN {
            let rtt = (self.base_rtt_ns / 1000).div_ceil(TICK_US) as u32;
            ato = ato.min(rtt.max(ATO_MIN));
        }
        ato.min(DELAY_MAX)
    }

    /// `tcp_event_data_recv`: in-order data came; from its rhythm follows how long an acknowledgement may wait.
    #[inline]
    fn data_received(&mut self, at: u64, flags: u8) {
        // So soon that it changes nothing: most often.
        if self.ato != ATO_MIN || at - self.data_ns >= u64::from(ATO_MIN / 2 - 1) * TICK_NS {
            self.set_rhythm(at);
        }
        self.data_ns = at;
        self.see_ect(flags);
        self.grow_window(self.held + self.full);
    }

    /// `tcp_data_ecn_check`: what says that it is not ECN-capable among others that are was most likely sent again; losses go on.
    #[inline]
    fn see_ect(&mut self, flags: u8) {
        if flags & flag::ECT != 0 {
            self.ect_seen = true;
        } else if self.ect_seen {
            self.enter_quick(2);
        }
    }

    /// Units from the next expected to the end of what is out of order.
    #[inline]
    fn beyond(&self) -> u32 {
        self.ranges.last().map_or(0, |r| r.1 - self.rcv_nxt)
    }

    #[cold]
    fn set_rhythm(&mut self, at: u64) {
        let gap = jiffies(at).wrapping_sub(jiffies(self.data_ns));
        if self.ato == 0 {
            self.quick_acks = self.quick_acks.max(QUICK);
            self.ato = ATO_MIN;
        } else if gap <= ATO_MIN / 2 {
            self.ato = self.ato / 2 + ATO_MIN / 2;
        } else if gap < self.ato {
            self.ato = (self.ato / 2 + gap).min(self.rto_ticks()).min(ATO_MAX);
        } else if gap > self.rto_ticks() {
            // After a pause a sender begins with a small window.
            self.quick_acks = self.quick_acks.max(QUICK);
        }
    }

    /// `tcp_grow_window`: while the receive window grows, each segment is acknowledged at once.
    #[inline]
    fn grow_window(&mut self, held: u32) {
        if self.window.grow(held, self.full) {
            self.quick_acks |= 1;
        }
    }

    /// Would the arrival of what lies from `seq` to `end` begin or change a block behind the first [`BLOCKS_EXPECTED`]?
    #[cold]
    fn hides_a_block(&self, seq: u32, end: u32) -> bool {
        let blocks = &self.blocks[..usize::from(self.block_count)];
        let touched = blocks.iter().position(|b| b.0 <= end && b.1 >= seq);
        seq > self.rcv_nxt && touched.unwrap_or(blocks.len()) >= BLOCKS_EXPECTED
    }

    /// `tcp_ecn_accept_cwr`, `tcp_data_ecn_check`, `dctcp_ece_ack_update`: must the ACK go at once? Of what came before only CWR
    /// counts.
    fn see_ecn(&mut self, flags: u8, duplicate: bool) -> bool {
        let (ce, cwr) = (flags & flag::CE != 0, flags & flag::CWR != 0);
        let was = self.ece;
        if duplicate {
            self.ece &= self.echoes_each || !cwr;
            return cwr;
        }
        if self.echoes_each {
            self.ece = ce;
            return cwr || ce != was;
        }
        self.ece = ce || (was && !cwr);
        if ce && (cwr || !was) {
            // A first mark is told at once (`tcp_enter_quickack_mode(sk, 2)`); before any data there is no rhythm yet.
            let ato = self.ato;
            self.enter_quick(2);
            self.ato = self.ato.min(ato);
        }
        // A sender that has reduced its window may have nothing else on its way.
        cwr
    }

    /// Adds what came out of order, and puts its block first.
    #[inline(always)]
    fn store(&mut self, seq: u32, end: u32) {
        // Most often it lies above all others, next to the last one or after a loss.
        let above = match self.ranges.last_mut() {
            Some(last) if last.1 == seq => {
                last.1 = end;
                Some(*last)
            }
            Some(last) if last.1 > seq => None,
            _ => {
                self.ranges.push((seq, end));
                Some((seq, end))
            }
        };
        let range = match above {
            Some(range) => {
                self.held += end - seq;
                range
            }
            None => self.store_between(seq, end),
        };
        // Most often the first block goes on.
        if self.block_count > 0 && self.blocks[0] == (range.0, seq) && range.1 == end {
            self.blocks[0] = range;
            return;
        }
        self.remember(range);
    }

    /// `tcp_sack_new_ofo_skb`: the range of what came out of order, new or not, goes to the front, less the blocks that it has
    /// swallowed; the last of four is forgotten.
    #[inline(never)]
    fn remember(&mut self, range: (u32, u32)) {
        let old = self.blocks;
        self.blocks[0] = range;
        let mut n = 1;
        for &block in &old[..usize::from(self.block_count)] {
            if (block.1 < range.0 || block.0 > range.1) && n < self.blocks.len() {
                self.blocks[n] = block;
                n += 1;
            }
        }
        self.block_count = n as u8;
    }

    /// Adds what begins below the end of the last range, if it is not in one: the range that it is then in.
    #[inline(never)]
    fn store_between(&mut self, seq: u32, end: u32) -> (u32, u32) {
        // The first that ends at or after `seq`, and one past the last that it reaches: at most two, mostly.
        let first = self.ranges.partition_point(|r| r.1 < seq);
        let mut past = first;
        let (mut from, mut to, mut had) = (seq, end, 0);
        while let Some(&(lo, hi)) = self.ranges.get(past)
            && lo <= end
        {
            if lo <= seq && end <= hi {
                return (lo, hi);
            }
            (from, to) = (from.min(lo), to.max(hi));
            had += hi - lo;
            past += 1;
        }
        self.held += to - from - had;
        match past - first {
            0 => self.ranges.insert(first, (from, to)),
            n => {
                self.ranges[first] = (from, to);
                match n {
                    1 => {}
                    // Most often it closes a gap.
                    2 => drop(self.ranges.remove(first + 1)),
                    _ => drop(self.ranges.drain(first + 1..past)),
                }
            }
        }
        (from, to)
    }

    /// In-order data reached the first range: takes it in.
    fn fill(&mut self) {
        // What came covers what had come out of order: that is told as a duplicate, the first of it (`tcp_ofo_queue`).
        let came = self.rcv_nxt;
        while let Some(&(lo, hi)) = self.ranges.first()
            && lo <= self.rcv_nxt
        {
            if lo < came {
                self.extend_dsack(lo, hi.min(came));
            }
            self.rcv_nxt = self.rcv_nxt.max(hi);
            self.held -= hi - lo;
            self.ranges.remove(0);
        }
        let mut n = 0;
        for i in 0..usize::from(self.block_count) {
            if self.blocks[i].1 > self.rcv_nxt {
                self.blocks[n] = self.blocks[i];
                n += 1;
            }
        }
        self.block_count = n as u8;
    }

    /// `tcp_dsack_extend`
    #[cold]
    fn extend_dsack(&mut self, from: u32, to: u32) {
        match &mut self.dsack {
            None => self.dsack = Some((from, to)),
            Some(told) if from <= told.1 && told.0 <= to => *told = (told.0.min(from), told.1.max(to)),
            Some(_) => {}
        }
    }

    /// `__tcp_ack_snd_check` with data out of order: at once, or compressed.
    #[inline(always)]
    fn out_of_order_ack(&mut self, at: u64, now: bool) -> bool {
        if now
            || !self.rules.compress_sacks
            || self.calls_for_ack()
            || self.is_quick()
            || self.compressed >= COMPRESS_LIMIT
        {
            return true;
        }
        if self.dup_acks_at != self.rcv_nxt {
            self.dup_acks_at = self.rcv_nxt;
            self.dup_acks = 0;
        }
        if self.dup_acks < DUP_ACKS_AT_ONCE {
            self.dup_acks += 1;
            return true;
        }
        self.compressed += 1;
        if self.compressed == 1 {
            let rtt_ns = self.window.rtt_ns.min(self.base_rtt_ns);
            self.ack_at = self.ack_at.min(at + (rtt_ns * COMPRESS_RTT_PERCENT / 100).min(COMPRESS_NS));
        }
        false
    }

    /// Where many segments are acknowledged it is inlined; elsewhere [`Receiver::tell`] is as good.
    #[inline(always)]
    fn make_ack(&mut self, at: u64) -> AckOut {
        self.acked_to = self.rcv_nxt;
        // Half of the buffer is taken (`__tcp_select_window`).
        if self.held > 0 && self.window.taken(self.held, self.full) > self.window.clamp / 2 {
            self.quick_acks = 0;
        }
        if self.quick_acks > 0 {
            self.quick_acks -= 1;
            if self.quick_acks == 0 {
                self.ato = ATO_MIN;
            }
        }
        self.ack_at = u64::MAX;
        self.compressed = 0;
        self.pushed = 0;
        let flags = if self.ece { flag::ECE } else { 0 };
        AckOut { at, cum: self.rcv_nxt, ts: self.ts_recent, flags, dsack: self.dsack.take() }
    }
}

/// The receive window's room and how it follows the flow (`tcp_rcv_space_adjust`, "dynamic right-sizing").
#[derive(Debug)]
struct Window {
    /// What is told of it now (`rcv_ssthresh`), and what the buffer has room for (`window_clamp`), bytes.
    told: u32,
    clamp: u32,
    /// Most bytes read in a round trip (`rcvq_space.space`).
    space: u32,
    /// Bytes of a unit.
    unit: u32,
    /// From which unit on, since when and until when (ns) the present round counts.
    from: u32,
    since: u64,
    until: u64,
    /// Smoothed round-trip time as the receiver sees it (`rcv_rtt_est`, ns); `u64::MAX`: not known yet.
    rtt_ns: u64,
    /// Timestamp of the last sample.
    ts: u32,
}

/// Bytes of payload that a byte of the buffer is good for, in 256ths: a full segment of 1448 bytes takes 2408 of it.
const WINDOW_RATIO: u64 = 1448 * 256 / 2408;
/// What a segment that waits takes of the window, bytes: its payload and a seventeenth of what it came in, as the pages of so many are
/// put together (`tcp_try_coalesce`, `MAX_SKB_FRAGS`).
const SEGMENT_WINDOW: u32 = (((1448 + 960 / 17) * WINDOW_RATIO) >> 8) as u32;
/// `tcp_rmem[1]` and the most that `tcp_rmem[2]` is with the 1 GiB of memory that the lab's machine has, as window.
const FIRST_CLAMP: u32 = ((131_072 * WINDOW_RATIO) >> 8) as u32;
const LAST_CLAMP: u64 = ((1 << 30) / 128 * WINDOW_RATIO) >> 8;
/// What a handshake tells: 45 segments.
const FIRST_TOLD: u32 = 45 * MSS;

impl Default for Window {
    fn default() -> Window {
        Window {
            told: FIRST_TOLD,
            clamp: FIRST_CLAMP,
            space: 10 * MSS,
            unit: MSS,
            from: 0,
            since: 0,
            until: 0,
            rtt_ns: u64::MAX,
            ts: 0,
        }
    }
}

impl Window {
    /// What so many units take of it, bytes; `full` of them are a segment.
    #[inline]
    fn taken(&self, held: u32, full: u32) -> u32 {
        let segments = if full == 1 { held } else { held.div_ceil(full) };
        segments.saturating_mul(SEGMENT_WINDOW)
    }

    /// A segment came in: two more may, if the buffer has room for them beside what it holds (`tcp_space`).
    #[inline]
    fn grow(&mut self, held: u32, full: u32) -> bool {
        if self.told >= self.clamp {
            return false;
        }
        let room = self.clamp.saturating_sub(self.taken(held, full));
        let grows = self.told < room;
        if grows {
            self.told = room.min(self.told + 2 * MSS);
        }
        grows
    }

    /// The application has read what came at `at`; the last segment was sent at `ts` (ms).
    #[inline]
    fn read(&mut self, at: u64, ts: u32, base_rtt_ns: u64) {
        if ts != self.ts {
            self.ts = ts;
            let ns = at.saturating_sub(u64::from(ts) * 1_000_000) + base_rtt_ns / 2;
            self.rtt_ns = if ns < self.rtt_ns { ns } else { self.rtt_ns - (self.rtt_ns >> 3) + (ns >> 3) };
            self.until = self.since.saturating_add(self.rtt_ns);
        }
    }

    #[cold]
    fn end_round(&mut self, at: u64, next: u32, beyond: u32) {
        let bytes = (next - self.from).saturating_mul(self.unit);
        if bytes > self.space {
            self.grow_buffer(bytes, beyond);
        }
        (self.from, self.since, self.until) = (next, at, at.saturating_add(self.rtt_ns));
    }

    /// `tcp_rcvbuf_grow`: room for two round trips of `space` bytes, and for a rate that doubles; and for what lies so many
    /// units beyond a gap.
    #[inline]
    fn grow_buffer(&mut self, space: u32, beyond: u32) {
        let (old, new) = (u64::from(self.space), u64::from(space));
        self.space = space;
        let room = 2 * new;
        let grow = match self.rtt_ns {
            u64::MAX => 0,
            // Most often it is asked for no more: then without a division.
            1_000_000.. if new == old => 0,
            1_000_000.. => 2 * room * (new - old) / old,
            ns => room * ns / 1_000_000,
        };
        let room = room + grow + u64::from(beyond) * u64::from(self.unit);
        self.clamp = self.clamp.max(room.min(LAST_CLAMP) as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use queuewright_scenario::spec::Stack;

    /// A segment.
    fn one(seq: u32) -> (u32, u32) {
        (seq, seq + 1)
    }

    const LINUX: &StackRules = &StackRules::LINUX;

    /// A receiver of Linux to which `n` segments came in order, an hour ago, so that none is acknowledged out of haste; and
    /// whose window no longer grows.
    fn settled(n: u32) -> Receiver {
        let mut r = Receiver::new(LINUX, 40_000_000, false);
        (r.window.clamp, r.window.told) = (u32::MAX, u32::MAX);
        for seq in 0..n {
            r.on_data(0, one(seq), 0, 0);
        }
        r.quick_acks = 0;
        r
    }

    #[test]
    fn acks_every_second_segment_after_the_first_sixteen() {
        let mut r = Receiver::new(LINUX, 40_000_000, false);
        r.window.clamp = r.window.told;
        let acks: Vec<bool> = (0..24).map(|i| r.on_data(i, one(i as u32), 0, 0).is_some()).collect();
        assert_eq!(acks[..16], [true; 16]);
        assert_eq!(acks[16..], [false, true, false, true, false, true, false, true]);
        // A lone segment waits ten ticks of 4 ms, the one under way not among them.
        assert!(r.on_data(100, one(24), 0, 0).is_none());
        assert_eq!(r.ack_at(), 44_000_000);
        assert_eq!(r.due(44_000_000).unwrap().cum, 25);
    }

    /// 65,160 bytes are told at first, 78,336 have room: that is five times two segments more.
    #[test]
    fn acks_each_segment_while_the_window_grows() {
        let mut r = Receiver::new(LINUX, 40_000_000, false);
        let quick = (0..60).filter(|i| r.on_data(1_000_000, one(*i), 1, 0).is_some()).count();
        // These five and 16 more; then every second of the 39 left.
        assert_eq!(quick, 5 + 16 + 19);
    }

    #[test]
    fn the_end_of_a_burst_is_told_at_once() {
        let mut r = settled(20);
        let acks: Vec<bool> = (20..29)
            .map(|i| r.on_data(1, one(i), 0, if i % 3 == 1 { flag::PUSH } else { 0 }).is_some())
            .collect();
        assert_eq!(acks, [false, true, true, false, true, true, false, true, true]);
    }

    #[test]
    fn a_pause_longer_than_the_timeout_makes_it_quick_again() {
        let mut r = settled(20);
        // 40 ms and 200 ms of timeout: 60 ticks.
        assert!(r.on_data(240_000_000, one(20), 240, 0).is_none());
        r.due(u64::MAX - 1);
        assert!(r.on_data(240_000_000 + 244_000_000, one(21), 484, 0).is_some());
        let acks: Vec<bool> = (22..40).map(|i| r.on_data(490_000_000, one(i), 490, 0).is_some()).collect();
        assert_eq!(acks[..15], [true; 15]);
        assert_eq!(acks[15..], [false, true, false]);
    }

    #[test]
    fn a_rhythm_slower_than_the_delay_makes_it_wait_longer() {
        let mut r = settled(20);
        // 32 ms apart: 10 -> 10/2 + 8 = 13 -> 14 -> 15 ticks; the round trip of 40 ms allows ten.
        for i in 0..4u32 {
            r.on_data(u64::from(i) * 32_000_000, one(20 + i), i * 32, 0);
        }
        assert_eq!((r.ato, r.delay_ticks()), (15, 10));
        r.base_rtt_ns = 100_000_000;
        assert_eq!(r.delay_ticks(), 15);
        // What came too late doubles it.
        r.on_data(4 * 32_000_000, one(24), 128, 0);
        assert!(r.due(u64::MAX - 1).is_some() && r.ato == 30, "{}", r.ato);
    }

    #[test]
    fn compresses_sacks_after_three() {
        let mut r = settled(20);
        let acks: Vec<bool> = (21..30).map(|i| r.on_data(1000, one(i), 0, 0).is_some()).collect();
        assert_eq!(acks, [true, true, true, false, false, false, false, false, false]);
        assert_eq!(r.due(1_001_000).unwrap().cum, 20);
        assert_eq!(r.blocks(), [(21, 30)]);
        // The hole filled is told at once, with everything.
        assert_eq!(r.on_data(2_000_000, one(20), 0, 0).unwrap().cum, 30);
        assert!(r.blocks().is_empty());
    }

    #[test]
    fn a_third_block_is_told_before_a_fourth_comes() {
        let mut r = settled(20);
        let mut told = Vec::new();
        // Every other one is lost.
        for seq in (21..35).step_by(2) {
            if r.goes_first(1000, one(seq), 0) {
                told.push(r.flush(1000));
            }
            told.extend(r.on_data(1000, one(seq), 0, 0));
        }
        // Three at once, then each one more lets the one before it go.
        assert_eq!(told.len(), 6, "{told:?}");
    }

    /// `tcp_sack_new_ofo_skb`: a duplicate puts its block first.
    #[test]
    fn a_duplicate_turns_the_blocks() {
        let mut r = settled(20);
        for seq in [22, 24, 26] {
            r.on_data(1000, one(seq), 0, 0);
        }
        assert_eq!(r.blocks(), [(26, 27), (24, 25), (22, 23)]);
        let ack = r.on_data(1000, one(24), 0, 0);
        assert_eq!(r.blocks(), [(24, 25), (26, 27), (22, 23)]);
        assert!(ack.is_none_or(|a| a.dsack == Some((24, 25))));
    }

    /// Four blocks are remembered; none comes back when those before it are filled (`tcp_sack_remove`).
    #[test]
    fn ranges_that_are_forgotten_stay_so() {
        let mut r = settled(20);
        for seq in [40, 22, 24, 26, 28] {
            r.on_data(1000, one(seq), 0, 0);
        }
        assert_eq!(r.blocks(), [(28, 29), (26, 27), (24, 25), (22, 23)]);
        for seq in [20, 21, 23, 25, 27] {
            r.on_data(1000, one(seq), 0, 0);
        }
        assert_eq!((r.rcv_nxt, r.blocks().len(), r.ranges.as_slice()), (29, 0, &[(40, 41)][..]));
    }

    /// PAWS (`tcp_validate_incoming`): a segment that was sent before the one that filled the gap is refused, though it is new.
    #[test]
    fn what_is_older_than_what_was_acknowledged_is_refused() {
        let mut r = settled(20);
        r.on_data(1000, one(21), 50, 0);
        r.on_data(2000, one(20), 90, 0);
        assert_eq!((r.rcv_nxt, r.ts_recent), (22, 90));
        let ack = r.on_data(3000, one(22), 52, 0).unwrap();
        assert_eq!((ack.cum, ack.dsack, r.rcv_nxt), (22, None, 22));
        // One that had come is told of as a duplicate.
        let ack = r.on_data(3000, one(21), 52, 0).unwrap();
        assert_eq!((ack.cum, ack.dsack), (22, Some((21, 22))));
        assert_eq!(r.on_data(4000, one(22), 91, 0).map(|a| a.cum), Some(23));
    }

    /// "Ping-pong" mode: the ACK waits for the answer (`tcp_in_quickack_mode`), and leaves with it.
    #[test]
    fn who_answers_acknowledges_with_the_answer() {
        let mut r = Receiver::new(LINUX, 40_000_000, false);
        assert!(r.on_data(0, one(0), 0, 0).is_some());
        assert_eq!(r.answers(1_000_000).cum, 1);
        assert!(r.on_data(2_000_000, one(1), 2, flag::PUSH).is_none());
        assert_eq!((r.answers(3_000_000).cum, r.ack_at()), (2, u64::MAX));
        // None came in time: no more answers are expected.
        assert!(r.on_data(4_000_000, one(2), 4, 0).is_none());
        assert!(r.due(u64::MAX - 1).is_some());
        assert!(r.on_data(90_000_000, one(3), 90, 0).is_some());
    }

    /// RFC 8257 section 3.2: an ACK answers segments of one CE state only, and says which.
    #[test]
    fn echoes_each_mark() {
        let mut r = Receiver::new(LINUX, 40_000_000, true);
        (r.ato, r.window.clamp) = (ATO_MIN, 0);
        let mut told = Vec::new();
        let marks = [0, 0, 0, 1, 1, 1, 1, 0, 1, 0, 0, 0, 0, 1, 1];
        for (i, ce) in marks.into_iter().enumerate() {
            let flags = ce * flag::CE;
            if r.goes_first(i as u64, one(i as u32), flags) {
                told.push(r.flush(i as u64));
            }
            told.extend(r.on_data(i as u64, one(i as u32), 0, flags));
        }
        told.extend(r.due(u64::MAX - 1));
        let mut from = 0;
        for ack in &told {
            for seq in from..ack.cum {
                assert_eq!(marks[seq as usize] == 1, ack.flags & flag::ECE != 0, "{seq}: {told:?}");
            }
            from = ack.cum;
        }
        assert_eq!(from, 15);
        // Without a change of state an ACK still answers two segments.
        let ends: Vec<u32> = told.iter().map(|a| a.cum).collect();
        assert_eq!(ends, [2, 3, 4, 6, 7, 8, 9, 10, 12, 13, 14, 15]);
    }

    proptest! {
        /// Whatever the order, the ranges and the left edge say exactly what arrived.
        #[test]
        fn holds_what_arrived(order in proptest::collection::vec(0u32..60, 1..200)) {
            let mut r = Receiver::new(StackRules::of(Stack::Ns3), 0, false);
            let mut have = [false; 60];
            for (i, seq) in order.into_iter().enumerate() {
                let dup = have[seq as usize];
                let ack = r.on_data(i as u64, one(seq), 0, 0);
                have[seq as usize] = true;
                let edge = have.iter().position(|h| !h).unwrap_or(60) as u32;
                prop_assert_eq!(r.rcv_nxt, edge);
                if let Some(ack) = ack { prop_assert_eq!(ack.dsack.is_some(), dup); }
                let mut said = [false; 60];
                for (lo, hi) in &r.ranges { for s in *lo..*hi { said[s as usize] = true } }
                for s in 0..60u32 { prop_assert_eq!(said[s as usize], have[s as usize] && s >= edge); }
                for b in r.blocks() { prop_assert!(r.ranges.iter().any(|a| a.0 <= b.0 && b.1 <= a.1), "{:?} {:?}", b, r.ranges); }
            }
        }

        /// As long as no ACK is lost, three blocks each tell of all that arrived, whatever is forgotten.
        #[test]
        fn tells_of_all_that_arrived(order in proptest::collection::vec(1u32..40, 1..200)) {
            let mut r = settled(0);
            let mut told = [false; 40];
            let tell = |r: &Receiver, ack: AckOut, told: &mut [bool; 40]| {
                let blocks = ack.dsack.iter().chain(r.blocks()).take(MAX_SACKS);
                for s in (0..ack.cum).chain(blocks.flat_map(|b| b.0..b.1)) {
                    told[s as usize] = true;
                }
            };
            let mut have = [false; 40];
            for (i, seq) in order.into_iter().enumerate() {
                let at = 1000 + i as u64;
                if r.goes_first(at, one(seq), 0) {
                    let ack = r.flush(at);
                    tell(&r, ack, &mut told);
                }
                have[seq as usize] = true;
                if let Some(ack) = r.on_data(at, one(seq), 0, 0) {
                    tell(&r, ack, &mut told);
                }
            }
            if let Some(ack) = r.due(u64::MAX - 1) {
                tell(&r, ack, &mut told);
            }
            prop_assert_eq!(told, have);
        }
    }
}
