//! The send buffer: how far an application may write ahead of what is acknowledged, and when it writes
//! (`tcp_sendmsg_locked`, `tcp_check_space`, `sk_stream_write_space`).
//!
//! The application is one that writes whenever it can until it has written all, as iperf3 and the lab's do. What the
//! buffer is made of counts as well (`skb->truesize`): a window of small buffers fills it sooner than one of large ones.

use super::Sender;
use queuewright_cca::Kind;

/// What a buffer takes beside its payload, bytes: `struct sk_buff` (256), a small head (384) and
/// `struct skb_shared_info` (320), `tcp_stream_alloc_skb` on x86-64.
pub(super) const BUFFER_BYTES: u32 = 960;
/// What autotuning allows for a segment, bytes: the next power of two above an MSS of 1460 with `MAX_TCP_HEADER` (320) and
/// `struct skb_shared_info` (320), and a `struct sk_buff` (256) (`tcp_sndbuf_expand`).
const SEGMENT_BYTES: u32 = 4096 + 256;

impl Sender {
    /// Bytes in the send buffer (`sk_wmem_queued`).
    fn queued(&self) -> u32 {
        let unsent = (self.written - self.conn.snd_nxt).div_ceil(self.max_burst);
        (self.written - self.conn.snd_una) * self.conn.mss + (self.buffers + unsent) * BUFFER_BYTES
    }

    /// `tcp_sndbuf_expand`: the buffer holds two windows, of BBR three, of the dearest segments.
    pub(super) fn expand_buffer(&mut self) {
        let windows = if self.kind == Kind::Bbr { 3 } else { 2 };
        let segments = self.conn.cwnd.max(10).max(self.reordering + 1);
        let bytes = segments.saturating_mul(windows * SEGMENT_BYTES);
        let bytes = bytes.min(self.rules.send_buffer);
        if bytes > self.sndbuf {
            self.sndbuf = bytes;
            self.set_wake();
        }
    }

    /// The application writes until it has no more or the buffer is full; nothing from `stop_ns` on.
    pub(super) fn fill_buffer(&mut self, now: u64) {
        if !self.rules.autotunes {
            let most = self.conn.snd_una + self.sndbuf / self.conn.mss;
            if now >= self.stop_ns {
                self.snd_end = self.snd_end.min(most);
            }
            self.written = self.snd_end.min(most);
            return;
        }
        if now >= self.stop_ns {
            self.snd_end = self.snd_end.min(self.written);
        }
        if self.written >= self.snd_end {
            return;
        }
        self.check_app_limited(now);
        if self.written == self.conn.snd_nxt {
            self.buffer_end = self.written + self.max_burst;
        }
        let mut queued = self.queued();
        while queued < self.sndbuf && self.written < self.snd_end {
            let n = self.max_burst.min(self.snd_end - self.written);
            self.written += n;
            queued += n * self.conn.mss + BUFFER_BYTES;
        }
        self.full = self.written < self.snd_end;
        self.set_wake();
    }

    /// Not before all payload that waits is less than two thirds of the buffer.
    fn set_wake(&mut self) {
        self.wake_una = self.written.saturating_sub(self.sndbuf / 3 * 2 / self.conn.mss + 1);
    }

    /// `tcp_check_space`: is there room again for an application that waits for it? Then it has written. `uncrowded`: cwnd
    /// had room at a moment of sending (`tcp_should_expand_sndbuf`).
    pub(super) fn check_space(&mut self, now: u64, uncrowded: bool) -> bool {
        if !self.full {
            return false;
        }
        if uncrowded {
            self.expand_buffer();
            self.cwnd_stamp = self.tick(now);
        }
        if self.conn.snd_una < self.wake_una {
            return false;
        }
        let queued = self.queued();
        // `sk_stream_is_writeable`: what is free is at least half of what is taken.
        if self.sndbuf < queued + (queued >> 1) {
            return false;
        }
        self.full = false;
        let before = self.written;
        self.fill_buffer(now);
        self.written > before
    }

    /// `tcp_rate_check_app_limited`, when the application writes: it had nothing more for a window that has room.
    pub(super) fn check_app_limited(&mut self, now: u64) {
        let c = &mut self.conn;
        if self.samples_rate
            && c.snd_nxt >= self.written
            && c.in_flight() < c.cwnd
            && c.lost_out <= c.retrans_out
            && self.access_free_ns <= now
        {
            c.app_limited = (c.delivered + c.in_flight()).max(1);
        }
    }

    /// Segments left in the first of the buffers that are not yet sent.
    pub(super) fn first_buffer(&self) -> u32 {
        self.buffer_end - self.conn.snd_nxt
    }
}
