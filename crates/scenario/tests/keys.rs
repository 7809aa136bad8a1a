//! The keys as they are declared, against the reader, the page and the schema.

mod common;

use common::{complaints, schema};
use proptest::prelude::*;
use queuewright_scenario::keys::{
    EXPONENTIAL, FLOWS, Form, JITTER, Key, Keys, LINK, LOGNORMAL, PAGES, PARETO, PROBES, QUEUE, REORDER, RUN,
    SHARED, SIZES, TABLES, TOP, VIDEO,
};
use queuewright_scenario::limits::limits_page;
use queuewright_scenario::units::show_millionths;
use queuewright_scenario::{Datagrams, Draft, Flags, Scenario, json_schema, python_types};
use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn kept(name: &str, made: impl Fn(&str) -> String) {
    let path = repository().join(name);
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let made = made(&kept);
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(&path, &made).unwrap();
        return;
    }
    assert!(kept == made, "{name} is stale: run UPDATE_SCHEMA=1 cargo test -p queuewright-scenario");
}

/// The page's tables of keys are those that the declarations make. `UPDATE_SCHEMA=1` writes them.
#[test]
fn the_page_is_in_step() {
    let tables: [(&str, &Keys); 7] = [
        ("the top", &TOP),
        ("[link]", &LINK),
        ("[[flows]]", &FLOWS),
        ("video", &VIDEO),
        ("pages", &PAGES),
        ("[queue]", &QUEUE),
        ("[run]", &RUN),
    ];
    kept("docs/scenario.md", |page| {
        let mut page = page.to_string();
        for (name, keys) in tables {
            let begin = format!("<!-- keys of {name} -->\n");
            let at = page.find(&begin).unwrap_or_else(|| panic!("no {begin}")) + begin.len();
            let end = at + page[at..].find("<!-- end -->").unwrap_or_else(|| panic!("no end of {begin}"));
            page.replace_range(at..end, &keys.page());
        }
        let begin = "<!-- limits -->\n";
        let at = page.find(begin).expect("limits") + begin.len();
        let end = at + page[at..].find("<!-- end -->").expect("the end of the limits");
        page.replace_range(at..end, &limits_page());
        page
    });
}

/// The committed schema is the one the declarations make. `UPDATE_SCHEMA=1` writes it.
#[test]
fn the_schema_is_in_step() {
    kept("docs/scenario.schema.json", |_| json_schema());
}

/// The types of the Python package are those that the declarations make. `UPDATE_SCHEMA=1` writes them.
#[test]
fn the_types_of_python_are_in_step() {
    kept("python/queuewright/keys.py", |_| python_types());
}

/// Every scenario of these folders, and of those in them.
fn scenarios(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && path.file_name().is_none_or(|name| name != "training") {
            scenarios(&path, found);
        } else if path.to_string_lossy().ends_with(".toml")
            && !path.to_string_lossy().ends_with(".figure.toml")
            && !path.ends_with("nulls.toml")
            && !path.ends_with("causes.toml")
            && !path.ends_with("suite.toml")
        {
            found.push(path);
        }
    }
}

#[test]
fn the_schema_accepts_what_is_shipped() {
    let mut found = Vec::new();
    scenarios(&repository().join("examples"), &mut found);
    let examples = found.len();
    for path in &found {
        let text = std::fs::read_to_string(path).unwrap();
        assert_eq!(text.lines().next(), Some("#:schema ../docs/scenario.schema.json"), "{}", path.display());
    }
    let mut of_suites = Vec::new();
    scenarios(&repository().join("suites"), &mut of_suites);
    for path in &of_suites {
        let text = std::fs::read_to_string(path).unwrap();
        assert_eq!(
            text.lines().next(),
            Some("#:schema ../../docs/scenario.schema.json"),
            "{}",
            path.display()
        );
    }
    found.extend(of_suites);
    let both = found.len();
    scenarios(&repository().join("experiments"), &mut found);
    assert!(
        examples > 10 && both > 100 + examples && found.len() > both,
        "{examples} {both} {}",
        found.len()
    );
    let schema = schema();
    for path in found {
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(complaints(&schema, &text), Vec::<String>::new(), "{}", path.display());
        // With every default written out, too.
        let scenario = Scenario::read(&path).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(scenario.warnings(), []);
        assert_eq!(complaints(&schema, &scenario.to_toml()), Vec::<String>::new(), "{}", path.display());
    }
}

#[test]
fn the_schema_refuses_what_is_wrong() {
    let schema = schema();
    let good = file(&FLOWS, "ecn", "true");
    assert_eq!(complaints(&schema, &good), Vec::<String>::new());
    for (piece, bad) in [
        ("rate = \"1kbit\"", "rate = \"1kb\""),
        ("rate = \"1kbit\"", "rate = 1000"),
        ("rate = \"1kbit\"", "rat = \"1kbit\""),
        ("rate = \"1kbit\"", "schedule = [[\"0s\"]]"),
        ("buffer = \"100p\"", "buffer = \"100 p\""),
        ("buffer = \"100p\"", "loss = 1.5"),
        ("buffer = \"100p\"", "reorder = { share = \"1%\" }"),
        ("rtt = \"60s\"", "rtt = \"1..\""),
        ("cca = \"cubic\"", "cca = \"cubik\""),
        ("cca = \"cubic\"", "cca = { cubik = 1 }"),
        ("ecn = true", "ecn = \"l3s\""),
        ("ecn = true", "count = 0"),
        ("ecn = true", "size = { distribution = \"pareto\", median = \"1kb\" }"),
        ("\"codel\"", "\"coddle\""),
        ("\"codel\"", "{ name = \"codel\", targt = \"5ms\" }"),
        ("\"codel\"", "{ name = \"codel\", target = 5 }"),
        ("\"codel\"", "{ name = \"codel\", set = [] }"),
        ("duration = \"10s\"", ""),
        ("duration = \"10s\"", "duration = \"10s\"\nseries_flows = 1001"),
        ("[run]", "[runs]"),
    ] {
        assert_eq!(good.matches(piece).count(), 1, "{piece:?} must be there once");
        assert!(!complaints(&schema, &good.replace(piece, bad)).is_empty(), "{bad} passed");
    }
}

/// The tables inside others.
static INNER: [&Keys; 9] =
    [&JITTER, &REORDER, &EXPONENTIAL, &LOGNORMAL, &PARETO, &SIZES, &VIDEO, &PAGES, &PROBES];

/// A small file in which a key may stand, with that value.
fn file(of: &Keys, key: &str, value: &str) -> String {
    let line = format!("{key} = {value}");
    let (mut top, mut link, mut flows, mut queue, mut run) = (
        String::new(),
        "[link]\nrate = \"1kbit\"\nbuffer = \"100p\"\n".to_string(),
        "[[flows]]\ncca = \"cubic\"\nrtt = \"60s\"\n".to_string(),
        "[queue]\ndisciplines = [\"codel\"]\n".to_string(),
        "[run]\nduration = \"10s\"\n".to_string(),
    );
    // In the place of the key if it is there already.
    let put = |table: &mut String, line: &str| {
        let key = line.split('=').next().unwrap_or_default();
        *table = table.split_inclusive('\n').filter(|l| !l.starts_with(key)).collect();
        table.push_str(line);
        table.push('\n');
    };
    let ports = "[[ports]]\nname = \"a\"\nrate = \"1kbit\"\n[[ports]]\nname = \"b\"\nrate = \"1kbit\"\n";
    match (of.name, key) {
        ("", "link") => link = format!("{line}\n"),
        ("", "ports" | "shared" | "flows" | "queue" | "run") => {
            (top, link) = (format!("{line}\n"), String::new());
            if key == "shared" {
                link = ports.into();
            }
            match key {
                "flows" => flows.clear(),
                "queue" => queue.clear(),
                "run" => run.clear(),
                _ => {}
            }
            if !matches!(key, "ports" | "shared") {
                link = "[link]\nrate = \"1kbit\"\n".into();
            }
        }
        ("", _) => top = format!("{line}\n"),
        ("[link]" | "[[ports]]", _) => {
            if of.name == "[[ports]]" {
                link = "[[ports]]\nname = \"a\"\nrate = \"1kbit\"\nbuffer = \"100p\"\n".into();
            }
            match key {
                "schedule" | "trace" => put(&mut link, "rate = \"1kbit\""),
                "period" => link = link.replace("rate = \"1kbit\"", "schedule = [[\"0s\", \"1kbit\"]]"),
                // A fast link numbers no more segments than it may.
                "rate" => put(&mut run, "duration = \"10ms\""),
                _ => {}
            }
            if matches!(key, "schedule" | "trace") {
                link = link.replace("rate = \"1kbit\"\n", "");
            }
            put(&mut link, &line);
        }
        ("[shared]", _) => link = format!("{ports}[shared]\n{line}\n"),
        ("[[flows]]", _) => {
            match key {
                _ if Datagrams::names().any(|name| name == key) => {
                    flows = flows.replace("cca = \"cubic\"\n", "");
                    put(&mut run, "duration = \"10ms\"");
                }
                "duration" | "packet" => flows = flows.replace("cca = \"cubic\"", "cbr = \"1kbit\""),
                "repeat" | "requests" | "arrivals" => put(&mut flows, "size = \"1kb\""),
                "rate" => flows = flows.replace("cubic", "brutal"),
                "ports" | "reverse_ports" => {
                    link = ports.into();
                    put(&mut flows, "ports = [\"a\"]");
                }
                _ => {}
            }
            put(&mut flows, &line);
        }
        ("jitter", "overtaking") => put(&mut link, &format!("jitter = {{ normal = \"1ms\", {line} }}")),
        ("jitter", _) => put(&mut link, &format!("jitter = {{ {line} }}")),
        ("reorder", "share") => put(&mut link, &format!("reorder = {{ {line}, by = \"1ms\" }}")),
        ("reorder", _) => put(&mut link, &format!("reorder = {{ {line}, share = \"1%\" }}")),
        ("exponential", _) => {
            put(&mut flows, "size = \"1kb\"");
            put(&mut flows, &format!("repeat = {{ {line} }}"));
        }
        ("size", "file") => put(&mut flows, &format!("size = {{ {line} }}")),
        ("size", _) => {
            let kind = if of.get("sigma").is_some() { "lognormal" } else { "pareto" };
            let all = [("distribution", format!("\"{kind}\"")), ("median", "\"1b\"".into())];
            let all = all.into_iter().chain([("sigma", "1".into()), ("min", "\"1b\"".into())]);
            let all =
                all.chain([("shape", "1".to_string())]).filter(|(k, _)| of.get(k).is_some() && *k != key);
            let all: Vec<String> = all.map(|(k, v)| format!("{k} = {v}")).collect();
            put(&mut flows, &format!("size = {{ {}, {line} }}", all.join(", ")));
        }
        ("video", "buffer") => put(&mut flows, &format!("video = {{ chunk = \"100ms\", {line} }}")),
        ("video", _) => put(&mut flows, &format!("video = {{ {line} }}")),
        ("pages", "traces" | "pick") => {
            put(&mut flows, &format!("pages = {{ at = \"1s\", file = \"pages.csv\", {line} }}"));
        }
        ("pages", "file") => put(&mut flows, &format!("pages = {{ at = \"1s\", {line} }}")),
        ("pages", _) => put(&mut flows, &format!("pages = {{ {line} }}")),
        ("probes", _) => put(&mut flows, &format!("probes = {{ {line} }}")),
        ("[queue]", _) => put(&mut queue, &line),
        ("[run]", _) => {
            // A short run has no more samples than it may.
            if key == "sample" {
                put(&mut run, "duration = \"1s\"");
            }
            put(&mut run, &line);
        }
        (table, key) => panic!("no file for {table} {key}"),
    }
    format!("{top}{link}{flows}{queue}{run}")
}

/// Reads a file in a folder that has pages.
fn read(text: &str) -> Result<Scenario, queuewright_scenario::Error> {
    thread_local! {
        static FOLDER: tempfile::TempDir = {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("pages.csv"), "trace,flow,packets\n0,0,1\n").unwrap();
            folder
        };
    }
    FOLDER.with(|folder| Scenario::parse(text, "s.toml", folder.path()))
}

fn all_keys() -> impl Iterator<Item = (&'static Keys, &'static Key)> {
    TABLES.iter().chain(&INNER).flat_map(|table| table.iter().map(move |key| (*table, key)))
}

/// What no key takes is refused at each: a key that nothing reads would let it pass.
#[test]
fn every_key_is_read() {
    for (table, key) in all_keys() {
        let text = file(table, key.name, "1979-05-27");
        let error = read(&text).expect_err(&text);
        let at = error.key().split('[').next().unwrap_or_default();
        let at = if error.key().ends_with(']') { at } else { error.key() };
        assert!(at.rsplit('.').next() == Some(key.name), "{} {}: {error}\n{text}", table.name, key.name);
        assert!(!error.message().contains("unknown key"), "{error}");
    }
}

/// Smallest and largest value and what they are written as, and whether a range may be written.
struct Bounds {
    min: u64,
    max: u64,
    range: bool,
    show: Box<dyn Fn(u64) -> String>,
    quoted: bool,
}

/// Those of a key whose value is a number, or a list of numbers.
fn bounds(form: &'static Form) -> Option<Bounds> {
    Some(match *form {
        Form::Quantity { unit, min, max, range } => {
            Bounds { min, max, range, show: Box::new(move |n| unit.show(n)), quoted: true }
        }
        Form::Whole { min, max, range } => {
            Bounds { min, max, range, show: Box::new(|n| n.to_string()), quoted: false }
        }
        Form::Real { min, max } => {
            Bounds { min, max, range: false, show: Box::new(show_millionths), quoted: false }
        }
        Form::Or(forms) => return bounds(&forms[0]),
        Form::List(of, _) | Form::OneOrMore(of, _) => return bounds(of),
        _ => return None,
    })
}

/// Ends of a range that something else than the bound decides on: (table, key, end, why).
const NOT_ALONE: &[(&str, &str, &str, &str)] = &[
    ("[[flows]]", "start", "1000000s", "before the run ends"),
    ("[[flows]]", "stop", "0s", "after they start"),
    ("[run]", "warmup", "1000000s", "shorter than run.duration"),
    ("pages", "at", "1000000s", "before the run's end"),
    ("pages", "traces", "18446744073709551615", "not a trace of this file"),
];
/// Ranges that something else than the bounds decides on.
const RANGES_NOT_ALONE: &[(&str, &str)] =
    &[("[[flows]]", "start"), ("[[flows]]", "stop"), ("[run]", "seeds")];

#[test]
fn bounds_hold() {
    let schema = schema();
    let mut tried = 0;
    for (table, key) in all_keys() {
        let Some(Bounds { min, max, range, show, quoted }) = bounds(&key.form) else { continue };
        let list = matches!(key.form, Form::List(..));
        let (table_name, name) = (table.name, key.name);
        let text = |value: &str| {
            let value = if quoted || value.contains("..") { format!("\"{value}\"") } else { value.into() };
            file(table, name, &if list { format!("[{value}]") } else { value })
        };
        for end in [min, max] {
            let shown = show(end);
            let text = text(&shown);
            let alone = NOT_ALONE.iter().find(|(t, k, at, _)| (*t, *k, *at) == (table_name, name, &shown));
            match (read(&text), alone) {
                (Ok(_), None) => {
                    assert_eq!(complaints(&schema, &text), Vec::<String>::new(), "{text}");
                }
                (Err(e), Some((_, _, _, why))) if e.message().contains(why) => {}
                (Err(e), _) => panic!("{table_name} {name} = {shown}: {e}\n{text}"),
                (Ok(_), Some(_)) => panic!("{table_name} {name} = {shown} is accepted, and listed"),
            }
        }
        let beyond = [min.checked_sub(1), max.checked_add(1)];
        for value in beyond.into_iter().flatten().map(&show) {
            let error = read(&text(&value)).expect_err(&value).to_string();
            let allowed = format!("allowed: {} to {}", show(min), show(max));
            assert!(error.contains(&allowed), "{table_name} {name}: {error}, and not {allowed}");
        }
        tried += 1;
        if RANGES_NOT_ALONE.contains(&(table_name, name)) {
            continue;
        }
        let text = text(&format!("{}..{}", show(min), show(max)));
        match read(&text) {
            Ok(_) => assert!(range && complaints(&schema, &text).is_empty(), "{text}"),
            Err(e) => {
                let single = ["one value is needed", "not a trace", "not a number"];
                assert!(!range && single.iter().any(|s| e.message().contains(s)), "{e}\n{text}");
            }
        }
    }
    assert!(tried > 40, "{tried}");
}

/// What has bounds and is no number of one unit: the last value that passes, the first that does not, and what is said of it.
#[test]
fn other_bounds_hold() {
    let text = |bytes: usize| format!("\"{}\"", "x".repeat(bytes));
    let steps = |at: &str, rate: &str| format!("[[\"0s\", \"1kbit\"], [\"{at}\", \"{rate}\"]]");
    let (buffer, window) = ("too large; at most", "write 1p to 65535p");
    let cases: &[(&Keys, &str, String, String, &str)] = &[
        (&TOP, "name", text(64), text(65), "1 to 64 printable characters"),
        (&TOP, "description", text(10_000), text(10_001), "at most 10000 bytes"),
        (&LINK, "schedule", steps("1ns", "0bit"), steps("0s", "1kbit"), "rise"),
        (
            &LINK,
            "schedule",
            steps("1000000s", "1kbit"),
            steps("1000000.000000001s", "1kbit"),
            "0s to 1000000s",
        ),
        (&LINK, "schedule", steps("1s", "1kbit"), steps("1s", "999bit"), "1kbit to 1000gbit"),
        (&LINK, "schedule", steps("1s", "1gbit"), steps("1s", "1000.000000001gbit"), "0bit to 1000gbit"),
        (&LINK, "loss", "0.999999".into(), "1".into(), "less than 100%"),
        (&LINK, "buffer", "\"1024gb\"".into(), "\"1099511627777b\"".into(), buffer),
        (&LINK, "buffer", "\"100000000p\"".into(), "\"100000001p\"".into(), buffer),
        (&LINK, "buffer", "\"100000bdp\"".into(), "\"100000.000001bdp\"".into(), buffer),
        (&SHARED, "buffer", "\"1024gb\"".into(), "\"1099511627777b\"".into(), buffer),
        (&FLOWS, "initial_window", "\"1p\"".into(), "\"0p\"".into(), window),
        (&FLOWS, "initial_window", "\"65535p\"".into(), "\"65536p\"".into(), window),
        (&FLOWS, "cca", "{ cubic = 1000000 }".into(), "{ cubic = 1000001 }".into(), "0 to 1000000"),
        (&REORDER, "share", "\"100%\"".into(), "\"100.0001%\"".into(), "0% to 100%"),
    ];
    for (table, key, good, bad, said) in cases {
        let with = |value: &str| {
            let text = file(table, key, value);
            // Flows cross one of the ports that share.
            if table.name == "[shared]" { text.replace("rtt =", "ports = \"a\"\nrtt =") } else { text }
        };
        read(&with(good)).unwrap_or_else(|e| panic!("{key} = {good}: {e}"));
        let error = read(&with(bad)).expect_err(key).to_string();
        assert!(error.contains(said), "{key} = {bad}: {error}, and not {said}");
    }
}

/// Values that some key takes, and others that look like them.
fn value() -> impl Strategy<Value = String> {
    let number = prop_oneof!["[0-9]{1,4}", "[0-9]{1,3}\\.[0-9]{1,3}", Just(String::new())];
    let units = [
        "", "bit", "kbit", "mbit", "gbit", "ns", "us", "ms", "s", "b", "kb", "mb", "gb", "p", "bdp", "%",
        "/s",
    ];
    let quantity =
        (number, prop::sample::select(units.to_vec())).prop_map(|(number, unit)| format!("{number}{unit}"));
    let range = (quantity.clone(), quantity.clone()).prop_map(|(low, high)| format!("{low}..{high}"));
    let words = [
        "all",
        "none",
        "a",
        "b",
        "cubic",
        "brutal",
        "mix",
        "g711",
        "g729",
        "l4s",
        "linux",
        "ns3",
        "quic",
        "turn",
        "random",
        "lognormal",
        "pareto",
        "pages.csv",
        "codel",
        "titrate",
    ];
    let quoted = prop_oneof![4 => quantity, 2 => range, 2 => prop::sample::select(words.to_vec()).prop_map(String::from)]
        .prop_map(|text| format!("\"{text}\""));
    let bare = prop_oneof!["[0-9]{1,6}", "0\\.[0-9]{1,6}", "-[0-9]", "true|false", Just("{}".to_string())];
    let one = prop_oneof![4 => quoted, 2 => bare];
    let table = (
        prop::sample::select(vec!["exponential", "uniform", "normal", "cubic", "ladder", "at", "share"]),
        one.clone(),
    )
        .prop_map(|(key, value)| format!("{{ {key} = {value} }}"));
    let list = prop::collection::vec(one.clone(), 0..3).prop_map(|items| format!("[{}]", items.join(", ")));
    prop_oneof![6 => one, 1 => table, 1 => list]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(16) })]

    /// What the reader accepts of a key the schema accepts.
    #[test]
    fn the_schema_accepts_what_the_reader_does(values in prop::collection::vec(value(), 10)) {
        let schema = schema();
        for (table, key) in all_keys() {
            for value in &values {
                let text = file(table, key.name, value);
                if read(&text).is_ok() {
                    prop_assert_eq!(complaints(&schema, &text), Vec::<String>::new(), "{}", text);
                }
            }
        }
    }
}

/// Keys that have old names, each with a value that passes, as TOML, JSON and an option of `--flows` have it.
fn renamed() -> Vec<(&'static Keys, &'static Key, &'static str, &'static str)> {
    let old = all_keys().flat_map(|(table, key)| key.was.iter().map(move |was| (table, key, *was)));
    let with_value = |(table, key, was): (&'static Keys, &'static Key, &'static str)| {
        let value = match (table.name, key.name) {
            ("[[flows]]", "duration") => "\"2s\"",
            ("[[flows]]", "pages") => "{ at = [\"1s\"] }",
            ("[[flows]]", "reverse_ports") => "\"b\"",
            (table, key) => panic!("no value for {table} {key}"),
        };
        (table, key, was, value)
    };
    old.map(with_value).collect()
}

/// A key by its old name means the same, and the warning says where it is and what to write.
#[test]
fn old_names_are_read_with_a_warning() {
    let schema = schema();
    for (table, key, was, value) in renamed() {
        let name = key.name;
        let new = file(table, name, value);
        let old =
            file(table, name, value).replace(&format!("\n{name} = {value}"), &format!("\n{was} = {value}"));
        let line = old.lines().position(|l| l.starts_with(&format!("{was} = "))).unwrap() + 1;
        let (new, old_text) = (read(&new).unwrap_or_else(|e| panic!("{e}\n{new}")), old);
        let old = read(&old_text).unwrap_or_else(|e| panic!("{e}\n{old_text}"));
        assert_eq!(new.warnings(), []);
        let said: Vec<String> = old.warnings().iter().map(ToString::to_string).collect();
        let want = format!(
            "s.toml:{line}: flows[0].{was}: the old name of {name}; the next version reads only that"
        );
        assert_eq!(said, [want]);
        // All that engines and results see of it.
        assert_eq!(old, new);
        assert_eq!(old.to_json(), new.to_json());
        assert_eq!(format!("{:?}", old.runs().unwrap()), format!("{:?}", new.runs().unwrap()));
        assert_eq!(complaints(&schema, &old_text), Vec::<String>::new(), "{old_text}");

        let both = old_text.replace(&format!("\n{was} = "), &format!("\n{name} = {value}\n{was} = "));
        let error = read(&both).expect_err(&both).to_string();
        let want = format!(
            "s.toml:{}: flows[0].{was}: the old name of {name}, which is there, too; leave this one out",
            line + 1
        );
        assert_eq!(error, want);
    }
}

/// So do paths of values and options of flags: what they say takes the place of what a file says by either name.
#[test]
fn old_names_of_paths_and_options_are_read_with_a_warning() {
    for (table, key, was, value) in renamed() {
        let name = key.name;
        let text = file(table, name, value);
        let json = value.replace(" = ", ": ").replace("{ ", "{ \"").replace(": ", "\": ");
        let new = read(&text).unwrap();
        for path in [format!("flows.{was}"), format!("flows[0].{was}")] {
            let draft = Draft::parse(&text, "s.toml", "".as_ref()).and_then(|d| d.put(&path, &json));
            let old = draft.and_then(|d| d.scenario()).unwrap_or_else(|e| panic!("{path}: {e}"));
            assert_eq!(old, new);
            let said: Vec<String> = old.warnings().iter().map(ToString::to_string).collect();
            assert_eq!(said, [format!("{path}: the old name of {name}; the next version reads only that")]);
        }
        // A table is no option.
        if value.starts_with('{') {
            continue;
        }
        let with = |option: &str| {
            let kind = if text.contains("cbr") { "cbr:1kbit" } else { "cubic:rtt=60s:ports=a" };
            let flows = Some(format!("1x{kind}:{option}={}", value.trim_matches('"')));
            let flags = Flags { flows, ..Flags::default() };
            Scenario::parse_with(&text, "s.toml", "".as_ref(), &flags)
                .unwrap_or_else(|e| panic!("{option}: {e}"))
        };
        let (old, new) = (with(was), with(name));
        assert_eq!((&old, new.warnings()), (&new, &[][..]));
        let said: Vec<String> = old.warnings().iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [format!("--flows[0].{was}: the old name of {name}; the next version reads only that")]
        );
    }
}
