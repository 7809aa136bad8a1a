//! Where the lab lies: kernel, QEMU, tools.

use crate::{Error, QdiscOrigin};
use queuewright_linux::command;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
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

    /// A module that Debian's packages lack, compiled from the kernel's source.
    ///
    /// # Errors
    /// [`Error::Missing`] unless it is there, for this kernel.
    pub(crate) fn compiled(&self, name: &str) -> Result<Vec<u8>, Error> {
        let version = self.modules.file_name().unwrap_or_default();
        fs::read(self.root.join("compiled").join(version).join(format!("{name}.ko"))).map_err(|_| {
            let version = version.to_string_lossy();
            Error::Missing(format!(
                "Linux {version} has no {name}: 'scripts/setup module' in Queuewright's sources compiles it for the lab's own kernel"
            ))
        })
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

/// [`queuewright_linux::trusted`].
///
/// # Errors
/// [`Error::Missing`] with the first path that somebody else can change, and what to do about it.
pub fn trusted(path: &Path, instead: &str) -> Result<PathBuf, Error> {
    queuewright_linux::trusted(path, instead).map_err(Error::Missing)
}

/// [`queuewright_linux::scratch`].
pub(crate) fn scratch(prefix: &str) -> Result<TempDir, Error> {
    queuewright_linux::scratch(prefix).map_err(Error::Machine)
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
}
