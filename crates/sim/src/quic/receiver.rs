//! A receiver: which packets have arrived, which of the stream, and when that is told (RFC 9000 section 13.2).

use super::constants::{MAX_ACK_DELAY_NS, MOST_RANGES};
use super::ranges::Ranges;
use queuewright_scenario::packet::{QUIC_ACK_BYTES, QUIC_ACK_ECN_BYTES, QUIC_ACK_RANGE_BYTES};

/// Packets that are acknowledged together (RFC 9000 section 13.2.2).
const ACK_EVERY: u32 = 2;
/// The delay is told in units of 2^3 us (`ack_delay_exponent`).
const DELAY_UNIT_NS: u64 = 8_000;

/// An ACK frame (RFC 9000 section 19.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AckFrame {
    /// How long the packet with the largest number had been there (ns), as it is told.
    pub delay_ns: u64,
    /// Packets that came with CE so far; none: it has no ECN counts.
    pub ce: Option<u32>,
    ranges: [(u32, u32); MOST_RANGES],
    count: u8,
}

impl AckFrame {
    /// One with these ranges, which rise (first, one past the last), of which the highest count.
    pub fn new(ranges: &[(u32, u32)], delay_ns: u64, ce: Option<u32>) -> AckFrame {
        let mut all = [(0, 0); MOST_RANGES];
        let told = &ranges[ranges.len().saturating_sub(MOST_RANGES)..];
        all[..told.len()].copy_from_slice(told);
        AckFrame {
            delay_ns: delay_ns / DELAY_UNIT_NS * DELAY_UNIT_NS,
            ce,
            ranges: all,
            count: told.len() as u8,
        }
    }

    /// Its ranges, rising.
    pub fn ranges(&self) -> &[(u32, u32)] {
        &self.ranges[..usize::from(self.count)]
    }

    /// The largest number that it acknowledges.
    pub fn largest(&self) -> Option<u32> {
        self.ranges().last().map(|r| r.1 - 1)
    }

    /// Length of its packet (IP).
    pub fn ip_bytes(&self) -> u32 {
        let counts = if self.ce.is_some() { QUIC_ACK_ECN_BYTES } else { 0 };
        QUIC_ACK_BYTES + counts + QUIC_ACK_RANGE_BYTES * u32::from(self.count.saturating_sub(1))
    }
}

/// A receiver.
#[derive(Debug)]
pub struct Receiver {
    /// Packet numbers that have arrived.
    numbers: Ranges,
    /// When the largest of them did (ns).
    largest_at: u64,
    /// Packets that came since the last acknowledgement.
    waiting: u32,
    ack_at: u64,
    ecn: bool,
    ce: u32,
    /// Segments of the stream that have arrived.
    segments: Ranges,
}

impl Receiver {
    /// One that nothing has reached.
    pub fn new(ecn: bool) -> Receiver {
        Receiver {
            numbers: Ranges::default(),
            largest_at: 0,
            waiting: 0,
            ack_at: u64::MAX,
            ecn,
            ce: 0,
            segments: Ranges::default(),
        }
    }

    /// When the acknowledgement that waits is due (ns); `u64::MAX`: none waits.
    pub fn ack_at(&self) -> u64 {
        self.ack_at
    }

    /// Segments that have arrived from the first on without a gap.
    pub fn in_order(&self) -> u32 {
        self.segments.without_gap()
    }

    /// Its sender has the acknowledgement whose largest number is this: what lies below need not be told again (RFC 9000 section 13.2.4).
    pub fn is_heard(&mut self, largest: u32) {
        if self.numbers.first().is_some_and(|first| first < largest) {
            self.numbers.take(0, largest, |_, _| ());
        }
    }

    /// A packet arrives at `at`: the acknowledgement that it calls for at once, if it does.
    pub fn on_packet(&mut self, at: u64, number: u32, segment: u32, ce: bool) -> Option<AckFrame> {
        let next = self.numbers.get().last().map_or(0, |r| r.1);
        if !self.numbers.add(number) {
            return None;
        }
        self.numbers.keep(MOST_RANGES);
        self.segments.add(segment);
        self.ce += u32::from(ce);
        if number >= next {
            self.largest_at = at;
        }
        self.waiting += 1;
        // Section 13.2.1: what comes out of order, opens a gap or is marked is told of at once.
        if number != next || ce || self.waiting >= ACK_EVERY {
            return Some(self.acknowledge(at));
        }
        self.ack_at = at + MAX_ACK_DELAY_NS;
        None
    }

    /// The acknowledgement that waits, if it is due by `now`, and when it goes.
    pub fn due(&mut self, now: u64) -> Option<(u64, AckFrame)> {
        let at = self.ack_at;
        (at <= now).then(|| (at, self.acknowledge(at)))
    }

    fn acknowledge(&mut self, at: u64) -> AckFrame {
        self.waiting = 0;
        self.ack_at = u64::MAX;
        AckFrame::new(self.numbers.get(), at - self.largest_at, self.ecn.then_some(self.ce))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn told(frame: Option<AckFrame>) -> Vec<(u32, u32)> {
        frame.map_or(Vec::new(), |f| f.ranges().to_vec())
    }

    /// RFC 9000 section 13.2.2: every second packet is acknowledged, and within 25 ms each.
    #[test]
    fn every_second_packet_is_acknowledged() {
        let mut r = Receiver::new(false);
        assert_eq!(told(r.on_packet(10 * MS, 0, 0, false)), []);
        assert_eq!(r.ack_at(), 35 * MS);
        let frame = r.on_packet(12 * MS, 1, 1, false).expect("the second");
        assert_eq!((frame.ranges(), frame.delay_ns, frame.ce), (&[(0, 2)][..], 0, None));
        assert_eq!(r.ack_at(), u64::MAX);
        assert!(r.on_packet(20 * MS, 2, 2, false).is_none());
        assert!(r.due(45 * MS - 1).is_none());
        let (at, frame) = r.due(46 * MS).expect("it is due");
        // It says that packet 2 waited for 25 ms.
        assert_eq!((at, frame.delay_ns, frame.largest()), (45 * MS, 25 * MS, Some(2)));
        assert_eq!(r.in_order(), 3);
    }

    /// RFC 9000 section 13.2.1: at once where packets are missing before it, or where it comes late; not while an old gap stays.
    #[test]
    fn what_is_out_of_order_is_acknowledged_at_once() {
        let mut r = Receiver::new(false);
        assert_eq!(told(r.on_packet(0, 1, 1, false)), [(1, 2)]);
        assert_eq!(told(r.on_packet(1, 2, 2, false)), []);
        assert_eq!(told(r.on_packet(2, 5, 5, false)), [(1, 3), (5, 6)]);
        assert_eq!(told(r.on_packet(3, 4, 4, false)), [(1, 3), (4, 6)]);
        // The largest, of which the delay is told, came at 2 ns.
        assert_eq!(told(r.on_packet(4, 6, 6, false)), []);
        assert_eq!(told(r.on_packet(5, 0, 0, false)), [(0, 3), (4, 7)]);
        // A second copy has no other number, and says nothing.
        assert_eq!(told(r.on_packet(6, 0, 0, false)), []);
        assert_eq!((r.in_order(), r.ack_at()), (3, u64::MAX));
    }

    /// RFC 9000 section 13.2.4: what the sender has heard of is told no more; what arrives late below that still is.
    #[test]
    fn what_is_heard_is_told_no_more() {
        let mut r = Receiver::new(false);
        for n in [0, 2, 4] {
            r.on_packet(0, n, n, false);
        }
        r.is_heard(4);
        assert_eq!(told(r.on_packet(1, 6, 6, false)), [(4, 5), (6, 7)]);
        assert_eq!(told(r.on_packet(2, 1, 1, false)), [(1, 2), (4, 5), (6, 7)]);
        // Nothing that it has not seen is forgotten.
        r.is_heard(6);
        assert_eq!(told(r.on_packet(3, 7, 7, false)), []);
        assert_eq!(told(r.on_packet(3, 8, 8, false)), [(6, 9)]);
    }

    /// RFC 9000 sections 13.2.1 and 19.3.2: a mark is told of at once, and counted.
    #[test]
    fn marks_are_counted_and_told_of_at_once() {
        let mut r = Receiver::new(true);
        assert_eq!(r.on_packet(0, 0, 0, true).and_then(|f| f.ce), Some(1));
        assert!(r.on_packet(1, 1, 1, false).is_none());
        assert_eq!(r.on_packet(2, 2, 2, true).and_then(|f| f.ce), Some(2));
    }

    /// Of many gaps the highest are told; what an acknowledgement takes on the wire grows with them.
    #[test]
    fn an_acknowledgement_has_so_many_ranges() {
        let mut r = Receiver::new(true);
        let mut last = None;
        for n in 0..100 {
            last = r.on_packet(n, 2 * n as u32, 0, false);
        }
        let frame = last.expect("each opens a gap");
        assert_eq!((frame.ranges().len(), frame.largest()), (MOST_RANGES, Some(198)));
        assert_eq!(frame.ranges()[0], (198 - 62, 198 - 61));
        // 48 of IPv6 and UDP, 27 of header and tag, 10 of the frame; 12 of counts, and 4 for each range more.
        assert_eq!(frame.ip_bytes(), 48 + 27 + 10 + 12 + 31 * 4);
        assert_eq!(AckFrame::new(&[(0, 9)], 0, None).ip_bytes(), 85);
        // Section 19.3: in units of 8 us.
        assert_eq!(AckFrame::new(&[(0, 9)], 25_000_123, None).delay_ns, 25_000_000);
    }
}
