//! This machine itself, as far as a test may touch it: in a network namespace of its own, with a `/run` and a `/sys/fs/bpf`
//! that nobody else sees, and that are gone with the process.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long to wait for another test of this kind: a checkout's own are not run beside each other, but there may be several. One takes
/// 130 s of two cores that do other things besides.
const PATIENCE: Duration = Duration::from_secs(1500);

/// Has this machine for itself until the process ends: it counts what the kernel holds, whoever made it.
fn alone() -> Result<(), String> {
    // Any file that all on this machine share.
    let path = "/sys/fs/bpf";
    let file = File::open(path).map_err(|e| format!("{path}: {e}"))?;
    let begun = Instant::now();
    // SAFETY: an open file.
    while unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
        if begun.elapsed() > PATIENCE {
            return Err(format!("another test has locked {path}"));
        }
        sleep(Duration::from_millis(100));
    }
    std::mem::forget(file);
    Ok(())
}

/// Goes there; Err: why it cannot.
pub fn enter() -> Result<(), String> {
    let failed = |what: &str| format!("{what}: {}", io::Error::last_os_error());
    // SAFETY: flags only, and this process has no second thread yet; then mounts of C strings without data.
    unsafe {
        if libc::geteuid() != 0 {
            return Err("it needs root".into());
        }
        alone()?;
        if libc::unshare(libc::CLONE_NEWNET | libc::CLONE_NEWNS) != 0 {
            return Err(failed("unshare"));
        }
        let none = std::ptr::null();
        if libc::mount(none, c"/".as_ptr(), none, libc::MS_REC | libc::MS_PRIVATE, none.cast()) != 0 {
            return Err(failed("mount --make-rprivate /"));
        }
        let mounts: [(&CStr, &CStr); 2] = [(c"bpf", c"/sys/fs/bpf"), (c"tmpfs", c"/run")];
        for (kind, at) in mounts {
            if libc::mount(kind.as_ptr(), at.as_ptr(), kind.as_ptr(), 0, none.cast()) != 0 {
                return Err(failed(&format!("mount {}", at.to_string_lossy())));
            }
        }
    }
    let path = "/usr/sbin:/sbin:/usr/bin:/bin";
    for words in ["ip link set lo up", "tc qdisc add dev lo root htb", "tc qdisc del dev lo root"] {
        let mut all = words.split(' ');
        let done = Command::new(all.next().unwrap_or_default()).args(all).env("PATH", path).output();
        if !done.is_ok_and(|d| d.status.success()) {
            return Err(format!("{words} does not work"));
        }
    }
    match std::path::Path::new("/sys/kernel/btf/vmlinux").exists() {
        true => Ok(()),
        false => Err("the kernel does not describe its types".into()),
    }
}

/// Are all processes seen here? Else nothing counts as gone.
#[allow(dead_code, reason = "not every test needs it")]
pub fn sees_all() -> Result<(), &'static str> {
    // The number of the first PID namespace.
    let first = std::fs::read_link("/proc/self/ns/pid").is_ok_and(|own| own.ends_with("pid:[4026531836]"));
    if first {
        Ok(())
    } else {
        Err("not all processes are seen in a PID namespace: it needs root of the machine itself")
    }
}
