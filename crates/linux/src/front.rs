//! A discipline in front of htb, for kernels without BPF qdiscs: what tc is told, and the programs' places.
//!
//! htb has one class with the rate, and a `pfifo` in it that holds the packets. The program `front` is htb's only filter: what
//! it says is asked before a packet is queued, under the qdisc's lock.

use crate::hosts::Host;
pub(crate) use crate::netlink::HANDLE;
use crate::netlink::{self, Entry, number};
use crate::objects;
use crate::port::{Port, out_of_range};
use crate::record::Record;
use crate::{Error, system};
use libbpf_rs::Object;
use queuewright_aqm::FRAME_BYTES;

/// The program that tc takes, and its pin.
pub(crate) const PROGRAM: &str = "front";
/// What tc shows at the root.
pub(crate) const KIND: &str = "htb";
/// The filter's; nothing goes before it.
pub(crate) const PRIORITY: u16 = 1;
/// The first pfifo's.
const LEAF: usize = 0x7178;
/// The first of several queues' class; `CLASS_OF` in bpf/front.bpf.c.
const FIRST_QUEUE: usize = 0x10;
/// A turn is no longer than what tc takes.
const MOST_QUANTUM: u64 = i32::MAX as u64;
/// Least burst of htb, bytes: two full frames.
const LEAST_BURST: u64 = 2 * FRAME_BYTES;
/// What timers may be late by without a loss of rate: a burst of 1 ms.
const BURSTS_PER_SECOND: u64 = 1000;

/// Of the port's settings, those that this way cannot do.
pub(crate) fn check(port: &Port) -> Result<(), Error> {
    if system::has_loops() == Some(false) {
        return Err(Error::Input(format!(
            "attach needs Linux {} or newer, and {} for --ingress and --police; this is {}, where the kernel module works (queuewright doctor)",
            Host::Front.first_linux(),
            Host::Police.first_linux(),
            system::kernel()
        )));
    }
    if port.rate == 0 {
        return Err(Error::Input(format!(
            "a rate is needed (--rate 95mbit): {} disciplines stand in front of htb, and without a rate nothing would wait there",
            match system::has_bpf_qdiscs() {
                Some(false) => format!(
                    "this kernel ({}) has no BPF qdiscs (Linux {} with CONFIG_NET_SCH_BPF has), so that",
                    system::kernel(),
                    Host::Qdisc.first_linux()
                ),
                _ => "with --front".into(),
            }
        )));
    }
    if port.mq {
        return Err(Error::Input(
            "--mq cannot be done in front of htb, which serves all queues of a device".into(),
        ));
    }
    if port.overhead < 0 {
        return Err(out_of_range("overhead", port.overhead, "in front of htb 0 to 256 bytes"));
    }
    Ok(())
}

/// What tc is told, the root first. The filter comes last: a new leaf throws away what waits in the one before.
pub(crate) fn tc(record: &Record, port: &Port) -> Vec<String> {
    let default = if record.classes.is_empty() { "1".into() } else { format!("{FIRST_QUEUE:x}") };
    let mut words = vec![format!("qdisc replace dev {{dev}} root handle {HANDLE}: htb default {default}")];
    words.extend(classes("add", record, port, &[]));
    words.extend(leaves("add", record));
    words.push(filter(record));
    words
}

/// What has htb ask the discipline.
pub(crate) fn filter(record: &Record) -> String {
    format!(
        "filter add dev {{dev}} parent {HANDLE}: protocol all prio {PRIORITY} bpf object-pinned {} direct-action classid {HANDLE}:1",
        record.pin("front").display()
    )
}

/// Handles of the queues' places.
pub(crate) fn leaf_handles(record: &Record) -> Vec<String> {
    (0..record.classes.len().max(1)).map(|number| format!("{:x}:", LEAF + number)).collect()
}

/// The queues' places in htb, `add` or `replace`: a pfifo that holds the packets of each.
pub(crate) fn leaves(verb: &str, record: &Record) -> Vec<String> {
    let Record { slots, classes, .. } = record;
    let leaf = |number: usize, parent: &str| {
        let handle = LEAF + number;
        format!("qdisc {verb} dev {{dev}} parent {parent} handle {handle:x}: pfifo limit {slots}")
    };
    match classes.len() {
        0 => vec![leaf(0, &format!("{HANDLE}:1"))],
        n => (0..n).map(|number| leaf(number, &classid(number))).collect(),
    }
}

/// Name in tc of the class of a queue, where there are several.
pub(crate) fn classid(queue: usize) -> String {
    format!("{HANDLE}:{:x}", FIRST_QUEUE + queue)
}

/// The classes: `add`, `replace` or `change`. One with the rate; where there are several queues, one below it for each.
///
/// These have next to no rate of their own, so that all they send is lent by the one above, which lends by priority and then
/// in turns of `quantum` bytes (deficit round robin), which stand to each other as `shares`, the discipline's own: 0 for a
/// queue that goes before all others; where it has not said yet they are alike, and the first queue goes first.
pub(crate) fn classes(verb: &str, record: &Record, port: &Port, shares: &[u32]) -> Vec<String> {
    let rate = port.rate;
    let burst = (rate / 8 / BURSTS_PER_SECOND).max(LEAST_BURST);
    let overhead = if port.overhead != 0 { format!(" overhead {}", port.overhead) } else { String::new() };
    let mut words = vec![format!(
        "class {verb} dev {{dev}} parent {HANDLE}: classid {HANDLE}:1 htb rate {rate}bit burst {burst}b cburst {burst}b quantum {FRAME_BYTES}{overhead}"
    )];
    // htb lets each class send a packet in its turn, however short that is.
    let least = shares.iter().copied().filter(|s| *s > 0).min().map_or(1, u64::from);
    for number in 0..record.classes.len() {
        let share = shares.get(number).copied().map_or(least, u64::from);
        let share = if share == 0 { least } else { share };
        let quantum = quantum(share, least, rate);
        let prio = usize::from(number > 0);
        words.push(format!(
            "class {verb} dev {{dev}} parent {HANDLE}:1 classid {} htb prio {prio} rate 8bit burst 1b ceil {rate}bit cburst {burst}b quantum {quantum}{overhead}",
            classid(number)
        ));
    }
    words
}

/// Bytes of a class's turn: as `share` to the least of all, which is not 0 and has a full frame at least. Shares and rate are out of maps, and
/// may be any.
fn quantum(share: u64, least: u64, rate: u64) -> u64 {
    let of_least = least.max(FRAME_BYTES).max(rate / 8 / BURSTS_PER_SECOND);
    (share.saturating_mul(of_least) / least).min(MOST_QUANTUM)
}

/// Pins the programs: tc takes `front` from there, `left` stays at its tracepoint while its pin is there.
pub(crate) fn install(object: &mut Object, record: &Record) -> Result<(), Error> {
    let wrong = |e: libbpf_rs::Error| Error::System(format!("{}: {e}", record.pins().display()));
    objects::attach_left(object)?.pin(record.pin("left")).map_err(wrong)?;
    for mut program in object.progs_mut().filter(|p| p.name() == "front") {
        program.pin(record.pin("front")).map_err(wrong)?;
    }
    Ok(())
}

/// Is our htb the root of a device?
///
/// # Errors
/// If the kernel does not say.
pub(crate) fn is_there(index: u32) -> Result<bool, Error> {
    Ok(is_among(&netlink::qdiscs(index)?))
}

/// The same, by the qdiscs that it has.
pub(crate) fn is_among(shown: &[Entry]) -> bool {
    shown.iter().any(|q| q.is_root() && q.kind == KIND && q.handle == number(HANDLE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_stand_to_each_other_as_the_shares_do() {
        assert_eq!((quantum(1, 1, 0), quantum(3, 1, 0)), (FRAME_BYTES, 3 * FRAME_BYTES));
        assert_eq!((quantum(4000, 4000, 0), quantum(8000, 4000, 0)), (4000, 8000));
        assert_eq!(quantum(1, 1, 80_000_000), 10_000);
        assert_eq!(quantum(u32::MAX.into(), 1, u64::MAX), MOST_QUANTUM);
    }
}
