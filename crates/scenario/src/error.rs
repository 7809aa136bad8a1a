//! The one error: where, what was found, what is allowed.

use crate::units::quote;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a scenario was refused. Its [`Display`](fmt::Display) is one line, such as
/// `scenario.toml:12: flows[0].rtt = "20 m": not a time; write a number with ns, us, ms or s, such as "20ms"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    pub(crate) place: Place,
    pub(crate) key: String,
    pub(crate) found: Option<String>,
    pub(crate) message: String,
}

/// Where a value was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Place {
    /// In a file (scenario or trace), on a line counted from 1; 0: the file as a whole.
    File {
        /// Name as the user gave it.
        name: String,
        /// Line, from 1; 0: none in particular.
        line: usize,
    },
    /// In a command-line flag; the key names it.
    Flag,
    /// In a value that a program gave; the key names it.
    Value,
}

/// A text with nothing in it that ends a line, or that a terminal would obey.
pub fn one_line(text: &str) -> String {
    let one = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(one).collect()
}

impl Error {
    pub(crate) fn new(place: Place, key: impl Into<String>, message: impl Into<String>) -> Error {
        Error { place, key: key.into(), found: None, message: one_line(&message.into()) }
    }

    pub(crate) fn found(mut self, found: impl Into<String>) -> Error {
        self.found = Some(found.into());
        self
    }

    /// Where the value was written.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The key, such as `flows[0].rtt` or `--rtt`; empty if the file as a whole is meant.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// What is wrong and what is allowed, without the place.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Place::File { name, line } = &self.place {
            match line {
                0 => write!(f, "{}: ", quote(name))?,
                _ => write!(f, "{}:{line}: ", quote(name))?,
            }
        }
        match (self.key.is_empty(), &self.found) {
            (false, Some(found)) => write!(f, "{} = {found}: ", self.key)?,
            (false, None) => write!(f, "{}: ", self.key)?,
            (true, Some(found)) => write!(f, "{found}: ")?,
            (true, None) => {}
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// `a, b and c`, with another word than `and`.
pub(crate) fn listed(words: impl IntoIterator<Item = impl Into<String>>, last: &str) -> String {
    let mut words: Vec<String> = words.into_iter().map(Into::into).collect();
    let Some(end) = words.pop() else { return String::new() };
    if words.is_empty() { end } else { format!("{} {last} {end}", words.join(", ")) }
}

/// What Linux and ns-3 call it, and its name here.
const ELSEWHERE: [(&str, &str); 5] = [
    ("reno", "newreno"),
    ("pfifo", "droptail"),
    ("bfifo", "droptail"),
    ("fifo", "droptail"),
    ("taildrop", "droptail"),
];

/// The one of these words that is close to what was written, if one is.
pub fn nearest<'a>(word: &str, allowed: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A long word is no typo of a short one, and costs time to compare.
    let lower = if word.len() <= 64 { word.to_lowercase() } else { return None };
    let allowed: Vec<&str> = allowed.into_iter().collect();
    if let Some((_, ours)) =
        ELSEWHERE.iter().find(|(theirs, ours)| *theirs == lower && allowed.contains(ours))
    {
        return Some(ours);
    }
    let near = allowed
        .into_iter()
        .map(|a| (strsim::damerau_levenshtein(&lower, a), a))
        .filter(|(distance, a)| *distance <= 1 + a.len() / 3 && *distance < a.len())
        .min();
    near.map(|(_, near)| near)
}

/// The same where the path of a header of one's own is allowed, too.
pub(crate) fn suggest_or_file<'a>(word: &str, allowed: impl IntoIterator<Item = &'a str>) -> String {
    match (word.contains('/'), word.ends_with(".h")) {
        (false, true) => format!("; for a file of your own write its folder, too: \"./{word}\""),
        (true, false) => format!("; a file of your own ends in .h: \"{word}.h\""),
        _ => suggest(word, allowed),
    }
}

/// `; did you mean "x"?` for a word close to an allowed one, and the allowed ones.
pub fn suggest<'a>(word: &str, allowed: impl IntoIterator<Item = &'a str>) -> String {
    let allowed: Vec<&str> = allowed.into_iter().collect();
    let mut out = String::new();
    if let Some(near) = nearest(word, allowed.iter().copied()) {
        out.push_str(&format!("; did you mean \"{near}\"?"));
    } else {
        out.push('.');
    }
    out.push_str(&format!(" Allowed: {}", allowed.join(", ")));
    out
}
