//! The SACK blocks that a receiver tells of, newest first (`selective_acks`).

use crate::packet::MAX_SACKS;

/// Blocks that are remembered (`TCP_NUM_SACKS`).
const REMEMBERED: usize = 4;
/// Blocks of which each acknowledgement is hoped to arrive: before another one changes, it is told of (`TCP_SACK_BLOCKS_EXPECTED`).
const EXPECTED: usize = 2;

/// The SACK blocks that a receiver tells of.
#[derive(Debug, Default)]
pub struct SackBlocks {
    blocks: [(u32, u32); REMEMBERED],
    count: u8,
}

impl SackBlocks {
    /// All of them.
    #[inline]
    pub fn get(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.count)]
    }

    /// The first of them, as many as an acknowledgement has room for, and how many these are: what is behind them means nothing.
    #[inline]
    pub fn first(&self) -> ([(u32, u32); MAX_SACKS], u8) {
        let b = &self.blocks;
        ([b[0], b[1], b[2]], self.count.min(MAX_SACKS as u8))
    }

    /// None is left.
    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// `tcp_sack_extend`
    #[inline]
    pub fn extend(block: &mut (u32, u32), (seq, end): (u32, u32)) -> bool {
        let touches = seq <= block.1 && block.0 <= end;
        if touches {
            *block = (block.0.min(seq), block.1.max(end));
        }
        touches
    }

    /// Would what comes from `seq` to `end` begin or change a block behind the first two? Then an acknowledgement that waits goes first,
    /// and tells of the block as it becomes.
    #[cold]
    pub fn hides(&mut self, range: (u32, u32)) -> bool {
        let touched =
            self.blocks[..usize::from(self.count)].iter_mut().position(|b| SackBlocks::extend(b, range));
        touched.unwrap_or(self.count.into()) >= EXPECTED
    }

    /// `tcp_sack_new_ofo_skb`: what came out of order, new or not, goes to the front, with the block that it touches and those that
    /// this one then does (`tcp_sack_maybe_coalesce`); the last of four is forgotten.
    pub fn add(&mut self, range: (u32, u32)) {
        let count = usize::from(self.count);
        let mut first = range;
        let touched = self.blocks[..count].iter().position(|&b| SackBlocks::extend(&mut first, b));
        // Those before it move down, into its place or a new one.
        let place = touched.unwrap_or(count.min(REMEMBERED - 1));
        self.blocks.copy_within(..place, 1);
        self.blocks[0] = first;
        if touched.is_none() {
            self.count = (count + 1).min(REMEMBERED) as u8;
            return;
        }
        let mut n = 1;
        for i in 1..count {
            let block = self.blocks[i];
            if !SackBlocks::extend(&mut self.blocks[0], block) {
                self.blocks[n] = block;
                n += 1;
            }
        }
        self.count = n as u8;
    }

    /// What came goes on where the first block ends, and nothing came that lies above: the most frequent case of [`SackBlocks::add`].
    #[inline]
    pub fn goes_on(&mut self, (seq, end): (u32, u32)) -> bool {
        let goes_on = self.count > 0 && self.blocks[0].1 == seq;
        if goes_on {
            self.blocks[0].1 = end;
        }
        goes_on
    }

    /// `tcp_sack_remove`: what is below the next expected is told of no more.
    pub fn remove_to(&mut self, next: u32) {
        let mut n = 0;
        for i in 0..usize::from(self.count) {
            if self.blocks[i].0 > next {
                self.blocks[n] = self.blocks[i];
                n += 1;
            }
        }
        self.count = n as u8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ranges: &[(u32, u32)]) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        ranges.iter().for_each(|&r| blocks.add(r));
        blocks
    }

    #[test]
    fn the_newest_is_first_and_four_are_remembered() {
        let mut b = of(&[(40, 41), (22, 23), (24, 25), (26, 27), (28, 29)]);
        assert_eq!(b.get(), [(28, 29), (26, 27), (24, 25), (22, 23)]);
        b.remove_to(25);
        assert_eq!(b.get(), [(28, 29), (26, 27)]);
    }

    /// `tcp_sack_new_ofo_skb` knows blocks, not what lies in the queue: beside a range that is forgotten begins a new one.
    #[test]
    fn what_is_forgotten_does_not_come_back() {
        let b = of(&[(40, 41), (22, 23), (24, 25), (26, 27), (28, 29), (41, 42)]);
        assert_eq!(b.get()[0], (41, 42));
    }

    #[test]
    fn a_block_that_grows_swallows_those_it_reaches() {
        let b = of(&[(10, 11), (20, 21), (12, 13), (11, 12)]);
        assert_eq!(b.get(), [(10, 13), (20, 21)]);
    }

    #[test]
    fn a_third_block_is_told_of_as_it_becomes() {
        let mut b = of(&[(10, 11), (20, 21), (30, 31)]);
        assert!(!b.hides((31, 32)) && !b.hides((21, 22)));
        assert!(b.hides((11, 12)) && b.hides((50, 51)));
        assert_eq!(b.get(), [(30, 32), (20, 22), (10, 12)]);
    }
}
