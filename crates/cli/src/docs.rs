//! `docs`: the book of the pages, in a browser.

use crate::Failure;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where the book lies: beside this program where `make install` has put both, or in the sources that it was built in.
const INSTALLED: &str = "../share/doc/queuewright/index.html";
const BUILT: &str = "../../build/book/html/index.html";

/// Prints where the book is, and opens it unless only that was asked for.
pub fn docs(print: bool) -> Result<(), Failure> {
    let me = std::env::current_exe().and_then(|path| path.canonicalize());
    let me = me.map_err(|e| Failure::Run(format!("this program's own place: {e}")))?;
    let Some(book) = book(me.parent().unwrap_or(Path::new("/"))) else {
        return Err(Failure::Input(format!(
            "no book beside {}: in Queuewright's sources, make book (and make install)",
            me.display()
        )));
    };
    crate::print(&format!("{}\n", book.display()))?;
    if print {
        return Ok(());
    }
    if rustix::process::geteuid().is_root() {
        return Err(Failure::Run("root has no browser: open that file as yourself".into()));
    }
    let mut open = Command::new("xdg-open");
    let status = open.arg(&book).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        _ => Err(Failure::Run("xdg-open does not open it: open that file in a browser".into())),
    }
}

fn book(folder: &Path) -> Option<PathBuf> {
    [INSTALLED, BUILT].iter().find_map(|at| folder.join(at).canonicalize().ok())
}
