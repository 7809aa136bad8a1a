//! A qdisc's counters: the kernel's from its RTM_NEWQDISC messages (linux/rtnetlink.h, gen_stats.h, pkt_sched.h), ours
//! from its maps.

use crate::stream::{Fields, Maps};
use queuewright_aqm::{Discipline, Info, REASON_NAMES, Spec};
use queuewright_linux as linux;
use queuewright_linux::netlink::{self, Entry};
use std::collections::BTreeMap;

/// Counters of the qdisc under test since it was made.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stats {
    /// Waiting now.
    pub backlog_bytes: u64,
    /// Waiting now.
    pub backlog_packets: u64,
    /// Drops by reason.
    pub drops: BTreeMap<&'static str, u64>,
    /// Marks by reason.
    pub marks: BTreeMap<&'static str, u64>,
    /// The controller's own variables that the kernel shows, by the names that the registry has for them.
    pub probes: Vec<(&'static str, f64)>,
}

const TCA_STATS2: u16 = 7;
const TCA_STATS_QUEUE: u16 = 3;
const TCA_STATS_APP: u16 = 4;
/// `handle 10:`, as the job gives it.
const LEAF: u32 = 0x10 << 16;

/// Bytes of a map that the guest takes at most (`guest/watch.c`).
const FRONT: usize = 64 << 10;

/// Of the qdisc under test among the messages of its device.
pub fn parse(messages: &[u8]) -> Stats {
    netlink::entries(messages)
        .find(|qdisc| qdisc.handle == LEAF)
        .map_or_else(Stats::default, |qdisc| leaf(&qdisc))
}

/// Of a qdisc of ours.
pub fn of_maps(maps: &Maps, info: &'static Info) -> Stats {
    let [stats, params, state] = &maps.values;
    let Some(stats) = linux::Stats::from_bytes(stats) else { return Stats::default() };
    let by_reason = |counts: &[u64]| {
        let named = REASON_NAMES.into_iter().zip(counts.iter().copied());
        named.filter(|(_, n)| *n > 0).collect::<BTreeMap<_, _>>()
    };
    let mut state = state.clone();
    if state.len() == FRONT {
        state.resize(Discipline::new(&Spec::new(info)).state_size(), 0);
    }
    let variables = linux::variables(info, params, &state).unwrap_or_default();
    Stats {
        backlog_bytes: stats.backlog_bytes,
        backlog_packets: u64::from(stats.backlog_packets),
        drops: by_reason(&stats.drops),
        marks: by_reason(&stats.marks),
        probes: variables.into_iter().map(|(p, value)| (p.name, value)).collect(),
    }
}

fn leaf(qdisc: &Entry) -> Stats {
    let kind = qdisc.kind.as_str();
    let stats = qdisc.attribute(TCA_STATS2).unwrap_or_default();
    let part = |id| netlink::attribute(stats, id).unwrap_or_default();
    let (queue, app) = (part(TCA_STATS_QUEUE), part(TCA_STATS_APP));
    // struct gnet_stats_queue: qlen, backlog, drops, requeues, overlimits
    let mut q = Fields(queue);
    let (packets, bytes, drops) = (q.u32(), q.u32(), u64::from(q.u32()));
    let word = |i: usize| u64::from(Fields(app.get(4 * i..).unwrap_or_default()).u32());
    // Of cake's tins together: TCA_CAKE_STATS_TIN_STATS, 10, has the counters of each.
    let of_tins = |counter| -> u64 {
        let tins = netlink::attribute(app, 10).unwrap_or_default();
        let of = |tin| netlink::attribute(tin, counter).map_or(0, |value| Fields(value).u32());
        netlink::attributes(tins).map(|(_, tin)| u64::from(of(tin))).sum()
    };
    // Drops for want of room, the reason of the others, marks.
    let (full, other, marks) = match kind {
        // struct tc_codel_xstats: 5 drop_overlimit, 6 ecn_mark, 8 ce_mark
        "codel" => (word(5), "sojourn", vec![("sojourn", word(6)), ("threshold", word(8))]),
        // struct tc_fq_codel_xstats, after its type: 1 drop_overlimit, 2 ecn_mark, 6 ce_mark
        "fq_codel" => (word(2), "sojourn", vec![("sojourn", word(3)), ("threshold", word(7))]),
        // struct tc_pie_xstats, after its u64: 2 delay, 3 rate, 4 estimating, 5 packets_in, 6 dropped, 7 overlimit,
        // 8 maxq, 9 ecn_mark
        "pie" => (word(7), "early", vec![("early", word(9))]),
        // struct tc_fq_pie_xstats: packets_in, dropped, overlimit, overmemory, ecn_mark, new_flow_count, new_flows_len,
        // old_flows_len, memory_usage
        "fq_pie" => (word(2), "early", vec![("early", word(4))]),
        // struct tc_red_xstats: early, pdrop, other, marked
        // struct tc_choke_xstats: the same, and matched
        "red" | "choke" => (word(1), "early", vec![("early", word(3))]),
        // struct tc_sfb_xstats: early, penalty, bucket, queue, child, marked
        "sfb" => (word(3) + word(4), "early", vec![("early", word(5))]),
        // TCA_CAKE_TIN_STATS_: 8 ECN_MARKED_PACKETS. Drops for want of room are not told from others.
        "cake" => (0, "sojourn", vec![("sojourn", of_tins(8))]),
        // struct tc_dualpi2_xstats: prob, delay_c, delay_l, packets_in_c, packets_in_l, maxq, ecn_mark (by the step, too), step_marks.
        // Drops for want of room are not told from others.
        "dualpi2" => (0, "early", vec![("early", word(6).saturating_sub(word(7))), ("threshold", word(7))]),
        // struct tc_fq_qd_stats, after 8 u64 and 4 u32: ce_mark
        "fq" => (drops, "limit", vec![("threshold", word(20))]),
        _ => (drops, "limit", Vec::new()),
    };
    let full = full.min(drops);
    let bounded = if kind == "sfb" { (word(1) + word(2)).min(drops - full) } else { 0 };
    let probes = match kind {
        // 1 count, 7 dropping
        "codel" => vec![("count", word(1) as f64), ("dropping", word(7) as f64)],
        // 5 new_flows_len, 6 old_flows_len, after the type
        "fq_codel" => vec![("active_queues", (word(5) + word(6)) as f64)],
        // 0 and 1 prob, of 2^64; 2 delay, us
        "pie" => vec![
            ("drop_probability", (word(0) as f64 / 2f64.powi(32) + word(1) as f64) / 2f64.powi(32)),
            ("qdelay", word(2) as f64 / 1e3),
        ],
        // delays in us
        "dualpi2" => vec![
            ("base_probability", word(0) as f64 / 2f64.powi(32)),
            ("qdelay", word(1).max(word(2)) as f64 / 1e3),
        ],
        "fq_pie" => vec![("active_queues", (word(6) + word(7)) as f64), ("new_flows", word(5) as f64)],
        // TCA_CAKE_TIN_STATS_: 17 WAY_COLLISIONS, 22 BULK_FLOWS, 23 UNRESPONSIVE_FLOWS
        "cake" => [("bulk_flows", 22), ("collisions", 17), ("unresponsive_flows", 23)]
            .map(|(name, counter)| (name, of_tins(counter) as f64))
            .to_vec(),
        "choke" => vec![("matched", word(4) as f64)],
        // struct tc_hhf_xstats: drop_overlimit, hh_overlimit, hh_tot_count, hh_cur_count
        "hhf" => {
            vec![("heavy_flows", word(3) as f64), ("found", word(2) as f64), ("no_room", word(1) as f64)]
        }
        _ => Vec::new(),
    };
    Stats {
        backlog_bytes: u64::from(bytes),
        backlog_packets: u64::from(packets),
        drops: [("limit", full), ("threshold", bounded), (other, drops - full - bounded)]
            .into_iter()
            .filter(|d| d.1 > 0)
            .collect(),
        marks: marks.into_iter().filter(|m| m.1 > 0).collect(),
        probes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use queuewright_testing::attribute;

    fn words(all: &[u32]) -> Vec<u8> {
        all.iter().flat_map(|w| w.to_le_bytes()).collect()
    }

    /// RTM_NEWQDISC of a qdisc.
    fn message(handle: u32, kind: &str, queue: &[u32], app: &[u32]) -> Vec<u8> {
        let stats =
            [attribute(TCA_STATS_QUEUE, &words(queue)), attribute(TCA_STATS_APP, &words(app))].concat();
        let body = [
            words(&[0, 7777, handle, 0, 0]),
            attribute(1, format!("{kind}\0").as_bytes()),
            attribute(TCA_STATS2, &stats),
        ]
        .concat();
        let mut out = words(&[(16 + body.len()) as u32, 36, 1, 1]);
        out.extend(body);
        out
    }

    #[test]
    fn counters_of_the_leaf() {
        let root = message(0x1_0000, "htb", &[3, 4542, 99, 0, 0], &[]);
        let codel = message(LEAF, "codel", &[3, 4542, 12, 0, 0], &[1514, 4, 2, 900, 0, 5, 7, 1, 2]);
        let stats = parse(&[root.clone(), codel].concat());
        assert_eq!((stats.backlog_packets, stats.backlog_bytes), (3, 4542));
        assert_eq!(stats.drops, BTreeMap::from([("limit", 5), ("sojourn", 7)]));
        assert_eq!(stats.marks, BTreeMap::from([("sojourn", 7), ("threshold", 2)]));
        assert_eq!(stats.probes, [("count", 4.0), ("dropping", 1.0)]);
        // A quarter of 2^64, 15 ms.
        let pie = message(LEAF, "pie", &[0, 0, 9, 0, 0], &[0, 1 << 30, 15_000, 0, 0, 100, 6, 3, 0, 4]);
        let stats = parse(&[root.clone(), pie].concat());
        assert_eq!(stats.drops, BTreeMap::from([("limit", 3), ("early", 6)]));
        assert_eq!(stats.marks, BTreeMap::from([("early", 4)]));
        assert_eq!(stats.probes, [("drop_probability", 0.25), ("qdelay", 15.0)]);
        // Two tins, each a nest of counters.
        let tin = |number, marks: u32, bulk: u32| {
            attribute(number, &[attribute(8, &words(&[marks])), attribute(22, &words(&[bulk]))].concat())
        };
        let tins = attribute(10, &[tin(1, 3, 1), tin(2, 4, 2)].concat());
        let app: Vec<u32> = tins.chunks(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect();
        let stats = parse(&message(LEAF, "cake", &[0, 0, 9, 0, 0], &app));
        assert_eq!(stats.drops, BTreeMap::from([("sojourn", 9)]));
        assert_eq!(stats.marks, BTreeMap::from([("sojourn", 7)]));
        assert_eq!(stats.probes, [("bulk_flows", 3.0), ("collisions", 0.0), ("unresponsive_flows", 0.0)]);
        let pfifo = message(LEAF, "pfifo", &[1, 60, 2, 0, 0], &[]);
        assert_eq!(parse(&pfifo).drops, BTreeMap::from([("limit", 2)]));
    }

    #[test]
    fn counters_and_variables_of_ours() {
        let info = queuewright_aqm::find("codel").expect("in the registry");
        let codel = queuewright_aqm::Discipline::new(&queuewright_aqm::Spec::new(info));
        let mut counters = vec![0u64; 4];
        counters.extend([0, 5, 0, 7, 0, 0, 0, 0, 2, 0]);
        // Purged to the sum of sojourn times, and 40 octaves of these.
        counters.extend([0; 8 + 40]);
        counters.extend([4542, 3]);
        let bytes = counters.iter().flat_map(|n| n.to_ne_bytes()).collect();
        let values = [bytes, codel.params_bytes(), vec![0; codel.state_size()]];
        let mut maps = Maps { at_ns: 1, values };
        let stats = of_maps(&maps, info);
        assert_eq!((stats.backlog_packets, stats.backlog_bytes), (3, 4542));
        assert_eq!(stats.drops, BTreeMap::from([("limit", 5), ("sojourn", 7)]));
        assert_eq!(stats.marks, BTreeMap::from([("sojourn", 2)]));
        assert!(stats.probes.contains(&("count", 0.0)), "{:?}", stats.probes);
        // Of another version: no variables.
        maps.values[2].pop();
        assert!(of_maps(&maps, info).probes.is_empty());
    }

    #[test]
    fn what_is_behind_the_front_shows_nowhere() {
        let mut long = 0;
        for info in queuewright_aqm::registry() {
            let blank = Discipline::new(&Spec::new(info));
            let (params, size) = (blank.params_bytes(), blank.state_size());
            if size <= FRONT {
                continue;
            }
            long += 1;
            let mut state = vec![1; size];
            state[FRONT..].fill(0xa5);
            let whole = linux::variables(info, &params, &state);
            state[FRONT..].fill(0);
            assert_eq!(linux::variables(info, &params, &state), whole, "{}", info.name);
        }
        assert!(long >= 3, "{long}");
    }

    #[test]
    fn what_is_cut_off_is_nothing() {
        let whole = message(LEAF, "codel", &[3, 4542, 12, 0, 0], &[0; 9]);
        for length in 0..whole.len() {
            parse(&whole[..length]);
        }
        assert_eq!(parse(&[0; 64]), Stats::default());
    }
}
