//! How clang compiles for BPF: for build.rs, and for what is compiled when it is named.

use std::path::Path;

/// For all programs.
pub const FLAGS: [&str; 5] = ["-target", "bpf", "-O2", "-g", "-std=gnu11"];
/// For a discipline's hosts, beside those: kernels before 6.6 have no later instructions, of which the division of signed numbers is one.
pub const DISCIPLINE: &str = "-mcpu=v3";
/// For a congestion control's.
#[allow(dead_code, reason = "build.rs compiles none")]
pub const CONTROL: &str = "-mcpu=v4";

/// Which discipline it is: its name in C, and its header.
pub fn of(name: &str, header: &str) -> [String; 2] {
    [format!("-DQW_NAME={name}"), format!("-DQW_HEADER=\"{header}\"")]
}

/// What clang is told to make `bpf/SOURCE.bpf.c` of a discipline in this package's folder, with libbpf's headers in theirs, but for
/// the object's name, which comes last. None of these folders' names is in the object: two builds give the same bytes.
#[allow(dead_code, reason = "build.rs and a test compile what the program brings")]
pub fn words(source: &str, name: &str, defines: &[String], here: &Path, headers: &Path) -> Vec<String> {
    let mut words: Vec<String> = FLAGS.map(String::from).into();
    // libbpf's loops compare an int with what they are given, and not every program uses all of its arguments.
    let warnings = ["-Wall", "-Wextra", "-Werror", "-Wno-sign-compare", "-Wno-unused-parameter"];
    words.extend([DISCIPLINE].iter().chain(&warnings).map(|word| (*word).into()));
    // The last one that fits is taken.
    words.push(format!("-ffile-prefix-map={}=.", here.display()));
    words.push(format!("-ffile-prefix-map={}=libbpf", headers.display()));
    words.extend([format!("-I{}", headers.display()), "-Iaqm".into()]);
    words.extend(of(name, &format!("{name}.h")));
    words.extend_from_slice(defines);
    words.extend(["-c".into(), format!("bpf/{source}.bpf.c"), "-o".into()]);
    words
}
