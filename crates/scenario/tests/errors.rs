//! What a user reads who got it wrong. Each row is a mistake and its message; the
//! table is kept as a snapshot, to be read aloud when it changes.

use queuewright_scenario::{Flags, Scenario};
use std::fmt::Write;
use std::path::Path;

const GOOD: &str = r#"name = "good"
[link]
rate = "100mbit"
delay = "1ms"
buffer = "2bdp"
[[flows]]
count = "2..4"
cca = { cubic = 3, bbr = 1 }
rtt = "20ms..80ms"
start = "0s..1s"
[[flows]]
cbr = "2mbit"
[queue]
disciplines = ["codel", { name = "static", threshold = "1bdp" }]
[run]
duration = "60s"
warmup = "10s"
seeds = [1, 2, 3]
"#;

/// (a piece of the good file, what stands there instead)
const MISTAKES: &[(&str, &str)] = &[
    // Units.
    ("\"100mbit\"", "\"100Mbps\""),
    ("\"100mbit\"", "\"100MBit/s\""),
    ("\"100mbit\"", "\"100mb\""),
    ("\"100mbit\"", "\"10mbps\""),
    ("\"100mbit\"", "\"100\""),
    ("\"100mbit\"", "100"),
    ("\"100mbit\"", "\"fast\""),
    ("\"100mbit\"", "\"-5mbit\""),
    ("\"100mbit\"", "\"1e8bit\""),
    ("\"100mbit\"", "\"1.5bit\""),
    ("\"100mbit\"", "\"99999999999999999999gbit\""),
    ("\"100mbit\"", "\"0mbit\""),
    ("\"100mbit\"", "\"10mbit..20mbit\""),
    ("\"100mbit\"", "[\"100mbit\"]"),
    ("\"20ms..80ms\"", "\"20 m\""),
    ("\"20ms..80ms\"", "\"20 ms\""),
    ("\"20ms..80ms\"", "\"20msec\""),
    ("\"20ms..80ms\"", "\"0.5ns\""),
    ("\"20ms..80ms\"", "\"80ms..20ms\""),
    ("\"20ms..80ms\"", "\"20ms..\""),
    ("\"20ms..80ms\"", "\"20..80\""),
    ("\"20ms..80ms\"", "\"20mbit..80ms\""),
    ("\"20ms..80ms\"", "\"1ms\""),
    ("\"20ms..80ms\"", "\"90s\""),
    ("\"20ms..80ms\"", "1979-05-27"),
    ("buffer = \"2bdp\"", "burst = \"2p\""),
    ("buffer = \"2bdp\"", "burst = \"2gb\""),
    ("rate = \"100mbit\"", "burst = \"3028b\"\nschedule = [[\"0s\", \"1mbit\"]]"),
    ("buffer = \"2bdp\"", "shaper = \"tbf\""),
    ("buffer = \"2bdp\"", "burst = \"3028b\"\nshaper = \"cbq\""),
    ("buffer = \"2bdp\"", "burst = \"1513b\"\nshaper = \"tbf\""),
    ("buffer = \"2bdp\"", "police = 1"),
    ("buffer = \"2bdp\"", "police = true"),
    ("buffer = \"2bdp\"", "police = true\nburst = \"3028b\""),
    ("buffer = \"2bdp\"", "buffer = \"2\""),
    ("buffer = \"2bdp\"", "buffer = \"2BDP\""),
    ("buffer = \"2bdp\"", "buffer = \"45KiB\""),
    ("buffer = \"2bdp\"", "buffer = \"34 packets\""),
    ("buffer = \"2bdp\"", "buffer = \"0p\""),
    ("buffer = \"2bdp\"", "buffer = \"1000b\""),
    ("buffer = \"2bdp\"", "buffer = \"0bdp\""),
    ("buffer = \"2bdp\"", "buffer = \"0.0001bdp\""),
    ("buffer = \"2bdp\"", "bufer = \"2bdp\""),
    // Keys.
    ("[link]", "[lnik]"),
    ("[queue]", "[queues]"),
    ("rtt = ", "rttt = "),
    ("[queue]", "[queue]\nbuffer = \"10p\""),
    ("delay = \"1ms\"", "rtt = \"1ms\""),
    ("warmup", "warm_up"),
    ("rate = \"100mbit\"", ""),
    ("rate = \"100mbit\"", "rate = \"100mbit\"\ntrace = \"x\""),
    ("rate = \"100mbit\"", "trace = \"not/there.down\""),
    ("rtt = \"20ms..80ms\"", ""),
    ("duration = \"60s\"", ""),
    ("name = \"good\"", "name = \"\""),
    ("name = \"good\"", "link = 3"),
    ("[[flows]]\ncbr", "[flows]\ncbr"),
    ("cbr = \"2mbit\"", ""),
    ("cbr = \"2mbit\"", "cbr = \"2mbit\"\ncca = \"cubic\""),
    ("cbr = \"2mbit\"", "cbr = \"2mbit\"\necn = true"),
    ("cbr = \"2mbit\"", "cbr = \"2mbit\"\npacket = \"9000b\""),
    ("cbr = \"2mbit\"", "cbr = \"2mbit\"\nvoip = \"g711\""),
    ("cbr = \"2mbit\"", "voip = \"g712\""),
    ("cbr = \"2mbit\"", "voip = \"g711\"\npacket = \"100b\""),
    ("cbr = \"2mbit\"", "voip = \"g711\"\nrepeat = \"1s\""),
    ("cbr = \"2mbit\"", "voip = \"g711\"\narrivals = \"2/s\""),
    ("cbr = \"2mbit\"", "voip = \"g711\"\narrivals = \"2/s\"\nduration = \"60s\"\ncount = 3"),
    ("cbr = \"2mbit\"", "voip = \"g711\"\narrivals = \"9mb\"\nduration = \"60s\""),
    ("cbr = \"2mbit\"", "voip = \"g711\"\nduration = \"0s..5s\""),
    ("start = \"0s..1s\"", "duration = \"9s\""),
    // Clients that ask.
    ("start = \"0s..1s\"", "requests = \"1s\""),
    ("start = \"0s..1s\"", "size = \"10kb\"\nrequests = 1"),
    ("start = \"0s..1s\"", "size = \"10kb\"\nrequests = \"1s\"\nrepeat = \"1s\""),
    ("start = \"0s..1s\"", "size = \"10kb\"\nrequests = \"1s\"\nvideo = {}"),
    ("start = \"0s..1s\"", "size = \"10kb\"\nvideo = {}"),
    ("start = \"0s..1s\"", "video = {}\narrivals = \"1/s\""),
    ("start = \"0s..1s\"", "video = true"),
    ("start = \"0s..1s\"", "video = { ladder = [] }"),
    ("start = \"0s..1s\"", "video = { ladder = [\"2mbit\", \"1mbit\"] }"),
    ("start = \"0s..1s\"", "video = { ladder = \"2mbit\" }"),
    ("start = \"0s..1s\"", "video = { chunk = \"0s\" }"),
    ("start = \"0s..1s\"", "video = { chunk = \"4s\", buffer = \"2s\" }"),
    ("start = \"0s..1s\"", "video = { segment = \"4s\" }"),
    ("start = \"0s..1s\"", "video = {}\nreverse_ports = \"bottleneck\""),
    ("cbr = \"2mbit\"", "cbr = \"2mbit\"\nvideo = {}"),
    // Links that are not perfect.
    ("delay = \"1ms\"", "loss = 1"),
    ("delay = \"1ms\"", "loss = \"0.1\""),
    ("delay = \"1ms\"", "loss = \"101%\""),
    ("delay = \"1ms\"", "loss = -0.1"),
    ("delay = \"1ms\"", "loss = true"),
    ("delay = \"1ms\"", "loss = \"0.00001%\""),
    ("delay = \"1ms\"", "jitter = \"11s\""),
    ("delay = \"1ms\"", "jitter = {}"),
    ("delay = \"1ms\"", "jitter = { uniform = \"1ms\", normal = \"1ms\" }"),
    ("delay = \"1ms\"", "jitter = { normal = \"1ms\", overtaking = 1 }"),
    ("delay = \"1ms\"", "reorder = \"1%\""),
    ("delay = \"1ms\"", "reorder = { share = \"1%\" }"),
    ("delay = \"1ms\"", "reorder = { by = \"1ms\" }"),
    // Schedules.
    ("rate = \"100mbit\"", "schedule = \"100mbit\""),
    ("rate = \"100mbit\"", "schedule = []"),
    ("rate = \"100mbit\"", "schedule = [[\"1s\", \"100mbit\"]]"),
    ("rate = \"100mbit\"", "schedule = [[\"0s\", \"9mbit\"], [\"5s\", \"8mbit\"], [\"5s\", \"7mbit\"]]"),
    ("rate = \"100mbit\"", "schedule = [[\"0s\", \"100mbit\", 3]]"),
    ("rate = \"100mbit\"", "schedule = [[\"0s\", \"0bit\"]]"),
    ("rate = \"100mbit\"", "rate = \"100mbit\"\nperiod = \"1s\""),
    ("rate = \"100mbit\"", "schedule = [[\"0s\", \"9mbit\"], [\"5s\", \"8mbit\"]]\nperiod = \"5s\""),
    ("rate = \"100mbit\"", "schedule = [[\"0s\", \"9mbit\"]]\nperiod = 5"),
    ("rate = \"100mbit\"", "schedule = [[\"0s\", \"9mbit\"]]\nperiod = \"2000000s\""),
    // Flows.
    ("count = \"2..4\"", "count = 0"),
    ("count = \"2..4\"", "count = \"ten\""),
    ("count = \"2..4\"", "count = 2.5"),
    ("count = \"2..4\"", "count = 5_000_000"),
    ("{ cubic = 3, bbr = 1 }", "\"cubik\""),
    ("{ cubic = 3, bbr = 1 }", "{ cubic = 3, westward = 1 }"),
    ("{ cubic = 3, bbr = 1 }", "{ cubic = 0.6, bbr = 0.4 }"),
    ("{ cubic = 3, bbr = 1 }", "\"mixed\""),
    ("{ cubic = 3, bbr = 1 }", "{ mix = 3, bbr = 1 }"),
    ("{ cubic = 3, bbr = 1 }", "\"brutal\""),
    ("{ cubic = 3, bbr = 1 }", "{ cubic = 3, brutal = 1 }"),
    ("{ cubic = 3, bbr = 1 }", "\"brutal\"\nrate = \"fast\""),
    ("{ cubic = 3, bbr = 1 }", "\"brutal\"\nrate = 20"),
    ("{ cubic = 3, bbr = 1 }", "\"brutal\"\nrate = \"100bit\""),
    ("{ cubic = 3, bbr = 1 }", "\"cubic\"\nrate = \"20mbit\""),
    ("cbr = \"2mbit\"", "cbr = \"2mbit\"\nrate = \"20mbit\""),
    ("{ cubic = 3, bbr = 1 }", "{}"),
    ("{ cubic = 3, bbr = 1 }", "[\"cubic\"]"),
    ("start = \"0s..1s\"", "start = \"60s\""),
    ("start = \"0s..1s\"", "start = \"5s\"\nstop = \"5s\""),
    ("start = \"0s..1s\"", "size = \"0b\""),
    ("start = \"0s..1s\"", "ecn = \"yes\""),
    ("start = \"0s..1s\"", "ecn = 1"),
    // Disciplines.
    ("\"codel\"", "\"fq_codel\""),
    ("\"codel\"", "\"coddle\""),
    ("\"codel\"", "\"codel\", \"codel\""),
    ("\"codel\"", "{ target = \"5ms\" }"),
    ("\"codel\"", "{ name = \"codel\", targt = \"5ms\" }"),
    ("\"codel\"", "{ name = \"codel\", target = 5 }"),
    ("\"codel\"", "{ name = \"codel\", target = \"0s\" }"),
    ("\"codel\"", "{ name = \"codel\", ecn = 1 }"),
    ("\"codel\"", "{ name = \"droptail\", limit = \"10p\" }"),
    ("\"codel\"", "{ name = \"pie\", alpha = \"much\" }"),
    ("\"codel\"", "{ name = \"pie\", ecn_threshold = 1.5 }"),
    ("\"codel\"", "{ name = \"pie\", estimator = \"guess\" }"),
    // Changes while it runs.
    ("\"codel\"", "{ name = \"codel\", set = [{ at = \"5s\", target = \"9ms\" }] }"),
    ("\"codel\"", "{ name = \"red\", set = \"max\" }"),
    ("\"codel\"", "{ name = \"red\", set = [] }"),
    ("\"codel\"", "{ name = \"red\", set = [\"max\"] }"),
    ("\"codel\"", "{ name = \"red\", set = [{ max = \"90kb\" }] }"),
    ("\"codel\"", "{ name = \"red\", set = [{ at = \"5s\" }] }"),
    ("\"codel\"", "{ name = \"red\", set = [{ at = \"0s\", max = \"90kb\" }] }"),
    ("\"codel\"", "{ name = \"red\", set = [{ at = \"60s\", max = \"90kb\" }] }"),
    ("\"codel\"", "{ name = \"red\", set = [{ at = \"5\", max = \"90kb\" }] }"),
    ("\"codel\"", "{ name = \"red\", set = [{ at = \"5s\", mxa = \"90kb\" }] }"),
    ("\"codel\"", "{ name = \"red\", set = [{ at = \"5s\", avpkt = \"900b\" }] }"),
    ("\"codel\"", "{ name = \"red\", set = [{ at = \"5s\", probability = 1.5 }] }"),
    (
        "\"codel\"",
        "{ name = \"red\", set = [{ at = \"5s\", max = \"90kb\" }, { at = \"5s\", max = \"80kb\" }] }",
    ),
    (
        "\"codel\"",
        "{ name = \"red\", set = [{ at = \"5s\", max = \"90kb\" }, { at = \"6s\", max = \"100000bdp\" }] }",
    ),
    // What does not go together.
    ("\"codel\"", "{ name = \"red\", nodrop = true }"),
    ("\"codel\"", "{ name = \"ared\", ecn = false, harddrop = true }"),
    (
        "\"codel\"",
        "{ name = \"queuepilot\", weights = \"../../examples/threshold-policy.json\", threshold = 0.3 }",
    ),
    (
        "\"codel\"",
        "{ name = \"queuepilot\", action = 2, weights = \"../../examples/threshold-policy.json\" }",
    ),
    ("\"codel\"", "{ name = \"santa\", inner = \"santa\" }"),
    ("\"codel\"", "{ name = \"santa\", inner = \"fq-codel\" }"),
    ("\"codel\"", "{ name = \"santa\", inner = \"pie\" }"),
    ("\"codel\"", "{ name = \"santa\", inner = \"cod\" }"),
    ("\"codel\"", "{ name = \"santa\", target = \"9ms\" }"),
    ("\"codel\"", "{ name = \"santa\", inner = \"titrate\", target = \"9ms\" }"),
    ("\"codel\"", "{ name = \"santa\", hell_rounds = 5 }"),
    ("\"1bdp\"", "\"all\""),
    ("\"1bdp\"", "\"100000000bdp\""),
    ("\"1bdp\"", "\"0bdp\""),
    ("[\"codel\",", "[3,"),
    ("disciplines = [\"codel\", { name = \"static\", threshold = \"1bdp\" }]", "disciplines = []"),
    ("disciplines = [\"codel\", { name = \"static\", threshold = \"1bdp\" }]", "disciplines = \"codel\""),
    // Runs.
    ("duration = \"60s\"", "duration = \"10s\""),
    ("duration = \"60s\"", "duration = \"5000000s\""),
    ("duration = \"60s\"", "duration = \"900000s\""),
    ("duration = \"60s\"", "duration = \"60s\"\nsample = \"1us\""),
    ("duration = \"60s\"", "duration = \"60s\"\nstack = \"freebsd\""),
    ("[1, 2, 3]", "[1, 2, 1]"),
    ("[1, 2, 3]", "[]"),
    ("[1, 2, 3]", "-1"),
    ("[1, 2, 3]", "\"1..1000000\""),
    ("[1, 2, 3]", "\"three\""),
    // TOML.
    ("[run]", "[run"),
    ("rtt = \"20ms..80ms\"", "rtt = 20ms"),
    ("rtt = \"20ms..80ms\"", "rtt = \"20ms\"\nrtt = \"30ms\""),
    ("name = \"good\"", "name = \"good"),
];

/// Several ports, two of which share a buffer.
const PORTS: &str = r#"[[ports]]
name = "left"
rate = "100mbit"
[[ports]]
name = "right"
rate = "50mbit"
delay = "2ms"
[[ports]]
name = "far"
rate = "40mbit"
delay = "3ms"
buffer = "100p"
[shared]
buffer = "300kb"
[[flows]]
cca = "cubic"
rtt = "20ms"
ports = ["left", "far"]
[[flows]]
cbr = "2mbit"
ports = "right"
[queue]
disciplines = ["codel"]
[run]
duration = "60s"
"#;

/// The same for [`PORTS`].
const MISTAKES_IN_PORTS: &[(&str, &str)] = &[
    ("name = \"left\"\n", ""),
    ("name = \"left\"", "name = \"far\""),
    ("name = \"left\"", "name = \"left\"\noverhead = \"2b\""),
    ("ports = \"right\"\n", ""),
    ("ports = \"right\"", "ports = \"rihgt\""),
    ("[\"left\", \"far\"]", "[]"),
    ("[\"left\", \"far\"]", "[\"left\", \"left\"]"),
    ("[\"left\", \"far\"]", "3"),
    ("rtt = \"20ms\"", "rtt = \"5ms\""),
    ("rate = \"100mbit\"\n", ""),
    ("\"300kb\"", "\"200p\""),
    ("\"300kb\"", "\"0b\""),
    ("\"300kb\"", "\"1kb\""),
    ("\"300kb\"", "\"0.001bdp\""),
    ("[shared]\nbuffer = \"300kb\"", "[shared]"),
    ("[shared]\nbuffer = \"300kb\"", "[shared]\nsize = \"300kb\""),
    ("\"100p\"", "\"0p\""),
    ("[shared]", "[link]\nrate = \"1mbit\"\n[shared]"),
    // Disciplines of their own.
    ("name = \"left\"", "name = \"left\"\ndiscipline = \"coddle\""),
    ("name = \"left\"", "name = \"left\"\ndiscipline = [\"codel\"]"),
    ("name = \"left\"", "name = \"left\"\ndiscipline = { name = \"codel\", targt = \"5ms\" }"),
    ("name = \"left\"", "name = \"left\"\ndiscipline = { name = \"static\", threshold = \"0bdp\" }"),
    (
        "name = \"left\"",
        "name = \"left\"\ndiscipline = { name = \"red\", set = [{ at = \"5s\", ecn = true }] }",
    ),
    (
        "name = \"left\"",
        "name = \"left\"\ndiscipline = { name = \"red\", set = [{ at = \"5s\", min = \"100000bdp\" }] }",
    ),
    ("\"100p\"", "\"100p\"\ndiscipline = \"abm\""),
    ("delay = \"2ms\"\n", "delay = \"2ms\"\nbuffer = \"1mb\"\ndiscipline = { name = \"dt\", alpha = 2.0 }\n"),
];

/// Two ports with a buffer and a discipline each.
const OWN: &str = r#"[[ports]]
name = "left"
rate = "100mbit"
discipline = "droptail"
[[ports]]
name = "right"
rate = "50mbit"
[[flows]]
cca = "cubic"
rtt = "20ms"
ports = ["left", "right"]
[queue]
disciplines = ["codel"]
[run]
duration = "60s"
"#;

/// The same for [`OWN`].
const MISTAKES_IN_OWN: &[(&str, &str)] = &[
    ("rate = \"50mbit\"", "rate = \"50mbit\"\ndiscipline = \"pie\""),
    ("ports = [\"left\", \"right\"]", "ports = [\"left\"]\nreverse_ports = [\"left\"]"),
    ("ports = [\"left\", \"right\"]", "ports = [\"left\"]\nreverse_ports = [\"up\"]"),
    (
        "cca = \"cubic\"\nrtt = \"20ms\"\nports = [\"left\", \"right\"]",
        "cbr = \"1mbit\"\nports = [\"left\"]\nreverse_ports = [\"right\"]",
    ),
    (
        "rate = \"50mbit\"\n[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\nports = [\"left\", \"right\"]",
        "rate = \"50mbit\"\ndelay = \"11ms\"\n[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\nports = [\"left\"]\nreverse_ports = [\"right\"]",
    ),
    ("\"codel\"", "\"codel\", \"dt\""),
    ("\"codel\"", "\"abm\""),
    ("[queue]\ndisciplines = [\"codel\"]\n", ""),
];

/// The list of names that an error shows grows with every discipline and control.
fn without_lists(message: &str) -> String {
    let disciplines: Vec<&str> = queuewright_aqm::registry().iter().map(|i| i.name).collect();
    let ccas: Vec<&str> = queuewright_cca::Kind::ALL.iter().map(|k| k.name()).collect();
    message
        .replace(&disciplines.join(", "), "(every discipline)")
        .replace(&ccas.join(", "), "(every congestion control)")
}

fn mistakes_in(good: &str, mistakes: &[(&str, &str)]) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let runs = |text: &str| Scenario::parse(text, "scenario.toml", folder)?.runs();
    runs(good).unwrap_or_else(|e| panic!("{e}"));
    let mut table = String::new();
    for (piece, bad) in mistakes {
        assert_eq!(good.matches(piece).count(), 1, "{piece:?} must be there once");
        let error =
            runs(&good.replace(piece, bad)).map(|_| "ACCEPTED".to_string()).map_err(|e| e.to_string());
        let (Ok(message) | Err(message)) = error;
        assert!(!message.contains('\n'), "{message}");
        writeln!(table, "{}\n    {}", bad.replace('\n', " | "), without_lists(&message)).unwrap();
    }
    assert!(!table.contains("ACCEPTED"), "{table}");
    table
}

#[test]
fn mistakes_in_files() {
    insta::assert_snapshot!(mistakes_in(GOOD, MISTAKES));
}

#[test]
fn mistakes_in_ports() {
    insta::assert_snapshot!(mistakes_in(PORTS, MISTAKES_IN_PORTS) + &mistakes_in(OWN, MISTAKES_IN_OWN));
}

/// A way of as many ports as a packet can count, and one more.
#[test]
fn a_way_has_an_end() {
    let text = |there: usize, back: usize| {
        let ports: String =
            (0..256).map(|i| format!("[[ports]]\nname = \"p{i}\"\nrate = \"1gbit\"\n")).collect();
        let names = |from: usize, n: usize| {
            let names: Vec<String> = (from..from + n).map(|i| format!("\"p{i}\"")).collect();
            names.join(", ")
        };
        format!(
            "{ports}[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\nports = [{}]\nreverse_ports = [{}]\n\
             [queue]\ndisciplines = [\"droptail\"]\n[run]\nduration = \"1s\"\n",
            names(0, there),
            names(there, back)
        )
    };
    let read = |text: &str| Scenario::parse(text, "test.toml", Path::new("."));
    for (there, back) in [(254, 0), (1, 253), (200, 54)] {
        assert!(read(&text(there, back)).is_ok(), "{there} and {back}");
    }
    for (there, back) in [(255, 0), (256, 0), (1, 254)] {
        let error = read(&text(there, back)).expect_err("too long a way").to_string();
        assert!(error.contains("at most 254"), "{error}");
    }
}

const TRAFFIC: &str = r#"[link]
rate = "100mbit"
[[flows]]
cca = "cubic"
rtt = "20ms"
size = "10kb..1mb"
arrivals = "50/s"
[[flows]]
name = "web"
cca = "cubic"
rtt = "20ms"
pages = { at = ["1s", "2s"] }
initial_window = "all"
[[flows]]
name = "crowd"
count = 20
cca = "cubic"
rtt = "20ms"
size = { distribution = "lognormal", median = "10kb", sigma = 1.5 }
repeat = { exponential = "2s" }
[queue]
disciplines = ["codel"]
[run]
duration = "60s"
"#;

const MISTAKES_IN_TRAFFIC: &[(&str, &str)] = &[
    ("\"50/s\"", "50"),
    ("\"50/s\"", "\"50\""),
    ("\"50/s\"", "\"0/s\""),
    ("\"50/s\"", "\"often\""),
    ("\"50/s\"", "\"50/min\""),
    ("\"50/s\"", "\"0.00001%\""),
    ("\"50/s\"", "\"20Mbps\""),
    ("\"50/s\"", "\"900000/s\""),
    ("arrivals = \"50/s\"", "arrivals = \"50/s\"\nrepeat = \"0s\""),
    ("arrivals = \"50/s\"", "arrivals = \"50/s\"\ncount = 3"),
    ("size = \"10kb..1mb\"\n", ""),
    ("cca = \"cubic\"\nrtt = \"20ms\"\nsize = \"10kb..1mb\"", "cbr = \"1mbit\""),
    ("{ at = [\"1s\", \"2s\"] }", "\"1s\""),
    ("{ at = [\"1s\", \"2s\"] }", "{}"),
    ("{ at = [\"1s\", \"2s\"] }", "{ at = [] }"),
    ("{ at = [\"1s\", \"2s\"] }", "{ at = [\"2s\", \"1s\"] }"),
    ("{ at = [\"1s\", \"2s\"] }", "{ at = \"60s\" }"),
    ("{ at = [\"1s\", \"2s\"] }", "{ at = \"1s\", traces = [1] }"),
    ("{ at = [\"1s\", \"2s\"] }", "{ at = \"1s\", file = \"none.csv\" }"),
    ("{ at = [\"1s\", \"2s\"] }", "{ at = \"1s\" }\narrivals = \"1/s\""),
    ("initial_window = \"all\"", "initial_window = 10"),
    ("initial_window = \"all\"", "initial_window = \"0p\""),
    ("initial_window = \"all\"", "wmem = \"1kb\""),
    ("initial_window = \"all\"", "notsent_lowat = \"2gb\""),
    ("initial_window = \"all\"", "notsent_lowat = \"4p\""),
    ("initial_window = \"all\"", "size = \"1kb\""),
    ("initial_window = \"all\"", "stack = \"tcp\""),
    ("initial_window = \"all\"", "stack = \"quic\"\nwmem = \"1mb\""),
    ("initial_window = \"all\"", "stack = \"ns3\"\nwmem = \"1mb\""),
    ("initial_window = \"all\"", "stack = \"quic\"\nprobes = true"),
    ("initial_window = \"all\"", "stack = \"quic\"\nvideo = {}"),
    ("{ exponential = \"2s\" }", "true"),
    ("{ exponential = \"2s\" }", "{ mean = \"2s\" }"),
    ("{ exponential = \"2s\" }", "{ exponential = \"1s..2s\" }"),
    ("\"lognormal\"", "\"normal\""),
    ("median = \"10kb\", ", ""),
    ("median = \"10kb\"", "min = \"10kb\""),
    ("median = \"10kb\"", "median = \"0b\""),
    ("sigma = 1.5", "sigma = \"1.5\""),
    ("sigma = 1.5", "sigma = 0"),
    ("sigma = 1.5", "sigma = 1.5, max = \"1kb\""),
    ("distribution = \"lognormal\", ", ""),
    ("distribution = \"lognormal\", median = \"10kb\", sigma = 1.5", "file = \"/nowhere/sizes.csv\""),
    ("distribution = \"lognormal\", median = \"10kb\", sigma = 1.5", "file = \"\""),
];

#[test]
fn mistakes_in_traffic() {
    insta::assert_snapshot!(mistakes_in(TRAFFIC, MISTAKES_IN_TRAFFIC));
}

/// Files of sizes and of pages that are not.
#[test]
fn mistakes_in_files_of_traffic() {
    let folder = std::env::temp_dir().join(format!("queuewright-traffic-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut table = String::new();
    let sizes = [
        "",
        "bytes\n",
        "0\n",
        "abc\ndef\n",
        "10\n20,1\n",
        "10,0.5\n5,1\n",
        "10,0.5\n20,0.4\n",
        "10,0.5\n",
        "10,2\n",
        "10,x\n",
        "1,2,3\n",
        "5tb\n",
    ];
    let pages = ["", "trace,flow,packets\n", "1,2\n", "1,0,0\n", "1,0,-5\n", "1,0,9\nx\n"];
    for (key, files) in [("size = { file", &sizes[..]), ("pages = { at = \"1s\", file", &pages[..])] {
        for content in files {
            std::fs::write(folder.join("a.csv"), content).unwrap();
            let old = if key.starts_with("size") {
                "size = \"10kb..1mb\""
            } else {
                "pages = { at = [\"1s\", \"2s\"] }"
            };
            let text = TRAFFIC.replace(old, &format!("{key} = \"a.csv\" }}"));
            let error = Scenario::parse(&text, "s.toml", &folder).unwrap_err();
            writeln!(table, "{content:?}\n    {error}").unwrap();
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
    insta::assert_snapshot!(table);
}

/// Files of flows that are not, and entries that they do not go with.
#[test]
fn mistakes_in_files_of_flows() {
    let folder = std::env::temp_dir().join(format!("queuewright-flows-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut table = String::new();
    let entry = "cca = \"cubic\"";
    let cases = [
        ("", entry),
        ("rtt\n", entry),
        ("rrt\n20ms\n", entry),
        ("count\n20\n", entry),
        ("rtt,rtt\n20ms,20ms\n", entry),
        ("rtt,cca\n20ms,cubic\n", entry),
        ("rtt,start\n20ms,1s\n30ms\n", entry),
        ("rtt\n20ms\n30\n", entry),
        ("rtt,start\n20ms,1s\n\n30ms,1000s\n", entry),
        ("rtt,cca\n20ms,cubik\n", "access = \"1gbit\""),
        ("rtt,cca\n20ms,\n", "access = \"1gbit\""),
        ("rtt,size\n20ms,-1kb\n", entry),
        ("rtt,ecn\n20ms,yes\n", entry),
        ("rtt,initial_window\n20ms,0p\n", entry),
        ("rtt,rate\n20ms,5mbit\n", entry),
        ("start\n1s\n", entry),
        ("rtt\n20ms\n", "cca = \"cubic\"\ncount = 3"),
        ("rtt\n20ms\n", "cca = \"cubic\"\nsize = \"1kb\"\nrepeat = \"0s\""),
        ("rtt\n20ms\n", "cbr = \"1mbit\""),
    ];
    for (content, keys) in cases {
        std::fs::write(folder.join("flows.csv"), content).unwrap();
        let text = format!(
            "[link]\nrate = \"10mbit\"\n[[flows]]\nfile = \"flows.csv\"\n{keys}\n[queue]\ndisciplines = [\"codel\"]\n[run]\nduration = \"10s\"\n"
        );
        let error = Scenario::parse(&text, "s.toml", &folder).unwrap_err();
        writeln!(table, "{content:?} {keys:?}\n    {error}").unwrap();
    }
    std::fs::remove_dir_all(&folder).unwrap();
    insta::assert_snapshot!(table);
}

#[test]
fn mistakes_in_flags() {
    let good = [
        ("rate", "100mbit"),
        ("rtt", "20ms..80ms"),
        ("flows", "10xcubic,4xbbr,1xcbr:2mbit"),
        ("aqm", "droptail,codel,pie,titrate"),
        ("buffer", "2bdp"),
        ("duration", "60s"),
        ("warmup", "10s"),
        ("seeds", "1..3"),
    ];
    let mistakes = [
        ("rate", ""),
        ("rate", "100Mbit"),
        ("rate", "-"),
        ("rtt", "20 m"),
        ("rtt", "-"),
        ("trace", "not/there.down"),
        ("flows", "-"),
        ("flows", ""),
        ("flows", "10xcubik"),
        ("flows", "2xreno"),
        ("flows", "2xbrake.h"),
        ("flows", "2x./brake"),
        ("aqm", "pfifo"),
        ("aqm", "late.h"),
        ("aqm", "./late"),
        ("flows", "10cubic"),
        ("flows", "x"),
        ("flows", "10xcubic,,4xbbr"),
        ("flows", "0xcubic"),
        ("flows", "1xcbr"),
        ("flows", "1xcbr:fast"),
        ("flows", "1xcubic:fast"),
        ("flows", "10xmixx"),
        ("flows", "10xmix:0.5"),
        ("flows", "2xbrutal"),
        ("flows", "2xbrutal:fast"),
        ("flows", "2xbrutal:20mbit:rate=10mbit"),
        ("flows", "1xcubic:rate=10mbit"),
        ("flows", "1xcubic:rrt=20ms"),
        ("flows", "1xcubic:rtt=20ms:rtt=30ms"),
        ("flows", "1xcubic:count=3"),
        ("aqm", "drop_tail"),
        ("aqm", "codel,"),
        ("aqm", "codel:5ms"),
        ("aqm", "codel:target=5"),
        ("aqm", "codel:taget=5ms"),
        ("aqm", "titrate:rules=book"),
        ("aqm", "codel,codel"),
        ("aqm", "red:set=5s"),
        ("aqm", "queuepilot:weights=not/there.json"),
        ("aqm", "santa:inner=fq"),
        ("buffer", "2 bdp"),
        ("buffer", "0.001bdp"),
        ("duration", "one minute"),
        ("duration", "10s"),
        ("seeds", "3..1"),
        ("seeds", "1,1"),
        ("seeds", "a"),
    ];
    let flags = |set: &[(&str, &str)]| {
        let mut flags = Flags::default();
        for (name, value) in set {
            let slot = match *name {
                "rate" => &mut flags.rate,
                "trace" => &mut flags.trace,
                "rtt" => &mut flags.rtt,
                "flows" => &mut flags.flows,
                "aqm" => &mut flags.aqm,
                "buffer" => &mut flags.buffer,
                "duration" => &mut flags.duration,
                "warmup" => &mut flags.warmup,
                _ => &mut flags.seeds,
            };
            // "-" stands for a flag that is not there.
            *slot = (*value != "-").then(|| value.to_string());
        }
        Scenario::from_flags(&flags).and_then(|s| s.runs())
    };
    assert!(flags(&good).is_ok());
    let mut table = String::new();
    for (name, bad) in mistakes {
        let mut set: Vec<_> =
            good.iter().copied().filter(|(n, _)| *n != name && !(name == "trace" && *n == "rate")).collect();
        set.push((name, bad));
        let (Ok(message) | Err(message)) =
            flags(&set).map(|_| "ACCEPTED".to_string()).map_err(|e| e.to_string());
        writeln!(table, "--{name} {bad}\n    {}", without_lists(&message)).unwrap();
    }
    assert!(!table.contains("ACCEPTED"), "{table}");
    insta::assert_snapshot!(table);
}

#[test]
fn mistakes_in_traces() {
    let mut table = String::new();
    for bad in [
        "",
        "\n",
        "1\n\n2\n",
        "0\n0\n",
        "5\n4\n",
        "1.5\n",
        "-1\n",
        "1,2\n",
        "abc\n",
        "1\n99999999999999999999999\n",
        "1\n\u{1}\u{7f}\n",
        "1 2\n",
    ] {
        let (Ok(message) | Err(message)) = queuewright_scenario::trace::parse(bad.as_bytes(), "att.down")
            .map(|_| "ACCEPTED".to_string())
            .map_err(|e| e.to_string());
        writeln!(table, "{bad:?}\n    {}", without_lists(&message)).unwrap();
    }
    assert!(!table.contains("ACCEPTED"), "{table}");
    insta::assert_snapshot!(table);
}
