//! The measures of a run, by name, out of its result object: `utilization`, `sojourn_ms.p99`,
//! `drops.limit`, `group.cubic.goodput_bps`, `jain`.
//!
//! A name is the path in the result object. The one port's measures stand without the port's name, those
//! of several after `port.NAME.`, and flows come as groups: `group.NAME.fct_s.p75`.

use crate::Figure;
use crate::points::bps;
use queuewright_results::{Flow, Run, Series};
use queuewright_scenario::RunSpec;
use serde_json::Value;
use std::collections::BTreeMap;

/// Every measure of a run that has a value; of those that need the time series, the ones that a figure asks for.
pub fn of_run(spec: &RunSpec, run: &Run, figure: &Figure) -> BTreeMap<String, f64> {
    let mut out = measures(run);
    for (port, p) in run.ports.iter().zip(&spec.ports) {
        let prefix = if run.ports.len() > 1 { format!("port.{}.", port.name) } else { String::new() };
        let share = match p.limit_packets {
            0 => port.backlog_bytes.mean / p.limit_bytes as f64,
            packets => port.backlog_packets.mean / f64::from(packets),
        };
        if share.is_finite() {
            out.insert(format!("{prefix}backlog_of_buffer"), share);
        }
    }
    for of in figure.measures.values().map(|m| &m.of) {
        let series = &run.detail.series;
        let value = match of.split_once('.') {
            Some(("settled_s", columns)) => settled(series, columns),
            Some(("largest", column)) => values(series, column).and_then(|v| end(v, f64::max)),
            Some(("smallest", column)) => values(series, column).and_then(|v| end(v, f64::min)),
            Some(("at_s", at)) => at_time(series, at),
            _ if of == "reward" => reward(spec, run),
            _ => None,
        };
        if let Some(value) = value.filter(|v| v.is_finite()) {
            out.insert(of.clone(), value);
        }
    }
    out
}

/// A column of the time series at a time, `SECONDS.COLUMN`: the last sample until then.
fn at_time(series: &Series, at: &str) -> Option<f64> {
    let (seconds, column) = at.split_once('.')?;
    let seconds: f64 = seconds.parse().ok()?;
    // Times are sums of steps.
    let until = series.time_s.partition_point(|t| *t <= seconds + 1e-6);
    values(series, column)?.get(until.checked_sub(1)?).copied()
}

/// The smallest or largest of what are numbers.
fn end(of: &[f64], which: fn(f64, f64) -> f64) -> Option<f64> {
    of.iter().copied().filter(|v| v.is_finite()).reduce(which)
}

/// From when on columns of the time series (`a+b`) stay as they are, seconds.
fn settled(series: &Series, columns: &str) -> Option<f64> {
    let each = columns.split('+').map(|column| settled_one(series, column));
    each.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max)
}

fn values<'a>(series: &'a Series, column: &str) -> Option<&'a [f64]> {
    series.columns.iter().find(|c| c.name == column).map(|c| c.values.as_slice())
}

fn settled_one(series: &Series, column: &str) -> Option<f64> {
    let values = values(series, column)?;
    let moved = values.windows(2).rposition(|w| w[0] != w[1]);
    Some(moved.map_or(0.0, |i| series.time_s[i + 1]))
}

/// QueuePilot's reward (INFOCOM 2023, section II), mean over the steps after the warm-up: -1 for a step with a drop, else
/// U^2 / sqrt(1 + D), with U the link's use and D the sojourn time in steps. A step is a sample of the time series. `None`: the
/// network has several ports.
pub fn reward(spec: &RunSpec, run: &Run) -> Option<f64> {
    let [port] = spec.ports.as_slice() else { return None };
    let series = &run.detail.series;
    let column = |name: &str| values(series, &format!("{}.{name}", port.name));
    let (rate, queue, drops) = (column("rate_bps")?, column("backlog_bytes")?, column("drops")?);
    let step_s = spec.series_interval_ns as f64 * 1e-9;
    let (mut sum, mut count) = (0.0, 0.0);
    for i in (1..series.time_s.len()).filter(|i| series.time_s[*i] > run.warmup_s + step_s / 2.0) {
        let use_of_link = (rate[i] / bps(port)).min(1.0);
        let delay = (queue[i] * 8.0 / bps(port) / step_s).min(30.0);
        let lost = drops[i] > drops[i - 1];
        sum += if lost { -1.0 } else { use_of_link.powi(2) / (1.0 + delay).sqrt() };
        count += 1.0;
    }
    Some(sum / count)
}

/// Every measure of a run that has a value and needs no time series.
pub fn measures(run: &Run) -> BTreeMap<String, f64> {
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

/// Mean of those that are numbers.
pub fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.filter(|v| v.is_finite()).fold((0.0, 0.0), |(s, n), v| (s + v, n + 1.0));
    sum / count
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

#[cfg(test)]
mod tests {
    use super::*;
    use queuewright_results::measures::MEASURES;
    use queuewright_results::{Flow, Group, Port, Responsiveness};

    #[test]
    fn a_column_is_settled_from_its_last_change_on() {
        let column = |values: &[f64]| queuewright_results::Column {
            name: "q.moves".into(),
            values: values.to_vec(),
            ..Default::default()
        };
        let series = |values| Series { time_s: vec![0.0, 0.5, 1.0, 1.5], columns: vec![column(values)] };
        assert_eq!(settled(&series(&[0.0, 3.0, 4.0, 4.0]), "q.moves"), Some(1.0));
        assert_eq!(settled(&series(&[2.0, 2.0, 2.0, 2.0]), "q.moves"), Some(0.0));
        assert_eq!(settled(&series(&[2.0, 3.0, 3.0, 3.0]), "q.moves+q.moves"), Some(0.5));
        assert_eq!(settled(&series(&[2.0, 2.0, 2.0, 2.0]), "q.moves+q.other"), None);
    }

    #[test]
    fn a_column_has_ends_and_values_at_times() {
        let column = queuewright_results::Column {
            name: "q.threshold".into(),
            values: vec![3.0, f64::NAN, 5.0, 4.0],
            ..Default::default()
        };
        let series = Series { time_s: vec![0.0, 0.1, 0.2, 0.3], columns: vec![column] };
        let at = |at: &str| at_time(&series, at);
        assert_eq!((at("0.q.threshold"), at("7.q.threshold")), (Some(3.0), Some(4.0)));
        assert_eq!((at("0.q.other"), at("q.threshold")), (None, None));
        assert_eq!(end(&series.columns[0].values, f64::min), Some(3.0));
        assert_eq!(end(&series.columns[0].values, f64::max), Some(5.0));
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
        let m = measures(&run);
        assert_eq!((m["group.web.flow_mbps.min"], m["group.web.flow_mbps.max"]), (1.0, 2.0));
        assert_eq!((m["utilization"], m["group.web.fct_s.p50"], m["goodput_bps"]), (0.5, 2.0, 3e6));
        assert!(m.contains_key("sojourn_ms.p99_9") && !m.contains_key("jain"));
        run.jain = 1.0;
        let all = measures(&run);
        let unknown = MEASURES.iter().map(|of| of.path).filter(|path| !all.contains_key(*path));
        assert_eq!(unknown.collect::<Vec<_>>(), Vec::<&str>::new());
        let probed =
            |load: &str| Responsiveness { load: load.into(), rpm: 700.0, ..Responsiveness::default() };
        run.responsiveness = vec![probed("down")];
        assert_eq!(measures(&run)["responsiveness.rpm"], 700.0);
        run.responsiveness.push(probed("up"));
        assert_eq!(measures(&run)["responsiveness.up.rpm"], 700.0);
        run.ports.push(port);
        run.ports[1].name = "right".into();
        assert_eq!(measures(&run)["port.right.utilization"], 0.5);
    }
}
