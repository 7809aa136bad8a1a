//! Flows that come while a run goes on: what an engine asks for the next one.
//!
//! Everything about them is drawn from streams of their entry's own (of a flow that follows others, of
//! its place among them), so it does not depend on what else happens in a run: all disciplines of a seed
//! meet the same sizes, paths and times of arrival.

use crate::arrivals::{ArrivalPattern, Pages, Pause, page_bytes};
use crate::flow::{FlowSpec, Traffic};
use crate::model::{Flows, InitialWindow, TrafficModel};
use crate::random::{Draws, draw, exponential, stream};
use crate::sizes::Sizes;
use crate::streams::{FlowTemplate, Streams, first_window};
use serde::{Deserialize, Serialize};

/// A `[[flows]]` entry whose flows come and go: what they are drawn from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SourceSpec {
    /// Seed of its streams.
    pub seed: u64,
    /// Index of the entry, which names its streams.
    pub entry: u32,
    /// How its flows come.
    pub arrival: ArrivalProcess,
}

/// An arrival process: how flows come during a run, and what they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ArrivalProcess {
    /// One after another: a closed loop of so many sessions.
    Sessions {
        /// From the end of one to the start of the next.
        pause: Pause,
        /// Of each after the first.
        sizes: Sizes,
        /// That each begins with; none: the stack's.
        window: Option<InitialWindow>,
        /// The first of each session.
        first: Vec<FlowSpec>,
    },
    /// By themselves.
    Arrivals {
        /// When flows arrive: a Poisson process.
        at: Poisson,
        /// What each is.
        each: FlowTemplate,
    },
    /// A page at a time.
    Pages {
        /// When pages are loaded.
        at: Loads,
        /// Which pages they are of.
        pages: Pages,
        /// What the flows of a page are, but for their sizes.
        each: FlowTemplate,
    },
}

/// A Poisson process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Poisson {
    /// Mean time between arrivals, ns.
    pub gap_ns: u64,
    /// From then on, ns.
    pub from_ns: u64,
    /// Before then, ns; none: as long as the run.
    pub until_ns: Option<u64>,
}

/// When pages are loaded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Loads {
    /// At random.
    Arrive(Poisson),
    /// At these times, ns, not falling.
    At(Vec<u64>),
}

/// A flow that is to start.
#[derive(Debug, Clone)]
pub struct Transfer {
    /// What it sends, how and when.
    pub flow: FlowSpec,
    /// The session of flows that follow one another that it belongs to; none: it arrives by itself.
    pub session: Option<u32>,
    /// Number of its page, from 0.
    pub page: Option<u32>,
}

impl SourceSpec {
    /// The source of an entry; none if its flows come once.
    pub(crate) fn new(flows: &Flows, seed: u64, entry: u32, first_group: u32) -> Option<SourceSpec> {
        let mut streams = Streams::new(seed, entry);
        let each = FlowTemplate::of(flows, first_group);
        let poisson = |gap_ns: u64, streams: &mut Streams| {
            let (from_ns, until_ns) = streams.times(flows);
            Poisson { gap_ns, from_ns, until_ns }
        };
        let arrival = match &flows.arrival {
            ArrivalPattern::Once => return None,
            ArrivalPattern::Repeat(pause) => {
                let TrafficModel::Tcp { size: Some(sizes), initial_window, .. } = &flows.traffic else {
                    return None;
                };
                let count = draw(&mut stream(seed, &format!("flows[{entry}].count")), flows.count);
                let first = (0..count).map(|_| streams.flow(flows, &each)).collect();
                ArrivalProcess::Sessions {
                    pause: *pause,
                    sizes: sizes.clone(),
                    window: *initial_window,
                    first,
                }
            }
            ArrivalPattern::Arrive(a) => {
                ArrivalProcess::Arrivals { at: poisson(a.gap_ns, &mut streams), each }
            }
            ArrivalPattern::Pages(loads) => ArrivalProcess::Pages {
                at: match loads.arrivals {
                    Some(a) => Loads::Arrive(poisson(a.gap_ns, &mut streams)),
                    None => Loads::At(loads.at_ns.clone()),
                },
                pages: loads.pages.clone(),
                each,
            },
        };
        Some(SourceSpec { seed, entry, arrival })
    }

    /// The flows that are there at a time: the first of those that follow one another.
    pub fn sessions(&self) -> impl Iterator<Item = Transfer> {
        let sessions = match &self.arrival {
            ArrivalProcess::Sessions { first, .. } => first.as_slice(),
            _ => &[],
        };
        let first = |(i, flow): (usize, &FlowSpec)| Transfer {
            flow: FlowSpec { stop_ns: None, ..flow.clone() },
            session: Some(i as u32),
            page: None,
        };
        sessions.iter().enumerate().map(first)
    }
}

/// A source at work: flows that are drawn as they come.
#[derive(Debug)]
pub struct Source {
    spec: SourceSpec,
    streams: Streams,
    /// Of each session: sizes and pauses.
    sessions: Vec<(Draws, Draws)>,
    arrivals: Draws,
    picks: Draws,
    /// When the last flow arrived or the last page was loaded, ns.
    at_ns: u64,
    /// Pages begun.
    begun: u32,
    /// Packets of the flows of the present page that are still to start, the next one last.
    left: Vec<u32>,
}

impl Source {
    /// One of which nothing has come yet.
    pub fn new(spec: &SourceSpec) -> Source {
        let SourceSpec { seed, entry, arrival } = spec;
        let open = |key: &str| stream(*seed, &format!("flows[{entry}].{key}"));
        let session = |i: usize| (open(&format!("amount[{i}]")), open(&format!("repeat[{i}]")));
        let (sessions, at_ns) = match arrival {
            ArrivalProcess::Sessions { first, .. } => ((0..first.len()).map(session).collect(), 0),
            ArrivalProcess::Arrivals { at, .. } | ArrivalProcess::Pages { at: Loads::Arrive(at), .. } => {
                (Vec::new(), at.from_ns)
            }
            ArrivalProcess::Pages { .. } => (Vec::new(), 0),
        };
        Source {
            streams: Streams::new(*seed, *entry),
            sessions,
            arrivals: open("arrivals"),
            // Named when the key was: another name is other draws.
            picks: open("burst"),
            at_ns,
            begun: 0,
            left: Vec::new(),
            spec: spec.clone(),
        }
    }

    /// The flow that follows one that ended at `ended_ns`; none: that was the last.
    pub fn follow(&mut self, session: u32, ended_ns: u64) -> Option<Transfer> {
        let ArrivalProcess::Sessions { pause, sizes, window, first } = &self.spec.arrival else {
            return None;
        };
        let first = first.get(session as usize)?;
        let (size_draws, pause_draws) = self.sessions.get_mut(session as usize)?;
        let at_ns = ended_ns.saturating_add(pause.draw(pause_draws));
        if first.stop_ns.is_some_and(|stop| at_ns >= stop) {
            return None;
        }
        let mut flow = FlowSpec { start_ns: at_ns, stop_ns: None, ..first.clone() };
        resize(&mut flow, *window, sizes.draw(size_draws));
        Some(Transfer { flow, session: Some(session), page: None })
    }

    /// The next flow that arrives by itself, in order of time; none: no more do.
    pub fn arrive(&mut self) -> Option<Transfer> {
        match &self.spec.arrival {
            ArrivalProcess::Sessions { .. } => None,
            ArrivalProcess::Arrivals { at, each } => {
                self.at_ns = at.next(self.at_ns, &mut self.arrivals)?;
                let flow = self.streams.flow_at(each, self.at_ns, None);
                Some(Transfer { flow, session: None, page: None })
            }
            ArrivalProcess::Pages { at, pages, each } => {
                while self.left.is_empty() {
                    self.at_ns = match at {
                        Loads::Arrive(at) => at.next(self.at_ns, &mut self.arrivals)?,
                        Loads::At(times) => *times.get(self.begun as usize)?,
                    };
                    self.left = pages.page(self.begun, &mut self.picks);
                    self.left.reverse();
                    self.begun += 1;
                }
                let packets = self.left.pop()?;
                let mut flow = self.streams.flow_at(each, self.at_ns, None);
                let TrafficModel::Tcp { initial_window, .. } = &each.traffic else { return None };
                resize(&mut flow, *initial_window, page_bytes(packets));
                Some(Transfer { flow, session: None, page: Some(self.begun - 1) })
            }
        }
    }
}

impl Poisson {
    /// The arrival after one at a time.
    fn next(&self, at_ns: u64, rng: &mut Draws) -> Option<u64> {
        let next_ns = at_ns.saturating_add(exponential(rng, self.gap_ns));
        (next_ns < self.until_ns.unwrap_or(u64::MAX)).then_some(next_ns)
    }
}

/// Gives a flow a size, and the window that goes with it.
fn resize(flow: &mut FlowSpec, window: Option<InitialWindow>, bytes: u64) {
    if let Traffic::Tcp { stack, size_bytes, initial_window, .. } = &mut flow.traffic {
        *size_bytes = Some(bytes);
        *initial_window = window.map(|w| first_window(w, Some(bytes), *stack));
    }
}
