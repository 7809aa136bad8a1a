//! What the page calls.
//!
//! It asks for room ([`qw_room`]), writes a request there, calls [`qw_ask`], and reads as many bytes as that says from where [`qw_answer`]
//! points: 8 bytes of which the first says what follows ([`Kind`]), and that.

use crate::session::{Reply, Session};
use std::cell::{Cell, RefCell};
use std::panic;

/// What an answer is.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Kind {
    /// One line of text: what is wrong.
    Error = 0,
    /// JSON.
    Json = 1,
    /// Rows of numbers, or a text.
    Bytes = 2,
}

thread_local! {
    static SESSION: RefCell<Session> = RefCell::default();
    static REQUEST: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static HEARD: Cell<bool> = const { Cell::new(false) };
}

fn put(kind: Kind, bytes: &[u8]) -> usize {
    ANSWER.with_borrow_mut(|answer| {
        answer.clear();
        answer.extend([kind as u8, 0, 0, 0, 0, 0, 0, 0]);
        answer.extend(bytes);
        answer.len()
    })
}

/// Room for a request of so many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn qw_room(bytes: usize) -> *mut u8 {
    REQUEST.with_borrow_mut(|request| {
        request.clear();
        request.resize(bytes, 0);
        request.as_mut_ptr()
    })
}

/// Answers the request that was written: how many bytes the answer has.
#[unsafe(no_mangle)]
pub extern "C" fn qw_ask() -> usize {
    if !HEARD.replace(true) {
        // A bug ends this instance; the page reads what it was, and begins another.
        panic::set_hook(Box::new(|what| {
            put(
                Kind::Error,
                format!("the simulator has failed (a bug): {what}").replace('\n', " ").as_bytes(),
            );
        }));
    }
    let request = REQUEST.take();
    let answer = match std::str::from_utf8(&request) {
        Ok(text) => SESSION.with_borrow_mut(|session| session.ask(text)),
        Err(_) => Err("not UTF-8 text".into()),
    };
    match answer {
        Ok(Reply::Json(value)) => put(Kind::Json, value.to_string().as_bytes()),
        Ok(Reply::Bytes(bytes)) => put(Kind::Bytes, &bytes),
        Err(why) => put(Kind::Error, why.as_bytes()),
    }
}

/// Where the answer begins.
#[unsafe(no_mangle)]
pub extern "C" fn qw_answer() -> *const u8 {
    ANSWER.with_borrow(|answer| answer.as_ptr())
}
