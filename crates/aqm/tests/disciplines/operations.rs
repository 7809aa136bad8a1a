//! Random parameters and random operations on every discipline, shrunk to the
//! shortest sequence that breaks a promise. `aqm/tests/fuzz.c` does the same in C,
//! under sanitizers.

use crate::host::{Host, hash};
use proptest::prelude::*;
use queuewright_aqm::{Action, Info, Packet, Param, ParamKind, Reason, Spec, Value, registry};

#[derive(Debug, Clone)]
enum Op {
    Arrive { bytes: u32, ecn: u32, times: u32 },
    Send { times: u32, gap: u64 },
    Wait { ns: u64 },
    Limit { packets: u32, bytes: u64 },
}

fn op() -> impl Strategy<Value = Op> {
    // Every magnitude of time: from back to back to 18 minutes.
    let time = (0..40u32).prop_flat_map(|bits| 0..=1u64 << bits);
    prop_oneof![
        4 => (prop_oneof![Just(1500u32), 1..65_536u32], 0..4u32, 1..30u32)
            .prop_map(|(bytes, ecn, times)| Op::Arrive { bytes, ecn, times }),
        4 => (1..30u32, time.clone()).prop_map(|(times, gap)| Op::Send { times, gap: gap >> 12 }),
        1 => time.prop_map(|ns| Op::Wait { ns }),
        1 => limits().prop_map(|(packets, bytes)| Op::Limit { packets, bytes }),
    ]
}

/// Packets and bytes; 0 is none.
fn limits() -> impl Strategy<Value = (u32, u64)> {
    (prop_oneof![Just(0u32), 1..200u32], prop_oneof![Just(0u64), 1..500_000u64])
}

/// A value in a parameter's range, by a number 0..1: small ones as likely as large.
fn value(p: &Param, x: f64) -> Value {
    let scaled = |a: f64, b: f64| a + (b - a) * x.powi(8);
    match (p.kind, p.min, p.max) {
        (ParamKind::Flag, ..) => Value::Flag(x < 0.5),
        (ParamKind::Choice(words), ..) => {
            Value::Choice(words[((x * words.len() as f64) as usize).min(words.len() - 1)])
        }
        (_, Value::Int(a), Value::Int(b)) => Value::Int((scaled(a as f64, b as f64) as u64).clamp(a, b)),
        (_, Value::Real(a), Value::Real(b)) => Value::Real(scaled(a, b)),
        _ => unreachable!("bounds are of the parameter's kind"),
    }
}

fn promises(info: &'static Info, set: &[f64], mut limits: (u32, u64), ops: &[Op]) {
    let mut spec = Spec::new(info);
    for (p, &x) in info.params.iter().zip(set) {
        // A third keep their default: most mistakes need no odd parameter.
        if x >= 1.0 / 3.0 {
            spec.set(p.name, value(p, (x - 1.0 / 3.0) * 1.5)).unwrap();
        }
    }
    let (target, mtu) = (spec.get("target"), spec.get("mtu"));
    let below = |v: Option<Value>, x: u64| matches!(v, Some(Value::Int(v)) if x < v);

    let mut host = Host::new(&spec, limits.0, limits.1);
    host.header = |flow| (hash(flow % 2), hash(flow % 3), (flow * 8) as u16);
    let mut now = 0;
    // Packets that Linux's sch_fq does not count to a limit.
    let aside = if info.name == "fq" { 8 } else { 0 };
    for op in ops {
        match *op {
            Op::Wait { ns } => now += ns,
            Op::Limit { packets, bytes } => {
                limits = (packets, bytes);
                host.limit(now, packets, bytes);
                assert!(packets == 0 || host.queue.packets <= packets + aside, "{:?}", host.queue);
                assert!(bytes == 0 || host.queue.bytes <= bytes, "{:?}", host.queue);
            }
            Op::Arrive { bytes, ecn, times } => {
                for _ in 0..times {
                    let queue = host.queue;
                    let over = (limits.0 > 0 && queue.packets >= limits.0)
                        || (limits.1 > 0 && queue.bytes + u64::from(bytes) > limits.1);
                    let v = host.arrive(now, bytes, bytes % 5, ecn);
                    if host.discipline.queues() == 0 {
                        assert_eq!(v.reason == Reason::Limit, over, "{v:?} {queue:?}");
                    }
                    // A scheduler may let a packet in and another one go.
                    assert!(limits.0 == 0 || host.queue.packets <= limits.0 + aside);
                    assert!(limits.1 == 0 || host.queue.bytes <= limits.1);
                    if v.action == Action::Mark {
                        assert!(ecn != 0 && spec.may_mark());
                    }
                    if v.reason == Reason::Early {
                        assert!(info.needs_random, "early decisions are random ones");
                        if let (Some(Value::Int(mtu)), "pie" | "pi2" | "fq-pie") = (mtu, info.name) {
                            assert!(queue.bytes >= 2 * mtu);
                        }
                    }
                    assert!(info.name != "droptail" || v.action == Action::Pass || over, "{v:?} {queue:?}");
                }
            }
            Op::Send { times, gap } => {
                for _ in 0..times {
                    let marks = host.marks;
                    let mut lost: Vec<Packet> = Vec::new();
                    let sent = host.transmit(now, |p| lost.push(p));
                    let mut left = host.queue.bytes + sent.map_or(0, |p| u64::from(p.bytes));
                    if host.marks != marks {
                        assert!(sent.unwrap().ecn == 3);
                        assert!(spec.may_mark());
                    }
                    // Head drops are CoDel's: never below target, never the last MTU.
                    let codel = matches!(info.name, "codel" | "fq-codel");
                    for p in lost.iter().rev().filter(|_| codel) {
                        // In whole ticks of 1024 ns.
                        assert!(!below(target, (now / 1024 - p.enqueue_ns / 1024 + 1) * 1024));
                        if let Some(Value::Int(mtu)) = mtu {
                            assert!(left > mtu);
                        }
                        left += u64::from(p.bytes);
                    }
                    now += gap;
                }
            }
        }
        for (i, probe) in host.discipline.probes().iter().enumerate() {
            let v = host.discipline.probe(i);
            let top = if probe.name == "drop_probability" { 1.0 } else { f64::MAX };
            assert!((0.0..=top).contains(&v), "{} is {v}", probe.name);
        }
    }
    // Whatever was left can be had: nothing is held back for ever.
    while host.queue.packets > 0 {
        if host.transmit(now, |_| {}).is_none() && host.queue.packets > 0 {
            now = host.discipline.ready();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn every_discipline_keeps_its_promises(
        which in 0..registry().len(),
        set in prop::collection::vec(0.0..1.0f64, 32),
        limits in limits(),
        ops in prop::collection::vec(op(), 1..60),
    ) {
        promises(&registry()[which], &set, limits, &ops);
    }
}
