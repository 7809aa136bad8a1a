//! The commands about attached disciplines on a machine that others use too: devices that are renamed, moved and oddly
//! named, namespaces that go, what somebody else takes away by half, and an unprivileged user who puts things in the way.
//! On this machine itself, in a network namespace of its own with its own `/run` and `/sys/fs/bpf`; the latter is as
//! `mount -t bpf` makes it, with a folder that everybody may write into. `-- NAME` does one of them.

#[path = "../../linux/tests/held/mod.rs"]
mod held;
#[path = "../../linux/tests/native/mod.rs"]
mod native;

use held::held;
use queuewright_linux as linux;
use queuewright_scenario::Scenario;
use queuewright_sim::{Arrival, LoneQueue};
use queuewright_testing::{Lack, left_out, only_test, wait_for};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const TOOLS: &str = "/usr/sbin:/sbin:/usr/bin:/bin";
/// The user `nobody`.
const NOBODY: u32 = 65534;

fn main() {
    let Some(only) = only_test("attached") else { return };
    if linux::names().is_empty() {
        return left_out("attached disciplines", Lack::Setup, &"this program was built without clang");
    }
    if let Err(why) = native::enter() {
        return left_out("attached disciplines", Lack::Setup, &why);
    }
    let before = held();
    let tests: [(&str, fn()); 37] = [
        ("planted", planted),
        ("mounted_anew", mounted_anew),
        ("held_by_a_stranger", held_by_a_stranger),
        ("says_who_is_at_work", says_who_is_at_work),
        ("set_beside_another_kind", set_beside_another_kind),
        ("loses_its_keeper", loses_its_keeper),
        ("loses_its_agent", loses_its_agent),
        ("left_behind", left_behind),
        ("stolen_tools", stolen_tools),
        ("says_what_to_install", says_what_to_install),
        ("renamed", renamed),
        ("moved", moved),
        ("a_namespace_goes", a_namespace_goes),
        ("a_file_server_is_silent", a_file_server_is_silent),
        ("anothers_record", anothers_record),
        ("broken_records", broken_records),
        ("lacks_a_part", lacks_a_part),
        ("splits_packets", splits_packets),
        ("both_directions", both_directions),
        ("polices", polices),
        ("polices_as_the_simulator", polices_as_the_simulator),
        ("over_and_over", over_and_over),
        ("taken_off", taken_off),
        ("odd_names", odd_names),
        ("not_utf8", not_utf8),
        ("bounds", bounds),
        ("weights_stay", weights_stay),
        ("own_files", own_files),
        ("counts_its_own_queues", counts_its_own_queues),
        ("nobody_may", nobody_may),
        ("exported", exported),
        ("shown_in_a_page", shown_in_a_page),
        ("short_of_files", short_of_files),
        ("puts_back", puts_back),
        ("attached_by_another_since", attached_by_another_since),
        ("refused", refused),
        ("its_name_is_anothers", its_name_is_anothers),
    ];
    for (name, test) in
        tests.into_iter().filter(|(name, _)| only.is_empty() || only.iter().any(|o| o == name))
    {
        tool("ip", &["link", "add", "v0", "type", "veth", "peer", "name", "v1"]);
        test();
        let _ = Command::new("/usr/sbin/ip").args(["link", "del", "v1"]).output();
        wait_for(&format!("the kernel to let go of all that {name} had"), || {
            held().new_since(&before).is_none()
        });
        let left = left_in("/run/queuewright");
        assert!(left.is_empty(), "{name} leaves {left:?}");
        println!("{name} ... ok");
    }
}

fn tool(program: &str, words: &[&str]) -> String {
    tool_os(program, &words.iter().map(OsStr::new).collect::<Vec<_>>())
}

fn tool_os(program: &str, words: &[&OsStr]) -> String {
    let done = Command::new(program).args(words).env("PATH", TOOLS).output().expect("it runs");
    assert!(done.status.success(), "{program} {words:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// This program.
fn queuewright(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_queuewright"));
    command.args(words).stdin(Stdio::null()).current_dir("/");
    command
}

/// What it says, both ways, and its exit code.
fn said(command: &mut Command) -> (i32, String) {
    let Output { status, stdout, stderr } = command.output().expect("it runs");
    let text = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "for a terminal to obey: {text:?}");
    (status.code().unwrap_or(-1), text)
}

#[track_caller]
fn works(words: &[&str]) -> String {
    let (code, text) = said(&mut queuewright(words));
    assert_eq!(code, 0, "{words:?}: {text}");
    text
}

/// With the rights of `queuewright@.service`, and no more of root's.
fn few_rights(words: &[&str]) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set", "-all,+net_admin,+bpf,+perfmon", env!("CARGO_BIN_EXE_queuewright")]);
    command.args(words).stdin(Stdio::null()).current_dir("/");
    command
}

/// It ends with this code, and says all of this.
#[track_caller]
fn fails(words: &[&str], code: i32, what: &[&str]) -> String {
    let (found, text) = said(&mut queuewright(words));
    assert_eq!(found, code, "{words:?}: {text}");
    for what in what {
        assert!(text.contains(what), "{words:?} was to say {what:?}: {text}");
    }
    text
}

/// What is in a folder, but for the file that is locked, which stays.
fn left_in(at: impl AsRef<Path>) -> Vec<OsString> {
    let names = fs::read_dir(at).into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.filter(|name| name != "lock").collect()
}

/// A process of a test's, which ends with it.
struct Running(Child);

impl Running {
    fn begin(command: &mut Command) -> Running {
        // SAFETY: one system call between fork and exec.
        unsafe {
            command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            });
        }
        Running(command.stdin(Stdio::null()).spawn().expect("it runs"))
    }

    fn ends(&mut self, what: &str) -> i32 {
        let mut status = None;
        wait_for(what, || {
            status = self.0.try_wait().expect("a child");
            status.is_some()
        });
        status.and_then(|s| s.code()).unwrap_or(-1)
    }

    /// Stops it where it is; `continues` has it go on.
    fn stops(&self) {
        self.signal(libc::SIGSTOP);
        let stat = format!("/proc/{}/stat", self.0.id());
        wait_for("it to stand still", || fs::read_to_string(&stat).expect("a child").contains(") T "));
    }

    fn signal(&self, signal: i32) {
        // SAFETY: a child of ours.
        assert_eq!(unsafe { libc::kill(self.0.id() as i32, signal) }, 0);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Somebody who has locked a file or folder, and is called `sleep infinity` by then.
fn holder(at: &str, user: u32) -> Running {
    let mut command = Command::new("flock");
    command.args(["--no-fork", at, "sleep", "infinity"]).uid(user).gid(user).env("PATH", TOOLS);
    let mut running = Running::begin(&mut command);
    let words = format!("/proc/{}/cmdline", running.0.id());
    wait_for("the lock to be taken, and flock to be sleep", || {
        assert_eq!(running.0.try_wait().expect("a child"), None, "flock ended");
        let file = fs::File::open(at).expect("it is there");
        // SAFETY: an open file; the lock goes with it.
        let taken = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) != 0 };
        taken && fs::read(&words).is_ok_and(|words| words == b"sleep\0infinity\0")
    });
    running
}

/// Begins a command that has to wait for another; its first line on standard error, which says so.
fn waits(words: &[&str]) -> (Running, String) {
    let mut running = Running::begin(queuewright(words).stdout(Stdio::null()).stderr(Stdio::piped()));
    let mut line = String::new();
    let mut said = BufReader::new(running.0.stderr.take().expect("a pipe"));
    said.read_line(&mut line).expect("a line");
    // What else it says has a reader.
    std::thread::spawn(move || io::copy(&mut said, &mut io::sink()));
    (running, line)
}

/// The parameters that the qdisc of the only attached device has.
fn params() -> Vec<u8> {
    let pins = fs::read_dir("/sys/fs/bpf/queuewright").expect("made").flatten().next().expect("one");
    let map = libbpf_rs::MapHandle::from_pinned_path(pins.path().join("params")).expect("pinned");
    let found = libbpf_rs::MapCore::lookup(&map, &[0; 4], libbpf_rs::MapFlags::ANY).expect("root may");
    found.expect("it has one")
}

/// The processes of this program with these last words.
fn processes(last: &[u8]) -> Vec<i32> {
    let all = fs::read_dir("/proc").expect("there").flatten();
    let is_one = |p: &fs::DirEntry| fs::read(p.path().join("cmdline")).is_ok_and(|w| w.ends_with(last));
    all.filter(is_one).filter_map(|p| p.file_name().to_str()?.parse().ok()).collect()
}

fn kill(pid: i32) {
    // SAFETY: a process that this test has had started.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGKILL) }, 0);
}

fn attach(dev: &str) {
    works(&["attach", dev, "codel", "--rate", "20mbit", "--limit", "100p", "--front"]);
}

fn root(dev: &str) -> String {
    tool("tc", &["qdisc", "show", "dev", dev])
}

/// Somebody without rights does something.
fn nobody(program: &str, words: &[&str]) {
    let mut command = Command::new(program);
    command.args(words).uid(NOBODY).gid(NOBODY).current_dir("/").env("PATH", TOOLS);
    let done = command.output().expect("it runs");
    assert!(done.status.success(), "{program} {words:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// A folder that anybody may enter.
fn open_folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).expect("ours");
    dir
}

/// Folders, links and other files of somebody else's where ours are to be: refused, nothing followed and nothing removed.
fn planted() {
    let dir = open_folder();
    let victim = dir.path().join("victim");
    fs::create_dir(&victim).expect("made");
    fs::write(victim.join("params"), "precious").expect("made");
    let target = victim.to_str().expect("UTF-8");
    for at in ["/sys/fs/bpf/queuewright", "/run/queuewright"] {
        let _ = fs::remove_dir(at);
        let ways: [(&str, &[&str], &str); 4] = [
            ("mkdir", &["-m", "777", at], "belongs to user 65534"),
            ("ln", &["-s", target, at], "is a link or a file"),
            ("mkfifo", &[at], "is a link or a file"),
            ("touch", &[at], "is a link or a file"),
        ];
        for (program, words, what) in ways {
            // The BPF file system has folders and links alone.
            if at.starts_with("/sys") && ["mkfifo", "touch"].contains(&program) {
                continue;
            }
            nobody(program, words);
            fails(
                &["attach", "v0", "codel", "--rate", "20mbit", "--front"],
                1,
                &[at, what, "remove it", "and try again"],
            );
            assert!(!root("v0").contains("htb"), "{}", root("v0"));
            let _ = said(&mut queuewright(&["detach", "v0"]));
            let _ = said(&mut queuewright(&["doctor", "--repair", "--yes"]));
            assert_eq!(fs::read_to_string(victim.join("params")).expect("it is there"), "precious");
            let there = fs::symlink_metadata(at).expect("it is there still");
            match there.is_dir() {
                true => fs::remove_dir(at).expect("root may"),
                false => fs::remove_file(at).expect("root may"),
            }
        }
    }
    // The folder in which they are is everybody's, without the sticky bit.
    fs::set_permissions("/sys/fs/bpf", fs::Permissions::from_mode(0o777)).expect("root may");
    fails(
        &["attach", "v0", "codel", "--rate", "20mbit", "--front"],
        1,
        &["can be changed by others", "chmod go-w"],
    );
    fs::set_permissions("/sys/fs/bpf", fs::Permissions::from_mode(0o1777)).expect("root may");

    // What is there already is not opened to others, and links in it are not followed.
    attach("v0");
    let pins = fs::read_dir("/sys/fs/bpf/queuewright").expect("made").flatten().next().expect("one").path();
    for path in [Path::new("/run/queuewright"), Path::new("/sys/fs/bpf/queuewright"), &pins] {
        assert_eq!(fs::metadata(path).expect("there").permissions().mode() & 0o7777, 0o700, "{path:?}");
    }
    fs::remove_file(pins.join("stats")).expect("root may");
    symlink(&victim, pins.join("companion")).expect("root may");
    works(&["detach", "v0"]);
    assert_eq!(fs::read_dir(&victim).expect("there").count(), 1, "a link was followed");
    assert!(!pins.exists());
}

/// The BPF file system is mounted anew, and open to all: what somebody puts there under our names is not opened.
fn mounted_anew() {
    works(&["attach", "v0", "santa", "--rate", "20mbit", "--front"]);
    let record = linux::record("v0").expect("attached");
    let pins = format!("/sys/fs/bpf/queuewright/{}:{}", record.namespace, record.index);
    tool("mount", &["-t", "bpf", "bpf", "/sys/fs/bpf"]);
    let dir = open_folder();
    let fifo = dir.path().join("fifo");
    let fifo = fifo.to_str().expect("UTF-8");
    nobody("mkfifo", &[fifo]);
    nobody("mkdir", &["/sys/fs/bpf/queuewright"]);
    nobody("ln", &["-s", fifo, &pins]);
    let attach = ["attach", "v0", "santa", "--rate", "20mbit", "--front"];
    for words in [&["doctor"][..], &["doctor", "--repair", "--yes"], &["detach", "v0"], &attach] {
        let mut command = Running::begin(queuewright(words).stdout(Stdio::null()).stderr(Stdio::null()));
        assert_eq!(command.ends("a command beside a FIFO"), 1, "{words:?}");
    }
    fails(&["doctor", "--repair", "--yes"], 1, &["/sys/fs/bpf/queuewright belongs to user 65534"]);
    tool("umount", &["/sys/fs/bpf"]);
    works(&["detach", "v0"]);
}

/// Who had the folder open before it was closed to him keeps nobody waiting.
fn held_by_a_stranger() {
    let at = "/run/queuewright";
    fs::create_dir_all(at).expect("root may");
    fs::set_permissions(at, fs::Permissions::from_mode(0o755)).expect("root may");
    let _stranger = holder(at, NOBODY);
    let words = ["attach", "v0", "codel", "--rate", "20mbit", "--front"];
    let mut command = queuewright(&words);
    let mut attach = Running::begin(command.stdout(Stdio::null()));
    assert_eq!(attach.ends("the end of attach beside a stranger's lock"), 0);
    // Nor can he have the file that is locked, made beforehand by him or open to him.
    let lock = Path::new(at).join("lock");
    assert_eq!(fs::metadata(&lock).expect("there").permissions().mode() & 0o7777, 0o600);
    fs::set_permissions(&lock, fs::Permissions::from_mode(0o644)).expect("root may");
    fails(&["set", "v0", "rate=9mbit"], 1, &["/run/queuewright/lock", "rm /run/queuewright/lock"]);
    fs::remove_file(&lock).expect("root may");
    symlink("/etc/passwd", &lock).expect("root may");
    fails(&["set", "v0", "rate=9mbit"], 1, &["/run/queuewright/lock", "rm /run/queuewright/lock"]);
    fs::remove_file(&lock).expect("root may");
    works(&["detach", "v0"]);
}

/// Who waits says once for whom.
fn says_who_is_at_work() {
    attach("v0");
    let other = holder("/run/queuewright/lock", 0);
    let (mut set, said) = waits(&["set", "v0", "rate=9mbit"]);
    assert!(said.contains(&format!("process {} (sleep infinity)", other.0.id())), "{said}");
    // Who only looks does not wait.
    assert!(works(&["status", "v0"]).contains("20mbit"));
    drop(other);
    assert_eq!(set.ends("set to go on"), 0);
    assert!(works(&["status", "v0"]).contains("9mbit"));
    works(&["detach", "v0"]);
}

/// Another command puts another discipline there while a `set` waits for it.
fn set_beside_another_kind() {
    for (change, code) in [("interval=50ms", 2), ("rate=9mbit", 0)] {
        attach("v0");
        let other = holder("/run/queuewright/lock", 0);
        let (mut set, _) = waits(&["set", "v0", change]);
        set.stops();
        drop(other);
        works(&["detach", "v0"]);
        works(&["attach", "v0", "pie", "--rate", "20mbit", "--limit", "100p", "--front"]);
        let before = params();
        set.signal(libc::SIGCONT);
        assert_eq!(set.ends("set to go on"), code, "{change}");
        let text = works(&["status", "v0"]);
        assert!(text.contains("(pie)") && !text.contains("missing"), "{text}");
        assert_eq!(text.contains("9mbit"), code == 0, "{text}");
        assert!(params() == before, "{change}: other parameters");
        works(&["detach", "v0"]);
    }
    // The same of who has read the record itself.
    attach("v0");
    let record = linux::record("v0").expect("attached");
    let codel = queuewright_aqm::Spec::new(queuewright_aqm::find("codel").expect("known"));
    works(&["detach", "v0"]);
    works(&["attach", "v0", "pie", "--rate", "20mbit", "--limit", "100p", "--front"]);
    let before = params();
    let done = linux::set(&record, &codel, "codel", false, |p| p.rate = 9_000_000);
    assert!(done.is_err_and(|e| e.to_string().contains("try again")), "the old one's parameters");
    assert!(params() == before && works(&["status", "v0"]).contains("20mbit"));
    works(&["detach", "v0"]);
}

/// The process that tells htb the shares is killed.
fn loses_its_keeper() {
    let keepers = || processes(b"keep\0--\0v0\0");
    works(&["attach", "v0", "santa", "--rate", "20mbit", "--front"]);
    wait_for("the keeper", || keepers().len() == 1);
    assert!(!works(&["status", "v0"]).contains("missing"));
    works(&["set", "v0", "rate=10mbit"]);
    fails(&["keep", "v0"], 2, &["v0 has a keeper already"]);
    kill(keepers()[0]);
    wait_for("its end", || keepers().is_empty());
    let text = works(&["status", "v0"]);
    assert!(text.contains("queuewright keep") && text.contains(": queuewright doctor --repair"), "{text}");
    fails(&["set", "v0", "rate=9mbit"], 1, &["queuewright keep", "queuewright doctor --repair"]);
    let text = works(&["doctor", "--repair", "--yes"]);
    assert!(text.contains("queuewright keep") && text.contains("repaired"), "{text}");
    wait_for("a new keeper", || keepers().len() == 1);
    assert!(!works(&["status", "v0"]).contains("missing"));
    works(&["set", "v0", "rate=9mbit"]);
    works(&["detach", "v0"]);
    wait_for("the keeper's end", || keepers().is_empty());
}

/// An agent is killed: the action that it had chosen last would hold for ever.
fn loses_its_agent() {
    let attached = ["attach", "v0", "queuepilot", "--rate", "20mbit", "--front"];
    for (mend, rate) in [
        (&["doctor", "--repair", "--yes"][..], "20mbit"),
        (&["set", "v0", "rate=9mbit"], "9mbit"),
        (&["detach", "v0"], ""),
    ] {
        works(&attached);
        let before = params();
        let agent = Running::begin(queuewright(&["agent", "v0", "queuepilot"]).stdout(Stdio::null()));
        wait_for("the agent", || params() != before);
        let text = works(&["status", "v0"]);
        assert!(!text.contains("missing"), "{text}");
        drop(agent);
        assert!(params() != before);
        let text = works(&["status", "v0"]);
        assert!(text.contains("agent") && text.contains(": queuewright doctor --repair"), "{text}");
        works(mend);
        if !rate.is_empty() {
            let text = works(&["status", "v0"]);
            assert!(!text.contains("missing") && text.contains(rate), "{mend:?}: {text}");
            let mended = params();
            works(&["detach", "v0"]);
            // As if it had been attached so: a policy counts by its link's rate.
            works(&["attach", "v0", "queuepilot", "--rate", rate, "--front"]);
            assert!(params() == mended, "{mend:?} leaves an action");
            works(&["detach", "v0"]);
        }
    }
    // One that is told to end leaves nothing, whatever was set beside it.
    works(&attached);
    let before = params();
    let mut agent = Running::begin(queuewright(&["agent", "v0", "queuepilot"]).stdout(Stdio::null()));
    wait_for("the agent", || params() != before);
    works(&["set", "v0", "rate=9mbit"]);
    agent.signal(libc::SIGINT);
    assert_eq!(agent.ends("the agent's end"), 0);
    assert!(params() == before);
    let text = works(&["status", "v0"]);
    assert!(!text.contains("missing") && text.contains("9mbit"), "{text}");
    works(&["detach", "v0"]);
}

/// What no record is about is listed and removed, and nothing else.
fn left_behind() {
    attach("v0");
    works(&["attach", "v1", "pie", "--rate", "20mbit", "--front"]);
    let run = Path::new("/run/queuewright");
    let pins = Path::new("/sys/fs/bpf/queuewright");
    let lost = linux::record("v1").expect("attached");
    let lost = format!("{}:{}", lost.namespace, lost.index);
    // Its record is lost; its pins are not, one of which is somebody else's.
    fs::remove_file(run.join(format!("{lost}.json"))).expect("root may");
    tool("tc", &["qdisc", "del", "dev", "v1", "root"]);
    fs::create_dir(pins.join(&lost).join("theirs")).expect("root may");
    // Names that are no text, and what their bytes would be as text.
    let odd = [OsStr::from_bytes(b"\xff\x1b.json"), OsStr::new("\u{fffd}\u{1b}.json")];
    for name in odd.iter().chain(&[OsStr::new("1:2.new")]) {
        fs::write(run.join(name), "{").expect("root may");
    }
    fs::create_dir(pins.join(OsStr::from_bytes(b"9\xff"))).expect("root may");
    fs::write("/run/theirs.json", "{").expect("root may");

    let (code, text) = said(&mut queuewright(&["doctor", "--repair"]));
    assert!(code == 1 && text.contains("nothing was changed"), "{text}");
    for what in [&*lost, "\\xff", "1:2.new", "9\\xff", "not of this program"] {
        assert!(text.contains(what), "{what}: {text}");
    }
    assert!(!text.contains("codel"), "{text}");
    assert!(run.join(odd[0]).exists());
    let (code, text) = said(&mut queuewright(&["doctor", "--repair", "--yes"]));
    assert!(code == 1 && text.contains(&lost) && text.contains("cannot be mended"), "{text}");
    let kept = linux::record("v0").expect("attached");
    let kept = format!("{}:{}", kept.namespace, kept.index);
    // Names that this program does not give are others'.
    for name in odd {
        fs::remove_file(run.join(name)).expect("it is there still");
    }
    fs::remove_dir(pins.join(OsStr::from_bytes(b"9\xff"))).expect("it is there still");
    assert_eq!(left_in(run), [OsStr::new(&format!("{kept}.json"))]);
    assert_eq!(left_in(pins.join(&lost)), [OsStr::new("theirs")]);
    assert!(Path::new("/run/theirs.json").exists() && pins.join(&kept).join("params").exists());
    fs::remove_dir(pins.join(&lost).join("theirs")).expect("root may");
    // What comes after the list that was accepted stays.
    let mut asking = queuewright(&["doctor", "--repair"]);
    let mut asking =
        asking.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it runs");
    let (mut told, mut byte) = (Vec::new(), [0]);
    let mut from = asking.stdout.take().expect("a pipe");
    while !told.ends_with(b"[y/N] ") {
        from.read_exact(&mut byte).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&told)));
        told.extend(byte);
    }
    let late = pins.join("1:3");
    fs::create_dir(&late).expect("root may");
    asking.stdin.take().expect("a pipe").write_all(b"y\n").expect("it reads");
    let done = asking.wait_with_output().expect("it ends");
    assert_eq!(done.status.code(), Some(1));
    assert!(late.exists() && !pins.join(&lost).exists());
    assert!(works(&["doctor", "--repair", "--yes"]).contains("repaired"));
    assert_eq!(left_in(pins), [OsStr::new(&kept)]);
    let text = works(&["status", "v0"]);
    assert!(text.starts_with("v0: htb") && !text.contains("missing"), "{text}");
    works(&["detach", "v0"]);
    fs::remove_file("/run/theirs.json").expect("root may");
}

/// Where tc and the kernel module are not there it is said what brings them: a package that the lab's setup knows, and a goal of
/// the Makefile, which here only says what it would do.
fn says_what_to_install() {
    let bin = env!("CARGO_BIN_EXE_queuewright");
    let script = format!(
        "for at in /usr/sbin /sbin /sys/module /lib/modules; do \
         [ -L $at ] || [ ! -d $at ] || mount -t tmpfs none $at || exit 9; done; exec {bin} doctor v0"
    );
    let (code, text) = said(Command::new("unshare").args(["--mount", "sh", "-c", &script]));
    assert_eq!(code, 1, "{text}");
    let advice = |before: &str| {
        let line = text.lines().find_map(|line| line.split_once(before));
        line.unwrap_or_else(|| panic!("no {before:?} in {text}")).1.to_string()
    };
    let package = advice("tc -V: No such file or directory (os error 2); install ");
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let setup = fs::read_to_string(format!("{root}/scripts/setup-lab")).expect("scripts/setup-lab");
    let installs =
        setup.lines().find(|line| line.contains("apt-get install ")).expect("it installs packages");
    assert!(installs.split(' ').any(|word| word == package), "no {package} in {installs}");
    let make = advice("as a qdisc for tc, below htb too: ");
    let mut words = make.split(' ');
    let text =
        tool(words.next().expect("make"), &[&["-n", "-C", root][..], &words.collect::<Vec<_>>()].concat());
    assert!(text.contains("sudo install -Dm644 -t /usr/src/queuewright-"), "{make}: {text}");
}

/// A working folder, a search path and an environment of somebody else's.
fn stolen_tools() {
    let dir = open_folder();
    let mark = dir.path().join("mark");
    for name in ["tc", "ip", "ethtool", "bpftool"] {
        let path = dir.path().join(name);
        fs::write(&path, format!("#!/bin/sh\necho {name} >> {}\n", mark.display())).expect("made");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("ours");
    }
    let path = dir.path().to_str().expect("UTF-8");
    for words in [
        &["attach", "v0", "codel", "--rate", "20mbit", "--front"][..],
        &["status", "v0"],
        &["set", "v0", "rate=9mbit"],
        &["doctor", "v0"],
        &["doctor", "--repair", "--yes"],
        &["detach", "v0"],
    ] {
        let mut command = queuewright(words);
        command.current_dir(path).env("PATH", path).env("TC_LIB_DIR", path).env("LC_ALL", "tr_TR.UTF-8");
        command.env("IFS", "/").env("LD_BIND_NOW", "1").env("HOME", path).env("COLUMNS", "1");
        let (code, text) = said(&mut command);
        assert_eq!(code, 0, "{words:?}: {text}");
    }
    // The process that it leaves is of the very file, whatever that is called and whoever else is called so.
    let program = dir.path().join("program");
    fs::copy(env!("CARGO_BIN_EXE_queuewright"), &program).expect("copied");
    fs::copy(dir.path().join("tc"), dir.path().join("qw")).expect("copied");
    let mut command = Command::new(&program);
    command.arg0("qw").args(["attach", "v0", "santa", "--rate", "20mbit", "--front"]).env("PATH", path);
    assert_eq!(said(command.stdin(Stdio::null())).0, 0);
    let keepers = || processes(b"keep\0--\0v0\0").len();
    wait_for("the keeper", || keepers() == 1 || mark.exists());
    works(&["detach", "v0"]);
    wait_for("the keeper's end", || keepers() == 0);
    assert!(!mark.exists(), "root ran {}", fs::read_to_string(&mark).unwrap_or_default());
}

/// Where tc cannot be asked nothing is taken for gone.
fn short_of_files() {
    attach("v0");
    let bin = env!("CARGO_BIN_EXE_queuewright");
    for few in 5..14 {
        let words = format!("ulimit -n {few} && exec {bin} detach v0");
        let (code, text) = said(Command::new("sh").args(["-c", &words]).stdin(Stdio::null()));
        assert!(!text.contains("gone already"), "{few}: {text}");
        if code == 0 {
            assert!(!root("v0").contains("htb"), "{few}: {text} {}", root("v0"));
            return;
        }
        assert!(root("v0").contains("htb") && works(&["status"]).starts_with("v0: htb"), "{few}: {text}");
    }
    works(&["detach", "v0"]);
}

/// What tc shows of a qdisc is not always what it reads.
fn puts_back() {
    // Those that this kernel has.
    let has = |qdisc: &str| {
        let words = format!("qdisc replace dev v0 root handle 8001: {qdisc}");
        let done = Command::new("/usr/sbin/tc").args(words.split(' ')).output();
        done.is_ok_and(|done| done.status.success())
    };
    for before in [
        "pfifo_fast",
        "pfifo limit 77",
        "bfifo limit 30000",
        "prio bands 4",
        "codel target 7ms ecn",
        "fq_codel limit 700 flows 256 quantum 300 ce_threshold 1ms",
        "fq limit 77 flow_limit 9 maxrate 5mbit",
        "pie limit 77 target 9ms ecn bytemode",
        "sfq perturb 10 depth 50",
        "tbf rate 3mbit burst 5kb latency 50ms",
        "cake bandwidth 7mbit besteffort flowblind rtt 50ms",
        "hhf limit 77",
        "ets bands 3 strict 1 quanta 3000 2000",
        "htb default 10 r2q 20",
        "drr",
    ] {
        if has(before) {
            let shown = root("v0");
            attach("v0");
            works(&["detach", "v0"]);
            assert_eq!(root("v0"), shown);
        }
    }
    // Frames are so small that the quantum is smaller than what can be asked for.
    let old = tool("ip", &["-j", "link", "show", "v0"]);
    let old: serde_json::Value = serde_json::from_str(&old).expect("JSON");
    tool("ip", &["link", "set", "v0", "mtu", "68"]);
    if has("fq_codel") {
        let shown = root("v0");
        assert!(shown.contains("quantum 82"), "{shown}");
        attach("v0");
        works(&["detach", "v0"]);
        assert_eq!(root("v0"), shown);
    }
    tool("ip", &["link", "set", "v0", "mtu", &old[0]["mtu"].to_string()]);
    let handled = |more: &str| {
        let _ = Command::new("/usr/sbin/tc").args(["qdisc", "del", "dev", "v0", "root"]).output();
        tool("tc", &format!("qdisc add dev v0 root handle 8001: {more}").split(' ').collect::<Vec<_>>());
    };
    // Somebody gives its number to a qdisc of his below ours, of its kind or another.
    for (before, theirs) in [("pfifo limit 77", "pfifo limit 5"), ("bfifo limit 30000", "pfifo limit 5")] {
        handled(before);
        let shown = root("v0");
        attach("v0");
        let words = format!("qdisc replace dev v0 parent 7177:1 handle 8001: {theirs}");
        tool("tc", &words.split(' ').collect::<Vec<_>>());
        works(&["detach", "v0"]);
        assert_eq!(root("v0"), shown);
    }
    // What is not told with the qdisc is refused.
    let refused = |what: &str| {
        let shown = root("v0");
        let words = ["attach", "v0", "codel", "--rate", "20mbit", "--front"];
        fails(&words, 2, &[what, "tc qdisc del dev v0 root"]);
        assert_eq!(root("v0"), shown);
    };
    handled("estimator 1sec 4sec pfifo limit 99");
    refused("estimator");
    // What we give our own number would be taken for ours.
    let _ = Command::new("/usr/sbin/tc").args(["qdisc", "del", "dev", "v0", "root"]).output();
    tool("tc", &["qdisc", "add", "dev", "v0", "root", "handle", "7177:", "pfifo"]);
    refused("a number of ours");
    if has("prio bands 4") {
        let filter = "filter add dev v0 parent 8001: chain 3 protocol all prio 9 bpf bytecode";
        let words: Vec<&str> = filter.split(' ').chain(["1,6 0 0 0"]).collect();
        tool("tc", &words);
        refused("filters");
    }
    // Of these tc shows less than it needs; a table of sizes it shows only where it is asked for details.
    for (kind, words) in [
        ("pfifo", "stab linklayer atm overhead 40 pfifo limit 99"),
        ("red", "red limit 60kb avpkt 1000"),
        ("netem", "netem delay 3ms"),
        ("choke", "choke limit 50 bandwidth 1mbit"),
        ("sfb", "sfb"),
    ] {
        if has(words) {
            let shown = root("v0");
            let words = ["attach", "v0", "codel", "--rate", "20mbit", "--front"];
            fails(&words, 2, &[kind, "tc qdisc del dev v0 root"]);
            assert_eq!(root("v0"), shown);
        }
    }
}

/// Who has a `/run` of his own attaches where tc has taken ours off: what he has stays, whatever is done here.
fn attached_by_another_since() {
    attach("v0");
    let mut other = Running::begin(Command::new("unshare").args(["--mount", "sleep", "600"]));
    let enter = format!("--mount=/proc/{}/ns/mnt", other.0.id());
    wait_for("a mount namespace", || {
        fs::read_link(format!("/proc/{}/ns/mnt", other.0.id())).ok()
            != fs::read_link("/proc/self/ns/mnt").ok()
    });
    tool("nsenter", &[&enter, "mount", "-t", "tmpfs", "none", "/run"]);
    let bin = env!("CARGO_BIN_EXE_queuewright");
    let there = |words: &[&str]| tool("nsenter", &[&[&*enter, bin][..], words].concat());
    // With the same BPF file system, and with one of his own.
    for own in [false, true] {
        if own {
            tool("nsenter", &[&enter, "mount", "-t", "bpf", "bpf", "/sys/fs/bpf"]);
        }
        let detach = ["detach", "v0"];
        for (command, few) in
            [(&detach[..], false), (&detach, true), (&["doctor", "--repair", "--yes"], false)]
        {
            tool("tc", &["qdisc", "del", "dev", "v0", "root"]);
            let attach_there = ["attach", "v0", "pie", "--rate", "9mbit", "--front"];
            if !own {
                // Whose pins are there it cannot know by its records.
                let before = left_in("/sys/fs/bpf/queuewright");
                let refused = Command::new("nsenter").args([&*enter, bin]).args(attach_there).output();
                let refused = refused.expect("it runs");
                let text = String::from_utf8_lossy(&refused.stderr).into_owned();
                assert!(
                    !refused.status.success() && text.contains("pins that no record here is about"),
                    "{text}"
                );
                assert_eq!(left_in("/sys/fs/bpf/queuewright"), before);
                assert!(there(&["doctor", "--repair", "--yes"]).contains("repaired"));
            }
            there(&attach_there);
            let (shown, pins) = (root("v0"), left_in("/sys/fs/bpf/queuewright"));
            let (code, text) = said(&mut if few { few_rights(command) } else { queuewright(command) });
            assert_eq!(code, 0, "{command:?}: {text}");
            assert_eq!(root("v0"), shown, "{command:?}, own: {own}");
            let left = left_in("/sys/fs/bpf/queuewright");
            assert!(if own { left.is_empty() } else { left == pins }, "{command:?}, own: {own}: {left:?}");
            let text = there(&["status", "v0"]);
            assert!(text.contains("9mbit") && !text.contains("missing"), "{command:?}, own: {own}: {text}");
            assert!(left_in("/run/queuewright").is_empty(), "{command:?}, own: {own}");
            there(&["detach", "v0"]);
            attach("v0");
        }
    }
    works(&["detach", "v0"]);
    let _ = other.0.kill();
    other.ends("its end");
}

/// A `set` that tc refuses is not done, and not done later either.
fn refused() {
    attach("v0");
    // A tc that does not know how to change a class.
    let dir = tempfile::tempdir().expect("a folder");
    let script = "#!/bin/sh\ncase \"$*\" in *'class replace'*) exit 1;; esac\nexec /run/tc.real \"$@\"\n";
    let tc = fs::canonicalize("/usr/sbin/tc").expect("it is there");
    let stand_in = dir.path().join("tc");
    fs::write(&stand_in, script).expect("written");
    fs::set_permissions(&stand_in, fs::Permissions::from_mode(0o755)).expect("ours");
    fs::write("/run/tc.real", "").expect("root may");
    let at = tc.to_str().expect("UTF-8");
    tool("mount", &["--bind", at, "/run/tc.real"]);
    tool("mount", &["--bind", stand_in.to_str().expect("UTF-8"), at]);
    fails(&["set", "v0", "rate=9mbit"], 1, &["class replace"]);
    tool("umount", &[at]);
    let text = works(&["status", "v0"]);
    assert!(text.contains("20mbit") && !text.contains("missing"), "{text}");
    works(&["set", "v0", "limit=50p"]);
    let text = works(&["status", "v0"]);
    assert!(text.contains("20mbit") && text.contains("limit 50p"), "{text}");
    assert!(tool("tc", &["class", "show", "dev", "v0"]).contains("rate 20Mbit"));
    works(&["detach", "v0"]);
    tool("umount", &["/run/tc.real"]);
    fs::remove_file("/run/tc.real").expect("ours");
}

/// A device that is gone had the name that another has now.
fn its_name_is_anothers() {
    attach("v0");
    tool("ip", &["link", "set", "v0", "name", "w0"]);
    tool("ip", &["link", "add", "v0", "type", "veth", "peer", "name", "x1"]);
    attach("v0");
    tool("ip", &["link", "del", "v1"]);
    let text = works(&["status"]);
    let advice = |line: &str| line.contains("missing").then(|| line.to_string());
    let advice: Vec<String> = text.lines().filter_map(advice).collect();
    assert!(advice.len() == 1 && advice[0].ends_with(": queuewright doctor --repair"), "{text}");
    works(&["doctor", "--repair", "--yes"]);
    assert!(root("v0").contains("htb 7177:"), "the one that lives was taken off");
    assert!(!works(&["status"]).contains("missing"));
    works(&["detach", "v0"]);
    tool("ip", &["link", "del", "x1"]);
}

/// A device is what it is, however it is called.
fn renamed() {
    let before = root("v0");
    attach("v0");
    tool("ip", &["link", "set", "v0", "name", "w0"]);
    fails(&["set", "v0", "rate=9mbit"], 2, &["v0 is called w0 now"]);
    fails(&["status", "v0"], 2, &["v0 is called w0 now"]);
    assert!(works(&["status"]).starts_with("w0: "), "{}", works(&["status"]));
    works(&["set", "w0", "rate=9mbit"]);
    assert!(tool("tc", &["class", "show", "dev", "w0"]).contains("rate 9Mbit"));
    fails(&["attach", "w0", "pie", "--rate", "9mbit", "--front"], 2, &["w0 has codel already"]);
    // Another has its old name meanwhile.
    tool("ip", &["link", "add", "v0", "type", "veth", "peer", "name", "x1"]);
    attach("v0");
    works(&["detach", "w0"]);
    assert_eq!(root("w0"), before);
    assert!(root("v0").contains("htb 7177:"));
    works(&["detach", "v0"]);
    assert_eq!(root("v0"), before);
    tool("ip", &["link", "del", "x1"]);
    // A unit of systemd's is stopped when the name goes, and knows no other.
    tool("ip", &["link", "set", "w0", "name", "v0"]);
    attach("v0");
    tool("ip", &["link", "set", "v0", "name", "w0"]);
    assert!(works(&["detach", "v0"]).starts_with("v0: called w0 now; "));
    assert_eq!(root("w0"), before);
    tool("ip", &["link", "set", "w0", "name", "v0"]);
}

/// A place that a terminal would obey.
const ODD: &str = "/run/\u{1b}]0;x\u{7}\n\u{1b}[31m";

/// A device is moved to another namespace, which takes its qdisc off.
fn moved() {
    tool("ip", &["netns", "add", "other"]);
    attach("v0");
    tool("ip", &["link", "set", "v0", "netns", "other"]);
    // Namespaces may be hundreds: no process is started for each.
    let ip = fs::canonicalize("/usr/sbin/ip").expect("it is there");
    let ip = ip.to_str().expect("UTF-8");
    tool("mount", &["--bind", "/bin/false", ip]);
    let text = works(&["status", "v0"]);
    tool("umount", &[ip]);
    assert!(text.contains("moved to another network namespace (/run/netns/other)"), "{text}");
    // Nor is one of which there is more to tell than the kernel tells at once.
    let names: Vec<String> = (0..300).map(|n| format!("{n:03}{}", "x".repeat(120))).collect();
    let more: Vec<String> =
        names.iter().map(|name| format!("link property add dev lo altname {name}\n")).collect();
    fs::write("/run/names", more.concat()).expect("root may");
    tool("ip", &["-n", "other", "-batch", "/run/names"]);
    fs::remove_file("/run/names").expect("ours");
    assert!(works(&["status", "v0"]).contains("moved to another network namespace (/run/netns/other)"));
    // Who may not look there does not say that it is nowhere.
    let (code, text) = said(&mut few_rights(&["status", "v0"]));
    assert!(code == 0 && text.contains("it has gone, or is in another network namespace"), "{text}");
    fails(
        &["set", "v0", "rate=9mbit"],
        2,
        &["moved to another network namespace (/run/netns/other)", "detach forgets"],
    );
    assert!(works(&["detach", "v0"]).contains("moved to another network namespace"));
    fails(&["status", "v0"], 2, &["is no device here"]);
    tool("ip", &["netns", "del", "other"]);
    // Who mounts a namespace chooses its name, which a terminal is not to obey (all that is said is looked at for that).
    tool("ip", &["link", "add", "v0", "type", "veth", "peer", "name", "x1"]);
    attach("v0");
    fs::write(ODD, "").expect("root may");
    tool("unshare", &[&format!("--net={ODD}"), "true"]);
    let at = format!("--net={ODD}");
    let mut there = Command::new("nsenter").args([&at, "sleep", "600"]).spawn().expect("it runs");
    wait_for("a process there", || {
        fs::read_link(format!("/proc/{}/ns/net", there.id())).ok() != fs::read_link("/proc/self/ns/net").ok()
    });
    tool("ip", &["link", "set", "v0", "netns", &there.id().to_string()]);
    there.kill().and_then(|()| there.wait()).expect("ours");
    assert!(works(&["status", "v0"]).contains("moved to another network namespace ($'/run/\\x1b]0;x"));
    works(&["detach", "v0"]);
    tool("umount", &[ODD]);
    fs::remove_file(ODD).expect("ours");
}

/// What was attached in a namespace that is gone is found, and freed when that is said.
fn a_namespace_goes() {
    if let Err(why) = native::sees_all() {
        return left_out("a namespace that goes", Lack::Kernel, &why);
    }
    let before = held();
    tool("ip", &["netns", "add", "gone"]);
    tool("ip", &["-n", "gone", "link", "set", "lo", "up"]);
    let inside = |words: &[&str]| {
        let bin = env!("CARGO_BIN_EXE_queuewright");
        tool("nsenter", &[&["--net=/run/netns/gone", bin], words].concat())
    };
    inside(&["attach", "lo", "codel", "--rate", "20mbit", "--front"]);
    // It is another's, and lives.
    assert!(works(&["status"]).contains("nothing is attached"));
    assert!(works(&["doctor", "--repair"]).contains("nothing is left behind"));
    // Held by an open file alone it is there still.
    let file = fs::File::open("/run/netns/gone").expect("it is there");
    let odd = Path::new(OsStr::from_bytes(b"/run/below/a\t\\040 \n#\xff"));
    fs::create_dir("/run/below").expect("root may");
    fs::write(odd, "").expect("root may");
    tool_os("mount", &["--bind".as_ref(), "/run/netns/gone".as_ref(), odd.as_os_str()]);
    tool("ip", &["netns", "del", "gone"]);
    assert!(works(&["doctor", "--repair"]).contains("nothing is left behind"));
    drop(file);
    // By a mount alone, whatever its name is, and where another one is over it.
    assert!(works(&["doctor", "--repair"]).contains("nothing is left behind"));
    tool("mount", &["-t", "tmpfs", "none", "/run/below"]);
    assert!(works(&["doctor", "--repair"]).contains("nothing to repair"));
    tool("umount", &["/run/below"]);
    tool_os("umount", &[odd.as_os_str()]);
    fs::remove_dir_all("/run/below").expect("root may");
    // Who does not see all processes does not know.
    let bin = env!("CARGO_BIN_EXE_queuewright");
    let text = tool("unshare", &["--pid", "--fork", "--mount-proc", bin, "doctor", "--repair"]);
    assert!(text.contains("nothing to repair"), "{text}");
    let mut asked = queuewright(&["doctor", "--repair"]);
    let (code, text) = said(&mut asked);
    assert!(code == 1 && text.contains("codel on lo, whose network namespace is gone"), "{text}");
    assert!(text.contains("repair it? [y/N]") && text.contains("nothing was changed"), "{text}");
    assert!(!held().new_since(&before).is_none());
    // A new one has nothing of it, whatever number it has.
    tool("ip", &["netns", "add", "gone"]);
    assert!(inside(&["status"]).contains("nothing is attached"));
    tool("ip", &["netns", "del", "gone"]);
    assert!(works(&["doctor"]).contains("whose network namespace is gone"));
    assert!(works(&["doctor", "--repair", "--yes"]).contains("repaired"));
    wait_for("the kernel to let go", || held().new_since(&before).is_none());
}

/// A file system whose server never answers: none is asked, and what only it could say nobody knows.
fn a_file_server_is_silent() {
    if let Err(why) = native::sees_all() {
        return left_out("a silent file server", Lack::Kernel, &why);
    }
    let types = fs::read_to_string("/proc/filesystems").expect("the kernel's");
    if !types.lines().any(|line| line.trim_start_matches("nodev").trim() == "fuse") {
        return left_out("a silent file server", Lack::Kernel, &"it has no FUSE");
    }
    // A container has the device only if it was given one.
    let _ = Command::new("mknod").args(["/run/fuse", "c", "10", "229"]).env("PATH", TOOLS).status();
    let open = |at: &str| fs::File::options().read(true).write(true).open(at);
    let server = match open("/dev/fuse").or_else(|_| open("/run/fuse")) {
        Ok(server) => server,
        Err(e) => return left_out("a silent file server", Lack::Setup, &format!("FUSE's device: {e}")),
    };
    let at = Path::new("/run/below");
    fs::create_dir(at).expect("root may");
    fs::write(at.join("gone"), "").expect("root may");
    tool("ip", &["netns", "add", "gone"]);
    tool("ip", &["-n", "gone", "link", "set", "lo", "up"]);
    let bin = env!("CARGO_BIN_EXE_queuewright");
    let words = [bin, "attach", "lo", "codel", "--rate", "20mbit", "--front"];
    tool("nsenter", &[&["--net=/run/netns/gone"], &words[..]].concat());
    tool("mount", &["--bind", "/run/netns/gone", "/run/below/gone"]);
    tool("ip", &["netns", "del", "gone"]);
    let mount = || {
        let data = format!("fd={},rootmode=40000,user_id=0,group_id=0", server.as_raw_fd());
        let data = std::ffi::CString::new(data).expect("no NUL");
        let (kind, at) = (c"fuse".as_ptr(), c"/run/below".as_ptr());
        // SAFETY: C strings.
        unsafe { libc::mount(kind, at, kind, 0, data.as_ptr().cast()) }
    };
    assert_eq!(mount(), 0, "{}", io::Error::last_os_error());
    // Below it is what keeps the namespace.
    let mut asked = Running::begin(queuewright(&["doctor", "--repair", "--yes"]).stdout(Stdio::null()));
    assert_eq!(asked.ends("doctor beside a silent file server"), 0);
    assert!(works(&["doctor", "--repair"]).contains("nothing to repair"));
    drop(server);
    tool("umount", &["-l", "/run/below"]);
    assert!(works(&["doctor", "--repair"]).contains("nothing is left behind"));
    tool("umount", &["/run/below/gone"]);
    assert!(works(&["doctor", "--repair", "--yes"]).contains("repaired"));
    fs::remove_dir_all(at).expect("root may");
}

/// The record is in the `/run` of a container, and the pins are where all see them: what is in use stays.
fn anothers_record() {
    if let Err(why) = native::sees_all() {
        return left_out("another's record", Lack::Kernel, &why);
    }
    let freed = || {
        let (code, text) = said(&mut queuewright(&["doctor", "--repair", "--yes"]));
        assert_eq!(code, 0, "{text}");
        (text.contains("repaired"), text)
    };
    let stays = |who: &str| {
        let (freed, text) = freed();
        assert!(!freed && text.contains(&format!("{who} has it still, so that it stays")), "{text}");
        assert!(text.ends_with("nothing to repair\n"), "{text}");
    };
    tool("ip", &["netns", "add", "other"]);
    tool("ip", &["-n", "other", "link", "set", "lo", "up"]);
    let bin = env!("CARGO_BIN_EXE_queuewright");
    // Its `/run` goes with the process, as of a container that is not running; its network does not.
    let script = format!(
        "mount --make-rprivate / && mount -t tmpfs none /run && \
         exec nsenter --net=/proc/self/fd/3 {bin} attach lo codel --rate 20mbit --front"
    );
    let attach = format!("exec 3</run/netns/other; exec unshare --mount sh -c '{script}'");
    tool("sh", &["-c", &attach]);
    let pins = left_in("/sys/fs/bpf/queuewright");
    let pins = Path::new("/sys/fs/bpf/queuewright").join(&pins[0]);
    stays("its device");
    assert!(pins.join("left").exists());
    // Who does not see all processes does not know.
    let text = tool("unshare", &["--pid", "--fork", "--mount-proc", bin, "doctor", "--repair", "--yes"]);
    assert!(text.contains("not all of this machine can be looked at"), "{text}");
    assert!(pins.join("left").exists());
    tool("tc", &["-n", "other", "qdisc", "del", "dev", "lo", "root"]);
    // A pin of somebody else's, in a BPF file system of his own that nobody else has mounted.
    let mut other = Running::begin(Command::new("unshare").args(["--mount", "sleep", "600"]));
    let at = format!("/proc/{}/root/run/other", other.0.id());
    fs::create_dir("/run/other").expect("root may");
    let enter = format!("--mount=/proc/{}/ns/mnt", other.0.id());
    wait_for("a mount namespace", || {
        fs::read_link(format!("/proc/{}/ns/mnt", other.0.id())).ok()
            != fs::read_link("/proc/self/ns/mnt").ok()
    });
    tool("nsenter", &[&enter, "mount", "-t", "bpf", "bpf", "/run/other"]);
    let mut map = libbpf_rs::MapHandle::from_pinned_path(pins.join("params")).expect("pinned");
    stays("an open file or another pin");
    map.pin(format!("{at}/theirs")).expect("root may");
    drop(map);
    stays("an open file or another pin");
    // A link alone, opened by its pin: the kernel calls it otherwise than one that was made.
    fs::remove_file(format!("{at}/theirs")).expect("root may");
    let link = libbpf_rs::Link::open(pins.join("left")).expect("pinned");
    stays("an open file or another pin");
    drop(link);
    let _ = other.0.kill();
    other.ends("its end");
    assert!(freed().0);
    assert!(!pins.exists());
    fs::remove_dir("/run/other").expect("root may");
    // Of a namespace that is gone, too: who reads its maps may go on.
    tool("ip", &["netns", "del", "other"]);
    tool("ip", &["netns", "add", "other"]);
    tool("ip", &["-n", "other", "link", "set", "lo", "up"]);
    let words = [bin, "attach", "lo", "codel", "--rate", "20mbit", "--front"];
    tool("nsenter", &[&["--net=/run/netns/other"], &words[..]].concat());
    tool("ip", &["netns", "del", "other"]);
    let pins = left_in("/sys/fs/bpf/queuewright");
    let pins = Path::new("/sys/fs/bpf/queuewright").join(&pins[0]);
    let map = libbpf_rs::MapHandle::from_pinned_path(pins.join("params")).expect("pinned");
    stays("an open file or another pin");
    drop(map);
    assert!(freed().0);
}

/// Files that are no records, whatever else they are, hide no others.
fn broken_records() {
    attach("v0");
    let at = |name: &str| Path::new("/run/queuewright").join(name);
    fs::write(at("1:2.json"), "{").expect("root may");
    // What an earlier version has left when it was killed: it doubled the device.
    let mut record = fs::read_dir("/run/queuewright").expect("there").flatten().map(|e| e.path());
    let record = record.find(|p| !p.ends_with("1:2.json")).expect("one");
    fs::copy(&record, record.with_extension("new")).expect("root may");
    fs::copy(&record, at("3:4.json")).expect("root may");
    assert!(Command::new("mkfifo").arg(at("5:6.json")).status().expect("it runs").success());
    symlink("/etc/passwd", at("7:8.json")).expect("root may");
    fs::write(at("9:9\u{1b}[31m.json"), vec![b'['; 1 << 20]).expect("root may");
    let text = works(&["status"]);
    assert_eq!(text.matches("v0: htb").count(), 1, "{text}");
    assert_eq!(text.matches("warning: ").count(), 6, "{text}");
    works(&["set", "v0", "rate=9mbit"]);
    let text = works(&["doctor", "--repair", "--yes"]);
    assert!(text.contains("a link; repair removes it") && text.contains("no plain file"), "{text}");
    assert_eq!(left_in("/run/queuewright").len(), 2);
    let text = works(&["doctor", "--repair"]);
    assert!(text.contains("not of this program") && text.ends_with("nothing to repair\n"), "{text}");
    fs::remove_file(at("9:9\u{1b}[31m.json")).expect("it is there still");
    assert!(!works(&["status"]).contains("warning"));
    // The record of another version, which alone knows what was at the device.
    let text = fs::read_to_string(&record).expect("root may");
    fs::write(&record, text.replace("\"attached\"", "\"resting\"")).expect("root may");
    let said = works(&["doctor", "--repair", "--yes"]);
    assert!(said.contains("the version that attached it takes it off"), "{said}");
    // From elsewhere, too.
    let bin = env!("CARGO_BIN_EXE_queuewright");
    let said = tool("unshare", &["--net", bin, "doctor", "--repair", "--yes"]);
    assert!(said.contains("the version that attached it takes it off"), "{said}");
    fails(&["attach", "v0", "pie", "--rate", "9mbit", "--front"], 2, &["a root with a number of ours"]);
    fs::write(&record, text).expect("it is there still");
    works(&["detach", "v0"]);
}

/// Parts of it are taken away: status says which, set refuses, and doctor puts them back.
fn lacks_a_part() {
    let parts: [(&str, &str); 5] = [
        ("filter del dev v0 parent 7177:", "the filter"),
        ("qdisc del dev v0 parent 7177:1", "the qdisc pfifo 7178:"),
        ("class change dev v0 parent 7177: classid 7177:1 htb rate 1mbit", "the class 7177:1 at 20000000bit"),
        (
            "class change dev v0 parent 7177: classid 7177:1 htb rate 20mbit ceil 20200kbit",
            "the class 7177:1 at 20000000bit",
        ),
        ("qdisc change dev v0 parent 7177:1 handle 7178: pfifo limit 1", "the qdisc pfifo 7178:"),
    ];
    attach("v0");
    for (words, what) in parts {
        tool("tc", &words.split(' ').collect::<Vec<_>>());
        let text = works(&["status", "v0"]);
        assert!(text.contains(what) && text.contains("queuewright doctor --repair"), "{words}: {text}");
        assert!(works(&["status", "--json"]).contains("\"missing\": [\n"), "{words}");
        fails(&["set", "v0", "limit=50p"], 1, &[what, "by half", "queuewright doctor --repair"]);
        assert!(works(&["doctor", "--repair", "--yes"]).contains("repaired"));
        let text = works(&["status", "v0"]);
        assert!(!text.contains("missing"), "{text}");
    }
    // Another filter goes before ours, of a classifier that has no handle but a list of its own.
    let other = "filter add dev v0 parent 7177: protocol all prio 9 u32 match u32 0 0 flowid 7177:1";
    if Command::new("/usr/sbin/tc").args(other.split(' ')).output().is_ok_and(|done| done.status.success()) {
        for text in [works(&["status", "v0"]), fails(&["set", "v0", "limit=50p"], 1, &["by half"])] {
            assert!(text.contains("another filter is at the root too (u32)"), "{text}");
        }
        // In the place of ours.
        tool("tc", &["filter", "del", "dev", "v0", "parent", "7177:"]);
        tool("tc", &other.split(' ').collect::<Vec<_>>());
        for text in [works(&["status", "v0"]), fails(&["set", "v0", "limit=50p"], 1, &["by half"])] {
            assert!(text.contains("the filter, htb") && text.contains("at the root too (u32)"), "{text}");
        }
        works(&["doctor", "--repair", "--yes"]);
        assert!(!works(&["status", "v0"]).contains("missing"));
    }
    // Ours, for some of the packets.
    let pins = left_in("/sys/fs/bpf/queuewright");
    let program = format!("/sys/fs/bpf/queuewright/{}/front", pins[0].display());
    tool("tc", &["filter", "del", "dev", "v0", "parent", "7177:"]);
    let some = format!(
        "filter add dev v0 parent 7177: protocol ip prio 1 bpf object-pinned {program} direct-action"
    );
    tool("tc", &some.split(' ').collect::<Vec<_>>());
    assert!(works(&["status", "v0"]).contains("the filter, htb"));
    works(&["doctor", "--repair", "--yes"]);
    assert!(!works(&["status", "v0"]).contains("missing"));
    // All three at once, as a kill between tc's steps left it.
    tool("tc", &["filter", "del", "dev", "v0", "parent", "7177:"]);
    tool("tc", &["class", "del", "dev", "v0", "classid", "7177:1"]);
    assert!(works(&["status", "v0"]).contains("the class 7177:1"));
    works(&["doctor", "--repair", "--yes"]);
    assert!(works(&["status", "--json"]).contains("\"missing\": []"));
    // Packets are seen again.
    works(&["set", "v0", "rate=9mbit"]);
    works(&["detach", "v0"]);
}

/// What a device takes at most as one packet.
fn segments(dev: &str) -> u64 {
    let all: serde_json::Value =
        serde_json::from_str(&tool("ip", &["-d", "-j", "link", "show", "dev", dev])).expect("JSON");
    all[0]["gso_max_segs"].as_u64().expect("every device has it")
}

/// At a rate at which 64 KiB take more than a millisecond the device takes segments one by one, until what is attached is taken off.
fn splits_packets() {
    let codel = |more: &[&str]| works(&[&["attach", "v0", "codel"], more].concat());
    tool("ip", &["link", "set", "dev", "v0", "gso_max_segs", "77"]);
    for more in [&[][..], &["--front"]] {
        // 65,536 bytes take 1 ms at 524,288 kbit/s.
        for (rate, split) in [("524287kbit", 1), ("524288kbit", 77)] {
            let said = codel(&[&["--rate", rate, "--dry-run"], more].concat());
            assert_eq!(said.contains("v0 gso_max_segs 1 (it has 77)"), split == 1, "{said}");
            codel(&[&["--rate", rate], more].concat());
            assert_eq!(segments("v0"), split, "{rate}");
            // A change of the rate may come to need it, or no more.
            for (rate, split) in
                [("1gbit", 77), ("100mbit", 1), ("20mbit", 1), ("524288kbit", 77), ("8kbit", 1)]
            {
                works(&["set", "v0", &format!("rate={rate}")]);
                assert_eq!(segments("v0"), split, "set to {rate}");
            }
            // Somebody else sets it.
            tool("ip", &["link", "set", "dev", "v0", "gso_max_segs", "5"]);
            let text = works(&["status", "v0"]);
            assert!(text.contains("v0 has gso_max_segs 5, not 1") && text.contains("--repair"), "{text}");
            works(&["doctor", "--repair", "--yes"]);
            assert_eq!(segments("v0"), 1);
            works(&["detach", "v0"]);
            assert_eq!(segments("v0"), 5, "what they have set: {rate}");
            tool("ip", &["link", "set", "dev", "v0", "gso_max_segs", "77"]);
        }
        // What it has at the end, where somebody else has set it, stays.
        codel(&[&["--rate", "1mbit"], more].concat());
        tool("ip", &["link", "set", "dev", "v0", "gso_max_segs", "9"]);
        works(&["detach", "v0"]);
        assert_eq!(segments("v0"), 9);
        tool("ip", &["link", "set", "dev", "v0", "gso_max_segs", "77"]);
        // Taken off by another's tc: what follows has what was before in mind.
        codel(&[&["--rate", "1mbit"], more].concat());
        tool("tc", &["qdisc", "del", "dev", "v0", "root"]);
        codel(&[&["--rate", "2mbit"], more].concat());
        assert_eq!(segments("v0"), 1);
        works(&["detach", "v0"]);
        assert_eq!(segments("v0"), 77);
        codel(&[&["--rate", "1mbit", "--no-split-gso"], more].concat());
        works(&["set", "v0", "rate=2mbit"]);
        assert_eq!(segments("v0"), 77);
        works(&["detach", "v0"]);
    }
    // Without a rate the device's own queue decides.
    if linux::has_bpf_qdiscs() == Some(true) {
        codel(&[]);
        assert_eq!(segments("v0"), 77);
        works(&["detach", "v0"]);
    }
}

/// Frames of a protocol that nobody has (`ETH_P_802_EX1` of linux/if_ether.h, for experiments), from one device to another.
struct Frames(OwnedFd);

impl Frames {
    const PROTOCOL: u16 = 0x88b5;

    fn at(dev: &str) -> Frames {
        let name = std::ffi::CString::new(dev).expect("a name");
        // SAFETY: plain numbers and a C string; a new descriptor that nobody else has; an address of its own kind.
        unsafe {
            let fd = libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_NONBLOCK, 0);
            assert!(fd >= 0, "a packet socket: {}", io::Error::last_os_error());
            let mut at: libc::sockaddr_ll = std::mem::zeroed();
            at.sll_family = libc::AF_PACKET as u16;
            at.sll_protocol = Self::PROTOCOL.to_be();
            at.sll_ifindex = libc::if_nametoindex(name.as_ptr()) as i32;
            let size = size_of_val(&at) as u32;
            assert_eq!(
                libc::bind(fd, (&raw const at).cast(), size),
                0,
                "{dev}: {}",
                io::Error::last_os_error()
            );
            Frames(OwnedFd::from_raw_fd(fd))
        }
    }

    /// To everybody; false: it has sent so many that no more may wait.
    fn send(&self, content: u8, bytes: usize) -> bool {
        let mut frame = vec![content; bytes];
        frame[..6].fill(0xff);
        frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 1]);
        frame[12..14].copy_from_slice(&Self::PROTOCOL.to_be_bytes());
        // SAFETY: bytes of that length.
        let sent = unsafe { libc::send(self.0.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            _ if sent == frame.len() as isize => true,
            // The sender of what is dropped as it goes out is told so.
            Some(libc::ENOBUFS) => true,
            // As many of its packets wait as may.
            Some(libc::EAGAIN) => false,
            _ => panic!("{error}"),
        }
    }

    /// What came in next, not what went out; None: nothing yet.
    fn next(&self) -> Option<u8> {
        let mut frame = [0u8; 2000];
        // SAFETY: a place of that length, and one for an address of that size.
        let (length, from) = unsafe {
            let mut from: libc::sockaddr_ll = std::mem::zeroed();
            let mut size = size_of_val(&from) as u32;
            let place = (&raw mut from).cast();
            let fd = self.0.as_raw_fd();
            (libc::recvfrom(fd, frame.as_mut_ptr().cast(), frame.len(), 0, place, &raw mut size), from)
        };
        (length > 0 && from.sll_pkttype != libc::PACKET_OUTGOING).then(|| frame[length as usize - 1])
    }
}

/// Frames that come in on `v0` come to who waits for them, each once and in order.
#[track_caller]
fn comes_in(what: &str) {
    let (from, to) = (Frames::at("v1"), Frames::at("v0"));
    let mut found = Vec::new();
    (0..20).for_each(|n| assert!(from.send(n, 100)));
    wait_for(&format!("20 frames to come in: {what}"), || {
        found.extend(std::iter::from_fn(|| to.next()));
        found.len() >= 20
    });
    assert_eq!(found, (0..20).collect::<Vec<_>>(), "{what}");
}

/// What `status --json` says of a device that is attached.
fn status_of(dev: &str) -> serde_json::Value {
    let all: serde_json::Value = serde_json::from_str(&works(&["status", "--json"])).expect("JSON");
    let found = all.as_array().into_iter().flatten().find(|one| one["dev"] == dev);
    found.cloned().unwrap_or_else(|| panic!("{dev} is not among {all}"))
}

/// What comes in is managed as what goes out is, and what was made for it goes with it.
fn both_directions() {
    let up = |dev: &str| tool("ip", &["link", "set", "dev", dev, "up"]);
    let gro = |dev: &str| {
        let all: serde_json::Value =
            serde_json::from_str(&tool("ip", &["-d", "-j", "link", "show", "dev", dev])).expect("JSON");
        all[0]["gro_max_size"].as_u64().expect("every device has it")
    };
    let devices = || {
        let all = tool("ip", &["-br", "link"]);
        let mut names: Vec<String> =
            all.lines().filter_map(|l| l.split([' ', '@']).next()).map(Into::into).collect();
        names.sort();
        names
    };
    up("v0");
    up("v1");
    let before = (devices(), gro("v0"), segments("v0"), root("v0"));
    let again = || (devices(), gro("v0"), segments("v0"), root("v0"));
    let words = [
        "attach",
        "v0",
        "codel",
        "--rate",
        "20mbit",
        "--ingress",
        "30mbit:pie:target=10ms",
        "--limit",
        "100p",
    ];
    for more in [&[][..], &["--front"]] {
        let words = [&words[..], more].concat();
        let steps = works(&[&words[..], &["--dry-run"]].concat());
        assert!(
            steps.contains("ip link add ifb-v0") && steps.contains("at v0's tcx ingress hook"),
            "{steps}"
        );
        assert_eq!(again(), before, "it was to say what it would do");
        let said = works(&words);
        assert!(said.contains("ifb-v0") && said.contains("at 30mbit for what comes in on v0"), "{said}");
        comes_in("managed");
        let said = works(&["status", "v0"]);
        assert!(said.contains("(pie:target=10ms), 30mbit, limit 100p, for what comes in on v0"), "{said}");
        let one = status_of("ifb-v0");
        assert_eq!((&one["ingress_of"], &one["rate"]), (&"v0".into(), &30_000_000.into()));
        // IPv6 may have told its neighbours of itself.
        let count = |what: &str| one["stats"][what].as_u64().expect("a number");
        assert!(count("arrived_packets") >= 20 && count("sent_packets") >= 20, "{one}");
        assert!(status_of("v0")["ingress_of"].is_null());
        assert_eq!((gro("v0"), segments("v0")), (1, 1));
        works(&["set", "ifb-v0", "rate=1gbit"]);
        assert_eq!((gro("v0"), segments("v0")), (before.1, 1));
        works(&["set", "ifb-v0", "rate=9mbit", "target=7ms"]);
        assert_eq!(gro("v0"), 1);
        // One at a time, and nothing on what was made for it.
        fails(&words, 2, &["v0 has codel already"]);
        fails(&["attach", "ifb-v0", "codel", "--rate", "1mbit"], 2, &["ifb-v0 has pie"]);
        // Somebody takes the program away that hands the packets over, or sets what packets are put together.
        let pins = left_in("/sys/fs/bpf/queuewright");
        let links =
            pins.iter().map(|pin| Path::new("/sys/fs/bpf/queuewright").join(pin).join("redirect_link"));
        links.filter(|link| link.exists()).for_each(|link| fs::remove_file(link).expect("ours"));
        tool("ip", &["link", "set", "dev", "v0", "gro_max_size", "9000"]);
        let said = works(&["status", "v0"]);
        assert!(
            said.contains("the program at v0's ingress") && said.contains("gro_max_size 9000, not 1"),
            "{said}"
        );
        comes_in("past what is attached");
        works(&["doctor", "--repair", "--yes"]);
        assert!(status_of("ifb-v0")["missing"].as_array().is_some_and(Vec::is_empty));
        comes_in("mended");
        // Whatever has become of the device that was made for it, packets get through, and it is said.
        tool("ip", &["link", "set", "dev", "ifb-v0", "down"]);
        comes_in("while the device that was made for it is down");
        let said = works(&["status", "v0"]);
        assert!(
            said.contains("ifb-v0 is down, so that packets pass by: queuewright doctor --repair"),
            "{said}"
        );
        works(&["doctor", "--repair", "--yes"]);
        assert!(status_of("ifb-v0")["missing"].as_array().is_some_and(Vec::is_empty));
        tool("ip", &["link", "set", "dev", "ifb-v0", "group", "7"]);
        // Only what comes in, then the rest.
        works(&["detach", "ifb-v0"]);
        assert_eq!((devices(), gro("v0")), (before.0.clone(), 9000), "what they have set stays");
        tool("ip", &["link", "set", "dev", "v0", "gro_max_size", &before.1.to_string()]);
        comes_in("with that taken off");
        works(&["detach", "v0"]);
        assert_eq!(again(), before);
    }
    // What was made is deleted by another: packets pass by.
    works(&words);
    tool("ip", &["link", "del", "ifb-v0"]);
    comes_in("without the device that was made for it");
    assert!(works(&["status", "v0"]).contains("ifb-v0: "));
    works(&["detach", "v0"]);
    assert_eq!(again(), before);
    // Both go by the name that it has now.
    works(&words);
    tool("ip", &["link", "set", "dev", "v0", "down"]);
    tool("ip", &["link", "set", "dev", "v0", "name", "w0"]);
    let said = works(&["status", "w0"]);
    assert!(said.contains("for what comes in on w0"), "{said}");
    works(&["detach", "w0"]);
    tool("ip", &["link", "set", "dev", "w0", "name", "v0"]);
    up("v0");
    assert_eq!(again(), before);
    // Others look at what comes in: they would see nothing any more.
    tool("tc", &["qdisc", "add", "dev", "v0", "clsact"]);
    let other = "filter add dev v0 ingress protocol all prio 9 u32 match u32 0 0 action drop";
    if Command::new("/usr/sbin/tc").args(other.split(' ')).output().is_ok_and(|done| done.status.success()) {
        fails(&words, 2, &["v0 has filters at its ingress", "tc filter del dev v0 ingress"]);
        tool("tc", &["filter", "del", "dev", "v0", "ingress"]);
    }
    tool("tc", &["qdisc", "del", "dev", "v0", "clsact"]);
    // A block of filters that devices share looks at it, too.
    tool("tc", &["qdisc", "add", "dev", "v0", "ingress_block", "7", "clsact"]);
    let other = "filter add block 7 protocol all prio 9 u32 match u32 0 0 action drop";
    if Command::new("/usr/sbin/tc").args(other.split(' ')).output().is_ok_and(|done| done.status.success()) {
        fails(&words, 2, &["v0 has filters at its ingress"]);
    }
    tool("tc", &["qdisc", "del", "dev", "v0", "clsact"]);
    // The name is another's: there is a second one. Where that is, too, both directions are refused.
    tool("ip", &["link", "add", "ifb-v0", "type", "veth", "peer", "name", "x0"]);
    let index = tool("ip", &["-o", "link", "show", "dev", "v0"]);
    let index = index.split(':').next().expect("its number");
    let said = works(&words);
    assert!(said.contains(&format!("ifb-{index}: ")), "{said}");
    comes_in("by a device of another name");
    works(&["detach", "v0"]);
    tool("ip", &["link", "set", "dev", "x0", "name", &format!("ifb-{index}")]);
    fails(&words, 2, &["a device ifb-v0 is there already", "ip link set dev ifb-v0 name NEW"]);
    tool("ip", &["link", "del", "ifb-v0"]);
    assert_eq!(again(), before);
    for (asked, why) in [
        ("none", "needs a rate"),
        ("fast", "--ingress \"fast\""),
        ("1kbit", "8kbit or more"),
        ("1mbit:nosuch", "nosuch"),
        ("1mbit:pie:target=x", "target"),
    ] {
        fails(&["attach", "v0", "codel", "--rate", "20mbit", "--ingress", asked], 2, &[why]);
        assert_eq!(again(), before);
    }
    // The device goes, and what comes in on it with it.
    works(&words);
    tool("ip", &["link", "del", "v1"]);
    let said = works(&["status", "ifb-v0"]);
    assert!(said.contains("the device whose packets it has: v0"), "{said}");
    works(&["doctor", "--repair", "--yes"]);
    assert!(!devices().contains(&"ifb-v0".to_string()));
    // It comes again under its name, or with its number: what is left of the first is no obstacle, and nobody else's is touched.
    let numbers = ["index", "777"];
    let make = |number: &[&str]| {
        let words = [&["link", "add", "v0"][..], number, &["type", "veth", "peer", "name", "v1"]].concat();
        tool("ip", &words);
        up("v0");
        up("v1");
    };
    make(&numbers);
    works(&words);
    tool("ip", &["link", "del", "v1"]);
    make(&numbers);
    let said = works(&["status", "ifb-v0"]);
    assert!(said.contains("the device whose packets it has: v0 is not here any more"), "{said}");
    comes_in("to a device that came in its place");
    works(&words);
    comes_in("managed again");
    tool("ip", &["link", "del", "v1"]);
    make(&[]);
    works(&words);
    tool("ip", &["link", "del", "v1"]);
    make(&[]);
    works(&["detach", "v0"]);
    assert!(!devices().contains(&"ifb-v0".to_string()));
}

/// A policer lets as much pass as its counted queue has room for, and what the rate makes room for meanwhile; the rest it drops.
fn polices() {
    for dev in ["v0", "v1"] {
        // Nobody else sends.
        let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{dev}/disable_ipv6"), "1");
        tool("ip", &["link", "set", "dev", dev, "up"]);
    }
    let before = (root("v0"), segments("v0"));
    for (words, name, from, to) in [
        (&["--police", "8kbit"][..], "v0", "v0", "v1"),
        (&["--police", "8kbit", "--ingress"], "v0:ingress", "v1", "v0"),
    ] {
        let attach = [&["attach", "v0", "droptail", "--limit", "5p"], words].concat();
        let said = works(&[&attach[..], &["--dry-run"]].concat());
        assert!(said.contains("hook, the program that polices") && !said.contains("tc qdisc"), "{said}");
        let known: Vec<u32> = maps_of_instances().map(|map| map.0).collect();
        let said = works(&attach);
        assert!(said.starts_with(&format!("{name}: police (droptail) at 8kbit")), "{said}");
        let (_, instance) = maps_of_instances().find(|(id, _)| !known.contains(id)).expect("it was made");
        fails(&attach, 2, &["v0 has droptail already", &format!("set {name} changes it")]);
        // A frame of 1,500 bytes takes 1.5 s: one is on the link, and five wait.
        let (out, back) = (Frames::at(from), Frames::at(to));
        let begun = Instant::now();
        (0..20).for_each(|n| assert!(out.send(n, 1500)));
        let ended = begun.elapsed().as_millis() as usize;
        let stats = status_of(name)["stats"].clone();
        let count = |what: &str| stats[what].as_u64().expect("a number") as usize;
        let dropped = stats["drops"]["limit"].as_u64().expect("a number") as usize;
        assert_eq!((count("arrived_packets"), count("arrived_bytes")), (20, 30_000), "{stats}");
        assert!((20 - 6 - ended.div_ceil(1500)..=20 - 6).contains(&dropped), "{dropped} in {ended} ms");
        let mut passed = Vec::new();
        wait_for("what was let in to come", || {
            passed.extend(std::iter::from_fn(|| back.next()));
            passed.len() >= 20 - dropped
        });
        assert_eq!((passed.len(), &passed[..6]), (20 - dropped, &[0, 1, 2, 3, 4, 5][..]));
        assert_eq!(count("sent_packets") + count("backlog_packets"), passed.len(), "{stats}");
        // What is on the link goes on at another rate from then on: at 8 Mbit/s the largest frame takes 1.5 ms. (`next_ns`, `now` of
        // `struct instance` in bpf/waiting.h.)
        works(&["set", name, "limit=5p", "rate=8mbit"]);
        out.send(0, 1500);
        let word = |at: usize| {
            let map = libbpf_rs::MapCore::lookup(&instance, &[0; 4], libbpf_rs::MapFlags::ANY);
            let value = map.expect("root may").expect("it has one");
            u64::from_ne_bytes(*value[at..].first_chunk().expect("eight bytes"))
        };
        assert!(word(8).saturating_sub(word(48)) <= 1_500_000, "{} after {}", word(8), word(48));
        assert!(works(&["status", name]).contains("police (droptail), 8mbit, limit 5p"));
        // The program's place is taken away, and put back.
        for pin in left_in("/sys/fs/bpf/queuewright") {
            let link = Path::new("/sys/fs/bpf/queuewright").join(pin).join("police_link");
            fs::remove_file(link).expect("ours");
        }
        let said = works(&["status", name]);
        assert!(said.contains("which polices: queuewright doctor --repair"), "{said}");
        works(&["doctor", "--repair", "--yes"]);
        assert!(status_of(name)["missing"].as_array().is_some_and(Vec::is_empty));
        works(&["detach", name]);
        assert_eq!((root("v0"), segments("v0")), before);
        fails(&["detach", name], 2, &[]);
    }
    // Both, and one beside a queue; all of a device go at once, by the name that it has then.
    let both = ["attach", "v0", "titrate", "--police", "20mbit", "--ingress", "30mbit:cp-aqm"];
    works(&both);
    let said = works(&["status", "v0"]);
    assert!(
        said.contains("v0: police (titrate), 20mbit") && said.contains("v0:ingress: police (cp-aqm), 30mbit")
    );
    fails(&["attach", "v0", "codel", "--rate", "1mbit"], 2, &["v0 has titrate already"]);
    fails(
        &["attach", "v0", "codel", "--rate", "1mbit", "--ingress", "1mbit"],
        2,
        &["v0 has titrate already"],
    );
    let all = works(&["status", "--json"]);
    assert!(all.contains("\"dev\": \"v0:ingress\"") && all.contains("\"police\": true"), "{all}");
    works(&["detach", "v0"]);
    // In either order.
    works(&["attach", "v0", "titrate", "--police", "20mbit", "--ingress"]);
    works(&["attach", "v0", "codel", "--rate", "20mbit", "--front"]);
    works(&["detach", "v0:ingress"]);
    works(&["attach", "v0", "titrate", "--police", "20mbit", "--ingress"]);
    // Nothing else is said: 100 ms of the rate.
    assert_eq!(status_of("v0:ingress")["limit_bytes"], 250_000);
    works(&["doctor", "v0:ingress"]);
    tool("ip", &["link", "set", "dev", "v0", "down"]);
    tool("ip", &["link", "set", "dev", "v0", "name", "w0"]);
    assert!(works(&["status"]).contains("w0:ingress: police"));
    works(&["detach", "w0"]);
    tool("ip", &["link", "set", "dev", "w0", "name", "v0"]);
    tool("ip", &["link", "set", "dev", "v0", "up"]);
    assert_eq!((root("v0"), segments("v0")), before);
    for (words, why) in [
        (&["codel", "--police", "1mbit"][..], "codel cannot be attached with --police"),
        (&["titrate", "--police", "1mbit", "--rate", "1mbit"], "cannot be used with"),
        (&["titrate", "--police", "1mbit", "--mq"], "cannot be used with"),
        (&["titrate", "--police", "none"], "needs a rate"),
        (&["titrate", "--police", "1kbit"], "8kbit or more"),
        (&["titrate", "--ingress"], "--ingress 480mbit"),
        (&["./late.h", "--police", "1mbit"], "late.h"),
    ] {
        fails(&[&["attach", "v0"], words].concat(), 2, &[why]);
    }
    // The device goes.
    works(&both);
    tool("ip", &["link", "del", "v1"]);
    assert!(works(&["status"]).contains("its device: it has gone"));
    works(&["doctor", "--repair", "--yes"]);
    tool("ip", &["link", "add", "v0", "type", "veth", "peer", "name", "v1"]);
}

/// Packet by packet what the simulator's policer decides, at the times that the kernel's program has read.
fn polices_as_the_simulator() {
    for dev in ["v0", "v1"] {
        let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{dev}/disable_ipv6"), "1");
        tool("ip", &["link", "set", "dev", dev, "up"]);
    }
    let out = Frames::at("v0");
    let mut random = 1u64;
    // Numbers of Knuth's linear congruential generator (MMIX).
    let mut draw = |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    for (discipline, buffer) in [
        ("\"droptail\"", "30kb"),
        ("\"droptail\"", "17p"),
        ("{ name = \"static\", threshold = \"9000b\" }", "100p"),
        ("{ name = \"titrate\", initial_delay = \"0ms\", window = \"20ms\" }", "40kb"),
        ("\"cp-aqm\"", "40kb"),
        ("{ name = \"cp-aqm\", rate = \"20mbit\", bucket = \"20000b\" }", "30p"),
    ] {
        let text = format!(
            "[link]\nrate = \"20mbit\"\nbuffer = \"{buffer}\"\npolice = true\n[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\n\
             [queue]\ndisciplines = [{discipline}]\n[run]\nduration = \"1s\"\nseeds = [1]\n"
        );
        let scenario = Scenario::parse(&text, "s.toml", "".as_ref()).unwrap_or_else(|e| panic!("{e}"));
        let run = scenario.runs().unwrap_or_else(|e| panic!("{e}")).remove(0);
        let words = queuewright_lab::attach_words(&run.ports[0].discipline);
        let before: Vec<u32> = maps_of_instances().map(|map| map.0).collect();
        works(&["attach", "v0", &words, "--police", "20mbit", "--limit", buffer]);
        let (_, instance) = maps_of_instances().find(|(id, _)| !before.contains(id)).expect("it was made");
        let pins = left_in("/sys/fs/bpf/queuewright");
        let stats = Path::new("/sys/fs/bpf/queuewright").join(&pins[0]).join("stats");
        let stats = libbpf_rs::MapHandle::from_pinned_path(stats).expect("pinned");
        let read = |map: &libbpf_rs::MapHandle| {
            let found = libbpf_rs::MapCore::lookup(map, &[0; 4], libbpf_rs::MapFlags::ANY);
            found.expect("root may").expect("it has one")
        };
        let dropped = || {
            let stats = linux::Stats::from_bytes(&read(&stats)).expect("as long as it is");
            stats.drops.iter().sum::<u64>()
        };
        let mut queue = LoneQueue::new(&run).expect("it has a port");
        let (mut first, mut last_drops, mut drops) = (None, 0, 0);
        for n in 0..1500 {
            // Bursts, and pauses in which the counted queue empties.
            if draw(40) == 0 {
                std::thread::sleep(Duration::from_micros(draw(20_000)));
            }
            let bytes = 60 + draw(1455) as u16;
            let earliest = monotonic();
            assert!(out.send(n as u8, bytes.into()));
            // `now` of `struct instance` in bpf/waiting.h.
            let instance = read(&instance);
            let now = u64::from_ne_bytes(*instance[48..].first_chunk().expect("eight bytes"));
            assert!((earliest..=monotonic()).contains(&now), "it is not the time of packet {n}");
            let at_ns = now - *first.get_or_insert(now);
            let passes = queue.police(&Arrival { at_ns, flow: 0, bytes, ecn: 0 });
            let now_drops = dropped();
            assert_eq!(now_drops == last_drops, passes, "{words}, {buffer}: packet {n} at {at_ns} ns");
            drops += u64::from(!passes);
            last_drops = now_drops;
        }
        println!("{words}, {buffer}: {drops} of 1500 are dropped, as in the simulator");
        assert!(drops > 20, "{words}, {buffer}: {drops} of 1500 are dropped");
        works(&["detach", "v0"]);
    }
}

/// Put on and taken off under traffic in both directions, `QUEUEWRIGHT_CYCLES` times (10): that all of it is gone is seen at the end.
fn over_and_over() {
    for dev in ["v0", "v1"] {
        tool("ip", &["link", "set", "dev", dev, "up"]);
    }
    let cycles = std::env::var("QUEUEWRIGHT_CYCLES").map_or(10, |n| n.parse().expect("a number"));
    let ways: [&[&str]; 4] = [
        &["codel", "--rate", "20mbit", "--ingress", "30mbit:pie"],
        &["titrate", "--police", "20mbit", "--ingress", "30mbit:cp-aqm"],
        &["santa", "--rate", "20mbit", "--ingress", "30mbit", "--front"],
        &["droptail", "--police", "20mbit", "--ingress"],
    ];
    let done = Arc::new(AtomicBool::new(false));
    let senders = ["v0", "v1"].map(|dev| {
        let (done, out) = (done.clone(), Frames::at(dev));
        std::thread::spawn(move || {
            while !done.load(Ordering::Relaxed) {
                let _ = (0..8).all(|n| out.send(n, 1000));
                std::thread::sleep(Duration::from_millis(1));
            }
        })
    });
    for n in 0..cycles {
        works(&[&["attach", "v0"], ways[n % ways.len()]].concat());
        let dev = ["ifb-v0", "v0:ingress", "ifb-v0", "v0:ingress"][n % ways.len()];
        wait_for("packets to come in", || status_of(dev)["stats"]["arrived_packets"].as_u64() > Some(50));
        works(&["detach", "v0"]);
    }
    done.store(true, Ordering::Relaxed);
    senders.into_iter().for_each(|sender| sender.join().expect("it has sent"));
    wait_for("processes for the shares to end", || processes(b"keep\0--\0ifb-v0\0").is_empty());
    assert!(!tool("ip", &["-br", "link"]).contains("ifb"));
}

/// Maps of what hosts remember of a queue, by the kernel's numbers.
fn maps_of_instances() -> impl Iterator<Item = (u32, libbpf_rs::MapHandle)> {
    let all = libbpf_rs::query::MapInfoIter::default().filter(|map| map.name.as_bytes() == b".bss.running");
    all.filter_map(|map| Some((map.id, libbpf_rs::MapHandle::from_map_id(map.id).ok()?)))
}

/// The clock that the kernel's programs read (`CLOCK_MONOTONIC`), ns.
fn monotonic() -> u64 {
    // SAFETY: a place for the time.
    let time = unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        assert_eq!(libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time), 0);
        time
    };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Somebody else's tc has put another qdisc there: that stays.
fn taken_off() {
    attach("v0");
    tool("tc", &["qdisc", "replace", "dev", "v0", "root", "pfifo", "limit", "77"]);
    let text = works(&["status", "v0"]);
    assert!(text.contains("no longer there") && text.contains("queuewright detach v0"), "{text}");
    fails(&["set", "v0", "rate=9mbit"], 2, &["is no longer there", "detach forgets it"]);
    assert!(works(&["detach", "v0"]).contains("what is there now"));
    assert!(root("v0").contains("pfifo") && root("v0").contains("limit 77p"));
}

/// Any name that the kernel takes.
fn odd_names() {
    let before = held();
    // One that is no UTF-8 harms no other.
    tool_os(
        "ip",
        &["link", "set", "v1", "name"]
            .map(OsStr::new)
            .iter()
            .copied()
            .chain([OsStr::from_bytes(b"\xff\xfe\x1b")])
            .collect::<Vec<_>>(),
    );
    let mut now = "v0".to_string();
    let names = [
        "a\u{2003}b",
        "x\u{1b}[31my",
        "q'$(id)\"`",
        "root",
        "dev",
        "{dev}",
        "all",
        "default",
        "..",
        "a.b..c",
        "\u{202e}ab",
        "%s%n",
        "*",
        "123456789012345",
        "v0",
    ];
    for name in names {
        // Some of them the kernel or ip do not take.
        let renamed = Command::new("/usr/sbin/ip").args(["link", "set", "dev", &now, "name", name]).output();
        if !renamed.is_ok_and(|done| done.status.success()) {
            continue;
        }
        now = name.into();
        works(&["attach", name, "codel", "--rate", "20mbit", "--front", "--dry-run"]);
        attach(name);
        let text = works(&["status", name]);
        assert!(!text.contains("missing") && text.contains("20mbit"), "{name:?}: {text}");
        works(&["set", name, "rate=9mbit"]);
        assert!(works(&["status"]).contains("9mbit"));
        let json: serde_json::Value = serde_json::from_str(&works(&["status", "--json"])).expect("JSON");
        assert_eq!(json[0]["dev"], name);
        works(&["detach", name]);
        assert!(!root(name).contains("htb"), "{name:?}: {}", root(name));
    }
    assert_eq!(now, "v0");
    fails(
        &["attach", "no\u{1b}[31m", "codel", "--rate", "20mbit"],
        2,
        &["$'no\\x1b[31m'", "is no device here"],
    );
    let long = "x".repeat(100_000);
    fails(&["attach", &long, "codel", "--rate", "20mbit"], 2, &["is no device here"]);
    fails(&["status", &long], 2, &["is no device here"]);
    for name in ["../../etc/passwd", "", "a/b", "."] {
        fails(&["detach", name], 2, &["is no device here"]);
    }
    wait_for("the kernel to let go", || held().new_since(&before).is_none());
    tool_os(
        "ip",
        &["link", "set"]
            .map(OsStr::new)
            .iter()
            .copied()
            .chain([OsStr::from_bytes(b"\xff\xfe\x1b"), OsStr::new("name"), OsStr::new("v1")])
            .collect::<Vec<_>>(),
    );
}

/// A device whose name is no UTF-8: by its bytes and by its number all can be done that is done to others, which it does not hide.
fn not_utf8() {
    let odd = OsStr::from_bytes(b"\xff'\x1b");
    let rename = |from: &OsStr, to: &OsStr| {
        tool_os("ip", &["link".as_ref(), "set".as_ref(), from, "name".as_ref(), to]);
    };
    let with = |words: &[&str], name: &OsStr| {
        let (code, text) = said(queuewright(words).arg(name));
        assert_eq!(code, 0, "{words:?} {name:?}: {text}");
        text
    };
    for before in [true, false] {
        if before {
            attach("v1");
        }
        rename("v1".as_ref(), odd);
        let number = format!(
            "if:{}",
            tool_os("ip", &["-o".as_ref(), "link".as_ref(), "show".as_ref(), odd])
                .split(':')
                .next()
                .expect("a number")
        );
        if !before {
            let words = ["attach", "--front", "--rate", "20mbit", "--limit", "100p"];
            let (code, text) = said(queuewright(&words).args([odd, "codel".as_ref()]));
            assert_eq!(code, 0, "{text}");
            let words = ["attach", "--front", "--rate", "20mbit"];
            let (code, text) = said(queuewright(&words).args([odd, "pie".as_ref()]));
            assert!(code == 2 && text.contains(&format!("{number} has codel already")), "{text}");
        }
        // One whose name is what the bytes would be as text is another.
        tool("ip", &["link", "set", "v0", "name", "\u{fffd}'"]);
        attach("\u{fffd}'");
        for text in [works(&["status"]), with(&["status"], odd), works(&["status", &number])] {
            assert!(text.contains(&format!("{number} ($'\\xff\\'\\x1b'): htb")), "{text}");
            assert!(!text.contains("missing"), "{text}");
        }
        assert!(works(&["status"]).contains("$'\\xef\\xbf\\xbd\\'': htb"), "{}", works(&["status"]));
        let (code, text) = said(queuewright(&["set"]).args([odd, "rate=9mbit".as_ref()]));
        assert_eq!(code, 0, "{text}");
        works(&["set", &number, "limit=50p"]);
        let json: serde_json::Value = serde_json::from_str(&works(&["status", "--json"])).expect("JSON");
        let devices: Vec<_> = json.as_array().expect("all").iter().map(|d| d["dev"].as_str()).collect();
        assert!(devices.contains(&Some(&number)) && devices.len() == 2, "{devices:?}");
        assert!(with(&["doctor"], odd).contains("attached by this program"));
        tool_os(
            "tc",
            &["qdisc", "del", "parent", "7177:1", "dev"]
                .map(OsStr::new)
                .iter()
                .copied()
                .chain([odd])
                .collect::<Vec<_>>(),
        );
        assert!(works(&["status"]).contains("queuewright doctor --repair"));
        assert!(works(&["doctor", "--repair", "--yes"]).contains("repaired"));
        tool_os(
            "tc",
            &["qdisc", "del", "root", "dev"].map(OsStr::new).iter().copied().chain([odd]).collect::<Vec<_>>(),
        );
        // What is said can be pasted.
        let text = works(&["status"]);
        let advice = text.lines().find_map(|l| l.split_once("htb: queuewright ")).expect(&text).1;
        let line = format!("exec {} {advice}", env!("CARGO_BIN_EXE_queuewright"));
        let (code, text) = said(Command::new("bash").args(["-c", &line]).stdin(Stdio::null()));
        assert!(code == 0 && text.contains("gone already"), "{line}: {text}");
        works(&["detach", "\u{fffd}'"]);
        assert!(works(&["status"]).contains("nothing is attached"));
        let (code, text) = said(queuewright(&["status"]).arg(OsStr::from_bytes(b"\xfe")));
        assert!(code == 2 && text.contains("is no device here"), "{text}");
        tool("ip", &["link", "set", "\u{fffd}'", "name", "v0"]);
        rename(odd, "v1".as_ref());
    }
    // By the name that a unit has, which a rename takes away.
    attach("v1");
    rename("v1".as_ref(), odd);
    assert!(works(&["detach", "v1"]).contains("now; the kernel's own choice"));
    rename(odd, "v1".as_ref());
}

/// Limits and rates that can be.
fn bounds() {
    let attach = |rate: &str, limit: &str| {
        let words = ["attach", "v0", "codel", "--front", "--rate", rate, "--limit", limit];
        said(queuewright(&words).arg("--dry-run"))
    };
    for (rate, limit, least) in
        [("20mbit", "1b", "2500b"), ("20mbit", "2499b", "2500b"), ("1mbit", "1513b", "1514b")]
    {
        let (code, text) = attach(rate, limit);
        assert!(code == 2 && text.contains(&format!("allowed: {least} or more")), "{text}");
    }
    for (rate, limit) in [("20mbit", "2500b"), ("1mbit", "1514b"), ("20mbit", "1p")] {
        let (code, text) = attach(rate, limit);
        assert_eq!(code, 0, "{text}");
    }
    // All that is said to be allowed is.
    for rate in ["1bit", "7999bit", "7kbit"] {
        let (code, text) = attach(rate, "100p");
        assert!(code == 2 && text.contains("allowed: 8kbit or more"), "{text}");
    }
    for rate in ["8kbit", "20kbit", "60kbit", "60561bit", "64kbit"] {
        let (code, text) = attach(rate, "100p");
        assert_eq!(code, 0, "{rate}: {text}");
    }
    self::attach("v0");
    fails(&["set", "v0", "limit=1b"], 2, &["allowed: 2500b or more"]);
    fails(&["set", "v0", "rate=7kbit"], 2, &["allowed: 8kbit or more"]);
    works(&["set", "v0", "limit=3000b", "rate=8kbit"]);
    // 1 ms of the new rate is more than the limit that stays.
    fails(&["set", "v0", "rate=1gbit"], 2, &["limit = \"3000b\"", "allowed: 125000b or more"]);
    works(&["set", "v0", "rate=1gbit", "limit=0b"]);
    works(&["detach", "v0"]);
}

/// `set` leaves the policy alone, wherever it is called from and whatever has become of the file.
fn weights_stay() {
    let policies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies");
    let (one, other) = (open_folder(), open_folder());
    fs::copy(policies.join("queuepilot.json"), one.path().join("p.json")).expect("copied");
    fs::copy(policies.join("acc.json"), other.path().join("p.json")).expect("copied");
    let words = ["attach", "v0", "queuepilot", "--weights", "p.json", "--rate", "20mbit", "--front"];
    let (code, text) = said(queuewright(&words).current_dir(one.path()));
    let path = one.path().join("p.json");
    assert!(code == 0 && text.contains(path.to_str().expect("UTF-8")), "{text}");
    let weights = || linux::hold("v0").and_then(|held| held.weights()).unwrap_or_else(|e| panic!("{e}"));
    let first = weights().expect("it has some");
    // A policy counts by its link, bytes a second.
    let counts_by = |rate: u64| params().chunks_exact(8).any(|word| word == rate.to_ne_bytes());
    assert!(counts_by(20_000_000 / 8) && !counts_by(9_000_000 / 8));
    for gone in [false, true] {
        if gone {
            fs::remove_file(&path).expect("ours");
        }
        let (code, text) = said(queuewright(&["set", "v0", "rate=9mbit"]).current_dir(other.path()));
        assert_eq!(code, 0, "{text}");
        assert!(text.contains(path.to_str().expect("UTF-8")), "{text}");
        assert!(weights().expect("it has some").values == first.values, "other weights");
        assert!(counts_by(9_000_000 / 8) && !counts_by(20_000_000 / 8));
    }
    let (code, text) = said(queuewright(&["set", "v0", "weights=p.json"]).current_dir(other.path()));
    assert_eq!(code, 0, "{text}");
    assert!(weights().expect("it has some").values != first.values, "the same weights");
    fails(&["set", "v0", "step=5ms:weights=p.json"], 2, &["a colon", "a word of its own"]);
    works(&["detach", "v0"]);
}

/// A file of a user's own is attached as it is when it is named, and needed no more after that; what is wrong with it is a line, and
/// nothing is left of it.
fn own_files() {
    let dir = tempfile::tempdir().expect("a folder");
    let at = dir.path();
    let here = |words: &[&str]| said(queuewright(words).current_dir(at));
    let attach = |file: &str| here(&["attach", "v0", file, "--rate", "20mbit", "--front"]);
    let change = |from: &str, to: &str| {
        let text = fs::read_to_string(at.join("late.h")).expect("it is there");
        assert!(text.contains(from), "{text}");
        fs::write(at.join("late.h"), text.replacen(from, to, 1)).expect("ours");
    };
    assert_eq!(here(&["new", "discipline", "late"]).0, 0);
    let original = fs::read_to_string(at.join("late.h")).expect("it is there");
    let before = root("v0");
    let (code, text) =
        here(&["attach", "v0", "./late.h:target=5ms", "--rate", "20mbit", "--front", "--dry-run"]);
    assert!(code == 0 && text.contains("late.h:target=5ms") && before == root("v0"), "{text}");

    let (code, text) = attach("./late.h:target=5ms");
    let path = at.join("late.h").display().to_string();
    assert!(code == 0 && text.contains(&format!("({path}:target=5ms)")), "{text}");
    let file = |text: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix("file "));
        line.unwrap_or_else(|| panic!("no file in {text}")).trim().to_string()
    };
    let first = file(&works(&["status", "v0"]));
    assert!(first.starts_with("sha256:") && first.len() == 7 + 64, "{first}");
    // What is attached has no parameter of this name, and is not asked of the file.
    change("P(\"target\"", "P(\"goal\"");
    let text = works(&["set", "v0", "target=7ms"]);
    assert!(text.contains(":target=7ms, its state begun anew"), "{text}");
    fs::remove_file(at.join("late.h")).expect("ours");
    works(&["set", "v0", "rate=9mbit", "ecn=true"]);
    fails(&["set", "v0", "goal=7ms"], 2, &["goal: unknown parameter of late. Allowed: target, ecn"]);
    fails(&["agent", "v0", "queuepilot"], 2, &["a file of your own has no agent"]);
    let text = works(&["status", "v0"]);
    assert!(file(&text) == first && text.contains(":target=7ms:ecn=true"), "{text}");
    let shown: serde_json::Value = serde_json::from_str(&works(&["status", "v0", "--json"])).expect("JSON");
    assert_eq!(shown[0]["file"], first.as_str());
    works(&["detach", "v0"]);
    assert_eq!(root("v0"), before);

    // Wherever it is, it is named from the root.
    let folder = at.join("weights=my\u{1b}folder");
    fs::create_dir(&folder).expect("ours");
    fs::write(folder.join("late.h"), &original).expect("ours");
    let (code, text) = attach("weights=my\u{1b}folder/late.h");
    let named = folder.display().to_string().replace('\u{1b}', "\\u{1b}");
    assert!(code == 0 && text.contains(&format!("({named}/late.h)")), "{text}");
    for text in [works(&["status", "v0"]), works(&["set", "v0", "target=6ms"])] {
        assert!(text.contains(&format!("{named}/late.h")), "{text}");
    }
    works(&["detach", "v0"]);

    // The unit's rights are enough.
    fs::write(at.join("late.h"), &original).expect("ours");
    let words = ["attach", "v0", &path, "--rate", "20mbit", "--front"];
    let (code, text) = said(&mut few_rights(&words));
    assert_eq!(code, 0, "{text}");
    assert_eq!(file(&works(&["status", "v0"])), first);
    works(&["detach", "v0"]);

    // What it was compiled to stays as it is, and needs no compiler.
    let with_clang = |other: &Path, words: &[&str]| {
        let over =
            "for clang in /usr/bin/clang*; do mount --bind \"$0\" \"$clang\" || exit 9; done; exec \"$@\"";
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", over]).arg(other);
        said(command.arg(env!("CARGO_BIN_EXE_queuewright")).args(words).stdin(Stdio::null()))
    };
    let without_clang = |words: &[&str]| with_clang(Path::new("/dev/null"), words);
    let object = format!("{}/late.bpf.o", at.display());
    let (code, text) = here(&["attach", "v0", "./late.h", "--front", "--compile", "late.bpf.o"]);
    assert!(code == 0 && text.starts_with("late.bpf.o: late, ") && root("v0") == before, "{text}");
    change("20 * QW_NS_PER_MS", "30 * QW_NS_PER_MS");
    let with_object = ["attach", "v0", &format!("{object}:target=6ms"), "--rate", "20mbit", "--front"];
    let (code, text) = without_clang(&with_object);
    assert_eq!(code, 0, "{text}");
    let text = works(&["status", "v0"]);
    assert!(file(&text) == first && text.contains("late.bpf.o:target=6ms"), "{text}");
    works(&["set", "v0", "target=8ms"]);
    works(&["detach", "v0"]);
    let mut other = fs::read(&object).expect("written");
    let host = b"host/front.bpf.c ";
    let version = other.windows(host.len()).position(|part| part == host).expect("it says so") + host.len();
    other[version] = if other[version] == b'0' { b'1' } else { b'0' };
    fs::write(&object, other).expect("ours");
    let (code, text) = here(&with_object);
    assert!(code == 2 && text.contains("late: it was compiled by another version of this program"), "{text}");
    fs::write(&object, b"no object").expect("ours");
    let (code, text) = here(&with_object);
    assert!(code == 2 && text.contains("late.bpf.o: no BPF object: "), "{text}");
    fs::write(at.join("late.h"), &original).expect("ours");

    // What a compiler leaves elsewhere others may read: it has a folder of its own, and says nothing of how it crashed.
    let fake = at.join("fake");
    let shows = "#!/bin/sh\n[ \"$1\" = --print-targets ] && exec echo '  bpf - BPF'\n[ \"$TMPDIR\" = \"$PWD\" ] || exit 1\n\
                 case \"$*\" in *-fno-crash-diagnostics*) echo own.h:1:1: error: its own folder >&2; esac\nexit 1\n";
    fs::write(&fake, shows).expect("ours");
    fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).expect("ours");
    let (code, text) = with_clang(&fake, &words);
    assert!(code == 2 && text.contains("late.h: as BPF: its own folder"), "{text}");

    // A compiler of somebody else's.
    let mark = at.join("mark");
    for name in ["clang-19", "clang", "cc"] {
        fs::write(at.join(name), format!("#!/bin/sh\ntouch {}\n", mark.display())).expect("ours");
        fs::set_permissions(at.join(name), fs::Permissions::from_mode(0o755)).expect("ours");
    }
    let mut command = queuewright(&words);
    command.env("PATH", at).env("CC", at.join("cc")).env("QUEUEWRIGHT_CLANG", at.join("clang"));
    assert_eq!(said(&mut command).0, 0);
    works(&["detach", "v0"]);
    assert!(!mark.exists(), "root ran what PATH, CC or QUEUEWRIGHT_CLANG says");

    let nothing = |what: &str| {
        assert_eq!(root("v0"), before, "{what}");
        assert!(left_in("/sys/fs/bpf/queuewright").is_empty(), "{what}");
    };
    let sojourn = "\ts->sojourn_ns = now - k->enqueue_ns;\n";
    for (what, more, has) in [
        (
            "a loop",
            "while (s->sojourn_ns < now)\n\t\ts->sojourn_ns += k->bytes;",
            "the kernel's verifier refuses it: ",
        ),
        (
            "a read elsewhere",
            "s->sojourn_ns += (&s->sojourn_ns)[k->bytes];",
            "the kernel's verifier refuses it: ",
        ),
        ("a double", "s->sojourn_ns = (qw_u64)((double)s->sojourn_ns * 0.3);", "BPF has no floating point"),
        ("a library", "printf(\"x\");", "call to undeclared library function 'printf'"),
    ] {
        fs::write(at.join("late.h"), original.replacen(sojourn, &format!("{sojourn}\t{more}\n"), 1))
            .expect("ours");
        let (code, text) = attach("./late.h");
        assert_eq!((code, text.lines().count()), (2, 1), "{what}: {text}");
        assert!(text.starts_with("error: late.h:5") && text.contains(has), "{what}: {text}");
        nothing(what);
    }
    fs::write(at.join("late.h"), &original).expect("ours");
    let (code, text) = without_clang(&words);
    assert_eq!(code, 2, "{text}");
    assert!(
        text.contains(
            "late.h: to run it in Linux a clang that compiles for BPF is needed; install clang-19\n"
        ),
        "{text}"
    );
    nothing("no clang");
    // What somebody else could have written root does not load.
    fs::set_permissions(at.join("late.h"), fs::Permissions::from_mode(0o666)).expect("ours");
    let (code, text) = attach("./late.h");
    assert!(code == 2 && text.contains("others than its owner may write here"), "{text}");
    std::os::unix::fs::chown(at.join("late.h"), Some(NOBODY), None).expect("root may");
    let (code, text) = attach("./late.h");
    assert!(code == 2 && text.contains("it belongs to user 65534"), "{text}");
    fs::create_dir(at.join("folder.h")).expect("ours");
    let (code, text) = attach("./folder.h");
    assert!(code == 2 && text.contains("folder.h: not a file"), "{text}");
    let (code, text) = attach("./none.h");
    assert!(code == 2 && text.contains("none.h: no such file") && text.lines().count() == 1, "{text}");
    nothing("a stranger's");
}

/// `/sys/class/net` shows the namespace in which it was mounted.
fn counts_its_own_queues() {
    // This process's /sys is of the namespace before: of a device with this name there it would count the queues, and of none 0.
    tool("ip", &["link", "add", "q0", "numtxqueues", "3", "type", "veth", "peer", "name", "q1"]);
    let text = works(&["doctor", "q0"]);
    assert!(text.contains("q0 has 3:"), "{text}");
    tool("ip", &["link", "del", "q0"]);
}

/// Without rights nothing is seen or changed, and it is said what is needed.
fn nobody_may() {
    attach("v0");
    // Where nobody can read it.
    let dir = open_folder();
    let bin = dir.path().join("queuewright");
    fs::copy(env!("CARGO_BIN_EXE_queuewright"), &bin).expect("copied");
    for words in [
        &["attach", "v0", "codel", "--rate", "20mbit", "--front"][..],
        &["status", "v0"],
        &["set", "v0", "rate=9mbit"],
        &["detach", "v0"],
        &["doctor", "--repair", "--yes"],
    ] {
        let mut command = Command::new(&bin);
        command.args(words).stdin(Stdio::null()).current_dir("/").uid(NOBODY).gid(NOBODY);
        let (code, text) = said(&mut command);
        assert!(code == 1 && text.contains("sudo"), "{words:?}: {code} {text}");
    }
    assert!(!works(&["status", "v0"]).contains("missing"));
    works(&["detach", "v0"]);
}

/// `watch --web`, and where it is, with its token.
struct Page(Running, String, String);

/// With a cache of its own.
fn cached<'a>(command: &'a mut Command, bin: &Path) -> &'a mut Command {
    command.env("XDG_CACHE_HOME", bin.with_file_name("cache"))
}

impl Page {
    fn begin(bin: &Path, words: &[&str]) -> Page {
        let mut command = Command::new(bin);
        let every: &[&str] = if words.contains(&"--every") { &[] } else { &["--every", "20ms"] };
        command.args(["watch", "--web"]).args(every).args(words).stdin(Stdio::null()).current_dir("/");
        let mut child =
            Running::begin(cached(&mut command, bin).stdout(Stdio::piped()).stderr(Stdio::piped()));
        let mut line = String::new();
        BufReader::new(child.0.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        let address = line.trim().strip_prefix("http://").and_then(|l| l.split_once("/index.html#live="));
        let Some((at, token)) = address else {
            let mut said = String::new();
            let _ = child.0.stderr.take().expect("a pipe").read_to_string(&mut said);
            panic!("{line:?} {said}");
        };
        Page(child, at.into(), token.into())
    }

    /// Begins a request, of whoever has these headers.
    fn asks(&self, request: &str, headers: &str, body: &str) -> BufReader<TcpStream> {
        let mut client = TcpStream::connect(&self.1).expect("it listens");
        let length = body.len();
        write!(client, "{request} HTTP/1.0\r\n{headers}Content-Length: {length}\r\n\r\n{body}")
            .expect("it reads");
        BufReader::new(client)
    }

    /// Of the page itself.
    fn own(&self) -> String {
        format!("Host: {}\r\nOrigin: http://{}\r\nAuthorization: Bearer {}\r\n", self.1, self.1, self.2)
    }

    /// The whole answer.
    fn answer(&self, request: &str, headers: &str, body: &str) -> String {
        let mut text = String::new();
        self.asks(request, headers, body).read_to_string(&mut text).expect("it answers");
        text
    }

    fn sets(&self, body: &str) -> String {
        self.answer("POST /live/set", &self.own(), body)
    }

    /// The first look of which this is so.
    fn sees(&self, what: &str, is_so: impl Fn(&serde_json::Value) -> bool) -> serde_json::Value {
        let lines =
            self.asks("GET /live/events", &self.own(), "").lines().map(|line| line.expect("it goes on"));
        let mut looks =
            lines.filter_map(|line| Some(serde_json::from_str(line.strip_prefix("data: ")?).expect("JSON")));
        // Two minutes and more.
        let mut last = serde_json::Value::Null;
        for look in looks.by_ref().take(6000) {
            if is_so(&look) {
                return look;
            }
            last = look;
        }
        panic!("waited in vain for {what}; the last look: {last}");
    }
}

/// What is attached is told to a page that has the token, and changed by it where that was allowed.
fn shown_in_a_page() {
    tool("ip", &["link", "set", "lo", "up"]);
    attach("v0");
    let dir = tempfile::tempdir().expect("a folder");
    let installed = dir.path().join("share/doc/queuewright/explorer");
    fs::create_dir_all(&installed).expect("a folder");
    fs::write(installed.join("index.html"), "the page").expect("a file");
    let bin = dir.path().join("bin/queuewright");
    fs::create_dir_all(bin.parent().expect("a folder")).expect("a folder");
    fs::copy(env!("CARGO_BIN_EXE_queuewright"), &bin).expect("copied");

    // Whoever comes is told at once.
    let page = Page::begin(&bin, &["--every", "3600s"]);
    for _ in 0..3 {
        page.sees("a look at once", |_| true);
    }
    drop(page);

    let page = Page::begin(&bin, &[]);
    let own = page.own();
    assert!(page.answer("GET /index.html", &own, "").ends_with("\r\n\r\nthe page"));
    let look = page.sees("a second look", |look| !look["devices"][0]["since"].is_null());
    let seen = &look["devices"][0];
    assert_eq!((&seen["name"], &seen["status"]["dev"]), (&"v0".into(), &"v0".into()), "{look}");
    assert_eq!((&seen["status"]["rate"], &look["set"]), (&20_000_000.into(), &false.into()), "{look}");
    assert_eq!(look["wrong"], serde_json::json!([]), "{look}");
    let begins = |answer: String, status: &str| {
        assert!(answer.starts_with(&format!("HTTP/1.0 {status} ")), "{answer}")
    };
    let token = format!("Authorization: Bearer {}\r\n", page.2);
    let here = format!("Host: {}\r\n", page.1);
    for (headers, status) in [
        (here.clone(), "401"),
        (format!("{here}Authorization: Bearer {}x\r\n", page.2), "401"),
        (format!("{here}{token}Origin: http://elsewhere.example\r\n"), "403"),
        (format!("{here}{token}Origin: null\r\n"), "403"),
        (format!("{own}Origin: http://elsewhere.example\r\n"), "403"),
        (format!("Host: elsewhere.example\r\n{token}"), "421"),
        (token, "421"),
    ] {
        begins(page.answer("GET /live/events", &headers, ""), status);
        begins(page.answer("POST /live/set", &headers, "{}"), status);
    }
    begins(page.answer("GET /live/set", &own, ""), "405");
    begins(page.answer("POST /live/events", &own, ""), "405");
    let head = page.answer("HEAD /live/events", &own, "");
    assert!(head.contains("\r\ncross-origin-resource-policy: same-origin\r\n"), "{head}");
    assert!(head.contains("text/event-stream") && head.ends_with("\r\n\r\n"), "{head}");
    begins(head, "200");
    // Who has no token ends no connection of who has it, however many there are.
    let mut told = page.asks("GET /live/events", &own, "");
    told.read_line(&mut String::new()).expect("it answers");
    let strangers: Vec<_> = (0..300).map(|_| page.asks("GET /live/events", &here, "")).collect();
    let events = told.lines().map_while(Result::ok).filter(|line| line.starts_with("data: "));
    assert_eq!(events.take(100).count(), 100);
    drop(strangers);
    begins(page.answer("GET /live/", &own, ""), "404");
    begins(page.sets(r#"{"dev":"v0","changes":["rate=9mbit"]}"#), "403");
    // What the same user has under way is told, as long as it is there.
    let mut under_way = Command::new(&bin);
    under_way.args([
        "compare",
        "--rate",
        "100mbit",
        "--rtt",
        "40ms",
        "--flows",
        "2xcubic",
        "--duration",
        "60s",
        "--seeds",
        "1..1000",
        "--json",
    ]);
    let under_way = Running::begin(cached(&mut under_way, &bin).stdout(Stdio::null()).stderr(Stdio::null()));
    let look = page.sees("a run that is done", |look| look["jobs"][0]["done"].as_u64() > Some(0));
    let job = &look["jobs"][0];
    let words = job["words"].as_str().expect("text");
    assert!(words.starts_with("compare --rate 100mbit") && job["total"].as_u64() >= Some(1000), "{look}");
    assert!(job["seen"][0]["utilization"].as_f64() > Some(0.5), "{look}");
    drop(under_way);
    page.sees("nothing under way", |look| look["jobs"] == serde_json::json!([]));
    // Who does not read is in nobody's way, however many.
    let slow: Vec<_> = (0..300).map(|_| page.asks("GET /live/events", &own, "")).collect();
    page.sees("a look beside them", |_| true);
    drop(slow);
    // What is no longer there is said.
    tool("tc", &["qdisc", "del", "dev", "v0", "root"]);
    page.sees("it gone", |look| look["devices"][0]["status"]["there"] == false);
    works(&["detach", "v0"]);
    page.sees("no device", |look| look["devices"] == serde_json::json!([]));
    drop(page);

    attach("v0");
    let number = tool("ip", &["-o", "link", "show", "v0"]);
    let number = format!("if:{}", number.split(':').next().expect("a number"));
    let mut page = Page::begin(&bin, &[&number, "--allow-set"]);
    begins(page.sets(r#"{"dev":"v0","changes":["rate=9mbit","target=7ms"]}"#), "200");
    assert!(works(&["status", "v0"]).contains("codel:target=7ms), 9mbit"), "{}", works(&["status", "v0"]));
    for (wrong, status) in [
        (r#"{"dev":"v0","changes":["target=-1"]}"#, "422"),
        (r#"{"dev":"v0","changes":["weights=/etc/passwd"]}"#, "422"),
        (r#"{"dev":"v0","changes":["ecn=true:weights=/etc/passwd"]}"#, "422"),
        (r#"{"dev":"v0","changes":["target=7ms, asked by the page: done"]}"#, "422"),
        (r#"{"dev":"v0","changes":[]}"#, "422"),
        (r#"{"dev":"v1","changes":["rate=9mbit"]}"#, "422"),
        (r#"{"dev":"../v0","changes":["rate=9mbit"]}"#, "422"),
        (r#"{"dev":"v0","changes":[],"more":1}"#, "422"),
        ("no JSON", "422"),
        (&format!("\"{}\"", "x".repeat(5000)), "400"),
    ] {
        begins(page.sets(wrong), status);
    }
    page.sees("the new rate", |look| {
        look["set"] == true && look["devices"][0]["status"]["rate"] == 9_000_000
    });
    // While a change waits for another command, looks go on.
    let other = holder("/run/queuewright/lock", 0);
    let set = page.asks("POST /live/set", &page.own(), r#"{"dev":"v0","changes":["rate=8mbit"]}"#);
    let seen = std::cell::Cell::new(0);
    page.sees("three looks meanwhile", |_| seen.replace(seen.get() + 1) == 2);
    drop(other);
    begins(set.lines().next().expect("an answer").expect("text"), "200");
    page.0.0.kill().expect("it runs");
    let mut log = String::new();
    page.0.0.stderr.take().expect("a pipe").read_to_string(&mut log).expect("text");
    assert!(log.starts_with("v0: set rate=9mbit target=7ms, asked by the page: done\n"), "{log}");
    let asked = [
        "v0: set target=-1, ",
        "v0: set weights=/etc/passwd, ",
        "v0: set ecn=true:weights=/etc/passwd, ",
        "v0: set $'target=7ms, asked by the page: done', ",
        "v0: set , ",
        "v1: set rate=9mbit, ",
        "../v0: set rate=9mbit, ",
    ];
    let logged: Vec<&str> = log.lines().skip(1).take(asked.len()).collect();
    assert_eq!(logged.len(), asked.len(), "{log}");
    for (line, begins) in logged.iter().zip(asked) {
        assert!(line.starts_with(begins) && !line.ends_with(": done"), "{log}");
    }

    // Of two under one name the one that is there; and what is no record.
    tool("ip", &["link", "add", "w0", "type", "veth", "peer", "name", "w1"]);
    attach("w0");
    tool("ip", &["link", "del", "v0"]);
    tool("ip", &["link", "set", "w0", "name", "v0"]);
    fs::write("/run/queuewright/9:9.json", "{").expect("root may");
    let page = Page::begin(&bin, &[]);
    let look = page.sees("a look", |_| true);
    assert!(look["devices"][0]["status"]["there"] == true && look["devices"][1].is_null(), "{look}");
    assert!(look["wrong"][0].as_str().is_some_and(|why| why.contains("9:9.json")), "{look}");
    fs::remove_file("/run/queuewright/9:9.json").expect("it is there");
    drop(page);
    works(&["detach", "v0"]);
    works(&["detach", "v0"]);
    tool("ip", &["link", "del", "v0"]);
}

/// The exporter has given up its rights by the time that it is asked, and sees what `status` sees.
fn exported() {
    tool("ip", &["link", "set", "lo", "up"]);
    attach("v0");
    let mut command = queuewright(&["export", "--listen", "127.0.0.1:0"]);
    let mut exporter = Running::begin(command.stdout(Stdio::piped()));
    let mut line = String::new();
    BufReader::new(exporter.0.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    let at = line.trim().strip_prefix("metrics at http://").and_then(|l| l.strip_suffix("/metrics"));
    let at = at.unwrap_or_else(|| panic!("{line:?}"));
    let scraped = || {
        let mut client = TcpStream::connect(at).expect("it listens");
        client.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").expect("it reads");
        let mut text = String::new();
        client.read_to_string(&mut text).expect("it answers");
        text
    };
    let whole = "queuewright_attached{device=\"v0\",kind=\"htb\"} 1";
    assert!(scraped().contains(whole), "{}", scraped());
    fs::write("/run/queuewright/9:9.json", "{").expect("root may");
    let text = scraped();
    assert!(text.contains(whole) && text.contains("queuewright_unreadable{device=\"9:9.json\"} 1"), "{text}");
    fs::remove_file("/run/queuewright/9:9.json").expect("it is there");
    tool("tc", &["qdisc", "del", "dev", "v0", "root"]);
    assert!(scraped().contains(&whole.replace("} 1", "} 0")), "{}", scraped());
    works(&["detach", "v0"]);
}
