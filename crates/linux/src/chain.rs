//! Is all of an attached qdisc there: its device, what tc has put at it, its programs and maps.

use crate::ingress;
use crate::namespaces::Elsewhere;
use crate::netlink::{self, Entry, number};
use crate::objects::{self, Hook};
use crate::port::{Port, port_map};
use crate::record::{
    COMPANION, COMPANION_LINK, Ingress, POLICE, POLICE_LINK, REDIRECT, REDIRECT_LINK, Record,
};
use crate::{Error, front, names, offload, shares, system};
use libbpf_rs::query::{LinkTypeInfo, MapInfoIter};
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, MapType, Program};
use std::collections::BTreeSet;
use std::fmt::Display;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// `BPF_STRUCT_OPS_STATE_INUSE` of the kernel, in the second word of a struct_ops map's value.
const IN_USE: [u8; 4] = 1u32.to_ne_bytes();

/// `ETH_P_ALL` of linux/if_ether.h.
const ETH_P_ALL: u16 = 3;

/// The kernel's number of what is pinned under one of a record's names.
pub(crate) fn pinned_id(record: &Record, name: &str) -> Option<u32> {
    let pin = record.pin(name);
    match name {
        "front" | REDIRECT | POLICE => objects::program_id(&pin),
        COMPANION_LINK | REDIRECT_LINK | POLICE_LINK => Link::open(pin).ok()?.info().ok().map(|link| link.id),
        _ => MapHandle::from_pinned_path(&pin).and_then(|map| map.info()).ok().map(|map| map.info.id),
    }
}

/// Has somebody else attached to its device since, and has his pins in the folder of its own? A container may have a `/run` of its own,
/// and share the BPF file system and the network namespace.
pub(crate) fn is_anothers(record: &Record) -> bool {
    // A place at a hook is made anew where it is mended, before the record says so.
    let places = [COMPANION_LINK, REDIRECT_LINK, POLICE_LINK];
    let mut lasting = record.ids.iter().filter(|(name, _)| !places.contains(&name.as_str()));
    lasting.any(|(name, id)| pinned_id(record, name).is_some_and(|found| found != *id))
}

/// Is what is at the root a qdisc of another record's, whose pins are elsewhere? Its handle is ours all the same.
fn is_of_another(record: &Record, shown: &[Entry]) -> bool {
    if record.instances > 1 {
        let ours = |q: &&Entry| q.kind == record.kind;
        return !shown.iter().any(|q| ours(&q)) && shown.iter().any(|q| names::is_kind(&q.kind));
    }
    let (Some(program), Ok(filters)) =
        (record.id("front"), netlink::filters(record.index, number(front::HANDLE)))
    else {
        return false;
    };
    // By the name that tc gave it: to ask for that of a program takes CAP_SYS_ADMIN.
    let asks =
        |f: &&Entry| f.kind == "bpf" && f.program_name().is_some_and(|name| name.starts_with(b"front:["));
    let mut programs = filters.iter().filter(asks).filter_map(Entry::program).peekable();
    programs.peek().is_some() && programs.all(|other| other != program)
}

/// Is its root qdisc among those of its device?
pub(crate) fn root_among(record: &Record, shown: &[Entry]) -> bool {
    if is_anothers(record) {
        return false;
    }
    match record {
        // There is no qdisc of ours, and what else is missing can be put back.
        Record { police: true, .. } => {
            record.name().is_some()
                && pinned_id(record, POLICE).is_some_and(|id| record.id(POLICE) == Some(id))
        }
        Record { front: true, .. } => front::is_among(shown) && !is_of_another(record, shown),
        // Before the others are below it, too.
        Record { instances: 2.., .. } => {
            let mq = |q: &Entry| q.is_root() && q.kind == "mq" && q.handle == number(front::HANDLE);
            shown.iter().any(mq) && !is_of_another(record, shown)
        }
        // tc chooses the handle where it is told to put it there.
        _ => shown.iter().any(|q| q.is_root() && q.kind == record.kind),
    }
}

/// What of an attached qdisc is not there, in words; none: it is whole.
///
/// # Errors
/// If the kernel does not say.
pub(crate) fn missing(record: &Record) -> Result<Vec<String>, Error> {
    let shown = shown(record)?;
    missing_of(record, &shown, root_among(record, &shown), &Elsewhere::default())
}

/// The qdiscs of the device of a record; none, if that is not here.
///
/// # Errors
/// If the kernel does not say: then nobody knows whether all is gone.
pub(crate) fn shown(record: &Record) -> Result<Vec<Entry>, Error> {
    record.name().map_or(Ok(Vec::new()), |_| netlink::qdiscs(record.index))
}

/// The same, with the qdiscs of its device, and whether its root is among them.
///
/// # Errors
/// If the kernel does not say.
pub(crate) fn missing_of(
    record: &Record,
    shown: &[Entry],
    there: bool,
    elsewhere: &Elsewhere,
) -> Result<Vec<String>, Error> {
    let mut out = Vec::new();
    if let Some(command) = record.unfinished() {
        out.push(format!("the end of {command}, which was killed"));
    }
    if record.name().is_none() {
        out.push(format!("its device: {}", elsewhere.words(record)));
        return Ok(out);
    }
    if !there {
        out.push(match record {
            Record { police: true, .. } => "the program that polices".into(),
            Record { instances: 2.., .. } => "the root qdisc mq".into(),
            Record { kind, .. } => format!("the root qdisc {kind}"),
        });
        return Ok(out);
    }
    let orphaned = record.is_orphaned();
    for (name, id) in &record.ids {
        let found = match name.as_str() {
            COMPANION_LINK => companion_of(record),
            REDIRECT_LINK => redirect_of(record),
            POLICE_LINK => policed_at(record),
            name => pinned_id(record, name),
        };
        if found != Some(*id) {
            out.push(match name.as_str() {
                COMPANION_LINK => "the program in front of it, which sets CE".into(),
                // Said below.
                REDIRECT_LINK | POLICE_LINK if orphaned => continue,
                POLICE_LINK => {
                    format!("the program at its tcx {} hook, which polices", hook_of(record).name())
                }
                REDIRECT_LINK => {
                    let dev = record.ingress.as_ref().map(Ingress::called).unwrap_or_default();
                    format!("the program at {}'s ingress, which hands it packets", names::quoted(&dev))
                }
                _ => format!("the pin {} of what was loaded", record.pin(name).display()),
            });
        }
    }
    if let Some(of) = record.ingress.as_ref().filter(|_| orphaned) {
        out.push(format!("the device whose packets it has: {} is not here any more", names::quoted(&of.dev)));
        return Ok(out);
    }
    if orphaned {
        out.push("its device: it has gone".into());
        return Ok(out);
    }
    if out.is_empty() && !record.police {
        out.extend(ingress::passes_by(record)?.map(|why| format!("nothing, but {why}")));
    }
    out.extend(offload::missing(record)?);
    match record.front {
        true => missing_front(record, shown, &mut out)?,
        false if record.instances > 1 => {
            let ours = shown.iter().filter(|q| q.kind == record.kind).count();
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
    Ok(out)
}

/// Of what is not whole: what mends it.
pub(crate) fn by_half(record: &Record, missing: &[String]) -> Error {
    Error::System(format!(
        "{}: {} is there by half, and lacks {}; queuewright doctor --repair puts that right",
        names::quoted(&record.dev),
        record.text,
        missing.join("; ")
    ))
}

fn missing_front(record: &Record, shown: &[Entry], out: &mut Vec<String>) -> Result<(), Error> {
    let classes = netlink::classes(record.index)?;
    let found = |class: &str| classes.iter().find(|c| c.kind == front::KIND && c.handle == number(class));
    let first = format!("{}:1", front::HANDLE);
    match found(&first) {
        None => out.push(format!("the class {first}")),
        Some(class) => match port_map(record) {
            Err(e) if out.is_empty() => out.push(format!("settings of its port that can be read: {e}")),
            // Its pin is gone, which has been said.
            Err(_) => {}
            Ok(port) => {
                let rate = port.rate_bits();
                // htb has whole bytes a second.
                let other = class.rates().unwrap_or_default().into_iter().find(|found| *found != rate / 8);
                if let Some(found) = other {
                    let found = found.saturating_mul(8);
                    out.push(format!("the class {first} at {rate}bit (it has {found}bit)"));
                }
            }
        },
    }
    for class in (0..record.classes.len()).map(front::classid).filter(|class| found(class).is_none()) {
        out.push(format!("the class {class}"));
    }
    for leaf in front::leaf_handles(record) {
        let whole =
            |q: &&Entry| q.kind == "pfifo" && q.handle == number(&leaf) && q.packets() == Some(record.slots);
        if !shown.iter().any(|q| whole(&q)) {
            out.push(format!("the qdisc pfifo {leaf}"));
        }
    }
    // The other chains' are come to from those of chain 0 alone.
    let mut filters = netlink::filters(record.index, number(front::HANDLE))?;
    filters.retain(|filter| filter.chain() == 0);
    out.extend(filters_are_wrong(&filters, record.id("front")));
    if link_of(record).is_none() {
        out.push("the program at the tracepoint qdisc_dequeue".into());
    }
    Ok(())
}

/// Of the filters at htb's root there is to be one, which asks the program with this number about all packets.
fn filters_are_wrong(all: &[Entry], program: Option<u32>) -> Vec<String> {
    let asks = |f: &Entry| f.kind == "bpf" && program.is_some() && f.program() == program;
    let ours = |f: &&Entry| asks(f) && f.sees() == (front::PRIORITY, ETH_P_ALL);
    let mut out = Vec::new();
    if !all.iter().any(|f| ours(&f)) {
        out.push("the filter, htb's way to ask the discipline".into());
    }
    // A classifier, which has the handle 0, is told of with its filters; fw works without any, and is then told of alone.
    let mut others: BTreeSet<String> = all
        .iter()
        .filter(|f| f.kind != "bpf" || f.handle != 0 && !asks(f))
        .map(|f| names::quoted(&f.kind))
        .collect();
    if all.iter().filter(|f| f.handle != 0 && asks(f)).count() > usize::from(all.iter().any(|f| ours(&f))) {
        others.insert("bpf".into());
    }
    if !others.is_empty() {
        let others: Vec<String> = others.into_iter().collect();
        out.push(format!("nothing, but another filter is at the root too ({})", others.join(", ")));
    }
    out
}

/// Puts the program that sets CE before the device's qdisc, if one is needed and it is not there. The record has its number then.
pub(crate) fn attach_companion(record: &mut Record) -> Result<(), Error> {
    match record.pin(COMPANION).exists() {
        true => attach_at(record, COMPANION, COMPANION_LINK, record.index, Hook::Egress),
        false => Ok(()),
    }
}

/// Puts the program where the packets come in that an IFB is to have, if it is not there. The record has its number then.
pub(crate) fn attach_redirect(record: &mut Record) -> Result<(), Error> {
    let Some(of) = &record.ingress else { return Ok(()) };
    let index = of.index;
    attach_at(record, REDIRECT, REDIRECT_LINK, index, Hook::Ingress)
}

/// Puts the program that polices at its device, if it is not there. The record has its number then.
pub(crate) fn attach_police(record: &mut Record) -> Result<(), Error> {
    attach_at(record, POLICE, POLICE_LINK, record.index, hook_of(record))
}

/// Where it polices.
fn hook_of(record: &Record) -> Hook {
    if record.is_incoming() { Hook::Ingress } else { Hook::Egress }
}

fn attach_at(record: &mut Record, program: &str, link: &str, index: u32, hook: Hook) -> Result<(), Error> {
    let (program, pin) = (record.pin(program), record.pin(link));
    let dev = names::name_of(index).map_or_else(|| format!("device {index}"), |name| names::shown(&name));
    let wrong =
        |e: &dyn Display| Error::System(format!("{dev}: no program at its tcx {} hook: {e}", hook.name()));
    if !pin.exists() {
        let program = Program::fd_from_pinned_path(program).map_err(|e| wrong(&e))?;
        objects::attach_tcx(program.as_fd(), index as i32, hook, &pin).map_err(|e| wrong(&e))?;
    }
    let info = Link::open(&pin).and_then(|link| link.info()).map_err(|e| wrong(&e))?;
    record.ids.retain(|(name, _)| name != link);
    record.ids.push((link.into(), info.id));
    Ok(())
}

/// The place of the program that sets CE, if it is at the record's device; without its pin it is at none.
fn companion_of(record: &Record) -> Option<u32> {
    placed_at(record, COMPANION_LINK, record.index)
}

/// The place of the program that hands it packets, if it is at the device that they come in on.
fn redirect_of(record: &Record) -> Option<u32> {
    placed_at(record, REDIRECT_LINK, record.ingress.as_ref()?.index)
}

/// The place of the program that polices.
fn policed_at(record: &Record) -> Option<u32> {
    placed_at(record, POLICE_LINK, record.index)
}

/// Is the place of a program, pinned at `pin`, at a device?
pub(crate) fn is_at_a_device(pin: &Path) -> bool {
    let info = Link::open(pin).and_then(|link| link.info());
    info.is_ok_and(|link| matches!(&link.info, LinkTypeInfo::Tcx(tcx) if tcx.ifindex != 0))
}

fn placed_at(record: &Record, pin: &str, index: u32) -> Option<u32> {
    let link = Link::open(record.pin(pin)).ok()?.info().ok()?;
    matches!(&link.info, LinkTypeInfo::Tcx(tcx) if tcx.ifindex == index).then_some(link.id)
}

/// The program's place at the tracepoint.
fn link_of(record: &Record) -> Option<u32> {
    // Of the pin itself: to look through all links takes CAP_SYS_ADMIN.
    let link = Link::open(record.pin("left")).ok()?.info().ok()?;
    let at = matches!(&link.info, LinkTypeInfo::RawTracepoint(t) if t.name.contains("qdisc_dequeue"));
    at.then_some(link.id)
}

/// Puts back what is missing below a root that is there.
///
/// # Errors
/// If that is not all: what was loaded is gone, or tc refuses.
pub(crate) fn mend(alone: &File, record: &Record) -> Result<(), Error> {
    let dev = record.device()?;
    let mut record = record.clone();
    let needed = record.id(COMPANION_LINK);
    if needed.is_some() && companion_of(&record) != needed {
        record.remove_pin(COMPANION_LINK);
        attach_companion(&mut record)?;
        record.write()?;
    }
    if record.police {
        if policed_at(&record) != record.id(POLICE_LINK) {
            record.remove_pin(POLICE_LINK);
            attach_police(&mut record)?;
            record.write()?;
        }
    } else if record.ingress.is_some() && redirect_of(&record) != record.id(REDIRECT_LINK) {
        record.remove_pin(REDIRECT_LINK);
        attach_redirect(&mut record)?;
        record.write()?;
    }
    if record.ingress.is_some() && !record.police {
        ingress::mend(&record)?;
    }
    // What others have set since is what is to be given back.
    if offload::remember(&mut record)? {
        record.write()?;
    }
    let record = &record;
    offload::split(record)?;
    let shown = shown(record)?;
    if !root_among(record, &shown) {
        return Err(again(record, &missing_of(record, &shown, false, &Elsewhere::default())?));
    }
    if record.front {
        let port = Port::from_map(&port_map(record)?, record);
        // Without its map the queues have like shares, and what is missing is said below.
        shares::restore_to(alone, &dev, record, &port, &shares::read(record).unwrap_or_default())?;
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
    let dev = names::quoted(&record.dev);
    Error::System(format!(
        "{dev}: {} cannot be put back: queuewright detach {dev}, then queuewright attach {dev} {}",
        missing.join("; "),
        record.text
    ))
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
    use super::*;

    #[test]
    fn every_filter_but_ours_is_named() {
        let filter = |kind: &str, handle, program, (priority, protocol): (u16, u16)| {
            Entry::filter(kind, handle, program, priority, protocol)
        };
        let all = (front::PRIORITY, ETH_P_ALL);
        let bpf = |handle, program| filter("bpf", handle, Some(program), all);
        let ours = [filter("bpf", 0, None, all), bpf(1, 7)];
        let said = |more: &[Entry]| filters_are_wrong(&[&ours, more].concat(), Some(7)).join("; ");
        assert_eq!(said(&[]), "");
        // fw by its handles, or with none, by marks alone.
        let one = (9, ETH_P_ALL);
        assert!(said(&[filter("fw", 0, None, one)]).ends_with("at the root too (fw)"));
        assert!(said(&[filter("fw", 0, None, one), filter("fw", 6, None, one)]).ends_with("too (fw)"));
        // u32 with its table, and a rule in it.
        let u32s = [0, 0x8000_0000, 0x8000_0800].map(|handle| filter("u32", handle, None, one));
        for n in 1..=3 {
            assert!(said(&u32s[..n]).ends_with("at the root too (u32)"), "{n}");
        }
        let both = [&u32s[..], &[filter("fw", 0, None, one)]].concat();
        assert!(said(&both).ends_with("at the root too (fw, u32)"));
        assert!(said(&[bpf(2, 8)]).ends_with("too (bpf)"));
        assert!(said(&[bpf(2, 7)]).ends_with("too (bpf)"));
        // Ours is lost.
        let lacks = |all: &[Entry]| filters_are_wrong(all, Some(7)).join("; ");
        assert_eq!(lacks(&[]), "the filter, htb's way to ask the discipline");
        for other in [&both[..], &[bpf(1, 8)]] {
            let said = lacks(other);
            assert!(said.starts_with("the filter") && said.contains("another filter"), "{said}");
        }
        // It sees some of the packets alone.
        let some = filter("bpf", 1, Some(7), (front::PRIORITY, 0x800));
        assert!(lacks(&[some]).starts_with("the filter"));
    }
}
