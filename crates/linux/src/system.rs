//! What is asked of the system: rights, devices, tc.

use crate::Error;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

/// Number of the network namespace that this process is in.
pub(crate) fn namespace() -> u64 {
    fs::metadata("/proc/self/ns/net").map_or(0, |m| m.ino())
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
pub(crate) fn has_bpf_qdiscs() -> Option<bool> {
    let types = fs::read("/sys/kernel/btf/vmlinux").ok()?;
    let name = b"\0bpf_struct_ops_Qdisc_ops\0";
    Some(types.windows(name.len()).any(|w| w == name))
}

/// Devices of this network namespace. (/sys shows those of the namespace in which it was mounted.)
pub(crate) fn devices() -> Vec<String> {
    let table = fs::read_to_string("/proc/self/net/dev").unwrap_or_default();
    let mut names: Vec<String> =
        table.lines().filter_map(|l| Some(l.split_once(':')?.0.trim().to_string())).collect();
    names.sort();
    names
}

pub(crate) fn device(dev: &str) -> Result<(), Error> {
    let known = devices();
    if known.iter().any(|d| d == dev) {
        return Ok(());
    }
    Err(Error::Input(format!("{dev:?} is no device here; there are: {}", known.join(", "))))
}

/// Number of a device of this network namespace. (/sys may be another's.)
pub(crate) fn index(dev: &str) -> Result<i32, Error> {
    let line = tool("ip", &["-o", "link", "show", "dev", dev])?;
    let number = line.split(':').next().and_then(|n| n.trim().parse().ok());
    number.ok_or_else(|| Error::System(format!("ip link says no number of {dev}: {line:?}")))
}

/// Is there a function in the kernel with which a BPF qdisc can set CE? Our module brings it, if it was
/// built with BTF.
pub(crate) fn sets_ce() -> bool {
    Path::new("/sys/kernel/btf/sch_queuewright").exists()
}

/// Transmit queues of a device.
pub(crate) fn queues(dev: &str) -> usize {
    let entries = fs::read_dir(format!("/sys/class/net/{dev}/queues")).into_iter().flatten().flatten();
    entries.filter(|e| e.file_name().to_string_lossy().starts_with("tx-")).count()
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

/// Where maps and programs are pinned.
const BPF_FILE_SYSTEM: &str = "/sys/fs/bpf";

/// Is there a BPF file system? What to do if not.
pub(crate) fn bpf_file_system() -> Result<(), Error> {
    let mounts = read("/proc/self/mounts").unwrap_or_default();
    let mut kinds = mounts.lines().filter_map(|l| {
        let mut words = l.split_whitespace().skip(1);
        (words.next() == Some(BPF_FILE_SYSTEM)).then(|| words.next())?
    });
    // The last one hides those before.
    if kinds.next_back() == Some("bpf") {
        return Ok(());
    }
    Err(Error::System(format!(
        "no BPF file system at {BPF_FILE_SYSTEM}: mount -t bpf bpf {BPF_FILE_SYSTEM} \
         (ip netns exec NAME hides it: use nsenter --net=/run/netns/NAME)"
    )))
}

/// What this kernel lacks to have a queue manager in front of htb.
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

/// Runs a program of the system's; what it printed.
pub(crate) fn tool(program: &str, words: &[&str]) -> Result<String, Error> {
    let path =
        format!("/usr/sbin:/sbin:{}", std::env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".into()));
    let asked = format!("{program} {}", words.join(" "));
    let done = Command::new(program).args(words).env("PATH", path).output();
    let done = done.map_err(|e| Error::System(format!("{asked}: {e}; install iproute2")))?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    // tc says all of its options then.
    let why: Vec<&str> = said.trim().lines().take_while(|l| !l.starts_with("Usage:")).collect();
    Err(Error::System(format!("{asked}: {}", why.join("; "))))
}

pub(crate) fn tc(words: &str) -> Result<String, Error> {
    tool("tc", &words.split_whitespace().collect::<Vec<_>>())
}

/// The root qdisc of a device as `tc qdisc show` has it, and whether it has others below it.
pub(crate) fn root(dev: &str) -> Result<(String, bool), Error> {
    let shown = tc(&format!("qdisc show dev {dev}"))?;
    let others = shown
        .lines()
        .any(|l| l.contains(" parent ") && !l.contains("qdisc ingress") && !l.contains("qdisc clsact"));
    let line = shown.lines().find(|l| l.contains(" root ")).unwrap_or("").to_string();
    Ok((line, others))
}

/// The root qdisc of a device in the words that make it again; None: the kernel put it there itself.
///
/// # Errors
/// If there is more than these words can bring back.
pub(crate) fn before(dev: &str) -> Result<Option<String>, Error> {
    let (line, others) = root(dev)?;
    let Some(words) = words_of(&line) else { return Ok(None) };
    let below = if others {
        "qdiscs"
    } else if has_own_classes(&tc(&format!("class show dev {dev}"))?) {
        "classes"
    } else if !tc(&format!("filter show dev {dev}"))?.trim().is_empty() {
        "filters"
    } else {
        return Ok(Some(words));
    };
    Err(Error::Input(format!(
        "{dev} has {below} below its root ({}), which detach could not put back: remove them first (tc qdisc del dev {dev} root)",
        line.trim()
    )))
}

/// Has somebody made classes, by what `tc class show` says? The flows of fq_codel and the bands of prio are classes too, and come
/// with their qdisc; so do the leaves that the kernel itself gives to classes, which no list of qdiscs has.
fn has_own_classes(shown: &str) -> bool {
    let own = ["htb", "hfsc", "drr", "qfq", "cbq"];
    shown.lines().any(|l| l.split_whitespace().nth(1).is_some_and(|kind| own.contains(&kind)))
}

/// Has the device a qdisc of this kind?
pub(crate) fn has(dev: &str, kind: &str) -> bool {
    let shown = tc(&format!("qdisc show dev {dev}")).unwrap_or_default();
    shown.lines().any(|l| l.split_whitespace().nth(1) == Some(kind))
}

/// A line of `tc qdisc show` in the words that make that qdisc again; None: the kernel put it there itself.
fn words_of(line: &str) -> Option<String> {
    let mut words = line.split_whitespace().skip(1);
    let (kind, handle) = (words.next()?, words.next()?);
    if handle == "0:" {
        return None;
    }
    let mut out = format!("handle {handle} {kind}");
    let mut rest = words.skip_while(|w| *w == "root").peekable();
    while let Some(word) = rest.next() {
        match word {
            // A counter, among htb's options.
            "refcnt" | "direct_packets_stat" => {
                rest.next();
            }
            // tc prints 1000p and 10240p, and reads them only without their unit.
            _ => {
                let count = word.strip_suffix('p').filter(|n| n.parse::<u64>().is_ok());
                out += " ";
                out += count.unwrap_or(word);
            }
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::{has_own_classes, words_of};

    #[test]
    fn classes_that_come_with_their_qdisc_are_nobodys() {
        assert!(has_own_classes(
            "class htb 1:10 root prio 0 rate 5Mbit ceil 5Mbit burst 1600b cburst 1600b "
        ));
        for own in
            ["", "class fq_codel 8001:3ab parent 8001: ", "class mq :1 root ", "class prio 1:1 parent 1: "]
        {
            assert!(!has_own_classes(own), "{own}");
        }
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
        let shown = "qdisc htb 5: root refcnt 3 r2q 10 default 0x10 direct_packets_stat 7 direct_qlen 1000";
        assert_eq!(words_of(shown).as_deref(), Some("handle 5: htb r2q 10 default 0x10 direct_qlen 1000"));
    }
}
