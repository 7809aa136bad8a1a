//! Where the lab lies: kernel, QEMU, tools.

use crate::{Error, QdiscOrigin};
use queuewright_linux::command;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// A lab that is there: see `scripts/setup lab`.
#[derive(Debug, Clone)]
pub struct Lab {
    /// `build/lab`.
    pub(crate) root: PathBuf,
    /// The kernel's image.
    pub(crate) kernel: PathBuf,
    /// The folder of its modules, `usr/lib/modules/VERSION`.
    pub(crate) modules: PathBuf,
    /// Where the disciplines that run come from.
    pub(crate) origin: QdiscOrigin,
    /// The program that has the command `attach`.
    pub(crate) program: Option<PathBuf>,
    /// No virtual machine: this one.
    pub(crate) native: bool,
    /// Where packages are unpacked, as long as the lab is used.
    _unpacked: Option<Arc<TempDir>>,
}

/// Where to look instead of `build/lab`.
const VARIABLE: &str = "QUEUEWRIGHT_LAB";
const HOW: &str = "run 'scripts/setup lab' in Queuewright's sources, or set QUEUEWRIGHT_LAB to its build/lab";

/// The guest's programs, as this program speaks with them.
const SOURCES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sources"));

impl Lab {
    /// The lab of `QUEUEWRIGHT_LAB`, or the `build/lab` nearest above the program's own file (of Python's package: above the
    /// package's). The working folder has no say: root may stand in anybody's. All of it is [`trusted`]. With another kernel
    /// than its own if one is given: the folder of an unpacked kernel package, or packages (`.deb`) that have image and modules
    /// between them.
    ///
    /// # Errors
    /// [`Error::Missing`] with what is not there and what to do about it.
    pub fn open(kernel: &[PathBuf]) -> Result<Lab, Error> {
        let root = find().ok_or_else(|| Error::Missing(format!("the lab is not set up: {HOW}")))?;
        if !root.join("layout").exists() {
            return Err(Error::Missing(format!("{}: no lab here: {HOW}", root.display())));
        }
        let root = trusted(&root, "set QUEUEWRIGHT_LAB to another lab")?;
        let (dir, unpacked) = match kernel {
            [] => (root.join("kernel"), None),
            [one] if one.is_dir() => (trusted(one, "name another kernel")?, None),
            packages => {
                let dir = unpack(packages)?;
                (dir.path().to_path_buf(), Some(Arc::new(dir)))
            }
        };
        let (mut image, modules) = kernel_of(&dir)?;
        // The lab's own, unpacked.
        let own = root.join("vmlinux");
        if kernel.is_empty() && own.exists() {
            image = own;
        }
        for (part, what) in [
            ("agent", "the guest's program"),
            ("trace.bpf.o", "the trace programs"),
            ("queue.bpf.o", "the trace programs of a queue"),
            ("replay.bpf.o", "the replay's trace programs"),
            ("ect1.bpf.o", "the program that sets ECT(1)"),
            ("guest/usr/sbin/tc", "iproute2"),
            ("root/usr/bin/qemu-system-x86_64", "QEMU"),
        ] {
            let part = root.join(part);
            if !part.exists() {
                return Err(Error::Missing(format!("the lab lacks {what} ({}): {HOW}", part.display())));
            }
        }
        known(&root)?;
        Ok(Lab {
            root,
            kernel: image,
            modules,
            origin: QdiscOrigin::default(),
            program: None,
            native: false,
            _unpacked: unpacked,
        })
    }

    /// With the kernel's disciplines where it has them, or with ours.
    pub fn with_disciplines(self, origin: QdiscOrigin) -> Lab {
        Lab { origin, ..self }
    }

    /// On this machine's own kernel, in real time and in namespaces of their own, instead of in a virtual machine.
    ///
    /// # Errors
    /// [`Error::Missing`] unless root asks.
    pub fn native(self) -> Result<Lab, Error> {
        // CAP_SYS_ADMIN, CAP_NET_ADMIN, CAP_SYS_CHROOT.
        if [21, 12, 18].into_iter().any(|number| !queuewright_linux::capable(number)) {
            return Err(Error::Missing(format!(
                "it makes network namespaces on this machine, which root alone may: run it with {}",
                queuewright_linux::with_sudo()
            )));
        }
        Ok(Lab { native: true, ..self })
    }

    /// Is it this machine, where runs beside one another would disturb each other?
    pub fn is_native(&self) -> bool {
        self.native
    }

    /// Its folder, `build/lab`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The kernel's version, 100 * major + minor.
    pub(crate) fn linux(&self) -> u32 {
        let release = match self.native {
            true => rustix::system::uname().release().to_string_lossy().into_owned(),
            false => self.modules.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        };
        let mut numbers = release.split(['.', '-', '+']).map(|n| n.parse().unwrap_or(0u32));
        numbers.next().unwrap_or(0) * 100 + numbers.next().unwrap_or(0).min(99)
    }

    /// With the `queuewright` that is to attach ours inside the guest.
    pub fn with_program(self, program: PathBuf) -> Lab {
        Lab { program: Some(program), ..self }
    }
}

/// Has this lab the guest's programs that this program speaks with?
fn known(root: &Path) -> Result<(), Error> {
    if fs::read(root.join("sources")).is_ok_and(|sources| sources == SOURCES) {
        return Ok(());
    }
    Err(Error::Missing(format!(
        "the lab's programs are of another version than this one ({}): {HOW}",
        root.display()
    )))
}

fn find() -> Option<PathBuf> {
    if let Some(given) = std::env::var_os(VARIABLE) {
        return Some(given.into());
    }
    own_file()?.ancestors().map(|p| p.join("build/lab")).find(|lab| lab.join("layout").exists())
}

/// The file that this code was loaded from: the program, or the library of Python's package, whose program is the interpreter.
fn own_file() -> Option<PathBuf> {
    let here = own_file as fn() -> Option<PathBuf> as usize;
    // Lines of "from-to perms offset device inode  path", proc(5); a path may have any bytes.
    let mapped = fs::read("/proc/self/maps").unwrap_or_default();
    let holds = |line: &&[u8]| {
        let range = std::str::from_utf8(line.split(|b| *b == b' ').next()?).ok()?;
        let (from, to) = range.split_once('-')?;
        let (from, to) = (usize::from_str_radix(from, 16).ok()?, usize::from_str_radix(to, 16).ok()?);
        (from..to).contains(&here).then_some(())
    };
    let line = mapped.split(|b| *b == b'\n').find(|line| holds(line).is_some());
    let path = line.and_then(|line| line.get(line.iter().position(|b| *b == b'/')?..));
    let path = path.map(|path| PathBuf::from(OsStr::from_bytes(path)));
    // One with a newline is escaped there.
    path.filter(|p| p.exists()).or_else(|| std::env::current_exe().ok())
}

/// Can nobody but root and the caller change what is run from here? The path, the folders above it, and all that is below
/// it belong to one of the two, and no one else may write to them. (A folder for all such as /tmp may stand above, where
/// only an owner may rename. Of `sudo` the caller is who called it. A group of the owner's own number is the
/// owner's alone, as pam_umask(8) has it.) Gives the path without links, which is what was looked at: the one that was asked for
/// may be another by now. `instead` is what else can be done.
///
/// # Errors
/// [`Error::Missing`] with the first path that somebody else can change, and what to do about it.
pub fn trusted(path: &Path, instead: &str) -> Result<PathBuf, Error> {
    let real = fs::canonicalize(path).map_err(|e| unread(path, &e))?;
    Trust::new(instead).all(&real)?;
    Ok(real)
}

fn unread(path: &Path, e: &std::io::Error) -> Error {
    Error::Missing(format!("{}: {e}", path.display()))
}

struct Trust<'a> {
    owners: [u32; 3],
    instead: &'a str,
    /// Folders that were looked at.
    seen: HashSet<PathBuf>,
}

impl<'a> Trust<'a> {
    fn new(instead: &'a str) -> Trust<'a> {
        let me = rustix::process::geteuid().as_raw();
        let sudo = std::env::var("SUDO_UID").ok().and_then(|uid| uid.parse().ok()).filter(|_| me == 0);
        Trust { owners: [0, me, sudo.unwrap_or(me)], instead, seen: HashSet::new() }
    }

    /// A real path with what is above it, and below.
    fn all(&mut self, real: &Path) -> Result<(), Error> {
        self.way(real)?;
        match real.is_dir() {
            true => self.below(real),
            false => Ok(()),
        }
    }

    /// A real path, and each folder above it.
    fn way(&self, path: &Path) -> Result<(), Error> {
        path.ancestors().enumerate().try_for_each(|(up, p)| {
            let meta = fs::symlink_metadata(p).map_err(|e| unread(p, &e))?;
            self.one(p, &meta, up > 0)
        })
    }

    fn below(&mut self, path: &Path) -> Result<(), Error> {
        if !self.seen.insert(path.into()) {
            return Ok(());
        }
        for entry in fs::read_dir(path).map_err(|e| unread(path, &e))? {
            let path = entry.map_err(|e| unread(path, &e))?.path();
            let meta = fs::symlink_metadata(&path).map_err(|e| unread(&path, &e))?;
            if !meta.is_symlink() {
                self.one(&path, &meta, false)?;
                if meta.is_dir() {
                    self.below(&path)?;
                }
                continue;
            }
            // A link that leads nowhere has nothing to run.
            if let Ok(real) = fs::canonicalize(&path) {
                self.all(&real)?;
            }
        }
        Ok(())
    }

    fn one(&self, path: &Path, meta: &fs::Metadata, above: bool) -> Result<(), Error> {
        let (path, mode) = (path.display(), meta.mode() & 0o7777);
        let instead = self.instead;
        if !self.owners.contains(&meta.uid()) {
            let owner = format!("it belongs to user {}, neither to root nor to you", meta.uid());
            return Err(Error::Missing(format!(
                "{path}: {owner}, and what is run could be anything: 'chown -R {} {path}' if you know what is in it, or {instead}",
                self.owners[1]
            )));
        }
        let group = mode & 0o020 != 0 && meta.gid() != meta.uid();
        if (group || mode & 0o002 != 0) && !(above && mode & 0o1000 != 0) {
            return Err(Error::Missing(format!(
                "{path}: others than its owner may write here (mode {mode:04o}), and what is run could be anything: \
                 'chmod go-w {path}' if you know what is in it, or {instead}"
            )));
        }
        Ok(())
    }
}

/// A folder of this process's own where temporary ones are made, if nobody else can put another in its place: the environment, which is
/// others' choice, says where that is.
///
/// # Errors
/// [`Error::Missing`] with what others can change, [`Error::Machine`] if none can be made.
pub(crate) fn scratch(prefix: &str) -> Result<TempDir, Error> {
    scratch_in(&std::env::temp_dir(), prefix)
}

fn scratch_in(temporary: &Path, prefix: &str) -> Result<TempDir, Error> {
    let wrong =
        |e: std::io::Error| Error::Machine(format!("a temporary folder in {}: {e}", temporary.display()));
    let real = fs::canonicalize(temporary).map_err(wrong)?;
    let private = fs::Permissions::from_mode(0o700);
    let dir =
        tempfile::Builder::new().prefix(prefix).permissions(private).tempdir_in(&real).map_err(wrong)?;
    // From that one on, which is ours: /tmp, where everybody may write, is above it.
    Trust::new("set TMPDIR to another folder").way(dir.path())?;
    Ok(dir)
}

/// Packages in a folder that is gone with its owner.
fn unpack(packages: &[PathBuf]) -> Result<TempDir, Error> {
    let dir = scratch("queuewright-kernel")?;
    for package in packages {
        let wrong = |why: String| Error::Missing(format!("{}: not a kernel: {why}", package.display()));
        if !package.is_file() {
            return Err(wrong("neither a folder nor a package (.deb)".into()));
        }
        let package = trusted(package, "name another kernel")?;
        let done = command("dpkg-deb").arg("-x").arg(&package).arg(dir.path()).output();
        let done = done.map_err(|e| wrong(format!("dpkg-deb: {e}")))?;
        if !done.status.success() {
            return Err(wrong(String::from_utf8_lossy(&done.stderr).trim().to_string()));
        }
    }
    Ok(dir)
}

/// Image and modules of an unpacked kernel package.
fn kernel_of(dir: &Path) -> Result<(PathBuf, PathBuf), Error> {
    let missing = |what: &str| Error::Missing(format!("{}: no {what} of a kernel here", dir.display()));
    let named = ["usr/lib/modules", "lib/modules", ""].map(|below| dir.join(below));
    let versions = |at: &PathBuf| {
        let entries = std::fs::read_dir(at).into_iter().flatten().flatten();
        let mut found: Vec<PathBuf> =
            entries.map(|e| e.path()).filter(|p| p.join("kernel").is_dir()).collect();
        found.sort();
        found.pop()
    };
    let modules = named.iter().find_map(versions).ok_or_else(|| missing("modules"))?;
    let version = modules.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let images = [modules.join("vmlinuz"), dir.join(format!("boot/vmlinuz-{version}")), dir.join("vmlinuz")];
    let image = images.into_iter().find(|p| p.exists()).ok_or_else(|| missing("image (vmlinuz)"))?;
    Ok((image, modules))
}

#[cfg(test)]
mod tests {
    use super::*;
    use queuewright_testing::{Lack, left_out};
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    fn may(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn programs_of_other_sources_are_refused() {
        let lab = TempDir::new().unwrap();
        let sources = lab.path().join("sources");
        let said = || known(lab.path()).expect_err("another version").to_string();
        assert!(said().contains("scripts/setup lab"));
        let setup = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/setup");
        assert!(fs::read_to_string(setup).unwrap().contains(" | lab | "), "it has no such goal");
        fs::write(&sources, SOURCES).unwrap();
        known(lab.path()).unwrap();
        fs::write(&sources, &SOURCES[1..]).unwrap();
        assert!(said().contains("another version"));
    }

    #[test]
    fn temporary_files_are_not_where_others_may_put_theirs() {
        let dir = tempfile::tempdir().unwrap();
        let inside = dir.path().join("tmp");
        fs::create_dir(&inside).unwrap();
        scratch_in(&inside, "ours").unwrap();
        // As /tmp is.
        may(&inside, 0o1777);
        scratch_in(&inside, "ours").unwrap();
        may(&inside, 0o777);
        let said = scratch_in(&inside, "ours").expect_err("anybody may rename it").to_string();
        assert!(said.contains("others than its owner may write here") && said.contains("TMPDIR"), "{said}");
        may(&inside, 0o755);
        if rustix::process::geteuid().is_root() {
            chown(&inside, Some(65534), None).unwrap();
            let said = scratch_in(&inside, "ours").expect_err("its owner may").to_string();
            assert!(said.contains("it belongs to user 65534") && said.contains("TMPDIR"), "{said}");
        }
        assert_eq!(fs::read_dir(&inside).unwrap().count(), 0, "what is refused is gone again");
    }

    fn refused(path: &Path, by: &str) {
        let said = trusted(path, "set QUEUEWRIGHT_LAB").expect_err(by).to_string();
        assert!(said.contains(by) && said.contains("QUEUEWRIGHT_LAB"), "{said}");
    }

    #[test]
    fn what_others_can_change_is_not_run() {
        let dir = tempfile::tempdir().unwrap();
        let lab = dir.path().join("build/lab");
        fs::create_dir_all(lab.join("root/bin")).unwrap();
        let elsewhere = dir.path().join("elsewhere");
        for file in [lab.join("agent"), lab.join("root/bin/qemu"), elsewhere.clone()] {
            fs::write(&file, "").unwrap();
            may(&file, 0o755);
        }
        symlink(&elsewhere, lab.join("tc")).unwrap();
        symlink("nowhere", lab.join("gone")).unwrap();
        trusted(&lab, "").unwrap();
        let all = [
            lab.join("agent"),
            lab.join("root/bin"),
            lab.join("root/bin/qemu"),
            lab.clone(),
            dir.path().join("build"),
            elsewhere,
        ];
        for path in &all {
            let real = fs::canonicalize(path).unwrap().display().to_string();
            may(path, 0o757);
            refused(&lab, &format!("{real}: others than its owner may write here (mode 0757)"));
            may(path, 0o755);
        }
        // As /tmp is; the folders of the lab itself are for nobody else.
        may(&dir.path().join("build"), 0o1777);
        trusted(&lab, "").unwrap();
        may(&lab, 0o1777);
        refused(&lab, "(mode 1777)");
        may(&lab, 0o755);
        if rustix::process::geteuid().is_root() {
            for path in &all {
                chown(path, Some(4711), None).unwrap();
                refused(&lab, "it belongs to user 4711, neither to root nor to you");
                chown(path, Some(0), None).unwrap();
            }
            chown(&all[0], None, Some(4711)).unwrap();
            may(&all[0], 0o775);
            refused(&lab, "(mode 0775)");
        } else {
            left_out("a lab of a stranger's", Lack::Setup, &"only root can give files away");
        }
    }
}
