//! tc's units: rates, times, sizes, and ranges of them.
//!
//! Everything is an integer in a base unit (bit/s, ns, bytes) and stays exact: a
//! text that is not a whole number of the base unit is refused, never rounded,
//! and what is printed parses to the same number again.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Nanoseconds in a second.
pub(crate) const S: u64 = 1_000_000_000;
/// Bits a second in a rate's units, largest first (tc(8): powers of 1000).
const RATE: &[(&str, u64)] = &[("gbit", 1_000_000_000), ("mbit", 1_000_000), ("kbit", 1_000), ("bit", 1)];
/// Nanoseconds in a time's units, largest first.
const TIME: &[(&str, u64)] = &[("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];
/// Bytes in a size's units, largest first (tc(8): powers of 1024).
const BYTES: &[(&str, u64)] = &[("gb", 1 << 30), ("mb", 1 << 20), ("kb", 1 << 10), ("b", 1)];

/// What is wrong with a text, and what to write instead: the end of a sentence
/// that began with the text itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong(pub String);

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A kind of quantity and how it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bits a second: `bit`, `kbit`, `mbit`, `gbit`, powers of 1000.
    Rate,
    /// Nanoseconds: `ns`, `us`, `ms`, `s`.
    Time,
    /// Bytes: `b`, `kb`, `mb`, `gb`, powers of 1024 as tc has it.
    Bytes,
}

impl Unit {
    fn table(self) -> &'static [(&'static str, u64)] {
        match self {
            Unit::Rate => RATE,
            Unit::Time => TIME,
            Unit::Bytes => BYTES,
        }
    }

    /// Its units, largest first.
    pub(crate) fn names(self) -> Vec<&'static str> {
        self.table().iter().map(|(name, _)| *name).collect()
    }

    /// "not a ...": the general complaint, with what is allowed.
    fn expected(self) -> &'static str {
        match self {
            Unit::Rate => "not a rate; write a number with bit, kbit, mbit or gbit, such as \"100mbit\"",
            Unit::Time => "not a time; write a number with ns, us, ms or s, such as \"20ms\"",
            Unit::Bytes => {
                "not a size; write a number with b, kb, mb or gb (powers of 1024), such as \"45kb\""
            }
        }
    }

    /// Name of the quantity in a sentence.
    fn noun(self) -> &'static str {
        match self {
            Unit::Rate => "a rate",
            Unit::Time => "a time",
            Unit::Bytes => "a size",
        }
    }

    /// The base unit in a sentence.
    fn base(self) -> &'static str {
        match self {
            Unit::Rate => "bits a second",
            Unit::Time => "nanoseconds",
            Unit::Bytes => "bytes",
        }
    }

    /// Reads one value, such as `20ms`, in the base unit.
    ///
    /// # Errors
    /// Another unit, none, or a number that is not a whole number of the base unit below 2^64.
    pub fn parse(self, text: &str) -> Result<u64, Wrong> {
        let (number, suffix) = split(text);
        if suffix.is_empty() && number.is_empty() {
            return Err(Wrong(self.expected().into()));
        }
        if suffix.is_empty() {
            decimal(number).map_err(|()| Wrong(self.expected().into())).map(|_| ())?;
            return Err(Wrong(format!("{} needs a unit; write {}", self.noun(), self.examples(number))));
        }
        let Some(scale) = self.scale(suffix) else {
            return Err(self.other_unit(number, suffix));
        };
        let value = decimal(number).map_err(|()| Wrong(self.expected().into()))?;
        value.times(scale).map_err(|e| match e {
            Inexact::Fraction => Wrong(format!("not a whole number of {}", self.base())),
            Inexact::TooLarge => Wrong(format!("too large; the largest is 2^64 - 1 {}", self.base())),
        })
    }

    /// Writes a value such that [`Unit::parse`] reads the same number: times and
    /// rates in the largest unit that is not larger than the value, sizes in the
    /// largest unit that divides it.
    pub fn show(self, value: u64) -> String {
        let table = self.table();
        let (name, scale) = match self {
            Unit::Bytes => table.iter().find(|(_, s)| value.is_multiple_of(*s)),
            _ => table.iter().find(|(_, s)| value >= *s),
        }
        .copied()
        .filter(|_| value > 0)
        .unwrap_or(match self {
            Unit::Time => ("s", 1_000_000_000),
            Unit::Rate => ("bit", 1),
            Unit::Bytes => ("b", 1),
        });
        let whole = value / scale;
        let rest = value % scale;
        if rest == 0 {
            return format!("{whole}{name}");
        }
        // Only powers of ten get here: their remainder has as many digits as they have zeros.
        let digits = scale.ilog10() as usize;
        let fraction = format!("{rest:0digits$}");
        format!("{whole}.{}{name}", fraction.trim_end_matches('0'))
    }

    /// Reads a value or a range, such as `20ms..80ms` or `20..80ms`.
    ///
    /// # Errors
    /// As [`Unit::parse`]; a range that falls.
    pub fn parse_range(self, text: &str) -> Result<Range, Wrong> {
        let Some((low, high)) = text.split_once("..") else {
            return self.parse(text).map(Range::one);
        };
        let side = |part: &str| {
            self.parse(part).map_err(|w| {
                if part.is_empty() {
                    Wrong("half a range; write both ends, such as \"20ms..80ms\"".replace(
                        "20ms..80ms",
                        match self {
                            Unit::Rate => "10mbit..100mbit",
                            Unit::Time => "20ms..80ms",
                            Unit::Bytes => "10kb..1mb",
                        },
                    ))
                } else {
                    Wrong(format!("\"{}\": {w}", quote(part)))
                }
            })
        };
        let max = side(high)?;
        // The left end may leave its unit to the right one.
        let min = if !low.is_empty() && split(low).1.is_empty() {
            side(&format!("{low}{}", split(high).1))?
        } else {
            side(low)?
        };
        if min > max {
            return Err(Wrong("a range that falls; write the smaller end first".into()));
        }
        Ok(Range { min, max })
    }

    /// Writes a range such that [`Unit::parse_range`] reads the same.
    pub fn show_range(self, range: Range) -> String {
        if range.min == range.max {
            self.show(range.min)
        } else {
            format!("{}..{}", self.show(range.min), self.show(range.max))
        }
    }

    fn scale(self, suffix: &str) -> Option<u64> {
        let found = self.table().iter().find(|(name, _)| *name == suffix);
        found.map(|(_, scale)| *scale)
    }

    fn examples(self, number: &str) -> String {
        let number = if number.len() > 12 { "10" } else { number };
        match self {
            Unit::Rate => format!("\"{number}mbit\" or \"{number}kbit\""),
            Unit::Time => format!("\"{number}ms\" or \"{number}s\""),
            Unit::Bytes => format!("\"{number}b\" or \"{number}kb\""),
        }
    }

    /// A suffix that is not ours: say which of ours is meant, if that is plain.
    fn other_unit(self, number: &str, suffix: &str) -> Wrong {
        let plain = decimal(number).is_ok();
        let bare = suffix.trim();
        if plain && self.scale(bare).is_some() {
            return Wrong(format!("{} is written without a space: \"{number}{bare}\"", self.noun()));
        }
        if number.is_empty() && bare.starts_with('-') {
            return Wrong(format!("{} cannot be negative", self.noun()));
        }
        if !plain {
            return Wrong(self.expected().into());
        }
        let lower = bare.to_lowercase();
        if self == Unit::Rate {
            // tc reads "mbps" as megabytes, nearly everybody else as megabits.
            if let Some(prefix) = ["k", "m", "g", ""].iter().find(|p| lower == format!("{p}bps")) {
                return Wrong(format!(
                    "\"{}\" is bytes a second to tc and bits a second to others; \
                     write \"{number}{prefix}bit\" if you mean bits a second",
                    quote(bare)
                ));
            }
            // A capital B is a byte to all who write it.
            let bytes = bare.strip_suffix("/s").unwrap_or(bare);
            let bytes = bytes.strip_suffix("yte").or_else(|| bytes.strip_suffix("ytes")).unwrap_or(bytes);
            let prefix = bytes
                .strip_suffix('B')
                .or_else(|| bytes.strip_suffix('b').filter(|_| bytes != bare && bare.contains("yte")));
            let prefix = prefix.map(|p| p.strip_suffix('i').unwrap_or(p).to_lowercase());
            if let Some(prefix) = prefix.filter(|p| ["", "k", "m", "g"].contains(&p.as_str())) {
                let unit = format!("{prefix}bit");
                let bits = self.scale(&unit).and_then(|scale| decimal(number).ok()?.times(scale * 8).ok());
                let write =
                    bits.map_or(format!("a number of {unit}"), |bits| format!("\"{}\"", self.show(bits)));
                return Wrong(format!(
                    "\"{}\" is bytes, and a rate is in bits a second; write {write} for {number} {}",
                    quote(bare),
                    quote(bare)
                ));
            }
            let stem = lower.strip_suffix("/s").or_else(|| lower.strip_suffix("ps")).unwrap_or(&lower);
            let stem = stem.strip_suffix('s').unwrap_or(stem);
            let unit = match stem {
                "bit" | "b" if stem != "b" || bare == "b/s" => Some("bit"),
                "kbit" | "k" | "kb" => Some("kbit"),
                "mbit" | "m" | "mb" => Some("mbit"),
                "gbit" | "g" | "gb" => Some("gbit"),
                _ => None,
            };
            if let Some(unit) = unit {
                return Wrong(format!("\"{}\" is not a unit of rate; write \"{number}{unit}\"", quote(bare)));
            }
        }
        let unit = match (self, lower.as_str()) {
            (Unit::Time, "sec" | "secs" | "second" | "seconds") => Some("s"),
            (Unit::Time, "msec" | "msecs" | "millis" | "millisecond" | "milliseconds") => Some("ms"),
            (Unit::Time, "usec" | "usecs" | "µs" | "μs" | "microsecond" | "microseconds") => Some("us"),
            (Unit::Time, "nsec" | "nsecs" | "nanosecond" | "nanoseconds") => Some("ns"),
            (Unit::Bytes, "byte" | "bytes") => Some("b"),
            (Unit::Bytes, "k" | "kib" | "kbyte" | "kbytes") => Some("kb"),
            (Unit::Bytes, "m" | "mib" | "mbyte" | "mbytes") => Some("mb"),
            (Unit::Bytes, "g" | "gib" | "gbyte" | "gbytes") => Some("gb"),
            _ => self.scale(&lower).map(|_| lower.as_str()),
        };
        if let Some(unit) = unit {
            let note = if self == Unit::Bytes && unit != "b" { " (a power of 1024, as in tc)" } else { "" };
            return Wrong(format!(
                "\"{}\" is not a unit of {}; write \"{number}{unit}\"{note}",
                quote(bare),
                &self.noun()[2..]
            ));
        }
        Wrong(self.expected().into())
    }
}

/// A value drawn uniformly from `min..=max`; one value where both are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Range {
    /// Smallest value.
    pub min: u64,
    /// Largest value, at least `min`.
    pub max: u64,
}

impl Range {
    /// A range of one value.
    pub const fn one(value: u64) -> Range {
        Range { min: value, max: value }
    }

    /// Reads whole numbers without a unit: `10` or `10..50`.
    ///
    /// # Errors
    /// Anything else, and a range that falls.
    pub fn parse_whole(text: &str) -> Result<Range, Wrong> {
        let number = |s: &str| {
            let plain = !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
            plain.then(|| s.parse().ok()).flatten().ok_or_else(|| {
                Wrong("not a whole number or a range of whole numbers, such as 10 or \"10..50\"".into())
            })
        };
        let range = match text.split_once("..") {
            None => Range::one(number(text)?),
            Some((min, max)) => Range { min: number(min)?, max: number(max)? },
        };
        if range.min > range.max {
            return Err(Wrong("a range that falls; write the smaller end first".into()));
        }
        Ok(range)
    }
}

/// Size of a buffer or threshold: in bytes, packets or multiples of the
/// bandwidth-delay product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// Bytes as the link counts them.
    Bytes(u64),
    /// Packets of any length.
    Packets(u32),
    /// Millionths of the bandwidth-delay product: 1_000_000 is `1bdp`.
    Bdp(u64),
}

/// Millionths in a whole.
pub const MILLION: u64 = 1_000_000;

impl Size {
    /// Reads `45kb`, `1000p` or `2bdp` (up to six decimals).
    ///
    /// # Errors
    /// Anything else, numbers too large, and what is finer than the decimals allow.
    pub fn parse(text: &str) -> Result<Size, Wrong> {
        const ALLOWED: &str =
            "not a size; write bytes (\"45kb\"), packets (\"1000p\") or bandwidth-delay products (\"2bdp\")";
        let (number, suffix) = split(text);
        let lower = suffix.trim().to_lowercase();
        match suffix {
            "bdp" => {
                let value = decimal(number).map_err(|()| Wrong(ALLOWED.into()))?;
                value.times(MILLION).map(Size::Bdp).map_err(|e| match e {
                    Inexact::Fraction => Wrong("too fine; bandwidth-delay products take six decimals".into()),
                    Inexact::TooLarge => Wrong("too large".into()),
                })
            }
            "p" => {
                let value = decimal(number).map_err(|()| Wrong(ALLOWED.into()))?;
                let packets = value.times(1).map_err(|_| Wrong("not a whole number of packets".into()))?;
                u32::try_from(packets)
                    .map(Size::Packets)
                    .map_err(|_| Wrong("too large; at most 4294967295 packets".into()))
            }
            _ if decimal(number).is_ok() && suffix.trim() == "bdp" => {
                Err(Wrong(format!("a size is written without a space: \"{number}bdp\"")))
            }
            _ if decimal(number).is_ok() && lower == "bdp" => {
                Err(Wrong(format!("units are written in lower case: \"{number}bdp\"")))
            }
            _ if decimal(number).is_ok()
                && matches!(lower.as_str(), "p" | "pkt" | "pkts" | "packet" | "packets") =>
            {
                Err(Wrong(format!("packets are written \"{number}p\"")))
            }
            "" if decimal(number).is_ok() => {
                let number = if number.len() > 12 { "10" } else { number };
                Err(Wrong(format!(
                    "a size needs a unit; write \"{number}p\" for packets, \"{number}b\" or \
                     \"{number}kb\" for bytes, or \"{number}bdp\""
                )))
            }
            _ => Unit::Bytes
                .parse(text)
                .map(Size::Bytes)
                .map_err(|w| if w.0 == Unit::Bytes.expected() { Wrong(ALLOWED.into()) } else { w }),
        }
    }

    /// Writes the size such that [`Size::parse`] reads the same.
    pub fn show(self) -> String {
        match self {
            Size::Bytes(n) => Unit::Bytes.show(n),
            Size::Packets(n) => format!("{n}p"),
            Size::Bdp(millionths) => format!("{}bdp", show_millionths(millionths)),
        }
    }
}

/// Reads a decimal number as millionths: `0.05` is 50000.
///
/// # Errors
/// Not a plain decimal number, finer than a millionth, or 2^64 millionths and more.
pub fn parse_millionths(text: &str) -> Result<u64, Wrong> {
    let value = decimal(text)
        .map_err(|()| Wrong("not a number; write a plain decimal number, such as 0.05".into()))?;
    value.times(MILLION).map_err(|e| match e {
        Inexact::Fraction => Wrong("too fine; at most six decimals".into()),
        Inexact::TooLarge => Wrong("too large".into()),
    })
}

/// Writes millionths as a decimal number.
pub fn show_millionths(millionths: u64) -> String {
    let (whole, rest) = (millionths / MILLION, millionths % MILLION);
    if rest == 0 {
        whole.to_string()
    } else {
        let fraction = format!("{rest:06}");
        format!("{whole}.{}", fraction.trim_end_matches('0'))
    }
}

/// Shortens a text for an error message and makes control characters visible.
pub fn quote(text: &str) -> String {
    const MOST: usize = 60;
    let mut out: String = text
        .chars()
        .take(MOST)
        .flat_map(|c| if c.is_control() { c.escape_default().collect::<Vec<_>>() } else { vec![c] })
        .collect();
    if text.chars().nth(MOST).is_some() {
        out.push_str("...");
    }
    out
}

/// Cuts `12.5mbit` into `12.5` and `mbit`.
fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    text.split_at(end)
}

/// A decimal number: `digits / 10^decimals`.
struct Decimal {
    digits: u128,
    decimals: u32,
}

enum Inexact {
    Fraction,
    TooLarge,
}

impl Decimal {
    /// The number times a scale, if that is whole and below 2^64.
    fn times(&self, scale: u64) -> Result<u64, Inexact> {
        let product = self.digits.checked_mul(u128::from(scale)).ok_or(Inexact::TooLarge)?;
        let divisor = 10u128.pow(self.decimals);
        if !product.is_multiple_of(divisor) {
            return Err(Inexact::Fraction);
        }
        u64::try_from(product / divisor).map_err(|_| Inexact::TooLarge)
    }
}

/// Reads digits with at most one point between them; no sign, no exponent.
fn decimal(text: &str) -> Result<Decimal, ()> {
    let (whole, fraction) = match text.split_once('.') {
        Some((w, f)) => (w, Some(f)),
        None => (text, None),
    };
    let all_digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    if !all_digits(whole) || !fraction.is_none_or(all_digits) {
        return Err(());
    }
    let fraction = fraction.unwrap_or("").trim_end_matches('0');
    let whole = whole.trim_start_matches('0');
    // 20 digits hold every u64; 18 decimals are finer than any unit here.
    if whole.len() > 20 || fraction.len() > 18 {
        // Let the caller see "too large" or "not whole" rather than "not a number".
        return Ok(if whole.len() > 20 {
            Decimal { digits: u128::MAX, decimals: 0 }
        } else {
            Decimal { digits: 1, decimals: 30 }
        });
    }
    let digits = format!("{whole}{fraction}");
    let digits = if digits.is_empty() { "0" } else { &digits };
    Ok(Decimal { digits: digits.parse().map_err(|_| ())?, decimals: fraction.len() as u32 })
}
