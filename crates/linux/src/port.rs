//! What an operator decides of the port, and where the kernel has it.

use crate::Error;
use crate::hosts::Host;
use crate::maps::{PortMap, nth, of_value};
use crate::record::Record;
use crate::system;
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use std::fmt::Display;

/// The only key of the maps that hold one value an instance, side by side.
pub(crate) const FIRST: [u8; 4] = [0; 4];

/// Least rate, bits a second.
pub const LEAST_RATE: u64 = 8000;

/// What an operator decides besides the discipline's own parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Port {
    /// Rate of the qdisc's own shaper, bits a second; 0: none, the device sets the pace.
    pub rate: u64,
    /// Packets that may wait, 1 to 1 000 000.
    pub limit_packets: u32,
    /// Bytes that may wait; 0: no such limit.
    pub limit_bytes: u64,
    /// Bytes that the link adds to each packet, -64 to 256.
    pub overhead: i32,
    /// A discipline for each transmit queue of the device, below `mq`, instead of one for all; the limits are of each.
    /// Without a rate: they have no common shaper.
    pub mq: bool,
    /// Packets that segmentation offload puts together are split where one would take more than 1 ms at the rate
    /// ([`SPLIT_BELOW`](crate::SPLIT_BELOW)).
    pub split_gso: bool,
    /// No packet waits: those that are let in go on at once, and the queue is only counted.
    pub police: bool,
    /// In front of htb, also where the kernel has BPF qdiscs; on others there is no other way.
    pub front: bool,
}

impl Default for Port {
    /// No shaper, 10 000 packets, no overhead, packets split.
    fn default() -> Self {
        Port {
            rate: 0,
            limit_packets: 10_000,
            limit_bytes: 0,
            overhead: 0,
            mq: false,
            split_gso: true,
            police: false,
            front: false,
        }
    }
}

impl Port {
    /// The program that holds a discipline here.
    pub fn host(&self) -> Host {
        if self.police {
            return Host::Police;
        }
        if self.front || system::has_bpf_qdiscs() == Some(false) { Host::Front } else { Host::Qdisc }
    }

    pub(crate) fn from_map(map: &PortMap, record: &Record) -> Port {
        Port {
            rate: map.rate_bits(),
            limit_packets: map.limit_packets,
            limit_bytes: map.limit_bytes,
            overhead: map.overhead,
            mq: record.instances > 1,
            split_gso: record.split_gso,
            police: record.police,
            front: record.front,
        }
    }

    pub(crate) fn to_map(self) -> PortMap {
        let Port { rate, limit_packets, limit_bytes, overhead, mq: _, split_gso: _, police: _, front: _ } =
            self;
        PortMap { rate: rate / 8, limit_packets, limit_bytes, overhead, ..PortMap::default() }
    }
}

/// One of the port's settings that cannot be.
pub(crate) fn out_of_range(name: &str, value: impl Display, allowed: &str) -> Error {
    Error::Input(format!("{name} = \"{value}\": out of range; allowed: {allowed}"))
}

/// What the qdisc reads of its port.
pub(crate) fn port_map(record: &Record) -> Result<PortMap, Error> {
    let wrong = |e: libbpf_rs::Error| Error::System(format!("{}: {e}", record.pin("port").display()));
    let ports = MapHandle::from_pinned_path(record.pin("port")).map_err(wrong)?;
    let bytes = ports.lookup(&FIRST, MapFlags::ANY).map_err(wrong)?.unwrap_or_default();
    of_value(nth(&bytes, 0, record.instances)).ok_or_else(|| {
        Error::System(format!("{}: its map is of another version of this program", record.kind))
    })
}
