//! What a sender remembers of each segment between `snd_una` and `snd_nxt`.

/// Receiver holds it (RFC 2018).
pub const SACKED: u64 = 1;
/// Thought lost.
pub const LOST: u64 = 2;
/// Has been retransmitted at least once (`TCPCB_EVER_RETRANS`).
pub const EVER_RETRANS: u64 = 4;
/// A retransmission is in flight (`TCPCB_SACKED_RETRANS`).
pub const RETRANS: u64 = 8;
/// Segments of the shortest ring.
const INITIAL: u32 = 32;
/// Bits below the time of transmission.
const FLAG_BITS: u32 = 4;

/// What BBR's delivery-rate samples need of a segment (draft-cheng-iccrg-delivery-rate-estimation section 3.1.2).
#[derive(Debug, Clone, Copy, Default)]
pub struct RateTag {
    /// `delivered` when it was sent.
    pub delivered: u32,
    /// Sent in an application-limited phase.
    pub app_limited: bool,
    /// Time of that delivery count (ns); 0: used up.
    pub delivered_ns: u64,
    /// Start of its sending window (ns).
    pub first_tx_ns: u64,
}

/// Rings over the segments in flight. They grow to the largest window ever had, never per packet.
#[derive(Debug)]
pub struct Scoreboard {
    segments: Vec<u64>, // time of the last transmission << FLAG_BITS | flags
    rates: Vec<RateTag>,
    mask: u32,
}

impl Scoreboard {
    /// An empty one; `with_rates` for controls that sample the delivery rate.
    pub fn new(with_rates: bool) -> Scoreboard {
        Scoreboard {
            segments: vec![0; INITIAL as usize],
            rates: if with_rates { vec![RateTag::default(); INITIAL as usize] } else { Vec::new() },
            mask: INITIAL - 1,
        }
    }

    /// Makes room for segments `una..end`.
    #[inline]
    pub fn reserve(&mut self, una: u32, nxt: u32, end: u32) {
        let size = self.mask + 1;
        // A ring much longer than the window wastes cache: at its end, it shrinks.
        if end - una > size || (end & self.mask < end - nxt && (end - una) * 8 < size && size > INITIAL) {
            self.resize(una, nxt, end);
        }
    }

    #[cold]
    fn resize(&mut self, una: u32, nxt: u32, end: u32) {
        let size = ((end - una) * 2).next_power_of_two().max(INITIAL) as usize;
        let mask = size as u32 - 1;
        let mut segments = vec![0; size];
        let mut rates = if self.rates.is_empty() { Vec::new() } else { vec![RateTag::default(); size] };
        for seq in una..nxt {
            segments[(seq & mask) as usize] = self.segments[(seq & self.mask) as usize];
            if !rates.is_empty() {
                rates[(seq & mask) as usize] = self.rates[(seq & self.mask) as usize];
            }
        }
        (self.segments, self.rates, self.mask) = (segments, rates, mask);
    }

    /// Records a transmission at `now`; flags become `flags`.
    #[inline(always)]
    pub fn sent(&mut self, seq: u32, now: u64, flags: u64) {
        self.segments[(seq & self.mask) as usize] = now << FLAG_BITS | flags;
    }

    /// When it was last sent (ns).
    #[inline(always)]
    pub fn tx_ns(&self, seq: u32) -> u64 {
        self.segments[(seq & self.mask) as usize] >> FLAG_BITS
    }

    /// Its flags.
    #[inline(always)]
    pub fn flags(&self, seq: u32) -> u64 {
        self.segments[(seq & self.mask) as usize] & ((1 << FLAG_BITS) - 1)
    }

    /// Sets and clears flags.
    #[inline(always)]
    pub fn change(&mut self, seq: u32, set: u64, clear: u64) {
        let s = &mut self.segments[(seq & self.mask) as usize];
        *s = (*s | set) & !clear;
    }

    /// Its rate tag; only with rates.
    #[inline(always)]
    pub fn rate(&mut self, seq: u32) -> Option<&mut RateTag> {
        self.rates.get_mut((seq & self.mask) as usize)
    }
}
