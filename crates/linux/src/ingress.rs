//! What comes in on a device: a program at its tcx ingress hook hands it to a device made for that (an IFB, intermediate functional
//! block device), where a discipline manages it as it does what goes out of any other.

use crate::hosts::{Host, INGRESS};
use crate::netlink::{self, Link};
use crate::port::Port;
use crate::record::{REDIRECT, REDIRECT_LINK, Record};
use crate::{Error, libbpf, names, objects, system};
use libbpf_rs::ObjectBuilder;

/// What the kernel calls devices of this kind.
const KIND: &str = "ifb";
/// From this number on are those that this program makes: the kernel gives the lowest that is free, and nobody comes so far. So no
/// other device ever has the number of one that is gone.
const FIRST_NUMBER: u32 = 1 << 30;
/// Characters of a device's name (`IFNAMSIZ - 1`).
const NAME: usize = 15;
/// Parents of filters that look at what comes in: of `clsact` (`TC_H_MIN_INGRESS`), and of `ingress`.
const PARENTS: [u32; 2] = [0xffff_fff2, 0xffff_0000];
/// What the program says of a packet that it hands over (`TC_ACT_REDIRECT` of linux/pkt_cls.h).
const HANDS_OVER: u32 = 7;

/// What the IFB of a device is to be called; by its number where its name is too long, no text, or taken.
///
/// # Errors
/// If all that it could be called is another's.
pub(crate) fn name_for(dev: &str, index: u32, known: &[Record]) -> Result<String, Error> {
    let links = netlink::links()?;
    // What is left of an earlier one for the same device goes first.
    let goes = |name: &str| {
        let of = |record: &&Record| record.dev == name && record.ingress.is_some();
        known
            .iter()
            .find(of)
            .is_some_and(|r| r.ingress.as_ref().is_some_and(|of| of.index == index) || r.is_orphaned())
    };
    let is_free = |name: &String| !links.iter().any(|link| link.name == **name) || goes(name);
    let all = names_for(dev, index);
    let first = all.first().cloned().unwrap_or_default();
    all.into_iter().find(is_free).ok_or_else(|| {
        Error::Input(format!(
            "a device {0} is there already, and none of ours: rename it (ip link set dev {0} name NEW)",
            names::quoted(&first)
        ))
    })
}

fn names_for(dev: &str, index: u32) -> Vec<String> {
    let by_number = format!("ifb-{index}");
    match format!("ifb-{dev}") {
        name if name.len() <= NAME && !dev.contains(':') && name != by_number => vec![name, by_number],
        _ => vec![by_number],
    }
}

/// Why what comes in on a device cannot be managed, if it cannot.
///
/// # Errors
/// What stands in the way.
pub(crate) fn check(dev: &str, index: u32) -> Result<(), Error> {
    match has_filters(index)? {
        true => Err(Error::Input(format!(
            "{0} has filters at its ingress, which would see no packet any more: remove them first (tc filter del dev {0} ingress)",
            names::quoted(dev)
        ))),
        false => Ok(()),
    }
}

fn has_filters(index: u32) -> Result<bool, Error> {
    let mut found = false;
    for parent in PARENTS {
        found |= !netlink::filters(index, parent)?.is_empty();
    }
    Ok(found)
}

/// Bytes of a link's header that packets have which come without one (`ETH_HLEN` of linux/if_ether.h).
const HEADER: i32 = 14;

/// What the link adds to each packet, as the IFB counts them: where the device gives them no header of a link, as `ppp0`, they get one. (In
/// front of htb none can be taken off.)
pub(crate) fn overhead(index: u32, port: &Port) -> Result<i32, Error> {
    let has_header = |link: &Link| link.index == index && link.is_ethernet;
    Ok(match netlink::links()?.iter().any(has_header) {
        true => port.overhead,
        false if port.front => (port.overhead - HEADER).max(0),
        false => (port.overhead - HEADER).max(-64),
    })
}

/// Hooks at which a program meets packets that come in, without tc's own at them.
pub(crate) fn needs_tcx(option: &str) -> Result<(), Error> {
    match system::has_tcx() {
        true => Ok(()),
        false => Err(Error::Input(format!(
            "{option} needs Linux {} or newer, with CONFIG_NET_XGRESS; this is {}",
            Host::Police.first_linux(),
            system::kernel()
        ))),
    }
}

/// A number for an IFB.
pub(crate) fn number() -> u32 {
    let mut drawn = [0; 4];
    // Without any there is but a chance more that it is taken, which the kernel says.
    let _ = rustix::rand::getrandom(&mut drawn, rustix::rand::GetRandomFlags::NONBLOCK);
    FIRST_NUMBER + u32::from_ne_bytes(drawn) % FIRST_NUMBER
}

/// Makes the IFB of a record, which has its address then.
pub(crate) fn make(record: &mut Record) -> Result<(), Error> {
    netlink::make_link(record.index, &record.dev, KIND)?;
    record.address = ifb_of(record)?.map(|link| link.address);
    Ok(())
}

/// The device that was made for a record, if it is here.
fn ifb_of(record: &Record) -> Result<Option<Link>, Error> {
    let is_it = |link: &Link| {
        link.index == record.index
            && link.kind == KIND
            && record.address.as_ref().is_none_or(|address| link.address == *address)
    };
    Ok(netlink::links()?.into_iter().find(is_it))
}

/// Loads the program that hands the device's packets to its IFB.
pub(crate) fn load(record: &Record) -> Result<(), Error> {
    libbpf::listen();
    let wrong = |e: libbpf_rs::Error| Error::System(format!("the program for what comes in: {e}"));
    let mut object = ObjectBuilder::default().open_memory(INGRESS).map_err(wrong)?;
    // `settings` of bpf/ingress.bpf.c.
    let settings = [&record.namespace.to_ne_bytes()[..], &record.index.to_ne_bytes(), &[0; 4]].concat();
    for mut map in object.maps_mut() {
        if let Some(at) = map.initial_value_mut().filter(|at| at.len() == settings.len()) {
            at.copy_from_slice(&settings);
        }
    }
    let object = object.load().map_err(wrong)?;
    for mut program in object.progs_mut() {
        program.pin(record.pin(REDIRECT)).map_err(wrong)?;
    }
    Ok(())
}

/// Why packets that come in pass by the IFB, if they do.
///
/// # Errors
/// If the kernel does not say.
pub(crate) fn passes_by(record: &Record) -> Result<Option<String>, Error> {
    let Some(of) = &record.ingress else { return Ok(None) };
    let (dev, ifb) = (names::quoted(&of.called()), names::quoted(&record.dev));
    Ok(match ifb_of(record)? {
        None => Some(format!("{ifb} is not here any more, so that packets pass by")),
        Some(link) if !link.is_up => Some(format!("{ifb} is down, so that packets pass by")),
        Some(_) if has_filters(of.index)? => {
            Some(format!("{dev} has filters at its ingress, which see no packet any more"))
        }
        // What else stands in the way the program itself knows: it is asked about a packet of the device's.
        Some(_) if objects::verdict_at(&record.pin(REDIRECT), of.index).is_some_and(|v| v != HANDS_OVER) => {
            Some(format!(
                "a hook of netfilter at {dev}'s ingress (nft list hooks) would see no packet, so that packets pass by"
            ))
        }
        Some(_) => None,
    })
}

/// Sets the IFB up again, if that is what is wrong.
pub(crate) fn mend(record: &Record) -> Result<(), Error> {
    match ifb_of(record)? {
        Some(link) if !link.is_up => netlink::set_up(link.index),
        _ => Ok(()),
    }
}

/// Takes it away again: first its packets pass by the IFB, then that goes with what waits in it.
pub(crate) fn take_off(record: &Record) {
    if record.ingress.is_none() || record.police {
        return;
    }
    record.remove_pin(REDIRECT_LINK);
    // One that goes at this moment is gone as well.
    if record.name().is_some()
        && let Ok(Some(link)) = ifb_of(record)
    {
        drop(netlink::delete_link(link.index));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_device_has_an_ifb_of_a_name_that_fits() {
        for (dev, names) in [
            ("eth0", &["ifb-eth0", "ifb-7"][..]),
            ("12345678901", &["ifb-12345678901", "ifb-7"]),
            ("123456789012", &["ifb-7"]),
            ("if:7", &["ifb-7"]),
            ("7", &["ifb-7"]),
        ] {
            assert_eq!(names_for(dev, 7), names);
            assert!(names.iter().all(|name| name.len() <= NAME));
        }
    }
}
