//! A walk over everything that a scenario can say: each key and each parameter is done on Linux or refused at its place, and
//! none is passed over.

use super::{check, check_for};
use crate::job::{Job, LEAST_PACKET, LEAST_SAMPLE_NS};
use crate::qdisc::{self, QdiscOrigin};
use queuewright_aqm::{Param, ParamKind, Spec, Value};
use queuewright_scenario::Scenario;
use queuewright_scenario::keys::{FLOWS, LINK, Linux, RUN, TABLES};
use queuewright_testing::{Lack, left_out};

/// What becomes of a key.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    /// The guest is told something else.
    Done,
    /// The error names this place.
    Refused(&'static str),
    /// It says what things are called, or what is shown of them: the guest does the same.
    Shown,
}
use Fate::{Done, Refused, Shown};

/// A file, part by part.
#[derive(Clone, Copy)]
struct Parts<'a> {
    top: &'a str,
    link: &'a str,
    flows: &'a str,
    disciplines: &'a str,
    run: &'a str,
}

const BASE: Parts<'_> = Parts {
    top: "",
    link: "[link]\nrate = \"10mbit\"\nbuffer = \"100p\"\n",
    flows: TCP,
    disciplines: "\"codel\"",
    run: "duration = \"10s\"\n",
};
const TCP: &str = "[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\n";
const UDP: &str = "[[flows]]\ncbr = \"1mbit\"\n";
const SIZED: &str = "[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\nsize = \"1mb\"\n";
const PORT: &str = "[[ports]]\nname = \"a\"\nrate = \"10mbit\"\nbuffer = \"100p\"\n";

impl Parts<'_> {
    fn text(&self) -> String {
        let Parts { top, link, flows, disciplines, run } = self;
        format!("{top}{link}{flows}[queue]\ndisciplines = [{disciplines}]\n[run]\n{run}")
    }

    /// What the guest is told, or the place that is refused.
    fn told(&self) -> Result<String, String> {
        let scenario = self.scenario();
        let runs = scenario.runs().unwrap_or_else(|e| panic!("{e}\n{}", self.text()));
        check(&scenario, &runs, QdiscOrigin::Kernel, false).map_err(|e| e.to_string())?;
        Ok(Job::new(&runs, QdiscOrigin::Kernel, false, 702)
            .unwrap_or_else(|e| panic!("{e}\n{}", self.text()))
            .text)
    }

    fn scenario(&self) -> Scenario {
        let text = self.text();
        thread_local! {
            static FOLDER: tempfile::TempDir = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
        }
        let folder = FOLDER.with(|folder| folder.path().to_path_buf());
        for (name, content) in [
            ("trace", "1\n2\n3\n"),
            ("flows.csv", "rtt,start\n30ms,1s\n20ms,0s\n"),
            ("policy.json", include_str!("../../../../examples/threshold-policy.json")),
        ] {
            std::fs::write(folder.join(name), content).unwrap_or_else(|e| panic!("{e}"));
        }
        Scenario::parse(&text, "s.toml", &folder).unwrap_or_else(|e| panic!("{e}\n{text}"))
    }
}

/// A file with the key, the one without it, and what becomes of the key.
fn samples() -> Vec<(&'static str, &'static str, Parts<'static>, Parts<'static>, Fate)> {
    let link = |link| Parts { link, ..BASE };
    let flows = |flows| Parts { flows, ..BASE };
    let run = |run| Parts { run, ..BASE };
    let port = Parts { link: PORT, ..BASE };
    let udp = flows(UDP);
    let cake = Parts { disciplines: "\"cake\"", ..BASE };
    vec![
        ("", "name", Parts { top: "name = \"n\"\n", ..BASE }, BASE, Shown),
        ("", "description", Parts { top: "description = \"d\"\n", ..BASE }, BASE, Shown),
        ("", "link", link("[link]\nrate = \"11mbit\"\nbuffer = \"100p\"\n"), BASE, Done),
        (
            "",
            "ports",
            Parts {
                link: "[[ports]]\nname = \"a\"\nrate = \"10mbit\"\n[[ports]]\nname = \"b\"\nrate = \"10mbit\"\n",
                flows: "[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\nports = [\"a\", \"b\"]\n",
                ..BASE
            },
            BASE,
            Refused("ports[1]"),
        ),
        (
            "",
            "shared",
            Parts {
                link: "[[ports]]\nname = \"a\"\nrate = \"10mbit\"\n[shared]\nbuffer = \"100kb\"\n",
                ..BASE
            },
            BASE,
            Refused("shared"),
        ),
        ("", "flows", flows("[[flows]]\ncca = \"cubic\"\nrtt = \"21ms\"\n"), BASE, Done),
        ("", "queue", Parts { disciplines: "\"pie\"", ..BASE }, BASE, Done),
        ("", "run", run("duration = \"11s\"\n"), BASE, Done),
        ("[link]", "rate", link("[link]\nrate = \"11mbit\"\nbuffer = \"100p\"\n"), BASE, Done),
        (
            "[link]",
            "burst",
            link("[link]\nrate = \"10mbit\"\nbuffer = \"100p\"\nburst = \"10kb\"\n"),
            BASE,
            Done,
        ),
        (
            "[link]",
            "shaper",
            link("[link]\nrate = \"10mbit\"\nbuffer = \"100p\"\nburst = \"10kb\"\nshaper = \"tbf\"\n"),
            BASE,
            Done,
        ),
        (
            "[link]",
            "schedule",
            link("[link]\nschedule = [[\"0s\", \"10mbit\"], [\"5s\", \"5mbit\"]]\nbuffer = \"100p\"\n"),
            BASE,
            Refused("link.schedule"),
        ),
        (
            "[link]",
            "period",
            link(
                "[link]\nschedule = [[\"0s\", \"10mbit\"], [\"5s\", \"5mbit\"]]\nperiod = \"8s\"\nbuffer = \"100p\"\n",
            ),
            BASE,
            Refused("link.schedule"),
        ),
        (
            "[link]",
            "trace",
            link("[link]\ntrace = \"trace\"\nbuffer = \"100p\"\n"),
            BASE,
            Refused("link.trace"),
        ),
        (
            "[link]",
            "police",
            Parts {
                link: "[link]\nrate = \"10mbit\"\nbuffer = \"100p\"\npolice = true\n",
                disciplines: "\"droptail\"",
                ..BASE
            },
            BASE,
            Refused("link.police"),
        ),
        (
            "[link]",
            "late_marks",
            link("[link]\nrate = \"10mbit\"\nbuffer = \"100p\"\nlate_marks = true\n"),
            BASE,
            Refused("link.late_marks"),
        ),
        (
            "[link]",
            "delay",
            Parts { link: "[link]\nrate = \"10mbit\"\nbuffer = \"100p\"\ndelay = \"3ms\"\n", ..udp },
            udp,
            Done,
        ),
        (
            "[link]",
            "loss",
            link("[link]\nrate = \"10mbit\"\nbuffer = \"100p\"\nloss = 0.01\n"),
            BASE,
            Refused("link.loss"),
        ),
        (
            "[link]",
            "jitter",
            link("[link]\nrate = \"10mbit\"\nbuffer = \"100p\"\njitter = \"1ms\"\n"),
            BASE,
            Refused("link.jitter"),
        ),
        (
            "[link]",
            "reorder",
            link(
                "[link]\nrate = \"10mbit\"\nbuffer = \"100p\"\nreorder = { share = \"1%\", by = \"5ms\" }\n",
            ),
            BASE,
            Refused("link.reorder"),
        ),
        ("[link]", "buffer", link("[link]\nrate = \"10mbit\"\nbuffer = \"101p\"\n"), BASE, Done),
        (
            "[link]",
            "overhead",
            link("[link]\nrate = \"10mbit\"\nbuffer = \"100p\"\noverhead = \"20b\"\n"),
            BASE,
            Refused("link.overhead"),
        ),
        (
            "[[ports]]",
            "name",
            Parts { link: "[[ports]]\nname = \"b\"\nrate = \"10mbit\"\nbuffer = \"100p\"\n", ..BASE },
            port,
            Shown,
        ),
        (
            "[[ports]]",
            "rate",
            link("[[ports]]\nname = \"a\"\nrate = \"11mbit\"\nbuffer = \"100p\"\n"),
            port,
            Done,
        ),
        (
            "[[ports]]",
            "burst",
            link("[[ports]]\nname = \"a\"\nrate = \"10mbit\"\nbuffer = \"100p\"\nburst = \"10kb\"\n"),
            port,
            Done,
        ),
        (
            "[[ports]]",
            "shaper",
            link(
                "[[ports]]\nname = \"a\"\nrate = \"10mbit\"\nbuffer = \"100p\"\nburst = \"10kb\"\nshaper = \"tbf\"\n",
            ),
            port,
            Done,
        ),
        (
            "[[ports]]",
            "schedule",
            link(
                "[[ports]]\nname = \"a\"\nschedule = [[\"0s\", \"10mbit\"], [\"5s\", \"5mbit\"]]\nbuffer = \"100p\"\n",
            ),
            port,
            Refused("ports[0].schedule"),
        ),
        (
            "[[ports]]",
            "period",
            link(
                "[[ports]]\nname = \"a\"\nschedule = [[\"0s\", \"10mbit\"], [\"5s\", \"5mbit\"]]\nperiod = \"8s\"\nbuffer = \"100p\"\n",
            ),
            port,
            Refused("ports[0].schedule"),
        ),
        (
            "[[ports]]",
            "trace",
            link("[[ports]]\nname = \"a\"\ntrace = \"trace\"\nbuffer = \"100p\"\n"),
            port,
            Refused("ports[0].trace"),
        ),
        (
            "[[ports]]",
            "police",
            Parts {
                link: "[[ports]]\nname = \"a\"\nrate = \"10mbit\"\nbuffer = \"100p\"\npolice = true\n",
                disciplines: "\"droptail\"",
                ..BASE
            },
            port,
            Refused("ports[0].police"),
        ),
        (
            "[[ports]]",
            "late_marks",
            link("[[ports]]\nname = \"a\"\nrate = \"10mbit\"\nbuffer = \"100p\"\nlate_marks = true\n"),
            port,
            Refused("ports[0].late_marks"),
        ),
        (
            "[[ports]]",
            "delay",
            Parts {
                link: "[[ports]]\nname = \"a\"\nrate = \"10mbit\"\nbuffer = \"100p\"\ndelay = \"3ms\"\n",
                ..udp
            },
            Parts { link: PORT, ..udp },
            Done,
        ),
        (
            "[[ports]]",
            "loss",
            link("[[ports]]\nname = \"a\"\nrate = \"10mbit\"\nbuffer = \"100p\"\nloss = 0.01\n"),
            port,
            Refused("ports[0].loss"),
        ),
        (
            "[[ports]]",
            "jitter",
            link("[[ports]]\nname = \"a\"\nrate = \"10mbit\"\nbuffer = \"100p\"\njitter = \"1ms\"\n"),
            port,
            Refused("ports[0].jitter"),
        ),
        (
            "[[ports]]",
            "reorder",
            link(
                "[[ports]]\nname = \"a\"\nrate = \"10mbit\"\nbuffer = \"100p\"\nreorder = { share = \"1%\", by = \"5ms\" }\n",
            ),
            port,
            Refused("ports[0].reorder"),
        ),
        (
            "[[ports]]",
            "buffer",
            link("[[ports]]\nname = \"a\"\nrate = \"10mbit\"\nbuffer = \"101p\"\n"),
            port,
            Done,
        ),
        (
            "[[ports]]",
            "discipline",
            Parts {
                link: "[[ports]]\nname = \"a\"\nrate = \"10mbit\"\n[[ports]]\nname = \"b\"\nrate = \"10mbit\"\n\
                       discipline = \"pie\"\n",
                flows: "[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\nports = [\"a\", \"b\"]\n",
                ..BASE
            },
            port,
            Refused("ports[1]"),
        ),
        (
            "[shared]",
            "buffer",
            Parts {
                link: "[[ports]]\nname = \"a\"\nrate = \"10mbit\"\n[shared]\nbuffer = \"100kb\"\n",
                ..BASE
            },
            BASE,
            Refused("shared"),
        ),
        (
            "[[flows]]",
            "name",
            flows("[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\nname = \"n\"\n"),
            BASE,
            Shown,
        ),
        ("[[flows]]", "count", flows("[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\ncount = 2\n"), BASE, Done),
        ("[[flows]]", "cca", flows("[[flows]]\ncca = \"bbr\"\nrtt = \"20ms\"\n"), BASE, Done),
        ("[[flows]]", "cbr", flows("[[flows]]\ncbr = \"2mbit\"\n"), udp, Done),
        ("[[flows]]", "poisson", flows("[[flows]]\npoisson = \"1mbit\"\n"), udp, Done),
        ("[[flows]]", "voip", flows("[[flows]]\nvoip = \"g711\"\n"), udp, Refused("flows[0].voip")),
        ("[[flows]]", "rtt", flows("[[flows]]\ncca = \"cubic\"\nrtt = \"21ms\"\n"), BASE, Done),
        (
            "[[flows]]",
            "start",
            flows("[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\nstart = \"1s\"\n"),
            BASE,
            Done,
        ),
        (
            "[[flows]]",
            "stop",
            flows("[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\nstop = \"5s\"\n"),
            BASE,
            Done,
        ),
        ("[[flows]]", "duration", flows("[[flows]]\ncbr = \"1mbit\"\nduration = \"2s\"\n"), udp, Done),
        (
            "[[flows]]",
            "access",
            flows("[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\naccess = \"10mbit\"\n"),
            BASE,
            Refused("flows[0].access"),
        ),
        (
            "[[flows]]",
            "jitter",
            flows("[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\njitter = \"1ms\"\n"),
            BASE,
            Refused("flows[0].jitter"),
        ),
        ("[[flows]]", "size", flows(SIZED), BASE, Done),
        ("[[flows]]", "ecn", flows("[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\necn = true\n"), BASE, Done),
        (
            "[[flows]]",
            "ecn",
            flows("[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\necn = \"l4s\"\n"),
            BASE,
            Refused("flows[0].ecn"),
        ),
        (
            "[[flows]]",
            "rate",
            flows("[[flows]]\ncca = \"brutal\"\nrtt = \"20ms\"\nrate = \"1mbit\"\n"),
            BASE,
            Refused("flows[0].cca"),
        ),
        (
            "[[flows]]",
            "dscp",
            Parts {
                disciplines: "\"cake\"",
                ..flows("[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\ndscp = \"ef\"\n")
            },
            cake,
            Done,
        ),
        (
            "[[flows]]",
            "source",
            Parts {
                disciplines: "\"cake\"",
                ..flows("[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\nsource = 2\n")
            },
            cake,
            Done,
        ),
        (
            "[[flows]]",
            "source",
            flows(
                "[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\nsource = 2\n[[flows]]\ncca = \"cubic\"\nrtt = \"30ms\"\nsource = 2\n",
            ),
            BASE,
            Refused("flows[1].source"),
        ),
        (
            "[[flows]]",
            "destination",
            Parts {
                disciplines: "\"cake\"",
                ..flows("[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\ndestination = 3\n")
            },
            cake,
            Done,
        ),
        ("[[flows]]", "packet", flows("[[flows]]\ncbr = \"1mbit\"\npacket = \"200b\"\n"), udp, Done),
        (
            "[[flows]]",
            "packet",
            flows("[[flows]]\ncbr = \"1mbit\"\npacket = \"43b\"\n"),
            udp,
            Refused("flows[0].packet"),
        ),
        (
            "[[flows]]",
            "ports",
            Parts { flows: "[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\nports = [\"a\"]\n", ..port },
            port,
            Shown,
        ),
        (
            "[[flows]]",
            "reverse_ports",
            Parts {
                link: "[[ports]]\nname = \"a\"\nrate = \"10mbit\"\n[[ports]]\nname = \"b\"\nrate = \"10mbit\"\n",
                flows: "[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\nports = [\"a\"]\nreverse_ports = [\"b\"]\n",
                ..BASE
            },
            port,
            Refused("ports[1]"),
        ),
        (
            "[[flows]]",
            "initial_window",
            flows("[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\ninitial_window = \"4p\"\n"),
            BASE,
            Done,
        ),
        (
            "[[flows]]",
            "wmem",
            flows("[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\nwmem = \"64kb\"\n"),
            BASE,
            Done,
        ),
        (
            "[[flows]]",
            "notsent_lowat",
            flows("[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\nnotsent_lowat = \"32kb\"\n"),
            BASE,
            Done,
        ),
        (
            "[[flows]]",
            "repeat",
            flows("[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\nsize = \"1mb\"\nrepeat = \"1s\"\n"),
            flows(SIZED),
            Refused("flows[0].repeat"),
        ),
        (
            "[[flows]]",
            "arrivals",
            flows("[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\nsize = \"1mb\"\narrivals = \"1/s\"\n"),
            flows(SIZED),
            Refused("flows[0].arrivals"),
        ),
        (
            "[[flows]]",
            "pages",
            flows("[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\npages = { at = \"1s\" }\n"),
            BASE,
            Refused("flows[0].pages"),
        ),
        (
            "[[flows]]",
            "requests",
            flows("[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\nsize = \"1mb\"\nrequests = \"1s\"\n"),
            flows(SIZED),
            Refused("flows[0].requests"),
        ),
        (
            "[[flows]]",
            "video",
            flows("[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\nvideo = {}\n"),
            BASE,
            Refused("flows[0].video"),
        ),
        (
            "[[flows]]",
            "probes",
            flows("[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\nprobes = true\n"),
            BASE,
            Refused("flows[0].probes"),
        ),
        (
            "[[flows]]",
            "stack",
            flows("[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\nstack = \"quic\"\n"),
            BASE,
            Refused("flows[0].stack"),
        ),
        ("[[flows]]", "file", flows("[[flows]]\ncca = \"cubic\"\nfile = \"flows.csv\"\n"), BASE, Done),
        ("[queue]", "disciplines", Parts { disciplines: "\"pie\"", ..BASE }, BASE, Done),
        ("[run]", "duration", run("duration = \"11s\"\n"), BASE, Done),
        ("[run]", "warmup", run("duration = \"10s\"\nwarmup = \"1s\"\n"), BASE, Done),
        ("[run]", "seeds", run("duration = \"10s\"\nseeds = [1, 2]\n"), BASE, Done),
        ("[run]", "stack", run("duration = \"10s\"\nstack = \"ns3\"\n"), BASE, Refused("run.stack")),
        ("[run]", "sample", run("duration = \"10s\"\nsample = \"20ms\"\n"), BASE, Done),
        ("[run]", "sample", run("duration = \"10s\"\nsample = \"1ms\"\n"), BASE, Refused("run.sample")),
        ("[run]", "series_flows", run("duration = \"10s\"\nseries_flows = 2\n"), BASE, Shown),
    ]
}

#[test]
fn every_key_is_done_or_refused() {
    let samples = samples();
    for table in TABLES {
        for key in table.iter() {
            let fates: Vec<Fate> =
                samples.iter().filter(|s| (s.0, s.1) == (table.name, key.name)).map(|s| s.4).collect();
            let does = fates.iter().any(|fate| !matches!(fate, Refused(_)));
            let refused = fates.iter().any(|fate| matches!(fate, Refused(_)));
            let (name, said) = (key.name, key.linux);
            match said {
                Linux::Does => assert!(does && !refused, "{} {name}: {said:?}, but {fates:?}", table.name),
                Linux::Some(_) => assert!(!fates.is_empty(), "no sample of {} {name}", table.name),
                Linux::Never(_) => {
                    assert!(refused && !does, "{} {name}: {said:?}, but {fates:?}", table.name)
                }
            }
        }
    }
    // What is refused by a bound of the lab's says that bound.
    let least = format!("at least {}ms ", LEAST_SAMPLE_NS / 1_000_000);
    assert!(RUN.not_on_linux("sample").contains(&least), "{least}");
    assert!(FLOWS.not_on_linux("packet").ends_with(&format!("at least {LEAST_PACKET}b")));
    for (table, key, with, without, fate) in &samples {
        let without = without.told().unwrap_or_else(|e| panic!("{table} {key}: {e}"));
        match (with.told(), fate) {
            (Ok(told), Done) => assert_ne!(told, without, "{table} {key} changes nothing"),
            (Ok(told), Shown) => assert_eq!(told, without, "{table} {key} does something"),
            (Err(e), Refused(place)) => {
                assert!(e.contains(place), "{table} {key}: {e}");
                if let Some(table) = TABLES.iter().find(|t| t.name == *table && place.ends_with(key)) {
                    let declared = table.not_on_linux(key);
                    assert!(e.contains(declared), "{key} is declared as \"{declared}\": {e}");
                }
            }
            (told, _) => panic!("{table} {key}: {told:?}"),
        }
    }
}

/// Who marks which packet: the kernel's own qdisc and, where the kernel lets it, ours the one that the law names; ours the flow's
/// next else. What is asked for and would be otherwise is refused.
#[test]
fn late_marks_are_as_asked_or_refused() {
    let mut disciplines = vec!["\"codel\""];
    match queuewright_linux::names().is_empty() {
        false => disciplines.push("\"titrate\""),
        true => left_out("late marks of our qdiscs", Lack::Setup, &"this program was built without clang"),
    }
    for disciplines in disciplines {
        let ours = disciplines == "\"titrate\"";
        for (sets_ce, asked) in
            [false, true].into_iter().flat_map(|ce| [None, Some(false), Some(true)].map(|asked| (ce, asked)))
        {
            let line = asked.map_or(String::new(), |late| format!("late_marks = {late}\n"));
            let link = format!("{}{line}", BASE.link);
            let scenario = Parts { link: &link, disciplines, ..BASE }.scenario();
            let runs = scenario.runs().unwrap_or_else(|e| panic!("{e}"));
            let told = check_for(&scenario, &runs, QdiscOrigin::Kernel, sets_ce).map_err(|e| e.to_string());
            let refused = asked.filter(|late| *late != (ours && !sets_ce)).map(|late| {
                let why = LINK.not_on_linux("late_marks");
                format!(
                    "s.toml:4: link.late_marks = {late}: --engine linux cannot do this: {why}; the simulator can"
                )
            });
            assert_eq!(told.err(), refused, "{disciplines} {sets_ce} {asked:?}");
        }
    }
}

/// What stands beside a discipline's parameters: its label, what changes of it, and files.
#[test]
fn what_is_no_value_is_done_or_refused() {
    let told = |disciplines: &str| Parts { disciplines, ..BASE }.told();
    assert_eq!(told("{ name = \"codel\", label = \"other\" }"), told("\"codel\""));
    for info in queuewright_aqm::registry() {
        for param in info.params.iter().filter(|p| p.tunable) {
            let value = param.display(param.default);
            let set = format!("[{{ at = \"5s\", {} = \"{value}\" }}]", param.name);
            let e = told(&format!("{{ name = \"{}\", set = {set} }}", info.name)).expect_err(&set);
            let begins = "s.toml:8: queue.disciplines[0].set = ";
            assert!(e.starts_with(begins) && e.contains("change during a run"), "{} {set}: {e}", info.name);
        }
        for param in info.params.iter().filter(|p| p.kind == ParamKind::File) {
            if queuewright_linux::names().is_empty() {
                let why = "this program was built without clang";
                left_out("a discipline's file in the lab", Lack::Setup, &why);
                continue;
            }
            let with = format!("{{ name = \"{}\", {} = \"policy.json\" }}", info.name, param.name);
            let (with, without) = (told(&with), told(&format!("\"{}\"", info.name)));
            let (with, without) =
                with.and_then(|with| Ok((with, without?))).unwrap_or_else(|e| panic!("{e}"));
            assert!(
                with.contains(".json") && with != without,
                "{} of {} does nothing",
                param.name,
                info.name
            );
        }
    }
}

/// Values to try of a parameter: the ends of its range and one that is neither.
fn others(param: &Param) -> Vec<Value> {
    let mut values = vec![param.min, param.max];
    match (param.kind, param.default) {
        (ParamKind::Flag, Value::Flag(on)) => values = vec![Value::Flag(!on)],
        (ParamKind::Choice(words), _) => values = words.iter().map(|w| Value::Choice(w)).collect(),
        (ParamKind::File, _) => values.clear(),
        (_, Value::Int(n)) => values.push(Value::Int(n.saturating_mul(2).max(1))),
        (_, Value::Real(x)) => values.push(Value::Real(x / 2.0)),
        _ => {}
    }
    values.retain(|v| *v != param.default);
    values
}

/// What tells a spec of a discipline apart for Linux: the qdisc's words.
fn words(
    run: &queuewright_scenario::RunSpec,
    spec: Spec,
    origin: QdiscOrigin,
) -> Result<String, qdisc::Refused> {
    let mut port = run.ports[0].clone();
    port.discipline = spec;
    qdisc::qdisc(&port, origin).map(|q| q.words)
}

#[test]
fn every_parameter_is_done_or_refused() {
    let scenario = Scenario::parse(&BASE.text(), "s.toml", "".as_ref()).unwrap_or_else(|e| panic!("{e}"));
    let runs = scenario.runs().unwrap_or_else(|e| panic!("{e}"));
    // Of a limit of its own and the buffer the smaller holds.
    let above = |param: &str, value: Value| match (param, value) {
        ("limit", Value::Int(n)) => n >= 100,
        ("memlimit", Value::Int(n)) => n >= 100 * 1514,
        _ => false,
    };
    let (mut done, mut refused, mut wrong) = (0, 0, Vec::<String>::new());
    for origin in [QdiscOrigin::Kernel, QdiscOrigin::Bpf] {
        for info in queuewright_aqm::registry() {
            // The idle clock of RED and CHOKe is the kernel's here; what is refused must be so for its own sake.
            let plain = || {
                let mut spec = Spec::new(info);
                if ["red", "choke"].contains(&info.name) && origin == QdiscOrigin::Kernel {
                    spec.set("idle_clock", Value::Choice("never")).unwrap_or_else(|e| panic!("{e}"));
                }
                spec
            };
            // What cannot run at all is refused by its name, whatever its parameters are.
            let Ok(default) = words(&runs[0], plain(), origin) else { continue };
            for param in info.params {
                let before = plain().get(param.name);
                for value in others(param).into_iter().filter(|v| Some(*v) != before) {
                    let mut spec = plain();
                    if spec.set(param.name, value).is_err() {
                        continue;
                    }
                    match words(&runs[0], spec, origin) {
                        Err((Some(key), _)) if key == param.name => refused += 1,
                        Ok(told) if told != default || above(param.name, value) => done += 1,
                        other => wrong
                            .push(format!("{origin:?} {} {} = {value:?}: {other:?}", info.name, param.name)),
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(done > 100 && refused > 10, "{done} {refused}");
}

/// A buffer, and what the qdisc is told of it (docs/linux.md, "What a buffer is"): the smaller of it and of a limit of its own.
#[test]
fn the_smaller_limit_holds() {
    let told = |name: &str, own: Option<u64>, buffer: &str| {
        let text = BASE.text().replace("100p", buffer);
        let runs = Scenario::parse(&text, "s.toml", "".as_ref()).and_then(|s| s.runs());
        let runs = runs.unwrap_or_else(|e| panic!("{e}"));
        let mut spec = Spec::new(queuewright_aqm::find(name).unwrap_or_else(|| panic!("no {name}")));
        if ["red", "choke"].contains(&name) {
            spec.set("idle_clock", Value::Choice("never")).unwrap_or_else(|e| panic!("{e}"));
        }
        if let Some(own) = own {
            spec.set("limit", Value::Int(own)).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
        words(&runs[0], spec, QdiscOrigin::Kernel).unwrap_or_else(|e| panic!("{name}: {e:?}"))
    };
    let has = |told: String, limit: &str| {
        assert!(format!("{told} ").contains(&format!("limit {limit} ")), "{told} and not {limit}");
    };
    for (name, packets, bytes) in [
        ("droptail", "100", "151400"),
        ("codel", "100", "100"),
        ("pie", "100", "100"),
        ("fq-codel", "100", "100"),
        ("fq", "100", "100"),
        ("sfq", "100", "100"),
        ("sfb", "100", "100"),
        ("choke", "100", "100"),
        ("hhf", "100", "100"),
        ("fq-pie", "100", "100"),
        ("red", "151400", "151400"),
    ] {
        has(told(name, None, "100p"), packets);
        has(told(name, None, "151400b"), bytes);
    }
    for name in ["fq-codel", "fq", "sfq", "hhf", "fq-pie"] {
        for (own, buffer, least) in
            [(50, "100p", "50"), (200, "100p", "100"), (50, "151400b", "50"), (2, "5000p", "2")]
        {
            has(told(name, Some(own), buffer), least);
        }
    }
    // Without a limit of its own that is smaller, a large buffer is as large.
    has(told("codel", None, "50000p"), "50000");
    has(told("sfq", None, "50000p"), "127");
}
