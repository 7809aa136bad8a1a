//! `docs`: the book of the pages, in a browser.

use crate::Failure;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A folder of pages that is made apart from the program.
pub struct Pages {
    /// Below `share/doc/queuewright`, where `make install` puts it.
    pub installed: &'static str,
    /// Below `build` in the sources.
    pub built: &'static str,
}

const BOOK: Pages = Pages { installed: "html", built: "book/html" };

/// Where documentation lies from the program on, where `make install` has put both, and the sources that it was built in.
const DOC: &str = "share/doc/queuewright";

impl Pages {
    /// Its first page: beside the program, in the home folder, or installed for all users. Root looks into no home folder: whose it is
    /// the environment says, and what is there may be links to what is root's alone.
    ///
    /// # Errors
    /// If the program does not know its own place.
    pub fn first(&self) -> Result<Option<PathBuf>, Failure> {
        let me = std::env::current_exe().and_then(|path| path.canonicalize());
        let me = me.map_err(|e| Failure::Run(format!("this program's own place: {e}")))?;
        let folder = me.parent().unwrap_or(Path::new("/"));
        let below = |root: PathBuf| root.join(DOC).join(self.installed);
        let home = std::env::var_os("HOME").filter(|_| !rustix::process::geteuid().is_root());
        let home = home.map(|home| below(Path::new(&home).join(".local")));
        let beside = [below(folder.join("..")), folder.join("../../build").join(self.built)];
        // Python's package has no program of its own.
        let elsewhere = ["/usr/local", "/usr"].map(|root| below(root.into()));
        let mut all = beside.into_iter().chain(home).chain(elsewhere);
        Ok(all.find_map(|at| at.join("index.html").canonicalize().ok()))
    }
}

/// Has the user's browser open something.
///
/// # Errors
/// Why it does not, in a few words.
pub fn open(what: &OsStr) -> Result<(), &'static str> {
    if rustix::process::geteuid().is_root() {
        return Err("root has no browser: open that as yourself");
    }
    let mut open = Command::new("xdg-open");
    let status = open.arg(what).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        _ => Err("xdg-open does not open it: open that in a browser"),
    }
}

/// Prints where the book is, and opens it unless only that was asked for.
pub fn docs(print: bool) -> Result<(), Failure> {
    let Some(book) = BOOK.first()? else {
        return Err(Failure::Input(
            "there is no book: in Queuewright's sources, make book and make install".into(),
        ));
    };
    crate::print(&format!("{}\n", book.display()))?;
    if print {
        return Ok(());
    }
    open(book.as_os_str()).map_err(|why| Failure::Run(why.into()))
}
