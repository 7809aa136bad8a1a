//! CP-AQM against its rule in exact integers, and the oracles of its paper.

use crate::host::{Dice, Host, spec};
use queuewright_aqm::{Action, Discipline, Packet, Queue, Reason, Value};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
/// 10 Mbit/s: 1500 bytes in 1.2 ms.
const NS_PER_BYTE: u64 = 800;
const RATE: Value = Value::Int(10_000_000);
const AUTO: Value = Value::Int(0);

/// The paper's setting on 1500-byte packets: 10 Mbit/s, 30 packets.
fn paper(rate: Value, threshold: u64, cmax: f64) -> [(&'static str, Value); 4] {
    [
        ("rate", rate),
        ("threshold", Value::Int(threshold * 1500)),
        ("cmax", Value::Real(cmax)),
        ("mtu", Value::Int(1500)),
    ]
}

/// TrafficModel arrivals at `gap()` to a link of `ns_per_byte(now)`, and calls `look` at each.
fn drive(
    host: &mut Host,
    until: u64,
    mut gap: impl FnMut() -> u64,
    mut bytes: impl FnMut() -> u32,
    ns_per_byte: impl Fn(u64) -> u64,
    mut look: impl FnMut(u64, &Host, Action),
) {
    let (mut now, mut free_at, mut idle) = (0, 0, false);
    while now < until {
        while !idle && free_at < now {
            let at = free_at;
            match host.transmit(at, |_| {}) {
                Some(p) => free_at = at + u64::from(p.bytes) * ns_per_byte(at),
                None => idle = true,
            }
        }
        let v = host.arrive(now, bytes(), 0, 0);
        look(now, host, v.action);
        if idle && host.queue.packets > 0 {
            idle = false;
            free_at = now;
        }
        now += gap();
    }
}

/// The rule with a given rate, in integers without rounding: `room * 10^9` stands for a byte, where
/// `room` is Qmax - Tc.
struct Rule {
    rate: u128,
    tc: u128,
    room: u128,
    /// cmax in millionths.
    cmax: u128,
    bucket: u128,
    tokens: u128,
    /// What rounding to 2^-24 of cmax - 1 may have made of it since it was full.
    rounding: u128,
    then: u64,
}

impl Rule {
    fn new(rate: u128, tc: u128, qmax: u128, cmax: u128, bucket: u128) -> Self {
        let bucket = bucket * (qmax - tc) * 1_000_000_000;
        Rule { rate, tc, room: qmax - tc, cmax, bucket, tokens: bucket, rounding: 0, then: 0 }
    }

    /// Is there congestion allowance for this packet? `None`: by less than rounding may decide.
    fn has_tokens(&mut self, now: u64, x: u64, bytes: u32) -> (Option<bool>, u128) {
        self.tokens = (self.tokens + u128::from(now - self.then) * self.rate * self.room).min(self.bucket);
        if self.tokens == self.bucket {
            self.rounding = 0;
        }
        self.then = now;
        let (x, b) = (u128::from(x), u128::from(bytes));
        let cost = if x < self.tc {
            0
        } else {
            b * (self.room * 1_000_000 + (x - self.tc) * (self.cmax - 1_000_000)) * 1000
        };
        self.rounding += b * self.room * 64;
        let sure = self.tokens.abs_diff(cost) > self.rounding;
        (sure.then_some(cost <= self.tokens), cost)
    }
}

#[test]
fn every_verdict_is_the_papers() {
    for (seed, tc, cmax) in [(1, 5u64, 1.2), (2, 0, 2.0), (3, 10, 1.05), (4, 29, 1.5), (5, 5, 1.0)] {
        let mut host = Host::new(&spec("cp-aqm", &paper(RATE, tc, cmax)), 30, 0);
        let bucket = 67_500 + if tc == 0 { 1500 } else { 0 };
        let millionths = (cmax * 1e6) as u128;
        let mut rule = Rule::new(1_250_000, u128::from(tc) * 1500, 45_000, millionths, bucket);
        let (mut dice, mut sizes) = (Dice(seed), Dice(seed + 100));
        let (mut drops, mut passes, mut unsure) = (0, 0, 0);
        let mut load = Dice(seed + 200);
        let mut at = 0u64;
        let mut percent = 100;
        // `host.queue` is seen after the packet; keep what it was before.
        let before = std::cell::Cell::new((0u64, 0u32));
        let gap = || {
            at += 1;
            if at.is_multiple_of(500) {
                percent = 60 + load.roll() % 120;
            }
            dice.roll() % (2 * 800 * NS_PER_BYTE * 100 / percent)
        };
        let bytes = || {
            let bytes = 100 + sizes.roll() as u32 % 1400;
            before.set((before.get().0, bytes));
            bytes
        };
        drive(
            &mut host,
            100 * SECOND,
            gap,
            bytes,
            |_| NS_PER_BYTE,
            |now, host, action| {
                let bytes = before.get().1;
                let stayed = if action == Action::Drop { 0 } else { u64::from(bytes) };
                let x = host.queue.bytes - stayed;
                let full = host.queue.packets - u32::from(action != Action::Drop) >= 30;
                let (verdict, cost) = rule.has_tokens(now, x, bytes);
                match verdict {
                    Some(tokens) => {
                        assert_eq!(action == Action::Pass, tokens && !full, "at {now}, {x} waiting")
                    }
                    None => unsure += 1,
                }
                if action == Action::Pass {
                    rule.tokens = rule.tokens.saturating_sub(cost);
                    passes += 1;
                } else {
                    drops += 1;
                }
            },
        );
        assert!(passes > 10_000 && drops > 1_000, "{passes} passed, {drops} dropped");
        assert!(unsure < passes / 100, "{unsure}");
    }
}

/// Section 4.3: with cmax = 1 the policer never drops. By our own bookkeeping of departures too,
/// whatever the link's rate does.
#[test]
fn without_cmax_it_is_tail_drop_packet_for_packet() {
    for (seed, rate) in [(1, RATE), (2, AUTO), (1, AUTO), (2, RATE)] {
        for tc in [0, 5, 20] {
            let mut police = Host::new(&spec("cp-aqm", &paper(rate, tc, 1.0)), 30, 0);
            let mut tail = Host::new(&spec("droptail", &[]), 30, 0);
            // Given, the rate must be the link's; measured, the link may do what it likes.
            let link = |now: u64| match rate == AUTO {
                true => [800, 200, 4000, 500][(now / (170 * MS)) as usize % 4],
                false => NS_PER_BYTE,
            };
            let mut verdicts = [Vec::new(), Vec::new()];
            for (host, verdicts) in [&mut police, &mut tail].into_iter().zip(&mut verdicts) {
                let (mut dice, mut sizes) = (Dice(seed), Dice(seed + 1));
                // About the link's rate, or twice that.
                let gap = || dice.roll() % (600_000 * seed);
                let bytes = || 64 + sizes.roll() as u32 % 1437;
                drive(host, 30 * SECOND, gap, bytes, link, |now, _, action| verdicts.push((now, action)));
            }
            assert!(tail.drops[Reason::Limit as usize] > 100 && tail.sent > 10_000);
            assert!(verdicts[0] == verdicts[1], "seed {seed}, Tc {tc}");
            assert_eq!(police.drops, tail.drops);
        }
    }
}

/// Mean queue before each arrival, packets, in the last three quarters of `seconds`; its largest.
fn mean_queue(rate: Value, tc: u64, cmax: f64, gap: impl FnMut() -> u64, seconds: u64) -> (f64, u32) {
    let mut host = Host::new(&spec("cp-aqm", &paper(rate, tc, cmax)), 30, 0);
    let (mut sum, mut n, mut most) = (0u64, 0u64, 0);
    drive(
        &mut host,
        seconds * SECOND,
        gap,
        || 1500,
        |_| NS_PER_BYTE,
        |now, host, _| {
            if now > seconds * SECOND / 4 {
                sum += u64::from(host.queue.packets);
                n += 1;
                most = most.max(host.queue.packets);
            }
        },
    );
    (sum as f64 / n as f64, most)
}

/// Section 4.3, Figure 2(a): the queue stands at Tc, whatever cmax is.
#[test]
fn constant_overload_sits_at_the_threshold() {
    for rate in [RATE, AUTO] {
        for tc in [1, 5, 10, 20] {
            for cmax in [1.05, 1.2, 2.0] {
                let (mean, most) = mean_queue(rate, tc, cmax, || 800_000, 120);
                assert!((mean - tc as f64).abs() < 1.5, "{rate}: Tc {tc}, cmax {cmax}: mean {mean}");
                assert!(u64::from(most) <= tc + 3, "{rate}: Tc {tc}, cmax {cmax}: up to {most}");
            }
        }
    }
}

/// Section 4.3, Figure 2(b): with exponential gaps it is longer, the more so the smaller cmax.
#[test]
fn poisson_overload_stands_above_the_threshold() {
    for rate in [RATE, AUTO] {
        let mean = |cmax: f64, percent: u64| {
            let mut dice = Dice(3);
            let gap = move || {
                let u = (dice.roll() >> 11) as f64 / (1u64 << 53) as f64;
                (-(1.0 - u).ln() * 1.2e6 * 100.0 / percent as f64) as u64
            };
            mean_queue(rate, 10, cmax, gap, 120).0
        };
        let (a, b, c) = (mean(1.05, 150), mean(1.2, 150), mean(2.0, 150));
        assert!(a > b && b > c && c > 9.5, "{rate}: {a} {b} {c}");
        assert!(mean(1.2, 120) > b && b > mean(1.2, 200), "the nearer to the link's rate, the longer");
    }
}

/// Section 4.3, equation 2 and its example: 2.4 ms below Tc pay for 48 ms with 15 packets.
#[test]
fn equation_2() {
    let mut d = Discipline::new(&spec("cp-aqm", &paper(RATE, 10, 1.2)));
    let at = |packets: u32| Queue {
        bytes: u64::from(packets) * 1500,
        packets,
        limit_packets: 30,
        ..Queue::default()
    };
    let packet = Packet { bytes: 1500, ..Packet::default() };
    while d.enqueue(0, &at(15), &packet, 0).action == Action::Pass {}
    // What is left is less than a packet's congestion; small packets take the rest.
    let crumb = Packet { bytes: 1, ..packet };
    while d.enqueue(0, &at(15), &crumb, 0).action == Action::Pass {}
    // 3000 bytes of tokens came; at the link's rate each packet takes 1575 and 1500 come meanwhile.
    let mut now = 2_400_000;
    let mut passed = 0;
    loop {
        now += 1_200_000;
        if d.enqueue(now, &at(15), &packet, 0).action == Action::Drop {
            break;
        }
        passed += 1;
    }
    assert_eq!(passed, 40, "48 ms at 1.2 ms a packet");
}

/// Section 3.3: a burst may fill the whole buffer.
#[test]
fn a_burst_fills_the_buffer() {
    for rate in [RATE, AUTO] {
        for (tc, cmax) in [(0, 2.0), (5, 1.2), (29, 2.0), (5, 3.0), (0, 4.0), (5, 8.0), (0, 16.0)] {
            let mut host = Host::new(&spec("cp-aqm", &paper(rate, tc, cmax)), 30, 0);
            for i in 0..31 {
                let v = host.arrive(5, 1500, 0, 0);
                assert_eq!(v.reason == Reason::Limit, i == 30, "{i}: {v:?}");
            }
        }
    }
}

/// The buffer in bytes or packets, whichever is smaller, and no more than `burst` at the link's rate.
#[test]
fn qmax_is_the_buffer_within_a_burst() {
    let qmax = |set: &[(&str, Value)], limit_packets, limit_bytes| {
        let mut host = Host::new(&spec("cp-aqm", set), limit_packets, limit_bytes);
        host.arrive(0, 1500, 0, 0);
        host.discipline.probe(3)
    };
    let rate = ("rate", RATE);
    assert_eq!(qmax(&[rate], 30, 0), 30.0 * 1514.0);
    assert_eq!(qmax(&[rate], 30, 20_000), 20_000.0);
    assert_eq!(qmax(&[rate], 10, 20_000), 15_140.0);
    let hundred_ms = qmax(&[rate], 1000, 0);
    assert!((hundred_ms - 125_000.0).abs() < 10.0, "{hundred_ms}");
    assert_eq!(qmax(&[rate, ("burst", Value::Int(0))], 1000, 0), 1_514_000.0);
    assert_eq!(qmax(&[], 0, 0), 30.0 * 1514.0, "no limit, no rate known yet");
}

/// While nothing is known of the link, Qmax is the paper's 30 packets, and 1.5 times that the bucket, which a burst takes;
/// known it is with the second packet that leaves, and the bucket lacks what packets took.
#[test]
fn qmax_of_a_link_not_known_yet() {
    for (bits_a_second, qmax) in
        [(10_000, 15_140.0), (1_000_000, 15_140.0), (10_000_000, 125_000.0), (10_000_000_000u64, 1_514_000.0)]
    {
        let mut host = Host::new(&spec("cp-aqm", &[]), 1000, 0);
        for _ in 0..1500 {
            host.arrive(0, 1514, 0, 0);
        }
        assert!((35..50).contains(&host.queue.packets), "{}", host.queue.packets);
        let each = 1514 * 8 * SECOND / bits_a_second;
        for i in 0..3 {
            host.transmit(i * each, |_| {});
        }
        let missing = host.discipline.probe(0);
        host.arrive(2 * each, 1514, 0, 0);
        assert!(
            (host.discipline.probe(3) - qmax).abs() < 100.0,
            "{bits_a_second}: {}",
            host.discipline.probe(3)
        );
        assert!(
            host.discipline.probe(0) <= missing + 2.0 * 1514.0,
            "{missing}, {}",
            host.discipline.probe(0)
        );
    }
}

/// A packet of 64 KB at 10 kbit/s is on the link for 52 s, and so it is counted.
#[test]
fn a_very_slow_link_is_known() {
    let mut host = Host::new(&spec("cp-aqm", &[]), 1000, 0);
    for _ in 0..4 {
        host.arrive(0, 65_000, 0, 0);
    }
    for i in 0..3 {
        host.transmit(i * 52 * SECOND, |_| {});
    }
    assert_eq!(host.discipline.probe(2), 10_000.0);
}

/// A link of two rates in turn, always too slow, keeps the queue that a bucket of fixed size does: a bucket that grows
/// brings no tokens.
#[test]
fn a_link_that_changes_keeps_the_queue_at_the_threshold() {
    for (rates, each, offered) in
        [([8u64, 12], 100, 30u64), ([5, 15], 200, 30), ([2, 20], 50, 30), ([9, 10], 1000, 20)]
    {
        let mut host = Host::new(&spec("cp-aqm", &[]), 1000, 0);
        let link = |now: u64| 8000 / rates[(now / (each * MS)) as usize % 2];
        let (mut sum, mut n) = (0u64, 0u64);
        let gap = || 1500 * 8000 / offered;
        drive(
            &mut host,
            60 * SECOND,
            gap,
            || 1500,
            link,
            |now, host, _| {
                if now > 20 * SECOND {
                    sum += u64::from(host.queue.packets);
                    n += 1;
                }
            },
        );
        let mean = sum as f64 / n as f64;
        // Tc is five, the arrival itself is one.
        assert!((mean - 6.5).abs() < 1.5, "{rates:?} each {each} ms: {mean} packets");
    }
}

/// A host that says "idle" with its last packet, as one does that hands packets to a device's ring: that packet took no
/// time, and says nothing about the link.
#[test]
fn a_host_that_says_idle_early_does_not_raise_the_rate() {
    let link = |early: bool, from: u64, to: u64, percent: u64, host: &mut Host| {
        let (mut now, mut free_at, mut idle) = (from, from, true);
        let mut rate = 0.0f64;
        while now < to {
            while !idle && free_at <= now {
                let at = free_at;
                match host.transmit(at, |_| {}) {
                    Some(p) => {
                        free_at = at + u64::from(p.bytes) * NS_PER_BYTE;
                        if early && host.queue.packets == 0 {
                            host.discipline.idle(at + 1500);
                            idle = true;
                        }
                    }
                    None => idle = true,
                }
            }
            host.arrive(now, 1500, 0, 0);
            if idle {
                idle = false;
                free_at = free_at.max(now);
            }
            rate = rate.max(host.discipline.probe(2));
            now += 1_200_000 * 100 / percent;
        }
        rate
    };
    for early in [true, false] {
        let mut host = Host::new(&spec("cp-aqm", &[]), 1000, 0);
        // A second that shows the rate, ten of 5 %, a second of 300 %.
        link(early, 0, SECOND, 300, &mut host);
        let rate = link(early, 2 * SECOND, 12 * SECOND, 5, &mut host);
        host.sojourn_max = 0;
        link(early, 12 * SECOND, 13 * SECOND, 300, &mut host);
        assert!((rate / 1e7 - 1.0).abs() < 0.02, "early {early}: {rate} bit/s, the link has 10^7");
        assert!(host.sojourn_max < 150 * MS, "early {early}: {} ns", host.sojourn_max);
    }
}

/// A rate that was learned too low, of a slower link or of one that stood still: packets that come one by one show no more than
/// that so much has left, but that much they do show.
#[test]
fn paced_traffic_shows_that_a_link_is_no_slower() {
    for share in [50, 95] {
        let mut host = Host::new(&spec("cp-aqm", &[]), 1000, 0);
        // 1 Mbit/s: two packets that follow one another.
        for _ in 0..3 {
            host.arrive(0, 1514, 0, 0);
        }
        let slow = 1514 * 8_000;
        for i in 0..4 {
            host.transmit(i * slow, |_| {});
        }
        assert_eq!(host.discipline.probe(2), 1e6);
        // 100 Mbit/s, each packet alone.
        let gap = 1514 * 80 * 100 / share;
        for i in 0..100_000 {
            let now = SECOND + i * gap;
            host.arrive(now, 1514, 0, 0);
            host.transmit(now, |_| {});
            host.discipline.idle(now + 1514 * 80);
        }
        let rate = host.discipline.probe(2);
        let shown = share as f64 * 1e6;
        assert!(rate > 0.9 * shown && rate < 1.02e8, "{share} %: {rate} bit/s");
    }
}

/// A device's ring takes bursts at once, for an hour; then the link is full for a second, and its rate is read.
#[test]
fn what_a_ring_took_at_once_is_soon_forgotten() {
    for bursts in [100, 10_000] {
        let mut host = Host::new(&spec("cp-aqm", &[]), 1000, 0);
        let mut now = 0;
        for _ in 0..bursts {
            for _ in 0..8 {
                host.arrive(now, 1514, 0, 0);
            }
            for i in 0..9 {
                host.transmit(now + i * 300, |_| {});
            }
            now += 300 * MS;
        }
        assert!(host.discipline.probe(2) > 1e9, "the ring's speed: {}", host.discipline.probe(2));
        // 1 Mbit/s, packet by packet.
        let each = 1514 * 8_000;
        for _ in 0..200 {
            host.arrive(now, 1514, 0, 0);
        }
        for i in 0..80 {
            host.transmit(now + i * each, |_| {});
        }
        let rate = host.discipline.probe(2);
        assert!(rate < 1.5e6, "{bursts}: {rate} bit/s after a second of 10^6");
    }
}

/// A link that has sent little, and sends one packet now and then, is as fast as it was: what is remembered of it is not halved
/// to nothing. Two packets one after the other show its rate, then small ones come alone.
#[test]
fn a_link_that_sends_seldom_keeps_its_rate() {
    for rate in [64_000, 500_000, 1_000_000, 5_000_000, 10_000_000, 20_000_000, 50_000_000u64] {
        let ns_per_byte = 8 * SECOND / rate;
        for (bytes, each) in [(64, SECOND), (1514, 400 * MS)] {
            let mut host = Host::new(&spec("cp-aqm", &[]), 1000, 0);
            let mut sent = 0;
            let gap = || {
                sent += 1;
                if sent < 3 { 1 } else { each }
            };
            let mut came = 0;
            let length = || {
                came += 1;
                if came < 4 { 1514 } else { bytes }
            };
            drive(&mut host, 60 * each, gap, length, |_| ns_per_byte, |_, _, _| ());
            let seen = host.discipline.probe(2);
            assert!((seen / rate as f64 - 1.0).abs() < 0.02, "{rate} bit/s, {bytes} bytes: {seen}");
        }
    }
}

/// Nor does the bucket stay empty then: long packets, each after the link has idled for nine times as long, all pass.
#[test]
fn long_packets_pass_on_a_link_that_sends_seldom() {
    for (rate, bytes) in [(1_000_000, 65_536), (64_000, 9018u32)] {
        let ns_per_byte = 8 * SECOND / rate;
        let mut host = Host::new(&spec("cp-aqm", &[("threshold", Value::Int(0))]), 1000, 0);
        let (mut gaps, mut lengths) = (0, 0);
        let gap = || {
            gaps += 1;
            if gaps < 3 {
                1
            } else if gaps < 40 {
                SECOND
            } else {
                10 * u64::from(bytes) * ns_per_byte
            }
        };
        let length = || {
            lengths += 1;
            if lengths < 4 {
                1514
            } else if lengths < 40 {
                64
            } else {
                bytes
            }
        };
        let mut refused = 0;
        let until = 40 * SECOND + 100 * 10 * u64::from(bytes) * ns_per_byte;
        drive(
            &mut host,
            until,
            gap,
            length,
            |_| ns_per_byte,
            |_, _, action| {
                refused += u32::from(action == Action::Drop);
            },
        );
        assert!(refused < 3, "{rate} bit/s: {refused} of {bytes} bytes");
    }
}

/// What leaves in a long window is more than can be counted: the rate is seen all the same.
#[test]
fn a_fast_link_is_no_slower_than_what_left_it_in_a_long_window() {
    for window in [100 * MS, 2 * SECOND, 8 * SECOND] {
        let mut host = Host::new(&spec("cp-aqm", &[("window", Value::Int(window))]), 1000, 0);
        // 8 Gbit/s: a rate that is too low, of a link that stood still with packets waiting; then four fifths of it, one by one.
        for _ in 0..3 {
            host.arrive(0, 9018, 0, 0);
        }
        host.transmit(0, |_| {});
        host.transmit(10 * SECOND, |_| {});
        host.transmit(20 * SECOND, |_| {});
        host.transmit(20 * SECOND + 9018, |_| {});
        let low = host.discipline.probe(2);
        assert!(low < 20_000.0, "{low}");
        let (mut now, each) = (21 * SECOND, 9018 * 5 / 4);
        while now < 41 * SECOND {
            host.arrive(now, 9018, 0, 0);
            host.transmit(now, |_| {});
            host.transmit(now + 9018, |_| {});
            now += each;
        }
        let seen = host.discipline.probe(2);
        assert!(seen > 6.2e9, "window {window} ns: {seen} bit/s");
    }
}

/// A link that takes packets in batches at one instant, as a trace's link or a radio does, and empties the queue each time: no two
/// packets follow one another, and it is used all the same.
#[test]
fn a_link_of_batches_is_used() {
    for (batch, each, tc) in [
        (83, MS, 7570),
        (83, MS, 0),
        (100, 10 * MS, 7570),
        (100, 10 * MS, 0),
        (256, 20 * MS, 7570),
        (100, 500 * MS, 0),
    ] {
        let mut host = Host::new(&spec("cp-aqm", &[("threshold", Value::Int(tc))]), 2000, 0);
        // 90 % of it, evenly.
        let gap = each * 10 / 9 / batch;
        let (mut now, mut slot) = (0, each);
        let (mut offered, mut sent) = (0, 0);
        let until = 200 * each.max(100 * MS);
        while now < until {
            while slot <= now {
                for _ in 0..batch {
                    if host.transmit(slot, |_| {}).is_none() {
                        break;
                    }
                }
                host.discipline.idle(slot);
                slot += each;
            }
            if offered == 0 && now > until / 2 {
                (offered, sent) = (host.offered, host.sent);
            }
            host.arrive(now, 1514, 0, 0);
            now += gap;
        }
        let part = (host.sent - sent) as f64 / (host.offered - offered) as f64;
        assert!(part > 0.97, "{batch} packets each {each} ns, Tc {tc}: {part} of what came");
    }
}

/// Nor is a bucket that a first burst has emptied empty for good where the link took all of it at one instant: long packets, each on
/// an idle link, pass once a window is over.
#[test]
fn a_burst_taken_at_once_starves_nobody() {
    for (burst, cmax) in [(41, 1.2), (30, 16.0)] {
        let set = [("threshold", Value::Int(0)), ("cmax", Value::Real(cmax))];
        let mut host = Host::new(&spec("cp-aqm", &set), 1000, 0);
        for _ in 0..burst {
            host.arrive(0, 1514, 0, 0);
        }
        while host.transmit(0, |_| {}).is_some() {}
        let (before, mut now) = (host.drops.iter().sum::<u64>(), SECOND);
        for _ in 0..1000 {
            host.arrive(now, 65_535, 0, 0);
            while host.transmit(now, |_| {}).is_some() {}
            now += SECOND;
        }
        let refused = host.drops.iter().sum::<u64>() - before;
        assert!(refused < 20, "{burst}, cmax {cmax}: {refused} of 1000");
    }
}

/// Of a buffer that several ports share, Qmax is this one's even part.
#[test]
fn qmax_of_a_shared_buffer_is_the_even_part() {
    let mut d = Discipline::new(&spec("cp-aqm", &[("burst", Value::Int(0))]));
    let pool =
        queuewright_aqm::Pool { bytes: 600_000, limit_bytes: 1_200_000, ports: 4, ..Default::default() };
    let queue = |bytes: u64| Queue { bytes, packets: (bytes / 1500) as u32, pool, ..Queue::default() };
    let packet = Packet { bytes: 1500, ..Packet::default() };
    d.enqueue(0, &queue(297_000), &packet, 0);
    assert_eq!(d.probe(3), 300_000.0);
    // c(x) near Qmax is near cmax.
    assert!((d.probe(1) - 1.197).abs() < 0.002, "{}", d.probe(1));
}

/// Nor does c(x) leap where the even part is less than Tc, for which equation 1 has no value.
#[test]
fn an_even_part_below_the_threshold() {
    let mut d = Discipline::new(&spec("cp-aqm", &[]));
    let pool = queuewright_aqm::Pool { limit_bytes: 400_000, ports: 64, ..Default::default() };
    let packet = Packet { bytes: 1500, ..Packet::default() };
    for (bytes, c) in [(7_569, 0.0), (7_570, 1.0), (7_586, 1.002), (9_084, 1.2)] {
        d.enqueue(0, &Queue { bytes, packets: 5, pool, ..Queue::default() }, &packet, 0);
        assert!((d.probe(1) - c).abs() < 0.001, "{bytes}: {}", d.probe(1));
    }
}

/// cmax = 1 is tail drop of the whole buffer, whatever the link's rate and however long the buffer: `burst` is not asked.
#[test]
fn without_cmax_the_buffer_is_used_to_its_end() {
    for packets in [30, 128, 200, 1000] {
        let mut host = Host::new(&spec("cp-aqm", &[("cmax", Value::Real(1.0))]), packets, 0);
        let mut most = 0;
        drive(
            &mut host,
            30 * SECOND,
            || 400_000,
            || 1514,
            |_| NS_PER_BYTE,
            |_, host, _| most = most.max(host.queue.packets),
        );
        assert_eq!(most, packets);
        assert_eq!(host.drops[Reason::Threshold as usize], 0);
    }
}

/// Nor is the way in which the buffer is limited asked: 1000 packets of 64 KiB, an even part, no limit at all.
#[test]
fn without_cmax_nothing_that_fits_is_dropped() {
    let pool = queuewright_aqm::Pool { limit_bytes: 800_000, ports: 8, ..Default::default() };
    for (packets, pool, bytes, most) in [
        (1000, queuewright_aqm::Pool::default(), 65_535u32, 1000),
        (0, pool, 1514, 800_000 / 1514),
        (0, queuewright_aqm::Pool::default(), 1514, 5000),
    ] {
        let mut host = Host::new(&spec("cp-aqm", &[("cmax", Value::Real(1.0))]), packets, 0);
        host.queue.pool = pool;
        for _ in 0..5000 {
            host.queue.pool.bytes = host.queue.bytes;
            host.arrive(MS, bytes, 0, 0);
        }
        assert_eq!(host.queue.packets, most, "{bytes} bytes");
    }
}

/// A host that learns of a pause with the packet after it: the bucket has been filled meanwhile.
#[test]
fn a_pause_fills_the_bucket_though_the_host_says_so_late() {
    let missing = |late: bool| {
        let mut host = Host::new(&spec("cp-aqm", &[]), 1000, 0);
        let mut now = 0;
        for _ in 0..400 {
            host.arrive(now, 1500, 0, 0);
            host.arrive(now, 1500, 0, 0);
            host.transmit(now, |_| {});
            now += 1500 * NS_PER_BYTE;
        }
        while host.queue.packets > 0 {
            host.transmit(now, |_| {});
            now += 1500 * NS_PER_BYTE;
        }
        let drained = host.discipline.probe(0);
        host.discipline.idle(if late { now + 500 * MS } else { now });
        host.arrive(now + 500 * MS, 1500, 0, 0);
        (drained, host.discipline.probe(0))
    };
    let ((before, on_time), (_, late)) = (missing(false), missing(true));
    assert!(before > 10_000.0, "the bucket was used: {before} bytes are missing");
    assert!(on_time < 1.0 && late < 1.0, "{on_time} bytes are missing, told late {late}");
}

/// Beyond Qmax equation 1 goes on: a queue that `burst` has overtaken costs more than cmax.
#[test]
fn beyond_qmax_congestion_goes_on_rising() {
    let mut d = Discipline::new(&spec("cp-aqm", &[("rate", RATE)]));
    let queue = Queue { bytes: 1_514_000, packets: 1000, limit_packets: 2000, ..Queue::default() };
    d.enqueue(0, &queue, &Packet { bytes: 1500, ..Packet::default() }, 0);
    let expected = 1.0 + 0.2 * (1_514_000.0 - 7570.0) / (125_000.0 - 7570.0);
    assert!((d.probe(1) - expected).abs() < 0.001, "{} for {expected}", d.probe(1));
}

/// On a slow link Qmax is not below two Tc and two full packets.
#[test]
fn a_slow_link_has_room_above_the_threshold() {
    for (rate, least) in [(1_000_000, 15_140.0), (10_000, 15_140.0), (2_000_000, 25_000.0)] {
        let mut host = Host::new(&spec("cp-aqm", &[("rate", Value::Int(rate))]), 1000, 0);
        host.arrive(0, 1500, 0, 0);
        assert!(
            (host.discipline.probe(3) - least).abs() < 10.0,
            "{rate} bit/s: {}",
            host.discipline.probe(3)
        );
    }
}

/// A packet that costs more than a full bucket holds is let in by a full one, and empties it.
#[test]
fn a_packet_larger_than_the_bucket_passes_when_it_is_full() {
    for (threshold, bucket) in [(0, 20_000), (7570, 20_000), (0, 1)] {
        for rate in [Value::Int(1_000_000), AUTO] {
            let set = [("threshold", Value::Int(threshold)), ("bucket", Value::Int(bucket)), ("rate", rate)];
            let mut host = Host::new(&spec("cp-aqm", &set), 1000, 0);
            // 64 KB at 1 Mbit/s, half load: nobody waits.
            drive(&mut host, 60 * SECOND, || 2 * 65_536 * 8000, || 65_536, |_| 8000, |_, _, _| ());
            assert_eq!(
                host.drops.iter().sum::<u64>(),
                0,
                "Tc {threshold}, bucket {bucket}, {rate}: of {}",
                host.offered
            );
        }
    }
}
