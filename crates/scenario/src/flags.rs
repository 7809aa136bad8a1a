//! The command line's compact form of a scenario, and what it changes in a file.
//!
//! ```text
//! --flows 10xcubic,4xbbr:rtt=5ms,1xcbr:2mbit
//! --aqm   droptail,static:threshold=1bdp,titrate:rules=artifact:window=200ms
//! ```
//! Commas part items, colons part an item's options, an option is `key=value`
//! with the keys of the file.

use crate::datagrams::Datagrams;
use crate::error::{Error, Place, suggest, suggest_or_file};
use crate::form::{Form, Keys};
use crate::keys;
use crate::node::{Node, Value};
use crate::preset;
use crate::units::quote;
use queuewright_cca::Kind;
use queuewright_cca::own::is_file;

/// A flag, and the key of a file that it stands for.
#[derive(Debug, Clone, Copy)]
pub struct Flag {
    /// Without its dashes.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// The table of its key.
    pub of: &'static Keys,
    /// Its key.
    pub key: &'static str,
}

macro_rules! flags {
    ($(#[doc = $about:literal] $name:ident: $of:ident.$key:ident,)*) => {
        /// The flags of `compare` and `run` that describe a scenario, as typed. Each
        /// stands for a key of the file; [`Scenario::from_flags`] makes a
        /// scenario of them alone, [`Scenario::read_with`] lays them over a file.
        ///
        /// [`Scenario::from_flags`]: crate::Scenario::from_flags
        /// [`Scenario::read_with`]: crate::Scenario::read_with
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub struct Flags {
            $(#[doc = $about] pub $name: Option<String>,)*
        }

        impl Flags {
            /// Every flag, in the order in which they are laid over a file.
            pub const ALL: &'static [Flag] = &[$(
                Flag {
                    name: stringify!($name),
                    about: $about.trim_ascii(),
                    of: &keys::$of,
                    key: stringify!($key),
                },
            )*];

            /// Each as typed.
            fn texts(&self) -> impl Iterator<Item = (&'static Flag, &Option<String>)> {
                Flags::ALL.iter().zip([$(&self.$name,)*])
            }

            fn text_mut(&mut self, name: &str) -> Option<&mut Option<String>> {
                match name {
                    $(stringify!($name) => Some(&mut self.$name),)*
                    _ => None,
                }
            }
        }
    };
}

flags! {
    /// Rate of the link
    rate: LINK.rate,
    /// A file of delivery opportunities instead of a rate, from the working folder
    trace: LINK.trace,
    /// Delay from the bottleneck to the receivers
    delay: LINK.delay,
    /// Bytes, packets or bandwidth-delay products
    buffer: LINK.buffer,
    /// Length of a run, warm-up included
    duration: RUN.duration,
    /// Time at the start that no measure counts
    warmup: RUN.warmup,
    /// Whose TCP
    stack: RUN.stack,
    /// Interval of the time series
    sample: RUN.sample,
    /// One run for each: `1..3`, `1,2,5`
    seeds: RUN.seeds,
    /// Disciplines: `NAME[:PARAMETER=VALUE...],...`
    aqm: QUEUE.disciplines,
    /// What is sent: `[COUNTx]KIND[:OPTION...],...`
    flows: TOP.flows,
    /// Round-trip time of every flow that does not say its own
    rtt: FLOWS.rtt,
}

/// Disciplines that are compared if none is named.
pub const DEFAULT_AQM: &str = "droptail,codel,pie,titrate";
/// Length of a run if none is given.
pub(crate) const DEFAULT_DURATION: &str = "60s";

impl Flags {
    /// Says a flag by its name.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn put(&mut self, name: &str, text: String) -> Result<(), Error> {
        let Some(flag) = self.text_mut(name) else {
            let names = Flags::ALL.iter().map(|flag| flag.name);
            let message = format!("no such argument{}", suggest(name, names));
            return Err(Error::new(Place::Value, quote(name), message));
        };
        *flag = Some(text);
        Ok(())
    }

    /// A tree of these flags alone, defaults included.
    pub(crate) fn tree(&self) -> Result<Node, Error> {
        let missing = |flag: &str, write: &str| Error::new(Place::Flag, flag, format!("missing; {write}"));
        if self.rate.is_none() && self.trace.is_none() {
            return Err(missing("--rate", "write the link's rate, such as --rate 100mbit (or --trace FILE)"));
        }
        if self.flows.is_none() {
            return Err(missing("--flows", "write what is sent, such as --flows 10xcubic,4xbbr"));
        }
        let mut filled = self.clone();
        filled.aqm.get_or_insert_with(|| DEFAULT_AQM.into());
        filled.duration.get_or_insert_with(|| DEFAULT_DURATION.into());
        let mut root = Node::new("", Place::Flag, Value::Table(Vec::new()));
        filled.lay_over(&mut root)?;
        let tcp_without_rtt = |n: &Node| n.get("cca").is_some() && n.get("rtt").is_none();
        if let Some(Node { value: Value::List(items), .. }) = root.get("flows")
            && items.iter().any(tcp_without_rtt)
        {
            return Err(missing(
                "--rtt",
                "write the round-trip time without queues, such as --rtt 20ms..80ms",
            ));
        }
        Ok(root)
    }

    /// Replaces in a tree what these flags say.
    pub(crate) fn lay_over(&self, root: &mut Node) -> Result<(), Error> {
        if (self.rate.is_some() || self.trace.is_some())
            && let Some(link) = root.open("link")
        {
            for old in ["rate", "schedule", "period", "trace"] {
                link.remove(old);
            }
        }
        for (flag, text) in self.texts() {
            let Some(text) = text else { continue };
            let name = format!("--{}", flag.name);
            let table = flag.of.name.trim_matches(['[', ']']);
            match flag.of.get(flag.key).map(|key| &key.form) {
                // Of each flow: below.
                _ if table == "flows" => {}
                Some(Form::List(Form::Discipline, _)) => {
                    root.put_in(table, flag.key, list(&name, text, discipline)?);
                }
                Some(Form::List(..)) => root.put(flag.key, list(&name, text, flows)?),
                Some(Form::OneOrMore(..)) => root.put_in(table, flag.key, list(&name, text, Ok)?),
                _ => root.put_in(table, flag.key, Node::new(name, Place::Flag, Value::Text(text.clone()))),
            }
        }
        if let Some(rtt) = &self.rtt
            && let Some(Node { value: Value::List(items), .. }) = root.get_mut("flows")
        {
            for item in items {
                // A flow of the command line that says its own RTT keeps it.
                let own = item.place == Place::Flag && item.get("rtt").is_some();
                if !own {
                    item.put("rtt", Node::new("--rtt", Place::Flag, Value::Text(rtt.clone())));
                }
            }
        }
        Ok(())
    }
}

impl Node {
    fn entries(&mut self) -> Option<&mut Vec<(String, Node)>> {
        match &mut self.value {
            Value::Table(entries) => Some(entries),
            _ => None,
        }
    }

    pub fn get(&self, key: &str) -> Option<&Node> {
        match &self.value {
            Value::Table(entries) => entries.iter().find(|(k, _)| k == key).map(|(_, n)| n),
            _ => None,
        }
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        let entries = self.entries()?;
        entries.iter_mut().find(|(k, _)| k == key).map(|(_, n)| n)
    }

    pub fn remove(&mut self, key: &str) {
        if let Some(entries) = self.entries() {
            entries.retain(|(k, _)| k != key);
        }
    }

    pub fn put(&mut self, key: &str, node: Node) {
        self.remove(key);
        if let Some(entries) = self.entries() {
            entries.push((key.to_string(), node));
        }
    }

    /// The table of this name, made if it is not there; none if this is no table.
    pub fn open(&mut self, key: &str) -> Option<&mut Node> {
        if self.get(key).is_none() {
            self.put(key, Node::new(key, Place::Flag, Value::Table(Vec::new())));
        }
        self.get_mut(key)
    }

    /// Puts a value into the table of this name. Where a file has something else by
    /// that name it stays, for the reader to refuse.
    pub fn put_in(&mut self, table: &str, key: &str, node: Node) {
        if let Some(table) = self.open(table) {
            table.put(key, node);
        }
    }
}

/// Splits a flag at its commas and reads each item.
fn list(flag: &str, text: &str, read: impl Fn(Node) -> Result<Node, Error>) -> Result<Node, Error> {
    let mut items = Vec::new();
    for (i, part) in text.split(',').enumerate() {
        let value = Value::Text(part.trim().to_string());
        items.push(read(Node::new(format!("{flag}[{i}]"), Place::Flag, value))?);
    }
    Ok(Node::new(flag, Place::Flag, Value::List(items)))
}

/// `key=value` as an entry of the item's table.
fn option(item: &Node, text: &str, entries: &mut Vec<(String, Node)>) -> Result<(), Error> {
    let Some((key, value)) = text.split_once('=') else {
        return Err(item.error(format!("\"{}\" is not an option; write key=value", quote(text))));
    };
    push(item, key, value, entries)
}

fn push(item: &Node, key: &str, text: &str, entries: &mut Vec<(String, Node)>) -> Result<(), Error> {
    if entries.iter().any(|(k, _)| k == key) {
        return Err(item.error(format!("{} is there twice", quote(key))));
    }
    let value = match text {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => Value::Text(text.to_string()),
    };
    let node = Node::new(item.child_key(&quote(key)), Place::Flag, value);
    entries.push((key.to_string(), node));
    Ok(())
}

/// `NAME[:PARAMETER=VALUE...]`.
pub(crate) fn discipline(item: Node) -> Result<Node, Error> {
    let text = item.text("a discipline")?.to_string();
    let mut parts = text.split(':');
    let name = parts.next().unwrap_or("");
    let mut entries = Vec::new();
    for part in parts {
        if entries.is_empty() {
            push(&item, "name", name, &mut entries)?;
        }
        option(&item, part, &mut entries)?;
    }
    if entries.is_empty() {
        return Ok(item);
    }
    Ok(Node::new(item.key, Place::Flag, Value::Table(entries)))
}

/// `[COUNTx]KIND[:OPTION...]`.
fn flows(item: Node) -> Result<Node, Error> {
    let text = item.text("flows")?.to_string();
    let mut parts = text.split(':');
    let head = parts.next().unwrap_or("");
    let digits = match head.starts_with('.') {
        true => 0, // of a file's folder
        false => head.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(head.len()),
    };
    let (count, kind) = match head.split_at(digits) {
        ("", kind) => ("1", kind),
        (count, rest) => match rest.strip_prefix('x') {
            Some(kind) => (count, kind),
            None => {
                return Err(item.error("not a count and a kind of flow; write COUNTxKIND, such as 10xcubic"));
            }
        },
    };
    let mut entries = Vec::new();
    push(&item, "count", count, &mut entries)?;
    let udp = Datagrams::WRITTEN.iter().find(|(key, ..)| *key == kind);
    let brutal = Kind::from_name(kind).is_some_and(Kind::needs_rate);
    if udp.is_none() {
        let names = preset::names();
        if !names.contains(&kind) && !is_file(kind) {
            let kinds = names.into_iter().chain(Datagrams::names());
            return Err(item.error(format!("not a kind of flow{}", suggest_or_file(kind, kinds))));
        }
        push(&item, "cca", kind, &mut entries)?;
    }
    for part in parts {
        if part.contains('=') {
            option(&item, part, &mut entries)?;
        } else if udp.is_some() {
            push(&item, kind, part, &mut entries)?;
        } else if brutal && part != "ecn" {
            push(&item, "rate", part, &mut entries)?;
        } else if part == "ecn" {
            push(&item, "ecn", "true", &mut entries)?;
        } else {
            return Err(item.error(format!(
                "\"{}\" is not an option of a TCP flow; write ecn, or key=value such as rtt=20ms",
                quote(part)
            )));
        }
    }
    // What the key of this kind has without a colon: the usual value, or none.
    let (key, usual) = match udp {
        Some((key, value, bare)) => (*key, bare.then_some(*value)),
        None => ("rate", None),
    };
    if (udp.is_some() || brutal) && !entries.iter().any(|(k, _)| k == key) {
        match usual {
            Some(usual) => push(&item, key, usual, &mut entries)?,
            None => return Err(item.error(format!("missing rate; write {count}x{kind}:2mbit"))),
        }
    }
    Ok(Node::new(item.key, Place::Flag, Value::Table(entries)))
}
