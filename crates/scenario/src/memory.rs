//! What a run will need in memory, known before it starts: about, and rather too much. It is reckoned from what the scenario
//! says, not from the machine, so that a scenario is taken everywhere or nowhere.

use crate::arrivals::{ArrivalPattern, Mean, mean_of};
use crate::client::Client;
use crate::error::Error;
use crate::impairments::{Impairments, JitterLaw};
use crate::limits::{SHOWN_SAMPLES, SHOWN_SEEDS};
use crate::model::{Flows, InitialWindow, Link, LinkRate, Scenario, TrafficModel, rate_of};
use crate::packet::{FULL_BYTES, MSS, SEGMENT_BYTES, SYN_BYTES, TCP_HEADER_BYTES};
use crate::units::Size;

/// Most that a run may need, bytes.
pub(crate) const MAX_MEMORY: u64 = 4 << 30;

/// Bytes of a flow that is there, measured: 2.6 kB, and what a list that grows has free.
const FLOW: f64 = 4096.0;
/// Of a line of results for a flow or a response, while they are put in order.
const RECORD: f64 = 400.0;
/// Of the same while other runs go on.
const KEPT: f64 = 100.0;
/// Of a segment that its sender and receiver know of, a packet in a queue, and one on a link.
const SEGMENT: f64 = 128.0;
const QUEUED: f64 = 64.0;
const ON_A_LINK: f64 = 64.0;
/// Of a port, its histogram above all; with the discipline's state and the ends of its queues.
const PORT: f64 = 200_000.0;
const QUEUE_ENDS: f64 = 8.0;
/// Of a value of the time series: a list that grows, and its text in a file.
const SAMPLE: f64 = 16.0;
/// Of one that pictures are made of, and their text.
const SHOWN: f64 = 24.0;
/// Of a flow as it was drawn, before its run.
const DRAWN: f64 = 300.0;
/// Equal parts of a run, of each of which it is reckoned what comes and what the link can carry.
const PARTS: usize = 1000;
/// Packets of a buffer with which half of the link is used, where much is lost.
const SMALL_BUFFER: f64 = 8.0;
/// Round trips that a short flow takes where nothing is in its way.
const ROUNDS: f64 = 10.0;
/// Send buffer where none is named: Linux's and ns-3's.
const SEND_BUFFER: f64 = 5.0 * 1024.0 * 1024.0;
/// Columns of the time series for each port, and for each flow in it.
const COLUMNS: (f64, f64) = (8.0, 3.0);

/// Something that needs memory.
struct Need {
    bytes: f64,
    /// The key that asks for it, by its name among the places.
    key: String,
    /// What needs it, and what else to write.
    what: String,
}

impl Scenario {
    /// About what each run will need, bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.needs().iter().map(|need| need.bytes).sum::<f64>() as u64
    }

    /// # Errors
    /// More than any run may need, or what is kept of all, at the key that asks for most of it.
    pub(crate) fn check_memory(&self) -> Result<(), Error> {
        let mut needs = self.needs();
        needs.extend(self.needs_of_all());
        let all: f64 = needs.iter().map(|need| need.bytes).sum();
        if all <= MAX_MEMORY as f64 {
            return Ok(());
        }
        let Some(most) = needs.iter().max_by(|a, b| a.bytes.total_cmp(&b.bytes)) else { return Ok(()) };
        let gb = |bytes: f64| format!("{:.1} GB", bytes / f64::from(1 << 30));
        Err(self.error_at(
            &most.key,
            format!(
                "{}: a run would need {} of memory, and may need {}",
                most.what,
                gb(all),
                gb(MAX_MEMORY as f64)
            ),
        ))
    }

    fn needs(&self) -> Vec<Need> {
        let traffic: Vec<Traffic> = self.flows.iter().map(|f| self.traffic(f)).collect();
        let seconds = self.seconds();
        let links: Vec<Vec<f64>> = self.ports.iter().map(|port| self.capacity(port)).collect();
        // Of all that crosses a port, what waits at most, and what was offered: bits.
        let mut crossing: Vec<Vec<&Traffic>> = vec![Vec::new(); self.ports.len()];
        for (f, t) in self.flows.iter().zip(&traffic) {
            f.path.iter().for_each(|&port| crossing[port as usize].push(t));
        }
        let used = |port: usize| self.used(&self.ports[port]);
        let waiting: Vec<(f64, f64)> = (0..links.len())
            .map(|port| {
                let all = &crossing[port];
                (
                    most_waiting(all, &links[port], used(port), seconds),
                    all.iter().map(|t| t.offered_bits).sum(),
                )
            })
            .collect();
        let mut needs = Vec::new();
        for (i, (f, t)) in self.flows.iter().zip(&traffic).enumerate() {
            let left = f.path.iter().map(|&port| port as usize).map(|port| {
                let (all, offered) = waiting[port];
                if all == 0.0 {
                    return 0.0;
                }
                most_waiting(&[t], &links[port], used(port), seconds).max(all * t.offered_bits / offered)
            });
            let left = left.fold(0.0, f64::max);
            self.needs_of(i, f, t, left, &mut needs);
        }
        for (i, port) in self.ports.iter().enumerate() {
            self.needs_of_port(i, port, &links[i], &traffic, &mut needs);
        }
        let samples = self.samples();
        let columns = self.columns();
        needs.push(Need {
            bytes: samples * columns * SAMPLE,
            key: "run.sample".into(),
            what: format!(
                "{} samples of {columns} columns; write a longer interval, or fewer series_flows",
                whole(samples)
            ),
        });
        needs
    }

    /// What is there of all runs at once: the flows of each as drawn, and what pictures show.
    fn needs_of_all(&self) -> [Need; 2] {
        let flows: f64 = self.flows.iter().map(|f| f.count.max as f64).sum::<f64>() * self.count() as f64;
        let runs = (self.disciplines.len() * self.run.seeds.len().min(SHOWN_SEEDS)) as f64;
        let (samples, columns) = (self.samples().min(SHOWN_SAMPLES as f64), self.columns());
        [
            Need {
                bytes: flows * DRAWN,
                key: "flows".into(),
                what: format!("{} flows of all runs; write fewer flows, disciplines or seeds", whole(flows)),
            },
            Need {
                bytes: runs * samples * columns * SHOWN,
                key: "run.sample".into(),
                what: format!(
                    "pictures of {} samples of {columns} columns of {runs} runs; write fewer series_flows or disciplines",
                    whole(samples)
                ),
            },
        ]
    }

    fn samples(&self) -> f64 {
        self.run.duration_ns as f64 / self.run.sample_ns.max(1) as f64
    }

    /// Columns of the time series.
    fn columns(&self) -> f64 {
        let groups = self.flows.iter().map(|f| match &f.traffic {
            TrafficModel::Tcp { ccas, .. } => ccas.len(),
            TrafficModel::Datagrams(_) => 1,
        });
        let watched = (groups.sum::<usize>() as f64 * f64::from(self.run.series_flows))
            .min(self.flows.iter().map(|f| f.count.max as f64).sum());
        1.0 + COLUMNS.0 * self.ports.len() as f64 + COLUMNS.1 * watched
    }

    /// The run's length, seconds.
    fn seconds(&self) -> f64 {
        self.run.duration_ns as f64 / 1e9
    }

    /// Bits that a port's link can carry until a time, seconds.
    fn carries_until(&self, port: &Link, at_s: f64) -> f64 {
        let LinkRate::Schedule(schedule) = &port.rate else { return rate_of(&port.rate) as f64 * at_s };
        let within = |to: f64| -> f64 {
            let begins = schedule.steps.iter().map(|(ns, _)| *ns as f64 / 1e9);
            let ends = begins.clone().skip(1).chain(std::iter::once(f64::INFINITY));
            let steps = begins.zip(ends).zip(&schedule.steps).take_while(|((begin, _), _)| *begin < to);
            steps.map(|((begin, end), (_, bps))| (end.min(to) - begin) * *bps as f64).sum()
        };
        match schedule.period_ns.map(|ns| ns as f64 / 1e9) {
            None => within(at_s),
            Some(period) => {
                let turns = (at_s / period).floor();
                turns * within(period) + within(at_s - turns * period)
            }
        }
    }

    /// The same in each of [`PARTS`] of the run.
    fn capacity(&self, port: &Link) -> Vec<f64> {
        let until = |i: usize| self.carries_until(port, self.seconds() * i as f64 / PARTS as f64);
        let until: Vec<f64> = (0..=PARTS).map(until).collect();
        until.windows(2).map(|w| w[1] - w[0]).collect()
    }

    /// The share of its link that TCP uses: a small buffer drops so much that some is lost to time-outs.
    fn used(&self, port: &Link) -> f64 {
        let rtt_s = self.flows.iter().map(|f| f.rtt_ns.min).min().unwrap_or(0) as f64 / 1e9;
        let buffer = self.buffer_packets(port, rtt_s).max(1.0);
        if port.police { 1.0 } else { buffer / (buffer + SMALL_BUFFER) }
    }

    /// Bits that a port's link can carry in a run.
    fn carries(&self, port: &Link) -> f64 {
        self.carries_until(port, self.seconds()).max(1.0)
    }

    fn traffic(&self, f: &Flows) -> Traffic {
        let seconds = self.seconds();
        let port = &self.ports[f.path[0] as usize];
        let count = f.count.max as f64;
        let rtt_s = f.rtt_ns.min.midpoint(f.rtt_ns.max) as f64 / 1e9;
        let from_s = f.start_ns.min as f64 / 1e9;
        let to_s = f.stop_ns.map_or(seconds, |stop| (stop.max as f64 / 1e9).min(seconds));
        let there_s = to_s - from_s;
        let during = Traffic { from_s, to_s, ..Traffic::default() };
        let of_gap = |gap_ns: u64| there_s * 1e9 / gap_ns.max(1) as f64;
        let TrafficModel::Tcp { size, client, initial_window, send_buffer, .. } = &f.traffic else {
            let bps = match &f.traffic {
                TrafficModel::Datagrams(d) => d.bps().max as f64,
                TrafficModel::Tcp { .. } => 0.0,
            };
            let stays_s = f.duration.map_or(there_s, |d| (d.mean() / 1e9).min(there_s));
            let (come, there) = match &f.arrival {
                ArrivalPattern::Arrive(a) => (of_gap(a.gap_ns), of_gap(a.gap_ns) * stays_s / there_s),
                _ => (count, count),
            };
            let offered_bits = match &f.arrival {
                ArrivalPattern::Arrive(_) => come * stays_s * bps,
                _ => count * there_s * bps,
            };
            return Traffic { come, there, offered_bits, ..during };
        };
        let pages = match &f.arrival {
            ArrivalPattern::Pages(loads) => Some(&loads.pages),
            _ => None,
        };
        let mean = mean_of(size.as_ref(), pages);
        let bits = 8.0 * wire_bytes(mean, port);
        // No more than the link can carry of them.
        let carried = |wanted: f64| wanted.min(self.carries(port) / bits.max(1.0) + count);
        let bytes = mean.bytes / mean.flows.max(1.0);
        let first = match initial_window {
            None => 10.0 * f64::from(MSS),
            Some(InitialWindow::Packets(n)) => f64::from(*n) * f64::from(MSS),
            Some(InitialWindow::All) => f64::INFINITY,
        };
        // How long one takes whose way is free: until its window is as large as it may be, and then by this or by its access link.
        let window = send_buffer.wmem_bytes.map_or(SEND_BUFFER, f64::from);
        let access = f.access_bps.map_or(f64::INFINITY, |bps| bps.min.max(1) as f64);
        let round_s = f.rtt_ns.max as f64 / 1e9;
        let alone_s = ROUNDS * round_s + bytes / window.max(first) * round_s + bytes * 8.0 / access;
        let arriving = |arrivals: f64, at_s: Vec<f64>| Traffic {
            come: arrivals * mean.flows,
            offered_bits: arrivals * bits,
            bytes,
            alone_s,
            page: mean.flows,
            at_s,
            ..during.clone()
        };
        match (&f.arrival, client) {
            (ArrivalPattern::Arrive(a), _) => arriving(of_gap(a.gap_ns), Vec::new()),
            (ArrivalPattern::Pages(loads), _) => match loads.arrivals {
                Some(a) => arriving(of_gap(a.gap_ns), Vec::new()),
                None => {
                    let at_s: Vec<f64> = loads.at_ns.iter().map(|ns| *ns as f64 / 1e9).collect();
                    arriving(at_s.len() as f64, at_s)
                }
            },
            // A connection takes a round trip, its data half of one, and the last acknowledgement the other half.
            (ArrivalPattern::Repeat(pause), _) => {
                let come = carried(count * seconds / (2.0 * rtt_s + pause.mean() / 1e9).max(1e-9));
                Traffic { come: come.max(count), there: count, bytes: mean.bytes, ..during }
            }
            (ArrivalPattern::Once, Some(Client::Requests(pause))) => {
                let asked = carried(count * seconds / (rtt_s + pause.mean() / 1e9).max(1e-9));
                Traffic { come: count, there: count, asked, bytes: f64::INFINITY, ..during }
            }
            (ArrivalPattern::Once, Some(Client::Video(video))) => {
                let chunks = (self.run.duration_ns + video.buffer_ns) as f64 / video.chunk_ns.max(1) as f64;
                let (there, asked) = (count, count * chunks);
                Traffic { come: count, there, asked, bytes: f64::INFINITY, ..during }
            }
            (ArrivalPattern::Once, None) => {
                let bytes = if size.is_some() { mean.bytes } else { f64::INFINITY };
                Traffic { come: count, there: count, bytes, ..during }
            }
        }
    }

    /// What an entry's flows need, of whose bits so many wait at its busiest port.
    fn needs_of(&self, i: usize, f: &Flows, t: &Traffic, left: f64, needs: &mut Vec<Need>) {
        let rtt_s = f.rtt_ns.max as f64 / 1e9;
        let seconds = self.seconds();
        let key = |name: &str| format!("flows[{i}].{name}");
        let there = match t.there {
            // What the link cannot carry stays, and each stays for some time in any case.
            0.0 => (left / (t.offered_bits / t.come.max(1.0)).max(1.0) + t.at_once()).min(t.come),
            there => there,
        };
        let (name, less) = match (&f.arrival, &f.traffic) {
            (ArrivalPattern::Arrive(_), _) => ("arrivals", "fewer arrivals"),
            (ArrivalPattern::Pages(loads), _) if loads.at_ns.is_empty() => ("arrivals", "fewer arrivals"),
            (ArrivalPattern::Pages(_), _) => ("pages", "fewer times"),
            (ArrivalPattern::Repeat(_), _) => ("repeat", "a longer pause, larger sizes"),
            (ArrivalPattern::Once, TrafficModel::Tcp { client: Some(Client::Video(_)), .. }) => {
                ("video", "fewer flows, longer chunks")
            }
            (ArrivalPattern::Once, TrafficModel::Tcp { client: Some(_), .. }) => {
                ("requests", "fewer flows, a longer pause")
            }
            _ => ("count", "fewer flows"),
        };
        let finite = matches!(f.traffic, TrafficModel::Tcp { .. }) && t.bytes.is_finite();
        let records = t.asked + if finite { t.come } else { 0.0 };
        let others = self.count().saturating_sub(1) as f64;
        let lines = if t.asked > 0.0 { t.asked } else { t.come };
        needs.push(Need {
            bytes: there * FLOW + records * (RECORD + others * KEPT),
            key: key(name),
            what: format!(
                "about {} {} in {}, {} at a time; write {less}, or a shorter run",
                whole(lines),
                if t.asked > 0.0 { "responses" } else { "flows" },
                crate::units::Unit::Time.show(self.run.duration_ns),
                whole(there)
            ),
        });

        let TrafficModel::Tcp { initial_window, send_buffer, .. } = &f.traffic else { return };
        let window = send_buffer.wmem_bytes.map_or(SEND_BUFFER, f64::from).min(t.bytes);
        let first = match initial_window {
            None => 10.0 * f64::from(MSS),
            Some(InitialWindow::Packets(n)) => f64::from(*n) * f64::from(MSS),
            Some(InitialWindow::All) => t.bytes,
        };
        // A window doubles in a round trip at most. What all have sent fits the path twice, where they did not begin with more.
        let rounds = (seconds / (f.rtt_ns.min as f64 / 1e9).max(1e-6) + 1.0).min(60.0);
        let one = window.min(first * rounds.exp2());
        let path = f.path.iter().map(|&port| &self.ports[port as usize]);
        let fits = path.clone().map(|port| self.buffer_packets(port, rtt_s)).sum::<f64>()
            * SEGMENT_BYTES as f64
            + path.map(|port| rate_of(&port.rate) as f64 / 8.0 * rtt_s).fold(0.0, f64::max);
        let all = (there * one).min(2.0 * fits + there * first.min(one));
        needs.push(Need {
            bytes: all / f64::from(MSS) * SEGMENT,
            key: key(if send_buffer.wmem_bytes.is_some() { "wmem" } else { "rtt" }),
            what: format!(
                "up to {} segments in flight; write a smaller wmem, fewer flows, a smaller buffer, or a shorter rtt",
                whole(all / f64::from(MSS))
            ),
        });
    }

    /// Packets that wait in a port's buffer at most.
    fn buffer_packets(&self, port: &Link, rtt_s: f64) -> f64 {
        let full = f64::from(FULL_BYTES + port.overhead_bytes);
        match port.buffer.or(self.shared) {
            None => 0.0,
            Some(Size::Packets(n)) => f64::from(n),
            Some(Size::Bytes(n)) => n as f64 / full,
            Some(Size::Bdp(millionths)) => {
                millionths as f64 / 1e6 * rate_of(&port.rate) as f64 / 8.0 * rtt_s / full
            }
        }
    }

    /// What UDP has in a port's queue and on its link; what TCP has there counts as sent.
    fn needs_of_port(
        &self,
        i: usize,
        port: &Link,
        capacity: &[f64],
        traffic: &[Traffic],
        needs: &mut Vec<Need>,
    ) {
        let crosses = |f: &Flows| f.path.iter().any(|p| *p as usize == i);
        let own = port.discipline.as_ref().map_or(&self.disciplines[..], std::slice::from_ref);
        let flows: f64 =
            self.flows.iter().zip(traffic).filter(|(f, _)| crosses(f)).map(|(_, t)| t.come).sum();
        let tables = own.iter().map(|d| {
            let (bytes, queues) = queuewright_aqm::Discipline::size_of(d.info);
            // What is not touched takes nothing: flows touch a page or two.
            let touched = (bytes as f64 / 10.0 + flows * 8192.0).min(bytes as f64);
            touched + f64::from(queues) * QUEUE_ENDS
        });
        // Probes run once more by themselves.
        let times = if self.flows.iter().any(|f| f.probes.is_some()) { 2.0 } else { 1.0 };
        needs.push(Need {
            bytes: times * (PORT + tables.fold(0.0, f64::max)),
            key: format!("ports[{i}]"),
            what: "a port and its discipline; write fewer ports".into(),
        });
        let (mut udp, mut smallest) = (Vec::new(), f64::from(FULL_BYTES));
        for (f, t) in self.flows.iter().zip(traffic).filter(|(f, _)| crosses(f)) {
            if let TrafficModel::Datagrams(d) = &f.traffic {
                udp.push(t);
                smallest = smallest.min(f64::from(d.packet_bytes()));
            }
        }
        if udp.is_empty() {
            return;
        }
        let rtt_s = self.flows.iter().map(|f| f.rtt_ns.max).max().unwrap_or(0) as f64 / 1e9;
        let scale = f64::from(FULL_BYTES) / smallest;
        let room = match port.buffer.or(self.shared) {
            Some(Size::Packets(_)) => self.buffer_packets(port, rtt_s),
            _ => scale * self.buffer_packets(port, rtt_s),
        };
        let waiting = (most_waiting(&udp, capacity, 1.0, self.seconds()) / 8.0 / smallest).min(room);
        let queued = if port.police { 0.0 } else { waiting * QUEUED };
        needs.push(Need {
            bytes: queued,
            key: format!("ports[{i}].buffer"),
            what: format!("up to {} packets wait; write a smaller buffer", whole(waiting)),
        });
        let late_s = (port.delay_ns + longest(&port.impairments)) as f64 / 1e9;
        // What is on its way to its receiver is only counted.
        let further = |f: &Flows| crosses(f) && f.path.last() != Some(&(i as u32));
        let further = self.flows.iter().zip(traffic).filter(|(f, _)| further(f));
        let bps: f64 = further.map(|(_, t)| t.offered_bits / (t.to_s - t.from_s).max(late_s)).sum();
        let most = capacity.iter().copied().fold(0.0, f64::max) * PARTS as f64 / self.seconds();
        let under_way = bps.min(most) * late_s.min(self.seconds()) / 8.0 / smallest;
        needs.push(Need {
            bytes: under_way * ON_A_LINK,
            key: format!("ports[{i}].delay"),
            what: format!("up to {} packets on the link; write a shorter delay", whole(under_way)),
        });
    }
}

/// What an entry's flows do in a run.
#[derive(Debug, Clone, Default)]
struct Traffic {
    /// Flows in all, and at a time; 0: as the link lets them go.
    come: f64,
    there: f64,
    /// Responses that clients ask for.
    asked: f64,
    /// What the links count of flows that come or send whether it is carried or not.
    offered_bits: f64,
    /// When they come, seconds; these times, if there are any.
    from_s: f64,
    to_s: f64,
    at_s: Vec<f64>,
    /// Payload of a flow; infinite: without end.
    bytes: f64,
    /// How long a flow takes whose way is free, seconds.
    alone_s: f64,
    /// Flows that come together.
    page: f64,
}

impl Traffic {
    /// Flows that are there at a time where nothing is in their way.
    fn at_once(&self) -> f64 {
        if self.at_s.is_empty() {
            let come = self.come * (self.alone_s / (self.to_s - self.from_s)).min(1.0);
            // As many as come by chance.
            return come + 4.0 * (come * self.page).sqrt() + 4.0 * self.page;
        }
        let mut first = 0;
        let mut most = 0;
        for (i, at) in self.at_s.iter().enumerate() {
            while self.at_s[first] + self.alone_s < *at {
                first += 1;
            }
            most = most.max(i + 1 - first);
        }
        most as f64 * self.come / self.at_s.len() as f64
    }
}

/// Most of what is offered that waits at a time, bits, where a link carries so much in each of [`PARTS`] of the run, and this share of it is
/// used.
fn most_waiting(traffic: &[&Traffic], capacity: &[f64], used: f64, seconds: f64) -> f64 {
    let part_s = seconds / capacity.len() as f64;
    // In each part: evenly, and at once.
    let mut come = vec![(0.0, 0.0); capacity.len()];
    for t in traffic.iter().filter(|t| t.offered_bits > 0.0) {
        let last = capacity.len() - 1;
        if t.at_s.is_empty() {
            let (first, end) = (t.from_s / part_s, t.to_s / part_s);
            let bits = t.offered_bits / (end - first);
            let (from, to) = (first as usize, (end as usize).min(last));
            for (i, part) in come.iter_mut().enumerate().take(to + 1).skip(from) {
                let i_s = i as f64;
                part.0 += bits * (end.min(i_s + 1.0) - first.max(i_s)).max(0.0);
            }
        }
        for at in &t.at_s {
            come[((at / part_s) as usize).min(last)].1 += t.offered_bits / t.at_s.len() as f64;
        }
    }
    let (mut waits, mut most) = (0.0, 0.0);
    for ((evenly, at_once), carried) in come.into_iter().zip(capacity) {
        most = f64::max(most, waits + at_once);
        waits = f64::max(0.0, waits + evenly + at_once - carried * used);
        most = f64::max(most, waits);
    }
    most
}

/// What a link counts of an arrival: payload, the headers of each segment, SYNs, and of each flow three segments without data that open and
/// close it. Of a flow that outlasts its first window they are two, as the FIN goes with data: that is 52 bytes and the overhead too many.
pub(crate) fn wire_bytes(mean: Mean, port: &Link) -> f64 {
    let header = f64::from(FULL_BYTES + port.overhead_bytes) - SEGMENT_BYTES as f64;
    let syn = f64::from(SYN_BYTES + port.overhead_bytes);
    let bare = f64::from(TCP_HEADER_BYTES + port.overhead_bytes);
    mean.bytes + mean.segments * header + mean.flows * (syn + 3.0 * bare)
}

/// How much later than by its delay a packet comes, ns.
fn longest(of: &Impairments) -> u64 {
    let jitter = of.jitter.map_or(0, |j| match j.law {
        JitterLaw::Uniform(ns) => ns,
        JitterLaw::Normal(deviation) => 3 * deviation,
    });
    jitter + of.reorder.map_or(0, |r| r.by_ns)
}

/// A number that need not be exact.
fn whole(n: f64) -> String {
    match n {
        n if n < 1e6 => format!("{n:.0}"),
        n if n < 1e9 => format!("{:.1} million", n / 1e6),
        n => format!("{:.0} million", n / 1e6),
    }
}
