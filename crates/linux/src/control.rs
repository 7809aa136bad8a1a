//! A congestion control in C (`cca/qw_cca.h`) as a BPF program, compiled when it is named. Its host is `bpf/control.bpf.c`: the
//! functions of the kernel's table, `struct tcp_congestion_ops`.

#[path = "../clang.rs"]
mod clang;

use crate::system::{command, programs};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// The host, and what it includes beside the control's header and those that this may include.
const HOST: &str = include_str!("../bpf/control.bpf.c");
/// The first kernel with the functions' present form, 100 * major + minor.
const LEAST_LINUX: u32 = 610;
/// Longest name of a congestion control in the kernel.
const NAME: usize = 15;
/// Digits of the file's hash in that name.
const DIGITS: usize = 6;
/// Longest time that the compiler may take.
const COMPILE_WITHIN: Duration = Duration::from_secs(60);

/// A congestion control's file.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Its name, the file's without the ending.
    pub name: &'a str,
    /// What is in it.
    pub text: &'a str,
    /// SHA-256 of that, hexadecimal.
    pub sha256: &'a str,
    /// What it may include: names, and what is in them.
    pub headers: &'a [(&'static str, &'static str)],
}

impl Source<'_> {
    fn file(&self) -> String {
        format!("{}.h", self.name)
    }

    /// As C has it in `qw_NAME_init`.
    fn in_c(&self) -> String {
        self.name.replace('-', "_")
    }

    /// The name that sockets choose it by (`TCP_CONGESTION`): that of the file, with digits of its hash. A machine may have several
    /// of one name, and the kernel has its own.
    pub fn linux_name(&self) -> String {
        let name: String = self.in_c().chars().take(NAME - DIGITS - 1).collect();
        format!("{name}_{}", &self.sha256[..DIGITS.min(self.sha256.len())])
    }

    /// Compiles it for a kernel of this version (100 * major + minor), in the new folder `work`: an object for libbpf, which has one
    /// `struct_ops` map.
    ///
    /// # Errors
    /// The compiler's first error with file and line; what is missing here.
    pub fn compile(&self, linux: u32, work: &Path) -> Result<Vec<u8>, String> {
        let header = self.file();
        if linux < LEAST_LINUX {
            return Err(format!(
                "{header}: a control in C needs Linux {}.{} or newer, and this is {}.{}",
                LEAST_LINUX / 100,
                LEAST_LINUX % 100,
                linux / 100,
                linux % 100
            ));
        }
        let given = std::env::var("QUEUEWRIGHT_CLANG").ok().filter(|_| !rustix::process::geteuid().is_root());
        let found = clang::find(given.as_deref(), OsStr::new(&programs()));
        let Some(clang) = found.clang else {
            return Err(format!(
                "{header}: to run it in Linux a clang that compiles for BPF is needed; install clang-19 (or name one by QUEUEWRIGHT_CLANG)"
            ));
        };
        let wrong = |e: std::io::Error| format!("{header}: it cannot be compiled: {e}");
        let files = self.headers.iter().copied().chain([("control.bpf.c", HOST), (&header, self.text)]);
        for (name, text) in files {
            fs::write(work.join(name), text).map_err(wrong)?;
        }
        let mut command = command(&clang.to_string_lossy());
        // v4 divides signed numbers, too (Linux 6.6).
        command.args([
            "-target",
            "bpf",
            "-mcpu=v4",
            "-O2",
            "-g",
            "-std=gnu11",
            "-nostdinc",
            "-fno-color-diagnostics",
        ]);
        command.args(["-Wno-everything", "-Werror=implicit-function-declaration", "-I."]);
        command.arg(format!("-DQW_NAME={}", self.in_c()));
        command.arg(format!("-DQW_UPPER={}", self.in_c().to_uppercase()));
        command.arg(format!("-DQW_HEADER=\"{header}\"")).arg(format!("-DQW_LINUX={linux}"));
        command.arg(format!("-DQW_CONTROL=\"{}\"", self.linux_name()));
        // No paths of this machine in the object.
        command.arg(format!("-ffile-prefix-map={}=.", work.display()));
        command
            .args(["-MD", "-MF", "control.d", "-c", "control.bpf.c", "-o", "control.o"])
            .current_dir(work)
            .env("LC_ALL", "C");
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(File::create(work.join("said")).map_err(wrong)?);
        let mut child = command.spawn().map_err(wrong)?;
        let begun = Instant::now();
        let ended = loop {
            match child.try_wait().map_err(wrong)? {
                Some(ended) => break ended,
                None if begun.elapsed() > COMPILE_WITHIN => {
                    child.kill().and_then(|()| child.wait()).map_err(wrong)?;
                    let s = COMPILE_WITHIN.as_secs();
                    return Err(format!("{header}: clang has not come to an end within {s} s"));
                }
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        if !ended.success() {
            let said = fs::read(work.join("said")).map_err(wrong)?;
            return Err(first_error(&String::from_utf8_lossy(&said), &header));
        }
        // The simulator's compiler may not have seen an include: `#ifdef __bpf__`.
        let read = fs::read_to_string(work.join("control.d")).map_err(wrong)?;
        if let Some(other) = read.split_whitespace().find(|name| name.contains('/')) {
            return Err(format!(
                "{header}: as BPF it includes {other}; it may include what comes with the program, and nothing else"
            ));
        }
        fs::read(work.join("control.o")).map_err(wrong)
    }

    /// Why the kernel's verifier refuses it, in one line. `said` is what libbpf printed, with the verifier's log, which names lines
    /// of the file.
    pub fn refusal(&self, said: &str) -> String {
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
        let file = self.file();
        let place = at.find(|(_, (in_file, _))| in_file.trim_start_matches("./") == file);
        // Instructions begin with their number, and what registers hold in brackets or after it.
        let reason = log.iter().rev().find(|l| {
            !l.is_empty()
                && !l.starts_with(';')
                && !l.starts_with(|c: char| c.is_ascii_digit())
                && !["libbpf:", "cur state:", "old state:"].iter().any(|other| l.starts_with(other))
        });
        let reason = reason.map_or("no reason is given", |l| l.trim_end_matches('.'));
        let endless = ["jumps is too complex", "program is too large", "infinite loop detected"];
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
}

/// The compiler's first error in a line, and how many there are.
fn first_error(said: &str, header: &str) -> String {
    let error = |l: &'_ str| l.find(": fatal error: ").or(l.find(": error: "));
    let mut errors = said.lines().filter_map(|l| Some(l.split_at(error(l)?)));
    let Some((place, what)) = errors.next() else {
        return format!("{header}: clang fails: {}", said.lines().last().unwrap_or("it says nothing"));
    };
    let more = match errors.count() {
        0 => String::new(),
        n => format!(" (and {n} more)"),
    };
    let what = what.split_once("error: ").map_or(what, |(_, what)| what);
    let what = what.split(" [-W").next().unwrap_or(what);
    let place = place.trim_start_matches("./");
    // Else it is of the host: what it does not find in the file.
    let place = if place.starts_with(header) { place } else { header };
    format!("{place}: as BPF: {what}{more}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: Source<'static> =
        Source { name: "my-long-control", text: "", sha256: "0123456789abcdef", headers: &[] };

    #[test]
    fn the_kernel_takes_its_name() {
        let name = SOURCE.linux_name();
        assert_eq!(name, "my_long__012345");
        // bpf_obj_name_cpy() has letters, digits, _ and . alone.
        assert!(name.len() <= NAME && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'));
    }

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
        assert_eq!(SOURCE.refusal(log), format!("{place}{said}"));
        let other = "libbpf: elf: odd\nError: can't register struct_ops control: Invalid argument\n";
        let said = "the kernel refuses it: Error: can't register struct_ops control: Invalid argument";
        assert_eq!(SOURCE.refusal(other), format!("my-long-control.h: {said}"));
        assert_eq!(SOURCE.refusal(""), "my-long-control.h: the kernel refuses it: no reason is given");
    }

    #[test]
    fn the_compilers_first_words_are_a_line() {
        let said = "In file included from control.bpf.c:32:\n./my.h:23:5: error: no member named 'x' [-Wx]\n\
                    control.bpf.c:30:1: error: other\n";
        assert_eq!(first_error(said, "my.h"), "my.h:23:5: as BPF: no member named 'x' (and 1 more)");
        let host = "control.bpf.c:30:1: error: call to undeclared function 'qw_my_init'\n";
        assert_eq!(first_error(host, "my.h"), "my.h: as BPF: call to undeclared function 'qw_my_init'");
        assert_eq!(first_error("Killed\n", "my.h"), "my.h: clang fails: Killed");
    }

    #[test]
    fn an_old_kernel_is_told_so() {
        let said = SOURCE.compile(601, Path::new("/nowhere")).expect_err("Linux 6.1");
        assert_eq!(said, "my-long-control.h: a control in C needs Linux 6.10 or newer, and this is 6.1");
    }
}
