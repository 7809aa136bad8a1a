//! An agent in user space beside an attached QueuePilot, with TCP flows that heed ECN on `lo`: the learned policy, then programs good and bad.

use queuewright_aqm::{Spec, Value, Weights, find};
use queuewright_linux as linux;
use queuewright_scenario::Policy;
use queuewright_testing::wait_for;
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

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

/// A busy machine may let it wait for long.
fn program(script: &str) -> linux::ActionSource<'static> {
    hasty_program(script, Duration::from_secs(60))
}

fn hasty_program(script: &str, patience: Duration) -> linux::ActionSource<'static> {
    let mut command = Command::new("bash");
    command.args(["-c", script]).env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    linux::ActionSource::Program { command, patience }
}

/// Has the agent end with the test, also with one that fails: its thread is waited for.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// An agent until `meanwhile` is over.
fn drive(agent: linux::ActionSource<'_>, meanwhile: impl FnOnce()) -> Result<linux::Done, linux::Error> {
    let stop = AtomicBool::new(false);
    thread::scope(|s| {
        let stops = Stop(&stop);
        let agent = s.spawn(|| linux::agent(&record(), &spec("queuepilot"), agent, &stop));
        meanwhile();
        drop(stops);
        agent.join().expect("no panic")
    })
}

/// An agent that ends by itself, at least after `meanwhile`, and what it says then.
fn falls(agent: linux::ActionSource<'_>, meanwhile: impl FnOnce(), what: &str) {
    let stop = AtomicBool::new(false);
    let done = thread::scope(|s| {
        let _stops = Stop(&stop);
        let agent = s.spawn(|| linux::agent(&record(), &spec("queuepilot"), agent, &stop));
        meanwhile();
        wait_for(&format!("the agent's end: {what}"), || agent.is_finished());
        agent.join().expect("no panic")
    });
    refused(done, what);
}

fn refused(done: Result<linux::Done, linux::Error>, what: &str) {
    let Err(linux::Error::Input(said) | linux::Error::System(said)) = done else {
        panic!("{what:?} was to be said, not {done:?}")
    };
    assert!(said.contains(what), "{said}");
}

/// TCP flows through `lo` that never end, but with this.
struct Flows {
    sockets: Vec<TcpStream>,
    threads: Vec<JoinHandle<()>>,
}

impl Flows {
    fn begin(count: usize) -> Self {
        let mut flows = Flows { sockets: Vec::new(), threads: Vec::new() };
        for _ in 0..count {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
            let mut to = TcpStream::connect(listener.local_addr().expect("an address")).expect("it listens");
            let (mut from, _) = listener.accept().expect("a flow");
            flows.sockets.extend([&to, &from].map(|s| s.try_clone().expect("a socket")));
            flows
                .threads
                .push(thread::spawn(move || while from.read(&mut [0; 4096]).is_ok_and(|n| n > 0) {}));
            flows.threads.push(thread::spawn(move || while to.write_all(&[0; 4096]).is_ok() {}));
        }
        flows
    }
}

impl Drop for Flows {
    fn drop(&mut self) {
        for socket in &self.sockets {
            let _ = socket.shutdown(Shutdown::Both);
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

pub fn flies(port: linux::Port) {
    fs::write("/proc/sys/net/ipv4/tcp_ecn", "1").expect("root may");
    ip("link set lo mtu 1500 gso_max_segs 1");
    let flows = Flows::begin(4);
    chooses(port);
    fails(port);
    drop(flows);
    ip("link set lo mtu 65536 gso_max_segs 65535");
}

/// The learned policy, then a program: what they choose is in force, and marks come of it.
fn chooses(port: linux::Port) {
    attach("queuepilot", spec("queuepilot"), port);
    let attached = params();
    // The kernel's steps begin with its first packet: before it the agent would count from another time.
    let sent = || linux::status(&record()).unwrap_or_else(|e| panic!("{e}")).stats.sent_packets;
    wait_for("the first packet", || sent() > 0);
    let learned = learned();
    let mut seen = [0u32; 101];
    let before = marks();
    let done = drive(linux::ActionSource::Policy(&learned), || {
        wait_for("marks, and three actions of the learned policy", || {
            seen[marking() as usize] += 1;
            seen.iter().filter(|times| **times > 0).count() > 2 && marks() > before
        });
        refused(drive(linux::ActionSource::Policy(&learned), || ()), "lo has an agent already");
        // A rate beside it is no matter.
        linux::set(&record(), &spec("queuepilot"), "queuepilot", false, |p| p.rate *= 2)
            .unwrap_or_else(|e| panic!("{e}"));
        // That wrote what was attached. (Another action need not come: where nothing changes the policy may keep to one.)
        wait_for("the agent's action to be in force again", || params() != attached);
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

    let lines = tempfile::NamedTempFile::new().expect("a file");
    let script = format!("while read -r line; do echo \"$line\" >>{}; echo 4; done", lines.path().display());
    let told = || fs::read_to_string(lines.path()).expect("the program's file");
    let done = drive(program(&script), || {
        wait_for("two steps told, and half of all marked", || {
            told().matches('\n').count() > 1 && marking() == 50
        });
    });
    done.unwrap_or_else(|e| panic!("{e}"));
    assert!(params() == attached);
    let told = told();
    let first =
        "{\"step\":0,\"observation\":[0.0,0.0,0.0,0.0,0.0,0.0],\"action\":0,\"reward\":0.0}\n{\"step\":";
    assert!(told.starts_with(first), "{told}");
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
        ("read l; cat <<<$'3\\n3'; read l; exec sleep 600", "has answered more than once before step"),
        ("read l; echo 3; read l; printf '%0999d' 7; exec sleep 600", "bytes and no line"),
    ] {
        falls(program(script), || (), what);
        assert!(params() == attached, "{script}");
    }
    let silent = "read l; echo 3; read l; exec sleep 600";
    falls(hasty_program(silent, Duration::from_secs(1)), || (), "has not answered step");
    assert!(params() == attached, "{silent}");
    let mut nobody = Command::new("/nowhere/agent");
    nobody.arg("x");
    let nobody = linux::ActionSource::Program { command: nobody, patience: Duration::ZERO };
    falls(nobody, || (), "the agent \"/nowhere/agent\" does not begin");

    let mut other = spec("queuepilot");
    other.set("action", Value::Int(5)).expect("it has that");
    let set = || {
        wait_for("an action", || marking() == 50);
        linux::set(&record(), &other, "queuepilot:action=5", false, |_| ()).unwrap_or_else(|e| panic!("{e}"));
    };
    falls(program("while read -r l; do echo 4; done"), set, "were set anew, and hold now");
    assert!(params() == queuewright_aqm::Discipline::new(&other).params_bytes());

    let replace = || {
        wait_for("an action", || marking() == 50);
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
