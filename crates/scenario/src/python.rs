//! The keys and flags as Python's types, for type checkers, editors and `help`: made of [`crate::keys`] and [`Flags`].

use crate::flags::{Flag, Flags};
use crate::form::{Form, Keys};
use crate::keys::TOP;
use crate::units::Unit;
use std::fmt::Write;

/// Longest line of Python.
const COLUMNS: usize = 110;
const HEAD: &str = "\
\"\"\"The tables of a scenario file, and the command's flags, as types for checkers, editors and `help`.

Made of crates/scenario/src/keys.rs and flags.rs, by:

    UPDATE_SCHEMA=1 cargo test -p queuewright-scenario --test keys
\"\"\"

import os
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, Literal, TypedDict
";

/// The module, as kept in `python/queuewright/keys.py`.
pub fn python_types() -> String {
    let mut module = String::from(HEAD);
    table(&TOP, &mut Vec::new(), &mut module);
    // `compare` has a place of its own for what is compared.
    let (aqm, others): (Vec<_>, Vec<_>) = Flags::ALL.iter().partition(|flag| flag.name == "aqm");
    for (class, base, about, flags) in [
        (
            "Changes",
            "TypedDict",
            "The flags of `queuewright compare` and `run`, without their dashes.",
            others,
        ),
        ("Flags", "Changes", "Those, and the disciplines.", aqm),
    ] {
        let about_one = |flag: &&Flag| {
            let dotted = format!("{}.{}", flag.of.name.trim_matches(['[', ']']), flag.key);
            format!("{}: {} (`{}`)", flag.name, flag.about, dotted.trim_start_matches('.'))
        };
        let lines: Vec<String> = flags.iter().map(about_one).collect();
        let types = flags.iter().filter_map(|flag| {
            let form = flag.of.get(flag.key)?.form;
            Some((flag.name, union(&flag_types(&form))))
        });
        write_class(&mut module, class, base, about, &lines, types);
    }
    module
}

/// A table, after those that are in it.
fn table(keys: &'static Keys, done: &mut Vec<&'static str>, module: &mut String) {
    for key in keys.iter() {
        inner(&key.form, done, module);
    }
    if done.contains(&keys.class) {
        return;
    }
    done.push(keys.class);
    let about = match keys.name {
        "" => "The top of a scenario file.".into(),
        name => format!("`{name}`."),
    };
    let lines: Vec<String> = keys.iter().map(|key| format!("{}: {}", key.name, key.line())).collect();
    let top = keys.class == TOP.class;
    let types = keys.iter().map(|key| (key.name, union(&types(&key.form, top))));
    write_class(module, keys.class, "TypedDict", &about, &lines, types);
}

fn inner(form: &Form, done: &mut Vec<&'static str>, module: &mut String) {
    match *form {
        Form::Table(keys) => table(keys, done, module),
        Form::List(of, _) | Form::OneOrMore(of, _) => inner(of, done, module),
        Form::Or(forms) => forms.iter().for_each(|form| inner(form, done, module)),
        _ => {}
    }
}

fn write_class<'a>(
    module: &mut String,
    class: &str,
    base: &str,
    about: &str,
    lines: &[String],
    types: impl Iterator<Item = (&'a str, String)>,
) {
    let _ = write!(module, "\n\nclass {class}({base}, total=False):\n    \"\"\"{about}\n\n    Attributes:\n");
    for line in lines {
        wrap(line, module);
    }
    module.push_str("    \"\"\"\n\n");
    for (name, kind) in types {
        field(name, &kind, module);
    }
}

/// A field with what it may be; a line that is too long as ruff parts it.
fn field(name: &str, kind: &str, module: &mut String) {
    let line = format!("    {name}: {kind}");
    if line.len() <= COLUMNS {
        let _ = writeln!(module, "{line}");
        return;
    }
    let _ = writeln!(module, "    {name}: (");
    for (i, part) in kind.split(" | ").enumerate() {
        let bar = if i > 0 { "| " } else { "" };
        match part.strip_prefix("Literal[").and_then(|words| words.strip_suffix(']')) {
            Some(words) => {
                let words = words.replace(", ", ",\n            ");
                let _ = writeln!(module, "        {bar}Literal[\n            {words},\n        ]");
            }
            None => {
                let _ = writeln!(module, "        {bar}{part}");
            }
        }
    }
    let _ = writeln!(module, "    )");
}

/// An entry of a docstring's section, in lines as long as may be.
fn wrap(text: &str, out: &mut String) {
    let mut line = String::from("       ");
    for word in text.split_whitespace() {
        if line.len() + 1 + word.len() > COLUMNS {
            let _ = writeln!(out, "{line}");
            line = String::from("           ");
        }
        line.push(' ');
        line.push_str(word);
    }
    let _ = writeln!(out, "{line}");
}

/// What a value may be. `open`: any mapping for a table.
fn types(form: &Form, open: bool) -> Vec<String> {
    let one = |kind: &str| vec![kind.to_string()];
    match *form {
        // A number is bits a second (`Node::range`).
        Form::Quantity { unit: Unit::Rate, .. } => vec!["float".into(), "str".into()],
        Form::Quantity { unit: Unit::Time, .. } => vec!["str".into(), "timedelta".into()],
        Form::Quantity { .. } | Form::Name | Form::Text | Form::Control => one("str"),
        Form::Buffer | Form::Window | Form::Arrivals => one("str"),
        Form::Whole { .. } => vec!["int".into(), "str".into()],
        Form::Real { .. } => one("float"),
        Form::Share => vec!["float".into(), "str".into()],
        Form::Bool => one("bool"),
        Form::Word(words) => {
            let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
            vec![format!("Literal[{}]", words.join(", "))]
        }
        Form::Path => vec!["str".into(), "os.PathLike[str]".into()],
        Form::Weights => one("Mapping[str, int]"),
        Form::Discipline => vec!["str".into(), "Mapping[str, Any]".into()],
        Form::Pair(first, second) => several(&[types(first, open), types(second, open)].concat()),
        Form::List(of, _) => several(&types(of, open)),
        Form::OneOrMore(of, _) => {
            let one = types(of, open);
            [one.clone(), several(&one)].concat()
        }
        Form::Table(keys) if open => vec![keys.class.into(), "Mapping[str, Any]".into()],
        Form::Table(keys) => one(keys.class),
        Form::Or(forms) => forms.iter().flat_map(|form| types(form, open)).collect(),
    }
}

/// What a flag may be. Lists are texts with commas, too; of tables each item is a text.
fn flag_types(form: &Form) -> Vec<String> {
    match *form {
        Form::List(Form::Table(_), _) => vec!["str".into(), "Iterable[str]".into()],
        Form::List(of, _) => [types(of, true), several(&types(of, true))].concat(),
        _ => types(form, true),
    }
}

fn several(of: &[String]) -> Vec<String> {
    vec![format!("Iterable[{}]", union(of))]
}

/// Each once.
fn union(of: &[String]) -> String {
    let mut once: Vec<&str> = Vec::new();
    for kind in of {
        if !once.contains(&kind.as_str()) {
            once.push(kind);
        }
    }
    once.join(" | ")
}
