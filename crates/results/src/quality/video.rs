//! How a video is watched.

/// Penalty of a second of standing still, in Mbit/s of the bitrate: Pensieve's (Mao et al., SIGCOMM 2017), for a ladder that ends at 4.3
/// Mbit/s. Yin et al. (SIGCOMM 2015) take the highest bitrate.
pub const STALL_PENALTY: f64 = 4.3;

/// Linear quality of experience per chunk (Yin et al., A Control-Theoretic Approach for Dynamic Adaptive Video Streaming over HTTP, eq. 5,
/// its mean over the chunks as usual, without its term for the start-up): mean bitrate in Mbit/s, less [`STALL_PENALTY`] a second of standing still, less every change of the
/// bitrate. Up to the highest bitrate, without lower bound; NaN without chunks.
///
/// `bitrates_mbit`: sum over the chunks; `changes_mbit`: sum of the differences from chunk to chunk, without sign; `stalled_s`: seconds.
pub fn linear_qoe(chunks: u64, bitrates_mbit: f64, changes_mbit: f64, stalled_s: f64) -> f64 {
    (bitrates_mbit - STALL_PENALTY * stalled_s - changes_mbit) / chunks as f64
}

/// Stalling index, 1 (none) towards 0, the part of ITU-T P.1203.3 (10/2017, section 8) that is of stalls alone.
///
/// `stalls`: their number; `stalled_s`: their sum, each with the same weight; `spacing_s`: mean time from one to the next, 0 for fewer than two;
/// `media_s`: playing time of what was seen. Without any 0 where it stalled, else NaN. P.1203.3 counts stalls that are long ago less,
/// spacing in playing time, and the initial loading as a stall of less weight.
pub fn stalling_index(stalls: u64, stalled_s: f64, spacing_s: f64, media_s: f64) -> f64 {
    if media_s.is_nan() || media_s <= 0.0 {
        return if stalled_s > 0.0 { 0.0 } else { f64::NAN };
    }
    let fall = stalls as f64 / 9.351_586_84
        + stalled_s / media_s / 0.918_908_15
        + spacing_s / media_s / 11.056_755_8;
    libm::exp(-fall)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quality_is_bitrate_less_stalls_and_changes() {
        // Chunks of 1, 3 and 2 Mbit/s and a second's stall: (6 - 4.3 - 3) / 3.
        assert!((linear_qoe(3, 6.0, 3.0, 1.0) + 1.3 / 3.0).abs() < 1e-12);
        assert_eq!(linear_qoe(4, 8.0, 0.0, 0.0), 2.0);
        assert!(linear_qoe(0, 0.0, 0.0, 0.0).is_nan());
    }

    #[test]
    fn each_kind_of_stalling_counts() {
        assert_eq!(stalling_index(0, 0.0, 0.0, 60.0), 1.0);
        let e = std::f64::consts::E;
        // As many stalls, as long, or as far apart as each constant says leave 1/e.
        assert!((stalling_index(0, 0.918_908_15 * 60.0, 0.0, 60.0) * e - 1.0).abs() < 1e-12);
        assert!((stalling_index(0, 0.0, 11.056_755_8 * 60.0, 60.0) * e - 1.0).abs() < 1e-12);
        assert!((stalling_index(9, 0.0, 0.0, 60.0).ln() + 9.0 / 9.351_586_84).abs() < 1e-12);
        assert_eq!(stalling_index(1, 1.0, 0.0, 0.0), 0.0);
        assert!(stalling_index(0, 0.0, 0.0, 0.0).is_nan());
    }
}
