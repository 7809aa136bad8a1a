//! What the qdisc and this crate tell each other: `bpf/shared.h` in Rust.

use queuewright_aqm::counters::{SOJOURNS, sojourn_below_ns};
use serde::{Serialize, Serializer};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

/// Reasons of a drop or mark, as in `aqm/qw.h`.
const REASONS: usize = queuewright_aqm::REASONS;

/// Structures of `bpf/shared.h`, and where each has its fields. A test compares them with what the programs say of theirs (BTF).
macro_rules! shared {
    ($($(#[$meta:meta])* $vis:vis struct $Name:ident = $c:literal {
        $($(#[$of:meta])* $field_vis:vis $field:ident: $kind:ty,)*
    })*) => {
        $(
            $(#[$meta])*
            #[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
            #[repr(C)]
            $vis struct $Name {
                $($(#[$of])* $field_vis $field: $kind,)*
            }
        )*

        /// Name in C, size, and where each field is.
        #[cfg(test)]
        const LAYOUTS: &[(&str, usize, &[(&str, usize)])] = &[$(
            ($c, size_of::<$Name>(), &[$((stringify!($field), std::mem::offset_of!($Name, $field)),)*]),
        )*];
    };
}

shared! {
    /// What is fixed once a program is loaded.
    #[derive(Debug, Clone, Copy)]
    pub(crate) struct Settings = "qw_bpf_settings" {
        /// Qdiscs that share the object.
        pub instances: u32,
        /// Packets that each can hold.
        pub slots: u32,
        /// The discipline reads its random number ...
        pub needs_random: u32,
        /// ... when the head packet came ...
        pub needs_head: u32,
        /// ... and the packet's flow.
        pub needs_flow: u32,
        /// A program in front of the qdisc sets CE.
        pub companion: u32,
        /// It drops or marks what leaves, too.
        pub acts_at_head: u32,
    }

    /// What an operator sets of the port.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub(crate) struct PortMap = "qw_bpf_port" {
        /// Bytes a second; 0: no shaper.
        pub rate: u64,
        pub limit_bytes: u64,
        pub limit_packets: u32,
        pub overhead: i32,
        pub retunes: u32,
        pub restarts: u32,
    }

    /// What a qdisc has counted since it was attached.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
    pub struct Stats = "qw_bpf_stats" {
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
        /// Before htb: how often the discipline would have dropped or marked a packet that had left already; the flow's
        /// next packet is in its place.
        pub asked: u64,
        /// Packets of several segments that came as one (GSO, GRO).
        pub gso_packets: u64,
        /// Sojourn time of the last packet sent, ns; of several queues the longest.
        pub sojourn_ns: u64,
        /// Sum over all that were sent, ns.
        pub sojourn_sum_ns: u64,
        /// How many waited 2^i to 2^(i+1) ns.
        #[serde(serialize_with = "octaves")]
        pub sojourns: [u64; SOJOURNS],
        /// Bytes that wait now.
        pub backlog_bytes: u64,
        /// Packets that wait now.
        pub backlog_packets: u32,
        /// How CE is set: 0 it cannot be (drops instead), 1 by a kernel function, 2 by a program in front of the
        /// qdisc, on the flow's next packet, 3 by htb's classifier.
        pub marking: u32,
    }

    /// One queue of several in front of htb.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub(crate) struct QueueMap = "qw_bpf_queue" {
        pub sent_packets: u64,
        pub sent_bytes: u64,
        pub dropped: u64,
        pub sojourn_sum_ns: u64,
        pub sojourn_ns: u64,
        pub backlog_bytes: u64,
        pub backlog_packets: u32,
        pub share: u32,
        pub head: u32,
        pub tail: u32,
    }
}

/// A map's value; None if it is shorter or longer than that.
pub(crate) fn of_value<T: FromBytes>(value: &[u8]) -> Option<T> {
    T::read_from_bytes(value).ok()
}

/// One of so many instances' values, side by side; empty if they are not so many of one size.
pub(crate) fn nth(all: &[u8], k: u32, instances: u32) -> &[u8] {
    let (k, instances) = (k as usize, instances.max(1) as usize);
    let size = all.len() / instances;
    match all.len() % instances {
        0 if size > 0 => all.chunks_exact(size).nth(k).unwrap_or_default(),
        _ => &[],
    }
}

impl Settings {
    /// Those that are not the discipline's own.
    pub fn of(instances: u32, slots: u32, companion: bool) -> Settings {
        Settings { instances, slots, companion: companion.into(), ..Settings::new_zeroed() }
    }
}

impl PortMap {
    pub fn to_bytes(self) -> Vec<u8> {
        self.as_bytes().to_vec()
    }

    /// Bits a second. Whoever wrote the map may have written any number.
    pub fn rate_bits(self) -> u64 {
        self.rate.saturating_mul(8)
    }
}

impl Default for Stats {
    fn default() -> Stats {
        Stats::new_zeroed()
    }
}

/// The reasons by name. The first is none, and never counted.
fn by_reason<S: Serializer>(counts: &[u64; REASONS], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(queuewright_aqm::REASON_NAMES.iter().zip(counts).skip(1))
}

fn octaves<S: Serializer>(counts: &[u64; SOJOURNS], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(counts)
}

impl Stats {
    /// Of a map's value; None if it is of another version.
    pub fn from_bytes(value: &[u8]) -> Option<Stats> {
        of_value(value)
    }

    /// Of several queues together; what is too much to be counted is as much as can be.
    pub(crate) fn sum<'a>(all: impl Iterator<Item = &'a Stats>) -> Stats {
        let mut sum = Stats::default();
        for s in all {
            let pairs = [
                (&mut sum.arrived_packets, &s.arrived_packets),
                (&mut sum.arrived_bytes, &s.arrived_bytes),
                (&mut sum.gso_packets, &s.gso_packets),
                (&mut sum.sent_packets, &s.sent_packets),
                (&mut sum.sent_bytes, &s.sent_bytes),
                (&mut sum.purged, &s.purged),
                (&mut sum.ce_set, &s.ce_set),
                (&mut sum.no_slot, &s.no_slot),
                (&mut sum.unseen, &s.unseen),
                (&mut sum.asked, &s.asked),
                (&mut sum.sojourn_sum_ns, &s.sojourn_sum_ns),
                (&mut sum.backlog_bytes, &s.backlog_bytes),
            ];
            let pairs = (pairs.into_iter())
                .chain(sum.drops.iter_mut().zip(&s.drops))
                .chain(sum.marks.iter_mut().zip(&s.marks))
                .chain(sum.sojourns.iter_mut().zip(&s.sojourns));
            pairs.for_each(|(sum, n)| *sum = sum.saturating_add(*n));
            sum.backlog_packets = sum.backlog_packets.saturating_add(s.backlog_packets);
            sum.sojourn_ns = sum.sojourn_ns.max(s.sojourn_ns);
            sum.marking = s.marking;
        }
        sum
    }

    /// Mean sojourn time of what was sent, ns.
    pub fn mean_sojourn_ns(&self) -> u64 {
        self.sojourn_sum_ns.checked_div(self.sent_packets).unwrap_or(0)
    }

    /// At least this share of the packets (0 to 1) waited no longer than this, ns: the end of an octave.
    pub fn sojourn_below_ns(&self, share: f64) -> u64 {
        sojourn_below_ns(&self.sojourns, share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::Host;
    use crate::objects::opened;
    use libbpf_rs::btf::HasSize;
    use libbpf_rs::btf::types::{MemberAttr, Struct};
    use queuewright_testing::{Lack, left_out};

    /// The programs say themselves where their fields are.
    #[test]
    fn every_field_is_where_the_programs_have_it() {
        let of = |host| opened(host).into_iter().map(move |(name, object)| (host, name, object));
        let all: Vec<_> = [Host::Qdisc, Host::Front, Host::Police].into_iter().flat_map(of).collect();
        if all.is_empty() {
            let what = "the layout of what the programs share";
            return left_out(what, Lack::Setup, &"built without a clang that has BPF");
        }
        for (host, name, object) in &all {
            let mut lacks = Vec::new();
            let types = crate::libbpf::types(object).expect("BTF");
            for (in_c, size, fields) in LAYOUTS {
                let Some(theirs) = types.type_by_name::<Struct<'_>>(in_c) else {
                    lacks.push(*in_c);
                    continue;
                };
                assert_eq!(theirs.size(), *size, "{name}: {in_c}");
                let found: Vec<(String, usize)> = theirs
                    .iter()
                    .map(|member| {
                        let MemberAttr::Normal { offset } = member.attr else { panic!("a bit field") };
                        let name = member.name.unwrap_or_default().to_string_lossy().into_owned();
                        (name, offset as usize / 8)
                    })
                    .collect();
                let ours: Vec<(String, usize)> = fields.iter().map(|(n, at)| (n.to_string(), *at)).collect();
                assert_eq!(found, ours, "{name}: {in_c}");
            }
            // A qdisc's queues are its own.
            let own: &[&str] = if *host == Host::Qdisc { &["qw_bpf_queue"] } else { &[] };
            assert_eq!(lacks, own, "{host:?} {name}");
        }
    }

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
        assert_eq!(of_value(&port.to_bytes()), Some(port));
    }

    /// Of another version it may begin alike.
    #[test]
    fn a_value_of_another_size_is_none() {
        let bytes = PortMap::default().to_bytes();
        assert_eq!(of_value::<PortMap>(&bytes[1..]), None);
        assert_eq!(of_value::<PortMap>(&[&bytes[..], &[0]].concat()), None);
        assert_eq!(Stats::from_bytes(&[Stats::default().as_bytes(), &[0; 8]].concat()), None);
    }

    #[test]
    fn instances_have_values_of_one_size() {
        let all = [1, 1, 2, 2, 3, 3];
        assert_eq!((0..4).map(|k| nth(&all, k, 3)).collect::<Vec<_>>(), [&[1, 1][..], &[2, 2], &[3, 3], &[]]);
        assert!(nth(&all, 0, 4).is_empty());
        assert!(nth(&[], 0, 2).is_empty());
    }

    #[test]
    fn reasons_have_their_names_in_json() {
        let stats = Stats { drops: [0, 1, 2, 3, 4], ..Stats::default() };
        let json = serde_json::to_value(&stats).unwrap_or_default();
        let named = serde_json::json!({ "limit": 1, "threshold": 2, "sojourn": 3, "early": 4 });
        assert_eq!(json["drops"], named);
    }

    /// Whatever is in the maps.
    #[test]
    fn sums_of_any_counters_end_at_the_largest_number() {
        let mut any = Stats::default();
        any.as_mut_bytes().fill(0xff);
        let sum = Stats::sum([&any, &any].into_iter());
        assert_eq!(sum, any);
        assert_eq!(sum.sojourn_below_ns(0.5), 2);
        assert_eq!(PortMap { rate: u64::MAX / 2, ..PortMap::default() }.rate_bits(), u64::MAX);
    }

    #[test]
    fn quantiles_are_ends_of_octaves() {
        let mut stats = Stats::default();
        assert_eq!(stats.sojourn_below_ns(0.5), 0);
        stats.sojourns[10] = 3;
        stats.sojourns[20] = 1;
        assert_eq!(stats.sojourn_below_ns(0.5), 2048);
        assert_eq!(stats.sojourn_below_ns(0.99), 1 << 21);
    }
}
