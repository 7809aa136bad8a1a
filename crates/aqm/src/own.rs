//! Files of a user's own: a header in the form of `aqm/*.h`, compiled when it is named, kept, loaded. `docs/own.md` has its form.
//!
//! Naming one runs what is in it, with the rights of who names it.

mod cache;
mod compile;
mod elf;
mod table;

use crate::params::{Param, ParamKind, Value};
use crate::{Info, Probe};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::ffi::{CStr, c_char};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
pub(crate) use table::Table;
pub use table::hex;
use table::{Help, Range};

/// Largest file, bytes.
pub const MAX_BYTES: u64 = 1 << 20;
/// Longest name of a file without its ending.
const MAX_NAME: usize = 32;
/// Most parameters, and most variables.
const MAX_LINES: usize = 64;
/// Longest text of a declaration.
const MAX_TEXT: usize = 200;
/// Largest instance, bytes.
const MAX_INSTANCE: u64 = 64 << 20;
/// What time series have of each queue, whatever manages it.
pub const SERIES: [&str; 4] = ["backlog_bytes", "rate_bps", "drops", "drops_limit"];
/// How parameters end that hold the SHA-256 of a file.
const SUM_OF: &str = "_sha256";
/// What results call the file among a discipline's parameters.
pub(crate) const FILE: &str = "file";
/// How the names of such files end.
const ENDING: &str = ".h";

/// A discipline out of a file.
#[derive(Debug)]
pub struct Own {
    /// What is in the file.
    pub text: Arc<str>,
    /// Its SHA-256, hexadecimal.
    pub sha256: String,
    table: &'static Table,
}

/// Sizes and places that `qw_shim_layout` has of C's.
#[cfg(test)]
pub(crate) const LAYOUT: [usize; 10] = [
    size_of::<Range>(),
    size_of::<Help>(),
    size_of::<table::Shown>(),
    size_of::<Table>(),
    std::mem::offset_of!(Table, about),
    std::mem::offset_of!(Table, shown),
    std::mem::offset_of!(Table, probe),
    size_of::<table::Head>(),
    std::mem::offset_of!(table::Head, of),
    // The last kind of `parameter`.
    6,
];

impl Own {
    pub(crate) fn table(&self) -> &'static Table {
        self.table
    }

    /// Bytes of an instance.
    pub(crate) fn size(&self) -> usize {
        self.table.size as usize
    }

    /// Where in an instance its parameters lie (or its state), and how long they are.
    pub(crate) fn part(&self, of_state: bool) -> (usize, usize) {
        let t = self.table;
        let (at, bytes) = if of_state { (t.state_at, t.state_bytes) } else { (t.params_at, t.params_bytes) };
        (at as usize, bytes as usize)
    }
}

/// Does a discipline's name name a file? It has a folder in it, so that no file is taken by an accident of its name.
pub fn is_file(name: &str) -> bool {
    name.contains('/') && name.ends_with(ENDING)
}

/// The discipline that the file's name gives to it: what C calls it, with `_` for each `-`.
///
/// # Errors
/// What is wrong with the name.
pub fn name(path: &str) -> Result<&str, String> {
    let name = Path::new(path).file_name().and_then(|n| n.to_str()).and_then(|n| n.strip_suffix(ENDING));
    let name = name.unwrap_or_default();
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(fits) || name.len() > MAX_NAME
    {
        return Err(format!(
            "not the name of a discipline; name the file by small letters, digits and -, {MAX_NAME} at most, such as late.h"
        ));
    }
    let same = |other: &str| other.replace('-', "_") == name.replace('-', "_");
    let header = compile::HEADERS.iter().filter_map(|(header, _)| header.strip_suffix(ENDING));
    let taken = compile::has_structure(&name.replace('-', "_"));
    if taken || crate::registry().iter().any(|info| same(info.name)) || header.into_iter().any(same) {
        return Err(format!("{name} is there already; give your file another name"));
    }
    Ok(name)
}

/// A file to begin with, for a discipline of this name.
///
/// # Errors
/// What is wrong with the name.
pub fn sample(name: &str) -> Result<String, String> {
    let name = match name.contains('/') {
        true => return Err("a name is needed here, without a folder".into()),
        false => self::name(&format!("./{name}{ENDING}"))?.replace('-', "_"),
    };
    Ok(include_str!("own/sample.h").replace("@x@", &name).replace("@X@", &name.to_uppercase()))
}

/// The discipline of a file: compiled, or as it was compiled before. `path` is how it was named, `text` what is in it.
///
/// # Errors
/// What is wrong with its name or with what is in it, with its line; what is missing here to compile it.
pub fn load(path: &str, text: &str) -> Result<&'static Info, String> {
    static LOADED: Mutex<Option<HashMap<(String, String), &'static Info>>> = Mutex::new(None);
    let name = name(path)?;
    let sha256 = hex(&Sha256::digest(text.as_bytes()));
    let key = (name.to_string(), sha256.clone());
    // Others wait: they may want the same.
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = loaded.as_ref().and_then(|all| all.get(&key)) {
        return Ok(known);
    }
    let table = compile::table(path, name, text)?;
    let info = describe(name, Own { text: text.into(), sha256, table })
        .map_err(|what| format!("{}: {what}", compile::shown(path)))?;
    loaded.get_or_insert_default().insert(key, info);
    Ok(info)
}

/// Looks at a file: what the compiler warns of, and random operations on it, in a process of its own. How many there were, and what came of
/// them, in words.
///
/// # Errors
/// As [`load`]; what the compiler warns of, and the first thing that went wrong.
pub fn check(path: &str, text: &str) -> Result<String, String> {
    compile::check(path, load(path, text)?.name, text)
}

/// What the file declares, as an entry of the registry, which stays for good: so does what is loaded.
fn describe(name: &str, own: Own) -> Result<&'static Info, String> {
    let table = own.table;
    let upper = name.to_uppercase().replace('-', "_");
    if table.size > MAX_INSTANCE {
        return Err(format!("its structures have {} bytes; at most {MAX_INSTANCE} are allowed", table.size));
    }
    // SAFETY: the lists of a table end with a name of 0.
    let (ranges, helps, shown) = unsafe {
        (list(table.ranges, |r| r.name), list(table.helps, |h| h.name), list(table.shown, |s| s.name))
    };
    if ranges.len() > MAX_LINES || shown.len() > MAX_LINES {
        return Err(format!("at most {MAX_LINES} parameters and {MAX_LINES} variables are allowed"));
    }
    let mut params: Vec<Param> = Vec::with_capacity(ranges.len());
    for range in ranges {
        let macros = format!("QW_{upper}_PARAMS(P)");
        let param = word(range.name).map_err(|e| format!("{macros}: {e}"))?;
        let ours = ["name", "label", "set", FILE].contains(&param) || param.ends_with(SUM_OF);
        if ours || params.iter().any(|p| p.name == param) {
            return Err(format!("{macros}: \"{param}\" is there already; give it another name"));
        }
        let help = helps.iter().find(|h| text(h.name).is_ok_and(|of| of == param));
        let help = help.ok_or_else(|| format!("QW_{upper}_HELP(H) has no line for \"{param}\""))?;
        params.push(
            parameter(param, range, help).map_err(|e| format!("QW_{upper}_HELP(H), \"{param}\": {e}"))?,
        );
    }
    let mut probes: Vec<Probe> = Vec::with_capacity(shown.len());
    for one in shown {
        let what = |e| format!("QW_{upper}_PROBE_NAMES(N): {e}");
        let probe = Probe { name: variable(one.name).map_err(what)?, unit: text(one.unit).map_err(what)? };
        if probes.iter().any(|p| p.name == probe.name) {
            return Err(what(format!("\"{}\" is there twice", probe.name)));
        }
        if SERIES.contains(&probe.name) {
            return Err(what(format!(
                "time series have a \"{}\" of each queue; give yours another name",
                probe.name
            )));
        }
        probes.push(probe);
    }
    let about = match table.about.is_null() {
        true => "a discipline of your own",
        false => text(table.about).map_err(|e| format!("QW_{upper}_ABOUT: {e}"))?,
    };
    let name = String::from(name).leak();
    let marks = params.iter().any(|p| p.name == "ecn");
    Ok(Box::leak(Box::new(Info {
        name,
        title: name,
        about,
        source: "a file of your own",
        explain: format!("# {name}\n\n{about}\n").leak(),
        params: params.leak(),
        probes: probes.leak(),
        needs_random: true,
        needs_head: true,
        needs_flow: true,
        always_marks: !marks,
        own: Some(Box::leak(Box::new(own))),
        ..Info::PLAIN
    })))
}

/// A list that ends with a name of 0.
///
/// # Safety
/// It does, and stays for good.
unsafe fn list<T>(from: *const T, name: impl Fn(&T) -> *const c_char) -> &'static [T] {
    let mut n = 0;
    // SAFETY: the end has not been reached.
    while !name(unsafe { &*from.add(n) }).is_null() {
        n += 1;
    }
    // SAFETY: so many are there.
    unsafe { std::slice::from_raw_parts(from, n) }
}

/// A text of a declaration.
fn text(from: *const c_char) -> Result<&'static str, String> {
    if from.is_null() {
        return Err("a text is missing".into());
    }
    // SAFETY: a string of what has been loaded, which stays.
    let text = unsafe { CStr::from_ptr(from) }.to_str().map_err(|_| "a text is not UTF-8")?;
    match text.len() > MAX_TEXT || text.chars().any(char::is_control) {
        true => Err(format!(
            "a text is too long, or has no line of its own; at most {MAX_TEXT} bytes in one line"
        )),
        false => Ok(text),
    }
}

/// A parameter's name.
fn word(from: *const c_char) -> Result<&'static str, String> {
    let word = text(from)?;
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    match word.starts_with(|c: char| c.is_ascii_lowercase()) && word.chars().all(fits) {
        true => Ok(word),
        false => Err(format!("\"{word}\" is no name; write small letters, digits and _")),
    }
}

/// A variable's name; of an expression such as `s->count` its end.
fn variable(from: *const c_char) -> Result<&'static str, String> {
    let written = text(from)?;
    let name = written.rsplit(['>', '.']).next().unwrap_or(written);
    word(from).or_else(|e| {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
        match !name.is_empty() && name.chars().all(fits) && name != written {
            true => Ok(name),
            false => Err(e),
        }
    })
}

/// A parameter: its range is the field's, its default and kind what the file says.
fn parameter(name: &'static str, range: &Range, help: &Help) -> Result<Param, String> {
    let about = text(help.about)?;
    let of = "its file";
    let real = |field: u64| field as f64 * (range.shift as f64).exp2() / (1u64 << 32) as f64;
    let whole = |unit: u64| -> Result<[u64; 3], String> {
        if help.start < 0.0 || help.start.fract() != 0.0 || help.start > (1u64 << 53) as f64 {
            return Err(format!("{} is no default of this kind; write a whole number", help.start));
        }
        let times = |n: u64| n.saturating_mul(unit);
        Ok([times(help.start as u64), times(range.least), times(range.most)])
    };
    if range.shift > 32 || range.least > range.most {
        return Err("a range that holds nothing, or a shift above 32".into());
    }
    let param = match help.kind {
        0 => whole(1).map(|[start, least, most]| Param::time(name, about, start, least, most, of))?,
        1 => whole(1).map(|[start, least, most]| Param::size(name, about, start, least, most, of))?,
        // A header has bytes a second.
        2 => whole(8).map(|[start, least, most]| Param::rate(name, about, start, least, most, of))?,
        3 => Param::count(name, "", about, whole(1)?, of),
        4 if help.start != 0.0 && help.start != 1.0 => {
            return Err(format!("{} is no default of a QW_FLAG; write 0 or 1", help.start));
        }
        4 if (range.least, range.most) == (0, 1) => Param::flag(name, about, help.start != 0.0, of),
        4 => return Err("a QW_FLAG has the range 0, 1".into()),
        5 | 6 => {
            let (least, most) = (real(range.least), real(range.most));
            let param = Param::ratio(name, "", about, help.start, least, most, of);
            match help.kind {
                5 if most > 1.0 => return Err("a QW_SHARE is 1 at most, 1 << (32 - shift)".into()),
                5 => Param { kind: ParamKind::Probability, ..param },
                _ => param,
            }
        }
        kind => {
            return Err(format!(
                "{kind} is no kind; write QW_TIME, QW_SIZE, QW_RATE, QW_COUNT, QW_FLAG, QW_SHARE or QW_RATIO"
            ));
        }
    };
    let real = matches!(param.default, Value::Real(_));
    if range.shift != 0 && !real {
        return Err("only a QW_SHARE or QW_RATIO has a shift".into());
    }
    match param.check(param.default) {
        Some(_) => Ok(param),
        None => Err(format!(
            "its default {} is out of its range {}",
            param.display(param.default),
            param.allowed()
        )),
    }
}
