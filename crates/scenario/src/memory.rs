//! What a run will need in memory, known before it starts: about, and rather too much. It is reckoned from what the scenario
//! says, not from the machine, so that a scenario is taken everywhere or nowhere.

use crate::arrivals::{ArrivalPattern, Mean, mean_of};
use crate::client::Client;
use crate::error::Error;
use crate::impairments::{Impairments, JitterLaw};
use crate::model::{Flows, InitialWindow, Link, LinkRate, Scenario, TrafficModel, rate_of};
use crate::packet::{FULL_BYTES, MSS, SEGMENT_BYTES, SYN_BYTES};
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
const QUEUED: f64 = 40.0;
const ON_A_LINK: f64 = 64.0;
/// Send buffer where none is named: Linux's and ns-3's.
const SEND_BUFFER: f64 = 5.0 * 1024.0 * 1024.0;
/// Columns of the time series for each port, and for each flow in it.
const COLUMNS: (f64, f64) = (8.0, 2.0);

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
    /// More than any run may need, at the key that asks for most of it.
    pub(crate) fn check_memory(&self) -> Result<(), Error> {
        let needs = self.needs();
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
        // What wants to cross each port, as a share of what it can carry.
        let mut asked = vec![0.0; self.ports.len()];
        for (f, t) in self.flows.iter().zip(&traffic) {
            for &port in &f.path {
                let port = port as usize;
                asked[port] += t.offered_bits / self.carries(&self.ports[port]);
            }
        }
        let mut needs = Vec::new();
        for (i, (f, t)) in self.flows.iter().zip(&traffic).enumerate() {
            let busiest = f.path.iter().map(|&port| asked[port as usize]).fold(0.0, f64::max);
            self.needs_of(i, f, t, busiest, &mut needs);
        }
        for (i, port) in self.ports.iter().enumerate() {
            self.needs_of_port(i, port, &traffic, &mut needs);
        }
        let samples = self.run.duration_ns as f64 / self.run.sample_ns.max(1) as f64;
        let groups = self.flows.iter().map(|f| match &f.traffic {
            TrafficModel::Tcp { ccas, .. } => ccas.len(),
            TrafficModel::Datagrams(_) => 1,
        });
        let watched = (groups.sum::<usize>() as f64 * f64::from(self.run.series_flows))
            .min(self.flows.iter().map(|f| f.count.max as f64).sum());
        let columns = 1.0 + COLUMNS.0 * self.ports.len() as f64 + COLUMNS.1 * watched;
        needs.push(Need {
            bytes: samples * columns * 8.0,
            key: "run.sample".into(),
            what: format!(
                "{} samples of {columns} columns; write a longer interval, or fewer series_flows",
                whole(samples)
            ),
        });
        needs
    }

    /// The run's length, seconds.
    fn seconds(&self) -> f64 {
        self.run.duration_ns as f64 / 1e9
    }

    /// Bits that a port's link can carry in a run.
    fn carries(&self, port: &Link) -> f64 {
        let bps = match &port.rate {
            LinkRate::Schedule(s) => s.steps.iter().map(|(_, bps)| *bps).max().unwrap_or(0),
            rate => rate_of(rate),
        };
        (bps as f64 * self.seconds()).max(1.0)
    }

    fn traffic(&self, f: &Flows) -> Traffic {
        let seconds = self.seconds();
        let port = &self.ports[f.path[0] as usize];
        let count = f.count.max as f64;
        let rtt_s = f.rtt_ns.min.midpoint(f.rtt_ns.max) as f64 / 1e9;
        let TrafficModel::Tcp { size, client, .. } = &f.traffic else {
            let bps = match &f.traffic {
                TrafficModel::Datagrams(d) => d.bps().max as f64,
                TrafficModel::Tcp { .. } => 0.0,
            };
            let (come, there) = match &f.arrival {
                ArrivalPattern::Arrive(a) => {
                    let come = self.run.duration_ns as f64 / a.gap_ns.max(1) as f64;
                    let stays_s = f.duration.map_or(seconds, |d| d.mean() / 1e9);
                    (come, (come * stays_s / seconds).min(come))
                }
                _ => (count, count),
            };
            return Traffic { come, there, offered_bits: there * bps * seconds, ..Traffic::default() };
        };
        let pages = match &f.arrival {
            ArrivalPattern::Pages(loads) => Some(&loads.pages),
            _ => None,
        };
        let mean = mean_of(size.as_ref(), pages);
        let bits = 8.0 * wire_bytes(mean, port);
        // No more than the link can carry of them.
        let carried = |wanted: f64| wanted.min(self.carries(port) / bits.max(1.0) + count);
        let of_gap = |gap_ns: u64| self.run.duration_ns as f64 / gap_ns.max(1) as f64;
        let arriving = |arrivals: f64| Traffic {
            come: arrivals * mean.flows,
            offered_bits: arrivals * bits,
            bytes: mean.bytes / mean.flows.max(1.0),
            ..Traffic::default()
        };
        match (&f.arrival, client) {
            (ArrivalPattern::Arrive(a), _) => arriving(of_gap(a.gap_ns)),
            (ArrivalPattern::Pages(loads), _) => {
                arriving(loads.arrivals.map_or(loads.at_ns.len() as f64, |a| of_gap(a.gap_ns)))
            }
            // A connection takes a round trip, its data half of one, and the last acknowledgement the other half.
            (ArrivalPattern::Repeat(pause), _) => {
                let come = carried(count * seconds / (2.0 * rtt_s + pause.mean() / 1e9).max(1e-9));
                Traffic { come: come.max(count), there: count, bytes: mean.bytes, ..Traffic::default() }
            }
            (ArrivalPattern::Once, Some(Client::Requests(pause))) => {
                let asked = carried(count * seconds / (rtt_s + pause.mean() / 1e9).max(1e-9));
                Traffic { come: count, there: count, asked, bytes: f64::INFINITY, ..Traffic::default() }
            }
            (ArrivalPattern::Once, Some(Client::Video(video))) => {
                let chunks = (self.run.duration_ns + video.buffer_ns) as f64 / video.chunk_ns.max(1) as f64;
                let (there, asked) = (count, count * chunks);
                Traffic { come: count, there, asked, bytes: f64::INFINITY, ..Traffic::default() }
            }
            (ArrivalPattern::Once, None) => {
                let bytes = if size.is_some() { mean.bytes } else { f64::INFINITY };
                Traffic { come: count, there: count, bytes, ..Traffic::default() }
            }
        }
    }

    /// What an entry's flows need, where its busiest port is asked for so much of what it can carry.
    fn needs_of(&self, i: usize, f: &Flows, t: &Traffic, asked: f64, needs: &mut Vec<Need>) {
        let rtt_s = f.rtt_ns.max as f64 / 1e9;
        let seconds = self.seconds();
        let key = |name: &str| format!("flows[{i}].{name}");
        let there = match &f.arrival {
            // What the link cannot carry stays, and each stays for some round trips.
            ArrivalPattern::Arrive(_) | ArrivalPattern::Pages(_) if t.there == 0.0 => {
                let stay = 1.0 - 1.0 / asked.max(1.0);
                (t.come * (stay + 10.0 * rtt_s / seconds)).min(t.come)
            }
            _ => t.there,
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
    fn needs_of_port(&self, i: usize, port: &Link, traffic: &[Traffic], needs: &mut Vec<Need>) {
        let crosses = |f: &Flows| f.path.iter().any(|p| *p as usize == i);
        let (mut bits, mut smallest) = (0.0, f64::from(FULL_BYTES));
        for (f, t) in self.flows.iter().zip(traffic).filter(|(f, _)| crosses(f)) {
            if let TrafficModel::Datagrams(d) = &f.traffic {
                bits += t.offered_bits;
                smallest = smallest.min(f64::from(d.packet_bytes()));
            }
        }
        if bits == 0.0 {
            return;
        }
        let rtt_s = self.flows.iter().map(|f| f.rtt_ns.max).max().unwrap_or(0) as f64 / 1e9;
        let scale = f64::from(FULL_BYTES) / smallest;
        let room = match port.buffer.or(self.shared) {
            Some(Size::Packets(_)) => self.buffer_packets(port, rtt_s),
            _ => scale * self.buffer_packets(port, rtt_s),
        };
        let waiting = ((bits - self.carries(port)).max(0.0) / 8.0 / smallest).min(room);
        let queued = if port.police { 0.0 } else { waiting * QUEUED };
        needs.push(Need {
            bytes: queued,
            key: format!("ports[{i}].buffer"),
            what: format!("up to {} packets wait; write a smaller buffer", whole(waiting)),
        });
        let late_s = (port.delay_ns + longest(&port.impairments)) as f64 / 1e9;
        let under_way = bits.min(self.carries(port)) / 8.0 / smallest * (late_s / self.seconds()).min(1.0);
        needs.push(Need {
            bytes: under_way * ON_A_LINK,
            key: format!("ports[{i}].delay"),
            what: format!("up to {} packets on the link; write a shorter delay", whole(under_way)),
        });
    }
}

/// What an entry's flows do in a run.
#[derive(Default)]
struct Traffic {
    /// Flows in all, and at a time; 0: as the link lets them go.
    come: f64,
    there: f64,
    /// Responses that clients ask for.
    asked: f64,
    /// What the links count of flows that come or send whether it is carried or not.
    offered_bits: f64,
    /// Payload of a flow; infinite: without end.
    bytes: f64,
}

/// What a link counts of an arrival: payload, the headers of each segment, and SYNs.
pub(crate) fn wire_bytes(mean: Mean, port: &Link) -> f64 {
    let header = f64::from(FULL_BYTES + port.overhead_bytes) - SEGMENT_BYTES as f64;
    let syn = f64::from(SYN_BYTES + port.overhead_bytes);
    mean.bytes + mean.segments * header + mean.flows * syn
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
