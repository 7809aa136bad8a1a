//! The program `queuewright`.

use queuewright::doing;
use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;
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

/// Memory that the machine (or `ulimit -v`) does not give is an error like any other, and no abort.
struct OrEnd;

/// Says so, without memory, and ends: what is half written is still under a name of its own.
fn end(bytes: usize) -> ! {
    static ENDS: AtomicBool = AtomicBool::new(false);
    // One thread says it.
    while ENDS.swap(true, Ordering::Relaxed) {
        // SAFETY: it only waits, and takes no memory.
        unsafe { libc::pause() };
    }
    let mut line = [0; 80 + doing::MOST];
    let left = {
        let mut text = [0; doing::MOST];
        let mut rest = &mut line[..];
        // They fit.
        let _ = write!(rest, "error: no memory left: {bytes} bytes more were needed");
        let _ = match doing::copy(&mut text) {
            [] => Ok(()),
            what => rest.write_all(b" for ").and_then(|()| rest.write_all(what)),
        };
        let _ = rest.write_all(b"\n");
        rest.len()
    };
    let said = &line[..line.len() - left];
    // SAFETY: the bytes are there. Whether anybody reads them is not asked.
    let _ = unsafe { libc::write(2, said.as_ptr().cast(), said.len()) };
    // SAFETY: it ends the process and nothing else.
    unsafe { libc::_exit(1) }
}

// SAFETY: all is the system's, but that it does not come back without memory.
unsafe impl GlobalAlloc for OrEnd {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let at = unsafe { System.alloc(layout) };
        if at.is_null() { end(layout.size()) } else { at }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let at = unsafe { System.alloc_zeroed(layout) };
        if at.is_null() { end(layout.size()) } else { at }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        let at = unsafe { System.realloc(at, layout, size) };
        if at.is_null() { end(size) } else { at }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static MEMORY: OrEnd = OrEnd;

/// The stack that the main thread is to have, and must have, bytes.
const STACK: (u64, u64) = (8 << 20, 256 << 10);

/// Has a stack that `ulimit -s` made small grow as far as it may; whether that is enough.
fn has_stack() -> bool {
    let mut stack = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both only take or give a limit, whose place is ours.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_STACK, &mut stack) != 0 || stack.rlim_cur >= STACK.0 {
            return true;
        }
        // Who may not set more than the hard limit has that.
        for most in [stack.rlim_max.max(STACK.0), stack.rlim_max] {
            let wanted = libc::rlimit { rlim_cur: STACK.0.min(most), rlim_max: most };
            if libc::setrlimit(libc::RLIMIT_STACK, &wanted) == 0 {
                return wanted.rlim_cur >= STACK.1;
            }
        }
    }
    stack.rlim_cur >= STACK.1
}

/// Has threads share one heap where `ulimit -v` bounds addresses, of which glibc takes 64 MB for each heap.
#[cfg(target_env = "gnu")]
fn spare_addresses() {
    let mut most = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: it only gives a limit, whose place is ours; no other thread has begun.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_AS, &mut most) == 0 && most.rlim_cur != libc::RLIM_INFINITY {
            libc::mallopt(libc::M_ARENA_MAX, 1);
        }
    }
}

#[cfg(not(target_env = "gnu"))]
fn spare_addresses() {}

fn main() -> ExitCode {
    spare_addresses();
    if !has_stack() {
        eprintln!("error: the stack may not grow to {} kB: raise ulimit -s", STACK.1 >> 10);
        return ExitCode::from(1);
    }
    // A file that reaches `ulimit -f` is an error of its writing, which is told, and no signal.
    // SAFETY: nothing else has set a handler yet.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    if CLOSED.load(Ordering::Relaxed) {
        eprintln!("error: standard output is closed");
        return ExitCode::from(1);
    }
    queuewright::main(std::env::args_os()).into()
}
