//! What was measured, as results have it.

use crate::asker::Asker;
use crate::flow::Flow;
use crate::link::capacity_bytes;
use crate::net::Net;
use crate::port::{Port, parameters};
use crate::probes::responsiveness;
use crate::traffic::Traffic;
use queuewright_results as results;
use queuewright_results::quality::loss::Events;
use queuewright_scenario::spec::RunSpec;

/// The results of a run that is over. `idle`: the probes of one in which nothing else was; none: it has no probes.
pub(crate) fn measured(
    spec: &RunSpec,
    ports: &mut [Port],
    net: &mut Net,
    traffic: &mut Traffic,
    series: results::Series,
    idle: Option<&Traffic>,
) -> results::Run {
    let end = spec.duration_ns;
    let mut link_rows: Vec<results::Port> = ports
        .iter_mut()
        .zip(&spec.ports)
        .map(|(port, p)| {
            let capacity = capacity_bytes(&p.rate, spec.warmup_ns, end);
            port.finish(end, capacity, p)
        })
        .collect();
    for ((port, channel), p) in link_rows.iter_mut().zip(&net.channels).zip(&spec.ports) {
        port.lost = (p.impairments.loss > 0).then(|| channel.lost_in_window());
    }
    for (i, (row, port)) in link_rows.iter_mut().zip(ports.iter()).enumerate() {
        row.loss_events =
            Some(loss_events(port.loss_events(), &traffic.spans_at(i as u32, &net.flows, spec)));
    }
    for (flow, _) in net.flows.iter().zip(0..).filter(|(_, i)| !traffic.is_free(*i)) {
        if let (Some(group), Some(stream)) = (&mut net.datagrams[flow.group as usize], &flow.stream) {
            group.over(stream);
        }
    }
    let play = |f: &mut Flow| f.client.as_mut().and_then(|c| c.video());
    let videos: Vec<Option<results::Video>> = net.flows.iter_mut().map(play).collect();
    let flows: Vec<results::Flow> = net
        .flows
        .iter()
        .zip(&spec.flows)
        .enumerate()
        .map(|(i, (flow, f))| {
            let active = flow.active_s(end);
            let stats = flow.sender_stats();
            results::Flow {
                id: i as u32,
                group: spec.groups[f.group as usize].name.clone(),
                cca: spec.groups[f.group as usize].cca.clone(),
                base_rtt_ms: f.base_rtt_ns as f64 / 1e6,
                goodput_bps: if active > 0.0 {
                    flow.reverse.delivered_bytes as f64 * 8.0 / active
                } else {
                    f64::NAN
                },
                sojourn_ms: net.waits[i].sojourn_ms(),
                srtt_ms: stats.and_then(|s| s.mean_srtt_us).map(|us| us / 1000.0),
                retransmits: stats.map_or(0, |s| s.retransmits),
                timeouts: stats.map_or(0, |s| s.timeouts),
                fct_s: flow.completion_s(),
                video: videos[i],
            }
        })
        .collect();
    let window_s = (end - spec.warmup_ns) as f64 / 1e9;
    let warmup_s = spec.warmup_ns as f64 / 1e9;
    let transfers = traffic.transfers(spec, &net.flows, ports);
    let askers: Vec<Option<&Asker>> = net.flows.iter().map(|f| f.asks.as_deref()).collect();
    let responsiveness = responsiveness(spec, traffic, idle, &askers);
    // Those of probes stand behind all others.
    let groups = spec.groups[..spec.groups.len() - spec.probes.len()]
        .iter()
        .enumerate()
        .map(|(g, group)| {
            let of_group = |i: usize| spec.flows[i].group as usize == g;
            let members = (0..spec.flows.len()).filter(|&i| of_group(i));
            let delivered: u64 = members.clone().map(|i| net.flows[i].reverse.delivered_bytes).sum();
            let (came_and_went, came) = traffic.of_group(g);
            let there = traffic.there(g as u32).map(|i| net.flows[i as usize].reverse.delivered_bytes);
            let delivered = delivered + came_and_went + there.sum::<u64>();
            results::Group {
                name: group.name.clone(),
                cca: group.cca.clone(),
                cca_file: group.cca_file.clone(),
                flows: members.count() as u32 + came,
                // Of the whole window, so that groups add up to the link.
                goodput_bps: delivered as f64 * 8.0 / window_s,
                transfers: transfers.iter().any(|t| t.group == g as u32).then(|| {
                    let measured = |t: &&results::Transfer| t.group == g as u32 && t.start_s >= warmup_s;
                    results::Transfers::of(transfers.iter().filter(measured))
                }),
                video: results::Video::of(
                    (0..spec.flows.len()).filter(|&i| of_group(i)).filter_map(|i| videos[i]),
                ),
                datagrams: net.datagrams[g]
                    .as_ref()
                    .map(|d| d.finish(lost_there(g as u32, ports, net, traffic))),
                // Of another run, too.
                harm: None,
            }
        })
        .collect();
    results::Run {
        discipline: spec.discipline.label.clone(),
        parameters: parameters(&spec.discipline),
        seed: spec.seed,
        engine: "sim".into(),
        duration_s: end as f64 / 1e9,
        warmup_s: spec.warmup_ns as f64 / 1e9,
        groups,
        detail: results::Detail {
            sojourn_cdf: ports.iter().map(|p| p.measure.cdf()).collect(),
            series,
            transfers,
        },
        ports: link_rows,
        responsiveness,
        ..results::Run::of(flows)
    }
}

/// Loss events, each with the flows that lost packets in it, among flows that are there from when to when.
fn loss_events(events: &Events, spans: &[(u64, u64)]) -> results::LossEvents {
    let sorted = |of: fn(&(u64, u64)) -> u64| {
        let mut all: Vec<u64> = spans.iter().map(of).collect();
        all.sort_unstable();
        all
    };
    let (starts, ends) = (sorted(|s| s.0), sorted(|s| s.1));
    let share = |&(at, losers): &(u64, u32)| {
        let until = at.saturating_add(events.round_ns());
        let active = starts.partition_point(|t| *t <= until) - ends.partition_point(|t| *t < at);
        // What is under way of a flow that is over may still be lost.
        f64::from(losers) / (active as f64).max(f64::from(losers))
    };
    results::LossEvents::of(events.all().iter().map(share).collect())
}

/// Packets lost within the window by the flows of a group that are there at the end.
fn lost_there(group: u32, ports: &[Port], net: &Net, traffic: &Traffic) -> u64 {
    let flows = net.flows.iter().zip(0..);
    let there = flows.filter(|(f, i)| f.group == group && !traffic.is_free(*i));
    there.map(|(f, i)| f.lost_in_window() + ports.iter().map(|p| p.dropped_in_window(i)).sum::<u64>()).sum()
}
