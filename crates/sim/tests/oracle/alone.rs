//! What may not change a result.

use crate::bed::{every_cca, one, run, specs};
use crate::drawn;
use proptest::prelude::*;
use queuewright_aqm::registry;
use queuewright_results::Run;

/// A part of results as text.
macro_rules! text {
    ($what:expr) => {
        serde_json::to_string(&$what).expect("results are text")
    };
}

/// Flows of a kind, without their ways.
fn kinds() -> impl Strategy<Value = String> {
    prop_oneof![
        (100u32..20_000, 60u32..1500)
            .prop_map(|(k, b)| format!("poisson = \"{k}kbit\"\npacket = \"{b}b\"\nrtt = \"30ms\"\n")),
        (100u32..20_000).prop_map(|k| format!("cbr = \"{k}kbit\"\nrtt = \"30ms\"\n")),
        (prop::sample::select(every_cca()), 1u32..4)
            .prop_map(|(cca, n)| format!("cca = \"{cca}\"\ncount = {n}\nrtt = \"10ms..60ms\"\n")),
        (prop::sample::select(every_cca()), 1u32..60).prop_map(|(cca, n)| format!(
            "cca = \"{cca}\"\nrtt = \"10ms..60ms\"\narrivals = \"{n}/s\"\nsize = \"1b..60kb\"\n"
        )),
    ]
}

/// Flows over ports a and b of a row, or one of them; what they need no draw for is left to their strategy.
fn flows() -> impl Strategy<Value = String> {
    let way = prop::sample::select(vec!["\"a\"", "\"b\"", "\"a\", \"b\""]);
    prop::collection::vec((kinds(), way), 1..4)
        .prop_map(|flows| flows.iter().map(|(f, way)| format!("[[flows]]\n{f}ports = [{way}]\n")).collect())
}

const PORTS: &str = "[[ports]]\nname = \"a\"\nrate = \"20mbit\"\nbuffer = \"60p\"\nloss = 0.002\n\
                     [[ports]]\nname = \"b\"\nrate = \"15mbit\"\nbuffer = \"60p\"\ndelay = \"1ms\"\n";

/// A port and flows elsewhere change nothing of what is here.
#[test]
fn what_is_elsewhere_changes_nothing() {
    let names: Vec<&str> = registry().iter().map(|i| i.name).filter(|n| !["dt", "abm"].contains(n)).collect();
    let elsewhere = prop_oneof![
        (1u32..200_000).prop_map(|k| format!("poisson = \"{k}kbit\"\n")),
        (prop::sample::select(every_cca()), 1u32..200)
            .prop_map(|(cca, ms)| format!("cca = \"{cca}\"\nrtt = \"{ms}ms\"\n")),
        (1u32..100).prop_map(|n| format!(
            "cca = \"bbr\"\nrtt = \"5ms\"\nsize = \"1b..90kb\"\narrivals = \"{n}/s\"\n"
        )),
    ];
    drawn(
        25,
        (flows(), elsewhere, 1u32..1000, prop::sample::select(names)),
        |(flows, other, mbit, discipline)| {
            let run = |ports: &str, others: &str| {
                one(&format!(
                    "{PORTS}{ports}{flows}{others}[queue]\ndisciplines = [\"{discipline}\"]\n[run]\nduration = \"3s\"\nwarmup = \"500ms\"\n"
                ))
            };
            let here = run("", "");
            let both = run(
                &format!("[[ports]]\nname = \"c\"\nrate = \"{mbit}mbit\"\nbuffer = \"50p\"\n"),
                &format!("[[flows]]\nname = \"elsewhere\"\n{other}ports = [\"c\"]\n"),
            );
            assert_eq!(text!(here.ports), text!(both.ports[..2].to_vec()));
            assert_eq!(text!(here.flows), text!(both.flows[..here.flows.len()].to_vec()));
            assert_eq!(text!(here.groups), text!(both.groups[..here.groups.len()].to_vec()));
        },
    );
}

/// A group cut in two is what it was, flow by flow. (Bulk TCP flows are left out: a tool opens those of a group one after another,
/// so that how long their connections have been open goes by the group; docs/fidelity.md.)
#[test]
fn a_group_cut_in_two_is_the_same() {
    let flow = prop_oneof![
        (100u32..9000, 60u32..1500)
            .prop_map(|(k, b)| format!("poisson = \"{k}kbit\"\npacket = \"{b}b\"\nrtt = \"30ms\"\n")),
        (100u32..9000).prop_map(|k| format!(
            "cbr = \"{k}kbit\"\nrtt = \"30ms\"\naccess = \"30mbit\"\njitter = \"2ms\"\n"
        )),
        (prop::sample::select(every_cca()), 1u32..900_000)
            .prop_map(|(cca, size)| format!("cca = \"{cca}\"\nsize = \"{size}b\"\nrtt = \"20ms\"\n")),
    ];
    let names: Vec<&str> = registry().iter().map(|i| i.name).collect();
    drawn(60, (flow, 1u32..6, 1u32..6, prop::sample::select(names)), |(flow, n, m, discipline)| {
        let run = |entries: &[u32]| {
            let entry = |(i, n): (usize, &u32)| format!("[[flows]]\nname = \"g{i}\"\ncount = {n}\n{flow}");
            let flows: String = entries.iter().enumerate().map(entry).collect();
            one(&format!(
                "[link]\nrate = \"20mbit\"\nbuffer = \"50p\"\nloss = 0.003\n{flows}[queue]\ndisciplines = [\"{discipline}\"]\n\
                 [run]\nduration = \"4s\"\nwarmup = \"500ms\"\n"
            ))
        };
        let (whole, cut) = (run(&[n + m]), run(&[n, m]));
        assert_eq!(text!(whole.ports), text!(cut.ports));
        let flows = |r: &Run| {
            let mut flows = r.flows.clone();
            flows.iter_mut().for_each(|f| f.group = String::new());
            text!(flows)
        };
        assert_eq!(flows(&whole), flows(&cut));
        assert_eq!(whole.jain.to_bits(), cut.jain.to_bits());
        let of = |r: &Run, f: fn(&queuewright_results::Datagrams) -> u64| -> u64 {
            r.groups.iter().filter_map(|g| g.datagrams.as_ref()).map(f).sum()
        };
        assert_eq!(of(&whole, |d| d.received), of(&cut, |d| d.received));
        assert_eq!(of(&whole, |d| d.lost), of(&cut, |d| d.lost));
    });
}

/// When it begins is no matter: everything some turns of 6144 s later, all is as it was. (After 6144 s stand alike: the kernel's
/// timer wheel, whose slots grow eightfold from 4 ms to 16.384 s, and the updates of disciplines, each 15, 16, 20, 500 ms.)
#[test]
fn the_clock_begins_anywhere() {
    let flow = prop_oneof![
        4 => kinds(),
        1 => (1u32..5).prop_map(|n| format!(
            "cca = \"cubic\"\ncount = {n}\nrtt = \"20ms\"\nsize = \"30kb\"\nrequests = \"50ms\"\n"
        )),
    ];
    let flows = prop::collection::vec((flow, 0u32..900, prop::option::of(1000u32..3500)), 1..4);
    let names = prop::sample::select(registry().iter().map(|i| i.name).collect::<Vec<_>>());
    drawn(
        25,
        (flows, names, 1u64..16, prop_oneof![Just("linux"), Just("ns3")]),
        |(flows, discipline, turns, stack)| {
            let run = |off: u64| {
                let mut text = String::new();
                for (flow, start, stop) in &flows {
                    text += &format!("[[flows]]\n{flow}start = \"{}ms\"\n", off + u64::from(*start));
                    if let Some(stop) = stop {
                        text += &format!("stop = \"{}ms\"\n", off + u64::from(*stop));
                    }
                }
                one(&format!(
                    "[link]\nrate = \"15mbit\"\nbuffer = \"60p\"\nloss = 0.002\njitter = \"1ms\"\n{text}[queue]\ndisciplines = [\"{discipline}\"]\n\
                 [run]\nduration = \"{}ms\"\nwarmup = \"{}ms\"\nsample = \"100s\"\nstack = \"{stack}\"\n",
                    off + 4000,
                    off + 1000
                ))
            };
            let (first, later) = (run(0), run(turns * 6_144_000));
            assert_eq!(text!(first.ports), text!(later.ports));
            assert_eq!(text!(first.flows), text!(later.flows));
            assert_eq!(text!(first.groups), text!(later.groups));
        },
    );
}

/// Which runs are made beside one another, and in which order, is no matter.
#[test]
fn runs_do_not_meet() {
    drawn(4, (flows(), 1u64..1000), |(flows, seed)| {
        let all = specs(&format!(
            "{PORTS}{flows}[queue]\ndisciplines = [\"droptail\", \"pie\", \"fq-codel\"]\n\
             [run]\nduration = \"2s\"\nwarmup = \"500ms\"\nseeds = [{seed}, {}]\n",
            seed + 1000
        ));
        let of = |spec| {
            let r = run(spec);
            text!((r.ports, r.flows, r.groups))
        };
        let alone: Vec<String> = all.iter().map(of).collect();
        let together: Vec<String> = std::thread::scope(|scope| {
            let threads: Vec<_> = all.iter().rev().map(|spec| scope.spawn(move || of(spec))).collect();
            threads.into_iter().rev().map(|t| t.join().expect("the thread ends")).collect()
        });
        assert!(alone == together, "results depend on what else runs");
    });
}
