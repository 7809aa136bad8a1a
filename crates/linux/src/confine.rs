//! What a process that only reads gives away for good, before it hears of anybody.

use crate::Error;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, remove_capability_from_bounding_set, set_capabilities,
    set_no_new_privs,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};
use std::collections::BTreeMap;
use std::env::consts::ARCH;

/// `enum bpf_cmd` of linux/bpf.h: looking into a map, opening what is pinned, asking what it is.
const READING: [u64; 3] = [1, 7, 15];

/// The calls of a program that reads files and maps, answers on sockets and asks `tc` (which speaks netlink). Not here, among
/// others: making, renaming and removing files, mounts, namespaces, modules, keys, ptrace, io_uring, perf, signals to
/// others; nor `openat2`, of which a filter cannot see how it is to open. Files are opened for reading alone.
const CALLS: &[i64] = &[
    // Files.
    libc::SYS_chdir,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_fadvise64,
    libc::SYS_flock,
    libc::SYS_fstat,
    libc::SYS_fstatfs,
    libc::SYS_getcwd,
    libc::SYS_getdents64,
    libc::SYS_lseek,
    libc::SYS_newfstatat,
    libc::SYS_pipe2,
    libc::SYS_pread64,
    libc::SYS_read,
    libc::SYS_readlinkat,
    libc::SYS_readv,
    libc::SYS_statfs,
    libc::SYS_statx,
    libc::SYS_write,
    libc::SYS_writev,
    // Sockets and waiting.
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_bind,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_eventfd2,
    libc::SYS_getpeername,
    libc::SYS_getsockname,
    libc::SYS_getsockopt,
    libc::SYS_listen,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_sendmmsg,
    libc::SYS_sendmsg,
    libc::SYS_sendto,
    libc::SYS_setsockopt,
    libc::SYS_shutdown,
    // Memory and time.
    libc::SYS_brk,
    libc::SYS_clock_getres,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_getrandom,
    libc::SYS_gettimeofday,
    libc::SYS_madvise,
    libc::SYS_membarrier,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_nanosleep,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_settime,
    // Threads, and tc.
    libc::SYS_capget,
    libc::SYS_execve,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_futex,
    libc::SYS_getegid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_getrusage,
    libc::SYS_gettid,
    libc::SYS_getuid,
    libc::SYS_prctl,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_set_robust_list,
    libc::SYS_set_tid_address,
    libc::SYS_sigaltstack,
    libc::SYS_sysinfo,
    libc::SYS_uname,
    libc::SYS_wait4,
    libc::SYS_waitid,
];

/// All of CLONE_NEW...: no namespaces.
const NAMESPACES: i32 = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET;
/// Of linux/sockios.h: a device's name by its number, and that by its name.
const SIOCGIFNAME: libc::c_ulong = 0x8910;
const SIOCGIFINDEX: libc::c_ulong = 0x8933;

/// Older calls, for which other machines have but the newer ones.
#[cfg(target_arch = "x86_64")]
const OLDER: &[i64] = &[
    libc::SYS_access,
    libc::SYS_arch_prctl,
    libc::SYS_dup2,
    libc::SYS_epoll_wait,
    libc::SYS_getrlimit,
    libc::SYS_lstat,
    libc::SYS_pipe,
    libc::SYS_poll,
    libc::SYS_readlink,
    libc::SYS_select,
    libc::SYS_stat,
    libc::SYS_time,
    libc::SYS_vfork,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[i64] = &[];

/// From now on this thread, and those and the programs that it starts, only read: of the capabilities CAP_BPF is left, where it
/// was there, without which the kernel opens no map; and of the system calls those that reading takes.
/// Others fail as if there were none (ENOSYS), so that a C library tries older ones.
///
/// # Errors
/// If the kernel does not let it.
pub fn confine() -> Result<(), Error> {
    let wrong = |what: &str, e: &dyn std::fmt::Display| Error::System(format!("{what}: {e}"));
    set_no_new_privs(true).map_err(|e| wrong("no new privileges", &e))?;
    let has = capabilities(None).map_err(|e| wrong("capabilities", &e))?;
    // Without CAP_SETPCAP it stays; with no new privileges no program comes by what is in it.
    for one in CapabilitySet::all().difference(CapabilitySet::BPF).iter() {
        let _ = remove_capability_from_bounding_set(one);
    }
    let left = CapabilitySets {
        effective: has.effective & CapabilitySet::BPF,
        permitted: has.permitted & CapabilitySet::BPF,
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, left).map_err(|e| wrong("capabilities", &e))?;
    let filter = filter().map_err(|e| wrong("seccomp", &e))?;
    apply_filter(&filter).map_err(|e| wrong("seccomp", &e))
}

fn filter() -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        CALLS.iter().chain(OLDER).map(|call| (*call, Vec::new())).collect();
    let only = |command| {
        SeccompRule::new(vec![SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, command)?])
    };
    // An argument's bits under a mask.
    let masked = |argument, mask: i32, bits: i32| {
        let (op, bits) = (SeccompCmpOp::MaskedEq(u64::from(mask as u32)), u64::from(bits as u32));
        SeccompRule::new(vec![SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, bits)?])
    };
    let one_of = |argument, all: &[i32]| {
        all.iter().map(|value| masked(argument, -1, *value)).collect::<Result<Vec<_>, _>>()
    };
    let writing = libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC;
    rules.insert(libc::SYS_openat, vec![masked(2, writing, libc::O_RDONLY)?]);
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_open, vec![masked(1, writing, libc::O_RDONLY)?]);
    // A pin is open for writing, too: nothing of it comes into memory.
    rules.insert(libc::SYS_mmap, vec![masked(3, libc::MAP_TYPE, libc::MAP_PRIVATE)?]);
    // Threads and programs, and no namespaces; clone3, whose flags lie in memory, is absent, and a C library does without.
    rules.insert(libc::SYS_clone, vec![masked(0, NAMESPACES, 0)?]);
    // No signals by way of a file, no limits of others.
    let kept = [libc::F_DUPFD, libc::F_DUPFD_CLOEXEC, libc::F_GETFD, libc::F_SETFD, libc::F_GETFL];
    let mut of_files = one_of(1, &kept)?;
    of_files.push(SeccompRule::new(vec![
        SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, libc::F_SETFL as u64)?,
        SeccompCondition::new(2, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(libc::O_ASYNC as u64), 0)?,
    ])?);
    rules.insert(libc::SYS_fcntl, of_files);
    let asked = [
        libc::TCGETS,
        libc::TIOCGWINSZ,
        libc::FIONREAD,
        libc::FIONBIO,
        libc::FIOCLEX,
        SIOCGIFNAME,
        SIOCGIFINDEX,
    ];
    rules.insert(libc::SYS_ioctl, one_of(1, &asked.map(|call| call as i32))?);
    rules.insert(libc::SYS_prlimit64, vec![masked(0, -1, 0)?]);
    // They are connected to nobody: clients come by `accept`.
    rules.insert(libc::SYS_socket, one_of(0, &[libc::AF_UNIX, libc::AF_NETLINK])?);
    rules.insert(libc::SYS_socketpair, one_of(0, &[libc::AF_UNIX])?);
    rules.insert(libc::SYS_bpf, READING.into_iter().map(only).collect::<Result<_, _>>()?);
    let absent = SeccompAction::Errno(libc::ENOSYS as u32);
    SeccompFilter::new(rules, absent, SeccompAction::Allow, TargetArch::try_from(ARCH)?)?.try_into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::process::Command;

    /// On a thread of its own, as there is no way back.
    #[test]
    fn who_is_confined_reads_and_does_no_more() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "here").unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let (ready, is_ready) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            confine().unwrap();
            for gone in [
                fs::remove_file(&file),
                fs::write(&file, ""),
                fs::File::options().append(true).open(&file).map(drop),
                fs::rename(&file, file.with_extension("x")),
                fs::create_dir(file.with_extension("d")),
                std::os::unix::fs::symlink("/etc", file.with_extension("l")),
                std::os::unix::fs::chown(&file, Some(1), None),
            ] {
                assert_eq!(gone.unwrap_err().raw_os_error(), Some(libc::ENOSYS));
            }
            // By other ways: memory shared with others, a namespace, a signal, somebody's limits, a connection.
            let parent = i64::from(std::process::id());
            let (shared, user) =
                (i64::from(libc::MAP_SHARED | libc::MAP_ANONYMOUS), i64::from(libc::CLONE_NEWUSER));
            let tcp = i64::from(libc::AF_INET);
            for (call, args) in [
                (libc::SYS_mmap, [0, 4096, 3, shared, -1, 0]),
                (libc::SYS_clone, [user | i64::from(libc::SIGCHLD), 0, 0, 0, 0, 0]),
                (libc::SYS_clone3, [0; 6]),
                (libc::SYS_fcntl, [0, i64::from(libc::F_SETOWN), parent, 0, 0, 0]),
                (libc::SYS_fcntl, [0, i64::from(libc::F_SETFL), i64::from(libc::O_ASYNC), 0, 0, 0]),
                (libc::SYS_prlimit64, [parent, 7, 0, 0, 0, 0]),
                (libc::SYS_socket, [tcp, 1, 0, 0, 0, 0]),
                (libc::SYS_connect, [0; 6]),
                (libc::SYS_kill, [parent, 0, 0, 0, 0, 0]),
            ] {
                let [a, b, c, d, e, f] = args;
                // SAFETY: the filter lets none of them do anything.
                let rc = unsafe { libc::syscall(call, a, b, c, d, e, f) };
                let said = std::io::Error::last_os_error().raw_os_error();
                assert!(rc == -1 && said == Some(libc::ENOSYS), "{call} {args:?}: {said:?}");
            }
            // BPF_MAP_CREATE, BPF_PROG_LOAD; BPF_OBJ_GET gets as far as its arguments.
            for (command, why) in [(0, libc::ENOSYS), (5, libc::ENOSYS), (7, 0)] {
                // SAFETY: no attributes.
                let rc = unsafe { libc::syscall(libc::SYS_bpf, command, 0, 0) };
                let said = std::io::Error::last_os_error().raw_os_error();
                assert!(rc == -1 && (said == Some(why)) == (why != 0), "{command}: {said:?}");
            }
            let status = fs::read_to_string("/proc/thread-self/status").unwrap();
            let caps = status.lines().find_map(|l| l.strip_prefix("CapPrm:")).unwrap().trim();
            assert_eq!(u64::from_str_radix(caps, 16).unwrap() & !(1 << 39), 0, "{status}");
            assert_eq!(fs::read_to_string(&file).unwrap(), "here");
            // A program of the system's, as tc is.
            assert!(Command::new("ls").current_dir("/").output().unwrap().status.success());
            ready.send(()).unwrap();
            let _ = crate::serve(listener, None, || Ok(Vec::new()));
        });
        is_ready.recv().expect("the thread's assertions hold");
        let mut client = TcpStream::connect(at).unwrap();
        client.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
        let mut got = String::new();
        client.read_to_string(&mut got).unwrap();
        assert!(got.starts_with("HTTP/1.0 200 OK\r\n"), "{got}");
    }
}
