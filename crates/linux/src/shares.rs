//! The shares of a queue manager's queues that are classes of htb: it works them out itself, from what flows do, and htb has to be told.

use crate::maps::{QueueMap, of_value};
use crate::port::{Port, port_map};
use crate::record::{Record, again, alone, attached};
use crate::{Error, front, system};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use std::ffi::OsStr;
use std::fs::File;
use std::thread::sleep;
use std::time::Duration;

/// How often the queue manager's shares are looked at: rounds are seconds.
const EVERY: Duration = Duration::from_millis(250);
/// How often in a row tc may refuse.
const TRIES: u32 = 20;

/// The queues that are classes, as many as the record has.
///
/// # Errors
/// If there are not so many in the map, or it is of another version.
pub(crate) fn read(record: &Record) -> Result<Vec<QueueMap>, Error> {
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
        let dev = system::quoted(dev);
        return Err(Error::Input(format!("{dev} has a keeper already, another queuewright keep")));
    };
    let wrong = |e: libbpf_rs::Error| Error::System(format!("{dev}: {e}"));
    let pinned = || MapHandle::from_pinned_path(attached.pin("queues"))?.info().map(|map| map.info.id);
    let first = pinned().map_err(wrong)?;
    // What is attached anew has maps of its own.
    let still_there = || pinned().is_ok_and(|id| id == first);
    let (mut told, mut tries) = (Vec::new(), TRIES);
    while let Some(record) = again(&attached).filter(|_| still_there()) {
        let read = read(&record).and_then(|queues| Ok((queues, port_map(&record)?)));
        let (queues, port) = match read {
            Ok(read) => read,
            Err(_) if !still_there() => break,
            Err(e) => return Err(e),
        };
        let port = Port::from_map(&port, &record);
        let shares = queues.iter().map(|q| q.share).collect::<Vec<_>>();
        let words = front::classes("change", &record, &port, &shares);
        if words != told {
            let alone = alone()?;
            // While this waited for the others.
            if again(&attached).is_some_and(|now| now != record) {
                continue;
            }
            let Some(dev) = record.name() else { break };
            match words.iter().try_for_each(|words| system::tc_change(&alone, &dev, words)) {
                Ok(()) => (told, tries) = (words, TRIES),
                Err(_) if !front::is_there(&dev) => break,
                // Somebody may be at work on the classes.
                Err(e) if tries == 0 => return Err(e),
                Err(_) => tries -= 1,
            }
        }
        sleep(EVERY);
    }
    Ok(())
}

/// Has htb's classes and their queues be what they are to be.
///
/// # Errors
/// If the shares cannot be read, or tc refuses.
pub(crate) fn restore(alone: &File, dev: &OsStr, record: &Record, port: &Port) -> Result<(), Error> {
    let shares: Vec<u32> = read(record)?.iter().map(|q| q.share).collect();
    let words = front::classes("replace", record, port, &shares);
    words
        .iter()
        .chain(&front::leaves("replace", record))
        .try_for_each(|words| system::tc_change(alone, dev, words))
}
