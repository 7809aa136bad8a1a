//! The threads that step environments: of this process, also where it was forked.

use rayon::{ThreadPool, ThreadPoolBuilder};
use std::process;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The threads of the process that made them.
struct Threads {
    of: u32,
    pool: Option<ThreadPool>,
}

static THREADS: AtomicPtr<Threads> = AtomicPtr::new(ptr::null_mut());

/// Does work on all cores. A fork has the memory of its parent and none of its threads: it gets threads of its own with its first
/// work, and what the parent's were is left alone, as a lock in it may be held for ever. No lock guards the place for the same reason.
pub(crate) fn on_all_cores<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    match &threads().pool {
        Some(pool) => pool.install(work),
        // No thread can be had: rayon works in this one then, or says so.
        None => work(),
    }
}

fn threads() -> &'static Threads {
    loop {
        let known = THREADS.load(Ordering::Acquire);
        // SAFETY: what is put there is never freed.
        if let Some(threads) = unsafe { known.as_ref() }
            && threads.of == process::id()
        {
            return threads;
        }
        let pool = ThreadPoolBuilder::new().thread_name(|i| format!("envs {i}")).build().ok();
        let made = Box::into_raw(Box::new(Threads { of: process::id(), pool }));
        if THREADS.compare_exchange(known, made, Ordering::AcqRel, Ordering::Acquire).is_err() {
            // SAFETY: nobody else has seen it.
            drop(unsafe { Box::from_raw(made) });
        }
    }
}
