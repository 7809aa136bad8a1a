//! Who gets how much.

use crate::bed::{close, one};
use crate::{datagrams, drawn};
use proptest::prelude::*;

/// Max-min fair shares of a capacity, by filling: the smallest wishes are granted while they are below an even part of the rest.
fn max_min(capacity: f64, wishes: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wishes.len()).collect();
    order.sort_by(|a, b| wishes[*a].total_cmp(&wishes[*b]));
    let (mut left, mut shares) = (capacity, vec![0.0; wishes.len()]);
    for (done, i) in order.iter().enumerate() {
        shares[*i] = wishes[*i].min(left / (wishes.len() - done) as f64);
        left -= shares[*i];
    }
    shares
}

/// Flows of constant rates through queues that take turns: each gets its max-min fair share, in bytes whatever its packets. Deficit
/// round robin is off by a quantum and a packet for each of its rounds' ends (Shreedhar and Varghese, theorem 2: 3 times the
/// larger of the two at any time), a first quantum of ten packets for each, and what still waits: `queue` packets each.
#[test]
fn turns_give_max_min_fair_shares() {
    let flows = prop::collection::vec((0.02..0.9f64, 200u32..1500), 2..8);
    let disciplines = prop::sample::select(vec![
        ("fq", "{ name = \"fq\", orphan_mask = 65535, flow_limit = 50, limit = 100000 }"),
        ("sfq", "{ name = \"sfq\", divisor = 65536, depth = 50, limit = 100000 }"),
        ("afq", "{ name = \"afq\", queues = 50, quantum = \"1500b\" }"),
        (
            "fq, a short quantum",
            "{ name = \"fq\", orphan_mask = 65535, quantum = \"300b\", flow_limit = 50, limit = 100000 }",
        ),
    ]);
    drawn(12, (flows, disciplines, 10u32..40), |(flows, (name, discipline), mbit)| {
        let capacity = f64::from(mbit) * 1e6;
        let wishes: Vec<f64> = flows.iter().map(|f| (f.0 * capacity).round()).collect();
        let mut text = format!("[link]\nrate = \"{mbit}mbit\"\noverhead = \"0b\"\nbuffer = \"1000000p\"\n");
        for (i, (flow, bps)) in flows.iter().zip(&wishes).enumerate() {
            // Not in step, or one of two equal flows would always find the place that the other leaves.
            text +=
                &format!("[[flows]]\nname = \"f{i}\"\npoisson = \"{bps}bit\"\npacket = \"{}b\"\n", flow.1);
        }
        let seconds = 20.0;
        let r = one(&format!(
            "{text}[queue]\ndisciplines = [{discipline}]\n\
             [run]\nduration = \"22s\"\nwarmup = \"2s\"\nsample = \"1s\"\n"
        ));
        // What each offered: Poisson counts differ from their means.
        let offered: Vec<f64> = (0..flows.len())
            .map(|i| {
                let d = datagrams(&r, i);
                (d.received + d.lost) as f64 * f64::from(flows[i].1) * 8.0 / seconds
            })
            .collect();
        let shares = max_min(capacity, &offered);
        let slack = (3.0 * 3028.0 + 15_140.0 + 50.0 * 1500.0) * 8.0 / seconds;
        for (i, share) in shares.iter().enumerate() {
            let got = datagrams(&r, i).received as f64 * f64::from(flows[i].1) * 8.0 / seconds;
            // Where wishes are near the even share, random arrivals leave turns unused: four standard deviations of a Poisson count.
            let noise = 4.0 * (offered[i] / seconds * f64::from(flows[i].1) * 8.0).sqrt();
            close(&format!("{name}, flow {i} of {}", flows.len()), got, *share, 0.0, slack + noise);
        }
    });
}

/// N greedy flows of one packet size take turns: while all wait, each sends one packet a round, so that counts are never a round apart.
#[test]
fn equal_flows_take_turns() {
    drawn(20, (2u32..30, 256u32..1500, 10u32..100), |(n, bytes, mbit)| {
        let bps = f64::from(mbit) * 1e6 * 1.5 / f64::from(n);
        let mut flows = String::new();
        for i in 0..n {
            flows += &format!(
                "[[flows]]\nname = \"f{i}\"\ncbr = \"{}bit\"\npacket = \"{bytes}b\"\nstart = \"{i}us\"\n",
                bps.round()
            );
        }
        let r = one(&format!(
            "[link]\nrate = \"{mbit}mbit\"\noverhead = \"0b\"\nbuffer = \"1000000p\"\n{flows}\
             [queue]\ndisciplines = [{{ name = \"sfq\", divisor = 65536, depth = 50, limit = 100000, quantum = \"{}b\" }}]\n\
             [run]\nduration = \"3s\"\nwarmup = \"1s\"\nsample = \"1s\"\n",
            bytes
        ));
        let got: Vec<u64> = (0..n as usize).map(|i| datagrams(&r, i).received).collect();
        let (least, most) = (got.iter().min().expect("some"), got.iter().max().expect("some"));
        assert!(most - least <= 1, "{got:?}");
    });
}
