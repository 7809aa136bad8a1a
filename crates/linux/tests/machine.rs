//! Every object before a real kernel's verifier, and some of them on a device with packets: in the lab's virtual machine
//! (`scripts/setup lab`), where this very program is what the kernel starts.

mod header;
mod vm;

use libbpf_sys::bpf_insn;
use queuewright_aqm::{Spec, Value, find};
use queuewright_linux as linux;
use queuewright_testing::{only_test, wait_for};
use std::cell::Cell;
use std::fs;
use std::net::UdpSocket;
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};
use vm::{next, option};

fn main() {
    let Some(only) = only_test("machine") else { return };
    let files = |_: &Path| vm::built_with_clang().map(|()| header::files(linux::Host::Qdisc));
    vm::test("the BPF objects before a kernel", &only, files, || {
        verifies(&only);
        let ours = [
            "codel", "pie", "titrate", "cp-aqm", "fq-codel", "santa", "dualpi2", "sfq", "fq", "hhf",
            "fq-pie", "afq", "cake",
        ];
        for name in ours.into_iter().chain(header::NAMES) {
            carries(name);
        }
        header::refused(linux::Port::default());
        let _accepts = accepts_all();
        marks("codel", "ecn", true, "127.0.0.1:0", false);
        marks("codel", "ecn", true, "[::1]:0", true);
        // Marked packets are still a classic sender's: in the queue of scalable ones they would overtake.
        marks("dualpi2", "drop_overload", false, "127.0.0.1:0", false);
        refuses();
    });
}

/// Each in less than a minute, on an emulated processor.
fn verifies(only: &[String]) {
    let mut refused = Vec::new();
    for name in linux::names().into_iter().filter(|n| only.is_empty() || only.contains(n)) {
        let begun = Instant::now();
        if let Err(e) = linux::verify(find(&name).expect("in the registry"), linux::Host::Qdisc) {
            println!("machine: {e}");
            refused.push(name);
            continue;
        }
        println!("machine: verified {name} in {:.2} s", begun.elapsed().as_secs_f64());
        assert!(begun.elapsed() < Duration::from_secs(60), "{name} takes the verifier too long");
    }
    assert!(refused.is_empty(), "the kernel refuses {refused:?}");
}

/// Attached with a limit and a shaper, it counts every packet; `set` and `detach` do what they say.
fn carries(name: &str) {
    let root = || {
        let shown =
            Command::new("/usr/sbin/tc").args(["qdisc", "show", "dev", "lo"]).output().expect("tc runs");
        String::from_utf8_lossy(&shown.stdout).into_owned()
    };
    let before = root();
    let port = linux::Port { rate: 8_000_000, limit_packets: 50, ..linux::Port::default() };
    let spec = header::spec(name, linux::Host::Qdisc);
    let plan = linux::plan("lo", name, spec.clone(), port).unwrap_or_else(|e| panic!("{e}"));
    linux::attach(&plan).unwrap_or_else(|e| panic!("{e}"));
    assert!(root().contains(&plan.record.kind), "{}", root());
    let again = linux::plan("lo", name, spec.clone(), port);
    assert!(matches!(again, Err(linux::Error::Input(_))), "attached twice");

    let receiver = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    receiver.set_read_timeout(Some(Duration::from_millis(500))).expect("a timeout");
    // What is lost is to be lost in the qdisc.
    option(&receiver, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, 4 << 20);
    let sender = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let to = receiver.local_addr().expect("an address");
    let burst = 200;
    for _ in 0..burst {
        // A full qdisc says so to the sender.
        let _ = sender.send_to(&[0; 958], to);
    }
    let mut received = 0;
    while receiver.recv(&mut [0; 2000]).is_ok() {
        received += 1;
    }
    let record = linux::record("lo").expect("attached");
    let now = linux::status(&record).unwrap_or_else(|e| panic!("{e}"));
    let dropped: u64 = now.stats.drops.iter().sum();
    println!(
        "machine: {name} sent {} dropped {dropped} of {}, mean sojourn {:.1} ms",
        now.stats.sent_packets,
        now.stats.arrived_packets,
        now.stats.mean_sojourn_ns() as f64 / 1e6
    );
    assert_eq!(now.stats.arrived_packets, burst);
    assert_eq!(now.stats.sent_packets, received);
    assert_eq!(now.stats.sent_packets + dropped, burst);
    assert_eq!((now.stats.backlog_packets, now.stats.backlog_bytes), (0, 0));
    // 50 packets of 1000 bytes need 50 ms; what the emulation is late by comes on top.
    assert!(dropped > 0 && now.stats.mean_sojourn_ns() > 2_000_000, "no queue");
    assert_eq!(now.stats.sojourns.iter().sum::<u64>(), received);

    if header::NAMES.contains(&name) {
        assert!(now.file.is_some_and(|file| file.starts_with("sha256:")));
        // Until the link is asked again, and finds nothing.
        let (value, last) = (now.variables[0].2, now.stats.sojourn_ns as f64 / 1e6);
        assert!(name == "mycodel" || value == last, "{value} of {last} ms");
    }

    linux::set(&record, &spec, name, true, |port| port.rate = 80_000_000).unwrap_or_else(|e| panic!("{e}"));
    sender.send_to(&[0; 958], to).expect("it fits");
    receiver.recv(&mut [0; 2000]).expect("it comes");
    assert_eq!(linux::status(&record).unwrap_or_else(|e| panic!("{e}")).rate, 80_000_000);

    linux::detach("lo").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(root(), before);
    assert!(linux::record("lo").is_none() && linux::records().expect("root may look").is_empty());
    let left = fs::read_dir("/sys/fs/bpf/queuewright").expect("made by attach").count();
    assert_eq!(left, 0, "pins are left");
}

/// With `param` set, the discipline marks packets that say ECT(0), of IPv4 and of IPv6, and drops none; also if it is told to
/// but when it runs. They come in the order in which they were sent.
fn marks(name: &str, param: &str, value: bool, address: &str, later: bool) {
    let port = linux::Port { rate: 8_000_000, limit_packets: 1000, ..linux::Port::default() };
    let mut spec = Spec::new(find(name).expect("in the registry"));
    let plain = spec.clone();
    spec.set(param, Value::Flag(value)).expect("it has that");
    let first = if later { plain } else { spec.clone() };
    linux::attach(&linux::plan("lo", name, first, port).unwrap_or_else(|e| panic!("{e}")))
        .unwrap_or_else(|e| panic!("{e}"));
    if later {
        let record = linux::record("lo").expect("attached");
        linux::set(&record, &spec, &format!("{name}:{param}={value}"), false, |_| ())
            .unwrap_or_else(|e| panic!("{e}"));
    }
    let receiver = UdpSocket::bind(address).expect("a socket");
    let sender = UdpSocket::bind(address).expect("a socket");
    let to = receiver.local_addr().expect("an address");
    let (level, send, tell) = match to.is_ipv4() {
        true => (libc::IPPROTO_IP, libc::IP_TOS, libc::IP_RECVTOS),
        false => (libc::IPPROTO_IPV6, libc::IPV6_TCLASS, libc::IPV6_RECVTCLASS),
    };
    option(&sender, level, send, 2);
    option(&receiver, level, tell, 1);
    option(&receiver, libc::SOL_SOCKET, libc::SO_RCVBUF, 4 << 20);
    receiver.set_nonblocking(true).expect("a socket");
    let (mut received, ce) = (0, Cell::new(0));
    let mut take = || {
        while let Some((ecn, number)) = next(&receiver) {
            assert_eq!(number, received, "overtaken");
            received += 1;
            ce.set(ce.get() + u64::from(ecn == 3));
        }
        received
    };
    let mut sent = 0;
    let mut give = |n: u32| {
        for _ in 0..n {
            let mut packet = [0; 958];
            packet[..4].copy_from_slice(&u32::to_ne_bytes(sent));
            sent += u32::from(sender.send_to(&packet, to).is_ok());
        }
        sent
    };
    // 300 ms of queue, kept up for as long again.
    give(300);
    for _ in 0..30 {
        sleep(Duration::from_millis(10));
        give(10);
        take();
    }
    let sent = give(0);
    let mut came = take();
    wait_for("every packet", || {
        came = take();
        came >= sent
    });
    let record = linux::record("lo").expect("attached");
    let (stats, ce) = (linux::status(&record).unwrap_or_else(|e| panic!("{e}")).stats, ce.get());
    let asked: u64 = stats.marks.iter().sum();
    println!(
        "machine: {name} to {address}: {sent} sent, {asked} to be marked, {} set, {ce} came with CE",
        stats.ce_set
    );
    assert_eq!((stats.marking, stats.drops.iter().sum::<u64>(), came), (2, 0, sent));
    assert!(asked >= 2 && stats.ce_set >= 1 && stats.ce_set == ce && ce <= asked);
    assert!(asked > ce + 1, "more than one is owed still");
    // The queue is long gone: of what is owed one mark is left.
    sleep(Duration::from_millis(300));
    for n in 1..=10 {
        assert_eq!(give(1), sent + n);
        wait_for("the packet", || take() == sent + n);
    }
    let late = linux::status(&record).unwrap_or_else(|e| panic!("{e}")).stats.ce_set - stats.ce_set;
    assert_eq!(late, 1, "marks of a queue that is gone");
    linux::detach("lo").unwrap_or_else(|e| panic!("{e}"));
}

/// A program at the device's egress hook that lets all pass, and ends the row of those there (`TC_ACT_OK`); it stays while its link is
/// open.
fn accepts_all() -> [OwnedFd; 2] {
    let insn = |code: u8| bpf_insn { code, ..Default::default() };
    // r0 = 0; exit
    let program = [insn(0xb7), insn(0x95)];
    // SAFETY: two instructions, a licence, no options; new descriptors come back, or errors below 0.
    unsafe {
        let fd = libbpf_sys::bpf_prog_load(
            libbpf_sys::BPF_PROG_TYPE_SCHED_CLS,
            c"accepts_all".as_ptr(),
            c"GPL".as_ptr(),
            program.as_ptr(),
            program.len() as libbpf_sys::size_t,
            std::ptr::null_mut(),
        );
        assert!(fd >= 0, "the program: {}", -fd);
        let index = libc::if_nametoindex(c"lo".as_ptr()) as i32;
        let link = libbpf_sys::bpf_link_create(fd, index, libbpf_sys::BPF_TCX_EGRESS, std::ptr::null());
        assert!(link >= 0, "its link: {}", -link);
        [OwnedFd::from_raw_fd(fd), OwnedFd::from_raw_fd(link)]
    }
}

fn refuses() {
    let spec = Spec::new(find("codel").expect("in the registry"));
    let gone = linux::plan("nodev", "codel", spec, linux::Port::default());
    assert!(matches!(gone, Err(linux::Error::Input(_))));
    let mut washing = Spec::new(find("cake").expect("in the registry"));
    washing.set("wash", Value::Flag(true)).expect("it has that");
    let refused = linux::plan("lo", "cake", washing, linux::Port::default()).expect_err("it cannot");
    assert!(refused.to_string().contains("cannot set the DSCP"), "{refused}");
    assert!(matches!(linux::detach("lo"), Err(linux::Error::Input(_))));
}
