//! The shares of a queue manager's queues that are classes of htb: it works them out itself, from what flows do, and htb has to be told.

use crate::maps::{PortMap, QueueMap};
use crate::port::Port;
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

/// The first queues of the map.
pub(crate) fn read(map: &MapHandle, queues: usize) -> Option<Vec<QueueMap>> {
    let one = |number: usize| {
        let found = map.lookup(&(number as u32).to_ne_bytes(), MapFlags::ANY).ok()??;
        QueueMap::from_bytes(&found)
    };
    (0..queues).map(one).collect()
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
    let pinned = || {
        let map = MapHandle::from_pinned_path(attached.pin("queues"))?;
        let id = map.info()?.info.id;
        Ok((map, id))
    };
    let (_, first) = pinned().map_err(wrong)?;
    let (mut told, mut tries) = (Vec::new(), TRIES);
    loop {
        // What is attached anew has maps of its own.
        let (map, record) = match (pinned(), again(&attached)) {
            (Ok((map, id)), Some(record)) if id == first => (map, record),
            _ => return Ok(()),
        };
        let queues = read(&map, record.classes.len()).unwrap_or_default();
        let ports =
            MapHandle::from_pinned_path(record.pin("port")).and_then(|m| m.lookup(&[0; 4], MapFlags::ANY));
        let port = ports.ok().flatten().and_then(|bytes| PortMap::from_bytes(&bytes));
        if let Some(port) = port {
            let port = Port { rate: port.rate_bits(), overhead: port.overhead, ..Port::default() };
            let shares = queues.iter().map(|q| q.share).collect::<Vec<_>>();
            let words = front::classes("change", &record, &port, &shares);
            if words != told {
                let alone = alone()?;
                // While this waited for the others.
                if again(&attached).is_some_and(|now| now != record) {
                    continue;
                }
                let Some(dev) = record.name() else { return Ok(()) };
                match words.iter().try_for_each(|words| system::tc_change(&alone, &dev, words)) {
                    Ok(()) => (told, tries) = (words, TRIES),
                    Err(_) if !front::is_there(&dev) => return Ok(()),
                    // Somebody may be at work on the classes.
                    Err(e) if tries == 0 => return Err(e),
                    Err(_) => tries -= 1,
                }
            }
        }
        sleep(EVERY);
    }
}

/// Has htb's classes and their queues be what they are to be.
pub(crate) fn restore(alone: &File, dev: &OsStr, record: &Record, port: &Port) -> Result<(), Error> {
    let queues = MapHandle::from_pinned_path(record.pin("queues")).ok();
    let queues = queues.and_then(|map| read(&map, record.classes.len())).unwrap_or_default();
    let shares: Vec<u32> = queues.iter().map(|q| q.share).collect();
    let words = front::classes("replace", record, port, &shares);
    words
        .iter()
        .chain(&front::leaves("replace", record))
        .try_for_each(|words| system::tc_change(alone, dev, words))
}
