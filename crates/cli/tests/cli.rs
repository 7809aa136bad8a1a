//! The program as users meet it: what it prints, where, and how it exits.

use queuewright_cca::Kind;
use queuewright_lab::QdiscOrigin;
use queuewright_lab::random::{Draw, draw};
use queuewright_lab::validate::Row;
use queuewright_testing::{Lack, left_out, wait_for};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

/// Two disciplines, two seeds, a moment.
const SMALL: &str = r#"
name = "small"
[link]
rate = "10mbit"
buffer = "2bdp"
[[flows]]
count = 3
cca = "cubic"
rtt = "20ms..40ms"
[queue]
disciplines = ["droptail", "codel"]
[run]
duration = "3s"
warmup = "1s"
seeds = [1, 2]
"#;

/// A folder of its own with `small.toml` in it.
fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a temporary folder");
    fs::write(dir.path().join("small.toml"), SMALL).expect("small.toml");
    dir
}

fn queuewright(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_queuewright"));
    command.current_dir(dir).args(args).stdin(Stdio::null());
    command
}

fn output(dir: &Path, args: &[&str]) -> Output {
    queuewright(dir, args).output().expect("the program starts")
}

/// Standard output of a command that must succeed and say nothing else.
fn stdout(dir: &Path, args: &[&str]) -> String {
    let out = output(dir, args);
    let stderr = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(0), "{args:?}: {stderr}");
    assert_eq!(stderr, "", "{args:?}");
    String::from_utf8(out.stdout).expect("UTF-8")
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn help_of_every_command() {
    let dir = folder();
    let mut all = stdout(dir.path(), &["--help"]);
    for command in [
        "compare",
        "run",
        "reproduce",
        "validate",
        "packetdrill",
        "list",
        "explain",
        "check",
        "new",
        "docs",
        "explore",
        "completions",
        "doctor",
        "attach",
        "status",
        "watch",
        "export",
        "set",
        "agent",
        "keep",
        "detach",
    ] {
        let help = stdout(dir.path(), &[command, "--help"]);
        assert!(help.contains("\nExamples:\n"), "{command} --help has no examples");
        all += &format!("\n=== {command}\n{help}");
    }
    insta::assert_snapshot!(all);
}

/// A line a script, how many there are of each, and the exit code: 0 none failed, 1 one did, 2 one cannot be read.
#[test]
fn packetdrill_says_what_became_of_each_script() {
    let dir = folder();
    let open = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n\
        +0 < S 0:0(0) win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 7>\n";
    let right = "+0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 7>\n";
    fs::create_dir(dir.path().join("some")).unwrap();
    for (name, text) in [
        ("some/a.pkt", format!("{open}{right}")),
        ("some/b.pkt", format!("{open}{right}+0 < udp (10)\n")),
        ("c.pkt", format!("{open}{}", right.replace("ack 1", "ack 2"))),
        ("d.pkt", "\n0 socket(".to_string()),
        ("e.pkt", format!("{open}{right}+0 < udp (10)\n+0 %{{\nassert tcpi_snd_cwnd = 10\n}}%\n")),
    ] {
        fs::write(dir.path().join(name), text).unwrap();
    }
    let run = |paths: &[&str]| {
        let out = output(dir.path(), &[&["packetdrill"][..], paths].concat());
        (out.status.code(), String::from_utf8(out.stdout).unwrap())
    };
    let error = |path: &str| {
        let out = output(dir.path(), &["packetdrill", path]);
        assert_eq!(out.status.code(), Some(2), "{path}");
        String::from_utf8(out.stderr).unwrap()
    };
    let (code, text) = run(&["some"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("passed          some/a.pkt\nnot applicable  some/b.pkt: UDP\n"), "{text}");
    assert!(text.ends_with("\n2 scripts: 1 passed, 0 failed, 1 not applicable\n     1  UDP\n"), "{text}");
    let (code, text) = run(&["c.pkt", "some"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("c.pkt:5: what is acknowledged is another; expected"), "{text}");
    let (code, text) = run(&["d.pkt", "--json"]);
    assert_eq!(code, Some(2), "{text}");
    let json = json(&text);
    assert_eq!(
        (json["unreadable"].as_u64(), json["scripts"][0]["verdict"].as_str()),
        (Some(1), Some("unreadable"))
    );
    // File and line, and what was expected there; of code that no run would reach, too.
    let says = error("d.pkt");
    assert!(says.contains("d.pkt:2: found the end; expected a value"), "{says}");
    let says = error("e.pkt");
    assert!(says.contains("e.pkt:8: code: found '= 10'; expected the end of the statement"), "{says}");
    assert_eq!(run(&["none.pkt"]).0, Some(2));
    assert_eq!(run(&["some", "--cca", "pigeon"]).0, Some(2));
}

#[test]
fn version() {
    let dir = folder();
    let expected = format!("queuewright {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(stdout(dir.path(), &["--version"]), expected);
}

#[test]
fn wrong_uses() {
    let dir = folder();
    let at = dir.path();
    fs::write(at.join("empty.toml"), "").expect("empty.toml");
    fs::write(at.join("typo.toml"), SMALL.replace("buffer", "bufer")).expect("typo.toml");
    fs::write(at.join("unit.toml"), SMALL.replace("10mbit", "10Mbps")).expect("unit.toml");
    let lossy = SMALL.replace("buffer", "loss = \"1%\"\nbuffer");
    fs::write(at.join("lossy.toml"), lossy).expect("lossy.toml");
    fs::write(at.join("cut.toml"), &SMALL[..40]).expect("cut.toml");
    fs::write(at.join("binary.toml"), [0xff, 0xfe, 0]).expect("binary.toml");
    fs::write(at.join("words.trace"), "one\ntwo\n").expect("words.trace");
    fs::write(at.join("file"), "").expect("file");
    let link = ["--rate", "10mbit", "--rtt", "20ms", "--flows", "1xcubic"];
    let cases: &[(&str, &[&str])] = &[
        ("", &[]),
        ("", &["comparr"]),
        ("", &["--nonsense"]),
        ("", &["reproduce", "cp-aqm/fig99"]),
        ("", &["reproduce", "fig1"]),
        ("", &["reproduce", "--all", "cp-aqm"]),
        ("", &["reproduce", "--resume"]),
        ("", &["reproduce", "--resume", "--quick"]),
        ("", &["reproduce", "--runs", "0"]),
        ("", &["suite", "rfc7929"]),
        ("", &["suite", "home", "--cca", "bbr"]),
        ("", &["suite", "rfc7928", "--aqm", "codle"]),
        ("", &["suite", "rfc7928", "--runs", "0"]),
        ("", &["suite", "home", "--quick", "--runs", "2"]),
        ("", &["suite", "--resume"]),
        ("", &["advise"]),
        ("", &["advise", "--rate", "20"]),
        ("", &["advise", "--rate", "20mbit", "--rtt", "80ms..20ms"]),
        ("", &["advise", "--rate", "20mbit", "--for", "calls,mail"]),
        ("", &["advise", "--rate", "20mbit", "--access", "lte"]),
        ("", &["advise", "--rate", "20mbit", "--aqm", "codle"]),
        ("", &["advise", "--rate", "20mbit", "--aqm", "codel", "--tc"]),
        ("", &["advise", "--rate", "20mbit", "--kernel", "6.12", "--tc"]),
        ("", &["advise", "--rate", "20mbit", "--kernel", "six"]),
        ("", &["advise", "--rate", "20mbit", "my.toml"]),
        ("", &["advise", "missing.toml"]),
        ("", &["run", "small.toml", "--engine", "qemu"]),
        ("", &["run", "small.toml", "--kernel", "nowhere"]),
        ("", &["packetdrill", "small.toml", "--engine", "linux", "--hz", "1000"]),
        ("", &["run", "lossy.toml", "--engine", "linux"]),
        ("", &["validate", "--only", "carrier pigeon"]),
        ("", &["validate", "--random", "0"]),
        ("", &["validate", "--seed", "7"]),
        ("", &["validate", "--shard", "3/2"]),
        ("", &["validate", "--random", "2", "--shard", "3/3"]),
        ("", &["attach", "lo", "codel", "--target", "5"]),
        ("", &["attach", "lo", "codel", "--limit", "lots"]),
        ("", &["attach", "lo", "codel", "--rate", "5Mbps"]),
        ("", &["attach", "lo", "codel", "--rate", "1kbit"]),
        ("", &["attach", "lo", "codel", "--front", "--rate", "20mbit", "--limit", "0p"]),
        ("", &["attach", "lo", "codel", "--front", "--rate", "20mbit", "--overhead", "1000"]),
        ("", &["attach", "lo", "codel", "--front", "--rate", "20mbit", "--overhead", "-5"]),
        ("", &["attach", "lo", "codel:targt=5ms"]),
        ("", &["attach", "lo", "pie:targt=5ms"]),
        ("", &["attach", "lo", "codel:label=mine"]),
        ("", &["attach", "lo", "codell"]),
        ("", &["attach", "lo", "codel,pie"]),
        ("", &["agent", "lo"]),
        ("", &["agent", "lo", "queuepilot", "--", "true"]),
        ("", &["validate", "empty.toml"]),
        ("", &["reproduce", "cp-aqm", "--out", "file"]),
        ("", &["reproduce", "."]),
        ("", &["compare", "--rat", "10mbit"]),
        ("", &["compare", "--rate"]),
        ("", &["compare"]),
        ("", &["compare", "--rate", "10mbit"]),
        ("", &["compare", "--rate", "10mbit", "--flows", "1xcubic"]),
        ("", &["compare", "--rate", "10Mbps", "--rtt", "20ms", "--flows", "1xcubic"]),
        ("", &["compare", "--rate", "99999999999gbit", "--rtt", "20ms", "--flows", "1xcubic"]),
        ("", &["compare", "--rate", "-1mbit", "--rtt", "20ms", "--flows", "1xcubic"]),
        ("", &["compare", "--rate", "10mbit", "--rtt", "80ms..20ms", "--flows", "1xcubic"]),
        ("", &["compare", "--rate", "10mbit", "--rtt", "20ms", "--flows", "99999999xcubic"]),
        ("", &["compare", "--rate", "10mbit", "--rtt", "20ms", "--flows", "cubik"]),
        ("", &["compare", "--rate", "10mbit", "--rtt", "20ms", "--flows", "1xcbr"]),
        ("link", &["--rate", "20mbit"]),
        ("link", &["--trace", "missing.trace"]),
        ("link", &["--aqm", "codle"]),
        ("link", &["--aqm", "codel,codel"]),
        ("link", &["--aqm", "codel:target=-5ms"]),
        ("link", &["--aqm", "codel:tarjet=5ms"]),
        ("link", &["--aqm", ""]),
        ("link", &["--buffer", "0p"]),
        ("link", &["--buffer", "2"]),
        ("link", &["--duration", "0s"]),
        ("link", &["--duration", "5s", "--warmup", "5s"]),
        ("link", &["--duration", "1000000000s"]),
        ("link", &["--seeds", "0..0x"]),
        ("link", &["--seeds", "3..1"]),
        ("link", &["--seeds", "1,1"]),
        ("link", &["--seeds", "1..99999999999"]),
        ("link", &["--seeds", "99999999999999999999999"]),
        ("link", &["--stack", "bsd"]),
        ("link", &["--jobs", "0"]),
        ("link", &["--jobs", "many"]),
        ("link", &["--out", "file"]),
        ("", &["compare", "--trace", "words.trace", "--rtt", "20ms", "--flows", "1xcubic"]),
        ("", &["compare", "--trace", "empty.toml", "--rtt", "20ms", "--flows", "1xcubic"]),
        ("", &["compare", "--trace", ".", "--rtt", "20ms", "--flows", "1xcubic"]),
        ("", &["run"]),
        ("", &["run", "missing.toml"]),
        ("", &["run", "."]),
        ("", &["run", "empty.toml"]),
        ("", &["run", "typo.toml"]),
        ("", &["run", "unit.toml"]),
        ("", &["run", "cut.toml"]),
        ("", &["run", "binary.toml"]),
        ("", &["run", "small.toml", "other.toml"]),
        ("", &["run", "small.toml", "--aqm", "pi"]),
        ("", &["run", "small.toml", "--out", "file/below"]),
        ("", &["check", "typo.toml"]),
        ("", &["check", "missing.h"]),
        ("", &["new", "discipline"]),
        ("", &["new", "disciplin", "late"]),
        ("", &["new", "discipline", "Late"]),
        ("", &["new", "discipline", "../late"]),
        ("", &["new", "discipline", "codel"]),
        ("link", &["--aqm", "late.h"]),
        ("link", &["--aqm", "./late.h"]),
        ("", &["explain"]),
        ("", &["explain", "codle"]),
        ("", &["explain", "something"]),
        ("", &["list", "codel"]),
        ("", &["completions", "tcsh"]),
        ("", &["man", "file"]),
    ];
    let mut all = String::new();
    for (base, args) in cases {
        let mut line = match *base {
            "link" => [&["compare"][..], &link].concat(),
            _ => Vec::new(),
        };
        line.extend(*args);
        let out = output(at, &line);
        let stderr = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{line:?}: {stderr}");
        assert!(out.stdout.is_empty(), "{line:?} wrote to standard output");
        assert!(stderr.starts_with("error: "), "{line:?}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{line:?}: {stderr}");
        assert!(stderr.len() < 500, "{line:?}: {stderr}");
        let shown = if *base == "link" { "compare ..." } else { "" };
        all += &format!("$ queuewright {}\n{stderr}\n", [&[shown], *args].concat().join(" ").trim());
    }
    // Whatever disciplines and congestion controls there are, the messages are the same.
    let disciplines: Vec<_> = queuewright_aqm::registry().iter().map(|info| info.name).collect();
    let ccas: Vec<_> = queuewright_cca::Kind::ALL.iter().map(|kind| kind.name()).collect();
    let all = all
        .replace(&disciplines.join(", "), "{disciplines}")
        .replace(&ccas.join(", "), "{congestion controls}");
    insta::assert_snapshot!(all);
    assert!(!at.join("queuewright-results").exists(), "a wrong use left a folder");
}

#[test]
fn check_says_in_words_what_would_run() {
    let dir = folder();
    insta::assert_snapshot!(stdout(dir.path(), &["check", "small.toml"]), @r"
    small
      link   10mbit, buffer 2bdp = 72.6 to 78.8 kB
      flows  3 cubic, base RTT 20ms..40ms
      queue  droptail
             codel
      run    3s, of which the first 1s do not count; TCP as in Linux
    4 runs in all (2 disciplines x 2 seeds), up to 9908 packets
    ");
    assert!(!dir.path().join("queuewright-results").exists());
}

/// What a link does beside its rate, delay and buffer; nothing of what is as it always is.
#[test]
fn check_says_what_a_link_does() {
    let dir = folder();
    let small = std::fs::read_to_string(dir.path().join("small.toml")).expect("a file");
    for (keys, words) in [
        ("burst = \"3028b\"", "10mbit in bursts of 3028b, buffer "),
        ("burst = \"3028b\"\nshaper = \"tbf\"", "10mbit in bursts of 3028b by tbf, buffer "),
        ("overhead = \"18b\"", "10mbit, overhead 18b, buffer "),
        ("overhead = \"14b\"", "10mbit, buffer "),
        ("police = true", "10mbit, policed: no packet waits, buffer "),
        ("police = false\nloss = \"1%\"", "10mbit, loses 1%, buffer "),
    ] {
        let text = small.replace("[link]", &format!("[link]\n{keys}")).replace("\"codel\"", "\"static\"");
        std::fs::write(dir.path().join("link.toml"), text).expect("a file");
        let said = stdout(dir.path(), &["check", "link.toml"]);
        assert!(said.contains(&format!("  link   {words}")), "{keys}: {said}");
    }
    let text = small.replace("[run]", "[run]\nstack = \"ns3\"");
    std::fs::write(dir.path().join("ns3.toml"), text).expect("a file");
    assert!(!stdout(dir.path(), &["check", "ns3.toml"]).contains("overhead"));
}

/// A key by its old name: the same output, and a line on standard error that names the new one.
#[test]
fn old_names_of_keys_are_read_with_a_warning() {
    let dir = folder();
    let small = std::fs::read_to_string(dir.path().join("small.toml")).expect("a file");
    let warning = |place: &str| {
        format!("warning: {place}: the old name of duration; the next version reads only that\n")
    };
    let said = |args: &[&str]| {
        let out = output(dir.path(), args);
        let err = String::from_utf8(out.stderr).expect("text");
        assert!(out.status.success(), "{args:?}: {err}");
        (String::from_utf8(out.stdout).expect("text"), err)
    };
    for (name, key) in [("new", "duration"), ("old", "length")] {
        let text = format!("[[flows]]\ncbr = \"1mbit\"\n{key} = \"500ms\"\n{small}");
        std::fs::write(dir.path().join(format!("{name}.toml")), text).expect("a file");
    }
    for command in [&["check"][..], &["run", "--json", "--seeds", "1"]] {
        let (new, nothing) = said(&[command, &["new.toml"]].concat());
        let (old, warned) = said(&[command, &["old.toml"]].concat());
        assert!(!nothing.contains("warning"), "{nothing}");
        assert!(warned.contains(&warning("old.toml:3: flows[0].length")), "{warned}");
        if command[0] == "run" {
            assert_eq!(without_clocks(json(&old)), without_clocks(json(&new)));
        } else {
            assert_eq!(old.replace("old\n", "new\n"), new);
        }
    }
    let compare = |key: &str| {
        let flows = format!("1xcubic,1xcbr:1mbit:{key}=500ms");
        said(&[
            "compare",
            "--rate",
            "10mbit",
            "--rtt",
            "20ms",
            "--duration",
            "2s",
            "--aqm",
            "codel",
            "--json",
            "--flows",
            &flows,
        ])
    };
    let ((new, _), (old, warned)) = (compare("duration"), compare("length"));
    assert!(warned.contains(&warning("--flows[1].length")), "{warned}");
    assert_eq!(without_clocks(json(&old)), without_clocks(json(&new)));
}

/// The names in the registry.
fn disciplines() -> Vec<&'static str> {
    queuewright_aqm::registry().iter().map(|info| info.name).collect()
}

#[test]
fn list_names_everything_with_unit_range_default_and_source() {
    let dir = folder();
    let text = stdout(dir.path(), &["list"]);
    let all = json(&stdout(dir.path(), &["list", "--json"]));
    let names = |key: &str| -> Vec<String> {
        let list = all[key].as_array().expect("a list");
        list.iter().map(|d| d["name"].as_str().expect("a name").to_string()).collect()
    };
    assert_eq!(names("disciplines"), disciplines());
    assert_eq!(names("congestion_controls"), Kind::ALL.map(Kind::name));
    assert_eq!(names("mixes"), ["mix"]);
    assert!(text.contains("\n  mix "), "{text}");
    for d in all["disciplines"].as_array().expect("a list") {
        assert!(text.contains(&format!("\n{}: ", d["name"].as_str().expect("a name"))));
        for p in d["parameters"].as_array().expect("a list") {
            for key in ["name", "about", "unit", "default", "allowed", "source"] {
                let value = p[key].as_str().expect("text");
                assert!(!value.is_empty(), "{d} {key}");
                assert!(key == "about" || text.contains(value), "{value} is not in the table");
            }
            // What programs need besides: which parser reads a value, and the words beside numbers.
            let (kind, allowed) = (&p["kind"], p["allowed"].as_str().expect("text"));
            assert!(kind.is_string() && !allowed.is_empty(), "{p}");
            let words = p["words"].as_array().expect("a list");
            assert!(words.iter().all(|w| allowed.contains(w.as_str().expect("a word"))), "{p}");
            assert_eq!(kind == "flag" || kind == "choice", words.len() > 1, "{p}");
        }
    }
}

#[test]
fn explain_has_a_page_for_every_name() {
    let dir = folder();
    for name in disciplines() {
        let page = stdout(dir.path(), &["explain", name]);
        assert!(page.starts_with("# ") && page.lines().count() > 10, "{name}: {page}");
    }
    for name in Kind::ALL.map(Kind::name).into_iter().chain(["mix"]) {
        let page = stdout(dir.path(), &["explain", name]);
        let title = page.lines().next().expect("a title");
        let named = title == format!("# {name}") || title.ends_with(&format!(" (`{name}`)"));
        assert!(named && page.contains("Source: ") && page.contains(&format!("cca = \"{name}\"")), "{page}");
    }
}

#[test]
fn completions_for_every_shell() {
    let dir = folder();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = stdout(dir.path(), &["completions", shell]);
        assert!(script.contains("queuewright") && script.contains("warmup"), "{shell}");
    }
    let script = stdout(dir.path(), &["completions", "bash"]);
    fs::write(dir.path().join("complete"), script).expect("complete");
    let parsed = Command::new("bash").arg("-n").arg(dir.path().join("complete")).status();
    assert!(parsed.expect("bash starts").success());
}

/// A folder `bin` with a copy of the program in it: what lies beside that is found from there.
fn installed(root: &Path) -> (PathBuf, PathBuf) {
    let bin = root.join("bin");
    fs::create_dir_all(&bin).expect("a folder");
    let program = bin.join("queuewright");
    fs::copy(env!("CARGO_BIN_EXE_queuewright"), &program).expect("a copy");
    (bin, program)
}

/// The book is beside the program, where `make install` puts both, or made in its sources.
#[test]
fn the_book_is_found_beside_the_program() {
    let dir = folder();
    let (bin, program) = installed(dir.path());
    let doc = dir.path().join("share/doc/queuewright/html");
    let docs = |args: &[&str]| {
        Command::new(&program)
            .arg("docs")
            .args(args)
            .env("PATH", &bin)
            .env("HOME", &bin)
            .output()
            .expect("it runs")
    };
    // Unless this machine has one installed.
    let none = docs(&["--print"]);
    let said = String::from_utf8_lossy(&none.stderr).into_owned();
    let installed = String::from_utf8_lossy(&none.stdout).starts_with("/usr/");
    assert!(installed || none.status.code() == Some(2) && said.contains("make book"), "{said}");
    // In the home folder, but not root's.
    let home = bin.join(".local/share/doc/queuewright/html");
    fs::create_dir_all(&home).expect("a folder");
    fs::write(home.join("index.html"), "").expect("a book");
    let is_root = rustix::process::geteuid().is_root();
    let found = String::from_utf8_lossy(&docs(&["--print"]).stdout).contains("/.local/");
    assert!(found != is_root, "root: {is_root}, found: {found}");
    fs::create_dir_all(&doc).expect("a folder");
    let book = doc.join("index.html");
    fs::write(&book, "").expect("a book");
    let path = format!("{}\n", book.canonicalize().expect("it is there").display());
    let found = docs(&["--print"]);
    assert!(found.status.success() && String::from_utf8_lossy(&found.stdout) == path, "{found:?}");
    // Where nothing opens it, it is said where it is.
    let closed = docs(&[]);
    assert_eq!((closed.status.code(), String::from_utf8_lossy(&closed.stdout)), (Some(1), path.into()));
    // With something that does, it gets the path; root runs nobody's browser.
    if rustix::process::geteuid().is_root() {
        assert!(String::from_utf8_lossy(&closed.stderr).contains("root has no browser"));
        return;
    }
    let opener = "#!/bin/sh\necho \"$1\" > ${0%/*}/opened\n";
    fs::write(bin.join("xdg-open"), opener).expect("a script");
    fs::set_permissions(bin.join("xdg-open"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("to be run");
    assert!(docs(&[]).status.success());
    assert_eq!(
        fs::read_to_string(bin.join("opened")).expect("opened"),
        String::from_utf8_lossy(&found.stdout)
    );
}

/// The explorer lies beside the program, too. Its files are served, to this machine, and nothing else is.
#[test]
fn the_explorer_is_found_and_served() {
    let dir = folder();
    let (bin, program) = installed(dir.path());
    let page = dir.path().join("share/doc/queuewright/explorer");
    let explore = |args: &[&str]| {
        let mut command = Command::new(&program);
        command.args(["explore", "--no-open"]).args(args).current_dir(dir.path()).env("HOME", &bin);
        command
    };
    let wrong = |args: &[&str], why: &str| {
        let out = explore(args).output().expect("it runs");
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.code() == Some(2) && said.contains(why) && said.lines().count() == 1, "{said}");
    };
    // Unless this machine has one installed.
    if !["/usr", "/usr/local"].iter().any(|at| Path::new(at).join("share/doc/queuewright/explorer").exists())
    {
        wrong(&[], "make web");
    }
    fs::create_dir_all(page.join("assets")).expect("a folder");
    fs::write(page.join("index.html"), "the page").expect("a file");
    fs::write(page.join("assets/a.js"), "a script").expect("a file");
    fs::write(page.join("../secret.txt"), "a secret").expect("a file");
    std::os::unix::fs::symlink("../secret.txt", page.join("link.txt")).expect("a link");
    fs::write(dir.path().join("wrong.toml"), "[link]\nrate = 1\n").expect("a file");
    wrong(&["wrong.toml"], "wrong.toml:1: run: missing");
    wrong(&["none.toml"], "no such file");
    struct Served(std::process::Child);
    impl Drop for Served {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
    let child = explore(&["small.toml"]).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut child = Served(child);
    let mut address = String::new();
    let said = child.0.stdout.take().expect("a pipe");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(said), &mut address).expect("a line");
    let at = address.trim().strip_prefix("http://").and_then(|at| at.strip_suffix('/')).expect("an address");
    assert!(at.starts_with("127.0.0.1:"), "{at}");
    let ask_with = |headers: &str, request: &str| {
        use std::io::{Read, Write};
        let mut client = std::net::TcpStream::connect(at).expect("it listens");
        write!(client, "{request} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n").expect("sent");
        let mut answer = String::new();
        client.read_to_string(&mut answer).expect("text");
        answer
    };
    let ask = |request: &str| ask_with(&format!("Host: {at}\r\n"), request);
    assert!(ask("GET /index.html").ends_with("\r\n\r\nthe page"));
    let script = ask("GET /assets/a.js");
    assert!(
        script.contains("text/javascript") && script.contains("content-security-policy: default-src 'none'")
    );
    assert!(script.contains("\r\ncross-origin-resource-policy: same-origin\r\n"), "{script}");
    let head = ask("HEAD /assets/a.js");
    assert!(head.starts_with("HTTP/1.1 200 ") && head.ends_with("\r\n\r\n"), "{head}");
    assert!(ask("GET /").contains("\r\nlocation: /index.html#text="));
    for other in
        ["GET /link.txt", "GET /../secret.txt", "GET /%2e%2e/secret.txt", "GET //etc/passwd", "GET /assets"]
    {
        assert!(ask(other).starts_with("HTTP/1.1 404 "), "{other}");
    }
    assert!(ask("POST /index.html").starts_with("HTTP/1.1 405 "));
    // A page of elsewhere whose name leads here asks by that name: it does not get to know the scenario.
    let port = at.rsplit_once(':').expect("a port").1;
    for name in ["localhost", "LocalHost", "[::1]"] {
        assert!(
            ask_with(&format!("Host: {name}:{port}\r\n"), "GET /").starts_with("HTTP/1.1 302 "),
            "{name}"
        );
    }
    assert!(ask(&format!("GET http://{at}/index.html")).ends_with("\r\n\r\nthe page"));
    for whole in ["http://elsewhere.example", &format!("http://elsewhere.example@{at}"), "http://127.0.0.1"] {
        assert!(ask(&format!("GET {whole}/index.html")).starts_with("HTTP/1.1 421 "), "{whole}");
    }
    for headers in [
        String::new(),
        "Host:\r\n".into(),
        "Host: localhost\r\n".into(),
        "Host: 127.0.0.1:1\r\n".into(),
        format!("Host: elsewhere.example:{port}\r\n"),
        format!("Host: 127.0.0.1.elsewhere.example:{port}\r\n"),
        format!("Host: elsewhere.example@{at}\r\n"),
        format!("Host: {at}\r\nHost: elsewhere.example\r\n"),
    ] {
        for request in ["GET /", "GET /index.html"] {
            let answer = ask_with(&headers, request);
            assert!(answer.starts_with("HTTP/1.1 421 "), "{headers}: {answer}");
            assert!(!answer.contains("location") && !answer.contains("the page"), "{headers}: {answer}");
        }
    }
}

/// What the Python package does is refused in one line that says where it is.
#[test]
fn learning_is_in_the_python_package() {
    let dir = folder();
    for args in
        [&["train", "--preset", "paper"][..], &["evaluate", "-h"], &["export-policy"], &["tune", "a.toml"]]
    {
        let out = output(dir.path(), args);
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        let text = format!("error: {} is in the Python package, whose command has it: ", args[0]);
        assert!(said.starts_with(&text) && out.status.code() == Some(2), "{said}");
        let extra = if args[0] == "tune" { "'.[tune]'" } else { "'.[train]'" };
        assert!(said.trim_end().ends_with(extra), "{said}");
    }
}

#[test]
fn man_pages_for_every_command() {
    let dir = folder();
    assert_eq!(stdout(dir.path(), &["man", "pages"]), "");
    let mut names: Vec<_> = fs::read_dir(dir.path().join("pages"))
        .expect("pages")
        .map(|e| e.expect("an entry").file_name().into_string().expect("UTF-8"))
        .collect();
    names.sort();
    let commands = [
        "-advise",
        "-agent",
        "-attach",
        "-check",
        "-compare",
        "-completions",
        "-detach",
        "-docs",
        "-doctor",
        "-evaluate",
        "-explain",
        "-explore",
        "-export-policy",
        "-export",
        "-keep",
        "-list",
        "-new",
        "-packetdrill",
        "-reproduce",
        "-run",
        "-set",
        "-status",
        "-suite",
        "-train",
        "-tune",
        "-validate",
        "-watch",
        "",
    ];
    assert_eq!(names, commands.map(|c| format!("queuewright{c}.1")));
    let page = fs::read_to_string(dir.path().join("pages/queuewright-compare.1")).expect("a page");
    for section in [".SH OPTIONS", ".SH EXAMPLES", ".SH \"EXIT STATUS\"", ".SH FILES", ".SH \"SEE ALSO\""] {
        assert!(page.contains(section), "{section}: {page}");
    }
    // The folder that --out has by default is among the files.
    for command in ["compare", "run", "suite", "advise", "reproduce"] {
        let page =
            fs::read_to_string(dir.path().join(format!("pages/queuewright-{command}.1"))).expect("a page");
        let (_, default) = page.split_once("own [default: ").expect("--out has a default");
        let default = default.split(']').next().unwrap_or_default();
        let (_, files) = page.split_once(".SH FILES").expect("files");
        assert!(files.contains(&format!("\\fB{default}\\fR")), "{command}: {default}: {files}");
    }
    // Each names others that there are, itself not, and nothing is said twice.
    for name in &names {
        let page = fs::read_to_string(dir.path().join("pages").join(name)).expect("a page");
        let (_, also) = page.split_once("SEE ALSO").expect("a section");
        let others: Vec<_> = also.split("\\fB").skip(1).filter_map(|rest| rest.split_once("\\fR(")).collect();
        assert!(others.len() >= 2, "{name}: {also}");
        for (other, section) in others {
            let other = format!("{}.1", other.replace("\\-", "-"));
            assert!(
                names.contains(&other) == other.starts_with("queuewright") && &other != name,
                "{name}: {other}{section}"
            );
        }
    }
}

#[test]
fn run_prints_a_table_and_keeps_a_dated_folder() {
    let dir = folder();
    let table = stdout(dir.path(), &["run", "small.toml"]);
    for name in ["droptail", "codel"] {
        assert!(table.contains(name), "{table}");
    }
    let report = table.lines().last().expect("a last line");
    let report = report.strip_prefix("report: ").expect("the report's path");
    let kept = dir.path().join(report).parent().expect("a folder").to_path_buf();
    for file in ["report.html", "results.json", "manifest.json", "scenario.toml", "runs.csv"] {
        assert!(kept.join(file).metadata().expect(file).len() > 0, "{file} is empty");
    }
    let manifest = json(&fs::read_to_string(kept.join("manifest.json")).expect("manifest"));
    assert_eq!(manifest["complete"], true);

    // The folder's scenario is the same scenario, and nothing is overwritten.
    let again = kept.join("scenario.toml").display().to_string();
    stdout(dir.path(), &["run", &again]);
    let entries = fs::read_dir(dir.path().join("queuewright-results")).expect("results");
    assert_eq!(entries.count(), 3, "two folders and latest");
    let latest = dir.path().join("queuewright-results/latest/results.json");
    let second = json(&fs::read_to_string(latest).expect("latest"));
    let first = json(&fs::read_to_string(kept.join("results.json")).expect("results"));
    assert_eq!(without_clocks(first), without_clocks(second));
}

/// Measures by their paths; a path that nobody has is named after the runs, which are kept.
#[test]
fn columns_are_chosen() {
    let dir = folder();
    let table = stdout(dir.path(), &["run", "small.toml", "--columns", "sojourn_ms.max,group.*.goodput_bps"]);
    assert!(table.contains("goodput_bps") && !table.contains("utilisation"), "{table}");
    let out = output(dir.path(), &["run", "small.toml", "--columns", "jain,sojourn_ms.p98"]);
    let note = String::from_utf8_lossy(&out.stderr);
    assert!(
        out.status.success() && note.contains("note: --columns: no run has \"sojourn_ms.p98\""),
        "{note}"
    );
    let out = output(dir.path(), &["run", "small.toml", "--columns", "sojourn_ms.p98"]);
    let said = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{said}");
    assert!(said.contains("--columns: no run has \"sojourn_ms.p98\"; there are sojourn_ms.p9"), "{said}");
    assert!(dir.path().join("queuewright-results/latest/report.html").exists());
}

/// Beside a flow of its like a flow of CUBIC loses about half of what it has alone; a run without the others is what it is told by.
#[test]
fn harm_is_told_beside_a_run_without_the_others() {
    let dir = folder();
    let scenario = |others: &str| {
        format!(
            "[link]\nrate = \"10mbit\"\n[[flows]]\nname = \"old\"\ncca = \"cubic\"\nrtt = \"20ms\"\nprobes = true\n{others}\
             [queue]\ndisciplines = [\"fq-codel\"]\n[run]\nduration = \"12s\"\nwarmup = \"4s\"\n"
        )
    };
    let other = "[[flows]]\nname = \"new\"\ncca = \"cubic\"\nrtt = \"20ms\"\n";
    fs::write(dir.path().join("both.toml"), scenario(other)).expect("both");
    let both = json(&stdout(dir.path(), &["run", "both.toml", "--json", "--without", "new"]));
    let plain = json(&stdout(dir.path(), &["run", "both.toml", "--json"]));
    let groups = |of: &Value| of["runs"][0]["groups"].as_array().expect("groups").clone();
    let old = &groups(&both)[0];
    let harm = &old["harm"];
    assert_eq!(harm["beside"], json("[\"new\"]"));
    let number = |v: &Value| v.as_f64().unwrap_or_else(|| panic!("{v}: {both}"));
    // Fair queueing: a half each, which is the max-min share as well.
    assert!((number(&harm["goodput"]) - 0.5).abs() < 0.02, "{harm}");
    assert!((number(&harm["fair_bps"]) / number(&old["goodput_bps"]) - 1.0).abs() < 0.03, "{old}");
    assert!(harm["plt"].is_null() && groups(&both)[1].get("harm").is_none(), "{both}");
    // Nothing else of the run is another.
    let mut same = without_clocks(both.clone());
    same["runs"][0]["groups"][0].as_object_mut().expect("a group").remove("harm");
    assert_eq!(same, without_clocks(plain));
    let table = stdout(dir.path(), &["run", "both.toml", "--without", "new"]);
    assert!(table.contains("fair share"), "{table}");
    // What comes and goes is drawn entry by entry: one of its controls cannot go alone.
    let mixed = "[[flows]]\nname = \"dl\"\ncca = { bbr = 1, cubic = 1 }\nrtt = \"20ms\"\narrivals = \"2/s\"\nsize = \"100kb\"\n";
    fs::write(dir.path().join("mixed.toml"), scenario(mixed)).expect("mixed");
    let out = output(dir.path(), &["run", "mixed.toml", "--without", "dl bbr"]);
    let refused = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(
        out.status.code() == Some(2)
            && refused.contains("\"dl bbr\" comes and goes with others of its entry"),
        "{refused}"
    );
    stdout(dir.path(), &["run", "mixed.toml", "--without", "dl bbr,dl cubic"]);
    for (given, said) in [
        ("old,nobody", "--without: no group of flows is named \"nobody\"; there are old, new"),
        ("old,new", "--without: no group is left that could lose anything; leave one out"),
    ] {
        let out = output(dir.path(), &["run", "both.toml", "--without", given]);
        let refused = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2), "{refused}");
        assert!(refused.contains(said), "{refused}");
    }
}

/// What depends on the machine, out.
fn without_clocks(mut results: Value) -> Value {
    for run in results["runs"].as_array_mut().expect("runs") {
        for key in ["wall_s", "packets_per_s"] {
            assert!(run[key].take().is_number(), "no {key}");
        }
    }
    results
}

#[test]
fn json_is_the_same_on_any_number_of_threads() {
    let dir = folder();
    let run = |jobs: &str| stdout(dir.path(), &["run", "small.toml", "--json", "--jobs", jobs]);
    let one = without_clocks(json(&run("1")));
    for jobs in ["2", "5"] {
        assert_eq!(without_clocks(json(&run(jobs))), one, "--jobs {jobs}");
    }
    let runs = one["runs"].as_array().expect("runs");
    let order: Vec<_> = runs.iter().map(|r| (r["discipline"].as_str(), r["seed"].as_u64())).collect();
    let expected = [("droptail", 1), ("droptail", 2), ("codel", 1), ("codel", 2)];
    assert_eq!(order, expected.map(|(d, s)| (Some(d), Some(s))));
    assert!(!dir.path().join("queuewright-results").exists(), "--json left a folder");
}

#[test]
fn json_writes_a_folder_where_it_is_asked_to() {
    let dir = folder();
    let printed = stdout(dir.path(), &["run", "small.toml", "--json", "--out", "here/below"]);
    let kept = dir.path().join("here/below/latest/results.json");
    assert_eq!(fs::read_to_string(kept).expect("results").trim_end(), printed.trim_end());
}

#[test]
fn compare_and_its_scenario_file_are_the_same() {
    let dir = folder();
    let compared = json(&stdout(
        dir.path(),
        &[
            "compare",
            "--rate",
            "10mbit",
            "--rtt",
            "20ms..40ms",
            "--flows",
            "3xcubic",
            "--aqm",
            "droptail,codel",
            "--buffer",
            "2bdp",
            "--duration",
            "3s",
            "--warmup",
            "1s",
            "--seeds",
            "1..2",
            "--json",
        ],
    ));
    let ran = json(&stdout(dir.path(), &["run", "small.toml", "--json"]));
    assert_eq!(without_clocks(compared.clone())["runs"], without_clocks(ran.clone())["runs"]);
    assert_eq!(compared["scenario"]["hash"], ran["scenario"]["hash"]);
}

#[test]
fn flags_take_the_place_of_what_the_file_says() {
    let dir = folder();
    let trace: String = (0..2000).map(|ms| format!("{ms}\n")).collect();
    fs::write(dir.path().join("steady.trace"), trace).expect("steady.trace");
    let args = ["run", "small.toml", "--aqm", "pie", "--seeds", "7", "--trace", "steady.trace"];
    let results = json(&stdout(dir.path(), &[&args[..], &["--json", "--out", "out"]].concat()));
    let runs = results["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0]["discipline"], "pie");
    assert_eq!(runs[0]["seed"], 7);
    // A folder made from a trace stands alone.
    let kept = dir.path().join("out/latest/scenario.toml").display().to_string();
    fs::remove_file(dir.path().join("steady.trace")).expect("remove");
    let again = json(&stdout(dir.path(), &["run", &kept, "--json"]));
    assert_eq!(without_clocks(again)["runs"], without_clocks(results)["runs"]);
}

/// What it advises can be typed: sudo does not look for commands where a user has them.
#[cfg(target_os = "linux")]
#[test]
fn without_rights_it_says_how_to_run_it() {
    let program = env!("CARGO_BIN_EXE_queuewright");
    let words = ["--bounding-set", "-all", program, "attach", "lo", "codel", "--front", "--rate", "5mbit"];
    // Takes root's rights away; who is not root has none, and may not take any.
    let root = fs::metadata("/proc/self").is_ok_and(|m| std::os::unix::fs::MetadataExt::uid(&m) == 0);
    let mut command = Command::new(if root { "setpriv" } else { program });
    command.args(if root { &words[..] } else { &words[3..] });
    let out = command.output().expect("it starts");
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(said.ends_with(&format!("run it with sudo {program}\n")), "{said}");
    assert_eq!(out.status.code(), Some(1), "{said}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let dir = folder();
    // More than a pipe holds.
    let args = [
        "compare",
        "--rate",
        "10mbit",
        "--rtt",
        "20ms",
        "--flows",
        "400xcubic",
        "--aqm",
        "droptail,codel",
        "--duration",
        "1s",
        "--json",
    ];
    let mut child = queuewright(dir.path(), &args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut first = [0; 1];
    child.stdout.take().expect("stdout").read_exact(&mut first).expect("a byte");
    let out = child.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&out.stderr), "");
    assert_eq!(out.status.code(), Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let dir = folder();
    let full = fs::File::options().write(true).open("/dev/full").expect("/dev/full");
    let out = queuewright(dir.path(), &["list"]).stdout(full).output().expect("the program starts");
    assert_eq!(out.status.code(), Some(1));
    let stderr = String::from_utf8_lossy(&out.stderr);
    assert_eq!(stderr, "error: standard output: No space left on device (os error 28)\n");
}

fn interrupt(pid: u32) {
    let sent = Command::new("kill").args(["-INT", &pid.to_string()]).status();
    assert!(sent.expect("kill starts").success());
}

/// What a process has used of a processor, in ticks of the kernel's clock, of which a second has 100.
#[cfg(target_os = "linux")]
fn ticks(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
    let after = text.rsplit(')').next().expect("what follows its name");
    after.split_whitespace().nth(11).and_then(|n| n.parse().ok()).expect("utime of proc(5)")
}

/// A program with all that it has started, of which nothing stays when this is gone; and what it has written.
#[cfg(unix)]
struct Group {
    child: std::process::Child,
    written: Arc<Mutex<Vec<u8>>>,
    reader: Option<thread::JoinHandle<()>>,
}

#[cfg(unix)]
impl Group {
    fn begin(mut command: Command) -> Self {
        use std::os::unix::process::CommandExt;
        command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let mut out = child.stdout.take().expect("its output");
        let written = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&written);
        let reader = thread::spawn(move || {
            let mut some = [0; 4096];
            while let Ok(n @ 1..) = out.read(&mut some) {
                all.lock().expect("no panic").extend(&some[..n]);
            }
        });
        Group { child, written, reader: Some(reader) }
    }

    fn text(&self) -> String {
        String::from_utf8(self.written.lock().expect("no panic").clone()).expect("UTF-8")
    }

    fn goes_on(&self) {
        let ended = self.reader.as_ref().is_some_and(thread::JoinHandle::is_finished);
        assert!(!ended, "it ended: {}", self.text());
    }

    /// The program and all that it has started.
    fn kill(&mut self) {
        let group = format!("-{}", self.child.id());
        // Fails if they have ended.
        let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
    }

    /// How it ended, with all that it has written.
    fn end(mut self) -> Output {
        let mut status = None;
        wait_for("the program's end", || {
            status = self.child.try_wait().expect("ours to wait for");
            status.is_some()
        });
        let status = status.expect("it has ended");
        let mut stderr = Vec::new();
        let mut err = self.child.stderr.take().expect("its errors");
        err.read_to_end(&mut stderr).expect("they can be read");
        self.reader.take().expect("only here").join().expect("no panic");
        Output { status, stdout: self.text().into_bytes(), stderr }
    }
}

#[cfg(unix)]
impl Drop for Group {
    fn drop(&mut self) {
        // One that has been waited for is no more, and its number may be another's.
        if self.reader.is_some() {
            self.kill();
            let _ = self.child.wait();
        }
    }
}

#[cfg(unix)]
#[test]
fn interrupted_it_keeps_what_has_finished() {
    let dir = folder();
    // Minutes of runs, each short.
    let args = ["run", "small.toml", "--seeds", "1..2000", "--duration", "100s", "--jobs", "2"];
    let child = Group::begin(queuewright(dir.path(), &args));
    let kept = dir.path().join("queuewright-results/latest");
    let runs = || {
        let text = fs::read_to_string(kept.join("results.json")).ok()?;
        Some(json(&text)["runs"].as_array()?.len())
    };
    wait_for("a finished run", || runs().is_some_and(|n| n > 0));
    interrupt(child.child.id());
    let out = child.end();
    let stderr = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(130), "{stderr}");
    let n = runs().expect("readable results");
    assert_eq!(stderr, format!("error: interrupted; {n} of 4000 runs finished\n"));
    let manifest = json(&fs::read_to_string(kept.join("manifest.json")).expect("manifest"));
    assert_eq!(manifest["complete"], false);
    assert_eq!(manifest["runs_finished"], n);
    assert!(kept.join("report.html").exists());
    let stdout = String::from_utf8_lossy(&out.stdout);
    assert!(stdout.contains("droptail") && stdout.contains("report: "), "{stdout}");
}

#[cfg(target_os = "linux")]
#[test]
fn interrupted_in_the_middle_of_a_run_it_ends_at_once() {
    let dir = folder();
    let args = [
        "compare",
        "--rate",
        "1gbit",
        "--rtt",
        "20ms",
        "--flows",
        "10xcubic",
        "--aqm",
        "codel",
        "--duration",
        "20000s",
        "--jobs",
        "1",
        "--json",
    ];
    let child = Group::begin(queuewright(dir.path(), &args));
    // It needs none of that for anything else. To its end it is long: that none was finished shows that it was interrupted.
    wait_for("half a second's work at the run", || {
        child.goes_on();
        ticks(child.child.id()) > 50
    });
    interrupt(child.child.id());
    let out = child.end();
    let stderr = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(130), "{stderr}");
    assert_eq!(stderr, "error: interrupted; 0 of 1 run finished\n");
    let results = json(&String::from_utf8_lossy(&out.stdout));
    assert_eq!(results["runs"], Value::Array(Vec::new()));
}

/// `validate` of two rows whose Linux's side is known, with an ns-3 that never ends in the second, when it has printed the first.
#[cfg(unix)]
fn validating(dir: &Path, json: bool) -> Group {
    use std::os::unix::fs::PermissionsExt;
    let program = dir.join("ns3");
    let point = r#"{"utilization":100,"sojourn_ms":15,"shares":[100],"drops":5,"marks":0}"#;
    let text = format!("#!/bin/sh\ncase $* in *queue=codel*) exec sleep 600;; esac\necho '{point}'\n");
    fs::write(&program, text).expect("ns3");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it may run");
    let row = |name: &str| format!(r#"{{"row": "small {name}", "linux": [{point}]}}"#);
    let rows = format!(r#"{{"kernel": "7.2.13", "rows": [{},{}]}}"#, row("droptail"), row("codel"));
    fs::write(dir.join("linux.json"), rows).expect("linux.json");
    let mut command =
        queuewright(dir, &["validate", "small.toml", "--measured", "linux.json", "--ns3", "./ns3"]);
    command.args(json.then_some("--json"));
    let child = Group::begin(command);
    wait_for("the first row", || {
        child.goes_on();
        let text = child.text();
        text.contains("small droptail") && text.ends_with('\n')
    });
    child
}

#[cfg(unix)]
#[test]
fn validate_prints_each_row_when_it_is_there() {
    let dir = folder();
    let text = validating(dir.path(), false).text();
    assert!(text.contains("| small droptail | 100.0 / ") && !text.contains("codel"), "{text}");
}

/// Killed, it has printed its whole rows, which `--measured` takes; interrupted, an object.
#[cfg(unix)]
#[test]
fn validate_loses_no_row_that_it_has_measured() {
    let dir = folder();
    let mut child = validating(dir.path(), true);
    child.kill();
    let text = String::from_utf8(child.end().stdout).expect("UTF-8");
    serde_json::from_str::<Value>(&text).expect_err("it was killed");
    // Not even the last line is whole, and the ns-3 that it is given is none: what it knows is not asked again.
    fs::write(dir.path().join("killed.json"), format!("{text},{{\"row\": \"small co")).expect("killed.json");
    let one = SMALL.replace(", \"codel\"", "");
    fs::write(dir.path().join("small.toml"), one).expect("small.toml");
    let again = ["validate", "small.toml", "--measured", "killed.json", "--ns3", "./none", "--json"];
    let rows = json(&stdout(dir.path(), &again))["rows"].clone();
    assert_eq!(rows[0]["row"], "small droptail");
    assert_eq!(rows[0]["ns3"].as_array().map(Vec::len), Some(2));
    assert_eq!(rows.as_array().map(Vec::len), Some(1));
    // What two files hold alike was run once.
    let twice =
        ["validate", "small.toml", "--measured", "killed.json,killed.json", "--ns3", "./none", "--json"];
    assert_eq!(json(&stdout(dir.path(), &twice))["rows"], rows);

    let dir = folder();
    let child = validating(dir.path(), true);
    // To itself alone: what it has started ends with it.
    interrupt(child.child.id());
    let out = child.end();
    let rows = json(&String::from_utf8_lossy(&out.stdout))["rows"].clone();
    assert_eq!((&rows[0]["row"], &rows[1]["row"]), (&"small droptail".into(), &"small codel".into()));
    assert!(rows[0]["ns3"].is_array() && rows[1]["ns3"].is_null());
    assert_eq!(String::from_utf8_lossy(&out.stderr), "error: interrupted; 2 rows compared\n");
    assert_eq!(out.status.code(), Some(130));
}

/// Two draws whose Linux's side is known: judged, kept, and again from what was kept; each alone from its file, and as a part.
#[test]
fn validate_judges_drawn_scenarios() {
    let dir = folder();
    // With what every build has: tail drop of the kernel's.
    let kernels = |d: &Draw| d.origin == QdiscOrigin::Kernel;
    let seed = (1..).find(|s| (0..2).all(|i| kernels(&draw(*s, i)))).expect("a seed").to_string();
    let rows: Vec<Row> = (0..2)
        .map(|i| {
            Row::of_draw(&draw(seed.parse().expect("a number"), i), None).expect("it is drawn so").remove(0)
        })
        .collect();
    let linux = |row: &Row| {
        let shares: Vec<f64> =
            row.sim[0].groups.iter().map(|_| 100.0 / row.sim[0].groups.len() as f64).collect();
        let point = |sojourn: f64| {
            serde_json::json!({"utilization": 1.0, "sojourn_ms": sojourn, "sojourn_p95_ms": 2.0 * sojourn,
                "shares": shares, "offered": 1000.0, "drops": 0.0, "marks": 0.0})
        };
        serde_json::json!({"row": row.name, "scenario": row.hash, "linux": [point(900.0), point(901.0)]})
    };
    let known = serde_json::json!({"kernel": "7.2.13", "rows": rows.iter().map(linux).collect::<Vec<_>>()});
    fs::write(dir.path().join("linux.json"), known.to_string()).expect("linux.json");
    let random = ["validate", "--random", "2", "--seed", &seed];
    let asked = |more: &[&str]| stdout(dir.path(), &[&random[..], more].concat());

    let table = asked(&["--measured", "linux.json", "--out", "drawn"]);
    assert!(table.contains("\nOff, the worst first") && table.contains("simulator: 0 of 2 rows"), "{table}");
    let kept = fs::read_to_string(dir.path().join("drawn/results.json")).expect("kept");
    let again = asked(&["--measured", "drawn/results.json", "--json"]);
    assert_eq!(json(&kept), json(&again));
    let (first, judged) = (json(&kept)["rows"][0].clone(), json(&kept)["judged"].clone());
    assert_eq!((&first["row"], &judged["rows"]), (&rows[0].name.as_str().into(), &2.into()));
    assert_eq!((&judged["within"], &judged["beyond_chance"]), (&0.into(), &2.into()));
    assert_eq!(judged["off"][0]["misses"].as_array().map(Vec::is_empty), Some(false));
    assert_eq!(first["sim"].as_array().map(Vec::len), Some(10));

    // Fewer seeds than are asked for are judged, and counted.
    let fewer = "Linux has fewer seeds than were asked for in 2 rows: ";
    assert!(!table.contains("fewer seeds") && judged["fewer_seeds"] == 0, "{table}");
    let more = asked(&["--measured", "linux.json", "--seeds", "1..3"]);
    assert!(more.contains(fewer) && more.contains("simulator: 0 of 2 rows"), "{more}");
    let more = json(&asked(&["--measured", "linux.json", "--seeds", "1..3", "--json"]));
    assert_eq!(more["judged"]["fewer_seeds"], 2);

    // The file gives the same row, and so does the part that has it.
    let file = format!("drawn/draw-{seed}-0.toml");
    let alone = stdout(dir.path(), &["validate", &file, "--measured", "linux.json", "--json"]);
    assert_eq!(json(&alone)["rows"][0], first);
    let parts = ["1/2", "2/2"].map(|p| json(&asked(&["--measured", "linux.json", "--json", "--shard", p])));
    assert_eq!(parts.map(|p| p["rows"][0].clone()), [first, json(&kept)["rows"][1].clone()]);

    // What is there is not written over.
    let out =
        queuewright(dir.path(), &[&random[..], &["--measured", "linux.json", "--out", "drawn"]].concat())
            .output()
            .expect("it ends");
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&out.stderr).contains("drawn/results.json"), "{out:?}");
}

/// What Linux did is kept beside docs/fidelity-rows.md, which has what is printed of it (`INSTA_UPDATE=always` writes that). As many rows are
/// within the target as Linux itself would have, run again, but for two standard deviations of what chance moves that by; and of the rows
/// that ns-3 has more than that has. No lab is asked for.
#[test]
fn the_simulator_stays_as_near_to_linux_as_it_was_measured() {
    let docs = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs"));
    let text = stdout(docs, &["validate", "--measured", "fidelity-linux.json"]);
    let path = docs.join("fidelity-rows.md");
    let page = fs::read_to_string(&path).expect("the page");
    let (table, rest) = text.split_once("\n\n").expect("a table, and what is off");
    let shown = format!("{table}\n\n```\n{rest}```\n");
    if std::env::var("INSTA_UPDATE").as_deref() == Ok("always") {
        let (before, old) = page.split_once("| row | utilisation").expect("the table's head");
        let (_, after) = old.split_once("its own seeds differ.\n```\n").expect("its end");
        fs::write(&path, format!("{before}{shown}{after}")).expect("the page");
    } else {
        let advice = "INSTA_UPDATE=always cargo nextest run -p queuewright as_near_to_linux";
        assert!(page.contains(&shown), "docs/fidelity-rows.md is stale: run {advice}");
    }
    // "100 of 112" behind these words.
    let counts = |words: &str| -> [f64; 2] {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(words))
            .unwrap_or_else(|| panic!("{words}: {text}"));
        let (some, all) = line.split_once(" of ").expect("so many of all");
        [some, all].map(|n| n.split(' ').next().and_then(|n| n.parse().ok()).expect("a number"))
    };
    let [within, rows] = counts("simulator: ");
    let [again, _] = counts("Linux itself, run again with as many seeds as the simulator, would have about ");
    let [sim, beside] = counts("of the rows that ns-3 has, simulator: ");
    let [ns3, _] = counts("of the rows that ns-3 has, ns-3: ");
    let page = fs::read_to_string(docs.join("fidelity.md")).expect("the page");
    for told in [
        format!("| Linux, [{rows} scenarios by one command]"),
        format!("| {within} are within close limits. Linux itself, run again, would have about {again} |"),
        format!("the simulator has {sim} of {beside} within the limits, ns-3 {ns3} |"),
        format!("`queuewright validate` runs {rows} rows"),
    ] {
        assert!(page.contains(&told), "docs/fidelity.md lacks: {told}");
    }
    // docs/fidelity.md: three rows of 78.
    let chance = 3.0 * (rows / 78.0).sqrt();
    assert!(rows >= 80.0 && within >= again - 2.0 * chance, "{within} of {rows}, Linux {again}");
    // ns-3 has no other disciplines than the kernel's.
    assert!(beside >= 40.0 && sim > 2.0 * ns3, "{sim} of {beside} rows, ns-3 {ns3}");
}

/// Root may stand in anybody's folder: what is run as root lies beside the program, or where root says.
#[test]
fn a_lab_in_the_working_folder_is_not_taken() {
    let dir = folder();
    let (bin, program) = installed(dir.path());
    let work = dir.path().join("work/build/lab");
    fs::create_dir_all(&work).expect("a folder");
    fs::write(work.join("layout"), "1").expect("a layout");
    fs::write(dir.path().join("work/small.toml"), SMALL).expect("small.toml");
    let said = |lab: Option<&Path>| {
        let mut command = Command::new(&program);
        command.current_dir(dir.path().join("work")).args(["run", "small.toml", "--engine", "linux"]);
        command.env_remove("QUEUEWRIGHT_LAB");
        lab.map(|lab| command.env("QUEUEWRIGHT_LAB", lab));
        let out = command.stdin(Stdio::null()).output().expect("the program starts");
        assert_eq!(out.status.code(), Some(2));
        String::from_utf8(out.stderr).expect("UTF-8")
    };
    assert!(said(None).contains("the lab is not set up"), "{}", said(None));
    // Named it is taken, and beside the program found.
    let named = said(Some(&work));
    assert!(named.contains("work/build/lab/kernel: no modules of a kernel"), "{named}");
    fs::create_dir_all(bin.join("build/lab")).expect("a folder");
    fs::write(bin.join("build/lab/layout"), "1").expect("a layout");
    assert!(said(None).contains("bin/build/lab/kernel: no modules of a kernel"), "{}", said(None));
    // Where others may write nothing is run.
    fs::set_permissions(&work, std::os::unix::fs::PermissionsExt::from_mode(0o777)).expect("its mode");
    let refused = said(Some(&work));
    assert!(refused.contains("others than its owner may write here (mode 0777)"), "{refused}");
}

/// Files that never end, or that wait for somebody to write: one line each, and no waiting.
#[test]
fn what_is_no_file_is_refused_and_not_waited_for() {
    let dir = folder();
    let pipe = dir.path().join("pipe.pkt");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    // Who does open it finds it empty, and goes on.
    let writer = pipe.clone();
    thread::spawn(move || {
        while fs::OpenOptions::new().write(true).open(&writer).is_ok() {
            thread::yield_now();
        }
    });
    std::os::unix::net::UnixListener::bind(dir.path().join("socket")).expect("a socket");
    for (odd, why) in [
        ("pipe.pkt", "a pipe, not a file"),
        ("/dev/zero", "a device, not a file"),
        ("socket", "a socket, not a file"),
        (".", "a directory, not a file"),
    ] {
        let weights = format!("queuepilot:weights={odd}");
        let mut asked = vec![
            vec!["run", "small.toml", "--aqm", &weights],
            vec!["run", "small.toml", "--trace", odd],
            vec!["run", odd],
            vec!["check", odd],
            vec!["validate", "--measured", odd],
            vec!["attach", "lo", &weights, "--rate", "10mbit", "--dry-run"],
        ];
        if odd != "." {
            asked.push(vec!["packetdrill", odd]);
        }
        for args in asked {
            let out = output(dir.path(), &args);
            let said = String::from_utf8(out.stderr).expect("UTF-8");
            assert_eq!(out.status.code(), Some(2), "{args:?}: {said}");
            assert!(said.contains(why) && said.lines().count() == 1, "{args:?}: {said}");
        }
    }
}

/// A scenario by a pipe that is open already, as shells make it.
#[test]
fn a_scenario_comes_by_a_pipe() {
    let dir = folder();
    let bin = env!("CARGO_BIN_EXE_queuewright");
    let file = stdout(dir.path(), &["check", "small.toml"]);
    for words in [
        "check <(cat small.toml)",
        "check - < <(cat small.toml)",
        "check - < small.toml",
        "check /dev/stdin < <(cat small.toml)",
    ] {
        let out =
            Command::new("bash").args(["-c", &format!("{bin} {words}")]).current_dir(dir.path()).output();
        let out = out.expect("bash runs");
        assert!(out.status.success(), "{words}: {}", String::from_utf8_lossy(&out.stderr));
        assert_eq!(String::from_utf8_lossy(&out.stdout), file, "{words}");
    }
}

/// `make uninstall` builds nothing, removes what this and earlier versions have installed, and nothing else.
#[test]
fn what_is_installed_is_uninstalled() {
    let dir = folder();
    let root = dir.path();
    let put = |path: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, "").expect("a file");
    };
    let ours = [
        "usr/bin/queuewright",
        "usr/lib/systemd/system/queuewright@.service",
        "usr/share/bash-completion/completions/queuewright",
        "usr/share/zsh/site-functions/_queuewright",
        "usr/share/fish/vendor_completions.d/queuewright.fish",
        "usr/share/doc/queuewright/html/index.html",
        "usr/share/doc/queuewright/html/docs/linux.html",
        "usr/lib/tc/queuewright.so",
        "usr/lib/tc/q_qw_codel.so",
        "usr/lib/tc/q_bpf_fq_codel.so",
        "usr/src/queuewright-0.0.9/main.c",
        "usr/src/queuewright-0.0.9/aqm/qw.h",
        "usr/src/queuewright-0.1.0/dkms.conf",
        "usr/src/queuewright-0.1.0/VERSION",
        "usr/src/queuewright-0.1.0/aqm/codel.h",
    ];
    let theirs = [
        "usr/bin/queuewright-of-mine",
        "usr/share/man/man1/tc.1",
        "usr/lib/tc/q_qw_mine.so",
        "usr/lib/tc/m_gact.so",
        "usr/src/queuewright-0.0.9/notes",
        "usr/src/queuewright-mine/main.c",
    ];
    ours.iter().chain(&theirs).for_each(|path| put(path));
    let man = root.join("usr/share/man/man1");
    stdout(root, &["man", man.to_str().expect("UTF-8")]);
    let uninstall = || {
        let mut make = Command::new("make");
        make.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
        make.args(["uninstall", "CARGO=false", "PREFIX=/usr", "TC_LIB=/usr/lib/tc", "SUDO="]);
        make.arg(format!("DESTDIR={}", root.display())).output().expect("make runs")
    };
    // What the kernel has loaded is DKMS's to remove, which needs the source for it.
    fs::create_dir_all(root.join("var/lib/dkms/queuewright/0.1.0")).expect("a folder");
    let refused = uninstall();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("dkms remove queuewright/0.1.0 --all"), "{said}");
    assert!(ours.iter().all(|path| root.join(path).exists()));
    fs::remove_dir(root.join("var/lib/dkms/queuewright/0.1.0")).expect("a folder");

    let done = uninstall();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let mut left = Vec::new();
    let mut folders = vec![root.join("usr")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            match entry.path() {
                path if path.is_dir() => folders.push(path),
                path => left.push(path.strip_prefix(root).expect("in it").display().to_string()),
            }
        }
    }
    left.sort();
    assert_eq!(left, {
        let mut all = theirs.map(String::from);
        all.sort();
        all
    });
    assert!(!root.join("usr/src/queuewright-0.1.0").exists());
}

/// A suite of two scenarios of one's own: a ranking, pages, and the same again from what is kept.
#[test]
fn a_folder_of_scenarios_is_a_suite() {
    let dir = folder();
    let own = dir.path().join("own");
    fs::create_dir(&own).expect("own");
    let scenario = |rate: &str| {
        format!(
            "[link]\nrate = \"{rate}\"\nbuffer = \"4bdp\"\n[[flows]]\ncca = \"cubic\"\ncount = 2\nrtt = \"40ms\"\n\
             [queue]\ndisciplines = [\"droptail\", \"codel\"]\n[run]\nduration = \"6s\"\nwarmup = \"2s\"\n"
        )
    };
    fs::write(own.join("slow.toml"), scenario("4mbit")).expect("slow");
    fs::write(own.join("fast.toml"), scenario("20mbit")).expect("fast");
    let printed = stdout(dir.path(), &["suite", "own", "--out", "o"]);
    let rows: Vec<&str> = printed.lines().map(|l| l.split(' ').next().unwrap_or("")).collect();
    assert_eq!(rows[..3], ["discipline", "codel", "droptail"], "{printed}");
    let latest = dir.path().join("o/latest");
    for file in ["index.md", "cards/codel.md", "scores.csv", "runs.csv", "scenarios/slow.toml", "suite.json"]
    {
        assert!(latest.join(file).exists(), "{file}");
    }
    let page = fs::read_to_string(latest.join("index.md")).expect("a page");
    assert!(page.contains("**codel** is the best of these") && page.contains("\n## fast\n"), "{page}");
    // 2 scenarios, 2 disciplines, 3 seeds, and what is kept needs no runs again.
    let kept = fs::read_to_string(latest.join("runs.jsonl")).expect("runs");
    assert_eq!(kept.lines().count(), 1 + 12);
    let json: Value = json(&stdout(dir.path(), &["suite", "--resume", "--out", "o", "--json"]));
    let best = &json["standings"][0];
    assert_eq!(best["discipline"], "codel");
    assert_eq!((&best["score"], &best["first"]), (&1.0.into(), &1.0.into()));
    assert_eq!(fs::read_to_string(latest.join("runs.jsonl")).expect("runs"), kept);
    // A run that is missing is made again, to the same bytes.
    let some: String = kept.lines().take(8).map(|l| format!("{l}\n")).collect();
    fs::write(latest.join("runs.jsonl"), some).expect("cut");
    stdout(dir.path(), &["suite", "--resume", "--out", "o"]);
    let sorted = |text: &str| text.lines().map(String::from).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(sorted(&fs::read_to_string(latest.join("runs.jsonl")).expect("runs")), sorted(&kept));
}

/// What a suite's source has found is judged by the runs; what cannot fail, or is of no scenario, is refused.
#[test]
fn findings_are_judged() {
    let dir = folder();
    let own = dir.path().join("own");
    fs::create_dir(&own).expect("own");
    let scenario = "[link]\nrate = \"4mbit\"\n[[flows]]\ncca = \"cubic\"\nrtt = \"40ms\"\n\
                    [queue]\ndisciplines = [\"droptail\"]\n[run]\nduration = \"6s\"\nwarmup = \"2s\"\n";
    fs::write(own.join("slow.toml"), scenario).expect("slow");
    let finding = |bound: &str, scenarios: &str| {
        format!(
            "[[finding]]\nsays = \"{bound}\"\nsource = \"none\"\nscenarios = [\"{scenarios}\"]\nof = [\"utilization\"]\n{bound}\n"
        )
    };
    let about = ["least = 0.5", "most = 0.5", "least = 0.9999999"].map(|bound| finding(bound, "s")).concat();
    fs::write(own.join("suite.toml"), about).expect("about");
    let json: Value = json(&stdout(dir.path(), &["suite", "own", "--out", "o", "--json"]));
    let verdicts: Vec<&Value> =
        json["findings"].as_array().expect("three").iter().map(|f| &f["verdict"]).collect();
    assert_eq!(verdicts[..2], ["holds", "fails"], "{json}");
    let page = fs::read_to_string(dir.path().join("o/latest/index.md")).expect("a page");
    assert!(page.contains("| least = 0.5 | none | holds | 1 of 1 |"), "{page}");
    let begin =
        "What its source has found, 3 in all: 1 holds, 2 do not hold. [Which](#what-its-source-has-found).";
    assert!(page.find(begin).is_some_and(|at| at < page.find("**droptail**").expect("an answer")), "{page}");
    assert!(page.contains("| most = 0.5 | none | does not hold | 0 of 1 | slow with droptail: "), "{page}");
    for (bound, scenarios, said) in [
        ("", "s", "least, most: one of them is needed, or nothing can fail"),
        ("least = 2\nmost = 1", "s", "least: 2 is above most, which is 1"),
        ("least = 1", "x", "scenarios: no scenario's name begins with \"x\""),
        (
            "least = 1\nover = [\"group.reno.goodput_bps\"]",
            "s",
            "\"group.reno.goodput_bps\": its scenarios have no such group or port",
        ),
    ] {
        let text = finding(bound, scenarios).replacen(&format!("\"{bound}\""), "\"f\"", 1);
        fs::write(own.join("suite.toml"), text).expect("about");
        let out = output(dir.path(), &["suite", "own", "--out", "o"]);
        let refused = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2), "{refused}");
        assert!(refused.contains(&format!("own/suite.toml: finding \"f\": {said}")), "{refused}");
    }
}

/// On a slow line whose uploads fill the modem's queue, a queue manager is advised.
#[test]
fn advice_is_for_the_line() {
    let dir = folder();
    let slow = [
        "advise",
        "--rate",
        "8mbit/2mbit",
        "--access",
        "dsl",
        "--for",
        "games,uploads",
        "--aqm",
        "codel,fq-codel",
        "--out",
        "o",
    ];
    let text = stdout(dir.path(), &slow);
    let shares = [(95, "7.6mbit"), (90, "7.2mbit"), (85, "6.8mbit"), (80, "6.4mbit")];
    let share = shares.iter().find(|(percent, rate)| {
        let said =
            format!("Take fq-codel, shaped to {rate} down and 1.9mbit up: {percent} % and 95 % of the line");
        text.starts_with(&said)
    });
    let (percent, rate) = share.unwrap_or_else(|| panic!("{text}"));
    // In front of it, in each household, stands the provider's queue.
    assert!(text.contains(&format!("rate {rate} ceil {rate}")), "{text}");
    assert!(
        text.contains("tc qdisc add dev eth0 parent 1:1 fq_codel") && text.contains("dev ifb-eth0"),
        "{text}"
    );
    let latest = dir.path().join("o/latest");
    assert!(fs::read_to_string(latest.join("advice.md")).expect("a page").contains(&text[..60]));
    // Its households are scenarios.
    let household = stdout(&latest.join("households"), &["check", "11-managed.toml"]);
    assert!(household.contains("isp") && household.contains(rate), "{household}");
    let json: Value = json(&stdout(dir.path(), &[&slow[..], &["--json"]].concat()));
    assert_eq!(json["take"], "fq-codel");
    assert_eq!(json["held_out"][0]["within"], true);
    assert_eq!(json["shape"], serde_json::json!({"down_bps": percent * 80_000, "up_bps": 1_900_000}));
    assert!(json["commands"].as_array().is_some_and(|lines| lines.len() > 10), "{json}");
    // Linux 3.10 has fq_codel and CoDel, and nothing of ours; PIE came with 3.14.
    let old = [
        "advise",
        "--rate",
        "8mbit/2mbit",
        "--for",
        "games,uploads",
        "--kernel",
        "3.10",
        "--check",
        "1",
        "--json",
        "--out",
        "o",
    ];
    let of_old: Value = serde_json::from_str(&stdout(dir.path(), &old)).expect("JSON");
    let tried: Vec<&str> = of_old["scores"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|s| s["discipline"].as_str())
        .collect();
    assert_eq!(tried, ["as it is", "droptail", "fq-codel", "codel", "sfq", "sfb"]);
}

/// A scenario is advised on as it stands: its first discipline is what is there now, and each of its groups wants something.
#[test]
fn advice_is_for_a_scenario() {
    let dir = folder();
    let file = "
        link = { rate = \"10mbit\", buffer = \"400p\" }
        [[flows]]
        name = \"files\"
        count = 2
        cca = \"cubic\"
        rtt = \"30ms\"
        [[flows]]
        name = \"call\"
        voip = \"g711\"
        rtt = \"30ms\"
        [queue]
        disciplines = [\"droptail\", \"codel\"]
        [run]
        duration = \"10s\"
    ";
    fs::write(dir.path().join("my.toml"), file).expect("a file");
    let asked = ["advise", "my.toml", "--aqm", "droptail,fq-codel", "--out", "o"];
    let text = stdout(dir.path(), &asked);
    assert!(text.starts_with("Take fq-codel.\n"), "{text}");
    assert!(
        text.contains("files (Mbit/s)") && text.contains("call (MOS)") && text.contains("link (power)"),
        "{text}"
    );
    assert!(
        text.contains("tc qdisc replace dev eth0 root fq_codel limit 400\n") && !text.contains("ifb"),
        "{text}"
    );
    assert!(dir.path().join("o/latest/scenario.toml").exists());
    // Every run is kept: what is there is not made again, and the answer is the same.
    let kept = dir.path().join("o/latest/runs.jsonl");
    let runs = fs::read_to_string(&kept).expect("the runs");
    // Eight to choose by, sixteen to judge by and sixteen to check, with both; and a line that says what they are of.
    assert_eq!(runs.lines().count(), 1 + 2 * (8 + 16 + 16));
    let some: String = runs.split_inclusive('\n').take(50).collect();
    fs::write(&kept, some + "{\"cut off").expect("written");
    fs::remove_file(dir.path().join("my.toml")).expect("it was there");
    let said = |text: &str| text.split("\npages: ").next().map(String::from);
    let again = output(dir.path(), &["advise", "--resume", "--out", "o"]);
    assert!(String::from_utf8_lossy(&again.stderr).contains(", of my.toml"), "{again:?}");
    assert_eq!(said(&String::from_utf8_lossy(&again.stdout)), said(&text));
    let lines = |text: &str| text.lines().map(String::from).collect::<BTreeSet<_>>();
    assert_eq!(lines(&fs::read_to_string(&kept).expect("the runs")), lines(&runs));
    let said = output(dir.path(), &["advise", "--resume", "--tc"]);
    assert_eq!(said.status.code(), Some(2), "{said:?}");
    fs::write(dir.path().join("my.toml"), file).expect("a file");
    // What the file names beside it is tried with the file's parameters, and so is what the list has twice.
    let more = file.replace("\"codel\"]", "{ name = \"codel\", target = \"20ms\", label = \"mine\" }]");
    fs::write(dir.path().join("more.toml"), more).expect("a file");
    let all: Value =
        json(&stdout(dir.path(), &["advise", "more.toml", "--out", "o", "--json", "--check", "0"]));
    let labels = |json: &Value| -> Vec<String> {
        let scores = json["scores"].as_array().expect("a list").iter();
        scores.filter_map(|s| s["discipline"].as_str().map(String::from)).collect()
    };
    let page = fs::read_to_string(dir.path().join("o/latest/advice.md")).expect("a page");
    assert!(labels(&all).contains(&"mine".into()), "{page}");
    let twice =
        ["advise", "my.toml", "--aqm", "codel:target=10ms,codel", "--out", "o", "--json", "--check", "0"];
    let twice: Value = json(&stdout(dir.path(), &twice));
    assert_eq!(labels(&twice), ["as it is", "codel:target=10ms", "codel"]);
    let said = output(dir.path(), &["advise", "my.toml", "--aqm", "droptail", "--out", "o"]);
    assert_eq!(said.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&said.stderr).contains("that is what is there now; write another"));
    // Tail drop is what is there now, and no candidate beside itself.
    let json: Value = json(&stdout(dir.path(), &[&asked[..], &["--json"]].concat()));
    let tried: Vec<&str> =
        json["scores"].as_array().expect("a list").iter().filter_map(|s| s["discipline"].as_str()).collect();
    assert_eq!((tried, json["seeds"].as_u64()), (vec!["as it is", "fq-codel"], Some(16)));
    // Where nothing competes, nothing is to be done; what the file refuses is left out.
    let idle =
        file.replace("voip = \"g711\"", "cbr = \"1mbit\"").replace("cca = \"cubic\"", "cbr = \"2mbit\"");
    fs::write(dir.path().join("idle.toml"), &idle).expect("a file");
    let text = stdout(dir.path(), &["advise", "idle.toml", "--tc", "--out", "o"]);
    assert!(
        text.starts_with("Leave idle.toml as it is, with droptail: nothing that was tried is better"),
        "{text}"
    );
    assert!(!text.contains("tc qdisc") && !text.contains("attach"), "{text}");
    fs::write(
        dir.path().join("police.toml"),
        idle.replace("buffer", "police = true, buffer").replace(", \"codel\"", ""),
    )
    .expect("a file");
    let out =
        output(dir.path(), &["advise", "police.toml", "--aqm", "droptail,fq-codel,static", "--out", "o"]);
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(said.contains("note: left out, as the file refuses them: fq-codel"), "{said}");
}

/// The README's samples of what `check` answers are what it answers.
#[test]
fn the_readme_s_answer_is_the_command_s() {
    let page = include_str!("../../../README.md");
    let (_, sample) = page.split_once("$ queuewright check home.toml\n").expect("a sample of `check`");
    let said = sample.lines().next().expect("its answer");
    let dir = folder();
    let text = format!("\n[link]\nbufer{}", SMALL.split_once("[link]\nrate").expect("a link").1);
    fs::write(dir.path().join("home.toml"), text).expect("home.toml");
    let out = output(dir.path(), &["check", "home.toml"]);
    assert_eq!(String::from_utf8_lossy(&out.stderr).trim_end(), said);
}

/// The README's sentences about a comparison are what the command ends with.
#[test]
fn the_readme_s_sentences_are_the_command_s() {
    let page = include_str!("../../../README.md");
    let (_, sample) = page.split_once("\n$ queuewright compare ").expect("a sample of `compare`");
    let (words, shown) = sample.split_once("1..3\n").expect("its seeds");
    let (shown, _) = shown.split_once("\nreport: ").expect("its report");
    let shown = shown.strip_prefix("...\n").expect("the table is left out");
    let words = format!("compare {words}1..3");
    let words: Vec<&str> = words.split_whitespace().filter(|word| *word != "\\").collect();
    let dir = folder();
    let said = stdout(dir.path(), &words);
    let (said, _) = said.split_once("\nreport: ").expect("a report");
    assert!(shown.lines().count() > 2 && said.ends_with(&format!("\n{shown}")), "{said}");
}

/// Exit code, output and errors, where what is compiled is kept in the folder, and no scenario may run code.
fn said_of_own(at: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = queuewright(at, args);
    let command = command.env("XDG_CACHE_HOME", at.join("cache")).env_remove("QUEUEWRIGHT_OWN");
    let out = command.output().expect("it starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (out.status.code(), text(&out.stdout), text(&out.stderr))
}

/// A congestion control of the user's own: written, checked, run beside others, and wrong.
#[test]
fn a_congestion_control_of_ones_own() {
    let dir = folder();
    let at = dir.path();
    let said = |args: &[&str]| said_of_own(at, args);
    let (code, words, _) = said(&["new", "control", "mine"]);
    assert!(code == Some(0) && words.contains("queuewright check ./mine.h"), "{words}");
    let (code, _, error) = said(&["new", "control", "mine"]);
    assert_eq!((code, &error[..]), (Some(2), "error: ./mine.h is there already\n"));
    let (code, _, error) = said(&["new", "control", "cubic"]);
    assert!(code == Some(2) && error.contains("cubic is there already"), "{error}");
    let (code, words, error) = said(&["check", "./mine.h"]);
    assert_eq!((code, &error[..]), (Some(0), ""));
    assert!(words.starts_with("mine: Reno that gives") && words.contains(" sequences: "), "{words}");
    let (code, explained, _) = said(&["explain", "./mine.h"]);
    assert!(code == Some(0) && words.starts_with(&explained), "{explained}");
    let compare = |flows: &str| {
        said(&[
            "compare",
            "--rate",
            "20mbit",
            "--rtt",
            "20ms",
            "--duration",
            "2s",
            "--json",
            "--out",
            "kept",
            "--aqm",
            "codel",
            "--flows",
            flows,
        ])
    };
    let (code, results, error) = compare("cubic,2x./mine.h:ecn");
    assert_eq!(code, Some(0), "{error}");
    let results = json(&results);
    let group = &results["runs"][0]["groups"][1];
    assert_eq!((&group["name"], &group["cca"]), (&"mine".into(), &"mine".into()));
    let id = group["cca_file"].as_str().expect("its hash");
    assert_eq!(results["scenario"]["flows"][1]["cca_sha256"]["mine"], id[7..]);
    // The folder stands alone, and is run again by who allows it.
    assert!(at.join("kept/latest/mine.h").exists());
    let again = ["run", "kept/latest/scenario.toml", "--json", "--out", "kept"];
    let (code, _, error) = said(&again);
    assert!(code == Some(2) && error.contains("set QUEUEWRIGHT_OWN=1"), "{error}");
    let first = fs::read_link(at.join("kept/latest")).expect("a link");
    let out = queuewright(at, &again)
        .env("QUEUEWRIGHT_OWN", "1")
        .env("XDG_CACHE_HOME", at.join("cache"))
        .output()
        .expect("it starts");
    assert_eq!(out.status.code(), Some(0));
    // Also where the new folder is called what the old one was.
    assert_ne!(fs::read_link(at.join("kept/latest")).expect("a link"), first);
    assert!(at.join("kept/latest/mine.h").exists());

    let mine = fs::read_to_string(at.join("mine.h")).expect("it is there");
    let counts = "s->losses++;";
    let grows = "qw_cong_avoid_ai(c, c->cwnd, acked);";
    for (piece, bad, why) in [
        (counts, "s->lossess++;", "./mine.h:38:"),
        (counts, "int unused = 0;", "unused variable 'unused'"),
        (counts, "s[c->cwnd].losses++;", "./mine.h:38: heap-buffer-overflow"),
        (counts, "s->losses = 7 / (c->cwnd % 2);", "mine.h:38:16: division by zero"),
        (counts, "c->snd_una++;", "qw_mine_ssthresh writes to what is not its own"),
        ("return left < 2 ? 2 : left;", "return left;", "qw_mine_ssthresh answers less than 2 packets"),
        ("return qw_undo_cwnd(c);", "return 0;", "qw_mine_undo_cwnd answers a window of 0 packets"),
        (grows, "c->cwnd -= acked;", "mine.h"),
        (grows, "c->cwnd = 0;", "qw_mine_cong_avoid leaves a window (cwnd) of 0 packets"),
        (grows, "c->ssthresh = 1;", "qw_mine_cong_avoid leaves an ssthresh below 2 packets"),
        (grows, "c->pacing_rate = 0;", "qw_mine_cong_avoid leaves a pacing_rate of 0"),
        ("#define QW_MINE_CCA", "#define QW_MINE_CAC", "QW_MINE_CCA(E) is missing"),
    ] {
        assert_eq!(mine.matches(piece).count(), 1, "{piece}");
        fs::write(at.join("mine.h"), mine.replace(piece, bad)).expect("a file");
        let (code, _, error) = said(&["check", "./mine.h"]);
        assert!(code == Some(2) && error.contains(why), "{bad}\n{error}");
        assert!(error.lines().count() == 1 && error.len() < 500, "{error}");
    }
    // What `run` finds ends it, and names the file and the event.
    fs::write(at.join("mine.h"), mine.replace(grows, "c->cwnd = 0;")).expect("a file");
    let (code, _, error) = compare("./mine.h");
    assert!(
        code == Some(1) && error.contains("mine.h: after qw_mine_cong_avoid there is a window"),
        "{error}"
    );
    // Neither the one nor the other.
    fs::write(at.join("none.h"), "int x;\n").expect("a file");
    let (code, _, error) = said(&["check", "./none.h"]);
    assert!(code == Some(2) && error.contains("neither a discipline (QW_NONE_PARAMS) nor"), "{error}");
}

/// A discipline of the user's own, with the program alone: written, checked, changed, run, and wrong.
#[test]
fn a_discipline_of_ones_own() {
    const CLANG: &str = "clang-19";
    let dir = folder();
    let at = dir.path();
    let said = |args: &[&str]| said_of_own(at, args);
    let (code, words, _) = said(&["new", "discipline", "late"]);
    assert!(code == Some(0) && words.contains("queuewright check ./late.h"), "{words}");
    let (code, _, error) = said(&["new", "discipline", "late"]);
    assert_eq!((code, &error[..]), (Some(2), "error: ./late.h is there already\n"));
    let (code, words, error) = said(&["check", "./late.h"]);
    assert_eq!(code, Some(0), "{error}");
    assert!(words.contains("target  longest wait that passes (default 20ms, 0s .. 10s)"), "{words}");
    assert!(words.contains(" sequences: "), "{words}");
    let (code, explained, _) = said(&["explain", "./late.h"]);
    assert!(
        code == Some(0) && words.starts_with(&explained) && explained.contains("  target  "),
        "{explained}"
    );
    let (code, _, error) = said(&["explain", "./none.h"]);
    assert!(code == Some(2) && error.starts_with("error: ./none.h: no such file"), "{error}");
    let compare = [
        "compare",
        "--rate",
        "20mbit",
        "--rtt",
        "20ms",
        "--flows",
        "2xcubic",
        "--duration",
        "2s",
        "--json",
        "--out",
        "kept",
        "--aqm",
    ];
    let of = |aqm: &'static str| said(&[&compare[..], &[aqm]].concat());
    let (code, results, error) = of("codel,./late.h,./late.h:target=2ms:label=mine");
    assert_eq!(code, Some(0), "{error}");
    let results = json(&results);
    assert_eq!(results["runs"][2]["discipline"], "mine");
    assert_eq!(results["runs"][2]["parameters"]["target"], "2ms");
    let id = results["runs"][1]["parameters"]["file"].as_str().expect("its hash");
    assert!(id.starts_with("sha256:") && id.len() == 71, "{id}");
    assert_eq!(results["scenario"]["queue"]["disciplines"][1]["name_sha256"], id[7..]);
    // The folder stands alone, and is run again by who allows it.
    let latest = at.join("kept/latest");
    assert!(latest.join("late.h").exists());
    let again = ["run", "kept/latest/scenario.toml", "--json"];
    let (code, _, error) = said(&again);
    assert!(code == Some(2) && error.contains("set QUEUEWRIGHT_OWN=1"), "{error}");
    let out = queuewright(at, &again)
        .env("QUEUEWRIGHT_OWN", "1")
        .env("XDG_CACHE_HOME", at.join("cache"))
        .output()
        .expect("it starts");
    assert_eq!(out.status.code(), Some(0), "{}", String::from_utf8_lossy(&out.stderr));
    // A suite and a folder of results may be anybody's, too.
    fs::create_dir(at.join("theirs")).expect("a folder");
    fs::copy(latest.join("scenario.toml"), at.join("theirs/a.toml")).expect("copied");
    let plain =
        fs::read_to_string(at.join("theirs/a.toml")).expect("text").replace("\"./late.h\"", "\"pie\"");
    fs::write(at.join("theirs/a.toml"), plain).expect("written");
    let suite = |aqm: &str| fs::write(at.join("theirs/suite.toml"), format!("aqm = \"{aqm}\"\n"));
    suite("codel,./late.h").expect("written");
    let (code, _, error) = said(&["suite", "./theirs", "--quick"]);
    assert!(
        code == Some(2) && error.contains("suite.toml: aqm: \"./late.h\": a suite names no file"),
        "{error}"
    );
    suite("codel").expect("written");
    let (code, _, error) = said(&["suite", "./theirs", "--quick", "--aqm", "./late.h"]);
    assert_eq!(code, Some(0), "{error}");
    let (code, _, error) = said(&["suite", "--resume"]);
    assert!(code == Some(2) && error.contains("suite.json: options.aqm: \"./late.h\""), "{error}");

    let late = fs::read_to_string(at.join("late.h")).expect("it is there");
    let mut compilers = vec!["cc"];
    match Command::new(CLANG).arg("--version").output() {
        Ok(_) => compilers.push(CLANG),
        Err(e) => left_out("a header of one's own by clang", Lack::Setup, &format!("{CLANG}: {e}")),
    }
    let checked = |cc: &str| {
        let mut command = queuewright(at, &["check", "./late.h"]);
        let out = command.env("XDG_CACHE_HOME", at.join("cache")).env("CC", cc).output().expect("it starts");
        (out.status.code(), String::from_utf8_lossy(&out.stderr).into_owned())
    };
    for cc in &compilers {
        assert_eq!(checked(cc), (Some(0), String::new()), "{cc}");
    }
    let passes = "return qw_mark_or_drop(k, p->ecn != 0, QW_REASON_SOJOURN);";
    for (piece, bad, why) in [
        (passes, "return qw_pas();", "./late.h:58:"),
        // What only `check` finds.
        (passes, "int unused = 0; return qw_pass();", "unused variable 'unused'"),
        (
            passes,
            "struct qw_verdict v = { QW_MARK, QW_REASON_SOJOURN }; return v;",
            "it marks a packet whose sender has no ECN",
        ),
        (passes, "return qw_drop(QW_REASON_NONE);", "it marks or drops without a reason"),
        (
            passes,
            "static qw_u32 n; return n++ % 2 ? qw_drop(QW_REASON_EARLY) : qw_pass();",
            "it has variables of its own",
        ),
        (
            passes,
            "((struct qw_late_params *)(void *)(qw_u64)p)->ecn = 3; return qw_pass();",
            "it writes to its parameters",
        ),
        (
            passes,
            "return q->bytes / (q->packets % 2) ? qw_pass() : qw_drop(QW_REASON_EARLY);",
            "late.h:58:18: division by zero",
        ),
        (
            "qw_over_limit(q, k) ? qw_drop(QW_REASON_LIMIT) : qw_pass()",
            "qw_pass()",
            "lets in what the buffer cannot hold",
        ),
        (
            "s->sojourn_ns = now - k->enqueue_ns;",
            "(&s->sojourn_ns)[q->packets] = now - k->enqueue_ns;",
            "./late.h:54",
        ),
    ] {
        assert_eq!(late.matches(piece).count(), 1, "{piece}");
        fs::write(at.join("late.h"), late.replace(piece, bad)).expect("a file");
        for cc in &compilers {
            let (code, error) = checked(cc);
            // clang's sanitizers know lines where there is an llvm-symbolizer.
            let why = if *cc == CLANG { why.trim_end_matches(":54") } else { why };
            assert!(code == Some(2) && error.contains(why), "{cc}: {bad}\n{error}");
            assert!(error.lines().count() == 1 && error.len() < 500, "{cc}: {error}");
        }
    }
}
