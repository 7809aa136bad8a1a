//! The send buffer: how far an application may write ahead of what is acknowledged, and when it writes
//! (`tcp_sendmsg_locked`, `tcp_check_space`, `sk_stream_write_space`).
//!
//! The application is one that writes whenever it can until it has written all, as iperf3 and the lab's do. What the
//! buffer is made of counts as well (`skb->truesize`): a window of small buffers fills it sooner than one of large ones.

use super::{Burst, Sender};

/// What a buffer takes beside its payload, bytes: `struct sk_buff` (256), a small head (320) and
/// `struct skb_shared_info` (320), `tcp_stream_alloc_skb` on x86-64 of a kernel for machines without radios, as Debian's for clouds
/// (`LL_MAX_HEADER` is 32).
pub(crate) const BUFFER_BYTES: u32 = 896;
/// What autotuning allows for a segment, bytes: the next power of two above the MSS (1460) with `MAX_TCP_HEADER` (256 there) and
/// `struct skb_shared_info` (320), and a `struct sk_buff` (256) (`tcp_sndbuf_expand`).
pub(crate) const fn segment_bytes(mss: u32) -> u32 {
    (mss + 256 + 320).next_power_of_two() + 256
}
const SEGMENT_BYTES: u32 = segment_bytes(1460);

impl Sender {
    /// Bytes in the send buffer (`sk_wmem_queued`).
    pub(super) fn queued(&self) -> u32 {
        (self.written - self.conn.snd_una) * self.conn.mss + self.all_buffers() * BUFFER_BYTES
    }

    /// Buffers in the send buffer.
    pub fn all_buffers(&self) -> u32 {
        let unsent = if self.written > self.conn.snd_nxt { 1 + self.behind.len() as u32 } else { 0 };
        self.buffers + unsent
    }

    /// `tcp_sndbuf_expand`: the buffer holds two windows, of BBR three, of the dearest segments.
    #[inline]
    pub(super) fn expand_buffer(&mut self) {
        let segments = self.conn.cwnd.max(10).max(self.reordering + 1);
        // Most often it holds them already.
        if segments > self.expanded_for {
            self.expand_for(segments);
        }
    }

    #[inline(never)]
    fn expand_for(&mut self, segments: u32) {
        self.expanded_for = segments;
        let windows = self.cca.sndbuf_expand(&mut self.conn);
        let bytes = segments.saturating_mul(windows.saturating_mul(SEGMENT_BYTES));
        let bytes = bytes.min(self.wmem);
        if bytes > self.sndbuf {
            self.sndbuf = bytes;
            self.set_wake();
        }
    }

    /// The application keeps the buffer full; nothing from `stop_ns` on. Without `autotunes`.
    pub(super) fn fill_buffer(&mut self, now: u64) {
        let most = self.conn.snd_una + self.sndbuf / self.conn.mss;
        if now >= self.stop_ns {
            self.snd_end = self.snd_end.min(most);
        }
        self.written = self.snd_end.min(most);
    }

    /// The application writes until it has no more or the buffer is full (`tcp_sendmsg_locked`); nothing from `stop_ns` on. What it
    /// writes goes as it comes. Something went since the buffer was found full: had cwnd room for more at any moment? None: nothing
    /// went, and nobody looks whether there is room again (`tcp_event_new_data_sent`).
    pub(super) fn write_all(&mut self, now: u64, out: &mut Vec<Burst>) -> Option<bool> {
        if now >= self.stop_ns {
            self.snd_end = self.snd_end.min(self.written);
        }
        let mut uncrowded = false;
        let mut sent = true;
        self.full = false;
        while self.written < self.snd_end && !self.full {
            self.check_app_limited(now);
            let (before, started) = (self.written, self.rest);
            let bytes = started + self.write_bytes;
            let end = self.snd_end.min(self.written.saturating_add(bytes / self.conn.mss));
            self.rest = if end < self.snd_end { bytes % self.conn.mss } else { 0 };
            while self.written < end {
                let tail = self.fill_tail(end, started > 0 && self.written == before);
                if tail == 0 {
                    // A write that got something in returns, and the next finds whether that made room; one that did not waits.
                    self.full = self.written == before;
                    self.rest = if self.full { started } else { 0 };
                    break;
                }
                if (self.written == end && self.rest == 0) || tail < self.size_goal() {
                    continue;
                }
                // A buffer is full and more is to come (`msg_data_left`): what is the first to be sent does not wait for it.
                if self.forces_push() {
                    self.mark_push();
                    uncrowded |= self.transmit(now, false, out);
                } else if self.behind.is_empty() {
                    uncrowded |= self.transmit(now, true, out);
                }
            }
            let waits = started > 0 && self.written == before;
            if self.rest > 0 && !waits && self.begins_buffer() && self.is_crowded() {
                // A part of a segment begins no buffer, either.
                self.full = self.written == before;
                self.rest = 0;
            }
            let next = self.conn.snd_nxt;
            if self.written > before {
                self.mark_push();
                uncrowded |= self.transmit(now, false, out);
                if self.rest > 0 && self.conn.snd_nxt == self.written && self.small_end <= self.conn.snd_una {
                    // A part of a segment goes, too, if no other is on its way (`tcp_nagle_check`, `tcp_minshall_check`).
                    self.written += 1;
                    self.head_end = self.written;
                    self.small_end = self.written;
                    self.rest = 0;
                    self.mark_push();
                    uncrowded |= self.transmit(now, false, out);
                }
            }
            sent = self.conn.snd_nxt > next;
        }
        self.set_wake();
        sent.then_some(uncrowded)
    }

    /// A write that goes on has filled a buffer with so many segments more, by which no push is forced: if it is the first to be sent, a
    /// burst of it goes, which waits for no other (`tcp_push_one`). What is left of it goes when an ACK comes, or the write ends (`tcp_push`).
    pub fn write_on(&mut self, now: u64, segments: u32, out: &mut Vec<Burst>) {
        self.restart_after_idle(now);
        self.check_app_limited(now);
        self.snd_end = self.snd_end.saturating_add(segments).min(u32::MAX - 1);
        while self.written < self.snd_end && self.fill_tail(self.snd_end, false) > 0 {}
        if self.behind.is_empty() {
            self.transmit(now, true, out);
        }
        self.set_wake();
    }

    /// `tcp_mark_push`: what is last now goes with PSH.
    fn mark_push(&mut self) {
        (self.pushed, self.push_end) = (self.written, self.written);
    }

    /// Writes to the last buffer, or to a new one behind it: how many segments that holds then. 0: there is no room for it. `part`: the
    /// last one has a part of a segment.
    fn fill_tail(&mut self, end: u32, part: bool) -> u32 {
        let goal = self.size_goal();
        let last = self.behind.len();
        let mut tail = self.tail();
        if self.begins_buffer() {
            // A part of a segment that waits behind a full buffer has begun another: that is filled up, and nothing is asked.
            if !part && self.is_crowded() {
                return 0;
            }
            tail = 0;
        } else if self.push_end == self.written {
            // What goes on does not end here.
            self.push_end = 0;
        }
        let n = (goal - tail).min(end - self.written);
        if self.conn.snd_nxt == self.written || (tail > 0 && last == 0) {
            self.head_end = self.written + n;
        } else if tail > 0 {
            self.behind[last - 1] += n;
        } else {
            self.behind.push_back(self.written + n);
        }
        self.written += n;
        tail + n
    }

    /// Segments in the last buffer of those that are not yet sent; 0: there is none.
    fn tail(&self) -> u32 {
        let begin = match self.behind.len() {
            0 => self.conn.snd_nxt,
            1 => self.head_end,
            n => self.behind[n - 2],
        };
        self.written - begin
    }

    /// Does what is written next begin a buffer?
    fn begins_buffer(&self) -> bool {
        let tail = self.tail();
        tail == 0 || tail >= self.size_goal()
    }

    /// Is there no room for a buffer more (`tcp_stream_memory_free`)?
    fn is_crowded(&self) -> bool {
        self.queued() >= self.sndbuf || self.unsent_bytes() >= u64::from(self.notsent_lowat)
    }

    fn unsent_bytes(&self) -> u64 {
        u64::from(self.written - self.conn.snd_nxt) * u64::from(self.conn.mss)
    }

    /// Segments that a buffer holds: of half of the peer's widest window at most (`tcp_xmit_size_goal`, `tcp_bound_to_half_wnd`).
    fn size_goal(&self) -> u32 {
        self.buffer_segments.min(self.max_window >> 1).max(1)
    }

    /// `forced_push`: more than half of that has been written since the last push.
    pub(super) fn forces_push(&self) -> bool {
        u64::from(self.written - self.pushed) * 2 > self.max_window.into()
    }

    /// Not before all payload that waits is less than two thirds of the buffer.
    fn set_wake(&mut self) {
        self.wake_una = self.written.saturating_sub(self.sndbuf / 3 * 2 / self.conn.mss + 1);
    }

    /// `tcp_check_space`: is there room again for an application that waits for it? `uncrowded`: cwnd had room at a
    /// moment of sending (`tcp_should_expand_sndbuf`).
    #[inline(always)]
    pub(super) fn check_space(&mut self, now: u64, uncrowded: bool) -> bool {
        // Most often it is not yet time.
        let waits = self.full && !self.woken;
        waits && (uncrowded || self.conn.snd_una >= self.wake_una) && self.has_space(now, uncrowded)
    }

    #[inline(always)]
    fn has_space(&mut self, now: u64, uncrowded: bool) -> bool {
        if uncrowded {
            self.expand_buffer();
            self.cwnd_stamp = self.tick(now);
        }
        self.conn.snd_una >= self.wake_una && self.is_writeable()
    }

    /// `sk_stream_is_writeable`: what is free is at least half of what is taken.
    #[inline(never)]
    fn is_writeable(&self) -> bool {
        let queued = self.queued();
        self.sndbuf >= queued + (queued >> 1) && self.unsent_bytes() << 1 < u64::from(self.notsent_lowat)
    }

    /// `tcp_rate_check_app_limited`, when the application writes: it had nothing more for a window that has room.
    pub(super) fn check_app_limited(&mut self, now: u64) {
        let c = &mut self.conn;
        if c.snd_nxt >= self.written
            && c.in_flight() < c.cwnd
            && c.lost_out <= c.retrans_out
            && self.access_free_ns <= now
        {
            c.app_limited = (c.delivered + c.in_flight()).max(1);
        }
    }

    /// Segments in the first of the buffers that are not yet sent. If it has fewer than may go it grows by the front of the next one
    /// (`tcp_grow_skb`). Without `autotunes` all lie in one.
    #[inline(always)]
    pub(super) fn first_buffer(&mut self, quota: u32) -> u32 {
        if !self.rules.autotunes {
            return self.written - self.conn.snd_nxt;
        }
        let head = self.head_end - self.conn.snd_nxt;
        if head >= quota { head } else { head + self.grow_first(quota - head) }
    }

    #[inline(never)]
    fn grow_first(&mut self, missing: u32) -> u32 {
        let Some(&next) = self.behind.front() else { return 0 };
        let taken = missing.min(next - self.head_end);
        self.head_end += taken;
        if self.head_end == next {
            self.behind.pop_front();
        }
        taken
    }

    /// All below `next` has been sent, of the first buffer all or a part.
    pub(super) fn passes_buffers(&mut self, next: u32) {
        if self.head_end == next
            && let Some(end) = self.behind.pop_front()
        {
            self.head_end = end;
        }
    }
}
