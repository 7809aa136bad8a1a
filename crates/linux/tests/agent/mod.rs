//! An agent in user space beside an attached QueuePilot, with TCP flows that heed ECN on `lo`: the learned policy, then programs good and bad.

use queuewright_aqm::{Spec, Value, Weights, find};
use queuewright_linux as linux;
use queuewright_scenario::Policy;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

fn spec(name: &str) -> Spec {
    Spec::new(find(name).expect("in the registry"))
}

fn learned() -> Spec {
    let policy = Policy::open("queuepilot").expect("the program has it");
    let mut learned = spec("queuepilot");
    learned
        .set_weights(Weights { values: policy.weights, id: "queuepilot".into() })
        .expect("as many as it has");
    learned
}

fn ip(words: &str) {
    let done = Command::new("/usr/sbin/ip").args(words.split_whitespace()).output().expect("ip runs");
    assert!(done.status.success(), "ip {words}: {}", String::from_utf8_lossy(&done.stderr));
}

fn attach(name: &str, spec: Spec, port: linux::Port) {
    let plan = linux::plan("lo", name, spec, port).unwrap_or_else(|e| panic!("{e}"));
    linux::attach(&plan).unwrap_or_else(|e| panic!("{e}"));
}

fn record() -> linux::Record {
    linux::record("lo").expect("attached")
}

fn marks() -> u64 {
    linux::status(&record()).unwrap_or_else(|e| panic!("{e}")).stats.marks.iter().sum()
}

/// In force, per cent.
fn marking() -> u32 {
    let status = linux::status(&record()).unwrap_or_else(|e| panic!("{e}"));
    let found = status.variables.iter().find(|(name, ..)| name == "mark_probability");
    (found.expect("it has that").2 * 100.0).round() as u32
}

/// What the qdisc has as parameters.
fn params() -> Vec<u8> {
    let mut pins = fs::read_dir("/sys/fs/bpf/queuewright").expect("made by attach").flatten();
    let map = pins.next().expect("of lo").path().join("params");
    let map = libbpf_rs::MapHandle::from_pinned_path(map).expect("it is pinned");
    libbpf_rs::MapCore::lookup(&map, &[0; 4], libbpf_rs::MapFlags::ANY)
        .expect("root may")
        .expect("it has one")
}

fn program(script: &str) -> linux::Chooser<'static> {
    let mut command = Command::new("bash");
    command.args(["-c", script]).env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    linux::Chooser::Program(command)
}

/// An agent until `meanwhile` is over.
fn fly(chooser: linux::Chooser<'_>, meanwhile: impl FnOnce()) -> Result<linux::Done, linux::Error> {
    fly_on(chooser, meanwhile, Duration::ZERO)
}

/// An agent that ends by itself, at least soon after `meanwhile`, and what it says then.
fn falls(chooser: linux::Chooser<'_>, meanwhile: impl FnOnce(), what: &str) {
    refused(fly_on(chooser, meanwhile, Duration::from_secs(10)), what);
}

fn fly_on(
    chooser: linux::Chooser<'_>,
    meanwhile: impl FnOnce(),
    patience: Duration,
) -> Result<linux::Done, linux::Error> {
    let stop = AtomicBool::new(false);
    thread::scope(|s| {
        let agent = s.spawn(|| linux::agent(&record(), &spec("queuepilot"), chooser, &stop));
        meanwhile();
        let until = Instant::now() + patience;
        while !agent.is_finished() && Instant::now() < until {
            sleep(Duration::from_millis(5));
        }
        stop.store(true, Ordering::Relaxed);
        agent.join().expect("no panic")
    })
}

/// Waits for it, 10 s at most.
fn comes(what: &str, is: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is() {
        assert!(begun.elapsed() < Duration::from_secs(10), "{what}");
        sleep(Duration::from_millis(2));
    }
}

fn refused(done: Result<linux::Done, linux::Error>, what: &str) {
    let Err(linux::Error::Input(said) | linux::Error::System(said)) = done else {
        panic!("{what:?} was to be said, not {done:?}")
    };
    assert!(said.contains(what), "{said}");
}

pub fn flies(port: linux::Port) {
    fs::write("/proc/sys/net/ipv4/tcp_ecn", "1").expect("root may");
    ip("link set lo mtu 1500 gso_max_segs 1");
    let stop = AtomicBool::new(false);
    thread::scope(|s| {
        for _ in 0..4 {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
            let mut to = TcpStream::connect(listener.local_addr().expect("an address")).expect("it listens");
            let (mut from, _) = listener.accept().expect("a flow");
            s.spawn(move || while from.read(&mut [0; 4096]).is_ok_and(|n| n > 0) {});
            let stop = &stop;
            s.spawn(move || while !stop.load(Ordering::Relaxed) && to.write_all(&[0; 4096]).is_ok() {});
        }
        chooses(port);
        fails(port);
        stop.store(true, Ordering::Relaxed);
    });
    ip("link set lo mtu 65536 gso_max_segs 65535");
}

/// The learned policy, then a program: what they choose is in force, and marks come of it.
fn chooses(port: linux::Port) {
    attach("queuepilot", spec("queuepilot"), port);
    let attached = params();
    let learned = learned();
    let mut seen = [0u32; 101];
    let before = marks();
    let done = fly(linux::Chooser::Policy(&learned), || {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(3) {
            seen[marking() as usize] += 1;
            sleep(Duration::from_millis(1));
        }
        refused(fly(linux::Chooser::Policy(&learned), || ()), "lo has an agent already");
        // A rate beside it is no matter.
        linux::set(&record(), &spec("queuepilot"), "queuepilot", false, |p| p.rate *= 2)
            .unwrap_or_else(|e| panic!("{e}"));
        sleep(Duration::from_millis(200));
    });
    let done = done.unwrap_or_else(|e| panic!("{e}"));
    let kinds: Vec<usize> = (0..101).filter(|percent| seen[*percent] > 0).collect();
    println!(
        "machine: an agent of queuepilot made {} steps in {:.1} s, {} missed; {:.1} us from a step's end to its action, {:.1} us of a processor; {kinds:?} % marked, {} marks",
        done.steps,
        done.lasted.as_secs_f64(),
        done.missed,
        done.delay.as_secs_f64() * 1e6 / done.steps as f64,
        done.processor.as_secs_f64() * 1e6 / done.steps as f64,
        marks() - before
    );
    let steps = done.lasted.as_nanos() as u64 / 5_000_000;
    assert_eq!((done.steps + done.missed, params() == attached), (steps, true));
    assert!(done.steps > 100 && kinds.len() > 2 && marks() > before, "{seen:?}");

    let lines = tempfile::NamedTempFile::new().expect("a file");
    let script = format!("while read -r line; do echo \"$line\" >>{}; echo 4; done", lines.path().display());
    let done = fly(program(&script), || comes("half of all marked", || marking() == 50));
    done.unwrap_or_else(|e| panic!("{e}"));
    assert!(params() == attached);
    let told = fs::read_to_string(lines.path()).expect("the program's file");
    assert!(
        told.starts_with(
            "{\"step\":0,\"observation\":[0.0,0.0,0.0,0.0,0.0,0.0],\"action\":0,\"reward\":0.0}\n{\"step\":"
        ),
        "{told}"
    );
    linux::detach("lo").unwrap_or_else(|e| panic!("{e}"));
}

/// Whatever goes wrong, the scripted policy holds again.
fn fails(port: linux::Port) {
    attach("queuepilot", spec("queuepilot"), port);
    let attached = params();
    for (script, what) in [
        ("read l; echo 3; read l; echo hello; read l", " with \"hello\"; allowed: a line with 0 to 5"),
        ("read l; echo 3; read l; echo 6; read l", "with \"6\"; allowed"),
        ("read l; echo 3; read l; exit 7", "has ended (exit status: 7) without an answer to step"),
        ("exit 0", "has ended (exit status: 0)"),
        ("read l; echo 3; read l; sleep 9", "has not answered step"),
        ("read l; cat <<<$'3\\n3'; read l; sleep 9", "has answered more than once before step"),
        ("read l; echo 3; read l; printf '%0999d' 7; sleep 9", "bytes and no line"),
    ] {
        falls(program(script), || (), what);
        assert!(params() == attached, "{script}");
    }
    let mut nobody = Command::new("/nowhere/agent");
    nobody.arg("x");
    falls(linux::Chooser::Program(nobody), || (), "the agent \"/nowhere/agent\" does not begin");

    let mut other = spec("queuepilot");
    other.set("action", Value::Int(5)).expect("it has that");
    let set = || {
        comes("an action", || marking() == 50);
        linux::set(&record(), &other, "queuepilot:action=5", false, |_| ()).unwrap_or_else(|e| panic!("{e}"));
    };
    falls(program("while read -r l; do echo 4; done"), set, "were set anew, and hold now");
    assert!(params() == queuewright_aqm::Discipline::new(&other).params_bytes());

    let replace = || {
        comes("an action", || marking() == 50);
        linux::detach("lo").unwrap_or_else(|e| panic!("{e}"));
        attach("queuepilot", learned(), port);
    };
    falls(program("while read -r l; do echo 4; done"), replace, "is no longer there");
    let stop = AtomicBool::new(false);
    let refuses = |spec: &Spec, what: &str| {
        refused(linux::agent(&record(), spec, program("exit"), &stop), what);
        linux::detach("lo").unwrap_or_else(|e| panic!("{e}"));
    };
    refuses(&learned(), "which chooses for itself with its weights");
    attach("codel", spec("codel"), port);
    refuses(
        &spec("codel"),
        "lo has codel, and an agent chooses the actions of queuepilot: queuewright detach lo, then",
    );
}
