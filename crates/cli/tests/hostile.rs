//! What a hostile or unlucky user gives the program: it ends, with the right exit code and one clear line, in little memory, and leaves no
//! half of a file.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

const HOME: &str = r#"
[link]
rate = "10mbit"
[[flows]]
cca = "cubic"
rtt = "20ms"
[queue]
disciplines = ["droptail"]
[run]
duration = "2s"
seeds = [1]
"#;

/// A folder of its own with `home.toml` in it.
fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a temporary folder");
    fs::write(dir.path().join("home.toml"), HOME).expect("home.toml");
    dir
}

/// How a command ended.
#[derive(Debug)]
struct Ended {
    /// Exit code; 128 and more: a signal.
    code: i32,
    /// What it wrote to standard output and standard error.
    out: String,
    err: String,
    /// Most memory that it had, bytes.
    rss: u64,
}

fn queuewright(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_queuewright"));
    command.current_dir(dir).args(args).stdin(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Runs it to its end.
#[expect(clippy::zombie_processes, reason = "wait4 waits, and tells of memory as well")]
fn end(command: &mut Command) -> Ended {
    let mut child = command.spawn().expect("the program starts");
    let read = |from: Option<Box<dyn Read + Send>>| {
        std::thread::spawn(move || {
            let mut text = Vec::new();
            if let Some(mut from) = from {
                from.read_to_end(&mut text).expect("what it writes");
            }
            String::from_utf8_lossy(&text).into_owned()
        })
    };
    let out = read(child.stdout.take().map(|s| Box::new(s) as _));
    let err = read(child.stderr.take().map(|s| Box::new(s) as _));
    let (mut status, mut usage) = (0, unsafe { std::mem::zeroed::<libc::rusage>() });
    // SAFETY: the child is ours and has not been waited for; both places are ours.
    let pid = unsafe { libc::wait4(child.id().cast_signed(), &mut status, 0, &mut usage) };
    assert_eq!(pid, child.id().cast_signed(), "wait4");
    let status = ExitStatus::from_raw(status);
    Ended {
        code: status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)),
        out: out.join().expect("its output"),
        err: err.join().expect("its errors"),
        rss: usage.ru_maxrss.cast_unsigned() * 1024,
    }
}

/// It is refused: by exit code 2, in one line that holds `why`, and in less than 200 MB.
fn refused(command: &mut Command, why: &str) {
    let ended = end(command.stdout(Stdio::piped()));
    assert_eq!((ended.code, ended.err.lines().count()), (2, 1), "{command:?}: {ended:?}");
    assert!(ended.err.contains(why), "{command:?}: {}", ended.err);
    assert!(ended.rss < 200_000_000, "{command:?}: {} MB", ended.rss >> 20);
}

/// Files just below the largest that is read, of what costs a reader most.
#[test]
fn a_large_file_costs_little() {
    let dir = folder();
    let fill = |line: &dyn Fn(usize) -> String, bytes: usize| {
        let mut text = String::new();
        for i in 0.. {
            let line = line(i);
            if text.len() + line.len() > bytes {
                break;
            }
            text += &line;
        }
        text
    };
    const MOST: usize = 15_900_000;
    let (many, words) = ("more than 100000 keys, values and brackets", "more than 1000000 words");
    // Each by itself: what this process holds counts for its children.
    type Make<'a> = Box<dyn Fn() -> String + 'a>;
    let texts: [(&str, Make<'_>); 9] = [
        ("ends", Box::new(|| fill(&|_| "\n".into(), MOST))),
        ("comments", Box::new(|| fill(&|_| "#\n".into(), MOST))),
        ("text", Box::new(|| format!("a = \"\"\"{}\"\"\"", fill(&|_| "\n".into(), MOST)))),
        ("dots", Box::new(|| fill(&|i| format!("a{i}.b.c.d.e.f.g.h = 1\n"), MOST))),
        ("keys", Box::new(|| fill(&|i| format!("a{i} = 1\n"), MOST))),
        ("list", Box::new(|| format!("a = [{}]", fill(&|_| "1,".into(), MOST)))),
        ("part", Box::new(|| format!("a{} = 1", fill(&|_| ".b".into(), MOST)))),
        ("deep", Box::new(|| fill(&|_| "[".into(), MOST))),
        ("tables", Box::new(|| fill(&|_| "[[x]]\n".into(), MOST))),
    ];
    for (name, text) in &texts {
        fs::write(dir.path().join("large.toml"), text()).expect("large.toml");
        println!("{name}");
        let many = match *name {
            "text" => "a: unknown",
            "ends" | "comments" => words,
            _ => many,
        };
        refused(&mut queuewright(dir.path(), &["check", "large.toml"]), many);
        // As an experiment's.
        fs::create_dir_all(dir.path().join("own")).expect("own");
        fs::copy(dir.path().join("large.toml"), dir.path().join("own/a.figure.toml")).expect("a.figure.toml");
        fs::write(dir.path().join("own/a.toml"), HOME).expect("a.toml");
        let many = if *name == "text" { "unknown field" } else { many };
        refused(&mut queuewright(dir.path(), &["reproduce", "own"]), many);
    }
    // Policies of so many keys that to look for each among all others took minutes, and of so many numbers; and one word of 60 MB.
    for policy in [
        format!("{{{}\"z\":0}}", fill(&|i| format!("\"a{i}\":0,"), 3_900_000)),
        format!("[{}0]", fill(&|_| "0,".into(), 3_900_000)),
    ] {
        fs::write(dir.path().join("policy.json"), policy).expect("policy.json");
        refused(
            &mut queuewright(dir.path(), &["run", "home.toml", "--aqm", "queuepilot:weights=policy.json"]),
            "policy.json:1: more than 100000 keys and values",
        );
    }
}

/// A file of one text, over and over, written piece by piece: what this process holds counts for its children.
fn repeated(path: &Path, text: &str, bytes: usize) {
    let mut file = std::io::BufWriter::new(fs::File::create(path).expect("a file"));
    (0..bytes / text.len()).for_each(|_| file.write_all(text.as_bytes()).expect("a part"));
    file.flush().expect("the last part");
}

/// Tables of 60 MB that are one word, one line of commas, or hold nothing.
#[test]
fn a_large_table_costs_little() {
    let dir = folder();
    for key in [
        "size = { file = \"flows.csv\" }\narrivals = \"1/s\"",
        "file = \"flows.csv\"",
        "pages = { file = \"flows.csv\" }\narrivals = \"1/s\"",
    ] {
        let flows = HOME.replace("cca = \"cubic\"", &format!("cca = \"cubic\"\n{key}"));
        fs::write(dir.path().join("flows.toml"), flows).expect("flows.toml");
        for text in ["x", ",", "\n", " \n,"] {
            repeated(&dir.path().join("flows.csv"), text, 60_000_000);
            refused(&mut queuewright(dir.path(), &["check", "flows.toml"]), "");
        }
    }
}

/// A file that many name is read once.
#[test]
fn a_file_that_many_name_costs_as_one() {
    let dir = folder();
    fs::write(dir.path().join("a.trace"), "1\n".repeat(2_000_000)).expect("a.trace");
    std::os::unix::fs::symlink("a.trace", dir.path().join("b.trace")).expect("a link");
    let port = |i: usize| {
        let trace = ["a.trace", "./a.trace", "b.trace"][i % 3];
        format!("[[ports]]\nname = \"p{i}\"\ntrace = \"{trace}\"\nbuffer = \"9p\"\n")
    };
    let ports: String = (0..256).map(port).collect();
    let text =
        HOME.replace("[link]\nrate = \"10mbit\"\n", &ports).replace("rtt =", "ports = [\"p0\"]\nrtt =");
    fs::write(dir.path().join("ports.toml"), text).expect("ports.toml");
    let ended = end(queuewright(dir.path(), &["check", "ports.toml"]).stdout(Stdio::null()));
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    assert!(ended.rss < 100_000_000, "{} MB", ended.rss >> 20);

    // Files of their own, each small enough, until they are too much together.
    let ports: String = (0..20)
        .map(|i| {
            fs::copy(dir.path().join("a.trace"), dir.path().join(format!("{i}.trace"))).expect("a copy");
            format!("[[ports]]\nname = \"p{i}\"\ntrace = \"{i}.trace\"\nbuffer = \"9p\"\n")
        })
        .collect();
    let text =
        HOME.replace("[link]\nrate = \"10mbit\"\n", &ports).replace("rtt =", "ports = [\"p0\"]\nrtt =");
    fs::write(dir.path().join("ports.toml"), text).expect("ports.toml");
    refused(&mut queuewright(dir.path(), &["check", "ports.toml"]), "takes more than 128 MB");
}

/// What a run takes is what was reckoned of it, within a factor of three: with less the machine's memory would end it, and with more it
/// would be refused for nothing.
#[test]
fn what_a_run_takes_was_reckoned() {
    let dir = folder();
    let of = |link: &str, flows: &str, run: &str| {
        format!("[link]\n{link}\n[[flows]]\n{flows}\n[queue]\ndisciplines = [\"droptail\"]\n[run]\n{run}\n")
    };
    let tcp = |keys: &str| format!("cca = \"cubic\"\nrtt = \"20ms\"\n{keys}");
    let udp = |keys: &str| format!("cbr = \"1gbit\"\npacket = \"64b\"\n{keys}");
    let pages = format!("pages = {{ at = [{}] }}", "\"1s\",".repeat(500));
    let falls = r#"schedule = [["0s", "1gbit"], ["1s", "1mbit"]]"#;
    let deep = "rate = \"1mbit\"\nbuffer = \"100000000p\"";
    let ports = |discipline: &str| {
        let port = |i: usize| {
            format!(
                "[[ports]]\nname = \"p{i}\"\nrate = \"10mbit\"\nbuffer = \"100p\"\ndiscipline = \"{discipline}\"\n"
            )
        };
        of("", &tcp("ports = [\"a\"]"), "duration = \"100ms\"")
            .replace("[link]", "[[ports]]\nname = \"a\"\nrate = \"10mbit\"")
            + &(0..255).map(port).collect::<String>()
    };
    for (name, text) in [
        ("pages at a time", of("rate = \"1gbit\"", &tcp(&pages), "duration = \"60s\"")),
        (
            "a slow access link",
            of(
                "rate = \"1gbit\"",
                &tcp("size = \"100kb\"\narrivals = \"2000/s\"\naccess = \"10kbit\""),
                "duration = \"20s\"",
            ),
        ),
        (
            "a slow link",
            of("rate = \"10mbit\"", &tcp("size = \"10kb\"\narrivals = \"2000/s\""), "duration = \"20s\""),
        ),
        (
            "a link that becomes slow",
            of(falls, &tcp("size = \"10kb\"\narrivals = \"5000/s\""), "duration = \"10s\""),
        ),
        (
            "arrivals that stop",
            of(
                "rate = \"1gbit\"",
                &tcp("size = \"1kb\"\narrivals = \"200000/s\"\nstop = \"1s\""),
                "duration = \"20s\"",
            ),
        ),
        ("a queue of UDP", of(deep, &udp(""), "duration = \"5s\"")),
        ("a queue of UDP, late", of(deep, &udp("start = \"3s\""), "duration = \"5s\"")),
        ("a queue of UDP, early", of(deep, &udp("stop = \"2s\""), "duration = \"5s\"")),
        ("many flows", of("rate = \"1gbit\"", &tcp("count = 50000"), "duration = \"500ms\"")),
        (
            "samples",
            of(
                "rate = \"1mbit\"",
                &tcp("count = 20"),
                "duration = \"1s\"\nsample = \"4us\"\nseries_flows = 20",
            ),
        ),
        (
            "requests",
            of(
                "rate = \"10gbit\"",
                &tcp("size = \"1kb\"\nrequests = \"0s\"\ncount = 500").replace("20ms", "1ms"),
                "duration = \"1s\"",
            ),
        ),
        ("fq", ports("fq")),
        ("fq-codel", ports("fq-codel")),
        ("sfq", ports("sfq")),
    ] {
        fs::write(dir.path().join("run.toml"), &text).expect("run.toml");
        let path = dir.path().join("run.toml");
        let scenario = queuewright_scenario::Scenario::read(&path).unwrap_or_else(|e| panic!("{name}: {e}"));
        let reckoned = scenario.memory_bytes() >> 20;
        let ended = end(queuewright(dir.path(), &["run", "run.toml"]).stdout(Stdio::null()));
        assert_eq!((ended.code, ended.err.as_str()), (0, ""), "{name}");
        // Without what the program has for itself.
        let took = (ended.rss >> 20).saturating_sub(20);
        println!("{name}: {reckoned} MB reckoned, {took} MB taken");
        assert!(took > 50, "{name}: {took} MB are too little to tell");
        assert!(
            took / 3 <= reckoned && reckoned <= 3 * took,
            "{name}: {reckoned} MB reckoned, {took} MB taken"
        );
    }
}

/// Of many runs no more stays in memory than pictures show.
#[test]
fn many_runs_take_little_more_than_one() {
    let dir = folder();
    let text = HOME
        .replace("rtt =", "count = 100\nrtt =")
        .replace("seeds = [1]", "sample = \"1ms\"\nseries_flows = 100\nseeds = \"1..60\"");
    fs::write(dir.path().join("many.toml"), text).expect("many.toml");
    let ended = end(queuewright(dir.path(), &["run", "many.toml", "--jobs", "1"]).stdout(Stdio::null()));
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    assert!(ended.rss < 250_000_000, "{} MB", ended.rss >> 20);
}

/// No more runs at a time than there is memory for.
#[test]
fn runs_at_a_time_fit_into_memory() {
    let dir = folder();
    let text = HOME
        .replace("rtt =", "count = 50000\nrtt =")
        .replace("\"2s\"", "\"100ms\"")
        .replace("seeds = [1]", "seeds = \"1..4\"");
    fs::write(dir.path().join("many.toml"), text).expect("many.toml");
    let mut command = queuewright(dir.path(), &["run", "many.toml", "--jobs", "4"]);
    let ended = end(limited(&mut command, libc::RLIMIT_AS, 600 << 20).stdout(Stdio::null()));
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.err.starts_with("note: 2 at a time, not 4: each may need "), "{}", ended.err);
}

/// Who has no memory left hears for what.
#[test]
fn memory_that_is_not_there_has_a_name() {
    let dir = folder();
    fs::write(dir.path().join("large.trace"), "1\n".repeat(7_000_000)).expect("large.trace");
    let text = HOME.replace("rate = \"10mbit\"", "trace = \"large.trace\"");
    fs::write(dir.path().join("large.toml"), text).expect("large.toml");
    let mut check = queuewright(dir.path(), &["check", "large.toml"]);
    let ended = end(limited(&mut check, libc::RLIMIT_AS, 100 << 20).stdout(Stdio::null()));
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(ended.err.ends_with(" bytes more were needed for reading large.toml\n"), "{}", ended.err);
}

/// What a run would take is known before it starts: more than a machine has is refused at the key that asks for it.
#[test]
fn a_run_that_would_take_gigabytes_is_refused() {
    let dir = folder();
    let flows = |keys: &str| HOME.replace("cca = \"cubic\"", keys);
    let short = "size = \"10kb\"\ncca = \"cubic\"";
    let fast = |text: String| text.replace("10mbit", "100gbit");
    for (text, key) in [
        (flows(&format!("{short}\narrivals = \"1000000/s\"")), "arrivals = \"1000000/s\""),
        (flows("cca = \"cubic\"\npages = {}\narrivals = \"100000/s\""), "arrivals = \"100000/s\""),
        (
            fast(flows(&format!("{short}\nrepeat = \"0s\"\ncount = 10000")))
                .replace("10kb", "1b")
                .replace("20ms", "1us"),
            "repeat = \"0s\"",
        ),
        (
            fast(flows(&format!("{short}\nrequests = \"0s\"\ncount = 10000")))
                .replace("10kb", "1b")
                .replace("20ms", "1us"),
            "requests = \"0s\"",
        ),
        (
            fast(flows("cca = \"cubic\"\nwmem = \"1gb\"\ncount = 1000\ninitial_window = \"65535p\""))
                .replace("20ms", "30s")
                .replace("\"2s\"", "\"100s\""),
            "wmem = \"1gb\"",
        ),
        (
            // What has reached its last link is counted alone.
            fast(
                flows("cbr = \"100gbit\"\nports = [\"a\", \"b\"]").replace("rtt = \"20ms\"", "rtt = \"60s\""),
            )
            .replace(
                "[link]",
                "[[ports]]\nname = \"b\"\nrate = \"100gbit\"\n[[ports]]\nname = \"a\"\ndelay = \"30s\"",
            )
            .replace("\"2s\"", "\"60s\""),
            "delay = \"30s\"",
        ),
        (
            flows("cbr = \"100gbit\"")
                .replace("[link]", "[link]\nbuffer = \"100000000p\"")
                .replace("\"2s\"", "\"60s\""),
            "buffer = \"100000000p\"",
        ),
        (
            flows("cca = \"cubic\"\ncount = 1000")
                .replace("[run]", "[run]\nsample = \"2us\"\nseries_flows = 1000"),
            "sample = \"2us\"",
        ),
    ] {
        fs::write(dir.path().join("large.toml"), &text).expect("large.toml");
        for command in ["check", "run"] {
            refused(&mut queuewright(dir.path(), &[command, "large.toml"]), key);
            refused(&mut queuewright(dir.path(), &[command, "large.toml"]), "GB of memory, and may need");
        }
    }
    // And said where it is much.
    let text = fast(flows(&format!("{short}\narrivals = \"200000/s\"")));
    fs::write(dir.path().join("much.toml"), text).expect("much.toml");
    let ended = end(queuewright(dir.path(), &["check", "much.toml"]).stdout(Stdio::piped()));
    assert!(ended.code == 0 && ended.out.contains(" MB of memory for each at a time"), "{ended:?}");
}

/// A capture is read piece by piece, so that one of a gigabyte takes no more than a small one; what holds no flow is not read to its
/// end, and tables of more than is taken are refused.
#[test]
fn a_large_data_file_costs_little() {
    let dir = folder();
    let sizes = |file: &str| {
        let keys = format!("cca = \"cubic\"\narrivals = \"10/s\"\nsize = {{ file = \"{file}\" }}");
        HOME.replace("cca = \"cubic\"", &keys)
    };
    fs::write(dir.path().join("sizes.toml"), sizes("large.pcap")).expect("sizes.toml");
    let check = || queuewright(dir.path(), &["check", "sizes.toml"]);
    let head = [0xa1b2_c3d4_u32, 2 | 4 << 16, 0, 0, 65_535, 1].map(u32::to_le_bytes).concat();
    // Packets without a byte, all holes: it takes no disk.
    let file = fs::File::create(dir.path().join("large.pcap")).expect("large.pcap");
    (&file).write_all(&head).expect("its head");
    file.set_len(1 << 30).expect("its length");
    refused(&mut check(), "without a flow in its first 64 MB");
    file.set_len((1 << 30) + 1).expect("its length");
    refused(&mut check(), "larger than 1024 MB");
    drop(file);
    // What this process holds counts for its children: files are written piece by piece.
    let written = |packets: u32, flows: u32| {
        let file = fs::File::create(dir.path().join("large.pcap")).expect("large.pcap");
        let mut file = std::io::BufWriter::new(file);
        file.write_all(&head[..20]).and_then(|()| file.write_all(&101u32.to_le_bytes())).expect("its head");
        let lengths = [1, 0, 41, 41].map(u32::to_le_bytes).concat();
        for i in 0..packets {
            let [a, b, c, _] = (i % flows).to_le_bytes();
            let ip = [0x45, 0, 0, 41, 0, 0, 0, 0, 64, 6, 0, 0, 10, c, 0, 1, 10, 0, 0, 2];
            let tcp = [b, a, 0, 80, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 16, 0, 9, 0, 0, 0, 0, b'x'];
            file.write_all(&[&lengths[..], &ip, &tcp].concat()).expect("a packet");
        }
        file.flush().expect("the last packets");
    };
    written(1_000_001, u32::MAX);
    refused(&mut check(), "more than 1000000 flows");
    // Few flows of 228 MB are taken, and the folder of the results gets a copy piece by piece as well.
    written(4_000_000, 10);
    for args in [["check", "sizes.toml"], ["run", "sizes.toml"]] {
        let ended = end(queuewright(dir.path(), &args).stdout(Stdio::null()));
        assert_eq!((ended.code, ended.err.as_str()), (0, ""), "{args:?}");
        assert!(ended.rss < 100_000_000, "{args:?}: {} MB", ended.rss >> 20);
    }
    fs::write(dir.path().join("large.pcap"), "1\n".repeat(1_000_001)).expect("large.pcap");
    refused(&mut check(), "more than 1000000 sizes");
    // Pages whose lines take turns, which took minutes; and a page that is asked for so often that it would be terabytes.
    let pages = HOME.replace(
        "cca = \"cubic\"",
        "cca = \"cubic\"\npages = { file = \"pages.csv\", TRACES }\narrivals = \"1/s\"",
    );
    let check = |traces: &str| {
        fs::write(dir.path().join("pages.toml"), pages.replace("TRACES", traces)).expect("pages.toml");
        queuewright(dir.path(), &["check", "pages.toml"])
    };
    let turns: String = (0..1_000_002).map(|i| format!("{},0,1\n", i % 9999)).collect();
    fs::write(dir.path().join("pages.csv"), turns).expect("pages.csv");
    refused(&mut check("pick = \"turn\""), "more than 1000000 flows");
    fs::write(dir.path().join("pages.csv"), "1,0,1\n".repeat(500_000)).expect("pages.csv");
    refused(
        &mut check(&format!("traces = [{}]", "1,".repeat(50_000))),
        "more than 1000000 flows with this one",
    );
    // A trace that is wrong in its last line.
    fs::write(dir.path().join("large.trace"), "1\n".repeat(30_000_000) + "x\n").expect("large.trace");
    refused(&mut queuewright(dir.path(), &["run", "home.toml", "--trace", "large.trace"]), "not a time");
}

/// A limit of the process, set between fork and exec.
fn limited(command: &mut Command, of: libc::__rlimit_resource_t, most: u64) -> &mut Command {
    // SAFETY: setrlimit may be called after fork.
    unsafe {
        command.pre_exec(move || {
            let most = libc::rlimit { rlim_cur: most, rlim_max: most };
            match libc::setrlimit(of, &most) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        })
    }
}

/// It ended well, or with one line that says why not; notes about threads may come before. Never by a signal.
fn ended_in_words(ended: &Ended, what: &str) {
    let lines: Vec<&str> = ended.err.lines().filter(|line| !line.starts_with("note: ")).collect();
    let said = match ended.code {
        0 => lines.is_empty(),
        1 | 2 => lines.len() == 1 && lines[0].starts_with("error: "),
        // The loader, before the program is.
        127 => ended.err.contains("error while loading shared libraries"),
        _ => false,
    };
    assert!(said, "{what}: {ended:?}");
}

/// `ulimit -v`, `-s`, `-n`: with less than it asks for it does with less, or says what is lacking.
#[test]
fn what_the_machine_does_not_give_is_said() {
    let dir = folder();
    fs::write(dir.path().join("many.toml"), HOME.replace("[1]", "\"1..64\"").replace("2s", "200ms"))
        .expect("many.toml");
    let many = ["run", "many.toml", "--jobs", "64"];
    // With less than its own code takes the kernel loads no program: that is not its affair.
    let loads = |megabytes: &u64| {
        let mut command = queuewright(dir.path(), &["--version"]);
        end(limited(&mut command, libc::RLIMIT_AS, megabytes << 20).stdout(Stdio::null())).code == 0
    };
    let limits: Vec<u64> = [40, 60, 80, 100, 120, 160, 200, 300].into_iter().filter(loads).collect();
    assert!(limits.contains(&80), "{limits:?}");
    for megabytes in limits {
        let mut command = queuewright(dir.path(), &many);
        let ended = end(limited(&mut command, libc::RLIMIT_AS, megabytes << 20).stdout(Stdio::null()));
        ended_in_words(&ended, &format!("ulimit -v {megabytes} MB"));
    }
    // With less the kernel or the loader ends it, before anything of ours.
    for kilobytes in [64, 128, 1024] {
        for args in [&many[..], &["check", "many.toml"]] {
            let mut command = queuewright(dir.path(), args);
            let ended = end(limited(&mut command, libc::RLIMIT_STACK, kilobytes << 10).stdout(Stdio::null()));
            ended_in_words(&ended, &format!("ulimit -s {kilobytes}, {args:?}"));
        }
    }
    for files in [4, 5, 6, 8] {
        let mut command = queuewright(dir.path(), &many);
        let ended = end(limited(&mut command, libc::RLIMIT_NOFILE, files).stdout(Stdio::null()));
        ended_in_words(&ended, &format!("ulimit -n {files}"));
    }
}

/// The environment: nothing in it is a crash, and none of these changes results.
#[test]
fn the_environment_is_what_somebody_else_set() {
    use std::os::unix::ffi::OsStrExt;
    let dir = folder();
    let odd = std::ffi::OsStr::from_bytes(b"\xff\xfe/\x01");
    let long = "x".repeat(100_000);
    for name in
        ["HOME", "LANG", "LC_ALL", "PATH", "TZ", "TERM", "TMPDIR", "NO_COLOR", "COLUMNS", "XDG_CONFIG_HOME"]
    {
        for value in
            [std::ffi::OsStr::new(""), odd, std::ffi::OsStr::new("/dev/zero"), std::ffi::OsStr::new(&long)]
        {
            let mut command = queuewright(
                dir.path(),
                &[
                    "compare",
                    "--rate",
                    "10mbit",
                    "--rtt",
                    "20ms",
                    "--flows",
                    "1xcubic",
                    "--aqm",
                    "codel",
                    "--duration",
                    "100ms",
                    "--json",
                ],
            );
            let ended = end(command.env(name, value).stdout(Stdio::piped()));
            assert_eq!((ended.code, ended.err.as_str()), (0, ""), "{name}");
            assert!(ended.out.starts_with('{'), "{name}: {}", ended.out);
        }
    }
    let ended = end(queuewright(dir.path(), &["run", "home.toml", "--duration", "100ms"])
        .env_clear()
        .stdout(Stdio::null()));
    assert_eq!((ended.code, ended.err.as_str()), (0, ""), "no environment at all");
}

/// A signal at any moment: it ends soon, what it had is there and whole, and nothing is half a file under its real name.
#[test]
fn a_signal_at_any_moment_leaves_whole_files() {
    let dir = folder();
    fs::write(dir.path().join("many.toml"), HOME.replace("[1]", "\"1..40\"")).expect("many.toml");
    for (i, signal) in
        [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGPIPE, libc::SIGKILL].into_iter().enumerate()
    {
        // From before it has read anything to when it is done.
        for step in 0..6u32 {
            let out = dir.path().join(format!("out-{i}-{step}"));
            let out_text = out.display().to_string();
            let mut command =
                queuewright(dir.path(), &["run", "many.toml", "--jobs", "2", "--out", &out_text]);
            let mut child = command.stdout(Stdio::null()).spawn().expect("the program starts");
            // When so many files are there.
            while walk(&out).len() < step as usize * 8 {
                if child.try_wait().expect("its state").is_some() {
                    break;
                }
                std::thread::yield_now();
            }
            // SAFETY: the child is ours and has not been waited for.
            unsafe { libc::kill(child.id().cast_signed(), signal) };
            let status = child.wait().expect("it ends");
            let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
            assert!([0, 130, 128 + signal].contains(&code), "signal {signal}, step {step}: {status}");
            for path in walk(&out) {
                if signal != libc::SIGKILL {
                    continue;
                }
                let text = fs::read_to_string(&path).unwrap_or_default();
                match Path::new(&path).extension().and_then(|e| e.to_str()) {
                    Some("json") => assert!(text.trim_end().ends_with('}'), "{path} is cut off"),
                    Some("html") => assert!(text.trim_end().ends_with("</html>"), "{path} is cut off"),
                    Some("csv" | "toml") => assert!(text.ends_with('\n'), "{path} is cut off"),
                    _ => {}
                }
            }
        }
    }
}

/// A full disk, where a small one can be mounted: exit code 1, one line, no half of a file under its name.
#[test]
fn a_full_disk_is_an_error() {
    let dir = folder();
    fs::create_dir(dir.path().join("small")).expect("small");
    let script = "mount -t tmpfs -o size=64k none small && exec \"$0\" run home.toml --out small";
    let mut command = Command::new("unshare");
    command.args(["--mount", "--map-root-user", "sh", "-c", script, env!("CARGO_BIN_EXE_queuewright")]);
    command.current_dir(dir.path()).stdin(Stdio::null()).stderr(Stdio::piped());
    let ended = end(command.stdout(Stdio::null()));
    if ended.err.contains("unshare") || ended.err.contains("mount:") {
        return queuewright_testing::left_out(
            "a_full_disk_is_an_error",
            queuewright_testing::Lack::Setup,
            &ended.err,
        );
    }
    assert_eq!((ended.code, ended.err.lines().count()), (1, 1), "{ended:?}");
    assert!(ended.err.contains("No space left on device"), "{}", ended.err);
}

/// Parameters of which one is not above the other.
#[test]
fn a_range_that_falls_is_refused() {
    let dir = folder();
    for (name, text, says) in [
        ("red", "min = \"100kb\", max = \"10kb\"", Some("min")),
        ("red", "min = \"2bdp\", max = \"1bdp\"", Some("min")),
        ("red", "min = \"20p\", max = \"10p\"", Some("min")),
        ("red", "min = \"20kb\", max = \"60kb\", set = [{ at = \"1s\", max = \"10kb\" }]", None),
        ("red", "min = \"10kb\", max = \"10kb\"", None),
        ("red", "set = [{ at = \"1s\", min = \"20kb\", max = \"10kb\" }]", Some("min")),
        ("ared", "min = \"100kb\", max = \"10kb\"", Some("min")),
    ] {
        let discipline = format!("{{ name = \"{name}\", {text} }}");
        fs::write(dir.path().join("range.toml"), HOME.replace("\"droptail\"", &discipline))
            .expect("range.toml");
        let mut check = queuewright(dir.path(), &["check", "range.toml"]);
        match says {
            Some(key) => {
                refused(&mut check, &format!("{key} = "));
                refused(&mut check, "above max");
            }
            None => assert_eq!(end(check.stdout(Stdio::null())).code, 0, "{text}"),
        }
    }
}

/// A byte-order mark, with which editors on Windows begin a file, is none of its text.
#[test]
fn a_byte_order_mark_is_no_text() {
    let dir = folder();
    fs::write(dir.path().join("bom.toml"), format!("\u{feff}{HOME}")).expect("bom.toml");
    fs::write(dir.path().join("bom.trace"), "\u{feff}1\n2\n3\n").expect("bom.trace");
    let policy = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/threshold-policy.json");
    let policy = fs::read_to_string(policy).expect("a policy");
    fs::write(dir.path().join("bom.json"), format!("\u{feff}{policy}")).expect("bom.json");
    for args in [
        vec!["check", "bom.toml"],
        vec!["run", "bom.toml", "--trace", "bom.trace", "--duration", "1s"],
        vec!["run", "home.toml", "--aqm", "queuepilot:weights=bom.json", "--duration", "1s"],
    ] {
        let ended = end(queuewright(dir.path(), &args).stdout(Stdio::null()));
        assert_eq!((ended.code, ended.err.as_str()), (0, ""), "{args:?}");
    }
}

/// `TZ` may name a device or a pipe: the folder of the results is then named by UTC.
#[test]
fn a_time_zone_is_a_file() {
    let dir = folder();
    assert!(Command::new("mkfifo").arg(dir.path().join("pipe")).status().expect("mkfifo").success());
    let pipe = dir.path().join("pipe").display().to_string();
    for zone in
        [":/dev/zero", "/dev/zero", "../../../../dev/zero", &pipe, "Europe/Berlin", "UTC", "no/such", ""]
    {
        let mut command = queuewright(dir.path(), &["run", "home.toml", "--duration", "100ms"]);
        let ended = end(command.env("TZ", zone).stdout(Stdio::null()));
        assert_eq!((ended.code, ended.err.as_str()), (0, ""), "{zone}");
        assert!(ended.rss < 200_000_000, "{zone}: {} MB", ended.rss >> 20);
    }
}

/// What cannot be written is an error, whatever standard output is.
#[test]
fn results_that_go_nowhere_are_an_error() {
    let dir = folder();
    let asked = [
        vec!["--help"],
        vec!["--version"],
        vec!["run", "--help"],
        vec!["list"],
        vec![
            "compare", "--rate", "10mbit", "--rtt", "20ms", "--flows", "1xcubic", "--aqm", "codel", "--json",
        ],
    ];
    for args in &asked {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
        let ended = end(queuewright(dir.path(), args).stdout(full));
        assert_eq!((ended.code, ended.err.lines().count()), (1, 1), "{args:?}: {ended:?}");
        assert!(ended.err.contains("standard output"), "{args:?}: {}", ended.err);
        let mut closed = queuewright(dir.path(), args);
        // SAFETY: close may be called after fork.
        unsafe {
            closed.pre_exec(|| {
                libc::close(1);
                Ok(())
            })
        };
        let ended = end(closed.stdout(Stdio::inherit()));
        assert_eq!((ended.code, ended.err.as_str()), (1, "error: standard output is closed\n"), "{args:?}");
    }
}

/// `ulimit -f`: a file that may not grow is an error in words, and no half of it stays under its name.
#[test]
fn a_file_that_may_not_grow_is_an_error() {
    let dir = folder();
    let mut command = queuewright(dir.path(), &["run", "home.toml"]);
    // SAFETY: setrlimit may be called after fork.
    unsafe {
        command.pre_exec(|| {
            let most = libc::rlimit { rlim_cur: 512, rlim_max: 512 };
            match libc::setrlimit(libc::RLIMIT_FSIZE, &most) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        })
    };
    let ended = end(command.stdout(Stdio::null()));
    assert_eq!((ended.code, ended.err.lines().count()), (1, 1), "{ended:?}");
    assert!(ended.err.contains("File too large"), "{}", ended.err);
    let left: Vec<_> = walk(dir.path()).into_iter().filter(|name| name.ends_with(".part")).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// All files below a folder. One that goes while it is looked at has none.
fn walk(dir: &Path) -> Vec<String> {
    let mut all = Vec::new();
    let entries = match fs::read_dir(dir) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return all,
        entries => entries.expect("a folder"),
    };
    for entry in entries {
        let path = entry.expect("an entry").path();
        match path.is_dir() && !path.is_symlink() {
            true => all.extend(walk(&path)),
            false => all.push(path.display().to_string()),
        }
    }
    all
}

/// A command that there is not says where to look, and `help` is what git and cargo have.
#[test]
fn a_word_that_is_no_command_says_where_to_look() {
    let dir = folder();
    refused(&mut queuewright(dir.path(), &["nosuch"]), "try queuewright --help");
    let help = |args: &[&str]| end(queuewright(dir.path(), args).stdout(Stdio::piped()));
    for (args, same) in [(vec!["help"], vec!["--help"]), (vec!["help", "run"], vec!["run", "--help"])] {
        let (one, other) = (help(&args), help(&same));
        assert_eq!((one.code, one.out), (0, other.out), "{args:?}");
    }
}

/// Folders that hold no experiments, or that lead back to themselves, and runs that were spoilt.
#[test]
fn a_folder_that_is_none_of_experiments_is_not_read() {
    let dir = folder();
    refused(&mut queuewright(dir.path(), &["reproduce", "/"]), "no experiment");
    let own = dir.path().join("own");
    fs::create_dir(&own).expect("own");
    std::os::unix::fs::symlink("/dev/zero", own.join("zero.dat")).expect("a link");
    refused(&mut queuewright(dir.path(), &["reproduce", "own"]), "no experiment");
    let figure = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/cp-aqm/fig1");
    for ext in ["figure.toml", "toml"] {
        fs::copy(format!("{figure}.{ext}"), own.join(format!("fig1.{ext}"))).expect("an experiment");
    }
    refused(&mut queuewright(dir.path(), &["reproduce", "own"]), "zero.dat: a device, not a file");
    fs::remove_file(own.join("zero.dat")).expect("the link");
    let mut deep = own.clone();
    (0..10).for_each(|i| deep.push(format!("d{i}")));
    fs::create_dir_all(&deep).expect("folders");
    refused(&mut queuewright(dir.path(), &["reproduce", "own"]), "folders more than 8 deep");
    fs::remove_dir_all(own.join("d0")).expect("folders");
    // A link to itself is passed over: what follows is what is wrong then.
    std::os::unix::fs::symlink(&own, own.join("loop")).expect("a link");
    fs::write(own.join("fig1.toml"), "[link]\nrate = 5\n").expect("fig1.toml");
    refused(&mut queuewright(dir.path(), &["reproduce", "own"]), "fig1");
}

/// `reproduce --resume` of files that were spoilt says what to do.
#[test]
fn what_cannot_be_resumed_says_what_to_do() {
    let dir = folder();
    let kept = dir.path().join("queuewright-reproduced/2026-01-01-000000-reproduce");
    fs::create_dir_all(&kept).expect("a folder");
    std::os::unix::fs::symlink(&kept, dir.path().join("queuewright-reproduced/latest")).expect("a link");
    let resume = || queuewright(dir.path(), &["reproduce", "--resume"]);
    let asked = kept.join("reproduce.json");
    refused(&mut resume(), "begin anew, without --resume");
    for text in ["", "garbage", "{}", "{\"names\": 5}", &"[".repeat(2 << 20)] {
        fs::write(&asked, text).expect("reproduce.json");
        refused(&mut resume(), "begin anew, without --resume");
    }
    for (names, seeds, says) in [
        ("[\"no/such\"]", "null", "no experiment and no folder"),
        ("[\"cp-aqm\"]", "0", "0 is no number of seeds"),
        ("[\"cp-aqm\"]", "65536", "65536"),
    ] {
        let text = format!("{{\"names\": {names}, \"options\": {{\"quick\": true, \"seeds\": {seeds}}}}}");
        fs::write(&asked, text).expect("reproduce.json");
        for part in [says, "reproduce.json: ", "begin anew, without --resume"] {
            refused(&mut resume(), part);
        }
    }
    fs::remove_file(&asked).expect("reproduce.json");
    fs::create_dir(&asked).expect("a folder");
    refused(&mut resume(), "begin anew, without --resume");
}

/// A rate in bytes, and a buffer that nobody wrote.
#[test]
fn what_is_meant_is_said() {
    let dir = folder();
    for (rate, says) in [
        ("10MB", "write \\\"80mbit\\\""),
        ("1.5 GB/s", ""),
        ("10kB/s", "write \\\"80kbit\\\""),
        ("10MiB", "write \\\"80mbit\\\""),
        ("10mb", "write \\\"10mbit\\\""),
        ("10mbps", "bytes a second to tc"),
        ("1kbit", "the buffer, 2bdp where none is named, comes to"),
    ] {
        fs::write(dir.path().join("rate.toml"), HOME.replace("10mbit", rate)).expect("rate.toml");
        refused(&mut queuewright(dir.path(), &["check", "rate.toml"]), &says.replace('\\', ""));
    }
}

/// The data of a folder of experiments are there once, however many figures it has, and not in memory.
#[test]
fn data_of_many_figures_are_there_once() {
    let dir = folder();
    let own = dir.path().join("own");
    fs::create_dir(&own).expect("own");
    let figure = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/cp-aqm/fig1");
    for i in 0..40 {
        fs::copy(format!("{figure}.figure.toml"), own.join(format!("f{i}.figure.toml"))).expect("a figure");
        fs::write(own.join(format!("f{i}.toml")), HOME.replace("\"10mbit\"", "5")).expect("a scenario");
    }
    for i in 0..4 {
        let file = fs::File::create(own.join(format!("{i}.dat"))).expect("data");
        file.set_len(60 << 20).expect("its length");
    }
    refused(&mut queuewright(dir.path(), &["reproduce", "own"]), "link.rate");
}

/// Kept runs are read line by line; what is no line of theirs is as if it were not there.
#[test]
fn kept_runs_cost_what_they_hold() {
    let dir = folder();
    let make = |args: &[&str]| {
        let mut all = vec!["reproduce", "--quick", "--runs", "1", "cp-aqm/fig1"];
        all.extend(args);
        end(queuewright(dir.path(), &all).stdout(Stdio::null()))
    };
    let made = make(&[]);
    assert_eq!((made.code, made.err.as_str()), (0, ""));
    let kept = walk(dir.path()).into_iter().find(|path| path.ends_with("fig1.runs.jsonl"));
    let kept = kept.expect("kept runs");
    let whole = fs::read_to_string(&kept).expect("kept runs");
    let resume = || queuewright(dir.path(), &["reproduce", "--resume"]);
    // Holes, which are one long line; and many short ones.
    let file = fs::OpenOptions::new().append(true).open(&kept).expect("kept runs");
    file.set_len(1 << 30).expect("its length");
    refused(&mut resume(), "a line of more than 16 MB; remove it, and its runs are made again");
    file.set_len(whole.len() as u64).expect("its length");
    let mut file = std::io::BufWriter::new(file);
    (0..(1 << 29)).step_by(64).for_each(|_| {
        let line = format!("{:63}\n", "no record");
        file.write_all(line.as_bytes()).expect("a line");
    });
    drop(file);
    let ended = end(resume().stdout(Stdio::null()));
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    assert!(ended.rss < made.rss + 50_000_000, "{} MB", ended.rss >> 20);
}
