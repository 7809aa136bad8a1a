//! Ctrl-C for runs in any thread: Python tells its main thread alone.

use pyo3::prelude::*;
use std::ptr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// How often it was pressed.
static PRESSED: AtomicU64 = AtomicU64::new(0);
/// What handled it before, and still does.
static BEFORE: AtomicUsize = AtomicUsize::new(0);

extern "C" fn pressed(signal: libc::c_int) {
    PRESSED.fetch_add(1, Ordering::Relaxed);
    let before = BEFORE.load(Ordering::Relaxed);
    // SAFETY: `listen` put it there, a handler of one argument that sigaction had.
    let before: extern "C" fn(libc::c_int) = unsafe { std::mem::transmute(before) };
    before(signal);
}

/// Counts from now on, in front of Python's own handler, whose flags stay: with others, calls that wait would not end by Ctrl-C. A third handler
/// that came in between is left alone: it may call the one before it, which is ours.
fn listen() {
    let ours = pressed as extern "C" fn(libc::c_int) as usize;
    // SAFETY: sigaction reads and writes these two structures alone, for which zeros are a value.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(libc::SIGINT, ptr::null(), &raw mut now) != 0 {
            return;
        }
        let with_more = now.sa_flags & libc::SA_SIGINFO != 0;
        let before = BEFORE.load(Ordering::Relaxed);
        let is_third = before != 0 && now.sa_sigaction != before;
        if with_more || is_third || [ours, libc::SIG_DFL, libc::SIG_IGN].contains(&now.sa_sigaction) {
            return;
        }
        BEFORE.store(now.sa_sigaction, Ordering::Relaxed);
        now.sa_sigaction = ours;
        libc::sigaction(libc::SIGINT, &raw const now, ptr::null_mut());
    }
}

/// Ctrl-C from now on: also one of which Python never tells, as it is in a finaliser, where exceptions are ignored.
#[pyclass(frozen, module = "queuewright._native")]
pub struct Interrupt(u64);

#[pymethods]
impl Interrupt {
    #[new]
    pub fn new() -> Interrupt {
        listen();
        Interrupt(PRESSED.load(Ordering::Relaxed))
    }

    /// Was it pressed, and has the program no handler of its own, which decides?
    pub fn pressed(&self, py: Python<'_>) -> PyResult<bool> {
        // Python puts its own handler there each time that one is set.
        listen();
        if PRESSED.load(Ordering::Relaxed) == self.0 {
            return Ok(false);
        }
        let signal = py.import("signal")?;
        let handler = signal.call_method1("getsignal", (libc::SIGINT,))?;
        Ok(handler.is(&signal.getattr("default_int_handler")?))
    }
}
