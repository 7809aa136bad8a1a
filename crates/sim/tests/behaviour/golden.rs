//! A table a discipline and a table a congestion control, kept as snapshots: a change of
//! behaviour is seen as a diff. Figures are rounded to what one can read, not to what may change.

use crate::bed::{drops, every_cca, marks, runs};
use std::fmt::Write;

/// (what, `[link]` and `[[flows]]`).
const TRAFFIC: [(&str, &str); 6] = [
    ("1 cubic", "[link]\nrate = \"20mbit\"\nbuffer = \"1bdp\"\n[[flows]]\ncca = \"cubic\"\nrtt = \"40ms\"\n"),
    ("1 bbr", "[link]\nrate = \"20mbit\"\nbuffer = \"2bdp\"\n[[flows]]\ncca = \"bbr\"\nrtt = \"40ms\"\n"),
    (
        "4 newreno",
        "[link]\nrate = \"20mbit\"\nbuffer = \"2bdp\"\n[[flows]]\ncount = 4\ncca = \"newreno\"\nrtt = \"10ms..80ms\"\n",
    ),
    (
        "6 cubic 3 bbr",
        "[link]\nrate = \"50mbit\"\nbuffer = \"2bdp\"\n[[flows]]\ncount = 6\ncca = \"cubic\"\nrtt = \"20ms..60ms\"\n\
         [[flows]]\ncount = 3\ncca = \"bbr\"\nrtt = \"20ms..60ms\"\n",
    ),
    (
        "4 cubic ecn",
        "[link]\nrate = \"20mbit\"\nbuffer = \"4bdp\"\n[[flows]]\ncount = 4\ncca = \"cubic\"\nrtt = \"40ms\"\necn = true\n",
    ),
    (
        "poisson cbr web",
        "[link]\nrate = \"10mbit\"\nbuffer = \"60kb\"\n[[flows]]\npoisson = \"3mbit\"\n[[flows]]\ncbr = \"1mbit\"\npacket = \"200b\"\n\
         [[flows]]\ncount = 60\ncca = \"cubic\"\nrtt = \"30ms\"\nsize = \"5kb..200kb\"\nstart = \"0s..14s\"\n",
    ),
];

const HEAD: &str = "traffic           | util %  sojourn mean    p50    p95    max ms | backlog p |  drops  marks | resent timeouts |  jain | goodput of groups Mbit/s\n";

fn row(name: &str, r: &queuewright_results::Run) -> String {
    let p = &r.ports[0];
    let s = &p.sojourn_ms;
    let resent: u64 = r.flows.iter().map(|f| f.retransmits).sum();
    let timeouts: u64 = r.flows.iter().map(|f| f.timeouts).sum();
    let goodput: Vec<String> =
        r.groups.iter().map(|g| format!("{} {:.2}", g.name, g.goodput_bps / 1e6)).collect();
    format!(
        "{name:<17} | {:>6.2} {:>13.2} {:>6.2} {:>6.2} {:>9.2} | {:>9.2} | {:>6} {:>6} | {resent:>6} {timeouts:>8} | {:>5.3} | {}\n",
        100.0 * p.utilization,
        s.mean,
        s.p50,
        s.p95,
        s.max,
        p.backlog_packets.mean,
        drops(r),
        marks(r),
        r.jain,
        goodput.join(", ")
    )
}

#[test]
fn disciplines() {
    for (name, queue) in [
        ("droptail", "\"droptail\""),
        ("static", "{ name = \"static\", threshold = \"0.5bdp\" }"),
        ("codel", "{ name = \"codel\", ecn = true }"),
        ("pie", "{ name = \"pie\", ecn = true }"),
        ("titrate", "{ name = \"titrate\", ecn = true }"),
    ] {
        let mut table = HEAD.to_string();
        for (what, text) in TRAFFIC {
            let toml = format!(
                "{text}[queue]\ndisciplines = [{queue}]\n[run]\nduration = \"15s\"\nwarmup = \"3s\"\nsample = \"1s\"\n"
            );
            for r in runs(&toml) {
                table += &row(what, &r);
            }
        }
        insta::assert_snapshot!(name, table);
    }
}

#[test]
fn congestion_controls() {
    const PATHS: [(&str, &str); 6] = [
        ("1 BDP", "rate = \"50mbit\"\nbuffer = \"1bdp\""),
        ("4 BDP", "rate = \"50mbit\"\nbuffer = \"4bdp\""),
        ("8 packets", "rate = \"50mbit\"\nbuffer = \"8p\""),
        ("1 mbit", "rate = \"1mbit\"\nbuffer = \"20p\""),
        (
            "rate changes",
            "schedule = [[\"0s\", \"40mbit\"], [\"6s\", \"10mbit\"], [\"10s\", \"60mbit\"]]\nbuffer = \"100p\"",
        ),
        (
            "outage",
            "schedule = [[\"0s\", \"40mbit\"], [\"6s\", \"0bit\"], [\"7s\", \"40mbit\"]]\nbuffer = \"100p\"",
        ),
    ];
    for cca in every_cca() {
        let mut table = HEAD.to_string();
        for (what, link) in PATHS {
            for (n, stack) in [(1, "linux"), (3, "linux"), (1, "ns3")] {
                let toml = format!(
                    "[link]\n{link}\n[[flows]]\ncount = {n}\ncca = \"{cca}\"\nrtt = \"40ms\"\n\
                     [queue]\ndisciplines = [\"droptail\"]\n\
                     [run]\nduration = \"15s\"\nwarmup = \"3s\"\nsample = \"1s\"\nstack = \"{stack}\"\n"
                );
                let mut name = what.to_string();
                if n > 1 {
                    write!(name, ", {n}").expect("a string");
                }
                if stack != "linux" {
                    write!(name, ", {stack}").expect("a string");
                }
                for r in runs(&toml) {
                    table += &row(&name, &r);
                }
            }
        }
        insta::assert_snapshot!(cca, table);
    }
}
