//! What became of packets, summed up between samples of a series.

use queuewright_sim::{Fate, Watched};

/// One interval.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    left: u32,
    waited_ns: u64,
    longest_ns: u64,
    drops: u32,
    marks: u32,
}

/// All intervals so far.
#[derive(Debug)]
pub struct Sums {
    interval_ns: u64,
    all: Vec<Sum>,
}

impl Sums {
    /// What a series has of them: names and units.
    pub const COLUMNS: [(&str, &str); 4] =
        [("sojourn", "ms"), ("longest_sojourn", "ms"), ("drops", "packets"), ("marks", "packets")];

    /// None yet.
    pub fn new(interval_ns: u64) -> Sums {
        Sums { interval_ns: interval_ns.max(1), all: Vec::new() }
    }

    /// Counts a packet, where it ends.
    pub fn count(&mut self, one: &Watched) {
        if one.fate == Fate::Waits {
            return;
        }
        // A sample says what was since the one before.
        let at = one.left_ns.div_ceil(self.interval_ns) as usize;
        if self.all.len() <= at {
            self.all.resize(at + 1, Sum::default());
        }
        let sum = &mut self.all[at];
        sum.marks += u32::from(one.marked);
        match one.fate {
            Fate::Sent => {
                let waited = one.left_ns - one.came_ns;
                sum.left += 1;
                sum.waited_ns += waited;
                sum.longest_ns = sum.longest_ns.max(waited);
            }
            Fate::Refused | Fate::Dropped => sum.drops += 1,
            Fate::Waits => {}
        }
    }

    /// The columns of a sample; times of none are no numbers.
    pub fn row(&self, sample: usize) -> [f64; 4] {
        let sum = self.all.get(sample).copied().unwrap_or_default();
        let ms = |ns: u64| if sum.left == 0 { f64::NAN } else { ns as f64 / 1e6 };
        [
            ms(sum.waited_ns) / f64::from(sum.left.max(1)),
            ms(sum.longest_ns),
            sum.drops.into(),
            sum.marks.into(),
        ]
    }
}
