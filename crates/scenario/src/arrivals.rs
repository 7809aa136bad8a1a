//! How the flows of an entry come: once, one after another, or as they arrive; alone or a page at a time.

use crate::data::{DataFile, Files, Sheet};
use crate::error::Error;
use crate::keys::{AT, EXPONENTIAL, PAGES, RATE};
use crate::limits::PAGES as PAGES_READ;
use crate::node::{Node, Table, Value};
use crate::packet::SEGMENT_BYTES;
use crate::random::{Draws, draw, exponential, open};
use crate::sizes::Sizes;
use crate::units::{self, MILLION, Range, Unit};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};
use std::collections::HashMap;
use std::sync::Arc;

/// Most pages of a file, and most flows of all that are loaded.
pub(crate) const MAX_PAGES: usize = 10_000;
pub(crate) const MAX_PAGED: usize = PAGES_READ.items.0 as usize;

/// The arrival pattern of an entry: how its flows come.
#[derive(Debug, Clone, PartialEq)]
pub enum ArrivalPattern {
    /// `count` flows, each once.
    Once,
    /// `count` flows at a time: one that has ended is followed by another, after a pause.
    Repeat(Pause),
    /// At random times.
    Arrive(Arrivals),
    /// Pages: flows that start together.
    Pages(PageLoads),
}

/// A time drawn for each flow: from its end to the start of the next, or from its start to its end.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Pause {
    /// Uniform, ns, both ends included.
    Uniform(Range),
    /// Exponential with this mean, ns.
    Exponential(u64),
}

/// A Poisson process.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arrivals {
    /// As written.
    pub rate: ArrivalRate,
    /// Mean time between arrivals, ns.
    pub gap_ns: u64,
}

/// How often flows (or pages) arrive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ArrivalRate {
    /// So many a second, millionths.
    PerSecond(u64),
    /// As offer this share of the first port's rate, millionths.
    Share(u64),
    /// As offer so many bits a second.
    Bits(u64),
}

/// Pages and when they are loaded.
#[derive(Debug, Clone, PartialEq)]
pub struct PageLoads {
    /// What a page is.
    pub pages: Pages,
    /// The file that pages are out of.
    pub file: Option<PagesFile>,
    /// When, ns, not falling; empty: as they arrive.
    pub at_ns: Vec<u64>,
    /// If not at set times.
    pub arrivals: Option<Arrivals>,
}

/// A file of pages.
#[derive(Debug, Clone, PartialEq)]
pub struct PagesFile {
    /// The file.
    pub file: DataFile,
    /// Which of its pages, in which order; each the number that the file gives it.
    pub traces: Vec<u64>,
}

/// The flows of pages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Pages {
    /// The built-in generator: [`web_page`].
    Web,
    /// Of these.
    Of {
        /// Drawn at random, not taken in turn.
        random: bool,
        /// The packets of each flow of each.
        #[serde(with = "queuewright_aqm::shared")]
        pages: Arc<Vec<Vec<u32>>>,
    },
}

/// Payload of a flow of so many packets of a page, bytes: each is a full one, headers included.
pub(crate) fn page_bytes(packets: u32) -> u64 {
    u64::from(packets) * SEGMENT_BYTES
}

impl Pause {
    /// That of a key, if it is there.
    pub(crate) fn read_if(t: &Table<'_>, key: &str) -> Result<Option<Pause>, Error> {
        match t.get(key) {
            Some(node) if matches!(node.value, Value::Table(_)) => {
                Ok(Some(Pause::Exponential(node.table(&EXPONENTIAL)?.one("exponential")?)))
            }
            _ => Ok(t.span_if(key)?.map(Pause::Uniform)),
        }
    }

    pub(crate) fn show(self) -> Json {
        match self {
            Pause::Uniform(range) => json!(Unit::Time.show_range(range)),
            Pause::Exponential(mean) => json!({ "exponential": Unit::Time.show(mean) }),
        }
    }

    /// Mean, ns.
    pub(crate) fn mean(self) -> f64 {
        match self {
            Pause::Uniform(range) => range.min.midpoint(range.max) as f64,
            Pause::Exponential(mean) => mean as f64,
        }
    }

    pub(crate) fn draw(self, rng: &mut Draws) -> u64 {
        match self {
            Pause::Uniform(range) => draw(rng, range),
            Pause::Exponential(mean) => exponential(rng, mean),
        }
    }
}

impl ArrivalRate {
    pub(crate) fn read(node: &Node) -> Result<ArrivalRate, Error> {
        const FORM: &str = "write arrivals a second (\"50/s\"), or what they offer: a share of the link (\"40%\") or a rate (\"20mbit\")";
        let text = node.text(FORM.trim_start_matches("write "))?;
        let number = |digits: &str, top: u64| {
            let m = units::parse_millionths(digits)
                .map_err(|_| node.error(format!("not a rate of arrivals; {FORM}")))?;
            if m == 0 || m > top {
                return Err(node.error(format!("out of range; {FORM}")));
            }
            Ok(m)
        };
        if let Some(digits) = text.strip_suffix("/s") {
            return number(digits, 1_000_000 * MILLION).map(ArrivalRate::PerSecond);
        }
        if let Some(digits) = text.strip_suffix('%') {
            let m = number(digits, 1000 * MILLION)?;
            if m % 100 != 0 {
                return Err(node.error("not a whole number of millionths"));
            }
            return Ok(ArrivalRate::Share(m / 100));
        }
        if !text.ends_with("bit") {
            return Err(node.error(format!("not a rate of arrivals; {FORM}")));
        }
        node.one(&RATE).map(ArrivalRate::Bits)
    }

    pub(crate) fn show(self) -> String {
        match self {
            ArrivalRate::PerSecond(m) => format!("{}/s", units::show_millionths(m)),
            ArrivalRate::Share(m) => format!("{}%", units::show_millionths(m * 100)),
            ArrivalRate::Bits(bps) => Unit::Rate.show(bps),
        }
    }

    /// The mean time between arrivals, ns, where a transfer takes so many bytes of the link on
    /// average and the link has so many bits a second.
    pub(crate) fn gap_ns(self, mean_bytes: f64, link_bps: u64) -> u64 {
        let offered = |bps: f64| bps / 8.0 / mean_bytes;
        let per_second = match self {
            ArrivalRate::PerSecond(m) => m as f64 / 1e6,
            ArrivalRate::Share(m) => offered(m as f64 / 1e6 * link_bps as f64),
            ArrivalRate::Bits(bps) => offered(bps as f64),
        };
        (1e9 / per_second).round() as u64
    }
}

impl PageLoads {
    /// Keys of `pages`; when pages are loaded, where `at` is not among them, is the entry's `arrivals`.
    pub(crate) fn read(node: &Node, files: &Files, duration_ns: u64) -> Result<PageLoads, Error> {
        let t = node.table(&PAGES)?;
        let mut at_ns = Vec::new();
        if let Some(n) = t.get("at") {
            for item in n.items() {
                let at = item.one(&AT)?;
                if at >= duration_ns || at_ns.last().is_some_and(|last| at < *last) {
                    return Err(item.error(format!(
                        "times of pages do not fall, and lie before the run's end (run.duration = \"{}\")",
                        Unit::Time.show(duration_ns)
                    )));
                }
                at_ns.push(at);
            }
            if at_ns.is_empty() {
                return Err(n.error("no time; write at least one, such as [\"10s\", \"20s\"]"));
            }
        }
        let Some(n) = t.get("file") else {
            if let Some(n) = t.get("traces").or(t.get("pick")) {
                return Err(n.key_error("belongs to a file of pages; write file = \"pages.csv\" beside it"));
            }
            return Ok(PageLoads { pages: Pages::Web, file: None, at_ns, arrivals: None });
        };
        let (file, sheet) = Sheet::read(n, files, "a file of pages", &PAGES_READ)?;
        let known = pages(&sheet)?;
        let places: HashMap<u64, usize> = known.iter().enumerate().map(|(i, page)| (page.0, i)).collect();
        let mut traces = Vec::new();
        match t.get("traces") {
            None => traces = known.iter().map(|p| p.0).collect(),
            Some(n) => {
                let mut flows = 0;
                for item in n.list("numbers of traces, such as [967, 652]")? {
                    let range = item.whole(0, u64::MAX)?;
                    let page = places.get(&range.min).filter(|_| range.min == range.max).map(|i| &known[*i]);
                    flows += page.map_or(0, |p| p.1.len());
                    if flows > MAX_PAGED {
                        return Err(item.error(format!("more than {MAX_PAGED} flows with this one")));
                    }
                    if page.is_none() {
                        let all: Vec<String> = known.iter().map(|p| p.0.to_string()).take(50).collect();
                        return Err(
                            item.error(format!("not a trace of this file. Allowed: {}", all.join(", ")))
                        );
                    }
                    traces.push(range.min);
                }
                if traces.is_empty() {
                    return Err(n.error("no trace; leave the key out for all of the file"));
                }
            }
        }
        let random = t.word("pick", "a way to pick pages")? == "random";
        let pick = |trace: &u64| places.get(trace).map(|i| known[*i].1.clone()).unwrap_or_default();
        let pages: Vec<Vec<u32>> = traces.iter().map(pick).collect();
        files.hold(n, pages.iter().map(|page| size_of::<Vec<u32>>() + size_of_val(&page[..])).sum())?;
        let pages = Arc::new(pages);
        let file = Some(PagesFile { file, traces });
        Ok(PageLoads { pages: Pages::Of { random, pages }, file, at_ns, arrivals: None })
    }

    pub(crate) fn show(&self) -> Json {
        let mut o = Map::new();
        if let (Pages::Of { random, .. }, Some(PagesFile { file, traces })) = (&self.pages, &self.file) {
            o.insert("file".into(), json!(file.given));
            o.insert("file_sha256".into(), json!(file.sha256));
            o.insert("traces".into(), json!(traces));
            o.insert("pick".into(), json!(if *random { "random" } else { "turn" }));
        }
        if !self.at_ns.is_empty() {
            let at: Vec<String> = self.at_ns.iter().map(|ns| Unit::Time.show(*ns)).collect();
            o.insert("at".into(), json!(at));
        }
        o.into()
    }
}

impl Pages {
    /// What a page brings on average.
    pub(crate) fn mean(&self) -> Mean {
        let of = |flows: f64, bytes: f64| Mean { bytes, segments: bytes / SEGMENT_BYTES as f64, flows };
        match self {
            Pages::Web => of(mean(WEB_FLOWS), mean(WEB_FLOWS) * mean(WEB_PACKETS) * SEGMENT_BYTES as f64),
            Pages::Of { pages, .. } => {
                let n = pages.len() as f64;
                let bytes = pages.iter().flatten().map(|p| page_bytes(*p) as f64);
                of(pages.iter().map(Vec::len).sum::<usize>() as f64 / n, bytes.sum::<f64>() / n)
            }
        }
    }

    /// The flows of the `nth` page, packets each.
    pub(crate) fn page(&self, nth: u32, rng: &mut Draws) -> Vec<u32> {
        match self {
            Pages::Web => web_page(rng),
            Pages::Of { random, pages } => {
                let last = pages.len() as u64 - 1;
                let i = if *random {
                    draw(rng, Range { min: 0, max: last })
                } else {
                    u64::from(nth) % (last + 1)
                };
                pages[i as usize].clone()
            }
        }
    }
}

/// `trace,flow,packets` in each line: the pages in the order of their first lines.
fn pages(sheet: &Sheet) -> Result<Vec<(u64, Vec<u32>)>, Error> {
    const FORM: &str = "write trace,flow,packets (1 to 1000000), such as 967,0,12";
    let mut pages: Vec<(u64, Vec<u32>)> = Vec::new();
    let mut places: HashMap<u64, usize> = HashMap::new();
    for (n, (line, fields)) in sheet.lines().enumerate() {
        let numbers: Option<Vec<u64>> = fields.iter().map(|f| f.parse().ok()).collect();
        let Some([trace, _, packets @ 1..=1_000_000]) = numbers.as_deref() else {
            if n == 0 && fields.len() == 3 && fields[0] == "trace" {
                continue;
            }
            return Err(sheet.error(line, Some(&fields.join(",")), format!("not a flow of a page; {FORM}")));
        };
        if n > MAX_PAGED {
            return Err(sheet.error(line, None, format!("more than {MAX_PAGED} flows")));
        }
        match places.get(trace) {
            Some(&at) => pages[at].1.push(*packets as u32),
            None if pages.len() == MAX_PAGES => {
                return Err(sheet.error(line, None, format!("more than {MAX_PAGES} pages")));
            }
            None => {
                places.insert(*trace, pages.len());
                pages.push((*trace, vec![*packets as u32]));
            }
        }
    }
    match pages.is_empty() {
        true => Err(sheet.error(0, None, format!("no flow; {FORM}"))),
        false => Ok(pages),
    }
}

/// Quantiles (share, value) of the number of flows of a page and of the packets of a flow, over the
/// twelve page loads (1740 flows) that the Titrate artifact keeps of the Alexa top 1000 (November 2023).
type Quantiles = &'static [(f64, f64)];
const WEB_FLOWS: Quantiles = &[
    (0.0, 45.0),
    (0.09, 58.0),
    (0.18, 68.0),
    (0.27, 74.0),
    (0.36, 82.0),
    (0.45, 86.0),
    (0.55, 106.0),
    (0.64, 134.0),
    (0.73, 144.0),
    (0.82, 218.0),
    (0.91, 236.0),
    (1.0, 489.0),
];
const WEB_PACKETS: Quantiles = &[
    (0.0, 1.0),
    (0.47, 1.0),
    (0.5, 2.0),
    (0.6, 3.0),
    (0.75, 9.0),
    (0.9, 59.0),
    (0.95, 118.0),
    (0.975, 246.0),
    (0.99, 483.0),
    (0.995, 1424.0),
    (0.999, 4205.0),
    (1.0, 5719.0),
];

/// The value at a share; between quantiles its logarithm rises evenly.
fn quantile(table: Quantiles, share: f64) -> f64 {
    let above = table.partition_point(|q| q.0 < share).clamp(1, table.len() - 1);
    let ((q, low), (p, high)) = (table[above - 1], table[above]);
    low * libm::exp(libm::log(high / low) * (share - q) / (p - q))
}

/// The mean of what [`quantile`] gives: of each piece, the logarithmic mean of its ends.
fn mean(table: Quantiles) -> f64 {
    let piece = |w: &[(f64, f64)]| {
        let (low, high) = (w[0].1, w[1].1);
        (w[1].0 - w[0].0) * if low == high { low } else { (high - low) / libm::log(high / low) }
    };
    table.windows(2).map(piece).sum()
}

/// A web page: the packets of each of its flows.
pub(crate) fn web_page(rng: &mut Draws) -> Vec<u32> {
    let flows = quantile(WEB_FLOWS, open(rng)).round() as usize;
    (0..flows).map(|_| quantile(WEB_PACKETS, open(rng)).round().max(1.0) as u32).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;

    /// The generator's pages have the quantiles that they were made from.
    #[test]
    fn web_pages_have_their_quantiles() {
        let mut rng = stream(1, "test");
        let pages: Vec<Vec<u32>> = (0..2000).map(|_| web_page(&mut rng)).collect();
        let mut packets: Vec<u32> = pages.iter().flatten().copied().collect();
        packets.sort_unstable();
        let at = |share: f64| f64::from(packets[(share * packets.len() as f64) as usize]);
        // As counted over the twelve: 47 % of one packet, median 2, 9, 59, 118, 483; mean 38.4.
        assert_eq!(at(0.45), 1.0);
        for (share, want) in [(0.5, 2.0), (0.75, 9.0), (0.9, 59.0), (0.95, 118.0), (0.99, 483.0)] {
            assert!((at(share) / want - 1.0).abs() < 0.06, "{share}: {}", at(share));
        }
        let mean_packets = packets.iter().map(|p| f64::from(*p)).sum::<f64>() / packets.len() as f64;
        assert!((mean_packets / 38.4 - 1.0).abs() < 0.06, "{mean_packets}");
        assert!((mean(WEB_PACKETS) / mean_packets - 1.0).abs() < 0.03);
        let mean_flows = packets.len() as f64 / 2000.0;
        // The twelve have 145, since the largest has a twelfth of its own there.
        assert!((mean_flows / 132.0 - 1.0).abs() < 0.06, "{mean_flows}");
    }
}
