//! A file of a user's own, compiled for BPF when it is named: a discipline or a congestion control in its host's C.

#[path = "../clang.rs"]
mod clang;

use crate::flags;
use crate::system::{command, programs};
use queuewright_own::{COMPILE_BYTES, COMPILE_WITHIN, FirstError, MISTAKES, first_error, is_include, run};
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// What is to be compiled.
pub(crate) struct Job<'a> {
    /// The user's file, as it is called in the folder.
    pub file: &'a str,
    /// All files, that one among them: name and text.
    pub files: Vec<(&'a str, &'a str)>,
    /// The one that is compiled.
    pub host: &'a str,
    /// The instructions that it may have.
    pub cpu: &'a str,
    pub defines: Vec<String>,
    /// What it may include, in words.
    pub may_include: &'a str,
}

/// When a clang that is asked what it can do is ended: it takes some ms.
const ASKED_WITHIN: Duration = Duration::from_secs(10);

/// What a command prints within that time; `work` is a folder for files.
fn said_within(time: Duration, command: &mut Command, work: &Path) -> Option<String> {
    let (ended, said, _) = run(command, work, time, Some(COMPILE_BYTES)).ok()?;
    ended?.success().then_some(said)
}

/// Compiles it in the new folder `work`: an object for libbpf.
///
/// # Errors
/// The compiler's first error with file and line; what is missing here.
pub(crate) fn compile(job: &Job<'_>, work: &Path) -> Result<Vec<u8>, String> {
    let file = job.file;
    let root = rustix::process::geteuid().is_root();
    let given = std::env::var("QUEUEWRIGHT_CLANG").ok().filter(|_| !root);
    let found = clang::find(given.as_deref(), OsStr::new(&programs()), |asked| {
        said_within(ASKED_WITHIN, asked.env("PATH", programs()), work)
    });
    let Some(clang) = found.clang else {
        return Err(format!(
            "{file}: to run it in Linux a clang that compiles for BPF is needed; install clang-19{}",
            // Root's environment may be another's.
            if root { "" } else { " (or name one by QUEUEWRIGHT_CLANG)" }
        ));
    };
    let wrong = |e: std::io::Error| format!("{file}: it cannot be compiled: {e}");
    for (name, text) in &job.files {
        let path = work.join(name);
        path.parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| fs::write(&path, text))
            .map_err(wrong)?;
    }
    let mut command = command(&clang.to_string_lossy());
    command.args(flags::FLAGS).args([
        job.cpu,
        "-nostdinc",
        "-fno-color-diagnostics",
        // If it crashes, nothing of the file is left in a folder for all.
        "-fno-crash-diagnostics",
        "-Wno-everything",
        "-I.",
    ]);
    command.args(MISTAKES).args(&job.defines);
    // No paths of this machine in the object.
    command.arg(format!("-ffile-prefix-map={}=.", work.display()));
    command.args(["-MD", "-MF", "read.d", "-c", job.host, "-o", "object.o"]);
    command.current_dir(work).env("TMPDIR", work);
    let (ended, _, said) = run(&mut command, work, COMPILE_WITHIN, Some(COMPILE_BYTES)).map_err(wrong)?;
    match ended {
        Some(ended) if ended.success() => {}
        Some(_) => return Err(in_a_line(&said, job)),
        None => {
            return Err(format!(
                "{file}: clang has not come to an end within {} s",
                COMPILE_WITHIN.as_secs()
            ));
        }
    }
    // The simulator's compiler may not have seen an include: `#ifdef __bpf__`.
    let read = fs::read_to_string(work.join("read.d")).map_err(wrong)?;
    let names = read.split_whitespace().filter(|word| *word != "\\").skip(1);
    let foreign = |name: &&str| !job.files.iter().any(|(ours, _)| name.trim_start_matches("./") == *ours);
    if let Some(other) = names.into_iter().find(foreign) {
        return Err(format!("{file}: as BPF it includes {other}; {}", job.may_include));
    }
    fs::read(work.join("object.o")).map_err(wrong)
}

/// The compiler's first error in a line, and how many there are.
fn in_a_line(said: &str, job: &Job<'_>) -> String {
    let file = job.file;
    let Some(FirstError { place, what, more }) = first_error(said, file) else {
        return format!("{file}: clang fails: {}", said.lines().last().unwrap_or("it says nothing"));
    };
    let place = place.trim_start_matches("./");
    // Else it is of the host: what it does not find in the file.
    let place = if place.starts_with(file) { place } else { file };
    let hint = match what {
        what if is_include(what) => format!("; {}", job.may_include),
        what if what.contains("built-in function") => {
            "; BPF has no floating point and no integers of 128 bits".into()
        }
        _ => String::new(),
    };
    format!("{place}: as BPF: {}{hint}{more}", what.trim_end_matches('.'))
}

/// Why the kernel's verifier refuses a file, in one line. `said` is what libbpf printed, with the verifier's log, which names lines of
/// the file.
pub(crate) fn refusal(file: &str, said: &str) -> String {
    let lines: Vec<&str> = said.lines().map(str::trim).collect();
    // Up to the verifier's last words: its count of instructions and what libbpf adds are not the reason.
    let end = lines
        .iter()
        .position(|l| l.starts_with("processed ") || l.starts_with("-- END"))
        .unwrap_or(lines.len());
    let log = &lines[..end];
    // "; the text of the line @ mine.h:12"
    let at = log.iter().rev().filter_map(|l| l.strip_prefix("; ")?.rsplit_once(" @ "));
    let mut at = at.filter_map(|(text, place)| Some((text, place.rsplit_once(':')?)));
    let place = at.find(|(_, (in_file, _))| in_file.trim_start_matches("./") == file);
    // Words that may follow an instruction in its line.
    let endless = ["jumps is too complex", "program is too large", "infinite loop detected"];
    let end_of = |l: &str| endless.iter().find_map(|words| Some(l.get(l.find(words)?..)?.to_string()));
    // Instructions begin with their number, and what registers hold in brackets or after it.
    let words = |l: &&&str| {
        !l.is_empty()
            && !l.starts_with(';')
            && !l.starts_with(|c: char| c.is_ascii_digit())
            && !["libbpf:", "cur state:", "old state:"].iter().any(|other| l.starts_with(other))
    };
    let last =
        log.iter().rev().find(|l| !l.is_empty()).filter(|l| l.starts_with(|c: char| c.is_ascii_digit()));
    let reason = last.and_then(|l| end_of(l)).or_else(|| log.iter().rev().find(words).map(|l| l.to_string()));
    let reason = reason.as_deref().map_or("no reason is given", |l| l.trim_end_matches('.'));
    let hint = match endless.iter().any(|words| reason.contains(words)) {
        true => " (a loop whose end it cannot see?)",
        false => "",
    };
    match place {
        Some((text, (_, line))) => {
            format!("{file}:{line}: the kernel's verifier refuses it: {reason}{hint}: {}", text.trim())
        }
        None => format!("{file}: the kernel refuses it: {reason}{hint}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const FILE: &str = "my-long-control.h";

    #[test]
    fn the_verifiers_last_words_are_a_line() {
        let log = "libbpf: prog 'host_ssthresh': BPF program load failed: -EACCES\n\
                   libbpf: prog 'host_ssthresh': -- BEGIN PROG LOAD LOG --\n\
                   ; if (c->cwnd) @ my-long-control.h:7\n\
                   11: (07) r1 += 8      ; R1_w=map_value()\n\
                   ; s->table[s->at]++; @ my-long-control.h:24\n\
                   12: (61) r3 = *(u32 *)(r1 +0)\n\
                   R3 unbounded memory access, make sure to bounds check any such access\n\
                   processed 40 insns (limit 1000000) max_states_per_insn 0\n\
                   -- END PROG LOAD LOG --\nlibbpf: failed to load object\n";
        let place = "my-long-control.h:24: the kernel's verifier refuses it: ";
        let said =
            "R3 unbounded memory access, make sure to bounds check any such access: s->table[s->at]++;";
        assert_eq!(refusal(FILE, log), format!("{place}{said}"));
        let endless = "; s->n += k->bytes; @ my-long-control.h:24\n708: (0f) r6 += r8 ; R6=scalar()\n\
                       709: (ad) if r6 < r7 goto pc-2 BPF program is too large. Processed 1000001 insn\n\
                       processed 1000001 insns (limit 1000000)\n";
        let said = "program is too large. Processed 1000001 insn (a loop whose end it cannot see?): s->n += k->bytes;";
        assert_eq!(refusal(FILE, endless), format!("{place}{said}"));
        let other = "libbpf: elf: odd\nError: can't register struct_ops control: Invalid argument\n";
        let said = "the kernel refuses it: Error: can't register struct_ops control: Invalid argument";
        assert_eq!(refusal(FILE, other), format!("my-long-control.h: {said}"));
        assert_eq!(refusal(FILE, ""), "my-long-control.h: the kernel refuses it: no reason is given");
    }

    #[test]
    fn a_clang_that_does_not_answer_is_none() {
        let dir = tempfile::tempdir().expect("a folder");
        let fake = dir.path().join("clang");
        fs::write(&fake, "#!/bin/sh\nexec sleep 100\n").expect("it can be written");
        fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).expect("it may run");
        let soon = |asked: &mut Command| said_within(Duration::from_millis(200), asked, dir.path());
        assert_eq!(clang::find(None, dir.path().as_os_str(), soon).clang, None);
    }

    #[test]
    fn the_compilers_first_words_are_a_line() {
        let said = |text: &str| {
            let (files, defines) = (Vec::new(), Vec::new());
            let job = Job { file: "my.h", files, host: "host.c", cpu: "", defines, may_include: "only qw.h" };
            in_a_line(text, &job)
        };
        let two = "In file included from host.c:32:\n./my.h:23:5: error: no member named 'x' [-Wx]\n\
                   host.c:30:1: error: other\n";
        assert_eq!(said(two), "my.h:23:5: as BPF: no member named 'x' (and 1 more)");
        let host = "host.c:30:1: error: call to undeclared function 'qw_my_init'\n";
        assert_eq!(said(host), "my.h: as BPF: call to undeclared function 'qw_my_init'");
        let include = "my.h:1:10: fatal error: 'stdio.h' file not found\n";
        assert_eq!(said(include), "my.h:1:10: as BPF: 'stdio.h' file not found; only qw.h");
        let declared = "my.h:9:1: error: static assertion failed due to requirement '0': \"a line\"\n";
        assert_eq!(said(declared), "my.h:9:1: as BPF: a line");
        assert_eq!(said("Killed\n"), "my.h: clang fails: Killed");
    }
}
