//! Folders that are root's alone, held open: nobody else can have them be something else from one step to the next.

use crate::{Error, system};
use rustix::fs::{self, AtFlags, CWD, FileType, Mode, OFlags, RawDir, Stat};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// No file of ours is longer, bytes.
const LONGEST: u64 = 16 << 20;
/// A file before it is whole; the next that is written takes its place.
pub(crate) const UNFINISHED: &str = "unfinished";
/// The file that is locked while something is changed. Nobody removes it: who waits for it would wait for another.
pub(crate) const LOCK: &str = "lock";

/// An open folder that nobody but root, or whom this process runs as, can have made or changed.
pub(crate) struct Folder {
    fd: OwnedFd,
    path: PathBuf,
}

impl Folder {
    /// Opens one, no link followed on the way; None: it is not there.
    ///
    /// # Errors
    /// If a folder on the way could be swapped by somebody else, or it is not ours alone.
    pub fn open(path: &Path) -> Result<Option<Folder>, Error> {
        match Self::to(path, false) {
            Ok(folder) => folder.mine().map(Some),
            Err((_, Errno::NOENT)) => Ok(None),
            Err((at, e)) => Err(why_not(&at, e)),
        }
    }

    /// The same, made if it is not there. The one above it has to be.
    pub fn make(path: &Path) -> Result<Folder, Error> {
        Self::to(path, true).map_err(|(at, e)| why_not(&at, e))?.mine()
    }

    /// One inside this one, made if it is not there.
    pub fn make_inside(&self, name: &str) -> Result<Folder, Error> {
        Self::make(&self.path.join(name))
    }

    fn to(path: &Path, make: bool) -> Result<Folder, (PathBuf, Errno)> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
        let root = Path::new("/");
        let mut here = Folder {
            fd: fs::openat(CWD, root, flags, Mode::empty()).map_err(|e| (root.into(), e))?,
            path: root.into(),
        };
        let names: Vec<&OsStr> = path
            .components()
            .filter_map(|c| match c {
                Component::Normal(name) => Some(name),
                _ => None,
            })
            .collect();
        for (i, name) in names.iter().enumerate() {
            let below = here.path.join(name);
            // Others may enter those above ours, and not exchange what is in them: looked at before anything is made there.
            if others_may_swap(&fs::fstat(&here.fd).map_err(|e| (here.path.clone(), e))?) {
                return Err((here.path, Errno::PERM));
            }
            if make && i + 1 == names.len() {
                match fs::mkdirat(&here.fd, *name, Mode::RWXU) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(e) => return Err((below, e)),
                }
            }
            let fd = fs::openat(&here.fd, *name, flags, Mode::empty()).map_err(|e| (below.clone(), e))?;
            here = Folder { fd, path: below };
        }
        Ok(here)
    }

    /// Refuses what somebody else has made; what is ours is closed to others.
    fn mine(self) -> Result<Folder, Error> {
        let wrong = |e: Errno| Error::System(format!("{}: {e}", self.path.display()));
        let stat = fs::fstat(&self.fd).map_err(wrong)?;
        if !is_trusted(&stat) {
            return Err(Error::System(format!(
                "{0} belongs to user {1}, who could change what is in it: look what it is, remove it (rm -r {0}) and try again",
                self.path.display(),
                stat.st_uid
            )));
        }
        if stat.st_mode & 0o077 != 0 {
            // Who may but read leaves it to the others, unless somebody could write to it.
            let closed = fs::fchmod(&self.fd, Mode::RWXU);
            if stat.st_mode & 0o022 != 0 {
                closed.map_err(wrong)?;
            }
        }
        Ok(self)
    }

    pub fn into_file(self) -> File {
        self.fd.into()
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Does it lie in a file system of this kind (the number in statfs(2))?
    pub fn is_in(&self, kind: u64) -> bool {
        fs::fstatfs(&self.fd).is_ok_and(|s| s.f_type as u64 == kind)
    }

    /// Names of what is in it, whatever bytes they have, in order.
    pub fn names(&self) -> Result<Vec<OsString>, Error> {
        let wrong = |e: Errno| Error::System(format!("{}: {e}", self.path.display()));
        // An own place to read from.
        let fd =
            fs::openat(&self.fd, ".", OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).map_err(wrong)?;
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut entries = RawDir::new(fd, &mut buffer);
        let mut names = Vec::new();
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(wrong)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                names.push(name.into());
            }
        }
        names.sort();
        Ok(names)
    }

    /// A plain file of ours; what is wrong with it, if it is none.
    pub fn read(&self, name: &OsStr) -> Result<Vec<u8>, String> {
        // What is no plain file may be one that never ends, or waits.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = fs::openat(&self.fd, name, flags, Mode::empty()).map_err(|e| match e {
            Errno::LOOP => "a link".into(),
            e => e.to_string(),
        })?;
        let stat = fs::fstat(&fd).map_err(|e| e.to_string())?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err("no plain file".into());
        }
        if !is_trusted(&stat) {
            return Err(format!("of user {}", stat.st_uid));
        }
        let mut bytes = Vec::new();
        File::from(fd).take(LONGEST).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
        Ok(bytes)
    }

    /// Writes a file, whole or not at all whenever it is read. Only one process at a time may.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let written = || -> std::io::Result<()> {
            let _ = fs::unlinkat(&self.fd, UNFINISHED, AtFlags::empty());
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let fd = fs::openat(&self.fd, UNFINISHED, flags, Mode::RUSR | Mode::WUSR)?;
            File::from(fd).write_all(bytes)?;
            Ok(fs::renameat(&self.fd, UNFINISHED, &self.fd, name)?)
        };
        written().map_err(|e| Error::System(format!("{}: {e}", self.path.join(name).display())))
    }

    /// Opens the file that is locked by who changes something: nobody else can ever have had it open. None: it is not there, and
    /// not to be made.
    ///
    /// # Errors
    /// If it is something else, of somebody else or was open to others.
    pub fn lock(&self, make: bool) -> Result<Option<File>, Error> {
        let shown = self.path.join(LOCK).display().to_string();
        let refused = || {
            Error::System(format!(
                "{shown} is no file that is root's alone (mode 0600), so that others may hold it: look what it is, remove it (rm {shown}) and try again"
            ))
        };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let flags = if make { flags | OFlags::CREATE } else { flags };
        let fd = match fs::openat(&self.fd, LOCK, flags, Mode::RUSR | Mode::WUSR) {
            Err(Errno::NOENT) if !make => return Ok(None),
            Err(Errno::LOOP | Errno::ISDIR) => return Err(refused()),
            other => other.map_err(|e| Error::System(format!("{shown}: {e}")))?,
        };
        let stat = fs::fstat(&fd).map_err(|e| Error::System(format!("{shown}: {e}")))?;
        let plain = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        match plain && is_trusted(&stat) && stat.st_mode & 0o077 == 0 {
            true => Ok(Some(File::from(fd))),
            false => Err(refused()),
        }
    }

    /// Removes a file, or the link of that name and not what it names. Is it gone?
    pub fn remove(&self, name: impl AsRef<OsStr>) -> bool {
        matches!(fs::unlinkat(&self.fd, name.as_ref(), AtFlags::empty()), Ok(()) | Err(Errno::NOENT))
    }

    /// Removes an empty folder. Is it gone?
    pub fn remove_folder(&self, name: impl AsRef<OsStr>) -> bool {
        matches!(fs::unlinkat(&self.fd, name.as_ref(), AtFlags::REMOVEDIR), Ok(()) | Err(Errno::NOENT))
    }
}

/// Root's, or of whom this process runs as.
fn is_trusted(stat: &Stat) -> bool {
    stat.st_uid == 0 || stat.st_uid == geteuid().as_raw()
}

/// Can somebody else rename or remove what others have in a folder? Not where only its owner writes, nor below the
/// sticky bit.
fn others_may_swap(stat: &Stat) -> bool {
    !is_trusted(stat) || stat.st_mode & 0o022 != 0 && stat.st_mode & 0o1000 == 0
}

fn why_not(path: &Path, e: Errno) -> Error {
    let shown = path.display();
    Error::System(match e {
        Errno::LOOP | Errno::NOTDIR => format!(
            "{shown} is a link or a file, and has to be a folder of root's: look what it is, remove it (rm {shown}) and try again"
        ),
        Errno::PERM => format!(
            "{shown} can be changed by others than root, so that nothing below it is safe: chown root:root {shown}; chmod go-w {shown}"
        ),
        Errno::ACCESS => {
            format!("{shown} is for root alone: run it with {}", system::with_sudo())
        }
        e => format!("{shown}: {e}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// A folder below which all is as if it was root's: below /tmp nobody else may swap what is ours.
    fn place() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().canonicalize().expect("it is there");
        (dir, path)
    }

    fn refused(done: Result<Folder, Error>, what: &str) {
        let Err(Error::System(said)) = done else { panic!("{what:?} was to be said") };
        assert!(said.contains(what) && !said.contains("os error"), "{said}");
    }

    #[test]
    fn links_and_files_are_no_folders() {
        let (_keep, at) = place();
        std::fs::create_dir(at.join("target")).expect("made");
        symlink("target", at.join("link")).expect("made");
        std::fs::write(at.join("file"), "").expect("made");
        for name in ["link", "file", "link/below", "file/below"] {
            refused(Folder::make(&at.join(name)), "is a link or a file");
        }
        assert!(Folder::open(&at.join("none")).expect("no fault").is_none());
        assert!(std::fs::read_dir(at.join("target")).expect("there").next().is_none(), "a link was followed");
    }

    #[test]
    fn a_folder_that_others_may_swap_is_refused_and_ours_is_closed() {
        let (_keep, at) = place();
        let mode = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("ours");
        };
        std::fs::create_dir(at.join("open")).expect("made");
        mode(&at.join("open"), 0o777);
        refused(Folder::make(&at.join("open/below")), "can be changed by others");
        assert!(!at.join("open/below").exists(), "it was made first");
        // As `mount -t bpf` makes it.
        mode(&at.join("open"), 0o1777);
        let ours = Folder::make(&at.join("open/below")).expect("nobody can swap it");
        mode(ours.path(), 0o755);
        Folder::open(ours.path()).expect("no fault").expect("there");
        let now = std::fs::metadata(ours.path()).expect("there").permissions().mode();
        assert_eq!(now & 0o7777, 0o700);
    }

    #[test]
    fn files_are_whole_and_plain() {
        let (_keep, at) = place();
        let folder = Folder::make(&at.join("f")).expect("made");
        // What a kill has left, and what somebody has put in its place.
        symlink(at.join("victim"), folder.path().join(UNFINISHED)).expect("made");
        std::fs::write(at.join("victim"), "precious").expect("made");
        folder.write("a", b"text").expect("written");
        assert_eq!(folder.read("a".as_ref()).expect("it is there"), b"text");
        assert_eq!(std::fs::read(at.join("victim")).expect("it is there"), b"precious");
        symlink(at.join("victim"), folder.path().join("l")).expect("made");
        assert_eq!(folder.read("l".as_ref()).expect_err("a link"), "a link");
        rustix::fs::mkfifoat(&folder.fd, "fifo", Mode::RUSR).expect("made");
        assert_eq!(folder.read("fifo".as_ref()).expect_err("it would wait"), "no plain file");
        assert!(folder.remove("l") && folder.remove("none") && at.join("victim").exists());
        assert_eq!(folder.names().expect("readable"), ["a", "fifo"]);
        assert!(!folder.remove_folder("a") && folder.remove("a") && folder.remove("fifo"));
    }

    #[test]
    fn names_are_bytes() {
        let (_keep, at) = place();
        let folder = Folder::make(&at.join("f")).expect("made");
        let names = [OsStr::from_bytes(b"a\xff"), OsStr::new("a\u{fffd}")];
        for name in names {
            std::fs::write(folder.path().join(name), "").expect("made");
        }
        let mut found = folder.names().expect("readable");
        found.sort_by_key(|name| name.len());
        assert_eq!(found, names);
        assert!(folder.remove(names[0]));
        assert_eq!(folder.names().expect("readable"), names[1..]);
    }

    #[test]
    fn the_lock_is_a_file_that_nobody_else_can_have_open() {
        let (_keep, at) = place();
        let folder = Folder::make(&at.join("f")).expect("made");
        let lock = folder.path().join(LOCK);
        assert!(folder.lock(false).expect("no fault").is_none());
        assert!(
            folder.lock(true).expect("no fault").is_some() && folder.lock(false).is_ok_and(|l| l.is_some())
        );
        assert_eq!(std::fs::metadata(&lock).expect("there").permissions().mode() & 0o7777, 0o600);
        std::fs::set_permissions(&lock, std::fs::Permissions::from_mode(0o604)).expect("ours");
        let refused = |what: &str| {
            let said = folder.lock(true).expect_err(what).to_string();
            assert!(said.contains(&format!("rm {}", lock.display())), "{what}: {said}");
        };
        refused("open to others");
        std::fs::remove_file(&lock).expect("ours");
        symlink(at.join("victim"), &lock).expect("made");
        refused("a link");
        assert!(!at.join("victim").exists());
        std::fs::remove_file(&lock).expect("ours");
        std::fs::create_dir(&lock).expect("made");
        refused("a folder");
    }

    #[test]
    fn the_root_is_a_folder_as_well() {
        if !geteuid().is_root() {
            return queuewright_testing::left_out(
                "a root that others may change",
                queuewright_testing::Lack::Setup,
                &"it needs root",
            );
        }
        let (_keep, at) = place();
        std::fs::set_permissions(&at, std::fs::Permissions::from_mode(0o777)).expect("ours");
        // Another root for one thread alone, which ends with it.
        let there = std::thread::spawn(move || {
            // SAFETY: a flag.
            assert_eq!(unsafe { libc::unshare(libc::CLONE_FS) }, 0);
            std::os::unix::fs::chroot(&at).expect("root may");
            refused(Folder::make(Path::new("/below")), "/ can be changed by others");
            assert!(!Path::new("/below").exists(), "it was made first");
        });
        there.join().expect("refused");
    }

    #[test]
    fn a_folder_of_somebody_else_is_refused() {
        if !geteuid().is_root() {
            return queuewright_testing::left_out(
                "a folder of somebody else's",
                queuewright_testing::Lack::Setup,
                &"it needs root",
            );
        }
        let (_keep, at) = place();
        std::fs::create_dir(at.join("theirs")).expect("made");
        std::os::unix::fs::chown(at.join("theirs"), Some(65534), None).expect("root may");
        refused(Folder::make(&at.join("theirs")), "belongs to user 65534");
        refused(Folder::make(&at.join("theirs/below")), "can be changed by others");
        let folder = Folder::make(&at.join("f")).expect("made");
        folder.write("a", b"text").expect("written");
        std::os::unix::fs::chown(folder.path().join("a"), Some(65534), None).expect("root may");
        assert_eq!(folder.read("a".as_ref()).expect_err("theirs"), "of user 65534");
    }
}
