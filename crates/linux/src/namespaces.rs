//! The network namespaces of this machine: which of them are there still, and which has a device.

use crate::record::Record;
use crate::system;
use rustix::fs::OFlags;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;

/// A way to a namespace, open, so that it is there as long as this is: a process may end meanwhile. None: not ours to open.
type Way = (PathBuf, Option<File>);

/// The namespaces that some process is in or that are mounted somewhere, a way to each.
fn ways() -> Vec<Way> {
    let mut found: HashMap<(u64, u64), Way> = HashMap::new();
    let mut add = |path: PathBuf| {
        let Ok(meta) = fs::metadata(&path) else { return };
        let known = found.get(&(meta.dev(), meta.ino()));
        if known.is_some_and(|way| way.1.is_some()) {
            return;
        }
        // Without waiting for what is no namespace.
        let opened = OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(&path);
        let (key, file) = match opened {
            Ok(file) => match file.metadata() {
                Ok(meta) => ((meta.dev(), meta.ino()), Some(file)),
                Err(_) => return,
            },
            Err(e) if e.kind() == ErrorKind::PermissionDenied => ((meta.dev(), meta.ino()), None),
            // The process has ended. Where others are in the same namespace there is another way.
            Err(_) => return,
        };
        let way = found.entry(key).or_insert_with(|| (path, None));
        if way.1.is_none() {
            way.1 = file;
        }
    };
    add("/proc/self/ns/net".into());
    let mounts = system::read("/proc/self/mountinfo").unwrap_or_default();
    for line in mounts.lines() {
        // Parent, place in the file system, where it is mounted; the kernel writes a space as \040.
        let words: Vec<&str> = line.split(' ').collect();
        if words.get(3).is_some_and(|root| root.starts_with("net:[")) {
            add(words.get(4).copied().unwrap_or_default().replace("\\040", " ").into());
        }
    }
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        if process.file_name().to_string_lossy().parse::<u32>().is_ok() {
            for task in fs::read_dir(process.path().join("task")).into_iter().flatten().flatten() {
                add(task.path().join("ns/net"));
            }
        }
    }
    found.into_values().collect()
}

/// Does something in another namespace; None: this process may not go there.
fn inside<T: Send>(way: &Way, job: impl FnOnce() -> T + Send) -> Option<T> {
    let file = way.1.as_ref()?;
    // A thread of its own is there, and nobody else.
    std::thread::scope(|s| {
        let there = s.spawn(move || {
            move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).ok()?;
            Some(job())
        });
        there.join().ok().flatten()
    })
}

/// Cookies of all that are there; None: there are some into which this process may not go.
pub(crate) fn living() -> Option<Vec<u64>> {
    let here = system::namespace();
    let mut all = vec![here];
    for way in ways() {
        all.push(inside(&way, system::namespace)?);
    }
    Some(all)
}

/// Where the device of a record is, if it is in another namespace.
pub(crate) fn of_device(record: &Record) -> Option<String> {
    let address = record.address.as_deref()?;
    let has = || {
        let words = ["-j", "link", "show"].map(OsStr::new);
        let shown = system::json("ip", &words);
        shown.as_array().is_some_and(|all| {
            all.iter().any(|link| {
                let alike = link["ifindex"] == record.index || link["ifname"] == record.dev.as_str();
                alike && link["address"] == address
            })
        })
    };
    let here = system::namespace();
    let found = ways()
        .into_iter()
        .find(|way| inside(way, || system::namespace() != here && has()).unwrap_or(false))?;
    Some(found.0.display().to_string())
}
