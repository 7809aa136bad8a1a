//! How to put a queue manager on a device: the commands.

use super::household::ROOM;
use queuewright_scenario::units::Unit;
use std::fmt::Write;

/// A queue manager that tc puts on without anything of ours.
#[derive(Debug, Clone, Copy)]
pub struct ByTc {
    /// Its name here.
    pub name: &'static str,
    /// As tc has it.
    pub tc: &'static str,
    /// The most packets that tc lets it hold; 0: as many as one likes.
    most: u32,
    /// The first Linux that has it (the versions of kernel.org's changelogs).
    pub since: (u32, u32),
}

/// What one can put on by tc alone, the simplest first.
pub const BY_TC: [ByTc; 6] = [
    ByTc { name: "droptail", tc: "pfifo", most: 0, since: (2, 6) },
    ByTc { name: "fq-codel", tc: "fq_codel", most: 0, since: (3, 5) },
    ByTc { name: "codel", tc: "codel", most: 0, since: (3, 5) },
    ByTc { name: "pie", tc: "pie", most: 0, since: (3, 14) },
    // Its own limit, unless a parameter says otherwise.
    ByTc { name: "sfq", tc: "sfq", most: 127, since: (2, 6) },
    ByTc { name: "fq", tc: "fq", most: 0, since: (3, 12) },
];

/// In the order in which one would rather have them: what tc has by itself, the simplest first, then the others as the registry has them.
pub fn simplest_first(names: &mut [String]) {
    let by_tc = |name: &str| BY_TC.iter().position(|d| d.name == name).unwrap_or(BY_TC.len());
    names.sort_by_key(|name| (by_tc(name), queuewright_aqm::alone().position(|known| known == name)));
}

/// As tc has it, with room for so many packets; none: it has not.
fn of_tc(name: &str, packets: u32) -> Option<String> {
    let d = BY_TC.iter().find(|d| d.name == name)?;
    let limit = if d.most > 0 { packets.min(d.most) } else { packets };
    Some(format!("{} limit {limit}", d.tc))
}

/// How to put it where packets wait already, on each of these ports: its name, and the packets that it holds.
pub(crate) fn on_ports(name: &str, dev: &str, ports: &[(String, u32)]) -> String {
    let mut out = String::from(
        "To put it on (as root), where packets wait: on the device of the slowest link. If that is not yours, shape to less than its rate.\n\n",
    );
    for (port, packets) in ports {
        if ports.len() > 1 {
            let _ = writeln!(out, "  # on the device of {port}");
        }
        let dev = if ports.len() > 1 { "DEV" } else { dev };
        out += &match of_tc(name, *packets) {
            Some(tc) => format!("  tc qdisc replace dev {dev} root {tc}\n"),
            None => format!("  queuewright attach {dev} {name} --limit {packets}p\n"),
        };
    }
    out
}

/// How to put it on a household's line, both ways: what comes in is managed on an IFB device that it is sent through.
pub(crate) fn on_line(name: &str, dev: &str, (down, up): (u64, u64)) -> String {
    // 15 bytes at most; of long names the end tells devices apart.
    let mut from = dev.len().saturating_sub(11);
    while !dev.is_char_boundary(from) {
        from += 1;
    }
    let ifb = format!("ifb-{}", &dev[from..]);
    let one = |dev: &str, bps: u64| {
        let rate = Unit::Rate.show(bps);
        match of_tc(name, ROOM) {
            Some(tc) => format!(
                "  tc qdisc add dev {dev} root handle 1: htb default 1\n  tc class add dev {dev} parent 1: classid 1:1 htb rate {rate} ceil {rate} quantum 1514\n  tc qdisc add dev {dev} parent 1:1 {tc}\n"
            ),
            None => format!("  queuewright attach {dev} {name} --rate {rate} --limit {ROOM}p\n"),
        }
    };
    let off = format!("  tc qdisc del dev {dev} root; tc qdisc del dev {dev} ingress; ip link del {ifb}");
    // One packet of 64 kB takes 5 ms at this rate.
    let large = match down.min(up) < 100_000_000 {
        true => format!("  ethtool -K {dev} tso off gso off gro off\n"),
        false => String::new(),
    };
    format!(
        "To put it on (as root; the second part is for what comes in):\n\n{large}{}\n  ip link add {ifb} type ifb && ip link set {ifb} up\n{}  tc qdisc add dev {dev} handle ffff: ingress\n  tc filter add dev {dev} parent ffff: protocol all u32 match u32 0 0 action mirred egress redirect dev {ifb}\n\nTo take it off again, or before other commands; what is not there is an error without harm:\n\n{off}\n",
        one(dev, up),
        one(&ifb, down)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On names that kernels take, and with the room that was tried.
    #[test]
    fn commands_are_of_what_was_tried() {
        let said = on_line("sfq", "enx001122334455", (19_000_000, 4_750_000));
        assert!(said.contains("dev ifb-01122334455 parent 1:1 sfq limit 127"), "{said}");
        let name = said.split("ip link add ").nth(1).unwrap().split(' ').next().unwrap();
        assert!(name.len() <= 15 && name.ends_with("334455"), "{name}");
        assert!(said.contains("ethtool -K enx001122334455 tso off"), "{said}");
        let said = on_line("red", "eth0", (190_000_000, 190_000_000));
        assert!(said.contains("queuewright attach eth0 red --rate 190mbit --limit 1000p"), "{said}");
        assert!(!said.contains("ethtool"), "{said}");
        assert!(on_line("fq-codel", "ä".repeat(7).as_str(), (1, 1)).contains("ifb-"));
    }

    #[test]
    fn a_list_is_put_in_order() {
        let mut names = ["titrate", "fq-codel", "red", "droptail"].map(String::from);
        simplest_first(&mut names);
        assert_eq!(names, ["droptail", "fq-codel", "titrate", "red"]);
    }
}
