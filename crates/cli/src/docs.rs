//! `docs`: the book of the pages, in a browser.

use crate::Failure;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where the book lies from the program on: where `make install` has put both, or in the sources that it was built in.
const BESIDE: [&str; 2] = ["../share/doc/queuewright/html", "../../build/book/html"];
/// Where it is looked for besides: Python's package has no program of its own.
const ELSEWHERE: [&str; 2] = ["/usr/local/share/doc/queuewright/html", "/usr/share/doc/queuewright/html"];

/// Prints where the book is, and opens it unless only that was asked for.
pub fn docs(print: bool) -> Result<(), Failure> {
    let me = std::env::current_exe().and_then(|path| path.canonicalize());
    let me = me.map_err(|e| Failure::Run(format!("this program's own place: {e}")))?;
    let Some(book) = book(me.parent().unwrap_or(Path::new("/"))) else {
        return Err(Failure::Input(
            "there is no book: in Queuewright's sources, make book and make install".into(),
        ));
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
    let home =
        std::env::var_os("HOME").map(|home| Path::new(&home).join(".local/share/doc/queuewright/html"));
    let beside = BESIDE.iter().map(|at| folder.join(at)).chain(home);
    let all = beside.chain(ELSEWHERE.iter().map(PathBuf::from));
    all.map(|at| at.join("index.html")).find_map(|book| book.canonicalize().ok())
}
