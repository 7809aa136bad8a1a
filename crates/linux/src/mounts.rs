//! What is mounted where, by the kernel's lists of mounts, and ways to it on which no file system is asked for a name.

use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, ResolveFlags, StatxFlags, makedev, open, openat2, readlinkat, statx,
};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::Error;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// What is in the kernel's cache may be in motion.
pub(crate) const TRIES: usize = 5;

/// Device and inode.
pub(crate) type Number = (u64, u64);

/// Of what is mounted, what is looked at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mounted {
    /// A network namespace, by its inode.
    Namespace(u64),
    /// A BPF file system, by its device, or a folder of it.
    Pins(u64, OsString),
    /// sysfs, by its device, in which BPF file systems are mounted.
    Sysfs(u64),
}

/// Those in a list of mounts, where they are, as the process sees it, and the mounts' numbers.
pub(crate) fn mounts_among(mounts: &[u8]) -> Vec<(Mounted, PathBuf, u64)> {
    let of = |line: &[u8]| {
        // Number, parent, device, place in the file system, where it is mounted, options; behind a dash the kind.
        let mut words = line.split(|byte| *byte == b' ');
        let number = std::str::from_utf8(words.next()?).ok()?.parse().ok()?;
        let mut words = words.skip(1);
        let (device, inside, place) = (words.next()?, words.next()?, words.next()?);
        let kind = words.skip_while(|word| *word != b"-").nth(1)?;
        let device = || {
            let (major, minor) = std::str::from_utf8(device).ok()?.split_once(':')?;
            Some(makedev(major.parse().ok()?, minor.parse().ok()?))
        };
        let what = match kind {
            b"nsfs" => Mounted::Namespace(namespace_of(OsStr::from_bytes(inside))?),
            b"bpf" => Mounted::Pins(device()?, OsString::from_vec(plain(inside))),
            b"sysfs" => Mounted::Sysfs(device()?),
            _ => return None,
        };
        Some((what, OsString::from_vec(plain(place)).into(), number))
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

/// Inode of the network namespace that the kernel calls so.
pub(crate) fn namespace_of(name: &OsStr) -> Option<u64> {
    name.to_str()?.strip_prefix("net:[")?.strip_suffix(']')?.parse().ok()
}

/// What a task sees of the mounts: its namespace, and number of mount and inode of its root.
pub(crate) type View = (OsString, u64, u64);

/// A task's root, and what it sees from there.
pub(crate) fn view(task: &Path) -> Result<(OwnedFd, View), Error> {
    let space = readlinkat(CWD, task.join("ns/mnt"), Vec::new())?.into_bytes();
    let root = hold(&task.join("root"))?;
    let (mount, (_, inode)) = (mount_of(&root)?, number_of(&root)?);
    Ok((root, (OsString::from_vec(space), mount, inode)))
}

/// The number of the mount in which something is, as in lists of mounts.
pub(crate) fn mount_of(place: &OwnedFd) -> Result<u64, Error> {
    let at = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    Ok(statx(place, "", at, StatxFlags::MNT_ID)?.stx_mnt_id)
}

/// Holds what is at a path of the kernel's without opening it: nothing happens to it, whatever it is.
pub(crate) fn hold(path: &Path) -> Result<OwnedFd, Error> {
    Ok(open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?)
}

/// Holds what is mounted at a path below a root, if the kernel knows the way by itself: it asks no file system for a name. The places of
/// mounts, and the folders above them, are in its cache as long as they are mounted. For sysfs, which
/// is on these devices, it does not use its cache, and asks nobody either.
pub(crate) fn hold_cached(root: &OwnedFd, place: &Path, sysfs: &BTreeSet<u64>) -> Result<OwnedFd, Error> {
    let mut here = root.try_clone()?;
    for name in place.strip_prefix("/").unwrap_or(place).components() {
        let step = |how| {
            let how = how | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            openat2(&here, name.as_os_str(), OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), how)
        };
        let mut tries = 1..TRIES;
        let found = loop {
            let found = step(ResolveFlags::CACHED);
            if !matches!(found, Err(Errno::AGAIN)) || tries.next().is_none() {
                break found;
            }
        };
        here = match found {
            Err(Errno::AGAIN) if sysfs.contains(&number_of(&here)?.0) => step(ResolveFlags::empty())?,
            other => other?,
        };
    }
    Ok(here)
}

/// Its number, without asking a server for news of it.
pub(crate) fn number_of(place: &OwnedFd) -> Result<Number, Error> {
    let found = statx(place, "", AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC, StatxFlags::empty())?;
    Ok((makedev(found.stx_dev_major, found.stx_dev_minor), found.stx_ino))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_have_any_names() {
        let mounts = b"22 27 0:21 / /proc rw,relatime - proc proc rw\n\
            90 27 0:4 net:[4026532001] /run/a\\040\\011\\134040\\012\\043\xff rw shared:9 - nsfs nsfs rw\n\
            91 27 0:4 mnt:[4026532002] /run/b rw - nsfs nsfs rw\n\
            92 27 0:4 net:[4026532003] /run/c\\0 rw - nsfs nsfs rw\n\
            93 27 0:30 net:[4026532003] /run/d rw - tmpfs none rw\n\
            94 27 0:31 / /run/e\\040f rw master:1 - bpf bpf rw,mode=700\n\
            95 27 0:32 / /run/g rw - fuse.bpf bpf rw\n";
        let place = |name: &[u8]| PathBuf::from(OsString::from_vec(name.to_vec()));
        let found = [
            (Mounted::Namespace(4026532001), place(b"/run/a \t\\040\n#\xff"), 90),
            (Mounted::Namespace(4026532003), place(b"/run/c\\0"), 92),
            (Mounted::Pins(makedev(0, 31), "/".into()), place(b"/run/e f"), 94),
        ];
        assert_eq!(mounts_among(mounts), found);
    }
}
