//! Random small scenarios: no packet or byte is lost or made up (the simulator
//! itself counts, and a run that does not add up is an error), and every measure
//! keeps to what it can be.

use crate::bed::{drops, every_cca, marks, runs};
use proptest::prelude::*;
use queuewright_aqm::{Info, registry};
use queuewright_results::Run;

/// Every discipline as it comes, and marking where it can.
fn disciplines() -> Vec<String> {
    let marking = |info: &Info| match info.param("ecn") {
        Some(_) => format!("{{ name = \"{}\", ecn = true }}", info.name),
        None => format!("\"{}\"", info.name),
    };
    registry().iter().map(marking).collect()
}

fn rate() -> impl Strategy<Value = String> {
    prop_oneof![
        // From a modem to a data centre; a run is short enough for either.
        (50u32..200_000).prop_map(|k| format!("rate = \"{k}kbit\"\n")),
        (50u32..200_000, 0u32..20_000)
            .prop_map(|(k, burst)| format!("rate = \"{k}kbit\"\nburst = \"{burst}b\"\n")),
        (50u32..200_000, 1600u32..20_000)
            .prop_map(|(k, burst)| format!("rate = \"{k}kbit\"\nburst = \"{burst}b\"\nshaper = \"tbf\"\n")),
        prop::collection::vec((1u32..900, 0u32..60), 1..5).prop_map(|steps| {
            let mut at = 0;
            let mut text = "schedule = [[\"0s\", \"20mbit\"]".to_string();
            for (gap, mbit) in steps {
                at += gap;
                text += &format!(", [\"{at}ms\", \"{mbit}mbit\"]");
            }
            text + "]\n"
        }),
        Just("trace = \"uneven.trace\"\n".to_string()),
    ]
}

fn buffer() -> impl Strategy<Value = String> {
    prop_oneof![
        (1u32..300).prop_map(|p| format!("buffer = \"{p}p\"\n")),
        (2u32..400).prop_map(|kb| format!("buffer = \"{kb}kb\"\n")),
    ]
}

fn flows() -> impl Strategy<Value = String> {
    let tcp = (
        prop::sample::select([every_cca(), vec!["brutal"]].concat()),
        1u32..6,
        1000u32..150_000,
        prop::option::of(1u32..3000),
        prop::option::of(1u32..100),
        prop::option::of(1u32..20_000),
        prop::sample::select(vec!["false", "true", "\"l4s\""]),
        (0u32..1500, prop::option::of(1u32..1500)),
    )
        .prop_map(|(cca, count, rtt_us, size_kb, access, jitter_us, ecn, (start, stop))| {
            let mut text = format!(
                "[[flows]]\ncca = \"{cca}\"\ncount = {count}\nrtt = \"{rtt_us}us\"\necn = {ecn}\nstart = \"0ms..{start}ms\"\n"
            );
            if cca == "brutal" {
                text += "rate = \"100kbit..30mbit\"\n";
            }
            if let Some(kb) = size_kb {
                text += &format!("size = \"1b..{kb}kb\"\n");
            }
            if let Some(mbit) = access {
                text += &format!("access = \"{mbit}mbit\"\n");
            }
            if let Some(us) = jitter_us {
                text += &format!("jitter = \"0us..{us}us\"\n");
            }
            if let Some(ms) = stop {
                text += &format!("stop = \"{}ms\"\n", start + ms);
            }
            text
        });
    let udp = (any::<bool>(), 1u32..4, 10u32..30_000, 29u32..1501, prop::option::of(1u32..100)).prop_map(
        |(poisson, count, kbit, bytes, access)| {
            let key = if poisson { "poisson" } else { "cbr" };
            let mut text = format!(
                "[[flows]]\n{key} = \"{kbit}kbit\"\ncount = {count}\npacket = \"{bytes}b\"\nrtt = \"10ms\"\n"
            );
            if let Some(mbit) = access {
                text += &format!("access = \"{mbit}mbit\"\njitter = \"3ms\"\n");
            }
            text
        },
    );
    let calls = (1u32..300, 10u32..900, prop::option::of(1u32..1999)).prop_map(|(n, ms, stop)| {
        let stop = stop.map_or(String::new(), |ms| format!("stop = \"{ms}ms\"\n"));
        format!("[[flows]]\nvoip = \"g711\"\narrivals = \"{n}/s\"\nduration = {{ exponential = \"{ms}ms\" }}\nrtt = \"9ms\"\n{stop}")
    });
    // Flows that come and go.
    let comes = prop_oneof![
        (1u32..20, 0u32..100).prop_map(|(n, ms)| format!("count = {n}\nrepeat = \"0ms..{ms}ms\"\nsize = \"1b..100kb\"\n")),
        (1u32..10, 1u32..400).prop_map(|(n, ms)| {
            format!("count = {n}\nrepeat = {{ exponential = \"{ms}ms\" }}\nsize = {{ distribution = \"lognormal\", median = \"9kb\", sigma = 2 }}\n")
        }),
        (1u32..1000).prop_map(|n| {
            format!("arrivals = \"{n}/s\"\nsize = {{ distribution = \"pareto\", min = \"1b\", shape = 0.8, max = \"1mb\" }}\n")
        }),
        (0u32..500).prop_map(|ms| format!("pages = {{ at = [\"{ms}ms\", \"900ms\"] }}\n")),
    ];
    let coming = (
        comes,
        prop::sample::select(every_cca()),
        1000u32..150_000,
        prop::option::of(prop::sample::select(vec!["1p", "40p", "all"])),
        prop::option::of(1u32..1999),
    )
        .prop_map(|(comes, cca, rtt_us, window, stop)| {
            let mut text = format!("[[flows]]\ncca = \"{cca}\"\nrtt = \"{rtt_us}us\"\n{comes}");
            if let Some(window) = window {
                text += &format!("initial_window = \"{window}\"\n");
            }
            if let Some(ms) = stop {
                text += &format!("stop = \"{ms}ms\"\n");
            }
            text
        });
    let any = prop_oneof![6 => tcp, 2 => udp, 1 => calls, 4 => coming];
    prop::collection::vec(any, 1..4).prop_map(|f| f.concat())
}

/// Half of the links are perfect.
fn impairments() -> impl Strategy<Value = String> {
    let some =
        (0u32..200, 0u32..9000, prop::sample::select(vec!["uniform", "normal"]), any::<bool>(), 0u32..500)
            .prop_map(|(loss, jitter_us, law, overtaking, share)| {
                format!(
                    "loss = {}\njitter = {{ {law} = \"{jitter_us}us\", overtaking = {overtaking} }}\n\
                 reorder = {{ share = {}, by = \"4ms\" }}\n",
                    f64::from(loss) / 1000.0,
                    f64::from(share) / 1000.0
                )
            });
    prop_oneof![Just(String::new()), some]
}

/// A run on a link that `saves` credit, or not.
fn check(r: &Run, saves: bool) -> Result<(), TestCaseError> {
    let p = &r.ports[0];
    let window_s = r.duration_s - r.warmup_s;
    // What has no value is NaN: use of a link without capacity, drops of nothing that arrived, waits of no packet.
    let share = |x: f64| x.is_nan() || (0.0..=1.0).contains(&x);
    // The credit of a link with a burst is beyond its capacity.
    prop_assert!(p.utilization.is_nan() || p.utilization >= 0.0);
    prop_assert!(saves || share(p.utilization), "{p:?}");
    prop_assert!(share(p.drop_fraction) && share(p.mark_fraction), "{p:?}");
    prop_assert!(p.drop_fraction.is_nan() || (p.drop_fraction > 0.0) == (drops(r) > 0));
    prop_assert!(p.mark_fraction.is_nan() || (p.mark_fraction > 0.0) == (marks(r) > 0));
    let s = &p.sojourn_ms;
    if p.packets == 0 {
        prop_assert!([s.mean, s.std, s.p25, s.p99_9, s.max].iter().all(|v| v.is_nan()), "{s:?}");
    } else {
        let rising = [0.0, s.p25, s.p50, s.p75, s.p95, s.p99, s.p99_9];
        prop_assert!(rising.windows(2).all(|w| w[0] <= w[1]), "{s:?}");
        // The histogram keeps three digits: a quantile may stand above the exact maximum by a thousandth.
        prop_assert!(s.p99_9 <= s.max * 1.001 + 1e-6, "{s:?}");
        prop_assert!(s.mean <= s.max && s.std >= 0.0, "{s:?}");
        prop_assert!(!p.drop_fraction.is_nan() || r.warmup_s > 0.0);
    }
    prop_assert!(p.backlog_packets.mean <= p.backlog_packets.max);
    prop_assert!(p.backlog_bytes.mean <= p.backlog_bytes.max);
    prop_assert!(p.backlog_bytes.max <= p.backlog_packets.max * 1514.0);
    let mut of_flows = vec![0.0; r.groups.len()];
    for f in &r.flows {
        if f.goodput_bps.is_finite() {
            prop_assert!(f.goodput_bps >= 0.0);
        }
        if let Some(fct) = f.fct_s {
            prop_assert!(fct > 0.0 && fct <= r.duration_s);
        }
        if f.cca == "cbr" || f.cca == "poisson" {
            prop_assert!(f.srtt_ms.is_none() && f.retransmits == 0 && f.timeouts == 0);
        }
        let group = r.groups.iter().position(|g| g.name == f.group).expect("its group is there");
        // A normal jitter may shorten the way by the link's delay. A SYN that is sent again, after a second, is timed by timestamps of whole
        // milliseconds (`tcp_rtt_tsopt_us`), so that up to one is missing. Bulk flows send none.
        let syn_again = r.groups[group].transfers.is_some() && f.fct_s.is_none_or(|fct| fct > 1.0);
        let whole_ms = if syn_again { 1.0 } else { 0.0 };
        prop_assert!(f.srtt_ms.is_none_or(|ms| ms >= 0.99 * f.base_rtt_ms - 0.2 - whole_ms), "{f:?}");
        of_flows[group] += 1.0;
    }
    for (g, n) in r.groups.iter().zip(of_flows) {
        match &g.transfers {
            None if g.cca == "voip" => prop_assert!(f64::from(g.flows) >= n),
            None => prop_assert_eq!(f64::from(g.flows), n),
            Some(t) => {
                prop_assert!(
                    f64::from(g.flows) >= n && t.completed <= t.started && t.started <= g.flows.into()
                );
                prop_assert_eq!(t.fct_s.get("all").map_or(0, |d| d.count), t.completed);
                let classes = t.fct_s.iter().filter(|(name, _)| *name != "all");
                prop_assert_eq!(classes.map(|(_, d)| d.count).sum::<u64>(), t.completed);
            }
        }
        prop_assert!(g.goodput_bps >= 0.0);
        prop_assert_eq!(g.datagrams.is_some(), ["cbr", "poisson", "voip"].contains(&g.cca.as_str()));
        if let Some(d) = &g.datagrams {
            prop_assert!(share(d.loss) && (d.received == 0 || d.delay_ms.mean > 0.0), "{d:?}");
        }
    }
    let mut dropped = 0;
    for t in &r.detail.transfers {
        prop_assert!(
            t.start_s >= 0.0 && t.fct_s.is_none_or(|fct| fct > 0.0 && t.start_s + fct <= r.duration_s + 1e-9)
        );
        // What arrived at last was sent at least once more than it was dropped; SYNs are not counted there.
        prop_assert!(t.fct_s.is_none() || t.drops <= t.retransmits + 10, "{t:?}");
        dropped += t.drops;
    }
    if r.warmup_s == 0.0 && r.ports.len() == 1 {
        prop_assert!(dropped <= drops(r));
    }
    prop_assert!(r.jain.is_nan() || (0.0..=1.0 + 1e-9).contains(&r.jain), "{}", r.jain);
    // What was delivered had to cross the link, in this window or (waiting in the receiver
    // behind a hole, or on the way) before it.
    let goodput: f64 = r.groups.iter().map(|g| g.goodput_bps).sum();
    let sent = p.packets as f64 * 1472.0 * 8.0 / window_s;
    if r.warmup_s == 0.0 {
        prop_assert!(goodput <= sent * (1.0 + 1e-9), "goodput {goodput} of {sent}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_or_made_up(
        rate in rate(),
        buffer in buffer(),
        impairments in impairments(),
        flows in flows(),
        stack in prop_oneof![3 => Just("linux"), 1 => Just("ns3")],
        warmup in prop_oneof![Just(0u32), 1u32..1900],
        seed in 0u64..1000,
        some in prop::sample::subsequence(disciplines(), 5),
    ) {
        let toml = format!(
            "[link]\n{rate}{buffer}{impairments}delay = \"0.2ms\"\n{flows}\
             [queue]\ndisciplines = [{}]\n\
             [run]\nduration = \"2s\"\nwarmup = \"{warmup}ms\"\nseeds = {seed}\nstack = \"{stack}\"\n",
            some.join(", ")
        );
        for r in runs(&toml) {
            check(&r, rate.contains("burst"))?;
        }
    }
}

/// Long mixed runs of every discipline: deep in all states, the count still adds up.
#[test]
fn long_runs_add_up() {
    let mixed = every_cca().iter().map(|c| format!("{c} = 1")).collect::<Vec<_>>().join(", ");
    let toml = format!(
        "[link]\nschedule = [[\"0s\", \"40mbit\"], [\"10s\", \"5mbit\"], [\"12s\", \"0bit\"], [\"13s\", \"60mbit\"]]\n\
         buffer = \"80p\"\n\
         [[flows]]\ncount = 24\ncca = {{ {mixed} }}\nrtt = \"3ms..90ms\"\njitter = \"0ms..4ms\"\necn = true\n\
         [[flows]]\ncount = 40\ncca = \"cubic\"\nrtt = \"20ms\"\nsize = \"1b..2mb\"\nstart = \"0s..18s\"\n\
         [[flows]]\npoisson = \"2mbit\"\npacket = \"400b\"\n\
         [queue]\ndisciplines = [{}]\n\
         [run]\nduration = \"25s\"\nwarmup = \"0s\"\nseeds = [1, 2]\n",
        disciplines().join(", ")
    );
    for r in runs(&toml) {
        check(&r, false).unwrap_or_else(|e| panic!("{} seed {}: {e}", r.discipline, r.seed));
    }
}
