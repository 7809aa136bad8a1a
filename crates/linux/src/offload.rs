//! Segmentation offload: a device takes, and gives, up to 64 KiB of a flow as one packet, which would wait and count as one. Where
//! that takes long at the shaper's rate, the device that packets go out of is told to take segments one by one
//! (`gso_max_segs`), and that which they come in on to put none together (`gro_max_size`), as cake's `split-gso` has it.

use crate::netlink::{self, Link};
use crate::port::Port;
use crate::record::{Gro, Record};
use crate::{Error, names};

/// The largest packet, bytes (`GSO_LEGACY_MAX_SIZE` of linux/netdevice.h).
const LARGEST: u64 = 1 << 16;
/// How many of it a second's rate must carry for it to be left whole: it takes a millisecond then.
const A_SECOND: u64 = 1000;

/// Below this rate, bits a second, packets are split: the largest would take more than 1 ms.
pub const SPLIT_BELOW: u64 = LARGEST * 8 * A_SECOND;

/// Segments of a packet that is not to wait and count as one; and bytes than which any packet is longer.
const ONE: u32 = 1;

/// Are packets to be split? Without a rate (0) the device's own queue decides what waits.
fn is_split(port: &Port) -> bool {
    port.split_gso && (1..SPLIT_BELOW).contains(&port.rate)
}

fn link(index: u32) -> Result<Option<Link>, Error> {
    Ok(netlink::links()?.into_iter().find(|link| link.index == index))
}

/// What `gso_max_segs` of a device, where packets go out, is to be again at the end. What was attached before (`had`) may have set it
/// already.
pub(crate) fn gso_before(index: u32, port: &Port, had: Option<u32>) -> Result<Option<u32>, Error> {
    match is_split(port) {
        true => Ok(link(index)?.map(|link| link.segments).filter(|now| *now > ONE).or(had)),
        false => Ok(None),
    }
}

/// The same of `gro_max_size` where packets come in.
pub(crate) fn gro_before(index: u32, port: &Port, had: Option<Gro>) -> Result<Option<Gro>, Error> {
    let whole = |gro: &Gro| gro.iter().flatten().any(|size| *size > ONE);
    match is_split(port) {
        true => Ok(link(index)?.map(|link| link.gro).filter(whole).or(had)),
        false => Ok(None),
    }
}

/// Sets what a record says that is to be given back.
pub(crate) fn split(record: &Record) -> Result<(), Error> {
    if record.gso_max_segs.is_some() {
        netlink::set_segments(record.index, ONE)?;
    }
    match record.ingress.as_ref().and_then(|of| Some((of.index, of.gro?))) {
        Some((index, had)) => netlink::set_gro(index, had.map(|size| size.map(|_| ONE))),
        None => Ok(()),
    }
}

/// Gives back what there was, unless somebody has changed it since, or the device goes.
pub(crate) fn give_back(record: &Record) {
    let (gso, gro) = record.to_give_back();
    if let Some(before) = gso
        && record.name().is_some()
        && matches!(link(record.index), Ok(Some(now)) if now.segments == ONE)
    {
        drop(netlink::set_segments(record.index, before));
    }
    let Some((index, had)) = record.ingress.as_ref().and_then(|of| Some((of.index, gro?))) else { return };
    if let Ok(Some(now)) = link(index) {
        let ours = now.gro.into_iter().zip(had).map(|(now, had)| had.filter(|_| now == Some(ONE)));
        let mut all = [None; 2];
        all.iter_mut().zip(ours).for_each(|(to, size)| *to = size);
        drop(netlink::set_gro(index, all));
    }
}

/// Of what others have set since, what they have set is what is to be given back. Did they?
pub(crate) fn remember(record: &mut Record) -> Result<bool, Error> {
    let (gso, gro) = record.given_back();
    let mut now = (gso, gro);
    if gso.is_some() {
        now.0 = link(record.index)?.map(|link| link.segments).filter(|now| *now > ONE).or(gso);
    }
    if let (Some(had), Some(of)) = (gro, &record.ingress)
        && let Some(link) = link(of.index)?
    {
        let one = |(now, had): (Option<u32>, Option<u32>)| now.filter(|now| *now > ONE).or(had);
        now.1 = Some([one((link.gro[0], had[0])), one((link.gro[1], had[1]))]);
    }
    let changed = now != (gso, gro);
    *record = record.clone().giving_back(now);
    Ok(changed)
}

/// What is not as the record says, in words.
pub(crate) fn missing(record: &Record) -> Result<Option<String>, Error> {
    let said = |dev: &str, what: &str, now: u32| {
        format!("the splitting of packets: {} has {what} {now}, not {ONE}", names::quoted(dev))
    };
    if record.gso_max_segs.is_some()
        && let Some(now) = link(record.index)?.filter(|now| now.segments != ONE)
    {
        return Ok(Some(said(&record.dev, "gso_max_segs", now.segments)));
    }
    let Some(of) = record.ingress.as_ref().filter(|of| of.gro.is_some()) else { return Ok(None) };
    let now = link(of.index)?.and_then(|now| now.gro.into_iter().flatten().find(|size| *size != ONE));
    Ok(now.map(|now| said(&of.called(), "gro_max_size", now)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_more_than_a_millisecond_is_split() {
        // 65,536 bytes at 524.288 Mbit/s take 1 ms.
        assert_eq!(SPLIT_BELOW, 524_288_000);
        let split = |rate, split_gso| is_split(&Port { rate, split_gso, ..Port::default() });
        assert!(split(SPLIT_BELOW - 1, true) && split(8000, true) && !split(8000, false));
        assert!(!split(SPLIT_BELOW, true) && !split(0, true) && !split(u64::MAX, true));
    }
}
