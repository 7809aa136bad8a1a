//! Flows that come while a run goes on: what an engine asks for the next one.
//!
//! Everything about them is drawn from streams of their entry's own (of a flow that follows others, of
//! its place among them), so it does not depend on what else happens in a run: all disciplines of a seed
//! meet the same sizes, paths and times of arrival.

use crate::comes::{Comes, Pages, Pause, page_bytes};
use crate::draw::{Draws, Streams, draw, exponential, stream};
use crate::model::{Flows, InitialWindow, Sends};
use crate::read::SEGMENT;
use crate::sizes::Sizes;
use crate::spec::{FlowSpec, Traffic};
use std::sync::Arc;

/// A `[[flows]]` entry whose flows come and go.
#[derive(Debug, Clone)]
pub struct Source {
    entry: Arc<Flows>,
    first_group: u32,
    streams: Streams,
    kind: Kind,
}

/// A flow that is to start.
#[derive(Debug, Clone)]
pub struct Transfer {
    /// What it sends, how and when.
    pub flow: FlowSpec,
    /// Which of the flows that follow one another it belongs to; none: it arrives by itself.
    pub lane: Option<u32>,
    /// Number of its page, from 0.
    pub burst: Option<u32>,
}

#[derive(Debug, Clone)]
enum Kind {
    Lanes { pause: Pause, lanes: Vec<Lane> },
    Arrivals { gaps: Gaps },
    Pages(PageLoads),
}

/// One flow after another.
#[derive(Debug, Clone)]
struct Lane {
    flow: FlowSpec,
    sizes: Draws,
    pauses: Draws,
}

/// A Poisson process from the entry's start to its stop.
#[derive(Debug, Clone)]
struct Gaps {
    rng: Draws,
    mean_ns: u64,
    at_ns: u64,
    until_ns: u64,
}

impl Gaps {
    fn next(&mut self) -> Option<u64> {
        self.at_ns = self.at_ns.saturating_add(exponential(&mut self.rng, self.mean_ns));
        (self.at_ns < self.until_ns).then_some(self.at_ns)
    }
}

#[derive(Debug, Clone)]
struct PageLoads {
    gaps: Option<Gaps>,
    picks: Draws,
    /// Pages begun.
    begun: u32,
    at_ns: u64,
    /// Packets of the flows of the present page that are still to start, the next one last.
    left: Vec<u32>,
}

impl Source {
    /// The source of an entry; none if its flows come once.
    pub(crate) fn new(entry: &Flows, seed: u64, index: usize, first_group: u32) -> Option<Source> {
        let open = |key: &str| stream(seed, &format!("flows[{index}].{key}"));
        let mut streams = Streams::new(seed, index);
        let gaps = |mean_ns: u64, streams: &mut Streams| {
            let (at_ns, stop_ns) = streams.times(entry);
            Gaps { rng: open("arrivals"), mean_ns, at_ns, until_ns: stop_ns.unwrap_or(u64::MAX) }
        };
        let kind = match &entry.comes {
            Comes::Once => return None,
            Comes::Repeat(pause) => {
                let count = draw(&mut open("count"), entry.count);
                let lane = |i: u64| Lane {
                    flow: streams.flow(entry, first_group),
                    sizes: open(&format!("amount[{i}]")),
                    pauses: open(&format!("repeat[{i}]")),
                };
                Kind::Lanes { pause: *pause, lanes: (0..count).map(lane).collect() }
            }
            Comes::Arrive(a) => Kind::Arrivals { gaps: gaps(a.gap_ns, &mut streams) },
            Comes::Pages(burst) => Kind::Pages(PageLoads {
                gaps: burst.arrivals.map(|a| gaps(a.gap_ns, &mut streams)),
                picks: open("burst"),
                begun: 0,
                at_ns: 0,
                left: Vec::new(),
            }),
        };
        Some(Source { entry: Arc::new(entry.clone()), first_group, streams, kind })
    }

    /// The flows that are there at a time: the first of those that follow one another.
    pub fn lanes(&self) -> impl Iterator<Item = Transfer> {
        let lanes = match &self.kind {
            Kind::Lanes { lanes, .. } => lanes.as_slice(),
            _ => &[],
        };
        let first = |(i, lane): (usize, &Lane)| Transfer {
            flow: FlowSpec { stop_ns: None, ..lane.flow.clone() },
            lane: Some(i as u32),
            burst: None,
        };
        lanes.iter().enumerate().map(first)
    }

    /// The flow that follows one that ended at `ended_ns`; none: that was the last.
    pub fn follow(&mut self, lane: u32, ended_ns: u64) -> Option<Transfer> {
        let Kind::Lanes { pause, lanes } = &mut self.kind else { return None };
        let l = lanes.get_mut(lane as usize)?;
        let at_ns = ended_ns.saturating_add(pause.draw(&mut l.pauses));
        if l.flow.stop_ns.is_some_and(|stop| at_ns >= stop) {
            return None;
        }
        let mut flow = FlowSpec { start_ns: at_ns, stop_ns: None, ..l.flow.clone() };
        if let (
            Traffic::Tcp { size_bytes, initial_window, .. },
            Sends::Tcp { size: Some(sizes), initial_window: window, .. },
        ) = (&mut flow.traffic, &self.entry.sends)
        {
            resize(size_bytes, initial_window, *window, sizes.draw(&mut l.sizes));
        }
        Some(Transfer { flow, lane: Some(lane), burst: None })
    }

    /// The next flow that arrives by itself, in order of time; none: no more do.
    pub fn arrive(&mut self) -> Option<Transfer> {
        match &mut self.kind {
            Kind::Lanes { .. } => None,
            Kind::Arrivals { gaps } => {
                let start_ns = gaps.next()?;
                let flow = self.streams.flow_at(&self.entry, self.first_group, start_ns, None);
                Some(Transfer { flow, lane: None, burst: None })
            }
            Kind::Pages(loads) => {
                let Comes::Pages(burst) = &self.entry.comes else { return None };
                while loads.left.is_empty() {
                    loads.at_ns = match &mut loads.gaps {
                        Some(gaps) => gaps.next()?,
                        None => *burst.at_ns.get(loads.begun as usize)?,
                    };
                    loads.left = burst.pages.page(loads.begun, &mut loads.picks);
                    loads.left.reverse();
                    loads.begun += 1;
                }
                let packets = loads.left.pop()?;
                let mut flow = self.streams.flow(&self.entry, self.first_group);
                if let (
                    Traffic::Tcp { size_bytes, initial_window, .. },
                    Sends::Tcp { initial_window: window, .. },
                ) = (&mut flow.traffic, &self.entry.sends)
                {
                    resize(size_bytes, initial_window, *window, page_bytes(packets));
                }
                let flow = FlowSpec { start_ns: loads.at_ns, stop_ns: None, ..flow };
                Some(Transfer { flow, lane: None, burst: Some(loads.begun - 1) })
            }
        }
    }
}

/// Gives a flow a size, and the window that goes with it.
fn resize(size: &mut Option<u64>, initial: &mut Option<u32>, window: Option<InitialWindow>, bytes: u64) {
    *size = Some(bytes);
    *initial = window.map(|w| first_window(w, Some(bytes)));
}

/// A congestion window to begin with, packets.
pub(crate) fn first_window(window: InitialWindow, size: Option<u64>) -> u32 {
    match (window, size) {
        (InitialWindow::Packets(n), _) => n,
        (InitialWindow::All, Some(bytes)) => u32::try_from(bytes.div_ceil(SEGMENT)).unwrap_or(u32::MAX),
        (InitialWindow::All, None) => 10,
    }
}

/// What comes with an arrival on average.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Mean {
    /// Payload, bytes.
    pub bytes: f64,
    /// Segments that carry it.
    pub segments: f64,
    /// Flows, each with a SYN.
    pub flows: f64,
}

/// What comes with an arrival on average; nothing, if nothing is known.
pub(crate) fn mean_of(sizes: Option<&Sizes>, pages: Option<&Pages>) -> Mean {
    match (pages, sizes) {
        (Some(pages), _) => pages.mean(),
        (None, Some(sizes)) => Mean { bytes: sizes.mean(), segments: sizes.mean_segments(), flows: 1.0 },
        (None, None) => Mean::default(),
    }
}
