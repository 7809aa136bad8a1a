//! Commands as processes of their own, which can be killed, and what they leave.

use crate::held::{self, Held};
use queuewright_aqm::{Spec, Weights, find};
use queuewright_linux as linux;
use queuewright_scenario::Policy;
use queuewright_testing::wait_for;
use std::fs::{self, File};
use std::net::UdpSocket;
use std::process::{Child, Command, Stdio, exit};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

/// Says to a copy of this program which command it is.
const WORDS: &str = "QUEUEWRIGHT_TEST_COMMAND";

/// A process that is one command: `attach DEV NAME RATE`, `attach-front`, `attach-incoming` and `attach-police` (of what comes in) and `attach-both` the
/// same, `attach-mq DEV NAME`, `set DEV RATE`, `status DEV`, `detach DEV`, `repair`, `keep DEV`, `agent DEV`: an agent for one step.
pub fn process(words: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("it runs"));
    command.env(WORDS, words);
    command
}

/// Is what such a process begins with; nothing in the test itself.
pub fn is_one() {
    let Ok(words) = std::env::var(WORDS) else { return };
    match run(&words) {
        Ok(()) => exit(0),
        Err(e) => {
            eprintln!("{e}");
            exit(if matches!(e, linux::Error::Input(_)) { 2 } else { 1 })
        }
    }
}

pub fn spec(name: &str) -> Spec {
    Spec::new(find(name).expect("in the registry"))
}

/// Does a command in this process.
pub fn run(words: &str) -> Result<(), linux::Error> {
    let words: Vec<&str> = words.split(' ').collect();
    let number = |word: &str| word.parse::<u64>().expect("a number");
    match words[..] {
        [attach @ ("attach" | "attach-front"), dev, name, rate] => {
            let front = linux::Host::Front.names().iter().any(|n| n == name)
                && (attach == "attach-front" || linux::has_bpf_qdiscs() != Some(true));
            let port =
                linux::Port { rate: number(rate), limit_packets: 100, front, ..linux::Port::default() };
            linux::attach(&linux::plan(dev, name, spec(name), port)?).map(drop)
        }
        ["attach-incoming", dev, name, rate] => {
            let port = linux::Port { rate: number(rate), limit_packets: 100, ..linux::Port::default() };
            linux::attach(&linux::plan_ingress(dev, name, spec(name), port)?).map(drop)
        }
        ["attach-police", dev, name, rate] => {
            let port = linux::Port { rate: number(rate), police: true, ..linux::Port::default() };
            linux::attach(&linux::plan_ingress(dev, name, spec(name), port)?).map(drop)
        }
        ["attach-both", dev, name, rate] => {
            let front = linux::has_bpf_qdiscs() != Some(true);
            let port =
                linux::Port { rate: number(rate), limit_packets: 100, front, ..linux::Port::default() };
            let plans = [
                linux::plan(dev, name, spec(name), port)?,
                linux::plan_ingress(dev, name, spec(name), port)?,
            ];
            linux::attach_all(&plans).map(drop)
        }
        ["attach-mq", dev, name] => {
            let port = linux::Port { limit_packets: 100, mq: true, ..linux::Port::default() };
            linux::attach(&linux::plan(dev, name, spec(name), port)?).map(drop)
        }
        ["set", dev, rate] => {
            let held = linux::hold(dev)?;
            let text = held.record.text.clone();
            let spec = spec(&held.record.discipline);
            held.set(&spec, &text, false, |p| p.rate = number(rate))
        }
        ["set-limit", dev, limit] => {
            let held = linux::hold(dev)?;
            let text = held.record.text.clone();
            let spec = spec(&held.record.discipline);
            held.set(&spec, &text, false, |p| p.limit_packets = number(limit) as u32)
        }
        ["status", dev] => linux::status(&linux::attached(dev)?).map(drop),
        ["detach", dev] => linux::detach(dev).map(drop),
        ["repair"] => {
            let left = linux::repair(&[], true, keeper)?;
            assert!(left.is_empty(), "{left:?}");
            Ok(())
        }
        ["keep", dev] => linux::keep(dev),
        ["agent", dev] => {
            let policy = Policy::open("queuepilot").expect("the program has it");
            let mut learned = spec("queuepilot");
            let weights = Weights { values: policy.weights, id: "queuepilot".into() };
            learned.set_weights(weights).expect("as many as it has");
            let agent = linux::ActionSource::Policy(&learned);
            // It is to stop before it has begun, and ends after its first action.
            let stop = AtomicBool::new(true);
            linux::agent(&linux::attached(dev)?, &spec("queuepilot"), agent, &stop).map(drop)
        }
        _ => panic!("{words:?}"),
    }
}

/// The processes that `repair` has begun.
static KEEPERS: Mutex<Vec<Child>> = Mutex::new(Vec::new());

fn keeper(dev: &str, lock: File) -> Result<(), linux::Error> {
    let begun = process(&format!("keep {dev}")).stdin(lock).stderr(Stdio::null()).spawn().expect("it runs");
    KEEPERS.lock().unwrap_or_else(PoisonError::into_inner).push(begun);
    Ok(())
}

/// Ends them; how many there were.
pub fn end_keepers() -> usize {
    let all = std::mem::take(&mut *KEEPERS.lock().unwrap_or_else(PoisonError::into_inner));
    let count = all.len();
    for mut one in all {
        one.kill().expect("a child");
        one.wait().expect("a child");
    }
    count
}

/// What a program of the system's prints.
pub fn said(program: &str, words: &str) -> String {
    let path = "/usr/sbin:/sbin:/usr/bin:/bin";
    let done = Command::new(program).args(words.split_whitespace()).env("PATH", path).output();
    let done = done.unwrap_or_else(|e| panic!("{program}: {e}"));
    assert!(done.status.success(), "{program} {words}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// What the kernel holds, whoever made it: maps, programs, links; and what we have: pins, files, devices with their qdiscs and what they
/// take as one packet.
#[derive(Debug, PartialEq, Eq)]
pub struct Holds {
    held: Held,
    pins: usize,
    files: usize,
    qdiscs: String,
    devices: Vec<(String, u64, u64)>,
}

impl Holds {
    fn is_as(&self, before: &Holds) -> bool {
        self.held.new_since(&before.held).is_none()
            && (self.pins, self.files) == (before.pins, before.files)
            && (&self.qdiscs, &self.devices) == (&before.qdiscs, &before.devices)
    }
}

pub fn holds() -> Holds {
    // The file that is locked stays.
    let count = |path: &str| {
        let all = fs::read_dir(path).into_iter().flatten().flatten();
        all.filter(|entry| entry.file_name() != "lock").count()
    };
    Holds {
        held: held::held(),
        pins: count("/sys/fs/bpf/queuewright"),
        files: count("/run/queuewright"),
        qdiscs: said("tc", "qdisc show"),
        devices: devices(),
    }
}

fn devices() -> Vec<(String, u64, u64)> {
    let all: serde_json::Value = serde_json::from_str(&said("ip", "-d -j link show")).expect("JSON");
    let all = all.as_array().expect("a list");
    let size = |d: &serde_json::Value, name: &str| d[name].as_u64().unwrap_or(0);
    let of =
        |d: &serde_json::Value| (d["ifname"].to_string(), size(d, "gso_max_segs"), size(d, "gro_max_size"));
    all.iter().map(of).collect()
}

/// Waits until all is as `before`: the kernel lets go a little later.
pub fn settles(before: &Holds, what: &str) {
    wait_for(&format!("the kernel to let go of all that there was of: {what}"), || holds().is_as(before));
}

/// A packet passes through `lo`.
pub fn flows(what: &str) {
    let receiver = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    receiver.set_nonblocking(true).expect("a socket");
    let sender = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let to = receiver.local_addr().expect("an address");
    wait_for(&format!("a packet: {what}"), || {
        let _ = sender.send_to(&[0; 100], to);
        receiver.recv(&mut [0; 200]).is_ok()
    });
}
