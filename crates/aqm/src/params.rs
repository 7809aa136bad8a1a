//! Parameters: what a discipline can be told, in which unit and range, and a
//! discipline with all of that decided.

use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use std::sync::Arc;

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

/// A discipline: what it is, what it can be told, what it can be asked.
#[derive(Debug)]
pub struct Info {
    /// Name in scenario files and results: lower case, fixed.
    pub name: &'static str,
    /// Name in headings.
    pub title: &'static str,
    /// One line.
    pub about: &'static str,
    /// Where the rule comes from.
    pub source: &'static str,
    /// Idea, rule, parameters, where it shines and fails: Markdown, a page of the book.
    pub explain: &'static str,
    /// Parameters, in the order in which they are listed.
    pub params: &'static [Param],
    /// Variables for time series, in the order of [`crate::Discipline::probe`].
    pub probes: &'static [Probe],
    /// Does it read the random number that [`crate::Discipline::enqueue`] is given?
    pub needs_random: bool,
    /// Does it read [`crate::Queue::head_ns`]?
    pub needs_head: bool,
    /// Does it read [`crate::Packet::flow`]? Else any number will do.
    pub needs_flow: bool,
    /// Does it set CE though it has no parameter `ecn` that says so?
    pub always_marks: bool,
    /// Does it divide a buffer that ports share ([`crate::Pool`]), and little else?
    pub needs_pool: bool,
    /// Does it decide by the length of the queue alone, when a packet arrives? Then no packet need wait for it.
    pub polices: bool,
    /// Has ns-3 it as Linux does?
    pub ns3: bool,
    /// The learned policy whose weights it takes from a file; none: it has none.
    pub network: Option<&'static Network>,
    /// Parameters that say nothing beside, or without, another.
    pub rules: &'static [Rule],
    /// The queues that are measured apart, in the order of the scheduler's own numbers from
    /// 0 on; none: all alike (hashed flows), or there is only one.
    pub queue_names: fn(&Spec) -> Vec<String>,
}

/// No queue is measured apart.
fn no_queues(_: &Spec) -> Vec<String> {
    Vec::new()
}

impl Info {
    /// What most disciplines are: the rest of an entry in the registry.
    pub(crate) const PLAIN: Info = Info {
        name: "",
        title: "",
        about: "",
        source: "",
        explain: "",
        params: &[],
        probes: &[],
        needs_random: false,
        needs_head: false,
        needs_flow: false,
        always_marks: false,
        needs_pool: false,
        polices: false,
        ns3: false,
        network: None,
        rules: &[],
        queue_names: no_queues,
    };

    /// The parameter of this name.
    pub fn param(&self, name: &str) -> Option<&'static Param> {
        self.params.iter().find(|p| p.name == name)
    }

    /// The index of this parameter, and the value as it is kept.
    pub(crate) fn check(&'static self, param: &str, value: Value) -> Result<(usize, Value), ParamError> {
        let Some(i) = self.params.iter().position(|p| p.name == param) else {
            return Err(ParamError::Unknown {
                discipline: self.name,
                param: param.into(),
                known: self.params.iter().map(|p| p.name).collect(),
            });
        };
        let p = &self.params[i];
        match p.check(value) {
            Some(value) => Ok((i, value)),
            None => Err(ParamError::Value {
                discipline: self.name,
                param: p.name,
                found: p.display(value),
                allowed: p.allowed(),
            }),
        }
    }
}

/// A parameter that says nothing beside, or without, another.
#[derive(Debug)]
pub struct Rule {
    /// The parameter.
    pub param: &'static str,
    /// The other one.
    pub other: &'static str,
    /// When they go together.
    pub beside: Beside,
    /// Why, as the end of a sentence.
    pub why: &'static str,
}

/// When a parameter goes together with another.
#[derive(Debug)]
pub enum Beside {
    /// While that is left to its default.
    Without,
    /// While that has one of these values.
    One(&'static [Value]),
    /// While it is not above that; 0, what stands for a word, is above nothing.
    NotAbove,
}

/// A variable of a running discipline, for time series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// Name in results.
    pub name: &'static str,
    /// Unit; empty for a pure number.
    pub unit: &'static str,
}

/// The network of a learned policy: what its weights are for, and so what a file of them must say.
#[derive(Debug, PartialEq, Eq)]
pub struct Network {
    /// Sizes of its layers, by name.
    pub dimensions: &'static [(&'static str, u32)],
    /// What it observes, in order, and the largest value of each (the smallest is 0).
    pub observations: &'static [(&'static str, u32)],
    /// What each action does, per cent.
    pub actions_percent: &'static [u32],
    /// The LSTM's gates in the order of their rows.
    pub gates: &'static [&'static str],
    /// The whole number that stands for a weight of 1.
    pub weight_one: u32,
    /// The whole number that stands for an activation or observation of 1.
    pub activation_one: u32,
    /// In the order in which [`Weights::values`] has them.
    pub tensors: &'static [Tensor],
}

/// Weights of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tensor {
    /// Name, as in the header.
    pub name: &'static str,
    /// How many outputs it has.
    pub rows: usize,
    /// Inputs of each output; none: one number each, its bias.
    pub columns: Option<usize>,
}

impl Tensor {
    /// How many numbers.
    pub fn count(&self) -> usize {
        self.rows * self.columns.unwrap_or(1)
    }
}

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
    /// [`Spec::weights`].
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

impl Param {
    const fn int(
        name: &'static str,
        kind: ParamKind,
        unit: &'static str,
        about: &'static str,
        [default, min, max]: [u64; 3],
        source: &'static str,
    ) -> Self {
        Param {
            name,
            kind,
            unit,
            about,
            default: Value::Int(default),
            min: Value::Int(min),
            max: Value::Int(max),
            zero: None,
            source,
            tunable: false,
        }
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
        let numbers = [default, min, max];
        Self::int(name, ParamKind::Time, "time", about, numbers, source)
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
        let numbers = [default, min, max];
        Self::int(name, ParamKind::Size, "size", about, numbers, source)
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
        let numbers = [default, min, max];
        Self::int(name, ParamKind::Rate, "rate", about, numbers, source)
    }

    /// A number of things of the kind that `unit` names.
    pub(crate) const fn count(
        name: &'static str,
        unit: &'static str,
        about: &'static str,
        [default, min, max]: [u64; 3],
        source: &'static str,
    ) -> Self {
        let numbers = [default, min, max];
        Self::int(name, ParamKind::Count, unit, about, numbers, source)
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
        Param {
            name,
            kind: ParamKind::Ratio,
            unit,
            about,
            default: Value::Real(default),
            min: Value::Real(min),
            max: Value::Real(max),
            zero: None,
            source,
            tunable: false,
        }
    }

    /// A probability.
    pub(crate) const fn probability(
        name: &'static str,
        about: &'static str,
        default: f64,
        source: &'static str,
    ) -> Self {
        let mut p = Self::ratio(name, "", about, default, 0.0, 1.0, source);
        p.kind = ParamKind::Probability;
        p
    }

    /// On or off.
    pub(crate) const fn flag(
        name: &'static str,
        about: &'static str,
        default: bool,
        source: &'static str,
    ) -> Self {
        Param {
            name,
            kind: ParamKind::Flag,
            unit: "",
            about,
            default: Value::Flag(default),
            min: Value::Flag(false),
            max: Value::Flag(true),
            zero: None,
            source,
            tunable: false,
        }
    }

    /// One of `words`, of which `default` is one.
    pub(crate) const fn choice(
        name: &'static str,
        about: &'static str,
        words: &'static [&'static str],
        default: &'static str,
        source: &'static str,
    ) -> Self {
        Param {
            name,
            kind: ParamKind::Choice(words),
            unit: "",
            about,
            default: Value::Choice(default),
            min: Value::Choice(words[0]),
            max: Value::Choice(words[words.len() - 1]),
            zero: None,
            source,
            tunable: false,
        }
    }

    /// A file that is `none` unless it is given.
    pub(crate) const fn file(name: &'static str, about: &'static str, source: &'static str) -> Self {
        Self::int(name, ParamKind::File, "", about, [0, 0, 0], source).zero("none")
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
    fn check(&self, value: Value) -> Option<Value> {
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

/// Why a parameter was not set.
#[derive(Debug, Clone, PartialEq)]
pub enum ParamError {
    /// The discipline has no such parameter.
    Unknown {
        /// Name of the discipline.
        discipline: &'static str,
        /// The name that was given.
        param: String,
        /// The names that it has; empty if it has no parameters at all.
        known: Vec<&'static str>,
    },
    /// A learned policy of another size, or none at all.
    Weights {
        /// Name of the discipline.
        discipline: &'static str,
        /// How many were given.
        found: usize,
        /// How many it has; 0: it has no learned policy.
        expected: usize,
    },
    /// The value is of the wrong kind or out of range.
    Value {
        /// Name of the discipline.
        discipline: &'static str,
        /// Name of the parameter.
        param: &'static str,
        /// What was given.
        found: String,
        /// What is allowed, in words.
        allowed: String,
    },
    /// The parameter cannot change while the discipline runs.
    Fixed {
        /// Name of the discipline.
        discipline: &'static str,
        /// Name of the parameter.
        param: &'static str,
        /// Those that can; may be empty.
        tunable: Vec<&'static str>,
    },
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParamError::Unknown { discipline, param, known } if known.is_empty() => {
                write!(f, "`{discipline}` takes no parameters (found `{param}`)")
            }
            ParamError::Unknown { discipline, param, known } => {
                write!(f, "`{discipline}` has no parameter `{param}`; it has {}", known.join(", "))
            }
            ParamError::Weights { discipline, expected: 0, .. } => {
                write!(f, "`{discipline}` has no learned policy")
            }
            ParamError::Weights { discipline, found, expected } => {
                write!(f, "the policy of `{discipline}` has {expected} weights, not {found}")
            }
            ParamError::Value { discipline, param, found, allowed } => {
                write!(f, "`{param}` of `{discipline}` cannot be {found}; allowed: {allowed}")
            }
            ParamError::Fixed { discipline, param, tunable } => {
                write!(f, "`{param}` of `{discipline}` cannot change while it runs; ")?;
                match &tunable[..] {
                    [] => f.write_str("nothing of it can"),
                    names => write!(f, "what can: {}", names.join(", ")),
                }
            }
        }
    }
}

impl std::error::Error for ParamError {}

/// A discipline with every parameter decided.
#[derive(Debug, Clone, Serialize)]
pub struct Spec {
    /// Which discipline.
    #[serde(serialize_with = "name")]
    pub info: &'static Info,
    /// What results call it: the discipline's name unless a scenario says otherwise.
    pub label: String,
    values: Vec<Value>,
    weights: Option<Weights>,
}

/// A discipline's entry, as its name.
fn name<S: Serializer>(info: &Info, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(info.name)
}

/// The numbers of a learned policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weights {
    /// Tensor after tensor of [`Network::tensors`], rows by output.
    #[serde(with = "crate::shared")]
    pub values: Arc<[i16]>,
    /// What results call them, such as `sha256:` and the hash of their file.
    pub id: String,
}

impl Spec {
    /// All defaults.
    pub fn new(info: &'static Info) -> Self {
        Spec {
            info,
            label: info.name.into(),
            values: info.params.iter().map(|p| p.default).collect(),
            weights: None,
        }
    }

    /// Decide one parameter.
    ///
    /// # Errors
    /// If the discipline has no such parameter, or the value is of another kind
    /// or out of range; the error says what is allowed. Nothing changes then.
    pub fn set(&mut self, param: &str, value: Value) -> Result<(), ParamError> {
        let (i, value) = self.info.check(param, value)?;
        self.values[i] = value;
        Ok(())
    }

    /// May it set CE? Where it has a parameter for that, `ecn` or `ce_threshold`, only when one is set.
    pub fn may_mark(&self) -> bool {
        let threshold = !matches!(self.get("ce_threshold"), None | Some(Value::Int(0)));
        self.info.always_marks || threshold || self.get("ecn") == Some(Value::Flag(true))
    }

    /// Gives a learned policy its weights.
    ///
    /// # Errors
    /// If the discipline has no learned policy, or one with another number of weights.
    pub fn set_weights(&mut self, weights: Weights) -> Result<(), ParamError> {
        let (expected, found) = (crate::weights_of(self.info), weights.values.len());
        if expected == 0 || found != expected {
            return Err(ParamError::Weights { discipline: self.info.name, found, expected });
        }
        self.weights = Some(weights);
        Ok(())
    }

    /// The weights of a learned policy, if it was given any.
    pub fn weights(&self) -> Option<&Weights> {
        self.weights.as_ref()
    }

    /// The value of a parameter.
    pub fn get(&self, param: &str) -> Option<Value> {
        self.iter().find(|(p, _)| p.name == param).map(|(_, v)| v)
    }

    /// Parameters and what results say of them: [`Param::display`], of a file what it holds.
    pub fn shown(&self) -> impl Iterator<Item = (&'static Param, String)> + '_ {
        self.iter().map(|(param, value)| match (&self.weights, param.kind) {
            (Some(weights), ParamKind::File) => (param, weights.id.clone()),
            _ => (param, param.display(value)),
        })
    }

    /// Parameters and values, in the registry's order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Param, Value)> + '_ {
        self.info.params.iter().zip(self.values.iter().copied())
    }
}

impl PartialEq for Spec {
    fn eq(&self, other: &Self) -> bool {
        self.info.name == other.info.name
            && self.label == other.label
            && self.values == other.values
            && self.weights == other.weights
    }
}
