//! What was left behind: by commands that were killed, by namespaces that are gone, by other programs. First it is said,
//! then it is freed.

use crate::attach;
use crate::namespaces::{Elsewhere, Inventory, MAP, Object};
use crate::netlink::{Entry, number};
use crate::record::{self, PINS, Record, Stage, alone, everywhere};
use crate::{Error, chain, front, names, namespaces, system};
use libbpf_rs::{MapCore, MapHandle, MapType};
use std::cell::LazyCell;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::Path;

/// Something that is not as it should be.
#[derive(Debug, PartialEq, Eq)]
pub struct Fault {
    /// What it is, and of what.
    pub what: String,
    /// What [`repair`] does about it; else why it does nothing.
    pub mend: Result<&'static str, String>,
    way: Way,
}

impl Fault {
    /// It in a line, and what a command of this name does about it.
    pub fn line(&self, command: &str) -> String {
        match &self.mend {
            Ok(mend) => format!("{}; {command} {mend}", self.what),
            Err(why) => format!("{}; {why}", self.what),
        }
    }
}

/// The kernel lists no sockets of all namespaces, so that whoever decides has to know of them.
const FREES: &str =
    "frees its programs and maps (what a socket alone keeps is not seen: end such programs before)";

/// What else there is on this machine, of which this is not.
const UNKNOWN: &str = "not all of this machine can be looked at for who has it still, so that it stays";

#[derive(Debug, PartialEq, Eq)]
enum Way {
    Broken(OsString),
    Settle,
    Mend(Record),
    Keep(Record),
    Forget(Record),
    /// A folder of pins, and what was in it when it was looked at.
    Stray(OsString, Vec<Object>),
    Unregister(u32),
    Leave,
}

/// All that [`repair`] would mend.
///
/// # Errors
/// Without the right to look.
pub fn faults() -> Result<Vec<Fault>, Error> {
    // Where they are another's, what is attached would be judged by what he has put there.
    record::pins(false)?;
    let (all, broken) = everywhere()?;
    let (mut found, mut held) = (Vec::new(), Vec::new());
    let mut add = |what: String, mend, way| {
        // Whose name this program gives to none, another has put there.
        let (mend, way) = match way {
            Way::Broken(name) | Way::Stray(name, _) if !record::is_given(&name) => {
                (Err(record::FOREIGN.into()), Way::Leave)
            }
            way => (Ok(mend), way),
        };
        found.push(Fault { what, mend, way });
    };
    for (name, why) in broken {
        add(record::file_that(&name, &why), "removes it", Way::Broken(name));
    }
    let here = system::namespace();
    // What may be freed is listed first: what somebody attaches meanwhile is not in the list, and what has begun before is seen below.
    let (strays, registered) = (record::strays(&all), chain::registered());
    // It is much to look at, and not always needed.
    let living = LazyCell::new(namespaces::living);
    let elsewhere = Elsewhere::default();
    for record in &all {
        let of = format!("{} on {}", record.text, names::quoted(&record.dev));
        if record.namespace != here {
            if living.as_ref().is_none_or(|all| !all.has(record.namespace)) {
                let gone = if living.is_some() { "is gone" } else { "may be gone" };
                let what = format!("{of}, whose network namespace {gone}");
                held.push((what, FREES, Way::Forget(record.clone()), record.pins()));
            }
            continue;
        }
        let shown = chain::shown(record)?;
        let missing = chain::missing_of(record, &shown, &elsewhere)?;
        let there = chain::root_among(record, &shown);
        if let Some(unserved) = there.then(|| record.unserved()).flatten() {
            let what = format!("{of} lacks {unserved}");
            match record.agent {
                Some(_) => add(what, "puts back the parameters from before it", Way::Settle),
                None => add(what, "begins it again", Way::Keep(record.clone())),
            }
        }
        if missing.is_empty() {
            continue;
        }
        let what = format!("{of} lacks {}", missing.join("; "));
        match record.name() {
            None => add(what, "forgets it", Way::Forget(record.clone())),
            Some(_) if record.stage != Stage::Attached => {
                add(what, "finishes it or takes it back", Way::Settle)
            }
            Some(_) if !there => add(what, "forgets it", Way::Forget(record.clone())),
            Some(_) => add(what, "puts that back", Way::Mend(record.clone())),
        }
    }
    for name in strays {
        let what = format!("pins in {PINS}/{}, of nothing attached", names::shown(&name));
        match record::is_given(&name) {
            true => {
                let pins = Path::new(PINS).join(&name);
                let objects = living.as_ref().map(|all| all.pinned_in(&pins)).unwrap_or_default();
                held.push((what, "removes them", Way::Stray(name, objects), pins));
            }
            false => add(what, "", Way::Stray(name, Vec::new())),
        }
    }
    for (what, mend, way, pins) in held {
        let (mend, way) = match living.as_ref().map(|living| user(living, &pins)) {
            Some(None) => (Ok(mend), way),
            Some(Some(user)) => (Err(format!("{user} has it still, so that it stays")), Way::Leave),
            None => (Err(UNKNOWN.into()), Way::Leave),
        };
        found.push(Fault { what, mend, way });
    }
    for (id, kind) in registered {
        // Other programs have BPF qdiscs, too.
        if !attach::is_kind(&kind) || all.iter().any(|r| r.kind == kind) {
            continue;
        }
        let what = format!("the name {kind}, of nothing attached");
        let (mend, way) = match living.as_ref() {
            // Another's, who has a /run of his own.
            Some(all) if all.has_kind(&kind) || all.holds(&(MAP, id), None) => continue,
            Some(_) => (Ok("gives it back"), Way::Unregister(id)),
            None => (Err(UNKNOWN.into()), Way::Leave),
        };
        found.push(Fault { what, mend, way });
    }
    Ok(found)
}

/// Who has what is pinned in one of our folders, in words: a container with a `/run` of its own may have the record.
fn user(living: &Inventory, pins: &Path) -> Option<&'static str> {
    let name = pins.file_name().and_then(OsStr::to_str);
    let place = name.and_then(|name| name.split_once(':'));
    let shown =
        place.and_then(|(cookie, index)| Some(living.qdiscs(cookie.parse().ok()?, index.parse().ok()?)));
    let is_ours =
        |q: &&Entry| q.is_root() && (q.handle == number(front::HANDLE) || q.kind.starts_with("bpf_"));
    if shown.is_some_and(|all| all.iter().any(is_ours)) {
        return Some("its device");
    }
    let objects = living.pinned_in(pins);
    let elsewhere = objects.iter().any(|object| living.holds(object, Some(pins)));
    elsewhere.then_some("an open file or another pin")
}

/// Mends what was accepted of what [`faults`] has listed (None: all that is there); what could not be is said, a line each, and so is
/// what has come since. `keep` begins a process that is [`keep`](crate::keep) for a device, with the file as its standard input.
///
/// # Errors
/// Without the right to.
pub fn repair(
    accepted: Option<&[Fault]>,
    keep: impl Fn(&str, File) -> Result<(), Error>,
) -> Result<Vec<String>, Error> {
    system::rights()?;
    let alone = alone()?;
    let mut left = attach::settle(&alone, None)?;
    // As it is now, with nobody else at work.
    for fault in faults()? {
        // What it says may have changed: others choose the names of places.
        let same = |other: &Fault| other.way == fault.way && other.mend.is_ok();
        if fault.mend.is_ok() && accepted.is_some_and(|all| !all.iter().any(same)) {
            left.push(format!("{}: not in the list that was accepted; look again", fault.what));
            continue;
        }
        let done = match &fault.way {
            Way::Broken(name) => Ok(record::remove_broken(name)),
            Way::Settle => Ok(false),
            Way::Leave => Ok(true),
            Way::Mend(record) => chain::mend(&alone, record).map(|()| true),
            Way::Keep(record) => begin(record, &keep).map(|()| true),
            Way::Forget(record) => {
                attach::forget(record);
                Ok(true)
            }
            // Somebody may have attached there meanwhile.
            Way::Stray(name, objects) => {
                let same =
                    namespaces::pinned_now(&Path::new(PINS).join(name)).is_some_and(|now| now == *objects);
                for (_, id) in objects.iter().filter(|(kind, _)| same && *kind == MAP) {
                    unregister(*id);
                }
                Ok(same
                    && if objects.is_empty() {
                        record::forget_folder(name)
                    } else {
                        record::forget_pins(name)
                    })
            }
            Way::Unregister(id) => Ok(unregister(*id)),
        };
        match done {
            Ok(true) => {}
            Ok(false) => left.push(format!("{}: cannot be mended", fault.what)),
            Err(e) => left.push(e.to_string()),
        }
    }
    Ok(left)
}

/// Gives the name of a BPF qdisc back, by the number of its map; of other maps nothing changes.
fn unregister(id: u32) -> bool {
    MapHandle::from_map_id(id).is_ok_and(|map| {
        map.info().is_ok_and(|map| map.map_type() == MapType::StructOps)
            && map.delete(&0u32.to_ne_bytes()).is_ok()
    })
}

/// Begins the process that tells htb the shares, under the name that the device has now, if nobody else has meanwhile.
fn begin(record: &Record, keep: impl Fn(&str, File) -> Result<(), Error>) -> Result<(), Error> {
    let dev = record.device()?;
    match record.serve()? {
        Some(lock) => keep(&names::text_of(&dev, record.index), lock),
        None => Ok(()),
    }
}
