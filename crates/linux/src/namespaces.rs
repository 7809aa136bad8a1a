//! The network namespaces of this machine: which of them are there still, and which has a device.

use crate::record::Record;
use crate::system;
use rustix::fs::OFlags;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Error, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// CAP_SYS_PTRACE of linux/capability.h.
const PTRACE: u32 = 19;

/// What setns(2) says of a namespace of another kind.
const NO_NETWORK: i32 = libc::EINVAL;

/// Device and inode of a namespace.
type Number = (u64, u64);

/// What was found out inside each namespace, with a way to it, and whether that is of all of them.
struct Seen<T> {
    inside: HashMap<Number, (PathBuf, T)>,
    /// Some are known of, or may be, into which this process may not or cannot go.
    unknown: bool,
}

impl<T: Send> Seen<T> {
    /// Asks once inside the namespace at a path, if it has not been.
    fn ask(&mut self, path: PathBuf, job: &(impl Fn() -> T + Sync)) {
        // A process that has ended keeps none, and namespaces are of other kinds, too.
        let none = |e: &Error| matches!(e.raw_os_error(), Some(libc::ENOENT | libc::ESRCH | NO_NETWORK));
        let asked = || -> Result<Option<(Number, T)>, Error> {
            let meta = fs::metadata(&path)?;
            if self.inside.contains_key(&(meta.dev(), meta.ino())) {
                return Ok(None);
            }
            // Without waiting for what is no namespace; open as long as it is asked, so that it is there.
            let flags = OFlags::NONBLOCK.bits() as i32;
            let file = OpenOptions::new().read(true).custom_flags(flags).open(&path)?;
            let meta = file.metadata()?;
            Ok(Some(((meta.dev(), meta.ino()), inside(&file, job)?)))
        };
        match asked() {
            Ok(None) => {}
            Ok(Some((key, found))) => drop(self.inside.insert(key, (path, found))),
            Err(e) if none(&e) => {}
            // Who may trace all others is refused by what has more rights than he: the machine's own, outside of a container.
            Err(e) if e.kind() == ErrorKind::PermissionDenied && system::capable(PTRACE) => {}
            Err(_) => self.unknown = true,
        }
    }
}

/// Does something in another namespace.
fn inside<T: Send>(file: &File, job: &(impl Fn() -> T + Sync)) -> Result<T, Error> {
    // A thread of its own is there, and nobody else.
    std::thread::scope(|s| {
        let there = std::thread::Builder::new().spawn_scoped(s, move || {
            move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?;
            Ok(job())
        })?;
        there.join().unwrap_or_else(|_| Err(Error::other("it panicked")))
    })
}

/// Goes into all namespaces that some process is in, has mounted or has open.
fn everywhere<T: Send>(job: impl Fn() -> T + Sync) -> Seen<T> {
    let mut seen = Seen { inside: HashMap::new(), unknown: false };
    // By the names that whoever asks knows, first.
    for place in mounted(Path::new("/proc/self")) {
        seen.ask(place.into(), &job);
    }
    let Ok(processes) = fs::read_dir("/proc") else {
        seen.unknown = true;
        return seen;
    };
    let files = fs::metadata("/proc/self/ns/net").ok().map(|meta| meta.dev());
    let entries = |path: PathBuf| fs::read_dir(path).into_iter().flatten().flatten().map(|e| e.path());
    for process in processes.flatten() {
        if process.file_name().to_string_lossy().parse::<u32>().is_err() {
            continue;
        }
        let process = process.path();
        for task in entries(process.join("task")) {
            seen.ask(task.join("ns/net"), &job);
        }
        for place in mounted(&process) {
            seen.ask(process.join("root").join(place.trim_start_matches('/')), &job);
        }
        // Of whatever kind; which, is seen by who goes in.
        let is_one = |file: &PathBuf| fs::metadata(file).is_ok_and(|meta| Some(meta.dev()) == files);
        for file in entries(process.join("fd")).filter(is_one) {
            seen.ask(file, &job);
        }
    }
    seen
}

/// Where namespaces are mounted, as a process sees it.
fn mounted(process: &Path) -> Vec<String> {
    let mounts = system::read(process.join("mountinfo")).unwrap_or_default();
    let of = |line: &str| {
        // Parent, place in the file system, where it is mounted; the kernel writes a space as \040.
        let words: Vec<&str> = line.split(' ').collect();
        words.get(3)?.starts_with("net:[").then(|| words.get(4).map(|place| place.replace("\\040", " ")))?
    };
    mounts.lines().filter_map(of).collect()
}

/// Cookies of all that are there; None: there are, or may be, some into which this process may not go.
pub(crate) fn living() -> Option<Vec<u64>> {
    let seen = everywhere(system::namespace);
    let all: Vec<u64> = seen.inside.into_values().map(|(_, cookie)| cookie).collect();
    // 0 is none's.
    (!seen.unknown && all.iter().all(|cookie| *cookie > 0)).then_some(all)
}

/// Where the device of a record is, if it is in another namespace.
pub(crate) fn of_device(record: &Record) -> Option<String> {
    let address = record.address.as_deref()?;
    let is_it = |(index, name, at): &system::Link| {
        (*index == record.index || name == record.dev.as_str()) && at == address
    };
    let has = || system::links().iter().any(is_it);
    let here = system::namespace();
    let there = everywhere(|| system::namespace() != here && has());
    there.inside.into_values().find(|(_, has)| *has).map(|(way, _)| way.display().to_string())
}
