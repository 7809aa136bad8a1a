//! Commands as processes of their own, which can be killed, and what they leave.

use crate::held::{self, Held};
use queuewright_aqm::{Spec, find};
use queuewright_linux as linux;
use queuewright_testing::wait_for;
use std::fs;
use std::net::UdpSocket;
use std::process::{Command, exit};

/// Says to a copy of this program which command it is.
const WORDS: &str = "QUEUEWRIGHT_TEST_COMMAND";

/// A process that is one command: `attach DEV NAME RATE`, `set DEV RATE`, `status DEV`, `detach DEV`, `repair`.
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
        ["attach", dev, name, rate] => {
            let front =
                linux::Host::Front.names().iter().any(|n| n == name) && linux::has_bpf_qdiscs() != Some(true);
            let port =
                linux::Port { rate: number(rate), limit_packets: 100, front, ..linux::Port::default() };
            linux::attach(&linux::plan(dev, name, spec(name), port)?)
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
        ["repair"] => linux::repair().map(drop),
        _ => panic!("{words:?}"),
    }
}

/// What a program of the system's prints.
pub fn said(program: &str, words: &str) -> String {
    let path = "/usr/sbin:/sbin:/usr/bin:/bin";
    let done = Command::new(program).args(words.split_whitespace()).env("PATH", path).output();
    let done = done.unwrap_or_else(|e| panic!("{program}: {e}"));
    assert!(done.status.success(), "{program} {words}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// What the kernel holds, whoever made it: maps, programs, links; and what we have: pins, files, qdiscs.
#[derive(Debug, PartialEq, Eq)]
pub struct Holds {
    held: Held,
    pins: usize,
    files: usize,
    qdiscs: String,
}

impl Holds {
    fn is_within(&self, before: &Holds) -> bool {
        held::is_within(self.held, before.held)
            && (self.pins, self.files, &self.qdiscs) == (before.pins, before.files, &before.qdiscs)
    }
}

pub fn holds() -> Holds {
    let count = |path: &str| fs::read_dir(path).map_or(0, |all| all.count());
    Holds {
        held: held::held(),
        pins: count("/sys/fs/bpf/queuewright"),
        files: count("/run/queuewright"),
        qdiscs: said("tc", "qdisc show"),
    }
}

/// Waits until nothing more is held than `before`: the kernel lets go a little later.
pub fn settles(before: &Holds, what: &str) {
    let mut now = holds();
    let begun = std::time::Instant::now();
    while !now.is_within(before) {
        assert!(begun.elapsed().as_secs() < 60, "{what}: before {before:#?}, now {now:#?}");
        std::thread::sleep(std::time::Duration::from_millis(2));
        now = holds();
    }
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
