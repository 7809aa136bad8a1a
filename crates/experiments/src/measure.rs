//! What experiments know of a run beside the measures of its result object: the share of the buffer that is used,
//! and what a figure asks of the time series.

use crate::Figure;
use crate::points::bps;
use queuewright_results::measures::{by_path, end};
use queuewright_results::{Run, Series};
use queuewright_scenario::RunSpec;
use std::collections::BTreeMap;

/// Every measure of a run that has a value; of those that need the time series, the ones that a figure asks for.
pub fn of_run(spec: &RunSpec, run: &Run, figure: &Figure) -> BTreeMap<String, f64> {
    let mut out = by_path(run);
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

/// QueuePilot's reward (INFOCOM 2023, section II), mean over the steps after the warm-up: -1 for a step in which the buffer overflowed, else
/// U^2 / sqrt(1 + D), with U the link's use and D the sojourn time in steps. A step is a sample of the time series. What a queue manager drops of its
/// own will is a signal, as a mark is: the paper punishes overflow, and the authors count RED's drops by its limit alone (here a full buffer is the
/// reason also where RED and CHOKe would have dropped early). The wait is that of the queue as a step ends; a policy learns by its mean.
/// `None`: the network has several ports.
pub fn reward(spec: &RunSpec, run: &Run) -> Option<f64> {
    let [port] = spec.ports.as_slice() else { return None };
    let step_s = spec.series_interval_ns as f64 * 1e-9;
    earned(&run.detail.series, &port.name, bps(port), step_s, run.warmup_s)
}

fn earned(series: &Series, port: &str, bps: f64, step_s: f64, warmup_s: f64) -> Option<f64> {
    let column = |name: &str| values(series, &format!("{port}.{name}"));
    let (rate, queue, drops) = (column("rate_bps")?, column("backlog_bytes")?, column("drops_limit")?);
    let (mut sum, mut count) = (0.0, 0.0);
    for i in (1..series.time_s.len()).filter(|i| series.time_s[*i] > warmup_s + step_s / 2.0) {
        let use_of_link = (rate[i] / bps).min(1.0);
        let delay = (queue[i] * 8.0 / bps / step_s).min(30.0);
        let lost = drops[i] > drops[i - 1];
        sum += if lost { -1.0 } else { use_of_link.powi(2) / (1.0 + delay).sqrt() };
        count += 1.0;
    }
    Some(sum / count)
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// By hand: of four steps of 5 ms at 8 Mbit/s the first is warm-up, in the second packets are dropped early, in the third by the limit.
    #[test]
    fn a_reward_is_lost_by_overflow_alone() {
        let column = |name: &str, values: &[f64]| queuewright_results::Column {
            name: format!("q.{name}"),
            values: values.to_vec(),
            ..Default::default()
        };
        let columns = vec![
            column("rate_bps", &[f64::NAN, 8e6, 4e6, 8e6, 8e6]),
            // 15,000 bytes are 15 ms of the link, three steps.
            column("backlog_bytes", &[0.0, 0.0, 15_000.0, 0.0, 0.0]),
            column("drops", &[0.0, 0.0, 7.0, 9.0, 9.0]),
            column("drops_limit", &[0.0, 0.0, 0.0, 2.0, 2.0]),
        ];
        let series = Series { time_s: vec![0.0, 0.005, 0.01, 0.015, 0.02], columns };
        let found = earned(&series, "q", 8e6, 0.005, 0.005).expect("it has all columns");
        assert!((found - (0.25 / 2.0 - 1.0 + 1.0) / 3.0).abs() < 1e-12, "{found}");
        assert_eq!(earned(&series, "other", 8e6, 0.005, 0.005), None);
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
}
