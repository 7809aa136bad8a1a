//! Disciplines out of files of a user's own: `./late.h`. What is in such a file runs with the rights of who reads the scenario.

use crate::data::{DataFile, Files};
use crate::error::{Error, Place};
use crate::limits;
use crate::model::Discipline;
use crate::node::Node;
use queuewright_aqm::{Info, own};
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

/// Does a list of disciplines that somebody else may have written name such a file?
pub fn named_in(list: &str) -> Option<&str> {
    list.split([',', ':']).map(str::trim).find(|name| own::is_file(name))
}

/// Reads, compiles and loads the file that a discipline's name is.
pub(crate) fn read(node: &Node, files: &Files) -> Result<(&'static Info, DataFile), Error> {
    let given = node.text("the path of a header")?;
    own::name(given).map_err(|e| node.error(e))?;
    // What another process has sent along it was allowed to read.
    let asked = matches!(node.place, Place::File { .. }) && !files.brings(node, given);
    if asked {
        consent().map_err(|e| node.error(e))?;
    }
    let (file, info) = files.once(node, || {
        let (file, bytes) = DataFile::read(node, files, "a header of your own", limits::OWN.bytes)?;
        let text = std::str::from_utf8(&bytes).map_err(|_| node.error("not UTF-8 text"))?;
        let info = own::load(given, text).map_err(|e| node.error(e))?;
        Ok((file, info, bytes.len()))
    })?;
    Ok((*info, file))
}

impl Discipline {
    /// Its name as a scenario has it: that of the registry, or the path of its file.
    pub fn written(&self) -> &str {
        self.file.as_ref().map_or(self.info.name, |file| &file.given)
    }
}
