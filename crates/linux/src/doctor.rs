//! What will work on this machine, and what to do about the rest.

use crate::hosts::{self, Host};
use crate::system::{self, read};
use crate::{Error, SPLIT_BELOW, before, front, names, netlink, record, records, repair};
use std::ffi::OsStr;

/// One thing that was looked at.
#[derive(Debug)]
pub struct Finding {
    /// What was looked at, such as the kernel's version.
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
    // Of what comes in it is the device that is looked at.
    let dev = dev.map(|dev| dev.strip_suffix(record::INCOMING).unwrap_or(dev));
    let mut all = vec![kernel(), types(), programs(), rights(), pins(), tc(), module(), ecn()];
    if system::has_bpf_qdiscs() == Some(false) {
        all.insert(1, htb());
    }
    if let Some(dev) = dev {
        let index = system::device(dev)?;
        let name = names::name_of(index).unwrap_or_default();
        all.extend([queues(&name), qdisc(dev, index, &name), offloads(&name)]);
    }
    // Whoever may not look sees what stands in the way above.
    for fault in repair::faults().unwrap_or_default() {
        all.push(finding("left", true, fault.line("doctor --repair")));
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
                "Linux {release} without BPF qdiscs ({} with CONFIG_NET_SCH_BPF has them): attach goes in front of htb, \
                 needs --rate, and has {}",
                Host::Qdisc.first_linux(),
                Host::Front.names().join(", ")
            ),
        ),
        None => {
            finding("kernel", false, format!("Linux {release}, which does not say whether it has BPF qdiscs"))
        }
    }
}

/// What `attach` needs where there are no BPF qdiscs.
fn htb() -> Finding {
    match system::lacks_for_front() {
        lacks if lacks.is_empty() => finding("htb", true, "htb and its classifier bpf are there"),
        lacks => finding("htb", false, format!("this kernel lacks {}", lacks.join(", "))),
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
    match hosts::names() {
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
            format!("lacks {}: run attach, set and detach with {}", lacking.join(", "), system::with_sudo()),
        ),
    }
}

fn pins() -> Finding {
    match record::pins(false) {
        Ok(_) => finding("pins", true, "a BPF file system is mounted"),
        Err(e) => finding("pins", false, e.to_string()),
    }
}

fn tc() -> Finding {
    match system::tc(OsStr::new(""), "-V") {
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
            "sch_queuewright is not here; it brings every discipline as a qdisc for tc, below htb too: make install-module SUDO=sudo",
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

fn queues(dev: &OsStr) -> Finding {
    finding(
        "queues",
        true,
        match system::queues(dev) {
            0 | 1 => format!("{} has one: nothing is lost", names::shown(dev)),
            n => format!(
                "{} has {n}: one root qdisc serves them all under one lock, --mq gives each its own",
                names::shown(dev)
            ),
        },
    )
}

fn qdisc(dev: &str, index: u32, name: &OsStr) -> Finding {
    if let Some(there) = record(dev) {
        let text = names::safe(&there.text);
        return finding("qdisc", true, format!("{} ({text}), attached by this program", there.kind));
    }
    // Whoever may not look does not know what ours would put back.
    if front::is_there(index).unwrap_or(false) && records().is_err() {
        return finding("qdisc", true, "a discipline in front of htb, attached by this program");
    }
    match before::before(name, index) {
        Ok(Some(words)) => finding("qdisc", true, format!("{words}: detach puts it back")),
        Ok(None) => finding("qdisc", true, "the kernel's own choice: detach puts it back"),
        Err(e) => finding("qdisc", false, e.to_string()),
    }
}

fn offloads(dev: &OsStr) -> Finding {
    let Some(on) = system::segments(dev) else {
        return finding("offloads", true, "not known: the device does not say");
    };
    // Without a word of the kernel's about it there are as many as there may be.
    let links = netlink::links().unwrap_or_default();
    let on = on && links.iter().find(|link| link.name == dev).is_none_or(|link| link.segments > 1);
    match on {
        true => finding(
            "offloads",
            true,
            format!(
                "segmentation is on: up to 64 KB come as one packet; attach splits them at rates below {} Mbit/s, but for what is forwarded: that was put together where it came in (ip link set dev IN gro_max_size 1)",
                SPLIT_BELOW / 1_000_000
            ),
        ),
        false => finding("offloads", true, "segmentation is off: each packet counts for itself"),
    }
}
