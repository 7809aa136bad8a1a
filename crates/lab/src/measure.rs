//! Results of a run, from what the guest saw of it. Definitions are the simulator's: everything counts from the end of
//! the warm-up, a packet is in the window when it leaves the queue, lengths are with the Ethernet header.

use crate::job::{FIRST_PORT, there_ns};
use crate::stats::{Stats, of_maps, parse};
use crate::stream::{Drop, FlowSample, Packet, Raw};
use queuewright_results::{self as results, Datagrams, Detail, Distribution, Transfer, Transfers};
use queuewright_scenario::spec::{FlowSpec, PortSpec, Rate, RunSpec, Traffic};
use std::collections::BTreeMap;

/// A run, its raw material and the window.
pub(crate) struct Seen<'a> {
    pub spec: &'a RunSpec,
    pub raw: &'a Raw,
    /// Guest's clock at the end of the warm-up and of the run.
    window: (u64, u64),
    /// Packets that left in the window.
    packets: Vec<Packet>,
    /// Counters at each sample.
    pub stats: Vec<(u64, Stats)>,
}

/// What became of a run.
pub fn run(spec: &RunSpec, raw: &Raw, wall_s: f64) -> results::Run {
    let window = (raw.zero_ns + spec.warmup_ns, raw.zero_ns + spec.duration_ns);
    let ours = |p: &&Packet| usize::from(p.port.wrapping_sub(FIRST_PORT)) < spec.flows.len();
    let inside = |p: &&Packet| (window.0..window.1).contains(&p.dequeue_ns);
    let seen = Seen {
        spec,
        raw,
        window,
        packets: raw.packets.iter().filter(ours).filter(inside).copied().collect(),
        stats: match raw.maps.is_empty() {
            true => raw.qdiscs.iter().map(|(at, messages)| (*at, parse(messages))).collect(),
            false => raw.maps.iter().map(|m| (m.at_ns, of_maps(m, spec.discipline.info))).collect(),
        },
    };
    let flows: Vec<results::Flow> = (0..spec.flows.len()).map(|i| seen.flow(i)).collect();
    let transfers = seen.transfers();
    let mut run = results::Run {
        discipline: spec.discipline.label.clone(),
        parameters: spec.discipline.parameters(),
        seed: spec.seed,
        engine: "linux".into(),
        kernel: match raw.maps.is_empty() {
            true => raw.kernel.clone(),
            false => format!("{} with Queuewright's BPF qdisc", raw.kernel),
        },
        duration_s: spec.duration_ns as f64 / 1e9,
        warmup_s: spec.warmup_ns as f64 / 1e9,
        ports: vec![seen.port(&spec.ports[0])],
        groups: (0..spec.groups.len()).map(|g| seen.group(g, &transfers)).collect(),
        wall_s,
        packets_per_s: raw.packets.len() as f64 / wall_s.max(1e-9),
        detail: Detail { sojourn_cdf: vec![seen.cdf()], series: seen.series(), transfers },
        ..results::Run::of(flows)
    };
    queuewright_sim::recover(spec, &mut run);
    run
}

impl Seen<'_> {
    fn window_s(&self) -> f64 {
        (self.window.1 - self.window.0) as f64 / 1e9
    }

    fn port(&self, p: &PortSpec) -> results::Port {
        let Rate::Constant(bps) = p.rate else { return results::Port::default() };
        let bytes: u64 = self.packets.iter().map(|p| u64::from(p.bytes)).sum();
        let sent = self.packets.len() as u64;
        let (from, to) = (self.stats_at(self.window.0), self.stats_at(self.window.1));
        let since = |now: &BTreeMap<&'static str, u64>, then: &BTreeMap<&'static str, u64>| {
            let less = |(reason, n): (&&'static str, &u64)| {
                (reason.to_string(), n.saturating_sub(then.get(reason).copied().unwrap_or(0)))
            };
            now.iter().map(less).filter(|d| d.1 > 0).collect::<BTreeMap<String, u64>>()
        };
        let (drops, mut marks) = (since(&to.drops, &from.drops), since(&to.marks, &from.marks));
        // A packet that CoDel's law marks and that has waited beyond `ce_threshold` is in both of the kernel's counters
        // (`codel_dequeue`), as one that DualPI2's probability marks and its step does: here in the law's.
        if let Some(beyond) = marks.get_mut("threshold").filter(|_| self.raw.maps.is_empty()) {
            let of = |law| to.marks.get(law).unwrap_or(&0) - from.marks.get(law).unwrap_or(&0);
            let law = of("sojourn") + of("early");
            let marked = self.packets.iter().filter(|p| p.marked).count() as u64;
            *beyond = marked.saturating_sub(law);
            marks.retain(|_, n| *n > 0);
        }
        let dropped: u64 = drops.values().sum();
        let arrived = (sent + dropped + to.backlog_packets).saturating_sub(from.backlog_packets);
        let share = |n: u64| if arrived == 0 { f64::NAN } else { n as f64 / arrived as f64 };
        let (backlog_packets, backlog_bytes) = self.backlog();
        // Credit is beyond the rate.
        let most = if p.burst_bytes.is_some() { f64::INFINITY } else { 1.0 };
        results::Port {
            name: p.name.clone(),
            utilization: (bytes as f64 * 8.0 / (bps as f64 * self.window_s())).min(most),
            packets: sent,
            sojourn_ms: times(self.packets.iter().map(|p| f64::from(p.sojourn_ns) / 1e6)),
            backlog_packets,
            backlog_bytes,
            drop_fraction: share(dropped),
            mark_fraction: share(marks.values().sum()),
            drops,
            marks,
            ..results::Port::default()
        }
    }

    /// Counters at the first sample from a time on, or the last there is.
    fn stats_at(&self, at: u64) -> Stats {
        let first = self.stats.iter().find(|s| s.0 >= at).or(self.stats.last());
        first.map(|s| s.1.clone()).unwrap_or_default()
    }

    /// Packets and bytes waiting in the window: each packet of the run from its arrival to its departure. Those
    /// that the queue dropped at its head, and those that wait at the end, are not among them.
    fn backlog(&self) -> (results::Backlog, results::Backlog) {
        let (from, to) = self.window;
        let mut steps: Vec<(u64, i64)> = Vec::new();
        let (mut packets_ns, mut bytes_ns) = (0u64, 0u64);
        for p in &self.raw.packets {
            let arrived = p.dequeue_ns.saturating_sub(u64::from(p.sojourn_ns));
            let within = p.dequeue_ns.min(to).saturating_sub(arrived.max(from));
            packets_ns += within;
            bytes_ns += within * u64::from(p.bytes);
            if p.dequeue_ns > from && arrived < to {
                steps.push((arrived.max(from), i64::from(p.bytes)));
                steps.push((p.dequeue_ns, -i64::from(p.bytes)));
            }
        }
        // At the same time, what leaves leaves first.
        steps.sort_unstable();
        let (mut packets, mut bytes) = (0i64, 0i64);
        let (mut most_packets, mut most_bytes) = (0, 0);
        for (_, step) in steps {
            packets += step.signum();
            bytes += step;
            most_packets = most_packets.max(packets);
            most_bytes = most_bytes.max(bytes);
        }
        let of = |sum: u64, max: i64| results::Backlog {
            mean: sum as f64 / 1e9 / self.window_s(),
            max: max as f64,
        };
        (of(packets_ns, most_packets), of(bytes_ns, most_bytes))
    }

    fn packets_of(&self, flow: usize) -> impl Iterator<Item = &Packet> {
        self.packets.iter().filter(move |p| usize::from(p.port.wrapping_sub(FIRST_PORT)) == flow)
    }

    /// Packets of a flow that the queue dropped from one time to before another.
    fn drops_of(&self, flow: usize, from: u64, to: u64) -> u64 {
        let of_flow = |d: &&Drop| usize::from(d.port.wrapping_sub(FIRST_PORT)) == flow;
        let dropped = self.raw.drops.iter().filter(of_flow);
        dropped.filter(|d| (from..to).contains(&d.at_ns)).count() as u64
    }

    /// Samples of a flow.
    pub fn samples_of(&self, flow: usize) -> impl Iterator<Item = &FlowSample> {
        self.raw.flows.iter().filter(move |s| s.flow as usize == flow)
    }

    /// What a flow had at the end of the warm-up, and at the end.
    fn ends_of(&self, flow: usize) -> Option<(&FlowSample, &FlowSample)> {
        let first = self.samples_of(flow).find(|s| s.at_ns >= self.window.0)?;
        Some((first, self.samples_of(flow).last()?))
    }

    /// Application bytes that arrived in the window.
    fn delivered(&self, flow: usize) -> u64 {
        self.ends_of(flow).map_or(0, |(first, last)| last.received - first.received)
    }

    fn flow(&self, i: usize) -> results::Flow {
        let f = &self.spec.flows[i];
        let group = &self.spec.groups[f.group as usize];
        let tcp = matches!(f.traffic, Traffic::Tcp { .. });
        let (first, last) = match self.ends_of(i) {
            Some((first, last)) => (Some(first), Some(last)),
            None => (None, None),
        };
        let grown = |of: fn(&FlowSample) -> u32| {
            u64::from(last.map_or(0, of)).saturating_sub(u64::from(first.map_or(0, of)))
        };
        let srtt = self.samples_of(i).filter(|s| s.at_ns >= self.window.0 && s.srtt_us > 0);
        let mean_srtt = mean(srtt.map(|s| f64::from(s.srtt_us) / 1e3));
        let active = self.active_s(i, f);
        results::Flow {
            id: i as u32,
            group: group.name.clone(),
            cca: group.cca.clone(),
            base_rtt_ms: f.base_rtt_ns as f64 / 1e6,
            goodput_bps: if active > 0.0 { self.delivered(i) as f64 * 8.0 / active } else { f64::NAN },
            sojourn_ms: mean(self.packets_of(i).map(|p| f64::from(p.sojourn_ns) / 1e6)),
            srtt_ms: (tcp && mean_srtt.is_finite()).then_some(mean_srtt),
            retransmits: grown(|s| s.retransmits),
            timeouts: grown(|s| s.timeouts),
            fct_s: self.fct_s(i, f),
            video: None,
        }
    }

    /// When the last bytes arrived within the window, as far as samples tell.
    fn last_arrival(&self, flow: usize) -> u64 {
        let (mut received, mut at) = (None, 0);
        for sample in self.samples_of(flow).filter(|s| s.at_ns >= self.window.0) {
            if received.replace(sample.received).is_some_and(|before| before < sample.received) {
                at = sample.at_ns;
            }
        }
        at
    }

    /// How long of the window a flow was there: where it stops, until what it had written has arrived.
    fn active_s(&self, i: usize, f: &FlowSpec) -> f64 {
        let end = self.raw.ends.iter().find(|e| e.flow as usize == i);
        let Some(end) = end.filter(|e| e.start_ns > 0) else { return 0.0 };
        if f.stop_ns.is_some_and(|s| self.raw.zero_ns + s <= self.window.0) {
            return 0.0;
        }
        let from = end.start_ns.saturating_sub(there_ns(f)).max(self.window.0);
        let stop = f.stop_ns.map_or(u64::MAX, |s| (self.raw.zero_ns + s).max(self.last_arrival(i))).max(from);
        let gone = if finite(f) && end.end_ns > 0 { end.end_ns } else { u64::MAX };
        self.window.1.min(stop).min(gone).saturating_sub(from) as f64 / 1e9
    }

    /// From the SYN to the last byte, and the forward path of the SYN, which netem has on the reverse path.
    fn fct_s(&self, i: usize, f: &FlowSpec) -> Option<f64> {
        let end = self.raw.ends.iter().find(|e| e.flow as usize == i)?;
        (finite(f) && end.end_ns > 0).then(|| (end.end_ns - end.start_ns + there_ns(f)) as f64 / 1e9)
    }

    fn transfers(&self) -> Vec<Transfer> {
        let of = |(i, f): (usize, &FlowSpec)| {
            let Traffic::Tcp { size_bytes: Some(bytes), .. } = f.traffic else { return None };
            let end = self.raw.ends.iter().find(|e| e.flow as usize == i && e.start_ns > 0)?;
            Some(Transfer {
                group: f.group,
                page: None,
                bytes,
                start_s: end.start_ns.saturating_sub(self.raw.zero_ns + there_ns(f)) as f64 / 1e9,
                fct_s: self.fct_s(i, f),
                startup_s: None,
                drops: self.drops_of(i, 0, u64::MAX),
                lost: 0,
                retransmits: self.samples_of(i).last().map_or(0, |s| u64::from(s.retransmits)),
            })
        };
        let mut all: Vec<Transfer> = self.spec.flows.iter().enumerate().filter_map(of).collect();
        all.sort_by(|a, b| a.start_s.total_cmp(&b.start_s));
        all
    }

    fn group(&self, g: usize, transfers: &[Transfer]) -> results::Group {
        let group = &self.spec.groups[g];
        let members = || (0..self.spec.flows.len()).filter(|i| self.spec.flows[*i].group as usize == g);
        let delivered: u64 = members().map(|i| self.delivered(i)).sum();
        let warm_s = self.spec.warmup_ns as f64 / 1e9;
        let mine = || transfers.iter().filter(|t| t.group as usize == g);
        results::Group {
            name: group.name.clone(),
            cca: group.cca.clone(),
            cca_file: group.cca_file.clone(),
            flows: members().count() as u32,
            goodput_bps: delivered as f64 * 8.0 / self.window_s(),
            transfers: mine().next().map(|_| Transfers::of(mine().filter(|t| t.start_s >= warm_s))),
            datagrams: group.datagrams.then(|| self.datagrams(g)),
            video: None,
            harm: None,
        }
    }

    /// Delays are measured from sender to receiver; the forward path, which netem has on the reverse path, is added.
    fn datagrams(&self, g: usize) -> Datagrams {
        let flow = |i: u32| self.spec.flows.get(i as usize).filter(|f| f.group as usize == g);
        let inside = |at: u64| (self.window.0..self.window.1).contains(&at);
        let arrived = self.raw.datagrams.iter().filter(|d| inside(d.at_ns));
        let delays: Vec<f64> = arrived
            .filter_map(|d| Some((f64::from(d.delay_ns) + there_ns(flow(d.flow)?) as f64) / 1e6))
            .collect();
        let received = delays.len() as u64;
        let members = (0..self.spec.flows.len()).filter(|i| self.spec.flows[*i].group as usize == g);
        let lost: u64 = members.map(|i| self.drops_of(i, self.window.0, self.window.1)).sum();
        Datagrams {
            received,
            lost,
            loss: lost as f64 / (lost + received) as f64,
            delay_ms: times(delays.into_iter()),
            ..Datagrams::default()
        }
    }

    fn cdf(&self) -> Vec<(f64, f64)> {
        let mut all: Vec<f64> = self.packets.iter().map(|p| f64::from(p.sojourn_ns) / 1e6).collect();
        if all.is_empty() {
            return Vec::new();
        }
        all.sort_by(f64::total_cmp);
        let tail = [0.9975, 0.999, 0.9995, 0.9999, 1.0];
        (0..200).map(|i| f64::from(i) / 200.0).chain(tail).map(|p| (at(&all, p), p)).collect()
    }
}

/// Does it have an end of its own?
fn finite(f: &FlowSpec) -> bool {
    matches!(f.traffic, Traffic::Tcp { size_bytes: Some(_), .. })
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (n, sum) = values.fold((0u32, 0.0), |(n, sum), x| (n + 1, sum + x));
    if n == 0 { f64::NAN } else { sum / f64::from(n) }
}

/// The smallest of sorted values that so large a share of them does not exceed.
fn at(sorted: &[f64], share: f64) -> f64 {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied().unwrap_or(f64::NAN)
}

/// Distribution of times in ms.
fn times(values: impl Iterator<Item = f64>) -> results::Sojourn {
    let mut all: Vec<f64> = values.collect();
    all.sort_by(f64::total_cmp);
    let d = Distribution::of(all.iter().copied());
    let std = mean(all.iter().map(|x| (x - d.mean).powi(2))).sqrt();
    results::Sojourn {
        mean: d.mean,
        std,
        p25: at(&all, 0.25),
        p50: d.p50,
        p75: d.p75,
        p95: d.p95,
        p99: d.p99,
        p99_9: at(&all, 0.999),
        max: d.max,
    }
}
