//! CAKE against what its authors' paper, tc-cake(8) and arithmetic by hand say: tins, lengths on the link, shares of tins and hosts, and how
//! seldom flows share a queue. Packet by packet it is held against Linux itself in the lab (`docs/fidelity.md`).

use crate::host::{Dice, Host, flow_of, hash, spec};
use queuewright_aqm::{Action, Discipline, Packet, Queue, Value};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
/// Queues of a tin.
const QUEUES: u32 = 1024;

fn word(w: &'static str) -> Value {
    Value::Choice(w)
}

/// An RTT so long that COBALT has nothing to say.
const PATIENT: (&str, Value) = ("rtt", Value::Int(3600 * SECOND));

/// tc-cake(8), in its words: of each mode the tins, from the one with the least priority on, and what goes there.
#[test]
fn a_codepoint_goes_to_the_tin_that_the_manual_says() {
    const NAMES: [(&str, u16); 27] = [
        ("CS0", 0),
        ("LE", 1),
        ("TOS2", 2),
        ("TOS4", 4),
        ("CS1", 8),
        ("AF11", 10),
        ("AF12", 12),
        ("AF13", 14),
        ("CS2", 16),
        ("AF21", 18),
        ("AF22", 20),
        ("AF23", 22),
        ("CS3", 24),
        ("AF31", 26),
        ("AF32", 28),
        ("AF33", 30),
        ("CS4", 32),
        ("AF41", 34),
        ("AF42", 36),
        ("AF43", 38),
        ("CS5", 40),
        ("VA", 44),
        ("EF", 46),
        ("CS6", 48),
        ("CS7", 56),
        ("none of them", 3),
        ("none of them", 63),
    ];
    // Of each mode its tins: the number within, and the names; the first takes all that are not named.
    type Tin = (u32, &'static [&'static str]);
    let modes: [(&'static str, &[Tin]); 5] = [
        ("besteffort", &[(0, &[])]),
        ("diffserv3", &[(0, &[]), (1, &["CS1", "LE"]), (2, &["CS7", "CS6", "EF", "VA", "TOS4"])]),
        (
            "diffserv4",
            &[
                (0, &[]),
                (1, &["CS1", "LE"]),
                (
                    2,
                    &[
                        "AF41", "AF42", "AF43", "AF31", "AF32", "AF33", "CS3", "AF21", "AF22", "AF23", "CS2",
                        "TOS4",
                    ],
                ),
                (3, &["CS7", "CS6", "EF", "VA", "CS5", "CS4"]),
            ],
        ),
        (
            "diffserv8",
            &[
                (2, &[]),
                (0, &["LE"]),
                (1, &["CS1", "AF11", "AF12", "AF13", "TOS2"]),
                (3, &["AF41", "AF42", "AF43", "AF31", "AF32", "AF33", "CS3"]),
                (4, &["AF21", "AF22", "AF23", "TOS4"]),
                (5, &["CS2"]),
                (6, &["EF", "VA", "CS5", "CS4"]),
                (7, &["CS6", "CS7"]),
            ],
        ),
        (
            "precedence",
            &[
                (0, &[]),
                (1, &["CS1", "AF11", "AF12", "AF13"]),
                (2, &["CS2", "AF21", "AF22", "AF23"]),
                (3, &["CS3", "AF31", "AF32", "AF33"]),
                (4, &["CS4", "AF41", "AF42", "AF43"]),
                (5, &["CS5", "VA", "EF"]),
                (6, &["CS6"]),
                (7, &["CS7"]),
            ],
        ),
    ];
    for (mode, tins) in modes {
        for (name, dscp) in NAMES {
            if mode == "precedence" && name == "none of them" && dscp == 63 {
                continue;
            }
            let mut cake = Discipline::new(&spec("cake", &[("diffserv", word(mode))]));
            let packet = Packet { bytes: 100, dscp, ..Packet::default() };
            let (v, queue) = cake.enqueue_to(0, &Queue::default(), &packet, 0);
            let named = tins.iter().find(|(_, names)| names.contains(&name));
            assert_eq!(v.action, Action::Pass);
            assert_eq!(queue / QUEUES, named.unwrap_or(&tins[0]).0, "{mode} {name}");
        }
    }
}

/// A host that always has packets of these flows, `bytes` long: how many bytes of each leave in all of `time`, over a link of so many ns a byte.
fn shares(
    set: &[(&str, Value)],
    flows: u32,
    bytes: u32,
    time: u64,
    ns_per_byte: u64,
    header: fn(u32) -> (u32, u32, u16),
) -> Vec<u64> {
    let mut host = Host::new(&spec("cake", set), 0, 0);
    host.header = header;
    let mut sent = vec![0; flows as usize];
    for flow in 0..flows {
        for _ in 0..4 {
            host.arrive(0, bytes, flow, 0);
        }
    }
    let mut now = 0;
    while now < time {
        let mut again = Vec::new();
        match host.transmit(now, |p| again.push(flow_of(&p))) {
            Some(p) => {
                let flow = flow_of(&p);
                sent[flow as usize] += u64::from(p.bytes);
                again.push(flow);
                now += u64::from(p.bytes) * ns_per_byte;
            }
            None => now = host.discipline.ready(),
        }
        for flow in again {
            host.arrive(now, bytes, flow, 0);
        }
    }
    sent
}

/// What a packet takes of the shaper, bytes: the gap between two at a byte a microsecond.
fn on_link(set: &[(&str, Value)], ip_bytes: u32) -> u64 {
    let set = [set, &[("bandwidth", Value::Int(8_000_000)), PATIENT]].concat();
    let mut host = Host::new(&spec("cake", &set), 0, 0);
    for _ in 0..3 {
        host.arrive(0, ip_bytes + 14, 0, 0);
    }
    let mut left = Vec::new();
    let mut now = 0;
    while left.len() < 3 {
        match host.transmit(now, |_| {}) {
            Some(_) => left.push(now),
            None => now = host.discipline.ready(),
        }
    }
    assert_eq!(left[2] - left[1], left[1] - left[0]);
    (left[1] - left[0]).div_ceil(1_000)
}

/// Cells of ATM have 53 bytes, 48 of them payload. By hand: 1500 bytes and 40 of PPPoE by LLC are 32 cells and 4 bytes, thus 33: 1749 bytes. 40
/// and 8 bytes are a cell, 41 and 8 two.
#[test]
fn lengths_are_those_of_the_link() {
    let framing = |w| ("framing", word(w));
    let size = |name, bytes| (name, Value::Int(bytes));
    // Parameters, bytes of the IP packet, bytes on the link.
    type Case<'a> = (&'a [(&'a str, Value)], u32, u64);
    let cases: &[Case<'_>] = &[
        // As it is, with Ethernet's header of 14.
        (&[], 1500, 1514),
        (&[], 40, 54),
        // How the link cuts up packets, and nothing of headers.
        (&[framing("noatm")], 1500, 1514),
        (&[framing("atm")], 40, 106),
        (&[framing("ptm")], 1500, 1514 + 24),
        (&[framing("noatm"), size("overhead", 4)], 1500, 1504),
        (&[size("overhead", 18)], 1500, 1518),
        (&[framing("pppoe-llcsnap")], 1500, 33 * 53),
        (&[framing("pppoe-vcmux")], 1500, 32 * 53),
        (&[framing("conservative")], 1500, 33 * 53),
        (&[framing("ipoa-vcmux")], 40, 53),
        (&[framing("ipoa-vcmux")], 41, 106),
        (&[framing("ipoa-llcsnap")], 32, 53),
        (&[framing("ipoa-llcsnap")], 33, 106),
        (&[framing("bridged-vcmux")], 24, 53),
        (&[framing("bridged-vcmux")], 25, 106),
        (&[framing("bridged-llcsnap")], 64, 106),
        (&[framing("bridged-llcsnap")], 65, 159),
        (&[framing("pppoa-vcmux")], 38, 53),
        (&[framing("pppoa-vcmux")], 39, 106),
        (&[framing("pppoa-llc")], 34, 53),
        (&[framing("pppoa-llc")], 35, 106),
        (&[framing("atm"), size("overhead", 44)], 100, 159),
        (&[framing("atm"), size("overhead", 45)], 100, 212),
        // A byte for each 64 that are begun: 1530 are 23 times 64 and 58.
        (&[framing("pppoe-ptm")], 1500, 1554),
        (&[framing("bridged-ptm")], 1500, 1546),
        (&[framing("bridged-ptm")], 42, 65),
        (&[framing("bridged-ptm")], 43, 67),
        (&[framing("docsis")], 1500, 1518),
        (&[framing("docsis")], 40, 64),
        (&[framing("docsis"), size("mpu", 100)], 40, 100),
        (&[framing("ethernet")], 1500, 1538),
        (&[framing("ethernet")], 40, 84),
        (&[framing("ethernet"), size("overhead", 42)], 1500, 1542),
        (&[size("mpu", 84)], 40, 84),
    ];
    for (set, ip_bytes, expected) in cases {
        assert_eq!(on_link(set, *ip_bytes), *expected, "{set:?} {ip_bytes}");
    }
}

/// A train of packets leaves at the rate, to a part in a million, at slow rates and fast ones; after an idle time no faster.
#[test]
fn the_shaper_keeps_its_rate_and_saves_nothing_up() {
    for mbit in [1u64, 7, 100, 2_500, 40_000] {
        let set = [("bandwidth", Value::Int(mbit * 1_000_000)), PATIENT];
        let mut host = Host::new(&spec("cake", &set), 0, 0);
        for start in [0, 50 * SECOND, 8_000 * SECOND] {
            let mut now = start;
            (0..1001).for_each(|_| {
                host.arrive(now, 1250, 0, 0);
            });
            let mut left = 0;
            while left < 1001 {
                match host.transmit(now, |_| panic!("nothing is dropped")) {
                    Some(_) => left += 1,
                    None => now = host.discipline.ready(),
                }
            }
            let took = (now - start) as f64 * mbit as f64 * 1e6 / 8e9 / 1250.0;
            // Times are cut to whole ns.
            assert!((took - 1000.0).abs() < 0.1 + mbit as f64 * 1e-4, "{mbit} Mbit/s: {took}");
        }
    }
}

/// All three tins have more than they may: Voice a quarter of the rate, Bulk a sixteenth, and Best Effort what is left, or, without a rate, as
/// 256 and 64 to 1024.
#[test]
fn tins_have_their_shares() {
    let header = |flow: u32| (hash(flow), hash(flow), [0, 8, 46][flow as usize]);
    let rate = ("bandwidth", Value::Int(8_000_000));
    for (set, expected) in [
        (&[rate, PATIENT][..], [11.0 / 16.0, 1.0 / 16.0, 4.0 / 16.0]),
        (&[PATIENT], [16.0 / 21.0, 1.0 / 21.0, 4.0 / 21.0]),
    ] {
        let sent = shares(set, 3, 1000, 20 * SECOND, 500, header);
        let all: u64 = sent.iter().sum();
        for (bytes, part) in sent.iter().zip(expected) {
            let has = *bytes as f64 / all as f64;
            assert!((has - part).abs() < 0.01 * part + 0.002, "{sent:?} {expected:?}");
        }
    }
    // A tin alone has all.
    let alone = shares(&[rate, PATIENT], 1, 1000, SECOND, 500, |_| (0, 0, 46));
    assert!(alone[0] > 990_000, "{alone:?}");
}

/// The paper's claim: hosts share alike, whatever the number of their flows. One host has a flow, another has nine.
#[test]
fn hosts_share_alike_where_they_are_told_apart() {
    // Flow 0 is the first host's, by its source, and goes to a host of its own.
    let by_source = |flow: u32| (hash(1 + u32::from(flow > 0)), hash(100 + flow), 0);
    let by_destination = |flow: u32| (hash(100 + flow), hash(1 + u32::from(flow > 0)), 0);
    // All to one destination: it has all ten, more than either source.
    let to_one = |flow: u32| (hash(1 + u32::from(flow > 0)), hash(100), 0);
    let hosts = 0.5;
    let flows = 0.1;
    type Header = fn(u32) -> (u32, u32, u16);
    let cases: [(&'static str, Header, f64); 12] = [
        ("flows", by_source, flows),
        ("flows", by_destination, flows),
        ("dual-srchost", by_source, hosts),
        ("dual-srchost", by_destination, flows),
        ("dual-dsthost", by_source, flows),
        ("dual-dsthost", by_destination, hosts),
        ("triple-isolate", by_source, hosts),
        ("triple-isolate", by_destination, hosts),
        ("triple-isolate", to_one, flows),
        ("srchost", by_source, hosts),
        ("dsthost", by_destination, hosts),
        // Each pair of hosts is a queue: ten of them.
        ("hosts", by_source, flows),
    ];
    for (isolation, header, expected) in cases {
        for rate in [0, 80_000_000] {
            let set = [("isolation", word(isolation)), ("bandwidth", Value::Int(rate)), PATIENT];
            let sent = shares(&set, 10, 1514, 10 * SECOND, 50, header);
            let has = sent[0] as f64 / sent.iter().sum::<u64>() as f64;
            assert!((has - expected).abs() < 0.02, "{isolation} at {rate}: {has}, not {expected}");
        }
    }
    // One queue for all: first come, first served.
    let set = [("isolation", word("flowblind")), PATIENT];
    let mut host = Host::new(&spec("cake", &set), 0, 0);
    (0..50).for_each(|flow| {
        host.arrive(0, 1000, flow, 0);
    });
    let order: Vec<u32> = (0..50).map(|_| flow_of(&host.transmit(0, |_| {}).unwrap())).collect();
    assert_eq!(order, (0..50).collect::<Vec<_>>());
}

/// A variable by its name.
fn shown(cake: &Discipline, name: &str) -> f64 {
    let at = cake.probes().iter().position(|p| p.name == name);
    cake.probe(at.expect("it is shown"))
}

/// How many of `flows` random flows find their set of eight full: of a set it is what Poisson's law with this mean has beyond eight.
fn beyond_eight(flows: u32) -> f64 {
    let mean = f64::from(flows) / 128.0;
    let (mut p, mut sum) = ((-mean).exp(), 0.0);
    for n in 1..60 {
        p *= mean / f64::from(n);
        sum += p * f64::from((n - 8i32).max(0));
    }
    128.0 * sum
}

#[test]
fn flows_share_queues_as_seldom_as_sets_of_eight_let_them() {
    for flows in [100u32, 300, 512, 700] {
        let (mut collisions, mut shared, runs) = (0.0, 0, 60);
        for seed in 0..runs {
            let mut dice = Dice(seed);
            let mut cake = Discipline::new(&spec("cake", &[("isolation", word("flows"))]));
            let mut used = vec![0; QUEUES as usize];
            for _ in 0..flows {
                let packet = Packet { bytes: 1000, flow: (dice.roll() >> 32) as u32, ..Packet::default() };
                let (_, queue) = cake.enqueue_to(0, &Queue::default(), &packet, 0);
                used[queue as usize] += 1;
            }
            collisions += shown(&cake, "collisions");
            shared += used.iter().map(|n| u32::max(*n, 1) - 1).sum::<u32>();
        }
        let mean = collisions / runs as f64;
        let expected = beyond_eight(flows);
        // The law's own noise: its variance is about its mean, or some times that where sets overflow by several.
        let noise = 5.0 * (3.0 * expected / runs as f64).sqrt() + 0.05;
        assert!((mean - expected).abs() < noise, "{flows} flows: {mean} collisions, {expected} by the law");
        assert_eq!(f64::from(shared), collisions);
        // With a queue by the hash alone so many would find theirs taken.
        let plain = f64::from(flows) - 1024.0 * (1.0 - (-f64::from(flows) / 1024.0).exp());
        assert!(mean < plain / 3.0, "{flows} flows: {mean}, by a plain hash {plain}");
    }
}

/// A flow that finds its set full does not take its queue's neighbours for more: nine flows of one set are in eight queues, and the ninth is
/// in the one that its hash says. Once a queue is at rest another flow has it.
#[test]
fn the_ninth_of_a_set_shares_its_own_queue() {
    let mut host =
        Host::new(&spec("cake", &[("isolation", word("flows")), ("diffserv", word("besteffort"))]), 0, 0);
    let to = |host: &mut Host, flow: u32| {
        let packet = Packet { bytes: 1000, flow, ..Packet::default() };
        host.discipline.enqueue_to(0, &Queue { packets: 1, ..Queue::default() }, &packet, 0).1
    };
    // One set: the lowest bits but three are the same.
    let flows: Vec<u32> = (0..8).map(|i| 1024 * (i + 1) + 16 + 5).collect();
    let queues: Vec<u32> = flows.iter().map(|f| to(&mut host, *f)).collect();
    assert_eq!(queues, [21, 22, 23, 16, 17, 18, 19, 20]);
    assert_eq!(to(&mut host, 77 * 1024 + 16 + 2), 18);
    // Who has a queue keeps it, but for him whose queue it was.
    assert_eq!(to(&mut host, flows[1]), 22);
    assert_eq!(to(&mut host, flows[5]), 21);
}

/// Two floods and a call: the limit costs the longest queue its oldest packets, and nobody else any.
#[test]
fn what_is_too_much_comes_off_the_longest_queue() {
    let set = [("memlimit", Value::Int(100_000)), PATIENT];
    let mut host = Host::new(&spec("cake", &set), 0, 0);
    (0..10).for_each(|_| {
        host.arrive(0, 200, 9, 0);
    });
    let mut lengths = [0u64; 2];
    for i in 0..2_000u64 {
        let flow = u32::from(i % 3 == 0);
        host.arrive(i, 1000, flow, 0);
        lengths[flow as usize] += 1;
        for gone in host.evicted.drain(..) {
            let gone = flow_of(&gone);
            assert!(gone < 2);
            lengths[gone as usize] -= 1;
            // It was no shorter than the other.
            assert!(lengths[gone as usize] + 1 >= lengths[1 - gone as usize], "{lengths:?}");
        }
        assert!(host.queue.bytes <= 100_000);
    }
    assert_eq!(lengths, [49, 49]);
}

/// sch_cake: 4 MiB at least, four times what a round trip holds, and no more than 10,240 full packets.
#[test]
fn the_limit_follows_from_rate_and_rtt() {
    for (mbit, rtt_ms, expected) in [
        (10, 100, 4 << 20),
        (100, 100, 5_000_000),
        (100, 200, 10_000_000),
        (1_000, 100, 15_503_360),
        (0, 100, 15_503_360),
    ] {
        let set = [("bandwidth", Value::Int(mbit * 1_000_000)), ("rtt", Value::Int(rtt_ms * MS))];
        let mut host = Host::new(&spec("cake", &set), 0, 0);
        let mut most = 0;
        while host.evicted.is_empty() {
            most = host.queue.bytes;
            host.arrive(0, 1514, 0, 0);
        }
        assert!(most <= expected && most + 1514 > expected, "{mbit} Mbit/s, {rtt_ms} ms: {most}");
    }
}

/// What may go up to `at` goes, from `next` on: when it is to be asked again.
fn sends(host: &mut Host, mut next: u64, at: u64) -> u64 {
    while next <= at {
        match host.transmit(next, |_| {}) {
            Some(_) => {}
            None if host.queue.packets > 0 => next = next.max(host.discipline.ready()),
            None => break,
        }
    }
    next.max(at)
}

/// sch_cake: with `ingress` what is dropped counts as sent, but two thirds of the rate are delivered in any case.
#[test]
fn drops_count_as_sent_with_ingress() {
    let run = |ingress: bool| {
        let set = [
            ("bandwidth", Value::Int(8_000_000)),
            ("ingress", Value::Flag(ingress)),
            ("memlimit", Value::Int(50_000)),
        ];
        let mut host = Host::new(&spec("cake", &set), 0, 0);
        let (mut at, mut next, end) = (0, 0, 20 * SECOND);
        while at < end {
            // Twice what may pass.
            host.arrive(at, 1000, 0, 0);
            at += MS / 2;
            next = sends(&mut host, next, at);
        }
        host.sent as f64 * 8_000.0 / 20.0 / 8e6
    };
    let (egress, ingress) = (run(false), run(true));
    assert!((egress - 1.0).abs() < 0.01, "{egress}");
    assert!((ingress - 2.0 / 3.0).abs() < 0.01, "{ingress}");
}

/// COBALT is as it is alone: a queue above target for an interval has its first mark within another, and no packet that can be marked is lost.
#[test]
fn a_standing_queue_is_marked() {
    let mut host = Host::new(&spec("cake", &[("bandwidth", Value::Int(10_000_000))]), 0, 0);
    let (mut now, mut first) = (0, None);
    (0..60).for_each(|_| {
        host.arrive(0, 1250, 0, 2);
    });
    while now < 2 * SECOND {
        if let Some(p) = host.transmit(now, |_| panic!("it can be marked")) {
            if p.ecn == 3 {
                first.get_or_insert(now);
            }
            host.arrive(now, 1250, 0, 2);
        } else {
            now = host.discipline.ready();
        }
    }
    let first = first.expect("it is marked") / MS;
    assert!((1..210).contains(&first), "{first} ms");
    // One each 100 ms / sqrt(n), which in 2 s comes to some (2 s / 100 ms / 2)^2.
    let marks: u64 = host.marks.iter().sum();
    assert!((70..150).contains(&marks), "{marks}");
}

/// sch_cake, autorate-ingress: of what comes in bursts through a link of 20 Mbit/s, 15/16 is the rate found.
#[test]
fn the_rate_follows_the_link_before() {
    let set = [
        ("bandwidth", Value::Int(100_000_000)),
        ("autorate", Value::Flag(true)),
        ("ingress", Value::Flag(true)),
    ];
    let mut host = Host::new(&spec("cake", &set), 0, 0);
    let (mut at, mut next) = (0, 0);
    let mut dice = Dice(3);
    while at < 30 * SECOND {
        host.arrive(at, 1250, (dice.roll() % 4) as u32, 0);
        at += 500_000 * 4 / 5 + dice.roll() % 200_000;
        next = sends(&mut host, next, at);
    }
    let mbit = shown(&host.discipline, "bandwidth");
    // Windows of a few packets vary, and the highest weigh most.
    assert!((18.0..24.0).contains(&mbit), "{mbit}");
}
