//! The kernel module (`scripts/setup module` compiles it) in the lab's virtual machine: each of its qdiscs, set and shown by
//! tc with our plugin, carries packets below htb and tbf, and every packet is accounted for.

mod vm;

use queuewright_aqm::{Info, ParamKind, Spec, find, registry};
use queuewright_linux as linux;
use queuewright_testing::{only_test, wait_for};
use serde_json::Value;
use std::ffi::CStr;
use std::fs;
use std::io::{self, Read};
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use vm::{ecn_of_next, option};

fn main() {
    let Some(only) = only_test("module") else { return };
    vm::test("the kernel module in a kernel", &only, files, || {
        load("sch_htb.ko");
        load("sch_tbf.ko");
        load("sch_queuewright.ko");
        let found = linux::doctor(None).unwrap_or_else(|e| panic!("{e}"));
        assert!(
            found.iter().any(|f| f.what == "module" && f.good && f.found.contains("is loaded")),
            "{found:?}"
        );
        for info in registry().iter().filter(|i| only.is_empty() || only.iter().any(|n| n == i.name)) {
            carries(info);
            changes(info);
        }
        keeps_time();
        marks();
        below_others();
        refuses();
        marks_for_bpf();
        loads_for_tc();
        unload(c"sch_queuewright");
        complaints();
    });
}

/// What the guest of the lab lacks.
fn files(lab: &Path) -> Result<Vec<vm::File>, vm::Outcome> {
    vm::built_with_clang()?;
    let built = lab.join("module/sch_queuewright.ko");
    let Ok(module) = fs::read(&built) else {
        return Err(vm::Outcome::LeftOut("it is not compiled: run scripts/setup module".into()));
    };
    // Cargo puts it beside the tests.
    let plugin = std::env::current_exe()?.with_file_name("libqueuewright_tc.so");
    let plugin = fs::read(&plugin).map_err(|e| vm::Outcome::Failed(format!("{}: {e}", plugin.display())))?;
    let mut files = vec![
        vm::module_of(lab, "net/sched/sch_htb")?,
        vm::module_of(lab, "net/sched/sch_tbf")?,
        vm::module_of(lab, "drivers/net/dummy")?,
        vm::File("sch_queuewright.ko".into(), 0o100_644, module),
        vm::File("tc".into(), 0o040_755, Vec::new()),
        vm::File("tc/plugin.so".into(), 0o100_755, plugin),
    ];
    for info in registry() {
        for kind in [kind(info), kind(info).replace("qw_", "bpf_")] {
            files.push(vm::File(format!("tc/q_{kind}.so"), 0o120_777, b"plugin.so".to_vec()));
        }
    }
    Ok(files)
}

// ------------------------------------------------------------ the guest ---

fn load(name: &str) {
    let file = fs::File::open(format!("/{name}")).unwrap_or_else(|e| panic!("{name}: {e}"));
    // SAFETY: an open file and a C string.
    let rc = unsafe { libc::syscall(libc::SYS_finit_module, file.as_raw_fd(), c"".as_ptr(), 0) };
    assert_eq!(rc, 0, "{name}: {}", io::Error::last_os_error());
}

fn unload(name: &CStr) {
    // BPF programs that called it go when the kernel finds the time.
    wait_for(&format!("{name:?} to be unloaded"), || {
        // SAFETY: a C string.
        unsafe { libc::syscall(libc::SYS_delete_module, name.as_ptr(), libc::O_NONBLOCK) == 0 }
    });
}

/// What the kernel has complained about.
fn complaints() {
    let mut log = fs::OpenOptions::new().read(true).open("/dev/kmsg").expect("the kernel's log");
    // SAFETY: an open file; reads are not to wait for more.
    unsafe { libc::fcntl(log.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
    let mut record = [0; 8192];
    while let Ok(n) = log.read(&mut record) {
        let line = String::from_utf8_lossy(&record[..n]).into_owned();
        let bad = ["WARNING", "BUG", "Oops", "Call Trace", "leak", "missing module BTF", "cannot mark"];
        assert!(!bad.iter().any(|word| line.contains(word)), "the kernel says: {line}");
    }
}

fn kind(info: &Info) -> String {
    format!("qw_{}", info.name.replace('-', "_"))
}

fn tc(words: &str) -> Result<String, String> {
    let done = Command::new("/usr/sbin/tc")
        .args(words.split_whitespace())
        .env("TC_LIB_DIR", "/tc")
        .output()
        .expect("tc runs");
    match done.status.success() {
        true => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&done.stderr).into_owned()),
    }
}

fn must(words: &str) -> String {
    tc(words).unwrap_or_else(|e| panic!("tc {words}: {e}"))
}

/// lo at 8 Mbit/s, with this below.
fn htb(child: &str) {
    htb_at("8mbit", child);
}

fn htb_at(rate: &str, child: &str) {
    must("qdisc add dev lo root handle 1: htb default 1");
    must(&format!("class add dev lo parent 1: classid 1:1 htb rate {rate} burst 2000 cburst 2000"));
    must(&format!("qdisc add dev lo parent 1:1 handle 10: {child}"));
}

fn shown(kind: &str) -> Value {
    let all: Value = serde_json::from_str(&must("-s -j qdisc show dev lo")).expect("tc prints JSON");
    let found = all.as_array().and_then(|all| all.iter().find(|q| q["kind"] == kind));
    found.unwrap_or_else(|| panic!("no {kind} in {all}")).clone()
}

fn number(of: &Value, name: &str) -> u64 {
    of[name].as_u64().unwrap_or_else(|| panic!("no {name} in {of}"))
}

fn sum(of: &Value, what: &str) -> u64 {
    ["limit", "threshold", "sojourn", "early"].iter().map(|r| number(of, &format!("{what}_{r}"))).sum()
}

/// Two sockets on lo.
struct Pair {
    from: UdpSocket,
    to: UdpSocket,
}

impl Pair {
    fn new(ecn: bool) -> Self {
        let [from, to] = [0, 1].map(|_| UdpSocket::bind("127.0.0.1:0").expect("a socket"));
        to.set_read_timeout(Some(Duration::from_millis(300))).expect("a timeout");
        from.connect(to.local_addr().expect("an address")).expect("connected");
        option(&from, libc::IPPROTO_IP, libc::IP_TOS, if ecn { 2 } else { 0 });
        option(&to, libc::IPPROTO_IP, libc::IP_RECVTOS, 1);
        // What is lost is to be lost in the qdisc.
        option(&to, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, 8 << 20);
        Pair { from, to }
    }

    /// Packets of 1000 bytes as fast as they go.
    fn send(&self, count: u64) {
        for _ in 0..count {
            // A full qdisc says so to the sender.
            let _ = self.from.send(&[0; 958]);
        }
    }

    /// All that come through this qdisc, and how many with CE.
    fn receive(&self, kind: &str) -> (u64, u64) {
        let (mut all, mut marked) = (0, 0);
        // Timers of a machine that is busy come late.
        let mut waiting = true;
        while waiting {
            waiting = number(&shown(kind), "qlen") > 0;
            while let Some(ecn) = ecn_of_next(&self.to) {
                all += 1;
                marked += u64::from(ecn == 3);
            }
        }
        (all, marked)
    }
}

/// Nothing of 200 packets is lost without being counted, and the kernel's own counters agree.
fn accounts(kind: &str, offered: u64, received: u64) -> Value {
    let now = shown(kind);
    assert_eq!(number(&now, "arrived_packets"), offered, "{now}");
    assert_eq!(number(&now, "sent_packets"), received, "{now}");
    assert_eq!(sum(&now, "dropped"), offered - received, "{now}");
    assert_eq!(number(&now, "drops"), offered - received, "{now}");
    assert_eq!(number(&now, "packets"), received, "{now}");
    assert_eq!((number(&now, "qlen"), number(&now, "backlog")), (0, 0), "{now}");
    now
}

fn carries(info: &Info) {
    let kind = kind(info);
    htb(&format!("{kind} limit 50"));
    let path = Pair::new(false);
    path.send(200);
    let (received, _) = path.receive(&kind);
    let now = accounts(&kind, 200, received);
    println!(
        "machine: {kind} sent {received} of 200, mean sojourn {:.1} ms",
        number(&now, "sojourn_mean_ns") as f64 / 1e6
    );
    assert!(received > 0 && received < 200, "{now}");
    // What it says of its parameters is the registry's.
    for p in info.params.iter().filter(|p| p.kind != ParamKind::File) {
        assert!(!now["options"][p.name].is_null(), "{} is not shown: {now}", p.name);
    }
    // Again, after the queue ran dry; and gone with packets in it.
    path.send(30);
    let (again, _) = path.receive(&kind);
    accounts(&kind, 230, received + again);
    path.send(60);
    must("qdisc del dev lo root");
    while ecn_of_next(&path.to).is_some() {}
}

/// Limits and parameters while packets wait.
fn changes(info: &Info) {
    let kind = kind(info);
    // A packet in 8 ms, so that many wait however long tc takes.
    htb_at("1mbit", &format!("{kind} limit 100"));
    let path = Pair::new(false);
    let at = format!("qdisc change dev lo parent 1:1 handle 10: {kind}");
    path.send(60);
    must(&format!("{at} limit 20"));
    let now = shown(&kind);
    // FQ's limit does not count the eight that pass by its rounds, as in Linux (`band_pkt_count`).
    let most = if info.name == "fq" { 28 } else { 20 };
    assert!(number(&now, "qlen") <= most && number(&now, "drops") > 0, "{now}");
    path.send(60);
    must(&format!("{at} limit 1000"));
    must("class change dev lo parent 1: classid 1:1 htb rate 8mbit burst 2000 cburst 2000");
    // One parameter, to its other end: for most the state begins anew with packets in the queue.
    if let Some(p) = info.params.iter().find(|p| p.kind != ParamKind::File) {
        let value = if p.default == p.max { p.min } else { p.max };
        must(&format!("{at} {} {}", p.name, p.display(value)));
        let shown = shown(&kind);
        assert!(!shown["options"][p.name].is_null(), "{shown}");
    }
    path.send(60);
    let (received, _) = path.receive(&kind);
    accounts(&kind, 180, received);
    must("qdisc del dev lo root");
}

/// QueuePilot's steps need no packet: drops are seen in the reward of the step in which they were, long before the next
/// packet leaves. It may be changed and go while its timer runs.
fn keeps_time() {
    // A packet in 10 s.
    htb_at("800bit", "qw_queuepilot limit 5 step 1s");
    let path = Pair::new(false);
    path.send(30);
    let first = shown("qw_queuepilot");
    assert!(sum(&first, "dropped") > 0, "{first}");
    let reward =
        |now: &Value| now["reward_plus_1"].as_f64().unwrap_or_else(|| panic!("no reward_plus_1 in {now}"));
    wait_for("a step with the drops' reward, before the next packet", || {
        let now = shown("qw_queuepilot");
        for what in ["arrived_packets", "sent_packets"] {
            assert_eq!(number(&now, what), number(&first, what), "{now}");
        }
        // For -1.
        reward(&now) == 0.0
    });
    for words in ["step 1ms", "step 100us limit 3", "weights queuepilot"] {
        must(&format!("qdisc change dev lo parent 1:1 handle 10: qw_queuepilot {words}"));
        path.send(1);
    }
    must("qdisc del dev lo root");
    while ecn_of_next(&path.to).is_some() {}
}

/// CE where there is ECT, and as often as is said.
fn marks() {
    for (kind, words) in [
        ("qw_codel", "target 1ms interval 5ms ecn"),
        ("qw_fq_codel", "target 1ms interval 5ms ecn"),
        ("qw_pi2", "target 1ms ecn"),
    ] {
        htb(&format!("{kind} limit 1000 {words}"));
        let path = Pair::new(true);
        path.send(300);
        let (received, marked) = path.receive(kind);
        let now = accounts(kind, 300, received);
        println!("machine: {kind} marked {marked} of {received}");
        assert!(marked > 0, "{now}");
        assert_eq!(sum(&now, "marked"), marked, "{now}");
        must("qdisc del dev lo root");
    }
}

/// tbf looks at the head packet before it takes it.
fn below_others() {
    must("qdisc add dev lo root handle 1: tbf rate 8mbit burst 3000 limit 1000000");
    must("qdisc add dev lo parent 1:1 handle 10: qw_codel limit 50 target 1ms interval 5ms");
    let path = Pair::new(false);
    path.send(200);
    let (received, _) = path.receive("qw_codel");
    let now = accounts("qw_codel", 200, received);
    assert!(number(&now, "dropped_sojourn") > 0, "{now}");
    must("qdisc replace dev lo root qw_fq_codel");
    path.send(100);
    assert_eq!(path.receive("qw_fq_codel").0, 100);
    must("qdisc del dev lo root");
}

fn refuses() {
    for words in ["qw_codel target 300s", "qw_codel target", "qw_codel what 3", "qw_codel limit 0"] {
        assert!(tc(&format!("qdisc add dev lo root {words}")).is_err(), "{words}");
    }
    assert!(must("qdisc show dev lo").contains("noqueue"), "something was attached");
}

/// The module's function, called by a BPF qdisc.
fn marks_for_bpf() {
    let mut spec = Spec::new(find("codel").expect("in the registry"));
    for (name, ns) in [("target", 1_000_000), ("interval", 5_000_000)] {
        spec.set(name, queuewright_aqm::Value::Int(ns)).expect("in range");
    }
    spec.set("ecn", queuewright_aqm::Value::Flag(true)).expect("a flag");
    let port = linux::Port { rate: 8_000_000, limit_packets: 1000, ..linux::Port::default() };
    let plan = linux::plan("lo", "codel", spec, port).unwrap_or_else(|e| panic!("{e}"));
    linux::attach(&plan).unwrap_or_else(|e| panic!("{e}"));
    let path = Pair::new(true);
    path.send(300);
    let (received, marked) = path.receive("bpf_codel");
    let record = linux::record("lo").expect("attached");
    let stats = linux::status(&record).unwrap_or_else(|e| panic!("{e}")).stats;
    println!("machine: bpf_codel marked {marked} of {received} by the module's function");
    // 1: by a function of a module.
    assert!(marked > 0 && stats.marking == 1 && stats.marks.iter().sum::<u64>() == marked, "{stats:?}");
    linux::detach("lo").unwrap_or_else(|e| panic!("{e}"));
}

/// `tc qdisc replace ... bpf_codel` has the BPF program loaded; status, set and detach know of it.
fn loads_for_tc() {
    let refused = |words: &str, why: &str| {
        let said = tc(words).expect_err(words);
        assert!(said.contains(why), "tc {words}: {said}");
    };
    refused("qdisc replace dev lo root bpf_codel tarjet 2ms", "it has rate, overhead, limit");
    must("qdisc replace dev lo root bpf_codel rate 8mbit limit 50 target 2ms");
    let record = linux::record("lo").expect("attached");
    assert_eq!((record.kind.as_str(), record.text.as_str()), ("bpf_codel", "codel:target=2ms"));
    let path = Pair::new(false);
    path.send(200);
    let (received, _) = path.receive("bpf_codel");
    let now = linux::status(&record).unwrap_or_else(|e| panic!("{e}"));
    let dropped: u64 = now.stats.drops.iter().sum();
    println!("machine: bpf_codel by tc sent {received}, dropped {dropped} of 200");
    assert_eq!(
        (now.rate, now.stats.sent_packets, now.stats.sent_packets + dropped),
        (8_000_000, received, 200)
    );
    refused("qdisc change dev lo root bpf_codel target 3ms", "queuewright set lo");
    refused("qdisc replace dev lo root bpf_pie", "lo has codel:target=2ms already");
    refused("qdisc add dev lo parent 1:1 bpf_codel", "attach lo codel --mq");
    // Another device has its own, of which the kernel needs another name.
    load("dummy.ko");
    let ip = |words: &str| {
        let done = Command::new("/usr/sbin/ip").args(words.split(' ')).status();
        assert!(done.is_ok_and(|s| s.success()), "ip {words}");
    };
    ip("link add d0 type dummy");
    must("qdisc replace dev d0 root bpf_codel");
    assert!(must("qdisc show dev d0").contains("bpf_codel_2"), "{}", must("qdisc show dev d0"));
    linux::detach("d0").unwrap_or_else(|e| panic!("{e}"));
    ip("link del d0");
    unload(c"dummy");
    // What tc has taken off is in nobody's way.
    must("qdisc del dev lo root");
    must("qdisc replace dev lo root bpf_titrate");
    assert_eq!(linux::record("lo").map(|r| r.kind).as_deref(), Some("bpf_titrate"));
    linux::detach("lo").unwrap_or_else(|e| panic!("{e}"));
    assert!(linux::records().expect("root may look").is_empty());
}
