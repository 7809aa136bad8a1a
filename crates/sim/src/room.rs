//! The room that a receiver has for what comes: its buffer, its window, and what a segment takes of it.

use crate::receiver::FIRST_BUFFER;
use queuewright_scenario::packet::MSS;
use queuewright_scenario::spec::RMEM_BYTES;

/// The device that segments come through: it says what memory they take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Device {
    /// So many bytes beside the payload, whose pieces can be put together.
    Beside(u32),
    /// A tun device that is written to: headers and payload in one piece, as far as that is no longer than a page
    /// (`tun_alloc_skb`, `alloc_skb_with_frags`).
    Tun,
}

/// `NET_SKB_PAD`, `struct skb_shared_info`, `struct sk_buff`, and the smallest head (`SKB_SMALL_HEAD_CACHE_SIZE`).
const PAD: u32 = 64;
const SHARED_INFO: u32 = 320;
const SK_BUFF: u32 = 256;
const SMALL_HEAD: u32 = 640;
const PAGE: u32 = 4096;

impl Device {
    /// What a segment of so much payload takes (`truesize`), and how many bytes may be copied behind it. With a timestamp, or 0.
    pub(crate) fn takes(self, payload: u32, ts: u32) -> (u32, u32) {
        let overhead = match self {
            Device::Beside(overhead) => return (overhead + payload, 0),
            Device::Tun => SK_BUFF,
        };
        let length = payload + 40 + if ts != 0 { 12 } else { 0 };
        if PAD + length < PAGE {
            let head = (PAD + length).next_multiple_of(64) + SHARED_INFO;
            let head = if head <= SMALL_HEAD { SMALL_HEAD } else { head.next_power_of_two() };
            return (overhead + head, head - SHARED_INFO - PAD - length);
        }
        let mut rest = length - (PAGE - SHARED_INFO - PAD);
        let mut takes = overhead + PAGE;
        let mut order = 3;
        while rest > 0 {
            while order > 0 && rest.next_multiple_of(PAGE) < PAGE << order {
                order -= 1;
            }
            takes += PAGE << order;
            rest = rest.saturating_sub(PAGE << order);
        }
        (takes, 0)
    }
}

/// A receiver's buffer: its room for what comes, as it is when the connection opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiveBuffer {
    /// Bytes of the buffer at first (`tcp_rmem[1]`, or twice `SO_RCVBUF`), and at most (`tcp_rmem[2]`).
    pub first: u32,
    /// See `first`.
    pub most: u32,
    /// It is what the application wants (`SO_RCVBUF`): it does not grow.
    pub locked: bool,
    /// The greatest window that the application wants (`TCP_WINDOW_CLAMP`); 0: any.
    pub clamp: u32,
    /// Windows are scaled.
    pub scaled: bool,
    /// Bytes that the peer may send in a segment.
    pub mss: u32,
    /// The same as the first window is reckoned with: who asks does not know yet whether there will be timestamps.
    pub first_mss: u32,
}

impl Default for ReceiveBuffer {
    /// As on the machines of the lab.
    fn default() -> ReceiveBuffer {
        ReceiveBuffer {
            first: FIRST_BUFFER,
            most: RMEM_BYTES,
            locked: false,
            clamp: 0,
            scaled: true,
            mss: MSS,
            first_mss: MSS,
        }
    }
}

/// The greatest window that scaling allows (`U16_MAX << TCP_MAX_WSCALE`).
const WIDEST: u32 = 65_535 << 14;
/// The greatest buffer that an application may ask for (`net.core.rmem_max`), bytes.
pub const RMEM_MAX: u32 = 4 << 20;
/// The least `TCP_WINDOW_CLAMP`: half of `SOCK_MIN_RCVBUF`.
pub(crate) const LEAST_CLAMP: u32 = 1_152;

impl ReceiveBuffer {
    /// `window_clamp` before it is scaled (`tcp_openreq_init_rwin`).
    fn wanted(&self) -> u32 {
        let wanted = if self.clamp == 0 { WIDEST } else { self.clamp.clamp(LEAST_CLAMP, WIDEST) };
        if self.locked { wanted.min(self.first / 2) } else { wanted }
    }

    /// The window of the SYN (`tcp_select_initial_window`, `tcp_connect_init`): half of the buffer, in whole segments.
    pub fn first_window(&self) -> u32 {
        let space = self.wanted().min(self.first / 2);
        if space > self.first_mss { space / self.first_mss * self.first_mss } else { space }
    }

    /// The scale of the windows: as much as the greatest one needs.
    pub fn scale(&self) -> u32 {
        if !self.scaled {
            return 0;
        }
        let widest = self.first_window().max(self.most).max(RMEM_MAX).min(self.wanted());
        widest.max(1).ilog2().saturating_sub(15).min(14)
    }

    /// The greatest window (`window_clamp`).
    pub(crate) fn clamp(&self) -> u32 {
        self.wanted().min(65_535 << self.scale())
    }
}
