//! DUK against equation 9 in floating point, from measurements of the test's own, and what the paper
//! says of it.

use crate::host::{Dice, Host, spec};
use queuewright_aqm::{Action, Value};
use std::collections::{BTreeMap, BTreeSet};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

/// A link in front of which DUK stands: arrivals and departures in the order of time.
struct Link {
    host: Host,
    ns_per_byte: u64,
    /// When it is free again.
    free_at: u64,
    idle: bool,
    /// The host says "idle" with the last packet, as one does that hands packets to a device's ring.
    early: bool,
}

/// What the test itself has seen since an interval began.
#[derive(Default)]
struct Seen {
    arrived: u64,
    sent: u64,
    sojourn: u64,
    /// The shortest that the queue was.
    shortest: u64,
    idled: bool,
}

impl Link {
    fn new(set: &[(&str, Value)], ns_per_byte: u64) -> Self {
        Link { host: Host::new(&spec("duk", set), 0, 0), ns_per_byte, free_at: 0, idle: false, early: false }
    }

    /// TrafficModel whatever can be sent before `until`.
    fn run(&mut self, until: u64, seen: &mut Seen) {
        while !self.idle && self.free_at < until {
            let now = self.free_at;
            match self.host.transmit(now, |_| {}) {
                Some(p) => {
                    self.free_at = now + u64::from(p.bytes) * self.ns_per_byte;
                    seen.sent += u64::from(p.bytes);
                    seen.sojourn = now - p.enqueue_ns;
                    seen.shortest = seen.shortest.min(self.host.queue.bytes);
                    if self.early && self.host.queue.packets == 0 {
                        self.host.discipline.idle(now + 1500);
                        self.idle = true;
                    }
                }
                None => {
                    self.idle = true;
                    seen.idled = true;
                    seen.shortest = 0;
                }
            }
        }
    }

    fn arrive(&mut self, now: u64, bytes: u32, seen: &mut Seen) {
        self.host.arrive(now, bytes, 0, 0);
        seen.arrived += u64::from(bytes);
        if self.idle && self.host.queue.packets > 0 {
            self.idle = false;
            self.free_at = self.free_at.max(now);
        }
    }
}

/// Equation 9 of the paper, with dt and dD in ticks. `None` where it hangs by a hair's breadth.
fn equation_9(c_over_a: f64, u: f64, du: f64, dd: f64, dt: f64, drain: f64) -> Option<f64> {
    let term = if du == 0.0 {
        0.0
    } else {
        let below = (1.0 - dd / du + (1.0 + dt)) * dt;
        if (below / dt).abs() < 1e-3 * dt {
            return None;
        }
        du * (1.0 + dt) / below
    };
    Some((1.0 - c_over_a * (term + u - drain)).clamp(0.0, 1.0))
}

#[test]
fn every_probability_is_equation_9() {
    for (seed, drain, empty, tick) in
        [(1, 0.0, "end", 1000), (2, 0.0, "end", MS), (3, 1.0, "interval", 1000), (4, 0.5, "interval", 100)]
    {
        let dt = 12 * MS;
        let set = [
            ("interval", Value::Int(dt)),
            ("drain", Value::Real(drain)),
            ("empty", Value::Choice(empty)),
            ("tick", Value::Int(tick)),
        ];
        let mut link = Link::new(&set, 800);
        let mut dice = Dice(seed);
        let mut seen = Seen::default();
        let (mut next_arrival, mut last_u, mut last_d) = (0, 0.0, 0.0);
        let (mut compared, mut inside, mut held) = (0, 0, false);
        for i in 1..4000u64 {
            // A load of 50 to 180 %, another every 40 intervals.
            let load = 50 + Dice(i / 40 * 7 + seed).roll() % 130;
            while next_arrival < i * dt {
                link.run(next_arrival, &mut seen);
                let bytes = 500 + dice.roll() % 1000;
                link.arrive(next_arrival, bytes as u32, &mut seen);
                next_arrival += dice.roll() % (2 * bytes * 800 * 100 / load) + 1;
            }
            link.run(i * dt, &mut seen);
            let backlog = link.host.queue.bytes;

            let capacity = dt as f64 / 800.0;
            let u = seen.sent as f64 / capacity;
            let d = (seen.sojourn / tick) as f64;
            let (du, dd) = (u - last_u, d - last_d);
            (last_u, last_d) = (u, d);
            let queue = if empty == "end" { backlog } else { seen.shortest };
            let ticks = (dt / tick) as f64;
            let standing = drain * seen.shortest as f64 / capacity;
            let c_over_a = capacity / seen.arrived as f64;
            let expected = if seen.arrived > 0 && queue > 0 {
                equation_9(c_over_a, u, du, dd, ticks, standing)
            } else if seen.arrived > 0 && backlog > 0 && held {
                equation_9(c_over_a, 1.0, 0.0, 0.0, ticks, 0.0)
            } else {
                Some(0.0)
            };
            seen = Seen { shortest: backlog, ..Seen::default() };
            // Whatever comes next makes DUK end the interval: here, another packet.
            link.run(i * dt + 1, &mut seen);
            link.arrive(i * dt + 1, 500, &mut seen);
            next_arrival = next_arrival.max(i * dt + 2);
            // In the first interval the capacity is not known yet.
            held = expected.map_or(held, |p| p > 0.0);
            if let (Some(p), false, true) = (expected, seen.idled, i > 1) {
                let got = link.host.discipline.probe(0);
                assert!(
                    (got - p).abs() < 2e-4,
                    "interval {i}: {got}, by equation 9 {p} (U {u}, dU {du}, dD {dd})"
                );
                compared += 1;
                inside += u64::from(p > 0.0 && p < 1.0);
            }
        }
        assert!(compared > 3000 && inside > 500, "{compared} compared, {inside} of them within 0 and 1");
    }
}

/// `percent` of the link's rate without pause from `from` on, and with it the mean of p.
fn constant_rate(link: &mut Link, from: u64, to: u64, percent: u64) -> f64 {
    let (mut now, mut sum, mut n) = (from, 0.0, 0.0);
    let mut seen = Seen::default();
    while now < to {
        link.run(now, &mut seen);
        link.arrive(now, 1500, &mut seen);
        now += 1500 * link.ns_per_byte * 100 / percent;
        sum += link.host.discipline.probe(0);
        n += 1.0;
    }
    sum / n
}

#[test]
fn steady_overload_loses_the_excess_and_no_more() {
    for percent in [110, 150, 300] {
        for interval in [0, 20 * MS] {
            let mut link = Link::new(&[("interval", Value::Int(interval))], 800);
            constant_rate(&mut link, 0, 5 * SECOND, percent);
            let p = constant_rate(&mut link, 5 * SECOND, 25 * SECOND, percent);
            let excess = 1.0 - 100.0 / percent as f64;
            assert!((p - excess).abs() < 0.015, "{percent} %, interval {interval}: p {p}, 1 - C/A {excess}");
        }
    }
}

#[test]
fn a_sender_a_per_cent_too_fast_keeps_a_short_queue() {
    let mut link = Link::new(&[], 800);
    constant_rate(&mut link, 0, 600 * SECOND, 101);
    assert!(link.host.sojourn_max < 60 * MS, "at most {} ns", link.host.sojourn_max);
    assert!(
        link.host.sojourn_sum / link.host.sent < 5 * MS,
        "mean {}",
        link.host.sojourn_sum / link.host.sent
    );
    // By equation 9 alone it wanders.
    let mut link = Link::new(&[("drain", Value::Real(0.0))], 800);
    constant_rate(&mut link, 0, 600 * SECOND, 101);
    assert!(link.host.sojourn_sum / link.host.sent > 5 * MS);
}

#[test]
fn capacity_follows_the_link() {
    let mut link = Link::new(&[], 80);
    let capacity = |link: &Link| link.host.discipline.probe(4) / 1e6;
    let mut from = 0;
    for (ns_per_byte, mbit) in [(80, 100.0), (400, 20.0), (80, 100.0), (800, 10.0)] {
        link.ns_per_byte = ns_per_byte;
        let interval = (link.host.discipline.probe(1) * 1e6) as u64;
        // Always a tenth more than the link takes.
        constant_rate(&mut link, from, from + 3 * interval.max(50 * MS), 110);
        assert!((capacity(&link) / mbit - 1.0).abs() < 0.01, "{} Mbit/s for {mbit}", capacity(&link));
        from += SECOND;
        constant_rate(&mut link, from, from + 9 * SECOND, 110);
        from += 9 * SECOND;
    }
}

/// A packet that was handed to a device's ring took no time, and says nothing about the link.
#[test]
fn a_host_that_says_idle_early_does_not_raise_the_capacity() {
    let longest = [true, false].map(|early| {
        let mut link = Link { early, ..Link::new(&[], 800) };
        constant_rate(&mut link, 0, SECOND, 300);
        let mut most = 0.0f64;
        for second in 2..12 {
            constant_rate(&mut link, second * SECOND, (second + 1) * SECOND, 50);
            most = most.max(link.host.discipline.probe(4));
        }
        assert!((most / 1e7 - 1.0).abs() < 0.01, "early {early}: {most} bit/s, the link has 10^7");
        link.host.sojourn_max = 0;
        constant_rate(&mut link, 12 * SECOND, 13 * SECOND, 300);
        link.host.sojourn_max
    });
    // Within a packet's time.
    assert!(longest[0].abs_diff(longest[1]) <= 1500 * 800, "the longest waits, ns: {longest:?}");
}

#[test]
fn an_empty_queue_ends_dropping_and_silence_is_no_news() {
    let mut link = Link::new(&[], 800);
    constant_rate(&mut link, 0, 2 * SECOND, 150);
    let mut seen = Seen::default();
    link.run(3 * SECOND, &mut seen);
    assert!(seen.idled);
    assert_eq!(link.host.discipline.probe(0), 0.0);
    // An hour in one step, or a millisecond at a time: nothing differs, nor does it afterwards.
    let mut often = link.host.discipline.clone();
    let seldom = &mut link.host.discipline;
    for ms in 0..60_000 {
        often.idle(3 * SECOND + ms * MS);
    }
    seldom.idle(63 * SECOND - MS);
    let probes = |d: &queuewright_aqm::Discipline| (0..6).map(|i| d.probe(i)).collect::<Vec<_>>();
    assert_eq!(probes(&often), probes(seldom));
    link.host.discipline = often;
    let v = link.host.arrive(64 * SECOND, 1500, 0, 0);
    assert_eq!(v.action, Action::Pass);
}

#[test]
fn intervals_stay_within_a_packet_and_the_longest() {
    let mut link = Link::new(&[("longest", Value::Int(30 * MS))], 800);
    let (mut now, mut dice, mut seen) = (0, Dice(5), Seen::default());
    let (mut least, mut most) = (f64::MAX, 0.0f64);
    while now < 60 * SECOND {
        link.run(now, &mut seen);
        // 125 % on average, in bursts.
        for _ in 0..dice.roll() % 26 {
            link.arrive(now, 1500, &mut seen);
        }
        now += dice.roll() % (24 * MS);
        if now > SECOND {
            let interval = link.host.discipline.probe(1);
            (least, most) = (least.min(interval), most.max(interval));
        }
    }
    assert!(least >= 1.2 && most <= 30.0, "{least} to {most} ms; a packet takes 1.2 ms");
    assert!(most > least, "Algorithm 2 moves the interval");
}

/// The first burst after a minute of silence is met by p = 0, whenever the silence began.
#[test]
fn nothing_of_the_dropping_before_a_silence_is_left_after_it() {
    let mut met = 0;
    for stop in 0..300u64 {
        let mut link = Link::new(&[], 800);
        let end = 2 * SECOND + stop * 777_777;
        constant_rate(&mut link, 0, end, 150);
        let mut seen = Seen::default();
        let after = end + 60 * SECOND;
        link.run(after, &mut seen);
        // Packets at once, and one when the interval that they came in is over.
        for _ in 0..200 {
            link.arrive(after, 1500, &mut seen);
        }
        let interval = (link.host.discipline.probe(1) * 1e6) as u64;
        let next = after + interval + 1;
        link.run(next, &mut seen);
        link.arrive(next, 1500, &mut seen);
        met += u64::from(link.host.discipline.probe(0) > 0.0);
    }
    assert_eq!(met, 0, "of 300 stops");
}

/// A packet takes longer than `longest`: an interval is no shorter than that all the same.
#[test]
fn no_interval_is_shorter_than_a_packet_takes() {
    for (bytes, bits, longest) in
        [(65_536u32, 1_000_000u64, 100), (1500, 30_000, 100), (65_536, 1_000_000, 1), (9000, 100_000, 100)]
    {
        let ns_per_byte = 8 * SECOND / bits;
        let packet = u64::from(bytes) * ns_per_byte;
        let mut link = Link::new(&[("longest", Value::Int(longest * MS))], ns_per_byte);
        let (mut now, mut seen, mut dice) = (0, Seen::default(), Dice(u64::from(bytes)));
        while now < 600 * packet {
            link.run(now, &mut seen);
            link.arrive(now, bytes, &mut seen);
            // 150 %, at random
            now += dice.roll() % (2 * packet * 100 / 150);
        }
        let packets = link.host.sojourn_max as f64 / packet as f64;
        let interval = link.host.discipline.probe(1) * 1e6;
        assert!(packets < 20.0, "{bytes} bytes at {bits} bit/s: up to {packets} packets' time");
        assert!(interval >= packet as f64, "{bytes} bytes at {bits} bit/s: {interval}");
    }
}

/// Packets that are longer than those before, on a link that has long been known: the interval follows.
#[test]
fn an_interval_follows_longer_packets() {
    let ns_per_byte = 8_000;
    let mut link = Link::new(&[], ns_per_byte);
    let (mut now, mut seen) = (0, Seen::default());
    for (bytes, until) in [(1500u32, 10), (65_536, 610)] {
        let packet = u64::from(bytes) * ns_per_byte;
        link.host.sojourn_max = 0;
        while now < until * SECOND {
            link.run(now, &mut seen);
            link.arrive(now, bytes, &mut seen);
            now += packet * 100 / 150;
        }
    }
    let packet = 65_536 * ns_per_byte;
    assert!(link.host.discipline.probe(1) * 1e6 >= packet as f64);
    assert!(link.host.sojourn_max < 20 * packet, "{} packets' time", link.host.sojourn_max / packet);
}

/// One long packet does not make intervals long for good; nor do full packets that never came.
#[test]
fn an_interval_forgets_longer_packets() {
    for (first, bits) in [(65_536u32, 100_000u64), (64, 10_000)] {
        let ns_per_byte = 8 * SECOND / bits;
        let mut link = Link::new(&[], ns_per_byte);
        let (mut now, mut seen) = (0, Seen::default());
        link.arrive(0, first, &mut seen);
        while now < 600 * SECOND {
            link.run(now, &mut seen);
            link.arrive(now, 64, &mut seen);
            // 150 %
            now += 64 * ns_per_byte * 100 / 150;
        }
        let interval = link.host.discipline.probe(1);
        assert!(interval <= 100.0, "{first} bytes at {bits} bit/s: {interval} ms");
    }
}

/// A link that stands still for ten seconds, and goes on as before: so does the interval, found or given.
#[test]
fn a_link_that_stood_still_is_no_slow_one() {
    for (set, most) in [
        (&[][..], 100.0),
        (&[("interval", Value::Int(10 * MS))], 10.0),
        // 100 packets' time would be 120 ms.
        (&[("trial", Value::Int(0)), ("first_packets", Value::Int(20))], 24.0),
    ] {
        for stand in [1, 10] {
            let mut link = Link::new(set, 800);
            let (mut now, mut seen, mut dice) = (0, Seen::default(), Dice(stand));
            let mut stood = false;
            while now < 120 * SECOND {
                link.run(now, &mut seen);
                link.arrive(now, 1500, &mut seen);
                // 150 %, at random
                now += dice.roll() % 1_600_000;
                if now > 60 * SECOND && !stood {
                    stood = true;
                    link.free_at += stand * SECOND;
                }
                if now > (61 + stand) * SECOND {
                    let interval = link.host.discipline.probe(1);
                    assert!(interval <= most, "{set:?}: {interval} ms at {now} ns, after {stand} s");
                }
                if now > (75 + stand) * SECOND {
                    let waiting = link.host.queue.packets;
                    assert!(waiting < 200, "{set:?}: {waiting} at {now} ns, after {stand} s");
                }
            }
        }
    }
}

/// Batches that come while a link stands still are dropped, and not let in each time because nothing came for two intervals
/// before: what waits when it goes on is a few batches, not the seconds that it stood.
#[test]
fn batches_while_a_link_stands_still_are_dropped() {
    for (mbit, load) in [(100, 0.5), (100, 0.9), (1000, 0.5)] {
        let mut link = Link::new(&[], 8_000 / mbit);
        // Overload, so that intervals are short.
        constant_rate(&mut link, 0, 2 * SECOND, 150);
        batches(&mut link, 2 * SECOND, 10 * SECOND, 33_300_000, load, 10);
        link.free_at = link.free_at.max(10 * SECOND) + 5 * SECOND;
        batches(&mut link, 10 * SECOND, 15 * SECOND, 33_300_000, load, 10);
        let (waiting, batch) = (link.host.queue.bytes * link.ns_per_byte, load * 33.3e6);
        assert!((waiting as f64) < 6.0 * batch, "{mbit} Mbit/s, {load}: {waiting} ns, a batch {batch}");
    }
}

/// A given interval of less than a packet's time would be none: most see neither an arrival nor a departure.
#[test]
fn a_given_interval_is_no_shorter_than_a_packet_takes() {
    let mut link = Link::new(&[("interval", Value::Int(MS))], 8_000);
    let (mut now, mut seen, mut dice) = (0, Seen::default(), Dice(8));
    while now < 300 * SECOND {
        link.run(now, &mut seen);
        link.arrive(now, 1500, &mut seen);
        now += dice.roll() % 16_000_000;
    }
    assert_eq!(link.host.discipline.probe(1), 12.0);
    assert!(link.host.queue.packets < 50, "{} wait", link.host.queue.packets);
}

/// A long packet now and then makes intervals longer while it is there, and is no reason to forget the shortest good one.
#[test]
fn a_long_packet_does_not_replace_the_shortest_good_interval() {
    let mut link = Link::new(&[], 800);
    let (mut now, mut seen) = (0, Seen::default());
    let (mut next, mut sum, mut n) = (60 * SECOND, 0.0, 0.0);
    while now < 180 * SECOND {
        link.run(now, &mut seen);
        link.arrive(now, 1500, &mut seen);
        if now > next {
            link.arrive(now, 65_000, &mut seen);
            next += 10 * SECOND;
        }
        if now > 60 * SECOND {
            sum += link.host.discipline.probe(1);
            n += 1.0;
        }
        // 150 %
        now += 800_000;
    }
    assert!(sum / n < 20.0, "a mean of {} ms", sum / n);
}

/// M is forgotten on fast links too, and with a long memory: 8 Gbit/s, and a million intervals of 20 us.
#[test]
fn the_largest_arrival_rate_is_forgotten() {
    let mut link = Link::new(&[("forget", Value::Int(1 << 20)), ("interval", Value::Int(20_000))], 1);
    let (mut now, mut seen, mut first) = (0, Seen::default(), 0.0);
    while now < 2 * SECOND {
        link.run(now, &mut seen);
        // The first tells C, the second M.
        for _ in 0..if now == 200_000 || now == 600_000 { 60 } else { 1 } {
            link.arrive(now, 1500, &mut seen);
        }
        if now == 700_000 {
            first = link.host.discipline.probe(5);
        }
        now += 2_000;
    }
    let level = link.host.discipline.probe(5);
    assert!(first >= 75.0 && level < first - 5.0, "{first} %, then {level}");
}

/// Algorithm 2, stated a second time: what each level's trials have shown, by utilisation and level as DUK shows them.
#[derive(Default)]
struct Levels {
    /// By level: the shortest dt that was good, and what is to be tried next, ns.
    known: BTreeMap<u64, (Option<u64>, u64)>,
    /// Levels of which a dt that was not good is known.
    failed: BTreeSet<u64>,
    /// Of the trials that ended: at a level other than the one at which they began, and seen before.
    returned: u32,
    /// At a level that was not seen before, where others were.
    fitted: u32,
    /// A shorter one failed, and the one that is kept is taken again.
    went_back: u32,
    /// The level at which this trial began.
    began: u64,
    /// The first has begun.
    begun: bool,
}

impl Levels {
    fn clamp(dt: u64) -> u64 {
        dt.clamp(1_200_000, 100 * MS)
    }

    /// One that had `dt` ends at `level`: the next dt.
    fn trial(&mut self, level: u64, dt: u64, good: bool) -> u64 {
        let kept = self.known.get(&self.began).and_then(|&(kept, _)| kept);
        let now = match (good, kept) {
            (true, _) if self.failed.contains(&self.began) => (Some(dt), dt - dt / 8),
            (true, _) => (Some(dt), dt / 2),
            (false, Some(kept)) if dt < kept => {
                self.went_back += 1;
                (Some(kept), kept)
            }
            (false, _) => (None, Self::clamp(2 * dt)),
        };
        self.known.insert(self.began, now);
        if !good {
            self.failed.insert(self.began);
        }
        let next = match self.known.get(&level) {
            Some(&(_, next)) => {
                self.returned += u32::from(level != self.began);
                next
            }
            None => self.line(level).inspect(|_| self.fitted += 1).unwrap_or(dt),
        };
        self.began = level;
        Self::clamp(next)
    }

    /// Equation 11, by least squares.
    fn line(&self, level: u64) -> Option<u64> {
        let points: Vec<(f64, f64)> =
            self.known.iter().filter_map(|(&p, &(dt, _))| Some((p as f64, dt? as f64))).collect();
        let n = points.len() as f64;
        if points.is_empty() {
            return None;
        }
        let (p, dt) =
            (points.iter().map(|x| x.0).sum::<f64>() / n, points.iter().map(|x| x.1).sum::<f64>() / n);
        let run: f64 = points.iter().map(|x| (x.0 - p).powi(2)).sum();
        let rise: f64 = points.iter().map(|x| (x.0 - p) * (x.1 - dt)).sum();
        let m = if run > 0.0 { rise / run } else { 0.0 };
        Some((dt + m * (level as f64 - p)).max(0.0) as u64)
    }
}

/// Algorithm 2 keeps, for each level, the shortest interval that cost no throughput, and takes it up again when that
/// level comes back; a level that is new gets its first from the line through what is kept (equation 11).
#[test]
fn algorithm_2_keeps_the_shortest_interval_of_each_level() {
    let mut link = Link::new(&[("forget", Value::Int(32))], 800);
    let (mut now, mut start, mut seen) = (0, 0, Seen::default());
    let (mut dt, mut known) = (MS, false);
    // Was p above 0 in this interval, and in those before?
    let (mut intervals, mut sum, mut dropped) = (0, 0.0, [false; 4]);
    let mut levels = Levels::default();
    let (mut dice, mut trials) = (Dice(3), 0);
    while now < 600 * SECOND {
        link.run(now, &mut seen);
        link.arrive(now, 1500, &mut seen);
        let probe = |i: usize| link.host.discipline.probe(i);
        let shown = (probe(1) * 1e6).round() as u64;
        if now >= start + dt {
            start += dt;
            if !known {
                known = probe(4) > 0.0;
                dt = shown;
            } else {
                if !levels.begun {
                    (levels.begun, levels.began) = (true, probe(5) as u64);
                }
                if dropped.contains(&true) {
                    intervals += 1;
                    sum += probe(2);
                }
                dropped.rotate_right(1);
                dropped[0] = probe(0) > 0.0;
                if intervals == 16 {
                    let next = levels.trial(probe(5) as u64, dt, sum >= 16.0 * 0.99);
                    // The line is in whole numbers there: its slope by less than 1 ns a per cent.
                    assert!(
                        shown.abs_diff(next) <= next / 100_000 + 100,
                        "trial {trials}: {shown} ns, not {next}"
                    );
                    (intervals, sum) = (0, 0.0);
                    trials += 1;
                    dt = shown;
                }
            }
        }
        assert_eq!(shown, dt, "at {now}");
        // 100 to 300 %, another each 10 s, in gaps that vary by as much as fits the load.
        let percent = 100 + Dice(now / (10 * SECOND) + 9).roll() % 200;
        let mean = 1_200_000 * 100 / percent;
        now += mean / 2 + dice.roll() % mean / 2;
    }
    let Levels { returned, fitted, went_back, .. } = levels;
    assert!(trials > 10_000 && returned > 10_000 && fitted > 20 && went_back > 100);
}

/// A sender that is too fast, and pauses for 0.3 s each 0.6 s from the second minute on: what a pause leaves unused was
/// not lost by dropping, and makes no interval longer.
#[test]
fn a_sender_that_pauses_does_not_make_the_interval_longer() {
    let mut link = Link::new(&[], 800);
    let mut seen = Seen::default();
    let (mut now, mut sum, mut n) = (0, 0.0, 0.0);
    while now < 120 * SECOND {
        link.run(now, &mut seen);
        link.arrive(now, 1500, &mut seen);
        if now > 60 * SECOND {
            sum += link.host.discipline.probe(1);
            n += 1.0;
        }
        // 150 %
        now += 800_000;
        if now > 60 * SECOND && now / (300 * MS) % 2 == 1 {
            now = (now / (300 * MS) + 1) * (300 * MS);
        }
    }
    assert!(sum / n < 20.0, "a mean of {} ms", sum / n);
}

/// Equation 9 holds where little arrives at a long queue: C/A is 50 or 20 here.
#[test]
fn few_arrivals_at_a_long_queue_are_by_equation_9_too() {
    let dt = 12 * MS;
    let set = [("interval", Value::Int(dt)), ("drain", Value::Real(0.0625))];
    let mut link = Link::new(&set, 800);
    let mut seen = Seen::default();
    for _ in 0..393 {
        link.arrive(0, 1500, &mut seen);
    }
    let (mut last_d, mut inside, mut all) = (0.0, 0, 0);
    for i in 1..40u64 {
        seen = Seen { shortest: link.host.queue.bytes, ..Seen::default() };
        link.run(i * dt - 1000, &mut seen);
        let bytes = if i % 2 == 0 { 750 } else { 300 };
        link.arrive(i * dt - 1000, bytes, &mut seen);
        link.run(i * dt, &mut seen);
        let (shortest, d) = (seen.shortest as f64, (seen.sojourn / 1000) as f64);
        // A packet that begins at the interval's end ends it.
        link.run(i * dt + 1, &mut seen);
        let c_over_a = 15_000.0 / f64::from(bytes);
        let expected =
            equation_9(c_over_a, 1.0, 0.0, d - last_d, 12_000.0, 0.0625 * shortest / 15_000.0).unwrap();
        last_d = d;
        if i > 2 && shortest > 0.0 {
            let got = link.host.discipline.probe(0);
            assert!(
                (got - expected).abs() < 2e-4,
                "interval {i}, {shortest} bytes: {got}, by equation 9 {expected}"
            );
            inside += u64::from(expected > 0.0 && expected < 1.0);
            all += u64::from(expected == 0.0);
        }
    }
    assert!(inside > 0 && all > 3, "{inside} {all}");
}

/// `load` of the link's rate in batches of `each`, sent at `speed` times that rate; utilisation, the longest wait of the last
/// half and the part that was dropped of it.
fn batches(link: &mut Link, from: u64, to: u64, each: u64, load: f64, speed: u64) -> (f64, u64, f64) {
    let mut seen = Seen::default();
    let packet = 1500 * link.ns_per_byte;
    let (mut credit, mut begun) = (0.0, from);
    let (mut sent, mut drops, mut offered) = (0, 0, 0);
    while begun < to {
        if sent == 0 && begun >= from + (to - from) / 2 {
            (sent, drops, offered) = (link.host.sent, link.host.drops.iter().sum::<u64>(), link.host.offered);
            link.host.sojourn_max = 0;
        }
        credit += load * each as f64 / packet as f64;
        for i in 0..credit as u64 {
            let now = begun + i * packet / speed;
            link.run(now, &mut seen);
            link.arrive(now, 1500, &mut seen);
        }
        credit -= credit.floor();
        begun += each;
    }
    link.run(to, &mut seen);
    let used = ((link.host.sent - sent) * packet) as f64 / ((to - from) / 2) as f64;
    let lost = link.host.drops.iter().sum::<u64>() - drops;
    (used, link.host.sojourn_max, lost as f64 / (link.host.offered - offered) as f64)
}

/// Overload that comes in batches, as frames of video do: intervals without arrivals between them neither end dropping while the
/// queue stands, nor hide what dropping has left unused.
#[test]
fn overload_in_batches_is_held_and_fills_the_link() {
    for (mbit, each, load, speed) in [
        (10, 33_300, 1.2, 100),
        (10, 50_000, 1.5, 10),
        (100, 33_300, 1.2, 10),
        (1000, 1_000, 1.2, 10),
        (1000, 1_000, 1.2, 40),
    ] {
        let mut link = Link::new(&[], 8_000 / mbit);
        let (used, longest, lost) = batches(&mut link, 0, 40 * SECOND, each * 1_000, load, speed);
        let excess = 1.0 - 1.0 / load;
        let what = format!("{mbit} Mbit/s, {load} in batches of {each} us: {used}, {longest} ns, {lost}");
        assert!(used > 0.95 && longest < 200 * MS && (lost - excess).abs() < 0.03, "{what}");
    }
}

/// Batches below the link's rate after an overload: an interval that overload made short does not cost the link for good.
#[test]
fn batches_after_an_overload_are_not_cut() {
    for (mbit, each, load, speed) in [(100, 33_300, 0.8, 10), (10_000, 1_000, 0.5, 4)] {
        let mut link = Link::new(&[], 1);
        link.ns_per_byte = (8_000u64 / mbit).max(1);
        constant_rate(&mut link, 0, SECOND, 300);
        let (used, _, lost) = batches(&mut link, SECOND, 41 * SECOND, each * 1_000, load, speed);
        assert!((used - load).abs() < 0.02 && lost < 0.01, "{mbit} Mbit/s: {used}, {lost}");
    }
}
