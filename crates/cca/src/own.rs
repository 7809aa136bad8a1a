//! Congestion controls out of files of a user's own: headers in the form of `cca/qw_cca.h`, which `docs/own-control.md` describes.
//!
//! Naming a file runs what is in it, with the rights of whoever names it.

use crate::hosted::{ECT1, NEEDS_ECN, Table};
use crate::keyed::keyed;
use crate::{Info, Kind};
use queuewright_own::{Form, defines, lower, text, upper};
pub use queuewright_own::{MAX_BYTES, is_file};
use std::sync::Arc;

include!(concat!(env!("OUT_DIR"), "/headers.rs"));

/// What such a file is.
static FORM: Form = Form {
    what: "a congestion control",
    headers: || HEADERS.to_vec(),
    table: ("table.h", include_str!("own/table.h")),
    frame: include_str!("own/own.c"),
    check: include_str!("own/check.c"),
    such_as: "\"qw_cca.h\" or \"cubic.h\"",
    example: "mine.h",
    taken: |name| Kind::ALL.into_iter().any(|kind| lower(kind.name()) == lower(name)),
};

/// A congestion control out of a file.
#[derive(Debug)]
pub struct Own {
    /// What is in the file.
    pub text: Arc<str>,
    /// Its SHA-256, hexadecimal.
    pub sha256: String,
    /// Variables for display: names and units.
    pub probes: Vec<(&'static str, &'static str)>,
    pub(crate) table: &'static Table,
}

/// Which file a [`Kind`] is out of. Each is itself: others may be called the same.
#[derive(Debug, Clone, Copy)]
pub struct Mine {
    info: &'static Info,
    own: &'static Own,
}

impl Mine {
    /// What there is to say of it.
    pub const fn info(self) -> &'static Info {
        self.info
    }

    /// What is in its file.
    pub const fn own(self) -> &'static Own {
        self.own
    }

    fn key(&self) -> (&'static str, &'static str) {
        (self.info.name, &self.own.sha256)
    }
}

keyed!(Mine);

/// Is what is in the file meant to be a congestion control? Another is a discipline.
pub fn is_control(path: &str, text: &str) -> bool {
    queuewright_own::stem(path).is_some_and(|name| defines(name, text, "CCA") || defines(name, text, "FLAGS"))
}

/// What such a file may include: names, and what is in them.
pub fn headers() -> Vec<(&'static str, &'static str)> {
    (FORM.headers)()
}

/// SHA-256 of a text, hexadecimal.
pub fn sha256(text: &str) -> String {
    queuewright_own::sha256(text.as_bytes())
}

/// What is in one of them.
pub(crate) fn header(file: &str) -> Option<&'static str> {
    HEADERS.iter().find(|(name, _)| *name == file).map(|(_, text)| *text)
}

/// The control that the file's name gives to it: what C calls it, with `_` for each `-`.
///
/// # Errors
/// What is wrong with the name.
pub fn name(path: &str) -> Result<&str, String> {
    FORM.name(path)
}

/// A file to begin with, for a control of this name.
///
/// # Errors
/// What is wrong with the name.
pub fn sample(name: &str) -> Result<String, String> {
    FORM.sample(name, include_str!("own/sample.h"))
}

/// The control of a file: compiled, or as it was compiled before. `path` is how it was named, `text` what is in it.
///
/// # Errors
/// What is wrong with its name or with what is in it, with its line; what is missing here to compile it.
pub fn load(path: &str, text: &str) -> Result<Kind, String> {
    let name = name(path)?;
    if defines(name, text, "PARAMS") && !defines(name, text, "CCA") {
        return Err("a discipline, and no congestion control; name it where a discipline is named".into());
    }
    // SAFETY: so the frame has it.
    let mine = unsafe { FORM.load(path, text, |name, table| describe(name, text, table))? };
    Ok(Kind::Own(*mine))
}

/// Looks at a file: what the compiler warns of, and random events, in a process of its own. How many there were, and what came of
/// them, in words.
///
/// # Errors
/// As [`load`]; what the compiler warns of, and the first thing that went wrong.
pub fn check(path: &str, text: &str) -> Result<String, String> {
    load(path, text)?;
    FORM.check(path, text)
}

/// What the file declares, which stays for good: so does what is loaded.
fn describe(name: &str, source: &str, table: &'static Table) -> Result<Mine, String> {
    // SAFETY: the list of a table ends with a name of 0, and what is loaded stays.
    let probes = unsafe {
        queuewright_own::variables(
            name,
            table.shown,
            "flow",
            &["cwnd", "srtt_ms", "pacing_bps", "goodput_bps"],
        )?
    };
    let about = match table.about.is_null() {
        true => "a congestion control of your own",
        // SAFETY: as above.
        false => unsafe { text(table.about) }.map_err(|e| format!("QW_{}_ABOUT: {e}", upper(name)))?,
    };
    let own: &'static Own =
        Box::leak(Box::new(Own { text: source.into(), sha256: sha256(source), probes, table }));
    let info = Box::leak(Box::new(Info {
        name: String::from(name).leak(),
        about,
        source: "a file of your own",
        needs_ecn: table.flags & NEEDS_ECN != 0,
        ect1: table.flags & ECT1 != 0,
        own_control: table.wants().cong_control,
        ..Info::PLAIN
    }));
    Ok(Mine { info, own })
}
