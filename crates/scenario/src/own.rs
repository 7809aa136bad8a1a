//! Disciplines and congestion controls out of files of a user's own: `./late.h`, `./mine.h`. What is in such a file runs with the rights of who reads the scenario.

use crate::data::{DataFile, Files};
use crate::error::{Error, Place};
use crate::limits;
use crate::model::{Discipline, Flows};
use crate::node::Node;
use queuewright_aqm::{Info, own};
use queuewright_cca::{Kind, own as control};
use std::ffi::OsStr;

/// Who sets this to 1 lets scenario files name such files: a scenario may be anybody's, and is otherwise only read. On a command line, and
/// in a program, it is the caller himself who names them.
pub const CONSENT: &str = "QUEUEWRIGHT_OWN";

/// Has the caller allowed it?
fn consent() -> Result<(), String> {
    match std::env::var_os(CONSENT).as_deref() == Some(OsStr::new("1")) {
        true => Ok(()),
        false => Err(format!(
            "its code would run with all your rights, and this file may be anybody's; if you trust it, set {CONSENT}=1"
        )),
    }
}

/// Asks for it where a text that somebody else may have written names such a file, alone or in a list of disciplines.
///
/// # Errors
/// The file, and what allows it.
pub fn ask(theirs: &str) -> Result<(), String> {
    named_in(theirs).map_or(Ok(()), |file| consent().map_err(|e| format!("{file:?}: {e}")))
}

/// Does a list of disciplines, or of flows, that somebody else may have written name such a file?
pub fn named_in(list: &str) -> Option<&str> {
    list.split([',', ':']).map(str::trim).find(|name| own::is_file(name))
}

/// Reads, compiles and loads the file that a discipline's name is.
pub(crate) fn read(node: &Node, files: &Files) -> Result<(&'static Info, DataFile), Error> {
    load(node, files, own::name, own::load)
}

/// The same of a congestion control's.
pub(crate) fn read_control(node: &Node, files: &Files) -> Result<(Kind, DataFile), Error> {
    load(node, files, control::name, control::load)
}

fn load<T: Copy + Send + Sync + 'static>(
    node: &Node,
    files: &Files,
    name: fn(&str) -> Result<&str, String>,
    load: fn(&str, &str) -> Result<T, String>,
) -> Result<(T, DataFile), Error> {
    let given = node.text("the path of a header")?;
    name(given).map_err(|e| node.error(e))?;
    // What another process has sent along it was allowed to read.
    let asked = matches!(node.place, Place::File { .. }) && !files.brings(node, given);
    if asked {
        consent().map_err(|e| node.error(e))?;
    }
    let (file, loaded) = files.once(node, || {
        let (file, bytes) = DataFile::read(node, files, "a header of your own", limits::OWN.bytes)?;
        let text = std::str::from_utf8(&bytes).map_err(|_| node.error("not UTF-8 text"))?;
        let loaded = load(given, text).map_err(|e| node.error(e))?;
        Ok((file, loaded, bytes.len()))
    })?;
    Ok((*loaded, file))
}

impl Flows {
    /// A congestion control of its flows as a scenario has it: its name, or the path of its file.
    pub fn written(&self, kind: Kind) -> &str {
        self.control_files.iter().find(|(of, _)| *of == kind).map_or(kind.name(), |(_, file)| &file.given)
    }
}

impl Discipline {
    /// Its name as a scenario has it: that of the registry, or the path of its file.
    pub fn written(&self) -> &str {
        self.file.as_ref().map_or(self.info.name, |file| &file.given)
    }
}
