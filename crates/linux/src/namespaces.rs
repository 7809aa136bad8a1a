//! The network namespaces of this machine: which of them are there still, which has a device, and who holds what BPF has.
//!
//! Anybody may have processes, mounts and file systems, and a file system may be served by a process of his that never answers. So
//! what is asked is the kernel: links in `/proc`, lists of mounts, and paths as far as the kernel has them in its cache.

use crate::mounts::{
    Mounted, Number, TRIES, View, hold, hold_cached, mount_of, mounts_among, namespace_of, number_of, view,
};
use crate::netlink::{self, Entry, Link};
use crate::pins::{Object, Pinned, Place, below, object_of, pinned};
use crate::record::Record;
use crate::{names, system};
use rustix::fs::{FileType, Mode, OFlags, RawDir, openat};
use rustix::io::Errno;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{Error, ErrorKind, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
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

/// How long is looked for at most, whoever has made how much there is to be looked at: for who has what is to be freed, with the lock held
/// meanwhile, and for where a device may have gone.
const PATIENCE: Duration = Duration::from_secs(20);
const PATIENCE_FOR_A_DEVICE: Duration = Duration::from_secs(2);
/// How much later a search that hangs in the kernel is given up.
const GRACE: Duration = Duration::from_secs(5);
/// Most of all lists of mounts together, bytes: one of 100 000, the most that a namespace may have, takes about 15 MB.
const MOST_MOUNTS: u64 = 64 << 20;
/// Most pins and folders of all BPF file systems together; one whose path is long counts for several.
const MOST_PINS: usize = 100_000;
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
    /// The first thing that could not be looked at, and why: there may be what is not known then.
    unknown: Option<String>,
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

impl Looked {
    fn patience(self) -> Duration {
        match self {
            Looked::All => PATIENCE,
            Looked::Namespaces => PATIENCE_FOR_A_DEVICE,
        }
    }
}

impl<T: Send> Seen<T> {
    fn none(what: Looked) -> Result<Self, Error> {
        let (nsfs, _) = number_of(&hold(Path::new("/proc/self/ns/net"))?)?;
        let until = Instant::now() + what.patience();
        let (open, pins) = (BTreeSet::new(), BTreeMap::new());
        Ok(Seen { nsfs, inside: HashMap::new(), open, pins, places: 0, unknown: None, until, what })
    }

    /// Asks once inside the namespace at a path of `/proc`, if it has not been.
    fn ask(&mut self, path: PathBuf, job: &(impl Fn() -> T + Sync)) {
        // What a path names is the choice of the process whose it is: it is held only when the kernel calls it a namespace, and opened
        // as that very thing, as the path may be another's by then.
        let named = fs::read_link(&path).map(|name| namespace_of(name.as_os_str()));
        if let Some(Some(inode)) = self.noted(&path, named)
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
        if let Some(Some((key, found))) = self.noted(&path, asked) {
            self.inside.insert(key, (path, found));
        }
    }

    /// What was found at a path, if there was something; if nobody knows, that is noted.
    fn noted<R>(&mut self, at: &Path, found: Result<R, Error>) -> Option<R> {
        // A process that has ended keeps none, nor does a server that is gone, and namespaces are of other kinds, too. What has a path too
        // long to be told is a file.
        let none = |e: &Error| {
            let known = [libc::ENOENT, libc::ESRCH, libc::ESTALE, libc::ENAMETOOLONG, NO_NETWORK];
            e.raw_os_error().is_some_and(|number| known.contains(&number))
        };
        match found {
            Ok(found) => Some(found),
            Err(e) => {
                if !none(&e) {
                    self.not_known(at, &e);
                }
                None
            }
        }
    }

    /// Notes the first thing that nobody knows of.
    fn not_known(&mut self, at: &Path, why: &dyn Display) {
        self.unknown.get_or_insert_with(|| format!("{}: {why}", names::shown(at.as_os_str())));
    }

    /// Is there no sense in looking on? What is too much is unknown, too.
    fn ends(&mut self) -> bool {
        let late = Instant::now() > self.until;
        if late {
            self.not_known(
                Path::new("/proc"),
                &format!("not all of it was looked at within {} s", self.what.patience().as_secs()),
            );
        }
        late || self.unknown.is_some() && self.what == Looked::All
    }

    /// Notes what of BPF a process has open.
    fn note_open(&mut self, process: &Path) {
        for file in self.noted(process, files_of(process)).unwrap_or_default() {
            let found = fs::read_link(&file).and_then(|name| object_of(&file, name.as_os_str()));
            let found = self.noted(&file, found).flatten();
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
    let proc = Path::new("/proc");
    if fs::metadata("/proc/self/ns/pid")?.ino() != FIRST_PIDS {
        seen.not_known(proc, &"this is not the first PID namespace, which knows all processes");
    } else if what == Looked::All && !RIGHTS.into_iter().all(system::capable) {
        seen.not_known(proc, &"this process lacks CAP_SYS_PTRACE or CAP_SYS_ADMIN");
    } else if hides_processes()? {
        seen.not_known(proc, &"it leaves processes out (hidepid)");
    }
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
            for task in seen.noted(&process, entries(process.join("task"))).unwrap_or_default() {
                seen.ask(task.join("ns/net"), &job);
                mounts.look(&mut seen, &task, false, &job);
                if seen.ends() {
                    return Ok(seen);
                }
            }
            for file in seen.noted(&process, files_of(&process)).unwrap_or_default() {
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
        let Some(Some((from, view, list))) = seen.noted(task, found) else { return };
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
                    if seen.noted(&root.join(place.strip_prefix("/").unwrap_or(&place)), done).is_some() {
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
                if !stays {
                    seen.not_known(&task, &"it has gone or moved, and with it a way to what it had mounted");
                } else if mounts_among(&list).iter().any(|(still, ..)| *still == what) {
                    seen.not_known(&task.join("mountinfo"), &"a mount there is hidden by another over it");
                }
            }
            if seen.ends() {
                return;
            }
        }
    }
}

/// What is in a folder of the kernel's.
fn entries(path: PathBuf) -> Result<Vec<PathBuf>, Error> {
    fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect()
}

/// Does it beside this thread, which waits no longer than that for it: a root that a server has may have to be asked for.
fn within<T: Send + 'static>(what: Looked, job: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (done, found) = mpsc::channel();
    std::thread::Builder::new().spawn(move || drop(done.send(job()))).ok()?;
    found.recv_timeout(what.patience() + GRACE).ok()
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

/// All that is there; or the first thing that this process may not or cannot see, and why: then nobody knows what there is.
pub(crate) fn living() -> Result<Inventory, String> {
    let found = within(Looked::All, || {
        let inside = || {
            let qdiscs = netlink::all_qdiscs().map_err(|e| e.to_string())?;
            // The cookie 0 is none's.
            Ok((Some(system::namespace()).filter(|cookie| *cookie > 0).ok_or("it has no cookie")?, qdiscs))
        };
        let seen = everywhere(Looked::All, inside).map_err(|e| e.to_string())?;
        if let Some(why) = seen.unknown {
            return Err(why);
        }
        let of = |(way, found): (PathBuf, Result<_, String>)| {
            found.map_err(|why| format!("{}: {why}", names::shown(way.as_os_str())))
        };
        let spaces = seen.inside.into_values().map(of).collect::<Result<Vec<_>, String>>()?;
        Ok(Inventory { spaces, open: seen.open, pins: seen.pins })
    });
    found.unwrap_or_else(|| Err("the search did not come to its end".into()))
}

/// A way to a network namespace, in words, and its devices.
type Namespace = (String, Vec<Link>);

/// The devices of the other network namespaces, and whether these are all: looked at once, if at all.
#[derive(Default)]
pub(crate) struct Elsewhere(OnceCell<(Vec<Namespace>, bool)>);

impl Elsewhere {
    /// Where a device like that of a record is, in another namespace, in words. It may be one that somebody else has made like it.
    pub(crate) fn words(&self, record: &Record) -> String {
        let is_it = |link: &Link| {
            (link.index == record.index || link.name == record.dev.as_str())
                && Some(&link.address) == record.address.as_ref()
        };
        let (all, whole) = self.0.get_or_init(|| {
            let here = system::namespace();
            let links = move || (system::namespace() != here).then(|| netlink::links().ok());
            let seen =
                within(Looked::Namespaces, move || everywhere(Looked::Namespaces, links).ok()).flatten();
            let Some(seen) = seen else { return (Vec::new(), false) };
            let whole = seen.unknown.is_none() && seen.inside.values().all(|(_, links)| *links != Some(None));
            // Who has mounted it has chosen the name.
            let named = |(way, links): (PathBuf, Option<Option<Vec<Link>>>)| {
                Some((names::shown(way.as_os_str()), links??))
            };
            let mut all: Vec<_> = seen.inside.into_values().filter_map(named).collect();
            all.sort();
            (all, whole)
        });
        match all.iter().find(|(_, links)| links.iter().any(is_it)) {
            Some((way, _)) => format!("it seems to have been moved to another network namespace ({way})"),
            None if *whole && record.address.is_some() => "it has gone".into(),
            None => "it has gone, or is in another network namespace: not all could be looked at".into(),
        }
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
        assert!(seen.inside.is_empty() && seen.unknown.is_none());
        let mut buffer = [MaybeUninit::uninit(); 512];
        assert!(inotify::Reader::new(&watch, &mut buffer).next().is_err(), "it was opened");
        File::open(file.path()).expect("it is there");
        assert!(inotify::Reader::new(&watch, &mut buffer).next().is_ok(), "nobody would have seen it");
    }

    #[test]
    fn who_is_not_let_in_does_not_know() {
        let mut seen = Seen::<()>::none(Looked::All).expect("this process has a namespace");
        for none in [libc::ENOENT, libc::ESRCH, libc::ENAMETOOLONG] {
            assert_eq!(seen.noted(Path::new("/a"), Err::<(), _>(Error::from_raw_os_error(none))), None);
            assert_eq!(seen.unknown, None);
        }
        // As for a container that sees the machine's processes, and may not look at them.
        assert_eq!(seen.noted(Path::new("/a b"), Err::<(), _>(Error::from_raw_os_error(libc::EACCES))), None);
        assert!(seen.unknown.is_some_and(|why| why.starts_with("$'/a b': ")));
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
            assert!(seen.unknown.is_none() && mounts.all.len() == 1);
            mounts.end(&mut seen);
            assert!(seen.unknown.is_some(), "nobody has looked at it");
        }
    }
}
