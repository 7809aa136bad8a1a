//! What is remembered of an attached qdisc: a file in /run/queuewright, pins in /sys/fs/bpf/queuewright, both root's alone.
//!
//! A device is known by its number in its network namespace, and that by its cookie: names change, and the numbers of
//! namespaces come again. What is to be done is written before it is begun, so that the next command after any death
//! finishes it or takes it back.

use crate::before::Before;
use crate::folder::{Folder, LOCK, UNFINISHED};
use crate::netlink::HANDLE;
use crate::{Error, names, system};
use libbpf_rs::Link;
use libbpf_rs::query::LinkTypeInfo;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The folder of the records of what is attached.
pub const RUN: &str = "/run/queuewright";
/// The folder of its maps, programs and links.
pub const PINS: &str = "/sys/fs/bpf/queuewright";
pub(crate) const BPF_FILE_SYSTEM: &str = "/sys/fs/bpf";
/// `BPF_FS_MAGIC` of linux/magic.h.
const BPF_FS: u64 = 0xcafe_4a11;
/// Pins of the program that sets CE in front of the qdisc, and of its place at the device.
pub(crate) const COMPANION: &str = "companion";
pub(crate) const COMPANION_LINK: &str = "companion_link";
/// Pins of the program that hands a device's incoming packets to its IFB, and of its place at that device.
pub(crate) const REDIRECT: &str = "redirect";
pub(crate) const REDIRECT_LINK: &str = "redirect_link";
/// Pins of the program that polices, and of its place at the device.
pub(crate) const POLICE: &str = "police";
pub(crate) const POLICE_LINK: &str = "police_link";
/// Behind a device's name: what is attached to the packets that come in on it.
pub(crate) const INCOMING: &str = ":ingress";
/// Pin of what a file of a user's own declares.
pub(crate) const OWN: &str = "own";
/// All that is ever pinned for a device.
const NAMES: [&str; 15] = [
    "params",
    "state",
    "port",
    "stats",
    "queues",
    "qdisc",
    "left",
    "front",
    OWN,
    COMPANION,
    COMPANION_LINK,
    REDIRECT,
    REDIRECT_LINK,
    POLICE,
    POLICE_LINK,
];

/// An attached qdisc.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Name of the device, the one that it has now; of one that is gone, the last.
    pub dev: String,
    /// Its number in its network namespace.
    pub index: u32,
    /// Cookie of that namespace (`SO_NETNS_COOKIE`).
    pub namespace: u64,
    /// Its address, by which it is known in another namespace.
    pub address: Option<String>,
    /// What is done to it.
    pub stage: Stage,
    /// The discipline with its parameters, as given: `titrate:interval=500ms`.
    pub text: String,
    /// Name of the discipline.
    pub discipline: String,
    /// Kind of the qdisc in tc.
    pub kind: String,
    /// Packets that it has memory for.
    pub slots: u32,
    /// Disciplines: 1, the root qdisc, or one for each transmit queue below mq.
    pub instances: u32,
    /// The discipline is htb's classifier, and no qdisc of its own.
    pub front: bool,
    /// In front of htb with several queues, each a class: their names. None: there is one queue.
    pub classes: Vec<String>,
    /// Of a learned policy's weights, what is remembered beside them.
    pub learned: Option<Learned>,
    /// What was the root before; None: the kernel's own choice.
    pub before: Option<Before>,
    /// Packets of several segments are split where one would take more than 1 ms.
    #[serde(default = "yes")]
    pub split_gso: bool,
    /// What `gso_max_segs` of the device was before it was set for that; None: it is as it was.
    #[serde(default)]
    pub gso_max_segs: Option<u32>,
    /// The discipline polices: no packet waits.
    #[serde(default)]
    pub police: bool,
    /// What comes in is managed: on a device made for that, or, where it polices, on this very one.
    #[serde(default)]
    pub ingress: Option<Ingress>,
    /// The kernel's numbers of what is pinned, by name.
    pub ids: Vec<(String, u32)>,
    /// While an agent has it: the parameters that hold when it has gone.
    pub(crate) agent: Option<Vec<u8>>,
}

/// Of what a record of an earlier version does not say.
fn yes() -> bool {
    true
}

/// Of a record whose device is an IFB: whose packets it has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ingress {
    /// Number of the device that they come in on, in the same network namespace.
    pub index: u32,
    /// Its name when that was written.
    pub dev: String,
    /// Its `gro_max_size` and `gro_ipv4_max_size` before they were set; None: they are as they were.
    pub(crate) gro: Option<Gro>,
}

impl Ingress {
    /// What the device is called now; None: it is not here any more.
    pub(crate) fn name(&self) -> Option<String> {
        names::name_of(self.index).map(|name| names::text_of(&name, self.index))
    }

    /// The same, or what it was called.
    pub fn called(&self) -> String {
        self.name().unwrap_or_else(|| self.dev.clone())
    }
}

/// `gro_max_size` and `gro_ipv4_max_size` of a device; None: this kernel has none.
pub(crate) type Gro = [Option<u32>; 2];

/// What a policy's weights came with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Learned {
    /// What tells them from others.
    pub id: String,
    /// What its actions are.
    pub actions: String,
}

/// How far a command has come, written before it goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// `attach` has begun.
    Attaching,
    /// Nothing is under way.
    Attached,
    /// `set` has begun.
    Changing(Change),
    /// `detach` has begun.
    Detaching,
}

/// All that `set` is to write, so that it can be written again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The discipline as it will be called.
    pub(crate) text: String,
    pub(crate) classes: Vec<String>,
    /// The maps' new values.
    pub(crate) params: Vec<u8>,
    pub(crate) port: Vec<u8>,
    /// What is to be given back at the end, as [`Record::given_back`] has it.
    #[serde(default)]
    pub(crate) given_back: GivenBack,
}

/// `gso_max_segs` of the device, and `gro_max_size` of that whose packets it has, as they were.
pub(crate) type GivenBack = (Option<u32>, Option<Gro>);

impl Record {
    /// What tc is told to put a qdisc of its own there, the root first.
    pub(crate) fn tc(&self) -> impl Iterator<Item = String> {
        let Record { kind, instances, .. } = self;
        let root = if *instances > 1 { format!("handle {HANDLE}: mq") } else { kind.clone() };
        let below = if *instances > 1 { *instances } else { 0 };
        [format!("qdisc replace dev {{dev}} root {root}")].into_iter().chain(
            (1..=below)
                .map(move |queue| format!("qdisc replace dev {{dev}} parent {HANDLE}:{queue:x} {kind}")),
        )
    }

    /// What was changed of devices so that they give each packet for itself.
    pub(crate) fn given_back(&self) -> GivenBack {
        (self.gso_max_segs, self.ingress.as_ref().and_then(|of| of.gro))
    }

    /// The same, with what a `set` that was killed may have changed already.
    pub(crate) fn to_give_back(&self) -> GivenBack {
        let (gso, gro) = self.given_back();
        match &self.stage {
            Stage::Changing(Change { given_back: (more, most), .. }) => (gso.or(*more), gro.or(*most)),
            _ => (gso, gro),
        }
    }

    /// The same record with that.
    pub(crate) fn giving_back(mut self, (gso, gro): GivenBack) -> Record {
        self.gso_max_segs = gso;
        if let Some(of) = &mut self.ingress {
            of.gro = gro;
        }
        self
    }

    /// The device's name now; None: it is not in this namespace.
    pub(crate) fn name(&self) -> Option<OsString> {
        (self.namespace == system::namespace()).then(|| names::name_of(self.index))?
    }

    /// The same, or why there is none.
    pub(crate) fn device(&self) -> Result<OsString, Error> {
        self.name().ok_or_else(|| {
            Error::Input(format!(
                "{0} (device {1}) is not in this network namespace any more: queuewright detach {0} forgets it",
                names::quoted(&self.dev),
                self.index
            ))
        })
    }

    /// Does it have packets at the device itself as they come in?
    pub(crate) fn is_incoming(&self) -> bool {
        self.police && self.ingress.is_some()
    }

    /// Is the device not here any more whose packets a program gives to it? Its number may be another's by now; the program's place,
    /// which went with the device, is at none.
    pub(crate) fn is_orphaned(&self) -> bool {
        let index = self.ingress.as_ref().map_or(self.index, |of| of.index);
        let link = match self {
            Record { police: true, .. } => POLICE_LINK,
            Record { ingress: Some(_), .. } => REDIRECT_LINK,
            _ => return false,
        };
        let place = Link::open(self.pin(link)).and_then(|link| link.info());
        let is_at_none =
            place.is_ok_and(|link| matches!(&link.info, LinkTypeInfo::Tcx(tcx) if tcx.ifindex == 0));
        names::name_of(index).is_none() || is_at_none
    }

    /// The same device?
    pub(crate) fn is_of(&self, other: &Record) -> bool {
        self.key() == other.key()
    }

    /// Folder of its pinned maps.
    pub(crate) fn pins(&self) -> PathBuf {
        Path::new(PINS).join(self.key())
    }

    pub(crate) fn pin(&self, map: &str) -> PathBuf {
        self.pins().join(map)
    }

    /// Is there a file of this name that is none?
    pub(crate) fn is_broken(&self) -> Result<bool, Error> {
        let file = self.key() + ".json";
        Ok(everywhere()?.1.iter().any(|(name, _)| *name == *file))
    }

    pub(crate) fn write(&self) -> Result<(), Error> {
        let text = serde_json::to_vec(self).unwrap_or_default();
        run()?.write(&(self.key() + ".json"), &text)
    }

    /// Makes the folder of the pins, in which nothing is yet.
    ///
    /// # Errors
    /// If something is: who has a `/run` of his own, as in a container, may have attached to the same device.
    pub(crate) fn make_pins(&self) -> Result<(), Error> {
        let folder = pins(true)?.map(|all| all.make_inside(&self.key())).transpose()?;
        match folder.map(|folder| folder.names()).transpose()? {
            Some(names) if !names.is_empty() => Err(Error::System(format!(
                "{} has pins that no record here is about: queuewright doctor says what to do with them",
                self.pins().display()
            ))),
            _ => Ok(()),
        }
    }

    /// Locks the folder of the pins, as who serves what is attached does for as long as it lives: an agent, or who keeps the shares. None: another
    /// does.
    pub(crate) fn serve(&self) -> Result<Option<File>, Error> {
        let wrong = |e: Errno| Error::System(format!("{}: {e}", self.pins().display()));
        let folder = self.open_pins()?.ok_or_else(|| wrong(Errno::NOENT))?;
        // Who has started this process may have locked it for it, and given it that as its standard input.
        let given = std::io::stdin().as_fd().try_clone_to_owned().map(File::from);
        let number = |file: &File| file.metadata().map(|meta| (meta.dev(), meta.ino())).ok();
        let file = given.ok().filter(|given| number(given) == number(&folder)).unwrap_or(folder);
        match lock(&file, A_LOOK) {
            Ok(true) => Ok(Some(file)),
            Ok(false) => Ok(None),
            Err(e) => Err(wrong(e)),
        }
    }

    /// Is there somebody who serves it?
    pub(crate) fn is_served(&self) -> bool {
        self.open_pins().ok().flatten().is_some_and(|folder| {
            flock(&folder, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK)
        })
    }

    /// The folder of the pins, open; None: it is not there. What somebody else may have put there is not opened: it could wait.
    fn open_pins(&self) -> Result<Option<File>, Error> {
        Ok(Folder::open(&self.pins())?.map(Folder::into_file))
    }

    /// What nobody does any more for what is attached, in words.
    pub(crate) fn unserved(&self) -> Option<String> {
        let what = match self {
            Record { agent: Some(_), .. } => {
                "its agent, which was killed: the action that it chose last holds on"
            }
            Record { classes, .. } if !classes.is_empty() => {
                "the process that tells htb the classes' shares (queuewright keep)"
            }
            _ => return None,
        };
        (self.stage == Stage::Attached && !self.is_served() && self.is_as_written()).then(|| what.into())
    }

    /// The kernel's number of what is pinned under a name.
    pub(crate) fn id(&self, name: &str) -> Option<u32> {
        self.ids.iter().find(|(known, _)| known == name).map(|(_, id)| *id)
    }

    /// Removes one of its pins.
    pub(crate) fn remove_pin(&self, name: &str) {
        if let Ok(Some(folder)) = Folder::open(&self.pins()) {
            folder.remove(name);
        }
    }

    /// The command that was killed and has left it as it is.
    pub(crate) fn unfinished(&self) -> Option<&'static str> {
        let command = match self.stage {
            Stage::Attached => return None,
            Stage::Attaching => "attach",
            Stage::Detaching => "detach",
            Stage::Changing(_) => "set",
        };
        // Its end may have come after the record was read.
        (nobody_is_at_work() && self.is_as_written()).then_some(command)
    }

    fn is_as_written(&self) -> bool {
        again(self)
            .is_some_and(|now| (&now.stage, &now.agent, &now.ids) == (&self.stage, &self.agent, &self.ids))
    }

    /// Forgets file and pins.
    pub(crate) fn forget(&self) {
        forget_pins(self.key());
        self.forget_file();
    }

    /// Forgets the file alone.
    pub(crate) fn forget_file(&self) {
        if let Ok(run) = run() {
            run.remove(&(self.key() + ".json"));
        }
    }

    /// Devices of different network namespaces may share a number. The BPF file system takes no dots.
    fn key(&self) -> String {
        let incoming = if self.is_incoming() { INCOMING } else { "" };
        format!("{}:{}{incoming}", self.namespace, self.index)
    }
}

/// Removes the pins in one of our folders, and that. Is it gone?
pub(crate) fn forget_pins(key: impl AsRef<OsStr>) -> bool {
    let key = key.as_ref();
    let Ok(Some(all)) = pins(false) else { return false };
    if let Ok(Some(folder)) = Folder::open(&all.path().join(key)) {
        for name in NAMES {
            folder.remove(name);
        }
    }
    all.remove_folder(key)
}

/// Removes one of our folders if nothing is pinned in it. Is it gone?
pub(crate) fn forget_folder(key: &OsStr) -> bool {
    matches!(pins(false), Ok(Some(all)) if all.remove_folder(key))
}

/// The folder of the records.
fn run() -> Result<Folder, Error> {
    Folder::make(Path::new(RUN))
}

/// The folder of all pins, in a BPF file system.
pub(crate) fn pins(make: bool) -> Result<Option<Folder>, Error> {
    let none = || {
        Error::System(format!(
            "no BPF file system at {BPF_FILE_SYSTEM}: mount -t bpf -o mode=0700 bpf {BPF_FILE_SYSTEM} \
             (ip netns exec NAME hides it: use nsenter --net=/run/netns/NAME)"
        ))
    };
    if !system::is_file_system(Path::new(BPF_FILE_SYSTEM), BPF_FS) {
        return Err(none());
    }
    let folder = match make {
        true => Some(Folder::make(Path::new(PINS))?),
        false => Folder::open(Path::new(PINS))?,
    };
    // Mounted over since.
    folder.map(|folder| if folder.is_in(BPF_FS) { Ok(folder) } else { Err(none()) }).transpose()
}

/// How long another command may be at work before this one says that it waits for it, and before it gives up.
const SAID_AFTER: Duration = Duration::from_secs(1);
const GIVEN_UP_AFTER: Duration = Duration::from_secs(300);
/// How long who only looks may have a lock.
const A_LOOK: Duration = Duration::from_secs(1);
/// Characters of another's command that are shown.
const LONGEST_LINE: usize = 200;
/// How often to try again.
const EVERY: Duration = Duration::from_millis(5);

/// Only one process at a time changes what is attached: until this is dropped, others wait.
///
/// # Errors
/// Without the right to, or if another does not come to its end.
pub(crate) fn alone() -> Result<File, Error> {
    let file = run()?.lock(true)?.ok_or_else(|| Error::System(format!("{RUN}/{LOCK} is gone again")))?;
    wait_alone(&file)?;
    // What is changed is looked at by its pins, which are to be ours.
    pins(false)?;
    Ok(file)
}

/// The same, with the file of [`alone`], which who has to wait for often keeps open.
pub(crate) fn wait_alone(file: &File) -> Result<(), Error> {
    let wrong = |e: Errno| Error::System(format!("{RUN}/{LOCK}: {e}"));
    if lock(file, SAID_AFTER).map_err(wrong)? {
        return Ok(());
    }
    // Nobody may read it any more.
    let holds = holder(file);
    let _ = writeln!(io::stderr(), "queuewright: waiting for {holds}, which changes what is attached");
    match lock(file, GIVEN_UP_AFTER - SAID_AFTER).map_err(wrong)? {
        true => Ok(()),
        false => Err(Error::System(format!(
            "{} has held {RUN}/{LOCK} for {} s: look what it does, end it and try again",
            holder(file),
            GIVEN_UP_AFTER.as_secs()
        ))),
    }
}

/// Locks a file, trying for so long. False: somebody else has it still.
fn lock(file: &File, patience: Duration) -> Result<bool, Errno> {
    let begun = Instant::now();
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(true),
            Err(Errno::WOULDBLOCK) if begun.elapsed() >= patience => return Ok(false),
            Err(Errno::WOULDBLOCK) => sleep(EVERY),
            Err(Errno::INTR) => {}
            Err(e) => return Err(e),
        }
    }
}

/// Who has locked a file, in words.
fn holder(file: &File) -> String {
    let locks = system::read("/proc/locks").unwrap_or_default();
    let Some(pid) = file.metadata().ok().and_then(|meta| locker(&locks, meta.dev(), meta.ino())) else {
        return "another command".into();
    };
    match fs::read(format!("/proc/{pid}/cmdline")) {
        Ok(words) if !words.is_empty() => format!("process {pid} ({})", command(&words)),
        _ => format!("what process {pid} has started"),
    }
}

/// A command by its words, each with a 0 behind it, of which a line holds the first.
fn command(words: &[u8]) -> String {
    let words = words.strip_suffix(&[0]).unwrap_or(words).split(|byte| *byte == 0);
    let shown: Vec<String> = words.map(|word| names::shown(OsStr::from_bytes(word))).collect();
    let line = shown.join(" ");
    match line.char_indices().nth(LONGEST_LINE) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

/// The process that has taken a file's lock, by `/proc/locks`, which shows those that this one may know of.
fn locker(locks: &str, device: u64, inode: u64) -> Option<u32> {
    let file = format!("{:02x}:{:02x}:{inode}", libc::major(device), libc::minor(device));
    let of = |line: &str| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        // Number, kind, whether it binds, for what, of whom, of which file; those that wait have an arrow before the kind.
        let ours = words.get(1) == Some(&"FLOCK") && words.get(5) == Some(&file.as_str());
        ours.then(|| words.get(4)?.parse().ok())?
    };
    locks.lines().find_map(of)
}

/// Is nobody at work now?
pub(crate) fn nobody_is_at_work() -> bool {
    let run = Folder::open(Path::new(RUN)).ok().flatten();
    let Some(file) = run.and_then(|run| run.lock(false).ok().flatten()) else { return true };
    flock(&file, FlockOperation::NonBlockingLockShared).is_ok()
}

/// The record of the same device as it is now, whatever that is called.
pub(crate) fn again(attached: &Record) -> Option<Record> {
    records().ok()?.into_iter().find(|r| r.is_of(attached))
}

/// What is attached to a device of this network namespace; of what is gone, to one that had this name.
pub fn record(dev: &str) -> Option<Record> {
    record_of(dev).ok()?
}

fn record_of(dev: &str) -> Result<Option<Record>, Error> {
    let all = records()?;
    if let Some(of) = dev.strip_suffix(INCOMING) {
        return ingress_of(of);
    }
    let found = match names::index(dev) {
        Some(index) => all.iter().find(|r| r.index == index && !r.is_incoming()),
        None => None,
    };
    Ok(found.or_else(|| all.iter().find(|r| r.dev == dev && r.name().is_none())).cloned())
}

/// What is attached to a device, or why there is nothing.
///
/// # Errors
/// If nothing is, the device is not there or is called something else now, or without the right to look.
pub fn attached(dev: &str) -> Result<Record, Error> {
    let Some(found) = record_of(dev)? else {
        if let Some(now) = renamed(dev)? {
            let now = names::quoted(&now.dev);
            return Err(Error::Input(format!(
                "{} is called {now} now, and what is attached to it is under that name",
                names::quoted(dev)
            )));
        }
        system::device(dev)?;
        let dev = names::with_name(dev);
        let why = format!("nothing of ours is attached to {dev}; queuewright attach does that");
        return Err(Error::Input(why));
    };
    // Else it would be read, changed or taken off by half.
    pins(false)?;
    Ok(found)
}

/// What manages the packets that come in on a device; of one that is gone, that had this name.
///
/// # Errors
/// Without the right to look.
pub fn ingress_of(dev: &str) -> Result<Option<Record>, Error> {
    Ok(ingress_as(dev)?.filter(|r| names::index(dev).is_some() || r.is_orphaned()))
}

/// The same, also of one that had this name and is called something else now, if no other has it.
pub(crate) fn ingress_as(dev: &str) -> Result<Option<Record>, Error> {
    let index = names::index(dev);
    let all: Vec<Record> = records()?.into_iter().filter(|record| record.ingress.is_some()).collect();
    let by_number = |r: &&Record| {
        let number = r.ingress.as_ref().map(|of| of.index);
        number.is_some() && number == index && !r.is_orphaned()
    };
    let by_name = |r: &&Record| {
        r.ingress.as_ref().is_some_and(|of| of.dev == dev) && (index.is_none() || r.is_orphaned())
    };
    Ok(all.iter().find(by_number).or_else(|| all.iter().find(by_name)).cloned())
}

/// What is attached to a device, or was attached to one of this name that is called something else now, if no other has it:
/// a unit of systemd's knows the name alone, and is stopped when that goes.
///
/// # Errors
/// As [`attached`].
pub(crate) fn attached_as(dev: &str) -> Result<Record, Error> {
    match renamed(dev)? {
        Some(renamed) if names::index(dev).is_none() => Ok(renamed),
        _ => attached(dev),
    }
}

/// What is attached to a device that had this name, and is called something else now.
fn renamed(dev: &str) -> Result<Option<Record>, Error> {
    Ok(here()?.into_iter().find(|(had, r)| had == dev && r.dev != dev).map(|(_, record)| record))
}

/// All that is attached in this network namespace.
///
/// # Errors
/// Without the right to look.
pub fn records() -> Result<Vec<Record>, Error> {
    Ok(here()?.into_iter().map(|(_, record)| record).collect())
}

/// The same, each with the name that its device had when it was written.
fn here() -> Result<Vec<(String, Record)>, Error> {
    let namespace = match system::namespace() {
        0 => return Err(Error::System("the network namespace that this is cannot be known".into())),
        cookie => cookie,
    };
    let all = everywhere()?.0.into_iter().filter(|r| r.namespace == namespace);
    let mut found: Vec<(String, Record)> = all
        .map(|mut record| {
            let now = names::name_of(record.index).map(|name| names::text_of(&name, record.index));
            let had = record.dev.clone();
            let incoming = if record.is_incoming() { INCOMING } else { "" };
            record.dev = now.map(|now| now + incoming).unwrap_or(record.dev);
            (had, record)
        })
        .collect();
    found.sort_by(|a, b| a.1.dev.cmp(&b.1.dev));
    Ok(found)
}

/// Name of a file that is no record, and what it is.
type Broken = (OsString, String);

/// All that is attached on this machine, under the names that the devices had then, and the names of files that are no
/// records, with what they are.
pub(crate) fn everywhere() -> Result<(Vec<Record>, Vec<Broken>), Error> {
    let (mut found, mut broken) = (Vec::new(), Vec::new());
    let Some(run) = Folder::open(Path::new(RUN))? else { return Ok((found, broken)) };
    for name in run.names()? {
        // The next that is written takes the place of what is unfinished.
        if name == UNFINISHED || name == LOCK {
            continue;
        }
        let Some(key) = name.to_str().and_then(|name| name.strip_suffix(".json")) else {
            broken.push((name, "no record".into()));
            continue;
        };
        let read = run.read(&name).and_then(|bytes| {
            serde_json::from_slice::<Record>(&bytes).map_err(|e| format!("no record: {e}"))
        });
        match read {
            Ok(record) if record.key() == key => found.push(record),
            Ok(_) => broken.push((name, "the record of another device".into())),
            Err(why) => broken.push((name, why)),
        }
    }
    Ok((found, broken))
}

/// What is wrong with the files of the records, each with its name: none of them keeps the others from being read.
///
/// # Errors
/// Without the right to look.
pub fn broken() -> Result<Vec<(String, Error)>, Error> {
    let said = |name: &OsStr, why: &str| {
        let mend = match is_given(name) {
            true => "queuewright doctor says what to do with it",
            false => FOREIGN,
        };
        Error::System(format!("{}; {mend}", file_that(name, why)))
    };
    let all = everywhere()?.1.into_iter();
    Ok(all.map(|(name, why)| (names::shown(&name), said(&name, &why))).collect())
}

/// What to do about a file or folder whose name this program gives to none.
pub(crate) const FOREIGN: &str = "not of this program, which leaves it: look what it is";

/// Is it a name that this program gives to a folder of pins, or a record; or that it gave to one that was being written?
pub(crate) fn is_given(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    let key = [".json", ".new"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let key = key.strip_suffix(INCOMING).unwrap_or(key);
    key.split_once(':').is_some_and(|(namespace, index)| is_number(namespace) && is_number(index))
}

/// Namespace and device of a key.
pub(crate) fn numbers(key: &str) -> Option<(u64, u32)> {
    let (namespace, index) = key.strip_suffix(INCOMING).unwrap_or(key).split_once(':')?;
    Some((namespace.parse().ok()?, index.parse().ok()?))
}

/// A file that is no record, and what it is.
pub(crate) fn file_that(name: &OsStr, why: &str) -> String {
    format!("{RUN}/{}: {}", names::shown(name), names::safe(why))
}

/// Removes a file that is no record.
pub(crate) fn remove_broken(name: &OsStr) -> bool {
    run().is_ok_and(|run| run.remove(name) || run.remove_folder(name))
}

/// Removes what a kill has left of a file that was being written. Nobody may be writing one.
pub(crate) fn remove_unfinished() {
    if let Ok(run) = run() {
        run.remove(UNFINISHED);
    }
}

/// Folders of pins that no record is about.
pub(crate) fn strays(records: &[Record]) -> Vec<OsString> {
    let Ok(Some(all)) = pins(false) else { return Vec::new() };
    let mut names = all.names().unwrap_or_default();
    names.retain(|name| !records.iter().any(|r| *name == *r.key()));
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_is_not_given_back_is_waited_for_no_longer_than_that() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let [one, other] = [(); 2].map(|()| File::open(file.path()).expect("it is there"));
        assert_eq!(lock(&one, Duration::ZERO), Ok(true));
        assert_eq!(lock(&other, Duration::ZERO), Ok(false));
        let me = std::process::id();
        let said = holder(&other);
        // Where /proc/locks has another device's number than the file, nobody knows.
        assert!(said.starts_with(&format!("process {me} (")) || said == "another command", "{said}");
        drop(one);
        assert_eq!(lock(&other, Duration::ZERO), Ok(true));
    }

    #[test]
    fn names_that_this_program_gives_are_two_numbers() {
        let given = |name: &str| is_given(name.as_ref());
        assert!(["1:2", "4026531840:17", "1:2.json", "1:2.new"].map(given).iter().all(|is| *is));
        let others =
            ["", ":", "1:", ":2", "1:2:3", "1:2x", "-1:2", "1:2.json.json", "1:2.txt", "theirs", "lock"];
        assert!(!others.map(given).iter().any(|is| *is));
    }

    #[test]
    fn a_command_is_shown_as_a_shell_reads_it() {
        assert_eq!(command(b"queuewright\0set\0v0\0"), "queuewright set v0");
        assert_eq!(command(b"sh\0-c\0a b\x1b\xff\0\0"), "sh -c $'a b\\x1b\\xff' $''");
        assert_eq!(command(&[b'x'; 1000]).len(), LONGEST_LINE + 3);
    }

    #[test]
    fn who_holds_a_lock_is_read_from_proc() {
        let locks = "1: POSIX  ADVISORY  WRITE 900 00:19:77 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 901 00:19:78 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 902 00:19:77 0 EOF\n\
                     3: -> FLOCK  ADVISORY  WRITE 903 00:19:77 0 EOF\n";
        assert_eq!(locker(locks, libc::makedev(0, 0x19), 77), Some(902));
        assert_eq!(locker(locks, libc::makedev(8, 1), 77), None);
    }
}
