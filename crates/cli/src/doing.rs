//! What the program is about: the line that says that no memory is left has it, and is written without memory.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

/// Longest text that is kept, bytes.
pub const MOST: usize = 160;

static TEXT: [AtomicU8; MOST] = [const { AtomicU8::new(0) }; MOST];
static LENGTH: AtomicUsize = AtomicUsize::new(0);

/// From now on it is about this, such as `reading home.toml`. One thread says so.
pub(crate) fn now(text: &str) {
    let text = queuewright_linux::safe(text);
    LENGTH.store(0, Ordering::Relaxed);
    for (to, byte) in TEXT.iter().zip(text.bytes()) {
        to.store(byte, Ordering::Relaxed);
    }
    LENGTH.store(text.len().min(MOST), Ordering::Release);
}

/// What it is about, put where the caller has room; nothing, if nothing was said.
pub fn copy(into: &mut [u8; MOST]) -> &[u8] {
    let length = LENGTH.load(Ordering::Acquire);
    for (to, byte) in into.iter_mut().zip(&TEXT) {
        *to = byte.load(Ordering::Relaxed);
    }
    &into[..length]
}
