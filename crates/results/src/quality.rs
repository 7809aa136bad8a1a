//! Measures in people's terms, as pure functions: how well one can talk, play, watch and browse, what a grade says, and who
//! harms whom. Each says its unit, its range and where it is from; nothing here knows of runs.

pub mod ellipse;
pub mod emodel;
pub mod grade;
pub mod harm;
pub mod loss;
pub mod qoo;
pub mod rpm;
pub mod student;
pub mod video;

/// The smallest of sorted values that so large a share (0 to 1) of them does not exceed; NaN without any.
pub fn nearest_rank(sorted: &[f64], share: f64) -> f64 {
    let n = sorted.len();
    match (share * n as f64).ceil() as usize {
        _ if n == 0 => f64::NAN,
        rank => sorted[rank.clamp(1, n) - 1],
    }
}

/// Arithmetic mean; NaN of none.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { f64::NAN } else { values.iter().sum::<f64>() / values.len() as f64 }
}
