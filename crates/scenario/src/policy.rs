//! The file of a learned policy's weights: JSON that says what it is for and how it is
//! scaled, then whole numbers, tensor by tensor. `docs/scenario.md` has the format.

use crate::data::{DataFile, Files, read_file, unreadable};
use crate::error::{Error, Place, suggest};
use crate::json;
use crate::node::{Node, Value};
use crate::units::quote;
use queuewright_aqm::{self as aqm, Info, Network, ParamKind};
use serde_json::{Map, json};
use std::sync::{Arc, OnceLock};

/// Largest policy file, bytes: QueuePilot's 12,550 weights take 100 kB at most.
pub const MAX_BYTES: u64 = crate::limits::POLICY.bytes;
/// Policies that the program brings, by the name that a parameter may give in place of a path. `policies/` has their cards.
const SHIPPED: [(&str, &str); 3] = [
    ("queuepilot", include_str!("../policies/queuepilot.json")),
    ("acc", include_str!("../policies/acc.json")),
    ("queuepilot-dropping", include_str!("../policies/queuepilot-dropping.json")),
];
/// What the file says it is.
const FORMAT: &str = "queuewright-policy";
/// Version of the format.
const VERSION: u32 = 1;

/// A learned policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The discipline whose network it fills.
    pub discipline: &'static str,
    /// Name, for people.
    pub name: String,
    /// How it came to be, for people.
    pub description: Option<String>,
    /// What its actions are: the value of the discipline's parameter `actions`.
    pub actions: &'static str,
    /// Tensor after tensor of the discipline's [`Network`].
    pub weights: Arc<[i16]>,
}

/// A policy and where it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyFile {
    /// The file.
    pub file: DataFile,
    /// What it says.
    pub policy: Arc<Policy>,
}

impl Policy {
    /// Does the program bring one of this name? Else it is a file.
    pub fn is_brought(name: &str) -> bool {
        SHIPPED.iter().any(|(shipped, _)| *shipped == name)
    }

    /// One that the program brings, by its name, or a file.
    ///
    /// # Errors
    /// As [`Policy::parse`]; a file that is not there or not to be read.
    pub fn open(source: &str) -> Result<Policy, Error> {
        if let Some((name, text)) = SHIPPED.iter().find(|(name, _)| *name == source) {
            return Policy::parse(text.as_bytes(), name);
        }
        let wrong = |e| Error::new(Place::File { name: source.into(), line: 0 }, "", unreadable(&e));
        let bytes = read_file(source.as_ref(), MAX_BYTES).map_err(wrong)?;
        Policy::parse(&bytes, source)
    }

    /// One with these weights, tensor after tensor of its discipline's network.
    ///
    /// # Errors
    /// What there is not: the discipline, its learned policy, the kind of action; another number of weights.
    pub fn new(
        discipline: &str,
        name: &str,
        actions: &str,
        description: Option<&str>,
        weights: Arc<[i16]>,
    ) -> Result<Policy, Error> {
        let wrong = |key: &str, what: String| Error::new(Place::Value, key, what);
        let info = aqm::find(discipline).filter(|info| info.network.is_some());
        let info =
            info.ok_or_else(|| wrong("discipline", "not a discipline with a learned policy".into()))?;
        let words = kinds(info);
        let kind = words.iter().find(|word| **word == actions);
        let kind = kind.ok_or_else(|| {
            let allowed = suggest(actions, words.iter().copied());
            wrong("actions", format!("not a kind of action{allowed}")).found(quote(actions))
        })?;
        let tensors = info.network.map_or(&[][..], |network| network.tensors);
        let count: usize = tensors.iter().map(|t| t.count()).sum();
        if weights.len() != count {
            return Err(wrong("weights", format!("{} of them; {discipline} has {count}", weights.len())));
        }
        let description = description.map(String::from);
        Ok(Policy { discipline: info.name, name: name.into(), description, actions: kind, weights })
    }

    /// Reads and checks a policy file's content. `name` is for errors.
    ///
    /// # Errors
    /// The first thing wrong with it, with its line: not JSON, another format or version, another
    /// network, a tensor that is missing, unknown or of another shape, a weight that is not a whole
    /// number of 16 bits.
    pub fn parse(bytes: &[u8], name: &str) -> Result<Policy, Error> {
        let place = |line| Place::File { name: name.to_string(), line };
        let text = std::str::from_utf8(bytes).map_err(|e| {
            let line = 1 + bytes[..e.valid_up_to()].iter().filter(|b| **b == b'\n').count();
            Error::new(place(line), "", "not UTF-8 text")
        })?;
        let root = json::parse(text, name)?;
        let top = Object::of(&root)?;
        let format = top.need("format")?;
        if !same(format, &json!(FORMAT)) {
            return Err(
                format.error(format!("not a policy file, which begins with \"format\": \"{FORMAT}\""))
            );
        }
        let version = top.need("version")?;
        if !same(version, &json!(VERSION)) {
            return Err(version.error(format!("another version; this program reads version {VERSION}")));
        }
        let learned = || aqm::registry().iter().filter(|i| i.network.is_some());
        let node = top.need("discipline")?;
        let word =
            node.word("a discipline with a learned policy", &learned().map(|i| i.name).collect::<Vec<_>>())?;
        let Some((info, network)) = learned().find(|i| i.name == word).and_then(|i| Some((i, i.network?)))
        else {
            return Err(node.error("not a discipline with a learned policy"));
        };
        let fixed = fixed(network);
        let known: Vec<&str> =
            ["format", "version", "discipline", "name", "description", "actions", "tensors"]
                .into_iter()
                .chain(fixed.iter().map(|(key, _)| *key))
                .collect();
        top.only(&known)?;
        for (key, want) in &fixed {
            let node = top.need(key)?;
            if !same(node, want) {
                return Err(node.error(format!("{} has {want}, and no other is known", info.name)));
            }
        }
        let description = match top.get("description") {
            None => None,
            Some(n) => Some(n.text("a text in quotes")?.to_string()),
        };
        let actions = match top.get("actions") {
            None => kinds(info).first().copied().unwrap_or_default(),
            Some(node) => node.word("one of the kinds of action", kinds(info))?,
        };
        Ok(Policy {
            discipline: info.name,
            name: top.need("name")?.name()?,
            description,
            actions,
            weights: tensors(top.need("tensors")?, network)?,
        })
    }

    /// The policy as a file, which [`Policy::parse`] reads back as the same; one line for each row
    /// of weights. Empty if the discipline has no learned policy.
    pub fn to_json(&self) -> String {
        let Some(network) = aqm::find(self.discipline).and_then(|info| info.network) else {
            return String::new();
        };
        let mut head = vec![
            ("format", json!(FORMAT)),
            ("version", json!(VERSION)),
            ("discipline", json!(self.discipline)),
            ("name", json!(self.name)),
        ];
        head.extend(self.description.as_ref().map(|text| ("description", json!(text))));
        head.push(("actions", json!(self.actions)));
        head.extend(fixed(network));
        let mut out = String::from("{\n");
        for (key, value) in head {
            out.push_str(&format!("  {}: {value},\n", json!(key)));
        }
        let row = |numbers: &[i16]| {
            let numbers: Vec<_> = numbers.iter().map(i16::to_string).collect();
            format!("[{}]", numbers.join(","))
        };
        let mut rest = &self.weights[..];
        let mut tensors = Vec::new();
        for tensor in network.tensors {
            let (own, after) = rest.split_at(tensor.count().min(rest.len()));
            rest = after;
            let content = match tensor.columns {
                None => row(own),
                Some(columns) => {
                    let rows: Vec<_> = own.chunks(columns).map(row).collect();
                    format!("[\n{}\n]", rows.join(",\n"))
                }
            };
            tensors.push(format!("{}: {content}", json!(tensor.name)));
        }
        out.push_str(&format!("  \"tensors\": {{\n{}\n  }}\n}}\n", tensors.join(",\n")));
        out
    }
}

/// What the actions of a discipline's policies may be; the first unless its file says otherwise.
fn kinds(info: &Info) -> &'static [&'static str] {
    match info.param("actions").map(|p| p.kind) {
        Some(ParamKind::Choice(words)) => words,
        _ => &[],
    }
}

/// What the network is, in the words of the file: keys and values that a file must have as they are.
fn fixed(network: &Network) -> Vec<(&'static str, serde_json::Value)> {
    let sizes: Map<_, _> = network.dimensions.iter().map(|(k, n)| (k.to_string(), json!(n))).collect();
    let observations: Vec<_> = network.observations.iter().map(|(name, _)| name).collect();
    let limits: Vec<_> = network.observations.iter().map(|(_, most)| most).collect();
    vec![
        ("dimensions", sizes.into()),
        ("observations", json!(observations)),
        ("observation_limits", json!(limits)),
        ("actions_percent", json!(network.actions_percent)),
        ("gates", json!(network.gates)),
        ("weight_one", json!(network.weight_one)),
        ("activation_one", json!(network.activation_one)),
    ]
}

/// Is a value of a file this one? Objects in any order.
fn same(node: &Node, want: &serde_json::Value) -> bool {
    use serde_json::Value as Json;
    match (&node.value, want) {
        (Value::Text(text), Json::String(want)) => text == want,
        (Value::Number(text), Json::Number(want)) => *text == want.to_string(),
        (Value::List(items), Json::Array(want)) => {
            items.len() == want.len() && items.iter().zip(want).all(|(item, want)| same(item, want))
        }
        (Value::Table(entries), Json::Object(want)) => {
            entries.len() == want.len()
                && entries.iter().all(|(key, node)| want.get(key).is_some_and(|want| same(node, want)))
        }
        _ => false,
    }
}

/// An object of the file.
struct Object<'a> {
    node: &'a Node,
    entries: &'a [(String, Node)],
}

impl<'a> Object<'a> {
    fn of(node: &'a Node) -> Result<Object<'a>, Error> {
        match &node.value {
            Value::Table(entries) => Ok(Object { node, entries }),
            _ => Err(node.error("not an object; write { \"key\": value, ... }")),
        }
    }

    fn get(&self, key: &str) -> Option<&'a Node> {
        self.entries.iter().find(|(k, _)| k == key).map(|(_, n)| n)
    }

    fn need(&self, key: &str) -> Result<&'a Node, Error> {
        self.get(key).ok_or_else(|| Error::new(self.node.place.clone(), self.node.child_key(key), "missing"))
    }

    fn only(&self, known: &[&str]) -> Result<(), Error> {
        match self.entries.iter().find(|(key, _)| !known.contains(&key.as_str())) {
            Some((key, node)) => {
                Err(node.key_error(format!("unknown key{}", suggest(key, known.iter().copied()))))
            }
            None => Ok(()),
        }
    }
}

fn tensors(node: &Node, network: &Network) -> Result<Arc<[i16]>, Error> {
    let all = Object::of(node)?;
    all.only(&network.tensors.iter().map(|t| t.name).collect::<Vec<_>>())?;
    let mut weights = Vec::with_capacity(network.tensors.iter().map(|t| t.count()).sum());
    for tensor in network.tensors {
        let node = all.need(tensor.name)?;
        match tensor.columns {
            None => row(node, tensor.rows, &mut weights)?,
            Some(columns) => {
                let rows = node.list(&format!("{} rows of {columns} weights", tensor.rows))?;
                if rows.len() != tensor.rows {
                    return Err(node.key_error(format!(
                        "{} rows; it has {} rows of {columns} weights",
                        rows.len(),
                        tensor.rows
                    )));
                }
                for node in rows {
                    row(node, columns, &mut weights)?;
                }
            }
        }
    }
    Ok(weights.into())
}

fn row(node: &Node, count: usize, weights: &mut Vec<i16>) -> Result<(), Error> {
    let numbers = node.list(&format!("{count} weights"))?;
    if numbers.len() != count {
        return Err(node.key_error(format!("{} weights; it has {count}", numbers.len())));
    }
    for number in numbers {
        let text = match &number.value {
            Value::Number(text) => text.as_str(),
            _ => "",
        };
        weights.push(text.parse().map_err(|_| {
            let what = match text.strip_prefix('-').unwrap_or(text).bytes().all(|b| b.is_ascii_digit()) {
                true if !text.is_empty() => "out of range",
                _ => "not a whole number",
            };
            number.error(format!("{what}; allowed: {} to {}", i16::MIN, i16::MAX))
        })?);
    }
    Ok(())
}

/// Reads the policy that a parameter of a discipline names: one that the program brings, or a file.
pub(crate) fn read(node: &Node, info: &'static Info, files: &Files) -> Result<PolicyFile, Error> {
    static BROUGHT: [OnceLock<Arc<Policy>>; SHIPPED.len()] = [const { OnceLock::new() }; SHIPPED.len()];
    let shipped =
        SHIPPED.iter().position(|(name, _)| matches!(&node.value, Value::Text(text) if text == name));
    let (file, policy) = match shipped {
        Some(i) => {
            let (name, text) = SHIPPED[i];
            let policy = match BROUGHT[i].get() {
                Some(known) => known.clone(),
                None => {
                    let read = Arc::new(Policy::parse(text.as_bytes(), name)?);
                    BROUGHT[i].get_or_init(|| read).clone()
                }
            };
            (DataFile::brought(name, text.as_bytes()), policy)
        }
        None => files.once(node, || {
            let (file, bytes) =
                DataFile::read(node, files, "a policy file", MAX_BYTES).map_err(|mut e| {
                    let names: Vec<_> = SHIPPED.iter().map(|(name, _)| *name).collect();
                    e.message += &format!("; policies that need no file: {}", names.join(", "));
                    e
                })?;
            let policy = Policy::parse(&bytes, &file.given)?;
            let bytes = size_of_val(&policy.weights[..]);
            Ok((file, policy, bytes))
        })?,
    };
    if policy.discipline != info.name {
        return Err(node.error(format!("a policy of {}, not of {}", policy.discipline, info.name)));
    }
    Ok(PolicyFile { file, policy })
}
