//! What the qdisc and this crate tell each other: `bpf/shared.h` in Rust.

use queuewright_aqm::counters::{SOJOURNS, sojourn_below_ns};
use serde::{Serialize, Serializer};

/// Reasons of a drop or mark, as in `aqm/qw.h`.
const REASONS: usize = queuewright_aqm::REASONS;

/// `struct qw_bpf_port`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PortMap {
    /// Bytes a second; 0: no shaper.
    pub rate: u64,
    pub limit_bytes: u64,
    pub limit_packets: u32,
    pub overhead: i32,
    pub retunes: u32,
    pub restarts: u32,
}

impl PortMap {
    pub fn to_bytes(self) -> Vec<u8> {
        let mut out = [self.rate.to_ne_bytes(), self.limit_bytes.to_ne_bytes()].concat();
        out.extend(self.limit_packets.to_ne_bytes());
        out.extend(self.overhead.to_ne_bytes());
        out.extend(self.retunes.to_ne_bytes());
        out.extend(self.restarts.to_ne_bytes());
        out
    }

    pub fn from_bytes(bytes: &[u8]) -> Option<PortMap> {
        let mut words = Words(bytes);
        Some(PortMap {
            rate: words.u64()?,
            limit_bytes: words.u64()?,
            limit_packets: words.u32()?,
            overhead: words.u32()? as i32,
            retunes: words.u32()?,
            restarts: words.u32()?,
        })
    }
}

/// What a qdisc has counted since it was attached: `struct qw_bpf_stats`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Packets that came to the qdisc.
    pub arrived_packets: u64,
    /// Their bytes, as the link counts them.
    pub arrived_bytes: u64,
    /// Packets that left for the device.
    pub sent_packets: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Drops by reason ([`queuewright_aqm::REASON_NAMES`]).
    #[serde(serialize_with = "by_reason")]
    pub drops: [u64; REASONS],
    /// CE marks by reason.
    #[serde(serialize_with = "by_reason")]
    pub marks: [u64; REASONS],
    /// Packets thrown away with the whole queue: the device went down, or a scheduler began anew.
    pub purged: u64,
    /// Packets on which the program in front of the qdisc has set CE, where that does it.
    pub ce_set: u64,
    /// Of the drops by limit, those for want of memory for packets.
    pub no_slot: u64,
    /// Before htb: of the packets sent, those of which it is estimated when they left, by the rate.
    pub unseen: u64,
    /// Before htb: how often the queue manager would have dropped or marked a packet that had left already; the flow's
    /// next packet is in its place.
    pub asked: u64,
    /// Waiting time of the last packet sent, ns; of several queues the longest.
    pub sojourn_ns: u64,
    /// Sum over all that were sent, ns.
    pub sojourn_sum_ns: u64,
    /// How many waited 2^i to 2^(i+1) ns.
    pub sojourns: Vec<u64>,
    /// Bytes that wait now.
    pub backlog_bytes: u64,
    /// Packets that wait now.
    pub backlog_packets: u32,
    /// How CE is set: 0 it cannot be (drops instead), 1 by a kernel function, 2 by a program in front of the
    /// qdisc, on the flow's next packet, 3 by htb's classifier.
    pub marking: u32,
}

/// The reasons by name. The first is none, and never counted.
fn by_reason<S: Serializer>(counts: &[u64; REASONS], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(queuewright_aqm::REASON_NAMES.iter().zip(counts).skip(1))
}

impl Stats {
    /// From the map's bytes; None if they are too few.
    pub fn from_bytes(bytes: &[u8]) -> Option<Stats> {
        let mut w = Words(bytes);
        Some(Stats {
            arrived_packets: w.u64()?,
            arrived_bytes: w.u64()?,
            sent_packets: w.u64()?,
            sent_bytes: w.u64()?,
            drops: w.all()?,
            marks: w.all()?,
            purged: w.u64()?,
            ce_set: w.u64()?,
            no_slot: w.u64()?,
            unseen: w.u64()?,
            asked: w.u64()?,
            sojourn_ns: w.u64()?,
            sojourn_sum_ns: w.u64()?,
            sojourns: w.all::<SOJOURNS>()?.to_vec(),
            backlog_bytes: w.u64()?,
            backlog_packets: w.u32()?,
            marking: w.u32()?,
        })
    }

    /// Of several queues together.
    pub(crate) fn sum<'a>(all: impl Iterator<Item = &'a Stats>) -> Stats {
        let mut sum = Stats { sojourns: vec![0; SOJOURNS], ..Stats::default() };
        for s in all {
            sum.arrived_packets += s.arrived_packets;
            sum.arrived_bytes += s.arrived_bytes;
            sum.sent_packets += s.sent_packets;
            sum.sent_bytes += s.sent_bytes;
            sum.purged += s.purged;
            sum.ce_set += s.ce_set;
            sum.no_slot += s.no_slot;
            sum.unseen += s.unseen;
            sum.asked += s.asked;
            sum.sojourn_ns = sum.sojourn_ns.max(s.sojourn_ns);
            sum.sojourn_sum_ns += s.sojourn_sum_ns;
            sum.backlog_bytes += s.backlog_bytes;
            sum.backlog_packets += s.backlog_packets;
            sum.marking = s.marking;
            let pairs = (sum.drops.iter_mut().zip(&s.drops))
                .chain(sum.marks.iter_mut().zip(&s.marks))
                .chain(sum.sojourns.iter_mut().zip(&s.sojourns));
            pairs.for_each(|(sum, n)| *sum += n);
        }
        sum
    }

    /// Mean waiting time of what was sent, ns.
    pub fn mean_sojourn_ns(&self) -> u64 {
        self.sojourn_sum_ns.checked_div(self.sent_packets).unwrap_or(0)
    }

    /// At least this share of the packets (0 to 1) waited no longer than this, ns: the end of an octave.
    pub fn sojourn_below_ns(&self, share: f64) -> u64 {
        sojourn_below_ns(&self.sojourns, share)
    }
}

/// Numbers off the front of a value.
struct Words<'a>(&'a [u8]);

impl Words<'_> {
    fn u64(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_ne_bytes(*first))
    }

    fn u32(&mut self) -> Option<u32> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_ne_bytes(*first))
    }

    fn all<const N: usize>(&mut self) -> Option<[u64; N]> {
        let mut out = [0; N];
        for slot in &mut out {
            *slot = self.u64()?;
        }
        Some(out)
    }
}

/// One queue of several in front of htb: `struct qw_bpf_queue`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct QueueMap {
    pub sent_packets: u64,
    pub sent_bytes: u64,
    pub dropped: u64,
    pub sojourn_sum_ns: u64,
    pub backlog_bytes: u64,
    pub backlog_packets: u32,
    pub share: u32,
}

impl QueueMap {
    pub fn from_bytes(bytes: &[u8]) -> Option<QueueMap> {
        let mut w = Words(bytes);
        let (sent_packets, sent_bytes, dropped) = (w.u64()?, w.u64()?, w.u64()?);
        let (sojourn_sum_ns, _last) = (w.u64()?, w.u64()?);
        Some(QueueMap {
            sent_packets,
            sent_bytes,
            dropped,
            sojourn_sum_ns,
            backlog_bytes: w.u64()?,
            backlog_packets: w.u32()?,
            share: w.u32()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_the_same_after_its_way_through_the_map() {
        let port = PortMap {
            rate: 1 << 40,
            limit_bytes: 7,
            limit_packets: 1000,
            overhead: -4,
            retunes: 2,
            restarts: 3,
        };
        assert_eq!(PortMap::from_bytes(&port.to_bytes()), Some(port));
        assert_eq!(PortMap::from_bytes(&port.to_bytes()[1..]), None);
    }

    #[test]
    fn reasons_have_their_names_in_json() {
        let stats = Stats { drops: [0, 1, 2, 3, 4], ..Stats::default() };
        let json = serde_json::to_value(&stats).unwrap_or_default();
        let named = serde_json::json!({ "limit": 1, "threshold": 2, "sojourn": 3, "early": 4 });
        assert_eq!(json["drops"], named);
    }

    #[test]
    fn quantiles_are_ends_of_octaves() {
        let mut stats = Stats { sojourns: vec![0; SOJOURNS], ..Stats::default() };
        assert_eq!(stats.sojourn_below_ns(0.5), 0);
        stats.sojourns[10] = 3;
        stats.sojourns[20] = 1;
        assert_eq!(stats.sojourn_below_ns(0.5), 2048);
        assert_eq!(stats.sojourn_below_ns(0.99), 1 << 21);
    }
}
