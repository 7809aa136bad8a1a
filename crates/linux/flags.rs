//! How clang compiles for BPF: for build.rs, and for what is compiled when it is named.

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
