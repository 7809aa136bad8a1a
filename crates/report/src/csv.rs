//! CSV sheets (RFC 4180, UTF-8, a header line, a point as decimal sign). A value
//! that is not known is an empty field. What differs from machine to machine (wall
//! clock) is left out: the same scenario and seeds give the same bytes.

use crate::summary::goodput_bps;
use queuewright_results::{Datagrams, Results, Run, Sojourn, Video};
use std::collections::BTreeSet;

/// One line per run and port: every measure of the port, the run's parameters,
/// fairness and goodput, and a column per drop and mark reason.
pub fn runs(results: &Results) -> String {
    let ports = || results.runs.iter().flat_map(|run| &run.ports);
    let drops: BTreeSet<&String> = ports().flat_map(|port| port.drops.keys()).collect();
    let marks: BTreeSet<&String> = ports().flat_map(|port| port.marks.keys()).collect();
    let mut header: Vec<String> = [
        "discipline",
        "seed",
        "engine",
        "port",
        "port_discipline",
        "duration_s",
        "warmup_s",
        "utilization",
        "packets",
    ]
    .map(String::from)
    .to_vec();
    header.extend(quantiles(&Sojourn::default()).map(|(name, _)| format!("sojourn_ms_{name}")));
    header.extend(
        [
            "backlog_packets_mean",
            "backlog_packets_max",
            "backlog_bytes_mean",
            "backlog_bytes_max",
            "drop_fraction",
            "mark_fraction",
        ]
        .map(String::from),
    );
    header.extend(drops.iter().map(|reason| format!("drops_{reason}")));
    header.extend(marks.iter().map(|reason| format!("marks_{reason}")));
    header.extend(["goodput_bps", "jain", "parameters"].map(String::from));
    let lines = results.runs.iter().flat_map(|run| {
        let (drops, marks) = (&drops, &marks);
        run.ports.iter().map(move |port| {
            let mut line = vec![
                run.discipline.clone(),
                run.seed.to_string(),
                run.engine.clone(),
                port.name.clone(),
                if port.discipline.is_empty() { &run.discipline } else { &port.discipline }.clone(),
                number(run.duration_s),
                number(run.warmup_s),
                number(port.utilization),
                port.packets.to_string(),
            ];
            line.extend(quantiles(&port.sojourn_ms).map(|(_, value)| number(value)));
            line.extend(
                [
                    port.backlog_packets.mean,
                    port.backlog_packets.max,
                    port.backlog_bytes.mean,
                    port.backlog_bytes.max,
                    port.drop_fraction,
                    port.mark_fraction,
                ]
                .map(number),
            );
            let count = |counts: &std::collections::BTreeMap<String, u64>, reason: &String| {
                counts.get(reason).copied().unwrap_or(0).to_string()
            };
            line.extend(drops.iter().map(|reason| count(&port.drops, reason)));
            line.extend(marks.iter().map(|reason| count(&port.marks, reason)));
            line.push(number(goodput_bps(run)));
            line.push(number(run.jain));
            line.push(parameters(run, port));
            line
        })
    });
    sheet(&header, lines)
}

/// One line per run and queue, of disciplines with several queues that are measured apart.
pub fn queues(results: &Results) -> String {
    let mut header: Vec<String> =
        ["discipline", "seed", "port", "queue", "rate_bps", "packets"].map(String::from).to_vec();
    header.extend(quantiles(&Sojourn::default()).map(|(name, _)| format!("sojourn_ms_{name}")));
    header.extend(
        ["backlog_packets_mean", "backlog_packets_max", "drop_fraction", "mark_fraction"].map(String::from),
    );
    let of_port = |run: &'_ Run, port: &queuewright_results::Port| -> Vec<Vec<String>> {
        let line = |q: &queuewright_results::Queue| {
            let mut line = vec![
                run.discipline.clone(),
                run.seed.to_string(),
                port.name.clone(),
                q.name.clone(),
                number(q.rate_bps),
                q.packets.to_string(),
            ];
            line.extend(quantiles(&q.sojourn_ms).map(|(_, value)| number(value)));
            let rest = [q.backlog_packets.mean, q.backlog_packets.max, q.drop_fraction, q.mark_fraction];
            line.extend(rest.map(number));
            line
        };
        port.queues.iter().map(line).collect()
    };
    let lines = results.runs.iter().flat_map(|run| run.ports.iter().flat_map(move |p| of_port(run, p)));
    sheet(&header, lines)
}

/// One line per run and flow group.
pub fn groups(results: &Results) -> String {
    let header = [
        "discipline",
        "seed",
        "group",
        "cca",
        "flows",
        "goodput_bps",
        "loss",
        "delay_ms_mean",
        "delay_ms_p50",
        "delay_ms_p95",
        "delay_ms_p99",
        "video_bitrate_bps",
        "video_switches",
        "video_stalls",
        "video_stalled_s",
        "video_startup_s",
    ];
    let lines = results.runs.iter().flat_map(|run| {
        run.groups.iter().map(|group| {
            let of_datagrams = |value: fn(&Datagrams) -> f64| {
                group.datagrams.as_ref().map(|d| number(value(d))).unwrap_or_default()
            };
            let of_video =
                |value: fn(&Video) -> f64| group.video.as_ref().map(|v| number(value(v))).unwrap_or_default();
            vec![
                run.discipline.clone(),
                run.seed.to_string(),
                group.name.clone(),
                group.cca.clone(),
                group.flows.to_string(),
                number(group.goodput_bps),
                of_datagrams(|d| d.loss),
                of_datagrams(|d| d.delay_ms.mean),
                of_datagrams(|d| d.delay_ms.p50),
                of_datagrams(|d| d.delay_ms.p95),
                of_datagrams(|d| d.delay_ms.p99),
                of_video(|v| v.bitrate_bps),
                of_video(|v| v.switches as f64),
                of_video(|v| v.stalls as f64),
                of_video(|v| v.stalled_s),
                of_video(|v| v.startup_s),
            ]
        })
    });
    sheet(&header, lines)
}

/// One line per run and flow.
pub fn flows(results: &Results) -> String {
    let header = [
        "discipline",
        "seed",
        "flow",
        "group",
        "cca",
        "base_rtt_ms",
        "goodput_bps",
        "sojourn_ms",
        "srtt_ms",
        "retransmits",
        "timeouts",
        "fct_s",
    ];
    let lines = results.runs.iter().flat_map(|run| {
        run.flows.iter().map(|flow| {
            vec![
                run.discipline.clone(),
                run.seed.to_string(),
                flow.id.to_string(),
                flow.group.clone(),
                flow.cca.clone(),
                number(flow.base_rtt_ms),
                number(flow.goodput_bps),
                number(flow.sojourn_ms),
                flow.srtt_ms.map(number).unwrap_or_default(),
                flow.retransmits.to_string(),
                flow.timeouts.to_string(),
                flow.fct_s.map(number).unwrap_or_default(),
            ]
        })
    });
    sheet(&header, lines)
}

/// The distribution of the sojourn time: one line per run, port and point.
pub fn cdf(results: &Results) -> String {
    let header = ["discipline", "seed", "port", "sojourn_ms", "share"];
    let lines = results.runs.iter().flat_map(|run| {
        run.ports.iter().zip(&run.detail.sojourn_cdf).flat_map(move |(port, points)| {
            points.iter().map(move |&(sojourn_ms, share)| {
                vec![
                    run.discipline.clone(),
                    run.seed.to_string(),
                    port.name.clone(),
                    number(sojourn_ms),
                    number(share),
                ]
            })
        })
    });
    sheet(&header, lines)
}

/// Every flow of a run that had an end, or came and went: one line each, by their starts, the warm-up's included.
pub fn transfers(run: &Run) -> String {
    let header = ["group", "burst", "bytes", "start_s", "fct_s", "drops", "lost", "retransmits"];
    let lines = run.detail.transfers.iter().map(|t| {
        vec![
            run.groups.get(t.group as usize).map(|g| g.name.clone()).unwrap_or_default(),
            t.burst.map(|b| b.to_string()).unwrap_or_default(),
            t.bytes.to_string(),
            number(t.start_s),
            t.fct_s.map(number).unwrap_or_default(),
            t.drops.to_string(),
            t.lost.to_string(),
            t.retransmits.to_string(),
        ]
    });
    sheet(&header, lines)
}

/// The time series of a run: one line per sample time, one column per quantity.
pub fn series(run: &Run) -> String {
    let series = &run.detail.series;
    let mut header = vec!["time_s"];
    header.extend(series.columns.iter().map(|column| column.name.as_str()));
    let lines = series.time_s.iter().enumerate().map(|(i, &time)| {
        let mut line = vec![number(time)];
        line.extend(
            series.columns.iter().map(|column| column.values.get(i).copied().map(number).unwrap_or_default()),
        );
        line
    });
    sheet(&header, lines)
}

fn quantiles(sojourn: &Sojourn) -> [(&'static str, f64); 9] {
    [
        ("mean", sojourn.mean),
        ("std", sojourn.std),
        ("p25", sojourn.p25),
        ("p50", sojourn.p50),
        ("p75", sojourn.p75),
        ("p95", sojourn.p95),
        ("p99", sojourn.p99),
        ("p99_9", sojourn.p99_9),
        ("max", sojourn.max),
    ]
}

/// Of the port's discipline: the run's, or its own.
fn parameters(run: &Run, port: &queuewright_results::Port) -> String {
    let all = if port.discipline.is_empty() { &run.parameters } else { &port.parameters };
    let named: Vec<String> = all.iter().map(|(name, value)| format!("{name}={value}")).collect();
    named.join(" ")
}

fn number(value: f64) -> String {
    if value.is_finite() { value.to_string() } else { String::new() }
}

fn sheet<H: AsRef<[u8]>>(header: &[H], lines: impl Iterator<Item = Vec<String>>) -> String {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    // Memory does not fail and every line has the header's length.
    writer.write_record(header).expect("in memory");
    for line in lines {
        writer.write_record(&line).expect("in memory");
    }
    let bytes = writer.into_inner().expect("in memory");
    String::from_utf8(bytes).expect("made of strings")
}
