//! How much a flow sends: a range, a distribution, or what a file says.

use crate::capture;
use crate::data::{DataFile, Files, Sheet, unreadable};
use crate::error::Error;
use crate::keys::{Keys, LOGNORMAL, MAX_SIZE, PARETO, SIZES};
use crate::limits::{CAPTURE, SIZES as LIMIT};
use crate::node::{Node, Table, Value};
use crate::packet::SEGMENT_BYTES;
use crate::random::{Draws, draw, normal, open};
use crate::units::{self, Range, Unit};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use std::io::{BufRead, Read};
use std::sync::Arc;

const MILLION: f64 = 1e6;

/// Sizes of flows, bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Sizes {
    /// Uniform, both ends included.
    Uniform(Range),
    /// The logarithm is normally distributed.
    Lognormal {
        /// Median, bytes: e to the mean of the logarithm.
        median: u64,
        /// Standard deviation of the logarithm, millionths.
        sigma: u64,
        /// What is larger counts as this.
        max: u64,
    },
    /// P(size > x) = (min / x) ^ shape.
    Pareto {
        /// Smallest, bytes.
        min: u64,
        /// Millionths; above 0.
        shape: u64,
        /// What is larger counts as this.
        max: u64,
    },
    /// Each of a list, or of the flows of a capture, as likely as the others, or with their cumulative probabilities.
    Table(#[serde(with = "queuewright_aqm::shared")] Arc<SizeTable>),
}

/// What a file of sizes says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum SizeTable {
    /// Sizes to draw from, bytes.
    List(Vec<u64>),
    /// (size in bytes, share of flows not larger than it), both rising, the last share 1.
    Cumulative(Vec<(u64, f64)>),
}

impl Sizes {
    /// The `size` of an entry of flows, if it has one, and the file that it is out of.
    pub(crate) fn read_if(t: &Table<'_>, files: &Files) -> Result<(Option<Sizes>, Option<DataFile>), Error> {
        match t.get("size") {
            Some(node) if matches!(node.value, Value::Table(_)) => {
                let (sizes, file) = Sizes::read(node, files)?;
                Ok((Some(sizes), file))
            }
            _ => Ok((t.span_if("size")?.map(Sizes::Uniform), None)),
        }
    }

    fn read(node: &Node, files: &Files) -> Result<(Sizes, Option<DataFile>), Error> {
        let kind = match (node.get("file"), node.get("distribution")) {
            (Some(_), _) => "file",
            (None, Some(n)) => n.word("a distribution", &["lognormal", "pareto"])?,
            (None, None) => {
                let t = node.table(&LOGNORMAL)?;
                return Err(
                    t.missing("distribution", "\"lognormal\" or \"pareto\" (or file = \"sizes.csv\")")
                );
            }
        };
        let of = match kind {
            "file" => &SIZES,
            "pareto" => &PARETO,
            _ => &LOGNORMAL,
        };
        for other in [&LOGNORMAL, &PARETO, &SIZES].into_iter().flat_map(Keys::iter) {
            if let (Some(n), None) = (node.get(other.name), of.get(other.name)) {
                let allowed = of.names().join(", ");
                return Err(n.key_error(format!("does not belong here; allowed: {allowed}")));
            }
        }
        let t = node.table(of)?;
        if kind == "file" {
            let (n, what) = (t.need("file")?, "a file of sizes");
            let (file, table) = files.once(n, || {
                let (file, table) = read_table(n, files, what)?;
                let bytes = match &table {
                    SizeTable::List(sizes) => size_of_val(&sizes[..]),
                    SizeTable::Cumulative(points) => size_of_val(&points[..]),
                };
                Ok((file, table, bytes))
            })?;
            return Ok((Sizes::Table(table), Some(file)));
        }
        let max = t.one("max")?;
        let sizes = match kind {
            "pareto" => Sizes::Pareto { min: t.one_within("min", 1, max)?, shape: t.one("shape")?, max },
            _ => Sizes::Lognormal { median: t.one_within("median", 1, max)?, sigma: t.one("sigma")?, max },
        };
        Ok((sizes, None))
    }

    /// As a scenario file has it; a table is named by its file.
    pub(crate) fn show(&self, file: Option<&DataFile>) -> Json {
        let size = |bytes: u64| Unit::Bytes.show(bytes);
        let real = |m: u64| serde_json::from_str::<Json>(&units::show_millionths(m)).unwrap_or_default();
        match self {
            Sizes::Uniform(range) => json!(Unit::Bytes.show_range(*range)),
            Sizes::Lognormal { median, sigma, max } => {
                json!({"distribution": "lognormal", "median": size(*median), "sigma": real(*sigma), "max": size(*max)})
            }
            Sizes::Pareto { min, shape, max } => {
                json!({"distribution": "pareto", "min": size(*min), "shape": real(*shape), "max": size(*max)})
            }
            Sizes::Table(_) => {
                json!({"file": file.map(|f| &f.given), "file_sha256": file.map(|f| &f.sha256)})
            }
        }
    }

    /// In words, for people; a table is named by its file.
    pub fn describe(&self, file: Option<&DataFile>) -> String {
        let size = |bytes: u64| Unit::Bytes.show(bytes);
        let most =
            |bytes: u64| if bytes < MAX_SIZE { format!(", at most {}", size(bytes)) } else { String::new() };
        match self {
            Sizes::Uniform(range) => Unit::Bytes.show_range(*range),
            Sizes::Lognormal { median, sigma, max } => {
                let sigma = units::show_millionths(*sigma);
                format!("lognormal size, median {}, sigma {sigma}{}", size(*median), most(*max))
            }
            Sizes::Pareto { min, shape, max } => {
                let shape = units::show_millionths(*shape);
                format!("Pareto size from {}, shape {shape}{}", size(*min), most(*max))
            }
            Sizes::Table(_) => format!("size from {}", file.map_or("a table", |f| &f.given)),
        }
    }

    /// A size, at least a byte.
    pub(crate) fn draw(&self, rng: &mut Draws) -> u64 {
        match self {
            Sizes::Uniform(range) => draw(rng, *range),
            Sizes::Lognormal { median, sigma, max } => lognormal(*median, *sigma, *max, normal(rng)),
            Sizes::Pareto { min, shape, max } => pareto(*min, *shape, *max, open(rng)),
            Sizes::Table(table) => match &**table {
                SizeTable::List(sizes) => {
                    sizes[draw(rng, Range { min: 0, max: sizes.len() as u64 - 1 }) as usize]
                }
                SizeTable::Cumulative(points) => at_share(points, open(rng)),
            },
        }
    }

    /// The mean number of segments that such sizes take: the mean size, and what a last segment is short of a full one. Of
    /// distributions that part is the mean over the middles of so many equal shares.
    pub(crate) fn mean_segments(&self) -> f64 {
        const SHARES: u32 = 20_000;
        let segments = |bytes: u64| bytes.div_ceil(SEGMENT_BYTES);
        let short = |bytes: u64| (segments(bytes) * SEGMENT_BYTES - bytes) as f64;
        let over_shares = |at: &dyn Fn(f64) -> u64| {
            let shares = (0..SHARES).map(|i| (f64::from(i) + 0.5) / f64::from(SHARES));
            (self.mean() + shares.map(|share| short(at(share))).sum::<f64>() / f64::from(SHARES))
                / SEGMENT_BYTES as f64
        };
        match self {
            Sizes::Uniform(r) => {
                // The sum of segments over 1..=n: of n / SEGMENT_BYTES whole ones, and what is left.
                let upto = |n: u64| {
                    let (whole, rest) = (u128::from(n / SEGMENT_BYTES), u128::from(n % SEGMENT_BYTES));
                    u128::from(SEGMENT_BYTES) * whole * (whole + 1) / 2 + rest * (whole + 1)
                };
                (upto(r.max) - upto(r.min - 1)) as f64 / (r.max - r.min + 1) as f64
            }
            Sizes::Lognormal { median, sigma, max } => {
                over_shares(&|share| lognormal(*median, *sigma, *max, normal_quantile(share)))
            }
            Sizes::Pareto { min, shape, max } => over_shares(&|share| pareto(*min, *shape, *max, share)),
            Sizes::Table(table) => match &**table {
                SizeTable::List(sizes) => {
                    sizes.iter().map(|s| segments(*s) as f64).sum::<f64>() / sizes.len() as f64
                }
                SizeTable::Cumulative(points) => over_shares(&|share| at_share(points, share)),
            },
        }
    }

    /// The mean size, bytes: as drawn, but that distributions are cut to whole bytes.
    pub(crate) fn mean(&self) -> f64 {
        match self {
            Sizes::Uniform(r) => (r.min as f64 + r.max as f64) / 2.0,
            // E min(X, max), of X lognormal: below max its share of the mean, above it max itself.
            Sizes::Lognormal { median, sigma, max } => {
                let sigma = *sigma as f64 / MILLION;
                let (mu, cut) = (libm::log(*median as f64), libm::log(*max as f64));
                let below = |x: f64| 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2);
                let z = (cut - mu) / sigma;
                libm::exp(mu + sigma * sigma / 2.0) * below(z - sigma) + *max as f64 * (1.0 - below(z))
            }
            // The integral of P(X > x) from 0 to max.
            Sizes::Pareto { min, shape, max } => {
                let (min, shape, max) = (*min as f64, *shape as f64 / MILLION, *max as f64);
                let tail = if (shape - 1.0).abs() < 1e-9 {
                    min * libm::log(max / min)
                } else {
                    min / (shape - 1.0) * (1.0 - libm::pow(min / max, shape - 1.0))
                };
                min + tail
            }
            Sizes::Table(table) => match &**table {
                SizeTable::List(sizes) => sizes.iter().map(|s| *s as f64).sum::<f64>() / sizes.len() as f64,
                SizeTable::Cumulative(points) => {
                    let pairs = points.windows(2);
                    let between = pairs.map(|w| (w[1].1 - w[0].1) * (w[0].0 as f64 + w[1].0 as f64) / 2.0);
                    points[0].0 as f64 * points[0].1 + between.sum::<f64>()
                }
            },
        }
    }
}

fn clip(bytes: f64, max: u64) -> u64 {
    (bytes as u64).clamp(1, max)
}

/// The size where a standard normal variable is this.
fn lognormal(median: u64, sigma: u64, max: u64, normal: f64) -> u64 {
    clip(median as f64 * libm::exp(sigma as f64 / MILLION * normal), max)
}

/// The size that this share of sizes is above of, in (0, 1].
fn pareto(min: u64, shape: u64, max: u64, share: f64) -> u64 {
    clip(min as f64 * libm::exp(-libm::log(share) * MILLION / shape as f64), max)
}

/// The size that this share of sizes, in (0, 1], is not larger than.
fn at_share(points: &[(u64, f64)], share: f64) -> u64 {
    let above = points.partition_point(|p| p.1 < share).min(points.len() - 1);
    let (size, p) = points[above];
    // The first point has its share to itself; between points sizes rise evenly.
    let Some((low, q)) = above.checked_sub(1).map(|i| points[i]) else { return size };
    low + ((size - low) as f64 * (share - q) / (p - q)) as u64
}

/// Where a standard normal variable is below with this probability, in (0, 1): by halving.
fn normal_quantile(share: f64) -> f64 {
    let below = |x: f64| 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2);
    let (mut low, mut high) = (-9.0, 9.0);
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        if below(middle) < share { low = middle } else { high = middle }
    }
    low
}

/// A size of a file: bytes, or with a unit as in a scenario.
pub(crate) fn bytes(text: &str) -> Option<u64> {
    let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let size = if plain { text.parse().ok() } else { Unit::Bytes.parse(text).ok() };
    size.filter(|s| (1..=MAX_SIZE).contains(s))
}

/// A table of sizes, or those of a capture's flows.
fn read_table(n: &Node, files: &Files, what: &str) -> Result<(DataFile, SizeTable), Error> {
    let unread = |e: std::io::Error| n.error(unreadable(&e));
    let (file, read) = DataFile::read_by(n, files, what, CAPTURE.bytes, |from| {
        if capture::is_capture(from.fill_buf().map_err(unread)?) {
            let mut sizes = capture::flow_sizes(from).map_err(|why| n.error(why))?;
            sizes.iter_mut().for_each(|s| *s = (*s).min(MAX_SIZE));
            return Ok(Err(sizes));
        }
        // One above what a table may have.
        let mut bytes = Vec::new();
        from.take(LIMIT.bytes + 1).read_to_end(&mut bytes).map_err(unread)?;
        Ok(Ok(bytes))
    })?;
    let table = match read {
        Ok(bytes) => table(&Sheet::new(n, &file, bytes, what, &LIMIT)?)?,
        Err(sizes) => SizeTable::List(sizes),
    };
    Ok((file, table))
}

fn table(sheet: &Sheet) -> Result<SizeTable, Error> {
    const FORM: &str =
        "a size in bytes (1 to 4096gb) in each line, or a size and the share of flows not larger than it";
    let mut list = Vec::new();
    let mut points: Vec<(u64, f64)> = Vec::new();
    for (n, (line, fields)) in sheet.lines().enumerate() {
        let Some(size) = bytes(fields[0]) else {
            // A first line without a number names the columns.
            if n == 0 && !fields[0].starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.') {
                continue;
            }
            return Err(sheet.error(line, Some(fields[0]), format!("not a size; write {FORM}")));
        };
        if (list.len() + points.len()) as u64 == LIMIT.items.0 {
            return Err(sheet.error(line, None, format!("more than {} sizes", LIMIT.items.0)));
        }
        match fields.as_slice() {
            [_] if points.is_empty() => list.push(size),
            [_, share] if list.is_empty() => {
                let p = share.parse::<f64>().ok().filter(|p| (0.0..=1.0).contains(p));
                let Some(p) = p else {
                    return Err(sheet.error(line, Some(share), "not a share; write a number from 0 to 1"));
                };
                if points.last().is_some_and(|last| size < last.0 || p < last.1) {
                    return Err(sheet.error(line, None, "below the line above it; sizes and shares rise"));
                }
                points.push((size, p));
            }
            _ => return Err(sheet.error(line, None, format!("not as the lines above it; write {FORM}"))),
        }
    }
    match points.last() {
        Some((_, p)) if *p != 1.0 => {
            Err(sheet.error(0, None, "the last share must be 1: every flow has a size"))
        }
        Some(_) => Ok(SizeTable::Cumulative(points)),
        None if list.is_empty() => Err(sheet.error(0, None, format!("no size; write {FORM}"))),
        None => Ok(SizeTable::List(list)),
    }
}
