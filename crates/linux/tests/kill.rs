//! `attach`, `set`, `detach`, `agent` and `keep` are killed at every system call that changes something, by ptrace and so at the very place
//! however fast the machine is. Then comes any other command; afterwards all is as it was before. And all pairs of commands at
//! once. On this machine itself or in the lab's virtual machine, as `front`; there, where a program takes the verifier seconds, at
//! the calls of bpf(2) alone, which this machine's kernel may not have: those that make a BPF qdisc's name known.

mod command;
mod held;
mod native;
mod vm;

use command::{end_keepers, flows, holds, process, run, said, settles};
use queuewright_linux as linux;
use queuewright_testing::{Lack, left_out, only_test};
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;

fn main() {
    command::is_one();
    let Some(words) = only_test("kill") else { return };
    if !vm::is_inside() && !linux::names().is_empty() && !words.iter().any(|a| a == "vm") {
        match native::enter() {
            Ok(()) => {
                all();
                return println!("test native ... ok");
            }
            Err(why) => eprintln!("kill: not on this machine itself ({why})"),
        }
    }
    let files = |lab: &Path| {
        vm::built_with_clang()?;
        Ok(vec![vm::module_of(lab, "drivers/net/veth")?, vm::module_of(lab, "drivers/net/ifb")?])
    };
    vm::test("commands that are killed", &words, files, || {
        vm::loads("/veth.ko");
        vm::loads("/ifb.ko");
        all();
    });
}

const ATTACH: &str = "attach lo codel 80000000";
const ATTACH_CLASSES: &str = "attach-front lo santa 80000000";
const ATTACH_PILOT: &str = "attach lo queuepilot 80000000";
const ATTACH_INCOMING: &str = "attach-incoming lo codel 80000000";
/// 64 KiB take no more than a millisecond there.
const ATTACH_FAST: &str = "attach-incoming lo codel 600000000";
const ATTACH_POLICE: &str = "attach-police lo titrate 80000000";
const ATTACH_QUEUES: &str = "attach-mq m0 codel";

fn all() {
    let before = holds();
    // Makes the folders.
    run(ATTACH).unwrap_or_else(|e| panic!("{e}"));
    run("detach lo").unwrap_or_else(|e| panic!("{e}"));
    settles(&before, "attached and detached");
    killed("attach", None, ATTACH, "lo");
    killed("set", Some(ATTACH), "set lo 16000000", "lo");
    killed("detach", Some(ATTACH), "detach lo", "lo");
    killed("agent", Some(ATTACH_PILOT), "agent lo", "lo");
    killed_incoming("attach", None, ATTACH_INCOMING, "ifb-lo");
    killed_incoming("set", Some(ATTACH_INCOMING), "set ifb-lo 600000000", "ifb-lo");
    killed_incoming("set from fast", Some(ATTACH_FAST), "set ifb-lo 80000000", "ifb-lo");
    killed_incoming("attach --ingress", None, "attach-both lo codel 80000000", "ifb-lo");
    killed_incoming("detach", Some(ATTACH_INCOMING), "detach lo", "ifb-lo");
    killed_incoming("attach --police", None, ATTACH_POLICE, "lo:ingress");
    killed_incoming("detach --police", Some(ATTACH_POLICE), "detach lo", "lo:ingress");
    if linux::has_bpf_qdiscs() == Some(true) {
        said("ip", "link add m0 numtxqueues 2 type veth peer name m1");
        killed("attach --mq", None, ATTACH_QUEUES, "m0");
        killed("detach --mq", Some(ATTACH_QUEUES), "detach m0", "m0");
        said("ip", "link del m0");
    }
    // Its programs take the verifier longest.
    if !vm::is_inside() {
        keeps();
    }
    waits_for_tc();
    pairs();
    two_namespaces();
}

/// A command is killed while a `tc` that it has started is still to do its part: the next waits for that one's end.
fn waits_for_tc() {
    let before = holds();
    let traced = Traced::begin(ATTACH);
    let tc = traced.changing_tc();
    traced.kill();
    let mut next = process("detach lo").stderr(Stdio::piped()).spawn().expect("it runs");
    let mut line = String::new();
    let mut stderr = BufReader::new(next.stderr.take().expect("a pipe"));
    stderr.read_line(&mut line).expect("it says something");
    assert!(line.contains("waiting for "), "it did not wait: {line}");
    // SAFETY: a child that this process traces.
    assert_eq!(unsafe { libc::ptrace(libc::PTRACE_DETACH, tc, 0, 0) }, 0);
    assert!(next.wait().expect("it ends").success());
    settles(&before, "a tc whose command was killed");
    println!("machine: a command waits for the tc of one that was killed");
}

/// The names of BPF qdiscs are the machine's: a second namespace takes another. What is attached there when it goes is found
/// and freed.
fn two_namespaces() {
    if let Err(why) = native::sees_all() {
        return left_out("a namespace that goes", Lack::Kernel, &why);
    }
    let before = holds();
    run(ATTACH).unwrap_or_else(|e| panic!("{e}"));
    let kind = |dev: &str| linux::record(dev).expect("attached").kind;
    let first = kind("lo");
    let second = std::thread::spawn(move || {
        // SAFETY: of this thread alone.
        assert_eq!(
            unsafe { libc::unshare(libc::CLONE_NEWNET) },
            0,
            "unshare: {}",
            io::Error::last_os_error()
        );
        assert!(linux::record("lo").is_none(), "the other's");
        run(ATTACH).unwrap_or_else(|e| panic!("{e}"));
        assert!(linux::faults().expect("root may look").is_empty());
        kind("lo")
    });
    let second = second.join().expect("no panic");
    assert_eq!(first != second, linux::has_bpf_qdiscs() == Some(true), "{first} and {second}");
    // With the thread its namespace has gone.
    let faults = linux::faults().expect("root may look");
    assert!(
        faults.len() == 1 && faults[0].what == "codel on lo, whose network namespace is gone",
        "{faults:?}"
    );
    assert_eq!(kind("lo"), first);
    run("repair").unwrap_or_else(|e| panic!("{e}"));
    run("set lo 16000000").unwrap_or_else(|e| panic!("{e}"));
    run("detach lo").unwrap_or_else(|e| panic!("{e}"));
    settles(&before, "two namespaces");
    println!("machine: {first} and {second} in two namespaces");
}

/// What tells htb the shares is killed after each of its calls in turn, until it has told them and waits for others.
fn keeps() {
    let next = ["repair", "status lo", "set lo 24000000", ATTACH, "repair", "detach lo"];
    let before = holds();
    let mut attached = false;
    for at in 0.. {
        if !attached {
            run(ATTACH_CLASSES).unwrap_or_else(|e| panic!("{e}"));
        }
        let after = next[at % next.len()];
        let call = Traced::begin("keep lo").kill_after(at);
        let what = format!("keep killed after call {at} ({call:?}), then {after}");
        flows(&what);
        run(after).or_else(nothing).unwrap_or_else(|e| panic!("{what}: {e}"));
        flows(&what);
        attached = after != "detach lo";
        if attached {
            let status = linux::status(&linux::attached("lo").expect("it is"))
                .unwrap_or_else(|e| panic!("{what}: {e}"));
            let lost = status.missing.iter().any(|lacks| lacks.contains("queuewright keep"));
            assert!(status.there && lost == (after != "repair"), "{what}: {:?}", status.missing);
            run("repair").unwrap_or_else(|e| panic!("{what}: {e}"));
            assert_eq!(end_keepers(), 1, "{what}");
            // A tc that it has started may be at work still.
            drop(linux::hold("lo"));
        }
        if call.is_none() {
            println!("machine: keep was killed after each of {at} calls");
            assert!(at > 0, "keep has made no call that changes something");
            break;
        }
    }
    run("detach lo").or_else(nothing).unwrap_or_else(|e| panic!("{e}"));
    settles(&before, "keep");
}

/// The parameters that a qdisc has.
fn params(record: &linux::Record) -> Vec<u8> {
    let pin = format!("/sys/fs/bpf/queuewright/{}:{}/params", record.namespace, record.index);
    let map = libbpf_rs::MapHandle::from_pinned_path(pin).expect("it is pinned");
    libbpf_rs::MapCore::lookup(&map, &[0; 4], libbpf_rs::MapFlags::ANY)
        .expect("root may")
        .expect("it has one")
}

/// A command is killed after each of its calls in turn, and each of the others comes next.
fn killed(name: &str, first: Option<&str>, words: &str, dev: &str) {
    let attach = if dev == "lo" { ATTACH } else { ATTACH_QUEUES };
    let [detach, set, status] =
        ["detach DEV", "set DEV 24000000", "status DEV"].map(|w| w.replace("DEV", dev));
    // Where each queue has its own there is no rate.
    let set = if dev == "lo" { set } else { "set-limit m0 50".into() };
    let next = [&*detach, "repair", attach, &set, &status];
    let before = holds();
    for at in 0.. {
        let after = next[at % next.len()];
        if let Some(first) = first {
            run(first).unwrap_or_else(|e| panic!("{e}"));
        }
        let attached = linux::record(dev).map(|record| params(&record));
        let Some(call) = Traced::begin(words).kill_after(at) else {
            println!("machine: {name} was killed after each of {at} calls");
            assert!(at > 0, "{name} has made no call that changes something");
            run(&detach).or_else(nothing).unwrap_or_else(|e| panic!("{e}"));
            settles(&before, name);
            return;
        };
        let what = format!("{name} killed after call {at} ({call}), then {after}");
        flows(&what);
        // By them it is known whose the pins are.
        let numbered = linux::record(dev).is_none_or(|record| !record.ids.is_empty());
        assert!(numbered, "{what}: a record without numbers");
        // It does what it is there for, or says that there is nothing to do it to.
        run(after).or_else(nothing).unwrap_or_else(|e| panic!("{what}: {e}"));
        flows(&what);
        // Of one that is attached `attach` only says so.
        let did_nothing = after == status || name == "agent" && after == attach;
        if !did_nothing && let Ok(record) = linux::attached(dev) {
            let status = linux::status(&record).unwrap_or_else(|e| panic!("{what}: {e}"));
            assert!(status.there && status.missing.is_empty(), "{what}: {:?}", status.missing);
        }
        run("repair").unwrap_or_else(|e| panic!("{what}: {e}"));
        assert!(linux::faults().unwrap_or_else(|e| panic!("{what}: {e}")).is_empty(), "{what}");
        if name == "agent"
            && let Some(record) = linux::record(dev)
        {
            assert!(attached == Some(params(&record)), "{what}: its action holds on");
        }
        run(&detach).or_else(nothing).unwrap_or_else(|e| panic!("{what}: {e}"));
        settles(&before, &what);
    }
}

/// The same of what comes in on `lo`.
fn killed_incoming(name: &str, first: Option<&str>, words: &str, dev: &str) {
    let [set, status, detach] =
        ["set DEV 24000000", "status DEV", "detach DEV"].map(|words| words.replace("DEV", dev));
    let again = first.unwrap_or(words);
    let next = ["detach lo", "repair", again, &*set, &*status, &*detach];
    let before = holds();
    for at in 0.. {
        let after = next[at % next.len()];
        if let Some(first) = first {
            run(first).unwrap_or_else(|e| panic!("{e}"));
        }
        let call = Traced::begin(words).kill_after(at);
        let what = format!("{name} of what comes in, killed after call {at} ({call:?}), then {after}");
        flows(&what);
        if call.is_some() {
            run(after).or_else(not_there).unwrap_or_else(|e| panic!("{what}: {e}"));
            flows(&what);
        }
        run("repair").unwrap_or_else(|e| panic!("{what}: {e}"));
        assert!(linux::faults().unwrap_or_else(|e| panic!("{what}: {e}")).is_empty(), "{what}");
        run("detach lo").or_else(not_there).unwrap_or_else(|e| panic!("{what}: {e}"));
        settles(&before, &what);
        if call.is_none() {
            assert!(at > 0, "{name} has made no call that changes something");
            return println!("machine: {name} of what comes in was killed after each of {at} calls");
        }
    }
}

/// [`nothing`], or the device that was made for it is not there.
fn not_there(e: linux::Error) -> Result<(), linux::Error> {
    match &e {
        linux::Error::Input(said) if said.contains("is no device here") => Ok(()),
        _ => nothing(e),
    }
}

/// What a command says that finds nothing, or something already.
fn nothing(e: linux::Error) -> Result<(), linux::Error> {
    match &e {
        linux::Error::Input(said)
            if [
                "nothing of ours is attached",
                " already: set changes it",
                " already for what comes in: set",
                "is no longer there",
            ]
            .iter()
            .any(|w| said.contains(w)) =>
        {
            Ok(())
        }
        // `status` changes nothing.
        linux::Error::System(said)
            if said.contains("by half") && said.contains("queuewright doctor --repair") =>
        {
            Ok(())
        }
        _ => Err(e),
    }
}

/// A command that stops at its system calls.
struct Traced(libc::pid_t);

impl Traced {
    #[allow(clippy::zombie_processes, reason = "waitpid is in `wait`")]
    fn begin(words: &str) -> Traced {
        let mut command = process(words);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // SAFETY: one system call between fork and exec.
        unsafe {
            command.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            });
        }
        let child = command.spawn().expect("it runs");
        let traced = Traced(child.id() as i32);
        // At its exec.
        assert!(libc::WIFSTOPPED(traced.wait()), "it does not stop");
        let options = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_EXITKILL;
        // SAFETY: a stopped child of ours.
        let rc = unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, traced.0, 0, options) };
        assert_eq!(rc, 0, "ptrace: {}", io::Error::last_os_error());
        traced
    }

    fn wait(&self) -> i32 {
        let mut status = 0;
        // SAFETY: a child of ours and a place for a status.
        let rc = unsafe { libc::waitpid(self.0, &raw mut status, 0) };
        assert_eq!(rc, self.0, "waitpid: {}", io::Error::last_os_error());
        status
    }

    /// Lets it go on until so many calls that change something are done, and kills it there; which that was. None: it has
    /// ended before, or rests, which is its end too.
    fn kill_after(self, calls: usize) -> Option<String> {
        let (mut done, mut entered, mut signal) = (0, None, 0);
        loop {
            // SAFETY: a stopped child of ours.
            let rc = unsafe { libc::ptrace(libc::PTRACE_SYSCALL, self.0, 0, signal) };
            assert_eq!(rc, 0, "ptrace: {}", io::Error::last_os_error());
            let status = self.wait();
            if libc::WIFEXITED(status) {
                assert_eq!(libc::WEXITSTATUS(status), 0, "it fails by itself");
                return None;
            }
            assert!(libc::WIFSTOPPED(status), "it ended by a signal of its own: {status}");
            signal = 0;
            if libc::WSTOPSIG(status) != libc::SIGTRAP | 0x80 {
                signal = libc::WSTOPSIG(status);
                continue;
            }
            let info = self.call();
            if u32::from(info.op) == u32::from(libc::PTRACE_SYSCALL_INFO_ENTRY) {
                // SAFETY: it is at the entry.
                let entry = unsafe { info.u.entry };
                if entry.nr as i64 == libc::SYS_clock_nanosleep {
                    self.kill();
                    return None;
                }
                entered = changes(entry.nr as i64, entry.args);
            } else if let Some(name) = entered.take() {
                if done == calls {
                    self.kill();
                    return Some(name.into());
                }
                done += 1;
            }
        }
    }

    /// Lets it go on until it has started a `tc` that changes a qdisc, which stands still before its first step.
    fn changing_tc(&self) -> libc::pid_t {
        let options = libc::PTRACE_O_TRACEVFORK | libc::PTRACE_O_TRACEFORK | libc::PTRACE_O_EXITKILL;
        // SAFETY: children of ours that are stopped, and plain numbers.
        unsafe {
            assert_eq!(libc::ptrace(libc::PTRACE_SETOPTIONS, self.0, 0, options), 0);
            let go = |pid: libc::pid_t| assert_eq!(libc::ptrace(libc::PTRACE_CONT, pid, 0, 0), 0);
            go(self.0);
            let mut tc = 0;
            loop {
                let mut status = 0;
                let pid = libc::waitpid(-1, &raw mut status, libc::__WALL);
                assert!(pid > 0, "waitpid: {}", io::Error::last_os_error());
                if !libc::WIFSTOPPED(status) {
                    assert_ne!(pid, self.0, "it ended without a tc that changes something");
                    continue;
                }
                if pid == self.0 {
                    go(pid);
                    continue;
                }
                // Before its exec, by which it stops once more.
                let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                if tc == pid && words.starts_with(b"tc\0qdisc\0replace") {
                    return pid;
                }
                tc = pid;
                go(pid);
            }
        }
    }

    fn kill(self) {
        // SAFETY: a child of ours.
        unsafe { libc::kill(self.0, libc::SIGKILL) };
        while !libc::WIFSIGNALED(self.wait()) {}
    }

    fn call(&self) -> libc::ptrace_syscall_info {
        // SAFETY: plain numbers, which the kernel fills in for a child that is stopped.
        unsafe {
            let mut info: libc::ptrace_syscall_info = std::mem::zeroed();
            let size = size_of_val(&info);
            let rc = libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO, self.0, size, &raw mut info);
            assert!(rc > 0, "ptrace: {}", io::Error::last_os_error());
            info
        }
    }
}

/// The system calls after which something is another that outlives the process, or may be: files, pins, what is registered, a
/// program of the system's that is started or has ended.
fn changes(number: i64, args: [u64; 6]) -> Option<&'static str> {
    // Of bpf(2): MAP_UPDATE_ELEM, MAP_DELETE_ELEM, OBJ_PIN, RAW_TRACEPOINT_OPEN, LINK_CREATE.
    const LASTING: [u64; 5] = [2, 3, 6, 17, 28];
    match number {
        _ if vm::is_inside() && number != libc::SYS_bpf => None,
        libc::SYS_bpf if LASTING.contains(&args[0]) => Some("bpf"),
        libc::SYS_openat if args[2] & libc::O_CREAT as u64 != 0 => Some("openat"),
        libc::SYS_write => Some("write"),
        libc::SYS_flock => Some("flock"),
        libc::SYS_mkdirat => Some("mkdirat"),
        libc::SYS_renameat | libc::SYS_renameat2 => Some("renameat"),
        libc::SYS_unlinkat => Some("unlinkat"),
        libc::SYS_clone | libc::SYS_clone3 => Some("clone"),
        libc::SYS_wait4 | libc::SYS_waitid => Some("wait"),
        // To netlink, with more than what is asked for a list.
        libc::SYS_sendto if args[2] > 36 => Some("sendto"),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_rename => Some("rename"),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_vfork => Some("vfork"),
        _ => None,
    }
}

/// All pairs of commands at once: each does what it says or says why not, and what is there is whole.
fn pairs() {
    let all = [ATTACH, "set lo 16000000", "set-limit lo 50", "status lo", "repair", "detach lo"];
    let before = holds();
    for one in all {
        for other in all {
            let few = [(ATTACH, ATTACH), (all[1], all[2]), (ATTACH, all[5])];
            if vm::is_inside() && !few.contains(&(one, other)) {
                continue;
            }
            for first in [None, Some(ATTACH)] {
                if let Some(first) = first {
                    run(first).unwrap_or_else(|e| panic!("{e}"));
                }
                let what = format!("{one} and {other} at once after {first:?}");
                let both =
                    [one, other].map(|words| process(words).stderr(Stdio::piped()).spawn().expect("it runs"));
                let both = both.map(|child| child.wait_with_output().expect("it ends"));
                let done = both.each_ref().map(|b| b.status.success());
                for b in &both {
                    let code = b.status.code();
                    assert!(matches!(code, Some(0..=2)), "{what}: {b:?}");
                }
                flows(&what);
                if let Ok(record) = linux::attached("lo") {
                    let status = linux::status(&record).unwrap_or_else(|e| panic!("{what}: {e}"));
                    assert!(status.there && status.missing.is_empty(), "{what}: {:?}", status.missing);
                    let set = ["set lo 16000000", "set-limit lo 50"];
                    // Both of two that change something, whichever came first.
                    if done == [true, true] && one != other && set.contains(&one) && set.contains(&other) {
                        assert_eq!((status.rate, status.limit_packets), (16_000_000, 50), "{what}");
                    }
                    run("detach lo").unwrap_or_else(|e| panic!("{what}: {e}"));
                }
                assert!(linux::faults().unwrap_or_else(|e| panic!("{what}: {e}")).is_empty(), "{what}");
                settles(&before, &what);
            }
        }
    }
    println!("machine: pairs of commands at once");
}
