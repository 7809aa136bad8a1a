//! What people compare: the measures that tables, reports and figures name, each with its words, its unit and which end
//! of it is the good one.

/// Which end of a measure's scale is the better one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    High,
    /// Less is better.
    Low,
    /// Neither: a mark tells a sender to slow down and costs no packet.
    Neither,
}

/// A measure of a run or a port.
#[derive(Debug)]
pub struct Measure {
    /// Where it stands in the result object, below the run or the port.
    pub path: &'static str,
    /// What it is, as the title of an axis.
    pub title: &'static str,
    /// What a value is multiplied by to be in `unit`.
    pub scale: f64,
    /// The unit that it is shown in; empty: none.
    pub unit: &'static str,
    /// Its good end.
    pub better: Better,
}

const fn measure(
    path: &'static str,
    title: &'static str,
    scale: f64,
    unit: &'static str,
    better: Better,
) -> Measure {
    Measure { path, title, scale, unit, better }
}

use Better::{High, Low, Neither};

/// All of them.
pub const MEASURES: &[Measure] = &[
    measure("utilization", "utilisation", 100.0, "%", High),
    measure("sojourn_ms.mean", "mean sojourn time", 1.0, "ms", Low),
    measure("sojourn_ms.p95", "95th percentile of the sojourn time", 1.0, "ms", Low),
    measure("sojourn_ms.p99", "99th percentile of the sojourn time", 1.0, "ms", Low),
    measure("sojourn_ms.std", "standard deviation of the sojourn time", 1.0, "ms", Low),
    measure("backlog_packets.mean", "average queue length", 1.0, "packets", Low),
    measure("backlog_bytes.mean", "average queue length", 1e-3, "kB", Low),
    measure("drop_fraction", "dropped", 100.0, "%", Low),
    measure("mark_fraction", "marked", 100.0, "%", Neither),
    measure("goodput_bps", "goodput", 1e-6, "Mbit/s", High),
    measure("jain", "Jain's fairness index", 1.0, "", High),
];

/// The measure that stands there.
pub fn find(path: &str) -> Option<&'static Measure> {
    MEASURES.iter().find(|m| m.path == path)
}
