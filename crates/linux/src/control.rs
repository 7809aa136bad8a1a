//! A congestion control in C (`cca/qw_cca.h`) as a BPF program, compiled when it is named. Its host is `bpf/control.bpf.c`: the
//! functions of the kernel's table, `struct tcp_congestion_ops`.

use crate::compile::{Job, compile, refusal};
use crate::flags;
use std::path::Path;

/// The host, and what it includes beside the control's header and those that this may include.
const HOST: &str = include_str!("../bpf/control.bpf.c");
/// What a control may include, in words.
const MAY_INCLUDE: &str = "it may include what comes with the program, and nothing else";
/// The first kernel with the functions' present form, 100 * major + minor.
const LEAST_LINUX: u32 = 610;
/// Longest name of a congestion control in the kernel.
const NAME: usize = 15;
/// Digits of the file's hash in that name.
const DIGITS: usize = 6;

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
        let files = self.headers.iter().copied().chain([("control.bpf.c", HOST), (&header, self.text)]);
        let job = Job {
            file: &header,
            files: files.collect(),
            host: "control.bpf.c",
            // v4 divides signed numbers, too (Linux 6.6).
            cpu: flags::CONTROL,
            defines: flags::of(&self.in_c(), &header)
                .into_iter()
                .chain([
                    format!("-DQW_UPPER={}", self.in_c().to_uppercase()),
                    format!("-DQW_LINUX={linux}"),
                    format!("-DQW_CONTROL=\"{}\"", self.linux_name()),
                ])
                .collect(),
            may_include: MAY_INCLUDE,
        };
        compile(&job, work)
    }

    /// Why the kernel's verifier refuses it, in one line. `said` is what libbpf printed, with the verifier's log, which names lines
    /// of the file.
    pub fn refusal(&self, said: &str) -> String {
        refusal(&self.file(), said)
    }
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
    fn an_old_kernel_is_told_so() {
        let said = SOURCE.compile(601, Path::new("/nowhere")).expect_err("Linux 6.1");
        assert_eq!(said, "my-long-control.h: a control in C needs Linux 6.10 or newer, and this is 6.1");
    }
}
