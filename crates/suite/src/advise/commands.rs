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
    /// Do SQM's scripts know its limit (`get_limit` in sqm-scripts' functions.sh)? They have others hold what these hold by themselves.
    sqm: bool,
}

/// What one can put on by tc alone, the simplest first.
pub const BY_TC: [ByTc; 7] = [
    ByTc { name: "droptail", tc: "pfifo", most: 0, since: (2, 6), sqm: true },
    ByTc { name: "fq-codel", tc: "fq_codel", most: 0, since: (3, 5), sqm: true },
    ByTc { name: "codel", tc: "codel", most: 0, since: (3, 5), sqm: true },
    ByTc { name: "pie", tc: "pie", most: 0, since: (3, 14), sqm: true },
    // Its own limit, unless a parameter says otherwise.
    ByTc { name: "sfq", tc: "sfq", most: 127, since: (2, 6), sqm: true },
    ByTc { name: "fq", tc: "fq", most: 0, since: (3, 12), sqm: false },
    // 2.6.39
    ByTc { name: "sfb", tc: "sfb", most: 0, since: (3, 0), sqm: false },
];

/// In the order in which one would rather have them: what tc has by itself, the simplest first, then what these say that more kernels have, then
/// the others, as the registry has them.
pub fn simplest_first(names: &mut [String], more_have: &[String]) {
    let by_tc = |name: &str| BY_TC.iter().position(|d| d.name == name).unwrap_or(BY_TC.len());
    names.sort_by_key(|name| {
        let known = name.split(':').next().unwrap_or(name);
        let of_registry = queuewright_aqm::alone().position(|other| other == known);
        (by_tc(known), !more_have.iter().any(|more| more == known), of_registry)
    });
}

/// A port on which it is to be put.
#[derive(Debug, Clone)]
pub struct PutOn {
    /// The port's name.
    pub port: String,
    /// Packets that it holds, or about so many.
    pub packets: u32,
    /// Bytes, if that is what it counts.
    pub bytes: Option<u64>,
}

impl ByTc {
    /// What has parameters `attach` puts on, which has them by the names of here.
    fn of(written: &str) -> Option<&'static ByTc> {
        BY_TC.iter().find(|d| d.name == written)
    }

    /// With room for so many packets, or as many of them as it takes.
    fn limit(&self, packets: u32) -> u32 {
        if self.most > 0 { packets.min(self.most) } else { packets }
    }
}

/// As tc has it, with room for so many packets; none: it has not.
fn of_tc(written: &str, packets: u32) -> Option<String> {
    ByTc::of(written).map(|d| format!("{} limit {}", d.tc, d.limit(packets)))
}

/// How to put it, as `--aqm` has it, where packets wait already: on each of these ports, of which there are `several` with those where nobody waits.
pub(crate) fn on_ports(written: &str, dev: &str, places: &[&PutOn], several: bool) -> String {
    let mut out = String::from(
        "To put it on (as root), where packets wait: on the device of the slowest link. If that is not yours, shape to less than its rate.\n\n",
    );
    for place in places {
        if several {
            let _ = writeln!(out, "  # on the device of {}", place.port);
        }
        let dev = if places.len() > 1 { "DEV" } else { dev };
        let limit = place.bytes.map_or(format!("{}p", place.packets), |bytes| Unit::Bytes.show(bytes));
        out += &match of_tc(written, place.packets) {
            Some(tc) => format!("  tc qdisc replace dev {dev} root {tc}\n"),
            None => format!("  queuewright attach {dev} {written} --limit {limit}\n"),
        };
    }
    out
}

/// How to put it on a household's line, both ways: `attach` does it, and by tc what comes in is managed on an IFB device that it is sent
/// through. Each command waits for the one before; what was there is taken off first, so that they can be typed again.
pub(crate) fn on_line(written: &str, dev: &str, (down, up): (u64, u64)) -> String {
    // 15 bytes at most; of long names the end tells devices apart.
    let mut from = dev.len().saturating_sub(11);
    while !dev.is_char_boundary(from) {
        from += 1;
    }
    let ifb = format!("ifb-{}", &dev[from..]);
    // What is there may be of ours, or of tc's, whatever is put on now.
    let off = [
        format!("queuewright detach {dev}"),
        format!("tc qdisc del dev {dev} root"),
        format!("tc qdisc del dev {dev} ingress"),
        format!("ip link del {ifb}"),
    ]
    .map(|command| format!("{command} 2>/dev/null"))
    .join("; ");
    // One packet of 64 kB takes 5 ms at this rate.
    let slow = |bps: u64| bps < 100_000_000;
    let Some(tc) = of_tc(written, ROOM) else {
        let [up_rate, down_rate] = [up, down].map(|bps| Unit::Rate.show(bps));
        let lan = match slow(up) {
            true => {
                "\nOn a router packets of 64 kB, which take long on the way up, are put together where they come in. Turn that off: ip link set dev LAN gro_max_size 1.\n"
            }
            false => "",
        };
        return format!(
            "To put it on, as root (the first line takes off what is there, also to be rid of it again):\n\n  {off}\n  queuewright attach {dev} {written} --rate {up_rate} --ingress {down_rate} --limit {ROOM}p\n{lan}"
        );
    };
    let one = |dev: &str, bps: u64| {
        let rate = Unit::Rate.show(bps);
        [
            format!("tc qdisc add dev {dev} root handle 1: htb default 1"),
            format!("tc class add dev {dev} parent 1: classid 1:1 htb rate {rate} ceil {rate} quantum 1514"),
            format!("tc qdisc add dev {dev} parent 1:1 {tc}"),
        ]
    };
    let mut on = one(dev, up).to_vec();
    on.push(format!("ip link add {ifb} type ifb"));
    on.push(format!("ip link set {ifb} up"));
    on.extend(one(&ifb, down));
    on.push(format!("tc qdisc add dev {dev} handle ffff: ingress"));
    on.push(format!(
        "tc filter add dev {dev} parent ffff: protocol all u32 match u32 0 0 action mirred egress redirect dev {ifb}"
    ));
    let mut large = String::new();
    if slow(up) {
        let _ = writeln!(
            large,
            "Packets of 64 kB take long on the way up. Turn them off: ip link set dev {dev} gso_max_segs 1 (back: to what `ip -d link show {dev}` has as tso_max_segs), and on a router, where its other packets come in: ethtool -K LAN gro off."
        );
    }
    if slow(down) {
        let _ = writeln!(large, "And on the way down: ethtool -K {dev} gro off.");
    }
    format!(
        "To put it on, as root (the first line takes off what is there, also to be rid of it again; the part with {ifb} is for what comes in):\n\n  {off}\n  {}\n\n{large}",
        on.join(" &&\n  ")
    )
}

/// The same as a section of OpenWrt's /etc/config/sqm, whose scripts put it on again after a restart. None: they do not have it with that room.
pub(crate) fn of_sqm(written: &str, dev: &str, (down, up): (u64, u64)) -> Option<String> {
    let d = ByTc::of(written).filter(|d| d.sqm)?;
    let limit = d.limit(ROOM).to_string();
    let mut options = vec![
        ("enabled", "1".to_string()),
        ("interface", dev.into()),
        ("download", (down / 1000).to_string()),
        ("upload", (up / 1000).to_string()),
        ("qdisc", d.tc.into()),
        ("script", "simplest.qos".into()),
        // Without these two its page in a browser takes off the others.
        ("qdisc_advanced", "1".into()),
        ("qdisc_really_really_advanced", "1".into()),
        ("ilimit", limit.clone()),
        ("elimit", limit),
        // The discipline's own: by itself SQM has longer ones on slow lines.
        ("itarget", "default".into()),
        ("etarget", "default".into()),
    ];
    // As tc has it where nothing is said; SQM says it of all.
    if ["codel", "pie"].contains(&d.tc) {
        options.extend(["ingress_ecn", "egress_ecn"].map(|option| (option, "NOECN".into())));
    }
    let mut out = String::from("config queue\n");
    for (option, value) in options {
        let _ = writeln!(out, "    option {option} '{value}'");
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With the room that was tried, and as tc has it by itself.
    #[test]
    fn sqm_has_what_was_tried() {
        let section = |written| of_sqm(written, "eth0", (18_000_000, 4_750_000));
        let of = |written| section(written).unwrap_or_else(|| panic!("{written}"));
        for option in
            ["download '18000'", "upload '4750'", "interface 'eth0'", "qdisc 'fq_codel'", "ilimit '1000'"]
        {
            assert!(of("fq-codel").contains(&format!("    option {option}\n")), "{option}");
        }
        assert!(!of("fq-codel").contains("NOECN") && of("codel").contains("egress_ecn 'NOECN'"));
        assert!(of("sfq").contains("elimit '127'"));
        assert_eq!(["fq", "sfb", "titrate", "codel:target=10ms"].map(section), [const { None }; 4]);
    }

    /// On names that kernels take, and with the room that was tried.
    #[test]
    fn commands_are_of_what_was_tried() {
        let said = on_line("sfq", "enx001122334455", (19_000_000, 4_750_000));
        assert!(said.contains("dev ifb-01122334455 parent 1:1 sfq limit 127"), "{said}");
        let name = said.split("ip link add ").nth(1).unwrap().split(' ').next().unwrap();
        assert!(name.len() <= 15 && name.ends_with("334455"), "{name}");
        assert!(said.contains("ethtool -K enx001122334455 gro off"), "{said}");
        assert!(said.contains("ip link del ifb-01122334455 2>/dev/null\n"), "{said}");
        let said = on_line("red", "eth0", (190_000_000, 190_000_000));
        assert!(
            said.contains("queuewright attach eth0 red --rate 190mbit --ingress 190mbit --limit 1000p\n"),
            "{said}"
        );
        assert!(!said.contains("ethtool") && !said.contains("gro"), "{said}");
        // What has parameters is put on by those who know their names.
        let said = on_line("codel:target=10ms", "eth0", (19_000_000, 19_000_000));
        assert!(
            said.contains("eth0 codel:target=10ms --rate 19mbit --ingress 19mbit")
                && said.contains("LAN gro"),
            "{said}"
        );
        assert!(on_line("fq-codel", "ä".repeat(7).as_str(), (1, 1)).contains("ifb-"));
    }

    /// They can be typed again: what is there is taken off first, and nothing goes on behind a failure.
    #[test]
    fn each_command_waits_for_the_one_before() {
        for name in ["fq-codel", "titrate"] {
            let said = on_line(name, "eth0", (19_000_000, 4_750_000));
            let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("  ")).collect();
            let (last, before) = lines[1..].split_last().unwrap();
            assert!(before.iter().all(|line| line.ends_with(" &&")) && !last.ends_with("&&"), "{said}");
            assert!(lines[0].split(';').all(|one| one.ends_with(" 2>/dev/null")), "{said}");
            let made = before.iter().filter(|line| line.contains(" add ") && !line.contains("class")).count();
            // Two roots and what is below them, the IFB, the ingress; `attach` does all by itself.
            assert_eq!(made, if name == "titrate" { 0 } else { 6 }, "{said}");
        }
    }

    #[test]
    fn a_list_is_put_in_order() {
        let mut names = ["titrate", "fq-codel", "cebinae", "red", "droptail"].map(String::from);
        simplest_first(&mut names, &["red".to_string(), "titrate".into()]);
        assert_eq!(names, ["droptail", "fq-codel", "titrate", "red", "cebinae"]);
    }
}
