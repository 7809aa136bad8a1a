//! The flows of an entry, drawn one after the other.

use crate::arrivals::Pause;
use crate::flow::{FlowSpec, HeaderSpec, Traffic};
use crate::model::{Flows, Header, InitialWindow, TrafficModel};
use crate::packet::{QUIC_PAYLOAD_BYTES, SEGMENT_BYTES};
use crate::random::{Draws, draw, stream};
use crate::stack::{SendBuffer, Stack};
use crate::units::Range;
use serde::{Deserialize, Serialize};

/// A template: what a flow of an entry is drawn from, but for when it comes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowTemplate {
    /// Index into [`crate::RunSpec::groups`] of the entry's first group.
    pub first_group: u32,
    /// What it sends.
    pub traffic: TrafficModel,
    /// Round-trip time without queues, ns.
    pub rtt_ns: Range,
    /// How long a UDP flow sends; none: until it is stopped.
    pub duration: Option<Pause>,
    /// Access link, bits a second; none: unlimited.
    pub access_bps: Option<Range>,
    /// Most extra delay of a packet on the access link, ns.
    pub jitter_ns: Range,
    /// Ports that it crosses, in order.
    pub path: Vec<u32>,
    /// Ports that its acknowledgements cross, in order.
    pub reverse_path: Vec<u32>,
    /// What its packets say of hosts and service.
    pub header: Header,
}

impl FlowTemplate {
    pub(crate) fn of(entry: &Flows, first_group: u32) -> FlowTemplate {
        FlowTemplate {
            first_group,
            traffic: entry.traffic.clone(),
            rtt_ns: entry.rtt_ns,
            duration: entry.duration,
            access_bps: entry.access_bps,
            jitter_ns: entry.jitter_ns,
            path: entry.path.clone(),
            reverse_path: entry.reverse_path.clone(),
            header: entry.header,
        }
    }
}

/// The streams of an entry's keys.
#[derive(Debug, Clone)]
pub(crate) struct Streams {
    cca: Draws,
    rtt: Draws,
    start: Draws,
    stop: Draws,
    access: Draws,
    jitter: Draws,
    amount: Draws,
    rate: Draws,
    duration: Draws,
    /// Flows so far.
    count: u64,
}

impl Streams {
    pub fn new(seed: u64, index: u32) -> Streams {
        let open = |key: &str| stream(seed, &format!("flows[{index}].{key}"));
        Streams {
            cca: open("cca"),
            rtt: open("rtt"),
            start: open("start"),
            stop: open("stop"),
            access: open("access"),
            jitter: open("jitter"),
            amount: open("amount"),
            rate: open("rate"),
            // The key was called so once. With another name a seed would draw other numbers.
            duration: open("length"),
            count: 0,
        }
    }

    /// A start and a stop.
    pub fn times(&mut self, entry: &Flows) -> (u64, Option<u64>) {
        (draw(&mut self.start, entry.start_ns), entry.stop_ns.map(|r| draw(&mut self.stop, r)))
    }

    /// The next flow of the entry.
    pub fn flow(&mut self, entry: &Flows, each: &FlowTemplate) -> FlowSpec {
        let (mut start_ns, stop_ns) = self.times(entry);
        if let TrafficModel::Datagrams(datagrams) = &entry.traffic {
            let most = datagrams.late_ns().saturating_sub(1);
            start_ns += draw(&mut self.amount, Range { min: 0, max: most });
        }
        self.flow_at(each, start_ns, stop_ns)
    }

    /// What the next flow's packets say.
    fn header(&mut self, of: &Header) -> HeaderSpec {
        let nth = self.count;
        self.count += 1;
        let host = |all: Option<Range>| all.map_or(0, |r| (r.min + nth % (r.max - r.min + 1)) as u32);
        HeaderSpec { source: host(of.source), destination: host(of.destination), dscp: of.dscp }
    }

    /// The next flow of the entry, to start and stop at given times; a duration of its own may end it before.
    pub fn flow_at(&mut self, each: &FlowTemplate, start_ns: u64, stop_ns: Option<u64>) -> FlowSpec {
        let mut group = each.first_group;
        let traffic = match &each.traffic {
            TrafficModel::Tcp { stack, ccas, size, initial_window, ecn, l4s, bps, .. } => {
                let nth = draw_weighted(&mut self.cca, ccas);
                group += nth as u32;
                let kind = ccas[nth].0;
                let bps = bps.filter(|_| kind.needs_rate());
                let size_bytes = size.as_ref().map(|s| s.draw(&mut self.amount));
                Traffic::Tcp {
                    stack: *stack,
                    cca: kind,
                    size_bytes,
                    initial_window: initial_window.map(|w| first_window(w, size_bytes, *stack)),
                    ecn: *ecn || kind.needs_ecn(),
                    l4s: *l4s || kind.info().ect1,
                    rate_bps: bps.map_or(0, |r| draw(&mut self.rate, r)),
                    client: None,
                }
            }
            TrafficModel::Datagrams(datagrams) => Traffic::Datagrams {
                gaps: datagrams.gaps(),
                bps: draw(&mut self.amount, datagrams.bps()),
                packet_bytes: datagrams.packet_bytes(),
            },
        };
        let ends = each.duration.map(|d| start_ns.saturating_add(d.draw(&mut self.duration)));
        let stop_ns = stop_ns.into_iter().chain(ends).min();
        FlowSpec {
            group,
            traffic,
            base_rtt_ns: draw(&mut self.rtt, each.rtt_ns),
            start_ns,
            open_for_ns: None,
            stop_ns,
            access_bps: each.access_bps.map(|r| draw(&mut self.access, r)),
            jitter_ns: draw(&mut self.jitter, each.jitter_ns),
            send_buffer: match each.traffic {
                TrafficModel::Tcp { send_buffer, .. } => send_buffer,
                _ => SendBuffer::default(),
            },
            path: each.path.clone(),
            reverse_path: each.reverse_path.clone(),
            header: self.header(&each.header),
        }
    }
}

/// A congestion window to begin with, packets.
pub(crate) fn first_window(window: InitialWindow, size: Option<u64>, stack: Stack) -> u32 {
    let full = if stack == Stack::Quic { QUIC_PAYLOAD_BYTES.into() } else { SEGMENT_BYTES };
    match (window, size) {
        (InitialWindow::Packets(n), _) => n,
        (InitialWindow::All, Some(bytes)) => u32::try_from(bytes.div_ceil(full)).unwrap_or(u32::MAX),
        (InitialWindow::All, None) => 10,
    }
}

/// Index of a congestion control, each as likely as its weight.
fn draw_weighted(rng: &mut Draws, ccas: &[(queuewright_cca::Kind, u32)]) -> usize {
    let total: u64 = ccas.iter().map(|(_, w)| u64::from(*w)).sum();
    let mut x = draw(rng, Range { min: 0, max: total.saturating_sub(1) });
    for (i, (_, weight)) in ccas.iter().enumerate() {
        if x < u64::from(*weight) {
            return i;
        }
        x -= u64::from(*weight);
    }
    0
}
