//! Where what was compiled is kept: a folder of the user's that nobody else can write to, or none.

use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes of a SHA-256; more than an object has.
const SUM: usize = 32;
const MOST: u64 = 1 << 30;

/// A folder of this user's, held open, so that what was looked at is what is used.
#[derive(Debug)]
pub struct Folder(File);

/// Is it this user's, and can nobody else write to it?
fn is_mine(meta: &Metadata) -> bool {
    // SAFETY: it only asks.
    meta.uid() == unsafe { libc::geteuid() } && meta.mode() & 0o022 == 0
}

impl Folder {
    /// `$XDG_CACHE_HOME/queuewright/NAME`, or below `~/.cache`; none where there is no such place, or where it is another's.
    pub fn open(name: &str) -> Option<Folder> {
        let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
        let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))?;
        let path = base.join("queuewright").join(name);
        // Root with the home of another makes nothing there that the other could not use.
        let there = base.ancestors().find_map(|folder| std::fs::metadata(folder).ok())?;
        // SAFETY: it only asks.
        if there.uid() == unsafe { libc::geteuid() } && !path.is_dir() {
            DirBuilder::new().recursive(true).mode(0o700).create(&path).ok()?;
        }
        let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
        let folder = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
        let mine = folder.metadata().is_ok_and(|meta| is_mine(&meta) && meta.mode() & 0o077 == 0);
        mine.then_some(Folder(folder))
    }

    /// Of what is in it.
    pub fn at(&self, name: impl AsRef<Path>) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.0.as_raw_fd())).join(name)
    }

    /// A file in it that is this user's, and nobody else may write to; none: there is none, or it has more than `most` bytes.
    pub fn read(&self, name: impl AsRef<Path>, most: u64) -> Option<Vec<u8>> {
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let mut file = OpenOptions::new().read(true).custom_flags(flags).open(self.at(name)).ok()?;
        let meta = file.metadata().ok()?;
        if !meta.is_file() || !is_mine(&meta) || meta.len() > most {
            return None;
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// Writes a file, whole or not at all.
    ///
    /// # Errors
    /// Those of the system; then nothing is left of it.
    pub fn write(&self, bytes: &[u8], name: &str) -> io::Result<()> {
        self.put(bytes, name, |_| Ok(()))
    }

    /// The same; `then` is done with it before it has its name.
    fn put(&self, bytes: &[u8], name: &str, then: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
        let part = self.at(unique(name));
        let mut to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part)?;
        let written = to.write_all(bytes).and_then(|()| then(&to));
        let named = written.and_then(|()| std::fs::rename(&part, self.at(name)));
        named.inspect_err(|_| drop(std::fs::remove_file(&part)))
    }

    /// What is kept by this name, as it was kept and this user's.
    pub fn kept(&self, name: &str) -> Option<PathBuf> {
        let bytes = self.read(name, MOST)?;
        let (object, sum) = bytes.split_at_checked(bytes.len().checked_sub(SUM)?)?;
        (*Sha256::digest(object) == *sum).then(|| self.at(name))
    }

    /// Keeps an object by this name, whole or not at all, with its SHA-256 behind it; where it is kept.
    pub fn keep(&self, object: &[u8], name: &str) -> Option<PathBuf> {
        let whole = [object, &Sha256::digest(object)].concat();
        self.put(&whole, name, File::sync_all).ok()?;
        Some(self.at(name))
    }
}

/// A name that nobody else gives.
fn unique(stem: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!(".{stem}.{}.{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A folder to compile in, gone with all that is in it when this is dropped.
pub(crate) struct Work(PathBuf);

impl Work {
    /// Where temporary files are.
    pub fn new() -> Result<Work, String> {
        Work::made().map_err(|e| {
            format!("no folder to compile it in can be made in {}: {e}", std::env::temp_dir().display())
        })
    }

    fn made() -> io::Result<Work> {
        let template = std::env::temp_dir().join("queuewright-own-XXXXXX");
        let mut bytes: Vec<u8> = std::os::unix::ffi::OsStringExt::into_vec(OsString::from(template));
        bytes.push(0);
        // SAFETY: a C string that may be written to.
        if unsafe { libc::mkdtemp(bytes.as_mut_ptr().cast()) }.is_null() {
            return Err(io::Error::last_os_error());
        }
        bytes.pop();
        let path = PathBuf::from(<OsString as std::os::unix::ffi::OsStringExt>::from_vec(bytes));
        std::fs::set_permissions(&path, Permissions::from_mode(0o700))?;
        Ok(Work(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
