//! What comes in on a device: a program at its tcx ingress hook hands it to a device made for that (an IFB, intermediate functional
//! block device), where a discipline manages it as it does what goes out of any other.

use crate::hosts::{Host, INGRESS};
use crate::netlink::{self, Link};
use crate::offload::Gro;
use crate::port::Port;
use crate::record::{REDIRECT, REDIRECT_LINK, Record};
use crate::{Error, chain, libbpf, names, system};
use libbpf_rs::ObjectBuilder;
use serde::{Deserialize, Serialize};
use std::fs;

/// What the kernel calls devices of this kind.
const KIND: &str = "ifb";
/// The group of those that this program has made, by which one is known of which no record is.
const GROUP: u32 = 0x7177;
/// Characters of a device's name (`IFNAMSIZ - 1`).
const NAME: usize = 15;
/// Parents of filters that look at what comes in: of `clsact` (`TC_H_MIN_INGRESS`), and of `ingress`.
const PARENTS: [u32; 2] = [0xffff_fff2, 0xffff_0000];

/// Of a record whose device is an IFB: whose packets it has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ingress {
    /// Number of the device that they come in on, in the same network namespace.
    pub index: u32,
    /// Its name when that was written.
    pub dev: String,
    /// Its `gro_max_size` and `gro_ipv4_max_size` before they were set; None: they are as they were.
    pub(crate) gro: Option<Gro>,
}

impl Ingress {
    /// What the device is called now; None: it is not here any more.
    pub(crate) fn name(&self) -> Option<String> {
        names::name_of(self.index).map(|name| names::text_of(&name, self.index))
    }

    /// The same, or what it was called.
    pub fn called(&self) -> String {
        self.name().unwrap_or_else(|| self.dev.clone())
    }
}

/// What the IFB of a device is called: by its number where its name is too long, or no text.
pub(crate) fn name_for(dev: &str, index: u32) -> String {
    match format!("ifb-{dev}") {
        name if name.len() <= NAME && !dev.contains(':') => name,
        _ => format!("ifb-{index}"),
    }
}

/// Why what comes in on a device cannot be managed, if it cannot.
///
/// # Errors
/// What stands in the way.
pub(crate) fn check(dev: &str, index: u32, ifb: &str) -> Result<(), Error> {
    needs_tcx("--ingress")?;
    for parent in PARENTS {
        if !netlink::filters(index, parent)?.is_empty() {
            return Err(Error::Input(format!(
                "{0} has filters at its ingress, which would see no packet any more: remove them first (tc filter del dev {0} ingress)",
                names::quoted(dev)
            )));
        }
    }
    let taken = netlink::links()?.into_iter().any(|link| link.name == *ifb && !is_made_here(&link));
    match taken {
        true => Err(Error::Input(format!(
            "a device {0} is there already, and none of ours: rename it (ip link set dev {0} name NEW)",
            names::quoted(ifb)
        ))),
        false => Ok(()),
    }
}

/// Bytes of a link's header that packets have which come without one (`ETH_HLEN` of linux/if_ether.h).
const HEADER: i32 = 14;

/// What the link adds to each packet, as the IFB counts them: where the device gives them no header of a link, as `ppp0`, they get one. (In
/// front of htb none can be taken off.)
pub(crate) fn overhead(index: u32, port: &Port) -> Result<i32, Error> {
    let has_header = |link: &Link| link.index == index && !link.address.is_empty();
    Ok(match netlink::links()?.iter().any(has_header) {
        true => port.overhead,
        false if port.front => (port.overhead - HEADER).max(0),
        false => (port.overhead - HEADER).max(-64),
    })
}

/// Hooks at which a program meets packets that come in, without tc's own at them.
pub(crate) fn needs_tcx(option: &str) -> Result<(), Error> {
    let types = fs::read("/sys/kernel/btf/vmlinux").unwrap_or_default();
    let function = b"\0tcx_link_attach\0";
    match types.windows(function.len()).any(|w| w == function) {
        true => Ok(()),
        false => Err(Error::Input(format!(
            "{option} needs Linux {} or newer, with CONFIG_NET_XGRESS; this is {}",
            Host::Police.first_linux(),
            system::kernel()
        ))),
    }
}

fn is_made_here(link: &Link) -> bool {
    link.kind == KIND && link.group == GROUP
}

/// Makes the IFB of a record, which has its number and address then.
pub(crate) fn make(record: &mut Record) -> Result<(), Error> {
    netlink::make_link(&record.dev, KIND, GROUP)?;
    let link = netlink::links()?.into_iter().find(|link| link.name == *record.dev);
    let link = link.ok_or_else(|| Error::System(format!("{} is gone again", names::quoted(&record.dev))))?;
    record.index = link.index;
    record.address = Some(link.address);
    Ok(())
}

/// Loads the program that hands the device's packets to its IFB, and has it do so.
pub(crate) fn connect(record: &mut Record) -> Result<(), Error> {
    libbpf::listen();
    let wrong = |e: libbpf_rs::Error| Error::System(format!("the program for what comes in: {e}"));
    let mut object = ObjectBuilder::default().open_memory(INGRESS).map_err(wrong)?;
    for mut map in object.maps_mut() {
        if let Some(at) = map.initial_value_mut().filter(|at| at.len() == size_of::<u32>()) {
            at.copy_from_slice(&record.index.to_ne_bytes());
        }
    }
    let object = object.load().map_err(wrong)?;
    for mut program in object.progs_mut() {
        program.pin(record.pin(REDIRECT)).map_err(wrong)?;
    }
    chain::attach_redirect(record)
}

/// Takes it away again: first its packets pass by the IFB, then that goes with what waits in it.
pub(crate) fn take_off(record: &Record) {
    if record.ingress.is_none() {
        return;
    }
    record.remove_pin(REDIRECT_LINK);
    if record.name().is_some() && is_there(record) {
        // One that goes at this moment is gone as well.
        drop(netlink::delete_link(record.index));
    }
}

/// Is the record's device the IFB that was made for it? Its number may be another's by now.
fn is_there(record: &Record) -> bool {
    let links = netlink::links().unwrap_or_default();
    links.iter().any(|link| {
        link.index == record.index && is_made_here(link) && Some(&link.address) == record.address.as_ref()
    })
}

/// Removes IFBs of which no record is, as a command that was killed leaves one: nothing is attached to them.
pub(crate) fn remove_strays(known: &[Record]) -> Result<(), Error> {
    for link in netlink::links()?.iter().filter(|link| is_made_here(link)) {
        let is_known = known.iter().any(|record| record.index == link.index);
        let used = netlink::qdiscs(link.index)?.iter().any(|q| q.is_root() && q.handle != 0);
        if !is_known && !used {
            netlink::delete_link(link.index)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_device_has_an_ifb_of_a_name_that_fits() {
        for (dev, name) in [
            ("eth0", "ifb-eth0"),
            ("12345678901", "ifb-12345678901"),
            ("123456789012", "ifb-7"),
            ("if:7", "ifb-7"),
        ] {
            assert_eq!(name_for(dev, 7), name);
            assert!(name.len() <= NAME);
        }
    }
}
