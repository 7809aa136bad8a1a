//! Files of a user's own: a header in C, compiled when it is named, kept, loaded. This crate has what disciplines and congestion
//! controls need alike. Their own crates say what such a file declares ([`Form`]).
//!
//! Naming a file runs what is in it, with the rights of whoever names it.

#[cfg(unix)]
mod cache;
#[cfg_attr(not(unix), path = "no_compiler.rs")]
mod compile;
#[cfg_attr(not(unix), allow(dead_code))]
pub mod elf;
mod words;

use sha2::{Digest, Sha256};
use std::any::Any;
use std::collections::HashMap;
use std::ffi::{CStr, c_char};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

#[cfg(unix)]
pub use cache::Folder;
#[cfg(unix)]
pub use compile::{COMPILE_BYTES, COMPILE_WITHIN, FirstError, MISTAKES, first_error, is_include, run};
pub use words::{filled, shown};

/// Largest file, bytes.
pub const MAX_BYTES: u64 = 1 << 20;
/// Most parameters, and most variables.
pub const MAX_LINES: usize = 64;
/// The name of the file's SHA-256 among a discipline's parameters in results.
pub const FILE: &str = "file";
/// The end of the names of parameters that hold the SHA-256 of a file.
pub const SUM_OF: &str = "_sha256";
/// Longest name of a file without its ending.
const MAX_NAME: usize = 32;
/// Longest text of a declaration.
const MAX_TEXT: usize = 200;
/// The end of the names of such files.
const ENDING: &str = ".h";

/// A kind of such files: what they may include, and what they are put into.
#[derive(Debug)]
pub struct Form {
    /// What such a file declares, in words with an article.
    pub what: &'static str,
    /// Headers that it may include: names, and what is in them.
    pub headers: fn() -> Vec<(&'static str, &'static str)>,
    /// The header that the frame includes beside those: its name and text.
    pub table: (&'static str, &'static str),
    /// The frame: the C source that the file is put into. It defines `qw_own`.
    pub frame: &'static str,
    /// The frame for [`Form::check`]: a program.
    pub check: &'static str,
    /// Some of the headers that it may include, for errors.
    pub such_as: &'static str,
    /// A name, for errors.
    pub example: &'static str,
    /// Is the name taken by what comes with the program?
    pub taken: fn(&str) -> bool,
}

/// Is a name that of a file? It must have a folder in it, so that no file is taken by accident.
pub fn is_file(name: &str) -> bool {
    name.contains('/') && name.ends_with(ENDING)
}

/// Does the text of a file of this name define `QW_NAME_WHAT`?
pub fn defines(name: &str, text: &str, what: &str) -> bool {
    let macros = format!("QW_{}_{what}", upper(name));
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| word == macros)
}

/// A name in C.
pub fn lower(name: &str) -> String {
    name.replace('-', "_")
}

/// The same of macros.
pub fn upper(name: &str) -> String {
    lower(name).to_uppercase()
}

/// SHA-256, hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Bytes in hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// The name that a path gives to what is in the file: what C calls it, with `_` for each `-`. None: its letters are none of a name's.
pub fn stem(path: &str) -> Option<&str> {
    let name = Path::new(path).file_name()?.to_str()?.strip_suffix(ENDING)?;
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    (begins && name.chars().all(fits) && name.len() <= MAX_NAME).then_some(name)
}

impl Form {
    /// The name that the file's gives to what is in it.
    ///
    /// # Errors
    /// What is wrong with the name.
    pub fn name<'a>(&self, path: &'a str) -> Result<&'a str, String> {
        let name = stem(path).ok_or_else(|| {
            format!(
                "not the name of {}; name the file by small letters, digits and -, {MAX_NAME} at most, such as {}",
                self.what, self.example
            )
        })?;
        let headers = (self.headers)();
        let mut of_headers = headers.iter().filter_map(|(header, _)| header.strip_suffix(ENDING));
        let same = |other: &str| lower(other) == lower(name);
        if words::has_structure(self, &lower(name)) || (self.taken)(name) || of_headers.any(same) {
            return Err(format!("{name} is there already; give your file another name"));
        }
        Ok(name)
    }

    /// A file to begin with, by this name: `text` with the name in it.
    ///
    /// # Errors
    /// What is wrong with the name.
    pub fn sample(&self, name: &str, text: &str) -> Result<String, String> {
        let name = match name.contains('/') {
            true => return Err("a name is needed here, without a folder".into()),
            false => lower(self.name(&format!("./{name}{ENDING}"))?),
        };
        Ok(text.replace("@x@", &name).replace("@X@", &name.to_uppercase()))
    }

    /// What such a file may include, in words.
    pub fn may_include(&self) -> String {
        words::may_include(self)
    }

    /// What `describe` makes of a file: compiled, or as it was compiled before. `path` is how it was named, `text` what is in it. It
    /// stays for good, as what is loaded does.
    ///
    /// # Safety
    /// The frame defines `qw_own` as a `T`.
    ///
    /// # Errors
    /// What is wrong with its name or with what is in it, with its line; what is missing here to compile it.
    pub unsafe fn load<T: 'static, I: Any + Sync>(
        &self,
        path: &str,
        text: &str,
        describe: impl FnOnce(&str, &'static T) -> Result<I, String>,
    ) -> Result<&'static I, String> {
        type Known = (&'static str, String, String);
        static LOADED: Mutex<Option<HashMap<Known, &'static (dyn Any + Sync)>>> = Mutex::new(None);
        let name = self.name(path)?;
        let key = (self.what, name.to_string(), sha256(text.as_bytes()));
        // Others wait: they may want the same.
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        let known = loaded.as_ref().and_then(|all| all.get(&key).copied());
        if let Some(known) = known.and_then(|one| (one as &dyn Any).downcast_ref::<I>()) {
            return Ok(known);
        }
        // SAFETY: the caller says what the frame defines.
        let table = unsafe { compile::table::<T>(self, path, name, text)? };
        let made = describe(name, table).map_err(|what| format!("{}: {what}", shown(path)))?;
        let made: &'static I = Box::leak(Box::new(made));
        loaded.get_or_insert_default().insert(key, made);
        Ok(made)
    }

    /// Looks at a file: what the compiler warns of, and random operations on it, in a process of its own. How many there were, and what
    /// came of them, in words.
    ///
    /// # Errors
    /// What the compiler warns of, and the first thing that went wrong.
    pub fn check(&self, path: &str, text: &str) -> Result<String, String> {
        compile::check(self, path, self.name(path)?, text)
    }
}

/// A line of `QW_X_PROBE_NAMES(N)`, or an expression of `QW_X_PROBES(V)`, as C has it.
#[derive(Debug)]
#[repr(C)]
pub struct Shown {
    /// Its name; 0: the end of the list.
    pub name: *const c_char,
    /// Its unit.
    pub unit: *const c_char,
}

/// Variables for display, their names and units; `taken` are names that time series have of each `of`.
///
/// # Errors
/// What is wrong with one.
///
/// # Safety
/// The list ends with a name of 0, and stays for good, as its texts do.
pub unsafe fn variables(
    name: &str,
    from: *const Shown,
    of: &str,
    taken: &[&str],
) -> Result<Vec<(&'static str, &'static str)>, String> {
    let what = |e: String| format!("QW_{}_PROBE_NAMES(N): {e}", upper(name));
    // SAFETY: the caller says so.
    let shown = unsafe { list(from, |s| s.name) };
    if shown.len() > MAX_LINES {
        return Err(format!("at most {MAX_LINES} parameters and {MAX_LINES} variables are allowed"));
    }
    let mut all: Vec<(&str, &str)> = Vec::with_capacity(shown.len());
    for one in shown {
        // SAFETY: as above.
        let (name, unit) =
            unsafe { (variable(one.name).map_err(what)?, self::text(one.unit).map_err(what)?) };
        if all.iter().any(|(other, _)| *other == name) {
            return Err(what(format!("\"{name}\" is there twice")));
        }
        if taken.contains(&name) {
            return Err(what(format!("time series have a \"{name}\" of each {of}; give yours another name")));
        }
        all.push((name, unit));
    }
    Ok(all)
}

/// A list that ends with a name of 0.
///
/// # Safety
/// It does, and stays for good.
pub unsafe fn list<T>(from: *const T, name: impl Fn(&T) -> *const c_char) -> &'static [T] {
    let mut n = 0;
    // SAFETY: the end has not been reached.
    while !name(unsafe { &*from.add(n) }).is_null() {
        n += 1;
    }
    // SAFETY: so many are there.
    unsafe { std::slice::from_raw_parts(from, n) }
}

/// A text of a declaration.
///
/// # Errors
/// It is missing, no text, or too long.
///
/// # Safety
/// A C string that stays for good, or none.
pub unsafe fn text(from: *const c_char) -> Result<&'static str, String> {
    if from.is_null() {
        return Err("a text is missing".into());
    }
    // SAFETY: the caller says so.
    let text = unsafe { CStr::from_ptr(from) }.to_str().map_err(|_| "a text is not UTF-8")?;
    match text.len() > MAX_TEXT || text.chars().any(char::is_control) {
        true => Err(format!(
            "a text is too long, or has no line of its own; at most {MAX_TEXT} bytes in one line"
        )),
        false => Ok(text),
    }
}

/// A parameter's name.
///
/// # Errors
/// It is none.
///
/// # Safety
/// As [`text`].
pub unsafe fn word(from: *const c_char) -> Result<&'static str, String> {
    // SAFETY: the caller says so.
    let word = unsafe { text(from)? };
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    match word.starts_with(|c: char| c.is_ascii_lowercase()) && word.chars().all(fits) {
        true => Ok(word),
        false => Err(format!("\"{word}\" is no name; write small letters, digits and _")),
    }
}

/// A variable's name; of an expression such as `s->count` its end.
unsafe fn variable(from: *const c_char) -> Result<&'static str, String> {
    // SAFETY: the caller says so.
    let (written, word) = unsafe { (text(from)?, word(from)) };
    let name = written.rsplit(['>', '.']).next().unwrap_or(written);
    word.or_else(|e| {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
        match !name.is_empty() && name.chars().all(fits) && name != written {
            true => Ok(name),
            false => Err(e),
        }
    })
}
