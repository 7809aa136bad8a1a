//! What `tc` loads for a qdisc that it does not know.
//!
//! For `tc qdisc add dev eth0 root qw_codel target 2ms` it opens `q_qw_codel.so` in its folder of plugins and looks up
//! `qw_codel_qdisc_util` there: one library, with a link for each name, serves them all. The words are those of scenario
//! files, so that the registry says what there is, in which unit and range.

mod options;
mod print;
mod words;

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::io::Write;
use std::ptr;

/// How tc knows a kind of qdisc: `struct qdisc_util` of its plugins' interface.
#[repr(C)]
#[derive(Debug)]
pub struct Util {
    /// The next in tc's own list; tc writes it.
    next: UnsafeCell<*mut c_void>,
    id: *const c_char,
    parse_options: Option<Parse>,
    print_options: Option<Print>,
    print_statistics: Option<Print>,
    /// Classes: these qdiscs have none.
    parse_class: Option<Parse>,
    print_class: Option<Print>,
}

/// Qdisc, count of words, words, request, device.
type Parse = unsafe extern "C" fn(*const Util, c_int, *const *const c_char, *mut u8, *const c_char) -> c_int;
/// Qdisc, file, attribute.
type Print = unsafe extern "C" fn(*const Util, *mut libc::FILE, *const u8) -> c_int;

// SAFETY: tc has one thread; the rest is never written.
unsafe impl Sync for Util {}

impl Util {
    const fn new(id: &'static CStr) -> Self {
        Util {
            next: UnsafeCell::new(ptr::null_mut()),
            id: id.as_ptr(),
            parse_options: Some(parse_options),
            print_options: Some(print_options),
            print_statistics: Some(print_statistics),
            parse_class: None,
            print_class: None,
        }
    }
}

#[allow(non_upper_case_globals, missing_docs)]
mod symbols {
    use super::Util;
    include!(concat!(env!("OUT_DIR"), "/symbols.rs"));
}
pub use symbols::*;

/// The queue manager that a kind of qdisc is: `fq-codel` of `qw_fq_codel`.
///
/// # Safety
/// `util` is one of ours.
unsafe fn info(util: *const Util) -> Option<&'static queuewright_aqm::Info> {
    // SAFETY: see above; `id` is a C string.
    let id = unsafe { CStr::from_ptr((*util).id) };
    queuewright_aqm::find(&id.to_str().ok()?.strip_prefix("qw_")?.replace('_', "-"))
}

/// # Safety
/// As tc calls it: `request` is a netlink message in a buffer of 64 KiB, `words` has `count` C strings.
unsafe extern "C" fn parse_options(
    util: *const Util,
    count: c_int,
    words: *const *const c_char,
    request: *mut u8,
    _device: *const c_char,
) -> c_int {
    let words: Vec<String> = (0..usize::try_from(count).unwrap_or(0))
        // SAFETY: see above.
        .map(|i| unsafe { CStr::from_ptr(*words.add(i)) }.to_string_lossy().into_owned())
        .collect();
    // SAFETY: see above.
    let (Some(info), mut request) = (unsafe { info(util) }, unsafe { options::Request::new(request) }) else {
        return -1;
    };
    if words.iter().any(|word| word == "help") {
        let _ = write!(std::io::stderr(), "{}", words::help(info));
        return -1;
    }
    match words::read(info, &words, request.creates()).and_then(|wish| request.put(&wish)) {
        Ok(()) => 0,
        Err(why) => {
            // tc adds nothing of its own.
            let _ = writeln!(std::io::stderr(), "Error: {why}");
            -1
        }
    }
}

/// # Safety
/// As tc calls it: `attribute` is null or a netlink attribute, `file` is open.
unsafe extern "C" fn print_options(util: *const Util, file: *mut libc::FILE, attribute: *const u8) -> c_int {
    // SAFETY: see above.
    let (Some(info), Some(bytes)) = (unsafe { info(util) }, unsafe { options::payload(attribute) }) else {
        return 0;
    };
    // SAFETY: see above.
    print::options(&mut unsafe { print::Out::new(file) }, info, &options::read(bytes));
    0
}

/// # Safety
/// As [`print_options`].
unsafe extern "C" fn print_statistics(
    util: *const Util,
    file: *mut libc::FILE,
    attribute: *const u8,
) -> c_int {
    // SAFETY: see above.
    let (Some(info), Some(bytes)) = (unsafe { info(util) }, unsafe { options::payload(attribute) }) else {
        return 0;
    };
    if let Some(statistics) = options::Statistics::read(bytes) {
        // SAFETY: see above.
        print::statistics(&mut unsafe { print::Out::new(file) }, info, &statistics);
    }
    0
}
