//! What holds for every input: nothing panics, what is printed is read again as
//! the same, and what differs only in the discipline has the same flows.

mod common;

use common::{complaints, schema};
use proptest::prelude::*;
use queuewright_scenario::units::{Range, Size, Unit, parse_millionths, show_millionths};
use queuewright_scenario::{Flags, Place, Scenario, trace};
use std::path::Path;

std::thread_local! {
    static SCHEMA: jsonschema::Validator = schema();
}

const UNITS: [Unit; 3] = [Unit::Rate, Unit::Time, Unit::Bytes];

fn parse(text: &str) -> Result<Scenario, queuewright_scenario::Error> {
    Scenario::parse(text, "s.toml", Path::new("/nonexistent"))
}

/// Numbers of every magnitude, round ones often.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        (0u64..1000, 0u32..17).prop_map(|(n, e)| n * 10u64.pow(e)),
        (0u64..1000, 0u32..50).prop_map(|(n, e)| n << e),
        (0u32..64, any::<u64>()).prop_map(|(bits, n)| n >> bits),
    ]
}

fn range_of(low: u64, high: u64) -> impl Strategy<Value = Range> {
    (low..=high, low..=high).prop_map(|(a, b)| Range { min: a.min(b), max: a.max(b) })
}

/// A `key = "value"` line or none.
fn maybe(line: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    proptest::option::of(line).prop_map(|l| l.map_or(String::new(), |l| l + "\n"))
}

fn time(key: &'static str, low: u64, high: u64) -> impl Strategy<Value = String> {
    range_of(low, high).prop_map(move |r| format!("{key} = \"{}\"", Unit::Time.show_range(r)))
}

fn rate(key: &'static str) -> impl Strategy<Value = String> {
    range_of(1000, 1_000_000_000).prop_map(move |r| format!("{key} = \"{}\"", Unit::Rate.show_range(r)))
}

fn flows() -> impl Strategy<Value = String> {
    let cca = prop_oneof![
        prop::sample::select(vec!["cubic", "bbr", "newreno", "dctcp"])
            .prop_map(|c| format!("cca = \"{c}\"\n")),
        (1u32..9, 0u32..9).prop_map(|(a, b)| format!("cca = {{ cubic = {a}, newreno = {b} }}\n")),
        (0u32..9, 1u32..9, rate("rate"))
            .prop_map(|(a, b, rate)| format!("cca = {{ cubic = {a}, brutal = {b} }}\n{rate}\n")),
    ];
    let tcp = (
        cca,
        maybe(range_of(1, 1 << 30).prop_map(|r| format!("size = \"{}\"", Unit::Bytes.show_range(r)))),
        maybe(prop::sample::select(vec!["true", "false", "\"l4s\""]).prop_map(|e| format!("ecn = {e}"))),
    )
        .prop_map(|(a, b, c)| a + &b + &c);
    let udp = (
        prop_oneof![rate("cbr"), rate("poisson")],
        maybe((29u64..=1500).prop_map(|n| format!("packet = \"{n}b\""))),
    )
        .prop_map(|(a, b)| a + "\n" + &b);
    let duration = prop_oneof![
        range_of(1, 99_000_000_000).prop_map(|r| format!("duration = \"{}\"", Unit::Time.show_range(r))),
        (1000u64..99_000_000_000)
            .prop_map(|ns| format!("duration = {{ exponential = \"{}\" }}", Unit::Time.show(ns))),
    ];
    let voip = (prop::sample::select(vec!["g711", "g729"]), maybe(duration.clone()))
        .prop_map(|(codec, duration)| format!("voip = \"{codec}\"\n{duration}"));
    let calls = (1u64..1_000_000_000, duration).prop_map(|(m, duration)| {
        format!("voip = \"g711\"\narrivals = \"{}/s\"\n{duration}\n", show_millionths(m))
    });
    let asking = prop_oneof![
        (0u64..9_999_999_999)
            .prop_map(|ns| format!("size = \"1kb..1mb\"\nrequests = \"{}\"", Unit::Time.show(ns))),
        Just("video = {}".to_string()),
        (1u64..1_000_000, 100_000_000u64..60_000_000_000).prop_map(|(kbit, ns)| {
            let chunk = Unit::Time.show(ns);
            format!(
                "video = {{ ladder = [\"{kbit}kbit\", \"2gbit\"], chunk = \"{chunk}\", buffer = \"3600s\" }}"
            )
        }),
    ]
    .prop_map(|what| format!("cca = \"cubic\"\n{what}\n"));
    let probed = any::<bool>().prop_map(|p| format!("cca = \"cubic\"\nprobes = {p}\n"));
    let lasting = (
        maybe(range_of(1, 30).prop_map(|r| format!("count = \"{}..{}\"", r.min, r.max))),
        prop_oneof![3 => tcp, 2 => udp, 1 => voip, 1 => asking, 1 => probed],
    )
        .prop_map(|(count, sends)| count + &sends);
    let size = prop_oneof![
        range_of(1, 1 << 30).prop_map(|r| format!("\"{}\"", Unit::Bytes.show_range(r))),
        (1u64..1 << 20, 1000u64..9_000_000).prop_map(|(b, s)| format!(
            "{{ distribution = \"lognormal\", median = \"{}\", sigma = {} }}",
            Unit::Bytes.show(b),
            show_millionths(s)
        )),
        (1u64..1 << 20, 1000u64..9_000_000, 1u64 << 20..1 << 40).prop_map(|(b, s, max)| format!(
            "{{ distribution = \"pareto\", min = \"{}\", shape = {}, max = \"{}\" }}",
            Unit::Bytes.show(b),
            show_millionths(s),
            Unit::Bytes.show(max)
        )),
    ];
    let comes = prop_oneof![
        (size.clone(), range_of(0, 5_000_000_000))
            .prop_map(|(s, r)| format!("size = {s}\nrepeat = \"{}\"\n", Unit::Time.show_range(r))),
        (size.clone(), 1000u64..5_000_000_000).prop_map(|(s, ns)| format!(
            "size = {s}\nrepeat = {{ exponential = \"{}\" }}\n",
            Unit::Time.show(ns)
        )),
        (size, 1u64..1_000_000_000)
            .prop_map(|(s, m)| format!("size = {s}\narrivals = \"{}/s\"\n", show_millionths(m))),
        (1u64..1_000_000).prop_map(|m| format!("pages = {{}}\narrivals = \"{}/s\"\n", show_millionths(m))),
        proptest::collection::vec(0u64..99_000_000_000, 1..5).prop_map(|mut at| {
            at.sort_unstable();
            let at: Vec<_> = at.into_iter().map(|ns| Unit::Time.show(ns)).collect();
            format!("pages = {{ at = {at:?} }}\n")
        }),
    ];
    let coming = (
        comes,
        maybe(
            prop::sample::select(vec!["1p", "40p", "all"]).prop_map(|w| format!("initial_window = \"{w}\"")),
        ),
        maybe((16_384u32..1 << 30).prop_map(|b| format!("wmem = \"{b}b\""))),
        maybe((1u32..1 << 30).prop_map(|b| format!("notsent_lowat = \"{b}b\""))),
    )
        .prop_map(|(comes, window, wmem, lowat)| {
            format!("cca = {{ cubic = 2, bbr = 1 }}\n{comes}{window}{wmem}{lowat}")
        });
    (
        prop_oneof![5 => lasting, 2 => coming, 1 => calls],
        time("rtt", 20_000_000, 900_000_000),
        maybe(time("start", 0, 999_999_999)),
        maybe(time("stop", 1_000_000_000, 99_000_000_000)),
        maybe(rate("access")),
        maybe(time("jitter", 0, 1_000_000_000)),
    )
        .prop_map(|(a, b, c, d, e, f)| format!("[[flows]]\n{a}{b}\n{c}{d}{e}{f}"))
}

const DISCIPLINES: [&str; 7] = [
    r#""droptail""#,
    r#""codel""#,
    r#"{ name = "codel", target = "1.5ms", ecn = true }"#,
    r#"{ name = "static", threshold = "1000p", label = "a \"b\" \\ c" }"#,
    r#"{ name = "pie", alpha = 0.25, ecn_threshold = "5%", estimator = "rate" }"#,
    r#"{ name = "static", threshold = "auto" }"#,
    r#"{ name = "red", max = "2bdp", set = [{ at = "1.5s", max = "3bdp" }, { at = "7s", min = "auto", probability = "5%" }] }"#,
];

/// Texts of valid scenarios.
fn valid() -> impl Strategy<Value = String> {
    let link = prop_oneof![
        (1000u64..1_000_000_000).prop_map(|bps| format!("rate = \"{}\"\n", Unit::Rate.show(bps))),
        (
            proptest::collection::vec((1u64..1_000_000_000, 1000u64..1_000_000_000), 1..5),
            proptest::option::of(1000u64..1_000_000_000),
        )
            .prop_map(|(steps, rest)| {
                let mut at = 0;
                let steps: Vec<_> = steps
                    .iter()
                    .enumerate()
                    .map(|(i, (gap, bps))| {
                        at += if i == 0 { 0 } else { *gap };
                        format!("[\"{}\", \"{}\"]", Unit::Time.show(at), Unit::Rate.show(*bps))
                    })
                    .collect();
                let period = rest.map(|ns| format!("period = \"{}\"\n", Unit::Time.show(at + ns)));
                format!("schedule = [{}]\n{}", steps.join(", "), period.unwrap_or_default())
            }),
    ];
    let buffer =
        prop_oneof![(1u32..100_000).prop_map(Size::Packets), (2000u64..1 << 40).prop_map(Size::Bytes),]
            .prop_map(|s| format!("buffer = \"{}\"", s.show()));
    let impairments = (
        maybe((0u64..1_000_000).prop_map(|m| format!("loss = {}", show_millionths(m)))),
        maybe((0u64..9_999_999_999, any::<bool>()).prop_map(|(ns, normal)| {
            let law = if normal { "normal" } else { "uniform" };
            format!("jitter = {{ {law} = \"{}\", overtaking = {normal} }}", Unit::Time.show(ns))
        })),
        maybe((0u64..=1_000_000, 1u64..9_999_999_999).prop_map(|(m, ns)| {
            format!("reorder = {{ share = {}, by = \"{}\" }}", show_millionths(m), Unit::Time.show(ns))
        })),
    )
        .prop_map(|(a, b, c)| a + &b + &c);
    let disciplines = proptest::sample::subsequence(DISCIPLINES.to_vec(), 1..=DISCIPLINES.len());
    (
        maybe("[a-zA-Z \"\\\\éß]{1,20}x".prop_map(|n| format!("name = {}", serde_json::json!(n)))),
        link,
        maybe((0u64..10_000_000).prop_map(|ns| format!("delay = \"{}\"", Unit::Time.show(ns)))),
        (buffer, impairments).prop_map(|(buffer, impairments)| buffer + "\n" + &impairments),
        proptest::collection::vec(flows(), 1..4),
        disciplines,
        maybe(prop_oneof![Just("stack = \"ns3\"".to_string()), Just("stack = \"quic\"".to_string())]),
        proptest::collection::hash_set(0u64..1 << 53, 1..4),
    )
        .prop_map(|(name, link, delay, buffer, flows, picked, stack, seeds)| {
            let seeds: Vec<u64> = seeds.into_iter().collect();
            let flows = flows.join("");
            // ns-3's has neither, and QUIC no clients.
            let linux = ["wmem", "notsent_lowat"].iter().any(|key| flows.contains(key));
            let asks = ["requests", "video", "probes"].iter().any(|key| flows.contains(key));
            let stack = if linux || (asks && stack.contains("quic")) { "" } else { &stack };
            format!(
                "{name}[link]\n{link}{delay}{buffer}\n{}[queue]\ndisciplines = [{}]\n[run]\nduration = \"100s\"\n{stack}seeds = {seeds:?}\n",
                flows,
                picked.join(", "),
            )
        })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn units_round_trip(n in number()) {
        for unit in UNITS {
            prop_assert_eq!(unit.parse(&unit.show(n)), Ok(n));
        }
        for size in [Size::Bytes(n), Size::Bdp(n), Size::Packets(n as u32)] {
            prop_assert_eq!(Size::parse(&size.show()), Ok(size));
        }
        prop_assert_eq!(parse_millionths(&show_millionths(n)), Ok(n));
    }

    #[test]
    fn ranges_round_trip(a in number(), b in number()) {
        let range = Range { min: a.min(b), max: a.max(b) };
        for unit in UNITS {
            prop_assert_eq!(unit.parse_range(&unit.show_range(range)), Ok(range));
        }
        let whole = format!("{}..{}", range.min, range.max);
        prop_assert_eq!(Range::parse_whole(&whole), Ok(range));
    }

    #[test]
    fn decimals_are_exact(whole in 0u64..1_000_000, thousandths in 0u64..1000) {
        let text = format!("{whole}.{thousandths:03}ms");
        prop_assert_eq!(Unit::Time.parse(&text), Ok(whole * 1_000_000 + thousandths * 1000));
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,40}", digits in "[0-9.]{0,30}[a-zA-Z/ ]{0,6}") {
        for t in [&text, &digits] {
            for unit in UNITS {
                let _ = unit.parse(t);
                let _ = unit.parse_range(t);
            }
            let _ = Size::parse(t);
            let _ = Range::parse_whole(t);
            let _ = parse_millionths(t);
            let _ = trace::parse(t.as_bytes(), "t");
            let _ = parse(t);
            let flags = Flags {
                rate: Some("1mbit".into()),
                rtt: Some("1ms".into()),
                flows: Some(t.clone()),
                aqm: Some(t.clone()),
                ..Flags::default()
            };
            let _ = Scenario::from_flags(&flags);
        }
    }

    #[test]
    fn traces_are_read_or_refused_with_a_line(times in proptest::collection::vec(0u64..5_000, 1..50)) {
        let text: String = times.iter().map(|t| format!("{t}\n")).collect();
        match trace::parse(text.as_bytes(), "t") {
            Ok(t) => {
                prop_assert!(times.is_sorted());
                prop_assert_eq!(t.opportunities_ns.len(), times.len());
                prop_assert_eq!(Some(&t.period_ns), t.opportunities_ns.last());
            }
            Err(_) => prop_assert!(!times.is_sorted() || times.last() == Some(&0)),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn scenarios_round_trip(text in valid()) {
        let scenario = parse(&text).map_err(|e| match e.to_string() {
            // What no run may need is not asked of what is drawn.
            e if e.contains("GB of memory") => TestCaseError::reject(e),
            e => TestCaseError::fail(format!("{e}\n{text}")),
        })?;
        SCHEMA.with(|schema| {
            prop_assert_eq!(complaints(schema, &text), Vec::<String>::new(), "{}", text);
            prop_assert_eq!(complaints(schema, &scenario.to_toml()), Vec::<String>::new());
            Ok(())
        })?;
        let again = parse(&scenario.to_toml())
            .map_err(|e| TestCaseError::fail(format!("{e}\n{}", scenario.to_toml())))?;
        prop_assert_eq!(&scenario, &again);
        prop_assert_eq!(scenario.to_json(), again.to_json());
        let (runs, same) = (scenario.runs().unwrap(), again.runs().unwrap());
        prop_assert_eq!(format!("{runs:?}"), format!("{same:?}"));
        prop_assert_eq!(runs.len(), scenario.disciplines.len() * scenario.run.seeds.len());
        // Seed by seed, every discipline meets the same flows and the same buffer.
        let seeds = scenario.run.seeds.len();
        for (i, run) in runs.iter().enumerate() {
            let first = &runs[i % seeds];
            prop_assert_eq!(run.seed, first.seed);
            prop_assert_eq!(format!("{:?}", run.flows), format!("{:?}", first.flows));
            prop_assert_eq!(run.ports[0].limit_bytes, first.ports[0].limit_bytes);
            prop_assert!(run.flows.is_sorted_by_key(|f| f.group));
            for f in &run.flows {
                prop_assert!(f.base_rtt_ns >= 2 * run.ports[0].delay_ns);
                prop_assert!((f.group as usize) < run.groups.len());
            }
            for n in &run.series_flows {
                prop_assert!((*n as usize) < run.flows.len());
            }
        }
        let mut names: Vec<_> = runs[0].groups.iter().map(|g| &g.name).collect();
        names.sort();
        names.dedup();
        prop_assert_eq!(names.len(), runs[0].groups.len());
    }

    #[test]
    fn damaged_files_give_one_line(text in valid(), at in any::<prop::sample::Index>(), junk in "\\PC{0,3}|[\\[\\]{}\"=,.\n0-9]{0,3}", cut in 0usize..8) {
        let starts: Vec<usize> = text.char_indices().map(|(i, _)| i).collect();
        let from = starts[at.index(starts.len())];
        let to = starts.iter().copied().find(|i| *i >= from + cut).unwrap_or(text.len());
        let damaged = format!("{}{junk}{}", &text[..from], &text[to..]);
        // What the reader accepts the schema accepts.
        if parse(&damaged).is_ok() {
            SCHEMA.with(|schema| {
                prop_assert_eq!(complaints(schema, &damaged), Vec::<String>::new(), "{}", damaged);
                Ok(())
            })?;
        }
        if let Err(e) = parse(&damaged).and_then(|s| s.runs()) {
            let message = e.to_string();
            prop_assert!(!message.contains('\n'), "{}", message);
            let Place::File { line, .. } = e.place() else { panic!("{message}") };
            prop_assert!((1..=1 + damaged.matches('\n').count()).contains(line), "{}", message);
        }
    }
}
