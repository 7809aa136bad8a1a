//! Files that a scenario names: read once, known by their SHA-256, copied beside the scenario
//! that is to stand alone.

use crate::error::{Error, Place};
use crate::node::Node;
use crate::trace::{hex, unreadable};
use crate::units::quote;
use sha2::{Digest, Sha256};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Largest file of sizes, pages or flows, bytes.
const MAX_BYTES: u64 = 64 << 20;

/// A file that a scenario names.
#[derive(Debug, Clone)]
pub struct DataFile {
    /// Path as the user gave it.
    pub given: String,
    /// Path to open.
    pub path: PathBuf,
    /// SHA-256 of the file, hexadecimal.
    pub sha256: String,
}

/// Two files are the same if they were named and read the same, wherever the scenario lay.
impl PartialEq for DataFile {
    fn eq(&self, other: &DataFile) -> bool {
        self.given == other.given && self.sha256 == other.sha256
    }
}

/// The lines of a table of comma-separated values, as read.
pub(crate) struct Sheet {
    pub file: DataFile,
    text: String,
}

impl Sheet {
    /// Reads the file that a value names; `what` it is, for errors.
    pub fn read(node: &Node, base_dir: &Path, what: &str) -> Result<Sheet, Error> {
        let given = node.text(&format!("the path of {what}, from the folder of this file"))?;
        if given.is_empty() || given.contains('\0') {
            return Err(node.error(format!("not a path; write the path of {what}")));
        }
        // A path on the command line starts from the current folder.
        let base_dir = if node.place == Place::Flag { Path::new("") } else { base_dir };
        let path = base_dir.join(given);
        let file = std::fs::File::open(&path).map_err(|e| node.error(unreadable(&e)))?;
        let mut bytes = Vec::new();
        file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|e| node.error(unreadable(&e)))?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(node.error(format!("larger than 64 MB: not {what}")));
        }
        let sha256 = hex(&Sha256::digest(&bytes));
        let text = String::from_utf8(bytes).map_err(|_| node.error("not UTF-8 text"))?;
        Ok(Sheet { file: DataFile { given: given.into(), path, sha256 }, text })
    }

    /// Its lines that are not empty: number from 1, and fields without the spaces around them.
    pub fn lines(&self) -> impl Iterator<Item = (usize, Vec<&str>)> {
        let lines = self.text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        lines.map(|(i, line)| (i + 1, line.split(',').map(str::trim).collect()))
    }

    /// An error in a line; 0: in the file as a whole.
    pub fn error(&self, line: usize, found: Option<&str>, message: impl Into<String>) -> Error {
        let place = Place::File { name: self.file.given.clone(), line };
        let e = Error::new(place, "", message);
        match found {
            Some(text) => e.found(format!("\"{}\"", quote(&text.chars().take(100).collect::<String>()))),
            None => e,
        }
    }
}
