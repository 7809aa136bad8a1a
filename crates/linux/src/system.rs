//! What is asked of the system: rights, devices, `tc`.

use crate::Error;
use crate::netlink::{self, Entry};
use std::ffi::{CStr, CString, OsStr, OsString};
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::CommandExt;
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
        let types = fs::read("/sys/kernel/btf/vmlinux").ok()?;
        let name = b"\0bpf_struct_ops_Qdisc_ops\0";
        Some(types.windows(name.len()).any(|w| w == name))
    })
}

/// Names of this network namespace's devices, whatever bytes they have.
fn devices() -> Vec<OsString> {
    let mut all = Vec::new();
    // SAFETY: the list ends with a name that is null, its names are C strings, and it is given back.
    unsafe {
        let list = libc::if_nameindex();
        let mut at = list;
        while !at.is_null() && !(*at).if_name.is_null() {
            let name = CStr::from_ptr((*at).if_name).to_bytes().to_vec();
            all.push(OsString::from_vec(name));
            at = at.add(1);
        }
        if !list.is_null() {
            libc::if_freenameindex(list);
        }
    }
    all.sort();
    all
}

/// Number of a device of this network namespace.
pub(crate) fn index(dev: &str) -> Option<u32> {
    let name = CString::new(dev).ok()?;
    // SAFETY: a C string.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    (index > 0).then_some(index)
}

/// Name of the device with this number.
pub(crate) fn name_of(index: u32) -> Option<OsString> {
    let mut name = [0; libc::IF_NAMESIZE];
    // SAFETY: a place of the size that it asks for, in which it leaves a C string.
    unsafe {
        let found = libc::if_indextoname(index, name.as_mut_ptr());
        (!found.is_null()).then(|| OsString::from_vec(CStr::from_ptr(found).to_bytes().to_vec()))
    }
}

/// The number of a device, or which there are.
pub(crate) fn device(dev: &str) -> Result<u32, Error> {
    index(dev).ok_or_else(|| {
        let known: Vec<String> = devices().iter().map(|d| quoted(&d.to_string_lossy())).collect();
        Error::Input(format!("{dev:?} is no device here; there are: {}", known.join(", ")))
    })
}

/// A name as a terminal and a shell may have it: devices' names hold any bytes but spaces and slashes.
pub fn quoted(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.@:+%,=/".contains(c);
    match !name.is_empty() && name.chars().all(plain) {
        true => name.into(),
        false => format!("{name:?}"),
    }
}

/// The same of one that may be no text.
pub(crate) fn shown(name: &OsStr) -> String {
    name.to_str().map_or_else(|| format!("{name:?}"), quoted)
}

/// Text of others' with nothing in it that a terminal would obey.
pub fn safe(text: &str) -> String {
    let one = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(one).collect()
}

/// Is there a function in the kernel with which a BPF qdisc can set CE? Our module brings it, if it was
/// built with BTF.
pub(crate) fn sets_ce() -> bool {
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

/// Transmit queues of a device of this network namespace. (/sys may show another's.)
pub(crate) fn queues(dev: &OsStr) -> usize {
    let words = ["-d", "-j", "link", "show", "dev"].map(OsStr::new);
    let all = json("ip", &[&words[..], &[dev]].concat());
    all[0]["num_tx_queues"].as_u64().unwrap_or(0) as usize
}

/// A device's number, its name and the address of its link, in hexadecimal.
pub(crate) type Link = (u32, OsString, String);

/// Those of this thread's network namespace.
pub(crate) fn links() -> Vec<Link> {
    let mut all = Vec::new();
    let mut list = std::ptr::null_mut();
    // SAFETY: the list is made here, its names are C strings, an address is of the kind that it says, and all is given back.
    unsafe {
        if libc::getifaddrs(&raw mut list) != 0 {
            return all;
        }
        let mut at = list;
        while let Some(one) = at.as_ref() {
            at = one.ifa_next;
            let family = one.ifa_addr.as_ref().map(|address| i32::from(address.sa_family));
            if family != Some(libc::AF_PACKET) {
                continue;
            }
            let link = one.ifa_addr.cast::<libc::sockaddr_ll>().read_unaligned();
            let bytes = link.sll_addr.get(..link.sll_halen.into()).unwrap_or(&link.sll_addr);
            let address = bytes.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(":");
            let name = CStr::from_ptr(one.ifa_name).to_bytes().to_vec();
            all.push((link.sll_ifindex as u32, OsString::from_vec(name), address));
        }
        libc::freeifaddrs(list);
    }
    all
}

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
        Some(path) => format!("sudo {}", path.display()),
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

/// What this kernel lacks to have a discipline in front of htb.
pub(crate) fn lacks_for_front() -> Vec<&'static str> {
    let types = fs::read("/sys/kernel/btf/vmlinux").unwrap_or_default();
    let list = read(format!("/lib/modules/{}/modules.dep", kernel())).unwrap_or_default();
    let built_in = |function: &str| {
        let name = [b"\0", function.as_bytes(), b"\0"].concat();
        types.windows(name.len()).any(|w| w == name)
    };
    // Loaded, or to be loaded when tc names it.
    let module = |name: &str| {
        Path::new("/sys/module").join(name).exists()
            || list.lines().any(|l| l.split(':').next().is_some_and(|l| l.contains(&format!("/{name}.ko"))))
    };
    [
        (built_in("htb_enqueue") || module("sch_htb"), "htb (CONFIG_NET_SCH_HTB)"),
        (built_in("cls_bpf_classify") || module("cls_bpf"), "the classifier bpf (CONFIG_NET_CLS_BPF)"),
        (built_in("bpf_iter_num_new"), "loops in BPF programs (Linux 6.4)"),
    ]
    .into_iter()
    .filter_map(|(there, what)| (!there).then_some(what))
    .collect()
}

/// A program of the system's. Who is root runs no other's, whatever the environment says.
pub fn command(program: &str) -> Command {
    let mut path = String::from("/usr/sbin:/sbin:/usr/bin:/bin");
    if !rustix::process::geteuid().is_root() {
        path = format!("{path}:{}", std::env::var("PATH").unwrap_or_default());
    }
    let mut command = Command::new(program);
    command.env_clear().env("PATH", path).env("LC_ALL", "C");
    command
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
    let said: Vec<_> = words.iter().map(|w| quoted(&w.to_string_lossy())).collect();
    let asked = format!("{program} {}", said.join(" "));
    // Its standard input is not read: it is a way to have the lock.
    let held = alone.and_then(|f| f.try_clone().ok()).map_or(Stdio::null(), Stdio::from);
    let done = command(program).args(words).current_dir("/").stdin(held).output();
    let done = done.map_err(|e| Error::System(format!("{asked}: {e}; install iproute2")))?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    // tc says all of its options then.
    let why: Vec<String> = said.trim().lines().take_while(|l| !l.starts_with("Usage:")).map(safe).collect();
    Err(Error::System(format!("{asked}: {}", why.join("; "))))
}

/// ClientSpec tc, with a device in the place of `{dev}`, as one word whatever its name is.
pub(crate) fn tc(dev: &OsStr, words: &str) -> Result<String, Error> {
    tool("tc", &with_device(dev, words), None)
}

/// Has tc change something.
pub(crate) fn tc_change(alone: &File, dev: &OsStr, words: &str) -> Result<(), Error> {
    tool("tc", &with_device(dev, words), Some(alone)).map(drop)
}

fn with_device<'a>(dev: &'a OsStr, words: &'a str) -> Vec<&'a OsStr> {
    words.split_ascii_whitespace().map(|w| if w == "{dev}" { dev } else { OsStr::new(w) }).collect()
}

/// Kinds of which tc shows less, or something else, than it reads: no `avpkt` and `bandwidth` of the RED family, no table of netem's
/// `distribution`, no `num_tc`, `offload on` of etf, no limit of plug (iproute2's q_*.c).
const UNREADABLE: [&str; 10] =
    ["red", "gred", "choke", "sfb", "netem", "multiq", "mqprio", "taprio", "etf", "plug"];

/// The root qdisc of a device in the words that make it again; None: the kernel put it there itself.
///
/// # Errors
/// If there is more than these words can bring back.
pub(crate) fn before(dev: &OsStr, index: u32) -> Result<Option<String>, Error> {
    let all = netlink::qdiscs(index)?;
    // The kernel's own has no number, 0.
    if all.iter().any(|q| q.is_root() && q.handle == 0) {
        return Ok(None);
    }
    // What tc prints of a qdisc is what it reads of it, but for a few words; so this one answer of its is read.
    let shown = tc(dev, "qdisc show dev {dev}")?;
    let line = shown.lines().find(|l| l.contains(" root ")).unwrap_or_default();
    let Some(words) = words_of(line) else { return Ok(None) };
    // Also a table of sizes, RED within sfq, and options of a kind that tc does not know.
    let unread = |q: &&Entry| {
        let word = |word: &str| word == "ewma" || word.starts_with('[');
        UNREADABLE.contains(&q.kind.as_str()) || q.has_sizes() || words.split(' ').any(word)
    };
    if let Some(Entry { kind, .. }) = all.iter().filter(|q| q.is_root()).find(unread) {
        let dev = quoted(&dev.to_string_lossy());
        return Err(Error::Input(format!(
            "{dev} has {kind} at its root, of which tc does not show all that it needs to make it again, so that detach could not put it back: remove it first (tc qdisc del dev {dev} root)"
        )));
    }
    let below = if all.iter().any(|q| !q.is_root() && !q.is_ingress() && q.handle != 0) {
        "qdiscs"
    } else if has_own_classes(&netlink::classes(index)?) {
        "classes"
    } else if !netlink::filters(index, 0)?.is_empty() {
        "filters"
    } else {
        return Ok(Some(words));
    };
    let dev = quoted(&dev.to_string_lossy());
    Err(Error::Input(format!(
        "{dev} has {below} below its root ({}), which detach could not put back: remove them first (tc qdisc del dev {dev} root)",
        line.trim()
    )))
}

/// Has somebody made classes? The flows of fq_codel and the bands of prio are classes too, and come
/// with their qdisc; so do the leaves that the kernel itself gives to classes, which no list of qdiscs has.
fn has_own_classes(all: &[Entry]) -> bool {
    let own = ["htb", "hfsc", "drr", "qfq", "cbq"];
    all.iter().any(|class| own.contains(&class.kind.as_str()))
}

/// Does a device take segments put together, which its own hardware (TSO) or the kernel (GSO) takes apart behind the qdisc? None: it
/// does not say (ioctl `SIOCETHTOOL` of linux/sockios.h and linux/ethtool.h).
pub(crate) fn segments(dev: &str) -> Option<bool> {
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
            for (to, from) in asked.ifr_name.iter_mut().zip(dev.bytes()) {
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

/// A line of `tc qdisc show` in the words that make that qdisc again; None: the kernel put it there itself.
fn words_of(line: &str) -> Option<String> {
    let mut words = line.split_whitespace().skip(1);
    let (kind, handle) = (words.next()?, words.next()?);
    if handle == "0:" {
        return None;
    }
    let mut out = format!("handle {handle} {kind}");
    // It shows its bands, and reads none.
    if kind == "pfifo_fast" {
        return Some(out);
    }
    let mut rest = words.skip_while(|w| *w == "root").peekable();
    while let Some(word) = rest.next() {
        match word {
            // A counter, among htb's options.
            "refcnt" | "direct_packets_stat" => {
                rest.next();
            }
            // It says so of hardware.
            "offloaded" => {}
            // cake's, by itself.
            "bandwidth" if rest.peek() == Some(&"unlimited") => {}
            // tc prints 1000p and 10sec, and 3028b of fq and hhf, and reads them only without their unit.
            _ => {
                let bytes = word.strip_suffix('b').filter(|_| ["fq", "hhf"].contains(&kind));
                let count = word.strip_suffix('p').or_else(|| word.strip_suffix("sec")).or(bytes);
                let count = count.filter(|n| n.parse::<u64>().is_ok());
                out += " ";
                out += count.unwrap_or(word);
            }
        }
    }
    // It is on unless that is said, and off is not shown.
    if kind == "fq_codel" && !out.split(' ').any(|w| w == "ecn") {
        out += " noecn";
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::{Entry, has_own_classes, words_of};

    #[test]
    fn classes_that_come_with_their_qdisc_are_nobodys() {
        let class = |kind: &str| {
            let mut entry = Entry::default();
            entry.kind = kind.into();
            entry
        };
        assert!(has_own_classes(&[class("fq_codel"), class("htb")]));
        assert!(!has_own_classes(&["fq_codel", "mq", "prio"].map(class)));
    }

    #[test]
    fn what_tc_shows_becomes_what_tc_reads() {
        assert_eq!(words_of("qdisc noqueue 0: root refcnt 2 "), None);
        assert_eq!(words_of(""), None);
        let shown = "qdisc codel 8001: root refcnt 2 limit 1000p target 5ms interval 100ms ecn ";
        assert_eq!(
            words_of(shown).as_deref(),
            Some("handle 8001: codel limit 1000 target 5ms interval 100ms ecn")
        );
        assert_eq!(
            words_of("qdisc pfifo_fast 8001: root refcnt 2 bands 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1")
                .as_deref(),
            Some("handle 8001: pfifo_fast")
        );
        let shown =
            "qdisc sfq 8002: root refcnt 2 limit 127p quantum 1514b depth 127 divisor 1024 perturb 10sec ";
        assert_eq!(
            words_of(shown).as_deref(),
            Some("handle 8002: sfq limit 127 quantum 1514b depth 127 divisor 1024 perturb 10")
        );
        for (shown, words) in [
            (
                "qdisc fq 8003: root refcnt 2 limit 77p flow_limit 9p buckets 1024 quantum 3028b initial_quantum 15140b ",
                "handle 8003: fq limit 77 flow_limit 9 buckets 1024 quantum 3028 initial_quantum 15140",
            ),
            (
                "qdisc cake 8004: root refcnt 2 bandwidth unlimited besteffort flowblind rtt 50ms raw overhead 0 ",
                "handle 8004: cake unlimited besteffort flowblind rtt 50ms raw overhead 0",
            ),
            (
                "qdisc fq_codel 8005: root refcnt 2 offloaded limit 700p flows 256 quantum 300 target 5ms interval 100ms ",
                "handle 8005: fq_codel limit 700 flows 256 quantum 300 target 5ms interval 100ms noecn",
            ),
        ] {
            assert_eq!(words_of(shown).as_deref(), Some(words));
        }
        let shown = "qdisc htb 5: root refcnt 3 r2q 10 default 0x10 direct_packets_stat 7 direct_qlen 1000";
        assert_eq!(words_of(shown).as_deref(), Some("handle 5: htb r2q 10 default 0x10 direct_qlen 1000"));
    }
}
