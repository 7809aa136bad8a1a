//! The receiving half of Linux's TCP, byte for byte: segments of any size, an application that reads when it likes, the memory that both
//! take, and the window that follows from it.
//!
//! Each function is the kernel's of the name that it gives (`net/ipv4/tcp_input.c`, `tcp_output.c`, `tcp_timer.c`, `tcp.c` of Linux 7.2).
//! [`crate::receiver`] is the same for whole segments and a reader that takes all at once, which is what the simulator's runs
//! need; a test here has both say the same. Left out: the copying together of what is queued when memory has run out (`tcp_collapse`).

use crate::blocks::SackBlocks;
use crate::jiffies::timestamp;
use crate::packet::flag;
use crate::receiver::{
    COMPRESS_LIMIT, Counted, DUP_ACKS_AT_ONCE, Echo, PIECES, QUICK, compress_ns, room_to_read,
};
use crate::room::{Device, LEAST_CLAMP, ReceiveBuffer};
use crate::segment::{Ack, Dropped, Segment};
use crate::sender::StackRules;
use queuewright_cca::Clock;
use std::collections::VecDeque;

/// What a full segment has, as long as none was seen (`TCP_MSS_DEFAULT`).
const MSS_DEFAULT: u32 = 536;
/// `TCP_MIN_MSS`
const MSS_LEAST: u32 = 88;
/// What a timestamp takes of TCP's header.
const TIMESTAMP_BYTES: u32 = 12;
/// Of how many bytes the payload may be copied beside the headers (`skb_condense`, `skb_tailroom`).
const BESIDE: u32 = 190;

/// What waits in a queue (`sk_buff`).
#[derive(Debug, Clone, Copy)]
struct Buffer {
    seq: u32,
    /// One past its last byte, the FIN among them.
    end: u32,
    fin: bool,
    /// Bytes that it takes (`truesize`).
    takes: u32,
    /// Pieces of its payload, and how many bytes of it lie beside the headers.
    pieces: u32,
    beside: u32,
    /// How many bytes of a later one may be copied behind its own (`skb_tailroom`).
    free: u32,
}

/// A receiver. Fields are named as the kernel's; times in ns, if not said otherwise.
#[derive(Debug)]
pub struct Socket {
    echo: Echo,
    pub(crate) sack: bool,
    device: Device,
    /// The device's buffer for a segment without payload (bytes).
    overhead: u32,
    /// What the peer may send in a segment (`advmss`), the scale of the windows, the most that the buffer grows to, and whether it is
    /// as large as the application wants it (`SOCK_RCVBUF_LOCK`).
    mss: u32,
    scale: u32,
    most: u32,
    locked: bool,
    srtt_us: u32,
    clock: Clock,
    now: u64,

    pub(crate) rcv_nxt: u32,
    pub(crate) rcv_wup: u32,
    copied_seq: u32,
    rcv_wnd: u32,
    /// The furthest byte that was ever offered (`rcv_mwnd_seq`).
    offered: u32,
    pub(crate) rcv_ssthresh: u32,
    window_clamp: u32,
    scaling_ratio: u32,
    pub(crate) rcvbuf: u32,
    rmem_alloc: u32,

    /// `rcvq_space`; the time in us.
    space: u32,
    space_seq: u32,
    space_us: u64,
    /// `rcv_rtt_est`: eighths of us; 0: not known. Until which byte and since when (us; 0: not yet) another one is measured.
    rtt: u64,
    rtt_seq: u32,
    rtt_since_us: u64,
    last_echo: Option<u32>,

    pub(crate) rcv_mss: u32,
    last_seg_size: u32,
    quick: u32,
    pingpong: bool,
    ato: u32,
    /// When data came last (ticks).
    lrcvtime: u32,
    /// `icsk_ack.pending`
    scheduled: bool,
    timer: bool,
    pushed: u8,
    at_once: bool,
    no_memory: bool,
    /// When the delayed acknowledgement is due (ticks), and when the timer fires; the timer is not stopped when the acknowledgement goes.
    timeout: u64,
    timer_at: u64,

    compressed: u32,
    compressed_nxt: u32,
    dup_acks: u32,
    kick_at: u64,

    ts_recent: u32,
    dsack: Option<(u32, u32)>,
    blocks: SackBlocks,
    ect_seen: bool,
    demand_cwr: bool,
    /// DCTCP's: the last mark, and what was expected before it.
    marked: bool,
    prior_nxt: u32,
    /// AccECN's.
    counted: Counted,

    /// A reader has it (`sk_socket`): else its buffer grows for nothing that is out of order.
    pub(crate) accepted: bool,
    /// `tcp_shrink_window`
    pub(crate) shrinks: bool,
    /// What was not taken, and why.
    pub(crate) dropped: Dropped,

    /// `sk_receive_queue`, `out_of_order_queue`
    queue: VecDeque<Buffer>,
    beyond: Vec<Buffer>,
    out: Vec<(u64, Ack)>,
}

impl Socket {
    /// One whose connection opens at `at`, with a handshake that took so long.
    pub fn new(at: u64, rtt_ns: u64, echo: Echo, device: Device, room: ReceiveBuffer) -> Socket {
        let (overhead, mss) = (device.takes(0, 0).0, room.mss);
        // `tcp_init_buffer_space`: half of the buffer, and room for a segment.
        let rcv_wnd = room.first_window();
        let all = room.first / 2;
        let mut window = room.clamp().min(all);
        if window > 2 * mss && window + mss > all {
            window = (2 * mss).max(all - mss);
        }
        let rcv_ssthresh = rcv_wnd.min(window);
        Socket {
            echo,
            sack: true,
            device,
            overhead,
            mss,
            scale: room.scale(),
            most: room.most,
            locked: room.locked,
            srtt_us: (rtt_ns / 1000) as u32,
            clock: Clock::default(),
            now: at,
            rcv_nxt: 0,
            rcv_wup: 0,
            copied_seq: 0,
            rcv_wnd,
            offered: rcv_wnd,
            rcv_ssthresh,
            window_clamp: window,
            scaling_ratio: 128,
            rcvbuf: room.first,
            rmem_alloc: 0,
            space: rcv_ssthresh.min(rcv_wnd).min(10 * mss),
            space_seq: 0,
            space_us: at / 1000,
            rtt: 0,
            rtt_seq: 0,
            rtt_since_us: 0,
            last_echo: None,
            // `tcp_initialize_rcv_mss`
            rcv_mss: mss.min(rcv_wnd / 2).clamp(MSS_LEAST, MSS_DEFAULT),
            last_seg_size: 0,
            quick: 0,
            pingpong: false,
            ato: 0,
            lrcvtime: Clock::default().jiffies(at),
            scheduled: false,
            timer: false,
            pushed: 0,
            at_once: false,
            no_memory: false,
            timeout: 0,
            timer_at: u64::MAX,
            compressed: 0,
            compressed_nxt: 0,
            dup_acks: 0,
            kick_at: u64::MAX,
            ts_recent: 0,
            dsack: None,
            blocks: SackBlocks::default(),
            ect_seen: false,
            demand_cwr: false,
            marked: false,
            prior_nxt: 0,
            counted: Counted::default(),
            accepted: true,
            shrinks: false,
            dropped: Dropped::default(),
            queue: VecDeque::new(),
            beyond: Vec::new(),
            out: Vec::new(),
        }
    }

    /// Its host's clock is another.
    pub fn set_clock(&mut self, clock: Clock) {
        self.clock = clock;
        self.lrcvtime = self.clock.jiffies(self.now);
    }

    /// `TCP_ATO_MIN`, `TCP_DELACK_MAX` (ticks).
    fn least_delay(&self) -> u32 {
        self.clock.hz() / 25
    }

    fn most_delay(&self) -> u32 {
        self.clock.hz() / 5
    }

    /// The last timestamp of the handshake.
    pub fn heard(&mut self, ts: u32) {
        self.ts_recent = ts;
    }

    /// When a timer fires that may send.
    pub fn next_at(&self) -> u64 {
        let delayed = if self.timer || self.compressed > 0 { self.timer_at } else { u64::MAX };
        delayed.min(self.kick_at)
    }

    /// The next of the timers fires, if it is due by `to`. Did one?
    pub fn step(&mut self, to: u64) -> bool {
        let at = self.next_at();
        if at > to {
            return false;
        }
        self.now = self.now.max(at);
        if self.kick_at <= at {
            // `tcp_compressed_ack_kick`
            self.kick_at = u64::MAX;
            if self.compressed > 0 {
                self.send_ack();
            }
        } else {
            self.timer_at = u64::MAX;
            self.delayed();
        }
        true
    }

    /// `tcp_delack_timer_handler`
    fn delayed(&mut self) {
        if self.compressed > 0 {
            self.send_ack();
            return;
        }
        self.timer = false;
        if self.scheduled {
            if self.pingpong {
                self.pingpong = false;
                self.ato = self.least_delay();
            } else {
                self.ato = (self.ato << 1).min(self.rto_ticks()).min(self.most_delay());
            }
            self.send_ack();
        }
    }

    /// The acknowledgements made since it was last asked.
    pub fn take(&mut self) -> std::vec::Drain<'_, (u64, Ack)> {
        self.out.drain(..)
    }

    /// A segment comes (`tcp_rcv_established`). `of`: bytes of the segments that it is put together of.
    pub fn segment(&mut self, at: u64, s: Segment, of: Option<u32>) {
        self.now = self.now.max(at);
        if !self.timer && self.timer_at <= at {
            // It has fired for nothing.
            self.timer_at = u64::MAX;
        }
        let (seq, end) = (s.seq, s.seq.saturating_add(s.len));
        // `tcp_paws_check` (`TCP_PAWS_WINDOW`), and `tcp_sequence`
        if s.ts != 0 && s.ts.saturating_add(1) < self.ts_recent {
            return self.send_dupack(seq, end);
        }
        let room_to = self.room_to();
        // A FIN may lie beyond the window as long as no data do.
        let beyond = end - u32::from(s.fin) > room_to && !self.queue.is_empty();
        if end < self.rcv_wup {
            return self.send_dupack(seq, end);
        }
        if end > room_to && (seq > room_to || beyond) {
            self.dropped.beyond_window += 1;
            return self.send_dupack(seq, end);
        }
        // `tcp_ack`: `tcp_replace_ts_recent`, `tcp_ecn_accept_cwr`
        if seq <= self.rcv_wup {
            self.ts_recent = self.ts_recent.max(s.ts);
        }
        if self.echo == Echo::Accurate {
            let bits = if s.ect { flag::ECT | flag::ECT1 } else { 0 } | if s.ce { flag::CE } else { 0 };
            self.at_once |= self.counted.see(bits);
        } else if s.cwr {
            self.demand_cwr = false;
            self.at_once = true;
        }
        self.measure_rtt_ts(s.echo, s.len);
        self.data_queue(s, (seq, end), of);
        if self.scheduled {
            self.ack_snd_check();
        }
    }

    /// One past the furthest byte that was ever offered, or came (`tcp_max_receive_window`).
    pub fn room_to(&self) -> u32 {
        self.offered.max(self.rcv_nxt)
    }

    /// The furthest byte that its SACK blocks tell of.
    pub fn sacked_to(&self) -> Option<u32> {
        self.blocks.get().iter().map(|b| b.1).max()
    }

    /// `tcp_send_dupack`
    fn send_dupack(&mut self, seq: u32, end: u32) {
        if seq < self.rcv_nxt {
            self.enter_quickack(QUICK);
            self.dsack = Some((seq, end.min(self.rcv_nxt)));
        }
        self.send_ack();
    }

    /// `tcp_data_queue`
    fn data_queue(&mut self, s: Segment, (seq, end): (u32, u32), of: Option<u32>) {
        self.dsack = None;
        let window = self.receive_window();
        if seq <= self.rcv_nxt && end > self.rcv_nxt {
            if seq < self.rcv_nxt {
                self.dsack = Some((seq, self.rcv_nxt));
            }
            let bare_fin = s.fin && s.len == 1;
            if window == 0 && !(bare_fin && seq == self.rcv_nxt) {
                self.dropped.zero_window += 1;
                return self.out_of_window();
            }
            if !self.has_memory(seq) {
                (self.no_memory, self.at_once, self.scheduled) = (true, true, true);
                if !self.queue.is_empty() && !bare_fin {
                    self.dropped.no_memory += 1;
                    return;
                }
            }
            self.queue_rcv(self.buffer(s, (seq, end)), true);
            if !bare_fin {
                self.data_received(s, of);
            }
            if s.fin {
                return self.fin();
            }
            if !self.beyond.is_empty() {
                self.fill();
                self.at_once |= self.beyond.is_empty();
            }
            match self.beyond.is_empty() {
                true => self.blocks.clear(),
                false => self.blocks.remove_to(self.rcv_nxt),
            }
        } else if end <= self.rcv_nxt {
            self.dsack = Some((seq, end));
            self.out_of_window();
        } else if seq >= self.rcv_nxt + window {
            self.dropped.beyond_window += 1;
            self.out_of_window();
        } else {
            self.data_queue_ofo(s, (seq, end), of);
        }
    }

    fn out_of_window(&mut self) {
        self.enter_quickack(QUICK);
        self.scheduled = true;
    }

    fn buffer(&self, s: Segment, (seq, end): (u32, u32)) -> Buffer {
        let payload = s.len - u32::from(s.fin);
        let (takes, free) = self.device.takes(payload, s.ts);
        let pieces = if self.device == Device::Tun { PIECES + 1 } else { u32::from(payload > 0) };
        Buffer { seq, end, fin: s.fin, takes, pieces, beside: 0, free }
    }

    /// `tcp_fin`
    fn fin(&mut self) {
        self.scheduled = true;
        self.pingpong = true;
        self.dsack = None;
        for b in self.beyond.drain(..) {
            self.rmem_alloc -= b.takes;
        }
        self.blocks.clear();
    }

    /// `tcp_queue_rcv`; `tcp_ofo_queue` for what has its memory already.
    fn queue_rcv(&mut self, b: Buffer, new: bool) {
        self.rcv_nxt = b.end;
        let more = match self.queue.back_mut() {
            Some(tail) => coalesce(tail, b, self.overhead),
            None => None,
        };
        match (more, new) {
            (Some(more), true) => self.rmem_alloc += more,
            (Some(more), false) => self.rmem_alloc = self.rmem_alloc + more - b.takes,
            (None, _) => {
                if new {
                    self.rmem_alloc += b.takes;
                }
                self.queue.push_back(b);
            }
        }
    }

    /// `tcp_event_data_recv`
    fn data_received(&mut self, s: Segment, of: Option<u32>) {
        self.scheduled = true;
        self.measure_mss(s, of);
        self.measure_rtt();
        let now = self.clock.jiffies(self.now);
        let least = self.least_delay();
        let gap = now.wrapping_sub(self.lrcvtime);
        if self.ato == 0 {
            self.more_quick(QUICK);
            self.ato = least;
        } else if gap <= least / 2 {
            self.ato = (self.ato >> 1) + least / 2;
        } else if gap < self.ato {
            self.ato = ((self.ato >> 1) + gap).min(self.rto_ticks()).min(self.most_delay());
        } else if gap > self.rto_ticks() {
            self.more_quick(QUICK);
        }
        self.lrcvtime = now;
        self.check_ecn(s);
        let payload = s.len - u32::from(s.fin);
        if payload >= 128 {
            // `truesize_adjust`: where the payload is in pieces the head does not count.
            let takes = if self.device == Device::Tun { self.device.takes(payload, s.ts).0 } else { payload };
            self.grow_window(payload, takes);
        }
    }

    /// `tcp_measure_rcv_mss`
    fn measure_mss(&mut self, s: Segment, of: Option<u32>) {
        let payload = s.len - u32::from(s.fin);
        let length = of.unwrap_or(payload);
        let last = std::mem::take(&mut self.last_seg_size);
        if length >= self.rcv_mss {
            if length != self.rcv_mss {
                let ratio = ((payload << 8) / self.device.takes(payload, s.ts).0).clamp(1, 255);
                if ratio != self.scaling_ratio {
                    self.scaling_ratio = ratio;
                    self.window_clamp = self.window_of(self.rcvbuf.into()) as u32;
                    self.space = self.space.min(self.window_clamp);
                }
            }
            self.rcv_mss = length.min(self.mss);
            self.pushed = self.pushed.max(u8::from(s.push));
            return;
        }
        // With TCP's header it has at least as much as those and a header without options.
        let with_options = length + if s.ts != 0 { TIMESTAMP_BYTES } else { 0 };
        if with_options >= MSS_DEFAULT || (with_options >= MSS_LEAST && !s.push && !s.fin) {
            self.last_seg_size = length;
            if length == last {
                self.rcv_mss = length;
                return;
            }
        }
        self.pushed = if self.pushed > 0 { 2 } else { 1 };
    }

    /// `tcp_rcv_rtt_measure`
    fn measure_rtt(&mut self) {
        let now = self.now / 1000;
        if self.rtt_since_us > 0 {
            if self.rcv_nxt < self.rtt_seq {
                return;
            }
            let sample = (now - self.rtt_since_us).max(1);
            if self.rtt == 0 || sample << 3 < self.rtt {
                self.rtt = sample << 3;
            }
        }
        self.rtt_seq = self.rcv_nxt + self.rcv_wnd;
        self.rtt_since_us = now;
    }

    /// `tcp_rcv_rtt_measure_ts`
    fn measure_rtt_ts(&mut self, echo: Option<u32>, length: u32) {
        if echo == self.last_echo {
            return;
        }
        self.last_echo = echo;
        let Some(echo) = echo else { return };
        let ms = u64::from(timestamp(self.now).wrapping_sub(echo));
        if length < self.rcv_mss || ms == 0 || ms >= 1 << 21 {
            return;
        }
        let sample = ms * 1000;
        if self.rtt == 0 || sample << 3 < self.rtt {
            self.rtt = sample << 3;
        } else if self.rcv_nxt == self.copied_seq {
            self.rtt = self.rtt - (self.rtt >> 3) + sample;
        }
    }

    /// `tcp_data_ecn_check`
    fn check_ecn(&mut self, s: Segment) {
        if !s.ect {
            if self.ect_seen {
                self.enter_quickack(2);
            }
            return;
        }
        if self.echo == Echo::Each {
            self.mark(s.ce);
        }
        if s.ce && !self.demand_cwr && self.echo != Echo::Accurate {
            self.enter_quickack(2);
            self.demand_cwr = true;
        }
        self.ect_seen = true;
    }

    /// `dctcp_ece_ack_update`
    fn mark(&mut self, ce: bool) {
        if self.marked != ce {
            if self.timer {
                self.demand_cwr = self.marked;
                self.send_ack_of(self.prior_nxt);
            }
            self.at_once = true;
        }
        self.prior_nxt = self.rcv_nxt;
        self.marked = ce;
        self.demand_cwr = ce;
    }

    /// `tcp_data_queue_ofo`
    fn data_queue_ofo(&mut self, s: Segment, (seq, end): (u32, u32), of: Option<u32>) {
        self.check_ecn(s);
        if !self.has_memory(seq) {
            return;
        }
        self.measure_mss(s, of);
        self.scheduled = true;
        let new = self.buffer(s, (seq, end));
        let payload = s.len - u32::from(s.fin);
        if self.beyond.is_empty() {
            self.blocks.clear();
            self.blocks.add((seq, end));
            self.insert_at(0, new, payload);
        } else {
            self.insert(new, payload);
        }
        if self.accepted {
            self.grow_buffer(self.space);
        }
    }

    fn insert(&mut self, new: Buffer, payload: u32) {
        let (seq, end) = (new.seq, new.end);
        // The last that begins not above it.
        let at = self.beyond.partition_point(|b| b.seq <= seq);
        let mut place = at;
        if let Some(before) = at.checked_sub(1) {
            let b = self.beyond[before];
            if seq < b.end {
                if end <= b.end {
                    self.dsack = Some((seq, end));
                    return self.sack(seq, end);
                }
                if seq > b.seq {
                    self.dsack = Some((seq, b.end));
                } else {
                    self.extend_dsack(b.seq, b.end);
                    self.rmem_alloc -= b.takes;
                    self.beyond.remove(before);
                    place = before;
                }
            } else if let Some(more) = coalesce(&mut self.beyond[before], new, self.overhead) {
                self.rmem_alloc += more;
                self.grow_beyond(payload, payload);
                return self.sack(seq, end);
            }
        }
        // What it covers goes (`merge_right`).
        while let Some(&b) = self.beyond.get(place).filter(|b| b.seq < end) {
            self.extend_dsack(b.seq, end.min(b.end));
            if end < b.end {
                break;
            }
            self.rmem_alloc -= b.takes;
            self.beyond.remove(place);
        }
        self.sack(seq, end);
        self.insert_at(place, new, payload);
    }

    fn insert_at(&mut self, place: usize, mut new: Buffer, payload: u32) {
        // The room that it takes is not yet counted, nor is it smaller for what it may be put together with.
        self.grow_beyond(payload, new.takes);
        if payload <= BESIDE && self.device != Device::Tun {
            (new.takes, new.pieces, new.beside) = (self.overhead, 0, payload);
        }
        self.rmem_alloc += new.takes;
        self.beyond.insert(place, new);
    }

    /// Without SACK another window would hide a duplicate (`tcp_data_queue_ofo`).
    fn grow_beyond(&mut self, payload: u32, takes: u32) {
        if self.sack {
            self.grow_window(payload, takes);
        }
    }

    /// `tcp_sack_new_ofo_skb`
    fn sack(&mut self, seq: u32, end: u32) {
        if self.compressed > 0 && self.blocks.hides((seq, end)) {
            self.send_ack();
        }
        self.blocks.add((seq, end));
    }

    /// `tcp_dsack_extend`
    fn extend_dsack(&mut self, from: u32, to: u32) {
        match &mut self.dsack {
            None => self.dsack = Some((from, to)),
            Some(told) => {
                SackBlocks::extend(told, (from, to));
            }
        }
    }

    /// `tcp_ofo_queue`
    fn fill(&mut self) {
        let came = self.rcv_nxt;
        while let Some(&b) = self.beyond.first().filter(|b| b.seq <= self.rcv_nxt) {
            if b.seq < came {
                self.extend_dsack(b.seq, b.end.min(came));
            }
            self.beyond.remove(0);
            if b.end <= self.rcv_nxt {
                self.rmem_alloc -= b.takes;
                continue;
            }
            self.queue_rcv(b, false);
            if b.fin {
                return self.fin();
            }
        }
    }

    /// `tcp_grow_window`: so much payload came, in so many bytes.
    fn grow_window(&mut self, payload: u32, takes: u32) {
        let room = i64::from(self.window_clamp).min(self.space_left()) - i64::from(self.rcv_ssthresh);
        if room <= 0 {
            return;
        }
        let grows = match self.window_of(takes.into()) <= i64::from(payload) {
            true => 2 * self.mss,
            false => self.grows_slowly(payload, takes),
        };
        if grows > 0 {
            self.rcv_ssthresh += (room as u32).min(grows.max(2 * payload));
            self.quick |= 1;
        }
    }

    /// `__tcp_grow_window`
    fn grows_slowly(&self, payload: u32, takes: u32) -> u32 {
        let mut takes = self.window_of(takes.into()) >> 1;
        let mut window = self.window_of(self.most.into()) >> 1;
        while i64::from(self.rcv_ssthresh) <= window {
            if takes <= i64::from(payload) {
                return 2 * self.rcv_mss;
            }
            takes >>= 1;
            window >>= 1;
        }
        0
    }

    /// `tcp_try_rmem_schedule`: `tcp_can_ingest`, else `tcp_clamp_window`, and what is out of order and lies above goes
    /// (`tcp_prune_ofo_queue`).
    fn has_memory(&mut self, seq: u32) -> bool {
        if self.rmem_alloc <= self.rcvbuf {
            return true;
        }
        self.quick = 0;
        if self.rcvbuf < self.most && !self.locked {
            self.rcvbuf = self.rmem_alloc.min(self.most);
        }
        if self.rmem_alloc <= self.rcvbuf {
            return true;
        }
        self.rcv_ssthresh = self.window_clamp.min(2 * self.mss);
        self.prune_beyond(seq);
        self.rmem_alloc <= self.rcvbuf
    }

    /// `tcp_prune_ofo_queue`: of what lies above, the furthest first, an eighth of the buffer goes, and as much again as long as there is
    /// no room.
    fn prune_beyond(&mut self, seq: u32) {
        let portion = i64::from(self.rcvbuf >> 3);
        let (mut left, mut pruned) = (portion, false);
        while let Some(b) = self.beyond.pop_if(|b| seq <= b.seq) {
            self.rmem_alloc -= b.takes;
            pruned = true;
            left -= i64::from(b.takes);
            if left <= 0 || self.beyond.is_empty() {
                if self.rmem_alloc <= self.rcvbuf {
                    break;
                }
                left = portion;
            }
        }
        if pruned {
            // `tcp_sack_reset`
            self.dsack = None;
            self.blocks.clear();
        }
    }

    /// `tcp_rcvbuf_grow`
    fn grow_buffer(&mut self, space: u32) {
        if self.locked {
            self.space = space;
            return;
        }
        let room = room_to_read(self.space, space, self.rtt >> 3);
        self.space = space;
        let beyond = self.beyond.last().map_or(0, |b| b.end - self.rcv_nxt);
        let room = room + u64::from(beyond);
        let buffer = ((room << 8) / u64::from(self.scaling_ratio)).min(self.most.into()) as u32;
        if buffer > self.rcvbuf {
            self.rcvbuf = buffer;
            self.window_clamp = self.window_of(buffer.into()) as u32;
        }
    }

    /// The application wants a buffer of that size (`SO_RCVBUF`, which the kernel doubles before).
    pub fn set_buffer(&mut self, bytes: u32) {
        (self.rcvbuf, self.locked) = (bytes, true);
    }

    /// The application wants a window no wider than that, above 0 (`TCP_WINDOW_CLAMP`, `tcp_set_window_clamp`).
    pub fn set_window_clamp(&mut self, bytes: u32) {
        let (old, new) = (self.window_clamp, bytes.max(LEAST_CLAMP));
        self.window_clamp = new;
        if new < old {
            self.rcv_ssthresh = self.rcv_ssthresh.min(new);
        } else if new > old {
            self.rcv_ssthresh = self.rcv_ssthresh.max(self.rcv_wnd.min(new));
        }
    }

    /// `window_clamp`
    pub fn window_clamp(&self) -> u32 {
        self.window_clamp
    }

    /// The application reads so many bytes (`tcp_recvmsg_locked`).
    pub fn read(&mut self, at: u64, bytes: u32) {
        let mut left = bytes;
        while left > 0
            && let Some(&b) = self.queue.front()
        {
            let there = b.end - u32::from(b.fin) - self.copied_seq;
            let used = left.min(there);
            self.copied_seq += used;
            left -= used;
            self.adjust_space();
            if used < there {
                break;
            }
            self.copied_seq = b.end;
            self.rmem_alloc -= b.takes;
            self.queue.pop_front();
        }
        if left < bytes {
            self.cleanup(at);
        }
    }

    /// See [`crate::alone::Receiver::measured`].
    #[cfg(test)]
    pub fn measured(&self) -> (u64, u32) {
        (self.rtt >> 3, self.space)
    }

    /// `tcp_rcv_space_adjust`
    fn adjust_space(&mut self) {
        let now = self.now / 1000;
        if self.rtt == 0 || now.saturating_sub(self.space_us) < self.rtt >> 3 {
            return;
        }
        let copied = i64::from(self.copied_seq) - i64::from(self.space_seq);
        let copied = copied - i64::from(self.rcv_nxt - self.copied_seq);
        if copied > i64::from(self.space) {
            self.grow_buffer(copied as u32);
        }
        (self.space_seq, self.space_us) = (self.copied_seq, now);
    }

    /// `__tcp_cleanup_rbuf`
    fn cleanup(&mut self, at: u64) {
        let ends = self.pushed == 2 || (self.pushed == 1 && !self.pingpong);
        let mut tells =
            self.scheduled && (self.rcv_nxt - self.rcv_wup > self.rcv_mss || (ends && self.rmem_alloc == 0));
        if !tells {
            let window = self.receive_window();
            if 2 * window <= self.window_clamp {
                let new = self.select_window();
                tells = new > 0 && new >= 2 * window;
            }
        }
        if tells {
            self.now = self.now.max(at);
            self.send_ack();
        }
    }

    /// `__tcp_ack_snd_check`
    fn ack_snd_check(&mut self) {
        if (self.rcv_nxt - self.rcv_wup > self.rcv_mss
            && (self.rcv_nxt == self.copied_seq || self.select_window() >= self.rcv_wnd))
            || (self.quick > 0 && !self.pingpong)
            || self.at_once
        {
            return self.send_ack();
        }
        if self.beyond.is_empty() {
            return self.send_delayed();
        }
        if self.compressed >= COMPRESS_LIMIT || !self.sack {
            return self.send_ack();
        }
        if self.compressed_nxt != self.rcv_nxt {
            self.compressed_nxt = self.rcv_nxt;
            self.dup_acks = 0;
        }
        if self.dup_acks < DUP_ACKS_AT_ONCE {
            self.dup_acks += 1;
            return self.send_ack();
        }
        self.compressed += 1;
        if self.kick_at == u64::MAX {
            self.kick_at = self.now + compress_ns(self.rtt, self.srtt_us.into());
        }
    }

    /// `tcp_send_delayed_ack`
    fn send_delayed(&mut self) {
        let mut ato = self.ato;
        let (least, tick_ns) = (self.least_delay(), self.clock.tick_ns());
        if ato > least {
            let rtt = self.clock.ticks(self.srtt_us.into()) as u32;
            let most = if self.pingpong || self.pushed > 0 { self.most_delay() } else { self.clock.hz() / 2 };
            ato = ato.min(if self.srtt_us > 0 { most.min(rtt.max(least)) } else { most });
        }
        // `tcp_delack_max`
        let ato = ato.min(self.most_delay() - 1);
        let now = self.now / tick_ns;
        let mut timeout = now + u64::from(ato);
        if self.timer {
            if self.timeout <= now + u64::from(ato >> 2) {
                return self.send_ack();
            }
            timeout = timeout.min(self.timeout);
        }
        // One that runs for the same jiffy stays in its bucket (`__mod_timer`), also where an acknowledgement has gone meanwhile.
        let runs = self.timer_at != u64::MAX && self.timer_at > self.now && self.timeout == timeout;
        self.timer = true;
        self.timeout = timeout;
        if !runs {
            self.timer_at = crate::jiffies::bucket_end(timeout, timeout - now) * tick_ns;
        }
    }

    /// Data of this end's go, and say what this acknowledgement says (`tcp_event_ack_sent`, `tcp_event_data_sent`).
    pub fn answer(&mut self, at: u64) -> Ack {
        self.now = self.now.max(at);
        let ack = self.make_ack(self.rcv_nxt);
        if self.clock.jiffies(self.now).wrapping_sub(self.lrcvtime) < self.ato {
            self.pingpong = true;
        }
        ack
    }

    /// An acknowledgement goes at once.
    pub fn tell(&mut self, at: u64) {
        self.now = self.now.max(at);
        self.send_ack();
    }

    fn send_ack(&mut self) {
        self.send_ack_of(self.rcv_nxt);
    }

    fn send_ack_of(&mut self, next: u32) {
        let ack = self.make_ack(next);
        self.out.push((self.now, ack));
    }

    /// `__tcp_transmit_skb` of a bare acknowledgement; of what was expected before, DCTCP's.
    fn make_ack(&mut self, next: u32) -> Ack {
        let window = self.tell_window();
        let mut ack = Ack::new(next, &[]);
        ack.window_end = next + window;
        ack.marked = self.counted.marks;
        (ack.ts, ack.ece, ack.dsack) = (self.ts_recent, self.demand_cwr, self.dsack.is_some());
        for (slot, &block) in ack.blocks.iter_mut().zip(self.dsack.iter().chain(self.blocks.get())) {
            *slot = block;
            ack.count += 1;
        }
        self.dsack = None;
        // `tcp_event_ack_sent`
        self.compressed = 0;
        self.kick_at = u64::MAX;
        if next == self.rcv_nxt {
            let sent = u32::from(self.scheduled);
            if self.quick > 0 {
                self.quick = self.quick.saturating_sub(sent);
                if self.quick == 0 {
                    self.ato = self.least_delay();
                }
            }
            (self.scheduled, self.timer, self.pushed) = (false, false, 0);
            (self.at_once, self.no_memory) = (false, false);
        }
        ack
    }

    /// `tcp_select_window`
    fn tell_window(&mut self) -> u32 {
        self.rcv_wnd = match self.no_memory {
            true => 0,
            false => {
                let (now, new) = (self.receive_window(), self.select_window());
                if new < now && !self.may_shrink() { now.next_multiple_of(1 << self.scale) } else { new }
            }
        };
        self.rcv_wup = self.rcv_nxt;
        self.offered = self.offered.max(self.rcv_wup + self.rcv_wnd);
        self.rcv_wnd.min(65_535 << self.scale) >> self.scale << self.scale
    }

    /// `__tcp_select_window`
    fn select_window(&mut self) -> u32 {
        if self.may_shrink() {
            return self.select_any_window();
        }
        let mut free = self.space_left();
        let allowed = self.window_of(self.rcvbuf.into());
        let full = allowed.min(self.window_clamp.into());
        let mss = full.min(self.rcv_mss.into());
        if mss <= 0 {
            return 0;
        }
        if free < full >> 1 {
            self.quick = 0;
            free = free >> self.scale << self.scale;
            if free < allowed >> 4 || free < mss {
                return 0;
            }
        }
        let free = free.min(self.rcv_ssthresh.into());
        if self.scale > 0 {
            return (free as u32).next_multiple_of(1 << self.scale);
        }
        // Without scaling it is a multiple of the segment's size, as long as that is not within one of it.
        let window = i64::from(self.rcv_wnd);
        if window <= free - mss || window > free {
            return (free / mss * mss) as u32;
        }
        if mss == full && free > window + (full >> 1) { free as u32 } else { self.rcv_wnd }
    }

    /// The window may become smaller (`tcp_shrink_window`), if windows are scaled.
    fn may_shrink(&self) -> bool {
        self.shrinks && self.scale > 0
    }

    /// `__tcp_select_window`, `shrink_window_allowed`
    fn select_any_window(&mut self) -> u32 {
        let allowed = self.window_of(self.rcvbuf.into());
        let full = allowed.min(self.window_clamp.into());
        let mss = full.min(self.rcv_mss.into());
        let free = self.space_left() >> self.scale << self.scale;
        if mss <= 0 {
            return 0;
        }
        if free < full >> 1 {
            self.quick = 0;
            if free < allowed >> 4 || free < mss || free < 1 << self.scale {
                return 0;
            }
        }
        match free > i64::from(self.rcv_ssthresh) {
            true => self.rcv_ssthresh.next_multiple_of(1 << self.scale),
            false => free as u32,
        }
    }

    /// `tcp_receive_window`
    fn receive_window(&self) -> u32 {
        (self.rcv_wup + self.rcv_wnd).saturating_sub(self.rcv_nxt)
    }

    /// `tcp_space`
    fn space_left(&self) -> i64 {
        self.window_of(i64::from(self.rcvbuf) - i64::from(self.rmem_alloc))
    }

    /// `tcp_win_from_space`
    fn window_of(&self, space: i64) -> i64 {
        (space * i64::from(self.scaling_ratio)) >> 8
    }

    /// `tcp_incr_quickack`
    fn more_quick(&mut self, most: u32) {
        let fits = self.rcv_wnd / (2 * self.rcv_mss);
        self.quick = self.quick.max((if fits == 0 { 2 } else { fits }).min(most));
    }

    /// `tcp_enter_quickack_mode`
    fn enter_quickack(&mut self, most: u32) {
        self.more_quick(most);
        self.pingpong = false;
        self.ato = self.least_delay();
    }

    /// `tcp_set_rto`, of the handshake alone.
    fn rto_ticks(&self) -> u32 {
        let rtt = u64::from(self.srtt_us);
        let rto = rtt + (2 * rtt).max(u64::from(StackRules::LINUX.rto_min_us));
        self.clock.ticks(rto) as u32
    }
}

/// `tcp_try_coalesce`: the second goes on where the first ends, and is put to it, if it can be: how many bytes that takes more.
fn coalesce(to: &mut Buffer, from: Buffer, overhead: u32) -> Option<u32> {
    let length = from.end - from.seq - u32::from(from.fin);
    if to.end != from.seq {
        return None;
    }
    let more = if length > 0 && length <= to.free {
        to.free -= length;
        0
    } else if (to.pieces == 0 && to.beside + length <= BESIDE) || length == 0 {
        to.beside += length;
        0
    } else if from.beside == 0 && to.pieces + from.pieces <= PIECES {
        to.pieces += from.pieces;
        from.takes - overhead
    } else {
        return None;
    };
    to.takes += more;
    (to.end, to.fin) = (from.end, to.fin || from.fin);
    Some(more)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alone::Receiver;
    use crate::receiver;
    use proptest::prelude::*;
    use queuewright_scenario::packet::MSS;

    const OVERHEAD: u32 = 896;
    const MS: u64 = 1_000_000;
    const RTT_MS: u32 = 40;

    fn whole(at: u64, number: u32) -> Segment {
        let ms = (at / MS) as u32;
        Segment { seq: number, len: 1, ts: ms - RTT_MS / 2, echo: Some(ms - RTT_MS), ..Segment::default() }
    }

    fn in_bytes(s: Segment) -> Segment {
        Segment { seq: s.seq * MSS, len: s.len * MSS, ..s }
    }

    fn socket() -> Socket {
        Socket::new(
            1000 * MS,
            u64::from(RTT_MS) * MS,
            Echo::Classic,
            Device::Beside(OVERHEAD),
            ReceiveBuffer::default(),
        )
    }

    fn bytes(seq: u32, len: u32) -> Segment {
        Segment { seq, len, ts: 1000, echo: Some(1000), ..Segment::default() }
    }

    fn acks(socket: &mut Socket) -> Vec<(u32, Vec<(u32, u32)>)> {
        socket.take().map(|(_, a)| (a.cum, a.blocks().to_vec())).collect()
    }

    /// So many whole segments come in order, and the reader reads them. Nothing is acknowledged out of haste any more.
    fn settled(n: u32) -> Socket {
        let mut s = socket();
        for i in 0..n {
            s.segment(1100 * MS, bytes(i * MSS, MSS), None);
            s.read(1100 * MS, MSS);
        }
        s.tell(1100 * MS);
        s.quick = 0;
        s.out.clear();
        s
    }

    /// `tcp_init_buffer_space`, `tcp_grow_window`, `tcp_measure_rcv_mss`: half of the buffer less a segment; then two segments more
    /// with each one, as far as there is room beside it in a buffer of which 158 of 256 bytes are window.
    #[test]
    fn the_window_begins_with_half_of_the_buffer() {
        let mut s = socket();
        let mut windows = vec![s.rcv_ssthresh];
        for i in 0..8 {
            s.segment(1100 * MS, bytes(i * MSS, MSS), None);
            s.read(1100 * MS, MSS);
            windows.push(s.rcv_ssthresh);
        }
        assert_eq!(windows, [64_088, 66_984, 69_880, 72_776, 75_672, 78_568, 79_449, 79_449, 79_449]);
        assert_eq!((s.scaling_ratio, s.rcv_mss), (158, MSS));
    }

    /// `__tcp_select_window`, `tcp_data_queue`, `__tcp_cleanup_rbuf`: a reader that does not read closes the window; what comes then
    /// is dropped; and a read that doubles the window is told.
    #[test]
    fn a_full_window_is_closed_and_opened() {
        let mut s = socket();
        let mut next = 0;
        let told = loop {
            s.segment(1100 * MS, bytes(next, MSS), None);
            next = s.rcv_nxt;
            let window = s.take().next_back().map(|(_, a)| a.window_end - a.cum);
            if window.is_some_and(|w| w < MSS) {
                break window;
            }
        };
        assert!(next > 60_000, "{next}: {told:?}");
        s.segment(1200 * MS, bytes(next, MSS), None);
        assert_eq!((s.rcv_nxt, s.take().len()), (next, 1));
        // Little is read: nothing is said. Then all of it.
        s.read(1300 * MS, 1000);
        assert_eq!(s.take().len(), 0);
        s.read(1400 * MS, next);
        let told: Vec<u32> = s.take().map(|(_, a)| a.window_end - a.cum).collect();
        assert!(matches!(told[..], [w] if w > 60_000), "{told:?}");
        assert_eq!(s.rmem_alloc, 0);
    }

    /// `__tcp_ack_snd_check`: more than a full segment calls for an acknowledgement only if the window does not shrink by it; else the
    /// read does (`__tcp_cleanup_rbuf`).
    #[test]
    fn what_is_not_read_is_acknowledged_when_it_is() {
        let mut s = settled(40);
        s.segment(1110 * MS, bytes(40 * MSS, MSS), None);
        assert_eq!(s.take().len(), 0);
        s.rcv_wnd = s.rcv_ssthresh + 4 * MSS;
        s.segment(1110 * MS, bytes(41 * MSS, MSS), None);
        assert_eq!(s.take().len(), 0);
        s.read(1111 * MS, MSS);
        assert_eq!(s.take().len(), 1);
    }

    /// `tcp_prune_ofo_queue`: where there is no memory, an eighth of the buffer goes although less would do, and no more.
    #[test]
    fn an_eighth_of_the_buffer_goes_where_memory_has_run_out() {
        let mut s = settled(40);
        let (next, takes) = (s.rcv_nxt, MSS + OVERHEAD);
        // Apart: none is put to another.
        for n in 0..20 {
            s.segment(1110 * MS, bytes(next + (2 * n + 2) * MSS, MSS), None);
        }
        assert_eq!((s.beyond.len(), s.rmem_alloc), (20, 20 * takes));
        // One of them is too many; an eighth are three.
        s.set_buffer(20 * takes - 1);
        s.segment(1110 * MS, bytes(next + MSS, MSS), None);
        assert_eq!((s.beyond.len(), s.rmem_alloc), (18, 18 * takes));
        // What would lie furthest out is itself what does not fit.
        s.set_buffer(18 * takes - 1);
        s.segment(1110 * MS, bytes(next + 60 * MSS, MSS), None);
        assert_eq!((s.beyond.len(), s.rmem_alloc), (18, 18 * takes));
    }

    /// `tcp_data_queue_ofo`: as long as nobody has accepted the connection the buffer stays as it is, whatever is out of order.
    #[test]
    fn the_buffer_grows_only_for_a_reader() {
        for accepted in [false, true] {
            let mut s = socket();
            s.accepted = accepted;
            for n in 1..60 {
                s.segment(1100 * MS, bytes(n * MSS, MSS), None);
            }
            assert_eq!(s.rcvbuf > ReceiveBuffer::default().first, accepted, "{}", s.rcvbuf);
        }
    }

    /// `tcp_set_window_clamp`: a lower limit holds at once, a higher one lets the window be what it was told last, and none is below half
    /// of the least buffer.
    #[test]
    fn the_window_keeps_to_what_the_application_wants() {
        let mut s = settled(40);
        let told = s.rcv_wnd;
        s.set_window_clamp(10_000);
        assert_eq!((s.window_clamp, s.rcv_ssthresh, s.select_window()), (10_000, 10_000, 10_112));
        s.set_window_clamp(1);
        assert_eq!((s.window_clamp, s.rcv_ssthresh), (1_152, 1_152));
        s.set_window_clamp(1_000_000);
        assert_eq!((s.window_clamp, s.rcv_ssthresh), (1_000_000, told));
    }

    /// `tcp_sack_new_ofo_skb`: a compressed acknowledgement goes before a third block changes, and tells of a duplicate already;
    /// nothing else is scheduled then.
    #[test]
    fn an_acknowledgement_that_goes_first_is_the_only_one() {
        let mut s = settled(40);
        let at = |n: u32| n * MSS;
        for n in [42, 44, 46] {
            s.segment(1110 * MS, bytes(at(n), MSS), None);
        }
        (s.quick, s.dup_acks, s.compressed_nxt) = (0, DUP_ACKS_AT_ONCE, s.rcv_nxt);
        s.take();
        s.window_clamp = 0;
        s.segment(1110 * MS, bytes(at(46), MSS), None);
        assert_eq!(s.take().len(), 0);
        assert_eq!(s.compressed, 1);
        s.segment(1110 * MS, bytes(at(42), MSS), None);
        let (a, b, c) = ((at(42), at(43)), (at(44), at(45)), (at(46), at(47)));
        assert_eq!(acks(&mut s), [(at(40), vec![a, c, b, a])]);
        assert_eq!((s.compressed, s.scheduled), (0, false));
    }

    /// `tcp_data_queue`, `tcp_data_queue_ofo`, `tcp_ofo_queue`: what overlaps is told of, wherever it lies.
    #[test]
    fn overlaps_are_told_of() {
        let mut s = settled(40);
        let next = s.rcv_nxt;
        s.segment(1110 * MS, bytes(next + 1000, 500), None);
        s.segment(1110 * MS, bytes(next + 1200, 500), None);
        let blocks = vec![(next + 1200, next + 1500), (next + 1000, next + 1700)];
        assert_eq!(acks(&mut s)[1], (next, blocks));
        s.segment(1110 * MS, bytes(next - 100, 1200), None);
        assert_eq!(acks(&mut s), [(next + 1700, vec![(next - 100, next)])]);
        assert_eq!((s.beyond.len(), s.blocks.get().len()), (0, 0));
    }

    /// `tcp_try_coalesce`, `skb_condense`: seventeen buffers share what the first takes beside its payload; a short one out of order
    /// lies beside its headers, and is put to no other.
    #[test]
    fn buffers_are_put_together() {
        let mut s = settled(40);
        let next = s.rcv_nxt;
        for i in 0..18 {
            s.segment(1110 * MS, bytes(next + i * MSS, MSS), None);
        }
        assert_eq!((s.queue.len(), s.rmem_alloc), (2, 18 * MSS + 2 * OVERHEAD));
        let next = s.rcv_nxt;
        s.segment(1110 * MS, bytes(next + 500, 100), None);
        assert_eq!(s.rmem_alloc, 18 * MSS + 3 * OVERHEAD);
        s.segment(1110 * MS, bytes(next, 500), None);
        assert_eq!((s.queue.len(), s.rmem_alloc), (3, 18 * MSS + 500 + 3 * OVERHEAD));
        s.read(1120 * MS, u32::MAX);
        assert_eq!((s.rmem_alloc, s.copied_seq), (0, s.rcv_nxt));
    }

    /// `tcp_data_queue_ofo`: without SACK the window stays as it is while something is missing.
    #[test]
    fn without_sack_what_is_out_of_order_widens_no_window() {
        for sack in [false, true] {
            let mut s = socket();
            s.sack = sack;
            let before = s.rcv_ssthresh;
            for n in 1..4 {
                s.segment(1100 * MS, bytes(n * MSS, MSS), None);
            }
            assert_eq!(s.rcv_ssthresh > before, sack);
        }
    }

    /// `tcp_send_delayed_ack`: a delayed acknowledgement that is due in a quarter of its time goes at once.
    #[test]
    fn a_delayed_acknowledgement_that_is_nearly_due_goes() {
        let mut s = settled(40);
        let next = s.rcv_nxt;
        let short = |i: u32| Segment { push: true, ..bytes(next + i * 100, 100) };
        s.segment(1200 * MS, short(0), None);
        s.segment(1228 * MS, short(1), None);
        assert_eq!(s.take().len(), 0);
        assert_eq!(s.next_at(), 1244 * MS);
        s.segment(1236 * MS, short(2), None);
        assert_eq!(acks(&mut s), [(next + 300, vec![])]);
    }

    /// `TCP_ATO_MIN` is 40 ms whatever the clock, and the timer a tick late.
    #[test]
    fn a_finer_clock_delays_no_longer() {
        for (hz, due) in [(100, 1250), (250, 1244), (1000, 1241)] {
            let mut s = socket();
            s.set_clock(Clock::new(hz));
            s.segment(1100 * MS, bytes(0, MSS), None);
            s.read(1100 * MS, MSS);
            s.tell(1100 * MS);
            s.quick = 0;
            s.window_clamp = 0;
            s.segment(1200 * MS, bytes(MSS, 100), None);
            assert_eq!(s.next_at(), due * MS, "{hz}");
        }
    }

    /// `sk_reset_timer`: the wheel has buckets of eight ticks from 63 on.
    #[test]
    fn a_long_delay_ends_with_its_bucket() {
        let mut s = settled(1);
        s.set_clock(Clock::new(1000));
        (s.now, s.ato, s.srtt_us, s.pingpong, s.pushed, s.timer) = (2000 * MS, 80, 100_000, false, 0, false);
        s.send_delayed();
        assert_eq!((s.timeout, s.timer_at), (2080, 2088 * MS));
        // A second segment is due no later, and an acknowledgement that went does not stop the timer.
        for (at, timer, ato) in [(2030, true, 80), (2040, false, 40)] {
            (s.now, s.timer, s.ato) = (at * MS, timer, ato);
            s.send_delayed();
            assert_eq!((s.timeout, s.timer_at), (2080, 2088 * MS), "{at}");
        }
    }

    /// `tcp_measure_rcv_mss`: the length with TCP's header is what counts, and two of a length are the peer's.
    #[test]
    fn two_of_a_length_are_full() {
        let mut s = settled(1);
        let next = s.rcv_nxt;
        s.segment(1110 * MS, bytes(next, 523), None);
        s.segment(1110 * MS, Segment { push: true, ..bytes(next + 523, 523) }, None);
        assert_eq!(s.rcv_mss, MSS);
        s.segment(1110 * MS, Segment { push: true, ..bytes(next + 1046, 524) }, None);
        s.segment(1110 * MS, Segment { push: true, ..bytes(next + 1570, 524) }, None);
        assert_eq!(s.rcv_mss, 524);
        // Without timestamps there are none in the header.
        for (length, full) in [(535, MSS), (536, 536)] {
            let mut s = settled(1);
            let (next, without) = (s.rcv_nxt, |s: Segment| Segment { ts: 0, echo: None, push: true, ..s });
            s.segment(1110 * MS, without(bytes(next, length)), None);
            s.segment(1110 * MS, without(bytes(next + length, length)), None);
            assert_eq!(s.rcv_mss, full);
        }
    }

    /// `tcp_rcv_rtt_update`: while the reader lags, only what is shorter counts.
    #[test]
    fn a_slow_reader_lengthens_no_round_trip() {
        let mut s = socket();
        let stamped = |n: u32, at: u32, echo| Segment { ts: at, echo: Some(echo), ..bytes(n * MSS, MSS) };
        s.segment(1100 * MS, stamped(0, 1080, 1060), None);
        s.segment(1101 * MS, stamped(1, 1081, 1001), None);
        assert_eq!(s.rtt >> 3, 40_000);
        s.segment(1102 * MS, stamped(2, 1081, 1072), None);
        assert_eq!(s.rtt >> 3, 30_000);
        s.read(1102 * MS, 3 * MSS);
        s.segment(1103 * MS, stamped(3, 1082, 1053), None);
        assert_eq!(s.rtt >> 3, 30_000 - 3_750 + 6_250);
    }

    /// The same segment comes to the receiver of bytes, whose application reads at once, and to that of segments.
    fn both_hear(all: &mut Receiver, fast: &mut Receiver, at: u64, s: Segment) {
        all.run_to(at);
        fast.run_to(at);
        all.segment(at, in_bytes(s), None);
        fast.segment(at, s, None);
        let read = all.next();
        all.read(at, read);
    }

    /// What fills a gap is told of before the application has read what lay behind it (`tcp_data_queue`, `__tcp_ack_snd_check`), and again
    /// once it has, if that leaves twice the window (`tcp_cleanup_rbuf`): on a first buffer, and on one that has grown.
    #[test]
    fn what_fills_a_gap_is_told_before_it_is_read() {
        let rtt = u64::from(RTT_MS) * MS;
        let mut again = 0;
        for (grown, behind) in (1..52).map(|n| (0, n)).chain((1..80).map(|n| (20, 17 * n))) {
            let mut at = 1060 * MS;
            let mut all = Receiver::of_bytes(at, rtt, Echo::Classic, OVERHEAD);
            let mut fast = Receiver::new(rtt, Echo::Classic, OVERHEAD);
            let (mut told, mut fast_told) = (Vec::new(), Vec::new());
            let mut came = |at: u64, number: u32, told: &mut Vec<_>, fast_told: &mut Vec<_>| {
                both_hear(
                    &mut all,
                    &mut fast,
                    at,
                    Segment { echo: Some((at / MS) as u32 - RTT_MS), ..whole(at, number) },
                );
                all.run_to(at);
                fast.run_to(at);
                told.extend(all.take_acks().map(|(at, a)| (at, a.cum / MSS, a.window_end / MSS)));
                fast_told.extend(fast.take_acks().map(|(at, a)| (at, a.cum, a.window_end)));
            };
            for n in 0..60 * grown {
                at += if n % 60 == 0 && n > 0 { rtt + 5 * MS } else { 0 };
                came(at, n, &mut told, &mut fast_told);
            }
            let next = 60 * grown;
            at += rtt;
            (told, fast_told) = (Vec::new(), Vec::new());
            for n in (1..=behind).chain([0]) {
                came(at, next + n, &mut told, &mut fast_told);
            }
            let differs = told.iter().zip(&fast_told).find(|(a, b)| a != b);
            assert_eq!(differs, None, "{behind} behind a gap, after {grown} bursts");
            assert_eq!(told.len(), fast_told.len());
            again += u32::from(told.iter().filter(|a| a.1 == next + behind + 1).count() > 1);
        }
        assert!(again > 10, "told again {again} times");
    }

    /// `__tcp_ack_snd_check`: three ACKs go at once before the rest are compressed. The one for what fills a part of a gap is the first of
    /// them, if the window has become narrower than it was told.
    #[test]
    fn what_fills_a_part_of_a_gap_is_one_of_three() {
        let rtt = u64::from(RTT_MS) * MS;
        for (grown, behind) in [(0, 1), (0, 12), (20, 1), (20, 40), (20, 300), (40, 40)] {
            let mut at = 1060 * MS;
            let mut all = Receiver::of_bytes(at, rtt, Echo::Classic, OVERHEAD);
            let mut fast = Receiver::new(rtt, Echo::Classic, OVERHEAD);
            let came = |all: &mut Receiver, fast: &mut Receiver, at: u64, number: u32| {
                both_hear(
                    all,
                    fast,
                    at,
                    Segment { echo: Some((at / MS) as u32 - RTT_MS), ..whole(at, number) },
                );
            };
            for n in 0..60 * grown {
                at += if n % 60 == 0 && n > 0 { rtt + 5 * MS } else { 0 };
                came(&mut all, &mut fast, at, n);
            }
            let next = 60 * grown;
            at += rtt;
            for n in (1..=behind).chain(behind + 2..behind + 8) {
                came(&mut all, &mut fast, at, next + n);
            }
            all.take_acks().count();
            fast.take_acks().count();
            for n in [0].into_iter().chain(behind + 8..behind + 16) {
                came(&mut all, &mut fast, at, next + n);
            }
            // That, two more, and then none before the timer.
            assert_eq!(
                [all.take_acks().count(), fast.take_acks().count()],
                [3, 3],
                "{behind} behind a gap, after {grown} bursts"
            );
        }
    }

    /// What comes, in order of time: `jump` and `gap` say which and when, `back` ms before that its echo was this end's clock.
    type Step = (u32, u64, u8, u32);

    /// Round trips of the handshake that are drawn (ms), and how far apart the segments of a burst are (ns): a delayed ACK waits longer only where
    /// the round trip is longer than 40, and a window full of less than a millisecond is a round trip that asks for more room.
    const ECHOES: [Echo; 3] = [Echo::Classic, Echo::Each, Echo::Accurate];

    const RTTS: [(u32, u64); 4] = [(RTT_MS, 0), (10, 0), (150, 0), (1, 15_000)];

    /// Three bursts in order, where `grown`, after which the window has all the room it needs; then the steps. Most often the next comes, of a
    /// burst; now and then a late one, one again, one that follows a loss, or, of jump 9, 20 behind a gap and then what fills it, more than
    /// one buffer takes; and pauses. Gives both receivers the same, and looks at them after each.
    fn both(
        (rtt_ms, apart): (u32, u64),
        steps: Vec<Step>,
        echo: Echo,
        marks: bool,
        grown: bool,
        mut look: impl FnMut(&Receiver, &Receiver) -> Result<(), TestCaseError>,
    ) -> Result<[Vec<(u64, Ack)>; 2], TestCaseError> {
        let rtt = u64::from(rtt_ms) * MS;
        let mut at = 1060 * MS;
        let mut all = Receiver::of_bytes(at, rtt, echo, OVERHEAD);
        let mut fast = Receiver::new(rtt, echo, OVERHEAD);
        let (mut told, mut fast_told, mut next) = (Vec::new(), Vec::<(u64, Ack)>::new(), 0u32);
        // A sender keeps to the window: this is the first one's end.
        let mut edge = 44;
        let bursts =
            (0..if grown { 180 } else { 0 }).map(|i| (8, if i % 60 == 59 { 12 } else { 0 }, 3, RTT_MS));
        let steps = steps.into_iter().flat_map(|step| {
            let (jump, gap, kind, back) = step;
            if jump != 9 {
                return vec![step];
            }
            let mut all = vec![(8, 0, kind, back); 24];
            all[0] = (3, gap, kind, back);
            all[21..].fill((2, 6, kind, back));
            all
        });
        for (i, (jump, gap, kind, back)) in bursts.chain(steps).enumerate() {
            at += match gap {
                // The first comes right behind the handshake.
                _ if i == 0 => 0,
                0..=4 => apart,
                5 => 400_000,
                6..=8 => MS,
                9 => 3 * MS,
                10 => 30 * MS,
                11 => 400 * MS,
                _ => 45 * MS,
            };
            let mut number = match jump {
                0 => next + 1,
                1 => next.saturating_sub(3),
                2 => fast.next(),
                3 => next + 3,
                _ => next,
            };
            edge = fast_told.iter().map(|(_, ack)| ack.window_end).fold(edge, u32::max);
            if number >= edge {
                number = fast.next();
            }
            next = next.max(number + 1);
            let mut s = whole(at, number);
            s.echo = Some((at / MS) as u32 - back);
            (s.push, s.ect) = (kind == 0, marks && kind != 4);
            (s.ce, s.cwr) = (marks && kind == 1, marks && kind == 2);
            both_hear(&mut all, &mut fast, at, s);
            told.extend(all.take_acks());
            fast_told.extend(fast.take_acks());
            prop_assert_eq!(all.next(), fast.next() * MSS);
            look(&all, &fast)?;
        }
        Ok([told, fast_told])
    }

    proptest! {
        /// Whole segments that are read at once, in any order, with gaps and echoes of this end's clock as drawn: the receiver of segments says
        /// and measures what this one does.
        #[test]
        fn the_receiver_of_segments_says_the_same(
            rtt in 0..RTTS.len(),
            steps in proptest::collection::vec((0u32..10, 0u64..13, 0u8..8, 20u32..90), 1..160),
            echo in 0..3usize,
            marks: bool,
            grown: bool,
        ) {
            says_the_same(RTTS[rtt], steps, ECHOES[echo], marks, grown)?;
        }
    }

    fn says_the_same(
        (rtt_ms, apart): (u32, u64),
        steps: Vec<Step>,
        echo: Echo,
        marks: bool,
        grown: bool,
    ) -> Result<(), TestCaseError> {
        let [told, fast_told] = both((rtt_ms, apart), steps, echo, marks, grown, |all, fast| {
            prop_assert_eq!((all.window(), all.measured()), (fast.window(), fast.measured()));
            Ok(())
        })?;
        same(&told, &fast_told, echo)
    }

    /// Are these acknowledgements the same, edges in whole segments? DCTCP's of what came before a mark tells of a segment less in the receiver of
    /// bytes, and the next one, of the same moment, takes that back.
    fn same(told: &[(u64, Ack)], fast_told: &[(u64, Ack)], echo: Echo) -> Result<(), TestCaseError> {
        let of = |acks: &[(u64, Ack)], unit: u32| -> Vec<_> {
            let two_at = |i: usize| acks.get(i + 1).is_some_and(|next| next.0 == acks[i].0);
            let of = |(i, (at, a)): (usize, &(u64, Ack))| {
                let blocks: Vec<_> = a.blocks().iter().map(|b| (b.0 * unit, b.1 * unit)).collect();
                let edge = if echo == Echo::Each && two_at(i) { 0 } else { a.window_end / (MSS / unit) };
                (*at, a.cum * unit, edge, a.ts, (a.ece, a.marked), a.dsack, blocks)
            };
            acks.iter().enumerate().map(of).collect()
        };
        let (told, fast_told) = (of(told, 1), of(fast_told, MSS));
        for (i, (a, b)) in told.iter().zip(&fast_told).enumerate() {
            prop_assert_eq!(a, b, "acknowledgement {}", i);
        }
        prop_assert_eq!(told.len(), fast_told.len());
        Ok(())
    }

    /// Segments as they come (us, which, marked), of echoes a handshake old: both receivers say and measure the same. Gives the times of
    /// acknowledgements (us).
    fn come(rtt_ms: u32, dctcp: bool, of: impl IntoIterator<Item = (u64, u32, bool)>) -> Vec<u64> {
        come_after(0, rtt_ms, dctcp, of)
    }

    /// The same on a connection that is open for so many ms before.
    fn come_after(
        open_for_ms: u64,
        rtt_ms: u32,
        dctcp: bool,
        of: impl IntoIterator<Item = (u64, u32, bool)>,
    ) -> Vec<u64> {
        let mut of = of.into_iter().peekable();
        let begin = of.peek().unwrap().0 * 1000 - open_for_ms * MS;
        let rtt = u64::from(rtt_ms) * MS;
        let mut all = Receiver::of_bytes(begin, rtt, Echo::of_dctcp(dctcp), receiver::OVERHEAD);
        let mut fast = Receiver::new(rtt, Echo::of_dctcp(dctcp), receiver::OVERHEAD);
        fast.begins(begin as i64);
        let (mut told, mut fast_told) = (Vec::new(), Vec::new());
        for (us, number, ce) in of {
            let at = us * 1000;
            let ms = (at / MS) as u32;
            let s =
                Segment { ts: ms - rtt_ms / 2, echo: Some(ms - rtt_ms), ect: dctcp, ce, ..whole(at, number) };
            both_hear(&mut all, &mut fast, at, s);
            assert_eq!((all.measured(), all.window()), (fast.measured(), fast.window()), "{number} at {us}");
            told.extend(all.take_acks());
            fast_told.extend(fast.take_acks());
        }
        all.run_to(u64::MAX - 1);
        fast.run_to(u64::MAX - 1);
        told.extend(all.take_acks());
        fast_told.extend(fast.take_acks());
        same(&told, &fast_told, Echo::of_dctcp(dctcp)).unwrap();
        told.iter().map(|(at, _)| at / 1000).collect()
    }

    /// Bursts of 60 in order, a round trip and 5 ms apart, from 1,000,000 us on: the window then has all the room it needs.
    fn settles(rtt_ms: u32, segments: u32) -> impl Iterator<Item = (u64, u32, bool)> {
        let apart = u64::from(rtt_ms + 5) * 1000;
        (0..segments).map(move |i| (1_000_000 + u64::from(i / 60) * apart, i, false))
    }

    /// Segments from `first` on, so many us apart.
    fn each(from_us: u64, apart: u64, first: u32, n: u32) -> impl Iterator<Item = (u64, u32, bool)> {
        (0..n).map(move |i| (from_us + u64::from(i) * apart, first + i, false))
    }

    /// What comes next, each so many us after the one before, in this order.
    fn follow(of: &[(u64, u32, bool)], apart: u64, order: &[u32]) -> Vec<(u64, u32, bool)> {
        let (us, n) = (of[of.len() - 1].0, of.len() as u32);
        order.iter().enumerate().map(|(i, number)| (us + apart * (i as u64 + 1), n + number, false)).collect()
    }

    /// Bursts, a steady flow, some that change places, with which the window comes to take all of the buffer (a new buffer behind a gap counts only
    /// after it has grown), and 40 more: then a segment not yet read makes the window narrower than the one that was told.
    fn filled(rtt_ms: u32) -> Vec<(u64, u32, bool)> {
        let mut of: Vec<_> = settles(rtt_ms, 240).collect();
        of.extend(follow(&of, 1_200_000, &[0]));
        of.extend(follow(&of, 1000, &(0..2500).collect::<Vec<_>>()));
        for _ in 0..30 {
            of.extend(follow(&of, 1000, &[1, 0]));
        }
        of.extend(follow(&of, 1000, &(0..40).collect::<Vec<_>>()));
        of
    }

    /// Two lost of one round trip, of which the later one comes first: buffers that then touch stay two, so that the first one that is read, which
    /// ends the round, has 12 segments, 100 to 111, of the 49 behind the gap.
    #[test]
    fn buffers_that_touch_stay_two() {
        let order = (0..150).filter(|n| ![100, 111].contains(n)).chain([111, 100]).chain(150..400);
        come(RTT_MS, false, order.enumerate().map(|(i, n)| (1_000_000 + 1000 * i as u64, n, false)));
    }

    /// The timer of delayed ACKs stays set when its ACK has gone, and lets go what is compressed (`tcp_delack_timer_handler`): at 1,844 ms. Three
    /// more wait until 1,844.41 ms by their own timer.
    #[test]
    fn a_timer_that_stays_set_lets_go_what_is_compressed() {
        // Of a clock of 4 ms: 1,801 ms is in the tick until 1,804, and ten more pass.
        let lone = [(1_801_000, 1080, false), (1_802_000, 1081, false)];
        let behind = each(1_843_000, 100, 1083, 7);
        let acks = come(RTT_MS, false, settles(RTT_MS, 1080).chain(lone).chain(behind));
        assert_eq!(acks.last(), Some(&1_844_000), "{:?}", &acks[acks.len() - 6..]);
    }

    /// `tcp_send_delayed_ack`: with a second segment that comes at a quicker rhythm the timer fires sooner, though the ACK of both has gone. A delay
    /// is longer than ten ticks where the round trip is.
    #[test]
    fn a_second_segment_brings_the_timer_forward() {
        for alone in [12, 13] {
            let mut of = filled(150);
            let last = of[of.len() - 1].0;
            of.extend(follow(&of, last.next_multiple_of(4000) + 500 - last, &[0]));
            for _ in 0..alone {
                of.extend(follow(&of, 48_000, &[0]));
            }
            // The delay of the last is of 23 ticks, that of the next, which comes a tick later, of 16.
            of.extend(follow(&of, 4000, &[0]));
            let (pair, n) = (of[of.len() - 1].0, of.len() as u32);
            for ticks in 10..30 {
                let timer = pair / 4000 * 4000 + 4000 * ticks;
                come(150, false, of.iter().copied().chain(each(timer - 600, 20, n + 1, 8)));
            }
        }
    }

    /// `tcp_send_delayed_ack`: the second of two that comes in the last quarter of the delay is told before it is read, so of a segment less.
    #[test]
    fn what_comes_shortly_before_the_timer_is_told_before_it_is_read() {
        let steps = [(9, 0, 2, 20), (2, 5, 3, 20), (4, 12, 3, 20), (4, 10, 3, 20)];
        says_the_same(RTTS[3], steps.to_vec(), Echo::Classic, false, true).unwrap();
    }

    /// `tcp_finish_connect`, `tcp_create_openreq_child`: a connection that is open for longer than its timeout, 240 ms, before its first data is quick
    /// to acknowledge, also where the first segment is lost.
    #[test]
    fn a_connection_that_was_silent_is_quick() {
        let of = || {
            let late = each(1_065_000, 300, 10, 30);
            each(1_020_100, 100, 1, 9).chain([(1_061_000, 0, false)]).chain(late)
        };
        assert_eq!(come_after(20, RTT_MS, false, of()).len(), 25);
        assert_eq!(come_after(1_020, RTT_MS, false, of()).len(), 32);
    }

    /// `tcp_data_queue_ofo`: what is put to a buffer has grown the window before the ACK that goes first tells of it.
    #[test]
    fn the_ack_that_goes_first_tells_of_the_window_with_what_is_put_to_a_buffer() {
        for from in [58, 59] {
            let order = [31, 34].into_iter().chain(from..81).chain([32, 35, 81]);
            let behind = order.enumerate().map(|(i, n)| (1_010_000 + 20 * i as u64, n, false));
            come(RTT_MS, false, each(1_000_000, 0, 0, 30).chain(behind));
        }
    }

    /// `tcp_rcv_rtt_measure` comes before `dctcp_ece_ack_update`: it times the window as it was told last, not by the ACK of what came before a mark.
    #[test]
    fn an_ack_before_a_mark_is_no_longer_window() {
        for apart in [100, 300, 1000] {
            for phase in 0..4 {
                let of = each(1_000_000, apart, 0, 2000).map(|(us, n, _)| (us, n, (n + phase) / 2 % 2 == 1));
                come(RTT_MS, true, of);
            }
        }
    }

    /// The ACK of what came before a mark that is out of order tells of more than the next one, which has the segment to hold.
    #[test]
    fn an_ack_before_a_mark_out_of_order_moves_the_edge() {
        let steps =
            [(9, 0, 0, 20), (2, 0, 0, 20), (9, 0, 2, 20), (2, 0, 3, 20), (3, 0, 1, 20), (0, 0, 0, 20)];
        says_the_same(RTTS[0], steps.to_vec(), Echo::Each, true, false).unwrap();
    }

    /// A round of exactly a millisecond, which the last two reach together only where the round trip is smoothed in eighths of us.
    #[test]
    fn a_round_ends_at_the_same_microsecond() {
        let steps = [
            (9, 0, 0, 4),
            (0, 6, 0, 2),
            (3, 0, 0, 2),
            (9, 6, 0, 67),
            (9, 10, 0, 72),
            (0, 0, 0, 1),
            (2, 0, 0, 1),
        ];
        says_the_same(RTTS[0], steps.to_vec(), Echo::Classic, false, true).unwrap();
    }
}
