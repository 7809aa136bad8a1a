//! How sure a mean of few values is: Student's t.

/// Student's t that a mean of n values leaves with a probability of `error`, to both sides together; NaN below two values.
pub fn t(n: usize, error: f64) -> f64 {
    if n < 2 {
        return f64::NAN;
    }
    // Halving, until doubles have no number between: the probability is a series of cosines (Abramowitz and Stegun, 26.7.3 and 4).
    let (mut low, mut high) = (0.0, std::f64::consts::FRAC_PI_2);
    for _ in 0..60 {
        let angle = (low + high) / 2.0;
        *(if within(angle, n - 1) < 1.0 - error { &mut low } else { &mut high }) = angle;
    }
    low.tan() * ((n - 1) as f64).sqrt()
}

/// The 95 % confidence interval of the mean of these; NaN of fewer than two.
pub fn interval(values: &[f64]) -> [f64; 2] {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let half_width = t(values.len(), 0.05) * (variance / n).sqrt();
    [mean - half_width, mean + half_width]
}

/// The probability that |t| is below the tangent of an angle times the root of the degrees of freedom.
fn within(angle: f64, freedom: usize) -> f64 {
    let (sin, cos) = angle.sin_cos();
    let odd = freedom % 2 == 1;
    let (mut term, mut sum) = if odd { (cos, 0.0) } else { (1.0, 0.0) };
    let mut k = if odd { 1 } else { 0 };
    while k + 2 <= freedom {
        sum += term;
        term *= cos * cos * (k + 1) as f64 / (k + 2) as f64;
        k += 2;
    }
    if odd { (angle + sin * sum) * std::f64::consts::FRAC_2_PI } else { sin * sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t_is_as_printed() {
        for (n, error, printed) in [
            (2, 0.05, 12.706),
            (3, 0.05, 4.303),
            (4, 0.01, 5.841),
            (5, 0.001, 8.610),
            (11, 0.05, 2.228),
            (31, 0.01, 2.750),
            (61, 0.05, 2.000),
            (121, 0.05, 1.980),
            (121, 0.001, 3.373),
        ] {
            assert!((t(n, error) - printed).abs() < 6e-4, "{n} {error}: {}", t(n, error));
        }
        assert!(t(1, 0.05).is_nan());
    }

    #[test]
    fn few_values_say_little() {
        // By hand: t = 2.776445 with four degrees of freedom, sd = sqrt(2.5).
        let [low, high] = interval(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        let half = 2.776_445 * (2.5f64 / 5.0).sqrt();
        assert!((low - (3.0 - half)).abs() < 1e-5 && (high - (3.0 + half)).abs() < 1e-5, "{low} {high}");
        assert!(interval(&[1.0])[0].is_nan() && interval(&[])[1].is_nan());
    }
}
