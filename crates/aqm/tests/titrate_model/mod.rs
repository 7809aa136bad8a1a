//! Titrate once more, written for clarity: every timer fires by itself and in
//! order, sums and products are exact in 128 bits, EQlen is computed from all
//! samples at each arrival. The header must agree to the byte.

use super::{Host, SEC, VecDeque, find};
use proptest::prelude::*;
use queuewright_aqm::{Action, Reason, Spec, Value};

/// Parameters, in the header's own units.
#[derive(Debug, Clone)]
struct Config {
    artifact: bool,
    strategy: &'static str,
    use_mi_thresh: bool,
    eqlen: &'static str,
    window: u64,
    sample_interval: u64,
    samples: u64,
    threshold: u64,
    mi_thresh: u64,
    min_threshold: u64,
    max_increase: u64,
    forget: u64,
    initial_delay: u64,
    limit_bytes: u64,
    limit_packets: u32,
    ecn: bool,
    // in sixteenths
    c_inc: u64,
    c_dec: u64,
    c_thresh: u64,
    tolerance: u64,
    kp: u64,
    ki: u64,
}

struct Model<'a> {
    c: &'a Config,
    t: Option<u64>,
    mi_thresh: u64,
    /// Start of the window, end of its current interval, and which that is.
    window: Option<(u64, u64, u32)>,
    /// Zero periods of the window: closed ones in `x`, an open one from `zero_since`.
    x: u64,
    zero_since: Option<u64>,
    minq: u64,
    /// Something departed since the window opened.
    left: bool,
    samples: VecDeque<u64>,
    next_sample: u64,
    error: i128,
    /// Decreases since the last increase.
    decreases: u64,
    /// While T is the initial one and may still be bound: departures since the link was idle.
    initial: bool,
    busy: Vec<(u64, u64)>,
    /// These began anew after a stall.
    stalled: bool,
}

const MTU: u64 = 1500;

impl Model<'_> {
    fn limit(&self) -> u64 {
        let mut limit = 1 << 40;
        if self.c.limit_bytes > 0 {
            limit = self.c.limit_bytes;
        }
        if self.c.limit_packets > 0 {
            limit = limit.min(u64::from(self.c.limit_packets) * MTU);
        }
        limit
    }

    fn floor(&self) -> u64 {
        if self.c.min_threshold > 0 { self.c.min_threshold } else { 2 * MTU }
    }

    /// Fire the timers due by `now`, one by one, in order.
    fn advance(&mut self, now: u64, queue: u64) {
        loop {
            let window_end = self.window.map_or(u64::MAX, |w| w.1);
            if window_end <= now && window_end <= self.next_sample {
                self.interval_end();
            } else if self.next_sample <= now {
                if self.samples.len() as u64 == self.c.samples {
                    self.samples.pop_front();
                }
                self.samples.push_back(queue);
                self.next_sample += self.c.sample_interval;
            } else {
                return;
            }
        }
    }

    fn interval_end(&mut self) {
        let (start, end, count) = self.window.unwrap();
        let open = self.zero_since.map_or(0, |since| end - since.max(start));
        let x = if self.c.artifact { self.x } else { self.x + open };
        let standing = self.minq > 2 * MTU && (self.left || self.c.artifact);
        if x > 0 {
            self.increase(x);
        } else if count == 1 && (standing || !self.c.artifact) {
            self.window = Some((start, end + self.c.window, 2));
            return;
        } else if standing {
            self.decrease();
        } else {
            self.error = 0;
        }
        self.window = None;
    }

    fn pi(&mut self, error: i128) -> i128 {
        // Sixteenths; toward zero, as the header.
        let twice = (error - self.error) * i128::from(self.c.kp) + error * i128::from(self.c.ki);
        self.error = error;
        i128::from(self.t.unwrap()) + twice / 16
    }

    fn increase(&mut self, x: u64) {
        let (t, w) = (u128::from(self.t.unwrap()), u128::from(self.c.window));
        self.mi_thresh = (t * u128::from(self.c.c_thresh) / 16) as u64;
        self.decreases = 0;
        let mut busy = w.saturating_sub(u128::from(x));
        if !self.c.artifact && self.c.strategy == "pi" {
            busy = busy.max(w / u128::from(self.c.max_increase));
        }
        let grown = (t * w).checked_div(busy).map_or(1 << 40, |g| g.min(1 << 40));
        let to = match self.c.strategy {
            "pi" => self.pi(grown as i128 - t as i128),
            "aiad" | "aimd" => (t + u128::from(MTU * self.c.c_inc / 16)) as i128,
            _ => {
                let to = grown * u128::from(self.c.c_inc) / 16;
                let most = t * u128::from(self.c.max_increase);
                (if self.c.artifact { to } else { to.min(most).max(t + 1) }) as i128
            }
        };
        self.go(to);
    }

    fn decrease(&mut self) {
        let t = self.t.unwrap();
        if matches!(self.c.strategy, "miad" | "aiad") {
            self.decreases += 1;
            if !self.c.artifact && self.c.forget > 0 && self.decreases >= self.c.forget {
                self.mi_thresh /= 2;
            }
        }
        let to = match self.c.strategy {
            "pi" => self.pi(-(i128::from(self.minq) - i128::from(2 * MTU))),
            "aimd" | "mimd" => i128::from(t / 2),
            _ => {
                let fast = self.c.strategy == "miad" && self.c.use_mi_thresh && t > self.mi_thresh;
                let additive = i128::from(MTU * self.c.c_dec / 16);
                match (fast, self.c.artifact) {
                    (true, true) => {
                        i128::from(t) - i128::from(((t - self.mi_thresh) / 2).div_ceil(MTU) * MTU)
                    }
                    (true, false) => (i128::from(t) - additive).min(i128::from((t + self.mi_thresh) / 2)),
                    (false, artifact) => i128::from(t) - additive * if artifact { 2 } else { 1 },
                }
            }
        };
        self.go(to);
    }

    fn go(&mut self, to: i128) {
        let (t, min) = (i128::from(self.t.unwrap()), i128::from(self.floor()));
        let mut to = to;
        if to < t && to <= min {
            to = if self.c.artifact { t } else { t.min(min) };
            if self.c.artifact {
                return;
            }
        }
        let to = to.min(i128::from(self.limit()));
        self.t = Some(to as u64);
        self.initial &= to <= t;
    }

    /// Is EQlen above T?
    fn eqlen_above(&self) -> bool {
        let all: Vec<u128> = self.samples.iter().map(|&s| u128::from(s)).collect();
        let (n, sum) = (all.len() as u128, all.iter().sum::<u128>());
        let kept: Vec<u128> = match self.c.eqlen {
            "off" => return true,
            "mean" => all,
            _ => {
                // Whole bytes throughout.
                let mean = sum / n;
                let tolerance = if self.c.artifact { 0 } else { u128::from(self.c.tolerance) };
                let most = mean + mean * tolerance / 16;
                all.into_iter().filter(|&s| s <= most).collect()
            }
        };
        let (n, sum, t) = (kept.len() as u128, kept.iter().sum::<u128>(), u128::from(self.t.unwrap()));
        if self.c.artifact { (2 * sum + n) / (2 * n) > t } else { sum > t * n }
    }

    fn enqueue(&mut self, now: u64, queue: u64, packets: u32, bytes: u64, ect: bool) -> (Action, Reason) {
        self.advance(now, queue);
        let limit = self.limit();
        if self.t.is_none() {
            self.t = Some(if self.c.threshold > 0 { self.c.threshold.min(limit) } else { limit });
        }
        let over = (self.c.limit_bytes > 0 && queue + bytes > self.c.limit_bytes)
            || (self.c.limit_packets > 0 && packets >= self.c.limit_packets);
        let above = if self.c.artifact {
            queue + bytes.saturating_sub(20) > self.t.unwrap()
        } else {
            queue > 0 && queue + bytes > self.t.unwrap()
        };
        let verdict = if over {
            (Action::Drop, Reason::Limit)
        } else if above && self.eqlen_above() {
            (if ect && self.c.ecn { Action::Mark } else { Action::Drop }, Reason::Threshold)
        } else {
            (Action::Pass, Reason::None)
        };
        if verdict.0 != Action::Drop
            && let Some(since) = self.zero_since.take()
            && let Some((start, ..)) = self.window
        {
            self.x += now - since.max(start);
        }
        if verdict.0 != Action::Pass && self.window.is_none() {
            self.window = Some((now, now + self.c.window, 1));
            self.x = 0;
            self.minq = queue;
            self.left = false;
        }
        verdict
    }

    fn dequeue(&mut self, now: u64, before: u64, after: u64) {
        self.advance(now, before);
        // Once, what looks like a busy link is one that stood still.
        if let Some(&(last, _)) = self.busy.last()
            && self.initial
            && !self.stalled
            && now - last >= self.c.initial_delay
        {
            self.busy.clear();
            self.stalled = true;
        }
        if self.initial
            && let Some(&(since, _)) = self.busy.first()
            && now - since >= self.c.initial_delay
        {
            let sent = self.busy.iter().map(|&(_, bytes)| bytes).sum::<u64>().max(self.floor());
            self.t = Some(self.t.unwrap().min(sent));
            self.initial = false;
        }
        self.busy.push((now, before - after));
        self.left = true;
        self.minq = self.minq.min(after);
        if self.c.artifact && after == 0 {
            self.zero_since.get_or_insert(now);
        }
    }

    fn idle(&mut self, now: u64) {
        self.advance(now, 0);
        self.busy.clear();
        self.stalled = false;
        if !self.c.artifact {
            self.zero_since.get_or_insert(now);
        }
    }
}

/// What happens at the host.
#[derive(Debug, Clone)]
enum Op {
    /// So many packets of this size, one every `gap` ns.
    Arrive { n: u32, bytes: u64, gap: u64, ect: bool },
    /// The link takes so many, one every `gap` ns; it goes idle when there is none.
    Depart { n: u32, gap: u64 },
    /// As fast in as out.
    Pass { n: u32, gap: u64 },
    /// Nothing; and then, if `poll`, an idle link is polled again and again.
    Wait { ns: u64, poll: bool },
}

fn op() -> impl Strategy<Value = Op> {
    let gap = prop_oneof![Just(0u64), 0..20_000u64, 0..2_000_000u64];
    prop_oneof![
        4 => (1..60u32, prop_oneof![Just(1500u64), 40..1500u64, Just(9000u64)], gap.clone(), any::<bool>())
            .prop_map(|(n, bytes, gap, ect)| Op::Arrive { n, bytes, gap, ect }),
        3 => (1..60u32, gap.clone()).prop_map(|(n, gap)| Op::Depart { n, gap }),
        3 => (1..60u32, gap).prop_map(|(n, gap)| Op::Pass { n, gap }),
        1 => (0..200_000_000u64, any::<bool>()).prop_map(|(ns, poll)| Op::Wait { ns, poll }),
    ]
}

fn config() -> impl Strategy<Value = Config> {
    let rule = (
        any::<bool>(),
        prop_oneof![
            4 => Just("miad"), 1 => Just("aiad"), 1 => Just("aimd"), 1 => Just("mimd"), 1 => Just("pi")
        ],
        prop::bool::weighted(0.8),
        prop::sample::select(vec!["off", "mean", "filtered", "filtered"]),
    );
    let times = (1_000_000..30_000_000u64, 50_000..3_000_000u64, 1..40u64);
    let sizes = (
        prop_oneof![Just(0), 1_500..60_000u64],
        prop_oneof![Just(0), 1..60_000u64],
        prop_oneof![Just(0u64), 1..10_000u64],
        (1..20u64, 0..6u64, prop_oneof![Just(0u64), 1_000_000..100_000_000u64]),
        prop_oneof![Just((0u64, 0u32)), (3_000..100_000u64, Just(0)), (3_000..100_000u64, 1..60u32)],
    );
    let gains = (any::<bool>(), 0..40u64, 0..40u64, 0..100u64, 0..40u64, 0..40u64, 0..40u64);
    (rule, times, sizes, gains).prop_map(|(rule, times, sizes, gains)| Config {
        artifact: rule.0,
        strategy: rule.1,
        use_mi_thresh: rule.2,
        eqlen: rule.3,
        window: times.0,
        sample_interval: times.1,
        samples: times.2,
        threshold: sizes.0,
        mi_thresh: sizes.1,
        min_threshold: sizes.2,
        max_increase: sizes.3.0,
        forget: sizes.3.1,
        initial_delay: sizes.3.2,
        limit_bytes: sizes.4.0,
        limit_packets: sizes.4.1,
        ecn: gains.0,
        c_inc: gains.1,
        c_dec: gains.2,
        c_thresh: gains.3,
        tolerance: gains.4,
        kp: gains.5,
        ki: gains.6,
    })
}

fn host(c: &Config) -> Host {
    let mut spec = Spec::new(find("titrate").unwrap());
    let mut set = |name, value| spec.set(name, value).unwrap();
    set("rules", Value::Choice(if c.artifact { "artifact" } else { "paper" }));
    set("strategy", Value::Choice(c.strategy));
    set("use_mi_thresh", Value::Flag(c.use_mi_thresh));
    set("eqlen", Value::Choice(c.eqlen));
    set("window", Value::Int(c.window));
    set("sample_interval", Value::Int(c.sample_interval));
    set("samples", Value::Int(c.samples));
    set("threshold", Value::Int(c.threshold));
    set("mi_thresh", Value::Int(c.mi_thresh));
    set("min_threshold", Value::Int(c.min_threshold));
    set("max_increase", Value::Int(c.max_increase));
    set("forget", Value::Int(c.forget));
    set("initial_delay", Value::Int(c.initial_delay));
    set("mtu", Value::Int(MTU));
    set("ecn", Value::Flag(c.ecn));
    for (name, sixteenths) in [
        ("c_inc", c.c_inc),
        ("c_dec", c.c_dec),
        ("c_thresh", c.c_thresh),
        ("tolerance", c.tolerance),
        ("kp", c.kp),
        ("ki", c.ki),
    ] {
        set(name, Value::Real(sixteenths as f64 / 16.0));
    }
    let mut host = Host::with(c.limit_bytes, &spec);
    host.queue.limit_packets = c.limit_packets;
    host
}

/// Both side by side.
struct Pair<'a> {
    host: Host,
    model: Model<'a>,
}

impl Pair<'_> {
    fn arrive(&mut self, bytes: u64, ect: bool) {
        let q = self.host.queue;
        let expected = self.model.enqueue(self.host.now, q.bytes, q.packets, bytes, ect);
        let verdict = self.host.arrive_as(bytes, if ect { 2 } else { 0 });
        assert_eq!((verdict.action, verdict.reason), expected, "at {} ns", self.host.now);
        self.compare();
    }

    fn depart(&mut self) {
        let before = self.host.queue.bytes;
        self.host.depart();
        match before {
            0 => self.model.idle(self.host.now),
            _ => self.model.dequeue(self.host.now, before, self.host.queue.bytes),
        }
        self.compare();
    }

    fn compare(&self) {
        let m = &self.model;
        let mut expected = vec![
            ("threshold_bytes", m.t.unwrap_or(0)),
            ("mi_thresh_bytes", m.mi_thresh),
            ("interval", m.window.map_or(0, |w| u64::from(w.2))),
        ];
        if m.window.is_some() {
            expected.push(("min_queue_bytes", m.minq));
            expected.push(("zero_queue", m.x / 1_000_000));
        }
        if m.c.eqlen != "off" {
            expected
                .push(("mean_queue_bytes", m.samples.iter().sum::<u64>() / (m.samples.len() as u64).max(1)));
        }
        for (name, value) in expected {
            assert_eq!(self.host.probe(name), value, "{name} at {} ns", self.host.now);
        }
    }

    fn run(&mut self, op: &Op) {
        match *op {
            Op::Arrive { n, bytes, gap, ect } => {
                for _ in 0..n {
                    self.host.wait(gap);
                    self.arrive(bytes, ect);
                }
            }
            Op::Depart { n, gap } => {
                for _ in 0..n {
                    self.host.wait(gap);
                    self.depart();
                }
            }
            Op::Pass { n, gap } => {
                for _ in 0..n {
                    self.host.wait(gap);
                    self.arrive(1500, false);
                    self.depart();
                }
            }
            Op::Wait { ns, poll } => {
                if poll && self.host.queue.bytes == 0 {
                    for _ in 0..10 {
                        self.host.wait(ns / 10);
                        self.depart();
                    }
                } else {
                    self.host.wait(ns);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// The header, which catches up lazily and keeps running sums, against the model,
    /// which fires every timer: any state, any order of events.
    #[test]
    fn agrees_with_the_model(c in config(), ops in prop::collection::vec(op(), 1..60)) {
        let mut pair = Pair {
            host: host(&c),
            model: Model {
                c: &c,
                t: None,
                mi_thresh: c.mi_thresh,
                window: None,
                x: 0,
                // Nothing waits at first.
                zero_since: (!c.artifact).then_some(0),
                minq: 0,
                left: false,
                samples: VecDeque::new(),
                next_sample: 0,
                error: 0,
                decreases: 0,
                initial: !c.artifact && c.threshold == 0 && c.initial_delay > 0,
                busy: Vec::new(),
                stalled: false,
            },
        };
        for op in &ops {
            pair.run(op);
        }
    }

    /// EQlen against T with lengths of a few bytes, where each rounding shows.
    #[test]
    fn eqlen_is_exact(
        artifact: bool,
        filtered: bool,
        tolerance in 0u64..32,
        threshold in 1u64..12,
        samples in 1u64..7,
        lengths in prop::collection::vec(1u64..24, 1..40),
    ) {
        let set = [
            ("rules", Value::Choice(if artifact { "artifact" } else { "paper" })),
            ("eqlen", Value::Choice(if filtered { "filtered" } else { "mean" })),
            ("tolerance", Value::Real(tolerance as f64 / 16.0)),
            ("threshold", Value::Int(threshold)),
            ("samples", Value::Int(samples)),
        ];
        let mut h = Host::new(1_000_000, &set);
        for (i, &length) in lengths.iter().enumerate() {
            let window = &lengths[(i + 1).saturating_sub(samples as usize)..=i];
            let mean = |kept: &[u64]| kept.iter().sum::<u64>() as f64 / kept.len() as f64;
            let most = match (filtered, artifact) {
                (false, _) => 1e9,
                (true, true) => mean(window),
                // The mean and the tolerance are whole bytes.
                (true, false) => mean(window).floor() + (mean(window).floor() * tolerance as f64 / 16.0).floor(),
            };
            let kept: Vec<u64> = window.iter().copied().filter(|&s| s as f64 <= most).collect();
            let eqlen = if artifact { mean(&kept).round() } else { mean(&kept) };
            h.queue.bytes = length;
            h.queue.packets = 1;
            let dropped = h.arrive().action == Action::Drop;
            prop_assert_eq!(dropped, eqlen > threshold as f64, "{:?}", window);
            h.wait(500_000);
        }
    }

    /// M = w / (w - x), the division of the header against exact arithmetic, over all
    /// sizes and windows.
    #[test]
    fn the_increase_is_exact(t in 1u64..(1 << 40), w in 1_000_000..=4 * SEC, share in 0.0..1.0f64) {
        let x = ((w as f64 * share) as u64).clamp(1, w - 1);
        let set = [
            ("threshold", Value::Int(t)),
            ("window", Value::Int(w)),
            ("max_increase", Value::Int(1 << 20)),
        ];
        let mut h = Host::new(3_000, &set);
        h.queue.limit_bytes = 0;
        h.arrive();
        h.depart();
        h.depart();
        h.queue.limit_bytes = 1; // whatever arrives is dropped: the trigger
        h.arrive();
        h.queue.limit_bytes = 0;
        h.wait(x).arrive();
        h.wait(w - x).arrive();
        let busy = (w - x).max(w / (1 << 20));
        let expected = u128::from(t) * u128::from(w) / u128::from(busy);
        prop_assert_eq!(u128::from(h.threshold()), expected.max(u128::from(t) + 1).min(1 << 40));
    }
}
