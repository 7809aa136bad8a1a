//! A discipline's entry in the registry, and a discipline with all its parameters decided.

use crate::network::{Network, Weights};
use crate::own::{FILE, Own};
use crate::params::{Param, ParamKind, Value};
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use std::sync::Arc;

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
    /// Does it read [`crate::Packet::source`] and [`crate::Packet::destination`]?
    pub needs_hosts: bool,
    /// Does it read [`crate::Packet::dscp`]?
    pub needs_dscp: bool,
    /// Does it read [`crate::Packet::frame_bytes`] and [`crate::Packet::segments`]?
    pub needs_frame: bool,
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
    /// The file that it is out of; none: it comes with the program.
    pub own: Option<&'static Own>,
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
        needs_hosts: false,
        needs_dscp: false,
        needs_frame: false,
        always_marks: false,
        needs_pool: false,
        polices: false,
        ns3: false,
        network: None,
        rules: &[],
        own: None,
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

/// Each is itself: files of a user's own may be called the same.
impl PartialEq for Info {
    fn eq(&self, other: &Info) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Info {}

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

/// A discipline's entry, as its name; of a file with what is in it, so that another process has it, too.
fn name<S: Serializer>(info: &Info, serializer: S) -> Result<S::Ok, S::Error> {
    match info.own {
        None => serializer.serialize_str(info.name),
        Some(own) => OfFile { name: info.name.into(), text: own.text.clone() }.serialize(serializer),
    }
}

/// A discipline of a file, for another process.
#[derive(Serialize, Deserialize)]
pub(crate) struct OfFile {
    /// Its name.
    pub name: String,
    /// What is in the file.
    #[serde(with = "crate::shared")]
    pub text: Arc<str>,
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

    /// What results say of it: each parameter by its name, and of a file of a user's own the file.
    pub fn parameters<C: FromIterator<(String, String)>>(&self) -> C {
        let file = self.info.own.map(|own| (FILE.into(), format!("sha256:{}", own.sha256)));
        self.shown().map(|(param, shown)| (param.name.to_string(), shown)).chain(file).collect()
    }

    /// As `--aqm` and `attach` have it: the name, and those of its parameters that are to be `told`. Files have no word.
    pub fn words(&self, told: impl Fn(&Param, Value) -> bool) -> String {
        let mut words = self.info.name.to_string();
        for (param, value) in
            self.iter().filter(|(param, value)| param.kind != ParamKind::File && told(param, *value))
        {
            words += &format!(":{}={}", param.name, param.display(value));
        }
        words
    }

    /// Parameters and values, in the registry's order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Param, Value)> + '_ {
        self.info.params.iter().zip(self.values.iter().copied())
    }
}

impl PartialEq for Spec {
    fn eq(&self, other: &Self) -> bool {
        self.info == other.info
            && self.label == other.label
            && self.values == other.values
            && self.weights == other.weights
    }
}
