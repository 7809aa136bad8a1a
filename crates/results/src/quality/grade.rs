//! The letter of a bufferbloat test: how much longer a round trip takes under load.

/// A grade, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Grade {
    APlus,
    A,
    B,
    C,
    D,
    F,
}

/// Mean latency that load may add for a grade, ms; more than the last is F. DSLReports (faq/17930) and Waveform.
const BELOW_MS: [(f64, Grade); 5] =
    [(5.0, Grade::APlus), (30.0, Grade::A), (60.0, Grade::B), (200.0, Grade::C), (400.0, Grade::D)];

impl Grade {
    /// Of the mean latency under load less that without (ms); none where it is not known.
    pub fn of(added_ms: f64) -> Option<Grade> {
        (!added_ms.is_nan())
            .then(|| BELOW_MS.iter().find(|(below, _)| added_ms < *below).map_or(Grade::F, |(_, g)| *g))
    }

    /// As it is written.
    pub fn letter(self) -> &'static str {
        match self {
            Grade::APlus => "A+",
            Grade::A => "A",
            Grade::B => "B",
            Grade::C => "C",
            Grade::D => "D",
            Grade::F => "F",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_those_published() {
        let letters = [-1.0, 0.0, 4.99, 5.0, 29.9, 30.0, 59.9, 60.0, 199.9, 200.0, 399.9, 400.0, 1e9]
            .map(|ms| Grade::of(ms).unwrap().letter());
        assert_eq!(letters, ["A+", "A+", "A+", "A", "A", "B", "B", "C", "C", "D", "D", "F", "F"]);
        assert_eq!(Grade::of(f64::NAN), None);
    }
}
