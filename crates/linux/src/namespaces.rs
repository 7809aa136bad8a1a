//! The network namespaces of this machine: which of them are there still, which has a device, and who holds what BPF has.
//!
//! Anybody may have processes, mounts and file systems, and a file system may be served by a process of his that never answers. So
//! what is asked is the kernel: links in `/proc`, lists of mounts, and paths as far as the kernel has them in its cache.

use crate::netlink::{self, Entry};
use crate::record::Record;
use crate::{names, system};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RawDir, ResolveFlags, StatxFlags, fstat, makedev, open, openat,
    openat2, readlinkat, statx,
};
use rustix::io::Errno;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::{CString, OsStr, OsString};
use std::fs::{self, File};
use std::io::{Error, ErrorKind, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// CAP_SYS_PTRACE and CAP_SYS_ADMIN of linux/capability.h: what it takes to look at everything.
const RIGHTS: [u32; 2] = [19, 21];

/// Inode of the first PID namespace, `PROC_PID_INIT_INO` of linux/proc_ns.h.
const FIRST_PIDS: u64 = 0xefff_fffc;

/// What setns(2) says of a namespace of another kind.
const NO_NETWORK: i32 = libc::EINVAL;

/// How long is looked for at most, whoever has made how much there is to be looked at: the lock is held meanwhile.
const PATIENCE: Duration = Duration::from_secs(20);
/// Most of all lists of mounts together, bytes: one of 100 000, the most that a namespace may have, takes about 15 MB.
const MOST_MOUNTS: u64 = 64 << 20;
/// Most pins and folders of all BPF file systems together; one whose path is long counts for several.
const MOST_PINS: usize = 100_000;
/// Bytes of a path that the kernel takes at once.
const MOST_OF_A_PATH: usize = 3072;
/// What is in the kernel's cache may be in motion.
const TRIES: usize = 5;

/// Device and inode of a namespace.
type Number = (u64, u64);

/// A kind of what BPF has, as `/proc/PID/fdinfo` calls its number, and that.
pub(crate) type Object = (&'static str, u32);

/// What is pinned under a name.
pub(crate) type Pinned = (OsString, Object);

/// The kind of a map.
pub(crate) const MAP: &str = "map_id";

/// The device of a BPF file system, and where a pin or folder is in that.
pub(crate) type Place = (u64, PathBuf);

/// What was found out inside each namespace, with a way to it, and whether that is of all of them.
struct Seen<T> {
    /// Device of the file system that all namespaces are in.
    nsfs: u64,
    inside: HashMap<Number, (PathBuf, T)>,
    /// What processes have open.
    open: BTreeSet<Object>,
    pins: BTreeMap<Place, Object>,
    /// Pins and folders that were looked at.
    places: usize,
    /// Some are known of, or may be, into which this process may not or cannot go.
    unknown: bool,
    until: Instant,
    what: Looked,
}

/// For what is looked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Looked {
    /// All namespaces, and all that holds what BPF has: to the end, or to the first that is not known.
    All,
    /// Those namespaces that can be entered.
    Namespaces,
}

impl<T: Send> Seen<T> {
    fn none(what: Looked) -> Result<Self, Error> {
        let (nsfs, _) = number_of(&hold(Path::new("/proc/self/ns/net"))?)?;
        let until = Instant::now() + PATIENCE;
        let (open, pins) = (BTreeSet::new(), BTreeMap::new());
        Ok(Seen { nsfs, inside: HashMap::new(), open, pins, places: 0, unknown: false, until, what })
    }

    /// Asks once inside the namespace at a path of `/proc`, if it has not been.
    fn ask(&mut self, path: PathBuf, job: &(impl Fn() -> T + Sync)) {
        // What a path names is the choice of the process whose it is: it is held only when the kernel calls it a namespace, and opened
        // as that very thing, as the path may be another's by then.
        let named = fs::read_link(&path).map(|name| namespace_of(name.as_os_str()));
        if let Some(Some(inode)) = self.noted(named)
            && !self.inside.contains_key(&(self.nsfs, inode))
        {
            let place = hold(&path);
            self.ask_at(place, path, job);
        }
    }

    /// The same, of what is held.
    fn ask_at(&mut self, place: Result<OwnedFd, Error>, path: PathBuf, job: &(impl Fn() -> T + Sync)) {
        let asked = place.and_then(|place| {
            let number = number_of(&place)?;
            if number.0 != self.nsfs || self.inside.contains_key(&number) {
                return Ok(None);
            }
            // Open as long as it is asked, so that it is there.
            let file = File::open(format!("/proc/self/fd/{}", place.as_raw_fd()))?;
            Ok(Some((number, inside(&file, job)?)))
        });
        if let Some(Some((key, found))) = self.noted(asked) {
            self.inside.insert(key, (path, found));
        }
    }

    /// What was found, if there was something; if nobody knows, that is noted.
    fn noted<R>(&mut self, found: Result<R, Error>) -> Option<R> {
        // A process that has ended keeps none, nor does a server that is gone, and namespaces are of other kinds, too. What has a path too
        // long to be told is a file.
        let none = |e: &Error| {
            let known = [libc::ENOENT, libc::ESRCH, libc::ESTALE, libc::ENAMETOOLONG, NO_NETWORK];
            e.raw_os_error().is_some_and(|number| known.contains(&number))
        };
        match found {
            Err(e) if none(&e) => None,
            other => {
                self.unknown |= other.is_err();
                other.ok()
            }
        }
    }

    /// Is there no sense in looking on? What is too much is unknown, too.
    fn ends(&mut self) -> bool {
        let late = Instant::now() > self.until;
        self.unknown |= late;
        late || self.unknown && self.what == Looked::All
    }

    /// Notes what of BPF a process has open.
    fn note_open(&mut self, process: &Path) {
        for file in self.noted(files_of(process)).unwrap_or_default() {
            let found = fs::read_link(&file).and_then(|name| object_of(&file, name.as_os_str()));
            let found = self.noted(found).flatten();
            self.open.extend(found);
            if self.ends() {
                return;
            }
        }
    }

    /// Notes what is pinned in and below a folder of a BPF file system.
    fn note_pins(&mut self, folder: OwnedFd, at: PathBuf) -> Result<(), Error> {
        let (dev, _) = number_of(&folder)?;
        // By their paths: whoever makes many, or one in another, would else have this process run out of files.
        let mut folders = vec![PathBuf::new()];
        while let Some(inner) = folders.pop() {
            let here = match below(&folder, &inner) {
                Err(Errno::NOENT | Errno::XDEV) => continue,
                other => other?,
            };
            let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let mut buffer = [MaybeUninit::uninit(); 4096];
            let mut all = RawDir::new(openat(&here, ".", flags, Mode::empty())?, &mut buffer);
            while let Some(entry) = all.next() {
                let entry = entry?;
                let name = OsStr::from_bytes(entry.file_name().to_bytes());
                let kind = entry.file_type();
                if name == "."
                    || name == ".."
                    || ![FileType::Directory, FileType::RegularFile].contains(&kind)
                {
                    continue;
                }
                let inner = inner.join(name);
                self.places += 1 + inner.as_os_str().len() / 256;
                if self.places > MOST_PINS || Instant::now() > self.until {
                    return Err(Error::other("too many pins"));
                }
                if kind == FileType::Directory {
                    folders.push(inner);
                    continue;
                }
                let held = match below(&here, Path::new(name)) {
                    Err(Errno::NOENT | Errno::XDEV) => continue,
                    other => other?,
                };
                if let Some(object) = pinned(&held)? {
                    self.pins.insert((dev, at.join(inner)), object);
                }
            }
        }
        Ok(())
    }
}

/// Holds what is below a folder in its own file system: no link is followed, and what is mounted there is another's.
fn below(folder: &OwnedFd, inner: &Path) -> Result<OwnedFd, Errno> {
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
fn pinned(held: &OwnedFd) -> Result<Option<Object>, Error> {
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
fn object_of(file: &Path, name: &OsStr) -> Result<Option<Object>, Error> {
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

/// Inode of the network namespace that the kernel calls so.
fn namespace_of(name: &OsStr) -> Option<u64> {
    name.to_str()?.strip_prefix("net:[")?.strip_suffix(']')?.parse().ok()
}

/// Holds what is at a path of the kernel's without opening it: nothing happens to it, whatever it is.
fn hold(path: &Path) -> Result<OwnedFd, Error> {
    Ok(open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?)
}

/// Holds what is mounted at a path below a root, if the kernel knows the way by itself: it asks no file system for a name. The places of
/// mounts, and the folders above them, are in its cache as long as they are mounted. For sysfs, which
/// is on these devices, it does not use its cache, and asks nobody either.
fn hold_cached(root: &OwnedFd, place: &Path, sysfs: &BTreeSet<u64>) -> Result<OwnedFd, Error> {
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
fn everywhere<T: Send>(what: Looked, job: impl Fn() -> T + Sync) -> Result<Seen<T>, Error> {
    let mut seen = Seen::none(what)?;
    // Elsewhere /proc has not all processes, or not under the numbers that this one knows.
    seen.unknown = fs::metadata("/proc/self/ns/pid")?.ino() != FIRST_PIDS
        || what == Looked::All && (!RIGHTS.into_iter().all(system::capable) || hides_processes()?);
    if seen.ends() {
        return Ok(seen);
    }
    let mut mounts = Mounts::default();
    // By the names that whoever asks knows, first.
    let mut own = Some(Path::new("/proc/self"));
    let mut known = BTreeSet::new();
    loop {
        // A process may have begun another, and handed on what it had, before it was looked at.
        let new: Vec<PathBuf> =
            processes()?.filter_map(|one| known.insert(one.clone()).then_some(one.0)).collect();
        if new.is_empty() {
            break;
        }
        // All that is open first, then pins and qdiscs: who attaches has open what he then pins and puts at a device, and closes it in the end. In
        // another order it might be in none of them when they are looked at.
        if what == Looked::All {
            for process in &new {
                seen.note_open(process);
                if seen.ends() {
                    return Ok(seen);
                }
            }
        }
        if let Some(own) = own.take() {
            mounts.look(&mut seen, own, true, &job);
        }
        for process in new {
            for task in seen.noted(entries(process.join("task"))).unwrap_or_default() {
                seen.ask(task.join("ns/net"), &job);
                mounts.look(&mut seen, &task, false, &job);
                if seen.ends() {
                    return Ok(seen);
                }
            }
            for file in seen.noted(files_of(&process)).unwrap_or_default() {
                seen.ask(file, &job);
                if seen.ends() {
                    return Ok(seen);
                }
            }
        }
    }
    mounts.end(&mut seen);
    Ok(seen)
}

/// The processes that there are, each with a number that another with its name does not have.
fn processes() -> Result<impl Iterator<Item = (PathBuf, u64)>, Error> {
    let all = fs::read_dir("/proc")?.map(|entry| entry.map(|entry| (entry.path(), entry.ino())));
    let all = all.collect::<Result<Vec<_>, Error>>()?;
    let is_process = |path: &Path| path.file_name().and_then(|n| n.to_str()?.parse::<u32>().ok()).is_some();
    Ok(all.into_iter().filter(move |(path, _)| is_process(path) && !is_the_machines_own(path)))
}

/// What a process has open. That of one whose first thread has ended its other threads have.
fn files_of(process: &Path) -> Result<Vec<PathBuf>, Error> {
    let files = entries(process.join("fd"))?;
    if !files.is_empty() {
        return Ok(files);
    }
    for task in entries(process.join("task"))? {
        match entries(task.join("fd")) {
            Ok(files) if !files.is_empty() => return Ok(files),
            Err(e) if ![Some(libc::ENOENT), Some(libc::ESRCH)].contains(&e.raw_os_error()) => return Err(e),
            _ => {}
        }
    }
    Ok(files)
}

/// Does `/proc` leave out processes that may not be looked at (`hidepid`)?
fn hides_processes() -> Result<bool, Error> {
    let list = fs::read("/proc/self/mountinfo")?;
    let hides = |line: &[u8]| {
        let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
        words.get(4) == Some(&&b"/proc"[..])
            && words.last().is_some_and(|options| options.windows(8).any(|w| w == b"hidepid="))
    };
    Ok(list.split(|byte| *byte == b'\n').any(hides))
}

/// Is it the first process, and one that this one may not look at? In some virtual machines and sandboxes that is the program that runs
/// the machine, with more rights than root: it has attached nothing. Of others that are like that nothing is known.
fn is_the_machines_own(process: &Path) -> bool {
    let refused = |e: Error| e.kind() == ErrorKind::PermissionDenied;
    process == Path::new("/proc/1") && fs::read_link(process.join("ns/net")).is_err_and(refused)
}

/// The lists of mounts, each read once.
#[derive(Default)]
struct Mounts {
    /// Those that were read.
    read: BTreeSet<View>,
    bytes: u64,
    /// Namespaces and BPF file systems that are mounted, with a process to ask for whether they are still.
    all: BTreeMap<Mounted, (PathBuf, View)>,
    /// BPF file systems, and folders of such, that were looked at.
    pins: BTreeSet<Mounted>,
}

impl Mounts {
    /// Looks at what a task has mounted. `own`: the paths are those that this process has.
    fn look<T: Send>(&mut self, seen: &mut Seen<T>, task: &Path, own: bool, job: &(impl Fn() -> T + Sync)) {
        let root = if own { Path::new("/").into() } else { task.join("root") };
        let found = self.list_of(task);
        let Some(Some((from, view, list))) = seen.noted(found) else { return };
        let all = mounts_among(&list);
        let sysfs = all.iter().filter_map(|(what, ..)| match what {
            Mounted::Sysfs(dev) => Some(*dev),
            _ => None,
        });
        let sysfs: BTreeSet<u64> = sysfs.collect();
        for (what, place, mount) in all {
            if self.knows(seen, &what) {
                continue;
            }
            self.all.entry(what.clone()).or_insert_with(|| (task.into(), view.clone()));
            // What nobody can reach, as another is mounted over it, say, is looked at in the end.
            let Ok(held) = hold_cached(&from, &place, &sysfs) else { continue };
            if !mount_of(&held).is_ok_and(|found| found == mount) {
                continue;
            }
            match &what {
                Mounted::Namespace(_) => {
                    let path = root.join(place.strip_prefix("/").unwrap_or(&place));
                    seen.ask_at(Ok(held), path, job);
                }
                Mounted::Pins(_, inside) => {
                    let at = Path::new(inside).strip_prefix("/").unwrap_or(Path::new("")).into();
                    let done = seen.note_pins(held, at);
                    if seen.noted(done).is_some() {
                        self.pins.insert(what);
                    }
                }
                Mounted::Sysfs(_) => {}
            }
            if seen.ends() {
                return;
            }
        }
    }

    /// Is it no more to be looked at?
    fn knows<T>(&self, seen: &Seen<T>, what: &Mounted) -> bool {
        match what {
            Mounted::Namespace(inode) => seen.inside.contains_key(&(seen.nsfs, *inode)),
            Mounted::Pins(dev, _) => {
                let whole = Mounted::Pins(*dev, "/".into());
                seen.what == Looked::Namespaces || self.pins.contains(what) || self.pins.contains(&whole)
            }
            Mounted::Sysfs(_) => true,
        }
    }

    /// A task's root and its list of mounts; none, if they were read already. They are read when all of it is there: a task that ends, or goes
    /// elsewhere, before that has shown nothing of the others that are where it was.
    fn list_of(&mut self, task: &Path) -> Result<Option<(OwnedFd, View, Vec<u8>)>, Error> {
        for _ in 0..TRIES {
            let (root, view) = view(task)?;
            if self.read.contains(&view) {
                return Ok(None);
            }
            let list = self.list(task)?;
            if self::view(task)?.1 == view {
                self.read.insert(view.clone());
                return Ok(Some((root, view, list)));
            }
        }
        Err(Error::other("it does not stay in one place"))
    }

    /// A task's list of mounts.
    fn list(&mut self, task: &Path) -> Result<Vec<u8>, Error> {
        let most = MOST_MOUNTS - self.bytes;
        let mut list = Vec::new();
        let read = File::open(task.join("mountinfo"))?.take(most + 1).read_to_end(&mut list)? as u64;
        self.bytes = MOST_MOUNTS.min(self.bytes + read);
        match read > most {
            true => Err(Error::other("too many mounts")),
            false => Ok(list),
        }
    }

    /// What is mounted is there also where no path leads to it, as another mount is over it; unless it has gone meanwhile.
    fn end<T: Send>(&mut self, seen: &mut Seen<T>) {
        for (what, (task, from)) in std::mem::take(&mut self.all) {
            if !self.knows(seen, &what) {
                // Others may have it mounted still when that task has gone, or is elsewhere, so that its list says nothing.
                let list = self.list(&task).unwrap_or_default();
                let stays = view(&task).is_ok_and(|(_, now)| now == from) && !list.is_empty();
                seen.unknown |= !stays || mounts_among(&list).iter().any(|(still, ..)| *still == what);
            }
            if seen.ends() {
                return;
            }
        }
    }
}

/// What a task sees of the mounts: its namespace, and number of mount and inode of its root.
type View = (OsString, u64, u64);

/// A task's root, and what it sees from there.
fn view(task: &Path) -> Result<(OwnedFd, View), Error> {
    let space = readlinkat(CWD, task.join("ns/mnt"), Vec::new())?.into_bytes();
    let root = hold(&task.join("root"))?;
    let (mount, (_, inode)) = (mount_of(&root)?, number_of(&root)?);
    Ok((root, (OsString::from_vec(space), mount, inode)))
}

/// The number of the mount in which something is, as in lists of mounts.
fn mount_of(place: &OwnedFd) -> Result<u64, Error> {
    let at = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    Ok(statx(place, "", at, StatxFlags::MNT_ID)?.stx_mnt_id)
}

/// What is in a folder of the kernel's.
fn entries(path: PathBuf) -> Result<Vec<PathBuf>, Error> {
    fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect()
}

/// Of what is mounted, what is looked at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Mounted {
    /// A network namespace, by its inode.
    Namespace(u64),
    /// A BPF file system, by its device, or a folder of it.
    Pins(u64, OsString),
    /// sysfs, by its device, in which BPF file systems are mounted.
    Sysfs(u64),
}

/// Those in a list of mounts, where they are, as the process sees it, and the mounts' numbers.
fn mounts_among(mounts: &[u8]) -> Vec<(Mounted, PathBuf, u64)> {
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

/// Does it beside this thread, which waits no longer than that for it: a root that a server has may have to be asked for.
fn within<T: Send + 'static>(job: impl FnOnce() -> Option<T> + Send + 'static) -> Option<T> {
    let (done, found) = mpsc::channel();
    std::thread::Builder::new().spawn(move || drop(done.send(job()))).ok()?;
    found.recv_timeout(PATIENCE + Duration::from_secs(5)).ok()?
}

/// All that is there.
pub(crate) struct Inventory {
    /// Cookie of each network namespace, with the qdiscs in it.
    spaces: Vec<(u64, Vec<Entry>)>,
    open: BTreeSet<Object>,
    pins: BTreeMap<Place, Object>,
}

impl Inventory {
    /// Is a namespace there?
    pub(crate) fn has(&self, cookie: u64) -> bool {
        self.spaces.iter().any(|(space, _)| *space == cookie)
    }

    /// The qdiscs of a device.
    pub(crate) fn qdiscs(&self, cookie: u64, index: u32) -> Vec<&Entry> {
        let here = self.spaces.iter().filter(|(space, _)| *space == cookie).flat_map(|(_, all)| all);
        here.filter(|qdisc| qdisc.device() == index).collect()
    }

    /// Has any device a qdisc of this kind?
    pub(crate) fn has_kind(&self, kind: &str) -> bool {
        self.spaces.iter().flat_map(|(_, all)| all).any(|qdisc| qdisc.kind == kind)
    }

    /// What is pinned in a folder.
    pub(crate) fn pinned_in(&self, (dev, at): &Place) -> Vec<Pinned> {
        let of = |((on, pin), _): &(&Place, &Object)| on == dev && pin.parent() == Some(at);
        let name = |pin: &PathBuf| pin.file_name().unwrap_or_default().to_owned();
        self.pins.iter().filter(of).map(|((_, pin), object)| (name(pin), *object)).collect()
    }

    /// Does an open file hold it, or a pin anywhere but in this folder?
    pub(crate) fn holds(&self, object: &Object, but: Option<&Place>) -> bool {
        let elsewhere = |(dev, pin): &Place| but.is_none_or(|(on, at)| dev != on || pin.parent() != Some(at));
        self.open.contains(object) || self.pins.iter().any(|(pin, held)| held == object && elsewhere(pin))
    }
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

/// All that is there; None: there is, or may be, what this process may not see.
pub(crate) fn living() -> Option<Inventory> {
    within(|| {
        let seen =
            everywhere(Looked::All, || Some((system::namespace(), netlink::all_qdiscs().ok()?))).ok()?;
        let spaces: Option<Vec<_>> = seen.inside.into_values().map(|(_, found)| found).collect();
        // The cookie 0 is none's.
        let spaces = spaces.filter(|all| !seen.unknown && all.iter().all(|(cookie, _)| *cookie > 0))?;
        Some(Inventory { spaces, open: seen.open, pins: seen.pins })
    })
}

/// The devices of the other network namespaces, which are looked at once, if at all.
#[derive(Default)]
pub(crate) struct Elsewhere(OnceCell<Vec<(String, Vec<system::Link>)>>);

impl Elsewhere {
    /// Where a device like that of a record is, in another namespace. It may be one that somebody else has made like it.
    pub(crate) fn place_of(&self, record: &Record) -> Option<&str> {
        let address = record.address.as_deref()?;
        let is_it = |(number, name, at): &system::Link| {
            (*number == record.index || name == record.dev.as_str()) && at == address
        };
        let all = self.0.get_or_init(|| {
            let here = system::namespace();
            let links = move || (system::namespace() != here).then(system::links);
            let there = within(move || everywhere(Looked::Namespaces, links).ok());
            let there = there.map(|seen| seen.inside.into_values()).into_iter().flatten();
            // Who has mounted it has chosen the name.
            let mut all: Vec<_> =
                there.filter_map(|(way, links)| Some((names::shown(way.as_os_str()), links?))).collect();
            all.sort();
            all
        });
        all.iter().find(|(_, links)| links.iter().any(is_it)).map(|(way, _)| way.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::inotify;

    /// Another process's file may be exchanged for any other at any moment, which root would open for it.
    #[test]
    fn what_is_no_namespace_is_not_opened() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let watch = inotify::init(inotify::CreateFlags::NONBLOCK).expect("a watch");
        inotify::add_watch(&watch, file.path(), inotify::WatchFlags::OPEN).expect("it is there");
        let mut seen = Seen::none(Looked::All).expect("this process has a namespace");
        seen.ask(file.path().into(), &|| ());
        seen.ask_at(hold(file.path()), file.path().into(), &|| ());
        assert!(seen.inside.is_empty() && !seen.unknown);
        let mut buffer = [MaybeUninit::uninit(); 512];
        assert!(inotify::Reader::new(&watch, &mut buffer).next().is_err(), "it was opened");
        File::open(file.path()).expect("it is there");
        assert!(inotify::Reader::new(&watch, &mut buffer).next().is_ok(), "nobody would have seen it");
    }

    #[test]
    fn who_is_not_let_in_does_not_know() {
        let mut seen = Seen::<()>::none(Looked::All).expect("this process has a namespace");
        for none in [libc::ENOENT, libc::ESRCH, libc::ENAMETOOLONG] {
            assert_eq!(seen.noted(Err::<(), _>(Error::from_raw_os_error(none))), None);
            assert!(!seen.unknown);
        }
        // As for a container that sees the machine's processes, and may not look at them.
        assert_eq!(seen.noted(Err::<(), _>(Error::from_raw_os_error(libc::EACCES))), None);
        assert!(seen.unknown);
    }

    /// Whoever makes folders in a file system of his own, side by side and one in another, does not use up this process's files.
    #[test]
    fn many_folders_take_few_files() {
        let few = rustix::process::Rlimit { current: Some(64), maximum: Some(64) };
        let dir = tempfile::tempdir().expect("a folder");
        let mut at = hold(dir.path()).expect("it is there");
        for n in 0..300 {
            rustix::fs::mkdirat(&at, format!("beside{n}"), Mode::RWXU).expect("made");
        }
        let name = "within".repeat(20);
        for _ in 0..100 {
            rustix::fs::mkdirat(&at, &name, Mode::RWXU).expect("made");
            at = openat(&at, &name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).expect("it is there");
        }
        rustix::process::setrlimit(rustix::process::Resource::Nofile, few).expect("less is always given");
        let mut seen = Seen::<()>::none(Looked::All).expect("this process has a namespace");
        seen.note_pins(hold(dir.path()).expect("it is there"), PathBuf::new()).expect("all was looked at");
        // Those whose path is long count for more.
        assert!((400..=400 + 100 * 100 * 120 / 256).contains(&seen.places), "{}", seen.places);
    }

    /// What stands in `/proc` of a task; a list of mounts or none.
    fn task(at: &Path, mounts: Option<&str>) -> PathBuf {
        fs::create_dir_all(at.join("ns")).expect("made");
        std::os::unix::fs::symlink("mnt:[7]", at.join("ns/mnt")).expect("made");
        std::os::unix::fs::symlink("/", at.join("root")).expect("made");
        if let Some(mounts) = mounts {
            fs::write(at.join("mountinfo"), mounts).expect("made");
        }
        at.into()
    }

    #[test]
    fn a_task_that_ends_hides_no_mount_of_the_others() {
        let hidden = "94 27 0:931 / /nowhere rw - bpf bpf rw\n";
        // The first ends before its list is read, or before it is read again.
        for (ends_before, list) in [(true, None), (false, Some(hidden))] {
            let dir = tempfile::tempdir().expect("a folder");
            let first = task(&dir.path().join("1"), list);
            let second = task(&dir.path().join("2"), Some(hidden));
            let mut seen = Seen::none(Looked::All).expect("this process has a namespace");
            let mut mounts = Mounts::default();
            mounts.look(&mut seen, &first, false, &|| ());
            assert_eq!(mounts.all.is_empty(), ends_before);
            fs::remove_dir_all(&first).expect("ours");
            mounts.look(&mut seen, &second, false, &|| ());
            assert!(!seen.unknown && mounts.all.len() == 1);
            mounts.end(&mut seen);
            assert!(seen.unknown, "nobody has looked at it");
        }
    }

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
