//! How a key of a scenario file is declared, and what pages and errors say of it.

use crate::units::{MILLION, Size, Unit};
use Form::*;
use Without::{Is, Needed, Says};
use std::fmt::Write;

/// Fastest link or access link, bit/s.
pub(crate) const MAX_RATE: u64 = 1_000_000_000_000;
/// Largest buffers: bytes, packets, millionths of a bandwidth-delay product.
pub(crate) const MAX_BUFFER: (u64, u32, u64) = (1 << 40, 100_000_000, 100_000 * MILLION);
/// Largest initial window, packets.
pub(crate) const MAX_WINDOW: u32 = 65_535;
/// Longest description, bytes.
pub(crate) const MAX_TEXT: usize = 10_000;

/// The keys of a table.
#[derive(Debug)]
pub struct Keys {
    /// As a file's heading has it, `[link]`, or the key whose value the table is, `video`; empty: the top of the file.
    pub name: &'static str,
    /// What Python calls a dict of them.
    pub class: &'static str,
    /// What `docs/scenario.md` says of such a value.
    pub words: &'static str,
    pub(crate) parts: &'static [&'static [Key]],
}

/// A key.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// As it is written.
    pub name: &'static str,
    /// As it was written before: read for one more version, with a warning.
    pub was: &'static [&'static str],
    /// How its value is written.
    pub form: Form,
    /// What holds without it.
    pub default: Without,
    /// What it means, in Markdown.
    pub about: &'static str,
    /// What `--engine linux` makes of it. The simulator does every key.
    pub linux: Linux,
}

/// How a value is written. Bounds are included.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    /// A number with a unit.
    Quantity {
        /// What its values are counted in.
        unit: Unit,
        /// Smallest, in the base unit: bit/s, ns, bytes.
        min: u64,
        /// Largest, in the base unit.
        max: u64,
        /// A range, too, of which values are drawn.
        range: bool,
    },
    /// A whole number without a unit.
    Whole {
        /// The smallest that is allowed.
        min: u64,
        /// The largest that is allowed.
        max: u64,
        /// A range, too.
        range: bool,
    },
    /// A decimal number.
    Real {
        /// The smallest that is allowed, millionths.
        min: u64,
        /// The largest that is allowed, millionths.
        max: u64,
    },
    /// A part of all: `"0.1%"` or `0.001`.
    Share,
    /// `true` or `false`.
    Bool,
    /// One of these.
    Word(&'static [&'static str]),
    /// 1 to 64 printable characters.
    Name,
    /// A text.
    Text,
    /// Of a file, from the folder of the scenario's.
    Path,
    /// A size, packets or bandwidth-delay products: `"45kb"`, `"1000p"`, `"2bdp"`.
    Buffer,
    /// `"1p"` to `"65535p"`, or `"all"`.
    Window,
    /// `"50/s"`, `"40%"` or `"20mbit"`.
    Arrivals,
    /// A congestion control, or a named mix of them.
    Control,
    /// A table of congestion controls with their weights.
    Weights,
    /// A discipline's name, or a table with its parameters.
    Discipline,
    /// A list of two.
    Pair(&'static Form, &'static Form),
    /// A list, and what `docs/scenario.md` says of it.
    List(&'static Form, &'static str),
    /// A list, or one value without brackets, and what `docs/scenario.md` says of it.
    OneOrMore(&'static Form, &'static str),
    /// A table.
    Table(&'static Keys),
    /// One or the other.
    Or(&'static [Form]),
}

/// What holds where a key is not written.
#[derive(Debug, Clone, Copy)]
pub enum Without {
    /// It must be written: such as this.
    Needed(&'static str),
    /// This value, without quotes.
    Is(&'static str),
    /// What these words say, in Markdown; empty: other keys decide.
    Says(&'static str),
}

/// What `--engine linux` makes of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Linux {
    /// The same as the simulator.
    Does,
    /// Some of its values only, and why.
    Some(&'static str),
    /// Nothing, and why.
    Never(&'static str),
}

/// A rate, or a range of which values are drawn.
pub(crate) const RATES: Form = Quantity { unit: Unit::Rate, min: 1000, max: MAX_RATE, range: true };

pub(crate) const fn key(name: &'static str, form: Form, default: Without, about: &'static str) -> Key {
    Key { name, was: &[], form, default, about, linux: Linux::Does }
}

impl Key {
    /// By these names until now.
    pub(crate) const fn was(mut self, names: &'static [&'static str]) -> Key {
        self.was = names;
        self
    }

    /// Of Linux some values only.
    pub(crate) const fn partly(mut self, why: &'static str) -> Key {
        self.linux = Linux::Some(why);
        self
    }

    /// Not of Linux.
    pub(crate) const fn never(mut self, why: &'static str) -> Key {
        self.linux = Linux::Never(why);
        self
    }
}

impl Keys {
    /// The keys, in the order in which people read of them.
    pub fn iter(&self) -> impl Iterator<Item = &'static Key> + use<> {
        self.parts.iter().copied().flatten()
    }

    /// The key of that name.
    pub fn get(&self, name: &str) -> Option<&'static Key> {
        self.iter().find(|key| key.name == name)
    }

    /// Their names.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.iter().map(|key| key.name).collect()
    }

    /// Why `--engine linux` does not do a key, or not all of it; empty: it does.
    pub fn not_on_linux(&self, name: &str) -> &'static str {
        match self.get(name).map(|key| key.linux) {
            Some(Linux::Some(why) | Linux::Never(why)) => why,
            _ => "",
        }
    }

    /// The table of `docs/scenario.md`, what of it the Linux engine does not do, and its old names.
    pub fn page(&self) -> String {
        let mut page = String::from("| key | value | default | |\n|---|---|---|---|\n");
        for key in self.iter() {
            let Key { name, about, .. } = key;
            let default = key.shown_default();
            let space = if default.is_empty() { "" } else { " " };
            let _ = writeln!(page, "| `{name}` | {} |{space}{default} | {about} |", key.form.words());
        }
        // Keys of one reason stand together.
        let reasons = |of: fn(Linux) -> Option<&'static str>| {
            let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
            for (key, why) in self.iter().filter_map(|key| Some((key, of(key.linux)?))) {
                let name = format!("`{}`", key.name);
                match reasons.iter_mut().find(|(known, _)| *known == why) {
                    Some((_, names)) => names.push(name),
                    None => reasons.push((why, vec![name])),
                }
            }
            let all: Vec<String> =
                reasons.iter().map(|(why, names)| format!("- {}: {why}\n", names.join(", "))).collect();
            all.concat()
        };
        let never = reasons(|linux| if let Linux::Never(why) = linux { Some(why) } else { None });
        let not_all = reasons(|linux| if let Linux::Some(why) = linux { Some(why) } else { None });
        let said = [("Not with `--engine linux`", never), ("Not all of it with `--engine linux`", not_all)];
        for (what, keys) in said.iter().filter(|(_, keys)| !keys.is_empty()) {
            let _ = write!(page, "\n{what}:\n\n{keys}");
        }
        let old: Vec<String> = self
            .iter()
            .flat_map(|key| key.was.iter().map(|was| format!("`{was}` (now `{}`)", key.name)))
            .collect();
        if !old.is_empty() {
            let _ = write!(
                page,
                "\nOld names, which this version reads with a warning and the next does not: {}.\n",
                old.join(", ")
            );
        }
        page
    }
}

impl Key {
    /// All of it in a line, for editors and for Python's help.
    pub(crate) fn line(&self) -> String {
        let default = self.shown_default();
        let default = match self.default {
            Needed(_) => " (needed)".into(),
            _ if default.is_empty() => default,
            _ => format!(" (without it: {default})"),
        };
        let linux = match self.linux {
            Linux::Does => String::new(),
            Linux::Some(why) => format!(". With --engine linux not all of it: {why}"),
            Linux::Never(why) => format!(". Not with --engine linux: {why}"),
        };
        format!("{}{default}: {}{linux}", self.form.words(), self.about)
    }

    /// What holds without it, in Markdown.
    pub(crate) fn shown_default(&self) -> String {
        match self.default {
            Needed(_) => "needed".into(),
            Says(words) => words.into(),
            Is(value) if self.form.is_bare(value) => format!("`{value}`"),
            Is(value) => format!("`\"{value}\"`"),
        }
    }
}

impl Form {
    /// Is a value without quotes in a file?
    pub(crate) fn is_bare(&self, value: &str) -> bool {
        match self {
            Whole { .. } | Real { .. } => !value.contains(".."),
            Bool => true,
            Or(forms) => forms[0].is_bare(value),
            _ => false,
        }
    }

    /// How it is written, in Markdown.
    pub(crate) fn words(&self) -> String {
        let bounds = |min: &str, max: &str| match min {
            "0s" | "0b" => format!("to {max}"),
            _ => format!("{min} to {max}"),
        };
        let ranging = |range: bool| if range { ", range" } else { "" };
        let quoted = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| format!("`\"{word}\"`")).collect();
            words.join(", ")
        };
        match *self {
            Quantity { unit, min, max, range } => {
                let noun = match unit {
                    Unit::Rate => "rate",
                    Unit::Time => "time",
                    Unit::Bytes => "size",
                };
                format!("{noun}{}, {}", ranging(range), bounds(&unit.show(min), &unit.show(max)))
            }
            Whole { min, max, range } => format!("whole number{}, {min} to {max}", ranging(range)),
            Real { min, max } => {
                let show = crate::units::show_millionths;
                format!("number, {} to {}", show(min), show(max))
            }
            Share => "share: `\"0.1%\"` or `0.001`".into(),
            Bool => "`true`, `false`".into(),
            Word(words) => quoted(words),
            Name => "text, 1 to 64 characters".into(),
            Text => format!("text, to {MAX_TEXT} bytes"),
            Path => "path".into(),
            Buffer => {
                let (bytes, packets, bdp) = MAX_BUFFER;
                let most = [Size::Bytes(bytes), Size::Packets(packets), Size::Bdp(bdp)].map(Size::show);
                format!("size, packets or bdp, to {}", most.join(", "))
            }
            Window => format!("`\"1p\"` to `\"{MAX_WINDOW}p\"`, or `\"all\"`"),
            Arrivals => "`\"50/s\"`, `\"40%\"` or `\"20mbit\"`".into(),
            Control => quoted(&crate::preset::names()),
            Weights => "a table of weights".into(),
            Discipline => "name or table".into(),
            Pair(first, second) => format!("pair of {} and {}", first.words(), second.words()),
            List(_, words) | OneOrMore(_, words) => words.into(),
            Table(keys) => keys.words.into(),
            Or(forms) => {
                let words = forms.iter().map(Form::words).filter(|words| !words.is_empty());
                words.collect::<Vec<_>>().join(", or ")
            }
        }
    }
}
