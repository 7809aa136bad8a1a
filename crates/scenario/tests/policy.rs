//! Policy files: the example that is shipped, what is refused, what results say of them.

use queuewright_aqm::{Action, Discipline, Packet, Queue, Spec, Value, Weights, find};
use queuewright_scenario::policy::MAX_BYTES;
use queuewright_scenario::{Flags, Policy, Scenario};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// Where a tensor begins, and its columns.
fn tensor(name: &str) -> (usize, usize) {
    let mut at = 0;
    for tensor in find("queuepilot").unwrap().network.unwrap().tensors {
        if tensor.name == name {
            return (at, tensor.columns.unwrap_or(1));
        }
        at += tensor.count();
    }
    panic!("no tensor {name}");
}

/// Weights set by hand that act as the scripted policy does with its defaults: 10 % while the mean queue
/// is above a fifth of the buffer, else nothing. Four units a layer carry one number, each layer making
/// its step at the threshold steeper; gates are held open or shut, so that nothing is remembered.
fn threshold() -> Policy {
    const USED: usize = 4;
    const MOST: i16 = i16::MAX; // just below 8
    let network = find("queuepilot").unwrap().network.unwrap();
    let mut weights = vec![0i16; network.tensors.iter().map(|t| t.count()).sum()];
    let mut set = |name: &str, row: usize, column: usize, weight: i16| {
        let (at, columns) = tensor(name);
        weights[at + row * columns + column] = weight;
    };
    for unit in 0..USED {
        set("gate_bias", unit, 0, MOST); // the input gate is open
        set("gate_bias", 32 + unit, 0, -MOST); // the cell forgets
        set("gate_bias", 3 * 32 + unit, 0, MOST); // the output gate is open
        // tanh(8 (queue / buffer - 0.2))
        set("input", 2 * 32 + unit, 1, MOST);
        set("gate_bias", 2 * 32 + unit, 0, -6554);
        for from in 0..USED {
            set("first", unit, from, MOST);
            set("second", unit, from, MOST);
        }
        set("last", 0, unit, -MOST);
        set("last", 3, unit, MOST);
    }
    // Actions that are never taken.
    for action in [1, 2, 4, 5] {
        set("last_bias", action, 0, -MOST);
    }
    Policy {
        discipline: "queuepilot",
        name: "threshold".into(),
        description: Some(
            "Not learned: set by hand to act as the scripted policy does, marking 10 % while the mean queue is \
             above a fifth of the buffer"
                .into(),
        ),
        actions: "marking",
        weights: weights.into(),
    }
}

/// `UPDATE_EXAMPLES=1` writes it.
#[test]
fn the_example_is_the_policy_made_here() {
    let path = examples().join("threshold-policy.json");
    let policy = threshold();
    if std::env::var_os("UPDATE_EXAMPLES").is_some() {
        fs::write(&path, policy.to_json()).unwrap();
    }
    let kept = fs::read(&path).unwrap_or_default();
    assert!(
        kept == policy.to_json().as_bytes(),
        "examples/threshold-policy.json is stale: run UPDATE_EXAMPLES=1 cargo test -p queuewright-scenario"
    );
    assert!(kept.len() < 30_000, "{} bytes", kept.len());
    assert_eq!(Policy::parse(&kept, "threshold-policy.json").unwrap(), policy);
}

/// Random numbers (SplitMix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }
}

/// The example's weights and the scripted policy choose the same, step by step, for the same packets: loads
/// that come and go over two minutes, the threshold crossed hundreds of times.
#[test]
fn the_example_acts_as_the_scripted_policy() {
    let scripted = Spec::new(find("queuepilot").unwrap());
    let mut learned = scripted.clone();
    learned.set_weights(Weights { values: threshold().weights, id: "threshold".into() }).unwrap();
    let mut pair = [Discipline::new(&scripted), Discipline::new(&learned)];
    let mut queue = Queue { limit_packets: 200, ..Queue::default() };
    let mut dice = Dice(1);
    let (mut load, mut changes, mut differ, mut last) = (50, 0, 0, 0.0);
    const STEPS: u64 = 24_000;
    for step in 0..STEPS {
        if dice.roll().is_multiple_of(40) {
            load = 20 + dice.roll() % 60;
        }
        // 50 departures a step.
        for i in 0..load.max(50) {
            let now = step * 5_000_000 + i * 5_000_000 / 81;
            let packet = Packet { enqueue_ns: now, bytes: 1500, ecn: 2, ..Packet::default() };
            let random = dice.roll() as u32;
            if i < load {
                let verdicts = pair.each_mut().map(|d| d.enqueue(now, &queue, &packet, random).action);
                if verdicts[0] != Action::Drop {
                    queue.packets += 1;
                }
            }
            if i < 50 && queue.packets > 0 {
                queue.packets -= 1;
                for discipline in &mut pair {
                    discipline.dequeue(now, &queue, &packet);
                }
            }
        }
        let [a, b] = pair.each_ref().map(|d| d.probe(0));
        changes += u64::from(a != last);
        differ += u64::from(a != b);
        last = a;
    }
    assert!(changes > 200, "{changes}");
    // Within 1/32768 of the threshold they may.
    assert!(differ * 1000 < STEPS, "{differ} of {STEPS} steps differ");
}

/// Any weights are written and read back as the same.
#[test]
fn policies_round_trip() {
    let mut dice = Dice(7);
    for _ in 0..20 {
        let weights = threshold().weights.iter().map(|_| dice.roll() as i16).collect();
        let policy = Policy { weights, description: None, ..threshold() };
        assert_eq!(Policy::parse(policy.to_json().as_bytes(), "p.json").unwrap(), policy);
    }
}

/// (a piece of the example, what stands there instead)
const MISTAKES: &[(&str, &str)] = &[
    ("\"version\": 1", "\"version\": 2"),
    ("\"version\": 1", "\"version\": \"1\""),
    ("\"format\": \"queuewright-policy\"", "\"format\": \"onnx\""),
    ("  \"format\": \"queuewright-policy\",\n", ""),
    ("\"queuepilot\"", "\"queuepilott\""),
    ("\"queuepilot\"", "\"codel\""),
    ("  \"name\": \"threshold\",\n", ""),
    ("\"threshold\"", "\"\""),
    ("\"threshold\"", "7"),
    ("\"units\":32", "\"units\":64"),
    ("\"units\":32,", ""),
    ("[0,1,5,10,50,100]", "[0,1,5,10,50]"),
    ("[0,1,5,10,50,100]", "[0,2,6,11,51,100]"),
    ("\"weight_one\": 4096", "\"weight_one\": 256"),
    ("\"weight_one\"", "\"weight_scale\""),
    ("\"activation_one\": 32768", "\"activation_one\": 1.0"),
    ("\"queue_of_buffer\"", "\"queue\""),
    ("\"gates\"", "\"gates\": [], \"gates\""),
    ("\"tensors\": {", "\"tensors\": 3, \"rest\": {"),
    ("\"gate_bias\"", "\"gate_bais\""),
    ("\"gate_bias\"", "\"bias\": [], \"gate_bias\""),
    ("\"first_bias\": [0", "\"first_bias\": [0,0"),
    ("\"first_bias\": [0", "\"first_bias\": [[0]"),
    ("\"second_bias\": [0,", "\"second_bias\": ["),
    ("\"input\": [\n[0,0,0,0,0,0,0,0,0,0,0,0,0],", "\"input\": ["),
    ("\"input\": [\n[0,", "\"input\": [\n["),
    ("\"input\": [\n[0,", "\"input\": [\n[40000,"),
    ("\"input\": [\n[0,", "\"input\": [\n[-32769,"),
    ("\"input\": [\n[0,", "\"input\": [\n[0.5,"),
    ("\"input\": [\n[0,", "\"input\": [\n[1e999,"),
    ("\"input\": [\n[0,", "\"input\": [\n[NaN,"),
    ("\"input\": [\n[0,", "\"input\": [\n[-Infinity,"),
    ("\"input\": [\n[0,", "\"input\": [\n[null,"),
    ("\"input\": [\n[0,", "\"input\": [\n[\"0\","),
    ("\"input\": [\n[0,", "\"input\": [\n[[[[[[[]]]]]],"),
    ("  }\n}\n", "  }\n"),
    ("  }\n}\n", "  }\n} {}\n"),
];

#[test]
fn mistakes_in_policies() {
    let good = threshold().to_json();
    let mut table = String::new();
    for (piece, bad) in MISTAKES {
        assert_eq!(good.matches(piece).count(), 1, "{piece:?} must be there once");
        let error = Policy::parse(good.replace(piece, bad).as_bytes(), "policy.json");
        let message = error.map_or_else(|e| e.to_string(), |_| panic!("{bad:?} was taken"));
        assert!(!message.contains('\n'), "{message}");
        writeln!(table, "{}\n    {message}", bad.replace('\n', " | ")).unwrap();
    }
    for (name, bytes) in
        [("empty", &b""[..]), ("latin-1", b"{\n\"a\": \"\xe9\"}"), ("list", b"[]"), ("bare", b"7")]
    {
        let error = Policy::parse(bytes, "policy.json").unwrap_err();
        writeln!(table, "({name})\n    {error}").unwrap();
    }
    insta::assert_snapshot!(table);
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("queuewright-policy-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("policies")).unwrap();
    fs::write(folder.join("policies/a.json"), threshold().to_json()).unwrap();
    let other = Policy { name: "other".into(), ..threshold() };
    fs::write(folder.join("policies/b.json"), other.to_json()).unwrap();
    folder
}

fn scenario(disciplines: &str) -> String {
    format!(
        "[link]\nrate = \"10mbit\"\n[[flows]]\ncca = \"dctcp\"\nrtt = \"20ms\"\n[queue]\ndisciplines = \
         [{disciplines}]\n[run]\nduration = \"5s\"\n"
    )
}

/// Paths start from the file's folder; results know the policy by its hash, and a copy stands alone.
#[test]
fn scenarios_read_policies_and_take_them_along() {
    let folder = folder("scenario");
    let text = scenario(
        "\"queuepilot\", { name = \"queuepilot\", weights = \"policies/a.json\" }, \
         { name = \"queuepilot\", weights = \"policies/b.json\", sample = false }, \
         { name = \"queuepilot\", weights = \"none\", step = \"6ms\" }",
    );
    let read = |text: &str| Scenario::parse(text, "s.toml", &folder).unwrap();
    let first = read(&text);
    let runs = first.runs().unwrap();
    let labels: Vec<_> = runs.iter().map(|r| r.discipline.label.as_str()).collect();
    assert_eq!(labels[..2], ["queuepilot", "queuepilot weights=policies/a.json"]);
    assert_eq!(runs[0].discipline.weights(), None);
    assert_eq!(runs[1].discipline.weights().unwrap().values, threshold().weights);
    let shown = |i: usize| runs[i].discipline.shown().find(|(p, _)| p.name == "weights").unwrap().1;
    assert_eq!((shown(0), shown(3)), ("none".into(), "none".into()));
    assert!(shown(1).starts_with("sha256:") && shown(1).len() == 7 + 64 && shown(1) != shown(2));
    let json = first.to_json().to_string();
    assert!(json.contains(&format!("\"weights_sha256\":\"{}\"", &shown(1)[7..])), "{json}");

    let alone = folder.join("alone");
    fs::create_dir(&alone).unwrap();
    first.save(&alone).unwrap();
    let mut kept: Vec<_> = fs::read_dir(&alone).unwrap().map(|f| f.unwrap().file_name()).collect();
    kept.sort();
    assert_eq!(kept, ["policy-2.json", "policy.json", "scenario.toml"]);
    let again = Scenario::read(&alone.join("scenario.toml")).unwrap();
    assert_eq!(first.hash(), again.hash());
    assert_eq!(format!("{runs:?}"), format!("{:?}", again.runs().unwrap()));
    // Another policy by the same name is another scenario.
    fs::copy(folder.join("policies/b.json"), folder.join("policies/a.json")).unwrap();
    assert_ne!(first.hash(), read(&text).hash());

    // On the command line a path starts from the current folder.
    let flags = Flags {
        rate: Some("10mbit".into()),
        rtt: Some("20ms".into()),
        flows: Some("2xdctcp".into()),
        aqm: Some(format!("queuepilot:weights={}:sample=false", folder.join("policies/b.json").display())),
        ..Flags::default()
    };
    assert!(Scenario::from_flags(&flags).unwrap().runs().unwrap()[0].discipline.weights().is_some());
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn mistakes_in_what_a_scenario_says_of_policies() {
    let folder = folder("mistakes");
    fs::write(folder.join("broken.json"), &threshold().to_json()[..3000]).unwrap();
    fs::write(folder.join("huge.json"), " ".repeat(MAX_BYTES as usize + 1)).unwrap();
    let mut table = String::new();
    for bad in [
        "weights = \"none/such.json\"",
        "weights = \"policies\"",
        "weights = \"\"",
        "weights = 7",
        "weights = \"broken.json\"",
        "weights = \"huge.json\"",
        "wieghts = \"policies/a.json\"",
    ] {
        let text = scenario(&format!("{{ name = \"queuepilot\", {bad} }}"));
        let error = Scenario::parse(&text, "s.toml", &folder).unwrap_err();
        writeln!(table, "{bad}\n    {error}").unwrap();
    }
    insta::assert_snapshot!(table);
    fs::remove_dir_all(&folder).unwrap();
}

fn with_queue(queue: &str) -> Scenario {
    let text = format!(
        "[link]\nrate = \"20mbit\"\nbuffer = \"40p\"\n[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\n\
         [queue]\ndisciplines = [{queue}]\n[run]\nduration = \"10s\"\n"
    );
    Scenario::parse(&text, "s.toml", &examples()).unwrap()
}

/// A policy goes by its name where the program brings it, and says itself what its actions are.
#[test]
fn policies_that_are_brought_need_no_file() {
    for (name, actions) in [("queuepilot", "marking"), ("acc", "red"), ("queuepilot-dropping", "dropping")] {
        let policy = Policy::open(name).unwrap();
        assert_eq!((policy.name.as_str(), policy.actions), (name, actions));
        let scenario = with_queue(&format!("{{ name = \"queuepilot\", weights = \"{name}\" }}"));
        let run = scenario.runs().unwrap().remove(0);
        assert_eq!(run.discipline.get("actions"), Some(Value::Choice(actions)));
        assert_eq!(run.discipline.weights().unwrap().values, policy.weights);
        // A results' folder names it, and has no copy.
        let (alone, copies) = scenario.standing_alone();
        assert!(copies.is_empty(), "{copies:?}");
        assert!(alone.to_toml().contains(&format!("weights = \"{name}\"")), "{}", alone.to_toml());
    }
    let other = with_queue("{ name = \"queuepilot\", weights = \"acc\", actions = \"threshold\" }");
    let error = other.runs().unwrap_err().to_string();
    assert!(error.ends_with("it is threshold, but its policy was made for red: leave it out"), "{error}");
    let none = Policy::open("queuepilto").unwrap_err().to_string();
    assert_eq!(none, "queuepilto: no such file");
}

#[test]
fn a_policy_is_made_of_what_its_discipline_has() {
    let weights = threshold().weights;
    let made = Policy::new("queuepilot", "mine", "red", None, weights.clone()).unwrap();
    assert_eq!(Policy::parse(made.to_json().as_bytes(), "mine").unwrap(), made);
    for (discipline, actions, count, text) in [
        ("codel", "red", 12_550, "discipline: not a discipline with a learned policy"),
        (
            "queuepilot",
            "rde",
            12_550,
            "actions = rde: not a kind of action; did you mean \"red\"? Allowed: marking, threshold, red, dropping",
        ),
        ("queuepilot", "red", 12, "weights: 12 of them; queuepilot has 12550"),
    ] {
        let error = Policy::new(discipline, "mine", actions, None, weights[..count].into()).unwrap_err();
        assert_eq!(error.to_string(), text);
    }
}

/// A policy counts by its own port's link, unless the file says otherwise: a capacity of one's own, `auto`, or other lengths.
#[test]
fn it_counts_by_the_link() {
    let text = "[[ports]]\nname = \"slow\"\nrate = \"20mbit\"\n[[ports]]\nname = \"fast\"\nrate = \"1gbit\"\n\
                [[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\nports = [\"slow\", \"fast\"]\n[queue]\ndisciplines = [\"queuepilot\", \
                { name = \"queuepilot\", label = \"auto\", rate = \"auto\" }, { name = \"queuepilot\", label = \"told\", rate = \"50mbit\" }, \
                { name = \"queuepilot\", label = \"jumbo\", mtu = \"9000b\" }, \"cp-aqm\"]\n[run]\nduration = \"1s\"\nseeds = [1]\n";
    let runs = Scenario::parse(text, "s.toml", Path::new("")).unwrap().runs().unwrap();
    let of = |run: usize, port: usize| {
        let spec = &runs[run].ports[port].discipline;
        ["rate", "mtu", "wire_overhead"].map(|name| spec.get(name))
    };
    let link = |rate, mtu, overhead| [rate, mtu, overhead].map(|n| Some(Value::Int(n)));
    assert_eq!(of(0, 0), link(20_000_000, 1514, 0));
    assert_eq!(of(0, 1), link(1_000_000_000, 1514, 0));
    for port in [0, 1] {
        assert_eq!(of(1, port), link(0, 1514, 24));
        assert_eq!(of(2, port), link(50_000_000, 1514, 24));
        assert_eq!(of(3, port), link([20_000_000, 1_000_000_000][port], 9000, 24));
        // CP-AQM measures it, as its paper does.
        let cp = &runs[4].ports[port].discipline;
        assert_eq!(cp.get("rate"), cp.info.param("rate").map(|p| p.default));
    }
    // A rate that changes is none.
    let text = "[link]\nschedule = [[\"0s\", \"20mbit\"], [\"1s\", \"9mbit\"]]\n[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\n\
                [queue]\ndisciplines = [\"queuepilot\"]\n[run]\nduration = \"3s\"\nwarmup = \"1s\"\nseeds = [1]\n";
    let runs = Scenario::parse(text, "s.toml", Path::new("")).unwrap().runs().unwrap();
    assert_eq!(runs[0].ports[0].discipline.get("rate"), Some(Value::Int(0)));
}
