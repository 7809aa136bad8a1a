//! What a sender remembers of each segment between `snd_una` and `snd_nxt`.

/// Receiver holds it (RFC 2018).
pub const SACKED: u64 = 1;
/// Thought lost.
pub const LOST: u64 = 2;
/// Has been retransmitted at least once (`TCPCB_EVER_RETRANS`).
pub const EVER_RETRANS: u64 = 4;
/// A retransmission is in flight (`TCPCB_SACKED_RETRANS`).
pub const RETRANS: u64 = 8;
/// The last segment of a buffer of the send queue.
pub const ENDS_BUFFER: u64 = 16;
/// Taken for lost by RACK and not sent again since: it is not judged once more, whatever is undone.
pub const JUDGED: u64 = 32;
/// Segments of the shortest ring.
const INITIAL: u32 = 32;
/// With a rate tag that has not been taken.
const TAGGED: u64 = 64;
/// Sent in an application-limited phase; in the tag.
const APP_LIMITED: u64 = 128;
/// Bits below the time of transmission, which has 50: a run is no longer than 1,000,000 s.
const FLAG_BITS: u32 = 14;
/// Where among them the high part of a tag's count begins, above the flags, and what it may hold.
const COUNT_AT: u32 = 8;
const COUNT_HIGH: u32 = (1 << (FLAG_BITS - COUNT_AT)) - 1;
/// What is kept of the count of a tag.
const COUNT: u32 = COUNT_HIGH << 16 | 0xffff;
const FLAGS: u64 = SACKED | LOST | EVER_RETRANS | RETRANS | ENDS_BUFFER | JUDGED;

/// What BBR's delivery-rate samples need of a segment (draft-cheng-iccrg-delivery-rate-estimation section 3.1.2).
#[derive(Debug, Clone, Copy, Default)]
pub struct RateTag {
    /// `delivered` when it was sent, its lowest 22 bits: fewer are delivered while it is under way.
    pub delivered: u32,
    /// Sent in an application-limited phase.
    pub app_limited: bool,
    /// Time of that delivery count (ns), above 0, to the microsecond as Linux keeps it (`tx.delivered_mstamp`).
    pub delivered_ns: u64,
    /// Start of its sending window (ns), to the microsecond (`tx.first_tx_mstamp`).
    pub first_tx_ns: u64,
}

impl RateTag {
    /// How many were delivered since, if the count is `delivered` now.
    #[inline(always)]
    pub fn delivered_since(&self, delivered: u32) -> u32 {
        delivered.wrapping_sub(self.delivered) & COUNT
    }
}

/// Words of a segment: when it was last sent << [`FLAG_BITS`] | flags, and with rates its tag: how long before
/// that were the delivery and the start of the sending window (microseconds, 24 bits each: 16 s, as no sample
/// of that length counts), and the count, of which the high part lies above the flags.
const WORDS_WITH_RATES_LOG2: u32 = 1;
const AGE_BITS: u32 = 24;
const MAX_AGE: u64 = (1 << AGE_BITS) - 1;

/// A ring over the segments in flight. It grows to the largest window ever had, never per packet.
#[derive(Debug)]
pub struct Scoreboard {
    words: Box<[u64]>,
    mask: u32,
    /// Words of a segment, as a power of two.
    stride_log2: u32,
}

impl Scoreboard {
    /// An empty one; `with_rates` for controls that sample the delivery rate.
    pub fn new(with_rates: bool) -> Scoreboard {
        let stride_log2 = if with_rates { WORDS_WITH_RATES_LOG2 } else { 0 };
        Scoreboard {
            words: vec![0; (INITIAL as usize) << stride_log2].into(),
            mask: INITIAL - 1,
            stride_log2,
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
        let size = ((end - una) * 2).next_power_of_two().max(INITIAL);
        let stride_log2 = self.stride_log2;
        let mut other =
            Scoreboard { words: vec![0; (size as usize) << stride_log2].into(), mask: size - 1, stride_log2 };
        let stride = 1 << stride_log2;
        for seq in una..nxt {
            let (to, from) = (other.at(seq), self.at(seq));
            other.words[to..to + stride].copy_from_slice(&self.words[from..from + stride]);
        }
        *self = other;
    }

    #[inline(always)]
    fn at(&self, seq: u32) -> usize {
        ((seq & self.mask) as usize) << self.stride_log2
    }

    /// Records a transmission at `now`; flags become `flags`.
    #[inline(always)]
    pub fn sent(&mut self, seq: u32, now: u64, flags: u64) {
        self.words[self.at(seq)] = now << FLAG_BITS | flags;
    }

    /// It was sent at `at` in truth, a moment later than was thought.
    pub fn correct(&mut self, seq: u32, at: u64) {
        let later = at.saturating_sub(self.tx_ns(seq));
        let tag = self.at(seq);
        if let (2, Some([_, rest])) = (1 << self.stride_log2, self.words.get_mut(tag..tag + 2)) {
            *rest += (later / 1000) | ((later / 1000) << AGE_BITS);
        }
        let flags = self.words[tag] & ((1 << FLAG_BITS) - 1);
        self.words[tag] = at << FLAG_BITS | flags;
    }

    /// When it was last sent (ns).
    #[inline(always)]
    pub fn tx_ns(&self, seq: u32) -> u64 {
        self.words[self.at(seq)] >> FLAG_BITS
    }

    /// Its flags.
    #[inline(always)]
    pub fn flags(&self, seq: u32) -> u64 {
        self.words[self.at(seq)] & FLAGS
    }

    /// Its flags, and when it was last sent (ns).
    #[inline(always)]
    pub fn flags_and_tx_ns(&self, seq: u32) -> (u64, u64) {
        let word = self.words[self.at(seq)];
        (word & FLAGS, word >> FLAG_BITS)
    }

    /// How many buffers of the send queue end in these segments, and whether any of them was sent more than once.
    #[inline]
    pub fn passed(&self, from: u32, to: u32) -> (u32, bool) {
        let (mut buffers, mut any) = (0, 0);
        for seq in from..to {
            let word = self.words[self.at(seq)];
            buffers += (word & ENDS_BUFFER != 0) as u32;
            any |= word;
        }
        (buffers, any & EVER_RETRANS != 0)
    }

    /// The first from `seq` on, or `end`, that is not SACKed or is the last of its buffer.
    #[inline(always)]
    pub fn past_sacked(&self, mut seq: u32, end: u32) -> u32 {
        while seq < end && self.words[self.at(seq)] & (SACKED | ENDS_BUFFER) == SACKED {
            seq += 1;
        }
        seq
    }

    /// Sets and clears flags.
    #[inline(always)]
    pub fn change(&mut self, seq: u32, set: u64, clear: u64) {
        let w = &mut self.words[self.at(seq)];
        *w = (*w | set) & !clear;
    }

    /// Records a transmission at `now` with its rate tag; only with rates.
    #[inline(always)]
    pub fn sent_tagged(&mut self, seq: u32, now: u64, flags: u64, tag: RateTag) {
        let at = self.at(seq);
        if let Some([word, rest]) = self.words.get_mut(at..at + 2) {
            let age = |then: u64| (now.saturating_sub(then) / 1000).min(MAX_AGE);
            let limited = if tag.app_limited { APP_LIMITED } else { 0 };
            let high = u64::from(tag.delivered >> 16 & COUNT_HIGH) << COUNT_AT;
            *word = now << FLAG_BITS | high | flags | TAGGED | limited;
            *rest = u64::from(tag.delivered as u16) << (2 * AGE_BITS)
                | age(tag.first_tx_ns) << AGE_BITS
                | age(tag.delivered_ns);
        }
    }

    /// Its rate tag, if it was not taken before; only with rates.
    #[inline(always)]
    pub fn take_tag(&mut self, seq: u32) -> Option<RateTag> {
        let at = self.at(seq);
        let Some([word, rest]) = self.words.get_mut(at..at + 2) else { return None };
        if *word & TAGGED == 0 {
            return None;
        }
        *word &= !TAGGED;
        let sent = *word >> FLAG_BITS;
        Some(RateTag {
            delivered: ((*word >> COUNT_AT) as u32 & COUNT_HIGH) << 16 | (*rest >> (2 * AGE_BITS)) as u32,
            app_limited: *word & APP_LIMITED != 0,
            delivered_ns: sent.saturating_sub((*rest & MAX_AGE) * 1000).max(1),
            first_tx_ns: sent.saturating_sub((*rest >> AGE_BITS & MAX_AGE) * 1000),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window of more than 65,536 segments: what was delivered since one was sent is counted in full.
    #[test]
    fn tags_count_large_windows() {
        let mut board = Scoreboard::new(true);
        let now = 999_999_000_000_000;
        for delivered in [0, 65_535, 65_536, 1 << 21, (1 << 22) - 1, u32::MAX - 10] {
            let tag = RateTag {
                delivered,
                app_limited: true,
                delivered_ns: now - 2_000_000,
                first_tx_ns: now - 3_000_000,
            };
            board.sent_tagged(7, now, EVER_RETRANS, tag);
            board.change(7, SACKED | LOST, EVER_RETRANS);
            assert_eq!(board.flags_and_tx_ns(7), (SACKED | LOST, now));
            let tag = board.take_tag(7).expect("a tag");
            for since in [0, 1, 41_000, 65_536, 172_653, (1 << 22) - 1] {
                assert_eq!(tag.delivered_since(delivered.wrapping_add(since)), since);
            }
            assert!(tag.app_limited);
            assert_eq!((tag.delivered_ns, tag.first_tx_ns), (now - 2_000_000, now - 3_000_000));
            assert!(board.take_tag(7).is_none());
        }
    }
}
