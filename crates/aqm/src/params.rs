//! Parameters: what a discipline can be told, in which unit and range.

use serde::Serialize;
use std::fmt;

pub(crate) const US: u64 = 1_000;
pub(crate) const MS: u64 = 1_000 * US;
pub(crate) const SEC: u64 = 1_000 * MS;

/// The longest IP packet that Ethernet takes.
pub const MTU_BYTES: u64 = 1500;
/// Ethernet's header.
pub const ETHERNET_BYTES: u64 = 14;
/// A full packet as Linux counts it: with Ethernet's header.
pub const FRAME_BYTES: u64 = MTU_BYTES + ETHERNET_BYTES;
/// A full packet on the wire: with preamble, checksum and gap, too.
pub const WIRE_BYTES: u64 = FRAME_BYTES + 8 + 4 + 12;

/// What a parameter is measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParamKind {
    /// A time; [`Value::Int`] in nanoseconds.
    Time,
    /// A size of packets or of a queue; [`Value::Int`] in bytes.
    Size,
    /// A rate; [`Value::Int`] in bits a second, which headers get as bytes a second.
    Rate,
    /// A number of things; [`Value::Int`].
    Count,
    /// A factor or gain; [`Value::Real`].
    Ratio,
    /// 0 to 1; [`Value::Real`].
    Probability,
    /// [`Value::Flag`].
    Flag,
    /// One of these words; [`Value::Choice`].
    Choice(&'static [&'static str]),
    /// A file of weights, or none. Its [`Value`] is 0 in any case; what the file holds is
    /// [`crate::Spec::weights`].
    File,
}

/// A parameter of a discipline.
#[derive(Debug)]
pub struct Param {
    /// Name in scenario files and results.
    pub name: &'static str,
    /// What it is measured in.
    pub kind: ParamKind,
    /// Unit as shown in lists: "time", "size", "rate", "1/s", ...; empty for pure numbers, flags and choices.
    pub unit: &'static str,
    /// One line.
    pub about: &'static str,
    /// What it is if nobody says; 0 may stand for a word (`zero`).
    pub default: Value,
    /// Smallest value allowed (numbers only).
    pub min: Value,
    /// Largest value allowed (numbers only).
    pub max: Value,
    /// If 0 is allowed beside `min..=max` and means something of its own: the word for
    /// it ("auto", "off"), which users may write and results show instead of 0.
    pub zero: Option<&'static str>,
    /// Where the default comes from.
    pub source: &'static str,
    /// May it change while the discipline runs ([`crate::Discipline::set`])?
    pub tunable: bool,
}

/// The value of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum Value {
    /// Nanoseconds, bytes, bits a second or a count.
    Int(u64),
    /// A ratio or a probability.
    Real(f64),
    /// On or off.
    Flag(bool),
    /// One of the words that [`ParamKind::Choice`] lists.
    Choice(&'static str),
}

const fn ints(numbers: [u64; 3]) -> [Value; 3] {
    let [default, min, max] = numbers;
    [Value::Int(default), Value::Int(min), Value::Int(max)]
}

impl Param {
    /// Of which `numbers` are the default, the smallest and the largest value.
    const fn new(
        name: &'static str,
        kind: ParamKind,
        unit: &'static str,
        about: &'static str,
        numbers: [Value; 3],
        source: &'static str,
    ) -> Self {
        let [default, min, max] = numbers;
        Param { name, kind, unit, about, default, min, max, zero: None, source, tunable: false }
    }

    /// A time, in ns.
    pub(crate) const fn time(
        name: &'static str,
        about: &'static str,
        default: u64,
        min: u64,
        max: u64,
        source: &'static str,
    ) -> Self {
        Self::new(name, ParamKind::Time, "time", about, ints([default, min, max]), source)
    }

    /// A size, in bytes.
    pub(crate) const fn size(
        name: &'static str,
        about: &'static str,
        default: u64,
        min: u64,
        max: u64,
        source: &'static str,
    ) -> Self {
        Self::new(name, ParamKind::Size, "size", about, ints([default, min, max]), source)
    }

    /// A rate, in bits a second.
    pub(crate) const fn rate(
        name: &'static str,
        about: &'static str,
        default: u64,
        min: u64,
        max: u64,
        source: &'static str,
    ) -> Self {
        Self::new(name, ParamKind::Rate, "rate", about, ints([default, min, max]), source)
    }

    /// A number of things of the kind that `unit` names.
    pub(crate) const fn count(
        name: &'static str,
        unit: &'static str,
        about: &'static str,
        numbers: [u64; 3],
        source: &'static str,
    ) -> Self {
        Self::new(name, ParamKind::Count, unit, about, ints(numbers), source)
    }

    /// A factor.
    pub(crate) const fn ratio(
        name: &'static str,
        unit: &'static str,
        about: &'static str,
        default: f64,
        min: f64,
        max: f64,
        source: &'static str,
    ) -> Self {
        let numbers = [Value::Real(default), Value::Real(min), Value::Real(max)];
        Self::new(name, ParamKind::Ratio, unit, about, numbers, source)
    }

    /// A probability.
    pub(crate) const fn probability(
        name: &'static str,
        about: &'static str,
        default: f64,
        source: &'static str,
    ) -> Self {
        let numbers = [Value::Real(default), Value::Real(0.0), Value::Real(1.0)];
        Self::new(name, ParamKind::Probability, "", about, numbers, source)
    }

    /// On or off.
    pub(crate) const fn flag(
        name: &'static str,
        about: &'static str,
        default: bool,
        source: &'static str,
    ) -> Self {
        let numbers = [Value::Flag(default), Value::Flag(false), Value::Flag(true)];
        Self::new(name, ParamKind::Flag, "", about, numbers, source)
    }

    /// One of `words`, of which `default` is one.
    pub(crate) const fn choice(
        name: &'static str,
        about: &'static str,
        words: &'static [&'static str],
        default: &'static str,
        source: &'static str,
    ) -> Self {
        let (first, last) = (words[0], words[words.len() - 1]);
        let numbers = [Value::Choice(default), Value::Choice(first), Value::Choice(last)];
        Self::new(name, ParamKind::Choice(words), "", about, numbers, source)
    }

    /// A file that is `none` unless it is given.
    pub(crate) const fn file(name: &'static str, about: &'static str, source: &'static str) -> Self {
        Self::new(name, ParamKind::File, "", about, ints([0; 3]), source).zero("none")
    }

    /// 0 is allowed too and is written as `word`.
    pub(crate) const fn zero(mut self, word: &'static str) -> Self {
        self.zero = Some(word);
        self
    }

    /// It may change while the discipline runs.
    pub(crate) const fn tunable(mut self) -> Self {
        self.tunable = true;
        self
    }

    /// What is allowed, in words: `1us .. 10s`, `true or false`, `timestamp or rate`.
    pub fn allowed(&self) -> String {
        match self.kind {
            ParamKind::Flag => "true or false".into(),
            ParamKind::Choice(words) => words.join(" or "),
            ParamKind::File => "none or the path of a file".into(),
            _ => {
                let range = format!("{} .. {}", self.display(self.min), self.display(self.max));
                match self.zero {
                    Some(word) => format!("{word} or {range}"),
                    None => range,
                }
            }
        }
    }

    /// The value as users write it: `5ms`, `15000b`, `10mbit`, `0.125`, `true`, `auto`.
    pub fn display(&self, value: Value) -> String {
        match (value, self.kind, self.zero) {
            (Value::Int(0), _, Some(word)) => word.into(),
            (Value::Int(ns), ParamKind::Time, _) => display_time(ns),
            (Value::Int(bytes), ParamKind::Size, _) => display_size(bytes),
            (Value::Int(bits), ParamKind::Rate, _) => display_rate(bits),
            (value, ..) => value.to_string(),
        }
    }

    /// The value if it is of this parameter's kind and in its range; whole numbers
    /// are taken for real ones.
    pub(crate) fn check(&self, value: Value) -> Option<Value> {
        use ParamKind as K;
        match (self.kind, value) {
            (K::Time | K::Size | K::Rate | K::Count, Value::Int(v)) => {
                let inside = Value::Int(v) == self.min
                    || matches!((self.min, self.max), (Value::Int(a), Value::Int(b)) if a <= v && v <= b);
                (inside || (v == 0 && self.zero.is_some())).then_some(value)
            }
            (K::Ratio | K::Probability, Value::Int(v)) => self.check(Value::Real(v as f64)),
            (K::Ratio | K::Probability, Value::Real(v)) => {
                matches!((self.min, self.max), (Value::Real(a), Value::Real(b)) if a <= v && v <= b)
                    .then_some(value)
            }
            (K::Flag, Value::Flag(_)) | (K::File, Value::Int(0)) => Some(value),
            (K::Choice(words), Value::Choice(w)) => {
                words.iter().find(|&&word| word == w).map(|&w| Value::Choice(w))
            }
            _ => None,
        }
    }

    /// As the C side takes it: times in ns, sizes in bytes, rates in bytes a second, flags as 0 or 1, choices as their
    /// index, real numbers in Q32. See `shim.c` and `module/options.h`.
    pub fn encode(&self, value: Value) -> u64 {
        match value {
            Value::Int(bits) if self.kind == ParamKind::Rate => bits / 8,
            Value::Int(v) => v,
            Value::Real(v) => (v * (1u64 << 32) as f64).round() as u64,
            Value::Flag(v) => v.into(),
            Value::Choice(w) => match self.kind {
                ParamKind::Choice(words) => words.iter().position(|&x| x == w).unwrap_or(0) as u64,
                _ => 0,
            },
        }
    }

    /// The value that [`Param::encode`] made a number of; real numbers to nine digits.
    pub fn decode(&self, number: u64) -> Value {
        match self.kind {
            ParamKind::Rate => Value::Int(number.saturating_mul(8)),
            ParamKind::Time | ParamKind::Size | ParamKind::Count | ParamKind::File => Value::Int(number),
            ParamKind::Ratio | ParamKind::Probability => {
                Value::Real((number as f64 / (1u64 << 32) as f64 * 1e9).round() / 1e9)
            }
            ParamKind::Flag => Value::Flag(number != 0),
            ParamKind::Choice(words) => {
                Value::Choice(words.get(number as usize).or(words.first()).copied().unwrap_or(""))
            }
        }
    }
}

impl fmt::Display for Value {
    /// The bare value, times in ns, sizes in bytes; [`Param::display`] knows the unit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Int(v) => v.fmt(f),
            Value::Real(v) => v.fmt(f),
            Value::Flag(v) => v.fmt(f),
            Value::Choice(v) => v.fmt(f),
        }
    }
}

/// In the largest unit that needs no fraction.
fn display_time(ns: u64) -> String {
    match ns {
        0 => "0s".into(),
        _ if ns.is_multiple_of(SEC) => format!("{}s", ns / SEC),
        _ if ns.is_multiple_of(MS) => format!("{}ms", ns / MS),
        _ if ns.is_multiple_of(US) => format!("{}us", ns / US),
        _ => format!("{ns}ns"),
    }
}

/// In the largest unit that needs no fraction.
fn display_rate(bits: u64) -> String {
    match bits {
        _ if bits == 0 || !bits.is_multiple_of(1_000) => format!("{bits}bit"),
        _ if bits.is_multiple_of(1_000_000_000) => format!("{}gbit", bits / 1_000_000_000),
        _ if bits.is_multiple_of(1_000_000) => format!("{}mbit", bits / 1_000_000),
        _ => format!("{}kbit", bits / 1_000),
    }
}

/// In the largest of tc's units (1kb is 1024b) that needs no fraction, if that is much shorter.
fn display_size(bytes: u64) -> String {
    let units = [(1u64 << 30, "gb"), (1 << 20, "mb"), (1 << 10, "kb")];
    match units.iter().find(|(unit, _)| bytes >= 10_000 && bytes.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{}{name}", bytes / unit),
        None => format!("{bytes}b"),
    }
}
