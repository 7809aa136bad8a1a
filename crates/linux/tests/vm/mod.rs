//! A virtual machine of the lab's (`scripts/setup lab`) in which the test program itself is the first process.

use queuewright_machine::{Archive, Files, Machine, Owned};
use queuewright_testing::{Lack, left_out};
use std::collections::HashSet;
use std::ffi::CString;
use std::fs;
use std::io::{self, BufWriter};
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// What the guest prints at its end if all is well.
const PASSED: &str = "machine: passed";
/// What a process of the guest's prints that has found a fault, be it the first or not: what comes after it mends nothing.
const FAILED: &str = "machine: FAILED";
/// Longer than the slowest host needs: `abuse` takes 400 s of two cores that do other things besides. The runner's own deadline is later.
const PATIENCE: Duration = Duration::from_secs(3000);

/// A file of the initramfs: its name, mode and content.
pub struct File(pub String, pub u32, pub Vec<u8>);

/// Is this the machine's first process, which is to run the guest's part?
pub fn is_inside() -> bool {
    std::process::id() == 1
}

/// Runs the test: on the host it boots the machine with `files()` and these words, inside it is `guest`.
pub fn test(
    what: &str,
    words: &[String],
    files: impl FnOnce(&Path) -> Result<Vec<File>, Outcome>,
    guest: impl FnOnce(),
) {
    if is_inside() {
        return inside(guest);
    }
    match host(words, files) {
        Ok(()) => println!("test machine ... ok"),
        Err(Outcome::LeftOut(why)) => left_out(what, Lack::Setup, &why),
        Err(Outcome::Failed(why)) => panic!("{why}"),
    }
}

/// Ends the machine: the kernel does not go on without its first process, whose panic is its end.
pub fn inside(guest: impl FnOnce()) {
    mounts();
    // Until the kernel has measured its processor's clock its timers keep to ticks of 4 ms. With more processors than one
    // time is the host's, and the clock may be another.
    if std::thread::available_parallelism().is_ok_and(|n| n.get() == 1) {
        let clock = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        queuewright_testing::wait_for("the clock tsc", || {
            fs::read_to_string(clock).is_ok_and(|name| name == "tsc\n")
        });
    }
    guest();
    println!("{PASSED}");
    // The console's last line is to be out.
    sleep(Duration::from_millis(200));
    exit(0);
}

pub enum Outcome {
    /// The machine lacks what the test needs.
    LeftOut(String),
    Failed(String),
}

impl From<io::Error> for Outcome {
    fn from(e: io::Error) -> Self {
        Outcome::Failed(e.to_string())
    }
}

/// Of the program that is not there without clang.
#[allow(dead_code, reason = "not every test needs it")]
pub fn built_with_clang() -> Result<(), Outcome> {
    match queuewright_linux::names().is_empty() {
        true => Err(Outcome::LeftOut(
            "this program was built without clang: scripts/setup test installs it".into(),
        )),
        false => Ok(()),
    }
}

/// The lab's kernel, with this program as init.
fn host(words: &[String], files: impl FnOnce(&Path) -> Result<Vec<File>, Outcome>) -> Result<(), Outcome> {
    let lab = lab();
    let kernel = kernel_of(&lab)?;
    boot_this(&lab, &kernel, words, &files(&lab)?)
}

/// A kernel, with this program as init.
pub fn boot_this(lab: &Path, kernel: &Path, words: &[String], files: &[File]) -> Result<(), Outcome> {
    let dir = tempfile::tempdir()?;
    let initrd = dir.path().join("initrd");
    initramfs(lab, files, &initrd)?;
    boot(lab, kernel, &initrd, words, &Machines::default())
}

/// The folder of the lab.
pub fn lab() -> PathBuf {
    std::env::var_os("QUEUEWRIGHT_LAB").map_or_else(|| "../../build/lab".into(), PathBuf::from)
}

/// The lab's kernel.
pub fn kernel_of(lab: &Path) -> Result<PathBuf, Outcome> {
    let modules = lab.join("kernel/usr/lib/modules");
    let packed = fs::read_dir(&modules).into_iter().flatten().flatten().map(|e| e.path().join("vmlinuz"));
    let mut images = std::iter::once(lab.join("vmlinux")).chain(packed);
    images
        .find(|image| image.exists() && lab.join("guest").exists())
        .ok_or_else(|| Outcome::LeftOut("the lab is not set up: run scripts/setup lab".into()))
}

/// What differs from machine to machine.
pub struct Machines {
    /// With one, time is virtual: an instruction takes 2 ns however busy the host is, and sleeps cost nothing. So what the
    /// guest measures, and waits for, does not depend on the host's speed. With more it is the host's time.
    pub processors: u32,
    pub patience: Duration,
}

impl Default for Machines {
    fn default() -> Self {
        Machines { processors: 1, patience: PATIENCE }
    }
}

/// Boots a kernel with this initramfs, whose init gets the words, and waits for its end.
pub fn boot(
    lab: &Path,
    kernel: &Path,
    initrd: &Path,
    words: &[String],
    of: &Machines,
) -> Result<(), Outcome> {
    let dir = tempfile::tempdir()?;
    let console = dir.path().join("console");
    let machine = Machine {
        lab,
        kernel,
        initrd,
        line: &format!("no_timer_check -- {}", words.join(" ")),
        processors: of.processors,
        memory_mib: 1024,
        instruction_shift: (of.processors == 1).then_some(1),
        seed: 1,
    };
    let mut qemu = machine.command();
    qemu.arg("-serial").arg(format!("file:{}", console.display()));
    let mut machine = Owned(qemu.spawn()?);
    let begun = Instant::now();
    let ended = loop {
        if let Some(status) = machine.0.try_wait()? {
            break format!("QEMU ended ({status})");
        }
        if begun.elapsed() > of.patience {
            break format!("the machine did not come to an end within {} s", of.patience.as_secs());
        }
        sleep(Duration::from_millis(100));
    };
    let said = fs::read_to_string(&console).unwrap_or_default();
    for line in said.lines().filter(|l| l.starts_with("machine: ")) {
        println!("{}", line.trim_end());
        if let Some((what, why)) = line.strip_prefix("machine: LEFT OUT: ").and_then(|w| w.rsplit_once(" ("))
        {
            queuewright_testing::left_out(
                what,
                queuewright_testing::Lack::Kernel,
                &why.trim_end().trim_end_matches(')'),
            );
        }
    }
    match passed(&said) {
        true => Ok(()),
        false => Err(Outcome::Failed(format!("{ended}; {said}"))),
    }
}

/// Is all well, by what the guest has said?
pub fn passed(said: &str) -> bool {
    said.contains(PASSED) && !said.contains(FAILED)
}

/// The lab's guest with this program as init.
fn initramfs(lab: &Path, files: &[File], path: &Path) -> io::Result<()> {
    let mut archive = archive(path)?;
    archive.tree(&lab.join("guest"), "")?;
    let me = std::env::current_exe()?;
    archive.program("init", &fs::read(&me)?)?;
    // The libraries that it needs and the guest has not.
    let listed = Command::new("ldd").arg(&me).output()?;
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let mut known: HashSet<String> = HashSet::new();
    for library in listed.split_whitespace().filter(|w| w.starts_with('/')) {
        let name = library.rsplit('/').next().unwrap_or_default().to_string();
        let there = lab.join("guest/lib").join(&name).exists() || name.starts_with("ld-linux");
        if !there && known.insert(name.clone()) {
            archive.program(&format!("lib/{name}"), &fs::read(library)?)?;
        }
    }
    for File(name, mode, content) in files {
        archive.entry(name, *mode, content)?;
    }
    archive.finish()
}

/// An archive with the folders that every guest mounts something at.
pub fn archive(path: &Path) -> io::Result<Archive<BufWriter<fs::File>>> {
    let mut archive = Archive::new(BufWriter::new(fs::File::create(path)?));
    for folder in ["dev", "proc", "sys", "run", "tmp"] {
        archive.folder(folder)?;
    }
    Ok(archive)
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

/// A module of the lab's kernel, without its compression.
#[allow(dead_code, reason = "not every test needs one")]
pub fn module_of(lab: &Path, path: &str) -> Result<File, Outcome> {
    let modules = fs::read_dir(lab.join("kernel/usr/lib/modules"))?.flatten().next();
    let Some(modules) = modules else { return Err(Outcome::LeftOut("the lab has no modules".into())) };
    let packed = modules.path().join(format!("kernel/{path}.ko.xz"));
    let plain = Command::new("xz").arg("-dc").arg(&packed).output()?;
    let name = path.rsplit('/').next().unwrap_or(path);
    match plain.status.success() {
        true => Ok(File(format!("{name}.ko"), 0o100_644, plain.stdout)),
        false => {
            Err(Outcome::Failed(format!("{}: {}", packed.display(), String::from_utf8_lossy(&plain.stderr))))
        }
    }
}

/// Loads a module of the kernel's.
#[allow(dead_code, reason = "not every test needs one")]
pub fn loads(path: &str) {
    // So that the log can be read with few rights, too.
    fs::write("/proc/sys/kernel/dmesg_restrict", "0").expect("root may");
    let module = fs::File::open(path).expect("it is there");
    // SAFETY: a file and no parameters.
    let rc = unsafe { libc::syscall(libc::SYS_finit_module, module.as_raw_fd(), c"".as_ptr(), 0) };
    assert_eq!(rc, 0, "{path}: {}", io::Error::last_os_error());
}

/// Sets an option of a socket.
#[allow(dead_code, reason = "not every test needs it")]
pub fn option(socket: &UdpSocket, level: i32, name: i32, value: i32) {
    // SAFETY: a live socket and an int.
    let rc = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast(), 4) };
    assert_eq!(rc, 0, "setsockopt {name}: {}", io::Error::last_os_error());
}

/// Takes a packet off the socket; the ECN field of its header.
#[allow(dead_code, reason = "not every test needs it")]
pub fn ecn_of_next(socket: &UdpSocket) -> Option<u8> {
    next(socket).map(|(ecn, _)| ecn)
}

/// Takes a packet off the socket; the ECN field of its header, and its first four bytes.
pub fn next(socket: &UdpSocket) -> Option<(u8, u32)> {
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
        Some((*libc::CMSG_DATA(first) & 3, u32::from_ne_bytes([data[0], data[1], data[2], data[3]])))
    }
}
