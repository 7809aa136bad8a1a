//! What will work on this machine, and what to do about the rest.

use crate::system::{self, read};
use crate::{Error, objects, record};

/// One thing that was looked at.
#[derive(Debug)]
pub struct Finding {
    /// What.
    pub what: &'static str,
    /// False: it stands in the way.
    pub good: bool,
    /// What was found, and what to do.
    pub found: String,
}

/// Looks at the machine and, if one is named, at a device.
///
/// # Errors
/// If there is no such device.
pub fn doctor(dev: Option<&str>) -> Result<Vec<Finding>, Error> {
    let mut all = vec![kernel(), types(), programs(), rights(), pins(), tc(), module(), ecn()];
    if let Some(dev) = dev {
        system::device(dev)?;
        all.extend([queues(dev), qdisc(dev), offloads(dev)]);
    }
    Ok(all)
}

fn finding(what: &'static str, good: bool, found: impl Into<String>) -> Finding {
    Finding { what, good, found: found.into() }
}

fn kernel() -> Finding {
    let release = system::kernel();
    match system::has_bpf_qdiscs() {
        Some(true) => finding("kernel", true, format!("Linux {release} with BPF qdiscs")),
        Some(false) => finding(
            "kernel",
            true,
            format!(
                "Linux {release} without BPF qdiscs (6.16 with CONFIG_NET_SCH_BPF has them): attach goes in front of htb, \
                 needs --rate, and has {}",
                objects::Host::Front.names().join(", ")
            ),
        ),
        None => {
            finding("kernel", false, format!("Linux {release}, which does not say whether it has BPF qdiscs"))
        }
    }
}

fn types() -> Finding {
    match std::fs::metadata("/sys/kernel/btf/vmlinux") {
        Ok(_) => finding("BTF", true, "the kernel describes its types"),
        Err(_) => finding(
            "BTF",
            false,
            "no /sys/kernel/btf/vmlinux: attach needs a kernel with CONFIG_DEBUG_INFO_BTF",
        ),
    }
}

fn programs() -> Finding {
    match objects::names() {
        names if names.is_empty() => finding(
            "programs",
            false,
            "this program was built without clang: install clang-19 and build again",
        ),
        names => finding("programs", true, names.join(", ")),
    }
}

fn rights() -> Finding {
    match system::lacking() {
        lacking if lacking.is_empty() => finding("rights", true, "CAP_NET_ADMIN, CAP_BPF, CAP_PERFMON"),
        lacking => finding(
            "rights",
            false,
            format!("lacks {}: run attach, set and detach with sudo", lacking.join(", ")),
        ),
    }
}

fn pins() -> Finding {
    let mounts = read("/proc/self/mounts").unwrap_or_default();
    match mounts.lines().any(|l| l.split_whitespace().nth(2) == Some("bpf")) {
        true => finding("pins", true, "a BPF file system is mounted"),
        false => finding("pins", false, "no BPF file system: mount -t bpf bpf /sys/fs/bpf"),
    }
}

fn tc() -> Finding {
    match system::tc("-V") {
        Ok(version) => finding("tc", true, version.trim()),
        Err(e) => finding("tc", false, e.to_string()),
    }
}

/// A second way, and the only one without BPF qdiscs: the qdiscs of the kernel module.
fn module() -> Finding {
    let loaded = std::path::Path::new("/sys/module/sch_queuewright").exists();
    // The kernel finds it there when tc names one of its qdiscs.
    let aliases = format!("/lib/modules/{}/modules.alias", system::kernel());
    let installed = read(aliases).is_some_and(|list| list.contains("sch_qw_codel"));
    match (loaded, installed) {
        (true, _) => finding(
            "module",
            true,
            "sch_queuewright is loaded: tc qdisc add ... qw_codel works, below htb too",
        ),
        (_, true) => {
            finding("module", true, "sch_queuewright is installed: tc qdisc add ... qw_codel loads it")
        }
        _ => finding(
            "module",
            true,
            "sch_queuewright is not here; it brings every queue manager as a qdisc for tc, below htb too: sudo make install-module",
        ),
    }
}

fn ecn() -> Finding {
    let asks = match read("/proc/sys/net/ipv4/tcp_ecn").as_deref() {
        Some("0") => "this machine's TCP never uses it (net.ipv4.tcp_ecn=0)",
        Some("1") => "this machine's TCP asks for it (net.ipv4.tcp_ecn=1)",
        Some("2") => "this machine's TCP takes it if asked, but does not ask (net.ipv4.tcp_ecn=2; 1 asks)",
        Some(_) => "this machine's TCP uses accurate ECN (net.ipv4.tcp_ecn)",
        None => "net.ipv4.tcp_ecn cannot be read",
    };
    let how = match system::sets_ce() {
        _ if system::has_bpf_qdiscs() == Some(false) => "htb's classifier sets CE on the packet that comes",
        true => "our module sets CE on the very packet",
        false => "a program in front of the qdisc sets CE on the flow's next packet",
    };
    finding("ECN", true, format!("{asks}; {how}"))
}

fn queues(dev: &str) -> Finding {
    finding(
        "queues",
        true,
        match system::queues(dev) {
            0 | 1 => format!("{dev} has one: nothing is lost"),
            n => format!(
                "{dev} has {n}: one root qdisc serves them all under one lock, --mq gives each its own"
            ),
        },
    )
}

fn qdisc(dev: &str) -> Finding {
    if let Some(there) = record(dev) {
        return finding("qdisc", true, format!("{} ({}), attached by this program", there.kind, there.text));
    }
    match system::root(dev) {
        Ok((line, others)) => match (system::words_of(&line), others) {
            (Some(_), true) => finding(
                "qdisc",
                false,
                format!("{}, with others below it, which detach could not put back", line.trim()),
            ),
            (Some(words), false) => finding("qdisc", true, format!("{words}: detach puts it back")),
            (None, _) => finding("qdisc", true, "the kernel's own choice: detach puts it back"),
        },
        Err(e) => finding("qdisc", false, e.to_string()),
    }
}

fn offloads(dev: &str) -> Finding {
    let Ok(shown) = system::tool("ethtool", &["-k", dev]) else {
        return finding("offloads", true, "not known: ethtool is not here");
    };
    let on = |name: &str| shown.lines().any(|l| l.trim_start().starts_with(&format!("{name}: on")));
    match on("tcp-segmentation-offload") || on("generic-segmentation-offload") {
        true => finding(
            "offloads",
            true,
            format!(
                "segmentation is on: up to 64 KB count as one packet; below 100mbit turn it off (ethtool -K {dev} tso off gso off)"
            ),
        ),
        false => finding("offloads", true, "segmentation is off: each packet counts for itself"),
    }
}
