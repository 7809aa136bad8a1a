//! Reads JSON into a tree whose every value knows its line, as [`crate::node`] has it.

use crate::error::{Error, Place};
use crate::node::{Lines, Node, Value};
use crate::units::quote;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::fmt;

/// Deepest nesting that anything here has, and one more for its error to be a better one.
const MAX_DEPTH: usize = crate::limits::JSON.depth as usize;

/// Most keys and values: each becomes some hundred bytes of [`Node`].
const MOST_ITEMS: usize = crate::limits::JSON.items.0 as usize;

/// Where a text has more than [`MOST_ITEMS`]: a comma, colon or bracket outside of strings stands for each.
fn too_many_items(text: &[u8]) -> Option<usize> {
    let (mut in_string, mut escaped, mut items) = (false, false, 0);
    text.iter().position(|b| {
        match b {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            b',' | b':' | b'[' | b'{' if !in_string => items += 1,
            _ => {}
        }
        items > MOST_ITEMS
    })
}

/// Reads JSON text; `file` is for errors.
pub(crate) fn parse(text: &str, file: &str) -> Result<Node, Error> {
    parse_named(text, file, "")
}

/// [`parse`] of a value that is in no file and has a name.
pub(crate) fn parse_value(text: &str, name: &str) -> Result<Node, Error> {
    parse_named(text, "", name)
}

fn parse_named(text: &str, file: &str, name: &str) -> Result<Node, Error> {
    // As TOML's parser has it: editors on Windows begin files so.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = Lines::new(text, file);
    let not_json = |e: serde_json::Error, first_line: usize| {
        let message = e.to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        let place = Place::File { name: file.to_string(), line: first_line + e.line().max(1) - 1 };
        Error::new(place, "", format!("not JSON: {}", quote(message)))
    };
    if let Some(at) = too_many_items(text.as_bytes()) {
        let message = format!("more than {MOST_ITEMS} keys and values");
        return Err(Error::new(lines.place(at), "", message));
    }
    let whole: &RawValue = serde_json::from_str(text).map_err(|e| not_json(e, 1))?;
    let reader = Reader { text, lines, not_json: &not_json };
    reader.read(whole, name.to_string(), 0)
}

struct Reader<'a> {
    text: &'a str,
    lines: Lines<'a>,
    /// The error of a part that begins on a line.
    not_json: &'a dyn Fn(serde_json::Error, usize) -> Error,
}

impl<'a> Reader<'a> {
    fn read(&self, raw: &'a RawValue, key: String, depth: usize) -> Result<Node, Error> {
        let part = raw.get();
        // It is a part of the text, borrowed.
        let place = self.lines.place((part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize));
        let fail = |e| match place {
            Place::File { line, .. } => (self.not_json)(e, line),
            Place::Flag | Place::Value => (self.not_json)(e, 1),
        };
        if depth > MAX_DEPTH {
            return Err(Error::new(place, key, "nested too deeply"));
        }
        let value = match part.as_bytes().first() {
            Some(b'{') => {
                let entries: Entries<'a> = serde_json::from_str(part).map_err(fail)?;
                let entries = entries.0.into_iter().map(|(name, raw)| {
                    let shown = quote(&name);
                    let path = if key.is_empty() { shown } else { format!("{key}.{shown}") };
                    Ok((name, self.read(raw, path, depth + 1)?))
                });
                Value::Table(entries.collect::<Result<_, Error>>()?)
            }
            Some(b'[') => {
                let items: Vec<&'a RawValue> = serde_json::from_str(part).map_err(fail)?;
                let items = items
                    .into_iter()
                    .enumerate()
                    .map(|(i, raw)| self.read(raw, format!("{key}[{i}]"), depth + 1));
                Value::List(items.collect::<Result<_, Error>>()?)
            }
            Some(b'"') => Value::Text(serde_json::from_str(part).map_err(fail)?),
            Some(b't') => Value::Bool(true),
            Some(b'f') => Value::Bool(false),
            Some(b'n') => Value::Other("null".into()),
            _ => Value::Number(part.to_string()),
        };
        Ok(Node::new(key, place, value))
    }
}

/// An object's entries in the order written; none twice.
struct Entries<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = Entries<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<'de>, A::Error> {
                let mut entries: Vec<(String, &'de RawValue)> = Vec::new();
                let mut names = HashSet::new();
                while let Some((name, raw)) = map.next_entry::<String, &'de RawValue>()? {
                    if !names.insert(name.clone()) {
                        return Err(A::Error::custom(format_args!("key {name:?} is there twice")));
                    }
                    entries.push((name, raw));
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Visit)
    }
}
