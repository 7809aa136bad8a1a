//! The reconstruction of Chen et al.'s single-queue fair queueing: who is admitted how much.

use crate::host::{Dice, Host, flow_of, spec};
use queuewright_aqm::{Action, Value};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
/// 100 Mbit/s
const NS_PER_BYTE: u64 = 80;

/// Flows of so many kbit/s each, their gaps within half of the mean, in front of 100 Mbit/s: what each offered and
/// what it had through of `seconds`, kbit/s, after as many before.
fn through(set: &[(&str, Value)], packets: u32, flows: &[u64], seconds: u64) -> [Vec<f64>; 2] {
    let mut host = Host::new(&spec("chen-sfq", set), packets, 0);
    let mut dice = Dice(1);
    let mut due: Vec<u64> = flows.iter().map(|_| dice.roll() % (10 * MS)).collect();
    let (mut free_at, mut idle) = (0, false);
    let [mut offered, mut sent] = [vec![0u64; flows.len()], vec![0u64; flows.len()]];
    loop {
        let flow = (0..flows.len()).min_by_key(|&i| due[i]).unwrap();
        let now = due[flow];
        while !idle && free_at <= now {
            match host.transmit(free_at, |_| {}) {
                Some(p) => {
                    if free_at > seconds * SECOND {
                        sent[flow_of(&p) as usize] += u64::from(p.bytes);
                    }
                    free_at += u64::from(p.bytes) * NS_PER_BYTE;
                }
                None => idle = true,
            }
        }
        if now > 2 * seconds * SECOND {
            return [offered, sent]
                .map(|all| all.iter().map(|&bytes| bytes as f64 * 8e-3 / seconds as f64).collect());
        }
        if now > seconds * SECOND {
            offered[flow] += 1500;
        }
        if host.arrive(now, 1500, flow as u32, 0).action != Action::Drop && idle {
            idle = false;
            free_at = now;
        }
        let mean = 12_000_000_000 / flows[flow];
        due[flow] = now + mean / 2 + dice.roll() % mean;
    }
}

/// The rates that max-min fairness gives.
fn fair(flows: &[u64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..flows.len()).collect();
    order.sort_by_key(|&i| flows[i]);
    let (mut rest, mut shares) = (100_000.0, vec![0.0; flows.len()]);
    for (k, &i) in order.iter().enumerate() {
        shares[i] = (rest / (flows.len() - k) as f64).min(flows[i] as f64);
        rest -= shares[i];
    }
    shares
}

/// Flows that want less than their share leave it to the others, however many they are.
#[test]
fn what_small_flows_do_not_want_others_have() {
    let small = |large: &[u64], n: usize, each: u64| [large, &vec![each; n]].concat();
    for flows in [
        small(&[50_000, 60_000], 8, 100),
        small(&[50_000, 60_000], 100, 100),
        small(&[200_000], 200, 100),
        small(&[20_000, 30_000, 90_000], 20, 1000),
        small(&[60_000; 4], 0, 1),
    ] {
        for packets in [200, 1000] {
            let ([offered, got], fair) = (through(&[], packets, &flows, 20), fair(&flows));
            let sum: f64 = got.iter().sum();
            assert!(sum > 99_800.0f64.min(flows.iter().sum::<u64>() as f64 * 0.99), "{sum} kbit/s of 100000");
            for i in 0..flows.len() {
                // One that has less than its share loses nothing.
                let (due, off) = if fair[i] < flows[i] as f64 { (fair[i], 0.02) } else { (offered[i], 0.01) };
                assert!(
                    (got[i] - due).abs() < off * due + 1.3,
                    "{} flows, {packets} packets: flow {i} has {} for {due} kbit/s",
                    flows.len(),
                    got[i]
                );
            }
        }
    }
}
