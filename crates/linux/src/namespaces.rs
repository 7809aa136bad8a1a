//! The network namespaces of this machine: which of them are there still, which has a device, and who holds what BPF has.
//!
//! Anybody may have processes, mounts and file systems, and a file system may be served by a process of his that never answers. So
//! what is asked is the kernel: links in `/proc`, lists of mounts, and paths as far as the kernel has them in its cache.

use crate::mounts::{
    Mounted, Number, TRIES, View, hold, hold_cached, mount_of, mounts_among, namespace_of, number_of, view,
};
use crate::netlink::{self, Entry};
use crate::pins::{Object, Pinned, Place, below, object_of, pinned};
use crate::record::Record;
use crate::{names, system};
use rustix::fs::{FileType, Mode, OFlags, RawDir, openat};
use rustix::io::Errno;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
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

/// How long is looked for at most, whoever has made how much there is to be looked at: the lock is held meanwhile.
const PATIENCE: Duration = Duration::from_secs(20);
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

/// What is in a folder of the kernel's.
fn entries(path: PathBuf) -> Result<Vec<PathBuf>, Error> {
    fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect()
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
}
