//! Every object before a real kernel's verifier, and some of them on a device with packets: in the lab's virtual machine
//! (`scripts/setup lab`), where this very program is what the kernel starts.

use queuewright_aqm::{Spec, Value, find};
use queuewright_linux as linux;
use std::collections::HashSet;
use std::ffi::CString;
use std::fs;
use std::io::{self, Write};
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio, exit};
use std::thread::sleep;
use std::time::{Duration, Instant};

const PASSED: &str = "machine: passed";
/// Longer than the slowest host needs: the boot takes seconds, most objects one each.
const PATIENCE: Duration = Duration::from_secs(600);

fn main() {
    if std::process::id() == 1 {
        return guest();
    }
    match host() {
        Ok(()) => println!("test machine ... ok"),
        Err(Outcome::LeftOut(why)) => eprintln!("LEFT OUT: the BPF objects before a kernel: {why}"),
        Err(Outcome::Failed(why)) => {
            eprintln!("test machine ... FAILED\n{why}");
            exit(1);
        }
    }
}

enum Outcome {
    LeftOut(String),
    Failed(String),
}

impl From<io::Error> for Outcome {
    fn from(e: io::Error) -> Self {
        Outcome::Failed(e.to_string())
    }
}

// ------------------------------------------------------------- the host ---

fn host() -> Result<(), Outcome> {
    if linux::names().is_empty() {
        return Err(Outcome::LeftOut("this program was built without clang".into()));
    }
    let lab = std::env::var_os("QUEUEWRIGHT_LAB").map_or_else(|| "../../build/lab".into(), PathBuf::from);
    let modules = lab.join("kernel/usr/lib/modules");
    let kernel =
        fs::read_dir(&modules).into_iter().flatten().flatten().map(|e| e.path().join("vmlinuz")).next();
    let Some(kernel) = kernel.filter(|k| k.exists() && lab.join("guest").exists()) else {
        return Err(Outcome::LeftOut("the lab is not set up: run scripts/setup lab".into()));
    };
    let dir = tempfile::tempdir()?;
    let (initrd, console) = (dir.path().join("initrd"), dir.path().join("console"));
    initramfs(&lab, &initrd)?;
    let root = lab.join("root/usr");
    let libraries = root.join("lib/x86_64-linux-gnu").display().to_string();
    let mut qemu = Command::new(root.join("lib64/ld-linux-x86-64.so.2"));
    qemu.args(["--library-path", &format!("{libraries}:{libraries}/systemd")])
        .arg(root.join("bin/qemu-system-x86_64"));
    qemu.arg("-L").arg(root.join("share/qemu")).arg("-L").arg(root.join("share/seabios"));
    qemu.args(["-machine", "pc,accel=tcg,hpet=off", "-cpu", "max", "-smp", "1", "-m", "1024"]);
    qemu.args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]);
    qemu.arg("-kernel").arg(kernel).arg("-initrd").arg(&initrd);
    // What follows `--` reaches init.
    let names = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect::<Vec<_>>().join(" ");
    let kernel_line = "console=ttyS0 mitigations=off panic=-1 rdinit=/init quiet audit=0";
    qemu.args(["-append", &format!("{kernel_line} -- {names}")]);
    qemu.arg("-serial").arg(format!("file:{}", console.display()));
    let mut machine = qemu.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
    let begun = Instant::now();
    let ended = loop {
        if let Some(status) = machine.try_wait()? {
            break format!("QEMU ended ({status})");
        }
        if begun.elapsed() > PATIENCE {
            machine.kill()?;
            machine.wait()?;
            break "the machine did not come to an end".into();
        }
        sleep(Duration::from_millis(100));
    };
    let said = fs::read_to_string(&console).unwrap_or_default();
    for line in said.lines().filter(|l| l.starts_with("machine: ")) {
        println!("{}", line.trim_end());
    }
    match said.contains(PASSED) {
        true => Ok(()),
        false => Err(Outcome::Failed(format!("{ended}; {said}"))),
    }
}

/// The lab's guest with this program as init.
fn initramfs(lab: &Path, path: &Path) -> io::Result<()> {
    let mut archive = Cpio(fs::File::create(path)?);
    for folder in ["dev", "proc", "sys", "run", "tmp"] {
        archive.entry(folder, 0o040_755, &[])?;
    }
    archive.tree(&lab.join("guest"), "")?;
    let me = std::env::current_exe()?;
    archive.entry("init", 0o100_755, &fs::read(&me)?)?;
    // The libraries that it needs and the guest has not.
    let listed = Command::new("ldd").arg(&me).output()?;
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let mut known: HashSet<String> = HashSet::new();
    for library in listed.split_whitespace().filter(|w| w.starts_with('/')) {
        let name = library.rsplit('/').next().unwrap_or_default().to_string();
        let there = lab.join("guest/lib").join(&name).exists() || name.starts_with("ld-linux");
        if !there && known.insert(name.clone()) {
            archive.entry(&format!("lib/{name}"), 0o100_755, &fs::read(library)?)?;
        }
    }
    archive.entry("TRAILER!!!", 0, &[])
}

/// An archive in the "newc" format.
struct Cpio(fs::File);

impl Cpio {
    fn entry(&mut self, name: &str, mode: u32, content: &[u8]) -> io::Result<()> {
        let fields = [1, mode, 0, 0, 1, 0, content.len() as u32, 0, 0, 0, 0, name.len() as u32 + 1, 0];
        let mut out = b"070701".to_vec();
        fields.iter().for_each(|f| out.extend(format!("{f:08x}").into_bytes()));
        out.extend(name.as_bytes());
        out.push(0);
        out.resize(out.len().next_multiple_of(4), 0);
        out.extend(content);
        out.resize(out.len().next_multiple_of(4), 0);
        self.0.write_all(&out)
    }

    fn tree(&mut self, dir: &Path, under: &str) -> io::Result<()> {
        for entry in fs::read_dir(dir)?.flatten() {
            let name = format!("{under}{}", entry.file_name().to_string_lossy());
            let meta = fs::metadata(entry.path())?;
            if meta.is_dir() {
                self.entry(&name, 0o040_755, &[])?;
                self.tree(&entry.path(), &format!("{name}/"))?;
            } else {
                self.entry(&name, 0o100_000 | (meta.permissions().mode() & 0o777), &fs::read(entry.path())?)?;
            }
        }
        Ok(())
    }
}

// ------------------------------------------------------------ the guest ---

/// Ends the machine: the kernel does not go on without its first process.
fn guest() {
    let done = std::panic::catch_unwind(|| {
        mounts();
        verifies();
        for name in ["codel", "pie", "titrate", "cp-aqm", "fq-codel", "santa", "dualpi2", "sfq", "fq"] {
            carries(name);
        }
        marks("127.0.0.1:0");
        marks("[::1]:0");
        refuses();
    });
    match done {
        Ok(()) => println!("{PASSED}"),
        Err(_) => println!("machine: FAILED"),
    }
    sleep(Duration::from_millis(200));
    exit(0);
}

fn mounts() {
    for (kind, at) in [
        ("devtmpfs", "/dev"),
        ("proc", "/proc"),
        ("sysfs", "/sys"),
        ("bpf", "/sys/fs/bpf"),
        ("tmpfs", "/run"),
    ] {
        let [kind_c, at_c] = [kind, at].map(|s| CString::new(s).expect("no NUL"));
        // SAFETY: C strings and no data.
        let rc = unsafe { libc::mount(kind_c.as_ptr(), at_c.as_ptr(), kind_c.as_ptr(), 0, std::ptr::null()) };
        assert_eq!(rc, 0, "mount {kind}: {}", io::Error::last_os_error());
    }
    let up = Command::new("/usr/sbin/ip").args(["link", "set", "lo", "up"]).status();
    assert!(up.is_ok_and(|s| s.success()), "lo");
}

/// Each in less than a minute, on an emulated processor.
fn verifies() {
    let mut refused = Vec::new();
    let only: Vec<String> = std::env::args().skip(1).collect();
    for name in linux::names().into_iter().filter(|n| only.is_empty() || only.contains(n)) {
        let begun = Instant::now();
        if let Err(e) = linux::verify(find(&name).expect("in the registry")) {
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
    let spec = Spec::new(find(name).expect("in the registry"));
    let plan = linux::plan("lo", name, spec.clone(), port).unwrap_or_else(|e| panic!("{e}"));
    linux::attach(&plan).unwrap_or_else(|e| panic!("{e}"));
    assert!(root().contains(&plan.record.kind), "{}", root());
    let again = linux::plan("lo", name, spec.clone(), port);
    assert!(matches!(again, Err(linux::Error::Input(_))), "attached twice");

    let receiver = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    receiver.set_read_timeout(Some(Duration::from_millis(500))).expect("a timeout");
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

/// CoDel marks packets that say ECT(0), of IPv4 and of IPv6, and drops none.
fn marks(address: &str) {
    let port = linux::Port { rate: 8_000_000, limit_packets: 1000, ..linux::Port::default() };
    let mut spec = Spec::new(find("codel").expect("in the registry"));
    spec.set("ecn", Value::Flag(true)).expect("it has that");
    linux::attach(&linux::plan("lo", "codel:ecn=true", spec, port).unwrap_or_else(|e| panic!("{e}")))
        .unwrap_or_else(|e| panic!("{e}"));
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
    let (mut received, mut ce) = (0, 0);
    let mut take = || {
        while let Some(ecn) = ecn_of_next(&receiver) {
            received += 1;
            ce += u64::from(ecn == 3);
        }
        received
    };
    let mut sent = 0;
    let mut give = |n: u64| {
        for _ in 0..n {
            sent += u64::from(sender.send_to(&[0; 958], to).is_ok());
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
    let begun = Instant::now();
    let mut came = take();
    while came < sent && begun.elapsed() < Duration::from_secs(10) {
        sleep(Duration::from_millis(10));
        came = take();
    }
    let record = linux::record("lo").expect("attached");
    let stats = linux::status(&record).unwrap_or_else(|e| panic!("{e}")).stats;
    let asked: u64 = stats.marks.iter().sum();
    println!(
        "machine: codel to {address}: {sent} sent, {asked} to be marked, {} set, {ce} came with CE",
        stats.ce_set
    );
    assert_eq!((stats.marking, stats.drops.iter().sum::<u64>(), came), (2, 0, sent));
    assert!(asked >= 2 && stats.ce_set >= 1 && stats.ce_set == ce && ce <= asked);
    linux::detach("lo").unwrap_or_else(|e| panic!("{e}"));
}

fn option(socket: &UdpSocket, level: i32, name: i32, value: i32) {
    // SAFETY: a live socket and an int.
    let rc = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast(), 4) };
    assert_eq!(rc, 0, "setsockopt {name}: {}", io::Error::last_os_error());
}

/// Takes a packet off the socket; the ECN field of its header.
fn ecn_of_next(socket: &UdpSocket) -> Option<u8> {
    let (mut data, mut control) = ([0u8; 2000], [0u64; 16]);
    let mut part = libc::iovec { iov_base: data.as_mut_ptr().cast(), iov_len: data.len() };
    // SAFETY: all zero is an empty message.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control);
    // SAFETY: the buffers live, and the kernel fills in what fits.
    unsafe {
        if libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0) < 0 {
            return None;
        }
        let first = libc::CMSG_FIRSTHDR(&raw const message);
        assert!(!first.is_null(), "no ECN field came with it");
        Some(*libc::CMSG_DATA(first) & 3)
    }
}

fn refuses() {
    let spec = Spec::new(find("codel").expect("in the registry"));
    let gone = linux::plan("nodev", "codel", spec, linux::Port::default());
    assert!(matches!(gone, Err(linux::Error::Input(_))));
    assert!(matches!(linux::detach("lo"), Err(linux::Error::Input(_))));
}
