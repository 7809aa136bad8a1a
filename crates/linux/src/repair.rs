//! What was left behind: by commands that were killed, by namespaces that are gone, by other programs. First it is said,
//! then it is freed.

use crate::attach;
use crate::namespaces::{Elsewhere, Inventory};
use crate::netlink::{self, Entry, number};
use crate::pins::{MAP, Pinned, Place, pinned_now, place_of};
use crate::record::{self, PINS, Record, Stage, alone, everywhere};
use crate::{Error, chain, front, names, namespaces, system};
use std::cell::LazyCell;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::Path;

/// Something that is not as it should be.
#[derive(Debug)]
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

/// Why a record that cannot be read stays.
const ITS_VERSION: &str = "a qdisc of ours is at its device: the version that attached it takes it off";

/// Why what may be another's stays.
fn unknown(why: &str) -> String {
    format!("not all of this machine can be looked at for who has it still, so that it stays ({why})")
}

#[derive(Debug)]
enum Way {
    Broken(OsString),
    Settle(Record),
    Mend(Record),
    Keep(Record),
    Forget(Record),
    /// A folder of pins, and what was in it when it was looked at.
    Stray(OsString, Vec<Pinned>),
    Unregister(u32),
}

impl Way {
    /// Was it accepted with another? What a record says may have changed since by what was to be done with it.
    fn is_of(&self, other: &Way) -> bool {
        match (self, other) {
            (Way::Broken(a), Way::Broken(b)) => a == b,
            (Way::Stray(a, has), Way::Stray(b, had)) => a == b && has == had,
            (Way::Unregister(a), Way::Unregister(b)) => a == b,
            (Way::Settle(a) | Way::Mend(a) | Way::Keep(a) | Way::Forget(a), Way::Settle(b))
            | (Way::Mend(a), Way::Mend(b))
            | (Way::Keep(a), Way::Keep(b))
            | (Way::Forget(a), Way::Forget(b)) => a.is_of(b) && a.ids == b.ids,
            _ => false,
        }
    }
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
    let here = system::namespace();
    // What may be freed is listed first: what somebody attaches meanwhile is not in the list, and what has begun before is seen below.
    let (strays, registered) = (record::strays(&all), chain::registered());
    // It is much to look at, and not always needed.
    let living = LazyCell::new(namespaces::living);
    let elsewhere = Elsewhere::default();
    for (name, why) in broken {
        let what = record::file_that(&name, &why);
        // Of another version's, say, which alone knows what was there before.
        let mend = match key_of(&name) {
            _ if !record::is_given(&name) => Err(record::FOREIGN.into()),
            None => Ok("removes it"),
            // A policer has no qdisc, but a place of its own.
            _ if polices(&name) => Err(ITS_VERSION.into()),
            Some((cookie, index)) if cookie == here => match netlink::qdiscs(index)?.iter().any(is_ours) {
                true => Err(ITS_VERSION.into()),
                false => Ok("removes it"),
            },
            Some((cookie, index)) => match living.as_ref() {
                Ok(all) if !all.qdiscs(cookie, index).into_iter().any(is_ours) => Ok("removes it"),
                Ok(_) => Err(ITS_VERSION.into()),
                Err(why) => Err(unknown(why)),
            },
        };
        found.push(Fault { what, mend, way: Way::Broken(name) });
    }
    let mut add = |what: String, mend, way| {
        // Whose name this program gives to none, another has put there.
        let mend = match &way {
            Way::Stray(name, _) if !record::is_given(name) => Err(record::FOREIGN.into()),
            _ => Ok(mend),
        };
        found.push(Fault { what, mend, way });
    };
    for record in &all {
        let of = format!("{} on {}", record.text, names::quoted(&record.dev));
        if record.namespace != here {
            if living.as_ref().map_or(true, |all| !all.has(record.namespace)) {
                let gone = if living.is_ok() { "is gone" } else { "may be gone" };
                let what = format!("{of}, whose network namespace {gone}");
                held.push((what, FREES, Way::Forget(record.clone()), record.pins()));
            }
            continue;
        }
        let shown = chain::shown(record)?;
        let there = chain::root_among(record, &shown);
        let missing = chain::missing_of(record, &shown, there, &elsewhere)?;
        if let Some(unserved) = there.then(|| record.unserved()).flatten() {
            let what = format!("{of} lacks {unserved}");
            match record.agent {
                Some(_) => add(what, "puts back the parameters from before it", Way::Settle(record.clone())),
                None => add(what, "begins it again", Way::Keep(record.clone())),
            }
        }
        if missing.is_empty() {
            continue;
        }
        let what = format!("{of} lacks {}", missing.join("; "));
        match record.name() {
            None => add(what, "forgets it", Way::Forget(record.clone())),
            Some(_) if !there => add(what, "forgets it", Way::Forget(record.clone())),
            // Nothing comes to it any more.
            Some(_) if record.is_orphaned() => add(what, "forgets it", Way::Forget(record.clone())),
            Some(_) if record.stage != Stage::Attached => {
                add(what, "finishes it or takes it back", Way::Settle(record.clone()))
            }
            Some(_) => add(what, "puts that back", Way::Mend(record.clone())),
        }
    }
    for name in strays {
        let what = format!("pins in {PINS}/{}, of nothing attached", names::shown(&name));
        match record::is_given(&name) {
            true => {
                let pins = Path::new(PINS).join(&name);
                held.push((what, "removes them", Way::Stray(name, Vec::new()), pins));
            }
            false => add(what, "", Way::Stray(name, Vec::new())),
        }
    }
    for (what, mend, mut way, pins) in held {
        let (living, place) = (living.as_ref(), place_of(&pins));
        let pinned = living.ok().zip(place.as_ref()).map(|(all, place)| all.pinned_in(place));
        let objects = pinned.unwrap_or_default();
        let user = living.map(|living| user(living, &pins, place.as_ref(), &objects, &registered));
        if let Way::Stray(_, had) = &mut way {
            *had = objects;
        }
        let mend = match user {
            Ok(None) => Ok(mend),
            Ok(Some(user)) => Err(format!("{user} has it still, so that it stays")),
            Err(why) => Err(unknown(why)),
        };
        found.push(Fault { what, mend, way });
    }
    for (id, kind) in registered {
        // Other programs have BPF qdiscs, too.
        if !names::is_kind(&kind) || all.iter().any(|r| r.kind == kind) {
            continue;
        }
        let what = format!("the name {kind}, of nothing attached");
        let mend = match living.as_ref() {
            // Another's, who has a /run of his own.
            Ok(all) if all.has_kind(&kind) || all.holds(&(MAP, id), None) => continue,
            Ok(_) => Ok("gives it back"),
            Err(why) => Err(unknown(why)),
        };
        found.push(Fault { what, mend, way: Way::Unregister(id) });
    }
    Ok(found)
}

/// Namespace and device that a record's file is named after; of another file none.
fn key_of(file: &OsStr) -> Option<(u64, u32)> {
    record::numbers(file.to_str()?.strip_suffix(".json")?)
}

/// Is a program at a device that belongs to the record in this file?
fn polices(file: &OsStr) -> bool {
    let key = file.to_str().and_then(|file| file.strip_suffix(".json"));
    let pins = key.map(|key| Path::new(PINS).join(key));
    pins.is_some_and(|pins| {
        [record::POLICE_LINK, record::REDIRECT_LINK]
            .iter()
            .any(|link| chain::is_at_a_device(&pins.join(link)))
    })
}

/// Is it a root that this program makes?
fn is_ours(qdisc: &Entry) -> bool {
    qdisc.is_root() && (qdisc.handle == number(front::HANDLE) || names::is_kind(&qdisc.kind))
}

/// Who has what is pinned in one of our folders, in words: a container with a `/run` of its own may have the record.
fn user(
    living: &Inventory,
    pins: &Path,
    place: Option<&Place>,
    objects: &[Pinned],
    registered: &[(u32, String)],
) -> Option<&'static str> {
    if objects.iter().any(|(name, _)| name == record::POLICE) {
        // A policer has no qdisc, but a place of its own.
        if chain::is_at_a_device(&pins.join(record::POLICE_LINK)) {
            return Some("its device, of which removing the pin police_link takes it off,");
        }
        return None;
    }
    let device = pins.file_name().and_then(|name| record::numbers(name.to_str()?));
    let shown = device.map(|(cookie, index)| living.qdiscs(cookie, index));
    if shown.is_some_and(|all| all.into_iter().any(is_ours)) {
        return Some("its device");
    }
    // A device may have the qdisc whose name one of them has given.
    let has = |(_, object): &Pinned| {
        registered.iter().any(|(id, kind)| *object == (MAP, *id) && living.has_kind(kind))
    };
    if objects.iter().any(has) {
        return Some("a device");
    }
    let elsewhere = objects.iter().any(|(_, object)| living.holds(object, place));
    elsewhere.then_some("an open file or another pin")
}

/// Mends what [`faults`] has listed, with `yes` also what has come since; what could not be is said, a line each. `keep` begins a process
/// that is [`keep`](crate::keep) for a device, with the file as its standard input.
///
/// # Errors
/// Without the right to.
pub fn repair(
    listed: &[Fault],
    yes: bool,
    keep: impl Fn(&str, File) -> Result<(), Error>,
) -> Result<Vec<String>, Error> {
    system::rights()?;
    let alone = alone()?;
    let mut left = attach::settle(&alone, None)?;
    // As it is now, with nobody else at work.
    for fault in faults()? {
        let was_to_be = listed.iter().any(|other| other.mend.is_ok() && fault.way.is_of(&other.way));
        if fault.mend.is_err() {
            // Somebody has it since.
            left.extend(was_to_be.then(|| fault.line("repair")));
            continue;
        }
        if !yes && !was_to_be {
            left.push(format!("{}: not in the list that was accepted; look again", fault.what));
            continue;
        }
        let done = match &fault.way {
            Way::Broken(name) => Ok(record::remove_broken(name)),
            Way::Settle(_) => Ok(false),
            Way::Mend(record) => chain::mend(&alone, record).map(|()| true),
            Way::Keep(record) => begin(record, &keep).map(|()| true),
            Way::Forget(record) => {
                attach::forget(record);
                Ok(true)
            }
            // Somebody may have attached there meanwhile.
            Way::Stray(name, objects) => {
                let now = pinned_now(&Path::new(PINS).join(name));
                let same = now.is_some_and(|now| now == *objects);
                let named = objects.iter().find(|(name, (kind, _))| name == "qdisc" && *kind == MAP);
                if let Some((_, (_, id))) = named.filter(|_| same) {
                    attach::unregister(*id);
                }
                Ok(same
                    && if objects.is_empty() {
                        record::forget_folder(name)
                    } else {
                        record::forget_pins(name)
                    })
            }
            Way::Unregister(id) => Ok(attach::unregister(*id)),
        };
        match done {
            Ok(true) => {}
            Ok(false) => left.push(format!("{}: cannot be mended", fault.what)),
            Err(e) => left.push(e.to_string()),
        }
    }
    Ok(left)
}

/// Begins the process that tells htb the shares, under the name that the device has now, if nobody else has meanwhile.
fn begin(record: &Record, keep: impl Fn(&str, File) -> Result<(), Error>) -> Result<(), Error> {
    let dev = record.device()?;
    match record.serve()? {
        Some(lock) => keep(&names::text_of(&dev, record.index), lock),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_accepted_is_known_again() {
        let record: Record = serde_json::from_value(serde_json::json!({
            "dev": "v0", "index": 7, "namespace": 1, "address": null, "stage": "attached", "text": "codel",
            "discipline": "codel", "kind": "htb", "slots": 9, "instances": 1, "front": true, "classes": [],
            "learned": null, "before": null, "ids": [["params", 5]], "agent": [1],
        }))
        .expect("a record");
        // An agent that was killed has been settled, and the device renamed.
        let settled = Record { agent: None, dev: "w0".into(), ..record.clone() };
        let other = Record { index: 8, ..record.clone() };
        let again = Record { ids: vec![("params".into(), 6)], ..record.clone() };
        for of in [Way::Settle, Way::Mend, Way::Keep, Way::Forget] {
            assert!(of(settled.clone()).is_of(&of(record.clone())));
            assert!(of(settled.clone()).is_of(&Way::Settle(record.clone())));
            assert!(!of(other.clone()).is_of(&of(record.clone())));
            assert!(!of(again.clone()).is_of(&of(record.clone())), "attached anew");
        }
        assert!(!Way::Forget(settled).is_of(&Way::Mend(record)));
        let stray = |id| Way::Stray("1:2".into(), vec![("params".into(), (MAP, id))]);
        assert!(stray(3).is_of(&stray(3)) && !stray(3).is_of(&stray(4)));
    }
}
