//! Torture for every header: hosts, links and traffic anywhere in the ranges that `aqm/qw.h` promises to work in, against what must
//! hold whatever the rule is. A scene that breaks a promise is shrunk to the smallest that does. A discipline that is exempt
//! from a promise is named here with its reason, and must break it: an exemption that nothing needs fails.

mod scene;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};
use queuewright_aqm::{Info, Param, ParamKind, Spec, Value, registry};
use scene::{Host, MS, Outcome, SEC, Scene, Shape, scene};

/// Always the same scenes: what fails here fails everywhere.
fn runner(cases: u32, what: &str) -> TestRunner {
    let mut seed = [7u8; 32];
    for (s, b) in seed.iter_mut().zip(what.bytes()) {
        *s ^= b;
    }
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 400, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed))
}

/// Holds a promise against drawn scenes, for each discipline. `exempt`: names and why; these must break it.
fn hold(
    what: &str,
    cases: u32,
    scenes: BoxedStrategy<Scene>,
    exempt: &[(&str, &str)],
    promise: impl Fn(&'static Info, &Scene) -> Result<(), String>,
) {
    let mut broken = Vec::new();
    for info in registry() {
        let why = exempt.iter().find(|(name, _)| *name == info.name);
        let mut runner = runner(cases, &format!("{what} {}", info.name));
        let result = runner.run(&scenes.clone(), |scene| {
            promise(info, &scene).map_err(|e| TestCaseError::fail(format!("{e}\n  {scene:?}")))
        });
        match (result, why) {
            (Err(TestError::Fail(why, _)), None) => broken.push(format!("{}: {why}", info.name)),
            (Err(TestError::Abort(why)), None) => broken.push(format!("{}: {why}", info.name)),
            (Ok(()), Some((name, why))) => broken.push(format!("{name} is exempt ({why}) and needs it not")),
            _ => {}
        }
    }
    for (name, _) in exempt {
        assert!(registry().iter().any(|i| i.name == *name), "{what}: {name} is exempt and not there");
    }
    assert!(broken.is_empty(), "{what}:\n{}", broken.join("\n"));
}

fn default(info: &'static Info) -> Spec {
    Spec::new(info)
}

/// Nothing in the buffer is forgotten, nothing leaves twice, and the link never rests while packets wait: the host asserts
/// these as it goes. What came is sent, dropped or waits, and the buffer's limit holds.
fn conserves(info: &'static Info, scene: &Scene) -> Result<(), String> {
    let mut host = Host::new(&default(info), scene);
    let out = host.run(scene, scene.load, scene.shape, scene.packets);
    let waiting = u64::from(host.q.packets);
    if out.offered != out.sent + out.dropped + waiting {
        return Err(format!(
            "{} came, {} sent, {} dropped, {waiting} wait",
            out.offered, out.sent, out.dropped
        ));
    }
    let limit = u64::from(scene.buffer) * u64::from(scene.largest()) * u64::from(scene.ports);
    // FQ lets eight packets in beside a limit, as Linux does.
    let aside = if info.name == "fq" && !scene.by_bytes { 8 * u64::from(scene.largest()) } else { 0 };
    if out.most > limit + aside {
        return Err(format!("{} bytes waited in a buffer of {limit}", out.most));
    }
    for i in 0..host.c.probes().len() {
        let v = host.c.probe(i);
        if !v.is_finite() || v < 0.0 {
            return Err(format!("{} is {v}", host.c.probes()[i].name));
        }
    }
    Ok(())
}

#[test]
fn packets_are_conserved_and_the_link_never_rests_while_they_wait() {
    hold("conserved", 150, scene(1_500), &[], conserves);
}

/// Room for what the rule needs: 64 packets and more, a constant rate and flows that are alike.
fn roomy(packets: u32) -> BoxedStrategy<Scene> {
    let s = scene(packets).prop_map(|mut s| {
        s.buffer = s.buffer.max(64);
        s.other = 16;
        s.sizes.1 = s.sizes.0;
        if let Shape::Bursts(n) = s.shape {
            s.shape = Shape::Bursts(n.min(8));
        }
        s
    });
    s.boxed()
}

/// At less than half of the link nothing is lost nor marked, as each packet finds the link free.
fn passes_light_traffic(info: &'static Info, scene: &Scene) -> Result<(), String> {
    let scene = Scene { load: scene.load.min(0.5), shape: Shape::Even, ..scene.clone() };
    let out = Host::new(&default(info), &scene).run(&scene, scene.load, scene.shape, scene.packets);
    if out.dropped + out.marked > 0 {
        return Err(format!(
            "{} dropped and {} marked at {:.2} of the rate",
            out.dropped, out.marked, scene.load
        ));
    }
    Ok(())
}

const SCRIPTED: &str = "without a policy it marks a fixed share";
const FAST_LINKS: &str = "its filters of 4 and 16 ms take one packet for more than a slow link's rate";

#[test]
fn light_traffic_passes() {
    hold("light", 100, roomy(3_000), &[], passes_light_traffic);
}

/// Where more comes than the link carries and does not yield, no more is lost than that: after a while the link is busy for nine
/// tenths of the time.
fn fills_the_link(info: &'static Info, scene: &Scene) -> Result<(), String> {
    // Bursts that wait for longer than a target may be lost, and a rate that changes leaves some of the link: both are shared out evenly here.
    let scene = &Scene { shape: Shape::Even, other: 16, ..scene.clone() };
    let mut host = Host::new(&default(info), scene);
    host.run(scene, scene.load, scene.shape, scene.packets / 2);
    let out = host.run(scene, scene.load, scene.shape, scene.packets / 2);
    if out.use_of_link() < 0.9 {
        return Err(format!(
            "{:.3} of the link is used at {:.2} times its rate",
            out.use_of_link(),
            scene.load
        ));
    }
    Ok(())
}

#[test]
fn overload_fills_the_link() {
    let exempt = [
        ("ahab", FAST_LINKS),
        ("cebinae", "its rounds are of 100 ms at the most, less than a packet of a slow link"),
    ];
    hold("fills", 60, slow(), &exempt, fills_the_link);
}

/// After silence of a millisecond to an hour following any overload, even traffic at a third of the rate passes: no packet is
/// dropped or marked for what was long ago. Silence is 100 packets' time and a second at the least.
fn forgets_overload(info: &'static Info, scene: &Scene) -> Result<(), String> {
    let mut host = Host::new(&default(info), scene);
    host.run(scene, scene.load.max(1.5), scene.shape, scene.packets);
    let packet = Scene::time(u64::from(scene.largest()), scene.lowest());
    host.silence((100 * packet).max(SEC) + scene.seed % (3_600 * SEC), scene);
    host.other_flows();
    let out = host.run(&Scene { flows: 1, ..scene.clone() }, 0.3, Shape::Even, 300);
    if out.dropped + out.marked > 0 {
        return Err(format!("{} dropped and {} marked after silence", out.dropped, out.marked));
    }
    Ok(())
}

#[test]
fn silence_is_a_fresh_start_for_light_traffic() {
    let exempt = [
        ("queuepilot", SCRIPTED),
        ("ahab", FAST_LINKS),
        ("sfb", "probabilities move with arrivals alone, as in sch_sfb"),
    ];
    hold("silence", 150, roomy(2_000), &exempt, forgets_overload);
}

/// What the state remembers after an hour of silence makes no difference to what comes then: the same verdicts as those of
/// an instance that is new.
fn is_fresh_after_an_hour(info: &'static Info, scene: &Scene) -> Result<(), String> {
    let verdicts = |old: bool| {
        let mut host = Host::new(&default(info), scene);
        // On the same clock in both: what has ticks by the clock ticks alike.
        let began = host.now;
        if old {
            host.run(scene, scene.load, scene.shape, scene.packets);
            host.silence(0, scene);
        }
        let mut then = began + 48 * 3_600 * SEC;
        while then < host.now + 3_600 * SEC {
            then += 48 * 3_600 * SEC;
        }
        if !old {
            host = Host::new(&default(info), &Scene { origin: then, ..scene.clone() });
        }
        host.silence(0, scene);
        host.now = then;
        host.reseed(scene.seed);
        host.run(scene, scene.load, scene.shape, scene.packets).verdicts
    };
    let (old, new) = (verdicts(true), verdicts(false));
    match old.iter().zip(&new).position(|(a, b)| a != b) {
        Some(i) => Err(format!("decision {i}: {} of the old one, {} of a new one", old[i], new[i])),
        None => Ok(()),
    }
}

#[test]
fn an_hour_of_silence_makes_it_new() {
    let exempt = [
        ("duk", "a level's good interval is for when the level comes again (Algorithm 2)"),
        ("cp-aqm", "it has measured the link"),
        ("titrate", "T is what this link needed"),
        ("queuepilot", SCRIPTED),
        ("ared", "its probability has adapted"),
        ("cobalt", "BLUE's probability rests in silence, as in sch_cake"),
        ("dualpi2", "its ticks are counted from when it was made"),
        ("fq", "a flow keeps its credit, as in sch_fq"),
        ("fq-codel", "a queue keeps its deficit, as in sch_fq_codel"),
        ("santa", "a queue owes what its last packet was longer than its turn"),
        ("chen-sfq", "who was admitted more than the round has come to waits for it (this project's choice)"),
        ("ahab", "T rests in silence, as the authors' does"),
        ("cebinae", "it has measured the link"),
        ("afq", "a flow has had its part of the round that was under way"),
        ("sfb", "probabilities move with arrivals alone, and flows have another hash, as in sch_sfb"),
        ("cake", "BLUE's probability rests in silence, as in sch_cake"),
    ];
    hold("fresh", 80, roomy(1_500), &exempt, is_fresh_after_an_hour);
}

/// A long overload that does not yield, at rates at which it lasts for minutes: the mean wait of its second half.
fn slow() -> BoxedStrategy<Scene> {
    let s = (scene(24_000), 0.0..=1.0f64, 0.0..=1.0f64).prop_map(|(mut s, rate, load)| {
        s.rate = (1e4 * 1e3f64.powf(rate)) as u64;
        s.load = 1.1 * 3f64.powf(load);
        s.sizes.1 = s.sizes.0;
        s.buffer = 10_000;
        s.ports = 1;
        s.ecn = false;
        s.other = s.other.clamp(8, 24);
        // Even small packets last.
        s.rate = s.rate.min(u64::from(s.sizes.0) * 8 * 400).max(10_000);
        s
    });
    s.boxed()
}

/// What the pages promise of such: packets of the largest size at the lowest rate, and ms.
const WAITS: &[(&str, u64, u64)] = &[
    // Qmax: what the link sends in `burst`, or two Tc if that is more; and a packet that comes to it.
    ("cp-aqm", 11, 100),
    ("titrate", 16, 30),
    ("duk", 16, 30),
];

fn waits_as_promised(info: &'static Info, scene: &Scene) -> Result<(), String> {
    let Some(&(_, packets, ms)) = WAITS.iter().find(|(name, ..)| *name == info.name) else { return Ok(()) };
    let shape = if let Shape::Bursts(_) = scene.shape { Shape::Poisson } else { scene.shape };
    let mut host = Host::new(&default(info), scene);
    host.run(scene, scene.load, shape, scene.packets / 2);
    let out = host.run(scene, scene.load, shape, scene.packets / 2);
    // Rules think in full packets.
    let packet = Scene::time(u64::from(scene.largest().max(1514)), scene.lowest());
    let fastest = scene.rate.max(scene.rate * scene.other / 16);
    let most = packets * packet + ms * MS * fastest / scene.lowest();
    if out.mean_wait() > most {
        return Err(format!(
            "{:.1} ms on average, {:.1} packets' time; promised are {packets} packets' and {ms} ms",
            out.mean_wait() as f64 / 1e6,
            out.mean_wait() as f64 / packet as f64
        ));
    }
    Ok(())
}

#[test]
fn traffic_that_does_not_yield_waits_as_the_pages_promise() {
    hold("waits", 60, slow(), &[], waits_as_promised);
}

/// Two to eight flows with a queue each, which all offer more than their share: what they get differs by no more than two packets
/// (deficit round robin: a quantum and a packet; AFQ: a round and a packet), once all of them wait.
fn shares_fairly(info: &'static Info, scene: &Scene) -> Result<(), String> {
    if !["fq", "fq-codel", "sfq", "fq-pie", "afq"].contains(&info.name) {
        return Ok(());
    }
    // A flow has 32 rounds of 2048 bytes: of such packets only one may wait.
    if info.name == "afq" && scene.sizes.0 > 16_384 {
        return Ok(());
    }
    // A queue must not be empty for a moment: on a slow link CoDel drops down to a packet.
    let (flows, rate) = (2 + scene.flows % 7, scene.rate.max(50_000_000));
    let scene = &Scene {
        flows,
        rate,
        load: 3.0,
        shape: Shape::Even,
        other: 16,
        ports: 1,
        buffer: 10_000,
        ecn: false,
        ..scene.clone()
    };
    let mut host = Host::new(&default(info), scene);
    host.run(scene, scene.load, scene.shape, scene.packets / 2);
    let sent = host.run(scene, scene.load, scene.shape, scene.packets / 2).by_flow;
    let (least, most) = (sent.iter().min().unwrap(), sent.iter().max().unwrap());
    // Quanta count bytes: as many packets as they are of, and one.
    let quantum = if info.name == "afq" { 2048u64 } else { 1514 };
    let packets = 1 + 2 * quantum.div_ceil(u64::from(scene.sizes.0));
    if most - least > packets {
        return Err(format!("flows sent {sent:?}"));
    }
    Ok(())
}

#[test]
fn flows_with_a_queue_each_share_fairly() {
    let s = roomy(12_000).prop_map(|s| Scene { sizes: (s.sizes.0.max(300), s.sizes.0.max(300)), ..s });
    hold("shares", 60, s.boxed(), &[], shares_fairly);
}

/// Half of the rate and twice every time: what is decided is the same, but for what is rounded to ticks.
fn scales(info: &'static Info, scene: &Scene) -> Result<(), String> {
    let run = |slow: bool| -> Outcome {
        let mut spec = default(info);
        let mut scene = scene.clone();
        // A rate that can be halved, and a clock from 0.
        scene.origin = 0;
        scene.rate = 8_000_000 << (scene.seed % 6);
        for p in info.params.iter().filter(|_| slow) {
            let v = match (p.kind, p.unit, spec.get(p.name)) {
                (ParamKind::Time, _, Some(Value::Int(v))) => Value::Int(v * 2),
                (ParamKind::Rate, _, Some(Value::Int(v))) => Value::Int(v / 2),
                (_, "1/s", Some(Value::Real(v))) => Value::Real(v / 2.0),
                _ => continue,
            };
            spec.set(p.name, v).unwrap();
        }
        if slow {
            scene.rate /= 2;
            scene.period *= 2;
        }
        let mut host = Host::new(&spec, &scene);
        host.run(&scene, scene.load, scene.shape, scene.packets)
    };
    let (fast, slow) = (run(false), run(true));
    // Rounding decides now and then, and what follows is another draw: four standard deviations of a Poisson count, both ways.
    let (a, b) = ((fast.dropped + fast.marked) as f64, (slow.dropped + slow.marked) as f64);
    if (a - b).abs() > 4.0 * (a + b).sqrt() + 5.0 {
        return Err(format!("{a} drops and marks; {b} at half of the rate and twice every time"));
    }
    Ok(())
}

#[test]
fn half_of_the_rate_in_twice_the_time_is_the_same() {
    let exempt = [
        ("pie", "above 250 ms its probability grows by 0.02 a tick (RFC 8033 section 5.5)"),
        ("ared", "it adapts each half second (Floyd, Gummadi and Shenker 2001)"),
        ("ahab", "its epochs are of 2^20 ns"),
        ("cebinae", "its rounds have bounds in ms"),
    ];
    hold("scale", 60, roomy(4_000), &exempt, scales);
}

/// Other values of a parameter: the ends of its range, and some between.
fn others(p: &Param) -> Vec<Value> {
    match (p.kind, p.min, p.max) {
        (ParamKind::Flag, ..) => vec![Value::Flag(true), Value::Flag(false)],
        (ParamKind::Choice(words), ..) => words.iter().map(|w| Value::Choice(w)).collect(),
        (ParamKind::File, ..) => Vec::new(),
        (_, Value::Int(a), Value::Int(b)) => {
            let Value::Int(d) = p.default else { unreachable!() };
            // What is off by default, 0, is on somewhere between.
            let (less, more) = if d == 0 { (b / 10_000, b / 100) } else { (d / 8, d.saturating_mul(8)) };
            [a, less, more, b, b / 2].map(Value::Int).to_vec()
        }
        (_, Value::Real(a), Value::Real(b)) => {
            let Value::Real(d) = p.default else { unreachable!() };
            vec![Value::Real(a), Value::Real(d / 4.0), Value::Real(d * 4.0), Value::Real(b)]
        }
        _ => unreachable!("bounds are of the parameter's kind"),
    }
}

#[test]
fn every_parameter_has_an_effect_somewhere() {
    let mut dead = Vec::new();
    for info in registry() {
        let mut left: Vec<&Param> = info.params.iter().filter(|p| p.kind != ParamKind::File).collect();
        let mut runner = runner(1, &format!("effect {}", info.name));
        // Some take minutes to say something.
        let scenes = prop_oneof![
            roomy(3_000),
            (slow(), any::<bool>(), 1..40u32).prop_map(|(s, ecn, flows)| Scene {
                ecn,
                flows,
                packets: 12_000,
                ..s
            })
        ];
        for _ in 0..120 {
            if left.is_empty() {
                break;
            }
            let scene = scenes.new_tree(&mut runner).unwrap().current();
            // Everything else as it is, and at another value: some say something only beside these.
            for beside in 0..2u64 {
                let spec = |set: Option<(&str, Value)>| -> Option<Spec> {
                    let mut spec = default(info);
                    if beside > 0 {
                        for (i, p) in info.params.iter().enumerate() {
                            let all = others(p);
                            let pick = scene.seed.rotate_left(i as u32 * 7) as usize;
                            if !all.is_empty() && pick.is_multiple_of(3) {
                                let _ = spec.set(p.name, all[pick / 3 % all.len()]);
                            }
                        }
                    }
                    if let Some((name, value)) = set {
                        spec.set(name, value).ok()?;
                    }
                    Some(spec)
                };
                let verdicts =
                    |spec: &Spec| Host::new(spec, &scene).run(&scene, scene.load, scene.shape, scene.packets);
                let base = verdicts(&spec(None).unwrap());
                left.retain(|p| {
                    !others(p).iter().any(|&v| {
                        spec(Some((p.name, v))).is_some_and(|spec| {
                            let out = verdicts(&spec);
                            out.verdicts != base.verdicts
                                || out.by_flow != base.by_flow
                                || out.waits != base.waits
                        })
                    })
                });
            }
        }
        dead.extend(left.iter().map(|p| format!("{}.{}", info.name, p.name)));
    }
    // The first three say something with weights only, which `queuepilot.rs` has; the next after several rounds of 10 s
    // (`santa.rs`); then one where a queue's probability is above it, which `fq_pie.rs` has; what is washed, the host does.
    let elsewhere = [
        "queuepilot.rate",
        "queuepilot.sample",
        "queuepilot.wire_overhead",
        "santa.skip_inactive",
        "santa.hell_loss",
        "fq-pie.ecn_threshold",
        "cake.wash",
    ];
    dead.retain(|p| !elsewhere.contains(&p.as_str()));
    assert_eq!(dead, [""; 0], "parameters that change nothing in any scene");
}
