//! Disciplines.

use crate::bed::{Mistake, each_is_one_clear_error, folder, goes_to_another_process};
use queuewright_aqm::{Value, own};
use queuewright_scenario::own::CONSENT;
use queuewright_scenario::{Flags, Scenario, spec::RunSpec};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

fn late() -> String {
    own::sample("late").expect("a name")
}

fn flags(aqm: &str) -> Flags {
    Flags {
        rate: Some("50mbit".into()),
        rtt: Some("20ms".into()),
        flows: Some("2xcubic".into()),
        aqm: Some(aqm.into()),
        ..Flags::default()
    }
}

/// As a command line names it.
fn runs(aqm: &str) -> Result<Vec<RunSpec>, String> {
    Scenario::from_flags(&flags(aqm)).and_then(|s| s.runs()).map_err(|e| e.to_string())
}

fn file(disciplines: &str) -> String {
    format!(
        "[link]\nrate = \"50mbit\"\n[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\n[queue]\ndisciplines = [{disciplines}]\n[run]\n\
         duration = \"2s\"\n"
    )
}

#[test]
fn a_file_is_a_discipline_with_parameters() {
    let folder = folder("disciplines/is");
    let path = folder.join("late.h");
    fs::write(&path, late()).expect("a file");
    let aqm = path.display();
    let runs = runs(&format!("codel,{aqm},{aqm}:target=2ms:ecn=true:label=mine")).expect("three");
    let labels: Vec<&str> = runs.iter().map(|r| &r.discipline.label[..]).collect();
    assert_eq!(labels, ["codel", "late", "mine"]);
    assert_eq!(runs[1].discipline.get("target"), Some(Value::Int(20_000_000)));
    assert_eq!(runs[2].discipline.get("target"), Some(Value::Int(2_000_000)));
    assert_eq!(runs[2].discipline.get("ecn"), Some(Value::Flag(true)));
    let info = runs[1].discipline.info;
    assert!(std::ptr::eq(info, runs[2].discipline.info), "one file is one discipline");
    assert_eq!((info.name, info.probes[0].name, info.probes[0].unit), ("late", "sojourn", "ms"));
    assert_eq!(info.about, "mark or drop at the head what has waited longer than a target");
    // Variants without a label are told apart by what is set, as those of the program are.
    let runs = self::runs(&format!("{aqm},{aqm}:target=2ms")).expect("two");
    assert_eq!(runs[1].discipline.label, "late target=2ms");
}

#[test]
fn a_scenario_takes_its_files_along() {
    let folder = folder("disciplines/along");
    fs::create_dir(folder.join("mine")).expect("a folder");
    fs::write(folder.join("mine/late.h"), late()).expect("a file");
    let text = file("\"codel\", \"./mine/late.h\", { name = \"./mine/late.h\", target = \"2ms\" }");
    let scenario = Scenario::parse(&text, "s.toml", &folder).unwrap_or_else(|e| panic!("{e}"));
    let hash = &queuewright_scenario::read_file(&folder.join("mine/late.h"), 1 << 20).expect("it is there");
    assert_eq!(hash, late().as_bytes());
    let json = scenario.to_json();
    let entry = &json["queue"]["disciplines"][1];
    assert_eq!(entry["name"], "./mine/late.h");
    assert_eq!(entry["name_sha256"].as_str().map(str::len), Some(64));
    let copy = folder.join("copy");
    fs::create_dir(&copy).expect("a folder");
    scenario.save(&copy).expect("it is written");
    assert_eq!(fs::read_to_string(copy.join("late.h")).expect("it came along"), late());
    let again = Scenario::read(&copy.join("scenario.toml")).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(again.hash(), scenario.hash(), "where it lies does not count");
    assert_eq!(again.runs().expect("runs"), scenario.runs().expect("runs"));
    // What is in it does.
    fs::write(copy.join("late.h"), late() + "\n").expect("a file");
    assert_ne!(Scenario::read(&copy.join("scenario.toml")).expect("it is read").hash(), scenario.hash());
}

#[test]
fn runs_and_drafts_go_to_another_process() {
    let folder = folder("disciplines/elsewhere");
    fs::write(folder.join("late.h"), late()).expect("a file");
    goes_to_another_process(&file("\"./late.h\""), &folder.join("late.h"));
}

const MISTAKES: &[Mistake] = &[
    // The compiler's, with their lines.
    ("p->target_ns ||", "p->targt_ns ||", "late.h:56:"),
    ("p->target_ns ||", "p->targt_ns ||", "targt_ns"),
    ("s->sojourn_ns = 0;\n}\n\n/* A packet", "s->sojourn_ns = 0\n}\n\n/* A packet", "late.h:32:"),
    ("return qw_pass();\n	return", "return qw_pas();\n	return", "qw_pas"),
    ("#include \"qw.h\"", "#include \"qw.h\"\n#include \"mine.h\"", "and nothing else"),
    ("#include \"qw.h\"", "#include \"qw.h\"\n#include <stdint.h>", "and nothing else"),
    ("#include \"qw.h\"", "#include \"qw.h\"\n#include \"/dev/null\"", "it includes /dev/null"),
    ("#endif /* QW_LATE_H */", "#if 1\n#endif", "late.h:11"),
    (
        "return qw_mark_or_drop",
        "extern int over(void);\n	if (over()) return qw_pass();\n	return qw_mark_or_drop",
        "it calls over: it has no library",
    ),
    (
        "return qw_pass();\n	return",
        "{ static int n; if (n++) return qw_pass(); }\n	return",
        "it has variables of its own",
    ),
    ("struct qw_late {", "int drops;\nstruct qw_late {", "it has variables of its own"),
    // What is missing, or of another form.
    ("#define QW_LATE_PARAMS(P) ", "#define QW_LATE_PARAM(P) ", "QW_LATE_PARAMS(P) is missing"),
    ("qw_late_dequeue", "qw_late_deque", "qw_late_dequeue"),
    (
        "qw_late_idle(struct qw_late *s, const struct qw_late_params *p,",
        "qw_late_idle(struct qw_late *s,",
        "late.h:",
    ),
    ("static inline void qw_late_init", "static inline int qw_late_init", "late.h:33:"),
    ("struct qw_late_params {", "struct qw_late_parameters {", "qw_late_params"),
    (
        "QW_LATE_HELP(H) ",
        "QW_LATE_HELPS(H) ",
        "QW_LATE_HELP(H) is to have a line for each of QW_LATE_PARAMS(P)",
    ),
    (
        "N(\"sojourn\", \"ms\")",
        "N(\"sojourn\", \"ms\") N(\"other\", \"\")",
        "QW_LATE_PROBE_NAMES(N) is to have a line for each",
    ),
    ("#endif /* QW_LATE_H */", "#define QW_LATE_QUEUES 4\n#endif", "a file of your own has one queue"),
    ("qw_u64 sojourn_ns;", "qw_u64 sojourn_ns __attribute__((aligned(64)));", "aligned to 8 bytes at most"),
    ("qw_u64 sojourn_ns;", "qw_u64 sojourn_ns, table[1 << 24];", "at most 67108864 are allowed"),
    (
        STAMPS,
        "extern int puts(const char *); puts(\"x\"); s->sojourn_ns = now - k->enqueue_ns;",
        "it calls puts: it has no library",
    ),
    (
        "#define QW_LATE_ABOUT",
        "__attribute__((constructor)) static void begin(void) { __asm__(\"\"); }\n#define QW_LATE_ABOUT",
        "it has code that runs when it is loaded",
    ),
    (
        STAMPS,
        "static __attribute__((section(\"mine\"))) qw_u64 n = 1; s->sojourn_ns = now - k->enqueue_ns + n++;",
        "it has variables of its own",
    ),
    ("qw_u64 target_ns;", "qw_u32 target_ns;", "the field of target cannot hold the end of its range"),
    ("qw_u32 ecn;", "qw_u32 ecn : 1;", "bit-field"),
    // What is declared.
    ("QW_FLAG, 0", "QW_FLAG, 2", "2 is no default of a QW_FLAG; write 0 or 1"),
    ("P(\"ecn\"", "P(\"x_sha256\"", "\"x_sha256\" is there already"),
    ("N(\"sojourn\"", "N(\"drops\"", "time series have a \"drops\" of each queue"),
    ("H(\"target\"", "H(\"targets\"", "QW_LATE_HELP(H) has no line for \"target\""),
    ("H(\"target\", QW_TIME", "H(\"target\", 17", "17 is no kind; write QW_TIME"),
    ("H(\"target\", QW_TIME", "H(\"target\", QW_TIMES", "QW_TIMES"),
    ("20 * QW_NS_PER_MS", "20 * QW_NS_PER_SEC", "its default 20s is out of its range 0s .. 10s"),
    ("20 * QW_NS_PER_MS", "0.5", "0.5 is no default of this kind"),
    ("QW_FLAG, 0", "QW_SHARE, 2", "its default 2 is out of its range"),
    ("P(\"ecn\", ecn, 0, 0, 1)", "P(\"ecn\", ecn, 0, 0, 2)", "a QW_FLAG has the range 0, 1"),
    ("P(\"ecn\", ecn, 0, 0, 1)", "P(\"ecn\", ecn, 0, 1, 0)", "a range that holds nothing"),
    ("P(\"ecn\", ecn, 0, 0, 1)", "P(\"target\", ecn, 0, 0, 1)", "\"target\" is there already"),
    ("P(\"ecn\"", "P(\"Ecn\"", "\"Ecn\" is no name"),
    ("P(\"ecn\"", "P(\"label\"", "\"label\" is there already"),
    ("N(\"sojourn\"", "N(\"so journ\"", "\"so journ\" is no name"),
];

/// A line of the file, in which something else can be done, too.
const STAMPS: &str = "s->sojourn_ns = now - k->enqueue_ns;";

#[test]
fn each_mistake_is_one_clear_error() {
    let folder = folder("disciplines/mistakes");
    let work = folder.join("work");
    fs::create_dir(&work).expect("a folder");
    // SAFETY: a test is a process, and nothing else runs in it yet.
    unsafe { std::env::set_var("TMPDIR", &work) };
    each_is_one_clear_error(&late(), &folder.join("late.h"), MISTAKES, "--aqm[0] = ", |path| {
        runs(path).err()
    });
    let left = fs::read_dir(work).expect("it is there").flatten().map(|e| e.file_name());
    assert_eq!(left.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn what_is_no_such_file_is_refused() {
    let folder = folder("disciplines/refused");
    let path = folder.join("late.h");
    fs::write(&path, late()).expect("a file");
    let at = |name: &str| folder.join(name).display().to_string();
    let refused = |aqm: &str, why: &str| {
        let error = runs(aqm).expect_err(why);
        assert!(error.contains(why) && !error.contains('\n'), "{why}\n{error}");
    };
    refused("late.h", "write its folder, too: \"./late.h\"");
    refused("./none.h", "no such file");
    refused(&at("late.c"), "not a discipline");
    refused(&format!("{}:taget=5ms", at("late.h")), "did you mean \"target\"?");
    refused(&format!("{}:target=11s", at("late.h")), "out of range; allowed: 0s to 10s");
    refused(&format!("{}:ecn=2", at("late.h")), "neither true nor false");
    refused(&format!("{0},{0}", at("late.h")), "is there twice");
    for name in ["Late.h", "2late.h", "la te.h", ".h", &format!("{}.h", "l".repeat(33))] {
        fs::write(folder.join(name), late()).expect("a file");
        refused(&at(name), "not the name of a discipline");
    }
    for name in ["codel.h", "fq_codel.h", "qw.h", "dice.h", "own.h", "own-range.h", "check.h", "verdict.h"] {
        fs::write(folder.join(name), late()).expect("a file");
        refused(&at(name), "is there already; give your file another name");
    }
    fs::create_dir(folder.join("other")).expect("a folder");
    fs::write(folder.join("other/late.h"), late() + "\n").expect("a file");
    refused(&format!("{},{}:label=b", at("late.h"), at("other/late.h")), "two disciplines of one name");
    fs::create_dir(folder.join("folder.h")).expect("a folder");
    refused(&at("folder.h"), "a directory");
    fs::write(folder.join("large.h"), vec![b' '; (own::MAX_BYTES + 1) as usize]).expect("a file");
    refused(&at("large.h"), "not a header of your own");
    fs::write(folder.join("bytes.h"), [0xff]).expect("a file");
    refused(&at("bytes.h"), "not UTF-8 text");
    let fifo = Command::new("mkfifo").arg(folder.join("pipe.h")).status().expect("mkfifo");
    assert!(fifo.success());
    refused(&at("pipe.h"), "not a");
    std::os::unix::fs::symlink("/dev/zero", folder.join("zero.h")).expect("a link");
    refused(&at("zero.h"), "not a");
}

/// This test again in a process of its own, with another environment.
fn elsewhere(test: &str, set: &[(&str, &str)]) -> (bool, String) {
    let mut command = Command::new(std::env::current_exe().expect("own path"));
    command.args(["--exact", test, "--nocapture", "--ignored", "--test-threads=1"]);
    let said = command.envs(set.iter().copied()).output().expect("it runs");
    (
        said.status.success(),
        String::from_utf8_lossy(&said.stdout).into_owned() + &String::from_utf8_lossy(&said.stderr),
    )
}

/// What is asked below: the runs of the file that the environment names, and by whom.
#[test]
#[ignore = "a part of others, which run it with an environment"]
fn part() {
    let path = std::env::var("PART_FILE").expect("who runs it says it");
    let said = match std::env::var("PART_SCENARIO") {
        Err(_) => runs(&path),
        Ok(_) => Scenario::parse(&file(&format!("\"{path}\"")), "s.toml", Path::new("/"))
            .and_then(|s| s.runs())
            .map_err(|e| e.to_string()),
    };
    match said {
        Ok(runs) => println!("SAID {} runs", runs.len()),
        Err(e) => println!("SAID {e}"),
    }
}

#[test]
fn a_scenario_names_no_code_unless_it_is_let() {
    let folder = folder("disciplines/consent");
    let path = folder.join("late.h");
    fs::write(&path, late()).expect("a file");
    let path = path.display().to_string();
    let set = [("PART_FILE", &path[..]), ("PART_SCENARIO", "1"), (CONSENT, "0")];
    let (_, said) = elsewhere("disciplines::part", &set);
    assert!(said.contains("SAID s.toml:7: queue.disciplines[0] = "), "{said}");
    assert!(said.contains("if you trust it, set QUEUEWRIGHT_OWN=1"), "{said}");
    let (_, said) = elsewhere("disciplines::part", &[set[0], set[1], (CONSENT, "1")]);
    assert!(said.contains("SAID 1 runs"), "{said}");
    // Who names it on the command line has said so.
    let (_, said) = elsewhere("disciplines::part", &[set[0], set[2]]);
    assert!(said.contains("SAID 1 runs"), "{said}");
}

#[test]
fn without_a_compiler_it_says_what_to_install() {
    let folder = folder("disciplines/compiler");
    let path = folder.join("late.h");
    fs::write(&path, late()).expect("a file");
    let cache = folder.join("cache").display().to_string();
    let path = path.display().to_string();
    let set = [("PART_FILE", &path[..]), ("XDG_CACHE_HOME", &cache[..])];
    for (name, value) in [("CC", "/nonexistent"), ("PATH", "/nonexistent")] {
        let (_, said) = elsewhere("disciplines::part", &[set[0], set[1], (name, value)]);
        assert!(said.contains("a C compiler is needed") && said.contains("apt install gcc"), "{said}");
    }
    let (_, said) = elsewhere("disciplines::part", &[set[0], set[1], ("CC", "false")]);
    assert!(said.contains("false --version fails: it is no C compiler"), "{said}");
}

/// What has been compiled, and how often: `cc` here counts.
#[test]
fn what_is_compiled_is_kept_for_its_user_alone() {
    let folder = folder("disciplines/kept");
    let path = folder.join("late.h");
    fs::write(&path, late()).expect("a file");
    let (cc, count) = (folder.join("cc"), folder.join("count"));
    let script = format!(
        "#!/bin/sh\ncase $1 in --version) ;; *) echo once >> {} ;; esac\nexec cc \"$@\"\n",
        count.display()
    );
    fs::write(&cc, script).expect("a file");
    fs::set_permissions(&cc, fs::Permissions::from_mode(0o755)).expect("its mode");
    let shown = |path: &Path| path.display().to_string();
    let (path, cc) = (shown(&path), shown(&cc));
    let compiled = |cache: &Path| {
        let _ = fs::remove_file(&count);
        let (_, said) = elsewhere(
            "disciplines::part",
            &[("PART_FILE", &path), ("CC", &cc), ("XDG_CACHE_HOME", &shown(cache))],
        );
        assert!(said.contains("SAID 1 runs"), "{said}");
        fs::read_to_string(&count).map_or(0, |text| text.lines().count())
    };
    let cache = folder.join("cache");
    let own = cache.join("queuewright/own");
    assert_eq!(compiled(&cache), 1);
    assert_eq!(compiled(&cache), 0, "the second time it is there");
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(&own), 0o700);
    let kept: Vec<PathBuf> = fs::read_dir(&own).expect("a folder").flatten().map(|e| e.path()).collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert!(kept[0].extension().is_some_and(|e| e == "so") && mode(&kept[0]) == 0o600, "{kept:?}");
    // A file that others can write to, or that is no whole one.
    fs::set_permissions(&kept[0], fs::Permissions::from_mode(0o666)).expect("its mode");
    assert_eq!(compiled(&cache), 1);
    assert_eq!((mode(&kept[0]), compiled(&cache)), (0o600, 0));
    fs::write(&kept[0], "rubbish").expect("it is ours");
    assert_eq!((compiled(&cache), compiled(&cache)), (1, 0));
    let whole = fs::read(&kept[0]).expect("it is ours");
    fs::write(&kept[0], &whole[..6000]).expect("it is ours");
    assert_eq!((compiled(&cache), compiled(&cache)), (1, 0));
    fs::remove_file(&kept[0]).expect("it is ours");
    std::os::unix::fs::symlink("/dev/null", &kept[0]).expect("a link");
    assert_eq!((compiled(&cache), compiled(&cache)), (1, 0));
    // A folder that others can read or write to is not used, and is left as it is.
    for mode in [0o777, 0o755] {
        fs::set_permissions(&own, fs::Permissions::from_mode(mode)).expect("its mode");
        assert_eq!((compiled(&cache), compiled(&cache)), (1, 1));
        assert_eq!(fs::read_dir(&own).expect("a folder").count(), 1);
    }
    // Nor one behind a link.
    let linked = folder.join("linked");
    fs::create_dir_all(linked.join("queuewright")).expect("a folder");
    fs::set_permissions(&own, fs::Permissions::from_mode(0o700)).expect("its mode");
    std::os::unix::fs::symlink(&own, linked.join("queuewright/own")).expect("a link");
    assert_eq!((compiled(&linked), compiled(&linked)), (1, 1));
    // Nor one that cannot be.
    assert_eq!((compiled(Path::new("/proc/none")), compiled(Path::new("/proc/none"))), (1, 1));
    // The text, the name and the compiler's own words are what decides.
    fs::write(&path, late() + "\n").expect("a file");
    assert_eq!((compiled(&cache), compiled(&cache)), (1, 0));
}

#[test]
fn many_at_once_have_the_same() {
    let folder = folder("disciplines/many");
    let path = folder.join("late.h");
    fs::write(&path, late()).expect("a file");
    let (path, cache) = (path.display().to_string(), folder.join("cache").display().to_string());
    let set = [("PART_FILE", &path[..]), ("XDG_CACHE_HOME", &cache[..])];
    std::thread::scope(|all| {
        for _ in 0..4 {
            all.spawn(|| {
                let (_, said) = elsewhere("disciplines::part", &set);
                assert!(said.contains("SAID 1 runs"), "{said}");
            });
        }
        for _ in 0..4 {
            all.spawn(|| assert_eq!(runs(&path).expect("it is read").len(), 1));
        }
    });
    let kept = fs::read_dir(Path::new(&cache).join("queuewright/own")).expect("a folder").flatten();
    let names: Vec<_> = kept.map(|e| e.file_name()).collect();
    assert_eq!(names.len(), 1, "{names:?}");
}

/// The page's example is a whole one.
#[test]
fn the_page_s_example_works() {
    let folder = folder("disciplines/page");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/own.md");
    let page = fs::read_to_string(page).expect("the page");
    let (_, rest) = page.split_once("```c\n").expect("an example");
    let (text, _) = rest.split_once("```").expect("its end");
    let path = folder.join("late.h");
    fs::write(&path, text).expect("a file");
    assert_eq!(runs(&format!("{}:target=5ms", path.display())).expect("it is one").len(), 1);
}
