//! The program `queuewright`.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

/// Was standard output closed (`>&-`) when the program began? Rust's runtime opens `/dev/null` in its place before `main`.
static CLOSED: AtomicBool = AtomicBool::new(false);

extern "C" fn look() {
    // SAFETY: fcntl only asks about a descriptor.
    CLOSED.store(unsafe { libc::fcntl(1, libc::F_GETFD) } < 0, Ordering::Relaxed);
}

/// What the loader calls before Rust's runtime begins.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

fn main() -> ExitCode {
    // A file that reaches `ulimit -f` is an error of its writing, which is told, and no signal.
    // SAFETY: nothing else has set a handler yet.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    if CLOSED.load(Ordering::Relaxed) {
        eprintln!("error: standard output is closed");
        return ExitCode::from(1);
    }
    queuewright::main(std::env::args_os()).into()
}
