//! The measures of a run, by name, out of its result object: `utilization`, `sojourn_ms.p99`,
//! `drops.full`, `group.cubic.goodput_bps`, `jain`.
//!
//! A name is the path in the result object. The one port's measures stand without the port's name, those
//! of several after `port.NAME.`, and flows come as groups: `group.NAME.fct_s.p75`.

use crate::figure::Measure;
use queuewright_results::Run;
use serde_json::Value;
use std::collections::BTreeMap;

/// Every measure of a run that has a value.
pub fn of_run(run: &Run) -> BTreeMap<String, f64> {
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
        let trips: Vec<f64> = flows.filter_map(|f| f.srtt_ms).filter(|v| v.is_finite()).collect();
        put(format!("{prefix}srtt_ms"), trips.iter().sum::<f64>() / trips.len() as f64);
    }
    if let [port] = run.ports.as_slice() {
        put("sojourn_ms.iqr".into(), port.sojourn_ms.p75 - port.sojourn_ms.p25);
    }
    put("jain".into(), run.jain);
    put("goodput_bps".into(), run.groups.iter().map(|g| g.goodput_bps).filter(|g| g.is_finite()).sum());
    out
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

/// The value that a share of rising values does not exceed, between neighbours in proportion.
pub(crate) fn quantile(rising: &[f64], share: f64) -> f64 {
    let Some(last) = rising.len().checked_sub(1) else { return f64::NAN };
    let at = share * last as f64;
    let below = rising[at as usize];
    below + (rising[(at as usize + 1).min(last)] - below) * at.fract()
}

/// A measure as the data have it, with title and unit if it is a common one.
pub(crate) fn plain(name: &str) -> Measure {
    let common = [
        ("utilization", 100.0, "utilisation", "%"),
        ("sojourn_ms.mean", 1.0, "mean queueing delay", "ms"),
        ("sojourn_ms.p95", 1.0, "95th percentile of the queueing delay", "ms"),
        ("sojourn_ms.p99", 1.0, "99th percentile of the queueing delay", "ms"),
        ("sojourn_ms.std", 1.0, "standard deviation of the queueing delay", "ms"),
        ("backlog_packets.mean", 1.0, "average queue length", "packets"),
        ("backlog_bytes.mean", 1e-3, "average queue length", "kB"),
        ("drop_fraction", 100.0, "dropped", "%"),
        ("mark_fraction", 100.0, "marked", "%"),
        ("goodput_bps", 1e-6, "goodput", "Mbit/s"),
        ("jain", 1.0, "Jain's fairness index", ""),
    ];
    let (scale, title, unit) = match common.iter().find(|c| c.0 == name) {
        Some((_, scale, title, unit)) => (*scale, *title, *unit),
        None => (1.0, name, ""),
    };
    Measure { of: name.into(), scale, title: title.into(), unit: unit.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use queuewright_results::{Flow, Group, Port};

    #[test]
    fn measures_have_the_paths_of_the_result_object() {
        let port = Port { name: "bottleneck".into(), utilization: 0.5, ..Port::default() };
        let group = Group { name: "web".into(), goodput_bps: 3e6, ..Group::default() };
        let flow = |fct| Flow { group: "web".into(), fct_s: Some(fct), ..Flow::default() };
        let mut run =
            Run { ports: vec![port.clone()], groups: vec![group], jain: f64::NAN, ..Run::default() };
        run.flows = vec![flow(1.0), flow(3.0)];
        let m = of_run(&run);
        assert_eq!((m["utilization"], m["group.web.fct_s.p50"], m["goodput_bps"]), (0.5, 2.0, 3e6));
        assert!(m.contains_key("sojourn_ms.p99_9") && !m.contains_key("jain"));
        run.ports.push(port);
        run.ports[1].name = "right".into();
        assert_eq!(of_run(&run)["port.right.utilization"], 0.5);
    }
}
