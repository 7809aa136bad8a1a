//! What the hosts inside a kernel count, in words and numbers for people.

use crate::REASON_NAMES;

/// Octaves of sojourn times that are counted: 2^i to 2^(i+1) ns in place i.
pub const SOJOURNS: usize = 40;

/// All of them together; what is too much to be counted is as much as can be, as whoever wrote them may have written any.
pub fn sum(counts: &[u64]) -> u64 {
    counts.iter().fold(0, |sum, n| sum.saturating_add(*n))
}

/// Counts by reason, those that are not 0: `3 limit, 7 sojourn` with `", "` between them; `none` if all are.
pub fn reasons(counts: &[u64], between: &str) -> String {
    let named = counts.iter().zip(REASON_NAMES).filter(|(n, _)| **n > 0);
    let parts: Vec<String> = named.map(|(n, reason)| format!("{n} {reason}")).collect();
    if parts.is_empty() { "none".into() } else { parts.join(between) }
}

/// At least this share of the packets (0 to 1) waited no longer than this, ns: the end of an octave; 0 without packets.
pub fn sojourn_below_ns(octaves: &[u64], share: f64) -> u64 {
    let all = sum(octaves);
    let mut seen = 0u64;
    let octave = octaves.iter().position(|n| {
        seen = seen.saturating_add(*n);
        all > 0 && seen as f64 >= share * all as f64
    });
    octave.map_or(0, |i| 2 << i)
}
