//! `queuewright reproduce` as users meet it, with a small experiment of their own.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const SCENARIO: &str = r#"
[link]
rate = "5mbit"
buffer = "20p"
[[flows]]
cca = "cubic"
rtt = "20ms"
start = "0s..1s"
[queue]
disciplines = ["droptail", "codel"]
[run]
duration = "4s"
warmup = "1s"
seeds = "1..5"
"#;

const FIGURE: &str = r#"
title = "A small experiment"
figure = "Figure 0"
source = "Nobody: Nothing"
[[sweep]]
name = "rtt"
title = "RTT (ms)"
values = [
  { name = "20 ms", x = 20, set = { flows.rtt = "20ms" } },
  { name = "60 ms", x = 60, set = { flows.rtt = "60ms" } },
]
[[panel]]
title = "(a) Delay"
kind = "lines"
x = "rtt"
y = "sojourn_ms.mean"
series = ["discipline"]
[[panel]]
title = "(b) Delay"
kind = "bars"
x = "rtt"
y = "sojourn_ms.mean"
series = ["discipline"]
[[panel]]
title = "(c) Trade-off"
kind = "scatter"
x = "sojourn_ms.mean"
y = "utilization"
series = ["discipline", "rtt"]
[[panel]]
title = "(d) Queue"
kind = "time"
y = "bottleneck.backlog_bytes"
series = ["discipline"]
[[published]]
measure = "sojourn_ms.mean"
at = { rtt = "20 ms", discipline = "codel" }
value = [3, 5]
source = "page 1"
[[claim]]
text = "CoDel has the shorter queue"
source = "page 1"
measure = "sojourn_ms.mean"
at = { discipline = "codel" }
against = { discipline = "droptail" }
form = "ratio"
at_most = 1
[[claim]]
text = "The delay is a year"
source = "page 2"
measure = "sojourn_ms.mean"
published = 3e10
why = "Nobody waits that long."
"#;

fn own(dir: &Path) -> PathBuf {
    let folder = dir.join("mine");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("small.toml"), SCENARIO).unwrap();
    fs::write(folder.join("small.figure.toml"), FIGURE).unwrap();
    folder
}

fn reproduce(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_queuewright"));
    command.current_dir(dir).arg("reproduce").args(args).stdin(Stdio::null()).output().unwrap()
}

fn stdout(dir: &Path, args: &[&str]) -> String {
    let out = reproduce(dir, args);
    let stderr = String::from_utf8_lossy(&out.stderr);
    assert_eq!((out.status.code(), stderr.as_ref()), (Some(0), ""), "{args:?}");
    String::from_utf8(out.stdout).unwrap()
}

#[test]
fn an_experiment_of_ones_own() {
    let dir = tempfile::tempdir().unwrap();
    own(dir.path());
    let text = stdout(dir.path(), &["./mine"]);
    assert!(text.contains("mine/small: 1 of 2 claims hold"), "{text}");
    assert!(text.contains("does not hold: The delay is a year"), "{text}");
    let folder = dir.path().join("queuewright-reproduced/latest");
    let page = fs::read_to_string(folder.join("mine.md")).unwrap();
    assert!(page.contains("Nobody waits that long.") && page.contains("20 runs"), "{page}");
    let html = fs::read_to_string(folder.join("index.html")).unwrap();
    assert!(html.contains("<svg") && html.contains("A small experiment") && !html.contains("Quick"));
    let csv = fs::read_to_string(folder.join("mine/small.csv")).unwrap();
    assert!(csv.starts_with("rtt,discipline,seed,") && csv.lines().count() == 21, "{csv}");
    assert_eq!(&fs::read(folder.join("mine/small.parquet")).unwrap()[..4], b"PAR1");
    assert_eq!(&fs::read(folder.join("mine/small.png")).unwrap()[1..4], b"PNG");

    // The same runs, the same bytes.
    let again = stdout(dir.path(), &["./mine", "--jobs", "1", "--out", "again"]);
    assert!(again.contains("1 of 2 claims hold"));
    for file in ["mine/small.csv", "mine/small.svg", "mine/small.verdict.json", "mine.md"] {
        let other = dir.path().join("again/latest").join(file);
        assert_eq!(fs::read(folder.join(file)).unwrap(), fs::read(other).unwrap(), "{file}");
    }
}

/// "Best at each" is asked at each: the least of all beside the least of all others says little.
#[test]
fn each_is_compared_with_its_like() {
    let dir = tempfile::tempdir().unwrap();
    let folder = own(dir.path());
    // So long that no flow fills the link again within the run.
    let figure = FIGURE.replace("60", "400");
    let each = r#"
[[claim]]
text = "Long paths use less of the link, whoever manages the queue"
source = "page 3"
measure = "utilization"
at = { rtt = "400 ms" }
against = { rtt = "20 ms" }
each = ["discipline"]
form = "difference"
cases = "max"
at_most = 0
"#;
    // The other way round: the wrong side of 0 is no direction.
    let wrong = each.replace("400 ms", "20 ms").replacen(
        "against = { rtt = \"20 ms\"",
        "against = { rtt = \"400 ms\"",
        1,
    );
    fs::write(folder.join("small.figure.toml"), format!("{figure}{each}{wrong}")).unwrap();
    stdout(dir.path(), &["./mine"]);
    let folder = dir.path().join("queuewright-reproduced/latest/mine");
    let verdict: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.join("small.verdict.json")).unwrap()).unwrap();
    let sheet = fs::read_to_string(folder.join("small.csv")).unwrap();
    let mut lines = sheet.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().unwrap();
    let column = |name: &str| head.iter().position(|h| *h == name).unwrap();
    let (rtt, who, value) = (column("rtt"), column("discipline"), column("utilization"));
    let rows: Vec<_> = lines.collect();
    let mean = |r: &str, d: &str| {
        let of = rows.iter().filter(|row| row[rtt] == r && row[who] == d);
        let values: Vec<f64> = of.map(|row| row[value].parse().unwrap()).collect();
        assert_eq!(values.len(), 5);
        values.iter().sum::<f64>() / 5.0
    };
    // A share of the link in a sheet is a percentage in a claim.
    let wanted = ["droptail", "codel"].map(|d| 100.0 * (mean("400 ms", d) - mean("20 ms", d)));
    let judged = &verdict["claims"][2];
    let got: Vec<f64> = judged["values"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
    assert!(
        got.len() == 2 && got.iter().zip(wanted).all(|(g, w)| (g - w).abs() < 1e-6),
        "{got:?} {wanted:?}"
    );
    assert!(wanted.iter().all(|w| *w < 0.0), "{wanted:?}");
    assert_eq!((&judged["verdict"], &verdict["claims"][3]["verdict"]), (&"holds".into(), &"no".into()));

    let wrong = each.replace("each = [\"discipline\"]", "each = [\"rtt\"]");
    fs::write(dir.path().join("mine/small.figure.toml"), format!("{figure}{wrong}")).unwrap();
    let out = reproduce(dir.path(), &["./mine", "--out", "wrong"]);
    let said = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(2));
    assert!(
        said.contains("each = \"rtt\": for ratio, difference and change, of what against does not name"),
        "{said}"
    );
}

/// Wrong variants run in the place of the system alone, and are kept.
#[test]
fn claims_that_hold_without_the_system_are_weak() {
    let dir = tempfile::tempdir().unwrap();
    let folder = own(dir.path());
    let nulls = "[[null]]\nname = \"tail-drop\"\ntext = \"tail drop under its name\"\nof = \"codel\"\nput = { name = \"droptail\" }\n";
    fs::write(folder.join("nulls.toml"), nulls).unwrap();
    stdout(dir.path(), &["./mine", "--null"]);
    let latest = dir.path().join("queuewright-reproduced/latest");
    let page = fs::read_to_string(latest.join("mine.md")).unwrap();
    assert!(page.contains("1 claims hold. 1 of them do not hold for at least one wrong variant"), "{page}");
    assert!(page.contains("| tail drop under its name | codel | 1 | 1 |"), "{page}");
    let runs = fs::read_to_string(latest.join("mine/small.null-tail-drop.runs.jsonl")).unwrap();
    // A head, and two cases of five seeds.
    assert_eq!(runs.lines().count(), 11);
    // Under its own name tail drop is tail drop, to the byte.
    let all = fs::read_to_string(latest.join("mine/small.runs.jsonl")).unwrap();
    let of = |text: &str, label: &str| {
        let one = |line: &str| line.contains(&format!("\"discipline\":\"{label}\""));
        // They are kept in the order in which they end.
        text.lines().filter(|line| one(line)).map(|line| line.replace(label, "it")).collect::<BTreeSet<_>>()
    };
    assert!(of(&runs, "codel") == of(&all, "droptail"), "{runs}");
    for (old, new, error) in [
        ("\"tail-drop\"", "\"Tail drop\"", "a name has small letters, digits, hyphens"),
        ("put = { name = \"droptail\" }", "", "changes nothing: give put, set or scenario"),
        ("\"droptail\"", "\"drop\"", "null \"tail-drop\": queue.disciplines[1]"),
        ("text", "words", "nulls.toml:3: unknown field `words`"),
    ] {
        fs::write(folder.join("nulls.toml"), nulls.replacen(old, new, 1)).unwrap();
        let out = reproduce(dir.path(), &["./mine", "--null"]);
        let stderr = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(error) && stderr.trim().lines().count() == 1, "{error}: {stderr}");
    }
}

/// What does not hold is run again with each possible cause, and that alone.
#[test]
fn a_miss_is_tried_with_possible_causes() {
    let dir = tempfile::tempdir().unwrap();
    let folder = own(dir.path());
    let figure = folder.join("small.figure.toml");
    let text = fs::read_to_string(&figure).unwrap();
    let claim = "[[claim]]\ntext = \"CoDel waits long\"\nsource = \"page 3\"\nmeasure = \"sojourn_ms.mean\"\n\
                 at = { discipline = \"codel\", rtt = \"20 ms\" }\nat_least = 100\n";
    fs::write(&figure, text + claim).unwrap();
    let causes = "[[cause]]\nname = \"slow\"\nkind = \"unstated\"\ntext = \"a slow link\"\nscenario = { link.rate = \"100kbit\" }\n\
                  [[cause]]\nname = \"pie\"\nkind = \"accident\"\ntext = \"PIE\"\nof = \"codel\"\nput = { name = \"pie\" }\n";
    fs::write(folder.join("causes.toml"), causes).unwrap();
    stdout(dir.path(), &["./mine", "--causes"]);
    let latest = dir.path().join("queuewright-reproduced/latest");
    let page = fs::read_to_string(latest.join("mine.md")).unwrap();
    for line in [
        "| slow | a slow link | not said in the paper | 2 | 1 |",
        "| pie | PIE | their program | 2 | 0 |",
        "| The delay is a year | page 2 | 30000000000 ms |",
        "**does not hold**; nor with any of 2 changes |",
        "**does not hold**; holds with slow: ",
        "One claim is *open*",
    ] {
        assert!(page.contains(line), "{line}: {page}");
    }
    let verdict = fs::read_to_string(latest.join("mine/small.verdict.json")).unwrap();
    assert!(verdict.contains("\"cause\": \"slow\""), "{verdict}");
    // A head, and of the four cases and disciplines five seeds each, as one claim asks for all; of PIE those of CoDel alone.
    let lines = |cause: &str| {
        let kept = latest.join(format!("mine/small.cause-{cause}.runs.jsonl"));
        fs::read_to_string(kept).unwrap().lines().count()
    };
    assert_eq!((lines("slow"), lines("pie")), (21, 11));
    // All is there: to go on makes nothing, and says the same.
    stdout(dir.path(), &["--resume"]);
    assert_eq!(fs::read_to_string(latest.join("mine.md")).unwrap(), page);
    for (old, new, error) in [
        ("kind = \"unstated\"\n", "", "cause \"slow\": kind is missing: simulator, accident or unstated"),
        ("unstated", "contradiction", "cause \"slow\": kind is missing: simulator, accident or unstated"),
        ("\"slow\"", "\"pie\"", "cause \"pie\": it is there twice"),
        ("of = \"codel\"\n", "", "cause \"pie\": put and set need of: in whose place?"),
        ("[[cause]]", "[[null]]", "null \"slow\": kind is of causes"),
    ] {
        fs::write(folder.join("causes.toml"), causes.replacen(old, new, 1)).unwrap();
        let out = reproduce(dir.path(), &["./mine", "--causes"]);
        let stderr = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(error) && stderr.trim().lines().count() == 1, "{error}: {stderr}");
    }
}

#[test]
fn what_was_interrupted_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    own(dir.path());
    stdout(dir.path(), &["./mine", "--quick"]);
    let folder = dir.path().join("queuewright-reproduced/latest");
    let whole = fs::read_to_string(folder.join("mine/small.csv")).unwrap();
    assert_eq!(whole.lines().count(), 5, "{whole}");
    assert!(fs::read_to_string(folder.join("mine/small.svg")).unwrap().contains("QUICK"));
    // As if it had ended in the middle of writing the third run.
    let runs = folder.join("mine/small.runs.jsonl");
    let text = fs::read_to_string(&runs).unwrap();
    let third = text.match_indices('\n').nth(2).unwrap().0;
    fs::write(&runs, &text[..third + 50]).unwrap();
    fs::remove_file(folder.join("mine/small.csv")).unwrap();
    stdout(dir.path(), &["--resume"]);
    assert_eq!(fs::read_to_string(folder.join("mine/small.csv")).unwrap(), whole);
    let folders = fs::read_dir(dir.path().join("queuewright-reproduced")).unwrap().count();
    assert_eq!(folders, 2, "the folder and latest");
}

#[test]
fn a_broken_file_is_one_clear_error() {
    let broken = [
        ("kind = \"lines\"", "kind = \"pies\"", "small.figure.toml:14: unknown variant `pies`"),
        (
            "x = \"rtt\"\n",
            "x = \"rt\"\n",
            "panel 1 (\"(a) Delay\"): x: no sweep \"rt\"; there are rtt, discipline",
        ),
        ("x = 60,", "", "\"60 ms\" of sweep \"rtt\" has no x"),
        ("flows.rtt = \"60ms\"", "flows.rt = \"60ms\"", "case \"60 ms\": flows[0].rt: unknown key"),
        ("published = 3e10", "", "give one of published, at_most, at_least"),
        ("rtt = \"20 ms\", disc", "rtt = \"30 ms\", disc", "rtt has no \"30 ms\"; it has 20 ms, 60 ms"),
    ];
    for (old, new, error) in broken {
        let dir = tempfile::tempdir().unwrap();
        let folder = own(dir.path());
        assert!(FIGURE.contains(old), "{old}");
        fs::write(folder.join("small.figure.toml"), FIGURE.replacen(old, new, 1)).unwrap();
        let out = reproduce(dir.path(), &["./mine"]);
        let stderr = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(error) && stderr.trim().lines().count() == 1, "{error}: {stderr}");
    }
}

#[test]
fn the_list_has_every_experiment() {
    let dir = tempfile::tempdir().unwrap();
    let text = stdout(dir.path(), &[]);
    assert!(text.contains("cp-aqm/fig1") && text.contains("experiments, about"), "{text}");
}
