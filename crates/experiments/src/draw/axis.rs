//! An axis: from values to places, and where its ticks are.

/// An axis. Places rise to the right and upwards, whichever way its values do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Axis {
    /// Left or lower end, and the other, as values.
    ends: [f64; 2],
    log: bool,
}

impl Axis {
    /// An axis with these ends, or with such as hold all `values` with some air.
    pub fn new(
        range: Option<[f64; 2]>,
        log: bool,
        values: impl Iterator<Item = f64>,
        from_zero: bool,
    ) -> Axis {
        if let Some(ends) = range {
            return Axis { ends, log };
        }
        let usable = values.filter(|v| v.is_finite() && (!log || *v > 0.0));
        let (mut lo, mut hi) =
            usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
        if lo > hi {
            (lo, hi) = if log { (1.0, 10.0) } else { (0.0, 1.0) };
        }
        if log {
            return Axis { ends: [lo / 1.3, hi * 1.3], log };
        }
        if from_zero && lo > 0.0 {
            lo = 0.0;
        }
        let air = if hi > lo { (hi - lo) * 0.06 } else { (hi.abs() * 0.1).max(1e-9) };
        let below = if from_zero && lo == 0.0 { 0.0 } else { air };
        Axis { ends: [lo - below, hi + air], log }
    }

    /// Place of a value.
    pub fn at(&self, value: f64) -> f64 {
        let value = if self.log { value.max(f64::MIN_POSITIVE).log10() } else { value };
        if self.ends[0] > self.ends[1] { -value } else { value }
    }

    /// Places of both ends.
    pub fn places(&self) -> std::ops::Range<f64> {
        self.at(self.ends[0])..self.at(self.ends[1])
    }

    /// A place of an end, if a place is beyond it.
    pub fn clamp(&self, place: f64) -> f64 {
        let ends = self.places();
        place.clamp(ends.start, ends.end)
    }

    fn value(&self, place: f64) -> f64 {
        let value = if self.ends[0] > self.ends[1] { -place } else { place };
        if self.log { 10f64.powf(value) } else { value }
    }

    /// Places of about so many ticks.
    pub fn ticks(&self, about: usize) -> Vec<f64> {
        let (lo, hi) = (self.ends[0].min(self.ends[1]), self.ends[0].max(self.ends[1]));
        let values = if self.log { decades(lo, hi) } else { steps(lo, hi, about) };
        let mut places: Vec<f64> = values.into_iter().map(|v| self.at(v)).collect();
        places.sort_by(f64::total_cmp);
        places
    }

    /// The number at a tick's place.
    pub fn label(&self, place: f64) -> String {
        let value = self.value(place);
        if value.abs() < 1e-9 {
            return "0".into();
        }
        let digits = (2 - value.abs().log10().floor() as i32).clamp(0, 6) as usize;
        let text = format!("{value:.digits$}");
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
    }
}

/// Multiples of 1, 2 or 5 times a power of ten.
fn steps(lo: f64, hi: f64, about: usize) -> Vec<f64> {
    let raw = (hi - lo) / about.max(1) as f64;
    if raw.is_nan() || raw <= 0.0 {
        return vec![lo];
    }
    let power = 10f64.powf(raw.log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|s| *s >= raw * 0.999).unwrap_or(power);
    let first = (lo / step - 1e-9).ceil() as i64;
    let last = (hi / step + 1e-9).floor() as i64;
    (first..=last).map(|i| i as f64 * step).collect()
}

/// 1, 2, 5 times powers of ten; powers alone over a wide range.
fn decades(lo: f64, hi: f64) -> Vec<f64> {
    let range = lo.log10().floor() as i32..=hi.log10().ceil() as i32;
    let within: &[f64] = if hi / lo > 2e3 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let all = range.flat_map(|p| within.iter().map(move |m| m * 10f64.powi(p)));
    all.filter(|v| *v >= lo * 0.999 && *v <= hi * 1.001).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers() {
        let labels = |axis: Axis, n| axis.ticks(n).iter().map(|t| axis.label(*t)).collect::<Vec<_>>();
        let plain = |ends, log| Axis::new(Some(ends), log, std::iter::empty(), false);
        assert_eq!(labels(plain([0.0, 30.0], false), 6), ["0", "5", "10", "15", "20", "25", "30"]);
        assert_eq!(labels(plain([0.8, 1.0], false), 4), ["0.8", "0.85", "0.9", "0.95", "1"]);
        assert_eq!(labels(plain([1.0, 200.0], true), 4), ["1", "2", "5", "10", "20", "50", "100", "200"]);
        // The other way round: the largest is on the left.
        assert_eq!(labels(plain([100.0, 0.0], false), 4), ["100", "50", "0"]);
    }
}
