//! A TCP receiver: reassembly, delayed and quick ACKs, SACK blocks, ECN echo.
//!
//! Segments are whole, and the application reads at once all that there is. [`crate::socket`] is the receiver of all else.

use crate::blocks::SackBlocks;
use crate::jiffies::{TICK_NS, TICK_US, timestamp};
use crate::packet::{MAX_SACKS, ace, flag};
use crate::sender::StackRules;
use queuewright_cca::jiffies;
use queuewright_scenario::packet::MSS;

/// How a receiver tells its sender what was marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Echo {
    /// ECE from the first mark until the sender says CWR (RFC 3168 section 6.1.3).
    Classic,
    /// ECE of each segment's mark, as DCTCP needs it (RFC 8257 section 3.2).
    Each,
    /// How many packets were marked (AccECN, RFC 9768).
    Accurate,
}

impl Echo {
    /// Without AccECN: what a congestion control that is DCTCP or not does at a receiver.
    pub fn of_dctcp(is: bool) -> Echo {
        if is { Echo::Each } else { Echo::Classic }
    }
}

/// What a receiver with AccECN knows of marks (`tcp_ecn_received_counters`).
#[derive(Debug)]
pub struct Counted {
    /// The ECN field of the last packet, as flags.
    field: u8,
    /// Packets that were marked.
    pub marks: u32,
}

impl Default for Counted {
    fn default() -> Counted {
        // What ends the handshake is ECN-capable, too.
        Counted { field: flag::ECT | flag::ECT1, marks: 0 }
    }
}

impl Counted {
    /// A packet with these flags comes: must the ACK go at once? Where the ECN field changes (RFC 9768 section 3.2.2.5.1).
    pub fn see(&mut self, flags: u8) -> bool {
        let ce = flags & flag::CE != 0;
        self.marks = self.marks.wrapping_add(ce.into());
        let field = if ce { flag::CE } else { flags & (flag::ECT | flag::ECT1) };
        std::mem::replace(&mut self.field, field) != field
    }
}

/// An acknowledgement to send.
#[derive(Debug, Clone, Copy)]
pub struct AckOut {
    /// When the receiver sends it (ns).
    pub at: u64,
    /// Next segment expected.
    pub cum: u32,
    /// Echoed timestamp (ms).
    pub ts: u32,
    /// One past the last segment that the window has room for; `u32::MAX`: it has no end.
    pub window_end: u32,
    /// `packet::flag`s.
    pub flags: u8,
    /// A duplicate to report before [`Receiver::blocks`].
    pub dsack: Option<(u32, u32)>,
    /// With [`Echo::Accurate`]: packets that were marked so far.
    pub marked: u32,
}

/// Out-of-order acknowledgements sent at once before compression begins (`TCP_FASTRETRANS_THRESH`).
pub const DUP_ACKS_AT_ONCE: u32 = 3;
/// Most acknowledgements compressed into one (`tcp_comp_sack_nr`).
pub const COMPRESS_LIMIT: u32 = 44;
/// Segments acknowledged at once at the start, after a duplicate and after a pause (`TCP_MAX_QUICKACKS`).
pub const QUICK: u32 = 16;
/// Longest compression (`tcp_comp_sack_delay_ns`), and the share of the round-trip time that it takes at most, per cent
/// (`tcp_comp_sack_rtt_percent`).
const COMPRESS_NS: u64 = 1_000_000;
const COMPRESS_RTT_PERCENT: u64 = 33;
/// How much later its timer may fire, and does where nothing else wakes the processor (`tcp_comp_sack_slack_ns`).
const COMPRESS_SLACK_NS: u64 = 10_000;
/// Delayed acknowledgements wait for so many ticks at first (`TCP_ATO_MIN`), at most (`TCP_DELACK_MAX`, less one: `tcp_delack_max`).
pub const ATO_MIN: u32 = 10;
pub const ATO_MAX: u32 = 50;
pub const DELAY_MAX: u32 = 49;

/// A TCP receiver. Its fields lie in the order of their use: see `Sender`.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Receiver {
    /// When a delayed or compressed ACK is due (ns); `u64::MAX`: none waits.
    ack_at: u64,
    /// When its client asks for more (ns); `u64::MAX`: it does not.
    asks_at: u64,
    /// When the timer of delayed ACKs fires (ns). An ACK that goes earlier leaves it set, and it lets go what is compressed then
    /// (`tcp_delack_timer_handler`); `u64::MAX`: it was never set.
    timer_at: u64,
    rules: &'static StackRules,
    /// Buffers of what came out of order, rising, and how many segments they hold. What goes on where one ends is put to it, up to [`PIECES`]
    /// segments (`tcp_ooo_try_coalesce`); two that come to touch stay two.
    behind: Vec<(u32, u32)>,
    held: u32,
    /// Next segment expected.
    pub rcv_nxt: u32,
    /// `rcv_nxt` at the last ACK (`rcv_wup`).
    acked_to: u32,
    /// Segments still to be acknowledged at once (`icsk_ack.quick`).
    quick_acks: u32,
    /// How long an acknowledgement is delayed (`icsk_ack.ato`, ticks); 0: no data yet.
    ato: u32,
    /// When data came last in order, or the connection opened, which may be before 0 (`icsk_ack.lrcvtime`, ns); `i64::MIN`: not known yet.
    data_ns: i64,
    /// When the present tick of the kernel's clock ends (ns).
    tick_end_ns: u64,
    window: Window,
    ts_recent: u32,
    dup_acks: u32,
    dup_acks_at: u32,
    /// Blocks to report.
    blocks: SackBlocks,
    dsack: Option<(u32, u32)>,
    compressed: u32,
    echo: Echo,
    /// ECE of the next ACK, and whether the last segment was marked.
    ece: bool,
    marked: bool,
    /// With [`Echo::Accurate`].
    counted: Counted,
    /// The end of the window that an ACK of what came before a change of marks has just told of.
    early_end: u64,
    /// A segment has said that its sender is ECN-capable.
    ect_seen: bool,
    /// An ACK has just gone, as the segment at work changes a block; and whether that segment lies in its buffer already.
    went_first: bool,
    laid: bool,
    /// The ACK at `ack_at` tells that there is room again (`tcp_cleanup_rbuf`).
    reopens: bool,
    /// Round-trip time of the empty path (ns).
    base_rtt_ns: u64,
    /// Up to which segment the client asks.
    asks_for: u32,
    /// It answers what comes ("ping-pong" mode): acknowledgements wait for the answer (`tcp_pingpong_thresh` is 1).
    pingpong: bool,
}

impl Receiver {
    /// A receiver of a path with the given base RTT (ns). `overhead`: what a segment's buffer takes beside its payload, `most`: what all
    /// that wait may take (bytes).
    pub fn new(
        rules: &'static StackRules,
        base_rtt_ns: u64,
        echo: Echo,
        overhead: u32,
        most: u32,
    ) -> Receiver {
        Receiver {
            quick_acks: 0,
            ato: 0,
            data_ns: i64::MIN,
            tick_end_ns: 0,
            window: Window::new(overhead, most),
            rules,
            rcv_nxt: 0,
            acked_to: 0,
            behind: Vec::new(),
            held: 0,
            blocks: SackBlocks::default(),
            ts_recent: 0,
            echo,
            ece: false,
            marked: false,
            counted: Counted::default(),
            early_end: 0,
            dsack: None,
            dup_acks: 0,
            dup_acks_at: 0,
            compressed: 0,
            ect_seen: false,
            went_first: false,
            laid: false,
            reopens: false,
            base_rtt_ns,
            ack_at: u64::MAX,
            timer_at: u64::MAX,
            asks_at: u64::MAX,
            asks_for: 0,
            pingpong: false,
        }
    }

    /// The connection is open since `at` (ns, may be before 0): from then on it counts what a round trip brings (`rcvq_space.time` of
    /// `tcp_init_buffer_space`) and how long nothing came. Else that is when data first comes, right behind the handshake.
    pub fn begins(&mut self, at: i64) {
        self.window.since = at;
        self.data_ns = at;
    }

    /// Its sender has given up ECN (`tcp_ecn_clear_syn`).
    pub fn without_ecn(&mut self) {
        self.echo = Echo::Classic;
    }

    /// How it tells of marks.
    #[inline]
    pub fn echo(&self) -> Echo {
        self.echo
    }

    /// See [`crate::alone::Receiver::measured`].
    #[cfg(test)]
    pub fn measured(&self) -> (u64, u32) {
        (self.window.known_rtt() >> 3, self.window.space)
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

    /// At `at` its client asks for what lies before the segment `end`.
    pub fn ask_at(&mut self, at: u64, end: u32) {
        (self.asks_at, self.asks_for) = (at, end);
    }

    /// Its client asks for nothing more.
    pub fn ask_no_more(&mut self) {
        self.asks_at = u64::MAX;
    }

    /// The request, if it is due by `now`: up to which segment.
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
    pub fn blocks(&self) -> &[(u32, u32)] {
        self.blocks.get()
    }

    /// The same as an acknowledgement has room for them.
    #[inline]
    pub fn first_blocks(&self) -> ([(u32, u32); MAX_SACKS], u8) {
        self.blocks.first()
    }

    /// The delayed or compressed ACK, if it is due by `now`.
    #[inline]
    pub fn due(&mut self, now: u64) -> Option<AckOut> {
        if self.ack_at > now {
            return None;
        }
        if self.compressed == 0 && !self.reopens {
            // Nothing came in time: wait longer, or expect no more answers (`tcp_delack_timer_handler`).
            self.ato = match self.pingpong {
                false => (self.ato * 2).min(self.rto_ticks()).min(ATO_MAX),
                true => ATO_MIN,
            };
            self.pingpong = false;
        }
        Some(self.make_ack(self.ack_at))
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
    pub fn goes_first(&mut self, at: u64, (seq, end): (u32, u32), ts: u32, flags: u8) -> bool {
        // Most often none waits.
        self.ack_at != u64::MAX
            && (self.ack_at <= at
                || (self.compressed > 0
                    && seq > self.rcv_nxt
                    && !self.is_old(ts, end)
                    && self.hides_a_block(seq, end, flags))
                || (self.echo == Echo::Each
                    && end > self.rcv_nxt
                    && self.compressed == 0
                    && flags & flag::ECT != 0
                    && (flags & flag::CE != 0) != self.marked
                    && !self.is_old(ts, end)))
    }

    /// `tcp_paws_check` (`TCP_PAWS_WINDOW`), `tcp_sequence`: is it refused before anything of it is looked at?
    #[inline]
    fn is_old(&self, ts: u32, end: u32) -> bool {
        self.rules.autotunes && ((ts + 1 < self.ts_recent && ts != 0) || end < self.acked_to)
    }

    /// The ACK that waits goes out, when it is due or at `at`, whatever is first.
    pub fn flush(&mut self, at: u64) -> AckOut {
        if let Some(ack) = self.due(at) {
            return ack;
        }
        if self.compressed > 0 {
            // What lets it go calls for no other: none is scheduled any more (`tcp_ack_snd_check`).
            self.went_first = true;
            return self.make_ack(at);
        }
        // It tells of the marks before a change (`dctcp_ece_ack_update`); the one that tells of the change is the one that was waited
        // for.
        let before = (self.acked_to, self.window.end, self.quick_acks, self.ato);
        self.ece = self.marked;
        let ack = self.make_ack(at);
        // The window is timed before (`tcp_rcv_rtt_measure`).
        self.early_end = self.window.end;
        (self.acked_to, self.window.end, self.quick_acks, self.ato) = before;
        ack
    }

    /// What lies from `seq` to `end` arrives at `at`, of a length above 0, sent at `ts` by its sender's clock (ms), with an echo of this
    /// end's (ms). Returns the ACK it calls for. A caller first asks [`Receiver::goes_first`].
    #[inline]
    pub fn on_data(
        &mut self,
        at: u64,
        (seq, end): (u32, u32),
        ts: u32,
        echo: u32,
        flags: u8,
    ) -> Option<AckOut> {
        if self.rules.autotunes {
            if self.is_old(ts, end) {
                return Some(self.refuse(at, seq, end));
            }
            self.window.measure(at, echo);
        }
        // A duplicate is told of in one ACK, if in any (`tcp_data_queue`).
        self.dsack = None;
        let marks = (self.echo != Echo::Classic || flags & (flag::CE | flag::CWR) != 0) && !self.went_first;
        // RFC 7323 section 4.3: the echo is of what moves the left edge, and never goes back.
        if seq <= self.acked_to {
            self.ts_recent = self.ts_recent.max(ts);
        }
        if seq <= self.rcv_nxt && end > self.rcv_nxt {
            self.rcv_nxt = end;
            let now = match self.rules.autotunes {
                true => self.data_received(at, end, flags, marks),
                false => marks && self.see_ecn(flags, false),
            };
            let (ack, read) = match self.behind.is_empty() {
                true => (self.acknowledge(at, flags, now), end),
                false => self.fill_gap(at, seq, now),
            };
            // The application reads, buffer by buffer (`tcp_rcv_space_adjust`).
            if self.rules.autotunes && at >= self.window.until {
                self.window.end_round(at, read, self.rcv_nxt - read, self.beyond());
            }
            return ack;
        }
        if end <= self.rcv_nxt {
            // A duplicate: report it (RFC 2883) at once, and stay quick for a while (`tcp_enter_quickack_mode`).
            if marks {
                self.see_ecn(flags, true);
            }
            self.dsack = Some((seq, end));
            self.enter_quick(QUICK);
            return Some(self.make_ack(at));
        }
        let now = marks && self.see_ecn(flags, false);
        if self.rules.autotunes && !self.went_first {
            self.see_ect(flags);
        }
        if self.data_ns == i64::MIN {
            // It opened right before: its sender's handshake ended with this burst (`tcp_create_openreq_child`).
            self.data_ns = at as i64;
        }
        let (held, buffers) = (self.held, self.buffers());
        self.store(seq, end);
        if self.held == held {
            if !std::mem::take(&mut self.laid) {
                self.dsack = Some((seq, end));
            }
        } else if self.rules.autotunes {
            // What a new buffer takes counts only later (`tcp_data_queue_ofo`).
            let more = self.buffers() <= buffers;
            self.grow_window(held + u32::from(more), buffers);
        }
        if self.rules.autotunes {
            self.window.grow_buffer(self.window.space, self.beyond());
        }
        self.out_of_order_ack(at, now, None)
    }

    /// `tcp_validate_incoming`: what was sent before what is acknowledged is taken for an old duplicate, even if it is none (PAWS, RFC
    /// 7323 section 5), and told of at once, as is what lies below what was acknowledged (`tcp_send_dupack`). This is no
    /// acknowledgement that was called for: of those that are sent at once it takes none away, unless one waits.
    #[cold]
    fn refuse(&mut self, at: u64, seq: u32, end: u32) -> AckOut {
        if seq < self.rcv_nxt {
            self.enter_quick(QUICK);
            self.dsack = Some((seq, end.min(self.rcv_nxt)));
        }
        self.went_first = false;
        self.make_unscheduled_ack(at)
    }

    /// What fills a gap, from `seq` on: the acknowledgement that it calls for, if it does, and the end of the first buffer that is read.
    fn fill_gap(&mut self, at: u64, seq: u32, now: bool) -> (Option<AckOut>, u32) {
        // What lay behind the gap is read only once this is told.
        let (first, buffers) = self.fill(seq);
        let unread = (self.held + self.rcv_nxt - seq, self.buffers() + buffers);
        // RFC 5681 section 4.2: a filled gap is told at once.
        let ack = match self.behind.is_empty() {
            true => Some(self.make_ack_beside(at, unread)),
            false => self.out_of_order_ack(at, now, Some(unread)),
        };
        if self.rules.autotunes {
            self.reopen(at);
        }
        (ack, first)
    }

    /// The acknowledgement that the next segment in order calls for, where nothing is out of order, if it does.
    #[inline]
    fn acknowledge(&mut self, at: u64, flags: u8, now: bool) -> Option<AckOut> {
        let ends = flags & flag::PUSH != 0 && !self.pingpong;
        let due = self.calls_for_ack();
        if !self.rules.autotunes {
            if due || ends || self.is_quick() || now {
                return Some(self.make_ack(at));
            }
            if self.ack_at == u64::MAX {
                self.ack_at = at + self.rules.delayed_ack_ns;
            }
            return None;
        }
        // Told before it is read (`__tcp_ack_snd_check`); else the timer is set (`tcp_send_delayed_ack`).
        if self.is_quick() || now || (due && self.window_goes_on((1, 1))) || self.is_due_soon(at) {
            let ack = self.make_ack_beside(at, (1, 1));
            self.reopen(at);
            return Some(ack);
        }
        // A second segment may bring it forward.
        self.timer_at = self.ticks_from(at, self.delay_ticks()).min(self.ack_at);
        // The reader takes what there is at once; the end of a burst, or of all, is then told (`tcp_cleanup_rbuf`).
        if due || ends {
            return Some(self.make_ack(at));
        }
        self.ack_at = self.timer_at;
        None
    }

    /// `tcp_send_delayed_ack`: does one wait that is due in a quarter of the time that it waits?
    #[inline]
    fn is_due_soon(&self, at: u64) -> bool {
        self.ack_at != u64::MAX
            && self.ack_at / TICK_NS <= at / TICK_NS + 1 + u64::from(self.delay_ticks() >> 2)
    }

    /// `tcp_in_quickack_mode`
    #[inline]
    fn is_quick(&self) -> bool {
        self.quick_acks > 0 && !self.pingpong
    }

    /// `tcp_incr_quickack`: as many as pairs of segments have room in the window that was told, two if none.
    fn more_quick(&mut self, most: u32) {
        let told = self.window.end.saturating_sub(u64::from(self.acked_to) * u64::from(MSS));
        let pairs = (told / u64::from(2 * MSS)) as u32;
        self.quick_acks = self.quick_acks.max(if pairs == 0 { 2 } else { pairs.min(most) });
    }

    /// `tcp_enter_quickack_mode`
    fn enter_quick(&mut self, acks: u32) {
        self.more_quick(acks);
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

    /// An ACK at once, whatever waits.
    pub fn tell(&mut self, at: u64) -> AckOut {
        self.make_unscheduled_ack(at)
    }

    /// Data go out at `at`, and acknowledge what came (`tcp_event_data_sent`, `tcp_event_ack_sent`).
    pub fn answers(&mut self, at: u64) -> AckOut {
        let ack = self.make_unscheduled_ack(at);
        if self.ticks_since_data(at) < self.ato {
            self.pingpong = true;
        }
        ack
    }

    /// Has so much come since the last acknowledgement that another is due? More than a full segment (`__tcp_ack_snd_check`).
    #[inline]
    fn calls_for_ack(&self) -> bool {
        self.rcv_nxt - self.acked_to >= self.rules.ack_every
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
    fn delay_ticks(&self) -> u32 {
        let mut ato = self.ato;
        if ato > ATO_MIN {
            let rtt = (self.base_rtt_ns / 1000).div_ceil(TICK_US) as u32;
            ato = ato.min(rtt.max(ATO_MIN));
        }
        ato.min(DELAY_MAX)
    }

    /// `tcp_event_data_recv`: in-order data came; from its rhythm follows how long an acknowledgement may wait. Then it looks at marks, where
    /// asked: must the ACK go at once?
    #[inline]
    fn data_received(&mut self, at: u64, end: u32, flags: u8, marks: bool) -> bool {
        self.window.measure_full(at, end, self.acked_to);
        // So soon that it changes nothing: most often.
        if self.ato != ATO_MIN
            || (at as i64).wrapping_sub(self.data_ns) >= i64::from(ATO_MIN / 2 - 1) * TICK_NS as i64
        {
            self.set_rhythm(at);
        }
        self.data_ns = at as i64;
        self.see_ect(flags);
        let now = marks && self.see_ecn(flags, false);
        self.grow_window(self.held + 1, self.buffers() + 1);
        now
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

    /// Segments from the next expected to the end of what is out of order.
    #[inline]
    fn beyond(&self) -> u32 {
        self.behind.last().map_or(0, |r| r.1 - self.rcv_nxt)
    }

    /// How many buffers lie behind gaps.
    #[inline]
    fn buffers(&self) -> u32 {
        self.behind.len() as u32
    }

    /// Ticks since data came last in order.
    fn ticks_since_data(&self, at: u64) -> u32 {
        jiffies(at).wrapping_sub(self.data_ns.div_euclid(TICK_NS as i64) as u32)
    }

    #[cold]
    fn set_rhythm(&mut self, at: u64) {
        let gap = self.ticks_since_data(at);
        if self.ato == 0 {
            self.more_quick(QUICK);
            self.ato = ATO_MIN;
        } else if gap <= ATO_MIN / 2 {
            self.ato = self.ato / 2 + ATO_MIN / 2;
        } else if gap < self.ato {
            self.ato = (self.ato / 2 + gap).min(self.rto_ticks()).min(ATO_MAX);
        } else if gap > self.rto_ticks() {
            // After a pause a sender begins with a small window.
            self.more_quick(QUICK);
        }
    }

    /// `tcp_grow_window`: while the receive window grows, each segment is acknowledged at once.
    #[inline]
    fn grow_window(&mut self, segments: u32, buffers: u32) {
        if self.window.grow(segments, buffers) {
            self.quick_acks |= 1;
        }
    }

    /// Is an ACK to go before this changes a block (`tcp_sack_new_ofo_skb`)? It tells of a duplicate and of a mark already (`tcp_data_queue_ofo`
    /// looks at them first), and of the block as it becomes; and what is put to a buffer has widened the window, what is a new one has not yet.
    #[cold]
    fn hides_a_block(&mut self, seq: u32, end: u32, flags: u8) -> bool {
        let hides = self.blocks.hides((seq, end));
        if hides {
            self.see_ecn(flags, false);
            self.see_ect(flags);
            self.dsack = None;
            let next = self.behind.partition_point(|b| b.0 <= seq);
            if let Some(&(lo, hi)) = next.checked_sub(1).and_then(|i| self.behind.get(i)) {
                if end <= hi {
                    self.dsack = Some((seq, end));
                } else if hi == seq && seq - lo < PIECES {
                    (seq..end).for_each(|segment| _ = self.lay(segment));
                    self.grow_window(self.held, self.buffers());
                    self.laid = true;
                }
            }
        }
        hides
    }

    /// `tcp_ecn_accept_cwr`, `tcp_data_ecn_check`, `dctcp_ece_ack_update`: must the ACK go at once? Of what came before only CWR
    /// counts.
    fn see_ecn(&mut self, flags: u8, duplicate: bool) -> bool {
        let (ce, cwr) = (flags & flag::CE != 0, flags & flag::CWR != 0);
        if self.echo == Echo::Accurate {
            return self.counted.see(flags);
        }
        self.ece &= !cwr;
        if duplicate {
            return cwr;
        }
        if self.echo == Echo::Each {
            if flags & flag::ECT == 0 {
                return cwr;
            }
            let was = std::mem::replace(&mut self.marked, ce);
            self.ece = ce;
            self.window.end = self.window.end.max(std::mem::take(&mut self.early_end));
            return cwr || ce != was;
        }
        let was = self.ece;
        self.ece |= ce;
        if ce && !was {
            // A first mark is told at once (`tcp_enter_quickack_mode(sk, 2)`).
            self.enter_quick(2);
        }
        // A sender that has reduced its window may have nothing else on its way.
        cwr
    }

    /// Adds what came out of order, segment by segment, and puts its block first.
    fn store(&mut self, seq: u32, end: u32) {
        let mut lies_last = true;
        for segment in seq..end {
            lies_last &= self.lay(segment);
        }
        // Most often it goes on where the last one ends.
        if !(lies_last && self.blocks.goes_on((seq, end))) {
            self.blocks.add((seq, end));
        }
    }

    /// Lays a segment into its buffer, if it is not in one. Is it the last of all?
    #[inline]
    fn lay(&mut self, seq: u32) -> bool {
        // Most often it lies above all others.
        let place = match self.behind.last() {
            Some(last) if last.0 > seq => self.behind.partition_point(|b| b.0 <= seq),
            _ => self.behind.len(),
        };
        let is_last = place == self.behind.len();
        if let Some(before) = place.checked_sub(1).map(|i| &mut self.behind[i]) {
            if seq < before.1 {
                return false;
            }
            if before.1 == seq && seq - before.0 < PIECES {
                before.1 += 1;
                self.held += 1;
                return is_last;
            }
        }
        self.behind.insert(place, (seq, seq + 1));
        self.held += 1;
        is_last
    }

    /// `tcp_ofo_queue`: takes in what a segment from `seq` on reaches. The end of the first buffer that is read, and how many there are: a buffer is
    /// put to the one before if that has room for it (`tcp_try_coalesce`).
    fn fill(&mut self, seq: u32) -> (u32, u32) {
        let (mut from, mut first, mut buffers, mut n) = (seq, 0, 1, 0);
        while let Some(&(lo, hi)) = self.behind.get(n).filter(|b| b.0 <= self.rcv_nxt) {
            if hi - from > PIECES {
                if buffers == 1 {
                    first = lo;
                }
                (from, buffers) = (lo, buffers + 1);
            }
            self.rcv_nxt = self.rcv_nxt.max(hi);
            self.held -= hi - lo;
            n += 1;
        }
        self.behind.drain(..n);
        match self.behind.is_empty() {
            true => self.blocks.clear(),
            false => self.blocks.remove_to(self.rcv_nxt),
        }
        (if buffers == 1 { self.rcv_nxt } else { first }, buffers)
    }

    /// `__tcp_ack_snd_check` with data out of order: at once, or compressed. `unread`: segments in the receive buffer and their buffers, if
    /// some of them came in order and are not yet read.
    fn out_of_order_ack(&mut self, at: u64, now: bool, unread: Option<(u32, u32)>) -> Option<AckOut> {
        let queued = unread.unwrap_or((self.held, self.buffers()));
        if std::mem::take(&mut self.went_first) {
            return None;
        }
        if now
            || !self.rules.compress_sacks
            || (self.calls_for_ack() && (unread.is_none() || self.window_goes_on(queued)))
            || self.is_quick()
            || self.compressed >= COMPRESS_LIMIT
        {
            return Some(self.make_ack_beside(at, queued));
        }
        if self.dup_acks_at != self.rcv_nxt {
            self.dup_acks_at = self.rcv_nxt;
            self.dup_acks = 0;
        }
        if self.dup_acks < DUP_ACKS_AT_ONCE {
            self.dup_acks += 1;
            return Some(self.make_ack_beside(at, queued));
        }
        self.compressed += 1;
        if self.compressed == 1 {
            self.ack_at = self.ack_at.min(at + compress_ns(self.window.known_rtt(), self.base_rtt_ns / 1000));
            if self.timer_at > at {
                self.ack_at = self.ack_at.min(self.timer_at);
            }
        }
        None
    }

    /// One that may not be due: then it is none of the quick ones (`tcp_dec_quickack_mode`).
    fn make_unscheduled_ack(&mut self, at: u64) -> AckOut {
        if self.ack_at == u64::MAX && self.quick_acks > 0 {
            self.quick_acks += 1;
        }
        self.make_ack(at)
    }

    fn make_ack(&mut self, at: u64) -> AckOut {
        self.make_ack_beside(at, (self.held, self.buffers()))
    }

    /// The same where so many segments in so many buffers are not yet read.
    #[inline]
    fn make_ack_beside(&mut self, at: u64, queued: (u32, u32)) -> AckOut {
        self.acked_to = self.rcv_nxt;
        let window_end = if self.rules.autotunes { self.tell_window(queued) } else { u32::MAX };
        if self.quick_acks > 0 {
            self.quick_acks -= 1;
            if self.quick_acks == 0 {
                self.ato = ATO_MIN;
            }
        }
        self.ack_at = u64::MAX;
        self.compressed = 0;
        self.reopens = false;
        let flags = match self.echo {
            Echo::Accurate => ace(self.counted.marks),
            _ if self.ece => flag::ECE,
            _ => 0,
        };
        let (ts, marked) = (self.ts_recent, self.counted.marks);
        AckOut { at, cum: self.rcv_nxt, ts, window_end, flags, dsack: self.dsack.take(), marked }
    }

    /// `tcp_select_window`: the window's end, which never goes back.
    #[inline]
    fn tell_window(&mut self, queued: (u32, u32)) -> u32 {
        let new = self.select_window(queued);
        let next = u64::from(self.rcv_nxt) * u64::from(MSS);
        let end = (next + u64::from(new)).max(self.window.end);
        // Whole units of what windows are scaled by (no division).
        let below = (1u64 << self.window.scale) - 1;
        self.window.end = next + ((end - next + below) & !below);
        (self.window.end / u64::from(MSS)) as u32
    }

    /// `tcp_cleanup_rbuf`: what lay behind a gap has been read. If that leaves twice the window it is told at once.
    #[inline(never)]
    fn reopen(&mut self, at: u64) {
        let told = self.window.end.saturating_sub(u64::from(self.rcv_nxt) * u64::from(MSS));
        if 2 * told > self.window.clamp.into() {
            return;
        }
        let new = self.select_window((self.held, self.buffers()));
        if new > 0 && u64::from(new) >= 2 * told {
            // If none was due this is none of the quick ones (`tcp_dec_quickack_mode`).
            self.quick_acks += u32::from(self.ack_at == u64::MAX && self.quick_acks > 0);
            (self.reopens, self.ack_at) = (true, at);
        }
    }

    /// Would the window that is told now, beside what is not yet read, be as wide as the last one that was told (`rcv_wnd`)? If not, two
    /// segments that wait are no reason for an ACK (`__tcp_ack_snd_check`).
    fn window_goes_on(&mut self, queued: (u32, u32)) -> bool {
        let told = self.window.end.saturating_sub(u64::from(self.acked_to) * u64::from(MSS));
        u64::from(self.select_window(queued)) >= told
    }

    /// `__tcp_select_window`: whole units of what windows are scaled by (no division).
    #[inline]
    fn select_window(&mut self, (segments, buffers): (u32, u32)) -> u32 {
        let bytes = if segments > 0 { self.room_beside(segments, buffers) } else { self.window.told };
        let below = (1u32 << self.window.scale) - 1;
        bytes.saturating_add(below) & !below
    }

    /// The same where something is not yet read.
    #[inline(never)]
    fn room_beside(&mut self, segments: u32, buffers: u32) -> u32 {
        let w = &self.window;
        let free = w.room(segments, buffers);
        // Half of the buffer is taken.
        if free >= w.clamp / 2 {
            return free.min(w.told);
        }
        self.quick_acks = 0;
        let free = free >> w.scale << w.scale;
        if free < w.clamp >> 4 || free < MSS { 0 } else { free.min(w.told) }
    }
}

/// The receive window's room and how it follows the flow (`tcp_rcv_space_adjust`, "dynamic right-sizing").
#[derive(Debug)]
struct Window {
    /// What is told of it now (`rcv_ssthresh`), and what the buffer has room for (`window_clamp`), bytes.
    told: u32,
    clamp: u32,
    /// Bytes of the buffer (`sk_rcvbuf`), how many of 256 are window (`scaling_ratio`), and how many a segment takes beside its payload.
    buffer: u32,
    ratio: u32,
    overhead: u32,
    /// Most bytes of the buffer (`tcp_rmem[2]`), and by how many bits windows are scaled for it.
    most: u32,
    scale: u32,
    /// The end of the window that was told last, bytes.
    end: u64,
    /// Most bytes read in a round trip (`rcvq_space.space`).
    space: u32,
    /// From which segment on, since when and until when (ns, the latter of a clock of whole us) the present round counts. The largest value: not
    /// known yet.
    from: u32,
    since: i64,
    until: u64,
    /// Smoothed round-trip time as the receiver sees it (`rcv_rtt_est`, eighths of us); `u64::MAX`: not known yet.
    rtt: u64,
    /// The echo of the last sample (`rcv_rtt_last_tsecr`).
    echo: u32,
    /// Until which segment and since when (us; 0: not yet) what the window holds is timed (`rcv_rtt_est.seq`, `.time`).
    full_at: u32,
    full_since_us: u64,
}

/// What a segment's buffer takes beside its payload, bytes: on the lab's veth devices, of a packet that the sender's stack has cut.
pub const OVERHEAD: u32 = 960;
/// Of how many segments the pages are put together (`tcp_try_coalesce`, `MAX_SKB_FRAGS`).
pub const PIECES: u32 = 17;
/// `tcp_rmem[1]`
pub const FIRST_BUFFER: u32 = 131_072;
/// Below this the receive buffer grows with the round trip, not with what it gained (`tcp_rcvbuf_low_rtt`, us).
const LOW_RTT_US: u64 = 1000;
/// A millisecond, eighths of us.
const MS_EIGHTHS: u64 = 8 * 1000;

/// How long acknowledgements wait to be put together, ns: a third of the shorter round trip, that of the receiver (`rcv_rtt_est`, eighths
/// of us) or that of the sender (us; 0: not known), and the timer's slack (`__tcp_ack_snd_check`).
pub fn compress_ns(rtt: u64, srtt_us: u64) -> u64 {
    let rtt = if srtt_us > 0 { rtt.min(srtt_us << 3) } else { rtt };
    ((rtt + (rtt >> 2)) * COMPRESS_RTT_PERCENT).min(COMPRESS_NS) + COMPRESS_SLACK_NS
}

/// Which room a receiver needs that reads `new` bytes in a round trip of so many us and `old` in the one before: that of two, and for a
/// rate that doubles (`tcp_rcvbuf_grow`).
pub fn room_to_read(old: u32, new: u32, rtt_us: u64) -> u64 {
    let (old, new) = (u64::from(old), u64::from(new));
    let room = 2 * new;
    room + match rtt_us < LOW_RTT_US {
        true => room * rtt_us / LOW_RTT_US,
        false => 2 * room * (new - old) / old,
    }
}

impl Window {
    fn new(overhead: u32, most: u32) -> Window {
        let mut window = Window {
            // Half of the buffer, with room for a segment (`tcp_init_buffer_space`).
            told: FIRST_BUFFER / 2 - MSS,
            clamp: 0,
            buffer: FIRST_BUFFER,
            ratio: (MSS << 8) / (MSS + overhead),
            overhead,
            most,
            // `tcp_select_initial_window`
            scale: (most.max(1).ilog2().saturating_sub(15)).min(14),
            end: u64::from(FIRST_BUFFER / 2 - MSS),
            space: 10 * MSS,
            from: 0,
            since: i64::MAX,
            until: u64::MAX,
            rtt: u64::MAX,
            echo: 0,
            full_at: 0,
            full_since_us: 0,
        };
        window.clamp = window.room(0, 0);
        window
    }

    /// What is left of it beside so many segments in so many buffers (`tcp_space`).
    #[inline]
    fn room(&self, segments: u32, buffers: u32) -> u32 {
        let taken = segments.saturating_mul(MSS).saturating_add(buffers.saturating_mul(self.overhead));
        ((u64::from(self.buffer.saturating_sub(taken)) * u64::from(self.ratio)) >> 8) as u32
    }

    /// A segment came in: two more may, if the buffer has room for them beside what it holds (`tcp_space`).
    #[inline]
    fn grow(&mut self, segments: u32, buffers: u32) -> bool {
        if self.told >= self.clamp {
            return false;
        }
        let room = self.clamp.min(self.room(segments, buffers));
        let grows = self.told < room;
        if grows {
            self.told = room.min(self.told + 2 * MSS);
        }
        grows
    }

    /// The smoothed round trip, eighths of us; 0: not known yet.
    fn known_rtt(&self) -> u64 {
        if self.rtt == u64::MAX { 0 } else { self.rtt }
    }

    /// A segment came, in order or not, with an echo of this end's clock (`tcp_rcv_rtt_measure_ts`, `tcp_rcv_rtt_update`): whole
    /// milliseconds.
    #[inline]
    fn measure(&mut self, at: u64, echo: u32) {
        if echo != self.echo {
            self.echo = echo;
            self.since = self.since.min(at as i64);
            let sample = u64::from(timestamp(at).wrapping_sub(echo)) * MS_EIGHTHS;
            if sample > 0 {
                self.rtt =
                    if sample < self.rtt { sample } else { self.rtt - (self.rtt >> 3) + (sample >> 3) };
            }
            self.time_round();
        }
    }

    /// The round began at `since` and takes a round trip, both in whole us (`tcp_rcv_space_adjust`).
    #[inline]
    fn time_round(&mut self) {
        if self.rtt != u64::MAX {
            let until_us = self.since.div_euclid(1000).saturating_add((self.rtt >> 3) as i64);
            self.until = (until_us.max(0) as u64).saturating_mul(1000);
        }
    }

    /// All before `next` came in order, and what is before `acked` was acknowledged: when that is a window full since the last time, it took a
    /// round trip or more (`tcp_rcv_rtt_measure`).
    #[inline]
    fn measure_full(&mut self, at: u64, next: u32, acked: u32) {
        if next < self.full_at {
            return;
        }
        let us = at / 1000;
        if self.full_since_us > 0 {
            let sample = (us - self.full_since_us).max(1) << 3;
            if sample < self.rtt {
                self.rtt = sample;
                self.time_round();
            }
        }
        // The window as it was told last (`rcv_wnd`).
        let told = self.end.saturating_sub(u64::from(acked) * u64::from(MSS)).div_ceil(u64::from(MSS)) as u32;
        (self.full_at, self.full_since_us) = (next.saturating_add(told), us);
    }

    /// All before `next` has been read, and so many segments behind it not yet.
    #[cold]
    fn end_round(&mut self, at: u64, next: u32, queued: u32, beyond: u32) {
        let bytes = (next - self.from).saturating_sub(queued).saturating_mul(MSS);
        if bytes > self.space {
            self.grow_buffer(bytes, beyond);
        }
        (self.from, self.since) = (next, at as i64);
        self.time_round();
    }

    /// `tcp_rcvbuf_grow`: room for two round trips of `space` bytes, and for a rate that doubles; and for what lies so many
    /// segments beyond a gap.
    fn grow_buffer(&mut self, space: u32, beyond: u32) {
        let room =
            room_to_read(self.space, space, self.known_rtt() >> 3) + u64::from(beyond) * u64::from(MSS);
        self.space = space;
        if room > u64::from(self.clamp) {
            let buffer = ((room << 8) / u64::from(self.ratio)).min(self.most.into()) as u32;
            if buffer > self.buffer {
                self.buffer = buffer;
                self.clamp = self.room(0, 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use queuewright_scenario::spec::{RMEM_BYTES, Stack};

    /// A segment.
    fn one(seq: u32) -> (u32, u32) {
        (seq, seq + 1)
    }

    const LINUX: &StackRules = &StackRules::LINUX;

    impl Receiver {
        /// A segment that is sent at `ts` for an acknowledgement that took half the base round trip.
        fn came(&mut self, at: u64, range: (u32, u32), ts: u32, flags: u8) -> Option<AckOut> {
            let half = (self.base_rtt_ns / 2_000_000) as u32;
            self.on_data(at, range, ts, ts.wrapping_sub(half), flags)
        }
    }

    /// A receiver of Linux to which `n` segments came in order, an hour ago, so that none is acknowledged out of haste; and
    /// whose window no longer grows.
    fn settled(n: u32) -> Receiver {
        let mut r = Receiver::new(LINUX, 40_000_000, Echo::Classic, OVERHEAD, RMEM_BYTES);
        r.window.buffer = u32::MAX;
        r.window.clamp = r.window.room(0, 0);
        r.window.told = r.window.clamp;
        for seq in 0..n {
            r.on_data(0, one(seq), 0, 0, 0);
        }
        r.quick_acks = 0;
        r
    }

    /// The round trip is a third of a millisecond longer than the empty path's, and both clocks of its samples count whole milliseconds:
    /// the smallest is 34 ms, so that each round ends with its first segment. Were the sample the time since the segment was sent,
    /// cut on one side only, it would be up to a millisecond too long, and a round would end in the midst of a burst.
    #[test]
    fn a_round_of_the_window_ends_with_the_first_segment_of_a_burst() {
        let mut r = Receiver::new(LINUX, 34_000_000, Echo::Classic, OVERHEAD, RMEM_BYTES);
        let (start, round, packet) = (900_000, 34_370_000, 370_000);
        r.begins(start as i64);
        let mut seq = 0;
        for burst in 0..8 {
            let sent = start + burst * round;
            let first = sent + 17_000_000 + packet;
            for i in 0..10 {
                r.came(first + i * packet, one(seq), (sent / 1_000_000) as u32, 0);
                seq += 1;
            }
            assert_eq!(r.window.since as u64, if burst == 0 { start } else { first }, "burst {burst}");
        }
    }

    #[test]
    fn acks_every_second_segment_after_the_first_sixteen() {
        let mut r = Receiver::new(LINUX, 40_000_000, Echo::Classic, OVERHEAD, RMEM_BYTES);
        r.window.clamp = r.window.told;
        let acks: Vec<bool> = (0..24).map(|i| r.came(i, one(i as u32), 0, 0).is_some()).collect();
        assert_eq!(acks[..16], [true; 16]);
        assert_eq!(acks[16..], [false, true, false, true, false, true, false, true]);
        // A lone segment waits ten ticks of 4 ms, the one under way not among them.
        assert!(r.came(100, one(24), 0, 0).is_none());
        assert_eq!(r.ack_at(), 44_000_000);
        assert_eq!(r.due(44_000_000).unwrap().cum, 25);
    }

    /// 64,088 bytes are told at first, 78,336 have room, less a segment's: that is five times two segments more at most.
    #[test]
    fn acks_each_segment_while_the_window_grows() {
        let mut r = Receiver::new(LINUX, 40_000_000, Echo::Classic, OVERHEAD, RMEM_BYTES);
        let quick = (0..60).filter(|i| r.came(1_000_000, one(*i), 1, 0).is_some()).count();
        // These five and 16 more; then every second of the 39 left.
        assert_eq!(quick, 5 + 16 + 19);
    }

    #[test]
    fn the_end_of_a_burst_is_told_at_once() {
        let mut r = settled(20);
        let acks: Vec<bool> = (20..29)
            .map(|i| r.came(1, one(i), 0, if i % 3 == 1 { flag::PUSH } else { 0 }).is_some())
            .collect();
        assert_eq!(acks, [false, true, true, false, true, true, false, true, true]);
    }

    #[test]
    fn a_pause_longer_than_the_timeout_makes_it_quick_again() {
        let mut r = settled(20);
        // 40 ms and 200 ms of timeout: 60 ticks.
        assert!(r.came(240_000_000, one(20), 240, 0).is_none());
        r.due(u64::MAX - 1);
        assert!(r.came(240_000_000 + 244_000_000, one(21), 484, 0).is_some());
        let acks: Vec<bool> = (22..40).map(|i| r.came(490_000_000, one(i), 490, 0).is_some()).collect();
        assert_eq!(acks[..15], [true; 15]);
        assert_eq!(acks[15..], [false, true, false]);
    }

    #[test]
    fn a_rhythm_slower_than_the_delay_makes_it_wait_longer() {
        let mut r = settled(20);
        // 32 ms apart: 10 -> 10/2 + 8 = 13 -> 14 -> 15 ticks; the round trip of 40 ms allows ten.
        for i in 0..4u32 {
            r.came(u64::from(i) * 32_000_000, one(20 + i), i * 32, 0);
        }
        assert_eq!((r.ato, r.delay_ticks()), (15, 10));
        r.base_rtt_ns = 100_000_000;
        assert_eq!(r.delay_ticks(), 15);
        // What came too late doubles it.
        r.came(4 * 32_000_000, one(24), 128, 0);
        assert!(r.due(u64::MAX - 1).is_some() && r.ato == 30, "{}", r.ato);
    }

    #[test]
    fn compresses_sacks_after_three() {
        let mut r = settled(20);
        let acks: Vec<bool> = (21..30).map(|i| r.came(1000, one(i), 0, 0).is_some()).collect();
        assert_eq!(acks, [true, true, true, false, false, false, false, false, false]);
        assert!(r.due(1_010_000).is_none());
        assert_eq!(r.due(1_011_000).unwrap().cum, 20);
        assert_eq!(r.blocks(), [(21, 30)]);
        // The hole filled is told at once, with everything.
        assert_eq!(r.came(2_000_000, one(20), 0, 0).unwrap().cum, 30);
        assert!(r.blocks().is_empty());
    }

    /// `__tcp_ack_snd_check`: what fills a part of a gap is told at once. Three ACKs go at once before the rest are compressed. That one is the
    /// first of them if the window has become narrower than it was told; if not, three more follow it.
    #[test]
    fn a_part_of_a_gap_is_one_of_three_while_the_window_shrinks() {
        let at_once = |part: u32| {
            let mut r = settled(20);
            r.window.clamp = r.window.room(0, 0) / part;
            r.window.told = r.window.clamp;
            r.window.end = 0;
            r.make_ack(1000);
            for seq in [21, 24, 25, 26, 27] {
                r.came(1000, one(seq), 0, 0);
            }
            assert_eq!(r.came(2000, one(20), 0, 0).map(|ack| ack.cum), Some(22));
            (0..5).filter(|i| r.came(3000, one(28 + i), 0, 0).is_some()).count()
        };
        // All that there is room for was told, or a fifth: no whole units of what windows are scaled by.
        assert_eq!([at_once(1), at_once(5)], [2, 3]);
    }

    /// `tcp_rcv_rtt_measure`: before the first sample of the round trip acknowledgements are not held to be put together, but for the
    /// timer's slack.
    #[test]
    fn nothing_is_compressed_before_a_round_trip_is_known() {
        let mut r = settled(20);
        for seq in 21..24 {
            r.came(1000, one(seq), 0, 0);
        }
        r.window.rtt = u64::MAX;
        assert!(r.on_data(1000, one(24), 0, 0, 0).is_none());
        assert_eq!(r.ack_at(), 1000 + COMPRESS_SLACK_NS);
    }

    /// `tcp_incr_quickack`: as many as pairs of segments have room in 40,000 bytes.
    #[test]
    fn a_narrow_window_makes_fewer_quick() {
        let quick = |bytes: u64| {
            let mut r = settled(20);
            r.window.end = u64::from(r.acked_to * MSS) + bytes;
            r.enter_quick(QUICK);
            r.quick_acks
        };
        assert_eq!([2000, 40_000, 64_000].map(quick), [2, 13, 16]);
    }

    /// `tcp_ofo_queue`: what lies behind a gap joins what came in order only if that reaches it. 20 before (22, 30) are ten segments: two
    /// buffers are not yet read, and one where it reaches them.
    #[test]
    fn a_segment_that_does_not_reach_the_first_behind_a_gap_is_a_buffer_more() {
        let told = |from: u32, to: u32| {
            let mut r = Receiver::new(LINUX, 40_000_000, Echo::Classic, OVERHEAD, RMEM_BYTES);
            (r.window.told, r.window.end) = (u32::MAX >> 1, 0);
            (r.rcv_nxt, r.acked_to) = (20, 20);
            r.came(1000, (from, to), 0, 0);
            (r.window.end, r.quick_acks) = (0, 1);
            let ack = r.came(1000, one(20), 0, 0);
            assert_eq!(ack.map(|a| a.cum), Some(if from == 21 { to } else { 21 }));
            r.window.end - u64::from(r.rcv_nxt) * u64::from(MSS)
        };
        let apart = told(22, 30);
        // Nine segments and as many bytes in one buffer: the pages are told when they have been read.
        assert_eq!(apart, {
            let w = Window::new(OVERHEAD, RMEM_BYTES);
            let unit = 1u64 << w.scale;
            u64::from(w.room(9, 2)).next_multiple_of(unit)
        });
        assert!(apart < told(21, 29));
    }

    /// `__tcp_select_window` ends on whole units of what windows are scaled by: that much is told twice 32,768 bytes again.
    #[test]
    fn twice_the_window_is_reckoned_in_whole_units() {
        let mut r = settled(20);
        (r.held, r.window.told, r.window.clamp) = (0, 65_500, 200_000);
        r.window.end = u64::from(r.rcv_nxt * MSS) + 32_768;
        r.reopen(5000);
        assert_eq!((r.reopens, r.ack_at), (true, 5000));
    }

    /// `tcp_validate_incoming` comes first: a copy that is too old lets no acknowledgement go and says nothing of marks.
    #[test]
    fn what_is_refused_says_nothing_of_marks() {
        let mut r = settled(20);
        for seq in [22, 25, 26] {
            r.came(1000, one(seq), 50, 0);
        }
        r.ts_recent = 50;
        r.compressed = 1;
        r.ack_at = 5000;
        let marked = flag::ECT | flag::CE;
        assert!(!r.goes_first(2000, one(28), 45, marked));
        assert_eq!(r.came(2000, one(28), 45, marked).map(|ack| ack.flags & flag::ECE), Some(0));
        assert!(r.due(u64::MAX - 1).is_none());
        // Nor where each mark is echoed (`dctcp_ece_ack_update`): the acknowledgement that waits goes by no change of marks.
        let mut r = Receiver::new(LINUX, 40_000_000, Echo::Each, OVERHEAD, RMEM_BYTES);
        (r.ato, r.window.clamp) = (ATO_MIN, 0);
        assert!(r.came(1, one(0), 50, flag::ECT).is_none());
        assert!(!r.goes_first(2, one(1), 45, marked) && r.goes_first(2, one(1), 50, marked));
    }

    #[test]
    fn a_third_block_is_told_before_a_fourth_comes() {
        let mut r = settled(20);
        let mut told = Vec::new();
        // Every other one is lost.
        for seq in (21..35).step_by(2) {
            if r.goes_first(1000, one(seq), 0, 0) {
                told.push(r.flush(1000));
            }
            told.extend(r.came(1000, one(seq), 0, 0));
        }
        // Three at once; then each second one more lets the one before it go, which is all that it does.
        assert_eq!(told.len(), 5, "{told:?}");
    }

    /// `tcp_sack_new_ofo_skb`: a duplicate puts its block first.
    #[test]
    fn a_duplicate_turns_the_blocks() {
        let mut r = settled(20);
        for seq in [22, 24, 26] {
            r.came(1000, one(seq), 0, 0);
        }
        assert_eq!(r.blocks(), [(26, 27), (24, 25), (22, 23)]);
        let ack = r.came(1000, one(24), 0, 0);
        assert_eq!(r.blocks(), [(24, 25), (26, 27), (22, 23)]);
        assert!(ack.is_none_or(|a| a.dsack == Some((24, 25))));
    }

    /// Four blocks are remembered; none comes back when those before it are filled (`tcp_sack_remove`).
    #[test]
    fn blocks_that_are_forgotten_stay_so() {
        let mut r = settled(20);
        for seq in [40, 22, 24, 26, 28] {
            r.came(1000, one(seq), 0, 0);
        }
        assert_eq!(r.blocks(), [(28, 29), (26, 27), (24, 25), (22, 23)]);
        for seq in [20, 21, 23, 25, 27] {
            r.came(1000, one(seq), 0, 0);
        }
        assert_eq!((r.rcv_nxt, r.blocks().len(), r.behind.as_slice()), (29, 0, &[(40, 41)][..]));
    }

    /// PAWS (`tcp_validate_incoming`): a segment that was sent before the one that filled the gap is refused, though it is new.
    #[test]
    fn what_is_older_than_what_was_acknowledged_is_refused() {
        let mut r = settled(20);
        r.came(1000, one(21), 50, 0);
        r.came(2000, one(20), 90, 0);
        assert_eq!((r.rcv_nxt, r.ts_recent), (22, 90));
        let ack = r.came(3000, one(22), 52, 0).unwrap();
        assert_eq!((ack.cum, ack.dsack, r.rcv_nxt), (22, None, 22));
        // One that had come is told of as a duplicate.
        let ack = r.came(3000, one(21), 52, 0).unwrap();
        assert_eq!((ack.cum, ack.dsack), (22, Some((21, 22))));
        assert_eq!(r.came(4000, one(22), 91, 0).map(|a| a.cum), Some(23));
    }

    /// `TCP_PAWS_WINDOW`: a segment may be a millisecond older than what was acknowledged.
    #[test]
    fn what_is_older_by_a_millisecond_is_taken() {
        let mut r = settled(20);
        r.came(1000, one(20), 90, 0);
        r.came(2000, one(21), 90, 0);
        assert_eq!(r.came(3000, one(22), 89, 0).map(|a| a.cum), None);
        assert_eq!((r.rcv_nxt, r.ts_recent), (23, 90));
    }

    /// `tcp_send_dupack`: what lies below the last acknowledgement is told of at once, and takes none of those that are sent at once.
    #[test]
    fn a_duplicate_from_before_the_last_acknowledgement_costs_no_quick_one() {
        let mut r = settled(20);
        assert_eq!(r.came(1000, one(3), 0, 0).and_then(|a| a.dsack), Some((3, 4)));
        assert_eq!(r.quick_acks, QUICK);
        // The last one acknowledged is dropped later (`tcp_data_queue`), and its acknowledgement is one that was called for.
        assert_eq!(r.came(1000, one(19), 0, 0).and_then(|a| a.dsack), Some((19, 20)));
        assert_eq!(r.quick_acks, QUICK - 1);
    }

    /// A flow whose first segments echo 0, as its SYN was answered in the first millisecond: its round begins with the first other
    /// echo, though that is no sample, as no whole millisecond has passed.
    #[test]
    fn a_round_begins_with_an_echo_of_this_very_millisecond() {
        let mut r = Receiver::new(LINUX, 200_000, Echo::Classic, OVERHEAD, RMEM_BYTES);
        for seq in 0..200 {
            let at = 100_000 + u64::from(seq) * 10_000;
            r.on_data(at, one(seq), timestamp(at), timestamp(at), 0);
        }
        assert!(r.window.known_rtt() > 0, "measured by a window full");
        assert!(r.window.until < 10_000_000, "{}", r.window.until);
    }

    /// `tcp_rcv_rtt_measure_ts` comes before `tcp_data_queue`.
    #[test]
    fn segments_out_of_order_are_samples_of_the_round_trip() {
        let mut r = settled(20);
        r.came(50_000_000, one(22), 40, 0);
        assert_eq!(r.window.rtt, 30 * MS_EIGHTHS, "of the first, at once");
        r.came(80_000_000, one(24), 50, 0);
        assert_eq!(r.window.rtt, (30_000 - 3_750) * 8 + 50_000);
    }

    /// `dctcp_ece_ack_update`, `tcp_ecn_accept_cwr`: two acknowledgements tell of a change, both with the timestamp from before it;
    /// CWR ends the echo, on a duplicate too; and what cannot be marked says nothing of marks.
    #[test]
    fn a_change_of_marks_is_told_twice() {
        let mut r = Receiver::new(LINUX, 40_000_000, Echo::Each, OVERHEAD, RMEM_BYTES);
        (r.ato, r.window.clamp) = (ATO_MIN, 0);
        assert!(r.came(1, one(0), 7, flag::ECT).is_none());
        assert!(r.goes_first(2, one(1), 9, flag::ECT | flag::CE));
        let first = r.flush(2);
        let then = r.came(2, one(1), 9, flag::ECT | flag::CE).unwrap();
        assert_eq!((first.cum, first.ts, first.flags), (1, 7, 0));
        assert_eq!((then.cum, then.ts, then.flags), (2, 7, flag::ECE));
        assert_eq!(r.came(3, one(1), 9, flag::ECT | flag::CWR).map(|a| a.flags), Some(0));
        (r.quick_acks, r.ect_seen) = (0, false);
        assert!(r.came(4, one(2), 9, 0).is_none() && r.marked);
        assert!(!r.goes_first(4, one(3), 9, 0));
    }

    /// "Ping-pong" mode: the ACK waits for the answer (`tcp_in_quickack_mode`), and leaves with it.
    #[test]
    fn who_answers_acknowledges_with_the_answer() {
        let mut r = Receiver::new(LINUX, 40_000_000, Echo::Classic, OVERHEAD, RMEM_BYTES);
        assert!(r.came(0, one(0), 0, 0).is_some());
        assert_eq!(r.answers(1_000_000).cum, 1);
        assert!(r.came(2_000_000, one(1), 2, flag::PUSH).is_none());
        assert_eq!((r.answers(3_000_000).cum, r.ack_at()), (2, u64::MAX));
        // None came in time: no more answers are expected.
        assert!(r.came(4_000_000, one(2), 4, 0).is_none());
        assert!(r.due(u64::MAX - 1).is_some());
        assert!(r.came(90_000_000, one(3), 90, 0).is_some());
    }

    /// `tcp_dec_quickack_mode`: what carries no ACK that was due uses up none of the quick ones.
    #[test]
    fn an_answer_to_nothing_is_no_quick_ack() {
        let mut r = Receiver::new(LINUX, 40_000_000, Echo::Classic, OVERHEAD, RMEM_BYTES);
        assert!(r.came(0, one(0), 0, 0).is_some());
        let left = r.quick_acks;
        assert!(left > 1);
        // Its ping-pong begins only after it (`tcp_event_data_sent`).
        assert_eq!(r.answers(1_000_000).cum, 1);
        assert_eq!((r.quick_acks, r.pingpong), (left, true));
        assert_eq!(r.tell(2_000_000).cum, 1);
        assert_eq!(r.quick_acks, left);
    }

    /// RFC 8257 section 3.2: an ACK answers segments of one CE state only, and says which.
    #[test]
    fn echoes_each_mark() {
        let mut r = Receiver::new(LINUX, 40_000_000, Echo::Each, OVERHEAD, RMEM_BYTES);
        (r.ato, r.window.clamp) = (ATO_MIN, 0);
        let mut told = Vec::new();
        let marks = [0, 0, 0, 1, 1, 1, 1, 0, 1, 0, 0, 0, 0, 1, 1];
        for (i, ce) in marks.into_iter().enumerate() {
            let flags = flag::ECT | (ce * flag::CE);
            if r.goes_first(i as u64, one(i as u32), 0, flags) {
                told.push(r.flush(i as u64));
            }
            told.extend(r.came(i as u64, one(i as u32), 0, flags));
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
        /// Whatever the order, the buffers and the left edge say exactly what arrived.
        #[test]
        fn holds_what_arrived(order in proptest::collection::vec(0u32..60, 1..200)) {
            let mut r = Receiver::new(StackRules::of(Stack::Ns3), 0, Echo::Classic, OVERHEAD, RMEM_BYTES);
            let mut have = [false; 60];
            for (i, seq) in order.into_iter().enumerate() {
                let dup = have[seq as usize];
                let ack = r.came(i as u64, one(seq), 0, 0);
                have[seq as usize] = true;
                let edge = have.iter().position(|h| !h).unwrap_or(60) as u32;
                prop_assert_eq!(r.rcv_nxt, edge);
                if let Some(ack) = ack { prop_assert_eq!(ack.dsack.is_some(), dup); }
                let mut said = [false; 60];
                for (lo, hi) in &r.behind { for s in *lo..*hi { said[s as usize] = true } }
                for s in 0..60u32 { prop_assert_eq!(said[s as usize], have[s as usize] && s >= edge); }
                for b in r.blocks() { prop_assert!((b.0..b.1).all(|s| said[s as usize]), "{:?} {:?}", b, r.behind); }
            }
        }

        /// As long as no ACK is lost, three blocks each tell of all that arrived before the last of them, whatever is forgotten.
        #[test]
        fn tells_of_all_that_arrived(order in proptest::collection::vec(1u32..40, 1..200)) {
            let mut r = settled(0);
            let (mut told, mut have, mut at_last) = ([false; 40], [false; 40], [false; 40]);
            let tell = |r: &Receiver, ack: AckOut, told: &mut [bool; 40]| {
                let blocks = ack.dsack.iter().chain(r.blocks()).take(MAX_SACKS);
                for s in (0..ack.cum).chain(blocks.flat_map(|b| b.0..b.1)) {
                    told[s as usize] = true;
                }
            };
            for (i, seq) in order.into_iter().enumerate() {
                let at = 1000 + i as u64;
                if r.goes_first(at, one(seq), 0, 0) {
                    let ack = r.flush(at);
                    tell(&r, ack, &mut told);
                    at_last = have;
                }
                have[seq as usize] = true;
                if let Some(ack) = r.came(at, one(seq), 0, 0) {
                    tell(&r, ack, &mut told);
                    at_last = have;
                }
            }
            if let Some(ack) = r.due(u64::MAX - 1) {
                tell(&r, ack, &mut told);
                at_last = have;
            }
            for s in 0..40 { prop_assert!(told[s] || !at_last[s], "{}", s); }
        }
    }
}
