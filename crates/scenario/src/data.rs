//! Files that a scenario names: read once, known by their SHA-256, copied beside the scenario
//! that is to stand alone.

use crate::error::{Error, Place};
use crate::limits::{self, Limit};
use crate::node::Node;
use crate::units::quote;
use queuewright_aqm::Info;
pub use queuewright_aqm::own::hex;
use sha2::{Digest, Sha256};
use std::any::{Any, TypeId};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
#[cfg(unix)]
use std::fs::{FileType, OpenOptions};
use std::io::{BufReader, Error as IoError, ErrorKind, Read, Take};
use std::ops::Range;
#[cfg(unix)]
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Where the files are that a scenario names.
#[derive(Debug, Clone, Default)]
pub(crate) struct Files {
    /// Paths in a scenario file start from here.
    pub base_dir: PathBuf,
    /// What came with the scenario from elsewhere, by path: it is not looked for here.
    pub carried: BTreeMap<PathBuf, Arc<[u8]>>,
    /// A discipline that is known here by its name, beside those of the registry.
    pub also: Option<&'static Info>,
    made: Arc<Mutex<Made>>,
}

/// What was made of files in one reading of a scenario, by path and kind: many entries may name a file.
#[derive(Debug, Default)]
struct Made {
    of: HashMap<(PathBuf, TypeId), (DataFile, Arc<dyn Any + Send + Sync>)>,
    /// Bytes that it takes, about.
    bytes: u64,
}

impl Files {
    /// Files from a folder, and what came with the scenario.
    pub fn new(base_dir: PathBuf, carried: BTreeMap<PathBuf, Arc<[u8]>>) -> Files {
        Files { base_dir, carried, also: None, made: Arc::default() }
    }

    /// The same files, of which nothing has been read.
    pub fn unread(&self) -> Files {
        Files { made: Arc::default(), ..self.clone() }
    }

    /// Counts what something made of files takes in memory; an error at `node` if that is too much with what there is.
    pub fn hold(&self, node: &Node, bytes: usize) -> Result<(), Error> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.bytes += bytes as u64;
        match made.bytes > limits::HELD.bytes {
            true => Err(node.error(format!(
                "with this file what all are read into takes more than {} MB",
                limits::HELD.bytes >> 20
            ))),
            false => Ok(()),
        }
    }

    /// What `make` makes of a file, with the bytes that it takes; made once.
    pub fn once<T: Any + Send + Sync>(
        &self,
        node: &Node,
        make: impl FnOnce() -> Result<(DataFile, T, usize), Error>,
    ) -> Result<(DataFile, Arc<T>), Error> {
        let given = node.text("the path of a file").unwrap_or_default();
        let path = self.path(node, given);
        // By whatever names: links, and ways through other folders.
        let path = if self.carried.contains_key(&path) { path } else { path.canonicalize().unwrap_or(path) };
        let key = (path, TypeId::of::<T>());
        let known = |made: &Made| {
            let (file, of) = made.of.get(&key)?;
            Some((DataFile { given: given.into(), ..file.clone() }, of.clone().downcast::<T>().ok()?))
        };
        if let Some(found) = known(&self.made.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(found);
        }
        let (file, of, bytes) = make()?;
        self.hold(node, bytes)?;
        let of = Arc::new(of);
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.of.insert(key, (file.clone(), of.clone()));
        Ok((file, of))
    }

    /// Has what `node` names so come with the scenario?
    pub fn brings(&self, node: &Node, given: &str) -> bool {
        self.carried.contains_key(&self.path(node, given))
    }

    /// Where a file is that `node` names so. A path on the command line, or of a program, starts from the current folder.
    fn path(&self, node: &Node, given: &str) -> PathBuf {
        match node.place {
            Place::File { .. } => self.base_dir.join(given),
            Place::Flag | Place::Value => PathBuf::from(given),
        }
    }
}

/// A file that a scenario names.
#[derive(Debug, Clone)]
pub struct DataFile {
    /// Path as the user gave it.
    pub given: String,
    /// Path to open; empty: the program has it in itself.
    pub path: PathBuf,
    /// SHA-256 of the file, hexadecimal.
    pub sha256: String,
    /// What is in it, if that came with the scenario from elsewhere.
    carried: Option<Arc<[u8]>>,
}

/// Two files are the same if they were named and read the same, wherever the scenario lay.
impl PartialEq for DataFile {
    fn eq(&self, other: &DataFile) -> bool {
        self.given == other.given && self.sha256 == other.sha256
    }
}

impl DataFile {
    /// One that the program brings, by its name.
    pub(crate) fn brought(name: &str, content: &[u8]) -> DataFile {
        DataFile {
            given: name.into(),
            path: PathBuf::new(),
            sha256: hex(&Sha256::digest(content)),
            carried: None,
        }
    }

    /// Reads the file that a value names, and its content; `what` it is, for errors, and how many bytes it may have.
    pub(crate) fn read(
        node: &Node,
        files: &Files,
        what: &str,
        most: u64,
    ) -> Result<(DataFile, Vec<u8>), Error> {
        DataFile::read_by(node, files, what, most, |from| {
            let mut bytes = Vec::new();
            from.read_to_end(&mut bytes).map_err(|e| node.error(unreadable(&e)))?;
            Ok(bytes)
        })
    }

    /// The same with what `by` makes of its content, which need not be in memory at once.
    pub(crate) fn read_by<T>(
        node: &Node,
        files: &Files,
        what: &str,
        most: u64,
        by: impl FnOnce(&mut BufReader<Hashing<Box<dyn Read + Send + '_>>>) -> Result<T, Error>,
    ) -> Result<(DataFile, T), Error> {
        let given = node.text(&format!("the path of {what}, from the folder of this file"))?;
        if given.is_empty() || given.contains('\0') {
            return Err(node.error(format!("not a path; write the path of {what}")));
        }
        let path = files.path(node, given);
        let unread = |e: IoError| match e.kind() {
            ErrorKind::FileTooLarge => node.error(format!("{}: not {what}", unreadable(&e))),
            _ => node.error(unreadable(&e)),
        };
        let carried = files.carried.get(&path).cloned();
        let from: Box<dyn Read + Send + '_> = match &carried {
            Some(content) if content.len() as u64 > most => return Err(unread(too_large(most))),
            Some(content) => Box::new(&content[..]),
            None => Box::new(open(&path, most).map_err(unread)?),
        };
        let mut from = BufReader::with_capacity(1 << 16, Hashing::new(from));
        let made = by(&mut from)?;
        // What it did not need counts for the hash.
        std::io::copy(&mut from, &mut std::io::sink()).map_err(unread)?;
        let (bytes, sha256) = from.into_inner().end();
        if bytes > most {
            return Err(unread(too_large(most)));
        }
        Ok((DataFile { given: given.into(), path, sha256, carried }, made))
    }

    /// What is in it, to be read.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(&self) -> std::io::Result<Box<dyn Read + '_>> {
        Ok(match &self.carried {
            Some(content) => Box::new(&content[..]),
            None => Box::new(open(&self.path, limits::CAPTURE.bytes)?),
        })
    }

    /// What is in it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn content(&self) -> std::io::Result<Cow<'_, [u8]>> {
        match &self.carried {
            Some(content) => Ok(Cow::Borrowed(content)),
            None => Ok(Cow::Owned(read_file(&self.path, limits::CAPTURE.bytes)?)),
        }
    }

    /// What was in it when the scenario read it.
    ///
    /// # Errors
    /// When it cannot be read, or has changed.
    pub fn as_read(&self) -> Result<Cow<'_, [u8]>, Error> {
        let wrong = |why| Error::new(Place::File { name: self.given.clone(), line: 0 }, "", why);
        let bytes = self.content().map_err(|e| wrong(unreadable(&e)))?;
        match hex(&Sha256::digest(&bytes)) == self.sha256 {
            true => Ok(bytes),
            false => Err(wrong("has changed since the scenario read it".into())),
        }
    }
}

/// Why a file cannot be read, in words that do not depend on the system.
pub fn unreadable(e: &IoError) -> String {
    match e.kind() {
        ErrorKind::NotFound => "no such file".into(),
        ErrorKind::PermissionDenied => "no permission to read this file".into(),
        ErrorKind::IsADirectory => "a directory, not a file".into(),
        ErrorKind::InvalidInput | ErrorKind::FileTooLarge => e.to_string(),
        _ => format!("cannot be read: {e}"),
    }
}

/// What is in a file that somebody has named, of at most so many bytes. It does not wait for one who writes into a pipe, nor
/// open a device, whose reading may never end.
///
/// # Errors
/// What reading can fail with; a pipe, a device or a socket; more bytes.
pub fn read_file(path: &Path, most: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path, most)?.read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(too_large(most));
    }
    Ok(bytes)
}

/// A file of at most so many bytes, of which no more than one above that is read should it grow; nothing but a file.
///
/// # Errors
/// As [`read_file`].
#[cfg(unix)]
pub fn open(path: &Path, most: u64) -> std::io::Result<Take<File>> {
    regular(std::fs::metadata(path)?.file_type())?;
    // It may have become another meanwhile.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    let meta = file.metadata()?;
    regular(meta.file_type())?;
    if meta.len() > most {
        return Err(too_large(most));
    }
    Ok(file.take(most.saturating_add(1)))
}

/// Where there are no files, as in a web page.
///
/// # Errors
/// Always.
#[cfg(not(unix))]
pub fn open(_: &Path, _: u64) -> std::io::Result<Take<File>> {
    Err(no_files())
}

#[cfg(not(unix))]
fn no_files() -> IoError {
    IoError::new(ErrorKind::InvalidInput, "no file can be read here; run the scenario with the program")
}

/// Hashes and counts what is read.
#[derive(Debug)]
pub struct Hashing<R> {
    from: R,
    hash: Sha256,
    bytes: u64,
}

impl<R> Hashing<R> {
    /// Nothing has been read yet.
    pub fn new(from: R) -> Hashing<R> {
        Hashing { from, hash: Sha256::new(), bytes: 0 }
    }

    /// How many bytes that were, and their SHA-256 in hexadecimal digits.
    pub fn end(self) -> (u64, String) {
        (self.bytes, hex(&self.hash.finalize()))
    }
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let n = self.from.read(into)?;
        self.hash.update(&into[..n]);
        self.bytes += n as u64;
        Ok(n)
    }
}

/// The pipe that a path names, if whoever began this process has given it one: `/dev/fd/N`, as a shell writes for `<(COMMAND)`,
/// and `-` or `/dev/stdin`. It is open already, so that nobody is waited for who is to open its other end.
#[cfg(unix)]
pub(crate) fn given_pipe(path: &Path) -> Option<PathBuf> {
    let number = match path.to_str()? {
        "-" | "/dev/stdin" => "0",
        path => path.strip_prefix("/dev/fd/").or_else(|| path.strip_prefix("/proc/self/fd/"))?,
    };
    number.parse::<u32>().ok()?;
    let at = Path::new("/proc/self/fd").join(number);
    let is_pipe = std::fs::metadata(&at).is_ok_and(|meta| meta.file_type().is_fifo());
    (is_pipe || path == Path::new("-")).then_some(at)
}

/// Where there are no pipes.
#[cfg(not(unix))]
pub(crate) fn given_pipe(_: &Path) -> Option<PathBuf> {
    None
}

/// What comes out of one, of at most so many bytes, to its end, which is to come within this time.
///
/// # Errors
/// As [`read_file`], or if it does not end.
#[cfg(unix)]
pub(crate) fn read_pipe(at: &Path, most: u64, within: Duration) -> std::io::Result<Vec<u8>> {
    let mut pipe = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(at)?;
    let kind = pipe.metadata()?.file_type();
    if !kind.is_fifo() {
        regular(kind)?;
    }
    let begun = std::time::Instant::now();
    let (mut bytes, mut some) = (Vec::new(), [0; 4096]);
    loop {
        match pipe.read(&mut some) {
            Ok(0) => return Ok(bytes),
            Ok(n) => bytes.extend_from_slice(&some[..n]),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) if e.kind() == ErrorKind::WouldBlock => std::thread::sleep(Duration::from_millis(2)),
            Err(e) => return Err(e),
        }
        if bytes.len() as u64 > most {
            return Err(too_large(most));
        }
        if begun.elapsed() > within {
            let why = format!("a pipe that has not ended within {} s", within.as_secs());
            return Err(IoError::new(ErrorKind::InvalidInput, why));
        }
    }
}

/// Where there are no pipes.
#[cfg(not(unix))]
pub(crate) fn read_pipe(_: &Path, _: u64, _: Duration) -> std::io::Result<Vec<u8>> {
    Err(no_files())
}

/// As [`read_file`], of what is to be text.
///
/// # Errors
/// As [`read_file`]; what is not UTF-8.
pub fn read_text(path: &Path, most: u64) -> std::io::Result<String> {
    let wrong = |_| IoError::new(ErrorKind::InvalidInput, "not UTF-8 text");
    String::from_utf8(read_file(path, most)?).map_err(wrong)
}

fn too_large(most: u64) -> IoError {
    IoError::new(ErrorKind::FileTooLarge, format!("larger than {} MB", most >> 20))
}

#[cfg(unix)]
fn regular(kind: FileType) -> std::io::Result<()> {
    let odd = match () {
        () if kind.is_file() => return Ok(()),
        () if kind.is_dir() => {
            return Err(IoError::new(ErrorKind::IsADirectory, "a directory, not a file"));
        }
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () => "a device",
    };
    Err(IoError::new(ErrorKind::InvalidInput, format!("{odd}, not a file")))
}

/// The lines of a table of comma-separated values, as read.
#[derive(Debug)]
pub(crate) struct Sheet {
    /// Path as the user gave it.
    pub given: String,
    text: String,
    /// Those that are not empty, number from 1 and where they are, and no more than one above what is taken.
    lines: Vec<(u32, Range<u32>)>,
}

impl Sheet {
    /// So many fields of a line are looked at: no table has as many columns.
    pub const MOST_FIELDS: usize = 12;

    /// Reads the file that a value names; `what` it is, for errors.
    pub fn read(
        node: &Node,
        files: &Files,
        what: &str,
        limit: &Limit,
    ) -> Result<(DataFile, Arc<Sheet>), Error> {
        files.once(node, || {
            let (file, bytes) = DataFile::read(node, files, what, limit.bytes)?;
            let sheet = Sheet::new(node, &file, bytes, what, limit)?;
            let bytes = sheet.text.capacity() + sheet.lines.capacity() * size_of::<(u32, Range<u32>)>();
            Ok((file, sheet, bytes))
        })
    }

    /// The table that a file holds.
    pub fn new(
        node: &Node,
        file: &DataFile,
        bytes: Vec<u8>,
        what: &str,
        limit: &Limit,
    ) -> Result<Sheet, Error> {
        if bytes.len() as u64 > limit.bytes {
            return Err(node.error(format!("larger than {} MB: not {what}", limit.bytes >> 20)));
        }
        let mut text = String::from_utf8(bytes).map_err(|_| node.error("not UTF-8 text"))?;
        if text.starts_with('\u{feff}') {
            text.drain(..'\u{feff}'.len_utf8());
        }
        let (mut at, mut lines) = (0, Vec::new());
        for (i, line) in text.split_inclusive('\n').enumerate() {
            if !line.trim().is_empty() {
                lines.push((i as u32 + 1, at..at + line.len() as u32));
            }
            // The first may name the columns.
            if lines.len() as u64 > limit.items.0 + 1 {
                break;
            }
            at += line.len() as u32;
        }
        Ok(Sheet { given: file.given.clone(), text, lines })
    }

    /// Its lines that are not empty: number from 1, and fields without the spaces around them.
    pub fn lines(&self) -> impl Iterator<Item = (usize, Vec<&str>)> {
        self.lines.iter().map(|(number, at)| {
            let line = &self.text[at.start as usize..at.end as usize];
            (*number as usize, line.split(',').map(str::trim).take(Sheet::MOST_FIELDS).collect())
        })
    }

    /// An error in a line; 0: in the file as a whole.
    pub fn error(&self, line: usize, found: Option<&str>, message: impl Into<String>) -> Error {
        let place = Place::File { name: self.given.clone(), line };
        let e = Error::new(place, "", message);
        match found {
            Some(text) => e.found(format!("\"{}\"", quote(&text.chars().take(100).collect::<String>()))),
            None => e,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsRawFd;

    #[test]
    fn a_given_pipe_is_read_to_its_end_and_no_further() {
        let pipe = || std::io::pipe().expect("a pipe");
        let at = |end: &std::io::PipeReader| {
            given_pipe(Path::new(&format!("/dev/fd/{}", end.as_raw_fd()))).expect("it is one")
        };
        let soon = Duration::ZERO;
        let (reader, mut writer) = pipe();
        writer.write_all(b"text").expect("there is room");
        let silent = read_pipe(&at(&reader), 10, soon).expect_err("it has no end yet");
        assert_eq!(silent.to_string(), "a pipe that has not ended within 0 s");
        writer.write_all(b"more text").expect("there is room");
        drop(writer);
        assert_eq!(read_pipe(&at(&reader), 10, Duration::MAX).expect("it ends"), b"more text");
        let (reader, mut writer) = pipe();
        writer.write_all(b"more text").expect("there is room");
        assert_eq!(
            read_pipe(&at(&reader), 8, Duration::MAX).expect_err("too long").kind(),
            ErrorKind::FileTooLarge
        );

        let file = File::open("/proc/self/status").expect("it is there");
        for other in
            [&format!("/dev/fd/{}", file.as_raw_fd()), "/dev/fd/x", "/dev/fd/../null", "/tmp/-", "/dev/zero"]
        {
            assert_eq!(given_pipe(Path::new(other)), None, "{other}");
        }
    }
}
