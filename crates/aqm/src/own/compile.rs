//! From the text of a file to its table: by a C compiler, or out of what it made before.

use super::cache::{Folder, Work};
use super::elf::variables;
use super::table::{Table, hex};
use sha2::{Digest, Sha256};
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

include!(concat!(env!("OUT_DIR"), "/headers.rs"));

/// What the file is put into.
const FRAME: &str = include_str!("own.c");
/// What `check` puts it into.
const CHECK: &str = include_str!("check.c");
/// What the frame includes beside the headers.
const TABLE: (&str, &str) = ("table.h", include_str!("table.h"));
/// As the program's own disciplines are compiled, but that nothing of the machine can be included; and what is a mistake in any case
/// is an error.
const FLAGS: [&str; 6] = ["-O3", "-fPIC", "-shared", "-fvisibility=hidden", "-nostartfiles", "-Wl,-z,defs"];
/// For `check`.
const STRICT: [&str; 6] = [
    "-O1",
    "-g",
    "-Werror",
    "-Wno-unused-parameter",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
];
/// For both.
const COMMON: [&str; 12] = [
    "-std=c11",
    "-ffreestanding",
    "-nostdinc",
    "-Wall",
    "-Wextra",
    "-Werror=implicit-function-declaration",
    "-Werror=incompatible-pointer-types",
    "-Werror=int-conversion",
    "-Werror=return-type",
    "-fdiagnostics-color=never",
    // What has been read.
    "-MD",
    "-MFown.d",
];
/// How long `check` may take, and how many sequences of operations it tries.
const CHECK_WITHIN: Duration = Duration::from_secs(60);
const SEQUENCES: u32 = 20_000;

/// A path in words of C, and of people.
pub(super) fn shown(path: &str) -> String {
    path.chars().map(|c| if c.is_control() || c == '"' || c == '\\' { '?' } else { c }).collect()
}

/// The table of a file that is named so.
pub(super) fn table(path: &str, name: &str, text: &str) -> Result<&'static Table, String> {
    let compiler = compiler();
    let hash = hash(&compiler, &version(&compiler)?, name, text);
    let folder = Folder::open();
    let file = format!("{hash}.so");
    // What does not load is made anew.
    if let Some(kept) = folder.as_ref().and_then(|f| f.kept(&file))
        && let Ok(table) = open(&kept)
    {
        return Ok(table);
    }
    let work = Work::new(folder.as_ref()).map_err(|e| format!("no folder to compile it in: {e}"))?;
    let made = compile(&compiler, &work, FRAME, &FLAGS, path, name, text)?;
    let object = std::fs::read(&made).map_err(|e| format!("what it was compiled to cannot be read: {e}"))?;
    if variables(&object).is_some() {
        return Err(format!(
            "{}: it has variables of its own (static, or outside of all functions); what it remembers belongs in struct qw_{}",
            shown(path),
            name.replace('-', "_")
        ));
    }
    let kept = folder.as_ref().and_then(|f| f.keep(&made, &file));
    open(kept.as_deref().unwrap_or(&made))
}

/// What random operations say of it, in a process of its own: how many packets passed, were marked and dropped.
///
/// # Errors
/// What the compiler warns of, and the first thing that went wrong.
pub(super) fn check(path: &str, name: &str, text: &str) -> Result<String, String> {
    let work = Work::new(None).map_err(|e| format!("no folder to compile it in: {e}"))?;
    let program = compile(&compiler(), &work, CHECK, &STRICT, path, name, text)?;
    let (said, wrong) = (work.path().join("said"), work.path().join("wrong"));
    let run = || -> std::io::Result<Option<std::process::ExitStatus>> {
        let mut child = Command::new(&program)
            .args(["0", &SEQUENCES.to_string()])
            .env("ASAN_OPTIONS", "detect_leaks=0:color=never")
            .env("UBSAN_OPTIONS", "color=never")
            .stdin(Stdio::null())
            .stdout(File::create(&said)?)
            .stderr(File::create(&wrong)?)
            .spawn()?;
        let begun = Instant::now();
        while begun.elapsed() < CHECK_WITHIN {
            if let Some(ended) = child.try_wait()? {
                return Ok(Some(ended));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        child.kill()?;
        child.wait().map(|_| None)
    };
    let ended = run().map_err(|e| format!("it cannot be run: {e}"))?;
    let read = |path| String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned();
    let (said, wrong) = (read(&said), read(&wrong));
    match ended {
        None => Err(format!(
            "{}: it has not come to an end within {} s: a loop?",
            shown(path),
            CHECK_WITHIN.as_secs()
        )),
        Some(ended) if ended.success() => Ok(format!("{SEQUENCES} sequences: {}", said.trim())),
        Some(_) if !said.is_empty() => Err(format!("{}: {}", shown(path), said.trim())),
        Some(ended) => {
            Err(what_sanitizers_say(&shown(path), &wrong).unwrap_or(format!("{}: {ended}", shown(path))))
        }
    }
}

/// The first fault, and where it is in the file.
fn what_sanitizers_say(path: &str, said: &str) -> Option<String> {
    if let Some((place, what)) = said.lines().find_map(|l| l.split_once(": runtime error: ")) {
        return Some(format!("{place}: {what}"));
    }
    let what = said.lines().find_map(|l| l.split_once("AddressSanitizer: ").map(|(_, what)| what))?;
    let what = what.split(" on ").next().unwrap_or(what);
    // Whatever folder it says: the file was not compiled where it is.
    let name = format!("{}:", path.rsplit('/').next().unwrap_or(path));
    let line = said.lines().find_map(|l| l.split_once(&name).map(|(_, line)| line.trim()));
    Some(match line {
        Some(line) => format!("{path}:{line}: {what}"),
        None => format!("{path}: {what}"),
    })
}

/// The compiler's words: `$CC`, which may have several, or `cc`.
fn compiler() -> Vec<String> {
    let said = std::env::var("CC").unwrap_or_default();
    let words: Vec<String> = said.split_whitespace().map(String::from).collect();
    if words.is_empty() { vec!["cc".into()] } else { words }
}

fn command(compiler: &[String]) -> Command {
    let mut command = Command::new(&compiler[0]);
    command.args(&compiler[1..]).env("LC_ALL", "C");
    command
}

fn not_run(compiler: &[String], e: &std::io::Error) -> String {
    match e.kind() {
        ErrorKind::NotFound => format!(
            "to compile it a C compiler is needed, and there is no {}; install gcc or clang (Debian, Ubuntu: apt install gcc), or \
             name one by CC",
            compiler[0]
        ),
        _ => format!("the C compiler {} cannot be run: {e}", compiler[0]),
    }
}

/// Which compiler it is, in its own words.
fn version(compiler: &[String]) -> Result<Vec<u8>, String> {
    let said = command(compiler).arg("--version").output().map_err(|e| not_run(compiler, &e))?;
    match said.status.success() {
        true => Ok(said.stdout),
        false => Err(format!("{} --version fails: it is no C compiler", compiler.join(" "))),
    }
}

/// What decides what is made, hexadecimal.
fn hash(compiler: &[String], version: &[u8], name: &str, text: &str) -> String {
    let mut hash = Sha256::new();
    // With their lengths, so that none runs into the next.
    let mut add = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    add(std::env::consts::ARCH.as_bytes());
    compiler.iter().for_each(|word| add(word.as_bytes()));
    add(version);
    COMMON.iter().chain(&FLAGS).for_each(|flag| add(flag.as_bytes()));
    add(FRAME.as_bytes());
    for (name, text) in HEADERS.iter().chain([&TABLE]) {
        add(name.as_bytes());
        add(text.as_bytes());
    }
    add(name.as_bytes());
    add(text.as_bytes());
    hex(&hash.finalize())
}

/// A frame with the file in it.
fn framed(frame: &str, path: &str, name: &str, text: &str) -> String {
    let name = name.replace('-', "_");
    let end = text.lines().count().max(1).to_string();
    let filled = |part: &str| {
        part.replace("@x@", &name)
            .replace("@X@", &name.to_uppercase())
            .replace("@file@", &shown(path))
            .replace("@end@", &end)
    };
    match frame.rsplit_once("\n@text@\n") {
        Some((before, after)) => format!("{}\n{text}\n{}", filled(before), filled(after)),
        None => String::new(),
    }
}

/// Compiles it in a frame, in a folder of its own, where the headers are, too: what that made.
fn compile(
    compiler: &[String],
    work: &Work,
    frame: &str,
    flags: &[&str],
    path: &str,
    name: &str,
    text: &str,
) -> Result<PathBuf, String> {
    let write = |name: &str, text: &str| {
        std::fs::write(work.path().join(name), text).map_err(|e| format!("it cannot be compiled: {e}"))
    };
    for (name, text) in HEADERS.iter().chain([&TABLE]) {
        write(name, text)?;
    }
    write("own.c", &framed(frame, path, name, text))?;
    let said = command(compiler)
        .args(COMMON)
        .args(flags)
        .args(["own.c", "-o", "own.so"])
        .current_dir(work.path())
        .output()
        .map_err(|e| not_run(compiler, &e))?;
    if !said.status.success() {
        return Err(first_error(&String::from_utf8_lossy(&said.stderr)));
    }
    let read = std::fs::read_to_string(work.path().join("own.d")).unwrap_or_default();
    // Where it is known by its hash, what is elsewhere must not change it.
    if let Some(other) = read.split_whitespace().find(|name| name.contains('/')) {
        return Err(format!("it includes {}; {MAY_INCLUDE}", shown(other)));
    }
    Ok(work.path().join("own.so"))
}

const MAY_INCLUDE: &str = "it may include what comes with the program, such as \"qw.h\", \"dice.h\" or \"codel.h\", and nothing else";

/// The compiler's first error in a line, and how many there are.
fn first_error(said: &str) -> String {
    // What a linker says names no file of his.
    let error = |l: &'_ str| -> Option<usize> { l.find(": fatal error: ").or(l.find(": error: ")) };
    let errors: Vec<(&str, &str)> = said
        .lines()
        .filter_map(|l| error(l).map(|at| l.split_at(at)))
        .filter(|(place, _)| place.contains(':'))
        .map(|(place, what)| (place, what.split_once("error: ").map_or(what, |(_, what)| what)))
        .collect();
    let Some((place, what)) = errors.first() else {
        let undefined =
            said.lines().find_map(|l| l.split_once("undefined reference to ").map(|(_, name)| name));
        return match undefined {
            Some(name) => format!("it calls {}, which is nowhere: it has no library", name.trim()),
            None => format!("the C compiler fails: {}", said.lines().last().unwrap_or("it says nothing")),
        };
    };
    let what = what.split(" [-W").next().unwrap_or(what);
    let what = what.strip_prefix("static assertion failed: ").unwrap_or(what).replace("#error ", "");
    let more = match errors.len() - 1 {
        0 => String::new(),
        n => format!(" (and {n} more)"),
    };
    // gcc's words, for "" and for <>, and clang's.
    let nowhere = ["No such file or directory", "no include path in which to search", "file not found"];
    let include = match nowhere.iter().any(|words| what.contains(words)) {
        true => format!("; {MAY_INCLUDE}"),
        false => String::new(),
    };
    format!("{place}: {}{include}{more}", what.trim_matches('"'))
}

/// Loads a shared object for good.
fn open(path: &Path) -> Result<&'static Table, String> {
    let c_path = CString::new(path.as_os_str().as_bytes()).map_err(|_| "its path has a NUL")?;
    // SAFETY: a C string. It runs what the file has to run when it is loaded, which who named it asked for.
    let handle = unsafe { libc::dlopen(c_path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    // SAFETY: a handle and a C string.
    let found = if handle.is_null() { handle } else { unsafe { libc::dlsym(handle, c"qw_own".as_ptr()) } };
    if found.is_null() {
        // SAFETY: after a failure it is a C string of this thread's, or none.
        let why = unsafe { libc::dlerror() };
        let why = match why.is_null() {
            true => "no reason is given".into(),
            // SAFETY: as above.
            false => unsafe { CStr::from_ptr(why) }.to_string_lossy().into_owned(),
        };
        return Err(format!("what it was compiled to cannot be loaded: {why}"));
    }
    // SAFETY: the frame defines it so, which the hash in its name has seen to.
    Ok(unsafe { &*found.cast::<Table>() })
}
