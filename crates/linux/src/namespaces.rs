//! The network namespaces of this machine: which of them are there still, and which has a device.

use crate::record::Record;
use crate::system;
use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags, makedev, open, statx};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{Error, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// CAP_SYS_PTRACE of linux/capability.h.
const PTRACE: u32 = 19;

/// What setns(2) says of a namespace of another kind.
const NO_NETWORK: i32 = libc::EINVAL;

/// Device and inode of a namespace.
type Number = (u64, u64);

/// What was found out inside each namespace, with a way to it, and whether that is of all of them.
struct Seen<T> {
    /// Device of the file system that all namespaces are in.
    nsfs: u64,
    inside: HashMap<Number, (PathBuf, T)>,
    /// Some are known of, or may be, into which this process may not or cannot go.
    unknown: bool,
}

impl<T: Send> Seen<T> {
    fn none() -> Result<Self, Error> {
        let (nsfs, _) = number_of(&hold(Path::new("/proc/self/ns/net"))?)?;
        Ok(Seen { nsfs, inside: HashMap::new(), unknown: false })
    }

    /// Asks once inside the namespace at a path, if it has not been.
    fn ask(&mut self, path: PathBuf, job: &(impl Fn() -> T + Sync)) {
        // A process that has ended keeps none, nor does a server that is gone, and namespaces are of other kinds, too.
        let none = |e: &Error| {
            matches!(e.raw_os_error(), Some(libc::ENOENT | libc::ESRCH | libc::ESTALE | NO_NETWORK))
        };
        let asked = || -> Result<Option<(Number, T)>, Error> {
            // What a path names is the choice of the process whose it is: it is opened only when it is known to be a
            // namespace, and as that very thing, as the path may be another's by then.
            let place = hold(&path)?;
            let number = number_of(&place)?;
            if number.0 != self.nsfs || self.inside.contains_key(&number) {
                return Ok(None);
            }
            // Open as long as it is asked, so that it is there.
            let file = File::open(format!("/proc/self/fd/{}", place.as_raw_fd()))?;
            Ok(Some((number, inside(&file, job)?)))
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

/// Holds what is at a path without opening it: nothing happens to it, whatever it is.
fn hold(path: &Path) -> Result<OwnedFd, Error> {
    Ok(open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?)
}

/// Its number, without asking a server for news of it.
fn number_of(place: &OwnedFd) -> Result<Number, Error> {
    let found = statx(place, "", AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC, StatxFlags::empty())?;
    Ok((makedev(found.stx_dev_major, found.stx_dev_minor), found.stx_ino))
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
fn everywhere<T: Send>(job: impl Fn() -> T + Sync) -> Result<Seen<T>, Error> {
    let mut seen = Seen::none()?;
    // By the names that whoever asks knows, first.
    for place in mounted(Path::new("/proc/self")) {
        seen.ask(place.into(), &job);
    }
    let entries = |path: PathBuf| fs::read_dir(path).into_iter().flatten().flatten().map(|e| e.path());
    for process in fs::read_dir("/proc")?.flatten() {
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
        for file in entries(process.join("fd")) {
            seen.ask(file, &job);
        }
    }
    Ok(seen)
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
    let seen = everywhere(system::namespace).ok()?;
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
    let there = everywhere(|| system::namespace() != here && has()).ok()?;
    there.inside.into_values().find(|(_, has)| *has).map(|(way, _)| way.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::inotify;
    use std::mem::MaybeUninit;

    /// Another process's file may be exchanged for any other at any moment, which root would open for it.
    #[test]
    fn what_is_no_namespace_is_not_opened() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let watch = inotify::init(inotify::CreateFlags::NONBLOCK).expect("a watch");
        inotify::add_watch(&watch, file.path(), inotify::WatchFlags::OPEN).expect("it is there");
        let mut seen = Seen::none().expect("this process has a namespace");
        seen.ask(file.path().into(), &|| ());
        assert!(seen.inside.is_empty() && !seen.unknown);
        let mut buffer = [MaybeUninit::uninit(); 512];
        assert!(inotify::Reader::new(&watch, &mut buffer).next().is_err(), "it was opened");
        File::open(file.path()).expect("it is there");
        assert!(inotify::Reader::new(&watch, &mut buffer).next().is_ok(), "nobody would have seen it");
    }
}
