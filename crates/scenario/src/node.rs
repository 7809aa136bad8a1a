//! A tree of values that remember where they were written: the common form of a
//! scenario file and of the command line's flags, so that one reader serves both.

use crate::error::{Error, Place, listed, suggest};
use crate::form::{Form, Keys, Without};
use crate::keys::{DSCPS, TABLES};
use crate::units::{Range, Size, Unit, Wrong, quote};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A value and where it stands.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Node {
    /// Full name, such as `flows[0].rtt` or `--rtt`.
    pub key: String,
    pub place: Place,
    pub value: Value,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Value {
    Text(String),
    /// A number as written, underscores removed.
    Number(String),
    Bool(bool),
    List(Vec<Node>),
    /// In the order written.
    Table(Vec<(String, Node)>),
    /// A date or time of TOML's: nothing here takes one.
    Other(String),
}

impl Node {
    pub fn new(key: impl Into<String>, place: Place, value: Value) -> Node {
        Node { key: key.into(), place, value }
    }

    pub fn error(&self, message: impl Into<String>) -> Error {
        Error::new(self.place.clone(), &self.key, message).found(self.value.show())
    }

    /// An error about the key itself, not its value.
    pub fn key_error(&self, message: impl Into<String>) -> Error {
        Error::new(self.place.clone(), &self.key, message)
    }

    /// Calls `each` with every part of this value, however deep, and its name.
    pub fn walk<'a>(&'a self, name: &str, each: &mut impl FnMut(String, &'a Node)) {
        let parts: Vec<(String, &Node)> = match &self.value {
            Value::Table(entries) => entries.iter().map(|(key, n)| (format!("{name}.{key}"), n)).collect(),
            Value::List(items) => {
                items.iter().enumerate().map(|(i, n)| (format!("{name}[{i}]"), n)).collect()
            }
            _ => Vec::new(),
        };
        for (name, node) in parts {
            node.walk(&name, each);
            each(name, node);
        }
    }

    /// Name of a part of this value.
    pub fn child_key(&self, part: &str) -> String {
        // A flag's parts come after the flag's own name too: `--flows[0].rtt`.
        if self.key.is_empty() { part.to_string() } else { format!("{}.{part}", self.key) }
    }

    /// A key's node, or the table's own if the key is left to its default.
    pub fn entry(&self, key: &str) -> &Node {
        match &self.value {
            Value::Table(entries) => entries.iter().find(|(k, _)| k == key).map_or(self, |e| &e.1),
            _ => self,
        }
    }

    /// Is this the whole file or one of its tables, rather than a table inside them?
    fn is_part(&self) -> bool {
        !self.key.contains('.')
    }

    /// The table this must be, with none but its keys.
    pub fn table(&self, of: &'static Keys) -> Result<Table<'_>, Error> {
        let Value::Table(entries) = &self.value else {
            return Err(self.error(format!("not a table; write keys and values: {}", of.names().join(", "))));
        };
        for (key, node) in entries {
            if of.get(key).is_none() {
                let hint = match home(key) {
                    Some(home) if self.is_part() => format!("; it belongs in {home}"),
                    _ => suggest(key, of.names()),
                };
                return Err(node.key_error(format!("unknown key{hint}")));
            }
        }
        Ok(Table { node: self, of, entries })
    }

    /// The list this must be.
    pub fn list(&self, what: &str) -> Result<&[Node], Error> {
        match &self.value {
            Value::List(items) => Ok(items),
            _ => Err(self.error(format!("not a list; write {what}"))),
        }
    }

    pub fn text(&self, what: &str) -> Result<&str, Error> {
        match &self.value {
            Value::Text(text) => Ok(text),
            _ => Err(self.error(format!("not a text; write {what}"))),
        }
    }

    pub fn bool(&self) -> Result<bool, Error> {
        match self.value {
            Value::Bool(b) => Ok(b),
            _ => Err(self.error("neither true nor false")),
        }
    }

    /// ECN on or off, or on with ECT(1): is it on, is it L4S?
    pub fn ecn(&self) -> Result<(bool, bool), Error> {
        match &self.value {
            Value::Bool(b) => Ok((*b, false)),
            Value::Text(text) if text == "l4s" => Ok((true, true)),
            _ => Err(self.error("not true, false or \"l4s\"")),
        }
    }

    /// A differentiated services codepoint: its name or its number.
    pub fn dscp(&self) -> Result<u8, Error> {
        match &self.value {
            Value::Number(_) => self.one_whole(0, 63).map(|n| n as u8),
            _ => {
                let word = self.word("a codepoint", DSCPS.0)?;
                Ok(DSCPS.0.iter().position(|name| *name == word).map_or(0, |i| DSCPS.1[i]))
            }
        }
    }

    /// A label or name: short, printable.
    pub fn name(&self) -> Result<String, Error> {
        let name = self.text("a name in quotes")?;
        if name.trim().is_empty() || name.chars().count() > 64 || name.chars().any(char::is_control) {
            return Err(self.error("not a name; write 1 to 64 printable characters"));
        }
        Ok(name.to_string())
    }

    /// A quantity that has a unit: its text, or a bare number's digits, which the
    /// parser then asks a unit for.
    fn quantity(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) | Value::Number(text) => Some(text),
            _ => None,
        }
    }

    fn wrong(&self, wrong: Wrong) -> Error {
        self.error(wrong.0)
    }

    /// A range of a quantity within bounds, both included.
    pub fn range(&self, unit: Unit, min: u64, max: u64) -> Result<Range, Error> {
        let bits = self.bits(unit);
        let range = match bits {
            Some(bits) => Range::one(bits),
            None => unit.parse_range(self.quantity().unwrap_or("")).map_err(|w| self.wrong(w))?,
        };
        if range.min < min || range.max > max {
            let note = bits.map_or("", |_| "; a number is bits a second: write 20e6, or \"20mbit\"");
            return Err(self.error(format!(
                "out of range; allowed: {} to {}{note}",
                unit.show(min),
                unit.show(max)
            )));
        }
        Ok(range)
    }

    /// A rate that a program gave as a number: bit/s, as everywhere in programs, to the nearest whole one. In a file a number needs its
    /// unit.
    fn bits(&self, unit: Unit) -> Option<u64> {
        match &self.value {
            Value::Number(text) if unit == Unit::Rate && self.place == Place::Value => {
                text.parse().ok().filter(|bits: &f64| *bits >= 0.0).map(|bits| bits.round() as u64)
            }
            _ => None,
        }
    }

    /// One quantity within bounds, both included.
    pub fn single(&self, unit: Unit, min: u64, max: u64) -> Result<u64, Error> {
        if self.quantity().is_some_and(|t| t.contains("..")) {
            return Err(self.error("one value is needed here, not a range"));
        }
        self.range(unit, min, max).map(|r| r.min)
    }

    /// One number of a form that has bounds, in its base unit.
    pub fn one(&self, form: &Form) -> Result<u64, Error> {
        match *form {
            Form::Quantity { unit, min, max, .. } => self.single(unit, min, max),
            Form::Whole { min, max, .. } => self.one_whole(min, max),
            Form::Real { min, max } => self.real(min, max),
            // What a table would say instead is looked at before.
            Form::Or([first, ..]) => self.one(first),
            _ => Err(self.error("not a number")),
        }
    }

    /// One number or a range of a form that has bounds, in its base unit.
    pub fn span(&self, form: &Form) -> Result<Range, Error> {
        match *form {
            Form::Quantity { unit, min, max, range: true } => self.range(unit, min, max),
            Form::Whole { min, max, range: true } => self.whole(min, max),
            Form::Or([first, ..]) => self.span(first),
            _ => self.one(form).map(Range::one),
        }
    }

    /// The values of a list of one or more, whose brackets may be left out.
    pub fn items(&self) -> &[Node] {
        match &self.value {
            Value::List(items) => items,
            _ => std::slice::from_ref(self),
        }
    }

    /// A size in bytes, packets or bandwidth-delay products.
    pub fn size(&self) -> Result<Size, Error> {
        if self.quantity().is_some_and(|t| t.contains("..")) {
            return Err(self.error("one value is needed here, not a range"));
        }
        Size::parse(self.quantity().unwrap_or("")).map_err(|w| self.wrong(w))
    }

    /// Whole numbers without a unit, one or a range, within bounds.
    pub fn whole(&self, min: u64, max: u64) -> Result<Range, Error> {
        let text = self.quantity().unwrap_or("");
        let range = Range::parse_whole(text).map_err(|w| self.wrong(w))?;
        if range.min < min || range.max > max {
            return Err(self.error(format!("out of range; allowed: {min} to {max}")));
        }
        Ok(range)
    }

    /// One whole number without a unit, within bounds.
    pub fn one_whole(&self, min: u64, max: u64) -> Result<u64, Error> {
        let range = self.whole(min, max)?;
        if range.min != range.max {
            return Err(self.error("one value is needed here, not a range"));
        }
        Ok(range.min)
    }

    /// A decimal number within bounds, all in millionths.
    pub fn real(&self, min: u64, max: u64) -> Result<u64, Error> {
        let Value::Number(text) = &self.value else {
            return Err(self.error("not a number; write it without quotes, such as 1.5"));
        };
        let m = crate::units::parse_millionths(text).map_err(|w| self.wrong(w))?;
        if m < min || m > max {
            let show = crate::units::show_millionths;
            return Err(self.error(format!("out of range; allowed: {} to {}", show(min), show(max))));
        }
        Ok(m)
    }

    /// A word out of a list.
    pub fn word<'a>(&self, what: &str, allowed: &[&'a str]) -> Result<&'a str, Error> {
        let word = match &self.value {
            Value::Text(text) => text.as_str(),
            _ => "",
        };
        match allowed.iter().find(|a| **a == word) {
            Some(found) => Ok(found),
            None => Err(self.error(format!("not {what}{}", suggest(word, allowed.iter().copied())))),
        }
    }
}

/// The tables that a key belongs in, in words; none: no table has such a key.
fn home(key: &str) -> Option<String> {
    let tables =
        TABLES.iter().filter(|table| ["[link]", "[[flows]]", "[queue]", "[run]"].contains(&table.name));
    let homes: Vec<_> =
        tables.filter(|table| key != "name" && table.get(key).is_some()).map(|table| table.name).collect();
    (!homes.is_empty()).then(|| listed(homes, "or"))
}

/// A table whose keys are known to be allowed. Its numbers are read within the bounds of [`Keys`].
pub(crate) struct Table<'a> {
    pub node: &'a Node,
    pub of: &'static Keys,
    pub entries: &'a [(String, Node)],
}

impl<'a> Table<'a> {
    pub fn get(&self, key: &str) -> Option<&'a Node> {
        debug_assert!(self.of.get(key).is_some(), "{} has no key {key}", self.of.name);
        self.entries.iter().find(|(k, _)| k == key).map(|(_, n)| n)
    }

    /// An error if one of these keys is there: why it may not be.
    pub fn not_with(&self, keys: &[&str], why: &str) -> Result<(), Error> {
        keys.iter().find_map(|key| self.get(key)).map_or(Ok(()), |n| Err(n.key_error(why)))
    }

    /// How a key's value is written.
    fn form(&self, key: &str) -> &'static Form {
        // One that is not declared is never there.
        self.of.get(key).map_or(&Form::Text, |key| &key.form)
    }

    /// A key that must be there.
    pub fn need(&self, key: &str) -> Result<&'a Node, Error> {
        self.get(key).ok_or_else(|| match self.of.get(key).map(|key| key.default) {
            Some(Without::Needed(write)) => self.missing(key, write),
            _ => self.missing(key, "it"),
        })
    }

    /// A key's value, or what its declaration has instead; an error if that is none.
    fn value(&self, key: &str) -> Result<Cow<'a, Node>, Error> {
        match self.of.get(key).map(|key| key.default) {
            Some(Without::Is(text)) if self.get(key).is_none() => {
                let value = match text {
                    "true" => Value::Bool(true),
                    "false" => Value::Bool(false),
                    _ => Value::Text(text.into()),
                };
                Ok(Cow::Owned(Node::new(self.node.child_key(key), self.node.place.clone(), value)))
            }
            _ => self.need(key).map(Cow::Borrowed),
        }
    }

    /// A number that is needed or has a default, in its base unit.
    pub fn one(&self, key: &str) -> Result<u64, Error> {
        self.value(key)?.one(self.form(key))
    }

    /// A number that may be left out.
    pub fn one_if(&self, key: &str) -> Result<Option<u64>, Error> {
        self.get(key).map(|n| n.one(self.form(key))).transpose()
    }

    /// A number within bounds that depend on others, and within its own.
    pub fn one_within(&self, key: &str, low: u64, high: u64) -> Result<u64, Error> {
        let form = match *self.form(key) {
            Form::Quantity { unit, min, max, range } => {
                Form::Quantity { unit, min: min.max(low), max: max.min(high), range }
            }
            form => form,
        };
        self.value(key)?.one(&form)
    }

    /// A range that has a default.
    pub fn span(&self, key: &str) -> Result<Range, Error> {
        self.value(key)?.span(self.form(key))
    }

    /// A range that may be left out.
    pub fn span_if(&self, key: &str) -> Result<Option<Range>, Error> {
        self.get(key).map(|n| n.span(self.form(key))).transpose()
    }

    /// True or false, of a key that has a default.
    pub fn flag(&self, key: &str) -> Result<bool, Error> {
        self.value(key)?.bool()
    }

    /// A word of those that a key takes; `what` it is.
    pub fn word(&self, key: &str, what: &str) -> Result<&'static str, Error> {
        match *self.form(key) {
            Form::Word(allowed) => self.value(key)?.word(what, allowed),
            _ => Err(self.missing(key, what)),
        }
    }

    /// An error for a key that is not there, at the table that should hold it.
    pub fn missing(&self, key: &str, write: &str) -> Error {
        Error::new(self.node.place.clone(), self.node.child_key(key), format!("missing; write {write}"))
    }
}

impl Value {
    /// The value as it may be written in a file, shortened.
    pub fn show(&self) -> String {
        match self {
            Value::Text(text) => format!("\"{}\"", quote(text)),
            Value::Number(text) | Value::Other(text) => quote(text),
            Value::Bool(b) => b.to_string(),
            Value::List(items) => {
                let items: Vec<_> = items.iter().take(8).map(|n| n.value.show()).collect();
                quote(&format!("[{}]", items.join(", ")))
            }
            Value::Table(entries) => {
                let entries: Vec<_> = entries
                    .iter()
                    .take(8)
                    .map(|(k, n)| format!("{} = {}", quote(k), n.value.show()))
                    .collect();
                quote(&format!("{{ {} }}", entries.join(", ")))
            }
        }
    }
}

/// Keys, parts of dotted keys, values in lists and brackets that a TOML file has at most. The parser makes a table of about a kilobyte for
/// each part of a key.
const MOST_ITEMS: usize = crate::limits::TOML.items.0 as usize;

/// Tokens that it has at most, spaces, comments and ends of lines among them: the parser keeps a list of all.
const MOST_TOKENS: usize = 10 * MOST_ITEMS;

/// Where a TOML text has more than [`MOST_ITEMS`], bytes from its begin, and what of; `None`: it has not. To be asked before it is
/// parsed: 16 MB of dotted keys take 9 GB.
pub fn too_many_items(text: &str) -> Option<(usize, String)> {
    use toml_parser::lexer::TokenKind;
    let counts = [
        TokenKind::Dot,
        TokenKind::Equals,
        TokenKind::Comma,
        TokenKind::LeftSquareBracket,
        TokenKind::LeftCurlyBracket,
    ];
    let mut items = 0;
    for (i, token) in toml_parser::Source::new(text).lex().enumerate() {
        items += usize::from(counts.contains(&token.kind()));
        let what = match () {
            () if items > MOST_ITEMS => format!("more than {MOST_ITEMS} keys, values and brackets"),
            () if i >= MOST_TOKENS => {
                format!("more than {MOST_TOKENS} words, spaces, comments and ends of lines")
            }
            () => continue,
        };
        return Some((token.span().start(), what));
    }
    None
}

/// Reads TOML into a tree whose every value knows its line.
pub(crate) fn parse_toml(text: &str, file: &str) -> Result<Node, Error> {
    let lines = Lines::new(text, file);
    if let Some((at, what)) = too_many_items(text) {
        return Err(Error::new(lines.place(at), "", what));
    }
    let table = toml::de::DeTable::parse(text).map_err(|e| {
        let place = lines.place(e.span().map_or(0, |s| s.start));
        let mut message = format!("not TOML: {}", one_line(e.message()));
        // The parser points at the key and does not name it.
        if e.message() == "duplicate key"
            && let Some(key) = e.span().and_then(|s| text.get(s))
        {
            message.push_str(&format!(" {}", quote(key)));
        }
        Error::new(place, "", message)
    })?;
    let span = table.span().start;
    Ok(Node::new("", lines.place(span), from_table(table.into_inner(), "", &lines)))
}

fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn from_table(table: toml::de::DeTable<'_>, path: &str, lines: &Lines<'_>) -> Value {
    let mut entries: Vec<_> = table.into_iter().collect();
    // The parser sorts by name; people read in the order written.
    entries.sort_by_key(|(key, _)| key.span().start);
    let entries = entries.into_iter().map(|(key, value)| {
        let name = key.get_ref().to_string();
        let shown = quote(&name);
        let path = if path.is_empty() { shown } else { format!("{path}.{shown}") };
        // A table's own place is its header; a value's is the line it begins on.
        let at = match value.get_ref() {
            toml::de::DeValue::Table(_) => key.span().start,
            _ => value.span().start,
        };
        let value = from_value(value.into_inner(), &path, lines);
        (name, Node::new(path, lines.place(at), value))
    });
    Value::Table(entries.collect())
}

fn from_value(value: toml::de::DeValue<'_>, path: &str, lines: &Lines<'_>) -> Value {
    use toml::de::DeValue;
    match value {
        DeValue::String(s) => Value::Text(s.into_owned()),
        DeValue::Integer(n) => Value::Number(n.to_string()),
        DeValue::Float(n) => Value::Number(n.as_str().to_string()),
        DeValue::Boolean(b) => Value::Bool(b),
        DeValue::Datetime(d) => Value::Other(d.to_string()),
        DeValue::Array(items) => Value::List(
            items
                .into_iter()
                .enumerate()
                .map(|(i, item)| {
                    let path = format!("{path}[{i}]");
                    let place = lines.place(item.span().start);
                    let value = from_value(item.into_inner(), &path, lines);
                    Node::new(path, place, value)
                })
                .collect(),
        ),
        DeValue::Table(table) => from_table(table, path, lines),
    }
}

/// Line numbers of byte offsets. A text may be of ends of lines alone: only how many there are before every so many bytes is kept.
pub(crate) struct Lines<'a> {
    file: &'a str,
    text: &'a [u8],
    /// Ends of lines before each part of the text.
    before: Vec<usize>,
}

impl<'a> Lines<'a> {
    /// Bytes of such a part.
    const PART: usize = 4096;

    pub fn new(text: &'a str, file: &'a str) -> Lines<'a> {
        let text = text.as_bytes();
        let mut sum = 0;
        let before = text.chunks(Lines::PART).map(|part| {
            let before = sum;
            sum += ends_of_lines(part);
            before
        });
        let before = before.collect();
        Lines { file, text, before }
    }

    pub fn place(&self, offset: usize) -> Place {
        let part = (offset / Lines::PART).min(self.before.len().saturating_sub(1));
        let rest = self.text.get(part * Lines::PART..offset.min(self.text.len())).unwrap_or_default();
        let line = 1 + self.before.get(part).unwrap_or(&0) + ends_of_lines(rest);
        Place::File { name: self.file.to_string(), line }
    }
}

fn ends_of_lines(text: &[u8]) -> usize {
    text.iter().filter(|b| **b == b'\n').count()
}
