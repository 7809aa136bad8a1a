//! What is remembered of an attached qdisc: a file under /run/queuewright, pins under /sys/fs/bpf/queuewright, both for
//! root alone.

use crate::{Error, system};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

const RUN: &str = "/run/queuewright";
const PINS: &str = "/sys/fs/bpf/queuewright";

/// An attached qdisc.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Device.
    pub dev: String,
    /// The queue manager with its parameters, as given: `titrate:interval=500ms`.
    pub text: String,
    /// Name of the discipline.
    pub discipline: String,
    /// Kind of the qdisc in tc.
    pub kind: String,
    /// Packets that it has memory for.
    pub slots: u32,
    /// Queue managers: 1, the root qdisc, or one for each transmit queue below mq.
    pub instances: u32,
    /// The queue manager is htb's classifier, and no qdisc of its own.
    #[serde(default)]
    pub front: bool,
    /// In front of htb with several queues, each a class: their names. None: there is one queue.
    #[serde(default)]
    pub classes: Vec<String>,
    /// What was the root before, in tc's words; None: the kernel's own choice.
    pub before: Option<String>,
}

impl Record {
    /// What tc is told to put a qdisc of its own there, the root first.
    pub(crate) fn tc(&self) -> impl Iterator<Item = String> {
        let Record { dev, kind, instances, .. } = self;
        let root = if *instances > 1 { "handle 1: mq" } else { kind };
        let below = if *instances > 1 { *instances } else { 0 };
        [format!("qdisc replace dev {dev} root {root}")]
            .into_iter()
            .chain((1..=below).map(move |queue| format!("qdisc replace dev {dev} parent 1:{queue:x} {kind}")))
    }

    /// Folder of its pinned maps.
    pub(crate) fn pins(&self) -> PathBuf {
        // The BPF file system takes no dots, and devices no colons.
        Path::new(PINS).join(key(&self.dev).replace('.', ":"))
    }

    pub(crate) fn pin(&self, map: &str) -> PathBuf {
        self.pins().join(map)
    }

    pub(crate) fn write(&self) -> Result<(), Error> {
        folder(Path::new(RUN))?;
        let path = file(&self.dev);
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        // Whole or not at all, whenever it is read.
        let new = path.with_extension("new");
        let wrote = fs::write(&new, text)
            .and_then(|()| fs::set_permissions(&new, fs::Permissions::from_mode(0o600)))
            .and_then(|()| fs::rename(&new, &path));
        wrote.map_err(|e| Error::System(format!("{}: {e}", path.display())))
    }

    /// Makes the folder of the pins, empty.
    pub(crate) fn make_pins(&self) -> Result<(), Error> {
        folder(Path::new(PINS))?;
        let _ = fs::remove_dir_all(self.pins());
        folder(&self.pins())
    }

    /// Forgets file and pins.
    pub(crate) fn forget(&self) {
        for entry in fs::read_dir(self.pins()).into_iter().flatten().flatten() {
            let _ = fs::remove_file(entry.path());
        }
        let _ = fs::remove_dir(self.pins());
        let _ = fs::remove_file(file(&self.dev));
    }
}

/// Only one process at a time changes what is attached: until this is dropped, others wait.
///
/// # Errors
/// Without the right to.
pub(crate) fn alone() -> Result<File, Error> {
    folder(Path::new(RUN))?;
    let wrong = |e: std::io::Error| Error::System(format!("{RUN}: {e}"));
    let held = File::open(RUN).map_err(wrong)?;
    flock(&held, FlockOperation::LockExclusive).map_err(|e| wrong(e.into()))?;
    Ok(held)
}

/// What is attached to a device of this network namespace.
pub fn record(dev: &str) -> Option<Record> {
    serde_json::from_slice(&fs::read(file(dev)).ok()?).ok()
}

/// What is attached to a device, or why there is nothing.
///
/// # Errors
/// If nothing is, the device is not there, or without the right to look.
pub fn attached(dev: &str) -> Result<Record, Error> {
    let Some(found) = records()?.into_iter().find(|r| r.dev == dev) else {
        system::device(dev)?;
        let why = format!("nothing of ours is attached to {dev:?}; queuewright attach does that");
        return Err(Error::Input(why));
    };
    // Else it would be read, changed or taken off by half.
    system::bpf_file_system()?;
    Ok(found)
}

/// All that is attached in this network namespace.
///
/// # Errors
/// Without the right to look.
pub fn records() -> Result<Vec<Record>, Error> {
    let entries = match fs::read_dir(RUN) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => {
            return Err(Error::System(format!(
                "{RUN} is for root alone: run it with {}",
                system::with_sudo()
            )));
        }
        Err(e) => return Err(Error::System(format!("{RUN}: {e}"))),
    };
    let here = format!("{}.", system::namespace());
    let mut found: Vec<Record> = entries
        .flatten()
        .filter(|e| e.file_name().to_string_lossy().starts_with(&here))
        .filter_map(|e| serde_json::from_slice(&fs::read(e.path()).ok()?).ok())
        .collect();
    found.sort_by(|a, b| a.dev.cmp(&b.dev));
    Ok(found)
}

/// Devices of different network namespaces may share a name.
fn key(dev: &str) -> String {
    format!("{}.{dev}", system::namespace())
}

fn file(dev: &str) -> PathBuf {
    Path::new(RUN).join(key(dev) + ".json")
}

/// A folder that only its owner may enter.
fn folder(path: &Path) -> Result<(), Error> {
    let wrong = |e: std::io::Error| Error::System(format!("{}: {e}", path.display()));
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(wrong)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(wrong)
}
