//! What attached disciplines did between two looks at them.

use queuewright_aqm::counters::sum;
use queuewright_linux::Stats;
use serde::Serialize;
use std::time::Duration;

/// What came between two looks at a device.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Since {
    pub seconds: f64,
    /// Sent, bits a second.
    pub rate_bps: f64,
    /// Mean sojourn time of what was sent, ms; none: nothing was.
    pub sojourn_ms: Option<f64>,
    pub drops: u64,
    pub marks: u64,
}

impl Since {
    /// None: the counters went back, and are those of another qdisc.
    pub fn of(then: &Stats, now: &Stats, passed: Duration) -> Option<Since> {
        let sent = now.sent_packets.checked_sub(then.sent_packets)?;
        let since = |new: u64, old: u64| new.saturating_sub(old);
        let seconds = passed.as_secs_f64().max(1e-3);
        let waited = since(now.sojourn_sum_ns, then.sojourn_sum_ns);
        Some(Since {
            seconds,
            rate_bps: since(now.sent_bytes, then.sent_bytes) as f64 * 8.0 / seconds,
            sojourn_ms: (sent > 0).then(|| waited as f64 / sent as f64 / 1e6),
            drops: since(sum(&now.drops), sum(&then.drops)),
            marks: since(sum(&now.marks), sum(&then.marks)),
        })
    }
}
