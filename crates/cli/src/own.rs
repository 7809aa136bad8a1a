//! `new discipline` and `check ./late.h`: files of a user's own.

use crate::args::Kind;
use crate::{Failure, print};
use queuewright_aqm::own;
use queuewright_scenario::read_file;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// Writes one to begin with into the working folder.
pub fn new(what: Kind, name: &str) -> Result<(), Failure> {
    let text = match what {
        Kind::Discipline => own::sample(name),
    };
    let text = text.map_err(|e| Failure::Input(format!("{name:?}: {e}")))?;
    let path = format!("./{name}.h");
    let mut file = File::create_new(&path).map_err(|e| match e.kind() {
        ErrorKind::AlreadyExists => Failure::Input(format!("{path} is there already")),
        _ => Failure::Run(format!("{path} cannot be written: {e}")),
    })?;
    file.write_all(text.as_bytes()).map_err(|e| Failure::Run(format!("{path} cannot be written: {e}")))?;
    print(&format!(
        "{path}: what waits longer than a target is dropped. Change it, and name it where a discipline is named:\n  queuewright check {path}\n  \
         queuewright compare --rate 50mbit --rtt 20ms --flows 4xcubic --aqm codel,{path},{path}:target=5ms\n"
    ))
}

/// Why a file cannot be read.
fn unreadable(e: &std::io::Error) -> String {
    match e.kind() {
        ErrorKind::NotFound => "no such file".into(),
        _ => format!("cannot be read: {e}"),
    }
}

/// Is it such a file, and no scenario?
pub fn is_file(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "h")
}

/// Says what is wrong with one, or what it did with random packets.
pub fn check(path: &Path) -> Result<(), Failure> {
    let name = path.display().to_string();
    let wrong = |e: String| Failure::Input(format!("{name}: {e}"));
    let bytes = read_file(path, own::MAX_BYTES).map_err(|e| wrong(unreadable(&e)))?;
    let text = String::from_utf8(bytes).map_err(|_| wrong("not UTF-8 text".into()))?;
    print(&own::check(&name, &text).map_err(Failure::Input)?)
}
