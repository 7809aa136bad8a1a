//! Is all of an attached qdisc there: its device, what tc has put at it, its programs and maps.

use crate::port::{Port, port_map};
use crate::record::{MQ, Record};
use crate::{Error, front, namespaces, objects, shares, system};
use libbpf_rs::query::{LinkTypeInfo, MapInfoIter};
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType};
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;

/// `BPF_STRUCT_OPS_STATE_INUSE` of the kernel, in the second word of a struct_ops map's value.
const IN_USE: [u8; 4] = 1u32.to_ne_bytes();

/// Is its root qdisc among those that tc has shown of its device?
pub(crate) fn root_among(record: &Record, shown: &[String]) -> bool {
    let begins = |text: String| shown.iter().any(|l| l.starts_with(&text));
    match record {
        Record { front: true, .. } => front::is_among(shown),
        // Before the others are below it, too.
        Record { instances: 2.., .. } => begins(format!("qdisc mq {MQ} root")),
        // tc chooses the handle where it is told to put it there.
        _ => begins(format!("qdisc {} ", record.kind)),
    }
}

/// What of an attached qdisc is not there, in words; none: it is whole.
///
/// # Errors
/// If tc does not say.
pub(crate) fn missing(record: &Record) -> Result<Vec<String>, Error> {
    Ok(missing_of(record, &shown(record)?))
}

/// What tc shows of the device of a record; nothing, if that is not here.
///
/// # Errors
/// If tc does not say: then nobody knows whether all is gone.
pub(crate) fn shown(record: &Record) -> Result<Vec<String>, Error> {
    record.name().map_or(Ok(Vec::new()), |dev| system::qdiscs(&dev))
}

/// The same, with what tc shows of its device.
pub(crate) fn missing_of(record: &Record, shown: &[String]) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(command) = record.unfinished() {
        out.push(format!("the end of {command}, which was killed"));
    }
    let Some(dev) = record.name() else {
        out.push(format!("its device: {}", where_is(record)));
        return out;
    };
    if !root_among(record, shown) {
        let kind = if record.instances > 1 { "mq" } else { &record.kind };
        out.push(format!("the root qdisc {kind}"));
        return out;
    }
    for (name, id) in &record.ids {
        let pin = record.pin(name);
        let found = match name.as_str() {
            "front" => objects::program_id(&pin),
            _ => MapHandle::from_pinned_path(&pin).and_then(|m| m.info()).ok().map(|m| m.info.id),
        };
        if found != Some(*id) {
            out.push(format!("the pin {} of what was loaded", pin.display()));
        }
    }
    match record.front {
        true => missing_front(record, &dev, shown, &mut out),
        false if record.instances > 1 => {
            let ours = shown.iter().filter(|l| l.starts_with(&format!("qdisc {} ", record.kind))).count();
            if ours != record.instances as usize {
                let (kind, of) = (&record.kind, record.instances);
                out.push(format!(
                    "{kind} at {} of {of} transmit queues",
                    of as usize - ours.min(of as usize)
                ));
            }
        }
        false => {}
    }
    out
}

/// Of what is not whole: what mends it.
pub(crate) fn by_half(record: &Record, missing: &[String]) -> Error {
    Error::System(format!(
        "{}: {} is there by half, and lacks {}; queuewright doctor --repair puts that right",
        system::quoted(&record.dev),
        record.text,
        missing.join("; ")
    ))
}

fn missing_front(record: &Record, dev: &OsStr, shown: &[String], out: &mut Vec<String>) {
    let classes = system::tc(dev, "class show dev {dev}").unwrap_or_default();
    let line = |class: &str| classes.lines().find(|l| l.starts_with(&format!("class htb {class} ")));
    let first = format!("{}:1", front::HANDLE);
    match line(&first) {
        None => out.push(format!("the class {first}")),
        Some(shown) => match port_map(record) {
            Err(e) if out.is_empty() => out.push(format!("settings of its port that can be read: {e}")),
            // Its pin is gone, which has been said.
            Err(_) => {}
            Ok(port) => {
                let rate = port.rate_bits();
                // tc shows rates cut, by a thousandth at most.
                let other = ["rate", "ceil"].map(|word| rate_of(shown, word));
                let other = other.into_iter().find(|found| found.abs_diff(rate) > rate / 500);
                if let Some(found) = other {
                    out.push(format!("the class {first} at {rate}bit (it has {found}bit)"));
                }
            }
        },
    }
    for class in (0..record.classes.len()).map(front::classid).filter(|class| line(class).is_none()) {
        out.push(format!("the class {class}"));
    }
    for leaf in front::leaf_handles(record) {
        let whole = |l: &&String| {
            l.starts_with(&format!("qdisc pfifo {leaf} parent "))
                && l.split(' ').any(|word| word == format!("{}p", record.slots))
        };
        if !shown.iter().any(|l| whole(&l)) {
            out.push(format!("the qdisc pfifo {leaf}"));
        }
    }
    let filters =
        system::tc(dev, &format!("filter show dev {{dev}} parent {}:", front::HANDLE)).unwrap_or_default();
    let id = record.ids.iter().find(|(name, _)| name == "front").map_or(0, |(_, id)| *id);
    let ours = |l: &str| {
        let words: Vec<&str> = l.split_ascii_whitespace().collect();
        words.contains(&"direct-action") && words.windows(2).any(|w| w[0] == "id" && w[1] == id.to_string())
    };
    if !filters.lines().any(ours) {
        out.push("the filter, htb's way to ask the queue manager".into());
    }
    if filters.lines().filter(|l| l.contains(" handle ")).count() > 1 {
        out.push("nothing, but another filter is at the root too".into());
    }
    if link_of(record).is_none() {
        out.push("the program at the tracepoint qdisc_dequeue".into());
    }
}

/// The program's place at the tracepoint.
fn link_of(record: &Record) -> Option<u32> {
    // Of the pin itself: to look through all links takes CAP_SYS_ADMIN.
    let link = libbpf_rs::Link::open(record.pin("left")).ok()?.info().ok()?;
    let at = matches!(&link.info, LinkTypeInfo::RawTracepoint(t) if t.name.contains("qdisc_dequeue"));
    at.then_some(link.id)
}

/// The rate, or ceiling, of a class, bits a second, in the line that tc has for it.
fn rate_of(line: &str, name: &str) -> u64 {
    let word = line.split_ascii_whitespace().skip_while(|w| *w != name).nth(1).unwrap_or_default();
    let digits = word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len());
    let (number, unit) = word.split_at(digits);
    let times = match unit {
        "Kbit" => 1_000,
        "Mbit" => 1_000_000,
        "Gbit" => 1_000_000_000,
        "Tbit" => 1_000_000_000_000,
        _ => 1,
    };
    number.parse::<u64>().unwrap_or(0).saturating_mul(times)
}

/// Puts back what is missing below a root that is there.
///
/// # Errors
/// If that is not all: what was loaded is gone, or tc refuses.
pub(crate) fn mend(alone: &File, record: &Record) -> Result<(), Error> {
    let dev = record.device()?;
    let shown = shown(record)?;
    if !root_among(record, &shown) {
        return Err(again(record, &missing_of(record, &shown)));
    }
    if record.front {
        let port = Port::from_map(&port_map(record)?, record);
        shares::restore(alone, &dev, record, &port)?;
        // None, another program's, or ours and others.
        let all = format!("filter del dev {{dev}} parent {}:", front::HANDLE);
        let _ = system::tc_change(alone, &dev, &all);
        system::tc_change(alone, &dev, &front::filter(record))?;
    } else if record.instances > 1 {
        record.tc().skip(1).try_for_each(|words| system::tc_change(alone, &dev, &words))?;
    }
    match missing(record)? {
        none if none.is_empty() => Ok(()),
        missing => Err(again(record, &missing)),
    }
}

fn again(record: &Record, missing: &[String]) -> Error {
    let dev = system::quoted(&record.dev);
    Error::System(format!(
        "{dev}: {} cannot be put back: queuewright detach {dev}, then queuewright attach {dev} {}",
        missing.join("; "),
        record.text
    ))
}

/// What has become of a device that is not in this namespace.
pub(crate) fn where_is(record: &Record) -> String {
    match namespaces::of_device(record) {
        Some(place) => format!("it has been moved to another network namespace ({place})"),
        None => "it has gone".into(),
    }
}

/// The kinds of BPF qdiscs that were made known by programs like this one, with their maps' numbers.
pub(crate) fn registered() -> Vec<(u32, String)> {
    let ours = MapInfoIter::default().filter(|m| m.ty == MapType::StructOps && m.name.as_bytes() == b"qdisc");
    ours.filter_map(|m| {
        let value = MapHandle::from_map_id(m.id).ok()?.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).ok()??;
        if value.get(4..8)? != IN_USE {
            return None;
        }
        // Among pointers, where the kernel's own layout has it.
        let at = value.windows(4).position(|w| w == b"bpf_")?;
        let name: Vec<u8> = value[at..].iter().copied().take(16).take_while(|b| *b != 0).collect();
        Some((m.id, String::from_utf8(name).ok()?))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::rate_of;

    #[test]
    fn the_rate_of_a_class_is_read_from_tcs_words() {
        let line = |rate: &str| {
            format!("class htb 7177:1 root leaf 7178: prio 0 rate {rate} ceil 1Gbit burst 3025b")
        };
        for (shown, rate) in
            [("20Mbit", 20_000_000), ("8Kbit", 8000), ("1200bit", 1200), ("3Gbit", 3_000_000_000)]
        {
            assert_eq!(rate_of(&line(shown), "rate"), rate);
            assert_eq!(rate_of(&line(shown), "ceil"), 1_000_000_000);
        }
        assert_eq!(rate_of("class htb 7177:1 root", "rate"), 0);
    }
}
