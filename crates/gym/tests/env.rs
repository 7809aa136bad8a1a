//! Environments: what is seen and earned, and that it follows from seeds.

use queuewright_aqm::Value;
use queuewright_gym::{
    Env, Envs, Error, OBSERVATIONS, POLICY_INPUTS, Paper, Tasks, Transition, play, small_buffer_packets,
};
use queuewright_scenario::{Flags, Scenario};
use queuewright_sim::Stepper;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn small() -> Arc<Tasks> {
    let rtt = ["20ms", "40ms"].map(String::from).into();
    let (rate, udp, episode) = ("20mbit".into(), Some(vec!["1mbit".into()]), "2s".into());
    let paper = Paper { rate, rtt, flows: vec![6], udp, episode, ..Paper::default() };
    Arc::new(paper.tasks().expect("the paper's, smaller"))
}

fn scenario(aqm: &str) -> Scenario {
    let flags = Flags {
        rate: Some("20mbit".into()),
        rtt: Some("30ms".into()),
        flows: Some("3xcubic:ecn=true,3xnewreno:ecn=true,1xcbr:1mbit".into()),
        buffer: Some("40p".into()),
        aqm: Some(aqm.into()),
        duration: Some("3s".into()),
        warmup: Some("0s".into()),
        ..Flags::default()
    };
    Scenario::from_flags(&flags).expect("a scenario")
}

#[test]
fn the_papers_buffers() {
    // spec: ceil(81,274 * RTT / sqrt(N)), RTT and N of the paper's figures.
    let of = |rtt_ms: u64, flows| small_buffer_packets(1_000_000_000, rtt_ms * 1_000_000, flows, 1.0);
    assert_eq!([of(30, 300), of(40, 250), of(40, 200), of(20, 300), of(30, 1)], [141, 206, 230, 94, 2439]);
    assert_eq!([20, 40, 60, 80, 100].map(|rtt| of(rtt, 100)), [163, 326, 488, 651, 813]);
}

#[test]
fn rewards_are_the_papers_and_observations_in_bounds() {
    let mut env = Env::new(small(), 7);
    let network = queuewright_aqm::find("queuepilot").and_then(|info| info.network).expect("it learns");
    let (mut drops, mut marks) = (0, 0);
    for episode in 0..4 {
        env.reset(None).expect("it begins");
        for i in 0..400 {
            let action = (i / 40 + episode) % 6;
            let Transition { inputs, reward, last } = env.step(action).expect("a step");
            assert_eq!(last, i == 399);
            let o = &inputs[..OBSERVATIONS];
            let within =
                o.iter().zip(network.observations).all(|(x, (_, most))| (0.0..=*most as f32).contains(x));
            assert!(within, "{o:?}");
            // Section III-D: -1 for a drop, else U^2 / sqrt(1 + D).
            let want = if o[4] > 0.0 { -1.0 } else { o[0] * o[0] / (1.0 + o[2]).sqrt() };
            assert!((reward - want).abs() < 1e-4, "{reward} {want} {o:?}");
            let chosen: Vec<f32> = (0..6).map(|a| f32::from(u8::from(a == action))).collect();
            assert_eq!(inputs[OBSERVATIONS..POLICY_INPUTS - 1], chosen[..]);
            assert_eq!(inputs[POLICY_INPUTS - 1], reward);
            assert!(action > 0 || o[5] == 0.0, "marked by nobody: {o:?}");
            drops += u32::from(o[4] > 0.0);
            marks += u32::from(o[5] > 0.5);
        }
        assert_eq!(env.step(0), Err(Error::Over));
    }
    assert!(drops > 10 && marks > 10, "{drops} {marks}");
}

#[test]
fn a_run_in_steps_is_the_run() {
    let spec = scenario("queuepilot:rate=20mbit").runs().expect("runs").remove(0);
    let whole = queuewright_sim::run(&spec, &AtomicBool::new(false), &|_| ()).expect("it runs");
    let mut steps = Stepper::new(Arc::new(spec)).expect("a port");
    for i in 1..=600 {
        steps.run_before(i * 5_000_000);
        // The scripted policy acts by itself.
        assert!(steps.discipline(0).expect("a port").observe(i * 5_000_000).is_some());
    }
    steps.run_before(3_000_000_001);
    assert_eq!(steps.packets(), whole.ports[0].packets);
}

#[test]
fn the_same_seed_is_the_same_episode_alone_or_in_company() {
    let tasks = small();
    let play = |env: &mut Env| -> Vec<Transition> {
        (0..400).map(|i| env.step([0, 2, 3][i % 3]).expect("a step")).collect()
    };
    let mut alone = Env::new(tasks.clone(), 1);
    alone.reset(Some(42)).expect("it begins");
    let (first, second) = (play(&mut alone), {
        alone.reset(None).expect("it begins");
        play(&mut alone)
    });
    assert_ne!(first, second);
    let mut envs = Envs::new(tasks, 5, 9);
    envs.reset(&[None, None, Some(42)]).expect("they begin");
    let mut out = vec![Transition::default(); 5];
    for i in 0..400 {
        envs.step(&[[0, 2, 3][i % 3]; 5], &mut out).expect("a step");
        assert_eq!(out[2], first[i]);
        assert_eq!(out.iter().filter(|s| s.last).count(), if i == 399 { 5 } else { 0 });
        assert!(i < 100 || out[0] != out[1]);
    }
    // Those that have ended begin another.
    envs.step(&[5; 5], &mut out).expect("a step");
    assert_eq!(out, [Transition::default(); 5]);
    for want in &second {
        let i = second.iter().position(|s| std::ptr::eq(s, want)).unwrap_or(0);
        envs.step(&[[0, 2, 3][i % 3]; 5], &mut out).expect("a step");
        assert_eq!(&out[2], want);
    }
}

/// Full use is full use: with the paper's packets on the wire a link that never rests sends c packets in a step, 406.
#[test]
fn a_busy_link_is_used_in_full_and_no_more() {
    let (flows, udp, rtt) = (vec![100], Some(vec!["10mbit".into()]), vec!["20ms".into()]);
    let paper =
        Paper { flows, udp, rtt, buffer: vec!["1bdp".into()], episode: "1s".into(), ..Paper::default() };
    let tasks = paper.tasks().expect("the paper's");
    let (spec, port, _) = tasks.draw(0, 1).expect("a run");
    assert_eq!(spec.ports[port].discipline.get("mtu"), Some(Value::Int(1538)));
    let mut run = Stepper::new(Arc::new(spec)).expect("a port");
    let mut sent = Vec::new();
    for i in 1..=200 {
        run.run_before(i * 5_000_000);
        let before = run.packets();
        run.discipline(0).expect("a port").observe(i * 5_000_000);
        sent.push(before);
    }
    let steps: Vec<u64> = sent.windows(2).map(|w| w[1] - w[0]).collect();
    let busy = steps[150..].iter().copied().max();
    assert_eq!(busy, Some(407), "{steps:?}");
}

/// A policy that chooses for itself: its episode is that of an environment in which somebody repeats its choices.
#[test]
fn whole_episodes_are_those_of_an_environment() {
    let tasks = small();
    let played = play(&tasks, None, &[(0, 77), (1, 5), (0, 77)]).expect("episodes");
    assert_eq!((&played[0], played[0].actions.len()), (&played[2], 401));
    assert_ne!(played[0], played[1]);
    assert!(played[0].actions.iter().any(|a| *a > 0));
    let (spec, port, step_ns) = tasks.draw(0, 77).expect("a run");
    let mut run = Stepper::new(Arc::new(spec)).expect("a port");
    for (i, (inputs, action)) in played[0].inputs.iter().zip(&played[0].actions).enumerate() {
        let now = i as u64 * step_ns;
        run.run_before(now);
        let policy = run.discipline(port).expect("a port");
        let seen = policy.observe(now).expect("a learned policy").map(|x| x as f32 / 32768.0);
        assert_eq!((&seen, policy.act(u32::from(*action))), (inputs, u32::from(*action)), "step {i}");
    }
    assert_eq!(run.packets(), played[0].packets);
}

#[test]
fn what_cannot_be_is_said() {
    let none = Tasks::new(Vec::new()).expect_err("nothing");
    assert_eq!(none.to_string(), "no scenario: an environment needs one at least");
    let codel = Tasks::new(vec![scenario("codel")]).expect_err("no policy");
    let text = "its discipline is codel, which nobody can drive; write disciplines = [\"queuepilot\"]";
    assert!(codel.to_string().ends_with(text), "{codel}");
    for (paper, text) in [
        (Paper { rtt: Vec::new(), ..Paper::default() }, "rtt = []: one at least is needed"),
        (Paper { rate: "1Gbps".into(), ..Paper::default() }, "rate = \"1Gbps\": "),
        (Paper { buffer: vec!["much".into()], ..Paper::default() }, "--buffer = \"much\": not a size"),
    ] {
        let error = paper.tasks().expect_err(text).to_string();
        assert!(error.starts_with(text), "{error}");
    }
    let none = play(&small(), None, &[(2, 0)]).expect_err("two tasks");
    assert_eq!(none.to_string(), "task 2: not one. Allowed: 0 to 1");
    let mut env = Env::new(small(), 1);
    assert_eq!(env.step(0), Err(Error::Over));
    env.reset(None).expect("it begins");
    assert_eq!(env.step(6).expect_err("six").to_string(), "action = 6: not an action. Allowed: 0 to 5");
    assert!(env.step(5).is_ok());
    let mut envs = Envs::new(small(), 2, 1);
    let mut out = vec![Transition::default(); 2];
    assert!(matches!(envs.step(&[0], &mut out), Err(Error::Task(_))));
    assert_eq!(envs.step(&[0, 9], &mut out), Err(Error::Action(9)));
}
