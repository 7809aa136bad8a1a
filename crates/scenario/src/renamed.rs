//! Keys by their old names: read for one more version, with a warning that names the new one.
//!
//! A key says in [`crate::keys`] what it [was](Key::was) called. One pass over a tree of values, as soon as something was read
//! or laid over it, calls each by its present name; nothing behind it knows the old ones.

use crate::error::{Error, Place};
use crate::form::{Form, Key, Keys};
use crate::keys::TOP;
use crate::node::{Node, Value};
use std::fmt;

/// What a scenario should say otherwise, although it was understood. Its [`Display`](fmt::Display) is one line, as an [`Error`]'s.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning(Error);

impl Warning {
    /// Of a key that stands there by its old name.
    fn old(place: Place, written: &str, now: &Key) -> Warning {
        let message = format!("the old name of {}; the next version reads only that", now.name);
        Warning(Error::new(place, written, message))
    }

    /// Where the old name was written.
    pub fn place(&self) -> &Place {
        self.0.place()
    }

    /// The key as it was written, such as `flows[0].length`.
    pub fn key(&self) -> &str {
        self.0.key()
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Warnings of a scenario. They change nothing of what it is: scenarios that differ in them alone are equal.
#[derive(Debug, Clone, Default)]
pub(crate) struct Warnings(pub Vec<Warning>);

impl PartialEq for Warnings {
    fn eq(&self, _: &Warnings) -> bool {
        true
    }
}

impl Warnings {
    fn push(&mut self, warning: Warning) {
        if !self.0.contains(&warning) {
            self.0.push(warning);
        }
    }
}

impl Keys {
    /// The key that had this name.
    fn renamed(&self, old: &str) -> Option<&'static Key> {
        self.iter().find(|key| self.get(old).is_none() && key.was.contains(&old))
    }
}

impl Form {
    /// The tables that such a value may be, or may be a list of.
    fn tables(&self) -> Vec<&'static Keys> {
        match *self {
            Form::Table(keys) => vec![keys],
            Form::List(of, _) | Form::OneOrMore(of, _) => of.tables(),
            Form::Or(forms) => forms.iter().flat_map(Form::tables).collect(),
            _ => Vec::new(),
        }
    }
}

/// Calls every key of a scenario's tree by its present name.
///
/// # Errors
/// A key that is there by both names.
pub(crate) fn renew(root: &mut Node, warnings: &mut Warnings) -> Result<(), Error> {
    table(root, &TOP, warnings)
}

fn table(node: &mut Node, of: &'static Keys, warnings: &mut Warnings) -> Result<(), Error> {
    let entries = match &mut node.value {
        Value::Table(entries) => entries,
        Value::List(items) => return items.iter_mut().try_for_each(|item| table(item, of, warnings)),
        _ => return Ok(()),
    };
    for i in 0..entries.len() {
        let Some(now) = of.renamed(&entries[i].0) else { continue };
        // Its node keeps the name that is written there: errors of its value are to name what people see.
        let node = &entries[i].1;
        if let Some((other, _)) = entries.iter().find(|(name, _)| name == now.name) {
            return Err(
                node.key_error(format!("the old name of {other}, which is there, too; leave this one out"))
            );
        }
        warnings.push(Warning::old(node.place.clone(), &node.key, now));
        entries[i].0 = now.name.to_string();
    }
    for (name, node) in entries {
        let inner = of.get(name).map(|key| key.form.tables()).unwrap_or_default();
        inner.into_iter().try_for_each(|of| table(node, of, warnings))?;
    }
    Ok(())
}

/// A path such as `flows[0].rtt` by the present names.
pub(crate) fn renew_path(path: &str, warnings: &mut Warnings) -> String {
    let mut of: Vec<&'static Keys> = vec![&TOP];
    let mut parts = Vec::new();
    for part in path.split('.') {
        let (name, index) = part.split_at(part.find('[').unwrap_or(part.len()));
        let now = of.iter().find_map(|of| of.renamed(name));
        if let Some(key) = now {
            warnings.push(Warning::old(Place::Value, path, key));
        }
        let name = now.map_or(name, |key| key.name);
        parts.push(format!("{name}{index}"));
        of = of.iter().filter_map(|of| of.get(name)).flat_map(|key| key.form.tables()).collect();
    }
    parts.join(".")
}
