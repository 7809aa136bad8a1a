//! The shares of a discipline's queues that are classes of htb: it works them out itself, from what flows do, and htb has to be told.

use crate::maps::{QueueMap, of_value};
use crate::port::{Port, port_map};
use crate::record::{Record, alone, attached, records};
use crate::{Error, front, names, system};
use libbpf_rs::{ErrorKind, MapCore, MapFlags, MapHandle};
use std::ffi::OsStr;
use std::fs::File;
use std::thread::sleep;
use std::time::Duration;

/// How often the discipline's shares are looked at: rounds are seconds.
const EVERY: Duration = Duration::from_millis(250);
/// How often in a row it may fail.
const TRIES: u32 = 20;

/// The shares of the queues that are classes, as many as the record has.
///
/// # Errors
/// If there are not so many in the map, or it is of another version.
pub(crate) fn read(record: &Record) -> Result<Vec<u32>, Error> {
    Ok(queues(record)?.iter().map(|q| q.share).collect())
}

/// The queues that are classes.
///
/// # Errors
/// As [`read`].
pub(crate) fn queues(record: &Record) -> Result<Vec<QueueMap>, Error> {
    if record.classes.is_empty() {
        return Ok(Vec::new());
    }
    let pin = record.pin("queues");
    let wrong = |e: libbpf_rs::Error| Error::System(format!("{}: {e}", pin.display()));
    let map = MapHandle::from_pinned_path(&pin).map_err(wrong)?;
    let one = |number: usize| {
        let found = map.lookup(&(number as u32).to_ne_bytes(), MapFlags::ANY).map_err(wrong)?;
        found
            .and_then(|bytes| of_value(&bytes))
            .ok_or_else(|| Error::System(format!("{}: of another version of this program", pin.display())))
    };
    (0..record.classes.len()).map(one).collect()
}

/// Tells htb the shares of the queues of what is attached to a device, whenever they have changed, for as long as it is
/// attached. With one queue there is nothing to tell, and it ends at once.
///
/// # Errors
/// If nothing is attached, another process does it already, or tc refuses.
pub fn keep(dev: &str) -> Result<(), Error> {
    let attached = attached(dev)?;
    if attached.classes.is_empty() {
        return Ok(());
    }
    system::rights()?;
    let Some(_served) = attached.serve()? else {
        let dev = names::quoted(dev);
        return Err(Error::Input(format!("{dev} has a keeper already, another queuewright keep")));
    };
    let first = id_of(&attached)?
        .ok_or_else(|| Error::System(format!("{}: it is gone", attached.pin("queues").display())))?;
    let (mut told, mut tries) = (Vec::new(), TRIES);
    loop {
        match round(&attached, first, &mut told) {
            Ok(true) => tries = TRIES,
            Ok(false) => return Ok(()),
            // Somebody may be at work on it, or the machine short of something.
            Err(e) if tries == 0 => return Err(e),
            Err(_) => tries -= 1,
        }
        sleep(EVERY);
    }
}

/// Number of the map of the queues; None: it is gone.
fn id_of(attached: &Record) -> Result<Option<u32>, Error> {
    let pin = attached.pin("queues");
    match MapHandle::from_pinned_path(&pin).and_then(|map| map.info()) {
        Ok(map) => Ok(Some(map.info.id)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Error::System(format!("{}: {e}", pin.display()))),
    }
}

/// Tells htb what has changed since it was `told`. False: what was attached, with the map of this number, is no longer there.
fn round(attached: &Record, first: u32, told: &mut Vec<String>) -> Result<bool, Error> {
    let now = || Ok(records()?.into_iter().find(|r| r.is_of(attached)));
    let Some(record) = now()? else { return Ok(false) };
    // What is attached anew has maps of its own.
    if id_of(attached)? != Some(first) {
        return Ok(false);
    }
    let shares = read(&record)?;
    let port = Port::from_map(&port_map(&record)?, &record);
    let words = front::classes("change", &record, &port, &shares);
    if words == *told {
        return Ok(true);
    }
    let alone = alone()?;
    // While this waited for the others.
    if now()?.is_none_or(|now| now != record) {
        return Ok(true);
    }
    let Some(dev) = record.name() else { return Ok(false) };
    match words.iter().try_for_each(|words| system::tc_change(&alone, &dev, words)) {
        Ok(()) => *told = words,
        Err(_) if !front::is_there(record.index)? => return Ok(false),
        Err(e) => return Err(e),
    }
    Ok(true)
}

/// Has htb's classes and their queues be what they are to be.
///
/// # Errors
/// If the shares cannot be read, or tc refuses.
pub(crate) fn restore(alone: &File, dev: &OsStr, record: &Record, port: &Port) -> Result<(), Error> {
    restore_to(alone, dev, record, port, &read(record)?)
}

/// The same, with these shares; none: all alike.
///
/// # Errors
/// If tc refuses.
pub(crate) fn restore_to(
    alone: &File,
    dev: &OsStr,
    record: &Record,
    port: &Port,
    shares: &[u32],
) -> Result<(), Error> {
    let words = front::classes("replace", record, port, shares);
    words
        .iter()
        .chain(&front::leaves("replace", record))
        .try_for_each(|words| system::tc_change(alone, dev, words))
}
