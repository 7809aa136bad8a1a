//! Where the lab lies: kernel, QEMU, tools.

use crate::{Error, Whose};
use std::path::{Path, PathBuf};
use std::process::Command;
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
    /// Whose queue managers run.
    pub(crate) whose: Whose,
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

impl Lab {
    /// The lab of `QUEUEWRIGHT_LAB`, or the `build/lab` nearest above the working folder or the program; with
    /// another kernel than its own if one is given: the folder of an unpacked kernel package, or packages (`.deb`) that
    /// have image and modules between them.
    ///
    /// # Errors
    /// [`Error::Missing`] with what is not there and what to do about it.
    pub fn open(kernel: &[PathBuf]) -> Result<Lab, Error> {
        let root = find().ok_or_else(|| Error::Missing(format!("the lab is not set up: {HOW}")))?;
        if !root.join("layout").exists() {
            return Err(Error::Missing(format!("{}: no lab here: {HOW}", root.display())));
        }
        let (dir, unpacked) = match kernel {
            [] => (root.join("kernel"), None),
            [one] if one.is_dir() => (one.clone(), None),
            packages => {
                let dir = unpack(packages)?;
                (dir.path().to_path_buf(), Some(Arc::new(dir)))
            }
        };
        let (kernel, modules) = kernel_of(&dir)?;
        for (part, what) in [
            ("agent", "the guest's program"),
            ("trace.bpf.o", "the trace programs"),
            ("queue.bpf.o", "the trace programs of a queue"),
            ("replay.bpf.o", "the replay's trace programs"),
            ("guest/usr/sbin/tc", "iproute2"),
            ("root/usr/bin/qemu-system-x86_64", "QEMU"),
        ] {
            let part = root.join(part);
            if !part.exists() {
                return Err(Error::Missing(format!("the lab lacks {what} ({}): {HOW}", part.display())));
            }
        }
        Ok(Lab {
            root,
            kernel,
            modules,
            whose: Whose::default(),
            program: None,
            native: false,
            _unpacked: unpacked,
        })
    }

    /// With the kernel's queue managers where it has them, or with ours.
    pub fn with_queue_managers(self, whose: Whose) -> Lab {
        Lab { whose, ..self }
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

    /// With the `queuewright` that is to attach ours inside the guest.
    pub fn with_program(self, program: PathBuf) -> Lab {
        Lab { program: Some(program), ..self }
    }
}

fn find() -> Option<PathBuf> {
    if let Some(given) = std::env::var_os(VARIABLE) {
        return Some(given.into());
    }
    let starts = [std::env::current_dir().ok(), std::env::current_exe().ok()];
    let above = starts.iter().flatten().flat_map(|p| p.ancestors());
    let mut labs = above.map(|p| p.join("build/lab"));
    labs.find(|lab| lab.join("layout").exists())
}

/// Packages in a folder that is gone with its owner.
fn unpack(packages: &[PathBuf]) -> Result<TempDir, Error> {
    let dir = tempfile::Builder::new().prefix("queuewright-kernel").tempdir();
    let dir = dir.map_err(|e| Error::Machine(format!("a temporary folder: {e}")))?;
    for package in packages {
        let wrong = |why: String| Error::Missing(format!("{}: not a kernel: {why}", package.display()));
        if !package.is_file() {
            return Err(wrong("neither a folder nor a package (.deb)".into()));
        }
        let done = Command::new("dpkg-deb").arg("-x").arg(package).arg(dir.path()).output();
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
