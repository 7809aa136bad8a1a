//! What people compare: the measures that tables, reports and figures name, each with its words, its unit and which end
//! of it is the good one; and every measure of a run by its path.

use crate::{Flow, Run};
use serde_json::Value;
use std::collections::BTreeMap;

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

/// Times, of which less is better whatever is said of them (a mean, a percentile).
const TIMES: [&str; 9] =
    ["sojourn_ms", "delay_ms", "srtt_ms", "rtt_ms", "jitter_ms", "fct_s", "plt_s", "startup_s", "stalled_s"];

/// Which end of the measure at this path is the better one; of a port or a group it is the same measure.
pub fn better(path: &str) -> Better {
    if path.split('.').any(|part| TIMES.contains(&part)) && !path.ends_with(".count") {
        return Better::Low;
    }
    let at_its_end =
        |m: &&Measure| path.strip_suffix(m.path).is_some_and(|of| of.is_empty() || of.ends_with('.'));
    MEASURES.iter().find(at_its_end).map_or(Better::Neither, |m| m.better)
}

/// Every measure of a run that has a value, by its path in the result object: `utilization`, `sojourn_ms.p99`, `drops.limit`,
/// `group.cubic.goodput_bps`, `jain`. The one port's measures stand without the port's name, those of several after
/// `port.NAME.`, and flows come as groups: `group.NAME.fct_s.p75`.
pub fn by_path(run: &Run) -> BTreeMap<String, f64> {
    let mut out = BTreeMap::new();
    let mut put = |name: String, value: f64| {
        if value.is_finite() {
            out.insert(name, value);
        }
    };
    for port in &run.ports {
        let prefix = if run.ports.len() > 1 { format!("port.{}.", port.name) } else { String::new() };
        flatten(&prefix, &serde_json::to_value(port).unwrap_or_default(), &mut put);
    }
    for group in &run.groups {
        let prefix = format!("group.{}.", group.name);
        flatten(&prefix, &serde_json::to_value(group).unwrap_or_default(), &mut put);
        let flows = run.flows.iter().filter(|f| f.group == group.name);
        let mut times: Vec<f64> = flows.clone().filter_map(|f| f.fct_s).collect();
        if !times.is_empty() {
            times.sort_by(f64::total_cmp);
            for (name, share) in [("p25", 0.25), ("p50", 0.5), ("p75", 0.75), ("p95", 0.95), ("max", 1.0)] {
                put(format!("{prefix}fct_s.{name}"), quantile(&times, share));
            }
            put(format!("{prefix}fct_s.mean"), times.iter().sum::<f64>() / times.len() as f64);
            put(format!("{prefix}fct_s.count"), times.len() as f64);
        }
        let of_flows = |value: fn(&Flow) -> f64| mean(flows.clone().map(value));
        put(format!("{prefix}srtt_ms"), of_flows(|f| f.srtt_ms.unwrap_or(f64::NAN)));
        put(format!("{prefix}sojourn_ms"), of_flows(|f| f.sojourn_ms));
        put(format!("{prefix}delay_ms"), of_flows(|f| f.base_rtt_ms + f.sojourn_ms));
        put(format!("{prefix}flow_mbps"), of_flows(|f| f.goodput_bps * 1e-6));
        let mut ends = |name: &str, value: fn(&Flow) -> f64| {
            let of: Vec<f64> = flows.clone().map(value).collect();
            put(format!("{prefix}{name}.min"), end(&of, f64::min).unwrap_or(f64::NAN));
            put(format!("{prefix}{name}.max"), end(&of, f64::max).unwrap_or(f64::NAN));
        };
        ends("delay_ms", |f| f.base_rtt_ms + f.sojourn_ms);
        ends("flow_mbps", |f| f.goodput_bps * 1e-6);
    }
    // Kleinrock's power, normalised: the share of the link that is used, times the share of the RTT that is not waiting.
    let base = mean(run.flows.iter().map(|f| f.base_rtt_ms));
    let used = mean(run.ports.iter().map(|p| p.utilization));
    let waited: f64 = run.ports.iter().map(|p| p.sojourn_ms.mean).filter(|v| v.is_finite()).sum();
    put("power".into(), used * base / (base + waited));
    let least =
        run.flows.iter().map(|f| f.goodput_bps).filter(|g| g.is_finite()).fold(f64::INFINITY, f64::min);
    put("least_share".into(), least / mean(run.flows.iter().map(|f| f.goodput_bps)));
    for probed in &run.responsiveness {
        let name = if run.responsiveness.len() > 1 { format!("{}.", probed.load) } else { String::new() };
        let prefix = format!("responsiveness.{name}");
        flatten(&prefix, &serde_json::to_value(probed).unwrap_or_default(), &mut put);
    }
    if let [port] = run.ports.as_slice() {
        put("sojourn_ms.iqr".into(), port.sojourn_ms.p75 - port.sojourn_ms.p25);
    }
    put("jain".into(), run.jain);
    put("goodput_bps".into(), run.groups.iter().map(|g| g.goodput_bps).filter(|g| g.is_finite()).sum());
    out
}

/// Is this the path of a measure, whose name may have one `*` for any text?
pub fn is(name: &str, path: &str) -> bool {
    match name.split_once('*') {
        None => name == path,
        Some((start, end)) => {
            path.len() >= start.len() + end.len() && path.starts_with(start) && path.ends_with(end)
        }
    }
}

/// Mean of those that are numbers.
pub fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.filter(|v| v.is_finite()).fold((0.0, 0.0), |(s, n), v| (s + v, n + 1.0));
    sum / count
}

/// The value that a share of rising values does not exceed, between neighbours in proportion.
pub fn quantile(rising: &[f64], share: f64) -> f64 {
    let Some(last) = rising.len().checked_sub(1) else { return f64::NAN };
    let at = share * last as f64;
    let below = rising[at as usize];
    below + (rising[(at as usize + 1).min(last)] - below) * at.fract()
}

/// The middle; of an even number the mean of both. NaN of none.
pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    quantile(&values, 0.5)
}

/// The smallest or largest of what are numbers.
pub fn end(of: &[f64], which: fn(f64, f64) -> f64) -> Option<f64> {
    of.iter().copied().filter(|v| v.is_finite()).reduce(which)
}

/// Every number in a value, by its path.
fn flatten(prefix: &str, value: &Value, put: &mut impl FnMut(String, f64)) {
    match value {
        Value::Number(n) => put(prefix.trim_end_matches('.').into(), n.as_f64().unwrap_or(f64::NAN)),
        Value::Object(entries) => {
            for (key, value) in entries {
                flatten(&format!("{prefix}{key}."), value, put);
            }
        }
        Value::Array(items) => {
            for item in items {
                if let Some(name) = item.get("name").and_then(Value::as_str) {
                    flatten(&format!("{prefix}{name}."), item, put);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Group, Port, Responsiveness};

    #[test]
    fn the_median_is_in_the_middle() {
        let of = |values: &[f64]| median(values.iter().copied());
        assert_eq!((of(&[1.0, 5.0, 2.0]), of(&[9.0, 1.0, 9.0])), (2.0, 9.0));
        assert_eq!((of(&[1.0, 5.0]), of(&[1.0])), (3.0, 1.0));
        assert!(of(&[]).is_nan());
    }

    #[test]
    fn measures_have_the_paths_of_the_result_object() {
        let port = Port { name: "bottleneck".into(), utilization: 0.5, ..Port::default() };
        let group = Group { name: "web".into(), goodput_bps: 3e6, ..Group::default() };
        let flow = |fct| Flow { group: "web".into(), fct_s: Some(fct), ..Flow::default() };
        let mut run =
            Run { ports: vec![port.clone()], groups: vec![group], jain: f64::NAN, ..Run::default() };
        run.flows = vec![flow(1.0), flow(3.0)];
        run.flows[0].goodput_bps = 1e6;
        run.flows[1].goodput_bps = 2e6;
        let m = by_path(&run);
        assert_eq!((m["group.web.flow_mbps.min"], m["group.web.flow_mbps.max"]), (1.0, 2.0));
        assert_eq!((m["utilization"], m["group.web.fct_s.p50"], m["goodput_bps"]), (0.5, 2.0, 3e6));
        assert!(m.contains_key("sojourn_ms.p99_9") && !m.contains_key("jain"));
        run.jain = 1.0;
        let all = by_path(&run);
        let unknown = MEASURES.iter().map(|of| of.path).filter(|path| !all.contains_key(*path));
        assert_eq!(unknown.collect::<Vec<_>>(), Vec::<&str>::new());
        let probed =
            |load: &str| Responsiveness { load: load.into(), rpm: 700.0, ..Responsiveness::default() };
        run.responsiveness = vec![probed("down")];
        assert_eq!(by_path(&run)["responsiveness.rpm"], 700.0);
        run.responsiveness.push(probed("up"));
        assert_eq!(by_path(&run)["responsiveness.up.rpm"], 700.0);
        run.ports.push(port);
        run.ports[1].name = "right".into();
        assert_eq!(by_path(&run)["port.right.utilization"], 0.5);
    }
}
