//! Sets of numbers as ranges: packet numbers that are in flight or have arrived, segments that are acknowledged.

/// A set of numbers, as ranges (first, one past the last) that rise and do not touch. There are as many as there are gaps: few.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ranges(Vec<(u32, u32)>);

impl Ranges {
    /// The ranges, rising.
    pub fn get(&self) -> &[(u32, u32)] {
        &self.0
    }

    /// The lowest number.
    pub fn first(&self) -> Option<u32> {
        self.0.first().map(|r| r.0)
    }

    /// Is a number there?
    pub fn has(&self, n: u32) -> bool {
        let at = self.0.partition_point(|r| r.1 <= n);
        self.0.get(at).is_some_and(|r| r.0 <= n)
    }

    /// One past the numbers that are there from 0 on without a gap.
    pub fn without_gap(&self) -> u32 {
        self.0.first().filter(|r| r.0 == 0).map_or(0, |r| r.1)
    }

    /// Adds a number. Was it not there?
    pub fn add(&mut self, n: u32) -> bool {
        // Most often it is next to the highest.
        if let Some(last) = self.0.last_mut()
            && last.1 == n
        {
            last.1 += 1;
            return true;
        }
        let at = self.0.partition_point(|r| r.1 < n);
        match self.0.get(at).copied() {
            Some((from, to)) if from <= n && n < to => return false,
            Some((_, to)) if to == n => {
                self.0[at].1 += 1;
                if let Some(&(from, to)) = self.0.get(at + 1)
                    && from == n + 1
                {
                    self.0[at].1 = to;
                    self.0.remove(at + 1);
                }
            }
            Some((from, _)) if from == n + 1 => self.0[at].0 = n,
            _ => self.0.insert(at, (n, n + 1)),
        }
        true
    }

    /// Takes out what lies from `lo` to below `hi`; `each` is told of what was there, rising.
    pub fn take(&mut self, lo: u32, hi: u32, mut each: impl FnMut(u32, u32)) {
        if lo >= hi {
            return;
        }
        let mut at = self.0.partition_point(|r| r.1 <= lo);
        while let Some(&(first, end)) = self.0.get(at) {
            if first >= hi {
                return;
            }
            let (from, to) = (first.max(lo), end.min(hi));
            each(from, to);
            match (first < from, to < end) {
                (true, true) => {
                    self.0[at].1 = from;
                    return self.0.insert(at + 1, (to, end));
                }
                (true, false) => {
                    self.0[at].1 = from;
                    at += 1;
                }
                (false, true) => {
                    self.0[at].0 = to;
                    return;
                }
                (false, false) => drop(self.0.remove(at)),
            }
        }
    }

    /// Forgets the lowest ranges, so that no more than `most` are left.
    pub fn keep(&mut self, most: usize) {
        if self.0.len() > most {
            self.0.drain(..self.0.len() - most);
        }
    }

    /// Nothing is left.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// The same as a set of numbers, whatever is added and taken.
        #[test]
        fn is_a_set(steps in prop::collection::vec((0..40u32, 0..12u32, any::<bool>()), 0..120)) {
            let (mut ranges, mut set) = (Ranges::default(), BTreeSet::new());
            for (n, len, adds) in steps {
                if adds {
                    prop_assert_eq!(ranges.add(n), set.insert(n));
                } else {
                    let mut taken = Vec::new();
                    ranges.take(n, n + len, |from, to| taken.extend(from..to));
                    let there: Vec<u32> = set.range(n..n + len).copied().collect();
                    set.retain(|m| !there.contains(m));
                    prop_assert_eq!(taken, there);
                }
                let all: Vec<u32> = ranges.get().iter().flat_map(|r| r.0..r.1).collect();
                prop_assert_eq!(&all, &set.iter().copied().collect::<Vec<_>>());
                // They rise, and no two touch.
                prop_assert!(ranges.get().windows(2).all(|w| w[0].1 < w[1].0));
                prop_assert!((0..52).all(|m| ranges.has(m) == set.contains(&m)));
                prop_assert_eq!(ranges.first(), set.first().copied());
                prop_assert_eq!(ranges.without_gap(), (0..).find(|m| !set.contains(m)).unwrap_or(0));
            }
        }
    }

    #[test]
    fn the_lowest_are_forgotten() {
        let mut ranges = Ranges::default();
        for n in [0, 2, 4, 6] {
            ranges.add(n);
        }
        ranges.keep(2);
        assert_eq!(ranges.get(), [(4, 5), (6, 7)]);
    }
}
