//! Fewer points for the pictures, without losing an extreme.

use crate::summary::Spread;
use queuewright_results::Series;

/// Thins a series to at most `limit` samples. The run is cut into `limit / 2`
/// stretches, of which two points stay, at the first and the middle sample time:
/// the smallest and the largest value, in the order in which they came; of rates
/// (unit `bit/s`), which are means already, the means of both halves. All quantities
/// stay on one clock; a shift in time is less than one stretch.
pub(crate) fn series(series: &mut Series, limit: usize) {
    let samples = series.time_s.len();
    let stretches = limit / 2;
    if samples <= limit || stretches == 0 {
        return;
    }
    let bounds: Vec<(usize, usize)> =
        (0..stretches).map(|i| (i * samples / stretches, (i + 1) * samples / stretches)).collect();
    for column in &mut series.columns {
        // Never shorter than the clock, so that the stretches exist in every column.
        column.values.resize(samples, f64::NAN);
        let two = if column.unit == "bit/s" { halves } else { extremes };
        column.values = bounds.iter().flat_map(|&(from, to)| two(&column.values[from..to])).collect();
    }
    series.time_s =
        bounds.iter().flat_map(|&(from, to)| [series.time_s[from], series.time_s[(from + to) / 2]]).collect();
}

/// Smallest and largest value in the order of their places; NaN where there is none.
fn extremes(values: &[f64]) -> [f64; 2] {
    let known = || values.iter().enumerate().filter(|(_, v)| v.is_finite());
    let low = known().min_by(|a, b| a.1.total_cmp(b.1));
    let high = known().max_by(|a, b| a.1.total_cmp(b.1));
    match (low, high) {
        (Some((i, &low)), Some((k, &high))) => {
            if i <= k {
                [low, high]
            } else {
                [high, low]
            }
        }
        _ => [f64::NAN; 2],
    }
}

/// Means of the two halves; NaN where nothing is known.
fn halves(values: &[f64]) -> [f64; 2] {
    let mean = |half: &[f64]| Spread::of(half.iter().copied()).mean;
    let (first, second) = values.split_at(values.len() / 2);
    [mean(first), mean(second)]
}

/// Thins a rising curve to at most `limit` points, its ends among them.
pub(crate) fn curve(points: &[(f64, f64)], limit: usize) -> Vec<(f64, f64)> {
    if points.len() <= limit || limit < 2 {
        return points.to_vec();
    }
    (0..limit).map(|i| points[i * (points.len() - 1) / (limit - 1)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use queuewright_results::Column;

    fn made(values: Vec<f64>) -> Series {
        Series {
            time_s: (0..values.len()).map(|i| i as f64).collect(),
            columns: vec![Column { values, ..Column::default() }],
        }
    }

    proptest! {
        #[test]
        fn extremes_stay(values in prop::collection::vec(prop::num::f64::ANY, 0..500), limit in 0usize..100) {
            let mut series = made(values.clone());
            super::series(&mut series, limit);
            let kept = &series.columns[0].values;
            prop_assert_eq!(series.time_s.len(), kept.len());
            prop_assert!(kept.len() <= limit.max(2) || limit < 2);
            prop_assert!(series.time_s.windows(2).all(|w| w[0] <= w[1]));
            let finite = |v: &[f64]| v.iter().copied().filter(|v| v.is_finite()).collect::<Vec<_>>();
            for pick in [f64::min, f64::max] {
                let reduce = |v: &[f64]| finite(v).into_iter().reduce(pick);
                prop_assert_eq!(reduce(kept), reduce(&values));
            }
        }
    }

    #[test]
    fn a_spike_survives_in_place() {
        let mut values = vec![1.0; 10_000];
        values[7_777] = 99.0;
        let mut series = made(values);
        super::series(&mut series, 200);
        let at = series.columns[0].values.iter().position(|&v| v == 99.0).unwrap();
        assert_eq!(series.time_s.len(), 200);
        assert!((series.time_s[at] - 7_777.0).abs() <= 100.0);
    }

    #[test]
    fn rates_keep_their_mean() {
        let mut series = made((0..1000).map(|i| f64::from(i % 10)).collect());
        series.columns[0].unit = "bit/s".into();
        super::series(&mut series, 100);
        let values = &series.columns[0].values;
        assert_eq!(values.len(), 100);
        // Stretches of 20 hold two periods: 0 to 9 twice.
        assert!(values.iter().all(|v| (v - 4.5).abs() < 1e-9), "{values:?}");
    }

    #[test]
    fn short_columns_are_padded() {
        let mut series = made(vec![1.0; 100]);
        series.columns[0].values.truncate(3);
        super::series(&mut series, 10);
        assert_eq!(series.columns[0].values.len(), series.time_s.len());
    }

    #[test]
    fn curves_keep_their_ends() {
        let points: Vec<(f64, f64)> = (0..1000).map(|i| (f64::from(i), f64::from(i))).collect();
        let thin = curve(&points, 7);
        assert_eq!((thin.len(), thin[0], thin[6]), (7, points[0], points[999]));
    }
}
