//! Marks that are set on a flow's next packet that comes, not on the one that the discipline names: `crates/linux/bpf/marks.h`, a BPF
//! qdisc where no kernel module sets them. There flows have 4,096 places by their hash, and two in one place wipe out what the other is owed;
//! here each has its own.

use crate::packet::{Packet, flag};

/// Marks that a flow can be owed (`MOST_OWED`).
const MOST_OWED: u32 = 64;
/// All but one lapse where none has been asked for so long (`LAPSES_NS`).
const LAPSES_NS: u64 = 250_000_000;
/// The last one too (`LAST_LAPSES_NS`).
const LAST_LAPSES_NS: u64 = 10_000_000_000;

/// The marks that one flow is owed.
#[derive(Debug, Clone, Copy, Default)]
struct OwedMarks {
    /// When a mark was last asked for (ns).
    last_ns: u64,
    marks: u32,
}

/// Marks owed, by flow.
#[derive(Debug, Default)]
pub struct LateMarks(Vec<OwedMarks>);

impl LateMarks {
    /// A mark is asked for at `now`.
    pub fn ask(&mut self, now: u64, flow: u32) {
        let flow = flow as usize;
        if self.0.len() <= flow {
            self.0.resize(flow + 1, OwedMarks::default());
        }
        let owed = &mut self.0[flow];
        owed.last_ns = now;
        owed.marks = (owed.marks + 1).min(MOST_OWED);
    }

    /// The flow at an index is another.
    pub fn forget(&mut self, flow: u32) {
        if let Some(owed) = self.0.get_mut(flow as usize) {
            *owed = OwedMarks::default();
        }
    }

    /// A packet comes: it takes a mark that its flow is owed. The discipline is told of what it said before: CE without [`flag::ECT`],
    /// which nobody sends, stands for that until [`leave`].
    pub fn come(&mut self, p: &mut Packet) {
        let Some(owed) = self.0.get_mut(p.flow as usize).filter(|owed| owed.marks > 0) else { return };
        if p.enqueue_ns >= owed.last_ns + LAPSES_NS {
            owed.marks = u32::from(p.enqueue_ns < owed.last_ns + LAST_LAPSES_NS);
        }
        if owed.marks == 0 || p.flags & flag::ECT == 0 {
            return;
        }
        owed.marks -= 1;
        if p.flags & flag::CE == 0 {
            p.flags = p.flags & !flag::ECT | flag::CE;
        }
    }
}

/// A packet goes on: with the mark that it took.
pub fn leave(p: &mut Packet) {
    if p.flags & flag::CE != 0 {
        p.flags |= flag::ECT;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const FROM_ECT1: u8 = flag::ECT | flag::ECT1;

    fn packet(at: u64, flow: u32, flags: u8) -> Packet {
        Packet { enqueue_ns: at, flow, flags, ..Packet::default() }
    }

    /// Does a packet that comes leave with CE?
    fn marked(marks: &mut LateMarks, at: u64, flow: u32, flags: u8) -> bool {
        let mut p = packet(at, flow, flags);
        marks.come(&mut p);
        leave(&mut p);
        assert_eq!(p.flags & !flag::CE, flags & !flag::CE);
        p.flags & flag::CE != 0
    }

    #[test]
    fn the_flows_next_packet_that_can_be_told_has_the_mark() {
        for flags in [flag::ECT, FROM_ECT1] {
            let mut marks = LateMarks::default();
            assert!(!marked(&mut marks, 0, 3, flags));
            marks.ask(5, 3);
            marks.ask(6, 3);
            // Another flow's packet has none of it, nor has one whose sender cannot be told.
            assert!(!marked(&mut marks, 7, 4, flags));
            assert!(!marked(&mut marks, 7, 3, 0));
            assert!(marked(&mut marks, 8, 3, flags));
            assert!(marked(&mut marks, 9, 3, flags));
            assert!(!marked(&mut marks, 10, 3, flags));
        }
    }

    /// One that had CE takes it as well, as `bpf_skb_ecn_set_ce` sets it again.
    #[test]
    fn a_mark_on_a_marked_packet_is_gone() {
        let mut marks = LateMarks::default();
        marks.ask(0, 0);
        assert!(marked(&mut marks, 1, 0, flag::ECT | flag::CE));
        assert!(!marked(&mut marks, 2, 0, flag::ECT));
    }

    #[test]
    fn at_most_64_are_owed_and_all_lapse() {
        let count = |after: u64| {
            let mut marks = LateMarks::default();
            (0..100).for_each(|_| marks.ask(0, 0));
            (0..200).filter(|_| marked(&mut marks, after, 0, flag::ECT)).count()
        };
        assert_eq!([0, 249 * MS, 250 * MS, 9_999 * MS, 10_000 * MS].map(count), [64, 64, 1, 1, 0]);
    }

    /// The numbers are the BPF program's.
    #[test]
    fn what_is_owed_is_as_in_bpf() {
        let bpf = include_str!("../../linux/bpf/marks.h");
        let is = |line: String| assert!(bpf.lines().any(|l| l == line), "{line}");
        is(format!("#define MOST_OWED {MOST_OWED}u"));
        is(format!("#define LAPSES_NS ({} * QW_NS_PER_MS)", LAPSES_NS / 1_000_000));
        is(format!("#define LAST_LAPSES_NS ({} * QW_NS_PER_SEC)", LAST_LAPSES_NS / 1_000_000_000));
    }

    #[test]
    fn another_flow_at_the_same_index_owes_nothing() {
        let mut marks = LateMarks::default();
        marks.ask(0, 2);
        marks.forget(2);
        assert!(!marked(&mut marks, 1, 2, flag::ECT));
    }
}
