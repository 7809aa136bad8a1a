//! A queue manager in front of htb, for kernels without BPF qdiscs: what tc is told, and the programs' places.
//!
//! htb has one class with the rate, and a `pfifo` in it that holds the packets. The program `front` is htb's only filter: what
//! it says is asked before a packet is queued, under the qdisc's lock.

use crate::attach::Port;
use crate::objects;
use crate::record::Record;
use crate::{Error, system};
use libbpf_rs::Object;

/// What tc shows at the root.
pub(crate) const KIND: &str = "htb";
/// Handle of htb, by which we know it again. A packet whose priority names a class passes the filter by; nobody
/// names this one by chance.
const HANDLE: &str = "7177";
/// Its pfifo's.
const LEAF: &str = "7178";
/// Least burst of htb, bytes: two full frames.
const LEAST_BURST: u64 = 2 * 1514;
/// What timers may be late by without a loss of rate: a burst of 1 ms.
const BURSTS_PER_SECOND: u64 = 1000;

/// Of the port's settings, those that this way cannot do.
pub(crate) fn check(port: &Port) -> Result<(), Error> {
    if port.rate == 0 {
        return Err(Error::Input(format!(
            "a rate is needed (--rate 95mbit): {} queue managers stand in front of htb, and without a rate nothing would wait there",
            match system::has_bpf_qdiscs() {
                Some(false) => format!("this kernel ({}) has no BPF qdiscs, so that", system::kernel()),
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
        return Err(Error::Input("overhead is out of range; allowed in front of htb: 0 to 256 bytes".into()));
    }
    Ok(())
}

/// What tc is told, the root first. The filter comes last: a new leaf throws away what waits in the one before.
pub(crate) fn tc(record: &Record, port: &Port) -> Vec<String> {
    let Record { dev, slots, .. } = record;
    let program = record.pin("front");
    vec![
        format!("qdisc replace dev {dev} root handle {HANDLE}: htb default 1"),
        class("add", dev, port),
        format!("qdisc add dev {dev} parent {HANDLE}:1 handle {LEAF}: pfifo limit {slots}"),
        format!(
            "filter add dev {dev} parent {HANDLE}: protocol all prio 1 bpf object-pinned {} direct-action classid {HANDLE}:1",
            program.display()
        ),
    ]
}

/// The class: `add` or `change`.
pub(crate) fn class(verb: &str, dev: &str, port: &Port) -> String {
    let burst = (port.rate / 8 / BURSTS_PER_SECOND).max(LEAST_BURST);
    let mut words = format!(
        "class {verb} dev {dev} parent {HANDLE}: classid {HANDLE}:1 htb rate {}bit burst {burst}b cburst {burst}b quantum 1514",
        port.rate
    );
    if port.overhead != 0 {
        words += &format!(" overhead {}", port.overhead);
    }
    words
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
pub(crate) fn is_there(dev: &str) -> bool {
    let root = system::root(dev).map(|(line, _)| line).unwrap_or_default();
    root.contains(&format!("qdisc {KIND} {HANDLE}: root"))
}
