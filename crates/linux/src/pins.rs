//! What of BPF is open or pinned.

use crate::mounts::{Mounted, mount_of, mounts_among};
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, open, openat2};
use rustix::io::Errno;
use std::ffi::{CString, OsStr, OsString};
use std::fs;
use std::io::Error;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Bytes of a path that the kernel takes at once.
pub(crate) const MOST_OF_A_PATH: usize = 3072;

/// A kind of what BPF has, as `/proc/PID/fdinfo` calls its number, and that.
pub(crate) type Object = (&'static str, u32);

/// What is pinned under a name.
pub(crate) type Pinned = (OsString, Object);

/// The kind of a map.
pub(crate) const MAP: &str = "map_id";

/// The device of a BPF file system, and where a pin or folder is in that.
pub(crate) type Place = (u64, PathBuf);

/// Holds what is below a folder in its own file system: no link is followed, and what is mounted there is another's.
pub(crate) fn below(folder: &OwnedFd, inner: &Path) -> Result<OwnedFd, Errno> {
    let (flags, how) = (
        OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS,
    );
    let step = |from: &OwnedFd, part: &Path| openat2(from, part, flags, Mode::empty(), how);
    let mut here = step(folder, Path::new("."))?;
    let mut part = PathBuf::new();
    for name in inner {
        if part.as_os_str().len() + name.len() > MOST_OF_A_PATH {
            here = step(&here, &std::mem::take(&mut part))?;
        }
        part.push(name);
    }
    if part.as_os_str().is_empty() { Ok(here) } else { step(&here, &part) }
}

/// What is pinned at a place that is held.
pub(crate) fn pinned(held: &OwnedFd) -> Result<Option<Object>, Error> {
    let path = CString::new(format!("/proc/self/fd/{}", held.as_raw_fd()))?;
    // SAFETY: a C string; a new descriptor comes back, or the error's number below 0.
    let fd = unsafe { libbpf_sys::bpf_obj_get(path.as_ptr()) };
    match fd {
        // What the kernel itself has there (maps.debug, progs.debug) is nobody's.
        fd if fd == -libc::ENOENT => return Ok(None),
        fd if fd < 0 => return Err(Error::from_raw_os_error(-fd)),
        _ => {}
    }
    // SAFETY: nobody else has it.
    let _open = unsafe { OwnedFd::from_raw_fd(fd) };
    let file = Path::new("/proc/self/fd").join(fd.to_string());
    let name = fs::read_link(&file)?;
    object_of(&file, name.as_os_str())
}

/// What is pinned in a folder now, by name; None: it cannot be read.
pub(crate) fn pinned_now(folder: &Path) -> Option<Vec<Pinned>> {
    let held = open(folder, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut names: Vec<OsString> =
        fs::read_dir(folder).ok()?.map(|entry| Ok(entry?.file_name())).collect::<Result<_, Error>>().ok()?;
    names.sort();
    let mut all = Vec::new();
    for name in names {
        let pin = below(&held, Path::new(&name)).ok()?;
        if FileType::from_raw_mode(fstat(&pin).ok()?.st_mode) == FileType::RegularFile {
            all.extend(pinned(&pin).ok()?.map(|object| (name, object)));
        }
    }
    Some(all)
}

/// What of BPF an open file in `/proc/.../fd` is, by what the kernel calls it, and its number. A link that was opened by its pin or number has
/// another name (`bpf_link_new_fd`) than one that was made (`bpf_link_prime`).
pub(crate) fn object_of(file: &Path, name: &OsStr) -> Result<Option<Object>, Error> {
    let kinds = [("bpf-map", MAP), ("bpf-prog", "prog_id"), ("bpf_link", "link_id"), ("bpf-link", "link_id")];
    let name = name.to_str().and_then(|name| name.strip_prefix("anon_inode:"));
    let Some((_, kind)) = kinds.into_iter().find(|(called, _)| name == Some(*called)) else {
        return Ok(None);
    };
    let (Some(of), Some(fd)) = (file.parent().and_then(Path::parent), file.file_name()) else {
        return Ok(None);
    };
    let info = fs::read_to_string(of.join("fdinfo").join(fd))?;
    let number =
        info.lines().find_map(|line| line.strip_prefix(kind)?.strip_prefix(':')?.trim().parse().ok());
    // It may be another's by now.
    Ok(number.map(|number| (kind, number)))
}

/// Where a folder is.
pub(crate) fn place_of(folder: &Path) -> Option<Place> {
    let place = open(folder, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mount = mount_of(&place).ok()?;
    let all = mounts_among(&fs::read("/proc/self/mountinfo").ok()?);
    // What is mounted may be a folder of it.
    match all.into_iter().find(|(.., number)| *number == mount)? {
        (Mounted::Pins(dev, inside), at, _) => {
            let inside = Path::new(&inside).strip_prefix("/").ok()?;
            Some((dev, inside.join(folder.strip_prefix(at).ok()?)))
        }
        _ => None,
    }
}
