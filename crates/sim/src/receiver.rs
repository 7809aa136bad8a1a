//! A TCP receiver: reassembly, delayed and quick ACKs, SACK blocks, ECN echo.

use crate::flow::MSS;
use crate::port::flag;
use crate::sender::StackRules;

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
/// Segments acknowledged at once after a duplicate (`TCP_MAX_QUICKACKS`).
const QUICK_AFTER_DUPLICATE: u32 = 16;
/// Longest compression (`tcp_comp_sack_delay_ns`).
const COMPRESS_NS: u64 = 1_000_000;

/// A TCP receiver. Its fields lie in the order of their use: see `Sender`.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Receiver {
    /// When a delayed or compressed ACK is due (ns); `u64::MAX`: none waits.
    ack_at: u64,
    /// When its client asks for more (ns); `u64::MAX`: it does not.
    asks_at: u64,
    rules: &'static StackRules,
    /// Out-of-order ranges, rising, apart.
    ranges: Vec<(u32, u32)>,
    /// Next segment expected.
    pub rcv_nxt: u32,
    /// `rcv_nxt` at the last ACK (`rcv_wup`).
    acked_to: u32,
    quick_acks: u32,
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
    compress_ns: u64,
    /// For how many segments the client asks.
    asks_for: u32,
}

impl Receiver {
    /// A receiver of a path with the given base RTT (ns). `echoes_each`: ECE echoes the CE of each segment, as
    /// DCTCP needs it.
    pub fn new(rules: &'static StackRules, base_rtt_ns: u64, echoes_each: bool) -> Receiver {
        Receiver {
            quick_acks: rules.quick_acks,
            rules,
            rcv_nxt: 0,
            acked_to: 0,
            ranges: Vec::new(),
            blocks: [(0, 0); 4],
            block_count: 0,
            ts_recent: 0,
            echoes_each,
            ece: false,
            dsack: None,
            dup_acks: 0,
            dup_acks_at: 0,
            compressed: 0,
            // 5 % of the RTT, at most 1 ms.
            compress_ns: (base_rtt_ns / 20).min(COMPRESS_NS),
            ack_at: u64::MAX,
            asks_at: u64::MAX,
            asks_for: 0,
        }
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
    pub fn blocks(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.block_count)]
    }

    /// The delayed or compressed ACK, if it is due by `now`.
    #[inline]
    pub fn due(&mut self, now: u64) -> Option<AckOut> {
        (self.ack_at <= now).then(|| self.make_ack(self.ack_at))
    }

    /// Must the ACK that waits go before a segment with these flags is worked in, at `at`? If it is due; or if
    /// the segment's CE differs from that of those it answers (`dctcp_ece_ack_update`).
    #[inline]
    pub fn goes_first(&self, at: u64, flags: u8) -> bool {
        self.ack_at <= at
            || (self.echoes_each
                && self.ack_at != u64::MAX
                && self.compressed == 0
                && (flags & flag::CE != 0) != self.ece)
    }

    /// The ACK that waits goes out, when it is due or at `at`, whatever is first.
    pub fn flush(&mut self, at: u64) -> AckOut {
        self.make_ack(self.ack_at.min(at))
    }

    /// Segment `seq` arrives at `at`. Returns the ACK it calls for. A caller first asks [`Receiver::goes_first`].
    #[inline]
    pub fn on_data(&mut self, at: u64, seq: u32, ts: u32, flags: u8) -> Option<AckOut> {
        let now = (self.echoes_each || flags & (flag::CE | flag::CWR) != 0) && self.see_ecn(flags);
        // RFC 7323 section 4.3: the echo is of what moves the left edge.
        if seq <= self.acked_to {
            self.ts_recent = ts;
        }
        if seq == self.rcv_nxt {
            self.rcv_nxt += 1;
            if !self.ranges.is_empty() {
                self.fill();
                // RFC 5681 section 4.2: a filled gap is told at once.
                if self.ranges.is_empty() {
                    return Some(self.make_ack(at));
                }
                return self.out_of_order_ack(at, now);
            }
            if self.rcv_nxt - self.acked_to >= self.rules.ack_every
                || self.quick_acks > 0
                || now
                || self.pushed(seq)
            {
                return Some(self.make_ack(at));
            }
            if self.ack_at == u64::MAX {
                self.ack_at = at + self.rules.delayed_ack_ns;
            }
            return None;
        }
        if seq < self.rcv_nxt || !self.store(seq) {
            // A duplicate: report it (RFC 2883) at once, and stay quick for a while.
            self.dsack = Some((seq, seq + 1));
            self.quick_acks = self.quick_acks.max(QUICK_AFTER_DUPLICATE);
            return Some(self.make_ack(at));
        }
        self.out_of_order_ack(at, now)
    }

    /// `tcp_ecn_accept_cwr`, `tcp_ecn_check_ce`, `dctcp_ece_ack_update`: must the ACK go at once?
    fn see_ecn(&mut self, flags: u8) -> bool {
        let (ce, cwr) = (flags & flag::CE != 0, flags & flag::CWR != 0);
        let was = self.ece;
        if self.echoes_each {
            self.ece = ce;
            return cwr || ce != was;
        }
        self.ece = ce || (was && !cwr);
        if ce && (cwr || !was) {
            // A first mark is told at once (`tcp_enter_quickack_mode(sk, 2)`).
            self.quick_acks = self.quick_acks.max(2);
        }
        // A sender that has reduced its window may have nothing else on its way.
        cwr
    }

    /// Does a write of the application end in this segment?
    #[inline]
    fn pushed(&self, seq: u32) -> bool {
        let end = (u64::from(seq) + 1) * u64::from(MSS);
        // The write's size is a power of two.
        self.rules.write_bytes > 0 && end & (self.rules.write_bytes - 1) < u64::from(MSS)
    }

    /// Adds an out-of-order segment and puts its block first; false if it was there.
    fn store(&mut self, seq: u32) -> bool {
        // Most often it lies above all others, next to the last one or after a loss.
        let above = match self.ranges.last_mut() {
            Some(last) if last.1 == seq => {
                last.1 = seq + 1;
                Some(*last)
            }
            Some(last) if last.1 > seq => None,
            _ => {
                self.ranges.push((seq, seq + 1));
                Some((seq, seq + 1))
            }
        };
        let Some(range) = above.or_else(|| self.store_between(seq)) else { return false };
        // The newest goes first, less the blocks that it has swallowed.
        if self.block_count > 0 && self.blocks[0] == (range.0, seq) && range.1 == seq + 1 {
            self.blocks[0] = range;
            return true;
        }
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
        true
    }

    /// Adds a segment below the end of the last range: the range it is then in, none if it was in one.
    fn store_between(&mut self, seq: u32) -> Option<(u32, u32)> {
        let i = self.ranges.partition_point(|r| r.1 < seq);
        // ranges[i] is the first that ends at or after seq.
        match self.ranges.get(i).copied() {
            Some((lo, hi)) if hi == seq => {
                let mut grown = (lo, seq + 1);
                if let Some(&(next_lo, next_hi)) = self.ranges.get(i + 1)
                    && next_lo == seq + 1
                {
                    grown.1 = next_hi;
                    self.ranges.remove(i + 1);
                }
                self.ranges[i] = grown;
                Some(grown)
            }
            Some((lo, _)) if lo <= seq => None,
            Some((lo, hi)) if lo == seq + 1 => {
                self.ranges[i] = (seq, hi);
                Some((seq, hi))
            }
            _ => {
                self.ranges.insert(i, (seq, seq + 1));
                Some((seq, seq + 1))
            }
        }
    }

    /// In-order data reached the first range: takes it in.
    fn fill(&mut self) {
        while let Some(&(lo, hi)) = self.ranges.first()
            && lo <= self.rcv_nxt
        {
            self.rcv_nxt = self.rcv_nxt.max(hi);
            self.ranges.remove(0);
        }
        let mut n = 0;
        for i in 0..usize::from(self.block_count) {
            if self.blocks[i].1 > self.rcv_nxt {
                self.blocks[n] = self.blocks[i];
                n += 1;
            }
        }
        if n == 0
            && let Some(&last) = self.ranges.last()
        {
            self.blocks[0] = last;
            n = 1;
        }
        self.block_count = n as u8;
    }

    /// `__tcp_ack_snd_check` with data out of order: at once, or compressed.
    fn out_of_order_ack(&mut self, at: u64, now: bool) -> Option<AckOut> {
        if now || !self.rules.compress_sacks || self.compressed >= COMPRESS_LIMIT {
            return Some(self.make_ack(at));
        }
        if self.dup_acks_at != self.rcv_nxt {
            self.dup_acks_at = self.rcv_nxt;
            self.dup_acks = 0;
        }
        if self.dup_acks < DUP_ACKS_AT_ONCE {
            self.dup_acks += 1;
            return Some(self.make_ack(at));
        }
        self.compressed += 1;
        if self.compressed == 1 {
            self.ack_at = self.ack_at.min(at + self.compress_ns);
        }
        None
    }

    fn make_ack(&mut self, at: u64) -> AckOut {
        self.acked_to = self.rcv_nxt;
        self.quick_acks = self.quick_acks.saturating_sub(1);
        self.ack_at = u64::MAX;
        self.compressed = 0;
        let flags = if self.ece { flag::ECE } else { 0 };
        AckOut { at, cum: self.rcv_nxt, ts: self.ts_recent, flags, dsack: self.dsack.take() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use queuewright_scenario::spec::Stack;

    #[test]
    fn acks_every_second_segment_after_the_quick_start() {
        const RULES: StackRules = StackRules { quick_acks: 16, write_bytes: 0, ..StackRules::LINUX };
        let mut r = Receiver::new(&RULES, 40_000_000, false);
        let acks: Vec<bool> = (0..24).map(|i| r.on_data(i, i as u32, 0, 0).is_some()).collect();
        assert_eq!(acks[..16], [true; 16]);
        assert_eq!(acks[16..], [false, true, false, true, false, true, false, true]);
        // A lone segment waits 40 ms.
        assert!(r.on_data(100, 24, 0, 0).is_none());
        assert_eq!(r.ack_at(), 100 + 40_000_000);
        assert_eq!(r.due(100 + 40_000_000).unwrap().cum, 25);
    }

    #[test]
    fn compresses_sacks_after_three() {
        let mut r = Receiver::new(StackRules::of(Stack::Linux), 40_000_000, false);
        for i in 0..20 {
            r.on_data(0, i, 0, 0);
        }
        let acks: Vec<bool> = (21..30).map(|i| r.on_data(1000, i, 0, 0).is_some()).collect();
        assert_eq!(acks, [true, true, true, false, false, false, false, false, false]);
        assert_eq!(r.due(1_001_000).unwrap().cum, 20);
        assert_eq!(r.blocks(), [(21, 30)]);
        // The hole filled is told at once, with everything.
        assert_eq!(r.on_data(2_000_000, 20, 0, 0).unwrap().cum, 30);
        assert!(r.blocks().is_empty());
    }

    /// RFC 8257 section 3.2: an ACK answers segments of one CE state only, and says which.
    #[test]
    fn echoes_each_mark() {
        const RULES: StackRules = StackRules { quick_acks: 0, write_bytes: 0, ..StackRules::LINUX };
        let mut r = Receiver::new(&RULES, 40_000_000, true);
        let mut told = Vec::new();
        let marks = [0, 0, 0, 1, 1, 1, 1, 0, 1, 0, 0, 0, 0, 1, 1];
        for (i, ce) in marks.into_iter().enumerate() {
            let flags = ce * flag::CE;
            if r.goes_first(i as u64, flags) {
                told.push(r.flush(i as u64));
            }
            told.extend(r.on_data(i as u64, i as u32, 0, flags));
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
                let ack = r.on_data(i as u64, seq, 0, 0);
                have[seq as usize] = true;
                let edge = have.iter().position(|h| !h).unwrap_or(60) as u32;
                prop_assert_eq!(r.rcv_nxt, edge);
                if let Some(ack) = ack { prop_assert_eq!(ack.dsack.is_some(), dup); }
                let mut said = [false; 60];
                for (lo, hi) in &r.ranges { for s in *lo..*hi { said[s as usize] = true } }
                for s in 0..60u32 { prop_assert_eq!(said[s as usize], have[s as usize] && s >= edge); }
                for b in r.blocks() { prop_assert!(r.ranges.contains(b), "{:?} {:?}", b, r.ranges); }
            }
        }
    }
}
