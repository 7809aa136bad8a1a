//! From the text of a file to its table: by a C compiler, or out of what it made before.

use crate::cache::{Folder, Work};
use crate::elf::{Odd, odd};
use crate::words::{filled, may_include, shown};
use crate::{Form, hex, lower};
use sha2::{Digest, Sha256};
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// As what comes with the program is compiled, but that nothing of the machine can be included; and what is a mistake in any case
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
/// What is a mistake in any case.
pub const MISTAKES: [&str; 4] = [
    "-Werror=implicit-function-declaration",
    "-Werror=incompatible-pointer-types",
    "-Werror=int-conversion",
    "-Werror=return-type",
];
/// For both.
const COMMON: [&str; 8] = [
    "-std=c11",
    "-ffreestanding",
    "-nostdinc",
    "-Wall",
    "-Wextra",
    "-fdiagnostics-color=never",
    // What has been read.
    "-MD",
    "-MFown.d",
];
/// How many sequences of operations `check` tries, if it takes no longer; when it is ended: no sequence takes as long.
const SEQUENCES: u32 = 20_000;
const CHECK_S: u64 = 20;
const CHECK_WITHIN: Duration = Duration::from_secs(60);
/// When a compiler is ended.
pub const COMPILE_WITHIN: Duration = Duration::from_secs(120);
/// What it may take of the memory.
pub const COMPILE_BYTES: u64 = 4 << 30;
/// And of the disk.
const OBJECT_BYTES: u64 = 256 << 20;

/// The table of a file that is named so.
///
/// # Safety
/// The frame defines `qw_own` as a `T`.
pub(crate) unsafe fn table<T>(form: &Form, path: &str, name: &str, text: &str) -> Result<&'static T, String> {
    let compiler = compiler();
    let hash = hash(form, &compiler, &version(&compiler)?, name, text);
    let folder = Folder::open("own");
    let file = format!("{hash}.so");
    // What does not load is made anew.
    if let Some(kept) = folder.as_ref().and_then(|f| f.kept(&file))
        // SAFETY: the hash in its name has seen to it that it is what that frame made.
        && let Ok(table) = unsafe { open(&kept) }
    {
        return Ok(table);
    }
    let work = Work::new()?;
    let made = compile(form, &compiler, &work, false, path, name, text)?;
    let object = std::fs::read(&made).map_err(|e| format!("what it was compiled to cannot be read: {e}"))?;
    if let Some(odd) = odd(&object) {
        let what = match odd {
            Odd::Variables(_) => format!(
                "it has variables of its own (static, or outside of all functions); what it remembers belongs in struct qw_{}",
                lower(name)
            ),
            Odd::Constructor(_) => "it has code that runs when it is loaded; qw_..._init() begins".into(),
            Odd::Calls(function) => format!("it calls {function}: it has no library"),
        };
        return Err(format!("{}: {what}", shown(path)));
    }
    // A folder from which nothing may be run keeps nothing.
    match folder.as_ref().and_then(|f| f.keep(&object, &file)) {
        // SAFETY: the frame has just been compiled.
        Some(kept) => unsafe { open(&kept).or_else(|_| open(&made)) },
        // SAFETY: as above.
        None => unsafe { open(&made) },
    }
}

/// What random operations say of it, in a process of its own: what came of them, in words.
///
/// # Errors
/// What the compiler warns of, and the first thing that went wrong.
pub(crate) fn check(form: &Form, path: &str, name: &str, text: &str) -> Result<String, String> {
    let work = Work::new()?;
    let program = compile(form, &compiler(), &work, true, path, name, text)?;
    let mut command = Command::new(&program);
    command
        .args(["0", &SEQUENCES.to_string(), &CHECK_S.to_string()])
        .env("ASAN_OPTIONS", "detect_leaks=0:color=never")
        .env("UBSAN_OPTIONS", "color=never");
    // Sanitizers take addresses that nobody has.
    let (ended, said, wrong) = run(&mut command, work.path(), CHECK_WITHIN, None)
        .map_err(|e| format!("{}: it cannot be run: {e}", shown(path)))?;
    match ended {
        None => Err(format!(
            "{}: it has not come to an end within {} s: a loop?",
            shown(path),
            CHECK_WITHIN.as_secs()
        )),
        Some(ended) if ended.success() && !said.is_empty() => Ok(said.trim().into()),
        Some(_) if !said.is_empty() => Err(format!("{}: {}", shown(path), said.trim())),
        Some(ended) => {
            let last = wrong.trim().lines().last().map_or(String::new(), |line| format!(": {line}"));
            let path = shown(path);
            Err(what_sanitizers_say(&path, &wrong).unwrap_or_else(|| format!("{path}: {ended}{last}")))
        }
    }
}

/// Runs something that may take so long, and so much memory: how it ended, none if it was ended here, and what it said and complained of, in
/// files of the folder `work`. It does not outlive this process; what it starts itself, as a compiler's driver does, ends by the limit of its
/// processor time.
///
/// # Errors
/// If it cannot be started, or the files cannot be written and read.
pub fn run(
    command: &mut Command,
    work: &Path,
    within: Duration,
    most: Option<u64>,
) -> io::Result<(Option<ExitStatus>, String, String)> {
    let seconds = within.as_secs();
    // SAFETY: between fork and exec only system calls are made.
    unsafe {
        command.pre_exec(move || {
            let limit = |what, most| {
                let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
                libc::setrlimit(what, &limit);
            };
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            limit(libc::RLIMIT_CPU, seconds);
            limit(libc::RLIMIT_FSIZE, OBJECT_BYTES);
            if let Some(most) = most {
                limit(libc::RLIMIT_AS, most);
            }
            Ok(())
        });
    }
    let at = |name: &str| work.join(name);
    command.stdin(Stdio::null()).stdout(File::create(at("said"))?).stderr(File::create(at("wrong"))?);
    let mut child = command.spawn()?;
    let begun = Instant::now();
    let mut ended = child.try_wait()?;
    while ended.is_none() && begun.elapsed() < within {
        std::thread::sleep(Duration::from_millis(5));
        ended = child.try_wait()?;
    }
    if ended.is_none() {
        child.kill()?;
        child.wait()?;
    }
    let read = |name| Ok::<_, io::Error>(String::from_utf8_lossy(&std::fs::read(at(name))?).into_owned());
    Ok((ended, read("said")?, read("wrong")?))
}

/// The first fault, and where it is in the file.
fn what_sanitizers_say(path: &str, said: &str) -> Option<String> {
    // Whatever folder it says: the file was not compiled where it is, and one of them leaves out "./".
    let name = format!("{}:", path.rsplit('/').next().unwrap_or(path));
    if let Some((place, what)) = said.lines().find_map(|l| l.split_once(": runtime error: ")) {
        return Some(match place.split_once(&name) {
            Some((_, at)) => format!("{path}:{at}: {what}"),
            None => format!("{place}: {what}"),
        });
    }
    let what = said.lines().find_map(|l| l.split_once("AddressSanitizer: ").map(|(_, what)| what))?;
    let what = what.split(" on ").next().unwrap_or(what);
    let line = said.lines().find_map(|l| l.split_once(&name).map(|(_, line)| line.trim()));
    Some(match line {
        Some(line) => format!("{path}:{line}: {what}"),
        None => format!("{path}: {what}"),
    })
}

/// The compiler's words: `$CC`, which may have several, or `cc`.
fn compiler() -> Vec<String> {
    let said = std::env::var("CC").unwrap_or_default();
    // It is run in another folder: what is a file here is named from the root.
    let absolute = |word: &str| match word.contains('/') && Path::new(word).exists() {
        true => std::path::absolute(word).ok().and_then(|path| path.to_str().map(String::from)),
        false => None,
    };
    let words: Vec<String> =
        said.split_whitespace().map(|word| absolute(word).unwrap_or_else(|| word.into())).collect();
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
fn hash(form: &Form, compiler: &[String], version: &[u8], name: &str, text: &str) -> String {
    let mut hash = Sha256::new();
    // With their lengths, so that none runs into the next.
    let mut add = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    add(std::env::consts::ARCH.as_bytes());
    compiler.iter().for_each(|word| add(word.as_bytes()));
    add(version);
    COMMON.iter().chain(&MISTAKES).chain(&FLAGS).for_each(|flag| add(flag.as_bytes()));
    add(form.frame.as_bytes());
    for (name, text) in (form.headers)().into_iter().chain([form.table]) {
        add(name.as_bytes());
        add(text.as_bytes());
    }
    add(name.as_bytes());
    add(text.as_bytes());
    hex(&hash.finalize())
}

/// A frame with the file in it.
fn framed(frame: &str, path: &str, name: &str, text: &str) -> String {
    let filled = |part: &str| filled(part, path, name, text);
    match frame.rsplit_once("\n@text@\n") {
        Some((before, after)) => format!("{}\n{text}\n{}", filled(before), filled(after)),
        None => String::new(),
    }
}

/// Compiles it in a frame, in a folder of its own, where the headers are, too: what that made.
fn compile(
    form: &Form,
    compiler: &[String],
    work: &Work,
    checks: bool,
    path: &str,
    name: &str,
    text: &str,
) -> Result<PathBuf, String> {
    let write = |name: &str, text: &str| {
        std::fs::write(work.path().join(name), text)
            .map_err(|e| format!("{}: it cannot be compiled: {e}", shown(path)))
    };
    for (name, text) in (form.headers)().into_iter().chain([form.table]) {
        write(name, text)?;
    }
    let (frame, flags) = if checks { (form.check, &STRICT) } else { (form.frame, &FLAGS) };
    write("own.c", &framed(frame, path, name, text))?;
    let mut command = command(compiler);
    command.args(COMMON).args(MISTAKES).args(flags).args(["own.c", "-o", "own.so"]).current_dir(work.path());
    let (ended, _, wrong) = run(&mut command, work.path(), COMPILE_WITHIN, Some(COMPILE_BYTES))
        .map_err(|e| not_run(compiler, &e))?;
    match ended {
        Some(ended) if ended.success() => {}
        Some(_) => return Err(said_first(form, path, &wrong)),
        None => {
            let (path, s) = (shown(path), COMPILE_WITHIN.as_secs());
            return Err(format!("{path}: the C compiler has not come to an end within {s} s"));
        }
    }
    let read = std::fs::read(work.path().join("own.d"))
        .map_err(|e| format!("{}: the C compiler does not say what it has read (-MD): {e}", shown(path)))?;
    // Where it is known by its hash, what is elsewhere must not change it.
    let read = String::from_utf8_lossy(&read);
    // What clang does not sanitize is no part of it.
    let part = |name: &&str| name.contains('/') && !(checks && name.ends_with("san_ignorelist.txt"));
    if let Some(other) = read.split_whitespace().find(part) {
        return Err(format!("{}: it includes {}; {}", shown(path), shown(other), may_include(form)));
    }
    Ok(work.path().join("own.so"))
}

/// A compiler's first error.
#[derive(Debug, PartialEq, Eq)]
pub struct FirstError<'a> {
    /// File and line.
    pub place: &'a str,
    /// What is wrong, without the compiler's options.
    pub what: &'a str,
    /// How many more there are, in words; empty: none.
    pub more: String,
}

/// The first error that a compiler says: of those in the user's file, if there are any.
pub fn first_error<'a>(said: &'a str, file: &str) -> Option<FirstError<'a>> {
    let error = |l: &'_ str| -> Option<usize> { l.find(": fatal error: ").or(l.find(": error: ")) };
    // What a linker says names no file of his.
    let errors: Vec<(&str, &str)> = said
        .lines()
        .filter_map(|l| error(l).map(|at| l.split_at(at)))
        .filter(|(place, _)| place.contains(':'))
        .collect();
    let in_file = errors.iter().find(|(place, _)| {
        place.trim_start_matches("./").strip_prefix(file).is_some_and(|rest| rest.starts_with(':'))
    });
    let (place, what) = *in_file.or(errors.first())?;
    let more = match errors.len() - 1 {
        0 => String::new(),
        n => format!(" (and {n} more)"),
    };
    let what = what.split_once("error: ").map_or(what, |(_, what)| what);
    let what = what.split(" [-W").next().unwrap_or(what);
    // clang says what did not hold, too.
    let what = match what.strip_prefix("static assertion failed") {
        Some(rest) => rest.split_once("': ").or(rest.split_once(": ")).map_or(rest, |(_, said)| said),
        None => what,
    };
    Some(FirstError { place, what: what.trim_matches('"'), more })
}

/// What no compiler finds: gcc's words, for "" and for <>, and clang's.
pub fn is_include(what: &str) -> bool {
    let nowhere = ["No such file or directory", "no include path in which to search", "file not found"];
    nowhere.iter().any(|words| what.contains(words))
}

/// The same in a line.
fn said_first(form: &Form, path: &str, said: &str) -> String {
    let Some(FirstError { place, what, more }) = first_error(said, path) else {
        let undefined =
            said.lines().find_map(|l| l.split_once("undefined reference to ").map(|(_, name)| name));
        return match undefined {
            Some(name) => format!("it calls {}: it has no library", name.trim_matches(['`', '\'', ' '])),
            None => format!("the C compiler fails: {}", said.lines().last().unwrap_or("it says nothing")),
        };
    };
    let what = what.replace("#error ", "");
    let include = if is_include(&what) { format!("; {}", may_include(form)) } else { String::new() };
    format!("{place}: {what}{include}{more}")
}

/// Loads a shared object for good.
///
/// # Safety
/// What it defines as `qw_own` is a `T`.
unsafe fn open<T>(path: &Path) -> Result<&'static T, String> {
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
    // SAFETY: the caller says so.
    Ok(unsafe { &*found.cast::<T>() })
}
