//! A qdisc's counters, from the kernel's RTM_NEWQDISC messages (linux/rtnetlink.h, gen_stats.h, pkt_sched.h).

use crate::stream::Fields;
use std::collections::BTreeMap;

/// Counters of the qdisc under test since it was made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Waiting now.
    pub backlog_bytes: u64,
    /// Waiting now.
    pub backlog_packets: u64,
    /// Drops by reason.
    pub drops: BTreeMap<&'static str, u64>,
    /// Marks by reason.
    pub marks: BTreeMap<&'static str, u64>,
}

const NLMSG_HEAD: usize = 16;
const TCMSG: usize = 20;
const TCA_KIND: u16 = 1;
const TCA_STATS2: u16 = 7;
const TCA_STATS_QUEUE: u16 = 3;
const TCA_STATS_APP: u16 = 4;
/// `handle 10:`, as the job gives it.
const LEAF: u32 = 0x10 << 16;

/// Of the qdisc under test among the messages of its device.
pub fn parse(messages: &[u8]) -> Stats {
    let mut rest = Fields(messages);
    while rest.0.len() >= NLMSG_HEAD {
        let length = Fields(rest.0).u32() as usize;
        let mut message = Fields(rest.take((length.max(NLMSG_HEAD) + 3) & !3));
        message.take(NLMSG_HEAD);
        let mut tc = Fields(message.take(TCMSG));
        tc.take(8);
        if tc.u32() == LEAF {
            return leaf(message.0);
        }
    }
    Stats::default()
}

/// Attributes: (type, content).
fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = Fields(bytes);
    std::iter::from_fn(move || {
        if rest.0.len() < 4 {
            return None;
        }
        let (length, kind) = (usize::from(rest.u16()), rest.u16());
        let content = rest.take(length.saturating_sub(4));
        rest.take(length.wrapping_neg() & 3);
        // Two flags share the type's field.
        Some((kind & 0x3fff, content))
    })
}

fn leaf(bytes: &[u8]) -> Stats {
    let (mut kind, mut queue, mut app) = ("", &[][..], &[][..]);
    for (id, content) in attributes(bytes) {
        match id {
            TCA_KIND => kind = std::str::from_utf8(content).unwrap_or("").trim_end_matches('\0'),
            TCA_STATS2 => {
                for (id, content) in attributes(content) {
                    match id {
                        TCA_STATS_QUEUE => queue = content,
                        TCA_STATS_APP => app = content,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    // struct gnet_stats_queue: qlen, backlog, drops, requeues, overlimits
    let mut q = Fields(queue);
    let (packets, bytes, drops) = (q.u32(), q.u32(), u64::from(q.u32()));
    let word = |i: usize| u64::from(Fields(app.get(4 * i..).unwrap_or_default()).u32());
    // Drops for want of room, the reason of the others, marks.
    let (full, other, marks) = match kind {
        // struct tc_codel_xstats: 5 drop_overlimit, 6 ecn_mark, 8 ce_mark
        "codel" => (word(5), "sojourn", vec![("sojourn", word(6)), ("threshold", word(8))]),
        // struct tc_fq_codel_xstats, after its type: 1 drop_overlimit, 2 ecn_mark, 6 ce_mark
        "fq_codel" => (word(2), "sojourn", vec![("sojourn", word(3)), ("threshold", word(7))]),
        // struct tc_pie_xstats, after its u64: 2 delay, 3 rate, 4 estimating, 5 packets_in, 6 dropped, 7 overlimit,
        // 8 maxq, 9 ecn_mark
        "pie" => (word(7), "early", vec![("early", word(9))]),
        // struct tc_red_xstats: early, pdrop, other, marked
        "red" => (word(1), "early", vec![("early", word(3))]),
        _ => (drops, "limit", Vec::new()),
    };
    let full = full.min(drops);
    Stats {
        backlog_bytes: u64::from(bytes),
        backlog_packets: u64::from(packets),
        drops: [("limit", full), (other, drops - full)].into_iter().filter(|d| d.1 > 0).collect(),
        marks: marks.into_iter().filter(|m| m.1 > 0).collect(),
    }
}
