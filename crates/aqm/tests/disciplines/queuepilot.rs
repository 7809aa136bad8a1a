//! QueuePilot against a second statement of it, in floating point: observations, average, reward,
//! network and marks, from the text of the paper and of what its authors' program does.

use crate::host::{Dice, Host, spec};
use queuewright_aqm::{Action, Discipline, Pool, REASONS, Spec, Value, Weights, find};

const MS: u64 = 1_000_000;
const UNITS: usize = 32;
const WIDTH: usize = 64;
const COUNT: usize = 128 * 13 + 128 * 32 + 128 + 64 * 32 + 64 + 64 * 64 + 64 + 6 * 64 + 6;
const PROBABILITIES: [f64; 6] = [0.0, 0.01, 0.05, 0.1, 0.5, 1.0];

fn weights(seed: u64, size: i64) -> Weights {
    let mut dice = Dice(seed);
    let values = (0..COUNT).map(|_| ((dice.roll() >> 40) as i64 % (2 * size + 1) - size) as i16).collect();
    Weights { values, id: format!("seed {seed}") }
}

/// `y = W x` and the rest of the weights.
fn product<'a>(w: &'a [f64], rows: usize, x: &[f64]) -> (Vec<f64>, &'a [f64]) {
    let y = (0..rows).map(|r| w[r * x.len()..][..x.len()].iter().zip(x).map(|(a, b)| a * b).sum()).collect();
    (y, &w[rows * x.len()..])
}

/// The policy in floating point.
struct Net {
    weights: Vec<f64>,
    hidden: Vec<f64>,
    cell: Vec<f64>,
}

impl Net {
    fn logits(&mut self, input: &[f64]) -> Vec<f64> {
        let (from_input, w) = product(&self.weights, 4 * UNITS, input);
        let (from_hidden, w) = product(w, 4 * UNITS, &self.hidden);
        let (bias, w) = w.split_at(4 * UNITS);
        let gate: Vec<f64> = (0..4 * UNITS).map(|i| from_input[i] + from_hidden[i] + bias[i]).collect();
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        for i in 0..UNITS {
            self.cell[i] =
                sigmoid(gate[UNITS + i]) * self.cell[i] + sigmoid(gate[i]) * gate[2 * UNITS + i].tanh();
            self.hidden[i] = sigmoid(gate[3 * UNITS + i]) * self.cell[i].tanh();
        }
        let layer = |w: &[f64], rows: usize, x: &[f64]| -> (Vec<f64>, usize) {
            let (y, rest) = product(w, rows, x);
            (y.iter().zip(rest).map(|(y, b)| y + b).collect(), w.len() - rest.len() + rows)
        };
        let (a, used) = layer(w, WIDTH, &self.hidden);
        let w = &w[used..];
        let a: Vec<f64> = a.iter().map(|x| x.tanh()).collect();
        let (b, used) = layer(w, WIDTH, &a);
        let w = &w[used..];
        let b: Vec<f64> = b.iter().map(|x| x.tanh()).collect();
        layer(w, 6, &b).0
    }
}

/// What the authors' program counts in a step.
#[derive(Default)]
struct Step {
    arrived: f64,
    sent: f64,
    dropped: f64,
    marked: f64,
}

struct Model {
    step: Step,
    average: u64,
    action: usize,
    reward: f64,
}

impl Model {
    /// Observations, the action in force, and the reward: section III as the program has it. 1 Gbit/s, so that
    /// a step is 406 packets.
    fn input(&mut self, buffer: f64) -> Vec<f64> {
        let (s, c, queue) = (std::mem::take(&mut self.step), 406.0, self.average as f64 / 512.0);
        let marked = if s.arrived > 0.0 { s.marked / s.arrived } else { f64::from(s.marked > 0.0) };
        let seen = [s.sent / c, queue / buffer, queue / c, s.arrived / c, s.dropped / c, marked];
        let top = [1.0, 1.0, 30.0, 3.0, 1.0, 1.0];
        let seen: Vec<f64> = seen.iter().zip(top).map(|(x, t)| x.min(t)).collect();
        self.reward = if s.dropped > 0.0 { -1.0 } else { seen[0] * seen[0] / (1.0 + seen[2]).sqrt() };
        let mut input = seen;
        input.extend((0..6).map(|a| if a == self.action { 1.0 } else { 0.0 }));
        input.push(self.reward);
        input
    }

    fn event(&mut self, queue: u32) {
        self.average = self.average + u64::from(queue) - self.average / 512;
    }
}

/// Random loads, step by step: the reward is the model's, and the action is the one that it finds best wherever
/// the best is ahead of the next by more than rounding.
#[test]
fn network_and_observations_are_those_of_floating_point() {
    let mut clear = 0;
    // Recurrent weights much above 1 make a network chaotic, where any rounding grows.
    for (seed, size) in [(1, 1000), (2, 2000), (3, 3000), (4, 4000)] {
        let w = weights(seed, size);
        let set = [("rate", Value::Int(1_000_000_000)), ("sample", Value::Flag(false))];
        let mut spec = spec("queuepilot", &set);
        spec.set_weights(w.clone()).unwrap();
        let mut net = Net {
            weights: w.values.iter().map(|&x| f64::from(x) / 4096.0).collect(),
            hidden: vec![0.0; UNITS],
            cell: vec![0.0; UNITS],
        };
        let mut model = Model { step: Step::default(), average: 0, action: 0, reward: 0.0 };
        let mut first = vec![0.0; 13];
        first[6] = 1.0;
        let mut logits = net.logits(&first);
        let mut host = Host::new(&spec, 300, 0);
        let mut dice = Dice(seed);
        for step in 0..300u64 {
            let mut order: Vec<usize> = (0..6).collect();
            order.sort_by(|&a, &b| logits[b].total_cmp(&logits[a]));
            let found = PROBABILITIES.iter().position(|&p| p == host.discipline.probe(0)).unwrap();
            if logits[order[0]] - logits[order[1]] > 0.01 {
                assert_eq!(found, order[0], "step {step} seed {seed}: {logits:?}");
                clear += 1;
            }
            model.action = found;
            let load = dice.roll() % 600;
            for i in 0..load {
                let now = step * 5 * MS + i * 5 * MS / (load + 1);
                // What a full buffer drops may have been marked first, which no host sees: not here.
                let ecn = if host.queue.packets < 300 { (dice.roll() % 3) as u32 } else { 0 };
                let v = host.arrive(now, 1514, 0, ecn);
                model.step.arrived += 1.0;
                model.step.dropped += f64::from(v.action == Action::Drop);
                model.step.marked += f64::from(v.action == Action::Mark);
                model.event(host.queue.packets);
                if !dice.roll().is_multiple_of(7) && host.queue.packets > 0 {
                    host.transmit(now, |_| {});
                    model.step.sent += 1.0;
                    model.event(host.queue.packets);
                }
            }
            let input = model.input(300.0);
            // The call that finds the step over.
            host.discipline.idle((step + 1) * 5 * MS);
            assert!((host.discipline.probe(1) - model.average as f64 / 512.0).abs() < 1e-9);
            assert!((host.discipline.probe(2) - 1.0 - model.reward).abs() < 1e-4, "step {step}");
            logits = net.logits(&input);
        }
    }
    assert!(clear > 300, "{clear}");
}

/// An agent beside a host without weights does to it what the weights would do in the host: the same actions and the
/// same verdicts, also after pauses, which the host makes up for when a packet comes.
#[test]
fn an_agent_beside_a_passive_host_does_as_the_policy_inside_it() {
    let rate = ("rate", Value::Int(1_000_000_000));
    let mut changes = 0;
    for seed in 1..5 {
        let mut learned = spec("queuepilot", &[rate, ("sample", Value::Flag(false))]);
        learned.set_weights(weights(seed, 1000 * seed as i64)).unwrap();
        let passive = spec("queuepilot", &[rate, ("threshold", Value::Real(0.0)), ("action", Value::Int(0))]);
        let (mut inside, mut beside) = (Host::new(&learned, 300, 0), Host::new(&passive, 300, 0));
        let mut agent = Discipline::new(&learned);
        let tell = |host: &mut Host, agent: &mut Discipline| {
            let action = u64::from(agent.act(u32::MAX));
            host.discipline.set("action", Value::Int(action)).unwrap();
        };
        // Of an empty queue the scripted policy has none but the first.
        beside.arrive(0, 1514, 0, 0);
        inside.arrive(0, 1514, 0, 0);
        tell(&mut beside, &mut agent);
        let (mut dice, mut pause) = (Dice(seed), 0);
        for step in 0..600u64 {
            if pause > 0 {
                pause -= 1;
            } else {
                if dice.roll().is_multiple_of(20) {
                    pause = dice.roll() % 40;
                }
                let load = 1 + dice.roll() % 600;
                for i in 0..load {
                    let now = step * 5 * MS + 1 + i * 5 * MS / (load + 1);
                    let (ecn, sends) = ((dice.roll() % 3) as u32, !dice.roll().is_multiple_of(7));
                    let verdicts = [&mut inside, &mut beside].map(|host| host.arrive(now, 1514, 0, ecn));
                    assert_eq!(verdicts[0], verdicts[1], "seed {seed}, step {step}");
                    for host in
                        [&mut inside, &mut beside].into_iter().filter(|h| sends && h.queue.packets > 0)
                    {
                        host.transmit(now, |_| {});
                    }
                }
            }
            let now = (step + 1) * 5 * MS;
            // The host's timer may come before the agent, after it, or rest.
            let early = dice.roll().is_multiple_of(2) && pause == 0;
            if early {
                beside.discipline.idle(now);
            }
            let before = agent.act(u32::MAX);
            let (seen, next) = agent.follow(&beside.discipline.state_bytes(), now).unwrap();
            assert_eq!(next, now + 5 * MS);
            tell(&mut beside, &mut agent);
            if pause == 0 {
                // Those of the policy inside are up to date then.
                inside.discipline.idle(now);
                assert_eq!(
                    inside.discipline.probe(0),
                    beside.discipline.probe(0),
                    "seed {seed}, step {step}"
                );
                let reward = f64::from(seen[12]) / 32768.0;
                assert!((inside.discipline.probe(2) - 1.0 - reward).abs() < 1e-4, "seed {seed}, step {step}");
            }
            changes += u32::from(agent.act(u32::MAX) != before);
        }
    }
    assert!(changes > 100, "{changes}");
    let mut other = Discipline::new(&spec("codel", &[]));
    assert_eq!(other.follow(&other.state_bytes(), 0), None);
    let mut agent = Discipline::new(&spec("queuepilot", &[]));
    assert_eq!(agent.follow(&[0; 7], 0), None);
}

/// 2 % of marks with p = 1 %, as the authors' program draws; 1 % without its slip.
#[test]
fn actions_mark_one_per_cent_more() {
    for (off_by_one, more) in [(true, 0.01), (false, 0.0)] {
        for (action, p) in PROBABILITIES.iter().enumerate() {
            let set = [
                ("threshold", Value::Real(0.0)),
                ("action", Value::Int(action as u64)),
                ("off_by_one", Value::Flag(off_by_one)),
            ];
            let mut host = Host::new(&spec("queuepilot", &set), 100, 0);
            // A step with a packet, so that the mean queue is above 0.
            host.arrive(0, 1514, 0, 0);
            let (mut marked, n) = (0, 40_000u64);
            for i in 0..n {
                host.transmit(5 * MS + i * 1000, |_| {});
                marked += u64::from(host.arrive(5 * MS + i * 1000, 1514, 0, 2).action == Action::Mark);
            }
            let want = if *p == 0.0 { 0.0 } else { (p + more).min(1.0) };
            let got = marked as f64 / n as f64;
            assert!((got - want).abs() < 0.005, "{action}: {got}, not {want}");
        }
    }
}

/// In place of a probability: a threshold, 1/32 of the buffer, 1/16 and so on to all of it, or a curve as RED's, from 20, 40
/// and so on kB to three times that. Here with a queue held at each length.
#[test]
fn actions_may_be_thresholds_or_curves() {
    type Want = fn(u32, f64) -> f64;
    let threshold: Want = |action, queue| f64::from(u8::from(queue >= 640.0 / f64::from(32 >> action)));
    let red: Want = |action, queue| {
        let min = 20_000.0 * f64::from(1 << action) / 1000.0;
        if queue >= 3.0 * min { 1.0 } else { (0.1 * (queue - min) / (2.0 * min)).max(0.0) }
    };
    for (kind, want) in [("threshold", threshold), ("red", red)] {
        for action in 0..6 {
            for queue in [0, 19, 21, 50, 79, 81, 159, 239, 321, 630] {
                let set = [
                    ("threshold", Value::Real(0.0)),
                    ("action", Value::Int(action)),
                    ("actions", Value::Choice(kind)),
                ];
                let mut host = Host::new(&spec("queuepilot", &set), 640, 0);
                for _ in 0..queue {
                    host.arrive(0, 1000, 0, 0);
                }
                // The action is the scripted policy's, after a step in which something waited.
                host.arrive(4 * MS, 1000, 0, 0);
                host.transmit(4 * MS, |_| {});
                let (mut marked, n) = (0, 4000u64);
                for i in 0..n {
                    let now = 5 * MS + i * 1000;
                    marked += u64::from(host.arrive(now, 1000, 0, 2).action == Action::Mark);
                    host.transmit(now, |_| {});
                }
                let (got, want) = (marked as f64 / n as f64, want(action as u32, f64::from(queue)));
                assert!((got - want).abs() < 0.02, "{kind} {action} {queue}: {got}, not {want}");
            }
        }
    }
}

/// The last of the thresholds marks nothing, however many small packets a buffer of bytes takes.
#[test]
fn all_of_the_buffer_is_no_threshold() {
    let set =
        [("threshold", Value::Real(0.0)), ("action", Value::Int(5)), ("actions", Value::Choice("threshold"))];
    for bytes in [64, 1500, 1514] {
        let mut host = Host::new(&spec("queuepilot", &set), 0, 141 * 1514);
        for _ in 0..5_000 {
            host.arrive(0, bytes, 0, 2);
        }
        host.discipline.idle(5 * MS);
        assert_eq!(host.marks, [0; REASONS]);
        assert_eq!(host.discipline.probe(2), 0.0, "a drop is worth -1");
    }
}

/// Without a policy nothing is marked while next to nothing waits, whatever the buffer: one of a few packets, of bytes, the
/// even part of a shared one, or one without end.
#[test]
fn the_scripted_policy_leaves_light_traffic_alone() {
    let pool = Pool { limit_bytes: 300_000, ports: 2, ..Pool::default() };
    let own = Pool::default();
    for (packets, bytes, pool) in
        [(1, 0, own), (4, 0, own), (5, 0, own), (100, 0, own), (0, 1500, own), (0, 0, pool), (0, 0, own)]
    {
        let mut host = Host::new(&spec("queuepilot", &[]), packets, bytes);
        host.queue.pool = pool;
        for i in 0..20_000 {
            if i % 2 == 0 || i < 10_000 {
                host.arrive(i * MS, 1500, 0, 2);
            }
            if i % 2 == 1 || i > 5_000 {
                host.transmit(i * MS, |_| {});
            }
            if i == 18_000 {
                host.marks = [0; REASONS];
            }
        }
        assert_eq!(host.marks, [0; REASONS], "{packets} packets, {bytes} bytes, {pool:?}");
    }
}

/// Nor where an action is a threshold or one of RED's curves: below its share it takes what marks least.
#[test]
fn the_scripted_policy_marks_no_more_below_its_share_than_above() {
    for (actions, action, most) in [("threshold", 3, 0), ("threshold", 5, 0), ("red", 3, 0)] {
        let set = [
            ("threshold", Value::Real(0.9)),
            ("action", Value::Int(action)),
            ("actions", Value::Choice(actions)),
        ];
        let mut host = Host::new(&spec("queuepilot", &set), 200, 0);
        // A queue of 100 of 200: half of the buffer, 150 kB.
        for i in 0..20_000 {
            while host.queue.packets < 100 {
                host.arrive(i * 100_000, 1500, 0, 2);
            }
            host.transmit(i * 100_000, |_| {});
        }
        let marks: u64 = host.marks.iter().sum();
        assert_eq!(marks, most, "{actions}, action {action}");
    }
}

/// Counts are normalised by what the link sends in a step, which on a slow one is no whole number of packets: half a load reads
/// as half, a full link as full, to 2 %.
#[test]
fn the_load_of_a_slow_link_reads_as_it_is() {
    for bits in
        [2_500_000u64, 5_000_000, 7_300_000, 12_200_000, 14_700_000, 24_500_000, 77_000_000, 1_000_000_000]
    {
        let set = [("rate", Value::Int(bits)), ("sample", Value::Flag(false))];
        let mut spec = spec("queuepilot", &set);
        spec.set_weights(weights(1, 1000)).unwrap();
        for share in [50, 100] {
            let mut host = Host::new(&spec, 0, 0);
            // 1538 bytes with what a frame has beyond its length.
            let gap = 1538 * 8_000_000_000 * 100 / share / bits;
            let (mut reward, mut steps) = (0.0, 0);
            for i in 0..2_000_000_000 / gap {
                host.arrive(i * gap, 1514, 0, 0);
                host.transmit(i * gap, |_| {});
                while (steps + 1) * 5 * MS <= (i + 1) * gap {
                    steps += 1;
                    host.discipline.idle(steps * 5 * MS);
                    reward += (host.discipline.probe(2) - 1.0).sqrt();
                }
            }
            let load = reward / steps as f64;
            let want = share as f64 / 100.0;
            assert!((load - want).abs() < 0.1 && load < want + 0.02, "{bits} bit/s at {share} %: {load}");
        }
    }
}

/// Also where the link sends less than a packet a second: 9038 bytes at 64 kbit/s, in steps of a second.
#[test]
fn the_load_of_a_link_below_a_packet_a_second_reads_as_it_is() {
    let set = [
        ("rate", Value::Int(64_000)),
        ("mtu", Value::Int(9014)),
        ("step", Value::Int(1000 * MS)),
        ("sample", Value::Flag(false)),
    ];
    let mut spec = spec("queuepilot", &set);
    spec.set_weights(weights(1, 1000)).unwrap();
    let mut host = Host::new(&spec, 0, 0);
    let gap = 9038 * 8_000_000 / 64;
    let (mut reward, mut steps) = (0.0, 0);
    for i in 0..1000 {
        host.arrive(i * gap, 9014, 0, 0);
        host.transmit(i * gap, |_| {});
        while (steps + 1) * 1000 * MS <= (i + 1) * gap {
            steps += 1;
            host.discipline.idle(steps * 1000 * MS);
            reward += host.discipline.probe(2) - 1.0;
        }
    }
    // U is 1 in 885 of 1000 steps, and D about a packet of delay, 1.1 steps.
    let want = 0.885 / (1.0f64 + 1.13).sqrt();
    assert!((reward / steps as f64 - want).abs() < 0.1, "{} for {want}", reward / steps as f64);
}

/// A rate that is not told is measured while the link is busy, and follows it: what was sent once, in whatever packets, does not stay.
#[test]
fn the_load_of_a_link_whose_rate_is_not_told_reads_as_it_is() {
    // The mean of U over the last half of so many steps, of packets of so many bytes that take a share of the link.
    let load = |host: &mut Host, from: u64, bits: u64, bytes: u32, percent: u64, steps: u64| {
        let gap = u64::from(bytes) * 8_000_000_000 * 100 / percent / bits;
        let agent = |host: &Host, now| {
            Discipline::new(&spec("queuepilot", &[])).follow(&host.discipline.state_bytes(), now)
        };
        let (mut seen, mut used, end) = (0, 0.0, from + steps * 5 * MS);
        // A full link has another that waits.
        if percent == 100 {
            host.arrive(from, bytes, 0, 0);
        }
        for now in (from..end).step_by(gap as usize) {
            host.arrive(now, bytes, 0, 0);
            host.transmit(now, |_| {});
            while from + (seen + 1) * 5 * MS <= now + gap {
                seen += 1;
                host.discipline.idle(from + seen * 5 * MS);
                let (input, _) = agent(host, from + seen * 5 * MS).expect("it is a policy's");
                used += if seen > steps / 2 { f64::from(input[0]) / 32768.0 } else { 0.0 };
            }
        }
        while host.queue.packets > 0 {
            host.transmit(end, |_| {});
        }
        (end, used / (seen - steps / 2) as f64)
    };
    let mut host = Host::new(&spec("queuepilot", &[]), 0, 0);
    let mut now = 0;
    for (bits, bytes, percent, want) in [
        (1_000_000_000, 1514, 100, 1.0),
        (1_000_000_000, 1514, 1, 0.01),
        // U is no more than 1: what a full link taught is seen at half of the load.
        (100_000_000, 1514, 100, 1.0),
        (100_000_000, 1514, 50, 0.5),
        (10_000_000, 1514, 100, 1.0),
        (10_000_000, 1514, 50, 0.5),
        (1_000_000_000, 64, 100, 1.0),
        (1_000_000_000, 1514, 50, 0.5),
        (1_000_000_000, 1514, 100, 1.0),
        (1_000_000_000, 1514, 30, 0.3),
    ] {
        let (end, used) = load(&mut host, now, bits, bytes, percent, 200);
        assert!((used - want).abs() < 0.04, "{bits} bit/s, packets of {bytes}, {percent} %: {used}");
        now = end;
    }
}

/// A link that takes several packets at an instant, as a trace does, has sent them when it takes the next: if they leave nothing behind, nobody
/// knows how long they took, and not that they took no time.
#[test]
fn what_is_taken_at_one_instant_takes_until_the_next() {
    let mut host = Host::new(&spec("queuepilot", &[]), 0, 0);
    let mut now = 0;
    // Up to ten packets a millisecond: 121 Mbit/s, 50 in a step.
    for (come, want) in [(5, 0.0), (10, 1.0), (5, 0.5)] {
        // One is left, but where there are too few.
        if come == 10 {
            host.arrive(now, 1514, 0, 0);
        }
        let mut used = 0.0;
        for ms in 0..2000 {
            for _ in 0..come {
                host.arrive(now, 1514, 0, 0);
            }
            for _ in 0..10.min(host.queue.packets) {
                host.transmit(now, |_| {});
            }
            now += MS;
            if (ms + 1) % 5 == 0 {
                host.discipline.idle(now);
                let agent = Discipline::new(&spec("queuepilot", &[]));
                let seen = { agent }.follow(&host.discipline.state_bytes(), now);
                let (input, _) = seen.expect("it is a policy's");
                used += if ms >= 1000 { f64::from(input[0]) / 32768.0 / 200.0 } else { 0.0 };
            }
        }
        assert!((used - want).abs() < 0.04, "{come} packets a millisecond: {used}");
    }
}

/// Its part of a shared buffer is the buffer that a policy sees.
#[test]
fn a_shared_buffer_counts_by_its_even_part() {
    let mut host = Host::new(&spec("queuepilot", &[("threshold", Value::Real(0.5))]), 0, 0);
    host.queue.pool = Pool { limit_bytes: 303_000, ports: 2, ..Pool::default() };
    for step in 0..200 {
        // 49 packets, then 51 of 100.
        let waiting = if step < 100 { 49 } else { 51 };
        for _ in 0..40 {
            while host.queue.packets < waiting {
                host.arrive(step * 5 * MS, 1500, 0, 0);
            }
            host.transmit(step * 5 * MS, |_| {});
        }
        if step == 99 || step == 199 {
            assert_eq!(host.discipline.probe(0) > 0.0, step == 199);
        }
    }
}

/// Where all is dropped, what finds nothing waiting is not, or the average would never learn that the queue is gone.
#[test]
fn dropping_all_does_not_shut_the_link() {
    let set =
        [("threshold", Value::Real(0.0)), ("action", Value::Int(5)), ("actions", Value::Choice("dropping"))];
    let mut host = Host::new(&spec("queuepilot", &set), 34, 0);
    for i in 0..1_000 {
        let now = i * 10 * MS;
        assert_eq!(host.arrive(now, 1500, 0, 0).action, Action::Pass);
        assert_eq!(host.arrive(now, 1500, 0, 0).action, Action::Drop);
        host.transmit(now, |_| {});
    }
}

/// Where it is to drop what cannot be marked, each is dropped as likely as others are marked, and neither is a drop of a
/// full buffer, which would cost the reward.
#[test]
fn dropping_takes_what_cannot_be_marked() {
    let set = [
        ("threshold", Value::Real(0.0)),
        ("action", Value::Int(4)),
        ("actions", Value::Choice("dropping")),
        ("off_by_one", Value::Flag(false)),
        ("rate", Value::Int(1_000_000_000)),
    ];
    for (ecn, want) in [(0, Action::Drop), (1, Action::Mark), (2, Action::Mark), (3, Action::Mark)] {
        let mut host = Host::new(&spec("queuepilot", &set), 100, 0);
        host.arrive(0, 1514, 0, 0);
        let (mut hit, n) = (0, 4000u64);
        for i in 0..n {
            let now = 5 * MS + i * 10_000;
            let v = host.arrive(now, 1514, 0, ecn);
            hit += u64::from(v.action == want);
            assert!(v.action == want || v.action == Action::Pass, "{ecn}: {v:?}");
            host.transmit(now, |_| {});
        }
        assert!((hit as f64 / n as f64 - 0.5).abs() < 0.04, "{ecn}: {hit} of {n}");
        host.discipline.idle(n * 10_000 + 10 * MS);
        assert!(host.discipline.probe(2) >= 1.0, "the reward is {}", host.discipline.probe(2) - 1.0);
    }
}

/// Section III-C: full use at a delay of one step is worth 1 / sqrt(2); a drop costs all.
#[test]
fn reward_of_a_full_link_with_a_delay_of_one_step() {
    let set = [("rate", Value::Int(1_000_000_000)), ("action", Value::Int(0))];
    let mut host = Host::new(&spec("queuepilot", &set), 407, 0);
    for _ in 0..407 {
        host.arrive(0, 1514, 0, 0);
    }
    for i in 0..4060u64 {
        let now = MS + i * 5 * MS / 406;
        host.transmit(now, |_| {});
        host.arrive(now, 1514, 0, 0);
    }
    let reward = host.discipline.probe(2) - 1.0;
    assert!((reward - 0.5f64.sqrt()).abs() < 0.002, "{reward}");
    assert_eq!(host.arrive(60 * MS, 1514, 0, 0).action, Action::Drop);
    host.discipline.idle(70 * MS);
    // The step of the drop, then one in which nothing was sent.
    host.arrive(71 * MS, 1514, 0, 0);
    host.discipline.idle(75 * MS);
    assert_eq!(host.discipline.probe(2), 0.0);
}

#[test]
fn weights_of_another_size_are_refused() {
    let mut pilot = Spec::new(find("queuepilot").unwrap());
    let error = pilot.set_weights(Weights { values: [0i16; 10].into(), id: "short".into() }).unwrap_err();
    assert_eq!(error.to_string(), format!("the policy of `queuepilot` has {COUNT} weights, not 10"));
    let mut codel = Spec::new(find("codel").unwrap());
    let error = codel.set_weights(weights(1, 1000)).unwrap_err();
    assert_eq!(error.to_string(), "`codel` has no learned policy");
}
