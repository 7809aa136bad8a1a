//! Titrate: each rule alone, a golden table of threshold traces, and random
//! operations against an independent model.

mod titrate_model;

use queuewright_aqm::{Action, Discipline, Packet, Pool, Queue, Reason, Spec, Value, Verdict, find};
use std::collections::VecDeque;
use std::fmt::Write;

const MS: u64 = 1_000_000;
const SEC: u64 = 1_000 * MS;
/// The default window.
const W: u64 = 500 * MS;
const MTU: u64 = 1500;

/// A host as `aqm/qw.h` asks for, its clock moved by hand.
struct Host {
    discipline: Discipline,
    queue: Queue,
    packets: VecDeque<Packet>,
    now: u64,
}

impl Host {
    /// With what is not watched off unless `set` says otherwise, so that one rule shows at a time.
    fn new(limit_bytes: u64, set: &[(&str, Value)]) -> Self {
        let mut spec = Spec::new(find("titrate").unwrap());
        let alone = [
            ("eqlen", Value::Choice("off")),
            ("initial_delay", Value::Int(0)),
            ("forget", Value::Int(0)),
            ("mtu", Value::Int(MTU)),
        ];
        for &(name, value) in alone.iter().chain(set) {
            spec.set(name, value).unwrap();
        }
        Self::with(limit_bytes, &spec)
    }

    fn with(limit_bytes: u64, spec: &Spec) -> Self {
        Host {
            discipline: Discipline::new(spec),
            queue: Queue { limit_bytes, ..Queue::default() },
            packets: VecDeque::new(),
            now: 0,
        }
    }

    fn arrive_as(&mut self, bytes: u64, ecn: u32) -> Verdict {
        let packet = Packet { enqueue_ns: self.now, bytes: bytes as u32, flow: 1, ecn, ..Packet::default() };
        let verdict = self.discipline.enqueue(self.now, &self.queue, &packet, 0);
        if verdict.action != Action::Drop {
            self.queue.bytes += bytes;
            self.queue.packets += 1;
            self.packets.push_back(packet);
        }
        verdict
    }

    fn arrive(&mut self) -> Verdict {
        self.arrive_as(MTU, 0)
    }

    fn depart(&mut self) {
        match self.packets.pop_front() {
            None => self.discipline.idle(self.now),
            Some(packet) => {
                self.queue.bytes -= u64::from(packet.bytes);
                self.queue.packets -= 1;
                let verdict = self.discipline.dequeue(self.now, &self.queue, &packet);
                assert_eq!(verdict.action, Action::Pass);
            }
        }
    }

    fn wait(&mut self, ns: u64) -> &mut Self {
        self.now += ns;
        self
    }

    /// Fill the queue until something is dropped.
    fn fill(&mut self) -> Verdict {
        loop {
            let verdict = self.arrive();
            if verdict.action == Action::Drop {
                return verdict;
            }
        }
    }

    fn drain_to(&mut self, bytes: u64) -> &mut Self {
        while self.queue.bytes > bytes {
            self.depart();
        }
        self
    }

    /// Open an interval, let the queue fall to `minq`, have the link idle for `x` of it, and
    /// go past the end of two intervals.
    fn round(&mut self, x: u64, minq: u64) -> u64 {
        self.fill();
        if x > 0 {
            self.drain_to(0).depart();
            self.wait(x).arrive();
            self.arrive();
        } else {
            self.drain_to(minq);
        }
        self.wait(2 * W).depart();
        self.threshold()
    }

    fn probe(&self, name: &str) -> u64 {
        let i = self.discipline.probes().iter().position(|p| p.name == name).unwrap();
        self.discipline.probe(i) as u64
    }

    fn threshold(&self) -> u64 {
        self.probe("threshold_bytes")
    }

    fn mi_thresh(&self) -> u64 {
        self.probe("mi_thresh_bytes")
    }

    /// 0: no window, 1: in the first interval, 2: in the second.
    fn interval(&self) -> u64 {
        self.probe("interval")
    }
}

fn bytes(v: u64) -> Value {
    Value::Int(v)
}

const ARTIFACT: (&str, Value) = ("rules", Value::Choice("artifact"));

// ---- The trigger (section 4.1) ----

#[test]
fn without_a_drop_nothing_is_watched() {
    let mut h = Host::new(100_000, &[("threshold", bytes(30_000))]);
    for _ in 0..20 {
        for _ in 0..20 {
            assert_eq!(h.arrive().action, Action::Pass);
        }
        h.wait(W).drain_to(0).depart();
        h.wait(2 * W);
        assert_eq!(h.interval(), 0);
    }
    assert_eq!(h.threshold(), 30_000);
}

#[test]
fn a_drop_at_the_threshold_opens_an_interval() {
    let mut h = Host::new(100_000, &[("threshold", bytes(30_000))]);
    let verdict = h.fill();
    assert_eq!(verdict, Verdict { action: Action::Drop, reason: Reason::Threshold });
    assert_eq!(h.queue.bytes, 30_000);
    assert_eq!(h.interval(), 1);
}

#[test]
fn a_drop_at_the_limit_opens_an_interval() {
    // EQlen has seen an empty queue only and lets the burst pass.
    let filtered = [("threshold", bytes(30_000)), ("eqlen", Value::Choice("filtered"))];
    let mut h = Host::new(100_500, &filtered);
    assert_eq!(h.fill(), Verdict { action: Action::Drop, reason: Reason::Limit });
    assert_eq!(h.queue.bytes, 100_500);
    assert_eq!(h.interval(), 1);
}

#[test]
fn a_mark_opens_an_interval_too() {
    let mut h = Host::new(100_000, &[("threshold", bytes(3_000)), ("ecn", Value::Flag(true))]);
    h.arrive_as(MTU, 2);
    h.arrive_as(MTU, 2);
    assert_eq!(h.interval(), 0);
    assert_eq!(h.arrive_as(MTU, 2), Verdict { action: Action::Mark, reason: Reason::Threshold });
    assert_eq!(h.interval(), 1);
    assert_eq!(h.arrive_as(MTU, 0).action, Action::Drop);
    let mut full = Host::new(3_000, &[("ecn", Value::Flag(true))]);
    full.arrive_as(MTU, 2);
    full.arrive_as(MTU, 2);
    assert_eq!(full.arrive_as(MTU, 2), Verdict { action: Action::Drop, reason: Reason::Limit });
}

#[test]
fn one_window_at_most_is_open() {
    let mut h = Host::new(100_000, &[("threshold", bytes(30_000))]);
    h.fill();
    for _ in 0..4 {
        h.wait(W / 4 - 1).fill(); // would move the end, were each to open one
    }
    h.wait(4).depart();
    assert_eq!(h.interval(), 2);
    h.wait(W).depart();
    assert_eq!(h.interval(), 0);
}

#[test]
fn a_packet_above_the_threshold_passes_an_empty_queue() {
    let mut h = Host::new(1_000_000, &[("threshold", bytes(3_000))]);
    assert_eq!(h.arrive_as(60_000, 0).action, Action::Pass);
    assert_eq!(h.arrive().action, Action::Drop);
    let mut h = Host::new(1_000_000, &[("threshold", bytes(3_000)), ARTIFACT]);
    assert_eq!(h.arrive_as(60_000, 0).action, Action::Drop);
}

// ---- The two intervals (section 4.1) ----

#[test]
fn loss_in_the_first_interval_acts_at_its_end() {
    let mut h = Host::new(1_000_000, &[("threshold", bytes(30_000))]);
    h.fill();
    h.drain_to(0).depart();
    h.wait(W / 2).arrive();
    h.wait(W / 2 - 1).arrive();
    assert_eq!((h.threshold(), h.interval()), (30_000, 1));
    h.wait(1).arrive();
    assert_eq!((h.threshold(), h.interval()), (60_000, 0));
}

#[test]
fn loss_in_the_second_interval_is_taken_over_one_length() {
    let mut h = Host::new(1_000_000, &[("threshold", bytes(30_000))]);
    h.fill();
    h.wait(W).drain_to(0).depart();
    assert_eq!(h.interval(), 2);
    h.wait(W / 2).arrive();
    h.wait(W / 2).arrive();
    assert_eq!((h.threshold(), h.interval()), (60_000, 0));
}

#[test]
fn minq_is_taken_over_both_intervals() {
    for low_in_first in [true, false] {
        let mut h = Host::new(1_000_000, &[("threshold", bytes(30_000))]);
        h.fill();
        for first in [true, false] {
            if first == low_in_first {
                h.drain_to(3_000);
                h.fill();
            }
            h.wait(W).depart();
        }
        assert_eq!((h.threshold(), h.interval()), (30_000, 0), "low in the first: {low_in_first}");
    }
}

#[test]
fn two_packets_left_over_are_fine_and_more_is_a_standing_queue() {
    for (minq, expected) in [(3_000, 30_000), (3_001, 28_500)] {
        let mut h =
            Host::new(1_000_000, &[("threshold", bytes(30_000)), ("use_mi_thresh", Value::Flag(false))]);
        h.arrive_as(minq - 3_000 + 1_500, 0);
        h.fill();
        // The odd packet is at the head: rotate it to the tail.
        let odd = h.packets.pop_front().unwrap();
        h.packets.push_back(odd);
        while h.queue.bytes > minq {
            h.depart();
        }
        assert_eq!(h.queue.bytes, minq);
        h.wait(2 * W).depart();
        assert_eq!(h.threshold(), expected, "minq {minq}");
    }
}

/// What stands before a link that lets nothing go says nothing about T.
#[test]
fn a_link_that_stands_still_takes_nothing_from_the_threshold() {
    let set = [("threshold", bytes(330_000)), ("mi_thresh", bytes(990_000)), ("forget", Value::Int(4))];
    let mut h = Host::new(1_000_000, &set);
    h.fill();
    for _ in 0..60 {
        h.wait(W).arrive();
    }
    assert_eq!(h.threshold(), 330_000);
    // It goes again, and what stands before it is too long.
    for _ in 0..3_000 {
        h.wait(MS).fill();
        h.depart();
    }
    assert!(h.threshold() < 330_000, "{}", h.threshold());
}

// ---- The increase (section 4.2) ----

#[test]
fn the_increase_is_w_over_w_minus_x() {
    // x in ns against T * w / (w - x), rounded down but at least one byte
    for (x, expected) in [
        (1, 30_001),
        (W / 1000, 30_030),
        (W / 10, 33_333),
        (W / 4, 40_000),
        (W / 3, 44_999),
        (W / 2, 60_000),
        (W * 3 / 4, 120_000),
        (W * 7 / 8, 240_000),
        (W - 1, 240_000), // max_increase is 8
    ] {
        let mut h = Host::new(10_000_000, &[("threshold", bytes(30_000))]);
        h.fill();
        h.drain_to(0).depart();
        h.wait(x).arrive();
        h.wait(W - x).arrive();
        assert_eq!((h.threshold(), h.mi_thresh()), (expected, 90_000), "x = {x}");
    }
}

#[test]
fn a_zero_queue_all_interval_long_is_bounded() {
    for (max_increase, expected) in [(1, 30_001), (2, 60_000), (100, 3_000_000), (1 << 20, 10_000_000)] {
        let set = [("threshold", bytes(30_000)), ("max_increase", Value::Int(max_increase))];
        let mut h = Host::new(10_000_000, &set);
        h.fill();
        h.drain_to(0).depart();
        h.wait(W).arrive();
        assert_eq!(h.threshold(), expected);
    }
}

#[test]
fn c_inc_multiplies_the_increase_and_cannot_undo_it() {
    for (c_inc, expected) in [(2.0, 120_000), (1.5, 90_000), (0.25, 30_001)] {
        let mut h = Host::new(10_000_000, &[("threshold", bytes(30_000)), ("c_inc", Value::Real(c_inc))]);
        assert_eq!(h.round(W / 2, 0), expected);
    }
    // `max_increase` (8) bounds the product of both.
    let mut h = Host::new(10_000_000, &[("threshold", bytes(30_000)), ("c_inc", Value::Real(4.0))]);
    assert_eq!(h.round(W - 1, 0), 240_000);
}

#[test]
fn a_small_threshold_grows_by_less_than_a_packet_at_a_time() {
    let mut h = Host::new(10_000_000, &[("threshold", bytes(3_000))]);
    for i in 1..=20 {
        h.drain_to(0);
        assert_eq!(h.round(W / 10_000, 0), 3_000 + i);
    }
}

#[test]
fn zero_means_an_idle_link_not_an_empty_queue() {
    let mut h = Host::new(10_000_000, &[("threshold", bytes(30_000))]);
    h.fill();
    h.drain_to(0); // the last packet is on the wire, and takes all of the interval
    h.wait(W - 10).depart(); // the link goes idle here
    h.wait(10).arrive();
    assert_eq!(h.threshold(), 30_001);
    assert_eq!(h.mi_thresh(), 90_000);

    let mut h = Host::new(10_000_000, &[("threshold", bytes(30_000)), ARTIFACT]);
    h.fill();
    h.drain_to(0);
    h.wait(W / 2).depart();
    h.arrive();
    h.wait(W / 2).arrive();
    assert_eq!(h.threshold(), 60_000);
}

#[test]
fn only_idle_time_within_the_window_counts() {
    let mut h = Host::new(3_000, &[]);
    h.arrive();
    h.depart();
    h.depart();
    // A drop on an idle link: the packet is larger than the buffer.
    h.wait(10 * SEC).arrive_as(5_000, 0);
    assert_eq!(h.interval(), 1);
    h.wait(W / 2).arrive();
    assert_eq!(h.probe("zero_queue"), 250);
}

#[test]
fn idle_time_open_at_the_end_counts() {
    let mut h = Host::new(10_000_000, &[("threshold", bytes(30_000))]);
    h.fill();
    h.drain_to(0).wait(W / 2).depart();
    h.wait(10 * W).arrive();
    assert_eq!((h.threshold(), h.interval()), (60_000, 0));

    // The artifact overlooks it: x is 0, and minq is no longer above two packets.
    let mut h = Host::new(10_000_000, &[("threshold", bytes(30_000)), ARTIFACT]);
    h.fill();
    h.wait(W / 2).drain_to(0).depart();
    h.wait(10 * W).arrive();
    assert_eq!((h.threshold(), h.interval()), (30_000, 0));
}

#[test]
fn polling_an_idle_link_changes_nothing() {
    let mut h = Host::new(10_000_000, &[("threshold", bytes(30_000))]);
    h.fill();
    h.drain_to(0).depart();
    for _ in 0..1000 {
        h.wait(W / 2000).depart();
    }
    h.arrive();
    h.wait(W / 2).arrive();
    assert_eq!(h.threshold(), 60_000);
}

// ---- The decrease (section 4.2) ----

#[test]
fn above_mi_thresh_the_threshold_goes_half_of_the_way() {
    let mut h = Host::new(1_000_000, &[("mi_thresh", bytes(100_000))]);
    assert_eq!(h.round(0, 9_000), 550_000);
    assert_eq!(h.round(0, 9_000), 325_000);
    assert_eq!(h.round(0, 9_000), 212_500);
    for _ in 0..40 {
        h.round(0, 9_000);
    }
    assert!(h.threshold() < 100_000, "it does not stop at MI-thresh");
}

/// As the artifact's harness does where it changes the rate of the link.
#[test]
fn mi_thresh_begins_anew_when_it_is_set() {
    let mut h = Host::new(1_000_000, &[("mi_thresh", bytes(400_000))]);
    assert_eq!((h.round(0, 9_000), h.mi_thresh()), (700_000, 400_000));
    h.discipline.set("mi_thresh", bytes(0)).unwrap();
    assert_eq!((h.threshold(), h.mi_thresh()), (700_000, 0));
    assert_eq!(h.round(0, 9_000), 350_000);
    assert!(h.discipline.set("threshold", bytes(1)).is_err());
}

#[test]
fn just_above_mi_thresh_the_step_is_the_additive_one() {
    let mut h = Host::new(100_001, &[("mi_thresh", bytes(100_000))]);
    assert_eq!(h.round(0, 9_000), 98_501);
    let mut h = Host::new(103_001, &[("mi_thresh", bytes(100_000))]);
    assert_eq!(h.round(0, 9_000), 101_500); // rounded down
}

#[test]
fn at_or_below_mi_thresh_the_step_is_c_dec_packets() {
    for (c_dec, expected) in [(1.0, 98_500), (2.0, 97_000), (0.5, 99_250)] {
        let set = [("mi_thresh", bytes(100_000)), ("c_dec", Value::Real(c_dec))];
        let mut h = Host::new(100_000, &set);
        assert_eq!(h.round(0, 9_000), expected);
    }
}

#[test]
fn mi_thresh_follows_the_threshold_that_proved_too_low() {
    for (c_thresh, expected) in [(3.0, 90_000), (1.5, 45_000), (0.0, 0)] {
        let mut h =
            Host::new(10_000_000, &[("threshold", bytes(30_000)), ("c_thresh", Value::Real(c_thresh))]);
        h.round(W * 3 / 4, 0);
        assert_eq!((h.threshold(), h.mi_thresh()), (120_000, expected));
    }
}

#[test]
fn an_overshoot_is_repaired_by_the_fast_decrease() {
    let mut h = Host::new(10_000_000, &[("threshold", bytes(30_000))]);
    assert_eq!(h.round(W * 7 / 8, 0), 240_000);
    assert_eq!(h.round(0, 9_000), 165_000);
    assert_eq!(h.round(0, 9_000), 127_500);
}

#[test]
fn mi_thresh_is_forgotten_after_decreases_in_a_row() {
    let mut h = Host::new(
        1_000_000,
        &[("threshold", bytes(90_000)), ("forget", Value::Int(3)), ("c_thresh", Value::Real(2.0))],
    );
    h.round(W / 10, 0);
    let rows: Vec<_> = (0..6).map(|_| (h.round(0, 9_000), h.mi_thresh())).collect();
    // From the third on it halves, and T follows once it is above.
    let expected = [
        (98_500, 180_000),
        (97_000, 180_000),
        (93_500, 90_000),
        (69_250, 45_000),
        (45_875, 22_500),
        (28_562, 11_250),
    ];
    assert_eq!(rows, expected);
    // An increase begins the count, and MI-thresh, anew.
    h.round(W / 2, 0);
    assert_eq!((h.threshold(), h.mi_thresh()), (57_124, 57_124));
    assert_eq!((h.round(0, 9_000), h.mi_thresh()), (55_624, 57_124));

    // One that changes nothing does not.
    let mut h = Host::new(
        1_000_000,
        &[("threshold", bytes(90_000)), ("forget", Value::Int(2)), ("c_thresh", Value::Real(2.0))],
    );
    h.round(W / 10, 0);
    h.round(0, 9_000);
    h.round(0, 3_000);
    assert_eq!(h.mi_thresh(), 180_000);
    h.round(0, 9_000);
    assert_eq!(h.mi_thresh(), 90_000);
}

#[test]
fn artifact_mi_thresh_is_never_forgotten() {
    let mut h = Host::new(90_000, &[ARTIFACT, ("forget", Value::Int(1)), ("mi_thresh", bytes(180_000))]);
    h.round(0, 9_000);
    assert_eq!((h.threshold(), h.mi_thresh()), (87_000, 180_000));
}

#[test]
fn mi_thresh_off_leaves_the_additive_decrease() {
    let mut h = Host::new(1_000_000, &[("use_mi_thresh", Value::Flag(false))]);
    assert_eq!(h.round(0, 9_000), 998_500);
}

// ---- Clamps ----

#[test]
fn the_decrease_stops_at_the_floor() {
    // The queue stands above two packets though T is low: a burst that EQlen let pass.
    let set = [("threshold", bytes(5_000)), ("eqlen", Value::Choice("mean"))];
    let mut h = Host::new(30_000, &set);
    assert_eq!(h.round(0, 9_000), 3_000);
    assert_eq!(h.round(0, 9_000), 3_000);
    let mut h = Host::new(30_000, &[("threshold", bytes(2_000)), ("eqlen", Value::Choice("mean"))]);
    assert_eq!(h.round(0, 9_000), 2_000, "below the floor by the user's wish: not raised");
    let mut h = Host::new(
        30_000,
        &[("threshold", bytes(5_000)), ("eqlen", Value::Choice("mean")), ("mtu", bytes(2_000))],
    );
    assert_eq!(h.round(0, 9_000), 4_000, "two packets");
    let mut h = Host::new(30_000, &[("min_threshold", bytes(20_000))]);
    assert_eq!(h.round(0, 9_000), 20_000);
}

#[test]
fn the_increase_stops_at_the_buffer() {
    let mut h = Host::new(50_000, &[("threshold", bytes(30_000))]);
    assert_eq!(h.round(W / 2, 0), 50_000);
    let mut h = Host::new(0, &[("threshold", bytes(30_000))]);
    h.queue.limit_packets = 30;
    assert_eq!(h.round(W / 2, 0), 45_000);
}

#[test]
fn the_threshold_starts_at_the_buffer() {
    let mut h = Host::new(50_000, &[]);
    h.arrive();
    assert_eq!(h.threshold(), 50_000);
    let mut h = Host::new(50_000, &[("threshold", bytes(90_000))]);
    h.arrive();
    assert_eq!(h.threshold(), 50_000);
    let mut h = Host::new(60_000, &[]);
    h.queue.limit_packets = 20;
    h.arrive();
    assert_eq!(h.threshold(), 30_000);
    let mut h = Host::new(0, &[]);
    h.arrive();
    assert_eq!(h.threshold(), 1 << 40, "no limit: 1 TiB");
}

/// A link that stands still for a while was not busy: T stays the buffer, until the link has been.
#[test]
fn a_stall_does_not_bind_the_start() {
    let mut h = Host::new(1_000_000, &[("initial_delay", Value::Int(50 * MS))]);
    let busy = |h: &mut Host, packets: u64| {
        for _ in 0..packets {
            h.arrive();
            h.depart();
            h.wait(MS);
        }
    };
    h.arrive();
    h.arrive();
    busy(&mut h, 10);
    h.wait(200 * MS);
    busy(&mut h, 40);
    assert_eq!(h.threshold(), 1_000_000);
    busy(&mut h, 20);
    assert!((50 * 1500..=51 * 1500).contains(&h.threshold()), "{}", h.threshold());
}

/// A packet takes longer than `initial_delay`: the second such wait is no stall.
#[test]
fn a_very_slow_link_binds_the_start() {
    let mut h = Host::new(1_000_000, &[("initial_delay", Value::Int(50 * MS))]);
    for _ in 0..10 {
        h.arrive();
    }
    for _ in 0..4 {
        h.depart();
        h.wait(200 * MS);
    }
    assert_eq!(h.threshold(), 3_000);
}

/// MI-thresh that begins anew is forgotten anew, too.
#[test]
fn mi_thresh_that_is_set_is_not_forgotten_at_once() {
    let set =
        [("forget", Value::Int(3)), ("mi_thresh", Value::Int(15_000)), ("threshold", Value::Int(600_000))];
    let mut h = Host::new(1_000_000, &set);
    for _ in 0..5 {
        h.round(0, 9_000);
    }
    assert!(h.mi_thresh() < 15_000);
    h.discipline.set("mi_thresh", bytes(15_000)).unwrap();
    h.round(0, 9_000);
    h.round(0, 9_000);
    assert_eq!(h.mi_thresh(), 15_000);
}

/// An increase that finds T at the buffer's end has not moved it: the start is bound all the same.
#[test]
fn an_increase_at_the_buffers_end_does_not_unbind_the_start() {
    let mut h = Host::new(1_000_000, &[("initial_delay", Value::Int(50 * MS))]);
    // Packets of 64 bytes in a buffer of packets: dropped while T is far.
    h.queue.limit_packets = 100;
    while h.arrive_as(64, 0).action != Action::Drop {}
    while h.queue.packets > 0 {
        h.depart();
    }
    h.depart();
    h.wait(W);
    h.arrive();
    h.depart();
    assert_eq!(h.threshold(), 150_000);
    // 100 ms of a busy link, a packet each ms.
    for _ in 0..100 {
        h.arrive();
        h.arrive();
        h.depart();
        h.wait(MS);
    }
    assert!((50 * 1500..=51 * 1500).contains(&h.threshold()), "{}", h.threshold());
}

/// Nor does a decrease: T, though halved, may be far above what the link sends in `initial_delay`.
#[test]
fn a_decrease_does_not_unbind_the_start() {
    let mut h = Host::new(10_000_000, &[("initial_delay", Value::Int(2 * SEC))]);
    // A packet a millisecond leaves, and a hundred come.
    for _ in 0..2_050 {
        for _ in 0..100 {
            h.arrive();
        }
        h.depart();
        h.wait(MS);
    }
    assert!(h.threshold() <= 2_001 * 1500, "{}", h.threshold());
}

/// `c_inc` below 1 is of w/(w - x), not of what `max_increase` leaves of it: an empty window still raises T `max_increase` times.
#[test]
fn c_inc_below_one_is_taken_before_the_bound() {
    for (c_inc, empty, factor) in
        [(0.5, 90, 5.0), (0.5, 97, 8.0), (0.5, 100, 8.0), (0.1, 100, 8.0), (0.1, 95, 2.0)]
    {
        let set = [("c_inc", Value::Real(c_inc)), ("threshold", Value::Int(100_000))];
        let mut h = Host::new(10_000_000, &set);
        h.round(W * empty / 100, 0);
        let grown = h.threshold() as f64 / 100_000.0;
        assert!((grown / factor - 1.0).abs() < 0.001, "{c_inc}, {empty} %: {grown} times");
    }
}

// ---- A buffer that ports share (section 5.3, and the artifact's upper clamp) ----

/// Ports that share a buffer, each with a clock of its own that the test keeps together.
struct Switch(Vec<Host>, u64);

impl Switch {
    fn new(ports: usize, pool_bytes: u64) -> Self {
        Switch((0..ports).map(|_| Host::new(0, &[])).collect(), pool_bytes)
    }

    /// Shows a port what it shares, as a host does before each call.
    fn port(&mut self, at: usize, now: u64) -> &mut Host {
        let others = || self.0.iter().enumerate().filter(|&(i, _)| i != at).map(|(_, h)| h);
        let pool = Pool {
            bytes: self.0.iter().map(|h| h.queue.bytes).sum(),
            limit_bytes: self.1,
            thresholds_bytes: others().map(|h| h.discipline.claim(now)).sum(),
            ports: self.0.len() as u32,
            ..Pool::default()
        };
        let host = &mut self.0[at];
        host.now = now;
        host.queue.pool = pool;
        host
    }

    fn arrive(&mut self, at: usize, now: u64) -> Action {
        self.port(at, now).arrive().action
    }

    /// The link sends a packet, or finds nothing.
    fn depart(&mut self, at: usize, now: u64) {
        self.port(at, now).depart();
    }

    /// At `now` the port loses a packet at its threshold, then all of its queue leaves and the link is idle
    /// for `x`; a packet comes after that, and one at the window's end.
    fn lose_throughput(&mut self, at: usize, now: u64, x: u64) {
        while self.arrive(at, now) != Action::Drop {}
        while self.0[at].queue.packets > 0 {
            self.depart(at, now);
        }
        self.depart(at, now);
        self.arrive(at, now + x);
        self.arrive(at, now + W);
    }

    fn thresholds(&self) -> Vec<u64> {
        self.0.iter().map(Host::threshold).collect()
    }
}

#[test]
fn windows_that_end_together_do_not_take_the_same_room_twice() {
    let mut switch = Switch::new(2, 600_000);
    for round in 0..20 {
        let now = round * 2 * SEC;
        // Both lose a packet, both links are idle for half a window, and both windows end at the same time.
        for at in [0, 1] {
            while switch.arrive(at, now) != Action::Drop {}
            while switch.0[at].queue.packets > 0 {
                switch.depart(at, now);
            }
            switch.depart(at, now);
        }
        for later in [W / 2, W, W + 1, 2 * W] {
            for at in [0, 1] {
                switch.arrive(at, now + later);
                let sum: u64 = switch.thresholds().iter().sum();
                assert!(sum <= 600_000, "round {round}, {later} ns: {:?}", switch.thresholds());
            }
        }
    }
}

#[test]
fn what_silent_ports_do_not_need_is_for_the_busy_one() {
    let mut switch = Switch::new(4, 600_000);
    for at in 0..4 {
        switch.arrive(at, 0);
        switch.depart(at, 0);
        switch.depart(at, 0);
    }
    assert_eq!(switch.thresholds(), [150_000; 4]);
    for round in 1..=20 {
        switch.lose_throughput(0, round * 2 * SEC, W / 2);
    }
    assert_eq!(switch.0[0].threshold(), 600_000);

    // One comes back while the other sends: its even part is its own after a packet of each.
    let now = 60 * SEC;
    switch.arrive(0, now);
    switch.arrive(1, now);
    assert_eq!(switch.0[1].threshold(), 3_000, "two packets while the other has all");
    switch.arrive(0, now);
    assert_eq!(switch.0[0].threshold(), 450_000);
    switch.arrive(1, now);
    assert_eq!(switch.thresholds()[..2], [450_000, 150_000]);
    // It goes again, and is not missed for a window.
    while switch.0[1].queue.packets > 0 {
        switch.depart(1, now);
    }
    switch.depart(1, now);
    switch.arrive(0, now + W - 1);
    assert_eq!(switch.0[0].threshold(), 450_000);
    switch.depart(0, now + W);
    assert_eq!(switch.0[0].threshold(), 600_000);
}

/// Two ports, of which the first has taken nearly all: what the other is to do first, after which both have their even part.
fn has_its_part_again(meanwhile: impl Fn(&mut Switch)) {
    let mut switch = Switch::new(2, 600_000);
    for at in [0, 1] {
        switch.arrive(at, 0);
        switch.depart(at, 0);
        switch.depart(at, 0);
    }
    meanwhile(&mut switch);
    let now = 200 * SEC;
    for _ in 0..2 {
        switch.arrive(1, now);
        switch.arrive(0, now);
    }
    assert_eq!(switch.thresholds(), [300_000; 2]);
}

#[test]
fn who_comes_back_with_a_window_open_has_its_part() {
    has_its_part_again(|switch| {
        while switch.arrive(1, SEC) != Action::Drop {}
        while switch.0[1].queue.packets > 0 {
            switch.depart(1, SEC);
        }
        switch.depart(1, SEC);
        for round in 1..=20 {
            switch.lose_throughput(0, round * 5 * SEC, W / 2);
        }
        assert_eq!(switch.0[0].threshold(), 600_000);
    });
}

#[test]
fn who_loses_throughput_may_claim_an_even_part() {
    has_its_part_again(|switch| {
        // The queue of the second stands: its T is halved four times.
        for round in 1..=4 {
            let now = round * 3 * SEC;
            while switch.arrive(1, now) != Action::Drop {}
            while switch.0[1].queue.bytes > 9_000 {
                switch.depart(1, now);
            }
            switch.depart(1, now + 2 * W);
        }
        assert_eq!(switch.0[1].threshold(), 300_000 / 16);
        for round in 1..=20 {
            let now = (20 + round * 2) * SEC;
            switch.arrive(1, now);
            switch.lose_throughput(0, now, W / 2);
        }
        assert!(switch.0[0].threshold() > 580_000, "{:?}", switch.thresholds());
        for round in 1..=30 {
            let now = (70 + round * 2) * SEC;
            switch.lose_throughput(1, now, W / 2);
            switch.arrive(0, now + W);
        }
    });
}

#[test]
fn what_a_full_buffer_refuses_is_a_claim_all_the_same() {
    let mut switch = Switch::new(2, 600_000);
    switch.arrive(1, 0);
    switch.depart(1, 0);
    switch.depart(1, 0);
    assert_eq!(switch.0[1].discipline.claim(SEC), 0);
    // The other has filled it.
    switch.0[0].queue.bytes = 600_000;
    assert_eq!(switch.arrive(1, SEC), Action::Drop);
    assert_eq!(switch.0[1].discipline.claim(SEC), 300_000);
    assert_eq!(switch.0[1].discipline.claim(SEC + W), 0);
}

/// Two ports, of which the first lost throughput until it had all of the buffer, and nothing waits. Up to second 41.
fn one_has_all() -> Switch {
    let mut switch = Switch::new(2, 600_000);
    for at in [0, 1] {
        switch.arrive(at, 0);
        switch.depart(at, 0);
        switch.depart(at, 0);
    }
    for round in 1..=20 {
        switch.lose_throughput(0, round * 2 * SEC, W / 2);
    }
    switch
}

/// A port whose link stands still with packets waiting keeps no more than its even part from the others.
#[test]
fn a_link_that_stands_still_leaves_the_others_their_part() {
    let mut switch = one_has_all();
    assert_eq!(switch.0[0].threshold(), 600_000);
    let now = 60 * SEC;
    for _ in 0..10 {
        switch.arrive(0, now);
    }
    switch.depart(0, now);
    // Nothing comes or goes there any longer.
    assert_eq!(switch.0[0].discipline.claim(now + W - 1), 600_000);
    assert_eq!(switch.0[0].discipline.claim(now + W), 300_000);
    switch.arrive(1, now + W);
    assert_eq!(switch.0[1].threshold(), 300_000);
}

/// A port of which nothing was ever let in, as others had filled the buffer, claims nothing after a window.
#[test]
fn a_port_whose_only_packet_was_refused_claims_nothing() {
    let mut switch = Switch::new(2, 600_000);
    switch.0[0].queue.bytes = 600_000;
    assert_eq!(switch.arrive(1, SEC), Action::Drop);
    switch.0[0].queue.bytes = 0;
    assert_eq!(switch.0[1].discipline.claim(SEC + W - 1), 300_000);
    assert_eq!(switch.0[1].discipline.claim(SEC + W), 0);
}

/// Nor in what others claim: a drop at two packets, of a port whose T is more, says nothing about T.
#[test]
fn a_threshold_that_is_not_in_force_is_not_watched() {
    let mut switch = one_has_all();
    let now = 60 * SEC;
    switch.arrive(0, now);
    while switch.arrive(1, now) != Action::Drop {}
    assert_eq!((switch.0[1].threshold(), switch.0[1].interval()), (3_000, 0));
    // It has its part again, and more than that is a drop at T.
    switch.arrive(0, now);
    while switch.arrive(1, now) != Action::Drop {}
    assert_eq!((switch.0[1].threshold(), switch.0[1].interval()), (300_000, 1));
}

/// T of a port has no part in what others have filled.
#[test]
fn a_buffer_that_others_have_filled_opens_no_interval() {
    let mut switch = Switch::new(2, 600_000);
    switch.arrive(1, 0);
    switch.0[0].queue.bytes = 600_000;
    assert_eq!(switch.arrive(1, SEC), Action::Drop);
    assert_eq!(switch.0[1].interval(), 0);
    switch.0[0].queue.bytes = 0;
    while switch.arrive(1, SEC) != Action::Drop {}
    assert_eq!(switch.0[1].interval(), 1);
}

/// Whatever ports do, what is in force at those that have sent within a window stays within the buffer, but for the two
/// packets that each may have.
#[test]
fn thresholds_in_force_stay_within_a_shared_buffer() {
    let mut dice = 1u64;
    let mut roll = |n: u64| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (dice >> 33) % n
    };
    let mut grown = 0;
    for ports in 2..6 {
        let mut switch = Switch::new(ports, 200_000);
        let mut now = 0;
        for _ in 0..60_000 {
            now += [0, 10_000, 1_000_000, 100 * MS][(roll(40) as usize + 2) / 14];
            let at = roll(ports as u64) as usize;
            if roll(2) == 0 {
                for _ in 0..roll(40) {
                    switch.arrive(at, now);
                }
            } else {
                for _ in 0..roll(60) {
                    if switch.0[at].queue.packets == 0 {
                        break;
                    }
                    switch.depart(at, now);
                }
                if switch.0[at].queue.packets == 0 {
                    switch.depart(at, now);
                }
            }
            let busy = (0..ports).filter(|&i| switch.0[i].discipline.claim(now) > 0);
            let sum: u64 = busy.map(|i| switch.0[i].threshold()).sum();
            assert!(sum <= 200_000 + ports as u64 * 3_000, "{ports} ports: {:?}", switch.thresholds());
            grown += u64::from(switch.thresholds().iter().any(|&t| t > 200_000 / ports as u64));
        }
    }
    assert!(grown > 1_000, "some port had more than an even part: {grown}");
}

/// A link of 1500 bytes a millisecond in front of an endless supply, for `ms`.
fn busy(h: &mut Host, ms: u64) {
    for _ in 0..ms {
        while h.queue.bytes < 300_000 {
            h.arrive();
        }
        h.depart();
        h.wait(MS);
    }
}

#[test]
fn without_a_hint_the_threshold_is_bound_by_what_the_link_sends_in_the_initial_delay() {
    let set = [("initial_delay", Value::Int(50 * MS))];
    let mut h = Host::new(1_000_000, &set);
    busy(&mut h, 50);
    assert_eq!(h.threshold(), 1_000_000);
    busy(&mut h, 1);
    assert_eq!(h.threshold(), 75_000);
    // An idle link begins anew.
    let mut h = Host::new(1_000_000, &set);
    busy(&mut h, 40);
    h.drain_to(0).depart();
    busy(&mut h, 40);
    assert_eq!(h.threshold(), 1_000_000);
    // The buffer is less than that; a very slow link; a hint; the artifact.
    let mut h = Host::new(50_000, &set);
    h.arrive();
    h.depart();
    h.wait(SEC).arrive();
    h.depart();
    assert_eq!(h.threshold(), 50_000, "it may have stood still");
    h.wait(SEC).arrive();
    h.depart();
    assert_eq!(h.threshold(), 3_000);
    for set in [[set[0], ("threshold", bytes(500_000))], [set[0], ARTIFACT]] {
        let mut h = Host::new(500_000, &set);
        busy(&mut h, 60);
        assert_eq!(h.threshold(), 500_000);
    }
}

/// A discipline that begins over a backlog knows no buffer before the first arrival.
#[test]
fn what_waits_from_before_does_not_end_the_initial_bound() {
    let mut h = Host::new(1_000_000, &[("initial_delay", Value::Int(50 * MS))]);
    for _ in 0..10 {
        h.packets.push_back(Packet { bytes: 1500, ..Packet::default() });
    }
    (h.queue.bytes, h.queue.packets) = (15_000, 10);
    for _ in 0..10 {
        h.depart();
        h.wait(10 * MS);
    }
    busy(&mut h, 51);
    assert_eq!(h.threshold(), 75_000);
}

#[test]
fn a_threshold_that_has_moved_is_not_bound_any_more() {
    let mut h = Host::new(40_000, &[("initial_delay", Value::Int(5 * SEC))]);
    h.fill();
    h.queue.limit_bytes = 1_000_000;
    h.drain_to(0).depart();
    h.wait(W / 2).arrive();
    for _ in 0..6_000 {
        h.wait(MS).arrive();
        h.depart();
    }
    assert_eq!(h.threshold(), 80_000);
}

#[test]
fn the_largest_values_do_not_overflow() {
    for rules in ["paper", "artifact"] {
        for strategy in ["miad", "aiad", "aimd", "mimd", "pi"] {
            let mut h = Host::new(
                1 << 40,
                &[
                    ("rules", Value::Choice(rules)),
                    ("strategy", Value::Choice(strategy)),
                    ("threshold", bytes(1 << 40)),
                    ("window", Value::Int(4 * SEC)),
                    ("c_inc", Value::Real(16.0)),
                    ("c_thresh", Value::Real(64.0)),
                    ("max_increase", Value::Int(1 << 20)),
                    ("kp", Value::Real(16.0)),
                    ("ki", Value::Real(16.0)),
                    ("eqlen", Value::Choice("mean")),
                ],
            );
            h.queue.bytes = 1 << 40;
            h.wait(1000 * SEC);
            assert_eq!(h.arrive().reason, Reason::Limit);
            assert_eq!(h.interval(), 1, "{rules} {strategy}");
            h.queue.bytes = 0;
            h.packets.clear();
            h.depart();
            h.wait(4 * SEC - 1).arrive();
            h.depart();
            h.wait(10 * SEC).depart();
            assert_eq!(h.threshold(), 1 << 40, "{rules} {strategy}");
            h.queue.bytes = 1 << 40;
            h.arrive();
            h.wait(10 * SEC).arrive();
            assert!(h.threshold() <= 1 << 40, "{rules} {strategy}");
        }
    }
}

// ---- EQlen (section 4.3) ----

/// Queue lengths in packets, one at each sample: where would an arrival be dropped?
fn dropped(set: &[(&str, Value)], lengths: &[u64]) -> String {
    let mut all = vec![("threshold", bytes(10 * MTU)), ("samples", Value::Int(10))];
    all.extend(set);
    let mut h = Host::new(100 * MTU, &all);
    let packet = Packet { bytes: MTU as u32, ..Packet::default() };
    let mut look = |(i, &length): (usize, &u64)| {
        h.queue.bytes = length * MTU;
        match h.discipline.enqueue(i as u64 * 500_000, &h.queue, &packet, 0).action {
            Action::Drop => 'x',
            _ => '.',
        }
    };
    lengths.iter().enumerate().map(&mut look).collect()
}

#[test]
fn eqlen_off_looks_at_the_queue_alone() {
    let off = ("eqlen", Value::Choice("off"));
    assert_eq!(dropped(&[off], &[5, 9, 10, 20, 9, 30]), "..xx.x");
}

#[test]
fn eqlen_mean_lags() {
    let mean = ("eqlen", Value::Choice("mean"));
    // 20 packets after none: the mean is above 10 once more than half of the window saw them.
    let rise: Vec<u64> = [vec![0; 10], vec![20; 8]].concat();
    assert_eq!(dropped(&[mean], &rise), "...............xxx");
    // A queue that has gone down is left alone, high as the mean still is.
    let fall: Vec<u64> = [vec![30; 10], vec![9; 3], vec![10; 1]].concat();
    assert_eq!(dropped(&[mean], &fall), "xxxxxxxxxx...x");
}

#[test]
fn eqlen_filtered_lets_a_burst_pass_and_stops_a_long_spike() {
    let filtered = ("eqlen", Value::Choice("filtered"));
    let mean = ("eqlen", Value::Choice("mean"));
    // Seven samples of a burst in a window of ten: the plain mean gives in, the filter not.
    let burst: Vec<u64> = [vec![4; 10], vec![20; 7], vec![4; 4]].concat();
    assert_eq!(dropped(&[mean], &burst), ".............xxxx....");
    assert_eq!(dropped(&[filtered], &burst), ".".repeat(21));
    // A spike that stays fills the window and is stopped when no outlier is left.
    let spike: Vec<u64> = [vec![4; 10], vec![20; 12]].concat();
    assert_eq!(dropped(&[filtered], &spike), ".".repeat(19) + "xxx");
}

#[test]
fn the_tolerance_makes_fewer_outliers() {
    let burst: Vec<u64> = [vec![4; 10], vec![20; 12]].concat();
    let stops = |tolerance: f64| {
        let set = [("eqlen", Value::Choice("filtered")), ("tolerance", Value::Real(tolerance))];
        dropped(&set, &burst).find('x').unwrap() - 10
    };
    assert_eq!(stops(0.0), 9);
    // With k of ten samples at 20 and the rest at 4 the mean is 4 + 1.6 k; 20 is within
    // 1.5 times it from k = 6 on: the sixth is the one at 5.
    assert_eq!(stops(0.5), 5);
    assert_eq!(stops(16.0), 3, "nothing is left out: the plain mean, above 10 from k = 4 on");
}

#[test]
fn the_artifact_ignores_the_tolerance() {
    let burst: Vec<u64> = [vec![4; 10], vec![20; 12]].concat();
    let set = [("eqlen", Value::Choice("filtered")), ("tolerance", Value::Real(16.0)), ARTIFACT];
    assert_eq!(dropped(&set, &burst).find('x'), Some(19));
}

#[test]
fn a_long_silence_is_caught_up_with() {
    let set =
        [("threshold", bytes(15_000)), ("eqlen", Value::Choice("filtered")), ("samples", Value::Int(1024))];
    let mut h = Host::new(30_000, &set);
    h.fill();
    // Ten years of a link that stands still: every sample is that queue, all intervals are over.
    h.wait(10 * 365 * 86_400 * SEC);
    assert_eq!(h.arrive().action, Action::Drop);
    assert_eq!(h.probe("mean_queue_bytes"), 30_000);
    assert_eq!(h.threshold(), 15_000);
    assert_eq!(h.interval(), 1);
}

// ---- The ablations of Figure 6 ----

#[test]
fn strategies_move_as_their_names_say() {
    let first = |strategy, x, minq| {
        let mut h =
            Host::new(1_000_000, &[("threshold", bytes(90_000)), ("strategy", Value::Choice(strategy))]);
        h.round(x, minq)
    };
    for (strategy, up, down) in [
        ("miad", 180_000, 45_000),
        ("aiad", 91_500, 88_500),
        ("aimd", 91_500, 45_000),
        ("mimd", 180_000, 45_000),
    ] {
        assert_eq!((first(strategy, W / 2, 0), first(strategy, 0, 9_000)), (up, down), "{strategy}");
    }
    // Error: +90 kB or -(9 - 3) kB; moved by 1/4 of its change and 1/4 of itself.
    assert_eq!(first("pi", W / 2, 0), 135_000);
    assert_eq!(first("pi", 0, 9_000), 87_000);
}

#[test]
fn the_pi_controller_settles() {
    // A queue whose minimum is what T exceeds 60 kB by.
    let mut h = Host::new(1_000_000, &[("strategy", Value::Choice("pi"))]);
    for _ in 0..40 {
        let t = h.fill_level();
        h.round(if t < 60_000 { W / 100 } else { 0 }, t.saturating_sub(60_000));
    }
    let t = h.threshold();
    assert!((58_000..68_000).contains(&t), "{t}");
}

impl Host {
    /// How far the queue would fill.
    fn fill_level(&mut self) -> u64 {
        self.fill();
        self.threshold()
    }
}

// ---- The artifact's rules ----

#[test]
fn artifact_the_published_descent() {
    // spec: T of Figure 19, one step a second, towards an initial MI-thresh of 7.5 MB
    let mut h =
        Host::new(75_000_000, &[ARTIFACT, ("mi_thresh", bytes(7_500_000)), ("eqlen", Value::Choice("mean"))]);
    h.fill();
    let mut trace = Vec::new();
    for _ in 0..7 {
        h.wait(2 * W - 1).arrive();
        let before = h.threshold();
        h.wait(1).arrive(); // ends the second interval, and being dropped opens the next window
        assert_ne!(before, h.threshold());
        trace.push(h.threshold());
    }
    assert_eq!(trace, [41_250_000, 24_375_000, 15_937_500, 11_718_000, 9_609_000, 8_554_500, 8_026_500]);
}

#[test]
fn artifact_the_second_interval_needs_a_standing_queue() {
    let mut h = Host::new(100_000, &[ARTIFACT]);
    h.fill();
    h.drain_to(3_000).wait(W).depart();
    assert_eq!(h.interval(), 0);
    h.fill();
    h.drain_to(4_500).wait(W).depart();
    assert_eq!(h.interval(), 2);
}

#[test]
fn artifact_the_additive_step_is_two_packets() {
    let mut h = Host::new(100_000, &[ARTIFACT, ("mi_thresh", bytes(100_000))]);
    assert_eq!(h.round(0, 9_000), 97_000);
}

#[test]
fn artifact_the_fast_step_is_whole_packets() {
    for (t, expected) in [(103_000, 101_500), (103_001, 101_501), (103_002, 100_002), (100_001, 100_001)] {
        let mut h = Host::new(t, &[ARTIFACT, ("mi_thresh", bytes(100_000))]);
        assert_eq!(h.round(0, 9_000), expected, "T {t}");
    }
}

#[test]
fn artifact_a_decrease_to_the_floor_does_not_happen() {
    let set = [ARTIFACT, ("mi_thresh", bytes(1 << 30)), ("eqlen", Value::Choice("mean"))];
    for (threshold, expected) in [(6_000, 6_000), (6_001, 3_001)] {
        let mut h = Host::new(30_000, &[&set[..], &[("threshold", bytes(threshold))]].concat());
        assert_eq!(h.round(0, 9_000), expected);
    }
}

#[test]
fn artifact_packets_count_without_their_ip_header() {
    let mut h = Host::new(100_000, &[ARTIFACT, ("threshold", bytes(4_480))]);
    assert_eq!(h.fill().reason, Reason::Threshold);
    assert_eq!(h.queue.bytes, 4_500);
}

#[test]
fn artifact_a_zero_queue_can_outlast_the_interval() {
    // Open at the end of the first interval it is overlooked, so that by the end of the
    // second x is longer than w: its formula has no answer, the buffer is ours.
    let mut h = Host::new(100_000, &[ARTIFACT, ("threshold", bytes(30_000))]);
    h.fill();
    h.wait(W - 1).drain_to(30_000).wait(1).arrive(); // standing: a second interval
    assert_eq!(h.interval(), 2);
    h.drain_to(0).wait(W - 1).arrive();
    h.wait(1).arrive();
    assert_eq!(h.threshold(), 100_000);
}

// ---- The golden table ----

/// Thresholds (bytes) over rounds of one window each, of a queue that needs `need` bytes: it
/// stands above what T exceeds that by, and loses of the interval the share that T lacks, an eighth.
#[test]
fn golden_threshold_traces() {
    let mut table = String::new();
    for rules in ["paper", "artifact"] {
        for strategy in ["miad", "aiad", "aimd", "mimd", "pi", "miad without MI-thresh", "miad forgetting"] {
            for need in [30_000u64, 300_000] {
                let set = [
                    ("rules", Value::Choice(rules)),
                    ("strategy", Value::Choice(strategy.split(' ').next().unwrap())),
                    ("use_mi_thresh", Value::Flag(!strategy.contains("without"))),
                    ("forget", Value::Int(if strategy.contains("forget") { 3 } else { 0 })),
                    ("mi_thresh", bytes(if strategy.contains("forget") { 1_500_000 } else { 0 })),
                ];
                let mut h = Host::new(1_000_000, &set);
                write!(table, "{rules:8} {strategy:22} need {need:6}:").unwrap();
                h.arrive();
                for round in 0..24 {
                    let t = h.threshold();
                    let x = if t < need { W * (need - t) / need / 8 } else { 0 };
                    h.round(x, t.saturating_sub(need));
                    if round % 3 == 2 {
                        write!(table, " {:6}", h.threshold()).unwrap();
                    }
                }
                table.push('\n');
            }
        }
    }
    insta::assert_snapshot!(table);
}
