//! The network namespaces of this machine: which of them are there still, and which has a device.

use crate::record::Record;
use crate::system;
use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags, makedev, open, statx};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Error, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// CAP_SYS_PTRACE of linux/capability.h.
const PTRACE: u32 = 19;

/// Inode of the first PID namespace, `PROC_PID_INIT_INO` of linux/proc_ns.h.
const FIRST_PIDS: u64 = 0xefff_fffc;

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

    /// ClientSpec once inside the namespace at a path, if it has not been.
    fn ask(&mut self, path: PathBuf, job: &(impl Fn() -> T + Sync)) {
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
        let asked = asked();
        if let Some(Some((key, found))) = self.noted(asked) {
            self.inside.insert(key, (path, found));
        }
    }

    /// What was found, if there was something; if nobody knows, that is noted.
    fn noted<R>(&mut self, found: Result<R, Error>) -> Option<R> {
        // A process that has ended keeps none, nor does a server that is gone, and namespaces are of other kinds, too.
        let none = |e: &Error| {
            matches!(e.raw_os_error(), Some(libc::ENOENT | libc::ESRCH | libc::ESTALE | NO_NETWORK))
        };
        match found {
            Err(e) if none(&e) => None,
            // Who may trace all others is refused by what has more rights than he: the machine's own, outside of a container.
            Err(e) if e.kind() == ErrorKind::PermissionDenied && system::capable(PTRACE) => None,
            other => {
                self.unknown |= other.is_err();
                other.ok()
            }
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
    // Elsewhere /proc has not all processes, or not under the numbers that this one knows.
    seen.unknown = fs::metadata("/proc/self/ns/pid")?.ino() != FIRST_PIDS;
    // By the names that whoever asks knows, first.
    for (_, place) in mounted(Path::new("/proc/self"))? {
        seen.ask(place, &job);
    }
    let mut all = Vec::new();
    for process in entries("/proc".into())? {
        if process.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok()).is_none() {
            continue;
        }
        for task in seen.noted(entries(process.join("task"))).unwrap_or_default() {
            seen.ask(task.join("ns/net"), &job);
        }
        for file in seen.noted(entries(process.join("fd"))).unwrap_or_default() {
            seen.ask(file, &job);
        }
        // Where this process may go at all.
        let root = process.join("root");
        if seen.noted(hold(&root)).is_none() {
            continue;
        }
        for (number, place) in seen.noted(mounted(&process)).unwrap_or_default() {
            seen.ask(root.join(place.strip_prefix("/").unwrap_or(&place)), &job);
            all.push((process.clone(), number));
        }
    }
    // What is mounted is there also where no path leads to it, as another mount is over it; unless it has gone meanwhile.
    for (process, number) in all {
        if !seen.inside.contains_key(&(seen.nsfs, number)) {
            let now = seen.noted(mounted(&process)).unwrap_or_default();
            seen.unknown |= now.iter().any(|(still, _)| *still == number);
        }
    }
    Ok(seen)
}

/// What is in a folder of the kernel's.
fn entries(path: PathBuf) -> Result<Vec<PathBuf>, Error> {
    fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect()
}

/// Inodes of the namespaces that are mounted, and where, as a process sees it.
fn mounted(process: &Path) -> Result<Vec<(u64, PathBuf)>, Error> {
    Ok(namespaces_among(&fs::read(process.join("mountinfo"))?))
}

/// Those in a list of mounts.
fn namespaces_among(mounts: &[u8]) -> Vec<(u64, PathBuf)> {
    let of = |line: &[u8]| {
        // Number, parent, device, place in the file system, where it is mounted.
        let mut words = line.split(|byte| *byte == b' ').skip(3);
        let inside = std::str::from_utf8(words.next()?).ok()?;
        let number = inside.strip_prefix("net:[")?.strip_suffix(']')?.parse().ok()?;
        Some((number, OsString::from_vec(plain(words.next()?)).into()))
    };
    mounts.split(|byte| *byte == b'\n').filter_map(of).collect()
}

/// A name as it is: the kernel writes what would end a word, and the backslash, as that and three octal digits.
fn plain(word: &[u8]) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::new(), word);
    while let [first, after @ ..] = rest {
        let byte;
        (byte, rest) = match rest {
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..] => {
                ((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'), after)
            }
            _ => (*first, after),
        };
        out.push(byte);
    }
    out
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
    // Who has mounted it has chosen the name.
    there.inside.into_values().find(|(_, has)| *has).map(|(way, _)| system::shown(way.as_os_str()))
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

    #[test]
    fn mounts_have_any_names() {
        let mounts = b"22 27 0:21 / /proc rw,relatime - proc proc rw\n\
            90 27 0:4 net:[4026532001] /run/a\\040\\011\\134040\\012\\043\xff rw shared:9 - nsfs nsfs rw\n\
            91 27 0:4 mnt:[4026532002] /run/b rw - nsfs nsfs rw\n\
            92 27 0:4 net:[4026532003] /run/c\\0 rw - nsfs nsfs rw\n";
        let place = |name: &[u8]| PathBuf::from(OsString::from_vec(name.to_vec()));
        let found = [(4026532001, place(b"/run/a \t\\040\n#\xff")), (4026532003, place(b"/run/c\\0"))];
        assert_eq!(namespaces_among(mounts), found);
    }
}
