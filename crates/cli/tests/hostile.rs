//! What a hostile or unlucky user gives the program: it ends, with the right exit code and one clear line, in little memory, and leaves no
//! half of a file.

use std::fs;
use std::io::Read;
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
    let many = "more than 100000 keys, values and brackets";
    let texts = [
        ("dots", fill(&|i| format!("a{i}.b.c.d.e.f.g.h = 1\n"), MOST)),
        ("keys", fill(&|i| format!("a{i} = 1\n"), MOST)),
        ("list", format!("a = [{}]", fill(&|_| "1,".into(), MOST))),
        ("part", format!("a{} = 1", fill(&|_| ".b".into(), MOST))),
        ("deep", fill(&|_| "[".into(), MOST)),
        ("tables", fill(&|_| "[[x]]\n".into(), MOST)),
    ];
    for (name, text) in &texts {
        fs::write(dir.path().join("large.toml"), text).expect("large.toml");
        println!("{name}");
        refused(&mut queuewright(dir.path(), &["check", "large.toml"]), many);
        // As an experiment's.
        fs::create_dir_all(dir.path().join("own")).expect("own");
        fs::write(dir.path().join("own/a.figure.toml"), text).expect("a.figure.toml");
        fs::write(dir.path().join("own/a.toml"), HOME).expect("a.toml");
        refused(&mut queuewright(dir.path(), &["reproduce", "own"]), many);
    }
    // A policy of so many keys that to look for each among all others took minutes; and one word of 60 MB.
    let policy = format!("{{{}\"z\":0}}", fill(&|i| format!("\"a{i}\":0,"), 3_900_000));
    fs::write(dir.path().join("policy.json"), policy).expect("policy.json");
    refused(
        &mut queuewright(dir.path(), &["run", "home.toml", "--aqm", "queuepilot:weights=policy.json"]),
        "",
    );
    fs::write(dir.path().join("flows.csv"), "x".repeat(60_000_000)).expect("flows.csv");
    let flows = HOME.replace("cca = \"cubic\"", "cca = \"cubic\"\nsizes = \"flows.csv\"\narrivals = \"1/s\"");
    fs::write(dir.path().join("flows.toml"), flows).expect("flows.toml");
    let ended = end(queuewright(dir.path(), &["check", "flows.toml"]).stdout(Stdio::piped()));
    assert!(ended.code == 2 && ended.err.lines().count() == 1, "{ended:?}");
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

/// All files below a folder.
fn walk(dir: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for entry in fs::read_dir(dir).expect("a folder") {
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
