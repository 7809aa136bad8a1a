//! What is asked of the system: rights, devices, `tc`.

use crate::hosts::Host;
use crate::names::{self, safe};
use crate::{Error, netlink};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Cookie of the network namespace that this thread is in: until the next boot no other has it. (Inode numbers come again.)
pub(crate) fn namespace() -> u64 {
    let Ok(socket) = UnixDatagram::unbound() else { return 0 };
    let (mut cookie, mut size) = (0u64, 8);
    // SAFETY: a live socket, and a place of the size that is named.
    let rc = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_NETNS_COOKIE,
            (&raw mut cookie).cast(),
            &raw mut size,
        )
    };
    if rc == 0 { cookie } else { 0 }
}

/// A file of the kernel's in one line.
pub(crate) fn read(path: impl AsRef<Path>) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_string())
}

/// Release of the running kernel.
pub(crate) fn kernel() -> String {
    read("/proc/sys/kernel/osrelease").unwrap_or_else(|| "unknown".into())
}

/// Has this kernel BPF qdiscs? None: it does not say (no BTF). Its own type information tells it best.
pub fn has_bpf_qdiscs() -> Option<bool> {
    // Some MB, which do not change.
    static HAS: OnceLock<Option<bool>> = OnceLock::new();
    *HAS.get_or_init(|| {
        Some(describes(&fs::read("/sys/kernel/btf/vmlinux").ok()?, "bpf_struct_ops_Qdisc_ops"))
    })
}

/// Has this kernel places for programs beside tc's own (tcx)?
pub(crate) fn has_tcx() -> bool {
    fs::read("/sys/kernel/btf/vmlinux").is_ok_and(|types| describes(&types, "tcx_link_attach"))
}

/// Is there a function in the kernel with which a BPF qdisc can set CE? Our module brings it, if it was
/// built with BTF.
pub fn sets_ce() -> bool {
    Path::new("/sys/kernel/btf/sch_queuewright").exists()
}

/// What `ip -j` says, or null.
pub(crate) fn json(program: &str, words: &[&OsStr]) -> serde_json::Value {
    let shown = tool(program, words, None).unwrap_or_default();
    // ip puts names there as they are.
    let control = |c: char| c.is_control() && c != '\n';
    let shown: String = shown.chars().map(|c| if control(c) { '?' } else { c }).collect();
    serde_json::from_str(&shown).unwrap_or_default()
}

/// The number of a device, or which there are.
pub(crate) fn device(dev: &str) -> Result<u32, Error> {
    names::index(dev).ok_or_else(|| {
        let mut known: Vec<String> =
            netlink::links().unwrap_or_default().iter().map(|l| names::text_of(&l.name, l.index)).collect();
        known.sort();
        let known: Vec<String> = known.iter().map(|dev| names::with_name(dev)).collect();
        Error::Input(format!("{} is no device here; there are: {}", names::quoted(dev), known.join(", ")))
    })
}

/// Transmit queues of a device of this network namespace. (/sys may show another's.)
pub(crate) fn queues(dev: &OsStr) -> usize {
    let words = ["-d", "-j", "link", "show", "dev"].map(OsStr::new);
    let all = json("ip", &[&words[..], &[dev]].concat());
    all[0]["num_tx_queues"].as_u64().unwrap_or(0) as usize
}

/// A processor's time that a program may take, s: they take some ms.
const MOST_SECONDS: u64 = 10;

/// What attaching needs, by their numbers in linux/capability.h.
const RIGHTS: [(u32, &str); 3] = [(12, "CAP_NET_ADMIN"), (38, "CAP_PERFMON"), (39, "CAP_BPF")];

/// Has this process the capability of this number in linux/capability.h?
pub fn capable(number: u32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|l| l.strip_prefix("CapEff:"));
    let mask = mask.and_then(|m| u64::from_str_radix(m.trim(), 16).ok()).unwrap_or(0);
    mask >> number & 1 == 1
}

/// The capabilities that this process lacks.
pub(crate) fn lacking() -> Vec<&'static str> {
    RIGHTS.iter().filter(|(number, _)| !capable(*number)).map(|(_, name)| *name).collect()
}

/// How to run this program as root: by its path, as sudo looks for commands in folders of its own and not in the user's.
pub fn with_sudo() -> String {
    let program = std::env::current_exe().ok();
    // Python's is not all of the command.
    match program.filter(|path| path.file_stem().is_some_and(|name| name == "queuewright")) {
        Some(path) => format!("sudo {}", names::shown(path.as_os_str())),
        None => "sudo".into(),
    }
}

pub(crate) fn rights() -> Result<(), Error> {
    let lacking = lacking();
    if lacking.is_empty() {
        return Ok(());
    }
    Err(Error::System(format!(
        "this needs CAP_NET_ADMIN, CAP_BPF and CAP_PERFMON, and this process lacks {}; run it with {}",
        lacking.join(", "),
        with_sudo()
    )))
}

/// Is a path in a file system of this kind (the number in statfs(2))?
pub(crate) fn is_file_system(path: &Path, kind: u64) -> bool {
    rustix::fs::statfs(path).is_ok_and(|s| s.f_type as u64 == kind)
}

/// Can BPF programs have loops here whose rounds the verifier need not count? None: the kernel does not describe its types.
pub(crate) fn has_loops() -> Option<bool> {
    Some(describes(&fs::read("/sys/kernel/btf/vmlinux").ok()?, LOOPS))
}

/// Whether a kernel has such loops shows in this function of its.
const LOOPS: &str = "bpf_iter_num_new";

/// Do a kernel's types name this one?
fn describes(types: &[u8], name: &str) -> bool {
    let name = [b"\0", name.as_bytes(), b"\0"].concat();
    types.windows(name.len()).any(|w| w == name)
}

/// What this kernel lacks to have a discipline in front of htb.
pub(crate) fn lacks_for_front() -> Vec<String> {
    let types = fs::read("/sys/kernel/btf/vmlinux").unwrap_or_default();
    let modules = Modules::read();
    let built_in = |function: &str| describes(&types, function);
    [
        (built_in("htb_enqueue") || modules.has("sch_htb"), "htb (CONFIG_NET_SCH_HTB)".to_string()),
        (
            built_in("cls_bpf_classify") || modules.has("cls_bpf"),
            "the classifier bpf (CONFIG_NET_CLS_BPF)".into(),
        ),
        (built_in(LOOPS), format!("loops in BPF programs (Linux {})", Host::Front.first_linux())),
    ]
    .into_iter()
    .filter_map(|(there, what)| (!there).then_some(what))
    .collect()
}

/// The modules that this kernel has.
struct Modules {
    /// `modules.dep`: those that can be loaded.
    list: String,
}

impl Modules {
    fn read() -> Modules {
        Modules { list: read(format!("/lib/modules/{}/modules.dep", kernel())).unwrap_or_default() }
    }

    /// Is it loaded, or to be loaded when tc names it?
    fn has(&self, name: &str) -> bool {
        let file = format!("/{name}.ko");
        Path::new("/sys/module").join(name).exists()
            || self.list.lines().any(|l| l.split(':').next().is_some_and(|l| l.contains(&file)))
    }
}

/// Those of these qdiscs, as tc calls them, that this kernel has, built in or as modules.
pub fn qdiscs<'a>(kinds: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let modules = Modules::read();
    let symbols = read("/proc/kallsyms").unwrap_or_default();
    let names: HashSet<&str> = symbols.lines().filter_map(|l| l.split(' ').nth(2)).collect();
    let has = |kind: &&str| {
        // pfifo is always there.
        matches!(*kind, "pfifo" | "bfifo")
            || modules.has(&format!("sch_{kind}"))
            || names.contains(format!("{kind}_init").as_str())
    };
    kinds.into_iter().filter(has).collect()
}

/// As what this machine's kernel has disciplines of ours; none: it has none (no BTF, no BPF qdiscs and no htb that can be asked).
pub fn host() -> Option<Host> {
    match has_bpf_qdiscs()? {
        true => Some(Host::Qdisc),
        false => lacks_for_front().is_empty().then_some(Host::Front),
    }
}

/// A program of the system's. Who is root runs no other's, whatever the environment says.
pub fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", programs()).env("LC_ALL", "C");
    command
}

/// Where programs are (`PATH`) that may be run.
pub(crate) fn programs() -> String {
    let system = "/usr/sbin:/sbin:/usr/bin:/bin";
    match rustix::process::geteuid().is_root() {
        true => system.into(),
        false => format!("{system}:{}", std::env::var("PATH").unwrap_or_default()),
    }
}

/// Has a process that outlives this one begin in `/`, with no file of this one's but its three standard ones: what it would inherit
/// (a lock of the caller's, a folder to be unmounted) it would hold for as long as it lives.
pub fn apart(command: &mut Command) -> &mut Command {
    let close = || {
        // SAFETY: it is called between fork and exec; files are marked, none is closed or used.
        unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
        Ok(())
    };
    // SAFETY: one system call, and no memory is touched.
    unsafe { command.current_dir("/").pre_exec(close) }
}

/// Runs a program of the system's; what it printed. `alone` is held until it has ended, also if this process dies before.
pub(crate) fn tool(program: &str, words: &[&OsStr], alone: Option<&File>) -> Result<String, Error> {
    let said: Vec<_> = words.iter().map(|w| names::shown(w)).collect();
    let asked = format!("{program} {}", said.join(" "));
    // Its standard input is not read: it is a way to have the lock.
    let held = alone.and_then(|f| f.try_clone().ok()).map_or(Stdio::null(), Stdio::from);
    let mut asking = command(program);
    asking.args(words).current_dir("/").stdin(held).stdout(Stdio::piped()).stderr(Stdio::piped());
    let done = asking.spawn().and_then(|child| {
        // Whoever has CAP_NET_ADMIN here can send to tc's socket without end, which tc reads.
        let most = Rlimit { current: Some(MOST_SECONDS), maximum: Some(MOST_SECONDS) };
        let _ = prlimit(Pid::from_raw(child.id().cast_signed()), Resource::Cpu, most);
        child.wait_with_output()
    });
    let done = done.map_err(|e| Error::System(format!("{asked}: {e}; install iproute2")))?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    // tc says all of its options then.
    let mut why: Vec<String> =
        said.trim().lines().take_while(|l| !l.starts_with("Usage:")).map(safe).collect();
    why.extend(done.status.signal().map(|signal| format!("ended by signal {signal}")));
    Err(Error::System(format!("{asked}: {}", why.join("; "))))
}

/// Asks tc, with a device in the place of `{dev}`, as one word whatever its name is.
pub(crate) fn tc(dev: &OsStr, words: &str) -> Result<String, Error> {
    tool("tc", &with_device(dev, words), None)
}

/// Has tc change something.
pub(crate) fn tc_change(alone: &File, dev: &OsStr, words: &str) -> Result<(), Error> {
    tool("tc", &with_device(dev, words), Some(alone)).map(drop).map_err(|e| {
        let said = e.to_string();
        let unknown = ["kind is unknown", "classifier not found"].iter().any(|words| said.contains(words));
        match lacks_for_front() {
            lacks if unknown && !lacks.is_empty() => {
                Error::System(format!("{said} This kernel lacks {}", lacks.join(", ")))
            }
            _ => e,
        }
    })
}

fn with_device<'a>(dev: &'a OsStr, words: &'a str) -> Vec<&'a OsStr> {
    words.split_ascii_whitespace().map(|w| if w == "{dev}" { dev } else { OsStr::new(w) }).collect()
}

/// Does a device take segments put together, which its own hardware (TSO) or the kernel (GSO) takes apart behind the qdisc? None: it
/// does not say (ioctl `SIOCETHTOOL` of linux/sockios.h and linux/ethtool.h).
pub(crate) fn segments(dev: &OsStr) -> Option<bool> {
    const SIOCETHTOOL: libc::Ioctl = 0x8946;
    const ETHTOOL_GTSO: u32 = 0x1e;
    const ETHTOOL_GGSO: u32 = 0x23;
    if dev.len() >= libc::IFNAMSIZ {
        return None;
    }
    let socket =
        rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::DGRAM, None).ok()?;
    let one = |what: u32| {
        let mut value = [what, 0];
        // SAFETY: all zeros are one, and its name then ends in the zeros behind it; `value` is a `struct ethtool_value`, which
        // these commands fill in, and outlives the call.
        let done = unsafe {
            let mut asked: libc::ifreq = std::mem::zeroed();
            for (to, from) in asked.ifr_name.iter_mut().zip(dev.as_bytes()) {
                *to = from.cast_signed() as libc::c_char;
            }
            asked.ifr_ifru.ifru_data = value.as_mut_ptr().cast();
            libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &mut asked)
        };
        (done == 0).then_some(value[1] != 0)
    };
    match (one(ETHTOOL_GTSO), one(ETHTOOL_GGSO)) {
        (None, None) => None,
        (tso, gso) => Some(tso.unwrap_or(false) || gso.unwrap_or(false)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_has_what_it_has() {
        assert_eq!(qdiscs(["no_such_qdisc", "pfifo"]), ["pfifo"]);
    }
}
